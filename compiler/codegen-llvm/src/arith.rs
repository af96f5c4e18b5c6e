//! Arithmetic, comparison and selection.

use inkwell::values::{BasicValueEnum, InstructionOpcode};
use inkwell::{FloatPredicate, IntPredicate};
use ravel_nest::ir::{BinOp, FloatCmp, IntCmp, Ty, UnOp, Value};

use crate::translate::{Built, Translator};

impl<'c> Translator<'_, 'c> {
    /// A unary operator.
    pub fn unary(&self, op: UnOp, a: Value) -> Built<'c> {
        let (ty, x) = (self.ty(a), self.value(a));
        let float = |name| self.intrinsic(name, &[self.llvm_type(ty)], &[x]);
        match op {
            UnOp::INeg => self.op(InstructionOpcode::Sub, self.constant(ty, 0)?, x),
            UnOp::Not => self.op(InstructionOpcode::Xor, x, self.constant(ty, u64::MAX >> (64 - ty.prim.bits()))?),
            UnOp::IAbs => {
                let wraps = self.m.context.bool_type().const_zero().into();
                self.intrinsic("llvm.abs", &[self.llvm_type(ty)], &[x, wraps])
            }
            UnOp::FNeg => Ok(match x {
                BasicValueEnum::VectorValue(x) => self.b.build_float_neg(x, "")?.into(),
                x => self.b.build_float_neg(x.into_float_value(), "")?.into(),
            }),
            UnOp::FAbs => float("llvm.fabs"),
            UnOp::Sqrt => float("llvm.sqrt"),
            UnOp::Floor => float("llvm.floor"),
            UnOp::Ceil => float("llvm.ceil"),
            UnOp::Trunc => float("llvm.trunc"),
            UnOp::Nearest => float("llvm.roundeven"),
        }
    }

    /// An LLVM instruction with two operands.
    pub fn op(&self, op: InstructionOpcode, x: BasicValueEnum<'c>, y: BasicValueEnum<'c>) -> Built<'c> {
        Ok(self.b.build_binop(op, x, y, "")?)
    }

    /// A binary operator on values of type `ty`.
    pub fn binary(&self, op: BinOp, ty: Ty, x: BasicValueEnum<'c>, y: BasicValueEnum<'c>) -> Built<'c> {
        let extremum = |name| self.intrinsic(name, &[self.llvm_type(ty)], &[x, y]);
        match op {
            BinOp::IAdd => self.op(InstructionOpcode::Add, x, y),
            BinOp::ISub => self.op(InstructionOpcode::Sub, x, y),
            BinOp::IMul => self.op(InstructionOpcode::Mul, x, y),
            BinOp::And => self.op(InstructionOpcode::And, x, y),
            BinOp::Or => self.op(InstructionOpcode::Or, x, y),
            BinOp::Xor => self.op(InstructionOpcode::Xor, x, y),
            BinOp::Shl => self.shift(InstructionOpcode::Shl, ty, x, y),
            BinOp::SShr => self.shift(InstructionOpcode::AShr, ty, x, y),
            BinOp::UShr => self.shift(InstructionOpcode::LShr, ty, x, y),
            BinOp::SMin => extremum("llvm.smin"),
            BinOp::SMax => extremum("llvm.smax"),
            BinOp::UMin => extremum("llvm.umin"),
            BinOp::UMax => extremum("llvm.umax"),
            BinOp::UDiv => self.op(InstructionOpcode::UDiv, x, y),
            BinOp::URem => self.op(InstructionOpcode::URem, x, y),
            BinOp::SDiv | BinOp::SRem => self.signed_division(op, ty, x, y),
            BinOp::FAdd => self.op(InstructionOpcode::FAdd, x, y),
            BinOp::FSub => self.op(InstructionOpcode::FSub, x, y),
            BinOp::FMul => self.op(InstructionOpcode::FMul, x, y),
            BinOp::FDiv => self.op(InstructionOpcode::FDiv, x, y),
            BinOp::FMin => self.float_extremum(ty, FloatPredicate::OLT, x, y),
            BinOp::FMax => self.float_extremum(ty, FloatPredicate::OGT, x, y),
        }
    }

    /// `y` if it is NaN or goes before `x`, else `x`. LLVM drops the test for NaN where `y` is a constant.
    ///
    /// The first choice alone is one instruction of many machines. The fence keeps LLVM from making one choice of both, by two comparisons.
    fn float_extremum(
        &self,
        ty: Ty,
        before: FloatPredicate,
        x: BasicValueEnum<'c>,
        y: BasicValueEnum<'c>,
    ) -> Built<'c> {
        let best = self.choose(self.compare_floats(before, y, x)?, y, x)?;
        let best = self.intrinsic("llvm.arithmetic.fence", &[self.llvm_type(ty)], &[best])?;
        self.choose(self.compare_floats(FloatPredicate::UNO, y, y)?, y, best)
    }

    /// LLVM leaves shifts by the lane width and more undefined; here the amount counts modulo the width.
    fn shift(&self, op: InstructionOpcode, ty: Ty, x: BasicValueEnum<'c>, amount: BasicValueEnum<'c>) -> Built<'c> {
        let low = self.constant(ty, u64::from(ty.prim.bits() - 1))?;
        self.op(op, x, self.op(InstructionOpcode::And, amount, low)?)
    }

    /// LLVM leaves the least value divided by -1 undefined; there the divisor 1 is used and the quotient negated.
    fn signed_division(&self, op: BinOp, ty: Ty, x: BasicValueEnum<'c>, y: BasicValueEnum<'c>) -> Built<'c> {
        let minus_one = self.constant(ty, u64::MAX >> (64 - ty.prim.bits()))?;
        let negates = self.compare_ints(IntPredicate::EQ, y, minus_one)?;
        let divisor = self.choose(negates, self.constant(ty, 1)?, y)?;
        if op == BinOp::SRem {
            return self.op(InstructionOpcode::SRem, x, divisor);
        }
        let quotient = self.op(InstructionOpcode::SDiv, x, divisor)?;
        let negated = self.op(InstructionOpcode::Sub, self.constant(ty, 0)?, x)?;
        self.choose(negates, negated, quotient)
    }

    /// Fused where the machine fuses, otherwise product then sum.
    pub fn fma(&self, a: Value, b: Value, c: Value) -> Built<'c> {
        let (x, y, z) = (self.value(a), self.value(b), self.value(c));
        if self.m.has_fma {
            return self.intrinsic("llvm.fma", &[self.llvm_type(self.ty(a))], &[x, y, z]);
        }
        self.op(InstructionOpcode::FAdd, self.op(InstructionOpcode::FMul, x, y)?, z)
    }

    /// One bit, or a vector of bits.
    pub fn compare_ints(&self, cmp: IntPredicate, x: BasicValueEnum<'c>, y: BasicValueEnum<'c>) -> Built<'c> {
        Ok(match x {
            BasicValueEnum::VectorValue(x) => self.b.build_int_compare(cmp, x, y.into_vector_value(), "")?.into(),
            BasicValueEnum::PointerValue(x) => self.b.build_int_compare(cmp, x, y.into_pointer_value(), "")?.into(),
            x => self.b.build_int_compare(cmp, x.into_int_value(), y.into_int_value(), "")?.into(),
        })
    }

    fn compare_floats(&self, cmp: FloatPredicate, x: BasicValueEnum<'c>, y: BasicValueEnum<'c>) -> Built<'c> {
        Ok(match x {
            BasicValueEnum::VectorValue(x) => self.b.build_float_compare(cmp, x, y.into_vector_value(), "")?.into(),
            x => self.b.build_float_compare(cmp, x.into_float_value(), y.into_float_value(), "")?.into(),
        })
    }

    /// Bits as nest has them: 0 or 1 in an `i8`, or a mask.
    fn truth(&self, ty: Ty, bits: BasicValueEnum<'c>) -> Built<'c> {
        let widen = if ty.is_vector() { InstructionOpcode::SExt } else { InstructionOpcode::ZExt };
        Ok(self.b.build_cast(widen, bits, self.llvm_type(ty.truth()), "")?)
    }

    /// The bits of a truth value of nest.
    pub fn bits(&self, truth: BasicValueEnum<'c>) -> Built<'c> {
        let zero = match truth {
            BasicValueEnum::VectorValue(truth) => truth.get_type().const_zero().into(),
            truth => truth.into_int_value().get_type().const_zero().into(),
        };
        self.compare_ints(IntPredicate::NE, truth, zero)
    }

    /// `x` where the bits are set, `y` elsewhere.
    fn choose(&self, bits: BasicValueEnum<'c>, x: BasicValueEnum<'c>, y: BasicValueEnum<'c>) -> Built<'c> {
        Ok(match bits {
            BasicValueEnum::VectorValue(bits) => self.b.build_select(bits, x, y, "")?,
            bits => self.b.build_select(bits.into_int_value(), x, y, "")?,
        })
    }

    /// Integer comparison.
    pub fn int_cmp(&self, cmp: IntCmp, a: Value, b: Value) -> Built<'c> {
        let predicate = match cmp {
            IntCmp::Eq => IntPredicate::EQ,
            IntCmp::Ne => IntPredicate::NE,
            IntCmp::Slt => IntPredicate::SLT,
            IntCmp::Sle => IntPredicate::SLE,
            IntCmp::Sgt => IntPredicate::SGT,
            IntCmp::Sge => IntPredicate::SGE,
            IntCmp::Ult => IntPredicate::ULT,
            IntCmp::Ule => IntPredicate::ULE,
            IntCmp::Ugt => IntPredicate::UGT,
            IntCmp::Uge => IntPredicate::UGE,
        };
        self.truth(self.ty(a), self.compare_ints(predicate, self.value(a), self.value(b))?)
    }

    /// Float comparison.
    pub fn float_cmp(&self, cmp: FloatCmp, a: Value, b: Value) -> Built<'c> {
        let predicate = match cmp {
            FloatCmp::Eq => FloatPredicate::OEQ,
            FloatCmp::Ne => FloatPredicate::UNE,
            FloatCmp::Lt => FloatPredicate::OLT,
            FloatCmp::Le => FloatPredicate::OLE,
            FloatCmp::Gt => FloatPredicate::OGT,
            FloatCmp::Ge => FloatPredicate::OGE,
        };
        self.truth(self.ty(a), self.compare_floats(predicate, self.value(a), self.value(b))?)
    }

    /// Choice by a scalar or a mask. A mask is asked for its signs: LLVM would turn a comparison with zero round and swap the choices, and
    /// then no longer see that an operation and the choice between its result and an operand are one instruction.
    pub fn select(&self, cond: Value, on_true: Value, on_false: Value) -> Built<'c> {
        let bits = match self.value(cond) {
            BasicValueEnum::VectorValue(mask) => {
                let zero = mask.get_type().const_zero();
                self.compare_ints(IntPredicate::SLT, mask.into(), zero.into())?
            }
            cond => self.bits(cond)?,
        };
        self.choose(bits, self.value(on_true), self.value(on_false))
    }
}
