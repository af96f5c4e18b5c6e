//! Kinds of names for colors, and what can be folded.

use crate::view::View;
use ravel_core::facts::DefKind;
use serde_json::{Value as Json, json};

/// The kinds and properties that tokens have, as the client is told at the beginning.
pub const KINDS: [&str; 8] =
    ["function", "type", "struct", "variable", "typeParameter", "namespace", "parameter", "property"];
pub const PROPERTIES: [&str; 3] = ["declaration", "readonly", "defaultLibrary"];

/// Names of the document, each by its place after the one before. What the grammar knows by itself is left to it.
pub fn semantic(view: &View<'_>) -> Json {
    let mut data: Vec<u64> = Vec::new();
    let mut last = (0, 0);
    for name in view.facts.uses_in(view.file) {
        let Some(def) = view.facts.meaning(name).first().and_then(|def| view.def(*def)) else { continue };
        if !def.name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            continue;
        }
        let Some(range) = view.range(name.span) else { continue };
        let number = |place: &str, part: &str| range[place][part].as_u64().unwrap_or(0);
        let (line, start) = (number("start", "line"), number("start", "character"));
        // Places that edits have made equal would not be in order.
        if (line, start) < last || number("end", "line") != line {
            continue;
        }
        let kind = match def.kind {
            DefKind::Function => 0,
            DefKind::Type => 1,
            DefKind::Struct => 2,
            DefKind::Object | DefKind::Variable | DefKind::Index | DefKind::Extent => 3,
            DefKind::Family => 4,
            DefKind::Module => 5,
            DefKind::Parameter => 6,
            DefKind::Field => 7,
        };
        let is_fixed = matches!(def.kind, DefKind::Index | DefKind::Extent);
        let properties = u64::from(def.span == name.span) | u64::from(is_fixed) << 1 | u64::from(def.library) << 2;
        let right = if line == last.0 { start - last.1 } else { start };
        data.extend([line - last.0, right, number("end", "character") - start, kind, properties]);
        last = (line, start);
    }
    json!({ "data": data })
}

/// Blocks, comments of several lines, and the modules that a file uses. This needs nothing but the text.
pub fn folds(text: &str) -> Json {
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let (mut line, mut at) = (0, 0);
    let mut uses: Option<(usize, usize)> = None;
    let mut starts_line = true;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if starts_line && (rest.starts_with("use ") || rest.starts_with("import ")) {
            let end = line + rest.split(';').next().unwrap_or_default().matches('\n').count();
            uses = Some((uses.map_or(line, |(start, _)| start), end));
        }
        let length = if rest.starts_with("/*") {
            let length = rest.find("*/").map_or(rest.len(), |end| end + 2);
            let lines = rest[..length].matches('\n').count();
            if lines > 0 {
                found.push((line, line + lines, "comment"));
            }
            length
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if c == '"' {
            // To the next quote that no backslash hides, within the line.
            let mut hidden = false;
            let end = rest[1..].find(|c: char| {
                let ends = c == '\n' || c == '"' && !hidden;
                hidden = c == '\\' && !hidden;
                ends
            });
            end.map_or(rest.len(), |end| end + 1 + usize::from(rest[end + 1..].starts_with('"')))
        } else if rest.starts_with("'{'") || rest.starts_with("'}'") {
            3
        } else {
            match c {
                '{' => open.push(line),
                '}' => {
                    if let Some(start) = open.pop().filter(|start| *start < line) {
                        found.push((start, line, "region"));
                    }
                }
                _ => {}
            }
            c.len_utf8()
        };
        let passed = &rest[..length];
        starts_line = passed.ends_with('\n');
        line += passed.matches('\n').count();
        at += length;
    }
    found.extend(uses.filter(|(start, end)| start < end).map(|(start, end)| (start, end, "imports")));
    found.sort_unstable();
    let folds = found.into_iter().map(|(start, end, kind)| match kind {
        "region" => json!({ "startLine": start, "endLine": end }),
        kind => json!({ "startLine": start, "endLine": end, "kind": kind }),
    });
    json!(folds.collect::<Vec<_>>())
}
