//! `print`, `fprint` and `show`: values as text for people (Appendix C of the language reference).

use super::format::{self, FormatArg};
use super::{Char, FileRef, Text, layout, natives, streams};
use crate::abi::ElemTag;
use crate::array::{ArrayRef, Element};
use crate::fault::Fault;

/// A machine scalar as an argument of a format, and as the text of `print`.
pub(super) trait Printable {
    fn argument(&self) -> FormatArg<'static>;
    /// Text of the scalar alone.
    fn text(&self) -> Result<Vec<u8>, Fault> {
        let conversion: &[u8] = match self.argument() {
            FormatArg::Real(_) => b"%g",
            _ => b"%d",
        };
        format::format(conversion, &[self.argument()])
    }
    /// Text of the scalar in `print`.
    fn shown(&self) -> Result<Vec<u8>, Fault> {
        self.text()
    }
}

macro_rules! printable_integers {
    ($($ty:ty: $bits:literal),*) => {$(
        impl Printable for $ty {
            fn argument(&self) -> FormatArg<'static> {
                FormatArg::Integer { value: i128::from(*self), bits: $bits }
            }
            fn text(&self) -> Result<Vec<u8>, Fault> {
                Ok(self.to_string().into_bytes())
            }
        }
    )*};
}
printable_integers!(i8: 32, i16: 32, i32: 32, i64: 64, u8: 32, u16: 32, u32: 32, u64: 64);

impl Printable for f32 {
    fn argument(&self) -> FormatArg<'static> {
        FormatArg::Real(f64::from(*self))
    }
}

impl Printable for f64 {
    fn argument(&self) -> FormatArg<'static> {
        FormatArg::Real(*self)
    }
}

impl Printable for bool {
    fn argument(&self) -> FormatArg<'static> {
        FormatArg::Integer { value: i128::from(*self), bits: 32 }
    }
    fn text(&self) -> Result<Vec<u8>, Fault> {
        Ok(if *self { b"true".to_vec() } else { b"false".to_vec() })
    }
}

impl Printable for Char {
    fn argument(&self) -> FormatArg<'static> {
        FormatArg::Integer { value: i128::from(self.0), bits: 32 }
    }
    fn text(&self) -> Result<Vec<u8>, Fault> {
        Ok(vec![self.0])
    }
    fn shown(&self) -> Result<Vec<u8>, Fault> {
        Ok(vec![b'\'', self.0, b'\''])
    }
}

fn scalar_frame(value: &[u8]) -> Vec<u8> {
    [b"Dimension:  0\nShape    : < >\n ", value, b"\n"].concat()
}

fn each<T: Element>(array: ArrayRef<'_>, argument: impl Fn(&T) -> FormatArg<'static>) -> Vec<FormatArg<'static>> {
    array.as_slice::<T>().unwrap_or_default().iter().map(argument).collect()
}

/// The elements of an array as arguments of a format.
fn elements(array: ArrayRef<'_>) -> Result<Vec<FormatArg<'_>>, Fault> {
    Ok(match array.elem() {
        ElemTag::Bool | ElemTag::Char | ElemTag::U8 => each::<u8>(array, Printable::argument),
        ElemTag::I8 => each::<i8>(array, Printable::argument),
        ElemTag::I16 => each::<i16>(array, Printable::argument),
        ElemTag::I32 => each::<i32>(array, Printable::argument),
        ElemTag::I64 => each::<i64>(array, Printable::argument),
        ElemTag::U16 => each::<u16>(array, Printable::argument),
        ElemTag::U32 => each::<u32>(array, Printable::argument),
        ElemTag::U64 => each::<u64>(array, Printable::argument),
        ElemTag::F32 => each::<f32>(array, Printable::argument),
        ElemTag::F64 => each::<f64>(array, Printable::argument),
        ElemTag::Handle => {
            let handles = array.handles().unwrap_or_default().into_iter();
            handles
                .map(|handle| handle.map(FormatArg::Object).ok_or_else(|| Fault::new("an element has no value yet")))
                .collect::<Result<_, _>>()?
        }
    })
}

/// Format of one element in `print`.
fn element_format(elem: ElemTag) -> &'static [u8] {
    match elem {
        ElemTag::Bool => b"%2d ",
        ElemTag::Char => b"%c",
        ElemTag::I8 | ElemTag::I16 | ElemTag::I32 | ElemTag::I64 => b"%2d ",
        ElemTag::U8 | ElemTag::U16 | ElemTag::U32 | ElemTag::U64 => b"%2u ",
        ElemTag::F32 => b"%4f ",
        ElemTag::F64 => b"%e ",
        ElemTag::Handle => b"%s ",
    }
}

/// Text of the only element of a rank-0 array in `print`.
fn scalar_text(array: ArrayRef<'_>) -> Result<Vec<u8>, Fault> {
    fn first<T: Element + Printable>(array: ArrayRef<'_>) -> Result<Vec<u8>, Fault> {
        array.as_slice::<T>().and_then(<[T]>::first).map_or_else(|| Ok(Vec::new()), Printable::shown)
    }
    let byte = array.as_slice::<u8>().and_then(|bytes| bytes.first().copied()).unwrap_or(0);
    match array.elem() {
        ElemTag::Bool => (byte != 0).shown(),
        ElemTag::Char => Char(byte).shown(),
        ElemTag::I8 => first::<i8>(array),
        ElemTag::I16 => first::<i16>(array),
        ElemTag::I32 => first::<i32>(array),
        ElemTag::I64 => first::<i64>(array),
        ElemTag::U8 => first::<u8>(array),
        ElemTag::U16 => first::<u16>(array),
        ElemTag::U32 => first::<u32>(array),
        ElemTag::U64 => first::<u64>(array),
        ElemTag::F32 => first::<f32>(array),
        ElemTag::F64 => first::<f64>(array),
        ElemTag::Handle => format::format(b"%s", &elements(array)?),
    }
}

/// What `print` writes for an array, with the element format given or the default of its type.
///
/// # Errors
/// The format does not fit the elements.
pub fn array_text(array: ArrayRef<'_>, element: Option<&[u8]>) -> Result<Vec<u8>, Fault> {
    if array.rank() == 0 && element.is_none() {
        return scalar_text(array).map(|text| scalar_frame(&text));
    }
    let element = element.unwrap_or_else(|| element_format(array.elem()));
    let arguments = elements(array)?;
    if array.rank() == 0 {
        return format::format(element, &arguments).map(|text| scalar_frame(&text));
    }
    let extents: Vec<String> = array.shape().iter().map(|extent| format!(" {extent:2}")).collect();
    let mut out = format!("Dimension: {:2}\nShape    : <{}>\n", array.rank(), extents.join(",")).into_bytes();
    if arguments.is_empty() {
        out.extend_from_slice(b"<>\n");
        return Ok(out);
    }
    let mut failed = Ok(());
    layout::framed(array.shape(), &mut out, |offset, out| match format::format(element, &arguments[offset..=offset]) {
        Ok(text) => out.extend_from_slice(&text),
        Err(fault) => failed = Err(fault),
    });
    failed.map(|()| out)
}

/// The bare data of `show`.
pub(super) fn show_text(array: ArrayRef<'_>) -> Result<Vec<u8>, Fault> {
    let element: &[u8] = match array.elem() {
        ElemTag::Char => b"%c",
        ElemTag::F32 | ElemTag::F64 => b"%g ",
        ElemTag::U8 | ElemTag::U16 | ElemTag::U32 | ElemTag::U64 => b"%u ",
        ElemTag::Handle => b"%s ",
        _ => b"%d ",
    };
    let arguments = elements(array)?;
    let mut out = Vec::new();
    let mut failed = Ok(());
    layout::bare(array.shape(), &mut out, |offset, out| match format::format(element, &arguments[offset..=offset]) {
        Ok(text) => out.extend_from_slice(&text),
        Err(fault) => failed = Err(fault),
    });
    failed.map(|()| out)
}

/// Text of the elements in brackets, for `tos`: `[1,2,3]`, nested by axis.
pub(super) fn bracketed(array: ArrayRef<'_>) -> Result<Vec<u8>, Fault> {
    let conversion: &[u8] = match array.elem() {
        ElemTag::Char => b"%c",
        ElemTag::F32 | ElemTag::F64 => b"%g",
        ElemTag::U8 | ElemTag::U16 | ElemTag::U32 | ElemTag::U64 => b"%u",
        ElemTag::Handle => b"%s",
        _ => b"%d",
    };
    fn part(shape: &[i64], conversion: &[u8], arguments: &[FormatArg<'_>], out: &mut Vec<u8>) -> Result<(), Fault> {
        let Some((&extent, inner)) = shape.split_first() else {
            out.extend_from_slice(&format::format(conversion, arguments)?);
            return Ok(());
        };
        out.push(b'[');
        let extent = usize::try_from(extent).unwrap_or(0);
        let stride = arguments.len().checked_div(extent).unwrap_or(0);
        for position in 0..extent {
            if position > 0 {
                out.push(b',');
            }
            part(inner, conversion, &arguments[position * stride..(position + 1) * stride], out)?;
        }
        out.push(b']');
        Ok(())
    }
    let mut out = Vec::new();
    part(array.shape(), conversion, &elements(array)?, &mut out)?;
    Ok(out)
}

fn write(file: FileRef<'_>, text: Result<Vec<u8>, Fault>) -> Result<(), Fault> {
    let text = text?;
    streams::checked(file.with(|stream| stream.put(&text)))
}

macro_rules! scalar_printers {
    ($($print:ident $fprint:ident $ty:ty;)*) => {
        natives! { SCALARS;
            $(
                /// Writes a scalar as `print` does: three lines with rank, shape and value.
                write fn $print(file: FileRef<'_>, x: $ty) -> () {
                    write(file, x.shown().map(|text| scalar_frame(&text)))
                }

                /// Writes a scalar's plain text.
                write fn $fprint(file: FileRef<'_>, x: $ty) -> () {
                    write(file, x.text())
                }
            )*
        }
    };
}
scalar_printers! {
    ravel_io_print_bool ravel_io_fprint_bool bool;
    ravel_io_print_char ravel_io_fprint_char Char;
    ravel_io_print_byte ravel_io_fprint_byte i8;
    ravel_io_print_short ravel_io_fprint_short i16;
    ravel_io_print_int ravel_io_fprint_int i32;
    ravel_io_print_long ravel_io_fprint_long i64;
    ravel_io_print_ubyte ravel_io_fprint_ubyte u8;
    ravel_io_print_ushort ravel_io_fprint_ushort u16;
    ravel_io_print_uint ravel_io_fprint_uint u32;
    ravel_io_print_ulong ravel_io_fprint_ulong u64;
    ravel_io_print_float ravel_io_fprint_float f32;
    ravel_io_print_double ravel_io_fprint_double f64;
}

natives! { ARRAYS;
    /// Writes a real scalar as `print` does, with `prec` significant digits.
    write fn ravel_io_print_float_prec(file: FileRef<'_>, x: f64, prec: i32) -> () {
        let precision = FormatArg::Integer { value: i128::from(prec), bits: 32 };
        write(file, format::format(b"%.*g", &[precision, FormatArg::Real(x)]).map(|text| scalar_frame(&text)))
    }

    /// Writes an array of any rank as `print` does.
    write fn ravel_io_print_array(file: FileRef<'_>, a: ArrayRef<'_>) -> () {
        write(file, array_text(a, None))
    }

    /// Writes an array as `print` does, each element by `format`.
    write fn ravel_io_print_array_format(file: FileRef<'_>, format: Text<'_>, a: ArrayRef<'_>) -> () {
        write(file, array_text(a, Some(format.0)))
    }

    /// Writes an array's bare data as `show` does.
    write fn ravel_io_show_array(file: FileRef<'_>, a: ArrayRef<'_>) -> () {
        write(file, show_text(a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;

    fn text(array: &Array) -> String {
        String::from_utf8(array_text(array.view(), None).expect("printable")).expect("ASCII")
    }

    #[test]
    fn arrays_print_with_their_frame() {
        let vector = Array::from_slice(&[3], &[1i32, 2, 10]).expect("small");
        assert_eq!(text(&vector), "Dimension:  1\nShape    : <  3>\n< 1  2 10 > \n");
        let matrix = Array::from_slice(&[2, 2], &[0.5f64, 1.0, 2.0, 3.0]).expect("small");
        assert_eq!(
            text(&matrix),
            "Dimension:  2\nShape    : <  2,  2>\n|5.000000e-01 1.000000e+00 | \n|2.000000e+00 3.000000e+00 | \n\n"
        );
        let empty = Array::from_slice::<i32>(&[3, 0], &[]).expect("small");
        assert_eq!(text(&empty), "Dimension:  2\nShape    : <  3,  0>\n<>\n");
        let scalar = Array::from_slice(&[], &[0.5f32]).expect("small");
        assert_eq!(text(&scalar), "Dimension:  0\nShape    : < >\n 0.5\n");
    }

    #[test]
    fn characters_run_together() {
        let word = Array::from_slice_as(ElemTag::Char, &[2], b"ab").expect("small");
        assert_eq!(text(&word), "Dimension:  1\nShape    : <  2>\n<ab> \n");
    }

    #[test]
    fn brackets_nest() {
        let matrix = Array::from_slice(&[2, 2], &[1i32, 2, 3, 4]).expect("small");
        assert_eq!(bracketed(matrix.view()).expect("printable"), b"[[1,2],[3,4]]");
    }
}
