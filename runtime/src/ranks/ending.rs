//! How programs of several ranks end.
//!
//! Nobody recovers: what ends one rank ends all, once, with one status. A fault in replicated code comes on every rank at the same place, and rank 0
//! says so. What may come on one rank alone is said by that one, after it has given rank 0 the time to say the same.

use std::os::fd::AsRawFd;
use std::time::Duration;

use super::{JOINED, STARTED_HERE, place, streams};
use crate::fault::Speaker;

/// How long a rank waits to be ended because of a fault that all should have.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a rank waits at least to be ended because of a fault that it may be the only one to have: on busy cores rank 0 may come seconds later.
const SHORT_PATIENCE: Duration = Duration::from_secs(3);
/// How long ending all ranks may take before this one ends for itself.
const LIMIT: Duration = Duration::from_secs(3);

/// Waits until it is this rank's turn to say what has ended the program: usually another rank ends it before. The answer is what stands in front
/// of the words.
pub(crate) fn take_turn(speaker: Speaker) -> String {
    let Some(rank) = place().map(|place| place.rank) else { return String::new() };
    let patience = match speaker {
        Speaker::This => return String::new(),
        Speaker::Root | Speaker::Whoever if rank == 0 => return String::new(),
        // Where cores are few, rank 0 may come here as much later as this rank has computed.
        Speaker::Whoever => (SHORT_PATIENCE + computed()).min(PATIENCE),
        Speaker::Root | Speaker::Other => PATIENCE,
    };
    std::thread::sleep(patience);
    format!("rank {rank}: ")
}

/// How long this process has computed.
fn computed() -> Duration {
    // SAFETY: all zeros are a `rusage`.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is one to be written.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let of = |time: libc::timeval| {
        let [seconds, micros] = [time.tv_sec, time.tv_usec].map(|part| u64::try_from(part).unwrap_or(0));
        Duration::from_secs(seconds) + Duration::from_micros(micros)
    };
    of(usage.ru_utime) + of(usage.ru_stime)
}

/// Ends all ranks with this status because of what only this one may know. Any thread may call it. Without other ranks it does nothing.
pub(crate) fn abort(status: i32) {
    streams::say_goodbye();
    let Some(mpi) = JOINED.get() else { return tell_launcher(status) };
    // MPICH says on standard error that it was called. The program has said why it ends.
    if let Ok(nowhere) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        // SAFETY: both descriptors are open.
        unsafe { libc::dup2(nowhere.as_raw_fd(), libc::STDERR_FILENO) };
    }
    // On a thread of its own: this one may have little stack left, and the library may wait for something that does not come.
    let thread = std::thread::Builder::new().spawn(move || mpi.abort(status));
    match thread {
        Ok(_) => std::thread::sleep(LIMIT),
        Err(_) => mpi.abort(status),
    }
}

/// Ends all ranks where they have not met. Most launchers end the others when one process fails; that of MPICH has to be told.
fn tell_launcher(status: i32) {
    let connection = std::env::var("PMI_FD").ok().and_then(|text| text.parse::<libc::c_int>().ok());
    let Some(connection) = connection.filter(|_| place().is_some()) else { return };
    let words = format!("cmd=abort exitcode={status}\n");
    // SAFETY: the bytes are there. Where the descriptor is closed, or something else, an error is all that comes of it.
    unsafe { libc::write(connection, words.as_ptr().cast(), words.len()) };
}

/// Leaves the other ranks, all of which do so, before this process ends with this status.
pub(crate) fn leave(status: i32) {
    streams::say_goodbye();
    match JOINED.get() {
        Some(mpi) if STARTED_HERE.get() => mpi.finalize(),
        // Only the thread that started MPI may wait for the others.
        _ => abort(status),
    }
}
