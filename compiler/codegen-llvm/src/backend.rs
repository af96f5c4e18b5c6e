//! This backend as the driver sees it.

use ravel_codegen::{Backend, Capabilities, EmitError, Entry, Globals, Listing, Purpose, Session};
use ravel_nest::ir::Module;

use crate::{Jit, capabilities, emit_asm, emit_llvm, emit_objects};

/// Machine code by LLVM.
pub struct Llvm;

impl Backend for Llvm {
    fn name(&self) -> &'static str {
        "llvm"
    }

    fn title(&self) -> &'static str {
        "LLVM"
    }

    fn description(&self) -> &'static str {
        "Machine code by LLVM: runs fast"
    }

    fn capabilities(&self) -> Result<Capabilities, EmitError> {
        capabilities()
    }

    fn session(&self) -> Result<Box<dyn Session>, EmitError> {
        Ok(Box::new(Jit::with_runtime()?))
    }

    fn objects(&self, module: &Module, purpose: Purpose<'_>) -> Result<Vec<Vec<u8>>, EmitError> {
        emit_objects(module, purpose)
    }

    fn asm(&self, module: &Module) -> Result<String, EmitError> {
        emit_asm(module)
    }

    fn listing(&self) -> Listing {
        Listing { stage: "llvm", print: emit_llvm }
    }
}

impl Session for Jit {
    fn add(&mut self, module: &Module) -> Result<(), EmitError> {
        Jit::add(self, module)
    }

    fn entry(&self, name: &str) -> Result<Entry, EmitError> {
        Jit::entry(self, name)
    }

    fn globals(&mut self) -> Option<Globals> {
        self.global_variables()
    }
}
