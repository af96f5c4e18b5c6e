//! Archives of NumPy's arrays: `.npz`, a zip archive of `.npy` files.
//!
//! Reading compares what an entry announces with what its bytes can hold; writing is done in memory, and the file appears whole.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, Write};

use zip::result::ZipError;
use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, ZipArchive};

use super::data_files::{quoted, unreadable, unwritable, write};
use super::npy::{self, Target, image, parse};
use super::{Handle, Object};
use crate::abi::ObjectKind;
use crate::array::{Array, ArrayRef};
use crate::fault::{Fault, shape_text};
use crate::outputs;
use crate::stream::path_of;

/// Deflate makes at most this many bytes of one.
const MOST_INFLATION: u64 = 1032;

/// With what every zip archive begins, also one without entries.
const MAGIC: &[u8] = b"PK";

/// Words for an error of the archive.
fn archive_error(name: &[u8], error: &ZipError) -> Fault {
    let name_of = quoted(name);
    Fault::new(match error {
        ZipError::Io(error) if error.raw_os_error().is_some() => return unreadable(name, error),
        ZipError::CompressionMethodNotSupported(_) => {
            format!("{name_of} is compressed in another way than NumPy does it")
        }
        ZipError::UnsupportedArchive(_) | ZipError::InvalidPassword => {
            format!("{name_of} is a zip archive of another kind than NumPy writes, encrypted or in parts")
        }
        ZipError::Io(_) => format!("{name_of} is truncated or damaged: it ends before its arrays do"),
        _ => format!("{name_of} is truncated or damaged: the list of its arrays cannot be read"),
    })
}

/// An archive in a file that begins like one.
fn opened(name: &[u8]) -> Result<ZipArchive<BufReader<File>>, Fault> {
    let (mut file, data) = super::data_files::opened(name)?;
    if data.is_dir() {
        return Err(unreadable(name, &std::io::Error::from_raw_os_error(libc::EISDIR)));
    }
    let mut start = Vec::new();
    (&mut file).take(npy::MAGIC.len() as u64).read_to_end(&mut start).map_err(|error| unreadable(name, &error))?;
    if start.starts_with(npy::MAGIC) {
        return Err(Fault::new(format!("{} is an npy file, not an npz file", quoted(name))));
    }
    if !start.starts_with(MAGIC) {
        let begins = if start.is_empty() { "it is empty" } else { "it does not begin with PK" };
        return Err(Fault::new(format!("{} is not an npz file: {begins}", quoted(name))));
    }
    file.rewind().map_err(|error| unreadable(name, &error))?;
    ZipArchive::new(BufReader::new(file)).map_err(|error| archive_error(name, &error))
}

/// The array of this name in an archive.
pub(super) fn read_entry<T: Target>(name: &[u8], array: &[u8]) -> Result<Array, Fault> {
    let mut archive = opened(name)?;
    let full = [array, b".npy"].concat();
    let Some(place) = archive.index_for_name_raw(&full).or_else(|| archive.index_for_name_raw(array)) else {
        let mut names: Vec<String> = archive
            .file_names_raw()
            .map(|name| String::from_utf8_lossy(name.strip_suffix(b".npy").unwrap_or(name)).into_owned())
            .collect();
        names.sort();
        let names = if names.is_empty() { "nothing".to_string() } else { names.join(", ") };
        return Err(Fault::new(format!("{} has no array {}, but {names}", quoted(name), quoted(array))));
    };
    let entry = archive.by_index(place).map_err(|error| archive_error(name, &error))?;
    let failed = |reason: String| Fault::new(format!("array {} of {} {reason}", quoted(array), quoted(name)));
    let (length, packed) = (entry.size(), entry.compressed_size());
    if length > packed.saturating_mul(MOST_INFLATION).saturating_add(MOST_INFLATION) {
        return Err(failed(format!("announces {length} bytes; its {packed} compressed ones cannot hold so many")));
    }
    parse::<T, _>(BufReader::new(entry), length).map_err(failed)
}

/// An archive that is being put together, in memory until it is closed.
pub(super) struct Npz {
    name: Vec<u8>,
    archive: ZipWriter<Cursor<Vec<u8>>>,
    arrays: BTreeSet<Vec<u8>>,
}

/// `None` once closed.
pub(super) struct NpzCell(pub(super) RefCell<Option<Npz>>);

/// The archive that a handle stands for.
pub(super) fn archive<'a>(object: Object<'a>) -> Result<&'a NpzCell, Fault> {
    match object.0.opaque::<NpzCell>() {
        // SAFETY: the value lives as long as the object; its cell is used by one native at a time.
        Some(npz) => Ok(unsafe { npz.as_ref() }),
        None => Err(Fault::new("a native expects an npz file")),
    }
}

impl Npz {
    fn new(name: &[u8]) -> Npz {
        Npz { name: name.to_vec(), archive: ZipWriter::new(Cursor::new(Vec::new())), arrays: BTreeSet::new() }
    }

    /// A handle for a new archive, whose file can be written.
    pub(super) fn create(name: &[u8]) -> Result<Handle, Fault> {
        outputs::destination(path_of(name)).map_err(|why| unwritable(name, &why))?;
        Array::opaque(ObjectKind::Other, NpzCell(RefCell::new(Some(Npz::new(name))))).map(Handle)
    }

    pub(super) fn put(&mut self, array: &[u8], a: ArrayRef<'_>) -> Result<(), Fault> {
        let refused = |why: &str| Err(Fault::new(format!("an array of {} {why}", quoted(&self.name))));
        let Ok(text) = std::str::from_utf8(array) else { return refused("has a name that is no UTF-8") };
        if text.is_empty() || text.contains(['/', '\\', '\0']) {
            return refused(&format!("cannot have the name {}", quoted(array)));
        }
        if !self.arrays.insert(array.to_vec()) {
            return Err(Fault::new(format!("{} has an array {} already", quoted(&self.name), quoted(array))));
        }
        let image = image(a)?;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(zip::DateTime::default())
            .large_file(u32::try_from(image.len()).is_err());
        let mut put = || -> Result<(), ZipError> {
            self.archive.start_file(format!("{text}.npy"), options)?;
            self.archive.write_all(&image)?;
            Ok(())
        };
        let put = put();
        put.map_err(|_| self.unwritten(array))
    }

    /// An archive in memory takes everything but what its format has no place for.
    fn unwritten(&self, array: &[u8]) -> Fault {
        Fault::new(format!("array {} does not fit into the npz file {}", quoted(array), quoted(&self.name)))
    }

    pub(super) fn close(self) -> Result<(), Fault> {
        let name = self.name;
        let full = |_| Fault::new(format!("cannot write {}: its arrays do not fit into an npz file", quoted(&name)));
        let content = self.archive.finish().map_err(full)?;
        write(&name, &content.into_inner())
    }
}

/// That an array of an archive has another shape than the place that it is read for.
pub(super) fn fits(name: &[u8], array: &[u8], found: &[i32], wanted: &[i32]) -> Result<(), Fault> {
    if found == wanted {
        return Ok(());
    }
    let shown = |shape: &[i32]| shape_text(&shape.iter().map(|&extent| i64::from(extent)).collect::<Vec<_>>());
    let (found, wanted) = (shown(found), shown(wanted));
    Err(Fault::new(format!(
        "array {} of {} has the shape {found}, the record has {wanted}",
        quoted(array),
        quoted(name)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_written_and_read_back() {
        let name = std::env::temp_dir().join(format!("ravel-npz-{}.npz", std::process::id()));
        let text = name.to_str().expect("a plain name").as_bytes().to_vec();
        let mut npz = Npz::new(&text);
        let array = Array::from_slice(&[2], &[1.5f64, -2.0]).expect("small");
        npz.put(b"x", array.view()).expect("in memory");
        assert!(npz.put(b"x", array.view()).is_err_and(|fault| fault.message.contains("already")));
        assert!(npz.put(b"../x", array.view()).is_err());
        npz.close().expect("a writable folder");
        let back = read_entry::<f32>(&text, b"x").expect("well-formed");
        assert_eq!(back.view().as_slice::<f32>(), Some(&[1.5, -2.0][..]));
        let fault = read_entry::<f32>(&text, b"y").expect_err("there is none");
        assert!(fault.message.ends_with("has no array 'y', but x"), "{fault}");
        // A damaged element is found by the check sum.
        let mut bytes = std::fs::read(&name).expect("written");
        let at = bytes.windows(8).position(|part| part == 1.5f64.to_le_bytes()).expect("stored");
        bytes[at] ^= 1;
        std::fs::write(&name, &bytes).expect("writable");
        let fault = read_entry::<f64>(&text, b"x").expect_err("damaged");
        assert!(fault.message.contains("is damaged"), "{fault}");
        for (content, why) in [
            (&bytes[..bytes.len() - 10], "the list of its arrays cannot be read"),
            (&bytes[..0], "is not an npz file: it is empty"),
            (&b"a,b\n1,2\n"[..], "is not an npz file: it does not begin with PK"),
            (npy::MAGIC, "is an npy file, not an npz file"),
        ] {
            std::fs::write(&name, content).expect("writable");
            let fault = read_entry::<f64>(&text, b"x").expect_err("no archive");
            assert!(fault.message.ends_with(why), "{fault}");
        }
        std::fs::remove_file(&name).expect("it exists");
    }

    #[test]
    fn bombs_are_not_inflated() {
        let name = std::env::temp_dir().join(format!("ravel-bomb-{}.npz", std::process::id()));
        let text = name.to_str().expect("a plain name").as_bytes().to_vec();
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        archive.start_file("x.npy", options).expect("in memory");
        let zeros = Array::from_slice(&[100_000], &[0u8; 100_000]).expect("small");
        let zeros = image(zeros.view()).expect("an array of numbers");
        archive.write_all(&zeros).expect("in memory");
        let mut bytes = archive.finish().expect("in memory").into_inner();
        std::fs::write(&name, &bytes).expect("writable");
        assert_eq!(read_entry::<u8>(&text, b"x").expect("well-formed").view().count(), 100_000);
        // The entry of the directory announces another size.
        let at = bytes.windows(4).position(|part| part == b"PK\x01\x02").expect("there is one");
        bytes[at + 24..at + 28].copy_from_slice(&0xf000_0000u32.to_le_bytes());
        std::fs::write(&name, &bytes).expect("writable");
        let fault = read_entry::<u8>(&text, b"x").expect_err("a bomb");
        assert!(fault.message.contains("cannot hold so many"), "{fault}");
        std::fs::remove_file(&name).expect("it exists");
    }
}
