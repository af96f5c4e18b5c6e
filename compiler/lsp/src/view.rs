//! An open text with what is known of it: the newest facts, carried through the edits since.

use crate::drift::{Edit, around, back, forward};
use crate::programs::Programs;
use crate::texts::{Encoding, Lines, uri_of};
use ravel_core::facts::{Def, DefKind, Use};
use ravel_driver::facts::{Facts, Value};
use ravel_driver::files::is_library;
use ravel_source::{FileId, Span};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// A text that the editor holds.
pub struct Document {
    pub path: PathBuf,
    pub text: String,
    pub version: i64,
    /// Edits since the text was looked at that the facts are about, each with the version that it made.
    pub edits: Vec<(i64, Edit)>,
    pub known: Option<Known>,
}

/// The newest facts.
#[derive(Clone)]
pub struct Known {
    pub facts: Arc<Facts>,
    /// The document itself.
    pub file: FileId,
    pub version: i64,
    /// What became of with-loops when the text was last saved.
    pub lenses: Vec<(Range<usize>, String)>,
}

/// All open texts.
pub type Documents = BTreeMap<String, Document>;

/// A document that something is known of.
pub struct View<'d> {
    pub documents: &'d Documents,
    /// Programs that are not open.
    pub programs: &'d Programs,
    pub document: &'d Document,
    pub facts: &'d Facts,
    pub file: FileId,
    pub edits: Vec<Edit>,
    pub lines: Lines<'d>,
    pub encoding: Encoding,
}

impl<'d> View<'d> {
    pub fn new(documents: &'d Documents, programs: &'d Programs, uri: &str, encoding: Encoding) -> Option<View<'d>> {
        let document = documents.get(uri)?;
        let known = document.known.as_ref()?;
        let edits = document.edits.iter().map(|(_, edit)| *edit).collect();
        let lines = Lines::new(&document.text, encoding);
        Some(View { documents, programs, document, facts: &known.facts, file: known.file, edits, lines, encoding })
    }

    /// The byte of the text as it was looked at that stands at a position now.
    pub fn byte(&self, position: &Json) -> u32 {
        back(&self.edits, self.lines.offset(position)) as u32
    }

    /// The name at a position.
    pub fn name(&self, position: &Json) -> Option<&'d Use> {
        let found = self.facts.use_at(self.file, self.byte(position))?;
        // A name that has changed is another name.
        forward(&self.edits, found.span.start as usize..found.span.end as usize)?;
        Some(found)
    }

    pub fn def(&self, at: u32) -> Option<&'d Def> {
        self.facts.defs.get(at as usize)
    }

    /// Where a place of this document stands now.
    pub fn range(&self, span: Span) -> Option<Json> {
        let at = forward(&self.edits, span.start as usize..span.end as usize)?;
        Some(self.lines_range(at.start, at.end))
    }

    /// The same for something that may have changed inside.
    pub fn whole(&self, span: Span) -> Json {
        let at = around(&self.edits, span.start as usize..span.end as usize);
        self.lines_range(at.start, at.end)
    }

    /// What became of with-loops, above each of them.
    pub fn lenses(&self) -> Vec<Json> {
        let lenses = self.document.known.iter().flat_map(|known| &known.lenses);
        let lenses = lenses.filter_map(|(span, title)| {
            let at = forward(&self.edits, span.clone())?;
            let command = json!({ "title": title, "command": "" });
            Some(json!({ "range": self.lines_range(at.start, at.end), "command": command }))
        });
        lenses.collect()
    }

    pub fn lines_range(&self, start: usize, end: usize) -> Json {
        json!({ "start": self.lines.position(start), "end": self.lines.position(end) })
    }

    /// What is known of all open texts, and of programs that are not open.
    pub fn all_facts(&self) -> impl Iterator<Item = &'d Facts> + use<'d> {
        let open = self.documents.values().filter_map(|document| document.known.as_ref());
        open.map(|known| &*known.facts).chain(self.programs.values().map(|facts| &**facts))
    }

    /// Address and range of a place in any file that the facts are about.
    pub fn location(&self, span: Span) -> Option<Json> {
        self.location_by(self.facts, span)
    }

    /// The same of other facts; nothing if the text has become another one since.
    pub fn location_by(&self, facts: &Facts, span: Span) -> Option<Json> {
        let is_own = std::ptr::eq(facts, self.facts);
        if is_own && span.file == self.file {
            let uri = uri_of(&self.document.path)?;
            return Some(json!({ "uri": uri, "range": self.range(span)? }));
        }
        let file = facts.map.get(span.file)?;
        let path = match is_library(&file.name) {
            true => ravel_driver::copies::on_disk(&file.name)?,
            false => std::path::absolute(&file.name).ok()?,
        };
        let uri = uri_of(&path)?;
        // Another text may have moved on, too.
        let open = self.documents.values().find(|other| other.path == path);
        if let Some(open) = open
            && let Some(known) = &open.known
            && known.facts.map.get(known.file).is_some_and(|own| own.text == file.text)
        {
            let edits: Vec<Edit> = open.edits.iter().map(|(_, edit)| *edit).collect();
            let at = forward(&edits, span.start as usize..span.end as usize)?;
            let lines = Lines::new(&open.text, self.encoding);
            return Some(
                json!({ "uri": uri, "range": { "start": lines.position(at.start), "end": lines.position(at.end) } }),
            );
        }
        if open.is_some() && !is_own {
            return None;
        }
        let lines = Lines::new(&file.text, self.encoding);
        let (start, end) = (lines.position(span.start as usize), lines.position(span.end as usize));
        Some(json!({ "uri": uri, "range": { "start": start, "end": end } }))
    }

    /// What is known of a place: by this document's own check, else by those of programs that use it. Each with the facts that it belongs to.
    pub fn values(&self, span: Span) -> (&'d Facts, &'d [Value]) {
        let own = self.facts.values(span);
        let is_called = |facts: &Facts, values: &[Value]| {
            values.iter().any(|value| facts.instances.get(value.instance as usize).is_some_and(|known| known.is_called))
        };
        if is_called(self.facts, own) {
            return (self.facts, own);
        }
        let Some(file) = self.facts.map.get(span.file) else { return (self.facts, own) };
        for facts in self.all_facts() {
            let same = facts.map.files().find(|(_, other)| other.name == file.name && other.text == file.text);
            if let Some((id, _)) = same {
                let values = facts.values(Span { file: id, ..span });
                if is_called(facts, values) {
                    return (facts, values);
                }
            }
        }
        (self.facts, own)
    }
}

/// The kinds of symbols as the protocol numbers them.
pub fn symbol_kind(kind: DefKind) -> u32 {
    match kind {
        DefKind::Function => 12,
        DefKind::Type => 5,
        DefKind::Struct => 23,
        DefKind::Field => 8,
        DefKind::Object => 19,
        DefKind::Family => 26,
        DefKind::Module => 2,
        DefKind::Parameter | DefKind::Variable | DefKind::Index => 13,
        DefKind::Extent => 14,
    }
}
