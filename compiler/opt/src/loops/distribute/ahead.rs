//! What iterations of a loop compute without what earlier iterations made is computed by a with-loop, before the loop.
//!
//! ```text
//!    loop (%a = %x, %i = 0) { %p = f(%i)  %s = %a[%p] + g  %b = %a with [%p] = %s  yield %i + 1 < n, %b, %i + 1 }
//! => %v = with { [0] <= [%k] < [n] { f(%k) } } genarray [n]
//!    loop (%a = %x, %i = 0) { %p = %v[%i]  %s = %a[%p] + g  %b = %a with [%p] = %s  yield %i + 1 < n, %b, %i + 1 }
//! ```
//!
//! A loop whose iterations need each other takes one after the other, and all that they compute with it: which center is nearest to a point, before
//! the point is added to what belongs to that center; exponentials that are added up in order. A with-loop takes lanes and threads.
//!
//! Before: the passes that make with-loops of whole loops have run. After: such loops load what they need.
//! Leaves alone: little work, and more than a few numbers for each iteration; few iterations, and so many that the numbers would take memory that the program does not need; what might fault in an iteration that is not reached; loops inside of
//! with-loops with many cells, for lanes and threads belong to these.

use crate::edit::{Copier, Def, Defs, Emitter, Renames, insert_before, prepend};
use crate::facts::cost::cost_of_inst;
use crate::facts::places::{Places, trips};
use crate::facts::speculation::Safety;
use crate::loops::nest::Trip;
use crate::loops::nest::is_pure;
use crate::pass::Context;
use ravel_types::HashSet;
use ravel_types::{Affine, BinOp, Elem, Shape, Ty};
use ravel_wir::traverse::free_values;
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

/// Operations that are worth a number in memory; all of an iteration take twice as many at least.
const LEAST_WORK: f64 = 12.0;
/// Most numbers of an iteration that are kept.
const MOST_KEPT: usize = 4;
/// Fewer iterations stay as they are.
const LEAST_ITERATIONS: i64 = 256;
/// More iterations need an array that is as long.
const MOST_ITERATIONS: i64 = 1 << 20;
/// A with-loop with more cells than this has threads of its own.
const MOST_CELLS: u64 = 64;

/// A loop, and what of its iterations is computed ahead.
struct Found {
    trip: Trip,
    region: Region,
    inst: Inst,
    /// The instructions that make what is kept, in order.
    ahead: Vec<Inst>,
    kept: Vec<Value>,
}

/// Puts a with-loop before a loop that computes what its iterations do not need each other for, and says so; nothing if there is little.
pub fn make(func: &mut Func, region: Region, inst: Inst, cx: &Context) -> Option<&'static str> {
    let (mut defs, places) = (Defs::new(func), Places::new(func));
    let found = examine(func, &defs, &places, cx, region, inst)?;
    rewrite(func, &mut defs, &found);
    Some("what its iterations compute without earlier ones is computed before the loop")
}

fn examine(func: &Func, defs: &Defs, places: &Places, cx: &Context, region: Region, inst: Inst) -> Option<Found> {
    let Op::Loop { body, .. } = &func.insts[inst].op else { return None };
    let trip = Trip::upward(func, defs, inst)?;
    let counter = trip.counter;
    if !is_worth_it(func, defs, places, cx, &trip) {
        return None;
    }
    let free = independent(func, defs, places, *body, counter);
    let is_free = |v: &Value| matches!(defs.get(*v), Def::Inst(inst, _) if free.contains(&inst));
    // What the rest of an iteration needs of it.
    let mut needed: HashSet<Value> = HashSet::default();
    for &inst in func.regions[*body].insts.iter().filter(|inst| !free.contains(inst)) {
        func.insts[inst].op.for_each_operand(|v| {
            needed.insert(v);
        });
        needed.extend(func.insts[inst].op.regions().into_iter().flat_map(|nested| free_values(func, nested)));
    }
    needed.extend(&func.regions[*body].yields);
    needed.retain(is_free);
    // In the order of the code, so that what is made of a kept number is not kept as well.
    let order: Vec<Value> = func.regions[*body].insts.iter().flat_map(|i| func.insts[*i].results.clone()).collect();
    let (mut kept, mut all): (Vec<Value>, f64) = (Vec::new(), 0.0);
    for v in order.into_iter().filter(|v| needed.contains(v)) {
        let costs = makers(func, defs, *body, &[v], &kept).into_iter().map(|inst| cost_of_inst(func, defs, inst));
        let work: f64 = costs.map(|cost| cost.arithmetic + cost.indexing).sum();
        if work >= LEAST_WORK {
            kept.push(v);
            all += work;
        }
    }
    let is_number = |v: &Value| func.ty(*v).is_scalar() && func.ty(*v).elem != Elem::Handle;
    if !(1..=MOST_KEPT).contains(&kept.len()) || !kept.iter().all(is_number) || all < 2.0 * LEAST_WORK {
        return None;
    }
    let ahead = makers(func, defs, *body, &kept, &[]);
    if trip.iterations(func, defs).is_none_or(|n| n > MOST_ITERATIONS)
        && !reads_as_much(func, defs, func.regions[*body].params[counter], &ahead)
    {
        return None;
    }
    Some(Found { trip, region, inst, ahead, kept })
}

/// Is an array read, an element or row in each iteration? What is kept needs no more memory than the program has anyway then.
fn reads_as_much(func: &Func, defs: &Defs, count: Value, ahead: &[Inst]) -> bool {
    let moves = |v: &Value| {
        *v == count
            || matches!(defs.op(func, *v), Some(Op::Bin(BinOp::Add, a, b)) if *a == count || *b == count)
            || matches!(defs.op(func, *v), Some(Op::Bin(BinOp::Sub, a, _)) if *a == count)
    };
    ahead.iter().any(|inst| matches!(&func.insts[*inst].op, Op::Sel { index, .. } if index.iter().any(moves)))
}

/// Has the loop many iterations, as far as that is known, and is it not one of many?
fn is_worth_it(func: &Func, defs: &Defs, places: &Places, cx: &Context, trip: &Trip) -> bool {
    // As many elements as iterations: a number that does not wrap.
    let mut ranges = places.ranges_at(func, defs, trip.inst);
    let low = ranges.form(func, defs, trip.start);
    let few = trip.is_short(func, defs, if cx.eager { 2 } else { LEAST_ITERATIONS });
    if few || ranges.lower(&low) < 0 || !trip.is_ordered(func, defs, &mut ranges) {
        return false;
    }
    let mut cells = 1;
    let mut at = places.region_of[trip.inst].expand();
    while let Some(owner) = at.and_then(|region| places.owner[region].expand()) {
        if let Op::With(With { parts, .. }) = &func.insts[owner].op {
            let part = parts.iter().find(|part| Some(part.body) == at);
            cells = part.and_then(|part| trips(func, defs, part)).map_or(u64::MAX, |n| n.saturating_mul(cells));
        }
        at = places.region_of[owner].expand();
    }
    cells <= MOST_CELLS
}

/// The instructions of a body that need nothing that it carries but the counter, and may run for all iterations whatever happens in one.
fn independent(func: &Func, defs: &Defs, places: &Places, body: Region, counter: usize) -> HashSet<Inst> {
    let data = &func.regions[body];
    let mut bound: HashSet<Value> = data.params.iter().copied().filter(|v| *v != data.params[counter]).collect();
    let mut safety = match data.insts.first() {
        Some(first) if !is_pure(func, body) => Some(Safety::before(func, defs, places, *first)),
        _ => None,
    };
    let mut free = HashSet::default();
    for &inst in &data.insts {
        let op = &func.insts[inst].op;
        let mut depends = !safety.as_mut().is_none_or(|safety| safety.is_safe(inst));
        op.for_each_operand(|v| depends |= bound.contains(&v));
        depends |= op.regions().into_iter().any(|nested| free_values(func, nested).iter().any(|v| bound.contains(v)));
        if depends {
            bound.extend(&func.insts[inst].results);
        } else {
            free.insert(inst);
        }
    }
    free
}

/// The instructions of a region that make some values, in order, if others are there.
fn makers(func: &Func, defs: &Defs, region: Region, values: &[Value], there: &[Value]) -> Vec<Inst> {
    let own = &func.regions[region].insts;
    let (mut work, mut needed) = (values.to_vec(), HashSet::default());
    while let Some(v) = work.pop() {
        if there.contains(&v) {
            continue;
        }
        let Some(inst) = defs.inst(v).filter(|inst| own.contains(inst) && needed.insert(*inst)) else { continue };
        func.insts[inst].op.for_each_operand(|v| work.push(v));
        work.extend(func.insts[inst].op.regions().into_iter().flat_map(|nested| free_values(func, nested)));
    }
    own.iter().copied().filter(|inst| needed.contains(inst)).collect()
}

fn rewrite(func: &mut Func, defs: &mut Defs, found: &Found) {
    let span = func.insts[found.inst].span;
    let count = func.regions[found.trip.body].params[found.trip.counter];
    let int = Ty::scalar(Elem::I32);

    let index = func.new_value(int.clone());
    let mut inside = Vec::new();
    let round = Emitter { func, defs, out: &mut inside, span }.int_op(BinOp::Add, index, found.trip.start);
    let mut copier = Copier::within(func, found.trip.body);
    copier.values.insert(count, round);
    for &inst in &found.ahead {
        let copy = copier.inst(func, inst);
        inside.push(copy);
    }
    let yields = found.kept.iter().map(|v| copier.value(*v)).collect();
    let body = func.regions.push(RegionData { params: vec![index], insts: inside, yields });

    let mut before = Vec::new();
    let mut e = Emitter { func, defs, out: &mut before, span };
    let end = found.trip.emit_end(&mut e);
    let length = e.int_op(BinOp::Sub, end, found.trip.start);
    let zero = e.int(0);
    let extent = match e.defs.int(e.func, length) {
        Some(length) => Affine::constant(length),
        None => Affine::sym(e.func.fresh_sym()),
    };
    let types = found.kept.iter().map(|v| Ty::new(func.ty(*v).elem, Shape::Known(vec![extent.clone()]))).collect();
    let op = WithOp::Genarray { frame: Frame::Known(vec![length]), cell: Some(Vec::new()), default: None };
    let generator = Generator::Known { lower: vec![zero], upper: vec![length], step: None, width: None };
    let (parts, ops) = (vec![Part { generator, body }], vec![op; found.kept.len()]);
    let made = func.make_inst(Op::With(With { parts, ops, ordered: false }), types, span);
    before.push(made);

    let mut loads = Vec::new();
    let at = Emitter { func, defs, out: &mut loads, span }.int_op(BinOp::Sub, count, found.trip.start);
    let mut renames = Renames::default();
    for (old, array) in found.kept.iter().zip(func.insts[made].results.clone()) {
        let sel = func.make_inst(Op::Sel { array, index: vec![at] }, vec![func.ty(*old).clone()], span);
        loads.push(sel);
        renames.set(*old, func.insts[sel].results[0]);
    }
    renames.apply_region(func, found.trip.body);
    prepend(func, found.trip.body, loads);
    insert_before(func, found.region, found.inst, before);
}
