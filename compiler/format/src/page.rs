//! The page that documents are rendered to.
//!
//! Documents say where a line may end. What has no width of its own, or depends on where it stands, is written here: comments, text that stays as it is,
//! empty lines. Blanks at the end of lines and lines of nothing never get onto the page.

use crate::lossless::Lexed;
use pretty::{Render, RenderAnnotated};

/// What a document asks the page for; it counts as no width.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    /// One empty line before the next.
    EmptyLine,
    /// A comment behind code, on its line.
    Trailing(usize),
    /// A comment.
    Comment(usize),
    /// Text with its old indentation, from a token to behind another one.
    Verbatim(usize, usize),
    /// Text whose lines move with the first one.
    Moved(usize, usize),
    /// What follows stands on the line of a `}` that stands alone on it.
    JoinBrace,
}

/// A comment behind code, to be aligned with its neighbours.
struct Trailing {
    /// Where the code ends, in bytes of the page.
    at: usize,
    /// Where the comment stood.
    column: usize,
}

pub(crate) struct Page<'a> {
    lexed: &'a Lexed<'a>,
    text: String,
    line_start: usize,
    empty_line: bool,
    join_brace: bool,
    /// How many blanks of indentation were not written.
    joined: usize,
    trailing: Vec<Trailing>,
}

/// A state to go back to.
pub(crate) struct Saved(usize, usize, usize);

impl<'a> Page<'a> {
    pub(crate) fn new(lexed: &'a Lexed<'a>) -> Page<'a> {
        let text = String::with_capacity(lexed.text.len() + lexed.text.len() / 8);
        Page { lexed, text, line_start: 0, empty_line: false, join_brace: false, joined: 0, trailing: Vec::new() }
    }

    pub(crate) fn save(&self) -> Saved {
        Saved(self.text.len(), self.line_start, self.trailing.len())
    }

    pub(crate) fn restore(&mut self, saved: &Saved) {
        self.text.truncate(saved.0);
        self.line_start = saved.1;
        self.trailing.truncate(saved.2);
        (self.empty_line, self.join_brace) = (false, false);
    }

    /// What was written since.
    pub(crate) fn since(&self, saved: &Saved) -> &str {
        &self.text[saved.0..]
    }

    fn line(&self) -> &str {
        &self.text[self.line_start..]
    }

    fn column(&self) -> usize {
        self.line().chars().count()
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if let Some(end) = text.rfind('\n') {
            self.line_start = self.text.len() - (text.len() - end - 1);
        }
    }

    fn trim_line(&mut self) {
        let length = self.line_start + self.line().trim_end_matches(' ').len();
        self.text.truncate(length);
    }

    fn new_line(&mut self) {
        if self.join_brace {
            self.join_brace = false;
            if self.line().trim_start() == "}" {
                self.text.push(' ');
                self.joined = usize::MAX;
                return;
            }
        }
        if self.line().trim().is_empty() {
            self.text.truncate(self.line_start);
        } else {
            self.trim_line();
            self.text.push('\n');
        }
        if std::mem::take(&mut self.empty_line) && !self.text.is_empty() {
            self.text.push('\n');
        }
        self.line_start = self.text.len();
    }

    /// Writes a comment so that its lines keep their places relative to the first; those that begin with a star stand below its own.
    fn comment(&mut self, comment: usize) {
        let text = self.lexed.comment_text(comment);
        if self.lexed.comments[comment].to_line_end {
            // A backslash followed by blanks goes on to no further line.
            let trimmed = text.trim_end();
            self.push(if trimmed.ends_with('\\') { text } else { trimmed });
            return;
        }
        let old = old_column(self.lexed.text, self.lexed.comments[comment].start);
        let new = self.column();
        let starred = text.lines().skip(1).all(|line| line.trim_start().starts_with('*'));
        for (number, line) in text.split('\n').enumerate() {
            let trimmed = line.trim();
            if number == 0 {
                self.push(line.trim_end());
                continue;
            }
            self.push("\n");
            if !trimmed.is_empty() {
                let indent = old_column(line, line.len() - line.trim_start().len());
                let to = if starred { new + 1 } else { (indent + new).saturating_sub(old) };
                self.push(&" ".repeat(to));
                self.push(trimmed);
            }
        }
    }

    fn verbatim(&mut self, from: usize, to: usize, moves: bool) {
        let (lexed, start, end) = (self.lexed, self.lexed.tokens[from].start, self.lexed.tokens[to - 1].end);
        let old_start = lexed.text[..start].rfind('\n').map_or(0, |end| end + 1);
        let indent = &lexed.text[old_start..start];
        let first_on_line = indent.trim_matches([' ', '\t', '\u{feff}']).is_empty();
        if !moves {
            if self.line().trim().is_empty() {
                self.text.truncate(self.line_start);
                if first_on_line {
                    self.push(indent.trim_start_matches('\u{feff}'));
                }
            }
            let text = &lexed.text[start..end];
            self.push(text);
            // A macro that goes on to an empty line, which is needed.
            if text.ends_with('\n') {
                self.push("\n");
            }
            return;
        }
        let (old, new) = (old_column(lexed.text, start), self.column());
        for (number, line) in lexed.text[start..end].split('\n').enumerate() {
            if number > 0 {
                self.push("\n");
                let trimmed = line.trim_start();
                if trimmed.starts_with('#') {
                    self.push(line.trim_end());
                    continue;
                }
                if !trimmed.is_empty() {
                    let indent = old_column(line, line.len() - trimmed.len());
                    self.push(&" ".repeat((indent + new).saturating_sub(old)));
                }
            }
            self.push(if number > 0 { line.trim_start() } else { line });
        }
    }

    /// The finished text: comments behind code that stood below one another do so again.
    pub(crate) fn finish(mut self) -> String {
        self.trim_line();
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let code_end = |trailing: &Trailing| {
            let line_start = self.text[..trailing.at].rfind('\n').map_or(0, |end| end + 1);
            self.text[line_start..trailing.at].chars().count()
        };
        let mut out = String::with_capacity(self.text.len() + self.text.len() / 16);
        let (mut copied, mut at) = (0, 0);
        while at < self.trailing.len() {
            let mut end = at + 1;
            while end < self.trailing.len()
                && self.trailing[end].column == self.trailing[at].column
                && self.text[self.trailing[end - 1].at..self.trailing[end].at].matches('\n').count() == 1
            {
                end += 1;
            }
            let column = self.trailing[at..end].iter().map(code_end).max().unwrap_or(0);
            for trailing in &self.trailing[at..end] {
                out.push_str(&self.text[copied..trailing.at]);
                out.push_str(&" ".repeat(column - code_end(trailing)));
                copied = trailing.at;
            }
            at = end;
        }
        out.push_str(&self.text[copied..]);
        out
    }
}

/// The column of a byte, from 0, where tabs lead to multiples of eight.
fn old_column(text: &str, at: usize) -> usize {
    let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[line_start..at]
        .chars()
        .filter(|c| *c != '\u{feff}')
        .fold(0, |column, c| if c == '\t' { column / 8 * 8 + 8 } else { column + 1 })
}

impl Render for Page<'_> {
    type Error = std::fmt::Error;

    fn write_str(&mut self, text: &str) -> Result<usize, Self::Error> {
        if text == "\n" {
            self.new_line();
        } else if self.joined > 0 {
            // The indentation that follows a line end; it may come in pieces.
            let blanks = text.len() - text.trim_start_matches(' ').len();
            self.joined = if blanks == text.len() { self.joined } else { 0 };
            self.push(&text[blanks..]);
        } else {
            self.push(text);
        }
        Ok(text.len())
    }

    fn fail_doc(&self) -> Self::Error {
        std::fmt::Error
    }
}

impl RenderAnnotated<'_, Mark> for Page<'_> {
    fn push_annotation(&mut self, mark: &Mark) -> Result<(), Self::Error> {
        match *mark {
            Mark::EmptyLine => self.empty_line = true,
            Mark::Trailing(comment) => {
                self.trim_line();
                if !self.line().is_empty() {
                    let column = old_column(self.lexed.text, self.lexed.comments[comment].start);
                    self.trailing.push(Trailing { at: self.text.len(), column });
                    self.text.push(' ');
                }
                self.comment(comment);
            }
            Mark::Comment(comment) => self.comment(comment),
            Mark::Verbatim(from, to) => self.verbatim(from, to, false),
            Mark::Moved(from, to) => self.verbatim(from, to, true),
            Mark::JoinBrace => self.join_brace = true,
        }
        Ok(())
    }

    fn pop_annotation(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
