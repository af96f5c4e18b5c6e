//! Bounds of integers, by which kernels use plain 32-bit arithmetic where nothing can overflow.

use ravel_nest::ir::{BinOp, ConvOp, Op, Prim, UnOp};

/// Inclusive bounds.
pub(crate) type Range = (i64, i64);

/// Extents and indices of arrays are below this.
pub(crate) const EXTENT: Range = (0, i32::MAX as i64);

/// Everything a type holds.
pub(crate) fn full(prim: Prim) -> Range {
    match prim {
        Prim::I8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
        Prim::I16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Prim::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

pub(crate) fn within(inner: Range, outer: Range) -> bool {
    outer.0 <= inner.0 && inner.1 <= outer.1
}

/// Does every value fit a C `int`?
pub(crate) fn is_int(range: Range) -> bool {
    within(range, full(Prim::I32))
}

fn hull(values: [Option<i64>; 4]) -> Option<Range> {
    let mut range = (i64::MAX, i64::MIN);
    for v in values {
        let v = v?;
        range = (range.0.min(v), range.1.max(v));
    }
    Some(range)
}

/// The bounds of a sum, difference, product or left shift as if integers had no end; nothing beyond 64 bits.
pub(crate) fn unbounded(op: BinOp, a: Range, b: Range) -> Option<Range> {
    match op {
        BinOp::IAdd => Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?)),
        BinOp::ISub => Some((a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?)),
        BinOp::IMul => hull([a.0.checked_mul(b.0), a.0.checked_mul(b.1), a.1.checked_mul(b.0), a.1.checked_mul(b.1)]),
        BinOp::Shl if b.0 == b.1 && (0..32).contains(&b.0) => unbounded(BinOp::IMul, a, (1 << b.0, 1 << b.0)),
        _ => None,
    }
}

/// The same, if no result lies outside of the type.
pub(crate) fn exact(op: BinOp, prim: Prim, a: Range, b: Range) -> Option<Range> {
    unbounded(op, a, b).filter(|range| within(*range, full(prim)))
}

/// Bounds of an operation's result, which is of type `result`.
pub(crate) fn of_op(
    op: &Op,
    result: Prim,
    prim_of: &dyn Fn(ravel_nest::ir::Value) -> Prim,
    of: &mut dyn FnMut(ravel_nest::ir::Value) -> Range,
) -> Range {
    let any = full(result);
    match op {
        Op::Const { bits, .. } => {
            let unused = 64 - result.bits().min(64);
            let k = ((bits << unused) as i64) >> unused;
            (k, k)
        }
        Op::IntCmp(..) | Op::FloatCmp(..) => (0, 1),
        Op::Select { on_true, on_false, .. } => {
            let (a, b) = (of(*on_true), of(*on_false));
            (a.0.min(b.0), a.1.max(b.1))
        }
        Op::Convert(op, a, _) if prim_of(*a).is_int() && result.is_int() => {
            let range = of(*a);
            match op {
                ConvOp::SExt => range,
                ConvOp::ZExt if range.0 >= 0 => range,
                ConvOp::ZExt if prim_of(*a).bits() < 64 => (0, (1i64 << prim_of(*a).bits()) - 1),
                _ if within(range, any) => range,
                _ => any,
            }
        }
        Op::Unary(UnOp::INeg, a) => exact(BinOp::ISub, result, (0, 0), of(*a)).unwrap_or(any),
        Op::Unary(UnOp::IAbs, a) => match of(*a) {
            range if range.0 > any.0 => (0, range.1.max(-range.0)),
            _ => any,
        },
        Op::Binary(op, a, b) if result.is_int() => {
            let (a, b) = (of(*a), of(*b));
            match op {
                BinOp::IAdd | BinOp::ISub | BinOp::IMul | BinOp::Shl => exact(*op, result, a, b).unwrap_or(any),
                BinOp::SMin => (a.0.min(b.0), a.1.min(b.1)),
                BinOp::SMax => (a.0.max(b.0), a.1.max(b.1)),
                BinOp::SDiv if b.0 > 0 => {
                    (if a.0 >= 0 { a.0 / b.1 } else { a.0 / b.0 }, if a.1 >= 0 { a.1 / b.0 } else { a.1 / b.1 })
                }
                BinOp::SRem if b.0 > 0 => {
                    (if a.0 >= 0 { 0 } else { (1 - b.1).max(a.0) }, if a.1 <= 0 { 0 } else { (b.1 - 1).min(a.1) })
                }
                BinOp::And if a.0 >= 0 && b.0 >= 0 => (0, a.1.min(b.1)),
                BinOp::And if b.0 >= 0 => (0, b.1),
                BinOp::And if a.0 >= 0 => (0, a.1),
                BinOp::Or | BinOp::Xor if a.0 >= 0 && b.0 >= 0 && a.1 <= 1 && b.1 <= 1 => (0, 1),
                BinOp::SShr if b.0 == b.1 && (0..63).contains(&b.0) => (a.0 >> b.0, a.1 >> b.0),
                _ => any,
            }
        }
        _ => any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_extents_leave_int_and_their_quotients_come_back() {
        let sum = exact(BinOp::IAdd, Prim::I64, EXTENT, EXTENT);
        assert_eq!(sum, Some((0, 2 * i64::from(i32::MAX))));
        assert!(!sum.is_some_and(is_int));
        assert_eq!(exact(BinOp::IAdd, Prim::I32, EXTENT, EXTENT), None);
        assert_eq!(exact(BinOp::IMul, Prim::I32, (0, 999), (7, 7)), Some((0, 6993)));
        assert_eq!(exact(BinOp::IMul, Prim::I64, (i64::MIN, 0), (2, 2)), None);
        assert_eq!(exact(BinOp::Shl, Prim::I32, (0, 3), (2, 2)), Some((0, 12)));
    }
}
