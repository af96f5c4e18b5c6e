//! With-loops that replace a run of elements, in iterations of a loop, are loops where the run decides that it is short.
//!
//! ```text
//!    %b = modarray %a { [%i, %l] <= [%k, %j] < [%i + 1, %u] -> f(%j) }
//! => %b = if %u - %l >= 24 { modarray ... } else { if %l < %u { loop (%c = %a, %j = %l) { %c with [%i, %j] = f(%j) ... } } else { %a } }
//! ```
//!
//! Decoding of run lengths, buckets, rows of ragged arrays: threads and lanes take longer to start than a few elements to compute.
//!
//! Before: the with-loops are what they will be. After: such with-loops are branches with both.
//! Leaves alone: runs whose length is known; more than one axis; bodies with loops or much code, or that read the array elsewhere; with-loops outside of
//! loops, which start once, and those inside of with-loops.
//! Worth: tests/survey/strings/run-lengths (24 with Cranelift, 4.5 with LLVM).

use crate::edit::{Copier, Defs, Emitter, has_loop, loops_of, size_of, version_of};
use crate::facts::Places;
use crate::pass::{Context, Pass};
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Generator, Inst, Op, Region, RegionData, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("version-short-runs", "loops for runs of elements that turn out to be short", version_short_runs);

/// Fewer elements are computed one by one.
const LONG: i32 = 24;
/// Most instructions of an element.
const MAX_CODE: usize = 16;

struct Found {
    region: Region,
    inst: Inst,
    body: Region,
    lower: Vec<Value>,
    upper: Value,
    /// The axis along which the run goes.
    axis: usize,
}

pub fn version_short_runs(func: &mut Func, cx: &mut Context) -> bool {
    let mut defs = Defs::new(func);
    let places = Places::new(func);
    let mut found: Vec<Found> = Vec::new();
    for (_, inst) in loops_of(func) {
        let Op::Loop { body, .. } = func.insts[inst].op else { continue };
        if places.is_inside_with(func, inst) {
            continue;
        }
        walk(func, body, &mut |region, inner| {
            if !found.iter().any(|known| known.inst == inner) && !places.is_inside_with(func, inner) {
                found.extend(examine(func, &defs, region, inner));
            }
        });
    }
    for found in &found {
        cx.applied(func.insts[found.inst].span, "if it turns out to be short it is a loop");
        rewrite(func, &mut defs, found);
    }
    !found.is_empty()
}

fn examine(func: &Func, defs: &Defs, region: Region, inst: Inst) -> Option<Found> {
    let Op::With(With { parts, ops, ordered: false }) = &func.insts[inst].op else { return None };
    let ([part], [WithOp::Modarray { array }]) = (&parts[..], &ops[..]) else { return None };
    let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return None };
    let data = &func.regions[part.body];
    let is_scalar = data.yields.iter().all(|v| func.ty(*v).is_scalar());
    let same_type = func.ty(*array) == func.ty(func.insts[inst].results[0]);
    if !is_scalar || !same_type || has_loop(func, part.body) || size_of(func, part.body) > MAX_CODE {
        return None;
    }
    // All axes but one have one index.
    let is_one = |k: &usize| match defs.op(func, upper[*k]) {
        Some(Op::Bin(BinOp::Add, a, b)) => {
            (*a == lower[*k] && defs.int(func, *b) == Some(1)) || (*b == lower[*k] && defs.int(func, *a) == Some(1))
        }
        _ => defs.int(func, lower[*k]).zip(defs.int(func, upper[*k])).is_some_and(|(low, high)| high - low == 1),
    };
    let runs: Vec<usize> = (0..lower.len()).filter(|k| !is_one(k)).collect();
    let &[axis] = &runs[..] else { return None };
    if defs.int(func, lower[axis]).is_some() && defs.int(func, upper[axis]).is_some() {
        return None;
    }
    // What is read of the array is the element itself, which the loop has not replaced yet.
    let mut reads_elsewhere = false;
    walk(func, part.body, &mut |_, inner| {
        let op = &func.insts[inner].op;
        let is_own = matches!(op, Op::Sel { array: read, index } if read == array && *index == data.params);
        let is_length = matches!(op, Op::Extent { .. } | Op::ShapeVec(_));
        op.for_each_operand(|v| reads_elsewhere |= v == *array && !is_own && !is_length);
    });
    let found = Found { region, inst, body: part.body, lower: lower.clone(), upper: upper[axis], axis };
    (!reads_elsewhere && data.params.len() == lower.len()).then_some(found)
}

fn rewrite(func: &mut Func, defs: &mut Defs, found: &Found) {
    // It may be what stands for the result of another one by now.
    let Op::With(With { ops, .. }) = &func.insts[found.inst].op else { return };
    let Some(&WithOp::Modarray { array: old }) = ops.first() else { return };
    let (span, ty) = (func.insts[found.inst].span, func.ty(old).clone());
    let (int, truth) = (Ty::scalar(Elem::I32), Ty::scalar(Elem::Bool));
    let low = found.lower[found.axis];
    let mut before = Vec::new();
    let mut e = Emitter { func, defs, out: &mut before, span };
    let n = e.int_op(BinOp::Sub, found.upper, low);
    let long = e.int(LONG);
    let begins = e.emit(Op::Bin(BinOp::Lt, low, found.upper), truth.clone());
    // Differences that wrap are negative, and left to the with-loop.
    let below = e.emit(Op::Bin(BinOp::Lt, n, long), truth.clone());
    let zero = e.int(0);
    let is_number = e.emit(Op::Bin(BinOp::Ge, n, zero), truth.clone());
    let is_short = e.emit(Op::Bin(BinOp::And, below, is_number), truth.clone());

    let params = func.regions[found.body].params.clone();
    let body = func.new_region();
    let (array, count) = (func.add_param(body, ty.clone()), func.add_param(body, int.clone()));
    let mut copier = Copier::within(func, found.body);
    let index: Vec<Value> = (0..params.len()).map(|k| if k == found.axis { count } else { found.lower[k] }).collect();
    copier.values.extend(params.into_iter().zip(index.iter().copied()));
    copier.values.insert(old, array);
    let mut insts = Vec::new();
    let yields = copier.splice(func, found.body, &mut insts);
    func.regions[body].insts = insts;
    let next = func.push1(body, Op::Update { array, index, value: yields[0] }, ty.clone(), span);
    let one = func.push1(body, Op::Const(ravel_types::Scalar::I32(1)), int.clone(), span);
    let following = func.push1(body, Op::Bin(BinOp::Add, count, one), int.clone(), span);
    let more = func.push1(body, Op::Bin(BinOp::Lt, following, found.upper), truth, span);
    func.regions[body].yields = vec![more, next, following];
    let run = func.make_inst(Op::Loop { init: vec![old, low], body }, vec![ty.clone(), int], span);
    let yields = vec![func.insts[run].results[0]];
    let then = func.regions.push(RegionData { params: Vec::new(), insts: vec![run], yields });
    let els = func.regions.push(RegionData { params: Vec::new(), insts: Vec::new(), yields: vec![old] });
    let some = func.make_inst(Op::If { cond: begins, then, els }, vec![ty], span);
    let yields = func.insts[some].results.clone();
    let fast = RegionData { params: Vec::new(), insts: vec![some], yields };
    version_of(func, found.region, found.inst, (is_short, fast), before);
}
