//! Scalarisation: a with-loop whose cells are arrays becomes one over the concatenated index space.
//!
//! ```text
//!    genarray { [i] -> genarray { [j] -> f(i, j) } }   =>   genarray { [i, j] -> f(i, j) }
//!    genarray { [i] -> a[g(i)] }  with rows for cells   =>   genarray { [i, j] -> a[g(i), j] }
//!    fold add { [i] -> genarray { [j] -> f(i, j) } }    =>   genarray { [j] -> fold add { [i] -> f(i, j) } }
//!    modarray(a) { [i] -> modarray(a[i]) { [j] -> f(i, j) } }   =>   modarray(a) { [i, j] -> f(i, j) }
//! ```
//!
//! Before: simplified. After: cells are scalars wherever the cell is made by a with-loop, a selection, or stands outside.
//! Leaves alone: cells whose extents depend on the index, costly work done once per cell, and cells with effects before them.
//! Worth: tests/survey/with-loops/moments-of-columns (5.2 with Cranelift, 15.5 with LLVM).

use crate::edit::{Copier, Def, insert_before, push_op, push_ops, with_of};
use crate::facts::{cost_of_yield, covers_frame, region_has_effect, rewrite_withs, trips};
use crate::fusion::joiner::{Joiner, MAX_REPEATED, work_between};
use crate::pass::{Context, Pass};
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp, cell_type};

pub const PASS: Pass = Pass::of("scalarize", "merge nested with-loops over cells into one over scalars", scalarize);

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
    /// A with-loop in the body that changes the sub-array of `array` at the index of the partition.
    Changed { inst: Inst, array: Value },
    /// An array whose sub-array the cell is; the index is empty if it is the whole array.
    Of { array: Value, index: Vec<Value> },
}

/// Scalarises inner with-loops first, so that deep nests collapse in one walk.
pub fn scalarize(func: &mut Func, cx: &mut Context) -> bool {
    rewrite_withs(func, |func, defs, _, (region, inst)| {
        let Op::With(with) = &func.insts[inst].op else { return None };
        let cells_are_arrays = with
            .ops
            .iter()
            .enumerate()
            .any(|(k, _)| with.parts.iter().any(|p| func.ty(func.regions[p.body].yields[k]).rank() != Some(0)));
        if !cells_are_arrays || with.parts.is_empty() {
            return None;
        }
        let span = func.insts[inst].span;
        let joiner = Joiner { func, defs, cx, before: Vec::new(), span };
        let mut plan = Planner { joiner, inst };
        let op = plan.with_loop();
        let before = plan.joiner.before;
        let op = op.map_err(|refusal| cx.refused(span, refusal.text())).ok()?;
        insert_before(func, region, inst, before);
        func.insts[inst].op = Op::With(op);
        cx.applied(span, "made to compute scalars");
        Some(())
    })
}

struct Planner<'a> {
    joiner: Joiner<'a>,
    inst: Inst,
}

type Plan<T> = Result<T, Refusal>;

impl Planner<'_> {
    /// The with-loop in its new form.
    fn with_loop(&mut self) -> Plan<With> {
        let Op::With(with) = self.joiner.func.insts[self.inst].op.clone() else { return Err(Refusal::CellOrigin) };
        let [op] = &with.ops[..] else { return Err(Refusal::SeveralOperators) };
        if with.ordered {
            return Err(Refusal::Effects);
        }
        let mut cells = Vec::new();
        for part in &with.parts {
            cells.push(self.cell(part)?);
        }
        let result = self.joiner.func.ty(self.joiner.func.insts[self.inst].results[0]).clone();
        let rank = result.rank().ok_or(Refusal::DependentExtents)?;
        match op {
            WithOp::Genarray { frame: Frame::Known(frame), .. }
                if matches!(cells[..], [Cell::Changed { .. }])
                    && covers_frame(self.joiner.func, self.joiner.defs, &with.parts[0], frame) =>
            {
                let Cell::Changed { array, .. } = cells[0] else { return Err(Refusal::CellOrigin) };
                if self.joiner.func.ty(array) != &result {
                    return Err(Refusal::DependentExtents);
                }
                let parts = self.parts(&with.parts, &cells, &[])?;
                Ok(With { parts, ops: vec![WithOp::Modarray { array }], ordered: false })
            }
            WithOp::Genarray { frame: Frame::Known(frame), cell, default } => {
                if cells.iter().any(|c| matches!(c, Cell::Changed { .. })) {
                    return Err(Refusal::CellOrigin);
                }
                let arity = self.arity(&cells, rank - frame.len())?;
                let extents = self.cell_extents(&with, frame.len(), cell.as_deref(), &cells, &result)?;
                let default = self.default(&with, frame, *default, &cells, &extents, &result)?;
                let parts = self.parts(&with.parts, &cells, &extents[..arity])?;
                let cell = Some(extents[arity..].to_vec());
                let frame: Vec<Value> = frame.iter().chain(&extents[..arity]).copied().collect();
                let op = match default {
                    Uncovered::Base(array) => WithOp::Modarray { array },
                    Uncovered::Scalar(default) => WithOp::Genarray { frame: Frame::Known(frame), cell, default },
                };
                Ok(With { parts, ops: vec![op], ordered: false })
            }
            WithOp::Modarray { array } => {
                let stays = |c: &Cell| matches!(c, Cell::Changed { array: of, .. } if of == array) || self.covers(c);
                if !cells.iter().all(stays) {
                    return Err(Refusal::Defaults);
                }
                let Generator::Known { lower, .. } = &with.parts[0].generator else {
                    return Err(Refusal::DependentExtents);
                };
                let lead = lower.len();
                let arity = self.arity(&cells, rank - lead)?;
                let extents: Vec<Value> = (0..arity).map(|k| self.joiner.extent(*array, lead + k)).collect();
                let parts = self.parts(&with.parts, &cells, &extents)?;
                Ok(With { parts, ops: vec![WithOp::Modarray { array: *array }], ordered: false })
            }
            WithOp::Fold { neutral, combine: Combine::Op(op), .. } => {
                if self.arity(&cells, rank)? != rank || !cells.iter().all(|c| self.covers(c)) {
                    return Err(Refusal::CellOrigin);
                }
                self.interchanged_fold(&with, &cells, *neutral, *op, rank, &result)
            }
            _ => Err(Refusal::CellOrigin),
        }
    }

    /// How the cell of a partition is made.
    fn cell(&self, part: &Part) -> Plan<Cell> {
        let (func, defs) = (&*self.joiner.func, self.joiner.defs);
        let Generator::Known { .. } = part.generator else { return Err(Refusal::DependentExtents) };
        let body = &func.regions[part.body];
        let value = body.yields[0];
        let inst = match defs.get(value) {
            Def::Inst(inst, _) if body.insts.contains(&inst) => inst,
            // Made outside the body.
            _ => return Ok(Cell::Of { array: value, index: Vec::new() }),
        };
        if self.joiner.has_effect_besides(part.body, inst) {
            return Err(Refusal::Effects);
        }
        match &func.insts[inst].op {
            Op::With(inner) => {
                let changed = match &inner.ops[..] {
                    [WithOp::Genarray { frame: Frame::Known(frame), .. }] if !frame.is_empty() => None,
                    [WithOp::Modarray { array: cell }] => {
                        Some(self.changed_array(part, *cell).ok_or(Refusal::CellOrigin)?)
                    }
                    _ => return Err(Refusal::CellOrigin),
                };
                if inner.ordered || inner.parts.is_empty() {
                    return Err(Refusal::CellOrigin);
                }
                let work = work_between(func, defs, part.body, inst, inner);
                let times = inner.parts.iter().map(|p| trips(func, defs, p)).try_fold(0, |n, t| Some(n + t?));
                if work > MAX_REPEATED && times != Some(1) {
                    return Err(Refusal::WorkPerCell(work));
                }
                if let Some(array) = changed {
                    return Ok(Cell::Changed { inst, array });
                }
                Ok(Cell::With(inst))
            }
            Op::Sel { array, index } => {
                let work: f64 = index.iter().map(|i| cost_of_yield(func, defs, part.body, *i).arithmetic).sum();
                let work = work + self.work_for(part.body, *array);
                if work > MAX_REPEATED {
                    return Err(Refusal::WorkPerCell(work));
                }
                Ok(Cell::Of { array: *array, index: index.clone() })
            }
            Op::ConstArray(_) => Ok(Cell::Of { array: value, index: Vec::new() }),
            _ => Err(Refusal::CellOrigin),
        }
    }

    /// Arithmetic of an array in a body that is made as a whole: each of its elements would take all of it. What with-loops compute is folded.
    fn work_for(&self, body: Region, array: Value) -> f64 {
        let (func, defs) = (&*self.joiner.func, self.joiner.defs);
        match defs.op(func, array) {
            Some(Op::With(_)) | None => 0.0,
            Some(_) => cost_of_yield(func, defs, body, array).arithmetic,
        }
    }

    /// The array whose sub-array at the index of the partition this cell is, if it is made outside.
    fn changed_array(&self, part: &Part, cell: Value) -> Option<Value> {
        let (func, defs) = (&*self.joiner.func, self.joiner.defs);
        let body = &func.regions[part.body];
        let Op::Sel { array, index } = defs.op(func, cell)? else { return None };
        let is_outside = !matches!(defs.get(*array), Def::Inst(inst, _) if body.insts.contains(&inst));
        (is_outside && *index == body.params).then_some(*array)
    }

    /// The number of axes that move from the cells to the frame.
    fn arity(&self, cells: &[Cell], rank: usize) -> Plan<usize> {
        let mut arity = None;
        for cell in cells {
            let n = match cell {
                Cell::With(inst) => self.inner(*inst).0.len(),
                Cell::Changed { inst, .. } => match self.changes(*inst).first().map(|part| &part.generator) {
                    Some(Generator::Known { lower, .. }) => lower.len(),
                    _ => return Err(Refusal::DependentExtents),
                },
                Cell::Of { .. } => continue,
            };
            if arity.is_some_and(|a| a != n) {
                return Err(Refusal::CellOrigin);
            }
            arity = Some(n);
        }
        let arity = arity.unwrap_or(rank);
        if arity == 0 || arity > rank { Err(Refusal::CellOrigin) } else { Ok(arity) }
    }

    /// Frame, partitions and default of an inner with-loop.
    fn inner(&self, inst: Inst) -> (Vec<Value>, Vec<Part>, Option<Value>) {
        let With { parts, ops, .. } = with_of(self.joiner.func, inst).expect("cell() found a with-loop");
        match &ops[..] {
            [WithOp::Genarray { frame: Frame::Known(frame), default, .. }] => (frame.clone(), parts.clone(), *default),
            _ => unreachable!("cell() accepts only genarray"),
        }
    }

    /// Partitions of an inner with-loop that changes its cell.
    fn changes(&self, inst: Inst) -> Vec<Part> {
        with_of(self.joiner.func, inst).expect("cell() found a with-loop").parts.clone()
    }

    fn covers(&self, cell: &Cell) -> bool {
        match cell {
            Cell::Of { .. } => true,
            Cell::Changed { .. } => false,
            Cell::With(inst) => {
                let (frame, parts, _) = self.inner(*inst);
                matches!(&parts[..], [part] if covers_frame(self.joiner.func, self.joiner.defs, part, &frame))
            }
        }
    }

    fn cell_extents(
        &mut self,
        with: &With,
        lead: usize,
        cell: Option<&[Value]>,
        cells: &[Cell],
        result: &Ty,
    ) -> Plan<Vec<Value>> {
        if let Some(cell) = cell {
            return Ok(cell.to_vec());
        }
        let forms = result.shape.extents().ok_or(Refusal::DependentExtents)?;
        let rank = forms.len() - lead;
        if let Some(extents) = forms[lead..].iter().map(|e| e.as_const()).collect::<Option<Vec<i32>>>() {
            return Ok(extents.into_iter().map(|n| self.joiner.int(n)).collect());
        }
        let body = with.parts[0].body;
        match &cells[0] {
            Cell::With(inst) => {
                let (frame, ..) = self.inner(*inst);
                let frame: Option<Vec<Value>> = frame.into_iter().map(|v| self.joiner.outside(body, v)).collect();
                frame.filter(|f| f.len() == rank).ok_or(Refusal::DependentExtents)
            }
            Cell::Changed { .. } => Err(Refusal::CellOrigin),
            Cell::Of { array, index } => {
                let array = self.joiner.outside(body, *array).ok_or(Refusal::DependentExtents)?;
                Ok((0..rank).map(|k| self.joiner.extent(array, index.len() + k)).collect())
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
    ) -> Plan<Uncovered> {
        let (func, defs) = (&*self.joiner.func, self.joiner.defs);
        let outer_covers = matches!(&with.parts[..], [part] if covers_frame(func, defs, part, frame));
        if cells.iter().all(|c| self.covers(c)) {
            return Ok(match default {
                Some(default) if !outer_covers => {
                    let op = WithOp::Genarray {
                        frame: Frame::Known(frame.to_vec()),
                        cell: Some(extents.to_vec()),
                        default: Some(default),
                    };
                    let base = Op::With(With { parts: Vec::new(), ops: vec![op], ordered: false });
                    Uncovered::Base(self.joiner.emit(base, result.clone()))
                }
                _ => Uncovered::Scalar(None),
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
                let inner = self.joiner.outside(body, inner).ok_or(Refusal::Defaults)?;
                Ok(Uncovered::Scalar(Some(inner)))
            }
            _ if inner_defaults.iter().all(|(d, _)| d.is_none()) => Ok(Uncovered::Scalar(None)),
            _ => Err(Refusal::Defaults),
        }
    }

    /// The new partitions: one per partition of each cell's with-loop.
    fn parts(&mut self, parts: &[Part], cells: &[Cell], extents: &[Value]) -> Plan<Vec<Part>> {
        let mut new = Vec::new();
        for (part, cell) in parts.iter().zip(cells) {
            match cell {
                Cell::With(inst) | Cell::Changed { inst, .. } => {
                    for inner in self.changes(*inst) {
                        new.push(self.joiner.join(part, *inst, &inner).ok_or(Refusal::DependentExtents)?);
                    }
                }
                Cell::Of { array, index: first } => {
                    let zeros = extents.iter().map(|_| self.joiner.int(0)).collect();
                    let bounds = [Some(zeros), Some(extents.to_vec()), None, None];
                    let generator =
                        self.joiner.concatenated(&part.generator, &bounds).ok_or(Refusal::DependentExtents)?;
                    let body = self.joiner.body(part, extents.len(), |joiner, copier, index, insts| {
                        selected(joiner, copier, part, *array, first, index, insts)
                    });
                    new.push(Part { generator, body });
                }
            }
        }
        Ok(new)
    }

    /// `genarray` over the cell's indices of a fold of scalars.
    fn interchanged_fold(
        &mut self,
        with: &With,
        cells: &[Cell],
        neutral: Value,
        op: BinOp,
        rank: usize,
        result: &Ty,
    ) -> Plan<With> {
        if with.parts.iter().any(|p| region_has_effect(self.joiner.func, p.body, self.joiner.cx)) {
            return Err(Refusal::Effects);
        }
        let extents: Vec<Value> = (0..rank).map(|k| self.joiner.extent(neutral, k)).collect();
        let zeros: Vec<Value> = (0..rank).map(|_| self.joiner.int(0)).collect();
        let index: Vec<Value> = (0..rank).map(|_| self.joiner.func.new_value(Ty::scalar(Elem::I32))).collect();
        let mut parts = Vec::new();
        for (part, cell) in with.parts.iter().zip(cells) {
            let mut copier = Copier::within(self.joiner.func, part.body);
            let params = copier.params(self.joiner.func, part.body);
            let mut insts = Vec::new();
            let element = match cell {
                Cell::With(inst) => {
                    let inner = self.inner(*inst).1.remove(0).body;
                    self.joiner.copy_all_but(&mut copier, part.body, Some(*inst), &mut insts);
                    let inner_params = self.joiner.func.regions[inner].params.clone();
                    copier.values.extend(inner_params.into_iter().zip(index.iter().copied()));
                    copier.splice(self.joiner.func, inner, &mut insts)[0]
                }
                Cell::Changed { .. } => return Err(Refusal::CellOrigin),
                Cell::Of { array, index: first } => {
                    selected(&mut self.joiner, &mut copier, part, *array, first, &index, &mut insts)
                }
            };
            let body = self.joiner.func.regions.push(RegionData { params, insts, yields: vec![element] });
            parts.push(Part { generator: part.generator.clone(), body });
        }
        let (func, span, scalar) = (&mut *self.joiner.func, self.joiner.span, Ty::scalar(result.elem));
        let mut insts = Vec::new();
        let start = Op::Sel { array: neutral, index: index.clone() };
        let neutral = push_op(func, &mut insts, start, scalar.clone(), span);
        let fold = WithOp::Fold { neutral, combine: Combine::Op(op), stop: None };
        let fold = Op::With(With { parts, ops: vec![fold], ordered: false });
        let yields = push_ops(func, &mut insts, fold, vec![scalar], span);
        let body = func.regions.push(RegionData { params: index, insts, yields });
        let generator = Generator::Known { lower: zeros, upper: extents.clone(), step: None, width: None };
        let op = WithOp::Genarray { frame: Frame::Known(extents), cell: Some(Vec::new()), default: None };
        Ok(With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false })
    }
}

/// Copies what a body does and selects the element at `index` of the cell `array[first]`.
fn selected(
    joiner: &mut Joiner<'_>,
    copier: &mut Copier,
    part: &Part,
    array: Value,
    first: &[Value],
    index: &[Value],
    insts: &mut Vec<Inst>,
) -> Value {
    joiner.copy_all_but(copier, part.body, None, insts);
    let func = &mut *joiner.func;
    let ty = cell_type(func.ty(func.regions[part.body].yields[0]), index.len());
    let array = copier.value(array);
    let index = first.iter().map(|v| copier.value(*v)).chain(index.iter().copied()).collect();
    push_op(func, insts, Op::Sel { array, index }, ty, joiner.span)
}

/// What positions without a partition hold.
enum Uncovered {
    /// This scalar, or zero.
    Scalar(Option<Value>),
    /// What this array has there.
    Base(Value),
}
