//! Golden programs ([`ravel_tests::programs`]) in every way that there is. Every program runs on the
//! reference interpreter and through the JIT on one and on two threads, and must do the
//! same each time; through LLVM too if `ravel` was built with it, and with every with-loop that can run there on an OpenCL device if
//! there is one. Programs that read or end with a status, and every sixth one, are built as executables, too, some of them without a C compiler
//! (`RAVEL_EXECUTABLES=all` builds every one; those that threads have to do with `determinism` builds anyway).
//! The expected outputs are derived from the language reference, never recorded from a run.

use std::fs;
use std::process::ExitCode;

use ravel_tests::programs::Golden;
use ravel_tests::ways::{self, Way};
use ravel_tests::{Arguments, Failed, Trial, files_below, finish, repository, test_name};

/// Runs a program in one way.
fn run(program: &Golden, way: Way) -> Result<(), Failed> {
    // Programs may write files: each run has a folder of its own.
    let folder = tempfile::tempdir()?;
    let mut command = way.command(&program.source, program.options(), folder.path())?;
    let run = finish(command.args(&program.arguments).current_dir(folder.path()), program.input.as_bytes())?;
    program.compare(&run)
}

/// Every so many programs are built as executables: their code is that in memory.
const BUILT: usize = 6;

/// Every so many programs are attached to copies of `ravel`, too: their code is that of other executables.
const ATTACHED: usize = 10;

fn main() -> ExitCode {
    let folder = repository().join("tests/golden");
    let is_all = std::env::var("RAVEL_EXECUTABLES").is_ok_and(|asked| asked == "all");
    let (ways, executables, attached) = (ways::in_memory(), ways::executables(), ways::attached());
    let mut trials = Vec::new();
    for (n, output) in files_below(&folder, "out").into_iter().enumerate() {
        let program = Golden::load(&output);
        // C code of a program needs a C compiler.
        let is_tried =
            n % ATTACHED == 0 && !fs::read_to_string(&program.source).unwrap_or_default().contains("linkobj");
        let has_ends = !program.arguments.is_empty() || !program.input.is_empty() || program.status != 0;
        let is_built = is_all || has_ends || n % BUILT == 0;
        let more = executables.iter().filter(|_| is_built).chain(attached.iter().filter(|_| is_tried));
        for &(label, way) in ways.iter().chain(more) {
            let program = program.clone();
            let name = format!("{} [{label}]", test_name(&folder, &output));
            trials.push(Trial::test(name, move || run(&program, way)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
