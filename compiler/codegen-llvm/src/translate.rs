//! Translates one nest function, or one outlined `parfor` body, into LLVM IR.
//!
//! This file holds the state of a translation and dispatches on operations; the operations themselves are in the files
//! named for their kind.

use std::fmt;

use cranelift_entity::SecondaryMap;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::{Builder, BuilderError};
use inkwell::intrinsics::Intrinsic;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{
    BasicMetadataValueEnum, BasicValue, BasicValueEnum, FunctionValue, IntValue, PointerValue, ValueKind,
};
use ravel_nest::ir::{Exit, Func, Inst, Op, Prim, Region, Ty, Value};
use smallvec::{SmallVec, smallvec};

use crate::module::Declared;
use crate::parallel::Body;
use crate::types::{llvm_type, scalar_type, vector_of};

/// What LLVM refused.
#[derive(Debug)]
pub(crate) enum Problem {
    /// An instruction.
    Builder(BuilderError),
    /// An intrinsic that it does not have.
    Intrinsic(&'static str),
    /// A call of a function without result was used as a value.
    NoValue,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Builder(error) => error.fmt(f),
            Problem::Intrinsic(name) => write!(f, "there is no intrinsic {name}"),
            Problem::NoValue => write!(f, "a call has no result"),
        }
    }
}

impl From<BuilderError> for Problem {
    fn from(error: BuilderError) -> Problem {
        Problem::Builder(error)
    }
}

/// One LLVM value, or none because of a problem.
pub(crate) type Built<'c> = Result<BasicValueEnum<'c>, Problem>;

/// The results of an operation.
pub(crate) type Values<'c> = SmallVec<[BasicValueEnum<'c>; 1]>;

/// The state of one translation.
pub(crate) struct Translator<'m, 'c> {
    /// The module and everything declared in it.
    pub m: &'m Declared<'m, 'c>,
    /// The function being translated.
    pub func: &'m Func,
    /// The LLVM function under construction.
    pub function: FunctionValue<'c>,
    /// Adds instructions.
    pub b: Builder<'c>,
    /// Bodies of parallel loops met on the way; they are translated next.
    pub bodies: Vec<Body<'m, 'c>>,
    /// Holds the stack slots and nothing else.
    slots: BasicBlock<'c>,
    start: BasicBlock<'c>,
    values: SecondaryMap<Value, Option<BasicValueEnum<'c>>>,
}

impl<'m, 'c> Translator<'m, 'c> {
    /// Starts a translation into an empty LLVM function.
    pub fn new(m: &'m Declared<'m, 'c>, func: &'m Func, function: FunctionValue<'c>) -> Self {
        let b = m.context.create_builder();
        let slots = m.context.append_basic_block(function, "");
        let start = m.context.append_basic_block(function, "");
        b.position_at_end(start);
        Translator { m, func, function, b, bodies: Vec::new(), slots, start, values: SecondaryMap::new() }
    }

    /// Translates a whole function; hands back the bodies of its parallel loops.
    pub fn function(mut self) -> Result<Vec<Body<'m, 'c>>, Problem> {
        let params = self.function.get_params();
        self.bind_all(&self.func.body.params, &params);
        self.region(&self.func.body)?;
        self.finish()
    }

    /// Ends the translation.
    pub fn finish(self) -> Result<Vec<Body<'m, 'c>>, Problem> {
        self.b.position_at_end(self.slots);
        self.b.build_unconditional_branch(self.start)?;
        Ok(self.bodies)
    }

    /// Memory of the function's own frame.
    pub fn frame_memory(&self, size: u32, align: u32) -> Result<PointerValue<'c>, Problem> {
        let back = self.block()?;
        self.b.position_at_end(self.slots);
        let slot = self.b.build_alloca(self.m.context.i8_type().array_type(size), "")?;
        if let Some(alloca) = slot.as_instruction_value() {
            // Alignments are powers of two, which LLVM accepts.
            let _ = alloca.set_alignment(align.max(1));
        }
        self.b.position_at_end(back);
        Ok(slot)
    }

    /// The block that is being filled.
    pub fn block(&self) -> Result<BasicBlock<'c>, Problem> {
        self.b.get_insert_block().ok_or(Problem::Builder(BuilderError::UnsetPosition))
    }

    /// A new block at the end of the function.
    pub fn new_block(&self) -> BasicBlock<'c> {
        self.m.context.append_basic_block(self.function, "")
    }

    /// Type of a value.
    pub fn ty(&self, value: Value) -> Ty {
        self.func.values[value]
    }

    /// The LLVM type of `ty`.
    pub fn llvm_type(&self, ty: Ty) -> BasicTypeEnum<'c> {
        llvm_type(self.m.context, ty)
    }

    /// The LLVM value of a value.
    pub fn value(&self, value: Value) -> BasicValueEnum<'c> {
        self.values[value].expect("the verifier refuses uses before definitions")
    }

    /// The LLVM values of several values.
    pub fn all(&self, values: &[Value]) -> Vec<BasicValueEnum<'c>> {
        values.iter().map(|&value| self.value(value)).collect()
    }

    /// The value of type `ptr`.
    pub fn pointer(&self, value: Value) -> PointerValue<'c> {
        self.value(value).into_pointer_value()
    }

    /// Gives a value its LLVM value.
    pub fn bind(&mut self, value: Value, llvm: BasicValueEnum<'c>) {
        self.values[value] = Some(llvm);
    }

    /// Gives several values their LLVM values.
    pub fn bind_all(&mut self, values: &[Value], llvm: &[BasicValueEnum<'c>]) {
        for (&value, &llvm) in values.iter().zip(llvm) {
            self.bind(value, llvm);
        }
    }

    /// Translates the instructions of a region. Returns whether its end is reached, with the values it yields then bound.
    ///
    /// A `return` or `fault` exit is translated here; a `yield` is left to the owner.
    pub fn region(&mut self, region: &'m Region) -> Result<bool, Problem> {
        for inst in &region.insts {
            self.inst(inst)?;
        }
        match &region.exit {
            Exit::Yield(_) => return Ok(true),
            Exit::Return(values) => match self.all(values).as_slice() {
                [] => self.b.build_return(None)?,
                [one] => self.b.build_return(Some(one))?,
                several => self.b.build_aggregate_return(several)?,
            },
            Exit::Fault { callee, args } => return self.fault(*callee, args).map(|()| false),
            Exit::Open => unreachable!("the verifier refuses open regions"),
        };
        Ok(false)
    }

    fn inst(&mut self, inst: &'m Inst) -> Result<(), Problem> {
        let values: Values<'c> = match &inst.op {
            Op::Const { ty, bits } => smallvec![self.constant(*ty, *bits)?],
            Op::Unary(op, a) => smallvec![self.unary(*op, *a)?],
            Op::Binary(op, a, b) => smallvec![self.binary(*op, self.ty(*a), self.value(*a), self.value(*b))?],
            Op::Fma(a, b, c) => smallvec![self.fma(*a, *b, *c)?],
            Op::IntCmp(cmp, a, b) => smallvec![self.int_cmp(*cmp, *a, *b)?],
            Op::FloatCmp(cmp, a, b) => smallvec![self.float_cmp(*cmp, *a, *b)?],
            Op::Select { cond, on_true, on_false } => smallvec![self.select(*cond, *on_true, *on_false)?],
            Op::Convert(op, a, to) => smallvec![self.convert(*op, *a, *to)?],
            Op::Splat(a, lanes) => smallvec![self.splat(self.value(*a), *lanes)?],
            Op::Extract(a, lane) => smallvec![self.lane(self.value(*a), *lane)?],
            Op::Insert { vector, lane, scalar } => smallvec![self.insert(*vector, *lane, *scalar)?],
            Op::Shuffle(a, b, lanes) => smallvec![self.shuffle(self.value(*a), self.value(*b), lanes)?],
            Op::Reduce(op, a) => smallvec![self.reduce(*op, *a)?],
            Op::Any(a) => smallvec![self.any(*a)?],
            Op::Math(op, args) => smallvec![self.math(*op, args)?],
            Op::Load { ty, ptr, offset, access } => smallvec![self.load(*ty, *ptr, *offset, *access)?],
            Op::Gather { ty, ptr, offset, index, scale, mask } => {
                smallvec![self.gather(*ty, (*ptr, *offset), (*index, *scale), *mask)?]
            }
            Op::Store { value, ptr, offset, access } => self.store(*value, *ptr, *offset, *access)?,
            Op::PtrAdd(ptr, bytes) => {
                let bytes = self.value(*bytes).into_int_value();
                smallvec![self.offset(self.pointer(*ptr), bytes)?.into()]
            }
            Op::StackSlot { size, align } => smallvec![self.frame_memory(*size, *align)?.into()],
            Op::DataAddr(id) => smallvec![self.m.data[*id].as_pointer_value().into()],
            Op::GlobalAddr(id) => smallvec![self.m.globals[*id].into()],
            Op::FuncAddr(id) => smallvec![self.m.funcs[*id].as_global_value().as_pointer_value().into()],
            Op::ExternAddr(id) => smallvec![self.m.externs[*id].as_global_value().as_pointer_value().into()],
            Op::Call(callee, args) => self.call(*callee, args)?,
            Op::CallExtern(callee, args) => self.call_extern(*callee, args)?,
            Op::CallIndirect { sig, callee, args } => self.call_indirect(*sig, *callee, args)?,
            Op::RcInc(object, sharing) => self.rc_inc(*object, *sharing)?,
            Op::RcDec(object, sharing) => self.rc_dec(*object, *sharing)?,
            Op::RcUnique(object) => smallvec![self.rc_unique(*object)?],
            Op::If { cond, then_region, else_region } => {
                self.if_else(*cond, then_region, else_region, &inst.results)?
            }
            Op::For { lo, hi, step, inits, body } => self.for_loop([*lo, *hi, *step], inits, body)?,
            Op::Loop { inits, body } => self.do_while(inits, body)?,
            Op::ParFor { n, chunk, late, shared, body } => self.parfor(*n, *chunk, *late, shared.as_deref(), body)?,
            Op::Launch { .. } | Op::LocalSlot { .. } | Op::Barrier => {
                unreachable!("kernels are cut out of the module before a processor's backend sees it")
            }
        };
        self.bind_all(&inst.results, &values);
        Ok(())
    }

    /// A constant of type `ty`.
    pub fn constant(&self, ty: Ty, bits: u64) -> Built<'c> {
        let int = scalar_type(self.m.context, ty.prim.as_int()).into_int_type().const_int(bits, false);
        let lane: BasicValueEnum<'c> = match ty.prim {
            Prim::Ptr => int.const_to_pointer(self.llvm_type(Ty::PTR).into_pointer_type()).into(),
            // The builder folds this; a constant made of an `f64` would lose the payload of a NaN.
            Prim::F32 | Prim::F64 => self.b.build_bit_cast(int, self.llvm_type(ty.lane()), "")?,
            _ => int.into(),
        };
        if ty.is_vector() { self.splat(lane, ty.lanes) } else { Ok(lane) }
    }

    /// An `i64` constant.
    pub fn word(&self, value: i64) -> IntValue<'c> {
        self.m.context.i64_type().const_int(value as u64, true)
    }

    /// The vector type with lanes of the type of `lane`.
    pub fn vector_like(&self, lane: BasicValueEnum<'c>, lanes: u8) -> inkwell::types::VectorType<'c> {
        vector_of(lane.get_type(), lanes)
    }

    /// Calls an intrinsic that is overloaded on `types`.
    pub fn intrinsic(&self, name: &'static str, types: &[BasicTypeEnum<'c>], args: &[BasicValueEnum<'c>]) -> Built<'c> {
        let intrinsic = Intrinsic::find(name).ok_or(Problem::Intrinsic(name))?;
        let function = intrinsic.get_declaration(&self.m.llvm, types).ok_or(Problem::Intrinsic(name))?;
        let args: Vec<BasicMetadataValueEnum<'c>> = args.iter().map(|&arg| arg.into()).collect();
        match self.b.build_call(function, &args, "")?.try_as_basic_value() {
            ValueKind::Basic(value) => Ok(value),
            ValueKind::Instruction(_) => Err(Problem::NoValue),
        }
    }
}
