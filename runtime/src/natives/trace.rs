//! `Debug::trace`: a line on stderr for each value that is looked at.
//!
//! Bodies of with-loops call these natives from all threads at once, so a line is made first and then written in one piece.

use std::fmt::{Debug, Write as _};

use super::{ArrayArg, Char, Text, natives};
use crate::abi::ElemTag;
use crate::array::{ArrayRef, Element};
use crate::fault::shape_text;
use crate::stream::{self, Standard};

/// Arrays of more elements are shown without their middle.
const WHOLE: usize = 24;

/// Elements at each end of an axis that are shown of longer arrays, by rank from 1 on; of higher ranks as of the last.
const EDGES: [usize; 4] = [4, 2, 2, 1];

/// The longest text that is shown whole, in bytes.
const LONGEST_TEXT: usize = 200;

/// `cnn.sac:21:9 in conv: x at [2,3] = 1.5`. `value` is all that differs by type.
fn line(label: &[u8], place: &[u8], iv: &[i32], value: &str) -> String {
    let label = String::from_utf8_lossy(label);
    let mut text = String::from_utf8_lossy(place).into_owned();
    text.push_str(": ");
    // A label that has lines of its own would break the line.
    label.chars().for_each(|c| if c.is_control() { text.extend(c.escape_default()) } else { text.push(c) });
    if !iv.is_empty() {
        let index: Vec<i64> = iv.iter().map(|i| i64::from(*i)).collect();
        text.push_str(" at ");
        text.push_str(&shape_text(&index));
    }
    text.push_str(" = ");
    text.push_str(value);
    text.push('\n');
    text
}

/// Writes a line. That stderr is closed or full must not change what the program does.
fn write(label: Text<'_>, place: Text<'_>, iv: ArrayArg<'_, i32>, value: &str) {
    let text = line(label.0, place.0, iv.0, value);
    let _ = stream::standard(Standard::Err).put(text.as_bytes());
}

/// The text in quotes, shortened.
fn quoted(text: &[u8]) -> String {
    let shown = &text[..text.len().min(LONGEST_TEXT)];
    let more = if shown.len() < text.len() { "..." } else { "" };
    format!("\"{}\"{more}", shown.escape_ascii())
}

/// The elements of an array in brackets, those in the middle of long axes left out.
struct Shortened<'a, T> {
    elements: &'a [T],
    shape: &'a [i64],
    /// Elements at each end of an axis.
    edge: usize,
    out: String,
}

impl<T: Debug> Shortened<'_, T> {
    /// Axis `axis` of the part of the array that begins at `from` and has `n` elements.
    fn axis(&mut self, axis: usize, from: usize, n: usize) {
        let Some(&extent) = self.shape.get(axis) else {
            if let Some(element) = self.elements.get(from) {
                let _ = write!(self.out, "{element:?}");
            }
            return;
        };
        let extent = usize::try_from(extent).unwrap_or(0);
        let cell = n.checked_div(extent).unwrap_or(0);
        self.out.push('[');
        let mut k = 0;
        while k < extent {
            if k > 0 {
                self.out.push(',');
            }
            if k == self.edge && extent > 2 * self.edge + 1 {
                self.out.push_str("...");
                k = extent - self.edge;
            } else {
                self.axis(axis + 1, from + k * cell, cell);
                k += 1;
            }
        }
        self.out.push(']');
    }
}

fn elements<T: Element + Debug>(array: ArrayRef<'_>) -> String {
    let elements = array.as_slice::<T>().unwrap_or_default();
    shortened(elements, array.shape())
}

fn shortened<T: Debug>(elements: &[T], shape: &[i64]) -> String {
    let edge = match elements.len() {
        // Long axes of empty arrays have nothing to show either.
        n if n <= WHOLE && !shape.contains(&0) => usize::MAX / 4,
        _ => EDGES[shape.len().clamp(1, EDGES.len()) - 1],
    };
    let mut short = Shortened { elements, shape, edge, out: String::new() };
    short.axis(0, 0, elements.len());
    short.out
}

/// `double[2,2] [[1.0,2.0],[3.0,4.0]]`; texts in quotes.
fn array_value(array: ArrayRef<'_>) -> String {
    let bools: Vec<bool>;
    let text = match array.elem() {
        ElemTag::Bool => {
            bools = array.as_slice::<u8>().unwrap_or_default().iter().map(|b| *b != 0).collect();
            shortened(&bools, array.shape())
        }
        ElemTag::Char if array.shape().len() == 1 => quoted(array.text().unwrap_or_default()),
        ElemTag::Char => {
            let chars: Vec<char> = array.as_slice::<u8>().unwrap_or_default().iter().map(|c| char::from(*c)).collect();
            shortened(&chars, array.shape())
        }
        ElemTag::U8 => elements::<u8>(array),
        ElemTag::I8 => elements::<i8>(array),
        ElemTag::I16 => elements::<i16>(array),
        ElemTag::I32 => elements::<i32>(array),
        ElemTag::I64 => elements::<i64>(array),
        ElemTag::U16 => elements::<u16>(array),
        ElemTag::U32 => elements::<u32>(array),
        ElemTag::U64 => elements::<u64>(array),
        ElemTag::F32 => elements::<f32>(array),
        ElemTag::F64 => elements::<f64>(array),
        ElemTag::Handle => return "an object".to_string(),
    };
    match array.shape() {
        [] => text,
        shape => format!("{}{} {text}", array.elem().name(), shape_text(shape)),
    }
}

macro_rules! traces {
    ($($name:ident $ty:ty: $x:ident => $text:expr;)*) => {
        natives! { TRACE;
            $(
                /// A line on stderr about a scalar: a label, where the call stands, the index around it, the value.
                write fn $name(label: Text<'_>, place: Text<'_>, iv: ArrayArg<'_, i32>, x: $ty) -> () {
                    let $x = x;
                    write(label, place, iv, &$text);
                    Ok(())
                }
            )*

            /// A line on stderr about an array, of which long axes are shown without their middle.
            write fn ravel_trace_array(label: Text<'_>, place: Text<'_>, iv: ArrayArg<'_, i32>, a: ArrayRef<'_>) -> () {
                write(label, place, iv, &array_value(a));
                Ok(())
            }

            /// A line on stderr about a string.
            write fn ravel_trace_string(label: Text<'_>, place: Text<'_>, iv: ArrayArg<'_, i32>, s: Text<'_>) -> () {
                write(label, place, iv, &quoted(s.0));
                Ok(())
            }
        }
    };
}
traces! {
    ravel_trace_bool bool: x => format!("{x:?}");
    ravel_trace_char Char: x => format!("{:?}", char::from(x.0));
    ravel_trace_i8 i8: x => format!("{x:?}");
    ravel_trace_i16 i16: x => format!("{x:?}");
    ravel_trace_i32 i32: x => format!("{x:?}");
    ravel_trace_i64 i64: x => format!("{x:?}");
    ravel_trace_u8 u8: x => format!("{x:?}");
    ravel_trace_u16 u16: x => format!("{x:?}");
    ravel_trace_u32 u32: x => format!("{x:?}");
    ravel_trace_u64 u64: x => format!("{x:?}");
    ravel_trace_f32 f32: x => format!("{x:?}");
    ravel_trace_f64 f64: x => format!("{x:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_place_label_index_and_value_and_stays_one_line() {
        assert_eq!(line(b"x", b"f.sac:1:2 in f", &[2, 3], "1.5"), "f.sac:1:2 in f: x at [2,3] = 1.5\n");
        assert_eq!(line(b"a\nb", b"f.sac:1:2 in f", &[], "1"), "f.sac:1:2 in f: a\\nb = 1\n");
    }

    #[test]
    fn long_axes_lose_their_middle() {
        let vector: Vec<i32> = (0..100).collect();
        assert_eq!(shortened(&vector, &[100]), "[0,1,2,3,...,96,97,98,99]");
        assert_eq!(
            shortened(&vector, &[10, 10]),
            "[[0,1,...,8,9],[10,11,...,18,19],...,[80,81,...,88,89],[90,91,...,98,99]]"
        );
        assert_eq!(shortened(&vector[..6], &[2, 3]), "[[0,1,2],[3,4,5]]");
        assert_eq!(shortened(&vector, &[25, 2, 1, 2]).matches("...").count(), 1);
    }

    #[test]
    fn empty_arrays_show_their_axes() {
        let none: [f64; 0] = [];
        assert_eq!(shortened(&none, &[0]), "[]");
        assert_eq!(shortened(&none, &[2, 0]), "[[],[]]");
        assert_eq!(shortened(&none, &[0, 1_000_000]), "[]");
        assert!(shortened(&none, &[1_000_000, 0]).len() < 30);
    }

    #[test]
    fn texts_are_quoted_and_shortened() {
        assert_eq!(quoted(b"a\"b\n"), "\"a\\\"b\\n\"");
        assert!(quoted(&[b'x'; 1000]).len() < 210);
    }
}
