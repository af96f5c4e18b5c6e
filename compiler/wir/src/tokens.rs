//! The tokens of IR text.

/// A piece of text and where it stands.
pub struct Token<'a> {
    pub text: &'a str,
    /// From 1.
    pub line: usize,
    /// Byte offset.
    pub start: usize,
}

/// Words (letters, digits, `_ . %  @`), numbers, string literals, `<=`, `->`, single punctuation. `//` starts a comment.
pub fn tokenize(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first == '\n' {
            line += 1;
        }
        if first.is_whitespace() || first == ';' {
            at += first.len_utf8();
            continue;
        }
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '%' | '@');
        let next_is_digit = rest[first.len_utf8()..].starts_with(|c: char| c.is_ascii_digit());
        let len = if rest.starts_with("<=") || rest.starts_with("->") {
            2
        } else if rest.starts_with("-inf") {
            4
        } else if first == '"' {
            rest[1..].find('"').map_or(rest.len(), |end| end + 2)
        } else if first.is_ascii_digit() || (first == '-' && next_is_digit) {
            // An exponent's sign belongs to its number.
            let mut end = 1;
            for (i, c) in rest.char_indices().skip(1) {
                let exponent_sign = matches!(c, '+' | '-') && rest[..i].ends_with('e') && !rest.starts_with("0x");
                if !(c.is_ascii_alphanumeric() || c == '.' || exponent_sign) {
                    break;
                }
                end = i + 1;
            }
            end
        } else if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        tokens.push(Token { text: &rest[..len], line, start: at });
        at += len;
    }
    tokens
}
