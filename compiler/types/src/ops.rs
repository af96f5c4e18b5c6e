//! Scalar operations. The same enums serve core primitives, the with-loop IR and the interpreter.

use crate::{Elem, Scalar};
use std::fmt;

macro_rules! named_ops {
    ($(#[$doc:meta])* $ty:ident { $($(#[$vdoc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $ty { $($(#[$vdoc])* $variant,)* }

        impl $ty {
            pub const ALL: &[$ty] = &[$($ty::$variant,)*];

            /// The spelling in IR text, which is also the stem of the primitive's name.
            pub fn name(self) -> &'static str {
                match self { $($ty::$variant => $name,)* }
            }

            pub fn from_name(name: &str) -> Option<$ty> {
                $ty::ALL.iter().copied().find(|op| op.name() == name)
            }
        }

        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.name()) }
        }
    };
}

named_ops! {
    /// A scalar operation on one operand. The result has the operand's type unless stated.
    UnOp {
        Neg = "neg",
        /// Logical not of a bool, bit-wise complement of an integer.
        Not = "not",
        Abs = "abs",
        Reciproc = "reciproc",
        Sqrt = "sqrt",
        Cbrt = "cbrt",
        Exp = "exp",
        Expm1 = "expm1",
        Log = "log",
        Log1p = "log1p",
        Log2 = "log2",
        Log10 = "log10",
        Sin = "sin",
        Cos = "cos",
        Tan = "tan",
        Asin = "asin",
        Acos = "acos",
        Atan = "atan",
        Sinh = "sinh",
        Cosh = "cosh",
        Tanh = "tanh",
        Asinh = "asinh",
        Acosh = "acosh",
        Atanh = "atanh",
        Floor = "floor",
        Ceil = "ceil",
        /// Rounding to nearest, ties to even.
        Rint = "rint",
        Trunc = "trunc",
        /// Result bool.
        IsNan = "isnan",
        /// Result bool.
        IsInf = "isinf",
        /// Result bool: neither infinite nor NaN.
        Finite = "finite",
    }
}

named_ops! {
    /// A scalar operation on two operands of one type. The result has that type, for comparisons bool.
    BinOp {
        /// Integers wrap.
        Add = "add",
        Sub = "sub",
        Mul = "mul",
        /// Integers truncate towards zero; the smallest value by -1 wraps. A zero divisor must have been excluded.
        Div = "div",
        /// Sign of the dividend; for reals C's `fmod`. A zero divisor must have been excluded for integers.
        Mod = "mod",
        /// APL's residue: the sign of the divisor; the dividend itself if the divisor is zero.
        AplMod = "aplmod",
        /// `a < b ? a : b`.
        Min = "min",
        /// `a > b ? a : b`.
        Max = "max",
        /// Logic on bools, bit-wise on integers.
        And = "and",
        Or = "or",
        Xor = "xor",
        /// The shift count is taken modulo the width.
        Shl = "shl",
        /// Arithmetic on signed operands, logical on unsigned ones; count modulo the width.
        Shr = "shr",
        Eq = "eq",
        Ne = "neq",
        Lt = "lt",
        Le = "le",
        Gt = "gt",
        Ge = "ge",
        Pow = "pow",
        Atan2 = "atan2",
        Copysign = "copysign",
        Hypot = "hypot",
    }
}

impl UnOp {
    /// Whether the result is a bool whatever the operand.
    pub fn is_predicate(self) -> bool {
        matches!(self, UnOp::IsNan | UnOp::IsInf | UnOp::Finite)
    }
}

impl BinOp {
    /// The number that the operation leaves others of a type unchanged by, the sign of zero aside; none if there is no such number, or
    /// if the type has no such operation.
    pub fn identity(self, elem: Elem) -> Option<Scalar> {
        let bits = elem.bytes() as u32 * 8;
        let is_signed = matches!(elem, Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64);
        let number = |v: i64| Scalar::from_i64(elem, v);
        match self {
            BinOp::Add => number(0),
            BinOp::Mul => number(1),
            BinOp::Or | BinOp::Xor if !elem.is_float() => Scalar::from_bits(elem, 0),
            BinOp::And if elem == Elem::Bool => Some(Scalar::Bool(true)),
            BinOp::And if !elem.is_float() => Scalar::from_bits(elem, u64::MAX),
            BinOp::Min | BinOp::Max => {
                let least = self == BinOp::Max;
                match elem {
                    Elem::F32 => Some(Scalar::F32(if least { f32::NEG_INFINITY } else { f32::INFINITY })),
                    Elem::F64 => Some(Scalar::F64(if least { f64::NEG_INFINITY } else { f64::INFINITY })),
                    Elem::Bool => Some(Scalar::Bool(!least)),
                    _ if is_signed => Scalar::from_bits(elem, (1u64 << (bits - 1)).wrapping_sub(u64::from(!least))),
                    _ => Scalar::from_bits(elem, if least { 0 } else { u64::MAX }),
                }
            }
            _ => None,
        }
    }

    pub fn is_comparison(self) -> bool {
        matches!(self, BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge)
    }

    /// Quotients and remainders, which no machine has for vectors of integers.
    pub fn divides(self) -> bool {
        matches!(self, BinOp::Div | BinOp::Mod | BinOp::AplMod)
    }

    /// Whether integer operands need a non-zero right side.
    pub fn needs_nonzero(self) -> bool {
        matches!(self, BinOp::Div | BinOp::Mod)
    }

    /// Associative and commutative, so that a fold may regroup it (reals: up to rounding).
    pub fn regroups(self) -> bool {
        use BinOp::*;
        matches!(self, Add | Mul | Min | Max | And | Or | Xor)
    }

    pub fn commutes(self) -> bool {
        self.regroups() || matches!(self, BinOp::Eq | BinOp::Ne | BinOp::Hypot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval_bin;

    #[test]
    fn identities_leave_all_numbers_alone() {
        let elems = [
            Elem::Bool,
            Elem::I8,
            Elem::I16,
            Elem::I32,
            Elem::I64,
            Elem::U8,
            Elem::U16,
            Elem::U32,
            Elem::U64,
            Elem::F32,
            Elem::F64,
        ];
        for elem in elems {
            for op in [BinOp::Add, BinOp::Mul, BinOp::Min, BinOp::Max, BinOp::And, BinOp::Or, BinOp::Xor] {
                let Some(unit) = op.identity(elem) else { continue };
                assert_eq!(unit.elem(), elem, "{op:?}");
                for number in [-128, -5, 0, 1, 3, 127] {
                    let Some(number) = Scalar::from_i64(elem, number) else { continue };
                    assert_eq!(eval_bin(op, unit, number), Ok(number), "{op:?} of {elem:?}");
                    assert_eq!(eval_bin(op, number, unit), Ok(number), "{op:?} of {elem:?}");
                }
            }
            assert!(BinOp::Min.identity(elem).is_some() && BinOp::Sub.identity(elem).is_none());
        }
        assert_eq!(BinOp::And.identity(Elem::F64), None);
    }
}
