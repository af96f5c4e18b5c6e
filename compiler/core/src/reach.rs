//! Walks over core: which objects an expression reaches through calls, and rewriting in place.

use crate::ir::{Bound, Expr, ExprKind, FunBody, GlobalId, LocalId, Program, SetId, Stmt, Target, With, WithOp};
use std::collections::BTreeSet;

/// All global objects that evaluating `expr` may use, directly or through any function of any set that it calls.
pub(crate) fn objects(program: &Program, expr: &Expr) -> Vec<GlobalId> {
    let mut walk = Walk { found: BTreeSet::new(), sets: BTreeSet::new(), waiting: Vec::new() };
    walk.expr(expr);
    let mut visited = BTreeSet::new();
    while let Some(set) = walk.waiting.pop() {
        for member in &program.sets[set.index()].members {
            if !visited.insert(*member) {
                continue;
            }
            let fun = &program.funs[member.index()];
            fun.conds.iter().for_each(|cond| walk.expr(&cond.expr));
            if let FunBody::Sac { block, returns } = &fun.body {
                walk.block(block);
                returns.iter().for_each(|value| walk.expr(value));
            }
        }
    }
    walk.found.into_iter().collect()
}

/// The slots that an expression reads, in blocks and with-loops, too.
pub(crate) fn reads(expr: &Expr) -> Vec<LocalId> {
    let mut found = Vec::new();
    // The walk that rewrites is the one that comes to everything.
    let mut copy = expr.clone();
    let mut on_expr = |e: &mut Expr| match e.kind {
        ExprKind::Local(slot) if !found.contains(&slot) => found.push(slot),
        _ => {}
    };
    rewrite(&mut copy, &mut on_expr, &mut |_| {});
    found
}

struct Walk {
    found: BTreeSet<GlobalId>,
    sets: BTreeSet<SetId>,
    waiting: Vec<SetId>,
}

impl Walk {
    fn set(&mut self, set: SetId) {
        if self.sets.insert(set) {
            self.waiting.push(set);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Global(id) => {
                self.found.insert(*id);
            }
            ExprKind::Call { set, .. } => self.set(*set),
            ExprKind::EachPart(each) => self.set(each.set),
            ExprKind::With(with) => {
                for op in &with.ops {
                    if let WithOp::Fold { fun, .. } = op {
                        self.set(fun.set);
                    }
                }
                with.parts.iter().for_each(|part| self.block(&part.body));
            }
            ExprKind::Block { block, .. } => self.block(block),
            _ => {}
        }
        children(expr, &mut |child| self.expr(child));
    }

    fn block(&mut self, block: &[Stmt]) {
        for stmt in block {
            match stmt {
                Stmt::Assign { targets, value, .. } => {
                    for target in targets {
                        if let Target::Global(id) = target {
                            self.found.insert(*id);
                        }
                    }
                    self.expr(value);
                }
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
}

/// Calls `f` on all direct subexpressions; statements inside are left to the caller.
fn children<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    match &expr.kind {
        ExprKind::Const { .. }
        | ExprKind::Str(_)
        | ExprKind::Local(_)
        | ExprKind::Global(_)
        | ExprKind::ConstArray { .. }
        | ExprKind::FamilyLit { .. }
        | ExprKind::Empty { .. }
        | ExprKind::ZeroCell
        | ExprKind::Error => {}
        ExprKind::Array(args) | ExprKind::Call { args, .. } | ExprKind::Prim { args, .. } => args.iter().for_each(f),
        ExprKind::Cond { cond, then, els } => [cond, then, els].into_iter().for_each(|child| f(child)),
        ExprKind::With(with) => with_children(with, f),
        ExprKind::Cast { value, .. }
        | ExprKind::Wrap { value, .. }
        | ExprKind::Unwrap { value, .. }
        | ExprKind::Field { value, .. }
        | ExprKind::Block { value, .. } => f(value),
        ExprKind::StructLit { fields, .. } => fields.iter().flatten().for_each(f),
        ExprKind::WithField { value, new, .. } => [value, new].into_iter().for_each(|child| f(child)),
        ExprKind::Derive(derive) => {
            f(&derive.body);
            derive.seeds.iter().for_each(f);
        }
        ExprKind::EachPart(each) => {
            each.values.iter().chain(&each.beside).chain(&each.args).for_each(f);
        }
    }
}

fn with_children<'e>(with: &'e With, f: &mut dyn FnMut(&'e Expr)) {
    for part in &with.parts {
        for bound in [&part.lower, &part.upper] {
            if let Bound::Expr(bound) = bound {
                f(bound);
            }
        }
        part.step.iter().chain(&part.width).chain(&part.values).for_each(&mut *f);
    }
    for op in &with.ops {
        match op {
            WithOp::Genarray { shape, default } => {
                f(shape);
                default.iter().for_each(&mut *f);
            }
            WithOp::Modarray { array: operand } | WithOp::Propagate { object: operand, .. } => f(operand),
            WithOp::Fold { fun, neutral, stop } => {
                fun.args.iter().for_each(&mut *f);
                f(neutral);
                stop.iter().for_each(&mut *f);
            }
        }
    }
}

/// Applies `on_expr` to every expression and `on_target` to every target inside `expr`, innermost last.
pub(crate) fn rewrite(expr: &mut Expr, on_expr: &mut dyn FnMut(&mut Expr), on_target: &mut dyn FnMut(&mut Target)) {
    on_expr(expr);
    match &mut expr.kind {
        ExprKind::Const { .. }
        | ExprKind::Str(_)
        | ExprKind::Local(_)
        | ExprKind::Global(_)
        | ExprKind::ConstArray { .. }
        | ExprKind::FamilyLit { .. }
        | ExprKind::Empty { .. }
        | ExprKind::ZeroCell
        | ExprKind::Error => {}
        ExprKind::Array(args) | ExprKind::Call { args, .. } | ExprKind::Prim { args, .. } => {
            args.iter_mut().for_each(|arg| rewrite(arg, on_expr, on_target));
        }
        ExprKind::Cond { cond, then, els } => {
            [cond, then, els].into_iter().for_each(|child| rewrite(child, on_expr, on_target));
        }
        ExprKind::With(with) => rewrite_with(with, on_expr, on_target),
        ExprKind::Cast { value, .. }
        | ExprKind::Wrap { value, .. }
        | ExprKind::Unwrap { value, .. }
        | ExprKind::Field { value, .. } => rewrite(value, on_expr, on_target),
        ExprKind::Block { block, value } => {
            block.iter_mut().for_each(|stmt| rewrite_stmt(stmt, on_expr, on_target));
            rewrite(value, on_expr, on_target);
        }
        ExprKind::StructLit { fields, .. } => {
            fields.iter_mut().flatten().for_each(|field| rewrite(field, on_expr, on_target));
        }
        ExprKind::WithField { value, new, .. } => {
            [value, new].into_iter().for_each(|child| rewrite(child, on_expr, on_target));
        }
        ExprKind::Derive(derive) => {
            rewrite(&mut derive.body, on_expr, on_target);
            derive.seeds.iter_mut().for_each(|seed| rewrite(seed, on_expr, on_target));
        }
        ExprKind::EachPart(each) => {
            let all = each.values.iter_mut().chain(&mut each.beside).chain(&mut each.args);
            all.for_each(|child| rewrite(child, on_expr, on_target));
        }
    }
}

fn rewrite_with(with: &mut With, on_expr: &mut dyn FnMut(&mut Expr), on_target: &mut dyn FnMut(&mut Target)) {
    for part in &mut with.parts {
        for bound in [&mut part.lower, &mut part.upper] {
            if let Bound::Expr(bound) = bound {
                rewrite(bound, on_expr, on_target);
            }
        }
        for child in part.step.iter_mut().chain(&mut part.width).chain(&mut part.values) {
            rewrite(child, on_expr, on_target);
        }
        part.body.iter_mut().for_each(|stmt| rewrite_stmt(stmt, on_expr, on_target));
    }
    for op in &mut with.ops {
        match op {
            WithOp::Genarray { shape, default } => {
                rewrite(shape, on_expr, on_target);
                default.iter_mut().for_each(|default| rewrite(default, on_expr, on_target));
            }
            WithOp::Modarray { array: operand } | WithOp::Propagate { object: operand, .. } => {
                rewrite(operand, on_expr, on_target);
            }
            WithOp::Fold { fun, neutral, stop } => {
                fun.args.iter_mut().for_each(|arg| rewrite(arg, on_expr, on_target));
                rewrite(neutral, on_expr, on_target);
                stop.iter_mut().for_each(|stop| rewrite(stop, on_expr, on_target));
            }
        }
    }
}

/// As [`rewrite`] for a statement.
pub(crate) fn rewrite_stmt(
    stmt: &mut Stmt,
    on_expr: &mut dyn FnMut(&mut Expr),
    on_target: &mut dyn FnMut(&mut Target),
) {
    match stmt {
        Stmt::Assign { targets, value, .. } => {
            targets.iter_mut().for_each(&mut *on_target);
            rewrite(value, on_expr, on_target);
        }
        Stmt::If { cond, then, els, .. } => {
            rewrite(cond, on_expr, on_target);
            then.iter_mut().chain(els).for_each(|stmt| rewrite_stmt(stmt, on_expr, on_target));
        }
        Stmt::While { cond, body, .. } => {
            rewrite(cond, on_expr, on_target);
            body.iter_mut().for_each(|stmt| rewrite_stmt(stmt, on_expr, on_target));
        }
    }
}
