//! Commands on standard output that GitHub shows at the lines of a pull request.

use super::lines::severity;
use super::visible::worded;
use crate::{Diagnostic, Severity};
use ravel_source::{SourceMap, Span};

pub fn render(diagnostics: &[Diagnostic], map: &SourceMap) -> String {
    diagnostics.iter().map(|diagnostic| command(diagnostic, map)).collect()
}

fn command(diagnostic: &Diagnostic, map: &SourceMap) -> String {
    let kind = match diagnostic.severity {
        Severity::Note => "notice",
        other => severity(other),
    };
    let span = diagnostic.span();
    let upto = map.line_col(Span { start: span.end, ..span });
    let place = match (map.get(span.file), map.line_col(span), upto) {
        (Some(file), Some(from), Some(upto)) => {
            format!("file={},line={},endLine={},col={},", property(&file.name), from.line, upto.line, from.column)
        }
        _ => String::new(),
    };
    let mut text = worded(&diagnostic.title);
    if let Some(help) = &diagnostic.help {
        text.push_str("\nHelp: ");
        text.push_str(&worded(help));
    }
    format!("::{kind} {place}title={}::{}\n", diagnostic.code, data(&text))
}

/// Line ends would end the command, and `%` begins an escape.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
