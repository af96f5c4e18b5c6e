//! This backend as the driver sees it.

use ravel_codegen::{Backend, Capabilities, EmitError, Entry, Globals, Listing, Purpose, Session};
use ravel_nest::ir::Module;

use crate::{Jit, capabilities, emit_asm, emit_clif, emit_object};

/// Machine code by Cranelift.
pub struct Cranelift;

impl Backend for Cranelift {
    fn name(&self) -> &'static str {
        "cranelift"
    }

    fn title(&self) -> &'static str {
        "Cranelift"
    }

    fn description(&self) -> &'static str {
        "Machine code by Cranelift: compiles fast"
    }

    fn capabilities(&self) -> Result<Capabilities, EmitError> {
        capabilities()
    }

    fn session(&self) -> Result<Box<dyn Session>, EmitError> {
        Ok(Box::new(Jit::with_runtime()?))
    }

    fn objects(&self, module: &Module, purpose: Purpose<'_>) -> Result<Vec<Vec<u8>>, EmitError> {
        Ok(vec![emit_object(module, purpose)?])
    }

    fn asm(&self, module: &Module) -> Result<String, EmitError> {
        emit_asm(module)
    }

    fn listing(&self) -> Listing {
        Listing { stage: "clif", print: emit_clif }
    }
}

impl Session for Jit {
    fn add(&mut self, module: &Module) -> Result<(), EmitError> {
        Jit::add(self, module)
    }

    fn entry(&self, name: &str) -> Result<Entry, EmitError> {
        Jit::entry(self, name)
    }

    fn code(&self) -> Option<Vec<ravel_codegen::CodeRange>> {
        Some(Jit::code(self).to_vec())
    }

    fn globals(&mut self) -> Option<Globals> {
        Some(self.global_variables())
    }

    fn can_free(&self) -> bool {
        true
    }

    #[expect(unsafe_code, reason = "only the caller knows who uses the code")]
    unsafe fn free(self: Box<Self>) {
        // SAFETY: by contract.
        unsafe { Jit::free(*self) }
    }
}
