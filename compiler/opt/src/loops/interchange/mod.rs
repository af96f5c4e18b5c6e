//! Loops that work on one column of arrays in each iteration, in order, work on rows instead: all columns of a row at a time.
//!
//! ```text
//!    loop (%a = %x, %j = 0) { %b = loop (%c = %a, %i = 1) { ... %c with [%i, %j] = %c[%i, %j] + %c[%i - 1, %j] ... }  yield %j + 1 < n, %b, %j + 1 }
//! => loop (%a = %x, %i = 1) { %b = modarray(%a) { [%i, 0] <= [%r, %j] < [%i + 1, n] -> %a[%i, %j] + %a[%i - 1, %j] }  yield %i + 1 < m, %b, %i + 1 }
//! ```
//!
//! Sweeps down columns, written as in C: alternating directions, recursive filters of images, factorisations column by column. No iteration reads what another
//! one writes, so that all of them can go through each step of an iteration together, and a step is a with-loop over columns, which lie side by side
//! in memory. What a column computes keeps its order. Loops inside an iteration must run alike in all of them; one whose counter begins at the
//! column's number (triangles) has fewer columns in its first rows. Numbers that an iteration needs again behind a step or carries from iteration to iteration
//! of a loop inside are vectors, and arrays of an iteration get an axis more ([`by_rows`]).
//!
//! Before: simplified, checks proven; no elements are carried in scalars, for these would be vectors. After: such a loop over at least some columns, in a version
//! for many columns if their number is not constant.
//! Leaves alone: loops that other passes make with-loops of, with threads for their columns; loops with effects or checks that remain; folds and arrays of rows in an iteration.
//! Worth: tests/survey/loops/product-by-columns (12.9, 3.9 with Cranelift, 10.0 with LLVM).

mod by_rows;

use crate::edit::{Def, Defs, loops_of, size_of};
use crate::facts::places::Places;
use crate::facts::ranges::Ranges;
use crate::facts::sums::Sum;
use crate::loops::accesses::{Proof, names_of};
use crate::loops::nest::{LoopNest, Trip, is_pure};
use crate::loops::verdict::{Verdict, verdict};

use crate::pass::{Context, Pass};
use ravel_types::Elem;
use ravel_types::{HashMap, HashSet};
use ravel_wir::traverse::{free_values, walk};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Region, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("interchange-loops", "make loops that work on one column in each iteration work on rows", interchange);

/// Fewer columns stay as they are.
const MIN_COLUMNS: i32 = 16;
const MIN_COLUMNS_EAGER: i32 = 2;
/// Most arrays that a loop may change, and most instructions of its body.
const MAX_ARRAYS: usize = 6;
const MAX_CODE: usize = 150;

/// A loop over columns, and what its body is made of.
struct Found {
    trip: Trip,
    /// It is certain that the counter begins before the end.
    is_ordered: bool,
    /// Names of the arrays that iterations change a column of.
    shared: HashSet<Value>,
    /// Names of the arrays that an iteration makes.
    local: HashSet<Value>,
    /// What is not the same in all iterations, arrays left out.
    varying: HashSet<Value>,
    /// Loops whose counter, at a position, begins so far behind the column's number.
    triangles: HashMap<Inst, (usize, i32)>,
}

pub fn interchange(func: &mut Func, cx: &mut Context) -> bool {
    let least = if cx.eager { MIN_COLUMNS_EAGER } else { MIN_COLUMNS };
    let loops = loops_of(func);
    let (mut changed, mut facts) = (false, None);
    // Outer ones first; what is inside of one that is rewritten is gone.
    for (region, inst) in loops {
        let (defs, places) = facts.get_or_insert_with(|| (Defs::new(func), Places::new(func)));
        let is_there = places.region_of[inst].expand() == Some(region) && func.regions[region].insts.contains(&inst);
        let Some(found) = is_there.then(|| examine(func, defs, places, inst, least)).flatten() else { continue };
        if is_parallel(func, defs, places, inst) {
            continue;
        }
        let span = func.insts[inst].span;
        if by_rows::rewrite(func, defs, region, &found, least) {
            cx.applied(span, "the loop over columns goes through rows, for each iteration works on its own column");
            changed = true;
        }
        facts = None;
    }
    changed
}

/// Will `parallelize-loops` make a with-loop of a loop, once it has made with-loops of those inside?
fn is_parallel(func: &Func, defs: &Defs, places: &Places, inst: Inst) -> bool {
    let Some(nest) = LoopNest::of(func, defs, inst) else { return false };
    let nest = LoopNest { whole: true, ..nest };
    matches!(verdict(nest, places, (Proof::Constants, false)), Verdict::Parallel(_))
}

fn examine(func: &Func, defs: &Defs, places: &Places, inst: Inst, least: i32) -> Option<Found> {
    let Op::Loop { init, body } = &func.insts[inst].op else { return None };
    let data = &func.regions[*body];
    let trip = Trip::upward(func, defs, inst)?;
    let counter = trip.counter;
    if !(2..=MAX_ARRAYS + 1).contains(&init.len()) || size_of(func, *body) > MAX_CODE || !is_pure(func, *body) {
        return None;
    }
    if trip.is_short(func, defs, least)
        || !data.insts.iter().any(|inst| matches!(func.insts[*inst].op, Op::Loop { .. } | Op::If { .. }))
        || places.is_inside_with(func, inst)
    {
        return None;
    }
    let mut shared = HashSet::default();
    for k in (0..init.len()).filter(|k| *k != counter) {
        let (param, next) = (data.params[k], data.yields[k + 1]);
        let ty = func.ty(param);
        let names = names_of(func, *body, param);
        let keeps_type = names.iter().chain([&init[k], &func.insts[inst].results[k]]).all(|v| func.ty(*v) == ty);
        let is_own = names.contains(&next) && shared.is_disjoint(&names);
        if ty.rank().is_none_or(|rank| rank < 2) || ty.elem == Elem::Handle || !keeps_type || !is_own {
            return None;
        }
        shared.extend(names);
    }
    let is_ordered = trip.is_ordered(func, defs, &mut places.ranges_at(func, defs, inst));
    let mut local = HashSet::default();
    walk(func, *body, &mut |_, inner| {
        let Op::With(With { ops, parts, .. }) = &func.insts[inner].op else { return };
        if matches!(ops[..], [WithOp::Genarray { .. }]) {
            let names = names_of(func, *body, func.insts[inner].results[0]);
            let own = |v: &Value| *v == data.params[counter] || shared.contains(v);
            // Those that no iteration changes and that are the same in all of them stay as they are.
            if names.len() > 1 || parts.iter().any(|part| free_values(func, part.body).iter().any(own)) {
                local.extend(names);
            }
        }
    });
    let found = Found { trip, is_ordered, shared, local, varying: HashSet::default(), triangles: HashMap::default() };
    let mut columns = Columns { func, defs, places, nest: LoopNest::of(func, defs, inst)?, found };
    columns.find_triangles(*body);
    while columns.spread(*body, false) {}
    let loops = columns.may_rewrite(*body)?;
    let yields = &data.yields;
    let carried = (0..init.len()).filter(|k| *k != counter);
    let ends_well = carried.clone().all(|k| yields.iter().filter(|v| **v == yields[k + 1]).count() == 1);
    (loops && ends_well).then_some(columns.found)
}

struct Columns<'a> {
    func: &'a Func,
    defs: &'a Defs,
    places: &'a Places,
    nest: LoopNest<'a>,
    found: Found,
}

impl Found {
    fn count(&self, func: &Func) -> Value {
        func.regions[self.trip.body].params[self.trip.counter]
    }

    /// Notes that a value varies; `false` if that was known.
    fn note(&mut self, v: Value) -> bool {
        !self.is_array(v) && self.varying.insert(v)
    }

    fn is_array(&self, v: Value) -> bool {
        self.shared.contains(&v) || self.local.contains(&v)
    }
}

impl Columns<'_> {
    /// Notes the loops whose counter begins at the column's number, or so far behind it.
    fn find_triangles(&mut self, region: Region) {
        let func = self.func;
        let count = self.found.count(func);
        let mut loops = Vec::new();
        walk(func, region, &mut |_, inst| {
            if matches!(func.insts[inst].op, Op::Loop { .. }) {
                loops.push(inst);
            }
        });
        for inst in loops {
            let Op::Loop { init, .. } = &func.insts[inst].op else { continue };
            let Some(trip) = Trip::upward(func, self.defs, inst) else { continue };
            let (counter, end) = (trip.counter, trip.end);
            let behind = self.nest.sum(init[counter]).map(|sum| sum.add(&Sum::of(count), -1));
            let Some(Sum { constant, .. }) = behind.filter(|sum| sum.terms.is_empty()) else { continue };
            // It changes arrays, and its first iteration takes place in all columns by itself.
            let arrays = init.iter().enumerate().all(|(k, v)| k == counter || self.found.shared.contains(v));
            let mut ranges: Ranges = self.places.ranges_at(func, self.defs, inst);
            if arrays && self.nest.is_fixed(end) && trip.is_ordered(func, self.defs, &mut ranges) {
                self.found.triangles.insert(inst, (counter, constant));
            }
        }
    }

    /// Notes what depends on what varies; `inside` of something that varies as a whole.
    fn spread(&mut self, region: Region, inside: bool) -> bool {
        let func = self.func;
        let count = self.found.count(func);
        let mut changed = false;
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            let varies = |found: &Found, v: &Value| *v == count || found.varying.contains(v) || found.is_array(*v);
            match &data.op {
                Op::Extent { .. } => {}
                Op::Loop { init, body } => {
                    let inner = &func.regions[*body];
                    let counter = self.found.triangles.get(&inst).map(|(counter, _)| *counter);
                    for (k, (first, next)) in init.iter().zip(&inner.yields[1..]).enumerate() {
                        let by_itself = Some(k) != counter && (varies(&self.found, first) || inside);
                        if by_itself || varies(&self.found, next) {
                            changed |= self.found.note(inner.params[k]);
                            changed |= self.found.note(data.results[k]);
                        }
                    }
                    changed |= self.spread(*body, inside);
                }
                Op::If { cond, then, els } => {
                    let whole = inside || varies(&self.found, cond);
                    let yields = func.regions[*then].yields.iter().zip(&func.regions[*els].yields);
                    for (result, (a, b)) in data.results.iter().zip(yields) {
                        if whole || varies(&self.found, a) || varies(&self.found, b) {
                            changed |= self.found.note(*result);
                        }
                    }
                    changed |= self.spread(*then, whole);
                    changed |= self.spread(*els, whole);
                }
                Op::With(_) => {
                    let mut any = inside;
                    data.op.for_each_operand(|v| any |= varies(&self.found, &v));
                    for nested in data.op.regions() {
                        any |= free_values(func, nested).iter().any(|v| varies(&self.found, v));
                        if self.found.local.contains(&data.results[0]) {
                            for v in &func.regions[nested].params {
                                changed |= self.found.note(*v);
                            }
                            changed |= self.spread(nested, true);
                        }
                    }
                    if any {
                        for v in &data.results {
                            changed |= self.found.note(*v);
                        }
                    }
                }
                op => {
                    let mut any = inside;
                    op.for_each_operand(|v| any |= varies(&self.found, &v));
                    if any {
                        for v in &data.results {
                            changed |= self.found.note(*v);
                        }
                    }
                }
            }
        }
        changed
    }

    fn varies(&self, v: Value) -> bool {
        v == self.found.count(self.func) || self.found.varying.contains(&v)
    }

    /// Can all of a region be written by rows? And is there a loop that changes arrays?
    fn may_rewrite(&self, region: Region) -> Option<bool> {
        let (func, found) = (self.func, &self.found);
        let mut loops = false;
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            match &data.op {
                Op::Update { array, index, value }
                    if self.is_own(*array, index, true) && func.ty(*value).is_scalar() && found.is_array(*array) => {}
                Op::Loop { init, body } => {
                    let yields = &func.regions[*body].yields;
                    let alike = |(a, b): (&Value, &Value)| {
                        found.shared.contains(a) == found.shared.contains(b)
                            && found.local.contains(a) == found.local.contains(b)
                            && (found.is_array(*a) || func.ty(*a).is_scalar())
                    };
                    if self.varies(yields[0]) || !init.iter().zip(&yields[1..]).all(alike) {
                        return None;
                    }
                    loops |= init.iter().any(|v| found.is_array(*v));
                    loops |= self.may_rewrite(*body)?;
                }
                Op::If { cond, then, els } if !self.varies(*cond) => {
                    let yields = func.regions[*then].yields.iter().zip(&func.regions[*els].yields);
                    let alike = |(a, b): (&Value, &Value)| {
                        found.shared.contains(a) == found.shared.contains(b)
                            && found.local.contains(a) == found.local.contains(b)
                            && (found.is_array(*a) || func.ty(*a).is_scalar())
                    };
                    if !yields.into_iter().all(alike) {
                        return None;
                    }
                    loops |= self.may_rewrite(*then)? | self.may_rewrite(*els)?;
                }
                Op::With(with) if found.local.contains(&data.results[0]) && self.is_local(with, data.results[0]) => {}
                Op::With(_) if found.local.contains(&data.results[0]) => return None,
                Op::Extent { .. } => {}
                _ if !self.is_plain(inst) => return None,
                _ => {}
            }
        }
        Some(loops)
    }

    /// Is an index that of the iteration's column? Those that are only read may be of columns that no iteration writes.
    fn is_own(&self, array: Value, index: &[Value], is_store: bool) -> bool {
        let (func, found) = (self.func, &self.found);
        if func.ty(array).rank() != Some(index.len()) {
            return false;
        }
        let rows = if found.local.contains(&array) { index } else { &index[..index.len() - 1] };
        if is_store && rows.iter().any(|v| self.varies(*v)) {
            return false;
        }
        if found.local.contains(&array) {
            return true;
        }
        let last = index[index.len() - 1];
        let is_other = || {
            let Some(sum) = self.nest.sum(last) else { return false };
            let from = |v: Value| {
                let d = sum.clone().add(&self.nest.sum(v)?, -1);
                d.terms.is_empty().then_some(d.constant)
            };
            from(found.trip.start).is_some_and(|d| d < 0)
                || (found.is_ordered && from(found.trip.end).is_some_and(|d| d >= 0))
        };
        last == found.count(func) || (!is_store && is_other())
    }

    /// An array of scalars that an iteration makes.
    fn is_local(&self, with: &With, result: Value) -> bool {
        let func = self.func;
        let [WithOp::Genarray { frame: Frame::Known(frame), default: None, .. }] = &with.ops[..] else { return false };
        let all_known = func.ty(result).rank() == Some(frame.len())
            && func.ty(result).shape.extents().is_some()
            && func.ty(result).elem != Elem::Handle
            && frame.iter().all(|v| !self.varies(*v));
        all_known
            && with.parts.iter().all(|part| {
                let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return false };
                lower.iter().chain(upper).all(|v| !self.varies(*v))
                    && func.regions[part.body].insts.iter().all(|inst| self.is_plain(*inst))
            })
    }

    /// An operation on scalars, or one that has nothing to do with the column.
    fn is_plain(&self, inst: Inst) -> bool {
        let (func, found) = (self.func, &self.found);
        let data = &func.insts[inst];
        let mut arrays = false;
        data.op.for_each_operand(|v| arrays |= found.is_array(v));
        match &data.op {
            Op::Sel { array, index } if found.is_array(*array) => {
                return index.iter().all(|v| !found.is_array(*v)) && self.is_own(*array, index, false);
            }
            Op::Extent { .. } => return true,
            _ => {}
        }
        let is_scalar = |v: &Value| func.ty(*v).is_scalar() && func.ty(*v).elem != Elem::Handle;
        let mut inner = true;
        for nested in data.op.regions() {
            walk(func, nested, &mut |_, inst| match &func.insts[inst].op {
                Op::Sel { array, index } if found.shared.contains(array) => inner &= self.is_own(*array, index, false),
                Op::Extent { .. } => {}
                op => op.for_each_operand(|v| inner &= !found.is_array(v)),
            });
            inner &= !free_values(func, nested).iter().any(|v| found.local.contains(v));
            inner &= !func.regions[nested].yields.iter().any(|v| found.is_array(*v));
        }
        let varies = data.results.iter().any(|v| self.varies(*v));
        let is_simple = match &data.op {
            Op::Loop { .. } | Op::With(_) => !varies,
            _ => data.results.iter().all(|v| is_scalar(v) || !varies),
        };
        !arrays && inner && is_simple && !matches!(self.defs.get(data.results[0]), Def::None)
    }
}
