//! Partitions whose cells go to arrays and to folds: which folds may be regrouped.

use ravel_types::BinOp;
use ravel_wir::{Inst, Part, Value, With, WithOp};

use crate::facts::{Facts, Sink, folds_along};
use crate::plan::chunks::FOLDS;

impl Facts<'_> {
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
