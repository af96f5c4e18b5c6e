//! Errors of the expansions in units in the last place, from compiled code.
//!
//! `f32` functions run over every [`stride`]-th bit pattern (`RAVEL_MATH_STRIDE=1` takes all of them) against `f64` functions of the C
//! library; `f64` functions over random bit patterns, random moderate numbers and edges against correctly rounded values of
//! 192 bits. `RAVEL_MATH_SHOW=1` prints the greatest errors.

#![expect(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a test with settings")]

use std::sync::atomic::{AtomicU64, Ordering};

use astro_float::{BigFloat, Consts, RoundingMode};
use ravel_codegen_cranelift::{Jit, capabilities};
use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{Access, MathOp, Module, Prim, Ty, Visibility};

use crate::math::Arith;

const UNARY: [MathOp; 19] = [
    MathOp::Exp,
    MathOp::Expm1,
    MathOp::Sinh,
    MathOp::Cosh,
    MathOp::Tanh,
    MathOp::Log,
    MathOp::Log1p,
    MathOp::Log2,
    MathOp::Log10,
    MathOp::Asinh,
    MathOp::Acosh,
    MathOp::Atanh,
    MathOp::Sin,
    MathOp::Cos,
    MathOp::Tan,
    MathOp::Asin,
    MathOp::Acos,
    MathOp::Atan,
    MathOp::Cbrt,
];
const BINARY: [MathOp; 3] = [MathOp::Pow, MathOp::Atan2, MathOp::Hypot];
/// Units in the last place that no result may miss its value by.
const BOUND: f64 = 2.0;

/// Distance of `f32` bit patterns under test.
fn stride() -> usize {
    std::env::var("RAVEL_MATH_STRIDE").ok().and_then(|s| s.parse().ok()).unwrap_or(20_011)
}

/// Whether `RAVEL_MATH_ONLY`, a name, leaves a function in.
fn wanted(op: MathOp) -> bool {
    std::env::var("RAVEL_MATH_ONLY").map_or(true, |name| name == op.name())
}

fn show(text: impl FnOnce() -> String) {
    if std::env::var_os("RAVEL_MATH_SHOW").is_some() {
        eprintln!("{}", text());
    }
}

/// Compiled code that applies one function to arrays.
struct Map {
    jit: Jit,
}

impl Map {
    fn new(op: MathOp, prim: Prim, lanes: u8, fma: bool) -> Map {
        let (mut b, params) = FuncBuilder::new("map", &[Ty::PTR, Ty::PTR, Ty::PTR, Ty::I64], &[]);
        b.set_visibility(Visibility::Entry);
        let zero = b.i64(0);
        let step = b.i64(i64::from(lanes));
        let (i, _) = b.begin_for(zero, params[3], step, &[]);
        let width = b.i64(i64::from(prim.bytes()));
        let offset = b.mul(i, width);
        let at = |b: &mut FuncBuilder, p| b.ptr_add(p, offset);
        let ty = Ty::vector(prim, lanes);
        let args: Vec<_> = (0..op.arity())
            .map(|k| {
                let p = at(&mut b, params[k]);
                b.load(ty, p, 0, Access::ANY)
            })
            .collect();
        let value = super::call(&mut b, Arith { fma }, op, &args);
        let p = at(&mut b, params[2]);
        b.store(value, p, 0, Access::ANY);
        b.end_for(&[]);
        b.ret(&[]);
        let mut module = Module::new();
        module.add(b.finish());
        let mut jit = Jit::with_runtime().expect("the host is supported");
        jit.add(&module).unwrap_or_else(|e| panic!("{e}\n{module}"));
        Map { jit }
    }

    fn run<T: Copy + Default>(&self, x: &[T], y: &[T]) -> Vec<T> {
        assert_eq!((x.len() % 16, x.len()), (0, y.len()));
        let mut out = vec![T::default(); x.len()];
        let args = [x.as_ptr() as u64, y.as_ptr() as u64, out.as_mut_ptr() as u64, x.len() as u64];
        self.jit.call("map", &args).expect("the entry exists");
        out
    }
}

/// Lanes and fused operations under test; the last of them covers all arguments.
fn variants() -> Vec<(u8, bool)> {
    let fma = capabilities().expect("the host is supported").has_fma;
    if fma { vec![(4, false), (4, true)] } else { vec![(4, false)] }
}

fn reference(op: MathOp, x: f64, y: f64) -> f64 {
    match op {
        MathOp::Exp => x.exp(),
        MathOp::Expm1 => x.exp_m1(),
        MathOp::Sinh => x.sinh(),
        MathOp::Cosh => x.cosh(),
        MathOp::Tanh => x.tanh(),
        MathOp::Log => x.ln(),
        MathOp::Log1p => x.ln_1p(),
        MathOp::Log2 => x.log2(),
        MathOp::Log10 => x.log10(),
        // The standard library squares large arguments.
        MathOp::Asinh | MathOp::Acosh if x.abs() > 1e150 && x.is_finite() && (x > 0.0 || op == MathOp::Asinh) => {
            (x.abs().ln() + std::f64::consts::LN_2).copysign(x)
        }
        MathOp::Asinh => x.asinh(),
        MathOp::Acosh => x.acosh(),
        MathOp::Atanh => x.atanh(),
        MathOp::Sin => x.sin(),
        MathOp::Cos => x.cos(),
        MathOp::Tan => x.tan(),
        MathOp::Asin => x.asin(),
        MathOp::Acos => x.acos(),
        MathOp::Atan => x.atan(),
        MathOp::Cbrt => x.cbrt(),
        MathOp::Pow => x.powf(y),
        MathOp::Atan2 => x.atan2(y),
        MathOp::Hypot => x.hypot(y),
        _ => unreachable!("not under test"),
    }
}

/// Two to the power of `e`, zero and infinity beyond the range.
fn power(e: i64) -> f64 {
    2f64.powi(e.clamp(-2000, 2000) as i32)
}

/// Greatest error so far and where.
#[derive(Default)]
struct Worst {
    error: f64,
    at: (f64, f64),
    n: usize,
}

impl Worst {
    fn add(&mut self, error: f64, at: (f64, f64), what: impl FnOnce() -> String) {
        self.n += 1;
        if error > self.error {
            (self.error, self.at) = (error, at);
        }
        assert!(error <= BOUND, "{} at {at:?}: {error} units in the last place", what());
    }
}

impl Worst {
    fn or(self, other: Worst) -> Worst {
        let n = self.n + other.n;
        Worst { n, ..if self.error > other.error { self } else { other } }
    }
}

/// Errors that are not counted in digits: NaN, infinity and the sign of zero must agree exactly.
fn special(found: f64, expected: f64) -> Option<bool> {
    if found.is_nan() || expected.is_nan() {
        return Some(found.is_nan() && expected.is_nan());
    }
    if expected == 0.0 || expected.is_infinite() {
        return Some(found == expected && found.is_sign_negative() == expected.is_sign_negative());
    }
    None
}

fn check_f32(op: MathOp, x: f32, y: f32, found: f32, worst: &mut Worst) {
    let expected = reference(op, f64::from(x), f64::from(y));
    let rounded = expected as f32;
    // A value that rounds to infinity, or is infinite or NaN itself.
    if let Some(right) =
        special(f64::from(found), if rounded.is_finite() && expected != 0.0 { expected } else { f64::from(rounded) })
    {
        let near = rounded.is_infinite() && expected.is_finite() && found == f32::MAX.copysign(rounded);
        assert!(right || near, "{} of {x:e} {y:e}: {found:e}, not {expected:e}", op.name());
        return;
    }
    let limit = power(128);
    let exponent = (expected.abs().to_bits() >> 52) as i64 - 1023;
    let ulp = power(exponent.clamp(-126, 127) - 23);
    let found = f64::from(found).clamp(-limit, limit);
    worst.add((found - expected).abs() / ulp, (f64::from(x), f64::from(y)), || format!("{} of f32", op.name()));
}

/// Arguments that a thread takes at a time.
const PORTION: u64 = 1 << 16;

/// The greatest error of a function over every [`stride`]-th argument, on all cores.
fn sweep(op: MathOp, lanes: u8, fma: bool) -> Worst {
    let next = AtomicU64::new(0);
    let sweep_portions = || {
        let map = Map::new(op, Prim::F32, lanes, fma);
        let mut worst = Worst::default();
        loop {
            let first = next.fetch_add(PORTION * stride() as u64, Ordering::Relaxed);
            let mut x: Vec<f32> = (first..1 << 32)
                .step_by(stride())
                .take(PORTION as usize)
                .map(|bits| f32::from_bits(bits as u32))
                .collect();
            if x.is_empty() {
                return worst;
            }
            x.resize(x.len().next_multiple_of(16), 0.0);
            for (&x, found) in x.iter().zip(map.run(&x, &x)) {
                check_f32(op, x, 0.0, found, &mut worst);
            }
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(sweep_portions)).collect();
        let joined =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.fold(Worst::default(), Worst::or)
    })
}

#[test]
fn f32_functions_of_one_argument() {
    for op in UNARY.into_iter().filter(|op| wanted(*op)) {
        for (lanes, fma) in variants() {
            let worst = sweep(op, lanes, fma);
            show(|| {
                format!("f32 {:6} fma {fma:5} {:.3} ulp at {:e} of {}", op.name(), worst.error, worst.at.0, worst.n)
            });
        }
    }
}

/// A fixed sequence of numbers (Steele, Lea and Flood's splitmix64).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly in magnitude between two powers of two, of either sign.
    fn spread(&mut self, least: i64, greatest: i64) -> f64 {
        let exponent = least + (self.bits() % (greatest - least + 1) as u64) as i64;
        f64::from_bits((self.bits() & 0x800f_ffff_ffff_ffff) | (((exponent + 1023) as u64) << 52))
    }
}

const EDGES: [f64; 34] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    1.5,
    -1.5,
    -2.5,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    -5e-324,
    1e-310,
    -1e-310,
    f64::EPSILON,
    -f64::EPSILON,
    1.0 + f64::EPSILON,
    1.0 - f64::EPSILON / 2.0,
    9_007_199_254_740_993.0,
    4_503_599_627_370_497.0,
    -9_007_199_254_740_991.0,
    1e300,
    -1e300,
    709.782_712_893_384,
    -745.133_219_101_941_1,
];

#[test]
fn f32_functions_of_two_arguments() {
    for op in BINARY {
        for (lanes, fma) in variants() {
            let map = Map::new(op, Prim::F32, lanes, fma);
            let mut random = Random(7);
            let mut worst = Worst::default();
            let (mut x, mut y) = (Vec::new(), Vec::new());
            for _ in 0..(1usize << 32) / stride() {
                let moderate = !random.bits().is_multiple_of(4);
                let range = if moderate { (-8, 8) } else { (-149, 127) };
                x.push(random.spread(range.0, range.1) as f32);
                y.push(random.spread(range.0.max(-40), range.1.min(40)) as f32);
            }
            for a in EDGES {
                for b in EDGES {
                    x.push(a as f32);
                    y.push(b as f32);
                }
            }
            let n = x.len().next_multiple_of(16);
            x.resize(n, 1.0);
            y.resize(n, 1.0);
            for ((&x, &y), found) in x.iter().zip(&y).zip(map.run(&x, &y)) {
                check_f32(op, x, y, found, &mut worst);
            }
            show(|| format!("f32 {:6} fma {fma:5} {:.3} ulp at {:?} of {}", op.name(), worst.error, worst.at, worst.n));
        }
    }
}

/// Digits of the reference values.
const BITS: usize = 192;
const MODE: RoundingMode = RoundingMode::ToEven;

fn big(x: f64) -> BigFloat {
    // Subnormal numbers by way of normal ones.
    if x.abs() >= f64::MIN_POSITIVE {
        return BigFloat::from_f64(x, BITS);
    }
    BigFloat::from_f64(x * power(100), BITS).mul(&BigFloat::from_f64(power(-100), BITS), BITS, MODE)
}

/// Powers by way of logarithms of more bits: exact powers need no special care, and the product has up to 11 bits before the point.
fn power_of(a: &BigFloat, b: &BigFloat, cc: &mut Consts) -> BigFloat {
    a.ln(2 * BITS, MODE, cc).mul(b, 2 * BITS, MODE).exp(BITS, MODE, cc)
}

/// The value to about 190 bits, for arguments whose result is finite and not zero.
fn precise(op: MathOp, x: f64, y: f64, cc: &mut Consts) -> BigFloat {
    let (a, b) = (big(x), big(y));
    let tiny = x.abs() < 1e-40;
    match op {
        MathOp::Exp => a.exp(BITS, MODE, cc),
        // x + x^2/2 + ..
        MathOp::Expm1 if tiny => a.add(&a.mul(&a, BITS, MODE).mul(&big(0.5), BITS, MODE), BITS, MODE),
        MathOp::Expm1 => a.exp(2 * BITS, MODE, cc).sub(&big(1.0), BITS, MODE),
        MathOp::Sinh => a.sinh(BITS, MODE, cc),
        MathOp::Cosh => a.cosh(BITS, MODE, cc),
        MathOp::Tanh => a.tanh(BITS, MODE, cc),
        MathOp::Log => a.ln(BITS, MODE, cc),
        MathOp::Log1p if tiny => a.sub(&a.mul(&a, BITS, MODE).mul(&big(0.5), BITS, MODE), BITS, MODE),
        MathOp::Log1p => a.add(&big(1.0), 12 * BITS, MODE).ln(BITS, MODE, cc),
        MathOp::Log2 => a.log2(BITS, MODE, cc),
        MathOp::Log10 => a.log10(BITS, MODE, cc),
        MathOp::Asinh => a.asinh(BITS, MODE, cc),
        MathOp::Acosh => a.acosh(BITS, MODE, cc),
        MathOp::Atanh => a.atanh(BITS, MODE, cc),
        MathOp::Sin => a.sin(BITS, MODE, cc),
        MathOp::Cos => a.cos(BITS, MODE, cc),
        MathOp::Tan => a.tan(BITS, MODE, cc),
        MathOp::Asin => a.asin(BITS, MODE, cc),
        MathOp::Acos => a.acos(BITS, MODE, cc),
        MathOp::Atan => a.atan(BITS, MODE, cc),
        MathOp::Cbrt => a.cbrt(BITS, MODE),
        MathOp::Pow if x < 0.0 => {
            let value = power_of(&a.abs(), &b, cc);
            if (y / 2.0).fract() == 0.0 { value } else { value.neg() }
        }
        MathOp::Pow => power_of(&a, &b, cc),
        MathOp::Hypot => {
            let sum = a.mul(&a, BITS, MODE).add(&b.mul(&b, BITS, MODE), BITS, MODE);
            sum.sqrt(BITS, MODE)
        }
        MathOp::Atan2 if x == 0.0 => cc.pi(BITS, MODE).mul(&big(1f64.copysign(x)), BITS, MODE),
        MathOp::Atan2 if y == 0.0 => cc.pi(BITS, MODE).mul(&big(0.5f64.copysign(x)), BITS, MODE),
        MathOp::Atan2 => {
            let angle = a.div(&b, BITS, MODE).atan(BITS, MODE, cc);
            if y > 0.0 {
                angle
            } else {
                angle.add(&cc.pi(BITS, MODE).mul(&big(1f64.copysign(x)), BITS, MODE), BITS, MODE)
            }
        }
        _ => unreachable!("not under test"),
    }
}

fn to_f64(x: &BigFloat) -> f64 {
    let Some((words, _, sign, exponent, _)) = x.as_raw_parts() else { return f64::NAN };
    let top = words.last().map_or(0.0, |&w| w as f64 * power(-64));
    let value = top * power(i64::from(exponent) / 2) * power(i64::from(exponent) - i64::from(exponent) / 2);
    if sign == astro_float::Sign::Neg { -value } else { value }
}

fn check_f64(op: MathOp, x: f64, y: f64, found: f64, cc: &mut Consts, worst: &mut Worst) {
    let expected = reference(op, x, y);
    if expected.is_nan() || expected.is_infinite() || expected == 0.0 {
        // The library rounds the other way only next to the greatest number.
        let near = found.abs() == f64::MAX && expected.is_infinite();
        let under = expected == 0.0 && found.abs() <= 5e-324 && !matches!(op, MathOp::Sin | MathOp::Log);
        let right = special(found, expected) == Some(true);
        assert!(right || near || under, "{} of {x:e} {y:e}: {found:e}, not {expected:e}", op.name());
        return;
    }
    assert!(!found.is_nan(), "{} of {x:e} {y:e}: NaN, not {expected:e}", op.name());
    if x.is_nan() || y.is_nan() || x.is_infinite() || y.is_infinite() {
        assert!(
            (found - expected).abs() <= f64::EPSILON * expected.abs(),
            "{} of {x:e} {y:e}: {found:e}, not {expected:e}",
            op.name()
        );
        return;
    }
    if op == MathOp::Pow && (y == 0.0 || x.abs() == 1.0) {
        assert!(found == expected, "pow of {x:e} {y:e}: {found:e}, not {expected:e}");
        return;
    }
    let value = precise(op, x, y, cc);
    let exponent = value.exponent().map_or(-3000, i64::from) - 1;
    let place = exponent.clamp(-1022, 1023) - 52;
    let found = if found.is_infinite() {
        big(1.0).mul(&big(power(1023)), BITS, MODE).mul(&big(2f64.copysign(found)), BITS, MODE)
    } else {
        big(found)
    };
    let difference = to_f64(&found.sub(&value, BITS, MODE).mul(&big(power(-place / 2)), BITS, MODE).mul(
        &big(power(-place + place / 2)),
        BITS,
        MODE,
    ));
    worst.add(difference.abs(), (x, y), || format!("{} of f64", op.name()));
}

/// Arguments around which the function is interesting.
fn arguments(op: MathOp, random: &mut Random) -> (f64, f64) {
    let two = op.arity() == 2;
    let kind = random.bits() % 4;
    let range = match kind {
        0 => (-1022, 1023),
        1 if op == MathOp::Pow => (-2, 2),
        1 => (-60, 20),
        _ => (-6, 6),
    };
    let x = random.spread(range.0, range.1);
    let x =
        if matches!(op, MathOp::Log | MathOp::Log2 | MathOp::Log10 | MathOp::Pow) && kind > 0 { x.abs() } else { x };
    let x = match (op, kind) {
        // Results next to the least normal number and below.
        (MathOp::Exp, 3) => -700.0 - (random.bits() % (50 << 32)) as f64 * power(-32),
        (MathOp::Asin | MathOp::Acos | MathOp::Atanh, 1..) => x.rem_euclid(2.0) - 1.0,
        (MathOp::Acosh, 1..) => 1.0 + x.abs(),
        (MathOp::Log1p, 1..) => x.abs() - 0.9 * f64::from(u8::from(x < 0.0 && x > -0.8)),
        (MathOp::Sin | MathOp::Cos | MathOp::Tan, 2) => {
            // Next to a multiple of pi/2.
            (random.bits() % 1_000_000) as f64 * std::f64::consts::FRAC_PI_2
        }
        _ => x,
    };
    if !two {
        return (x, 0.0);
    }
    match (op, kind) {
        (MathOp::Pow, 0) => (x, random.spread(-10, 10)),
        (MathOp::Pow, _) => (x, random.spread(-4, 9)),
        _ => (x, random.spread(range.0, range.1)),
    }
}

#[test]
fn f64_functions() {
    let n = 40_000_000 / stride();
    let mut cc = Consts::new().expect("there is memory");
    for op in UNARY.into_iter().chain(BINARY) {
        for (lanes, fma) in variants() {
            let map = Map::new(op, Prim::F64, lanes, fma);
            let mut random = Random(3);
            let (mut x, mut y): (Vec<f64>, Vec<f64>) = (0..n).map(|_| arguments(op, &mut random)).unzip();
            for a in EDGES {
                for b in EDGES.into_iter().take(if op.arity() == 2 { EDGES.len() } else { 1 }) {
                    x.push(a);
                    y.push(b);
                }
            }
            let n = x.len().next_multiple_of(16);
            x.resize(n, 1.0);
            y.resize(n, 1.0);
            let mut worst = Worst::default();
            for ((&x, &y), found) in x.iter().zip(&y).zip(map.run(&x, &y)) {
                check_f64(op, x, y, found, &mut cc, &mut worst);
            }
            show(|| format!("f64 {:6} fma {fma:5} {:.3} ulp at {:?} of {}", op.name(), worst.error, worst.at, worst.n));
        }
    }
}

#[test]
fn a_value_does_not_depend_on_its_lane() {
    let fma = capabilities().expect("the host is supported").has_fma;
    for op in UNARY {
        let mut random = Random(11);
        let x: Vec<f64> = (0..160).map(|_| random.spread(-70, 70)).chain(EDGES).chain([1.0; 14]).collect();
        let x: Vec<f64> = x.into_iter().chain([0.5; 16]).collect();
        let x = &x[..x.len() / 16 * 16];
        let results: Vec<Vec<u64>> = [1, 2, 8]
            .map(|lanes| Map::new(op, Prim::F64, lanes, fma).run(x, x).into_iter().map(f64::to_bits).collect())
            .into();
        assert!(results.iter().all(|r| *r == results[0]), "{}", op.name());
    }
}

/// Constants are folded by the text that code is made of.
#[test]
fn what_is_evaluated_is_what_code_computes() {
    if !capabilities().expect("the host is supported").has_fma {
        return;
    }
    let mut pairs = 0;
    for op in UNARY.into_iter().chain(BINARY) {
        let formula = ravel_math::MathOp::from_name(op.name()).expect("all under test have formulas");
        let mut random = Random(17);
        let (mut x, mut y): (Vec<f64>, Vec<f64>) = (0..208 - EDGES.len()).map(|_| arguments(op, &mut random)).unzip();
        x.extend(EDGES);
        y.extend(EDGES.into_iter().rev());
        let same = |found: f64, value: f64| found.to_bits() == value.to_bits() || found.is_nan() && value.is_nan();
        for ((&x, &y), found) in x.iter().zip(&y).zip(Map::new(op, Prim::F64, 1, true).run(&x, &y)) {
            let value = ravel_math::evaluate_f64(formula, &[x, y][..op.arity()]);
            assert!(same(found, value), "{} of {x:e}, {y:e}: {found:e} in code, {value:e} as a constant", op.name());
            pairs += 1;
        }
        let (x, y): (Vec<f32>, Vec<f32>) = x.iter().zip(&y).map(|(&x, &y)| (x as f32, y as f32)).unzip();
        for ((&x, &y), found) in x.iter().zip(&y).zip(Map::new(op, Prim::F32, 1, true).run(&x, &y)) {
            let value = ravel_math::evaluate_f32(formula, &[x, y][..op.arity()]);
            assert!(same(found.into(), value.into()), "{} of {x:e}, {y:e}: {found:e}, {value:e}", op.name());
        }
    }
    assert!(pairs > 4500);
}
