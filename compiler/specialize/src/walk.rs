//! Which slots a piece of core assigns, and how often it reads one.

use ravel_core::ir::{Block, Bound, Expr, ExprKind, FunBody, LocalId, Stmt, Target, WithOp};
use std::collections::BTreeSet;

/// Slots assigned by a block in the scope of the function. What a with-loop part assigns is local to it.
pub fn assigned(block: &Block, out: &mut BTreeSet<LocalId>) {
    for stmt in block {
        match stmt {
            Stmt::Assign { targets, value, .. } => {
                assigned_in_expr(value, out);
                out.extend(targets.iter().filter_map(|t| match t {
                    Target::Local(l) => Some(*l),
                    _ => None,
                }));
            }
            Stmt::If {
                cond, then, els, ..
            } => {
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
fn children(e: &Expr, f: &mut dyn FnMut(&Expr)) {
    match &e.kind {
        ExprKind::Const { .. }
        | ExprKind::Str(_)
        | ExprKind::Local(_)
        | ExprKind::Global(_)
        | ExprKind::ConstArray { .. }
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
        ExprKind::With(with) => {
            for part in &with.parts {
                for bound in [&part.lower, &part.upper] {
                    if let Bound::Expr(e) = bound {
                        f(e);
                    }
                }
                part.step
                    .iter()
                    .chain(&part.width)
                    .chain(&part.values)
                    .for_each(&mut *f);
            }
            for op in &with.ops {
                match op {
                    WithOp::Genarray { shape, default } => {
                        f(shape);
                        default.iter().for_each(&mut *f);
                    }
                    WithOp::Modarray { array } => f(array),
                    WithOp::Fold { fun, neutral, stop } => {
                        fun.args.iter().for_each(&mut *f);
                        f(neutral);
                        stop.iter().for_each(&mut *f);
                    }
                }
            }
        }
    }
}

fn reads_in_expr(e: &Expr, slot: LocalId, count: &mut usize) {
    match &e.kind {
        ExprKind::Local(l) if *l == slot => *count += 1,
        ExprKind::Block { block, .. } => *count += reads(block, slot),
        ExprKind::With(with) => with
            .parts
            .iter()
            .for_each(|p| *count += reads(&p.body, slot)),
        _ => {}
    }
    children(e, &mut |child| reads_in_expr(child, slot, count));
}

/// Number of reads of a slot in a block.
pub fn reads(block: &Block, slot: LocalId) -> usize {
    let mut count = 0;
    for stmt in block {
        match stmt {
            Stmt::Assign { value, .. } => reads_in_expr(value, slot, &mut count),
            Stmt::If {
                cond, then, els, ..
            } => {
                reads_in_expr(cond, slot, &mut count);
                count += reads(then, slot) + reads(els, slot);
            }
            Stmt::While { cond, body, .. } => {
                reads_in_expr(cond, slot, &mut count);
                count += reads(body, slot);
            }
        }
    }
    count
}

/// Number of reads of a slot in a whole function body and in one expression list.
pub fn reads_in_body(body: &FunBody, slot: LocalId) -> usize {
    let FunBody::Sac { block, returns } = body else {
        return 0;
    };
    let mut count = reads(block, slot);
    returns
        .iter()
        .for_each(|e| reads_in_expr(e, slot, &mut count));
    count
}

/// Number of reads of a slot in an expression.
pub fn reads_of(e: &Expr, slot: LocalId) -> usize {
    let mut count = 0;
    reads_in_expr(e, slot, &mut count);
    count
}
