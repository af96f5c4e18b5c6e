//! Terms become values: with-loops over the array's own index set where their indices can be inverted, folds of updates otherwise.

use crate::differentiate::adjoint::{Index, LevelKind, Term};
use crate::differentiate::invert::{Cond, Free, Quotient};
use crate::differentiate::plan::{Plan, are_disjoint, is_thin};
use crate::differentiate::reverse::Reverse;
use crate::differentiate::state::Result;
use crate::edit::Copier;
use crate::facts::{Atom, Lin};
use ravel_types::{BinOp, Elem, HashMap, Ty, UnOp};
use ravel_wir::{Combine, Frame, Generator, Op, Part, Region, RegionData, Value, With, WithOp};

impl Reverse<'_> {
    /// Adds terms to a total; all of them are inside of levels. In loops, what reaches a few rows changes these alone.
    pub fn gather(&mut self, at: Region, of: Value, terms: Vec<Term>, total: Option<Value>) -> Result<Option<Value>> {
        let is_repeated = self.is_repeated(at);
        let (mut total, mut thin) = (total, Vec::new());
        for term in &terms {
            let span =
                self.state.defs.inst(term.value).map_or(self.state.span, |inst| self.state.func.insts[inst].span);
            let mut is_gathered = true;
            match self.plans(at, of, term) {
                // Cases that have no element in common are partitions of one with-loop.
                Some(plans)
                    if plans.len() > 1 && !(is_repeated && plans.iter().any(is_thin)) && are_disjoint(&plans) =>
                {
                    let value = self.gathered(at, &plans, None)?;
                    total = Some(self.plus(at, total, value));
                }
                Some(plans) => {
                    let in_place = is_repeated || plans.len() > 1;
                    for plan in plans {
                        if in_place && is_thin(&plan) {
                            thin.push(plan);
                            continue;
                        }
                        let value = self.gathered(at, &[plan], None)?;
                        total = Some(self.plus(at, total, value));
                    }
                }
                None => {
                    let value = self.alike(at, of, term);
                    is_gathered = value.is_some();
                    let value = match value {
                        Some(value) => value,
                        None => self.scattered(at, of, term)?,
                    };
                    total = Some(self.plus(at, total, value));
                }
            }
            let what = match is_gathered {
                true => "each element of the gradient gathers what comes from here",
                false => "adds to the gradient in pieces: no formula says which indices reach an element",
            };
            self.state.tell(span, what);
        }
        for plan in thin {
            total = Some(self.gathered(at, &[plan], total)?);
        }
        Ok(total)
    }

    /// Whether the adjoint of an array can be told element by element, from what is cheap to compute at each index: it is not made then.
    pub fn are_pointwise(&mut self, at: Region, of: Value, terms: &[Term]) -> bool {
        let is_array = |term: &Term| term.levels.is_empty() && term.index == Index::whole();
        if terms.iter().all(is_array) {
            return false;
        }
        terms.iter().all(|term| {
            let is_cheap = |r: &mut Self| {
                let needs = r.needs_by_level(&term.levels, &r.wanted(term), false);
                term.levels.iter().zip(&needs).all(|(level, needs)| r.is_trivial(*level, needs))
            };
            is_array(term)
                || is_cheap(self)
                    && self.plan(at, of, term).is_some_and(|plan| {
                        let is_one = plan.inverse.free.is_empty() && plan.inverse.conds.is_empty();
                        is_one && plan.target.len() == plan.extents.len() && self.covers_all(&plan)
                    })
        })
    }

    /// What terms that are told element by element contribute at an index.
    pub fn at_place(&mut self, at: Region, of: Value, terms: &[Term], index: &[Value]) -> Result<Value> {
        let mut total = None;
        for term in terms {
            let value = match term.levels.is_empty() && term.index == Index::whole() {
                true => {
                    let array = self.guarded(at, term);
                    let ty = ravel_wir::cell_type(&self.state.ty(of), index.len());
                    self.state.cell(at, array, index, ty)
                }
                false => {
                    let Some(plan) = self.plan(at, of, term) else {
                        return self.state.refuse("an index without inverse");
                    };
                    let mut values: HashMap<Value, Value> =
                        plan.target.iter().copied().zip(index.iter().copied()).collect();
                    self.cell(at, &plan, &mut values)?
                }
            };
            if self.is_masked(term) {
                self.masked.insert(value);
            }
            total = Some(match total {
                Some(total) => {
                    let sum = self.state.add(at, total, value);
                    self.mask(sum, total);
                    self.mask(sum, value);
                    sum
                }
                None => value,
            });
        }
        match total {
            Some(total) => Ok(total),
            None => Ok(self.state.zeros_like(at, of, index.len())),
        }
    }

    /// A with-loop over the array, with a partition for each way in which a term reaches its places; it is added to what is there already.
    fn gathered(&mut self, at: Region, plans: &[Plan], to: Option<Value>) -> Result<Value> {
        let Plan { of, ref extents, ref target, .. } = plans[0];
        let lead = target.len();
        if lead == 0 {
            let mut values = HashMap::default();
            let value = self.cell(at, &plans[0], &mut values)?;
            return Ok(self.plus(at, to, value));
        }
        let mut parts = Vec::new();
        for plan in plans {
            parts.push(self.part_of(at, plan, to)?);
        }
        let cell = (lead == extents.len()).then(Vec::new).unwrap_or_else(|| extents[lead..].to_vec());
        let op = match to {
            Some(array) => WithOp::Modarray { array },
            None => WithOp::Genarray { frame: Frame::Known(extents[..lead].to_vec()), cell: Some(cell), default: None },
        };
        let ty = self.state.ty(of);
        Ok(self.state.emit(at, Op::With(With { parts, ops: vec![op], ordered: false }), ty))
    }

    /// The partition of the places that a term reaches in one way.
    fn part_of(&mut self, at: Region, plan: &Plan, to: Option<Value>) -> Result<Part> {
        let body = self.state.branch();
        let mut values = HashMap::default();
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for (axis, bounds) in plan.inverse.target.iter().enumerate() {
            let p = self.state.func.add_param(body, Ty::scalar(Elem::I32));
            values.insert(plan.target[axis], p);
            let none = HashMap::default();
            let (zero, extent) = (self.state.int(at, 0), plan.extents[axis]);
            let mut low = zero;
            for bound in &bounds.lower {
                if self.is_first(bound) {
                    continue;
                }
                let bound = self.ceiling(at, bound, &none);
                low = self.state.bin(at, BinOp::Max, low, bound);
            }
            let mut high = extent;
            for bound in &bounds.upper {
                if self.is_last(bound, extent) {
                    continue;
                }
                let bound = Quotient { of: bound.of.plus(bound.by), by: bound.by };
                let bound = self.floor(at, &bound, &none);
                high = self.state.bin(at, BinOp::Min, high, bound);
            }
            lower.push(low);
            upper.push(high);
        }
        self.state.settle(body);
        self.state.defs.add_region(self.state.func, body);
        let mut cell = self.cell(body, plan, &mut values)?;
        if let Some(array) = to {
            let index = self.state.func.regions[body].params.clone();
            let ty = self.state.ty(cell);
            let old = self.state.emit(body, Op::Sel { array, index }, ty);
            cell = self.state.add(body, old, cell);
        }
        self.state.func.regions[body].yields = vec![cell];
        Ok(Part { generator: Generator::Known { lower, upper, step: None, width: None }, body })
    }

    /// What reaches one place: conditions, then the sum over free variables.
    fn cell(&mut self, at: Region, plan: &Plan, values: &mut HashMap<Value, Value>) -> Result<Value> {
        let free: Vec<Value> = plan.inverse.free.iter().map(|f| f.value).collect();
        let defined: Vec<Value> = plan.inverse.defined.iter().map(|(v, _)| *v).collect();
        let mentions = |cond: &Cond| {
            let lin = match cond {
                Cond::Zero(lin) | Cond::NotPositive(lin) => lin,
                Cond::Multiple(q) => &q.of,
            };
            free.iter().chain(&defined).any(|v| lin.mentions(Atom::Value(*v)))
        };
        let (inner, outer): (Vec<&Cond>, Vec<&Cond>) = plan.inverse.conds.iter().partition(|c| mentions(c));
        if outer.is_empty() {
            return self.sum_free(at, plan, 0, &inner, values);
        }
        let cond = self.all(at, &outer, values);
        let then = self.state.branch();
        let value = self.sum_free(then, plan, 0, &inner, values)?;
        self.choice(at, plan, cond, then, value)
    }

    /// The sum over the free variables from a number on, as folds; those whose bounds do not depend on each other are axes of one.
    fn sum_free(
        &mut self,
        at: Region,
        plan: &Plan,
        first: usize,
        conds: &[&Cond],
        values: &mut HashMap<Value, Value>,
    ) -> Result<Value> {
        let free = &plan.inverse.free;
        if first == free.len() {
            return self.site(at, plan, conds, values);
        }
        let mut end = first + 1;
        let depends = |f: &Free, on: &[Free]| {
            f.lower.iter().chain(&f.upper).any(|q| on.iter().any(|v| q.of.mentions(Atom::Value(v.value))))
        };
        while end < free.len() && !depends(&free[end], &free[first..end]) {
            end += 1;
        }
        let body = self.state.branch();
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for f in &free[first..end] {
            let mut low = None;
            for bound in &f.lower {
                let bound = self.ceiling(at, bound, values);
                low = Some(low.map_or(bound, |low| self.state.bin(at, BinOp::Max, low, bound)));
            }
            let mut high = None;
            for bound in &f.upper {
                let bound = Quotient { of: bound.of.plus(bound.by), by: bound.by };
                let bound = self.floor(at, &bound, values);
                high = Some(high.map_or(bound, |high| self.state.bin(at, BinOp::Min, high, bound)));
            }
            let (Some(low), Some(high)) = (low, high) else { return self.state.refuse("a sum without bounds") };
            lower.push(low);
            upper.push(high);
        }
        for f in &free[first..end] {
            let p = self.state.func.add_param(body, Ty::scalar(Elem::I32));
            values.insert(f.value, p);
        }
        self.state.settle(body);
        self.state.defs.add_region(self.state.func, body);
        let cell = self.sum_free(body, plan, end, conds, values)?;
        self.state.func.regions[body].yields = vec![cell];
        let neutral = self.state.zeros_like(at, plan.of, plan.target.len());
        let ty = self.state.ty(neutral);
        let generator = Generator::Known { lower, upper, step: None, width: None };
        let op = WithOp::Fold { neutral, combine: Combine::Op(BinOp::Add), stop: None };
        let with = With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false };
        Ok(self.state.emit(at, Op::With(with), ty))
    }

    /// The term at one index of all its levels.
    fn site(&mut self, at: Region, plan: &Plan, conds: &[&Cond], values: &mut HashMap<Value, Value>) -> Result<Value> {
        let term = plan.term;
        for (v, q) in &plan.inverse.defined {
            let x = self.floor(at, q, values);
            values.insert(*v, x);
        }
        let mut copier = Copier::default();
        for level in &term.levels {
            if let LevelKind::Part(_) = self.levels[*level].kind {
                for p in self.state.func.regions[self.levels[*level].region].params.clone() {
                    if let Some(x) = values.get(&p) {
                        copier.values.insert(p, *x);
                    }
                }
            }
        }
        if conds.is_empty() {
            return self.replayed(at, plan, 0, &mut copier);
        }
        let cond = self.all(at, conds, values);
        let then = self.state.branch();
        let value = self.replayed(then, plan, 0, &mut copier)?;
        self.choice(at, plan, cond, then, value)
    }

    /// A branch that gives what reaches a place, or zeros like it.
    fn choice(&mut self, at: Region, plan: &Plan, cond: Value, then: Region, value: Value) -> Result<Value> {
        self.state.func.regions[then].yields = vec![value];
        let els = self.state.branch();
        let zero = self.state.zeros_like(els, plan.of, plan.target.len());
        self.state.func.regions[els].yields = vec![zero];
        let ty = self.state.ty(value);
        Ok(self.state.emit(at, Op::If { cond, then, els }, ty))
    }

    /// The code of the levels from a number on, and the term's value behind it.
    fn replayed(&mut self, at: Region, plan: &Plan, first: usize, copier: &mut Copier) -> Result<Value> {
        let term = plan.term;
        let needs = self.needs_by_level(&term.levels, &self.wanted(term), false);
        let mut k = first;
        while k < term.levels.len() {
            let level = term.levels[k];
            if let LevelKind::Branch(cond, taken) = self.levels[level].kind
                && !plan.absorbed.contains(&level)
            {
                let cond = copier.value(cond);
                let cond = if taken { cond } else { self.state.un(at, UnOp::Not, cond) };
                let then = self.state.branch();
                self.replay(then, copier, level, &needs[k]);
                let value = self.replayed(then, plan, k + 1, copier)?;
                return self.choice(at, plan, cond, then, value);
            }
            self.replay(at, copier, level, &needs[k]);
            k += 1;
        }
        let value = copier.value(term.value);
        let guard = plan.guard.map(|g| copier.value(g));
        Ok(self.guarded(at, &Term { guard, ..Term::here(value) }))
    }

    fn wanted(&self, term: &Term) -> Vec<Value> {
        [term.value].into_iter().chain(term.guard).collect()
    }

    // Integers.

    pub fn leaf(&self, v: Value) -> Lin {
        match self.state.defs.int(self.state.func, v) {
            Some(k) => Lin::constant(i64::from(k)),
            None => Lin::atom(Atom::Value(v)),
        }
    }

    /// A form as code.
    fn sum_of(&mut self, at: Region, lin: &Lin, values: &HashMap<Value, Value>) -> Value {
        let mut total: Option<Value> = None;
        for (atom, k) in &lin.terms {
            let Atom::Value(v) = atom else { continue };
            let v = values.get(v).copied().unwrap_or(*v);
            let (op, term) = match *k {
                1 => (BinOp::Add, v),
                -1 if total.is_some() => (BinOp::Sub, v),
                k => {
                    let k = self.state.int(at, k as i32);
                    (BinOp::Add, self.state.bin(at, BinOp::Mul, v, k))
                }
            };
            total = Some(match total {
                Some(total) => self.state.bin(at, op, total, term),
                None => term,
            });
        }
        match total {
            Some(total) if lin.c == 0 => total,
            Some(total) => {
                let c = self.state.int(at, lin.c as i32);
                self.state.bin(at, BinOp::Add, total, c)
            }
            None => self.state.int(at, lin.c as i32),
        }
    }

    /// A quotient rounded down.
    fn floor(&mut self, at: Region, q: &Quotient, values: &HashMap<Value, Value>) -> Value {
        let x = self.sum_of(at, &q.of, values);
        if q.by == 1 {
            return x;
        }
        // Of what is not negative the quotient is rounded down as it is.
        let is_place = |(atom, k): &(Atom, i64)| *k > 0 && matches!(atom, Atom::Value(v) if self.places.contains(*v));
        if q.of.c >= 0 && q.of.terms.iter().all(is_place) {
            let by = self.state.int(at, q.by as i32);
            return self.state.bin(at, BinOp::Div, x, by);
        }
        let by = self.state.int(at, q.by as i32);
        let rest = self.state.bin(at, BinOp::AplMod, x, by);
        let whole = self.state.bin(at, BinOp::Sub, x, rest);
        self.state.bin(at, BinOp::Div, whole, by)
    }

    fn ceiling(&mut self, at: Region, q: &Quotient, values: &HashMap<Value, Value>) -> Value {
        self.floor(at, &Quotient { of: q.of.plus(q.by - 1), by: q.by }, values)
    }

    /// Whether all conditions hold.
    fn all(&mut self, at: Region, conds: &[&Cond], values: &HashMap<Value, Value>) -> Value {
        let zero = self.state.int(at, 0);
        let mut all = None;
        for cond in conds {
            let holds = match cond {
                Cond::Zero(lin) => {
                    let x = self.sum_of(at, lin, values);
                    self.state.bin(at, BinOp::Eq, x, zero)
                }
                Cond::NotPositive(lin) => {
                    let x = self.sum_of(at, lin, values);
                    self.state.bin(at, BinOp::Le, x, zero)
                }
                Cond::Multiple(q) => {
                    let x = self.sum_of(at, &q.of, values);
                    let by = self.state.int(at, q.by as i32);
                    let rest = self.state.bin(at, BinOp::AplMod, x, by);
                    self.state.bin(at, BinOp::Eq, rest, zero)
                }
            };
            all = Some(self.state.both(at, all, holds));
        }
        all.unwrap_or(zero)
    }

    /// Indices that nobody knows the number of axes of, and that are those of the array itself.
    fn alike(&mut self, at: Region, of: Value, term: &Term) -> Option<Value> {
        let (&[level], Index::Vector(index)) = (&term.levels[..], &term.index) else { return None };
        let LevelKind::Part(generator @ Generator::Dyn { .. }) = self.levels[level].kind.clone() else { return None };
        let is_own = self.state.func.regions[self.levels[level].region].params.first() == Some(index);
        if !is_own || term.guard.is_some() || !self.state.ty(term.value).is_scalar() {
            return None;
        }
        let vector = self.state.vector_type();
        let shape = self.state.emit(at, Op::ShapeVec(of), vector);
        let body = self.body_of(level, &[term.value]);
        // What is outside of the generator gets a zero.
        let op = WithOp::Genarray { frame: Frame::Dyn(shape), cell: Some(Vec::new()), default: None };
        let with = With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false };
        let ty = self.state.ty(of);
        Some(self.state.emit(at, Op::With(with), ty))
    }

    // What is not inverted.

    /// A fold of arrays that are zero but for one place.
    fn scattered(&mut self, at: Region, of: Value, term: &Term) -> Result<Value> {
        let zeros = self.state.zeros_like(at, of, 0);
        self.scatter_from(at, of, term, 0, zeros, &mut Copier::default())
    }

    fn scatter_from(
        &mut self,
        at: Region,
        of: Value,
        term: &Term,
        k: usize,
        zeros: Value,
        copier: &mut Copier,
    ) -> Result<Value> {
        let ty = self.state.ty(of);
        let Some(&level) = term.levels.get(k) else {
            let value = copier.value(term.value);
            let guard = term.guard.map(|g| copier.value(g));
            let value = self.guarded(at, &Term { guard, ..Term::here(value) });
            return Ok(match &term.index {
                Index::Known(index) if index.is_empty() => value,
                Index::Known(index) => {
                    let index = index.iter().map(|v| copier.value(*v)).collect();
                    self.state.emit(at, Op::Update { array: zeros, index, value }, ty)
                }
                Index::Vector(index) => {
                    let index = copier.value(*index);
                    self.state.emit(at, Op::UpdateDyn { array: zeros, index, value }, ty)
                }
            });
        };
        let needs = self.needs_by_level(&term.levels, &term.needs(), true);
        match self.levels[level].kind.clone() {
            LevelKind::Branch(cond, taken) => {
                let cond = copier.value(cond);
                let cond = if taken { cond } else { self.state.un(at, UnOp::Not, cond) };
                let then = self.state.branch();
                self.replay(then, copier, level, &needs[k]);
                let value = self.scatter_from(then, of, term, k + 1, zeros, copier)?;
                self.state.func.regions[then].yields = vec![value];
                let els = self.state.branch();
                self.state.func.regions[els].yields = vec![zeros];
                Ok(self.state.emit(at, Op::If { cond, then, els }, ty))
            }
            LevelKind::Part(mut generator) => {
                generator.for_each_mut(&mut |v: &mut Value| *v = copier.value(*v));
                let body = self.state.func.regions.push(RegionData::default());
                for p in self.state.func.regions[self.levels[level].region].params.clone() {
                    let ty = self.state.ty(p);
                    let new = self.state.func.add_param(body, ty);
                    copier.values.insert(p, new);
                }
                self.state.settle(body);
                self.state.defs.add_region(self.state.func, body);
                self.replay(body, copier, level, &needs[k]);
                let cell = self.scatter_from(body, of, term, k + 1, zeros, copier)?;
                self.state.func.regions[body].yields = vec![cell];
                let op = match ty.rank() {
                    Some(_) => Combine::Op(BinOp::Add),
                    None => Combine::Region(self.adding(&ty)),
                };
                let op = WithOp::Fold { neutral: zeros, combine: op, stop: None };
                let with = With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false };
                Ok(self.state.emit(at, Op::With(with), ty))
            }
        }
    }

    /// A fold function that adds arrays of unknown rank.
    fn adding(&mut self, ty: &Ty) -> Region {
        let region = self.state.branch();
        let a = self.state.func.add_param(region, ty.clone());
        let b = self.state.func.add_param(region, ty.clone());
        self.state.settle(region);
        self.state.defs.add_region(self.state.func, region);
        let sum = self.state.add(region, a, b);
        self.state.func.regions[region].yields = vec![sum];
        region
    }
}
