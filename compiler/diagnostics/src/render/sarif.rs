//! SARIF 2.1.0, the form that services for the review of code read.

use crate::{Code, Diagnostic, Severity};
use ravel_source::{SourceMap, Span};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub fn render(groups: &[(&[Diagnostic], &SourceMap)]) -> String {
    let codes: BTreeSet<Code> = groups.iter().flat_map(|(list, _)| list.iter().map(|one| one.code)).collect();
    let results = groups.iter().flat_map(|(list, map)| list.iter().map(|one| result(one, map)));
    let rule =
        |code: &Code| json!({ "id": code.text(), "name": code.name(), "shortDescription": { "text": code.title() } });
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "ravel",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": codes.iter().map(rule).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    });
    format!("{document:#}\n")
}

fn result(diagnostic: &Diagnostic, map: &SourceMap) -> Value {
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut text = diagnostic.title.clone();
    let instances = diagnostic.instances_note();
    for more in diagnostic.notes.iter().chain(&instances).chain(&diagnostic.help) {
        text.push('\n');
        text.push_str(more);
    }
    let main = diagnostic.span();
    let related: Vec<Value> = (diagnostic.labels.iter())
        .filter(|label| label.span != main)
        .filter_map(|label| Some((location(label.span, map)?, &label.message)))
        .map(|(mut location, message)| {
            location["message"] = json!({ "text": message });
            location
        })
        .collect();
    json!({
        "ruleId": diagnostic.code.text(),
        "level": level,
        "message": { "text": text },
        "locations": location(main, map).into_iter().collect::<Vec<_>>(),
        "relatedLocations": related,
        "properties": { "instances": diagnostic.instances },
    })
}

fn location(span: Span, map: &SourceMap) -> Option<Value> {
    let file = map.get(span.file)?;
    let from = map.line_col(span)?;
    let upto = map.line_col(Span { start: span.end, ..span })?;
    Some(json!({ "physicalLocation": {
        "artifactLocation": { "uri": file.name },
        "region": { "startLine": from.line, "startColumn": from.column, "endLine": upto.line, "endColumn": upto.column },
    } }))
}
