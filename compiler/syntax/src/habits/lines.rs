//! What ends a line: comments, and the `;` that should stand there.

use super::error;
use super::view::{View, behind};
use crate::tokens::Kind;
use ravel_diagnostics::{Diagnostic, Fix};

/// `x = 0;  # comment`
pub(super) fn hash_comment(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| token.kind == Kind::Hash)?;
    // All of the definition at once: a statement that begins with one comment may well go on to the next.
    let hashes = (view.chunk.from..view.chunk.upto).filter(|at| view.kind(*at) == Some(Kind::Hash));
    let edits = hashes.filter_map(|at| Some((view.span(at, at + 1)?, "//".to_string()))).collect();
    let fix = Fix { title: "`//` for `#`".to_string(), safe: true, edits };
    Some(error("comments begin with `//`, not with `#`").at(found.span, "not a comment").with_fix(fix))
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
    let comments = &view.tokens.comments;
    let hidden = comments.iter().find(|comment| {
        comment.file == previous.span.file && comment.start >= previous.span.end && comment.end <= found.span.start
    });
    if let Some(comment) = hidden.filter(|_| view.ends_operand(view.at - 1)) {
        let stroke = ravel_source::Span { end: comment.start + 2, ..*comment };
        return Some(
            error("the `;` of this statement stands in a comment")
                .at(stroke, "`//` begins a comment")
                .with_note("`/` of two values of `int` drops the fraction already")
                .with_safe_edit("`/` for `//`", stroke, "/"),
        );
    }
    let place = behind(previous.span);
    let mut report = error("expected `;` behind this").at(previous.span, "`;` is missing behind this");
    report.place = Some(place);
    Some(report.with_safe_edit("add `;`", place, ";"))
}
