//! Whether two texts are the same to a compiler and to a reader: their tokens and comments, in their order.

use crate::items::close_regions;
use crate::lossless::{Kind, Lexed, lex};
use std::ops::Range;

/// Whether what was written for some tokens, with the comments in front of them, has the same tokens and comments.
pub(crate) fn item_is_same(old: &Lexed<'_>, tokens: Range<usize>, new: &str) -> bool {
    // The gap in front of an item may begin on the line of the one before.
    let Ok(mut new) = lex(new) else { return false };
    if close_regions(&mut new).is_err() {
        return false;
    }
    let count = tokens.len();
    new.tokens.len() == count + 1
        && tokens.zip(0..count).all(|(before, after)| same_token(old, before, &new, after))
        && new.comments_before(count).is_empty()
}

/// Whether two texts have the same tokens and comments.
pub fn same(old: &str, new: &str) -> bool {
    let (Ok(old), Ok(new)) = (lex(old), lex(new)) else { return false };
    old.tokens.len() == new.tokens.len() && (0..old.tokens.len()).all(|token| same_token(&old, token, &new, token))
}

fn same_token(old: &Lexed<'_>, before: usize, new: &Lexed<'_>, after: usize) -> bool {
    let (was, is) = (&old.tokens[before], &new.tokens[after]);
    let comments = |lexed: &Lexed<'_>, token: usize| {
        let (from, to) = lexed.tokens[token].comments;
        from..to
    };
    let (were, are) = (comments(old, before), comments(new, after));
    let both_pieces =
        |lexed: &Lexed<'_>, token: usize| token > 0 && is_piece(lexed, token) && is_piece(lexed, token - 1);
    // Operators that stand together may be one that the user defined, except those that stand in front of operands.
    let joined = both_pieces(new, after) && !is.spaced && was.spaced;
    let parted = both_pieces(old, before) && !was.spaced && is.spaced && !is_prefix(old.text_of(before));
    old.text_of(before) == new.text_of(after)
        && were.len() == are.len()
        && were.zip(are).all(|(was, is)| same_comment(old.comment_text(was), new.comment_text(is)))
        && !joined
        && !parted
}

fn is_piece(lexed: &Lexed<'_>, token: usize) -> bool {
    matches!(lexed.tokens[token].kind, Kind::Operator | Kind::Arrow | Kind::Assign)
}

fn is_prefix(operator: &str) -> bool {
    matches!(operator, "-" | "+" | "!" | "~" | "++" | "--")
}

/// Comments move with the code, so that blanks at the ends of their lines do not count.
fn same_comment(old: &str, new: &str) -> bool {
    old.lines().count() == new.lines().count()
        && old.lines().zip(new.lines()).all(|(old, new)| old.trim() == new.trim())
}
