//! The SaC programs of the benchmarks compute the same on the interpreter and in machine code. Their times are not
//! looked at here: `bench/run` does that.

use std::path::Path;
use std::process::{Command, ExitCode};

use ravel_tests::{Arguments, Failed, Trial, files_below, finish, has_device, ravel, repository, test_name};

/// Relative: the interpreter folds in order, machine code in groups.
const TOLERANCE: f64 = 1e-4;

/// Macros that choose among the versions of a program; those that a program does not know change nothing.
const VERSIONS: [(&str, &[&str]); 3] = [("double", &[]), ("float", &["-DFLOAT"]), ("other form", &["-DTEXTBOOK"])];

/// The checksum that a program prints on a backend.
fn checksum(program: &Path, macros: &[&str], backend: &str) -> Result<f64, Failed> {
    let mut command = Command::new(ravel());
    command.args(["run", "--backend", backend, "--threads", "2", "-DBUDGET=0.0"]).args(macros);
    command.arg("-I").arg(repository().join("tests/bench/common")).arg(program);
    let run = finish(&mut command, b"")?;
    let check = run.stdout.lines().find_map(|line| line.strip_prefix("check "));
    match check.map(str::parse) {
        Some(Ok(number)) if run.status == 0 => Ok(number),
        _ => Err(format!("no checksum: {}", run.describe()).into()),
    }
}

fn agree(program: &Path, macros: &[&str]) -> Result<(), Failed> {
    let expected = checksum(program, macros, "interp")?;
    let found = checksum(program, macros, "cranelift")?;
    if (found - expected).abs() <= TOLERANCE * expected.abs() {
        Ok(())
    } else {
        Err(format!("the checksum is {found}, on the interpreter {expected}").into())
    }
}

/// The table of devices: all its programs run, of small size; what the peers say does not matter.
fn device_table() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut build = Command::new("python3");
    build
        .arg(repository().join("tests/bench/device"))
        .args(["--quick", "--build"])
        .arg(folder.path())
        .env("RAVEL_BIN", ravel());
    let built = finish(&mut build, b"")?;
    let mut run = Command::new("python3");
    let run = finish(run.arg(folder.path().join("device")).args(["--quick", "--run"]).arg(folder.path()), b"")?;
    let cases = run.stdout.lines().filter(|line| line.starts_with("| ") && line.contains("/s |")).count();
    match (built.status, run.status, cases) {
        (0, 0, 7) => Ok(()),
        _ => Err(format!("{}\n{}", built.describe(), run.describe()).into()),
    }
}

fn main() -> ExitCode {
    let folder = repository().join("tests/bench");
    let mut trials = Vec::new();
    for program in files_below(&folder, "sac") {
        if program.starts_with(folder.join("common")) {
            continue;
        }
        let text = std::fs::read_to_string(&program).expect("the program is readable");
        for (version, macros) in VERSIONS {
            // Every program has both element types; other macros appear in its text.
            if !macros.iter().all(|m| *m == "-DFLOAT" || text.contains(&m[2..])) {
                continue;
            }
            let name = format!("{}, {version}", test_name(&folder, &program));
            let program = program.clone();
            trials.push(Trial::test(name, move || agree(&program, macros)));
        }
    }
    let has_python = Command::new("python3").arg("--version").output().is_ok_and(|answer| answer.status.success());
    if has_device() && has_python {
        trials.push(Trial::test("table of devices", device_table));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
