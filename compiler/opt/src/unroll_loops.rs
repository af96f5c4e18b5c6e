//! Unrolling of loops: a short loop of constant length inside a with-loop becomes straight-line code.
//!
//! ```text
//!    %y, %n = loop (%p = 0.0, %k = 0) { %q = p * x + c[%k]  %m = %k + 1  yield %m < 8, %q, %m }
//! => %q0 = 0.0 * x + c[0]  %q1 = %q0 * x + c[1]  ...
//! ```
//!
//! A polynomial, some steps of an iteration: written out, it runs in lanes whatever it loads, and selections at the counter become
//! selections at constants.
//!
//! Before: simplified, so that the counter's start, step and end are constants. After: no such loop whose code is short.
//! Leaves alone: loops outside of with-loops, which gain nothing, and those with loops, with-loops or calls inside.

use crate::edit::{Copier, Defs, Renames, size_of};
use crate::pass::{Context, Pass, Run};
use ravel_types::{Scalar, eval_bin};
use ravel_wir::{Func, Inst, Op, Region, Value};

pub const PASS: Pass =
    Pass { name: "unroll-loops", summary: "write out short loops inside with-loops", run: Run::Func(unroll_loops) };

/// Most rounds.
const MAX_TRIPS: usize = 16;
/// Most instructions that all rounds have together.
const MAX_CODE: usize = 160;

pub fn unroll_loops(func: &mut Func, _: &mut Context) -> bool {
    let defs = Defs::new(func);
    let mut found = Vec::new();
    find(func, func.body, false, &mut found);
    let mut changed = false;
    let mut renames = Renames::default();
    for (region, inst) in found {
        let Some(trips) = short_trips(func, &defs, inst) else { continue };
        let Op::Loop { init, body } = func.insts[inst].op.clone() else { continue };
        let results = func.insts[inst].results.clone();
        let params = func.regions[body].params.clone();
        let mut out = Vec::new();
        let mut carried = init;
        for _ in 0..trips {
            let mut copier = Copier::within(func, body);
            copier.values.extend(params.iter().copied().zip(carried));
            let yields = copier.splice(func, body, &mut out);
            carried = yields.into_iter().skip(1).collect();
        }
        let insts = &mut func.regions[region].insts;
        if let Some(at) = insts.iter().position(|i| *i == inst) {
            insts.splice(at..=at, out);
        }
        for (old, new) in results.into_iter().zip(carried) {
            renames.set(old, new);
        }
        changed = true;
    }
    renames.apply(func);
    changed
}

/// Loops inside with-loops that have nothing nested but branches, with the regions that they are in.
fn find(func: &Func, region: Region, inside: bool, found: &mut Vec<(Region, Inst)>) {
    for &inst in &func.regions[region].insts {
        let op = &func.insts[inst].op;
        match op {
            Op::Loop { body, .. } if inside && is_plain(func, *body) => found.push((region, inst)),
            _ => op.regions().into_iter().for_each(|nested| find(func, nested, inside || matches!(op, Op::With(_)), found)),
        }
    }
}

fn is_plain(func: &Func, region: Region) -> bool {
    func.regions[region].insts.iter().all(|inst| match &func.insts[*inst].op {
        Op::With(_) | Op::Loop { .. } | Op::Call { .. } => false,
        op => op.regions().into_iter().all(|nested| is_plain(func, nested)),
    })
}

/// How often a loop runs, if that is known and its code may be written out.
fn short_trips(func: &Func, defs: &Defs, inst: Inst) -> Option<usize> {
    let Op::Loop { init, body } = &func.insts[inst].op else { return None };
    let data = &func.regions[*body];
    // Every round must have values of the types that the results have.
    let fixed = func.insts[inst].results.iter().zip(&data.yields[1..]).zip(init).all(|((result, next), first)| {
        let ty = func.ty(*result);
        ty == func.ty(*next) && ty == func.ty(*first) && ty.shape.constants().is_some()
    });
    if !fixed {
        return None;
    }
    let trips = trips(func, defs, init, *body)?;
    (trips * size_of(func, *body) <= MAX_CODE).then_some(trips)
}

/// How often a loop runs whose counter starts from a constant, changes by a constant and is compared to one.
fn trips(func: &Func, defs: &Defs, init: &[Value], body: Region) -> Option<usize> {
    let data = &func.regions[body];
    let Some(Op::Bin(compare, a, b)) = defs.op(func, *data.yields.first()?) else { return None };
    if !compare.is_comparison() {
        return None;
    }
    // The counter: a parameter, before or after its step.
    let counter = data.params.iter().position(|p| [a, b].contains(&p));
    let k = counter.or_else(|| data.yields[1..].iter().position(|v| [a, b].contains(&v)))?;
    let (param, next) = (*data.params.get(k)?, data.yields[k + 1]);
    let Some(Op::Bin(step, x, y)) = defs.op(func, next) else { return None };
    let mut now = defs.constant(func, *init.get(k)?).filter(|s| !s.elem().is_float())?;
    for trip in 1..=MAX_TRIPS {
        let value = |v: Value, now: Scalar, after: Option<Scalar>| match v {
            _ if v == param => Some(now),
            _ if v == next => after,
            _ => defs.constant(func, v),
        };
        let after = eval_bin(*step, value(*x, now, None)?, value(*y, now, None)?).ok()?;
        match eval_bin(*compare, value(*a, now, Some(after))?, value(*b, now, Some(after))?).ok()? {
            Scalar::Bool(true) => now = after,
            Scalar::Bool(false) => return Some(trip),
            _ => return None,
        }
    }
    None
}
