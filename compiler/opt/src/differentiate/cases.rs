//! Indices that are a sum in each of several cases: those that wrap, are clamped or reflected, or chosen by a condition.
//!
//! ```text
//!    adjoint[(i + 1) mod n] += g[i]   for 0 <= i < n
//! => adjoint[i + 1] += g[i]           for i + 1 <= n - 1
//!    adjoint[i + 1 - n] += g[i]       for i + 1 >= n
//! ```
//!
//! In every case the index is inverted as others are; the cases have no index in common and leave none out.

use crate::differentiate::forms::Forms;
use crate::differentiate::invert::Given;
use crate::edit::Def;
use crate::facts::{Atom, Lin};
use ravel_types::{BinOp, Elem, UnOp};
use ravel_wir::{Op, Region, Value};

/// Cases of one term.
pub const MOST_CASES: usize = 8;
/// Multiples of a modulus that are tried.
const MULTIPLES: std::ops::RangeInclusive<i64> = -2..=2;
/// Variables in whose bounds others stand.
const MOST_NESTED: usize = 8;

/// Which case is looked at.
#[derive(Clone, Default)]
pub struct Cases {
    /// By decision, in the order in which they are met.
    pub chosen: Vec<usize>,
    /// How many cases each has.
    pub counts: Vec<usize>,
    /// What holds in this case.
    pub given: Given,
    /// Whether a case has no form although the first one had: nothing is known then.
    pub is_broken: bool,
}

impl Cases {
    /// The next one; none behind the last.
    pub fn next(mut self) -> Option<Cases> {
        self.chosen.resize(self.counts.len(), 0);
        while let Some(last) = self.chosen.pop() {
            if last + 1 < self.counts[self.chosen.len()] {
                self.chosen.push(last + 1);
                return Some(Cases { chosen: self.chosen, ..Cases::default() });
            }
        }
        None
    }

    /// Decides between so many cases.
    fn decide(&mut self, count: usize) -> usize {
        let chosen = self.chosen.get(self.counts.len()).copied().unwrap_or(0);
        self.counts.push(count);
        chosen
    }
}

impl Forms<'_, '_> {
    /// The form of an integer in the case in hand, if cases tell it.
    pub fn in_case(&mut self, v: Value, op: &Op, depth: u32) -> Option<Lin> {
        if self.reverse.state.func.ty(v).elem != Elem::I32 {
            return None;
        }
        match op {
            Op::Bin(op @ (BinOp::Mod | BinOp::AplMod), a, n) => {
                let (a, n) = (self.form(*a, depth)?, self.form(*n, depth)?);
                self.remainder(*op, &a, &n)
            }
            Op::Bin(op @ (BinOp::Min | BinOp::Max), a, b) => {
                let (a, b) = (self.form(*a, depth)?, self.form(*b, depth)?);
                let (less, more) = if *op == BinOp::Min { (&a, &b) } else { (&b, &a) };
                let first = less.sub(more)?;
                let second = more.sub(less)?.plus(1);
                match self.cases.decide(2) {
                    0 => {
                        self.cases.given.constraints.push(first);
                        Some(a)
                    }
                    _ => {
                        self.cases.given.constraints.push(second);
                        Some(b)
                    }
                }
            }
            Op::Un(UnOp::Abs, a) => {
                let a = self.form(*a, depth)?;
                let negative = a.scale(-1)?;
                match self.cases.decide(2) {
                    0 => {
                        self.cases.given.constraints.push(negative);
                        Some(a)
                    }
                    _ => {
                        self.cases.given.constraints.push(a.plus(1));
                        Some(negative)
                    }
                }
            }
            Op::Select { cond, then, els } => self.chosen(*cond, [*then, *els], depth),
            Op::If { cond, then, els } => {
                let state = &self.reverse.state;
                let k = match state.defs.get(v) {
                    Def::Inst(_, k) => k as usize,
                    _ => return None,
                };
                let arms = [*then, *els].map(|arm: Region| state.func.regions[arm].yields[k]);
                let made = [*then, *els].into_iter().flat_map(|arm| state.func.regions[arm].insts.clone());
                let made: Vec<Value> = made.flat_map(|inst| state.func.insts[inst].results.clone()).collect();
                self.in_arms.extend(made);
                self.chosen(*cond, arms, depth)
            }
            _ => None,
        }
    }

    fn chosen(&mut self, cond: Value, arms: [Value; 2], depth: u32) -> Option<Lin> {
        let before = (self.cases.clone(), self.known.clone());
        let was_met = self.cases.chosen.len() > self.cases.counts.len();
        let arm = self.cases.decide(2);
        let form = self.arm(cond, arms, arm, depth);
        if form.is_none() {
            // It is no decision then: cases that nothing tells apart would count twice.
            let is_broken = self.cases.is_broken || was_met;
            (self.cases, self.known) = before;
            self.cases.is_broken = is_broken;
        }
        form
    }

    fn arm(&mut self, cond: Value, arms: [Value; 2], arm: usize, depth: u32) -> Option<Lin> {
        let mut given = Given::default();
        if !self.absorb(cond, arm == 0, &mut given) {
            return None;
        }
        self.cases.given.constraints.extend(given.constraints);
        self.cases.given.equations.extend(given.equations);
        self.form(arms[arm], depth)
    }

    /// A remainder is the number less a multiple of the modulus, for each multiple that its bounds allow.
    fn remainder(&mut self, op: BinOp, a: &Lin, n: &Lin) -> Option<Lin> {
        let is_fixed = !self.vars.iter().any(|v| n.mentions(Atom::Value(*v)));
        if !is_fixed || !self.is_positive(n) {
            return None;
        }
        let (least, most) = (self.extreme(a, false)?, self.extreme(a, true)?);
        let is_above = |q: &i64| least.add_scaled(n, -q).is_some_and(|d| is_natural(&d, n));
        let is_below =
            |q: &i64| n.scale(q + 1).and_then(|end| end.sub(&most)).is_some_and(|d| is_natural(&d.plus(-1), n));
        let (first, last) = (MULTIPLES.rev().find(is_above)?, MULTIPLES.clone().find(is_below)?);
        // A remainder of a negative number is negative, unless it is that of APL.
        if op == BinOp::Mod && first < 0 || last < first {
            return None;
        }
        let q = first + self.cases.decide((last - first + 1) as usize) as i64;
        let bounds = a.add_scaled(n, -q).and_then(|form| Some((form.scale(-1)?, form.sub(n)?.plus(1), form)));
        let Some((above, below, form)) = bounds else {
            self.cases.is_broken = true;
            return None;
        };
        if q > first {
            self.cases.given.constraints.push(above);
        }
        if q < last {
            self.cases.given.constraints.push(below);
        }
        Some(form)
    }

    /// The greatest or least number of a form, in terms of what is there.
    fn extreme(&self, lin: &Lin, is_greatest: bool) -> Option<Lin> {
        let mut lin = lin.clone();
        for _ in 0..MOST_NESTED {
            let is_var = |(atom, _): &&(Atom, i64)| matches!(atom, Atom::Value(v) if self.vars.contains(v));
            let Some(&(atom, k)) = lin.terms.iter().find(is_var) else { return Some(lin) };
            let Atom::Value(v) = atom else { return None };
            let (low, high) = self.bounds.get(&v)?;
            let bound = if (k > 0) == is_greatest { high.plus(-1) } else { low.clone() };
            lin = lin.substitute(atom, &bound)?;
        }
        None
    }

    /// Whether a modulus is positive wherever there is an iteration.
    fn is_positive(&self, n: &Lin) -> bool {
        let is_extent = |atom: Atom| match atom {
            Atom::Value(v) => matches!(self.reverse.state.defs.op(self.reverse.state.func, v), Some(Op::Extent { .. })),
            _ => false,
        };
        let is_end = |(low, high): &(Lin, Lin)| {
            low.as_const().is_some_and(|c| c >= 0) && n.sub(high).and_then(|d| d.as_const()).is_some_and(|d| d >= 0)
        };
        match n.as_const() {
            Some(c) => c > 0,
            None => n.as_atom().is_some_and(is_extent) || self.bounds.values().any(is_end),
        }
    }
}

/// Whether a form is at least zero for every positive `n`.
fn is_natural(lin: &Lin, n: &Lin) -> bool {
    let Some(atom) = n.as_atom() else { return lin.as_const().is_some_and(|c| c >= 0) };
    match lin.terms[..] {
        [] => lin.c >= 0,
        [(a, k)] => a == atom && k >= 0 && k + lin.c >= 0,
        _ => false,
    }
}
