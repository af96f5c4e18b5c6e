//! Mathematical functions: expansions where they pay, calls of the C library elsewhere.
//!
//! An expansion is used for scalars and for vectors alike, so that a value does not depend on the lane that computed it.

use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{self as nest, BinOp, ConvOp, FloatCmp, MathOp, Prim, UnOp};

use crate::scalars::Arith;

type Val = nest::Value;

/// `op` of one or two arguments of one float type.
pub(crate) fn call(b: &mut FuncBuilder, arith: Arith, op: MathOp, args: &[Val]) -> Val {
    match op {
        MathOp::Exp => exp(b, arith, args[0]),
        MathOp::Log => log(b, arith, args[0]),
        _ => b.math(op, args),
    }
}

/// `x * y + z`, fused where the target fuses.
fn multiply_add(b: &mut FuncBuilder, arith: Arith, x: Val, y: Val, z: Val) -> Val {
    if arith.fma {
        return b.fma(x, y, z);
    }
    let product = b.mul(x, y);
    b.add(product, z)
}

/// Numbers of one precision for [`exp`].
struct ExpTable {
    /// Arguments outside give 0 and infinity after scaling.
    least: f64,
    greatest: f64,
    /// ln 2 in two parts; the first has few enough bits that its product with an exponent is exact.
    ln2_high: f64,
    ln2_low: f64,
    /// Taylor coefficients `1/k!` for k from the last down to 2; the remainder is below half a unit in the last place for
    /// arguments within ln(2)/2.
    coefficients: &'static [f64],
}

const EXP_F32: ExpTable = ExpTable {
    least: -104.0,
    greatest: 89.0,
    ln2_high: 0.693_359_375,
    ln2_low: -2.121_944_4e-4,
    coefficients: &[1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5],
};

const EXP_F64: ExpTable = ExpTable {
    least: -746.0,
    greatest: 710.0,
    ln2_high: 6.931_471_803_691_238e-1,
    ln2_low: 1.908_214_929_270_587_7e-10,
    coefficients: &[
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
    ],
};

/// The exponential: `x = n ln 2 + r`, a polynomial in `r`, and two multiplications by powers of two, so that results in the
/// subnormal range are right too. Within 2 units in the last place; NaN, infinities, overflow and underflow as in C.
fn exp(b: &mut FuncBuilder, arith: Arith, x: Val) -> Val {
    let ty = b.ty(x);
    let table = if ty.prim == Prim::F32 { &EXP_F32 } else { &EXP_F64 };
    // `min(c, x)` keeps a NaN in its second operand.
    let (greatest, least) = (b.fconst(ty, table.greatest), b.fconst(ty, table.least));
    let clamped = b.binary(BinOp::FMin, greatest, x);
    let clamped = b.binary(BinOp::FMax, least, clamped);
    let log2e = b.fconst(ty, std::f64::consts::LOG2_E);
    let scaled = b.mul(clamped, log2e);
    let n = b.unary(UnOp::Nearest, scaled);
    let (high, low) = (b.fconst(ty, -table.ln2_high), b.fconst(ty, -table.ln2_low));
    let r = multiply_add(b, arith, n, high, clamped);
    let r = multiply_add(b, arith, n, low, r);
    let (first, rest) = table.coefficients.split_first().expect("the tables are not empty");
    let mut p = b.fconst(ty, *first);
    for &c in rest {
        let c = b.fconst(ty, c);
        p = multiply_add(b, arith, p, r, c);
    }
    // 1 + r + r^2 p
    let square = b.mul(r, r);
    let tail = multiply_add(b, arith, p, square, r);
    let one = b.fconst(ty, 1.0);
    let value = b.add(tail, one);
    // 2^n as 2^(n/2) * 2^(n - n/2). A vector of f64 converts n through f32-free arithmetic: adding 1.5 * 2^52 leaves n in
    // the low bits of the sum.
    let int = ty.with_prim(ty.prim.as_int());
    let (magic, bias, mantissa) = match ty.prim {
        Prim::F32 => (12_582_912.0, 127, 23),
        _ => (6_755_399_441_055_744.0, 1023, 52),
    };
    let magic = b.fconst(ty, magic);
    let shifted = b.add(n, magic);
    let (shifted, magic) = (b.convert(ConvOp::Bits, shifted, int.prim), b.convert(ConvOp::Bits, magic, int.prim));
    let exponent = b.sub(shifted, magic);
    let half = match ty.prim {
        Prim::F32 => {
            let one = b.iconst(int, 1);
            b.binary(BinOp::SShr, exponent, one)
        }
        // There is no arithmetic shift of 64-bit lanes on every target: bias to non-negative, shift, and take it back.
        _ => {
            let (offset, one, half_offset) = (b.iconst(int, 2048), b.iconst(int, 1), b.iconst(int, 1024));
            let raised = b.add(exponent, offset);
            let halved = b.binary(BinOp::UShr, raised, one);
            b.sub(halved, half_offset)
        }
    };
    let other = b.sub(exponent, half);
    let (bias, mantissa) = (b.iconst(int, bias), b.iconst(int, mantissa));
    let mut scaled = value;
    for part in [half, other] {
        let biased = b.add(part, bias);
        let bits = b.binary(BinOp::Shl, biased, mantissa);
        let power = b.convert(ConvOp::Bits, bits, ty.prim);
        scaled = b.mul(scaled, power);
    }
    scaled
}

/// Numbers of one precision for [`log`].
struct LogTable {
    /// Bits of one and of the square root of one half.
    one: u64,
    root_half: u64,
    /// Bits of the fraction, and their number.
    fraction: u64,
    fraction_bits: u32,
    bias: f64,
    /// Least normal number, a power of two that makes subnormal numbers normal, and its exponent.
    least_normal: f64,
    scale: f64,
    scale_exponent: f64,
    /// ln 2 in two parts; products of the first with exponents are exact.
    ln2_high: f64,
    ln2_low: f64,
    /// Minimax coefficients of `log((1+s)/(1-s)) / s - 2` in powers of `s^2`, from the last one down.
    coefficients: &'static [f64],
}

const LOG_F32: LogTable = LogTable {
    one: 0x3f80_0000,
    root_half: 0x3f35_04f3,
    fraction: 0x007f_ffff,
    fraction_bits: 23,
    bias: 127.0,
    least_normal: 1.175_494_350_822_287_5e-38,
    scale: 33_554_432.0,
    scale_exponent: 25.0,
    ln2_high: 6.931_381_225_6e-1,
    ln2_low: 9.058_000_614_5e-6,
    coefficients: &[0.242_790_788_41, 0.284_987_866_88, 0.400_009_721_52, 0.666_666_626_93],
};

const LOG_F64: LogTable = LogTable {
    one: 0x3ff0_0000_0000_0000,
    root_half: 0x3fe6_a09e_667f_3bcd,
    fraction: 0x000f_ffff_ffff_ffff,
    fraction_bits: 52,
    bias: 1023.0,
    least_normal: f64::MIN_POSITIVE,
    scale: 18_014_398_509_481_984.0,
    scale_exponent: 54.0,
    ln2_high: 6.931_471_803_691_238e-1,
    ln2_low: 1.908_214_929_270_587_7e-10,
    coefficients: &[
        1.479_819_860_511_658_6e-1,
        1.531_383_769_920_937_3e-1,
        1.818_357_216_161_805e-1,
        2.222_219_843_214_978_4e-1,
        2.857_142_874_366_239e-1,
        3.999_999_999_940_942e-1,
        6.666_666_666_666_735e-1,
    ],
};

/// The natural logarithm: `x = 2^k m` with `m` around one, and a series in `s = (m-1)/(m+1)`. Within 2 units in the last place;
/// zero, negative numbers, subnormal numbers, infinity and NaN as in C.
fn log(b: &mut FuncBuilder, arith: Arith, x: Val) -> Val {
    let ty = b.ty(x);
    let int = ty.with_prim(ty.prim.as_int());
    let table = if ty.prim == Prim::F32 { &LOG_F32 } else { &LOG_F64 };
    let (least, scale) = (b.fconst(ty, table.least_normal), b.fconst(ty, table.scale));
    let tiny = b.fcmp(FloatCmp::Lt, x, least);
    let scaled = b.mul(x, scale);
    let normal = b.select(tiny, scaled, x);
    let (bias, scaled_bias) = (b.fconst(ty, table.bias), b.fconst(ty, table.bias + table.scale_exponent));
    let bias = b.select(tiny, scaled_bias, bias);
    // The fraction ends at the square root of one half, so that m lies between it and its double.
    let bits = b.convert(ConvOp::Bits, normal, int.prim);
    let up = b.bits(int, table.one - table.root_half);
    let raised = b.add(bits, up);
    let shift = b.iconst(int, i64::from(table.fraction_bits));
    let exponent = b.binary(BinOp::UShr, raised, shift);
    let k = match ty.prim {
        Prim::F32 => b.convert(ConvOp::SToF, exponent, Prim::F32),
        // Vectors of 64-bit integers have no conversion: place the number in the fraction of 2^52.
        _ => {
            let magic = b.bits(int, 0x4330_0000_0000_0000);
            let placed = b.binary(BinOp::Or, exponent, magic);
            let placed = b.convert(ConvOp::Bits, placed, Prim::F64);
            let magic = b.fconst(ty, 4_503_599_627_370_496.0);
            b.sub(placed, magic)
        }
    };
    let k = b.sub(k, bias);
    let fraction = b.bits(int, table.fraction);
    let fraction = b.binary(BinOp::And, raised, fraction);
    let down = b.bits(int, table.root_half);
    let m = b.add(fraction, down);
    let m = b.convert(ConvOp::Bits, m, ty.prim);
    let (one, two, half) = (b.fconst(ty, 1.0), b.fconst(ty, 2.0), b.fconst(ty, 0.5));
    let f = b.sub(m, one);
    let sum = b.add(f, two);
    let s = b.binary(BinOp::FDiv, f, sum);
    let square = b.mul(s, s);
    let (first, rest) = table.coefficients.split_first().expect("the tables are not empty");
    let mut series = b.fconst(ty, *first);
    for &c in rest {
        let c = b.fconst(ty, c);
        series = multiply_add(b, arith, series, square, c);
    }
    let series = b.mul(series, square);
    let half_square = b.mul(f, f);
    let half_square = b.mul(half_square, half);
    let (high, low) = (b.fconst(ty, table.ln2_high), b.fconst(ty, table.ln2_low));
    // k ln2_high - ((f^2/2 - (s (f^2/2 + series) + k ln2_low)) - f)
    let inner = b.add(half_square, series);
    let tail = b.mul(k, low);
    let tail = multiply_add(b, arith, s, inner, tail);
    let correction = b.sub(half_square, tail);
    let correction = b.sub(correction, f);
    let whole = b.mul(k, high);
    let value = b.sub(whole, correction);
    let (zero, infinity) = (b.fconst(ty, 0.0), b.fconst(ty, f64::INFINITY));
    let (pole, nan) = (b.fconst(ty, f64::NEG_INFINITY), b.fconst(ty, f64::NAN));
    let is_zero = b.fcmp(FloatCmp::Eq, x, zero);
    let outside = b.select(is_zero, pole, nan);
    let positive = b.fcmp(FloatCmp::Gt, x, zero);
    let value = b.select(positive, value, outside);
    let finite = b.fcmp(FloatCmp::Lt, x, infinity);
    b.select(finite, value, x)
}
