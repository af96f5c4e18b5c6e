//! A module of nest as a module of LLVM: declarations, static data, and the functions one by one.

use cranelift_entity::{EntityRef, PrimaryMap};
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::{Linkage, Module as LlvmModule};
use inkwell::types::{BasicTypeEnum, FunctionType, StructType};
use inkwell::values::{BasicValueEnum, FunctionValue, GlobalValue, PointerValue, StructValue};
use inkwell::{AddressSpace, GlobalVisibility};
use ravel_nest::ir::{
    Data, DataId, ExternId, FuncId, GlobalId, MathOp, Module, Param, Prim, Reloc, Signature, Ty, Visibility,
};
use ravel_runtime::abi::symbols;

use crate::EmitError;
use crate::memory::constant_offset;
use crate::parts::Part;
use crate::target::Target;
use crate::translate::{Problem, Translator};
use crate::types::{c_type, func_type, llvm_type};

/// Size of an address in static data.
const ADDRESS_BYTES: usize = 8;

/// What of a module is visible outside its object, or outside the objects of its parts.
#[derive(Clone, Copy)]
pub(crate) enum Exports<'a> {
    /// Nothing: a listing, or an object with a `main`.
    None,
    /// The host entries of entry functions, by symbols of this prefix: a library.
    Library(&'a str),
    /// Entries, their trampolines and globals: one of several modules in this process. The function says whether an earlier one
    /// defines the global of this name.
    Session(&'a (dyn Fn(&str) -> bool + Sync)),
}

/// Everything that function bodies refer to.
pub(crate) struct Declared<'a, 'c> {
    /// What is compiled.
    pub module: &'a Module,
    /// Owner of all types and values.
    pub context: &'c Context,
    /// What it becomes.
    pub llvm: LlvmModule<'c>,
    /// Is `fma` one instruction?
    pub has_fma: bool,
    /// Functions of the module.
    pub funcs: PrimaryMap<FuncId, FunctionValue<'c>>,
    /// Imports.
    pub externs: PrimaryMap<ExternId, FunctionValue<'c>>,
    /// Static data.
    pub data: PrimaryMap<DataId, GlobalValue<'c>>,
    /// Global variables.
    pub globals: PrimaryMap<GlobalId, PointerValue<'c>>,
}

/// The symbol of a global variable.
pub(crate) fn global_symbol(name: &str) -> String {
    format!("ravel.global.{name}")
}

/// The symbol of the host entry of a function with symbol `name`.
pub(crate) fn trampoline_symbol(name: &str) -> String {
    format!("{name}.host")
}

/// Names of the imports of a translated module: declarations that are neither intrinsics nor globals, nor functions of other parts.
pub(crate) fn import_names(module: &LlvmModule<'_>, prefix: &str) -> Vec<String> {
    let declared = module
        .get_functions()
        .filter(|function| function.count_basic_blocks() == 0 && function.get_intrinsic_id() == 0);
    let names = declared.map(|function| function.get_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with(prefix)).collect()
}

/// Translates a part of a verified module. `prefix` keeps the names of one module apart from those of others.
pub(crate) fn translate<'c>(
    module: &Module,
    context: &'c Context,
    target: &Target,
    prefix: &str,
    exports: Exports<'_>,
    part: Part<'_>,
) -> Result<LlvmModule<'c>, EmitError> {
    let declared = declare(module, context, target, prefix, exports, part);
    if part.has_data() {
        for (id, data) in &module.data {
            declared.data[id].set_initializer(&data_contents(&declared, data));
        }
    }
    for (id, func) in module.funcs.iter().filter(|(id, _)| part.defines(*id)) {
        let problem = |problem: Problem| EmitError::Codegen { func: func.name.clone(), message: problem.to_string() };
        let mut bodies = Translator::new(&declared, func, declared.funcs[id]).function().map_err(problem)?;
        while let Some(body) = bodies.pop() {
            bodies.extend(Translator::new(&declared, func, body.function).outlined(&body).map_err(problem)?);
        }
        if func.visibility == Visibility::Entry {
            if func.param_types().chain(func.results.iter().copied()).any(Ty::is_vector) {
                return Err(EmitError::VectorEntry { func: func.name.clone() });
            }
            let symbol = match exports {
                Exports::None => None,
                Exports::Library(start) => Some(format!("{start}{}", func.name)),
                Exports::Session(_) => Some(trampoline_symbol(&format!("{prefix}{}", func.name))),
            };
            if let Some(name) = symbol {
                let ptr = Param::from(Ty::PTR);
                let ty = c_type(context, &Signature { params: vec![ptr, ptr], result: None });
                let trampoline = declared.function(&name, ty, Linkage::External);
                Translator::new(&declared, func, trampoline).trampoline(declared.funcs[id]).map_err(problem)?;
            }
        }
    }
    if cfg!(debug_assertions)
        && let Err(error) = declared.llvm.verify()
    {
        return Err(EmitError::Codegen { func: prefix.to_string(), message: error.to_string() });
    }
    Ok(declared.llvm)
}

fn declare<'a, 'c>(
    module: &'a Module,
    context: &'c Context,
    target: &Target,
    prefix: &str,
    exports: Exports<'_>,
    part: Part<'_>,
) -> Declared<'a, 'c> {
    let llvm = context.create_module("ravel");
    llvm.set_triple(&target.machine.get_triple());
    llvm.set_data_layout(&target.machine.get_target_data().get_data_layout());
    let mut declared = Declared {
        module,
        context,
        llvm,
        has_fma: target.capabilities.has_fma,
        funcs: PrimaryMap::with_capacity(module.funcs.len()),
        externs: PrimaryMap::with_capacity(module.externs.len()),
        data: PrimaryMap::with_capacity(module.data.len()),
        globals: PrimaryMap::with_capacity(module.globals.len()),
    };
    for callee in module.externs.values() {
        let function = declared.import(&callee.name, &callee.sig);
        declared.externs.push(function);
    }
    for (id, data) in &module.data {
        let name = if part.is_whole() { String::new() } else { prefix.to_string() };
        let global = declared.llvm.add_global(data_type(context, data), None, &format!("{name}data.{}", id.index()));
        keep_inside(global, exports, part);
        global.set_constant(!data.writable);
        global.set_alignment(data.align);
        declared.data.push(global);
    }
    for global in module.globals.values() {
        let ty = llvm_type(context, global.ty);
        let variable = declared.llvm.add_global(ty, None, &global_symbol(&global.name));
        variable.set_alignment(16);
        let defined_before = match exports {
            Exports::None | Exports::Library(_) => {
                keep_inside(variable, exports, part);
                false
            }
            Exports::Session(defined) => defined(&global.name),
        };
        if !defined_before && part.has_data() {
            variable.set_initializer(&ty.const_zero());
        }
        declared.globals.push(variable.as_pointer_value());
    }
    for func in module.funcs.values() {
        let name = format!("{prefix}{}", func.name);
        let function = declared.function(&name, func_type(context, func), Linkage::External);
        if !matches!(exports, Exports::Session(_)) || func.visibility != Visibility::Entry {
            keep_inside(function.as_global_value(), exports, part);
        }
        declared.funcs.push(function);
    }
    declared
}

/// Hides what other modules do not name, from other objects or at least from all but those of the other parts.
fn keep_inside(value: GlobalValue<'_>, exports: Exports<'_>, part: Part<'_>) {
    match exports {
        _ if part.is_whole() => value.set_linkage(Linkage::Internal),
        Exports::None | Exports::Library(_) => value.set_visibility(GlobalVisibility::Hidden),
        // In one process objects may be far from each other, and what is hidden is expected to be near.
        Exports::Session(_) => {}
    }
}

/// The bytes of static data, cut where addresses are: before the first, between them, and after the last.
fn cuts(data: &Data) -> (Vec<&[u8]>, Vec<&Reloc>) {
    let mut relocs: Vec<&Reloc> = data.relocs.iter().collect();
    relocs.sort_by_key(|reloc| reloc.at);
    let mut start = 0;
    let mut pieces: Vec<&[u8]> = Vec::with_capacity(relocs.len() + 1);
    for reloc in &relocs {
        pieces.push(&data.bytes[start..reloc.at as usize]);
        start = reloc.at as usize + ADDRESS_BYTES;
    }
    pieces.push(&data.bytes[start..]);
    (pieces, relocs)
}

fn data_type<'c>(context: &'c Context, data: &Data) -> StructType<'c> {
    let (pieces, _) = cuts(data);
    let address: BasicTypeEnum<'c> = context.ptr_type(AddressSpace::default()).into();
    let mut fields: Vec<BasicTypeEnum<'c>> = Vec::with_capacity(2 * pieces.len());
    for bytes in pieces {
        fields.push(context.i8_type().array_type(bytes.len() as u32).into());
        fields.push(address);
    }
    fields.pop();
    context.struct_type(&fields, true)
}

fn data_contents<'c>(declared: &Declared<'_, 'c>, data: &Data) -> StructValue<'c> {
    let context = declared.context;
    let (pieces, relocs) = cuts(data);
    let mut relocs = relocs.into_iter();
    let mut fields: Vec<BasicValueEnum<'c>> = Vec::with_capacity(2 * pieces.len());
    for bytes in pieces {
        fields.push(context.const_string(bytes, false).into());
        if let Some(reloc) = relocs.next() {
            let addend = context.i64_type().const_int(reloc.addend as u64, true);
            fields.push(constant_offset(context, declared.data[reloc.target].as_pointer_value(), addend).into());
        }
    }
    context.const_struct(&fields, true)
}

impl<'c> Declared<'_, 'c> {
    /// Declares a function of ours.
    pub fn function(&self, name: &str, ty: FunctionType<'c>, linkage: Linkage) -> FunctionValue<'c> {
        let function = self.llvm.add_function(name, ty, Some(linkage));
        function.add_attribute(AttributeLoc::Function, self.attribute("nounwind"));
        let strings = [
            // Vectors are as wide as nest says, even on processors that LLVM would rather spare.
            ("prefer-vector-width", "512"),
            ("probe-stack", "inline-asm"),
            // Mathematical functions are called as they are, not evaluated or replaced.
            ("no-builtins", ""),
        ];
        for (key, value) in strings {
            function.add_attribute(AttributeLoc::Function, self.context.create_string_attribute(key, value));
        }
        function
    }

    /// An attribute without a value.
    pub fn attribute(&self, name: &str) -> Attribute {
        self.context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), 0)
    }

    /// A function outside the module, declared once per name.
    pub fn import(&self, name: &str, sig: &Signature) -> FunctionValue<'c> {
        if let Some(known) = self.llvm.get_function(name) {
            return known;
        }
        let function = self.llvm.add_function(name, c_type(self.context, sig), None);
        function.add_attribute(AttributeLoc::Function, self.attribute("nounwind"));
        for (loc, name) in extensions(sig) {
            function.add_attribute(loc, self.attribute(name));
        }
        function
    }

    /// A function of the C mathematical library.
    pub fn math(&self, op: MathOp, prim: Prim) -> FunctionValue<'c> {
        let name = format!("{}{}", op.name(), if prim == Prim::F32 { "f" } else { "" });
        let ty = Ty::scalar(prim);
        let function = self.import(&name, &Signature { params: vec![ty.into(); op.arity()], result: Some(ty) });
        for name in ["memory", "willreturn"] {
            function.add_attribute(AttributeLoc::Function, self.attribute(name));
        }
        function
    }

    /// Releases an object whose count is zero.
    pub fn free(&self) -> FunctionValue<'c> {
        self.import(symbols::FREE, &Signature { params: vec![Ty::PTR.into()], result: None })
    }

    /// Runs an outlined body over chunks: function, context, indices, indices per chunk, late chunks.
    pub fn parallel(&self) -> FunctionValue<'c> {
        let params = [Ty::PTR, Ty::PTR, Ty::I64, Ty::I64, Ty::I64, Ty::PTR].map(Param::from).to_vec();
        self.import(symbols::PARALLEL, &Signature { params, result: None })
    }
}

/// How the caller of a C function extends narrow integers, by parameter.
pub(crate) fn extensions(sig: &Signature) -> impl Iterator<Item = (AttributeLoc, &'static str)> + '_ {
    let narrow = |param: &Param| param.ty.prim.is_int() && param.ty.prim.bits() < 32;
    (0..)
        .zip(&sig.params)
        .filter(move |(_, param)| narrow(param))
        .map(|(n, param)| (AttributeLoc::Param(n), if param.signed { "signext" } else { "zeroext" }))
}
