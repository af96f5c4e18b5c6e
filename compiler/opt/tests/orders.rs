//! The orders of passes: every entry says why it is there, every pass is in one.

#![expect(clippy::disallowed_methods, reason = "the test reads files")]

use ravel_opt::{PASSES, RENAMED, orders};
use std::fs;
use std::path::Path;

#[test]
fn every_entry_says_why() {
    let mut wrong = Vec::new();
    for (order, entries) in orders() {
        for (passes, why) in entries {
            let names: Vec<&str> = passes.iter().map(|pass| pass.name).collect();
            if names.is_empty() || why.len() < 20 || !why.ends_with('.') {
                wrong.push(format!("{order}: {names:?} does not say why it is there: {why:?}"));
            }
            // Names of passes, which may change.
            let words = why.split(|c: char| c != '-' && !c.is_ascii_alphanumeric()).filter(|word| word.contains('-'));
            let is_term = |word: &&str| word.to_lowercase().starts_with("with-loop");
            for word in words.filter(|word| !is_term(word) && PASSES.iter().all(|pass| pass.name != *word)) {
                wrong.push(format!("{order}: {names:?} names `{word}`, which is no pass"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Names of the passes in the files of a folder.
fn defined(folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            defined(&path, names);
        } else if let Ok(text) = fs::read_to_string(&path)
            && let Some((_, pass)) = text.split_once("pub const PASS: Pass")
            && let Some(name) = pass.split('"').nth(1)
        {
            names.push(name.to_string());
        }
    }
}

#[test]
fn every_pass_is_in_an_order() {
    let mut names = Vec::new();
    defined(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut names);
    assert!(names.len() > 50, "the sources are not there");
    let missing: Vec<&String> = names.iter().filter(|name| PASSES.iter().all(|pass| pass.name != **name)).collect();
    assert!(missing.is_empty(), "in no order: {missing:?}");
    assert_eq!(names.len(), PASSES.len(), "two passes of one name");
}

#[test]
fn old_names_lead_to_passes_and_are_no_passes() {
    let is_pass = |name: &str| PASSES.iter().any(|pass| pass.name == name);
    let wrong: Vec<_> = RENAMED.iter().filter(|(old, new)| is_pass(old) || !is_pass(new)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
