//! What programs print does not depend on ranks and their threads, bit by bit.
//!
//! Beside the programs in this folder, which print all digits of everything that ranks may share, those of `determinism/`. Every program is run alone, then
//! on ranks and threads of all these numbers; ranks share every loop that they can.

use std::path::Path;

use ravel_tests::ranks::{self, Build, Launcher};
use ravel_tests::ways::{Way, of_processor};
use ravel_tests::{Failed, Trial, files_below, repository, test_name};

const RANKS: [usize; 4] = [2, 3, 4, 7];
const THREADS: [&str; 2] = ["1", "2"];

fn is_the_same(source: &Path, build: Build) -> Result<(), Failed> {
    let built = tempfile::tempdir()?;
    let backend = of_processor().first().copied().unwrap_or("cranelift");
    let mut alone = Way::Executable { backend }.command(source, build.options(), built.path())?;
    let alone = ravel_tests::finish(&mut alone, b"")?;
    if alone.status != 0 || !alone.stderr.is_empty() || alone.stdout.is_empty() {
        return Err(format!("alone: {}", alone.describe()).into());
    }
    for count in RANKS {
        for threads in THREADS {
            let mut command = Launcher::OpenMpi.command(count, &built.path().join("program"));
            let run = ranks::finish(command.env("RAVEL_THREADS", threads), b"", built.path())?;
            if run.status != 0 || !run.stderr.is_empty() {
                return Err(format!("on {count} ranks of {threads} threads: {}", run.describe()).into());
            }
            if run.stdout != alone.stdout {
                let different = run.stdout.lines().zip(alone.stdout.lines()).enumerate().find(|(_, (a, b))| a != b);
                let (line, (now, before)) = different.unwrap_or((0, ("more or fewer lines", "")));
                return Err(format!(
                    "on {count} ranks of {threads} threads, line {}:\n{now}\nalone:\n{before}",
                    line + 1
                )
                .into());
            }
        }
    }
    Ok(())
}

pub fn trials() -> Vec<Trial> {
    let tests = repository().join("tests");
    let mut trials = Vec::new();
    for folder in ["ranks", "determinism"] {
        for source in files_below(&tests.join(folder), "sac") {
            for build in Build::BOTH {
                let (name, source) = (format!("bits/{}", test_name(&tests, &source)), source.clone());
                trials.push(Trial::test(build.name(&name), move || is_the_same(&source, build)));
            }
        }
    }
    trials
}
