//! Numbers in columns: the images of arrays as characters.

use super::format::{self, FormatArg};
use super::{Char, Of, natives};
use crate::abi::ElemTag;
use crate::array::{Array, ArrayRef, Element};
use crate::fault::Fault;

/// Rows of texts under each other. `split` says how many characters of a text stand left of a column's line; `gap` blanks are
/// behind the last column.
fn image(shape: &[i64], texts: &[Vec<u8>], gap: usize, split: fn(&[u8]) -> usize) -> Result<Array, Fault> {
    let Some((&extent, outer)) = shape.split_last() else {
        return Err(Fault::new("a native expects an array of rank 1 or more"));
    };
    let columns = usize::try_from(extent).unwrap_or(0);
    let mut widths = vec![(0, 0); columns];
    for row in texts.chunks(columns.max(1)) {
        for ((left, right), text) in widths.iter_mut().zip(row) {
            let at = split(text);
            *left = at.max(*left);
            *right = (text.len() - at).max(*right);
        }
    }
    let blanks = (1 + gap) * columns;
    let width = (widths.iter().map(|(left, right)| left + right).sum::<usize>() + blanks).saturating_sub(1);
    let mut bytes = Vec::with_capacity(width * texts.len() / columns.max(1));
    for row in texts.chunks(columns.max(1)) {
        let start = bytes.len();
        for ((left, right), text) in widths.iter().zip(row) {
            let before = left - split(text);
            bytes.resize(bytes.len() + before, b' ');
            bytes.extend_from_slice(text);
            // The blank between columns, too.
            bytes.resize(bytes.len() + left + right + 1 - before - text.len(), b' ');
        }
        bytes.resize(start + width, b' ');
    }
    let width = i64::try_from(width).map_err(|_| Fault::new("the image of an array is too wide"))?;
    let shape: Vec<i64> = outer.iter().copied().chain([width]).collect();
    // An array without columns has rows, but no texts.
    Array::from_slice_as(ElemTag::Char, &shape, &bytes)
}

fn elements<T: Element + Copy>(
    array: ArrayRef<'_>,
    text: impl Fn(T) -> Result<Vec<u8>, Fault>,
) -> Result<Vec<Vec<u8>>, Fault> {
    array.as_slice::<T>().unwrap_or_default().iter().map(|&value| text(value)).collect()
}

/// As C's `%.*g`, but without the sign of a positive exponent.
fn real(value: f64, precision: i32) -> Result<Vec<u8>, Fault> {
    let digits = FormatArg::Integer { value: precision.into(), bits: 32 };
    let mut text = format::format(b"%.*g", &[digits, FormatArg::Real(value)])?;
    text.retain(|&byte| byte != b'+');
    Ok(text)
}

fn point(text: &[u8]) -> usize {
    text.iter().position(|&byte| byte == b'.').unwrap_or(text.len())
}

natives! { COLUMNS;
    /// The image of an array of integers: right-justified in columns, a blank between them.
    pure fn ravel_format_integers(a: ArrayRef<'_>) -> (c: Of<Char>) {
        macro_rules! texts {
            ($($tag:ident $ty:ty),*) => {
                match a.elem() {
                    $(ElemTag::$tag => elements::<$ty>(a, |value| Ok(value.to_string().into_bytes())),)*
                    other => Err(Fault::new(format!("a native expects integers, not {}", other.name()))),
                }
            };
        }
        let texts = texts!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64)?;
        image(a.shape(), &texts, 0, <[u8]>::len).map(Of::new)
    }

    /// The image of an array of reals with a number of significant digits, points below each other.
    pure fn ravel_format_reals(a: ArrayRef<'_>, precision: i32) -> (c: Of<Char>) {
        let texts = match a.elem() {
            ElemTag::F32 => elements::<f32>(a, |value| real(value.into(), precision)),
            ElemTag::F64 => elements::<f64>(a, |value| real(value, precision)),
            other => Err(Fault::new(format!("a native expects reals, not {}", other.name()))),
        };
        image(a.shape(), &texts?, 1, point).map(Of::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(image: &Array) -> Vec<String> {
        let width = usize::try_from(*image.view().shape().last().expect("an axis")).expect("small");
        let text = image.view().text().expect("characters");
        text.chunks(width.max(1)).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }

    fn texts(words: &[&str]) -> Vec<Vec<u8>> {
        words.iter().map(|word| word.as_bytes().to_vec()).collect()
    }

    #[test]
    fn integers_stand_right_reals_by_their_points() {
        let words = texts(&["1", "-20", "300", "4"]);
        assert_eq!(lines(&image(&[2, 2], &words, 0, <[u8]>::len).expect("small")), ["  1 -20", "300   4"]);
        let words = texts(&["1.5", "100", "10.25", "0.125"]);
        assert_eq!(lines(&image(&[2, 2], &words, 1, point).expect("small")), [" 1.5  100      ", "10.25   0.125  "]);
        assert_eq!(real(1e20, 3).expect("finite"), b"1e20");
    }

    #[test]
    fn empty_arrays_have_empty_images() {
        assert_eq!(image(&[2, 0], &[], 0, <[u8]>::len).expect("small").view().shape(), [2, 0]);
        assert_eq!(image(&[0, 3], &[], 0, <[u8]>::len).expect("small").view().shape(), [0, 2]);
        assert!(image(&[], &[], 0, <[u8]>::len).is_err());
    }
}
