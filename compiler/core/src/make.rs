//! Small constructors for core expressions that desugaring writes.

use crate::ir::{Expr, ExprKind, LocalId, Stmt, Target};
use ravel_source::Span;
use ravel_types::{Basic, BinOp, Prim, Ranks, Scalar};

pub(crate) fn expr(kind: ExprKind, span: Span) -> Expr {
    Expr { kind, span }
}

pub(crate) fn error(span: Span) -> Expr {
    expr(ExprKind::Error, span)
}

pub(crate) fn local(slot: LocalId, span: Span) -> Expr {
    expr(ExprKind::Local(slot), span)
}

pub(crate) fn int(value: usize, span: Span) -> Expr {
    signed(value as i32, span)
}

pub(crate) fn signed(value: i32, span: Span) -> Expr {
    expr(ExprKind::Const { ty: Basic::Int, value: Scalar::I32(value) }, span)
}

/// `-n` of a small count.
pub(crate) fn minus(value: usize, span: Span) -> Expr {
    signed(-(value as i32), span)
}

pub(crate) fn bool(value: bool, span: Span) -> Expr {
    expr(ExprKind::Const { ty: Basic::Bool, value: Scalar::Bool(value) }, span)
}

/// An integer vector of the elements; they must be scalars.
pub(crate) fn vector(elements: Vec<Expr>, span: Span) -> Expr {
    match elements.is_empty() {
        true => expr(ExprKind::Empty { elem: crate::ir::ElemTy::Basic(Basic::Int), cell: Vec::new() }, span),
        false => expr(ExprKind::Array(elements), span),
    }
}

pub(crate) fn prim(prim: Prim, args: Vec<Expr>, span: Span) -> Expr {
    expr(ExprKind::Prim { prim, args }, span)
}

pub(crate) fn shape(array: Expr, span: Span) -> Expr {
    prim(Prim::Shape, vec![array], span)
}

/// Element `at` of a vector.
pub(crate) fn element(at: Expr, of: Expr, span: Span) -> Expr {
    prim(Prim::Sel, vec![vector(vec![at], span), of], span)
}

pub(crate) fn drop(count: Expr, of: Expr, span: Span) -> Expr {
    prim(Prim::Drop, vec![count, of], span)
}

pub(crate) fn take(count: Expr, of: Expr, span: Span) -> Expr {
    prim(Prim::Take, vec![count, of], span)
}

pub(crate) fn cat(left: Expr, right: Expr, span: Span) -> Expr {
    match (is_empty(&left), is_empty(&right)) {
        (true, _) => right,
        (_, true) => left,
        _ => prim(Prim::Cat, vec![left, right], span),
    }
}

fn is_empty(vector: &Expr) -> bool {
    matches!(vector.kind, ExprKind::Empty { .. })
}

pub(crate) fn binary(op: BinOp, ranks: Ranks, left: Expr, right: Expr, span: Span) -> Expr {
    prim(Prim::Bin(op, ranks), vec![left, right], span)
}

pub(crate) fn assign(slot: LocalId, value: Expr) -> Stmt {
    let span = value.span;
    Stmt::Assign { targets: vec![Target::Local(slot)], value, span }
}

/// `value` after the statements, if there are any.
pub(crate) fn after(mut block: Vec<Stmt>, value: Expr) -> Expr {
    if block.is_empty() {
        return value;
    }
    let span = value.span;
    if let ExprKind::Block { block: inner, value } = value.kind {
        block.extend(inner);
        return expr(ExprKind::Block { block, value }, span);
    }
    expr(ExprKind::Block { block, value: Box::new(value) }, span)
}

/// Whether evaluating the expression again costs nothing and gives the same.
pub(crate) fn is_simple(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Const { .. } | ExprKind::Local(_) | ExprKind::Empty { .. } | ExprKind::Error => true,
        ExprKind::Array(elements) => elements.len() <= 8 && elements.iter().all(is_simple),
        _ => false,
    }
}
