//! Calls: internal, extern, indirect, mathematical, runtime and fault.

use cranelift_codegen::ir::{
    self, ExtFuncData, ExternalName, GlobalValueData, InstBuilder, TrapCode, UserExternalName, types,
};
use ravel_nest::ir::{ExternId, FuncId, MathOp, SigId, Value};

use crate::plan::{DATA, FUNCTIONS, Runtime, c_signature};
use crate::translate::Translator;
use crate::types::Pieces;

/// Follows calls that do not return; never executed.
const AFTER_FAULT: TrapCode = TrapCode::unwrap_user(1);

impl Translator<'_, '_> {
    /// Reference to a function by linker-level id.
    pub fn func_ref(&mut self, id: u32) -> ir::FuncRef {
        if let Some(&known) = self.func_refs.get(&id) {
            return known;
        }
        let signature = self.b.import_signature(self.plan.signatures[&id].clone());
        let name = self.b.func.declare_imported_user_function(UserExternalName { namespace: FUNCTIONS, index: id });
        let colocated = !self.plan.imported.contains(&id);
        let data = ExtFuncData { name: ExternalName::user(name), signature, colocated, patchable: false };
        let func_ref = self.b.import_function(data);
        self.func_refs.insert(id, func_ref);
        func_ref
    }

    /// Address of a function by linker-level id.
    pub fn func_address(&mut self, id: u32) -> ir::Value {
        let func_ref = self.func_ref(id);
        self.b.ins().func_addr(types::I64, func_ref)
    }

    /// Address of static data by linker-level id.
    pub fn data_address(&mut self, id: u32) -> ir::Value {
        let global = match self.data_refs.get(&id) {
            Some(&known) => known,
            None => {
                let name = self.b.func.declare_imported_user_function(UserExternalName { namespace: DATA, index: id });
                let global = self.b.create_global_value(GlobalValueData::Symbol {
                    name: ExternalName::user(name),
                    offset: ir::immediates::Imm64::new(0),
                    colocated: true,
                    tls: false,
                });
                self.data_refs.insert(id, global);
                global
            }
        };
        self.b.ins().symbol_value(types::I64, global)
    }

    fn call_id(&mut self, id: u32, args: &[ir::Value]) -> Pieces {
        let func_ref = self.func_ref(id);
        let call = self.b.ins().call(func_ref, args);
        self.b.inst_results(call).into()
    }

    /// Calls a function of the module.
    pub fn call(&mut self, callee: FuncId, args: &[Value]) -> Pieces {
        let args = self.all_pieces(args);
        self.call_id(self.plan.funcs[callee], &args)
    }

    /// Calls an extern function.
    pub fn call_extern(&mut self, callee: ExternId, args: &[Value]) -> Pieces {
        let args = self.all_pieces(args);
        self.call_id(self.plan.externs[callee], &args)
    }

    /// Calls a runtime function.
    pub fn call_runtime(&mut self, callee: Runtime, args: &[ir::Value]) {
        self.call_id(self.plan.runtime[&callee], args);
    }

    /// Calls through an address.
    pub fn call_indirect(&mut self, sig: SigId, callee: Value, args: &[Value]) -> Pieces {
        let signature = c_signature(&self.plan.module.sigs[sig], self.plan.call_conv);
        let signature = self.b.import_signature(signature);
        let (callee, args) = (self.scalar(callee), self.all_pieces(args));
        let call = self.b.ins().call_indirect(signature, callee, &args);
        self.b.inst_results(call).into()
    }

    /// A mathematical function, lane by lane.
    pub fn math(&mut self, op: MathOp, args: &[Value]) -> Pieces {
        let ty = self.ty(args[0]);
        let callee = self.plan.math[&(op, ty.prim)];
        self.lanewise(ty, ty, args, |t, lanes| t.call_id(callee, lanes)[0])
    }

    /// Ends the block with a call that does not return.
    pub fn fault(&mut self, callee: ExternId, args: &[Value]) {
        if let Some(block) = self.b.current_block()
            && self.b.func.layout.entry_block() != Some(block)
        {
            self.b.set_cold_block(block);
        }
        self.call_extern(callee, args);
        self.b.ins().trap(AFTER_FAULT);
    }
}
