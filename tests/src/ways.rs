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
    /// A copy of `ravel` with the program attached, on two threads.
    Attached {
        /// Name of the backend.
        backend: &'static str,
    },
    /// On the device that `RAVEL_DEVICE` names, with-loops of any size.
    Device,
}

/// The backends of this build of `ravel`: name, and where with-loops run.
///
/// # Panics
/// If `ravel` cannot tell.
#[must_use]
pub fn backends() -> Vec<(&'static str, String)> {
    let told = finish(Command::new(ravel()).arg("backends"), b"").expect("`ravel backends` ends");
    assert_eq!(told.status, 0, "`ravel backends`: {}", told.describe());
    let columns = |line: &str| {
        let (name, rest) = line.split_once("  ")?;
        let (place, _) = rest.trim_start().split_once("  ")?;
        // For as long as the tests run.
        Some((&*name.to_string().leak(), place.to_string()))
    };
    told.stdout.lines().filter_map(columns).collect()
}

/// The backends that generate code for the processor alone, the default one first.
#[must_use]
pub fn of_processor() -> Vec<&'static str> {
    backends().into_iter().filter(|(_, place)| place == "processor").map(|(name, _)| name).collect()
}

/// The ways to make executables without a C compiler, by name.
#[must_use]
pub fn attached() -> Vec<(&'static str, Way)> {
    let name = |backend: &str| &*format!("{backend}-attached").leak();
    of_processor().into_iter().map(|backend| (name(backend), Way::Attached { backend })).collect()
}

/// The name of a way; those of the default backend are short.
fn label(at: usize, backend: &str, way: &'static str) -> &'static str {
    if at == 0 { way } else { format!("{backend}-{way}").leak() }
}

/// The ways without a linker that this machine and this build of `ravel` have, by name: code in memory on one and on two threads, of other backends than the
/// default one on two alone, for their code is the same.
#[must_use]
pub fn in_memory() -> Vec<(&'static str, Way)> {
    let mut ways = vec![("interp", Way::Interpreter)];
    for (at, backend) in of_processor().into_iter().enumerate() {
        if at == 0 {
            ways.push(("jit", Way::Jit { backend, threads: 1 }));
        }
        ways.push((label(at, backend, "jit-2"), Way::Jit { backend, threads: 2 }));
    }
    if has_device() {
        ways.push(("opencl", Way::Device));
    }
    ways
}

/// Executables, by name.
#[must_use]
pub fn executables() -> Vec<(&'static str, Way)> {
    let backends = of_processor().into_iter().enumerate();
    backends.map(|(at, backend)| (label(at, backend, "build"), Way::Executable { backend })).collect()
}

/// The ways that this machine and this build of `ravel` have, by name. Code in memory runs on one thread and executables on two: the code is the same.
#[must_use]
pub fn all() -> Vec<(&'static str, Way)> {
    let mut ways = vec![("interp", Way::Interpreter)];
    for (at, backend) in of_processor().into_iter().enumerate() {
        ways.push((label(at, backend, "jit"), Way::Jit { backend, threads: 1 }));
        ways.push((label(at, backend, "build"), Way::Executable { backend }));
    }
    if has_device() {
        ways.push(("opencl", Way::Device));
    }
    ways
}

/// The same for programs that take seconds to compile: of the default backend executables alone, of others code in memory alone.
#[must_use]
pub fn few() -> Vec<(&'static str, Way)> {
    let default = of_processor().first().copied();
    let is_wanted = |way: &Way| match way {
        Way::Jit { backend, .. } => Some(*backend) != default,
        Way::Executable { backend } => Some(*backend) == default,
        _ => true,
    };
    all().into_iter().filter(|(_, way)| is_wanted(way)).collect()
}

impl Way {
    /// The command that runs a program this way; `options` are those of the compiler. Executables are built into `folder`, by the C compiler that
    /// `RAVEL_TEST_CC` names if that is set.
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
        let verb = if matches!(self, Way::Executable { .. } | Way::Attached { .. }) { "build" } else { "run" };
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
            Way::Executable { backend } | Way::Attached { backend } => {
                let executable = folder.join("program");
                if let Some(linker) = std::env::var_os("RAVEL_TEST_CC") {
                    command.env("CC", linker);
                }
                if matches!(self, Way::Attached { .. }) {
                    command.arg("--no-cc");
                }
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
