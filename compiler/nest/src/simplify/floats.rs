//! Evaluation of float operations on constants, rounded once as by processors. `None` where NaN is about, whose sign and digits
//! processors choose.
//!
//! Operations of `f32` are evaluated in `f64`, which has enough digits for the second rounding to be harmless (Figueroa, "When is double
//! rounding innocuous?", 1995).

use crate::ir::{BinOp, FloatCmp, Prim, UnOp};

/// The number with these bits.
fn number(prim: Prim, bits: u64) -> Option<f64> {
    let value = match prim {
        Prim::F32 => f64::from(f32::from_bits(bits as u32)),
        Prim::F64 => f64::from_bits(bits),
        _ => return None,
    };
    (!value.is_nan()).then_some(value)
}

/// The bits of a number, rounded to a type.
fn bits(prim: Prim, value: f64) -> Option<u64> {
    let bits = match prim {
        Prim::F32 => u64::from((value as f32).to_bits()),
        Prim::F64 => value.to_bits(),
        _ => return None,
    };
    (!value.is_nan()).then_some(bits)
}

/// `x op y`.
pub(super) fn binary(op: BinOp, prim: Prim, x: u64, y: u64) -> Option<u64> {
    let (x, y) = (number(prim, x)?, number(prim, y)?);
    let value = match op {
        BinOp::FAdd => x + y,
        BinOp::FSub => x - y,
        BinOp::FMul => x * y,
        BinOp::FDiv => x / y,
        BinOp::FMin => {
            if y < x || y.is_nan() {
                y
            } else {
                x
            }
        }
        BinOp::FMax => {
            if y > x || y.is_nan() {
                y
            } else {
                x
            }
        }
        _ => return None,
    };
    bits(prim, value)
}

/// `op x`.
pub(super) fn unary(op: UnOp, prim: Prim, x: u64) -> Option<u64> {
    let x = number(prim, x)?;
    let value = match op {
        UnOp::FNeg => -x,
        UnOp::FAbs => x.abs(),
        UnOp::Sqrt => x.sqrt(),
        UnOp::Floor => x.floor(),
        UnOp::Ceil => x.ceil(),
        UnOp::Trunc => x.trunc(),
        UnOp::Nearest => x.round_ties_even(),
        _ => return None,
    };
    bits(prim, value)
}

/// `x y + z`, rounded once.
pub(super) fn fused(prim: Prim, x: u64, y: u64, z: u64) -> Option<u64> {
    let (x, y, z) = (number(prim, x)?, number(prim, y)?, number(prim, z)?);
    let value = if prim == Prim::F32 { f64::from((x as f32).mul_add(y as f32, z as f32)) } else { x.mul_add(y, z) };
    bits(prim, value)
}

/// `x` as another type of floats.
pub(super) fn converted(from: Prim, to: Prim, x: u64) -> Option<u64> {
    bits(to, number(from, x)?)
}

/// `x cmp y`; also for NaN.
pub(super) fn holds(cmp: FloatCmp, prim: Prim, x: u64, y: u64) -> Option<bool> {
    if !prim.is_float() {
        return None;
    }
    let value = |bits| number(prim, bits).unwrap_or(f64::NAN);
    let (x, y) = (value(x), value(y));
    Some(match cmp {
        FloatCmp::Eq => x == y,
        FloatCmp::Ne => x != y,
        FloatCmp::Lt => x < y,
        FloatCmp::Le => x <= y,
        FloatCmp::Gt => x > y,
        FloatCmp::Ge => x >= y,
    })
}
