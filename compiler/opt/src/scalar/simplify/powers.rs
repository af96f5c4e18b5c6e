//! Powers with constant exponents.

use ravel_types::{BinOp, Elem, Scalar, Ty, UnOp};
use ravel_wir::{Op, Value};

use super::{Simplifier, Step};

impl Simplifier<'_> {
    /// Powers with small whole exponents as products, with halves as roots. Squares, reciprocals and roots are rounded once, the others stay
    /// within the 2 units in the last place of `pow`; zeros, infinities and NaN give the same. Not for whole exponents below
    /// -2: one over a product loses digits that the result has, and a product of three reciprocals is off by more than 2 units.
    pub(super) fn power(&mut self, a: Value, exponent: f64) -> Step {
        if exponent == 0.0 {
            return Step::Is(vec![self.real_like(a, 1.0)]);
        }
        if exponent == 1.0 {
            return Step::Is(vec![a]);
        }
        if exponent == 2.0 {
            return Step::Becomes(Op::Bin(BinOp::Mul, a, a));
        }
        if exponent == -1.0 || exponent == -2.0 {
            let one = self.real_like(a, 1.0);
            let inverse = Op::Bin(BinOp::Div, one, a);
            if exponent == -1.0 {
                return Step::Becomes(inverse);
            }
            let ty = self.func.ty(a).clone();
            let inverse = self.emit(inverse, ty);
            return Step::Becomes(Op::Bin(BinOp::Mul, inverse, inverse));
        }
        if exponent == 3.0 || exponent == 4.0 {
            let square = self.bin(BinOp::Mul, a, a);
            let factor = if exponent == 3.0 { a } else { square };
            return Step::Becomes(Op::Bin(BinOp::Mul, square, factor));
        }
        self.power_by_roots(a, exponent)
    }

    /// Powers whose exponents have halves or a quarter.
    fn power_by_roots(&mut self, a: Value, exponent: f64) -> Step {
        if ![-1.5, -0.5, 0.25, 0.5, 1.5, 2.5].contains(&exponent) {
            return Step::Keep;
        }
        // The root of -0 is -0, but its power is that of 0; a power of minus infinity is that of infinity.
        let zero = self.real_like(a, 0.0);
        let positive = self.bin(BinOp::Add, a, zero);
        let ty = Ty::scalar(self.func.ty(a).elem);
        let root = self.emit(Op::Un(UnOp::Sqrt, positive), ty.clone());
        let one = self.real_like(a, 1.0);
        let value = if exponent == 0.25 {
            self.emit(Op::Un(UnOp::Sqrt, root), ty)
        } else if exponent == -0.5 {
            self.bin(BinOp::Div, one, root)
        } else if exponent == -1.5 {
            let inverse = self.bin(BinOp::Div, one, positive);
            self.bin(BinOp::Div, inverse, root)
        } else {
            (0..exponent as i32).fold(root, |product, _| self.bin(BinOp::Mul, product, positive))
        };
        let least = self.real_like(a, f64::NEG_INFINITY);
        let cond = self.bin(BinOp::Eq, a, least);
        let there = self.real_like(a, if exponent > 0.0 { f64::INFINITY } else { 0.0 });
        Step::Becomes(Op::Select { cond, then: there, els: value })
    }

    fn real_like(&mut self, a: Value, v: f64) -> Value {
        let v = if self.func.ty(a).elem == Elem::F32 { Scalar::F32(v as f32) } else { Scalar::F64(v) };
        self.emitter().constant(v)
    }
}
