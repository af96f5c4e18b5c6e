//! The code generators, chosen by name.

use ravel_codegen::{Capabilities, EmitError, Entry};
use ravel_nest::ir::Module;

/// What runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Backend {
    /// The reference interpreter.
    Interp,
    /// Machine code by Cranelift: compiles fast.
    #[default]
    Cranelift,
    /// Machine code by LLVM: wider vectors and better code, compiles slower. Only with the feature `llvm`.
    #[cfg(feature = "llvm")]
    Llvm,
    /// Kernels on an OpenCL device, and machine code by Cranelift for the rest.
    Opencl,
}

impl Backend {
    /// The one with the fastest code among those built in.
    pub const FASTEST: Backend = {
        #[cfg(feature = "llvm")]
        let fastest = Backend::Llvm;
        #[cfg(not(feature = "llvm"))]
        let fastest = Backend::Cranelift;
        fastest
    };

    /// What the scheduler may count on. The interpreter never gets that far; it stands for Cranelift, so that listings show something.
    pub(crate) fn capabilities(self) -> Result<Capabilities, EmitError> {
        match self {
            Backend::Interp | Backend::Cranelift | Backend::Opencl => ravel_codegen_cranelift::capabilities(),
            #[cfg(feature = "llvm")]
            Backend::Llvm => ravel_codegen_llvm::capabilities(),
        }
    }

    /// Compiles into this process; the entry function `name`, whose code stays.
    pub(crate) fn jit(self, module: &Module, name: &str) -> Result<Entry, EmitError> {
        match self {
            Backend::Interp | Backend::Cranelift | Backend::Opencl => {
                let mut jit = ravel_codegen_cranelift::Jit::with_runtime()?;
                jit.add(module)?;
                jit.entry(name)
            }
            #[cfg(feature = "llvm")]
            Backend::Llvm => {
                let mut jit = ravel_codegen_llvm::Jit::with_runtime()?;
                jit.add(module)?;
                jit.entry(name)
            }
        }
    }

    /// Compiles to object files, whose C `main` runs the function `entry`.
    pub(crate) fn objects(self, module: &Module, entry: &str) -> Result<Vec<Vec<u8>>, EmitError> {
        match self {
            Backend::Interp | Backend::Cranelift | Backend::Opencl => {
                Ok(vec![ravel_codegen_cranelift::emit_object(module, Some(entry))?])
            }
            #[cfg(feature = "llvm")]
            Backend::Llvm => ravel_codegen_llvm::emit_objects(module, Some(entry)),
        }
    }

    /// The machine instructions as text.
    pub(crate) fn asm(self, module: &Module) -> Result<String, EmitError> {
        match self {
            Backend::Interp | Backend::Cranelift | Backend::Opencl => ravel_codegen_cranelift::emit_asm(module),
            #[cfg(feature = "llvm")]
            Backend::Llvm => ravel_codegen_llvm::emit_asm(module),
        }
    }
}
