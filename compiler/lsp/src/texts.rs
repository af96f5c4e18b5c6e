//! Addresses of files, and positions in texts as the protocol counts them: lines from 0, and in a line units of an encoding.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What the characters of a line are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes, if the editor can.
    Utf8,
    /// Halves of the longer code points count: what the protocol began with.
    Utf16,
}

impl Encoding {
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16 => "utf-16",
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
        }
    }
}

/// A text by lines.
pub struct Lines<'a> {
    text: &'a str,
    encoding: Encoding,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a str, encoding: Encoding) -> Lines<'a> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Lines { text, encoding, starts }
    }

    /// The position of a byte; of one inside of a character, that of the character.
    pub fn position(&self, byte: usize) -> Value {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= byte) - 1;
        let before = &self.text[self.starts[line]..byte];
        json!({ "line": line, "character": before.chars().map(|c| self.encoding.width(c)).sum::<usize>() })
    }

    /// The byte at a position; beyond a line its end, beyond the text its end.
    pub fn offset(&self, position: &Value) -> usize {
        let number = |name: &str| usize::try_from(position[name].as_u64().unwrap_or(0)).unwrap_or(usize::MAX);
        let Some(start) = self.starts.get(number("line")) else { return self.text.len() };
        let line = self.text[*start..].split('\n').next().unwrap_or_default();
        let mut left = number("character");
        let mut at = *start;
        for c in line.chars() {
            let Some(rest) = left.checked_sub(self.encoding.width(c)) else { break };
            (left, at) = (rest, at + c.len_utf8());
            if left == 0 {
                break;
            }
        }
        at
    }
}

/// The file of a `file:` address.
pub fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    // A host stands between the slashes; ours is none.
    let path = &rest[rest.find('/')?..];
    let mut bytes = Vec::new();
    let mut left = path.bytes();
    while let Some(byte) = left.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [left.next()?, left.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    Some(PathBuf::from(String::from_utf8(bytes).ok()?))
}

/// The address of a file, as editors write it.
pub fn uri_of(path: &Path) -> Option<String> {
    let mut uri = "file://".to_string();
    for byte in path.to_str()?.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    Some(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_units_of_the_encoding() {
        let text = "aä\n𝛼b\n";
        let at = |line: usize, character: usize| json!({ "line": line, "character": character });
        let wide = Lines::new(text, Encoding::Utf16);
        assert_eq!(wide.position(8), at(1, 2));
        assert_eq!(wide.offset(&at(1, 2)), 8);
        assert_eq!(wide.offset(&at(1, 9)), 9);
        assert_eq!(wide.offset(&at(0, 7)), 3);
        assert_eq!(wide.offset(&at(7, 0)), text.len());
        let bytes = Lines::new(text, Encoding::Utf8);
        assert_eq!(bytes.position(8), at(1, 4));
        assert_eq!(bytes.offset(&at(1, 4)), 8);
        // Inside of a character is before it.
        assert_eq!(bytes.offset(&at(1, 2)), 4);
    }

    #[test]
    fn addresses_and_paths() {
        assert_eq!(path_of("file:///a%20b/c.sac"), Some(PathBuf::from("/a b/c.sac")));
        assert_eq!(uri_of(Path::new("/a b/ä.sac")).as_deref(), Some("file:///a%20b/%C3%A4.sac"));
        assert_eq!(path_of("untitled:1"), None);
        assert_eq!(path_of("file:///%zz"), None);
    }
}
