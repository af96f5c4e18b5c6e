//! Follows child processes that go through the functions of a file: what they say of each, and what became of those that ended too early.

use super::child::{self, Guard, Most, PAUSE};
use super::events::{Event, OUTPUT, Reader};
use super::property::again;
use super::worker::exited;
use super::{Kind, Outcome};
use ravel_runtime::outputs::Folder;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Most of what a function wrote that reports show.
const MOST_OUTPUT: u64 = 4000;

/// What came of the functions of a file. A child that ends before its time is followed by another one, behind the function that ended it.
/// `command` makes the one that uses a folder and begins at a function. With `list` they are only announced.
///
/// # Errors
/// A child cannot be started, or there is no folder for it.
pub(crate) fn functions(
    file: &Path,
    most: &Most,
    list: bool,
    command: &dyn Fn(&Path, usize) -> Command,
) -> Result<Vec<Outcome>, String> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut from = 0;
    loop {
        let folder = Folder::temporary().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
        let mut child = Followed::new(folder.path());
        let end = child.follow(command(folder.path(), from), most)?;
        for event in child.ended.drain(..) {
            outcomes.push(event.outcome(file, &child.announced));
        }
        let Some((at, why)) = end else {
            if list {
                outcomes.extend(child.announced.iter().map(|test| test.outcome(file, true, "")));
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

/// What is said of a file that cannot be run.
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
        measured: None,
    }
}

/// A function that a child has announced.
struct Announced {
    name: String,
    kind: Kind,
    line: usize,
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

/// A function that has ended.
struct Ended {
    at: usize,
    passed: bool,
    seconds: f64,
    message: String,
    output: String,
    measured: Option<serde_json::Value>,
}

impl Ended {
    fn outcome(self, file: &Path, announced: &[Announced]) -> Outcome {
        let Some(test) = announced.get(self.at) else { return file_outcome(file, self.message) };
        Outcome {
            time: Duration::try_from_secs_f64(self.seconds).unwrap_or_default(),
            output: self.output,
            measured: self.measured,
            ..test.outcome(file, self.passed, &self.message)
        }
    }
}

/// A child under way.
struct Followed<'a> {
    folder: &'a Path,
    announced: Vec<Announced>,
    ended: Vec<Ended>,
    /// The function that is running, and since when.
    running: Option<usize>,
    since: Instant,
    /// Where its output begins.
    output: u64,
    /// What its present arguments are drawn from, if it has some.
    seed: Option<u64>,
    measured: Option<serde_json::Value>,
    broken: Option<String>,
    done: bool,
}

impl<'a> Followed<'a> {
    fn new(folder: &'a Path) -> Followed<'a> {
        Followed {
            folder,
            announced: Vec::new(),
            ended: Vec::new(),
            running: None,
            since: Instant::now(),
            output: 0,
            seed: None,
            measured: None,
            broken: None,
            done: false,
        }
    }

    /// Waits for the child's end. If that came too early: the function that was running, and why.
    fn follow(&mut self, mut command: Command, most: &Most) -> Result<Option<(Option<usize>, String)>, String> {
        let mut process = child::start(&mut command, &self.folder.join(OUTPUT))
            .map_err(|error| format!("cannot start a child: {error}"))?;
        let mut guard = Guard::new(most);
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
                        format!("the process that was to run its functions ended with status {status}\n{said}")
                    }
                };
                return Ok(Some((self.running, why)));
            }
            if let Some(why) = guard.exceeded(&process, self.since) {
                child::stop(&mut process);
                return Ok(Some((self.running, why)));
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
                let measured = self.measured.take();
                self.ended.push(Ended { at, passed, seconds, message, output, measured });
                (self.running, self.since) = (None, Instant::now());
            }
            Event::Case { seed } => self.seed = Some(seed),
            Event::Alive => self.since = Instant::now(),
            Event::Measured { result } => self.measured = Some(result),
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
