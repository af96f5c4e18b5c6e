//! LLVM IR and machine code as text.

use ravel_codegen_llvm::{capabilities, emit_asm, emit_llvm};
use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{Access, Module, Order, Ty, Visibility};

/// `out[i] = a[i] * b[i] + out[i]` for vectors of 16 lanes.
fn accumulate() -> Module {
    let mut module = Module::new();
    let (mut b, p) = FuncBuilder::new("accumulate", &[Ty::PTR, Ty::PTR, Ty::PTR], &[]);
    b.set_visibility(Visibility::Entry);
    b.set_order(Order::Keep);
    let ty = Ty::F32.with_lanes(16);
    let values: Vec<_> = p.iter().map(|&ptr| b.load(ty, ptr, 0, Access::ANY)).collect();
    let sum = b.fma(values[0], values[1], values[2]);
    b.store(sum, p[2], 0, Access::ANY);
    b.ret(&[]);
    module.add(b.finish());
    module
}

#[test]
fn vectors_are_one_llvm_value() {
    let text = emit_llvm(&accumulate()).expect("the module is valid");
    assert!(text.contains("@ravel.accumulate") && text.contains("load <16 x float>"), "{text}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn vectors_fill_the_widest_registers() {
    let asm = emit_asm(&accumulate()).expect("the module is valid");
    let target = capabilities().expect("the host is supported");
    let register = if target.vector_bytes == 64 { "%zmm" } else { "%xmm" };
    assert!(asm.contains("accumulate") && (target.vector_bytes < 64 || asm.contains(register)), "{asm}");
    assert!(!target.has_fma || asm.contains("vfmadd"), "{asm}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn sums_under_masks_are_one_instruction() {
    let mut module = Module::new();
    let (mut b, p) = FuncBuilder::new("masked", &[Ty::PTR, Ty::PTR, Ty::PTR, Ty::PTR], &[]);
    b.set_visibility(Visibility::Entry);
    b.set_order(Order::Keep);
    let ty = Ty::F32.with_lanes(16);
    let values: Vec<_> = p[..3].iter().map(|&ptr| b.load(ty, ptr, 0, Access::ANY)).collect();
    let mask = b.load(ty.truth(), p[3], 0, Access::ANY);
    let sum = b.fma(values[0], values[1], values[2]);
    let chosen = b.select(mask, sum, values[2]);
    b.store(chosen, p[2], 0, Access::ANY);
    b.ret(&[]);
    module.add(b.finish());
    let asm = emit_asm(&module).expect("the module is valid");
    let target = capabilities().expect("the host is supported");
    let masked = |line: &str| line.contains("vfmadd") && line.contains("{%k");
    assert!(target.vector_bytes < 64 || asm.lines().any(masked), "{asm}");
}
