//! Chunks are fixed, and each runs once.

use super::*;

struct Sums {
    partial: Vec<AtomicI64>,
    chunk: i64,
}

unsafe extern "C" fn sum(ctx: *mut u8, lo: i64, hi: i64, _slot: i64) {
    // SAFETY: the tests pass a `Sums` that outlives the call.
    let sums = unsafe { &*ctx.cast::<Sums>() };
    let index = usize::try_from(lo / sums.chunk).expect("chunks are not negative");
    sums.partial[index].fetch_add((lo..hi).sum(), Ordering::Relaxed);
}

unsafe extern "C" fn nested(ctx: *mut u8, lo: i64, hi: i64, _slot: i64) {
    // SAFETY: the test passes an `AtomicI64`.
    let total = unsafe { &*ctx.cast::<AtomicI64>() };
    for _ in lo..hi {
        let inner = Sums { partial: (0..4).map(|_| AtomicI64::new(0)).collect(), chunk: 25 };
        // SAFETY: `sum` is safe to call concurrently.
        unsafe { ravel_parallel(sum, std::ptr::from_ref(&inner).cast_mut().cast(), 100, 25, 0, std::ptr::null()) };
        total.fetch_add(inner.partial.iter().map(|p| p.load(Ordering::Relaxed)).sum(), Ordering::Relaxed);
    }
}

/// One test, because the pool is one per process and the thread count is global.
#[test]
fn chunks_are_fixed_and_each_runs_once() {
    for threads in [1, 2, 3, 8] {
        set_threads(threads);
        for round in 0..200 {
            let (n, chunk) = (1000 + round, 7);
            let count = usize::try_from((n - 1) / chunk + 1).expect("small");
            let sums = Sums { partial: (0..count).map(|_| AtomicI64::new(0)).collect(), chunk };
            // SAFETY: `sum` is safe to call concurrently and `sums` outlives the call.
            unsafe {
                ravel_parallel(
                    sum,
                    std::ptr::from_ref(&sums).cast_mut().cast(),
                    n,
                    chunk,
                    round % 150,
                    std::ptr::null(),
                )
            };
            for (index, partial) in (0i64..).zip(&sums.partial) {
                let expected: i64 = (index * chunk..n.min((index + 1) * chunk)).sum();
                assert_eq!(partial.load(Ordering::Relaxed), expected);
            }
            if round % 50 == 49 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let total = AtomicI64::new(0);
        // SAFETY: `nested` is safe to call concurrently and `total` outlives the call.
        unsafe { ravel_parallel(nested, std::ptr::from_ref(&total).cast_mut().cast(), 64, 1, 0, std::ptr::null()) };
        assert_eq!(total.load(Ordering::Relaxed), 64 * 4950);
    }
}
