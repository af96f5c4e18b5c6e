//! The derivative of each operation on reals, as the header of [`ravel_wir`] has them.

use super::number::Num;
use ravel_types::{BinOp, EvalFault, Scalar, UnOp, eval_bin, eval_un};
use std::f64::consts::{LN_2, LN_10};

fn real(x: f64) -> Num {
    Num::Real(x)
}

fn real_of(result: Result<Scalar, EvalFault>) -> Num {
    match result {
        Ok(Scalar::F64(value)) => real(value),
        // No rule is asked for what is not real.
        _ => real(f64::NAN),
    }
}

/// An operation on one number.
pub fn un(op: UnOp, x: &Num) -> Num {
    match op {
        UnOp::Neg => -x,
        UnOp::Reciproc => &real(1.0) / x,
        UnOp::Abs if x.real() == 0.0 => real(0.0),
        UnOp::Abs => {
            if x.real() < 0.0 {
                -x
            } else {
                x.clone()
            }
        }
        _ => match x {
            Num::Real(x) => real_of(eval_un(op, Scalar::F64(*x))),
            Num::Dual(_) => x.map(|x| un(op, x), |x, y| slope(op, x, y)),
        },
    }
}

/// The slope of a smooth function, where `y` is its value at `x`. There is none where it is constant around each point.
fn slope(op: UnOp, x: &Num, y: &Num) -> Option<Num> {
    let one = &real(1.0);
    Some(match op {
        UnOp::Sqrt => &real(0.5) / y,
        UnOp::Cbrt => one / &(&real(3.0) * &(y * y)),
        UnOp::Exp => un(UnOp::Exp, x),
        UnOp::Expm1 => un(UnOp::Exp, x),
        UnOp::Log => one / x,
        UnOp::Log1p => one / &(one + x),
        UnOp::Log2 => one / &(x * &real(LN_2)),
        UnOp::Log10 => one / &(x * &real(LN_10)),
        UnOp::Sin => un(UnOp::Cos, x),
        UnOp::Cos => -&un(UnOp::Sin, x),
        UnOp::Tan => one + &(y * y),
        UnOp::Asin => one / &root_of_one_minus_square(x),
        UnOp::Acos => -&(one / &root_of_one_minus_square(x)),
        UnOp::Atan => one / &(one + &(x * x)),
        UnOp::Sinh => un(UnOp::Cosh, x),
        UnOp::Cosh => un(UnOp::Sinh, x),
        UnOp::Tanh => &(one - y) * &(one + y),
        UnOp::Asinh => one / &bin(BinOp::Hypot, x, one),
        // Two roots: below -1 there is no value, and so no slope.
        UnOp::Acosh => one / &(&un(UnOp::Sqrt, &(x - one)) * &un(UnOp::Sqrt, &(x + one))),
        UnOp::Atanh => one / &(&(one - x) * &(one + x)),
        _ => return None,
    })
}

fn root_of_one_minus_square(x: &Num) -> Num {
    let one = &real(1.0);
    un(UnOp::Sqrt, &(&(one - x) * &(one + x)))
}

/// An operation on two numbers.
pub fn bin(op: BinOp, a: &Num, b: &Num) -> Num {
    let (x, y) = (a.real(), b.real());
    match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a * b,
        BinOp::Div => a / b,
        BinOp::Mod => remainder(a, b, (x / y).trunc()),
        BinOp::AplMod if y == 0.0 => a.clone(),
        BinOp::AplMod => {
            let rest = x % y;
            let is_other_side = rest != 0.0 && (rest < 0.0) != (y < 0.0);
            remainder(a, b, (x / y).trunc() - f64::from(u8::from(is_other_side)))
        }
        BinOp::Min | BinOp::Max if x == y => &(a + b) * &real(0.5),
        BinOp::Min => {
            if y < x || y.is_nan() {
                b.clone()
            } else {
                a.clone()
            }
        }
        BinOp::Max => {
            if y > x || y.is_nan() {
                b.clone()
            } else {
                a.clone()
            }
        }
        BinOp::Copysign => {
            if x.is_sign_negative() == y.is_sign_negative() {
                a.clone()
            } else {
                -a
            }
        }
        _ => match (a, b) {
            (Num::Real(a), Num::Real(b)) => real_of(eval_bin(op, Scalar::F64(*a), Scalar::F64(*b))),
            _ => smooth(op, a, b),
        },
    }
}

/// `a - times * b`, where the factor is constant.
fn remainder(a: &Num, b: &Num, times: f64) -> Num {
    if times == 0.0 { a.clone() } else { a - &(&real(times) * b) }
}

fn smooth(op: BinOp, a: &Num, b: &Num) -> Num {
    let value = |a: &Num, b: &Num| bin(op, a, b);
    match op {
        BinOp::Pow => Num::zip(a, b, value, [&power_slope, &|base, exponent, y| exponent_slope(base, exponent, y)]),
        BinOp::Atan2 => Num::zip(
            a,
            b,
            value,
            [&|y, x, _| away_from_origin(y, x, &|radius| &(x / radius) / radius), &|y, x, _| {
                away_from_origin(y, x, &|radius| -&(&(y / radius) / radius))
            }],
        ),
        BinOp::Hypot => Num::zip(
            a,
            b,
            value,
            [&|x, y, _| away_from_origin(x, y, &|radius| x / radius), &|x, y, _| {
                away_from_origin(x, y, &|radius| y / radius)
            }],
        ),
        _ => value(&real(a.real()), &real(b.real())),
    }
}

/// The slope of a power in its base.
fn power_slope(base: &Num, exponent: &Num, _: &Num) -> Option<Num> {
    if exponent.real() == 0.0 && (base.real() == 0.0 || exponent.level() == 0) {
        return None;
    }
    Some(exponent * &bin(BinOp::Pow, base, &(exponent - &real(1.0))))
}

/// The slope of a power in its exponent. Powers of 0 are constant there, but for the negative ones.
fn exponent_slope(base: &Num, exponent: &Num, power: &Num) -> Option<Num> {
    if base.real() == 0.0 && exponent.real() >= 0.0 {
        return None;
    }
    Some(power * &un(UnOp::Log, base))
}

fn away_from_origin(x: &Num, y: &Num, slope: &dyn Fn(&Num) -> Num) -> Option<Num> {
    (x.real() != 0.0 || y.real() != 0.0).then(|| slope(&bin(BinOp::Hypot, x, y)))
}

/// A step of a fold: an extreme is the first one, and so it is the accumulator's unless the cell is beyond it.
pub fn fold(op: BinOp, acc: &mut Num, cell: &Num) {
    let (x, y) = (acc.real(), cell.real());
    let is_beyond = match op {
        BinOp::Add => return acc.accumulate(cell),
        BinOp::Min => y < x,
        BinOp::Max => y > x,
        _ => {
            *acc = bin(op, acc, cell);
            return;
        }
    };
    if is_beyond || (y.is_nan() && !x.is_nan()) {
        *acc = cell.clone();
    }
}
