//! Which SaC function a place in the source belongs to, however the code there was inlined, and what a fault there shows.

use crate::files::is_library;
use crate::repl::source::FUNCTION;
use ravel_core::ir::{FunId, Program};
use ravel_runtime::fault::{Report, labels};
use ravel_source::{FileId, SourceMap, Span};
use ravel_specialize::{Extent, Named, Places};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Calls above a function that are shown.
const MOST_CALLS: usize = 4;

/// Other calls that run the same code that are shown.
const MOST_OTHERS: usize = 3;

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
    known: Arc<Mutex<HashMap<String, Vec<Asked>>>>,
}

/// A place that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Asked {
    span: Span,
    /// The code there belongs to a function of the library, which other calls run as well.
    shared: bool,
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

    /// Where the only function of this name in the user's files begins.
    pub fn place_of(&self, map: &SourceMap, name: &str) -> Option<String> {
        let own = |head: &&Head| head.name == name && map.get(head.file).is_some_and(|file| !is_library(&file.name));
        let mut heads = self.heads.iter().filter(own);
        let head = heads.next()?;
        heads.next().is_none().then(|| map.describe(Span { file: head.file, start: head.start, end: head.start }))
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
            let (asked, places) = (self.asked(span, function), known.entry(place).or_default());
            places.iter().position(|known| *known == asked).unwrap_or_else(|| {
                places.push(asked);
                places.len() - 1
            })
        });
        if nth == 0 { text } else { format!("{text}\n#{nth}") }
    }

    /// The same with the source line behind, for code that runs where the source is not at hand.
    pub fn place_with_source(&self, map: &SourceMap, span: Span, function: &str) -> String {
        if span.is_none() {
            return format!(" in {function}");
        }
        format!(
            "{}\n{}",
            self.words(map, span, function).1,
            self.excerpt(map, self.asked(span, function)).unwrap_or_default()
        )
    }

    /// A place in the code of a function.
    fn asked(&self, span: Span, function: &str) -> Asked {
        let inside = self.head(span).is_some_and(|(_, name)| name == function);
        Asked { span, shared: !inside && self.noted.shared.contains_key(&span) }
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
        match self.at(&report).and_then(|asked| self.excerpt(map, asked)) {
            Some(excerpt) => report.show(&excerpt),
            _ => report,
        }
    }

    /// The source at the place that a fault names.
    fn at(&self, report: &Report) -> Option<Asked> {
        self.known.lock().ok()?.get(report.position.as_ref()?)?.get(report.nth()?).copied()
    }

    /// The line of source with what is known there, and slots for what the fault knows.
    fn excerpt(&self, map: &SourceMap, Asked { span, shared }: Asked) -> Option<String> {
        let arrays = self.noted.noted.get(&span).map_or(&[][..], |noted| &noted.arrays);
        let mut arrays: Vec<String> = arrays.iter().map(described).collect();
        arrays.dedup();
        // The arrays are those of one call.
        if shared {
            arrays.clear();
        }
        let mut calls = self.calls(map, span);
        if shared {
            calls.push_str(&self.others(map, span));
        }
        let calls = if calls.is_empty() { calls } else { format!("({calls})") };
        ravel_diagnostics::excerpt(span, (&arrays.join(", "), &calls), map)
    }

    /// The calls that run the same code as the one at `span`: which of them it was is not known.
    fn others(&self, map: &SourceMap, span: Span) -> String {
        let mut found = vec![span];
        let mut next = 0;
        while let Some(others) = found.get(next).map(|span| self.noted.shared.get(span)) {
            let new: Vec<Span> = others.into_iter().flatten().filter(|other| !found.contains(other)).copied().collect();
            found.extend(new);
            next += 1;
        }
        let named = |other: &Span| {
            let at = match map.line_col(*other) {
                Some(at) if other.file == span.file => format!("{}:{}", at.line, at.column),
                _ => map.describe(*other),
            };
            match self.around(*other).filter(|head| !NOT_WRITTEN.contains(&head.name.as_str())) {
                Some(head) => format!("{at} in {}", head.name),
                None => at,
            }
        };
        let shown: Vec<String> = found[1..].iter().take(MOST_OTHERS).map(named).collect();
        match (found.len() - 1).saturating_sub(MOST_OTHERS) {
            0 => format!("; or the call at {}, which runs the same code", shown.join(", or at ")),
            more => format!("; or the call at {}, or {more} more, which run the same code", shown.join(", or at ")),
        }
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
