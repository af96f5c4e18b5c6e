//! Which SaC function a place in the source belongs to, however the code there was inlined, and what a fault there shows.

use crate::repl::source::FUNCTION;
use ravel_core::ir::{FunId, Program};
use ravel_runtime::fault::{Report, labels};
use ravel_source::{FileId, SourceMap, Span};
use ravel_specialize::{Extent, Named, Places};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Calls above a function that are shown.
const MOST_CALLS: usize = 4;

/// The function around an input of the REPL or a call from outside; nobody wrote it.
const NOT_WRITTEN: [&str; 2] = [FUNCTION, "entry"];

/// The heads of all functions of a program, by file and position, and what was noted of places in them.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    heads: Vec<Head>,
    /// Functions of the library that the user's code calls, with their modules.
    library: HashMap<FunId, (String, String)>,
    noted: Arc<Places>,
    /// The places that were asked for, by their texts; several that begin at one place in the order of asking.
    known: Arc<Mutex<HashMap<String, Vec<Span>>>>,
}

#[derive(Clone, Debug)]
struct Head {
    file: FileId,
    start: u32,
    name: String,
    id: FunId,
}

impl Functions {
    pub fn of(program: &Program) -> Functions {
        let written = program.funs.iter().enumerate().filter(|(_, fun)| !fun.span.is_none());
        let mut heads: Vec<Head> = written
            .map(|(k, fun)| Head {
                file: fun.span.file,
                start: fun.span.start,
                name: fun.name.clone(),
                id: FunId(k as u32),
            })
            .collect();
        heads.sort_by(|a, b| (a.file, a.start, &a.name).cmp(&(b.file, b.start, &b.name)));
        Functions { heads, ..Functions::default() }
    }

    /// Takes over what the specialiser has noted.
    pub fn note(&mut self, program: &Program, places: Places) {
        let called = places.noted.values().filter_map(|noted| noted.called);
        let name = |id: FunId| {
            let fun = &program.funs[id.index()];
            (id, (fun.name.clone(), fun.module.clone()))
        };
        self.library = called.map(name).collect();
        self.noted = Arc::new(places);
    }

    /// Functions do not nest: a place belongs to the last head before it. Where that begins, and its name.
    pub fn head(&self, span: Span) -> Option<(u32, &str)> {
        let head = self.around(span)?;
        Some((head.start, &head.name))
    }

    fn around(&self, span: Span) -> Option<&Head> {
        let after = self.heads.partition_point(|head| (head.file, head.start) <= (span.file, span.start));
        self.heads[..after].last().filter(|head| head.file == span.file)
    }

    /// `file.sac:3:10 in f`, as faults show it. Places without a text belong to `function`. Of several texts that begin at one place, all but
    /// the first have a number behind.
    pub fn place(&self, map: &SourceMap, span: Span, function: &str) -> String {
        if span.is_none() {
            return format!(" in {function}");
        }
        let (place, text) = self.words(map, span, function);
        let nth = self.known.lock().map_or(0, |mut known| {
            let spans = known.entry(place).or_default();
            spans.iter().position(|known| *known == span).unwrap_or_else(|| {
                spans.push(span);
                spans.len() - 1
            })
        });
        if nth == 0 { text } else { format!("{text}\n#{nth}") }
    }

    /// The same with the source line behind, for code that runs where the source is not at hand.
    pub fn place_with_source(&self, map: &SourceMap, span: Span, function: &str) -> String {
        if span.is_none() {
            return format!(" in {function}");
        }
        format!("{}\n{}", self.words(map, span, function).1, self.excerpt(map, span).unwrap_or_default())
    }

    fn words(&self, map: &SourceMap, span: Span, function: &str) -> (String, String) {
        let function = self.head(span).map_or(function, |(_, name)| name);
        let place = map.describe(span);
        let text = format!("{place} in {function}");
        (place, text)
    }

    /// The report with the source that it names.
    #[must_use]
    pub fn show(&self, map: &SourceMap, report: Report) -> Report {
        match self.at(&report).and_then(|span| self.excerpt(map, span)) {
            Some(excerpt) => report.show(&excerpt),
            _ => report,
        }
    }

    /// The source at the place that a fault names.
    fn at(&self, report: &Report) -> Option<Span> {
        self.known.lock().ok()?.get(report.position.as_ref()?)?.get(report.nth()?).copied()
    }

    /// The line of source with what is known there, and slots for what the fault knows.
    fn excerpt(&self, map: &SourceMap, span: Span) -> Option<String> {
        let arrays = self.noted.noted.get(&span).map_or(&[][..], |noted| &noted.arrays);
        let mut arrays: Vec<String> = arrays.iter().map(described).collect();
        arrays.dedup();
        let calls = self.calls(map, span);
        let calls = if calls.is_empty() { calls } else { format!("({calls})") };
        ravel_diagnostics::excerpt(span, (&arrays.join(", "), &calls), map)
    }

    /// The function around a place, and what called it as far as that is certain: `in total, called from main at 12:5`.
    fn calls(&self, map: &SourceMap, span: Span) -> String {
        let called = self.noted.noted.get(&span).and_then(|noted| self.library.get(&noted.called?));
        let mut text = called.map_or(String::new(), |(name, module)| format!("in `{name}` of module {module}"));
        let Some(mut function) = self.around(span).filter(|head| !NOT_WRITTEN.contains(&head.name.as_str())) else {
            return text;
        };
        let mut seen = vec![function.id];
        let mut word = if text.is_empty() { "in" } else { ", called from" };
        text.push_str(&format!("{word} {}", function.name));
        while seen.len() <= MOST_CALLS {
            let calls = self.noted.callers.get(&function.id).map_or(&[][..], Vec::as_slice);
            let Some(call) = calls.first() else { break };
            let Some(caller) = self.around(*call).filter(|head| !NOT_WRITTEN.contains(&head.name.as_str())) else {
                break;
            };
            word = if word == "in" { ", called from" } else { ", from" };
            let at = map.line_col(*call).map_or(String::new(), |at| format!(" at {}:{}", at.line, at.column));
            let at = if call.file == span.file { at } else { format!(" at {}", map.describe(*call)) };
            text.push_str(&format!("{word} {}{at}", caller.name));
            match calls.len() - 1 {
                0 => {}
                1 => text.push_str(", and 1 more place"),
                n => text.push_str(&format!(", and {n} more places")),
            }
            // Which of several calls it was is not known, and so nothing of what is above.
            if calls.len() > 1 || seen.contains(&caller.id) {
                break;
            }
            function = caller;
            seen.push(caller.id);
        }
        text
    }
}

/// `a` is double[3,1000].
fn described(array: &Named) -> String {
    let extent = |extent: &Extent| match extent {
        Extent::Known(extent) => extent.to_string(),
        Extent::Slot(slot) => labels::slot(*slot),
        Extent::Unknown => ".".to_string(),
    };
    let shape = match &array.extents {
        Some(extents) => extents.iter().map(extent).collect::<Vec<_>>().join(","),
        None => "*".to_string(),
    };
    format!("`{}` is {}[{shape}]", array.name, array.elem)
}
