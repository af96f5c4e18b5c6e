//! `ravel check --fix`: applies the edits that reports offer, and looks again, until none is left.

use crate::files::is_library;
use crate::pipeline::{Compilation, Failure, Options};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::{FileId, SourceMap, Span};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Iterations after which fixes that bring each other back are left alone.
const MOST_ITERATIONS: usize = 10;

/// A file that fixes changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    pub path: PathBuf,
    /// What was read.
    pub before: Arc<str>,
    pub after: Arc<str>,
}

/// What became of a program.
pub struct Fixed {
    /// The last look at it: what is left.
    pub compilation: Compilation,
    /// Files in the order in which they were read; nothing is written yet.
    pub files: Vec<Mended>,
    /// How many fixes were applied.
    pub count: usize,
}

/// Checks a file, applies safe fixes, or all, and checks again. A step is taken back if what it was to mend is still there, or the text can no
/// longer be read; that it brings to light what else is wrong is its purpose.
///
/// # Errors
/// [`Failure::Unreadable`].
pub fn fix(options: &Options, path: &Path, unsafe_too: bool) -> Result<Fixed, Failure> {
    let mut options = options.clone();
    let mut fixed = Fixed { compilation: checked(&options, path)?, files: Vec::new(), count: 0 };
    for _ in 0..MOST_ITERATIONS {
        let Edited { texts, mended } = edited(&fixed.compilation, unsafe_too);
        if texts.is_empty() {
            break;
        }
        let mut tried = options.clone();
        for (file, text) in &texts {
            tried.texts.set(PathBuf::from(name(&fixed.compilation.map, *file)), text.clone());
        }
        let next = checked(&tried, path)?;
        let is_left = next.diagnostics.iter().any(|report| mended.contains(&identity(report, &next.map)));
        if is_left || unreadable(&next) && !unreadable(&fixed.compilation) {
            break;
        }
        for (file, after) in texts {
            let path = PathBuf::from(name(&fixed.compilation.map, file));
            match fixed.files.iter_mut().find(|known| known.path == path) {
                Some(known) => known.after = after,
                None => {
                    let before =
                        fixed.compilation.map.get(file).map_or_else(|| Arc::from(""), |file| file.text.clone());
                    fixed.files.push(Mended { path, before, after });
                }
            }
        }
        fixed.count += mended.len();
        fixed.compilation = next;
        options = tried;
    }
    Ok(fixed)
}

fn checked(options: &Options, path: &Path) -> Result<Compilation, Failure> {
    let mut compilation = Compilation::new(options.clone());
    match compilation.check(path) {
        Ok(()) | Err(Failure::Source) => Ok(compilation),
        Err(other) => Err(other),
    }
}

/// What makes a report the same one after an edit elsewhere: places move.
type Identity = (Code, String, String);

fn identity(report: &Diagnostic, map: &SourceMap) -> Identity {
    let line = map.get(report.span().file).and_then(|file| {
        let at = report.span().start as usize;
        let from = file.text.get(..at)?.rfind('\n').map_or(0, |i| i + 1);
        file.text.get(from..)?.lines().next()
    });
    (report.code, report.title.clone(), line.unwrap_or_default().to_string())
}

/// Whether there are errors in characters, directives or grammar.
fn unreadable(compilation: &Compilation) -> bool {
    compilation.diagnostics.iter().any(|report| report.is_error() && report.code.text().starts_with("E01"))
}

/// Texts with fixes in them, and what these are to mend.
struct Edited {
    texts: Vec<(FileId, Arc<str>)>,
    mended: Vec<Identity>,
}

fn name(map: &SourceMap, file: FileId) -> &str {
    map.get(file).map_or("", |file| file.name.as_str())
}

/// The user's files with the first fix of each report in them, as far as these do not meet.
fn edited(compilation: &Compilation, unsafe_too: bool) -> Edited {
    let mut edits: BTreeMap<FileId, Vec<&(Span, String)>> = BTreeMap::new();
    let mut mended = Vec::new();
    let own = |span: Span| compilation.map.get(span.file).is_some_and(|file| !is_library(&file.name));
    // What is unused in a program with errors may be used in the one that is meant.
    let has_errors = compilation.has_errors();
    for report in compilation.diagnostics.iter().filter(|report| report.is_error() || !has_errors) {
        let Some(fix) = report.fixes.iter().find(|fix| fix.safe || unsafe_too) else { continue };
        let taken: Vec<&(Span, String)> = edits.values().flatten().copied().collect();
        // The same edit for several reports is one.
        let new: Vec<&(Span, String)> = fix.edits.iter().filter(|edit| !taken.contains(edit)).collect();
        let meets = |(span, _): &&(Span, String)| taken.iter().any(|(other, _)| touch(*span, *other));
        if new.is_empty() || !new.iter().all(|(span, _)| own(*span)) || new.iter().any(meets) {
            continue;
        }
        mended.push(identity(report, &compilation.map));
        for edit in new {
            edits.entry(edit.0.file).or_default().push(edit);
        }
    }
    let mut edits: Vec<_> = edits.into_iter().collect();
    edits.sort_by_key(|(file, _)| compilation.map.position(Span::new(*file, 0, 0)));
    let texts = edits.into_iter().filter_map(|(file, mut edits)| {
        let text = &compilation.map.get(file)?.text;
        edits.sort_by_key(|(span, _)| *span);
        Some((file, Arc::from(apply(text, &edits)?)))
    });
    Edited { texts: texts.collect(), mended }
}

/// Whether two places share a byte, or both insert at one.
fn touch(a: Span, b: Span) -> bool {
    a.file == b.file && (a.start < b.end && b.start < a.end || a.start == b.start)
}

/// A text after edits, which are in order; nothing if they lie outside of it.
fn apply(text: &str, edits: &[&(Span, String)]) -> Option<String> {
    let mut out = String::new();
    let mut from = 0;
    for (span, new) in edits {
        out.push_str(text.get(from..span.start as usize)?);
        out.push_str(new);
        from = span.end as usize;
    }
    out.push_str(text.get(from..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_replace_insert_and_stay_inside() {
        let at = |start, end| Span::new(FileId(0), start, end);
        let edits = [(at(0, 0), "use A: all;\n".to_string()), (at(4, 5), "tod(1)".to_string())];
        let edits: Vec<_> = edits.iter().collect();
        assert_eq!(apply("x = 1;", &edits).as_deref(), Some("use A: all;\nx = tod(1);"));
        assert_eq!(apply("x", &edits), None);
        assert!(touch(at(3, 3), at(3, 3)) && touch(at(1, 4), at(2, 3)) && !touch(at(1, 2), at(2, 3)));
    }
}
