//! Cube roots and lengths.

use super::pair::Pair;
use super::real::Real;

/// The cube root on [1/2, 1]; 2^-19 relative.
pub(super) const CBRT: &[f64] = &[
    0.13584464973869204,
    -0.6398696019255302,
    1.2875564053222812,
    -1.4897096707570583,
    1.3304967474302154,
    0.37568270101171236,
];
/// Cube roots of 2 and 4.
pub(super) const CBRT_2: f64 = 1.259_921_049_894_873_2;
pub(super) const CBRT_4: f64 = 1.587_401_051_968_199_6;

/// The cube root: `|x| = 8^q m` with `m` between 1/2 and 4, a polynomial, and two steps of Newton's method, the second with an exact
/// residual. Within 1 unit in the last place.
pub(super) fn cbrt(x: Real<'_>) -> Real<'_> {
    let a = x.abs();
    let tiny = a.lt(f64::MIN_POSITIVE);
    let normal = tiny.pick(a * 18_014_398_509_481_984.0, a);
    let bits = normal.bits();
    let exponent = bits.shifted_right(52).small_to_real() - 1022.0;
    let q = ((exponent + 0.5) * (1.0 / 3.0)).floor();
    let r = exponent - q * 3.0;
    let fraction = ((bits & 0x000f_ffff_ffff_ffff) | 0x3fe0_0000_0000_0000).real();
    let (one, two) = (r.eq(1.0), r.eq(2.0));
    let m = fraction * one.pick(2.0, two.pick_constant(x, 4.0, 1.0));
    let y = fraction.polynomial(CBRT) * one.pick(CBRT_2, two.pick_constant(x, CBRT_4, 1.0));
    let inverse = 1.0 / (y * y * 3.0);
    let y = y - (y * y * y - m) * inverse;
    let y = if x.code.single {
        y
    } else {
        let square = y.product(y);
        let cube = square.high.product(y);
        let rest = ((m - cube.high) - cube.low) - square.low * y;
        rest.mul_add(inverse, y)
    };
    let value = y * (q - tiny.pick_constant(x, 18.0, 0.0)).power_of_two();
    let usual = a.gt(0.0) & a.lt(f64::INFINITY);
    usual.pick(value, a).with_sign_of(x)
}

/// `sqrt(x^2 + y^2)` without overflow on the way: the sum of the squares as a pair, and a correction of its root. Within 1 unit in
/// the last place; infinite if an argument is, even if the other is NaN.
pub(super) fn hypot<'a>(x: Real<'a>, y: Real<'a>) -> Real<'a> {
    let (p, q) = (x.abs(), y.abs());
    let value = if x.code.single {
        p.mul_add(p, q * q).sqrt()
    } else {
        let great = p.max(q);
        let (big, small) = (great.gt(1e150), great.lt(1e-140));
        let scale = |up: f64, down: f64| big.pick(down, small.pick_constant(x, up, 1.0));
        let (two_600, two_m600) = (4.149_515_568_880_993e180, 2.409_919_865_102_884e-181);
        let factor = scale(two_600, two_m600);
        let (p, q) = (p * factor, q * factor);
        let (a, b) = (p.max(q), p.min(q));
        let (square, other) = (a.product(a), b.product(b));
        let sum = square.high.sum_ordered(other.high);
        let sum = Pair { high: sum.high, low: sum.low + (square.low + other.low) };
        let root = sum.high.sqrt();
        let back = root.product(root);
        let rest = ((sum.high - back.high) - back.low) + sum.low;
        let root = root.gt(0.0).pick(root + rest / (root + root), root);
        root * scale(two_m600, two_600)
    };
    let infinite = p.eq(f64::INFINITY) | q.eq(f64::INFINITY);
    let value = infinite.pick(f64::INFINITY, value);
    ((x.ne(x) | y.ne(y)) & !infinite).pick(f64::NAN, value)
}
