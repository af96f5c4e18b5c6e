//! Folds over every s-th index count their indices.
//!
//! ```text
//!    fold { [1] <= [i] < [n] step [2] -> f(i) }
//! => fold { [0] <= [k] < [n / 2] -> f(1 + 2k) }
//! ```
//!
//! Lanes, threads and tiles take indices without gaps. The order of the indices stays.
//!
//! Before: the cycle of folding has ended, and checks of the index have been proven from its bounds. After: folds have no constant steps.
//! Leaves alone: steps that only the run knows, steps with a width, and lower bounds that may be negative, from which a distance might wrap.
//! Worth: tests/survey/stencils/strided-sums (1.0, hidden 0.7 with Cranelift, 1.5 with LLVM).

use crate::edit::{Defs, Emitter, Renames, insert_before, prepend};
use crate::facts::Places;
use crate::pass::{Context, Pass};
use ravel_types::BinOp;
use ravel_wir::{Func, Generator, Inst, Op, Part, Value, With, WithOp};

pub const PASS: Pass = Pass::of("normalize-steps", "count the indices of folds with steps", normalize_steps);

pub fn normalize_steps(func: &mut Func, cx: &mut Context) -> bool {
    let (places, mut defs) = (Places::new(func), Defs::new(func));
    let mut changed = false;
    for inst in places.withs.clone() {
        let Op::With(with) = &func.insts[inst].op else { continue };
        if with.ops.is_empty() || !with.ops.iter().all(|op| matches!(op, WithOp::Fold { .. })) {
            continue;
        }
        let steps: Option<Vec<_>> = with.parts.iter().map(|part| steps_of(func, &places, &defs, inst, part)).collect();
        let Some(steps) = steps.filter(|steps| steps.iter().flatten().any(|step| *step > 1)) else { continue };
        rewrite(func, &mut defs, &places, inst, &steps);
        cx.applied(func.insts[inst].span, "its indices are counted, without steps");
        changed = true;
    }
    changed
}

/// The steps of a partition, if its indices can be counted.
fn steps_of(func: &Func, places: &Places, defs: &Defs, inst: Inst, part: &Part) -> Option<Vec<i32>> {
    let Generator::Known { lower, upper, step, width } = &part.generator else { return None };
    let Some(step) = step else { return Some(vec![1; lower.len()]) };
    let mut steps = Vec::new();
    for axis in 0..lower.len() {
        let by = defs.int(func, step[axis]).filter(|by| *by > 0)?;
        let is_single = width.as_ref().is_none_or(|width| defs.int(func, width[axis]) == Some(1));
        if by > 1 && !(is_single && is_not_negative(func, places, defs, inst, lower[axis])) {
            return None;
        }
        steps.push(by);
    }
    debug_assert_eq!(steps.len(), upper.len());
    Some(steps)
}

fn is_not_negative(func: &Func, places: &Places, defs: &Defs, inst: Inst, value: Value) -> bool {
    if let Some(k) = defs.int(func, value) {
        return k >= 0;
    }
    let mut ranges = places.ranges_at(func, defs, inst);
    let form = ranges.form(func, defs, value);
    ranges.lower(&form) >= 0
}

/// Replaces bounds and indices of the axes with steps.
fn rewrite(func: &mut Func, defs: &mut Defs, places: &Places, inst: Inst, steps: &[Vec<i32>]) {
    let Some(home) = places.home(inst) else { return };
    let span = func.insts[inst].span;
    let Op::With(With { mut parts, ops, ordered }) = func.insts[inst].op.clone() else { return };
    let mut before = Vec::new();
    for (part, steps) in parts.iter_mut().zip(steps) {
        let Generator::Known { lower, upper, step, width } = &mut part.generator else { continue };
        let mut head = Vec::new();
        let mut renames = Renames::default();
        for (axis, &by) in steps.iter().enumerate().filter(|(_, by)| **by > 1) {
            let first = lower[axis];
            let mut e = Emitter { func, defs, out: &mut before, span };
            upper[axis] = indices(&mut e, first, upper[axis], by);
            lower[axis] = e.int(0);
            let old = e.func.regions[part.body].params[axis];
            let count = e.func.new_value(e.func.ty(old).clone());
            e.func.regions[part.body].params[axis] = count;
            let mut e = Emitter { func, defs, out: &mut head, span };
            let by = e.int(by);
            let distance = e.int_op(BinOp::Mul, count, by);
            let index = e.int_op(BinOp::Add, distance, first);
            renames.set(old, index);
        }
        (*step, *width) = (None, None);
        renames.apply_region(func, part.body);
        prepend(func, part.body, head);
    }
    func.insts[inst].op = Op::With(With { parts, ops, ordered });
    insert_before(func, home, inst, before);
}

/// How many indices there are from `first`, which is not negative, below `end` in steps: the distance over the step, rounded up.
fn indices(e: &mut Emitter<'_>, first: Value, end: Value, by: i32) -> Value {
    let end = e.int_op(BinOp::Max, end, first);
    let distance = e.int_op(BinOp::Sub, end, first);
    let (by, one) = (e.int(by), e.int(1));
    let whole = e.int_op(BinOp::Div, distance, by);
    let taken = e.int_op(BinOp::Mul, whole, by);
    let rest = e.int_op(BinOp::Sub, distance, taken);
    let rest = e.int_op(BinOp::Min, rest, one);
    e.int_op(BinOp::Add, whole, rest)
}
