//! Tokens: their kinds, the lexer for one text, and the token list that later phases share.
//!
//! The lexer knows no keywords: macros may be named like one, so identifiers become keywords, type names and
//! qualified names only in [`crate::classify`], after preprocessing. Bad text becomes a token of an error kind;
//! whoever consumes the token reports it, because the preprocessor may skip it first (`#if 0`).

use logos::{Filter, Lexer, Logos};
use ravel_source::{FileId, Span};
use std::collections::BTreeMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// What a token is. The first group comes out of the lexer, the second out of [`crate::classify`].
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[logos(skip r"[ \t\r\x0b\x0c]+")]
#[logos(skip r"\\[ \t\r]*\n")]
pub(crate) enum Kind {
    #[token("\n")]
    Newline,
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    Id,
    /// Any number, with everything that is glued to its end.
    #[regex(r"[0-9][A-Za-z0-9_]*")]
    #[regex(r"[0-9]+[eEpP][+-]?[0-9]+[A-Za-z0-9_]*", priority = 50)]
    #[regex(r"([0-9]+\.[0-9]*|\.[0-9]+)([A-Za-z_][A-Za-z0-9_]*)?", priority = 40)]
    #[regex(r"([0-9]+\.[0-9]*|\.[0-9]+)[eEpP][+-]?[0-9]+[A-Za-z0-9_]*", priority = 60)]
    #[regex(r"0[xX][0-9A-Fa-f]*\.[0-9A-Za-z_]*", priority = 45)]
    #[regex(r"0[xX][0-9A-Fa-f]*\.?[0-9A-Fa-f]*[pP][+-]?[0-9]+[A-Za-z0-9_]*", priority = 70)]
    Num,
    #[token("\"", |lex| quoted(lex, b'"'))]
    Str,
    #[token("'", |lex| quoted(lex, b'\''))]
    Char,
    #[token("/*", block_comment)]
    OpenComment,
    #[token("//", line_comment)]
    LineComment,
    #[token("#")]
    Hash,
    #[token("##")]
    HashHash,
    #[token("::")]
    ColonColon,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    #[token(",")]
    Comma,
    #[token(";")]
    Semi,
    #[token(":")]
    Colon,
    #[token("?")]
    Question,
    #[token(".")]
    Dot,
    #[token("...")]
    Dots,
    #[token("->")]
    Arrow,
    #[token("=")]
    Assign,
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
    AssignOp,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    #[token("%")]
    MulOp,
    #[token("==")]
    #[token("!=")]
    EqOp,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEq,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEq,
    #[token("<<")]
    #[token(">>")]
    ShiftOp,
    #[token("&")]
    Amp,
    #[token("|")]
    Bar,
    #[token("^")]
    Caret,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    #[token("++")]
    PlusPlus,
    #[token("--")]
    MinusMinus,
    #[token("!")]
    Bang,
    #[token("~")]
    Tilde,
    #[token("++^")]
    #[token("@")]
    UserOp,
    /// Characters that no token starts with.
    Stray,
    /// A quoted literal whose closing quote is missing on its line.
    OpenStr,
    OpenChar,

    // From here on: only after classification.
    TypeName,
    /// A struct's name.
    SName,
    /// A struct's name in front of `{`.
    SLit,
    /// An integer without suffix, in decimal; all other numbers are `OtherNum`.
    OtherNum,
    /// A whole array literal of numbers.
    NumArray,
    Pragma,
    BaseType,
    True,
    False,
    All,
    Class,
    ClassType,
    Deprecated,
    Do,
    Else,
    Except,
    Export,
    External,
    Fold,
    FoldFix,
    For,
    Genarray,
    If,
    Import,
    Inline,
    Modarray,
    Module,
    Nested,
    NoInline,
    ObjDef,
    Propagate,
    Provide,
    Return,
    Specialize,
    Step,
    Struct,
    Typedef,
    Use,
    Void,
    While,
    Width,
    With,
    /// Stands for a run of tokens that could not be parsed as a statement.
    BadStmt,
    /// The same for a declaration at the start of a body.
    BadDecl,
    /// First token of every parse: says what the rest is.
    StartHeader,
    StartDefinition,
    StartExpression,
    StartStatements,
}

impl Kind {
    /// Whether the text is an operator symbol that a function may be named by.
    pub(crate) fn is_operator(self) -> bool {
        use Kind::*;
        matches!(
            self,
            Plus | Minus
                | Star
                | MulOp
                | EqOp
                | Less
                | LessEq
                | Greater
                | GreaterEq
                | ShiftOp
                | Amp
                | Bar
                | Caret
                | PlusPlus
                | MinusMinus
                | Bang
                | Tilde
                | UserOp
        )
    }

    /// Whether adjacent tokens of this kind may be glued to a user-defined operator.
    pub(crate) fn is_operator_piece(self) -> bool {
        self.is_operator() || matches!(self, Kind::AndAnd | Kind::OrOr | Kind::Assign | Kind::AssignOp | Kind::Arrow)
    }
}

/// Rest of a quoted literal; stays on its line, except after a backslash.
fn quoted(lex: &mut Lexer<'_, Kind>, quote: u8) -> Filter<()> {
    let rest = lex.remainder().as_bytes();
    let mut at = 0;
    loop {
        match rest.get(at) {
            Some(b'\\') if rest.get(at + 1) == Some(&b'\r') => at += 3,
            Some(b'\\') => at += 2,
            Some(b'\n') | None => break,
            Some(c) if *c == quote => {
                at += 1;
                break;
            }
            Some(_) => at += 1,
        }
    }
    let mut end = at.min(rest.len());
    // A backslash may have skipped the first byte of a longer character.
    while !lex.remainder().is_char_boundary(end) {
        end += 1;
    }
    lex.bump(end);
    Filter::Emit(())
}

fn block_comment(lex: &mut Lexer<'_, Kind>) -> Filter<()> {
    match lex.remainder().find("*/") {
        Some(at) => {
            lex.bump(at + 2);
            Filter::Skip
        }
        None => {
            lex.bump(lex.remainder().len());
            Filter::Emit(())
        }
    }
}

/// The rest of the line, and of the next one if the line ends in a backslash.
fn line_comment(lex: &mut Lexer<'_, Kind>) -> Filter<()> {
    let rest = lex.remainder();
    let mut at = 0;
    loop {
        match rest[at..].find('\n') {
            None => at = rest.len(),
            Some(end) if rest[at..at + end].trim_end_matches('\r').ends_with('\\') => {
                at += end + 1;
                continue;
            }
            Some(end) => at += end,
        }
        break;
    }
    lex.bump(at);
    Filter::Skip
}

impl Kind {
    /// Whether an operator behind this token stands between two operands.
    pub(crate) fn ends_operand(self) -> bool {
        matches!(
            self,
            Kind::Id
                | Kind::TypeName
                | Kind::SName
                | Kind::Num
                | Kind::OtherNum
                | Kind::NumArray
                | Kind::Str
                | Kind::Char
                | Kind::True
                | Kind::False
                | Kind::RParen
                | Kind::RBracket
                | Kind::RBrace
        )
    }
}

/// Index into [`Texts`]; 0 is the empty text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TextId(pub(crate) u32);

impl TextId {
    pub(crate) const NONE: TextId = TextId(0);
}

#[expect(clippy::disallowed_types, reason = "with a hasher of its own, and never walked")]
type TextIds = std::collections::HashMap<Arc<str>, TextId, BuildHasherDefault<TextHasher>>;

/// Every distinct text of a token list, shared with the tree that is built from it.
#[derive(Clone, Debug)]
pub(crate) struct Texts {
    list: Vec<Arc<str>>,
    ids: TextIds,
}

impl Texts {
    pub(crate) fn new() -> Texts {
        let mut texts = Texts { list: Vec::new(), ids: TextIds::default() };
        texts.intern("");
        texts
    }

    pub(crate) fn intern(&mut self, text: &str) -> TextId {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = TextId(self.list.len() as u32);
        let text: Arc<str> = text.into();
        self.list.push(text.clone());
        self.ids.insert(text, id);
        id
    }

    pub(crate) fn get(&self, id: TextId) -> &Arc<str> {
        &self.list[id.0 as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }
}

/// FNV-like hash over eight bytes at a time: the table is small and its keys are not hostile enough to matter, as an
/// attacker could only slow down the compilation of the attacker's own file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextHasher(u64);

impl Hasher for TextHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    fn finish(&self) -> u64 {
        // The table takes its bucket from low bits and its tag from high ones; the product mixes only upwards.
        self.0 ^ (self.0 >> 32)
    }
}

/// A token; `text` is always its spelling, `module` the module of a qualified name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Blank or comment in front of it.
    pub(crate) space_before: bool,
    /// First token of its line.
    pub(crate) first_on_line: bool,
    /// The preprocessor has found it not to be a macro for good.
    pub(crate) no_expand: bool,
    pub(crate) text: TextId,
    pub(crate) module: TextId,
    pub(crate) span: Span,
}

/// The tokens of one file after preprocessing, ready for [`crate::prescan`] and [`crate::parse_file`].
#[derive(Clone, Debug)]
pub struct Tokens {
    pub(crate) list: Vec<Token>,
    pub(crate) texts: Texts,
    /// Where the file ends, for "unexpected end of file".
    pub(crate) end: Span,
    /// Macros defined at the end of the file.
    pub(crate) macros: Vec<TextId>,
    /// Comments behind tokens of their line that may have been meant as a division, with their texts without the strokes.
    pub(crate) comments: Vec<(Span, TextId)>,
    /// What macros took the place of, by its place, with its text in the file; macros within macros belong to the outermost.
    pub(crate) uses: BTreeMap<Span, TextId>,
}

impl Tokens {
    /// How many tokens there are, for statistics.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Names of the macros that the file leaves defined.
    pub fn macros(&self) -> impl Iterator<Item = &str> {
        self.macros.iter().map(|name| &**self.texts.get(*name))
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Where the last token stands.
    pub fn end(&self) -> Option<Span> {
        self.list.last().map(|token| token.span)
    }

    /// The last `;` outside of brackets that something follows.
    pub fn last_separator(&self) -> Option<Span> {
        let mut depth = 0;
        let mut found = None;
        let (_, all_but_last) = self.list.split_last()?;
        for token in all_but_last {
            match token.kind {
                Kind::LParen | Kind::LBracket | Kind::LBrace => depth += 1,
                Kind::RParen | Kind::RBracket | Kind::RBrace => depth -= 1,
                Kind::Semi if depth == 0 => found = Some(token.span),
                _ => {}
            }
        }
        found
    }

    /// Spelling of the last token.
    pub fn last(&self) -> Option<&str> {
        self.list.last().map(|token| &**self.texts.get(token.text))
    }
}

/// Appends the tokens of a text; line ends are tokens, comments and blanks are not.
pub(crate) fn lex(file: FileId, text: &str, texts: &mut Texts, out: &mut Vec<Token>) {
    let mut lexer = Kind::lexer(text);
    // A byte order mark is not part of the program.
    let mut previous_end = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    lexer.bump(previous_end);
    let mut first_on_line = true;
    while let Some(result) = lexer.next() {
        let range = lexer.span();
        let slice = lexer.slice();
        let mut kind = result.unwrap_or(Kind::Stray);
        match kind {
            Kind::Str if slice.len() < 2 || !ends_in_quote(slice, b'"') => kind = Kind::OpenStr,
            Kind::Char if slice.len() < 2 || !ends_in_quote(slice, b'\'') => kind = Kind::OpenChar,
            Kind::Stray => {
                // One token for a run of garbage, or random bytes would drown every real report.
                if let Some(last) = out.last_mut()
                    && last.kind == Kind::Stray
                    && last.span.file == file
                    && last.span.end as usize == range.start
                {
                    last.span.end = range.end as u32;
                    previous_end = range.end;
                    continue;
                }
            }
            _ => {}
        }
        out.push(Token {
            kind,
            space_before: range.start != previous_end,
            first_on_line,
            no_expand: false,
            text: if kind == Kind::Newline || kind == Kind::OpenComment { TextId::NONE } else { texts.intern(slice) },
            module: TextId::NONE,
            span: Span::new(file, range.start, range.end),
        });
        first_on_line = kind == Kind::Newline;
        previous_end = range.end;
    }
}

/// Whether the literal's last quote closes it, that is, no odd number of backslashes stands in front of it.
fn ends_in_quote(slice: &str, quote: u8) -> bool {
    let Some(body) = slice.as_bytes().strip_suffix(&[quote]) else { return false };
    body.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spellings(text: &str) -> Vec<String> {
        let (mut texts, mut out) = (Texts::new(), Vec::new());
        lex(FileId(0), text, &mut texts, &mut out);
        out.iter().map(|token| texts.get(token.text).to_string()).collect()
    }

    #[test]
    fn arrows_win_and_sac2c_extras_do_not_form() {
        assert_eq!(spellings("a<-1"), ["a", "<", "-", "1"]);
        assert_eq!(spellings("iv->a"), ["iv", "->", "a"]);
        assert_eq!(spellings("[>[<](||<:"), ["[", ">", "[", "<", "]", "(", "||", "<", ":"]);
        assert_eq!(spellings("a.*b.."), ["a", ".", "*", "b", ".", "."]);
        assert_eq!(spellings("a++^b++b"), ["a", "++^", "b", "++", "b"]);
        assert_eq!(spellings("x...y"), ["x", "...", "y"]);
    }

    #[test]
    fn dots_before_digits_start_numbers() {
        assert_eq!(spellings("[.5]"), ["[", ".5", "]"]);
        assert_eq!(spellings("a[.,1]"), ["a", "[", ".", ",", "1", "]"]);
        assert_eq!(
            spellings("1. 1.e 1e-9 2E3f 0x1p-53 0x1.8p3 0x1f 1e 1e+5"),
            ["1.", "1.e", "1e-9", "2E3f", "0x1p-53", "0x1.8p3", "0x1f", "1e", "1e+5"]
        );
        assert_eq!(spellings("0x1e+5 1-2"), ["0x1e", "+", "5", "1", "-", "2"]);
    }

    #[test]
    fn byte_order_mark_and_carriage_returns_are_blanks() {
        assert_eq!(spellings("\u{feff}a\r\nb\\\r\nc"), ["a", "", "b", "c"]);
    }

    #[test]
    fn comments_are_blanks() {
        assert_eq!(spellings("a/* * / */b//c\nd// e\\\nf"), ["a", "b", "", "d"]);
    }

    #[test]
    fn unclosed_text_is_one_error_token() {
        let (mut texts, mut out) = (Texts::new(), Vec::new());
        lex(FileId(0), "\"ab\\\" \n 'x\\ü\n \u{1}\u{2}§ /* x", &mut texts, &mut out);
        let kinds: Vec<Kind> = out.iter().map(|token| token.kind).filter(|kind| *kind != Kind::Newline).collect();
        assert_eq!(kinds, [Kind::OpenStr, Kind::OpenChar, Kind::Stray, Kind::OpenComment]);
    }
}
