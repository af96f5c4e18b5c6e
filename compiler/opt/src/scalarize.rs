//! Scalarisation: a with-loop whose cells are arrays becomes one over the concatenated index space.
//!
//! ```text
//!    genarray { [i] -> genarray { [j] -> f(i, j) } }   =>   genarray { [i, j] -> f(i, j) }
//!    genarray { [i] -> a[g(i)] }  with rows for cells   =>   genarray { [i, j] -> a[g(i), j] }
//!    fold add { [i] -> genarray { [j] -> f(i, j) } }    =>   genarray { [j] -> fold add { [i] -> f(i, j) } }
//! ```
//!
//! Before: simplified. After: cells are scalars wherever the cell is made by a with-loop, a selection, or stands outside.
//! Leaves alone: cells whose extents depend on the index, costly work done once per cell, and cells with effects before them.

use crate::cost::{cost_of_inst, cost_of_yield};
use crate::edit::{Copier, Def, Defs, is_speculatable, region_has_effect};
use crate::pass::{Context, Pass, Run};
use crate::places::{Places, covers_frame, trips};
use ravel_source::Span;
use ravel_types::{Elem, Scalar, Ty};
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp, cell_type};

pub const PASS: Pass = Pass {
    name: "scalarize",
    summary: "merge nested with-loops over cells into one over scalars",
    run: Run::Func(scalarize),
};

/// Arithmetic that may be done per element instead of once per cell.
const MAX_REPEATED: f64 = 4.0;

#[derive(Debug, PartialEq)]
enum Refusal {
    SeveralOperators,
    DependentExtents,
    WorkPerCell(f64),
    CellOrigin,
    Defaults,
    Effects,
}

impl Refusal {
    fn text(&self) -> String {
        match self {
            Refusal::SeveralOperators => "it has several operators".into(),
            Refusal::DependentExtents => "the extents of its cells depend on the index".into(),
            Refusal::WorkPerCell(cost) => format!("work of {cost:.0} operations is done once per cell"),
            Refusal::CellOrigin => "its cells come from neither a with-loop nor a selection".into(),
            Refusal::Defaults => "uncovered positions of cell and frame have different defaults".into(),
            Refusal::Effects => "checks or effects stand before its cells".into(),
        }
    }
}

/// How a cell is made, and by what its elements are.
enum Cell {
    /// A with-loop in the body.
    With(Inst),
    /// An array whose sub-array the cell is; the index is empty if it is the whole array.
    Of { array: Value, index: Vec<Value> },
}

/// Scalarises inner with-loops first, so that deep nests collapse in one walk.
pub fn scalarize(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    for inst in Places::new(func).withs {
        let Op::With(with) = &func.insts[inst].op else { continue };
        let cells_are_arrays = with.ops.iter().enumerate().any(|(k, _)| {
            with.parts.iter().any(|p| func.ty(func.regions[p.body].yields[k]).rank() != Some(0))
        });
        if !cells_are_arrays || with.parts.is_empty() {
            continue;
        }
        let span = func.insts[inst].span;
        // The maps change with every rewriting; with-loops over cells are few.
        let (defs, places) = (Defs::new(func), Places::new(func));
        let Some(region) = places.region_of[inst].expand() else { continue };
        let mut plan = Planner { func, defs: &defs, cx, inst, before: Vec::new(), span };
        match plan.with_loop() {
            Ok(op) => {
                let before = std::mem::take(&mut plan.before);
                let insts = &mut func.regions[region].insts;
                if let Some(at) = insts.iter().position(|i| *i == inst) {
                    insts.splice(at..at, before);
                }
                func.insts[inst].op = Op::With(op);
                cx.applied(span, "made to compute scalars");
                changed = true;
            }
            Err(refusal) => cx.refused(span, refusal.text()),
        }
    }
    changed
}

struct Planner<'a> {
    func: &'a mut Func,
    defs: &'a Defs,
    cx: &'a Context,
    inst: Inst,
    /// Instructions to stand before the with-loop.
    before: Vec<Inst>,
    span: Span,
}

type Plan<T> = Result<T, Refusal>;

impl Planner<'_> {
    /// The with-loop in its new form. Nothing that exists is changed, only copies are made.
    fn with_loop(&mut self) -> Plan<With> {
        let Op::With(with) = self.func.insts[self.inst].op.clone() else { return Err(Refusal::CellOrigin) };
        let [op] = &with.ops[..] else { return Err(Refusal::SeveralOperators) };
        if with.ordered {
            return Err(Refusal::Effects);
        }
        let mut cells = Vec::new();
        for part in &with.parts {
            cells.push(self.cell(part)?);
        }
        let result = self.func.ty(self.func.insts[self.inst].results[0]).clone();
        match op {
            WithOp::Genarray { frame: Frame::Known(frame), cell, default } => {
                let rank = result.rank().ok_or(Refusal::DependentExtents)? - frame.len();
                let arity = self.arity(&cells, rank)?;
                let extents = self.cell_extents(&with, frame.len(), cell.as_deref(), &cells, &result)?;
                let default = self.default(&with, frame, *default, &cells, &extents, &result)?;
                let parts = self.parts(&with.parts, &cells, &extents[..arity])?;
                let cell = Some(extents[arity..].to_vec());
                let frame: Vec<Value> = frame.iter().chain(&extents[..arity]).copied().collect();
                let op = match default {
                    Default::Base(array) => WithOp::Modarray { array },
                    Default::Scalar(default) => WithOp::Genarray { frame: Frame::Known(frame), cell, default },
                };
                Ok(With { parts, ops: vec![op], ordered: false })
            }
            WithOp::Modarray { array } => {
                if !cells.iter().all(|c| self.covers(c)) {
                    return Err(Refusal::Defaults);
                }
                let Generator::Known { lower, .. } = &with.parts[0].generator else { return Err(Refusal::DependentExtents) };
                let lead = lower.len();
                let rank = result.rank().ok_or(Refusal::DependentExtents)? - lead;
                let arity = self.arity(&cells, rank)?;
                let extents: Vec<Value> = (0..arity).map(|k| self.extent(*array, lead + k)).collect();
                let parts = self.parts(&with.parts, &cells, &extents)?;
                Ok(With { parts, ops: vec![WithOp::Modarray { array: *array }], ordered: false })
            }
            WithOp::Fold { neutral, combine: Combine::Op(op), .. } => {
                let rank = result.rank().ok_or(Refusal::DependentExtents)?;
                if self.arity(&cells, rank)? != rank || !cells.iter().all(|c| self.covers(c)) {
                    return Err(Refusal::CellOrigin);
                }
                self.interchanged_fold(&with, &cells, *neutral, *op, rank, &result)
            }
            _ => Err(Refusal::CellOrigin),
        }
    }

    fn emit(&mut self, op: Op, ty: Ty) -> Value {
        let inst = self.func.make_inst(op, vec![ty], self.span);
        self.before.push(inst);
        self.func.insts[inst].results[0]
    }

    fn int(&mut self, v: i32) -> Value {
        self.emit(Op::Const(Scalar::I32(v)), Ty::scalar(Elem::I32))
    }

    fn extent(&mut self, array: Value, axis: usize) -> Value {
        self.emit(Op::Extent { array, axis: axis as u32 }, Ty::scalar(Elem::I32))
    }

    /// How the cell of a partition is made.
    fn cell(&self, part: &Part) -> Plan<Cell> {
        let Generator::Known { .. } = part.generator else { return Err(Refusal::DependentExtents) };
        let body = &self.func.regions[part.body];
        let value = body.yields[0];
        let inst = match self.defs.get(value) {
            Def::Inst(inst, _) if body.insts.contains(&inst) => inst,
            // Made outside the body.
            _ => return Ok(Cell::Of { array: value, index: Vec::new() }),
        };
        let before = body.insts.iter().take_while(|i| **i != inst);
        let has_effect = |i: &Inst| ravel_wir::traverse::has_effect(&|f| self.cx.has_effects(f), self.func, *i);
        if body.insts.iter().any(|i| *i != inst && has_effect(i)) {
            return Err(Refusal::Effects);
        }
        match &self.func.insts[inst].op {
            Op::With(inner) => {
                let [WithOp::Genarray { frame: Frame::Known(frame), .. }] = &inner.ops[..] else { return Err(Refusal::CellOrigin) };
                if inner.ordered || frame.is_empty() || inner.parts.is_empty() {
                    return Err(Refusal::CellOrigin);
                }
                // What the inner bodies need of this one would be done for every element.
                let mut cost = 0.0;
                for i in before {
                    let is_needed = self.is_needed_inside(part.body, *i, inner);
                    if is_needed {
                        cost += cost_of_inst(self.func, self.defs, *i).arithmetic;
                    }
                }
                let times = inner.parts.iter().map(|p| trips(self.func, self.defs, p)).try_fold(0, |n, t| Some(n + t?));
                if cost > MAX_REPEATED && times != Some(1) {
                    return Err(Refusal::WorkPerCell(cost));
                }
                Ok(Cell::With(inst))
            }
            Op::Sel { index, .. } if index.iter().map(|i| cost_of_yield(self.func, self.defs, part.body, *i).arithmetic).sum::<f64>() > MAX_REPEATED => {
                Err(Refusal::WorkPerCell(cost_of_yield(self.func, self.defs, part.body, value).arithmetic))
            }
            Op::Sel { array, index } => Ok(Cell::Of { array: *array, index: index.clone() }),
            Op::ConstArray(_) => Ok(Cell::Of { array: value, index: Vec::new() }),
            _ => Err(Refusal::CellOrigin),
        }
    }

    /// Whether something in the bodies of `inner` depends on `inst`, directly or through the instructions between.
    fn is_needed_inside(&self, body: Region, inst: Inst, inner: &With) -> bool {
        let mut needed: Vec<Value> =
            inner.parts.iter().flat_map(|p| ravel_wir::traverse::free_values(self.func, p.body)).collect();
        let own = &self.func.regions[body].insts;
        let mut seen = std::collections::HashSet::new();
        while let Some(v) = needed.pop() {
            let Def::Inst(def, _) = self.defs.get(v) else { continue };
            if !own.contains(&def) || !seen.insert(def) {
                continue;
            }
            if def == inst {
                return true;
            }
            self.func.insts[def].op.for_each_operand(|v| needed.push(v));
            for region in self.func.insts[def].op.regions() {
                needed.extend(ravel_wir::traverse::free_values(self.func, region));
            }
        }
        false
    }

    /// The number of axes that move from the cells to the frame.
    fn arity(&self, cells: &[Cell], rank: usize) -> Plan<usize> {
        let mut arity = None;
        for cell in cells {
            if let Cell::With(inst) = cell {
                let n = self.inner(*inst).0.len();
                if arity.is_some_and(|a| a != n) {
                    return Err(Refusal::CellOrigin);
                }
                arity = Some(n);
            }
        }
        let arity = arity.unwrap_or(rank);
        if arity == 0 || arity > rank { Err(Refusal::CellOrigin) } else { Ok(arity) }
    }

    /// Frame, partitions and default of an inner with-loop.
    fn inner(&self, inst: Inst) -> (Vec<Value>, Vec<Part>, Option<Value>) {
        match &self.func.insts[inst].op {
            Op::With(With { ops, parts, .. }) => match &ops[..] {
                [WithOp::Genarray { frame: Frame::Known(frame), default, .. }] => (frame.clone(), parts.clone(), *default),
                _ => unreachable!("cell() accepts only genarray"),
            },
            _ => unreachable!("cell() found a with-loop"),
        }
    }

    fn covers(&self, cell: &Cell) -> bool {
        match cell {
            Cell::Of { .. } => true,
            Cell::With(inst) => {
                let (frame, parts, _) = self.inner(*inst);
                matches!(&parts[..], [part] if covers_frame(self.func, self.defs, part, &frame))
            }
        }
    }

    /// A value of the body as a value that is visible before the with-loop: constants, extents and arithmetic on them are copied.
    fn outside(&mut self, bodies: &[Region], value: Value, depth: usize) -> Plan<Value> {
        let inst = match self.defs.get(value) {
            Def::Param(region, _) if bodies.contains(&region) => return Err(Refusal::DependentExtents),
            Def::Inst(inst, _) if bodies.iter().any(|b| self.func.regions[*b].insts.contains(&inst)) => inst,
            _ => return Ok(value),
        };
        let is_simple = self.func.insts[inst].op.regions().is_empty() && is_speculatable(self.func, inst, self.cx);
        if depth == 0 || !is_simple {
            return Err(Refusal::DependentExtents);
        }
        let mut op = self.func.insts[inst].op.clone();
        let mut failed = None;
        op.for_each_operand_mut(|v| match self.outside(bodies, *v, depth - 1) {
            Ok(new) => *v = new,
            Err(refusal) => failed = Some(refusal),
        });
        match failed {
            Some(refusal) => Err(refusal),
            None => Ok(self.emit(op, self.func.ty(value).clone())),
        }
    }

    fn cell_extents(&mut self, with: &With, lead: usize, cell: Option<&[Value]>, cells: &[Cell], result: &Ty) -> Plan<Vec<Value>> {
        if let Some(cell) = cell {
            return Ok(cell.to_vec());
        }
        let forms = result.shape.extents().ok_or(Refusal::DependentExtents)?;
        if let Some(extents) = forms[lead..].iter().map(|e| e.as_const()).collect::<Option<Vec<i32>>>() {
            return Ok(extents.into_iter().map(|n| self.int(n)).collect());
        }
        match &cells[0] {
            Cell::With(inst) => {
                let (frame, ..) = self.inner(*inst);
                if frame.len() != forms.len() - lead {
                    return Err(Refusal::DependentExtents);
                }
                frame.into_iter().map(|v| self.outside(&[with.parts[0].body], v, 4)).collect()
            }
            Cell::Of { array, index } => {
                let array = self.outside(&[with.parts[0].body], *array, 4)?;
                Ok((0..forms.len() - lead).map(|k| self.extent(array, index.len() + k)).collect())
            }
        }
    }

    /// What uncovered positions hold in the new with-loop.
    fn default(
        &mut self,
        with: &With,
        frame: &[Value],
        default: Option<Value>,
        cells: &[Cell],
        extents: &[Value],
        result: &Ty,
    ) -> Plan<Default> {
        let outer_covers = matches!(&with.parts[..], [part] if covers_frame(self.func, self.defs, part, frame));
        if cells.iter().all(|c| self.covers(c)) {
            return Ok(match default {
                Some(default) if !outer_covers => {
                    let op = WithOp::Genarray {
                        frame: Frame::Known(frame.to_vec()),
                        cell: Some(extents.to_vec()),
                        default: Some(default),
                    };
                    let base = Op::With(With { parts: Vec::new(), ops: vec![op], ordered: false });
                    Default::Base(self.emit(base, result.clone()))
                }
                _ => Default::Scalar(None),
            });
        }
        if !outer_covers && default.is_some() {
            return Err(Refusal::Defaults);
        }
        let mut inner_defaults = Vec::new();
        for (cell, part) in cells.iter().zip(&with.parts) {
            if let Cell::With(inst) = cell {
                inner_defaults.push((self.inner(*inst).2, part.body));
            }
        }
        match inner_defaults[..] {
            [(Some(inner), body)] if outer_covers => {
                let inner = self.outside(&[body], inner, 4).map_err(|_| Refusal::Defaults)?;
                Ok(Default::Scalar(Some(inner)))
            }
            _ if inner_defaults.iter().all(|(d, _)| d.is_none()) => Ok(Default::Scalar(None)),
            _ => Err(Refusal::Defaults),
        }
    }

    /// The new partitions: one per partition of each cell's with-loop.
    fn parts(&mut self, parts: &[Part], cells: &[Cell], extents: &[Value]) -> Plan<Vec<Part>> {
        let mut new = Vec::new();
        for (part, cell) in parts.iter().zip(cells) {
            match cell {
                Cell::With(inst) => {
                    for inner in self.inner(*inst).1 {
                        let Generator::Known { lower, upper, step, width } = &inner.generator else {
                            return Err(Refusal::DependentExtents);
                        };
                        let mut bounds = Vec::new();
                        for list in [Some(lower), Some(upper), step.as_ref(), width.as_ref()] {
                            let list = list.map(|l| l.iter().map(|v| self.outside(&[part.body], *v, 4)).collect::<Plan<Vec<_>>>());
                            bounds.push(list.transpose()?);
                        }
                        let generator = self.concatenated(&part.generator, bounds)?;
                        let body = self.body(part, cell, Some((*inst, &inner)), extents.len());
                        new.push(Part { generator, body });
                    }
                }
                Cell::Of { .. } => {
                    let zeros = extents.iter().map(|_| self.int(0)).collect();
                    let generator = self.concatenated(&part.generator, vec![Some(zeros), Some(extents.to_vec()), None, None])?;
                    let body = self.body(part, cell, None, extents.len());
                    new.push(Part { generator, body });
                }
            }
        }
        Ok(new)
    }

    /// Outer bounds followed by inner ones (lower, upper, step, width).
    fn concatenated(&mut self, outer: &Generator, inner: Vec<Option<Vec<Value>>>) -> Plan<Generator> {
        let Generator::Known { lower, upper, step, width } = outer else { return Err(Refusal::DependentExtents) };
        let [Some(inner_lower), Some(inner_upper), inner_step, inner_width] = &inner[..] else {
            return Err(Refusal::DependentExtents);
        };
        let join = |a: &[Value], b: &[Value]| a.iter().chain(b).copied().collect::<Vec<_>>();
        let (mut joined_step, mut joined_width) = (None, None);
        if step.is_some() || inner_step.is_some() {
            let mut ones = |n: usize| (0..n).map(|_| self.int(1)).collect::<Vec<_>>();
            let outer_step = step.clone().unwrap_or_else(|| ones(lower.len()));
            let outer_width = width.clone().unwrap_or_else(|| ones(lower.len()));
            let inner_step = inner_step.clone().unwrap_or_else(|| ones(inner_lower.len()));
            let inner_width = inner_width.clone().unwrap_or_else(|| ones(inner_lower.len()));
            joined_step = Some(join(&outer_step, &inner_step));
            joined_width = Some(join(&outer_width, &inner_width));
        }
        Ok(Generator::Known {
            lower: join(lower, inner_lower),
            upper: join(upper, inner_upper),
            step: joined_step,
            width: joined_width,
        })
    }

    /// A body with `arity` further indices, which yields one element of the cell.
    fn body(&mut self, part: &Part, cell: &Cell, inner: Option<(Inst, &Part)>, arity: usize) -> Region {
        let func = &mut *self.func;
        let mut copier = Copier::within(func, part.body);
        let mut params = Vec::new();
        for old in func.regions[part.body].params.clone() {
            let new = func.new_value(Ty::scalar(Elem::I32));
            copier.values.insert(old, new);
            params.push(new);
        }
        let added: Vec<Value> = (0..arity).map(|_| func.new_value(Ty::scalar(Elem::I32))).collect();
        params.extend(&added);
        let mut insts = Vec::new();
        let yields = self.element(&mut copier, part, cell, inner, &added, &mut insts);
        self.func.regions.push(RegionData { params, insts, yields: vec![yields] })
    }

    /// Copies what the body does up to its cell, and then the computation of the cell's element at `index`.
    fn element(
        &mut self,
        copier: &mut Copier,
        part: &Part,
        cell: &Cell,
        inner: Option<(Inst, &Part)>,
        index: &[Value],
        insts: &mut Vec<Inst>,
    ) -> Value {
        let func = &mut *self.func;
        for old in func.regions[part.body].insts.clone() {
            if inner.is_none_or(|(with, _)| with != old) {
                insts.push(copier.inst(func, old));
            }
        }
        match (cell, inner) {
            (_, Some((_, inner))) => {
                let params = func.regions[inner.body].params.clone();
                copier.values.extend(params.into_iter().zip(index.iter().copied()));
                copier.splice(func, inner.body, insts)[0]
            }
            (Cell::Of { array, index: first }, None) => {
                let ty = cell_type(func.ty(func.regions[part.body].yields[0]), index.len());
                let array = copier.value(*array);
                let index = first.iter().map(|v| copier.value(*v)).chain(index.iter().copied()).collect();
                let inst = func.make_inst(Op::Sel { array, index }, vec![ty], self.span);
                insts.push(inst);
                func.insts[inst].results[0]
            }
            (Cell::With(_), None) => unreachable!("cells made by with-loops come with a partition"),
        }
    }

    /// `genarray` over the cell's indices of a fold of scalars.
    fn interchanged_fold(
        &mut self,
        with: &With,
        cells: &[Cell],
        neutral: Value,
        op: ravel_types::BinOp,
        rank: usize,
        result: &Ty,
    ) -> Plan<With> {
        if with.parts.iter().any(|p| region_has_effect(self.func, p.body, self.cx)) {
            return Err(Refusal::Effects);
        }
        let extents: Vec<Value> = (0..rank).map(|k| self.extent(neutral, k)).collect();
        let zeros: Vec<Value> = (0..rank).map(|_| self.int(0)).collect();
        let scalar = Ty::scalar(result.elem);
        let index: Vec<Value> = (0..rank).map(|_| self.func.new_value(Ty::scalar(Elem::I32))).collect();
        let mut parts = Vec::new();
        for (part, cell) in with.parts.iter().zip(cells) {
            let mut copier = Copier::within(self.func, part.body);
            let mut params = Vec::new();
            for old in self.func.regions[part.body].params.clone() {
                let new = self.func.new_value(Ty::scalar(Elem::I32));
                copier.values.insert(old, new);
                params.push(new);
            }
            let mut insts = Vec::new();
            let inner = match cell {
                Cell::With(inst) => Some((*inst, self.inner(*inst).1.remove(0))),
                Cell::Of { .. } => None,
            };
            let inner = inner.as_ref().map(|(inst, part)| (*inst, part));
            let element = self.element(&mut copier, part, cell, inner, &index, &mut insts);
            let body = self.func.regions.push(RegionData { params, insts, yields: vec![element] });
            parts.push(Part { generator: part.generator.clone(), body });
        }
        let func = &mut *self.func;
        let start = func.make_inst(Op::Sel { array: neutral, index: index.clone() }, vec![scalar.clone()], self.span);
        let start_value = func.insts[start].results[0];
        let fold = WithOp::Fold { neutral: start_value, combine: Combine::Op(op), stop: None };
        let fold = func.make_inst(Op::With(With { parts, ops: vec![fold], ordered: false }), vec![scalar], self.span);
        let yields = vec![func.insts[fold].results[0]];
        let body = func.regions.push(RegionData { params: index, insts: vec![start, fold], yields });
        let generator = Generator::Known { lower: zeros, upper: extents.clone(), step: None, width: None };
        let op = WithOp::Genarray { frame: Frame::Known(extents), cell: Some(Vec::new()), default: None };
        Ok(With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false })
    }
}

/// Of a new `genarray`.
enum Default {
    Scalar(Option<Value>),
    /// Uncovered positions keep what this array has there.
    Base(Value),
}
