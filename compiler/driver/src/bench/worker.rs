//! The child's part: the benchmarks of one file, one after the other.

use super::{Suite, store};
use crate::pipeline::Options;
use crate::testing::Kind;
use crate::testing::events::{Event, Writer, written};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What the worker in a child process is asked to do.
#[derive(Clone, Debug)]
pub struct Work {
    /// The folder with the file of events.
    pub folder: PathBuf,
    /// The first benchmark that is to be run, by its position in the file.
    pub from: usize,
    pub filter: Option<String>,
    /// How many batches count.
    pub batches: usize,
    pub list: bool,
}

/// Runs the benchmarks of a file and tells the parent.
///
/// # Errors
/// The parent's folder cannot be written to.
pub fn work(options: Options, file: &Path, work: &Work) -> io::Result<()> {
    let mut parent = Writer::open(&work.folder)?;
    ravel_runtime::child::end_first();
    let mut suite = match Suite::open(options, file) {
        Ok(suite) => suite,
        Err(message) => return parent.tell(&Event::Broken { message }),
    };
    let mut chosen = suite.benches.clone();
    chosen.retain(|bench| crate::testing::admits(work.filter.as_deref(), file, &bench.name));
    for (at, bench) in chosen.iter().enumerate() {
        parent.tell(&Event::Test { at, name: bench.title(), kind: Kind::Bench, line: bench.line })?;
    }
    if !work.list {
        for (at, bench) in chosen.iter().enumerate().skip(work.from) {
            parent.tell(&Event::Begin { at, output: written(&work.folder) })?;
            let start = Instant::now();
            // Whoever is not heard is stopped later on.
            let measured = suite.measure(bench, work.batches, &mut || drop(parent.tell(&Event::Alive)));
            let seconds = start.elapsed().as_secs_f64();
            ravel_runtime::stream::flush_all();
            let (passed, message) = match measured {
                Ok(measured) => {
                    parent.tell(&Event::Measured { result: store::result(&measured) })?;
                    (true, String::new())
                }
                Err(message) => (false, message),
            };
            parent.tell(&Event::End { at, passed, seconds, message, output: written(&work.folder) })?;
        }
    }
    parent.tell(&Event::Done)
}
