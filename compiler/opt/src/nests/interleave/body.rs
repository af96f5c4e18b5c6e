//! The body of an outer with-loop, rewritten to serve some consecutive indices at once.

use super::lane::{Block, Form, Lane, Res, lane_axis};
use crate::edit::{Def, push_ops, slice};
use crate::facts::Use;
use ravel_types::{BinOp, Elem, Scalar, Ty, UnOp};
use ravel_wir::{Combine, Frame, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

/// A scalar that costs more operations than this is computed once per lane and stored.
const MAX_AGAIN: u32 = 4;

/// Longest arrays made of single elements.
const MAX_CELLS: usize = 16;

/// What becomes of a cell of the outer with-loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The lanes' cells are combined; the number is the position of the operator.
    Fold(BinOp),
    /// They stay side by side.
    Stack,
}

/// Lower and upper bound of an axis, where they are constants.
type Bounds = (Option<i32>, Option<i32>);

impl Block<'_> {
    /// Rewrites the body and gives the cells of the block, one per operator.
    pub fn body(&mut self, body: Region, goals: &[Goal]) -> Res<Vec<Value>> {
        let insts = self.func.regions[body].insts.clone();
        let yields = self.func.regions[body].yields.clone();
        let mut cells: Vec<Option<Value>> = vec![None; yields.len()];
        for inst in insts {
            self.at = inst;
            if let Some(ops) = self.only_yielded(body, inst, &yields)
                && let Some(made) = self.direct_cells(inst, &ops, goals)?
            {
                for (op, cell) in ops.into_iter().zip(made) {
                    cells[op] = Some(cell);
                }
                continue;
            }
            self.instruction(inst)?;
        }
        let mut done = Vec::new();
        for ((cell, y), goal) in cells.into_iter().zip(yields).zip(goals) {
            done.push(match cell {
                Some(cell) => cell,
                None => self.cell(y, *goal)?,
            });
        }
        Ok(done)
    }

    /// The operators that an instruction's results are the cells of, if they serve nothing else.
    fn only_yielded(&self, body: Region, inst: Inst, yields: &[Value]) -> Option<Vec<usize>> {
        if !self.varies(inst) {
            return None;
        }
        let results = &self.func.insts[inst].results;
        let op_of = |v: &Value| match self.places.uses(*v) {
            [Use::Yield(region)] if *region == body => yields.iter().position(|y| y == v),
            _ => None,
        };
        let ops: Option<Vec<usize>> = results.iter().map(op_of).collect();
        ops.filter(|ops| !ops.is_empty())
    }

    /// Rewrites one instruction.
    fn instruction(&mut self, inst: Inst) -> Res<()> {
        let data = self.func.insts[inst].clone();
        if !self.varies(inst) {
            let mut none = Lane::new(self.first);
            let mut copied = self.copy(&mut none, inst)?;
            self.out.append(&mut copied);
            for v in data.results {
                self.forms.insert(v, Form::Uniform(none.map[&v]));
            }
            return Ok(());
        }
        if let Op::With(with) = &data.op
            && with.ops.iter().any(|op| !matches!(op, WithOp::Fold { .. }))
        {
            let arrays = self.interleaved_with(with, &data.results)?;
            self.forms.extend(data.results.into_iter().zip(arrays).map(|(v, a)| (v, Form::Lanes(a))));
            return Ok(());
        }
        match &data.op {
            Op::Check { .. } => {
                for l in 0..self.lanes {
                    let mut list = Vec::new();
                    let l = self.int(&mut list, l);
                    let mut lane = Lane::new(l);
                    let mut check = self.copy(&mut lane, inst)?;
                    self.out.append(&mut list);
                    self.out.append(&mut lane.head);
                    self.out.append(&mut check);
                }
                return Ok(());
            }
            _ if data.results.iter().all(|v| self.func.ty(*v).is_scalar()) => return self.scalars(inst),
            Op::Sel { array, index } => {
                let form = self.sub_array(*array, index)?;
                self.forms.insert(data.results[0], form);
            }
            Op::Reshape { array, .. } => {
                let Some(Form::Lanes(new)) = self.forms.get(array).copied() else {
                    return Err("an extent in its body depends on the index");
                };
                let extents = self.extents(data.results[0])?;
                let elem = self.func.ty(*array).elem;
                let mut list = Vec::new();
                let shape = self.widened(&extents).into_iter().map(|n| self.int(&mut list, n)).collect();
                let new = self.emit(&mut list, Op::Reshape { array: new, shape }, self.interleaved(elem, &extents));
                self.out.append(&mut list);
                self.forms.insert(data.results[0], Form::Lanes(new));
            }
            Op::Array(cells) if cells.len() <= MAX_CELLS && cells.iter().all(|v| self.func.ty(*v).is_scalar()) => {
                let array = self.array_of_scalars(cells, data.results[0])?;
                self.forms.insert(data.results[0], Form::Lanes(array));
            }
            _ => return Err("its body makes arrays by other means than with-loops"),
        }
        Ok(())
    }

    /// Scalars that vary over lanes.
    fn scalars(&mut self, inst: Inst) -> Res<()> {
        let results = self.func.insts[inst].results.clone();
        if let Some(cost) = self.cost_of_again(inst).filter(|c| *c <= MAX_AGAIN)
            && let [result] = results[..]
        {
            self.forms.insert(result, Form::Again(inst, cost));
            return Ok(());
        }
        if results.iter().any(|v| Scalar::zero(self.func.ty(*v).elem).is_none()) {
            return Err("a handle in its body depends on the index");
        }
        let l = self.index_param();
        let mut lane = Lane::new(l);
        let insts = self.copy(&mut lane, inst)?;
        let cells: Vec<Value> = results.iter().map(|v| lane.map[v]).collect();
        let body = self.region_of(vec![l], [lane.head, insts].concat(), cells);
        let elems = self.elems(&results);
        let arrays = self.genarrays(body, &[self.lanes], &elems);
        self.forms.extend(results.into_iter().zip(arrays).map(|(v, a)| (v, Form::Stored(a))));
        Ok(())
    }

    /// Operations to compute a scalar anew; none if that is out of the question.
    fn cost_of_again(&self, inst: Inst) -> Option<u32> {
        let op = &self.func.insts[inst].op;
        let own = match op {
            Op::Sel { .. } | Op::Convert(_) | Op::Select { .. } => 1,
            Op::Un(UnOp::Neg | UnOp::Abs | UnOp::Not, _) => 1,
            Op::Bin(op, a, _) if op.needs_nonzero() && !self.func.ty(*a).elem.is_float() => return None,
            Op::Bin(BinOp::Div | BinOp::Mod | BinOp::AplMod | BinOp::Pow | BinOp::Atan2 | BinOp::Hypot, ..) => {
                return None;
            }
            Op::Bin(..) => 1,
            _ => return None,
        };
        let mut cost = own;
        op.for_each_operand(|v| {
            if let Some(Form::Again(_, c)) = self.forms.get(&v) {
                cost += c;
            }
        });
        Some(cost)
    }

    /// A small array, from its elements in all lanes.
    fn array_of_scalars(&mut self, cells: &[Value], result: Value) -> Res<Value> {
        let extents = self.extents(result)?;
        let elem = self.func.ty(result).elem;
        let mut columns = Vec::new();
        for l in 0..self.lanes {
            let mut list = Vec::new();
            let l = self.int(&mut list, l);
            let mut lane = Lane::new(l);
            columns.push(cells.iter().map(|v| self.value(&mut lane, *v)).collect::<Res<Vec<_>>>()?);
            self.out.append(&mut list);
            self.out.append(&mut lane.head);
        }
        let elements = (0..cells.len()).flat_map(|k| columns.iter().map(move |c| c[k])).collect();
        let mut list = Vec::new();
        let array = self.emit(&mut list, Op::Array(elements), self.interleaved(elem, &extents));
        self.out.append(&mut list);
        Ok(array)
    }

    /// A whole sub-array, at an index that all lanes share or that leads to a lane's own.
    fn sub_array(&mut self, array: Value, index: &[Value]) -> Res<Form> {
        let Some(Form::Lanes(new)) = self.forms.get(&array).copied() else {
            return Ok(Form::Lanes(self.pack(array, index)?));
        };
        let extents = self.extents(array)?;
        if index.len() > lane_axis(&extents) {
            return Err("a part of an array made in its body is selected");
        }
        let index = self.uniform_all(index)?;
        let ty = self.interleaved(self.func.ty(array).elem, &extents[index.len()..]);
        let mut list = Vec::new();
        let part = self.emit(&mut list, Op::Sel { array: new, index }, ty);
        self.out.append(&mut list);
        Ok(Form::Lanes(part))
    }

    /// A with-loop whose arrays are interleaved.
    fn interleaved_with(&mut self, with: &With, results: &[Value]) -> Res<Vec<Value>> {
        const DEFAULTS: &str = "what uncovered positions hold in its body depends on the index";
        let extents = self.extents(results[0])?;
        let axis = lane_axis(&extents);
        let mut list = Vec::new();
        let mut ops = Vec::new();
        let mut types = Vec::new();
        for (op, result) in with.ops.iter().zip(results) {
            let ty = self.func.ty(*result).clone();
            if self.extents(*result)? != extents {
                return Err("a with-loop in its body makes arrays of several shapes");
            }
            ops.push(match op {
                WithOp::Genarray { frame: Frame::Known(frame), default, .. } if frame.len() == extents.len() => {
                    let default = default.map(|d| self.uniform(d).map_err(|_| DEFAULTS)).transpose()?;
                    let frame = self.widened(&extents).into_iter().map(|n| self.int(&mut list, n)).collect();
                    WithOp::Genarray { frame: Frame::Known(frame), cell: Some(Vec::new()), default }
                }
                WithOp::Modarray { array } => match self.forms.get(array) {
                    Some(Form::Lanes(new)) => WithOp::Modarray { array: *new },
                    _ => return Err("a with-loop in its body updates an array from outside"),
                },
                _ => return Err("the cells of a with-loop in its body are arrays"),
            });
            types.push(self.interleaved(ty.elem, &extents));
        }
        let mut parts = Vec::new();
        for part in &with.parts {
            let body = self.func.regions[part.body].clone();
            if body.params.len() != extents.len() || body.yields.iter().any(|v| !self.func.ty(*v).is_scalar()) {
                return Err("the cells of a with-loop in its body are arrays");
            }
            let (generator, bounds) = self.widened_generator(&part.generator, axis, &mut list)?;
            let body = self.body_of_lanes(&body, axis, bounds)?;
            parts.push(Part { generator, body });
        }
        let arrays = push_ops(self.func, &mut list, Op::With(With { parts, ops, ordered: false }), types, self.span);
        self.out.append(&mut list);
        Ok(arrays)
    }

    /// A generator with one axis four times as long; also the constant bounds that this axis had.
    fn widened_generator(
        &mut self,
        generator: &Generator,
        axis: usize,
        list: &mut Vec<Inst>,
    ) -> Res<(Generator, Bounds)> {
        let Generator::Known { lower, upper, step, width } = generator else {
            return Err("the rank of a with-loop in its body is not known");
        };
        let scaled = [Some(lower), Some(upper), step.as_ref(), width.as_ref()];
        if scaled.into_iter().flatten().any(|list| !self.is_small(list[axis])) {
            return Err("the bounds of a with-loop in its body may be large");
        }
        let bounds = (self.defs.int(self.func, lower[axis]), self.defs.int(self.func, upper[axis]));
        let mut widen = |values: &[Value]| -> Res<Vec<Value>> {
            let mut new = self.uniform_all(values)?;
            new[axis] = match self.defs.int(self.func, values[axis]) {
                Some(k) => self.int(list, k * self.lanes),
                None => self.bin_int(list, BinOp::Mul, new[axis], self.lanes),
            };
            Ok(new)
        };
        let (lower, upper) = (widen(lower)?, widen(upper)?);
        let step = step.as_deref().map(&mut widen).transpose()?;
        let width = match (width.as_deref(), &step) {
            (Some(width), _) => Some(widen(width)?),
            // Without widths each step has one index.
            (None, Some(step)) => {
                let ones: Vec<Value> = step
                    .iter()
                    .enumerate()
                    .map(|(k, _)| self.int(list, if k == axis { self.lanes } else { 1 }))
                    .collect();
                Some(ones)
            }
            (None, None) => None,
        };
        Ok((Generator::Known { lower, upper, step, width }, bounds))
    }

    /// Whether four times the integer certainly fits.
    fn is_small(&self, v: Value) -> bool {
        const LIMIT: i64 = 1 << 28;
        if let Some(k) = self.defs.int(self.func, v) {
            return i64::from(k).abs() < LIMIT;
        }
        let mut ranges = self.places.ranges_at(self.func, self.defs, self.at);
        let form = ranges.form(self.func, self.defs, v);
        ranges.lower(&form) > -LIMIT && ranges.upper(&form) < LIMIT
    }

    /// The block's cell of an operator, from what the body yields.
    fn cell(&mut self, y: Value, goal: Goal) -> Res<Value> {
        let ty = self.func.ty(y).clone();
        if ty.is_scalar() {
            let l = self.index_param();
            let mut lane = Lane::new(l);
            let cell = self.value(&mut lane, y)?;
            return match goal {
                Goal::Fold(op) => {
                    let mut list = Vec::new();
                    let total = self.fold_lanes(l, lane.head, cell, op, ty.elem, &mut list)?;
                    self.out.append(&mut list);
                    Ok(total)
                }
                Goal::Stack => {
                    let body = self.region_of(vec![l], lane.head, vec![cell]);
                    Ok(self.genarray(body, &[self.lanes], ty.elem))
                }
            };
        }
        let extents = self.extents(y)?;
        let axis = lane_axis(&extents);
        let params: Vec<Value> = extents.iter().map(|_| self.index_param()).collect();
        let l = self.index_param();
        let mut insts = Vec::new();
        let (array, mut index) = match self.forms.get(&y).copied() {
            Some(Form::Lanes(array)) => {
                let mut index = params.clone();
                let scaled = self.bin_int(&mut insts, BinOp::Mul, params[axis], self.lanes);
                index[axis] = self.bin(&mut insts, BinOp::Add, scaled, l);
                (array, index)
            }
            Some(Form::Uniform(array)) => (array, params.clone()),
            None => (y, params.clone()),
            Some(_) => return Err("a cell is made by other means than with-loops"),
        };
        let element = self.emit(&mut insts, Op::Sel { array, index: std::mem::take(&mut index) }, Ty::scalar(ty.elem));
        match goal {
            Goal::Fold(op) => {
                let mut list = Vec::new();
                let total = self.fold_lanes(l, insts, element, op, ty.elem, &mut list)?;
                let body = self.region_of(params, list, vec![total]);
                Ok(self.genarray(body, &extents, ty.elem))
            }
            Goal::Stack => {
                let body = self.region_of([vec![l], params].concat(), insts, vec![element]);
                Ok(self.genarray(body, &[vec![self.lanes], extents].concat(), ty.elem))
            }
        }
    }

    /// A fold over the lanes: `insts` compute `cell` of lane `l`.
    fn fold_lanes(
        &mut self,
        l: Value,
        insts: Vec<Inst>,
        cell: Value,
        op: BinOp,
        elem: Elem,
        list: &mut Vec<Inst>,
    ) -> Res<Value> {
        let body = self.region_of(vec![l], insts, vec![cell]);
        let part = self.box_part(list, body, &[self.lanes]);
        self.fold(vec![part], op, elem, list)
    }

    fn fold(&mut self, parts: Vec<Part>, op: BinOp, elem: Elem, list: &mut Vec<Inst>) -> Res<Value> {
        let unit = op.identity(elem).ok_or("the operation of its fold has no neutral element")?;
        let neutral = self.emit(list, Op::Const(unit), Ty::scalar(elem));
        let op = WithOp::Fold { neutral, combine: Combine::Op(op), stop: None };
        Ok(self.emit(list, Op::With(With { parts, ops: vec![op], ordered: false }), Ty::scalar(elem)))
    }

    /// The cells of operators made by one with-loop that serves nothing else: no interleaved array is stored. None if
    /// that with-loop is of another kind.
    fn direct_cells(&mut self, inst: Inst, ops: &[usize], goals: &[Goal]) -> Res<Option<Vec<Value>>> {
        let data = self.func.insts[inst].clone();
        let Op::With(with) = &data.op else { return Ok(None) };
        let is_plain = |op: &WithOp| matches!(op, WithOp::Genarray { frame: Frame::Known(_), default: None, .. });
        let [part] = &with.parts[..] else { return Ok(None) };
        let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return Ok(None) };
        let extents = self.extents(data.results[0])?;
        let covers = lower.iter().all(|v| self.defs.int(self.func, *v) == Some(0))
            && upper.iter().map(|v| self.defs.int(self.func, *v)).eq(extents.iter().map(|n| Some(*n)));
        if !covers
            || lower.len() != extents.len()
            || !with.ops.iter().all(is_plain)
            || ops.iter().any(|k| goals[*k] != goals[ops[0]])
        {
            return Ok(None);
        }
        match goals[ops[0]] {
            Goal::Fold(op) => self.folded_cells(part, &data.results, &extents, op).map(Some),
            Goal::Stack => self.stacked_cells(part, &data.results, &extents).map(Some),
        }
    }

    /// One with-loop over the cell's indices whose elements are folds over the lanes.
    fn folded_cells(&mut self, part: &Part, results: &[Value], extents: &[i32], op: BinOp) -> Res<Vec<Value>> {
        let body = self.func.regions[part.body].clone();
        let params: Vec<Value> = body.params.iter().map(|_| self.index_param()).collect();
        self.forms.extend(body.params.iter().zip(&params).map(|(old, new)| (*old, Form::Uniform(*new))));
        // What does not vary over lanes stands outside of the folds.
        let mut list = Vec::new();
        let mut varying = Vec::new();
        let mut none = Lane::new(self.first);
        for &inst in &body.insts {
            if self.varies(inst) {
                varying.push(inst);
                for v in self.func.insts[inst].results.clone() {
                    // Marks it; a lane has its own copy.
                    self.forms.insert(v, Form::Again(inst, 0));
                }
            } else {
                let mut copied = self.copy(&mut none, inst)?;
                list.append(&mut copied);
                for v in self.func.insts[inst].results.clone() {
                    self.forms.insert(v, Form::Uniform(none.map[&v]));
                }
            }
        }
        let mut cells = Vec::new();
        for (cell, result) in body.yields.iter().zip(results) {
            let elem = self.func.ty(*result).elem;
            let total = match self.merged_fold(*cell, &varying, op, elem, &mut list)? {
                Some(total) => total,
                None => {
                    let l = self.index_param();
                    let mut lane = Lane::new(l);
                    let mut insts = Vec::new();
                    let needed = self.needed(*cell, &varying);
                    self.copy_all(&mut lane, &needed, &mut insts)?;
                    let cell = self.value(&mut lane, *cell)?;
                    let insts = [lane.head, insts].concat();
                    self.fold_lanes(l, insts, cell, op, elem, &mut list)?
                }
            };
            cells.push(total);
        }
        let body = self.region_of(params, list, cells);
        let elems = self.elems(results);
        Ok(self.genarrays(body, extents, &elems))
    }

    /// Those of `insts` that a value needs.
    fn needed(&self, value: Value, insts: &[Inst]) -> Vec<Inst> {
        let needed = slice(self.func, insts, [value], |_| false);
        insts.iter().copied().filter(|i| needed.contains(i) || self.func.insts[*i].results.is_empty()).collect()
    }

    /// If the cell is itself a fold with the same operation: that fold, over its own indices and the lanes.
    fn merged_fold(
        &mut self,
        cell: Value,
        varying: &[Inst],
        op: BinOp,
        elem: Elem,
        list: &mut Vec<Inst>,
    ) -> Res<Option<Value>> {
        let Def::Inst(inst, _) = self.defs.get(cell) else { return Ok(None) };
        if !varying.contains(&inst) {
            return Ok(None);
        }
        let Op::With(with) = self.func.insts[inst].op.clone() else { return Ok(None) };
        let [WithOp::Fold { neutral, combine: Combine::Op(inner), stop: None }] = &with.ops[..] else {
            return Ok(None);
        };
        let is_unit = self.defs.constant(self.func, *neutral).is_some_and(|n| op.identity(elem) == Some(n));
        let others = self.needed(cell, varying).into_iter().filter(|i| *i != inst);
        // Whatever else varies would be computed for every index of the fold.
        if *inner != op || !is_unit || others.count() > 0 {
            return Ok(None);
        }
        let mut parts = Vec::new();
        for part in &with.parts {
            let Generator::Known { lower, upper, .. } = &part.generator else { return Ok(None) };
            if lower.is_empty() || lower.iter().chain(upper).any(|v| self.uniform(*v).is_err()) {
                return Ok(None);
            }
            if lower.iter().chain(upper).any(|v| !self.is_small(*v)) {
                return Ok(None);
            }
            let bound = |v: &Value| self.defs.int(self.func, *v);
            let lengths: Vec<i32> =
                lower.iter().zip(upper).map(|(l, u)| bound(u).zip(bound(l)).map_or(2, |(u, l)| u - l)).collect();
            let axis = lane_axis(&lengths);
            let (generator, bounds) = self.widened_generator(&part.generator, axis, list)?;
            let body = self.func.regions[part.body].clone();
            let body = self.body_of_lanes(&body, axis, bounds)?;
            parts.push(Part { generator, body });
        }
        self.fold(parts, op, elem, list).map(Some)
    }

    /// One with-loop over the lanes and the cell's indices.
    fn stacked_cells(&mut self, part: &Part, results: &[Value], extents: &[i32]) -> Res<Vec<Value>> {
        let body = self.func.regions[part.body].clone();
        let l = self.index_param();
        let mut lane = Lane::new(l);
        let mut params = vec![l];
        for old in &body.params {
            let new = self.index_param();
            lane.map.insert(*old, new);
            params.push(new);
        }
        let body = self.body_in(lane, &body, params)?;
        let elems = self.elems(results);
        Ok(self.genarrays(body, &[vec![self.lanes], extents.to_vec()].concat(), &elems))
    }

    fn elems(&self, values: &[Value]) -> Vec<Elem> {
        values.iter().map(|v| self.func.ty(*v).elem).collect()
    }

    /// A copy of a body one of whose axes goes through all lanes of each index, which had these bounds.
    fn body_of_lanes(&mut self, body: &RegionData, axis: usize, bounds: Bounds) -> Res<Region> {
        let params: Vec<Value> = body.params.iter().map(|_| self.index_param()).collect();
        let mut lane = self.split(body.params[axis], params[axis], bounds.0, bounds.1);
        let others = body.params.iter().zip(&params).enumerate().filter(|(k, _)| *k != axis);
        lane.map.extend(others.map(|(_, (old, new))| (*old, *new)));
        self.body_in(lane, body, params)
    }

    /// A copy of a body in one lane.
    fn body_in(&mut self, mut lane: Lane, body: &RegionData, params: Vec<Value>) -> Res<Region> {
        let mut insts = Vec::new();
        self.copy_all(&mut lane, &body.insts, &mut insts)?;
        let cells = body.yields.iter().map(|v| self.value(&mut lane, *v)).collect::<Res<Vec<_>>>()?;
        Ok(self.region_of(params, [lane.head, insts].concat(), cells))
    }
}
