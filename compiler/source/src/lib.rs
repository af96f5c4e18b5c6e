//! Source text: files, byte spans and the map from a span back to a line and column.
//!
//! A [`SourceMap`] owns every text that a compilation has read. A [`Span`] is a half-open byte range of one of those
//! texts; every AST node, core node and WIR check carries one.
//!
//! Texts of modules may outlive the compilation: trees that were made of them are used again, and with them their spans. Such
//! texts have numbers of their own kind, which no later text takes.

use std::sync::Arc;

/// Identifies a text of a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// Half-open byte range `start..end` of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// The span of something no text was written for (a REPL wrapper, a synthesised function).
    pub const NONE: Span = Span { file: FileId(u32::MAX), start: 0, end: 0 };

    pub fn new(file: FileId, start: usize, end: usize) -> Span {
        Span { file, start: start as u32, end: end as u32 }
    }

    /// The smallest span that covers both; the first one if they lie in different files.
    pub fn to(self, other: Span) -> Span {
        if self == Span::NONE {
            return other;
        }
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    pub fn is_none(self) -> bool {
        self.file.0 == u32::MAX
    }
}

/// A text and the name that diagnostics show for it.
#[derive(Clone, Debug)]
pub struct SourceFile {
    pub name: String,
    pub text: Arc<str>,
    line_starts: Vec<u32>,
}

impl SourceFile {
    fn new(name: String, text: Arc<str>) -> SourceFile {
        let line_starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1))
            .collect();
        SourceFile { name, text, line_starts }
    }
}

/// 1-based line and column; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineCol {
    pub line: usize,
    pub column: usize,
}

/// Numbers from here on belong to texts that outlive a compilation. Those of one compilation alone come first.
const LASTING: u32 = 1 << 30;

/// All texts of one compilation, in the order in which they were read.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    /// Texts of this compilation alone, each with its place in `read`.
    own: Vec<(u32, Arc<SourceFile>)>,
    /// Texts that outlive the compilation, also those that only others have read. The list only grows.
    lasting: Vec<Arc<SourceFile>>,
    /// What this compilation has read.
    read: Vec<FileId>,
    /// By lasting text: its place in `read`.
    places: Vec<Option<u32>>,
}

/// A place in the order in which a compilation read its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u32, u32, u32);

impl SourceMap {
    /// Adds a text that goes with the compilation.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        let place = self.read.len() as u32;
        self.own.push((place, Arc::new(SourceFile::new(name.into(), text.into()))));
        let id = FileId(self.own.len() as u32 - 1);
        self.read.push(id);
        id
    }

    /// Adds a text that stays for later compilations; the same text under the same name is there once.
    pub fn add_lasting(&mut self, name: &str, text: impl Into<Arc<str>>) -> FileId {
        let text = text.into();
        let same = |file: &Arc<SourceFile>| file.name == name && file.text == text;
        let at = self.lasting.iter().rposition(same).unwrap_or_else(|| {
            self.lasting.push(Arc::new(SourceFile::new(name.to_string(), text.clone())));
            self.lasting.len() - 1
        });
        let id = FileId(LASTING + at as u32);
        self.read_again(id);
        id
    }

    /// A lasting text counts as read by this compilation, too.
    pub fn read_again(&mut self, id: FileId) {
        let at = id.0.wrapping_sub(LASTING) as usize;
        if at >= self.lasting.len() {
            return;
        }
        self.places.resize(self.lasting.len(), None);
        if self.places[at].is_none() {
            self.places[at] = Some(self.read.len() as u32);
            self.read.push(id);
        }
    }

    /// Whether the text outlives the compilation.
    pub fn lasts(&self, id: FileId) -> bool {
        id.0 >= LASTING && self.get(id).is_some()
    }

    /// Takes over the texts that earlier compilations left; false if this one has such texts already, with the same numbers.
    pub fn inherit(&mut self, earlier: &SourceMap) -> bool {
        let is_first = self.lasting.is_empty();
        if is_first {
            self.lasting.clone_from(&earlier.lasting);
        }
        is_first
    }

    /// The texts that outlive this compilation.
    #[must_use]
    pub fn legacy(&self) -> SourceMap {
        SourceMap { lasting: self.lasting.clone(), ..SourceMap::default() }
    }

    /// The file of `id`, or nothing for [`Span::NONE`].
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        match id.0.checked_sub(LASTING) {
            None => self.own.get(id.0 as usize).map(|(_, file)| &**file),
            Some(at) => self.lasting.get(at as usize).map(|file| &**file),
        }
    }

    /// What the compilation has read, in its order.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.read.iter().filter_map(|id| Some((*id, self.get(*id)?)))
    }

    /// By what reports are sorted: files as they were read, whoever read them before, and [`Span::NONE`] last.
    pub fn position(&self, span: Span) -> Position {
        let place = match span.file.0.checked_sub(LASTING) {
            None => self.own.get(span.file.0 as usize).map(|(place, _)| *place),
            Some(at) => self.places.get(at as usize).copied().flatten(),
        };
        Position(place.unwrap_or(u32::MAX), span.start, span.end)
    }

    /// Line and column of the first byte of `span`.
    pub fn line_col(&self, span: Span) -> Option<LineCol> {
        let file = self.get(span.file)?;
        let line = file.line_starts.partition_point(|start| *start <= span.start) - 1;
        let from = file.line_starts[line] as usize;
        let upto = (span.start as usize).min(file.text.len());
        let column = file.text.get(from..upto).map_or(upto - from, |s| s.chars().count()) + 1;
        Some(LineCol { line: line + 1, column })
    }

    /// `file:line:column`, the form that fault messages use; `<unknown>` for [`Span::NONE`].
    pub fn describe(&self, span: Span) -> String {
        match (self.get(span.file), self.line_col(span)) {
            (Some(file), Some(at)) => format!("{}:{}:{}", file.name, at.line, at.column),
            _ => "<unknown>".to_string(),
        }
    }

    /// The text that `span` covers, empty for [`Span::NONE`].
    pub fn snippet(&self, span: Span) -> &str {
        self.get(span.file).and_then(|f| f.text.get(span.start as usize..span.end as usize)).unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let mut map = SourceMap::default();
        let file = map.add("a.sac", "ab\ncä = d;\n");
        assert_eq!(map.line_col(Span::new(file, 0, 1)), Some(LineCol { line: 1, column: 1 }));
        assert_eq!(map.line_col(Span::new(file, 3, 4)), Some(LineCol { line: 2, column: 1 }));
        assert_eq!(map.line_col(Span::new(file, 7, 8)), Some(LineCol { line: 2, column: 4 }));
        assert_eq!(map.describe(Span::NONE), "<unknown>");
    }

    #[test]
    fn lasting_texts_keep_their_numbers_and_are_ordered_as_they_are_read() {
        let mut first = SourceMap::default();
        first.add("root", "");
        let (a, b) = (first.add_lasting("a", "x"), first.add_lasting("b", "y"));
        assert_eq!(first.add_lasting("a", "x"), a);
        let mut second = SourceMap::default();
        assert!(second.inherit(&first.legacy()) && !second.inherit(&first.legacy()));
        let root = second.add("root", "z");
        assert_eq!(second.files().count(), 1);
        assert_eq!((second.add_lasting("b", "y"), second.add_lasting("a", "w")), (b, FileId(a.0 + 2)));
        let names: Vec<_> = second.files().map(|(_, file)| format!("{} {}", file.name, file.text)).collect();
        assert_eq!(names, ["root z", "b y", "a w"]);
        second.read_again(a);
        assert_eq!(second.get(a).map(|file| &*file.text), Some("x"));
        let order = [root, b, FileId(a.0 + 2), a].map(|file| second.position(Span::new(file, 0, 1)));
        assert!(order.is_sorted() && order[3] < second.position(Span::NONE));
        assert!(second.get(FileId(a.0 + 3)).is_none() && second.get(FileId(1)).is_none());
    }
}
