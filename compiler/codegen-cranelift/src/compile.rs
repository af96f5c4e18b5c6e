//! Turns a planned module into machine code, function by function, on several threads where that pays.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{Function, InstBuilder, MemFlagsData, UserFuncName, types};
use cranelift_codegen::{Context, ir};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{FuncId as LinkerFuncId, Module as Linker, ModuleReloc};
use ravel_nest::ir::{FuncId, Order};

use crate::plan::{FUNCTIONS, Plan};
use crate::translate::Translator;
use crate::types::scalar_type;
use crate::{EmitError, linker_error};

/// One function to generate.
#[derive(Clone, Copy)]
enum Job {
    /// A function of the module.
    Func(FuncId),
    /// An outlined body, by position.
    Body(usize),
    /// The host entry of a function, by position.
    Trampoline(usize),
}

/// Machine code of one function.
struct Code {
    id: u32,
    align: u64,
    bytes: Vec<u8>,
    relocs: Vec<ModuleReloc>,
}

/// What a listing shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// Cranelift IR as translated.
    Clif,
    /// Machine instructions.
    Asm,
}

/// Modules with fewer values than this are compiled on one thread: starting others costs more.
const PARALLEL_THRESHOLD: usize = 4000;

/// Stack of the threads that compile: translation recurses into nested regions.
const WORKER_STACK: usize = 64 << 20;

fn jobs(plan: &Plan<'_>) -> Vec<Job> {
    let funcs = plan.module.funcs.keys().map(Job::Func);
    let bodies = (0..plan.bodies.len()).map(Job::Body);
    let trampolines = (0..plan.trampolines.len()).map(Job::Trampoline);
    funcs.chain(bodies).chain(trampolines).collect()
}

/// Compiles every function and hands the code to the linker. Gives back the functions' numbers and bytes.
pub(crate) fn define_functions(plan: &Plan<'_>, linker: &mut dyn Linker) -> Result<Vec<(u32, usize)>, EmitError> {
    let jobs = jobs(plan);
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let n_threads = if plan.n_values() < PARALLEL_THRESHOLD { 1 } else { available.min(jobs.len()) };
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Code, EmitError>)>> = Mutex::new(Vec::with_capacity(jobs.len()));
    let work = || {
        let mut worker = Worker::new();
        while let Some(&job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let code = worker.compile(plan, job);
            let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let position = done.len();
            done.push((position, code));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..n_threads {
            // Without a helper the work is done all the same.
            let _ = std::thread::Builder::new().stack_size(WORKER_STACK).spawn_scoped(scope, work);
        }
        work();
    });
    let mut codes = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    // Code is laid out in an order that does not depend on the threads.
    codes.sort_by_key(|(position, code)| code.as_ref().map_or((u32::MAX, *position), |code| (code.id, 0)));
    let mut sizes = Vec::with_capacity(codes.len());
    for (_, code) in codes {
        let code = code?;
        sizes.push((code.id, code.bytes.len()));
        linker
            .define_function_bytes(LinkerFuncId::from_u32(code.id), code.align, &code.bytes, &code.relocs)
            .map_err(linker_error)?;
    }
    Ok(sizes)
}

/// The text of every function, in order.
pub(crate) fn list(plan: &Plan<'_>, listing: Listing) -> Result<String, EmitError> {
    let mut worker = Worker::new();
    let mut text = String::new();
    for job in jobs(plan) {
        let id = job_id(plan, job);
        text.push_str(&format!("; {}\n", plan.name_of(id)));
        worker.translate(plan, job);
        match listing {
            Listing::Clif => text.push_str(&worker.context.func.display().to_string()),
            Listing::Asm => {
                worker.context.set_disasm(true);
                let isa = plan.target.isa(job_order(plan, job));
                let compiled = worker.context.compile(&**isa, &mut ControlPlane::default());
                match compiled {
                    Ok(code) => text.push_str(code.vcode.as_deref().unwrap_or_default()),
                    Err(error) => return Err(codegen_error(plan, id, &error.inner)),
                }
            }
        }
        text.push('\n');
    }
    Ok(text)
}

fn job_id(plan: &Plan<'_>, job: Job) -> u32 {
    match job {
        Job::Func(func) => plan.funcs[func],
        Job::Body(n) => plan.bodies[n].id,
        Job::Trampoline(n) => plan.trampolines[n].1,
    }
}

fn job_order(plan: &Plan<'_>, job: Job) -> Order {
    match job {
        Job::Func(func) => plan.module.funcs[func].order,
        Job::Body(n) => plan.module.funcs[plan.bodies[n].func].order,
        Job::Trampoline(_) => Order::Keep,
    }
}

fn codegen_error(plan: &Plan<'_>, id: u32, error: &cranelift_codegen::CodegenError) -> EmitError {
    EmitError::Codegen { func: plan.name_of(id), message: error.to_string() }
}

/// Buffers that one thread uses again for each function.
struct Worker {
    context: Context,
    builder_context: FunctionBuilderContext,
}

impl Worker {
    fn new() -> Worker {
        Worker { context: Context::new(), builder_context: FunctionBuilderContext::new() }
    }

    fn compile(&mut self, plan: &Plan<'_>, job: Job) -> Result<Code, EmitError> {
        let id = job_id(plan, job);
        self.translate(plan, job);
        let isa = plan.target.isa(job_order(plan, job));
        match self.context.compile(&**isa, &mut ControlPlane::default()) {
            Ok(_) => {}
            Err(error) => return Err(codegen_error(plan, id, &error.inner)),
        }
        let compiled = self.context.compiled_code().expect("compile() has just succeeded");
        let own = LinkerFuncId::from_u32(id);
        let relocs = compiled.buffer.relocs();
        Ok(Code {
            id,
            align: u64::from(compiled.buffer.alignment),
            bytes: compiled.code_buffer().to_vec(),
            relocs: relocs.iter().map(|reloc| ModuleReloc::from_mach_reloc(reloc, &self.context.func, own)).collect(),
        })
    }

    /// Leaves the Cranelift IR of the job in the context.
    fn translate(&mut self, plan: &Plan<'_>, job: Job) {
        let id = job_id(plan, job);
        self.context.clear();
        self.context.func =
            Function::with_name_signature(UserFuncName::user(FUNCTIONS, id), plan.signatures[&id].clone());
        let builder = FunctionBuilder::new(&mut self.context.func, &mut self.builder_context);
        match job {
            Job::Func(func) => Translator::new(plan, func, builder).function(),
            Job::Body(n) => {
                let body = &plan.bodies[n];
                Translator::new(plan, body.func, builder).outlined(body);
            }
            Job::Trampoline(n) => {
                let func = plan.trampolines[n].0;
                trampoline(Translator::new(plan, func, builder), func);
            }
        }
    }
}

/// `(args, results)`: reads the arguments of a function from words, calls it and writes the results to words.
fn trampoline(mut t: Translator<'_, '_>, func: FuncId) {
    let entry = t.b.create_block();
    t.b.append_block_params_for_function_params(entry);
    t.b.switch_to_block(entry);
    let (args, results) = (t.b.block_params(entry)[0], t.b.block_params(entry)[1]);
    let flags = MemFlagsData::trusted();
    let target = &t.plan.module.funcs[func];
    let given: Vec<ir::Value> = (0..)
        .zip(target.param_types())
        .map(|(n, ty)| t.b.ins().load(scalar_type(ty.prim), flags, args, 8 * n))
        .collect();
    let func_ref = t.func_ref(t.plan.funcs[func]);
    let call = t.b.ins().call(func_ref, &given);
    let values = t.b.inst_results(call).to_vec();
    for (n, value) in (0..).zip(values) {
        if t.b.func.dfg.value_type(value).bits() < 64 {
            let zero = t.b.ins().iconst(types::I64, 0);
            t.b.ins().store(flags, zero, results, 8 * n);
        }
        t.b.ins().store(flags, value, results, 8 * n);
    }
    t.b.ins().return_(&[]);
    t.finish();
}
