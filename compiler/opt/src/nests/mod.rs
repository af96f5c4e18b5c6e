//! Passes that give a with-loop another index set: dense steps, joined strides, split axes and borders, rows that are built at once, lanes of several
//! iterations.

pub mod branch_cells;
pub mod dense_folds;
pub mod folds_as_loops;
pub mod interleave;
pub mod join_steps;
pub mod orient_arrays;
pub mod roll_cells;
pub mod row_folds;
pub mod split_axes;
pub mod split_borders;
