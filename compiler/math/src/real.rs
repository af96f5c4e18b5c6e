//! Arithmetic on lanes, written as formulas.
//!
//! A [`Real`] is a value of `f32` or `f64` lanes of a [`Machine`]; its operators are steps of that.
//! Constants are `f64`, rounded to the type of the other operand. Nothing is reassociated: every operator rounds once.

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

use crate::MathOp;
use crate::machine::{BinOp, Cmp, Conv, Kind, Machine, UnOp, Val};

/// Who computes, and what the target and the final precision ask for.
#[derive(Clone, Copy)]
pub(super) struct Code<'a> {
    machine: &'a dyn Machine,
    /// Whether fused multiply-add is one instruction.
    fma: bool,
    /// Whether results become `f32` in the end, so that relative errors of 2^-29 do not matter.
    pub single: bool,
}

/// Floating-point lanes.
#[derive(Clone, Copy)]
pub(super) struct Real<'a> {
    pub code: Code<'a>,
    pub val: Val,
}

/// Integer lanes, as wide as the floats they come from.
#[derive(Clone, Copy)]
pub(super) struct Word<'a> {
    code: Code<'a>,
    val: Val,
}

/// Truth of each lane.
#[derive(Clone, Copy)]
pub(super) struct Mask<'a> {
    code: Code<'a>,
    val: Val,
}

impl<'a> Code<'a> {
    pub fn new(machine: &'a dyn Machine, fma: bool, single: bool) -> Code<'a> {
        Code { machine, fma, single }
    }

    /// Does the target fuse?
    pub fn fuses(self) -> bool {
        self.fma
    }

    pub fn real(self, val: Val) -> Real<'a> {
        Real { code: self, val }
    }

    /// Coefficients for the precision at hand.
    pub fn table(self, double: &'static [f64], single: &'static [f64]) -> &'static [f64] {
        if self.single { single } else { double }
    }

    /// Values from a branch that runs if any lane of `when` holds; the usual ones otherwise.
    pub fn rarely<const N: usize>(
        self,
        when: Mask<'a>,
        usual: [Real<'a>; N],
        rare: impl FnOnce() -> [Real<'a>; N],
    ) -> [Real<'a>; N] {
        let mut rare = Some(rare);
        let mut rare = || rare.take().map_or(Vec::new(), |rare| rare().map(|x| x.val).to_vec());
        let results = self.machine.rarely(when.val, &usual.map(|x| x.val), &mut rare);
        std::array::from_fn(|k| self.real(results[k]))
    }
}

impl<'a> Real<'a> {
    pub fn is_f32(self) -> bool {
        self.val.kind == Kind::F32
    }

    /// A constant in lanes like these.
    pub fn constant(self, value: f64) -> Real<'a> {
        self.code.real(self.code.machine.constant(self.val, value))
    }

    fn unary(self, op: UnOp) -> Real<'a> {
        self.code.real(self.code.machine.unary(op, self.val))
    }

    fn binary(self, op: BinOp, other: Real<'a>) -> Real<'a> {
        self.code.real(self.code.machine.binary(op, self.val, other.val))
    }

    fn compare(self, cmp: Cmp, other: Real<'a>) -> Mask<'a> {
        Mask { code: self.code, val: self.code.machine.compare(cmp, self.val, other.val) }
    }

    /// `self * x + y`, rounded once where the target fuses.
    pub fn mul_add(self, x: impl Operand<'a>, y: impl Operand<'a>) -> Real<'a> {
        let (x, y) = (x.like(self), y.like(self));
        if self.code.fma {
            return self.code.real(self.code.machine.fma(self.val, x.val, y.val));
        }
        self * x + y
    }

    pub fn abs(self) -> Real<'a> {
        self.unary(UnOp::Abs)
    }

    pub fn sqrt(self) -> Real<'a> {
        self.unary(UnOp::Sqrt)
    }

    /// The nearest integer, ties to even.
    pub fn nearest(self) -> Real<'a> {
        self.unary(UnOp::Nearest)
    }

    pub fn floor(self) -> Real<'a> {
        self.unary(UnOp::Floor)
    }

    pub fn trunc(self) -> Real<'a> {
        self.unary(UnOp::Trunc)
    }

    /// At most `limit`; NaN stays.
    pub fn at_most(self, limit: f64) -> Real<'a> {
        self.binary(BinOp::FMin, self.constant(limit))
    }

    /// At least `limit`; NaN stays.
    pub fn at_least(self, limit: f64) -> Real<'a> {
        self.binary(BinOp::FMax, self.constant(limit))
    }

    /// The greater of two, NaN if one is NaN.
    pub fn max(self, other: Real<'a>) -> Real<'a> {
        self.binary(BinOp::FMax, other)
    }

    /// The lesser of two, NaN if one is NaN.
    pub fn min(self, other: Real<'a>) -> Real<'a> {
        self.binary(BinOp::FMin, other)
    }

    pub fn eq(self, other: impl Operand<'a>) -> Mask<'a> {
        self.compare(Cmp::Eq, other.like(self))
    }

    pub fn ne(self, other: impl Operand<'a>) -> Mask<'a> {
        self.compare(Cmp::Ne, other.like(self))
    }

    pub fn lt(self, other: impl Operand<'a>) -> Mask<'a> {
        self.compare(Cmp::Lt, other.like(self))
    }

    pub fn le(self, other: impl Operand<'a>) -> Mask<'a> {
        self.compare(Cmp::Le, other.like(self))
    }

    pub fn gt(self, other: impl Operand<'a>) -> Mask<'a> {
        self.compare(Cmp::Gt, other.like(self))
    }

    /// The polynomial with these coefficients, from the last power down to the constant, by Horner's rule.
    pub fn polynomial(self, coefficients: &[f64]) -> Real<'a> {
        let (first, rest) = coefficients.split_first().expect("tables of coefficients are not empty");
        rest.iter().fold(self.constant(*first), |sum, &c| sum.mul_add(self, c))
    }

    /// The same for long tables, in two halves that do not wait for each other. The half with the high powers is small.
    pub fn polynomial_in_halves(self, coefficients: &[f64]) -> Real<'a> {
        let (high, low) = coefficients.split_at(coefficients.len() / 2);
        self.polynomial(high).mul_add(self.to_the(low.len()), self.polynomial(low))
    }

    /// A positive power, by squares.
    fn to_the(self, n: usize) -> Real<'a> {
        if n == 1 {
            return self;
        }
        let root = self.to_the(n / 2);
        let square = root * root;
        if n % 2 == 1 { square * self } else { square }
    }

    /// The bits.
    pub fn bits(self) -> Word<'a> {
        let to = if self.is_f32() { Kind::I32 } else { Kind::I64 };
        Word { code: self.code, val: self.code.machine.convert(Conv::Bits, self.val, to) }
    }

    /// Is the sign bit set?
    pub fn is_negative(self) -> Mask<'a> {
        self.bits().compare(Cmp::Lt, 0)
    }

    /// The magnitude of `self` with the sign of `sign`; `self` is not negative.
    pub fn with_sign_of(self, sign: Real<'a>) -> Real<'a> {
        let top = 1 << if self.is_f32() { 31 } else { 63 };
        (self.bits() | (sign.bits() & top)).real()
    }

    /// Two to the power of an integer that a normal number has as exponent: bits of the sum with 1.5 times the weight of
    /// the last place are the integer.
    pub fn power_of_two(self) -> Real<'a> {
        let (magic, bias, fraction) =
            if self.is_f32() { (12_582_912.0, 127.0, 23) } else { (6_755_399_441_055_744.0, 1023.0, 52) };
        ((self + (magic + bias)).bits() << fraction).real()
    }

    /// The integer `n` nearest to `self * factor`, of a magnitude that an exponent has, and `n` where a float has its exponent. A sum with
    /// 1.5 times the weight of the last place has `n` in its last bits; the shift drops the others.
    pub fn nearest_multiple(self, factor: f64) -> (Real<'a>, Word<'a>) {
        let (magic, fraction) = if self.is_f32() { (12_582_912.0, 23) } else { (6_755_399_441_055_744.0, 52) };
        let sum = self.mul_add(factor, magic);
        (sum - magic, sum.bits() << fraction)
    }

    /// An integer as a word; it takes less than half the bits of the fraction.
    pub fn as_word(self) -> Word<'a> {
        let magic = if self.is_f32() { 12_582_912.0 } else { 6_755_399_441_055_744.0 };
        (self + magic).bits()
    }

    /// `self * 2^n` for an integer `n` up to twice the range of exponents, in two steps, so that it is rounded once where
    /// the result is subnormal.
    pub fn scaled(self, n: Real<'a>) -> Real<'a> {
        let half = (n * 0.5).floor();
        self * half.power_of_two() * (n - half).power_of_two()
    }

    /// `f32` lanes as `f64`.
    pub fn widened(self) -> Real<'a> {
        self.code.real(self.code.machine.convert(Conv::Float, self.val, Kind::F64))
    }

    /// `f64` lanes as `f32`.
    pub fn narrowed(self) -> Real<'a> {
        self.code.real(self.code.machine.convert(Conv::Float, self.val, Kind::F32))
    }

    /// The function of the C library, lane by lane.
    pub fn library(self, op: MathOp) -> Real<'a> {
        self.code.real(self.code.machine.library(op, self.val))
    }

    /// Does the target fuse?
    pub fn fuses(self) -> bool {
        self.code.fuses()
    }
}

impl<'a> Word<'a> {
    fn constant(self, bits: u64) -> Word<'a> {
        Word { code: self.code, val: self.code.machine.bits(self.val, bits) }
    }

    fn binary(self, op: BinOp, other: Word<'a>) -> Word<'a> {
        Word { code: self.code, val: self.code.machine.binary(op, self.val, other.val) }
    }

    /// Wrapping sum.
    pub fn plus(self, bits: u64) -> Word<'a> {
        self.binary(BinOp::IAdd, self.constant(bits))
    }

    /// Wrapping sum of two.
    pub fn sum(self, other: Word<'a>) -> Word<'a> {
        self.binary(BinOp::IAdd, other)
    }

    /// Logical shift right.
    pub fn shifted_right(self, by: u64) -> Word<'a> {
        self.binary(BinOp::UShr, self.constant(by))
    }

    /// The subnormal float nearest to a number below all normal ones, given as a float whose exponent field has wrapped around.
    /// Counted in the least subnormal number, it wraps back; the sum of the count and a float whose last place is one has
    /// the count, rounded, as its last bits, and those are the bits of the result.
    pub fn rounded_as_subnormal(self) -> Real<'a> {
        let (least, unit, bits_of_unit) = if self.val.kind == Kind::I32 {
            (149 << 23, 8_388_608.0_f64, u64::from(8_388_608.0_f32.to_bits()))
        } else {
            (1074 << 52, 4_503_599_627_370_496.0, 4_503_599_627_370_496.0_f64.to_bits())
        };
        let count = self.plus(least).real() + unit;
        count.bits().plus(bits_of_unit.wrapping_neg()).real()
    }

    /// Flips bits.
    pub fn flipped_by(self, other: Word<'a>) -> Word<'a> {
        self.binary(BinOp::Xor, other)
    }

    fn compare(self, cmp: Cmp, bits: u64) -> Mask<'a> {
        let other = self.constant(bits);
        Mask { code: self.code, val: self.code.machine.compare(cmp, self.val, other.val) }
    }

    /// Is it zero? Processors without masks of their own have no instruction for the opposite.
    pub fn is_zero(self) -> Mask<'a> {
        self.compare(Cmp::Eq, 0)
    }

    /// The value of integers below 2^13, as floats.
    pub fn small_to_real(self) -> Real<'a> {
        if self.val.kind == Kind::I32 {
            return self.code.real(self.code.machine.convert(Conv::Signed, self.val, Kind::F32));
        }
        // Vectors of 64-bit integers have no conversion: place the number in the fraction of 2^52.
        (self | 0x4330_0000_0000_0000).real() - 4_503_599_627_370_496.0
    }

    /// The floats with these bits.
    pub fn real(self) -> Real<'a> {
        let to = if self.val.kind == Kind::I32 { Kind::F32 } else { Kind::F64 };
        self.code.real(self.code.machine.convert(Conv::Bits, self.val, to))
    }
}

impl<'a> Mask<'a> {
    /// `x` where it holds, `y` elsewhere.
    pub fn pick(self, x: impl Operand<'a>, y: Real<'a>) -> Real<'a> {
        let x = x.like(y);
        self.code.real(self.code.machine.select(self.val, x.val, y.val))
    }

    /// One of two constants in lanes like those of `like`.
    pub fn pick_constant(self, like: Real<'a>, x: f64, y: f64) -> Real<'a> {
        self.pick(x, like.constant(y))
    }

    /// Where one holds and the other does not.
    pub fn differs(self, other: Mask<'a>) -> Mask<'a> {
        Mask { code: self.code, val: self.code.machine.binary(BinOp::Xor, self.val, other.val) }
    }
}

/// A number in a formula: lanes or a constant.
pub(super) trait Operand<'a>: Copy {
    /// As lanes of the type of `other`.
    fn like(self, other: Real<'a>) -> Real<'a>;
}

impl<'a> Operand<'a> for Real<'a> {
    fn like(self, _: Real<'a>) -> Real<'a> {
        self
    }
}

impl<'a> Operand<'a> for f64 {
    fn like(self, other: Real<'a>) -> Real<'a> {
        other.constant(self)
    }
}

macro_rules! operators {
    ($($name:ident $method:ident $op:ident),*) => {$(
        impl<'a, T: Operand<'a>> $name<T> for Real<'a> {
            type Output = Real<'a>;
            fn $method(self, other: T) -> Real<'a> {
                self.binary(BinOp::$op, other.like(self))
            }
        }
        impl<'a> $name<Real<'a>> for f64 {
            type Output = Real<'a>;
            fn $method(self, other: Real<'a>) -> Real<'a> {
                other.constant(self).binary(BinOp::$op, other)
            }
        }
    )*};
}

operators!(Add add FAdd, Sub sub FSub, Mul mul FMul, Div div FDiv);

impl<'a> Neg for Real<'a> {
    type Output = Real<'a>;
    fn neg(self) -> Real<'a> {
        self.unary(UnOp::Neg)
    }
}

impl<'a> BitAnd<u64> for Word<'a> {
    type Output = Word<'a>;
    fn bitand(self, bits: u64) -> Word<'a> {
        self.binary(BinOp::And, self.constant(bits))
    }
}

impl<'a> BitOr<u64> for Word<'a> {
    type Output = Word<'a>;
    fn bitor(self, bits: u64) -> Word<'a> {
        self.binary(BinOp::Or, self.constant(bits))
    }
}

impl<'a> BitOr for Word<'a> {
    type Output = Word<'a>;
    fn bitor(self, other: Word<'a>) -> Word<'a> {
        self.binary(BinOp::Or, other)
    }
}

impl<'a> std::ops::Shl<u64> for Word<'a> {
    type Output = Word<'a>;
    fn shl(self, by: u64) -> Word<'a> {
        self.binary(BinOp::Shl, self.constant(by))
    }
}

impl<'a> BitAnd for Mask<'a> {
    type Output = Mask<'a>;
    fn bitand(self, other: Mask<'a>) -> Mask<'a> {
        Mask { code: self.code, val: self.code.machine.binary(BinOp::And, self.val, other.val) }
    }
}

impl<'a> BitOr for Mask<'a> {
    type Output = Mask<'a>;
    fn bitor(self, other: Mask<'a>) -> Mask<'a> {
        Mask { code: self.code, val: self.code.machine.binary(BinOp::Or, self.val, other.val) }
    }
}

impl<'a> Not for Mask<'a> {
    type Output = Mask<'a>;
    fn not(self) -> Mask<'a> {
        let val = self.code.machine.not(self.val);
        Mask { code: self.code, val }
    }
}
