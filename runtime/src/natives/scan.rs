//! C's `scanf` formats over a [`Stream`]: conversions, widths, `*`, scan sets. One byte of lookahead, as C promises.

use super::format::misfit;
use super::number;
use crate::abi::ElemTag;
use crate::fault::Fault;
use crate::stream::Stream;

/// A converted value.
#[derive(Clone, PartialEq, Debug)]
pub enum Scanned {
    /// An integer; unsigned conversions of 64 bits keep their bits.
    Integer(i64),
    /// Text of a real number, rounded by whoever knows the type.
    Real(Vec<u8>),
    /// One character.
    Char(u8),
    /// Text of `%s`, `%[...]` or `%c` with a width above 1.
    Text(Vec<u8>),
}

impl Scanned {
    /// The bits of a scalar result of type `tag`.
    ///
    /// # Errors
    /// The conversion gives another sort of value than the variable holds.
    pub fn to_bits(&self, tag: ElemTag) -> Result<u64, Fault> {
        let wrong = || {
            let what = match self {
                Scanned::Integer(_) => "an integer",
                Scanned::Real(_) => "a real number",
                Scanned::Char(_) => "a character",
                Scanned::Text(_) => "a string",
            };
            misfit(format!("a conversion gives {what}, but its variable is a {}", tag.name()))
        };
        let integer = match self {
            Scanned::Integer(value) => *value,
            Scanned::Char(byte) => i64::from(*byte),
            Scanned::Real(text) => {
                return match tag {
                    ElemTag::F32 => Ok(u64::from(number::real32(text).value.to_bits())),
                    ElemTag::F64 => Ok(number::real(text).value.to_bits()),
                    _ => Err(wrong()),
                };
            }
            Scanned::Text(_) => return Err(wrong()),
        };
        match tag {
            ElemTag::Bool => Ok(u64::from(integer != 0)),
            ElemTag::F32 | ElemTag::F64 | ElemTag::Handle => Err(wrong()),
            _ => Ok(integer.cast_unsigned()),
        }
    }
}

/// Result of a scan: C's return value and the values that were converted.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Number of conversions, or -1 if the input ended before the first.
    pub count: i32,
    /// The converted values, `%n` included.
    pub values: Vec<Scanned>,
}

/// Longest text of one number; more digits than any exactly represented value needs.
const LONGEST_NUMBER: usize = 4096;

struct Scanner<'a> {
    stream: &'a mut Stream,
    taken: i64,
}

impl Scanner<'_> {
    fn peek(&mut self) -> Option<u8> {
        self.stream.peek()
    }

    fn take(&mut self) -> Option<u8> {
        let byte = self.stream.get();
        self.taken += i64::from(byte.is_some());
        byte
    }

    fn take_if(&mut self, accept: impl Fn(u8) -> bool) -> Option<u8> {
        let byte = self.peek().filter(|&byte| accept(byte))?;
        self.take();
        Some(byte)
    }

    fn skip_blanks(&mut self) {
        while self.take_if(number::is_space).is_some() {}
    }

    fn take_while(&mut self, limit: usize, accept: impl Fn(u8) -> bool) -> Vec<u8> {
        let mut text = Vec::new();
        while text.len() < limit
            && let Some(byte) = self.take_if(&accept)
        {
            text.push(byte);
        }
        text
    }

    /// Appends one byte if it is accepted and the field has room.
    fn append(&mut self, text: &mut Vec<u8>, limit: usize, accept: impl Fn(u8) -> bool) -> bool {
        let taken = if text.len() < limit { self.take_if(accept) } else { None };
        text.extend(taken);
        taken.is_some()
    }

    fn digits(&mut self, text: &mut Vec<u8>, limit: usize, radix: u32) -> usize {
        let start = text.len();
        while self.append(text, limit, |byte| char::from(byte).is_digit(radix)) {}
        text.len() - start
    }

    /// Text of an integer in `base` (0 for C's prefixes); empty if there is none.
    fn integer(&mut self, limit: usize, base: u32) -> Vec<u8> {
        let mut text = Vec::new();
        self.append(&mut text, limit, |byte| matches!(byte, b'+' | b'-'));
        let mut radix = if base == 0 { 10 } else { base };
        let mut count = 0;
        if self.append(&mut text, limit, |byte| byte == b'0') {
            count = 1;
            if matches!(base, 0 | 16) && self.append(&mut text, limit, |byte| matches!(byte, b'x' | b'X')) {
                (radix, count) = (16, 0);
            } else if base == 0 {
                radix = 8;
            }
        }
        count += self.digits(&mut text, limit, radix);
        if count == 0 { Vec::new() } else { text }
    }

    /// Text of a real number; empty if there is none.
    fn real(&mut self, limit: usize) -> Vec<u8> {
        let mut text = Vec::new();
        self.append(&mut text, limit, |byte| matches!(byte, b'+' | b'-'));
        if self.append(&mut text, limit, |byte| matches!(byte, b'i' | b'I' | b'n' | b'N')) {
            while self.append(&mut text, limit, |byte| byte.is_ascii_alphabetic()) {}
            return if number::real(&text).length == text.len() { text } else { Vec::new() };
        }
        let mut radix = 10;
        let mut count = usize::from(self.append(&mut text, limit, |byte| byte == b'0'));
        if count == 1 && self.append(&mut text, limit, |byte| matches!(byte, b'x' | b'X')) {
            (radix, count) = (16, 0);
        }
        count += self.digits(&mut text, limit, radix);
        if self.append(&mut text, limit, |byte| byte == b'.') {
            count += self.digits(&mut text, limit, radix);
        }
        if count == 0 {
            return Vec::new();
        }
        let exponent = if radix == 16 { *b"pP" } else { *b"eE" };
        if self.append(&mut text, limit, |byte| exponent.contains(&byte)) {
            self.append(&mut text, limit, |byte| matches!(byte, b'+' | b'-'));
            if self.digits(&mut text, limit, 10) == 0 {
                return Vec::new();
            }
        }
        text
    }
}

/// Skips blanks and reads one integer in base 10; `None` if the next word is not one.
pub fn integer(stream: &mut Stream) -> Option<i64> {
    let mut scanner = Scanner { stream, taken: 0 };
    scanner.skip_blanks();
    let text = scanner.integer(LONGEST_NUMBER, 10);
    (!text.is_empty()).then(|| number::integer(&text, 10).value)
}

/// Skips blanks and reads one unsigned integer; `None` if the next word is not one.
pub fn unsigned(stream: &mut Stream) -> Option<u64> {
    let mut scanner = Scanner { stream, taken: 0 };
    scanner.skip_blanks();
    let text = scanner.integer(LONGEST_NUMBER, 10);
    (!text.is_empty()).then(|| number::unsigned(&text, 10).value)
}

/// Skips blanks and reads the text of one real number; `None` if the next word is not one.
pub fn real(stream: &mut Stream) -> Option<Vec<u8>> {
    let mut scanner = Scanner { stream, taken: 0 };
    scanner.skip_blanks();
    let text = scanner.real(LONGEST_NUMBER);
    (!text.is_empty()).then_some(text)
}

/// Skips blanks and reads a word of at most `limit` bytes.
pub fn word(stream: &mut Stream, limit: usize) -> Vec<u8> {
    let mut scanner = Scanner { stream, taken: 0 };
    scanner.skip_blanks();
    scanner.take_while(limit, |byte| !number::is_space(byte))
}

/// Scans `stream` by `format`.
///
/// # Errors
/// The format contains an unknown conversion.
pub fn scan(stream: &mut Stream, format: &[u8]) -> Result<Outcome, Fault> {
    let mut scanner = Scanner { stream, taken: 0 };
    let mut outcome = Outcome { count: 0, values: Vec::new() };
    let mut at = 0;
    while let Some(&byte) = format.get(at) {
        at += 1;
        if number::is_space(byte) {
            scanner.skip_blanks();
            continue;
        }
        if byte != b'%' {
            if scanner.take_if(|found| found == byte).is_none() {
                return Ok(ended(&mut scanner, outcome));
            }
            continue;
        }
        let directive = Directive::parse(format, &mut at)?;
        if let Kind::Position = directive.kind {
            if !directive.discard {
                outcome.values.push(Scanned::Integer(scanner.taken));
            }
            continue;
        }
        if !matches!(directive.kind, Kind::Chars | Kind::Set(_)) {
            scanner.skip_blanks();
        }
        let Some(value) = directive.convert(&mut scanner) else { return Ok(ended(&mut scanner, outcome)) };
        if !directive.discard && directive.kind != Kind::Percent {
            outcome.count += 1;
            outcome.values.push(value);
        }
    }
    Ok(outcome)
}

/// The outcome of a scan that stopped: the end of the input counts only before the first conversion.
fn ended(scanner: &mut Scanner<'_>, mut outcome: Outcome) -> Outcome {
    if outcome.count == 0 && scanner.peek().is_none() {
        outcome.count = -1;
    }
    outcome
}

#[derive(Clone, PartialEq, Debug)]
enum Kind {
    Integer(u32),
    Unsigned(u32),
    Real,
    Chars,
    Word,
    Set(Box<[bool; 256]>),
    Position,
    Percent,
}

struct Directive {
    kind: Kind,
    width: Option<usize>,
    discard: bool,
}

impl Directive {
    fn parse(format: &[u8], at: &mut usize) -> Result<Directive, Fault> {
        let start = *at;
        let discard = format.get(*at) == Some(&b'*');
        *at += usize::from(discard);
        let mut width = None;
        while let Some(digit) = format.get(*at).filter(|byte| byte.is_ascii_digit()) {
            width = Some((width.unwrap_or(0usize) * 10 + usize::from(digit - b'0')).min(1 << 30));
            *at += 1;
        }
        while let Some(b'h' | b'l' | b'L' | b'q' | b'j' | b'z' | b't') = format.get(*at) {
            *at += 1;
        }
        let kind = match format.get(*at) {
            Some(b'd') => Kind::Integer(10),
            Some(b'i') => Kind::Integer(0),
            Some(b'u') => Kind::Unsigned(10),
            Some(b'o') => Kind::Unsigned(8),
            Some(b'x' | b'X' | b'p') => Kind::Unsigned(16),
            Some(b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A') => Kind::Real,
            Some(b'c') => Kind::Chars,
            Some(b's') => Kind::Word,
            Some(b'n') => Kind::Position,
            Some(b'%') => Kind::Percent,
            Some(b'[') => Kind::Set(set(format, at)?),
            _ => {
                let end = format.len().min(*at + 1);
                let shown = String::from_utf8_lossy(&format[start - 1..end]).into_owned();
                return Err(misfit(format!("the format contains the unknown conversion {shown}")));
            }
        };
        *at += 1;
        // `%0d` has no meaning in C; like no width.
        Ok(Directive { kind, width: width.filter(|&width| width > 0), discard })
    }

    fn convert(&self, scanner: &mut Scanner<'_>) -> Option<Scanned> {
        let number_limit = self.width.unwrap_or(LONGEST_NUMBER);
        let text_limit = self.width.unwrap_or(usize::MAX);
        let nonempty = |text: Vec<u8>| (!text.is_empty()).then_some(text);
        Some(match &self.kind {
            Kind::Integer(base) => {
                let text = nonempty(scanner.integer(number_limit, *base))?;
                Scanned::Integer(number::integer(&text, *base).value)
            }
            Kind::Unsigned(base) => {
                let text = nonempty(scanner.integer(number_limit, *base))?;
                Scanned::Integer(number::unsigned(&text, *base).value.cast_signed())
            }
            Kind::Real => Scanned::Real(nonempty(scanner.real(number_limit))?),
            Kind::Chars => match self.width {
                None | Some(1) => Scanned::Char(scanner.take()?),
                Some(width) => {
                    let text = scanner.take_while(width, |_| true);
                    if text.len() < width {
                        return None;
                    }
                    Scanned::Text(text)
                }
            },
            Kind::Word => Scanned::Text(nonempty(scanner.take_while(text_limit, |byte| !number::is_space(byte)))?),
            Kind::Set(set) => Scanned::Text(nonempty(scanner.take_while(text_limit, |byte| set[usize::from(byte)]))?),
            Kind::Percent => Scanned::Char(scanner.take_if(|byte| byte == b'%')?),
            Kind::Position => Scanned::Integer(scanner.taken),
        })
    }
}

/// Parses a scan set; `at` is at `[` and ends at `]`.
fn set(format: &[u8], at: &mut usize) -> Result<Box<[bool; 256]>, Fault> {
    let mut members = Box::new([false; 256]);
    *at += 1;
    let negated = format.get(*at) == Some(&b'^');
    *at += usize::from(negated);
    let first = *at;
    loop {
        match format.get(*at) {
            None => return Err(misfit("the format contains a scan set without its ']'".to_string())),
            Some(b']') if *at > first => break,
            Some(&byte) => {
                let range_end = format.get(*at + 2).copied().filter(|&end| end != b']' && end >= byte);
                match (format.get(*at + 1), range_end) {
                    (Some(b'-'), Some(end)) => {
                        (byte..=end).for_each(|member| members[usize::from(member)] = true);
                        *at += 2;
                    }
                    _ => members[usize::from(byte)] = true,
                }
                *at += 1;
            }
        }
    }
    if negated {
        members.iter_mut().for_each(|member| *member = !*member);
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, format: &str) -> Outcome {
        scan(&mut Stream::from_bytes(text.as_bytes()), format.as_bytes()).expect("a valid format")
    }

    #[test]
    fn conversions_are_counted() {
        assert_eq!(
            run("12 -7", "%d%d"),
            Outcome { count: 2, values: vec![Scanned::Integer(12), Scanned::Integer(-7)] }
        );
        assert_eq!(run("12 x", "%d %d").count, 1);
        assert_eq!(run("x", "%d").count, 0);
        assert_eq!(run("", "%d").count, -1);
        assert_eq!(run("   ", "%d").count, -1);
        assert_eq!(run("a=5", "a=%d").values, [Scanned::Integer(5)]);
    }

    #[test]
    fn widths_sets_and_discards() {
        assert_eq!(run("12345", "%2d%3d").values, [Scanned::Integer(12), Scanned::Integer(345)]);
        assert_eq!(run("abc123", "%[a-z]%n").values, [Scanned::Text(b"abc".to_vec()), Scanned::Integer(3)]);
        assert_eq!(run("1 2", "%*d %d").values, [Scanned::Integer(2)]);
        assert_eq!(
            run("ab cd", "%s%c%c").values,
            [Scanned::Text(b"ab".to_vec()), Scanned::Char(b' '), Scanned::Char(b'c')]
        );
        assert_eq!(
            run("0x1f 017 9", "%i %i %x").values,
            [Scanned::Integer(31), Scanned::Integer(15), Scanned::Integer(9)]
        );
        assert_eq!(run("50%", "%d%%").count, 1);
    }

    #[test]
    fn reals_take_the_type_of_the_variable() {
        let outcome = run("0.1 2e3", "%f %lf");
        assert_eq!(outcome.values[0].to_bits(ElemTag::F32), Ok(u64::from(0.1f32.to_bits())));
        assert_eq!(outcome.values[1].to_bits(ElemTag::F64), Ok(2000f64.to_bits()));
        assert!(outcome.values[1].to_bits(ElemTag::I32).is_err());
        assert!(Scanned::Integer(1).to_bits(ElemTag::F64).is_err());
    }
}
