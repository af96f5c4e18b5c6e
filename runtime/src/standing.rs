//! Threads that sessions run on, kept for the next session: to start one takes longer than many a call of a function.
//!
//! A thread whose session ended early does not come back: it ends, and the next session starts another one.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::{forked, stack, stop};

type Work = Box<dyn FnOnce() + Send>;

/// How long a thread looks for what it waits for before it sleeps: calls often follow one another, and to be woken up takes longer than many
/// a call.
const ATTENTIVE: Duration = Duration::from_micros(50);
/// After so long it lets others on its processor: the one it waits for may be among them. Where nobody else is, that costs as long again.
const ALONE: Duration = Duration::from_nanos(500);
/// More threads do not wait; they end.
const MOST: usize = 8;

/// Where a waiting thread finds its work.
#[derive(Default)]
pub(crate) struct Place {
    work: Mutex<Option<Work>>,
    has_work: Flag,
}

/// The places of the threads that wait, the one that worked last at the end.
static WAITING: Mutex<Vec<Arc<Place>>> = Mutex::new(Vec::new());

/// The list of the threads that wait, while nobody else changes it.
pub(crate) type Waiting = MutexGuard<'static, Vec<Arc<Place>>>;

pub(crate) fn hold() -> Waiting {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// None of them is in this process.
pub(crate) fn forget(mut waiting: Waiting) {
    waiting.clear();
}

/// Runs work for a session on a thread that waits, or on a new one.
///
/// # Errors
/// The system refuses to start a thread.
pub(crate) fn run(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let place = WAITING.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let Some(place) = place else {
        forked::watch();
        return stack::spawn("ravel-session", stack::main_stack(), move || serve(Box::new(work)));
    };
    *place.work.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(work));
    place.has_work.set();
    Ok(())
}

fn serve(first: Work) {
    let place = Arc::new(Place::default());
    let mut work = Some(first);
    loop {
        if let Some(work) = work.take() {
            work();
        }
        // Its session is over, for whoever stops that.
        stop::enter_session(0);
        {
            let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.len() >= MOST {
                return;
            }
            waiting.push(place.clone());
        }
        place.has_work.wait(None);
        place.has_work.clear();
        work = place.work.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Something that one thread waits for and another one says.
#[derive(Default)]
pub struct Flag {
    is_set: AtomicBool,
    /// So many threads sleep.
    sleepers: Mutex<usize>,
    bell: Condvar,
}

impl Flag {
    /// Says it. Only who sleeps is woken up by the system.
    pub fn set(&self) {
        self.is_set.store(true, Ordering::SeqCst);
        if *self.sleepers.lock().unwrap_or_else(PoisonError::into_inner) > 0 {
            self.bell.notify_all();
        }
    }

    /// From now on it has not been said.
    pub fn clear(&self) {
        self.is_set.store(false, Ordering::SeqCst);
    }

    /// Waits until it is said, or for some time; whether it was said.
    pub fn wait(&self, time: Option<Duration>) -> bool {
        let start = Instant::now();
        while may_spin() {
            if self.is_set.load(Ordering::Acquire) {
                return true;
            }
            match start.elapsed() {
                spent if spent < ALONE => std::hint::spin_loop(),
                spent if spent < ATTENTIVE => std::thread::yield_now(),
                _ => break,
            }
        }
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        *sleepers += 1;
        while !self.is_set.load(Ordering::SeqCst) {
            sleepers = match time {
                None => self.bell.wait(sleepers).unwrap_or_else(PoisonError::into_inner),
                Some(time) => {
                    let left = time.saturating_sub(start.elapsed());
                    if left.is_zero() {
                        break;
                    }
                    self.bell.wait_timeout(sleepers, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        *sleepers -= 1;
        self.is_set.load(Ordering::SeqCst)
    }
}

/// With one processor nobody else gets on while a thread looks.
fn may_spin() -> bool {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    *SEVERAL.get_or_init(|| available_parallelism().is_ok_and(|count| count.get() > 1))
}
