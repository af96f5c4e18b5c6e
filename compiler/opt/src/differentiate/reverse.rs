//! Reverse mode: from the last instruction to the first, what an adjoint of a result adds to those of the operands.

use crate::differentiate::adjoint::{Adjoints, Index, Level, LevelData, LevelKind, Term};
use crate::differentiate::loops::slice_without;
use crate::differentiate::scalar::Step;
use crate::differentiate::state::{Result, State, outside};
use crate::edit::{Renames, slice};
use cranelift_entity::{EntitySet, PrimaryMap};
use ravel_types::{BinOp, HashMap, Shape, Ty, UnOp};
use ravel_wir::traverse::free_values;
use ravel_wir::{Inst, Op, Region, Value};

/// An arm of a branch in a loop: a copy of it with adjoint code behind its forward part.
struct Arm {
    copy: Region,
    forward: Vec<Inst>,
    backward: Vec<Inst>,
    /// What the forward part yields.
    yields: Vec<Value>,
    /// What the adjoint code reads of the forward part, and what of that is kept.
    needed: Vec<Value>,
    kept: Vec<Value>,
}

pub struct Reverse<'s> {
    pub state: State<'s>,
    pub levels: PrimaryMap<Level, LevelData>,
    /// Adjoints with zeros that may stand for what was not chosen.
    pub masked: EntitySet<Value>,
    /// Names of indices of arrays, which are not negative.
    pub places: EntitySet<Value>,
    /// Bodies of loops, of which a part runs in the reverse loop: their code stays in order.
    pub iterations: EntitySet<Region>,
    /// Branches inside of these.
    pub serial: EntitySet<Region>,
}

impl<'s> Reverse<'s> {
    pub fn new(state: State<'s>) -> Reverse<'s> {
        Reverse {
            state,
            levels: PrimaryMap::new(),
            masked: EntitySet::new(),
            places: EntitySet::new(),
            iterations: EntitySet::new(),
            serial: EntitySet::new(),
        }
    }

    pub fn level(&mut self, region: Region, kind: LevelKind) -> Level {
        self.levels.push(LevelData { region, kind, kept: HashMap::default() })
    }

    /// Whether code runs once for each iteration of a loop, where arrays are changed in place.
    pub fn is_repeated(&self, at: Region) -> bool {
        self.iterations.contains(at) || self.serial.contains(at)
    }

    /// Adds a term to the adjoint of a value, if that is wanted.
    pub fn contribute(&self, adjoints: &mut Adjoints, to: Value, term: Term) {
        if self.state.is_varied(to) {
            adjoints.add(to, term);
        }
    }

    /// Appends code to `at` that takes the adjoints of what `insts` compute to those of what they read.
    pub fn sweep(&mut self, at: Region, insts: &[Inst], adjoints: &mut Adjoints) -> Result<()> {
        for &inst in insts.iter().rev() {
            let results = self.state.func.insts[inst].results.clone();
            if results.iter().any(|v| adjoints.has(*v)) {
                self.state.span = self.state.func.insts[inst].span;
                self.inst(at, inst, &results, adjoints)?;
            }
        }
        Ok(())
    }

    fn inst(&mut self, at: Region, inst: Inst, results: &[Value], adjoints: &mut Adjoints) -> Result<()> {
        let op = self.state.func.insts[inst].op.clone();
        match &op {
            Op::With(with) => return self.with(at, inst, with, adjoints),
            Op::If { cond, then, els } => return self.branch(at, inst, *cond, [*then, *els], adjoints),
            Op::Loop { .. } => return self.repeated(at, inst, adjoints),
            Op::Call { .. } => return self.call(at, inst, adjoints),
            _ => {}
        }
        let y = results[0];
        let terms = adjoints.take(y);
        match &op {
            Op::Un(..) | Op::Bin(..) => self.arithmetic(at, &op, y, terms, adjoints)?,
            Op::Convert(a) => {
                let (g, guard) = self.sum(at, y, terms)?;
                let ty = self.state.ty(*a);
                let value = self.state.emit(at, Op::Convert(g), ty);
                self.mask(value, g);
                self.contribute(adjoints, *a, Term { guard, ..Term::here(value) });
            }
            Op::Select { cond, then, els } => {
                let (g, guard) = self.sum(at, y, terms)?;
                let other = self.state.un(at, UnOp::Not, *cond);
                for (to, cond) in [(*then, *cond), (*els, other)] {
                    let guard = Some(self.state.both(at, guard, cond));
                    self.contribute(adjoints, to, Term { guard, ..Term::here(g) });
                }
            }
            Op::Sel { array, index } => {
                for term in terms {
                    let inner = match term.index {
                        Index::Known(inner) => inner,
                        Index::Vector(_) => return self.state.refuse("an index vector into a cell"),
                    };
                    let index = Index::Known(index.iter().copied().chain(inner).collect());
                    self.contribute(adjoints, *array, Term { index, ..term });
                }
            }
            Op::SelDyn { array, index } => {
                let (g, guard) = self.sum(at, y, terms)?;
                let index = Index::Vector(*index);
                self.contribute(adjoints, *array, Term { index, guard, ..Term::here(g) });
            }
            Op::Array(cells) => self.cells(at, y, cells, terms, adjoints)?,
            Op::Reshape { array, .. } => {
                let g = self.value(at, y, terms)?;
                let (shape, ty) = (self.state.extents(at, *array, 0), self.state.ty(*array));
                let back = self.state.emit(at, Op::Reshape { array: g, shape }, ty);
                self.mask(back, g);
                self.contribute(adjoints, *array, Term::here(back));
            }
            Op::ReshapeDyn { array, .. } => {
                let g = self.value(at, y, terms)?;
                let (vector, ty) = (self.state.vector_type(), self.state.ty(*array));
                let shape = self.state.emit(at, Op::ShapeVec(*array), vector);
                let back = self.state.emit(at, Op::ReshapeDyn { array: g, shape }, ty);
                self.mask(back, g);
                self.contribute(adjoints, *array, Term::here(back));
            }
            Op::Update { array, index, value } => {
                let g = self.value(at, y, terms)?;
                let ty = self.state.ty(*value);
                let cell = self.state.emit(at, Op::Sel { array: g, index: index.clone() }, ty);
                self.mask(cell, g);
                self.contribute(adjoints, *value, Term::here(cell));
                if self.state.is_varied(*array) {
                    let zero = self.state.zeros_like(at, *value, 0);
                    let ty = self.state.ty(*array);
                    let rest = self.state.emit(at, Op::Update { array: g, index: index.clone(), value: zero }, ty);
                    self.mask(rest, g);
                    self.contribute(adjoints, *array, Term::here(rest));
                }
            }
            Op::UpdateDyn { array, index, value } => {
                let g = self.value(at, y, terms)?;
                let ty = self.state.ty(*value);
                let cell = self.state.emit(at, Op::SelDyn { array: g, index: *index }, ty);
                self.mask(cell, g);
                self.contribute(adjoints, *value, Term::here(cell));
                if self.state.is_varied(*array) {
                    let zero = self.state.zeros_like(at, *value, 0);
                    let ty = self.state.ty(*array);
                    let rest = self.state.emit(at, Op::UpdateDyn { array: g, index: *index, value: zero }, ty);
                    self.mask(rest, g);
                    self.contribute(adjoints, *array, Term::here(rest));
                }
            }
            Op::Widen(a) | Op::Narrow(a) => {
                let g = self.value(at, y, terms)?;
                let (from, to) = (self.state.ty(y), self.state.ty(*a));
                let op = match (&from.shape, &to.shape) {
                    (Shape::Unknown, _) => Op::Narrow(g),
                    _ => Op::Widen(g),
                };
                let back = self.state.emit(at, op, to);
                self.mask(back, g);
                self.contribute(adjoints, *a, Term::here(back));
            }
            Op::Opaque(a) => terms.into_iter().for_each(|term| self.contribute(adjoints, *a, term)),
            Op::Detach(_) => {}
            Op::Native { symbol, .. } => {
                let why = outside(symbol);
                return self.state.refuse(why);
            }
            _ => {}
        }
        Ok(())
    }

    /// The condition that a cell of a masked adjoint counts under where derivatives may be infinite; none for cells that are arrays.
    pub fn counts(&mut self, at: Region, cell: Value) -> Option<Value> {
        self.state.func.ty(cell).is_scalar().then(|| {
            let zero = self.state.zeros_like(at, cell, 0);
            self.state.bin(at, BinOp::Ne, cell, zero)
        })
    }

    /// Whether zeros of a value may stand for what was not chosen, if those of another one it is made of do.
    pub fn mask(&mut self, value: Value, from: Value) {
        if self.masked.contains(from) {
            self.masked.insert(value);
        }
    }

    fn arithmetic(&mut self, at: Region, op: &Op, y: Value, terms: Vec<Term>, adjoints: &mut Adjoints) -> Result<()> {
        let (g, guard) = self.sum(at, y, terms)?;
        if let Some((x, steps)) = self.state.composite(at, y) {
            self.partial(at, x, &steps, (g, guard), adjoints);
            return Ok(());
        }
        match *op {
            Op::Un(op, x) => {
                if let Some(steps) = self.state.unary(at, op, x, y) {
                    self.partial(at, x, &steps, (g, guard), adjoints);
                }
            }
            Op::Bin(BinOp::Mul, a, b) if a == b => {
                let twice = self.state.bin(at, BinOp::Add, a, a);
                self.partial(at, a, &[Step::Times(twice)], (g, guard), adjoints);
            }
            Op::Bin(op, a, b) => {
                let partials = self.state.binary(at, op, a, b, y);
                for (x, steps) in [a, b].into_iter().zip(partials) {
                    if let Some(steps) = steps {
                        self.partial(at, x, &steps, (g, guard), adjoints);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds a cotangent times a partial to the adjoint of an operand.
    pub fn partial(
        &mut self,
        at: Region,
        to: Value,
        steps: &[Step],
        (g, guard): (Value, Option<Value>),
        adjoints: &mut Adjoints,
    ) {
        if self.state.is_varied(to) {
            let (value, more) = self.state.apply(at, steps, g);
            let guard = match more {
                Some(cond) => Some(self.state.both(at, guard, cond)),
                None => guard,
            };
            self.mask(value, g);
            adjoints.add(to, Term { guard, ..Term::here(value) });
        }
    }

    fn branch(
        &mut self,
        at: Region,
        inst: Inst,
        cond: Value,
        regions: [Region; 2],
        adjoints: &mut Adjoints,
    ) -> Result<()> {
        let results = self.state.func.insts[inst].results.clone();
        let mut seeds = Vec::new();
        for &y in &results {
            let terms = adjoints.take(y);
            seeds.push(match terms.is_empty() || !self.state.is_varied(y) {
                true => None,
                false => Some(self.sum(at, y, terms)?),
            });
        }
        // What is dear runs once where it can.
        let heavy = self.is_heavy(inst);
        let wanted: Vec<Value> = seeds.iter().flatten().flat_map(|(g, guard)| [*g].into_iter().chain(*guard)).collect();
        let is_serial = self.is_repeated(at);
        let in_place = heavy && !is_serial && self.is_in_place(at, inst, &wanted);
        let is_kept = heavy && is_serial;
        let mut forwards = Vec::new();
        // Arrays that loops change in place go into the branches with what they are already.
        let mut passed: Vec<(Value, Value)> = Vec::new();
        for region in regions.into_iter().filter(|_| is_serial) {
            for v in free_values(self.state.func, region) {
                if self.state.is_varied(v) && !self.state.ty(v).is_scalar() && adjoints.has(v) {
                    let terms = adjoints.take(v);
                    passed.push((v, self.value(at, v, terms)?));
                }
            }
        }
        // By branch, what it contributes.
        let mut sides = Vec::new();
        for (number, region) in regions.into_iter().enumerate() {
            let copy = match in_place {
                true => {
                    self.state.settle(region);
                    region
                }
                false if is_kept => self.state.copy_with_checks(region).0,
                false => self.state.copy(region).0,
            };
            if is_serial {
                self.serial.insert(copy);
            }
            let yields = self.state.func.regions[copy].yields.clone();
            let mut inner = Adjoints::default();
            passed.iter().for_each(|(v, g)| inner.add(*v, Term::here(*g)));
            for (v, seed) in yields.into_iter().zip(&seeds) {
                if let Some((g, guard)) = *seed {
                    self.contribute(&mut inner, v, Term { guard, ..Term::here(g) });
                }
            }
            let insts = self.state.func.regions[copy].insts.clone();
            let results = self.state.func.regions[copy].yields.clone();
            self.sweep(copy, &insts, &mut inner)?;
            forwards.push((insts, results));
            let outward: Vec<_> = inner.rest().into_iter().filter(|(v, _)| !self.state.is_made_in(*v, copy)).collect();
            let level = self.level(copy, LevelKind::Branch(cond, number == 0));
            sides.push((copy, level, outward));
        }
        // What is no array one branch computes for both sides, and arrays that change place by place as loops run.
        let mut now: Vec<Value> = Vec::new();
        let mut kept: Vec<(Level, Value)> = Vec::new();
        for (copy, level, outward) in &sides {
            for (v, terms) in outward {
                let mut dear = Vec::new();
                let mut is_now = is_serial || self.state.ty(*v).is_scalar();
                for term in terms.iter().filter(|_| heavy) {
                    let needs = self.needs_of_body(*copy, term);
                    dear.extend(needs.into_iter().filter(|n| self.is_dear(*level, &[*n])));
                    is_now |= dear.iter().any(|n| !self.state.ty(*n).is_scalar());
                }
                if is_now && !now.contains(v) {
                    now.push(*v);
                }
                for n in dear.into_iter().filter(|_| !is_now) {
                    if !kept.contains(&(*level, n)) {
                        kept.push((*level, n));
                    }
                }
            }
        }
        for (copy, level, outward) in sides.iter_mut() {
            let mut yields = vec![None; now.len()];
            for (v, terms) in std::mem::take(outward) {
                match now.iter().position(|n| *n == v) {
                    Some(k) => yields[k] = Some(self.value(*copy, v, terms)?),
                    None => {
                        for mut term in terms {
                            term.levels.insert(0, *level);
                            adjoints.add(v, term);
                        }
                    }
                }
            }
            let mut values = Vec::new();
            for (v, y) in now.iter().zip(yields) {
                values.push(match y {
                    Some(y) => y,
                    None => self.state.zeros_like(*copy, *v, 0),
                });
            }
            for (of, v) in &kept {
                values.push(match of == level {
                    true => *v,
                    false => {
                        let zero = ravel_types::Scalar::zero(self.state.ty(*v).elem);
                        self.state.constant(*copy, zero.unwrap_or(ravel_types::Scalar::Bool(false)))
                    }
                });
            }
            match in_place {
                true => self.state.func.regions[*copy].yields.extend(values),
                false => self.state.func.regions[*copy].yields = values,
            }
        }
        if now.is_empty() && kept.is_empty() {
            return Ok(());
        }
        if is_kept {
            self.keep_in_branches(inst, cond, [sides[0].0, sides[1].0], forwards);
        }
        let types: Vec<Ty> = now.iter().chain(kept.iter().map(|(_, v)| v)).map(|v| self.state.ty(*v)).collect();
        let made = match in_place {
            true => {
                let made: Vec<Value> = types.into_iter().map(|ty| self.state.func.new_value(ty)).collect();
                self.state.func.insts[inst].results.extend(&made);
                self.state.defs.add_inst(self.state.func, inst);
                made.iter().for_each(|v| self.state.home[*v] = at.into());
                made
            }
            false => {
                let (then, els) = (sides[0].0, sides[1].0);
                self.state.emits(at, Op::If { cond, then, els }, types)
            }
        };
        for ((level, v), made) in kept.into_iter().zip(&made[now.len()..]) {
            self.levels[level].kept.insert(v, *made);
        }
        for (v, g) in now.into_iter().zip(made) {
            self.masked.insert(g);
            adjoints.add(v, Term::here(g));
        }
        Ok(())
    }

    /// Lets a branch in a loop give what its adjoint code needs of it, so that neither runs twice. `copies` are its arms, each with adjoint code
    /// behind its forward part.
    fn keep_in_branches(
        &mut self,
        inst: Inst,
        cond: Value,
        copies: [Region; 2],
        forwards: Vec<(Vec<Inst>, Vec<Value>)>,
    ) {
        let mut arms = Vec::new();
        for (copy, (forward, yields)) in copies.into_iter().zip(forwards) {
            let (forward, backward) = self.halves(copy, &forward);
            let wanted = self.state.func.regions[copy].yields.clone();
            let backward = slice(self.state.func, &backward, wanted.iter().copied(), |_| false);
            let needed = self.needed((&forward, &[]), &backward, &wanted);
            let kept = self.chosen(copy, (&forward, &[]), None, &needed);
            let kept = kept.filter(|kept| kept.iter().all(|v| self.state.ty(*v).rank().is_some()));
            let Some(kept) = kept else {
                copies.into_iter().for_each(|copy| self.state.drop_checks(copy));
                return;
            };
            arms.push(Arm { copy, forward, backward, yields, needed, kept });
        }
        let parts: Vec<_> =
            arms.iter().map(|arm| self.forward_part(Vec::new(), &arm.forward, arm.yields.clone())).collect();
        let mut results = Vec::new();
        for (side, arm) in arms.iter().enumerate() {
            for &v in &arm.kept {
                let ty = self.state.ty(v);
                let own = parts[side].1.get(&v).copied().unwrap_or(v);
                self.state.func.regions[parts[side].0].yields.push(own);
                let other = parts[1 - side].0;
                let empty = self.state.empty(other, &ty);
                self.state.func.regions[other].yields.push(empty);
                let ty = self.state.opened(&ty);
                results.push(self.state.func.new_value(ty));
            }
        }
        self.state.func.insts[inst].op = Op::If { cond, then: parts[0].0, els: parts[1].0 };
        let home = self.state.func.insts[inst].results.first().and_then(|v| self.state.home[*v].expand());
        self.state.func.insts[inst].results.extend(&results);
        self.state.defs.add_inst(self.state.func, inst);
        results.iter().for_each(|v| self.state.home[*v] = home.into());
        let mut made = results.into_iter();
        for Arm { copy, forward, backward, needed, kept, .. } in arms {
            let renames: Renames = kept.iter().copied().zip(made.by_ref()).collect();
            let again: Vec<Value> = needed.into_iter().filter(|v| !kept.contains(v)).collect();
            let mut insts = slice_without(self.state.func, &forward, &again, &kept);
            insts.extend(backward);
            self.state.func.regions[copy].insts = insts;
            self.state.drop_checks(copy);
            renames.apply_region(self.state.func, copy);
        }
    }

    /// The sum of terms, as a value that counts only under a condition. The condition goes outward as far as it can: what was not chosen may have
    /// derivatives that are not finite.
    pub fn sum(&mut self, at: Region, of: Value, terms: Vec<Term>) -> Result<(Value, Option<Value>)> {
        let is_whole = |t: &Term| t.levels.is_empty() && t.index == Index::whole();
        if let [term] = &terms[..]
            && is_whole(term)
        {
            return Ok((term.value, term.guard));
        }
        let guards: Option<Vec<Value>> = terms.iter().map(|t| t.guard.filter(|_| is_whole(t))).collect();
        let first = terms.first().and_then(|t| t.guard);
        match guards {
            Some(guards) if guards.iter().all(|g| Some(*g) == first) => {
                let values: Vec<Value> = terms.iter().map(|t| t.value).collect();
                let mut sum = values[0];
                for v in &values[1..] {
                    sum = self.state.add(at, sum, *v);
                }
                Ok((sum, first))
            }
            Some(guards) => {
                let mut any = guards[0];
                for guard in &guards[1..] {
                    any = self.state.bin(at, BinOp::Or, any, *guard);
                }
                Ok((self.value(at, of, terms)?, Some(any)))
            }
            None => Ok((self.value(at, of, terms)?, None)),
        }
    }

    /// The same, with zero where the condition does not hold.
    pub fn value(&mut self, at: Region, of: Value, terms: Vec<Term>) -> Result<Value> {
        let is_masked = terms.iter().any(|term| self.is_masked(term));
        let mut total = None;
        let (mut inside, mut elements) = (Vec::new(), Vec::new());
        for term in terms {
            match (term.levels.is_empty(), &term.index) {
                (true, Index::Known(index)) if index.is_empty() => {
                    let value = self.guarded(at, &term);
                    total = Some(self.plus(at, total, value));
                }
                (true, _) => elements.push(term),
                (false, _) => inside.push(term),
            }
        }
        total = self.gather(at, of, inside, total)?;
        let mut total = match total {
            Some(total) => total,
            None => self.state.zeros_like(at, of, 0),
        };
        for term in elements {
            total = self.accumulate(at, total, &term);
        }
        if is_masked {
            self.masked.insert(total);
        }
        Ok(total)
    }

    /// Whether zeros of a term may stand for what was not chosen.
    pub fn is_masked(&self, term: &Term) -> bool {
        let is_branch = |level: &Level| matches!(self.levels[*level].kind, LevelKind::Branch(..));
        term.guard.is_some() || self.masked.contains(term.value) || term.levels.iter().any(is_branch)
    }

    pub fn plus(&mut self, at: Region, total: Option<Value>, value: Value) -> Value {
        match total {
            Some(total) => self.state.add(at, total, value),
            None => value,
        }
    }

    /// A term's value, or zero.
    pub fn guarded(&mut self, at: Region, term: &Term) -> Value {
        match term.guard {
            Some(guard) => {
                let zero = self.state.zeros_like(at, term.value, 0);
                self.state.select(at, guard, term.value, zero)
            }
            None => term.value,
        }
    }

    /// An array with a term added at its place.
    pub fn accumulate(&mut self, at: Region, array: Value, term: &Term) -> Value {
        let (ty, value) = (self.state.ty(array), self.guarded(at, term));
        let cell = self.state.ty(value);
        match term.index.clone() {
            Index::Known(index) => {
                let old = self.state.emit(at, Op::Sel { array, index: index.clone() }, cell);
                let value = self.state.add(at, old, value);
                self.state.emit(at, Op::Update { array, index, value }, ty)
            }
            Index::Vector(index) => {
                let old = self.state.emit(at, Op::SelDyn { array, index }, cell);
                let value = self.state.add(at, old, value);
                self.state.emit(at, Op::UpdateDyn { array, index, value }, ty)
            }
        }
    }
}
