//! Stream objects: what a `File` or `TermFile` handle points to.

use std::cell::UnsafeCell;
use std::process::Child;

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

/// A new handle.
pub(super) fn new_file(file: FileObject) -> Result<Handle, Fault> {
    Array::opaque(ObjectKind::File, UnsafeCell::new(file)).map(Handle)
}

/// The stream of a handle argument.
#[inline]
pub(super) fn file_of(object: ArrayRef<'_>) -> Result<FileRef<'_>, Fault> {
    match object.opaque::<UnsafeCell<FileObject>>() {
        // SAFETY: the value lives as long as the object, and an `UnsafeCell` may be shared; `FileRef::with` upholds its rules.
        Some(file) => Ok(FileRef(unsafe { file.as_ref() })),
        None => Err(Fault::new("a native expects a stream")),
    }
}
