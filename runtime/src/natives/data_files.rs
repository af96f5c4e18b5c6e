//! What readers and writers of data files share: files read whole or in order, and refusals that name the file.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileTypeExt;

use super::streams::error_text;
use crate::fault::Fault;
use crate::stream::{errno_of, path_of};
use crate::{inputs, outputs};

/// A file's name in quotes, for messages.
pub(super) fn quoted(name: &[u8]) -> String {
    format!("'{}'", String::from_utf8_lossy(name))
}

/// That a file cannot be read, in the system's words.
pub(super) fn unreadable(name: &[u8], error: &io::Error) -> Fault {
    let why = if error.raw_os_error().is_some() { error_text(errno_of(error)) } else { error.to_string() };
    Fault::new(format!("cannot read {}: {why}", quoted(name)))
}

/// A file opened for reading. Devices are refused: they may have no end. So are pipes that have a name.
pub(super) fn opened(name: &[u8]) -> Result<(File, Metadata), Fault> {
    let (file, data) = inputs::open(path_of(name)).map_err(|error| unreadable(name, &error))?;
    if data.file_type().is_char_device() || data.file_type().is_block_device() {
        return Err(Fault::new(format!("cannot read {}: it is a device", quoted(name))));
    }
    Ok((file, data))
}

/// A file opened for reading, and its length in bytes. What has no length, as a pipe, is read into memory.
pub(super) fn open(name: &[u8]) -> Result<(Box<dyn Read>, u64), Fault> {
    let (file, data) = opened(name)?;
    if data.is_file() {
        return Ok((Box::new(BufReader::with_capacity(1 << 16, file)), data.len()));
    }
    let content = content_of(name, file)?;
    let length = content.len() as u64;
    Ok((Box::new(io::Cursor::new(content)), length))
}

/// The whole content of a file.
pub(super) fn content(name: &[u8]) -> Result<Vec<u8>, Fault> {
    content_of(name, opened(name)?.0)
}

fn content_of(name: &[u8], mut file: File) -> Result<Vec<u8>, Fault> {
    let mut content = Vec::new();
    file.read_to_end(&mut content).map_err(|error| unreadable(name, &error))?;
    Ok(content)
}

/// Writes a whole file, or nothing.
pub(super) fn write(name: &[u8], content: &[u8]) -> Result<(), Fault> {
    outputs::write(path_of(name), content).map_err(|why| unwritable(name, &why))
}

/// That a file cannot be written.
pub(super) fn unwritable(name: &[u8], why: &outputs::Refusal) -> Fault {
    let why = match why {
        outputs::Refusal::System(error) if error.raw_os_error().is_some() => error_text(errno_of(error)),
        other => other.to_string(),
    };
    Fault::new(format!("cannot write {}: {why}", quoted(name)))
}
