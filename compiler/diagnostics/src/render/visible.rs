//! Texts that others wrote, as terminals may be given them: control characters shown, and no longer than helps.

use std::borrow::Cow;

/// Characters of a word in a message, or of what stands between backquotes; longer ones lose their middle.
const LONGEST_QUOTE: usize = 160;
/// Characters that such a one keeps at its front and at its end.
const FRONT: usize = 60;
const END: usize = 20;

/// Does the character do something to a terminal, rather than stand there?
fn acts(c: char) -> bool {
    // The others turn the direction of what follows.
    c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text in which control characters are escaped: `\x1b`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\r' => out.push_str("\\r"),
            c if !acts(c) => out.push(c),
            c if (c as u32) < 0x100 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        }
    }
    Cow::Owned(out)
}

/// The words of a message: control characters escaped, and long literals without their middle.
pub fn worded(text: &str) -> String {
    let text = visible(text);
    if text.len() <= LONGEST_QUOTE {
        return text.into_owned();
    }
    // What is quoted may have blanks, what is not ends at one. A backquote without another one quotes nothing.
    let quotes = text.matches('`').count().is_multiple_of(2);
    let mut out = String::with_capacity(text.len());
    for (k, part) in text.split('`').enumerate() {
        if k > 0 {
            out.push('`');
        }
        if quotes && k % 2 == 1 {
            out.push_str(&shortened(part));
            continue;
        }
        for word in part.split_inclusive(char::is_whitespace) {
            out.push_str(&shortened(word));
        }
    }
    out
}

fn shortened(part: &str) -> Cow<'_, str> {
    let length = part.chars().count();
    if length <= LONGEST_QUOTE || part.contains('\n') {
        return Cow::Borrowed(part);
    }
    let front: String = part.chars().take(FRONT).collect();
    let end: String = part.chars().skip(length - END).collect();
    Cow::Owned(format!("{front}...{end}"))
}

/// A character of a quoted line, as wide as it was: a picture of what it does.
pub fn pictured(c: char) -> char {
    match c {
        c if !acts(c) => c,
        '\u{7f}' => '\u{2421}',
        c if (c as u32) < 0x20 => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        _ => '\u{fffd}',
    }
}

/// A source as it is quoted: control characters are pictures, which take more bytes.
pub struct Quoted {
    pub text: String,
    /// Ends of the characters that became pictures in the original text, with the bytes that are more up to there.
    longer: Vec<(usize, usize)>,
}

impl Quoted {
    /// Nothing if the text can be quoted as it is.
    pub fn of(source: &str) -> Option<Quoted> {
        let meant = |(at, c): (usize, char)| acts(c) && !(c == '\r' && source[at + 1..].starts_with('\n'));
        if !source.char_indices().any(meant) {
            return None;
        }
        let mut quoted = Quoted { text: String::with_capacity(source.len() + 16), longer: Vec::new() };
        let mut more = 0;
        for (at, c) in source.char_indices() {
            let shown = if meant((at, c)) { pictured(c) } else { c };
            quoted.text.push(shown);
            if shown != c {
                // Pictures take three bytes, and what they stand for three at most.
                more += shown.len_utf8() - c.len_utf8();
                quoted.longer.push((at + c.len_utf8(), more));
            }
        }
        Some(quoted)
    }

    /// Where a place of the original text is.
    pub fn at(&self, offset: usize) -> usize {
        let before = self.longer.partition_point(|(end, _)| *end <= offset);
        offset + self.longer[..before].last().map_or(0, |(_, more)| *more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(visible("a\tb\n"), "a\tb\n");
        assert_eq!(visible("\u{1b}[31m\r\u{7}\u{9b}\u{202e}ä"), "\\x1b[31m\\r\\x07\\x9b\\u{202e}ä");
        assert_eq!(pictured('\u{1b}'), '␛');
    }

    #[test]
    fn long_literals_lose_their_middle() {
        let digits = "7".repeat(1000);
        let text = worded(&format!("the number {digits} is too large"));
        assert_eq!(text, format!("the number {}...{} is too large", "7".repeat(60), "7".repeat(19)));
        let text = worded(&format!("`{}` is no name", "a b ".repeat(100)));
        assert!(text.len() < 120 && text.ends_with("` is no name"), "{text}");
        let many = "word ".repeat(200);
        assert_eq!(worded(&many), many);
    }

    #[test]
    fn places_move_with_what_is_before_them() {
        let quoted = Quoted::of("a\u{1b}b\u{9b}c\r\n").expect("there are control characters");
        assert_eq!(quoted.text, "a␛b\u{fffd}c\r\n");
        for (original, shown) in [(0, 0), (1, 1), (2, 4), (3, 5), (5, 8), (6, 9)] {
            assert_eq!(quoted.at(original), shown);
        }
        assert!(Quoted::of("a\r\n\tb").is_none());
    }
}
