//! Powers.

use super::pair::Pair;
use super::real::Real;
use super::{exp, log};

/// `((artanh(s) / s - 1) / s^2 - 1/3) / s^2` in powers of `s^2`; 2^-60.
const LOG_DOUBLE: &[f64] = &[
    0.05862342372535502,
    0.05853042153963177,
    0.06667405359879056,
    0.07692297422074572,
    0.09090909168292834,
    0.11111111110825082,
    0.14285714285714687,
    0.2,
];
/// The same; 2^-45.
const LOG_SINGLE: &[f64] = &[
    0.07213757058654514,
    0.07673863896361895,
    0.09091193338348877,
    0.11111109137118415,
    0.1428571429072116,
    0.19999999999997942,
];
/// 2 / ln 2, ln 2 and one third, each as the sum of two.
const TWO_LOG2_E: (f64, f64) = (2.885_390_081_777_926_8, 4.071_054_748_186_206_6e-17);
const LN2: (f64, f64) = (std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);
const THIRD: (f64, f64) = (1.0 / 3.0, 1.850_371_707_708_594e-17);

/// `x` to the power of `y`: `2^(y log2 |x|)` with the logarithm to 64 bits, then the sign, then C's special cases. Within 1 unit in
/// the last place.
pub(super) fn pow<'a>(x: Real<'a>, y: Real<'a>) -> Real<'a> {
    let a = x.abs();
    let log = log2(a);
    let value = exp2(log, y);
    let one = y.constant(1.0);
    // Edges of the magnitude: powers of zero and infinity, and infinite powers.
    let below = a.lt(1.0);
    let grows = below.differs(y.gt(0.0));
    let extreme = grows.pick_constant(y, f64::INFINITY, 0.0);
    let at_edge = a.eq(0.0) | a.eq(f64::INFINITY) | y.abs().eq(f64::INFINITY);
    let value = at_edge.pick(extreme, value);
    // Signs.
    let whole = y.trunc().eq(y);
    let half = y * 0.5;
    let odd = whole & half.trunc().ne(half);
    let negative = odd & x.is_negative();
    let value = negative.pick(-value, value);
    let undefined = x.lt(0.0) & !whole & a.lt(f64::INFINITY);
    let value = undefined.pick(f64::NAN, value);
    let nan = x.ne(x) | y.ne(y);
    let value = nan.pick(f64::NAN, value);
    // (-1)^(+-infinity), 1^y and x^0 are one.
    let unit = x.eq(1.0) | y.eq(0.0) | (a.eq(1.0) & y.abs().eq(f64::INFINITY));
    unit.pick(one, value)
}

/// log2 of a positive number, to 64 bits.
fn log2(x: Real<'_>) -> Pair<'_> {
    let (k, f) = log::split(x);
    if x.code.single {
        let s = f / (f + 2.0);
        let z = s * s;
        let series = z.polynomial(LOG_SINGLE).mul_add(z, THIRD.0) * z;
        let w = s * TWO_LOG2_E.0;
        return Pair { high: w.mul_add(series, w) + k, low: k.constant(0.0) };
    }
    let two = f.constant(2.0);
    let s = Pair { high: f, low: f.constant(0.0) }.over(two.sum_ordered(f));
    let s = s.high.sum_ordered(s.low);
    let z = s.times(s);
    // u = artanh(s)/s - 1 = z (1/3 + z P(z))
    let rest = z.high * z.high.polynomial(LOG_DOUBLE);
    let third = f.constant(THIRD.0).sum_ordered(rest);
    let u = z.times(Pair { high: third.high, low: third.low + THIRD.1 });
    let w = s.times(Pair { high: f.constant(TWO_LOG2_E.0), low: f.constant(TWO_LOG2_E.1) });
    let wu = w.times(u);
    let m = w.high.sum_ordered(wu.high);
    let whole = k.sum_ordered(m.high);
    whole.high.sum_ordered(whole.low + (m.low + (w.low + wu.low)))
}

/// `2^(y log)`.
fn exp2<'a>(log: Pair<'a>, y: Real<'a>) -> Real<'a> {
    if y.code.single {
        let t = (log.high * y).at_most(400.0).at_least(-400.0);
        let n = t.nearest();
        let r = (t - n) * LN2.0;
        return (r.polynomial(exp::SINGLE).mul_add(r * r, r) + 1.0) * n.power_of_two();
    }
    // Powers far from one are huge or tiny whatever the digits of y: clamping keeps products finite.
    let y = y.at_most(1e300).at_least(-1e300);
    let product = log.high.product(y);
    let bounded = product.high.abs().lt(1100.0);
    let high = product.high.at_most(1100.0).at_least(-1100.0);
    let low = bounded.pick(product.low + log.low * y, y.constant(0.0));
    let n = high.nearest();
    let t = high - n;
    let scaled = t.product(t.constant(LN2.0));
    let lower = scaled.low + (t * LN2.1 + low * LN2.0);
    let r = scaled.high.sum(lower);
    let (r, lower) = (r.high, r.low);
    let tail = r.polynomial(exp::DOUBLE).mul_add(r * r, lower + lower * r);
    (1.0 + (r + tail)).scaled(n)
}
