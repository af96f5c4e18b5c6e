//! Fold functions that are one scalar operation, element by element, are named as such, so that folds may regroup.
//!
//! ```text
//!    fold { (%a, %b) %c = add %a, %b yield %c }                                            => fold add
//!    fold { (%a, %b) %c = with { part [0] <= [%i] < [%n] { a[i] + b[i] } } genarray [%n] } => fold add
//! ```
//!
//! Before: calls in fold functions inlined. After: every such function is a [`Combine::Op`].
//! Leaves alone: operations with exchanged operands that do not commute, and functions that do anything else.
//! Worth: tests/survey/with-loops/moments-of-columns (4.6 with Cranelift, 8.3 with LLVM).

use crate::edit::Defs;
use crate::facts::covers_frame;
use crate::pass::{Context, Pass};
use ravel_types::BinOp;
use ravel_wir::traverse::walk;
use ravel_wir::{Combine, Frame, Func, Op, Region, Value, WithOp};

pub const PASS: Pass =
    Pass::of("recognize-elementwise", "name fold functions that are one scalar operation", recognize_elementwise);

pub fn recognize_elementwise(func: &mut Func, cx: &mut Context) -> bool {
    let defs = Defs::new(func);
    let mut found = Vec::new();
    let mut others = Vec::new();
    walk(func, func.body, &mut |_, inst| {
        if let Op::With(with) = &func.insts[inst].op {
            for (k, op) in with.ops.iter().enumerate() {
                let Some(region) = op.region() else { continue };
                let Some(op) = operation(func, &defs, region) else {
                    others.push((inst, "its fold function is more than one scalar operation: it folds in order"));
                    continue;
                };
                // Accumulator and cells must have one shape throughout, which the types have to show.
                let acc = &func.ty(func.insts[inst].results[k]).shape;
                if with.parts.iter().all(|p| func.ty(func.regions[p.body].yields[k]).shape == *acc) {
                    found.push((inst, k, op));
                } else {
                    others.push((
                        inst,
                        "its cells are not known to have the shape of what it folds them to: it folds in order",
                    ));
                }
            }
        }
    });
    for (inst, why) in others {
        cx.refused(func.insts[inst].span, why);
    }
    for &(inst, k, op) in &found {
        cx.applied(
            func.insts[inst].span,
            "its function is a built-in operation: elements may be combined in any order",
        );
        if let Op::With(with) = &mut func.insts[inst].op
            && let WithOp::Fold { combine, .. } = &mut with.ops[k]
        {
            *combine = Combine::Op(op);
        }
    }
    !found.is_empty()
}

/// The operation that a fold function applies to accumulator and cell.
fn operation(func: &Func, defs: &Defs, region: Region) -> Option<BinOp> {
    let data = &func.regions[region];
    let (&[acc, cell], &[result]) = (&data.params[..], &data.yields[..]) else { return None };
    match defs.op(func, result)? {
        Op::Bin(op, a, b) => on_operands(*op, *a, *b, acc, cell),
        Op::With(with) => {
            let ([part], [WithOp::Genarray { frame: Frame::Known(frame), .. }]) = (&with.parts[..], &with.ops[..])
            else {
                return None;
            };
            let body = &func.regions[part.body];
            // Along an axis of extent 1 the index has become a zero.
            let is_unit = |axis: usize| func.ty(acc).shape.extents().and_then(|e| e.get(axis)?.as_const()) == Some(1);
            let is_index =
                |axis: usize, v: Value| v == body.params[axis] || (is_unit(axis) && defs.int(func, v) == Some(0));
            let axes = body.params.len();
            // Elements of a cell that is written out have a place in it.
            let source = |v: Value, place: Option<i32>| match defs.op(func, v) {
                Some(Op::Sel { array, index }) if index.len() == axes + usize::from(place.is_some()) => {
                    let is_there = place.is_none() || defs.int(func, index[axes]) == place;
                    let along = index[..axes].iter().enumerate().all(|(axis, i)| is_index(axis, *i));
                    (is_there && along).then_some(*array)
                }
                _ => None,
            };
            let element = |v: Value, place: Option<i32>| match defs.op(func, v)? {
                Op::Bin(op, a, b) => on_operands(*op, source(*a, place)?, source(*b, place)?, acc, cell),
                _ => None,
            };
            let (op, rank) = match defs.op(func, body.yields[0])? {
                Op::Array(elements) => {
                    let ops: Option<Vec<BinOp>> = (0..).zip(elements).map(|(k, v)| element(*v, Some(k))).collect();
                    let ops = ops?;
                    (*ops.first().filter(|op| ops.iter().all(|other| other == *op))?, frame.len() + 1)
                }
                _ => (element(body.yields[0], None)?, frame.len()),
            };
            let is_whole = func.ty(acc).shape == func.ty(result).shape && func.ty(acc).rank() == Some(rank);
            let is_simple = |op: &Op| matches!(op, Op::Bin(..) | Op::Sel { .. } | Op::Const(_) | Op::Array(_));
            let only = body.insts.iter().all(|i| is_simple(&func.insts[*i].op));
            (is_whole && only && covers_frame(func, defs, part, frame)).then_some(op)
        }
        _ => None,
    }
}

fn on_operands(op: BinOp, a: Value, b: Value, acc: Value, cell: Value) -> Option<BinOp> {
    if op.is_comparison() || op.divides() {
        return None;
    }
    let straight = a == acc && b == cell;
    let exchanged = a == cell && b == acc && op.commutes() && !matches!(op, BinOp::Min | BinOp::Max);
    (straight || exchanged).then_some(op)
}
