//! The Cranelift backend: nest to machine code, in this process ([`Jit`]) or as an object file ([`emit_object`]).
//!
//! Pure translation: what runs in parallel, in lanes or unrolled has been decided in nest. [`capabilities`] tells the
//! scheduler what is worth deciding.
#![deny(unsafe_code)]

mod arith;
mod calls;
mod compile;
mod control;
mod convert;
mod host;
mod jit;
mod lanes;
mod memory;
mod object;
mod parallel;
mod plan;
mod target;
mod translate;
mod types;

use std::collections::HashSet;
use std::fmt;

use cranelift_object::{ObjectBuilder, ObjectModule};
use ravel_nest::ir::Module;
use ravel_nest::verify::{VerifyError, verify};

use crate::compile::Listing;
pub use crate::host::{Entry, Word};
pub use crate::jit::{Jit, SymbolLookup};
pub use crate::object::emit_object;
use crate::plan::Plan;
use crate::target::{CodeModel, Target};
pub use crate::target::{Capabilities, capabilities};

/// Why a module could not be compiled or called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmitError {
    /// The host or one of its settings is not supported.
    Target(String),
    /// The module breaks rules of nest: a bug of the stage that wrote it.
    Invalid(Vec<VerifyError>),
    /// Cranelift refused a function.
    Codegen {
        /// The function or what was outlined of it.
        func: String,
        /// Cranelift's words.
        message: String,
    },
    /// The linking layer failed: out of memory, names declared twice.
    Linker(String),
    /// An extern is neither in the runtime nor in the C library.
    UnknownSymbol {
        /// The symbol.
        name: String,
    },
    /// An entry function has vector parameters or results, which the host cannot pass.
    VectorEntry {
        /// The function.
        func: String,
    },
    /// No entry function of this name has been compiled.
    NoEntry {
        /// The name asked for.
        name: String,
    },
    /// An entry was called with the wrong number of arguments.
    ArgumentCount {
        /// The function.
        func: String,
        /// How many it takes.
        wanted: usize,
        /// How many were passed.
        given: usize,
    },
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmitError::Target(message) => write!(f, "this machine is not supported: {message}"),
            EmitError::Invalid(errors) => match errors.first() {
                Some(first) => write!(f, "invalid nest ({} errors), first: {first}", errors.len()),
                None => write!(f, "invalid nest"),
            },
            EmitError::Codegen { func, message } => write!(f, "cannot generate code for {func}: {message}"),
            EmitError::Linker(message) => write!(f, "cannot place code: {message}"),
            EmitError::UnknownSymbol { name } => write!(f, "unknown external function `{name}`"),
            EmitError::VectorEntry { func } => write!(f, "entry function {func} has vector parameters or results"),
            EmitError::NoEntry { name } => write!(f, "no entry function `{name}`"),
            EmitError::ArgumentCount { func, wanted, given } => {
                write!(f, "entry function {func} takes {wanted} arguments, not {given}")
            }
        }
    }
}

impl std::error::Error for EmitError {}

impl From<cranelift_module::ModuleError> for EmitError {
    fn from(error: cranelift_module::ModuleError) -> EmitError {
        EmitError::Linker(error.to_string())
    }
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
    let builder = ObjectBuilder::new(target.keep.clone(), "ravel", cranelift_module::default_libcall_names())?;
    let mut linker = ObjectModule::new(builder);
    let plan = Plan::new(module, &target, &mut linker, "ravel.")?;
    plan.define_data(&mut linker, &mut HashSet::new())?;
    compile::list(&plan, listing)
}
