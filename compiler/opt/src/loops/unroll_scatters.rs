//! Loops that update arrays take several iterations at once: first what their updates need, then the updates in their order.
//!
//! ```text
//!    loop (%a, %i) { %e = %v[%i]  %s = %a[%e]  %t = %s + 1  %b = %a with [%e] = %t  ... }
//! => loop (%a, %i) { %e0 = %v[%i]  ...  %e3 = %v[%i+3]   %s0 = %a[%e0]  ...  %b3 = %b2 with [%e3] = ... }
//! ```
//!
//! Processors let loads overtake stores whose address is not known yet, and start again where both turn out to be at one place. With the
//! addresses known early that is rare: a histogram takes two thirds of the time.
//!
//! Before: optimised; loops run in their final places. After: such loops are two, one of which takes four iterations at once.
//! Leaves alone: loops that do not load the places of their updates, or that compute them from what they carry, loops with effects, with loops or calls inside, or with long bodies;
//! loops in which an update may fault, for a later iteration would report its fault first.
//! Worth: tests/survey/reductions/distinct (1.7 with Cranelift, 2.3 with LLVM).

use crate::edit::{Copier, Defs, Emitter, loops_of, size_of, substitute};
use crate::loops::nest::Trip;
use crate::pass::{Context, Pass};
use ravel_source::Span;
use ravel_types::HashSet;
use ravel_types::{BinOp, Elem, Scalar, Ty};
use ravel_wir::traverse::{free_values, walk};
use ravel_wir::{Func, Inst, Op, Region, RegionData, Value};

pub const PASS: Pass =
    Pass::of("unroll-scatters", "take several iterations of loops that update arrays at once", unroll_scatters);

/// Iterations that are taken at once.
const BATCH: i32 = 4;
/// Most instructions of a body.
const MAX_CODE: usize = 24;
/// Fewer iterations stay as they are.
const LEAST_ITERATIONS: i64 = 32;

/// A loop that counts upward by one.
struct Found {
    trip: Trip,
    region: Region,
    inst: Inst,
    body: Region,
    /// The instructions of the body that do not depend on what it carries, the counter aside.
    ahead: HashSet<Inst>,
}

pub fn unroll_scatters(func: &mut Func, cx: &mut Context) -> bool {
    let loops = loops_of(func);
    let mut defs = Defs::new(func);
    let found: Vec<Found> =
        loops.into_iter().filter_map(|(region, inst)| examine(func, &defs, cx, region, inst)).collect();
    for found in &found {
        rewrite(func, &mut defs, found);
        cx.applied(func.insts[found.inst].span, format!("{BATCH} iterations of the loop at once, their loads first"));
    }
    !found.is_empty()
}

fn examine(func: &Func, defs: &Defs, cx: &Context, region: Region, inst: Inst) -> Option<Found> {
    let Op::Loop { init, body } = &func.insts[inst].op else { return None };
    let data = &func.regions[*body];
    if size_of(func, *body) > MAX_CODE || !is_plain(func, *body) {
        return None;
    }
    let trip = Trip::upward(func, defs, inst)?;
    let counter = trip.counter;
    // Every iteration must have values of the types that the results have.
    let results = &func.insts[inst].results;
    if !(0..init.len())
        .all(|k| [init[k], data.yields[k + 1], data.params[k]].iter().all(|v| func.ty(*v) == func.ty(results[k])))
    {
        return None;
    }
    let least = if cx.eager { 2 } else { LEAST_ITERATIONS };
    if trip.is_short(func, defs, least) {
        return None;
    }
    let mut carried: HashSet<Value> = data.params.iter().copied().filter(|v| *v != data.params[counter]).collect();
    let mut ahead = HashSet::default();
    let (mut loaded, mut scatters): (HashSet<Value>, bool) = (HashSet::default(), false);
    for &inst in &data.insts {
        let op = &func.insts[inst].op;
        let mut depends = false;
        op.for_each_operand(|v| depends |= carried.contains(&v));
        depends |= op.regions().into_iter().any(|nested| free_values(func, nested).iter().any(|v| carried.contains(v)));
        if !depends {
            let mut uses_loaded = matches!(op, Op::Sel { .. });
            op.for_each_operand(|v| uses_loaded |= loaded.contains(&v));
            if uses_loaded {
                loaded.extend(&func.insts[inst].results);
            }
            ahead.insert(inst);
            continue;
        }
        if may_fault(func, inst) {
            return None;
        }
        let is_loaded = |index: &[Value]| index.iter().any(|v| loaded.contains(v));
        scatters |= any(func, inst, &|op| matches!(op, Op::Update { index, .. } if is_loaded(index)));
        carried.extend(&func.insts[inst].results);
    }
    scatters.then_some(Found { trip, region, inst, body: *body, ahead })
}

/// Has the region neither effects nor loops or calls inside?
fn is_plain(func: &Func, region: Region) -> bool {
    let mut plain = true;
    walk(func, region, &mut |_, inst| {
        let op = &func.insts[inst].op;
        plain &= !matches!(
            op,
            Op::GlobalSet(..) | Op::GlobalGet(_) | Op::Native { .. } | Op::Loop { .. } | Op::With(_) | Op::Call { .. }
        );
    });
    plain
}

fn any(func: &Func, inst: Inst, holds: &dyn Fn(&Op) -> bool) -> bool {
    let mut found = holds(&func.insts[inst].op);
    for nested in func.insts[inst].op.regions() {
        walk(func, nested, &mut |_, inner| found |= holds(&func.insts[inner].op));
    }
    found
}

fn may_fault(func: &Func, inst: Inst) -> bool {
    any(func, inst, &|op| matches!(op, Op::Check { .. }) || op.may_fault())
}

fn rewrite(func: &mut Func, defs: &mut Defs, found: &Found) {
    let span = func.insts[found.inst].span;
    let Op::Loop { init, .. } = func.insts[found.inst].op.clone() else { return };
    let types: Vec<Ty> = init.iter().map(|v| func.ty(*v).clone()).collect();
    let mut out = Vec::new();
    let mut e = Emitter { func, defs, out: &mut out, span };
    let end = found.trip.emit_end(&mut e);
    let first = init[found.trip.counter];
    let batch = e.int(BATCH);
    let rounds = e.int_op(BinOp::Sub, end, first);
    let batches = e.int_op(BinOp::Div, rounds, batch);
    let length = e.int_op(BinOp::Mul, batches, batch);
    // Where batches end. Distances that wrap are negative: there are no batches then.
    let middle = e.int_op(BinOp::Add, first, length);
    let has_batches = e.int_op(BinOp::Lt, first, middle);
    let none = e.int_op(BinOp::Ge, first, middle);
    let more = e.int_op(BinOp::Lt, middle, end);
    let has_rest = e.emit(Op::Bin(BinOp::Or, none, more), Ty::scalar(Elem::Bool));
    let rest = e.int_op(BinOp::Max, first, middle);
    let run = batches_of(func, found, &init, middle);
    let mut current = branch(func, &mut out, has_batches, run, &init, &types, span);
    // What is left.
    current[found.trip.counter] = rest;
    let single = Copier::within(func, found.body).region(func, found.body);
    let run = func.make_inst(Op::Loop { init: current.clone(), body: single }, types.clone(), span);
    let results = branch(func, &mut out, has_rest, run, &current, &types, span);
    substitute(func, found.region, found.inst, out, results);
}

/// Appends `if cond { inst } else { otherwise }`.
pub fn branch(
    func: &mut Func,
    out: &mut Vec<Inst>,
    cond: Value,
    inst: Inst,
    otherwise: &[Value],
    types: &[Ty],
    span: Span,
) -> Vec<Value> {
    let yields = func.insts[inst].results.clone();
    let then = func.regions.push(RegionData { params: Vec::new(), insts: vec![inst], yields });
    let els = func.regions.push(RegionData { params: Vec::new(), insts: Vec::new(), yields: otherwise.to_vec() });
    let both = func.make_inst(Op::If { cond, then, els }, types.to_vec(), span);
    out.push(both);
    func.insts[both].results.clone()
}

/// The loop in batches, up to a place.
fn batches_of(func: &mut Func, found: &Found, init: &[Value], middle: Value) -> Inst {
    let span = func.insts[found.inst].span;
    let int = Ty::scalar(Elem::I32);
    let region = func.new_region();
    let mut carried: Vec<Value> = init.iter().map(|v| func.add_param(region, func.ty(*v).clone())).collect();
    let counter = carried[found.trip.counter];
    let data = func.regions[found.body].clone();
    let mut copiers = Vec::new();
    for round in 0..BATCH {
        let mut copier = Copier::within(func, found.body);
        let index = match round {
            0 => counter,
            _ => {
                let distance = func.push1(region, Op::Const(Scalar::I32(round)), int.clone(), span);
                func.push1(region, Op::Bin(BinOp::Add, counter, distance), int.clone(), span)
            }
        };
        copier.values.insert(data.params[found.trip.counter], index);
        for inst in data.insts.iter().filter(|inst| found.ahead.contains(inst)) {
            let copy = copier.inst(func, *inst);
            func.regions[region].insts.push(copy);
        }
        copiers.push(copier);
    }
    for mut copier in copiers {
        for (k, &param) in data.params.iter().enumerate().filter(|(k, _)| *k != found.trip.counter) {
            copier.values.insert(param, carried[k]);
        }
        for inst in data.insts.iter().filter(|inst| !found.ahead.contains(inst)) {
            let copy = copier.inst(func, *inst);
            func.regions[region].insts.push(copy);
        }
        carried = data.yields[1..].iter().map(|v| copier.value(*v)).collect();
    }
    let batch = func.push1(region, Op::Const(Scalar::I32(BATCH)), int.clone(), span);
    carried[found.trip.counter] = func.push1(region, Op::Bin(BinOp::Add, counter, batch), int, span);
    let more =
        func.push1(region, Op::Bin(BinOp::Lt, carried[found.trip.counter], middle), Ty::scalar(Elem::Bool), span);
    func.regions[region].yields = vec![more];
    func.regions[region].yields.extend(carried);
    let types = init.iter().map(|v| func.ty(*v).clone()).collect();
    func.make_inst(Op::Loop { init: init.to_vec(), body: region }, types, span)
}
