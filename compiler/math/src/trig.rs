//! Sine, cosine and tangent.

use crate::MathOp;

use super::pair::Pair;
use super::real::{Real, Word};

/// `(sin(r) / r - 1) / r^2` in powers of `r^2`, for `|r| <= pi/4`; 2^-68.
const SIN_DOUBLE: &[f64] = &[
    -7.581636827155971e-13,
    1.6058431384043624e-10,
    -2.5052105472850454e-08,
    2.7557319216603094e-06,
    -0.00019841269841260373,
    0.008333333333333328,
    -0.16666666666666666,
];
/// The same; 2^-37.
const SIN_SINGLE: &[f64] = &[2.720173915747597e-06, -0.0001983956891801777, 0.00833333029409144, -0.1666666665208994];
/// `(cos(r) - 1 + r^2/2) / r^4` in powers of `r^2`, for `|r| <= pi/4`; 2^-63.
const COS_DOUBLE: &[f64] = &[
    -1.1364699719942561e-11,
    2.0875827196737803e-09,
    -2.7557315171752025e-07,
    2.4801587292545997e-05,
    -0.0013888888888879476,
    0.04166666666666664,
];
/// The same; 2^-33.
const COS_SINGLE: &[f64] = &[2.444929407807369e-05, -0.001388747611088543, 0.041666649482861584];

/// pi/2 in parts of 33 bits, whose products with integers below 2^20 are exact, and a last one.
const HALF_PI: [f64; 4] =
    [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_711_166_5e-21, 8.478_427_660_368_9e-32];
/// What follows the first part, rounded.
const HALF_PI_REST: f64 = 6.077_100_506_506_192e-11;
/// 2/pi in parts of 28 bits, whose products with `f32` are exact in `f64`, up to 2^-196.
const TWO_OVER_PI: [f64; 7] = [
    0.636_619_769_036_769_9,
    3.330_811_473_856_165_6e-9,
    2.276_010_047_810_136e-18,
    2.526_826_018_900_282_2e-26,
    1.668_286_765_701_952_5e-34,
    1.158_871_328_288_855e-43,
    7.053_959_174_404_295e-52,
];
/// Magnitudes that the parts of pi/2 reduce: quotients fit 20 bits.
const GREATEST_DOUBLE: f64 = 1_600_000.0;
const GREATEST_SINGLE: f64 = 100_000.0;

/// `x = n pi/2 + r`: the word of an integer whose low two bits are those of `n`, and `r`, at most slightly above pi/4.
///
/// Cody and Waite's reduction. In `f64` the products and the first difference are exact and the sums keep what they lose, so that
/// `r` has 53 good bits next to every zero. For `f32` two parts suffice below [`GREATEST_SINGLE`]; beyond, a branch multiplies
/// by 2/pi in parts (Payne and Hanek, 1983): multiples of four leave each exact product before the sum.
fn reduced(x: Real<'_>) -> (Word<'_>, Pair<'_>) {
    let n = (x * std::f64::consts::FRAC_2_PI).nearest();
    let first = n.mul_add(-HALF_PI[0], x);
    if x.code.single {
        let r = n.mul_add(-HALF_PI_REST, first);
        let big = x.abs().gt(GREATEST_SINGLE);
        let [n, r] = x.code.rarely(big, [n, r], || {
            let (many, rest) = huge_single(x);
            [big.pick(many, n), big.pick(rest, r)]
        });
        return (n.as_word(), Pair { high: r, low: r.constant(0.0) });
    }
    let second = first.sum(n * -HALF_PI[1]);
    let third = second.high.sum(n * -HALF_PI[2]);
    let low = n.mul_add(-HALF_PI[3], second.low + third.low);
    (n.as_word(), third.high.sum_ordered(low))
}

/// The reduction of any `f32` held in `f64`.
fn huge_single(x: Real<'_>) -> (Real<'_>, Real<'_>) {
    let mut sum = Pair { high: x.constant(0.0), low: x.constant(0.0) };
    for part in TWO_OVER_PI {
        let product = x * part;
        let rest = product - (product * 0.25).nearest() * 4.0;
        let next = sum.high.sum(rest);
        sum = Pair { high: next.high, low: next.low + sum.low };
    }
    let n = sum.high.nearest();
    let rest = (sum.high - n) + sum.low;
    // Up to seven residues of at most two add up to a small integer.
    (n, rest * std::f64::consts::FRAC_PI_2)
}

/// Sine and cosine of a reduced argument.
fn kernels<'a>(r: Pair<'a>) -> (Real<'a>, Real<'a>) {
    let (x, code) = (r.high, r.high.code);
    let z = x * x;
    let s = z * z.polynomial(code.table(SIN_DOUBLE, SIN_SINGLE));
    let c = (z * z) * z.polynomial(code.table(COS_DOUBLE, COS_SINGLE));
    if code.single {
        return (s.mul_add(x, x), z.mul_add(-0.5, c) + 1.0);
    }
    let half = z * 0.5;
    let sine = x + (s * x + (r.low - r.low * half));
    let upper = 1.0 - half;
    let cosine = upper + (((1.0 - upper) - half) + (c - x * r.low));
    (sine, cosine)
}

/// The library where an argument of `f64` is too large to be reduced here.
fn with_library<'a>(op: MathOp, x: Real<'a>, value: Real<'a>) -> Real<'a> {
    if x.code.single {
        return value;
    }
    let big = x.abs().gt(GREATEST_DOUBLE);
    let [value] = x.code.rarely(big, [value], || [big.pick(x.library(op), value)]);
    value
}

/// `sin(x + quarters pi/2)`.
fn shifted_sine<'a>(x: Real<'a>, quarters: u64) -> Real<'a> {
    let (n, r) = reduced(x);
    let n = n.plus(quarters);
    let (sine, cosine) = kernels(r);
    let value = (n & 1).is_zero().pick(sine, cosine);
    value.bits().flipped_by((n & 2) << 62).real()
}

/// The sine. Within 1 unit in the last place.
pub(super) fn sin(x: Real<'_>) -> Real<'_> {
    let value = with_library(MathOp::Sin, x, shifted_sine(x, 0));
    x.eq(0.0).pick(x, value)
}

/// The cosine. Within 1 unit in the last place.
pub(super) fn cos(x: Real<'_>) -> Real<'_> {
    with_library(MathOp::Cos, x, shifted_sine(x, 1))
}

/// The tangent, as the quotient of sine and cosine. Within 2 units in the last place.
pub(super) fn tan(x: Real<'_>) -> Real<'_> {
    let (n, r) = reduced(x);
    let (sine, cosine) = kernels(r);
    let even = (n & 1).is_zero();
    let value = even.pick(sine, -cosine) / even.pick(cosine, sine);
    let value = with_library(MathOp::Tan, x, value);
    x.eq(0.0).pick(x, value)
}
