//! Compiles modules into this process and calls them.

use std::sync::Arc;

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::FileType;
use ravel_codegen::{Entries, Entry, Globals, SymbolLookup, find_symbol};
use ravel_nest::ir::{Func, Module, Visibility};
use ravel_types::HashMap;

use crate::linker::Linker;
use crate::module::{Exports, global_symbol, import_names, trampoline_symbol, translate};
use crate::parts::Parts;
use crate::target::Target;
use crate::{EmitError, check};

/// A session of compiled modules. Globals of the same name are shared between its modules.
///
/// Compiled code stays in memory until the process ends, since results may point into it.
pub struct Jit {
    linker: Linker,
    lookup: Arc<SymbolLookup>,
    /// With their sizes.
    globals: HashMap<String, u32>,
    entries: Entries,
    n_modules: usize,
}

impl Jit {
    /// A session for this machine that can call the runtime in this process.
    ///
    /// # Errors
    /// The host is not supported.
    pub fn with_runtime() -> Result<Jit, EmitError> {
        Jit::new(ravel_runtime::symbols::lookup)
    }

    /// A session for this machine. `lookup` knows the runtime; the C library is found without it.
    ///
    /// # Errors
    /// The host is not supported.
    pub fn new(lookup: impl Fn(&str) -> Option<*const u8> + Send + Sync + 'static) -> Result<Jit, EmitError> {
        // ORC needs a target to be registered.
        Target::host()?;
        let lookup: Arc<SymbolLookup> = Arc::new(lookup);
        Ok(Jit {
            linker: Linker::new()?,
            lookup,
            globals: HashMap::default(),
            entries: Entries::default(),
            n_modules: 0,
        })
    }

    /// Compiles a module. Its entry functions can then be called; a later module's entry replaces an earlier one of the same name.
    ///
    /// # Errors
    /// The module is not well formed, names an unknown symbol, or LLVM refuses it.
    pub fn add(&mut self, module: &Module) -> Result<(), EmitError> {
        self.add_parts(module, &Parts::for_this_machine(module))
    }

    pub(crate) fn add_parts(&mut self, module: &Module, parts: &Parts) -> Result<(), EmitError> {
        check(module)?;
        let prefix = format!("ravel.{}.", self.n_modules);
        self.n_modules += 1;
        let defined_before = |name: &str| self.globals.contains_key(name);
        let objects = parts.each(|part| {
            let target = Target::host()?;
            let context = Context::create();
            let llvm = translate(module, &context, &target, &prefix, Exports::Session(&defined_before), part)?;
            let imports = import_names(&llvm, &prefix);
            Ok((imports, target.compile(&llvm, FileType::Object)?.as_slice().to_vec()))
        })?;
        for (imports, object) in objects {
            for name in imports {
                let address =
                    find_symbol(&*self.lookup, &name).ok_or_else(|| EmitError::UnknownSymbol { name: name.clone() })?;
                self.linker.define(&name, address)?;
            }
            self.linker.add(MemoryBuffer::create_from_memory_range_copy(&object, "ravel"))?;
        }
        self.globals.extend(module.globals.values().map(|global| (global.name.clone(), global.ty.bytes())));
        for func in module.funcs.values().filter(|func| func.visibility == Visibility::Entry) {
            let symbol = format!("{prefix}{}", func.name);
            let trampoline = self.linker.lookup(&trampoline_symbol(&symbol))?;
            let function = self.linker.lookup(&symbol)?;
            self.entries.insert(&func.name, entry(trampoline, function, func));
        }
        Ok(())
    }

    /// Calls an entry function: [`Entries::call`].
    ///
    /// # Errors
    /// There is no such entry, or it takes another number of arguments.
    pub fn call(&self, name: &str, args: &[u64]) -> Result<Vec<u64>, EmitError> {
        self.entries.call(name, args)
    }

    /// The entry `name`, for calls that outlive this borrow or happen on another thread.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn entry(&self, name: &str) -> Result<Entry, EmitError> {
        self.entries.entry(name)
    }

    /// The global variables that are large enough for an address; nothing if one is not found.
    #[expect(unsafe_code, reason = "a global variable is a raw address")]
    pub fn global_variables(&mut self) -> Option<Globals> {
        let large = self.globals.iter().filter(|&(_, &bytes)| bytes as usize >= size_of::<usize>());
        let mut found = Globals::default();
        for (name, _) in large {
            let address = self.linker.lookup(&global_symbol(name)).ok()?;
            // SAFETY: an object of the session defines the variable, and its memory is never freed.
            unsafe { found.push(address) };
        }
        Some(found)
    }

    /// Runs an entry as the whole program: [`Entries::run_program`].
    ///
    /// # Errors
    /// There is no such entry, or it is none of a program.
    pub fn run_program(&self, name: &str) -> Result<i32, EmitError> {
        self.entries.run_program(name)
    }
}

#[expect(unsafe_code, reason = "compiled code is a raw address")]
fn entry(trampoline: *const u8, function: *const u8, func: &Func) -> Entry {
    // SAFETY: the caller passes linked code of `func` and its trampoline; the linker never frees code.
    unsafe { Entry::new(trampoline, function, func) }
}
