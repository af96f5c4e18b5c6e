//! Copies of the process that `fork` makes: they have the thread that asked for them and no other. A program that calls Ravel may be copied
//! at any time between calls; its copy starts threads of its own.

use std::cell::RefCell;
use std::sync::{MutexGuard, Once};

use crate::{pool, standing};

type Guards = (standing::Waiting, MutexGuard<'static, ()>);

thread_local! {
    /// What nobody may change while the process is copied.
    static HELD: RefCell<Option<Guards>> = const { RefCell::new(None) };
}

/// From now on copies of the process wait for none of its threads.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    // SAFETY: the functions are good for the life of the process. Where the system has no room for them, copies are as they would be without.
    ONCE.call_once(|| unsafe { _ = libc::pthread_atfork(Some(before), Some(in_process), Some(in_copy)) });
}

extern "C" fn before() {
    // A thread that ends has none any more; then nothing is held.
    let _ = HELD.try_with(|held| _ = held.replace(Some((standing::hold(), pool::hold()))));
}

extern "C" fn in_process() {
    let _ = HELD.try_with(RefCell::take);
}

extern "C" fn in_copy() {
    let held = HELD.try_with(RefCell::take).ok().flatten();
    if let Some((waiting, creation)) = held {
        standing::forget(waiting);
        pool::forget(creation);
    }
}
