//! What the integration tests share: finding the `ravel` binary, running programs with a time limit, and listing
//! test files. The tests themselves are `golden.rs` (programs and their outputs), `diagnostics.rs` (wrong programs
//! and hostile input) and `examples.rs` (examples, README commands).

pub mod figures;
pub mod layout;
pub mod programs;
pub mod ranks;
pub mod ways;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

pub use libtest_mimic::{Arguments, Failed, Trial};

/// A test program that runs longer than this has failed; none needs a tenth of it.
pub const TIME_LIMIT: Duration = Duration::from_secs(300);

/// What a finished process left behind.
pub struct Finished {
    /// Exit status; 128 + signal number for a process ended by a signal.
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// All that is known, for a failure message.
    pub fn describe(&self) -> String {
        format!("exit status {}\n--- stdout\n{}--- stderr\n{}", self.status, clip(&self.stdout), clip(&self.stderr))
    }

    /// Whether the process ended by a panic, an abort or another signal: never acceptable.
    pub fn crashed(&self) -> bool {
        self.status == 101 || self.status >= 128 || self.stderr.contains("panicked at")
    }
}

fn clip(text: &str) -> String {
    const LONGEST: usize = 4000;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...\n", &text[..end]),
        None => text.to_string(),
    }
}

/// The folder of the workspace.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests crate lies in the repository").to_path_buf()
}

/// The compiler under test: `RAVEL_BIN`, or the newest of the release and the debug build.
///
/// # Panics
/// If there is none, with the command that builds it.
pub fn ravel() -> PathBuf {
    if let Some(path) = std::env::var_os("RAVEL_BIN") {
        return PathBuf::from(path);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from);
    let modified = |path: &PathBuf| fs::metadata(path).and_then(|m| m.modified()).ok();
    ["release", "debug"]
        .iter()
        .map(|profile| target.join(profile).join("ravel"))
        .filter(|path| path.exists())
        .max_by_key(modified)
        .unwrap_or_else(|| panic!("no ravel binary: run `cargo build --release` first, or set RAVEL_BIN"))
}

/// Whether this machine has an OpenCL device.
pub fn has_device() -> bool {
    Command::new(ravel()).arg("devices").output().is_ok_and(|answer| answer.status.success())
}

/// Runs a command to its end with the given standard input.
///
/// # Errors
/// If it cannot be started or does not end within [`TIME_LIMIT`]; it is killed then.
pub fn finish(command: &mut Command, input: &[u8]) -> Result<Finished, Failed> {
    Started::new(command, input)?.finish(TIME_LIMIT)
}

/// A process that runs, and what it has written so far.
pub struct Started {
    child: Child,
    /// The command, for messages.
    command: String,
    stdout: mpsc::Receiver<String>,
    stderr: mpsc::Receiver<String>,
}

impl Started {
    /// Starts a command with the given standard input.
    ///
    /// # Errors
    /// If it cannot be started.
    ///
    /// # Panics
    /// Never: the streams are pipes.
    pub fn new(command: &mut Command, input: &[u8]) -> Result<Started, Failed> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Failed::from(format!("cannot start {command:?}: {error}")))?;
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let input = input.to_vec();
        // A program that does not read its input closes the pipe early, which is no failure.
        std::thread::spawn(move || drop(stdin.write_all(&input)));
        let stdout = collect(child.stdout.take().expect("stdout is piped"));
        let stderr = collect(child.stderr.take().expect("stderr is piped"));
        Ok(Started { child, command: format!("{command:?}"), stdout, stderr })
    }

    /// The number of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// If that does not come within the limit; the process is killed then.
    pub fn finish(mut self, limit: Duration) -> Result<Finished, Failed> {
        let timed_out = || Failed::from(format!("{} did not end within {limit:?}", self.command));
        let Ok(stdout) = self.stdout.recv_timeout(limit) else {
            let failed = timed_out();
            self.stop();
            return Err(failed);
        };
        let stderr = self.stderr.recv_timeout(limit).map_err(|_| timed_out())?;
        let status = self.child.wait().map_err(|error| Failed::from(error.to_string()))?;
        Ok(Finished { status: exit_code(status), stdout, stderr })
    }

    fn stop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn collect(mut stream: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        drop(stream.read_to_end(&mut bytes));
        drop(sender.send(String::from_utf8_lossy(&bytes).into_owned()));
    });
    receiver
}

fn exit_code(status: std::process::ExitStatus) -> i32 {
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

/// All files below `folder` with the given extension, sorted, so that test names come in a stable order.
pub fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("a readable folder entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The path below `folder` without its extension, with forward slashes.
pub fn test_name(folder: &Path, file: &Path) -> String {
    let path = file.strip_prefix(folder).unwrap_or(file).with_extension("");
    path.to_string_lossy().replace('\\', "/")
}

/// A command that signals end, also below `nohup` and shells that let what runs in the background ignore them.
pub fn with_signals(command: &mut Command) -> &mut Command {
    let restore = || {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
            // SAFETY: nothing but the disposition of a signal changes, which is allowed behind a fork.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: the closure calls nothing but `signal`.
    unsafe { command.pre_exec(restore) }
}
