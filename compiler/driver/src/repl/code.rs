//! Memory of the code that inputs became. It stays as long as anything may use it, so it is given back only where a session begins anew.

use super::Session;
use crate::backend::Kind;
use ravel_runtime::fault;

impl Session {
    /// Gives back the code of all inputs, unless something may still use it. Variables and everything else that holds values are empty by now.
    pub(super) fn free_code(&mut self) {
        // Callers from outside keep values, and entries; libraries of C and drivers of devices keep addresses of constants.
        let is_kept = self.values_left || self.uses_libraries || self.options.backend.kind() != Kind::Processor;
        // What could not be stopped in time may come back from a native into its code.
        if is_kept || !self.jit.can_free() || !fault::all_have_stopped() {
            return;
        }
        // Without a new one the old one goes on.
        let Ok(new) = self.options.backend.session() else { return };
        let old = std::mem::replace(&mut self.jit, new);
        // SAFETY: inputs run to their end, or their threads have stopped. Their values were dropped, none has left the session, and the new code has
        // global variables of its own.
        #[expect(unsafe_code, reason = "the code generator cannot know who uses its code")]
        unsafe {
            old.free();
        }
    }
}
