//! What checks, branches, generators and shapes tell of `i32` scalars, and what conditions are then.

use super::{MAX, MIN, Ranges, Undo};
use crate::edit::Defs;
use crate::facts::linear::{Atom, Lin};
use ravel_types::{Affine, BinOp, Elem, Scalar, UnOp};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Value, WithOp};

/// Sums and products below one that may have wrapped.
const SUMMANDS: u32 = 4;
/// Sums and products that wrap are off by a multiple of this.
const WRAP: i64 = 1 << 32;
/// Bounds of a dividend that are followed to further ones.
const MOST_BOUNDS: usize = 6;

/// A form whose coefficients `k` divides, divided by it and rounded down.
fn divide(form: &Lin, k: i64) -> Lin {
    Lin { c: form.c.div_euclid(k), terms: form.terms.iter().map(|(atom, factor)| (*atom, factor / k)).collect() }
}

impl Ranges {
    /// The form of an extent, given its form in a type.
    pub fn extent(&mut self, form: &Affine) -> Lin {
        let mut lin = Lin::constant(i64::from(form.constant_part()));
        for (sym, k) in form.terms() {
            match lin.add_scaled(&Lin::atom(Atom::Sym(*sym)), i64::from(*k)) {
                Some(sum) => lin = sum,
                None => return self.opaque_extent(form),
            }
        }
        let lin = self.normal(&lin);
        if form.as_sym().is_none() && !self.fits(&lin) {
            return self.opaque_extent(form);
        }
        if self.lower(&lin) < 0 {
            self.fact(lin.scale(-1));
        }
        lin
    }

    fn opaque_extent(&mut self, form: &Affine) -> Lin {
        let next = self.interned.len() as u32;
        let atom = Atom::Form(*self.interned.entry(form.clone()).or_insert(next));
        if !self.bounds.contains_key(&atom) {
            self.bound(atom, Some(Lin::constant(0)), None);
        }
        Lin::atom(atom)
    }

    /// A value becomes visible: extents are not negative.
    pub fn see(&mut self, func: &Func, value: Value) {
        for form in func.ty(value).shape.extents().unwrap_or_default() {
            if let Some(sym) = form.as_sym() {
                let atom = Atom::Sym(sym);
                if !self.bounds.contains_key(&atom) && !self.equal.contains_key(&atom) {
                    self.bound(atom, Some(Lin::constant(0)), None);
                }
            }
        }
    }

    /// What holds after an instruction has run.
    pub fn learn(&mut self, func: &Func, defs: &Defs, inst: Inst) {
        let data = &func.insts[inst];
        data.results.iter().for_each(|v| self.see(func, *v));
        match &data.op {
            Op::Check { cond, .. } => self.assume(func, defs, *cond, true),
            Op::With(with) => {
                for (op, result) in with.ops.iter().zip(&data.results) {
                    if let WithOp::Genarray { frame: Frame::Known(frame), cell, .. } = op {
                        let extents: Vec<Value> = frame.iter().chain(cell.iter().flatten()).copied().collect();
                        self.shape_is(func, defs, *result, &extents);
                    }
                }
            }
            Op::Reshape { shape, .. } => self.shape_is(func, defs, data.results[0], shape),
            _ => {}
        }
    }

    /// The shape of `array` is given by scalars.
    fn shape_is(&mut self, func: &Func, defs: &Defs, array: Value, extents: &[Value]) {
        let forms = func.ty(array).shape.extents().unwrap_or_default().to_vec();
        for (form, extent) in forms.iter().zip(extents) {
            let scalar = self.form(func, defs, *extent);
            if form.as_const().is_none() {
                let typed = self.extent(form);
                self.equate(&typed, &scalar);
            }
            if self.lower(&scalar) < 0 {
                self.fact(scalar.scale(-1));
            }
            self.unwrapped(func, defs, *extent);
        }
    }

    /// A sum or a multiple that has not wrapped, as its bounds show: one that has is 2^32 away. An extent `n + 1`, which is not negative, says that
    /// `n` is less than the greatest number, and an extent `n / 3 * 4` that it is four times `n / 3`; an index below `n - w + 1`, which is positive
    /// then, that `w` is at most `n`.
    fn unwrapped(&mut self, func: &Func, defs: &Defs, value: Value) {
        let atom = Atom::Value(value);
        let form = self.form(func, defs, value);
        if form.as_atom() != Some(atom) {
            return;
        }
        let Some(sum) = self.exact_sum(func, defs, value, SUMMANDS) else { return };
        let (low, high) = (self.lower(&form).max(MIN), self.upper(&form).min(MAX));
        let (least, most) = (self.lower(&sum), self.upper(&sum));
        if most.saturating_sub(low) >= WRAP || high.saturating_sub(least) >= WRAP {
            return;
        }
        if self.bounds.get(&atom).is_some_and(|bounds| bounds.upper.contains(&sum)) {
            return;
        }
        self.fact(Some(sum.plus(-high)));
        self.fact(sum.scale(-1).map(|sum| sum.plus(low)));
        self.bound(atom, Some(sum.clone()), Some(sum));
    }

    /// What a sum or a multiple would be if it did not wrap, nor any that it is made of: its value, but for a multiple of 2^32.
    fn exact_sum(&mut self, func: &Func, defs: &Defs, value: Value, depth: u32) -> Option<Lin> {
        let (op, a, b) = match defs.op(func, value)? {
            Op::Bin(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul), a, b) => (*op, *a, *b),
            _ => return None,
        };
        let mut of = |v: Value| {
            let form = self.form(func, defs, v);
            let is_opaque = form.as_atom() == Some(Atom::Value(v)) && depth > 0;
            let again = if is_opaque { self.exact_sum(func, defs, v, depth - 1) } else { None };
            again.unwrap_or(form)
        };
        if op == BinOp::Mul {
            let (x, by) = match (defs.int(func, a), defs.int(func, b)) {
                (_, Some(by)) => (a, by),
                (Some(by), _) => (b, by),
                _ => return None,
            };
            return of(x).scale(i64::from(by));
        }
        let (x, y) = (of(a), of(b));
        if op == BinOp::Add { x.add(&y) } else { x.sub(&y) }
    }

    /// Two forms are equal from here on.
    fn equate(&mut self, a: &Lin, b: &Lin) {
        let (a, b) = (self.normal(a), self.normal(b));
        if a == b {
            return;
        }
        // An atom with bounds that mention others keeps its name, for they would be lost with it.
        let is_free = |s: &Self, atom: Atom| {
            s.bounds.get(&atom).is_none_or(|x| x.lower.iter().chain(&x.upper).all(|l| l.as_const().is_some()))
        };
        for (name, form) in [(&a, &b), (&b, &a)] {
            if let Some(atom) = name.as_atom()
                && is_free(self, atom)
                && !form.mentions(atom)
                && !self.equal.contains_key(&atom)
            {
                let (low, high) = (self.lower(name), self.upper(name));
                if self.lower(form) < low {
                    self.fact(form.scale(-1).map(|l| l.plus(low)));
                }
                if self.upper(form) > high {
                    self.fact(Some(form.plus(-high)));
                }
                self.log.push(Undo::Equal(atom));
                self.equal.insert(atom, form.clone());
                return;
            }
        }
        self.fact(a.sub(&b));
        self.fact(b.sub(&a));
    }

    /// A condition is known from here on.
    pub fn assume(&mut self, func: &Func, defs: &Defs, cond: Value, truth: bool) {
        let old = self.truths.insert(cond, truth);
        self.log.push(Undo::Truth(cond, old));
        match defs.op(func, cond) {
            Some(Op::Bin(BinOp::And, a, b)) if truth => {
                self.assume(func, defs, *a, true);
                self.assume(func, defs, *b, true);
            }
            Some(Op::Bin(BinOp::Or, a, b)) if !truth => {
                self.assume(func, defs, *a, false);
                self.assume(func, defs, *b, false);
            }
            Some(Op::Un(UnOp::Not, a)) => self.assume(func, defs, *a, !truth),
            Some(Op::Bin(op, a, b)) if op.is_comparison() && func.ty(*a).elem == Elem::I32 => {
                let (x, y) = (self.form(func, defs, *a), self.form(func, defs, *b));
                match (op, truth) {
                    (BinOp::Lt, true) | (BinOp::Ge, false) => self.fact(x.plus(1).sub(&y)),
                    (BinOp::Le, true) | (BinOp::Gt, false) => self.fact(x.sub(&y)),
                    (BinOp::Gt, true) | (BinOp::Le, false) => self.fact(y.plus(1).sub(&x)),
                    (BinOp::Ge, true) | (BinOp::Lt, false) => self.fact(y.sub(&x)),
                    (BinOp::Eq, true) | (BinOp::Ne, false) => self.equate(&x, &y),
                    // Apart: an end of what one of them may be is excluded.
                    (BinOp::Eq, false) | (BinOp::Ne, true) => {
                        if self.compare(BinOp::Le, &x, &y) == Some(true) {
                            self.fact(x.plus(1).sub(&y));
                        } else if self.compare(BinOp::Ge, &x, &y) == Some(true) {
                            self.fact(y.plus(1).sub(&x));
                        }
                    }
                    _ => {}
                }
                [*a, *b].into_iter().for_each(|v| self.unwrapped(func, defs, v));
            }
            _ => {}
        }
    }

    /// A scalar is at most this from here on.
    pub fn assume_at_most(&mut self, func: &Func, defs: &Defs, value: Value, most: i64) {
        let form = self.form(func, defs, value);
        self.fact(Some(form.plus(-most)));
    }

    /// What a condition certainly is.
    pub fn decide(&mut self, func: &Func, defs: &Defs, cond: Value) -> Option<bool> {
        if let Some(truth) = self.truths.get(&cond) {
            return Some(*truth);
        }
        match defs.op(func, cond)? {
            Op::Const(Scalar::Bool(b)) => Some(*b),
            Op::Un(UnOp::Not, a) => self.decide(func, defs, *a).map(|b| !b),
            Op::Bin(BinOp::And, a, b) => match (self.decide(func, defs, *a), self.decide(func, defs, *b)) {
                (Some(true), Some(true)) => Some(true),
                (Some(false), _) | (_, Some(false)) => Some(false),
                _ => None,
            },
            Op::Bin(BinOp::Or, a, b) => match (self.decide(func, defs, *a), self.decide(func, defs, *b)) {
                (Some(false), Some(false)) => Some(false),
                (Some(true), _) | (_, Some(true)) => Some(true),
                _ => None,
            },
            Op::Bin(op, a, b) if op.is_comparison() && func.ty(*a).elem == Elem::I32 => {
                self.decide_comparison(func, defs, *op, [*a, *b])
            }
            _ => None,
        }
    }

    /// What a comparison of two scalars certainly is.
    fn decide_comparison(&mut self, func: &Func, defs: &Defs, op: BinOp, sides: [Value; 2]) -> Option<bool> {
        sides.into_iter().for_each(|v| self.divide_again(func, defs, v));
        let [x, y] = sides.map(|v| self.form(func, defs, v));
        self.compare(op, &x, &y).or_else(|| {
            let (all, parts) = of_extremum(func, defs, op, sides)?;
            match parts.map(|part| self.decide_comparison(func, defs, op, part)) {
                [Some(a), Some(b)] if a == b => Some(a),
                [a, b] if a == Some(!all) || b == Some(!all) => Some(!all),
                _ => None,
            }
        })
    }

    /// The sides of a comparison that is the same as that of `sides`, if one of them is an extremum and only one of its operands matters:
    /// `max(min(i, n - 1), 0) < n` if `0 < n`.
    pub fn narrowed(&mut self, func: &Func, defs: &Defs, op: BinOp, sides: [Value; 2]) -> Option<[Value; 2]> {
        let (all, [first, second]) = of_extremum(func, defs, op, sides)?;
        // What certainly holds of all, or fails of any, says nothing.
        if self.decide_comparison(func, defs, op, first) == Some(all) {
            return Some(second);
        }
        (self.decide_comparison(func, defs, op, second) == Some(all)).then_some(first)
    }

    /// What a comparison of two forms certainly is.
    pub fn compare(&self, op: BinOp, x: &Lin, y: &Lin) -> Option<bool> {
        let (d, e) = (x.sub(y)?, y.sub(x)?);
        let below = |s: &Self| s.is_not_positive(&d.plus(1));
        let above = |s: &Self| s.is_not_positive(&e.plus(1));
        let at_most = |s: &Self| s.is_not_positive(&d);
        let at_least = |s: &Self| s.is_not_positive(&e);
        let either = |yes: bool, no: &dyn Fn(&Self) -> bool| if yes { Some(true) } else { no(self).then_some(false) };
        match op {
            BinOp::Lt => either(below(self), &at_least),
            BinOp::Le => either(at_most(self), &above),
            BinOp::Gt => either(above(self), &at_most),
            BinOp::Ge => either(at_least(self), &below),
            BinOp::Eq => either(at_most(self) && at_least(self), &|s| below(s) || above(s)),
            BinOp::Ne => either(below(self) || above(self), &|s| at_most(s) && at_least(s)),
            _ => None,
        }
    }

    /// The form of which this one is `k` times, if there is one.
    pub fn divided(&self, lin: &Lin, k: i64) -> Option<Lin> {
        let exact = |lin: &Lin| {
            let bounds = lin.as_atom().and_then(|atom| self.bounds.get(&atom));
            bounds
                .and_then(|b| b.upper.iter().find(|form| b.lower.contains(form) && form.as_const().is_none()))
                .cloned()
        };
        [Some(lin.clone()), exact(lin)].into_iter().flatten().find_map(|form| {
            let form = self.normal(&form);
            let divides = form.c % k == 0 && form.terms.iter().all(|(_, factor)| factor % k == 0);
            divides.then(|| divide(&form, k))
        })
    }

    /// Upper bounds of the quotient of a form by `k`, from those bounds of the form that are multiples but for a constant.
    pub(super) fn quotients_above(&self, lin: &Lin, k: i64) -> Vec<Lin> {
        let mut bounds = vec![lin.clone()];
        for at in 0.. {
            let Some(form) = bounds.get(at).filter(|_| at < MOST_BOUNDS).map(|form| self.normal(form)) else { break };
            bounds.extend(self.bounds_of_unit(&form, true));
        }
        let multiple = |form: &Lin| !form.terms.is_empty() && form.terms.iter().all(|(_, factor)| factor % k == 0);
        bounds.iter().map(|form| self.normal(form)).filter(multiple).map(|form| divide(&form, k)).collect()
    }

    /// What a form of one atom, plus a constant, is bounded by on one side, as far as that mentions others.
    fn bounds_of_unit(&self, lin: &Lin, above: bool) -> Vec<Lin> {
        let [(atom, 1)] = lin.terms[..] else { return Vec::new() };
        let bounds = self.bounds.get(&atom).map(|b| if above { &b.upper } else { &b.lower });
        bounds.into_iter().flatten().filter(|b| b.as_const().is_none()).map(|b| b.plus(lin.c)).collect()
    }

    /// The body of a partition is entered: its indices lie within the generator.
    pub fn enter_part(&mut self, func: &Func, defs: &Defs, part: &Part) {
        let params = &func.regions[part.body].params;
        params.iter().for_each(|v| self.see(func, *v));
        if let Generator::Known { lower, upper, .. } = &part.generator {
            for ((param, lower), upper) in params.iter().zip(lower).zip(upper) {
                let (low, high) = (self.form(func, defs, *lower), self.form(func, defs, *upper));
                // There is an index, so the bounds are apart, and so is what they are bounded by: `0 <= i < min(n, 1)` tells of `n`.
                self.fact(low.plus(1).sub(&high));
                [*lower, *upper].into_iter().for_each(|v| self.unwrapped(func, defs, v));
                self.bound(Atom::Value(*param), Some(low.clone()), Some(high.plus(-1)));
                for end in self.bounds_of_unit(&high, true) {
                    self.fact(low.plus(1).sub(&end));
                }
                for end in self.bounds_of_unit(&low, false) {
                    self.fact(end.plus(1).sub(&high));
                }
            }
        }
    }
}

/// A comparison with an extremum on one side as one with each operand of that: do both have to hold, or any? None for equality.
fn of_extremum(func: &Func, defs: &Defs, op: BinOp, [a, b]: [Value; 2]) -> Option<(bool, [[Value; 2]; 2])> {
    let is_below = match op {
        BinOp::Lt | BinOp::Le => true,
        BinOp::Gt | BinOp::Ge => false,
        _ => return None,
    };
    match (defs.op(func, a), defs.op(func, b)) {
        (Some(Op::Bin(extremum @ (BinOp::Min | BinOp::Max), x, y)), _) => {
            Some(((*extremum == BinOp::Max) == is_below, [[*x, b], [*y, b]]))
        }
        (_, Some(Op::Bin(extremum @ (BinOp::Min | BinOp::Max), x, y))) => {
            Some(((*extremum == BinOp::Min) == is_below, [[a, *x], [a, *y]]))
        }
        _ => None,
    }
}
