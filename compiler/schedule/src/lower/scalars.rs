//! Scalar operations of WIR as nest operations.
//!
//! Every function works on scalars and, lane by lane, on vectors. The truth of a vector comparison is a mask
//! ([`ravel_nest::ir::Ty::truth`]); operations on booleans accept masks too.

use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{self as nest, ConvOp, FloatCmp, IntCmp, MathOp, Prim};
use ravel_types::{BinOp, Elem, Scalar, UnOp};

use crate::facts::prim_of;
use crate::math::{self, Arith};

type Val = nest::Value;

/// Is the element compared, widened and divided as a signed integer?
pub(crate) fn is_signed(elem: Elem) -> bool {
    elem.is_signed_int()
}

/// A constant, in every lane.
pub(crate) fn constant(b: &mut FuncBuilder, value: Scalar, lanes: u8) -> Val {
    b.bits(nest::Ty::vector(prim_of(value.elem()), lanes), value.bits())
}

/// One operand of element type `elem`.
pub(crate) fn unary(b: &mut FuncBuilder, arith: Arith, op: UnOp, elem: Elem, v: Val) -> Val {
    let ty = b.ty(v);
    let one = |b: &mut FuncBuilder| if elem.is_float() { b.fconst(ty, 1.0) } else { b.iconst(ty, 1) };
    let library = |b: &mut FuncBuilder, op: MathOp| math::call(b, arith, op, &[v]);
    match op {
        UnOp::Not if elem == Elem::Bool && !ty.is_vector() => {
            let one = b.iconst(ty, 1);
            b.binary(nest::BinOp::Xor, v, one)
        }
        UnOp::Not => b.unary(nest::UnOp::Not, v),
        UnOp::Neg => b.unary(if elem.is_float() { nest::UnOp::FNeg } else { nest::UnOp::INeg }, v),
        UnOp::Abs if elem.is_float() => b.unary(nest::UnOp::FAbs, v),
        UnOp::Abs if is_signed(elem) => b.unary(nest::UnOp::IAbs, v),
        UnOp::Abs => v,
        UnOp::Reciproc => {
            let one = one(b);
            binary(b, arith, BinOp::Div, elem, one, v)
        }
        UnOp::Sqrt => b.unary(nest::UnOp::Sqrt, v),
        UnOp::Floor => b.unary(nest::UnOp::Floor, v),
        UnOp::Ceil => b.unary(nest::UnOp::Ceil, v),
        UnOp::Rint => b.unary(nest::UnOp::Nearest, v),
        UnOp::Trunc => b.unary(nest::UnOp::Trunc, v),
        UnOp::IsNan => b.fcmp(FloatCmp::Ne, v, v),
        UnOp::IsInf | UnOp::Finite => {
            let magnitude = b.unary(nest::UnOp::FAbs, v);
            let infinity = b.fconst(ty, f64::INFINITY);
            b.fcmp(if op == UnOp::IsInf { FloatCmp::Eq } else { FloatCmp::Lt }, magnitude, infinity)
        }
        UnOp::Cbrt => library(b, MathOp::Cbrt),
        UnOp::Exp => library(b, MathOp::Exp),
        UnOp::Expm1 => library(b, MathOp::Expm1),
        UnOp::Log => library(b, MathOp::Log),
        UnOp::Log1p => library(b, MathOp::Log1p),
        UnOp::Log2 => library(b, MathOp::Log2),
        UnOp::Log10 => library(b, MathOp::Log10),
        UnOp::Sin => library(b, MathOp::Sin),
        UnOp::Cos => library(b, MathOp::Cos),
        UnOp::Tan => library(b, MathOp::Tan),
        UnOp::Asin => library(b, MathOp::Asin),
        UnOp::Acos => library(b, MathOp::Acos),
        UnOp::Atan => library(b, MathOp::Atan),
        UnOp::Sinh => library(b, MathOp::Sinh),
        UnOp::Cosh => library(b, MathOp::Cosh),
        UnOp::Tanh => library(b, MathOp::Tanh),
        UnOp::Asinh => library(b, MathOp::Asinh),
        UnOp::Acosh => library(b, MathOp::Acosh),
        UnOp::Atanh => library(b, MathOp::Atanh),
    }
}

fn compare(b: &mut FuncBuilder, op: BinOp, elem: Elem, x: Val, y: Val) -> Val {
    if elem.is_float() {
        let cmp = match op {
            BinOp::Eq => FloatCmp::Eq,
            BinOp::Ne => FloatCmp::Ne,
            BinOp::Lt => FloatCmp::Lt,
            BinOp::Le => FloatCmp::Le,
            BinOp::Gt => FloatCmp::Gt,
            _ => FloatCmp::Ge,
        };
        return b.fcmp(cmp, x, y);
    }
    let cmp = match (op, is_signed(elem)) {
        (BinOp::Eq, _) => IntCmp::Eq,
        (BinOp::Ne, _) => IntCmp::Ne,
        (BinOp::Lt, true) => IntCmp::Slt,
        (BinOp::Le, true) => IntCmp::Sle,
        (BinOp::Gt, true) => IntCmp::Sgt,
        (_, true) => IntCmp::Sge,
        (BinOp::Lt, false) => IntCmp::Ult,
        (BinOp::Le, false) => IntCmp::Ule,
        (BinOp::Gt, false) => IntCmp::Ugt,
        (_, false) => IntCmp::Uge,
    };
    b.icmp(cmp, x, y)
}

/// Both operands have element type `elem`; divisors are not zero.
pub(crate) fn binary(b: &mut FuncBuilder, arith: Arith, op: BinOp, elem: Elem, x: Val, y: Val) -> Val {
    use nest::BinOp as N;
    if op.is_comparison() {
        return compare(b, op, elem, x, y);
    }
    let (float, signed) = (elem.is_float(), is_signed(elem));
    if elem == Elem::Bool {
        let op = match op {
            BinOp::Or | BinOp::Max | BinOp::Add => N::Or,
            BinOp::Xor => N::Xor,
            _ => N::And,
        };
        return b.binary(op, x, y);
    }
    let machine = match op {
        BinOp::Add if float => N::FAdd,
        BinOp::Add => N::IAdd,
        BinOp::Sub if float => N::FSub,
        BinOp::Sub => N::ISub,
        BinOp::Mul if float => N::FMul,
        BinOp::Mul => N::IMul,
        BinOp::Div if float => N::FDiv,
        BinOp::Div if signed => N::SDiv,
        BinOp::Div => N::UDiv,
        BinOp::Min if float => N::FMin,
        BinOp::Min if signed => N::SMin,
        BinOp::Min => N::UMin,
        BinOp::Max if float => N::FMax,
        BinOp::Max if signed => N::SMax,
        BinOp::Max => N::UMax,
        BinOp::And => N::And,
        BinOp::Or => N::Or,
        BinOp::Xor => N::Xor,
        BinOp::Shl => N::Shl,
        BinOp::Shr if signed => N::SShr,
        BinOp::Shr => N::UShr,
        BinOp::Mod if float => return math::call(b, arith, MathOp::Fmod, &[x, y]),
        BinOp::Mod if signed => N::SRem,
        BinOp::Mod => N::URem,
        BinOp::AplMod => return floor_mod(b, arith, elem, x, y),
        BinOp::Pow => return math::call(b, arith, MathOp::Pow, &[x, y]),
        BinOp::Atan2 => return math::call(b, arith, MathOp::Atan2, &[x, y]),
        BinOp::Hypot => return math::call(b, arith, MathOp::Hypot, &[x, y]),
        BinOp::Copysign => return copysign(b, x, y),
        BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => return compare(b, op, elem, x, y),
    };
    b.binary(machine, x, y)
}

/// Remainder with the sign of the divisor; the dividend if the divisor is zero.
fn floor_mod(b: &mut FuncBuilder, arith: Arith, elem: Elem, x: Val, y: Val) -> Val {
    let ty = b.ty(x);
    let zero = if elem.is_float() { b.fconst(ty, 0.0) } else { b.iconst(ty, 0) };
    let none = compare(b, BinOp::Eq, elem, y, zero);
    // Machines trap on a division of integers by zero: it divides by one instead.
    let divisor = match elem.is_float() {
        true => y,
        false => {
            let one = b.iconst(ty, 1);
            b.select(none, one, y)
        }
    };
    let rest = residue(b, arith, elem, (x, divisor));
    b.select(none, x, rest)
}

/// Remainder with the sign of the divisor, which is not zero.
pub(crate) fn residue(b: &mut FuncBuilder, arith: Arith, elem: Elem, (x, y): (Val, Val)) -> Val {
    let rest = binary(b, arith, BinOp::Mod, elem, x, y);
    if elem.is_unsigned_int() {
        return rest;
    }
    let ty = b.ty(rest);
    let zero = if elem.is_float() { b.fconst(ty, 0.0) } else { b.iconst(ty, 0) };
    let nonzero = compare(b, BinOp::Ne, elem, rest, zero);
    let negative = compare(b, BinOp::Lt, elem, rest, zero);
    let divisor_negative = compare(b, BinOp::Lt, elem, y, zero);
    let differ = b.binary(nest::BinOp::Xor, negative, divisor_negative);
    let adjust = b.binary(nest::BinOp::And, nonzero, differ);
    let moved = b.add(rest, y);
    b.select(adjust, moved, rest)
}

fn copysign(b: &mut FuncBuilder, x: Val, y: Val) -> Val {
    let ty = b.ty(x);
    let bits = ty.prim.as_int();
    let (xi, yi) = (b.convert(ConvOp::Bits, x, bits), b.convert(ConvOp::Bits, y, bits));
    let sign = b.bits(ty.with_prim(bits), 1u64 << (bits.bits() - 1));
    let rest = b.bits(ty.with_prim(bits), !(1u64 << (bits.bits() - 1)));
    let magnitude = b.binary(nest::BinOp::And, xi, rest);
    let sign = b.binary(nest::BinOp::And, yi, sign);
    let both = b.binary(nest::BinOp::Or, magnitude, sign);
    b.convert(ConvOp::Bits, both, ty.prim)
}

/// Conversion between element types; booleans are scalars here (0 or 1).
pub(crate) fn convert(b: &mut FuncBuilder, from: Elem, to: Elem, v: Val) -> Val {
    let ty = b.ty(v);
    let target = prim_of(to);
    if from == to {
        return v;
    }
    if to == Elem::Bool {
        return match from.is_float() {
            true => {
                let zero = b.fconst(ty, 0.0);
                b.fcmp(FloatCmp::Ne, v, zero)
            }
            false => {
                let zero = b.iconst(ty, 0);
                b.icmp(IntCmp::Ne, v, zero)
            }
        };
    }
    match (from.is_float(), to.is_float()) {
        (true, true) => b.convert(ConvOp::FConv, v, target),
        (true, false) if is_signed(to) => b.convert(ConvOp::FToS, v, target),
        (true, false) => b.convert(ConvOp::FToU, v, target),
        (false, true) => {
            // Narrow integers are widened first, so that backends convert from 32 and 64 bits only.
            let v = if ty.prim.bits() < 32 { b.convert(widening(from), v, Prim::I32) } else { v };
            b.convert(if is_signed(from) || ty.prim.bits() < 32 { ConvOp::SToF } else { ConvOp::UToF }, v, target)
        }
        (false, false) if target.bits() < ty.prim.bits() => b.convert(ConvOp::Narrow, v, target),
        (false, false) => b.convert(widening(from), v, target),
    }
}

/// How an integer of this type is widened.
pub(crate) fn widening(elem: Elem) -> ConvOp {
    if is_signed(elem) { ConvOp::SExt } else { ConvOp::ZExt }
}
