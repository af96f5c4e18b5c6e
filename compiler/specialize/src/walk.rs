//! Which slots a piece of core assigns, and the expressions below an expression.

use ravel_core::ir::{Bound, Expr, ExprKind, LocalId, Stmt, Target, With, WithOp};
use std::collections::BTreeSet;

/// Slots assigned by a block in the scope of the function. What a with-loop part assigns is local to it.
pub fn assigned(block: &[Stmt], out: &mut BTreeSet<LocalId>) {
    for stmt in block {
        match stmt {
            Stmt::Assign { targets, value, .. } => {
                assigned_in_expr(value, out);
                out.extend(targets.iter().filter_map(|t| match t {
                    Target::Local(l) => Some(*l),
                    _ => None,
                }));
            }
            Stmt::If { cond, then, els, .. } => {
                assigned_in_expr(cond, out);
                assigned(then, out);
                assigned(els, out);
            }
            Stmt::While { cond, body, .. } => {
                assigned_in_expr(cond, out);
                assigned(body, out);
            }
        }
    }
}

/// The same for an expression: only block expressions assign.
pub fn assigned_in_expr(e: &Expr, out: &mut BTreeSet<LocalId>) {
    if let ExprKind::Block { block, .. } = &e.kind {
        assigned(block, out);
    }
    if !matches!(e.kind, ExprKind::With(_)) {
        children(e, &mut |child| assigned_in_expr(child, out));
    }
}

/// Calls `f` on the direct subexpressions, not on statements of blocks and with-loops.
pub fn children(e: &Expr, f: &mut dyn FnMut(&Expr)) {
    match &e.kind {
        ExprKind::Const { .. }
        | ExprKind::Str(_)
        | ExprKind::Local(_)
        | ExprKind::Global(_)
        | ExprKind::ConstArray { .. }
        | ExprKind::FamilyLit { .. }
        | ExprKind::Empty { .. }
        | ExprKind::ZeroCell
        | ExprKind::Error => {}
        ExprKind::Array(items) => items.iter().for_each(f),
        ExprKind::Call { args, .. } | ExprKind::Prim { args, .. } => args.iter().for_each(f),
        ExprKind::Cond { cond, then, els } => {
            f(cond);
            f(then);
            f(els);
        }
        ExprKind::Cast { value, .. }
        | ExprKind::Wrap { value, .. }
        | ExprKind::Unwrap { value, .. }
        | ExprKind::Field { value, .. }
        | ExprKind::Block { value, .. } => f(value),
        ExprKind::WithField { value, new, .. } => {
            f(value);
            f(new);
        }
        ExprKind::StructLit { fields, .. } => fields.iter().flatten().for_each(f),
        ExprKind::Derive(derive) => {
            f(&derive.body);
            derive.seeds.iter().for_each(f);
        }
        ExprKind::EachPart(each) => {
            each.values.iter().chain(&each.beside).chain(&each.args).for_each(f);
        }
        ExprKind::With(with) => {
            with.parts.iter().flat_map(|p| &p.values).for_each(&mut *f);
            with_operands(with, f);
        }
    }
}

/// Calls `f` on the bounds and operands of a with-loop, which are evaluated before its parts.
pub fn with_operands(with: &With, f: &mut dyn FnMut(&Expr)) {
    for part in &with.parts {
        for bound in [&part.lower, &part.upper] {
            if let Bound::Expr(e) = bound {
                f(e);
            }
        }
        part.step.iter().chain(&part.width).for_each(&mut *f);
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
