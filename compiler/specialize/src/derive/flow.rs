//! From which variables the real values of others were computed, statement by statement.
//!
//! Followed in functions that take derivatives, for the warning of a value that a derivative holds constant. A value flows where every
//! expression around it is real: not through comparisons, conversions to integers and shapes. What `stop_gradient` has flows no further.

use crate::derive::has_real;
use crate::spec::{Frame, Spec};
use crate::value::Val;
use crate::walk;
use ravel_core::ir::{Block, Derive, Expr, ExprKind, Fun, FunBody, LocalId, Stmt, Target};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_types::{HashMap, Prim};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// What is known at a point of a function; copies of its frame share it.
#[derive(Default)]
pub struct Flow {
    /// By variable: those that its present value was computed from and that still have these values.
    from: HashMap<LocalId, BTreeSet<LocalId>>,
    /// What the expression that is being elaborated has read.
    reads: BTreeSet<LocalId>,
}

impl Flow {
    fn sources(&self, slot: LocalId) -> impl Iterator<Item = LocalId> {
        self.from.get(&slot).into_iter().flatten().copied()
    }

    /// The end of an expression, before which `outside` had been read around it.
    fn leave(&mut self, e: &Expr, value: &Val, outside: BTreeSet<LocalId>) {
        match e.kind {
            ExprKind::Prim { prim: Prim::StopGradient, .. } => self.reads.clear(),
            _ if !has_real(value) => self.reads.clear(),
            ExprKind::Local(slot) => {
                self.reads.insert(slot);
            }
            _ => {}
        }
        self.reads.extend(outside);
    }

    /// A variable has a new value, by what was read. In a branch the old one may stay.
    fn assign(&mut self, slot: LocalId, reads: &BTreeSet<LocalId>, in_branch: bool) {
        let mut from: BTreeSet<LocalId> = reads.iter().flat_map(|read| self.sources(*read)).collect();
        from.extend(reads);
        from.remove(&slot);
        // What was computed from the old value was not computed from the new one.
        for known in self.from.values_mut() {
            known.remove(&slot);
        }
        match in_branch {
            true => self.from.entry(slot).or_default().extend(from),
            false => drop(self.from.insert(slot, from)),
        }
    }
}

impl<'p> Spec<'p> {
    /// Begins to follow values in a function of the user that takes derivatives.
    pub fn follow(&mut self, frame: &mut Frame) {
        let fun = self.fun(frame.fun);
        if (self.options.is_library)(fun.span.file) {
            return;
        }
        if *self.derivers.entry(frame.fun).or_insert_with(|| derives(fun)) {
            frame.flow = Some(Rc::new(RefCell::new(Flow::default())));
        }
    }

    /// The value of an expression in a function whose values are followed.
    pub fn followed(&mut self, frame: &mut Frame, e: &Expr, flow: &RefCell<Flow>) -> Val {
        let outside = std::mem::take(&mut flow.borrow_mut().reads);
        let value = self.value_of(frame, e);
        flow.borrow_mut().leave(e, &value, outside);
        value
    }

    /// The beginning of a statement; gives what had been read around it.
    pub fn begin_reads(frame: &Frame) -> BTreeSet<LocalId> {
        frame.flow.as_ref().map_or(BTreeSet::new(), |flow| std::mem::take(&mut flow.borrow_mut().reads))
    }

    /// The end of a statement that has given variables new values.
    pub fn end_reads(&mut self, frame: &Frame, targets: &[Target], outside: BTreeSet<LocalId>) {
        let Some(flow) = &frame.flow else { return };
        let mut flow = flow.borrow_mut();
        let reads = std::mem::replace(&mut flow.reads, outside);
        let in_branch = self.conditional > 0;
        for target in targets {
            if let Target::Local(slot) = target {
                let is_real = frame.env[slot.index()].as_ref().is_some_and(has_real);
                flow.assign(*slot, if is_real { &reads } else { const { &BTreeSet::new() } }, in_branch);
            }
        }
    }

    /// Elaborates the expression of a derivative, and warns of variables in it that were computed from those that it is derived by.
    pub(super) fn body_of(&mut self, frame: &Frame, inner: &mut Frame, derive: &Derive) -> Vec<Val> {
        let Some(flow) = frame.flow.clone() else { return self.exprs(inner, &derive.body, derive.results) };
        let outside = std::mem::take(&mut flow.borrow_mut().reads);
        let values = self.exprs(inner, &derive.body, derive.results);
        let held = {
            let flow = flow.borrow();
            let had_value = |slot: &LocalId| frame.env[slot.index()].as_ref().is_some_and(has_real);
            let read = flow.reads.iter().copied();
            let within = flow.reads.iter().filter(|slot| !had_value(slot)).flat_map(|slot| flow.sources(*slot));
            let captured: BTreeSet<LocalId> = read.chain(within).filter(had_value).collect();
            let mut held = Vec::new();
            for slot in captured {
                let by = derive.wrt.iter().filter(|wrt| wrt.path.is_empty());
                let mut from = by.filter(|wrt| flow.sources(slot).any(|source| source == wrt.slot));
                if let (Some(wrt), Some(at)) = (from.next(), place_of(slot, &derive.body))
                    && derive.wrt.iter().all(|wrt| wrt.slot != slot)
                {
                    held.push((slot, wrt.slot, at));
                }
            }
            held
        };
        flow.borrow_mut().reads.extend(outside);
        for (slot, by, at) in held {
            let locals = &self.fun(frame.fun).locals;
            let (name, by) = (&locals[slot.index()].name, &locals[by.index()].name);
            if self.options.map.snippet(at) != name.as_str() {
                continue;
            }
            let quiet = format!("AutoDiff::stop_gradient({name})");
            let title = format!("`{name}` is held constant here, and was computed from `{by}`");
            let report = Diagnostic::warning(Code::HeldConstant, title)
                .at(at, "constant in this derivative")
                .with_note("a derivative is one of the expression as it stands: write in it what is computed from the variable")
                .with_edit(format!("`{quiet}` says that this is meant"), at, quiet);
            self.report(report);
        }
        values
    }
}

/// Where an expression reads a variable first.
fn place_of(slot: LocalId, e: &Expr) -> Option<Span> {
    let mut found = None;
    each_expr(e, &mut |e| {
        if matches!(e.kind, ExprKind::Local(read) if read == slot) && found.is_none() {
            found = Some(e.span);
        }
    });
    found
}

pub fn derives(fun: &Fun) -> bool {
    let FunBody::Sac { block, returns } = &fun.body else { return false };
    let mut found = false;
    let mut look = |e: &Expr| found |= matches!(e.kind, ExprKind::Derive(_));
    each_in_block(block, &mut look);
    returns.iter().for_each(|e| each_expr(e, &mut look));
    found
}

/// Calls `f` on an expression and all that are in it, in statements, too.
fn each_expr(e: &Expr, f: &mut dyn FnMut(&Expr)) {
    f(e);
    match &e.kind {
        ExprKind::Block { block, .. } => each_in_block(block, f),
        ExprKind::With(with) => with.parts.iter().for_each(|part| each_in_block(&part.body, f)),
        _ => {}
    }
    walk::children(e, &mut |child| each_expr(child, f));
}

fn each_in_block(block: &Block, f: &mut dyn FnMut(&Expr)) {
    for stmt in block {
        match stmt {
            Stmt::Assign { value, .. } => each_expr(value, f),
            Stmt::If { cond, then, els, .. } => {
                each_expr(cond, f);
                each_in_block(then, f);
                each_in_block(els, f);
            }
            Stmt::While { cond, body, .. } => {
                each_expr(cond, f);
                each_in_block(body, f);
            }
        }
    }
}
