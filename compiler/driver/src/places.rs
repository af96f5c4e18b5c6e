//! Which SaC function a place in the source belongs to, however the code there was inlined.

use ravel_core::ir::Program;
use ravel_source::{FileId, SourceMap, Span};

/// The heads of all functions of a program, by file and position.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    heads: Vec<(FileId, u32, String)>,
}

impl Functions {
    pub fn of(program: &Program) -> Functions {
        let heads = program.funs.iter().filter(|fun| !fun.span.is_none());
        let mut heads: Vec<_> = heads.map(|fun| (fun.span.file, fun.span.start, fun.name.clone())).collect();
        heads.sort();
        Functions { heads }
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
        format!("{} in {function}", map.describe(span))
    }
}
