//! The code generators under test.

use ravel_codegen::{Capabilities, Entry};
use ravel_nest::ir::Module;

/// One session of each backend, made when it is first needed.
#[derive(Default)]
pub struct Jits {
    cranelift: Option<ravel_codegen_cranelift::Jit>,
    #[cfg(feature = "llvm")]
    llvm: Option<ravel_codegen_llvm::Jit>,
}

impl Jits {
    /// What a backend offers on this machine.
    ///
    /// # Errors
    /// The host is not supported, or the backend is not built in.
    pub fn capabilities(llvm: bool) -> Result<Capabilities, String> {
        if !llvm {
            return ravel_codegen_cranelift::capabilities().map_err(|e| e.to_string());
        }
        #[cfg(feature = "llvm")]
        return ravel_codegen_llvm::capabilities().map_err(|e| e.to_string());
        #[cfg(not(feature = "llvm"))]
        return Err(NO_LLVM.to_string());
    }

    /// Compiles a module; its entry function.
    ///
    /// # Errors
    /// What the backend says.
    pub fn compile(&mut self, llvm: bool, module: &Module, entry: &str) -> Result<Entry, String> {
        if llvm {
            return self.compile_with_llvm(module, entry);
        }
        let jit = match &mut self.cranelift {
            Some(jit) => jit,
            None => self.cranelift.insert(ravel_codegen_cranelift::Jit::with_runtime().map_err(|e| e.to_string())?),
        };
        jit.add(module).map_err(|e| e.to_string())?;
        jit.entry(entry).map_err(|e| e.to_string())
    }

    #[cfg(feature = "llvm")]
    fn compile_with_llvm(&mut self, module: &Module, entry: &str) -> Result<Entry, String> {
        let jit = match &mut self.llvm {
            Some(jit) => jit,
            None => self.llvm.insert(ravel_codegen_llvm::Jit::with_runtime().map_err(|e| e.to_string())?),
        };
        jit.add(module).map_err(|e| e.to_string())?;
        jit.entry(entry).map_err(|e| e.to_string())
    }

    #[cfg(not(feature = "llvm"))]
    fn compile_with_llvm(&mut self, _: &Module, _: &str) -> Result<Entry, String> {
        Err(NO_LLVM.to_string())
    }
}

#[cfg(not(feature = "llvm"))]
const NO_LLVM: &str = "LLVM is not built in";
