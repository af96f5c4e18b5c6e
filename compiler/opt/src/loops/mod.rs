//! Passes over counted loops: which iterations depend on which, and what a loop becomes then - a with-loop, several loops, one with its loops
//! exchanged, one that carries scalars instead of elements.

pub mod accesses;
pub mod batch_rounds;
pub mod carry_chosen;
pub mod carry_elements;
pub mod column_loops;
pub mod expand_scalars;
pub mod extreme_places;
pub mod hoist_columns;
pub mod lagged_loops;
pub mod late_operands;
pub mod loop_columns;
pub mod loops_as_folds;
pub mod merge_loops;
pub mod nest;
pub mod normalize;
pub mod parallelize;
pub mod privatize_updates;
pub mod slide_arrays;
pub mod split_loops;
pub mod sums_abreast;
pub mod verdict;
pub mod work_ahead;
