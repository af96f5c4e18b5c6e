//! Folds by functions that may regroup (`#pragma associative`), in pieces: a with-loop folds each piece on its own, a loop their results.
//!
//! ```text
//! with { ([0] <= iv < [n]) : f(iv); } : fold(merge, none)
//! =>  parts = with { ([0] <= [c] < [n / len]) : fold of f(iv) for c*len <= iv < (c+1)*len; } : genarray([n / len])
//!     for each c: acc = merge(acc, parts[c])
//!     and the rest, index by index
//! ```
//!
//! All pieces have as many indices, so that they run in lanes.
//! Pieces depend on the index set alone, so that results are the same for any number of threads and on any backend.

use crate::spec::Spec;
use crate::value::{Sc, Val};
use crate::withloops::fold::kind_in_loops;
use crate::withloops::generator::{IndexBox, IndexSet};
use crate::withloops::in_order::is_whole;
use crate::withloops::select::IndexVector;
use crate::withloops::withloop::Body;
use ravel_core::ir::FoldFun;
use ravel_types::{Basic, BinOp};
use ravel_wir::{Op, Part, With};

/// A piece has at least so many indices, unless one index of the first axis has more already.
const PIECE: i32 = 1024;

/// Index sets with fewer indices are one loop.
const WORTH: i32 = 4 * PIECE;

/// There are about so many pieces at most: a few for each thread, and few partial results to join.
const MOST: i32 = 512;

/// Indices that a fold goes through one after the other.
pub enum Among<'a> {
    All(&'a IndexSet),
    /// Those whose first component is one of `len` from `start` on; none of the axes is empty.
    Piece {
        b: &'a IndexBox,
        start: &'a Sc,
        len: &'a Sc,
    },
}

/// The accumulator of a fold after some indices.
type Indices<'w, 'p> = &'w mut dyn FnMut(&mut Spec<'p>, Among<'_>, Val) -> Val;

impl<'p> Spec<'p> {
    /// Whether a fold may regroup: all functions that take its accumulator and a cell say so.
    pub fn regroups(&mut self, fun: &FoldFun, args: &[Val], neutral: &Val) -> bool {
        let mut argv = args.to_vec();
        argv.extend([neutral.clone(), neutral.clone()]);
        let members = self.program.sets[fun.set.index()].members.clone();
        let mut all = false;
        for id in members {
            if self.takes(id, &argv) {
                if !self.fun(id).associative {
                    return false;
                }
                all = true;
            }
        }
        all
    }

    /// The fold over `b` in pieces, if it is worth it: not in the body of another with-loop, whose indices are parallel already.
    pub fn in_pieces(
        &mut self,
        (fun, args): (&FoldFun, &[Val]),
        b: &IndexBox,
        acc: Val,
        neutral: &Val,
        indices: Indices<'_, 'p>,
    ) -> Val {
        let whole = IndexSet::Box(b.clone());
        if self.in_bodies > 0 || b.rank() == 0 || !self.keeps_its_shape(&whole, neutral, indices) {
            return indices(self, Among::All(&whole), acc);
        }
        let mut inner = Sc::int(1);
        for axis in 1..b.rank() {
            let extent = self.extent_of(b, axis);
            let some = self.em.bin(BinOp::Min, Basic::Int, &extent, &Sc::int(PIECE));
            inner = self.em.bin(BinOp::Mul, Basic::Int, &inner, &some);
            inner = self.em.bin(BinOp::Min, Basic::Int, &inner, &Sc::int(PIECE));
        }
        let outer = self.extent_of(b, 0);
        let some = self.em.bin(BinOp::Min, Basic::Int, &outer, &Sc::int(WORTH));
        let total = self.em.bin(BinOp::Mul, Basic::Int, &some, &inner);
        let worth = self.em.bin(BinOp::Ge, Basic::Int, &total, &Sc::int(WORTH));
        let several = self.em.bin(BinOp::Gt, Basic::Int, &outer, &Sc::int(1));
        let mut worth = self.em.and(&worth, &several);
        if let Some(step) = &b.step {
            // A piece of whole steps has a place among the indices.
            let half = self.em.bin(BinOp::Div, Basic::Int, &outer, &Sc::int(2));
            let fits = self.em.bin(BinOp::Le, Basic::Int, &step[0], &half);
            worth = self.em.and(&worth, &fits);
        }
        if worth.as_bool() == Some(false) {
            return indices(self, Among::All(&whole), acc);
        }
        let again = std::cell::RefCell::new(indices);
        let start = acc.clone();
        let results = self.branch(
            &worth,
            |spec| vec![spec.join_pieces((fun, args), b, (&outer, &inner), acc, neutral, &mut **again.borrow_mut())],
            |spec| vec![(again.borrow_mut())(spec, Among::All(&whole), start)],
        );
        results.into_iter().next().unwrap_or(Val::Bottom)
    }

    /// Whether the accumulators of all pieces have the neutral element's shape, so that they can be cells of an array.
    fn keeps_its_shape(&mut self, set: &IndexSet, neutral: &Val, indices: Indices<'_, 'p>) -> bool {
        let kind = kind_in_loops(&self.em.visible_kind(neutral).forget_values(false));
        if !is_whole(&kind) {
            return false;
        }
        self.conditional += 1;
        self.in_bodies += 1;
        let opened = self.em.open();
        let end = indices(self, Among::All(set), neutral.clone());
        self.em.close(opened);
        self.in_bodies -= 1;
        self.conditional -= 1;
        let found = kind_in_loops(&self.em.visible_kind(&end).forget_values(false));
        kind.join(&found).is_some_and(|kind| is_whole(&kind))
    }

    /// Number of indices between the bounds of an axis, at least 0.
    fn extent_of(&mut self, b: &IndexBox, axis: usize) -> Sc {
        let extent = self.em.sub(&b.upper[axis], &b.lower[axis]);
        self.em.bin(BinOp::Max, Basic::Int, &extent, &Sc::int(0))
    }

    fn join_pieces(
        &mut self,
        (fun, args): (&FoldFun, &[Val]),
        b: &IndexBox,
        (outer, inner): (&Sc, &Sc),
        acc: Val,
        neutral: &Val,
        indices: Indices<'_, 'p>,
    ) -> Val {
        let op = |spec: &mut Self, op, a: &Sc, b: &Sc| spec.em.bin(op, Basic::Int, a, b);
        // At least PIECE indices in a piece, and about MOST pieces; whole steps, so that each piece begins at an index.
        let most = op(self, BinOp::Div, outer, &Sc::int(MOST));
        let most = op(self, BinOp::Add, &most, &Sc::int(1));
        let least = op(self, BinOp::Max, inner, &Sc::int(1));
        let least = op(self, BinOp::Div, &Sc::int(PIECE), &least);
        let mut len = op(self, BinOp::Max, &most, &least);
        if let Some(step) = &b.step {
            let steps = op(self, BinOp::Div, &len, &step[0]);
            let steps = op(self, BinOp::Add, &steps, &Sc::int(1));
            len = op(self, BinOp::Mul, &steps, &step[0]);
        }
        let count = op(self, BinOp::Div, outer, &len);

        let set =
            IndexSet::Box(IndexBox { lower: vec![Sc::int(0)], upper: vec![count.clone()], step: None, width: None });
        self.conditional += 1;
        self.in_bodies += 1;
        let opened = self.em.open();
        let Val::Tup(_, piece) = self.index_params(opened.region, &set, None) else { return Val::Bottom };
        let before = op(self, BinOp::Mul, &piece[0], &len);
        let start = op(self, BinOp::Add, &b.lower[0], &before);
        let cell = indices(self, Among::Piece { b, start: &start, len: &len }, neutral.clone());
        let region = self.em.close(opened);
        self.in_bodies -= 1;
        self.conditional -= 1;
        if matches!(cell, Val::Bottom) {
            return Val::Bottom;
        }

        let mut bodies = vec![Body { set: set.clone(), region, cells: vec![cell] }];
        let (mut yields, mut ops) = (vec![Vec::new()], Vec::new());
        let frame = Val::Tup(Basic::Int, vec![count.clone()]);
        let Some(kind) = self.genarray(0, &frame, None, Some(1), &mut bodies, &mut yields, &mut ops) else {
            return Val::Bottom;
        };
        self.em.set_yields(region, yields.remove(0));
        let parts = vec![Part { generator: self.wir_generator(&set), body: region }];
        let mut leaves = Vec::new();
        kind.leaves(&mut leaves);
        let mut values = self.em.inst_leaves(Op::With(With { parts, ops, ordered: false }), &leaves).into_iter();
        let partial = self.em.instantiate(&kind, &mut values);

        let IndexSet::Box(pieces) = &set else { return Val::Bottom };
        let joined = self.carry(&Sc::int(0), vec![acc], &mut |spec, c, accs| {
            if let Sc::Val(v) = c {
                spec.set_index_facts(*v, pieces, 0, None);
            }
            let one = spec.select(&IndexVector::Scalars(vec![c.clone()]), &partial, false);
            let accs = accs.into_iter().map(|acc| spec.apply_fold(fun, args, acc, one.clone())).collect();
            let next = spec.em.add(c, &Sc::int(1));
            let again = spec.em.bin(BinOp::Lt, Basic::Int, &next, &count);
            (accs, next, again)
        });
        let joined = joined.into_iter().next().unwrap_or(Val::Bottom);
        let mut rest = b.clone();
        let done = op(self, BinOp::Mul, &count, &len);
        rest.lower[0] = op(self, BinOp::Add, &b.lower[0], &done);
        indices(self, Among::All(&IndexSet::Box(rest)), joined)
    }
}
