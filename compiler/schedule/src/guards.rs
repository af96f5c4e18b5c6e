//! Checks of a kernel's body, decided before the kernel runs.
//!
//! A check whose comparison is affine in the indices holds for a whole box of indices if it holds at a corner. Such checks
//! become one condition in front of the kernel; where it fails, scalar loops run instead and report the index at fault.

use ravel_nest::ir::{BinOp as NestBin, IntCmp, Ty};
use ravel_types::{BinOp, Elem};
use ravel_wir::{Op, Value};

use crate::index::Form;
use crate::lower::{Lower, Val};

/// A comparison of two `i32` scalars that has to hold for all indices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    op: BinOp,
    left: Value,
    right: Value,
}

impl Lower<'_, '_> {
    /// Adds the comparisons that imply a condition; false if it does not consist of such.
    pub fn guards_of(&self, cond: Value, guards: &mut Vec<Guard>, depth: u32) -> bool {
        if self.proven(cond, 8) {
            return true;
        }
        let Some(inst) = self.live.def(cond).filter(|_| depth > 0) else { return false };
        match &self.func.insts[inst].op {
            Op::Bin(BinOp::And | BinOp::Mul, a, b) if self.elem(*a) == Elem::Bool => {
                self.guards_of(*a, guards, depth - 1) && self.guards_of(*b, guards, depth - 1)
            }
            Op::Bin(op @ (BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge), left, right) if self.elem(*left) == Elem::I32 => {
                let known = |v: &Value| self.exact_form(*v).is_some_and(|form| form.terms.iter().all(|(v, _)| self.has_extremes(*v)));
                if !known(left) || !known(right) {
                    return false;
                }
                guards.push(Guard { op: *op, left: *left, right: *right });
                true
            }
            _ => false,
        }
    }

    /// Are the least and the greatest value of an atom at hand in front of the kernel?
    fn has_extremes(&self, v: Value) -> bool {
        let outside = |v: Value| self.is_bound(v) || self.const_i32(v).is_some();
        outside(v) || self.lower_of[v].zip(self.upper_of[v]).is_some_and(|(low, high)| outside(low) && outside(high))
    }

    /// One condition for all guards, as an `i8`.
    pub fn guard_condition(&mut self, guards: &[Guard]) -> Val {
        let mut all = self.b.bool(true);
        for guard in guards {
            let (Some(left), Some(right)) = (self.exact_form(guard.left), self.exact_form(guard.right)) else { continue };
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
