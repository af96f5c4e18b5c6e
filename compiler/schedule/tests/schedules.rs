//! Which strategy a with-loop gets, with its plan, and why those before it refused: the files of `schedules/`.

#![expect(clippy::disallowed_methods, reason = "the tests read files, and bless them")]

#[path = "schedules/cases.rs"]
mod cases;

use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schedules")
}

#[test]
fn schedules_are_as_written() {
    cases::check(&folder(), std::env::var_os("RAVEL_BLESS").is_some());
}

/// The words of every row of `refusals!`.
fn refusals() -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/facts/refusal.rs");
    let text = fs::read_to_string(source).expect("the source is there");
    let row = |line: &str| {
        let (_, words) = line.strip_prefix("    ")?.split_once(" => \"")?;
        Some(words.strip_suffix("\",")?.to_string())
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn every_refusal_is_shown() {
    let cases = cases::read(&folder());
    let all = refusals();
    assert!(all.len() > 60, "the rows are not there");
    let shown = |words: &String| {
        let end = format!(": {words}\n");
        cases.iter().any(|case| case.expected.contains(&end))
    };
    let missing: Vec<&String> = all.iter().filter(|words| !shown(words)).collect();
    assert!(missing.is_empty(), "no file shows {missing:#?}");
}

#[test]
fn every_strategy_is_shown() {
    let cases = cases::read(&folder());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/plan/strategy.rs");
    let table = fs::read_to_string(file).expect("the source is there");
    let rows = table.lines().filter_map(|line| {
        let words = line.trim_start().strip_prefix("Strategy { name: \"")?;
        words.split_once('"').map(|(name, _)| name)
    });
    // The last rows of some tables leave the decision to others.
    let names: Vec<&str> = rows.filter(|name| !["partitions", "parts", "alone"].contains(name)).collect();
    assert!(names.len() > 12, "the rows are not there: {names:?}");
    let shown = |name: &&str| {
        let line = format!("+ {name}");
        cases.iter().any(|case| case.expected.lines().any(|l| l.trim_start().starts_with(&line)))
    };
    let missing: Vec<&str> = names.into_iter().filter(|name| !shown(name)).collect();
    assert!(missing.is_empty(), "no file shows {missing:?}");
}
