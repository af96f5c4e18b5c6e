//! Words of the text form, and what is written with a few of them: numbers, names, types, strings, lists.

use cranelift_entity::EntityRef;

use super::{ParseError, Parser};
use crate::ir::{Prim, Ty, Value};

pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    line: usize,
}

/// Words (letters, digits, `_ . -`), string literals, `->` and single punctuation characters. `//` starts a comment.
pub(super) fn tokenize(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (number, full_line) in text.lines().enumerate() {
        let mut rest = full_line.trim_start();
        while let Some(first) = rest.chars().next() {
            if rest.starts_with("//") {
                break;
            }
            let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '?');
            let len = if rest.starts_with("->") {
                2
            } else if first == '"' {
                rest[1..].find('"').map_or(rest.len(), |end| end + 2)
            } else if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            tokens.push(Token { text: &rest[..len], line: number + 1 });
            rest = rest[len..].trim_start();
        }
    }
    tokens
}

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |token| token.text)
    }

    pub(super) fn next(&mut self) -> &'a str {
        let text = self.peek();
        self.at += 1;
        text
    }

    /// An error about the token just taken.
    pub(super) fn error<T>(&self, expected: &'static str) -> Result<T, ParseError> {
        let at = self.at.saturating_sub(1);
        let line = self.tokens.get(at).or(self.tokens.last()).map_or(1, |token| token.line);
        Err(ParseError {
            line,
            expected,
            found: self.tokens.get(at).map_or(String::new(), |token| token.text.to_string()),
        })
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.peek() == text;
        if found {
            self.at += 1;
        }
        found
    }

    pub(super) fn expect(&mut self, text: &'static str) -> Result<(), ParseError> {
        if self.next() == text { Ok(()) } else { self.error(text) }
    }

    pub(super) fn int<T: std::str::FromStr>(&mut self) -> Result<T, ParseError> {
        match self.next().parse() {
            Ok(value) => Ok(value),
            Err(_) => self.error("an integer"),
        }
    }

    pub(super) fn entity<T: EntityRef>(&mut self, prefix: &'static str) -> Result<T, ParseError> {
        let number = self.next().strip_prefix(prefix).and_then(|digits| digits.parse::<u32>().ok());
        match number.filter(|&n| n < u32::MAX / 2) {
            Some(number) => Ok(T::new(number as usize)),
            None => self.error(prefix),
        }
    }

    pub(super) fn value(&mut self) -> Result<Value, ParseError> {
        self.entity("v")
    }

    /// Declared entities come in order, so that their names are their indices.
    pub(super) fn declared<T: EntityRef + PartialEq>(
        &mut self,
        prefix: &'static str,
        next: T,
    ) -> Result<(), ParseError> {
        if self.entity::<T>(prefix)? == next { Ok(()) } else { self.error("the next number in order") }
    }

    pub(super) fn ty(&mut self) -> Result<Ty, ParseError> {
        let text = self.next();
        let (name, lanes) = match text.split_once('x') {
            Some((name, lanes)) => (name, lanes.parse().unwrap_or(0)),
            None => (text, 1),
        };
        match Prim::ALL.into_iter().find(|prim| prim.name() == name) {
            Some(prim) if lanes > 0 => Ok(Ty::vector(prim, lanes)),
            _ => self.error("a type"),
        }
    }

    pub(super) fn string(&mut self) -> Result<Vec<u8>, ParseError> {
        let text = self.next();
        let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
            return self.error("a string");
        };
        let mut bytes = Vec::new();
        let mut rest = inner.as_bytes();
        while let Some((&first, tail)) = rest.split_first() {
            if first != b'\\' {
                bytes.push(first);
                rest = tail;
                continue;
            }
            let code = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
            match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
                Some(byte) => bytes.push(byte),
                None => return self.error("two hexadecimal digits after a backslash"),
            }
            rest = &tail[2..];
        }
        Ok(bytes)
    }

    pub(super) fn name(&mut self) -> Result<String, ParseError> {
        match String::from_utf8(self.string()?) {
            Ok(name) => Ok(name),
            Err(_) => self.error("a name in UTF-8"),
        }
    }

    /// Items up to `close`, separated by commas.
    pub(super) fn list<T>(
        &mut self,
        close: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<T, ParseError>,
    ) -> Result<Vec<T>, ParseError> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            self.expect(",")?;
        }
    }
}
