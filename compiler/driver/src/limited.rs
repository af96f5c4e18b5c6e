//! Other processes of this program, each with a limit on its time, its memory and what it may write.

use crate::testing::child::status;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often a process is looked after.
const PAUSE: Duration = Duration::from_millis(10);
/// What is kept of an output, in bytes.
const MOST_OUTPUT: usize = 1 << 20;

/// A command line of this program.
#[derive(Clone, Debug, Default)]
pub struct Order {
    pub words: Vec<OsString>,
    /// Where it runs.
    pub folder: PathBuf,
    /// What it has for `RAVEL_PATH`, if not what this process has.
    pub search: Option<OsString>,
    /// Its standard input.
    pub input: String,
}

/// What a process may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub time: Duration,
    /// In bytes; it is looked up every few milliseconds, where the system tells it.
    pub memory: Option<u64>,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// By itself; a signal counts as 128 and its number.
    Status(i32),
    TooLong(Duration),
    TooMuch(u64),
    Stopped,
    /// It never began.
    Failed(String),
}

/// What a process left behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub ended: Ended,
    /// Both streams in the order of their coming.
    pub output: String,
    /// There was more.
    pub is_cut: bool,
}

/// Runs a process to its end, to that of its limits, or until `stop` is set.
pub fn run(order: Order, limits: Limits, stop: &AtomicBool) -> Outcome {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return failed(&error),
    };
    let mut command = Command::new(program);
    command.args(&order.words).current_dir(&order.folder);
    if let Some(search) = &order.search {
        command.env("RAVEL_PATH", search);
    }
    finish(command, order.input, limits, stop)
}

fn failed(error: &std::io::Error) -> Outcome {
    Outcome { ended: Ended::Failed(error.to_string()), output: String::new(), is_cut: false }
}

fn finish(mut command: Command, input: String, limits: Limits, stop: &AtomicBool) -> Outcome {
    let kept = Arc::new(Mutex::new((Vec::new(), false)));
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return failed(&error),
    };
    let mut readers = Vec::new();
    if let Some(out) = child.stdout.take() {
        readers.push(keep(out, kept.clone()));
    }
    if let Some(err) = child.stderr.take() {
        readers.push(keep(err, kept.clone()));
    }
    if let Some(mut pipe) = child.stdin.take() {
        // Who does not read it ends the pipe.
        std::thread::spawn(move || drop(pipe.write_all(input.as_bytes())));
    }
    let ended = watch(&mut child, limits, stop);
    end(&mut child);
    for reader in readers {
        let _ = reader.join();
    }
    let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    Outcome { ended, output: String::from_utf8_lossy(&kept.0).into_owned(), is_cut: kept.1 }
}

fn watch(child: &mut Child, limits: Limits, stop: &AtomicBool) -> Ended {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(ended)) => return Ended::Status(status(ended)),
            Ok(None) => {}
            Err(error) => return Ended::Failed(error.to_string()),
        }
        if stop.load(Ordering::SeqCst) {
            return Ended::Stopped;
        }
        if start.elapsed() > limits.time {
            return Ended::TooLong(limits.time);
        }
        if let Some(most) = limits.memory.filter(|most| resident(child.id()).is_some_and(|now| now > *most)) {
            return Ended::TooMuch(most);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Keeps what comes, up to a limit; the rest is read and dropped, so that the process goes on.
fn keep(mut from: impl Read + Send + 'static, kept: Arc<Mutex<(Vec<u8>, bool)>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 1 << 14];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let taken = count.min(MOST_OUTPUT - kept.0.len());
            kept.0.extend_from_slice(&buffer[..taken]);
            kept.1 |= taken < count;
        }
    })
}

/// Ends a process, and those that it has started.
fn end(child: &mut Child) {
    if matches!(child.try_wait(), Ok(Some(_))) {
        return;
    }
    #[cfg(unix)]
    drop(Command::new("sh").args(["-c", "kill -9 -\"$0\" 2>/dev/null", &child.id().to_string()]).status());
    drop(child.kill());
    drop(child.wait());
}

/// Memory of a process, where the system says so.
fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn outcome(script: &str, limits: Limits) -> Outcome {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        finish(command, "input\n".to_string(), limits, &AtomicBool::new(false))
    }

    #[test]
    fn processes_end_in_their_limits() {
        let limits = |millis: u64| Limits { time: Duration::from_millis(millis), memory: Some(100 << 20) };
        let fine = outcome("cat; sleep 0.2; echo error >&2; exit 3", limits(20_000));
        assert_eq!((fine.ended, fine.is_cut), (Ended::Status(3), false));
        assert_eq!(fine.output, "input\nerror\n");
        // What it has started ends with it, else its output would stay open.
        let slow = outcome("sleep 50 & sleep 50", limits(100));
        assert_eq!(slow.ended, Ended::TooLong(Duration::from_millis(100)));
        let loud = outcome("yes | head -c 3000000", limits(20_000));
        assert_eq!((loud.output.len(), loud.is_cut), (MOST_OUTPUT, true));
        assert_eq!(outcome("kill -9 $$", limits(20_000)).ended, Ended::Status(137));
        let mut command = Command::new("sleep");
        command.arg("100");
        assert_eq!(finish(command, String::new(), limits(90_000), &AtomicBool::new(true)).ended, Ended::Stopped);
    }
}
