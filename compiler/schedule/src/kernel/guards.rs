//! Checks of a kernel's body, decided before the kernel runs.
//!
//! A check whose comparison is affine in the indices holds for a whole box of indices if it holds at a corner. Such checks
//! become one condition in front of the kernel; where it fails, scalar loops run instead and report the index at fault.

use ravel_nest::ir::{BinOp as NestBin, IntCmp, Ty};
use ravel_types::BinOp;

use crate::facts::guards::Bound;
use crate::facts::{Form, Guard, Val};
use crate::lower::Lower;

impl Lower<'_, '_> {
    /// One condition for all guards, as an `i8`.
    pub fn guard_condition(&mut self, guards: &[Guard]) -> Val {
        let mut all = self.b.bool(true);
        for guard in guards {
            let right = match guard.right {
                Bound::Scalar(v) => self.exact_form(v),
                Bound::Zero | Bound::Extent(..) => Some(Form::constant(0)),
            };
            let (Some(left), Some(right)) = (self.exact_form(guard.left), right) else { continue };
            for form in [&left, &right] {
                let (low, high) = form.range();
                if low < i64::from(i32::MIN) {
                    let least = self.extreme(form, false);
                    all = self.and_compare(all, IntCmp::Sge, least, i64::from(i32::MIN));
                }
                if high > i64::from(i32::MAX) {
                    let greatest = self.extreme(form, true);
                    all = self.and_compare(all, IntCmp::Sle, greatest, i64::from(i32::MAX));
                }
            }
            let Some(difference) = left.plus(&right, -1) else {
                all = self.b.bool(false);
                continue;
            };
            let (cmp, greatest) = match guard.op {
                BinOp::Lt => (IntCmp::Slt, true),
                BinOp::Le => (IntCmp::Sle, true),
                BinOp::Gt => (IntCmp::Sgt, false),
                _ => (IntCmp::Sge, false),
            };
            let extreme = self.extreme(&difference, greatest);
            if let Bound::Extent(array, axis) = guard.right {
                let extent = self.extent(array, axis);
                let extent = self.extent_val(extent);
                let holds = self.b.icmp(cmp, extreme, extent);
                all = self.b.binary(NestBin::And, all, holds);
                continue;
            }
            all = self.and_compare(all, cmp, extreme, 0);
        }
        all
    }

    fn and_compare(&mut self, all: Val, cmp: IntCmp, value: Val, with: i64) -> Val {
        let with = self.b.i64(with);
        let holds = self.b.icmp(cmp, value, with);
        debug_assert_eq!(self.b.ty(holds), Ty::I8);
        self.b.binary(NestBin::And, all, holds)
    }

    /// The least or greatest value of a form over all indices.
    fn extreme(&mut self, form: &Form, greatest: bool) -> Val {
        let mut total = self.b.i64(form.constant);
        for &(v, factor) in &form.terms {
            let atom = if self.is_bound(v) || self.const_i32(v).is_some() {
                self.wide(v)
            } else {
                let bounds = self.lower_of[v].zip(self.upper_of[v]);
                let (low, high) = bounds.expect("guards have atoms with bounds");
                if (factor > 0) == greatest {
                    let (high, one) = (self.wide(high), self.b.i64(1));
                    self.b.sub(high, one)
                } else {
                    self.wide(low)
                }
            };
            let part = self.times(atom, factor);
            total = self.b.add(total, part);
        }
        total
    }
}
