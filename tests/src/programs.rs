//! Golden programs: every `golden/<topic>/<name>.out` is the standard output of `<name>.sac` beside it.
//!
//! Optional companions: `.in` (standard input), `.args` (program arguments, separated by blanks), `.defs`
//! (preprocessor definitions, one a line), `.status` (exit status, 0 without it) and `.fault` (part of what the error output says).

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Failed, Finished};

/// A program and what it must do.
#[derive(Clone)]
pub struct Golden {
    pub source: PathBuf,
    pub output: String,
    pub input: String,
    pub arguments: Vec<String>,
    pub definitions: Vec<String>,
    pub fault: String,
    pub status: i32,
}

impl Golden {
    /// The program whose output this file has.
    ///
    /// # Panics
    /// If the file cannot be read.
    #[must_use]
    pub fn load(output: &Path) -> Self {
        let companion = |extension| fs::read_to_string(output.with_extension(extension)).unwrap_or_default();
        Golden {
            source: output.with_extension("sac"),
            output: fs::read_to_string(output).expect("a listed file is readable"),
            input: companion("in"),
            arguments: companion("args").split_whitespace().map(String::from).collect(),
            definitions: companion("defs").lines().map(String::from).collect(),
            fault: companion("fault").trim().to_string(),
            status: companion("status").trim().parse().unwrap_or(0),
        }
    }

    /// What the compiler is told.
    pub fn options(&self) -> impl Iterator<Item = String> {
        self.definitions.iter().flat_map(|definition| ["-D".to_string(), definition.clone()])
    }

    /// Whether the program did what it must.
    ///
    /// # Errors
    /// What differs.
    pub fn compare(&self, run: &Finished) -> Result<(), Failed> {
        if run.stdout != self.output {
            return Err(format!("the output differs from\n{}--- but is\n{}", self.output, run.describe()).into());
        }
        if !run.stderr.contains(&self.fault) {
            return Err(format!("expected the fault {}, got {}", self.fault, run.describe()).into());
        }
        if run.status != self.status {
            return Err(format!("expected exit status {}, got {}", self.status, run.describe()).into());
        }
        Ok(())
    }
}
