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
//! Leaves alone: the last user, if it is not repeated more often than the array is made; arrays that are only read; other with-loops, even cheap ones.
//! Worth: tests/survey/reductions/distinct (1.2 with Cranelift, 1.5 with LLVM).

use crate::edit::{drop_inst, insert_before, insts_where};
use crate::facts::{Places, Use};
use crate::pass::{Context, Pass};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Region, Value, WithOp};

pub const PASS: Pass =
    Pass::of("rematerialize-fills", "fill an array again instead of copying it", rematerialize_fills);

pub fn rematerialize_fills(func: &mut Func, cx: &mut Context) -> bool {
    let mut fills = insts_where(func, func.body, |op| matches!(op, Op::With(_)));
    fills.retain(|(_, inst)| is_fill(func, *inst));
    if fills.is_empty() {
        return false;
    }
    let places = Places::new(func);
    let mut changed = false;
    for (home, fill) in fills {
        let filled = func.insts[fill].results[0];
        let uses = places.uses(filled);
        let repeated = |inst: Inst| {
            let region = places.home(inst)?;
            let path = places.path(region, home)?;
            let repeats = |r: &Region| {
                let owner = places.owner_of(*r);
                owner.is_some_and(|owner| !matches!(func.insts[owner].op, Op::If { .. }))
            };
            Some((region, path.iter().any(repeats)))
        };
        let wanted: Vec<(Region, Inst)> = uses
            .iter()
            .filter_map(|user| match user {
                Use::Operand(inst) if changes(func, &places, *inst, filled) => {
                    let (region, again) = repeated(*inst)?;
                    // The last one to need the array may have it.
                    let needed =
                        || uses.iter().any(|other| other != user && may_follow(func, &places, home, *inst, *other));
                    (again || needed()).then_some((region, *inst))
                }
                _ => None,
            })
            .collect();
        for (region, user) in wanted {
            let body = func.insts[fill].op.regions()[0];
            let copy = crate::edit::Copier::within(func, body).inst(func, fill);
            let new = func.insts[copy].results[0];
            func.insts[user].op.for_each_operand_mut(|v| {
                if *v == filled {
                    *v = new;
                }
            });
            insert_before(func, region, user, [copy]);
            cx.applied(func.insts[fill].span, "filled again for who changes it, instead of copied");
            changed = true;
        }
        if changed && !is_used(func, filled) {
            drop_inst(func, home, fill);
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

/// May `other` happen after the instruction has, in one run of the region `home`? Branches that exclude each other do not follow one
/// another; the instruction is in branches at most, and not repeated.
fn may_follow(func: &Func, places: &Places, home: Region, inst: Inst, other: Use) -> bool {
    let path = |region: Option<Region>| {
        let mut path = places.path(region?, home)?;
        path.push(home);
        path.reverse();
        Some(path)
    };
    let (other_region, other_inst) = match other {
        Use::Operand(inst) => (places.home(inst), Some(inst)),
        Use::Yield(region) => (Some(region), None),
    };
    let (Some(mine), Some(theirs)) = (path(places.home(inst)), path(other_region)) else { return true };
    let common = mine.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    // Where they are, or what they are inside of, in the innermost region that has both; a region yields last.
    let stop = |path: &[Region], inst: Option<Inst>| match path.get(common) {
        Some(inner) => places.owner_of(*inner),
        None => inst,
    };
    let Some((mine_at, theirs_at)) = stop(&mine, Some(inst)).zip(stop(&theirs, other_inst)) else { return true };
    if mine_at == theirs_at {
        return !matches!(func.insts[mine_at].op, Op::If { .. });
    }
    let insts = &func.regions[mine[common - 1]].insts;
    let position = |inst: Inst| insts.iter().position(|i| *i == inst);
    position(theirs_at) >= position(mine_at)
}

fn is_used(func: &Func, v: Value) -> bool {
    crate::edit::use_counts(func)[v] > 0
}
