//! Thin partitions that the threads of a thick one compute.
//!
//! ```text
//!    interior: parfor rows { ... }          parfor rows { interior of these rows
//!    left face:  for rows { ... }     =>                  left face of these rows
//!    right face: for rows { ... }                         right face of these rows }
//! ```
//!
//! The faces of a box are too small for threads of their own. If the calling thread computed them, it would write next to, and often into,
//! cache lines that other threads wrote last and read next; each of those moves twice then, which takes longer than the
//! elements take. So whoever computes rows of the interior computes what lies beside them, too.
//!
//! Leaves alone: with-loops that change an array in place, whose partitions may need an order, and folds that keep theirs.

use ravel_wir::{Generator, Part, With, WithOp};

use crate::Result;
use crate::facts::{Facts, Val};
use crate::kernel::Chunk;
use crate::kernel::reduce::folds_along;
use crate::lower::Lower;
use crate::lower::cover::Border;
use crate::lower::withloop::Sink;

/// Indices of a thin partition along some axis at most, and how many times as many a thick one has there.
const THIN: i64 = 4;
const THICKER: i64 = 8;

/// What lies around a partition.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    /// What the only partition leaves.
    pub borders: &'a [Border],
    /// Thin partitions beside it, by number.
    pub thin: &'a [usize],
}

impl Around<'_> {
    pub const NOTHING: Around<'static> = Around { borders: &[], thin: &[] };
}

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

impl Lower<'_, '_> {
    /// What thin partitions read outside of the loop over chunks.
    pub fn preload_company(&mut self, with: &With, thin: &[usize]) {
        for &m in thin {
            self.preload(with.parts[m].body);
        }
    }

    /// The indices of thin partitions that belong to a chunk, from accumulators on; the accumulators behind them.
    pub fn run_company(
        &mut self,
        inst: ravel_wir::Inst,
        with: &With,
        (sinks, thin): (&[Sink], &[usize]),
        chunk: Chunk,
        mut carried: Vec<Val>,
    ) -> Result<Vec<Val>> {
        let number = self.cx.part;
        for &m in thin {
            let part = &with.parts[m];
            self.cx.part = Some(m);
            self.cx.remark(
                self.func.insts[inst].span,
                format!("with the threads' rows of partition {}", number.unwrap_or(0) + 1),
            );
            self.open(part.body);
            if carried.is_empty() {
                if !self.try_kernel(inst, with, part, sinks, Some(chunk))? {
                    let spares = self.open_spares(part.body);
                    self.axis(inst, with, part, sinks, 0, Vec::new(), Some(chunk))?;
                    self.close_spares(spares);
                }
            } else {
                carried = self.mixed_cells(inst, with, part, sinks, carried, chunk)?;
            }
            self.close();
        }
        self.cx.part = number;
        Ok(carried)
    }
}
