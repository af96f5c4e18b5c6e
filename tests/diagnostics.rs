//! Wrong programs are refused at the right line, in the right words, and nothing makes the compiler crash.
//!
//! In `diagnostics/*.sac` a comment `//~ text` expects a report or a fault at its line whose message contains the
//! text (an error code, a word; nothing after `//~` accepts any message), and `//? text` expects the text anywhere
//! on stderr. Files are refused, unless their first line is `//! accepted`: then there are warnings only, or `//! clean`: then nothing
//! is said at all. Options of `check` may follow these words. A first line `//! run` runs the program, on both backends and with kernels if there is an OpenCL device, instead of only
//! checking it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ravel_tests::{Arguments, Failed, Finished, Trial, files_below, finish, has_device, ravel, repository, test_name};

fn check_file(source: &Path, backend: Option<&str>) -> Result<(), Failed> {
    let text = fs::read_to_string(source)?;
    let mut command = Command::new(ravel());
    let head = text.lines().next().unwrap_or_default();
    let clean = head.strip_prefix("//! clean");
    let options = head.strip_prefix("//! accepted").or(clean).unwrap_or_default().split_whitespace();
    match backend {
        None => command.arg("check").args(options),
        // With-loops of any size become kernels.
        Some("opencl") => command.args(["run", "--backend", "opencl", "--launch-work", "1"]),
        Some(backend) => command.args(["run", "--backend", backend]),
    };
    let mut run = finish(command.arg(source), b"")?;
    run.stderr = without_expectations(&run.stderr);
    let accepted = head.starts_with("//! accepted") || clean.is_some();
    if run.crashed() || accepted && run.status != 0 {
        return Err(run.describe().into());
    }
    if clean.is_some() && !run.stderr.trim().is_empty() {
        return Err(format!("expected no report, got {}", run.describe()).into());
    }
    if !accepted && run.status == 0 {
        return Err(format!("expected a refusal, got {}", run.describe()).into());
    }
    let name = source.file_name().expect("a listed file has a name").to_string_lossy();
    for (number, line) in text.lines().enumerate() {
        if let Some((_, expected)) = line.split_once("//~") {
            let place = format!("{name}:{}:", number + 1);
            expect(&run, &place)?;
            expect(&run, expected.trim())?;
        }
        if let Some((_, expected)) = line.split_once("//?") {
            expect(&run, expected.trim())?;
        }
    }
    Ok(())
}

/// Reports without the comments of the source lines that they show: those say what is expected.
fn without_expectations(reports: &str) -> String {
    let shown =
        |line: &str| line.split_once("//~").or(line.split_once("//?")).map_or(line, |(front, _)| front).to_string();
    reports.lines().map(|line| shown(line) + "\n").collect()
}

fn expect(run: &Finished, text: &str) -> Result<(), Failed> {
    if run.stderr.contains(text) { Ok(()) } else { Err(format!("`{text}` is missing: {}", run.describe()).into()) }
}

/// Input that no person would write: `ravel check` must refuse or accept it, and end normally.
fn hostile(source: &[u8], accepted: Option<bool>) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("hostile.sac");
    fs::write(&path, source)?;
    let run = finish(Command::new(ravel()).arg("check").arg(&path), b"")?;
    if run.crashed() {
        return Err(run.describe().into());
    }
    if accepted.is_some_and(|accepted| accepted != (run.status == 0)) {
        return Err(format!("wrongly accepted or refused: {}", run.describe()).into());
    }
    Ok(())
}

/// A small linear congruential generator: the same bytes in every run.
fn random_bytes(count: usize) -> Vec<u8> {
    let mut state = 1u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// A program that returns the value of an expression.
fn program(expression: &str) -> Vec<u8> {
    format!("use Array: all;\nint main()\n{{\n    return {expression};\n}}\n").into_bytes()
}

fn hostile_trials() -> Vec<Trial> {
    type Input = (&'static str, fn() -> Vec<u8>, Option<bool>);
    let inputs: [Input; 12] = [
        ("empty file", Vec::new, None),
        ("random bytes", || random_bytes(100_000), Some(false)),
        ("zero bytes", || vec![0; 10_000], Some(false)),
        ("nested parentheses", || program(&format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000))), None),
        ("nested brackets", || program(&format!("sum({}1{})", "[".repeat(10_000), "]".repeat(10_000))), None),
        ("unclosed parentheses", || program(&"(".repeat(100_000)), Some(false)),
        ("many prefix operators", || program(&format!("{}1", "- ".repeat(20_000))), None),
        (
            "nested blocks",
            || {
                let open = "if (true) {".repeat(5_000);
                format!("int main() {{ {open}x = 1;{} return 0; }}", "}".repeat(5_000)).into_bytes()
            },
            None,
        ),
        ("array literal of 10 MB", || program(&format!("sum([{}0])", "1234567, ".repeat(1_100_000))), Some(true)),
        ("long chain of operators", || program(&format!("1{}", " + 1".repeat(100_000))), Some(true)),
        (
            "macro that grows without end",
            || {
                let mut text = String::from("#define A0 1+1\n");
                for level in 1..60 {
                    text += &format!("#define A{level} A{} + A{}\n", level - 1, level - 1);
                }
                [text.into_bytes(), program("A59")].concat()
            },
            Some(false),
        ),
        ("file that includes itself", || b"#include \"hostile.sac\"\nint main() { return 0; }\n".to_vec(), Some(false)),
    ];
    inputs
        .into_iter()
        .map(|(name, input, accepted)| Trial::test(format!("hostile/{name}"), move || hostile(&input(), accepted)))
        .collect()
}

fn missing_file() -> Result<(), Failed> {
    let run = finish(Command::new(ravel()).args(["run", "no-such-file.sac"]), b"")?;
    if run.crashed() || run.status == 0 {
        return Err(run.describe().into());
    }
    expect(&run, "no-such-file.sac")
}

fn main() -> ExitCode {
    let folder = repository().join("tests/diagnostics");
    let device = has_device();
    let mut trials = hostile_trials();
    trials.push(Trial::test("missing file", missing_file));
    for source in files_below(&folder, "sac") {
        let text = fs::read_to_string(&source).expect("a listed file is readable");
        if !text.contains("//~") && !text.contains("//?") && !text.starts_with("//! clean") {
            continue; // a module that a test uses
        }
        let name = test_name(&folder, &source);
        let backends: &[Option<&str>] = if text.starts_with("//! run") {
            if device {
                &[Some("interp"), Some("cranelift"), Some("opencl")]
            } else {
                &[Some("interp"), Some("cranelift")]
            }
        } else {
            &[None]
        };
        for &backend in backends {
            let source: PathBuf = source.clone();
            let label = backend.unwrap_or("check");
            trials.push(Trial::test(format!("{name} [{label}]"), move || check_file(&source, backend)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
