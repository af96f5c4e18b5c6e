//! Integer divisions of lanes by constants. No machine divides vectors of integers; powers of two need shifts only, and other constants a
//! product with a reciprocal, which wide targets compute in vectors.

use ravel_nest::ir::BinOp as NestBin;
use ravel_types::{BinOp, Elem};
use ravel_wir::{Op, Value};

use crate::facts::{Facts, Val};
use crate::lower::{Lower, scalars};

/// Cycles of a division of a vector by a power of two.
const SHIFTS: f64 = 2.0;
/// Cycles of a division by another constant: products of the even and of the odd lanes, and corrections.
const RECIPROCAL: f64 = 6.0;
/// Cycles of a division by a constant, of one lane.
const LANE: f64 = 4.0;
/// Bytes of the vectors above which targets divide by constants in vectors.
const NARROW: u32 = 16;

impl Facts<'_> {
    /// The divisor of an integer division if it is a positive constant.
    pub fn constant_divisor(&self, elem: Elem, divisor: Value) -> Option<i64> {
        if elem.is_float() || elem == Elem::Bool || elem.bytes() < 4 {
            return None;
        }
        match &self.func.insts[self.live.def(divisor)?].op {
            Op::Const(scalar) => scalar.as_i64().filter(|k| *k > 0),
            _ => None,
        }
    }

    /// Estimated cycles for a vector of lanes; nothing if each lane divides by itself.
    pub fn division_cycles(&self, elem: Elem, divisor: Value, lanes: f64) -> Option<f64> {
        let k = self.constant_divisor(elem, divisor)?;
        Some(match k.count_ones() {
            1 => SHIFTS,
            _ if elem.bytes() == 4 && self.target.vector_bytes > NARROW => RECIPROCAL,
            _ => LANE * lanes,
        })
    }
}

impl Lower<'_, '_> {
    /// A division of lanes by a positive constant; `y` has it in every lane.
    pub fn divide_lanes(&mut self, op: BinOp, elem: Elem, x: Val, y: Val, k: i64) -> Val {
        let ty = self.b.ty(x);
        if k.count_ones() != 1 || !ty.is_vector() {
            let arith = self.arith();
            if op == BinOp::AplMod {
                return scalars::residue(&mut self.b, arith, elem, (x, y));
            }
            return scalars::binary(&mut self.b, arith, op, elem, x, y);
        }
        let (shift, bits) = (i64::from(k.trailing_zeros()), i64::from(ty.prim.bits()));
        if !elem.is_signed_int() || op == BinOp::AplMod {
            let (by, operand) = if op == BinOp::Div { (NestBin::UShr, shift) } else { (NestBin::And, k - 1) };
            let operand = self.b.iconst(ty, operand);
            return self.b.binary(by, x, operand);
        }
        // What rounds quotients of negative numbers towards zero: one less than the divisor.
        let moved = if shift == 0 {
            x
        } else {
            let (sign, down) = (self.b.iconst(ty, bits - 1), self.b.iconst(ty, bits - shift));
            let negative = self.b.binary(NestBin::SShr, x, sign);
            let round = self.b.binary(NestBin::UShr, negative, down);
            self.b.add(x, round)
        };
        if op == BinOp::Div {
            let by = self.b.iconst(ty, shift);
            return self.b.binary(NestBin::SShr, moved, by);
        }
        let whole = self.b.iconst(ty, -k);
        let multiple = self.b.binary(NestBin::And, moved, whole);
        self.b.sub(x, multiple)
    }
}
