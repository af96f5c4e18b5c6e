//! Which SaC function a place in the source belongs to, however the code there was inlined.

use ravel_core::ir::Program;
use ravel_source::{FileId, SourceMap, Span};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The heads of all functions of a program, by file and position.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    heads: Vec<(FileId, u32, String)>,
    /// The places that were asked for, by their texts.
    known: Arc<Mutex<HashMap<String, Span>>>,
}

impl Functions {
    pub fn of(program: &Program) -> Functions {
        let heads = program.funs.iter().filter(|fun| !fun.span.is_none());
        let mut heads: Vec<_> = heads.map(|fun| (fun.span.file, fun.span.start, fun.name.clone())).collect();
        heads.sort();
        Functions { heads, known: Arc::default() }
    }

    /// Functions do not nest: a place belongs to the last head before it. Where that begins, and its name.
    pub fn head(&self, span: Span) -> Option<(u32, &str)> {
        let after = self.heads.partition_point(|(file, start, _)| (*file, *start) <= (span.file, span.start));
        let (file, start, name) = self.heads[..after].last()?;
        (*file == span.file).then_some((*start, name))
    }

    /// `file.sac:3:10 in f`, as faults show it. Places without a text belong to `function`.
    pub fn place(&self, map: &SourceMap, span: Span, function: &str) -> String {
        if span.is_none() {
            return format!(" in {function}");
        }
        let function = self.head(span).map_or(function, |(_, name)| name);
        let place = map.describe(span);
        let text = format!("{place} in {function}");
        if let Ok(mut known) = self.known.lock() {
            // Of several texts that begin at one place, the shortest is the one that is at fault.
            let shorter = |other: &Span| other.end <= span.end;
            if !known.get(&place).is_some_and(shorter) {
                known.insert(place, span);
            }
        }
        text
    }

    /// The source at a place that a fault names.
    pub fn at(&self, place: &str) -> Option<Span> {
        self.known.lock().ok()?.get(place).copied()
    }
}
