//! The optimiser: passes from WIR to WIR, one file each, and the order in which they run.
//!
//! [`optimize`] is what the driver calls; [`run_passes`] runs any chain, for tests and the command line. Every pass leaves
//! verified WIR behind, which debug builds check after each of them.
#![forbid(unsafe_code)]

mod array_loops;
mod batch_rounds;
mod boxes;
mod branch_cells;
mod carry_chosen;
mod carry_elements;
mod column_loops;
mod compose_updates;
mod cost;
mod counted;
mod cse;
mod dce;
mod dense_folds;
mod distribute;
mod drop_copies;
mod edit;
mod expand_scalars;
mod fold_checked;
mod fold_updates;
mod fold_with_loops;
mod folds_as_loops;
mod fuse;
mod fuse_folds;
mod fuse_nested;
mod hoist_checks;
mod hoist_columns;
mod in_order;
mod inline;
mod interleave;
mod join_steps;
mod joint_loops;
mod keep_on_device;
mod lagged_loops;
mod late_operands;
mod licm;
mod lift_branches;
mod lift_checks;
mod lift_folds;
mod linear;
mod loop_columns;
mod loops_as_folds;
mod merge_folds;
mod narrow_integers;
mod nests;
mod orient_arrays;
mod parallel_loops;
mod pass;
mod pipeline;
mod places;
mod privatize_updates;
mod prove_checks;
mod ranges;
mod reads;
mod recognize_elementwise;
mod refill;
mod reread;
mod roll_cells;
mod rounds;
mod row_folds;
mod row_loops;
mod rows_together;
mod safety;
mod scalarize;
mod short_rows;
mod simplify;
mod small_bodies;
mod split_arrays;
mod split_axes;
mod split_borders;
mod split_cells;
mod split_checks;
mod split_folds;
mod split_loops;
mod split_operators;
mod split_partitions;
mod stats;
mod strict_bounds;
mod sum_updates;
mod sums_abreast;
mod sums_first;
mod unroll_arrays;
mod unroll_loops;
mod unroll_small;
mod update_parts;
mod update_rows;
mod version_extents;

pub use in_order::{InOrder, loops_in_order};
pub use pass::{Context, Outcome, Pass, Remark, Run};
pub use pipeline::{
    Level, PASSES, PassError, Timed, optimize, optimize_for_device, optimize_watched, run_passes, run_timed,
};
pub use stats::{Stats, stats};
