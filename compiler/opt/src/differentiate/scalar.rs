//! Partial derivatives of operations on scalars, for both modes.
//!
//! A partial is a list of [`Step`]s that turn a tangent of the operand into one of the result, or a cotangent of the result into one of the operand.
//! Most use the result, which is there anyway. To add the rule of a new operation, add it to [`unary`] or [`binary`]: both modes follow.

use crate::differentiate::state::State;
use ravel_types::{BinOp, Scalar, UnOp};
use ravel_wir::{Op, Region, Value};
use std::f64::consts::{LN_2, LN_10};

/// One factor of a partial derivative.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Neg,
    Times(Value),
    Over(Value),
    /// Nothing unless this holds, whatever the other factors are.
    Where(Value),
}

/// A partial derivative; none where it is zero everywhere.
pub type Partial = Option<Vec<Step>>;

impl State<'_> {
    /// A value with all factors but the conditions, and these as one.
    pub fn apply(&mut self, region: Region, steps: &[Step], value: Value) -> (Value, Option<Value>) {
        let (mut value, mut guard) = (value, None);
        for step in steps {
            match *step {
                Step::Neg => value = self.un(region, UnOp::Neg, value),
                Step::Times(factor) => value = self.bin(region, BinOp::Mul, value, factor),
                Step::Over(divisor) => value = self.bin(region, BinOp::Div, value, divisor),
                Step::Where(cond) => guard = Some(self.both(region, guard, cond)),
            }
        }
        (value, guard)
    }

    /// Whether both conditions hold.
    pub fn both(&mut self, region: Region, a: Option<Value>, b: Value) -> Value {
        match a {
            Some(a) if a != b => self.bin(region, BinOp::And, a, b),
            _ => b,
        }
    }

    /// A real constant of the type of another value.
    fn real_like(&mut self, region: Region, like: Value, value: f64) -> Value {
        let elem = self.func.ty(like).elem;
        self.real(region, elem, value)
    }

    /// The partial of `y = op x`.
    pub fn unary(&mut self, at: Region, op: UnOp, x: Value, y: Value) -> Partial {
        use Step::{Neg, Over, Times};
        let one = self.real_like(at, x, 1.0);
        Some(match op {
            UnOp::Neg => vec![Neg],
            UnOp::Abs => {
                let zero = self.real_like(at, x, 0.0);
                let minus = self.real_like(at, x, -1.0);
                let (above, below) = (self.bin(at, BinOp::Gt, x, zero), self.bin(at, BinOp::Lt, x, zero));
                let other = self.select(at, below, minus, zero);
                vec![Times(self.select(at, above, one, other))]
            }
            UnOp::Reciproc => vec![Times(y), Times(y), Neg],
            UnOp::Sqrt => {
                let half = self.real_like(at, x, 0.5);
                vec![Times(half), Over(y)]
            }
            UnOp::Cbrt => {
                let three = self.real_like(at, x, 3.0);
                let square = self.bin(at, BinOp::Mul, y, y);
                vec![Over(self.bin(at, BinOp::Mul, three, square))]
            }
            UnOp::Exp => vec![Times(y)],
            UnOp::Expm1 => vec![Times(self.bin(at, BinOp::Add, y, one))],
            UnOp::Log => vec![Over(x)],
            UnOp::Log1p => vec![Over(self.bin(at, BinOp::Add, x, one))],
            UnOp::Log2 | UnOp::Log10 => {
                let base = self.real_like(at, x, if op == UnOp::Log2 { LN_2 } else { LN_10 });
                vec![Over(self.bin(at, BinOp::Mul, x, base))]
            }
            UnOp::Sin => vec![Times(self.un(at, UnOp::Cos, x))],
            UnOp::Cos => vec![Times(self.un(at, UnOp::Sin, x)), Neg],
            UnOp::Tan => {
                let square = self.bin(at, BinOp::Mul, y, y);
                vec![Times(self.bin(at, BinOp::Add, square, one))]
            }
            UnOp::Asin | UnOp::Acos | UnOp::Atanh => {
                let (less, more) = (self.bin(at, BinOp::Sub, one, x), self.bin(at, BinOp::Add, one, x));
                let product = self.bin(at, BinOp::Mul, less, more);
                match op {
                    UnOp::Atanh => vec![Over(product)],
                    UnOp::Asin => vec![Over(self.un(at, UnOp::Sqrt, product))],
                    _ => vec![Over(self.un(at, UnOp::Sqrt, product)), Neg],
                }
            }
            UnOp::Atan => {
                let square = self.bin(at, BinOp::Mul, x, x);
                vec![Over(self.bin(at, BinOp::Add, square, one))]
            }
            UnOp::Sinh => vec![Times(self.un(at, UnOp::Cosh, x))],
            UnOp::Cosh => vec![Times(self.un(at, UnOp::Sinh, x))],
            UnOp::Tanh => {
                let square = self.bin(at, BinOp::Mul, y, y);
                vec![Times(self.bin(at, BinOp::Sub, one, square))]
            }
            UnOp::Asinh => vec![Over(self.bin(at, BinOp::Hypot, x, one))],
            UnOp::Acosh => {
                let (less, more) = (self.bin(at, BinOp::Sub, x, one), self.bin(at, BinOp::Add, x, one));
                let (less, more) = (self.un(at, UnOp::Sqrt, less), self.un(at, UnOp::Sqrt, more));
                vec![Over(less), Over(more)]
            }
            UnOp::Floor | UnOp::Ceil | UnOp::Rint | UnOp::Trunc => return None,
            UnOp::Not | UnOp::IsNan | UnOp::IsInf | UnOp::Finite => return None,
        })
    }

    /// The partials of `y = a op b`.
    pub fn binary(&mut self, at: Region, op: BinOp, a: Value, b: Value, y: Value) -> [Partial; 2] {
        use Step::{Neg, Over, Times, Where};
        match op {
            BinOp::Add => [Some(Vec::new()), Some(Vec::new())],
            BinOp::Sub => [Some(Vec::new()), Some(vec![Neg])],
            BinOp::Mul => [Some(vec![Times(b)]), Some(vec![Times(a)])],
            BinOp::Div => [Some(vec![Over(b)]), Some(vec![Over(b), Times(y), Neg])],
            BinOp::Mod | BinOp::AplMod => {
                let quotient = self.bin(at, BinOp::Div, a, b);
                let whole = self.un(at, if op == BinOp::Mod { UnOp::Trunc } else { UnOp::Floor }, quotient);
                let mut of_b = vec![Times(whole), Neg];
                if op == BinOp::AplMod {
                    // The residue by zero is the dividend.
                    let zero = self.real_like(at, b, 0.0);
                    of_b.push(Where(self.bin(at, BinOp::Ne, b, zero)));
                }
                [Some(Vec::new()), Some(of_b)]
            }
            BinOp::Min | BinOp::Max => {
                let (one, half) = (self.real_like(at, a, 1.0), self.real_like(at, a, 0.5));
                let tie = self.bin(at, BinOp::Eq, a, b);
                let share = self.select(at, tie, half, one);
                // The second operand is the result unless the first is certainly chosen.
                let (loose, strict) = if op == BinOp::Min { (BinOp::Le, BinOp::Lt) } else { (BinOp::Ge, BinOp::Gt) };
                let first = self.bin(at, loose, a, b);
                let chosen = self.bin(at, strict, a, b);
                let second = self.un(at, UnOp::Not, chosen);
                [Some(vec![Times(share), Where(first)]), Some(vec![Times(share), Where(second)])]
            }
            BinOp::Pow => {
                let (zero, one) = (self.real_like(at, a, 0.0), self.real_like(at, a, 1.0));
                let less = self.bin(at, BinOp::Sub, b, one);
                let power = match self.defs.constant(self.func, b) {
                    Some(Scalar::F64(2.0) | Scalar::F32(2.0)) => a,
                    _ => self.bin(at, BinOp::Pow, a, less),
                };
                let is_power = self.bin(at, BinOp::Ne, b, zero);
                let of_a = vec![Times(b), Times(power), Where(is_power)];
                let is_base = self.bin(at, BinOp::Ne, a, zero);
                let of_b = match self.is_varied(b) {
                    true => Some(vec![Times(y), Times(self.un(at, UnOp::Log, a)), Where(is_base)]),
                    false => None,
                };
                [Some(of_a), of_b]
            }
            BinOp::Atan2 | BinOp::Hypot => {
                let zero = self.real_like(at, a, 0.0);
                let length = if op == BinOp::Hypot { y } else { self.bin(at, BinOp::Hypot, a, b) };
                let is_away = self.bin(at, BinOp::Ne, length, zero);
                let mut over = |v: Value| self.bin(at, BinOp::Div, v, length);
                let (x, z) = (over(a), over(b));
                match op {
                    BinOp::Hypot => [Some(vec![Times(x), Where(is_away)]), Some(vec![Times(z), Where(is_away)])],
                    _ => [
                        Some(vec![Times(z), Over(length), Where(is_away)]),
                        Some(vec![Times(x), Over(length), Neg, Where(is_away)]),
                    ],
                }
            }
            BinOp::Copysign => {
                let one = self.real_like(at, a, 1.0);
                let (x, z) = (self.bin(at, BinOp::Copysign, one, a), self.bin(at, BinOp::Copysign, one, b));
                [Some(vec![Times(self.bin(at, BinOp::Mul, x, z))]), None]
            }
            BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr => [None, None],
            BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => [None, None],
        }
    }

    /// Operations whose derivative is one thing although they are written as several: the operand, and the partial by it.
    ///
    /// `1 / (1 + exp(-x))` has `y (1 - y)`; `log(1 + exp(x))` has `1 / (1 + exp(-x))`. The chain of their operations multiplies zero by infinity far out.
    pub fn composite(&mut self, at: Region, y: Value) -> Option<(Value, Vec<Step>)> {
        let op = self.defs.op(self.func, y)?.clone();
        let is_one =
            |s: &Self, v: Value| matches!(s.defs.constant(s.func, v), Some(Scalar::F64(1.0) | Scalar::F32(1.0)));
        // The exponent of `1 + exp(e)`.
        let exponent = |s: &Self, v: Value| -> Option<Value> {
            let Some(Op::Bin(BinOp::Add, a, b)) = s.defs.op(s.func, v) else { return None };
            let power = if is_one(s, *a) { *b } else { *a };
            match s.defs.op(s.func, power) {
                Some(Op::Un(UnOp::Exp, e)) if is_one(s, *a) || is_one(s, *b) => Some(*e),
                _ => None,
            }
        };
        let one = |s: &mut Self| s.real_like(at, y, 1.0);
        match op {
            Op::Bin(BinOp::Div, a, b) if is_one(self, a) => self.sigmoid(at, y, exponent(self, b)?),
            Op::Un(UnOp::Reciproc, b) => self.sigmoid(at, y, exponent(self, b)?),
            Op::Un(UnOp::Log1p, power) => {
                let Some(Op::Un(UnOp::Exp, e)) = self.defs.op(self.func, power).cloned() else { return None };
                let one = one(self);
                let minus = self.un(at, UnOp::Neg, e);
                let power = self.un(at, UnOp::Exp, minus);
                Some((e, vec![Step::Over(self.bin(at, BinOp::Add, one, power))]))
            }
            Op::Un(UnOp::Log, sum) => {
                let e = exponent(self, sum)?;
                let one = one(self);
                let minus = self.un(at, UnOp::Neg, e);
                let power = self.un(at, UnOp::Exp, minus);
                Some((e, vec![Step::Over(self.bin(at, BinOp::Add, one, power))]))
            }
            _ => None,
        }
    }

    /// `y = 1 / (1 + exp(e))`.
    fn sigmoid(&mut self, at: Region, y: Value, e: Value) -> Option<(Value, Vec<Step>)> {
        let one = self.real_like(at, y, 1.0);
        let rest = self.bin(at, BinOp::Sub, one, y);
        // `-x` is one operation more, which the pattern need not be without.
        match self.defs.op(self.func, e) {
            Some(Op::Un(UnOp::Neg, x)) => Some((*x, vec![Step::Times(rest), Step::Times(y)])),
            _ => Some((e, vec![Step::Times(rest), Step::Times(y), Step::Neg])),
        }
    }
}
