//! The SaC programs of the benchmarks compute the same on the interpreter and in machine code. Their times are not
//! looked at here: `bench/run` does that.

use std::path::Path;
use std::process::{Command, ExitCode};

use ravel_tests::ranks::Launcher;
use ravel_tests::{Arguments, Failed, Trial, files_below, finish, has_device, ravel, repository, test_name};

/// Relative: the interpreter folds in order, machine code in groups.
const TOLERANCE: f64 = 1e-4;

/// Macros that choose among the versions of a program; those that a program does not know change nothing.
const VERSIONS: [(&str, &[&str]); 3] = [("double", &[]), ("float", &["-DFLOAT"]), ("other form", &["-DTEXTBOOK"])];

/// Programs of many rows have a checksum for each, and small sizes for tests.
const ROWS: [(&str, &[&str]); 1] = [("small", &["-DQUICK"])];

/// The checksums that a program prints on a backend.
fn checksums(program: &Path, macros: &[&str], backend: &str) -> Result<Vec<f64>, Failed> {
    let mut command = Command::new(ravel());
    command.args(["run", "--backend", backend, "--threads", "2", "-DBUDGET=0.0"]).args(macros);
    command.arg("-I").arg(repository().join("tests/bench/common")).arg(program);
    let run = finish(&mut command, b"")?;
    let checks = run.stdout.lines().filter_map(|line| line.strip_prefix("check "));
    match checks.map(str::parse).collect::<Result<Vec<f64>, _>>() {
        Ok(numbers) if run.status == 0 && !numbers.is_empty() => Ok(numbers),
        _ => Err(format!("no checksum: {}", run.describe()).into()),
    }
}

fn agree(program: &Path, macros: &[&str]) -> Result<(), Failed> {
    let expected = checksums(program, macros, "interp")?;
    let found = checksums(program, macros, "cranelift")?;
    let near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= TOLERANCE * expected.abs();
    if found.len() == expected.len() && found.iter().zip(&expected).all(near) {
        Ok(())
    } else {
        Err(format!("the checksums are {found:?}, on the interpreter {expected:?}").into())
    }
}

/// The table of the library: every row has its program; what the peers say does not matter.
fn library_table() -> Result<(), Failed> {
    let mut run = Command::new("python3");
    run.arg(repository().join("tests/bench/library/run")).args(["--quick", "--no-peers", "--runs=1", "--threads=1"]);
    let run = finish(run.env("RAVEL_BIN", ravel()), b"")?;
    if run.status == 0 { Ok(()) } else { Err(run.describe().into()) }
}

/// The table of gradients: every row has its program; what the peers say does not matter.
fn gradients_table() -> Result<(), Failed> {
    let mut run = Command::new("python3");
    run.arg(repository().join("tests/bench/grad/run"));
    run.args(["--sizes=small", "--peers=", "--runs=1", "--threads=1", "--budget=0"]);
    let run = finish(run.env("RAVEL_BIN", ravel()), b"")?;
    if run.status == 0 && !run.stdout.contains("Not measured") { Ok(()) } else { Err(run.describe().into()) }
}

/// The table of ranks: its programs run on several, with equal checksums.
fn ranks_table() -> Result<(), Failed> {
    let mut run = Command::new("python3");
    run.arg(repository().join("tests/bench/ranks/run")).args(["--quick", "--no-peers", "--runs=1"]);
    let run = finish(run.env("RAVEL_BIN", ravel()), b"")?;
    if run.status == 0 { Ok(()) } else { Err(run.describe().into()) }
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

/// The arithmetic of the simulator of ranks, by Python's own tests.
fn simulator() -> Result<(), Failed> {
    let mut tests = Command::new("python3");
    tests.args(["-m", "unittest", "-q"]).current_dir(repository().join("tests/bench/ranks"));
    let run = finish(tests.env("PYTHONDONTWRITEBYTECODE", "1"), b"")?;
    if run.status == 0 { Ok(()) } else { Err(run.describe().into()) }
}

/// The simulator reads what a program writes that runs alone.
fn simulator_of_a_trace() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (program, trace) = (folder.path().join("p.sac"), folder.path().join("trace"));
    let text = "use StdIO: all;\nuse Array: all;\n\
        int main() { printf(\"%d\\n\", sum({ [i] -> i * i % 7 | [i] < [1000000] })); return 0; }\n";
    std::fs::write(&program, text)?;
    let traced = |file: &Path| {
        let mut run = Command::new(ravel());
        run.arg("run").arg(&program).env("RAVEL_STATS", "ranks").env("RAVEL_RANKS_TRACE", file);
        finish(&mut run, b"")
    };
    let run = traced(&trace)?;
    let written = std::fs::read_to_string(&trace)?;
    let loops = written.lines().filter(|line| line.starts_with("whole ")).count();
    if run.status != 0 || loops != 1 || !written.contains("p.sac:3:") {
        return Err(format!("{}\n{written}", run.describe()).into());
    }
    let mut simulate = Command::new("python3");
    simulate.arg(repository().join("tests/bench/ranks/simulate.py")).arg(&trace).args(["--ranks", "1,2,10000"]);
    let simulated = finish(simulate.env("PYTHONDONTWRITEBYTECODE", "1"), b"")?;
    if simulated.status != 0 || simulated.stdout.lines().count() != 5 {
        return Err(simulated.describe().into());
    }
    // Where no file can stand, the program does not begin.
    let refused = traced(folder.path())?;
    match (refused.status, refused.stdout.as_str()) {
        (1, "") if refused.stderr.contains("it is a folder") => Ok(()),
        _ => Err(refused.describe().into()),
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
        if text.lines().any(|line| line.starts_with("module ")) {
            continue;
        }
        let has_rows = ["library", "grad"].iter().any(|rows| program.starts_with(folder.join(rows)));
        for (version, macros) in if has_rows { &ROWS[..] } else { &VERSIONS } {
            // Every program has both element types, or small sizes; other macros appear in its text.
            if !macros.iter().all(|m| ["-DFLOAT", "-DQUICK"].contains(m) || text.contains(&m[2..])) {
                continue;
            }
            let name = format!("{}, {version}", test_name(&folder, &program));
            let program = program.clone();
            trials.push(Trial::test(name, move || agree(&program, macros)));
        }
    }
    let has_python = Command::new("python3").arg("--version").output().is_ok_and(|answer| answer.status.success());
    if has_python {
        trials.push(Trial::test("table of the library", library_table));
        trials.push(Trial::test("table of gradients", gradients_table));
        trials.push(Trial::test("simulator of ranks", simulator));
        trials.push(Trial::test("simulator of ranks, a trace", simulator_of_a_trace));
    }
    if has_python && Launcher::all().contains(&Launcher::OpenMpi) {
        trials.push(Trial::test("table of ranks", ranks_table));
    }
    if has_device() && has_python {
        trials.push(Trial::test("table of devices", device_table));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
