//! Whether instructions may run at a place where nobody asked for them.

use crate::edit::Defs;
use crate::facts::effects::{divides_by_constant, is_speculatable};
use crate::facts::linear::Lin;
use crate::facts::places::Places;
use crate::facts::ranges::Ranges;
use ravel_types::BinOp;
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Region, Value, With, WithOp};

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
            Op::If { cond, then, els } => self.branches(*cond, [*then, *els], Self::is_safe),
            Op::With(with) if !with.ordered => {
                let folds = |op: &WithOp| matches!(op, WithOp::Fold { combine: Combine::Op(_), .. });
                with.ops.iter().all(folds) && self.parts(with, Self::is_safe)
            }
            _ => is_speculatable(self.func, inst),
        }
    }

    /// Whether an instruction would need no check there that stands elsewhere: what it does may take long or make arrays, but all
    /// selections and with-loops in it are in range, and nothing is divided by zero.
    pub fn needs_no_check(&mut self, inst: Inst) -> bool {
        let func = self.func;
        match &func.insts[inst].op {
            Op::Sel { array, index } => self.is_within(*array, index),
            Op::If { cond, then, els } => self.branches(*cond, [*then, *els], Self::needs_no_check),
            Op::With(with) => {
                let functions: Vec<Region> = with.ops.iter().filter_map(WithOp::region).collect();
                with.ops.iter().zip(&func.insts[inst].results).all(|(op, result)| self.fits_frame(with, op, *result))
                    && self.parts(with, Self::needs_no_check)
                    && functions.iter().all(|region| self.region(*region, Self::needs_no_check))
            }
            Op::Loop { body, .. } => self.region(*body, Self::needs_no_check),
            Op::Call { .. } => true,
            _ => is_speculatable(func, inst) || divides_by_constant(func, self.defs, inst),
        }
    }

    /// Do the partitions lie within what an operator makes, whatever was checked?
    fn fits_frame(&mut self, with: &With, op: &WithOp, result: Value) -> bool {
        let (func, defs) = (self.func, self.defs);
        let extents: Vec<Lin> = match op {
            WithOp::Fold { .. } => return true,
            WithOp::Genarray { frame: Frame::Known(frame), .. } => {
                frame.iter().map(|v| self.ranges.form(func, defs, *v)).collect()
            }
            WithOp::Genarray { .. } => return false,
            WithOp::Modarray { .. } => match func.ty(result).shape.extents() {
                Some(forms) => forms.iter().map(|form| self.ranges.extent(form)).collect(),
                None => return false,
            },
        };
        let zero = Lin::constant(0);
        extents.iter().all(|extent| self.ranges.compare(BinOp::Ge, extent, &zero) == Some(true))
            && with.parts.iter().all(|part| match &part.generator {
                Generator::Known { lower, upper, .. } => {
                    lower.iter().zip(upper).zip(&extents).all(|((low, high), extent)| {
                        let (low, high) = (self.ranges.form(func, defs, *low), self.ranges.form(func, defs, *high));
                        self.ranges.compare(BinOp::Ge, &low, &zero) == Some(true)
                            && self.ranges.compare(BinOp::Le, &high, extent) == Some(true)
                    })
                }
                Generator::Dyn { .. } => false,
            })
    }

    /// Whether all instructions of a region pass a test.
    fn region(&mut self, region: Region, test: fn(&mut Self, Inst) -> bool) -> bool {
        self.func.regions[region].insts.iter().all(|inst| test(self, *inst))
    }

    /// Whether those of both branches do, under their conditions.
    fn branches(&mut self, cond: Value, arms: [Region; 2], test: fn(&mut Self, Inst) -> bool) -> bool {
        arms.into_iter().zip([true, false]).all(|(region, truth)| {
            let mark = self.ranges.mark();
            self.ranges.assume(self.func, self.defs, cond, truth);
            let safe = self.region(region, test);
            self.ranges.undo(mark);
            safe
        })
    }

    /// Whether those of all partitions do, for their indices.
    fn parts(&mut self, with: &With, test: fn(&mut Self, Inst) -> bool) -> bool {
        with.parts.iter().all(|part| {
            let mark = self.ranges.mark();
            self.ranges.enter_part(self.func, self.defs, part);
            let safe = self.region(part.body, test);
            self.ranges.undo(mark);
            safe
        })
    }

    /// Selections of scalars only: others copy.
    fn is_in_range(&mut self, inst: Inst, array: Value, index: &[Value]) -> bool {
        self.func.ty(self.func.insts[inst].results[0]).is_scalar() && self.is_within(array, index)
    }

    fn is_within(&mut self, array: Value, index: &[Value]) -> bool {
        let Some(forms) = self.func.ty(array).shape.extents() else { return false };
        index.iter().zip(forms).all(|(i, form)| {
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
