//! Scalar constants and the one definition of what every scalar operation computes.
//!
//! The reference interpreter, constant folding in the specialiser and the optimiser all call [`eval_un`],
//! [`eval_bin`] and [`eval_convert`]; code generators are tested against them. Mathematical functions are the formulas of `ravel-math`, which compiled
//! code is made of, too.

use crate::{BinOp, Elem, UnOp};
use ravel_math::{MathOp, evaluate_f32, evaluate_f64};
use std::fmt;

/// A value of rank 0.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    Bool(bool),
    Char(u8),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F32(f32),
    F64(f64),
}

/// Why an operation has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalFault {
    DivisionByZero,
    /// The operation is not defined on this element type: an error in the IR, never in data.
    Undefined,
}

impl Scalar {
    pub fn elem(self) -> Elem {
        match self {
            Scalar::Bool(_) => Elem::Bool,
            Scalar::Char(_) => Elem::Char,
            Scalar::I8(_) => Elem::I8,
            Scalar::I16(_) => Elem::I16,
            Scalar::I32(_) => Elem::I32,
            Scalar::I64(_) => Elem::I64,
            Scalar::U8(_) => Elem::U8,
            Scalar::U16(_) => Elem::U16,
            Scalar::U32(_) => Elem::U32,
            Scalar::U64(_) => Elem::U64,
            Scalar::F32(_) => Elem::F32,
            Scalar::F64(_) => Elem::F64,
        }
    }

    /// The value as raw bits, zero-extended: what a register or an array element holds.
    pub fn bits(self) -> u64 {
        match self {
            Scalar::Bool(b) => b as u64,
            Scalar::Char(c) => c as u64,
            Scalar::I8(v) => v as u8 as u64,
            Scalar::I16(v) => v as u16 as u64,
            Scalar::I32(v) => v as u32 as u64,
            Scalar::I64(v) => v as u64,
            Scalar::U8(v) => v as u64,
            Scalar::U16(v) => v as u64,
            Scalar::U32(v) => v as u64,
            Scalar::U64(v) => v,
            Scalar::F32(v) => v.to_bits() as u64,
            Scalar::F64(v) => v.to_bits(),
        }
    }

    /// Inverse of [`Scalar::bits`]; nothing for `Handle`.
    pub fn from_bits(elem: Elem, bits: u64) -> Option<Scalar> {
        Some(match elem {
            Elem::Bool => Scalar::Bool(bits & 0xff != 0),
            Elem::Char => Scalar::Char(bits as u8),
            Elem::I8 => Scalar::I8(bits as i8),
            Elem::I16 => Scalar::I16(bits as i16),
            Elem::I32 => Scalar::I32(bits as i32),
            Elem::I64 => Scalar::I64(bits as i64),
            Elem::U8 => Scalar::U8(bits as u8),
            Elem::U16 => Scalar::U16(bits as u16),
            Elem::U32 => Scalar::U32(bits as u32),
            Elem::U64 => Scalar::U64(bits),
            Elem::F32 => Scalar::F32(f32::from_bits(bits as u32)),
            Elem::F64 => Scalar::F64(f64::from_bits(bits)),
            Elem::Handle => return None,
        })
    }

    /// Zero of an element type: `0`, `0.0`, `false`, and a blank for `char`.
    pub fn zero(elem: Elem) -> Option<Scalar> {
        match elem {
            Elem::Char => Some(Scalar::Char(b' ')),
            _ => Scalar::from_bits(elem, 0),
        }
    }

    /// An integer of type `elem`, wrapped; a real of that value for the float types.
    pub fn from_i64(elem: Elem, v: i64) -> Option<Scalar> {
        match elem {
            Elem::F32 => Some(Scalar::F32(v as f32)),
            Elem::F64 => Some(Scalar::F64(v as f64)),
            Elem::Bool => Some(Scalar::Bool(v != 0)),
            _ => Scalar::from_bits(elem, v as u64),
        }
    }

    /// The value of an integer, char or bool.
    pub fn as_i64(self) -> Option<i64> {
        Some(match self {
            Scalar::Bool(b) => b as i64,
            Scalar::Char(c) => c as i64,
            Scalar::I8(v) => v as i64,
            Scalar::I16(v) => v as i64,
            Scalar::I32(v) => v as i64,
            Scalar::I64(v) => v,
            Scalar::U8(v) => v as i64,
            Scalar::U16(v) => v as i64,
            Scalar::U32(v) => v as i64,
            Scalar::U64(v) => v as i64,
            Scalar::F32(_) | Scalar::F64(_) => return None,
        })
    }

    pub fn is_nan(self) -> bool {
        match self {
            Scalar::F32(v) => v.is_nan(),
            Scalar::F64(v) => v.is_nan(),
            _ => false,
        }
    }

    pub fn as_bool(self) -> Option<bool> {
        match self {
            Scalar::Bool(b) => Some(b),
            _ => None,
        }
    }
}

/// Equality of type and bits, so that NaN equals itself and `0.0` differs from `-0.0`.
impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        self.elem() == other.elem() && self.bits() == other.bits()
    }
}

impl Eq for Scalar {}

impl std::hash::Hash for Scalar {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.elem().hash(state);
        self.bits().hash(state);
    }
}

/// IR text: integers plain, reals with enough digits to read back exactly, chars as their code.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(b) => write!(f, "{b}"),
            Scalar::F32(v) => write!(f, "{v:?}"),
            Scalar::F64(v) => write!(f, "{v:?}"),
            Scalar::U64(v) => write!(f, "{v}"),
            other => write!(f, "{}", other.as_i64().expect("an integer")),
        }
    }
}

macro_rules! float_un {
    ($op:expr, $v:expr, $wrap:path, $evaluate:path) => {{
        let v = $v;
        $wrap(match $op {
            UnOp::Neg => -v,
            UnOp::Abs => v.abs(),
            UnOp::Reciproc => 1.0 / v,
            UnOp::Sqrt => v.sqrt(),
            UnOp::Cbrt => $evaluate(MathOp::Cbrt, &[v]),
            UnOp::Exp => $evaluate(MathOp::Exp, &[v]),
            UnOp::Expm1 => $evaluate(MathOp::Expm1, &[v]),
            UnOp::Log => $evaluate(MathOp::Log, &[v]),
            UnOp::Log1p => $evaluate(MathOp::Log1p, &[v]),
            UnOp::Log2 => $evaluate(MathOp::Log2, &[v]),
            UnOp::Log10 => $evaluate(MathOp::Log10, &[v]),
            UnOp::Sin => $evaluate(MathOp::Sin, &[v]),
            UnOp::Cos => $evaluate(MathOp::Cos, &[v]),
            UnOp::Tan => $evaluate(MathOp::Tan, &[v]),
            UnOp::Asin => $evaluate(MathOp::Asin, &[v]),
            UnOp::Acos => $evaluate(MathOp::Acos, &[v]),
            UnOp::Atan => $evaluate(MathOp::Atan, &[v]),
            UnOp::Sinh => $evaluate(MathOp::Sinh, &[v]),
            UnOp::Cosh => $evaluate(MathOp::Cosh, &[v]),
            UnOp::Tanh => $evaluate(MathOp::Tanh, &[v]),
            UnOp::Asinh => $evaluate(MathOp::Asinh, &[v]),
            UnOp::Acosh => $evaluate(MathOp::Acosh, &[v]),
            UnOp::Atanh => $evaluate(MathOp::Atanh, &[v]),
            UnOp::Floor => v.floor(),
            UnOp::Ceil => v.ceil(),
            UnOp::Rint => v.round_ties_even(),
            UnOp::Trunc => v.trunc(),
            UnOp::IsNan => return Ok(Scalar::Bool(v.is_nan())),
            UnOp::IsInf => return Ok(Scalar::Bool(v.is_infinite())),
            UnOp::Finite => return Ok(Scalar::Bool(v.is_finite())),
            UnOp::Not => return Err(EvalFault::Undefined),
        })
    }};
}

/// Applies `op`.
///
/// # Errors
/// [`EvalFault::Undefined`] if the operation does not exist on this type; `Reciproc` of an integer zero is a division by zero.
pub fn eval_un(op: UnOp, v: Scalar) -> Result<Scalar, EvalFault> {
    macro_rules! int_un {
        ($v:expr, $wrap:path, $one:expr) => {
            Ok($wrap(match op {
                UnOp::Neg => $v.wrapping_neg(),
                UnOp::Not => !$v,
                UnOp::Reciproc if $v == 0 => return Err(EvalFault::DivisionByZero),
                UnOp::Reciproc => $one / $v,
                UnOp::Abs => abs_int!($v),
                _ => return Err(EvalFault::Undefined),
            }))
        };
    }
    macro_rules! abs_int {
        ($v:expr) => {{
            let v = $v;
            #[allow(unused_comparisons, reason = "the same text serves unsigned types")]
            if v < 0 { v.wrapping_neg() } else { v }
        }};
    }
    match v {
        Scalar::Bool(b) if op == UnOp::Not => Ok(Scalar::Bool(!b)),
        Scalar::Bool(_) | Scalar::Char(_) => Err(EvalFault::Undefined),
        Scalar::I8(v) => int_un!(v, Scalar::I8, 1),
        Scalar::I16(v) => int_un!(v, Scalar::I16, 1),
        Scalar::I32(v) => int_un!(v, Scalar::I32, 1),
        Scalar::I64(v) => int_un!(v, Scalar::I64, 1),
        Scalar::U8(v) => int_un!(v, Scalar::U8, 1),
        Scalar::U16(v) => int_un!(v, Scalar::U16, 1),
        Scalar::U32(v) => int_un!(v, Scalar::U32, 1),
        Scalar::U64(v) => int_un!(v, Scalar::U64, 1),
        Scalar::F32(v) => Ok(float_un!(op, v, Scalar::F32, evaluate_f32)),
        Scalar::F64(v) => Ok(float_un!(op, v, Scalar::F64, evaluate_f64)),
    }
}

macro_rules! compare {
    ($op:expr, $a:expr, $b:expr) => {
        match $op {
            BinOp::Eq => Some($a == $b),
            BinOp::Ne => Some($a != $b),
            BinOp::Lt => Some($a < $b),
            BinOp::Le => Some($a <= $b),
            BinOp::Gt => Some($a > $b),
            BinOp::Ge => Some($a >= $b),
            _ => None,
        }
    };
}

macro_rules! int_bin {
    ($op:expr, $a:expr, $b:expr, $wrap:path) => {{
        let (a, b) = ($a, $b);
        if let Some(truth) = compare!($op, a, b) {
            return Ok(Scalar::Bool(truth));
        }
        if $op.needs_nonzero() && b == 0 {
            return Err(EvalFault::DivisionByZero);
        }
        Ok($wrap(match $op {
            BinOp::Add => a.wrapping_add(b),
            BinOp::Sub => a.wrapping_sub(b),
            BinOp::Mul => a.wrapping_mul(b),
            BinOp::Div => a.wrapping_div(b),
            BinOp::Mod => a.wrapping_rem(b),
            BinOp::AplMod if b == 0 => a,
            BinOp::AplMod => {
                let r = a.wrapping_rem(b);
                #[allow(unused_comparisons, reason = "the same text serves unsigned types")]
                if r != 0 && ((r < 0) != (b < 0)) { r.wrapping_add(b) } else { r }
            }
            BinOp::Min => {
                if a < b {
                    a
                } else {
                    b
                }
            }
            BinOp::Max => {
                if a > b {
                    a
                } else {
                    b
                }
            }
            BinOp::And => a & b,
            BinOp::Or => a | b,
            BinOp::Xor => a ^ b,
            BinOp::Shl => a.wrapping_shl(b as u32),
            BinOp::Shr => a.wrapping_shr(b as u32),
            _ => return Err(EvalFault::Undefined),
        }))
    }};
}

/// Powers whose exponent is one of a few constants are products and roots, as the optimiser makes of them in code.
macro_rules! power {
    ($a:expr, $b:expr, $evaluate:path) => {{
        let (a, b) = ($a, $b);
        // The root of -0 is -0, but its power is that of 0; a power of minus infinity is that of infinity.
        let positive = a + 0.0;
        let root = positive.sqrt();
        let by_roots = |value| match a.is_infinite() && a < 0.0 {
            true => 1.0 / if b > 0.0 { 0.0 } else { a.abs() },
            false => value,
        };
        if b == 0.0 {
            1.0
        } else if b == 1.0 {
            a
        } else if b == 2.0 {
            a * a
        } else if b == 3.0 {
            a * a * a
        } else if b == 4.0 {
            (a * a) * (a * a)
        } else if b == -1.0 {
            1.0 / a
        } else if b == -2.0 {
            (1.0 / a) * (1.0 / a)
        } else if b == 0.25 {
            by_roots(root.sqrt())
        } else if b == 0.5 {
            by_roots(root)
        } else if b == 1.5 {
            by_roots(root * positive)
        } else if b == 2.5 {
            by_roots(root * positive * positive)
        } else if b == -0.5 {
            by_roots(1.0 / root)
        } else if b == -1.5 {
            by_roots(1.0 / positive / root)
        } else {
            $evaluate(MathOp::Pow, &[a, b])
        }
    }};
}

macro_rules! float_bin {
    ($op:expr, $a:expr, $b:expr, $wrap:path, $evaluate:path) => {{
        let (a, b) = ($a, $b);
        if let Some(truth) = compare!($op, a, b) {
            return Ok(Scalar::Bool(truth));
        }
        Ok($wrap(match $op {
            BinOp::Add => a + b,
            BinOp::Sub => a - b,
            BinOp::Mul => a * b,
            BinOp::Div => a / b,
            BinOp::Mod => a % b,
            BinOp::AplMod if b == 0.0 => a,
            BinOp::AplMod => {
                let r = a % b;
                if r != 0.0 && ((r < 0.0) != (b < 0.0)) { r + b } else { r }
            }
            // NaN wins wherever it stands, so that folds may regroup; of zeros of both signs the first.
            BinOp::Min => {
                if b < a || b.is_nan() {
                    b
                } else {
                    a
                }
            }
            BinOp::Max => {
                if b > a || b.is_nan() {
                    b
                } else {
                    a
                }
            }
            BinOp::Pow => power!(a, b, $evaluate),
            BinOp::Atan2 => $evaluate(MathOp::Atan2, &[a, b]),
            BinOp::Copysign => a.copysign(b),
            BinOp::Hypot => $evaluate(MathOp::Hypot, &[a, b]),
            _ => return Err(EvalFault::Undefined),
        }))
    }};
}

/// Applies `op` to two operands of one type.
///
/// # Errors
/// [`EvalFault::DivisionByZero`] for an integer division; [`EvalFault::Undefined`] for unequal or unsuitable types.
pub fn eval_bin(op: BinOp, a: Scalar, b: Scalar) -> Result<Scalar, EvalFault> {
    match (a, b) {
        (Scalar::Bool(a), Scalar::Bool(b)) => match compare!(op, a, b) {
            Some(truth) => Ok(Scalar::Bool(truth)),
            None => match op {
                BinOp::And | BinOp::Min | BinOp::Mul => Ok(Scalar::Bool(a & b)),
                BinOp::Or | BinOp::Max | BinOp::Add => Ok(Scalar::Bool(a | b)),
                BinOp::Xor => Ok(Scalar::Bool(a ^ b)),
                _ => Err(EvalFault::Undefined),
            },
        },
        (Scalar::Char(a), Scalar::Char(b)) => match compare!(op, a, b) {
            Some(truth) => Ok(Scalar::Bool(truth)),
            None => match op {
                BinOp::Min => Ok(Scalar::Char(a.min(b))),
                BinOp::Max => Ok(Scalar::Char(a.max(b))),
                _ => Err(EvalFault::Undefined),
            },
        },
        (Scalar::I8(a), Scalar::I8(b)) => int_bin!(op, a, b, Scalar::I8),
        (Scalar::I16(a), Scalar::I16(b)) => int_bin!(op, a, b, Scalar::I16),
        (Scalar::I32(a), Scalar::I32(b)) => int_bin!(op, a, b, Scalar::I32),
        (Scalar::I64(a), Scalar::I64(b)) => int_bin!(op, a, b, Scalar::I64),
        (Scalar::U8(a), Scalar::U8(b)) => int_bin!(op, a, b, Scalar::U8),
        (Scalar::U16(a), Scalar::U16(b)) => int_bin!(op, a, b, Scalar::U16),
        (Scalar::U32(a), Scalar::U32(b)) => int_bin!(op, a, b, Scalar::U32),
        (Scalar::U64(a), Scalar::U64(b)) => int_bin!(op, a, b, Scalar::U64),
        (Scalar::F32(a), Scalar::F32(b)) => float_bin!(op, a, b, Scalar::F32, evaluate_f32),
        (Scalar::F64(a), Scalar::F64(b)) => float_bin!(op, a, b, Scalar::F64, evaluate_f64),
        _ => Err(EvalFault::Undefined),
    }
}

/// Converts to another element type: integers wrap, reals truncate towards zero and saturate (NaN gives 0), a bool is
/// 0 or 1, a char its code; anything converts to bool as a test against zero.
pub fn eval_convert(v: Scalar, to: Elem) -> Option<Scalar> {
    macro_rules! from_float {
        ($v:expr) => {
            match to {
                Elem::Bool => Scalar::Bool($v != 0.0),
                Elem::Char => Scalar::Char($v as u8),
                Elem::I8 => Scalar::I8($v as i8),
                Elem::I16 => Scalar::I16($v as i16),
                Elem::I32 => Scalar::I32($v as i32),
                Elem::I64 => Scalar::I64($v as i64),
                Elem::U8 => Scalar::U8($v as u8),
                Elem::U16 => Scalar::U16($v as u16),
                Elem::U32 => Scalar::U32($v as u32),
                Elem::U64 => Scalar::U64($v as u64),
                Elem::F32 => Scalar::F32($v as f32),
                Elem::F64 => Scalar::F64($v as f64),
                Elem::Handle => return None,
            }
        };
    }
    Some(match v {
        Scalar::F32(v) => from_float!(v),
        Scalar::F64(v) => from_float!(v),
        Scalar::U64(v) if to == Elem::F32 => Scalar::F32(v as f32),
        Scalar::U64(v) if to == Elem::F64 => Scalar::F64(v as f64),
        other => return Scalar::from_i64(to, other.as_i64()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_truncate_like_c() {
        let i = Scalar::I32;
        assert_eq!(eval_bin(BinOp::Add, i(i32::MAX), i(1)), Ok(i(i32::MIN)));
        assert_eq!(eval_bin(BinOp::Div, i(-7), i(2)), Ok(i(-3)));
        assert_eq!(eval_bin(BinOp::Mod, i(-7), i(2)), Ok(i(-1)));
        assert_eq!(eval_bin(BinOp::AplMod, i(-7), i(2)), Ok(i(1)));
        assert_eq!(eval_bin(BinOp::AplMod, i(7), i(-2)), Ok(i(-1)));
        assert_eq!(eval_bin(BinOp::AplMod, i(-7), i(0)), Ok(i(-7)));
        assert_eq!(eval_bin(BinOp::AplMod, Scalar::F64(1.5), Scalar::F64(0.0)), Ok(Scalar::F64(1.5)));
        assert_eq!(eval_bin(BinOp::Div, i(i32::MIN), i(-1)), Ok(i(i32::MIN)));
        assert_eq!(eval_bin(BinOp::Div, i(1), i(0)), Err(EvalFault::DivisionByZero));
    }

    #[test]
    fn conversions_are_total() {
        assert_eq!(eval_convert(Scalar::F64(-2.9), Elem::I32), Some(Scalar::I32(-2)));
        assert_eq!(eval_convert(Scalar::F64(1e20), Elem::I32), Some(Scalar::I32(i32::MAX)));
        assert_eq!(eval_convert(Scalar::I32(300), Elem::U8), Some(Scalar::U8(44)));
        assert_eq!(eval_convert(Scalar::U64(u64::MAX), Elem::F64), Some(Scalar::F64(u64::MAX as f64)));
    }

    #[test]
    fn inverse_hyperbolic_functions_do_not_cancel() {
        let near = |op, x, value: f64| {
            let Ok(Scalar::F64(have)) = eval_un(op, Scalar::F64(x)) else { panic!("a real") };
            assert!((have - value).abs() <= 4e-16 * value.abs(), "{op:?} of {x}: {have}, not {value}");
        };
        near(UnOp::Acosh, 1.000000000000001, 4.712_160_915_387_242e-8);
        near(UnOp::Acosh, f64::MAX, 710.475_860_073_943_9);
        near(UnOp::Asinh, f64::MAX, 710.475_860_073_943_9);
        near(UnOp::Asinh, -1e-9, -1e-9);
        near(UnOp::Atanh, 0.999, 3.800_201_167_250_199_6);
    }

    #[test]
    fn powers_by_products() {
        let power = |a, b| eval_bin(BinOp::Pow, Scalar::F64(a), Scalar::F64(b));
        assert_eq!(power(1.1, 3.0), Ok(Scalar::F64(1.1 * 1.1 * 1.1)));
        assert_eq!(power(f64::NEG_INFINITY, 0.5), Ok(Scalar::F64(f64::INFINITY)));
        assert_eq!(power(f64::NEG_INFINITY, -1.5), Ok(Scalar::F64(0.0)));
        assert_eq!(power(-0.0, 0.5), Ok(Scalar::F64(0.0)));
    }

    #[test]
    fn mixed_types_are_undefined() {
        assert_eq!(eval_bin(BinOp::Add, Scalar::I32(1), Scalar::F64(1.0)), Err(EvalFault::Undefined));
    }
}
