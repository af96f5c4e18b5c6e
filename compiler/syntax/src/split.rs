//! Cuts a file into its definitions, and a broken definition into statements, by brackets and semicolons alone.
//!
//! Each definition is parsed by itself, so that an error in one cannot hide another; inside a function the statement
//! with the error is taken out and the function parsed again. Both need boundaries that do not depend on a parse.

use crate::errors::SyntaxError;
use crate::tokens::{Kind, Token};
use ravel_diagnostics::Diagnostic;

/// The tokens `from..upto` are one definition, or the header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Chunk {
    pub(crate) from: usize,
    pub(crate) upto: usize,
    /// How many `}` are missing at its end.
    pub(crate) unclosed: usize,
}

/// Cuts the whole list; reports braces that do not match.
pub(crate) fn definitions(list: &[Token], reports: &mut Vec<Diagnostic>) -> Vec<Chunk> {
    if let Some(chunks) = cut(list, false, reports) {
        return chunks;
    }
    // Some bracket is never closed: cut again, and take more of what looks like the start of a definition for one.
    cut(list, true, reports).unwrap_or_default()
}

/// Nothing if a bracket is open at the end, unless `guess` says to live with it. A definition in the first column
/// ends what is still open in front of it either way.
fn cut(list: &[Token], guess: bool, reports: &mut Vec<Diagnostic>) -> Option<Vec<Chunk>> {
    let mut found = Vec::new();
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut from = 0;
    let mut at = 0;
    while at < list.len() {
        if !open.is_empty() && at > from && starts_definition(list, at, guess) {
            chunks.push(abandon(list, from, at, &mut open, &mut found));
            from = at;
        }
        let kind = list[at].kind;
        let next = list.get(at + 1).map(|token| token.kind);
        let mut ends = false;
        match kind {
            Kind::LParen | Kind::LBracket | Kind::LBrace => open.push(at),
            Kind::RParen | Kind::RBracket => close(list, &mut open, kind),
            Kind::RBrace => {
                if !open.iter().any(|i| list[*i].kind == Kind::LBrace) {
                    stray_brace(list, at, &mut chunks, &mut from, &mut found);
                    open.clear();
                    at += 1;
                    continue;
                }
                close(list, &mut open, kind);
                ends = open.is_empty() && next.is_none_or(may_follow_body);
            }
            Kind::Semi => ends = open.is_empty(),
            Kind::Pragma => ends = open.is_empty() && at == from,
            _ => {}
        }
        at += 1;
        if ends {
            // `};` and the pragmas of an external declaration belong to it.
            while at < list.len() && list[from].kind != Kind::Pragma && belongs_behind(list[from].kind, list[at].kind) {
                at += 1;
            }
            chunks.push(Chunk { from, upto: at, unclosed: 0 });
            from = at;
        }
    }
    if !open.is_empty() && !guess {
        return None;
    }
    if from < list.len() {
        chunks.push(abandon(list, from, list.len(), &mut open, &mut found));
    }
    reports.extend(found);
    Some(chunks)
}

/// Whether a token behind the end of a definition is still part of it.
fn belongs_behind(first: Kind, kind: Kind) -> bool {
    kind == Kind::Pragma && !matches!(first, Kind::Module | Kind::Use | Kind::Import | Kind::Export | Kind::Provide)
}

fn may_follow_body(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Id
            | Kind::TypeName
            | Kind::SName
            | Kind::BaseType
            | Kind::Void
            | Kind::Struct
            | Kind::Dots
            | Kind::Pragma
            | Kind::Module
            | Kind::RBrace
            | Kind::Hash
            | Kind::Stray
            | Kind::OpenStr
            | Kind::OpenChar
            | Kind::OpenComment
    ) || only_starts_definition(kind)
        || matches!(kind, Kind::If | Kind::For | Kind::While | Kind::Do | Kind::Return | Kind::With)
}

/// Keywords that start nothing but definitions.
fn only_starts_definition(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Use
            | Kind::Import
            | Kind::Export
            | Kind::Provide
            | Kind::Typedef
            | Kind::External
            | Kind::ObjDef
            | Kind::Inline
            | Kind::NoInline
            | Kind::Specialize
            | Kind::Nested
            | Kind::Class
    )
}

/// Whether a definition seems to start in the middle of another one, in the first column or, if `guess` says so,
/// anywhere at the beginning of a line.
fn starts_definition(list: &[Token], at: usize, guess: bool) -> bool {
    list[at].first_on_line && (guess || !list[at].space_before) && looks_like_definition(list, at)
}

/// A defining keyword, or a type and then a name with parentheses; neither can start anything inside a function.
pub(crate) fn looks_like_definition(list: &[Token], at: usize) -> bool {
    let kind = list[at].kind;
    if only_starts_definition(kind) {
        return true;
    }
    if !matches!(kind, Kind::BaseType | Kind::Void | Kind::Struct | Kind::TypeName) {
        return false;
    }
    let head = list[at + 1..].iter().position(|token| {
        matches!(token.kind, Kind::LParen | Kind::Semi | Kind::Assign | Kind::LBrace | Kind::RBrace | Kind::RParen)
    });
    head.is_some_and(|steps| steps > 0 && list[at + 1 + steps].kind == Kind::LParen)
}

fn close(list: &[Token], open: &mut Vec<usize>, kind: Kind) {
    let wanted = match kind {
        Kind::RParen => Kind::LParen,
        Kind::RBracket => Kind::LBracket,
        _ => Kind::LBrace,
    };
    if kind == Kind::RBrace {
        while open.pop().is_some_and(|i| list[i].kind != wanted) {}
    } else if open.last().is_some_and(|i| list[*i].kind == wanted) {
        open.pop();
    }
}

/// Ends a chunk in which brackets are still open.
fn abandon(list: &[Token], from: usize, upto: usize, open: &mut Vec<usize>, found: &mut Vec<Diagnostic>) -> Chunk {
    let braces: Vec<usize> = open.iter().copied().filter(|i| list[*i].kind == Kind::LBrace).collect();
    if let Some(first) = braces.first() {
        let report = SyntaxError::OpenBrace.at(list[*first].span);
        found.push(match list.get(upto) {
            Some(next) => report.with_label(next.span, "this looks like the start of the next definition"),
            None => report,
        });
    }
    open.clear();
    Chunk { from, upto, unclosed: braces.len() }
}

/// A `}` outside of everything. What stands between the last definition and it was probably meant to be inside.
fn stray_brace(list: &[Token], at: usize, chunks: &mut Vec<Chunk>, from: &mut usize, found: &mut Vec<Diagnostic>) {
    while chunks.last().is_some_and(|last| starts_like_statement(list[last.from].kind)) {
        chunks.pop();
    }
    let early = chunks.last().map(|last| last.upto - 1).filter(|end| list[*end].kind == Kind::RBrace);
    let report = SyntaxError::StrayBrace.at(list[at].span);
    found.push(match early {
        Some(early) => report.with_label(list[early].span, "the definition already ends here"),
        None => report,
    });
    *from = at + 1;
}

fn starts_like_statement(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Id
            | Kind::If
            | Kind::For
            | Kind::While
            | Kind::Do
            | Kind::Return
            | Kind::With
            | Kind::PlusPlus
            | Kind::MinusMinus
    )
}

/// The tokens of the statement around `at`, in the innermost block of `chunk`; nothing in a function's head.
///
/// `at` may be the closing brace of the block; the statement in front of it is the one then.
pub(crate) fn statement_around(list: &[Token], chunk: Chunk, at: usize) -> Option<(usize, usize)> {
    let block = innermost_block(list, chunk, at)?;
    let mut open: Vec<usize> = Vec::new();
    let mut from = block + 1;
    for i in block + 1..chunk.upto {
        let kind = list[i].kind;
        let next = list.get(i + 1).map(|token| token.kind);
        let mut ends = false;
        match kind {
            Kind::LParen | Kind::LBracket | Kind::LBrace => open.push(i),
            Kind::RParen | Kind::RBracket => close(list, &mut open, kind),
            Kind::RBrace => {
                if !open.iter().any(|i| list[*i].kind == Kind::LBrace) {
                    // The end of the block.
                    return (from < i && i >= at).then_some((from, i));
                }
                let opener = open.iter().rev().copied().find(|i| list[*i].kind == Kind::LBrace);
                close(list, &mut open, kind);
                let goes_on = next == Some(Kind::Else) || list[from].kind == Kind::Do && next == Some(Kind::While);
                ends = open.is_empty() && !goes_on && opener.is_some_and(|i| is_block(list, chunk, i));
            }
            Kind::Semi => {
                let in_for = open.first().is_some_and(|i| *i > 0 && list[*i - 1].kind == Kind::For);
                if !in_for && open.iter().all(|i| list[*i].kind != Kind::LBrace) {
                    open.clear();
                    ends = next != Some(Kind::Else);
                }
            }
            _ => {}
        }
        if ends {
            if i >= at {
                return Some((from, i + 1));
            }
            from = i + 1;
        }
    }
    (from < chunk.upto).then_some((from, chunk.upto))
}

/// The opening brace of the innermost statement block that `at` is in.
fn innermost_block(list: &[Token], chunk: Chunk, at: usize) -> Option<usize> {
    let mut open: Vec<usize> = Vec::new();
    for i in chunk.from..at.min(chunk.upto) {
        match list[i].kind {
            Kind::LParen | Kind::LBracket | Kind::LBrace => open.push(i),
            kind @ (Kind::RParen | Kind::RBracket | Kind::RBrace) => close(list, &mut open, kind),
            _ => {}
        }
    }
    open.into_iter().rev().find(|i| list[*i].kind == Kind::LBrace && is_block(list, chunk, *i))
}

/// Whether a `{` opens statements, not a comprehension, a with-loop, a record or a symbol set.
fn is_block(list: &[Token], chunk: Chunk, brace: usize) -> bool {
    let comprehension = match list.get(brace + 1).map(|token| token.kind) {
        Some(Kind::LBracket) => true,
        Some(Kind::Id) => list.get(brace + 2).is_some_and(|token| token.kind == Kind::Arrow),
        _ => false,
    };
    if comprehension || brace == chunk.from {
        return false;
    }
    match list[brace - 1].kind {
        Kind::RParen | Kind::Else | Kind::Do | Kind::Semi | Kind::LBrace | Kind::RBrace => true,
        Kind::With | Kind::SLit | Kind::All | Kind::Except => false,
        // The body behind conditions: no bracket is open around it.
        _ => {
            !list[chunk.from..brace].iter().any(|token| token.kind == Kind::LBrace) && follows_head(list, chunk, brace)
        }
    }
}

/// Whether a parameter list has been closed between the start of the chunk and the brace.
fn follows_head(list: &[Token], chunk: Chunk, brace: usize) -> bool {
    list[chunk.from..brace].iter().any(|token| token.kind == Kind::RParen)
}
