//! Sums, products and quotients with about twice the digits of `f64`.
//!
//! Dekker, "A floating-point technique for extending the available precision", 1971; Knuth, "The Art of Computer Programming",
//! volume 2, 4.2.2.

use super::real::Real;

impl<'a> Real<'a> {
    /// The product of two numbers without error, as a sum. Without fused operations by halves of the fractions (Dekker, 1971),
    /// for magnitudes below 2^990.
    pub fn product(self, other: Real<'a>) -> Pair<'a> {
        let high = self * other;
        if self.fuses() {
            return Pair { high, low: self.mul_add(other, -high) };
        }
        let split = |x: Real<'a>| {
            let wide = x * 134_217_729.0;
            let upper = wide - (wide - x);
            (upper, x - upper)
        };
        let ((a, b), (c, d)) = (split(self), split(other));
        Pair { high, low: ((a * c - high) + a * d + b * c) + b * d }
    }

    /// The sum of two numbers without error (Knuth).
    pub fn sum(self, other: Real<'a>) -> Pair<'a> {
        let high = self + other;
        let second = high - self;
        let first = high - second;
        Pair { high, low: (self - first) + (other - second) }
    }

    /// The sum without error where the first number is zero or at least as large as the second (Dekker).
    pub fn sum_ordered(self, other: Real<'a>) -> Pair<'a> {
        let high = self + other;
        Pair { high, low: other - (high - self) }
    }
}

/// The unevaluated sum of two `f64`, the second at most about half a unit in the last place of the first.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub high: Real<'a>,
    pub low: Real<'a>,
}

impl<'a> Pair<'a> {
    /// The quotient: one division, corrected by its remainder.
    pub fn over(self, divisor: Pair<'a>) -> Pair<'a> {
        let inverse = 1.0 / divisor.high;
        let high = self.high * inverse;
        let back = high.product(divisor.high);
        let rest = ((self.high - back.high) - back.low) + (self.low - high * divisor.low);
        Pair { high, low: rest * inverse }
    }

    /// The product, with the error of one rounding of its low part.
    pub fn times(self, other: Pair<'a>) -> Pair<'a> {
        let product = self.high.product(other.high);
        let cross = self.high.mul_add(other.low, self.low * other.high);
        product.high.sum_ordered(product.low + cross)
    }

    /// As one number.
    pub fn value(self) -> Real<'a> {
        self.high + self.low
    }
}
