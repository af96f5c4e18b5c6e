//! LLVM's linker for code in this process: ORC. Everything here calls LLVM's C interface directly.

#![expect(unsafe_code, reason = "inkwell has no interface to ORC")]

use ravel_types::HashSet;
use std::ffi::{CStr, CString};
use std::ptr;

use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::{
    LLVMOrcCreateLLJIT, LLVMOrcLLJITAddObjectFile, LLVMOrcLLJITGetMainJITDylib, LLVMOrcLLJITLookup,
    LLVMOrcLLJITMangleAndIntern, LLVMOrcLLJITRef,
};
use inkwell::llvm_sys::orc2::{
    LLVMJITEvaluatedSymbol, LLVMJITSymbolFlags, LLVMJITSymbolGenericFlags, LLVMOrcAbsoluteSymbols,
    LLVMOrcCSymbolMapPair, LLVMOrcExecutorAddress, LLVMOrcJITDylibDefine,
};
use inkwell::memory_buffer::MemoryBuffer;

use crate::EmitError;

/// Objects linked into this process. Their memory is never freed, since results may point into it.
pub(crate) struct Linker {
    jit: LLVMOrcLLJITRef,
    defined: HashSet<String>,
}

// SAFETY: ORC may be used from any thread; that only one does at a time is what `&mut self` says.
unsafe impl Send for Linker {}
// SAFETY: nothing is done through `&Linker`.
unsafe impl Sync for Linker {}

impl Linker {
    /// An empty one for this machine.
    pub fn new() -> Result<Linker, EmitError> {
        let mut jit = ptr::null_mut();
        // SAFETY: a null builder stands for the defaults; the result is written if there is no error.
        checked(unsafe { LLVMOrcCreateLLJIT(&mut jit, ptr::null_mut()) })?;
        Ok(Linker { jit, defined: HashSet::default() })
    }

    /// Gives an import its address, the first time it is named.
    pub fn define(&mut self, name: &str, address: *const u8) -> Result<(), EmitError> {
        if !self.defined.insert(name.to_string()) {
            return Ok(());
        }
        let symbol = symbol(name)?;
        let flags = LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsExported as u8
            | LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsCallable as u8;
        // SAFETY: the session lives; the name is NUL-terminated; the pair is copied by LLVM, which takes over the interned name and the unit.
        checked(unsafe {
            let mut pair = LLVMOrcCSymbolMapPair {
                Name: LLVMOrcLLJITMangleAndIntern(self.jit, symbol.as_ptr()),
                Sym: LLVMJITEvaluatedSymbol {
                    Address: address.addr() as LLVMOrcExecutorAddress,
                    Flags: LLVMJITSymbolFlags { GenericFlags: flags, TargetFlags: 0 },
                },
            };
            LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(self.jit), LLVMOrcAbsoluteSymbols(&mut pair, 1))
        })
    }

    /// Adds an object file; it is linked when one of its symbols is looked up.
    pub fn add(&mut self, object: MemoryBuffer<'static>) -> Result<(), EmitError> {
        let buffer = object.as_mut_ptr();
        // LLVM takes it over.
        std::mem::forget(object);
        // SAFETY: the session lives, and nobody else uses the buffer.
        checked(unsafe { LLVMOrcLLJITAddObjectFile(self.jit, LLVMOrcLLJITGetMainJITDylib(self.jit), buffer) })
    }

    /// The address of a symbol of an object.
    pub fn lookup(&mut self, name: &str) -> Result<*const u8, EmitError> {
        let symbol = symbol(name)?;
        let mut address: LLVMOrcExecutorAddress = 0;
        // SAFETY: the session lives; the name is NUL-terminated; the address is written if there is no error.
        checked(unsafe { LLVMOrcLLJITLookup(self.jit, &mut address, symbol.as_ptr()) })?;
        Ok(ptr::with_exposed_provenance(address as usize))
    }
}

fn symbol(name: &str) -> Result<CString, EmitError> {
    CString::new(name).map_err(|_| EmitError::UnknownSymbol { name: name.to_string() })
}

fn checked(error: LLVMErrorRef) -> Result<(), EmitError> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the error is not null and used up here; its message is a NUL-terminated string that is ours to dispose of.
    unsafe {
        let message = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Err(EmitError::Linker(text))
    }
}
