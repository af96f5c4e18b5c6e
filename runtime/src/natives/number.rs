//! Numbers in text: what C's `strtol` and `strtod` accept.

/// Value of a decimal prefix, and how many bytes it takes (0 if there is no number).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prefix<T> {
    /// The value; zero if there is no number.
    pub value: T,
    /// Bytes of blanks, sign and digits.
    pub length: usize,
}

/// Whether C's `isspace` holds.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Number of leading blanks.
pub fn blanks(text: &[u8]) -> usize {
    text.iter().take_while(|&&byte| is_space(byte)).count()
}

/// An integer in `base` 2 to 36, or 0 for C's prefixes `0x` and `0`. Values out of range saturate.
pub fn integer(text: &[u8], base: u32) -> Prefix<i64> {
    let none = Prefix { value: 0, length: 0 };
    let mut at = blanks(text);
    let negative = text.get(at) == Some(&b'-');
    if matches!(text.get(at), Some(b'-' | b'+')) {
        at += 1;
    }
    let digit = |at: usize, base: u32| text.get(at).and_then(|&byte| char::from(byte).to_digit(base));
    let hexadecimal =
        text.get(at) == Some(&b'0') && matches!(text.get(at + 1), Some(b'x' | b'X')) && digit(at + 2, 16).is_some();
    let base = match base {
        0 if hexadecimal => 16,
        0 if text.get(at) == Some(&b'0') => 8,
        0 => 10,
        2..=36 => base,
        _ => return none,
    };
    if base == 16 && hexadecimal {
        at += 2;
    }
    let start = at;
    let mut magnitude: i128 = 0;
    while let Some(digit) = digit(at, base) {
        magnitude = (magnitude * i128::from(base) + i128::from(digit)).min(1 << 100);
        at += 1;
    }
    if at == start {
        return none;
    }
    let signed = if negative { -magnitude } else { magnitude };
    let value = i64::try_from(signed).unwrap_or(if negative { i64::MIN } else { i64::MAX });
    Prefix { value, length: at }
}

/// An unsigned integer as C's `strtoul` reads it: a minus sign negates in 64 bits, values out of range saturate.
pub fn unsigned(text: &[u8], base: u32) -> Prefix<u64> {
    let signed = integer(text, base);
    let start = blanks(text);
    if text.get(start) == Some(&b'-') || signed.value < i64::MAX {
        return Prefix { value: signed.value.cast_unsigned(), length: signed.length };
    }
    let digits = text[start..signed.length].iter().filter(|byte| byte.is_ascii_alphanumeric());
    let base = if base == 0 { 10 } else { base };
    let value = digits
        .filter_map(|&byte| char::from(byte).to_digit(base))
        .try_fold(0u64, |value, digit| value.checked_mul(u64::from(base))?.checked_add(u64::from(digit)));
    Prefix { value: value.unwrap_or(u64::MAX), length: signed.length }
}

/// A real number with C's forms: decimal with optional exponent, `0x1.8p3`, `inf`, `infinity`, `nan`.
pub fn real(text: &[u8]) -> Prefix<f64> {
    float(text, |digits| digits.parse().unwrap_or(0.0))
}

/// [`real`] rounded once to `float`.
pub fn real32(text: &[u8]) -> Prefix<f32> {
    let wide = real(text);
    let narrow = float(text, |digits| digits.parse::<f32>().map_or(0.0, f64::from));
    // Widening an f32 is exact, so narrowing it again gives the same value; other forms round here.
    Prefix { value: narrow.value as f32, length: wide.length }
}

fn float(text: &[u8], decimal: impl Fn(&str) -> f64) -> Prefix<f64> {
    let none = Prefix { value: 0.0, length: 0 };
    let start = blanks(text);
    let mut at = start;
    let negative = text.get(at) == Some(&b'-');
    if matches!(text.get(at), Some(b'-' | b'+')) {
        at += 1;
    }
    let sign = if negative { -1.0 } else { 1.0 };
    let word = |word: &[u8]| text.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word));
    for (name, value) in [(&b"infinity"[..], f64::INFINITY), (b"inf", f64::INFINITY), (b"nan", f64::NAN)] {
        if word(name) {
            return Prefix { value: value.copysign(sign), length: at + name.len() };
        }
    }
    if word(b"0x")
        && let Some(found) = hexadecimal(text, at + 2)
    {
        return Prefix { value: found.value * sign, length: found.length };
    }
    let digits = |mut at: usize| {
        while text.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let whole = digits(at);
    let mut end = whole;
    let mut count = whole - at;
    if text.get(whole) == Some(&b'.') {
        end = digits(whole + 1);
        count += end - whole - 1;
    }
    if count == 0 {
        return none;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let signed = end + 1 + usize::from(matches!(text.get(end + 1), Some(b'-' | b'+')));
        let exponent = digits(signed);
        if exponent > signed {
            end = exponent;
        }
    }
    let value = std::str::from_utf8(&text[start..end]).map_or(0.0, decimal);
    Prefix { value, length: end }
}

/// The part of a hexadecimal real after `0x`; unsigned.
fn hexadecimal(text: &[u8], mut at: usize) -> Option<Prefix<f64>> {
    let (mut value, mut scale, mut digits, mut fraction) = (0f64, 0i32, 0, false);
    loop {
        match text.get(at) {
            Some(b'.') if !fraction => fraction = true,
            Some(byte) if byte.is_ascii_hexdigit() => {
                value = value * 16.0 + f64::from(char::from(*byte).to_digit(16).unwrap_or(0));
                scale -= if fraction { 4 } else { 0 };
                digits += 1;
            }
            _ => break,
        }
        at += 1;
    }
    if digits == 0 {
        return None;
    }
    if matches!(text.get(at), Some(b'p' | b'P')) {
        let exponent = integer(&text[at + 1..], 10);
        if exponent.length > 0 && !text.get(at + 1).copied().is_some_and(is_space) {
            scale = scale.saturating_add(i32::try_from(exponent.value).unwrap_or(i32::MAX));
            at += 1 + exponent.length;
        }
    }
    Some(Prefix { value: scale_by_two(value, scale), length: at })
}

/// `value * 2^exponent` without overflow of the intermediate power.
pub fn scale_by_two(mut value: f64, mut exponent: i32) -> f64 {
    while exponent > 1000 && value.is_finite() && value != 0.0 {
        value *= 2f64.powi(1000);
        exponent -= 1000;
    }
    while exponent < -1000 && value != 0.0 {
        // One step at the end only: a value that becomes subnormal twice would round twice.
        if exponent >= -1000 - 52 {
            value *= 2f64.powi(exponent + 1000);
            exponent = -1000;
        } else {
            value *= 2f64.powi(-1000);
            exponent += 1000;
        }
    }
    value * 2f64.powi(exponent.clamp(-1000, 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_take_the_longest_prefix() {
        assert_eq!(integer(b"  -42x", 10), Prefix { value: -42, length: 5 });
        assert_eq!(integer(b"0x1F", 0), Prefix { value: 31, length: 4 });
        assert_eq!(integer(b"0x1F", 16), Prefix { value: 31, length: 4 });
        assert_eq!(integer(b"0xg", 0), Prefix { value: 0, length: 1 });
        assert_eq!(integer(b"017", 0), Prefix { value: 15, length: 3 });
        assert_eq!(integer(b"x", 10).length, 0);
        assert_eq!(integer(b"+", 10).length, 0);
        assert_eq!(integer(b"99999999999999999999", 10).value, i64::MAX);
        assert_eq!(unsigned(b"18446744073709551615", 10).value, u64::MAX);
        assert_eq!(unsigned(b"-1", 10).value, u64::MAX);
    }

    #[test]
    fn reals_take_c_forms() {
        assert_eq!(real(b" 1.5e3z"), Prefix { value: 1500.0, length: 6 });
        assert_eq!(real(b".5"), Prefix { value: 0.5, length: 2 });
        assert_eq!(real(b"5."), Prefix { value: 5.0, length: 2 });
        assert_eq!(real(b"1e"), Prefix { value: 1.0, length: 1 });
        assert_eq!(real(b"-inf").value, f64::NEG_INFINITY);
        assert!(real(b"nan").value.is_nan());
        assert_eq!(real(b"0x1.8p3"), Prefix { value: 12.0, length: 7 });
        assert_eq!(real(b".").length, 0);
        assert_eq!(real(b"-").length, 0);
        assert_eq!(real32(b"0.1").value, 0.1f32);
    }
}
