//! Golden programs on ranks: output and status are what `golden/` expects, and the error output is that of one process.

use std::fs;
use std::path::Path;

use ravel_tests::programs::Golden;
use ravel_tests::ranks::{self, Build, Launcher};
use ravel_tests::ways::{Way, of_processor};
use ravel_tests::{Failed, Trial, files_below, repository, test_name};

/// Topics that parallel loops have to do with, as in `determinism.rs`.
const TOPICS: [&str; 6] = ["folds", "library-array", "programs", "stress", "threads", "withloops"];

/// Modules of the library whose functions do something outside of the program, but for printing, which all programs do.
fn modules_with_effects() -> Vec<String> {
    let mut modules = Vec::new();
    for source in files_below(&repository().join("stdlib"), "sac") {
        let text = fs::read_to_string(&source).unwrap_or_default();
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if text.contains("#pragma effect") && name != "StdIO" {
            modules.push(name);
        }
    }
    modules
}

/// Whether the program reads, ends with a status, or uses a module of these.
fn has_effects(program: &Golden, modules: &[String]) -> bool {
    let text = fs::read_to_string(&program.source).unwrap_or_default();
    let imported = |line: &str| {
        let rest = line.trim_start().strip_prefix("use ").or_else(|| line.trim_start().strip_prefix("import "));
        rest.and_then(|rest| rest.split(|c: char| !c.is_alphanumeric()).next())
            .is_some_and(|name| modules.iter().any(|m| m == name))
    };
    !program.input.is_empty() || program.status != 0 || text.split([';', '\n']).any(imported)
}

/// Runs a program on so many ranks, one number after the other.
fn run(program: &Golden, build: Build, launcher: Launcher, counts: &[usize]) -> Result<(), Failed> {
    let built = tempfile::tempdir()?;
    let backend = of_processor().first().copied().unwrap_or("cranelift");
    let mut alone =
        Way::Executable { backend }.command(&program.source, program.options().chain(build.options()), built.path())?;
    let place = tempfile::tempdir()?;
    let alone = alone.args(&program.arguments).env("RAVEL_THREADS", "1").current_dir(place.path());
    let alone = ravel_tests::finish(alone, program.input.as_bytes())?;
    for &count in counts {
        // Programs may write files: each run has a folder of its own.
        let place = tempfile::tempdir()?;
        let mut command = launcher.command(count, &built.path().join("program"));
        command.args(&program.arguments).current_dir(place.path());
        let run = ranks::finish(&mut command, program.input.as_bytes(), built.path())?;
        let on = |why: Failed| format!("on {count} ranks: {}", why.message().unwrap_or_default());
        program.compare(&run).map_err(on)?;
        if run.stderr != alone.stderr {
            return Err(format!("on {count} ranks: {}--- alone, on stderr\n{}", run.describe(), alone.stderr).into());
        }
    }
    Ok(())
}

/// All golden programs on 1 to 4 ranks, or a choice on 3.
pub fn trials(launchers: &[Launcher]) -> Vec<Trial> {
    let asked = std::env::var("RAVEL_TEST_RANKS").unwrap_or_default();
    let launcher =
        if asked == "all-mpich" && launchers.contains(&Launcher::Mpich) { Launcher::Mpich } else { Launcher::OpenMpi };
    let is_all = asked.starts_with("all");
    let modules = modules_with_effects();
    let golden = repository().join("tests/golden");
    let is_chosen = |output: &Path, program: &Golden| {
        is_all || TOPICS.iter().any(|topic| output.starts_with(golden.join(topic))) || has_effects(program, &modules)
    };
    let counts: &[usize] = if is_all { &[1, 2, 3, 4] } else { &[3] };
    let mut trials = Vec::new();
    for output in files_below(&golden, "out") {
        let program = Golden::load(&output);
        if is_chosen(&output, &program) {
            for build in Build::BOTH {
                let name = build.name(&format!("golden/{}", test_name(&golden, &output)));
                let program = program.clone();
                trials.push(Trial::test(name, move || run(&program, build, launcher, counts)));
            }
        }
    }
    trials
}
