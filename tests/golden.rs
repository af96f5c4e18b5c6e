//! Golden programs: every `golden/<topic>/<name>.out` is the standard output of `<name>.sac` beside it.
//!
//! Optional companions: `.in` (standard input), `.args` (program arguments, separated by blanks), `.defs`
//! (preprocessor definitions, one a line), `.status` (exit status, 0 without it) and `.fault` (part of what the error output says). Every program runs on the
//! reference interpreter, through the JIT on one and on two threads, and as a built executable (some of them without a C compiler as well), and must do the
//! same each time; through LLVM too if `ravel` was built with it, and with every with-loop that can run there on an OpenCL device if
//! there is one. The expected outputs are derived from the language reference, never recorded from a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ravel_tests::ways::{self, Way};
use ravel_tests::{Arguments, Failed, Finished, Trial, files_below, finish, repository, test_name};

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
        let options = self.definitions.iter().flat_map(|definition| ["-D".to_string(), definition.clone()]);
        let mut command = way.command(&self.source, options, folder.path())?;
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

/// Every so many programs are attached to copies of `ravel`, too: their code is that of other executables.
const ATTACHED: usize = 10;

fn main() -> ExitCode {
    let folder = repository().join("tests/golden");
    let ways = ways::all();
    let attached = ways::attached();
    let mut trials = Vec::new();
    for (n, output) in files_below(&folder, "out").into_iter().enumerate() {
        let program = Program::load(&output);
        // C code of a program needs a C compiler.
        let is_tried =
            n % ATTACHED == 0 && !fs::read_to_string(&program.source).unwrap_or_default().contains("linkobj");
        for &(label, way) in ways.iter().chain(attached.iter().filter(|_| is_tried)) {
            let program = program.clone();
            let name = format!("{} [{label}]", test_name(&folder, &output));
            trials.push(Trial::test(name, move || program.run(way)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
