//! Conditions of functions that never hold.

use super::Look;
use super::constants::{Value, value};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_syntax::ast::*;
use ravel_syntax::print_expr;
use std::collections::BTreeMap;

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
        let bounds = known
            .entry(print_expr(what))
            .or_insert_with(|| Bounds { lower: measure(function, what).map(|at| (0.0, false, at)), upper: None });
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
            let report = Diagnostic::warning(Code::GuardNeverHolds, title);
            let report = match measure(function, what) {
                // A measure that the text names where it stands has that place alone.
                Some(place) if place == other && place == what.span => report.at(term.span, "this is never negative"),
                Some(place) if place == other => {
                    report.at(term.span, "asks for less than 0").with_label(other, "this is never negative")
                }
                _ => report.at(term.span, "excludes the other").with_label(other, "what this one asks for"),
            };
            look.push(report.with_note("no call of the function can succeed"));
            return;
        }
    }
}

/// Where a name stands in the types of parameters, if it measures an array: an extent, or a number of axes. Other measures stand where they are.
fn measure(function: &Function, what: &Expr) -> Option<Span> {
    let ExprKind::Name(name) = &what.kind else { return length(what).then_some(what.span) };
    let mut dims = function.params.iter().flat_map(|param| param.ty.dims.iter().flatten());
    dims.find_map(|dim| match &dim.kind {
        DimKind::Name(extent) if extent.name == name.name => Some(extent.span),
        DimKind::Axes { count: AxisCount::Name { name: count, .. }, .. } if count.name == name.name => Some(count.span),
        _ => None,
    })
}

/// `dim(a)`, `shape(a)[0]`.
fn length(what: &Expr) -> bool {
    let calls = |expr: &Expr, called: &str| matches!(&expr.kind, ExprKind::Call(call) if &*call.callee.name == called);
    match &what.kind {
        ExprKind::Select { array, selectors } => calls(array, "shape") && selectors.len() == 1,
        _ => calls(what, "dim"),
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
