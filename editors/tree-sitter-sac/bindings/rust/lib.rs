//! The language SaC for [tree-sitter](https://tree-sitter.github.io).
//!
//! ```
//! let mut parser = tree_sitter::Parser::new();
//! parser.set_language(&tree_sitter_sac::LANGUAGE.into()).expect("the versions fit");
//! let tree = parser.parse("int main() { return 0; }", None).expect("there is no time limit");
//! assert!(!tree.root_node().has_error());
//! ```

use tree_sitter_language::LanguageFn;

unsafe extern "C" {
    fn tree_sitter_sac() -> *const ();
}

/// What a parser of tree-sitter is given to read SaC.
// SAFETY: the function is the one that `tree-sitter generate` wrote to src/parser.c, which the build script compiles.
pub const LANGUAGE: LanguageFn = unsafe { LanguageFn::from_raw(tree_sitter_sac) };

/// Queries for editors; what they are for is in the README.
pub const HIGHLIGHTS_QUERY: &str = include_str!("../../queries/highlights.scm");
pub const FOLDS_QUERY: &str = include_str!("../../queries/folds.scm");
pub const INDENTS_QUERY: &str = include_str!("../../queries/indents.scm");
pub const LOCALS_QUERY: &str = include_str!("../../queries/locals.scm");
pub const INJECTIONS_QUERY: &str = include_str!("../../queries/injections.scm");
