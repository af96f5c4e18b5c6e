//! Ranks that the interpreter simulates, without MPI: golden programs print what they should, and no rank reads rows that it has not.
//!
//! Each program runs as the optimiser leaves it, on all these numbers of ranks, and on one of them as the specialiser made it.
//! `RAVEL_TEST_RANKS=all` runs all golden programs so, not a choice of topics.

use std::path::Path;
use std::process::Command;

use ravel_tests::programs::Golden;
use ravel_tests::{Failed, Finished, Trial, files_below, finish, ravel, repository, test_name};

const RANKS: [&str; 4] = ["1", "2", "3", "7"];

/// Topics whose programs make arrays by with-loops and read them in others.
const TOPICS: [&str; 6] = ["comprehensions", "empties", "folds", "library-array", "loops", "withloops"];

/// What optimised programs do otherwise in the interpreter: it adds in order, where code does so in groups, and a function that was put into another one keeps its
/// objects until that one ends.
const DIFFERENT: [&str; 2] = ["folds/sums-of-sums-are-accurate", "foreign/functions-of-c"];

/// Every so many programs of the topics are run.
const STRIDE: usize = 6;

fn simulated(program: &Golden, ranks: &str, without: &str) -> Result<Finished, Failed> {
    // Programs may write files: each run has a folder of its own.
    let place = tempfile::tempdir()?;
    let mut command = Command::new(ravel());
    command.args(["run", "--backend", "interp", "--ranks", ranks]).args(program.options()).arg(&program.source);
    command.args(&program.arguments).env("RAVEL_WITHOUT", without).current_dir(place.path());
    finish(&mut command, program.input.as_bytes())
}

fn is_the_same(program: &Golden) -> Result<(), Failed> {
    let optimised = RANKS.map(|ranks| (ranks, ""));
    for (ranks, without) in optimised.into_iter().chain([("3", "all")]) {
        let run = simulated(program, ranks, without)?;
        let on = |why: Failed| {
            let made = if without.is_empty() { "optimised" } else { "as it was specialised" };
            format!("on {ranks} ranks, {made}: {}", why.message().unwrap_or_default())
        };
        program.compare(&run).map_err(on)?;
    }
    Ok(())
}

/// Of a stencil only the rows at borders move: two arrays, four times in each of 20 steps, and the means of eleven moments once.
fn borders_alone() -> Result<(), Failed> {
    let mut command = Command::new(ravel());
    command.args(["run", "--stats", "--backend", "interp", "--ranks", "3"]);
    command.arg(repository().join("examples/plate/plate.sac")).args(["-n", "60", "-steps", "20"]);
    let run = finish(&mut command, b"")?;
    let expected = "ranks: 3 simulated; rows needed from others 160, rows gathered 22, cells broadcast 0\n";
    if run.status != 0 || !run.stderr.contains(expected) {
        return Err(format!("expected {expected}, got {}", run.describe()).into());
    }
    Ok(())
}

pub fn trials() -> Vec<Trial> {
    let is_all = std::env::var("RAVEL_TEST_RANKS").unwrap_or_default().starts_with("all");
    let golden = repository().join("tests/golden");
    let is_chosen = |at: usize, output: &Path| {
        is_all || at.is_multiple_of(STRIDE) && TOPICS.iter().any(|topic| output.starts_with(golden.join(topic)))
    };
    let mut trials = vec![Trial::test("oracle/borders-alone", borders_alone)];
    for (at, output) in files_below(&golden, "out").into_iter().enumerate() {
        let name = test_name(&golden, &output);
        if is_chosen(at, &output) && !DIFFERENT.contains(&name.as_str()) {
            let program = Golden::load(&output);
            trials.push(Trial::test(format!("oracle/{name}"), move || is_the_same(&program)));
        }
    }
    trials
}
