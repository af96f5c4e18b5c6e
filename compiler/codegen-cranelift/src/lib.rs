//! The Cranelift backend: nest to machine code, in this process ([`Jit`]) or as an object file ([`emit_object`]).
//!
//! Pure translation: what runs in parallel, in lanes or unrolled has been decided in nest. [`capabilities`] tells the
//! scheduler what is worth deciding.
#![deny(unsafe_code)]

mod arith;
mod backend;
mod calls;
mod compile;
mod control;
mod convert;
mod crossing;
mod jit;
mod lanes;
mod memory;
mod neighbours;
mod object;
mod parallel;
mod plan;
mod target;
mod translate;
mod types;

use cranelift_object::{ObjectBuilder, ObjectModule};
use ravel_nest::ir::Module;
use ravel_nest::verify::verify;
use ravel_types::HashSet;

pub use ravel_codegen::{Capabilities, EmitError, Entry, SymbolLookup, Word};

pub use crate::backend::Cranelift;
use crate::compile::Listing;
pub use crate::jit::Jit;
pub use crate::object::emit_object;
use crate::plan::Plan;
pub use crate::target::capabilities;
use crate::target::{CodeModel, Target};

/// Errors of the layer between functions and memory or object files.
fn linker_error(error: cranelift_module::ModuleError) -> EmitError {
    EmitError::Linker(error.to_string())
}

/// Refuses modules that translation could not handle.
fn check(module: &Module) -> Result<(), EmitError> {
    verify(module).map_err(EmitError::Invalid)
}

/// The Cranelift IR of a module, as text.
///
/// # Errors
/// The module is not well formed, or the host not supported.
pub fn emit_clif(module: &Module) -> Result<String, EmitError> {
    listing(module, Listing::Clif)
}

/// The machine instructions of a module, as text.
///
/// # Errors
/// The module is not well formed, or the host not supported.
pub fn emit_asm(module: &Module) -> Result<String, EmitError> {
    listing(module, Listing::Asm)
}

fn listing(module: &Module, listing: Listing) -> Result<String, EmitError> {
    check(module)?;
    let target = Target::host(CodeModel::Object)?;
    let builder = ObjectBuilder::new(target.keep.clone(), "ravel", cranelift_module::default_libcall_names())
        .map_err(linker_error)?;
    let mut linker = ObjectModule::new(builder);
    let plan = Plan::new(module, &target, &mut linker, "ravel.", None)?;
    plan.define_data(&mut linker, &mut HashSet::default())?;
    compile::list(&plan, listing)
}
