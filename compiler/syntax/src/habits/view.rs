//! The tokens around a failure, as habits look at them.

use crate::classify::Classified;
use crate::split::{self, Chunk};
use crate::tokens::{Kind, Token};
use ravel_diagnostics::{Diagnostic, Fix};
use ravel_source::Span;

/// Longer texts are no help.
const LONGEST_TEXT: usize = 200;

/// Between two tokens of a line, in bytes; a comment takes more.
const WIDEST_BLANK: u32 = 3;

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

    /// The text of tokens of one line, blanks as one; nothing where macros or joined strings make it another one than the file's, where a
    /// comment may stand between them, or where it is too long for a sentence.
    pub(super) fn text(&self, from: usize, upto: usize) -> Option<String> {
        let whole = self.span(from, upto)?;
        let mut text = String::new();
        let mut end = whole.start;
        for at in from..upto {
            let token = self.token(at)?;
            let word = self.word(at);
            if token.span.file != whole.file || token.span.start < end || token.module.0 != 0 {
                return None;
            }
            let gap = token.span.start - end;
            if (token.span.end - token.span.start) as usize != word.len() || text.len() > LONGEST_TEXT {
                return None;
            }
            if at > from && (token.first_on_line || gap > WIDEST_BLANK) {
                return None;
            }
            if at > from && token.space_before {
                text.push(' ');
            }
            text.push_str(word);
            end = token.span.end;
        }
        Some(text)
    }

    /// The place of tokens that an edit may replace as a whole.
    pub(super) fn whole(&self, from: usize, upto: usize) -> Option<Span> {
        self.text(from, upto)?;
        self.span(from, upto)
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
    pub(super) fn use_edit(&self, module: &str, name: &str) -> Option<Option<(Span, String)>> {
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
