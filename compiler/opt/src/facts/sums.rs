//! Integers as sums of others with factors.
//!
//! Sums are taken modulo 2^32, as they are computed: equal sums are equal integers, and sums that differ by a constant are never equal.

use crate::edit::{Defs, Emitter};
use ravel_types::{BinOp, Elem, Scalar, UnOp};
use ravel_wir::{Func, Op, Value};
use std::collections::BTreeMap;

/// Operations of an index.
pub const MAX_DEPTH: u32 = 12;

/// A sum modulo 2^32 of integers with factors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub constant: i32,
    /// No factor is zero.
    pub terms: BTreeMap<Value, i32>,
}

impl Sum {
    pub fn constant(constant: i32) -> Sum {
        Sum { constant, terms: BTreeMap::new() }
    }

    pub fn of(v: Value) -> Sum {
        Sum { constant: 0, terms: BTreeMap::from([(v, 1)]) }
    }

    /// The sum with a value replaced.
    pub fn substitute(mut self, v: Value, by: &Sum) -> Sum {
        match self.terms.remove(&v) {
            Some(factor) => self.add(by, factor),
            None => self,
        }
    }

    pub fn add(mut self, other: &Sum, factor: i32) -> Sum {
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(factor));
        for (v, k) in &other.terms {
            let sum = self.terms.get(v).copied().unwrap_or(0).wrapping_add(k.wrapping_mul(factor));
            match sum {
                0 => self.terms.remove(v),
                _ => self.terms.insert(*v, sum),
            };
        }
        self
    }
}

/// An `i32` scalar as a sum; none if it depends on others than those that are known, which stay as they are, or has more operations than we look at.
pub fn sum_of(func: &Func, defs: &Defs, v: Value, is_known: &dyn Fn(Value) -> bool, depth: u32) -> Option<Sum> {
    let depth = depth.checked_sub(1)?;
    let inner = |v: Value| sum_of(func, defs, v, is_known, depth);
    let scaled = |v: Value, factor: i32| Some(Sum::default().add(&inner(v)?, factor));
    match defs.op(func, v) {
        Some(Op::Const(Scalar::I32(constant))) => {
            return Some(Sum::constant(*constant));
        }
        Some(Op::Bin(BinOp::Add, a, b)) => return Some(inner(*a)?.add(&inner(*b)?, 1)),
        Some(Op::Bin(BinOp::Sub, a, b)) => return Some(inner(*a)?.add(&inner(*b)?, -1)),
        Some(Op::Un(UnOp::Neg, a)) => return scaled(*a, -1),
        Some(Op::Bin(BinOp::Mul, a, b)) => match (defs.int(func, *a), defs.int(func, *b)) {
            (Some(k), _) => return scaled(*b, k),
            (_, Some(k)) => return scaled(*a, k),
            _ => {}
        },
        _ => {}
    }
    let is_int = func.ty(v).is_scalar() && func.ty(v).elem == Elem::I32;
    (is_int && is_known(v)).then(|| Sum::of(v))
}

/// Whether two `i32` scalars are one sum, however it is written.
pub fn same_sum(func: &Func, defs: &Defs, a: Value, b: Value) -> bool {
    let sum = |v: Value| sum_of(func, defs, v, &|_| true, MAX_DEPTH);
    sum(a).is_some_and(|a| sum(b).is_some_and(|b| a == b))
}

pub fn emit_sum(e: &mut Emitter, sum: &Sum) -> Value {
    let mut total: Option<Value> = None;
    for (&v, &factor) in &sum.terms {
        let (op, term) = match factor {
            -1 if total.is_some() => (BinOp::Sub, v),
            1 => (BinOp::Add, v),
            _ => {
                let factor = e.int(factor);
                (BinOp::Add, e.int_op(BinOp::Mul, v, factor))
            }
        };
        total = Some(match total {
            Some(total) => e.int_op(op, total, term),
            None => term,
        });
    }
    match total {
        Some(total) if sum.constant == 0 => total,
        Some(total) => {
            let constant = e.int(sum.constant);
            e.int_op(BinOp::Add, total, constant)
        }
        None => e.int(sum.constant),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;

    #[test]
    fn sums_wrap() {
        let v = Value::new(7);
        let one = Sum { constant: i32::MAX, terms: BTreeMap::from([(v, 3)]) };
        assert_eq!(one.clone().add(&one, -1), Sum::default());
        assert_eq!(one.clone().add(&Sum { constant: 1, terms: BTreeMap::new() }, 1).constant, i32::MIN);
        assert_eq!(Sum::default().add(&one, 2).terms[&v], 6);
    }
}
