//! The state of parallel loops in the function at work.

use crate::threads::combine::Postponed;

#[derive(Default)]
pub(crate) struct ThreadState {
    /// The fold in hand, if its arrays are combined later.
    pub postponed: Option<Postponed>,
}
