//! Processes that Ravel starts and ends.

use std::process::Child;
use std::time::{Duration, Instant};

/// How long a process that is asked to end may take.
const PATIENCE: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(5);

/// Asks a process to end, so that it can write out what it has, and ends it if it does not.
pub fn end(child: &mut Child) {
    if matches!(child.try_wait(), Ok(Some(_))) {
        return;
    }
    if let Ok(id) = libc::pid_t::try_from(child.id()) {
        // SAFETY: the number is that of a process that was not waited for, so that no other one has it.
        unsafe { libc::kill(id, libc::SIGTERM) };
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if matches!(child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(STEP);
        }
    }
    // It may have ended meanwhile.
    let _ = child.kill();
    let _ = child.wait();
}

/// Has this process asked to end when the thread that started it ends.
pub fn end_with_parent() {
    #[cfg(target_os = "linux")]
    // SAFETY: only sets a number of this process.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
    }
}
