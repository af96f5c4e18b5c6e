//! Inverse trigonometric functions.

use super::pair::Pair;
use super::real::Real;

/// `(atan(t) / t - 1) / t^2` in powers of `t^2`, for `|t| <= tan(pi/8)`; 2^-63.
const ATAN_DOUBLE: &[f64] = &[
    0.01569509407297781,
    -0.03399426009263517,
    0.04527198712492327,
    -0.05224585612489327,
    0.05878046120038616,
    -0.06666338797980725,
    0.07692290921215918,
    -0.09090908534728415,
    0.11111111099923547,
    -0.14285714285593562,
    0.1999999999999946,
    -0.3333333333333333,
];
/// The same; 2^-34.
const ATAN_SINGLE: &[f64] = &[
    0.04878888862465337,
    -0.08546478761701959,
    0.11058370931355153,
    -0.14283227760404074,
    0.19999951993641352,
    -0.3333333312713122,
];
/// `(asin(x) / x - 1) / x^2` in powers of `x^2`, for `|x| <= 1/2`; 2^-59.
const ASIN_DOUBLE: &[f64] = &[
    0.031198660696843607,
    -0.018639130506098424,
    0.01998301074560468,
    0.00444086108250687,
    0.010578289356389414,
    0.011436433502345083,
    0.013976032477803295,
    0.01735203022291507,
    0.022372190538451135,
    0.030381943621714248,
    0.04464285715449915,
    0.07499999999993082,
    0.16666666666666674,
];
/// The same; 2^-35.
const ASIN_SINGLE: &[f64] = &[
    0.0333704398483094,
    0.008651881028518235,
    0.02420194507022242,
    0.030183043459126733,
    0.04465364602015703,
    0.07499975512389831,
    0.16666666795389024,
];
/// pi/2 and pi/4, each as the sum of two.
const HALF_PI: (f64, f64) = (std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17);
const QUARTER_PI: (f64, f64) = (std::f64::consts::FRAC_PI_4, 3.061_616_997_868_383e-17);
/// tan(pi/8), above which the angle with pi/4 is computed.
const TAN_EIGHTH_PI: f64 = 0.414_213_562_373_095_05;

/// What the arc sine of `|x|` is made of, with `z = x^2` and `s = |x|` up to one half, `z = (1 - |x|)/2` and `s = sqrt(z)` beyond:
/// `s`, and what `asin(s)` is more than `s`.
fn arc<'a>(x: Real<'a>) -> (Real<'a>, Real<'a>) {
    let a = x.abs();
    let upper = a.gt(0.5);
    let z = upper.pick((1.0 - a) * 0.5, a * a);
    let s = upper.pick(z.sqrt(), a);
    let series = s * (z * z.polynomial(x.code.table(ASIN_DOUBLE, ASIN_SINGLE)));
    if x.code.single {
        return (s, series);
    }
    // What the square root loses; nothing where it is not used.
    let square = s.product(s);
    let lost = ((z - square.high) - square.low) / (s + s);
    let lost = (upper & s.gt(0.0)).pick(lost, x.constant(0.0));
    (s, series + lost)
}

/// The arc sine: a polynomial up to one half, `pi/2 - 2 asin(sqrt((1 - x)/2))` beyond. Within 1.5 units in the last
/// place.
pub(super) fn asin(x: Real<'_>) -> Real<'_> {
    let (s, more) = arc(x);
    let beyond = HALF_PI.0 - (s * 2.0 + (more * 2.0 - HALF_PI.1));
    let value = x.abs().gt(0.5).pick(beyond, s + more);
    value.with_sign_of(x)
}

/// The arc cosine: `pi/2 - asin(x)` up to one half, `2 asin(sqrt((1 - |x|)/2))` or its difference from pi beyond. Within 1 unit in
/// the last place.
pub(super) fn acos(x: Real<'_>) -> Real<'_> {
    let (s, more) = arc(x);
    let negative = x.lt(0.0);
    let (signed_s, signed_more) = (negative.pick(-s, s), negative.pick(-more, more));
    let middle = HALF_PI.0 - (signed_s + (signed_more - HALF_PI.1));
    let right = (s + more) * 2.0;
    let left = (HALF_PI.0 - (s + (more - HALF_PI.1))) * 2.0;
    x.abs().gt(0.5).pick(negative.pick(left, right), middle)
}

/// The angle of `b / a` for `0 <= b <= a`, as a pair: at most tan(pi/8) directly, else pi/4 and that of `(b - a) / (b + a)`.
fn octant<'a>(b: Real<'a>, a: Real<'a>) -> Pair<'a> {
    let far = b.gt(a * TAN_EIGHTH_PI);
    let zero = a.constant(0.0);
    if a.code.single {
        let t = far.pick(b - a, b) / far.pick(a + b, a);
        let z = t * t;
        let angle = (z * z.polynomial(ATAN_SINGLE)).mul_add(t, t);
        return Pair { high: far.pick_constant(a, QUARTER_PI.0, 0.0) + angle, low: zero };
    }
    let (above, below) = (b.sum(-a), a.sum(b));
    let above = Pair { high: far.pick(above.high, b), low: far.pick(above.low, zero) };
    let below = Pair { high: far.pick(below.high, a), low: far.pick(below.low, zero) };
    let t = above.over(below);
    let z = t.high * t.high;
    let more = (z * z.polynomial(ATAN_DOUBLE)).mul_add(t.high, t.low);
    let angle = t.high.sum_ordered(more);
    let sum = far.pick_constant(a, QUARTER_PI.0, 0.0).sum_ordered(angle.high);
    Pair { high: sum.high, low: sum.low + (angle.low + far.pick_constant(a, QUARTER_PI.1, 0.0)) }
}

/// `c - angle`, for a constant of two parts, where `swapped` holds.
fn reflected<'a>(angle: Pair<'a>, (high, low): (f64, f64)) -> Pair<'a> {
    let sum = angle.high.constant(high).sum_ordered(-angle.high);
    Pair { high: sum.high, low: sum.low + (low - angle.low) }
}

/// The arc tangent: of `1/x` beyond one, and of the angle with pi/4 near one. Within 1 unit in the last place.
pub(super) fn atan(x: Real<'_>) -> Real<'_> {
    let size = x.abs();
    let beyond = size.gt(1.0);
    // From 2^60 on the result is pi/2.
    let size = size.at_most(1.152_921_504_606_847e18);
    let angle = octant(beyond.pick(1.0, size), beyond.pick(size, size.constant(1.0)));
    let other = reflected(angle, HALF_PI);
    let value = beyond.pick(other.value(), angle.value());
    // Tiny arguments are their own arc tangents, without the digits that products of subnormal numbers lose.
    let value = size.lt(1e-20).pick(size, value);
    value.with_sign_of(x)
}

/// The angle of the point `(x, y)`, from the quotient of the lesser and the greater magnitude. Within 1 unit in the last place;
/// zeros and infinities as in C.
pub(super) fn atan2<'a>(y: Real<'a>, x: Real<'a>) -> Real<'a> {
    let (p, q) = (y.abs(), x.abs());
    let steep = p.gt(q);
    let (small, great) = (steep.pick(q, p), steep.pick(p, q));
    // Two infinities are like two ones, two zeros like zero and one.
    let infinite = great.eq(f64::INFINITY);
    let (small, great) = if x.code.single {
        let small = infinite.pick(small.eq(f64::INFINITY).pick_constant(x, 1.0, 0.0), small);
        (small, infinite.pick(1.0, great))
    } else {
        let small = infinite.pick(small.eq(f64::INFINITY).pick_constant(x, 1.0, 0.0), small);
        let great = infinite.pick(1.0, great);
        // Sums stay finite and remainders of quotients normal.
        let scale = great.gt(1e280).pick(
            1.0 / 1_180_591_620_717_411_303_424.0,
            great.lt(1e-200).pick_constant(x, 1.606_938_044_258_990_3e60, 1.0),
        );
        (small * scale, great * scale)
    };
    let great = great.eq(0.0).pick(1.0, great);
    let angle = octant(small, great);
    let angle = choose(steep, reflected(angle, HALF_PI), angle);
    let angle = choose(x.is_negative(), reflected(angle, (2.0 * HALF_PI.0, 2.0 * HALF_PI.1)), angle);
    let value = angle.value().with_sign_of(y);
    (x.ne(x) | y.ne(y)).pick(f64::NAN, value)
}

fn choose<'a>(when: super::real::Mask<'a>, x: Pair<'a>, y: Pair<'a>) -> Pair<'a> {
    Pair { high: when.pick(x.high, y.high), low: when.pick(x.low, y.low) }
}
