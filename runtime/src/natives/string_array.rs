//! String arrays of module StringArray: immutable arrays whose elements are strings.

use std::sync::Arc;

use super::fibre::{self, image_of};
use super::{ArrayArg, FileRef, Handle, Object, Of, Str, Text, natives, streams};
use crate::abi::{ElemTag, ObjectKind};
use crate::array::{Array, ArrayRef};
use crate::buffer::count_of;
use crate::fault::{self, Fault};
use crate::stream::Stream;

/// An array of texts, which arrays made from it share.
struct Strings {
    shape: Vec<i64>,
    texts: Vec<Arc<[u8]>>,
}

impl Strings {
    fn scalar(text: &[u8]) -> Strings {
        Strings { shape: Vec::new(), texts: vec![text.into()] }
    }

    /// The elements that an index vector selects, and their shape.
    fn cell(&self, index: &[i32]) -> Result<(std::ops::Range<usize>, &[i64]), Fault> {
        let Some(inner) = self.shape.get(index.len()..) else {
            let (n, rank) = (index.len(), self.shape.len());
            return Err(Fault::new(format!(
                "an index of {n} components is longer than the rank {rank} of the string array"
            )));
        };
        let size: usize = inner.iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).product();
        let mut offset = 0;
        for (axis, (&i, &extent)) in index.iter().zip(&self.shape).enumerate() {
            if i64::from(i) < 0 || i64::from(i) >= extent {
                return Err(fault::index(i.into(), axis.try_into().unwrap_or(0), extent));
            }
            offset = offset * usize::try_from(extent).unwrap_or(0) + usize::try_from(i).unwrap_or(0);
        }
        Ok((offset * size..(offset + 1) * size, inner))
    }

    fn equal(&self, text: &[u8]) -> impl Iterator<Item = bool> {
        self.texts.iter().map(move |known| **known == *text)
    }
}

fn strings<'a>(object: Object<'a>) -> Result<&'a Strings, Fault> {
    match object.0.opaque::<Strings>() {
        // SAFETY: the value lives as long as the object and is never changed.
        Some(strings) => Ok(unsafe { strings.as_ref() }),
        None => Err(Fault::new("a native expects a string array")),
    }
}

/// Shape and texts of an object, if it is a string array.
pub(super) fn parts<'a>(object: ArrayRef<'a>) -> Option<(&'a [i64], impl Iterator<Item = &'a [u8]>)> {
    let strings = strings(Object(object)).ok()?;
    Some((&strings.shape, strings.texts.iter().map(|text| &**text)))
}

/// The string array of a shape whose texts `next` gives in order.
pub(super) fn from_parts(shape: Vec<i64>, mut next: impl FnMut() -> Result<Vec<u8>, Fault>) -> Result<Array, Fault> {
    let texts = (0..count_of(&shape)?).map(|_| next().map(Arc::from)).collect::<Result<_, _>>()?;
    new(Strings { shape, texts }).map(|object| object.0)
}

/// A string array of `shape` with these `count` texts; a fault if there is no memory for them.
fn gathered(shape: Vec<i64>, count: usize, texts: impl Iterator<Item = Arc<[u8]>>) -> Result<Handle, Fault> {
    let mut kept = Vec::new();
    kept.try_reserve_exact(count).map_err(|_| fault::memory(&shape))?;
    kept.extend(texts.take(count));
    new(Strings { shape, texts: kept })
}

fn new(strings: Strings) -> Result<Handle, Fault> {
    Array::opaque(ObjectKind::Other, strings).map(Handle)
}

/// A shape in words: `[2,3]`.
fn words(shape: &[i64]) -> String {
    let extents: Vec<String> = shape.iter().map(i64::to_string).collect();
    format!("[{}]", extents.join(","))
}

fn ints(values: &[i64]) -> Result<Of<i32>, Fault> {
    let narrow: Vec<i32> = values.iter().map(|&value| i32::try_from(value).unwrap_or(i32::MAX)).collect();
    Array::from_slice(&[i64::try_from(narrow.len()).unwrap_or(0)], &narrow).map(Of::new)
}

fn bools(shape: &[i64], values: impl Iterator<Item = bool>) -> Result<Of<bool>, Fault> {
    let bytes: Vec<u8> = values.map(u8::from).collect();
    Array::from_slice_as(ElemTag::Bool, shape, &bytes).map(Of::new)
}

/// Reads `"text"`; the quotes do not belong to it.
fn quoted(stream: &mut Stream) -> Option<Arc<[u8]>> {
    if stream.peek() != Some(b'"') {
        return None;
    }
    stream.get();
    let mut text = Vec::new();
    loop {
        match stream.get()? {
            b'"' => return Some(text.into()),
            byte => text.push(byte),
        }
    }
}

fn scan(stream: &mut Stream) -> Result<Handle, Fault> {
    let (shape, texts) = fibre::read(stream, "a string in quotes", quoted)?;
    new(Strings { shape, texts })
}

natives! { STRINGS;
    /// A string array of rank 0.
    pure fn ravel_strings_of(s: Text<'_>) -> (a: Handle) {
        new(Strings::scalar(s.0))
    }

    /// The string of a string array of rank 0.
    pure fn ravel_strings_text(a: Object<'_>) -> (s: Str) {
        let a = strings(a)?;
        match (&a.shape[..], &a.texts[..]) {
            ([], [text]) => Str::new(text),
            (shape, _) => Err(Fault::new(format!("a string array of shape {} is no single string", words(shape)))),
        }
    }

    /// The rank of a string array.
    pure fn ravel_strings_dim(a: Object<'_>) -> (d: i32) {
        Ok(i32::try_from(strings(a)?.shape.len()).unwrap_or(i32::MAX))
    }

    /// The shape of a string array.
    pure fn ravel_strings_shape(a: Object<'_>) -> (shp: Of<i32>) {
        ints(&strings(a)?.shape)
    }

    /// The part of a string array at an index that is at most as long as the rank.
    pure fn ravel_strings_sel(iv: ArrayArg<'_, i32>, a: Object<'_>) -> (b: Handle) {
        let a = strings(a)?;
        let (range, inner) = a.cell(iv.0)?;
        gathered(inner.to_vec(), range.len(), a.texts[range].iter().cloned())
    }

    /// A string array with another part at an index.
    pure fn ravel_strings_modarray(a: Object<'_>, iv: ArrayArg<'_, i32>, v: Object<'_>) -> (b: Handle) {
        let (a, v) = (strings(a)?, strings(v)?);
        let (range, inner) = a.cell(iv.0)?;
        if inner != v.shape {
            let (part, value) = (words(inner), words(&v.shape));
            return Err(Fault::new(format!("a part of shape {part} is replaced by a string array of shape {value}")));
        }
        let texts = a.texts[..range.start].iter().chain(&v.texts).chain(&a.texts[range.end..]);
        gathered(a.shape.clone(), a.texts.len(), texts.cloned())
    }

    /// A string array at every index of a shape.
    pure fn ravel_strings_genarray(shp: ArrayArg<'_, i32>, a: Object<'_>) -> (b: Handle) {
        let a = strings(a)?;
        let shape: Vec<i64> = shp.0.iter().map(|&extent| extent.into()).chain(a.shape.iter().copied()).collect();
        let count = usize::try_from(count_of(&shape)?).map_err(|_| fault::memory(&shape))?;
        gathered(shape, count, a.texts.iter().cycle().cloned())
    }

    /// Two string arrays in a row on axis 0.
    pure fn ravel_strings_cat(a: Object<'_>, b: Object<'_>) -> (c: Handle) {
        let (a, b) = (strings(a)?, strings(b)?);
        match (a.shape.split_first(), b.shape.split_first()) {
            (Some((m, inner)), Some((n, other))) if inner == other => {
                let shape = std::iter::once(m + n).chain(inner.iter().copied()).collect();
                gathered(shape, a.texts.len() + b.texts.len(), a.texts.iter().chain(&b.texts).cloned())
            }
            _ => {
                let (a, b) = (words(&a.shape), words(&b.shape));
                Err(Fault::new(format!("string arrays of the shapes {a} and {b} cannot be catenated")))
            }
        }
    }

    /// Which strings of two string arrays are equal; one of rank 0 is compared with all of the other.
    pure fn ravel_strings_equal(a: Object<'_>, b: Object<'_>) -> (equal: Of<bool>) {
        let (a, b) = (strings(a)?, strings(b)?);
        match (&a.shape[..], &b.shape[..]) {
            (shape, []) => bools(shape, a.equal(&b.texts[0])),
            ([], shape) => bools(shape, b.equal(&a.texts[0])),
            (shape, other) if shape == other => bools(shape, a.texts.iter().zip(&b.texts).map(|(s, t)| s == t)),
            (shape, other) => {
                let (a, b) = (words(shape), words(other));
                Err(Fault::new(format!("string arrays of the shapes {a} and {b} cannot be compared")))
            }
        }
    }

    /// Whether a string is in a string array.
    pure fn ravel_strings_in(s: Text<'_>, a: Object<'_>) -> (found: bool) {
        Ok(strings(a)?.equal(s.0).any(|equal| equal))
    }

    /// The index of the first element that is a string, which must be there.
    pure fn ravel_strings_index(s: Text<'_>, a: Object<'_>) -> (iv: Of<i32>) {
        let a = strings(a)?;
        let found = a.equal(s.0).position(|equal| equal).and_then(|offset| i64::try_from(offset).ok());
        let Some(mut offset) = found else {
            return Err(Fault::new(format!("\"{}\" is not in the string array", String::from_utf8_lossy(s.0))));
        };
        let mut index = a.shape.clone();
        for component in index.iter_mut().rev() {
            let extent = *component;
            *component = offset % extent;
            offset /= extent;
        }
        ints(&index)
    }

    /// Writes a string array in the Fibre format.
    write fn ravel_strings_print(file: FileRef<'_>, a: Object<'_>) -> () {
        let a = strings(a)?;
        let texts: Vec<String> = a.texts.iter().map(|text| format!("\"{}\"", String::from_utf8_lossy(text))).collect();
        streams::checked(file.with(|stream| stream.put(&image_of(&a.shape, &texts))))
    }

    /// Reads a string array in the Fibre format, or a string in quotes as one of rank 0.
    root fn ravel_strings_scan(file: FileRef<'_>) -> (a: Handle) {
        file.with(scan)
    }

    /// Reads a string array from a string.
    pure fn ravel_strings_scan_str(text: Text<'_>) -> (a: Handle) {
        scan(&mut Stream::from_bytes(text.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters() -> Strings {
        Strings { shape: vec![2, 2], texts: ["a", "b", "c", "d"].map(|text| text.as_bytes().into()).to_vec() }
    }

    #[test]
    fn cells_are_found_by_index() {
        let a = letters();
        assert_eq!(a.cell(&[]).ok(), Some((0..4, &[2, 2][..])));
        assert_eq!(a.cell(&[1]).ok(), Some((2..4, &[2][..])));
        assert_eq!(a.cell(&[1, 0]).ok(), Some((2..3, &[][..])));
        for wrong in [&[2][..], &[0, -1], &[0, 0, 0]] {
            assert!(a.cell(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_memory_cannot_hold_is_a_fault() {
        let shape = vec![1 << 31, 1 << 20];
        let many = std::iter::repeat(Arc::from(&b""[..]));
        let fault = gathered(shape, 1 << 51, many).err().map(|fault| fault.to_string());
        assert_eq!(fault.as_deref(), Some("out of memory for an array of shape [2147483648,1048576]"));
    }

    #[test]
    fn texts_in_quotes_are_read() {
        let mut stream = Stream::from_bytes(b"[0,1: \"a b\", \"\"]");
        let (shape, texts) = fibre::read(&mut stream, "a string in quotes", quoted).expect("well-formed");
        assert_eq!(shape, [2]);
        assert_eq!(texts.iter().map(|text| text.to_vec()).collect::<Vec<_>>(), [b"a b".to_vec(), Vec::new()]);
        for wrong in [&b"[0,0: a]"[..], b"[0,0: \"a", b"[0,1: \"a\"]"] {
            assert!(fibre::read(&mut Stream::from_bytes(wrong), "a string in quotes", quoted).is_err());
        }
    }
}
