//! What a module needs from the linker, decided before anything is translated.
//!
//! Every function, outlined `parfor` body, datum and import gets its linker-level id here, so that functions can then be
//! translated and compiled independently of each other, on several threads.

use cranelift_codegen::ir::{self, AbiParam, ArgumentExtension, types};
use cranelift_codegen::isa::CallConv;
use cranelift_entity::{PrimaryMap, SecondaryMap};
use cranelift_module::{DataDescription, FuncOrDataId, Linkage, Module as Linker};
use ravel_nest::captures::captures;
use ravel_nest::ir::{
    DataId, ExternId, Func, FuncId, GlobalId, MathOp, Module, Op, Prim, Region, Signature, Ty, Value, Visibility,
};
use ravel_runtime::abi::symbols;
use ravel_types::{HashMap, HashSet};

use crate::crossing::{self, Crossing};
use crate::neighbours::{self, Neighbours};
use crate::target::Target;
use crate::types::{piece_count, piece_type, scalar_type};
use crate::{EmitError, linker_error};

/// Entry points of the runtime that translation itself calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Runtime {
    /// Releases an object whose count is zero.
    Free,
    /// Runs an outlined body over chunks.
    Parallel,
}

impl Runtime {
    /// The linker symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            Runtime::Free => symbols::FREE,
            Runtime::Parallel => symbols::PARALLEL,
        }
    }

    /// The C signature; every argument is a word.
    pub fn signature(self, cc: CallConv) -> ir::Signature {
        let n_params = match self {
            Runtime::Free => 1,
            Runtime::Parallel => 6,
        };
        let mut sig = ir::Signature::new(cc);
        sig.params = vec![AbiParam::new(types::I64); n_params];
        sig
    }
}

/// A `parfor` body that becomes a function of its own.
pub(crate) struct Body<'a> {
    /// The function it is part of.
    pub func: FuncId,
    /// The body.
    pub region: &'a Region,
    /// Outer values that are passed in memory: all it uses except constants and addresses, which are made again.
    pub captured: Vec<Value>,
    /// Outer values that are made again.
    pub remade: Vec<Value>,
    /// Linker-level id.
    pub id: u32,
}

/// Constants and addresses of a function, by value.
pub(crate) type Constants<'a> = SecondaryMap<Value, Option<&'a Op>>;

/// The decisions for one module. Ids are those of the linker.
pub(crate) struct Plan<'a> {
    /// What is compiled.
    pub module: &'a Module,
    /// What it is compiled for.
    pub target: &'a Target,
    /// The C calling convention, used throughout.
    pub call_conv: CallConv,
    /// Functions of the module.
    pub funcs: PrimaryMap<FuncId, u32>,
    /// Host-callable wrappers `(args, results)` of entry functions.
    pub trampolines: Vec<(FuncId, u32)>,
    /// Imports.
    pub externs: PrimaryMap<ExternId, u32>,
    /// Static data.
    pub data: PrimaryMap<DataId, u32>,
    /// Globals.
    pub globals: PrimaryMap<GlobalId, u32>,
    /// Mathematical functions in use.
    pub math: HashMap<(MathOp, Prim), u32>,
    /// Runtime functions in use.
    pub runtime: HashMap<Runtime, u32>,
    /// Outlined bodies; those of one function are consecutive.
    pub bodies: Vec<Body<'a>>,
    /// Position in `bodies` by the address of the region.
    pub body_of: HashMap<usize, usize>,
    /// Constants of each function.
    pub constants: PrimaryMap<FuncId, Constants<'a>>,
    /// Neighbours in memory of each function.
    pub neighbours: PrimaryMap<FuncId, Neighbours>,
    pub crossing: PrimaryMap<FuncId, Crossing>,
    /// Signature of every function above, by linker-level id.
    pub signatures: HashMap<u32, ir::Signature>,
    /// Linker-level ids of functions that are not defined here.
    pub imported: HashSet<u32>,
}

/// The key of [`Plan::body_of`].
pub(crate) fn region_key(region: &Region) -> usize {
    std::ptr::from_ref(region).addr()
}

/// C signature as Cranelift wants it.
pub(crate) fn c_signature(sig: &Signature, cc: CallConv) -> ir::Signature {
    let mut out = ir::Signature::new(cc);
    for param in &sig.params {
        let mut abi = AbiParam::new(scalar_type(param.ty.prim));
        if param.ty.prim.is_int() && param.ty.prim.bits() < 32 {
            abi.extension = if param.signed { ArgumentExtension::Sext } else { ArgumentExtension::Uext };
        }
        out.params.push(abi);
    }
    out.returns = sig.result.iter().map(|ty| AbiParam::new(scalar_type(ty.prim))).collect();
    out
}

/// The symbol of a global variable, which modules of a session share.
pub fn global_symbol(name: &str) -> String {
    format!("ravel.global.{name}")
}

fn func_signature(func: &Func, cc: CallConv) -> ir::Signature {
    let flat = |ty: Ty| vec![AbiParam::new(piece_type(ty)); piece_count(ty)];
    let mut sig = ir::Signature::new(cc);
    sig.params = func.param_types().flat_map(flat).collect();
    sig.returns = func.results.iter().copied().flat_map(flat).collect();
    sig
}

/// The C library's name of a mathematical function.
pub(crate) fn math_symbol(op: MathOp, prim: Prim) -> String {
    format!("{}{}", op.name(), if prim == Prim::F32 { "f" } else { "" })
}

/// What the walk over the instructions found.
#[derive(Default)]
struct Needs<'a> {
    math: Vec<(MathOp, Prim)>,
    free: bool,
    regions: Vec<&'a Region>,
}

impl<'a> Plan<'a> {
    /// Declares everything to the linker. `prefix` keeps the names of one module apart from those of others; with `exported` the host
    /// entries have symbols of that prefix.
    pub fn new(
        module: &'a Module,
        target: &'a Target,
        linker: &mut dyn Linker,
        prefix: &str,
        exported: Option<&str>,
    ) -> Result<Plan<'a>, EmitError> {
        let call_conv = target.keep.default_call_conv();
        let mut plan = Plan {
            module,
            target,
            call_conv,
            funcs: PrimaryMap::with_capacity(module.funcs.len()),
            trampolines: Vec::new(),
            externs: PrimaryMap::new(),
            data: PrimaryMap::with_capacity(module.data.len()),
            globals: PrimaryMap::new(),
            math: HashMap::default(),
            runtime: HashMap::default(),
            bodies: Vec::new(),
            body_of: HashMap::default(),
            constants: PrimaryMap::with_capacity(module.funcs.len()),
            neighbours: module.funcs.values().map(neighbours::find).collect(),
            crossing: module.funcs.values().map(crossing::find).collect(),
            signatures: HashMap::default(),
            imported: HashSet::default(),
        };
        for ext in module.externs.values() {
            let sig = c_signature(&ext.sig, call_conv);
            let id = plan.import(linker, &ext.name, sig)?;
            plan.externs.push(id);
        }
        for data in module.data.values() {
            let id = linker.declare_anonymous_data(data.writable, false).map_err(linker_error)?.as_u32();
            plan.data.push(id);
        }
        for global in module.globals.values() {
            let name = global_symbol(&global.name);
            let id = linker.declare_data(&name, Linkage::Local, true, false).map_err(linker_error)?.as_u32();
            plan.globals.push(id);
        }
        for func in module.funcs.values() {
            let sig = func_signature(func, call_conv);
            let id = plan.local(linker, &format!("{prefix}{}", func.name), sig)?;
            plan.funcs.push(id);
        }
        for (id, func) in &module.funcs {
            plan.func(linker, (id, func), prefix, exported)?;
        }
        Ok(plan)
    }

    fn func(
        &mut self,
        linker: &mut dyn Linker,
        (id, func): (FuncId, &'a Func),
        prefix: &str,
        exported: Option<&str>,
    ) -> Result<(), EmitError> {
        let mut constants = Constants::new();
        let mut needs = Needs::default();
        walk(&func.body, func, &mut constants, &mut needs);
        for (op, prim) in needs.math {
            if !self.math.contains_key(&(op, prim)) {
                let mut sig = ir::Signature::new(self.call_conv);
                sig.params = vec![AbiParam::new(scalar_type(prim)); op.arity()];
                sig.returns = vec![AbiParam::new(scalar_type(prim))];
                let symbol = self.import(linker, &math_symbol(op, prim), sig)?;
                self.math.insert((op, prim), symbol);
            }
        }
        if needs.free {
            self.need_runtime(linker, Runtime::Free)?;
        }
        for region in needs.regions {
            self.need_runtime(linker, Runtime::Parallel)?;
            let (remade, captured): (Vec<Value>, Vec<Value>) =
                captures(region).into_iter().partition(|&value| constants[value].is_some());
            // ctx, lo, hi, slot.
            let mut sig = ir::Signature::new(self.call_conv);
            sig.params = vec![AbiParam::new(types::I64); 4];
            // Profilers show the name.
            let name = format!("{prefix}{}.body{}", func.name, self.bodies.len());
            let body = self.local(linker, &name, sig)?;
            self.body_of.insert(region_key(region), self.bodies.len());
            self.bodies.push(Body { func: id, region, captured, remade, id: body });
        }
        if func.visibility == Visibility::Entry {
            if func.param_types().chain(func.results.iter().copied()).any(Ty::is_vector) {
                return Err(EmitError::VectorEntry { func: func.name.clone() });
            }
            let mut sig = ir::Signature::new(self.call_conv);
            sig.params = vec![AbiParam::new(types::I64); 2];
            let trampoline = match exported {
                Some(start) => linker.declare_function(&format!("{start}{}", func.name), Linkage::Export, &sig),
                None => linker.declare_anonymous_function(&sig),
            };
            let trampoline = trampoline.map_err(linker_error)?.as_u32();
            self.signatures.insert(trampoline, sig);
            self.trampolines.push((id, trampoline));
        }
        self.constants.push(constants);
        Ok(())
    }

    fn need_runtime(&mut self, linker: &mut dyn Linker, entry: Runtime) -> Result<(), EmitError> {
        if !self.runtime.contains_key(&entry) {
            let id = self.import(linker, entry.symbol(), entry.signature(self.call_conv))?;
            self.runtime.insert(entry, id);
        }
        Ok(())
    }

    fn local(&mut self, linker: &mut dyn Linker, name: &str, sig: ir::Signature) -> Result<u32, EmitError> {
        let id = linker.declare_function(name, Linkage::Local, &sig).map_err(linker_error)?.as_u32();
        self.signatures.insert(id, sig);
        Ok(id)
    }

    fn import(&mut self, linker: &mut dyn Linker, name: &str, sig: ir::Signature) -> Result<u32, EmitError> {
        let id = match linker.get_name(name) {
            Some(FuncOrDataId::Func(id)) => id.as_u32(),
            _ => linker.declare_function(name, Linkage::Import, &sig).map_err(linker_error)?.as_u32(),
        };
        self.signatures.insert(id, sig);
        self.imported.insert(id);
        Ok(id)
    }

    /// Names of all imports, for the caller to resolve.
    pub fn import_names(&self) -> impl Iterator<Item = String> + '_ {
        let externs = self.module.externs.values().map(|ext| ext.name.clone());
        let math = self.math.keys().map(|&(op, prim)| math_symbol(op, prim));
        externs.chain(math).chain(self.runtime.keys().map(|entry| entry.symbol().to_string()))
    }

    /// Hands the static data to the linker. Globals named in `defined` exist already; the others are added to it.
    pub fn define_data(&self, linker: &mut dyn Linker, defined: &mut HashSet<String>) -> Result<(), EmitError> {
        for (id, data) in &self.module.data {
            let mut description = DataDescription::new();
            description.set_align(u64::from(data.align));
            if data.bytes.is_empty() {
                description.define_zeroinit(1);
            } else {
                description.define(data.bytes.clone().into_boxed_slice());
            }
            for reloc in &data.relocs {
                let target = cranelift_module::DataId::from_u32(self.data[reloc.target]);
                let target = linker.declare_data_in_data(target, &mut description);
                description.write_data_addr(reloc.at, target, reloc.addend);
            }
            linker
                .define_data(cranelift_module::DataId::from_u32(self.data[id]), &description)
                .map_err(linker_error)?;
        }
        for (id, global) in &self.module.globals {
            if defined.insert(global.name.clone()) {
                let mut description = DataDescription::new();
                description.set_align(16);
                description.define_zeroinit(global.ty.bytes() as usize);
                linker
                    .define_data(cranelift_module::DataId::from_u32(self.globals[id]), &description)
                    .map_err(linker_error)?;
            }
        }
        Ok(())
    }

    /// The name of a function or body, for messages and listings.
    pub fn name_of(&self, id: u32) -> String {
        match self.part_of(id) {
            Some((func, None)) => func.to_string(),
            Some((func, Some(part))) => format!("{func} ({part})"),
            None => format!("function {id}"),
        }
    }

    /// The function that an id is, or is a part of, and which part that is.
    pub fn part_of(&self, id: u32) -> Option<(&'a str, Option<String>)> {
        let name = |func: FuncId| self.module.funcs[func].name.as_str();
        if let Some((func, _)) = self.funcs.iter().find(|(_, own)| **own == id) {
            return Some((name(func), None));
        }
        if let Some((func, _)) = self.trampolines.iter().find(|(_, own)| *own == id) {
            return Some((name(*func), Some("host entry".to_string())));
        }
        let n = self.bodies.iter().position(|body| body.id == id)?;
        Some((name(self.bodies[n].func), Some(format!("parallel body {n}"))))
    }

    /// Values of all functions together, a measure of the work to do.
    pub fn n_values(&self) -> usize {
        self.module.funcs.values().map(|func| func.values.len()).sum()
    }
}

/// Finds constants, `parfor` bodies (outer before inner) and the library functions in use.
fn walk<'a>(region: &'a Region, func: &'a Func, constants: &mut Constants<'a>, needs: &mut Needs<'a>) {
    for inst in &region.insts {
        match &inst.op {
            Op::Const { .. } | Op::DataAddr(_) | Op::GlobalAddr(_) | Op::FuncAddr(_) | Op::ExternAddr(_) => {
                constants[inst.results[0]] = Some(&inst.op);
            }
            Op::Math(op, args) => needs.math.push((*op, func.values[args[0]].prim)),
            Op::RcDec(..) => needs.free = true,
            Op::ParFor { body, .. } => needs.regions.push(body),
            _ => {}
        }
        for nested in inst.op.regions() {
            walk(nested, func, constants, needs);
        }
    }
}

/// Linker-level ids are plain numbers in [`Plan`]; this is the namespace of functions in relocations.
pub(crate) const FUNCTIONS: u32 = 0;
/// The namespace of data in relocations.
pub(crate) const DATA: u32 = 1;
