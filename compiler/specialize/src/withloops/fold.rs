//! Folds: fold functions as scalar operations or regions, and records split into independent folds; `in_order` has the rest.

use crate::spec::Spec;
use crate::value::{Kind, Sc, ScKind, ShapeKind, Val};
use crate::withloops::assemble::cell_kind;
use crate::withloops::withloop::Body;
use ravel_core::ir::FoldFun;
use ravel_diagnostics::Code;
use ravel_types::HashSet;
use ravel_types::{BinOp, Scalar};
use ravel_wir::{Combine, Inst, Op, Region, Value, WithOp, traverse};

/// Iterations of the fixed point over the accumulator's kind.
pub const MAX_ROUNDS: usize = 8;

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
                    self.error(Code::CellTypesDiffer, "the cells of a fold differ in type", "all cells have one type");
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
                    let a = crate::report::show_kind(self.program, &acc);
                    let b = crate::report::show_kind(self.program, &found);
                    self.error(
                        Code::FoldTypesDiffer,
                        format!("the fold function gives {b} for an accumulator of {a}"),
                        "types differ",
                    );
                    return None;
                }
            }
        }
        if let Some(stop) = stop
            && self.elem_of(stop) != self.elem_of(neutral)
        {
            let (a, b) = (self.show_value_type(stop), self.show_value_type(neutral));
            let title = format!("the fixpoint of this foldfix is {a}, its neutral element {b}");
            self.error(Code::FoldTypesDiffer, title, "types differ");
            return None;
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
            if matches!(combine, Combine::Region(_)) && self.in_bodies == 0 && self.regroups(fun, args, neutral) {
                return None;
            }
            if let Some(stop) = stop
                && !self.absorbs(&combine, stop, bodies)
            {
                return None;
            }
            self.finish_fold(k, &acc, &cell, neutral, vec![combine], bodies, yields, ops);
            return Some(acc);
        }
        if stop.is_some() {
            return None;
        }
        let combines = self.split(fun, args, &acc, &cell)?;
        self.finish_fold(k, &acc, &cell, neutral, combines, bodies, yields, ops);
        Some(acc)
    }

    /// Whether nothing but time is lost by going on at the fixpoint `stop`: no cell changes it any more, and none can fault.
    fn absorbs(&self, combine: &Combine, stop: &Val, bodies: &[Body]) -> bool {
        let Val::Sc(_, Sc::Const(stop)) = stop else { return false };
        let absorbing = match combine {
            Combine::Op(BinOp::Or) => *stop == Scalar::Bool(true),
            Combine::Op(BinOp::And) => *stop == Scalar::Bool(false),
            Combine::Op(BinOp::Mul) => stop.as_i64() == Some(0),
            _ => false,
        };
        let func = &self.em.func;
        let is_pure = |body: &Body| {
            let mut pure = true;
            traverse::walk(func, body.region, &mut |_, inst| {
                let op = &func.insts[inst].op;
                pure &= !op.is_anchored() && !matches!(op, Op::Call { .. } | Op::Loop { .. });
            });
            pure
        };
        absorbing && bodies.iter().all(is_pure)
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
        for (i, combine) in combines.into_iter().enumerate() {
            ops.push(WithOp::Fold { neutral: neutrals[i], combine, stop: None });
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

    pub fn apply_fold(&mut self, fun: &FoldFun, args: &[Val], acc: Val, cell: Val) -> Val {
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
        let mut needed: HashSet<Value> = HashSet::from_iter([wanted]);
        let insts = self.em.func.regions[region].insts.clone();
        let mut kept: Vec<Inst> = Vec::new();
        for inst in insts.into_iter().rev() {
            let func = &self.em.func;
            let data = &func.insts[inst];
            let check = matches!(data.op, Op::Check { .. });
            if !check && !data.results.iter().any(|r| needed.contains(r)) {
                continue;
            }
            let mut uses = HashSet::default();
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
pub fn kind_in_loops(kind: &Kind) -> Kind {
    match kind {
        Kind::Tup(..) => kind.clone(),
        Kind::Wrapped(u, k) => Kind::Wrapped(*u, Box::new(kind_in_loops(k))),
        Kind::Struct(s, ks) => Kind::Struct(*s, ks.iter().map(kind_in_loops).collect()),
        other => cell_kind(other),
    }
}
