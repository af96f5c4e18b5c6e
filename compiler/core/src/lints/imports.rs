//! `use` and `import` lines that bring nothing which the file uses.

use super::Look;
use super::names::Used;
use crate::Core;
use crate::interface::{DefId, Selection, Table};
use crate::modules::Module;
use ravel_diagnostics::{Code, Diagnostic, Fix};
use ravel_source::Span;
use ravel_syntax::ast::{Definition, Ident, Load, LoadKind, SymbolSet};
use ravel_types::HashSet;

/// A name counts as used through every line that brings it, so that no line is blamed for another one.
pub(super) fn unused(core: &Core<'_>, module: &Module, look: &mut Look<'_>) {
    if !look.is_on(Code::UnusedImport) {
        return;
    }
    let used = Used::of_file(&module.file);
    let offered: HashSet<DefId> = [&module.exported, &module.provided]
        .into_iter()
        .flat_map(Table::iter)
        .flat_map(|(_, entry)| entry.all())
        .collect();
    for definition in &module.file.definitions {
        let Definition::Load(load) = definition else { continue };
        let line = look.map.snippet(load.span);
        let is_whole = load.span.file == look.file
            && (line.starts_with("use") || line.starts_with("import"))
            && line.ends_with(';');
        let Some(source) = module.mentions.get(&load.module.name).filter(|_| is_whole) else { continue };
        let source = core.module(*source);
        let mut tables = vec![&source.exported];
        if load.kind == LoadKind::Use {
            tables.push(&source.provided);
        }
        let selection = Selection::new(&load.symbols);
        let is_needed = |name: &str| {
            let handed_on = |table: &&Table| {
                table
                    .get(name)
                    .is_some_and(|entry| load.kind == LoadKind::Import && entry.all().any(|def| offered.contains(&def)))
            };
            used.names.contains(name) || tables.iter().any(handed_on)
        };
        let brings = |name: &str| selection.has(name) && is_needed(name);
        match &load.symbols {
            SymbolSet::Some(symbols) => {
                let idle: Vec<&Ident> = symbols.iter().filter(|symbol| !is_needed(&symbol.name)).collect();
                match idle.len() {
                    0 => {}
                    n if n == symbols.len() => look.push(whole(load, look)),
                    _ if idle.iter().all(|symbol| look.has_name(symbol)) => look.push(some(symbols, &idle)),
                    _ => {}
                }
            }
            _ if tables.iter().flat_map(|table| table.names()).any(|name| brings(name)) => {}
            _ => look.push(whole(load, look)),
        }
    }
}

fn whole(load: &Load, look: &Look<'_>) -> Diagnostic {
    let name = &load.module.name;
    let title = match &load.symbols {
        SymbolSet::Some(_) => format!("nothing of this is used from module `{name}`"),
        _ => format!("nothing of module `{name}` is used"),
    };
    Diagnostic::warning(Code::UnusedImport, title).at(load.span, "").with_safe_edit(
        "remove the line",
        look.with_line(load.span),
        "",
    )
}

/// Some of the names in the braces are not used.
fn some(symbols: &[Ident], idle: &[&Ident]) -> Diagnostic {
    let names: Vec<String> = idle.iter().map(|symbol| format!("`{}`", symbol.name)).collect();
    let title = match &names[..] {
        [only] => format!("{only} is loaded and not used"),
        [front @ .., last] => format!("{} and {last} are loaded and not used", front.join(", ")),
        [] => String::new(),
    };
    let is_idle = |symbol: &Ident| idle.iter().any(|other| other.span == symbol.span);
    let mut edits = Vec::new();
    for (i, symbol) in symbols.iter().enumerate().filter(|(_, symbol)| is_idle(symbol)) {
        // With the comma behind it; those at the end go with the comma in front.
        let at = match symbols.get(i + 1) {
            Some(next) if symbols[i + 1..].iter().any(|later| !is_idle(later)) => {
                Span { end: next.span.start, ..symbol.span }
            }
            _ => Span { start: symbols[i - 1].span.end, ..symbol.span },
        };
        edits.push((at, String::new()));
    }
    let mut report = Diagnostic::warning(Code::UnusedImport, title);
    for symbol in idle {
        report = report.at(symbol.span, "");
    }
    report.with_fix(Fix { title: "remove it from the list".to_string(), safe: true, edits })
}
