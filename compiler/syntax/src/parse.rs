//! Tokens to tree: one parse per definition, repeated with the offending statement taken out after each error.

use crate::actions::Context;
use crate::ast::*;
use crate::check;
use crate::classify::{Classified, TypeNames, classify};
use crate::depth::too_deep;
use crate::errors::{MAX_REPORTS, SyntaxError, limit};
use crate::expected;
use crate::habits::{View, floor_division};
use crate::prescan::prescan;
use crate::split::{self, Chunk};
use crate::tokens::{Kind, Token, Tokens};
use lalrpop_util::ParseError;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;

/// What the grammar's start symbol delivers.
pub(crate) enum Parsed {
    Header(Header),
    Definition(Definition),
    Expression(Expr),
    Statements(Vec<Stmt>),
}

/// Reports per definition; each costs a parse of it.
const MAX_REPORTS_PER_DEFINITION: usize = 20;

/// Parses a file, given the type names that its `use`, `import` and qualified names make visible.
///
/// The tree covers every definition without an error in its head; statements with errors are in it as
/// [`StmtKind::Error`]. It is complete if no report is an error.
pub fn parse_file(tokens: &Tokens, visible: &TypeNames) -> (File, Vec<Diagnostic>) {
    let mut names = visible.clone();
    prescan(tokens).add_own_names(&mut names);
    let mut reports = Vec::new();
    let tokens = classify(tokens, &names, &mut reports);
    let mut parser = Parser { tokens: &tokens, reports };
    let file = parser.file();
    limit(&mut parser.reports);
    (file, parser.reports)
}

/// Where a parse failed, in token indices.
pub(crate) struct Failure {
    /// The token that does not fit; the end of the chunk if something is missing there.
    pub(crate) at: usize,
    /// The grammar's names of the tokens that would have fitted.
    pub(crate) expected: Vec<String>,
}

/// A run of tokens that the grammar sees as one.
#[derive(Clone, Copy)]
pub(crate) struct Hole {
    from: usize,
    upto: usize,
    kind: Kind,
}

pub(crate) struct Parser<'a> {
    pub(crate) tokens: &'a Classified,
    pub(crate) reports: Vec<Diagnostic>,
}

impl Parser<'_> {
    fn file(&mut self) -> File {
        let list = &self.tokens.list;
        let span = list.first().map_or(self.tokens.end, |first| first.span.to(self.tokens.end));
        let mut file = File { header: Header::Program, definitions: Vec::new(), span };
        let mut chunks = split::definitions(list, &mut self.reports);
        // Only pragmas may stand in front of the header.
        let header = chunks.iter().position(|chunk| list[chunk.from].kind != Kind::Pragma);
        if let Some(at) = header
            && let kind @ (Kind::Module | Kind::Class) = list[chunks[at].from].kind
        {
            let mut header = chunks.remove(at);
            if kind == Kind::Class && at < chunks.len() {
                // It goes on with the classtype.
                let second = chunks.remove(at);
                header = Chunk { from: header.from, ..second };
            }
            if let Some(Parsed::Header(header)) = self.chunk(header, Kind::StartHeader) {
                file.header = header;
            }
        }
        for chunk in &chunks {
            if self.reports.len() > MAX_REPORTS {
                break;
            }
            if let Some(Parsed::Definition(definition)) = self.chunk(*chunk, Kind::StartDefinition) {
                file.definitions.push(definition);
            }
        }
        check::check_file(&mut file, &mut self.reports);
        file
    }

    /// Parses one chunk with recovery; nothing if even its outline is broken.
    pub(crate) fn chunk(&mut self, chunk: Chunk, start: Kind) -> Option<Parsed> {
        if let Some((at, limit)) = too_deep(&self.tokens.list[chunk.from..chunk.upto]) {
            self.reports.push(SyntaxError::TooDeep { limit }.at(self.tokens.list[chunk.from + at].span));
            return None;
        }
        let mut holes: Vec<Hole> = Vec::new();
        for _ in 0..MAX_REPORTS_PER_DEFINITION {
            let closers = vec![Kind::RBrace; chunk.unclosed];
            let failure = match self.attempt(chunk, start, &holes, &closers) {
                Ok(parsed) => return Some(parsed),
                Err(failure) => failure,
            };
            if holes.iter().any(|hole| hole.from == failure.at) {
                return None;
            }
            self.report(chunk, &failure);
            let hole = self.hole(chunk, &failure)?;
            // A hole around an older one swallows it.
            holes.retain(|old| old.upto <= hole.from || old.from >= hole.upto);
            holes.push(hole);
            holes.sort_by_key(|hole| hole.from);
        }
        None
    }

    /// One run of the grammar; `closers` stand behind the chunk although nobody wrote them.
    pub(crate) fn attempt(
        &self,
        chunk: Chunk,
        start: Kind,
        holes: &[Hole],
        closers: &[Kind],
    ) -> Result<Parsed, Failure> {
        let cx = Context { tokens: self.tokens };
        let list = &self.tokens.list;
        let mut holes = holes.iter().peekable();
        let mut at = chunk.from;
        let mut closers = closers.iter();
        let tokens = std::iter::from_fn(|| {
            let start = at;
            if let Some(hole) = holes.peek().filter(|hole| hole.from == at) {
                let kind = hole.kind;
                at = hole.upto;
                holes.next();
                return Some((start, kind, at));
            }
            if at < chunk.upto {
                at += 1;
                return Some((start, list[start].kind, at));
            }
            closers.next().map(|kind| (at, *kind, at))
        });
        let input = std::iter::once((chunk.from, start, chunk.from)).chain(tokens).map(Ok);
        crate::grammar::StartParser::new().parse(&cx, input).map_err(|error| match error {
            ParseError::UnrecognizedToken { token: (at, _, _), expected } => Failure { at, expected },
            ParseError::UnrecognizedEof { expected, .. } => Failure { at: chunk.upto, expected },
            ParseError::ExtraToken { token: (at, _, _) } | ParseError::InvalidToken { location: at } => {
                Failure { at, expected: Vec::new() }
            }
            ParseError::User { error: () } => Failure { at: chunk.from, expected: Vec::new() },
        })
    }

    /// The statement to take out so that the rest can be parsed.
    fn hole(&self, chunk: Chunk, failure: &Failure) -> Option<Hole> {
        let list = &self.tokens.list;
        let mut at = failure.at;
        if expected::only_closing_brace(failure) {
            // The `return` in front is what stands in the wrong place, not what follows it.
            at = at.checked_sub(1)?;
        }
        let (from, upto) = split::statement_around(list, chunk, at)?;
        let kind = if upto < chunk.upto && starts_declaration(list, upto) { Kind::BadDecl } else { Kind::BadStmt };
        Some(Hole { from, upto, kind })
    }

    fn report(&mut self, chunk: Chunk, failure: &Failure) {
        let list = &self.tokens.list;
        if chunk.unclosed > 0 {
            let view = View { tokens: self.tokens, chunk, at: failure.at, wanted: &[] };
            if let Some(report) = floor_division(&view) {
                // The brace stands in the comment.
                let (first, last) = (list[chunk.from].span, list[chunk.upto - 1].span);
                let inside = |span: Span| span.file == first.file && first.start <= span.start && span.end <= last.end;
                self.reports.retain(|other| other.code != Code::UnbalancedBrace || !inside(other.span()));
                self.reports.push(report);
                return;
            }
            if failure.at >= chunk.upto {
                return; // the brace that is missing has been reported
            }
        }
        if let Some(token) = list.get(failure.at).filter(|_| failure.at < chunk.upto)
            && matches!(token.kind, Kind::Stray | Kind::OpenStr | Kind::OpenChar | Kind::OpenComment)
        {
            return; // reported by the preprocessor or by classification
        }
        self.reports.push(expected::report(self.tokens, chunk, failure));
    }
}

/// Whether a declaration starts at the index.
fn starts_declaration(list: &[Token], at: usize) -> bool {
    match list[at].kind {
        Kind::BaseType | Kind::Struct => true,
        Kind::TypeName => list.get(at + 1).is_some_and(|next| next.kind != Kind::LParen),
        _ => false,
    }
}
