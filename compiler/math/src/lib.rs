//! Mathematical functions as formulas; see [`expand`].
//!
//! One text serves compiled code, the interpreter and constant folding: `schedule` makes nest operations of the steps, [`evaluate_f64`] and
//! [`evaluate_f32`] carry them out. An expansion is used for scalars and for vectors alike, so that a value does not depend on the lane that computed it.
//! Where multiply-add is one instruction most functions have a form of their own (`fused`). The other functions of `f32`, except for `exp`,
//! `log` and `tanh`, are computed in `f64` with short polynomials and rounded once, which leaves overflow and subnormal results to the
//! final conversion.
//!
//! Methods are those of Muller, "Elementary Functions", 3rd edition, 2016: additive range reduction (chapter 11), polynomials
//! that are minimax on the reduced range (chapter 3), and compensated sums where a rounding would show. The coefficients
//! were made for these ranges with Remez's algorithm in 240 bits; the comment at a table states the maximal relative
//! error. Each function states its error in units in the last place of the result; `docs/performance.md` has what was measured.
#![forbid(unsafe_code)]

mod exp;
mod fused;
mod fused_tables;
mod inverse;
mod log;
pub mod machine;
mod pair;
mod pow;
mod real;
mod root;
mod trig;

use machine::{Evaluator, Kind, Machine, Val};
use real::{Code, Real};

macro_rules! functions {
    ($($op:ident = $name:literal),*) => {
        /// The functions that have formulas.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum MathOp {
            $($op),*
        }

        impl MathOp {
            pub fn from_name(name: &str) -> Option<MathOp> {
                match name {
                    $($name => Some(MathOp::$op),)*
                    _ => None,
                }
            }

            pub fn name(self) -> &'static str {
                match self {
                    $(MathOp::$op => $name),*
                }
            }
        }
    };
}

functions! {
    Sin = "sin", Cos = "cos", Tan = "tan", Asin = "asin", Acos = "acos", Atan = "atan", Atan2 = "atan2", Sinh = "sinh", Cosh = "cosh",
    Tanh = "tanh", Asinh = "asinh", Acosh = "acosh", Atanh = "atanh", Exp = "exp", Expm1 = "expm1", Log = "log", Log2 = "log2",
    Log10 = "log10", Log1p = "log1p", Pow = "pow", Cbrt = "cbrt", Hypot = "hypot"
}

/// `op` of one or two arguments of one float type, as steps of a machine. `fma`: multiply-add is one instruction of it.
pub fn expand(machine: &dyn Machine, fma: bool, op: MathOp, args: &[Val]) -> Val {
    let single = args[0].kind == Kind::F32;
    let code = Code::new(machine, fma, single);
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
        MathOp::Exp => exp::exp(x),
        MathOp::Expm1 => exp::expm1(x),
        MathOp::Sinh => exp::sinh(x),
        MathOp::Cosh => exp::cosh(x),
        MathOp::Tanh => exp::tanh(x),
        MathOp::Log => log::log(x),
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
    }
}

/// What code computes that was compiled for a processor with multiply-add.
pub fn evaluate_f64(op: MathOp, args: &[f64]) -> f64 {
    let mut vals = [Val::of_f64(0.0); 2];
    for (val, arg) in vals.iter_mut().zip(args) {
        *val = Val::of_f64(*arg);
    }
    expand(&Evaluator, true, op, &vals[..args.len()]).as_f64()
}

/// The same for `f32`.
pub fn evaluate_f32(op: MathOp, args: &[f32]) -> f32 {
    let mut vals = [Val::of_f32(0.0); 2];
    for (val, arg) in vals.iter_mut().zip(args) {
        *val = Val::of_f32(*arg);
    }
    expand(&Evaluator, true, op, &vals[..args.len()]).as_f32()
}
