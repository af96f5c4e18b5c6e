//! The descriptors of standard input, output and error.
//!
//! Whoever starts a program may close them. A file that the program opens would then be its standard output. So the
//! places are filled before anything else happens, with what refuses every write: what is printed for nobody is an error, as on a full disk.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
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

/// A terminal's screen.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Characters; 0 where the terminal does not say.
    pub columns: usize,
    pub rows: usize,
    /// Points; 0 where the terminal does not say.
    pub width: usize,
    pub height: usize,
}

/// The screen that standard output goes to, unless it goes elsewhere.
pub fn screen() -> Option<Screen> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the call fills in the structure, or leaves it as it is.
    let status = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    Some(if status == 0 {
        let [columns, rows, width, height] =
            [size.ws_col, size.ws_row, size.ws_xpixel, size.ws_ypixel].map(usize::from);
        Screen { columns, rows, width, height }
    } else {
        Screen::default()
    })
}
