//! Evaluation of operations on constants, and identities.

use cranelift_entity::PrimaryMap;

use super::floats;
use crate::ir::{BinOp, ConvOp, IntCmp, Op, Prim, Ty, UnOp, Value};

/// What an operation can be replaced by.
pub(super) enum Folded {
    /// Nothing better.
    Same,
    /// A value that exists.
    Value(Value),
    /// Another operation.
    Op(Op),
    /// An operation on a value and a constant of its type.
    With(BinOp, Value, u64),
}

fn mask(prim: Prim) -> u64 {
    u64::MAX >> (64 - prim.bits())
}

fn signed(prim: Prim, bits: u64) -> i64 {
    let unused = 64 - prim.bits();
    ((bits << unused) as i64) >> unused
}

/// Looks for something better. `ty` is the type of the result, `types` has that of any value; `known` gives the bits of constants.
pub(super) fn fold(op: &Op, ty: Ty, types: &PrimaryMap<Value, Ty>, known: &impl Fn(Value) -> Option<u64>) -> Folded {
    let constant = |bits: u64| Folded::Op(Op::Const { ty, bits: bits & mask(ty.prim) });
    let truth = |holds: bool| constant(if ty.is_vector() && holds { u64::MAX } else { u64::from(holds) });
    match *op {
        Op::Binary(op, a, b) => match (known(a), known(b)) {
            (Some(x), Some(y)) if op.is_float() => floats::binary(op, ty.prim, x, y).map_or(Folded::Same, constant),
            (Some(x), Some(y)) => int_binary(op, ty.prim, x, y).map_or(Folded::Same, constant),
            (Some(_), None) if commutes(op) => match identity(op, ty, b, known(a)) {
                Folded::Same => Folded::Op(Op::Binary(op, b, a)),
                better => better,
            },
            (_, y) => identity(op, ty, a, y),
        },
        Op::Unary(op, a) => match known(a) {
            Some(x) => match op {
                UnOp::INeg => constant(x.wrapping_neg()),
                UnOp::Not => constant(!x),
                UnOp::IAbs => constant(signed(ty.prim, x).wrapping_abs() as u64),
                op => floats::unary(op, ty.prim, x).map_or(Folded::Same, constant),
            },
            None => Folded::Same,
        },
        Op::IntCmp(cmp, a, b) => match (known(a), known(b)) {
            (Some(x), Some(y)) => truth(int_cmp(cmp, types[a].prim, x, y)),
            _ if a == b => truth(matches!(cmp, IntCmp::Eq | IntCmp::Sle | IntCmp::Sge | IntCmp::Ule | IntCmp::Uge)),
            _ => Folded::Same,
        },
        Op::FloatCmp(cmp, a, b) => match (known(a), known(b)) {
            (Some(x), Some(y)) => floats::holds(cmp, types[a].prim, x, y).map_or(Folded::Same, truth),
            _ => Folded::Same,
        },
        Op::Fma(a, b, c) => match (known(a), known(b), known(c)) {
            (Some(x), Some(y), Some(z)) => floats::fused(ty.prim, x, y, z).map_or(Folded::Same, constant),
            _ => Folded::Same,
        },
        Op::Convert(op, a, to) => {
            let bits = known(a).and_then(|bits| convert(op, types[a].prim, to, bits));
            bits.map_or(Folded::Same, constant)
        }
        Op::Select { cond, on_true, on_false } => match known(cond) {
            Some(0) => Folded::Value(on_false),
            Some(_) => Folded::Value(on_true),
            None if on_true == on_false => Folded::Value(on_true),
            None => Folded::Same,
        },
        Op::Splat(a, _) => known(a).map_or(Folded::Same, constant),
        Op::Extract(a, _) => known(a).map_or(Folded::Same, constant),
        Op::PtrAdd(a, b) if known(b) == Some(0) => Folded::Value(a),
        _ => Folded::Same,
    }
}

fn convert(op: ConvOp, from: Prim, to: Prim, bits: u64) -> Option<u64> {
    match op {
        ConvOp::Narrow | ConvOp::ZExt => Some(bits & mask(to)),
        ConvOp::SExt => Some(signed(from, bits) as u64 & mask(to)),
        ConvOp::Bits => Some(bits),
        ConvOp::FConv => floats::converted(from, to, bits),
        _ => None,
    }
}

fn commutes(op: BinOp) -> bool {
    use BinOp::{And, IAdd, IMul, Or, SMax, SMin, UMax, UMin, Xor};
    matches!(op, IAdd | IMul | And | Or | Xor | SMin | SMax | UMin | UMax)
}

/// `a op y` for a known `y`.
fn identity(op: BinOp, ty: Ty, a: Value, y: Option<u64>) -> Folded {
    let Some(y) = y else { return Folded::Same };
    let all_ones = mask(ty.prim);
    match op {
        BinOp::IAdd | BinOp::ISub | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::SShr | BinOp::UShr if y == 0 => {
            Folded::Value(a)
        }
        BinOp::IMul | BinOp::SDiv | BinOp::UDiv if y == 1 => Folded::Value(a),
        BinOp::And if y == all_ones => Folded::Value(a),
        BinOp::IMul | BinOp::And if y == 0 => Folded::Op(Op::Const { ty, bits: 0 }),
        BinOp::Or if y == all_ones => Folded::Op(Op::Const { ty, bits: all_ones }),
        BinOp::IMul if y.is_power_of_two() && !ty.is_vector() => {
            Folded::With(BinOp::Shl, a, u64::from(y.trailing_zeros()))
        }
        // So that sums with constants look alike.
        BinOp::ISub => Folded::With(BinOp::IAdd, a, y.wrapping_neg() & all_ones),
        _ => Folded::Same,
    }
}

fn int_binary(op: BinOp, prim: Prim, x: u64, y: u64) -> Option<u64> {
    let (sx, sy) = (signed(prim, x), signed(prim, y));
    let shift = (y % u64::from(prim.bits())) as u32;
    Some(match op {
        BinOp::IAdd => x.wrapping_add(y),
        BinOp::ISub => x.wrapping_sub(y),
        BinOp::IMul => x.wrapping_mul(y),
        // Division by zero keeps its place, after the check that makes it unreachable.
        BinOp::SDiv | BinOp::SRem | BinOp::UDiv | BinOp::URem if y == 0 => return None,
        BinOp::SDiv => sx.wrapping_div(sy) as u64,
        BinOp::SRem => sx.wrapping_rem(sy) as u64,
        BinOp::UDiv => x / y,
        BinOp::URem => x % y,
        BinOp::And => x & y,
        BinOp::Or => x | y,
        BinOp::Xor => x ^ y,
        BinOp::Shl => x << shift,
        BinOp::SShr => (sx >> shift) as u64,
        BinOp::UShr => x >> shift,
        BinOp::SMin => sx.min(sy) as u64,
        BinOp::SMax => sx.max(sy) as u64,
        BinOp::UMin => x.min(y),
        BinOp::UMax => x.max(y),
        BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FMin | BinOp::FMax => return None,
    })
}

fn int_cmp(cmp: IntCmp, prim: Prim, x: u64, y: u64) -> bool {
    let (sx, sy) = (signed(prim, x), signed(prim, y));
    match cmp {
        IntCmp::Eq => x == y,
        IntCmp::Ne => x != y,
        IntCmp::Slt => sx < sy,
        IntCmp::Sle => sx <= sy,
        IntCmp::Sgt => sx > sy,
        IntCmp::Sge => sx >= sy,
        IntCmp::Ult => x < y,
        IntCmp::Ule => x <= y,
        IntCmp::Ugt => x > y,
        IntCmp::Uge => x >= y,
    }
}
