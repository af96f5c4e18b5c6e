//! The LLVM backend: nest to machine code, in this process ([`Jit`]) or as an object file ([`emit_object`]).
//!
//! Pure translation, like the Cranelift backend, but with vectors as wide as the machine has them. LLVM's passes only clean up
//! (see [`target`]): what runs in parallel, in lanes or unrolled has been decided in nest, and the order of kernels is kept.
//!
//! LLVM 19 must be installed to build this crate; see the workspace's README.
#![deny(unsafe_code)]

mod arith;
mod backend;
mod calls;
mod control;
mod convert;
mod jit;
mod lanes;
mod linker;
mod memory;
mod module;
mod object;
mod parallel;
mod parts;
mod target;
mod translate;
mod types;

use inkwell::context::Context;
use inkwell::targets::FileType;
use ravel_nest::ir::Module;
use ravel_nest::verify::verify;

pub use ravel_codegen::{Capabilities, EmitError, Entry, SymbolLookup, Word};

pub use crate::backend::Llvm;
pub use crate::jit::Jit;
use crate::module::{Exports, translate};
pub use crate::object::{emit_object, emit_objects};
use crate::parts::Parts;
use crate::target::Target;
pub use crate::target::capabilities;

/// Refuses modules that translation could not handle.
fn check(module: &Module) -> Result<(), EmitError> {
    verify(module).map_err(EmitError::Invalid)
}

/// The LLVM IR of a module, as text, after LLVM's passes.
///
/// # Errors
/// The module is not well formed, or the host not supported.
pub fn emit_llvm(module: &Module) -> Result<String, EmitError> {
    listing(module, |target, translated| {
        target.optimize(translated)?;
        Ok(translated.print_to_string().to_string())
    })
}

/// The machine instructions of a module, as text.
///
/// # Errors
/// The module is not well formed, or the host not supported.
pub fn emit_asm(module: &Module) -> Result<String, EmitError> {
    listing(module, |target, translated| {
        let text = target.compile(translated, FileType::Assembly)?;
        Ok(String::from_utf8_lossy(text.as_slice()).into_owned())
    })
}

/// Text about a whole module.
fn listing(
    module: &Module,
    text: impl Fn(&Target, &inkwell::module::Module<'_>) -> Result<String, EmitError> + Sync,
) -> Result<String, EmitError> {
    check(module)?;
    let texts = Parts::one().each(|part| {
        let target = Target::host()?;
        let context = Context::create();
        text(&target, &translate(module, &context, &target, "ravel.", Exports::None, part)?)
    })?;
    Ok(texts.concat())
}
