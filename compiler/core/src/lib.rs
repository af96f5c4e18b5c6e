//! Core: module loading, name resolution, overload sets and desugaring; AST in, [`ir::Program`] out.
#![forbid(unsafe_code)]

pub mod ir;
