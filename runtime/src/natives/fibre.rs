//! FibreIO: a text format that arrays are written in and read back from.
//!
//! A scalar is a number. An array is `[lo,hi:` elements `]`, nested per axis, with extent `hi-lo+1`; blanks and commas between
//! elements are free, reals accept `e` or `d` exponents.

use super::format::{self, FormatArg};
use super::print::Printable;
use super::{FileRef, Of, Text, natives, number, scan, streams};
use crate::abi::ElemTag;
use crate::array::{Array, ArrayRef, Element};
use crate::fault::Fault;
use crate::stream::Stream;

/// More nesting than any array has; keeps malformed input from exhausting the stack.
const DEEPEST: usize = 64;

/// Element types of the format.
pub(super) trait Fibre: Element {
    /// Reads one number; `None` if the next word is not one.
    fn read(stream: &mut Stream) -> Option<Self>;
}

macro_rules! fibre_integers {
    ($($ty:ty),*) => {$(
        impl Fibre for $ty {
            fn read(stream: &mut Stream) -> Option<$ty> {
                scan::integer(stream).map(|value| value as $ty)
            }
        }
    )*};
}
fibre_integers!(i8, i16, i32, i64, u8, u16, u32);

impl Fibre for u64 {
    fn read(stream: &mut Stream) -> Option<u64> {
        scan::unsigned(stream)
    }
}

/// Text of a real number whose exponent may be written with `d`.
fn real_text(stream: &mut Stream) -> Option<Vec<u8>> {
    let mut text = scan::real(stream)?;
    if !text.iter().any(|byte| matches!(byte, b'e' | b'E' | b'x' | b'X')) && matches!(stream.peek(), Some(b'd' | b'D'))
    {
        stream.get();
        text.push(b'e');
        while let Some(byte) = stream.peek().filter(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-')) {
            text.push(byte);
            stream.get();
        }
    }
    Some(text)
}

impl Fibre for f32 {
    fn read(stream: &mut Stream) -> Option<f32> {
        real_text(stream).map(|text| number::real32(&text).value)
    }
}

impl Fibre for f64 {
    fn read(stream: &mut Stream) -> Option<f64> {
        real_text(stream).map(|text| number::real(&text).value)
    }
}

fn malformed(stream: &mut Stream, expected: &str) -> Fault {
    let found = match stream.peek() {
        None => "the end of the input".to_string(),
        Some(byte) => format!("'{}'", char::from(byte).escape_default()),
    };
    Fault::new(format!("Fibre input: expected {expected}, found {found}"))
}

/// Skips blanks and commas.
fn skip(stream: &mut Stream) {
    while stream.peek().is_some_and(|byte| number::is_space(byte) || byte == b',') {
        stream.get();
    }
}

fn expect(stream: &mut Stream, byte: u8) -> Result<(), Fault> {
    while stream.peek().is_some_and(number::is_space) {
        stream.get();
    }
    if stream.peek() == Some(byte) {
        stream.get();
        return Ok(());
    }
    Err(malformed(stream, &format!("'{}'", char::from(byte))))
}

/// How elements of a kind are read.
struct Leaf<T> {
    /// What an element is, in words.
    what: &'static str,
    read: fn(&mut Stream) -> Option<T>,
}

/// Reads one part at depth `axis`; the first part of each depth sets the extent of that axis.
fn part<T>(
    stream: &mut Stream,
    leaf: &Leaf<T>,
    axis: usize,
    shape: &mut Vec<Option<i64>>,
    out: &mut Vec<T>,
) -> Result<(), Fault> {
    skip(stream);
    let leaf_depth = shape.iter().position(Option::is_none);
    if stream.peek() != Some(b'[') {
        // A number: its depth is the rank. `None` in the shape marks that the rank is settled.
        if leaf_depth.unwrap_or(axis) != axis || shape.len() > axis + 1 {
            return Err(malformed(stream, "'['"));
        }
        if leaf_depth.is_none() {
            shape.push(None);
        }
        let value = (leaf.read)(stream).ok_or_else(|| malformed(stream, leaf.what))?;
        out.push(value);
        return Ok(());
    }
    if axis >= DEEPEST || leaf_depth == Some(axis) {
        return Err(malformed(stream, leaf.what));
    }
    stream.get();
    let low = scan::integer(stream).ok_or_else(|| malformed(stream, "a lower bound"))?;
    expect(stream, b',')?;
    let high = scan::integer(stream).ok_or_else(|| malformed(stream, "an upper bound"))?;
    expect(stream, b':')?;
    let extent = high.checked_sub(low).and_then(|extent| extent.checked_add(1)).filter(|&extent| extent >= 0);
    let extent = extent.ok_or_else(|| Fault::new(format!("Fibre input: the bounds {low},{high} are not a range")))?;
    match shape.get(axis) {
        None => shape.push(Some(extent)),
        Some(Some(known)) if *known == extent => {}
        Some(known) => {
            let known = known.unwrap_or(0);
            return Err(Fault::new(format!("Fibre input: parts of axis {axis} have {known} and {extent} elements")));
        }
    }
    for _ in 0..extent {
        part(stream, leaf, axis + 1, shape, out)?;
    }
    skip(stream);
    expect(stream, b']')
}

/// Reads one array, or a number as an array of rank 0.
pub(super) fn read_array<T: Fibre>(stream: &mut Stream) -> Result<Array, Fault> {
    let (shape, elements) = read(stream, "a number", T::read)?;
    Array::from_slice(&shape, &elements)
}

/// Shape and elements of one array; elements are called `what` in messages.
pub(super) fn read<T>(
    stream: &mut Stream,
    what: &'static str,
    read: fn(&mut Stream) -> Option<T>,
) -> Result<(Vec<i64>, Vec<T>), Fault> {
    let (mut shape, mut elements) = (Vec::new(), Vec::new());
    part(stream, &Leaf { what, read }, 0, &mut shape, &mut elements)?;
    Ok((shape.into_iter().flatten().collect(), elements))
}

fn integer_text<T: Element + ToString>(array: ArrayRef<'_>) -> Vec<String> {
    array.as_slice::<T>().unwrap_or_default().iter().map(T::to_string).collect()
}

/// Reals by `%f`, or by `%.16f` if they stand alone.
fn real_texts<T: Element + Into<f64>>(array: ArrayRef<'_>) -> Vec<String> {
    let conversion: &[u8] = if array.rank() == 0 { b"%.16f" } else { b"%f" };
    let text = |&value: &T| format::format(conversion, &[FormatArg::Real(value.into())]).unwrap_or_default();
    let texts = array.as_slice::<T>().unwrap_or_default().iter().map(text);
    texts.map(|text| String::from_utf8_lossy(&text).into_owned()).collect()
}

/// The Fibre image of an array; a scalar of rank 0 is one line.
pub(super) fn image(array: ArrayRef<'_>) -> Vec<u8> {
    let mut reals = false;
    let elements = match array.elem() {
        ElemTag::I8 => integer_text::<i8>(array),
        ElemTag::I16 => integer_text::<i16>(array),
        ElemTag::I32 => integer_text::<i32>(array),
        ElemTag::I64 => integer_text::<i64>(array),
        ElemTag::U8 | ElemTag::Bool | ElemTag::Char => integer_text::<u8>(array),
        ElemTag::U16 => integer_text::<u16>(array),
        ElemTag::U32 => integer_text::<u32>(array),
        ElemTag::U64 => integer_text::<u64>(array),
        ElemTag::F32 | ElemTag::F64 => {
            reals = true;
            if array.elem() == ElemTag::F32 { real_texts::<f32>(array) } else { real_texts::<f64>(array) }
        }
        ElemTag::Handle => {
            let handles = array.handles().unwrap_or_default();
            let text = |handle: Option<ArrayRef<'_>>| handle.and_then(ArrayRef::text).unwrap_or_default().to_vec();
            handles.into_iter().map(|handle| format!("\"{}\"", String::from_utf8_lossy(&text(handle)))).collect()
        }
    };
    let mut out = String::new();
    nested(array.shape(), 0, &elements, reals, &mut out);
    out.into_bytes()
}

/// The Fibre image of an array whose elements are these texts.
pub(super) fn image_of(shape: &[i64], texts: &[String]) -> Vec<u8> {
    let mut out = String::new();
    nested(shape, 0, texts, false, &mut out);
    out.into_bytes()
}

fn nested(shape: &[i64], depth: usize, elements: &[String], reals: bool, out: &mut String) {
    let Some((&extent, inner)) = shape.split_first() else {
        for element in elements {
            // Integers stand one blank deeper than their bracket, reals four, or three with a sign; scalars at the margin.
            let deeper = if reals && depth > 0 { 2 + usize::from(!element.starts_with('-')) } else { 0 };
            out.push_str(&" ".repeat(depth + deeper));
            out.push_str(element);
            out.push('\n');
        }
        return;
    };
    let indent = " ".repeat(depth);
    out.push_str(&format!("{indent}[ 0,{}:\n", extent - 1));
    let count = usize::try_from(extent).unwrap_or(0);
    let stride = elements.len().checked_div(count).unwrap_or(0);
    for position in 0..count {
        nested(inner, depth + 1, &elements[position * stride..(position + 1) * stride], reals, out);
    }
    out.push_str(&format!("{indent}]\n"));
}

fn write(file: FileRef<'_>, text: &[u8]) -> Result<(), Fault> {
    streams::checked(file.with(|stream| stream.put(text)))
}

macro_rules! fibre_natives {
    ($($scan_array:ident $scan:ident $scan_str:ident $print:ident $format:literal $ty:ty;)*) => {
        natives! { SCALARS;
            $(
                /// Reads one array.
                root fn $scan_array(file: FileRef<'_>) -> (a: Of<$ty>) {
                    file.with(read_array::<$ty>).map(Of::new)
                }

                /// Reads one scalar.
                root fn $scan(file: FileRef<'_>) -> (x: $ty) {
                    file.with(|stream| {
                        skip(stream);
                        <$ty as Fibre>::read(stream).ok_or_else(|| malformed(stream, "a number"))
                    })
                }

                /// Reads one array from a string.
                pure fn $scan_str(text: Text<'_>) -> (a: Of<$ty>) {
                    read_array::<$ty>(&mut Stream::from_bytes(text.0)).map(Of::new)
                }

                /// Writes one scalar on a line.
                write fn $print(file: FileRef<'_>, x: $ty) -> () {
                    write(file, &format::format($format, &[x.argument()])?)
                }
            )*
        }
    };
}
fibre_natives! {
    ravel_fibre_scan_array_byte ravel_fibre_scan_byte ravel_fibre_scan_array_str_byte ravel_fibre_print_byte b"%d\n" i8;
    ravel_fibre_scan_array_short ravel_fibre_scan_short ravel_fibre_scan_array_str_short ravel_fibre_print_short b"%d\n" i16;
    ravel_fibre_scan_array_int ravel_fibre_scan_int ravel_fibre_scan_array_str_int ravel_fibre_print_int b"%d\n" i32;
    ravel_fibre_scan_array_long ravel_fibre_scan_long ravel_fibre_scan_array_str_long ravel_fibre_print_long b"%d\n" i64;
    ravel_fibre_scan_array_ubyte ravel_fibre_scan_ubyte ravel_fibre_scan_array_str_ubyte ravel_fibre_print_ubyte b"%u\n" u8;
    ravel_fibre_scan_array_ushort ravel_fibre_scan_ushort ravel_fibre_scan_array_str_ushort ravel_fibre_print_ushort b"%u\n" u16;
    ravel_fibre_scan_array_uint ravel_fibre_scan_uint ravel_fibre_scan_array_str_uint ravel_fibre_print_uint b"%u\n" u32;
    ravel_fibre_scan_array_ulong ravel_fibre_scan_ulong ravel_fibre_scan_array_str_ulong ravel_fibre_print_ulong b"%u\n" u64;
    ravel_fibre_scan_array_float ravel_fibre_scan_float ravel_fibre_scan_array_str_float ravel_fibre_print_float b"%.16f\n" f32;
    ravel_fibre_scan_array_double ravel_fibre_scan_double ravel_fibre_scan_array_str_double ravel_fibre_print_double b"%.16f\n" f64;
}

natives! { OTHERS;
    /// Writes one array.
    write fn ravel_fibre_print(file: FileRef<'_>, a: ArrayRef<'_>) -> () {
        write(file, &image(a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Fibre>(text: &str) -> Result<Array, Fault> {
        read_array::<T>(&mut Stream::from_bytes(text.as_bytes()))
    }

    #[test]
    fn arrays_are_written_and_read_back() {
        let matrix = Array::from_slice(&[2, 2], &[1i32, -2, 3, 4]).expect("small");
        let text = String::from_utf8(image(matrix.view())).expect("ASCII");
        assert_eq!(text, "[ 0,1:\n [ 0,1:\n  1\n  -2\n ]\n [ 0,1:\n  3\n  4\n ]\n]\n");
        let back = read::<i32>(&text).expect("well-formed");
        assert_eq!(back.view().shape(), [2, 2]);
        assert_eq!(back.view().as_slice::<i32>(), Some(&[1, -2, 3, 4][..]));
    }

    #[test]
    fn reals_stand_four_blanks_deeper() {
        let vector = Array::from_slice(&[2], &[1.5f64, -2.0]).expect("small");
        assert_eq!(String::from_utf8(image(vector.view())).expect("ASCII"), "[ 0,1:\n    1.500000\n   -2.000000\n]\n");
    }

    #[test]
    fn input_is_free_in_its_blanks() {
        let vector = read::<f64>(" [1,3: 1, 2.5d1 3e0]").expect("well-formed");
        assert_eq!(vector.view().as_slice::<f64>(), Some(&[1.0, 25.0, 3.0][..]));
        assert_eq!(read::<i32>("7").expect("a scalar").view().rank(), 0);
        assert_eq!(read::<i32>("[0,-1:]").expect("empty").view().shape(), [0]);
    }

    #[test]
    fn malformed_input_is_a_fault() {
        for text in
            ["", "[0,1: 1]", "[0,1: 1 2", "[0,1: 1 [0,0: 2]]", "[0,1: [0,0: 1] 2]", "[0,1: [0,0: 1] [0,1: 1 2]]", "[x"]
        {
            assert!(read::<i32>(text).is_err(), "{text} was accepted");
        }
        assert!(read::<i32>(&"[0,0:".repeat(10_000)).is_err());
    }
}
