//! The loops that folds become.

use super::{Cell, Choice};
use crate::edit::{Copier, Def, Defs, Emitter, collect_values, operands_of};
use crate::facts::trips;
use crate::loops::privatize::extents_of;
use ravel_source::Span;
use ravel_types::{BinOp, Elem, HashSet, Ty};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp, cell_type};

/// Longest row whose elements are updated one by one.
const MAX_WRITTEN_OUT: i32 = 15;

/// Writes loops.
pub(crate) struct Nest<'a> {
    pub func: &'a mut Func,
    pub defs: &'a mut Defs,
    pub span: Span,
    pub op: BinOp,
}

impl Nest<'_> {
    fn emit<'e>(&'e mut self, out: &'e mut Vec<Inst>) -> Emitter<'e> {
        Emitter { func: self.func, defs: self.defs, out, span: self.span }
    }

    /// The accumulator after all indices of a partition, and the outermost loop. Values of `outer` have other names around it.
    pub fn part(
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

    pub fn combine(&mut self, out: &mut Vec<Inst>, acc: Value, cell: &Cell, copier: &mut Copier<'_>) -> Value {
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

    /// The accumulator changed where axes equal places, if these lie within the array. Places that the body computes need an index to exist.
    fn compared(
        &mut self,
        out: &mut Vec<Inst>,
        acc: Value,
        part: &Part,
        at: &[Option<Value>],
        choice: &Choice,
        copier: &mut Copier<'_>,
    ) -> Value {
        let body = &self.func.regions[part.body];
        let inside = |v: &Value| matches!(self.defs.get(*v), Def::Inst(inst, _) if body.insts.contains(&inst));
        let exists = trips(self.func, self.defs, part).is_some_and(|n| n > 0);
        if exists || !at.iter().flatten().any(inside) {
            return self.at_places(out, acc, part, at, choice, copier);
        }
        let ty = self.func.ty(acc).clone();
        let extents = extents_of(&mut self.emit(out), acc);
        let zero = self.emit(out).int(0);
        let least = extents[1..].iter().fold(extents[0], |a, b| self.emit(out).int_op(BinOp::Min, a, *b));
        let cond = self.emit(out).int_op(BinOp::Gt, least, zero);
        let mut insts = Vec::new();
        let yields = vec![self.at_places(&mut insts, acc, part, at, choice, copier)];
        let then = self.func.regions.push(RegionData { params: vec![], insts, yields });
        let els = self.func.regions.push(RegionData { params: vec![], insts: vec![], yields: vec![acc] });
        self.emit(out).emit(Op::If { cond, then, els }, ty)
    }

    fn at_places(
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
        let mut own = HashSet::default();
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
        for v in operands_of(self.func, inst) {
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
