//! The ways to run a program, which must all do the same.

use std::path::Path;
use std::process::Command;

use crate::{Failed, finish, has_device, ravel};

/// One way to run a program.
#[derive(Clone, Copy)]
pub enum Way {
    /// The reference interpreter.
    Interpreter,
    /// Code in memory.
    Jit {
        /// Name of the backend.
        backend: &'static str,
        /// Number of threads.
        threads: u32,
    },
    /// An executable, on two threads.
    Executable {
        /// Name of the backend.
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

const ALWAYS: [(&str, Way); 4] = [
    ("interp", Way::Interpreter),
    ("jit", jit("cranelift", 1)),
    ("jit-2", jit("cranelift", 2)),
    ("build", executable("cranelift")),
];

const LLVM: [(&str, Way); 3] =
    [("llvm-jit", jit("llvm", 1)), ("llvm-jit-2", jit("llvm", 2)), ("llvm-build", executable("llvm"))];

/// Whether `ravel` was built with the LLVM backend.
fn has_llvm() -> bool {
    let asked = Command::new(ravel()).args(["run", "--backend", "llvm", "--help"]).output();
    asked.is_ok_and(|answer| answer.status.success())
}

/// The ways that this machine and this build of `ravel` have, by name.
#[must_use]
pub fn all() -> Vec<(&'static str, Way)> {
    let llvm: &[_] = if has_llvm() { &LLVM } else { &[] };
    let device: &[_] = if has_device() { &[("opencl", Way::Device)] } else { &[] };
    ALWAYS.iter().chain(llvm).chain(device).copied().collect()
}

impl Way {
    /// The command that runs a program this way; `options` are those of the compiler. Executables are built into `folder`.
    ///
    /// # Errors
    /// If an executable cannot be built.
    pub fn command(
        self,
        source: &Path,
        options: impl IntoIterator<Item = String>,
        folder: &Path,
    ) -> Result<Command, Failed> {
        let mut command = Command::new(ravel());
        let verb = if matches!(self, Way::Executable { .. }) { "build" } else { "run" };
        command.arg(verb).args(options);
        match self {
            Way::Interpreter => {
                command.args(["--backend", "interp"]);
            }
            Way::Jit { backend, threads } => {
                command.args(["--backend", backend, "--threads", &threads.to_string()]);
            }
            Way::Device => {
                command.args(["--backend", "opencl", "--launch-work", "1"]);
                // Kernels of an earlier run of the tests are as good.
                command.env("RAVEL_CACHE", concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tmp/opencl"));
            }
            Way::Executable { backend } => {
                let executable = folder.join("program");
                command.args(["--backend", backend, "-o"]).arg(&executable).arg(source);
                let built = finish(command.current_dir(folder), b"")?;
                if built.status != 0 {
                    return Err(format!("cannot build: {}", built.describe()).into());
                }
                command = Command::new(executable);
                command.env("RAVEL_THREADS", "2");
                return Ok(command);
            }
        }
        command.arg(source);
        Ok(command)
    }
}
