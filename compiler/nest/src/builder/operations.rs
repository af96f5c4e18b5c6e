//! One method for each operation without regions.

use smallvec::SmallVec;

use crate::builder::FuncBuilder;
use crate::ir::{
    Access, BinOp, ConvOp, DataId, ExternId, FloatCmp, FuncId, GlobalId, IntCmp, MathOp, Op, Prim, ReduceOp, Sharing,
    SigId, Ty, UnOp, Value,
};

impl FuncBuilder {
    // Constants.

    /// `bits` in every lane of `ty`; higher bits are dropped.
    pub fn bits(&mut self, ty: Ty, bits: u64) -> Value {
        let width = ty.prim.bits();
        let bits = if width == 64 { bits } else { bits & ((1u64 << width) - 1) };
        self.push_one(Op::Const { ty, bits }, ty)
    }

    /// An integer constant of type `ty`, in every lane.
    pub fn iconst(&mut self, ty: Ty, value: i64) -> Value {
        self.bits(ty, value as u64)
    }

    /// A float constant of type `ty`, rounded to it, in every lane.
    pub fn fconst(&mut self, ty: Ty, value: f64) -> Value {
        let bits = if ty.prim == Prim::F32 { u64::from((value as f32).to_bits()) } else { value.to_bits() };
        self.bits(ty, bits)
    }

    /// A scalar `i64` constant.
    pub fn i64(&mut self, value: i64) -> Value {
        self.iconst(Ty::I64, value)
    }

    /// A scalar `i32` constant.
    pub fn i32(&mut self, value: i32) -> Value {
        self.iconst(Ty::I32, i64::from(value))
    }

    /// A scalar boolean.
    pub fn bool(&mut self, value: bool) -> Value {
        self.iconst(Ty::I8, i64::from(value))
    }

    /// The null pointer.
    pub fn null(&mut self) -> Value {
        self.bits(Ty::PTR, 0)
    }

    // Arithmetic.

    /// One operand.
    pub fn unary(&mut self, op: UnOp, a: Value) -> Value {
        let ty = self.ty(a);
        self.push_one(Op::Unary(op, a), ty)
    }

    /// Two operands.
    pub fn binary(&mut self, op: BinOp, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        self.push_one(Op::Binary(op, a, b), ty)
    }

    /// Sum of integers or of floats.
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        let op = if self.ty(a).prim.is_float() { BinOp::FAdd } else { BinOp::IAdd };
        self.binary(op, a, b)
    }

    /// Difference of integers or of floats.
    pub fn sub(&mut self, a: Value, b: Value) -> Value {
        let op = if self.ty(a).prim.is_float() { BinOp::FSub } else { BinOp::ISub };
        self.binary(op, a, b)
    }

    /// Product of integers or of floats.
    pub fn mul(&mut self, a: Value, b: Value) -> Value {
        let op = if self.ty(a).prim.is_float() { BinOp::FMul } else { BinOp::IMul };
        self.binary(op, a, b)
    }

    /// `a * b + c` rounded once.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        let ty = self.ty(a);
        self.push_one(Op::Fma(a, b, c), ty)
    }

    /// Integer or pointer comparison.
    pub fn icmp(&mut self, cmp: IntCmp, a: Value, b: Value) -> Value {
        let ty = self.ty(a).truth();
        self.push_one(Op::IntCmp(cmp, a, b), ty)
    }

    /// Float comparison.
    pub fn fcmp(&mut self, cmp: FloatCmp, a: Value, b: Value) -> Value {
        let ty = self.ty(a).truth();
        self.push_one(Op::FloatCmp(cmp, a, b), ty)
    }

    /// Choice by a scalar condition or a mask.
    pub fn select(&mut self, cond: Value, on_true: Value, on_false: Value) -> Value {
        let ty = self.ty(on_true);
        self.push_one(Op::Select { cond, on_true, on_false }, ty)
    }

    /// Conversion; returns the operand itself if it has the type already and the conversion keeps values.
    pub fn convert(&mut self, op: ConvOp, a: Value, to: Prim) -> Value {
        let ty = self.ty(a);
        if ty.prim == to {
            return a;
        }
        self.push_one(Op::Convert(op, a, to), ty.with_prim(to))
    }

    /// A mathematical function.
    pub fn math(&mut self, op: MathOp, args: &[Value]) -> Value {
        let ty = self.ty(args[0]);
        self.push_one(Op::Math(op, SmallVec::from_slice(args)), ty)
    }

    // Lanes.

    /// A scalar in every lane; the scalar itself for one lane.
    pub fn splat(&mut self, scalar: Value, lanes: u8) -> Value {
        if lanes == 1 {
            return scalar;
        }
        let ty = self.ty(scalar).with_lanes(lanes);
        self.push_one(Op::Splat(scalar, lanes), ty)
    }

    /// One lane as a scalar.
    pub fn extract(&mut self, vector: Value, lane: u8) -> Value {
        let ty = self.ty(vector).lane();
        self.push_one(Op::Extract(vector, lane), ty)
    }

    /// A vector with one lane replaced.
    pub fn insert(&mut self, vector: Value, lane: u8, scalar: Value) -> Value {
        let ty = self.ty(vector);
        self.push_one(Op::Insert { vector, lane, scalar }, ty)
    }

    /// Lanes picked from two vectors of the same type.
    pub fn shuffle(&mut self, a: Value, b: Value, lanes: &[u8]) -> Value {
        let ty = self.ty(a).with_lanes(lanes.len() as u8);
        self.push_one(Op::Shuffle(a, b, lanes.to_vec()), ty)
    }

    /// All lanes combined into a scalar.
    pub fn reduce(&mut self, op: ReduceOp, vector: Value) -> Value {
        let ty = self.ty(vector).lane();
        self.push_one(Op::Reduce(op, vector), ty)
    }

    /// Does a mask hold in some lane?
    pub fn any(&mut self, mask: Value) -> Value {
        self.push_one(Op::Any(mask), Ty::I8)
    }

    // Memory.

    /// Loads a `ty` from `ptr + offset` bytes.
    pub fn load(&mut self, ty: Ty, ptr: Value, offset: i32, access: Access) -> Value {
        self.push_one(Op::Load { ty, ptr, offset, access }, ty)
    }

    /// Loads lane `k` of a `ty` from `ptr + offset + index[k] * scale` bytes.
    pub fn gather(&mut self, ty: Ty, ptr: Value, offset: i32, index: Value, scale: u8) -> Value {
        self.push_one(Op::Gather { ty, ptr, offset, index, scale, mask: None }, ty)
    }

    /// The same for lanes for which a mask holds; the others are zero.
    pub fn gather_if(&mut self, mask: Value, ty: Ty, ptr: Value, offset: i32, index: Value, scale: u8) -> Value {
        self.push_one(Op::Gather { ty, ptr, offset, index, scale, mask: Some(mask) }, ty)
    }

    /// Stores `value` at `ptr + offset` bytes.
    pub fn store(&mut self, value: Value, ptr: Value, offset: i32, access: Access) {
        self.push(Op::Store { value, ptr, offset, access }, &[]);
    }

    /// `ptr + bytes`.
    pub fn ptr_add(&mut self, ptr: Value, bytes: Value) -> Value {
        self.push_one(Op::PtrAdd(ptr, bytes), Ty::PTR)
    }

    /// Address of fresh stack memory of this function.
    pub fn stack_slot(&mut self, size: u32, align: u32) -> Value {
        self.push_one(Op::StackSlot { size, align }, Ty::PTR)
    }

    /// Address of static data.
    pub fn data_addr(&mut self, data: DataId) -> Value {
        self.push_one(Op::DataAddr(data), Ty::PTR)
    }

    /// Address of a global.
    pub fn global_addr(&mut self, global: GlobalId) -> Value {
        self.push_one(Op::GlobalAddr(global), Ty::PTR)
    }

    /// Address of a function of this module.
    pub fn func_addr(&mut self, func: FuncId) -> Value {
        self.push_one(Op::FuncAddr(func), Ty::PTR)
    }

    /// Address of an extern function.
    pub fn extern_addr(&mut self, callee: ExternId) -> Value {
        self.push_one(Op::ExternAddr(callee), Ty::PTR)
    }

    /// One more reference to an object; atomic where [`FuncBuilder::is_run_by_threads`].
    pub fn rc_inc(&mut self, object: Value) {
        let sharing = self.sharing();
        self.push(Op::RcInc(object, sharing), &[]);
    }

    /// One reference less to an object; atomic where [`FuncBuilder::is_run_by_threads`].
    pub fn rc_dec(&mut self, object: Value) {
        let sharing = self.sharing();
        self.push(Op::RcDec(object, sharing), &[]);
    }

    /// Is the reference that the code at hand owns the only one?
    pub fn rc_unique(&mut self, object: Value) -> Value {
        self.push_one(Op::RcUnique(object), Ty::I8)
    }

    fn sharing(&self) -> Sharing {
        if self.is_run_by_threads() { Sharing::Atomic } else { Sharing::Plain }
    }

    // Calls.

    /// Calls a function of this module whose results have these types.
    pub fn call(&mut self, callee: FuncId, args: &[Value], results: &[Ty]) -> SmallVec<[Value; 1]> {
        self.push(Op::Call(callee, args.to_vec()), results)
    }

    /// Calls an extern function whose result has this type.
    pub fn call_extern(&mut self, callee: ExternId, args: &[Value], result: Option<Ty>) -> Option<Value> {
        self.push(Op::CallExtern(callee, args.to_vec()), result.as_slice()).first().copied()
    }

    /// Calls through an address.
    pub fn call_indirect(&mut self, sig: SigId, callee: Value, args: &[Value], result: Option<Ty>) -> Option<Value> {
        let op = Op::CallIndirect { sig, callee, args: args.to_vec() };
        self.push(op, result.as_slice()).first().copied()
    }
}
