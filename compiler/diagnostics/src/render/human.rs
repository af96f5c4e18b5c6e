//! Diagnostic values to text, through ariadne.

use super::visible::{Quoted, pictured, visible, worded};
use crate::{Diagnostic, Severity};
use ariadne::{Color, Config, IndexType, Label, Report, ReportKind, Source};
use ravel_source::{FileId, SourceMap, Span};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// A span as ariadne wants it; the byte range lies inside its file's text.
#[derive(Clone)]
struct Range(FileId, std::ops::Range<usize>);

impl ariadne::Span for Range {
    type SourceId = FileId;

    fn source(&self) -> &FileId {
        &self.0
    }

    fn start(&self) -> usize {
        self.1.start
    }

    fn end(&self) -> usize {
        self.1.end
    }
}

/// The texts that reports quote, indexed by line only when first quoted.
struct Texts<'a> {
    map: &'a SourceMap,
    sources: BTreeMap<FileId, Source<Cow<'a, str>>>,
    /// Of files with control characters, what is quoted instead.
    quoted: BTreeMap<FileId, Option<Quoted>>,
}

impl Texts<'_> {
    /// A range of the file in the text that is quoted.
    fn shown(&mut self, at: Range) -> Range {
        let map = self.map;
        let quoted = self.quoted.entry(at.0).or_insert_with(|| Quoted::of(map.get(at.0).map_or("", |file| &file.text)));
        match quoted {
            Some(quoted) => Range(at.0, quoted.at(at.1.start)..quoted.at(at.1.end)),
            None => at,
        }
    }
}

impl<'a> ariadne::Cache<FileId> for Texts<'a> {
    type Storage = Cow<'a, str>;

    fn fetch(&mut self, id: &FileId) -> Result<&Source<Cow<'a, str>>, impl fmt::Debug> {
        let (map, quoted) = (self.map, &self.quoted);
        let text = || match quoted.get(id) {
            Some(Some(quoted)) => Cow::Owned(quoted.text.clone()),
            _ => Cow::Borrowed(map.get(*id).map_or("", |file| &*file.text)),
        };
        Ok::<_, String>(self.sources.entry(*id).or_insert_with(|| Source::from(text())))
    }

    fn display<'b>(&self, id: &'b FileId) -> Option<impl fmt::Display + 'b> {
        self.map.get(*id).map(|file| visible(&file.name).into_owned())
    }
}

/// Longest line of source that is quoted; longer ones would fill the terminal many times over.
const LONGEST_QUOTED_LINE: usize = 400;

/// All reports in the given order, each followed by an empty line. Reports without a usable place are plain lines.
pub fn render(diagnostics: &[Diagnostic], map: &SourceMap, color: bool) -> String {
    let mut texts = Texts { map, sources: BTreeMap::new(), quoted: BTreeMap::new() };
    let mut out = String::new();
    for diagnostic in diagnostics {
        let quoted = range(diagnostic.span(), map).filter(|at| quotable(at, map));
        match quoted.and_then(|at| report(diagnostic, at, &mut texts, color)) {
            Some(text) => out.push_str(&text),
            None => plain(diagnostic, map, &mut out),
        }
        out.push('\n');
    }
    out
}

fn report(diagnostic: &Diagnostic, at: Range, texts: &mut Texts<'_>, color: bool) -> Option<String> {
    let kind = match diagnostic.severity {
        Severity::Error => ReportKind::Error,
        Severity::Warning => ReportKind::Warning,
        Severity::Note => ReportKind::Advice,
    };
    let config = Config::default().with_index_type(IndexType::Byte).with_color(color);
    let mut report = Report::build(kind, texts.shown(at))
        .with_config(config)
        .with_code(diagnostic.code.text())
        .with_message(worded(&diagnostic.title));
    // ariadne shows lines in the order of labels.
    let home = diagnostic.span().file;
    let mut labels: Vec<_> = diagnostic.labels.iter().collect();
    labels.sort_by_key(|label| (label.span.file != home, texts.map.position(label.span)));
    for label in labels {
        let Some(place) = range(label.span, texts.map).filter(|place| quotable(place, texts.map)) else {
            continue;
        };
        let tint = match (label.primary, diagnostic.severity) {
            (true, Severity::Error) => Color::Red,
            (true, _) => Color::Yellow,
            (false, _) => Color::Cyan,
        };
        // ariadne underlines nothing for a label without text.
        let message = if label.message.is_empty() { "here".to_string() } else { worded(&label.message) };
        let priority = i32::from(label.primary);
        let place = texts.shown(place);
        report = report.with_label(Label::new(place).with_color(tint).with_priority(priority).with_message(message));
    }
    for note in diagnostic.notes.iter().chain(&diagnostic.instances_note()) {
        report = report.with_note(worded(note));
    }
    if let Some(help) = help(diagnostic) {
        report = report.with_help(help);
    }
    let mut bytes = Vec::new();
    report.finish().write(texts, &mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Columns that a label and the remark behind it may reach; beyond, the remark gets a line of its own.
const WIDEST_LABEL: usize = 120;

/// The first line of a place, with its number, and underlined with a label; nothing if it is too long to be shown. `remark` follows the label.
pub fn excerpt(span: Span, (label, remark): (&str, &str), map: &SourceMap) -> Option<String> {
    let at = range(span, map).filter(|at| quotable(at, map))?;
    let text = &map.get(span.file)?.text;
    let from = text[..at.1.start].rfind('\n').map_or(0, |i| i + 1);
    let upto = text[at.1.start..].find('\n').map_or(text.len(), |i| at.1.start + i);
    let number = map.line_col(span)?.line.to_string();
    // Tabulators stay where they are, so that the line below is as wide.
    let blank = |text: &str| text.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect::<String>();
    let width = text[at.1.start..at.1.end.min(upto)].trim_end().chars().count().max(1);
    let marks = match label {
        "" => "─".repeat(width),
        _ => format!("{}┬{} {label}", "─".repeat(width / 2), "─".repeat(width - width / 2 - 1)),
    };
    let line: String = text[from..upto].trim_end().chars().map(pictured).collect();
    let (before, margin) = (blank(&text[from..at.1.start]), blank(&number));
    let reached = [&before, &marks, remark].map(|part| part.chars().count()).iter().sum::<usize>();
    let remark = match remark {
        "" => String::new(),
        _ if reached > WIDEST_LABEL => format!("\n {margin} │ {remark}"),
        _ => format!("   {remark}"),
    };
    Some(format!(" {number} │ {line}\n {margin} │ {before}{marks}{remark}\n"))
}

/// The span inside its text, moved to character boundaries; nothing for spans without a text.
fn range(span: Span, map: &SourceMap) -> Option<Range> {
    let text = &map.get(span.file)?.text;
    let mut start = (span.start as usize).min(text.len());
    let mut end = (span.end as usize).clamp(start, text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    Some(Range(span.file, start..end))
}

/// Whether the first and last line of the range are short enough to be shown.
fn quotable(at: &Range, map: &SourceMap) -> bool {
    let Some(file) = map.get(at.0) else { return false };
    let line_around = |offset: usize| {
        let from = file.text[..offset].rfind('\n').map_or(0, |i| i + 1);
        let upto = file.text[offset..].find('\n').map_or(file.text.len(), |i| offset + i);
        upto - from
    };
    line_around(at.1.start) <= LONGEST_QUOTED_LINE && line_around(at.1.end) <= LONGEST_QUOTED_LINE
}

/// The help, with the option of `ravel check` that does what it says.
fn help(diagnostic: &Diagnostic) -> Option<String> {
    let written = diagnostic.help.as_ref()?;
    let fix = diagnostic.fixes.iter().find(|fix| fix.title == *written);
    let help = worded(written);
    Some(match fix.map(|fix| fix.safe) {
        Some(true) => format!("{help}  [--fix]"),
        Some(false) => format!("{help}  [--fix --unsafe]"),
        None => help,
    })
}

fn plain(diagnostic: &Diagnostic, map: &SourceMap, out: &mut String) {
    let word = match diagnostic.severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
        Severity::Note => "Advice",
    };
    out.push_str(&format!("[{}] {word}: {}\n", diagnostic.code, worded(&diagnostic.title)));
    for label in &diagnostic.labels {
        let place = if map.get(label.span.file).is_some() { map.describe(label.span) } else { String::new() };
        let (place, message) = (visible(&place), worded(&label.message));
        match (place.is_empty(), message.is_empty()) {
            (true, true) => {}
            (true, false) => out.push_str(&format!("  {message}\n")),
            (false, true) => out.push_str(&format!("  at {place}\n")),
            (false, false) => out.push_str(&format!("  {place}: {message}\n")),
        }
    }
    for note in diagnostic.notes.iter().chain(&diagnostic.instances_note()) {
        out.push_str(&format!("  Note: {}\n", worded(note)));
    }
    if let Some(help) = help(diagnostic) {
        out.push_str(&format!("  Help: {help}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn byte_spans_point_behind_wide_characters() {
        let mut map = SourceMap::default();
        let file = map.add("a.sac", "/* äöü */ x = $;\n");
        let at = Span::new(file, 17, 18);
        assert_eq!(map.snippet(at), "$");
        let text = render(&[Diagnostic::error(Code::BadToken, "stray character").at(at, "here")], &map, false);
        assert!(text.contains("a.sac:1:15"), "{text}");
        assert!(text.contains("[E0101] Error: stray character"), "{text}");
    }

    #[test]
    fn spans_without_a_text_and_spans_past_its_end_are_harmless() {
        let mut map = SourceMap::default();
        let file = map.add("a.sac", "x");
        let lost = Diagnostic::error(Code::NoMain, "no main").at(Span::NONE, "needed").with_help("write one");
        let past = Diagnostic::error(Code::UnexpectedToken, "cut off").at(Span::new(file, 40, 90), "end");
        let text = render(&[lost, past], &map, false);
        assert!(text.contains("[E0250] Error: no main\n  needed\n  Help: write one"), "{text}");
        assert!(text.contains("cut off"), "{text}");
    }

    #[test]
    fn control_characters_are_shown() {
        let mut map = SourceMap::default();
        let file = map.add("a\u{1b}[0m.sac", "x = \"\u{1b}[31mred\"; y = $;\n");
        let at = Span::new(file, 20, 21);
        assert_eq!(map.snippet(at), "$");
        let report = Diagnostic::error(Code::BadToken, "stray \u{7}").at(at, "\u{1b}here").with_help("\rhelp");
        let text = render(std::slice::from_ref(&report), &map, false);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert!(
            text.contains("stray \\x07") && text.contains("a\\x1b[0m.sac:1:21") && text.contains("␛[31mred"),
            "{text}"
        );
        let lines: Vec<&str> = text.lines().collect();
        let quoted = lines.iter().position(|line| line.contains("␛[31m")).expect("the line is quoted");
        let column = |line: &str, sign: char| line.chars().position(|c| c == sign);
        assert_eq!(column(lines[quoted], '$'), column(lines[quoted + 1], '┬'), "{text}");
        let line = excerpt(at, ("", ""), &map).expect("a short line");
        assert!(line.contains("␛[31mred"), "{line}");
    }

    #[test]
    fn endless_lines_are_not_quoted() {
        let mut map = SourceMap::default();
        let file = map.add("a.sac", "(".repeat(10_000));
        let text = render(
            &[Diagnostic::error(Code::NestedTooDeeply, "too deep").at(Span::new(file, 300, 301), "")],
            &map,
            false,
        );
        assert!(text.len() < 200, "{text}");
        assert!(text.contains("a.sac:1:301"), "{text}");
    }
}
