//! The descriptors of standard input, output and error.
//!
//! Whoever starts a program may close them. A file that the program opens would then be its standard output. So the
//! places are filled before anything else happens, with what refuses every write: what is printed for nobody is an error, as on a full disk.

use std::fs::File;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::sync::Once;

/// Fills the places of standard streams that are closed.
pub extern "C" fn fill_closed() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for fd in 0..=2 {
            // Standard error may be written to for nobody; a program reads nothing from a closed input.
            let mode = if fd == libc::STDERR_FILENO { libc::O_WRONLY } else { libc::O_RDONLY };
            // SAFETY: plain calls of the C library. The lowest free place is this one, since those before it are taken.
            unsafe {
                if libc::fcntl(fd, libc::F_GETFD) == -1 {
                    libc::open(c"/dev/null".as_ptr(), mode);
                }
            }
        }
    });
}

/// Rust's start fills these places, too, but so that writes succeed: this one runs before it.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static FILL_CLOSED: extern "C" fn() = fill_closed;

/// Standard output without a buffer. Rust's own says of a closed one that all is well.
pub struct Output;

impl Output {
    fn file(&self) -> ManuallyDrop<File> {
        // SAFETY: the place is never empty (`fill_closed`), and it is not closed when the value is dropped.
        ManuallyDrop::new(unsafe { File::from_raw_fd(libc::STDOUT_FILENO) })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
