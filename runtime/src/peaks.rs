//! How fast this machine multiplies and adds, and reads and writes memory, at most.
//!
//! One thread multiplies and adds in as many independent chains as hide the latency, with the widest vectors that the processor has; several threads
//! are taken to be as many times as fast. Memory is measured with all threads at once, which share it.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Per second, of all threads together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    pub f32: f64,
    pub f64: f64,
    pub bytes: f64,
}

/// How long each peak is looked for.
const TIME: Duration = Duration::from_millis(20);
/// Multiplications and additions of each chain in a row.
const STEPS: usize = 1000;
/// Vectors at work at once.
const CHAINS: usize = 12;
/// Elements of the arrays of one thread: they and those of the others are more than most caches hold.
const ELEMENTS: usize = 4 << 20;

macro_rules! chains {
    ($name:ident, $elem:ty, $lanes:literal $(, $feature:literal)?) => {
        $(#[target_feature(enable = $feature)])?
        fn $name(x: $elem, y: $elem) -> $elem {
            let mut sums = [[x; $lanes]; CHAINS];
            for _ in 0..STEPS {
                for sum in &mut sums {
                    for lane in sum {
                        *lane = chains!(@step *lane, x, y $(, $feature)?);
                    }
                }
            }
            sums.iter().flatten().sum()
        }
    };
    (@step $a:expr, $x:expr, $y:expr, $feature:literal) => { $a.mul_add($x, $y) };
    (@step $a:expr, $x:expr, $y:expr) => { $a * $x + $y };
}

chains!(plain, f64, 2);
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{CHAINS, STEPS};
    use std::hint::black_box;
    chains!(avx2, f64, 4, "avx2,fma");
    chains!(avx512, f64, 8, "avx512f,fma");

    /// The number of lanes, and a run of the chains with them.
    pub fn widest() -> Option<(usize, fn())> {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor was asked for the instructions.
            return Some((8, || _ = black_box(unsafe { avx512(black_box(0.999), 0.001) })));
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor was asked for the instructions.
            return Some((4, || _ = black_box(unsafe { avx2(black_box(0.999), 0.001) })));
        }
        None
    }
}

fn widest() -> (usize, fn()) {
    #[cfg(target_arch = "x86_64")]
    if let Some(wide) = wide::widest() {
        return wide;
    }
    (2, || _ = black_box(plain(black_box(0.999), 0.001)))
}

/// Runs of some work in a second, at best of several tries.
fn rate(work: &dyn Fn()) -> f64 {
    let (begin, mut best) = (Instant::now(), f64::INFINITY);
    while begin.elapsed() < TIME {
        let start = Instant::now();
        for _ in 0..8 {
            work();
        }
        best = best.min(start.elapsed().as_secs_f64() / 8.0);
    }
    1.0 / best.max(1e-9)
}

/// Measures; takes some tenths of a second.
pub fn measure(threads: usize) -> Peaks {
    let (lanes, chains) = widest();
    let doubles = (2 * STEPS * CHAINS * lanes * threads) as f64 * rate(&chains);
    // Twice as many floats fit into a vector.
    Peaks { f32: 2.0 * doubles, f64: doubles, bytes: memory(threads) }
}

/// Bytes that all threads together read and write.
fn memory(threads: usize) -> f64 {
    let one = || {
        let (from, mut to) = (vec![1.0f64; ELEMENTS], vec![0.0f64; ELEMENTS]);
        let mut best = 0.0f64;
        for _ in 0..6 {
            let start = Instant::now();
            for (to, from) in to.iter_mut().zip(&from) {
                *to = 0.5 * from;
            }
            black_box(&mut to);
            best = best.max(16.0 * ELEMENTS as f64 / start.elapsed().as_secs_f64());
        }
        best
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(one)).collect();
        let mine = one();
        mine + others.into_iter().map(|other| other.join().unwrap_or(0.0)).sum::<f64>()
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn peaks_are_numbers() {
        let peaks = super::measure(1);
        assert!(peaks.f32 > 1e7 && peaks.f64 > 1e7 && peaks.bytes > 1e7, "{peaks:?}");
    }
}
