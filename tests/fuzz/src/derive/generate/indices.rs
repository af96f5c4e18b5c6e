//! Indices that stay within arrays: affine forms of the index scalars around, and numbers from data.

use super::{Generator, Int};

impl Generator<'_> {
    /// The last index scalars.
    pub(super) fn own_index(&self, rank: usize) -> String {
        let names: Vec<&str> = self.ints[self.ints.len() - rank..].iter().map(|int| int.name.as_str()).collect();
        names.join(", ")
    }

    /// An index below the extent.
    pub(super) fn index(&mut self, extent: i64) -> String {
        if self.ints.is_empty() || self.rng.chance(1, 6) {
            if self.rng.chance(1, 6) {
                return self.index_from_data(extent);
            }
            return self.rng.range(0, extent - 1).to_string();
        }
        // An affine form, if a few attempts find one that stays within the array.
        for _ in 0..6 {
            let terms = if self.rng.chance(1, 3) { 2 } else { 1 };
            let terms: Vec<(Int, i64)> = (0..terms)
                .map(|_| {
                    // The innermost axes most of the time.
                    let back = self.rng.below(self.ints.len()).min(self.rng.below(self.ints.len()));
                    let int = self.ints[self.ints.len() - 1 - back].clone();
                    (int, self.rng.pick(&[1, 1, 1, 1, -1, 2, -2, 3]))
                })
                .collect();
            let width: i64 = terms.iter().map(|(int, factor)| (int.high - int.low) * factor.abs()).sum();
            if width < extent || self.rng.chance(1, 12) {
                return self.affine(&terms, extent);
            }
        }
        self.rng.range(0, extent - 1).to_string()
    }

    /// A sum of multiples, moved or folded into the array.
    fn affine(&mut self, terms: &[(Int, i64)], extent: i64) -> String {
        let mut sum: Option<Int> = None;
        for (int, factor) in terms {
            let term = if *factor == 1 { int.clone() } else { self.scaled(int, *factor) };
            sum = Some(match sum {
                None => term,
                Some(sum) => {
                    let name = self.emit("i32", &format!("add {}, {}", sum.name, term.name));
                    Int { name, low: sum.low + term.low, high: sum.high + term.high }
                }
            });
        }
        let Some(Int { name, low, high }) = sum else { return "0".to_string() };
        if high - low >= extent {
            return self.emit("i32", &format!("aplmod {name}, {extent}"));
        }
        match self.rng.range(-low, extent - 1 - high) {
            0 => name,
            offset => self.emit("i32", &format!("add {name}, {offset}")),
        }
    }

    fn scaled(&mut self, int: &Int, factor: i64) -> Int {
        let name = self.emit("i32", &format!("mul {}, {factor}", int.name));
        let ends = [int.low * factor, int.high * factor];
        Int { name, low: ends[0].min(ends[1]), high: ends[0].max(ends[1]) }
    }

    fn index_from_data(&mut self, extent: i64) -> String {
        let Some(exact) = self.exact() else { return self.rng.range(0, extent - 1).to_string() };
        let twice = self.emit("f64", &format!("mul {}, 2.0", exact.name));
        let int = self.emit("i32", &format!("convert {twice}"));
        self.is_smooth = false;
        self.emit("i32", &format!("aplmod {int}, {extent}"))
    }
}
