//! The tokens around a failure, as habits look at them.

use crate::classify::Classified;
use crate::split::{self, Chunk};
use crate::tokens::{Kind, TextId, Token};
use ravel_diagnostics::{Diagnostic, Fix};
use ravel_source::Span;

/// Longer texts are no help.
const LONGEST_TEXT: usize = 200;

/// Between two tokens of a line, in bytes; a comment takes more.
const WIDEST_BLANK: u32 = 3;

/// Text of a file: a token, or a macro's call.
pub(super) struct Piece<'a> {
    pub(super) span: Span,
    pub(super) text: &'a str,
    /// Of the first token.
    pub(super) kind: Kind,
    pub(super) is_macro: bool,
    /// Whether a blank stands in front.
    pub(super) is_apart: bool,
}

fn within(inner: Span, outer: Span) -> bool {
    inner.file == outer.file && outer.start <= inner.start && inner.end <= outer.end
}

/// A place where a parse failed. Indices outside of the chunk have no token.
pub(crate) struct View<'a> {
    pub(crate) tokens: &'a Classified,
    pub(crate) chunk: Chunk,
    /// The token that does not fit.
    pub(crate) at: usize,
    /// What would have fitted.
    pub(crate) wanted: &'a [&'a str],
}

impl<'a> View<'a> {
    pub(super) fn token(&self, at: usize) -> Option<&'a Token> {
        self.tokens.list.get(at).filter(|_| (self.chunk.from..self.chunk.upto).contains(&at))
    }

    pub(crate) fn kind(&self, at: usize) -> Option<Kind> {
        self.token(at).map(|token| token.kind)
    }

    /// The kind of the token so many in front of the failure.
    pub(super) fn before(&self, steps: usize) -> Option<Kind> {
        self.kind(self.at.checked_sub(steps)?)
    }

    /// The spelling of a token; empty where there is none.
    pub(super) fn word(&self, at: usize) -> &'a str {
        self.token(at).map_or("", |token| &**self.tokens.texts.get(token.text))
    }

    /// The spelling of a name that is no keyword.
    pub(super) fn name(&self, at: usize) -> Option<&'a str> {
        self.token(at).filter(|token| token.kind == Kind::Id && token.module.0 == 0).map(|_| self.word(at))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.wanted.contains(&name)
    }

    pub(crate) fn span(&self, from: usize, upto: usize) -> Option<Span> {
        let (first, last) = (self.token(from)?, self.token(upto.checked_sub(1)?)?);
        (from < upto && first.span.file == last.span.file && first.span.start <= last.span.end)
            .then(|| first.span.to(last.span))
    }

    /// The text of tokens of one line as the file has it, blanks as one; nothing where a comment may stand between them, where a macro or
    /// joined strings reach beyond them, or where it is too long for a sentence.
    pub(super) fn text(&self, from: usize, upto: usize) -> Option<String> {
        let mut text = String::new();
        for piece in self.pieces(from, upto)? {
            if piece.is_apart && !text.is_empty() {
                text.push(' ');
            }
            text.push_str(piece.text);
        }
        Some(text)
    }

    /// The place of tokens that an edit may replace as a whole.
    pub(super) fn whole(&self, from: usize, upto: usize) -> Option<Span> {
        let pieces = self.pieces(from, upto)?;
        Some(pieces.first()?.span.to(pieces.last()?.span))
    }

    /// What the file has for tokens of one line: each by itself, those of a macro by its call.
    pub(super) fn pieces(&self, from: usize, upto: usize) -> Option<Vec<Piece<'a>>> {
        let mut pieces: Vec<Piece<'a>> = Vec::new();
        let mut length = 0;
        let mut at = from;
        while at < upto {
            let token = self.token(at)?;
            let made = self.macro_around(at).filter(|(_, _, end)| {
                // Arguments that stand by themselves are text of the file.
                (at..upto.min(*end)).any(|k| self.token(k).is_some_and(|token| self.is_made(token)))
            });
            let (span, word, next) = match made {
                Some((span, text, end)) => {
                    let begins = at.checked_sub(1).and_then(|at| self.token(at)).is_none_or(|t| !within(t.span, span));
                    let text = &**self.tokens.texts.get(text);
                    if !begins || end > upto || text.is_empty() || text.contains('\n') {
                        return None;
                    }
                    (span, text, end)
                }
                None => {
                    let word = self.word(at);
                    if token.module.0 != 0 || (token.span.end - token.span.start) as usize != word.len() {
                        return None;
                    }
                    (token.span, word, at + 1)
                }
            };
            if let Some(last) = pieces.last() {
                let gap = span.start.checked_sub(last.span.end).filter(|_| span.file == last.span.file)?;
                if token.first_on_line || gap > WIDEST_BLANK {
                    return None;
                }
            }
            length += word.len() + 1;
            if length > LONGEST_TEXT {
                return None;
            }
            pieces.push(Piece {
                span,
                text: word,
                kind: token.kind,
                is_macro: made.is_some(),
                is_apart: token.space_before,
            });
            at = next;
        }
        Some(pieces).filter(|pieces| !pieces.is_empty())
    }

    /// The place and text of the macro that a token came with, and the first token behind what it made.
    fn macro_around(&self, at: usize) -> Option<(Span, TextId, usize)> {
        let token = self.token(at)?;
        let last = Span { end: u32::MAX, ..token.span };
        let (span, text) =
            self.tokens.uses.range(..=last).next_back().filter(|(span, _)| within(token.span, **span))?;
        let end = (at..self.chunk.upto).find(|k| !within(self.tokens.list[*k].span, *span)).unwrap_or(self.chunk.upto);
        Some((*span, *text, end))
    }

    /// Whether a token stands in the text of a macro: it has the place of the call then.
    fn is_made(&self, token: &Token) -> bool {
        let mut same = self.tokens.uses.range(Span { end: 0, ..token.span }..=Span { end: u32::MAX, ..token.span });
        same.next().is_some()
    }

    /// Whether a token is a number as the file has it.
    pub(super) fn is_written_number(&self, at: usize) -> bool {
        matches!(self.kind(at), Some(Kind::Num | Kind::OtherNum))
            && self.pieces(at, at + 1).is_some_and(|pieces| pieces.iter().all(|piece| !piece.is_macro))
    }

    pub(super) fn statement(&self, at: usize) -> Option<(usize, usize)> {
        split::statement_around(&self.tokens.list, self.chunk, at)
    }

    /// Whether a statement may begin at the token.
    pub(super) fn starts_statement(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.kind(at));
        matches!(before, Some(Kind::Semi | Kind::LBrace | Kind::RBrace | Kind::RParen | Kind::Else | Kind::Colon))
    }

    /// The innermost bracket that is open in front of a token.
    pub(crate) fn opener(&self, at: usize) -> Option<usize> {
        let mut depth = 0usize;
        for i in (self.chunk.from..at.min(self.chunk.upto)).rev() {
            match self.tokens.list[i].kind {
                Kind::RParen | Kind::RBracket | Kind::RBrace => depth += 1,
                Kind::LParen | Kind::LBracket | Kind::LBrace if depth == 0 => return Some(i),
                Kind::LParen | Kind::LBracket | Kind::LBrace => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// The bracket that closes the one at `open`.
    pub(crate) fn closer(&self, open: usize) -> Option<usize> {
        self.end_of(open + 1, |_| false)
    }

    /// The first token from `from` on, outside of brackets that open behind it, that is a closing one or that `stops`.
    pub(super) fn end_of(&self, from: usize, stops: impl Fn(Kind) -> bool) -> Option<usize> {
        let mut depth = 0usize;
        for i in from..self.chunk.upto {
            match self.tokens.list[i].kind {
                kind if depth == 0 && stops(kind) => return Some(i),
                Kind::LParen | Kind::LBracket | Kind::LBrace => depth += 1,
                Kind::RParen | Kind::RBracket | Kind::RBrace if depth == 0 => return Some(i),
                Kind::RParen | Kind::RBracket | Kind::RBrace => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// Where what ends in front of `upto` begins: behind the nearest token outside of its brackets that opens one or that `stops`.
    pub(super) fn start_of(&self, upto: usize, stops: impl Fn(Kind) -> bool) -> usize {
        let mut depth = 0usize;
        for i in (self.chunk.from..upto.min(self.chunk.upto)).rev() {
            match self.tokens.list[i].kind {
                kind if depth == 0 && stops(kind) => return i + 1,
                Kind::RParen | Kind::RBracket | Kind::RBrace => depth += 1,
                Kind::LParen | Kind::LBracket | Kind::LBrace if depth == 0 => return i + 1,
                Kind::LParen | Kind::LBracket | Kind::LBrace => depth -= 1,
                _ => {}
            }
        }
        self.chunk.from
    }

    /// Where a list between `from` and `upto` is cut at commas, or at what else `cuts`.
    pub(super) fn parts(&self, from: usize, upto: usize, cuts: impl Fn(Kind) -> bool) -> Vec<(usize, usize)> {
        let mut parts = Vec::new();
        let mut start = from;
        while start <= upto {
            let end = self.end_of(start, &cuts).filter(|end| *end < upto).unwrap_or(upto);
            parts.push((start, end));
            start = end + 1;
        }
        parts
    }

    /// Where the name, call, selection or field begins that ends in front of a token.
    pub(super) fn operand_before(&self, upto: usize) -> Option<usize> {
        let mut at = upto.checked_sub(1)?;
        loop {
            match self.kind(at)? {
                Kind::RParen | Kind::RBracket => {
                    at = self.opener(at)?;
                    let previous = at.checked_sub(1).filter(|at| self.ends_operand(*at));
                    match previous {
                        Some(previous) => at = previous,
                        None => return Some(at),
                    }
                }
                Kind::Id if at >= 2 && self.kind(at - 1) == Some(Kind::Dot) && self.ends_operand(at - 2) => at -= 2,
                Kind::Id | Kind::Num | Kind::OtherNum | Kind::Str | Kind::True | Kind::False => return Some(at),
                _ => return None,
            }
        }
    }

    pub(super) fn ends_operand(&self, at: usize) -> bool {
        let word = self.word(at);
        match self.kind(at) {
            Some(Kind::Id) => !matches!(word, "and" | "or" | "not" | "in"),
            kind => kind.is_some_and(Kind::ends_operand),
        }
    }

    pub(super) fn begins_operand(&self, at: usize) -> bool {
        matches!(
            self.kind(at),
            Some(
                Kind::Id
                    | Kind::Num
                    | Kind::OtherNum
                    | Kind::NumArray
                    | Kind::Str
                    | Kind::Char
                    | Kind::True
                    | Kind::False
                    | Kind::LParen
                    | Kind::LBracket
                    | Kind::LBrace
                    | Kind::Minus
                    | Kind::Bang
            )
        )
    }

    /// The edit that makes names of a library module visible; nothing if a `use` or `import` of the module stands already.
    ///
    /// The outer option is empty in files with a header, where a `use` cannot stand first.
    pub(crate) fn use_edit(&self, module: &str, name: &str) -> Option<Option<(Span, String)>> {
        let list = &self.tokens.list;
        let loads = |pair: &[Token]| {
            matches!(pair[0].kind, Kind::Use | Kind::Import) && &**self.tokens.texts.get(pair[1].text) == module
        };
        if list.windows(2).any(loads) {
            return Some(None);
        }
        let first = list.first().filter(|first| !matches!(first.kind, Kind::Module | Kind::Class))?;
        let at = Span { end: first.span.start, ..first.span };
        Some(Some((at, format!("use {module}: {{ {name} }};\n"))))
    }

    /// The report with an edit whose text calls a function of a module, which the edit makes visible too.
    pub(super) fn with_library_edit(
        &self,
        report: Diagnostic,
        (span, text): (Span, String),
        (module, name): (&str, &str),
        safe: bool,
    ) -> Diagnostic {
        let load = self.use_edit(module, name);
        let title = match load {
            Some(None) => format!("`{text}`"),
            _ => format!("`{text}`, with `use {module}: {{ {name} }};`"),
        };
        match load {
            Some(load) => {
                let edits = load.into_iter().chain([(span, text)]).collect();
                report.with_fix(Fix { title, safe, edits })
            }
            None => report.with_help(title),
        }
    }
}

/// The place behind a token.
pub(super) fn behind(span: Span) -> Span {
    Span { start: span.end, ..span }
}
