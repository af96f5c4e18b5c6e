//! The partial results that chunks of a fold leave: which folds have them, and where they go.

use ravel_types::BinOp;
use ravel_wir::{Inst, Part, Value, With, WithOp};

use crate::facts::{Facts, Sink, folds_along, layout};
use crate::plan::chunks::{FOLDS, Fineness, MOST_FOLD_CHUNKS};

/// Cycles of a chunk at least for every byte of its partial results, and where that ends.
const WORK_PER_BYTE: f64 = 2.0;

const PARTIAL_WORK: f64 = 20_000.0;

/// Partial results up to this many bytes are a part of the memory of the function.
const MOST_PARTIAL_BYTES: i64 = 2 << 20;

/// The partial results of one chunk.
pub(crate) struct PartialLayout {
    pub slots: Vec<PartialSlot>,
    /// Bytes of one chunk.
    pub bytes: i64,
}

/// The partial result of one fold in one chunk.
pub(crate) struct PartialSlot {
    pub offset: i32,
    /// Extents of an array that is built here; otherwise a word is stored, a scalar or a pointer.
    pub extents: Option<Vec<i64>>,
}

impl PartialSlot {
    /// Elements of an array that is built here.
    pub fn elements(&self) -> i64 {
        self.extents.as_ref().map_or(0, |extents| extents.iter().product())
    }
}

impl PartialLayout {
    /// Bytes of the partial results of as many chunks as there may be.
    pub fn most_bytes(&self) -> i64 {
        self.bytes * MOST_FOLD_CHUNKS
    }

    /// Are they a part of the memory of the function?
    pub fn is_in_function(&self) -> bool {
        self.most_bytes() <= MOST_PARTIAL_BYTES
    }
}

impl Facts<'_> {
    /// The partition, operations and neutral elements of a with-loop that has nothing but regrouping folds, if threads may run it.
    pub fn folds_for_threads<'w>(&self, inst: Inst, with: &'w With) -> Option<(&'w Part, Vec<(BinOp, Value)>)> {
        let [part] = &with.parts[..] else { return None };
        if !self.may_run_on_threads(with, part) || with.ops.is_empty() {
            return None;
        }
        let mut folds = Vec::new();
        for (op, &result) in with.ops.iter().zip(&self.func.insts[inst].results) {
            let WithOp::Fold { neutral, .. } = op else { return None };
            let binop = folds_along(op)?;
            binop.identity(self.elem(result))?;
            self.func.ty(*neutral).rank()?;
            folds.push((binop, *neutral));
        }
        Some((part, folds))
    }

    /// How finely folds are cut: chunks with large partial results are larger, since these have to be begun and combined.
    pub fn fineness(&self, folds: &[(BinOp, Value)]) -> Fineness {
        let bytes = self.partial_layout(folds).bytes as f64;
        Fineness { work: (FOLDS.work + WORK_PER_BYTE * bytes).min(PARTIAL_WORK), ..FOLDS }
    }

    /// Where the partial results of one chunk go.
    pub fn partial_layout(&self, folds: &[(BinOp, Value)]) -> PartialLayout {
        let align = layout::DATA_ALIGN as i64;
        let mut bytes = 0i64;
        let mut slots = Vec::new();
        for (_, neutral) in folds {
            let ty = self.func.ty(*neutral);
            let extents: Option<Vec<i64>> = ty
                .shape
                .constants()
                .filter(|_| !ty.is_scalar())
                .map(|shape| shape.into_iter().map(i64::from).collect());
            let elements =
                extents.as_ref().and_then(|e| e.iter().try_fold(ty.elem.bytes() as i64, |n, e| n.checked_mul(*e)));
            let extents = extents.filter(|_| elements.is_some_and(|n| n <= MOST_PARTIAL_BYTES));
            let size = match (&extents, elements) {
                (Some(extents), Some(elements)) => {
                    bytes = (bytes + align - 1) / align * align;
                    layout::data_offset(extents.len()) + elements
                }
                _ => 8,
            };
            slots.push(PartialSlot { offset: bytes as i32, extents });
            bytes += (size + 7) / 8 * 8;
        }
        let whole = if slots.iter().any(|slot| slot.extents.is_some()) { align } else { 8 };
        PartialLayout { slots, bytes: (bytes + whole - 1) / whole * whole }
    }

    /// Has a with-loop several partitions, with work for threads in one of them?
    pub fn has_parts_for_threads(&self, with: &With) -> bool {
        let enough = |part: &Part| {
            self.may_run_on_threads(with, part) && self.most_cells(part) * self.work(part.body).max(1.0) >= FOLDS.wake
        };
        with.parts.len() > 1 && with.ops.iter().all(|op| folds_along(op).is_some()) && with.parts.iter().any(enough)
    }

    /// Operation and neutral element of every fold, if all of them may be regrouped and all other results are buffers.
    pub fn regrouping_folds(&self, inst: Inst, with: &With, sinks: &[Sink]) -> Option<Vec<(BinOp, Value)>> {
        if with.ordered {
            return None;
        }
        let mut folds = Vec::new();
        for ((op, sink), result) in with.ops.iter().zip(sinks).zip(&self.func.insts[inst].results) {
            match (op, sink) {
                (WithOp::Fold { neutral, .. }, Sink::Carried { .. }) => {
                    let op = folds_along(op)?;
                    op.identity(self.elem(*result))?;
                    self.func.ty(*neutral).rank()?;
                    folds.push((op, *neutral));
                }
                (_, Sink::Slice { .. }) => {}
                _ => return None,
            }
        }
        Some(folds)
    }
}
