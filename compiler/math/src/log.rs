//! Logarithms and the inverse hyperbolic functions.

use super::pair::Pair;
use super::real::{Mask, Real};

/// `(2 artanh(s) / s - 2) / s^2` in powers of `s^2`, for `s` up to `(sqrt(2) - 1) / (sqrt(2) + 1)`; 2^-57.
const DOUBLE: &[f64] = &[
    0.14721611538169918,
    0.15321817602591076,
    0.18183245388407007,
    0.22222205059921402,
    0.28571428675051297,
    0.39999999999740443,
    0.6666666666666681,
];
/// The same; 2^-36.
const SINGLE: &[f64] = &[0.2349502136081794, 0.285424769302501, 0.40000240740242987, 0.6666666615592153];

/// ln 2 in two parts; products of the first with exponents are exact.
pub(super) const LN2_F32: (f64, f64) = (6.931_381_225_6e-1, 9.058_000_614_5e-6);
pub(super) const LN2_F64: (f64, f64) = (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10);
/// 1 / ln 2 and 1 / ln 10, each as the sum of two.
pub(super) const LOG2_E: (f64, f64) = (std::f64::consts::LOG2_E, 2.035_527_374_093_103_3e-17);
pub(super) const LOG10_E: (f64, f64) = (std::f64::consts::LOG10_E, 1.098_319_650_216_765e-17);
/// log10 2; the first part has 32 bits, so that its products with exponents are exact.
pub(super) const LOG10_2: (f64, f64) = (0.301_029_995_549_470_2, 1.145_110_089_802_183_8e-10);

/// `x = 2^k (1 + f)` with `1 + f` between the square roots of one half and two, for positive `x`, subnormal ones too.
pub(super) fn split(x: Real<'_>) -> (Real<'_>, Real<'_>) {
    let (least, scale, one, root_half, fraction, bits) = match x.is_f32() {
        true => (1.175_494_350_822_287_5e-38, 25u64, 0x3f80_0000, 0x3f35_04f3, 0x007f_ffff, 23),
        false => (f64::MIN_POSITIVE, 54, 0x3ff0_0000_0000_0000, 0x3fe6_a09e_667f_3bcd, 0x000f_ffff_ffff_ffff, 52),
    };
    let bias = if bits == 23 { 127.0 } else { 1023.0 };
    let tiny = x.lt(least);
    let normal = tiny.pick(x * (1u64 << scale) as f64, x);
    let bias = tiny.pick_constant(x, bias + scale as f64, bias);
    let raised = normal.bits().plus(one - root_half);
    let k = raised.shifted_right(bits).small_to_real() - bias;
    let m = (raised & fraction).plus(root_half).real();
    (k, m - 1.0)
}

/// `s (f^2/2 + R)` and `f^2/2`, so that `ln(1 + f)` is `f - (f^2/2 - s (f^2/2 + R))`.
pub(super) fn series(f: Real<'_>) -> (Real<'_>, Real<'_>) {
    let s = f / (f + 2.0);
    let z = s * s;
    let r = z * z.polynomial(f.code.table(DOUBLE, SINGLE));
    let half_square = f * f * 0.5;
    (s * (half_square + r), half_square)
}

/// What logarithms are at zero, below it, at infinity and of NaN.
pub(super) fn edges<'a>(x: Real<'a>, value: Real<'a>) -> Real<'a> {
    let outside = x.eq(0.0).pick_constant(x, f64::NEG_INFINITY, f64::NAN);
    let value = x.gt(0.0).pick(value, outside);
    x.lt(f64::INFINITY).pick(value, x)
}

/// `ln(1 + f) + k ln 2 + more`.
fn combined<'a>(k: Real<'a>, f: Real<'a>, more: Option<Real<'a>>) -> Real<'a> {
    let (tail, half_square) = series(f);
    let (high, low) = if f.is_f32() { LN2_F32 } else { LN2_F64 };
    let tail = match more {
        Some(more) => tail + k.mul_add(low, more),
        None => k.mul_add(low, tail),
    };
    k * high - ((half_square - tail) - f)
}

/// The natural logarithm: `x = 2^k (1 + f)` and a series in `s = f / (2 + f)`. Within 1 unit in the last place.
pub(super) fn log(x: Real<'_>) -> Real<'_> {
    let (k, f) = split(x);
    edges(x, combined(k, f, None))
}

/// `log(1 + x)`, with what the sum loses added to the result. Within 1.5 units in the last place.
pub(super) fn log1p(x: Real<'_>) -> Real<'_> {
    let u = x.constant(1.0).sum(x);
    let value = combined_with(u, x.constant(0.0));
    let value = edges(u.high, value);
    let value = x.lt(f64::INFINITY).pick(value, x);
    x.eq(0.0).pick(x, value)
}

/// `ln(u) + extra ln 2` for a sum `u` of two numbers.
fn combined_with<'a>(u: Pair<'a>, extra: Real<'a>) -> Real<'a> {
    let (k, f) = split(u.high);
    // What is lost matters for `f32` only where u is next to one.
    let lost = if u.high.code.single { u.high.lt(2.0).pick(u.low, u.low.constant(0.0)) } else { u.low / u.high };
    combined(k + extra, f, Some(lost))
}

/// `ln(1 + f)` as a pair.
fn series_pair(f: Real<'_>) -> Pair<'_> {
    let (tail, half_square) = series(f);
    let high = f - half_square;
    Pair { high, low: ((f - high) - half_square) + tail }
}

/// `(ln(1 + f) c) + k d`, for `c` and `d` as sums of two constants.
fn scaled(x: Real<'_>, c: (f64, f64), d: (f64, f64)) -> Real<'_> {
    let (k, f) = split(x);
    let log = series_pair(f);
    if x.code.single {
        return edges(x, (log.high + log.low).mul_add(c.0, k * (d.0 + d.1)));
    }
    let product = log.high.product(x.constant(c.0));
    let whole = (k * d.0).sum_ordered(product.high);
    let rest = (log.low * c.0 + log.high * c.1) + product.low + k * d.1;
    edges(x, whole.high + (whole.low + rest))
}

/// The binary logarithm. Within 1 unit in the last place; exact for powers of two.
pub(super) fn log2(x: Real<'_>) -> Real<'_> {
    scaled(x, LOG2_E, (1.0, 0.0))
}

/// The decimal logarithm. Within 1 unit in the last place.
pub(super) fn log10(x: Real<'_>) -> Real<'_> {
    scaled(x, LOG10_E, LOG10_2)
}

/// `ln(1 + y)` for a pair `y` that is not negative, or of `y` itself where `huge` holds; then doubled arguments add ln 2.
fn log_of_pair<'a>(y: Pair<'a>, huge: Mask<'a>, doubled: Real<'a>) -> Real<'a> {
    let u = y.high.constant(1.0).sum(y.high);
    let u = Pair { high: huge.pick(doubled, u.high), low: huge.pick(0.0, u.low + y.low) };
    combined_with(u, huge.pick_constant(doubled, 1.0, 0.0))
}

/// The square root of a pair, as a pair.
fn root<'a>(x: Pair<'a>) -> Pair<'a> {
    let high = x.high.sqrt();
    if high.code.single {
        return Pair { high, low: high.constant(0.0) };
    }
    let square = high.product(high);
    let rest = ((x.high - square.high) - square.low) + x.low;
    Pair { high, low: high.gt(0.0).pick(rest / (high * 2.0), high) }
}

/// The inverse hyperbolic sine: `log1p(x + x^2 / (1 + sqrt(1 + x^2)))`, the argument as a pair. Within 2 units in the last
/// place.
pub(super) fn asinh(x: Real<'_>) -> Real<'_> {
    let a = x.abs();
    let huge = a.gt(1e18);
    let t = huge.pick(1.0, a);
    let square = t.product(t);
    let sum = square.high.constant(1.0).sum(square.high);
    let r = root(Pair { high: sum.high, low: sum.low + square.low });
    let below = r.high.sum(r.high.constant(1.0));
    let quotient = square.over(Pair { high: below.high, low: below.low + r.low });
    let y = t.sum(quotient.high);
    let value = log_of_pair(Pair { high: y.high, low: y.low + quotient.low }, huge, a);
    let value = a.lt(f64::INFINITY).pick(value, a);
    let value = a.lt(1e-150).pick(a, value);
    value.with_sign_of(x)
}

/// The inverse hyperbolic cosine: `log1p(t + sqrt(t (t + 2)))` with `t = x - 1`. Within 2 units in the last place.
pub(super) fn acosh(x: Real<'_>) -> Real<'_> {
    let huge = x.gt(1e18);
    let t = huge.pick(2.0, x) - 1.0;
    let wide = t.sum(t.constant(2.0));
    let product = Pair { high: t, low: t.constant(0.0) }.times(wide);
    let r = root(product);
    let y = t.sum(r.high);
    let value = log_of_pair(Pair { high: y.high, low: y.low + r.low }, huge, x);
    let value = x.lt(f64::INFINITY).pick(value, x);
    x.lt(1.0).pick(f64::NAN, value)
}

/// The inverse hyperbolic tangent: half of `log1p(2x / (1 - x))`, the argument as a pair. Within 2 units in the last place.
pub(super) fn atanh(x: Real<'_>) -> Real<'_> {
    let a = x.abs();
    let below = a.constant(1.0).sum(-a);
    let y = Pair { high: a * 2.0, low: a.constant(0.0) }.over(below);
    let u = y.high.constant(1.0).sum(y.high);
    let value = combined_with(Pair { high: u.high, low: u.low + y.low }, a.constant(0.0)) * 0.5;
    let outside = a.eq(1.0).pick_constant(a, f64::INFINITY, f64::NAN);
    let value = a.lt(1.0).pick(value, outside);
    let value = a.lt(1e-150).pick(a, value);
    value.with_sign_of(x)
}
