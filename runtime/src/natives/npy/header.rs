//! The header of an `.npy` file: a Python dictionary of the element type, the order of axes and the shape.

/// What kind of element a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::natives) enum Kind {
    Bool,
    Char,
    Signed,
    Unsigned,
    Real,
}

/// Elements as a file holds them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub kind: Kind,
    pub size: usize,
    pub big_endian: bool,
}

/// What the header of a file says.
#[derive(Debug)]
pub(super) struct Header {
    pub descr: String,
    pub stored: Stored,
    pub fortran_order: bool,
    pub shape: Vec<i64>,
}

/// The kind of element that a `descr` names, or why it cannot be read.
fn stored(descr: &str) -> Result<Stored, String> {
    let (order, code) = match descr.as_bytes() {
        [order @ (b'<' | b'>' | b'|' | b'='), ..] => (*order, &descr[1..]),
        _ => (b'=', descr),
    };
    let kind = match code {
        "b1" | "?" => Some((Kind::Bool, 1)),
        "S1" | "a1" => Some((Kind::Char, 1)),
        "i1" => Some((Kind::Signed, 1)),
        "i2" => Some((Kind::Signed, 2)),
        "i4" => Some((Kind::Signed, 4)),
        "i8" => Some((Kind::Signed, 8)),
        "u1" => Some((Kind::Unsigned, 1)),
        "u2" => Some((Kind::Unsigned, 2)),
        "u4" => Some((Kind::Unsigned, 4)),
        "u8" => Some((Kind::Unsigned, 8)),
        "f2" => Some((Kind::Real, 2)),
        "f4" => Some((Kind::Real, 4)),
        "f8" => Some((Kind::Real, 8)),
        _ => None,
    };
    if let Some((kind, size)) = kind {
        let big_endian = order == b'>' || order == b'=' && cfg!(target_endian = "big");
        return Ok(Stored { kind, size, big_endian });
    }
    let what = match code.as_bytes().first() {
        Some(b'c') => "complex numbers",
        Some(b'O') => "Python objects",
        Some(b'U' | b'S' | b'a') => "texts",
        Some(b'M' | b'm') => "dates or times",
        Some(b'V') => "structures",
        Some(b'f') => "reals of a size that SaC does not have",
        _ => "elements of an unknown type",
    };
    Err(format!("holds {what} (NumPy type '{descr}'), which cannot be read"))
}

/// A reader of the few forms of Python that headers consist of.
struct Parser<'a>(&'a [u8]);

impl Parser<'_> {
    fn skip(&mut self) {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.0 {
            self.0 = rest;
        }
    }

    /// Takes a sign if it comes next.
    fn take(&mut self, sign: u8) -> bool {
        self.skip();
        match self.0 {
            [first, rest @ ..] if *first == sign => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    fn expect(&mut self, sign: u8) -> Result<(), String> {
        if self.take(sign) { Ok(()) } else { Err(self.error(&format!("`{}`", char::from(sign)))) }
    }

    fn error(&self, wanted: &str) -> String {
        let rest: String = String::from_utf8_lossy(self.0).chars().take(20).collect();
        format!("has a header that NumPy would not write: {wanted} is expected before `{}`", rest.trim_end())
    }

    /// A text in quotes, without escapes.
    fn text(&mut self) -> Result<String, String> {
        self.skip();
        let [quote @ (b'\'' | b'"'), rest @ ..] = self.0 else { return Err(self.error("a text")) };
        let end = rest.iter().position(|byte| byte == quote).ok_or_else(|| self.error("a closed text"))?;
        let text = String::from_utf8_lossy(&rest[..end]).into_owned();
        self.0 = &rest[end + 1..];
        Ok(text)
    }

    fn truth(&mut self) -> Result<bool, String> {
        self.skip();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if let Some(rest) = self.0.strip_prefix(word) {
                self.0 = rest;
                return Ok(value);
            }
        }
        Err(self.error("True or False"))
    }

    /// A tuple of extents: `()`, `(3,)`, `(3, 4)`.
    fn extents(&mut self) -> Result<Vec<i64>, String> {
        self.expect(b'(')?;
        let mut extents = Vec::new();
        while !self.take(b')') {
            self.skip();
            let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (number, rest) = self.0.split_at(digits);
            let number = std::str::from_utf8(number).ok().and_then(|text| text.parse().ok());
            extents.push(number.ok_or_else(|| self.error("an extent"))?);
            // Python 2 marked long numbers.
            self.0 = rest.strip_prefix(b"L").unwrap_or(rest);
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(extents)
    }
}

/// What the dictionary of a header says.
pub(super) fn header_of(text: &[u8]) -> Result<Header, String> {
    let mut parser = Parser(text);
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    parser.expect(b'{')?;
    while !parser.take(b'}') {
        let key = parser.text()?;
        parser.expect(b':')?;
        match key.as_str() {
            "descr" => {
                parser.skip();
                if parser.0.starts_with(b"[") || parser.0.starts_with(b"(") {
                    return Err("holds structures, which cannot be read".to_string());
                }
                descr = Some(parser.text()?);
            }
            "fortran_order" => fortran_order = Some(parser.truth()?),
            "shape" => shape = Some(parser.extents()?),
            other => return Err(format!("has a header with the unknown key '{other}'")),
        }
        if !parser.take(b',') {
            parser.expect(b'}')?;
            break;
        }
    }
    parser.skip();
    if !parser.0.is_empty() {
        return Err(parser.error("the end"));
    }
    match (descr, fortran_order, shape) {
        (Some(descr), Some(fortran_order), Some(shape)) => {
            Ok(Header { stored: stored(&descr)?, descr, fortran_order, shape })
        }
        _ => Err("has a header without 'descr', 'fortran_order' or 'shape'".to_string()),
    }
}
