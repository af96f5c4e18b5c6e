//! Values of numeric, character and string literals.

use crate::ast::NumberValue;

/// Why a literal has no value. The text of the literal is at hand where this is reported.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LiteralError {
    /// Letters at the end that are no suffix.
    Suffix(String),
    /// An octal literal with the digit 8 or 9.
    OctalDigit,
    /// `0x` without a digit, or an exponent without one.
    NoDigits,
    /// The value does not fit the named type.
    Range(&'static str),
    /// A character literal that is empty or holds more than one character.
    CharLength,
    /// A character outside of the 8-bit range.
    WideChar,
    /// An escape such as `\x400` that does not fit 8 bits.
    Escape,
}

/// The value of a number. Hexadecimal and octal literals of signed types may state the bit pattern, so `0xffffffff`
/// is the `int` -1; the decimal magnitude of the smallest value is accepted too (a `-` must stand before it, which
/// [`crate::check`] sees to).
pub(crate) fn parse_number(text: &str) -> Result<NumberValue, LiteralError> {
    // Nearly all numbers are small and plain.
    if text.len() < 10 && text.bytes().all(|b| b.is_ascii_digit()) && (!text.starts_with('0') || text == "0") {
        return text.parse().map(NumberValue::Int).map_err(|_| LiteralError::NoDigits);
    }
    let lower = text.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        return hexadecimal(hex);
    }
    let digits = lower.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &lower[digits..];
    let exponent = rest.len() > 1 && rest.starts_with(['e', 'p']) && rest.as_bytes()[1] != b'_';
    if rest.starts_with('.') || exponent && rest[1..].starts_with(|c: char| c.is_ascii_digit() || c == '+' || c == '-')
    {
        return real(&lower);
    }
    let (body, suffix) = lower.split_at(digits);
    if matches!(suffix, "f" | "d") {
        return real(&lower);
    }
    let octal = body.len() > 1 && body.starts_with('0');
    if octal && body.contains(['8', '9']) {
        return Err(LiteralError::OctalDigit);
    }
    integer(body, if octal { 8 } else { 10 }, suffix)
}

fn hexadecimal(hex: &str) -> Result<NumberValue, LiteralError> {
    if hex.contains('.') || hex.contains('p') {
        return hexadecimal_real(hex);
    }
    let digits = hex.bytes().take_while(u8::is_ascii_hexdigit).count();
    if digits == 0 {
        return Err(LiteralError::NoDigits);
    }
    integer(&hex[..digits], 16, &hex[digits..])
}

fn integer(digits: &str, radix: u32, suffix: &str) -> Result<NumberValue, LiteralError> {
    let value = u64::from_str_radix(digits, radix);
    let signed = |bits: u32, name| {
        let value = value.clone().map_err(|_| LiteralError::Range(name))?;
        let largest = if radix == 10 { 1u64 << (bits - 1) } else { u64::MAX >> (64 - bits) };
        if value > largest { Err(LiteralError::Range(name)) } else { Ok(value) }
    };
    let unsigned = |bits: u32, name| {
        let value = value.clone().map_err(|_| LiteralError::Range(name))?;
        if value > u64::MAX >> (64 - bits) { Err(LiteralError::Range(name)) } else { Ok(value) }
    };
    Ok(match suffix {
        "" | "i" => NumberValue::Int(signed(32, "int")? as i32),
        "b" => NumberValue::Byte(signed(8, "byte")? as i8),
        "s" => NumberValue::Short(signed(16, "short")? as i16),
        "l" => NumberValue::Long(signed(64, "long")? as i64),
        "ll" => NumberValue::LongLong(signed(64, "longlong")? as i64),
        "u" | "ui" => NumberValue::UInt(unsigned(32, "uint")? as u32),
        "ub" => NumberValue::UByte(unsigned(8, "ubyte")? as u8),
        "us" => NumberValue::UShort(unsigned(16, "ushort")? as u16),
        "ul" => NumberValue::ULong(unsigned(64, "ulong")?),
        "ull" => NumberValue::ULongLong(unsigned(64, "ulonglong")?),
        other => return Err(LiteralError::Suffix(other.to_string())),
    })
}

fn real(lower: &str) -> Result<NumberValue, LiteralError> {
    let mantissa_end = lower.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let (mantissa, rest) = lower.split_at(mantissa_end);
    let (exponent, suffix, binary) = split_exponent(rest)?;
    // `1.` and `.5` are fine for Rust; a lone `.` never reaches this function.
    let decimal = if binary { mantissa } else { &lower[..lower.len() - suffix.len()] };
    let wide: f64 = decimal.parse().map_err(|_| LiteralError::NoDigits)?;
    if binary {
        let value = scale(wide, exponent);
        return typed_real(value, value as f32, suffix);
    }
    // Rounding once from the text, not twice through a double.
    let narrow = if suffix == "f" { decimal.parse().map_err(|_| LiteralError::NoDigits)? } else { wide as f32 };
    typed_real(wide, narrow, suffix)
}

/// Exponent, suffix and whether the exponent counts powers of two.
fn split_exponent(rest: &str) -> Result<(i32, &str, bool), LiteralError> {
    let Some(after) = rest.strip_prefix(['e', 'p']) else { return Ok((0, rest, false)) };
    let sign = usize::from(after.starts_with(['+', '-']));
    let digits = after[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return if sign == 0 { Err(LiteralError::Suffix(rest.to_string())) } else { Err(LiteralError::NoDigits) };
    }
    let (exponent, suffix) = after.split_at(sign + digits);
    // An exponent too long for i32 gives zero or infinity all the same.
    let clipped = exponent.parse::<i32>().unwrap_or(if exponent.starts_with('-') { -99_999 } else { 99_999 });
    Ok((clipped.clamp(-99_999, 99_999), suffix, rest.starts_with('p')))
}

fn hexadecimal_real(hex: &str) -> Result<NumberValue, LiteralError> {
    let mantissa_end = hex.bytes().take_while(|b| b.is_ascii_hexdigit() || *b == b'.').count();
    let (mantissa, rest) = hex.split_at(mantissa_end);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(LiteralError::NoDigits);
    }
    let (exponent, suffix, _) = split_exponent(rest)?;
    // Sixteen significant digits hold more than the 53 bits of a double.
    let (mut bits, mut shift, mut sticky) = (0u64, 0i32, false);
    for (at, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(digit.to_digit(16).unwrap_or(0));
        if bits >> 59 == 0 {
            bits = bits << 4 | digit;
            shift -= if at >= whole.len() { 4 } else { 0 };
        } else {
            sticky |= digit != 0;
            shift += if at < whole.len() { 4 } else { 0 };
        }
    }
    let value = scale((bits | u64::from(sticky)) as f64, shift.saturating_add(exponent));
    typed_real(value, value as f32, suffix)
}

/// `value * 2^exponent`, in steps that neither overflow nor lose bits too early.
fn scale(mut value: f64, mut exponent: i32) -> f64 {
    while exponent > 1000 && value.is_finite() && value != 0.0 {
        value *= 2f64.powi(1000);
        exponent -= 1000;
    }
    while exponent < -1000 && value != 0.0 {
        value *= 2f64.powi(-1000);
        exponent += 1000;
    }
    value * 2f64.powi(exponent.clamp(-1000, 1000))
}

fn typed_real(wide: f64, narrow: f32, suffix: &str) -> Result<NumberValue, LiteralError> {
    match suffix {
        "" | "d" if wide.is_infinite() => Err(LiteralError::Range("double")),
        "f" if narrow.is_infinite() => Err(LiteralError::Range("float")),
        "" | "d" => Ok(NumberValue::Double(wide)),
        "f" => Ok(NumberValue::Float(narrow)),
        other => Err(LiteralError::Suffix(other.to_string())),
    }
}

/// The code of a character literal given with its quotes.
pub(crate) fn parse_char(text: &str) -> Result<u8, LiteralError> {
    let body = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or("");
    if body.chars().count() == 1 && !body.is_ascii() {
        return Err(LiteralError::WideChar);
    }
    match unescape(body)?.as_slice() {
        [code] => Ok(*code),
        _ => Err(LiteralError::CharLength),
    }
}

/// A text in single quotes as a string literal.
pub(crate) fn in_double_quotes(text: &str) -> String {
    let body = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or(text);
    let mut out = String::from("\"");
    let mut escaped = false;
    for c in body.chars() {
        if c == '"' && !escaped {
            out.push('\\');
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    out.push('"');
    out
}

/// The bytes of a string literal given with its quotes; text outside of ASCII stays UTF-8.
pub(crate) fn parse_string(text: &str) -> Result<Vec<u8>, LiteralError> {
    let body = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or("");
    unescape(body)
}

fn unescape(body: &str) -> Result<Vec<u8>, LiteralError> {
    let bytes = body.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' || at + 1 == bytes.len() {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        at += 2;
        match bytes[at - 1] {
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' if bytes.get(at) != Some(&b'\n') => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            // A backslash at the end of a line joins it with the next one.
            b'\n' => {}
            b'\r' if bytes.get(at) == Some(&b'\n') => at += 1,
            digit @ b'0'..=b'7' => {
                let mut value = u32::from(digit - b'0');
                let more = bytes[at..].iter().take(2).take_while(|b| (b'0'..=b'7').contains(b)).count();
                for b in &bytes[at..at + more] {
                    value = value * 8 + u32::from(b - b'0');
                }
                at += more;
                out.push(u8::try_from(value).map_err(|_| LiteralError::Escape)?);
            }
            b'x' if bytes.get(at).is_some_and(u8::is_ascii_hexdigit) => {
                let digits = bytes[at..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
                let value = u32::from_str_radix(&body[at..at + digits], 16).map_err(|_| LiteralError::Escape)?;
                at += digits;
                out.push(u8::try_from(value).map_err(|_| LiteralError::Escape)?);
            }
            other => out.push(other),
        }
    }
    Ok(out)
}

/// A string literal with these bytes, quotes included.
pub(crate) fn quote_string(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    let mut rest = bytes;
    while !rest.is_empty() {
        let (valid, skip) = match std::str::from_utf8(rest) {
            Ok(text) => (text, 0),
            Err(error) => {
                let upto = error.valid_up_to();
                (std::str::from_utf8(&rest[..upto]).unwrap_or(""), 1)
            }
        };
        for c in valid.chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                c if c.is_ascii_control() => out.push_str(&format!("\\{:03o}", c as u32)),
                c => out.push(c),
            }
        }
        let bad = &rest[valid.len()..valid.len() + skip];
        for byte in bad {
            out.push_str(&format!("\\{byte:03o}"));
        }
        rest = &rest[valid.len() + skip..];
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use NumberValue::*;

    #[test]
    fn suffixes_choose_the_type() {
        let cases: &[(&str, NumberValue)] = &[
            ("42", Int(42)),
            ("0x2a", Int(42)),
            ("052", Int(42)),
            ("0", Int(0)),
            ("42i", Int(42)),
            ("42B", Byte(42)),
            ("0b", Byte(0)),
            ("42s", Short(42)),
            ("42l", Long(42)),
            ("42LL", LongLong(42)),
            ("42u", UInt(42)),
            ("42ui", UInt(42)),
            ("42ub", UByte(42)),
            ("42us", UShort(42)),
            ("42ul", ULong(42)),
            ("42ull", ULongLong(42)),
            ("1.5", Double(1.5)),
            ("1.", Double(1.0)),
            (".5", Double(0.5)),
            ("1e-9", Double(1e-9)),
            ("2E3", Double(2000.0)),
            ("1p3", Double(8.0)),
            ("0x1p-53", Double(2f64.powi(-53))),
            ("0x1.8p3", Double(12.0)),
            ("1f", Float(1.0)),
            ("1.5f", Float(1.5)),
            ("1e3f", Float(1000.0)),
            ("1d", Double(1.0)),
            ("1e9d", Double(1e9)),
            ("0x1f", Int(31)),
            ("0x1b", Int(27)),
            ("0x76e1ul", ULong(0x76e1)),
            ("0xffffffff", Int(-1)),
            ("2147483648", Int(i32::MIN)),
            ("0.1f", Float(0.1)),
        ];
        for (text, value) in cases {
            assert_eq!(parse_number(text), Ok(*value), "{text}");
        }
    }

    #[test]
    fn bad_numbers_say_why() {
        assert_eq!(parse_number("42x"), Err(LiteralError::Suffix("x".into())));
        assert_eq!(parse_number("42fl"), Err(LiteralError::Suffix("fl".into())));
        assert_eq!(parse_number("1.e"), Err(LiteralError::Suffix("e".into())));
        assert_eq!(parse_number("089"), Err(LiteralError::OctalDigit));
        assert_eq!(parse_number("0x"), Err(LiteralError::NoDigits));
        assert_eq!(parse_number("2147483649"), Err(LiteralError::Range("int")));
        assert_eq!(parse_number("0x100000000"), Err(LiteralError::Range("int")));
        assert_eq!(parse_number("256ub"), Err(LiteralError::Range("ubyte")));
        assert_eq!(parse_number("1e999"), Err(LiteralError::Range("double")));
        assert_eq!(parse_number("1e99999999999f"), Err(LiteralError::Range("float")));
        assert_eq!(parse_number("99999999999999999999"), Err(LiteralError::Range("int")));
    }

    #[test]
    fn escapes() {
        assert_eq!(parse_char("'a'"), Ok(b'a'));
        assert_eq!(parse_char(r"'\n'"), Ok(10));
        assert_eq!(parse_char(r"'\0'"), Ok(0));
        assert_eq!(parse_char(r"'\x41'"), Ok(0x41));
        assert_eq!(parse_char(r"'\101'"), Ok(0x41));
        assert_eq!(parse_char(r"'\''"), Ok(b'\''));
        assert_eq!(parse_char("''"), Err(LiteralError::CharLength));
        assert_eq!(parse_char("'ä'"), Err(LiteralError::WideChar));
        assert_eq!(parse_string(r#""a\x4g\q\1012""#), Ok(b"a\x04gqA2".to_vec()));
        assert_eq!(parse_string(r#""\x400""#), Err(LiteralError::Escape));
    }

    #[test]
    fn quoting_inverts_parsing() {
        for bytes in [&b"plain"[..], b"q\"\\\n\t\x007", b"\xff\xfe\xc3\xa4", "ü".as_bytes()] {
            assert_eq!(parse_string(&quote_string(bytes)).as_deref(), Ok(bytes));
        }
    }
}
