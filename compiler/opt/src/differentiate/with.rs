//! Adjoints of with-loops.
//!
//! The cotangent of each cell is a read of the result's adjoint, or that of a fold's result. What a body contributes to values from outside leaves it as
//! terms, with the body as a level: see [`crate::differentiate::gather`] for what becomes of them. At the border of a body is decided what of it is
//! computed again, what is kept in arrays over its indices, and what is summed inside of it.

use crate::differentiate::adjoint::{Adjoints, Index, Level, LevelKind, Term};
use crate::differentiate::folds::Fold;
use crate::differentiate::loops::amount;
use crate::differentiate::reverse::Reverse;
use crate::differentiate::rows::is_next;
use crate::differentiate::state::Result;
use crate::edit::{Copier, any_inst};
use ravel_types::{BinOp, Ty};
use ravel_wir::{Combine, Frame, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

/// What a partition with a single index along some axes replaces, taken from a cotangent.
struct Row {
    value: Value,
    /// The axes of the others.
    axes: Vec<usize>,
}

/// The cotangent of a result of a with-loop.
enum Seed {
    /// Of an array: cells are read from it.
    Array(Value),
    /// Of an array that is not made: every cell is the sum of what these contribute at its index.
    Terms(Value, Vec<Term>),
    /// Of a fold: every cell has it, times its partial.
    Fold(Fold, Value, Option<Value>),
}

impl Reverse<'_> {
    pub fn with(&mut self, at: Region, inst: Inst, with: &With, adjoints: &mut Adjoints) -> Result<()> {
        let results = self.state.func.insts[inst].results.clone();
        let mut seeds = Vec::new();
        for (op, &y) in with.ops.iter().zip(&results) {
            let terms = adjoints.take(y);
            if terms.is_empty() || !self.state.is_varied(y) {
                seeds.push(None);
                continue;
            }
            seeds.push(Some(match op {
                WithOp::Fold { .. } => {
                    let Some(fold) = self.state.look_at_fold(at, (with, seeds.len()), y)? else {
                        return self.state.refuse("a fold of this kind has no derivative yet");
                    };
                    let (g, guard) = self.sum(at, y, terms)?;
                    Seed::Fold(fold, g, guard)
                }
                WithOp::Genarray { default: None, cell: Some(cell), .. }
                    if cell.is_empty() && self.are_pointwise(at, y, &terms) =>
                {
                    Seed::Terms(y, terms)
                }
                _ => Seed::Array(self.value(at, y, terms)?),
            }));
        }
        // Where loops change arrays in place, rows are taken from the cotangent before they become zero there.
        let mut rows = Vec::new();
        for (op, seed) in with.ops.iter().zip(&seeds) {
            let mut of_parts = Vec::new();
            for part in &with.parts {
                of_parts.push(match (op, seed) {
                    (WithOp::Modarray { array }, Some(Seed::Array(g)))
                        if self.is_repeated(at) && self.state.is_varied(*array) =>
                    {
                        self.row_of(at, *g, part)
                    }
                    _ => None,
                });
            }
            rows.push(of_parts);
        }
        // The adjoints of what operators begin with.
        for (op, seed) in with.ops.iter().zip(&seeds) {
            match (op, seed) {
                (WithOp::Fold { neutral, .. }, Some(Seed::Fold(fold, g, guard))) if self.state.is_varied(*neutral) => {
                    let steps = self.state.of_neutral(at, *fold, *neutral);
                    self.partial(at, *neutral, &steps, (*g, *guard), adjoints);
                }
                (WithOp::Modarray { array }, Some(Seed::Array(g))) if self.state.is_varied(*array) => {
                    let rest = self.zeroed(at, *array, *g, with)?;
                    adjoints.add(*array, Term::here(rest));
                }
                (WithOp::Genarray { frame, default: Some(default), .. }, Some(Seed::Array(g)))
                    if self.state.is_varied(*default) =>
                {
                    let sum = self.uncovered(at, *default, *g, frame, with)?;
                    adjoints.add(*default, Term::here(sum));
                }
                _ => {}
            }
        }
        let joint = self.is_joint(at, with, &seeds);
        for number in 0..with.parts.len() {
            let seeds: Vec<(Option<&Seed>, Option<&Row>)> =
                seeds.iter().zip(&rows).map(|(seed, rows)| (seed.as_ref(), rows[number].as_ref())).collect();
            self.part(at, (inst, number), with, &seeds, joint && with.parts.len() == 1, adjoints)?;
        }
        Ok(())
    }

    /// Whether adjoint code can run in the with-loop itself: it gives sums only, whose cotangents are there before it runs.
    fn is_joint(&self, at: Region, with: &With, seeds: &[Option<Seed>]) -> bool {
        let is_there = |v: Value| !self.state.is_made_in(v, at);
        // In loops the forward part runs long before.
        !with.ordered
            && !self.is_repeated(at)
            && with.ops.iter().all(|op| matches!(op, WithOp::Fold { .. }))
            && seeds.iter().flatten().all(|seed| match seed {
                Seed::Fold(Fold::Sum, g, guard) => is_there(*g) && guard.is_none_or(is_there),
                _ => false,
            })
    }

    fn part(
        &mut self,
        at: Region,
        (inst, number): (Inst, usize),
        with: &With,
        seeds: &[(Option<&Seed>, Option<&Row>)],
        joint: bool,
        adjoints: &mut Adjoints,
    ) -> Result<()> {
        let part = &with.parts[number];
        let body = match joint {
            true => {
                self.state.settle(part.body);
                part.body
            }
            false => self.state.copy(part.body).0,
        };
        let data = self.state.func.regions[body].clone();
        // Cells are numbered where an extreme is looked for.
        let is_numbered = seeds.iter().any(|(seed, _)| matches!(seed, Some(Seed::Fold(Fold::Extreme { .. }, ..))));
        let (sizes, start) = match is_numbered {
            true => (self.state.sizes(at, part), self.state.start_of(at, with, number)),
            false => (Vec::new(), self.state.int(at, 0)),
        };
        let is_singular = self.is_singular(part.body);
        let mut inner = Adjoints::default();
        for (&cell, (seed, row)) in data.yields.iter().zip(seeds) {
            if !self.state.is_varied(cell) {
                continue;
            }
            match seed {
                None => {}
                Some(Seed::Fold(fold, g, guard)) => {
                    let (mut g, mut guard) = (*g, *guard);
                    // Where nothing is infinite a zero says as much as the condition, and is the same for all cells.
                    if let Some(cond) = guard.take_if(|_| !joint && !is_singular && matches!(fold, Fold::Sum)) {
                        g = self.guarded(at, &Term { guard: Some(cond), ..Term::here(g) });
                        self.masked.insert(g);
                    }
                    let steps =
                        self.state.of_cell(body, *fold, cell, |s| s.number(body, part, &sizes, &data.params, start));
                    self.partial(body, cell, &steps, (g, guard), &mut inner);
                }
                Some(Seed::Array(_) | Seed::Terms(..)) => {
                    let g = match seed {
                        Some(Seed::Terms(of, terms)) => self.at_place(body, *of, terms, &data.params)?,
                        Some(Seed::Array(array)) => {
                            let ty = self.state.ty(cell);
                            let g = match &part.generator {
                                Generator::Known { .. } if let Some(row) = row => {
                                    let index: Vec<Value> = row.axes.iter().map(|k| data.params[*k]).collect();
                                    self.state.cell(body, row.value, &index, ty)
                                }
                                Generator::Known { .. } => self.state.cell(body, *array, &data.params, ty),
                                Generator::Dyn { .. } => {
                                    let op = Op::SelDyn { array: *array, index: data.params[0] };
                                    self.state.emit(body, op, ty)
                                }
                            };
                            self.mask(g, *array);
                            g
                        }
                        _ => continue,
                    };
                    let guard = match is_singular && self.masked.contains(g) {
                        true => self.counts(body, g),
                        false => None,
                    };
                    inner.add(cell, Term { guard, ..Term::here(g) });
                }
            }
        }
        let before = self.state.func.regions[body].insts.clone();
        self.sweep(body, &data.insts, &mut inner)?;
        if joint && self.state.func.regions[body].insts.len() == before.len() && inner.is_empty() {
            return Ok(());
        }
        let level = self.level(body, LevelKind::Part(part.generator.clone()));
        let outward = inner.rest().into_iter().filter(|(v, _)| !self.state.is_made_in(*v, body)).collect();
        let outward = self.leave(at, level, outward)?;
        self.reduce(at, level, (inst, number), joint, outward, adjoints)
    }

    /// Whether derivatives in a body may be infinite where its values are not: by its own operations, or as factors that others have made.
    fn is_singular(&self, body: Region) -> bool {
        use ravel_types::UnOp;
        let func = &*self.state.func;
        let is_pole = |op: &Op| match op {
            Op::Un(op, _) => matches!(
                op,
                UnOp::Sqrt
                    | UnOp::Cbrt
                    | UnOp::Log
                    | UnOp::Log1p
                    | UnOp::Log2
                    | UnOp::Log10
                    | UnOp::Reciproc
                    | UnOp::Asin
                    | UnOp::Acos
                    | UnOp::Acosh
                    | UnOp::Atanh
                    | UnOp::Tan
                    | UnOp::Exp
                    | UnOp::Expm1
                    | UnOp::Cosh
                    | UnOp::Sinh
            ),
            Op::Bin(op, a, b) => {
                // A number that is not zero divides everything.
                let is_number = || self.state.defs.constant(func, *b).is_some() && !self.state.is_zero(*b);
                func.ty(*a).elem.is_float()
                    && (matches!(op, BinOp::Pow | BinOp::Mod) || *op == BinOp::Div && !is_number())
            }
            _ => false,
        };
        let has_pole = |region: Region| any_inst(func, region, |inst| is_pole(&func.insts[inst].op));
        has_pole(body)
            || any_inst(func, body, |inst| {
                let Op::Bin(BinOp::Mul, a, b) = &func.insts[inst].op else { return false };
                // A factor that is read from an array made by such operations.
                [a, b].into_iter().any(|v| {
                    let Some(Op::Sel { array, .. }) = self.state.defs.op(func, *v) else { return false };
                    match self.state.defs.op(func, *array) {
                        Some(Op::With(with)) => with.parts.iter().any(|part| has_pole(part.body)),
                        _ => false,
                    }
                })
            })
    }

    /// What is left of terms at the border of a body.
    fn leave(&mut self, at: Region, level: Level, outward: Vec<(Value, Vec<Term>)>) -> Result<Vec<(Value, Term)>> {
        let body = self.levels[level].region;
        let mut left = Vec::new();
        let mut stored = self.dear_to_several(level, &outward);
        let mut summed: Vec<(Value, Vec<Term>)> = Vec::new();
        for (v, terms) in outward {
            for term in terms {
                if term.levels.is_empty() {
                    left.push((v, term));
                    continue;
                }
                let needs = self.needs_of_body(body, &term);
                let dear: Vec<Value> = needs.into_iter().filter(|n| self.is_dear(level, &[*n])).collect();
                let is_array = dear.iter().any(|n| !self.state.ty(*n).is_scalar());
                let is_fixed = is_array && self.is_fixed_inside(level, &term);
                if is_fixed || dear.iter().any(|n| !self.can_store(level, *n)) {
                    match summed.iter_mut().find(|(of, _)| *of == v) {
                        Some((_, terms)) => terms.push(term),
                        None => summed.push((v, vec![term])),
                    }
                    continue;
                }
                for n in dear {
                    if !stored.contains(&n) {
                        stored.push(n);
                    }
                }
                left.push((v, term));
            }
        }
        for (v, terms) in summed {
            let sum = self.value(body, v, terms)?;
            left.push((v, Term::here(sum)));
        }
        self.store(at, level, &stored)?;
        for (_, term) in &mut left {
            term.levels.insert(0, level);
        }
        Ok(left)
    }

    /// Values that a body itself makes and that a term inside of it needs.
    pub fn needs_of_body(&self, body: Region, term: &Term) -> Vec<Value> {
        let mut needs: Vec<Value> = Vec::new();
        let mut wanted = term.needs();
        for level in term.levels.iter().rev() {
            wanted = self.reads_of_level(*level, &wanted, true);
        }
        let params = &self.state.func.regions[body].params;
        for v in wanted {
            if self.state.is_made_in(v, body) && !params.contains(&v) && !needs.contains(&v) {
                needs.push(v);
            }
        }
        needs
    }

    /// Whether indices of a term are the same for all indices of the body that it leaves.
    fn is_fixed_inside(&self, level: Level, term: &Term) -> bool {
        let levels: Vec<Level> = [level].into_iter().chain(term.levels.iter().copied()).collect();
        let needs = self.needs_by_level(&levels, term.index.values(), false);
        self.is_fixed(level, &needs[0])
    }

    /// Whether a value of a body can be kept in an array over its indices.
    pub fn can_store(&self, level: Level, v: Value) -> bool {
        let is_plain = matches!(&self.levels[level].kind, LevelKind::Part(Generator::Known { .. }));
        // Cells of an array have one shape.
        let first = self.state.own_syms.get(&self.levels[level].region).copied().unwrap_or(0);
        let ty = self.state.ty(v);
        let is_one = |extent: &ravel_types::Affine| extent.terms().iter().all(|(sym, _)| sym.0 < first);
        is_plain && ty.shape.extents().is_some_and(|extents| extents.iter().all(is_one))
    }

    /// Keeps values of a body in arrays over its indices.
    fn store(&mut self, at: Region, level: Level, values: &[Value]) -> Result<()> {
        let LevelKind::Part(generator) = self.levels[level].kind.clone() else { return Ok(()) };
        let Generator::Known { upper, .. } = &generator else { return Ok(()) };
        if values.is_empty() {
            return Ok(());
        }
        let upper = upper.clone();
        self.state.tell(self.state.span, format!("keeps {} for each index", amount(self.state.func, values)));
        let body = self.body_of(level, values);
        let mut ops = Vec::new();
        let mut types = Vec::new();
        for v in values {
            let ty = self.state.ty(*v);
            let cell = ty.is_scalar().then(Vec::new);
            ops.push(WithOp::Genarray { frame: Frame::Known(upper.clone()), cell, default: None });
            let mut extents = Vec::new();
            for u in &upper {
                extents.push(match self.state.defs.int(self.state.func, *u) {
                    Some(n) => ravel_types::Affine::constant(n.max(0)),
                    None => ravel_types::Affine::sym(self.state.func.fresh_sym()),
                });
            }
            for extent in ty.shape.extents().unwrap_or_default().to_vec() {
                extents.push(match extent.as_const() {
                    Some(n) => ravel_types::Affine::constant(n),
                    None => ravel_types::Affine::sym(self.state.func.fresh_sym()),
                });
            }
            types.push(Ty::new(ty.elem, ravel_types::Shape::Known(extents)));
        }
        let with = With { parts: vec![Part { generator, body }], ops, ordered: false };
        let arrays = self.state.emits(at, Op::With(with), types);
        self.levels[level].kept.extend(values.iter().copied().zip(arrays));
        Ok(())
    }

    /// A body of its own that yields values of a level.
    pub fn body_of(&mut self, level: Level, values: &[Value]) -> Region {
        let params = self.state.func.regions[self.levels[level].region].params.clone();
        let region = self.state.func.regions.push(RegionData::default());
        let mut copier = Copier::default();
        for p in params {
            let ty = self.state.ty(p);
            let new = self.state.func.add_param(region, ty);
            copier.values.insert(p, new);
        }
        self.state.settle(region);
        self.state.defs.add_region(self.state.func, region);
        self.replay(region, &mut copier, level, values);
        self.state.func.regions[region].yields = values.iter().map(|v| copier.value(*v)).collect();
        region
    }

    /// Sums over all indices of a body, as folds of one with-loop; other terms go on.
    fn reduce(
        &mut self,
        at: Region,
        level: Level,
        (inst, number): (Inst, usize),
        joint: bool,
        terms: Vec<(Value, Term)>,
        adjoints: &mut Adjoints,
    ) -> Result<()> {
        let mut sums: Vec<(Value, Term)> = Vec::new();
        for (v, term) in terms {
            let is_sum = term.levels.len() == 1
                && matches!(&term.index, Index::Known(index) if index.iter().all(|i| self.is_outside(level, *i)))
                && (joint || self.is_dear(level, &term.needs()));
            match is_sum {
                true => sums.push((v, term)),
                false => adjoints.add(v, term),
            }
        }
        if sums.is_empty() {
            return Ok(());
        }
        let body = self.levels[level].region;
        let LevelKind::Part(generator) = self.levels[level].kind.clone() else { return Ok(()) };
        let mut values = Vec::new();
        for (_, term) in &sums {
            values.push(self.guarded(body, term));
        }
        let mut ops = Vec::new();
        let mut types = Vec::new();
        let zero_at = if joint { self.state.branch() } else { at };
        for (v, term) in &sums {
            let from = term.index.values().len();
            let neutral = self.state.zeros_like(zero_at, *v, from);
            types.push(self.state.ty(neutral));
            ops.push(WithOp::Fold { neutral, combine: Combine::Op(BinOp::Add), stop: None });
        }
        let made = match joint {
            true => {
                // In front of the with-loop stand the zeros.
                let zeros = std::mem::take(&mut self.state.func.regions[zero_at].insts);
                let place = crate::edit::place_of(self.state.func, at, inst);
                for v in zeros.iter().flat_map(|i| self.state.func.insts[*i].results.clone()) {
                    self.state.home[v] = at.into();
                }
                self.state.func.regions[at].insts.splice(place..place, zeros);
                let Op::With(with) = &mut self.state.func.insts[inst].op else { return Ok(()) };
                with.ops.extend(ops);
                let part = with.parts[number].body;
                self.state.func.regions[part].yields.extend(values);
                let results: Vec<Value> = types.into_iter().map(|ty| self.state.func.new_value(ty)).collect();
                self.state.func.insts[inst].results.extend(results.iter().copied());
                self.state.defs.add_inst(self.state.func, inst);
                for v in &results {
                    self.state.home[*v] = at.into();
                }
                results
            }
            false => {
                let body = self.body_of(level, &values);
                let with = With { parts: vec![Part { generator, body }], ops, ordered: false };
                self.state.emits(at, Op::With(with), types)
            }
        };
        for ((v, term), sum) in sums.into_iter().zip(made) {
            if term.guard.is_some() || self.masked.contains(term.value) {
                self.masked.insert(sum);
            }
            let mut index = Vec::new();
            for i in term.index.values() {
                index.push(self.outside(at, level, *i));
            }
            adjoints.add(v, Term { index: Index::Known(index), ..Term::here(sum) });
        }
        Ok(())
    }

    /// Whether a value of a body is there outside of it, or a constant.
    fn is_outside(&self, level: Level, v: Value) -> bool {
        !self.state.is_made_in(v, self.levels[level].region) || self.state.defs.int(self.state.func, v).is_some()
    }

    fn outside(&mut self, at: Region, level: Level, v: Value) -> Value {
        match self.state.defs.int(self.state.func, v) {
            Some(k) if self.state.is_made_in(v, self.levels[level].region) => self.state.int(at, k),
            _ => v,
        }
    }

    /// The row that a partition replaces, unless it may replace several.
    fn row_of(&mut self, at: Region, g: Value, part: &Part) -> Option<Row> {
        let Generator::Known { lower, upper, step: None, width: None } = &part.generator else { return None };
        let rank = self.state.ty(g).rank()?;
        let axes: Vec<usize> = (0..lower.len()).filter(|k| !is_next(&self.state, lower[*k], upper[*k])).collect();
        if axes.len() == lower.len() || axes.is_empty() || rank != lower.len() {
            return None;
        }
        let extents = self.state.extents(at, g, 0);
        let fixed: Vec<Option<Value>> =
            lower.iter().enumerate().map(|(k, low)| (!axes.contains(&k)).then_some(*low)).collect();
        let value = self.state.box_of(at, g, &fixed, (lower, upper), &extents);
        Some(Row { value, axes })
    }

    /// The cotangent of an array that partitions of a with-loop have replaced cells of.
    fn zeroed(&mut self, at: Region, array: Value, g: Value, with: &With) -> Result<Value> {
        let ty = self.state.ty(array);
        let mut parts = Vec::new();
        for part in &with.parts {
            let region = self.state.branch();
            for p in self.state.func.regions[part.body].params.clone() {
                let ty = self.state.ty(p);
                self.state.func.add_param(region, ty);
            }
            self.state.settle(region);
            let from = match &part.generator {
                Generator::Known { lower, .. } => lower.len(),
                Generator::Dyn { .. } => return self.state.refuse("a modarray with-loop of unknown rank"),
            };
            let zero = self.state.zeros_like(region, array, from);
            self.state.func.regions[region].yields = vec![zero];
            parts.push(Part { generator: part.generator.clone(), body: region });
        }
        let with = With { parts, ops: vec![WithOp::Modarray { array: g }], ordered: false };
        Ok(self.state.emit(at, Op::With(with), ty))
    }

    /// The sum of a cotangent over what no partition covers.
    fn uncovered(&mut self, at: Region, default: Value, g: Value, frame: &Frame, with: &With) -> Result<Value> {
        let Frame::Known(frame) = frame else {
            return self.state.refuse("a default value of a with-loop of unknown rank");
        };
        let rest = self.zeroed(at, g, g, with)?;
        let ty = self.state.ty(default);
        let zero = self.state.int(at, 0);
        let region = self.state.branch();
        let index: Vec<Value> =
            frame.iter().map(|_| self.state.func.add_param(region, Ty::scalar(ravel_types::Elem::I32))).collect();
        self.state.settle(region);
        let cell = self.state.cell(region, rest, &index, ty.clone());
        self.state.func.regions[region].yields = vec![cell];
        let lower = vec![zero; frame.len()];
        let generator = Generator::Known { lower, upper: frame.clone(), step: None, width: None };
        let neutral = self.state.zeros_like(at, default, 0);
        let op = WithOp::Fold { neutral, combine: Combine::Op(BinOp::Add), stop: None };
        let with = With { parts: vec![Part { generator, body: region }], ops: vec![op], ordered: false };
        Ok(self.state.emit(at, Op::With(with), ty))
    }
}
