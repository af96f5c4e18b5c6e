//! BinFile (raw doubles), folders, and pipes to commands.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};

use super::files::{FileObject, new_file};
use super::{ArrayArg, FileRef, Handle, Object, Of, Str, Text, natives, streams};
use crate::abi::ObjectKind;
use crate::array::Array;
use crate::buffer::count_of;
use crate::fault::Fault;
use crate::stream::{self, Stream, errno_of, path_of};
use crate::{inputs, ranks};

/// Flags of `binfopen`, Linux's values.
const WRITE_ONLY: i32 = 1;
const READ_WRITE: i32 = 2;
const CREATE: i32 = 64;
const TRUNCATE: i32 = 512;

/// Doubles that are written at once: no second copy of the array is made.
const BLOCK: usize = 1 << 16;

/// A file of raw numbers; `None` once closed.
struct BinFile(RefCell<Option<File>>);

fn bin_file<'a>(object: Object<'a>) -> Result<&'a BinFile, Fault> {
    match object.0.opaque::<BinFile>() {
        // SAFETY: the value lives as long as the object; its cell is used by one native at a time.
        Some(file) => Ok(unsafe { file.as_ref() }),
        None => Err(Fault::new("a native expects a binary file")),
    }
}

fn with_file<R>(object: Object<'_>, work: impl FnOnce(&mut File) -> io::Result<R>) -> Result<R, Fault> {
    let mut file = bin_file(object)?.0.borrow_mut();
    let file = file.as_mut().ok_or_else(|| Fault::new("the binary file is not open"))?;
    work(file).map_err(|error| Fault::new(format!("binary file: {error}")))
}

/// The entries of a folder, read when it was opened.
struct Folder {
    names: Vec<Vec<u8>>,
    at: RefCell<usize>,
}

fn folder<'a>(object: Object<'a>) -> Result<&'a Folder, Fault> {
    match object.0.opaque::<Folder>() {
        // SAFETY: the value lives as long as the object; its cell is used by one native at a time.
        Some(folder) => Ok(unsafe { folder.as_ref() }),
        None => Err(Fault::new("a native expects a folder")),
    }
}

fn names_of(path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let mut names = fs::read_dir(path_of(path))?
        .map(|entry| Ok(entry?.file_name().as_bytes().to_vec()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

fn start_command(command: &[u8], mode: &[u8]) -> io::Result<(Stream, Child)> {
    stream::flush_all();
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(std::ffi::OsStr::from_bytes(command));
    ranks::set_apart(&mut shell);
    let reading = mode.first() == Some(&b'r');
    let mut child = if reading { shell.stdout(Stdio::piped()) } else { shell.stdin(Stdio::piped()) }.spawn()?;
    let pipe: Option<std::os::fd::OwnedFd> =
        if reading { child.stdout.take().map(Into::into) } else { child.stdin.take().map(Into::into) };
    let pipe = pipe.ok_or_else(|| io::Error::from_raw_os_error(libc::EPIPE))?;
    Ok((Stream::from_file(File::from(pipe)), child))
}

natives! { BINARY;
    /// Opens a file of raw numbers; flags 0 read, 1 write, 2 both, 64 create, 512 truncate.
    root fn ravel_binf_open(name: Text<'_>, flags: i32) -> (err: i32, file: Handle) {
        let write = flags & 3 == WRITE_ONLY || flags & 3 == READ_WRITE;
        let mut options = OpenOptions::new();
        options
            .read(flags & 3 != WRITE_ONLY)
            .write(write)
            .create(write && flags & CREATE != 0)
            .truncate(write && flags & TRUNCATE != 0);
        let opened = inputs::open_with(&mut options, path_of(name.0));
        let (errno, file) = match opened {
            Ok(file) => (0, Some(file)),
            Err(error) => (errno_of(&error), None),
        };
        Ok((errno, Handle(Array::opaque(ObjectKind::Other, BinFile(RefCell::new(file)))?)))
    }

    /// Closes a file of raw numbers; `errno` or 0.
    root fn ravel_binf_close(file: Object<'_>) -> (err: i32) {
        Ok(if bin_file(file)?.0.take().is_some() { 0 } else { libc::EBADF })
    }

    /// Reads as many doubles as the shape asks for.
    root fn ravel_binf_read_double(file: Object<'_>, d: i32, shape: ArrayArg<'_, i32>) -> (a: Of<f64>) {
        let shape = extents(d, shape.0)?;
        let count = usize::try_from(count_of(&shape)?).map_err(|_| Fault::new("the array is too large"))?;
        let mut array = Array::zeroed(crate::abi::ElemTag::F64, &shape)?;
        let mut bytes = Vec::new();
        let wanted = u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(8);
        let found = with_file(file, |file| file.take(wanted).read_to_end(&mut bytes))?;
        if u64::try_from(found).ok() != Some(wanted) {
            return Err(Fault::new(format!("binary file: {wanted} bytes are wanted, but only {found} are left")));
        }
        let elements = array.as_mut_slice::<f64>().unwrap_or_default();
        for (element, bytes) in elements.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *element = f64::from_ne_bytes(*bytes);
        }
        Ok(Of::new(array))
    }

    /// Writes an array of doubles; 0.
    root fn ravel_binf_write_double(
        file: Object<'_>, d: i32, shape: ArrayArg<'_, i32>, a: ArrayArg<'_, f64>
    ) -> (err: i32) {
        if count_of(&extents(d, shape.0)?)? != i64::try_from(a.0.len()).unwrap_or(i64::MAX) {
            return Err(Fault::new("binary file: the shape does not fit the array"));
        }
        with_file(file, |file| {
            a.0.chunks(BLOCK).try_for_each(|block| {
                let bytes: Vec<u8> = block.iter().flat_map(|element| element.to_ne_bytes()).collect();
                file.write_all(&bytes)
            })
        })?;
        Ok(0)
    }

    /// Opens a folder.
    root fn ravel_dir_open(name: Text<'_>) -> (err: i32, folder: Handle) {
        let (errno, names) = match names_of(name.0) {
            Ok(names) => (0, names),
            Err(error) => (errno_of(&error), Vec::new()),
        };
        Ok((errno, Handle(Array::opaque(ObjectKind::Other, Folder { names, at: RefCell::new(0) })?)))
    }

    /// Closes a folder; nothing is left in it to read.
    write fn ravel_dir_close(folder: Object<'_>) -> () {
        let folder = self::folder(folder)?;
        folder.at.replace(folder.names.len());
        Ok(())
    }

    /// The next name in a folder, in the order of their bytes, without `.` and `..`; "" at the end.
    root fn ravel_dir_read(folder: Object<'_>) -> (name: Str) {
        let folder = self::folder(folder)?;
        let at = folder.at.replace_with(|at| *at + 1);
        Str::new(folder.names.get(at).map_or(&[][..], Vec::as_slice))
    }

    /// Starts a folder again.
    write fn ravel_dir_rewind(folder: Object<'_>) -> () {
        self::folder(folder)?.at.replace(0);
        Ok(())
    }

    /// The position in a folder.
    root fn ravel_dir_tell(folder: Object<'_>) -> (position: i64) {
        Ok(i64::try_from(*self::folder(folder)?.at.borrow()).unwrap_or(i64::MAX))
    }

    /// Returns to a position in a folder.
    write fn ravel_dir_seek(folder: Object<'_>, position: i64) -> () {
        self::folder(folder)?.at.replace(usize::try_from(position).unwrap_or(0));
        Ok(())
    }

    /// Starts a shell command whose output is read (`mode` "r") or whose input is written ("w") through a stream.
    root fn ravel_process_popen(command: Text<'_>, mode: Text<'_>) -> (err: i32, file: Handle) {
        Ok(match start_command(command.0, mode.0) {
            Ok((stream, child)) => (0, new_file(FileObject::Pipe(stream, child))?),
            Err(error) => (errno_of(&error), new_file(FileObject::Own(Stream::closed()))?),
        })
    }

    /// Closes a pipe and waits for its command to end.
    write fn ravel_process_pclose(file: FileRef<'_>) -> () {
        let closed = file.with(Stream::close);
        file.wait();
        streams::checked(closed)
    }
}

/// A shape of `d` extents given as an integer vector.
fn extents(d: i32, shape: &[i32]) -> Result<Vec<i64>, Fault> {
    if usize::try_from(d).ok() != Some(shape.len()) {
        return Err(Fault::new(format!("binary file: {d} axes but {} extents", shape.len())));
    }
    Ok(shape.iter().map(|&extent| i64::from(extent)).collect())
}
