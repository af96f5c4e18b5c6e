//! With-loops that hand something on from one index to the next, as loops: row-major, part after part.
//!
//! ```text
//! a, c = with { ([0] <= iv < [n]) { next(c); } : (f(iv), c); } : (genarray([n], 0), propagate(c))
//! =>  a = zeros;  for each iv { c = next(c);  a[iv] = f(iv); }
//! ```
//!
//! These are states that `propagate` hands on and that a part changes, folds that end at a fixpoint (`foldfix`), and folds whose function
//! combines several values or arrays whose shape changes.

use crate::check::coded;
use crate::spec::{Frame, Spec};
use crate::value::{Kind, LeafShape, Sc, ShapeKind, Val};
use crate::withloops::assemble::cell_kind;
use crate::withloops::fold::{MAX_ROUNDS, kind_in_loops};
use crate::withloops::generator::{IndexBox, IndexSet};
use crate::withloops::pieces::Among;
use crate::withloops::select::IndexVector;
use crate::withloops::withloop::Operation;
use ravel_core::ir;
use ravel_diagnostics::Code;
use ravel_types::{Basic, BinOp, Elem, Scalar, Ty};
use ravel_wir::{Combine, Op, Part, With, WithOp};

/// Why a with-loop is a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carried {
    /// A fold of several values, or of arrays whose shape changes.
    Fold,
    /// The same with a function that may regroup.
    Pieces,
    /// A fold that ends at a fixpoint.
    FixPoint,
    /// `propagate`.
    State,
}

/// A with-loop whose operands are evaluated: what it makes, and at which indices.
#[derive(Clone, Copy)]
pub struct Evaluated<'l> {
    pub frame: &'l Frame,
    pub with: &'l ir::With,
    pub operations: &'l [Operation<'l>],
    /// By part.
    pub sets: &'l [IndexSet],
    /// Extents that bound the index, if there is an array.
    pub frame_shape: Option<&'l Val>,
}

/// From an index and values to the next values.
type Step<'s, 'p> = dyn FnMut(&mut Spec<'p>, Val, Vec<Val>) -> Vec<Val> + 's;
/// From the counter and values to the next values, the next counter, and whether the loop goes on.
type Iteration<'s, 'p> = dyn FnMut(&mut Spec<'p>, &Sc, Vec<Val>) -> (Vec<Val>, Sc, Sc) + 's;

/// What happens at an index, and whether the loop is over before it has seen all of them.
struct Walk<'w, 'p> {
    step: &'w mut Step<'w, 'p>,
    ended: &'w mut dyn FnMut(&mut Spec<'p>, &[Val]) -> Sc,
    /// Extents that bound the index, if there is an array.
    frame_shape: Option<&'w Val>,
}

impl<'p> Spec<'p> {
    /// Whether a part changes a state that `propagate` hands on. Handles of the runtime stay what they are.
    pub fn state_changes(&mut self, all: Evaluated<'_>) -> bool {
        (0..all.sets.len()).any(|part| {
            let cells = self.probe(all, part);
            all.operations.iter().zip(&cells).any(|(operation, cell)| match operation {
                Operation::Propagate { state, .. } => !is_same(state, cell),
                _ => false,
            })
        })
    }

    /// The cells of a part, in a region that is thrown away.
    fn probe(&mut self, all: Evaluated<'_>, part: usize) -> Vec<Val> {
        self.conditional += 1;
        let opened = self.em.open();
        let iv = self.index_params(opened.region, &all.sets[part], all.frame_shape);
        let cells = self.part_cells(all.frame, all.with, part, iv);
        self.em.close(opened);
        self.conditional -= 1;
        cells
    }

    /// The results of the operations, or of operation `only` alone, one index after the other.
    pub fn in_order(&mut self, all: Evaluated<'_>, only: Option<usize>) -> Vec<Val> {
        let Evaluated { with, operations, sets, frame_shape, .. } = all;
        let kept: Vec<usize> = (0..operations.len()).filter(|k| only.is_none_or(|only| only == *k)).collect();
        let mut why = |k: &usize| match &operations[*k] {
            Operation::Propagate { .. } => Some(Carried::State),
            Operation::Fold { stop: Some(_), .. } => Some(Carried::FixPoint),
            Operation::Fold { fun, args, neutral, .. } if self.in_bodies == 0 && self.regroups(fun, args, neutral) => {
                Some(Carried::Pieces)
            }
            Operation::Fold { .. } => Some(Carried::Fold),
            _ => None,
        };
        if let Some(why) = kept.iter().filter_map(&mut why).max() {
            self.fold_loops.insert(with.span, why);
        }
        let mut accs = Vec::with_capacity(kept.len());
        for k in &kept {
            let first = match &operations[*k] {
                Operation::Modarray { array } => array.clone(),
                Operation::Fold { neutral, .. } => neutral.clone(),
                Operation::Propagate { state, .. } => state.clone(),
                Operation::Genarray { shape, default } => self.filled_array(all, *k, (shape, default.as_ref())),
            };
            accs.push(first);
        }
        if accs.iter().any(|acc| matches!(acc, Val::Bottom)) {
            return accs;
        }
        // Of parts that overlap the first one makes the elements.
        let overlay = operations.iter().any(|op| matches!(op, Operation::Genarray { .. } | Operation::Modarray { .. }));
        for (i, set) in sets.iter().enumerate() {
            let mut step = |spec: &mut Spec<'p>, iv: Val, accs: Vec<Val>| {
                let mut hidden = Sc::bool(false);
                for earlier in sets[..i].iter().filter(|_| overlay) {
                    let covered = spec.covers(earlier, &iv);
                    hidden = spec.em.or(&hidden, &covered);
                }
                let taken = accs.clone();
                spec.branch(&hidden, |_| accs, |spec| spec.one_index(all, (i, iv), &kept, taken))
            };
            let mut ended = |spec: &mut Spec<'p>, accs: &[Val]| match &operations[kept[0]] {
                Operation::Fold { stop: Some(stop), .. } if kept.len() == 1 => spec.same_value(&accs[0], stop),
                _ => Sc::bool(false),
            };
            let mut walk = Walk { step: &mut step, ended: &mut ended, frame_shape };
            accs = match (set, kept.as_slice()) {
                (IndexSet::Box(b), [k])
                    if let Operation::Fold { fun, args, neutral, stop: None } = &operations[*k]
                        && self.regroups(fun, args, neutral) =>
                {
                    let acc = accs.swap_remove(0);
                    let one = |accs: Vec<Val>| accs.into_iter().next().unwrap_or(Val::Bottom);
                    let mut indices = |spec: &mut Spec<'p>, among: Among<'_>, acc: Val| match among {
                        Among::All(set) => one(spec.each_index(set, vec![acc], &mut walk)),
                        Among::Piece { b, start, len } => one(spec.each_of_piece(b, start, len, acc, &mut walk)),
                    };
                    vec![self.in_pieces((fun, args), b, acc, neutral, &mut indices)]
                }
                _ => self.each_index(set, accs, &mut walk),
            };
        }
        accs
    }

    /// What the operations have after an index of part `i`.
    fn one_index(
        &mut self,
        Evaluated { frame, with, operations, .. }: Evaluated<'_>,
        (part, iv): (usize, Val),
        kept: &[usize],
        mut accs: Vec<Val>,
    ) -> Vec<Val> {
        let mut inner = frame.fork();
        for (k, acc) in kept.iter().zip(&accs) {
            if let Operation::Propagate { slot: Some(slot), .. } = &operations[*k] {
                inner.env[slot.index()] = Some(acc.clone());
            }
        }
        let cells = self.part_cells(&inner, with, part, iv.clone());
        self.at(with.span);
        for (k, acc) in kept.iter().zip(&mut accs) {
            let Some(cell) = cells.get(*k).cloned() else { continue };
            let old = std::mem::replace(acc, Val::Bottom);
            *acc = match &operations[*k] {
                _ if matches!(cell, Val::Bottom) => Val::Bottom,
                Operation::Propagate { .. } => cell,
                Operation::Genarray { .. } | Operation::Modarray { .. } => self.put_cell(&old, &iv, cell),
                Operation::Fold { fun, args, stop: Some(stop), .. } if kept.len() > 1 => {
                    let done = self.same_value(&old, stop);
                    let last = old.clone();
                    let next = self.branch(&done, |_| vec![last], |spec| vec![spec.apply_fold(fun, args, old, cell)]);
                    next.into_iter().next().unwrap_or(Val::Bottom)
                }
                Operation::Fold { fun, args, .. } => self.apply_fold(fun, args, old, cell),
            };
        }
        accs
    }

    fn put_cell(&mut self, array: &Val, iv: &Val, cell: Val) -> Val {
        let index = match iv {
            Val::Tup(_, scalars) => IndexVector::Scalars(scalars.clone()),
            Val::Arr(_, vector) => IndexVector::Dyn(*vector),
            _ => return Val::Bottom,
        };
        let cell = match (&index, self.outer_shape(array)) {
            (IndexVector::Scalars(index), Some(shape)) if index.len() <= shape.len() => {
                match self.fit_cell(&shape[index.len()..], &cell, "the cells of a with-loop") {
                    Some(cell) => cell,
                    None => return Val::Bottom,
                }
            }
            _ => cell,
        };
        self.update(array, &index, &cell)
    }

    /// The array of a genarray before the first index.
    fn filled_array(&mut self, all: Evaluated<'_>, k: usize, (shape, default): (&Val, Option<&Val>)) -> Val {
        let (mut shape, mut cell) = (shape.clone(), default.cloned());
        if cell.is_none()
            && let Some(set) = all.sets.first()
        {
            let found = self.probe(all, 0).into_iter().nth(k).unwrap_or(Val::Bottom);
            self.repeats.again();
            let kind = cell_kind(&self.em.visible_kind(&found).forget_values(false));
            if !is_whole(&kind) {
                self.error(
                    Code::UnknownCells,
                    "a with-loop that takes one index after the other has cells whose shape is not known before the first index",
                    "give genarray a default: `genarray(shape, default)`",
                );
                return Val::Bottom;
            }
            cell = Some(self.zero_of_kind(&kind));
            // The axes of the cells may be part of the shape.
            if let (Val::Tup(_, extents), IndexSet::Box(b)) = (&mut shape, set) {
                extents.truncate(b.rank());
            }
        }
        self.array_of(&shape, cell.as_ref())
    }

    /// Calls the step for every index of a set.
    fn each_index(&mut self, set: &IndexSet, accs: Vec<Val>, walk: &mut Walk<'_, 'p>) -> Vec<Val> {
        let mut some = (walk.ended)(self, &accs);
        some = self.not(&some);
        let before = accs.clone();
        match set {
            IndexSet::Box(b) => {
                for axis in 0..b.rank() {
                    let filled = self.em.bin(BinOp::Lt, Basic::Int, &b.lower[axis], &b.upper[axis]);
                    some = self.em.and(&some, &filled);
                }
                self.branch(&some, |spec| spec.each_of_axis(b, Vec::new(), accs, walk), |_| before)
            }
            IndexSet::Dyn { step, .. } => {
                let (total, counts) = self.counts(set);
                let filled = self.em.bin(BinOp::Gt, Basic::Int, &total, &Sc::int(0));
                some = self.em.and(&some, &filled);
                let run = |spec: &mut Self| {
                    spec.carry(&Sc::int(0), accs, &mut |spec, t, accs| {
                        let iv = spec.index_at(set, &counts, t.clone());
                        let taken = if step.is_some() { spec.covers(set, &iv) } else { Sc::bool(true) };
                        let left = accs.clone();
                        let accs = spec.branch(&taken, |spec| (walk.step)(spec, iv, accs), |_| left);
                        let next = spec.em.add(t, &Sc::int(1));
                        let again = spec.em.bin(BinOp::Lt, Basic::Int, &next, &total);
                        let again = spec.unless_ended(again, &accs, walk);
                        (accs, next, again)
                    })
                };
                self.branch(&some, run, |_| before)
            }
        }
    }

    /// The indices of `b` whose first component is one of `len` from `start` on. There are some, as many for any `start`.
    fn each_of_piece(&mut self, b: &IndexBox, start: &Sc, len: &Sc, acc: Val, walk: &mut Walk<'_, 'p>) -> Vec<Val> {
        let mut piece = b.clone();
        (piece.lower[0], piece.upper[0]) = (Sc::int(0), len.clone());
        let shape = walk.frame_shape;
        let mut step = |spec: &mut Self, iv: Val, accs: Vec<Val>| {
            let Val::Tup(basic, mut index) = iv else { return accs };
            index[0] = spec.em.add(start, &index[0]);
            if let Sc::Val(v) = index[0] {
                spec.set_index_facts(v, b, 0, shape);
            }
            (walk.step)(spec, Val::Tup(basic, index), accs)
        };
        let mut inner = Walk { step: &mut step, ended: &mut *walk.ended, frame_shape: None };
        self.each_of_axis(&piece, Vec::new(), vec![acc], &mut inner)
    }

    fn unless_ended(&mut self, again: Sc, accs: &[Val], walk: &mut Walk<'_, 'p>) -> Sc {
        let ended = (walk.ended)(self, accs);
        let on = self.not(&ended);
        self.em.and(&again, &on)
    }

    /// The loops over the axes behind those of `index`; none of the axes is empty.
    fn each_of_axis(&mut self, b: &IndexBox, index: Vec<Sc>, accs: Vec<Val>, walk: &mut Walk<'_, 'p>) -> Vec<Val> {
        let axis = index.len();
        if axis == b.rank() {
            return (walk.step)(self, Val::Tup(Basic::Int, index), accs);
        }
        let (lower, upper) = (b.lower[axis].clone(), b.upper[axis].clone());
        let Some(step) = b.step.as_ref().map(|step| step[axis].clone()) else {
            return self.carry(&lower, accs, &mut |spec, i, accs| {
                if let Sc::Val(v) = i {
                    spec.set_index_facts(*v, b, axis, walk.frame_shape);
                }
                let mut inner = index.clone();
                inner.push(i.clone());
                let accs = spec.each_of_axis(b, inner, accs, walk);
                let next = spec.em.add(i, &Sc::int(1));
                let again = spec.em.bin(BinOp::Lt, Basic::Int, &next, &upper);
                let again = spec.unless_ended(again, &accs, walk);
                (accs, next, again)
            });
        };
        let width = b.width.as_ref().map_or(Sc::int(1), |width| width[axis].clone());
        self.carry(&lower, accs, &mut |spec, i, accs| {
            if let Sc::Val(v) = i {
                spec.set_index_facts(*v, b, axis, walk.frame_shape);
            }
            let accs = spec.carry(&Sc::int(0), accs, &mut |spec, w, accs| {
                let at = spec.em.add(i, w);
                if let Sc::Val(v) = at {
                    spec.set_index_facts(v, b, axis, walk.frame_shape);
                }
                let mut inner = index.clone();
                inner.push(at.clone());
                let accs = spec.each_of_axis(b, inner, accs, walk);
                let next = spec.em.add(w, &Sc::int(1));
                let wide = spec.em.bin(BinOp::Lt, Basic::Int, &next, &width);
                // The index lies below the bound, so that the one behind it is no larger than that.
                let behind = spec.em.add(&at, &Sc::int(1));
                let within = spec.em.bin(BinOp::Lt, Basic::Int, &behind, &upper);
                let again = spec.em.and(&wide, &within);
                let again = spec.unless_ended(again, &accs, walk);
                (accs, next, again)
            });
            let again = spec.is_further(i, &upper, &step);
            let again = spec.unless_ended(again, &accs, walk);
            (accs, spec.em.add(i, &step), again)
        })
    }

    /// Whether the index `i` lies more than a step below the bound, in differences that do not wrap.
    fn is_further(&mut self, i: &Sc, upper: &Sc, step: &Sc) -> Sc {
        let distance = self.em.sub(upper, i);
        let near = self.em.bin(BinOp::Gt, Basic::Int, &distance, step);
        if self.em.range(i).0 >= 0 {
            return near;
        }
        // Of two numbers with one sign the difference fits; a bound that is not negative less a step fits, too.
        let last = self.em.sub(upper, step);
        let far = self.em.bin(BinOp::Lt, Basic::Int, i, &last);
        let positive = self.em.bin(BinOp::Ge, Basic::Int, upper, &Sc::int(0));
        self.choose_scalar(&positive, Basic::Bool, &far, &near)
    }

    /// A loop that runs at least once: `body` gives what the values become, the next counter and whether it goes on.
    pub fn carry(&mut self, first: &Sc, init: Vec<Val>, body: &mut Iteration<'_, 'p>) -> Vec<Val> {
        let mut kinds: Vec<Kind> =
            init.iter().map(|v| kind_in_loops(&self.em.visible_kind(v).forget_values(false))).collect();
        self.conditional += 1;
        let mut found = None;
        let around = self.repeats.begin();
        for _ in 0..MAX_ROUNDS {
            let opened = self.em.open();
            let counter = self.em.params_for(opened.region, &[(Elem::I32, LeafShape::Scalar)])[0];
            let mut accs = Vec::with_capacity(kinds.len());
            for kind in &kinds {
                let params = self.em.params_for(opened.region, &Self::leaves_of(kind));
                accs.push(self.em.instantiate(kind, &mut params.into_iter()));
            }
            let (out, next, again) = body(self, &Sc::Val(counter), accs);
            let mut yields = vec![self.em.value(&again), self.em.value(&next)];
            let joined: Option<Vec<Kind>> = kinds
                .iter()
                .zip(&out)
                .map(|(kind, v)| kind.join(&self.em.visible_kind(v).forget_values(false)))
                .collect();
            if joined.as_ref() == Some(&kinds) {
                for (v, kind) in out.iter().zip(&kinds) {
                    self.em.flatten(v, kind, &mut yields);
                }
                let region = self.em.close(opened);
                self.em.set_yields(region, yields);
                found = Some(region);
                break;
            }
            if joined.is_none() && out.iter().all(|v| !matches!(v, Val::Bottom)) {
                self.error(
                    Code::CellTypesDiffer,
                    "what a with-loop hands on from index to index changes its type",
                    "types differ",
                );
            }
            self.em.close(opened);
            match joined {
                Some(joined) => kinds = joined,
                None => break,
            }
            self.repeats.again();
        }
        self.repeats.end(around);
        self.conditional -= 1;
        let Some(region) = found else {
            return vec![Val::Bottom; init.len()];
        };
        let mut start = vec![self.em.value(first)];
        let mut leaves = vec![(Elem::I32, LeafShape::Scalar)];
        for (v, kind) in init.iter().zip(&kinds) {
            self.em.flatten(v, kind, &mut start);
            leaves.extend(Self::leaves_of(kind));
        }
        let results = self.em.inst_leaves(Op::Loop { init: start, body: region }, &leaves);
        let mut results = results.into_iter().skip(1);
        kinds.iter().map(|kind| self.em.instantiate(kind, &mut results)).collect()
    }

    /// Number of indices between the bounds of an index set whose rank is unknown, and per axis.
    fn counts(&mut self, set: &IndexSet) -> (Sc, Val) {
        let (lower, upper) = match set {
            IndexSet::Box(b) => (Val::Tup(Basic::Int, b.lower.clone()), Val::Tup(Basic::Int, b.upper.clone())),
            IndexSet::Dyn { lower, upper, .. } => (lower.clone(), upper.clone()),
        };
        let n = self.vector_length(&upper);
        let counts = self.make_vector(Basic::Int, &n, |spec, i| {
            let (l, u) = (spec.vector_element(&lower, i), spec.vector_element(&upper, i));
            let extent = spec.em.sub(&u, &l);
            spec.em.bin(BinOp::Max, Basic::Int, &extent, &Sc::int(0))
        });
        // Reals do not wrap, neither between the bounds nor in the product; up to here they are exact.
        let real = self.fold_vector(BinOp::Mul, Scalar::F64(1.0), Basic::Double, &n, |spec, i| {
            let (l, u) = (spec.vector_element(&lower, i), spec.vector_element(&upper, i));
            let (l, u) = (spec.convert(Basic::Int, Basic::Double, &l), spec.convert(Basic::Int, Basic::Double, &u));
            let extent = spec.em.bin(BinOp::Sub, Basic::Double, &u, &l);
            spec.em.bin(BinOp::Max, Basic::Double, &extent, &Sc::Const(Scalar::F64(0.0)))
        });
        let most = Sc::Const(Scalar::F64(f64::from(i32::MAX)));
        let few = self.em.bin(BinOp::Le, Basic::Double, &real, &most);
        let text = "a generator has more than 2147483647 indices";
        self.emit_check(&few, coded(Code::BadGenerator, text, Vec::new()));
        let total =
            self.fold_vector(BinOp::Mul, Scalar::I32(1), Basic::Int, &n, |spec, i| spec.vector_element(&counts, i));
        (total, counts)
    }

    /// Index `t` of a set of unknown rank in row-major order, counting also the indices that its steps leave out.
    fn index_at(&mut self, set: &IndexSet, counts: &Val, t: Sc) -> Val {
        let lower = match set {
            IndexSet::Box(b) => Val::Tup(Basic::Int, b.lower.clone()),
            IndexSet::Dyn { lower, .. } => lower.clone(),
        };
        let n = self.vector_length(counts);
        self.make_vector(Basic::Int, &n, |spec, i| {
            let stride = spec.fold_vector(BinOp::Mul, Scalar::I32(1), Basic::Int, &n, |spec, j| {
                let inner = spec.em.bin(BinOp::Gt, Basic::Int, j, i);
                let count = spec.vector_element(counts, j);
                spec.choose_scalar(&inner, Basic::Int, &count, &Sc::int(1))
            });
            let steps = spec.em.bin(BinOp::Div, Basic::Int, &t, &stride);
            let count = spec.vector_element(counts, i);
            let offset = spec.em.bin(BinOp::Mod, Basic::Int, &steps, &count);
            let from = spec.vector_element(&lower, i);
            spec.em.add(&from, &offset)
        })
    }

    fn not(&mut self, s: &Sc) -> Sc {
        match s.as_bool() {
            Some(b) => Sc::bool(!b),
            None => self.em.bin(BinOp::Xor, Basic::Bool, s, &Sc::bool(true)),
        }
    }

    /// Whether two values have the same shape and elements.
    pub fn same_value(&mut self, a: &Val, b: &Val) -> Sc {
        match (a, b) {
            (Val::Sc(x, s), Val::Sc(y, t)) if x == y => self.em.bin(BinOp::Eq, *x, s, t),
            (Val::Wrapped(u, a), Val::Wrapped(v, b)) if u == v => self.same_value(a, b),
            (Val::Struct(s, xs), Val::Struct(t, ys)) if s == t => {
                let mut all = Sc::bool(true);
                for (x, y) in xs.iter().zip(ys) {
                    let same = self.same_value(x, y);
                    all = self.em.and(&all, &same);
                }
                all
            }
            (Val::Handle(_, x), Val::Handle(_, y)) => Sc::bool(x == y),
            (Val::Sc(x, _) | Val::Tup(x, _) | Val::Arr(x, _), Val::Sc(y, _) | Val::Tup(y, _) | Val::Arr(y, _))
                if x == y =>
            {
                let ranks = (self.outer_rank(a), self.outer_rank(b));
                if matches!(ranks, (Some(x), Some(y)) if x != y) {
                    return Sc::bool(false);
                }
                let (shape, other) = (self.shape_vector(a), self.shape_vector(b));
                let fits = self.vectors_equal(&shape, &other);
                let same = self.branch(
                    &fits,
                    |spec| vec![Val::Sc(Basic::Bool, spec.same_elements(*x, &shape, a, b))],
                    |_| vec![Val::Sc(Basic::Bool, Sc::bool(false))],
                );
                match same.into_iter().next() {
                    Some(Val::Sc(_, same)) => same,
                    _ => Sc::bool(false),
                }
            }
            _ => Sc::bool(false),
        }
    }

    /// Whether two arrays of one shape have the same elements.
    fn same_elements(&mut self, basic: Basic, shape: &Val, a: &Val, b: &Val) -> Sc {
        let set = match shape {
            Val::Tup(_, extents) => IndexSet::Box(IndexBox {
                lower: vec![Sc::int(0); extents.len()],
                upper: extents.clone(),
                step: None,
                width: None,
            }),
            other => {
                let n = self.vector_length(other);
                let lower = self.make_vector(Basic::Int, &n, |_, _| Sc::int(0));
                let lower = Val::Arr(Basic::Int, self.em.boxed(&lower).expect("a vector is an array"));
                IndexSet::Dyn { lower, upper: other.clone(), step: None, width: None }
            }
        };
        let opened = self.em.open();
        let iv = self.index_params(opened.region, &set, Some(shape));
        let mut scalars = Vec::new();
        for v in [a, b] {
            let index = match &iv {
                Val::Tup(_, scalars) => IndexVector::Scalars(scalars.clone()),
                Val::Arr(_, vector) => IndexVector::Dyn(*vector),
                _ => IndexVector::Scalars(Vec::new()),
            };
            if let Val::Sc(_, s) = self.select(&index, v, true) {
                scalars.push(s);
            }
        }
        let same = match scalars.as_slice() {
            [x, y] => self.em.bin(BinOp::Eq, basic, x, y),
            _ => Sc::bool(false),
        };
        let same = self.em.value(&same);
        self.em.set_yields(opened.region, vec![same]);
        let body = self.em.close(opened);
        let neutral = self.em.constant(Scalar::Bool(true));
        let generator = self.wir_generator(&set);
        let with = With {
            parts: vec![Part { generator, body }],
            ops: vec![WithOp::Fold { neutral, combine: Combine::Op(BinOp::And), stop: None }],
            ordered: false,
        };
        Sc::Val(self.em.inst1(Op::With(with), Ty::scalar(Elem::Bool)))
    }
}

/// Whether two values are one and the same.
fn is_same(a: &Val, b: &Val) -> bool {
    match (a, b) {
        (Val::Bottom, _) | (_, Val::Bottom) => true,
        (Val::Sc(x, s), Val::Sc(y, t)) => x == y && s == t,
        (Val::Tup(x, s), Val::Tup(y, t)) => x == y && s == t,
        (Val::Arr(x, v), Val::Arr(y, w)) => x == y && v == w,
        (Val::Handle(x, v), Val::Handle(y, w)) => x == y && v == w,
        (Val::Wrapped(x, v), Val::Wrapped(y, w)) => x == y && is_same(v, w),
        (Val::Struct(x, vs), Val::Struct(y, ws)) => x == y && vs.iter().zip(ws).all(|(v, w)| is_same(v, w)),
        _ => false,
    }
}

/// Whether every shape is known.
pub fn is_whole(kind: &Kind) -> bool {
    match kind {
        Kind::Arr(_, ShapeKind::Known(extents)) => extents.iter().all(Option::is_some),
        Kind::Arr(_, ShapeKind::Unknown) => false,
        Kind::Wrapped(_, kind) => is_whole(kind),
        Kind::Struct(_, kinds) => kinds.iter().all(is_whole),
        _ => true,
    }
}
