//! Loops whose iterations add up what earlier iterations stored compute the sums of several iterations side by side, as far as they have terms in common.
//!
//! ```text
//!    loop (%a, %i = %s) { %t = loop (%x = f(%i), %k = %m) { ... %a[%k] ...  yield %k + 1 < %i, ... }  %b = %a with [%i] = g(%t)  yield %i + 1 < %e, ... }
//! => ...  loop (%a, %i0 = %s + (%e - %s) mod 8) {
//!      %p = genarray [8] { [0] <= [%u] < [8]  loop (%x = f(%i0 + %u), %k = %m) { ... %a[%k] ...  yield %k + 1 < %i0, ... } }
//!      loop (%a, %i = %i0) { %t = loop (%x = %p[%i - %i0], %k = max(%m, %i0)) { ... }  %b = %a with [%i] = g(%t)  ... }  ... }
//! ```
//!
//! Triangular systems, Cholesky's factors, recurrences of growing length. Each sum waits for itself, as loops keep the order of their operations; those
//! of eight iterations do not wait for each other until they need what these iterations store. Each is still added up in its order: no result changes.
//! The scheduler runs the with-loop in lanes, or several of its indices abreast.
//!
//! Before: loops whose iterations are independent are with-loops. After: such a loop is one over blocks of iterations, with a with-loop and a loop inside, behind one
//! for iterations that make no block.
//! Leaves alone: loops with effects or checks that remain, since the first fault must be reported; loops inside of with-loops, where lanes run around
//! them; inner loops that begin with what was stored last, that begin or end elsewhere from iteration to iteration but for the counter itself, or that read what the
//! iterations of a block may store.
//! Worth: tests/survey/recurrences/volterra (2.0 with Cranelift, 3.0 with LLVM).

use crate::edit::{Copier, Def, Defs, Emitter, loops_of, size_of, substitute};
use crate::facts::linear::Lin;
use crate::facts::places::Places;
use crate::facts::ranges::Ranges;
use crate::loops::accesses::names_of;
use crate::loops::nest::Trip;
use crate::loops::nest::is_pure;
use crate::loops::unroll_scatters::branch;
use crate::pass::{Context, Pass};
use ravel_types::HashSet;
use ravel_types::{BinOp, Elem, Shape, Ty};
use ravel_wir::traverse::{free_values, walk};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

pub const PASS: Pass = Pass::of(
    "unroll-and-jam",
    "compute sums of earlier iterations for several iterations of a loop side by side",
    unroll_and_jam,
);

/// Iterations of a block: a power of two.
const BLOCK: i32 = 8;
/// Fewer iterations stay as they are.
const LEAST_ITERATIONS: i64 = 24;
/// Most instructions of an iteration, of which there will be two copies, and three of the inner loop.
const MAX_CODE: usize = 120;
/// Most instructions that a block does before the inner loop, and values that this carries beside its counter.
const MAX_AHEAD: usize = 16;
const MAX_SUMS: usize = 4;
/// Distance between counters, and between indices.
const MAX_DISTANCE: i64 = 1 << 20;

/// A loop whose iterations add up what earlier iterations stored.
struct Found {
    trip: Trip,
    sums: Sums,
}

/// The inner loop.
struct Sums {
    /// In the body: the loop, or a branch to it.
    target: Inst,
    inner: Inst,
    /// Position of its counter, and the counter's first value.
    counter: usize,
    first: Value,
    /// Results of the target, and which of the values that the inner loop carries they are.
    positions: Vec<(usize, usize)>,
    /// It ends where its counter is that of the outer loop plus this.
    distance: i64,
    /// Instructions, of the body and of the branch, that the inner loop needs.
    ahead: HashSet<Inst>,
}

pub fn unroll_and_jam(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    // Inner ones first: a loop around a loop in blocks has no innermost loop any more.
    for (region, inst) in loops_of(func).into_iter().rev() {
        let mut defs = Defs::new(func);
        let Some(found) = examine(func, &defs, inst, cx.eager) else { continue };
        rewrite(func, &mut defs, region, &found);
        cx.applied(
            func.insts[inst].span,
            format!("{BLOCK} iterations of the loop add up side by side what earlier ones stored"),
        );
        changed = true;
    }
    changed
}

fn examine(func: &Func, defs: &Defs, inst: Inst, eager: bool) -> Option<Found> {
    let Op::Loop { init, body } = &func.insts[inst].op else { return None };
    let has_loop = func.regions[*body].insts.iter().any(|i| inner_of(func, *i).is_some());
    if !has_loop || !is_pure(func, *body) || size_of(func, *body) > MAX_CODE {
        return None;
    }
    let trip = Trip::upward(func, defs, inst)?;
    // Every iteration must have values of the types that the results have.
    let (data, results) = (&func.regions[*body], &func.insts[inst].results);
    let fixed =
        |k: usize| [init[k], data.params[k], data.yields[k + 1]].iter().all(|v| func.ty(*v) == func.ty(results[k]));
    if !(0..init.len()).all(fixed) || trip.is_short(func, defs, if eager { 2 } else { LEAST_ITERATIONS }) {
        return None;
    }
    let places = Places::new(func);
    if places.is_inside_with(func, inst) {
        return None;
    }
    if !trip.is_ordered(func, defs, &mut places.ranges_at(func, defs, inst)) {
        return None;
    }
    let round = Round { func, defs, places: &places, body: *body, counter: trip.count(func) };
    let sums = data.insts.iter().find_map(|target| round.sums(*target))?;
    Some(Found { trip, sums })
}

/// The loop of an instruction that is one, or that is a branch to a loop and nothing else.
fn inner_of(func: &Func, target: Inst) -> Option<Inst> {
    let is_const = |i: &&Inst| matches!(func.insts[**i].op, Op::Const(_));
    match &func.insts[target].op {
        Op::Loop { .. } => Some(target),
        Op::If { then, els, .. } if func.regions[*els].insts.iter().all(|i| is_const(&i)) => {
            let mut others = func.regions[*then].insts.iter().filter(|i| !is_const(i));
            let inner = *others.next()?;
            (others.next().is_none() && matches!(func.insts[inner].op, Op::Loop { .. })).then_some(inner)
        }
        _ => None,
    }
}

/// One iteration of the outer loop.
struct Round<'a> {
    func: &'a Func,
    defs: &'a Defs,
    places: &'a Places,
    body: Region,
    counter: Value,
}

/// Where an iteration writes or reads an array.
struct Access<'a> {
    index: &'a [Value],
    ranges: Ranges,
}

impl Round<'_> {
    /// The sums of an instruction of the body that can be begun before earlier iterations have ended.
    fn sums(&self, target: Inst) -> Option<Sums> {
        let (func, defs) = (self.func, self.defs);
        let inner = inner_of(func, target)?;
        let Op::Loop { init, body } = &func.insts[inner].op else { return None };
        let Trip { counter, end, .. } = Trip::upward(func, defs, inner)?;
        let results = &func.insts[inner].results;
        let scalars = init.iter().chain(results).all(|v| func.ty(*v).is_scalar());
        let sums = init.len() - 1;
        let waits = results.iter().any(|v| func.ty(*v).elem.is_float());
        if !scalars || !waits || !(1..=MAX_SUMS).contains(&sums) || !is_innermost(func, *body) {
            return None;
        }
        let first = init[counter];
        if self.is_own(first) && defs.int(func, first).is_none() {
            return None;
        }
        let positions = self.positions(target, inner, counter)?;

        // A branch is to the loop if, and only if, that has an iteration.
        let mut ranges = self.places.ranges_at(func, defs, target);
        let of_counter = ranges.form(func, defs, self.counter);
        let mut inside = self.places.ranges_at(func, defs, inner);
        let (low, high) = (inside.form(func, defs, first), inside.form(func, defs, end));
        let distance = high.sub(&inside.form(func, defs, self.counter))?.as_const()?;
        let last = of_counter.plus(distance);
        let fits = ranges.lower(&last) >= i64::from(i32::MIN) && ranges.upper(&last) <= i64::from(i32::MAX);
        if distance.abs() > MAX_DISTANCE || !fits || inside.compare(BinOp::Lt, &low, &high) != Some(true) {
            return None;
        }
        if let Op::If { cond, .. } = &func.insts[target].op {
            ranges.assume(func, defs, *cond, false);
            let low = ranges.form(func, defs, first);
            if ranges.compare(BinOp::Ge, &low, &last) != Some(true) {
                return None;
            }
        }
        let ahead = self.ahead(target, inner, counter)?;
        let sums = Sums { target, inner, counter, first, positions, distance, ahead };
        self.reads_earlier_rounds(&sums, *body).then_some(sums)
    }

    /// The results of the target by what the inner loop carries, if they are all of that but its counter.
    fn positions(&self, target: Inst, inner: Inst, counter: usize) -> Option<Vec<(usize, usize)>> {
        let func = self.func;
        let Op::Loop { init, .. } = &func.insts[inner].op else { return None };
        let results = &func.insts[inner].results;
        let Op::If { then, els, .. } = &func.insts[target].op else {
            let is_free = self.places.uses(results[counter]).is_empty();
            return is_free.then(|| (0..init.len()).filter(|k| *k != counter).map(|k| (k, k)).collect());
        };
        let same = |a: Value, b: Value| {
            a == b || self.defs.constant(func, a).is_some_and(|c| self.defs.constant(func, b) == Some(c))
        };
        let (ran, other) = (&func.regions[*then].yields, &func.regions[*els].yields);
        let position = |(n, (ran, other)): (usize, (&Value, &Value))| {
            let k = results.iter().position(|v| v == ran).filter(|k| *k != counter)?;
            same(*other, init[k]).then_some((n, k))
        };
        let positions: Vec<(usize, usize)> = ran.iter().zip(other).enumerate().map(position).collect::<Option<_>>()?;
        let all = (0..init.len()).all(|k| k == counter || positions.iter().any(|(_, position)| *position == k));
        all.then_some(positions)
    }

    fn is_own(&self, v: Value) -> bool {
        match self.defs.get(v) {
            Def::Inst(inst, _) => self.places.region_of[inst].expand().is_some_and(|r| self.is_within(r)),
            Def::Param(region, _) => self.is_within(region),
            Def::None => true,
        }
    }

    fn is_within(&self, region: Region) -> bool {
        region == self.body || self.places.path(region, self.body).is_some()
    }

    /// The instructions outside of the inner loop that it needs: few, of scalars, and of nothing that changes from iteration to iteration but the counter and elements of arrays.
    fn ahead(&self, target: Inst, inner: Inst, counter: usize) -> Option<HashSet<Inst>> {
        let func = self.func;
        let Op::Loop { init, body } = &func.insts[inner].op else { return None };
        let mut work: Vec<Value> = free_values(func, *body);
        work.extend(init.iter().enumerate().filter(|(k, _)| *k != counter).map(|(_, v)| *v));
        let params = &func.regions[self.body].params;
        let mut ahead = HashSet::default();
        while let Some(v) = work.pop() {
            if !self.is_own(v) || v == self.counter {
                continue;
            }
            match self.defs.get(v) {
                // Its elements are read: see below.
                Def::Param(region, _) if region == self.body && params.contains(&v) && !func.ty(v).is_scalar() => {}
                Def::Inst(inst, _) if func.ty(v).is_scalar() && func.insts[inst].op.regions().is_empty() => {
                    debug_assert!(inst != target);
                    if ahead.insert(inst) {
                        func.insts[inst].op.for_each_operand(|v| work.push(v));
                    }
                }
                _ => return None,
            }
        }
        let is_op = |inst: &&Inst| !matches!(func.insts[**inst].op, Op::Const(_));
        (ahead.iter().filter(is_op).count() <= MAX_AHEAD).then_some(ahead)
    }

    /// Do the sums, without their last terms, read nothing of the arrays that the iterations of a block store?
    fn reads_earlier_rounds(&self, sums: &Sums, inner: Region) -> bool {
        let func = self.func;
        let data = &func.regions[self.body];
        let arrays = (0..data.params.len()).filter(|k| !func.ty(data.params[*k]).is_scalar());
        arrays.into_iter().all(|k| {
            let (param, next) = (data.params[k], data.yields[k + 1]);
            let mut inside = HashSet::default();
            walk(func, inner, &mut |_, inst| {
                inside.insert(inst);
            });
            let mut reads = Vec::new();
            for inst in sums.ahead.iter().chain(&inside) {
                match &func.insts[*inst].op {
                    Op::Sel { array, index } if *array == param => reads.push((*inst, &index[..])),
                    Op::Extent { .. } => {}
                    op => {
                        let mut other = false;
                        op.for_each_operand(|v| other |= v == param);
                        if other {
                            return false;
                        }
                    }
                }
            }
            if reads.is_empty() || next == param {
                return true;
            }
            let names = names_of(func, self.body, param);
            let Some(writes) = self.writes(&names, k) else { return false };
            let at = |(inst, index)| Access { index, ranges: self.places.ranges_at(func, self.defs, inst) };
            let mut writes: Vec<Access> = writes.into_iter().map(at).collect();
            let count = self.inner_counter(sums);
            reads.into_iter().all(|read| {
                let is_inside = inside.contains(&read.0);
                let mut read = at(read);
                writes.iter_mut().all(|write| {
                    let axes = read.index.len().min(write.index.len());
                    (0..axes).any(|axis| self.is_apart(sums, &mut read, write, axis, is_inside.then_some(count)))
                })
            })
        })
    }

    fn inner_counter(&self, sums: &Sums) -> Value {
        match &self.func.insts[sums.inner].op {
            Op::Loop { body, .. } => self.func.regions[*body].params[sums.counter],
            _ => self.counter,
        }
    }

    /// The updates of an array, which carries these names; nothing if it may change in other ways.
    fn writes(&self, names: &HashSet<Value>, k: usize) -> Option<Vec<(Inst, &[Value])>> {
        let func = self.func;
        let named = |v: &Value| names.contains(v);
        let yields = &func.regions[self.body].yields;
        let mut plain = yields.iter().enumerate().all(|(n, v)| named(v) == (n == k + 1));
        let mut writes = Vec::new();
        walk(func, self.body, &mut |_, inst| match &func.insts[inst].op {
            Op::Sel { .. } | Op::Extent { .. } => {}
            Op::Update { array, index, value } if named(array) => {
                plain &= !named(value);
                writes.push((inst, &index[..]));
            }
            Op::Loop { init, body } => {
                let yields = &func.regions[*body].yields;
                plain &= !named(&yields[0]) && init.iter().zip(&yields[1..]).all(|(a, b)| named(a) == named(b));
            }
            Op::If { then, els, .. } => {
                let (then, els) = (&func.regions[*then].yields, &func.regions[*els].yields);
                plain &= then.iter().zip(els).all(|(a, b)| named(a) == named(b));
            }
            op => {
                op.for_each_operand(|v| plain &= !named(&v));
                plain &= !op.regions().iter().any(|r| func.regions[*r].yields.iter().any(named));
            }
        });
        plain.then_some(writes)
    }

    /// Is it certain, by their indices along an axis, that no iteration of a block writes what a later one of the block reads before its last terms? `count` is the counter of
    /// the inner loop, for reads in that.
    fn is_apart(&self, sums: &Sums, read: &mut Access, write: &mut Access, axis: usize, count: Option<Value>) -> bool {
        let (func, defs) = (self.func, self.defs);
        let (to, from) = (write.index[axis], read.index[axis]);
        let is_fixed = !self.is_own(to) || defs.int(func, to).is_some();
        let (r, w) = (read.ranges.form(func, defs, from), read.ranges.form(func, defs, to));
        if is_fixed && read.ranges.compare(BinOp::Ne, &r, &w) == Some(true) {
            return true;
        }
        // Iterations write at the counter and a constant.
        let Some(written) = distance(func, defs, &mut write.ranges, to, self.counter) else { return false };
        if let Some(after) = distance(func, defs, &mut read.ranges, from, self.counter) {
            return after >= written;
        }
        let Some(before) = count.and_then(|count| distance(func, defs, &mut read.ranges, from, count)) else {
            return false;
        };
        sums.distance + before <= written
    }
}

/// By how much an index is greater than a counter, if that is always the same.
fn distance(func: &Func, defs: &Defs, ranges: &mut Ranges, index: Value, counter: Value) -> Option<i64> {
    let (index, counter) = (ranges.form(func, defs, index), ranges.form(func, defs, counter));
    let constant = index.sub(&counter).as_ref().and_then(Lin::as_const).filter(|d| d.abs() <= MAX_DISTANCE);
    constant.or_else(|| (ranges.compare(BinOp::Eq, &index, &counter) == Some(true)).then_some(0))
}

/// Has a region neither loops nor arrays of its own?
fn is_innermost(func: &Func, region: Region) -> bool {
    let mut innermost = true;
    walk(func, region, &mut |_, inst| {
        let data = &func.insts[inst];
        innermost &= !matches!(data.op, Op::Loop { .. }) && data.results.iter().all(|v| func.ty(*v).is_scalar());
    });
    innermost
}

fn rewrite(func: &mut Func, defs: &mut Defs, region: Region, found: &Found) {
    let Op::Loop { init, body } = func.insts[found.trip.inst].op.clone() else { return };
    let span = func.insts[found.trip.inst].span;
    let types: Vec<Ty> = init.iter().map(|v| func.ty(*v).clone()).collect();
    let mut out = Vec::new();
    let mut e = Emitter { func, defs, out: &mut out, span };
    // Iterations that make no block come first, while the sums are short. The difference has its last bits also where it wraps.
    let (zero, mask) = (e.int(0), e.int(BLOCK - 1));
    let end = found.trip.emit_end(&mut e);
    let rounds = e.int_op(BinOp::Sub, end, init[found.trip.counter]);
    let few = e.int_op(BinOp::And, rounds, mask);
    let middle = e.int_op(BinOp::Add, init[found.trip.counter], few);
    let (has_few, has_blocks) = (e.int_op(BinOp::Lt, zero, few), e.int_op(BinOp::Lt, middle, end));
    let blocks = blocks_of(func, defs, found, end);
    let next = func.regions[body].yields[found.trip.counter + 1];
    let go_on = func.push1(body, Op::Bin(BinOp::Lt, next, middle), Ty::scalar(Elem::Bool), span);
    func.regions[body].yields[0] = go_on;
    let run = func.make_inst(Op::Loop { init: init.clone(), body }, types.clone(), span);
    let mut current = branch(func, &mut out, has_few, run, &init, &types, span);
    current[found.trip.counter] = middle;
    let run = func.make_inst(Op::Loop { init: current.clone(), body: blocks }, types.clone(), span);
    let results = branch(func, &mut out, has_blocks, run, &current, &types, span);
    substitute(func, region, found.trip.inst, out, results);
}

/// The body of a loop over blocks of iterations.
fn blocks_of(func: &mut Func, defs: &mut Defs, found: &Found, end: Value) -> Region {
    let Found { trip: Trip { inst, body, counter, .. }, sums } = found;
    let (span, old) = (func.insts[*inst].span, func.regions[*body].clone());
    let carried =
        |func: &mut Func| -> Vec<Value> { old.params.iter().map(|v| func.new_value(func.ty(*v).clone())).collect() };
    let params = carried(func);
    let mut out = Vec::new();
    let mut e = Emitter { func, defs, out: &mut out, span };
    let (zero, rounds) = (e.int(0), e.int(BLOCK));
    let begin = params[*counter];
    let stop = e.int_op(BinOp::Add, begin, rounds);
    let first = e.defs.int(e.func, sums.first).map_or(sums.first, |first| e.int(first));
    let distance = e.int(sums.distance as i32);
    let until = e.int_op(BinOp::Add, begin, distance);
    let has_terms = e.int_op(BinOp::Lt, first, until);
    let later = e.int_op(BinOp::Max, first, until);

    // The terms that all iterations of the block have.
    let place = func.new_value(Ty::scalar(Elem::I32));
    let mut insts = Vec::new();
    let index = Emitter { func, defs, out: &mut insts, span }.int_op(BinOp::Add, begin, place);
    let mut copier = Copier::within(func, *body);
    copier.values.extend(old.params.iter().copied().zip(params.iter().copied()));
    copier.values.insert(old.params[*counter], index);
    for i in sums.needed(func, &old) {
        insts.push(copier.inst(func, i));
    }
    let partial = sums.emit(func, &mut copier, (has_terms, first, until), None, &mut insts);
    let types: Vec<Ty> = partial.iter().map(|v| Ty::new(func.ty(*v).elem, Shape::of(&[BLOCK]))).collect();
    let cells = func.regions.push(RegionData { params: vec![place], insts, yields: partial });
    let generator = Generator::Known { lower: vec![zero], upper: vec![rounds], step: None, width: None };
    let op = WithOp::Genarray { frame: Frame::Known(vec![rounds]), cell: Some(Vec::new()), default: None };
    let ops = vec![op; types.len()];
    let with = With { parts: vec![Part { generator, body: cells }], ops, ordered: false };
    let with = func.make_inst(Op::With(with), types, span);
    let arrays = func.insts[with].results.clone();
    out.push(with);

    // The iterations, which add their last terms.
    let inner_params = carried(func);
    let mut insts = Vec::new();
    let mut copier = Copier::within(func, *body);
    copier.values.extend(old.params.iter().copied().zip(inner_params.iter().copied()));
    for &i in &old.insts {
        if i != sums.target {
            insts.push(copier.inst(func, i));
            continue;
        }
        for i in sums.needed(func, &old).into_iter().filter(|i| !old.insts.contains(i)) {
            insts.push(copier.inst(func, i));
        }
        let mut e = Emitter { func, defs, out: &mut insts, span };
        let at = e.int_op(BinOp::Sub, inner_params[*counter], begin);
        let begun: Vec<Value> = arrays
            .iter()
            .map(|array| {
                let ty = Ty::scalar(e.func.ty(*array).elem);
                e.emit(Op::Sel { array: *array, index: vec![at] }, ty)
            })
            .collect();
        let last = e.int_op(BinOp::Add, inner_params[*counter], distance);
        let more = e.int_op(BinOp::Lt, later, last);
        let totals = sums.emit(func, &mut copier, (more, later, last), Some(&begun), &mut insts);
        let results = &func.insts[sums.target].results;
        copier.values.extend(sums.positions.iter().map(|(n, _)| results[*n]).zip(totals));
    }
    let mut yields: Vec<Value> = old.yields.iter().map(|v| copier.value(*v)).collect();
    let next = yields[*counter + 1];
    yields[0] = Emitter { func, defs, out: &mut insts, span }.int_op(BinOp::Lt, next, stop);
    let inner_body = func.regions.push(RegionData { params: inner_params, insts, yields });
    let types = old.params.iter().map(|v| func.ty(*v).clone()).collect();
    let rounds = func.make_inst(Op::Loop { init: params.clone(), body: inner_body }, types, span);
    out.push(rounds);
    let results = func.insts[rounds].results.clone();
    let go_on = Emitter { func, defs, out: &mut out, span }.int_op(BinOp::Lt, results[*counter], end);
    let yields = [go_on].into_iter().chain(results).collect();
    func.regions.push(RegionData { params, insts: out, yields })
}

impl Sums {
    /// The instructions of an iteration, and of the branch, that the inner loop needs, in order.
    fn needed(&self, func: &Func, round: &RegionData) -> Vec<Inst> {
        let branch = match &func.insts[self.target].op {
            Op::If { then, .. } => &func.regions[*then].insts[..],
            _ => &[],
        };
        round.insts.iter().chain(branch).copied().filter(|inst| self.ahead.contains(inst)).collect()
    }

    /// Appends a branch to a copy of the inner loop over some of its terms: whether there are any, the first, and the end. The sums go on from
    /// `begun`. Gives the totals, as many as there are positions.
    fn emit(
        &self,
        func: &mut Func,
        copier: &mut Copier<'_>,
        (cond, first, end): (Value, Value, Value),
        begun: Option<&[Value]>,
        out: &mut Vec<Inst>,
    ) -> Vec<Value> {
        let span = func.insts[self.inner].span;
        let Op::Loop { init, body } = func.insts[self.inner].op.clone() else { return Vec::new() };
        let mut init: Vec<Value> = init.into_iter().map(|v| copier.value(v)).collect();
        init[self.counter] = first;
        for ((_, k), v) in self.positions.iter().zip(begun.unwrap_or_default()) {
            init[*k] = *v;
        }
        let copy = copier.region(func, body);
        let next = func.regions[copy].yields[self.counter + 1];
        let go_on = func.push1(copy, Op::Bin(BinOp::Lt, next, end), Ty::scalar(Elem::Bool), span);
        func.regions[copy].yields[0] = go_on;
        let types = init.iter().map(|v| func.ty(*v).clone()).collect();
        let inner = func.make_inst(Op::Loop { init: init.clone(), body: copy }, types, span);
        let pick = |values: &[Value]| -> Vec<Value> { self.positions.iter().map(|(_, k)| values[*k]).collect() };
        let yields = pick(&func.insts[inner].results);
        let types = yields.iter().map(|v| func.ty(*v).clone()).collect();
        let then = func.regions.push(RegionData { params: Vec::new(), insts: vec![inner], yields });
        let els = func.regions.push(RegionData { params: Vec::new(), insts: Vec::new(), yields: pick(&init) });
        let branch = func.make_inst(Op::If { cond, then, els }, types, span);
        out.push(branch);
        func.insts[branch].results.clone()
    }
}
