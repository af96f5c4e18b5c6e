//! What the rounds of a loop have in common: counters, and indices as sums of counters and of what no round changes.
//!
//! Sums are taken modulo 2^32, as they are computed: equal sums are equal integers, and sums that differ by a constant are never equal.

use crate::edit::{Defs, Emitter, collect_values};
use ravel_types::{BinOp, Elem, Scalar, UnOp};
use ravel_wir::{Func, Inst, Op, Region, Value};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Operations of an index.
const MAX_DEPTH: u32 = 12;

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
fn sum_of(func: &Func, defs: &Defs, v: Value, is_known: &dyn Fn(Value) -> bool, depth: u32) -> Option<Sum> {
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

/// A loop, and what its indices are made of.
pub struct Rounds<'a> {
    pub func: &'a Func,
    pub defs: &'a Defs,
    pub inst: Inst,
    pub init: &'a [Value],
    pub body: Region,
    /// Everything that a round computes.
    pub inside: HashSet<Value>,
    /// Parameters that change by a constant.
    pub steps: HashMap<Value, i32>,
}

impl<'a> Rounds<'a> {
    pub fn of(func: &'a Func, defs: &'a Defs, inst: Inst) -> Option<Rounds<'a>> {
        let Op::Loop { init, body } = &func.insts[inst].op else { return None };
        let data = &func.regions[*body];
        let mut inside = HashSet::new();
        collect_values(func, *body, &mut inside);
        let mut steps = HashMap::new();
        for (&param, &next) in data.params.iter().zip(&data.yields[1..]) {
            let step = match defs.op(func, next) {
                Some(Op::Bin(BinOp::Add, a, b)) if *a == param => defs.int(func, *b),
                Some(Op::Bin(BinOp::Add, a, b)) if *b == param => defs.int(func, *a),
                Some(Op::Bin(BinOp::Sub, a, b)) if *a == param => defs.int(func, *b).map(i32::wrapping_neg),
                _ => None,
            };
            steps.extend(step.map(|step| (param, step)));
        }
        Some(Rounds { func, defs, inst, init, body: *body, inside, steps })
    }

    /// An index in terms of the loop's counters and of what no round changes.
    pub fn sum(&self, v: Value) -> Option<Sum> {
        let is_known = |v: Value| self.steps.contains_key(&v) || !self.inside.contains(&v);
        sum_of(self.func, self.defs, v, &is_known, MAX_DEPTH)
    }

    /// By how much an index changes in a round.
    pub fn step(&self, sum: &Sum) -> i32 {
        let of = |(v, k): (&Value, &i32)| self.steps.get(v).map_or(0, |step| step.wrapping_mul(*k));
        sum.terms.iter().map(of).fold(0, i32::wrapping_add)
    }

    /// The index so many rounds ago.
    pub fn earlier(&self, sum: &Sum, rounds: i32) -> Sum {
        let constant = sum.constant.wrapping_sub(self.step(sum).wrapping_mul(rounds));
        Sum { constant, terms: sum.terms.clone() }
    }

    /// The index so many rounds before the first one.
    pub fn at_start(&self, sum: &Sum, rounds: i32) -> Sum {
        let params = &self.func.regions[self.body].params;
        let mut start = self.earlier(sum, rounds);
        for v in start.terms.clone().into_keys() {
            if let Some(k) = params.iter().position(|p| *p == v) {
                start = start.substitute(v, &self.sum(self.init[k]).unwrap_or_else(|| Sum::of(self.init[k])));
            }
        }
        start
    }
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
