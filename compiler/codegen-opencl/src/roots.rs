//! Quotients by square roots.
//!
//! ```text
//!    x / sqrt(y)          x * rsqrt(y)                          errors in units in the last place: 2 + 1/2 instead of 3 + 2 1/2
//!    x / (y * sqrt(y))    x * r * (r * r), r = rsqrt(y)         6 + 1 1/2 instead of 3 + 1/2 + 2 1/2
//! ```
//!
//! The errors are those that OpenCL allows for `float`. Devices have one instruction for `rsqrt`, while divisions and square roots take a
//! dozen. Neither form overflows or underflows where the quotient does not. Roots and quotients of `double` are rounded correctly and
//! stay as they are.

use ravel_nest::ir::{BinOp, Op, Prim, UnOp, Value};

use crate::expr::{CType, Expr, Prec, type_name};
use crate::print::Printer;

impl Printer<'_> {
    /// `a / b` as a product with the reciprocal of a square root, if that is what it is.
    pub fn quotient_by_root(&mut self, op: BinOp, a: Value, b: Value) -> Option<Expr> {
        if op != BinOp::FDiv || self.k.values[a].prim != Prim::F32 {
            return None;
        }
        let (y, cubed) = self.root_below(b)?;
        let x = self.expr(a);
        // What the root is made of was written where it is used: here.
        self.expr(b);
        let y_text = self.expr(y);
        if !cubed {
            let root = Expr::atom(format!("rsqrt({})", y_text.text), CType::Real);
            return Some(if self.real_constant(a) == Some(1.0) { root } else { product(&x, &root) });
        }
        // The cube of the root of -0 would be negative, while -0 times its root is not.
        let y_text =
            if self.is_never_minus_zero(y) { y_text.text } else { format!("{} + 0.0f", y_text.within(Prec::Sum)) };
        let r = self.names.temporary();
        let ty = type_name(self.k.values[y]);
        self.line(&format!("const {ty} {r} = rsqrt({y_text});"));
        let r = Expr::atom(r, CType::Real);
        let once = if self.real_constant(a) == Some(1.0) { r.clone() } else { product(&x, &r) };
        Some(product(&once, &product(&r, &r)))
    }

    /// `y`, where a divisor is `sqrt(y)`, or (true) where it is `y * sqrt(y)`, and nothing else uses it.
    fn root_below(&self, divisor: Value) -> Option<(Value, bool)> {
        if let Some(y) = self.lone_root(divisor) {
            return Some((y, false));
        }
        let Op::Binary(BinOp::FMul, p, q) = self.defs.get(&divisor)?.op else { return None };
        let y = self.lone_root(p).filter(|y| *y == q).or_else(|| self.lone_root(q).filter(|y| *y == p))?;
        (self.is_inside(divisor) && self.is_named(y)).then_some((y, true))
    }

    /// `y`, if a value is `sqrt(y)` and stands inside the only expression that uses it.
    fn lone_root(&self, v: Value) -> Option<Value> {
        match self.defs.get(&v)?.op {
            Op::Unary(UnOp::Sqrt, y) if self.is_inside(v) => Some(y),
            _ => None,
        }
    }

    fn is_inside(&self, v: Value) -> bool {
        self.uses[v] == 1 && self.exprs.contains_key(&v) && !self.is_named(v)
    }

    /// Sums with a constant other than -0 are not -0.
    fn is_never_minus_zero(&self, y: Value) -> bool {
        let constant = |v: Value| self.real_constant(v).is_some_and(|k| k != 0.0 || k.is_sign_positive());
        match self.defs.get(&y).map(|inst| &inst.op) {
            Some(Op::Binary(BinOp::FAdd, a, b)) => constant(*a) || constant(*b),
            Some(Op::Fma(_, _, c)) => constant(*c),
            _ => false,
        }
    }

    fn real_constant(&self, v: Value) -> Option<f32> {
        match self.defs.get(&v)?.op {
            Op::Const { ty, bits } if ty.prim == Prim::F32 => Some(f32::from_bits(bits as u32)),
            _ => None,
        }
    }
}

fn product(x: &Expr, y: &Expr) -> Expr {
    Expr {
        text: format!("{} * {}", x.within(Prec::Product), y.within(Prec::Unary)),
        prec: Prec::Product,
        ctype: CType::Real,
    }
}
