//! What a backend is ([`Backend`]), and what backends share: how the runtime's functions look to machine code and the check that a module
//! calls them that way, how the host enters compiled code, what a backend can do and how it fails.
//!
//! Backends themselves only translate nest; addresses of runtime functions come from [`runtime_symbol`].
#![deny(unsafe_code)]

mod backend;
mod entries;
mod error;
mod externs;
mod host;
mod layout;

pub use backend::{Backend, CodeRange, Device, Listing, Purpose, Session};
pub use entries::Entries;
pub use error::EmitError;
pub use externs::{Mismatch, check_externs, native_signature};
pub use host::{Entry, Globals, SymbolLookup, Word, find_symbol, is_program};
pub use ravel_nest::target::Capabilities;

/// Address of a runtime function or native, for a JIT's symbol table.
pub fn runtime_symbol(name: &str) -> Option<*const u8> {
    ravel_runtime::symbols::lookup(name)
}
