//! Liveness of slots: what a conditional or a loop has to hand on to the code behind it.
//!
//! A variable that is only a temporary inside of a loop may change its type from one use to the next; it is no loop variable.

use crate::walk;
use ravel_core::ir::{Block, Expr, ExprKind, Fun, FunBody, LocalId, Part, RankPat, Stmt, Target, TypePat};
use ravel_types::HashMap;
use std::collections::BTreeSet;

pub type Slots = BTreeSet<LocalId>;

/// Live slots around one `if` or loop.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// Read by what follows.
    pub after: Slots,
    /// Read by the next iteration or its condition before it assigns them; empty for an `if`.
    pub top: Slots,
}

/// What a piece of code does to the set of live slots: `reads` are live before it, and of those live behind it all but `assigns`.
#[derive(Clone, Debug, Default)]
struct Effect {
    /// Read before they are assigned.
    reads: Slots,
    /// Assigned on every path.
    assigns: Slots,
}

impl Effect {
    /// The effect of `first` and then of this.
    fn behind(mut self, first: Effect) -> Effect {
        self.reads.retain(|slot| !first.assigns.contains(slot));
        self.reads.extend(first.reads);
        self.assigns.extend(first.assigns);
        self
    }
}

/// The result for every conditional and loop of the functions seen so far, found by their address in the program.
#[derive(Default)]
pub struct Liveness {
    around: HashMap<usize, Around>,
    current: Slots,
    /// Of conditionals and loops, by address. A loop asks for that of its body before it looks into it: to walk through the body for this
    /// would walk through the innermost of nested loops more than once for each loop around it.
    effects: HashMap<usize, Effect>,
}

fn key(stmt: &Stmt) -> usize {
    std::ptr::from_ref(stmt).addr()
}

impl Liveness {
    /// The live slots around a statement, if its function was analysed.
    pub fn around(&self, stmt: &Stmt) -> Option<&Around> {
        self.around.get(&key(stmt))
    }

    pub fn analyse(&mut self, fun: &Fun) {
        let FunBody::Sac { block, returns } = &fun.body else {
            return;
        };
        self.current = fun.params.iter().filter(|p| p.by_ref).map(|p| p.local).collect();
        for ty in &fun.results {
            names(ty, &mut self.current);
        }
        fun.conds.iter().for_each(|c| self.expr(&c.expr));
        returns.iter().for_each(|e| self.expr(e));
        self.block(block);
    }

    /// Turns the slots live after a block into those live before it.
    fn block(&mut self, block: &Block) {
        for stmt in block.iter().rev() {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign { targets, value, .. } => {
                for target in targets {
                    if let Target::Local(slot) = target {
                        self.current.remove(slot);
                    }
                }
                self.expr(value);
            }
            Stmt::If { cond, then, els, .. } => {
                let after = self.current.clone();
                self.block(then);
                let mut before = std::mem::replace(&mut self.current, after.clone());
                self.block(els);
                self.current.append(&mut before);
                self.expr(cond);
                self.around.insert(key(stmt), Around { after, top: Slots::new() });
            }
            Stmt::While { cond, body, do_first, .. } => {
                let after = self.current.clone();
                self.expr(cond);
                let mut top = self.effect_of_block(body);
                top.reads.extend(self.current.difference(&top.assigns));
                let top = top.reads;
                self.current.extend(&top);
                self.block(body);
                if !do_first {
                    self.current.extend(&after);
                    self.expr(cond);
                }
                self.around.insert(key(stmt), Around { after, top });
            }
        }
    }

    /// Adds what an expression reads. Assignments of block expressions end nothing: that only overestimates.
    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Local(slot) => {
                self.current.insert(*slot);
            }
            ExprKind::Block { block, value } => {
                let after = self.current.clone();
                self.expr(value);
                self.block(block);
                self.current.extend(after);
            }
            ExprKind::With(with) => {
                with.parts.iter().for_each(|p| self.part(p));
                walk::with_operands(with, &mut |e| self.expr(e));
            }
            _ => walk::children(e, &mut |e| self.expr(e)),
        }
    }

    /// The statements of a part see the slots outside, but what they assign is their own.
    fn part(&mut self, part: &Part) {
        let outside = std::mem::take(&mut self.current);
        part.values.iter().for_each(|e| self.expr(e));
        self.block(&part.body);
        for slot in part.index.iter().chain(part.scalars.iter().flatten()) {
            self.current.remove(slot);
        }
        self.current.extend(outside);
    }

    fn effect_of_block(&mut self, block: &Block) -> Effect {
        block.iter().rev().fold(Effect::default(), |behind, stmt| behind.behind(self.effect(stmt)))
    }

    fn effect(&mut self, stmt: &Stmt) -> Effect {
        if let Some(known) = self.effects.get(&key(stmt)) {
            return known.clone();
        }
        let effect = match stmt {
            Stmt::Assign { targets, value, .. } => {
                let local = |target: &Target| match target {
                    Target::Local(slot) => Some(*slot),
                    _ => None,
                };
                return Effect { reads: self.reads(value), assigns: targets.iter().filter_map(local).collect() };
            }
            Stmt::If { cond, then, els, .. } => {
                let (mut effect, els) = (self.effect_of_block(then), self.effect_of_block(els));
                effect.assigns.retain(|slot| els.assigns.contains(slot));
                effect.reads.extend(els.reads);
                effect.reads.extend(self.reads(cond));
                effect
            }
            Stmt::While { cond, body, do_first, .. } => {
                let asked = Effect { reads: self.reads(cond), assigns: Slots::new() };
                let body = self.effect_of_block(body);
                if *do_first {
                    asked.behind(body)
                } else {
                    // There may be no iteration at all.
                    Effect { reads: asked.reads.union(&body.reads).copied().collect(), assigns: Slots::new() }
                }
            }
        };
        self.effects.insert(key(stmt), effect.clone());
        effect
    }

    /// What an expression adds to the live slots.
    fn reads(&mut self, e: &Expr) -> Slots {
        let mut found = Slots::new();
        match &e.kind {
            ExprKind::Local(slot) => {
                found.insert(*slot);
            }
            ExprKind::Block { block, value } => {
                let value = Effect { reads: self.reads(value), assigns: Slots::new() };
                found = value.behind(self.effect_of_block(block)).reads;
            }
            ExprKind::With(with) => {
                for part in &with.parts {
                    let values = part.values.iter().flat_map(|e| self.reads(e)).collect();
                    let values = Effect { reads: values, assigns: Slots::new() };
                    let mut own = values.behind(self.effect_of_block(&part.body)).reads;
                    for slot in part.index.iter().chain(part.scalars.iter().flatten()) {
                        own.remove(slot);
                    }
                    found.extend(own);
                }
                walk::with_operands(with, &mut |e| found.extend(self.reads(e)));
            }
            _ => walk::children(e, &mut |e| found.extend(self.reads(e))),
        }
        found
    }
}

/// The slots that a type pattern names.
fn names(ty: &TypePat, out: &mut Slots) {
    use ravel_core::ir::DimPat;
    for dim in &ty.dims {
        match dim {
            DimPat::Name(slot) => {
                out.insert(*slot);
            }
            DimPat::Rank { rank, shape, .. } => {
                if let RankPat::Name(slot) = rank {
                    out.insert(*slot);
                }
                out.extend(shape);
            }
            DimPat::Num(_) | DimPat::Any | DimPat::Star | DimPat::Plus => {}
        }
    }
}
