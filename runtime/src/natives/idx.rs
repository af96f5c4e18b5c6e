//! IDX files, the format of the MNIST data: a magic number, the extents, the bytes; plain or compressed with gzip.

use std::io::{BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::streams::error_text;
use super::{Of, Text, natives};
use crate::array::Array;
use crate::buffer::count_of;
use crate::fault::{Fault, shape_text};
use crate::stream::errno_of;

/// Type code of unsigned bytes.
const UNSIGNED_BYTES: u8 = 8;
/// First bytes of a gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Reads a whole IDX file of unsigned bytes.
fn read(name: &[u8]) -> Result<Array, Fault> {
    let shown = String::from_utf8_lossy(name).into_owned();
    let unreadable = |error: std::io::Error| Fault::new(format!("cannot read '{shown}': {}", read_error(&error)));
    let bytes = {
        let (file, _) = super::data_files::opened(name)?;
        let mut source = BufReader::new(file);
        let start = std::io::BufRead::fill_buf(&mut source).map_err(unreadable)?;
        let mut bytes = Vec::new();
        if start.starts_with(&GZIP_MAGIC) {
            MultiGzDecoder::new(source).read_to_end(&mut bytes).map_err(unreadable)?;
        } else {
            source.read_to_end(&mut bytes).map_err(unreadable)?;
        }
        bytes
    };
    parse(&bytes).map_err(|reason| Fault::new(format!("'{shown}' {reason}")))
}

/// Words for an error of the system or of the decompressor.
fn read_error(error: &std::io::Error) -> String {
    match (error.raw_os_error(), error.kind()) {
        (Some(_), _) => error_text(errno_of(error)),
        (None, std::io::ErrorKind::UnexpectedEof) => "the compressed data is truncated".to_string(),
        (None, _) => format!("the compressed data is damaged ({error})"),
    }
}

/// The array in the content of a file, or what is wrong with it.
fn parse(bytes: &[u8]) -> Result<Array, String> {
    let Some((magic, rest)) = bytes.split_first_chunk::<4>() else {
        return Err(format!("is not an IDX file: it has only {} bytes", bytes.len()));
    };
    let &[zero, zeros, code, rank] = magic;
    if zero != 0 || zeros != 0 {
        let number = u32::from_be_bytes(*magic);
        return Err(format!("is not an IDX file: its magic number is {number:#010x}"));
    }
    if code != UNSIGNED_BYTES {
        return Err(format!("holds elements of IDX type {code:#04x}; only unsigned bytes (0x08) can be read"));
    }
    let rank = usize::from(rank);
    let Some((extents, data)) = rest.split_at_checked(4 * rank) else {
        return Err(format!("is truncated: its header announces {rank} axes but ends after {} bytes", bytes.len()));
    };
    let shape: Vec<i64> = extents
        .chunks_exact(4)
        .map(|extent| extent.iter().fold(0, |value, &byte| value * 256 + i64::from(byte)))
        .collect();
    let expected = count_of(&shape).map_err(|fault| format!("announces an impossible shape: {fault}"))?;
    let found = i64::try_from(data.len()).unwrap_or(i64::MAX);
    if found < expected {
        let shape = shape_text(&shape);
        return Err(format!("is truncated: the shape {shape} needs {expected} bytes of data, but there are {found}"));
    }
    if found > expected {
        let (shape, excess) = (shape_text(&shape), found - expected);
        return Err(format!("has {excess} bytes more than the shape {shape} in its header needs"));
    }
    Array::from_slice(&shape, data).map_err(|fault| fault.message)
}

natives! { IDX;
    /// The array of unsigned bytes in an IDX file, plain or compressed with gzip.
    root fn ravel_idx_read(name: Text<'_>) -> (a: Of<u8>) {
        read(name.0).map(Of::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn headers_are_checked() {
        let good = [0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 2, 7, 9];
        let array = parse(&good).expect("well-formed");
        assert_eq!((array.view().shape(), array.view().as_slice::<u8>()), (&[1, 2][..], Some(&[7, 9][..])));
        for (bytes, reason) in [
            (&good[..13], "is truncated"),
            (&good[..9], "is truncated"),
            (&good[..2], "is not an IDX file"),
            (&[1, 0, 8, 1, 0, 0, 0, 0][..], "magic number"),
            (&[0, 0, 13, 1, 0, 0, 0, 0][..], "only unsigned bytes"),
            (&[0, 0, 8, 1, 0, 0, 0, 0, 1][..], "1 bytes more"),
            (&[0, 0, 8, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff][..], "impossible shape"),
        ] {
            let message = parse(bytes).expect_err("malformed");
            assert!(message.contains(reason), "{message}");
        }
    }

    #[test]
    fn files_are_decompressed_and_named_in_faults() {
        let name = std::env::temp_dir().join(format!("ravel-idx-{}", std::process::id()));
        let text = name.to_str().expect("a plain name").as_bytes().to_vec();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&[0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 3]).expect("in memory");
        let compressed = encoder.finish().expect("in memory");
        std::fs::write(&name, &compressed).expect("a writable folder");
        assert_eq!(read(&text).expect("well-formed").view().as_slice::<u8>(), Some(&[1, 2, 3][..]));
        std::fs::write(&name, &compressed[..compressed.len() - 6]).expect("a writable folder");
        let fault = read(&text).expect_err("truncated");
        assert!(fault.message.contains("truncated"), "{fault}");
        std::fs::remove_file(&name).expect("it exists");
        let fault = read(&text).expect_err("missing");
        assert!(fault.message.contains("No such file") && fault.message.contains("ravel-idx"), "{fault}");
    }
}
