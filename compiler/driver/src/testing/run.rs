//! The parent's part: children for all files, as many at a time as there is room for, and what came of them.

use super::collect::Target;
use super::{Outcome, Settings, examples, follow, golden};
use crate::backend::Backend;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs all tests of the targets; `tell` gets what came of each target as soon as it is known, with its position.
///
/// # Errors
/// The name of this program is not known, or there is no folder for temporary files.
pub fn run(settings: &Settings, targets: &[Target], tell: &(dyn Fn(usize, &[Outcome]) + Sync)) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot start tests: {error}"))?;
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs.clamp(1, targets.len().max(1)) {
            scope.spawn(|| {
                while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < targets.len()) {
                    let results: Result<Vec<_>, String> =
                        settings.backends.iter().map(|b| one(settings, &program, &targets[at], *b)).collect();
                    match results {
                        Ok(results) => tell(at, &together(&settings.backends, results)),
                        Err(why) => drop(failure.lock().map(|mut first| first.get_or_insert(why).len())),
                    }
                }
            });
        }
    });
    failure.into_inner().unwrap_or_default().map_or(Ok(()), Err)
}

fn one(settings: &Settings, program: &Path, target: &Target, backend: Backend) -> Result<Vec<Outcome>, String> {
    match target {
        Target::Functions(file) => functions(settings, program, file, backend),
        Target::Golden(file) => golden::run(settings, program, file, backend),
        // The prompt has one backend.
        Target::Examples(file) if settings.backends.first() == Some(&backend) => examples::run(settings, program, file),
        Target::Examples(_) => Ok(Vec::new()),
    }
}

/// The tests of a file.
fn functions(settings: &Settings, program: &Path, file: &Path, backend: Backend) -> Result<Vec<Outcome>, String> {
    follow::functions(file, &settings.most, settings.list, &|folder, from| {
        let mut command = Command::new(program);
        command.arg("test").args(&settings.source).args(["--backend", backend.name()]);
        command.args(["--threads", &settings.threads.to_string(), "--seed", &settings.seed.to_string()]);
        command.args(["--cases", &settings.cases.to_string(), "--from", &from.to_string()]);
        if let Some(filter) = &settings.filter {
            command.arg("--filter").arg(filter);
        }
        if settings.list {
            command.arg("--list");
        }
        command.arg("--worker").arg(folder).arg("--").arg(file);
        command
    })
}

/// What came of the tests on several backends as one: they must all pass, and write the same.
fn together(backends: &[Backend], results: Vec<Vec<Outcome>>) -> Vec<Outcome> {
    let mut keys: Vec<(String, usize)> = Vec::new();
    for outcome in results.iter().flatten() {
        let key = (outcome.name.clone(), outcome.line);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let one = |(name, line): (String, usize)| {
        let of = |outcomes: &[Outcome]| outcomes.iter().find(|o| o.name == name && o.line == line).cloned();
        let found = backends.iter().zip(&results);
        let ran: Vec<(&str, Outcome)> =
            found.filter_map(|(backend, outcomes)| Some((backend.name(), of(outcomes)?))).collect();
        agreed(&ran)
    };
    keys.into_iter().filter_map(one).collect()
}

/// What came of one test on the backends that ran it.
fn agreed(ran: &[(&str, Outcome)]) -> Option<Outcome> {
    let ((first, outcome), others) = ran.split_first()?;
    let mut together = outcome.clone();
    together.time = ran.iter().map(|(_, outcome)| outcome.time).sum();
    together.passed = ran.iter().all(|(_, outcome)| outcome.passed);
    let differs = |(_, other): &&(&str, Outcome)| other.passed != outcome.passed || other.message != outcome.message;
    if !together.passed && others.iter().any(|other| differs(&other)) {
        let line = |(name, outcome): &(&str, Outcome)| match outcome.passed {
            true => format!("with {name} it passes\n"),
            false => format!("with {name}: {}\n", outcome.message.trim_end()),
        };
        together.message = ran.iter().map(line).collect();
    } else if together.passed
        && let Some((name, other)) = others.iter().find(|(_, other)| other.output != outcome.output)
    {
        together.passed = false;
        together.message = format!("with {first} it writes\n{}with {name} it writes\n{}", outcome.output, other.output);
    }
    Some(together)
}

#[cfg(test)]
mod tests {
    use super::follow::file_outcome;
    use super::*;

    fn outcome(passed: bool, message: &str, output: &str) -> Outcome {
        Outcome { passed, output: output.to_string(), ..file_outcome(Path::new("a.sac"), message.to_string()) }
    }

    #[test]
    fn backends_must_agree() {
        let judge = |a: Outcome, b: Outcome| {
            let both = agreed(&[("interp", a), ("cranelift", b)]).expect("there are some");
            (both.passed, both.message)
        };
        assert_eq!(judge(outcome(true, "", "x"), outcome(true, "", "x")), (true, String::new()));
        let differ = "with interp it writes\nx\nwith cranelift it writes\ny\n".to_string();
        assert_eq!(judge(outcome(true, "", "x\n"), outcome(true, "", "y\n")), (false, differ));
        assert_eq!(judge(outcome(false, "no\n", ""), outcome(false, "no\n", "")), (false, "no\n".to_string()));
        let one = "with interp it passes\nwith cranelift: no\n".to_string();
        assert_eq!(judge(outcome(true, "", ""), outcome(false, "no\n", "")), (false, one));
    }
}
