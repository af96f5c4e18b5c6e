//! Loops that go on while their counter is at most a bound compare it with the number behind the bound.
//!
//! ```text
//!    loop (%j = %s, ...) { ...  yield %j + 1 <= %m, %j + 1, ... }
//! => %e = %m + 1  loop (%j = %s, ...) { ...  yield %j + 1 < %e, %j + 1, ... }
//! ```
//!
//! `for (j = 0; j <= i; j++)` is then what other passes know a loop that counts by ([`crate::loops::counted`]).
//!
//! Before: simplified. After: no loop that counts by one compares with `<=`, if its bound is known to be less than the greatest integer.
//! Leaves alone: bounds that might be the greatest integer, for such loops never end; bounds that a round computes.

use crate::edit::{Defs, Emitter, insert_before, loops_of};
use crate::facts::places::Places;
use crate::loops::rounds::Rounds;
use crate::pass::{Context, Pass, Run};
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::{Func, Inst, Op, Region, Value};

pub const PASS: Pass = Pass {
    name: "strict-bounds",
    summary: "let loops that count to a bound count to below the next number",
    run: Run::Func(strict_bounds),
};

pub fn strict_bounds(func: &mut Func, _cx: &mut Context) -> bool {
    let mut defs = Defs::new(func);
    let places = Places::new(func);
    let found: Vec<(Region, Inst, Value, Value)> = loops_of(func)
        .into_iter()
        .filter_map(|(region, inst)| {
            let (next, last) = bound(func, &defs, &places, inst)?;
            Some((region, inst, next, last))
        })
        .collect();
    for &(region, inst, next, last) in &found {
        let Op::Loop { body, .. } = func.insts[inst].op else { continue };
        let span = func.insts[inst].span;
        let mut before = Vec::new();
        let mut e = Emitter { func, defs: &mut defs, out: &mut before, span };
        let one = e.int(1);
        let last = e.defs.int(e.func, last).map_or(last, |last| e.int(last));
        let end = e.int_op(BinOp::Add, last, one);
        let go_on = func.push1(body, Op::Bin(BinOp::Lt, next, end), Ty::scalar(Elem::Bool), span);
        func.regions[body].yields[0] = go_on;
        insert_before(func, region, inst, before);
    }
    !found.is_empty()
}

/// The next value of a loop's counter, and the greatest with which there is another round.
fn bound(func: &Func, defs: &Defs, places: &Places, inst: Inst) -> Option<(Value, Value)> {
    let Op::Loop { body, .. } = func.insts[inst].op else { return None };
    let data = &func.regions[body];
    let (next, last) = match defs.op(func, data.yields[0])? {
        Op::Bin(BinOp::Le, next, last) => (*next, *last),
        Op::Bin(BinOp::Ge, last, next) => (*next, *last),
        _ => return None,
    };
    let rounds = Rounds::of(func, defs, inst)?;
    let counter = data.yields[1..].iter().position(|v| *v == next)?;
    let is_fixed = !rounds.inside.contains(&last) || defs.int(func, last).is_some();
    if rounds.steps.get(&data.params[counter]) != Some(&1) || !is_fixed {
        return None;
    }
    let mut ranges = places.ranges_at(func, defs, inst);
    let form = ranges.form(func, defs, last);
    (ranges.upper(&form) < i64::from(i32::MAX)).then_some((next, last))
}
