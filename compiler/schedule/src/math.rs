//! Mathematical functions: expansions where they pay, calls of the C library elsewhere.
//!
//! An expansion is used for scalars and for vectors alike, so that a value does not depend on the lane that computed it.

use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{self as nest, BinOp, ConvOp, MathOp, Prim, UnOp};

use crate::scalars::Arith;

type Val = nest::Value;

/// `op` of one or two arguments of one float type.
pub(crate) fn call(b: &mut FuncBuilder, arith: Arith, op: MathOp, args: &[Val]) -> Val {
    match op {
        MathOp::Exp => exp(b, arith, args[0]),
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
