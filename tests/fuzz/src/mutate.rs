//! Programs of `tests/golden` with their text changed: most are wrong, and each must be refused, or compiled and run, within limits.
//!
//! `ravel check` of a case, and `ravel check --emit asm`, which compiles it as `ravel run` does, must always end soon and with little
//! memory. What is accepted is run then. That a program runs for long or fills the memory is its own affair; that it crashes is not.

mod limits;
mod text;

use crate::rng::Rng;
use limits::{Ended, Limits, finish};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What the compiler may take for one case.
const COMPILING: Limits = Limits { time: Duration::from_secs(10), memory_kib: 2 << 20 };
/// When a program that was compiled soon is stopped: it has had its chance to crash.
const RUNNING: Limits = Limits { time: Duration::from_secs(3), memory_kib: 3 << 20 };
/// How long a case may be made smaller.
const SHRINKING: Duration = Duration::from_secs(120);
/// Cases with these words are compiled and not run: they reach what is outside of their folder, or bring C code that may do anything.
const NOT_RUN: [&str; 6] = ["System", "Process", "Dir", "File", "external", "Environment"];

/// The programs that are changed, with what their commands need.
pub struct Corpus {
    programs: Vec<Program>,
}

struct Program {
    path: PathBuf,
    text: Vec<u8>,
    /// Preprocessor definitions.
    definitions: Vec<String>,
}

/// A changed program.
pub struct Case {
    pub text: Vec<u8>,
    /// What it was made of.
    pub origin: String,
    folder: PathBuf,
    definitions: Vec<String>,
}

/// What was seen of a case that failed: `kind` is the same for the same fault.
#[derive(Debug)]
pub struct Failure {
    pub kind: String,
    pub what: String,
}

impl Corpus {
    /// All programs below a folder, in the order of their names, so that a seed means the same case everywhere.
    pub fn read(folder: &Path) -> Corpus {
        let mut paths: Vec<PathBuf> = ravel_tests::files_below(folder, "sac");
        paths.sort();
        let programs = paths.into_iter().filter_map(|path| {
            let text = fs::read(&path).ok()?;
            let definitions = fs::read_to_string(path.with_extension("defs")).unwrap_or_default();
            Some(Program { path, text, definitions: definitions.lines().map(String::from).collect() })
        });
        Corpus { programs: programs.collect() }
    }

    /// The case of a seed.
    pub fn case(&self, seed: u64) -> Case {
        let mut rng = Rng::new(seed);
        let program = &self.programs[rng.below(self.programs.len())];
        let other = &self.programs[rng.below(self.programs.len())];
        let mut text = program.text.clone();
        for _ in 0..1 + rng.below(4) {
            text = text::changed(&text, &other.text, &mut rng);
        }
        Case {
            text,
            origin: format!("{} and {}", program.path.display(), other.path.display()),
            folder: program.path.parent().map(Path::to_path_buf).unwrap_or_default(),
            definitions: program.definitions.clone(),
        }
    }
}

impl Case {
    /// Checks, compiles and runs the program.
    ///
    /// # Errors
    /// If it crashes anything, or compiling it takes too long or too much.
    pub fn attempt(&self) -> Result<(), Failure> {
        let folder = tempfile::tempdir().map_err(|error| outside(&error))?;
        let source = folder.path().join("case.sac");
        fs::write(&source, &self.text).map_err(|error| outside(&error))?;
        let ravel = |arguments: &[&str]| {
            let mut command = Command::new(ravel_tests::ravel());
            command.args(arguments).args(self.definitions.iter().flat_map(|definition| ["-D", definition]));
            command.arg("-I").arg(&self.folder).arg(&source).current_dir(folder.path());
            command
        };
        if !self.compile("check", &mut ravel(&["check"]))? {
            return Ok(());
        }
        let start = Instant::now();
        if !self.compile("compile", &mut ravel(&["check", "--emit", "asm"]))? {
            return Ok(());
        }
        let compiling = start.elapsed();
        let text = String::from_utf8_lossy(&self.text);
        if NOT_RUN.iter().any(|word| text.contains(word)) {
            return Ok(());
        }
        let limits = Limits { time: RUNNING.time + 2 * compiling, ..RUNNING };
        let ended = finish(&mut ravel(&["run", "--backend", "cranelift", "--threads", "2"]), limits);
        crash("run", &ended.map_err(|error| outside(&error))?)
    }

    /// Whether the compiler accepts the program.
    fn compile(&self, step: &str, command: &mut Command) -> Result<bool, Failure> {
        let ended = finish(command, COMPILING).map_err(|error| outside(&error))?;
        crash(step, &ended)?;
        match ended {
            Ended::Status { code: code @ (0 | 1), .. } => Ok(code == 0),
            Ended::Status { code, errors } => {
                Err(Failure { kind: format!("{step} status"), what: format!("exit status {code}\n{errors}") })
            }
            Ended::Signal { .. } => Ok(false),
            Ended::Late => {
                Err(Failure { kind: format!("{step} time"), what: format!("more than {:?}", COMPILING.time) })
            }
            Ended::Large => Err(Failure {
                kind: format!("{step} memory"),
                what: format!("more than {} MiB", COMPILING.memory_kib >> 10),
            }),
        }
    }

    /// A shorter case that fails in the same way: lines are left out, then single tokens.
    pub fn smallest(self, kind: &str) -> Case {
        let end = Instant::now() + SHRINKING;
        let mut best = self;
        for split in [text::lines, text::tokens] {
            let mut size = split(&best.text).len().div_ceil(2);
            while size > 0 && Instant::now() < end {
                let mut at = 0;
                loop {
                    let pieces: Vec<Vec<u8>> = split(&best.text).into_iter().map(<[u8]>::to_vec).collect();
                    if at >= pieces.len() || Instant::now() > end {
                        break;
                    }
                    let rest = pieces[..at].iter().chain(pieces.iter().skip(at + size));
                    let shorter = Case {
                        text: rest.flatten().copied().collect(),
                        origin: best.origin.clone(),
                        folder: best.folder.clone(),
                        definitions: best.definitions.clone(),
                    };
                    if shorter.attempt().is_err_and(|failure| failure.kind == kind) {
                        best = shorter;
                    } else {
                        at += size;
                    }
                }
                size /= 2;
            }
        }
        best
    }
}

/// A failure if the process ended as none may.
fn crash(step: &str, ended: &Ended) -> Result<(), Failure> {
    let (errors, how) = match ended {
        Ended::Signal { signal, errors } => (errors, format!("signal {signal}")),
        Ended::Status { errors, code } if errors.contains("panicked at") || errors.contains("internal error") => {
            (errors, format!("exit status {code}"))
        }
        _ => return Ok(()),
    };
    // The place of a panic, or the stage of an internal error, tells faults apart.
    let place = errors.lines().find(|line| line.contains("panicked at") || line.contains("internal error"));
    let place = place.map(|line| line.split("panicked at").last().unwrap_or(line)).unwrap_or_default();
    Err(Failure { kind: format!("{step} {how} {place}"), what: errors.clone() })
}

/// A failure of what surrounds the case.
fn outside(error: &std::io::Error) -> Failure {
    Failure { kind: "surroundings".to_string(), what: error.to_string() }
}
