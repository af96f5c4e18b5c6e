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
    Clif,
    #[cfg(feature = "llvm")]
    Llvm,
    /// Of the backend of the options.
    Asm,
    /// The kernels for an OpenCL device.
    Opencl,
}

impl Stage {
    pub const ALL: &[(&'static str, Stage)] = &[
        ("ast", Stage::Ast),
        ("core", Stage::Core),
        ("wir", Stage::Wir),
        ("wir-opt", Stage::WirOpt),
        ("schedule", Stage::Schedule),
        ("nest", Stage::Nest),
        ("clif", Stage::Clif),
        #[cfg(feature = "llvm")]
        ("llvm", Stage::Llvm),
        ("asm", Stage::Asm),
        ("opencl", Stage::Opencl),
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
        match stage {
            Stage::Ast => self.ast(path),
            Stage::Core => Ok(ravel_core::print(&self.core(path)?)),
            Stage::Wir => Ok(ravel_wir::print::print_module(&self.wir(path)?)),
            Stage::WirOpt => {
                let module = self.wir(path)?;
                Ok(ravel_wir::print::print_module(&self.optimize(module)?))
            }
            Stage::Schedule => {
                let module = self.wir(path)?;
                let module = self.optimize(module)?;
                let target = self.options.backend.capabilities().map_err(code_failure)?;
                self.with_schedule_options(false, |options| ravel_schedule::schedule_text(&module, &target, options))
                    .map_err(|e| Failure::Unsupported { position: self.map.describe(e.span), what: e.what })
            }
            Stage::Opencl => {
                self.options.backend = Backend::Opencl;
                let nest = self.scheduled(path)?;
                Ok(self.cut_kernels(&nest)?.1.source)
            }
            Stage::Nest | Stage::Asm => {
                let nest = self.scheduled(path)?;
                match stage {
                    Stage::Nest => Ok(nest.to_string()),
                    _ => {
                        let (host, _) = self.cut_kernels(&nest)?;
                        self.options.backend.asm(&host).map_err(code_failure)
                    }
                }
            }
            Stage::Clif => {
                self.options.backend = Backend::Cranelift;
                ravel_codegen_cranelift::emit_clif(&self.scheduled(path)?).map_err(code_failure)
            }
            #[cfg(feature = "llvm")]
            Stage::Llvm => {
                self.options.backend = Backend::Llvm;
                ravel_codegen_llvm::emit_llvm(&self.scheduled(path)?).map_err(code_failure)
            }
        }
    }

    fn scheduled(&mut self, path: &Path) -> Result<ravel_nest::ir::Module, Failure> {
        let module = self.wir(path)?;
        let module = self.optimize(module)?;
        self.nest(&module, false)
    }
}
