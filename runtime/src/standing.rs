//! Threads that sessions run on, kept for the next session: to start one takes longer than many a call of a function.
//!
//! A thread whose session ended early does not come back: it ends, and the next session starts another one.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::{stack, stop};

type Work = Box<dyn FnOnce() + Send>;

/// How long a thread looks for work before it sleeps: calls often follow one another.
const ATTENTIVE: Duration = Duration::from_micros(20);
/// More threads do not wait; they end.
const MOST: usize = 8;

/// Where a waiting thread finds its work.
#[derive(Default)]
struct Place {
    work: Mutex<Option<Work>>,
    has_work: AtomicBool,
    bell: Condvar,
}

/// The places of the threads that wait, the one that worked last at the end.
static WAITING: Mutex<Vec<Arc<Place>>> = Mutex::new(Vec::new());

/// Runs work for a session on a thread that waits, or on a new one.
///
/// # Errors
/// The system refuses to start a thread.
pub(crate) fn run(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let place = WAITING.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let Some(place) = place else {
        return stack::spawn("ravel-session", stack::MAIN_STACK, move || serve(Box::new(work)));
    };
    place.give(Box::new(work));
    Ok(())
}

fn serve(first: Work) {
    let place = Arc::new(Place::default());
    let mut work = first;
    loop {
        work();
        // Its session is over, for whoever stops that.
        stop::enter_session(0);
        {
            let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.len() >= MOST {
                return;
            }
            waiting.push(place.clone());
        }
        work = place.take();
    }
}

impl Place {
    fn give(&self, work: Work) {
        *self.work.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
        self.has_work.store(true, Ordering::Release);
        self.bell.notify_one();
    }

    fn take(&self) -> Work {
        let start = Instant::now();
        while !self.has_work.load(Ordering::Acquire) && start.elapsed() < ATTENTIVE {
            std::hint::spin_loop();
        }
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(work) = work.take() {
                self.has_work.store(false, Ordering::Release);
                return work;
            }
            work = self.bell.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
