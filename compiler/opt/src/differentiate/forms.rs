//! Forms of indices and conditions: sums of what iterations count and of what is there.

use crate::differentiate::adjoint::Level;
use crate::differentiate::cases::Cases;
use crate::differentiate::invert::Given;
use crate::differentiate::reverse::Reverse;
use crate::facts::{Atom, Lin};
use ravel_types::{BinOp, Elem, HashMap, Ty, UnOp};
use ravel_wir::{Op, Region, Value};

/// Operations of an index that are looked at.
const MOST_DEPTH: u32 = 16;

/// Forms of integers in terms of parameters of levels and of what is there at a place.
pub struct Forms<'r, 's> {
    pub reverse: &'r mut Reverse<'s>,
    pub at: Region,
    pub levels: Vec<Level>,
    pub vars: Vec<Value>,
    /// Of variables, the least one and the one behind the greatest.
    pub bounds: HashMap<Value, (Lin, Lin)>,
    pub known: HashMap<Value, Lin>,
    pub cases: Cases,
    /// Values of branches that are looked into.
    pub in_arms: Vec<Value>,
}

impl Forms<'_, '_> {
    /// The form of an integer; none if it depends on the levels in another way than by a sum.
    ///
    /// The forward code has read at every index of the levels within bounds. An index moves by less than 2^31 from one iteration to the next, so that it
    /// cannot have wrapped without leaving the array in between.
    pub fn of(&mut self, v: Value) -> Option<Lin> {
        self.form(v, MOST_DEPTH)
    }

    pub fn form(&mut self, v: Value, depth: u32) -> Option<Lin> {
        if let Some(form) = self.known.get(&v) {
            return Some(form.clone());
        }
        let lin = self.compute(v, depth.checked_sub(1)?)?;
        self.known.insert(v, lin.clone());
        Some(lin)
    }

    fn compute(&mut self, v: Value, depth: u32) -> Option<Lin> {
        if self.vars.contains(&v) {
            return Some(Lin::atom(Atom::Value(v)));
        }
        let state = &self.reverse.state;
        let op = state.defs.op(state.func, v).cloned();
        let sum = match &op {
            Some(Op::Const(k)) => return k.as_i64().map(Lin::constant),
            Some(Op::Bin(op @ (BinOp::Add | BinOp::Sub), a, b)) => {
                let sign = if *op == BinOp::Add { 1 } else { -1 };
                self.form(*a, depth).and_then(|a| a.add_scaled(&self.form(*b, depth)?, sign))
            }
            Some(Op::Un(UnOp::Neg, a)) => self.form(*a, depth).and_then(|a| a.scale(-1)),
            Some(Op::Bin(BinOp::Mul, a, b)) => match (self.form(*a, depth), self.form(*b, depth)) {
                (Some(a), Some(b)) => match (a.as_const(), b.as_const()) {
                    (Some(k), _) => b.scale(k),
                    (_, Some(k)) => a.scale(k),
                    _ => None,
                },
                _ => None,
            },
            Some(Op::Extent { array, axis }) => {
                let (array, axis) = (*array, *axis);
                let ty = self.reverse.state.ty(array);
                let extent = ty.shape.extents()?.get(axis as usize)?.clone();
                match extent.as_const() {
                    Some(n) => return Some(Lin::constant(i64::from(n))),
                    None if self.is_inside(v) && !self.is_inside(array) => {
                        let at = self.at;
                        let outside = self.reverse.state.emit(at, Op::Extent { array, axis }, Ty::scalar(Elem::I32));
                        return Some(Lin::atom(Atom::Value(outside)));
                    }
                    None => None,
                }
            }
            Some(op) if self.is_inside(v) => self.in_case(v, op, depth),
            _ => None,
        };
        match sum {
            Some(sum) => Some(sum),
            None => (!self.is_inside(v)).then(|| Lin::atom(Atom::Value(v))),
        }
    }

    /// Adds what a condition says to what is given; whether that is all that it says.
    pub fn absorb(&mut self, cond: Value, holds: bool, given: &mut Given) -> bool {
        let state = &self.reverse.state;
        let (op, a, b) = match state.defs.op(state.func, cond) {
            Some(Op::Un(UnOp::Not, a)) => {
                let a = *a;
                return self.absorb(a, !holds, given);
            }
            Some(Op::Bin(op, a, b)) => (*op, *a, *b),
            _ => return false,
        };
        match (op, holds) {
            (BinOp::And, true) | (BinOp::Or, false) => {
                let (first, second) = (self.absorb(a, holds, given), self.absorb(b, holds, given));
                return first && second;
            }
            _ if self.reverse.state.func.ty(a).elem != Elem::I32 => return false,
            _ => {}
        }
        let difference = |forms: &mut Self, a: Value, b: Value| forms.of(a)?.sub(&forms.of(b)?);
        // At most zero.
        let below = match (op, holds) {
            (BinOp::Lt, true) | (BinOp::Ge, false) => difference(self, a, b).map(|d| d.plus(1)),
            (BinOp::Le, true) | (BinOp::Gt, false) => difference(self, a, b),
            (BinOp::Gt, true) | (BinOp::Le, false) => difference(self, b, a).map(|d| d.plus(1)),
            (BinOp::Ge, true) | (BinOp::Lt, false) => difference(self, b, a),
            (BinOp::Eq, true) | (BinOp::Ne, false) => {
                let Some(equation) = difference(self, a, b) else { return false };
                given.equations.push(equation);
                return true;
            }
            _ => return false,
        };
        given.constraints.extend(below.clone());
        below.is_some()
    }

    /// Whether a value is made in one of the levels, or inside of one.
    fn is_inside(&self, v: Value) -> bool {
        let state = &self.reverse.state;
        self.in_arms.contains(&v)
            || self.levels.iter().any(|level| state.is_made_in(v, self.reverse.levels[*level].region))
    }
}
