//! Running a process under limits of time and memory.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How much of the error output is kept.
const ERRORS: usize = 1 << 16;
/// Between two looks at a process.
const LOOK: Duration = Duration::from_millis(4);

#[derive(Clone, Copy)]
pub struct Limits {
    pub time: Duration,
    /// Of resident memory. Address space says nothing: stacks of a GiB are reserved, and hardly used.
    pub memory_kib: u64,
}

/// How a process came to its end.
pub enum Ended {
    Status {
        code: i32,
        errors: String,
    },
    Signal {
        signal: i32,
        errors: String,
    },
    /// It was stopped at the limit of time.
    Late,
    /// It was stopped at the limit of memory.
    Large,
}

/// Runs a process without input to its end or to a limit.
///
/// # Errors
/// If it cannot be started or waited for.
pub fn finish(command: &mut Command, limits: Limits) -> io::Result<Ended> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let stderr = child.stderr.take();
    let reader = std::thread::spawn(move || stderr.map(beginning).unwrap_or_default());
    let start = Instant::now();
    let stop = loop {
        if let Some(status) = child.try_wait()? {
            let errors = reader.join().unwrap_or_default();
            return Ok(match status.code() {
                Some(code) => Ended::Status { code, errors },
                None => Ended::Signal { signal: status.signal().unwrap_or(0), errors },
            });
        }
        if start.elapsed() > limits.time {
            break Ended::Late;
        }
        if memory_kib(&child) > limits.memory_kib {
            break Ended::Large;
        }
        std::thread::sleep(LOOK);
    };
    child.kill()?;
    child.wait()?;
    Ok(stop)
}

/// The first part of a stream, of which all is read: nobody waits for a full pipe.
fn beginning(mut stream: impl Read) -> String {
    let (mut kept, mut chunk) = (Vec::new(), [0; 4096]);
    while let Ok(n @ 1..) = stream.read(&mut chunk) {
        kept.extend(&chunk[..n.min(ERRORS.saturating_sub(kept.len()))]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// The resident memory of a process; 0 where the system does not tell.
fn memory_kib(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
