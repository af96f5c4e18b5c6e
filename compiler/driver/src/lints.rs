//! Warnings as options and the heads of files want them.

use crate::edition::head;
use crate::files::is_library;
use crate::pipeline::Compilation;
use ravel_diagnostics::{Code, Diagnostic, Lint, Severity, lints_named};
use ravel_source::{FileId, Span};
use std::collections::BTreeMap;
use std::ops::Range;

/// The lists of the lines `//! allow NAME, NAME` of a file: each name with its bytes.
fn allowed(text: &str) -> Vec<(&str, Range<usize>)> {
    let mut names = Vec::new();
    for (content, line) in head(text) {
        let list = content.trim_start().strip_prefix("allow").filter(|rest| rest.starts_with([' ', '\t']));
        let Some(list) = list else { continue };
        let mut at = line.end - list.len();
        // A comment may follow.
        let list = list.split("//").next().unwrap_or_default();
        for piece in list.split_inclusive(|c: char| c == ',' || c.is_whitespace()) {
            let name = piece.trim_end_matches(|c: char| c == ',' || c.is_whitespace());
            if !name.is_empty() {
                names.push((name, at..at + name.len()));
            }
            at += piece.len();
        }
    }
    names
}

impl Compilation {
    /// Adds what the explanation says of costs in the user's files. Of a module nobody knows the ranks that callers will give it.
    pub(crate) fn add_costs(&mut self, is_program: bool) {
        let Some(explanation) = self.explanation.as_ref().filter(|_| self.options.lints.look_for_perf()) else {
            return;
        };
        let is_meant = |report: &&Diagnostic| {
            let is_own = self.map.get(report.span().file).is_some_and(|file| !is_library(&file.name));
            is_own && (is_program || report.code != Code::RankUnknown)
        };
        self.diagnostics.extend(explanation.costs().filter(is_meant).cloned());
    }

    /// Leaves out warnings that are not wanted, in the files that say so, too, and makes errors of those that are denied.
    pub(crate) fn settle_warnings(&mut self) {
        let mut silent: BTreeMap<FileId, Vec<Code>> = BTreeMap::new();
        let mut unknown = Vec::new();
        for (id, file) in self.map.files().filter(|(_, file)| !is_library(&file.name)) {
            for (name, at) in allowed(&file.text) {
                match lints_named(name) {
                    Ok(lints) => silent.entry(id).or_default().extend(lints.iter().map(|lint: &Lint| lint.code)),
                    Err(why) => {
                        let span = Span::new(id, at.start, at.end);
                        unknown.push(Diagnostic::warning(Code::UnknownWarning, why).at(span, "allows nothing"));
                    }
                }
            }
        }
        let reports = std::mem::take(&mut self.diagnostics).into_iter().chain(unknown);
        let is_silent = |report: &Diagnostic| {
            report.severity == Severity::Warning
                && silent.get(&report.span().file).is_some_and(|codes| codes.contains(&report.code))
        };
        // What mends an error may need what nothing uses now.
        let reports: Vec<Diagnostic> = reports.collect();
        let has_errors = reports.iter().any(Diagnostic::is_error);
        let is_early = |report: &Diagnostic| has_errors && report.code == Code::UnusedImport;
        let kept = reports.into_iter().filter(|report| !is_silent(report) && !is_early(report));
        self.diagnostics = kept.filter_map(|report| self.options.lints.settle(report)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_file_may_allow_warnings() {
        let names = |text: &'static str| -> Vec<(&str, &str)> {
            allowed(text).into_iter().map(|(name, at)| (name, &text[at])).collect()
        };
        let two = vec![("unused-import", "unused-import"), ("W0401", "W0401")];
        assert_eq!(names("// A program.\n//! allow unused-import, W0401  \nint main() { return 0; }\n"), two);
        assert_eq!(names("//! allow unused-import // so it is\n//!\tallow  W0401"), two);
        for none in ["", "//! allowed x\n", "//! allow\n", "use A: all;\n//! allow perf\n", "// allow perf\n"] {
            assert_eq!(names(none), vec![], "{none}");
        }
    }
}
