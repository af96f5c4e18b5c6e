//! Completion and signature help, from the text as it is now and the newest facts.

use crate::answers::markdown;
use crate::view::View;
use ravel_core::facts::DefKind;
use ravel_driver::complete::{Candidate, CandidateKind, Scope, Signature, candidates, signatures};
use ravel_driver::files::library_sources;
use ravel_source::Span;
use ravel_specialize::fits::Fit;
use ravel_specialize::value::Kind;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Candidates that are sent; an editor asks again when more of the name is there.
const MOST_CANDIDATES: usize = 300;

/// What can stand at a position.
pub fn completion(view: &View<'_>, position: &Json) -> Json {
    let at = view.lines.offset(position);
    with_scope(view, at, |scope| {
        let (replaced, found) = candidates(&view.document.text[..at], scope);
        let range = view.lines_range(at - replaced, at);
        let is_incomplete = found.len() > MOST_CANDIDATES;
        let items: Vec<Json> = found
            .iter()
            .take(MOST_CANDIDATES)
            .enumerate()
            .map(|(rank, candidate)| item(view, candidate, rank, &range))
            .collect();
        json!({ "isIncomplete": is_incomplete, "items": items })
    })
}

fn item(view: &View<'_>, candidate: &Candidate, rank: usize, range: &Json) -> Json {
    let kind = match candidate.kind {
        CandidateKind::Field => 5,
        CandidateKind::Variable | CandidateKind::Object => 6,
        CandidateKind::Function => 3,
        CandidateKind::Type => 7,
        CandidateKind::Module => 9,
        CandidateKind::Keyword => 14,
    };
    let mut item = json!({
        "label": candidate.name,
        "kind": kind,
        "detail": candidate.detail,
        "sortText": format!("{rank:04}"),
        "textEdit": { "range": range, "newText": candidate.name },
    });
    // Few of many are looked at.
    if rank < 20
        && let Some(def) = candidate.def.and_then(|def| view.def(def))
    {
        let doc = view.facts.doc(def);
        if !doc.is_empty() {
            item["documentation"] = json!({ "kind": "markdown", "value": markdown(&doc) });
        }
    }
    item
}

/// The heads of the function whose arguments are being written.
pub fn signature_help(view: &View<'_>, position: &Json) -> Json {
    let at = view.lines.offset(position);
    with_scope(view, at, |scope| {
        let Some((found, parameter)) = signatures(&view.document.text[..at], scope) else { return Json::Null };
        let one = |signature: &Signature| {
            let units = |byte: usize| signature.label[..byte].encode_utf16().count();
            let parameters: Vec<Json> = signature
                .parameters
                .iter()
                .map(|range| json!({ "label": [units(range.start), units(range.end)] }))
                .collect();
            let mut lines: Vec<String> = Vec::new();
            if !signature.bound.is_empty() {
                lines.push(signature.bound.clone());
            }
            if signature.fit == Fit::No {
                lines.push("does not fit the arguments".to_string());
            }
            if let Some(def) = view.def(signature.def) {
                lines.extend(Some(view.facts.doc(def)).filter(|doc| !doc.is_empty()).map(|doc| markdown(&doc)));
            }
            let documentation = json!({ "kind": "markdown", "value": lines.join("\n\n") });
            json!({ "label": signature.label, "parameters": parameters, "documentation": documentation })
        };
        let signatures: Vec<Json> = found.iter().map(one).collect();
        json!({ "signatures": signatures, "activeSignature": 0, "activeParameter": parameter })
    })
}

fn with_scope(view: &View<'_>, at: usize, answer: impl FnOnce(&Scope<'_>) -> Json) -> Json {
    let variables = variables(view, at);
    let own = view.facts.map.files().filter_map(|(_, file)| {
        std::path::Path::new(&file.name).file_stem().map(|stem| stem.to_string_lossy().into_owned())
    });
    let library = library_sources()
        .filter_map(|(name, _)| std::path::Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    let mut modules: Vec<String> = own.chain(library).collect();
    modules.sort();
    modules.dedup();
    let facts = view.facts;
    answer(&Scope {
        program: &facts.program,
        defs: &facts.defs,
        visible: &facts.visible,
        members: &facts.members,
        variables: &variables,
        modules: &modules,
    })
}

/// Variables of the function around a byte of the present text that have a value there.
fn variables(view: &View<'_>, at: usize) -> Vec<(String, Option<Kind>)> {
    let facts = view.facts;
    let byte = crate::drift::back(&view.edits, at) as u32;
    let in_function = |span: Span| {
        let whole = crate::drift::around(&view.edits, span.start as usize..span.end as usize);
        whole.start <= at && at <= whole.end
    };
    let function = facts
        .defs
        .iter()
        .find(|def| def.kind == DefKind::Function && def.whole.file == view.file && in_function(def.whole))
        .map(|def| def.whole);
    let mut found: BTreeMap<String, Option<Kind>> = BTreeMap::new();
    let Some(function) = function else { return Vec::new() };
    for name in facts.uses_in(view.file) {
        if name.span.start < function.start || name.span.start >= byte.min(function.end) {
            continue;
        }
        let Some(def) = name.defs.first().and_then(|def| view.def(*def)) else { continue };
        // It may be the name at the cursor itself.
        let whole = facts.map.get(view.file).map_or("", |file| &file.text);
        let Some(text) = whole.get(name.span.end as usize..byte as usize) else { continue };
        let is_over = match def.kind {
            DefKind::Index => text.contains(';') || !text.contains("->") && text.contains('}'),
            // The statement that gives the first value is still being written.
            DefKind::Variable => def.span == name.span && !text.contains(';') && !text.contains('{'),
            _ => false,
        };
        if !def.kind.is_local() || is_over {
            continue;
        }
        let (known, values) = view.values(name.span);
        let kind = known.joined(values);
        let one = found.entry(name.defs.first().map_or(String::new(), |_| def.name.to_string())).or_default();
        if kind.is_some() {
            *one = kind;
        }
    }
    // What was written since the last check has no type yet.
    let text = &view.document.text[..at];
    let body = text.rfind("\n{").or_else(|| text.rfind('{')).map_or(text, |open| &text[open..]);
    for statement in body.split([';', '{', '}']) {
        let Some((target, rest)) = statement.split_once('=') else { continue };
        let target = target.trim();
        let is_name =
            target.starts_with(|c: char| c.is_alphabetic()) && target.chars().all(|c| c.is_alphanumeric() || c == '_');
        if is_name && !rest.starts_with('=') && body.len() > statement.len() && !body.ends_with(statement) {
            found.entry(target.to_string()).or_default();
        }
    }
    found.into_iter().collect()
}
