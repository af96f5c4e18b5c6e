//! Markdown of the pages.

use super::comment::{Comment, example, is_keys};
use super::{Entry, Module};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The page of a module; `modules` are those that it can link to.
pub fn page(module: &Module, modules: &[Module]) -> String {
    let mut out = format!("# {}\n", module.name);
    prose(&mut out, &module.about);
    if !module.offers.is_empty() {
        let of = |(name, symbols): &(String, Vec<String>)| match &symbols[..] {
            [] => format!("all of {}", link(name, modules)),
            some => {
                let some = some.iter().filter(|symbol| !module.kept.contains(symbol));
                let some: Vec<String> = some.map(|symbol| format!("`{symbol}`")).collect();
                format!("{} of {}", some.join(", "), link(name, modules))
            }
        };
        let offers: Vec<String> = module.offers.iter().map(of).collect();
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
            "\n<a id=\"{}\"></a>\n### {}\n\n```c\n{}\n```\n",
            entry.anchor,
            title(entry),
            entry.heads.join("\n")
        );
        prose(&mut out, &entry.comment);
    }
    out
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

/// A comment as paragraphs, examples as code, keys as a list.
fn prose(out: &mut String, comment: &Comment) {
    if !comment.is_empty() {
        out.push('\n');
    }
    for line in comment.lines() {
        if let Some(example) = example(line) {
            let _ = writeln!(out, "- `{}` is `{}`", example.call, example.value);
        } else if is_keys(line) {
            continue;
        } else if line.starts_with("    ") {
            let _ = writeln!(out, "{line}");
        } else {
            let _ = writeln!(out, "{}", escaped(line));
        }
    }
    let keys = comment.keys();
    if !keys.is_empty() {
        out.push('\n');
        for (key, text) in keys {
            let _ = writeln!(out, "- *{key}:* {}", escaped(text));
        }
    }
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
