//! The runtime of Ravel programs: objects, worker threads, faults, streams and the natives behind the standard library.
//!
//! Built twice from the same source: as a library inside `ravel` for the JIT, the interpreter and the REPL, and as a static
//! library that is linked into executables. Compiled code sees the C interface of [`abi`]; Rust code sees [`array::Array`],
//! [`natives::table`] and the run functions of [`start`] and [`fault`].
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod abi;
pub mod arena;
pub mod array;
mod blocks;
pub mod buffer;
pub mod capi;
pub mod capture;
pub mod child;
pub mod device;
pub mod dynamic;
pub mod fault;
mod forked;
pub mod inputs;
pub mod interrupter;
pub mod library;
pub mod loan;
pub mod lost;
pub mod natives;
pub mod odometer;
pub mod outputs;
pub mod peaks;
pub mod pool;
pub mod profile;
pub mod ranks;
pub mod signals;
pub mod spare;
pub mod stack;
pub mod standard;
pub mod standing;
pub mod start;
pub mod stats;
mod stop;
pub mod stream;
pub mod symbols;
