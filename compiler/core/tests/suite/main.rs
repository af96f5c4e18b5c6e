//! Core from source text: what sugar becomes, and what mistakes are told.

mod common;
mod errors;
mod lowering;
