//! Kernels inside a chunk that idle threads help with.
//!
//! ```text
//!    parfor ... {                     parfor ... {
//!      kernel                   =>      if idle threads { parfor pieces { kernel of a piece } } else { kernel }
//!    }                                }
//! ```
//!
//! Chunks are few where the outermost axis is short, and the last ones leave threads without work. A thread runs the pieces itself as
//! long as nobody is idle. Long kernels are always in pieces; of shorter ones there is the plain kernel, too, which blocks suit better and
//! which costs nothing but the question. Both compute every cell in the same way: lanes and the order of folds are those of one
//! plan, and pieces take whole blocks of it or smaller ones, so results do not depend on who is idle.
//!
//! Leaves alone: kernels with less work than handing it over costs, element-wise ones whose extents only the run knows, and those whose
//! lanes along the outermost axis depend on where it begins.

use ravel_nest::ir::{BinOp as NestBin, IntCmp, Ty};
use ravel_wir::{Generator, Part};

use crate::Result;
use crate::facts::{Chunk, Val};
use crate::lower::Lower;
use crate::plan::strategy::Case;
use crate::plan::work_sharing::{LONG, SharedPlan};
use crate::plan::{KernelPlan, VecChoice};

impl Lower<'_, '_> {
    /// Lowers a planned kernel in both forms.
    pub fn shared_kernel(&mut self, case: &Case, plan: &SharedPlan, streams: bool) -> Result<()> {
        let Case { inst, with, part, sinks, .. } = *case;
        let SharedPlan { whole, pieces: plan_of_pieces, known, long, fineness, grain, size, .. } = plan;
        let cut = |lower: &mut Self| size.map(|size| lower.chunks_of(part, 0, *fineness, *grain, size));
        let mut pieces = if *known { cut(self) } else { None };
        self.cx.remark(self.func.insts[inst].span, "shared with threads that are idle");
        if !long {
            let wanted = self.wants_pieces(part, plan);
            self.b.begin_if(wanted);
        }
        if pieces.is_none() {
            pieces = cut(self);
        }
        let distance = pieces.as_ref().map_or(1, |pieces| pieces.grain);
        match pieces {
            Some(pieces) => {
                let (piece, _) = self.begin_chunks(part, &pieces, None)?;
                self.kernel_loops(with, part, sinks, plan_of_pieces, (Some(piece), streams))?;
                self.close();
                self.end_parfor();
            }
            None => self.kernel_loops(with, part, sinks, whole, (None, streams))?,
        }
        if !long {
            self.b.begin_else(&[]);
            self.cx.silent += 1;
            // In the same blocks it is one piece, and one function for both.
            let axis = if has_same_steps(whole, plan_of_pieces) { self.whole_axis(part, 0, distance) } else { None };
            self.kernel_loops(with, part, sinks, whole, (axis, streams))?;
            self.cx.silent -= 1;
            self.b.end_if(&[]);
        }
        Ok(())
    }

    /// Are there idle threads? Where only the run knows the extents: is it work for two pieces, and are there idle threads or pieces enough that
    /// some will be idle before the last one?
    fn wants_pieces(&mut self, part: &Part, plan: &SharedPlan) -> Val {
        let cells = match &part.generator {
            Generator::Known { lower, upper, .. } if !plan.known => {
                let (rows, inner) = self.lengths(lower, upper, 0);
                Some(self.b.mul(rows, inner))
            }
            _ => None,
        };
        if let Some(cells) = cells {
            let enough = self.b.i64((2.0 * plan.fineness.work / plan.work).ceil() as i64);
            let several = self.b.icmp(IntCmp::Sge, cells, enough);
            self.b.begin_if(several);
        }
        let mut wanted = self.helper("ravel_has_idle_threads", &[], Some(Ty::I8)).expect("called with a result type");
        if let Some(cells) = cells {
            let many = self.b.i64((LONG as f64 / 2.0 * plan.fineness.work / plan.work).ceil() as i64);
            let long = self.b.icmp(IntCmp::Sge, cells, many);
            wanted = self.b.binary(NestBin::Or, wanted, long);
            self.b.begin_else(&[wanted]);
            let zero = self.b.iconst(Ty::I8, 0);
            wanted = self.b.end_if(&[zero])[0];
        }
        let zero = self.b.iconst(Ty::I8, 0);
        self.b.icmp(IntCmp::Ne, wanted, zero)
    }

    /// All of an axis as one chunk, to which any `grain` applies.
    fn whole_axis(&mut self, part: &Part, axis: usize, grain: i64) -> Option<Chunk> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return None };
        let (low, high) = (self.wide(lower[axis]), self.wide(upper[axis]));
        Some(Chunk { axis, low, high, grain })
    }
}

/// Does a kernel do pieces of its outermost axis in the steps in which it does all of it? Lanes along that axis end differently.
fn has_same_steps(plan: &KernelPlan, pieces: &KernelPlan) -> bool {
    plan.jams == pieces.jams && !matches!(plan.vec, VecChoice::Axis { axis: 0, .. })
}
