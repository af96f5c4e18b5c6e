//! Which passes run, in which order, and why there.

mod names;
mod orders;
mod run;

pub use names::{RENAMED, new_name};
pub use orders::{Entry, PASSES, orders};
pub use run::{Level, PassError, Settings, Timed, optimize, optimize_watched, optimize_with, run_passes, run_timed};
