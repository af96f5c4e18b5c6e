//! Buffered byte streams: files, pipes-to-come and the three standard streams.
//!
//! One type reads and writes, as C streams do. Reading one byte from a filled buffer is a few instructions: programs read files
//! byte by byte. Errors come back as `errno` values, which is what SaC's `syserr` holds.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::fault::Fault;
use crate::{inputs, standard, stop};

/// Bytes of a read or write buffer.
const BUFFER: usize = 64 << 10;
/// How long the end of a program waits for a thread that is printing.
const PATIENCE: Duration = Duration::from_secs(1);

/// `errno` of an error; `EIO` where the system gave none.
pub fn errno_of(error: &io::Error) -> i32 {
    let other = if error.kind() == io::ErrorKind::InvalidInput { libc::EINVAL } else { libc::EIO };
    error.raw_os_error().unwrap_or(other)
}

enum Device {
    File(File),
    Stdin,
    Stdout,
    Stderr,
    Closed,
}

/// A stream with its buffers.
///
/// `input[at..]` are bytes read ahead; `output` holds bytes not yet written. At most one of them is nonempty for files, since
/// both share the file's position.
pub struct Stream {
    device: Device,
    input: Vec<u8>,
    at: usize,
    output: Vec<u8>,
    at_end: bool,
    line_buffered: bool,
}

impl Stream {
    const fn new(device: Device) -> Stream {
        Stream { device, input: Vec::new(), at: 0, output: Vec::new(), at_end: false, line_buffered: false }
    }

    /// A stream that reads nothing and refuses writes.
    pub const fn closed() -> Stream {
        Stream::new(Device::Closed)
    }

    /// A stream over an open file.
    pub const fn from_file(file: File) -> Stream {
        Stream::new(Device::File(file))
    }

    /// A stream over bytes in memory, for scanning strings.
    pub fn from_bytes(bytes: &[u8]) -> Stream {
        let mut stream = Stream::closed();
        stream.input = bytes.to_vec();
        stream
    }

    /// Opens a file with a mode of C's `fopen`: `r w a`, with `+` and `b`.
    ///
    /// # Errors
    /// `errno` of the failure; `EINVAL` for an unknown mode.
    pub fn open(name: &[u8], mode: &[u8]) -> Result<Stream, i32> {
        let plus = mode.contains(&b'+');
        let mut options = OpenOptions::new();
        match mode.first() {
            Some(b'r') => options.read(true).write(plus),
            Some(b'w') => options.write(true).create(true).truncate(true).read(plus),
            Some(b'a') => options.append(true).create(true).read(plus),
            _ => return Err(libc::EINVAL),
        };
        let file = inputs::open_with(&mut options, path_of(name)).map_err(|error| errno_of(&error))?;
        // C allows opening a directory for reading and fails on the first read; the error is more useful here.
        if file.metadata().is_ok_and(|data| data.is_dir()) {
            return Err(libc::EISDIR);
        }
        Ok(Stream::from_file(file))
    }

    /// Next byte, or `None` at the end.
    #[inline]
    pub fn get(&mut self) -> Option<u8> {
        if let Some(&byte) = self.input.get(self.at) {
            self.at += 1;
            return Some(byte);
        }
        self.refill().then(|| {
            self.at = 1;
            self.input[0]
        })
    }

    /// The next byte without consuming it.
    pub fn peek(&mut self) -> Option<u8> {
        let byte = self.get()?;
        self.at -= 1;
        Some(byte)
    }

    /// Reads ahead; `false` at the end or on an error. Afterwards `input` is nonempty and `at` is 0 if `true`.
    #[cold]
    fn refill(&mut self) -> bool {
        let _ = self.flush();
        if let Device::Closed = self.device {
            self.at_end = true;
            return false;
        }
        self.input.resize(BUFFER, 0);
        let count = match &mut self.device {
            Device::File(file) => read_retrying(file, &mut self.input),
            Device::Stdin => {
                // A prompt must be visible before the program waits for the person who answers it.
                if io::stdin().is_terminal() {
                    flush_stdout();
                }
                read_retrying(&mut io::stdin(), &mut self.input)
            }
            Device::Stdout | Device::Stderr | Device::Closed => Ok(0),
        };
        let count = count.unwrap_or(0);
        self.input.truncate(count);
        self.at = 0;
        self.at_end = count == 0;
        count > 0
    }

    /// Pushes a byte back; it is the next one read.
    pub fn unget(&mut self, byte: u8) {
        self.at_end = false;
        if self.at > 0 {
            self.at -= 1;
            self.input[self.at] = byte;
        } else {
            self.input.insert(0, byte);
        }
    }

    /// Whether a read has met the end of the data.
    pub fn at_end(&self) -> bool {
        self.at_end && self.at >= self.input.len()
    }

    /// Writes bytes to the buffer, and through it when it is full or a terminal's line ends.
    ///
    /// # Errors
    /// `errno`; `EBADF` if the stream is closed.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), i32> {
        if let Device::Closed = self.device {
            return Err(libc::EBADF);
        }
        if self.at < self.input.len() {
            self.forget_input();
        }
        self.output.extend_from_slice(bytes);
        if let (Device::Stdout | Device::Stderr, Some(last)) = (&self.device, bytes.last()) {
            IN_LINE.store(*last != b'\n', Ordering::Relaxed);
        }
        let unbuffered = matches!(self.device, Device::Stderr);
        if unbuffered || self.output.len() >= BUFFER || (self.line_buffered && bytes.contains(&b'\n')) {
            return self.flush();
        }
        Ok(())
    }

    /// Moves the file's position back over bytes that were read ahead but not consumed.
    fn forget_input(&mut self) {
        let ahead = self.input.len().saturating_sub(self.at);
        if let Device::File(file) = &mut self.device {
            let _ = file.seek_relative(-i64::try_from(ahead).unwrap_or(0));
        }
        self.input.clear();
        self.at = 0;
    }

    /// Writes buffered bytes to the device.
    ///
    /// # Errors
    /// `errno`. The buffered bytes are dropped then, so that a full disk does not grow the memory.
    pub fn flush(&mut self) -> Result<(), i32> {
        if self.output.is_empty() {
            return Ok(());
        }
        let result = match &mut self.device {
            Device::File(file) => file.write_all(&self.output),
            // An output without end stops with its session.
            Device::Stdout if stop::is_told() => Err(io::ErrorKind::Interrupted.into()),
            Device::Stdout => standard::Output.write_all(&self.output),
            Device::Stderr => io::stderr().write_all(&self.output),
            Device::Stdin | Device::Closed => Err(io::Error::from_raw_os_error(libc::EBADF)),
        };
        self.output.clear();
        result.map_err(|error| errno_of(&error))
    }

    /// Current position in bytes from the start; -1 where there is none.
    pub fn tell(&mut self) -> i64 {
        let ahead = i64::try_from(self.input.len().saturating_sub(self.at)).unwrap_or(0);
        let pending = i64::try_from(self.output.len()).unwrap_or(0);
        match &mut self.device {
            Device::File(file) => file
                .stream_position()
                .ok()
                .and_then(|position| i64::try_from(position).ok())
                .map_or(-1, |position| position - ahead + pending),
            _ => -1,
        }
    }

    /// Moves to `offset` from the start (0), the current position (1) or the end (2).
    ///
    /// # Errors
    /// `EINVAL` for another base or a position before the start, `ESPIPE` where the device has no position.
    pub fn seek(&mut self, offset: i64, base: i32) -> Result<(), i32> {
        self.flush()?;
        let target = match base {
            0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| libc::EINVAL)?),
            1 => SeekFrom::Current(offset),
            2 => SeekFrom::End(offset),
            _ => return Err(libc::EINVAL),
        };
        self.forget_input();
        self.at_end = false;
        match &mut self.device {
            Device::File(file) => file.seek(target).map(|_| ()).map_err(|error| errno_of(&error)),
            Device::Closed => Err(libc::EBADF),
            _ => Err(libc::ESPIPE),
        }
    }

    /// Flushes and closes; closing again does nothing.
    ///
    /// # Errors
    /// `errno` of the last write.
    pub fn close(&mut self) -> Result<(), i32> {
        let result = self.flush();
        self.device = Device::Closed;
        self.input = Vec::new();
        self.at = 0;
        result
    }

    /// The unread bytes that are in memory, and how many of them the caller took.
    pub fn consume_buffered(&mut self, take: impl FnOnce(&[u8]) -> usize) {
        let taken = take(&self.input[self.at..]);
        self.at = self.input.len().min(self.at + taken);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

fn read_retrying(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(buffer) {
            // What waits for input stops with its session.
            Err(error) if error.kind() == io::ErrorKind::Interrupted && !stop::is_told() => {}
            other => return other,
        }
    }
}

/// A file name from bytes, which need not be UTF-8.
pub fn path_of(name: &[u8]) -> &std::path::Path {
    use std::os::unix::ffi::OsStrExt;
    std::path::Path::new(std::ffi::OsStr::from_bytes(name))
}

/// The standard streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standard {
    /// Standard input.
    In,
    /// Standard output.
    Out,
    /// Standard error, unbuffered.
    Err,
}

static STDIN: Mutex<Stream> = Mutex::new(Stream::new(Device::Stdin));
static STDOUT: Mutex<Stream> = Mutex::new(Stream::new(Device::Stdout));
static STDERR: Mutex<Stream> = Mutex::new(Stream::new(Device::Stderr));

/// What was last written to standard output or error did not end its line.
static IN_LINE: AtomicBool = AtomicBool::new(false);

/// Whether programs have left a line without its end. Asking forgets it.
pub fn leave_line() -> bool {
    IN_LINE.swap(false, Ordering::Relaxed)
}

/// Exclusive use of a standard stream.
pub fn standard(which: Standard) -> MutexGuard<'static, Stream> {
    let stream = match which {
        Standard::In => &STDIN,
        Standard::Out => &STDOUT,
        Standard::Err => &STDERR,
    };
    // A poisoned stream is still a stream: its buffers are plain bytes.
    let mut guard = stream.lock().unwrap_or_else(PoisonError::into_inner);
    if which == Standard::Out && !guard.line_buffered && guard.output.capacity() == 0 {
        guard.output.reserve(BUFFER);
        guard.line_buffered = io::stdout().is_terminal();
    }
    guard
}

/// Writes out what the program printed.
pub fn flush_stdout() {
    let _ = flush_printed();
}

/// Waits a while for a thread that is printing at this moment, but not for one that cannot go on.
fn flush_printed() -> Result<(), i32> {
    let start = Instant::now();
    loop {
        match STDOUT.try_lock() {
            Ok(mut stdout) => return stdout.flush(),
            Err(TryLockError::Poisoned(stdout)) => return stdout.into_inner().flush(),
            Err(TryLockError::WouldBlock) if start.elapsed() >= PATIENCE => return Ok(()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Writes out what the program printed, however long that takes, and lets nobody print afterwards: a signal ends the process. Files
/// belong to the program, which may be writing to them.
pub(crate) fn flush_before_end() {
    let mut stdout = STDOUT.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = stdout.flush();
    std::mem::forget(stdout);
}

/// [`flush_all`] at the regular end of a program.
///
/// # Errors
/// What the program printed cannot be written.
pub fn finish() -> Result<(), Fault> {
    let written = flush_printed();
    flush_all();
    crate::natives::checked(written)
}

/// Writes out everything that is buffered, files that the program left open included.
pub fn flush_all() {
    crate::natives::flush_open_files();
    flush_stdout();
    if let Ok(mut stderr) = STDERR.try_lock() {
        let _ = stderr.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_can_be_read_peeked_and_pushed_back() {
        let mut stream = Stream::from_bytes(b"ab");
        assert_eq!(stream.peek(), Some(b'a'));
        assert_eq!(stream.get(), Some(b'a'));
        stream.unget(b'x');
        assert_eq!((stream.get(), stream.get()), (Some(b'x'), Some(b'b')));
        assert!(!stream.at_end());
        assert_eq!(stream.get(), None);
        assert!(stream.at_end());
    }

    #[test]
    fn a_file_is_written_sought_and_read() {
        let name = std::env::temp_dir().join(format!("ravel-stream-{}", std::process::id()));
        let name = name.to_str().expect("a plain name").as_bytes().to_vec();
        let mut stream = Stream::open(&name, b"w+").expect("a writable folder");
        stream.put(b"hello world").expect("writable");
        assert_eq!(stream.tell(), 11);
        stream.seek(6, 0).expect("a regular file");
        assert_eq!(stream.get(), Some(b'w'));
        assert_eq!(stream.tell(), 7);
        stream.put(b"O").expect("writable");
        stream.seek(-5, 2).expect("a regular file");
        let rest: Vec<u8> = std::iter::from_fn(|| stream.get()).collect();
        assert_eq!(rest, b"wOrld");
        stream.close().expect("nothing pending");
        assert_eq!(stream.get(), None);
        assert_eq!(stream.put(b"x"), Err(libc::EBADF));
        std::fs::remove_file(path_of(&name)).expect("it exists");
    }

    #[test]
    fn opening_reports_errno() {
        assert_eq!(Stream::open(b"/nonexistent/file", b"r").err(), Some(libc::ENOENT));
        assert_eq!(Stream::open(b"/tmp", b"r").err(), Some(libc::EISDIR));
        assert_eq!(Stream::open(b"/tmp/x", b"q").err(), Some(libc::EINVAL));
    }
}
