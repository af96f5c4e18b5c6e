//! What ends a line: comments, and the `;` that should stand there.

use super::error;
use super::view::{View, behind};
use crate::tokens::{Kind, Texts, lex};
use ravel_diagnostics::{Diagnostic, Fix};
use ravel_source::{FileId, Span};

/// `x = 0;  # comment`
pub(super) fn hash_comment(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| token.kind == Kind::Hash)?;
    // All of the definition at once: a statement that begins with one comment may well go on to the next.
    let hashes = (view.chunk.from..view.chunk.upto).filter(|at| view.kind(*at) == Some(Kind::Hash));
    let edits = hashes.filter_map(|at| Some((view.span(at, at + 1)?, "//".to_string()))).collect();
    let fix = Fix { title: "`//` for `#`".to_string(), safe: true, edits };
    Some(error("comments begin with `//`, not with `#`").at(found.span, "not a comment").with_fix(fix))
}

/// `n // 2`: the rest of the line was meant as code.
pub(crate) fn floor_division(view: &View<'_>) -> Option<Diagnostic> {
    let previous = view.token(view.at.checked_sub(1)?).filter(|_| view.ends_operand(view.at - 1))?;
    let next = view.tokens.list.get(view.at);
    let follows = |span: &Span| span.file == previous.span.file && span.start >= previous.span.end;
    let (comment, text) = view.tokens.comments.iter().find(|(span, _)| follows(span))?;
    if next.is_some_and(|next| next.span.file != comment.file || next.span.start < comment.end) {
        return None;
    }
    let text = view.tokens.texts.get(*text);
    let length = divisor(view, text)?;
    let strokes = Span { end: comment.start + 2, ..*comment };
    let report =
        error("`//` begins a comment, and does not divide").at(strokes, "the rest of the line is no code").with_note(
            "`/` of two values of `int` drops the fraction already, `floor_divide` of module Special rounds down",
        );
    let goes_on = |kind| {
        use Kind::*;
        matches!(kind, Id | Num | OtherNum | Dot | Star | MulOp | LParen | RParen | LBracket | RBracket)
    };
    let mut from = view.start_of(view.at, |kind| !goes_on(kind));
    if view.kind(from.wrapping_sub(1)) == Some(Kind::Minus) && !view.ends_operand(from.wrapping_sub(2)) {
        from -= 1;
    }
    let is_factor = matches!(view.kind(from.wrapping_sub(1)), Some(Kind::Star | Kind::MulOp));
    let quoted = view.text(from, view.at).zip(view.whole(from, view.at)).filter(|_| !is_factor);
    let Some((dividend, place)) = quoted else {
        return Some(report.with_help("`floor_divide(a, b)` for `a // b`"));
    };
    let divisor = text[..length].trim();
    let place = Span { end: strokes.end + length as u32, ..place };
    let is_count = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if is_count(&dividend) && is_count(divisor) {
        let text = format!("{dividend} / {divisor}");
        return Some(report.with_safe_edit(format!("`{text}`"), place, text));
    }
    let call = format!("floor_divide({dividend}, {divisor})");
    Some(view.with_library_edit(report, (place, call), ("Special", "floor_divide"), true))
}

/// The length of the operand that a text begins with, if code goes on behind it and all its names are names of the definition.
fn divisor(view: &View<'_>, text: &str) -> Option<usize> {
    let mut texts = Texts::new();
    let mut list = Vec::new();
    lex(FileId(0), text, &mut texts, &mut list);
    let kind = |at: usize| list.get(at).map(|token| token.kind);
    let mut at = usize::from(kind(0) == Some(Kind::Minus));
    let first = at;
    let matching = |from: usize| {
        let mut depth = 0usize;
        for (k, token) in list.iter().enumerate().skip(from) {
            match token.kind {
                Kind::LParen | Kind::LBracket => depth += 1,
                Kind::RParen | Kind::RBracket => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                return Some(k + 1);
            }
        }
        None
    };
    at = match kind(at)? {
        Kind::Id | Kind::Num => at + 1,
        Kind::LParen => matching(at)?,
        _ => return None,
    };
    while let Some(next) = kind(at) {
        at = match next {
            Kind::LParen | Kind::LBracket if kind(at - 1) != Some(Kind::Num) => matching(at)?,
            Kind::Dot if kind(at + 1) == Some(Kind::Id) => at + 2,
            _ => break,
        };
    }
    let closes = |opening| view.opener(view.at).and_then(|open| view.kind(open)) == Some(opening);
    let goes_on = match kind(at)? {
        Kind::RParen => closes(Kind::LParen),
        Kind::RBracket => closes(Kind::LBracket),
        Kind::Semi | Kind::Comma | Kind::Question | Kind::Colon | Kind::AndAnd | Kind::OrOr | Kind::Bar => true,
        kind => kind.is_operator() || kind == Kind::LineComment,
    };
    let own = &view.tokens.list[view.chunk.from..view.chunk.upto];
    let is_known = |word: &str| own.iter().any(|token| &**view.tokens.texts.get(token.text) == word);
    let names = list[first..at].iter().filter(|token| token.kind == Kind::Id);
    let all_known = names.map(|token| texts.get(token.text)).all(|word| is_known(word));
    let length = list[at - 1].span.end as usize;
    (goes_on && all_known).then_some(length)
}

/// A statement whose end is missing: said of the place where it should stand, not of the next line.
pub(super) fn missing_semicolon(view: &View<'_>) -> Option<Diagnostic> {
    let previous = view.token(view.at.checked_sub(1)?)?;
    let found = view.token(view.at)?;
    let statement_goes_on = matches!(
        found.kind,
        Kind::Id
            | Kind::Return
            | Kind::If
            | Kind::For
            | Kind::While
            | Kind::Do
            | Kind::With
            | Kind::RBrace
            | Kind::BaseType
            | Kind::Struct
            | Kind::TypeName
            | Kind::PlusPlus
            | Kind::MinusMinus
            | Kind::Use
            | Kind::Import
    );
    let ends_line = found.first_on_line || found.kind == Kind::RBrace;
    if !view.has(";") || !ends_line || !statement_goes_on || previous.span.file != found.span.file {
        return None;
    }
    let place = behind(previous.span);
    let mut report = error("expected `;` behind this").at(previous.span, "`;` is missing behind this");
    report.place = Some(place);
    Some(report.with_safe_edit("add `;`", place, ";"))
}
