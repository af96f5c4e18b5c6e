//! The C library's `random`: programs that seed it expect the same numbers everywhere.
//!
//! The generator is the additive feedback `r[i] = r[i-3] + r[i-31]` modulo 2^32, with the lowest bit dropped from each result,
//! seeded by the linear congruential sequence of Park and Miller.

use std::sync::Mutex;

use super::natives;
use crate::fault::Fault;

/// Largest result of `random()` and `rand()`.
const RANDOM_MAX: i64 = 0x7fff_ffff;
const DEGREE: usize = 31;
const SEPARATION: usize = 3;
/// Results that are thrown away after seeding.
const WARM_UP: usize = 10 * DEGREE;

struct Generator {
    state: [u32; DEGREE],
    at: usize,
}

impl Generator {
    fn new(seed: u32) -> Generator {
        let mut state = [0; DEGREE];
        // A seed of zero would give zeros only.
        let mut word = i64::from(if seed == 0 { 1 } else { seed.cast_signed() });
        state[0] = word as u32;
        for slot in &mut state[1..] {
            // 16807 * word modulo 2^31 - 1 by Schrage's method, which the C library uses: it matters for negative seeds.
            word = 16807 * (word % 127_773) - 2836 * (word / 127_773);
            if word < 0 {
                word += RANDOM_MAX;
            }
            *slot = word as u32;
        }
        // The first sum replaces slot 3, as if slots 0 to 2 had been drawn once.
        let mut generator = Generator { state, at: SEPARATION };
        for _ in 0..WARM_UP {
            generator.next();
        }
        generator
    }

    fn next(&mut self) -> i64 {
        // Slot `at` holds r[i-31]; r[i-3] is three slots back.
        let sum = self.state[self.at].wrapping_add(self.state[(self.at + DEGREE - SEPARATION) % DEGREE]);
        self.state[self.at] = sum;
        self.at = (self.at + 1) % DEGREE;
        i64::from(sum >> 1)
    }
}

static GENERATOR: Mutex<Option<Generator>> = Mutex::new(None);

fn with<R>(work: impl FnOnce(&mut Generator) -> R) -> Result<R, Fault> {
    let mut generator = GENERATOR.lock().map_err(|_| Fault::new("the random generator is lost"))?;
    Ok(work(generator.get_or_insert_with(|| Generator::new(1))))
}

natives! { RANDOM;
    /// Seeds the generator of `random` and `rand`.
    same fn ravel_random_seed(seed: u32) -> () {
        with(|generator| *generator = Generator::new(seed))
    }

    /// The C library's `random`: 0 to 2^31-1.
    same fn ravel_random_long() -> (x: i64) {
        with(Generator::next)
    }

    /// The C library's `rand`, the same sequence.
    same fn ravel_random_rand() -> (x: i32) {
        with(|generator| generator.next() as i32)
    }

    /// An integer from `lo` to `hi`, both included.
    same fn ravel_random_int(lo: i32, hi: i32) -> (x: i32) {
        let width = (i64::from(hi) - i64::from(lo) + 1) as f64;
        with(|generator| loop {
            let value = (generator.next() as f64 / RANDOM_MAX as f64 * width + f64::from(lo)) as i64;
            // The largest random number gives one more than `hi`.
            if value <= i64::from(hi) || width <= 0.0 {
                return value as i32;
            }
        })
    }

    /// A real number from `lo` to `hi`.
    same fn ravel_random_double(lo: f64, hi: f64) -> (x: f64) {
        with(|generator| generator.next() as f64 / RANDOM_MAX as f64 * (hi - lo) + lo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_c_librarys() {
        for seed in [0u32, 1, 2, 42, 1 << 31, u32::MAX] {
            let mut generator = Generator::new(seed);
            let mut state = [0u8; 128];
            // SAFETY: the structure is plain data that `initstate_r` fills; the state buffer lives through the loop.
            unsafe {
                let mut data: RandomData = std::mem::zeroed();
                assert_eq!(initstate_r(seed, state.as_mut_ptr().cast(), state.len(), &mut data), 0);
                for _ in 0..100 {
                    let mut expected = 0i32;
                    assert_eq!(random_r(&mut data, &mut expected), 0);
                    assert_eq!(generator.next(), i64::from(expected), "seed {seed}");
                }
            }
        }
    }

    /// glibc's `struct random_data`.
    #[repr(C)]
    struct RandomData {
        pointers: [*mut i32; 3],
        numbers: [i32; 3],
        end: *mut i32,
    }

    unsafe extern "C" {
        fn initstate_r(seed: u32, state: *mut libc::c_char, length: usize, data: *mut RandomData) -> i32;
        fn random_r(data: *mut RandomData, result: *mut i32) -> i32;
    }
}
