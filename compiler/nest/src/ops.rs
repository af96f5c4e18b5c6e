//! The operators of nest, each with its exact meaning.
//!
//! Every operator works lane by lane on vectors. Both operands of a binary operator have the same type, shift amounts too.

/// One enum of operators with their spelling in nest text.
macro_rules! operators {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// Every operator, in declaration order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The spelling used in nest text.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// The operator spelled `name`, if there is one.
            pub fn from_name(name: &str) -> Option<$name> {
                match name { $($text => Some($name::$variant),)* _ => None }
            }
        }
    };
}

operators! {
    /// Operators with one operand; the result has the operand's type.
    UnOp {
        /// Integer negation, wrapping.
        INeg = "ineg",
        /// Bitwise complement. On a scalar boolean use `xor 1` instead.
        Not = "not",
        /// Integer absolute value, wrapping: the least value maps to itself.
        IAbs = "iabs",
        /// Float negation: flips the sign bit.
        FNeg = "fneg",
        /// Float absolute value: clears the sign bit.
        FAbs = "fabs",
        /// Correctly rounded square root; NaN below zero.
        Sqrt = "sqrt",
        /// Towards minus infinity.
        Floor = "floor",
        /// Towards plus infinity.
        Ceil = "ceil",
        /// Towards zero.
        Trunc = "ftrunc",
        /// To the nearest integer, ties to even.
        Nearest = "nearest",
    }
}

operators! {
    /// Operators with two operands of the same type; the result has that type.
    BinOp {
        /// Wrapping sum.
        IAdd = "iadd",
        /// Wrapping difference.
        ISub = "isub",
        /// Wrapping product.
        IMul = "imul",
        /// Signed quotient, towards zero. The divisor must not be zero (emit the check before);
        /// least value / -1 wraps to the least value.
        SDiv = "sdiv",
        /// Unsigned quotient. The divisor must not be zero.
        UDiv = "udiv",
        /// Signed remainder, with the sign of the dividend. The divisor must not be zero; least value % -1 is 0.
        SRem = "srem",
        /// Unsigned remainder. The divisor must not be zero.
        URem = "urem",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// Shift left; the amount counts modulo the lane width.
        Shl = "shl",
        /// Arithmetic shift right; the amount counts modulo the lane width.
        SShr = "sshr",
        /// Logical shift right; the amount counts modulo the lane width.
        UShr = "ushr",
        /// Signed minimum.
        SMin = "smin",
        /// Signed maximum.
        SMax = "smax",
        /// Unsigned minimum.
        UMin = "umin",
        /// Unsigned maximum.
        UMax = "umax",
        /// IEEE sum.
        FAdd = "fadd",
        /// IEEE difference.
        FSub = "fsub",
        /// IEEE product.
        FMul = "fmul",
        /// IEEE quotient; never faults.
        FDiv = "fdiv",
        /// The lesser: NaN if an operand is NaN, the first of two equal ones.
        FMin = "fmin",
        /// The greater: NaN if an operand is NaN, the first of two equal ones.
        FMax = "fmax",
    }
}

operators! {
    /// Integer (and pointer) comparisons. Scalars give `i8` 0 or 1, vectors a mask.
    IntCmp {
        /// Equal.
        Eq = "eq",
        /// Not equal.
        Ne = "ne",
        /// Signed less than.
        Slt = "slt",
        /// Signed less than or equal.
        Sle = "sle",
        /// Signed greater than.
        Sgt = "sgt",
        /// Signed greater than or equal.
        Sge = "sge",
        /// Unsigned less than.
        Ult = "ult",
        /// Unsigned less than or equal.
        Ule = "ule",
        /// Unsigned greater than.
        Ugt = "ugt",
        /// Unsigned greater than or equal.
        Uge = "uge",
    }
}

operators! {
    /// Float comparisons: false if an operand is NaN, except `ne`, which is then true (as in C).
    FloatCmp {
        /// Equal.
        Eq = "eq",
        /// Not equal, or unordered.
        Ne = "ne",
        /// Less than.
        Lt = "lt",
        /// Less than or equal.
        Le = "le",
        /// Greater than.
        Gt = "gt",
        /// Greater than or equal.
        Ge = "ge",
    }
}

operators! {
    /// Conversions to another primitive with the same number of lanes.
    ConvOp {
        /// Keep the low bits of an integer.
        Narrow = "narrow",
        /// Sign-extend an integer. Keeps a mask a mask, as `narrow` does.
        SExt = "sext",
        /// Zero-extend an integer.
        ZExt = "zext",
        /// `f32` to `f64` (exact) or `f64` to `f32` (to nearest even).
        FConv = "fconv",
        /// Signed integer to float, to nearest even.
        SToF = "stof",
        /// Unsigned integer to float, to nearest even.
        UToF = "utof",
        /// Float to signed integer, towards zero; saturates, NaN gives 0.
        FToS = "ftos",
        /// Float to unsigned integer, towards zero; saturates, NaN gives 0.
        FToU = "ftou",
        /// The same bits in another type of the same width (float, integer, pointer).
        Bits = "bits",
    }
}

operators! {
    /// Reductions over the lanes of a vector.
    ///
    /// The order is fixed: the upper half of the lanes is combined into the lower half (lane `k` with lane `k + lanes/2`,
    /// in this order of operands) until one lane is left.
    ReduceOp {
        /// Wrapping integer sum.
        IAdd = "iadd",
        /// Wrapping integer product.
        IMul = "imul",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// Signed minimum.
        SMin = "smin",
        /// Signed maximum.
        SMax = "smax",
        /// Unsigned minimum.
        UMin = "umin",
        /// Unsigned maximum.
        UMax = "umax",
        /// Float sum.
        FAdd = "fadd",
        /// Float product.
        FMul = "fmul",
        /// Minimum as [`BinOp::FMin`].
        FMin = "fmin",
        /// Maximum as [`BinOp::FMax`].
        FMax = "fmax",
    }
}

impl ReduceOp {
    /// The binary operator that combines two lanes.
    pub fn combine(self) -> BinOp {
        match self {
            ReduceOp::IAdd => BinOp::IAdd,
            ReduceOp::IMul => BinOp::IMul,
            ReduceOp::And => BinOp::And,
            ReduceOp::Or => BinOp::Or,
            ReduceOp::Xor => BinOp::Xor,
            ReduceOp::SMin => BinOp::SMin,
            ReduceOp::SMax => BinOp::SMax,
            ReduceOp::UMin => BinOp::UMin,
            ReduceOp::UMax => BinOp::UMax,
            ReduceOp::FAdd => BinOp::FAdd,
            ReduceOp::FMul => BinOp::FMul,
            ReduceOp::FMin => BinOp::FMin,
            ReduceOp::FMax => BinOp::FMax,
        }
    }
}

operators! {
    /// Functions of the C mathematical library on `f32` or `f64`; see [`MathOp::arity`].
    ///
    /// On vectors each lane is computed by itself. `f32` arguments use the `f32` function.
    MathOp {
        /// Sine.
        Sin = "sin",
        /// Cosine.
        Cos = "cos",
        /// Tangent.
        Tan = "tan",
        /// Arc sine.
        Asin = "asin",
        /// Arc cosine.
        Acos = "acos",
        /// Arc tangent.
        Atan = "atan",
        /// Arc tangent of the quotient, by quadrant.
        Atan2 = "atan2",
        /// Hyperbolic sine.
        Sinh = "sinh",
        /// Hyperbolic cosine.
        Cosh = "cosh",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// Inverse hyperbolic sine.
        Asinh = "asinh",
        /// Inverse hyperbolic cosine.
        Acosh = "acosh",
        /// Inverse hyperbolic tangent.
        Atanh = "atanh",
        /// Natural exponential.
        Exp = "exp",
        /// Power of two.
        Exp2 = "exp2",
        /// `exp(x) - 1`.
        Expm1 = "expm1",
        /// Natural logarithm.
        Log = "log",
        /// Binary logarithm.
        Log2 = "log2",
        /// Decimal logarithm.
        Log10 = "log10",
        /// `log(1 + x)`.
        Log1p = "log1p",
        /// First argument to the power of the second.
        Pow = "pow",
        /// Cube root.
        Cbrt = "cbrt",
        /// Length of the hypotenuse.
        Hypot = "hypot",
        /// C's `fmod`: remainder with the sign of the dividend.
        Fmod = "fmod",
        /// Rounds half away from zero, as C's `round`.
        Round = "round",
    }
}

impl MathOp {
    /// Number of arguments, 1 or 2.
    pub fn arity(self) -> usize {
        match self {
            MathOp::Atan2 | MathOp::Pow | MathOp::Hypot | MathOp::Fmod => 2,
            _ => 1,
        }
    }
}

impl UnOp {
    /// Does the operator take floats (the others take integers)?
    pub fn is_float(self) -> bool {
        matches!(self, UnOp::FNeg | UnOp::FAbs | UnOp::Sqrt | UnOp::Floor | UnOp::Ceil | UnOp::Trunc | UnOp::Nearest)
    }
}

impl BinOp {
    /// Does the operator take floats (the others take integers)?
    pub fn is_float(self) -> bool {
        matches!(self, BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FMin | BinOp::FMax)
    }
}
