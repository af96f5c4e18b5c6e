//! Folds in bodies by functions of one's own become loops.
//!
//! ```text
//!    { [i] -> fold f { lower <= [k] < upper -> g(i, k) } }
//! => { [i] -> loop (%a = neutral, %k = lower) { %b = f(%a, g(i, %k))  %m = %k + 1  yield %m < upper, %b, %m } }
//! ```
//!
//! Such a fold keeps its order, as the loop does, but loops that all indices go through together run in lanes of the with-loop around them.
//!
//! Before: short folds are written out, and fold functions that are operators are recognised. After: in bodies, no such fold over a dense
//! index set that is known to be not empty.
//! Leaves alone: folds that may stop early, folds of arrays, several partitions, and folds whose bodies have checks, which keep lanes out.
//! Worth: tests/survey/recurrences/horner (1.6, 1.0 with Cranelift, 8.0, 1.0 with LLVM).

use crate::edit::{Copier, Defs, Emitter, any_inst, substitute};
use crate::facts::{Places, region_has_effect};
use crate::pass::{Context, Pass};
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::{Combine, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

pub const PASS: Pass = Pass::of(
    "folds-as-loops",
    "make loops of folds by functions of one's own, for the lanes around them",
    folds_as_loops,
);

/// A fold, and what it is made of.
struct Found {
    part: Part,
    neutral: Value,
    function: Region,
}

pub fn folds_as_loops(func: &mut Func, cx: &mut Context) -> bool {
    let (mut defs, places) = (Defs::new(func), Places::new(func));
    let mut changed = false;
    for inst in places.withs.clone() {
        let Some(region) = places.home(inst) else { continue };
        let Some(found) = examine(func, &defs, &places, cx, inst) else { continue };
        let span = func.insts[inst].span;
        let mut out = Vec::new();
        let total = nest(func, &mut defs, &found, Vec::new(), found.neutral, &mut out, span);
        substitute(func, region, inst, out, [total]);
        cx.applied(span, "its function is one of its own, so that it is a loop");
        changed = true;
    }
    changed
}

fn examine(func: &Func, defs: &Defs, places: &Places, cx: &Context, inst: Inst) -> Option<Found> {
    let Op::With(With { parts, ops, ordered: false }) = &func.insts[inst].op else { return None };
    let [WithOp::Fold { neutral, combine: Combine::Region(function), stop: None }] = ops[..] else { return None };
    let [part] = &parts[..] else { return None };
    let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return None };
    let scalar = func.ty(neutral).is_scalar() && func.ty(neutral).elem != Elem::Handle;
    if !scalar || lower.is_empty() || !places.is_inside_with(func, inst) {
        return None;
    }
    let mut plain = !region_has_effect(func, part.body, cx) && !region_has_effect(func, function, cx);
    let is_work = |inner: Inst| matches!(func.insts[inner].op, Op::With(_) | Op::Call { .. } | Op::Loop { .. });
    plain &= ![part.body, function].into_iter().any(|region| any_inst(func, region, is_work));
    let mut ranges = places.ranges_at(func, defs, inst);
    let runs = lower.iter().zip(upper).all(|(low, high)| {
        let (low, high) = (ranges.form(func, defs, *low), ranges.form(func, defs, *high));
        ranges.compare(BinOp::Lt, &low, &high) == Some(true)
    });
    (plain && runs).then(|| Found { part: part.clone(), neutral, function })
}

/// The loops along the axes from `index.len()` on; gives the total behind them.
fn nest(
    func: &mut Func,
    defs: &mut Defs,
    found: &Found,
    index: Vec<Value>,
    total: Value,
    out: &mut Vec<Inst>,
    span: ravel_source::Span,
) -> Value {
    let Generator::Known { lower, upper, .. } = &found.part.generator else { return total };
    let axis = index.len();
    if axis == lower.len() {
        let mut copier = Copier::within(func, found.part.body);
        let params = func.regions[found.part.body].params.clone();
        copier.values.extend(params.into_iter().zip(index));
        let cell = copier.splice(func, found.part.body, out)[0];
        let mut copier = Copier::within(func, found.function);
        let params = func.regions[found.function].params.clone();
        copier.values.extend(params.into_iter().zip([total, cell]));
        return copier.splice(func, found.function, out)[0];
    }
    let (ty, int) = (func.ty(total).clone(), Ty::scalar(Elem::I32));
    let (so_far, count) = (func.new_value(ty.clone()), func.new_value(int.clone()));
    let mut insts = Vec::new();
    let index = index.into_iter().chain([count]).collect();
    let next = nest(func, defs, found, index, so_far, &mut insts, span);
    let mut e = Emitter { func: &mut *func, defs: &mut *defs, out: &mut insts, span };
    let one = e.int(1);
    let after = e.emit(Op::Bin(BinOp::Add, count, one), int.clone());
    let more = e.emit(Op::Bin(BinOp::Lt, after, upper[axis]), Ty::scalar(Elem::Bool));
    let body = func.regions.push(RegionData { params: vec![so_far, count], insts, yields: vec![more, next, after] });
    let made = func.make_inst(Op::Loop { init: vec![total, lower[axis]], body }, vec![ty, int], span);
    out.push(made);
    func.insts[made].results[0]
}
