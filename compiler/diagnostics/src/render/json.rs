//! One object a line, for programs.

use super::lines::severity;
use crate::{Diagnostic, Fix, Label};
use ravel_source::{SourceMap, Span};
use serde_json::{Value, json};

pub fn render(diagnostics: &[Diagnostic], map: &SourceMap) -> String {
    diagnostics.iter().map(|diagnostic| format!("{}\n", report(diagnostic, map))).collect()
}

fn report(diagnostic: &Diagnostic, map: &SourceMap) -> Value {
    json!({
        "code": diagnostic.code.text(),
        "severity": severity(diagnostic.severity),
        "title": diagnostic.title,
        "place": place(diagnostic.span(), map),
        "labels": diagnostic.labels.iter().map(|one| label(one, map)).collect::<Vec<_>>(),
        "notes": diagnostic.notes,
        "help": diagnostic.help,
        "fixes": diagnostic.fixes.iter().map(|one| fix(one, map)).collect::<Vec<_>>(),
        "instances": diagnostic.instances,
    })
}

fn label(label: &Label, map: &SourceMap) -> Value {
    let mut value = place(label.span, map);
    value["text"] = json!(label.message);
    value["primary"] = json!(label.primary);
    value
}

fn fix(fix: &Fix, map: &SourceMap) -> Value {
    let edit = |(span, text): &(Span, String)| {
        let mut value = place(*span, map);
        value["text"] = json!(text);
        value
    };
    json!({ "title": fix.title, "safe": fix.safe, "edits": fix.edits.iter().map(edit).collect::<Vec<_>>() })
}

/// `file` is null where no text was written for something.
fn place(span: Span, map: &SourceMap) -> Value {
    let Some(file) = map.get(span.file) else { return json!({ "file": null, "start": null, "end": null }) };
    let point = |byte: u32| {
        let at = map.line_col(Span { start: byte, end: byte, ..span });
        at.map(|at| json!({ "line": at.line, "column": at.column, "byte": byte }))
    };
    json!({ "file": file.name, "start": point(span.start), "end": point(span.end) })
}
