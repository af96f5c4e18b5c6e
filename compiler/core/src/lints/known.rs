//! Conditions that always give the same, by literals and by what the assignments before them say.
//!
//! ```text
//! n = 0;
//! if (n > 0) { .. }           always false: `n` is 0
//! while (n < 10) { f(n); }    never ends: nothing in the loop changes `n`
//! ```
//!
//! One walk from the start of a function to its end with the values of variables. Where ways meet, what they agree on stays; what a loop
//! assigns is unknown in it and behind it. A truth value alone, `if (verbose)`, is a switch, and meant. Parameters have no values, so what differs between calls, and ranks and shapes, are never known.

use super::Look;
use super::constants::{Value, value_with};
use super::names::each_stmt;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_syntax::ast::*;
use std::collections::BTreeMap;

/// A value, and the assignment that gave it.
type Known<'f> = BTreeMap<&'f str, (Value, Span)>;

/// Looks at the conditions of a function.
pub(super) fn look(function: &Function, look: &mut Look<'_>) {
    let Some(body) = &function.body else { return };
    if !look.is_on(Code::ConstantCondition) {
        return;
    }
    let mut walk = Walk { look, found: Vec::new() };
    let mut known = Known::new();
    walk.block(&body.stmts, &mut known);
    body.ret.iter().flat_map(|ret| &ret.values).for_each(|value| walk.expr(value, &mut known));
    let found = walk.found;
    found.into_iter().for_each(|report| look.push(report));
}

struct Walk<'w, 'l> {
    look: &'w Look<'l>,
    found: Vec<Diagnostic>,
}

impl Walk<'_, '_> {
    fn block<'f>(&mut self, stmts: &'f [Stmt], known: &mut Known<'f>) {
        stmts.iter().for_each(|stmt| self.stmt(stmt, known));
    }

    fn stmt<'f>(&mut self, stmt: &'f Stmt, known: &mut Known<'f>) {
        match &stmt.kind {
            StmtKind::Assign { targets, op, value } => {
                targets.iter().for_each(|target| self.indices(target, known));
                self.expr(value, known);
                let new = match (&targets[..], op) {
                    ([target], None) if target.accesses.is_empty() && target.name.module.is_none() => {
                        let value = evaluated(value, known).filter(|_| self.look.has_expr(value));
                        value.map(|value| (&*target.name.name, value))
                    }
                    _ => None,
                };
                known.retain(|name, _| targets.iter().all(|target| *target.name.name != **name));
                if let Some((name, value)) = new {
                    known.insert(name, (value, stmt.span));
                }
            }
            StmtKind::IncDec { target, .. } => {
                self.indices(target, known);
                known.remove(&*target.name.name);
            }
            StmtKind::Call(call) => self.call(call, known),
            StmtKind::With(with) => self.with(with, known),
            StmtKind::If { cond, then, otherwise } => {
                self.expr(cond, known);
                self.constant(cond, known, None, "one of the branches is never taken");
                let mut other = known.clone();
                self.block(&then.stmts, known);
                otherwise.iter().for_each(|block| self.block(&block.stmts, &mut other));
                known.retain(|name, value| other.get(name) == Some(value));
            }
            StmtKind::While { cond, body } => self.repeated(cond, (&body.stmts, &[]), known),
            StmtKind::For { init, cond, step, body } => {
                self.block(init, known);
                self.repeated(cond, (&body.stmts, step), known);
            }
            StmtKind::DoWhile { body, cond } => {
                forget(&body.stmts, known);
                self.block(&body.stmts, known);
                self.expr(cond, known);
            }
            StmtKind::Error => {}
        }
    }

    fn repeated<'f>(&mut self, cond: &'f Expr, (body, step): (&'f [Stmt], &'f [Stmt]), known: &mut Known<'f>) {
        self.constant(cond, known, Some(false), "the body is never reached");
        forget(body, known);
        forget(step, known);
        // Of a loop without end that says so, `while (true)`, its author knows.
        if self.is_comparison(cond) {
            self.constant(cond, known, Some(true), "the loop never ends: nothing in it changes this");
        }
        self.expr(cond, known);
        let mut inside = known.clone();
        self.block(body, &mut inside);
        self.block(step, &mut inside);
    }

    /// Whether a condition compares a variable with something.
    fn is_comparison(&self, cond: &Expr) -> bool {
        let mut has_name = false;
        crate::visit::each_name(cond, &mut |_| has_name = true);
        has_name && matches!(cond.kind, ExprKind::Binary { .. } | ExprKind::And { .. } | ExprKind::Or { .. })
    }

    fn call<'f>(&mut self, call: &'f Call, known: &mut Known<'f>) {
        call.args.iter().for_each(|arg| self.expr(arg, known));
    }

    fn indices<'f>(&mut self, target: &'f LValue, known: &mut Known<'f>) {
        for access in &target.accesses {
            if let Access::Index { selectors, .. } = access {
                selectors.iter().filter_map(crate::visit::selected).for_each(|index| self.expr(index, known));
            }
        }
    }

    fn expr<'f>(&mut self, expr: &'f Expr, known: &mut Known<'f>) {
        match &expr.kind {
            ExprKind::Cond { cond, then, otherwise } => {
                self.expr(cond, known);
                self.constant(cond, known, None, "the other value is never taken");
                self.expr(then, known);
                self.expr(otherwise, known);
            }
            ExprKind::Call(call) => self.call(call, known),
            ExprKind::With(with) => self.with(with, known),
            ExprKind::Comprehension(comprehension) => {
                crate::visit::children(expr, &mut |child| self.expr(child, known));
                for partition in &comprehension.partitions {
                    let mut inside = known.clone();
                    match &partition.index.kind {
                        TensorIndexKind::Vector(name) => {
                            inside.remove(&*name.name);
                        }
                        TensorIndexKind::List(items) => items.iter().for_each(|item| {
                            if let IndexItem::Name(name) = item {
                                inside.remove(&*name.name);
                            }
                        }),
                    }
                    self.expr(&partition.body, &mut inside);
                }
            }
            _ => crate::visit::children(expr, &mut |child| self.expr(child, known)),
        }
    }

    fn with<'f>(&mut self, with: &'f With, known: &mut Known<'f>) {
        crate::visit::with_children(with, &mut |child| self.expr(child, known));
        for part in &with.parts {
            let mut inside = known.clone();
            part.index.vector.iter().chain(part.index.scalars.iter().flatten()).for_each(|index| {
                inside.remove(&*index.name);
            });
            self.block(&part.body.stmts, &mut inside);
            part.values.iter().for_each(|value| self.expr(value, &mut inside));
        }
    }

    /// Reports a condition that always gives the same, or only if that is `alone`.
    fn constant(&mut self, cond: &Expr, known: &Known<'_>, alone: Option<bool>, what: &str) {
        let Some(Value::Bool(always)) = evaluated(cond, known) else { return };
        if alone.is_some_and(|only| only != always) || is_switch(cond) || !self.look.has_expr(cond) {
            return;
        }
        let title = format!("this condition is always {always}");
        let mut report = Diagnostic::warning(Code::ConstantCondition, title).at(cond.span, what);
        let mut named: Vec<&str> = Vec::new();
        crate::visit::each_name(cond, &mut |name| named.push(&name.name));
        for (name, (value, place)) in known.iter().filter(|(name, _)| named.contains(name)) {
            report = report.with_label(*place, format!("`{name}` is {value} from here on"));
        }
        self.found.push(report);
    }
}

/// Removes what statements assign. Calls change no numbers: reference parameters are of classes.
fn forget(stmts: &[Stmt], known: &mut Known<'_>) {
    each_stmt(stmts, &mut |stmt| match &stmt.kind {
        StmtKind::Assign { targets, .. } => {
            known.retain(|name, _| targets.iter().all(|target| *target.name.name != **name));
        }
        StmtKind::IncDec { target, .. } => {
            known.remove(&*target.name.name);
        }
        _ => {}
    });
}

/// A truth value that is turned on and off in the text: `verbose = false;` .. `if (verbose)`.
fn is_switch(cond: &Expr) -> bool {
    match &cond.kind {
        ExprKind::Name(_) => true,
        ExprKind::Unary { operand, .. } => is_switch(operand),
        ExprKind::And { left, right } | ExprKind::Or { left, right } => is_switch(left) || is_switch(right),
        _ => false,
    }
}

fn evaluated(expr: &Expr, known: &Known<'_>) -> Option<Value> {
    value_with(expr, &|name| known.get(name).map(|(value, _)| *value))
}
