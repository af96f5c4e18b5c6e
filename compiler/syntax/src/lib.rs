//! Text to syntax tree: preprocessor, tokens, grammar, recovery and the printer.

#![forbid(unsafe_code)]

pub mod ast;
