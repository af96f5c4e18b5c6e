//! What `ravel` says of its own work: `--explain` and `ravel opt`.
//!
//! Every `explain/<name>.expect` lists texts that `ravel run --explain explain/<name>.sac` must contain in this order. They leave
//! out what depends on the machine.

use std::path::Path;
use std::process::{Command, ExitCode};

use ravel_tests::{Arguments, Failed, Finished, Trial, files_below, finish, ravel, repository, test_name};

fn run(arguments: &[&str]) -> Result<Finished, Failed> {
    finish(Command::new(ravel()).args(arguments).current_dir(repository()), b"")
}

/// Looks for the lines of `expected` in `text`, one after the other.
fn contains_in_order(text: &str, expected: &str) -> Result<(), Failed> {
    let mut rest = text;
    for wanted in expected.lines() {
        match rest.find(wanted) {
            Some(at) => rest = &rest[at + wanted.len()..],
            None => return Err(format!("`{wanted}` is missing, or not where it should be, in\n{text}").into()),
        }
    }
    Ok(())
}

fn explains(expectation: &Path) -> Result<(), Failed> {
    let program = expectation.with_extension("sac");
    let program = program.strip_prefix(repository()).unwrap_or(&program).to_string_lossy().replace('\\', "/");
    let expected = std::fs::read_to_string(expectation)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("explained");
    let plain = run(&["run", "--backend", "cranelift", &program])?;
    let to_stderr = run(&["run", "--backend", "cranelift", "--explain", &program])?;
    let option = format!("--explain={}", file.display());
    let to_file = run(&["run", "--backend", "cranelift", &option, &program])?;
    let text = std::fs::read_to_string(&file)?;
    if plain.status != 0
        || plain.stdout != to_stderr.stdout
        || plain.stdout != to_file.stdout
        || to_file.stderr != plain.stderr
    {
        return Err(format!("the program does not do the same when explained: {}", to_stderr.describe()).into());
    }
    if to_stderr.stderr != text {
        return Err("the file and standard error differ".into());
    }
    contains_in_order(&text, &expected)?;
    // A check compiles as a run does.
    let checked = run(&["check", "--explain", &program])?;
    contains_in_order(&checked.stderr, &expected)
}

fn refuses(arguments: &[&str], status: i32, words: &str) -> Result<(), Failed> {
    let run = run(arguments)?;
    if run.status != status || !run.stderr.contains(words) || run.crashed() {
        return Err(format!("expected status {status} and `{words}`: {}", run.describe()).into());
    }
    Ok(())
}

/// Where with-loops run and what moves; no device is needed to know.
fn placements_are_explained() -> Result<(), Failed> {
    let explained = run(&["run", "--backend", "opencl", "--emit", "opencl", "--explain", "tests/explain/heat.sac"])?;
    contains_in_order(&explained.stderr, &std::fs::read_to_string(repository().join("tests/explain/heat.device"))?)
}

/// What is left of the nine convolutions of a network with their normalisations and relus: nine with-loops. Five store their results;
/// the others are the inner part of a padded copy, which the next convolution wants.
fn halves_of_blocks_are_with_loops() -> Result<(), Failed> {
    const LEFT: [&str; 7] = [
        "[1,16,24,24]",
        "[1,32,12,12]",
        "[1,64,12,12] (2 alike)",
        "[1,96,12,12]",
        "[1,16,26,26] over [0,0,1,1] <= iv < [1,16,25,25]",
        "[1,32,26,26] over [0,0,1,1] <= iv < [1,32,25,25]",
        "[1,64,14,14] over [0,0,1,1] <= iv < [1,64,13,13] (2 alike)",
    ];
    let explained = run(&["check", "--explain", "-I", "examples/mobilenet", "tests/explain/separable.sac"])?;
    let layers = explained.stderr.split_once("==== normed (").and_then(|(_, rest)| rest.split_once("==== layers ("));
    let (layers, _) = layers.ok_or_else(|| format!("no layers are explained: {}", explained.describe()))?;
    let left: Vec<&str> = layers.lines().filter_map(|line| line.strip_prefix("  left  array float")).collect();
    let left: Vec<&str> = left.into_iter().filter(|array| array.starts_with("[1,")).collect();
    if left == LEFT { Ok(()) } else { Err(format!("{left:?} are left in\n{layers}").into()) }
}

fn passes_are_listed() -> Result<(), Failed> {
    let list = run(&["opt", "--list"])?;
    for line in list.stdout.lines() {
        let name = line.split_whitespace().next().unwrap_or_default();
        let alone = run(&["opt", "--passes", name, "tests/explain/loops.wir"])?;
        if alone.status != 0 {
            return Err(alone.describe().into());
        }
    }
    contains_in_order(&list.stdout, "dce\nscalarize\nfold-with-loops")
}

/// The text that comes out goes in again, and running no pass changes nothing.
fn passes_make_text() -> Result<(), Failed> {
    let folded = run(&["opt", "--passes", "fold-with-loops, dce", "--explain", "--time", "tests/explain/loops.wir"])?;
    contains_in_order(&folded.stdout, "with {\nadd %v3, 1.0\nfold add neutral 0.0")?;
    contains_in_order(
        &folded.stderr,
        "tests/explain/loops.wir:2:3: %v1: f64[100] = with\n  done  fold-with-loops: folded into its consumers\n  gone\n ms",
    )?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("again.wir");
    std::fs::write(&file, &folded.stdout)?;
    let again = run(&["opt", "--passes", "", &file.to_string_lossy()]);
    // An empty name is no pass.
    if again?.status != 2 {
        return Err("an empty name was taken for a pass".into());
    }
    let again = run(&["opt", "--passes", "cse", &file.to_string_lossy()])?;
    if again.stdout != folded.stdout {
        return Err(again.describe().into());
    }
    Ok(())
}

fn programs_can_be_optimized() -> Result<(), Failed> {
    let whole = run(&["opt", "tests/explain/smooth.sac"])?;
    let emitted = run(&["run", "--emit", "wir-opt", "tests/explain/smooth.sac"])?;
    if whole.status != 0 || whole.stdout != emitted.stdout {
        return Err(whole.describe().into());
    }
    Ok(())
}

fn main() -> ExitCode {
    let folder = repository().join("tests/explain");
    let mut trials = Vec::new();
    for expectation in files_below(&folder, "expect") {
        let name = format!("explains {}", test_name(&folder, &expectation));
        trials.push(Trial::test(name, move || explains(&expectation)));
    }
    trials.push(Trial::test("placements are explained", placements_are_explained));
    trials.push(Trial::test("halves of blocks are with-loops", halves_of_blocks_are_with_loops));
    trials.push(Trial::test("passes are listed and run alone", passes_are_listed));
    trials.push(Trial::test("passes make text", passes_make_text));
    trials.push(Trial::test("programs can be optimized", programs_can_be_optimized));
    trials.push(Trial::test("unknown passes are refused", || {
        refuses(
            &["opt", "--passes", "dce,fold-withloops", "tests/explain/loops.wir"],
            2,
            "did you mean `fold-with-loops`?\nThe passes are inline, ",
        )
    }));
    trials.push(Trial::test("a program is no WIR text", || {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("wrong.wir");
        std::fs::write(&file, "int main() { return 0; }\n")?;
        refuses(&["opt", &file.to_string_lossy()], 1, "wrong.wir: line 1: expected")
    }));
    trials.push(Trial::test("an explanation needs a place", || {
        refuses(&["run", "--explain=/nowhere/at/all", "tests/explain/smooth.sac"], 1, "cannot write /nowhere/at/all")
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
