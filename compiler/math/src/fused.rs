//! Functions for targets where multiply-add is one instruction, in the precision of their arguments.
//!
//! Those of `f32` are computed in `f32`, with twice the lanes of `f64` and no conversions. A product that is added without a rounding of
//! its own keeps what elsewhere takes sums of two numbers: differences from multiples of pi/2, leading terms of series.
//! Each function stays within 2 units in the last place; `docs/performance.md` has what was measured.

use crate::MathOp;

use super::fused_tables as tables;
use super::real::{Mask, Real, Word};
use super::{log, trig};

/// The function of `x`, or of `x` and `y`, if there is a form of it here.
pub(super) fn function<'a>(op: MathOp, x: Real<'a>, y: Option<Real<'a>>) -> Option<Real<'a>> {
    if !x.fuses() {
        return None;
    }
    let value = match op {
        MathOp::Sin => sin(x),
        MathOp::Cos => cos(x),
        MathOp::Tan if x.is_f32() => tan(x),
        MathOp::Atan => atan(x),
        MathOp::Atan2 => atan2(x, y?),
        MathOp::Asin if x.is_f32() => asin(x),
        MathOp::Acos if x.is_f32() => acos(x),
        MathOp::Log if x.is_f32() => log(x),
        MathOp::Log2 => log2(x),
        MathOp::Log10 => log10(x),
        MathOp::Log1p => log1p(x),
        MathOp::Expm1 => expm1(x),
        MathOp::Sinh => sinh(x),
        MathOp::Cosh => cosh(x),
        MathOp::Cbrt if x.is_f32() => cbrt(x),
        MathOp::Hypot => hypot(x, y?),
        _ => return None,
    };
    Some(value)
}

/// One of two by the type of `x`.
fn either<T>(x: Real<'_>, single: T, double: T) -> T {
    if x.is_f32() { single } else { double }
}

/// `x = n pi/2 + r` by Cody and Waite's reduction: as long as the integer `n` fits 30 bits (`f64`) or 15 bits (`f32`), the first
/// difference is a multiple of the last place of pi/2, or of `x`, below one, and so exact.
fn reduced(x: Real<'_>) -> (Word<'_>, Real<'_>) {
    let n = (x * std::f64::consts::FRAC_2_PI).nearest();
    let r = either(x, tables::HALF_PI_F32, tables::HALF_PI_F64).iter().fold(x, |r, part| n.mul_add(-part, r));
    (n.as_word(), r)
}

/// Magnitudes that [`reduced`] takes.
fn greatest_angle(x: Real<'_>) -> f64 {
    either(x, 30_000.0, 1e9)
}

/// `value`, but for arguments too large to be reduced that of the function in `f64` (`f32`) or of the library, in a branch.
fn with_huge_angles<'a>(x: Real<'a>, value: Real<'a>, op: MathOp, in_double: fn(Real<'a>) -> Real<'a>) -> Real<'a> {
    let big = x.abs().gt(greatest_angle(x));
    let other = || if x.is_f32() { in_double(x.widened()).narrowed() } else { x.library(op) };
    let [value] = x.code.rarely(big, [value], || [big.pick(other(), value)]);
    value
}

/// `sin(x + quarters pi/2)` of arguments that are not huge.
fn shifted_sine(x: Real<'_>, quarters: u64) -> Real<'_> {
    let (n, r) = reduced(x);
    let n = n.plus(quarters);
    let z = r * r;
    let sine = (r * z).mul_add(z.polynomial(either(x, tables::SIN_F32, tables::SIN_F64)), r);
    let cosine = z.mul_add(z.polynomial(either(x, tables::COS_F32, tables::COS_F64)), 1.0);
    let value = (n & 1).is_zero().pick(sine, cosine);
    value.bits().flipped_by((n & 2) << either(x, 30, 62)).real()
}

fn sin(x: Real<'_>) -> Real<'_> {
    let value = with_huge_angles(x, shifted_sine(x, 0), MathOp::Sin, trig::sin);
    x.eq(0.0).pick(x, value)
}

fn cos(x: Real<'_>) -> Real<'_> {
    with_huge_angles(x, shifted_sine(x, 1), MathOp::Cos, trig::cos)
}

/// The tangent of `f32`: a polynomial in `r`, or minus one over it. What `r` loses is kept, since the tangent grows faster than
/// its argument.
fn tan(x: Real<'_>) -> Real<'_> {
    let n = (x * std::f64::consts::FRAC_2_PI).nearest();
    let [first, second, third] = tables::HALF_PI_F32;
    let product = n.product(n.constant(second));
    let r = n.mul_add(-first, x).sum(-product.high);
    let lost = n.mul_add(-third, r.low - product.low);
    let r = r.high;
    let z = r * r;
    let tangent = r + (z * r).mul_add(z.polynomial(tables::TAN_F32), z.mul_add(lost, lost));
    let even = (n.as_word() & 1).is_zero();
    let value = even.pick(tangent, tangent.constant(-1.0)) / even.pick(1.0, tangent);
    let value = with_huge_angles(x, value, MathOp::Tan, trig::tan);
    x.eq(0.0).pick(x, value)
}

/// `base + atan(t)` for `|t| <= 1` and a base of two parts that is zero or greater than one. What the sum of base and `t` loses is
/// kept.
fn angle<'a>(base: (Real<'a>, Real<'a>), t: Real<'a>) -> Real<'a> {
    let z = t * t;
    let series = if t.is_f32() { z.polynomial(tables::ATAN_F32) } else { z.polynomial_in_halves(tables::ATAN_F64) };
    let more = (z * series).mul_add(t, base.1);
    let sum = base.0.sum_ordered(t);
    sum.high + (sum.low + more)
}

/// pi/2 as a number of the type of `x` and what that leaves.
fn half_pi(x: Real<'_>) -> (f64, f64) {
    either(x, (tables::HALF_PI_F32[0], tables::HALF_PI_F32[1]), (tables::HALF_PI_F64[0], tables::HALF_PI_F64[1]))
}

/// The arc tangent: beyond one, what that of `-1/|x|` leaves of pi/2.
fn atan(x: Real<'_>) -> Real<'_> {
    let a = x.abs();
    let beyond = a.gt(1.0);
    let (high, low) = half_pi(x);
    let base = (beyond.pick_constant(x, high, 0.0), beyond.pick_constant(x, low, 0.0));
    angle(base, beyond.pick(-1.0 / a, a)).with_sign_of(x)
}

/// The angle of the point `(x, y)`, from the quotient of the lesser and the greater magnitude; zeros and infinities as in C.
fn atan2<'a>(y: Real<'a>, x: Real<'a>) -> Real<'a> {
    let (p, q) = (y.abs(), x.abs());
    let steep = p.gt(q);
    let (small, great) = (steep.pick(q, p), steep.pick(p, q));
    // Two infinities are like two ones, two zeros like zero and one.
    let infinite = great.eq(f64::INFINITY);
    let small = infinite.pick(small.eq(f64::INFINITY).pick_constant(x, 1.0, 0.0), small);
    let great = infinite.pick(1.0, great);
    let t = small / great.eq(0.0).pick(1.0, great);
    // The angle is t or pi - t, and pi/2 - t or pi/2 + t where it is steep.
    let left = x.is_negative();
    let (high, low) = half_pi(x);
    let base = |part: f64| steep.pick(part, left.pick_constant(x, 2.0 * part, 0.0));
    let value = angle((base(high), base(low)), steep.differs(left).pick(-t, t)).with_sign_of(y);
    (x.ne(x) | y.ne(y)).pick(f64::NAN, value)
}

/// What the arc sine of `|x|`, of `f32`, is made of, with `z = x^2` and `s = |x|` up to one half, `z = (1 - |x|)/2` and `s = sqrt(z)`
/// beyond: `s`, what `asin(s)` is more than `s`, and whether `|x|` is beyond one half.
fn arc(x: Real<'_>) -> (Real<'_>, Real<'_>, Mask<'_>) {
    let a = x.abs();
    let upper = a.gt(0.5);
    let z = upper.pick((1.0 - a) * 0.5, a * a);
    let s = upper.pick(z.sqrt(), a);
    (s, s * (z * z.polynomial(tables::ASIN_F32)), upper)
}

fn asin(x: Real<'_>) -> Real<'_> {
    let (s, more, upper) = arc(x);
    let (high, low) = half_pi(x);
    let beyond = high - (s * 2.0 + (more * 2.0 - low));
    upper.pick(beyond, s + more).with_sign_of(x)
}

fn acos(x: Real<'_>) -> Real<'_> {
    let (s, more, upper) = arc(x);
    let (high, low) = half_pi(x);
    let negative = x.lt(0.0);
    let (signed_s, signed_more) = (negative.pick(-s, s), negative.pick(-more, more));
    let middle = high - (signed_s + (signed_more - low));
    let right = (s + more) * 2.0;
    let left = (high - (s + (more - low))) * 2.0;
    upper.pick(negative.pick(left, right), middle)
}

/// What `ln(1 + f)` is more than `f`.
fn beyond_log(f: Real<'_>) -> Real<'_> {
    if f.is_f32() {
        return f.polynomial(tables::LOG_F32) * (f * f);
    }
    let (tail, half_square) = log::series(f);
    tail - half_square
}

/// `ln(1 + f) + k ln 2`.
fn natural<'a>(k: Real<'a>, f: Real<'a>) -> Real<'a> {
    let (high, low) = either(f, log::LN2_F32, log::LN2_F64);
    let more = k.mul_add(low, beyond_log(f));
    k.mul_add(high, f + more)
}

fn log(x: Real<'_>) -> Real<'_> {
    let (k, f) = log::split(x);
    log::edges(x, natural(k, f))
}

/// `c ln(1 + f) + k d`, for `c` and `d` as sums of two constants, the second rounded so that its products with exponents are exact.
fn scaled_log(x: Real<'_>, c: (f64, f64), d: (f64, f64)) -> Real<'_> {
    let (k, f) = log::split(x);
    let more = beyond_log(f).mul_add(c.0, f * c.1);
    let more = if d.1 == 0.0 { more } else { k.mul_add(d.1, more) };
    log::edges(x, k.mul_add(d.0, f.mul_add(c.0, more)))
}

fn log2(x: Real<'_>) -> Real<'_> {
    scaled_log(x, either(x, tables::LOG2_E_F32, log::LOG2_E), (1.0, 0.0))
}

fn log10(x: Real<'_>) -> Real<'_> {
    scaled_log(x, either(x, tables::LOG10_E_F32, log::LOG10_E), either(x, tables::LOG10_2_F32, log::LOG10_2))
}

/// `log(1 + x)`: with `1 + x` about `2^k (1 + f)`, the sum of `x 2^-k` and `2^-k - 1`, rounded once, instead of `f`.
fn log1p(x: Real<'_>) -> Real<'_> {
    let u = x + 1.0;
    let (k, f) = log::split(u);
    let scale = (-k).power_of_two();
    let f = x.gt(either(x, 16_777_216.0, 9_007_199_254_740_992.0)).pick(f, x.mul_add(scale, scale - 1.0));
    let value = log::edges(u, natural(k, f));
    let value = x.lt(f64::INFINITY).pick(value, x);
    x.eq(0.0).pick(x, value)
}

/// `x = n ln 2 + r`.
fn reduced_exponent(x: Real<'_>) -> (Real<'_>, Real<'_>) {
    let n = (x * std::f64::consts::LOG2_E).nearest();
    let (high, low) = either(x, tables::EXP_LN2_F32, log::LN2_F64);
    (n, n.mul_add(-low, n.mul_add(-high, x)))
}

/// `e^x - 1`: twice the sum of `2^(n-1) (e^r - 1)` and `2^(n-1) - 1/2`, which is next to exact where they cancel.
fn expm1(x: Real<'_>) -> Real<'_> {
    let (least, greatest) = either(x, (-30.0, 89.0), (-60.0, 710.0));
    let (n, r) = reduced_exponent(x.at_most(greatest).at_least(least));
    let tail = r.polynomial(either(x, tables::EXPM1_F32, super::exp::DOUBLE)) * (r * r);
    let scale = (n - 1.0).power_of_two();
    let half = scale.mul_add(tail, scale.mul_add(r, scale - 0.5));
    x.abs().lt(either(x, 1e-30, 1e-290)).pick(x, half + half)
}

/// `s = 2^(n-2)`, `t = 2^(-n-2)`, `e^r - 1` and `e^-r - 1` for `|x| = n ln 2 + r`.
fn exponentials(a: Real<'_>) -> [Real<'_>; 4] {
    let (n, r) = reduced_exponent(a.at_most(either(a, 89.5, 710.5)));
    let z = r * r;
    let even = z * z.polynomial(either(a, tables::COSH_F32, tables::COSH_F64));
    let odd = (z * z.polynomial(either(a, tables::SINH_F32, tables::SINH_F64))).mul_add(r, r);
    let small = (-n - 2.0).at_least(either(a, -126.0, -1022.0)).power_of_two();
    [(n - 2.0).power_of_two(), small, even + odd, even - odd]
}

/// The hyperbolic sine: a polynomial up to one, `(e^|x| - e^-|x|) / 2` beyond.
fn sinh(x: Real<'_>) -> Real<'_> {
    let a = x.abs();
    let [s, t, up, down] = exponentials(a);
    let half = s.mul_add(up, (-t).mul_add(down, s - t));
    let z = x * x;
    let near = (z * z.polynomial(either(x, tables::SINH_NEAR_F32, tables::SINH_NEAR_F64))).mul_add(a, a);
    a.lt(1.0).pick(near, half + half).with_sign_of(x)
}

fn cosh(x: Real<'_>) -> Real<'_> {
    let [s, t, up, down] = exponentials(x.abs());
    let half = s.mul_add(up, s) + t.mul_add(down, t);
    half + half
}

/// The cube root of `f32`: `|x| = 8^q m` with `m` between 1/2 and 4, a polynomial, and a step of Newton's method with an exact residual.
fn cbrt(x: Real<'_>) -> Real<'_> {
    let a = x.abs();
    let tiny = a.lt(1.175_494_350_822_287_5e-38);
    let bits = tiny.pick(a * 16_777_216.0, a).bits();
    let exponent = bits.shifted_right(23).small_to_real() - 126.0;
    let q = ((exponent + 0.5) * (1.0 / 3.0)).floor();
    let r = exponent - q * 3.0;
    let fraction = ((bits & 0x007f_ffff) | 0x3f00_0000).real();
    let (one, two) = (r.eq(1.0), r.eq(2.0));
    let m = fraction * one.pick(2.0, two.pick_constant(x, 4.0, 1.0));
    let root = one.pick(super::root::CBRT_2, two.pick_constant(x, super::root::CBRT_4, 1.0));
    let y = fraction.polynomial(super::root::CBRT) * root;
    let square = y.product(y);
    let rest = (-square.high).mul_add(y, m) - square.low * y;
    let y = rest.mul_add(1.0 / (square.high * 3.0), y);
    let value = y * (q - tiny.pick_constant(x, 8.0, 0.0)).power_of_two();
    let usual = a.gt(0.0) & a.lt(f64::INFINITY);
    usual.pick(value, a).with_sign_of(x)
}

/// `sqrt(x^2 + y^2)` without overflow on the way; infinite if an argument is, even if the other is NaN.
fn hypot<'a>(x: Real<'a>, y: Real<'a>) -> Real<'a> {
    let (p, q) = (x.abs(), y.abs());
    let great = p.max(q);
    let (greatest, least) = either(x, (1e18, 1e-15), (1e150, 1e-140));
    let (big, small) = (great.gt(greatest), great.lt(least));
    let (down, up) = either(x, (2f64.powi(-70), 2f64.powi(100)), (2f64.powi(-600), 2f64.powi(600)));
    let factor = big.pick(down, small.pick_constant(x, up, 1.0));
    let back = big.pick(1.0 / down, small.pick_constant(x, 1.0 / up, 1.0));
    let (p, q) = (p * factor, q * factor);
    let value = p.mul_add(p, q * q).sqrt() * back;
    let infinite = p.eq(f64::INFINITY) | q.eq(f64::INFINITY);
    let value = infinite.pick(f64::INFINITY, value);
    ((x.ne(x) | y.ne(y)) & !infinite).pick(f64::NAN, value)
}
