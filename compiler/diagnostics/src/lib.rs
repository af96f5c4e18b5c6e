//! Diagnostics: plain values that stages build, and the only place that renders them.
//!
//! A stage turns its error enum into [`Diagnostic`] values and hands them up; `cli` prints what [`render`] returns.
//! Codes are stable: `E` and four digits, the first two of which name the stage (`E01` syntax).

#![forbid(unsafe_code)]

mod render;

pub use render::render;

use ravel_source::Span;

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

/// One problem. The title says what is wrong, labels are facts, notes are rules, help is something to type.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: &'static str,
    /// Lower case, no full stop.
    pub title: String,
    /// The first primary label decides where the report stands.
    pub labels: Vec<Label>,
    pub notes: Vec<String>,
    pub help: Option<String>,
}

impl Diagnostic {
    /// A problem without any place yet.
    pub fn new(severity: Severity, code: &'static str, title: impl Into<String>) -> Diagnostic {
        Diagnostic { severity, code, title: title.into(), labels: Vec::new(), notes: Vec::new(), help: None }
    }

    pub fn error(code: &'static str, title: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, title)
    }

    pub fn warning(code: &'static str, title: impl Into<String>) -> Diagnostic {
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

    /// Where the report stands: the first primary label, else the first label, else [`Span::NONE`].
    pub fn span(&self) -> Span {
        let primary = self.labels.iter().find(|label| label.primary && !label.span.is_none());
        primary.or_else(|| self.labels.first()).map_or(Span::NONE, |label| label.span)
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

    /// In the order of reporting.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// Ordered by file, then position, exact repetitions removed. Reports without a place come last.
    #[must_use]
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(Diagnostic::span);
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

/// Longer names are no slips of the hand, and comparing them takes quadratic time.
const LONGEST_SUGGESTED: usize = 100;

/// The candidate closest to `name` by edit distance, if it is close enough to be a plausible slip.
///
/// Ties go to the earlier candidate, so pass them in a stable order.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if length > LONGEST_SUGGESTED {
        return None;
    }
    let limit = (length / 3).max(1);
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        if candidate == name || candidate.chars().count().abs_diff(length) > limit {
            continue;
        }
        let distance = edit_distance(name, candidate);
        // A replaced one-letter name says nothing about what was meant.
        if distance <= limit && distance < length && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Edits (insert, delete, replace, swap of neighbours) that turn one text into the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ravel_source::FileId;

    #[test]
    fn sorted_by_file_then_position_without_repetitions() {
        let at = |file, start| Diagnostic::error("E0000", "x").at(Span::new(FileId(file), start, start + 1), "");
        let mut all = Diagnostics::new();
        all.extend([Diagnostic::error("E0000", "nowhere"), at(1, 0), at(0, 5), at(0, 2), at(0, 5)]);
        let sorted = all.into_sorted();
        assert_eq!(sorted[..3], [at(0, 2), at(0, 5), at(1, 0)]);
        assert_eq!(sorted[3].title, "nowhere");
    }

    #[test]
    fn suggestions_are_plausible_or_absent() {
        assert_eq!(did_you_mean("genaray", ["modarray", "genarray"]), Some("genarray"));
        assert_eq!(did_you_mean("shpae", ["shape", "sharp"]), Some("shape"));
        assert_eq!(did_you_mean("a", ["b", "c"]), None);
        assert_eq!(did_you_mean("convolve", ["print"]), None);
        let endless = "x".repeat(1_000_000);
        assert_eq!(did_you_mean(&endless, [&endless[1..]]), None);
    }
}
