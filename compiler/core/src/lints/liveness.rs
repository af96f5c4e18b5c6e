//! Which values of variables are ever used: one walk from the end of a function to its start.
//!
//! ```text
//! x = f(1);      dead: replaced before it is used
//! x = f(2);
//! y = x;         never used: all that `y` ever holds is dead
//! return x;
//! ```
//!
//! An update reads its own variable only if that is needed, so `i++` alone makes no use of `i`. A body of a with-loop part has
//! variables of its own; those that it reads before it assigns them are reads outside. What a loop reads is found by a first walk over
//! its body, so that the second one knows what the next iteration needs.

use super::Look;
use super::shadows::Shadows;
use super::stores::{Store, Stores};
use ravel_syntax::ast::*;
use std::collections::BTreeSet;

/// Names whose present values are needed.
pub(super) type Live<'f> = BTreeSet<&'f str>;

/// Looks at the body of a function.
pub(super) fn look(function: &Function, look: &mut Look<'_>) {
    let Some(body) = &function.body else { return };
    let mut live: Live = function.params.iter().filter(|param| param.by_ref).map(|param| &*param.name.name).collect();
    let mut walk =
        Walk { is_last: true, stores: Stores::default(), shadows: Shadows::new(function, look), around: Vec::new() };
    body.ret.iter().flat_map(|ret| &ret.values).for_each(|value| walk.expr(value, &mut live));
    walk.block(&body.stmts, &mut live);
    let given = super::functions::heads(function);
    walk.stores.report(&body.decls, &|name| live.contains(name) || given.contains(name), look);
    walk.shadows.report(look);
}

struct Walk<'f> {
    /// Whether this is the walk that sees everything, not one that finds what a loop reads.
    is_last: bool,
    /// Of the innermost scope.
    stores: Stores<'f>,
    shadows: Shadows<'f>,
    /// What is live around each of the parts that are being looked at, one within the other.
    around: Vec<Live<'f>>,
}

impl<'f> Walk<'f> {
    fn block(&mut self, stmts: &'f [Stmt], live: &mut Live<'f>) {
        stmts.iter().rev().for_each(|stmt| self.stmt(stmt, live));
    }

    fn stmt(&mut self, stmt: &'f Stmt, live: &mut Live<'f>) {
        match &stmt.kind {
            StmtKind::Assign { targets, op, value } => {
                let stores =
                    targets.iter().map(|target| self.target(target, op.is_some(), stmt, live)).collect::<Vec<_>>();
                // `i = i + 1` of a variable that nobody needs is no use of it.
                let own = match (&targets[..], &stores[..]) {
                    ([target], [true]) if !live.contains(&*target.name.name) => Some(&*target.name.name),
                    _ => None,
                };
                targets.iter().for_each(|target| self.indices(target, live));
                self.expr(value, live);
                if let Some(name) = own {
                    live.remove(name);
                }
            }
            StmtKind::IncDec { target, .. } => {
                self.target(target, true, stmt, live);
                self.indices(target, live);
            }
            StmtKind::Call(call) => {
                call.args.iter().for_each(|arg| self.expr(arg, live));
            }
            StmtKind::With(with) => {
                self.with(with, live);
            }
            StmtKind::If { cond, then, otherwise } => {
                let mut other = live.clone();
                otherwise.iter().for_each(|block| self.block(&block.stmts, &mut other));
                self.block(&then.stmts, live);
                live.append(&mut other);
                self.cond(cond, live);
            }
            StmtKind::While { cond, body } => self.repeated(cond, &body.stmts, &[], live),
            StmtKind::For { init, cond, step, body } => {
                self.repeated(cond, &body.stmts, step, live);
                self.block(init, live);
            }
            StmtKind::DoWhile { body, cond } => {
                if self.is_last {
                    live.append(&mut self.reads(cond, &body.stmts, &[]));
                }
                self.cond(cond, live);
                self.block(&body.stmts, live);
            }
            StmtKind::Error => {}
        }
    }

    /// A loop that may not run at all.
    fn repeated(&mut self, cond: &'f Expr, body: &'f [Stmt], step: &'f [Stmt], live: &mut Live<'f>) {
        live.append(&mut self.reads(cond, body, step));
        self.cond(cond, live);
        if self.is_last {
            let mut inside = live.clone();
            self.block(step, &mut inside);
            self.block(body, &mut inside);
        }
    }

    /// What an iteration of a loop reads of what was there before it.
    fn reads(&mut self, cond: &'f Expr, body: &'f [Stmt], step: &'f [Stmt]) -> Live<'f> {
        let was_last = std::mem::replace(&mut self.is_last, false);
        let mut live = Live::new();
        self.expr(cond, &mut live);
        self.block(step, &mut live);
        self.block(body, &mut live);
        self.is_last = was_last;
        live
    }

    fn cond(&mut self, cond: &'f Expr, live: &mut Live<'f>) {
        self.expr(cond, live);
    }

    /// A place that is written: its variable no longer lives before it, unless only a part is replaced. True if nobody needs what is written.
    fn target(&mut self, target: &'f LValue, updates: bool, stmt: &'f Stmt, live: &mut Live<'f>) -> bool {
        let name = &*target.name.name;
        let is_dead = !live.contains(name);
        let is_partial = updates || !target.accesses.is_empty();
        if self.is_last {
            self.stores.add(Store::new(target, stmt, is_partial, is_dead));
        }
        if !is_partial {
            live.remove(name);
        }
        is_dead
    }

    fn indices(&mut self, target: &'f LValue, live: &mut Live<'f>) {
        for access in &target.accesses {
            if let Access::Index { selectors, .. } = access {
                selectors.iter().filter_map(crate::visit::selected).for_each(|index| self.expr(index, live));
            }
        }
    }

    fn expr(&mut self, expr: &'f Expr, live: &mut Live<'f>) {
        match &expr.kind {
            ExprKind::Name(name) if name.module.is_none() => {
                live.insert(&name.name);
            }
            ExprKind::With(with) => self.with(with, live),
            ExprKind::Comprehension(comprehension) => {
                self.operands(expr, live);
                for partition in &comprehension.partitions {
                    let names = match &partition.index.kind {
                        TensorIndexKind::Vector(name) => vec![name],
                        TensorIndexKind::List(items) => items.iter().filter_map(named).collect(),
                    };
                    self.part(&names, &[], std::slice::from_ref(&partition.body), live);
                }
            }
            _ => self.operands(expr, live),
        }
    }

    fn operands(&mut self, expr: &'f Expr, live: &mut Live<'f>) {
        crate::visit::children(expr, &mut |child| self.expr(child, live));
    }

    fn with(&mut self, with: &'f With, live: &mut Live<'f>) {
        crate::visit::with_children(with, &mut |child| self.expr(child, live));
        for part in &with.parts {
            let scalars = part.index.scalars.iter().flatten();
            let names: Vec<&Ident> = part.index.vector.iter().chain(scalars).collect();
            self.part(&names, &part.body.stmts, &part.values, live);
        }
    }

    /// A scope of its own: what it reads of names that are not its indices is read outside.
    fn part(&mut self, names: &[&'f Ident], stmts: &'f [Stmt], values: &'f [Expr], live: &mut Live<'f>) {
        if self.is_last {
            self.around.push(live.clone());
            self.shadows.enter(names, &self.around);
        }
        let outer = std::mem::take(&mut self.stores);
        let mut inside = Live::new();
        values.iter().for_each(|value| self.expr(value, &mut inside));
        self.block(stmts, &mut inside);
        let stores = std::mem::replace(&mut self.stores, outer);
        if self.is_last {
            self.stores.close(stores, &inside, names);
            self.shadows.leave(names);
            self.around.pop();
        }
        inside.retain(|read| names.iter().all(|name| &*name.name != *read));
        live.append(&mut inside);
    }
}

fn named(item: &IndexItem) -> Option<&Ident> {
    match item {
        IndexItem::Name(name) => Some(name),
        IndexItem::Dot(_) | IndexItem::Dots(_) => None,
    }
}
