//! Strings: immutable text objects of known length. Positions count from 0; parts outside a string are clipped.

use std::cmp::Ordering;

use super::print::{self, Printable};
use super::{Char, Chars, Of, Str, Text, natives, number, variadic};
use crate::abi::ElemTag;
use crate::array::{Array, ArrayRef};
use crate::fault::{self, Fault};

/// The text up to its first NUL: what C would see.
fn up_to_nul(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// A count or position from SaC, within `0..=length`.
fn clip(n: i32, length: usize) -> usize {
    usize::try_from(n).unwrap_or(0).min(length)
}

fn prefix(text: &[u8], n: i32) -> &[u8] {
    &text[..clip(n, text.len())]
}

fn compare(a: &[u8], b: &[u8]) -> i32 {
    match a.cmp(b) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }
}

fn compare_caseless(a: &[u8], b: &[u8]) -> i32 {
    compare(&a.to_ascii_lowercase(), &b.to_ascii_lowercase())
}

fn position(found: Option<usize>) -> i32 {
    found.and_then(|position| i32::try_from(position).ok()).unwrap_or(-1)
}

fn length(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// A position that must exist.
fn at(text: &[u8], p: i32) -> Result<usize, Fault> {
    usize::try_from(p)
        .ok()
        .filter(|&p| p < text.len())
        .ok_or_else(|| fault::index(p.into(), 0, text.len().try_into().unwrap_or(i64::MAX)))
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    text.windows(part.len()).position(|window| window == part)
}

fn trim_end(text: &[u8]) -> &[u8] {
    let blank = text.iter().rev().take_while(|&&byte| number::is_space(byte)).count();
    &text[..text.len() - blank]
}

fn trim_start(text: &[u8]) -> &[u8] {
    &text[number::blanks(text)..]
}

natives! { STRINGS;
    /// A string from characters, up to the first NUL or the end.
    pure fn ravel_string_to_string(c: Chars<'_>) -> (s: Str) {
        Str::new(up_to_nul(c.0))
    }

    /// A string from the first `len` characters.
    pure fn ravel_string_to_string_n(c: Chars<'_>, len: i32) -> (s: Str) {
        Str::new(prefix(c.0, len))
    }

    /// The characters of a string.
    pure fn ravel_string_tochar(s: Text<'_>) -> (c: Of<Char>) {
        let count = i64::try_from(s.0.len()).map_err(|_| Fault::new("a string is too long"))?;
        Array::from_slice_as(ElemTag::Char, &[count], s.0).map(Of::new)
    }

    /// Number of characters.
    pure fn ravel_string_strlen(s: Text<'_>) -> (n: i32) {
        Ok(length(s.0.len()))
    }

    /// Order of two strings: -1, 0 or 1.
    pure fn ravel_string_strcmp(a: Text<'_>, b: Text<'_>) -> (order: i32) {
        Ok(compare(a.0, b.0))
    }

    /// Order of two strings, letters of both cases alike.
    pure fn ravel_string_strcasecmp(a: Text<'_>, b: Text<'_>) -> (order: i32) {
        Ok(compare_caseless(a.0, b.0))
    }

    /// Order of the first `n` characters.
    pure fn ravel_string_strncmp(a: Text<'_>, b: Text<'_>, n: i32) -> (order: i32) {
        Ok(compare(prefix(a.0, n), prefix(b.0, n)))
    }

    /// Order of the first `n` characters, letters of both cases alike.
    pure fn ravel_string_strncasecmp(a: Text<'_>, b: Text<'_>, n: i32) -> (order: i32) {
        Ok(compare_caseless(prefix(a.0, n), prefix(b.0, n)))
    }

    /// Whether two strings are equal.
    pure fn ravel_string_eq(a: Text<'_>, b: Text<'_>) -> (equal: bool) {
        Ok(a.0 == b.0)
    }

    /// Both strings in a row.
    pure fn ravel_string_strcat(a: Text<'_>, b: Text<'_>) -> (s: Str) {
        Str::new(&[a.0, b.0].concat())
    }

    /// The first string and the first `n` characters of the second.
    pure fn ravel_string_strncat(a: Text<'_>, b: Text<'_>, n: i32) -> (s: Str) {
        Str::new(&[a.0, prefix(b.0, n)].concat())
    }

    /// Character `p`; a fault outside the string.
    pure fn ravel_string_strsel(s: Text<'_>, p: i32) -> (c: Char) {
        Ok(Char(s.0[at(s.0, p)?]))
    }

    /// The string with character `p` replaced; a fault outside the string.
    pure fn ravel_string_strmod(s: Text<'_>, p: i32, c: Char) -> (t: Str) {
        let mut text = s.0.to_vec();
        text[at(s.0, p)?] = c.0;
        Str::new(&text)
    }

    /// `t` inserted before character `p`.
    pure fn ravel_string_strins(s: Text<'_>, p: i32, t: Text<'_>) -> (u: Str) {
        let (before, after) = s.0.split_at(clip(p, s.0.len()));
        Str::new(&[before, t.0, after].concat())
    }

    /// `t` written over the characters from `p` on; the length stays.
    pure fn ravel_string_strovwt(s: Text<'_>, p: i32, t: Text<'_>) -> (u: Str) {
        let mut text = s.0.to_vec();
        let start = clip(p, text.len());
        let count = t.0.len().min(text.len() - start);
        text[start..start + count].copy_from_slice(&t.0[..count]);
        Str::new(&text)
    }

    /// The first `n` characters.
    pure fn ravel_string_strtake(s: Text<'_>, n: i32) -> (t: Str) {
        Str::new(prefix(s.0, n))
    }

    /// Without the first `n` characters.
    pure fn ravel_string_strdrop(s: Text<'_>, n: i32) -> (t: Str) {
        Str::new(&s.0[clip(n, s.0.len())..])
    }

    /// `len` characters from position `first` on.
    pure fn ravel_string_strext(s: Text<'_>, first: i32, len: i32) -> (t: Str) {
        Str::new(prefix(&s.0[clip(first, s.0.len())..], len))
    }

    /// First position of a character, or -1.
    pure fn ravel_string_strchr(s: Text<'_>, c: Char) -> (p: i32) {
        Ok(position(s.0.iter().position(|&byte| byte == c.0)))
    }

    /// Last position of a character, or -1.
    pure fn ravel_string_strrchr(s: Text<'_>, c: Char) -> (p: i32) {
        Ok(position(s.0.iter().rposition(|&byte| byte == c.0)))
    }

    /// Length of the prefix without characters of `t`.
    pure fn ravel_string_strcspn(s: Text<'_>, t: Text<'_>) -> (n: i32) {
        Ok(length(s.0.iter().take_while(|byte| !t.0.contains(byte)).count()))
    }

    /// Length of the prefix of characters of `t`.
    pure fn ravel_string_strspn(s: Text<'_>, t: Text<'_>) -> (n: i32) {
        Ok(length(s.0.iter().take_while(|byte| t.0.contains(byte)).count()))
    }

    /// First position of the string `t`, or -1.
    pure fn ravel_string_strstr(s: Text<'_>, t: Text<'_>) -> (p: i32) {
        Ok(position(find(s.0, t.0)))
    }

    /// The first token between separators, and what follows it.
    pure fn ravel_string_strtok(s: Text<'_>, separators: Text<'_>) -> (token: Str, rest: Str) {
        let skipped = s.0.iter().take_while(|byte| separators.0.contains(byte)).count();
        let text = &s.0[skipped..];
        let end = text.iter().take_while(|byte| !separators.0.contains(byte)).count();
        Ok((Str::new(&text[..end])?, Str::new(&text[text.len().min(end + 1)..])?))
    }

    /// The integer at the start, or the nearest that fits; 0 if there is none.
    pure fn ravel_string_toi(s: Text<'_>) -> (n: i32) {
        Ok(nearest(number::integer(s.0, 10).value))
    }

    /// The integer at the start; 0 if there is none.
    pure fn ravel_string_tol(s: Text<'_>) -> (n: i64) {
        Ok(number::integer(s.0, 10).value)
    }

    /// The real number at the start; 0 if there is none.
    pure fn ravel_string_tof(s: Text<'_>) -> (x: f32) {
        Ok(number::real32(s.0).value)
    }

    /// The real number at the start; 0 if there is none.
    pure fn ravel_string_tod(s: Text<'_>) -> (x: f64) {
        Ok(number::real(s.0).value)
    }

    /// The integer at the start in a base of 2 to 36 (0: C prefixes), and the rest of the string.
    pure fn ravel_string_strtoi(s: Text<'_>, base: i32) -> (n: i32, rest: Str) {
        let found = number::integer(s.0, u32::try_from(base).unwrap_or(1));
        Ok((nearest(found.value), Str::new(&s.0[found.length..])?))
    }

    /// The real number at the start, and the rest of the string.
    pure fn ravel_string_strtof(s: Text<'_>) -> (x: f32, rest: Str) {
        let found = number::real32(s.0);
        Ok((found.value, Str::new(&s.0[found.length..])?))
    }

    /// The real number at the start, and the rest of the string.
    pure fn ravel_string_strtod(s: Text<'_>) -> (x: f64, rest: Str) {
        let found = number::real(s.0);
        Ok((found.value, Str::new(&s.0[found.length..])?))
    }

    /// Without a newline at the end.
    pure fn ravel_string_chomp(s: Text<'_>) -> (t: Str) {
        let text = s.0.strip_suffix(b"\n").unwrap_or(s.0);
        Str::new(text.strip_suffix(b"\r").unwrap_or(text))
    }

    /// Without blanks at the end.
    pure fn ravel_string_rtrim(s: Text<'_>) -> (t: Str) {
        Str::new(trim_end(s.0))
    }

    /// Without blanks at the start.
    pure fn ravel_string_ltrim(s: Text<'_>) -> (t: Str) {
        Str::new(trim_start(s.0))
    }

    /// Without blanks at both ends.
    pure fn ravel_string_trim(s: Text<'_>) -> (t: Str) {
        Str::new(trim_start(trim_end(s.0)))
    }

    /// Text of an array, `[[1,2],[3,4]]`.
    pure fn ravel_string_tos_array(a: ArrayRef<'_>) -> (s: Str) {
        Str::new(&print::bracketed(a)?)
    }

    /// The first string that a format of C's `sscanf` converts; "" if there is none.
    pure fn ravel_sscanf_str(s: Text<'_>, format: Text<'_>) -> (t: Str) {
        variadic::first_text(s.0, format.0).map(Str)
    }
}

/// The `int` that is nearest to a number.
fn nearest(value: i64) -> i32 {
    value.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

macro_rules! texts {
    ($($name:ident $ty:ty;)*) => {
        natives! { TEXTS;
            $(
                /// Text of a scalar.
                pure fn $name(x: $ty) -> (s: Str) {
                    Str::new(&x.text()?)
                }
            )*
        }
    };
}
texts! {
    ravel_string_tos_bool bool;
    ravel_string_tos_char Char;
    ravel_string_tos_byte i8;
    ravel_string_tos_short i16;
    ravel_string_tos_int i32;
    ravel_string_tos_long i64;
    ravel_string_tos_ubyte u8;
    ravel_string_tos_ushort u16;
    ravel_string_tos_uint u32;
    ravel_string_tos_ulong u64;
    ravel_string_tos_float f32;
    ravel_string_tos_double f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_clipped() {
        assert_eq!(prefix(b"abc", 7), b"abc");
        assert_eq!(prefix(b"abc", -1), b"");
        assert_eq!(clip(-5, 3), 0);
    }

    #[test]
    fn searching_and_trimming() {
        assert_eq!(find(b"hello", b"ll"), Some(2));
        assert_eq!(find(b"hello", b""), Some(0));
        assert_eq!(find(b"a", b"abc"), None);
        assert_eq!(trim_start(trim_end(b" \t a b \n")), b"a b");
        assert_eq!(up_to_nul(b"ab\0cd"), b"ab");
    }

    #[test]
    fn selection_outside_is_a_fault() {
        assert!(at(b"abc", 3).is_err());
        assert!(at(b"abc", -1).is_err());
        assert_eq!(at(b"abc", 2), Ok(2));
    }
}
