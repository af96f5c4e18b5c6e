//! Every SaC file of the repository parses without a report and survives printing.
//!
//! `RAVEL_CORPUS` may name more folders, separated by colons.

use crate::common::{Library, parse_named, parse_with, repository, sac_files};
use ravel_syntax::{NoIncludes, equal_modulo_spans, print_file};

#[test]
fn every_file_of_the_repository_survives_printing() {
    let mut files = Vec::new();
    for folder in ["stdlib", "examples", "tests/golden"] {
        sac_files(&repository().join(folder), &mut files);
    }
    for folder in std::env::var("RAVEL_CORPUS").unwrap_or_default().split(':').filter(|f| !f.is_empty()) {
        sac_files(folder.as_ref(), &mut files);
    }
    let library = Library::scan(&files);
    let mut failures = Vec::new();
    for path in &files {
        let parsed = parse_with(&library, path);
        if !parsed.reports.is_empty() {
            failures.push(parsed.rendered());
            continue;
        }
        let text = print_file(&parsed.file);
        let again = parse_named(&library, "printed", &text, &mut NoIncludes);
        if !again.reports.is_empty() {
            failures.push(format!("{}: printed text does not parse\n{}", path.display(), again.rendered()));
        } else if !equal_modulo_spans(&parsed.file, &again.file) {
            failures.push(format!("{}: printed text parses to another tree\n{text}", path.display()));
        } else if print_file(&again.file) != text {
            failures.push(format!("{}: printing twice gives another text", path.display()));
        }
    }
    assert!(failures.is_empty(), "{} of {} files\n{}", failures.len(), files.len(), failures.join("\n"));
}
