//! Arithmetic on scalars under construction: folded where values are known, with intervals and forms where they are not.

use super::{Bounded, Emitter, SymDef};
use crate::value::Sc;
use ravel_types::{Affine, Basic, BinOp, Elem, Scalar, Ty};
use ravel_wir::{Op, Value};

impl Emitter {
    /// Interval of an `int` scalar, as far as constants and checks tell.
    pub fn range(&self, s: &Sc) -> (i64, i64) {
        let (mut lo, mut hi) = self.own_range(s);
        let form = match s {
            Sc::Form(a) => Some(a),
            Sc::Val(v) => self.forms.get(v),
            Sc::Const(_) => None,
        };
        for fact in form.and_then(|a| self.bounded.get(a)).into_iter().flatten() {
            if self.scopes.contains(&fact.scope) {
                (lo, hi) = (lo.max(fact.range.0), hi.min(fact.range.1));
            }
        }
        (lo, hi)
    }

    /// States that an `int` scalar lies in `lo ..= hi` from here on, because a check has just been passed.
    pub fn set_checked(&mut self, s: &Sc, range: (i64, i64), below: Option<&Affine>) {
        let form = self.form(s);
        let fact = Bounded { scope: self.scope(), range, below: below.cloned(), age: self.func.values.len() };
        self.bounded.entry(form).or_default().push(fact);
    }

    fn own_range(&self, s: &Sc) -> (i64, i64) {
        const ALL: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);
        match s {
            Sc::Const(Scalar::I32(v)) => (*v as i64, *v as i64),
            Sc::Val(v) => self.ranges.get(v).copied().unwrap_or(ALL),
            Sc::Form(a) => match (a.as_const(), a.as_sym()) {
                (Some(v), _) => (v as i64, v as i64),
                (_, Some(s)) if matches!(self.syms[s.0 as usize].0, SymDef::Extent(..)) => (0, i32::MAX as i64),
                _ => ALL,
            },
            Sc::Const(_) => ALL,
        }
    }

    pub fn set_range(&mut self, v: Value, range: (i64, i64)) {
        self.ranges.insert(v, range);
    }

    /// States that `v` lies in `0 .. bound`.
    pub fn set_below(&mut self, v: Value, bound: Affine) {
        self.below.entry(v).or_default().push(bound);
    }

    /// Whether `0 <= index < extent` is certain; `Some(false)` if it certainly fails.
    pub fn index_in_range(&mut self, index: &Sc, extent: &Affine) -> Option<bool> {
        let (lo, hi) = self.range(index);
        if let Some(n) = extent.as_const() {
            if lo >= 0 && hi < n as i64 {
                return Some(true);
            }
            if hi < 0 || lo >= n as i64 {
                return Some(false);
            }
        }
        if hi < 0 {
            return Some(false);
        }
        if let Sc::Val(v) = index
            && self.below.get(v).is_some_and(|bounds| bounds.contains(extent))
        {
            return Some(true);
        }
        let facts = self.known_form(index).and_then(|a| self.bounded.get(&a));
        let checked = facts
            .into_iter()
            .flatten()
            .any(|f| f.range.0 >= 0 && f.below.as_ref() == Some(extent) && self.scopes.contains(&f.scope));
        checked.then_some(true)
    }

    /// Applies an operation to scalars of one element type, folding what is known. Division is the caller's to check.
    pub fn bin(&mut self, op: BinOp, basic: Basic, a: &Sc, b: &Sc) -> Sc {
        if let (Sc::Const(x), Sc::Const(y)) = (a, b)
            && let Ok(v) = ravel_types::eval_bin(op, *x, *y)
        {
            return Sc::Const(v);
        }
        let int = basic == Basic::Int;
        let form = if int { self.int_form(op, a, b) } else { None };
        if let Some(form) = &form {
            if form.as_const().is_some() {
                return self.scalar_of(form);
            }
            if !matches!(a, Sc::Val(_)) && !matches!(b, Sc::Val(_)) {
                return Sc::Form(form.clone());
            }
            if let Some(sym) = form.as_sym()
                && let (SymDef::Value(v), scope) = self.syms[sym.0 as usize]
                && self.scopes.contains(&scope)
            {
                return Sc::Val(v);
            }
        }
        if int
            && op.is_comparison()
            && let Some(truth) = self.compare(op, a, b)
        {
            return Sc::bool(truth);
        }
        if matches!(op, BinOp::Min | BinOp::Max) && int {
            let (ra, rb) = (self.range(a), self.range(b));
            let a_first = if op == BinOp::Min { ra.1 <= rb.0 } else { ra.0 >= rb.1 };
            let b_first = if op == BinOp::Min { rb.1 <= ra.0 } else { rb.0 >= ra.1 };
            if a == b || a_first {
                return a.clone();
            }
            if b_first {
                return b.clone();
            }
        }
        let ty = Ty::scalar(if op.is_comparison() { Elem::Bool } else { basic.elem() });
        let range = if int { int_range(op, self.range(a), self.range(b)) } else { None };
        let (x, y) = (self.value(a), self.value(b));
        let v = self.inst1(Op::Bin(op, x, y), ty);
        if let Some(form) = form {
            self.set_form(v, form);
        }
        if let Some(range) = range {
            self.ranges.insert(v, range);
        }
        Sc::Val(v)
    }

    fn int_form(&mut self, op: BinOp, a: &Sc, b: &Sc) -> Option<Affine> {
        match op {
            BinOp::Add | BinOp::Sub => {
                let (x, y) = (self.form(a), self.form(b));
                Some(if op == BinOp::Add { x.add(&y) } else { x.sub(&y) })
            }
            BinOp::Mul if a.as_int().is_some() || b.as_int().is_some() => self.form(a).mul(&self.form(b)),
            _ => None,
        }
    }

    fn compare(&self, op: BinOp, a: &Sc, b: &Sc) -> Option<bool> {
        if a == b {
            return match op {
                BinOp::Eq | BinOp::Le | BinOp::Ge => Some(true),
                BinOp::Ne | BinOp::Lt | BinOp::Gt => Some(false),
                _ => None,
            };
        }
        if let (Some(x), Some(y)) = (self.known_form(a), self.known_form(b)) {
            match (x.sub(&y).as_const(), op) {
                (Some(0), BinOp::Eq | BinOp::Le | BinOp::Ge) => return Some(true),
                (Some(0), BinOp::Ne | BinOp::Lt | BinOp::Gt) => return Some(false),
                (Some(_), BinOp::Eq) => return Some(false),
                (Some(_), BinOp::Ne) => return Some(true),
                _ => {}
            }
        }
        let ((al, ah), (bl, bh)) = (self.range(a), self.range(b));
        match op {
            BinOp::Lt if ah < bl => Some(true),
            BinOp::Lt if al >= bh => Some(false),
            BinOp::Le if ah <= bl => Some(true),
            BinOp::Le if al > bh => Some(false),
            BinOp::Gt if al > bh => Some(true),
            BinOp::Gt if ah <= bl => Some(false),
            BinOp::Ge if al >= bh => Some(true),
            BinOp::Ge if ah < bl => Some(false),
            BinOp::Eq if ah < bl || al > bh => Some(false),
            BinOp::Ne if ah < bl || al > bh => Some(true),
            _ => None,
        }
    }

    pub fn add(&mut self, a: &Sc, b: &Sc) -> Sc {
        self.bin(BinOp::Add, Basic::Int, a, b)
    }

    pub fn sub(&mut self, a: &Sc, b: &Sc) -> Sc {
        self.bin(BinOp::Sub, Basic::Int, a, b)
    }

    pub fn and(&mut self, a: &Sc, b: &Sc) -> Sc {
        match (a.as_bool(), b.as_bool()) {
            (Some(true), _) => b.clone(),
            (_, Some(true)) => a.clone(),
            (Some(false), _) | (_, Some(false)) => Sc::bool(false),
            _ => self.bin(BinOp::And, Basic::Bool, a, b),
        }
    }

    pub fn or(&mut self, a: &Sc, b: &Sc) -> Sc {
        match (a.as_bool(), b.as_bool()) {
            (Some(false), _) => b.clone(),
            (_, Some(false)) => a.clone(),
            (Some(true), _) | (_, Some(true)) => Sc::bool(true),
            _ => self.bin(BinOp::Or, Basic::Bool, a, b),
        }
    }
}

/// Interval arithmetic; nothing if the operation may wrap.
fn int_range(op: BinOp, a: (i64, i64), b: (i64, i64)) -> Option<(i64, i64)> {
    let (lo, hi) = match op {
        BinOp::Add => (a.0 + b.0, a.1 + b.1),
        BinOp::Sub => (a.0 - b.1, a.1 - b.0),
        BinOp::Mul => {
            let products = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
            (products.into_iter().min()?, products.into_iter().max()?)
        }
        BinOp::Min => (a.0.min(b.0), a.1.min(b.1)),
        BinOp::Max => (a.0.max(b.0), a.1.max(b.1)),
        BinOp::Div if b.0 == b.1 && b.0 > 0 => (a.0 / b.0, a.1 / b.0),
        BinOp::Mod if b.0 == b.1 && b.0 > 0 => {
            if a.0 >= 0 {
                (0, a.1.min(b.0 - 1))
            } else {
                (1 - b.0, b.0 - 1)
            }
        }
        BinOp::AplMod if b.0 == b.1 && b.0 > 0 => (0, b.0 - 1),
        _ => return None,
    };
    (lo >= i32::MIN as i64 && hi <= i32::MAX as i64).then_some((lo, hi))
}
