//! Integer divisions of lanes by constants. No machine divides vectors of integers; powers of two need shifts only, and other constants a
//! product with a reciprocal, which wide targets compute in vectors.

use ravel_nest::ir::BinOp as NestBin;
use ravel_types::{BinOp, Elem};

use crate::facts::Val;
use crate::lower::{Lower, scalars};

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
