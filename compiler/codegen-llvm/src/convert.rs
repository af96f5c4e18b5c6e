//! Conversions between primitive types, lane by lane.

use inkwell::FloatPredicate;
use inkwell::values::{BasicValueEnum, InstructionOpcode};
use ravel_nest::ir::{ConvOp, Prim, Ty, Value};

use crate::translate::{Built, Translator};

impl<'c> Translator<'_, 'c> {
    /// Any conversion.
    pub fn convert(&self, op: ConvOp, a: Value, to: Prim) -> Built<'c> {
        let from = self.ty(a);
        let (x, source, result) = (self.value(a), self.llvm_type(from), self.llvm_type(from.with_prim(to)));
        let cast = |op| Ok(self.b.build_cast(op, x, result, "")?);
        match op {
            ConvOp::Narrow => cast(InstructionOpcode::Trunc),
            ConvOp::SExt => cast(InstructionOpcode::SExt),
            ConvOp::ZExt => cast(InstructionOpcode::ZExt),
            ConvOp::FConv if to == Prim::F64 => cast(InstructionOpcode::FPExt),
            ConvOp::FConv => cast(InstructionOpcode::FPTrunc),
            ConvOp::SToF => cast(InstructionOpcode::SIToFP),
            ConvOp::UToF => cast(InstructionOpcode::UIToFP),
            ConvOp::FToS if from.is_vector() && matches!(to, Prim::I32 | Prim::I64) => {
                self.saturated_lanes(from, to, x)
            }
            ConvOp::FToS => self.intrinsic("llvm.fptosi.sat", &[result, source], &[x]),
            ConvOp::FToU => self.intrinsic("llvm.fptoui.sat", &[result, source], &[x]),
            ConvOp::Bits => self.reinterpret(from.prim, to, x, result),
        }
    }

    /// Lanes of floats to integers, towards zero: LLVM would do that lane by lane. Lanes that are too large give rubbish at first.
    fn saturated_lanes(&self, from: Ty, to: Prim, x: BasicValueEnum<'c>) -> Built<'c> {
        let bits = to.bits();
        let bound = |sign: f64| {
            let limit = sign * (1u64 << (bits - 1)) as f64;
            let limit = if from.prim == Prim::F32 { u64::from((limit as f32).to_bits()) } else { limit.to_bits() };
            self.constant(from, limit)
        };
        let (least, beyond) = (bound(-1.0)?, bound(1.0)?);
        let result = from.with_prim(to);
        let (greatest, zero) = (self.constant(result, u64::MAX >> (65 - bits))?, self.constant(result, 0)?);
        let [value, low, high] = [x, least, beyond].map(BasicValueEnum::into_vector_value);
        let compare = |kind, a, b| self.b.build_float_compare(kind, a, b, "");
        let inside = self.b.build_select(compare(FloatPredicate::OGT, value, low)?, x, least, "")?;
        let whole = self.b.build_cast(InstructionOpcode::FPToSI, inside, self.llvm_type(result), "")?;
        let whole = self.b.build_select(compare(FloatPredicate::OGE, value, high)?, greatest, whole, "")?;
        Ok(self.b.build_select(compare(FloatPredicate::UNO, value, value)?, zero, whole, "")?)
    }

    fn reinterpret(
        &self,
        from: Prim,
        to: Prim,
        x: BasicValueEnum<'c>,
        result: inkwell::types::BasicTypeEnum<'c>,
    ) -> Built<'c> {
        let word = self.m.context.i64_type();
        Ok(match (from, to) {
            (Prim::Ptr, Prim::Ptr) => x,
            (Prim::Ptr, Prim::I64) => self.b.build_cast(InstructionOpcode::PtrToInt, x, word, "")?,
            (Prim::Ptr, _) => {
                let bits = self.b.build_cast(InstructionOpcode::PtrToInt, x, word, "")?;
                self.b.build_cast(InstructionOpcode::BitCast, bits, result, "")?
            }
            (Prim::I64, Prim::Ptr) => self.b.build_cast(InstructionOpcode::IntToPtr, x, result, "")?,
            (_, Prim::Ptr) => {
                let bits = self.b.build_cast(InstructionOpcode::BitCast, x, word, "")?;
                self.b.build_cast(InstructionOpcode::IntToPtr, bits, result, "")?
            }
            _ => self.b.build_cast(InstructionOpcode::BitCast, x, result, "")?,
        })
    }
}
