//! Conversions between primitive types, lane by lane.

use inkwell::values::InstructionOpcode;
use ravel_nest::ir::{ConvOp, Prim, Value};

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
            ConvOp::FToS => self.intrinsic("llvm.fptosi.sat", &[result, source], &[x]),
            ConvOp::FToU => self.intrinsic("llvm.fptoui.sat", &[result, source], &[x]),
            ConvOp::Bits => self.reinterpret(from.prim, to, x, result),
        }
    }

    fn reinterpret(
        &self,
        from: Prim,
        to: Prim,
        x: inkwell::values::BasicValueEnum<'c>,
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
