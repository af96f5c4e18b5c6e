//! Functions of `f32` in `f32` arithmetic, twice as many lanes as in `f64`.

use super::real::{Code, Real, Word};
use super::{exp, trig};

/// `(sin(r) / r - 1) / r^2` in powers of `r^2`, for `|r| <= pi/4`; 2^-28.
const SIN: &[f64] = &[-0.00019514631722645896, 0.008332156052338988, -0.16666654536601935];
/// `(cos(r) - 1 + r^2/2) / r^4` in powers of `r^2`, for `|r| <= pi/4`; 2^-33.
const COS: &[f64] = &[2.4432413159084086e-05, -0.001388730986856597, 0.041666645554521306];
/// `(tanh(x) / x - 1) / x^2` in powers of `x^2`, for `|x| <= 0.55`; 2^-30.
const TANH: &[f64] =
    &[-0.006274239137960995, 0.021071678771002602, -0.053852309830060466, 0.1333258613740805, -0.33333317559613496];
/// Up to here the polynomial, beyond the exponential.
const TANH_SMALL: f64 = 0.55;

/// pi/2 in three `f32`.
const HALF_PI: [f64; 3] = [1.570_796_370_506_286_6, -4.371_138_828_673_793e-8, -1.715_124_510_005_881_9e-15];
/// Magnitudes that these reduce: quotients fit 15 bits, so that what the third part leaves out is nothing beside the argument
/// nearest to a multiple of pi/2.
const GREATEST: f64 = 30_000.0;

/// `x = n pi/2 + r`. Cody and Waite's reduction with fused operations: the first difference is exact.
fn reduced(x: Real<'_>) -> (Word<'_>, Real<'_>) {
    let n = (x * std::f64::consts::FRAC_2_PI).nearest();
    let r = HALF_PI.iter().fold(x, |r, part| n.mul_add(-part, r));
    (n.as_word(), r)
}

/// `sin(x + quarters pi/2)`; arguments beyond [`GREATEST`] take a branch to `f64`.
fn shifted_sine<'a>(x: Real<'a>, quarters: u64, in_double: impl FnOnce(Real<'a>) -> Real<'a>) -> Real<'a> {
    let (n, r) = reduced(x);
    let n = n.plus(quarters);
    let z = r * r;
    let sine = (z * z.polynomial(SIN)).mul_add(r, r);
    let cosine = (z * z).mul_add(z.polynomial(COS), z.mul_add(-0.5, 1.0));
    let value = (n & 1).is_nonzero().pick(cosine, sine);
    let value = value.bits().flipped_by((n & 2) << 30).real();
    let big = x.abs().gt(GREATEST);
    let [value] = x.code.rarely(big, [value], || [big.pick(in_double(x.widened()).narrowed(), value)]);
    value
}

/// Does [`sin`] reach its bound here? It needs fused operations.
pub(super) fn has_sine(code: Code<'_>) -> bool {
    code.single && code.fuses()
}

/// The sine. Within 2 units in the last place.
pub(super) fn sin(x: Real<'_>) -> Real<'_> {
    x.eq(0.0).pick(x, shifted_sine(x, 0, trig::sin))
}

/// The cosine. Within 2 units in the last place.
pub(super) fn cos(x: Real<'_>) -> Real<'_> {
    shifted_sine(x, 1, trig::cos)
}

/// The hyperbolic tangent: a polynomial next to zero, `1 - 2 / (e^2|x| + 1)` elsewhere. Within 2 units in the last place.
pub(super) fn tanh(x: Real<'_>) -> Real<'_> {
    let magnitude = x.abs();
    let z = x * x;
    let near = (z * z.polynomial(TANH)).mul_add(magnitude, magnitude);
    let far = 1.0 - 2.0 / (exp::exp(magnitude * 2.0) + 1.0);
    magnitude.gt(TANH_SMALL).pick(far, near).with_sign_of(x)
}
