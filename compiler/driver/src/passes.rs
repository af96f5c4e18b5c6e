//! `ravel opt`: optimiser passes over WIR from a text or a program.

use crate::files::read_text;
use crate::pipeline::{Compilation, Failure};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_opt::{PASSES, PassError};
use ravel_wir::Module;
use ravel_wir::parse::parse_module;
use ravel_wir::print::print_module;
use ravel_wir::verify::verify;
use std::path::Path;
use std::time::Duration;

/// Problems of a WIR text that are told at once.
const MOST_PROBLEMS: usize = 10;

/// Name and summary of every pass.
pub fn passes() -> impl Iterator<Item = (&'static str, &'static str)> {
    PASSES.iter().map(|pass| (pass.name, pass.summary))
}

/// What a pass is called now, of which another name is used that it had before.
pub fn new_name(old: &str) -> Option<&'static str> {
    ravel_opt::new_name(old)
}

/// WIR after some passes.
pub struct Passed {
    pub text: String,
    /// Time of each pass, the longest first.
    pub times: Vec<(&'static str, Duration)>,
}

impl Compilation {
    /// Runs the named passes, or the whole optimiser, over a WIR text (`.wir`) or a program.
    ///
    /// # Errors
    /// Those of reading the file; [`Failure::Unsupported`] for an unknown pass.
    pub fn run_passes(&mut self, path: &Path, names: Option<&[&str]>) -> Result<Passed, Failure> {
        let module = if path.extension().is_some_and(|e| e == "wir") { self.wir_text(path)? } else { self.wir(path)? };
        if let Some(explanation) = &mut self.explanation {
            explanation.made(&module);
        }
        let done = ravel_opt::run_timed(module, names, &self.settings()).map_err(failure)?;
        if let Some(explanation) = &mut self.explanation {
            explanation.optimized(&done.module, done.remarks);
        }
        Ok(Passed { text: print_module(&done.module), times: done.times })
    }

    fn wir_text(&mut self, path: &Path) -> Result<Module, Failure> {
        let unreadable = |why: String| Failure::Unreadable { path: path.to_path_buf(), why };
        let text = read_text(path).map_err(unreadable)?;
        let file = self.map.add(path.display().to_string(), text.clone());
        let module = parse_module(&text, file).map_err(|error| unreadable(error.to_string()))?;
        verify(&module).map_err(|problems| {
            let problems: Vec<String> = problems.iter().take(MOST_PROBLEMS).map(ToString::to_string).collect();
            unreadable(problems.join("\n"))
        })?;
        Ok(module)
    }
}

/// The report of what has no derivative, if that is what stopped the passes.
pub(crate) fn no_derivative(error: &PassError) -> Option<Diagnostic> {
    let PassError::Program { span, why } = error else { return None };
    Some(Diagnostic::error(Code::NoDerivative, why).at(*span, "its derivative is asked for"))
}

/// A pass that is not there, or that left broken IR.
pub(crate) fn failure(error: PassError) -> Failure {
    match error {
        PassError::Unknown(_) => {
            Failure::Unsupported { position: "RAVEL_WITHOUT".to_string(), what: error.to_string() }
        }
        PassError::Program { why, .. } => Failure::Unsupported { position: String::new(), what: why },
        PassError::Broken { .. } => Failure::Internal { stage: "the optimiser", what: error.to_string() },
    }
}
