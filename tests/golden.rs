//! Golden programs: every `golden/<topic>/<name>.out` is the standard output of `<name>.sac` beside it.
//!
//! Optional companions: `.in` (standard input), `.args` (program arguments, separated by blanks), `.defs`
//! (preprocessor definitions, one a line), `.status` (exit status, 0 without it) and `.fault` (part of what the error output says). Every program runs on the
//! reference interpreter, through the JIT on one and on two threads, and as a built executable, and must do the
//! same each time; through LLVM too if `ravel` was built with it, and with every with-loop that can run there on an OpenCL device if
//! there is one. The expected outputs are derived from the language reference, never recorded from a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ravel_tests::{Arguments, Failed, Finished, Trial, files_below, finish, has_device, ravel, repository, test_name};

#[derive(Clone, Copy)]
enum Way {
    Interpreter,
    Jit {
        backend: &'static str,
        threads: u32,
    },
    Executable {
        backend: &'static str,
    },
    /// On the device that `RAVEL_DEVICE` names, with-loops of any size.
    Device,
}

const fn jit(backend: &'static str, threads: u32) -> Way {
    Way::Jit { backend, threads }
}

const fn executable(backend: &'static str) -> Way {
    Way::Executable { backend }
}

const WAYS: [(&str, Way); 4] = [
    ("interp", Way::Interpreter),
    ("jit", jit("cranelift", 1)),
    ("jit-2", jit("cranelift", 2)),
    ("build", executable("cranelift")),
];

const LLVM_WAYS: [(&str, Way); 3] =
    [("llvm-jit", jit("llvm", 1)), ("llvm-jit-2", jit("llvm", 2)), ("llvm-build", executable("llvm"))];

#[derive(Clone)]
struct Program {
    source: PathBuf,
    output: String,
    input: String,
    arguments: Vec<String>,
    definitions: Vec<String>,
    fault: String,
    status: i32,
}

impl Program {
    fn load(output: &Path) -> Self {
        let companion = |extension| fs::read_to_string(output.with_extension(extension)).unwrap_or_default();
        Program {
            source: output.with_extension("sac"),
            output: fs::read_to_string(output).expect("a listed file is readable"),
            input: companion("in"),
            arguments: companion("args").split_whitespace().map(String::from).collect(),
            definitions: companion("defs").lines().map(String::from).collect(),
            fault: companion("fault").trim().to_string(),
            status: companion("status").trim().parse().unwrap_or(0),
        }
    }

    fn run(&self, way: Way) -> Result<(), Failed> {
        // Programs may write files: each run has a folder of its own.
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(ravel());
        let definitions = self.definitions.iter().flat_map(|definition| ["-D", definition]);
        match way {
            Way::Interpreter => {
                command.arg("run").args(definitions).args(["--backend", "interp"]).arg(&self.source);
            }
            Way::Jit { backend, threads } => {
                let threads = threads.to_string();
                command.arg("run").args(definitions).args(["--backend", backend, "--threads", &threads]);
                command.arg(&self.source);
            }
            Way::Device => {
                command
                    .arg("run")
                    .args(definitions)
                    .args(["--backend", "opencl", "--launch-work", "1"])
                    .arg(&self.source);
                // Kernels of an earlier run of the tests are as good.
                command.env("RAVEL_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/opencl"));
            }
            Way::Executable { backend } => {
                let executable = folder.path().join("program");
                command
                    .arg("build")
                    .args(definitions)
                    .args(["--backend", backend, "-o"])
                    .arg(&executable)
                    .arg(&self.source);
                let built = finish(command.current_dir(folder.path()), b"")?;
                if built.status != 0 {
                    return Err(format!("cannot build: {}", built.describe()).into());
                }
                command = Command::new(executable);
                command.env("RAVEL_THREADS", "2");
            }
        }
        let run = finish(command.args(&self.arguments).current_dir(folder.path()), self.input.as_bytes())?;
        self.compare(&run)
    }

    fn compare(&self, run: &Finished) -> Result<(), Failed> {
        if run.stdout != self.output {
            return Err(format!("the output differs from\n{}--- but is\n{}", self.output, run.describe()).into());
        }
        if !run.stderr.contains(&self.fault) {
            return Err(format!("expected the fault {}, got {}", self.fault, run.describe()).into());
        }
        if run.status != self.status {
            return Err(format!("expected exit status {}, got {}", self.status, run.describe()).into());
        }
        Ok(())
    }
}

/// Whether `ravel` was built with the LLVM backend.
fn has_llvm() -> bool {
    let asked = Command::new(ravel()).args(["run", "--backend", "llvm", "--help"]).output();
    asked.is_ok_and(|answer| answer.status.success())
}

fn main() -> ExitCode {
    let folder = repository().join("tests/golden");
    let llvm_ways: &[_] = if has_llvm() { &LLVM_WAYS } else { &[] };
    let device_ways: &[_] = if has_device() { &[("opencl", Way::Device)] } else { &[] };
    let mut trials = Vec::new();
    for output in files_below(&folder, "out") {
        let program = Program::load(&output);
        for &(label, way) in WAYS.iter().chain(llvm_ways).chain(device_ways) {
            let program = program.clone();
            let name = format!("{} [{label}]", test_name(&folder, &output));
            trials.push(Trial::test(name, move || program.run(way)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
