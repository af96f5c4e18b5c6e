//! Passes that move code out of loops and with-loops, and make versions of it for what only the run can tell.

pub mod guard_extents;
pub mod hoist_checks;
pub mod licm;
pub mod lift_branches;
pub mod lift_checks;
pub mod lift_folds;
pub mod short_rows;
pub mod short_runs;
pub mod version_extents;
