//! The parent's part: children for all files, as many at a time as there is room for, and what came of them.

use super::child::{self, PAUSE};
use super::collect::Target;
use super::events::{Event, OUTPUT, Reader};
use super::property::again;
use super::worker::exited;
use super::{Kind, Outcome, Settings, examples, golden};
use crate::backend::Backend;
use ravel_runtime::outputs::Folder;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Most of what a test wrote that reports show.
const MOST_OUTPUT: u64 = 4000;

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

/// A test that a child has announced.
struct Announced {
    name: String,
    kind: Kind,
    line: usize,
}

/// The tests of a file. A child that ends before its time is followed by another one, behind the test that ended it.
fn functions(settings: &Settings, program: &Path, file: &Path, backend: Backend) -> Result<Vec<Outcome>, String> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut from = 0;
    loop {
        let folder = Folder::temporary().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
        let mut child = Followed::new(settings, program, file, backend, folder.path(), from);
        let end = child.follow(settings.timeout)?;
        for event in child.ended.drain(..) {
            outcomes.push(event.outcome(file, &child.announced));
        }
        let Some((at, why)) = end else {
            if settings.list {
                let listed = child.announced.iter().map(|test| test.outcome(file, true, ""));
                outcomes.extend(listed);
            }
            return Ok(outcomes);
        };
        let Some(test) = at.and_then(|at| child.announced.get(at)) else {
            outcomes.push(file_outcome(file, why));
            return Ok(outcomes);
        };
        let again = child.seed.map_or(String::new(), |seed| again(file, &test.name, seed));
        let mut outcome = test.outcome(file, false, &format!("{why}{again}"));
        outcome.time = child.since.elapsed();
        outcome.output = output(folder.path(), child.output, None);
        outcomes.push(outcome);
        from = at.map_or(0, |at| at + 1);
        if from >= child.announced.len() {
            return Ok(outcomes);
        }
    }
}

pub(super) fn file_outcome(file: &Path, message: String) -> Outcome {
    Outcome {
        file: file.to_path_buf(),
        name: String::new(),
        kind: Kind::File,
        line: 0,
        passed: false,
        time: Duration::ZERO,
        message,
        output: String::new(),
    }
}

impl Announced {
    fn outcome(&self, file: &Path, passed: bool, message: &str) -> Outcome {
        Outcome {
            name: self.name.clone(),
            kind: self.kind,
            line: self.line,
            passed,
            ..file_outcome(file, message.to_string())
        }
    }
}

/// A test that has ended.
struct Ended {
    at: usize,
    passed: bool,
    seconds: f64,
    message: String,
    output: String,
}

impl Ended {
    fn outcome(self, file: &Path, announced: &[Announced]) -> Outcome {
        let Some(test) = announced.get(self.at) else { return file_outcome(file, self.message) };
        Outcome {
            time: Duration::try_from_secs_f64(self.seconds).unwrap_or_default(),
            output: self.output,
            ..test.outcome(file, self.passed, &self.message)
        }
    }
}

/// A child under way.
struct Followed<'a> {
    command: Command,
    folder: &'a Path,
    announced: Vec<Announced>,
    ended: Vec<Ended>,
    /// The test that is running, and since when.
    running: Option<usize>,
    since: Instant,
    /// Where its output begins.
    output: u64,
    /// What its present arguments are drawn from, if it has some.
    seed: Option<u64>,
    broken: Option<String>,
    done: bool,
}

impl<'a> Followed<'a> {
    fn new(
        settings: &Settings,
        program: &Path,
        file: &Path,
        backend: Backend,
        folder: &'a Path,
        from: usize,
    ) -> Followed<'a> {
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
        Followed {
            command,
            folder,
            announced: Vec::new(),
            ended: Vec::new(),
            running: None,
            since: Instant::now(),
            output: 0,
            seed: None,
            broken: None,
            done: false,
        }
    }

    /// Waits for the child's end. If that came too early: the test that was running, and why.
    fn follow(&mut self, timeout: Duration) -> Result<Option<(Option<usize>, String)>, String> {
        let mut process = child::start(&mut self.command, &self.folder.join(OUTPUT))
            .map_err(|error| format!("cannot start a child: {error}"))?;
        let mut reader = Reader::default();
        loop {
            let ended = process.try_wait().map_err(|error| format!("cannot wait for a child: {error}"))?;
            for event in reader.news(self.folder) {
                self.take(event);
            }
            if let Some(message) = self.broken.take() {
                child::stop(&mut process);
                return Ok(Some((None, message)));
            }
            if self.done {
                child::stop(&mut process);
                return Ok(None);
            }
            if let Some(status) = ended {
                let status = child::status(status);
                let why = match child::signal(status) {
                    Some(signal) => format!("the process was ended by {signal}\n"),
                    None if self.running.is_some() => exited(status),
                    None => {
                        let said = output(self.folder, 0, None);
                        format!("the process that was to run the tests ended with status {status}\n{said}")
                    }
                };
                return Ok(Some((self.running, why)));
            }
            if self.since.elapsed() > timeout {
                child::stop(&mut process);
                return Ok(Some((self.running, format!("it takes longer than {} s\n", timeout.as_secs_f64()))));
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Test { name, kind, line, .. } => self.announced.push(Announced { name, kind, line }),
            Event::Begin { at, output } => {
                (self.running, self.since, self.output, self.seed) = (Some(at), Instant::now(), output, None);
            }
            Event::End { at, passed, seconds, message, output: end } => {
                let output = output(self.folder, self.output, Some(end));
                self.ended.push(Ended { at, passed, seconds, message, output });
                (self.running, self.since) = (None, Instant::now());
            }
            Event::Case { seed } => self.seed = Some(seed),
            Event::Broken { message } => self.broken = Some(message),
            Event::Done => self.done = true,
        }
    }
}

/// What was written between two places, cut where it becomes too long.
fn output(folder: &Path, from: u64, to: Option<u64>) -> String {
    let mut bytes = Vec::new();
    let most = to.map_or(MOST_OUTPUT, |to| to.saturating_sub(from).min(MOST_OUTPUT));
    let read = std::fs::File::open(folder.join(OUTPUT)).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.take(most).read_to_end(&mut bytes)
    });
    let cut = read.is_ok() && bytes.len() as u64 == MOST_OUTPUT;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if cut { format!("{text}...\n") } else { text }
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
