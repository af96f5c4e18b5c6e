//! What backends share: how the runtime's functions look to machine code, and the check that a module calls them that way.
//!
//! Backends themselves only translate nest; addresses of runtime functions come from [`runtime_symbol`].
#![forbid(unsafe_code)]

mod externs;

pub use externs::{Mismatch, check_externs, native_signature};

/// Address of a runtime function or native, for a JIT's symbol table.
pub fn runtime_symbol(name: &str) -> Option<*const u8> {
    ravel_runtime::symbols::lookup(name)
}
