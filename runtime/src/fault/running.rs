//! Sessions: work where a fault does not end the process. It runs on a thread of the runtime, and its owner waits for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{CONTAINED, Fault, Owner, Report, SESSIONS, Session, end_session, interrupt_session, interrupted};
use crate::lost::{self, Counts, Lost};
use crate::standing::{self, Flag};
use crate::{interrupter, signals, stop};

static NEXT_SESSION: AtomicU64 = AtomicU64::new(1);

/// Runs `work` on a thread of its own where a fault does not end the process.
///
/// Sessions may run at the same time; of their parallel sections one at a time gets the worker threads.
///
/// # Errors
/// The report of the first fault, of an interrupt, or of a thread that could not be started.
pub fn run_session<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Report> {
    run_session_holding(&mut || None, Counts::default(), work)
}

/// [`run_session`] for a call of a library: nothing ends the process, also not `exit`, and after a fault all threads of the session have
/// stopped, so that what the caller lent is the caller's again. Nobody holds what is lost then, unless the library `has_objects`.
///
/// # Errors
/// As [`run_session`].
pub(crate) fn run_call<T: Send + 'static>(
    has_objects: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Report> {
    CONTAINED.store(true, Ordering::Relaxed);
    begin_session(Counts::default(), work)?.ended(stop::stop_entirely, &mut || (!has_objects).then(Vec::new))
}

/// [`run_session`] for an owner who wants back what a session loses that ends early.
///
/// `held` gives the addresses of objects that are somebody's in spite of that, like what global variables hold; without it nothing is
/// released. `arguments` are counts from before `work` got its references.
///
/// # Errors
/// As [`run_session`].
pub fn run_session_holding<T: Send + 'static>(
    held: &mut dyn FnMut() -> Option<Vec<usize>>,
    arguments: Counts,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Report> {
    begin_session(arguments, work)?.finish(held)
}

/// Begins a session; `arguments` as for [`run_session_holding`].
///
/// # Errors
/// The report of an interrupt, or of a thread that could not be started.
pub fn begin_session<T: Send + 'static>(
    arguments: Counts,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Running<T>, Report> {
    let id = NEXT_SESSION.fetch_add(1, Ordering::Relaxed);
    let outcome = Mutex::new(Outcome { result: None, report: None });
    let place = Arc::new(Place { outcome, has_entered: AtomicBool::new(false), over: Flag::default() });
    let owner: Arc<dyn Owner> = place.clone();
    if let Ok(mut sessions) = SESSIONS.lock() {
        sessions.push(Session { id, owner });
    }
    interrupter::begins(id);
    if signals::take_pending() {
        drop(end_session(id));
        return Err(interrupted());
    }
    let end = End { id, place: place.clone() };
    let spawned = standing::run(move || {
        stop::enter_session(id);
        end.place.has_entered.store(true, Ordering::SeqCst);
        let result = work();
        end.place.outcome().result = Some(result);
        drop(end);
    });
    if let Err(error) = spawned {
        drop(end_session(id));
        return Err(Report::new(None, Fault::new(format!("cannot start a thread: {error}"))));
    }
    Ok(Running { id, place, arguments })
}

/// What became of the work, and of the session.
struct Outcome<T> {
    result: Option<T>,
    report: Option<Report>,
}

/// Where the owner of a session finds how it ended.
struct Place<T> {
    outcome: Mutex<Outcome<T>>,
    /// The thread can be found.
    has_entered: AtomicBool,
    over: Flag,
}

impl<T> Place<T> {
    fn outcome(&self) -> MutexGuard<'_, Outcome<T>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send> Owner for Place<T> {
    fn hear(&self, report: Report) {
        self.outcome().report = Some(report);
        self.over.set();
    }
}

/// Ends a session with the work, also where that panics.
struct End<T> {
    id: u64,
    place: Arc<Place<T>>,
}

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        // Whoever takes it off the list says how it ended.
        if end_session(self.id).is_some() {
            self.place.over.set();
        }
    }
}

/// A session under way.
#[must_use = "somebody has to wait for it"]
pub struct Running<T> {
    id: u64,
    place: Arc<Place<T>>,
    arguments: Counts,
}

impl<T> Running<T> {
    /// The number of the session.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Whether it ends within some time.
    pub fn ends_within(&self, time: Duration) -> bool {
        self.place.over.wait(Some(time))
    }

    /// Ends it early; false if it is over.
    pub fn interrupt(&self) -> bool {
        interrupt_session(self.id)
    }

    /// Waits for the end; `held` as for [`run_session_holding`].
    ///
    /// # Errors
    /// As [`run_session`].
    pub fn finish(self, held: &mut dyn FnMut() -> Option<Vec<usize>>) -> Result<T, Report> {
        self.ended(stop::stop, held)
    }

    /// [`Running::finish`] for a call that works on what its owner has only lent: when it returns, all threads of the session have stopped.
    ///
    /// # Errors
    /// As [`run_session`].
    pub fn finish_lent(self, held: &mut dyn FnMut() -> Option<Vec<usize>>) -> Result<T, Report> {
        self.ended(stop::stop_entirely, held)
    }

    fn ended(self, stop: fn(u64) -> bool, held: &mut dyn FnMut() -> Option<Vec<usize>>) -> Result<T, Report> {
        self.place.over.wait(None);
        let Running { id, place, arguments } = self;
        let Some(report) = place.outcome().report.take() else {
            lost::end(id);
            let result = place.outcome().result.take();
            return result.ok_or_else(|| Report::new(None, Fault::new("the program ended without a result")));
        };
        // An interrupt may come before the thread has begun: then it could not be found and stopped.
        while !place.has_entered.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        let has_stopped = stop(id);
        if let Some(result) = place.outcome().result.take() {
            // An interrupt that came as the work ended: it has given back what it took, and its result is dropped.
            lost::end(id);
            drop(result);
            return Err(report);
        }
        let lost = Lost::of(id);
        // A thread that has not stopped may use them.
        if has_stopped {
            let held = held();
            arguments.restore(held.as_ref().is_none_or(|words| words.iter().any(|word| *word != 0)));
            if let Some(held) = held {
                lost.release(&held);
            }
        }
        Err(report)
    }
}
