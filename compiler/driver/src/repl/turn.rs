//! Who may use a session: its thread, or a caller who runs compiled code by himself. One at a time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
struct State {
    is_taken: bool,
    /// Requests that the session's thread has not begun with.
    queued: usize,
}

/// Goes from one to the next.
#[derive(Default)]
pub struct Turn {
    state: Mutex<State>,
    free: Condvar,
}

impl Turn {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a caller: only if nobody has it, and nobody came before.
    pub fn try_take(&self) -> bool {
        let mut state = self.state();
        let is_free = !state.is_taken && state.queued == 0;
        state.is_taken |= is_free;
        is_free
    }

    /// A request is on its way to the session's thread.
    pub fn queue(&self) {
        self.state().queued += 1;
    }

    /// For the session's thread: waits for it, and begins with a request.
    pub fn take(&self) {
        let mut state = self.state();
        while state.is_taken {
            state = self.free.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.queued -= 1;
        state.is_taken = true;
    }

    /// Whoever has it gives it back.
    pub fn give_back(&self) {
        let mut state = self.state();
        state.is_taken = false;
        if state.queued > 0 {
            self.free.notify_one();
        }
    }
}
