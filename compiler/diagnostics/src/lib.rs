//! Diagnostics: plain values that stages build, and the only place that renders them.
//!
//! A stage makes [`Diagnostic`] values and hands them up; `cli` prints what [`render`] returns. Each has a [`Code`] of one
//! table, labels at places of the source, and, where a text would mend it, a [`Fix`]: edits that a command or an editor applies.

#![forbid(unsafe_code)]

mod codes;
mod lints;
mod render;
mod suggest;

pub use codes::Code;
pub use lints::{Level, Levels, Lint, lints, lints_named};
pub use render::{Format, excerpt, render, render_all, short};
pub use suggest::{did_you_mean, is_slip};

use ravel_source::{SourceMap, Span};

/// How bad it is; errors stop the pipeline after the stage that found them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    Error,
    Warning,
    Note,
}

/// A fact about a place in the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    pub span: Span,
    pub message: String,
    /// Whether this is the place of the error itself; others are where the facts behind it came from.
    pub primary: bool,
}

/// Edits that remove a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// What it does, as the help says it.
    pub title: String,
    /// Whether the program that comes out is what its author meant, as far as anybody can know: such fixes are applied unseen.
    pub safe: bool,
    /// Places, which do not overlap, and the text that takes the place of each.
    pub edits: Vec<(Span, String)>,
}

/// One problem. The title says what is wrong, labels are facts, notes are rules, help is something to type.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: Code,
    /// Lower case, no full stop.
    pub title: String,
    /// Where the report stands, if that is not its first primary label.
    pub place: Option<Span>,
    pub labels: Vec<Label>,
    pub notes: Vec<String>,
    pub help: Option<String>,
    /// What can be done about it, the best first.
    pub fixes: Vec<Fix>,
    /// The instances of a function that have it, as `f(double[4])`, if it depends on the arguments.
    pub instances: Vec<String>,
}

impl Diagnostic {
    /// A problem without any place yet.
    pub fn new(severity: Severity, code: Code, title: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity,
            code,
            title: title.into(),
            place: None,
            labels: Vec::new(),
            notes: Vec::new(),
            help: None,
            fixes: Vec::new(),
            instances: Vec::new(),
        }
    }

    pub fn error(code: Code, title: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, title)
    }

    pub fn warning(code: Code, title: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, title)
    }

    /// Adds a primary label; an empty message underlines without text.
    #[must_use]
    pub fn at(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, message: message.into(), primary: true });
        self
    }

    /// Adds a secondary label.
    #[must_use]
    pub fn with_label(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, message: message.into(), primary: false });
        self
    }

    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Offers edits that mend it; their title becomes the help if there is none.
    #[must_use]
    pub fn with_fix(mut self, fix: Fix) -> Diagnostic {
        if self.help.is_none() {
            self.help = Some(fix.title.clone());
        }
        self.fixes.push(fix);
        self
    }

    /// Offers to put a text in the place of `span`; that is what its author meant.
    #[must_use]
    pub fn with_safe_edit(self, title: impl Into<String>, span: Span, text: impl Into<String>) -> Diagnostic {
        self.with_fix(Fix { title: title.into(), safe: true, edits: vec![(span, text.into())] })
    }

    /// Offers to put a text in the place of `span`; whether that is meant only the author knows.
    #[must_use]
    pub fn with_edit(self, title: impl Into<String>, span: Span, text: impl Into<String>) -> Diagnostic {
        self.with_fix(Fix { title: title.into(), safe: false, edits: vec![(span, text.into())] })
    }

    /// Offers the name that is spelled almost like the one at the end of `span`. What a macro made cannot be replaced there.
    #[must_use]
    pub fn with_name_meant(self, span: Span, name: &str, meant: &str) -> Diagnostic {
        let title = format!("did you mean `{meant}`?");
        let is_qualified = (span.end - span.start) as usize > name.len() + "::".len();
        if (span.end - span.start) as usize != name.len() && !is_qualified {
            return self.with_help(title);
        }
        let place = Span { start: span.end - name.len() as u32, ..span };
        if is_slip(name, meant) {
            self.with_safe_edit(title, place, meant)
        } else {
            self.with_edit(title, place, meant)
        }
    }

    /// Where the report stands: its own place, else the first primary label, else the first label, else [`Span::NONE`].
    pub fn span(&self) -> Span {
        if let Some(place) = self.place {
            return place;
        }
        let primary = self.labels.iter().find(|label| label.primary && !label.span.is_none());
        primary.or_else(|| self.labels.first()).map_or(Span::NONE, |label| label.span)
    }

    /// ``in 3 instances: `f(double[4])`, ...``, if there are several.
    pub fn instances_note(&self) -> Option<String> {
        const MOST: usize = 3;
        let count = self.instances.len();
        let shown: Vec<String> = self.instances.iter().take(MOST).map(|one| format!("`{one}`")).collect();
        let more = if count > MOST { ", …" } else { "" };
        (count > 1).then(|| format!("in {count} instances: {}{more}", shown.join(", ")))
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Everything that a run has reported so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    pub fn has_errors(&self) -> bool {
        self.list.iter().any(Diagnostic::is_error)
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// A report by its place in the order of reporting, for what only a caller knows to add.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Diagnostic> {
        self.list.get_mut(index)
    }

    /// In the order of reporting.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// Ordered by file, then position, exact repetitions removed. Reports without a place come last.
    #[must_use]
    pub fn into_sorted(mut self, map: &SourceMap) -> Vec<Diagnostic> {
        self.list.sort_by_key(|report| map.position(report.span()));
        self.list.dedup();
        self.list
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, iter: T) {
        self.list.extend(iter);
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl From<Vec<Diagnostic>> for Diagnostics {
    fn from(list: Vec<Diagnostic>) -> Diagnostics {
        Diagnostics { list }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ravel_source::FileId;

    #[test]
    fn sorted_by_file_then_position_without_repetitions() {
        let at = |file, start| Diagnostic::error(Code::BadToken, "x").at(Span::new(FileId(file), start, start + 1), "");
        let mut map = SourceMap::default();
        map.add("a", "");
        map.add("b", "");
        let mut all = Diagnostics::new();
        all.extend([Diagnostic::error(Code::BadToken, "nowhere"), at(1, 0), at(0, 5), at(0, 2), at(0, 5)]);
        let sorted = all.into_sorted(&map);
        assert_eq!(sorted[..3], [at(0, 2), at(0, 5), at(1, 0)]);
        assert_eq!(sorted[3].title, "nowhere");
    }
}
