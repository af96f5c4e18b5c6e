//! Library modules that a program lacks: a function is there, but none of its visible instances takes the arguments.

use crate::edition::{Edition, wish};
use crate::files::{is_library, layer_offers, library_modules_with};
use crate::pipeline::Compilation;
use ravel_diagnostics::{Code, Diagnostic, Fix};
use ravel_source::{SourceMap, Span};
use ravel_specialize::Entry;
use std::path::Path;

/// Calls that are looked at, and modules that are tried for each.
const MOST_CALLS: usize = 3;
const MOST_MODULES: usize = 6;
/// Further names of a module that are listed.
const MOST_NAMES: usize = 6;

impl Compilation {
    /// Names a library module where an instance was missed and is found once the program uses that module. This is tried out, with
    /// the `use` behind the text, where it moves no position.
    pub(crate) fn suggest_modules(&mut self, path: &Path, entries: &[Entry]) {
        let missed: Vec<usize> = (0..self.diagnostics.len())
            .filter(|k| self.diagnostics[*k].code == Code::NoInstance && self.diagnostics[*k].help.is_none())
            .collect();
        if missed.is_empty() {
            return;
        }
        let Ok(text) = self.options.texts.read(path) else { return };
        let edition = self.edition_of(&text);
        for k in missed.into_iter().take(MOST_CALLS) {
            let Some(name) = called(&self.diagnostics[k]) else { continue };
            let span = self.diagnostics[k].span();
            // A module that was named for an instance that does not fit is there already.
            let notes = self.diagnostics[k].notes.clone();
            let is_seen = |module: &str| notes.iter().any(|note| note.contains(&format!(" of {module}: ")));
            let lacks = |module: &String| !mentions_use(&text, module) && !is_seen(module);
            let mut candidates = library_modules_with(&name, edition).into_iter().filter(lacks).take(MOST_MODULES);
            if let Some(module) = candidates.find(|module| self.helps(path, &text, module, (span, entries))) {
                self.diagnostics[k].help = Some(format!("add `use {module}: all;`"));
            }
        }
    }

    /// Says of errors that they would not be there with the library of 2024. This is tried out with the entries that have shown the errors, if these
    /// speak of names that it has.
    pub(crate) fn suggest_edition(&mut self, path: &Path, entries: &[Entry]) {
        let older = Edition::Until2024;
        let Ok(text) = self.options.texts.read(path) else { return };
        if self.options.edition.is_some() || wish(&text).is_some() {
            return;
        }
        let speaks = |report: &Diagnostic| {
            let words = report.title.split('`').skip(1).step_by(2);
            let places = report.labels.iter().map(|label| label.span).chain([report.span()]);
            let labels = places.map(|span| self.map.snippet(span));
            // To read the program again with the other library takes as long as to check it.
            let last = |word: &str| word.rsplit("::").next().is_some_and(|name| layer_offers(older, name.trim()));
            words.chain(labels).any(last)
        };
        let doubtful: Vec<usize> = (0..self.diagnostics.len())
            .filter(|k| self.diagnostics[*k].is_error() && self.diagnostics[*k].code != Code::UnknownModule)
            .filter(|k| speaks(&self.diagnostics[*k]))
            .collect();
        if doubtful.is_empty() {
            return;
        }
        let mut options = self.options.clone();
        options.edition = Some(older);
        let mut trial = Compilation::new(options);
        let Ok(program) = trial.core_with_holes(path) else { return };
        for look in trial.specialize_all(&program, entries.to_vec()) {
            trial.diagnostics.extend(look.diagnostics);
        }
        // Files are numbered anew in the trial.
        let place = |map: &SourceMap, report: &Diagnostic| {
            let span = report.span();
            map.get(span.file).map(|file| (file.name.clone(), span.start, span.end))
        };
        let left: Vec<_> = trial
            .diagnostics
            .iter()
            .filter(|report| report.is_error())
            .map(|report| place(&trial.map, report))
            .collect();
        let name = older.name();
        for k in doubtful {
            if !left.contains(&place(&self.map, &self.diagnostics[k])) {
                let text = format!(
                    "the library of {name} takes this: add the line `//! stdlib {name}` at the top, or `--stdlib {name}`"
                );
                let report = &mut self.diagnostics[k];
                // A help of today's library comes first.
                if report.help.is_some() { report.notes.push(text) } else { report.help = Some(text) }
            }
        }
    }

    /// Whether the program with one more module has no such error at a place, and can be read.
    fn helps(&self, path: &Path, text: &str, module: &str, (span, entries): (Span, &[Entry])) -> bool {
        let mut trial = Compilation::new(self.options.clone());
        let text = format!("{text}\nuse {module}: all;\n");
        // What else is wrong says nothing of this call.
        let program = trial.core_of_text_with_holes(&path.display().to_string(), text.into());
        for look in trial.specialize_all(&program, entries.to_vec()) {
            trial.diagnostics.extend(look.diagnostics);
        }
        // Another error about the call would be no help either.
        trial.diagnostics.iter().all(|d| d.span() != span)
    }
}

/// Places of one mistake that are labelled.
const MOST_PLACES: usize = 3;

/// Reports of names that the same `use` would bring, as one: with the first places, and a count of the others.
pub(crate) fn together(reports: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut shown: Vec<(Diagnostic, Vec<Diagnostic>)> = Vec::new();
    for report in reports {
        let same = |known: &Diagnostic| {
            used_module(&report).is_some() && known.help == report.help && known.span().file == report.span().file
        };
        match shown.iter_mut().find(|(first, _)| same(first)) {
            Some((_, others)) => others.push(report),
            None => shown.push((report, Vec::new())),
        }
    }
    shown.into_iter().map(|(first, others)| if others.is_empty() { first } else { several(first, &others) }).collect()
}

/// One report for names that one module brings.
fn several(first: Diagnostic, others: &[Diagnostic]) -> Diagnostic {
    let module = used_module(&first).unwrap_or_default().to_string();
    let mut names: Vec<&str> = Vec::new();
    for name in std::iter::once(&first).chain(others).filter_map(quoted) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let places = others.len() + 1;
    let title = match &names[..] {
        [name] => format!("`{name}` of module {module} is used in {places} places, but the module is not"),
        _ => format!("{} names of module {module} are used, but the module is not", names.len()),
    };
    let mut report = Diagnostic { title, ..first.clone() };
    for label in &mut report.labels {
        label.message = quoted(&first).map_or(String::new(), |name| format!("`{name}` is not defined here"));
    }
    for (k, other) in others.iter().take(MOST_PLACES - 1).enumerate() {
        let more = if k + 2 == MOST_PLACES { places - MOST_PLACES } else { 0 };
        let text = match more {
            0 => String::new(),
            1 => " … and one more place".to_string(),
            n => format!(" … and {n} more places"),
        };
        let name = quoted(other).map_or(String::new(), |name| format!("nor `{name}`"));
        report = report.at(other.span(), format!("{name}{text}"));
    }
    let more = names.len().saturating_sub(MOST_NAMES);
    if names.len() > 1 {
        let listed: Vec<String> = names.iter().take(MOST_NAMES).map(|name| format!("`{name}`")).collect();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        report.notes.push(format!("these are {}{more}", listed.join(", ")));
    }
    report
}

/// The module that a report asks to use.
fn used_module(report: &Diagnostic) -> Option<&str> {
    let rest = report.help.as_ref()?.strip_prefix("add `use ")?;
    rest.strip_suffix(": all;`").filter(|module| module.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// Adds the edit to each report that asks for a module.
pub(crate) fn with_uses(reports: &mut [Diagnostic], map: &SourceMap) {
    for report in reports.iter_mut().filter(|report| report.fixes.is_empty()) {
        let Some(module) = used_module(report) else { continue };
        let span = report.span();
        let Some(file) = map.get(span.file).filter(|file| !is_library(&file.name)) else { continue };
        let (at, before, behind) = place_of_use(&file.text);
        let edit = (Span::new(span.file, at, at), format!("{before}use {module}: all;{behind}"));
        let title = report.help.clone().unwrap_or_default();
        report.fixes.push(Fix { title, safe: true, edits: vec![edit] });
    }
}

/// Drops edits that would leave the text as it is, and the help that speaks of nothing else.
pub(crate) fn with_effect(reports: &mut [Diagnostic], map: &SourceMap) {
    let changes = |fix: &Fix| fix.edits.iter().any(|(span, text)| map.snippet(*span) != text);
    for report in reports.iter_mut().filter(|report| !report.fixes.iter().all(changes)) {
        let idle = report.fixes.iter().any(|fix| !changes(fix) && Some(&fix.title) == report.help.as_ref());
        report.fixes.retain(changes);
        if idle {
            report.help = report.fixes.first().map(|fix| fix.title.clone());
        }
    }
}

/// Where a `use` is written in a file, and what stands before and behind it: below the last one, else below the head of a module, else above
/// everything but the comments at the top.
fn place_of_use(text: &str) -> (usize, &'static str, &'static str) {
    let heads = ["use ", "import ", "module ", "class ", "export ", "provide "];
    let mut offset = 0;
    let mut last = None;
    let mut top = None;
    for line in text.split_inclusive('\n') {
        let is_head = heads.iter().any(|head| line.starts_with(head));
        // The list of a `use` may go on for several lines.
        if is_head && let Some(end) = text[offset..].find(';') {
            last = Some(offset + end + 1);
        }
        if top.is_none() && !line.trim_start().starts_with("//") && !line.trim().is_empty() {
            top = Some(offset);
        }
        offset += line.len();
    }
    match (last, top) {
        (Some(at), _) => (at, "\n", ""),
        (None, Some(at)) => (at, "", "\n\n"),
        (None, None) => (text.len(), "", "\n"),
    }
}

/// The name of `unknown function `f``.
fn quoted(report: &Diagnostic) -> Option<&str> {
    report.title.split('`').nth(1)
}

/// The function of `no instance of `f` takes (...)`.
fn called(report: &Diagnostic) -> Option<String> {
    report
        .title
        .split('`')
        .nth(1)
        .filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .map(str::to_string)
}

/// Whether a line of the text begins to use or import the module. To try it again would do no harm.
fn mentions_use(text: &str, module: &str) -> bool {
    let heads = [format!("use {module}:"), format!("import {module}:")];
    text.lines().any(|line| heads.iter().any(|head| line.trim_start().starts_with(head)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of two offers for `f(x)`, of which one changes nothing.
    fn left(help: &str) -> Diagnostic {
        let mut map = SourceMap::default();
        let file = map.add("a.sac", "f(x)");
        let offer = |title: &str, text: &str| Fix {
            title: title.to_string(),
            safe: true,
            edits: vec![(Span::new(file, 2, 3), text.to_string())],
        };
        let report = Diagnostic::error(Code::NoInstance, "no instance").with_help(help);
        let mut reports = [report.with_fix(offer("write `x`", "x")).with_fix(offer("write `y`", "y"))];
        with_effect(&mut reports, &map);
        let [report] = reports;
        report
    }

    #[test]
    fn fixes_that_change_nothing_go_and_so_does_the_help_that_speaks_of_them() {
        let report = left("write `x`");
        assert_eq!(report.fixes.iter().map(|fix| fix.title.as_str()).collect::<Vec<_>>(), ["write `y`"]);
        assert_eq!(report.help.as_deref(), Some("write `y`"));
        assert_eq!(left("look at the head of `f`").help.as_deref(), Some("look at the head of `f`"));
    }
}
