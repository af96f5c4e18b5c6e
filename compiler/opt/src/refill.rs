//! Arrays filled with one value that are needed again after one user has changed them: that user fills an array of its own.
//!
//! ```text
//!    %z = with { yield 0 } genarray [n]   loop { %b = loop (%t = %z) { update %t, .. } }
//! => loop { %y = with { yield 0 } genarray [n]   %b = loop (%t = %y) { update %t, .. } }
//! ```
//!
//! Equal arrays were made one, and went in front of loops, which is right for arrays that are read. One that is changed would be copied: that
//! reads as much as it writes, and the loop that writes all elements finds them computed.
//!
//! Before: the passes have ended; common subexpressions would undo this. After: no filled array is copied to be changed.
//! Leaves alone: arrays with a single user, not repeated more often than they are made; arrays that are only read; other with-loops, even cheap ones.

use crate::pass::{Context, Pass, Run};
use crate::places::{Places, Use};
use ravel_wir::traverse::walk;
use ravel_wir::{Frame, Func, Generator, Inst, Op, Region, Value, WithOp};

pub const PASS: Pass =
    Pass { name: "refill", summary: "fill an array again instead of copying it", run: Run::Func(refill) };

pub fn refill(func: &mut Func, cx: &mut Context) -> bool {
    let mut fills: Vec<(Region, Inst)> = Vec::new();
    walk(func, func.body, &mut |region, inst| {
        if is_fill(func, inst) {
            fills.push((region, inst));
        }
    });
    if fills.is_empty() {
        return false;
    }
    let places = Places::new(func);
    let mut changed = false;
    for (home, fill) in fills {
        let filled = func.insts[fill].results[0];
        let uses = places.uses(filled);
        let repeated = |inst: Inst| {
            let region = places.region_of[inst].expand()?;
            let path = places.path(region, home)?;
            let repeats = |r: &Region| {
                let owner = places.owner[*r].expand();
                owner.is_some_and(|owner| !matches!(func.insts[owner].op, Op::If { .. }))
            };
            Some((region, path.iter().any(repeats)))
        };
        let wanted: Vec<(Region, Inst)> = uses
            .iter()
            .filter_map(|user| match user {
                Use::Operand(inst) if changes(func, &places, *inst, filled) => {
                    let (region, again) = repeated(*inst)?;
                    (again || uses.len() > 1).then_some((region, *inst))
                }
                _ => None,
            })
            .collect();
        // The first one may have the array itself, if nothing else needs it.
        let spare = usize::from(wanted.len() == uses.len() && wanted.iter().all(|(region, _)| *region == home));
        for (region, user) in wanted.into_iter().skip(spare) {
            let body = func.insts[fill].op.regions()[0];
            let copy = crate::edit::Copier::within(func, body).inst(func, fill);
            let new = func.insts[copy].results[0];
            func.insts[user].op.for_each_operand_mut(|v| {
                if *v == filled {
                    *v = new;
                }
            });
            let insts = &mut func.regions[region].insts;
            let place = insts.iter().position(|inst| *inst == user).expect("the user is in its region");
            insts.insert(place, copy);
            cx.applied(func.insts[fill].span, "filled again for who changes it, instead of copied");
            changed = true;
        }
        if changed && !is_used(func, filled) {
            func.regions[home].insts.retain(|inst| *inst != fill);
        }
    }
    changed
}

/// A new array all of whose elements are one scalar that is known before, or a few such.
fn is_fill(func: &Func, inst: Inst) -> bool {
    let Op::With(with) = &func.insts[inst].op else { return false };
    let [WithOp::Genarray { frame: Frame::Known(_), cell: Some(cell), .. }] = &with.ops[..] else { return false };
    let constant = |region: Region| {
        let data = &func.regions[region];
        data.insts.iter().all(|inst| matches!(func.insts[*inst].op, Op::Const(_)))
            && data.yields.iter().all(|v| !data.params.contains(v))
    };
    cell.is_empty()
        && !with.parts.is_empty()
        && with.parts.iter().all(|p| matches!(p.generator, Generator::Known { .. }) && constant(p.body))
}

/// Does the instruction make another array out of `v`, in its place if it can?
fn changes(func: &Func, places: &Places, inst: Inst, v: Value) -> bool {
    let mut operands = 0;
    func.insts[inst].op.for_each_operand(|operand| operands += usize::from(operand == v));
    operands == 1
        && match &func.insts[inst].op {
            Op::Update { array, .. } => *array == v,
            Op::With(with) => with.ops.iter().any(|op| matches!(op, WithOp::Modarray { array } if *array == v)),
            Op::Loop { init, body } => {
                let param = init.iter().position(|init| *init == v).map(|k| func.regions[*body].params[k]);
                param.is_some_and(|param| {
                    let by = |user: &Use| matches!(user, Use::Operand(inst) if changes(func, places, *inst, param));
                    places.uses(param).iter().any(by)
                })
            }
            _ => false,
        }
}

fn is_used(func: &Func, v: Value) -> bool {
    crate::edit::use_counts(func)[v] > 0
}
