//! Index expressions as affine forms in 64 bits, their ranges, and row-major offsets made of them.

use ravel_types::{BinOp, UnOp};
use ravel_wir::{Op, Region, Value};

use crate::facts::{Facts, Val};

/// An extent or a stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ext {
    /// Known now.
    Const(i64),
    /// An `i64` of the generated code.
    Val(Val),
}

impl Ext {
    /// Its value, if known now.
    pub fn as_const(self) -> Option<i64> {
        match self {
            Ext::Const(n) => Some(n),
            Ext::Val(_) => None,
        }
    }
}

/// An integer as `constant + sum of value * factor`, exact in 64 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub constant: i64,
    pub terms: Vec<(Value, i64)>,
    /// Inclusive bounds of the form's value.
    low: i64,
    high: i64,
}

/// Index expressions deeper than this are taken as they are.
const MAX_DEPTH: usize = 12;

const I32_MIN: i64 = i32::MIN as i64;

const I32_MAX: i64 = i32::MAX as i64;

/// Magnitude up to which forms are tracked; products of two such numbers fit an `i64`.
const TRACKED: i64 = 1 << 40;

impl Form {
    pub fn constant(k: i64) -> Form {
        Form { constant: k, terms: Vec::new(), low: k, high: k }
    }

    /// A value with these bounds as it is.
    pub fn of(v: Value, range: (i64, i64)) -> Form {
        Form { constant: 0, terms: vec![(v, 1)], low: range.0, high: range.1 }
    }

    /// `self + other * factor`.
    pub fn plus(mut self, other: &Form, factor: i64) -> Option<Form> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for &(v, c) in &other.terms {
            let c = c.checked_mul(factor)?;
            match self.terms.iter_mut().find(|(w, _)| *w == v) {
                Some((_, d)) => *d = d.checked_add(c)?,
                None => self.terms.push((v, c)),
            }
        }
        self.terms.retain(|(_, c)| *c != 0);
        let (x, y) = (other.low.checked_mul(factor)?, other.high.checked_mul(factor)?);
        self.low = self.low.checked_add(x.min(y))?;
        self.high = self.high.checked_add(x.max(y))?;
        let fits = [self.low, self.high, self.constant].iter().all(|k| k.abs() <= TRACKED);
        fits.then_some(self)
    }

    /// Inclusive bounds of the form's value.
    pub fn range(&self) -> (i64, i64) {
        (self.low, self.high)
    }
}

/// A summand of an offset: a value times bytes, times a stride where that is not constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    pub atom: Option<Value>,
    pub bytes: i64,
    pub stride: Option<Val>,
}

/// An offset in bytes: a constant and terms, outermost first.
#[derive(Clone, Debug)]
pub(crate) struct Offset {
    pub constant: i64,
    pub terms: Vec<Term>,
}

/// Bounds of the lesser or greater one of two numbers.
fn extreme(op: BinOp, a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    match op {
        BinOp::Min => (a.0.min(b.0), a.1.min(b.1)),
        _ => (a.0.max(b.0), a.1.max(b.1)),
    }
}

impl Facts<'_> {
    /// An index that a check or a generator keeps within an `i32` extent, as a form whose 64-bit value is the index.
    ///
    /// The arithmetic of the expression wraps at 32 bits and that of the form does not. Where the form lies within
    /// `-2^31 .. 2^32` they agree for every index that is in range: a wrapped index would have been negative.
    pub fn form(&self, v: Value) -> Form {
        match self.raw_form(v, MAX_DEPTH) {
            Some(form) if form.low >= I32_MIN && form.high < 1 << 32 => form,
            _ => self.atom(v),
        }
    }

    /// The form of a scalar whose sums cannot wrap.
    pub fn exact(&self, v: Value) -> Option<Form> {
        let form = self.form(v);
        let (low, high) = form.range();
        (low >= I32_MIN && high <= I32_MAX).then_some(form)
    }

    fn atom(&self, v: Value) -> Form {
        Form::of(v, self.atom_range(v, MAX_DEPTH))
    }

    /// Bounds of a scalar that is not a sum: indices, extents, minima, maxima, quotients, remainders.
    fn atom_range(&self, v: Value, depth: usize) -> (i64, i64) {
        let any = (I32_MIN, I32_MAX);
        if let Some(range) = self.range[v] {
            return range;
        }
        let Some(inst) = self.live.def(v).filter(|_| depth > 0) else { return any };
        let of = |v: &Value| match self.raw_form(*v, depth - 1) {
            Some(form) if form.low >= I32_MIN && form.high <= I32_MAX => (form.low, form.high),
            _ => any,
        };
        match &self.func.insts[inst].op {
            Op::Extent { .. } => (0, I32_MAX),
            Op::Bin(op @ (BinOp::Min | BinOp::Max), a, b) => extreme(*op, of(a), of(b)),
            Op::Bin(op @ (BinOp::Div | BinOp::Mod), a, b) => match (self.const_i32(*b), of(a)) {
                (Some(k), (low, high)) if k > 0 && *op == BinOp::Div => (low / k, high / k),
                (Some(k), (0.., high)) if k > 0 => (0, high.min(k - 1)),
                _ => any,
            },
            Op::Select { then, els, .. } => {
                let (then, els) = (of(then), of(els));
                (then.0.min(els.0), then.1.max(els.1))
            }
            _ => any,
        }
    }

    /// Bounds of an `i32` scalar, both inclusive.
    pub fn bounds(&self, v: Value) -> (i64, i64) {
        let (low, high) = self.form(v).range();
        if low >= I32_MIN && high <= I32_MAX { (low, high) } else { (I32_MIN, I32_MAX) }
    }

    /// Notes the bounds of what a loop counts upwards, one by one: `i` from `init` on, as long as `i + 1 < n`.
    pub fn note_counters(&mut self, init: &[Value], body: Region) {
        let data = &self.func.regions[body];
        for ((&param, &init), &next) in data.params.iter().zip(init).zip(&data.yields[1..]) {
            let op = |v: Value| self.live.def(v).map(|inst| &self.func.insts[inst].op);
            let counts = matches!(op(next), Some(Op::Bin(BinOp::Add, a, b))
                if (*a == param && self.const_i32(*b) == Some(1)) || (*b == param && self.const_i32(*a) == Some(1)));
            let start = self.bounds(init);
            // The greatest number plus one would be the least.
            if !counts || start.1 == I32_MAX {
                continue;
            }
            let mut conditions = vec![data.yields[0]];
            let mut last = None;
            while let Some(cond) = conditions.pop() {
                match op(cond) {
                    Some(Op::Bin(BinOp::And | BinOp::Mul, a, b)) => conditions.extend([*a, *b]),
                    Some(Op::Bin(BinOp::Lt, a, b)) if *a == next => last = Some(self.bounds(*b).1 - 1),
                    Some(Op::Bin(BinOp::Le, a, b)) if *a == next => {
                        last = Some(self.bounds(*b).1).filter(|k| *k < I32_MAX)
                    }
                    Some(Op::Bin(BinOp::Gt, a, b)) if *b == next => last = Some(self.bounds(*a).1 - 1),
                    _ => {}
                }
            }
            if let Some(last) = last.filter(|_| self.range[param].is_none()) {
                self.range[param] = Some((start.0, start.1.max(last)));
            }
        }
    }

    /// The same of what a loop counts downwards: `i` from `init` on, as long as `i - 1 >= n`.
    pub fn note_countdowns(&mut self, init: &[Value], body: Region) {
        let data = &self.func.regions[body];
        let cond = data.yields[0];
        for ((&param, &init), &next) in data.params.iter().zip(init).zip(&data.yields[1..]) {
            let op = |v: Value| self.live.def(v).map(|inst| &self.func.insts[inst].op);
            let counts = match op(next) {
                Some(Op::Bin(BinOp::Sub, a, b)) => *a == param && self.const_i32(*b) == Some(1),
                Some(Op::Bin(BinOp::Add, a, b)) => {
                    (*a == param && self.const_i32(*b) == Some(-1)) || (*b == param && self.const_i32(*a) == Some(-1))
                }
                _ => false,
            };
            let first = match op(cond) {
                Some(Op::Bin(BinOp::Ge, a, b)) if *a == next => self.bounds(*b).0,
                Some(Op::Bin(BinOp::Le, a, b)) if *b == next => self.bounds(*a).0,
                Some(Op::Bin(BinOp::Gt, a, b)) if *a == next => self.bounds(*b).0 + 1,
                Some(Op::Bin(BinOp::Lt, a, b)) if *b == next => self.bounds(*a).0 + 1,
                _ => continue,
            };
            let start = self.bounds(init);
            // The least number minus one would be the greatest.
            if counts && first.min(start.0) > I32_MIN && self.range[param].is_none() {
                self.range[param] = Some((start.0.min(first), start.1.max(first)));
            }
        }
    }

    /// Is `upper` one more than `lower`, whatever they are?
    pub fn is_successor(&self, lower: Value, upper: Value) -> bool {
        let difference =
            self.raw_form(lower, MAX_DEPTH).and_then(|low| self.raw_form(upper, MAX_DEPTH)?.plus(&low, -1));
        self.bounds(lower).1 < I32_MAX && difference.is_some_and(|d| d.terms.is_empty() && d.constant == 1)
    }

    /// How much greater one scalar is than another, whatever they are, unless sums wrap.
    pub fn ahead_of(&self, from: Value, to: Value) -> Option<i64> {
        let difference = self.raw_form(to, MAX_DEPTH)?.plus(&self.raw_form(from, MAX_DEPTH)?, -1)?;
        difference.terms.is_empty().then_some(difference.constant)
    }

    /// The value of an `i32` scalar where the value of another one is known; nothing if it depends on more.
    pub fn evaluate(&self, v: Value, known: (Value, i64), depth: u32) -> Option<i64> {
        if v == known.0 {
            return Some(known.1);
        }
        if let Some(k) = self.const_i32(v) {
            return Some(k);
        }
        if let Some(same) = self.alias[v] {
            return self.evaluate(same, known, depth.checked_sub(1)?);
        }
        let of = |v: &Value| self.evaluate(*v, known, depth.checked_sub(1)?);
        let value = match &self.func.insts[self.live.def(v)?].op {
            Op::Bin(op, a, b) => {
                let (a, b) = (of(a)?, of(b)?);
                match op {
                    BinOp::Add => a + b,
                    BinOp::Sub => a - b,
                    BinOp::Mul => a * b,
                    BinOp::Min => a.min(b),
                    BinOp::Max => a.max(b),
                    BinOp::Div if b > 0 => a / b,
                    BinOp::Mod if b > 0 => a % b,
                    BinOp::AplMod if b > 0 => a.rem_euclid(b),
                    _ => return None,
                }
            }
            Op::Un(UnOp::Neg, a) => -of(a)?,
            _ => return None,
        };
        (I32_MIN..=I32_MAX).contains(&value).then_some(value)
    }

    /// The integer that an index expression would be if nothing wrapped.
    pub fn exact_form(&self, v: Value) -> Option<Form> {
        self.raw_form(v, MAX_DEPTH)
    }

    fn raw_form(&self, v: Value, depth: usize) -> Option<Form> {
        if let Some(k) = self.const_i32(v) {
            return Some(Form::constant(k));
        }
        if let Some(same) = self.alias[v].filter(|_| depth > 0) {
            return self.raw_form(same, depth - 1);
        }
        let Some(inst) = self.live.def(v).filter(|_| depth > 0) else {
            return Some(self.atom(v));
        };
        let sub = |a: &Value| self.raw_form(*a, depth - 1);
        let exact = match &self.func.insts[inst].op {
            Op::Bin(BinOp::Add, a, b) => sub(a)?.plus(&sub(b)?, 1),
            Op::Bin(BinOp::Sub, a, b) => sub(a)?.plus(&sub(b)?, -1),
            Op::Bin(BinOp::Mul, a, b) => {
                let (a, b) = (sub(a)?, sub(b)?);
                if a.terms.is_empty() {
                    Form::constant(0).plus(&b, a.constant)
                } else if b.terms.is_empty() {
                    Form::constant(0).plus(&a, b.constant)
                } else {
                    None
                }
            }
            Op::Un(UnOp::Neg, a) => Form::constant(0).plus(&sub(a)?, -1),
            Op::Bin(op @ (BinOp::Min | BinOp::Max), a, b) => {
                let within = |v: &Value| sub(v).filter(|form| form.low >= I32_MIN && form.high <= I32_MAX);
                let (a, b) = (within(a), within(b));
                // Where nothing wraps, one of them may be the greater one for good.
                let ahead = a.as_ref().zip(b.clone()).and_then(|(a, b)| b.plus(a, -1));
                match ahead.filter(|ahead| ahead.terms.is_empty()) {
                    Some(ahead) if (ahead.constant > 0) == (*op == BinOp::Max) => b,
                    Some(_) => a,
                    // Nobody asks for the operands once more: in deep expressions that would take very long.
                    None => {
                        let of = |form: Option<Form>| form.map_or((I32_MIN, I32_MAX), |form| form.range());
                        let range = self.range[v].unwrap_or_else(|| extreme(*op, of(a), of(b)));
                        return Some(Form::of(v, range));
                    }
                }
            }
            _ => None,
        };
        Some(exact.unwrap_or_else(|| Form::of(v, self.atom_range(v, depth))))
    }

    /// Row-major offset of an index in an array with these strides (in elements).
    pub fn offset(&self, forms: &[Form], strides: &[Ext], elem_bytes: i64) -> Offset {
        let mut offset = Offset { constant: 0, terms: Vec::new() };
        for (form, stride) in forms.iter().zip(strides) {
            let (factor, stride) = match stride {
                Ext::Const(k) => (k * elem_bytes, None),
                Ext::Val(v) => (elem_bytes, Some(*v)),
            };
            match stride {
                None => offset.constant += form.constant * factor,
                Some(_) if form.constant == 0 => {}
                Some(_) => offset.terms.push(Term { atom: None, bytes: form.constant * factor, stride }),
            }
            for &(v, c) in &form.terms {
                let bytes = c * factor;
                match offset.terms.iter_mut().find(|t| t.atom == Some(v) && t.stride.is_none() && stride.is_none()) {
                    Some(term) => term.bytes += bytes,
                    None => offset.terms.push(Term { atom: Some(v), bytes, stride }),
                }
            }
        }
        offset.terms.retain(|t| t.bytes != 0);
        // What is not computed yet comes last, for it will be bound further inside.
        offset.terms.sort_by_key(|t| t.atom.map_or(0, |v| self.level_within(v).unwrap_or(u32::MAX)));
        offset
    }

    /// The number of scopes around the code that can compute an index expression; nothing if part of it is not at hand yet, or if
    /// it could fail.
    pub fn level_within(&self, v: Value) -> Option<u32> {
        self.level_at(v, MAX_DEPTH)
    }

    fn level_at(&self, v: Value, depth: usize) -> Option<u32> {
        if self.is_bound(v) {
            return Some(self.level_of(v));
        }
        if self.const_i32(v).is_some() {
            return Some(0);
        }
        let depth = depth.checked_sub(1)?;
        if let Some(same) = self.alias[v] {
            return self.level_at(same, depth);
        }
        match &self.func.insts[self.live.def(v)?].op {
            Op::Bin(BinOp::Div | BinOp::Mod | BinOp::AplMod, a, b) if self.const_i32(*b).is_some_and(|k| k > 0) => {
                self.level_at(*a, depth)
            }
            Op::Bin(BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Min | BinOp::Max, a, b) => {
                Some(self.level_at(*a, depth)?.max(self.level_at(*b, depth)?))
            }
            Op::Un(UnOp::Neg, a) => self.level_at(*a, depth),
            _ => None,
        }
    }
}
