//! The parent's part: a child for each file, one after the other, since they would disturb each other.

use crate::backend::Backend;
use crate::testing::{Most, Outcome, follow};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// How benchmarks are run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Options of the compiler, as the command line has them: the children get them.
    pub source: Vec<OsString>,
    pub backend: Backend,
    /// Threads of each child.
    pub threads: usize,
    /// What a child may take; the time is that of a batch.
    pub most: Most,
    /// Only benchmarks whose `file:name` holds this.
    pub filter: Option<String>,
    /// Fewer batches.
    pub quick: bool,
    /// Only say which benchmarks there are.
    pub list: bool,
}

/// Runs the benchmarks of a file.
///
/// # Errors
/// The name of this program is not known, or there is no folder for temporary files.
pub fn run(settings: &Settings, file: &Path) -> Result<Vec<Outcome>, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot start benchmarks: {error}"))?;
    follow::functions(file, &settings.most, settings.list, &|folder, from| {
        let mut command = Command::new(&program);
        command.arg("bench").args(&settings.source).args(["--backend", settings.backend.name()]);
        command.args(["--threads", &settings.threads.to_string(), "--from", &from.to_string()]);
        if let Some(filter) = &settings.filter {
            command.arg("--filter").arg(filter);
        }
        command.args(settings.quick.then_some("--quick")).args(settings.list.then_some("--list"));
        command.arg("--worker").arg(folder).arg("--").arg(file);
        command
    })
}
