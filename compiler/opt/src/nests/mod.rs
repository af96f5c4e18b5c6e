//! Passes that give a with-loop another index set: dense steps, joined strides, split axes and borders, rows that are built at once, lanes of several
//! iterations.

pub mod block_reductions;
pub mod choose_layouts;
pub mod delinearize_axes;
pub mod folds_as_loops;
pub mod if_convert_cells;
pub mod interleave;
pub mod merge_strided_partitions;
pub mod normalize_steps;
pub mod reroll_cells;
pub mod split_index_sets;
