//! Text to syntax tree: preprocessor, tokens, grammar, recovery and the printer.
//!
//! A file goes through [`lex_and_preprocess`], then [`prescan`] says which modules it needs; when their type names
//! are known, [`parse_file`] builds the tree. Nothing here reads files or prints: included files come through a
//! [`Loader`], problems go out as diagnostics. No text makes these functions panic.
//!
//! ```
//! use ravel_source::SourceMap;
//! use ravel_syntax::*;
//!
//! let mut sources = SourceMap::default();
//! let id = sources.add("a.sac", "int main() { return 40 + 2; }");
//! let (tokens, lexical) = lex_and_preprocess(id, &mut sources, &PreprocessOptions::default(), &mut NoIncludes);
//! let interface = prescan(&tokens);
//! assert!(interface.modules().is_empty());
//! let (file, syntactic) = parse_file(&tokens, &TypeNames::default());
//! assert!(lexical.is_empty() && syntactic.is_empty());
//! assert_eq!(file.definitions.len(), 1);
//! ```

#![forbid(unsafe_code)]

mod actions;
pub mod ast;
mod bulk;
mod check;
mod classify;
mod depth;
mod errors;
mod expected;
mod literal;
mod parse;
mod pragma;
mod preprocess;
mod prescan;
mod print;
mod repl;
mod spans;
mod split;
mod tokens;

pub use classify::TypeNames;
pub use parse::parse_file;
pub use preprocess::{Loader, MacroOption, NoIncludes, PreprocessOptions, lex_and_preprocess};
pub use prescan::{Interface, prescan};
pub use print::{print_expr, print_file, print_type};
pub use repl::{ReplInput, parse_repl_input};
pub use spans::{Spans, equal_modulo_spans};
pub use tokens::Tokens;

#[allow(clippy::all, clippy::pedantic, unused, missing_docs)]
mod grammar {
    include!(concat!(env!("OUT_DIR"), "/grammar.rs"));
}
