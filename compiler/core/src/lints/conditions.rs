//! Conditions that always give the same, and conditions of functions that never hold.

use super::constants::{Value, value};
use super::names::each_stmt;
use super::{Look, each_expr};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_syntax::ast::*;
use ravel_syntax::print_expr;
use std::collections::BTreeMap;

/// `if (1 == 2)`, `while (false)`. A loop without end is what its author means.
pub(super) fn constant(function: &Function, look: &mut Look<'_>) {
    let Some(body) = &function.body else { return };
    if !look.is_on(Code::ConstantCondition) {
        return;
    }
    let mut found: Vec<(&Expr, bool, &str)> = Vec::new();
    let mut add = |cond, what, alone: Option<bool>| {
        if let Some(Value::Bool(always)) = value(cond)
            && alone.is_none_or(|only| only == always)
        {
            found.push((cond, always, what));
        }
    };
    // Bodies of with-loops have statements, too.
    let mut blocks: Vec<&[Stmt]> = vec![&body.stmts];
    each_expr(function, &mut |expr| match &expr.kind {
        ExprKind::Cond { cond, .. } => add(cond, "the other value is never taken", None),
        ExprKind::With(with) => blocks.extend(with.parts.iter().map(|part| &part.body.stmts[..])),
        _ => {}
    });
    for block in blocks {
        each_stmt(block, &mut |stmt| match &stmt.kind {
            StmtKind::If { cond, .. } => add(cond, "one of the branches is never taken", None),
            StmtKind::While { cond, .. } | StmtKind::For { cond, .. } => {
                add(cond, "the body is never reached", Some(false));
            }
            _ => {}
        });
    }
    for (cond, always, what) in found {
        if look.has_expr(cond) {
            let title = format!("this condition is always {always}");
            look.push(Diagnostic::warning(Code::ConstantCondition, title).at(cond.span, what));
        }
    }
}

/// Bounds that a conjunction of comparisons sets to one expression, each with whether it is excluded, and where.
#[derive(Clone, Copy, Default)]
struct Bounds {
    lower: Option<(f64, bool, Span)>,
    upper: Option<(f64, bool, Span)>,
}

/// Conditions that are false by themselves, or bound an expression from both sides so that nothing is left.
pub(super) fn guards(function: &Function, look: &mut Look<'_>) {
    if !look.is_on(Code::GuardNeverHolds) {
        return;
    }
    let mut terms = Vec::new();
    function.conditions.iter().for_each(|condition| conjuncts(condition, &mut terms));
    terms.retain(|term| look.has_expr(term));
    let mut known: BTreeMap<String, Bounds> = BTreeMap::new();
    for term in terms {
        if value(term) == Some(Value::Bool(false)) {
            let title = format!("the conditions of `{}` never hold", function.name.name);
            look.push(
                Diagnostic::warning(Code::GuardNeverHolds, title)
                    .at(term.span, "always false")
                    .with_note("no call of the function can succeed"),
            );
            return;
        }
        let Some((what, op, limit)) = comparison(term) else { continue };
        let bounds = known.entry(print_expr(what)).or_default();
        let (lower, upper) = match op {
            "<" => (None, Some((limit, true, term.span))),
            "<=" => (None, Some((limit, false, term.span))),
            ">" => (Some((limit, true, term.span)), None),
            ">=" => (Some((limit, false, term.span)), None),
            _ => (Some((limit, false, term.span)), Some((limit, false, term.span))),
        };
        if let Some(new) = lower
            && bounds.lower.is_none_or(|old| (new.0, new.1) > (old.0, old.1))
        {
            bounds.lower = Some(new);
        }
        if let Some(new) = upper
            && bounds.upper.is_none_or(|old| (new.0, !new.1) < (old.0, !old.1))
        {
            bounds.upper = Some(new);
        }
        if let (Some(low), Some(high)) = (bounds.lower, bounds.upper)
            && (low.0 > high.0 || low.0 == high.0 && (low.1 || high.1))
        {
            let title = format!("the conditions of `{}` never hold", function.name.name);
            let other = if high.2 == term.span { low.2 } else { high.2 };
            look.push(
                Diagnostic::warning(Code::GuardNeverHolds, title)
                    .at(term.span, "excludes the other")
                    .with_label(other, "what this one asks for")
                    .with_note("no call of the function can succeed"),
            );
            return;
        }
    }
}

fn conjuncts<'e>(expr: &'e Expr, out: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::And { left, right } => {
            conjuncts(left, out);
            conjuncts(right, out);
        }
        _ => out.push(expr),
    }
}

/// An expression compared with a number, as if it stood on the left.
fn comparison(expr: &Expr) -> Option<(&Expr, &str, f64)> {
    let ExprKind::Binary { op, left, right } = &expr.kind else { return None };
    let number = |expr| match value(expr)? {
        Value::Int(value) => Some(value as f64),
        Value::Real(value) => Some(value),
        Value::Bool(_) => None,
    };
    let op = &*op.name;
    if !["<", "<=", ">", ">=", "=="].contains(&op) {
        return None;
    }
    if let Some(limit) = number(right) {
        return Some((left, op, limit));
    }
    let turned = match op {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        other => other,
    };
    Some((right, turned, number(left)?))
}
