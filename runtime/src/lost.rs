//! What a session leaves behind that a fault or an interrupt has ended: arrays that nobody will give back, and counts that nobody will lower.
//!
//! Nothing unwinds through compiled frames, so their references are lost. Large objects and large temporary memory are noted with their session
//! as long as they are alive. Once all threads of an ended session have stopped, its owner releases what it does not hold itself, and
//! gives the arguments the counts that they had.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::abi::{ArrayHeader, ElemTag, ObjectKind};
use crate::array::Array;
use crate::capi::{COUNTED_BY_BASE, lent};
use crate::{blocks, buffer, stop};

/// Memory of fewer bytes is not noted: a thousand faults lose little of it, and its allocation takes no lock either.
const NOTED: usize = 256 << 10;

/// What lies at a noted address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// An object that begins there.
    Object,
    /// Temporary memory of so many bytes.
    Scratch(usize),
}

/// By address: the session, and what is there.
static NOTES: LazyLock<Mutex<HashMap<usize, (u64, What)>>> = LazyLock::new(Mutex::default);

fn note(address: usize, bytes: usize, what: What) {
    if bytes < NOTED {
        return;
    }
    let session = stop::session();
    if session != 0 {
        NOTES.lock().unwrap_or_else(PoisonError::into_inner).insert(address, (session, what));
    }
}

/// A new object with so many bytes of elements.
pub(crate) fn note_object(object: NonNull<ArrayHeader>, bytes: usize) {
    note(object.as_ptr() as usize, bytes, What::Object);
}

/// New temporary memory.
pub(crate) fn note_scratch(block: *mut u8, bytes: usize) {
    note(block as usize, bytes, What::Scratch(bytes));
}

/// Something of so many bytes is given back. It may have been somewhat larger once.
pub(crate) fn forget(address: usize, bytes: usize) {
    if bytes >= NOTED / 2 {
        NOTES.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
    }
}

/// A session has ended as it should: what it made belongs to its owner.
pub(crate) fn end(session: u64) {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, (of, _)| *of != session);
}

/// What a session has lost whose threads have all stopped.
pub(crate) struct Lost(Vec<(usize, What)>);

impl Lost {
    /// What is noted for a session, which is over; it is noted no longer.
    pub(crate) fn of(session: u64) -> Lost {
        lent::forget();
        let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = notes.iter().filter(|(_, (of, _))| *of == session).map(|(&at, &(_, what))| (at, what)).collect();
        notes.retain(|_, (of, _)| *of != session);
        Lost(lost)
    }

    /// Releases what does not stand among the `held` addresses.
    ///
    /// An array of handles that is held may hold others: then nothing is released.
    pub(crate) fn release(self, held: &[usize]) {
        // SAFETY: an object is noted as long as it is alive, and nothing else has released it.
        let is_nest = |at: usize| unsafe { (*(at as *const ArrayHeader)).elem == ElemTag::Handle as u8 };
        if self.0.iter().any(|&(at, what)| what == What::Object && held.contains(&at) && is_nest(at)) {
            return;
        }
        for (at, what) in self.0.into_iter().filter(|(at, _)| !held.contains(at)) {
            // SAFETY: as above, and the threads that used it have stopped. Handles in it are lost as well, but they may be held: they are left alone.
            unsafe {
                match what {
                    What::Scratch(bytes) => blocks::free(at as *mut u8, bytes),
                    What::Object => {
                        let header = &*(at as *const ArrayHeader);
                        if header.kind == ObjectKind::Array as u8 && header.elem != ElemTag::Handle as u8 {
                            header.rc.store(1, Ordering::SeqCst);
                            buffer::ravel_rc_dec(at as *mut ArrayHeader);
                        }
                    }
                }
            }
        }
    }
}

/// The counts of arguments before a call.
#[derive(Default)]
pub struct Counts(Vec<(NonNull<ArrayHeader>, i64)>);

impl Counts {
    /// Those of arrays whose references the call will take; each has another owner, who keeps it.
    pub fn before<'a>(arguments: impl Iterator<Item = &'a Array>) -> Counts {
        let mut counts: Vec<(NonNull<ArrayHeader>, i64)> = Vec::new();
        for array in arguments {
            let object = array.view().as_ptr();
            match counts.iter_mut().find(|(known, _)| *known == object) {
                Some((_, count)) => *count -= 1,
                // SAFETY: the array is alive.
                None => counts.push((object, unsafe { object.as_ref() }.rc.load(Ordering::SeqCst) - 1)),
            }
        }
        Counts(counts)
    }

    /// Sets the counts back. All threads of the call have stopped. A borrowed array that may be held by something like a global object keeps a
    /// reference for it: its elements must not go back to their owner.
    pub(crate) fn restore(self, may_be_held: bool) {
        for (object, count) in self.0 {
            let in_doubt = may_be_held && is_borrowed(count);
            // SAFETY: the owner has kept its reference, so the object is alive.
            unsafe { object.as_ref() }.rc.store(count + i64::from(in_doubt), Ordering::SeqCst);
        }
    }
}

/// Whether such a count belongs to a borrowed array; to a static object one more reference does nothing.
fn is_borrowed(count: i64) -> bool {
    count >= COUNTED_BY_BASE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capi::BASE;
    use crate::fault::{self, Fault, run_session_holding};

    const LARGE: i64 = 1 << 20;

    fn large(elem: ElemTag) -> NonNull<ArrayHeader> {
        buffer::allocate(elem, ObjectKind::Array, &[LARGE]).expect("some megabytes are available")
    }

    fn noted(object: NonNull<ArrayHeader>) -> bool {
        NOTES.lock().expect("no panic").contains_key(&(object.as_ptr() as usize))
    }

    #[test]
    fn what_a_session_loses_is_released() {
        let argument = Array::zeroed(ElemTag::F64, &[LARGE]).expect("as above");
        let given = argument.clone();
        let counts = Counts::before([&given].into_iter());
        let (tell, told) = std::sync::mpsc::channel();
        let held = std::sync::Mutex::new(0);
        let outcome = run_session_holding(
            &mut || {
                let (first, second): (usize, usize) = told.recv().expect("it was sent");
                *held.lock().expect("no panic") = first;
                assert_ne!(first, second);
                Some(vec![first])
            },
            counts,
            move || {
                let (kept, lost) = (large(ElemTag::F64), large(ElemTag::I32));
                assert!(noted(kept) && noted(lost));
                // SAFETY: null is allowed.
                let _scratch = unsafe { buffer::ravel_scratch_alloc(LARGE, std::ptr::null()) };
                let _taken = given.into_raw();
                tell.send((kept.as_ptr() as usize, lost.as_ptr() as usize)).expect("it is awaited");
                fault::raise(Fault::new("early"))
            },
        );
        assert!(outcome.is_err());
        let kept = NonNull::new(*held.lock().expect("no panic") as *mut ArrayHeader).expect("an address");
        assert!(!noted(kept));
        // SAFETY: what is held is alive, with the reference of the session that is over.
        unsafe {
            assert_eq!((kept.as_ref().count, kept.as_ref().rc.load(Ordering::SeqCst)), (LARGE, 1));
            buffer::ravel_rc_dec(kept.as_ptr());
            assert_eq!(argument.view().as_ptr().as_ref().rc.load(Ordering::SeqCst), 1);
        }
    }

    #[test]
    fn outside_of_sessions_and_after_them_nothing_is_noted() {
        let object = large(ElemTag::F64);
        assert!(!noted(object));
        // SAFETY: made above.
        unsafe { buffer::ravel_rc_dec(object.as_ptr()) };
        let made = run_session_holding(&mut || None, Counts::default(), || large(ElemTag::F64).as_ptr() as usize);
        let made = NonNull::new(made.expect("no fault") as *mut ArrayHeader).expect("an address");
        assert!(!noted(made));
        // SAFETY: the session has given it away.
        unsafe { buffer::ravel_rc_dec(made.as_ptr()) };
    }

    #[test]
    fn a_borrowed_array_that_may_be_held_keeps_a_reference() {
        let argument = Array::zeroed(ElemTag::F64, &[4]).expect("some bytes are available");
        // SAFETY: the array is alive.
        let count = unsafe { argument.view().as_ptr().as_ref() };
        for (before, may_be_held, after) in [(BASE + 2, true, BASE + 2), (BASE + 2, false, BASE + 1), (3, true, 2)] {
            count.rc.store(before, Ordering::SeqCst);
            let counts = Counts::before([&argument].into_iter());
            count.rc.store(before + 5, Ordering::SeqCst);
            counts.restore(may_be_held);
            assert_eq!(count.rc.load(Ordering::SeqCst), after);
        }
        count.rc.store(1, Ordering::SeqCst);
    }
}
