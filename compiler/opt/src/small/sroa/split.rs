//! Small arrays that loops and branches hand on become scalars.
//!
//! ```text
//!    %r = loop (%z: f64[2] = %c) { ... %n = array [%x, %y] yield %go, %n }
//! => %r0, %r1 = loop (%z0 = %c[0], %z1 = %c[1]) { %z = array [%z0, %z1] ... yield %go, %x, %y }   %r = array [%r0, %r1]
//! ```
//!
//! After: carried values and branch results of a few elements are scalars, if they are put together element
//! by element anyway.
//! Leaves alone: arrays that come out of memory in every iteration.

use super::MAX_ELEMENTS;
use crate::edit::{Defs, Renames, insert_after, insert_before, insts_where, prepend, push_op};
use crate::facts::{Places, Use};
use ravel_source::Span;
use ravel_types::{Elem, Scalar, Ty};
use ravel_wir::{Func, Inst, Op, Region, Value};

pub fn split_carried(func: &mut Func) -> bool {
    let mut owners = insts_where(func, func.body, |op| matches!(op, Op::Loop { .. } | Op::If { .. }));
    owners.retain(|(_, inst)| func.insts[*inst].results.iter().any(|v| is_small(func, *v)));
    let mut changed = false;
    let mut facts = None;
    for (region, inst) in owners {
        let (defs, places) = facts.get_or_insert_with(|| (Defs::new(func), Places::new(func)));
        let slots: Vec<usize> =
            (0..func.insts[inst].results.len()).filter(|k| is_split(func, defs, places, inst, *k)).collect();
        if slots.is_empty() {
            continue;
        }
        // From the last to the first, so that earlier positions stay what they are.
        for k in slots.into_iter().rev() {
            split(func, region, inst, k);
        }
        changed = true;
        facts = None;
    }
    changed
}

/// Whether the value is an array of a few elements, by its type.
fn is_small(func: &Func, value: Value) -> bool {
    let ty = func.ty(value);
    !ty.is_scalar() && ty.shape.count().is_some_and(|n| (1..=MAX_ELEMENTS).contains(&n))
}

fn is_split(func: &Func, defs: &Defs, places: &Places, inst: Inst, k: usize) -> bool {
    let ty = func.ty(func.insts[inst].results[k]);
    if !is_small(func, func.insts[inst].results[k]) {
        return false;
    }
    let same_type = |v: Value| func.ty(v).shape == ty.shape;
    let is_composed = |v: Value| {
        same_type(v)
            && matches!(defs.op(func, v), Some(Op::Array(cells)) if cells.iter().all(|c| func.ty(*c).is_scalar()))
    };
    let is_constant = |v: Value| same_type(v) && matches!(defs.op(func, v), Some(Op::ConstArray(_)));
    match &func.insts[inst].op {
        Op::Loop { init, body } => {
            let body = &func.regions[*body];
            same_type(init[k]) && same_type(body.params[k]) && is_composed(body.yields[k + 1])
        }
        Op::If { then, els, .. } => {
            let (a, b) = (func.regions[*then].yields[k], func.regions[*els].yields[k]);
            let by_element = |u: &Use| match u {
                Use::Operand(user) => match &func.insts[*user].op {
                    Op::Sel { index, .. } => {
                        index.len() == ty.rank().unwrap_or(0) && index.iter().all(|i| defs.int(func, *i).is_some())
                    }
                    _ => false,
                },
                // The cell of a with-loop is stored element by element in any case.
                Use::Yield(region) => {
                    let owner = places.owner_of(*region).map(|owner| &func.insts[owner].op);
                    matches!(owner, Some(Op::With(with)) if with.parts.iter().any(|p| p.body == *region))
                }
            };
            let used_by_element = places.uses(func.insts[inst].results[k]).iter().all(by_element);
            let (a_made, b_made) = (is_composed(a) || is_constant(a), is_composed(b) || is_constant(b));
            (is_composed(a) || is_composed(b))
                && ((a_made && b_made) || (used_by_element && same_type(a) && same_type(b)))
        }
        _ => false,
    }
}

/// The elements of an array, in row-major order.
pub fn elements(func: &mut Func, out: &mut Vec<Inst>, array: Value, span: Span) -> Vec<Value> {
    let ty = func.ty(array).clone();
    let extents = ty.shape.constants().unwrap_or_default();
    let count = ty.shape.count().unwrap_or(0);
    (0..count)
        .map(|flat| {
            let mut rest = flat as i32;
            let mut index: Vec<i32> = extents
                .iter()
                .rev()
                .map(|n| {
                    let i = rest % n;
                    rest /= n;
                    i
                })
                .collect();
            index.reverse();
            let index = index
                .into_iter()
                .map(|i| push_op(func, out, Op::Const(Scalar::I32(i)), Ty::scalar(Elem::I32), span))
                .collect();
            push_op(func, out, Op::Sel { array, index }, Ty::scalar(ty.elem), span)
        })
        .collect()
}

fn replace_one(list: &mut Vec<Value>, at: usize, by: &[Value]) {
    list.splice(at..=at, by.iter().copied());
}

fn split(func: &mut Func, region: Region, inst: Inst, k: usize) {
    let span = func.insts[inst].span;
    let result = func.insts[inst].results[k];
    let ty = func.ty(result).clone();
    let count = ty.shape.count().unwrap_or(0);
    let scalars = |func: &mut Func| (0..count).map(|_| func.new_value(Ty::scalar(ty.elem))).collect::<Vec<_>>();
    let mut before = Vec::new();
    let mut op = func.insts[inst].op.clone();
    match &mut op {
        Op::Loop { init, body } => {
            let starts = elements(func, &mut before, init[k], span);
            replace_one(init, k, &starts);
            let params = scalars(func);
            let old = func.regions[*body].params[k];
            replace_one(&mut func.regions[*body].params, k, &params);
            let mut head = Vec::new();
            let whole = push_op(func, &mut head, Op::Array(params), ty.clone(), span);
            prepend(func, *body, head);
            Renames::from_iter([(old, whole)]).apply_region(func, *body);
            split_yield(func, *body, k + 1, span);
        }
        Op::If { then, els, .. } => {
            split_yield(func, *then, k, span);
            split_yield(func, *els, k, span);
        }
        _ => return,
    }
    func.insts[inst].op = op;
    let parts = scalars(func);
    replace_one(&mut func.insts[inst].results, k, &parts);
    // The old result lives on as the array of the new ones.
    let whole = func.insts.push(ravel_wir::InstData { op: Op::Array(parts), results: vec![result], span });
    insert_after(func, region, inst, [whole]);
    insert_before(func, region, inst, before);
}

fn split_yield(func: &mut Func, region: Region, at: usize, span: Span) {
    let array = func.regions[region].yields[at];
    let mut out = Vec::new();
    let parts = elements(func, &mut out, array, span);
    func.regions[region].insts.extend(out);
    replace_one(&mut func.regions[region].yields, at, &parts);
}
