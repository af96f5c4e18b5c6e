//! Time that a thread could have used: what it waited for a processor, which others had, does not count.
//!
//! The system knows how long each thread was ready to run and did not. What is left also holds what the thread waited for by itself, such as
//! input or other threads.

use std::time::{Duration, Instant};

/// A clock that has been started on this thread.
pub struct Clock {
    start: Instant,
    waited: Option<Duration>,
}

impl Clock {
    pub fn start() -> Clock {
        let waited = waited();
        Clock { start: Instant::now(), waited }
    }

    /// The time since the start; all of it where the system does not tell what was waited.
    pub fn elapsed(&self) -> Duration {
        let all = self.start.elapsed();
        match (self.waited, waited()) {
            (Some(before), Some(now)) => all.saturating_sub(now.saturating_sub(before)),
            _ => all,
        }
    }
}

/// How long this thread has been ready to run and did not.
fn waited() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}
