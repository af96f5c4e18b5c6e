//! The text form and the verifier.

use cranelift_entity::EntityRef;
use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{
    Access, BinOp, ConvOp, Data, FloatCmp, FuncId, IntCmp, MathOp, Module, Order, Output, Param, Prim, Read, ReduceOp,
    Reloc, Shared, Signature, Ty, UnOp, Visibility,
};
use ravel_nest::parse::parse_module;

/// One function with every operation.
fn everything() -> Module {
    let mut module = Module::new();
    let alloc = module.extern_func("alloc", &[Ty::I8.into(), Param { ty: Ty::I32, signed: true }], Some(Ty::PTR));
    let fault = module.extern_func("fault", &[Ty::PTR.into()], None);
    let sig = module.signature(Signature { params: vec![Ty::I64.into()], result: Some(Ty::I64) });
    let text = module.c_string("a \"b\"\n\\");
    let object = module.data.push(Data {
        bytes: vec![0; 16],
        align: 64,
        writable: true,
        relocs: vec![Reloc { at: 8, target: text, addend: -3 }],
    });
    let global = module.global("state", Ty::PTR);
    let (mut b, params) = FuncBuilder::new("all", &[Ty::I64, Ty::F32.with_lanes(4), Ty::PTR], &[Ty::I64, Ty::F32]);
    let (n, x, p) = (params[0], params[1], params[2]);
    let ints = b.iconst(Ty::I32.with_lanes(4), -7);
    for &op in UnOp::ALL {
        b.unary(op, if op.is_float() { x } else { ints });
    }
    for &op in BinOp::ALL {
        let a = if op.is_float() { x } else { ints };
        b.binary(op, a, a);
    }
    for &cmp in IntCmp::ALL {
        b.icmp(cmp, p, p);
    }
    for &cmp in FloatCmp::ALL {
        let mask = b.fcmp(cmp, x, x);
        b.select(mask, x, x);
    }
    for &op in ReduceOp::ALL {
        b.reduce(op, if op.combine().is_float() { x } else { ints });
    }
    b.any(ints);
    for &op in MathOp::ALL {
        b.math(op, &[x, x][..op.arity()]);
    }
    let narrow = b.convert(ConvOp::Narrow, ints, Prim::I8);
    b.convert(ConvOp::SExt, narrow, Prim::I64);
    b.convert(ConvOp::SToF, ints, Prim::F64);
    b.convert(ConvOp::FToU, x, Prim::I16);
    b.convert(ConvOp::Bits, p, Prim::I64);
    for value in [0.1, -0.0, 1e30, 1e-30, f64::NAN, f64::INFINITY] {
        b.fconst(Ty::F64, value);
        b.fconst(Ty::F32, value);
    }
    let lane = b.extract(x, 3);
    b.insert(x, 1, lane);
    b.splat(lane, 8);
    b.shuffle(x, x, &[0, 7]);
    b.fma(x, x, x);
    let slot = b.stack_slot(64, 16);
    b.store(x, slot, 16, Access::ALIGNED);
    b.load(Ty::I8.with_lanes(16), p, -4, Access::INVARIANT);
    b.gather(Ty::F32.with_lanes(4), p, -8, ints, 4);
    b.gather_if(ints, Ty::I32.with_lanes(4), p, 0, ints, 1);
    b.data_addr(object);
    b.global_addr(global);
    let (tag, rank) = (b.bool(true), b.i32(2));
    let array = b.call_extern(alloc, &[tag, rank], Some(Ty::PTR)).expect("alloc has a result");
    b.rc_inc(array);
    b.rc_unique(array);
    let pointer = b.extern_addr(alloc);
    b.call_indirect(sig, pointer, &[n], Some(Ty::I64));
    let far = b.ptr_add(p, n);
    let bad = b.icmp(IntCmp::Eq, far, p);
    b.fault_if(bad, fault, &[p]);
    let one = b.i64(1);
    b.begin_parfor(n, one);
    b.rc_dec(array);
    b.end_parfor();
    b.begin_shared_parfor(n, one, Some(one), None);
    b.end_parfor();
    let output = Output::of([array, p, one, one, n, n, n, one, one]);
    let reads = vec![Read { object: p, factor: one, low: one, high: n }];
    let outputs = vec![output.clone(), output];
    let shared = Shared { site: p, work: one, uneven: true, partials: true, reads, outputs };
    b.begin_shared_parfor(n, one, None, Some(Box::new(shared)));
    b.end_parfor();
    let place = b.begin_groups(&[n, one], &[4, 16]);
    let shared = b.local_slot(256, 4);
    let cell = b.ptr_add(shared, place[3]);
    b.store(tag, cell, 0, Access::ALIGNED);
    b.barrier();
    b.end_launch();
    let (i, carried) = b.begin_for(one, n, one, &[lane, n]);
    let again = b.begin_loop(&[carried[1]]);
    let more = b.icmp(IntCmp::Slt, again[0], i);
    b.begin_if(more);
    b.begin_else(&[i]);
    let picked = b.end_if(&[again[0]]);
    let sums = b.end_loop(more, &picked);
    let last = b.end_for(&[carried[0], sums[0]]);
    b.ret(&[last[1], last[0]]);
    module.add(b.finish());
    let (mut b, params) = FuncBuilder::new("caller", &[Ty::I64], &[]);
    b.set_order(Order::Keep);
    b.set_visibility(Visibility::Entry);
    let lanes = b.fconst(Ty::F32.with_lanes(4), 1.5);
    let null = b.null();
    b.call(FuncId::new(0), &[params[0], lanes, null], &[Ty::I64, Ty::F32]);
    b.func_addr(FuncId::new(2));
    b.ret(&[]);
    module.add(b.finish());
    let (mut b, _) = FuncBuilder::new("leaf", &[], &[]);
    b.ret(&[]);
    module.add(b.finish());
    module
}

#[test]
fn printed_modules_parse_to_equal_modules_and_verify() {
    let module = everything();
    assert_eq!(ravel_nest::verify::verify(&module), Ok(()));
    let text = module.to_string();
    let parsed = parse_module(&text).map_err(|error| format!("{error}\n{text}"));
    assert_eq!(parsed.as_ref().map(Module::to_string), Ok(text));
    assert_eq!(parsed, Ok(module));
}

#[test]
fn verifier_refuses_broken_functions() {
    let cases = [
        ("(v0: i64) -> (i64) private keep { return v1 }", "v1 is used where it is not defined"),
        ("(v0: i64) -> (i32) private keep { return v0 }", "returns (i64) where (i32) is wanted"),
        ("(v0: i64) -> () private keep { v1: i64 = fadd v0, v0 return }", "wrong type"),
        ("(v0: i64) -> () private keep { v1: i32 = iadd v0, v0 return }", "(i32) where (i64)"),
        (
            "(v0: i8) -> () private keep { if v0 { v1: i8 = const 1 yield } else { yield } v2: i8 = not v1 return }",
            "v1 is used",
        ),
        ("(v0: i8) -> () private keep { v1: i8 = if v0 { yield v0 } else { yield } return }", "yields () where (i8)"),
        ("(v0: i8) -> () private keep { loop () { yield } return }", "yields () where (i8)"),
        ("(v0: i8) -> () private keep { if v0 { return } else { yield } return }", "its owner does not allow"),
        ("(v0: i8) -> () private keep { open }", "has no body"),
        ("(v0: i64) -> () private keep { barrier return }", "a barrier outside"),
        (
            "(v0: i64) -> () private keep { launch (v0) (v1) { v2: ptr = local_slot 8 align 8 yield } return }",
            "local memory outside",
        ),
        ("(v0: i64) -> () private keep { launch (v0) local (4) (v1) { yield } return }", "wrong parameters"),
        ("(v0: i64) -> () private keep { launch (v0) local (4, 4) (v1, v2, v3) { yield } return }", "groups of [4, 4]"),
        ("(v0: i64) -> () private keep { launch (v0) local (2048) (v1, v2) { yield } return }", "groups of [2048]"),
    ];
    for (text, expected) in cases {
        let module = parse_module(&format!("func fn0 \"f\"{text}")).expect("the cases are grammatical");
        let errors = ravel_nest::verify::verify(&module).expect_err(text);
        assert!(errors[0].to_string().contains(expected), "{text}: {}", errors[0]);
    }
}

#[test]
fn broken_text_is_refused_with_its_line() {
    for (text, line) in
        [("func", 1), ("\n\nglobal glob0 \"x\" i99", 3), ("func fn0 \"f\"(v4000000: i8)", 1), ("data \"", 1), ("{", 1)]
    {
        assert_eq!(parse_module(text).map_err(|error| error.line), Err(line), "{text}");
    }
    let deep = format!("func fn0 \"f\"(v0: i8) -> () private keep {{ {}", "if v0 {".repeat(100_000));
    assert!(parse_module(&deep).is_err());
}
