//! Passes that move code out of loops and with-loops, and make versions of it for what only the run can tell.

pub mod hoist_checks;
pub mod licm;
pub mod speculate_folds;
pub mod unswitch;
pub mod version_checks;
pub mod version_no_wrap;
pub mod version_open_ranks;
pub mod version_shifts;
pub mod version_short_rows;
pub mod version_short_runs;
