//! Errors of backends.

use std::fmt;

use ravel_nest::verify::VerifyError;

/// Why a module could not be compiled or called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmitError {
    /// The host or one of its settings is not supported.
    Target(String),
    /// The module breaks rules of nest: a bug of the stage that wrote it.
    Invalid(Vec<VerifyError>),
    /// The code generator refused a function.
    Codegen {
        /// The function or what was outlined of it.
        func: String,
        /// Its words.
        message: String,
    },
    /// What a function launches on a device has no meaning there.
    Kernel {
        /// The function.
        func: String,
        /// What the kernel contains.
        what: String,
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
            EmitError::Kernel { func, what } => write!(f, "a kernel of {func} contains {what}"),
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
