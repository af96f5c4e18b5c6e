//! How nest types are spelled in LLVM: scalars and vectors as they are, several results as a struct.

use inkwell::AddressSpace;
use inkwell::context::Context;
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum, FunctionType, VectorType};
use ravel_nest::ir::{Func, Prim, Signature, Ty};

/// The type of one lane.
pub(crate) fn scalar_type(context: &Context, prim: Prim) -> BasicTypeEnum<'_> {
    match prim {
        Prim::I8 => context.i8_type().into(),
        Prim::I16 => context.i16_type().into(),
        Prim::I32 => context.i32_type().into(),
        Prim::I64 => context.i64_type().into(),
        Prim::F32 => context.f32_type().into(),
        Prim::F64 => context.f64_type().into(),
        Prim::Ptr => context.ptr_type(AddressSpace::default()).into(),
    }
}

/// The vector type with `lanes` lanes of a scalar type.
pub(crate) fn vector_of(lane: BasicTypeEnum<'_>, lanes: u8) -> VectorType<'_> {
    match lane {
        BasicTypeEnum::FloatType(ty) => ty.vec_type(u32::from(lanes)),
        BasicTypeEnum::PointerType(ty) => ty.vec_type(u32::from(lanes)),
        other => other.into_int_type().vec_type(u32::from(lanes)),
    }
}

/// The LLVM type of `ty`.
pub(crate) fn llvm_type(context: &Context, ty: Ty) -> BasicTypeEnum<'_> {
    let lane = scalar_type(context, ty.prim);
    if ty.is_vector() { vector_of(lane, ty.lanes).into() } else { lane }
}

fn function_type<'c>(context: &'c Context, params: &[BasicMetadataTypeEnum<'c>], results: &[Ty]) -> FunctionType<'c> {
    match results {
        [] => context.void_type().fn_type(params, false),
        [one] => llvm_type(context, *one).fn_type(params, false),
        several => {
            let fields: Vec<BasicTypeEnum<'c>> = several.iter().map(|&ty| llvm_type(context, ty)).collect();
            context.struct_type(&fields, false).fn_type(params, false)
        }
    }
}

/// The type of a function of nest.
pub(crate) fn func_type<'c>(context: &'c Context, func: &Func) -> FunctionType<'c> {
    let params: Vec<BasicMetadataTypeEnum<'c>> = func.param_types().map(|ty| llvm_type(context, ty).into()).collect();
    function_type(context, &params, &func.results)
}

/// The type of a C function.
pub(crate) fn c_type<'c>(context: &'c Context, sig: &Signature) -> FunctionType<'c> {
    let params: Vec<BasicMetadataTypeEnum<'c>> =
        sig.params.iter().map(|param| llvm_type(context, param.ty).into()).collect();
    function_type(context, &params, sig.result.as_slice())
}
