//! The exponential and what is made of it.

use super::pair::Pair;
use super::real::{Code, Real};

/// `(e^r - 1 - r) / r^2` for `|r| <= ln(2)/2`; 2^-61 relative to `e^r - 1`.
pub(super) const DOUBLE: &[f64] = &[
    2.0925073558872345e-09,
    2.5109778254943877e-08,
    2.7557240895692433e-07,
    2.7557242417576925e-06,
    2.4801587362440947e-05,
    0.00019841269887518775,
    0.0013888888888866117,
    0.008333333333321265,
    0.0416666666666667,
    0.16666666666666677,
    0.5,
];
/// The same; 2^-31.
pub(super) const SINGLE: &[f64] = &[
    0.00019914989323776804,
    0.0013941316509040493,
    0.008333271936505762,
    0.04166635432554305,
    0.16666666819679996,
    0.5000000044778663,
];

/// The same for the exponential alone; 2^-57 relative to `e^r`.
const IN_F64: &[f64] = &[
    2.5000015350348537e-08,
    2.7630306260847273e-07,
    2.755758681412301e-06,
    2.4801492949578704e-05,
    0.00019841269505763468,
    0.0013888888943760053,
    0.008333333333494982,
    0.041666666666529725,
    0.1666666666666641,
    0.5000000000000011,
];
/// The same for arithmetic in `f32`; 2^-28 relative to `e^r`.
const IN_F32: &[f64] =
    &[0.0013814539988643848, 0.008368745116366207, 0.0416683907873694, 0.16666520398962306, 0.4999999343211062];

/// Arguments that decide what kind of number the exponential is.
struct Range {
    /// Here it is zero.
    zero: f64,
    /// Below, it is subnormal.
    subnormal: f64,
    /// The last one where it is finite.
    finite: f64,
    /// ln 2 in two parts; products of the first with exponents are exact.
    ln2: (f64, f64),
}

const RANGE_F32: Range = Range {
    zero: -104.0,
    subnormal: -87.336_544,
    finite: 88.722_831_726_074_22,
    ln2: (0.693_359_375, -2.121_944_4e-4),
};
const RANGE_F64: Range = Range {
    zero: -746.0,
    subnormal: -708.396_418_532_264_1,
    finite: 709.782_712_893_384,
    ln2: (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10),
};

/// The exponential: `x = n ln 2 + r`, a polynomial in `r`, and `n` added to the exponent. Within 1.5 units in the last place; NaN,
/// infinities, overflow and underflow as in C.
///
/// Subnormal results are rounded by a sum whose last place is theirs. Multiplications would do that too, but processors
/// leave products that are subnormal to microcode, which takes longer than all the rest.
pub(super) fn exp(x: Real<'_>) -> Real<'_> {
    let range = if x.is_f32() { &RANGE_F32 } else { &RANGE_F64 };
    let inside = x.at_least(range.zero);
    let (n, exponent) = inside.nearest_multiple(std::f64::consts::LOG2_E);
    let r = n.mul_add(-range.ln2.1, n.mul_add(-range.ln2.0, inside));
    let tail = r.polynomial(if x.is_f32() { IN_F32 } else { IN_F64 });
    let value = tail.mul_add(r, 1.0).mul_add(r, 1.0);
    let scaled = value.bits().sum(exponent);
    let value = x.lt(range.subnormal).pick(scaled.rounded_as_subnormal(), scaled.real());
    // The sum is infinite beyond the range, and NaN for NaN, whose bits have changed.
    x.le(range.finite).pick(value, x + f64::INFINITY)
}

/// `e^x = 2^n (1 + p)`, with `p` between -0.3 and 0.42.
fn parts(x: Real<'_>) -> (Real<'_>, Pair<'_>) {
    let n = (x * std::f64::consts::LOG2_E).nearest();
    let (high, low) = RANGE_F64.ln2;
    let upper = n.mul_add(-high, x);
    let lower = n * low;
    let r = upper - lower;
    let tail = (r * r) * r.polynomial(x.code.table(DOUBLE, SINGLE));
    if x.code.single {
        return (n, Pair { high: r + tail, low: r.constant(0.0) });
    }
    let lost = (upper - r) - lower;
    let p = r.sum_ordered(tail);
    (n, Pair { high: p.high, low: p.low + lost })
}

/// `c + p` for a constant `c` that is zero or greater than `p`.
fn plus<'a>(c: Real<'a>, p: Pair<'a>) -> Pair<'a> {
    if c.code.single {
        return Pair { high: c + p.high, low: p.low };
    }
    let sum = c.sum_ordered(p.high);
    Pair { high: sum.high, low: sum.low + p.low }
}

fn quotient<'a>(code: Code<'a>, x: Pair<'a>, y: Pair<'a>) -> Pair<'a> {
    if code.single { Pair { high: x.high / y.high, low: x.low } } else { x.over(y) }
}

/// `e^x - 1 = 2^n (p + (1 - 2^-n))`. Within 1 unit in the last place.
pub(super) fn expm1(x: Real<'_>) -> Real<'_> {
    let (n, p) = parts(x.at_most(710.0).at_least(-60.0));
    let w = (-n).at_least(-1000.0).power_of_two();
    let value = plus(1.0 - w, p).value().scaled(n);
    x.eq(0.0).pick(x, value)
}

/// With `w = 2^-2n`: `e^x -+ e^-x = 2^n ((1 -+ w) + p +- w p / (1 + p))`; the quotient as a pair.
fn halves<'a>(x: Real<'a>) -> (Real<'a>, Real<'a>, Pair<'a>, Pair<'a>) {
    let (n, p) = parts(x.abs().at_most(711.0));
    let w = (n * -2.0).at_least(-1000.0).power_of_two();
    let g = quotient(x.code, p, plus(x.constant(1.0), p));
    (n, w, p, Pair { high: g.high * w, low: g.low * w })
}

/// The hyperbolic sine. Within 1.5 units in the last place.
pub(super) fn sinh(x: Real<'_>) -> Real<'_> {
    let (n, w, p, g) = halves(x);
    let sum = plus(1.0 - w, p);
    let value = if x.code.single {
        sum.high + g.high
    } else {
        let total = sum.high.sum(g.high);
        total.high + (total.low + (sum.low + g.low))
    };
    value.scaled(n - 1.0).with_sign_of(x)
}

/// The hyperbolic cosine. Within 1.5 units in the last place.
pub(super) fn cosh(x: Real<'_>) -> Real<'_> {
    let (n, w, p, g) = halves(x);
    let sum = plus(1.0 + w, p);
    let value = (sum.high - g.high) + (sum.low - g.low);
    value.scaled(n - 1.0)
}

/// The hyperbolic tangent: with `e^2|x| = 2^n (1 + p)` and `w = 2^-n`, the quotient of `p + (1 - w)` and `p + (1 + w)`. Within
/// 1 unit in the last place.
pub(super) fn tanh(x: Real<'_>) -> Real<'_> {
    let (n, p) = parts(x.abs().at_most(22.0) * 2.0);
    let w = (-n).power_of_two();
    let mut above = plus(1.0 - w, p);
    let mut below = plus(1.0 + w, p);
    if !x.code.single {
        // Next to one the difference from one is all there is.
        let one = x.constant(1.0);
        above.low = above.low + one.sum_ordered(-w).low;
        below.low = below.low + one.sum_ordered(w).low;
    }
    quotient(x.code, above, below).value().with_sign_of(x)
}

/// `(tanh(x) / x - 1) / x^2` in powers of `x^2`, for `|x| <= 0.55`; 2^-30.
const TANH_SINGLE: &[f64] =
    &[-0.006274239137960995, 0.021071678771002602, -0.053852309830060466, 0.1333258613740805, -0.33333317559613496];
/// Up to here the polynomial, beyond the exponential.
const TANH_SMALL: f64 = 0.55;

/// The hyperbolic tangent of `f32` in `f32`: a polynomial next to zero, `1 - 2 / (e^2|x| + 1)` elsewhere. Within 2 units in the last
/// place.
pub(super) fn tanh_single(x: Real<'_>) -> Real<'_> {
    let magnitude = x.abs();
    let z = x * x;
    let near = (z * z.polynomial(TANH_SINGLE)).mul_add(magnitude, magnitude);
    let far = 1.0 - 2.0 / (exp(magnitude * 2.0) + 1.0);
    magnitude.gt(TANH_SMALL).pick(far, near).with_sign_of(x)
}
