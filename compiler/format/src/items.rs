//! A file cut into its items: definitions, declarations, directives, and what stays as it is.
//!
//! Items end where brackets balance. Of the branches of an `#if` the first one counts; a definition whose branches differ in their brackets cannot be
//! laid out, for no single reading of it has a shape.

use crate::lossless::{Kind, Lexed, Token};
use crate::{Note, Reason};
use std::ops::Range;

pub(crate) struct Item {
    /// Of tokens.
    pub(crate) tokens: Range<usize>,
    /// Why it stays as it is.
    pub(crate) stays: Option<Reason>,
}

/// Makes one token of each region between `// fmt: off` and `// fmt: on`.
///
/// # Errors
/// A region in which brackets do not balance.
pub(crate) fn close_regions(lexed: &mut Lexed<'_>) -> Result<(), Note> {
    let marks = |lexed: &Lexed<'_>, comment: usize, word: &str| {
        let text = lexed.comment_text(comment);
        let inner = text.strip_prefix("//").or_else(|| text.strip_prefix("/*")?.strip_suffix("*/"));
        let own_line = lexed.comments[comment].lines > 0 || lexed.comments[comment].start == 0;
        own_line && inner.and_then(|inner| inner.trim().strip_prefix("fmt:")).is_some_and(|what| what.trim() == word)
    };
    let mut comment = 0;
    while comment < lexed.comments.len() {
        if !marks(lexed, comment, "off") {
            comment += 1;
            continue;
        }
        let on = (comment + 1..lexed.comments.len()).find(|later| marks(lexed, *later, "on"));
        let start = lexed.comments[comment].start;
        let end = on.map_or(lexed.text.trim_end().len(), |on| lexed.comments[on].end);
        let first = lexed.tokens.partition_point(|token| token.start < start);
        // The end of the file stays.
        let behind = lexed.tokens.partition_point(|token| token.start < end).min(lexed.tokens.len() - 1);
        if depth_of(lexed, first..behind) != Some(0) {
            let (line, column) = lexed.place(start);
            return Err(Note { line, column, reason: Reason::RegionCutsBrackets });
        }
        let from = lexed.tokens[first].comments.0;
        let last = on.map_or(lexed.comments.len(), |on| on + 1);
        let lines = lexed.comments[comment].lines;
        let raw = Token { kind: Kind::Raw, start, end, lines, spaced: true, comments: (from, comment) };
        // The next token begins behind the region: what is in front of it has gone into the region.
        let next = &mut lexed.tokens[behind];
        next.comments.0 = last.max(next.comments.0);
        next.spaced = true;
        lexed.tokens.splice(first..behind, [raw]);
        comment = last;
    }
    Ok(())
}

/// How deep in brackets a range ends; nothing if it closes brackets of others.
fn depth_of(lexed: &Lexed<'_>, tokens: Range<usize>) -> Option<usize> {
    let mut depth = 0usize;
    for token in &lexed.tokens[tokens] {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    Some(depth)
}

/// An open `#if`.
struct Branches {
    /// In brackets, at the `#if`.
    depth: usize,
    /// Where the first branch ended.
    first: Option<usize>,
    differ: bool,
}

/// The word behind the `#` of a directive.
pub(crate) fn directive_word(text: &str) -> &str {
    let rest = text.trim_start_matches('#').trim_start();
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    &rest[..end]
}

/// Cuts a file into items.
pub(crate) fn items(lexed: &Lexed<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    let last = lexed.tokens.len() - 1;
    let mut at = 0;
    while at < last {
        let (end, stays) = item_end(lexed, at, last);
        items.push(Item { tokens: at..end, stays });
        at = end;
    }
    items
}

/// Words that begin what ends with a semicolon, whatever braces it has.
const DECLARATIONS: [&str; 10] =
    ["module", "class", "use", "import", "export", "provide", "typedef", "objdef", "classtype", "external"];

fn item_end(lexed: &Lexed<'_>, start: usize, last: usize) -> (usize, Option<Reason>) {
    let kind = |at: usize| lexed.tokens[at].kind;
    if matches!(kind(start), Kind::Directive | Kind::Raw) {
        return (start + 1, None);
    }
    if let Some(end) = macro_call(lexed, start, last) {
        return (end, None);
    }
    let is_struct = lexed.text_of(start) == "struct" && start + 2 < last && lexed.text_of(start + 2) == "{";
    let ends_with_semicolon = is_struct || DECLARATIONS.contains(&lexed.text_of(start));
    let (mut depth, mut stays) = (0usize, None);
    // Whether a branch held the end of the item.
    let mut ended = false;
    let mut open: Vec<Branches> = Vec::new();
    let mut at = start;
    while at < last {
        match kind(at) {
            Kind::Directive => match directive_word(lexed.text_of(at)) {
                word if word.starts_with("if") => open.push(Branches { depth, first: None, differ: false }),
                "else" | "elif" => {
                    if let Some(branches) = open.last_mut() {
                        branches.differ |= *branches.first.get_or_insert(depth) != depth;
                        depth = branches.depth;
                    }
                }
                "endif" => {
                    if let Some(branches) = open.pop() {
                        let first = branches.first.unwrap_or(branches.depth);
                        if branches.differ || first != depth || first != branches.depth {
                            stays = Some(Reason::BranchesDiffer);
                        }
                        depth = branches.first.unwrap_or(depth);
                    }
                    if ended && open.is_empty() && depth == 0 {
                        return (at + 1, Some(Reason::BranchesDiffer));
                    }
                }
                _ => {}
            },
            Kind::Open => depth += 1,
            Kind::Close => {
                depth = depth.saturating_sub(1);
                let text = lexed.text_of(at);
                let closes_body = text == "}" && depth == 0 && !ends_with_semicolon;
                if closes_body && open.is_empty() {
                    return (at + 1, stays);
                }
                ended |= closes_body;
            }
            Kind::Semi if depth == 0 && open.is_empty() => return (at + 1, stays),
            Kind::Semi if depth == 0 => ended = true,
            // Others never end an item.
            Kind::Raw if depth == 0 => return (at.max(start + 1), Some(Reason::NoShape)),
            _ => {}
        }
        at += 1;
    }
    (last, Some(stays.unwrap_or(Reason::NoEnd)))
}

/// Where a call of a macro that stands for definitions ends: a name with arguments on lines of its own, before what cannot go on with it.
fn macro_call(lexed: &Lexed<'_>, start: usize, last: usize) -> Option<usize> {
    if lexed.tokens[start].kind != Kind::Word || start + 1 >= last || lexed.text_of(start + 1) != "(" {
        return None;
    }
    let mut depth = 0;
    for at in start + 1..last {
        match lexed.tokens[at].kind {
            Kind::Open => depth += 1,
            Kind::Close => depth -= 1,
            Kind::Directive | Kind::Raw => return None,
            _ => {}
        }
        if depth == 0 {
            let goes_on = !lexed.breaks_before(at + 1) || matches!(lexed.text_of(at + 1), "{" | "|" | ";" | ",");
            return (at + 1 == last || !goes_on).then_some(at + 1);
        }
    }
    None
}
