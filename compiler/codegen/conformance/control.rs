//! Control flow, calls, memory and parallel loops of compiled code.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::backend::{EmitError, Jit, emit_object};
use ravel_codegen::Purpose;
use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{Access, BinOp, Data, IntCmp, Module, ReduceOp, Reloc, Sharing, Signature, Ty, Value, Visibility};
use ravel_nest::ir::{Op, Output, Prim, Read, Shared};

type Work = extern "C" fn(*mut u8, i64, i64, i64);

/// Two threads take the chunks in turn.
extern "C" fn parallel(work: Work, context: *mut u8, n: i64, chunk: i64, late: i64, shared: *const i64) {
    LATE.fetch_add(late, Ordering::SeqCst);
    if !shared.is_null() {
        // SAFETY: a loop of one array that it reads and one output declares so many words.
        DECLARED
            .lock()
            .expect("no test panics here")
            .extend_from_slice(unsafe { std::slice::from_raw_parts(shared, 19) });
    }
    let context = context as usize;
    std::thread::scope(|scope| {
        for slot in 0..2 {
            scope.spawn(move || {
                let mut lo = slot * chunk;
                while lo < n {
                    work(context as *mut u8, lo, (lo + chunk).min(n), slot);
                    lo += 2 * chunk;
                }
            });
        }
    });
}

static FREED: AtomicI64 = AtomicI64::new(0);
/// What loops said that processes may share.
static DECLARED: Mutex<Vec<i64>> = Mutex::new(Vec::new());
/// Late chunks of all parallel loops.
static LATE: AtomicI64 = AtomicI64::new(0);

extern "C" fn free(object: *mut u8) {
    FREED.fetch_add(object as i64, Ordering::SeqCst);
}

extern "C" fn difference(a: i8, b: u8, c: i64) -> i64 {
    i64::from(a) - i64::from(b) + c
}

fn symbol(name: &str) -> Option<*const u8> {
    match name {
        "ravel_parallel" => Some(parallel as *const u8),
        "ravel_free" => Some(free as *const u8),
        "difference" => Some(difference as *const u8),
        _ => None,
    }
}

/// Compiles the module as written, then simplified, and checks both.
fn each(module: &mut Module, check: impl Fn(&Jit)) {
    for simplified in [false, true] {
        if simplified {
            ravel_nest::simplify::simplify_module(module);
        }
        let mut jit = Jit::new(symbol).expect("the host is supported");
        jit.add(module).unwrap_or_else(|error| panic!("{error}\n{module}"));
        check(&jit);
    }
}

fn entry(name: &str, params: &[Ty], results: &[Ty]) -> (FuncBuilder, Vec<Value>) {
    let (mut b, values) = FuncBuilder::new(name, params, results);
    b.set_visibility(Visibility::Entry);
    (b, values)
}

#[test]
fn counted_loops_run_zero_one_and_many_times() {
    let mut module = Module::new();
    let (mut b, p) = entry("sum", &[Ty::I64, Ty::I64, Ty::I64], &[Ty::I64, Ty::I64]);
    let zero = b.i64(0);
    let one = b.i64(1);
    let (i, carried) = b.begin_for(p[0], p[1], p[2], &[zero, one]);
    let sum = b.add(carried[0], i);
    let product = b.mul(carried[1], i);
    let out = b.end_for(&[sum, product]);
    b.ret(&out);
    module.add(b.finish());
    for (name, lo, hi) in [("none", 5, 5), ("some", 2, 5)] {
        let (mut b, _) = entry(name, &[], &[Ty::I64]);
        let (lo, hi, step, zero) = (b.i64(lo), b.i64(hi), b.i64(1), b.i64(0));
        let (i, carried) = b.begin_for(lo, hi, step, &[zero]);
        let sum = b.add(carried[0], i);
        let out = b.end_for(&[sum]);
        b.ret(&out);
        module.add(b.finish());
    }
    each(&mut module, |jit| {
        assert_eq!(jit.call("sum", &[1, 6, 1]), Ok(vec![15, 120]));
        assert_eq!(jit.call("sum", &[1, 6, 2]), Ok(vec![9, 15]));
        assert_eq!(jit.call("sum", &[6, 6, 1]), Ok(vec![0, 1]));
        assert_eq!(jit.call("sum", &[-3i64 as u64, -1i64 as u64, 5]), Ok(vec![-3i64 as u64, -3i64 as u64]));
        assert_eq!(jit.call("none", &[]), Ok(vec![0]));
        assert_eq!(jit.call("some", &[]), Ok(vec![9]));
    });
}

#[test]
fn do_while_and_if_carry_several_values() {
    // Collatz: steps and greatest value.
    let mut module = Module::new();
    let (mut b, p) = entry("collatz", &[Ty::I64], &[Ty::I64, Ty::I64]);
    let (zero, one, two, three) = (b.i64(0), b.i64(1), b.i64(2), b.i64(3));
    let carried = b.begin_loop(&[p[0], zero, p[0]]);
    let odd = b.binary(BinOp::And, carried[0], one);
    let is_odd = b.icmp(IntCmp::Ne, odd, zero);
    b.begin_if(is_odd);
    let tripled = b.mul(carried[0], three);
    let up = b.add(tripled, one);
    b.begin_else(&[up]);
    let half = b.binary(BinOp::SDiv, carried[0], two);
    let next = b.end_if(&[half]);
    let steps = b.add(carried[1], one);
    let greatest = b.binary(BinOp::SMax, carried[2], next[0]);
    let again = b.icmp(IntCmp::Ne, next[0], one);
    let out = b.end_loop(again, &[next[0], steps, greatest]);
    b.ret(&out[1..]);
    module.add(b.finish());
    each(&mut module, |jit| assert_eq!(jit.call("collatz", &[27]), Ok(vec![111, 9232])));
}

#[test]
fn calls_pass_many_results_vectors_and_recursion() {
    let mut module = Module::new();
    let wide = Ty::F32.with_lanes(8);
    let spread = module.declare("spread", &[wide, Ty::I8], &[Ty::F32, Ty::I8, Ty::I64, wide, Ty::F64]);
    let (mut b, p) = FuncBuilder::new("spread", &[wide, Ty::I8], &[Ty::F32, Ty::I8, Ty::I64, wide, Ty::F64]);
    let sum = b.reduce(ReduceOp::FAdd, p[0]);
    let twice = b.add(p[0], p[0]);
    let (seven, half) = (b.i64(7), b.fconst(Ty::F64, 0.5));
    b.ret(&[sum, p[1], seven, twice, half]);
    module.define(spread, b.finish());
    let fib = module.declare("fib", &[Ty::I32], &[Ty::I32]);
    let (mut b, p) = entry("fib", &[Ty::I32], &[Ty::I32]);
    let (one, two) = (b.i32(1), b.i32(2));
    let small = b.icmp(IntCmp::Sle, p[0], one);
    b.begin_if(small);
    b.begin_else(&[p[0]]);
    let (a, c) = (b.sub(p[0], one), b.sub(p[0], two));
    let (x, y) = (b.call(fib, &[a], &[Ty::I32])[0], b.call(fib, &[c], &[Ty::I32])[0]);
    let sum = b.add(x, y);
    let out = b.end_if(&[sum]);
    b.ret(&out);
    module.define(fib, b.finish());
    let (mut b, p) = entry("use", &[Ty::F32, Ty::I8], &[Ty::F32, Ty::F32, Ty::I8, Ty::F64]);
    let lanes = b.splat(p[0], 8);
    let out = b.call(spread, &[lanes, p[1]], &[Ty::F32, Ty::I8, Ty::I64, wide, Ty::F64]);
    let last = b.extract(out[3], 7);
    b.ret(&[out[0], last, out[1], out[4]]);
    module.add(b.finish());
    each(&mut module, |jit| {
        assert_eq!(jit.call("fib", &[20]), Ok(vec![6765]));
        let bits = |x: f32| u64::from(x.to_bits());
        assert_eq!(jit.call("use", &[bits(1.5), 0xff]), Ok(vec![bits(12.0), bits(3.0), 0xff, 0.5f64.to_bits()]));
        assert_eq!(
            jit.call("fib", &[]),
            Err(EmitError::ArgumentCount { func: "fib".to_string(), wanted: 1, given: 0 })
        );
        assert_eq!(jit.call("spread", &[]), Err(EmitError::NoEntry { name: "spread".to_string() }));
    });
}

#[test]
fn externs_get_extended_integers_and_pointers_to_functions_can_be_called() {
    let mut module = Module::new();
    let params = [ravel_nest::ir::Param { ty: Ty::I8, signed: true }, Ty::I8.into(), Ty::I64.into()];
    let difference = module.extern_func("difference", &params, Some(Ty::I64));
    let sig = module.signature(Signature { params: vec![Ty::I64.into()], result: Some(Ty::I64) });
    let (mut b, p) = FuncBuilder::new("increment", &[Ty::I64], &[Ty::I64]);
    let one = b.i64(1);
    let next = b.add(p[0], one);
    b.ret(&[next]);
    let increment = module.add(b.finish());
    let (mut b, p) = entry("f", &[Ty::I32], &[Ty::I64, Ty::I64]);
    // The upper bits of the narrowed value are rubbish in the register.
    let byte = b.convert(ravel_nest::ir::ConvOp::Narrow, p[0], Prim::I8);
    let pointer = b.func_addr(increment);
    let ten = b.i64(10);
    let eleven = b.call_indirect(sig, pointer, &[ten], Some(Ty::I64)).expect("increment has a result");
    let out = b.call_extern(difference, &[byte, byte, eleven], Some(Ty::I64)).expect("difference has a result");
    b.ret(&[out, eleven]);
    module.add(b.finish());
    each(&mut module, |jit| assert_eq!(jit.call("f", &[0x1234_56ff]), Ok(vec![(-1i64 - 255 + 11) as u64, 11])));

    module.extern_func("no_such_function", &[], None);
    let mut session = Jit::new(symbol).expect("the host is supported");
    assert_eq!(session.add(&module), Err(EmitError::UnknownSymbol { name: "no_such_function".to_string() }));
}

#[test]
fn globals_are_shared_and_data_is_linked() {
    let mut session = Jit::new(symbol).expect("the host is supported");
    for round in 0..3u64 {
        let mut module = Module::new();
        let counter = module.global("counter", Ty::I64);
        let text = module.constant_bytes(b"abcdefgh".to_vec(), 8);
        let table = module.data.push(Data {
            bytes: vec![0; 16],
            align: 16,
            writable: true,
            relocs: vec![Reloc { at: 8, target: text, addend: 2 }],
        });
        let (mut b, _) = entry("next", &[], &[Ty::I64, Ty::I8]);
        let address = b.global_addr(counter);
        let old = b.load(Ty::I64, address, 0, Access::ALIGNED);
        let one = b.i64(1);
        let new = b.add(old, one);
        b.store(new, address, 0, Access::ALIGNED);
        let address = b.data_addr(table);
        let text = b.load(Ty::PTR, address, 8, Access::ALIGNED);
        let letter = b.load(Ty::I8, text, 0, Access::READONLY);
        b.ret(&[new, letter]);
        module.add(b.finish());
        session.add(&module).expect("the module is valid");
        assert_eq!(session.call("next", &[]), Ok(vec![round + 1, u64::from(b'c')]));
    }
}

#[test]
fn stack_slots_are_aligned_and_kept_apart() {
    let mut module = Module::new();
    let (mut b, p) = entry("f", &[Ty::I64], &[Ty::I64, Ty::I64]);
    let mut rubbish = b.i64(0);
    let mut total = p[0];
    for align in [1, 8, 16, 32, 64] {
        let slot = b.stack_slot(24, align);
        let address = b.convert(ravel_nest::ir::ConvOp::Bits, slot, Prim::I64);
        let low = b.i64(i64::from(align) - 1);
        let low = b.binary(BinOp::And, address, low);
        rubbish = b.binary(BinOp::Or, rubbish, low);
        b.store(total, slot, 16, Access::ANY);
        let again = b.load(Ty::I64, slot, 16, Access::ANY);
        total = b.add(total, again);
    }
    b.ret(&[rubbish, total]);
    module.add(b.finish());
    each(&mut module, |jit| assert_eq!(jit.call("f", &[3]), Ok(vec![0, 96])));
}

#[test]
fn reference_counts_free_at_zero_and_ignore_null() {
    for sharing in [Sharing::Plain, Sharing::Atomic] {
        let mut module = Module::new();
        let (mut b, p) = entry("inc", &[Ty::PTR], &[]);
        b.push(Op::RcInc(p[0], sharing), &[]);
        b.ret(&[]);
        module.add(b.finish());
        let (mut b, p) = entry("dec", &[Ty::PTR], &[]);
        b.push(Op::RcDec(p[0], sharing), &[]);
        b.ret(&[]);
        module.add(b.finish());
        each(&mut module, |jit| {
            let mut object = [1i64; 4];
            let address = object.as_mut_ptr() as u64;
            let count = |name: &str, address: u64| jit.call(name, &[address]).expect("the entry exists");
            let before = FREED.load(Ordering::SeqCst);
            count("inc", 0);
            count("dec", 0);
            count("inc", address);
            count("dec", address);
            assert_eq!(FREED.load(Ordering::SeqCst), before);
            count("dec", address);
            assert_eq!(FREED.load(Ordering::SeqCst), before + address as i64);
        });
    }
}

#[test]
fn parallel_loops_see_outer_values_and_write_memory() {
    let mut module = Module::new();
    let offset = module.constant_bytes(1000i64.to_le_bytes().to_vec(), 8);
    // out[i] = lane 3 of v + i + constant + table[0]
    let (mut b, p) = entry("fill", &[Ty::PTR, Ty::I64, Ty::I64, Ty::I32], &[]);
    let (one, eight, constant) = (b.i64(1), b.i64(8), b.i64(7));
    let lanes = b.splat(p[3], 8);
    let table = b.data_addr(offset);
    b.begin_if_positive(p[1]);
    let (lo, hi, _slot) = b.begin_parfor(p[1], p[2]);
    let (i, _) = b.begin_for(lo, hi, one, &[]);
    let lane = b.extract(lanes, 3);
    let lane = b.convert(ravel_nest::ir::ConvOp::SExt, lane, Prim::I64);
    let entry_value = b.load(Ty::I64, table, 0, Access::INVARIANT);
    let mut sum = b.add(lane, i);
    sum = b.add(sum, constant);
    sum = b.add(sum, entry_value);
    let bytes = b.mul(i, eight);
    let place = b.ptr_add(p[0], bytes);
    b.store(sum, place, 0, Access::ALIGNED);
    b.end_for(&[]);
    b.end_parfor();
    b.end_if(&[]);
    b.ret(&[]);
    module.add(b.finish());
    // The last three chunks are late, and as many as an argument says.
    let (mut b, p) = entry("late", &[Ty::PTR, Ty::I64], &[]);
    let (one, three, eight) = (b.i64(1), b.i64(3), b.i64(8));
    for late in [three, p[1]] {
        let (lo, _, _) = b.begin_shared_parfor(p[1], one, Some(late), None);
        let bytes = b.mul(lo, eight);
        let place = b.ptr_add(p[0], bytes);
        b.store(late, place, 0, Access::ALIGNED);
        b.end_parfor();
    }
    b.ret(&[]);
    module.add(b.finish());
    // A loop that processes may share.
    let (mut b, p) = entry("shared", &[Ty::PTR, Ty::I64], &[]);
    let (one, eight, null) = (b.i64(1), b.i64(8), b.null());
    let output = Output::of([p[0], null, one, one, p[1], eight, eight, one, p[1]]);
    let (lo, _, _) = b.begin_shared_parfor(
        p[1],
        one,
        None,
        Some(Box::new(Shared {
            site: null,
            work: eight,
            uneven: true,
            partials: false,
            reads: vec![Read { object: null, factor: eight, low: one, high: eight }],
            outputs: vec![output],
        })),
    );
    let bytes = b.mul(lo, eight);
    let place = b.ptr_add(p[0], bytes);
    b.store(lo, place, 0, Access::ALIGNED);
    b.end_parfor();
    b.ret(&[]);
    module.add(b.finish());
    // Nested: out[i * n + j] = i * 100 + j
    let (mut b, p) = entry("nested", &[Ty::PTR, Ty::I64], &[]);
    let (one, eight, hundred) = (b.i64(1), b.i64(8), b.i64(100));
    let (i, _, _) = b.begin_parfor(p[1], one);
    let row = b.mul(i, p[1]);
    let (j, _, _) = b.begin_parfor(p[1], one);
    let at = b.add(row, j);
    let bytes = b.mul(at, eight);
    let place = b.ptr_add(p[0], bytes);
    let value = b.mul(i, hundred);
    let value = b.add(value, j);
    b.store(value, place, 0, Access::ALIGNED);
    b.end_parfor();
    b.end_parfor();
    b.ret(&[]);
    module.add(b.finish());
    each(&mut module, |jit| {
        for (n, chunk) in [(0, 4), (1, 1), (100, 7), (64, 64)] {
            let mut out = vec![0i64; n + 1];
            jit.call("fill", &[out.as_mut_ptr() as u64, n as u64, chunk, -5i32 as u32 as u64])
                .expect("the entry exists");
            let expected: Vec<i64> = (0..n as i64).map(|i| i - 5 + 7 + 1000).chain([0]).collect();
            assert_eq!(out, expected);
        }
        let (mut out, before) = (vec![0i64; 9], LATE.load(Ordering::SeqCst));
        jit.call("late", &[out.as_mut_ptr() as u64, 9]).expect("the entry exists");
        assert_eq!((out, LATE.load(Ordering::SeqCst) - before), (vec![9; 9], 12));
        DECLARED.lock().expect("no test panics here").clear();
        let mut out = vec![0i64; 9];
        let here = out.as_mut_ptr() as i64;
        jit.call("shared", &[here as u64, 9]).expect("the entry exists");
        let declared = DECLARED.lock().expect("no test panics here").clone();
        assert_eq!(declared, [0, 8, 1, 1, 1, 0, 0, 8, 1, 8, here, 0, 1, 1, 9, 8, 8, 1, 9]);
        assert_eq!(out, (0..9).collect::<Vec<i64>>());
        let mut out = vec![0i64; 25];
        jit.call("nested", &[out.as_mut_ptr() as u64, 5]).expect("the entry exists");
        assert_eq!(out, (0..25).map(|k| k / 5 * 100 + k % 5).collect::<Vec<i64>>());
    });
}

/// A conditional around a parallel loop, so that captured values come from several scopes.
trait Positive {
    fn begin_if_positive(&mut self, n: Value);
}

impl Positive for FuncBuilder {
    fn begin_if_positive(&mut self, n: Value) {
        let zero = self.i64(0);
        let positive = self.icmp(IntCmp::Sgt, n, zero);
        self.begin_if(positive);
    }
}

#[test]
fn faulting_branches_leave_the_other_branch_alone() {
    let mut module = Module::new();
    let fault = module.extern_func("abort", &[], None);
    let (mut b, p) = entry("check", &[Ty::I64], &[Ty::I64]);
    let ten = b.i64(10);
    let bad = b.icmp(IntCmp::Uge, p[0], ten);
    b.fault_if(bad, fault, &[]);
    b.begin_if(bad);
    b.fault(fault, &[]);
    b.begin_else(&[]);
    let out = b.end_if(&[p[0]]);
    b.ret(&out);
    module.add(b.finish());
    each(&mut module, |jit| assert_eq!(jit.call("check", &[9]), Ok(vec![9])));
}

#[test]
#[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "the test links")]
fn objects_link_with_cc_and_run() {
    let mut module = Module::new();
    let puts = module.extern_func("puts", &[Ty::PTR.into()], Some(Ty::I32));
    let text = module.c_string("hello");
    let address = module.data.push(Data {
        bytes: vec![0; 8],
        align: 8,
        writable: false,
        relocs: vec![Reloc { at: 0, target: text, addend: 1 }],
    });
    let state = module.global("state", Ty::I64);
    let (mut b, _) = FuncBuilder::new("main", &[], &[Ty::I32]);
    let pointer = b.data_addr(address);
    let text = b.load(Ty::PTR, pointer, 0, Access::ALIGNED);
    b.call_extern(puts, &[text], Some(Ty::I32));
    let three = b.i64(3);
    let place = b.global_addr(state);
    b.store(three, place, 0, Access::ALIGNED);
    let status = b.load(Ty::I32, place, 0, Access::ALIGNED);
    b.ret(&[status]);
    module.add(b.finish());
    assert_eq!(
        emit_object(&module, Purpose::Program { entry: "other" }),
        Err(EmitError::NoEntry { name: "other".to_string() })
    );

    let object = emit_object(&module, Purpose::Program { entry: "main" }).expect("the module is valid");
    let folder = std::env::temp_dir().join(format!("ravel-object-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the temporary folder is writable");
    let path = |name: &str| folder.join(name);
    std::fs::write(path("program.o"), object).expect("the temporary folder is writable");
    let start =
        "int ravel_main_start(int argc, char **argv, int (*entry)(void)) { (void)argv; return entry() + 10 * argc; }";
    std::fs::write(path("start.c"), start).expect("the temporary folder is writable");
    let linked = std::process::Command::new("cc")
        .args([path("program.o"), path("start.c"), "-o".into(), path("program")])
        .output()
        .expect("a C compiler is installed");
    assert!(linked.status.success() && linked.stderr.is_empty(), "{}", String::from_utf8_lossy(&linked.stderr));
    let run = std::process::Command::new(path("program")).arg("x").output().expect("the program was linked");
    assert_eq!((run.status.code(), run.stdout.as_slice()), (Some(23), b"ello\n".as_slice()));
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn programs_run_on_the_runtime_with_one_and_two_threads() {
    // sum over chunks of 1000: partial sums by chunk, then in order; the status is the sum modulo 100.
    let mut module = Module::new();
    let (mut b, _) = entry("main", &[], &[Ty::I32]);
    let (n, chunk, one, eight, zero) = (b.i64(100_000), b.i64(1000), b.i64(1), b.i64(8), b.i64(0));
    let partial = b.stack_slot(800, 8);
    let (lo, hi, _) = b.begin_parfor(n, chunk);
    let (i, sums) = b.begin_for(lo, hi, one, &[zero]);
    let sum = b.add(sums[0], i);
    let sums = b.end_for(&[sum]);
    let at = b.binary(BinOp::UDiv, lo, chunk);
    let at = b.mul(at, eight);
    let place = b.ptr_add(partial, at);
    b.store(sums[0], place, 0, Access::ALIGNED);
    b.end_parfor();
    let end = b.i64(800);
    let (at, sums) = b.begin_for(zero, end, eight, &[zero]);
    let place = b.ptr_add(partial, at);
    let part = b.load(Ty::I64, place, 0, Access::ALIGNED);
    let sum = b.add(sums[0], part);
    let sums = b.end_for(&[sum]);
    let modulus = b.i64(9973);
    let rest = b.binary(BinOp::SRem, sums[0], modulus);
    let status = b.convert(ravel_nest::ir::ConvOp::Narrow, rest, Prim::I32);
    b.ret(&[status]);
    module.add(b.finish());
    let mut session = Jit::with_runtime().expect("the host is supported");
    session.add(&module).expect("the module is valid");
    for threads in [1, 2] {
        ravel_runtime::pool::set_threads(threads);
        assert_eq!(session.run_program("main"), Ok((4_999_950_000i64 % 9973) as i32));
    }
}

#[test]
fn invalid_modules_are_refused() {
    let mut module = Module::new();
    module.declare("f", &[], &[]);
    let mut session = Jit::new(symbol).expect("the host is supported");
    assert!(matches!(session.add(&module), Err(EmitError::Invalid(_))));
}
