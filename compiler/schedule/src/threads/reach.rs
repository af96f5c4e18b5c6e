//! How far from the index of a loop are the rows that its body reads?
//!
//! ```text
//!    a[i - 1] + a[i + 1]                          rows i - 1 to i + 1
//!    a[2 * i] + a[2 * i + 1]                      rows 2 * i to 2 * i + 1
//!    for k from 50 * i while k < 50 * i + 50      rows 50 * i to 50 * i + 49
//!       ... a[k] ...
//!    a[n - 1 - i] + a[0]                          rows -i + n - 1, and row 0
//! ```
//!
//! A row is an affine form. What else but the index stands in it is replaced by what bounds it: a counter by its first and its last number, a minimum by either
//! operand. So bounds that depend on the index themselves leave a distance that does not.
//!
//! Leaves alone: rows read from other arrays, products of two indices, rows at a distance that the body computes.

use ravel_types::{BinOp, HashMap};
use ravel_wir::traverse::walk;
use ravel_wir::{Op, Region, Value};

use crate::facts::cost::Counter;
use crate::facts::{Facts, Form};
use crate::lower::emit::Reach;

/// An array that is read in more places has them gathered.
const MOST_PLACES: usize = 8;
/// Bounds of bounds are followed so far.
const MOST_NESTED: usize = 4;

/// What bounds a value.
enum Bounds {
    /// It lies between these, both included; the last is the greatest of several.
    Between(Form, Vec<Form>),
    Least(Form, Form),
    Greatest(Form, Form),
    Either(Form, Form),
}

/// Finds the rows that a body reads at an index of axis 0.
struct Reaches<'a, 'm> {
    facts: &'a Facts<'m>,
    index: Value,
    /// Where counters of loops begin, and their last numbers, of which the greatest counts.
    counters: HashMap<Value, (Form, Vec<Form>)>,
    found: Vec<Reach>,
}

impl Facts<'_> {
    /// The rows that a body with this index of axis 0 reads of an array: none, or some in each place. Nothing if it reads others.
    pub fn reaches(&self, body: Region, index: Value, array: Value) -> Option<Vec<Reach>> {
        let mut counters = HashMap::default();
        walk(self.func, body, &mut |_, inst| {
            if let Op::Loop { init, body } = &self.func.insts[inst].op
                && let Some(counter) = self.counter(*body)
                && let Some(count) = self.count(init[counter.position], counter)
            {
                counters.insert(self.func.regions[*body].params[counter.position], count);
            }
        });
        let mut reaches = Reaches { facts: self, index, counters, found: Vec::new() };
        reaches.region(body, array)?;
        Some(reaches.found).filter(|found| found.len() <= MOST_PLACES)
    }

    /// The first and the last number of a counter that begins with `init`; nothing if it might wrap.
    fn count(&self, init: Value, Counter { step, end, .. }: Counter) -> Option<(Form, Vec<Form>)> {
        let most = self.bounds(init).1.max(self.bounds(end).1 - 1);
        if most + step > i64::from(i32::MAX) {
            return None;
        }
        let (first, end) = (self.as_it_is(init), self.as_it_is(end));
        let distance = end.clone().plus(&first, -1)?;
        let by = |form: &Form, n: i64| form.clone().plus(&Form::constant(n), 1);
        if distance.terms.is_empty() {
            let last = (distance.constant - 1).max(0) / step * step;
            return Some((first.clone(), vec![by(&first, last)?]));
        }
        // The body runs once in any case.
        Some((first.clone(), vec![first, by(&end, -1)?]))
    }

    /// A value as a form, or in itself where sums might wrap.
    fn as_it_is(&self, v: Value) -> Form {
        self.exact(v).unwrap_or_else(|| Form::of(v, self.bounds(v)))
    }
}

impl Reaches<'_, '_> {
    fn region(&mut self, region: Region, array: Value) -> Option<()> {
        let func = self.facts.func;
        let data = &func.regions[region];
        if data.yields.contains(&array) {
            return None;
        }
        for inst in &data.insts {
            let op = &func.insts[*inst].op;
            match op {
                Op::Extent { .. } | Op::Rank(_) | Op::ShapeVec(_) => continue,
                Op::Sel { array: from, index: at } if *from == array && !at.is_empty() => {
                    let reach = self.row(at[0])?;
                    match self.found.iter_mut().find(|other| other.is_near(&reach)) {
                        Some(other) => *other = other.with(reach),
                        None => self.found.push(reach),
                    }
                    continue;
                }
                _ => {}
            }
            let mut is_used = false;
            op.for_each_operand(|v| is_used |= v == array);
            if is_used {
                return None;
            }
            op.regions().into_iter().try_for_each(|nested| self.region(nested, array))?;
        }
        Some(())
    }

    /// Where a row lies, if it is one of few.
    fn row(&self, row: Value) -> Option<Reach> {
        let form = self.facts.form(row);
        let index = self.facts.form(self.index);
        let factor = self.factor(&form, MOST_NESTED);
        let at = |factor: i64, base: Option<Value>| {
            let mut distance = form.clone().plus(&index, -factor)?;
            if let Some(base) = base {
                distance = distance.plus(&Form::of(base, self.facts.bounds(base)), -1)?;
            }
            let (low, high) = self.extremes(&distance, MOST_NESTED);
            Some(Reach { factor, base, low, high }).filter(Reach::is_narrow)
        };
        // One row reads what it likes, beside itself as elsewhere.
        let is_one = factor == 0 && self.facts.alias[self.index].is_some();
        let alone = at(if is_one { 1 } else { factor }, None).or_else(|| at(0, None));
        // What is at hand in front of the loop is the same for all its indices.
        let bases = form.terms.iter().filter(|(v, factor)| *factor == 1 && self.facts.is_bound(*v));
        let based = bases.filter_map(|(v, _)| at(factor, Some(*v)));
        alone.into_iter().chain(based).min_by_key(|reach| reach.high - reach.low)
    }

    /// How many rows further the next index reads.
    fn factor(&self, form: &Form, depth: usize) -> i64 {
        if let Some((_, factor)) = form.terms.iter().find(|(v, _)| *v == self.index) {
            return *factor;
        }
        let of = |(v, factor): &(Value, i64)| {
            let depth = depth.checked_sub(1)?;
            let inner = match self.bounds(*v)? {
                Bounds::Between(first, _) => self.factor(&first, depth),
                Bounds::Least(a, b) | Bounds::Greatest(a, b) | Bounds::Either(a, b) => {
                    [a, b].iter().map(|form| self.factor(form, depth)).find(|factor| *factor != 0)?
                }
            };
            inner.checked_mul(*factor).filter(|factor| *factor != 0)
        };
        form.terms.iter().find_map(of).unwrap_or(0)
    }

    /// What bounds a value, if it is more than numbers.
    fn bounds(&self, v: Value) -> Option<Bounds> {
        let exact = |v: Value| self.facts.as_it_is(v);
        if let Some((first, lasts)) = self.counters.get(&v) {
            return Some(Bounds::Between(first.clone(), lasts.clone()));
        }
        if let (Some(first), Some(end)) = (self.facts.lower_of[v], self.facts.upper_of[v]) {
            return Some(Bounds::Between(exact(first), vec![exact(end).plus(&Form::constant(1), -1)?]));
        }
        match &self.facts.func.insts[self.facts.live.def(v)?].op {
            Op::Bin(BinOp::Min, a, b) => Some(Bounds::Least(exact(*a), exact(*b))),
            Op::Bin(BinOp::Max, a, b) => Some(Bounds::Greatest(exact(*a), exact(*b))),
            Op::Select { then, els, .. } => Some(Bounds::Either(exact(*then), exact(*els))),
            _ => None,
        }
    }

    /// Bounds of a form, which may be those of all numbers. They contradict each other where no index is.
    fn extremes(&self, form: &Form, depth: usize) -> (i64, i64) {
        let known = self.numbers(form);
        // The index last: what is bounded by it leaves a multiple of it.
        let (own, others): (Vec<_>, Vec<_>) = form.terms.iter().partition(|(v, _)| *v == self.index);
        let term = others.into_iter().chain(own).find_map(|term: &(Value, i64)| Some((*term, self.bounds(term.0)?)));
        let (Some(((v, factor), bounds)), Some(depth)) = (term, depth.checked_sub(1)) else { return known };
        let replaced = |by: &Form| {
            let rest = form.clone().plus(&Form::of(v, self.facts.bounds(v)), -factor);
            let form = rest.and_then(|rest| rest.plus(by, factor));
            form.map_or((i64::MIN, i64::MAX), |form| self.extremes(&form, depth))
        };
        let (low, high) = match bounds {
            Bounds::Between(first, lasts) => {
                let (first, lasts) = (replaced(&first), lasts.iter().map(replaced).collect::<Vec<_>>());
                if factor > 0 {
                    (first.0, lasts.iter().map(|last| last.1).max().unwrap_or(i64::MAX))
                } else {
                    (lasts.iter().map(|last| last.0).min().unwrap_or(i64::MIN), first.1)
                }
            }
            Bounds::Either(a, b) => {
                let (a, b) = (replaced(&a), replaced(&b));
                (a.0.min(b.0), a.1.max(b.1))
            }
            Bounds::Least(a, b) if factor > 0 => least(replaced(&a), replaced(&b)),
            Bounds::Greatest(a, b) if factor < 0 => least(replaced(&a), replaced(&b)),
            Bounds::Least(a, b) | Bounds::Greatest(a, b) => {
                let (a, b) = (replaced(&a), replaced(&b));
                (a.0.max(b.0), a.1.max(b.1))
            }
        };
        (low.max(known.0), high.min(known.1))
    }

    /// Bounds of a form from those of its values alone.
    fn numbers(&self, form: &Form) -> (i64, i64) {
        form.terms.iter().fold((form.constant, form.constant), |(low, high), (v, factor)| {
            let (least, most) = self.facts.bounds(*v);
            let ends = [least.saturating_mul(*factor), most.saturating_mul(*factor)];
            (low.saturating_add(ends[0].min(ends[1])), high.saturating_add(ends[0].max(ends[1])))
        })
    }
}

/// Bounds of the lesser one of two numbers.
fn least(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    (a.0.min(b.0), a.1.min(b.1))
}
