//! `--emit STAGE`: any intermediate form as text.

use crate::backend::Backend;
use crate::pipeline::{Compilation, Failure, code_failure};
use std::path::Path;

/// A form that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The syntax tree after preprocessing, as SaC text.
    Ast,
    Core,
    Wir,
    WirOpt,
    /// Which strategy every with-loop gets, with its plan, and why those before it refused.
    Schedule,
    Nest,
    /// Of the backend of the options.
    Asm,
    /// A backend's own form.
    Listing(Backend),
}

impl Stage {
    /// All of them, with their names.
    pub fn all() -> impl Iterator<Item = (&'static str, Stage)> {
        let before = [
            ("ast", Stage::Ast),
            ("core", Stage::Core),
            ("wir", Stage::Wir),
            ("wir-opt", Stage::WirOpt),
            ("schedule", Stage::Schedule),
            ("nest", Stage::Nest),
        ];
        let listing = |backend: Backend| Some((backend.listing()?.stage, Stage::Listing(backend)));
        before.into_iter().chain(Backend::all().filter_map(listing)).chain([("asm", Stage::Asm)])
    }

    pub fn from_name(name: &str) -> Option<Stage> {
        Stage::all().find(|(n, _)| *n == name).map(|(_, stage)| stage)
    }
}

impl Compilation {
    /// The text of a stage.
    ///
    /// # Errors
    /// Those of the stages before it.
    pub fn emit(&mut self, path: &Path, stage: Stage) -> Result<String, Failure> {
        match stage {
            Stage::Ast => self.ast(path),
            Stage::Core => Ok(ravel_core::print(&self.core(path)?)),
            _ => {
                let module = self.wir(path)?;
                self.emit_module(module, stage)
            }
        }
    }

    /// The text of a stage from the specialised program on; nothing for earlier ones.
    ///
    /// # Errors
    /// Those of the stages before it.
    pub fn emit_module(&mut self, module: ravel_wir::Module, stage: Stage) -> Result<String, Failure> {
        match stage {
            Stage::Ast | Stage::Core => return Ok(String::new()),
            Stage::Wir => return Ok(ravel_wir::print::print_module(&module)),
            Stage::Listing(backend) => self.options.backend = backend,
            Stage::WirOpt | Stage::Schedule | Stage::Nest | Stage::Asm => {}
        }
        let module = self.optimize(module)?;
        match stage {
            Stage::WirOpt => return Ok(ravel_wir::print::print_module(&module)),
            Stage::Schedule => {
                let target = self.options.backend.capabilities().map_err(code_failure)?;
                return self
                    .with_schedule_options(false, |options| ravel_schedule::schedule_text(&module, &target, options))
                    .map_err(|e| Failure::Unsupported { position: self.map.describe(e.span), what: e.what });
            }
            _ => {}
        }
        let nest = self.nest(&module, false)?;
        match stage {
            Stage::Asm => {
                let host = self.cut_kernels(&nest)?;
                self.options.backend.asm(&host).map_err(code_failure)
            }
            Stage::Listing(backend) => {
                backend.listing().map_or(Ok(String::new()), |listing| (listing.print)(&nest)).map_err(code_failure)
            }
            _ => Ok(nest.to_string()),
        }
    }
}
