//! Dynamic operations whose ranks turned out to be known become static ones behind checks.

use super::{Simplifier, Step};
use crate::edit::push_check;
use ravel_types::{BinOp, Elem, Shape, Ty};
use ravel_wir::{Fault, Inst, Op, Value, cell_type};

impl Simplifier<'_> {
    pub(super) fn dynamic(&mut self, inst: Inst) -> Step {
        let ty = self.result_ty(inst);
        match self.func.insts[inst].op.clone() {
            Op::SelDyn { array, index } => {
                let array = self.unwidened(array);
                let Some(index) = self.elements(index) else { return Step::Keep };
                let from = self.func.ty(array).clone();
                if from.rank().is_none_or(|r| r == 0 || index.len() > r) {
                    return Step::Keep;
                }
                self.check_index(array, &index);
                let cell = cell_type(&from, index.len());
                let value = self.emit(Op::Sel { array, index }, cell.clone());
                self.at_type(value, &cell, &ty)
            }
            Op::UpdateDyn { array, index, value } => {
                let inner = self.unwidened(array);
                let Some(index) = self.elements(index) else { return Step::Keep };
                let from = self.func.ty(inner).clone();
                if from.rank().is_none_or(|r| r == 0 || index.len() > r) {
                    return Step::Keep;
                }
                // The cell must fit for certain: there is no check that would say it as the dynamic form does.
                let cell = cell_type(&from, index.len());
                if self.func.ty(value).shape != cell.shape {
                    return Step::Keep;
                }
                self.check_index(inner, &index);
                let value = self.emit(Op::Update { array: inner, index, value }, from.clone());
                self.at_type(value, &from, &ty)
            }
            Op::ReshapeDyn { array, shape } => {
                let array = self.unwidened(array);
                let Some(shape) = self.elements(shape) else { return Step::Keep };
                let constants: Option<Vec<i32>> = shape.iter().map(|v| self.int_of(*v)).collect();
                let Some(to) = constants.map(|c| Shape::of(&c)) else { return Step::Keep };
                let counts = (to.count(), self.func.ty(array).shape.count());
                if shape.is_empty() || counts.0.is_none() || counts.0 != counts.1 || self.func.ty(array).is_scalar() {
                    return Step::Keep;
                }
                let precise = Ty::new(ty.elem, to);
                let value = self.emit(Op::Reshape { array, shape }, precise.clone());
                self.at_type(value, &precise, &ty)
            }
            Op::Widen(a) => {
                if *self.func.ty(a) == ty {
                    return Step::Is(vec![a]);
                }
                match self.op_of(a) {
                    Some(Op::Widen(inner)) => Step::Becomes(Op::Widen(*inner)),
                    _ => Step::Keep,
                }
            }
            Op::Narrow(a) => {
                let inner = self.unwidened(a);
                if fits_for_certain(self.func.ty(inner), &ty) {
                    return Step::Is(vec![inner]);
                }
                let boxes_scalar = self.func.ty(inner).is_scalar() && !ty.is_scalar();
                if inner != a && !boxes_scalar {
                    return Step::Becomes(Op::Narrow(inner));
                }
                Step::Keep
            }
            _ => Step::Keep,
        }
    }

    fn unwidened(&self, mut value: Value) -> Value {
        while let Some(Op::Widen(inner)) = self.op_of(value) {
            value = *inner;
        }
        value
    }

    /// The elements of an index vector of constant length.
    fn elements(&mut self, vector: Value) -> Option<Vec<Value>> {
        if let Some(Op::Array(cells)) = self.op_of(vector) {
            return Some(cells.clone());
        }
        let n = match self.func.ty(vector).shape.constants()?[..] {
            [n] => n,
            _ => return None,
        };
        let elements = (0..n).map(|k| {
            let k = self.int(k);
            self.emit(Op::Sel { array: vector, index: vec![k] }, Ty::scalar(Elem::I32))
        });
        Some(elements.collect())
    }

    fn check_index(&mut self, array: Value, index: &[Value]) {
        for (axis, &i) in index.iter().enumerate() {
            let extent = self.extent(array, axis);
            let zero = self.int(0);
            let above = self.bin(BinOp::Ge, i, zero);
            let below = self.bin(BinOp::Lt, i, extent);
            let cond = self.bin(BinOp::And, above, below);
            let fault = Fault::Index { index: i, extent, axis: axis as u32 };
            push_check(self.func, &mut self.out, cond, fault, self.span);
        }
    }

    /// `value`, which has type `from`, as a value of type `to`.
    fn at_type(&mut self, value: Value, from: &Ty, to: &Ty) -> Step {
        if fits_for_certain(from, to) {
            return Step::Is(vec![value]);
        }
        match to.shape {
            Shape::Unknown => Step::Becomes(Op::Widen(value)),
            Shape::Known(_) => Step::Becomes(Op::Narrow(value)),
        }
    }
}

/// Whether every value of type `from` is one of type `to`, in the same representation.
fn fits_for_certain(from: &Ty, to: &Ty) -> bool {
    match (&from.shape, &to.shape) {
        (Shape::Unknown, Shape::Unknown) => from.elem == to.elem,
        (Shape::Known(f), Shape::Known(t)) => {
            from.elem == to.elem && f.len() == t.len() && f.iter().zip(t).all(|(f, t)| t.as_const().is_none() || f == t)
        }
        _ => false,
    }
}
