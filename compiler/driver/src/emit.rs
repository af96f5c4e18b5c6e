//! `--emit STAGE`: any intermediate form as text.

use crate::pipeline::{Compilation, Failure};
use std::path::Path;

/// A form that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Core,
    Wir,
    WirOpt,
    Nest,
    Clif,
    Asm,
}

impl Stage {
    pub const ALL: &[(&'static str, Stage)] = &[
        ("core", Stage::Core),
        ("wir", Stage::Wir),
        ("wir-opt", Stage::WirOpt),
        ("nest", Stage::Nest),
        ("clif", Stage::Clif),
        ("asm", Stage::Asm),
    ];

    pub fn from_name(name: &str) -> Option<Stage> {
        Stage::ALL.iter().find(|(n, _)| *n == name).map(|(_, s)| *s)
    }
}

impl Compilation {
    /// The text of a stage.
    ///
    /// # Errors
    /// Those of the stages before it.
    pub fn emit(&mut self, path: &Path, stage: Stage) -> Result<String, Failure> {
        let code = |e: ravel_codegen_cranelift::EmitError| Failure::Internal {
            stage: "code generation",
            what: e.to_string(),
        };
        match stage {
            Stage::Core => Ok(ravel_core::print(&self.core(path)?)),
            Stage::Wir => Ok(ravel_wir::print::print_module(&self.wir(path)?)),
            Stage::WirOpt => {
                let module = self.wir(path)?;
                Ok(ravel_wir::print::print_module(&self.optimize(module)?))
            }
            Stage::Nest | Stage::Clif | Stage::Asm => {
                let module = self.wir(path)?;
                let module = self.optimize(module)?;
                let nest = self.nest(&module, false)?;
                match stage {
                    Stage::Nest => Ok(nest.to_string()),
                    Stage::Clif => ravel_codegen_cranelift::emit_clif(&nest).map_err(code),
                    _ => ravel_codegen_cranelift::emit_asm(&nest).map_err(code),
                }
            }
        }
    }
}
