//! Processes with limits on their time and their memory.

use super::events::OUTPUT;
use ravel_runtime::child::bind;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a child is looked after.
pub const PAUSE: Duration = Duration::from_millis(2);
/// How often it is asked what it uses of memory.
const LOOK: Duration = Duration::from_millis(10);

/// Starts a process whose output goes to a file of the folder; both streams in the order of writing.
pub fn start(command: &mut Command, output: &Path) -> std::io::Result<Child> {
    let file = File::options().append(true).create(true).open(output)?;
    bind(command).stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()
}

/// Ends a process that does not end by itself.
pub fn stop(child: &mut Child) {
    drop(child.kill());
    drop(child.wait());
}

/// What a process may take.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    /// For each function, or for a program as a whole.
    pub time: Duration,
    /// Bytes of memory that it uses at a time. Address space costs nothing: code generators and stacks reserve much of it.
    pub memory: u64,
}

/// Looks whether a process stays within its limits.
pub struct Guard {
    most: Most,
    looked: Instant,
}

impl Guard {
    pub fn new(most: &Most) -> Guard {
        Guard { most: *most, looked: Instant::now() }
    }

    /// Why a process that began something has to be stopped, if it has.
    pub fn exceeded(&mut self, child: &Child, since: Instant) -> Option<String> {
        if since.elapsed() > self.most.time {
            return Some(format!("it takes longer than {} s\n", self.most.time.as_secs_f64()));
        }
        if self.looked.elapsed() < LOOK {
            return None;
        }
        self.looked = Instant::now();
        (memory_of(child)? > self.most.memory).then(|| format!("it needs more than {}\n", size_text(self.most.memory)))
    }
}

/// What a process uses of memory, and what of that was moved out of it; nothing where the system does not tell.
fn memory_of(child: &Child) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let kibibytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    Some((kibibytes("VmRSS:")? + kibibytes("VmSwap:").unwrap_or(0)) << 10)
}

/// A number of bytes in the largest unit that it is a multiple of.
fn size_text(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
}

/// What a process may do, and what it gets.
pub struct Limits<'a> {
    pub most: Most,
    /// Its standard input.
    pub input: &'a [u8],
    /// Where its streams are kept.
    pub folder: &'a Path,
    /// Whether both streams are one, in the order of writing.
    pub together: bool,
}

/// What a process left behind.
pub struct Finished {
    /// As [`status`] has it.
    ///
    /// # Errors
    /// Why it had to be stopped.
    pub status: Result<i32, String>,
    pub output: Vec<u8>,
    /// Empty if both streams are one.
    pub errors: Vec<u8>,
}

/// Runs a process to its end, or until it exceeds a limit.
///
/// # Errors
/// It cannot be started.
pub fn finish(command: &mut Command, limits: &Limits<'_>) -> std::io::Result<Finished> {
    let place = |name: &str| limits.folder.join(name);
    std::fs::write(place("input"), limits.input)?;
    let append = |name: &str| File::options().append(true).create(true).open(place(name));
    let output = append(OUTPUT)?;
    let errors = if limits.together { output.try_clone()? } else { append("errors")? };
    let mut child = bind(command).stdin(File::open(place("input"))?).stdout(output).stderr(errors).spawn()?;
    let (start, mut guard) = (Instant::now(), Guard::new(&limits.most));
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break Ok(status(ended));
        }
        if let Some(why) = guard.exceeded(&child, start) {
            stop(&mut child);
            break Err(why);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_their_unit() {
        let cases = [(4 << 30, "4 GiB"), (3 << 20, "3 MiB"), (1 << 10, "1 KiB"), (1000, "1000 bytes"), (0, "0 bytes")];
        for (bytes, text) in cases {
            assert_eq!(size_text(bytes), text);
        }
    }
}
