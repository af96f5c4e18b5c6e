//! What a program with kernels does before everything else.

use ravel_nest::ir::{Inst, Module, Op, Param, Ty};
use smallvec::{SmallVec, smallvec};

/// The device must be there: the numbers are those of the runtime's `ravel_device_start`.
const STRICT: u64 = 1;
/// Kernels compute with 64-bit floats.
const DOUBLES: u64 = 2;

/// Makes the function `entry` tell the runtime what the program needs of a device: whether it must have one, and 64-bit floats.
pub fn ask_for_device(module: &mut Module, entry: &str, strict: bool, doubles: bool) {
    let callee = module.extern_func("ravel_device_start", &[Param::from(Ty::I32)], None);
    let bits = if strict { STRICT } else { 0 } | if doubles { DOUBLES } else { 0 };
    for func in module.funcs.values_mut().filter(|func| func.name == entry) {
        let needs = func.values.push(Ty::I32);
        let constant = Inst { results: smallvec![needs], op: Op::Const { ty: Ty::I32, bits } };
        let call = Inst { results: SmallVec::new(), op: Op::CallExtern(callee, vec![needs]) };
        func.body.insts.splice(0..0, [constant, call]);
    }
}
