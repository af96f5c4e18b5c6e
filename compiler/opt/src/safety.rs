//! Whether instructions may run at a place where nobody asked for them.

use crate::edit::{Defs, is_speculatable};
use crate::linear::Lin;
use crate::places::Places;
use crate::ranges::Ranges;
use ravel_types::BinOp;
use ravel_wir::{Combine, Func, Inst, Op, Region, Value, WithOp};

/// What holds at a place.
pub struct Safety<'a> {
    func: &'a Func,
    defs: &'a Defs,
    ranges: Ranges,
}

impl<'a> Safety<'a> {
    /// The place in front of `inst`.
    pub fn before(func: &'a Func, defs: &'a Defs, places: &Places, inst: Inst) -> Safety<'a> {
        Safety { func, defs, ranges: places.ranges_at(func, defs, inst) }
    }

    /// Whether an instruction can neither fault there nor be observed: arithmetic, selections in range, branches and folds of such.
    pub fn is_safe(&mut self, inst: Inst) -> bool {
        match &self.func.insts[inst].op {
            Op::Sel { array, index } => self.is_in_range(inst, *array, index),
            Op::If { cond, then, els } => [(*then, true), (*els, false)].into_iter().all(|(region, truth)| {
                let mark = self.ranges.mark();
                self.ranges.assume(self.func, self.defs, *cond, truth);
                let safe = self.is_safe_region(region);
                self.ranges.undo(mark);
                safe
            }),
            Op::With(with) if !with.ordered => {
                let folds = |op: &WithOp| matches!(op, WithOp::Fold { combine: Combine::Op(_), .. });
                with.ops.iter().all(folds)
                    && with.parts.iter().all(|part| {
                        let mark = self.ranges.mark();
                        self.ranges.enter_part(self.func, self.defs, part);
                        let safe = self.is_safe_region(part.body);
                        self.ranges.undo(mark);
                        safe
                    })
            }
            _ => is_speculatable(self.func, inst),
        }
    }

    fn is_safe_region(&mut self, region: Region) -> bool {
        self.func.regions[region].insts.iter().all(|inst| self.is_safe(*inst))
    }

    /// Selections of scalars only: others copy.
    fn is_in_range(&mut self, inst: Inst, array: Value, index: &[Value]) -> bool {
        let Some(forms) = self.func.ty(array).shape.extents() else { return false };
        self.func.ty(self.func.insts[inst].results[0]).is_scalar()
            && index.iter().zip(forms).all(|(i, form)| {
                let extent = self.ranges.extent(form);
                let i = self.ranges.form(self.func, self.defs, *i);
                self.ranges.compare(BinOp::Ge, &i, &Lin::constant(0)) == Some(true)
                    && self.ranges.compare(BinOp::Lt, &i, &extent) == Some(true)
            })
    }

    /// How much greater one scalar is than another there, if that is a constant.
    pub fn distance(&mut self, from: Value, to: Value) -> Option<i64> {
        let (from, to) = (self.ranges.form(self.func, self.defs, from), self.ranges.form(self.func, self.defs, to));
        to.sub(&from)?.as_const()
    }
}
