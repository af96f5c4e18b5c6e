//! Scalar operations: constants, and the algebra that is exact.

use super::{Simplifier, Step};
use ravel_types::{BinOp, Elem, Scalar, Ty, UnOp, eval_bin, eval_convert, eval_un};
use ravel_wir::{Inst, Op, Value};

impl Simplifier<'_> {
    pub(super) fn scalar(&mut self, inst: Inst) -> Step {
        match self.func.insts[inst].op {
            Op::Un(op, a) => self.unary(op, a),
            Op::Bin(op, a, b) => self.binary(op, a, b),
            Op::Convert(a) => {
                let to = self.result_ty(inst).elem;
                if self.func.ty(a).elem == to {
                    return Step::Is(vec![a]);
                }
                if let Some(whole) = self.whole_number_behind(a).filter(|_| to == Elem::F32) {
                    return Step::Becomes(Op::Convert(whole));
                }
                match self.const_of(a).and_then(|v| eval_convert(v, to)) {
                    Some(v) => self.constant(v),
                    None => Step::Keep,
                }
            }
            Op::Select { cond, then, els } => self.select(cond, then, els),
            _ => Step::Keep,
        }
    }

    /// The integer that an `f64` was made of without rounding: going on to another type by way of it rounds once too.
    fn whole_number_behind(&self, a: Value) -> Option<Value> {
        let Some(Op::Convert(from)) = self.op_of(a) else { return None };
        let elem = self.func.ty(*from).elem;
        let exact = matches!(elem, Elem::I8 | Elem::I16 | Elem::I32 | Elem::U8 | Elem::U16 | Elem::U32);
        (exact && self.func.ty(a).elem == Elem::F64).then_some(*from)
    }

    fn unary(&mut self, op: UnOp, a: Value) -> Step {
        if let Some(v) = self.const_of(a) {
            return match eval_un(op, v) {
                Ok(v) => self.constant(v),
                Err(_) => Step::Keep,
            };
        }
        match (op, self.op_of(a)) {
            (UnOp::Neg, Some(Op::Un(UnOp::Neg, x))) | (UnOp::Not, Some(Op::Un(UnOp::Not, x))) => Step::Is(vec![*x]),
            (UnOp::Not, Some(Op::Bin(cmp, x, y))) if !self.func.ty(*x).elem.is_float() => match inverse(*cmp) {
                Some(cmp) => Step::Becomes(Op::Bin(cmp, *x, *y)),
                None => Step::Keep,
            },
            _ => Step::Keep,
        }
    }

    fn binary(&mut self, op: BinOp, a: Value, b: Value) -> Step {
        let (ca, cb) = (self.const_of(a), self.const_of(b));
        if let (Some(x), Some(y)) = (ca, cb) {
            return match eval_bin(op, x, y) {
                Ok(v) => self.constant(v),
                Err(_) => Step::Keep,
            };
        }
        // Constants stand on the right. The smaller or larger of two reals depends on their order if they are zeros.
        let is_zero = ca.is_some_and(|c| matches!(c, Scalar::F32(0.0) | Scalar::F64(0.0)));
        let is_order_sensitive = matches!(op, BinOp::Min | BinOp::Max) && is_zero;
        if ca.is_some() && op.commutes() && !is_order_sensitive {
            return Step::Becomes(Op::Bin(op, b, a));
        }
        if let (Some(_), Some(mirrored)) = (ca, mirror(op)) {
            return Step::Becomes(Op::Bin(mirrored, b, a));
        }
        let elem = self.func.ty(a).elem;
        match elem {
            Elem::Bool => self.logic(op, a, b, cb),
            Elem::F32 | Elem::F64 => self.real(op, a, b, cb),
            Elem::Char if a == b => match op {
                BinOp::Eq | BinOp::Le | BinOp::Ge => self.constant(Scalar::Bool(true)),
                BinOp::Ne | BinOp::Lt | BinOp::Gt => self.constant(Scalar::Bool(false)),
                _ => Step::Keep,
            },
            Elem::Char | Elem::Handle => Step::Keep,
            _ => self.integer(op, a, b, cb),
        }
    }

    fn logic(&mut self, op: BinOp, a: Value, b: Value, cb: Option<Scalar>) -> Step {
        use BinOp::*;
        if a == b {
            return match op {
                And | Or | Min | Max | Add | Mul => Step::Is(vec![a]),
                Xor | Ne => self.constant(Scalar::Bool(false)),
                Eq => self.constant(Scalar::Bool(true)),
                _ => Step::Keep,
            };
        }
        match (op, cb.and_then(Scalar::as_bool)) {
            (And | Min | Mul, Some(true))
            | (Or | Max | Add, Some(false))
            | (Xor | Ne, Some(false))
            | (Eq, Some(true)) => Step::Is(vec![a]),
            (And | Min | Mul, Some(false)) | (Or | Max | Add, Some(true)) => Step::Is(vec![b]),
            (Xor | Ne, Some(true)) | (Eq, Some(false)) => Step::Becomes(Op::Un(UnOp::Not, a)),
            _ => Step::Keep,
        }
    }

    /// Only what changes no bit of the result, NaN payloads aside.
    fn real(&mut self, op: BinOp, a: Value, _b: Value, cb: Option<Scalar>) -> Step {
        let c = match cb {
            Some(Scalar::F64(v)) => v,
            Some(Scalar::F32(v)) => f64::from(v),
            _ => return Step::Keep,
        };
        let is_plain_zero = c == 0.0 && c.is_sign_positive();
        match op {
            BinOp::Mul | BinOp::Div if c == 1.0 => Step::Is(vec![a]),
            BinOp::Sub if is_plain_zero => Step::Is(vec![a]),
            BinOp::Add if c == 0.0 && c.is_sign_negative() => Step::Is(vec![a]),
            BinOp::Div if is_moderate_power_of_two(c) => {
                let reciprocal = match cb {
                    Some(Scalar::F32(_)) => Scalar::F32((1.0 / c) as f32),
                    _ => Scalar::F64(1.0 / c),
                };
                let reciprocal = self.emitter().constant(reciprocal);
                Step::Becomes(Op::Bin(BinOp::Mul, a, reciprocal))
            }
            BinOp::Pow => self.power(a, c),
            _ => Step::Keep,
        }
    }

    fn integer(&mut self, op: BinOp, a: Value, b: Value, cb: Option<Scalar>) -> Step {
        use BinOp::*;
        let elem = self.func.ty(a).elem;
        if a == b {
            return match op {
                Sub | Xor => self.number(elem, 0),
                And | Or | Min | Max => Step::Is(vec![a]),
                Eq | Le | Ge => self.constant(Scalar::Bool(true)),
                Ne | Lt | Gt => self.constant(Scalar::Bool(false)),
                _ => Step::Keep,
            };
        }
        if let Some(c) = cb.and_then(Scalar::as_i64) {
            match (op, c) {
                (Add | Sub | Or | Xor | Shl | Shr, 0) | (Mul | Div, 1) => return Step::Is(vec![a]),
                (Mul | And, 0) => return Step::Is(vec![b]),
                (AplMod, 0) => return Step::Is(vec![a]),
                (Mod | AplMod, 1) => return self.number(elem, 0),
                (Sub, c) => return self.with_constant(Add, a, elem, c.wrapping_neg()),
                _ => {}
            }
            if let Some(Op::Bin(inner, x, y)) = self.op_of(a).cloned()
                && let Some(d) = self.const_of(y).and_then(Scalar::as_i64)
            {
                match (op, inner) {
                    (Add, Add) => return self.with_constant(Add, x, elem, c.wrapping_add(d)),
                    (Mul, Mul) => return self.with_constant(Mul, x, elem, c.wrapping_mul(d)),
                    (Eq | Ne, Add) => return self.with_constant(op, x, elem, c.wrapping_sub(d)),
                    _ => {}
                }
            }
            return Step::Keep;
        }
        self.cancel(op, a, b)
    }

    /// `(x + y) - x` and the like; wrapping arithmetic is a ring, so these are exact.
    fn cancel(&mut self, op: BinOp, a: Value, b: Value) -> Step {
        use BinOp::*;
        let parts = |v: Value| match self.op_of(v) {
            Some(Op::Bin(op @ (Add | Sub), x, y)) => Some((*op, *x, *y)),
            _ => None,
        };
        let (pa, pb) = (parts(a), parts(b));
        match (op, pa, pb) {
            (Sub, Some((Add, x, y)), _) if x == b => Step::Is(vec![y]),
            (Sub, Some((Add, x, y)), _) if y == b => Step::Is(vec![x]),
            (Sub, Some((Sub, x, y)), _) if x == b => Step::Becomes(Op::Un(UnOp::Neg, y)),
            (Add, Some((Sub, x, y)), _) if y == b => Step::Is(vec![x]),
            (Add, _, Some((Sub, x, y))) if y == a => Step::Is(vec![x]),
            (Sub, _, Some((Sub, x, y))) if x == a => Step::Is(vec![y]),
            (Sub, _, Some((Add, x, y))) if x == a => Step::Becomes(Op::Un(UnOp::Neg, y)),
            (Sub, _, Some((Add, x, y))) if y == a => Step::Becomes(Op::Un(UnOp::Neg, x)),
            (Sub, Some((Add, x, y)), Some((Add, u, v))) if x == u => Step::Becomes(Op::Bin(Sub, y, v)),
            (Sub, Some((Add, x, y)), Some((Add, u, v))) if y == v => Step::Becomes(Op::Bin(Sub, x, u)),
            // Constants move outward: (x + c) + y = (x + y) + c.
            (Add, Some((Add, x, c)), _) if self.const_of(c).is_some() => {
                let sum = self.bin(Add, x, b);
                Step::Becomes(Op::Bin(Add, sum, c))
            }
            (Add, _, Some((Add, x, c))) if self.const_of(c).is_some() => {
                let sum = self.bin(Add, a, x);
                Step::Becomes(Op::Bin(Add, sum, c))
            }
            _ => Step::Keep,
        }
    }

    fn number(&mut self, elem: Elem, v: i64) -> Step {
        match Scalar::from_i64(elem, v) {
            Some(v) => self.constant(v),
            None => Step::Keep,
        }
    }

    fn with_constant(&mut self, op: BinOp, a: Value, elem: Elem, c: i64) -> Step {
        let Some(c) = Scalar::from_i64(elem, c) else { return Step::Keep };
        let c = self.emitter().constant(c);
        Step::Becomes(Op::Bin(op, a, c))
    }

    fn select(&mut self, cond: Value, then: Value, els: Value) -> Step {
        if then == els {
            return Step::Is(vec![then]);
        }
        if let Some(Scalar::Bool(c)) = self.const_of(cond) {
            return Step::Is(vec![if c { then } else { els }]);
        }
        if let Some(Op::Un(UnOp::Not, c)) = self.op_of(cond) {
            return Step::Becomes(Op::Select { cond: *c, then: els, els: then });
        }
        if *self.func.ty(then) == Ty::scalar(Elem::Bool) {
            let known = |v: Value| self.const_of(v).and_then(Scalar::as_bool);
            match (known(then), known(els)) {
                (Some(true), Some(false)) => return Step::Is(vec![cond]),
                (Some(false), Some(true)) => return Step::Becomes(Op::Un(UnOp::Not, cond)),
                (Some(true), None) => return Step::Becomes(Op::Bin(BinOp::Or, cond, els)),
                (None, Some(false)) => return Step::Becomes(Op::Bin(BinOp::And, cond, then)),
                _ => {}
            }
        }
        Step::Keep
    }
}

/// The comparison that holds exactly when this one does not; not for reals, because of NaN.
fn inverse(cmp: BinOp) -> Option<BinOp> {
    Some(match cmp {
        BinOp::Eq => BinOp::Ne,
        BinOp::Ne => BinOp::Eq,
        BinOp::Lt => BinOp::Ge,
        BinOp::Ge => BinOp::Lt,
        BinOp::Gt => BinOp::Le,
        BinOp::Le => BinOp::Gt,
        _ => return None,
    })
}

/// The comparison with its sides exchanged.
fn mirror(cmp: BinOp) -> Option<BinOp> {
    Some(match cmp {
        BinOp::Lt => BinOp::Gt,
        BinOp::Gt => BinOp::Lt,
        BinOp::Le => BinOp::Ge,
        BinOp::Ge => BinOp::Le,
        _ => return None,
    })
}

/// Whether dividing by `c` is the same as multiplying with `1 / c`, in both precisions.
fn is_moderate_power_of_two(c: f64) -> bool {
    let mantissa = c.to_bits() & ((1 << 52) - 1);
    mantissa == 0 && c.is_normal() && (1e-30..1e30).contains(&c.abs())
}
