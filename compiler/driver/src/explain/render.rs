//! The text of an explanation: functions in the order of the source, one block for each with-loop.

use super::{Explanation, Kept, Place};
use crate::files::is_library;
use crate::places::Functions;
use ravel_opt::Outcome;
use ravel_source::{SourceMap, Span};
use std::fmt::Write;

/// Characters of the source text shown of a with-loop.
const LONGEST_TEXT: usize = 72;
/// Instances of a function that are listed.
const MOST_INSTANCES: usize = 8;

impl Explanation {
    /// One block per with-loop of the source: the user's files first, in the order in which they were read.
    pub fn render(&self, map: &SourceMap, functions: &Functions) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "with-loops: {} before optimisation, {} after", self.counts.0, self.counts.1);
        if !self.target.is_empty() {
            let _ = writeln!(out, "target: {}", self.target);
        }
        let library = |span: &Span| map.get(span.file).is_none_or(|file| is_library(&file.name));
        let mut spans: Vec<&Span> = self.places.keys().collect();
        spans.sort_by_key(|span| (library(span), map.position(**span)));
        let mut last = None;
        for span in spans {
            let place = &self.places[span];
            if place.is_empty() {
                continue;
            }
            let function = functions.head(*span);
            if last != Some((span.file, function)) {
                last = Some((span.file, function));
                self.function_header(&mut out, map, functions, *span);
            }
            self.block(&mut out, map, *span, place);
        }
        out
    }

    /// The function around a place, and the instances of functions that its with-loops were part of.
    fn function_header(&self, out: &mut String, map: &SourceMap, functions: &Functions, span: Span) {
        let head = functions.head(span);
        let around = |other: &&Span| other.file == span.file && functions.head(**other) == head;
        let mut holders: Vec<&String> =
            self.places.keys().filter(around).flat_map(|s| &self.places[s].holders).collect();
        holders.sort();
        holders.dedup();
        let name = match (head, map.get(span.file)) {
            (Some((_, name)), Some(file)) => format!("{name} ({})", file.name),
            (_, Some(file)) => file.name.clone(),
            _ => "elsewhere".to_string(),
        };
        let _ = writeln!(out, "\n==== {name}");
        for holder in holders.iter().take(MOST_INSTANCES) {
            let _ = writeln!(out, "  as part of {holder}");
        }
        if holders.len() > MOST_INSTANCES {
            let _ = writeln!(out, "  as part of {} more instances", holders.len() - MOST_INSTANCES);
        }
    }

    fn block(&self, out: &mut String, map: &SourceMap, span: Span, place: &Place) {
        let text: Vec<&str> = map.snippet(span).split_whitespace().collect();
        let text = text.join(" ");
        let cut = text.char_indices().nth(LONGEST_TEXT).map(|(at, _)| format!("{} ...", &text[..at]));
        let _ = writeln!(out, "\n{}: {}", map.describe(span), cut.unwrap_or(text));
        for (pass, outcome) in &place.passes {
            if let Outcome::Applied(what) = outcome {
                let _ = writeln!(out, "  done  {pass}: {what}");
            }
        }
        // Why something that is gone was not treated otherwise is nobody's concern.
        for (pass, outcome) in place.passes.iter().filter(|_| !place.kept.is_empty()) {
            if let Outcome::Refused(why) = outcome {
                let _ = writeln!(out, "  not   {pass}: {why}");
            }
        }
        for kept in &place.kept {
            let _ = writeln!(out, "  left  {}", kept.describe(map, span));
            for line in &kept.schedule {
                let _ = writeln!(out, "        {line}");
            }
        }
        if place.kept.is_empty() && place.notes.is_empty() {
            let folded = place.passes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Applied(_)));
            let whose =
                if folded { "it is part of other code" } else { "it became part of other code, or nothing needs it" };
            let _ = writeln!(out, "  gone  {whose}");
        }
        for note in &place.notes {
            let _ = writeln!(out, "  note  {note}");
        }
    }
}

impl Place {
    fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.passes.is_empty() && self.kept.is_empty() && self.notes.is_empty()
    }
}

impl Kept {
    fn describe(&self, map: &SourceMap, own: Span) -> String {
        let mut text = self.what.clone();
        if self.count > 1 {
            let _ = write!(text, " ({} alike)", self.count);
        }
        match self.inside {
            Some(around) if around == own => text.push_str("; inside another one here"),
            Some(around) => {
                let _ = write!(text, "; inside that of {}", map.describe(around));
            }
            None => {}
        }
        if self.schedule.is_empty() && self.inside.is_some() {
            text.push_str(", as part of its loops");
        }
        if !self.checks.is_empty() {
            let places: Vec<String> = self.checks.iter().map(|span| map.describe(*span)).collect();
            let _ = write!(text, "; with checks of {}", places.join(", "));
        }
        text
    }
}
