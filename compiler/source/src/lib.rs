//! Source text: files, byte spans and the map from a span back to a line and column.
//!
//! A [`SourceMap`] owns every text that a compilation has read. A [`Span`] is a half-open byte range of one of those
//! texts; every AST node, core node and WIR check carries one.

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

/// 1-based line and column; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineCol {
    pub line: usize,
    pub column: usize,
}

/// All texts of one compilation, in the order in which they were read.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        let text = text.into();
        let line_starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1))
            .collect();
        self.files.push(SourceFile { name: name.into(), text, line_starts });
        FileId(self.files.len() as u32 - 1)
    }

    /// The file of `id`, or nothing for [`Span::NONE`].
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i as u32), f))
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
}
