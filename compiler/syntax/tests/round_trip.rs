//! Every SaC file of the repository parses without a report and survives printing.
//!
//! `RAVEL_CORPUS` may name more folders, separated by colons.

mod common;

use common::{Library, parse_with, repository, sac_files};

#[test]
fn every_file_of_the_repository_parses() {
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
        if parsed.reports.is_empty() {
            continue;
        }
        failures.push(parsed.rendered());
    }
    assert!(failures.is_empty(), "{} of {} files\n{}", failures.len(), files.len(), failures.join("\n"));
}
