//! What the rounds of a loop have in common: counters, and indices as sums of counters and of what no round changes.

use crate::edit::{Defs, collect_values};
use crate::facts::sums::{MAX_DEPTH, Sum, sum_of};
use ravel_types::BinOp;
use ravel_types::{HashMap, HashSet};
use ravel_wir::{Func, Inst, Op, Region, Value};

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
        let mut inside = HashSet::default();
        collect_values(func, *body, &mut inside);
        let mut steps = HashMap::default();
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
