//! Calls: internal, extern, indirect, mathematical and fault; and the entry for the host.

use inkwell::attributes::AttributeLoc;
use inkwell::types::FunctionType;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, CallSiteValue, FunctionValue, PointerValue, ValueKind};
use ravel_nest::ir::{Access, ExternId, FuncId, MathOp, SigId, Signature, Ty, Value};

use crate::module::extensions;
use crate::translate::{Built, Problem, Translator, Values};
use crate::types::c_type;

fn arguments<'c>(args: &[BasicValueEnum<'c>]) -> Vec<BasicMetadataValueEnum<'c>> {
    args.iter().map(|&arg| arg.into()).collect()
}

impl<'c> Translator<'_, 'c> {
    /// The results of a call of a function with `n_results` results.
    fn results(&self, call: CallSiteValue<'c>, n_results: usize) -> Result<Values<'c>, Problem> {
        let value = match call.try_as_basic_value() {
            ValueKind::Basic(value) => value,
            ValueKind::Instruction(_) => return Ok(Values::new()),
        };
        if n_results == 1 {
            return Ok(Values::from_slice(&[value]));
        }
        let all = value.into_struct_value();
        (0..n_results as u32).map(|n| Ok(self.b.build_extract_value(all, n, "")?)).collect()
    }

    /// Calls a function of the module.
    pub fn call(&self, callee: FuncId, args: &[Value]) -> Result<Values<'c>, Problem> {
        let call = self.b.build_call(self.m.funcs[callee], &arguments(&self.all(args)), "")?;
        self.results(call, self.m.module.funcs[callee].results.len())
    }

    fn call_c(
        &self,
        sig: &Signature,
        ty: FunctionType<'c>,
        callee: PointerValue<'c>,
        args: &[Value],
    ) -> Result<CallSiteValue<'c>, Problem> {
        let call = self.b.build_indirect_call(ty, callee, &arguments(&self.all(args)), "")?;
        for (loc, name) in extensions(sig) {
            call.add_attribute(loc, self.m.attribute(name));
        }
        Ok(call)
    }

    fn call_import(&self, callee: ExternId, args: &[Value]) -> Result<CallSiteValue<'c>, Problem> {
        let sig = &self.m.module.externs[callee].sig;
        let address = self.m.externs[callee].as_global_value().as_pointer_value();
        self.call_c(sig, c_type(self.m.context, sig), address, args)
    }

    /// Calls an extern function.
    pub fn call_extern(&self, callee: ExternId, args: &[Value]) -> Result<Values<'c>, Problem> {
        let call = self.call_import(callee, args)?;
        self.results(call, 1)
    }

    /// Calls through an address.
    pub fn call_indirect(&self, sig: SigId, callee: Value, args: &[Value]) -> Result<Values<'c>, Problem> {
        let sig = &self.m.module.sigs[sig];
        let call = self.call_c(sig, c_type(self.m.context, sig), self.pointer(callee), args)?;
        self.results(call, 1)
    }

    /// A mathematical function, lane by lane.
    pub fn math(&self, op: MathOp, args: &[Value]) -> Built<'c> {
        let callee = self.m.math(op, self.ty(args[0]).prim);
        self.lanewise(args, |lanes| match self.b.build_call(callee, &arguments(lanes), "")?.try_as_basic_value() {
            ValueKind::Basic(value) => Ok(value),
            ValueKind::Instruction(_) => Err(Problem::NoValue),
        })
    }

    /// Ends the block with a call that does not return.
    pub fn fault(&self, callee: ExternId, args: &[Value]) -> Result<(), Problem> {
        let call = self.call_import(callee, args)?;
        for name in ["noreturn", "cold"] {
            call.add_attribute(AttributeLoc::Function, self.m.attribute(name));
        }
        self.b.build_unreachable()?;
        Ok(())
    }

    /// `(args, results)`: reads the arguments of a function from words, calls it and writes the results to words.
    pub fn trampoline(self, callee: FunctionValue<'c>) -> Result<(), Problem> {
        let words: Vec<PointerValue<'c>> =
            self.function.get_param_iter().map(BasicValueEnum::into_pointer_value).collect();
        let params = (0..).zip(self.func.param_types());
        let args =
            params.map(|(n, ty)| self.load_at(ty, words[0], 8 * n, Access::ANY)).collect::<Result<Vec<_>, _>>()?;
        let call = self.b.build_call(callee, &arguments(&args), "")?;
        let results = self.results(call, self.func.results.len())?;
        for (n, (&ty, value)) in (0..).zip(self.func.results.iter().zip(results)) {
            if ty.bytes() < 8 {
                self.store_at(Ty::I64, self.word(0).into(), words[1], 8 * n, Access::ALIGNED)?;
            }
            self.store_at(ty, value, words[1], 8 * n, Access::ALIGNED)?;
        }
        self.b.build_return(None)?;
        self.finish().map(drop)
    }
}
