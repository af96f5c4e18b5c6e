//! Folds of small arrays that are written out become folds of their elements.
//!
//! ```text
//!    %s: f64[2] = with { part G { f  %c: f64[2] = array [%x, %y] yield %c } } fold add neutral %z
//! => %s0, %s1 = with { part G { f  yield %x, %y } } fold add neutral %z[0] fold add neutral %z[1]   %s = array [%s0, %s1]
//! ```
//!
//! Accumulators are then in registers, and lanes run along the fold or an axis around it.
//!
//! Before: the cycle of folding has ended, for several operators stand in its way. After: no fold of written cells of at most
//! [`MAX_FOLDED`] elements.
//! Leaves alone: folds with functions, folds that may stop early, and cells that are arrays made elsewhere.
//! Worth: tests/survey/small/normal-equations (6 with Cranelift, 62 with LLVM).

use crate::edit::{Defs, insert_after, insert_before, push_op};
use crate::facts::{Places, covers_frame};
use crate::pass::{Context, Pass};
use crate::small::sroa::elements;
use ravel_types::{Scalar, Ty};
use ravel_wir::{Combine, Frame, Func, Inst, InstData, Op, Region, Value, With, WithOp};

pub const PASS: Pass = Pass::of("sroa-folds", "fold the elements of small arrays as scalars", sroa_folds);

/// Most elements of an accumulator that is held in scalars: as many as the widest targets have registers.
pub const MAX_FOLDED: usize = 32;

pub fn sroa_folds(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    let places = Places::new(func);
    for inst in places.withs.clone() {
        let defs = Defs::new(func);
        let Some(region) = places.home(inst) else { continue };
        let Some(cells) = written_cells(func, &defs, inst) else { continue };
        split(func, &defs, region, inst, cells);
        cx.applied(func.insts[inst].span, "the elements of its cells are folded as scalars");
        changed = true;
    }
    changed
}

/// Elements of every partition's cell, if the with-loop is a fold of arrays that its bodies write out.
fn written_cells(func: &Func, defs: &Defs, inst: Inst) -> Option<Vec<Vec<Value>>> {
    let Op::With(with) = &func.insts[inst].op else { return None };
    let [WithOp::Fold { combine: Combine::Op(_), stop: None, .. }] = &with.ops[..] else { return None };
    let ty = func.ty(func.insts[inst].results[0]);
    let count = ty.shape.count().filter(|n| !ty.is_scalar() && (1..=MAX_FOLDED).contains(n))?;
    if with.ordered || with.parts.is_empty() {
        return None;
    }
    let cells = with.parts.iter().map(|part| match defs.op(func, func.regions[part.body].yields[0]) {
        Some(Op::Array(cells)) if cells.len() == count && cells.iter().all(|v| func.ty(*v).is_scalar()) => {
            Some(cells.clone())
        }
        _ => None,
    });
    cells.collect()
}

fn split(func: &mut Func, defs: &Defs, region: Region, inst: Inst, cells: Vec<Vec<Value>>) {
    let InstData { op, results, span } = func.insts[inst].clone();
    let Op::With(With { parts, ops, ordered }) = op else { return };
    let [WithOp::Fold { neutral, combine: Combine::Op(combine), .. }] = &ops[..] else { return };
    let ty = func.ty(results[0]).clone();
    let mut before = Vec::new();
    let neutrals = match everywhere(func, defs, *neutral) {
        Some(constant) => {
            vec![push_op(func, &mut before, Op::Const(constant), Ty::scalar(ty.elem), span); cells[0].len()]
        }
        None => elements(func, &mut before, *neutral, span),
    };
    let fold = |neutral: Value| WithOp::Fold { neutral, combine: Combine::Op(*combine), stop: None };
    let ops: Vec<WithOp> = neutrals.into_iter().map(fold).collect();
    let scalars: Vec<Value> = ops.iter().map(|_| func.new_value(Ty::scalar(ty.elem))).collect();
    for (part, cells) in parts.iter().zip(cells) {
        func.regions[part.body].yields = cells;
    }
    func.insts[inst].op = Op::With(With { parts, ops, ordered });
    func.insts[inst].results = scalars.clone();
    // The old result lives on as the array of the new ones.
    let whole = func.insts.push(InstData { op: Op::Array(scalars), results, span });
    insert_after(func, region, inst, [whole]);
    insert_before(func, region, inst, before);
}

/// The constant that all elements of an array are.
fn everywhere(func: &Func, defs: &Defs, array: Value) -> Option<Scalar> {
    match defs.op(func, array)? {
        Op::With(With { parts, ops, .. }) => {
            let ([part], [WithOp::Genarray { frame: Frame::Known(frame), .. }]) = (&parts[..], &ops[..]) else {
                return None;
            };
            let constant = defs.constant(func, func.regions[part.body].yields[0]);
            constant.filter(|_| covers_frame(func, defs, part, frame))
        }
        Op::Reshape { array, .. } => everywhere(func, defs, *array),
        _ => None,
    }
}
