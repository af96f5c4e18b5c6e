//! Loops that look for an extreme and for where it is become folds.
//!
//! ```text
//!    loop (%m = %m0, %p = %p0, %k = 0) { %x = %a[%k]  %c = %x > %m  yield ..., select(%c, %x, %m), select(%c, %k, %p), %k + 1 }
//! => %e = with { [0] <= [%k] < [n] { %a[%k] } } fold max
//!    %q = with { [0] <= [%k] < [n] { select(%a[%k] == %e, %k, n - 1) } } fold min
//!    one iteration of the loop, for %k = %q
//! ```
//!
//! The index of the greatest element, the row of a pivot, the nearest of some points, in `for` loops or as folds over records. Each iteration of such a
//! loop waits for the last one; the two folds run in lanes and on threads. The iteration that is left compares the extreme with what
//! the loop began with, and takes along whatever the loop keeps of the iteration that has it. Of equal extremes the loop keeps the first one, or the last one
//! where it asks for `>=`; what is no number never wins, and neither does it in the fold, which takes an infinity for it: should none
//! be a number, the iteration that is left finds out. What is compared may be a magnitude, of an element that is kept as it is; and other
//! conditions may say which iterations take part.
//!
//! Before: simplified, checks proven, branches that choose are selections, chosen elements are carried. After: no such loop of more than a few iterations.
//! Leaves alone: loops with checks, effects, branches or anything else that one iteration hands to the next; loops in bodies of with-loops that make
//! numbers only, where lanes run around them.

use crate::edit::{Copier, Defs, Emitter, mirrored, substitute, version_of};
use crate::facts::places::Places;
use crate::loops::Site;
use crate::loops::nest::Trip;
use crate::loops::nest::is_pure;
use ravel_source::Span;
use ravel_types::HashSet;
use ravel_types::{BinOp, Elem, Scalar, Ty};
use ravel_wir::{Combine, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

/// Fewer iterations stay as they are.
const LEAST_ITERATIONS: i32 = 32;
/// Most instructions of a body of which there will be three.
const MAX_CODE: usize = 24;
/// Operations between what is kept and what is compared.
const MAX_DEPTH: u32 = 4;

/// An extreme, and what is kept of the iteration that has it.
struct Extreme {
    cond: Value,
    /// What is compared, of the iteration at hand.
    key: Value,
    /// What must hold of an iteration that takes part.
    guards: Vec<Value>,
    is_greatest: bool,
    /// The last of equals counts, not the first.
    is_last: bool,
    /// Positions among the carried values.
    kept: Vec<usize>,
}

struct Found {
    trip: Trip,
    /// The counter begins before the end, and there are enough iterations.
    is_long: bool,
    extremes: Vec<Extreme>,
}

/// Puts two folds in the place of a loop, and says so; nothing if it stays.
pub fn make(site: &mut Site) -> Option<&'static str> {
    let (region, inst) = (site.region, site.inst);
    let least = if site.eager { 2 } else { LEAST_ITERATIONS };
    let found = examine(site.func, site.defs, site.places, inst, least)?;
    rewrite(site.func, site.defs, (region, inst), &found, least);
    Some("the loop is two folds: one finds the extreme, one where it is")
}

fn examine(func: &Func, defs: &Defs, places: &Places, inst: Inst, least: i32) -> Option<Found> {
    let Op::Loop { init, body } = &func.insts[inst].op else { return None };
    let trip = Trip::upward(func, defs, inst)?;
    let counter = trip.counter;
    let data = &func.regions[*body];
    let straight = data.insts.iter().all(|inst| func.insts[*inst].op.regions().is_empty());
    if init.len() < 3
        || !straight
        || data.insts.len() > MAX_CODE
        || !is_pure(func, *body)
        || lanes_run_around(func, places, inst)
    {
        return None;
    }
    if trip.is_short(func, defs, least) {
        return None;
    }
    let mut search = Search { func, defs, params: &data.params, touched: HashSet::default() };
    search.touched.extend(data.params.iter().enumerate().filter(|(k, _)| *k != counter).map(|(_, v)| *v));
    for &inst in &data.insts {
        let mut touches = false;
        func.insts[inst].op.for_each_operand(|v| touches |= search.touched.contains(&v));
        if touches {
            search.touched.extend(&func.insts[inst].results);
        }
    }
    let mut chosen: Vec<(usize, Chosen)> = Vec::new();
    for carried in (0..init.len()).filter(|k| *k != counter) {
        let (param, next) = (data.params[carried], data.yields[carried + 1]);
        if next != param {
            chosen.push((carried, search.chosen(param, next)?));
        }
    }
    let mut extremes: Vec<Extreme> = Vec::new();
    for (carried, choice) in &chosen {
        match extremes.iter_mut().find(|e| e.cond == choice.cond) {
            Some(extreme) => extreme.kept.push(*carried),
            None => extremes.push(search.extreme(choice, *carried, &chosen)?),
        }
    }
    let same_side = |e: &Extreme| {
        let sides: HashSet<bool> = chosen.iter().filter(|c| c.1.cond == e.cond).map(|c| c.1.if_true).collect();
        sides.len() == 1
    };
    // Without a place there is only the extreme, which is a fold of its own.
    let has_place = |e: &Extreme| e.kept.len() > 1;
    (extremes.iter().all(|e| same_side(e) && BinOp::Max.identity(func.ty(e.key).elem).is_some())
        && extremes.iter().any(has_place))
    .then_some(Found { trip, is_long: trip.iterations(func, defs).is_some(), extremes })
}

/// Is a loop in a body that makes numbers only?
fn lanes_run_around(func: &Func, places: &Places, inst: Inst) -> bool {
    let mut at = places.region_of[inst].expand();
    while let Some(region) = at {
        let Some(owner) = places.owner[region].expand() else { return false };
        if matches!(func.insts[owner].op, Op::With(_)) {
            let is_array = |v: &Value| !func.ty(*v).is_scalar();
            return !func.regions[region].insts.iter().any(|inst| func.insts[*inst].results.iter().any(is_array));
        }
        at = places.region_of[owner].expand();
    }
    false
}

/// A carried value that an iteration may replace.
struct Chosen {
    cond: Value,
    /// Replaced where the condition holds.
    if_true: bool,
    by: Value,
}

struct Search<'a> {
    func: &'a Func,
    defs: &'a Defs,
    params: &'a [Value],
    /// What depends on carried values other than the counter.
    touched: HashSet<Value>,
}

impl Search<'_> {
    fn chosen(&self, param: Value, next: Value) -> Option<Chosen> {
        let Some(Op::Select { cond, then, els }) = self.defs.op(self.func, next) else { return None };
        let (if_true, by) = match (*then == param, *els == param) {
            (false, true) => (true, *then),
            (true, false) => (false, *els),
            _ => return None,
        };
        let scalar = self.func.ty(param).is_scalar() && self.func.ty(param).elem != Elem::Handle;
        (scalar && !self.touched.contains(&by)).then_some(Chosen { cond: *cond, if_true, by })
    }

    /// The comparison behind a choice, with what is carried of the compared.
    fn extreme(&self, choice: &Chosen, carried: usize, chosen: &[(usize, Chosen)]) -> Option<Extreme> {
        let (mut cond, mut guards) = (choice.cond, Vec::new());
        while let Some(Op::Bin(BinOp::And, a, b)) = self.defs.op(self.func, cond).filter(|_| choice.if_true) {
            let (guard, other) = if self.touched.contains(a) { (*b, *a) } else { (*a, *b) };
            if self.touched.contains(&guard) {
                return None;
            }
            guards.push(guard);
            cond = other;
        }
        let Some(Op::Bin(op, a, b)) = self.defs.op(self.func, cond) else { return None };
        let (op, key, old) = match (self.touched.contains(a), self.touched.contains(b)) {
            (false, true) => (*op, *a, *b),
            (true, false) => (mirrored(*op), *b, *a),
            _ => return None,
        };
        let op = match (op, choice.if_true) {
            (_, true) => op,
            // What is no number is neither greater nor not.
            _ if self.func.ty(key).elem.is_float() => return None,
            (BinOp::Lt, _) => BinOp::Ge,
            (BinOp::Le, _) => BinOp::Gt,
            (BinOp::Gt, _) => BinOp::Le,
            (BinOp::Ge, _) => BinOp::Lt,
            _ => return None,
        };
        let (is_greatest, is_last) = match op {
            BinOp::Gt => (true, false),
            BinOp::Ge => (true, true),
            BinOp::Lt => (false, false),
            BinOp::Le => (false, true),
            _ => return None,
        };
        let is_compared = |(k, other): &(usize, Chosen)| {
            other.cond == choice.cond && self.is_same(old, key, self.params[*k], other.by, MAX_DEPTH)
        };
        chosen.iter().any(is_compared).then_some(Extreme {
            cond: choice.cond,
            key,
            guards,
            is_greatest,
            is_last,
            kept: vec![carried],
        })
    }

    /// Is `old` computed from a parameter as `key` is from what replaces it?
    fn is_same(&self, old: Value, key: Value, param: Value, by: Value, fuel: u32) -> bool {
        if old == param {
            return key == by;
        }
        let below = |a: Value, b: Value| fuel > 0 && self.is_same(a, b, param, by, fuel - 1);
        match (self.defs.op(self.func, old), self.defs.op(self.func, key)) {
            (Some(Op::Un(f, a)), Some(Op::Un(g, b))) => f == g && below(*a, *b),
            (Some(Op::Convert(a)), Some(Op::Convert(b))) => {
                self.func.ty(old).elem == self.func.ty(key).elem && below(*a, *b)
            }
            _ => false,
        }
    }
}

fn rewrite(func: &mut Func, defs: &mut Defs, (region, inst): (Region, Inst), found: &Found, least: i32) {
    let Op::Loop { init, body } = func.insts[inst].op.clone() else { return };
    let span = func.insts[inst].span;
    let start = init[found.trip.counter];
    let mut before = Vec::new();
    let cond =
        (!found.is_long).then(|| found.trip.emit_is_long(&mut Emitter { func, defs, out: &mut before, span }, least));
    let mut out = Vec::new();
    let mut e = Emitter { func, defs, out: &mut out, span };
    let end = found.trip.emit_end(&mut e);
    let mut made = init.clone();
    made[found.trip.counter] = end;
    let one = e.int(1);
    let last = e.int_op(BinOp::Sub, end, one);
    let round = Round { body, counter: found.trip.counter, init: &init, bounds: (start, end) };
    for extreme in &found.extremes {
        let place = round.place_of(&mut e, extreme, last);
        let mut copier = round.copier(e.func, place);
        let yields = copier.splice(e.func, body, e.out);
        for &k in &extreme.kept {
            made[k] = yields[k + 1];
        }
    }
    let Some(cond) = cond else {
        substitute(func, region, inst, out, made);
        return;
    };
    version_of(func, region, inst, (cond, RegionData { params: Vec::new(), insts: out, yields: made }), before);
}

/// A value where all conditions hold, and another one elsewhere.
fn choose(e: &mut Emitter, conds: Vec<Value>, then: Value, els: impl FnOnce(&mut Emitter) -> Value) -> Value {
    let truth = Ty::scalar(Elem::Bool);
    let Some(cond) = conds.into_iter().reduce(|a, b| e.emit(Op::Bin(BinOp::And, a, b), truth.clone())) else {
        return then;
    };
    let els = els(e);
    let ty = e.func.ty(then).clone();
    e.emit(Op::Select { cond, then, els }, ty)
}

/// A loop whose iterations are computed in any order.
struct Round<'a> {
    body: Region,
    counter: usize,
    init: &'a [Value],
    bounds: (Value, Value),
}

impl Round<'_> {
    /// A copy of the body for a value of the counter, from what the loop begins with.
    fn copier(&self, func: &mut Func, counter: Value) -> Copier<'static> {
        let mut copier = Copier::within(func, self.body);
        let params = func.regions[self.body].params.clone();
        copier.values.extend(params.iter().copied().zip(self.init.iter().copied()));
        copier.values.insert(params[self.counter], counter);
        copier
    }

    /// The counter of the iteration that has an extreme; `last` if none has.
    fn place_of(&self, e: &mut Emitter, extreme: &Extreme, last: Value) -> Value {
        let elem = e.func.ty(extreme.key).elem;
        let op = if extreme.is_greatest { BinOp::Max } else { BinOp::Min };
        let Some(unit) = op.identity(elem) else { return last };
        let best = self.fold(e, extreme, (op, unit), |e, key, mut conds, _| {
            if elem.is_float() {
                conds.push(e.emit(Op::Bin(BinOp::Eq, key, key), Ty::scalar(Elem::Bool)));
            }
            choose(e, conds, key, |e| e.constant(unit))
        });
        let first = self.bounds.0;
        let (op, unit, other) = match extreme.is_last {
            true => (BinOp::Max, Scalar::I32(i32::MIN), first),
            false => (BinOp::Min, Scalar::I32(i32::MAX), last),
        };
        self.fold(e, extreme, (op, unit), |e, key, mut conds, counter| {
            conds.push(e.emit(Op::Bin(BinOp::Eq, key, best), Ty::scalar(Elem::Bool)));
            choose(e, conds, counter, |_| other)
        })
    }

    /// A fold over all iterations of what `cell` makes of the key, the guards and the counter of one.
    fn fold(
        &self,
        e: &mut Emitter,
        extreme: &Extreme,
        (op, unit): (BinOp, Scalar),
        cell: impl FnOnce(&mut Emitter, Value, Vec<Value>, Value) -> Value,
    ) -> Value {
        let span: Span = e.span;
        let counter = e.func.new_value(Ty::scalar(Elem::I32));
        let mut copier = self.copier(e.func, counter);
        let mut insts = Vec::new();
        copier.splice(e.func, self.body, &mut insts);
        let key = copier.value(extreme.key);
        let guards = extreme.guards.iter().map(|v| copier.value(*v)).collect();
        let mut inner = Emitter { func: e.func, defs: e.defs, out: &mut insts, span };
        let cell = cell(&mut inner, key, guards, counter);
        let body = e.func.regions.push(RegionData { params: vec![counter], insts, yields: vec![cell] });
        let neutral = e.constant(unit);
        let generator =
            Generator::Known { lower: vec![self.bounds.0], upper: vec![self.bounds.1], step: None, width: None };
        let ops = vec![WithOp::Fold { neutral, combine: Combine::Op(op), stop: None }];
        let with = With { parts: vec![Part { generator, body }], ops, ordered: false };
        e.emit(Op::With(with), Ty::scalar(unit.elem()))
    }
}
