//! Folds: fold functions as scalar operations or regions, records split into independent folds, and loops for the rest.

use crate::assemble::cell_kind;
use crate::generator::IndexSet;
use crate::spec::{Frame, Spec};
use crate::value::{Kind, LeafShape, Sc, ScKind, ShapeKind, Val};
use crate::withloop::Body;
use ravel_core::ir::{self, FoldFun};
use ravel_types::{Basic, BinOp, Elem, Scalar};
use ravel_wir::{Combine, Inst, Op, Region, Value, WithOp, traverse};
use std::collections::HashSet;

/// Rounds of the fixed point over the accumulator's kind.
const MAX_ROUNDS: usize = 8;

impl<'p> Spec<'p> {
    /// Adds the fold of the cells of operation `k`; the kind of its result. Nothing if it needs a loop (or was wrong).
    #[expect(
        clippy::too_many_arguments,
        reason = "the operands of the operation and what the loop has gathered so far"
    )]
    pub fn fold(
        &mut self,
        k: usize,
        fun: &FoldFun,
        args: &[Val],
        neutral: &Val,
        stop: Option<&Val>,
        bodies: &mut [Body],
        yields: &mut [Vec<Value>],
        ops: &mut Vec<WithOp>,
    ) -> Option<Kind> {
        let mut cell = Kind::Bottom;
        for body in bodies.iter() {
            let found = self.em.visible_kind(&body.cells[k]).forget_values(false);
            cell = match cell.join(&found) {
                Some(kind) => kind,
                None => {
                    self.error("E0361", "the cells of a fold differ in type", "all cells have one type");
                    return None;
                }
            };
        }
        if matches!(cell, Kind::Bottom) {
            // No part at all: the neutral element, as a fold over nothing.
            cell = self.em.kind_of(neutral).forget_values(false);
        }
        let mut acc = self.em.visible_kind(neutral).forget_values(false);
        for _ in 0..MAX_ROUNDS {
            let (_, out, _) = self.combine(fun, args, &acc, &cell);
            let found = self.em.visible_kind(&out).forget_values(false);
            if found.has_bottom() {
                return None;
            }
            match acc.join(&found) {
                Some(joined) if joined == acc => break,
                Some(joined) => acc = joined,
                None => {
                    let a = crate::report::show_kind(self, &acc);
                    let b = crate::report::show_kind(self, &found);
                    self.error(
                        "E0368",
                        format!("the fold function gives {b} for an accumulator of {a}"),
                        "types differ",
                    );
                    return None;
                }
            }
        }
        let leaves = Self::leaves_of(&acc);
        if leaves.len() == 1 && Self::leaves_of(&cell).len() > 1 {
            cell = cell_kind(&cell);
        } else {
            cell = with_scalars_of(cell, &acc);
        }
        if leaves.len() == 1 && Self::leaves_of(&cell).len() == 1 {
            let (region, out, _) = self.combine(fun, args, &acc, &cell);
            let opened = self.em.reopen(region);
            let mut values = Vec::new();
            self.em.flatten(&out, &acc, &mut values);
            self.em.close(opened);
            self.em.set_yields(region, values);
            let combine = self.plain_operation(region).map_or(Combine::Region(region), Combine::Op);
            self.finish_fold(k, &acc, &cell, neutral, stop, vec![combine], bodies, yields, ops);
            return Some(acc);
        }
        let combines = self.split(fun, args, &acc, &cell)?;
        self.finish_fold(k, &acc, &cell, neutral, stop, combines, bodies, yields, ops);
        Some(acc)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the operands of the operation and what the loop has gathered so far"
    )]
    fn finish_fold(
        &mut self,
        k: usize,
        acc: &Kind,
        cell: &Kind,
        neutral: &Val,
        stop: Option<&Val>,
        combines: Vec<Combine>,
        bodies: &[Body],
        yields: &mut [Vec<Value>],
        ops: &mut Vec<WithOp>,
    ) {
        for (body, out) in bodies.iter().zip(yields) {
            let opened = self.em.reopen(body.region);
            self.em.flatten(&body.cells[k], cell, out);
            self.em.close(opened);
        }
        let mut neutrals = Vec::new();
        self.em.flatten(neutral, acc, &mut neutrals);
        let mut stops = Vec::new();
        if let Some(stop) = stop
            && combines.len() == 1
            && self.em.kind_of(stop).forget_values(false) == *acc
        {
            self.em.flatten(stop, acc, &mut stops);
        }
        for (i, combine) in combines.into_iter().enumerate() {
            ops.push(WithOp::Fold { neutral: neutrals[i], combine, stop: stops.get(i).copied() });
        }
    }

    /// The fold function applied to an accumulator and a cell, in a region whose parameters carry them.
    fn combine(&mut self, fun: &FoldFun, args: &[Val], acc: &Kind, cell: &Kind) -> (Region, Val, Vec<Value>) {
        let opened = self.em.open();
        let mut params = self.em.params_for(opened.region, &Self::leaves_of(acc));
        params.extend(self.em.params_for(opened.region, &Self::leaves_of(cell)));
        let mut values = params.clone().into_iter();
        let a = self.em.instantiate(acc, &mut values);
        let c = self.em.instantiate(cell, &mut values);
        let out = self.apply_fold(fun, args, a, c);
        let region = self.em.close(opened);
        (region, out, params)
    }

    fn apply_fold(&mut self, fun: &FoldFun, args: &[Val], acc: Val, cell: Val) -> Val {
        let mut argv = args.to_vec();
        argv.extend([acc, cell]);
        self.conditional += 1;
        let out = self.call_set(fun.set, argv, 1, fun.span).into_iter().next().unwrap_or(Val::Bottom);
        self.conditional -= 1;
        out
    }

    /// The scalar operation that a region consists of.
    fn plain_operation(&self, region: Region) -> Option<BinOp> {
        let func = &self.em.func;
        let data = &func.regions[region];
        let ([inst], [acc, cell]) = (data.insts.as_slice(), data.params.as_slice()) else {
            return None;
        };
        match func.insts[*inst].op {
            Op::Bin(op, a, b) if data.yields == func.insts[*inst].results => {
                let straight = a == *acc && b == *cell;
                let swapped = a == *cell && b == *acc && op.commutes();
                (straight || swapped).then_some(op)
            }
            _ => None,
        }
    }

    /// One fold function per leaf, if each leaf of the result depends only on its own accumulator and cell.
    fn split(&mut self, fun: &FoldFun, args: &[Val], acc: &Kind, cell: &Kind) -> Option<Vec<Combine>> {
        let leaves = Self::leaves_of(acc);
        if leaves != Self::leaves_of(cell) {
            return None;
        }
        let n = leaves.len();
        let mut combines = Vec::with_capacity(n);
        for i in 0..n {
            let (region, out, params) = self.combine(fun, args, acc, cell);
            let opened = self.em.reopen(region);
            let mut values = Vec::new();
            self.em.flatten(&out, acc, &mut values);
            self.em.close(opened);
            if self.region_has_io(&self.em.func, region) {
                return None;
            }
            let own = [params[i], params[n + i]];
            let foreign: HashSet<Value> = params.iter().copied().filter(|p| !own.contains(p)).collect();
            if !self.keep_slice(region, values[i], &foreign) {
                return None;
            }
            self.em.func.regions[region].params = own.to_vec();
            self.em.set_yields(region, vec![values[i]]);
            combines.push(self.plain_operation(region).map_or(Combine::Region(region), Combine::Op));
        }
        Some(combines)
    }

    /// Removes what `wanted` does not need from a region; false if it needs one of the `foreign` values.
    fn keep_slice(&mut self, region: Region, wanted: Value, foreign: &HashSet<Value>) -> bool {
        let mut needed: HashSet<Value> = HashSet::from([wanted]);
        let insts = self.em.func.regions[region].insts.clone();
        let mut kept: Vec<Inst> = Vec::new();
        for inst in insts.into_iter().rev() {
            let func = &self.em.func;
            let data = &func.insts[inst];
            let check = matches!(data.op, Op::Check { .. });
            if !check && !data.results.iter().any(|r| needed.contains(r)) {
                continue;
            }
            let mut uses = HashSet::new();
            data.op.for_each_operand(|v| {
                uses.insert(v);
            });
            for nested in data.op.regions() {
                uses.extend(traverse::free_values(func, nested));
            }
            needed.extend(uses);
            kept.push(inst);
        }
        kept.reverse();
        self.em.func.regions[region].insts = kept;
        !needed.iter().any(|v| foreign.contains(v))
    }

    /// A fold whose accumulator cannot be split: sequential loops over the index sets.
    #[expect(clippy::too_many_arguments, reason = "the operands of the operation")]
    pub fn fold_by_loop(
        &mut self,
        frame: &Frame,
        with: &ir::With,
        k: usize,
        fun: &FoldFun,
        args: &[Val],
        neutral: &Val,
        frame_shape: Option<&Val>,
    ) -> Val {
        self.fold_loops.insert(with.span);
        let mut inner = frame.fork();
        let mut acc = neutral.clone();
        for (i, part) in with.parts.iter().enumerate() {
            let Some(set) = self.index_set(&mut inner, part, frame_shape) else {
                return Val::Bottom;
            };
            let (total, counts) = self.counts(&set);
            let some = self.em.bin(BinOp::Gt, Basic::Int, &total, &Sc::int(0));
            let before = acc.clone();
            let result = self.branch(
                &some,
                |spec| {
                    vec![spec.loop_over(&total, before.clone(), &mut |spec, t, acc| {
                        let iv = spec.index_at(&set, &counts, t);
                        let taken = match &set {
                            IndexSet::Box(b) if b.step.is_none() => Sc::bool(true),
                            IndexSet::Dyn { step: None, .. } => Sc::bool(true),
                            strided => spec.covers(strided, &iv),
                        };
                        let kept = acc.clone();
                        let next = spec.branch(
                            &taken,
                            |spec| {
                                let cells = spec.part_cells(&inner, with, i, iv);
                                let cell = cells.into_iter().nth(k).unwrap_or(Val::Bottom);
                                vec![spec.apply_fold(fun, args, acc, cell)]
                            },
                            |_| vec![kept],
                        );
                        next.into_iter().next().unwrap_or(Val::Bottom)
                    })]
                },
                |_| vec![acc],
            );
            acc = result.into_iter().next().unwrap_or(Val::Bottom);
        }
        acc
    }

    /// Number of indices between the bounds of an index set, and per axis.
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
        let total =
            self.fold_vector(BinOp::Mul, Scalar::I32(1), Basic::Int, &n, |spec, i| spec.vector_element(&counts, i));
        (total, counts)
    }

    /// Index `t` of a set in row-major order, counting also the indices that its steps leave out.
    fn index_at(&mut self, set: &IndexSet, counts: &Val, t: Sc) -> Val {
        match (set, counts) {
            (IndexSet::Box(b), Val::Tup(_, counts)) => {
                let mut rest = t;
                let mut index = vec![Sc::int(0); counts.len()];
                for axis in (0..counts.len()).rev() {
                    let offset = self.em.bin(BinOp::Mod, Basic::Int, &rest, &counts[axis]);
                    rest = self.em.bin(BinOp::Div, Basic::Int, &rest, &counts[axis]);
                    index[axis] = self.em.add(&b.lower[axis], &offset);
                }
                Val::Tup(Basic::Int, index)
            }
            (IndexSet::Dyn { lower, .. }, _) => {
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
                    let from = spec.vector_element(lower, i);
                    spec.em.add(&from, &offset)
                })
            }
            // More axes than are held as scalars: the bounds are made vectors.
            (IndexSet::Box(b), _) => {
                let lower = Val::Arr(Basic::Int, self.em.vector(Basic::Int, &b.lower));
                let vectors = IndexSet::Dyn { upper: lower.clone(), lower, step: None, width: None };
                self.index_at(&vectors, counts, t)
            }
        }
    }

    /// `acc = step(t, acc)` for t in `0 .. n`, n at least 1.
    fn loop_over(&mut self, n: &Sc, init: Val, step: &mut dyn FnMut(&mut Self, Sc, Val) -> Val) -> Val {
        let mut kind = cell_kind_of_tuple(&self.em.visible_kind(&init).forget_values(false));
        self.conditional += 1;
        let mut found = None;
        for _ in 0..MAX_ROUNDS {
            let opened = self.em.open();
            let t = self.em.params_for(opened.region, &[(Elem::I32, LeafShape::Scalar)])[0];
            let params = self.em.params_for(opened.region, &Self::leaves_of(&kind));
            let acc = self.em.instantiate(&kind, &mut params.into_iter());
            let out = step(self, Sc::Val(t), acc);
            let next = self.em.add(&Sc::Val(t), &Sc::int(1));
            let again = self.em.bin(BinOp::Lt, Basic::Int, &next, n);
            let mut yields = vec![self.em.value(&again), self.em.value(&next)];
            let seen = self.em.visible_kind(&out).forget_values(false);
            let joined = kind.join(&seen);
            if joined.as_ref() == Some(&kind) {
                self.em.flatten(&out, &kind, &mut yields);
                let region = self.em.close(opened);
                self.em.set_yields(region, yields);
                found = Some(region);
                break;
            }
            self.em.close(opened);
            match joined {
                Some(joined) => kind = joined,
                None => break,
            }
        }
        self.conditional -= 1;
        let Some(region) = found else {
            return Val::Bottom;
        };
        let mut start = vec![self.em.value(&Sc::int(0))];
        self.em.flatten(&init, &kind, &mut start);
        let mut leaves = vec![(Elem::I32, LeafShape::Scalar)];
        leaves.extend(Self::leaves_of(&kind));
        let results = self.em.inst_leaves(Op::Loop { init: start, body: region }, &leaves);
        self.em.instantiate(&kind, &mut results.into_iter().skip(1))
    }
}

/// The kind of a cell, with short vectors held as scalars where the accumulator's are, so that each element has a fold of its own.
fn with_scalars_of(cell: Kind, acc: &Kind) -> Kind {
    match (cell, acc) {
        (Kind::Arr(b, ShapeKind::Known(shape)), Kind::Tup(_, scalars)) if matches!(shape.as_slice(), [Some(n)] if n.as_const() == i32::try_from(scalars.len()).ok()) => {
            Kind::Tup(b, vec![ScKind::Any; scalars.len()])
        }
        (Kind::Wrapped(u, k), Kind::Wrapped(_, a)) => Kind::Wrapped(u, Box::new(with_scalars_of(*k, a))),
        (Kind::Struct(s, ks), Kind::Struct(_, accs)) => {
            Kind::Struct(s, ks.into_iter().zip(accs).map(|(k, a)| with_scalars_of(k, a)).collect())
        }
        (cell, _) => cell,
    }
}

/// Accumulators keep tuples as scalars; everything else is stored like a cell.
fn cell_kind_of_tuple(kind: &Kind) -> Kind {
    match kind {
        Kind::Tup(..) => kind.clone(),
        Kind::Wrapped(u, k) => Kind::Wrapped(*u, Box::new(cell_kind_of_tuple(k))),
        Kind::Struct(s, ks) => Kind::Struct(*s, ks.iter().map(cell_kind_of_tuple).collect()),
        other => cell_kind(other),
    }
}
