//! Loops that go on while their counter is at most a bound compare it with the number behind the bound.
//!
//! ```text
//!    loop (%j = %s, ...) { ...  yield %j + 1 <= %m, %j + 1, ... }
//! => %e = %m + 1  loop (%j = %s, ...) { ...  yield %j + 1 < %e, %j + 1, ... }
//! ```
//!
//! `for (j = 0; j <= i; j++)` and `for (j = n - 1; j >= 0; j--)` have a [`Trip`](crate::loops::nest::Trip) then.
//! Refuses: bounds that might be the last integer, for such loops never end; bounds that an iteration computes.

use crate::edit::{Defs, Emitter, insert_before, loops_of, mirrored};
use crate::facts::places::Places;
use crate::loops::nest::LoopNest;
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::{Func, Inst, Op, Region, Value};

/// A loop whose bound is still part of its range: the next value of its counter, the bound, and the step.
struct Loose {
    region: Region,
    inst: Inst,
    next: Value,
    bound: Value,
    step: i32,
}

/// Makes bounds strict; whether there were others.
pub fn strict(func: &mut Func) -> bool {
    let mut defs = Defs::new(func);
    let places = Places::new(func);
    let found: Vec<Loose> =
        loops_of(func).into_iter().filter_map(|(region, inst)| examine(func, &defs, &places, region, inst)).collect();
    for &Loose { region, inst, next, bound, step } in &found {
        let Op::Loop { body, .. } = func.insts[inst].op else { continue };
        let span = func.insts[inst].span;
        let mut before = Vec::new();
        let mut e = Emitter { func, defs: &mut defs, out: &mut before, span };
        let (step_value, bound) = (e.int(step), e.defs.int(e.func, bound).map_or(bound, |bound| e.int(bound)));
        let end = e.int_op(BinOp::Add, bound, step_value);
        let op = if step > 0 { BinOp::Lt } else { BinOp::Gt };
        let go_on = func.push1(body, Op::Bin(op, next, end), Ty::scalar(Elem::Bool), span);
        func.regions[body].yields[0] = go_on;
        insert_before(func, region, inst, before);
    }
    !found.is_empty()
}

fn examine(func: &Func, defs: &Defs, places: &Places, region: Region, inst: Inst) -> Option<Loose> {
    let Op::Loop { body, .. } = func.insts[inst].op else { return None };
    let data = &func.regions[body];
    let Op::Bin(op @ (BinOp::Le | BinOp::Ge), a, b) = *defs.op(func, data.yields[0])? else { return None };
    let nest = LoopNest::of(func, defs, inst)?;
    let counts = |next: Value| {
        let counter = data.yields[1..].iter().position(|v| *v == next)?;
        nest.steps.get(&data.params[counter]).copied()
    };
    let (next, bound, op, step) = match (counts(a), counts(b)) {
        (Some(step), _) => (a, b, op, step),
        (None, Some(step)) => (b, a, mirrored(op), step),
        _ => return None,
    };
    if !matches!((op, step), (BinOp::Le, 1) | (BinOp::Ge, -1)) || !nest.is_fixed(bound) {
        return None;
    }
    let mut ranges = places.ranges_at(func, defs, inst);
    let form = ranges.form(func, defs, bound);
    let has_next = match step {
        1 => ranges.upper(&form) < i64::from(i32::MAX),
        _ => ranges.lower(&form) > i64::from(i32::MIN),
    };
    has_next.then_some(Loose { region, inst, next, bound, step })
}
