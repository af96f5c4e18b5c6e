//! Arrays that threads share are counted rightly, however the threads take turns.
//!
//! The programs under `golden/shared` call functions from parallel loops with arrays that all iterations share. Each runs on 8 and on 64
//! threads, with `--widen-counts`: a count that is not atomic lets other threads run between its load and its store. A plain count of a shared
//! array then goes wrong in nearly every run, and leaves an array behind, copies one that nobody shares, or frees one too early.

use std::path::Path;
use std::process::{Command, ExitCode};

use ravel_tests::ways::of_processor;
use ravel_tests::{Arguments, Failed, Trial, files_below, finish, ravel, repository, test_name};

fn run(source: &Path, backend: &str, threads: u32, widened: bool) -> Result<(), Failed> {
    let companion = |extension| std::fs::read_to_string(source.with_extension(extension));
    let (output, fault) = (companion("out")?, companion("fault").unwrap_or_default());
    let mut command = Command::new(ravel());
    command.args(["run", "--stats", "--backend", backend, "--threads", &threads.to_string()]);
    command.args(widened.then_some("--widen-counts")).arg(source);
    let run = finish(&mut command, b"")?;
    if run.stdout != output {
        return Err(format!("the output differs from\n{output}--- but is\n{}", run.describe()).into());
    }
    if run.status != i32::from(!fault.is_empty()) || !run.stderr.contains(fault.trim()) {
        return Err(run.describe().into());
    }
    // A program that faults ends where it is.
    if fault.is_empty() && !run.stderr.contains(", 0 live objects") {
        return Err(format!("objects are left: {}", run.describe()).into());
    }
    Ok(())
}

fn main() -> ExitCode {
    let backends = of_processor();
    let folder = repository().join("tests/golden/shared");
    let mut trials = Vec::new();
    for source in files_below(&folder, "sac") {
        for &backend in &backends {
            for (threads, widened) in [(8, true), (64, true), (64, false)] {
                let (source, how) = (source.clone(), if widened { ", slow counts" } else { "" });
                let name = format!("{} [{backend}, {threads} threads{how}]", test_name(&folder, &source));
                trials.push(Trial::test(name, move || run(&source, backend, threads, widened)));
            }
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
