//! Tables of numbers as text: lines of fields between separators, fields in quotes if they contain one.

use std::fmt::Write;

use super::data_files::{content, quoted, write};
use super::{Char, Of, Str, Text, natives};
use crate::abi::ElemTag;
use crate::array::{Array, ArrayRef};
use crate::fault::Fault;

/// Some editors put it in front of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// What a field without a number is said to be.
const NO_NUMBER: &str = "is not a number";
/// Longer words are shortened in messages.
const LONGEST_SHOWN: usize = 30;
/// Reals beyond are written with an exponent.
const LONGEST_PLAIN: usize = 20;

/// How a table is read.
struct Options {
    separator: u8,
    /// Lines at the start that are not read.
    skip: usize,
    /// What an empty field means; `None`: it is refused.
    fill: Option<f64>,
}

impl Options {
    /// A blank, SaC's zero of characters, is a comma.
    fn new(separator: Char, blanks: bool, skip: i32) -> Result<Options, Fault> {
        let separator = match separator.0 {
            _ if blanks => b' ',
            0 | b' ' => b',',
            other => other,
        };
        if matches!(separator, b'"' | b'\n' | b'\r' | b'.' | b'-' | b'+') || separator.is_ascii_alphanumeric() {
            let shown = char::from(separator).escape_default();
            return Err(Fault::new(format!("`{shown}` cannot separate the fields of a table")));
        }
        let skip = usize::try_from(skip).map_err(|_| Fault::new(format!("{skip} lines cannot be skipped")))?;
        Ok(Options { separator, skip, fill: None })
    }
}

/// The records of a text, each with the number of its first line, from 1. Records in which a quoted field has a line end span lines.
struct Records<'a> {
    rest: &'a [u8],
    line: usize,
    /// The first line of the latest record.
    start: usize,
    separator: u8,
}

impl<'a> Records<'a> {
    fn new(text: &'a [u8], separator: u8) -> Records<'a> {
        Records { rest: text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text), line: 1, start: 1, separator }
    }

    /// Passes over a line, whatever it contains; whether there was one.
    fn skip_line(&mut self) -> bool {
        if self.rest.is_empty() {
            return false;
        }
        self.rest = match self.rest.iter().position(|&byte| byte == b'\n') {
            Some(end) => &self.rest[end + 1..],
            None => &[],
        };
        self.line += 1;
        true
    }

    /// Hands the fields of the next record to `use_field`, with their places from 0; the number of fields, `None` at the end.
    /// Blank lines are passed over, also those with blanks and tabs, unless these separate.
    fn next(&mut self, mut use_field: impl FnMut(usize, &[u8]) -> Result<(), String>) -> Result<Option<usize>, String> {
        let blank = self.separator == b' ';
        loop {
            let blanks = |&byte: &u8| matches!(byte, b' ' | b'\t') && (blank || byte != self.separator);
            let indent = self.rest.iter().take_while(|byte| blanks(byte)).count();
            match &self.rest[indent..] {
                [] => return Ok(None),
                [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => {
                    self.rest = rest;
                    self.line += 1;
                }
                _ => break,
            }
        }
        let mut count = 0;
        let start = self.line;
        self.start = start;
        loop {
            // Blanks in front of a quote and behind it belong to no field.
            if self.rest.first() == Some(&b' ')
                && let Some(quote) = self.rest.iter().position(|&byte| byte != b' ')
                && self.rest[quote] == b'"'
            {
                self.rest = &self.rest[quote..];
            }
            if blank {
                self.skip_blanks();
                if count > 0 && self.at_line_end() {
                    self.end_line();
                    return Ok(Some(count));
                }
            }
            let unescaped;
            let field = if let [b'"', rest @ ..] = self.rest {
                unescaped = self.in_quotes(rest).ok_or_else(|| format!("line {start}: a quote is not closed"))?;
                while let [b' ', rest @ ..] = self.rest {
                    self.rest = rest;
                }
                &unescaped[..]
            } else {
                let separator = self.separator;
                let end =
                    self.rest.iter().position(|&byte| byte == separator || byte == b'\n' || blank && byte == b'\t');
                let (field, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
                self.rest = rest;
                match field {
                    [field @ .., b'\r'] if rest.first().is_none_or(|&byte| byte == b'\n') => field,
                    field => field,
                }
            };
            use_field(count, field).map_err(|why| format!("line {start}, field {}: {why}", count + 1))?;
            count += 1;
            if blank {
                continue;
            }
            match self.rest {
                [byte, rest @ ..] if *byte == self.separator => self.rest = rest,
                _ if self.at_line_end() => {
                    self.end_line();
                    return Ok(Some(count));
                }
                _ => return Err(format!("line {start}, field {count}: text follows the closing quote")),
            }
        }
    }

    fn skip_blanks(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn at_line_end(&self) -> bool {
        matches!(self.rest, [] | [b'\n', ..] | [b'\r', b'\n', ..] | [b'\r'])
    }

    fn end_line(&mut self) {
        self.rest = match self.rest {
            [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => rest,
            _ => &[],
        };
        self.line += 1;
    }

    /// The content of a field in quotes, in which two quotes are one.
    fn in_quotes(&mut self, mut rest: &'a [u8]) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        loop {
            let end = rest.iter().position(|&byte| byte == b'"')?;
            text.extend_from_slice(&rest[..end]);
            self.line += rest[..end].iter().filter(|&&byte| byte == b'\n').count();
            rest = &rest[end + 1..];
            if rest.first() != Some(&b'"') {
                self.rest = rest;
                return Some(text);
            }
            text.push(b'"');
            rest = &rest[1..];
        }
    }
}

/// The number that a field says.
fn number(field: &[u8], fill: Option<f64>) -> Result<f64, String> {
    let trimmed = field.trim_ascii();
    if trimmed.is_empty() {
        return fill.ok_or_else(|| "is empty".to_string());
    }
    std::str::from_utf8(trimmed).ok().and_then(|text| text.parse().ok()).ok_or_else(|| {
        let word = String::from_utf8_lossy(trimmed);
        let mut shown: String = word.chars().take(LONGEST_SHOWN).collect();
        if shown.len() < word.len() {
            shown.push_str("...");
        }
        format!("`{shown}` {NO_NUMBER}")
    })
}

/// What is wrong with the first record; of a header, how to skip it.
fn of_header(why: String, line: usize) -> String {
    match why.ends_with(NO_NUMBER) {
        true => format!("{why}; if it is a header, `CsvOptions{{ .skip = {line} }}` as second argument skips it"),
        false => why,
    }
}

/// The table in a text: its width and its elements.
fn parse(text: &[u8], options: &Options) -> Result<(usize, Vec<f64>), String> {
    if text.starts_with(&[0xff, 0xfe]) || text.starts_with(&[0xfe, 0xff]) {
        return Err("is UTF-16: save it as UTF-8".to_string());
    }
    let mut records = Records::new(text, options.separator);
    for skipped in 0..options.skip {
        if !records.skip_line() {
            return Err(format!("has only {skipped} lines; {} are to be skipped", options.skip));
        }
    }
    let mut elements = Vec::new();
    let mut first: Option<(usize, usize)> = None;
    loop {
        let fields = records.next(|_, field| {
            elements.push(number(field, options.fill)?);
            Ok(())
        });
        let fields = fields.map_err(|why| if first.is_none() { of_header(why, records.start) } else { why })?;
        let Some(count) = fields else { break };
        let line = records.start;
        match first {
            None => first = Some((line, count)),
            Some((_, width)) if width == count => {}
            Some((line_of_first, width)) => {
                return Err(format!("line {line} has {count} fields, but line {line_of_first} has {width}"));
            }
        }
    }
    Ok((first.map_or(0, |(_, width)| width), elements))
}

fn read(name: &[u8], options: &Options) -> Result<Array, Fault> {
    let text = content(name)?;
    let (width, elements) = parse(&text, options).map_err(|why| Fault::new(format!("{} {why}", quoted(name))))?;
    let rows = elements.len().checked_div(width).unwrap_or(0);
    let extents = [rows, width].map(|extent| i64::try_from(extent).unwrap_or(i64::MAX));
    Array::from_slice(&extents, &elements)
}

/// The fields of the last skipped line, or of the first one.
fn header(text: &[u8], options: &Options) -> Result<Vec<Vec<u8>>, String> {
    let mut records = Records::new(text, options.separator);
    for _ in 1..options.skip {
        records.skip_line();
    }
    let mut fields = Vec::new();
    records.next(|_, field| {
        fields.push(field.trim_ascii().to_vec());
        Ok(())
    })?;
    Ok(fields)
}

/// The shortest text that is read as the same number.
fn real<R: Into<f64> + Copy + std::fmt::Display + std::fmt::LowerExp>(out: &mut String, x: R) {
    if x.into().is_nan() {
        return out.push_str("nan");
    }
    let start = out.len();
    let _ = write!(out, "{x}");
    if out.len() - start > LONGEST_PLAIN {
        out.truncate(start);
        let _ = write!(out, "{x:e}");
    }
}

/// A matrix as text, a vector as one column.
fn image(header: &[u8], a: ArrayRef<'_>) -> Result<Vec<u8>, Fault> {
    let width = match a.shape() {
        [_] => 1,
        [_, width] => usize::try_from(*width).unwrap_or(0),
        shape => {
            return Err(Fault::new(format!("a matrix is written as a table, not an array of {} axes", shape.len())));
        }
    };
    let mut out = String::new();
    macro_rules! elements {
        ($($tag:ident $ty:ty, $x:ident $out:ident => $put:expr;)*) => {
            match a.elem() {
                $(ElemTag::$tag => {
                    for row in a.as_slice::<$ty>().unwrap_or_default().chunks(width.max(1)) {
                        for (k, $x) in row.iter().enumerate() {
                            if k > 0 {
                                out.push(',');
                            }
                            let $out = &mut out;
                            $put;
                        }
                        out.push('\n');
                    }
                })*
                tag => return Err(Fault::new(format!("a table holds numbers, not elements of type {}", tag.name()))),
            }
        };
        (whole $($tag:ident $ty:ty)*) => {
            elements! {
                $($tag $ty, x out => { let _ = write!(out, "{x}"); };)*
                F32 f32, x out => real(out, *x);
                F64 f64, x out => real(out, *x);
            }
        };
    }
    elements!(whole Bool u8 I8 i8 I16 i16 I32 i32 I64 i64 U8 u8 U16 u16 U32 u32 U64 u64);
    let mut image = Vec::with_capacity(header.len() + 1 + out.len());
    if !header.is_empty() {
        image.extend_from_slice(header);
        image.push(b'\n');
    }
    image.extend_from_slice(out.as_bytes());
    Ok(image)
}

natives! { CSV;
    /// The numbers in a file of separated fields. Separator ' ' is a comma, `blanks` any number of blanks and tabs; `fill` tells whether empty fields mean `value` or are refused.
    root fn ravel_csv_read(
        name: Text<'_>, separator: Char, blanks: bool, skip: i32, fill: bool, value: f64
    ) -> (a: Of<f64>) {
        let mut options = Options::new(separator, blanks, skip)?;
        options.fill = fill.then_some(value);
        read(name.0, &options).map(Of::new)
    }

    /// Field `k` of the line before the numbers, that is of the last line skipped; negative `k` count from the end.
    root fn ravel_csv_header(name: Text<'_>, k: i32, separator: Char, blanks: bool, skip: i32) -> (field: Str) {
        let options = Options::new(separator, blanks, skip)?;
        let fields = header(&content(name.0)?, &options).map_err(|why| Fault::new(format!("{} {why}", quoted(name.0))))?;
        let count = i64::try_from(fields.len()).unwrap_or(i64::MAX);
        let place = if k < 0 { i64::from(k) + count } else { i64::from(k) };
        match usize::try_from(place).ok().and_then(|place| fields.get(place)) {
            Some(field) => Str::new(field),
            None if count == 0 => Err(Fault::new(format!("{} has no line with a header", quoted(name.0)))),
            None => {
                let last = count - 1;
                Err(Fault::new(format!("the header of {} has no field {k}: they are 0 to {last}", quoted(name.0))))
            }
        }
    }

    /// Writes a matrix, or a vector as one column, as lines of numbers, behind a header unless that is "".
    write fn ravel_csv_write(name: Text<'_>, header: Text<'_>, a: ArrayRef<'_>) -> () {
        write(name.0, &image(header.0, a)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str, separator: u8, skip: i32, fill: Option<f64>) -> Result<(usize, Vec<f64>), String> {
        let options = Options { fill, ..Options::new(Char(separator), separator == b'_', skip).expect("valid") };
        parse(text.as_bytes(), &options)
    }

    #[test]
    fn tables_of_all_styles() {
        let expected = Ok((2, vec![1.0, 2.5, -3e4, 0.5]));
        for text in [
            "1,2.5\n-3e4,.5\n",
            "1,2.5\r\n-3e4,.5",
            "\u{feff} 1 , 2.5\n\n\"-3e4\",\".5\"\r\n\r\n",
            "1,+2.5\n-3E4,0.5\r",
            " \n1,2.5\n \t\r\n-3e4,.5\n  ",
        ] {
            assert_eq!(table(text, 0, 0, None), expected, "{text:?}");
        }
        assert_eq!(table("a b\n  1   2.5 \n-3e4\t.5\n", b'_', 1, None), expected);
        assert_eq!(table("1 2.5\n  \n-3e4 .5\n \t", b'_', 0, None), expected);
        assert_eq!(table("1\t\n\t2.5\n \n", b'\t', 0, Some(0.5)), Ok((2, vec![1.0, 0.5, 0.5, 2.5])));
        assert_eq!(table("# x\ny\n1\t2.5\n-3e4\t.5\n", b'\t', 2, None), expected);
        assert_eq!(table("1;\n;4\n", b';', 0, Some(9.0)), Ok((2, vec![1.0, 9.0, 9.0, 4.0])));
        assert_eq!(table("", 0, 0, None), Ok((0, vec![])));
        assert!(table("nan,-inf\n", 0, 0, None).is_ok_and(|(_, row)| row[0].is_nan() && row[1] == f64::NEG_INFINITY));
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for (text, reason) in [
            ("1,2\n3\n", "line 2 has 1 fields, but line 1 has 2"),
            ("\n1,2\n\n3,4,5", "line 4 has 3 fields, but line 2 has 2"),
            ("1,2\n3,four\n", "line 2, field 2: `four` is not a number"),
            ("1,\n", "line 1, field 2: is empty"),
            ("1,\"2\n", "line 1: a quote is not closed"),
            ("1,\"2\"3\n", "line 1, field 2: text follows"),
            ("1,0x10\n", "`0x10` is not a number"),
            ("x,y\n1,2\n", "line 1, field 1: `x` is not a number; if it is a header, `CsvOptions{ .skip = 1 }`"),
            ("\n \nx\n1\n", "line 3, field 1: `x` is not a number; if it is a header, `CsvOptions{ .skip = 3 }`"),
        ] {
            assert!(
                table(text, 0, 0, None).is_err_and(|why| why.contains(reason)),
                "{text:?}: {:?}",
                table(text, 0, 0, None)
            );
        }
        assert!(table("a\n", 0, 2, None).is_err_and(|why| why.contains("only 1 lines")));
        assert!(Options::new(Char(b'"'), false, 0).is_err() && Options::new(Char(b','), false, -1).is_err());
    }

    #[test]
    fn headers_have_names_in_quotes() {
        let options = |skip| Options::new(Char(0), false, skip).expect("valid");
        let names = header(b"a, \"b\" ,\"c,\"\"d\"\"\"\r\n1,2,3\n", &options(1));
        assert_eq!(names, Ok(vec![b"a".to_vec(), b"b".to_vec(), b"c,\"d\"".to_vec()]));
        let names = header(b"about\na,\"c,\"\"d\"\"\"\r\n1,2,3\n", &options(2));
        assert_eq!(names, Ok(vec![b"a".to_vec(), b"c,\"d\"".to_vec()]));
    }

    #[test]
    fn numbers_are_written_shortest() {
        let a = Array::from_slice(&[2, 3], &[1.0, 0.1, 1e300, -2.5e-30, f64::NAN, f64::NEG_INFINITY]).expect("small");
        assert_eq!(image(b"x,y,z", a.view()), Ok(b"x,y,z\n1,0.1,1e300\n-2.5e-30,nan,-inf\n".to_vec()));
        let a = Array::from_slice(&[2], &[0.1f32, 3.0]).expect("small");
        assert_eq!(image(b"", a.view()), Ok(b"0.1\n3\n".to_vec()));
    }
}
