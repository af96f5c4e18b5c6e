//! Folds on a device whose bounds vary over a few indices, like those of a convolution's gradient near the edges.
//!
//! ```text
//!    for k in max(i - 7, 0) .. min(i + 1, 5) { acc += w[k] * d[i - k] }
//! => if (0 < i + 1 && i - 7 <= 0) acc += w[0] * d[i];  if (1 < i + 1 && i - 7 <= 1) acc += w[1] * d[i - 1];  ...
//! ```
//!
//! Work-items of a group have different bounds and wait for each other in a loop, which also hides from the device's compiler that steps
//! do not depend on one another's loads. All indices that any work-item takes are written out instead, each under the
//! comparisons that can fail; a short branch becomes predicates.

use ravel_nest::ir::{BinOp as NestBin, IntCmp};
use ravel_types::BinOp;
use ravel_wir::{Generator, Op, Part, Value, With};

use crate::Result;
use crate::facts::{Facts, Grid, Val};
use crate::kernel::reduce::{Accs, UNROLL_COPIES};
use crate::lower::Lower;

/// Indices that any work-item takes, at most: each work-item pays for all.
const MOST_STEPS: i64 = 8;

/// Bounds are looked at through this many operations.
const MAX_DEPTH: u32 = 4;

/// Bounds of an axis of a fold, as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clip {
    /// Least and greatest lower bound.
    lower: (i64, i64),
    /// Least and greatest upper bound.
    upper: (i64, i64),
}

impl Facts<'_> {
    /// The bounds of an axis that is to be written out under conditions; nothing if it is none.
    pub fn clip_of(&self, g: &Grid, part: &Part, axis: usize, accs: &Accs) -> Option<Clip> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return None };
        if !self.site.in_launch || g.lanes > 1 {
            return None;
        }
        let clip =
            Clip { lower: self.bound_range(lower[axis], MAX_DEPTH), upper: self.bound_range(upper[axis], MAX_DEPTH) };
        let steps = clip.upper.1.checked_sub(clip.lower.0)?;
        let fixed = clip.lower.0 == clip.lower.1 && clip.upper.0 == clip.upper.1;
        let copies = self.additions_of(accs)?;
        (!fixed && (1..=MOST_STEPS).contains(&steps) && steps * copies * g.unrolled <= UNROLL_COPIES).then_some(clip)
    }

    /// Least and greatest value of a bound, through the `min` and `max` that clip it.
    fn bound_range(&self, v: Value, depth: u32) -> (i64, i64) {
        let own = self.bounds(v);
        let Some(inst) = self.live.def(v).filter(|_| depth > 0) else { return own };
        match &self.func.insts[inst].op {
            Op::Bin(op @ (BinOp::Min | BinOp::Max), a, b) => {
                let (a, b) = (self.bound_range(*a, depth - 1), self.bound_range(*b, depth - 1));
                match op {
                    BinOp::Min => (a.0.min(b.0), a.1.min(b.1)),
                    _ => (a.0.max(b.0), a.1.max(b.1)),
                }
            }
            _ => own,
        }
    }
}

impl Lower<'_, '_> {
    /// All indices of an axis, each under its conditions.
    pub fn fold_clipped(
        &mut self,
        g: &mut Grid,
        with: &With,
        part: &Part,
        (axis, clip): (usize, Clip),
        accs: &mut Accs,
    ) -> Result<()> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return Ok(()) };
        let param = self.func.regions[part.body].params[axis];
        let (low, high) = (self.kernel_wide(g, lower[axis])?, self.kernel_wide(g, upper[axis])?);
        let outside = g.unrolled;
        g.unrolled *= clip.upper.1 - clip.lower.0;
        for index in clip.lower.0..clip.upper.1 {
            let condition = self.clip_condition(clip, (low, high), index);
            let (mark, before, cache) = (g.mark(), accs.vals.clone(), self.emit.cache.clone());
            if let Some(condition) = condition {
                self.b.begin_if(condition);
            }
            self.bind_fixed(param, index);
            self.fold_axis(g, with, part, axis + 1, accs)?;
            self.unfix(param);
            g.release(mark);
            if condition.is_some() {
                self.b.begin_else(&accs.vals);
                accs.vals = self.b.end_if(&before);
                self.emit.cache = cache;
            }
        }
        g.unrolled = outside;
        Ok(())
    }

    /// Whether an index lies within the bounds; nothing if it always does.
    fn clip_condition(&mut self, clip: Clip, (low, high): (Val, Val), index: i64) -> Option<Val> {
        let at = self.b.i64(index);
        let reached = (index < clip.lower.1).then(|| self.b.icmp(IntCmp::Sle, low, at));
        let inside = (index >= clip.upper.0).then(|| self.b.icmp(IntCmp::Slt, at, high));
        match (reached, inside) {
            (Some(a), Some(b)) => Some(self.b.binary(NestBin::And, a, b)),
            (one, other) => one.or(other),
        }
    }
}
