//! Operations written in Rust, and cases that compare them with compiled ones.

use crate::backend::Jit;
use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{Access, BinOp, ConvOp, FloatCmp, IntCmp, Module, Order, Prim, Ty, UnOp, Value, Visibility};

/// Lane values as bits, chosen to hit the corners of every type.
pub fn samples(prim: Prim, seed: u64) -> Vec<u64> {
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

pub fn mask(prim: Prim) -> u64 {
    u64::MAX >> (64 - prim.bits())
}

pub fn signed(prim: Prim, bits: u64) -> i64 {
    let unused = 64 - prim.bits();
    ((bits << unused) as i64) >> unused
}

pub fn float(prim: Prim, bits: u64) -> f64 {
    if prim == Prim::F32 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
}

/// Bits of a float given in double precision and exact there, or rounded to `prim`.
pub fn float_bits(prim: Prim, x: f64) -> u64 {
    if prim == Prim::F32 { u64::from((x as f32).to_bits()) } else { x.to_bits() }
}

pub fn is_nan(prim: Prim, bits: u64) -> bool {
    prim.is_float() && float(prim, bits).is_nan()
}

/// A function `(a, b, c, out)` of pointers and what must come out.
struct Case {
    name: String,
    out: Ty,
    args: [Vec<u8>; 3],
    expected: Vec<u64>,
}

pub struct Suite {
    module: Module,
    cases: Vec<Case>,
}

pub fn to_bytes(prim: Prim, lanes: &[u64]) -> Vec<u8> {
    lanes.iter().flat_map(|bits| bits.to_le_bytes()[..prim.bytes() as usize].to_vec()).collect()
}

pub fn from_bytes(prim: Prim, bytes: &[u8]) -> Vec<u64> {
    let lane = |chunk: &[u8]| chunk.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    bytes.chunks(prim.bytes() as usize).map(lane).collect()
}

impl Suite {
    pub fn new() -> Suite {
        Suite { module: Module::new(), cases: Vec::new() }
    }

    /// Adds a case whose arguments have the types `args`; `body` builds the result of type `out`.
    pub fn case(
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
    pub fn run(mut self) {
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

pub fn binary_model(op: BinOp, prim: Prim, a: u64, b: u64) -> u64 {
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
            if fb < fa || fb.is_nan() {
                b
            } else {
                a
            }
        }
        BinOp::FMax => {
            if fb > fa || fb.is_nan() {
                b
            } else {
                a
            }
        }
    }
}

pub fn unary_model(op: UnOp, prim: Prim, a: u64) -> u64 {
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

pub fn convert_model(op: ConvOp, from: Prim, to: Prim, a: u64) -> u64 {
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

pub fn int_cmp_model(cmp: IntCmp, prim: Prim, a: u64, b: u64) -> bool {
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

pub fn float_cmp_model(cmp: FloatCmp, a: f64, b: f64) -> bool {
    match cmp {
        FloatCmp::Eq => a == b,
        FloatCmp::Ne => a != b,
        FloatCmp::Lt => a < b,
        FloatCmp::Le => a <= b,
        FloatCmp::Gt => a > b,
        FloatCmp::Ge => a >= b,
    }
}

pub fn map1(a: &[u64], f: impl Fn(u64) -> u64) -> Vec<u64> {
    a.iter().map(|&a| f(a)).collect()
}

pub fn map2(a: &[u64], b: &[u64], f: impl Fn(u64, u64) -> u64) -> Vec<u64> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}
