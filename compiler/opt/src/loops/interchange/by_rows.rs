//! The iterations of a loop over columns, step by step for all columns.
//!
//! A step is what stands between loops, branches and stores. Scalars of an iteration are computed where a step needs them, from what is in memory; those that
//! are needed behind a store or a loop, too, become a vector first, unless they are computed again easily from what no iteration changes.

use super::Found;
use crate::edit::{Copier, Defs, Emitter, substitute, version_of};
use ravel_source::Span;
use ravel_types::{Affine, BinOp, Elem, Scalar, Shape, Ty};
use ravel_types::{HashMap, HashSet};
use ravel_wir::traverse::free_values;
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

/// Operations up to which a scalar is computed again.
const MAX_AGAIN: usize = 2;
/// Most arrays that one step stores into.
const MAX_STORES: usize = 4;

/// Puts loops over rows in the place of a loop, or in a version of it for many columns. `false` if it cannot be written like that.
pub fn rewrite(func: &mut Func, defs: &mut Defs, region: Region, found: &Found, least: i32) -> bool {
    let old = func.clone();
    let span = old.insts[found.trip.inst].span;
    let Op::Loop { init, body } = &old.insts[found.trip.inst].op else { return false };
    let copier = Copier::within(func, *body);
    let mut before = Vec::new();
    let mut e = Emitter { func, defs, out: &mut before, span };
    let end = found.trip.emit_last(&mut e, found.is_ordered);
    let length = e.int_op(BinOp::Sub, end, found.trip.start);
    let constant = e.defs.int(e.func, length);
    let extent = match constant {
        Some(length) => Affine::constant(length),
        None => Affine::sym(e.func.fresh_sym()),
    };
    let vectors = HashMap::default();
    let (start, whole) = (found.trip.start, (found.trip.start, end));
    let mut rows =
        Rows { old: &old, found, func, defs, span, copier, vectors, start, length, extent, range: whole, whole };
    for (param, first) in old.regions[*body].params.iter().zip(init) {
        rows.copier.values.insert(*param, *first);
    }
    let mut out = Vec::new();
    if rows.block(*body, &mut out, false).is_none() {
        *func = old;
        return false;
    }
    let yields = &old.regions[*body].yields[1..];
    let results: Vec<Value> =
        (0..yields.len()).map(|k| if k == found.trip.counter { end } else { rows.copier.value(yields[k]) }).collect();
    if constant.is_some() {
        substitute(func, region, found.trip.inst, before.into_iter().chain(out), results);
        return true;
    }
    let mut e = Emitter { func, defs, out: &mut before, span };
    let least = e.int(least);
    let cond = e.int_op(BinOp::Ge, length, least);
    version_of(
        func,
        region,
        found.trip.inst,
        (cond, RegionData { params: Vec::new(), insts: out, yields: results }),
        before,
    );
    true
}

struct Rows<'a> {
    /// The function as it was.
    old: &'a Func,
    found: &'a Found,
    func: &'a mut Func,
    /// Of old values, which keep their numbers, and of those that steps are made of.
    defs: &'a mut Defs,
    span: Span,
    /// What is the same in all columns, and arrays, by old names.
    copier: Copier<'a>,
    /// Scalars of all columns.
    vectors: HashMap<Value, Value>,
    start: Value,
    /// Columns in all.
    length: Value,
    extent: Affine,
    /// The columns in hand, and all.
    range: (Value, Value),
    whole: (Value, Value),
}

/// The body of a step: what there is for one column.
struct Cell {
    values: HashMap<Value, Value>,
    insts: Vec<Inst>,
    column: Value,
    /// The number of the column, counted from the first one.
    place: Value,
}

impl Rows<'_> {
    fn varies(&self, v: Value) -> bool {
        v == self.found.count(self.old) || self.found.varying.contains(&v)
    }

    /// Is an instruction the same for all columns?
    fn is_same(&self, inst: Inst) -> bool {
        let data = &self.old.insts[inst];
        let touches = |v: &Value| self.found.is_array(*v);
        let mut arrays = data.results.iter().any(touches);
        for region in data.op.regions() {
            arrays |= free_values(self.old, region).iter().any(touches);
        }
        !arrays && !data.results.iter().any(|v| self.varies(*v))
    }

    fn int(&mut self, out: &mut Vec<Inst>, op: BinOp, a: Value, b: Value) -> Value {
        Emitter { func: self.func, defs: self.defs, out, span: self.span }.int_op(op, a, b)
    }

    /// Writes a region for all columns; scalars that it yields become vectors if `carries`.
    fn block(&mut self, region: Region, out: &mut Vec<Inst>, carries: bool) -> Option<()> {
        let data = &self.old.regions[region];
        let mut at = 0;
        while let Some(&inst) = data.insts.get(at) {
            at += 1;
            if self.is_same(inst) {
                let copy = self.copier.inst(self.func, inst);
                self.defs.add_inst(self.func, copy);
                out.push(copy);
                continue;
            }
            match &self.old.insts[inst].op {
                Op::Extent { array, axis } => {
                    let ty = Ty::scalar(Elem::I32);
                    let op = Op::Extent { array: self.copier.value(*array), axis: *axis };
                    let v = Emitter { func: self.func, defs: self.defs, out, span: self.span }.emit(op, ty);
                    self.copier.values.insert(self.old.insts[inst].results[0], v);
                }
                Op::Update { .. } => {
                    let (group, next) = self.group(region, at - 1);
                    for &same in &data.insts[at..next] {
                        if self.is_same(same) {
                            let copy = self.copier.inst(self.func, same);
                            self.defs.add_inst(self.func, copy);
                            out.push(copy);
                        }
                    }
                    at = next;
                    self.settle(region, (at, at), out)?;
                    self.store(&group, out);
                }
                Op::Loop { .. } => {
                    self.settle(region, (at - 1, at - 1), out)?;
                    self.inner_loop(inst, out)?;
                }
                Op::If { cond, .. } if !self.varies(*cond) => {
                    self.settle(region, (at - 1, at - 1), out)?;
                    self.branch(inst, out)?;
                }
                Op::With(_) => self.local(inst, out),
                // Computed where it is needed.
                _ => {}
            }
        }
        if carries {
            let scalars: Vec<Value> =
                data.yields.iter().copied().filter(|v| self.old.ty(*v).is_scalar() && self.varies(*v)).collect();
            self.make_vectors(&scalars, out)?;
        }
        Some(())
    }

    /// Makes vectors of scalars in front of an instruction that are needed at or behind one and cannot be computed again there.
    fn settle(&mut self, region: Region, (defined, needed): (usize, usize), out: &mut Vec<Inst>) -> Option<()> {
        let data = &self.old.regions[region];
        let ready: HashSet<Value> =
            data.insts[..defined].iter().flat_map(|inst| self.old.insts[*inst].results.iter().copied()).collect();
        let mut wanted: Vec<Value> = data.yields.clone();
        for &inst in &data.insts[needed..] {
            self.old.insts[inst].op.for_each_operand(|v| wanted.push(v));
            for nested in self.old.insts[inst].op.regions() {
                wanted.extend(free_values(self.old, nested));
            }
        }
        let mut scalars = Vec::new();
        for v in wanted {
            let is_open = ready.contains(&v) && self.old.ty(v).is_scalar() && self.varies(v);
            if is_open && !scalars.contains(&v) && self.again(v).is_none_or(|work| work > MAX_AGAIN) {
                scalars.push(v);
            }
        }
        self.make_vectors(&scalars, out)
    }

    /// Operations to compute a scalar again from what does not change; none if it depends on arrays that do.
    fn again(&self, v: Value) -> Option<usize> {
        if !self.varies(v) || v == self.found.count(self.old) || self.vectors.contains_key(&v) {
            return Some(0);
        }
        let op = self.defs.op(self.old, v)?;
        let mut work = Some(1);
        match op {
            Op::Sel { array, .. } if self.found.is_array(*array) => return None,
            Op::Bin(BinOp::Div | BinOp::Mod | BinOp::AplMod | BinOp::Pow, ..) | Op::If { .. } => return None,
            Op::Un(op, _) if *op != ravel_types::UnOp::Neg => return None,
            _ => {}
        }
        op.for_each_operand(|v| {
            if self.old.ty(v).is_scalar() {
                work = work.zip(self.again(v)).map(|(a, b)| a + b);
            }
        });
        work
    }

    /// Stores at one place of several arrays, beginning at an instruction, and where the next step begins.
    fn group(&self, region: Region, first: usize) -> (Vec<Inst>, usize) {
        let insts = &self.old.regions[region].insts;
        let mut group = vec![insts[first]];
        let mut end = first + 1;
        let Op::Update { array: one, index: place, .. } = &self.old.insts[insts[first]].op else { return (group, end) };
        let same = |a: &Value, b: &Value| {
            a == b || matches!((self.defs.int(self.old, *a), self.defs.int(self.old, *b)), (Some(a), Some(b)) if a == b)
        };
        for (at, &inst) in insts.iter().enumerate().skip(first + 1) {
            let data = &self.old.insts[inst];
            let made = |v: Value| group.iter().any(|i| self.old.insts[*i].results.contains(&v));
            let mut reads_new = false;
            data.op.for_each_operand(|v| reads_new |= made(v));
            for nested in data.op.regions() {
                reads_new |= free_values(self.old, nested).iter().any(|v| made(*v));
            }
            match &data.op {
                _ if reads_new => break,
                Op::Update { array, index, .. } => {
                    let fits = self.found.shared.contains(array) == self.found.shared.contains(one)
                        && index.len() == place.len()
                        && index.iter().zip(place).all(|(a, b)| same(a, b))
                        && group.len() < MAX_STORES;
                    if !fits {
                        break;
                    }
                    group.push(inst);
                    end = at + 1;
                }
                _ if self.is_same(inst) => {}
                Op::Loop { .. } | Op::With(_) => break,
                Op::If { cond, .. } if !self.varies(*cond) => break,
                _ => {}
            }
        }
        (group, end)
    }

    /// Stores for the columns in hand.
    fn store(&mut self, group: &[Inst], out: &mut Vec<Inst>) {
        let Op::Update { array, index, .. } = &self.old.insts[group[0]].op else { return };
        let is_local = self.found.local.contains(array);
        let rows = if is_local { &index[..] } else { &index[..index.len() - 1] };
        let place: Vec<Value> = rows.iter().map(|v| self.copier.value(*v)).collect();
        let range = if is_local { self.places_of(self.range, out) } else { self.range };
        let mut e = Emitter { func: self.func, defs: self.defs, out, span: self.span };
        let one = e.int(1);
        let mut upper: Vec<Value> = place.iter().map(|v| e.int_op(BinOp::Add, *v, one)).collect();
        let mut lower = place;
        lower.push(range.0);
        upper.push(range.1);
        let params: Vec<Value> = lower.iter().map(|_| self.func.new_value(Ty::scalar(Elem::I32))).collect();
        let mut cell = self.cell(params[params.len() - 1], is_local);
        let (mut ops, mut types, mut yields) = (Vec::new(), Vec::new(), Vec::new());
        for &inst in group {
            let Op::Update { array, value, .. } = &self.old.insts[inst].op else { continue };
            yields.push(self.scalar(&mut cell, *value));
            let array = self.copier.value(*array);
            types.push(self.func.ty(array).clone());
            ops.push(WithOp::Modarray { array });
        }
        let body = self.func.regions.push(RegionData { params, insts: cell.insts, yields });
        let generator = Generator::Known { lower, upper, step: None, width: None };
        let with = With { parts: vec![Part { generator, body }], ops, ordered: false };
        let made = self.func.make_inst(Op::With(with), types, self.old.insts[group[0]].span);
        out.push(made);
        for (inst, new) in group.iter().zip(self.func.insts[made].results.clone()) {
            self.copier.values.insert(self.old.insts[*inst].results[0], new);
        }
    }

    /// Columns counted from the first one.
    fn places_of(&mut self, range: (Value, Value), out: &mut Vec<Inst>) -> (Value, Value) {
        let start = self.start;
        (self.int(out, BinOp::Sub, range.0, start), self.int(out, BinOp::Sub, range.1, start))
    }

    /// A step's body for an index along the columns.
    fn cell(&mut self, index: Value, is_place: bool) -> Cell {
        let mut insts = Vec::new();
        let op = if is_place { BinOp::Add } else { BinOp::Sub };
        let start = self.start;
        let other = self.int(&mut insts, op, index, start);
        let (column, place) = if is_place { (other, index) } else { (index, other) };
        Cell { values: HashMap::default(), insts, column, place }
    }

    /// A scalar in a step.
    fn scalar(&mut self, cell: &mut Cell, v: Value) -> Value {
        if v == self.found.count(self.old) {
            return cell.column;
        }
        if let Some(new) = cell.values.get(&v) {
            return *new;
        }
        if !self.varies(v) {
            return self.copier.value(v);
        }
        if let Some(&vector) = self.vectors.get(&v) {
            let op = Op::Sel { array: vector, index: vec![cell.place] };
            let ty = self.old.ty(v).clone();
            let mut e = Emitter { func: self.func, defs: self.defs, out: &mut cell.insts, span: self.span };
            let new = e.emit(op, ty);
            cell.values.insert(v, new);
            return new;
        }
        // Everything else was examined: it is an operation on scalars.
        let Some(inst) = self.defs.inst(v) else { return v };
        let data = self.old.insts[inst].clone();
        let mut scalars = Vec::new();
        data.op.for_each_operand(|v| scalars.push(v));
        scalars.extend(data.op.regions().into_iter().flat_map(|region| free_values(self.old, region)));
        let mut copier = Copier::default();
        for v in scalars {
            let new = if self.old.ty(v).is_scalar() { self.scalar(cell, v) } else { self.copier.value(v) };
            copier.values.insert(v, new);
        }
        let copy = copier.inst(self.func, inst);
        if let (Op::Sel { array, .. }, Op::Sel { index, .. }) = (&data.op, &mut self.func.insts[copy].op)
            && self.found.local.contains(array)
        {
            index.push(cell.place);
        }
        self.defs.add_inst(self.func, copy);
        cell.insts.push(copy);
        let results = self.func.insts[copy].results.clone();
        cell.values.extend(data.results.iter().copied().zip(results));
        cell.values[&v]
    }

    /// Makes vectors of scalars.
    fn make_vectors(&mut self, scalars: &[Value], out: &mut Vec<Inst>) -> Option<()> {
        let scalars: Vec<Value> = scalars.iter().copied().filter(|v| !self.vectors.contains_key(v)).collect();
        if scalars.is_empty() {
            return Some(());
        }
        for (v, vector) in scalars.iter().zip(self.vectors_of(&scalars, out)?) {
            self.vectors.insert(*v, vector);
        }
        Some(())
    }

    fn vectors_of(&mut self, scalars: &[Value], out: &mut Vec<Inst>) -> Option<Vec<Value>> {
        if self.range != self.whole {
            return None;
        }
        let index = self.func.new_value(Ty::scalar(Elem::I32));
        let mut cell = self.cell(index, true);
        let yields: Vec<Value> = scalars.iter().map(|v| self.scalar(&mut cell, *v)).collect();
        let types = scalars.iter().map(|v| self.vector_type(self.old.ty(*v).elem)).collect();
        let mut e = Emitter { func: self.func, defs: self.defs, out, span: self.span };
        let zero = e.int(0);
        let body = self.func.regions.push(RegionData { params: vec![index], insts: cell.insts, yields });
        let generator = Generator::Known { lower: vec![zero], upper: vec![self.length], step: None, width: None };
        let frame = Frame::Known(vec![self.length]);
        let op = WithOp::Genarray { frame, cell: Some(Vec::new()), default: None };
        let ops = vec![op; scalars.len()];
        let with = Op::With(With { parts: vec![Part { generator, body }], ops, ordered: false });
        let made = self.func.make_inst(with, types, self.span);
        out.push(made);
        Some(self.func.insts[made].results.clone())
    }

    fn vector_type(&self, elem: Elem) -> Ty {
        Ty::new(elem, Shape::Known(vec![self.extent.clone()]))
    }

    /// What a loop or branch hands on, where `v` is what it hands on in each column; scalars as vectors if they vary in `like`.
    fn handed(&mut self, v: Value, like: Value, out: &mut Vec<Inst>) -> Option<Value> {
        if !self.varies(like) || !self.old.ty(v).is_scalar() {
            return Some(self.copier.value(v));
        }
        match self.vectors.get(&v) {
            Some(vector) => Some(*vector),
            None => Some(self.vectors_of(&[v], out)?[0]),
        }
    }

    /// Notes what stands for a value that a loop or branch hands on.
    fn hand(&mut self, v: Value, new: Value) {
        match self.varies(v) && self.old.ty(v).is_scalar() {
            true => self.vectors.insert(v, new),
            false => self.copier.values.insert(v, new),
        };
    }

    fn inner_loop(&mut self, inst: Inst, out: &mut Vec<Inst>) -> Option<()> {
        let (old, before) = (self.old, self.range);
        let data = &old.insts[inst];
        let Op::Loop { init, body } = &data.op else { return None };
        let inner = &old.regions[*body];
        let triangle = self.found.triangles.get(&inst).copied();
        let mut first = Vec::new();
        for (k, (v, param)) in init.iter().zip(&inner.params).enumerate() {
            first.push(match triangle {
                // Of all columns, the first one begins first.
                Some((counter, behind)) if counter == k => {
                    let column = self.range.0;
                    let mut e = Emitter { func: self.func, defs: self.defs, out, span: self.span };
                    let behind = e.int(behind);
                    e.int_op(BinOp::Add, column, behind)
                }
                _ => self.handed(*v, *param, out)?,
            });
        }
        let mut params = Vec::new();
        for (param, first) in inner.params.iter().zip(&first) {
            let ty = self.func.ty(*first).clone();
            params.push(self.func.new_value(ty));
            self.hand(*param, params[params.len() - 1]);
        }
        let mut insts = Vec::new();
        if let Some((counter, behind)) = triangle {
            // Columns that have begun: their number and what they begin behind it is not more than the counter.
            let mut e = Emitter { func: self.func, defs: self.defs, out: &mut insts, span: self.span };
            let less = e.int(1 - behind);
            let begun = e.int_op(BinOp::Add, params[counter], less);
            self.range = (before.0, e.int_op(BinOp::Min, before.1, begun));
        }
        self.block(*body, &mut insts, true)?;
        let mut yields = vec![self.copier.value(inner.yields[0])];
        for (v, param) in inner.yields[1..].iter().zip(&inner.params) {
            yields.push(self.handed(*v, *param, &mut insts)?);
        }
        self.range = before;
        let types = params.iter().map(|v| self.func.ty(*v).clone()).collect();
        let body = self.func.regions.push(RegionData { params, insts, yields });
        let made = self.func.make_inst(Op::Loop { init: first, body }, types, data.span);
        out.push(made);
        for (v, new) in data.results.iter().zip(self.func.insts[made].results.clone()) {
            self.hand(*v, new);
        }
        Some(())
    }

    fn branch(&mut self, inst: Inst, out: &mut Vec<Inst>) -> Option<()> {
        let old = self.old;
        let data = &old.insts[inst];
        let Op::If { cond, then, els } = &data.op else { return None };
        let mut regions = Vec::new();
        for region in [*then, *els] {
            let mut insts = Vec::new();
            self.block(region, &mut insts, true)?;
            let mut yields = Vec::new();
            for (v, result) in old.regions[region].yields.iter().zip(&data.results) {
                yields.push(self.handed(*v, *result, &mut insts)?);
            }
            regions.push(self.func.regions.push(RegionData { params: Vec::new(), insts, yields }));
        }
        let types = self.func.regions[regions[0]].yields.iter().map(|v| self.func.ty(*v).clone()).collect();
        let op = Op::If { cond: self.copier.value(*cond), then: regions[0], els: regions[1] };
        let made = self.func.make_inst(op, types, data.span);
        out.push(made);
        for (v, new) in data.results.iter().zip(self.func.insts[made].results.clone()) {
            self.hand(*v, new);
        }
        Some(())
    }

    /// An array of an iteration, with the columns as its last axis.
    fn local(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        let old = self.old;
        let data = &old.insts[inst];
        let Op::With(With { parts, ops, .. }) = &data.op else { return };
        let [WithOp::Genarray { frame: Frame::Known(frame), .. }] = &ops[..] else { return };
        let mut e = Emitter { func: self.func, defs: self.defs, out, span: self.span };
        let zero = e.constant(Scalar::I32(0));
        let mut made = Vec::new();
        for part in parts {
            let Generator::Known { lower, upper, .. } = &part.generator else { return };
            let bounds = |list: &[Value], last: Value| -> Vec<Value> {
                list.iter().map(|v| self.copier.value(*v)).chain([last]).collect()
            };
            let (lower, upper) = (bounds(lower, zero), bounds(upper, self.length));
            let generator = Generator::Known { lower, upper, step: None, width: None };
            let inner = &old.regions[part.body];
            let mut params: Vec<Value> =
                inner.params.iter().map(|_| self.func.new_value(Ty::scalar(Elem::I32))).collect();
            let place = self.func.new_value(Ty::scalar(Elem::I32));
            let mut cell = self.cell(place, true);
            cell.values.extend(inner.params.iter().copied().zip(params.iter().copied()));
            params.push(place);
            let yields = vec![self.scalar(&mut cell, inner.yields[0])];
            let body = self.func.regions.push(RegionData { params, insts: cell.insts, yields });
            made.push(Part { generator, body });
        }
        let frame = frame.iter().map(|v| self.copier.value(*v)).chain([self.length]).collect();
        let op = WithOp::Genarray { frame: Frame::Known(frame), cell: Some(Vec::new()), default: None };
        let ty = old.ty(data.results[0]);
        let extents = ty.shape.extents().unwrap_or_default().iter().cloned().chain([self.extent.clone()]).collect();
        let with = Op::With(With { parts: made, ops: vec![op], ordered: false });
        let made = self.func.make_inst(with, vec![Ty::new(ty.elem, Shape::Known(extents))], data.span);
        out.push(made);
        self.copier.values.insert(data.results[0], self.func.insts[made].results[0]);
    }
}
