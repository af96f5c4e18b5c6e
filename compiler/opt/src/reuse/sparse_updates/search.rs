//! Which folds can update their accumulators, and where their cells differ from the neutral element.

use super::{Cell, Choice, Found};
use crate::edit::{Def, Defs};
use crate::facts::{Places, covers_frame, region_has_effect, region_has_effect_but_checks, trips};
use crate::pass::Context;
use ravel_types::{BinOp, Elem, Scalar, Ty, eval_bin};
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Part, Region, Value, With, WithOp, cell_type};

/// Elements of an accumulator for each one that a cell changes, at least.
pub(crate) const LEAST_ELEMENTS: u64 = 4;
/// Least elements of an accumulator of a fold in a with-loop's body.
pub(crate) const LEAST_INSIDE: u64 = 16;
/// As `LEAST_ELEMENTS`, where the places are those that an index is compared with.
const LEAST_COMPARED: u64 = 64;
/// Least number of elements that are folds of their own but come from one array, whose updates make one fold of them.
const LEAST_GATHERED: usize = 9;
/// Assumed where only the run knows.
const UNKNOWN_EXTENT: u64 = 1024;

pub(crate) struct Search<'a> {
    pub func: &'a Func,
    pub defs: &'a Defs,
    pub places: &'a Places,
    pub cx: &'a Context,
}

impl Search<'_> {
    pub fn fold(&self, inst: Inst) -> Option<Found> {
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
        // Lanes along an axis around it may hold a few accumulators.
        let small = elements < LEAST_INSIDE && self.places.is_inside_with(func, inst);
        (self.cx.eager || changed * LEAST_ELEMENTS <= elements && !small).then_some(Found {
            neutral,
            op,
            parts: found,
            changed,
        })
    }

    /// For several folds: the array of each partition whose elements their cells are, what they start with, and their operation.
    pub fn gathered(&self, inst: Inst) -> Option<(Vec<Value>, Scalar, BinOp)> {
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
    pub fn unit(&self, op: BinOp, v: Value) -> Option<Scalar> {
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
                        Op::Convert(cond) => return self.converted_truth(choice, *cond),
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
    pub fn fill(&self, v: Value) -> Option<Scalar> {
        let func = self.func;
        match self.defs.op(func, v)? {
            Op::ConstArray(data) => {
                let first = *data.values.first()?;
                data.values.iter().all(|x| same_bits(*x, first)).then_some(first)
            }
            Op::With(With { parts, ops, ordered: false }) => {
                let [WithOp::Genarray { frame: Frame::Known(frame), default, .. }] = &ops[..] else { return None };
                let [part] = &parts[..] else {
                    let is_default = parts.is_empty();
                    let zero = || Scalar::zero(func.ty(v).elem);
                    return is_default.then(|| default.map_or_else(zero, |v| self.defs.constant(func, v)))?;
                };
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
            None if unit.elem().is_float() => op == BinOp::Mul && op.identity(unit.elem()) == Some(unit),
            None => op.identity(unit.elem()) == Some(unit),
        }
    }

    /// Where a cell that `region` makes differs; counts the elements.
    pub fn cell(&self, op: BinOp, region: Region, v: Value, unit: Scalar, changed: &mut u64) -> Option<Cell> {
        let func = self.func;
        if let Some(fill) = self.fill(v) {
            return same_bits(fill, unit).then_some(Cell::Nowhere);
        }
        let Def::Inst(inst, k) = self.defs.get(v) else { return None };
        if self.places.home(inst) != Some(region) {
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
                if self.places.uses(v).len() != 1 || func.insts[inst].results.len() != 1 {
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
                    let [cell] = func.regions[part.body].yields[..] else { return None };
                    // A fold for each element reads and compares in lanes.
                    let (cell, free) = self.compared(part, cell, func.ty(v), unit, LEAST_COMPARED)?;
                    *changed += free;
                    Some(cell)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Elements, not rows, at known axes.
    pub fn is_plain(&self, part: &Part, array: Value) -> bool {
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
            if self.places.home(inst) != Some(region) {
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

    /// `axis == value ? element : unit`, or the comparison as a number, over a whole array of a type, with so many elements for each one that is chosen; how many these are.
    pub fn compared(&self, part: &Part, cell: Value, ty: &Ty, unit: Scalar, least: u64) -> Option<(Cell, u64)> {
        let func = self.func;
        let data = &func.regions[part.body];
        let Def::Inst(inst, k) = self.defs.get(cell) else { return None };
        let (cond, choice, els) = match &func.insts[inst].op {
            Op::Select { cond, then, els } => (*cond, Choice::Value(*then), self.defs.constant(func, *els)?),
            Op::If { cond, then, els } => {
                let els = *func.regions[*els].yields.get(k as usize)?;
                (*cond, Choice::Yield(*then, k as usize), self.defs.constant(func, els)?)
            }
            // One where it holds, and zero elsewhere.
            Op::Convert(cond) => (*cond, Choice::Value(cell), self.converted_truth(inst, *cond)?),
            _ => return None,
        };
        if !same_bits(els, unit) {
            return None;
        }
        let mut at = vec![None; data.params.len()];
        self.equalities(part, cond, &mut at)?;
        let free: u64 = ty
            .shape
            .extents()?
            .iter()
            .zip(&at)
            .filter(|(_, p)| p.is_none())
            .map(|(e, _)| e.as_const().map_or(UNKNOWN_EXTENT, |n| n.max(0) as u64))
            .product();
        let pays = self.cx.eager || elements(ty) >= least * free;
        pays.then(|| (Cell::Compared { part: part.clone(), at, choice }, free))
    }

    /// What a conversion makes of a condition that does not hold.
    fn converted_truth(&self, convert: Inst, cond: Value) -> Option<Scalar> {
        let result = self.func.insts[convert].results[0];
        let zero = Scalar::from_i64(self.func.ty(result).elem, 0)?;
        (self.func.ty(cond).elem == Elem::Bool && self.func.ty(result).is_scalar()).then_some(zero)
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
                if at[axis].is_some() || is_known || !self.is_invariant(part.body, place) {
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
    /// Whether a value does not depend on the index; where there is one it may be computed in front of the with-loop then.
    fn is_invariant(&self, body: Region, v: Value) -> bool {
        let data = &self.func.regions[body];
        match self.defs.get(v) {
            Def::Param(region, _) => region != body,
            Def::Inst(inst, _) if data.insts.contains(&inst) => {
                let op = &self.func.insts[inst].op;
                let mut invariant = op.regions().is_empty();
                op.for_each_operand(|v| invariant = invariant && self.is_invariant(body, v));
                invariant
            }
            _ => true,
        }
    }
}

fn params(func: &Func, part: &Part) -> usize {
    func.regions[part.body].params.len()
}

pub(crate) fn elements(ty: &Ty) -> u64 {
    let extents = ty.shape.extents().unwrap_or_default();
    extents.iter().map(|e| e.as_const().map_or(UNKNOWN_EXTENT, |n| n.max(0) as u64)).product()
}

/// Equal, and of one sign if zero.
pub(crate) fn same_bits(a: Scalar, b: Scalar) -> bool {
    match (a, b) {
        (Scalar::F64(a), Scalar::F64(b)) => a.to_bits() == b.to_bits(),
        (Scalar::F32(a), Scalar::F32(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}
