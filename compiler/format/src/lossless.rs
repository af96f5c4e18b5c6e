//! Text to tokens of which nothing is lost: comments, blanks, line ends and directives stay.
//!
//! The compiler's own lexer drops comments and its preprocessor replaces macros. Here a directive, with all its continuation lines, is one token,
//! and macros are names like others. What a name means is never asked.

use logos::{Lexer, Logos};

/// What a token is, as far as layout cares.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"\\[ \t\r]*\n")]
pub(crate) enum Kind {
    #[token("\n")]
    Newline,
    #[regex(r"[ \t\r\x0b\x0c]+")]
    Blank,
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    Word,
    #[regex(r"[0-9][A-Za-z0-9_]*")]
    #[regex(r"[0-9]+[eEpP][+-]?[0-9]+[A-Za-z0-9_]*", priority = 50)]
    #[regex(r"([0-9]+\.[0-9]*|\.[0-9]+)([A-Za-z_][A-Za-z0-9_]*)?", priority = 40)]
    #[regex(r"([0-9]+\.[0-9]*|\.[0-9]+)[eEpP][+-]?[0-9]+[A-Za-z0-9_]*", priority = 60)]
    #[regex(r"0[xX][0-9A-Fa-f]*\.[0-9A-Za-z_]*", priority = 45)]
    #[regex(r"0[xX][0-9A-Fa-f]*\.?[0-9A-Fa-f]*[pP][+-]?[0-9]+[A-Za-z0-9_]*", priority = 70)]
    Number,
    /// A string or a character.
    #[token("\"", |lex| quoted(lex, b'"'))]
    #[token("'", |lex| quoted(lex, b'\''))]
    Quoted,
    #[token("/*", block_comment)]
    BlockComment,
    #[token("//", line_comment)]
    LineComment,
    /// From the `#` of a line to its end.
    #[token("#")]
    #[token("##")]
    Directive,
    #[token("(")]
    #[token("[")]
    #[token("{")]
    Open,
    #[token(")")]
    #[token("]")]
    #[token("}")]
    Close,
    #[token(",")]
    Comma,
    #[token(";")]
    Semi,
    #[token(":")]
    Colon,
    #[token("::")]
    ColonColon,
    #[token("?")]
    Question,
    #[token(".")]
    #[token("...")]
    Dot,
    #[token("->")]
    Arrow,
    #[token("=")]
    #[token("+=")]
    #[token("-=")]
    #[token("*=")]
    #[token("/=")]
    #[token("%=")]
    #[token("&=")]
    #[token("|=")]
    #[token("^=")]
    #[token("<<=")]
    #[token(">>=")]
    Assign,
    #[token("+")]
    #[token("-")]
    #[token("*")]
    #[token("/")]
    #[token("%")]
    #[token("==")]
    #[token("!=")]
    #[token("<")]
    #[token("<=")]
    #[token(">")]
    #[token(">=")]
    #[token("<<")]
    #[token(">>")]
    #[token("&")]
    #[token("|")]
    #[token("^")]
    #[token("&&")]
    #[token("||")]
    #[token("++")]
    #[token("--")]
    #[token("!")]
    #[token("~")]
    #[token("++^")]
    #[token("@")]
    Operator,
    /// A region between `// fmt: off` and `// fmt: on`; the lexer makes none.
    Raw,
    /// Behind the last token.
    End,
}

/// A token that means something, and what stands in front of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Line ends between it and the token or comment before.
    pub(crate) lines: usize,
    /// Whether a blank, a line end or a comment stands right before it.
    pub(crate) spaced: bool,
    /// The comments between it and the token before, as indices.
    pub(crate) comments: (usize, usize),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Comment {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Line ends between it and the token or comment before.
    pub(crate) lines: usize,
    pub(crate) spaced: bool,
    /// A `//` comment, after which nothing can stand on its line.
    pub(crate) to_line_end: bool,
}

/// A text with its tokens; the last one is [`Kind::End`].
pub(crate) struct Lexed<'a> {
    pub(crate) text: &'a str,
    pub(crate) tokens: Vec<Token>,
    pub(crate) comments: Vec<Comment>,
    /// Where lines begin.
    lines: Vec<usize>,
}

/// What no token is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoToken {
    Character,
    String,
    Comment,
}

impl std::fmt::Display for NoToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NoToken::Character => "no token starts with this character",
            NoToken::String => "the closing quote is missing",
            NoToken::Comment => "the comment is not closed",
        })
    }
}

/// The tokens of a text, whose lines end in `\n`.
///
/// # Errors
/// The byte where something stands that is no token.
pub(crate) fn lex(text: &str) -> Result<Lexed<'_>, (usize, NoToken)> {
    let (mut tokens, mut comments) = (Vec::with_capacity(text.len() / 4), Vec::new());
    let mut lexer = Kind::lexer(text);
    lexer.bump(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 });
    let (mut lines, mut first_on_line, mut previous_end) = (0, true, lexer.span().end);
    let mut from = 0;
    while let Some(found) = lexer.next() {
        let kind = found.map_err(|()| (lexer.span().start, NoToken::Character))?;
        match kind {
            Kind::Newline => {
                lines += 1;
                first_on_line = true;
                continue;
            }
            Kind::Blank => continue,
            Kind::Directive if first_on_line => {
                let length = directive_length(lexer.remainder());
                lexer.bump(length);
                let hidden = hidden_length(lexer.slice(), lexer.remainder());
                lexer.bump(hidden);
            }
            Kind::Quoted if !closes(lexer.slice()) => return Err((lexer.span().start, NoToken::String)),
            Kind::BlockComment if !lexer.slice().ends_with("*/") || lexer.slice().len() < 4 => {
                return Err((lexer.span().start, NoToken::Comment));
            }
            _ => {}
        }
        let (start, end) = (lexer.span().start, lexer.span().end);
        let spaced = start != previous_end;
        if matches!(kind, Kind::BlockComment | Kind::LineComment) {
            comments.push(Comment { start, end, lines, spaced, to_line_end: kind == Kind::LineComment });
        } else {
            let spaced = spaced || comments.len() > from;
            tokens.push(Token { kind, start, end, lines, spaced, comments: (from, comments.len()) });
            from = comments.len();
        }
        (lines, first_on_line, previous_end) = (0, false, end);
    }
    let at = text.len();
    let end = Token { kind: Kind::End, start: at, end: at, lines, spaced: true, comments: (from, comments.len()) };
    tokens.push(end);
    let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    Ok(Lexed { text, tokens, comments, lines })
}

impl<'a> Lexed<'a> {
    pub(crate) fn text_of(&self, token: usize) -> &'a str {
        let token = &self.tokens[token];
        &self.text[token.start..token.end]
    }

    pub(crate) fn comment_text(&self, comment: usize) -> &'a str {
        let comment = &self.comments[comment];
        &self.text[comment.start..comment.end]
    }

    pub(crate) fn comments_before(&self, token: usize) -> &[Comment] {
        let (from, to) = self.tokens[token].comments;
        &self.comments[from..to]
    }

    /// Whether the author began a line between a token and the one before.
    pub(crate) fn breaks_before(&self, token: usize) -> bool {
        self.tokens[token].lines > 0 || self.comments_before(token).iter().any(|comment| comment.lines > 0)
    }

    /// Whether a token is the first of its line.
    pub(crate) fn begins_line(&self, token: usize) -> bool {
        token == 0 || self.breaks_before(token)
    }

    /// Whether some line begins behind `first` and up to `last`.
    pub(crate) fn breaks_within(&self, first: usize, last: usize) -> bool {
        (first + 1..=last).any(|token| self.breaks_before(token))
    }

    /// Whether code between two tokens, from the first to in front of the last, stands on a line with more columns. Comments do not count.
    pub(crate) fn is_too_wide(&self, first: usize, behind: usize, columns: usize) -> bool {
        (first..behind).any(|token| {
            let ends_line = self.tokens[token + 1].kind == Kind::End || self.breaks_before(token + 1);
            (ends_line || token + 1 == behind) && self.code_column(self.tokens[token].end) > columns
        })
    }

    /// The line of a byte, from 0, and where it begins.
    fn line_of(&self, at: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= at) - 1;
        (line, self.lines[line])
    }

    /// The column of a byte, from 0.
    pub(crate) fn code_column(&self, at: usize) -> usize {
        self.text[self.line_of(at).1..at].chars().count()
    }

    /// Line and column of a byte, both from 1; columns count characters.
    pub(crate) fn place(&self, at: usize) -> (usize, usize) {
        (self.line_of(at).0 + 1, self.code_column(at) + 1)
    }
}

/// Line and column of a byte of a text, both from 1; columns count characters.
pub(crate) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// Rest of a quoted literal, which stays on its line except after a backslash.
fn quoted(lex: &mut Lexer<'_, Kind>, quote: u8) {
    let rest = lex.remainder().as_bytes();
    let mut at = 0;
    while let Some(byte) = rest.get(at).filter(|byte| **byte != b'\n') {
        at += if *byte == b'\\' { 2 } else { 1 };
        if *byte == quote {
            break;
        }
    }
    let mut end = at.min(rest.len());
    // A backslash may have skipped the first byte of a longer character.
    while !lex.remainder().is_char_boundary(end) {
        end += 1;
    }
    lex.bump(end);
}

/// Whether a literal's last quote closes it: an even number of backslashes stands in front of it.
fn closes(literal: &str) -> bool {
    let bytes = literal.as_bytes();
    let Some((last, body)) = bytes.split_last().filter(|(_, body)| !body.is_empty()) else { return false };
    *last == bytes[0] && body.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0
}

fn block_comment(lex: &mut Lexer<'_, Kind>) {
    let length = lex.remainder().find("*/").map_or(lex.remainder().len(), |at| at + 2);
    lex.bump(length);
}

/// The rest of the line, and of the next one if the line ends in a backslash.
fn line_comment(lex: &mut Lexer<'_, Kind>) {
    let rest = lex.remainder();
    let mut at = 0;
    let length = loop {
        match rest[at..].find('\n') {
            None => break rest.len(),
            Some(end) if rest[at..at + end].ends_with('\\') => at += end + 1,
            Some(end) => break at + end,
        }
    };
    lex.bump(length);
}

/// How far a directive goes on behind its `#`: to the end of the line that no backslash continues, with comments that begin on it. A pragma also
/// goes on behind a comma and within parentheses.
fn directive_length(rest: &str) -> usize {
    let is_pragma = rest.trim_start_matches([' ', '\t']).starts_with("pragma");
    let bytes = rest.as_bytes();
    let (mut at, mut open, mut last) = (0, 0i32, b' ');
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += if bytes.get(at + 1) == Some(&b'\r') { 3 } else { 2 },
            b'\n' if is_pragma && (last == b',' || open > 0) => at += 1,
            b'\n' => break,
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = rest.get(at + 2..).and_then(|tail| tail.find("*/")).map_or(bytes.len(), |end| at + end + 4);
            }
            // An open one ends with its line, which a backslash may continue.
            quote @ (b'"' | b'\'') => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'\n' && bytes[at] != quote {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += usize::from(bytes.get(at) == Some(&quote));
                last = quote;
            }
            byte => {
                open += i32::from(byte == b'(') - i32::from(byte == b')');
                if !byte.is_ascii_whitespace() {
                    last = byte;
                }
                at += 1;
            }
        }
    }
    let mut end = at.min(bytes.len());
    while !rest.is_char_boundary(end) {
        end += 1;
    }
    let trimmed = rest[..end].trim_end();
    // A backslash goes on to an empty line, which belongs to the directive then.
    if trimmed.ends_with('\\') { end } else { trimmed.len() }
}

/// Behind `#if 0` follows what need not even be tokens: how far it is to the end of the line before the directive that ends it.
fn hidden_length(directive: &str, rest: &str) -> usize {
    let mut words = directive.trim_start_matches('#').split_ascii_whitespace();
    if (words.next(), words.next(), words.next()) != (Some("if"), Some("0"), None) {
        return 0;
    }
    let (mut depth, mut length) = (0, 0);
    for line in rest.split_inclusive('\n') {
        let directive = line.trim_start().strip_prefix('#').map_or("", str::trim_start);
        if directive.starts_with("if") {
            depth += 1;
        } else if directive.starts_with("endif") || depth == 0 && directive.starts_with("el") {
            if depth == 0 {
                return rest[..length].trim_end().len();
            }
            depth -= 1;
        }
        length += line.len();
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spellings(text: &str) -> Vec<&str> {
        let lexed = lex(text).expect("these are tokens");
        (0..lexed.tokens.len() - 1).map(|token| lexed.text_of(token)).collect()
    }

    #[test]
    fn a_directive_is_one_token() {
        assert_eq!(
            spellings("a\n # define F(x) \\\n  x /* 1\n2 */ + 1\nb"),
            ["a", "# define F(x) \\\n  x /* 1\n2 */ + 1", "b"]
        );
        assert_eq!(spellings("#define S \"a // b\" // c \\\n d\nb"), ["#define S \"a // b\" // c \\\n d", "b"]);
        assert_eq!(spellings("#define Q don't\nb"), ["#define Q don't", "b"]);
        assert_eq!(spellings("#pragma linkobj \"a\",\n \"b\"\nint"), ["#pragma linkobj \"a\",\n \"b\"", "int"]);
        assert_eq!(spellings("#pragma wlcomp All(\n x)\nint"), ["#pragma wlcomp All(\n x)", "int"]);
    }

    #[test]
    fn hidden_text_need_not_be_tokens() {
        assert_eq!(
            spellings("#if 0\ndon't §\n#if X\n#else\n#endif\n#else\nx\n#endif"),
            ["#if 0\ndon't §\n#if X\n#else\n#endif", "#else", "x", "#endif"]
        );
        assert_eq!(spellings("#if 0\na"), ["#if 0", "a"]);
    }

    #[test]
    fn what_is_no_token_has_a_place() {
        let wrong = |text| lex(text).err();
        assert_eq!(wrong("a §"), Some((2, NoToken::Character)));
        assert_eq!(wrong("\"ab\\\" \n"), Some((0, NoToken::String)));
        assert_eq!(wrong("' "), Some((0, NoToken::String)));
        assert_eq!(wrong("a /* b"), Some((2, NoToken::Comment)));
        assert_eq!(wrong("/*/"), Some((0, NoToken::Comment)));
    }

    #[test]
    fn gaps_are_known() {
        let lexed = lex("a /* x */\n\n// y\n  b\\\n;").expect("tokens");
        assert_eq!(lexed.comments.iter().map(|c| c.lines).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(
            lexed.tokens.iter().map(|t| (t.lines, t.spaced)).collect::<Vec<_>>(),
            [(0, false), (1, true), (0, true), (0, true)]
        );
        assert_eq!(place("aß\nbä c", 8), (2, 4));
    }
}
