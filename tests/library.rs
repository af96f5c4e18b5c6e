//! The library: its functions against recorded figures, the examples in its comments, and its reference pages.
//!
//! Figures: `library/<name>.sac` reports results line by line, `<name>.ref` holds
//! the references with their tolerances, written by `<name>.py` from NumPy, SciPy and PyTorch.
//!
//! A line of results is `name | type | shape | elements`, a reference `name | type | shape | rel | abs | elements`; both files
//! have the same names in the same order. Every program runs in all ways that the golden programs run.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use ravel_tests::ways::{self, Way};
use ravel_tests::{Arguments, Failed, Trial, files_below, finish, ravel, repository, test_name};

/// Programs of so many kernels that a processor's OpenCL compiles them for minutes: they run on a device if `RAVEL_MANY_KERNELS` is set.
const MANY_KERNELS: [&str; 15] = [
    "arrays-contract",
    "arrays-search",
    "complex",
    "linalg-eigen",
    "linalg-factor",
    "linalg-product",
    "linalg-scales",
    "linalg-views",
    "nn-attention",
    "nn-layers",
    "nn-norm",
    "nn-recurrent",
    "stats-distributions",
    "stats-glm",
    "stats-models",
];

/// What OpenCL's own functions may be off, in roundings.
const DEVICE_ROUNDINGS: f64 = 16.0;

fn fields(line: &str) -> Vec<&str> {
    line.split('|').map(str::trim).collect()
}

fn number(text: &str) -> Result<f64, Failed> {
    match text {
        "nan" | "-nan" => Ok(f64::NAN),
        _ => text.parse().map_err(|_| format!("`{text}` is not a number").into()),
    }
}

/// What is wrong with a result, if anything.
fn judge(result: &str, reference: &str, device: bool) -> Result<Option<String>, Failed> {
    let (have, want) = (fields(result), fields(reference));
    let ([name, kind, shape, elements], [_, _, _, rel, abs, expected]) = (&have[..], &want[..]) else {
        return Ok(Some(format!("not a line of results and one of references: {result}")));
    };
    if have[..3] != want[..3] {
        return Ok(Some(format!("{name} | {kind} | {shape}, expected {}", want[..3].join(" | "))));
    }
    let eps = match *kind {
        "float" => f64::from(f32::EPSILON),
        "double" => f64::EPSILON,
        _ => {
            let same = elements.split_whitespace().eq(expected.split_whitespace());
            return Ok((!same).then(|| format!("{name} is {elements}, expected {expected}")));
        }
    };
    let (rel, abs) = (number(rel)?, number(abs)?);
    let rel = if device && rel > 0.0 { rel + DEVICE_ROUNDINGS } else { rel };
    let (elements, expected): (Vec<&str>, Vec<&str>) =
        (elements.split_whitespace().collect(), expected.split_whitespace().collect());
    if elements.len() != expected.len() {
        return Ok(Some(format!("{name} has {} elements, expected {}", elements.len(), expected.len())));
    }
    for (k, (have, want)) in elements.iter().zip(&expected).enumerate() {
        let (x, r) = (number(have)?, number(want)?);
        // The reference has more digits than a float: exact means equal in the type.
        let in_type = |v: f64| if *kind == "float" { f64::from(v as f32) } else { v };
        let (x, r) = (in_type(x), in_type(r));
        let right = if r.is_nan() { x.is_nan() } else { x == r || (x - r).abs() <= rel * eps * r.abs() + abs };
        if !right {
            let off = (x - r).abs();
            return Ok(Some(format!("{name}: element {k} is {have}, expected {want}; off by {off:e}")));
        }
    }
    Ok(None)
}

fn run(source: &Path, way: Way) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    // Files that the scripts of references made, for programs that read some.
    std::os::unix::fs::symlink(repository().join("tests/library/files"), folder.path().join("files"))?;
    let mut command = way.command(source, Vec::new(), folder.path())?;
    let run = finish(command.current_dir(folder.path()), b"")?;
    if run.status != 0 {
        return Err(run.describe().into());
    }
    let references = fs::read_to_string(source.with_extension("ref"))?;
    let (results, references): (Vec<&str>, Vec<&str>) = (run.stdout.lines().collect(), references.lines().collect());
    let mut wrong = Vec::new();
    for (result, reference) in results.iter().zip(&references) {
        wrong.extend(judge(result, reference, matches!(way, Way::Device))?);
    }
    if results.len() != references.len() {
        wrong.push(format!("{} lines of results, {} references", results.len(), references.len()));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Runs the examples in the comments of a module.
fn examples(module: &str) -> Result<(), Failed> {
    let made = finish(Command::new(ravel()).args(["doc", "--examples", module]), b"")?;
    if made.status != 0 {
        return if made.stderr.contains("there are no examples") { Ok(()) } else { Err(made.describe().into()) };
    }
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("examples.sac");
    fs::write(&program, made.stdout)?;
    let run = finish(Command::new(ravel()).arg("run").arg(&program), b"")?;
    if run.status == 0 { Ok(()) } else { Err(run.describe().into()) }
}

/// The pages in docs/library are those that `ravel doc` makes.
fn pages() -> Result<(), Failed> {
    let check =
        finish(Command::new(ravel()).args(["doc", "--check", "-o"]).arg(repository().join("docs/library")), b"")?;
    if check.status == 0 { Ok(()) } else { Err(check.describe().into()) }
}

/// The Python to ask, `RAVEL_PYTHON` or `python3`, if it has NumPy and Pillow.
fn python() -> Option<Command> {
    let name = std::env::var_os("RAVEL_PYTHON").unwrap_or_else(|| "python3".into());
    let found = Command::new(&name).args(["-c", "import numpy, PIL"]).output();
    found.is_ok_and(|answer| answer.status.success()).then(|| Command::new(name))
}

/// What a program writes is read by others.
fn read_by_others(mut python: Command, way: Way) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let library = repository().join("tests/library");
    let mut command = way.command(&library.join("written.sac"), Vec::new(), folder.path())?;
    let run = finish(command.current_dir(folder.path()), b"")?;
    if run.status != 0 {
        return Err(run.describe().into());
    }
    let run = finish(python.arg(library.join("written.py")).arg(folder.path()), b"")?;
    if run.status == 0 { Ok(()) } else { Err(run.describe().into()) }
}

fn main() -> ExitCode {
    let folder = repository().join("tests/library");
    let mut trials = vec![Trial::test("pages are up to date", pages)];
    for page in files_below(&repository().join("docs/library"), "md") {
        let module = page.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
        if module != "index" {
            trials.push(Trial::test(format!("examples of {module}"), move || examples(&module)));
        }
    }
    if python().is_some() {
        for (label, way) in ways::all() {
            let check = move || read_by_others(python().ok_or("Python has gone")?, way);
            trials.push(Trial::test(format!("written [{label}]"), check));
        }
    }
    for reference in files_below(&folder, "ref") {
        for (label, way) in ways::all() {
            let source = reference.with_extension("sac");
            let is_long = MANY_KERNELS.iter().any(|name| source.ends_with(format!("{name}.sac")));
            if matches!(way, Way::Device) && is_long && std::env::var_os("RAVEL_MANY_KERNELS").is_none() {
                continue;
            }
            let name = format!("{} [{label}]", test_name(&folder, &reference));
            trials.push(Trial::test(name, move || run(&source, way)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
