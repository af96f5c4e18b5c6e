//! The words of core's errors: one function per kind of mistake. Codes E0201 to E0250 are explained here.

mod functions;
mod modules;
mod names;
mod selections;
mod types;

pub use functions::*;
pub use modules::*;
pub use names::*;
pub use selections::*;
pub use types::*;
