//! The explanation in one line for each place, for editors that show it above the code.

use super::{Explanation, Place};
use crate::files::is_library;
use ravel_opt::Outcome;
use ravel_source::{SourceMap, Span};

/// What is left at a place that one line names.
const MOST_KEPT: usize = 2;

impl Explanation {
    /// Places in the user's files that there is something to say about.
    pub fn lenses(&self, map: &SourceMap) -> Vec<(Span, String)> {
        let own = |span: &Span| map.get(span.file).is_some_and(|file| !is_library(&file.name));
        let places = self.places.iter().filter(|(span, _)| own(span));
        places.filter_map(|(span, place)| Some((*span, place.line()?))).collect()
    }
}

impl Place {
    fn line(&self) -> Option<String> {
        let mut parts: Vec<String> = Vec::new();
        for kept in self.kept.iter().take(MOST_KEPT) {
            let mut words = vec![kept.what.clone()];
            words.extend(kept.schedule.iter().cloned());
            if kept.count > 1 {
                words.push(format!("{} alike", kept.count));
            }
            parts.push(words.join(" · "));
        }
        if self.kept.len() > MOST_KEPT {
            parts.push(format!("and {} more", self.kept.len() - MOST_KEPT));
        }
        if self.kept.is_empty() {
            let mut applied = self.passes.iter().filter_map(|(_, outcome)| match outcome {
                Outcome::Applied(what) => Some(what.to_string()),
                Outcome::Refused(_) => None,
            });
            let last = applied.next_back();
            // A place that nobody mentions has no with-loop.
            let gone = last.or_else(|| (!self.holders.is_empty()).then(|| "part of other code".to_string()));
            parts.extend(gone.filter(|_| self.notes.is_empty()));
        }
        parts.extend(self.notes.first().cloned());
        (!parts.is_empty()).then(|| parts.join(" | "))
    }
}
