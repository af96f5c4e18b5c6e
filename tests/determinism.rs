//! What a program prints does not depend on the number of threads, bit by bit.
//!
//! Every program is built and run on 1, 2, 3, 5 and 16 threads: the programs under `determinism`, whose sums of reals are long
//! enough to be split and print all digits, and the examples, by each backend; the golden programs of the topics that threads have
//! to do with, by one backend in turn (`RAVEL_DETERMINISM=all` takes all of them, by each; on 1 and 2 threads `golden.rs` runs
//! every one).

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ravel_tests::ways::of_processor;
use ravel_tests::{Arguments, Failed, Trial, files_below, finish, has_device, ravel, repository, test_name};

const THREADS: [&str; 5] = ["1", "2", "3", "5", "16"];

/// Topics of golden programs.
const TOPICS: [&str; 6] = ["folds", "library-array", "programs", "stress", "threads", "withloops"];

/// Examples that print, with arguments that make them quick.
const EXAMPLES: [(&str, &str); 7] = [
    ("examples/heat.sac", ""),
    ("examples/kmeans.sac", ""),
    ("examples/mandelbrot.sac", ""),
    ("examples/nbody.sac", ""),
    ("examples/mnist/zhang.sac", "-e 2 -tr 700 -te 300 -b 50"),
    ("examples/digits/digits.sac", "-e 2 -tr 700 -te 300 -b 50"),
    ("examples/pendulum/pendulum.sac", "-again 40"),
];

#[derive(Clone)]
struct Program {
    source: PathBuf,
    input: Vec<u8>,
    arguments: Vec<String>,
    definitions: Vec<String>,
}

impl Program {
    fn golden(output: &Path) -> Program {
        let companion = |extension| std::fs::read(output.with_extension(extension)).unwrap_or_default();
        let words = |extension| String::from_utf8_lossy(&companion(extension)).into_owned();
        Program {
            source: output.with_extension("sac"),
            input: companion("in"),
            arguments: words("args").split_whitespace().map(String::from).collect(),
            definitions: words("defs").lines().map(String::from).collect(),
        }
    }

    fn plain(source: PathBuf, arguments: &str) -> Program {
        let arguments = arguments.split_whitespace().map(String::from).collect();
        Program { source, input: Vec::new(), arguments, definitions: Vec::new() }
    }

    /// Runs the program on the device several times, where the order of its work-items is another one each time.
    fn repeats_on_device(&self) -> Result<(), Failed> {
        let mut first: Option<String> = None;
        for _ in 0..3 {
            let place = tempfile::tempdir()?;
            let place = if self.source.starts_with(repository().join("examples")) {
                repository()
            } else {
                place.path().to_path_buf()
            };
            let mut command = Command::new(ravel());
            command.arg("run").args(self.definitions.iter().flat_map(|definition| ["-D", definition]));
            command.args(["--backend", "opencl", "--launch-work", "1"]).arg(&self.source).args(&self.arguments);
            command.env("RAVEL_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/opencl")).current_dir(place);
            let run = finish(&mut command, &self.input)?;
            match &first {
                None => first = Some(run.stdout),
                Some(stdout) if timeless(stdout) == timeless(&run.stdout) => {}
                Some(stdout) => return Err(format!("once {}--- and once\n{stdout}", run.describe()).into()),
            }
        }
        Ok(())
    }

    fn is_the_same(&self, backend: &str) -> Result<(), Failed> {
        let folder = tempfile::tempdir()?;
        let executable = folder.path().join("program");
        let definitions = self.definitions.iter().flat_map(|definition| ["-D", definition]);
        let mut build = Command::new(ravel());
        if let Some(linker) = std::env::var_os("RAVEL_TEST_CC") {
            build.env("CC", linker);
        }
        build.arg("build").args(definitions).args(["--backend", backend, "-o"]).arg(&executable).arg(&self.source);
        let built = finish(build.current_dir(folder.path()), b"")?;
        if built.status != 0 {
            return Err(format!("cannot build: {}", built.describe()).into());
        }
        let mut first: Option<(String, i32)> = None;
        for threads in THREADS {
            // Programs may write files, and the examples read some.
            let place = tempfile::tempdir()?;
            let place = if self.source.starts_with(repository().join("examples")) {
                repository()
            } else {
                place.path().to_path_buf()
            };
            let mut command = Command::new(&executable);
            command.args(&self.arguments).env("RAVEL_THREADS", threads).current_dir(place);
            let run = finish(&mut command, &self.input)?;
            match &first {
                None => first = Some((run.stdout, run.status)),
                Some((stdout, status)) if timeless(stdout) == timeless(&run.stdout) && *status == run.status => {}
                Some((stdout, status)) => {
                    return Err(format!(
                        "on {threads} threads: {}--- on 1 thread, status {status}\n{stdout}",
                        run.describe()
                    )
                    .into());
                }
            }
        }
        Ok(())
    }
}

/// An output without what measures time.
fn timeless(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.contains(" took "));
    lines
        .map(|line| {
            line.split_once("%, ").filter(|(_, rest)| rest.ends_with("images/s")).map_or(line, |(head, _)| head)
        })
        .collect()
}

fn main() -> ExitCode {
    let root = repository();
    let mut programs = Vec::new();
    for source in files_below(&root.join("tests/determinism"), "sac") {
        programs.push((test_name(&root.join("tests"), &source), Program::plain(source, "")));
    }
    for (source, arguments) in EXAMPLES {
        programs.push((source.to_string(), Program::plain(root.join(source), arguments)));
    }
    let all = std::env::var_os("RAVEL_DETERMINISM").is_some_and(|which| which == "all");
    let golden = root.join("tests/golden");
    let folders = if all { vec![golden] } else { TOPICS.map(|topic| golden.join(topic)).to_vec() };
    for output in folders.iter().flat_map(|folder| files_below(folder, "out")) {
        programs.push((test_name(&root.join("tests"), &output), Program::golden(&output)));
    }
    let mut trials = Vec::new();
    if has_device() {
        // The programs for this test, and the folds.
        for (name, program) in
            programs.iter().filter(|(name, _)| name.starts_with("determinism/") || name.starts_with("golden/folds"))
        {
            let program = program.clone();
            trials.push(Trial::test(format!("{name} [opencl]"), move || program.repeats_on_device()));
        }
    }
    let backends = of_processor();
    for (k, (name, program)) in programs.into_iter().enumerate() {
        let is_shared = !all && name.starts_with("golden/");
        // Golden programs take turns: what threads do with folds and arrays is decided in front of the backends.
        let own = backends.get(k % backends.len().max(1)).map_or(&backends[..], std::slice::from_ref);
        for &backend in if is_shared { own } else { &backends } {
            let program = program.clone();
            trials.push(Trial::test(format!("{name} [{backend}]"), move || program.is_the_same(backend)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
