//! `ravel check --fix`: applies the edits that reports offer, and looks again, until none is left.

use crate::files::is_library;
use crate::pipeline::{Compilation, Failure, Options};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::{FileId, SourceMap, Span};
use ravel_syntax::MacroOption;
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

/// Checks a file, applies safe fixes, or all, and checks again. A fix is taken back if what it was to mend is still there, and a step if the
/// text can no longer be read; that it brings to light what else is wrong is its purpose.
///
/// # Errors
/// [`Failure::Unreadable`].
pub fn fix(options: &Options, path: &Path, unsafe_too: bool) -> Result<Fixed, Failure> {
    let mut options = options.clone();
    let mut fixed = Fixed { compilation: checked(&options, path)?, files: Vec::new(), count: 0 };
    // Reports of the compilation at hand whose fixes did not help.
    let mut refused: Vec<Span> = Vec::new();
    for _ in 0..MOST_ITERATIONS {
        let macros = Macros::new(&options);
        let Edited { texts, mended } = edited(&fixed.compilation, &macros, unsafe_too, &refused);
        if texts.is_empty() {
            break;
        }
        let mut tried = options.clone();
        for (file, text) in &texts {
            tried.texts.set(PathBuf::from(name(&fixed.compilation.map, *file)), text.clone());
        }
        let next = checked(&tried, path)?;
        let left: Vec<Span> = mended
            .iter()
            .filter(|mended| mended.is_left(&fixed.compilation, &next))
            .map(|mended| mended.span)
            .collect();
        if !left.is_empty() {
            refused.extend(left);
            continue;
        }
        if unreadable(&next) && !unreadable(&fixed.compilation) {
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
        refused.clear();
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

/// A report whose fix is tried.
struct Tried {
    identity: Identity,
    /// In the text before.
    span: Span,
    /// In the text after.
    place: Span,
}

impl Tried {
    /// Whether the report is there after the edits as well: in a line of the same text, or of the same text at the place that its own has become.
    fn is_left(&self, before: &Compilation, after: &Compilation) -> bool {
        let (file, text) = (name(&before.map, self.span.file), before.map.snippet(self.span));
        after.diagnostics.iter().any(|report| {
            let span = report.span();
            let is_here = name(&after.map, span.file) == file
                && self.place.start <= span.start
                && span.end <= self.place.end
                && after.map.snippet(span) == text;
            let found = identity(report, &after.map);
            found == self.identity || is_here && (found.0, &found.1) == (self.identity.0, &self.identity.1)
        })
    }
}

/// The names of macros that the command line defines.
struct Macros(Vec<String>);

impl Macros {
    fn new(options: &Options) -> Macros {
        let names = options.macros.iter().filter_map(|option| match option {
            MacroOption::Define(text) => text.split(['=', '(']).next().map(str::to_string),
            MacroOption::Undefine(_) => None,
        });
        Macros(names.collect())
    }

    /// Whether an edit writes the value of a macro where its name stood.
    fn lost(&self, text: &str, (span, new): &(Span, String)) -> bool {
        let Some(old) = text.get(span.start as usize..span.end as usize).filter(|_| !new.is_empty()) else {
            return false;
        };
        let defined = text.lines().filter_map(|line| {
            let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define")?.trim_start();
            rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
        });
        let has =
            |text: &str, name: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
        let own = self.0.iter().map(String::as_str);
        // What is dropped as a whole goes with its macros.
        defined.chain(own).filter(|name| !name.is_empty()).any(|name| has(old, name) && !has(new, name))
    }
}

/// Whether there are errors in characters, directives or grammar.
fn unreadable(compilation: &Compilation) -> bool {
    compilation.diagnostics.iter().any(|report| report.is_error() && report.code.text().starts_with("E01"))
}

/// Texts with fixes in them, and what these are to mend.
struct Edited {
    texts: Vec<(FileId, Arc<str>)>,
    mended: Vec<Tried>,
}

fn name(map: &SourceMap, file: FileId) -> &str {
    map.get(file).map_or("", |file| file.name.as_str())
}

/// The user's files with the first fix of each report in them, as far as these do not meet.
fn edited(compilation: &Compilation, macros: &Macros, unsafe_too: bool, refused: &[Span]) -> Edited {
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
        let text = |span: Span| compilation.map.get(span.file).map_or("", |file| &file.text);
        if new.is_empty()
            || refused.contains(&report.span())
            || !new.iter().all(|(span, _)| own(*span))
            || new.iter().any(meets)
            || new.iter().any(|edit| macros.lost(text(edit.0), edit))
        {
            continue;
        }
        let span = report.span();
        mended.push(Tried { identity: identity(report, &compilation.map), span, place: span });
        for edit in new {
            edits.entry(edit.0.file).or_default().push(edit);
        }
    }
    for tried in &mut mended {
        let of_file = edits.get(&tried.span.file).map_or(&[][..], Vec::as_slice);
        tried.place = moved(tried.span, of_file);
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

/// Where a place is after edits; it takes in what they put at its borders.
fn moved(span: Span, edits: &[&(Span, String)]) -> Span {
    let shift = |upto: u32, counts: &dyn Fn(&Span) -> bool| {
        let moved = edits
            .iter()
            .filter(|(edit, _)| counts(edit))
            .fold(i64::from(upto), |at, (edit, new)| at + new.len() as i64 - i64::from(edit.end - edit.start));
        u32::try_from(moved).unwrap_or(0)
    };
    let start = shift(span.start, &|edit| edit.end <= span.start && edit.start < span.start);
    let end = shift(span.end, &|edit| edit.start <= span.end);
    Span { start, end: end.max(start), ..span }
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
        assert_eq!(moved(at(2, 5), &edits), at(14, 22));
        assert!(touch(at(3, 3), at(3, 3)) && touch(at(1, 4), at(2, 3)) && !touch(at(1, 2), at(2, 3)));
    }
}
