//! Which thin partitions the threads of a thick one compute ([`crate::threads::border_fusion`]).

use ravel_wir::{Generator, Part, With, WithOp};

use crate::facts::{Facts, folds_along};

/// Indices of a thin partition along some axis at most, and how many times as many a thick one has there.
const THIN: i64 = 4;

const THICKER: i64 = 8;

impl Facts<'_> {
    /// The partitions of a with-loop that may be computed in any order, each with the thin ones beside it.
    pub fn companies(&self, with: &With) -> Vec<(usize, Vec<usize>)> {
        let count = with.parts.len();
        let in_order = |op: &WithOp| matches!(op, WithOp::Fold { .. }) && folds_along(op).is_none();
        let apart = with.ops.iter().all(|op| matches!(op, WithOp::Fold { .. }))
            || with.ops.iter().any(in_order)
            || with.ordered
            || self.options.device.is_some()
            || !self.options.parallel
            || self.site.in_parfor();
        let beside = |n: usize, m: usize| m != n && self.is_thin_beside(&with.parts[m], &with.parts[n]);
        let is_thin: Vec<bool> = (0..count).map(|m| !apart && (0..count).any(|n| beside(n, m))).collect();
        let mut taken = vec![false; count];
        let mut companies = Vec::new();
        for n in (0..count).filter(|n| !is_thin[*n]) {
            let thin: Vec<usize> = (0..count).filter(|m| is_thin[*m] && !taken[*m] && beside(n, *m)).collect();
            thin.iter().for_each(|m| taken[*m] = true);
            companies.push((n, thin));
        }
        companies.extend((0..count).filter(|m| is_thin[*m] && !taken[*m]).map(|m| (m, Vec::new())));
        companies
    }

    /// Does a thin partition have the rows of a thick one, along the axis that threads would share?
    fn is_thin_beside(&self, thin: &Part, thick: &Part) -> bool {
        let (
            Generator::Known { lower, upper, step: None, .. },
            Generator::Known { lower: thick_lower, upper: thick_upper, step: None, .. },
        ) = (&thin.generator, &thick.generator)
        else {
            return false;
        };
        if lower.is_empty() || lower.len() != thick_lower.len() {
            return false;
        }
        let shared = self.thread_axis(thick);
        let length = |low, high| Some(self.const_i32(high)? - self.const_i32(low)?);
        let is_thin = |axis: usize| {
            let here = length(lower[axis], upper[axis]);
            let there = length(thick_lower[axis], thick_upper[axis]);
            here.is_some_and(|n| n <= THIN && there.is_none_or(|thick| thick >= THICKER * n))
        };
        self.same_scalar(lower[shared], thick_lower[shared])
            && self.same_scalar(upper[shared], thick_upper[shared])
            && (0..lower.len()).any(|axis| axis != shared && is_thin(axis))
    }
}
