//! The forms in which reports leave Ravel: for people, for editors' lists, for programs.

mod github;
mod human;
mod json;
mod lines;
mod sarif;
mod visible;

pub use human::excerpt;
pub use lines::short;

use crate::Diagnostic;
use ravel_source::SourceMap;

/// A form of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Quoted source with labels.
    #[default]
    Human,
    /// `file:line:column: error[E0312]: text`, one line each.
    Short,
    /// One JSON object a line, by the schema in `docs/diagnostics.schema.json`.
    Json,
    /// One SARIF 2.1.0 document.
    Sarif,
    /// Commands that annotate a pull request on GitHub.
    Github,
}

impl Format {
    pub const ALL: [(&'static str, Format); 5] = [
        ("human", Format::Human),
        ("short", Format::Short),
        ("json", Format::Json),
        ("sarif", Format::Sarif),
        ("github", Format::Github),
    ];

    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }
}

/// All reports in the given order. `color` is for people only.
pub fn render(diagnostics: &[Diagnostic], map: &SourceMap, format: Format, color: bool) -> String {
    render_all(&[(diagnostics, map)], format, color)
}

/// The reports of several compilations, as one document where the form knows documents.
pub fn render_all(groups: &[(&[Diagnostic], &SourceMap)], format: Format, color: bool) -> String {
    let each = |one: &dyn Fn(&[Diagnostic], &SourceMap) -> String| {
        groups.iter().map(|(diagnostics, map)| one(diagnostics, map)).collect()
    };
    match format {
        Format::Human => each(&|diagnostics, map| human::render(diagnostics, map, color)),
        Format::Short => each(&lines::render),
        Format::Json => each(&json::render),
        Format::Sarif => sarif::render(groups),
        Format::Github => each(&github::render),
    }
}
