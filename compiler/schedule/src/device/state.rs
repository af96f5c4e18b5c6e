//! What is on the device, and what of a launch is at work.

use ravel_types::HashSet;
use ravel_wir::Inst;

use crate::facts::Val;
use crate::plan::device::bank_padding::Padded;

#[derive(Default)]
pub(crate) struct DeviceState {
    /// With-loops that may run on a device.
    pub launched: HashSet<Inst>,
    /// Checks that launches contain.
    pub launch_checks: u32,
    /// Objects that the host was told it changes, for as long as a loop updates them in place.
    pub host_writable: HashSet<Val>,
    /// The with-loop that has a version for groups of work-items: what is emitted now is the other one.
    pub host_version: Option<Inst>,
    /// Arrays of the group at work that have gaps.
    pub padded: Padded,
}
