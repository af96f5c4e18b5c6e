//! One line for each report, as compilers of C print them: lists of editors understand it.

use super::visible::{visible, worded};
use crate::{Diagnostic, Severity};
use ravel_source::SourceMap;

pub fn render(diagnostics: &[Diagnostic], map: &SourceMap) -> String {
    diagnostics.iter().map(|diagnostic| short(diagnostic, map) + "\n").collect()
}

/// `file:line:column: error[E0312]: text`.
pub fn short(diagnostic: &Diagnostic, map: &SourceMap) -> String {
    let place = match map.get(diagnostic.span().file) {
        Some(_) => format!("{}: ", visible(&map.describe(diagnostic.span()))),
        None => String::new(),
    };
    let title = worded(&one_line(&diagnostic.title));
    let instances = match diagnostic.instances.len() {
        0 | 1 => String::new(),
        several => format!(" (in {several} instances)"),
    };
    format!("{place}{}[{}]: {title}{instances}", severity(diagnostic.severity), diagnostic.code)
}

pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
