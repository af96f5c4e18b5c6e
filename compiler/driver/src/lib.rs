//! The driver: options, file access, the pipeline from a file to a running or linked program, and `--emit`.
//!
//! Stages do no I/O; everything that touches the file system or the process is here or in the runtime.
#![deny(unsafe_code)]

pub mod backend;
pub mod bench;
mod caches;
pub mod complete;
pub mod copies;
pub mod doc;
pub mod edition;
pub mod emit;
pub mod explain;
pub mod facts;
pub mod files;
pub mod fix;
pub mod foreign;
pub mod library;
pub mod limited;
pub mod link;
mod lints;
pub mod nearby;
mod options;
pub mod outputs;
pub mod passes;
mod perf_map;
pub mod pictures;
pub mod pipeline;
pub mod places;
pub mod profile;
pub mod project;
mod recursion;
pub mod repl;
pub mod run;
mod suggest;
pub mod testing;
mod texts;
pub mod trace;
mod tuned;
pub mod workspace;

pub use backend::{Absent, Backend, Kind};
pub use edition::Edition;
pub use emit::Stage;
pub use explain::Explanation;
pub use pipeline::{Compilation, ENTRY, Failure, Options};
pub use ravel_interp::tag;
pub use ravel_opt::Level;
pub use ravel_syntax::{MacroOption, keywords};
pub use texts::Texts;
pub use workspace::Workspace;
