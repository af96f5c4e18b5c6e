//! A process with a time limit.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

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
