//! Files of NumPy: `.npy`, one array behind a header that is a Python dictionary. Archives of them are in `npz`.
//!
//! Numbers are converted where nothing is lost but digits of a real: integers to other integers if they fit, integers to reals, reals to
//! other reals unless a finite one would become infinite. Everything else is refused, with the name of the file and the reason.
//! Nothing is allocated for what a file only announces: shapes are compared with the bytes that are there.

mod header;

use std::io::Read;

pub(super) use self::header::Kind;
use self::header::{Header, Stored, header_of};
use super::data_files::{open, quoted, write};
use super::npz::{Npz, archive, fits, read_entry};
use super::streams::error_text;
use super::{Char, Handle, Object, Of, Text, natives};
use crate::abi::ElemTag;
use crate::array::{Array, ArrayRef, Element};
use crate::buffer::count_of;
use crate::fault::{self, Fault, shape_text};
use crate::stream::errno_of;

/// First bytes of an `.npy` file.
pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy starts the elements at a multiple of this.
const ALIGNMENT: usize = 64;
/// NumPy leaves room for the first extent to grow to this many digits.
const DIGITS_OF_GROWTH: usize = 21;
/// Headers are shorter: NumPy itself refuses ones beyond 10000 bytes.
const LONGEST_HEADER: u64 = 1 << 20;
/// Elements are converted through a buffer of this many bytes.
const BUFFER: usize = 1 << 16;

/// A number on its way from one type to another.
#[derive(Clone, Copy)]
pub(super) enum Number {
    Whole(i128),
    Real(f64),
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Whole(x) => x.fmt(f),
            // Not all digits of a large one.
            Number::Real(x) => write!(f, "{x:?}"),
        }
    }
}

/// An element type of SaC that files are read as.
pub(super) trait Target {
    type Element: Element;
    const TAG: ElemTag;
    /// Elements stored like this are the same in memory, except for the order of bytes.
    const SAME: (Kind, usize);
    fn accepts(kind: Kind) -> bool;
    /// The number in this type, if it has it.
    fn of(x: Number) -> Option<Self::Element>;
    fn of_bytes(bytes: &[u8], big_endian: bool) -> Self::Element;
}

macro_rules! numbers {
    ($($ty:ty: $kind:ident, $accepts:pat, $x:ident => $convert:expr;)*) => {$(
        impl Target for $ty {
            type Element = $ty;
            const TAG: ElemTag = <$ty as Element>::TAG;
            const SAME: (Kind, usize) = (Kind::$kind, size_of::<$ty>());
            fn accepts(kind: Kind) -> bool {
                matches!(kind, $accepts)
            }
            fn of($x: Number) -> Option<$ty> {
                $convert
            }
            fn of_bytes(bytes: &[u8], big_endian: bool) -> $ty {
                let bytes = bytes.first_chunk().copied().unwrap_or_default();
                if big_endian { <$ty>::from_be_bytes(bytes) } else { <$ty>::from_le_bytes(bytes) }
            }
        }
    )*};
    (integers $($ty:ident $kind:ident)*) => {
        numbers! { $($ty: $kind, Kind::Bool | Kind::Signed | Kind::Unsigned, x => match x {
            Number::Whole(x) => x.try_into().ok(),
            Number::Real(_) => None,
        };)* }
    };
    (reals $($ty:ident)*) => {
        numbers! { $($ty: Real, Kind::Bool | Kind::Signed | Kind::Unsigned | Kind::Real, x => match x {
            Number::Whole(x) => Some(x as $ty),
            Number::Real(x) => Some(x as $ty).filter(|y| y.is_finite() || !x.is_finite()),
        };)* }
    };
}
numbers!(integers i8 Signed i16 Signed i32 Signed i64 Signed u8 Unsigned u16 Unsigned u32 Unsigned u64 Unsigned);
numbers!(reals f32 f64);

impl Target for bool {
    type Element = u8;
    const TAG: ElemTag = ElemTag::Bool;
    // Bytes other than 0 and 1 are converted.
    const SAME: (Kind, usize) = (Kind::Bool, usize::MAX);
    fn accepts(kind: Kind) -> bool {
        kind == Kind::Bool
    }
    fn of(x: Number) -> Option<u8> {
        match x {
            Number::Whole(x) => Some(u8::from(x != 0)),
            Number::Real(_) => None,
        }
    }
    fn of_bytes(bytes: &[u8], _: bool) -> u8 {
        bytes.first().copied().unwrap_or(0)
    }
}

impl Target for Char {
    type Element = u8;
    const TAG: ElemTag = ElemTag::Char;
    const SAME: (Kind, usize) = (Kind::Char, 1);
    fn accepts(kind: Kind) -> bool {
        matches!(kind, Kind::Char | Kind::Unsigned)
    }
    fn of(x: Number) -> Option<u8> {
        u8::of(x)
    }
    fn of_bytes(bytes: &[u8], _: bool) -> u8 {
        bytes.first().copied().unwrap_or(0)
    }
}

impl Stored {
    /// The number in the bytes of one element.
    fn number(self, bytes: &[u8]) -> Number {
        let b = self.big_endian;
        match (self.kind, self.size) {
            (Kind::Signed, 1) => Number::Whole(i8::of_bytes(bytes, b).into()),
            (Kind::Signed, 2) => Number::Whole(i16::of_bytes(bytes, b).into()),
            (Kind::Signed, 4) => Number::Whole(i32::of_bytes(bytes, b).into()),
            (Kind::Signed, _) => Number::Whole(i64::of_bytes(bytes, b).into()),
            (Kind::Unsigned, 2) => Number::Whole(u16::of_bytes(bytes, b).into()),
            (Kind::Unsigned, 4) => Number::Whole(u32::of_bytes(bytes, b).into()),
            (Kind::Unsigned, 8) => Number::Whole(u64::of_bytes(bytes, b).into()),
            (Kind::Bool | Kind::Char | Kind::Unsigned, _) => Number::Whole(u8::of_bytes(bytes, b).into()),
            (Kind::Real, 2) => Number::Real(half(u16::of_bytes(bytes, b))),
            (Kind::Real, 4) => Number::Real(f32::of_bytes(bytes, b).into()),
            (Kind::Real, _) => Number::Real(f64::of_bytes(bytes, b)),
        }
    }
}

/// The value of a real of 16 bits.
fn half(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// Why something is no array: words that follow its name.
type Reason = String;

/// Bytes in order, of which a known number is there.
struct Source<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Source<R> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Reason> {
        self.reader.read_exact(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "is truncated".to_string(),
            _ => damage(&error),
        })?;
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(())
    }

    /// As many bytes, if they are there.
    fn take(&mut self, count: u64, what: &str) -> Result<Vec<u8>, Reason> {
        if count > self.left {
            return Err(format!("is truncated: {what} needs {count} bytes, but there are {}", self.left));
        }
        let mut bytes = vec![0; usize::try_from(count).unwrap_or(0)];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }
}

/// Words for bytes that cannot be read, or that an archive takes for others than it was given.
fn damage(error: &std::io::Error) -> Reason {
    let why = match error.raw_os_error() {
        Some(_) => error_text(errno_of(error)),
        None if error.to_string().contains("checksum") => "its bytes do not fit its check sum".to_string(),
        None => "its compressed bytes cannot be expanded".to_string(),
    };
    format!("is damaged: {why}")
}

/// The array in the bytes of an `.npy` file.
pub(super) fn parse<T: Target, R: Read>(reader: R, length: u64) -> Result<Array, Reason> {
    let mut source = Source { reader, left: length };
    let short = || format!("is not an npy file: it has only {length} bytes");
    if length < 8 {
        return Err(short());
    }
    let start = source.take(8, "the header")?;
    if !start.starts_with(MAGIC) {
        return Err("is not an npy file: it does not begin with \\x93NUMPY".to_string());
    }
    let size_of_length = match (start[6], start[7]) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        (major, minor) => return Err(format!("has version {major}.{minor} of the npy format; 1.0 to 3.0 are known")),
    };
    let length = source.take(size_of_length, "the header")?;
    let length = length.iter().rev().fold(0, |value, &byte| value * 256 + u64::from(byte));
    if length > LONGEST_HEADER {
        return Err(format!("announces a header of {length} bytes; {LONGEST_HEADER} are the most"));
    }
    let header = header_of(&source.take(length, "the header")?)?;
    let stored = header.stored;
    if !T::accepts(stored.kind) {
        let (descr, wanted) = (&header.descr, T::TAG.name());
        return Err(format!("holds elements of NumPy type '{descr}', which are not read as {wanted}"));
    }
    if let Some(extent) = header.shape.iter().find(|&&extent| extent > i64::from(i32::MAX)) {
        return Err(format!("announces an impossible shape: no array of SaC has the extent {extent}"));
    }
    let count = count_of(&header.shape).map_err(|fault| format!("announces an impossible shape: {fault}"))?;
    let expected = (count as u64).saturating_mul(stored.size as u64);
    let shape = shape_text(&header.shape);
    if source.left < expected {
        let found = source.left;
        return Err(format!("is truncated: the shape {shape} needs {expected} bytes of data, but there are {found}"));
    }
    if source.left > expected {
        let excess = source.left - expected;
        return Err(format!("has {excess} bytes more than the shape {shape} in its header needs"));
    }
    let mut array = Array::zeroed(T::TAG, &header.shape).map_err(|fault| fault.message)?;
    if let Some(elements) = array.as_mut_slice::<T::Element>() {
        if header.fortran_order && header.shape.len() > 1 {
            let mut columns = elements.to_vec();
            convert::<T, R>(&mut source, &header, &mut columns)?;
            from_fortran_order(&header.shape, &columns, elements);
        } else {
            convert::<T, R>(&mut source, &header, elements)?;
        }
    }
    // The end of a compressed entry, where its check sum is compared.
    match source.reader.read(&mut [0]) {
        Ok(0) => Ok(array),
        Ok(_) => Err("has more bytes than it announces".to_string()),
        Err(error) => Err(damage(&error)),
    }
}

/// Reads elements in the order of the file.
fn convert<T: Target, R: Read>(
    source: &mut Source<R>,
    header: &Header,
    elements: &mut [T::Element],
) -> Result<(), Reason> {
    let stored = header.stored;
    let mut buffer = vec![0; BUFFER.min(elements.len() * stored.size)];
    let mut at = 0;
    for part in elements.chunks_mut(BUFFER / stored.size) {
        let bytes = &mut buffer[..part.len() * stored.size];
        source.fill(bytes)?;
        if T::SAME == (stored.kind, stored.size) {
            for (element, bytes) in part.iter_mut().zip(bytes.chunks_exact(size_of::<T::Element>())) {
                *element = T::of_bytes(bytes, stored.big_endian);
            }
        } else {
            for (k, (element, bytes)) in part.iter_mut().zip(bytes.chunks_exact(stored.size)).enumerate() {
                let number = stored.number(bytes);
                *element = T::of(number).ok_or_else(|| {
                    let (wanted, place) = (T::TAG.name(), at + k);
                    format!("holds {number} (element {place}), which no {wanted} can hold")
                })?;
            }
        }
        at += part.len();
    }
    Ok(())
}

/// Puts elements whose first axis varies fastest into row-major order.
fn from_fortran_order<E: Copy>(shape: &[i64], columns: &[E], rows: &mut [E]) {
    let extents: Vec<usize> = shape.iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).collect();
    let Some((&last, outer)) = extents.split_last() else { return };
    let mut strides = vec![1; outer.len()];
    for axis in 1..outer.len() {
        strides[axis] = strides[axis - 1] * outer[axis - 1];
    }
    let step: usize = outer.iter().product();
    let mut index = vec![0; outer.len()];
    let mut start = 0;
    for row in rows.chunks_exact_mut(last.max(1)) {
        for (k, element) in row.iter_mut().enumerate() {
            *element = columns[start + k * step];
        }
        for axis in (0..outer.len()).rev() {
            index[axis] += 1;
            start += strides[axis];
            if index[axis] < outer[axis] {
                break;
            }
            start -= strides[axis] * outer[axis];
            index[axis] = 0;
        }
    }
}

fn read<T: Target>(name: &[u8]) -> Result<Array, Fault> {
    let (reader, length) = open(name)?;
    parse::<T, _>(reader, length).map_err(|reason| Fault::new(format!("{} {reason}", quoted(name))))
}

/// An array as the bytes of an `.npy` file.
pub(super) fn image(a: ArrayRef<'_>) -> Result<Vec<u8>, Fault> {
    let descr = match a.elem() {
        ElemTag::Bool => "|b1",
        ElemTag::Char => "|S1",
        ElemTag::I8 => "|i1",
        ElemTag::I16 => "<i2",
        ElemTag::I32 => "<i4",
        ElemTag::I64 => "<i8",
        ElemTag::U8 => "|u1",
        ElemTag::U16 => "<u2",
        ElemTag::U32 => "<u4",
        ElemTag::U64 => "<u8",
        ElemTag::F32 => "<f4",
        ElemTag::F64 => "<f8",
        ElemTag::Handle => {
            return Err(Fault::new("only arrays of numbers, booleans and characters are written to npy files"));
        }
    };
    let extents: Vec<String> = a.shape().iter().map(i64::to_string).collect();
    let (tuple, growth) = match &extents[..] {
        [] => ("()".to_string(), 0),
        [only] => (format!("({only},)"), DIGITS_OF_GROWTH - only.len()),
        [first, ..] => (format!("({})", extents.join(", ")), DIGITS_OF_GROWTH - first.len()),
    };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple}, }}");
    header.push_str(&" ".repeat(growth));
    let start = MAGIC.len() + 2 + 2;
    let padding = ALIGNMENT - (start + header.len() + 1) % ALIGNMENT;
    header.push_str(&" ".repeat(padding));
    header.push('\n');
    let length = u16::try_from(header.len()).map_err(|_| Fault::new("the array has too many axes for an npy file"))?;
    let bytes = start + header.len() + a.count() * a.elem().size();
    let mut image = Vec::new();
    image.try_reserve_exact(bytes).map_err(|_| fault::memory(a.shape()))?;
    image.resize(bytes, 0);
    let (head, data) = image.split_at_mut(start + header.len());
    head[..MAGIC.len()].copy_from_slice(MAGIC);
    head[MAGIC.len()] = 1;
    head[MAGIC.len() + 2..start].copy_from_slice(&length.to_le_bytes());
    head[start..].copy_from_slice(header.as_bytes());
    macro_rules! put {
        ($($tag:ident $ty:ty;)*) => {
            match a.elem() {
                $(ElemTag::$tag => {
                    let parts = data.chunks_exact_mut(size_of::<$ty>());
                    for (bytes, element) in parts.zip(a.as_slice::<$ty>().unwrap_or_default()) {
                        bytes.copy_from_slice(&element.to_le_bytes());
                    }
                })*
                _ => data.copy_from_slice(a.as_slice::<u8>().unwrap_or_default()),
            }
        };
    }
    put! { I8 i8; I16 i16; I32 i32; I64 i64; U16 u16; U32 u32; U64 u64; F32 f32; F64 f64; }
    Ok(image)
}

macro_rules! readers {
    ($($file:ident $entry:ident $ty:ty;)*) => {
        natives! { NPY;
            $(
                /// The array in a file of NumPy's npy format.
                root fn $file(name: Text<'_>) -> (a: Of<$ty>) {
                    read::<$ty>(name.0).map(Of::new)
                }

                /// The array of this name in a file of NumPy's npz format.
                root fn $entry(name: Text<'_>, array: Text<'_>) -> (a: Of<$ty>) {
                    read_entry::<$ty>(name.0, array.0).map(Of::new)
                }
            )*

            /// Writes an array as a file of NumPy's npy format.
            write fn ravel_npy_write(name: Text<'_>, a: ArrayRef<'_>) -> () {
                write(name.0, &image(a)?)
            }

            /// A file of NumPy's npz format that arrays are put into; it appears when it is closed.
            root fn ravel_npz_create(name: Text<'_>) -> (file: Handle) {
                Npz::create(name.0)
            }

            /// Puts an array into an npz file under a name.
            write fn ravel_npz_put(file: Object<'_>, name: Text<'_>, a: ArrayRef<'_>) -> () {
                match archive(file)?.0.borrow_mut().as_mut() {
                    Some(npz) => npz.put(name.0, a),
                    None => Err(Fault::new(format!("the npz file for {} is closed", quoted(name.0)))),
                }
            }

            /// Refuses an array of an npz file that has another shape than it is read for.
            same fn ravel_npz_fits(
                name: Text<'_>, array: Text<'_>, found: ArrayRef<'_>, wanted: ArrayRef<'_>
            ) -> () {
                let shape = |a: ArrayRef<'_>| a.as_slice::<i32>().map(<[i32]>::to_vec).unwrap_or_default();
                fits(name.0, array.0, &shape(found), &shape(wanted))
            }

            /// Writes an npz file.
            write fn ravel_npz_close(file: Object<'_>) -> () {
                match archive(file)?.0.take() {
                    Some(npz) => npz.close(),
                    None => Err(Fault::new("the npz file is closed already")),
                }
            }
        }
    };
}
readers! {
    ravel_npy_read_bool ravel_npz_read_bool bool;
    ravel_npy_read_char ravel_npz_read_char Char;
    ravel_npy_read_byte ravel_npz_read_byte i8;
    ravel_npy_read_short ravel_npz_read_short i16;
    ravel_npy_read_int ravel_npz_read_int i32;
    ravel_npy_read_long ravel_npz_read_long i64;
    ravel_npy_read_ubyte ravel_npz_read_ubyte u8;
    ravel_npy_read_ushort ravel_npz_read_ushort u16;
    ravel_npy_read_uint ravel_npz_read_uint u32;
    ravel_npy_read_ulong ravel_npz_read_ulong u64;
    ravel_npy_read_float ravel_npz_read_float f32;
    ravel_npy_read_double ravel_npz_read_double f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An npy file of version 1.0 with this dictionary.
    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(header.len()).expect("short").to_le_bytes();
        [&MAGIC[..], &[1, 0], &length, header.as_bytes(), data].concat()
    }

    fn parse_bytes<T: Target>(bytes: &[u8]) -> Result<Array, String> {
        parse::<T, _>(bytes, bytes.len() as u64)
    }

    #[test]
    fn orders_of_bytes_and_axes() {
        let header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }";
        let array = parse_bytes::<i16>(&file(header, &[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 1, 0])).expect("well-formed");
        assert_eq!(array.view().as_slice::<i16>(), Some(&[1, 3, 5, 2, 4, 256][..]));
        let wider =
            parse_bytes::<f64>(&file(header, &[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0xff, 0xff])).expect("well-formed");
        assert_eq!(wider.view().as_slice::<f64>(), Some(&[1.0, 3.0, 5.0, 2.0, 4.0, -1.0][..]));
        let scalar = "{\"shape\": (), \"fortran_order\": False, \"descr\": '<f2'}\n";
        let scalar = parse_bytes::<f32>(&file(scalar, &[0, 0x3e])).expect("well-formed");
        assert_eq!((scalar.view().rank(), scalar.view().as_slice::<f32>()), (0, Some(&[1.5][..])));
        let empty = parse_bytes::<i32>(&file("{'descr': '<i4', 'fortran_order': True, 'shape': (2L, 0L)}", &[]));
        assert_eq!(empty.expect("well-formed").view().shape(), [2, 0]);
    }

    #[test]
    fn what_is_malformed_is_refused() {
        let dictionary =
            |descr: &str, shape: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
        let with = |descr: &str, shape: &str, data: &[u8]| file(&dictionary(descr, shape), data);
        let good = with("'<i4'", "(2,)", &[0; 8]);
        assert!(parse_bytes::<i32>(&good).is_ok());
        for (bytes, reason) in [
            (good[..5].to_vec(), "only 5 bytes"),
            (good[..9].to_vec(), "is truncated"),
            (good[..30].to_vec(), "is truncated"),
            (good[..good.len() - 1].to_vec(), "needs 8 bytes of data, but there are 7"),
            ([&good[..], &[0]].concat(), "1 bytes more"),
            (b"GIF89a..........".to_vec(), "does not begin with"),
            ([&MAGIC[..], &[9, 0, 0, 0]].concat(), "version 9.0"),
            ([&MAGIC[..], &[2, 0, 0xff, 0xff, 0xff, 0xff]].concat(), "announces a header"),
            (with("'<c16'", "(1,)", &[0; 16]), "complex numbers"),
            (with("'|O'", "(1,)", &[0; 16]), "Python objects"),
            (with("'<U3'", "(1,)", &[0; 12]), "texts"),
            (with("[('x', '<i4')]", "(1,)", &[0; 4]), "structures"),
            (with("'<f8'", "(1,)", &[0; 8]), "are not read as int"),
            (with("'<i8'", "(2,)", &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]), "holds 4294967296 (element 1)"),
            (with("'<i4'", "(2000000000, 2000000000, 2000000000)", &[]), "impossible shape"),
            (with("'<i4'", "(0, 99999999999)", &[]), "impossible shape: no array of SaC has the extent 99999999999"),
            (with("'<i4'", "(3000000000, 0)", &[]), "impossible shape"),
            (with("'<i4'", "(2147483648,)", &[0; 4]), "impossible shape"),
            (with("'<i4'", "(2147483647,)", &[0; 4]), "is truncated"),
            (with("'<i4'", "(-1,)", &[]), "an extent"),
            (with("'<i4'", "(1", &[]), "expected"),
            (file("{'descr': '<i4', 'shape': (1,)}", &[0; 4]), "without"),
            (file("{'descr': '<i4', 'size': (1,)}", &[0; 4]), "unknown key"),
            (file("__import__('os')", &[]), "`{` is expected"),
        ] {
            let message = parse_bytes::<i32>(&bytes).expect_err("malformed");
            assert!(message.contains(reason), "{message}");
        }
    }

    #[test]
    fn reals_beyond_float_are_refused() {
        let doubles = |x: f64| file("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", &x.to_le_bytes());
        for x in [1e300, -1e300, 3.5e38] {
            let message = parse_bytes::<f32>(&doubles(x)).expect_err("too large");
            assert!(message.contains("(element 0), which no float can hold"), "{message}");
            let kept = parse_bytes::<f64>(&doubles(x)).expect("well-formed");
            assert_eq!(kept.view().as_slice::<f64>(), Some(&[x][..]));
        }
        for (x, y) in [(f64::NEG_INFINITY, f32::NEG_INFINITY), (1e-300, 0.0), (f64::from(f32::MAX), f32::MAX)] {
            let read = parse_bytes::<f32>(&doubles(x)).expect("well-formed");
            assert_eq!(read.view().as_slice::<f32>(), Some(&[y][..]));
        }
        let nan = parse_bytes::<f32>(&doubles(f64::NAN)).expect("well-formed");
        assert!(nan.view().as_slice::<f32>().is_some_and(|x| x[0].is_nan()));
    }

    #[test]
    fn halves_are_exact() {
        for (bits, value) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (1, 2f64.powi(-24)), (0x7c00, f64::INFINITY)]
        {
            assert_eq!(half(bits), value);
        }
        assert!(half(0x7e00).is_nan());
    }
}
