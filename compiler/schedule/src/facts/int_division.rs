//! Integer divisions that lanes can do, and what they cost.

use ravel_types::Elem;
use ravel_wir::{Op, Value};

use crate::facts::Facts;

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
