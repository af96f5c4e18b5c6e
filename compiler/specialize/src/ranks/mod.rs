//! Where ranks become known: loops and folds over axes, and versions for ranks of the run.

pub mod folds;
pub mod loops;
pub mod versions;
