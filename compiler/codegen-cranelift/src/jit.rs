//! Compiles modules into this process and calls them.

use std::sync::Arc;

use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{FuncId as LinkerFuncId, FuncOrDataId, Module as _};
use ravel_codegen::{CodeRange, Entries, Entry, Globals, SymbolLookup, find_symbol};
use ravel_nest::ir::{Func, Module};
use ravel_types::HashSet;

use crate::compile::define_functions;
use crate::plan::{Plan, global_symbol};
use crate::target::{CodeModel, Target};
use crate::{EmitError, check, linker_error};

/// Address space kept together, so that code and data of all modules reach each other with 32-bit distances. Only what is
/// used becomes memory.
const RESERVED_BYTES: usize = 1 << 30;
/// The least that is reserved where address space is limited.
const LEAST_RESERVED_BYTES: usize = 16 << 20;

/// A session of compiled modules. Globals of the same name are shared between its modules.
///
/// Compiled code stays in memory until the process ends, since results may point into it, or until somebody who knows that none does gives it
/// back by [`Jit::free`].
pub struct Jit {
    target: Target,
    module: JITModule,
    lookup: Arc<SymbolLookup>,
    globals: HashSet<String>,
    entries: Entries,
    code: Vec<CodeRange>,
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
        let target = Target::host(CodeModel::Jit)?;
        let lookup: Arc<SymbolLookup> = Arc::new(lookup);
        let mut builder = JITBuilder::with_isa(target.keep.clone(), cranelift_module::default_libcall_names());
        // Without a reservation code and data may lie too far apart, and nothing would say so.
        let sizes = std::iter::successors(Some(RESERVED_BYTES), |bytes| Some(bytes / 4));
        let memory = sizes
            .take_while(|bytes| *bytes >= LEAST_RESERVED_BYTES)
            .find_map(|bytes| ArenaMemoryProvider::new_with_size(bytes).ok());
        let Some(memory) = memory else {
            let mebibytes = LEAST_RESERVED_BYTES >> 20;
            let words = format!(
                "there is no room for code: not even {mebibytes} MiB of address space are left; `ulimit -v` limits it"
            );
            return Err(EmitError::Target(words));
        };
        builder.memory_provider(Box::new(memory));
        let runtime = Arc::clone(&lookup);
        builder.symbol_lookup_fn(Box::new(move |name| find_symbol(&*runtime, name)));
        let module = JITModule::new(builder);
        let (globals, entries) = (HashSet::default(), Entries::default());
        Ok(Jit { target, module, lookup, globals, entries, code: Vec::new(), n_modules: 0 })
    }

    /// Compiles a module. Its entry functions can then be called; a later module's entry replaces an earlier one of the same name.
    ///
    /// # Errors
    /// The module is not well formed, names an unknown symbol, or exceeds a limit of Cranelift.
    pub fn add(&mut self, module: &Module) -> Result<(), EmitError> {
        check(module)?;
        let prefix = format!("ravel.{}.", self.n_modules);
        self.n_modules += 1;
        let plan = Plan::new(module, &self.target, &mut self.module, &prefix, None)?;
        // Cranelift's JIT panics on symbols it cannot find.
        if let Some(name) = plan.import_names().find(|name| find_symbol(&*self.lookup, name).is_none()) {
            return Err(EmitError::UnknownSymbol { name });
        }
        plan.define_data(&mut self.module, &mut self.globals)?;
        let sizes = define_functions(&plan, &mut self.module)?;
        self.module.finalize_definitions().map_err(linker_error)?;
        self.code.extend(sizes.into_iter().filter_map(|(id, bytes)| {
            let (func, part) = plan.part_of(id)?;
            let address = self.module.get_finalized_function(LinkerFuncId::from_u32(id)).addr();
            Some(CodeRange { func: func.to_string(), part, address, bytes })
        }));
        for &(func, trampoline) in &plan.trampolines {
            let address = |id| self.module.get_finalized_function(LinkerFuncId::from_u32(id));
            let (trampoline, function) = (address(trampoline), address(plan.funcs[func]));
            let func = &module.funcs[func];
            let entry = entry(trampoline, function, func);
            self.entries.insert(&func.name, entry);
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

    /// Where the functions of all modules lie.
    pub fn code(&self) -> &[CodeRange] {
        &self.code
    }

    /// The global variables that are large enough for an address.
    #[expect(unsafe_code, reason = "a global variable is a raw address")]
    pub fn global_variables(&self) -> Globals {
        let mut found = Globals::default();
        for name in &self.globals {
            let Some(FuncOrDataId::Data(id)) = self.module.get_name(&global_symbol(name)) else { continue };
            let (address, bytes) = self.module.get_finalized_data(id);
            if bytes >= size_of::<usize>() {
                // SAFETY: the module defines the variable, aligned to 16 bytes, and never frees it.
                unsafe { found.push(address) };
            }
        }
        found
    }

    /// Gives back the memory of all modules.
    ///
    /// # Safety
    /// No thread is in their code or will enter it, and nothing that is read later lies in their data.
    #[expect(unsafe_code, reason = "only the caller knows who uses the code")]
    pub unsafe fn free(self) {
        // SAFETY: by contract.
        unsafe { self.module.free_memory() }
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
    // SAFETY: the caller passes finished code of `func` and the trampoline that `crate::compile` makes for it; a JIT module never frees its memory.
    unsafe { Entry::new(trampoline, function, func) }
}
