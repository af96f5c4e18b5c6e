//! `ravel fmt`: layout of SaC texts.
//!
//! A text becomes tokens of which nothing is lost ([`lossless`]), is cut into items ([`items`]), gets a shape ([`shape`], [`shapes`], [`expressions`]),
//! and by [`rules`] and [`layout`] a document, which is put on a [`page`]. At the end tokens and comments of the old text and of the new one are
//! compared ([`check`]): an item in which they differ stays as it was.
//!
//! ```
//! let tidy = ravel_format::format("int main(){return(1);}").expect("these are tokens");
//! assert_eq!(tidy.text, "int main() { return (1); }\n");
//! ```

#![forbid(unsafe_code)]

mod check;
mod classes;
mod diff;
mod expressions;
mod items;
mod layout;
mod lossless;
mod page;
mod rules;
mod shape;
mod shapes;

pub use check::same;
pub use classes::{Class, classes};
pub use diff::{edits, unified};
pub use lossless::NoToken;

use lossless::Lexed;
use page::Page;
use pretty::Arena;
use rules::{Rules, WIDTH};
use shape::Shape;
use std::ops::Range;

/// A text after formatting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formatted {
    pub text: String,
    /// What stays as it is, and why, in the order of the text.
    pub notes: Vec<Note>,
}

/// Something that is left alone, by its place; lines and columns begin with 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub line: usize,
    pub column: usize,
    pub reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The branches of an `#if` differ in their brackets.
    BranchesDiffer,
    /// Brackets are not closed.
    NoEnd,
    /// It is neither a definition nor a statement that is known.
    NoShape,
    /// A region without formatting does not begin and end on one level.
    RegionCutsBrackets,
    /// A bug: tokens or comments would have changed.
    WouldChange,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Reason::BranchesDiffer => "stays as it is: the branches of an #if open or close different brackets",
            Reason::NoEnd => "stays as it is: brackets are not closed",
            Reason::NoShape => "stays as it is: this is no statement or definition that is known",
            Reason::RegionCutsBrackets => {
                "the file stays as it is: this region has brackets that open or close outside of it"
            }
            Reason::WouldChange => {
                "stays as it is: its tokens would change; this is a bug in Ravel, please report it with the file"
            }
        })
    }
}

/// Why a text cannot be formatted: something in it is no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub line: usize,
    pub column: usize,
    pub what: NoToken,
}

/// Lays out a text. What it means to a compiler stays the same, and so do its comments.
///
/// # Errors
/// The text has something that is no token.
pub fn format(text: &str) -> Result<Formatted, Unreadable> {
    let windows = text.find('\n').is_some_and(|end| text[..end].ends_with('\r'));
    let unix;
    let text = if text.contains("\r\n") {
        unix = text.replace("\r\n", "\n");
        &unix
    } else {
        text
    };
    let mut formatted = format_lines(text)?;
    if windows {
        formatted.text = formatted.text.replace('\n', "\r\n");
    }
    Ok(formatted)
}

fn format_lines(text: &str) -> Result<Formatted, Unreadable> {
    let mut lexed = lossless::lex(text).map_err(|(at, what)| {
        let (line, column) = lossless::place(text, at);
        Unreadable { line, column, what }
    })?;
    if let Err(note) = items::close_regions(&mut lexed) {
        return Ok(Formatted { text: text.to_string(), notes: vec![note] });
    }
    let quoting = shapes::quoting_macros(&lexed);
    let mut notes = Vec::new();
    let mut page = Page::new(&lexed);
    let mut at = 0;
    for item in items::items(&lexed) {
        let mut note = |token: usize, reason| {
            let (line, column) = lexed.place(lexed.tokens[token].start);
            notes.push(Note { line, column, reason });
        };
        debug_assert_eq!(at, item.tokens.start);
        at = item.tokens.end;
        let (shape, unknown) = match item.stays {
            Some(reason) => {
                note(item.tokens.start, reason);
                (None, Vec::new())
            }
            None => {
                let (shape, unknown) = shapes::item(&lexed, item.tokens.clone(), &quoting);
                if shape.is_err() {
                    note(item.tokens.start, Reason::NoShape);
                }
                (shape.ok(), unknown)
            }
        };
        let start = page.save();
        if let Some(shape) = shape {
            print(&mut page, &lexed, item.tokens.start, What::Item(&shape));
            // Of a directive that hides text the end stands in another item.
            let is_line = matches!(shape, Shape::Line(_));
            if is_line || check::item_is_same(&lexed, item.tokens.clone(), page.since(&start)) {
                unknown.into_iter().for_each(|token| note(token, Reason::NoShape));
                continue;
            }
            note(item.tokens.start, Reason::WouldChange);
            page.restore(&start);
        }
        print(&mut page, &lexed, item.tokens.start, What::AsItIs(item.tokens.clone()));
    }
    print(&mut page, &lexed, at, What::Rest);
    let bom = if text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    let new = format!("{bom}{}", page.finish());
    // Items were compared one by one; what stands between them was not.
    if !check::same(text, &new) {
        notes.push(Note { line: 1, column: 1, reason: Reason::WouldChange });
        return Ok(Formatted { text: text.to_string(), notes });
    }
    Ok(Formatted { text: new, notes })
}

/// What goes onto the page.
enum What<'a> {
    Item(&'a Shape),
    AsItIs(Range<usize>),
    /// What follows the last item.
    Rest,
}

/// Puts something that begins with a token onto the page.
fn print(page: &mut Page<'_>, lexed: &Lexed<'_>, at: usize, what: What<'_>) {
    let arena = Arena::new();
    let mut rules = Rules { arena: &arena, lexed, at, tight: false, are_parameters: false };
    let laid = match what {
        What::Item(shape) => rules.item(shape),
        What::AsItIs(tokens) => rules.item_as_it_is(tokens.start, tokens.end),
        What::Rest => rules.rest(),
    };
    // A page takes everything.
    let _ = laid.doc.into_doc().render_raw(WIDTH, page);
}
