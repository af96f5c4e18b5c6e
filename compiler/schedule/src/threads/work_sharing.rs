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
use ravel_wir::{Generator, Inst, Part, With};

use crate::Result;
use crate::facts::{Chunk, Facts, Sink, Val};
use crate::lower::Lower;
use crate::plan::chunks::{Fineness, Grain};
use crate::plan::{KernelPlan, VecChoice};

/// Work of a piece at least, for every byte of a vector, since wide ones do more of it in the same time. A piece must be worth some thirty
/// microseconds: another thread has to see it, to fetch its operands, and the one that shares its kernel reads results from the
/// other's cache. 16 KB take two microseconds each way on a server processor.
const PIECE_WORK_PER_BYTE: f64 = 30_000.0;
/// Pieces of a short kernel at most, and of a long one. The runtime wakes threads for loops with more pieces than short ones have
/// (`pool/share.rs`).
const SHORT: i64 = 4;
const LONG: i64 = 16;
/// Pieces' worth of work that make a kernel long.
const LONG_WORK: f64 = 8.0;
/// Work per cell that makes kernels of unknown extents worth two forms.
const HEAVY_CELL: f64 = 10.0;

impl Facts<'_> {
    /// Work of a piece at least.
    fn piece_work(&self) -> f64 {
        PIECE_WORK_PER_BYTE * f64::from(self.target.vector_bytes)
    }

    /// The plan with blocks that fit half of the outermost axis; nothing if its lanes need to know where that axis begins.
    fn plan_of_pieces(&self, part: &Part, plan: &KernelPlan) -> Option<KernelPlan> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return None };
        if plan.is_fixed_along(0) {
            return None;
        }
        let rows = self.const_i32(upper[0]).zip(self.const_i32(lower[0])).map(|(u, l)| u - l);
        let mut pieces = plan.clone();
        if let Some(rows) = rows {
            let half = ((rows + 1) / 2).max(1) as usize;
            for jam in pieces.jams.iter_mut().filter(|jam| jam.0 == 0) {
                jam.1 = jam.1.min(half);
            }
        }
        Some(pieces)
    }
}

impl Lower<'_, '_> {
    /// Lowers a planned kernel in both forms; false if nothing was emitted.
    pub fn try_shared(
        &mut self,
        inst: Inst,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        plan: &KernelPlan,
        (chunk, streams): (Option<Chunk>, bool),
    ) -> Result<bool> {
        if chunk.is_some() || self.facts.site.ascending || self.site.parfors != 1 || !self.may_share(with, part) {
            return Ok(false);
        }
        let Some(plan_of_pieces) = self.plan_of_pieces(part, plan) else { return Ok(false) };
        let work = self.work(part.body).max(1.0);
        let known = self.constant_cells(part).map(|cells| cells as f64 * work);
        if known.is_none() && work < HEAVY_CELL {
            return Ok(false);
        }
        let of_piece = self.piece_work();
        if self.most_cells(part) * work < 2.0 * of_piece {
            return Ok(false);
        }
        let long = known.is_some_and(|total| total >= LONG_WORK * of_piece);
        let most = if known.is_some() && !long { SHORT } else { LONG };
        let fineness = Fineness { most, work: of_piece, wake: 2.0 * of_piece };
        let grain = Grain::of(&plan_of_pieces, 0);
        let mut pieces = None;
        if known.is_some() {
            pieces = self.chunks(part, 0, fineness, grain);
            if pieces.is_none() {
                return Ok(false);
            }
        }
        self.cx.remark(self.func.insts[inst].span, "shared with threads that are idle");
        if !long {
            let wanted = self.wants_pieces(part, known.is_some(), work);
            self.b.begin_if(wanted);
        }
        if pieces.is_none() {
            pieces = self.chunks(part, 0, fineness, grain);
        }
        let distance = pieces.as_ref().map_or(1, |pieces| pieces.grain);
        match pieces {
            Some(pieces) => {
                let (piece, _) = self.begin_chunks(part, &pieces)?;
                self.kernel_loops(with, part, sinks, &plan_of_pieces, (Some(piece), streams))?;
                self.close();
                self.end_parfor();
            }
            None => self.kernel_loops(with, part, sinks, plan, (None, streams))?,
        }
        if !long {
            self.b.begin_else(&[]);
            self.cx.silent += 1;
            // In the same blocks it is one piece, and one function for both.
            let whole = match has_same_steps(plan, &plan_of_pieces) {
                true => self.whole_axis(part, 0, distance),
                false => None,
            };
            self.kernel_loops(with, part, sinks, plan, (whole, streams))?;
            self.cx.silent -= 1;
            self.b.end_if(&[]);
        }
        Ok(true)
    }

    /// Are there idle threads? Where only the run knows the extents: is it work for two pieces, and are there idle threads or pieces enough that
    /// some will be idle before the last one?
    fn wants_pieces(&mut self, part: &Part, known: bool, work: f64) -> Val {
        let cells = match &part.generator {
            Generator::Known { lower, upper, .. } if !known => {
                let (rows, inner) = self.lengths(lower, upper, 0);
                Some(self.b.mul(rows, inner))
            }
            _ => None,
        };
        if let Some(cells) = cells {
            let enough = self.b.i64((2.0 * self.piece_work() / work).ceil() as i64);
            let several = self.b.icmp(IntCmp::Sge, cells, enough);
            self.b.begin_if(several);
        }
        let mut wanted = self.helper("ravel_has_idle_threads", &[], Some(Ty::I8)).expect("called with a result type");
        if let Some(cells) = cells {
            let many = self.b.i64((LONG as f64 / 2.0 * self.piece_work() / work).ceil() as i64);
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
