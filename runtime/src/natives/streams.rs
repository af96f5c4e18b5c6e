//! Files and terminal streams: opening, bytes, lines, words, positions.

use super::files::{FileObject, new_file};
use super::{Char, FileRef, Handle, Str, Text, natives, number, scan, system};
use crate::fault::{Ending, Fault};
use crate::stream::{self, Standard, Stream, errno_of, path_of};

/// C's `EOF`, the error value of `fgets` at the end of a file.
const END_OF_FILE: i32 = -1;

/// Words for an `errno`.
pub(super) fn error_text(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    // The standard library appends the number in parentheses; C does not.
    text.split(" (os error").next().unwrap_or_default().to_string()
}

/// Status of a program whose reader has gone away, as a shell reports a process that the broken pipe's signal ended.
const BROKEN_PIPE_STATUS: i32 = 128 + libc::SIGPIPE;

/// A failed write is a fault: the program has no other way to learn of it. Nobody is left to hear of a broken pipe.
pub(crate) fn checked(result: Result<(), i32>) -> Result<(), Fault> {
    result.map_err(|errno| match errno {
        libc::EPIPE => Fault { ending: Ending::Exit { status: BROKEN_PIPE_STATUS }, ..Fault::here("") },
        libc::EBADF => Fault::new("cannot write to the stream: it is not open for writing"),
        errno => Fault::here(format!("cannot write to the stream: {}", error_text(errno))),
    })
}

fn opened(result: Result<Stream, i32>) -> Result<(i32, Handle), Fault> {
    let (errno, stream) = match result {
        Ok(stream) => (0, stream),
        Err(errno) => (errno, Stream::closed()),
    };
    Ok((errno, new_file(FileObject::Own(stream))?))
}

/// Reads up to and including a newline, at most `limit` bytes.
fn line(stream: &mut Stream, limit: usize) -> Vec<u8> {
    let mut line = Vec::new();
    while line.len() < limit
        && let Some(byte) = stream.get()
    {
        line.push(byte);
        if byte == b'\n' {
            break;
        }
    }
    line
}

fn limit(n: i32) -> usize {
    usize::try_from(n).unwrap_or(0)
}

natives! { FILES;
    /// The standard input stream.
    pure fn ravel_io_stdin() -> (stream: Handle) {
        new_file(FileObject::Standard(Standard::In))
    }

    /// The standard output stream.
    pure fn ravel_io_stdout() -> (stream: Handle) {
        new_file(FileObject::Standard(Standard::Out))
    }

    /// The standard error stream, unbuffered.
    pure fn ravel_io_stderr() -> (stream: Handle) {
        new_file(FileObject::Standard(Standard::Err))
    }

    /// Opens a file as C's `fopen`; `err` is `errno` or 0. After an error the file is a closed one.
    root fn ravel_io_fopen(name: Text<'_>, mode: Text<'_>) -> (err: i32, file: Handle) {
        opened(Stream::open(name.0, mode.0))
    }

    /// Closes a file; closing again is harmless.
    write fn ravel_io_fclose(file: FileRef<'_>) -> () {
        checked(file.with(Stream::close))
    }

    /// The next byte; 255, C's `EOF` as a character, at the end.
    root fn ravel_io_fgetc(file: FileRef<'_>) -> (c: Char) {
        Ok(Char(file.with(Stream::get).unwrap_or(0xff)))
    }

    /// Writes a byte.
    write fn ravel_io_fputc(c: Char, file: FileRef<'_>) -> () {
        checked(file.with(|stream| stream.put(&[c.0])))
    }

    /// Writes a string.
    write fn ravel_io_fputs(s: Text<'_>, file: FileRef<'_>) -> () {
        checked(file.with(|stream| stream.put(s.0)))
    }

    /// Writes a string and a newline to stdout.
    write fn ravel_io_puts(s: Text<'_>) -> () {
        let mut stdout = stream::standard(Standard::Out);
        checked(stdout.put(s.0).and_then(|()| stdout.put(b"\n")))
    }

    /// Reads at most `n - 1` bytes through the end of the line; `err` is -1 if nothing is left.
    root fn ravel_io_fgets(n: i32, file: FileRef<'_>) -> (err: i32, text: Str) {
        let text = file.with(|stream| line(stream, limit(n.saturating_sub(1))));
        let errno = if text.is_empty() && n > 1 { END_OF_FILE } else { 0 };
        Ok((errno, Str::new(&text)?))
    }

    /// Reads a line and drops its newline.
    root fn ravel_io_fgetl(file: FileRef<'_>) -> (text: Str) {
        let text = file.with(|stream| line(stream, usize::MAX));
        Str::new(text.strip_suffix(b"\n").unwrap_or(&text))
    }

    /// Pushes a byte back; it is the next one read.
    write fn ravel_io_ungetc(c: Char, file: FileRef<'_>) -> () {
        file.with(|stream| stream.unget(c.0));
        Ok(())
    }

    /// Whether a read has met the end of the file.
    root fn ravel_io_feof(file: FileRef<'_>) -> (end: bool) {
        Ok(file.with(|stream| stream.at_end()))
    }

    /// Writes buffered bytes out.
    write fn ravel_io_fflush(file: FileRef<'_>) -> () {
        checked(file.with(Stream::flush))
    }

    /// The position in bytes; -1 where there is none.
    root fn ravel_io_ftell(file: FileRef<'_>) -> (position: i32) {
        Ok(i32::try_from(file.with(Stream::tell)).unwrap_or(i32::MAX))
    }

    /// Moves to `offset` from the start (`base` 0), the current position (1) or the end (2).
    write fn ravel_io_fseek(file: FileRef<'_>, offset: i32, base: i32) -> () {
        file.with(|stream| stream.seek(i64::from(offset), base))
            .map_err(|errno| Fault::new(format!("fseek: {}", error_text(errno))))
    }

    /// Moves to the start.
    write fn ravel_io_rewind(file: FileRef<'_>) -> () {
        file.with(|stream| stream.seek(0, 0)).map_err(|errno| Fault::new(format!("rewind: {}", error_text(errno))))
    }

    /// Reads a word of at most `n` bytes.
    root fn ravel_io_fscans(file: FileRef<'_>, n: i32) -> (word: Str) {
        Str::new(&file.with(|stream| scan::word(stream, limit(n))))
    }

    /// Reads a line of at most `n` bytes and drops its newline.
    root fn ravel_io_fscanl(file: FileRef<'_>, n: i32) -> (text: Str) {
        let text = file.with(|stream| line(stream, limit(n)));
        Str::new(text.strip_suffix(b"\n").unwrap_or(&text))
    }

    /// Creates a file whose name is the template with its last six characters, `XXXXXX`, replaced.
    root fn ravel_io_mkstemp(template: Text<'_>) -> (err: i32, file: Handle, name: Str) {
        let (result, name) = system::unique(template.0, |path| {
            std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(path)
        });
        let (errno, file) = opened(result.map(Stream::from_file))?;
        Ok((errno, file, Str::new(&name)?))
    }

    /// Creates a temporary file that has no name.
    root fn ravel_io_tmpfile() -> (err: i32, file: Handle) {
        let template = std::env::temp_dir().join("ravel-XXXXXX");
        let template = std::os::unix::ffi::OsStrExt::as_bytes(template.as_os_str());
        let (result, name) = system::unique(template, |path| {
            std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(path)
        });
        let _ = std::fs::remove_file(path_of(&name));
        opened(result.map(Stream::from_file))
    }

    /// Removes a file; `errno` or 0.
    root fn ravel_io_fremove(name: Text<'_>) -> (err: i32) {
        Ok(std::fs::remove_file(path_of(name.0)).map_or_else(|error| errno_of(&error), |()| 0))
    }

    /// Reads one character.
    root fn ravel_io_fscan_char(file: FileRef<'_>) -> (ok: bool, x: Char) {
        let byte = file.with(Stream::get);
        Ok((byte.is_some(), Char(byte.unwrap_or(0))))
    }

    /// Reads one truth value: a number, `true` or `false`.
    root fn ravel_io_fscan_bool(file: FileRef<'_>) -> (ok: bool, x: bool) {
        let word = file.with(|stream| scan::word(stream, 32));
        Ok(match word.as_slice() {
            b"true" => (true, true),
            b"false" => (true, false),
            word => {
                let found = number::integer(word, 10);
                (found.length > 0, found.value != 0)
            }
        })
    }

    /// Reads one number.
    root fn ravel_io_fscan_ulong(file: FileRef<'_>) -> (ok: bool, x: u64) {
        let value = file.with(scan::unsigned);
        Ok((value.is_some(), value.unwrap_or(0)))
    }

    /// Reads one number.
    root fn ravel_io_fscan_float(file: FileRef<'_>) -> (ok: bool, x: f32) {
        let text = file.with(scan::real);
        Ok((text.is_some(), text.map_or(0.0, |text| number::real32(&text).value)))
    }

    /// Reads one number.
    root fn ravel_io_fscan_double(file: FileRef<'_>) -> (ok: bool, x: f64) {
        let text = file.with(scan::real);
        Ok((text.is_some(), text.map_or(0.0, |text| number::real(&text).value)))
    }
}

macro_rules! integer_scanners {
    ($($name:ident $ty:ty;)*) => {
        natives! { INTEGERS;
            $(
                /// Reads one number.
                root fn $name(file: FileRef<'_>) -> (ok: bool, x: $ty) {
                    let value = file.with(scan::integer);
                    Ok((value.is_some(), value.unwrap_or(0) as $ty))
                }
            )*
        }
    };
}
integer_scanners! {
    ravel_io_fscan_byte i8;
    ravel_io_fscan_short i16;
    ravel_io_fscan_int i32;
    ravel_io_fscan_long i64;
    ravel_io_fscan_ubyte u8;
    ravel_io_fscan_ushort u16;
    ravel_io_fscan_uint u32;
}
