//! Short loops over axes: iterations that are elaborated one by one.
//!
//! ```text
//! for (ax = 0; ax < d; ax++) { u = filter(ax, w, u); }      with d = 2
//! ```
//!
//! What a function does along an axis is known only where the axis is: its type patterns split shapes there, its index vectors are
//! changed there. As a loop variable the axis would be any number, shapes would be unknown and index vectors arrays. So the first
//! iterations of a loop are elaborated in place where a counter of few constant values is given to a function, or selects from a
//! vector that is held as scalars. The loop itself remains behind them; its condition is then false. The condition may ask for the rank
//! of an array that the iterations replace, `ax < dim(u)`: it is asked again before each of them.

use crate::spec::{Frame, Spec};
use crate::value::{Sc, Val};
use crate::walk;
use ravel_core::ir::{Block, Bound, Expr, ExprKind, LocalId, Stmt, Target, WithOp};
use std::collections::BTreeSet;

/// Most iterations: as many as arrays usually have axes.
pub const MAX_TRIPS: usize = 4;
/// Most expressions of a body, without those of the functions that it calls.
pub const MAX_SIZE: usize = 200;
/// Most copies of one statement, where such loops are nested or call functions with others.
pub const MAX_COPIES: usize = 32;

impl<'p> Spec<'p> {
    /// Elaborates the first iterations of `while (cond) body` if that is worth it: see the module.
    pub fn first_rounds(&mut self, frame: &mut Frame, cond: &Expr, body: &Block) {
        let Some(trips) = self.axis_trips(frame, cond, body) else { return };
        self.note_copies();
        let copies = self.copies;
        self.copies *= trips;
        // A fault that is certain in some iteration is one of the run all the same.
        self.conditional += 1;
        if copies > 1 || self.rounds_are_sound(frame, cond, body, trips) {
            self.rounds(frame, cond, body, trips);
        }
        self.conditional -= 1;
        self.copies = copies;
    }

    /// At most `trips` iterations, while the condition is known to hold: an array that it asks for may have changed its rank.
    fn rounds(&mut self, frame: &mut Frame, cond: &Expr, body: &Block, trips: usize) {
        for _ in 0..trips {
            if self.known(frame, cond) != Some(true) {
                break;
            }
            self.block(frame, body);
        }
    }

    /// The value of a condition, if it is known; nothing is left of its computation.
    fn known(&mut self, frame: &Frame, cond: &Expr) -> Option<bool> {
        let reported = (self.diagnostics.len(), self.reported.clone());
        let opened = self.em.open();
        let value = match self.expr(&mut frame.fork(), cond) {
            Val::Sc(_, value) => value.as_bool(),
            _ => None,
        };
        self.em.close(opened);
        if self.diagnostics.len() > reported.0 {
            self.diagnostics.truncate(reported.0);
            self.reported = reported.1;
            return None;
        }
        value
    }

    /// Whether the iterations can be elaborated without a complaint. What is known of an iteration alone may be too much: a call that run-time
    /// dispatch resolves is ambiguous. Iterations inside of others are tried with them.
    fn rounds_are_sound(&mut self, frame: &Frame, cond: &Expr, body: &Block, trips: usize) -> bool {
        let reported = (self.diagnostics.len(), self.reported.clone());
        let instances = self.instances.len();
        let opened = self.em.open();
        self.rounds(&mut frame.fork(), cond, body, trips);
        self.em.close(opened);
        if self.diagnostics.len() == reported.0 {
            return true;
        }
        self.diagnostics.truncate(reported.0);
        self.reported = reported.1;
        // Instances made here may hold errors that have to be found again.
        self.index.retain(|_, i| *i < instances);
        false
    }

    /// How often the loop runs, if that is known and each iteration is better off on its own.
    fn axis_trips(&mut self, frame: &Frame, cond: &Expr, body: &Block) -> Option<usize> {
        let mut assigned = BTreeSet::new();
        walk::assigned(body, &mut assigned);
        let mut read = BTreeSet::new();
        let mut plain = true;
        reads(cond, &mut read, &mut plain);
        let (counters, others): (BTreeSet<LocalId>, BTreeSet<LocalId>) =
            read.intersection(&assigned).partition(|slot| is_constant(frame, **slot));
        // Arrays, of which a constant can be nothing but the rank, or extents that stay.
        let are_arrays = others.iter().all(|slot| matches!(frame.env[slot.index()], Some(Val::Arr(..))));
        if !plain || counters.is_empty() || !are_arrays {
            return None;
        }
        let steps = steps(body, &counters, &assigned)?;
        let mut uses = Uses { frame, spec: self, counters: &counters, itself: false, axis: false, size: 0 };
        uses.block(body);
        if !uses.axis || uses.size > MAX_SIZE {
            return None;
        }
        let trips = self.count(frame, cond, &steps)?;
        self.note_copies();
        (trips > 0 && self.copies * trips <= MAX_COPIES).then_some(trips)
    }

    /// Runs nothing but the steps of the counters, in a region that nobody needs.
    fn count(&mut self, frame: &Frame, cond: &Expr, steps: &[&Stmt]) -> Option<usize> {
        let reported = (self.diagnostics.len(), self.reported.clone());
        let opened = self.em.open();
        let mut frame = frame.fork();
        let mut found = None;
        for trips in 0..=MAX_TRIPS {
            match self.known(&frame, cond) {
                Some(true) => {}
                Some(false) => {
                    found = Some(trips);
                    break;
                }
                None => break,
            }
            for step in steps {
                self.stmt(&mut frame, step);
            }
        }
        self.em.close(opened);
        if self.diagnostics.len() > reported.0 {
            self.diagnostics.truncate(reported.0);
            self.reported = reported.1;
            return None;
        }
        found
    }
}

fn is_constant(frame: &Frame, slot: LocalId) -> bool {
    match &frame.env[slot.index()] {
        Some(Val::Sc(_, s)) => matches!(s, Sc::Const(_)) || s.as_int().is_some(),
        _ => false,
    }
}

/// The slots that an expression reads; whether it is without with-loops and blocks.
fn reads(e: &Expr, out: &mut BTreeSet<LocalId>, plain: &mut bool) {
    match &e.kind {
        ExprKind::Local(slot) => {
            out.insert(*slot);
        }
        ExprKind::With(_) | ExprKind::Block { .. } => *plain = false,
        _ => walk::children(e, &mut |child| reads(child, out, plain)),
    }
}

/// The statements that change the counters: in every iteration, from the counters and what the loop leaves alone.
fn steps<'a>(body: &'a Block, counters: &BTreeSet<LocalId>, assigned: &BTreeSet<LocalId>) -> Option<Vec<&'a Stmt>> {
    let mut steps = Vec::new();
    for stmt in body {
        let mut here = BTreeSet::new();
        walk::assigned(std::slice::from_ref(stmt), &mut here);
        if here.is_disjoint(counters) {
            continue;
        }
        let Stmt::Assign { targets, value, .. } = stmt else { return None };
        let [Target::Local(_)] = targets.as_slice() else { return None };
        let mut read = BTreeSet::new();
        let mut plain = true;
        reads(value, &mut read, &mut plain);
        if !plain || read.iter().any(|slot| assigned.contains(slot) && !counters.contains(slot)) {
            return None;
        }
        steps.push(stmt);
    }
    Some(steps)
}

/// What a body does with the counters.
pub struct Uses<'a, 'p> {
    pub frame: &'a Frame,
    pub spec: &'a Spec<'p>,
    pub counters: &'a BTreeSet<LocalId>,
    /// Only a counter itself, or a sum with one, counts as given to a function: not what it selects.
    pub itself: bool,
    /// One is given to a function or selects from a vector held as scalars.
    pub axis: bool,
    /// Expressions seen.
    pub size: usize,
}

impl Uses<'_, '_> {
    pub fn block(&mut self, block: &Block) {
        for stmt in block {
            match stmt {
                Stmt::Assign { value, .. } => self.expr(value),
                Stmt::If { cond, then, els, .. } => {
                    self.expr(cond);
                    self.block(then);
                    self.block(els);
                }
                Stmt::While { cond, body, .. } => {
                    self.expr(cond);
                    self.block(body);
                }
            }
        }
    }

    pub fn expr(&mut self, e: &Expr) {
        self.size += 1;
        if let ExprKind::Call { set, args } = &e.kind {
            let name: &str = &self.spec.program.sets[set.index()].name;
            self.axis |= match name {
                "sel" | "modarray" => {
                    args.iter().any(|a| self.reads_counter(a)) && args.iter().any(|a| self.is_held(a))
                }
                _ if !is_word(name) => false,
                _ if self.itself => args.iter().any(|a| self.is_counter(a)),
                _ => args.iter().any(|a| self.reads_counter(a)),
            };
        }
        match &e.kind {
            ExprKind::Block { block, value } => {
                self.block(block);
                self.expr(value);
            }
            ExprKind::With(with) => {
                for part in &with.parts {
                    self.block(&part.body);
                    for bound in [&part.lower, &part.upper] {
                        if let Bound::Expr(e) = bound {
                            // Bounds are as good as a selection from the shape.
                            self.axis |= self.reads_counter(e);
                        }
                    }
                }
                for op in &with.ops {
                    if let WithOp::Genarray { shape, .. } = op {
                        self.axis |= self.reads_counter(shape);
                    }
                }
                walk::children(e, &mut |child| self.expr(child));
            }
            _ => walk::children(e, &mut |child| self.expr(child)),
        }
    }

    fn reads_counter(&self, e: &Expr) -> bool {
        let mut read = BTreeSet::new();
        reads(e, &mut read, &mut true);
        !read.is_disjoint(self.counters)
    }

    /// A counter, or operators on one.
    fn is_counter(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Local(slot) => self.counters.contains(slot),
            ExprKind::Call { set, args } => {
                !is_word(&self.spec.program.sets[set.index()].name) && args.iter().any(|a| self.is_counter(a))
            }
            _ => false,
        }
    }

    fn is_held(&self, e: &Expr) -> bool {
        matches!(&e.kind, ExprKind::Local(slot) if matches!(self.frame.env[slot.index()], Some(Val::Tup(..))))
    }
}

/// Whether a function has a name, and not an operator's symbol.
fn is_word(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphabetic() || c == '_')
}
