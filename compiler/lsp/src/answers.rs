//! Hover, and the ways from a name to its definition and back.

use crate::view::{View, symbol_kind};
use ravel_core::facts::{Def, DefKind, Use};
use ravel_driver::facts::{Facts, Value, constant};
use ravel_driver::testing::PROMPT;
use ravel_source::Span;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// Instances that a hover shows.
const MOST_INSTANCES: usize = 8;
/// Definitions that a hover shows.
const MOST_HEADS: usize = 6;

/// What is known of the name at a position.
pub fn hover(view: &View<'_>, position: &Json) -> Option<Json> {
    let found = view.name(position)?;
    let defs: Vec<&Def> = view.facts.meaning(found).iter().filter_map(|def| view.def(*def)).collect();
    let first = defs.first()?;
    let mut text = String::new();
    let place = found.call.filter(|_| matches!(first.kind, DefKind::Function | DefKind::Field)).unwrap_or(found.span);
    let (facts, values) = view.values(place);
    if first.kind.is_local() {
        text.push_str(&code(&[variable(facts, first, values)]));
        by_instance(facts, values, &mut text);
    } else {
        let heads: Vec<String> = defs.iter().take(MOST_HEADS).map(|def| def.signature.clone()).collect();
        text.push_str(&code(&heads));
        if defs.len() > MOST_HEADS {
            text.push_str(&format!("and {} more\n\n", defs.len() - MOST_HEADS));
        }
        if first.library {
            text.push_str(&format!("module `{}`\n\n", first.module));
        }
        match first.kind {
            DefKind::Function if found.call.is_some() => {
                if let Some(kind) = facts.joined(values) {
                    text.push_str(&format!("gives `{}`\n\n", facts.show(&kind)));
                }
                by_instance(facts, values, &mut text);
            }
            DefKind::Function => of_definition(view, found, &mut text),
            _ => by_instance(facts, values, &mut text),
        }
        let doc = view.facts.doc(first);
        if !doc.is_empty() {
            text.push_str(&format!("---\n{}", markdown(&doc)));
        }
    }
    let contents = json!({ "kind": "markdown", "value": text.trim_end() });
    Some(json!({ "contents": contents, "range": view.range(found.span)? }))
}

fn code(lines: &[String]) -> String {
    format!("```sac\n{}\n```\n\n", lines.join("\n"))
}

/// The declared type of a variable, else what it is in all instances together.
fn variable(facts: &Facts, def: &Def, values: &[Value]) -> String {
    let joined = facts.joined(values);
    let value = joined.as_ref().and_then(constant).map_or(String::new(), |value| format!(" = {value}"));
    match (&joined, def.signature.is_empty()) {
        (_, false) => format!("{}{value}", def.signature),
        (Some(kind), true) => format!("{} {}{value}", facts.show(kind), def.name),
        (None, true) => def.name.to_string(),
    }
}

fn shown(facts: &Facts, value: &Value) -> String {
    let constant = constant(&value.kind).map_or(String::new(), |value| format!(" = {value}"));
    format!("`{}{constant}`", facts.show(&value.kind))
}

fn by_instance(facts: &Facts, values: &[Value], text: &mut String) {
    // What the head of the hover says already is of no use.
    let is_same = |value: &Value| shown(facts, value) == shown(facts, &values[0]);
    if !values.is_empty() && values.iter().all(is_same) {
        let text_of_it = shown(facts, &values[0]);
        let plain = text_of_it.trim_matches('`').split(" = ").next().unwrap_or_default();
        if !text.contains(plain) {
            text.push_str(&format!("here {text_of_it}\n\n"));
        }
        return;
    }
    let is_declared = |value: &Value| facts.instances.get(value.instance as usize).is_none_or(|known| !known.is_called);
    if values.is_empty() || values.len() == 1 && is_declared(&values[0]) {
        return;
    }
    for value in values.iter().take(MOST_INSTANCES) {
        text.push_str(&format!("- in `{}`: {}\n", facts.instance(value), shown(facts, value)));
    }
    if values.len() > MOST_INSTANCES {
        text.push_str(&format!("- and {} more\n", values.len() - MOST_INSTANCES));
    }
    text.push('\n');
}

/// The instances of a function, at its definition.
fn of_definition(view: &View<'_>, found: &Use, text: &mut String) {
    let mut labels: Vec<&str> = Vec::new();
    for facts in view.all_facts() {
        let is_this = |def: &Def| {
            found.defs.iter().filter_map(|at| view.def(*at)).any(|own| {
                own.span.start == def.span.start
                    && own.name == def.name
                    && place(view.facts, own.span) == place(facts, def.span)
            })
        };
        for instance in facts.instances.iter().filter(|instance| instance.is_called) {
            if facts.def_of(instance.fun).is_some_and(is_this) && !labels.contains(&instance.shown.as_str()) {
                labels.push(&instance.shown);
            }
        }
    }
    for label in labels.iter().take(MOST_INSTANCES) {
        text.push_str(&format!("- called as `{label}`\n"));
    }
    if labels.len() > MOST_INSTANCES {
        text.push_str(&format!("- and {} more\n", labels.len() - MOST_INSTANCES));
    }
    text.push('\n');
}

/// Documentation as Markdown: prose line by line, what stands behind a prompt, or is indented, as code.
pub fn markdown(doc: &str) -> String {
    let mut out = String::new();
    let mut lines = doc.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("```") {
            // It is Markdown already.
            out.push_str(&format!("{line}\n"));
            for inside in lines.by_ref() {
                out.push_str(&format!("{inside}\n"));
                if inside.trim_start().starts_with("```") {
                    break;
                }
            }
            continue;
        }
        let is_transcript = line.trim_start().starts_with(PROMPT);
        let is_code = |line: &str| if is_transcript { !line.is_empty() } else { is_indented(line) };
        if !is_code(line) {
            out.push_str(&format!("{}  \n", line.replace('<', "\\<")));
            continue;
        }
        let mut block = vec![line];
        while let Some(next) = lines.next_if(|next| is_code(next)) {
            block.push(next);
        }
        let indent = block.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
        let text: Vec<&str> = block.iter().map(|line| line.get(indent..).unwrap_or(line)).collect();
        let kind = if is_transcript { "text" } else { "sac" };
        out.push_str(&format!("```{kind}\n{}\n```\n", text.join("\n")));
    }
    out
}

/// Lists have less in front of them.
fn is_indented(line: &str) -> bool {
    line.starts_with("    ") && !line.trim_start().starts_with(['-', '*'])
}

/// Where the name at a position is defined.
pub fn definition(view: &View<'_>, position: &Json) -> Json {
    let Some(found) = view.name(position) else { return Json::Null };
    let places = view.facts.meaning(found).iter().filter_map(|def| view.location(view.def(*def)?.span));
    json!(places.collect::<Vec<_>>())
}

/// A place as all facts know it: the name of its file, and the byte.
fn place(facts: &Facts, span: Span) -> Option<(&str, u32)> {
    Some((facts.map.get(span.file)?.name.as_str(), span.start))
}

/// Every place that mentions what the name at a position means, also in open programs and roots that use this file.
pub fn references(view: &View<'_>, position: &Json, with_definition: bool) -> Json {
    let mut places: Vec<Json> = Vec::new();
    for found in same(view, position) {
        let defines = found.defs.iter().filter_map(|def| view.def(*def)).any(|def| def.span == found.span);
        if with_definition || !defines {
            places.extend(view.location(found.span).filter(|place| !places.contains(place)));
        }
    }
    let wanted: Vec<_> = view.name(position).map_or(Vec::new(), |found| {
        let defs = view.facts.meaning(found).iter().filter_map(|def| view.def(*def));
        defs.filter(|def| !def.kind.is_local()).filter_map(|def| place(view.facts, def.span)).collect()
    });
    for facts in view.all_facts().filter(|facts| !wanted.is_empty() && !std::ptr::eq(*facts, view.facts)) {
        let meant: BTreeSet<u32> = (0..)
            .zip(&facts.defs)
            .filter_map(|(at, def)| place(facts, def.span).filter(|place| wanted.contains(place)).map(|_| at))
            .collect();
        let is_meant =
            |found: &&Use| facts.is_own(found.span.file) && facts.meaning(found).iter().any(|def| meant.contains(def));
        for found in facts.uses.iter().filter(is_meant) {
            let defines = facts.meaning(found).iter().any(|def| facts.defs[*def as usize].span == found.span);
            if with_definition || !defines {
                places.extend(view.location_by(facts, found.span).filter(|place| !places.contains(place)));
            }
        }
    }
    json!(places)
}

/// The same in this document.
pub fn highlights(view: &View<'_>, position: &Json) -> Json {
    let here = same(view, position).into_iter().filter(|found| found.span.file == view.file);
    let places = here.filter_map(|found| {
        let kind = if found.is_write { 3 } else { 2 };
        Some(json!({ "range": view.range(found.span)?, "kind": kind }))
    });
    json!(places.collect::<Vec<_>>())
}

/// Uses that share a meaning with the name at a position.
fn same<'d>(view: &View<'d>, position: &Json) -> Vec<&'d Use> {
    let Some(found) = view.name(position) else { return Vec::new() };
    let wanted = view.facts.meaning(found);
    let facts = view.facts;
    let is_same =
        |other: &&Use| facts.is_own(other.span.file) && facts.meaning(other).iter().any(|def| wanted.contains(def));
    facts.uses.iter().filter(is_same).collect()
}

/// What the document defines, in its order.
pub fn symbols(view: &View<'_>) -> Json {
    let mut found: Vec<&Def> = Vec::new();
    for def in view.facts.uses_in(view.file).iter().flat_map(|found| &found.defs).filter_map(|def| view.def(*def)) {
        let is_here = def.span.file == view.file && !def.kind.is_local() && def.kind != DefKind::Module;
        if is_here && !found.iter().any(|known| known.span == def.span && known.name == def.name) {
            found.push(def);
        }
    }
    found.sort_by_key(|def| def.whole.start);
    let (fields, found): (Vec<&Def>, Vec<&Def>) = found.into_iter().partition(|def| def.kind == DefKind::Field);
    let symbol = |def: &Def, fields: Vec<Json>| {
        Some(json!({
            "name": &*def.name,
            "detail": def.signature,
            "kind": symbol_kind(def.kind),
            "range": view.whole(def.whole.to(def.span)),
            "selectionRange": view.range(def.span)?,
            "children": fields,
        }))
    };
    let symbols = found.into_iter().filter_map(|def| {
        let is_inside = |field: &&&Def| def.whole.start <= field.span.start && field.span.end <= def.whole.end;
        symbol(def, fields.iter().filter(is_inside).filter_map(|field| symbol(field, Vec::new())).collect())
    });
    json!(symbols.collect::<Vec<_>>())
}

/// What open programs and their modules define, by a part of the name.
pub fn workspace_symbols(views: &[View<'_>], query: &str) -> Json {
    let wanted = query.to_lowercase();
    let mut symbols: Vec<Json> = Vec::new();
    for view in views {
        let defs = view.facts.defs.iter().filter(|def| {
            !def.library
                && def.kind != DefKind::Field
                && !def.kind.is_local()
                && def.kind != DefKind::Module
                && def.name.to_lowercase().contains(&wanted)
        });
        for def in defs {
            let Some(location) = view.location(def.span) else { continue };
            let symbol = json!({
                "name": &*def.name,
                "kind": symbol_kind(def.kind),
                "containerName": &*def.module,
                "location": location,
            });
            if !symbols.contains(&symbol) {
                symbols.push(symbol);
            }
        }
    }
    json!(symbols)
}

#[cfg(test)]
mod tests {
    use super::markdown;

    #[test]
    fn transcripts_are_code() {
        let doc = "Doubles <n>.\n\n  ravel> f(1)\n  int: 2\n   ..> x\n\n    f(n) = n + n\n- a list";
        let shown = "Doubles \\<n>.  \n  \n```text\nravel> f(1)\nint: 2\n ..> x\n```\n  \n```sac\nf(n) = n + n\n```\n- a list  \n";
        assert_eq!(markdown(doc), shown);
        assert_eq!(markdown("```\n<a>\n```\n<b>"), "```\n<a>\n```\n\\<b>  \n");
    }
}
