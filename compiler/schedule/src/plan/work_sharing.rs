//! Which kernels in chunks idle threads help with ([`crate::threads::work_sharing`]).

use ravel_wir::{Generator, Part};

use crate::facts::{Facts, Refusal};
use crate::plan::KernelPlan;
use crate::plan::chunks::{Fineness, Grain, Size};

/// Work of a piece at least, for every byte of a vector, since wide ones do more of it in the same time. A piece must be worth some thirty
/// microseconds: another thread has to see it, to fetch its operands, and the one that shares its kernel reads results from the
/// other's cache. 16 KB take two microseconds each way on a server processor.
const PIECE_WORK_PER_BYTE: f64 = 30_000.0;
/// Pieces of a short kernel at most, and of a long one. The runtime wakes threads for loops with more pieces than short ones have
/// (`pool/share.rs`).
const SHORT: i64 = 4;
pub(crate) const LONG: i64 = 16;
/// Pieces' worth of work that make a kernel long.
const LONG_WORK: f64 = 8.0;
/// Work per cell that makes kernels of unknown extents worth two forms.
const HEAVY_CELL: f64 = 10.0;

/// A kernel, and the same in pieces of its outermost axis.
pub(crate) struct SharedPlan {
    pub whole: KernelPlan,
    pub pieces: KernelPlan,
    /// Are its extents known?
    pub known: bool,
    /// Estimated cycles of a cell.
    pub work: f64,
    /// Is it always in pieces?
    pub long: bool,
    pub fineness: Fineness,
    pub grain: Grain,
    /// How large pieces are; nothing if they are too small for certain.
    pub size: Option<Size>,
}

impl Facts<'_> {
    /// Pieces of a kernel in a chunk.
    pub fn plan_sharing(&self, part: &Part, whole: &KernelPlan) -> Result<SharedPlan, Refusal> {
        let pieces = self.plan_of_pieces(part, whole).ok_or(Refusal::FixedLanes)?;
        let work = self.work(part.body).max(1.0);
        let known = self.constant_cells(part).map(|cells| cells as f64 * work);
        if known.is_none() && work < HEAVY_CELL {
            return Err(Refusal::LightCells);
        }
        let of_piece = PIECE_WORK_PER_BYTE * f64::from(self.target.vector_bytes);
        let long = known.is_some_and(|total| total >= LONG_WORK * of_piece);
        let most = if known.is_some() && !long { SHORT } else { LONG };
        let fineness = Fineness { most, work: of_piece, wake: 2.0 * of_piece };
        let grain = Grain::of(&pieces, 0);
        let size = self.cut(part, 0, fineness, grain);
        if self.most_cells(part) * work < fineness.wake || known.is_some() && size.is_none() {
            return Err(Refusal::LittleWork);
        }
        Ok(SharedPlan { whole: whole.clone(), pieces, known: known.is_some(), work, long, fineness, grain, size })
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
