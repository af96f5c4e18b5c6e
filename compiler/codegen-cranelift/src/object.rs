//! Writes a relocatable object file for the system linker.

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{
    AbiParam, ExtFuncData, ExternalName, Function, InstBuilder, Signature, UserExternalName, UserFuncName, types,
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{FuncId as LinkerFuncId, Linkage, Module as Linker};
use cranelift_object::{ObjectBuilder, ObjectModule};
use ravel_codegen::{Purpose, is_program};
use ravel_nest::ir::Module;
use ravel_runtime::abi::symbols;
use ravel_types::HashSet;

use crate::compile::define_functions;
use crate::plan::{FUNCTIONS, Plan};
use crate::target::{CodeModel, Target};
use crate::{EmitError, check, linker_error};

/// Compiles a module to an object file for a program or a library.
///
/// # Errors
/// The module is not well formed, has no such entry, or exceeds a limit of Cranelift.
pub fn emit_object(module: &Module, purpose: Purpose<'_>) -> Result<Vec<u8>, EmitError> {
    check(module)?;
    let target = Target::host(CodeModel::Object)?;
    let builder = ObjectBuilder::new(target.keep.clone(), "ravel", cranelift_module::default_libcall_names())
        .map_err(linker_error)?;
    let mut linker = ObjectModule::new(builder);
    let exported = match purpose {
        Purpose::Library { prefix } => Some(prefix),
        Purpose::Program { .. } | Purpose::Nothing => None,
    };
    let plan = Plan::new(module, &target, &mut linker, "ravel.", exported)?;
    plan.define_data(&mut linker, &mut HashSet::default())?;
    define_functions(&plan, &mut linker)?;
    if let Purpose::Program { entry } = purpose {
        let func = module.find(entry).filter(|&func| is_program(&module.funcs[func]));
        let func = func.ok_or_else(|| EmitError::NoEntry { name: entry.to_string() })?;
        define_main(&plan, &mut linker, plan.funcs[func])?;
    }
    linker.finish().emit().map_err(|error| EmitError::Linker(error.to_string()))
}

/// The C entry point.
fn define_main(plan: &Plan<'_>, linker: &mut ObjectModule, entry: u32) -> Result<(), EmitError> {
    let mut sig = Signature::new(plan.call_conv);
    sig.params = vec![AbiParam::new(types::I32), AbiParam::new(types::I64)];
    sig.returns = vec![AbiParam::new(types::I32)];
    let main = linker.declare_function("main", Linkage::Export, &sig).map_err(linker_error)?;
    let mut start_sig = sig.clone();
    start_sig.params.push(AbiParam::new(types::I64));
    let start = linker.declare_function(symbols::MAIN_START, Linkage::Import, &start_sig).map_err(linker_error)?;

    let mut context =
        Context::for_function(Function::with_name_signature(UserFuncName::user(FUNCTIONS, main.as_u32()), sig));
    let mut builder_context = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let block = b.create_block();
    b.append_block_params_for_function_params(block);
    b.switch_to_block(block);
    let (argc, argv) = (b.block_params(block)[0], b.block_params(block)[1]);
    let import = |b: &mut FunctionBuilder<'_>, id: LinkerFuncId, sig: Signature, colocated: bool| {
        let signature = b.import_signature(sig);
        let name = b.func.declare_imported_user_function(UserExternalName { namespace: FUNCTIONS, index: id.as_u32() });
        b.import_function(ExtFuncData { name: ExternalName::user(name), signature, colocated, patchable: false })
    };
    let entry = import(&mut b, LinkerFuncId::from_u32(entry), plan.signatures[&entry].clone(), true);
    let start = import(&mut b, start, start_sig, false);
    let entry = b.ins().func_addr(types::I64, entry);
    let call = b.ins().call(start, &[argc, argv, entry]);
    let status = b.inst_results(call)[0];
    b.ins().return_(&[status]);
    b.seal_all_blocks();
    b.finalize(plan.target.keep.frontend_config());
    linker
        .define_function_with_control_plane(main, &mut context, &mut ControlPlane::default())
        .map_err(linker_error)?;
    Ok(())
}
