//! What is known of arrays: their extents, and the elements of arrays whose making is in sight.

use super::{Simplifier, Step};
use ravel_types::{Affine, BinOp, Elem, Scalar, Shape, Ty};
use ravel_wir::{Combine, ConstData, Frame, Inst, Op, Value, WithOp, cell_type};
use std::sync::Arc;

/// Arrays up to this many elements are followed through updates; larger ones are left to memory.
const MAX_TRACKED: usize = 64;

impl Simplifier<'_> {
    pub(super) fn array(&mut self, inst: Inst) -> Step {
        match self.func.insts[inst].op.clone() {
            Op::Extent { array, axis } => self.known_extent(array, axis as usize),
            Op::Rank(a) => match self.func.ty(a).rank() {
                Some(rank) => self.constant(Scalar::I32(rank as i32)),
                None => match self.op_of(a) {
                    Some(Op::Widen(inner)) => Step::Becomes(Op::Rank(*inner)),
                    _ => Step::Keep,
                },
            },
            Op::ShapeVec(a) => self.shape_vector(inst, a),
            Op::Sel { array, index } => self.selection(inst, array, &index),
            Op::Array(cells) => self.composition(inst, &cells),
            Op::Reshape { array, shape } => self.reshape(inst, array, &shape),
            Op::Update { array, index, value } => self.update(inst, array, &index, value),
            _ => Step::Keep,
        }
    }

    fn shape_vector(&mut self, inst: Inst, a: Value) -> Step {
        if let Some(rank) = self.func.ty(a).rank() {
            self.retype(inst, Ty::new(Elem::I32, Shape::of(&[rank as i32])));
        }
        match self.func.ty(a).rank() {
            Some(0) => Step::Becomes(Op::ConstArray(Arc::new(ConstData { elem: Elem::I32, values: Vec::new() }))),
            Some(rank) => {
                let extents = (0..rank).map(|axis| self.extent(a, axis)).collect();
                Step::Becomes(Op::Array(extents))
            }
            None => match self.op_of(a) {
                Some(Op::Widen(inner)) => Step::Becomes(Op::ShapeVec(*inner)),
                _ => Step::Keep,
            },
        }
    }

    fn known_extent(&mut self, array: Value, axis: usize) -> Step {
        let Some(extents) = self.func.ty(array).shape.extents() else { return Step::Keep };
        if let Some(n) = extents[axis].as_const() {
            return self.constant(Scalar::I32(n));
        }
        let Some(inst) = self.defs.inst(array) else { return Step::Keep };
        let extent_of = |array: Value, axis: usize| Step::Becomes(Op::Extent { array, axis: axis as u32 });
        let has_rank = |v: Value| self.func.ty(v).rank().is_some_and(|r| r > 0);
        match &self.func.insts[inst].op {
            Op::Update { array, .. } => extent_of(*array, axis),
            Op::Reshape { shape, .. } => Step::Is(vec![shape[axis]]),
            Op::Sel { array, index } => extent_of(*array, axis + index.len()),
            Op::Widen(a) | Op::Narrow(a) if has_rank(*a) => extent_of(*a, axis),
            Op::Array(cells) => {
                let rank = cells.first().and_then(|c| self.func.ty(*c).rank()).unwrap_or(0);
                let lead = extents.len() - rank;
                if axis >= lead { extent_of(cells[0], axis - lead) } else { Step::Keep }
            }
            Op::With(with) => {
                let position = self.func.insts[inst].results.iter().position(|r| *r == array);
                match position.map(|k| &with.ops[k]) {
                    Some(WithOp::Genarray { frame: Frame::Known(frame), cell, .. }) => {
                        let of_cell = || cell.as_ref().and_then(|c| c.get(axis - frame.len()));
                        match frame.get(axis).or_else(of_cell) {
                            Some(v) => Step::Is(vec![*v]),
                            None => Step::Keep,
                        }
                    }
                    Some(WithOp::Modarray { array }) => extent_of(*array, axis),
                    Some(WithOp::Fold { neutral, combine: Combine::Op(_), .. }) => extent_of(*neutral, axis),
                    _ => Step::Keep,
                }
            }
            _ => Step::Keep,
        }
    }

    fn selection(&mut self, inst: Inst, array: Value, index: &[Value]) -> Step {
        if index.is_empty() {
            return Step::Is(vec![array]);
        }
        let Some(op) = self.op_of(array).cloned() else { return Step::Keep };
        match op {
            Op::Sel { array, index: first } => {
                let index = first.iter().chain(index).copied().collect();
                Step::Becomes(Op::Sel { array, index })
            }
            Op::Widen(a) | Op::Narrow(a) if self.func.ty(a).rank().is_some_and(|r| r >= index.len()) => {
                Step::Becomes(Op::Sel { array: a, index: index.to_vec() })
            }
            Op::Array(cells) => {
                let extents = self.func.ty(array).shape.extents().unwrap_or_default().to_vec();
                let rank = cells.first().and_then(|c| self.func.ty(*c).rank()).unwrap_or(0);
                let lead = extents.len() - rank;
                if index.len() < lead {
                    return self.sub_array(inst, &cells, index, &extents[..lead]);
                }
                match self.flat(&index[..lead], &extents) {
                    Some(at) if at < cells.len() => self.rest(cells[at], &index[lead..]),
                    _ => Step::Keep,
                }
            }
            Op::ConstArray(data) => {
                let ty = self.func.ty(array).clone();
                let extents = ty.shape.extents().unwrap_or_default();
                if let Some(first) = data.values.first().filter(|_| index.len() == extents.len())
                    && data.values.iter().all(|v| v == first)
                {
                    return self.constant(*first);
                }
                let Some(at) = self.flat(index, extents) else { return Step::Keep };
                let cell = cell_type(&ty, index.len());
                let Some(count) = cell.shape.count() else { return Step::Keep };
                match data.values.get(at * count..(at + 1) * count) {
                    Some([one]) if cell.is_scalar() => self.constant(*one),
                    Some(values) if !cell.is_scalar() => {
                        self.retype(inst, cell);
                        Step::Becomes(Op::ConstArray(Arc::new(ConstData { elem: data.elem, values: values.to_vec() })))
                    }
                    _ => Step::Keep,
                }
            }
            Op::Update { array: old, index: written, value } => {
                let n = written.len().min(index.len());
                if (0..n).any(|k| self.differ(written[k], index[k])) {
                    return Step::Becomes(Op::Sel { array: old, index: index.to_vec() });
                }
                if written.len() <= index.len() && (0..n).all(|k| self.equal(written[k], index[k])) {
                    return self.rest(value, &index[n..]);
                }
                self.perhaps_written(old, &written, value, index)
            }
            Op::Reshape { array: source, shape } => self.through_reshape((source, array), &shape, index),
            _ => Step::Keep,
        }
    }

    /// An element at a constant place of an array that was written out, after an update at a place that is not known: one or the other.
    fn perhaps_written(&mut self, old: Value, written: &[Value], value: Value, index: &[Value]) -> Step {
        let ty = self.func.ty(old).clone();
        let is_known = match self.op_of(old) {
            Some(Op::ConstArray(_)) => true,
            Some(Op::Array(cells)) => cells.iter().all(|cell| self.func.ty(*cell).is_scalar()),
            _ => false,
        };
        let extents = ty.shape.extents().unwrap_or_default();
        let is_element = written.len() == extents.len() && index.len() == extents.len();
        if !is_known || !is_element || ty.elem == Elem::Handle || self.flat(index, extents).is_none() {
            return Step::Keep;
        }
        let bool = Ty::scalar(Elem::Bool);
        let mut same = None;
        for (w, i) in written.iter().zip(index) {
            let here = self.emit(Op::Bin(BinOp::Eq, *w, *i), bool.clone());
            same = Some(match same {
                None => here,
                Some(before) => self.emit(Op::Bin(BinOp::And, before, here), bool.clone()),
            });
        }
        let Some(cond) = same else { return Step::Keep };
        let els = self.emit(Op::Sel { array: old, index: index.to_vec() }, Ty::scalar(ty.elem));
        Step::Becomes(Op::Select { cond, then: value, els })
    }

    /// `value[index]`, where the index may be empty.
    fn rest(&mut self, value: Value, index: &[Value]) -> Step {
        match index {
            [] => Step::Is(vec![value]),
            _ => Step::Becomes(Op::Sel { array: value, index: index.to_vec() }),
        }
    }

    /// A row of an array that was made of cells.
    fn sub_array(&mut self, inst: Inst, cells: &[Value], index: &[Value], lead: &[Affine]) -> Step {
        let Some(at) = self.flat(index, lead) else { return Step::Keep };
        let rest = Shape::Known(lead[index.len()..].to_vec());
        match rest.count().and_then(|n| cells.get(at * n..(at + 1) * n)) {
            Some(cells) if !cells.is_empty() => {
                let cell = self.func.ty(cells[0]).shape.clone();
                let elem = self.result_ty(inst).elem;
                self.retype(inst, Ty::new(elem, rest.concat(&cell)));
                Step::Becomes(Op::Array(cells.to_vec()))
            }
            _ => Step::Keep,
        }
    }

    /// Row-major offset of a constant index, if it lies within the constant extents.
    fn flat(&self, index: &[Value], extents: &[Affine]) -> Option<usize> {
        index.iter().zip(extents).try_fold(0usize, |at, (i, n)| {
            let (i, n) = (self.int_of(*i)?, n.as_const()?);
            (0 <= i && i < n).then(|| at * n as usize + i as usize)
        })
    }

    fn equal(&self, a: Value, b: Value) -> bool {
        a == b || matches!((self.int_of(a), self.int_of(b)), (Some(x), Some(y)) if x == y)
    }

    /// Whether two indices differ for certain: different constants, or `x + c` beside `x + d`.
    fn differ(&self, a: Value, b: Value) -> bool {
        let split = |v: Value| match self.op_of(v) {
            Some(Op::Bin(BinOp::Add, x, c)) if self.int_of(*c).is_some() => (Some(*x), self.int_of(*c).unwrap_or(0)),
            _ => match self.int_of(v) {
                Some(c) => (None, c),
                None => (Some(v), 0),
            },
        };
        let ((x, c), (y, d)) = (split(a), split(b));
        x == y && c != d
    }

    fn composition(&mut self, inst: Inst, cells: &[Value]) -> Step {
        let ty = self.result_ty(inst);
        if ty.rank() == Some(1) && !cells.is_empty() {
            if let Some(values) = cells.iter().map(|c| self.const_of(*c)).collect::<Option<Vec<_>>>() {
                return Step::Becomes(Op::ConstArray(Arc::new(ConstData { elem: ty.elem, values })));
            }
            // All elements of another vector, in order.
            let source = |k: usize| match self.op_of(cells[k]) {
                Some(Op::Sel { array, index }) if index.len() == 1 && self.int_of(index[0]) == Some(k as i32) => {
                    Some(*array)
                }
                _ => None,
            };
            if let Some(array) = source(0)
                && self.func.ty(array).shape == ty.shape
                && (1..cells.len()).all(|k| source(k) == Some(array))
            {
                return Step::Is(vec![array]);
            }
        }
        self.flattened(inst, cells)
    }

    /// Arrays of which each is written out and stands nowhere else are one: their elements in order. Their types may say more than the result's.
    fn flattened(&mut self, inst: Inst, cells: &[Value]) -> Step {
        let mut ty = self.result_ty(inst);
        let mut elements = Vec::new();
        for cell in cells {
            match self.op_of(*cell) {
                Some(Op::Array(inner))
                    if self.uses[*cell] == 1 && inner.iter().all(|c| self.func.ty(*c).is_scalar()) =>
                {
                    elements.extend_from_slice(inner);
                }
                _ => return Step::Keep,
            }
            if let (Shape::Known(whole), Some(own)) = (&mut ty.shape, self.func.ty(*cell).shape.constants()) {
                for (form, extent) in whole.iter_mut().rev().zip(own.iter().rev()) {
                    *form = Affine::constant(*extent);
                }
            }
        }
        if elements.is_empty()
            || elements.len() > MAX_TRACKED
            || ty.elem == Elem::Handle
            || ty.shape.count() != Some(elements.len())
        {
            return Step::Keep;
        }
        self.retype(inst, ty);
        Step::Becomes(Op::Array(elements))
    }

    fn reshape(&mut self, inst: Inst, array: Value, shape: &[Value]) -> Step {
        let ty = self.result_ty(inst);
        let from = self.func.ty(array);
        if ty.shape.constants().is_some() && from.shape == ty.shape {
            return Step::Is(vec![array]);
        }
        let count = ty.shape.count();
        match self.op_of(array) {
            Some(Op::Reshape { array: inner, .. }) => {
                Step::Becomes(Op::Reshape { array: *inner, shape: shape.to_vec() })
            }
            Some(Op::ConstArray(data)) if count == Some(data.values.len()) => {
                Step::Becomes(Op::ConstArray(data.clone()))
            }
            Some(Op::Array(cells))
                if count == Some(cells.len()) && cells.iter().all(|c| self.func.ty(*c).is_scalar()) =>
            {
                Step::Becomes(Op::Array(cells.clone()))
            }
            _ => Step::Keep,
        }
    }

    /// Element of a reshaped array, where the index translates without divisions: from a vector, or along equal trailing axes.
    fn through_reshape(&mut self, (source, reshaped): (Value, Value), shape: &[Value], index: &[Value]) -> Step {
        if index.len() != shape.len() {
            return Step::Keep;
        }
        let Some(rank) = self.func.ty(source).rank() else { return Step::Keep };
        // Axes of extent 1 carry no information; what is left must agree, or the source must be a vector.
        let extents_of = |v: Value| self.func.ty(v).shape.extents().map(<[Affine]>::to_vec).unwrap_or_default();
        let (source_extents, mut extents) = (extents_of(source), extents_of(reshaped));
        for (extent, v) in extents.iter_mut().zip(shape) {
            if let Some(known) = self.int_of(*v) {
                *extent = Affine::constant(known);
            }
        }
        let is_one = |extent: &Affine| extent.as_const() == Some(1);
        let squeezed = extents.iter().filter(|e| !is_one(e));
        if extents.len() == index.len() && squeezed.eq(source_extents.iter().filter(|e| !is_one(e))) {
            let mut significant = index.iter().zip(&extents).filter(|(_, e)| !is_one(e)).map(|(i, _)| *i);
            let plan: Vec<Option<Value>> =
                source_extents.iter().map(|e| if is_one(e) { None } else { significant.next() }).collect();
            let index = plan.into_iter().map(|i| i.unwrap_or_else(|| self.int(0))).collect();
            return Step::Becomes(Op::Sel { array: source, index });
        }
        if let Some(index) = self.constant_place(source, shape, index) {
            return Step::Becomes(Op::Sel { array: source, index });
        }
        if rank != 1 {
            return Step::Keep;
        }
        let mut flat = index[0];
        for k in 1..index.len() {
            let scaled = self.emitter().int_op(BinOp::Mul, flat, shape[k]);
            flat = self.emitter().int_op(BinOp::Add, scaled, index[k]);
        }
        Step::Becomes(Op::Sel { array: source, index: vec![flat] })
    }

    /// Where an element of a reshaped array is in its source, if all of that is constant.
    fn constant_place(&mut self, source: Value, shape: &[Value], index: &[Value]) -> Option<Vec<Value>> {
        let extents: Vec<Affine> =
            shape.iter().map(|v| self.int_of(*v).map(Affine::constant)).collect::<Option<_>>()?;
        let mut at = self.flat(index, &extents)?;
        let mut places = Vec::new();
        for extent in self.func.ty(source).shape.constants()?.iter().rev() {
            let extent = usize::try_from(*extent).ok().filter(|n| *n > 0)?;
            places.push(i32::try_from(at % extent).ok()?);
            at /= extent;
        }
        (at == 0).then(|| places.into_iter().rev().map(|i| self.int(i)).collect())
    }

    /// An update of a small array of known elements is another such array.
    fn update(&mut self, inst: Inst, array: Value, index: &[Value], value: Value) -> Step {
        let ty = self.result_ty(inst);
        if index.is_empty() {
            return Step::Is(vec![value]);
        }
        if let Some(step) = self.update_by_elements(array, index, value) {
            return step;
        }
        let (Some(extents), Some(count)) = (ty.shape.extents(), ty.shape.count()) else { return Step::Keep };
        if count > MAX_TRACKED || index.len() != extents.len() || !self.func.ty(value).is_scalar() {
            return Step::Keep;
        }
        let Some(at) = self.flat(index, extents) else { return Step::Keep };
        let mut cells = match self.op_of(array).cloned() {
            Some(Op::Array(cells)) if cells.len() == count && cells.iter().all(|c| self.func.ty(*c).is_scalar()) => {
                cells
            }
            Some(Op::ConstArray(data)) if data.values.len() == count => {
                data.values.iter().map(|s| self.emit(Op::Const(*s), Ty::scalar(s.elem()))).collect()
            }
            _ => return Step::Keep,
        };
        cells[at] = value;
        Step::Becomes(Op::Array(cells))
    }

    /// A cell that is written out and stands nowhere else need not become an array: its elements are stored one by one.
    fn update_by_elements(&mut self, array: Value, index: &[Value], value: Value) -> Option<Step> {
        let Some(Op::Array(cells)) = self.op_of(value).cloned() else { return None };
        let ty = self.func.ty(value);
        let is_written_out = ty.rank() == Some(1) && cells.len() <= MAX_TRACKED && ty.elem != Elem::Handle;
        if !is_written_out || self.uses[value] != 1 || !cells.iter().all(|c| self.func.ty(*c).is_scalar()) {
            return None;
        }
        let ty = self.func.ty(array).clone();
        let (last, others) = cells.split_last()?;
        let place = |s: &mut Self, k: usize| [index, &[s.emitter().int(k as i32)]].concat();
        let mut array = array;
        for (k, cell) in others.iter().enumerate() {
            let index = place(self, k);
            array = self.emit(Op::Update { array, index, value: *cell }, ty.clone());
        }
        let index = place(self, others.len());
        Some(Step::Becomes(Op::Update { array, index, value: *last }))
    }
}
