//! Standard output and error of a process whose own messages must not mix with what programs print.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What takes the places of the standard streams.
pub struct Captured {
    /// The former standard output.
    pub answers: File,
    /// What is printed to standard output, and to standard error, from now on.
    pub stdout: File,
    pub stderr: File,
}

/// Puts pipes in the places of standard output and standard error.
///
/// # Errors
/// The system has no descriptors left.
pub fn capture() -> io::Result<Captured> {
    // SAFETY: plain calls of the C library; the descriptor is new and belongs to nobody.
    let answers = unsafe {
        let copy = libc::fcntl(libc::STDOUT_FILENO, libc::F_DUPFD_CLOEXEC, 3);
        if copy < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(copy)
    };
    Ok(Captured { answers, stdout: replace(libc::STDOUT_FILENO)?, stderr: replace(libc::STDERR_FILENO)? })
}

/// The reading end of a pipe that takes the place of a stream.
fn replace(place: i32) -> io::Result<File> {
    let mut ends = [-1; 2];
    // SAFETY: the array has room for both ends, which belong to the two owners from here on; `place` stays open.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        let (reader, writer) = (File::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]));
        match libc::dup2(writer.as_raw_fd(), place) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(reader),
        }
    }
}
