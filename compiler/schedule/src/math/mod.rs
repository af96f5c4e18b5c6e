//! Mathematical functions as nest operations; see [`call`].
//!
//! An expansion is used for scalars and for vectors alike, so that a value does not depend on the lane that computed it.
//! Where multiply-add is one instruction most functions have a form of their own (`fused`). The other functions of `f32`, except for `exp`,
//! `log` and `tanh`, are computed in `f64` with short polynomials and rounded once, which leaves overflow and subnormal results to the
//! final conversion.
//!
//! Methods are those of Muller, "Elementary Functions", 3rd edition, 2016: additive range reduction (chapter 11), polynomials
//! that are minimax on the reduced range (chapter 3), and compensated sums where a rounding would show. The coefficients
//! were made for these ranges with Remez's algorithm in 240 bits; the comment at a table states the maximal relative
//! error. Each function states its error in units in the last place of the result; `docs/performance.md` has what was measured.

mod exp;
mod fused;
mod fused_tables;
mod inverse;
mod log;
mod pair;
mod pow;
mod real;
mod root;
mod trig;

#[cfg(test)]
mod accuracy;

use std::cell::RefCell;

use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{self as nest, MathOp, Prim};
use ravel_types::{BinOp, UnOp};

use real::{Code, Real};

type Val = nest::Value;

/// `op` of one or two arguments of one float type. Functions without an expansion are calls of the C library, lane by lane. Devices
/// have functions of their own, which are faster there than an expansion for processors.
pub(crate) fn call(b: &mut FuncBuilder, arith: Arith, op: MathOp, args: &[Val]) -> Val {
    if !is_expanded(op) || b.in_launch() {
        return b.math(op, args);
    }
    let single = b.ty(args[0]).prim == Prim::F32;
    let cell = RefCell::new(b);
    let code = Code::new(&cell, arith.fma, single);
    let x = code.real(args[0]);
    if let Some(value) = fused::function(op, x, args.get(1).map(|&y| code.real(y))) {
        return value.val;
    }
    match (op, args.get(1)) {
        (MathOp::Exp, _) => exp::exp(x).val,
        (MathOp::Log, _) => log::log(x).val,
        (MathOp::Tanh, _) if single => exp::tanh_single(x).val,
        (_, y) => {
            let widened = |x: Real<'_>| if single { x.widened().val } else { x.val };
            let (x, y) = (code.real(widened(x)), y.map(|&y| code.real(widened(code.real(y)))));
            let value = in_double(op, x, y.unwrap_or(x));
            if single { value.narrowed().val } else { value.val }
        }
    }
}

fn in_double<'a>(op: MathOp, x: Real<'a>, y: Real<'a>) -> Real<'a> {
    match op {
        MathOp::Expm1 => exp::expm1(x),
        MathOp::Sinh => exp::sinh(x),
        MathOp::Cosh => exp::cosh(x),
        MathOp::Tanh => exp::tanh(x),
        MathOp::Log1p => log::log1p(x),
        MathOp::Log2 => log::log2(x),
        MathOp::Log10 => log::log10(x),
        MathOp::Asinh => log::asinh(x),
        MathOp::Acosh => log::acosh(x),
        MathOp::Atanh => log::atanh(x),
        MathOp::Pow => pow::pow(x, y),
        MathOp::Sin => trig::sin(x),
        MathOp::Cos => trig::cos(x),
        MathOp::Tan => trig::tan(x),
        MathOp::Asin => inverse::asin(x),
        MathOp::Acos => inverse::acos(x),
        MathOp::Atan => inverse::atan(x),
        MathOp::Atan2 => inverse::atan2(x, y),
        MathOp::Cbrt => root::cbrt(x),
        MathOp::Hypot => root::hypot(x, y),
        MathOp::Exp | MathOp::Exp2 | MathOp::Log | MathOp::Fmod | MathOp::Round => unreachable!("not expanded here"),
    }
}

/// Is the function computed by instructions on all lanes at once, and not by a call per lane?
pub(crate) fn is_expanded(op: MathOp) -> bool {
    !matches!(op, MathOp::Exp2 | MathOp::Fmod | MathOp::Round)
}

/// The function that computes a unary operation of WIR, if it is a mathematical one.
pub(crate) fn of_unary(op: UnOp) -> Option<MathOp> {
    MathOp::from_name(op.name())
}

/// The function that computes a binary operation of WIR on floats, if it is a mathematical one.
pub(crate) fn of_binary(op: BinOp) -> Option<MathOp> {
    MathOp::from_name(op.name())
}

/// Rough cycles of an expansion on one vector of `f32` that fills a register.
pub(crate) fn cycles(op: MathOp) -> f64 {
    match op {
        MathOp::Exp | MathOp::Log => 14.0,
        MathOp::Sin | MathOp::Cos | MathOp::Tanh => 25.0,
        MathOp::Pow | MathOp::Atan2 | MathOp::Asinh | MathOp::Acosh => 70.0,
        _ => 40.0,
    }
}

/// What fusing or precision the target offers to expansions.
#[derive(Clone, Copy)]
pub(crate) struct Arith {
    /// Whether fused multiply-add is one instruction.
    pub fma: bool,
}
