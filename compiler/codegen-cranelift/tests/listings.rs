//! Cranelift IR and machine code as text.

use ravel_codegen_cranelift::{emit_asm, emit_clif};
use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{Module, Ty};

#[test]
fn listings_name_their_functions() {
    let mut module = Module::new();
    let (mut b, params) = FuncBuilder::new("twice", &[Ty::I32], &[Ty::I32]);
    let sum = b.add(params[0], params[0]);
    b.ret(&[sum]);
    module.add(b.finish());
    let clif = emit_clif(&module).expect("the module is valid");
    assert!(clif.contains("; twice") && clif.contains("iadd"), "{clif}");
    let asm = emit_asm(&module).expect("the module is valid");
    assert!(asm.contains("; twice") && asm.contains("ret"), "{asm}");
}
