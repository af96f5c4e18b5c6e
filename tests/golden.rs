//! Golden programs ([`ravel_tests::programs`]) in every way that there is. Every program runs on the
//! reference interpreter, through the JIT on one and on two threads, and as a built executable (some of them without a C compiler as well), and must do the
//! same each time; through LLVM too if `ravel` was built with it, and with every with-loop that can run there on an OpenCL device if
//! there is one. The expected outputs are derived from the language reference, never recorded from a run.

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

/// Every so many programs are attached to copies of `ravel`, too: their code is that of other executables.
const ATTACHED: usize = 10;

fn main() -> ExitCode {
    let folder = repository().join("tests/golden");
    let ways = ways::all();
    let attached = ways::attached();
    let mut trials = Vec::new();
    for (n, output) in files_below(&folder, "out").into_iter().enumerate() {
        let program = Golden::load(&output);
        // C code of a program needs a C compiler.
        let is_tried =
            n % ATTACHED == 0 && !fs::read_to_string(&program.source).unwrap_or_default().contains("linkobj");
        for &(label, way) in ways.iter().chain(attached.iter().filter(|_| is_tried)) {
            let program = program.clone();
            let name = format!("{} [{label}]", test_name(&folder, &output));
            trials.push(Trial::test(name, move || run(&program, way)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
