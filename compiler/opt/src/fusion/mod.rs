//! Passes that make fewer with-loops of several: folding into consumers, fusion side by side, folds over one index set; and those that take
//! bodies apart so that their parts can fold.

pub mod flatten_folds;
pub mod fold_checked;
pub mod fold_kinds;
pub mod fold_with_loops;
pub mod fuse;
pub mod fuse_folds;
pub mod fuse_nested;
pub mod joiner;
pub mod scalarize;
pub mod split_cells;
pub mod split_checks;
pub mod split_operators;
pub mod split_partitions;
