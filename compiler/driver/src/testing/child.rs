//! A process with a time limit.

use super::events::OUTPUT;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a child is looked after.
pub const PAUSE: Duration = Duration::from_millis(2);

/// Starts a process whose output goes to a file of the folder; both streams in the order of writing.
pub fn start(command: &mut Command, output: &Path) -> std::io::Result<Child> {
    let file = File::options().append(true).create(true).open(output)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()
}

/// Ends a process that does not end by itself.
pub fn stop(child: &mut Child) {
    drop(child.kill());
    drop(child.wait());
}

/// What a process may do, and what it gets.
pub struct Limits<'a> {
    pub time: Duration,
    /// Its standard input.
    pub input: &'a [u8],
    /// Where its streams are kept.
    pub folder: &'a Path,
    /// Whether both streams are one, in the order of writing.
    pub together: bool,
}

/// What a process left behind.
pub struct Finished {
    /// As [`status`] has it; nothing if it had to be stopped.
    pub status: Option<i32>,
    pub output: Vec<u8>,
    /// Empty if both streams are one.
    pub errors: Vec<u8>,
}

/// Runs a process to its end, or to that of its time.
///
/// # Errors
/// It cannot be started.
pub fn finish(command: &mut Command, limits: &Limits<'_>) -> std::io::Result<Finished> {
    let place = |name: &str| limits.folder.join(name);
    std::fs::write(place("input"), limits.input)?;
    let append = |name: &str| File::options().append(true).create(true).open(place(name));
    let output = append(OUTPUT)?;
    let errors = if limits.together { output.try_clone()? } else { append("errors")? };
    let mut child = command.stdin(File::open(place("input"))?).stdout(output).stderr(errors).spawn()?;
    let start = Instant::now();
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break Some(status(ended));
        }
        if start.elapsed() > limits.time {
            stop(&mut child);
            break None;
        }
        std::thread::sleep(PAUSE);
    };
    let read = |name: &str| std::fs::read(place(name)).unwrap_or_default();
    Ok(Finished { status: ended, output: read(OUTPUT), errors: read("errors") })
}

/// How a process ended, as shells count: 128 and the number of the signal that ended it.
pub fn status(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
    }
    #[cfg(not(unix))]
    {
        status.code().unwrap_or(128)
    }
}

/// What a status above 128 means.
pub fn signal(status: i32) -> Option<&'static str> {
    Some(match status - 128 {
        4 => "an illegal instruction",
        6 => "an abort",
        7 => "a bus error",
        8 => "an arithmetic exception",
        9 => "a kill from outside, as where memory runs out",
        11 => "a segmentation fault",
        15 => "a request to terminate",
        _ => return None,
    })
}
