//! Checks that come out alike for every index of a with-loop, or in every iteration of a loop, are made once in front of it.
//!
//! ```text
//!    with { [0] <= [%i] < [%n] { %v = with { ... }  %m = %h + %h  check %n == %m  yield %v } }
//! => %m = %h + %h  check %n <= 0 || %n == %m   with { [0] <= [%i] < [%n] { %v = with { ... }  yield %v } }
//! ```
//!
//! With-loops that do nothing but checks leave bodies in the same way (`split-checks`).
//!
//! Such as that the halves of a row make up a row again. Without them cells can be folded, scalarised and run in lanes. A loop runs at least once; for
//! a with-loop the check is made if there is an index.
//!
//! Before: what can be proven is. After: no such check is the first thing that can be observed of a body.
//! Leaves alone: checks behind other checks or effects of the body, whose faults would come first, and behind loops, which might not end.
//! Worth: tests/survey/small/halves (2.5 with Cranelift, 2.6 with LLVM, extents hidden).

use crate::edit::{Def, Defs, Emitter, any_inside, insert_before, insts_where};
use crate::facts::{Places, divides_by_constant, is_speculatable, region_has_effect};
use crate::fusion::split_operators::checks_plainly;
use crate::pass::{Context, Pass};
use ravel_types::{BinOp, Elem, HashSet, Ty};
use ravel_wir::traverse::{free_values, has_effect};
use ravel_wir::{Combine, Func, Generator, Inst, Op, Part, Region, Value, WithOp};

pub const PASS: Pass = Pass::of(
    "hoist-checks",
    "make checks that are the same for every index once, in front of the with-loop",
    hoist_checks,
);

/// A check of a body, and what it needs of that.
struct Found {
    body: Region,
    check: Inst,
    /// What it would report besides depends on the index, and is forgotten.
    alone: bool,
    needs: HashSet<Inst>,
    /// Bounds of which it is not known that there is an index between them.
    maybe_empty: Vec<(Value, Value)>,
}

pub fn hoist_checks(func: &mut Func, cx: &mut Context) -> bool {
    let owners = insts_where(func, func.body, |op| matches!(op, Op::With(_) | Op::Loop { .. }));
    let mut changed = false;
    let mut facts: Option<(Defs, Places)> = None;
    // Inner ones first, so that a check may leave several.
    for (_, owner) in owners.into_iter().rev() {
        loop {
            let (defs, places) = facts.get_or_insert_with(|| (Defs::new(func), Places::new(func)));
            let Some(home) = places.home(owner) else { break };
            let Some(found) = find(func, defs, places, owner, cx) else { break };
            lift(func, defs, home, owner, found);
            cx.applied(func.insts[owner].span, "a check that is the same for every index is made before it");
            (facts, changed) = (None, true);
        }
    }
    changed
}

fn find(func: &Func, defs: &Defs, places: &Places, owner: Inst, cx: &Context) -> Option<Found> {
    let (body, generator) = match &func.insts[owner].op {
        Op::Loop { body, .. } => (*body, None),
        Op::With(with) => {
            let stops = |op: &WithOp| matches!(op, WithOp::Fold { stop: Some(_), .. });
            let has_effects = |region: Region| region_has_effect(func, region, cx);
            if with.ordered || with.ops.iter().any(|op| stops(op) || op.region().is_some_and(has_effects)) {
                return None;
            }
            // The others do nothing that could come first.
            let mut parts = with.parts.iter().filter(|part| has_effects(part.body));
            let part = parts.next()?;
            if parts.next().is_some() {
                return None;
            }
            (part.body, Some(&part.generator))
        }
        _ => return None,
    };
    let check = first_check(func, places, body, cx)?;
    let (needs, alone) = match needs_of(func, defs, body, check, false) {
        Some(needs) => (needs, false),
        None => (needs_of(func, defs, body, check, true)?, true),
    };
    let mut maybe_empty = Vec::new();
    if let Some(generator) = generator {
        let Generator::Known { lower, upper, .. } = generator else { return None };
        let mut ranges = places.ranges_at(func, defs, owner);
        for (low, high) in lower.iter().copied().zip(upper.iter().copied()) {
            let (l, h) = (ranges.form(func, defs, low), ranges.form(func, defs, high));
            if ranges.compare(BinOp::Lt, &l, &h) != Some(true) {
                maybe_empty.push((low, high));
            }
        }
    }
    Some(Found { body, check, alone, needs, maybe_empty })
}

/// The check that is the first thing of a body that can be observed.
fn first_check(func: &Func, places: &Places, body: Region, cx: &Context) -> Option<Inst> {
    for &inst in &func.regions[body].insts {
        let op = &func.insts[inst].op;
        if matches!(op, Op::Check { .. }) || only_checks(func, places, inst, cx) {
            return Some(inst);
        }
        let hangs = |i: Inst| matches!(func.insts[i].op, Op::Loop { .. } | Op::Call { .. } | Op::Native { .. });
        if hangs(inst) || any_inside(func, inst, hangs) || has_effect(&|f| cx.is_observed(f), func, inst) {
            return None;
        }
    }
    None
}

/// Whether an instruction is a with-loop of checks, whose results nobody needs.
fn only_checks(func: &Func, places: &Places, inst: Inst, cx: &Context) -> bool {
    let Op::With(with) = &func.insts[inst].op else { return false };
    let plain = |part: &Part| {
        matches!(&part.generator, Generator::Known { lower, .. } if !lower.is_empty())
            && region_has_effect(func, part.body, cx)
            && checks_plainly(func, part.body, cx)
    };
    !with.ordered
        && with.ops.iter().all(|op| matches!(op, WithOp::Fold { combine: Combine::Op(_), stop: None, .. }))
        && func.insts[inst].results.iter().all(|v| places.uses(*v).is_empty())
        && !with.parts.is_empty()
        && with.parts.iter().all(plain)
}

/// The instructions of a body that a check needs, if they may stand before it; nothing if it depends on the index. `alone`: what else the check
/// would report is not asked for.
fn needs_of(func: &Func, defs: &Defs, body: Region, check: Inst, alone: bool) -> Option<HashSet<Inst>> {
    let own: HashSet<Inst> = func.regions[body].insts.iter().copied().collect();
    let mut needs = HashSet::default();
    let mut work = vec![check];
    let mut fits = true;
    while let Some(inst) = work.pop() {
        let op = &func.insts[inst].op;
        let mut used: Vec<Value> = op.regions().into_iter().flat_map(|nested| free_values(func, nested)).collect();
        match op {
            Op::Check { cond, fault } if alone && inst == check => {
                Op::Check { cond: *cond, fault: fault.own().clone() }.for_each_operand(|v| used.push(v));
            }
            op => op.for_each_operand(|v| used.push(v)),
        }
        used.into_iter().for_each(|v| match defs.get(v) {
            Def::Inst(from, _) if own.contains(&from) => {
                let op = &func.insts[from].op;
                let moves = is_speculatable(func, from) || divides_by_constant(func, defs, from);
                fits &= moves && op.regions().is_empty() && !matches!(op, Op::Opaque(_));
                if needs.insert(from) {
                    work.push(from);
                }
            }
            Def::Param(region, _) => fits &= region != body,
            _ => {}
        });
    }
    fits.then_some(needs)
}

fn lift(func: &mut Func, defs: &mut Defs, home: Region, owner: Inst, found: Found) {
    let span = func.insts[found.check].span;
    let insts = std::mem::take(&mut func.regions[found.body].insts);
    let (moved, kept): (Vec<Inst>, Vec<Inst>) =
        insts.into_iter().partition(|inst| *inst == found.check || found.needs.contains(inst));
    func.regions[found.body].insts = kept;
    let mut out: Vec<Inst> = moved.into_iter().filter(|inst| *inst != found.check).collect();
    let bool_type = Ty::scalar(Elem::Bool);
    let mut e = Emitter { func, defs, out: &mut out, span };
    let empty: Vec<Value> = found
        .maybe_empty
        .into_iter()
        .map(|bounds| {
            let [low, high] = <[Value; 2]>::from(bounds).map(|v| match e.defs.int(e.func, v) {
                Some(k) => e.int(k),
                None => v,
            });
            e.int_op(BinOp::Ge, low, high)
        })
        .collect();
    let op = match e.func.insts[found.check].op.clone() {
        Op::Check { mut cond, mut fault } => {
            if found.alone {
                fault = fault.own().clone();
            }
            for empty in empty {
                cond = e.emit(Op::Bin(BinOp::Or, empty, cond), bool_type.clone());
            }
            Op::Check { cond, fault }
        }
        // Without an index around it, it has none.
        Op::With(mut with) => {
            for part in &mut with.parts {
                let Generator::Known { lower, upper, .. } = &mut part.generator else { continue };
                let (Some(low), Some(high)) = (lower.first(), upper.first_mut()) else { continue };
                for &cond in &empty {
                    let (then, els) = (*low, *high);
                    *high = e.emit(Op::Select { cond, then, els }, Ty::scalar(Elem::I32));
                }
            }
            Op::With(with)
        }
        op => op,
    };
    func.insts[found.check].op = op;
    out.push(found.check);
    insert_before(func, home, owner, out);
}
