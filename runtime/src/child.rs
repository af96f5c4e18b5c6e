//! Processes that Ravel starts and ends.

use std::process::{Child, Command};
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

/// Where memory runs out, the system is to end this process and not another one.
pub fn end_first() {
    // Other systems have no such file.
    drop(std::fs::write("/proc/self/oom_score_adj", "1000"));
}

/// Has a process that is to be started lead a group of its own, which a terminal's Ctrl-C does not reach, and be asked to end when the thread that starts it
/// ends.
pub fn lead(command: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
    #[cfg(target_os = "linux")]
    // SAFETY: as in `bind`.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            Ok(())
        });
    }
    command
}

/// Has a process that is to be started end when the thread that starts it ends, whatever ends that.
pub fn bind(command: &mut Command) -> &mut Command {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt;
        let parent = std::process::id();
        // SAFETY: the closure runs in the copy of this process that becomes the new one; it only makes system calls, which are allowed there.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                // It may have ended before that.
                if u32::try_from(libc::getppid()) != Ok(parent) {
                    libc::_exit(1);
                }
                Ok(())
            });
        }
    }
    command
}
