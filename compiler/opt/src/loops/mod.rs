//! Passes over counted loops: which iterations depend on which, and what a loop becomes then - a with-loop, several loops, one with its loops
//! exchanged, one that carries scalars instead of elements.

pub mod array_loops;
pub mod batch_rounds;
pub mod carry_chosen;
pub mod carry_elements;
pub mod column_loops;
pub mod counted;
pub mod expand_scalars;
pub mod extreme_places;
pub mod hoist_columns;
pub mod in_order;
pub mod joint_loops;
pub mod lagged_loops;
pub mod late_operands;
pub mod loop_columns;
pub mod loops_as_folds;
pub mod merge_loops;
pub mod merge_updates;
pub mod parallel_loops;
pub mod privatize_updates;
pub mod rounds;
pub mod row_loops;
pub mod rows_together;
pub mod slide_arrays;
pub mod split_loops;
pub mod strict_bounds;
pub mod sums_abreast;
pub mod work_ahead;
