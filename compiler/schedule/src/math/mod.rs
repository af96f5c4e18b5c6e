//! Mathematical functions as nest operations; see [`call`]. The formulas are those of `ravel-math`.

mod steps;

#[cfg(test)]
#[path = "../../tests/unit/accuracy.rs"]
mod accuracy;

use std::cell::RefCell;

use ravel_math::MathOp as Formula;
use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{self as nest, MathOp};
use ravel_types::{BinOp, UnOp};

use steps::Steps;

type Val = nest::Value;

/// `op` of one or two arguments of one float type. Functions without an expansion are calls of the C library, lane by lane. Devices
/// have functions of their own, which are faster there than an expansion for processors.
pub(crate) fn call(b: &mut FuncBuilder, arith: Arith, op: MathOp, args: &[Val]) -> Val {
    match Formula::from_name(op.name()) {
        Some(formula) if !b.in_launch() => {
            let cell = RefCell::new(b);
            let steps = Steps(&cell);
            let args: Vec<_> = args.iter().map(|v| steps.val(*v)).collect();
            Steps::value(ravel_math::expand(&steps, arith.fma, formula, &args))
        }
        _ => b.math(op, args),
    }
}

/// Is the function computed by instructions on all lanes at once, and not by a call per lane?
pub(crate) fn is_expanded(op: MathOp) -> bool {
    Formula::from_name(op.name()).is_some()
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
