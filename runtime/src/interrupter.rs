//! Interrupting one session, from another thread.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fault::{self, Running};

/// Ends the session that its owner runs at the moment, if there is one. Clones are one.
#[derive(Clone, Default)]
pub struct Interrupter(Arc<AtomicU64>);

thread_local! {
    /// The interrupter of the sessions that this thread runs.
    static OWN: RefCell<Option<Interrupter>> = const { RefCell::new(None) };
}

impl Interrupter {
    /// From now on it is that of the sessions which the calling thread runs.
    pub fn attach(&self) {
        OWN.set(Some(self.clone()));
    }

    /// It is that of a session which another thread has begun.
    pub fn follow<T>(&self, session: &Running<T>) {
        self.0.store(session.id(), Ordering::SeqCst);
    }

    /// Ends the session with the report of an interrupt; false if none is under way.
    pub fn interrupt(&self) -> bool {
        fault::interrupt_session(self.0.load(Ordering::SeqCst))
    }
}

/// The calling thread begins a session. An interrupter that comes too late finds that it is over.
pub(crate) fn begins(session: u64) {
    OWN.with_borrow(|own| {
        if let Some(own) = own {
            own.0.store(session, Ordering::SeqCst);
        }
    });
}
