//! The state of kernels in the function at work.

use ravel_types::HashSet;

use crate::facts::Val;
use crate::kernel::lane_checks::LaneChecks;
use crate::post::jam::Rows;

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
