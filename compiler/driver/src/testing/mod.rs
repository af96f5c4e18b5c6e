//! `ravel test`: finds tests, runs each file in a child process, and says what came of them.
//!
//! Tests are functions, found by name, so that other compilers take the files, too. A child compiles one function after the other
//! and calls it on a thread that a fault may end; it writes what happens to a file of events, which the parent follows. A test that
//! ends the process, or that does not end, costs its child: another one goes on behind it.

mod arguments;
pub mod child;
mod collect;
mod elements;
pub(crate) mod events;
mod examples;
mod faults;
mod find;
pub(crate) mod follow;
mod golden;
pub mod machine;
mod property;
mod report;
mod run;
mod transcript;
mod worker;

pub use arguments::{Case, Patterns};
pub use child::Most;
pub use collect::{Target, collect, files_with};
pub use elements::Random;
pub use find::{functions as find_functions, kind_of, notes_above};
pub use report::{Format, human, json, junit, summary};
pub use run::run;
pub use transcript::PROMPT;
pub use worker::work;

use crate::backend::Backend;
use crate::pipeline::Compilation;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What a test is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A function `test_...` without parameters.
    Unit,
    /// A function `prop_...` that is true for all arguments.
    Property,
    /// A function `fails_...` that faults, or that the compiler refuses.
    Fails,
    /// A program whose output is recorded beside it.
    Golden,
    /// A transcript of the prompt.
    Example,
    /// A function `bench_...`, which is timed.
    Bench,
    /// The file as a whole, where nothing in it can be run.
    File,
}

impl Kind {
    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Unit => "unit",
            Kind::Property => "property",
            Kind::Fails => "fails",
            Kind::Golden => "golden",
            Kind::Example => "example",
            Kind::Bench => "bench",
            Kind::File => "file",
        }
    }
}

/// What came of a test.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub file: PathBuf,
    pub name: String,
    pub kind: Kind,
    /// The line of its head, from 1; 0 for a file.
    pub line: usize,
    pub passed: bool,
    pub time: Duration,
    /// Why it failed.
    pub message: String,
    /// What it wrote.
    pub output: String,
    /// What a benchmark found out.
    pub measured: Option<serde_json::Value>,
}

/// How tests are run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Options of the compiler, as the command line has them: the children get them.
    pub source: Vec<OsString>,
    /// What runs each test; with several, they must agree.
    pub backends: Vec<Backend>,
    /// Threads of each child.
    pub threads: usize,
    /// Children at a time.
    pub jobs: usize,
    /// A test that takes more has failed.
    pub most: Most,
    /// Only tests whose `file:name` holds this.
    pub filter: Option<String>,
    /// From which the arguments of properties are drawn.
    pub seed: u64,
    /// How many arguments a property gets.
    pub cases: usize,
    /// Only say which tests there are.
    pub list: bool,
    /// What programs write is taken for what they should write.
    pub bless: bool,
    /// How far numbers that programs write may be from those that they should write, in relation to them.
    pub tolerance: Option<f64>,
}

/// What the worker in a child process is asked to do.
#[derive(Clone, Debug)]
pub struct Work {
    /// The folder with the file of events.
    pub folder: PathBuf,
    /// The first test that is to be run, by its position in the file.
    pub from: usize,
    pub filter: Option<String>,
    pub seed: u64,
    pub cases: usize,
    pub list: bool,
    /// Hears what a compilation has read.
    pub note: fn(&Compilation),
}

/// The seed of whoever gives none: tests that pass today pass tomorrow.
pub const SEED: u64 = 1;

/// How much memory a child may use by default: few programs need more, and few machines have less.
pub const MEMORY: u64 = 4 << 30;

/// How many arguments a property gets by default.
pub const CASES: usize = 100;

/// Whether a filter lets a test through.
pub(crate) fn admits(filter: Option<&str>, file: &std::path::Path, name: &str) -> bool {
    filter.is_none_or(|part| format!("{}:{name}", file.display()).contains(part))
}
