//! How nest types are held in registers.
//!
//! A scalar is one Cranelift value. A vector is one or more 128-bit registers, the *pieces*: more than one if it is wider,
//! one with unused lanes at its end if it is narrower. Unused lanes hold anything.

use cranelift_codegen::ir::{Type, types};
use ravel_nest::ir::{Prim, Ty};
use smallvec::SmallVec;

/// The pieces of one nest value, low lanes first.
pub(crate) type Pieces = SmallVec<[cranelift_codegen::ir::Value; 2]>;

/// The Cranelift type of one lane.
pub(crate) fn scalar_type(prim: Prim) -> Type {
    match prim {
        Prim::I8 => types::I8,
        Prim::I16 => types::I16,
        Prim::I32 => types::I32,
        Prim::I64 | Prim::Ptr => types::I64,
        Prim::F32 => types::F32,
        Prim::F64 => types::F64,
    }
}

/// The 128-bit register type with lanes of `prim`.
pub(crate) fn register_type(prim: Prim) -> Type {
    match prim {
        Prim::I8 => types::I8X16,
        Prim::I16 => types::I16X8,
        Prim::I32 => types::I32X4,
        Prim::I64 | Prim::Ptr => types::I64X2,
        Prim::F32 => types::F32X4,
        Prim::F64 => types::F64X2,
    }
}

/// Lanes of `prim` in one register.
pub(crate) fn register_lanes(prim: Prim) -> usize {
    16 / prim.bytes() as usize
}

/// The Cranelift type of each piece of `ty`.
pub(crate) fn piece_type(ty: Ty) -> Type {
    if ty.is_vector() { register_type(ty.prim) } else { scalar_type(ty.prim) }
}

/// Number of pieces of `ty`.
pub(crate) fn piece_count(ty: Ty) -> usize {
    if ty.is_vector() { usize::from(ty.lanes).div_ceil(register_lanes(ty.prim)) } else { 1 }
}

/// Lanes in use in each piece of `ty`.
pub(crate) fn live_lanes(ty: Ty) -> usize {
    usize::from(ty.lanes).min(register_lanes(ty.prim))
}
