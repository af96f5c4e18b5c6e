//! Arithmetic, comparison and selection.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, types};
use ravel_nest::ir::{BinOp, FloatCmp, IntCmp, Op, Prim, Ty, UnOp, Value};

use crate::translate::Translator;
use crate::types::{Pieces, piece_type, scalar_type};

impl Translator<'_, '_> {
    /// A unary operator.
    pub fn unary(&mut self, op: UnOp, a: Value) -> Pieces {
        let xs = self.pieces(a);
        xs.into_iter()
            .map(|x| match op {
                UnOp::INeg => self.b.ins().ineg(x),
                UnOp::Not => self.b.ins().bnot(x),
                UnOp::IAbs => self.b.ins().iabs(x),
                UnOp::FNeg => self.b.ins().fneg(x),
                UnOp::FAbs => self.b.ins().fabs(x),
                UnOp::Sqrt => self.b.ins().sqrt(x),
                UnOp::Floor => self.b.ins().floor(x),
                UnOp::Ceil => self.b.ins().ceil(x),
                UnOp::Trunc => self.b.ins().trunc(x),
                UnOp::Nearest => self.b.ins().nearest(x),
            })
            .collect()
    }

    /// A binary operator.
    pub fn binary(&mut self, op: BinOp, a: Value, b: Value) -> Pieces {
        let ty = self.ty(a);
        match op {
            BinOp::Shl | BinOp::SShr | BinOp::UShr if ty.is_vector() => self.vector_shift(op, ty, a, b),
            BinOp::SDiv | BinOp::SRem | BinOp::UDiv | BinOp::URem => {
                let known = self.known_bits(b);
                self.lanewise(ty, ty, &[a, b], |t, args| t.divide(op, ty.prim, args[0], args[1], known))
            }
            BinOp::FMin | BinOp::FMax if self.is_number(b) => {
                let (xs, ys) = (self.pieces(a), self.pieces(b));
                xs.into_iter().zip(ys).map(|(x, y)| self.float_extremum(op, ty, y, x)).collect()
            }
            _ => {
                let (xs, ys) = (self.pieces(a), self.pieces(b));
                xs.into_iter().zip(ys).map(|(x, y)| self.binary_piece(op, ty, x, y)).collect()
            }
        }
    }

    /// A binary operator other than division and vector shift on one piece of type `ty`.
    pub fn binary_piece(&mut self, op: BinOp, ty: Ty, x: ir::Value, y: ir::Value) -> ir::Value {
        match op {
            BinOp::IAdd => self.b.ins().iadd(x, y),
            BinOp::ISub => self.b.ins().isub(x, y),
            BinOp::IMul if ty.is_vector() && ty.prim == Prim::I8 => self.multiply_bytes(x, y),
            BinOp::IMul => self.b.ins().imul(x, y),
            BinOp::And => self.b.ins().band(x, y),
            BinOp::Or => self.b.ins().bor(x, y),
            BinOp::Xor => self.b.ins().bxor(x, y),
            BinOp::Shl => self.b.ins().ishl(x, y),
            BinOp::SShr => self.b.ins().sshr(x, y),
            BinOp::UShr => self.b.ins().ushr(x, y),
            BinOp::SMin | BinOp::SMax | BinOp::UMin | BinOp::UMax => self.int_extremum(op, ty, x, y),
            BinOp::FAdd => self.b.ins().fadd(x, y),
            BinOp::FSub => self.b.ins().fsub(x, y),
            BinOp::FMul => self.b.ins().fmul(x, y),
            BinOp::FDiv => self.b.ins().fdiv(x, y),
            BinOp::FMin | BinOp::FMax => {
                let best = self.float_extremum(op, ty, y, x);
                let nan = self.b.ins().fcmp(FloatCC::Unordered, y, y);
                if ty.is_vector() {
                    let nan = self.bitcast(piece_type(ty), nan);
                    self.b.ins().bitselect(nan, y, best)
                } else {
                    self.b.ins().select(nan, y, best)
                }
            }
            BinOp::SDiv | BinOp::UDiv | BinOp::SRem | BinOp::URem => {
                unreachable!("division goes through `divide`")
            }
        }
    }

    fn int_extremum(&mut self, op: BinOp, ty: Ty, x: ir::Value, y: ir::Value) -> ir::Value {
        if ty.is_vector() && ty.prim == Prim::I64 {
            let cc = match op {
                BinOp::SMin => IntCC::SignedLessThan,
                BinOp::SMax => IntCC::SignedGreaterThan,
                BinOp::UMin => IntCC::UnsignedLessThan,
                _ => IntCC::UnsignedGreaterThan,
            };
            let first = self.b.ins().icmp(cc, x, y);
            return self.b.ins().bitselect(first, x, y);
        }
        match op {
            BinOp::SMin => self.b.ins().smin(x, y),
            BinOp::SMax => self.b.ins().smax(x, y),
            BinOp::UMin => self.b.ins().umin(x, y),
            _ => self.b.ins().umax(x, y),
        }
    }

    /// Whether a real value is a constant other than NaN.
    fn is_number(&self, value: Value) -> bool {
        let Some(Op::Const { ty, bits }) = self.constants[value] else { return false };
        match ty.prim {
            Prim::F32 => !f32::from_bits(*bits as u32).is_nan(),
            _ => !f64::from_bits(*bits).is_nan(),
        }
    }

    /// `x < y ? x : y` or `x > y ? x : y`, in the form that x64 has an instruction for: a bit selection of vectors.
    pub fn float_extremum(&mut self, op: BinOp, ty: Ty, x: ir::Value, y: ir::Value) -> ir::Value {
        if !ty.is_vector() {
            let vector = Ty::vector(ty.prim, (16 / ty.prim.bytes()) as u8);
            let wide = piece_type(vector);
            let (x, y) = (self.b.ins().scalar_to_vector(wide, x), self.b.ins().scalar_to_vector(wide, y));
            let best = self.float_extremum(op, vector, x, y);
            return self.b.ins().extractlane(best, 0);
        }
        let first = match op {
            BinOp::FMin => self.b.ins().fcmp(FloatCC::LessThan, x, y),
            _ => self.b.ins().fcmp(FloatCC::LessThan, y, x),
        };
        let first = self.bitcast(piece_type(ty), first);
        self.b.ins().bitselect(first, x, y)
    }

    /// Products of bytes from products of 16-bit lanes: the even and the odd bytes apart.
    fn multiply_bytes(&mut self, x: ir::Value, y: ir::Value) -> ir::Value {
        let (x, y) = (self.bitcast(types::I16X8, x), self.bitcast(types::I16X8, y));
        let even = self.b.ins().imul(x, y);
        let eight = self.b.ins().iconst(types::I32, 8);
        let (x, y) = (self.b.ins().ushr(x, eight), self.b.ins().ushr(y, eight));
        let odd = self.b.ins().imul(x, y);
        let odd = self.b.ins().ishl(odd, eight);
        let low = self.constant(Ty::I16.with_lanes(8), 0xff)[0];
        let even = self.b.ins().band(even, low);
        let both = self.b.ins().bor(even, odd);
        self.bitcast(types::I8X16, both)
    }

    /// Quotient or remainder of scalars. `known` is the divisor if it is a constant.
    ///
    /// The machine traps on the least value divided by -1; there the divisor 1 is used and the quotient negated.
    fn divide(&mut self, op: BinOp, prim: Prim, x: ir::Value, y: ir::Value, known: Option<u64>) -> ir::Value {
        let ty = scalar_type(prim);
        match op {
            BinOp::UDiv => return self.b.ins().udiv(x, y),
            BinOp::URem => return self.b.ins().urem(x, y),
            _ => {}
        }
        let minus_one = u64::MAX >> (64 - prim.bits());
        if known.is_some_and(|bits| bits != 0 && bits != minus_one) {
            return if op == BinOp::SDiv { self.b.ins().sdiv(x, y) } else { self.b.ins().srem(x, y) };
        }
        let minus_one = self.b.ins().iconst(ty, minus_one as i64);
        let negates = self.b.ins().icmp(IntCC::Equal, y, minus_one);
        let one = self.b.ins().iconst(ty, 1);
        let divisor = self.b.ins().select(negates, one, y);
        if op == BinOp::SRem {
            return self.b.ins().srem(x, divisor);
        }
        let quotient = self.b.ins().sdiv(x, divisor);
        let negated = self.b.ins().ineg(x);
        self.b.ins().select(negates, negated, quotient)
    }

    /// Cranelift shifts all lanes by one amount; lanes with amounts of their own are shifted one by one.
    fn vector_shift(&mut self, op: BinOp, ty: Ty, a: Value, b: Value) -> Pieces {
        let uniform = match self.constants[b] {
            Some(Op::Const { bits, .. }) => {
                let amount = *bits & u64::from(ty.prim.bits() - 1);
                Some(self.b.ins().iconst(types::I32, amount as i64))
            }
            Some(Op::Splat(scalar, _)) => Some(self.scalar(*scalar)),
            _ => None,
        };
        match uniform {
            Some(amount) => {
                let xs = self.pieces(a);
                xs.into_iter().map(|x| self.binary_piece(op, ty, x, amount)).collect()
            }
            None => self.lanewise(ty, ty, &[a, b], |t, args| t.binary_piece(op, ty.lane(), args[0], args[1])),
        }
    }

    /// Fused where the machine fuses, otherwise product then sum.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Pieces {
        let (xs, ys, zs) = (self.pieces(a), self.pieces(b), self.pieces(c));
        let fused = self.plan.target.has_fma;
        (0..xs.len())
            .map(|n| {
                if fused {
                    self.b.ins().fma(xs[n], ys[n], zs[n])
                } else {
                    let product = self.b.ins().fmul(xs[n], ys[n]);
                    self.b.ins().fadd(product, zs[n])
                }
            })
            .collect()
    }

    /// Integer comparison.
    pub fn int_cmp(&mut self, cmp: IntCmp, a: Value, b: Value) -> Pieces {
        let cc = match cmp {
            IntCmp::Eq => IntCC::Equal,
            IntCmp::Ne => IntCC::NotEqual,
            IntCmp::Slt => IntCC::SignedLessThan,
            IntCmp::Sle => IntCC::SignedLessThanOrEqual,
            IntCmp::Sgt => IntCC::SignedGreaterThan,
            IntCmp::Sge => IntCC::SignedGreaterThanOrEqual,
            IntCmp::Ult => IntCC::UnsignedLessThan,
            IntCmp::Ule => IntCC::UnsignedLessThanOrEqual,
            IntCmp::Ugt => IntCC::UnsignedGreaterThan,
            IntCmp::Uge => IntCC::UnsignedGreaterThanOrEqual,
        };
        let (xs, ys) = (self.pieces(a), self.pieces(b));
        xs.into_iter().zip(ys).map(|(x, y)| self.b.ins().icmp(cc, x, y)).collect()
    }

    /// Float comparison.
    pub fn float_cmp(&mut self, cmp: FloatCmp, a: Value, b: Value) -> Pieces {
        let cc = match cmp {
            FloatCmp::Eq => FloatCC::Equal,
            FloatCmp::Ne => FloatCC::NotEqual,
            FloatCmp::Lt => FloatCC::LessThan,
            FloatCmp::Le => FloatCC::LessThanOrEqual,
            FloatCmp::Gt => FloatCC::GreaterThan,
            FloatCmp::Ge => FloatCC::GreaterThanOrEqual,
        };
        let (xs, ys) = (self.pieces(a), self.pieces(b));
        xs.into_iter().zip(ys).map(|(x, y)| self.b.ins().fcmp(cc, x, y)).collect()
    }

    /// Choice by a scalar or a mask.
    pub fn select(&mut self, cond: Value, on_true: Value, on_false: Value) -> Pieces {
        let by_mask = self.ty(cond).is_vector();
        let piece = piece_type(self.ty(on_true));
        let (conds, xs, ys) = (self.pieces(cond), self.pieces(on_true), self.pieces(on_false));
        (0..xs.len())
            .map(|n| {
                if by_mask {
                    let mask = self.bitcast(piece, conds[n]);
                    self.b.ins().bitselect(mask, xs[n], ys[n])
                } else {
                    self.b.ins().select(conds[0], xs[n], ys[n])
                }
            })
            .collect()
    }
}
