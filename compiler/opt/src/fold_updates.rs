//! Folds whose cells are the neutral element but for a few places update their accumulator there.
//!
//! ```text
//!    with { [lo] <= [%i] < [hi] { %c = %z with [%p(i)] = %v(i)  yield %c } } fold add neutral %z        with zeros everywhere in %z
//! => loop (%a = %z, %i = lo) { %o = %a[%p(i)]  %s = %o + %v(i)  %b = %a with [%p(i)] = %s  %n = %i + 1  yield %n < hi, %b, %n }
//! ```
//!
//! Histograms, sums per group, scattered sums: as written each index adds a whole array. Several updates of one cell load the accumulator first and
//! then store, so that the last of two at one place counts, as it does in the cell. Elements of the accumulator that a cell leaves alone
//! would be combined with a neutral element, which changes nothing: the neutral cells of an operation that regroups may come first.
//! Long folds are cut into pieces with accumulators of their own, as in `privatize-updates`: their number depends on the
//! index set alone.
//!
//! Before: simplified, the fold function recognised. After: such a fold is a loop in whose body one value follows the other.
//! Leaves alone: cells that change most of a short array, places known while compiling, operations that do not regroup, accumulators that adding a
//! neutral element could change (-0.0), one-hot cells of a few elements, which are compared in lanes.

use crate::edit::{Copier, Def, Defs, Emitter, Renames, collect_values, is_speculatable, region_has_effect, size_of};
use crate::interleave::identity;
use crate::pass::{Context, Pass, Run};
use crate::places::{Places, covers_frame, trips};
use crate::privatize_updates::{Work, extents_of, in_pieces};
use ravel_source::Span;
use ravel_types::{BinOp, Elem, Scalar, Ty, eval_bin};
use ravel_wir::traverse::walk;
use ravel_wir::{
    Combine, ConstData, Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp, cell_type,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub const PASS: Pass = Pass {
    name: "fold-updates",
    summary: "let folds update their accumulators where cells are not neutral",
    run: Run::Func(fold_updates),
};

/// Elements of an accumulator for each one that a cell changes, at least.
const LEAST_ELEMENTS: u64 = 4;
/// The same where the places are those that an index is compared with.
const LEAST_COMPARED: u64 = 64;
/// Longest row whose elements are updated one by one.
const MAX_WRITTEN_OUT: i32 = 15;
/// Least number of elements that are folds of their own but come from one array, whose updates make one fold of them.
const LEAST_GATHERED: usize = 9;
/// Assumed where only the run knows.
const UNKNOWN_EXTENT: u64 = 1024;

/// A fold that can be such a loop.
struct Found {
    neutral: Value,
    op: BinOp,
    parts: Vec<(Part, Cell)>,
    /// Elements that a cell changes.
    changed: u64,
}

/// Where a cell differs from the neutral element.
enum Cell {
    Nowhere,
    /// At the places of these updates, the last of which counts.
    Updates(Vec<Inst>),
    /// In the partitions of a `modarray`.
    Parts(Inst),
    /// Where the axes of a with-loop over the whole array, of which this is the part, equal values.
    Compared {
        part: Part,
        at: Vec<Option<Value>>,
        choice: Choice,
    },
    /// Where those of a fold in the body do.
    Fold {
        inst: Inst,
        parts: Vec<(Part, Cell)>,
    },
    /// In either way.
    Either {
        cond: Value,
        then: Box<Cell>,
        els: Box<Cell>,
    },
    /// The same for branches that are computed there.
    Branch {
        inst: Inst,
        then: Box<Cell>,
        els: Box<Cell>,
    },
}

/// The element in the branch that is taken at the place.
enum Choice {
    Value(Value),
    Yield(Region, usize),
}

pub fn fold_updates(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = gather(func, cx);
    // Outer folds first: those inside of them may become part of the same loop.
    for inst in Places::new(func).withs.into_iter().rev() {
        let fold = matches!(&func.insts[inst].op, Op::With(With { ops, ordered: false, .. })
            if matches!(ops[..], [WithOp::Fold { combine: Combine::Op(_), stop: None, .. }]));
        if !fold || func.ty(func.insts[inst].results[0]).is_scalar() {
            continue;
        }
        let (mut defs, places) = (Defs::new(func), Places::new(func));
        let Some(home) = places.region_of[inst].expand() else { continue };
        let search = Search { func, defs: &defs, places: &places, cx };
        let Some(found) = search.fold(inst) else { continue };
        let inside = places.is_inside_with(func, inst);
        rewrite(func, &mut defs, cx, (home, inst), &found, !inside);
        cx.applied(func.insts[inst].span, "updates its accumulator where cells are not neutral");
        changed = true;
    }
    changed
}

/// Folds of all elements of an array that the body updates become one fold of arrays:
/// `yield %u[0], .. %u[n-1]` with `%u = %zeros with [%p] = %v`. Short vectors of integers are elements at first.
fn gather(func: &mut Func, cx: &Context) -> bool {
    let mut changed = false;
    for inst in Places::new(func).withs {
        let several = matches!(&func.insts[inst].op, Op::With(With { ops, ordered: false, .. }) if ops.len() > 1);
        if !several {
            continue;
        }
        let (mut defs, places) = (Defs::new(func), Places::new(func));
        let Some(home) = places.region_of[inst].expand() else { continue };
        let search = Search { func, defs: &defs, places: &places, cx };
        if places.is_inside_with(func, inst) && !cx.eager {
            continue;
        }
        let Some((cells, neutral, op)) = search.gathered(inst) else { continue };
        let Op::With(with) = func.insts[inst].op.clone() else { continue };
        let (span, old) = (func.insts[inst].span, func.insts[inst].results.clone());
        let ty = func.ty(cells[0]).clone();
        let mut out = Vec::new();
        let mut e = Emitter { func, defs: &mut defs, out: &mut out, span };
        let data = ConstData { elem: ty.elem, values: vec![neutral; old.len()] };
        let neutral = e.emit(Op::ConstArray(Arc::new(data)), ty.clone());
        for (part, cell) in with.parts.iter().zip(cells) {
            e.func.regions[part.body].yields = vec![cell];
        }
        let ops = vec![WithOp::Fold { neutral, combine: Combine::Op(op), stop: None }];
        let sums = e.emit(Op::With(With { ops, ..with }), ty.clone());
        let mut renames = Renames::default();
        for (k, old) in old.into_iter().enumerate() {
            let k = e.int(k as i32);
            let element = e.emit(Op::Sel { array: sums, index: vec![k] }, Ty::scalar(ty.elem));
            renames.set(old, element);
        }
        let insts = &mut func.regions[home].insts;
        if let Some(at) = insts.iter().position(|i| *i == inst) {
            insts.splice(at..=at, out);
        }
        renames.apply(func);
        changed = true;
    }
    changed
}

struct Search<'a> {
    func: &'a Func,
    defs: &'a Defs,
    places: &'a Places,
    cx: &'a Context,
}

impl Search<'_> {
    fn fold(&self, inst: Inst) -> Option<Found> {
        let func = self.func;
        let Op::With(With { parts, ops, ordered: false }) = &func.insts[inst].op else { return None };
        let [WithOp::Fold { neutral, combine: Combine::Op(op), stop: None }] = ops[..] else { return None };
        let ty = func.ty(func.insts[inst].results[0]);
        if !op.regroups() || func.ty(neutral) != ty || ty.rank().is_none() || parts.is_empty() {
            return None;
        }
        let (mut found, mut changed) = (Vec::new(), 0);
        for part in parts {
            let [cell] = func.regions[part.body].yields[..] else { return None };
            let Generator::Known { step: None, lower, .. } = &part.generator else { return None };
            if lower.is_empty() || func.ty(cell) != ty || region_has_effect_but_checks(func, part.body, self.cx) {
                return None;
            }
            let unit = self.unit(op, cell)?;
            if !self.absorbs(op, neutral, unit) {
                return None;
            }
            let mut most = 0;
            let cell = self.cell(op, part.body, cell, unit, &mut most)?;
            changed = changed.max(most);
            found.push((part.clone(), cell));
        }
        let elements = elements(ty);
        (self.cx.eager || changed * LEAST_ELEMENTS <= elements).then_some(Found { neutral, op, parts: found, changed })
    }

    /// For several folds: the array of each partition whose elements their cells are, what they start with, and their operation.
    fn gathered(&self, inst: Inst) -> Option<(Vec<Value>, Scalar, BinOp)> {
        let func = self.func;
        let Op::With(With { parts, ops, ordered: false }) = &func.insts[inst].op else { return None };
        let starts: Vec<(Value, BinOp)> = ops
            .iter()
            .map(|op| match op {
                WithOp::Fold { neutral, combine: Combine::Op(op), stop: None } => Some((*neutral, *op)),
                _ => None,
            })
            .collect::<Option<_>>()?;
        let (first, op) = *starts.first()?;
        let neutral = self.defs.constant(func, first)?;
        let same =
            |(n, o): &(Value, BinOp)| *o == op && self.defs.constant(func, *n).is_some_and(|n| same_bits(n, neutral));
        if (ops.len() < LEAST_GATHERED && !self.cx.eager) || !op.regroups() || !starts.iter().all(same) {
            return None;
        }
        let (mut cells, mut changed) = (Vec::new(), 0);
        for part in parts {
            let Generator::Known { step: None, lower, .. } = &part.generator else { return None };
            let yields = &func.regions[part.body].yields;
            let Some(Op::Sel { array, .. }) = self.defs.op(func, yields[0]) else { return None };
            let is_element = |(k, v): (usize, &Value)| match self.defs.op(func, *v) {
                Some(Op::Sel { array: a, index }) => {
                    a == array && matches!(index[..], [i] if self.defs.int(func, i) == Some(k as i32))
                }
                _ => false,
            };
            let ty = func.ty(*array);
            let unit = self.unit(op, *array)?;
            let absorbed = eval_bin(op, neutral, unit).is_ok_and(|sum| same_bits(sum, neutral));
            if lower.is_empty()
                || !absorbed
                || !yields.iter().enumerate().all(is_element)
                || ty.shape.constants().as_deref() != Some(&[ops.len() as i32])
                || region_has_effect_but_checks(func, part.body, self.cx)
            {
                return None;
            }
            self.cell(op, part.body, *array, unit, &mut changed)?;
            cells.push(*array);
        }
        (self.cx.eager || changed * LEAST_ELEMENTS <= ops.len() as u64).then_some((cells, neutral, op))
    }

    /// What the elements of a cell are that nothing has changed.
    fn unit(&self, op: BinOp, v: Value) -> Option<Scalar> {
        if let Some(fill) = self.fill(v) {
            return Some(fill);
        }
        let func = self.func;
        let Def::Inst(inst, k) = self.defs.get(v) else { return None };
        match &func.insts[inst].op {
            Op::Update { array, .. } => self.unit(op, *array),
            Op::Select { then, els, .. } => self.unit(op, *then).or_else(|| self.unit(op, *els)),
            Op::If { then, els, .. } => {
                let of = |region: Region| self.unit(op, *func.regions[region].yields.get(k as usize)?);
                of(*then).or_else(|| of(*els))
            }
            Op::With(With { parts, ops, ordered: false }) => match (&ops[..], &parts[..]) {
                ([WithOp::Modarray { array }], _) => self.unit(op, *array),
                ([WithOp::Fold { neutral, combine: Combine::Op(inner), stop: None }], _) if *inner == op => {
                    self.fill(*neutral)
                }
                ([WithOp::Genarray { .. }], [part]) => {
                    let [cell] = func.regions[part.body].yields[..] else { return None };
                    let Def::Inst(choice, k) = self.defs.get(cell) else { return None };
                    let els = match &func.insts[choice].op {
                        Op::Select { els, .. } => *els,
                        Op::If { els, .. } => *func.regions[*els].yields.get(k as usize)?,
                        _ => return None,
                    };
                    self.defs.constant(func, els)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The value that all elements of an array have.
    fn fill(&self, v: Value) -> Option<Scalar> {
        let func = self.func;
        match self.defs.op(func, v)? {
            Op::ConstArray(data) => {
                let first = *data.values.first()?;
                data.values.iter().all(|x| same_bits(*x, first)).then_some(first)
            }
            Op::With(With { parts, ops, ordered: false }) => {
                let [WithOp::Genarray { frame: Frame::Known(frame), .. }] = &ops[..] else { return None };
                let [part] = &parts[..] else { return None };
                let [cell] = func.regions[part.body].yields[..] else { return None };
                covers_frame(func, self.defs, part, frame).then(|| self.defs.constant(func, cell))?
            }
            _ => None,
        }
    }

    /// Whether combining the accumulator's first value with `unit` leaves it as it is.
    fn absorbs(&self, op: BinOp, neutral: Value, unit: Scalar) -> bool {
        match self.fill(neutral) {
            Some(first) => eval_bin(op, first, unit).is_ok_and(|result| same_bits(result, first)),
            None if unit.elem().is_float() => op == BinOp::Mul && identity(op, unit.elem()) == Some(unit),
            None => identity(op, unit.elem()) == Some(unit),
        }
    }

    /// Where a cell that `region` makes differs; counts the elements.
    fn cell(&self, op: BinOp, region: Region, v: Value, unit: Scalar, changed: &mut u64) -> Option<Cell> {
        let func = self.func;
        if let Some(fill) = self.fill(v) {
            return same_bits(fill, unit).then_some(Cell::Nowhere);
        }
        let Def::Inst(inst, k) = self.defs.get(v) else { return None };
        if self.places.region_of[inst].expand() != Some(region) {
            return None;
        }
        let either = |a: u64, b: u64, changed: &mut u64| *changed = a.max(b);
        let (mut a, mut b) = (*changed, *changed);
        match &func.insts[inst].op {
            Op::Update { .. } => self.updates(region, v, unit, changed),
            Op::Select { cond, then, els } => {
                let then = Box::new(self.cell(op, region, *then, unit, &mut a)?);
                let els = Box::new(self.cell(op, region, *els, unit, &mut b)?);
                either(a, b, changed);
                Some(Cell::Either { cond: *cond, then, els })
            }
            Op::If { then, els, .. } => {
                // Nothing else asks for the array.
                if self.places.uses(v).len() != 1 {
                    return None;
                }
                let yielded = |region: Region| func.regions[region].yields.get(k as usize).copied();
                let (first, second) = (yielded(*then)?, yielded(*els)?);
                let then = Box::new(self.cell(op, *then, first, unit, &mut a)?);
                let els = Box::new(self.cell(op, *els, second, unit, &mut b)?);
                either(a, b, changed);
                Some(Cell::Branch { inst, then, els })
            }
            Op::With(With { parts, ops, ordered: false }) => match &ops[..] {
                [WithOp::Modarray { array }] => {
                    if !same_bits(self.fill(*array)?, unit) || !parts.iter().all(|p| self.is_plain(p, v)) {
                        return None;
                    }
                    for part in parts {
                        let n = trips(func, self.defs, part).unwrap_or(1);
                        *changed += n * elements(&cell_type(func.ty(v), params(func, part)));
                    }
                    Some(Cell::Parts(inst))
                }
                [WithOp::Fold { combine: Combine::Op(inner), .. }]
                    if *inner == op && self.places.uses(v).len() == 1 =>
                {
                    let found = self.fold(inst)?;
                    if !same_bits(self.fill(found.neutral)?, unit) {
                        return None;
                    }
                    *changed += found.changed;
                    Some(Cell::Fold { inst, parts: found.parts })
                }
                [WithOp::Genarray { frame: Frame::Known(frame), .. }] => {
                    let [part] = &parts[..] else { return None };
                    if !covers_frame(func, self.defs, part, frame) || !self.is_plain(part, v) {
                        return None;
                    }
                    self.compared(part, v, unit, changed)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Elements, not rows, at known axes.
    fn is_plain(&self, part: &Part, array: Value) -> bool {
        matches!(part.generator, Generator::Known { .. })
            && self.func.ty(array).rank() == Some(params(self.func, part))
            && !region_has_effect(self.func, part.body, self.cx)
    }

    fn updates(&self, region: Region, v: Value, unit: Scalar, changed: &mut u64) -> Option<Cell> {
        let func = self.func;
        let mut chain = Vec::new();
        let mut current = v;
        let mut is_known = true;
        while self.fill(current).is_none() {
            let inst = self.defs.inst(current)?;
            let Op::Update { array, index, .. } = &func.insts[inst].op else { return None };
            if self.places.region_of[inst].expand() != Some(region) {
                return None;
            }
            is_known &= index.iter().all(|i| self.defs.int(func, *i).is_some());
            *changed += elements(&cell_type(func.ty(v), index.len()));
            chain.push(inst);
            current = *array;
        }
        // Where all places are known, accumulators may become scalars.
        if is_known || !same_bits(self.fill(current)?, unit) {
            return None;
        }
        chain.reverse();
        Some(Cell::Updates(chain))
    }

    /// `axis == value ? element : unit` over a whole array.
    fn compared(&self, part: &Part, v: Value, unit: Scalar, changed: &mut u64) -> Option<Cell> {
        let func = self.func;
        let data = &func.regions[part.body];
        let [cell] = data.yields[..] else { return None };
        let Def::Inst(inst, k) = self.defs.get(cell) else { return None };
        let (cond, choice, els) = match &func.insts[inst].op {
            Op::Select { cond, then, els } => (*cond, Choice::Value(*then), *els),
            Op::If { cond, then, els } => {
                let els = *func.regions[*els].yields.get(k as usize)?;
                (*cond, Choice::Yield(*then, k as usize), els)
            }
            _ => return None,
        };
        if !same_bits(self.defs.constant(func, els)?, unit) {
            return None;
        }
        let mut at = vec![None; data.params.len()];
        self.equalities(part, cond, &mut at)?;
        // A fold for each element reads and compares in lanes.
        let total = elements(func.ty(v));
        let free: u64 = func
            .ty(v)
            .shape
            .extents()?
            .iter()
            .zip(&at)
            .filter(|(_, p)| p.is_none())
            .map(|(e, _)| e.as_const().map_or(UNKNOWN_EXTENT, |n| n.max(0) as u64))
            .product();
        if !self.cx.eager && total < LEAST_COMPARED * free {
            return None;
        }
        *changed += free;
        Some(Cell::Compared { part: part.clone(), at, choice })
    }

    fn equalities(&self, part: &Part, cond: Value, at: &mut [Option<Value>]) -> Option<()> {
        let func = self.func;
        match self.defs.op(func, cond)? {
            Op::Bin(BinOp::And, a, b) => {
                self.equalities(part, *a, at)?;
                self.equalities(part, *b, at)
            }
            Op::Bin(BinOp::Eq, a, b) => {
                let data = &func.regions[part.body];
                let axis = |v: &Value| data.params.iter().position(|p| p == v);
                let (axis, place) = match (axis(a), axis(b)) {
                    (Some(axis), None) => (axis, *b),
                    (None, Some(axis)) => (axis, *a),
                    _ => return None,
                };
                let is_known = self.defs.int(func, place).is_some();
                // There is an index, so what all of them compute may be computed once.
                let exists = trips(func, self.defs, part).is_some_and(|n| n > 0);
                if at[axis].is_some() || is_known || !self.is_invariant(part.body, place, exists) {
                    return None;
                }
                at[axis] = Some(place);
                Some(())
            }
            _ => None,
        }
    }
}

impl Search<'_> {
    /// Whether a value does not depend on the index; it may be computed in front of the with-loop then.
    fn is_invariant(&self, body: Region, v: Value, exists: bool) -> bool {
        let data = &self.func.regions[body];
        match self.defs.get(v) {
            Def::Param(region, _) => region != body,
            Def::Inst(inst, _) if data.insts.contains(&inst) => {
                let op = &self.func.insts[inst].op;
                let mut invariant = op.regions().is_empty() && (exists || is_speculatable(self.func, inst));
                op.for_each_operand(|v| invariant = invariant && self.is_invariant(body, v, exists));
                invariant
            }
            _ => true,
        }
    }
}

fn params(func: &Func, part: &Part) -> usize {
    func.regions[part.body].params.len()
}

fn elements(ty: &Ty) -> u64 {
    let extents = ty.shape.extents().unwrap_or_default();
    extents.iter().map(|e| e.as_const().map_or(UNKNOWN_EXTENT, |n| n.max(0) as u64)).product()
}

/// Equal, and of one sign if zero.
fn same_bits(a: Scalar, b: Scalar) -> bool {
    match (a, b) {
        (Scalar::F64(a), Scalar::F64(b)) => a.to_bits() == b.to_bits(),
        (Scalar::F32(a), Scalar::F32(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}

/// Whether running the region can be observed other than by faults and by what it yields.
fn region_has_effect_but_checks(func: &Func, region: Region, cx: &Context) -> bool {
    let mut found = false;
    walk(func, region, &mut |_, inst| {
        found |= match &func.insts[inst].op {
            Op::GlobalSet(..) | Op::GlobalGet(_) | Op::Native { effect: true, .. } => true,
            Op::Call { func: callee, .. } => cx.has_effects(*callee),
            _ => false,
        }
    });
    found
}

/// Puts loops in the place of a fold, one nest for each partition.
fn rewrite(
    func: &mut Func,
    defs: &mut Defs,
    cx: &Context,
    (home, inst): (Region, Inst),
    found: &Found,
    outermost: bool,
) {
    let span = func.insts[inst].span;
    let old = func.insts[inst].results[0];
    let (mut out, mut current, mut loops) = (Vec::new(), found.neutral, Vec::new());
    for (part, cell) in &found.parts {
        let outer = Copier { source: None, values: HashMap::new(), syms: HashMap::new() };
        let mut nest = Nest { func, defs, span, op: found.op };
        let (result, run) = nest.part(&mut out, current, part, cell, &outer);
        current = result;
        loops.extend(run.map(|run| (run, inner_rounds(func, defs, part), size_of(func, part.body) as i64)));
    }
    let insts = &mut func.regions[home].insts;
    if let Some(at) = insts.iter().position(|i| *i == inst) {
        insts.splice(at..=at, out);
    }
    let mut renames = Renames::default();
    renames.set(old, current);
    renames.apply(func);
    for (run, inner, code) in loops.into_iter().filter(|_| outermost) {
        in_pieces(func, cx, run, found.op, Work { inner, code, changed: found.changed as i64 });
    }
}

/// Rounds of the inner loops for one of the outermost, as far as they are known.
fn inner_rounds(func: &Func, defs: &Defs, part: &Part) -> i64 {
    let Generator::Known { lower, upper, .. } = &part.generator else { return 1 };
    let known = lower
        .iter()
        .zip(upper)
        .skip(1)
        .filter_map(|(l, u)| Some(i64::from(defs.int(func, *u)?) - i64::from(defs.int(func, *l)?)));
    known.fold(1, |n, extent| n.saturating_mul(extent.max(1)))
}

/// Writes loops.
struct Nest<'a> {
    func: &'a mut Func,
    defs: &'a mut Defs,
    span: Span,
    op: BinOp,
}

impl Nest<'_> {
    fn emit<'e>(&'e mut self, out: &'e mut Vec<Inst>) -> Emitter<'e> {
        Emitter { func: self.func, defs: self.defs, out, span: self.span }
    }

    /// The accumulator after all indices of a partition, and the outermost loop. Values of `outer` have other names around it.
    fn part(
        &mut self,
        out: &mut Vec<Inst>,
        acc: Value,
        part: &Part,
        cell: &Cell,
        outer: &Copier<'_>,
    ) -> (Value, Option<Inst>) {
        let Generator::Known { lower, upper, .. } = &part.generator else { return (acc, None) };
        let axes: Vec<(Value, Value)> = lower.iter().copied().zip(upper.iter().copied()).collect();
        self.axis(out, acc, (part, cell, outer), &axes, &mut Vec::new())
    }

    /// The accumulator after all indices of the axes that are left.
    fn axis(
        &mut self,
        out: &mut Vec<Inst>,
        acc: Value,
        (part, cell, outer): (&Part, &Cell, &Copier<'_>),
        axes: &[(Value, Value)],
        index: &mut Vec<Value>,
    ) -> (Value, Option<Inst>) {
        let ty = self.func.ty(acc).clone();
        let Some((&(lower, upper), rest)) = axes.split_first() else {
            let mut copier = Copier::within(self.func, part.body);
            let params = self.func.regions[part.body].params.clone();
            copier.values.extend(outer.values.iter().map(|(old, new)| (*old, *new)));
            copier.syms.extend(outer.syms.iter().map(|(old, new)| (*old, new.clone())));
            copier.values.extend(params.into_iter().zip(index.iter().copied()));
            return (self.body(out, acc, part.body, cell, &mut copier), None);
        };
        let body = self.func.new_region();
        let inner_acc = self.func.add_param(body, ty.clone());
        let counter = self.func.add_param(body, Ty::scalar(Elem::I32));
        index.push(counter);
        let mut insts = Vec::new();
        let (next_acc, _) = self.axis(&mut insts, inner_acc, (part, cell, outer), rest, index);
        index.pop();
        let mut e = self.emit(&mut insts);
        let one = e.int(1);
        let next = e.int_op(BinOp::Add, counter, one);
        let again = e.int_op(BinOp::Lt, next, upper);
        self.func.regions[body].insts = insts;
        self.func.regions[body].yields = vec![again, next_acc, next];
        let types = vec![ty.clone(), Ty::scalar(Elem::I32)];
        let run = self.func.make_inst(Op::Loop { init: vec![acc, lower], body }, types, self.span);
        self.defs.add_inst(self.func, run);
        let result = self.func.insts[run].results[0];
        let bounds = (self.defs.int(self.func, lower), self.defs.int(self.func, upper));
        if matches!(bounds, (Some(l), Some(u)) if l < u) {
            out.push(run);
            return (result, Some(run));
        }
        let cond = self.emit(out).int_op(BinOp::Lt, lower, upper);
        let then = self.func.regions.push(RegionData { params: vec![], insts: vec![run], yields: vec![result] });
        let els = self.func.regions.push(RegionData { params: vec![], insts: vec![], yields: vec![acc] });
        (self.emit(out).emit(Op::If { cond, then, els }, ty), Some(run))
    }

    /// Copies the body of an index and combines its cell with the accumulator.
    fn body(&mut self, out: &mut Vec<Inst>, acc: Value, region: Region, cell: &Cell, copier: &mut Copier<'_>) -> Value {
        for inst in self.func.regions[region].insts.clone() {
            match cell {
                // Made anew below.
                Cell::Branch { inst: own, .. } | Cell::Fold { inst: own, .. } if *own == inst => {}
                _ => {
                    let copy = copier.inst(self.func, inst);
                    self.defs.add_inst(self.func, copy);
                    out.push(copy);
                }
            }
        }
        self.combine(out, acc, cell, copier)
    }

    fn combine(&mut self, out: &mut Vec<Inst>, acc: Value, cell: &Cell, copier: &mut Copier<'_>) -> Value {
        let ty = self.func.ty(acc).clone();
        match cell {
            Cell::Nowhere => acc,
            Cell::Updates(chain) => {
                let mut sums = Vec::new();
                for &inst in chain {
                    let Op::Update { index, value, .. } = self.func.insts[inst].op.clone() else { continue };
                    let index: Vec<Value> = index.into_iter().map(|v| copier.value(v)).collect();
                    let value = copier.value(value);
                    for (index, value) in self.elements(out, index, value) {
                        let sum = self.sum(out, acc, &index, value);
                        sums.push((index, sum));
                    }
                }
                sums.into_iter().fold(acc, |array, (index, value)| {
                    self.emit(out).emit(Op::Update { array, index, value }, ty.clone())
                })
            }
            Cell::Parts(inst) => {
                let Op::With(with) = self.func.insts[*inst].op.clone() else { return acc };
                let mut parts = Vec::new();
                for part in &with.parts {
                    let body = copier.region(self.func, part.body);
                    let index = self.func.regions[body].params.clone();
                    let element = self.func.regions[body].yields[0];
                    let mut insts = std::mem::take(&mut self.func.regions[body].insts);
                    let sum = self.sum(&mut insts, acc, &index, element);
                    self.func.regions[body].insts = insts;
                    self.func.regions[body].yields = vec![sum];
                    parts.push(Part { generator: renamed(&part.generator, copier), body });
                }
                self.with(out, parts, acc, ty)
            }
            Cell::Fold { parts, .. } => {
                let mut current = acc;
                for (part, cell) in parts {
                    let part = Part { generator: renamed(&part.generator, copier), body: part.body };
                    current = self.part(out, current, &part, cell, copier).0;
                }
                current
            }
            Cell::Compared { part, at, choice } => self.compared(out, acc, part, at, choice, copier),
            Cell::Either { cond, then, els } => {
                let mut side = |cell: &Cell, nest: &mut Self| {
                    let mut insts = Vec::new();
                    let yields = vec![nest.combine(&mut insts, acc, cell, copier)];
                    nest.func.regions.push(RegionData { params: vec![], insts, yields })
                };
                let (then, els) = (side(then, self), side(els, self));
                let cond = copier.value(*cond);
                self.emit(out).emit(Op::If { cond, then, els }, ty)
            }
            Cell::Branch { inst, then, els } => {
                let Op::If { cond, then: first, els: second } = self.func.insts[*inst].op.clone() else { return acc };
                let mut side = |region: Region, cell: &Cell, nest: &mut Self| {
                    let mut insts = Vec::new();
                    let yields = vec![nest.body(&mut insts, acc, region, cell, copier)];
                    nest.func.regions.push(RegionData { params: vec![], insts, yields })
                };
                let (then, els) = (side(first, then, self), side(second, els, self));
                let cond = copier.value(cond);
                self.emit(out).emit(Op::If { cond, then, els }, ty)
            }
        }
    }

    /// The elements of a short row and their places; another one is left as it is.
    fn elements(&mut self, out: &mut Vec<Inst>, index: Vec<Value>, row: Value) -> Vec<(Vec<Value>, Value)> {
        let ty = self.func.ty(row).clone();
        let length = ty.shape.constants().filter(|extents| extents.len() == 1).map(|extents| extents[0]);
        let Some(n @ 1..=MAX_WRITTEN_OUT) = length else { return vec![(index, row)] };
        let mut e = self.emit(out);
        let mut found = Vec::new();
        for k in 0..n {
            let k = e.int(k);
            let element = e.emit(Op::Sel { array: row, index: vec![k] }, Ty::scalar(ty.elem));
            found.push((index.iter().copied().chain([k]).collect(), element));
        }
        found
    }

    /// The element or row of the accumulator at an index, combined with another one.
    fn sum(&mut self, out: &mut Vec<Inst>, acc: Value, index: &[Value], value: Value) -> Value {
        let ty = cell_type(self.func.ty(acc), index.len());
        let op = self.op;
        let old = self.emit(out).emit(Op::Sel { array: acc, index: index.to_vec() }, ty.clone());
        if ty.is_scalar() {
            return self.emit(out).emit(Op::Bin(op, old, value), ty);
        }
        let extents = extents_of(&mut self.emit(out), acc).split_off(index.len());
        let zero = self.emit(out).int(0);
        let body = self.func.new_region();
        let inner: Vec<Value> = extents.iter().map(|_| self.func.add_param(body, Ty::scalar(Elem::I32))).collect();
        let mut insts = Vec::new();
        let scalar = Ty::scalar(ty.elem);
        let place: Vec<Value> = index.iter().chain(&inner).copied().collect();
        let a = self.emit(&mut insts).emit(Op::Sel { array: acc, index: place }, scalar.clone());
        let b = self.emit(&mut insts).emit(Op::Sel { array: value, index: inner }, scalar.clone());
        let sum = self.emit(&mut insts).emit(Op::Bin(op, a, b), scalar);
        self.func.regions[body].insts = insts;
        self.func.regions[body].yields = vec![sum];
        let generator =
            Generator::Known { lower: vec![zero; extents.len()], upper: extents.clone(), step: None, width: None };
        let made = WithOp::Genarray { frame: Frame::Known(extents), cell: Some(Vec::new()), default: None };
        let with = With { parts: vec![Part { generator, body }], ops: vec![made], ordered: false };
        self.emit(out).emit(Op::With(with), ty)
    }

    fn with(&mut self, out: &mut Vec<Inst>, parts: Vec<Part>, array: Value, ty: Ty) -> Value {
        let with = With { parts, ops: vec![WithOp::Modarray { array }], ordered: false };
        self.emit(out).emit(Op::With(with), ty)
    }

    /// The accumulator changed where axes equal places, if these lie within the array.
    fn compared(
        &mut self,
        out: &mut Vec<Inst>,
        acc: Value,
        part: &Part,
        at: &[Option<Value>],
        choice: &Choice,
        copier: &mut Copier<'_>,
    ) -> Value {
        let ty = self.func.ty(acc).clone();
        let extents = extents_of(&mut self.emit(out), acc);
        let mut inside: Option<Value> = None;
        let zero = self.emit(out).int(0);
        // Copies of the body that was compared at all places are of no use here.
        let mut own = HashSet::new();
        collect_values(self.func, part.body, &mut own);
        copier.values.retain(|v, _| !own.contains(v));
        let at: Vec<Option<Value>> =
            at.iter().map(|place| place.map(|v| self.outside(out, v, part.body, copier))).collect();
        for (place, &extent) in at.iter().zip(&extents) {
            let &Some(place) = place else { continue };
            let mut e = self.emit(out);
            let tests = [e.int_op(BinOp::Ge, place, zero), e.int_op(BinOp::Lt, place, extent)];
            for test in tests {
                inside = Some(match inside {
                    Some(before) => e.emit(Op::Bin(BinOp::And, before, test), Ty::scalar(Elem::Bool)),
                    None => test,
                });
            }
        }
        let Some(cond) = inside else { return acc };
        let body = self.func.new_region();
        let mut insts = Vec::new();
        let whole = at.iter().all(Option::is_some);
        let index: Vec<Value> = at
            .iter()
            .map(|place| match place {
                Some(place) if whole => *place,
                _ => self.func.add_param(body, Ty::scalar(Elem::I32)),
            })
            .collect();
        let params = self.func.regions[part.body].params.clone();
        copier.values.extend(params.into_iter().zip(index.iter().copied()));
        copier.splice(self.func, part.body, &mut insts);
        let element = match choice {
            Choice::Value(v) => copier.value(*v),
            Choice::Yield(region, k) => copier.splice(self.func, *region, &mut insts)[*k],
        };
        for inst in &insts {
            self.defs.add_inst(self.func, *inst);
        }
        let sum = self.sum(&mut insts, acc, &index, element);
        let mut then = Vec::new();
        let changed = if whole {
            then = insts;
            self.emit(&mut then).emit(Op::Update { array: acc, index, value: sum }, ty.clone())
        } else {
            // Within the row or plane at the place.
            let one = self.emit(&mut then).int(1);
            let (mut lower, mut upper) = (vec![zero; extents.len()], extents.clone());
            for (axis, place) in at.iter().enumerate() {
                let &Some(place) = place else { continue };
                lower[axis] = place;
                upper[axis] = self.emit(&mut then).int_op(BinOp::Add, lower[axis], one);
            }
            self.func.regions[body].insts = insts;
            self.func.regions[body].yields = vec![sum];
            let generator = Generator::Known { lower, upper, step: None, width: None };
            self.with(&mut then, vec![Part { generator, body }], acc, ty.clone())
        };
        let then = self.func.regions.push(RegionData { params: vec![], insts: then, yields: vec![changed] });
        let els = self.func.regions.push(RegionData { params: vec![], insts: vec![], yields: vec![acc] });
        self.emit(out).emit(Op::If { cond, then, els }, ty)
    }
}

impl Nest<'_> {
    /// An invariant of a with-loop's body in front of it.
    fn outside(&mut self, out: &mut Vec<Inst>, v: Value, body: Region, copier: &mut Copier<'_>) -> Value {
        let Def::Inst(inst, _) = self.defs.get(v) else { return copier.value(v) };
        if !self.func.regions[body].insts.contains(&inst) || copier.values.contains_key(&v) {
            return copier.value(v);
        }
        let mut operands = Vec::new();
        self.func.insts[inst].op.for_each_operand(|v| operands.push(v));
        for v in operands {
            self.outside(out, v, body, copier);
        }
        let copy = copier.inst(self.func, inst);
        self.defs.add_inst(self.func, copy);
        out.push(copy);
        copier.value(v)
    }
}

/// A generator with the names of a copy.
fn renamed(generator: &Generator, copier: &Copier<'_>) -> Generator {
    let mut generator = generator.clone();
    match &mut generator {
        Generator::Known { lower, upper, step, width } => {
            let all = lower.iter_mut().chain(upper).chain(step.iter_mut().flatten()).chain(width.iter_mut().flatten());
            all.for_each(|v| *v = copier.value(*v));
        }
        Generator::Dyn { lower, upper, step, width } => {
            let all = [Some(lower), Some(upper), step.as_mut(), width.as_mut()];
            all.into_iter().flatten().for_each(|v| *v = copier.value(*v));
        }
    }
    generator
}
