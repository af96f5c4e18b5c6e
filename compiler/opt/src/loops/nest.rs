//! A loop as the passes of this room see it: what it counts, and what its indices are made of.

use crate::edit::{Defs, Emitter, Renames, collect_values, insert_before};
use crate::facts::ranges::Ranges;
use crate::facts::sums::{MAX_DEPTH, Sum, sum_of};
use ravel_types::{BinOp, Elem, Ty};
use ravel_types::{HashMap, HashSet};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

/// How a loop counts: it goes on while its counter, after a step of one, is on the near side of an end that no iteration changes.
#[derive(Clone, Copy)]
pub struct Trip {
    pub inst: Inst,
    pub body: Region,
    /// Position among the carried values.
    pub counter: usize,
    /// The counter in the first iteration, which takes place whatever the end is.
    pub start: Value,
    /// The counter is less than it in all iterations but, perhaps, the first; greater, in a loop that counts down.
    pub end: Value,
    /// 1, or -1 in a loop that counts down.
    pub step: i32,
}

impl Trip {
    /// How a loop counts; none if it goes on for another reason.
    pub fn of(func: &Func, defs: &Defs, inst: Inst) -> Option<Trip> {
        let Op::Loop { init, body } = &func.insts[inst].op else { return None };
        let data = &func.regions[*body];
        let (next, end, step) = match defs.op(func, *data.yields.first()?)? {
            Op::Bin(BinOp::Lt, next, end) => (*next, *end, 1),
            Op::Bin(BinOp::Gt, next, end) => (*next, *end, -1),
            _ => return None,
        };
        let counter = data.yields[1..].iter().position(|v| *v == next)?;
        if step_of(func, defs, data.params[counter], next) != Some(step) {
            return None;
        }
        let mut own = HashSet::default();
        collect_values(func, *body, &mut own);
        // Constants may stand anywhere.
        let is_fixed = !own.contains(&end) || defs.int(func, end).is_some();
        is_fixed.then_some(Trip { inst, body: *body, counter, start: init[counter], end, step })
    }

    /// The same, of loops that count upward.
    pub fn upward(func: &Func, defs: &Defs, inst: Inst) -> Option<Trip> {
        Trip::of(func, defs, inst).filter(|trip| trip.step == 1)
    }

    /// The counter in an iteration.
    pub fn count(&self, func: &Func) -> Value {
        func.regions[self.body].params[self.counter]
    }

    /// The number of iterations, if start and end are constant; where that is less than one, one takes place all the same.
    pub fn iterations(&self, func: &Func, defs: &Defs) -> Option<i64> {
        let (start, end) = (defs.int(func, self.start)?, defs.int(func, self.end)?);
        Some((i64::from(end) - i64::from(start)) * i64::from(self.step))
    }

    /// Are there certainly fewer iterations than these?
    pub fn is_short(&self, func: &Func, defs: &Defs, least: impl Into<i64>) -> bool {
        self.iterations(func, defs).is_some_and(|n| n < least.into())
    }

    /// Is it certain, by what is known at the loop, that the counter begins before the end?
    pub fn is_ordered(&self, func: &Func, defs: &Defs, ranges: &mut Ranges) -> bool {
        let (start, end) = (ranges.form(func, defs, self.start), ranges.form(func, defs, self.end));
        ranges.compare(if self.step > 0 { BinOp::Lt } else { BinOp::Gt }, &start, &end) == Some(true)
    }

    /// The end of a loop, made again: a constant may stand in the body.
    pub fn emit_end(&self, e: &mut Emitter) -> Value {
        e.defs.int(e.func, self.end).map_or(self.end, |end| e.int(end))
    }

    /// What the counter is after the last iteration: the first one takes place whatever the end is, unless it is certain that the counter begins before it.
    pub fn emit_last(&self, e: &mut Emitter, is_ordered: bool) -> Value {
        let end = self.emit_end(e);
        if is_ordered {
            return end;
        }
        let step = e.int(self.step);
        let second = e.int_op(BinOp::Add, self.start, step);
        e.int_op(if self.step > 0 { BinOp::Max } else { BinOp::Min }, end, second)
    }

    /// Whether a loop that counts upward has at least so many iterations; not if their number does not fit.
    pub fn emit_is_long(&self, e: &mut Emitter, least: i32) -> Value {
        let truth = Ty::scalar(Elem::Bool);
        let begins = e.emit(Op::Bin(BinOp::Lt, self.start, self.end), truth.clone());
        let n = e.int_op(BinOp::Sub, self.end, self.start);
        let least = e.int(least);
        let long = e.emit(Op::Bin(BinOp::Ge, n, least), truth.clone());
        e.emit(Op::Bin(BinOp::And, begins, long), truth)
    }
}

/// By what constant an iteration changes a parameter.
fn step_of(func: &Func, defs: &Defs, param: Value, next: Value) -> Option<i32> {
    match defs.op(func, next)? {
        Op::Bin(BinOp::Add, a, b) if *a == param => defs.int(func, *b),
        Op::Bin(BinOp::Add, a, b) if *b == param => defs.int(func, *a),
        Op::Bin(BinOp::Sub, a, b) if *a == param => defs.int(func, *b).map(i32::wrapping_neg),
        _ => None,
    }
}

/// A loop, and what the indices in its body are made of: sums of counters and of what no iteration changes.
pub struct LoopNest<'a> {
    pub func: &'a Func,
    pub defs: &'a Defs,
    pub inst: Inst,
    pub init: &'a [Value],
    pub body: Region,
    /// Everything that an iteration computes.
    pub inside: HashSet<Value>,
    /// Parameters that change by a constant.
    pub steps: HashMap<Value, i32>,
    /// Loops inside count as the with-loops that they will be.
    pub whole: bool,
}

impl<'a> LoopNest<'a> {
    pub fn of(func: &'a Func, defs: &'a Defs, inst: Inst) -> Option<LoopNest<'a>> {
        let Op::Loop { init, body } = &func.insts[inst].op else { return None };
        let data = &func.regions[*body];
        let mut inside = HashSet::default();
        collect_values(func, *body, &mut inside);
        let steps = data.params.iter().zip(&data.yields[1..]);
        let steps = steps.filter_map(|(&param, &next)| Some((param, step_of(func, defs, param, next)?))).collect();
        Some(LoopNest { func, defs, inst, init, body: *body, inside, steps, whole: false })
    }

    /// The parameter at a position, and what the next iteration has for it.
    pub fn carried(&self, k: usize) -> (Value, Value) {
        let data = &self.func.regions[self.body];
        (data.params[k], data.yields[k + 1])
    }

    /// Has a carried value the same type in all iterations, and before and behind the loop?
    pub fn keeps_type(&self, k: usize) -> bool {
        let (param, next) = self.carried(k);
        let ty = self.func.ty(param);
        [self.init[k], next, self.func.insts[self.inst].results[k]].iter().all(|v| self.func.ty(*v) == ty)
    }

    /// Is a value the same in all iterations?
    pub fn is_fixed(&self, v: Value) -> bool {
        !self.inside.contains(&v) || self.defs.int(self.func, v).is_some()
    }

    /// An index in terms of the loop's counters and of what no iteration changes.
    pub fn sum(&self, v: Value) -> Option<Sum> {
        let is_known = |v: Value| self.steps.contains_key(&v) || !self.inside.contains(&v);
        sum_of(self.func, self.defs, v, &is_known, MAX_DEPTH)
    }

    /// By how much an index changes in an iteration.
    pub fn step(&self, sum: &Sum) -> i32 {
        let of = |(v, k): (&Value, &i32)| self.steps.get(v).map_or(0, |step| step.wrapping_mul(*k));
        sum.terms.iter().map(of).fold(0, i32::wrapping_add)
    }

    /// The index so many iterations ago.
    pub fn earlier(&self, sum: &Sum, iterations: i32) -> Sum {
        let constant = sum.constant.wrapping_sub(self.step(sum).wrapping_mul(iterations));
        Sum { constant, terms: sum.terms.clone() }
    }

    /// The index so many iterations before the first one.
    pub fn at_start(&self, sum: &Sum, iterations: i32) -> Sum {
        let params = &self.func.regions[self.body].params;
        let mut start = self.earlier(sum, iterations);
        for v in start.terms.clone().into_keys() {
            if let Some(k) = params.iter().position(|p| *p == v) {
                start = start.substitute(v, &self.sum(self.init[k]).unwrap_or_else(|| Sum::of(self.init[k])));
            }
        }
        start
    }
}

/// Does nothing in a region have effects or fault?
pub fn is_pure(func: &Func, region: Region) -> bool {
    let mut pure = true;
    walk(func, region, &mut |_, inst| {
        let op = &func.insts[inst].op;
        pure &= !op.is_anchored() && !matches!(op, Op::Call { .. } | Op::Native { .. });
        pure &= !matches!(op, Op::With(With { ordered: true, .. }));
    });
    pure
}

/// A loop without effects or faults that carries a counter, arrays that keep their types, and nothing else.
pub struct ArrayLoop {
    pub trip: Trip,
    /// Positions among the carried values.
    pub arrays: Vec<usize>,
}

impl ArrayLoop {
    /// The loop, if it is of this kind.
    pub fn of(nest: &LoopNest) -> Option<ArrayLoop> {
        let trip = Trip::of(nest.func, nest.defs, nest.inst)?;
        let arrays: Vec<usize> = (0..nest.init.len()).filter(|k| *k != trip.counter).collect();
        let is_array = |k: &usize| {
            let ty = nest.func.ty(nest.carried(*k).0);
            ty.rank().is_some_and(|rank| rank > 0) && ty.elem != Elem::Handle && nest.keeps_type(*k)
        };
        let fits = !arrays.is_empty() && arrays.iter().all(is_array) && is_pure(nest.func, nest.body);
        fits.then_some(ArrayLoop { trip, arrays })
    }

    /// The position of the array, if there is one only and the counter counts upward.
    pub fn only(&self) -> Option<usize> {
        match self.arrays[..] {
            [array] if self.trip.step == 1 => Some(array),
            _ => None,
        }
    }

    /// Lets a with-loop over `generator` change the arrays in place of the loop, whose body has become that of its cells. `before` makes the
    /// bounds, and `last` is what the counter was after the loop.
    pub fn becomes_with(&self, func: &mut Func, region: Region, generator: Generator, before: Vec<Inst>, last: Value) {
        let Op::Loop { init, .. } = &func.insts[self.trip.inst].op else { return };
        let ops = self.arrays.iter().map(|k| WithOp::Modarray { array: init[*k] }).collect();
        let parts = vec![Part { generator, body: self.trip.body }];
        func.insts[self.trip.inst].op = Op::With(With { parts, ops, ordered: false });
        let count = func.insts[self.trip.inst].results.remove(self.trip.counter);
        insert_before(func, region, self.trip.inst, before);
        Renames::from_iter([(count, last)]).apply(func);
    }
}
