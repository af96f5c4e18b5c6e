//! Markdown of the pages.

use super::comment::{Comment, example, is_keys};
use super::links::{Links, Part};
use super::{Entry, Module};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The page of a module; `modules` are those that it can link to.
pub fn page(module: &Module, modules: &[Module]) -> String {
    let mut out = format!("# {}\n", module.name);
    let mut links = Links { modules, module, entry: None };
    prose(&mut out, &module.about, &links);
    if !module.offers.is_empty() {
        let offers = module.offers.iter().map(|(name, symbols)| {
            let some = of_offer(module, symbols).iter().map(|symbol| format!("`{symbol}`")).collect::<Vec<_>>();
            let what = if some.is_empty() { "all".to_string() } else { some.join(", ") };
            format!("{what} of {}", link(name, modules))
        });
        let offers: Vec<String> = offers.collect();
        let _ = write!(out, "\nOffers {}.\n", offers.join("; "));
    }
    if !module.families.is_empty() {
        let of = |(name, members): &(String, Vec<String>)| match members.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("`{name}` is {} or {last}", rest.join(", ")),
            _ => format!("`{name}` is {}", members.join("")),
        };
        let families: Vec<String> = module.families.iter().map(of).collect();
        let _ = write!(out, "\nElement types: {}; the same throughout a head.\n", families.join("; "));
    }
    let entries: Vec<&Entry> = module.entries.iter().collect();
    if !entries.is_empty() {
        out.push_str("\n| | |\n|---|---|\n");
        for entry in &entries {
            let names: Vec<String> =
                entry.names.iter().map(|name| format!("[`{}`](#{})", cell(name), entry.anchor)).collect();
            let _ = writeln!(out, "| {} | {} |", names.join(" "), cell(&escaped(&entry.comment.first_sentence())));
        }
    }
    for entry in entries {
        let _ = write!(
            out,
            "\n<a id=\"{}\"></a>\n### {}{}\n\n```c\n{}\n```\n",
            entry.anchor,
            title(entry),
            if natives(entry) { " (native)" } else { "" },
            entry.heads.iter().map(|head| head.text.as_str()).collect::<Vec<_>>().join("\n")
        );
        links.entry = Some(entry);
        prose(&mut out, &entry.comment, &links);
        if let Some(rules) = rules(entry) {
            let _ =
                writeln!(out, "{}- *Gradient:* by {rules}", if entry.comment.keys().is_empty() { "\n" } else { "" });
        }
    }
    out
}

/// The functions that give the derivatives of an entry, as code.
pub(super) fn rules(entry: &Entry) -> Option<String> {
    // Comments that speak of it say more.
    if entry.comment.keys().iter().any(|(key, _)| *key == "Gradient") {
        return None;
    }
    let mut names: Vec<String> =
        entry.heads.iter().flat_map(|head| &head.rules).map(|name| format!("`{name}`")).collect();
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

/// What a module offers of another one; nothing means all.
pub(super) fn of_offer<'a>(module: &Module, symbols: &'a [String]) -> Vec<&'a String> {
    symbols.iter().filter(|symbol| !module.kept.contains(symbol)).collect()
}

/// Whether no function of an entry is written in SaC.
pub(super) fn natives(entry: &Entry) -> bool {
    entry.heads.iter().all(|head| head.native)
}

/// The list of all modules, and the names of other libraries with ours.
pub fn index(modules: &[Module]) -> String {
    let mut out = String::from(
        "# The library\n\nOne page for each module, made by `ravel doc` from the comments in its source.\n",
    );
    let mut folder = "";
    for module in modules {
        if module.folder != folder {
            folder = &module.folder;
            let _ = write!(out, "\n## {folder}\n\n| module | |\n|---|---|\n");
        }
        let _ =
            writeln!(out, "| {} | {} |", link(&module.name, modules), cell(&escaped(&module.about.first_sentence())));
    }
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for module in modules {
        for entry in &module.entries {
            for (_, likes) in entry.comment.keys().into_iter().filter(|(key, _)| *key == "Like") {
                for like in split_names(likes) {
                    let ours = format!("[`{}`]({}.md#{})", cell(&entry.names.join("`, `")), module.name, entry.anchor);
                    let known = names.entry(like).or_default();
                    if !known.contains(&ours) {
                        known.push(ours);
                    }
                }
            }
        }
    }
    if !names.is_empty() {
        out.push_str("\n## From other libraries\n\n| there | here |\n|---|---|\n");
        for (like, ours) in names {
            let _ = writeln!(out, "| `{}` | {} |", cell(&like), ours.join(", "));
        }
    }
    out
}

/// `a, b(x, y)` as its names: commas in parentheses do not separate.
fn split_names(text: &str) -> Vec<String> {
    let (mut names, mut name, mut depth) = (Vec::new(), String::new(), 0);
    for c in text.chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' | ';' if depth == 0 => {
                names.push(std::mem::take(&mut name));
                continue;
            }
            _ => {}
        }
        name.push(c);
    }
    names.push(name);
    // Words behind a name, `numpy.sort, where NaN are equal`, are none themselves.
    let is_name =
        |name: &String| !name.contains(' ') || name.contains(['.', '(', '\'']) || name.starts_with(char::is_uppercase);
    let names = names.iter().map(|name| name.trim().trim_matches('`').to_string());
    names.filter(|name| !name.is_empty() && is_name(name)).collect()
}

/// A comment as paragraphs, examples as code, keys as a list, inputs at the prompt as text that tests find.
fn prose(out: &mut String, comment: &Comment, links: &Links) {
    if !comment.is_empty() {
        out.push('\n');
    }
    let mut is_prompt = false;
    for line in comment.lines() {
        let indented = line.strip_prefix("    ");
        if is_prompt && indented.is_none() {
            out.push_str("```\n");
            is_prompt = false;
        }
        if !is_prompt && indented.is_some_and(|code| code.starts_with("ravel> ")) {
            out.push_str("```text\n");
            is_prompt = true;
        }
        if let Some(code) = indented {
            let _ = writeln!(out, "{}", if is_prompt { code } else { line });
        } else if let Some(example) = example(line) {
            let _ = writeln!(out, "- `{}` is `{}`", example.call, example.value);
        } else if !is_keys(line) {
            let _ = writeln!(out, "{}", linked(line, links));
        }
    }
    if is_prompt {
        out.push_str("```\n");
    }
    let keys = comment.keys();
    if !keys.is_empty() {
        out.push_str(if out.ends_with("\n\n") { "" } else { "\n" });
        for (key, text) in keys {
            let _ = writeln!(out, "- *{key}:* {}", escaped(text));
        }
    }
}

/// A line whose names between backquotes are links where they mean something.
fn linked(line: &str, links: &Links) -> String {
    let parts = links.parts(line).into_iter().map(|part| match part {
        Part::Text(text) => escaped(text),
        Part::Code(code, None) => format!("`{code}`"),
        Part::Code(code, Some((module, anchor))) => {
            let page = if module == links.module.name { String::new() } else { format!("{module}.md") };
            let place = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
            format!("[`{code}`]({page}{place})")
        }
    });
    parts.collect()
}

fn link(name: &str, modules: &[Module]) -> String {
    if modules.iter().any(|module| module.name == name) { format!("[{name}]({name}.md)") } else { name.to_string() }
}

fn title(entry: &Entry) -> String {
    entry.names.iter().map(|name| escaped(name)).collect::<Vec<_>>().join(", ")
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Text whose characters mean nothing to Markdown.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut code = false;
    for c in text.chars() {
        match c {
            '`' => code = !code,
            '*' | '_' | '<' | '[' | ']' if !code => out.push('\\'),
            _ => {}
        }
        out.push(c);
    }
    out
}
