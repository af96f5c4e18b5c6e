//! Files that are read: by programs, and by the compiler.
//!
//! Opening a named pipe waits until somebody writes to it, which may be never. So such pipes are refused. One without a name has
//! a writer: those of shells (`<(command)`) and standard input (`/dev/stdin`) are read.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// What is said of a pipe that has a name.
const PIPE: &str = "it is a pipe, which may wait for ever";

/// A file opened for reading.
///
/// # Errors
/// Those of the system, and [`ErrorKind::InvalidInput`] for a pipe that has a name.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let file = open_with(OpenOptions::new().read(true), path)?;
    let data = file.metadata()?;
    Ok((file, data))
}

/// [`open`] in another way.
///
/// # Errors
/// As [`open`].
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // A writer of a pipe without readers, which opens nothing in this way, gets the system's words.
    let file = match options.custom_flags(libc::O_NONBLOCK).open(path) {
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) && is_named_pipe(path) => return Err(refusal()),
        opened => opened?,
    };
    if file.metadata()?.file_type().is_fifo() && is_named_pipe(path) {
        return Err(refusal());
    }
    let descriptor = file.as_raw_fd();
    // SAFETY: the descriptor is open. Whoever reads waits, as usual.
    unsafe {
        let flags = libc::fcntl(descriptor, libc::F_GETFL);
        if flags >= 0 {
            libc::fcntl(descriptor, libc::F_SETFL, flags & !libc::O_NONBLOCK);
        }
    }
    Ok(file)
}

/// The whole content of a file.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    io::Read::read_to_end(&mut open(path)?.0, &mut content)?;
    Ok(content)
}

fn refusal() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, PIPE)
}

/// Links to pipes without a name, as those below `/proc/self/fd`, lead to nothing in the file system.
fn is_named_pipe(path: &Path) -> bool {
    fs::canonicalize(path).and_then(fs::metadata).is_ok_and(|data| data.file_type().is_fifo())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs::Folder;
    use std::io::Write as _;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn pipes_with_a_name_are_refused_at_once() {
        let folder = Folder::temporary().expect("a temporary folder");
        let pipe = folder.path().join("pipe");
        let name = std::ffi::CString::new(pipe.as_os_str().as_bytes()).expect("no zero in the name");
        // SAFETY: the name is NUL-terminated.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert_eq!(open(&pipe).map(drop).map_err(|error| error.kind()), Err(ErrorKind::InvalidInput));
        let written = open_with(OpenOptions::new().write(true), &pipe);
        assert_eq!(written.map(drop).map_err(|error| error.kind()), Err(ErrorKind::InvalidInput));
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&pipe, &link).expect("a link");
        assert!(read(&link).is_err());
    }

    #[test]
    fn pipes_without_a_name_are_read() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        writer.write_all(b"text").expect("room for four bytes");
        drop(writer);
        let place = format!("/proc/self/fd/{}", reader.as_raw_fd());
        assert_eq!(read(Path::new(&place)).ok().as_deref(), Some(&b"text"[..]));
    }
}
