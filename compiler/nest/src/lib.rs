//! Nest, the low-level loop IR between the scheduler and the backends.
//!
//! [`ir`] defines it and states its semantics, [`builder`] makes functions, [`parse`] reads the text that `Display`
//! writes, [`verify`] checks a module, [`threads`] says which code several threads may run at once.
#![forbid(unsafe_code)]

pub mod builder;
pub mod captures;
pub mod ir;
pub mod object;
mod operands;
pub mod ops;
pub mod parse;
mod print;
mod shared;
pub mod simplify;
pub mod target;
pub mod threads;
pub mod transpose;
pub mod types;
pub mod verify;
