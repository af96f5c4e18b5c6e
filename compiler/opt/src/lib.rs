//! The optimiser: passes from WIR to WIR, one file each, and the order in which they run.
//!
//! [`optimize`] is what the driver calls; [`run_passes`] runs any chain, for tests and the command line. Every pass leaves
//! verified WIR behind, which debug builds check after each of them.
#![forbid(unsafe_code)]

mod device;
mod differentiate;
mod edit;
mod facts;
mod fusion;
mod instrument;
mod loops;
mod motion;
mod nests;
mod pass;
mod pipeline;
mod reuse;
mod scalar;
mod small;

pub use facts::stats::{Stats, stats};
pub use instrument::check_nan;
pub use loops::verdict::{InOrder, Reason, loops_in_order};
pub use pass::{Context, Outcome, Pass, Remark, Run};
pub use pipeline::{
    Entry, Level, PASSES, PassError, RENAMED, Settings, Timed, new_name, optimize, optimize_watched, optimize_with,
    orders, run_passes, run_timed,
};
