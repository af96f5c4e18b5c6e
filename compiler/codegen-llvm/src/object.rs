//! Writes relocatable object files for the system linker.

use inkwell::context::Context;
use inkwell::module::Linkage;
use inkwell::targets::FileType;
use inkwell::values::ValueKind;
use ravel_codegen::{Purpose, is_program};
use ravel_nest::ir::{Module, Param, Signature, Ty};
use ravel_runtime::abi::symbols;

use crate::module::{Exports, translate};
use crate::parts::Parts;
use crate::target::Target;
use crate::translate::Problem;
use crate::types::c_type;
use crate::{EmitError, check};

/// Keeps our symbols apart from those of the runtime.
const PREFIX: &str = "ravel.";

/// Compiles a module to an object file for a program or a library.
///
/// # Errors
/// The module is not well formed, has no such entry, or LLVM refuses it.
pub fn emit_object(module: &Module, purpose: Purpose<'_>) -> Result<Vec<u8>, EmitError> {
    Ok(emit_parts(module, purpose, &Parts::one())?.concat())
}

/// As [`emit_object`], to several object files where that is faster; they belong together.
///
/// # Errors
/// As [`emit_object`].
pub fn emit_objects(module: &Module, purpose: Purpose<'_>) -> Result<Vec<Vec<u8>>, EmitError> {
    emit_parts(module, purpose, &Parts::for_this_machine(module))
}

fn emit_parts(module: &Module, purpose: Purpose<'_>, parts: &Parts) -> Result<Vec<Vec<u8>>, EmitError> {
    check(module)?;
    let exports = match purpose {
        Purpose::Library { prefix } => Exports::Library(prefix),
        Purpose::Program { .. } | Purpose::Nothing => Exports::None,
    };
    parts.each(|part| {
        let target = Target::host()?;
        let context = Context::create();
        let llvm = translate(module, &context, &target, PREFIX, exports, part)?;
        if let Purpose::Program { entry } = purpose
            && part.has_data()
        {
            let no_entry = || EmitError::NoEntry { name: entry.to_string() };
            let func = module.find(entry).filter(|&func| is_program(&module.funcs[func])).ok_or_else(no_entry)?;
            let name = format!("{PREFIX}{}", module.funcs[func].name);
            let function = llvm.get_function(&name).ok_or_else(no_entry)?;
            define_main(&context, &llvm, function.as_global_value().as_pointer_value())
                .map_err(|problem| EmitError::Codegen { func: "main".to_string(), message: problem.to_string() })?;
        }
        Ok(target.compile(&llvm, FileType::Object)?.as_slice().to_vec())
    })
}

/// The C entry point.
fn define_main<'c>(
    context: &'c Context,
    llvm: &inkwell::module::Module<'c>,
    entry: inkwell::values::PointerValue<'c>,
) -> Result<(), Problem> {
    let sig =
        |params: &[Ty]| Signature { params: params.iter().copied().map(Param::from).collect(), result: Some(Ty::I32) };
    let main = llvm.add_function("main", c_type(context, &sig(&[Ty::I32, Ty::PTR])), Some(Linkage::External));
    let start = llvm.add_function(symbols::MAIN_START, c_type(context, &sig(&[Ty::I32, Ty::PTR, Ty::PTR])), None);
    let b = context.create_builder();
    b.position_at_end(context.append_basic_block(main, ""));
    let mut args: Vec<inkwell::values::BasicMetadataValueEnum<'c>> =
        main.get_params().into_iter().map(Into::into).collect();
    args.push(entry.into());
    match b.build_call(start, &args, "")?.try_as_basic_value() {
        ValueKind::Basic(status) => b.build_return(Some(&status))?,
        ValueKind::Instruction(_) => return Err(Problem::NoValue),
    };
    Ok(())
}
