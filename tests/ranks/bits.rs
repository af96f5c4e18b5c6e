//! What programs print does not depend on ranks and their threads, bit by bit.
//!
//! Beside the programs in this folder, which print all digits of everything that ranks may share, those of `determinism/`. Every program is run alone, then
//! on so many ranks, of one thread or two; ranks share every loop that they can. Programs of arrays in rows run once more where each rank computes every loop
//! that leaves rows nowhere as a whole, too, and compares.

use std::path::Path;

use ravel_tests::ranks::{self, Build, Launcher};
use ravel_tests::ways::{Way, of_processor};
use ravel_tests::{Failed, Trial, files_below, repository, test_name};

/// Numbers of ranks, and of the threads of each.
const RANKS: [(usize, &str); 4] = [(2, "2"), (3, "1"), (4, "2"), (7, "1")];

/// A way to run a program on ranks.
#[derive(Clone, Copy)]
struct On {
    ranks: usize,
    threads: &'static str,
    /// `RAVEL_RANKS_CHECK`.
    check: &'static str,
}

impl On {
    fn all(build: Build, is_of_rows: bool) -> Vec<On> {
        let mut all: Vec<On> = RANKS.map(|(ranks, threads)| On { ranks, threads, check: "1" }).to_vec();
        if build == Build::Rows && is_of_rows {
            all.push(On { ranks: 3, threads: "2", check: "2" });
        }
        all
    }
}

fn is_the_same(source: &Path, build: Build) -> Result<(), Failed> {
    let built = tempfile::tempdir()?;
    let name = source.file_stem().unwrap_or_default().to_string_lossy();
    // Partial results that are arrays have addresses, which differ where everything else is equal: `rows-kept` has such.
    let is_of_rows = ["rows", "rows-elsewhere"].contains(&&*name);
    let backend = of_processor().first().copied().unwrap_or("cranelift");
    let mut alone = Way::Executable { backend }.command(source, build.options(), built.path())?;
    let alone = ravel_tests::finish(&mut alone, b"")?;
    if alone.status != 0 || !alone.stderr.is_empty() || alone.stdout.is_empty() {
        return Err(format!("alone: {}", alone.describe()).into());
    }
    for On { ranks: count, threads, check } in On::all(build, is_of_rows) {
        let mut command = Launcher::OpenMpi.command(count, &built.path().join("program"));
        command.env("RAVEL_THREADS", threads).env("RAVEL_RANKS_CHECK", check);
        let run = ranks::finish(&mut command, b"", built.path())?;
        let how = format!("on {count} ranks of {threads} threads, check {check}");
        if run.status != 0 || !run.stderr.is_empty() {
            return Err(format!("{how}: {}", run.describe()).into());
        }
        if run.stdout != alone.stdout {
            let different = run.stdout.lines().zip(alone.stdout.lines()).enumerate().find(|(_, (a, b))| a != b);
            let (line, (now, before)) = different.unwrap_or((0, ("more or fewer lines", "")));
            return Err(format!("{how}, line {}:\n{now}\nalone:\n{before}", line + 1).into());
        }
    }
    Ok(())
}

/// Names of modules begin with a capital letter.
fn is_program(source: &Path) -> bool {
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    !name.starts_with(|first: char| first.is_uppercase())
}

pub fn trials() -> Vec<Trial> {
    let tests = repository().join("tests");
    let mut trials = Vec::new();
    for folder in ["ranks", "determinism"] {
        for source in files_below(&tests.join(folder), "sac").into_iter().filter(|source| is_program(source)) {
            for build in Build::BOTH {
                let (name, source) = (format!("bits/{}", test_name(&tests, &source)), source.clone());
                trials.push(Trial::test(build.name(&name), move || is_the_same(&source, build)));
            }
        }
    }
    trials
}
