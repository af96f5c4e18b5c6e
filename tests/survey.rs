//! The survey: programs that show what the optimiser does with code as people write it.
//!
//! Every `survey/<topic>/<name>.sac` runs in every way, with small sizes, and prints the checksum that `survey/checks.tsv` has for it; that of
//! the interpreter is the reference. `fired.tsv` says which passes did something for which programs of the survey, the examples and the
//! benchmarks: a pass that loses its programs, or gains some, shows there. RAVEL_BLESS=1 adds checksums that are not there
//! yet, and writes `fired.tsv` anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ravel_tests::ways::{self, Way};
use ravel_tests::{Arguments, Failed, Trial, files_below, finish, ravel, repository};

/// Where programs are whose passes are noted.
const FOLDERS: [&str; 3] = ["examples", "tests/bench", "tests/survey"];

/// Of checksums, relative.
const ROUNDING: f64 = 1e-9;

/// Sizes and times of a test, and the folder of the modules that measure.
fn options() -> Vec<String> {
    let modules = repository().join("tests/bench/common");
    ["-D", "QUICK", "-D", "BUDGET=0.0", "-I", &modules.to_string_lossy()].map(String::from).to_vec()
}

fn blesses() -> bool {
    std::env::var_os("RAVEL_BLESS").is_some()
}

/// The last line `check NUMBER` that a program prints.
fn checksum(source: &Path, way: Way) -> Result<String, Failed> {
    let folder = tempfile::tempdir()?;
    let mut command = way.command(source, options(), folder.path())?;
    let run = finish(command.current_dir(folder.path()), b"")?;
    let line = run.stdout.lines().rev().find_map(|line| line.strip_prefix("check "));
    match line {
        Some(number) if run.status == 0 => Ok(number.to_string()),
        _ => Err(run.describe().into()),
    }
}

/// A file of two columns, by the first.
fn table(path: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| line.split_once('\t')).map(|(a, b)| (a.to_string(), b.to_string())).collect()
}

fn write_table(path: &Path, rows: &BTreeMap<String, String>) -> Result<(), Failed> {
    let mut text = String::new();
    for (name, value) in rows {
        let _ = writeln!(text, "{name}\t{value}");
    }
    Ok(fs::write(path, text)?)
}

/// A path from the root of the repository on.
fn relative(path: &Path) -> String {
    path.strip_prefix(repository()).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

fn runs(name: &str, source: &Path, way: Way, checks: &Path) -> Result<(), Failed> {
    let found = checksum(source, way)?;
    match table(checks).get(name) {
        Some(expected) if is_near(&found, expected) => Ok(()),
        Some(expected) => Err(format!("the checksum is {found}, not {expected}").into()),
        None => Err(format!("{} has no checksum for it", checks.display()).into()),
    }
}

/// Equal, but for what sums in another order round off.
fn is_near(found: &str, expected: &str) -> bool {
    match (found.parse::<f64>(), expected.parse::<f64>()) {
        (Ok(found), Ok(expected)) => (found - expected).abs() <= ROUNDING * expected.abs().max(1.0),
        _ => found == expected,
    }
}

/// Programs, not modules.
fn programs() -> Vec<PathBuf> {
    let all = FOLDERS.iter().flat_map(|folder| files_below(&repository().join(folder), "sac"));
    all.filter(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("int main("))).collect()
}

/// The passes that did something for a program.
fn passes(program: &Path) -> Result<BTreeSet<String>, Failed> {
    let mut command = Command::new(ravel());
    command.args(["check", "--explain", "-I", "tests/bench/common", "-I", "examples/mnist", "-I"]);
    command.arg(program.parent().unwrap_or(program)).arg(program);
    let run = finish(command.current_dir(repository()), b"")?;
    if run.status != 0 {
        return Err(run.describe().into());
    }
    let done = run.stderr.lines().filter_map(|line| line.strip_prefix("  done  "));
    Ok(done.filter_map(|line| line.split_once(':')).map(|(pass, _)| pass.to_string()).collect())
}

fn fired() -> Result<(), Failed> {
    let file = repository().join("tests/fired.tsv");
    let mut found = BTreeMap::new();
    for program in programs() {
        let passes: Vec<String> = passes(&program)?.into_iter().collect();
        found.insert(relative(&program), passes.join(" "));
    }
    if blesses() {
        return write_table(&file, &found);
    }
    let expected = table(&file);
    let mut differences = String::new();
    for name in expected.keys().chain(found.keys()).collect::<BTreeSet<_>>() {
        let (before, now) = (expected.get(name), found.get(name));
        if before != now {
            let _ = writeln!(differences, "{name}\n  noted: {before:?}\n  now:   {now:?}");
        }
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(format!("{} is not true any more; RAVEL_BLESS=1 writes it anew\n{differences}", file.display()).into())
}

fn bless(checks: &Path, sources: &[(String, PathBuf)]) -> Result<(), Failed> {
    // A checksum that is there stays: a program that computes something else has to fail.
    let mut rows = table(checks);
    rows.retain(|name, _| sources.iter().any(|(source, _)| source == name));
    for (name, source) in sources {
        if !rows.contains_key(name) {
            rows.insert(name.clone(), checksum(source, Way::Interpreter)?);
        }
    }
    write_table(checks, &rows)
}

fn main() -> ExitCode {
    let folder = repository().join("tests/survey");
    let checks = folder.join("checks.tsv");
    let sources: Vec<(String, PathBuf)> = files_below(&folder, "sac")
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&folder).unwrap_or(&path).with_extension("");
            (name.to_string_lossy().replace('\\', "/"), path)
        })
        .collect();
    if blesses()
        && let Err(failure) = bless(&checks, &sources)
    {
        eprintln!("{}", failure.message().unwrap_or_default());
        return ExitCode::FAILURE;
    }
    let mut trials = vec![Trial::test("passes that fire", fired)];
    for (label, way) in ways::all() {
        for (name, source) in sources.clone() {
            let checks = checks.clone();
            trials.push(Trial::test(format!("{name} [{label}]"), move || runs(&name, &source, way, &checks)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
