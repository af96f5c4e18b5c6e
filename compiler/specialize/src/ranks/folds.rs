//! Short folds over axes: cells that are elaborated one by one.
//!
//! ```text
//! with { ([0] <= [ax] < [dim(u)]) : shift(ax, 1, 0d, u); } : fold(+, zeros)      with rank 2
//! ```
//!
//! As with loops over axes (`rank_loops`), what a function does along an axis is known only where the axis is. So a fold over few constant
//! indices is executed index by index where one of them is given to a function as it is, or selects from a vector that is held as scalars.
//! What a cell selects at the index, a row for each channel, is no axis: such sums are better off as one with-loop.

use crate::ranks::loops::{MAX_COPIES, MAX_SIZE, MAX_TRIPS, Uses};
use crate::spec::{Frame, Spec};
use crate::value::Val;
use ravel_core::ir::{self, FoldFun, LocalId};
use std::collections::BTreeSet;

impl Spec<'_> {
    /// The fold of the cells at `lists`, the indices of each part, if each of them is better off on its own.
    pub fn fold_over_axes(
        &mut self,
        frame: &Frame,
        with: &ir::With,
        lists: &[Vec<Vec<i32>>],
        (fun, args): (&FoldFun, &[Val]),
        neutral: &Val,
    ) -> Option<Val> {
        let trips = lists.iter().map(Vec::len).sum::<usize>();
        self.note_copies();
        let copies = self.copies;
        if trips == 0 || trips > MAX_TRIPS || copies * trips > MAX_COPIES || !self.indices_are_axes(frame, with) {
            return None;
        }
        self.copies *= trips;
        let result = if copies > 1 || self.cells_are_sound(frame, with, lists, (fun, args), neutral) {
            self.fold_at(frame, with, lists, (fun, args), neutral)
        } else {
            None
        };
        self.copies = copies;
        result
    }

    fn indices_are_axes(&self, frame: &Frame, with: &ir::With) -> bool {
        let (mut axis, mut size) = (false, 0);
        for part in &with.parts {
            let counters: BTreeSet<LocalId> = part.scalars.iter().flatten().copied().collect();
            let mut uses = Uses { frame, spec: self, counters: &counters, itself: true, axis: false, size: 0 };
            uses.block(&part.body);
            part.values.iter().for_each(|value| uses.expr(value));
            axis |= uses.axis;
            size += uses.size;
        }
        axis && size <= MAX_SIZE
    }

    /// Whether that goes without a complaint: what is known of one axis alone may be too much, see `rank_loops`.
    fn cells_are_sound(
        &mut self,
        frame: &Frame,
        with: &ir::With,
        lists: &[Vec<Vec<i32>>],
        fold: (&FoldFun, &[Val]),
        neutral: &Val,
    ) -> bool {
        let reported = (self.diagnostics.len(), self.reported.clone());
        let instances = self.instances.len();
        let opened = self.em.open();
        let result = self.fold_at(frame, with, lists, fold, neutral);
        self.em.close(opened);
        if self.diagnostics.len() == reported.0 {
            return result.is_some_and(|r| !matches!(r, Val::Bottom));
        }
        self.diagnostics.truncate(reported.0);
        self.reported = reported.1;
        // Instances made here may hold errors that have to be found again.
        self.index.retain(|_, i| *i < instances);
        false
    }

    fn fold_at(
        &mut self,
        frame: &Frame,
        with: &ir::With,
        lists: &[Vec<Vec<i32>>],
        (fun, args): (&FoldFun, &[Val]),
        neutral: &Val,
    ) -> Option<Val> {
        let mut acc = neutral.clone();
        for (part, indices) in lists.iter().enumerate() {
            for index in indices {
                let cell = self.cell_at(frame, with, part, index, 1).into_iter().next()?;
                let mut argv = args.to_vec();
                argv.extend([acc, cell]);
                acc = self.call_set(fun.set, argv, 1, fun.span).into_iter().next()?;
            }
        }
        Some(acc)
    }
}
