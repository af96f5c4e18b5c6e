//! The state of kernels in the function at work.

use ravel_types::HashSet;
use ravel_wir::Inst;

use crate::facts::Val;
use crate::post::outer_unroll::Rows;

#[derive(Default)]
pub(crate) struct KernelState {
    /// Indices of loops that become functions of their own.
    pub kernel_loops: HashSet<Val>,
    pub in_kernel_loop: bool,
    /// Loops over indices that may run several at a time.
    pub rows: Vec<Rows>,
    /// What the kernel at work checks by lanes.
    pub lane_checks: Option<LaneChecks>,
}

/// The checks that the kernel at work makes by lanes.
#[derive(Clone, Debug)]
pub(crate) struct LaneChecks {
    pub checks: HashSet<Inst>,
    /// Address of a byte that is not 0 once a check has failed; nothing where steps that fail are repeated at once.
    pub failed: Option<Val>,
}
