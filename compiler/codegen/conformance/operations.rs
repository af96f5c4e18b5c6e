//! Every operation on every type, in 1 to 16 lanes, against the same operation written in Rust.

use crate::backend::{Jit, capabilities};
use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{
    Access, BinOp, ConvOp, FloatCmp, IntCmp, MathOp, Module, Order, Prim, ReduceOp, Ty, UnOp, Value, Visibility,
};

const LANES: [u8; 5] = [1, 2, 4, 8, 16];
const INTS: [Prim; 4] = [Prim::I8, Prim::I16, Prim::I32, Prim::I64];
const FLOATS: [Prim; 2] = [Prim::F32, Prim::F64];
const ALL: [Prim; 6] = [Prim::I8, Prim::I16, Prim::I32, Prim::I64, Prim::F32, Prim::F64];

/// Lane values as bits, chosen to hit the corners of every type.
fn samples(prim: Prim, seed: u64) -> Vec<u64> {
    let mask = mask(prim);
    let ints =
        [0, 1, 2, 3, 7, 100, mask, mask - 1, mask >> 1, (mask >> 1) + 1, 0x55, 0x0f0f_0f0f_0f0f_0f0f, 31, 33, 64, 13];
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        2.5,
        3.5,
        1e10,
        -1e10,
        1e30,
        -1e30,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.1,
        300.7,
        -129.9,
    ];
    (0..16u64)
        .map(|n| {
            let at = ((n * (2 * seed + 1) + seed * 5) % 16) as usize;
            match prim {
                Prim::F32 => u64::from((floats[at] as f32).to_bits()),
                Prim::F64 => floats[at].to_bits(),
                _ => ints[at] & mask,
            }
        })
        .collect()
}

fn mask(prim: Prim) -> u64 {
    u64::MAX >> (64 - prim.bits())
}

fn signed(prim: Prim, bits: u64) -> i64 {
    let unused = 64 - prim.bits();
    ((bits << unused) as i64) >> unused
}

fn float(prim: Prim, bits: u64) -> f64 {
    if prim == Prim::F32 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
}

/// Bits of a float given in double precision and exact there, or rounded to `prim`.
fn float_bits(prim: Prim, x: f64) -> u64 {
    if prim == Prim::F32 { u64::from((x as f32).to_bits()) } else { x.to_bits() }
}

fn is_nan(prim: Prim, bits: u64) -> bool {
    prim.is_float() && float(prim, bits).is_nan()
}

/// A function `(a, b, c, out)` of pointers and what must come out.
struct Case {
    name: String,
    out: Ty,
    args: [Vec<u8>; 3],
    expected: Vec<u64>,
}

struct Suite {
    module: Module,
    cases: Vec<Case>,
}

fn to_bytes(prim: Prim, lanes: &[u64]) -> Vec<u8> {
    lanes.iter().flat_map(|bits| bits.to_le_bytes()[..prim.bytes() as usize].to_vec()).collect()
}

fn from_bytes(prim: Prim, bytes: &[u8]) -> Vec<u64> {
    let lane = |chunk: &[u8]| chunk.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    bytes.chunks(prim.bytes() as usize).map(lane).collect()
}

impl Suite {
    fn new() -> Suite {
        Suite { module: Module::new(), cases: Vec::new() }
    }

    /// Adds a case whose arguments have the types `args`; `body` builds the result of type `out`.
    fn case(
        &mut self,
        name: String,
        args: &[(Ty, Vec<u64>)],
        out: Ty,
        body: impl FnOnce(&mut FuncBuilder, &[Value]) -> Value,
        expected: Vec<u64>,
    ) {
        let name = format!("{name}#{}", self.cases.len());
        let (mut b, params) = FuncBuilder::new(name.clone(), &[Ty::PTR; 4], &[]);
        b.set_visibility(Visibility::Entry);
        if self.cases.len().is_multiple_of(2) {
            b.set_order(Order::Keep);
        }
        let values: Vec<Value> =
            args.iter().zip(&params).map(|((ty, _), &ptr)| b.load(*ty, ptr, 0, Access::ANY)).collect();
        let result = body(&mut b, &values);
        assert_eq!(b.ty(result), out, "{name}");
        b.store(result, params[3], 0, Access::ANY);
        b.ret(&[]);
        self.module.add(b.finish());
        let mut bytes = [const { Vec::new() }; 3];
        for (slot, (ty, lanes)) in bytes.iter_mut().zip(args) {
            *slot = to_bytes(ty.prim, &lanes[..usize::from(ty.lanes)]);
        }
        self.cases.push(Case { name, out, args: bytes, expected });
    }

    /// Runs every case as written and simplified.
    fn run(mut self) {
        self.run_module();
        ravel_nest::simplify::simplify_module(&mut self.module);
        self.run_module();
    }

    fn run_module(&self) {
        let mut jit = Jit::new(|_| None).expect("the host is supported");
        jit.add(&self.module).unwrap_or_else(|error| panic!("{error}"));
        for case in &self.cases {
            // A guard lane after the result must survive the store.
            let mut out = vec![0xA5u8; case.out.bytes() as usize + 16];
            let mut words: Vec<u64> = case.args.iter().map(|bytes| bytes.as_ptr() as u64).collect();
            words.push(out.as_mut_ptr() as u64);
            jit.call(&case.name, &words).expect("the entry exists");
            let (result, guard) = out.split_at(case.out.bytes() as usize);
            assert!(guard.iter().all(|&byte| byte == 0xA5), "{} wrote beyond its result", case.name);
            let result = from_bytes(case.out.prim, result);
            for (lane, (&got, &want)) in result.iter().zip(&case.expected).enumerate() {
                let same = got == want || (is_nan(case.out.prim, got) && is_nan(case.out.prim, want));
                assert!(same, "{} lane {lane}: got {got:#x}, want {want:#x}", case.name);
            }
        }
    }
}

fn binary_model(op: BinOp, prim: Prim, a: u64, b: u64) -> u64 {
    let (sa, sb) = (signed(prim, a), signed(prim, b));
    let (fa, fb) = (float(prim, a), float(prim, b));
    let shift = (b % u64::from(prim.bits())) as u32;
    let int = |x: i64| x as u64 & mask(prim);
    match op {
        BinOp::IAdd => int(sa.wrapping_add(sb)),
        BinOp::ISub => int(sa.wrapping_sub(sb)),
        BinOp::IMul => int(sa.wrapping_mul(sb)),
        BinOp::SDiv => int(sa.wrapping_div(sb)),
        BinOp::SRem => int(sa.wrapping_rem(sb)),
        BinOp::UDiv => a / b,
        BinOp::URem => a % b,
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => a << shift & mask(prim),
        BinOp::SShr => int(sa >> shift),
        BinOp::UShr => a >> shift,
        BinOp::SMin => int(sa.min(sb)),
        BinOp::SMax => int(sa.max(sb)),
        BinOp::UMin => a.min(b),
        BinOp::UMax => a.max(b),
        // Sums, products and quotients of f32 rounded through f64 are correctly rounded.
        BinOp::FAdd => float_bits(prim, fa + fb),
        BinOp::FSub => float_bits(prim, fa - fb),
        BinOp::FMul => float_bits(prim, fa * fb),
        BinOp::FDiv => float_bits(prim, fa / fb),
        BinOp::FMin => {
            if fa < fb {
                a
            } else {
                b
            }
        }
        BinOp::FMax => {
            if fa > fb {
                a
            } else {
                b
            }
        }
    }
}

fn unary_model(op: UnOp, prim: Prim, a: u64) -> u64 {
    let f = float(prim, a);
    let int = |x: i64| x as u64 & mask(prim);
    match op {
        UnOp::INeg => int(signed(prim, a).wrapping_neg()),
        UnOp::Not => !a & mask(prim),
        UnOp::IAbs => int(signed(prim, a).wrapping_abs()),
        UnOp::FNeg => float_bits(prim, -f),
        UnOp::FAbs => float_bits(prim, f.abs()),
        UnOp::Sqrt => float_bits(prim, f.sqrt()),
        UnOp::Floor => float_bits(prim, f.floor()),
        UnOp::Ceil => float_bits(prim, f.ceil()),
        UnOp::Trunc => float_bits(prim, f.trunc()),
        UnOp::Nearest => float_bits(prim, f.round_ties_even()),
    }
}

fn convert_model(op: ConvOp, from: Prim, to: Prim, a: u64) -> u64 {
    let (s, f) = (signed(from, a), float(from, a));
    match op {
        ConvOp::Narrow | ConvOp::ZExt => a & mask(to),
        ConvOp::SExt => s as u64 & mask(to),
        ConvOp::FConv => float_bits(to, f),
        ConvOp::SToF if to == Prim::F32 => u64::from((s as f32).to_bits()),
        ConvOp::SToF => (s as f64).to_bits(),
        ConvOp::UToF if to == Prim::F32 => u64::from((a as f32).to_bits()),
        ConvOp::UToF => (a as f64).to_bits(),
        ConvOp::FToS => {
            let limit = 1i128 << (to.bits() - 1);
            (f as i128).clamp(-limit, limit - 1) as u64 & mask(to)
        }
        ConvOp::FToU => (f as i128).clamp(0, i128::from(mask(to))) as u64,
        ConvOp::Bits => a,
    }
}

fn int_cmp_model(cmp: IntCmp, prim: Prim, a: u64, b: u64) -> bool {
    let (sa, sb) = (signed(prim, a), signed(prim, b));
    match cmp {
        IntCmp::Eq => a == b,
        IntCmp::Ne => a != b,
        IntCmp::Slt => sa < sb,
        IntCmp::Sle => sa <= sb,
        IntCmp::Sgt => sa > sb,
        IntCmp::Sge => sa >= sb,
        IntCmp::Ult => a < b,
        IntCmp::Ule => a <= b,
        IntCmp::Ugt => a > b,
        IntCmp::Uge => a >= b,
    }
}

fn float_cmp_model(cmp: FloatCmp, a: f64, b: f64) -> bool {
    match cmp {
        FloatCmp::Eq => a == b,
        FloatCmp::Ne => a != b,
        FloatCmp::Lt => a < b,
        FloatCmp::Le => a <= b,
        FloatCmp::Gt => a > b,
        FloatCmp::Ge => a >= b,
    }
}

fn map1(a: &[u64], f: impl Fn(u64) -> u64) -> Vec<u64> {
    a.iter().map(|&a| f(a)).collect()
}

fn map2(a: &[u64], b: &[u64], f: impl Fn(u64, u64) -> u64) -> Vec<u64> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

#[test]
fn unary_and_binary_operators() {
    let mut suite = Suite::new();
    for prim in ALL {
        for lanes in LANES {
            let ty = Ty::vector(prim, lanes);
            for seed in 0..3 {
                let (a, b) = (samples(prim, seed), samples(prim, seed + 4));
                for &op in UnOp::ALL.iter().filter(|op| op.is_float() == prim.is_float()) {
                    let expected = map1(&a, |a| unary_model(op, prim, a));
                    suite.case(format!("{op:?} {ty}"), &[(ty, a.clone())], ty, |f, v| f.unary(op, v[0]), expected);
                }
                for &op in BinOp::ALL.iter().filter(|op| op.is_float() == prim.is_float()) {
                    let divides = matches!(op, BinOp::SDiv | BinOp::SRem | BinOp::UDiv | BinOp::URem);
                    let b = if divides { map1(&b, |b| b.max(1)) } else { b.clone() };
                    let expected = map2(&a, &b, |a, b| binary_model(op, prim, a, b));
                    suite.case(
                        format!("{op:?} {ty}"),
                        &[(ty, a.clone()), (ty, b)],
                        ty,
                        |f, v| f.binary(op, v[0], v[1]),
                        expected,
                    );
                }
            }
        }
    }
    suite.run();
}

#[test]
fn constant_divisors_and_shift_amounts() {
    let mut suite = Suite::new();
    for prim in INTS {
        for lanes in LANES {
            let ty = Ty::vector(prim, lanes);
            let a = samples(prim, 1);
            for constant in [1, 3, 10, mask(prim), mask(prim) >> 1, 5 + u64::from(prim.bits())] {
                let constant = constant & mask(prim);
                let whole = |f: &mut FuncBuilder, _: &[Value]| f.bits(ty, constant);
                suite.case(format!("constant {ty}"), &[], ty, whole, vec![constant; 16]);
                for op in BinOp::ALL.iter().copied().filter(|op| !op.is_float()) {
                    let b = a[5].max(1);
                    let expected = vec![binary_model(op, prim, constant, b); 16];
                    let body = |f: &mut FuncBuilder, _: &[Value]| {
                        let (x, y) = (f.bits(ty, constant), f.bits(ty, b));
                        f.binary(op, x, y)
                    };
                    suite.case(format!("constants {op:?} {ty}"), &[], ty, body, expected);
                }
                for op in [
                    BinOp::SDiv,
                    BinOp::SRem,
                    BinOp::UDiv,
                    BinOp::URem,
                    BinOp::Shl,
                    BinOp::SShr,
                    BinOp::UShr,
                    BinOp::IMul,
                ] {
                    let expected = map1(&a, |a| binary_model(op, prim, a, constant));
                    let body = |f: &mut FuncBuilder, v: &[Value]| {
                        let c = f.bits(ty, constant);
                        f.binary(op, v[0], c)
                    };
                    suite.case(format!("{op:?} {ty} by {constant}"), &[(ty, a.clone())], ty, body, expected);
                }
            }
            let expected = map1(&a, |x| binary_model(BinOp::Shl, prim, x, a[2]));
            let body = |f: &mut FuncBuilder, v: &[Value]| {
                let amount = f.splat(v[1], lanes);
                f.binary(BinOp::Shl, v[0], amount)
            };
            suite.case(
                format!("uniform shl {ty}"),
                &[(ty, a.clone()), (ty.lane(), vec![a[2]; 16])],
                ty,
                body,
                expected,
            );
        }
    }
    suite.run();
}

#[test]
fn comparisons_and_selection() {
    let mut suite = Suite::new();
    for prim in ALL {
        for lanes in LANES {
            let ty = Ty::vector(prim, lanes);
            let truth = ty.truth();
            let (a, b) = (samples(prim, 0), samples(prim, 2));
            let as_truth = |holds: bool| match (holds, lanes) {
                (false, _) => 0,
                (true, 1) => 1,
                (true, _) => mask(prim),
            };
            let args = [(ty, a.clone()), (ty, b.clone())];
            if prim.is_int() {
                for &cmp in IntCmp::ALL {
                    let expected = map2(&a, &b, |a, b| as_truth(int_cmp_model(cmp, prim, a, b)));
                    suite.case(format!("{cmp:?} {ty}"), &args, truth, |f, v| f.icmp(cmp, v[0], v[1]), expected);
                    let expected = map2(&a, &b, |a, b| if int_cmp_model(cmp, prim, a, b) { a } else { b });
                    let body = |f: &mut FuncBuilder, v: &[Value]| {
                        let truth = f.icmp(cmp, v[0], v[1]);
                        f.select(truth, v[0], v[1])
                    };
                    suite.case(format!("select {cmp:?} {ty}"), &args, ty, body, expected);
                }
            } else {
                for &cmp in FloatCmp::ALL {
                    let model = |a, b| float_cmp_model(cmp, float(prim, a), float(prim, b));
                    let expected = map2(&a, &b, |a, b| as_truth(model(a, b)));
                    suite.case(format!("{cmp:?} {ty}"), &args, truth, |f, v| f.fcmp(cmp, v[0], v[1]), expected);
                    let expected = map2(&a, &b, |a, b| if model(a, b) { a } else { b });
                    let body = |f: &mut FuncBuilder, v: &[Value]| {
                        let truth = f.fcmp(cmp, v[0], v[1]);
                        f.select(truth, v[0], v[1])
                    };
                    suite.case(format!("select {cmp:?} {ty}"), &args, ty, body, expected);
                }
            }
            for cond in [0, 1] {
                let expected = if cond == 1 { a.clone() } else { b.clone() };
                let args = [(ty, a.clone()), (ty, b.clone()), (Ty::I8, vec![cond; 16])];
                suite.case(format!("scalar select {ty}"), &args, ty, |f, v| f.select(v[2], v[0], v[1]), expected);
            }
        }
    }
    suite.run();
}

#[test]
fn conversions() {
    let mut suite = Suite::new();
    for from in ALL {
        for to in ALL.into_iter().filter(|&to| to != from) {
            for &op in ConvOp::ALL {
                let exists = match op {
                    ConvOp::Narrow => from.is_int() && to.is_int() && from.bits() > to.bits(),
                    ConvOp::SExt | ConvOp::ZExt => from.is_int() && to.is_int() && from.bits() < to.bits(),
                    ConvOp::FConv => from.is_float() && to.is_float(),
                    ConvOp::SToF | ConvOp::UToF => from.is_int() && to.is_float(),
                    ConvOp::FToS | ConvOp::FToU => from.is_float() && to.is_int(),
                    ConvOp::Bits => from.bits() == to.bits(),
                };
                for lanes in LANES.into_iter().filter(|_| exists) {
                    let (ty, out) = (Ty::vector(from, lanes), Ty::vector(to, lanes));
                    let a = samples(from, 3);
                    let expected = map1(&a, |a| convert_model(op, from, to, a));
                    suite.case(
                        format!("{op:?} {ty} to {out}"),
                        &[(ty, a)],
                        out,
                        |f, v| f.convert(op, v[0], to),
                        expected,
                    );
                }
            }
        }
    }
    suite.run();
}

#[test]
fn lanes_and_constants() {
    let mut suite = Suite::new();
    for prim in ALL {
        for lanes in LANES {
            let ty = Ty::vector(prim, lanes);
            let (a, b) = (samples(prim, 1), samples(prim, 6));
            suite.case(format!("constant {ty}"), &[], ty, |f, _| f.bits(ty, a[3]), vec![a[3]; 16]);
            if lanes == 1 {
                continue;
            }
            let n = usize::from(lanes);
            let scalar = (ty.lane(), vec![b[0]; 16]);
            suite.case(
                format!("splat {ty}"),
                std::slice::from_ref(&scalar),
                ty,
                |f, v| f.splat(v[0], lanes),
                vec![b[0]; 16],
            );
            for lane in 0..lanes {
                let picked = vec![a[usize::from(lane)]];
                suite.case(
                    format!("extract {ty}"),
                    &[(ty, a.clone())],
                    ty.lane(),
                    |f, v| f.extract(v[0], lane),
                    picked,
                );
                let mut expected = a.clone();
                expected[usize::from(lane)] = b[0];
                let args = [(ty, a.clone()), scalar.clone()];
                suite.case(format!("insert {ty}"), &args, ty, |f, v| f.insert(v[0], lane, v[1]), expected);
            }
            let both: Vec<u64> = a[..n].iter().chain(&b[..n]).copied().collect();
            for out in LANES.into_iter().skip(1) {
                for factor in [1, 3, 7] {
                    let picks: Vec<u8> = (0..out).map(|k| (k * factor + 1) % (2 * lanes)).collect();
                    let expected = picks.iter().map(|&k| both[usize::from(k)]).collect();
                    let args = [(ty, a.clone()), (ty, b.clone())];
                    let to = ty.with_lanes(out);
                    suite.case(
                        format!("shuffle {ty} to {to}"),
                        &args,
                        to,
                        |f, v| f.shuffle(v[0], v[1], &picks),
                        expected,
                    );
                }
            }
            if prim.is_int() {
                for hit in 0..=lanes {
                    let mask: Vec<u64> =
                        (0..16).map(|lane| if lane == hit { u64::MAX >> (64 - prim.bits()) } else { 0 }).collect();
                    let some = u64::from(hit < lanes);
                    suite.case(format!("any {ty} {hit}"), &[(ty, mask)], Ty::I8, |f, v| f.any(v[0]), vec![some]);
                }
            }
            for &op in ReduceOp::ALL.iter().filter(|op| op.combine().is_float() == prim.is_float()) {
                let mut rest = a[..n].to_vec();
                while rest.len() > 1 {
                    let upper = rest.split_off(rest.len() / 2);
                    rest = map2(&rest, &upper, |a, b| binary_model(op.combine(), prim, a, b));
                }
                suite.case(
                    format!("reduce {op:?} {ty}"),
                    &[(ty, a.clone())],
                    ty.lane(),
                    |f, v| f.reduce(op, v[0]),
                    rest,
                );
            }
        }
    }
    suite.run();
}

#[test]
fn lanes_from_anywhere() {
    let mut suite = Suite::new();
    for prim in ALL {
        for lanes in LANES.into_iter().skip(1) {
            for index in [Prim::I32, Prim::I64] {
                let (ty, at) = (Ty::vector(prim, lanes), Ty::vector(index, lanes));
                let memory = Ty::vector(prim, 16);
                let a = samples(prim, 2);
                // Around the fourth element: negative indices too.
                let places: Vec<i64> = (0..16).map(|k| (k * 7 + 5) % 16 - 4).collect();
                let expected: Vec<u64> = places.iter().map(|&at| a[(at + 4) as usize]).collect();
                let indices: Vec<u64> = places.iter().map(|&at| at as u64 & mask(index)).collect();
                let size = prim.bytes() as i32;
                let args = [(memory, a.clone()), (at, indices.clone())];
                suite.case(
                    format!("gather {ty} at {at}"),
                    &args,
                    ty,
                    |f, v| {
                        let slot = f.stack_slot(128, 64);
                        f.store(v[0], slot, 0, Access::ALIGNED);
                        f.gather(ty, slot, 4 * size, v[1], size as u8)
                    },
                    expected.clone(),
                );
                // Lanes that are left out have places that nobody may read.
                let taken = |k: usize| k % 3 != 1;
                let truths = (0..16).map(|k| if taken(k) { mask(ty.truth().prim) } else { 0 }).collect();
                let wild = (0..16).map(|k| if taken(k) { indices[k] } else { mask(index) >> 2 }).collect();
                let some = (0..16).map(|k| if taken(k) { expected[k] } else { 0 }).collect();
                suite.case(
                    format!("gather some of {ty} at {at}"),
                    &[(memory, a), (at, wild), (ty.truth(), truths)],
                    ty,
                    |f, v| {
                        let slot = f.stack_slot(128, 64);
                        f.store(v[0], slot, 0, Access::ALIGNED);
                        f.gather_if(v[2], ty, slot, 4 * size, v[1], size as u8)
                    },
                    some,
                );
            }
        }
    }
    suite.run();
}

#[test]
fn fused_and_library_functions() {
    let mut suite = Suite::new();
    for prim in FLOATS {
        for lanes in LANES {
            let ty = Ty::vector(prim, lanes);
            let a: Vec<u64> = (0..16).map(|n| float_bits(prim, 0.05 * f64::from(n) + 0.1)).collect();
            let b: Vec<u64> = (0..16).map(|n| float_bits(prim, 0.9 - 0.03 * f64::from(n))).collect();
            let args = [(ty, a.clone()), (ty, b.clone()), (ty, a.clone())];
            if capabilities().expect("the host is supported").has_fma {
                let expected = map2(&a, &b, |a, b| match prim {
                    Prim::F32 => {
                        let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
                        u64::from(a.mul_add(b, a).to_bits())
                    }
                    _ => f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(a)).to_bits(),
                });
                suite.case(format!("fma {ty}"), &args, ty, |f, v| f.fma(v[0], v[1], v[2]), expected);
            }
            let expected = map1(&a, |a| match prim {
                Prim::F32 => u64::from(f32::from_bits(a as u32).sin().to_bits()),
                _ => f64::from_bits(a).sin().to_bits(),
            });
            suite.case(format!("sin {ty}"), &args, ty, |f, v| f.math(MathOp::Sin, &v[..1]), expected);
            let expected = map2(&a, &b, |a, b| match prim {
                Prim::F32 => u64::from(f32::from_bits(a as u32).powf(f32::from_bits(b as u32)).to_bits()),
                _ => f64::from_bits(a).powf(f64::from_bits(b)).to_bits(),
            });
            suite.case(format!("pow {ty}"), &args, ty, |f, v| f.math(MathOp::Pow, &v[..2]), expected);
        }
        for &op in MathOp::ALL {
            let ty = Ty::scalar(prim);
            let one = vec![float_bits(prim, 1.0)];
            let args = [(ty, one.clone()), (ty, one.clone())];
            // Only that the function is found and called; atanh(1) and the like are infinite.
            let body = |f: &mut FuncBuilder, v: &[Value]| {
                let result = f.math(op, &v[..op.arity()]);
                let same = f.fcmp(FloatCmp::Eq, result, result);
                f.select(same, v[0], v[0])
            };
            suite.case(format!("{op:?} {ty}"), &args, ty, body, one);
        }
    }
    suite.run();
}
