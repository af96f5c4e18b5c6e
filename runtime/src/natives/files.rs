//! Stream objects: what a `File` or `TermFile` handle points to.

use std::cell::UnsafeCell;
use std::process::Child;
use std::sync::Mutex;

use super::{FileRef, Handle};
use crate::abi::ObjectKind;
use crate::array::{Array, ArrayRef};
use crate::fault::Fault;
use crate::stream::{Standard, Stream};

/// The value behind a stream handle.
pub(super) enum FileObject {
    /// One of the three standard streams, shared by the process.
    Standard(Standard),
    /// A stream that closes with the last handle.
    Own(Stream),
    /// A pipe from or to a command.
    Pipe(Stream, Child),
}

/// What a handle holds; the cell is where natives borrow the stream from.
pub(super) struct FileCell(UnsafeCell<FileObject>);

// SAFETY: moving a stream to another thread is fine; see `with_stream` for sharing.
unsafe impl Send for FileCell {}

/// Addresses of the cells of all open files, so that their output is written when the program ends without closing them.
static OPEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

impl FileCell {
    /// Runs `work` with the stream.
    ///
    /// # Safety
    /// No other call for the same stream is under way: natives with effects run one at a time, and `work` calls no native.
    pub(super) unsafe fn with_stream<R>(&self, work: impl FnOnce(&mut Stream) -> R) -> R {
        // SAFETY: by contract this is the only reference to the content.
        match unsafe { &mut *self.0.get() } {
            FileObject::Standard(which) => work(&mut crate::stream::standard(*which)),
            FileObject::Own(stream) | FileObject::Pipe(stream, _) => work(stream),
        }
    }

    /// Waits for the command behind a pipe; does nothing for other streams.
    ///
    /// # Safety
    /// As [`FileCell::with_stream`].
    pub(super) unsafe fn wait(&self) {
        // SAFETY: by contract this is the only reference to the content.
        if let FileObject::Pipe(_, command) = unsafe { &mut *self.0.get() } {
            // A command that cannot be waited for has ended already.
            let _ = command.wait();
        }
    }
}

impl Drop for FileCell {
    fn drop(&mut self) {
        let address = std::ptr::from_ref(self) as usize;
        if let Ok(mut open) = OPEN.lock() {
            open.retain(|&other| other != address);
        }
    }
}

/// Writes out the buffered output of all files, at the end of the program.
pub(crate) fn flush_open_files() {
    let Ok(open) = OPEN.try_lock() else { return };
    for &address in open.iter() {
        // SAFETY: cells are listed from their creation to their drop, which waits for the lock. The program has ended: no
        // native runs any more, or the one that ended the program has returned from its work.
        let _ = unsafe { (*(address as *const FileCell)).with_stream(Stream::flush) };
    }
}

/// A new handle.
pub(super) fn new_file(file: FileObject) -> Result<Handle, Fault> {
    let listed = !matches!(file, FileObject::Standard(_));
    let object = Array::opaque(ObjectKind::File, FileCell(UnsafeCell::new(file)))?;
    if listed
        && let Some(cell) = object.view().opaque::<FileCell>()
        && let Ok(mut open) = OPEN.lock()
    {
        open.push(cell.as_ptr() as usize);
    }
    Ok(Handle(object))
}

/// The stream of a handle argument.
#[inline]
pub(super) fn file_of(object: ArrayRef<'_>) -> Result<FileRef<'_>, Fault> {
    match object.opaque::<FileCell>() {
        // SAFETY: the value lives as long as the object, and a cell may be shared.
        Some(file) => Ok(FileRef(unsafe { file.as_ref() })),
        None => Err(Fault::new("a native expects a stream")),
    }
}
