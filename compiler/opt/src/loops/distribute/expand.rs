//! Scalars that the iterations of a loop compute by loops of their own, each to change a slice of an array, become elements of vectors.
//!
//! ```text
//!    loop (%a = %x, %j = %s) { %t = loop { ... %a[%i, %j] ... }  %b = modarray %a { [0, %j] <= [%i, %k] < [m, %j + 1] -> ... %t ... }  yield ..., %b, %j + 1 }
//! => loop (%a = %x, %j = %s, %v = zeros) { %t = loop { ... }  %w = %v with [%j - %s] = %t  %b = modarray ...  yield ..., %b, %j + 1, %w }
//! ```
//!
//! Scalar expansion, for reflections of columns and the like, as the order of such loops goes down columns. By itself it gains nothing: it is a part of `distribute-loops`, which makes a with-loop
//! over all columns of either half then, and drops it where that is not possible. Where the slices are rows, `parallelize-loops` takes the loop.

use crate::edit::{Def, Defs, Emitter, insert_before};
use crate::facts::places::Places;
use crate::loops::nest::{ArrayLoop, LoopNest};
use ravel_types::HashSet;
use ravel_types::{Affine, BinOp, Elem, Shape, Ty};
use ravel_wir::traverse::{free_values, walk};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Region, Value, With, WithOp};

/// Most scalars of an iteration.
const MAX_SCALARS: usize = 4;

/// The function in which a loop carries vectors of what its iterations compute; nothing if that would not help to split it.
pub fn expand_scalars(func: &Func, region: Region, inst: Inst) -> Option<Func> {
    let defs = Defs::new(func);
    let nest = LoopNest::of(func, &defs, inst)?;
    let whole = ArrayLoop::of(&nest)?;
    let (trip, array_at) = (whole.trip, whole.only()?);
    let (param, next) = nest.carried(array_at);
    let Def::Inst(write, _) = defs.get(next) else { return None };
    let Op::With(With { parts, ops, ordered: false }) = &func.insts[write].op else { return None };
    let ([part], [WithOp::Modarray { array }]) = (&parts[..], &ops[..]) else { return None };
    let Generator::Known { lower, .. } = &part.generator else { return None };
    let is_slice = nest.sum(*lower.first()?).is_some_and(|sum| nest.step(&sum) == 0);
    let places = Places::new(func);
    if *array != param || !is_slice || places.is_inside_with(func, inst) {
        return None;
    }
    let own: HashSet<Inst> = func.regions[trip.body].insts.iter().copied().collect();
    let scalars: Vec<Value> = free_values(func, part.body)
        .into_iter()
        .filter(|v| func.ty(*v).is_scalar() && func.ty(*v).elem != Elem::Handle && takes_loops(func, &defs, &own, *v))
        .collect();
    // As many elements as iterations: a number that does not wrap.
    let mut ranges = places.ranges_at(func, &defs, inst);
    let start = ranges.form(func, &defs, trip.start);
    let is_ordered = trip.is_ordered(func, &defs, &mut ranges);
    if !(1..=MAX_SCALARS).contains(&scalars.len()) || !is_ordered || ranges.lower(&start) < 0 {
        return None;
    }

    let (mut new, mut defs, span) = (func.clone(), defs, func.insts[inst].span);
    let func = &mut new;
    let mut before = Vec::new();
    let mut e = Emitter { func, defs: &mut defs, out: &mut before, span };
    let end = trip.emit_last(&mut e, true);
    let length = e.int_op(BinOp::Sub, end, trip.start);
    let extent = match e.defs.int(e.func, length) {
        Some(length) => Affine::constant(length),
        None => Affine::sym(e.func.fresh_sym()),
    };
    let mut inside = Vec::new();
    let count = trip.count(func);
    let at = Emitter { func, defs: &mut defs, out: &mut inside, span }.int_op(BinOp::Sub, count, trip.start);
    for value in scalars {
        let ty = Ty::new(func.ty(value).elem, Shape::Known(vec![extent.clone()]));
        let op = WithOp::Genarray { frame: Frame::Known(vec![length]), cell: Some(Vec::new()), default: None };
        let zeros = Op::With(With { parts: Vec::new(), ops: vec![op], ordered: false });
        let zeros = Emitter { func, defs: &mut defs, out: &mut before, span }.emit(zeros, ty.clone());
        let param = func.add_param(trip.body, ty.clone());
        let update = Op::Update { array: param, index: vec![at], value };
        let next = Emitter { func, defs: &mut defs, out: &mut inside, span }.emit(update, ty.clone());
        func.regions[trip.body].yields.push(next);
        if let Op::Loop { init, .. } = &mut func.insts[inst].op {
            init.push(zeros);
        }
        let result = func.new_value(ty);
        func.insts[inst].results.push(result);
    }
    func.regions[trip.body].insts.extend(inside);
    insert_before(func, region, inst, before);
    Some(new)
}

/// Does a loop, or a with-loop, take part in what an iteration computes a value of?
fn takes_loops(func: &Func, defs: &Defs, own: &HashSet<Inst>, v: Value) -> bool {
    let (mut work, mut seen) = (vec![v], HashSet::default());
    while let Some(v) = work.pop() {
        let Some(inst) = defs.inst(v).filter(|inst| own.contains(inst) && seen.insert(*inst)) else { continue };
        let op = &func.insts[inst].op;
        let mut loops = matches!(op, Op::Loop { .. } | Op::With(_));
        for region in op.regions() {
            walk(func, region, &mut |_, inner| {
                loops |= matches!(func.insts[inner].op, Op::Loop { .. } | Op::With(_));
            });
            work.extend(free_values(func, region));
        }
        if loops {
            return true;
        }
        op.for_each_operand(|v| work.push(v));
    }
    false
}
