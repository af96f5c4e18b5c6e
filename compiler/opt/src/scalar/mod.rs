//! Passes over scalars and single instructions: simplification, common subexpressions, dead code, checks that always hold.

pub mod cse;
pub mod dce;
pub mod inline;
pub mod narrow_integers;
pub mod pin_clocks;
pub mod prove_checks;
pub mod recognize_elementwise;
pub mod simplify;
