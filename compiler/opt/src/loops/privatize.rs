//! Loops that only gather into arrays run in pieces, each of which gathers into arrays of its own.
//!
//! ```text
//!    loop (%a = %x, %i = 0) { %e = %v[%i]  %b = %a with [%e] = %a[%e] + 1  %m = %i + 1  yield %m < n, %b, %m }
//! => %p = with { [0] <= [%c] < [32] { loop (%a = 0, %i = %c * q) { ... yield %m < min(%c * q + q, n), %b, %m } } } genarray [32]
//!    with { [%j] { %x[%j] + sum(%p[0..32, %j]) } }
//! ```
//!
//! A histogram: every iteration adds to one of a few elements. Sums of integers may be regrouped, so that the pieces, whose number depends on
//! nothing that changes from run to run, may run on threads.
//!
//! Before: optimised, for later passes have nothing to do here. After: such loops of many iterations are with-loops.
//! Leaves alone: floating-point elements, whose sums depend on the order; loops that read what they gather; loops with effects; arrays that
//! have not far fewer elements than the loop has iterations; loops inside with-loops.
//! Worth: tests/survey/tables/histogram (1.7 with Cranelift on one thread, 7.8 on sixteen).

use crate::edit::{Copier, Defs, Emitter, size_of, substitute};
use crate::facts::effects::region_has_effect_but_checks;
use crate::facts::places::{Places, Use, same_int};
use crate::loops::nest::Trip;
use crate::pass::{Context, Pass};
use ravel_source::Span;
use ravel_types::HashSet;
use ravel_types::{Affine, BinOp, Elem, Scalar, Shape, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Combine, Frame, Func, Generator, Inst, InstData, Op, Part, Region, RegionData, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("privatize-reductions", "run loops that gather into arrays in pieces with arrays of their own", privatize);

/// Pieces of a loop.
const PIECES: i32 = 32;
/// Least iterations.
const LEAST_ITERATIONS: i64 = 1 << 15;
/// Least iterations times instructions.
const MIN_WORK: i64 = 400_000;
/// Iterations per element that is gathered, at least.
const ITERATIONS_PER_ELEMENT: i64 = 4 * PIECES as i64;
/// Iterations from which on no piece is empty, whatever the number.
const LEAST_UNKNOWN: i64 = 4096;
/// Iterations up to which starts of pieces do not wrap.
const MOST_ITERATIONS: i32 = 1 << 30;

/// A loop that counts upward by one and otherwise gathers.
struct Found {
    inst: Inst,
    region: Region,
    /// Position of the counter among the carried values.
    counter: usize,
    low: i32,
    /// The counter's last value plus one.
    end: Value,
    /// Positions of the others, and how they gather.
    arrays: Vec<(usize, BinOp)>,
    /// Iterations that make pieces worth while.
    least: i64,
}

pub fn privatize(func: &mut Func, cx: &mut Context) -> bool {
    let mut loops = Vec::new();
    outer_loops(func, func.body, &mut loops);
    let mut changed = false;
    let mut inside: HashSet<Inst> = HashSet::default();
    for (region, inst) in loops {
        if inside.contains(&inst) {
            continue;
        }
        let (defs, places) = (Defs::new(func), Places::new(func));
        let Some(found) = examine(func, &defs, &places, cx, region, inst) else { continue };
        let Op::Loop { body, .. } = func.insts[inst].op else { continue };
        walk(func, body, &mut |_, nested| {
            inside.insert(nested);
        });
        rewrite(func, defs, found);
        cx.applied(func.insts[inst].span, format!("the loop runs in {PIECES} pieces with arrays of their own"));
        changed = true;
    }
    changed
}

/// Loops outside of with-loops, outer ones first, with their regions.
fn outer_loops(func: &Func, region: Region, found: &mut Vec<(Region, Inst)>) {
    for &inst in &func.regions[region].insts {
        match &func.insts[inst].op {
            Op::With(_) => continue,
            Op::Loop { .. } => found.push((region, inst)),
            _ => {}
        }
        func.insts[inst].op.regions().into_iter().for_each(|nested| outer_loops(func, nested, found));
    }
}

fn examine(func: &Func, defs: &Defs, places: &Places, cx: &Context, region: Region, inst: Inst) -> Option<Found> {
    let Op::Loop { init, body } = &func.insts[inst].op else { return None };
    let data = &func.regions[*body];
    let trip = Trip::upward(func, defs, inst)?;
    let Trip { counter, end, .. } = trip;
    let low = defs.int(func, init[counter]).filter(|low| *low >= 0)?;
    if region_has_effect_but_checks(func, *body, cx) {
        return None;
    }
    let search = Search { func, defs, places };
    let mut arrays = Vec::new();
    let mut elements = 0i64;
    for (k, &param) in data.params.iter().enumerate().filter(|(k, _)| *k != counter) {
        let ty = func.ty(param);
        if ty.is_scalar() || ty.elem.is_float() || func.ty(init[k]) != ty || func.ty(func.insts[inst].results[k]) != ty
        {
            return None;
        }
        let op = search.gathers(*body, param, k + 1)??;
        op.identity(ty.elem)?;
        let extents = ty.shape.extents()?;
        elements += match ty.shape.constants() {
            Some(extents) => extents.iter().try_fold(1i64, |n, e| n.checked_mul(i64::from(*e)))?,
            // Compared when it runs.
            None if extents.len() == 1 => 0,
            None => return None,
        };
        arrays.push((k, op));
    }
    if arrays.is_empty() {
        return None;
    }
    let code = size_of(func, *body).max(1) as i64;
    let least = match cx.eager {
        true => 2,
        false => LEAST_ITERATIONS.max(MIN_WORK / code).max(elements * ITERATIONS_PER_ELEMENT),
    };
    within_limits(func, defs, Found { inst, region, counter, low, end, arrays, least })
}

/// The loop, unless it is known to have too few iterations or too many.
fn within_limits(func: &Func, defs: &Defs, mut found: Found) -> Option<Found> {
    let rounds = defs.int(func, found.end).map(|end| i64::from(end) - i64::from(found.low));
    if rounds.is_none() {
        found.least = found.least.max(LEAST_UNKNOWN);
    }
    let most = i64::from(MOST_ITERATIONS) - i64::from(found.low);
    let fits = rounds.is_none_or(|n| (found.least..=most).contains(&n)) && found.least <= most;
    fits.then_some(found)
}

/// What an iteration of a loop does.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    /// Iterations of the loops inside of it.
    pub inner: i64,
    /// Instructions of the innermost.
    pub code: i64,
    /// Elements that this changes.
    pub changed: i64,
}

/// Runs a loop that carries a counter and an array in pieces, if that is worth while. All that it does with the array is to combine elements
/// with others by an operation that may be regrouped here, also for reals.
pub(crate) fn in_pieces(func: &mut Func, cx: &Context, inst: Inst, op: BinOp, work: Work) -> bool {
    let (defs, places) = (Defs::new(func), Places::new(func));
    let Some(found) = examine_sums(func, &defs, &places, cx, inst, op, work) else { return false };
    rewrite(func, defs, found);
    true
}

fn examine_sums(
    func: &Func,
    defs: &Defs,
    places: &Places,
    cx: &Context,
    inst: Inst,
    op: BinOp,
    work: Work,
) -> Option<Found> {
    let region = places.region_of[inst].expand()?;
    let Op::Loop { init, .. } = &func.insts[inst].op else { return None };
    let trip = Trip::upward(func, defs, inst)?;
    let Trip { counter, end, .. } = trip;
    let low = defs.int(func, init[counter]).filter(|low| *low >= 0)?;
    let array = (0..init.len()).find(|k| *k != counter)?;
    let ty = func.ty(init[array]);
    op.identity(ty.elem)?;
    let elements = match ty.shape.constants() {
        Some(extents) => extents.iter().try_fold(1i64, |n, e| n.checked_mul(i64::from(*e)))?,
        None if ty.rank() == Some(1) => 0,
        None => return None,
    };
    let once = |n: i64| n / work.inner.max(1);
    let many = elements.saturating_mul(ITERATIONS_PER_ELEMENT) / work.changed.max(work.code / 4).max(1);
    let least = match cx.eager {
        true => 2,
        false => once((MIN_WORK / work.code.max(1)).max(many)).max(2 * i64::from(PIECES)),
    };
    let found = Found { inst, region, counter, low, end, arrays: vec![(array, op)], least };
    within_limits(func, defs, found)
}

struct Search<'a> {
    func: &'a Func,
    defs: &'a Defs,
    places: &'a Places,
}

impl Search<'_> {
    /// The instruction of `region` that has the inner region.
    fn holder(&self, inner: Region, region: Region) -> Option<Inst> {
        self.places.owner[*self.places.path(inner, region)?.last()?].expand()
    }

    /// Follows an array through a region to the yield at a position. If nothing but gathering happens to it: the operation, or none if
    /// the array stays what it is.
    fn gathers(&self, region: Region, start: Value, position: usize) -> Option<Option<BinOp>> {
        let func = self.func;
        let yields = &func.regions[region].yields;
        let mut found = None;
        let mut current = start;
        loop {
            let (mut reads, mut takers, mut is_yielded) = (Vec::new(), Vec::new(), false);
            for used in self.places.uses(current) {
                let at = match *used {
                    Use::Operand(inst) => self.places.region_of[inst].expand()?,
                    Use::Yield(region) => region,
                };
                match *used {
                    Use::Yield(_) if at == region => is_yielded = true,
                    Use::Operand(inst) if at == region && matches!(func.insts[inst].op, Op::Sel { .. }) => {
                        reads.push(inst)
                    }
                    Use::Operand(inst) if at == region => takers.push(inst),
                    // What it is in another branch is looked at there.
                    _ => match self.holder(at, region) {
                        Some(holder) if !takers.contains(&holder) => takers.push(holder),
                        _ => {}
                    },
                }
            }
            if is_yielded {
                let alone =
                    reads.is_empty() && takers.is_empty() && yields.iter().filter(|v| **v == current).count() == 1;
                return (alone && yields[position] == current).then_some(found);
            }
            let &[taker] = takers.as_slice() else { return None };
            let results = &func.insts[taker].results;
            let (op, next) = match &func.insts[taker].op {
                Op::Update { .. } => (Some(self.update(taker, &reads)?), results[0]),
                Op::Loop { init, body } if reads.is_empty() => {
                    let mut places = init.iter().enumerate().filter(|(_, v)| **v == current);
                    let (j, _) = places.next()?;
                    // The body does not use the array by its outer name.
                    if places.next().is_some() || self.places.uses(current).len() != 1 {
                        return None;
                    }
                    (self.gathers(*body, func.regions[*body].params[j], j + 1)?, results[j])
                }
                Op::If { then, els, .. } if reads.is_empty() => {
                    let same_type = (0..results.len()).filter(|p| func.ty(results[*p]) == func.ty(current));
                    let both = |p: &usize| Some((self.gathers(*then, current, *p)?, self.gathers(*els, current, *p)?));
                    let (p, (first, second)) = same_type.filter_map(|p| Some((p, both(&p)?))).next()?;
                    (agree(first, second)?, results[p])
                }
                _ => return None,
            };
            found = agree(found, op)?;
            current = next;
        }
    }

    /// The operation of an update that gathers at the place that the only read is from.
    fn update(&self, inst: Inst, reads: &[Inst]) -> Option<BinOp> {
        let func = self.func;
        let (Op::Update { index, value, .. }, &[read]) = (&func.insts[inst].op, reads) else { return None };
        let Op::Sel { index: from, .. } = &func.insts[read].op else { return None };
        let old = func.insts[read].results[0];
        let same_place =
            index.len() == from.len() && index.iter().zip(from).all(|(a, b)| same_int(func, self.defs, *a, *b));
        let once = |v: Value| self.places.uses(v).len() == 1;
        if !same_place || !func.ty(old).is_scalar() || !once(old) || !once(*value) {
            return None;
        }
        match self.defs.op(func, *value)? {
            Op::Bin(BinOp::Sub, a, _) if *a == old => Some(BinOp::Add),
            Op::Bin(op, a, b) if op.regroups() && (*a == old || *b == old) => Some(*op),
            _ => None,
        }
    }
}

/// One operation for both, where none goes with any.
fn agree(a: Option<BinOp>, b: Option<BinOp>) -> Option<Option<BinOp>> {
    match (a, b) {
        (Some(a), Some(b)) if a != b => None,
        _ => Some(a.or(b)),
    }
}

fn rewrite(func: &mut Func, mut defs: Defs, mut found: Found) {
    let span = func.insts[found.inst].span;
    let mut out = Vec::new();
    let old = func.insts[found.inst].results.clone();
    let new = match defs.int(func, found.end) {
        Some(end) => {
            let rounds = end - found.low;
            let length = (rounds + PIECES - 1) / PIECES;
            let mut e = Emitter { func, defs: &mut defs, out: &mut out, span };
            let length_value = e.int(length);
            found.end = e.int(end);
            pieces(func, &mut defs, &mut out, &found, (length_value, (rounds + length - 1) / length))
        }
        None => {
            let cond = enough_rounds(func, &mut defs, &mut out, &found, span);
            let mut insts = Vec::new();
            let mut e = Emitter { func, defs: &mut defs, out: &mut insts, span };
            let (low, pieces_value, one) = (e.int(found.low), e.int(PIECES), e.int(1));
            let rounds = e.int_op(BinOp::Sub, found.end, low);
            let length = e.int_op(BinOp::Div, rounds, pieces_value);
            let length = e.int_op(BinOp::Add, length, one);
            let yields = pieces(func, &mut defs, &mut insts, &found, (length, PIECES));
            let types = old.iter().map(|v| func.ty(*v).clone()).collect();
            let then = func.regions.push(RegionData { params: Vec::new(), insts, yields });
            let els =
                func.regions.push(RegionData { params: Vec::new(), insts: vec![found.inst], yields: old.clone() });
            let both = func.make_inst(Op::If { cond, then, els }, types, span);
            out.push(both);
            let new = func.insts[both].results.clone();
            replace(func, &found, out, &old, &new);
            func.regions[els].yields = old;
            return;
        }
    };
    replace(func, &found, out, &old, &new);
}

/// Puts instructions in the place of the loop, and new values in that of its results.
fn replace(func: &mut Func, found: &Found, out: Vec<Inst>, _old: &[Value], new: &[Value]) {
    substitute(func, found.region, found.inst, out, new.iter().copied());
}

/// Whether there are so many iterations, and so few elements, that pieces are worth while.
fn enough_rounds(func: &mut Func, defs: &mut Defs, out: &mut Vec<Inst>, found: &Found, span: Span) -> Value {
    let Op::Loop { init, .. } = func.insts[found.inst].op.clone() else { return found.end };
    let mut e = Emitter { func, defs, out, span };
    let (least, most) = (e.int((i64::from(found.low) + found.least) as i32), e.int(MOST_ITERATIONS));
    let mut tests = vec![e.int_op(BinOp::Ge, found.end, least), e.int_op(BinOp::Le, found.end, most)];
    for (k, _) in &found.arrays {
        if e.func.ty(init[*k]).shape.constants().is_none() {
            let per_element = e.int(ITERATIONS_PER_ELEMENT as i32);
            let limit = e.int_op(BinOp::Div, found.end, per_element);
            let extent = e.emit(Op::Extent { array: init[*k], axis: 0 }, Ty::scalar(Elem::I32));
            tests.push(e.int_op(BinOp::Le, extent, limit));
        }
    }
    let both = |e: &mut Emitter, a: Value, b: Value| e.emit(Op::Bin(BinOp::And, a, b), Ty::scalar(Elem::Bool));
    let first = tests[0];
    tests[1..].iter().fold(first, |a, b| both(&mut e, a, *b))
}

/// Appends `count` pieces of so many iterations each, the last of which may be shorter, and the combination of what they gather; what the
/// loop would have yielded.
fn pieces(
    func: &mut Func,
    defs: &mut Defs,
    out: &mut Vec<Inst>,
    found: &Found,
    (length, count): (Value, i32),
) -> Vec<Value> {
    let span = func.insts[found.inst].span;
    let Op::Loop { init, body } = func.insts[found.inst].op.clone() else { return Vec::new() };
    let mut e = Emitter { func, defs, out, span };
    let (zero, low, count_value) = (e.int(0), e.int(found.low), e.int(count));
    let extents: Vec<Vec<Value>> = found.arrays.iter().map(|(k, _)| extents_of(&mut e, init[*k])).collect();
    // The piece with number c.
    let region = func.new_region();
    let number = func.add_param(region, Ty::scalar(Elem::I32));
    let mut insts = Vec::new();
    let mut e = Emitter { func, defs, out: &mut insts, span };
    let offset = e.int_op(BinOp::Mul, number, length);
    let first = e.int_op(BinOp::Add, offset, low);
    let last = e.int_op(BinOp::Add, first, length);
    let last = e.int_op(BinOp::Min, last, found.end);
    let mut start = init.clone();
    for ((k, op), extents) in found.arrays.iter().zip(&extents) {
        let ty = e.func.ty(init[*k]).clone();
        start[*k] = filled(&mut e, *op, &ty, extents, zero);
    }
    start[found.counter] = first;
    let copy = Copier::within(func, body).region(func, body);
    let next = func.regions[copy].yields[found.counter + 1];
    func.regions[copy].yields[0] = func.push1(copy, Op::Bin(BinOp::Lt, next, last), Ty::scalar(Elem::Bool), span);
    let types = func.insts[found.inst].results.iter().map(|v| func.ty(*v).clone()).collect();
    let run = func.make_inst(Op::Loop { init: start, body: copy }, types, span);
    insts.push(run);
    func.regions[region].yields = found.arrays.iter().map(|(k, _)| func.insts[run].results[*k]).collect();
    func.regions[region].insts = insts;
    // All pieces.
    let ops = extents.iter().map(|cell| WithOp::Genarray {
        frame: Frame::Known(vec![count_value]),
        cell: Some(cell.clone()),
        default: None,
    });
    let generator = Generator::Known { lower: vec![zero], upper: vec![count_value], step: None, width: None };
    let with = With { parts: vec![Part { generator, body: region }], ops: ops.collect(), ordered: false };
    let stacked = |ty: &Ty| Ty::new(ty.elem, Shape::Known(vec![Affine::constant(count)]).concat(&ty.shape));
    let types = found.arrays.iter().map(|(k, _)| stacked(func.ty(init[*k]))).collect();
    let all = func.make_inst(Op::With(with), types, span);
    defs.add_inst(func, all);
    out.push(all);
    // Their sums.
    let mut results = vec![found.end; init.len()];
    for (position, (k, op)) in found.arrays.iter().enumerate() {
        let gathered = func.insts[all].results[position];
        results[*k] =
            combined(func, defs, out, (init[*k], gathered), *op, &extents[position], (zero, count_value), span);
    }
    results
}

/// The extents of an array of known rank.
pub(crate) fn extents_of(e: &mut Emitter, array: Value) -> Vec<Value> {
    let extents = e.func.ty(array).shape.extents().unwrap_or_default().to_vec();
    let extent = |e: &mut Emitter, (axis, extent): (usize, &Affine)| match extent.as_const() {
        Some(n) => e.int(n),
        None => e.emit(Op::Extent { array, axis: axis as u32 }, Ty::scalar(Elem::I32)),
    };
    extents.iter().enumerate().map(|extent_of| extent(e, extent_of)).collect()
}

/// An array that has an operation's neutral element everywhere.
fn filled(e: &mut Emitter, op: BinOp, ty: &Ty, extents: &[Value], zero: Value) -> Value {
    let region = e.func.new_region();
    extents.iter().for_each(|_| {
        e.func.add_param(region, Ty::scalar(Elem::I32));
    });
    let unit = op.identity(ty.elem).unwrap_or(Scalar::I32(0));
    let cell = e.constant(unit);
    e.func.regions[region].yields = vec![cell];
    let with = genarray(extents, region, zero);
    e.emit(Op::With(with), ty.clone())
}

fn genarray(extents: &[Value], body: Region, zero: Value) -> With {
    let generator =
        Generator::Known { lower: vec![zero; extents.len()], upper: extents.to_vec(), step: None, width: None };
    let op = WithOp::Genarray { frame: Frame::Known(extents.to_vec()), cell: Some(Vec::new()), default: None };
    With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false }
}

/// Each element of the first array combined with those of all pieces.
#[expect(clippy::too_many_arguments, reason = "one operator and its arrays")]
fn combined(
    func: &mut Func,
    defs: &mut Defs,
    out: &mut Vec<Inst>,
    (first, gathered): (Value, Value),
    op: BinOp,
    extents: &[Value],
    (zero, count): (Value, Value),
    span: Span,
) -> Value {
    let ty = func.ty(first).clone();
    let scalar = Ty::scalar(ty.elem);
    let region = func.new_region();
    let index: Vec<Value> = extents.iter().map(|_| func.add_param(region, Ty::scalar(Elem::I32))).collect();
    let inner = func.new_region();
    let mut place = vec![func.add_param(inner, Ty::scalar(Elem::I32))];
    place.extend(&index);
    let cell = func.push1(inner, Op::Sel { array: gathered, index: place }, scalar.clone(), span);
    func.regions[inner].yields = vec![cell];
    let neutral = Op::Const(op.identity(ty.elem).unwrap_or(Scalar::I32(0)));
    let neutral = func.push1(region, neutral, scalar.clone(), span);
    let generator = Generator::Known { lower: vec![zero], upper: vec![count], step: None, width: None };
    let fold = With {
        parts: vec![Part { generator, body: inner }],
        ops: vec![WithOp::Fold { neutral, combine: Combine::Op(op), stop: None }],
        ordered: false,
    };
    let sum = func.push1(region, Op::With(fold), scalar.clone(), span);
    let old = func.push1(region, Op::Sel { array: first, index }, scalar.clone(), span);
    let cell = func.push1(region, Op::Bin(op, old, sum), scalar, span);
    func.regions[region].yields = vec![cell];
    let inst = func.insts.push(InstData { op: Op::With(genarray(extents, region, zero)), results: Vec::new(), span });
    let result = func.new_value(ty);
    func.insts[inst].results.push(result);
    defs.add_inst(func, inst);
    out.push(inst);
    result
}
