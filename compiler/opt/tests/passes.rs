//! What every pass must have: texts in which it fires and in which it declines, and a program that shows what it is worth.

#![expect(clippy::disallowed_methods, reason = "the test reads files")]

use ravel_opt::PASSES;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The texts of a folder, and the one file.
fn texts(folder: &Path, ending: &str, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            texts(&path, ending, found);
        } else if path.extension().is_some_and(|extension| extension == ending)
            && let Ok(text) = fs::read_to_string(&path)
        {
            found.push((path, text));
        }
    }
}

#[test]
fn every_pass_has_a_text_that_fires_and_one_that_declines() {
    let mut missing = Vec::new();
    for pass in PASSES.iter() {
        let mut files = Vec::new();
        texts(&root().join("tests/ir").join(pass.name), "wir", &mut files);
        let runs = |text: &str| {
            let passes = text.lines().find_map(|line| line.strip_prefix("//! passes:"));
            passes.is_some_and(|passes| passes.split(',').any(|name| name.trim() == pass.name))
        };
        let declines = |text: &str| text.contains("\n==== expect unchanged");
        let of_pass = || files.iter().map(|(_, text)| text).filter(|text| runs(text));
        if !of_pass().any(|text| declines(text)) {
            missing.push(format!("tests/ir/{} has no file in which it declines: `==== expect unchanged`", pass.name));
        }
        if of_pass().all(|text| declines(text)) {
            missing.push(format!("tests/ir/{} has no file in which it fires", pass.name));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// A line `Worth: tests/survey/<topic>/<program> (factor)` in the header of a pass: time without it over time with it, a second figure where extents are
/// hidden.
#[test]
fn every_pass_names_a_program_that_shows_what_it_is_worth() {
    let mut files = Vec::new();
    texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "rs", &mut files);
    let mut wrong = Vec::new();
    for (path, text) in files.iter().filter(|(_, text)| text.contains("pub const PASS: Pass")) {
        let program =
            text.lines().find_map(|line| line.strip_prefix("//! Worth: ")).and_then(|rest| rest.split(' ').next());
        if !program.is_some_and(|program| root().join(program).with_extension("sac").is_file()) {
            wrong.push(format!("{} names no program that shows what it is worth: {program:?}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
