//! Nest, the low-level loop IR between the scheduler and the backends.
//!
//! [`ir`] defines it and states its semantics, [`builder`] makes functions.
#![forbid(unsafe_code)]

pub mod builder;
pub mod ir;
pub mod ops;
pub mod types;
