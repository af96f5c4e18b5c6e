//! What an iteration of a loop waits for goes last into extrema.
//!
//! ```text
//!    loop (%l = 0, %j = 1) { ... %m = max %up, %l   %s = max %m, %diag   %c = max %s, 0   yield ..., %c, %j + 1 }
//! => loop (%l = 0, %j = 1) { ... %m = max %up, %diag   %s = max %m, 0   %c = max %s, %l   yield ..., %c, %j + 1 }
//! ```
//!
//! The rows of dynamic programs, such as the alignment of sequences: iterations overlap but for the way from a carried scalar to its next value, and
//! the loop takes as long as that. Integers may be combined in any order; so those that the iteration has early are, and the latest comes last.
//!
//! Before: all else, for simplification puts constants last. After: in bodies of loops no tree of one such operation, of values that are used once, whose
//! result would be there earlier with its operands in another order.
//! Leaves alone: reals, of which `min` and `max` tell the order if one is not a number; sums and products, which machine code generation
//! reorders; and what only counts iterations.
//! Worth: tests/survey/recurrences/alignment (1.4 with Cranelift, 1.0 with LLVM).

use crate::edit::{insert_before, loops_of};
use crate::facts::places::Places;
use crate::pass::{Context, Pass};
use ravel_types::BinOp;
use ravel_types::HashMap;
use ravel_wir::{Func, Inst, Op, Region, Value};

pub const PASS: Pass =
    Pass::of("reassociate-extrema", "combine what an iteration of a loop waits for last", reassociate);

/// Operations in a row from a carried scalar to a value.
type Depths = HashMap<Value, u32>;

pub fn reassociate(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    for (_, inst) in loops_of(func) {
        let Op::Loop { body, .. } = func.insts[inst].op else { continue };
        // Later trees may have earlier ones for operands: each change asks anew.
        let mut here = false;
        while let Some((root, leaves, inner)) = next(func, body) {
            rebuild(func, body, root, &leaves, &inner);
            here = true;
        }
        if here {
            cx.applied(func.insts[inst].span, "what an iteration waits for is combined last");
        }
        changed |= here;
    }
    changed
}

/// A tree whose result would be there earlier with its operands in another order: its root, the operands in that order, and its other operations.
fn next(func: &Func, body: Region) -> Option<(Inst, Vec<Value>, Vec<Inst>)> {
    let depths = depths(func, body);
    if depths.is_empty() {
        return None;
    }
    let places = Places::new(func);
    let made: HashMap<Value, Inst> = func.regions[body]
        .insts
        .iter()
        .flat_map(|inst| func.insts[*inst].results.iter().map(|v| (*v, *inst)))
        .collect();
    func.regions[body].insts.iter().find_map(|&root| {
        let (op, a, b) = regrouped(func, root)?;
        let old = *depths.get(&func.insts[root].results[0])?;
        let (mut leaves, mut inner, mut work) = (Vec::new(), Vec::new(), vec![b, a]);
        while let Some(v) = work.pop() {
            let part = made.get(&v).filter(|_| depths.contains_key(&v) && places.uses(v).len() == 1);
            match part.and_then(|inst| Some((*inst, regrouped(func, *inst)?))) {
                Some((inst, (other, a, b))) if other == op => {
                    inner.push(inst);
                    work.extend([b, a]);
                }
                _ => leaves.push(v),
            }
        }
        // Stable: operands that are there at once keep their order.
        leaves.sort_by_key(|v| depths.get(v).map_or(0, |depth| depth + 1));
        let mut at = None;
        for depth in leaves.iter().map(|v| depths.get(v).copied()) {
            at = Some(match at {
                None => depth,
                Some(None) => depth.map(|depth| depth + 1),
                Some(Some(before)) => Some(depth.unwrap_or(0).max(before) + 1),
            });
        }
        (at.flatten()? < old).then_some((root, leaves, inner))
    })
}

/// The operands of an operation on integers or truth values that may be combined in any order, but for sums and products.
fn regrouped(func: &Func, inst: Inst) -> Option<(BinOp, Value, Value)> {
    let Op::Bin(op, a, b) = func.insts[inst].op else { return None };
    let ordered = func.ty(a).elem.is_float() || !func.ty(a).is_scalar();
    (matches!(op, BinOp::Min | BinOp::Max | BinOp::And | BinOp::Or | BinOp::Xor) && !ordered).then_some((op, a, b))
}

/// What follows from scalars that a loop carries and does not merely count with.
fn depths(func: &Func, body: Region) -> Depths {
    let data = &func.regions[body];
    let steps = |param: Value, next: Value| {
        next == param
            || data.insts.iter().any(|inst| {
                func.insts[*inst].results.contains(&next)
                    && matches!(func.insts[*inst].op, Op::Bin(BinOp::Add | BinOp::Sub, a, _) if a == param)
            })
    };
    let mut depths: Depths = data
        .params
        .iter()
        .zip(&data.yields[1..])
        .filter(|(param, next)| func.ty(**param).is_scalar() && !steps(**param, **next))
        .map(|(param, _)| (*param, 0))
        .collect();
    if depths.is_empty() {
        return depths;
    }
    for &inst in &data.insts {
        let mut latest = None;
        func.insts[inst].op.for_each_operand(|v| latest = latest.max(depths.get(&v).copied()));
        for nested in func.insts[inst].op.regions() {
            for v in ravel_wir::traverse::free_values(func, nested) {
                latest = latest.max(depths.get(&v).copied());
            }
        }
        if let Some(depth) = latest {
            depths.extend(func.insts[inst].results.iter().map(|v| (*v, depth + 1)));
        }
    }
    depths
}

/// Puts the tree together anew, with its operands from left to right.
fn rebuild(func: &mut Func, body: Region, root: Inst, leaves: &[Value], inner: &[Inst]) {
    let (Op::Bin(op, ..), [first, middle @ .., last]) = (func.insts[root].op.clone(), leaves) else { return };
    let (ty, span) = (func.ty(func.insts[root].results[0]).clone(), func.insts[root].span);
    let mut before = Vec::new();
    let mut left = *first;
    for leaf in middle {
        let made = func.make_inst(Op::Bin(op, left, *leaf), vec![ty.clone()], span);
        left = func.insts[made].results[0];
        before.push(made);
    }
    func.insts[root].op = Op::Bin(op, left, *last);
    func.regions[body].insts.retain(|inst| !inner.contains(inst));
    insert_before(func, body, root, before);
}
