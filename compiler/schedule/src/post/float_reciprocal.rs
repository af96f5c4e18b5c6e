//! Real quotients by constants: two products with parts of the reciprocal, which is what the division gives, bit by bit.
//!
//! ```text
//! v = fdiv x, 3.0
//! => v = if 0 < |x| < tiny { fdiv x, 3.0 } else { fma x, high, x * low }        high + low = 1/3
//! ```
//!
//! The divider of a processor takes five cycles or more for what multipliers do in one, and 13 instead of 8 until the result is there. With
//! `high` the reciprocal rounded towards zero and `low` what it lacks, the sum before the last rounding is within 2^(2-2p) of the
//! quotient, relatively, where p is the number of bits (Brisebarre, Muller and Raina, "Accelerating correctly rounded floating-point division when the
//! divisor is known in advance", IEEE Transactions on Computers 53, 2004). It is rounded to another number only if the quotient lies that close to
//! the middle between two numbers, and there are so few such operands for a divisor that `Reciprocal::of` tries all of them. Both parts have
//! one sign, so that infinities and signed zeros come out right; operands so small that `x * low` is subnormal are divided.
//!
//! Before: the function is lowered. After: divisions of floats by constants in loops are products. Leaves alone: divisions outside of loops; targets
//! without fused multiply-add; kernels of devices; divisors that are huge, tiny, or for which an operand fails; vectors divided beside much other work (densities took 12 % longer with products).

use ravel_types::HashMap;

use cranelift_entity::PrimaryMap;
use ravel_nest::ir::{BinOp, Exit, FloatCmp, Func, Inst, Op, Prim, Region, Ty, UnOp, Value};

/// Bytes of vectors that dividers take at once.
const NARROW: u32 = 16;
/// Vector operations beside each division of a body behind which the divider hides: it works on its own.
const HIDING: usize = 8;
/// Vector operations of a mathematical function, at least.
const FUNCTION: usize = 12;

/// The parts of a reciprocal.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reciprocal<T> {
    /// Of a power of two.
    Exact(T),
    /// Operands with magnitudes below `tiny`, other than zero, are divided.
    Parts { high: T, low: T, tiny: T },
}

/// Reciprocals for one type of floats: the number of bits of a significand, the greatest divisor, and the operand below which the divisor 1 would have
/// subnormal corrections, or be close to it.
macro_rules! reciprocal {
    ($float:ident, $word:ident, $bits:literal, $range:literal, $small:literal) => {
        impl Reciprocal<$float> {
            /// The parts of `1 / y`, if products with them give all quotients.
            fn of(y: $float) -> Option<Reciprocal<$float>> {
                let range = ($range as $float).recip()..=$range;
                if !range.contains(&y.abs()) {
                    return None;
                }
                let rounded = 1.0 / y;
                let mut high = rounded;
                let mut rest = (-high).mul_add(y, 1.0);
                if rest == 0.0 {
                    return Some(Reciprocal::Exact(high));
                }
                if (rest / y).is_sign_negative() != high.is_sign_negative() {
                    high = $float::from_bits(high.to_bits() - 1);
                    rest = (-high).mul_add(y, 1.0);
                }
                let low = rest / y;
                let fraction: $word = 1 << ($bits - 1);
                let significand = y.to_bits() & (fraction - 1) | fraction;
                let odd = significand >> significand.trailing_zeros();
                let right = |x: u128| {
                    let x = x as $float;
                    x.mul_add(high, x * low) == x / y
                };
                close_operands(u128::from(odd), $bits).all(right).then_some(Reciprocal::Parts {
                    high,
                    low,
                    tiny: y.abs() * $small,
                })
            }
        }
    };
}

reciprocal!(f64, u64, 53, 1e15, 1e-285);
reciprocal!(f32, u32, 24, 1e6, 1e-27);

/// Operands of `p` bits whose quotients by an odd number may lie within `2^(2-2p)`, relatively, of the middle between two numbers: `x * 2^e` is
/// `middle * odd` but for one of the smallest odd numbers, where `middle` has `p + 1` bits. If the divisor has few bits there are none, since a quotient
/// that is no middle is at least one part in `2^(p+1) * odd` away from it.
fn close_operands(odd: u128, p: u32) -> impl Iterator<Item = u128> {
    // Newton's iteration for the inverse modulo 2^128.
    let inverse = (0..7).fold(odd, |inverse, _| inverse.wrapping_mul(2u128.wrapping_sub(odd.wrapping_mul(inverse))));
    let differences = [1u128, 3, 5, 7].into_iter().flat_map(|d| [d, d.wrapping_neg()]);
    let pairs = differences.flat_map(move |d| (p - 3..=p + 1).map(move |e| (d, e)));
    pairs.filter(move |_| odd >> (p - 4) != 0).flat_map(move |(difference, e)| {
        let first = difference.wrapping_mul(inverse) & ((1 << e) - 1);
        let middles = (first..1 << (p + 1)).step_by(1 << e).filter(move |middle| middle >> p == 1);
        middles.map(move |middle| (middle * odd).wrapping_sub(difference) >> e).filter(move |x| x >> p == 0)
    })
}

/// Replaces the divisions of a function's loops.
pub(crate) fn multiply_instead(func: &mut Func) {
    let mut body = std::mem::take(&mut func.body);
    let mut found = HashMap::default();
    let mut wanted = HashMap::default();
    divisors(&body, &mut found, &mut wanted, false);
    if !wanted.is_empty() {
        let mut pass = Pass { values: &mut func.values, wanted, made: HashMap::default() };
        pass.region(&mut body, false);
    }
    func.body = body;
}

/// Bits of a reciprocal's parts, for the element type of the divisor.
type Parts = Reciprocal<u64>;

/// Vectors of four `f32` are divided in little more time than the products and the question before them take.
fn pays(ty: Ty) -> bool {
    !(ty.is_vector() && ty.prim == Prim::F32 && ty.bytes() <= NARROW)
}

/// Gathers float constants, and those of them that loops divide by.
fn divisors(
    region: &Region,
    found: &mut HashMap<Value, (Prim, u64)>,
    wanted: &mut HashMap<Value, Parts>,
    repeated: bool,
) {
    for inst in &region.insts {
        match &inst.op {
            Op::Const { ty, bits } if ty.prim.is_float() => {
                found.insert(inst.results[0], (ty.prim, *bits));
            }
            Op::Splat(scalar, _) => {
                if let Some(constant) = found.get(scalar).copied() {
                    found.insert(inst.results[0], constant);
                }
            }
            Op::Binary(BinOp::FDiv, _, divisor) if repeated => {
                if let Some(parts) = found.get(divisor).and_then(|(prim, bits)| parts(*prim, *bits)) {
                    wanted.insert(*divisor, parts);
                }
            }
            Op::Launch { .. } => {}
            op => {
                let looped = matches!(op, Op::For { .. } | Op::Loop { .. } | Op::ParFor { .. });
                op.regions().iter().for_each(|nested| divisors(nested, found, wanted, repeated || looped));
            }
        }
    }
}

fn parts(prim: Prim, bits: u64) -> Option<Parts> {
    match prim {
        Prim::F64 => Reciprocal::<f64>::of(f64::from_bits(bits)).map(|r| r.map(f64::to_bits)),
        Prim::F32 => Reciprocal::<f32>::of(f32::from_bits(bits as u32)).map(|r| r.map(|x| u64::from(x.to_bits()))),
        _ => None,
    }
}

impl<T> Reciprocal<T> {
    fn map<U>(self, f: impl Fn(T) -> U) -> Reciprocal<U> {
        match self {
            Reciprocal::Exact(x) => Reciprocal::Exact(f(x)),
            Reciprocal::Parts { high, low, tiny } => Reciprocal::Parts { high: f(high), low: f(low), tiny: f(tiny) },
        }
    }
}

struct Pass<'a> {
    values: &'a mut PrimaryMap<Value, Ty>,
    wanted: HashMap<Value, Parts>,
    /// The parts of a divisor's reciprocal, defined beside it.
    made: HashMap<Value, Reciprocal<Value>>,
}

impl Pass<'_> {
    fn push(&mut self, out: &mut Vec<Inst>, ty: Ty, op: Op) -> Value {
        let result = self.values.push(ty);
        out.push(Inst { results: [result].into_iter().collect(), op });
        result
    }

    /// Are there operations enough beside the divisions of vectors to hide them?
    fn hides_divisions(&self, insts: &[Inst]) -> bool {
        let (mut divisions, mut others) = (0, 0);
        for inst in insts {
            let is_vector = inst.results.first().is_some_and(|v| self.values[*v].is_vector());
            match &inst.op {
                _ if !is_vector => {}
                Op::Binary(BinOp::FDiv, ..) => divisions += 1,
                Op::Math(..) => others += FUNCTION,
                Op::Fma(..) | Op::Binary(..) | Op::Convert(..) | Op::Select { .. } => others += 1,
                _ => {}
            }
        }
        others >= HIDING * divisions
    }

    fn region(&mut self, region: &mut Region, repeated: bool) {
        let hidden = self.hides_divisions(&region.insts);
        for mut inst in std::mem::take(&mut region.insts) {
            match &mut inst.op {
                Op::Binary(BinOp::FDiv, x, divisor) if repeated && pays(self.values[*x]) => {
                    let is_hidden = hidden && self.values[*x].is_vector();
                    let made = self.made.get(divisor).copied();
                    if let Some(made) = made.filter(|by| !is_hidden || matches!(by, Reciprocal::Exact(_))) {
                        let (x, result) = (*x, inst.results[0]);
                        self.quotient(&mut region.insts, x, inst, made, result);
                        continue;
                    }
                }
                Op::Launch { .. } => {}
                Op::If { then_region, else_region, .. } => {
                    self.region(then_region, repeated);
                    self.region(else_region, repeated);
                }
                Op::For { body, .. } | Op::Loop { body, .. } | Op::ParFor { body, .. } => self.region(body, true),
                _ => {}
            }
            let divisor = inst.results.first().and_then(|v| self.wanted.get(v).map(|parts| (*v, *parts)));
            region.insts.push(inst);
            if let Some((divisor, parts)) = divisor {
                let ty = self.values[divisor];
                let mut define = |bits: u64| self.push(&mut region.insts, ty, Op::Const { ty, bits });
                let made = match parts {
                    Reciprocal::Exact(bits) => Reciprocal::Exact(define(bits)),
                    Reciprocal::Parts { high, low, tiny } => {
                        Reciprocal::Parts { high: define(high), low: define(low), tiny: define(tiny) }
                    }
                };
                self.made.insert(divisor, made);
            }
        }
    }

    /// `division` of `x`, by products.
    fn quotient(&mut self, out: &mut Vec<Inst>, x: Value, division: Inst, by: Reciprocal<Value>, result: Value) {
        let ty = self.values[result];
        let (high, low, tiny) = match by {
            Reciprocal::Exact(reciprocal) => {
                out.push(Inst { op: Op::Binary(BinOp::FMul, x, reciprocal), results: division.results });
                return;
            }
            Reciprocal::Parts { high, low, tiny } => (high, low, tiny),
        };
        let size = self.push(out, ty, Op::Unary(UnOp::FAbs, x));
        let truth = ty.truth();
        let small = self.push(out, truth, Op::FloatCmp(FloatCmp::Lt, size, tiny));
        let zero = self.push(out, ty, Op::Const { ty, bits: 0 });
        let some = self.push(out, truth, Op::FloatCmp(FloatCmp::Ne, x, zero));
        let mut rare = self.push(out, truth, Op::Binary(BinOp::And, small, some));
        if ty.is_vector() {
            rare = self.push(out, Ty::I8, Op::Any(rare));
        }
        let (mut divide, mut multiply) = (Vec::new(), Vec::new());
        let exact = self.push(&mut divide, ty, division.op);
        let correction = self.push(&mut multiply, ty, Op::Binary(BinOp::FMul, x, low));
        let product = self.push(&mut multiply, ty, Op::Fma(x, high, correction));
        let arm = |insts, v| Region { params: Vec::new(), insts, exit: Exit::Yield(vec![v]) };
        let op = Op::If { cond: rare, then_region: arm(divide, exact), else_region: arm(multiply, product) };
        out.push(Inst { op, results: division.results });
    }
}

#[cfg(test)]
#[path = "../../tests/unit/float_reciprocal.rs"]
mod tests;
