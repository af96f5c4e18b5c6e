//! Branches with loops in the bodies of with-loops, whose conditions are the same for every index, stand around the with-loops.
//!
//! ```text
//!    %r = with { [0] <= [%i] < [%n] { %s = if %some { %l = loop ...  yield %l } else { yield 0.0 }  yield %s } } genarray [%n]
//! => %r = if %some { with { [0] <= [%i] < [%n] { %l = loop ...  yield %l } } genarray [%n] }
//!         else     { with { [0] <= [%i] < [%n] { yield 0.0 } } genarray [%n] }
//! ```
//!
//! Such is the question whether a `for` loop over an extent has an iteration at all. A loop that is entered for every index or for none may load, and so
//! run in lanes.
//!
//! Before: the cycle of folding has ended, for branches stand in its way. After: no such branch in a with-loop outside of others.
//! Leaves alone: branches without loops, for which lanes choose; updates, which would lose the place they are computed in; and bodies with much beside the branch.
//! Worth: tests/survey/with-loops/series (1.4 with Cranelift, 8.2 with LLVM, extents hidden).

use crate::edit::{Def, Defs, any_inside, collect_values, insts_where, prepend, size_of, version_by_copy};
use crate::facts::Places;
use crate::pass::{Context, Pass};
use ravel_types::{Elem, HashSet, Scalar, Ty};
use ravel_wir::{Func, Inst, Op, Region, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("unswitch", "put branches with loops that all indices take alike around the with-loop", unswitch);

/// Most instructions beside the branch in the bodies of a with-loop: those that are copied. Each arm is left in one of the copies.
const MAX_CODE: usize = 400;

pub fn unswitch(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    for inst in Places::new(func).withs {
        let (places, defs) = (Places::new(func), Defs::new(func));
        let Some(cond) = condition(func, &places, &defs, inst) else { continue };
        let span = func.insts[inst].span;
        let code = size_beside(func, inst, cond);
        if code > MAX_CODE {
            cx.refused(
                span,
                format!("a branch that is the same for every index stays in it: a copy would take {code} instructions"),
            );
            continue;
        }
        let Some(home) = places.home(inst) else { continue };
        let copy = version_by_copy(func, home, inst, cond, Vec::new());
        decide(func, inst, cond, true);
        decide(func, copy, cond, false);
        cx.applied(span, "a branch that is the same for every index stands around it");
        changed = true;
    }
    changed
}

/// Instructions in the bodies of a with-loop, without the arms of branches on `cond`.
fn size_beside(func: &Func, inst: Inst, cond: Value) -> usize {
    let sizes =
        |inst: Inst| func.insts[inst].op.regions().into_iter().map(|region| size_of(func, region)).sum::<usize>();
    let branches = |region: Region| {
        let is_one = |inner: &&Inst| matches!(func.insts[**inner].op, Op::If { cond: c, .. } if c == cond);
        func.regions[region].insts.iter().filter(is_one).map(|inner| sizes(*inner)).sum::<usize>()
    };
    let arms: usize = func.insts[inst].op.regions().iter().map(|region| branches(*region)).sum();
    sizes(inst) - arms
}

/// The condition of a branch with a loop in a body, if it does not depend on the index.
fn condition(func: &Func, places: &Places, defs: &Defs, inst: Inst) -> Option<Value> {
    let Op::With(With { parts, ops, ordered: false }) = &func.insts[inst].op else { return None };
    let makes = |op: &WithOp| matches!(op, WithOp::Genarray { .. } | WithOp::Fold { .. });
    if ops.is_empty() || !ops.iter().all(makes) || places.is_inside_with(func, inst) {
        return None;
    }
    parts.iter().find_map(|part| {
        let mut own = HashSet::default();
        collect_values(func, part.body, &mut own);
        func.regions[part.body].insts.iter().find_map(|inst| match &func.insts[*inst].op {
            Op::If { cond, .. } if !own.contains(cond) && matches!(defs.get(*cond), Def::Inst(..) | Def::Param(..)) => {
                let is_loop = |inner: Inst| matches!(func.insts[inner].op, Op::Loop { .. });
                (any_inside(func, *inst, is_loop) && defs.constant(func, *cond).is_none()).then_some(*cond)
            }
            _ => None,
        })
    })
}

/// Replaces a condition by what it is, in the branches inside of a with-loop.
fn decide(func: &mut Func, inst: Inst, cond: Value, truth: bool) {
    let span = func.insts[inst].span;
    for region in func.insts[inst].op.regions() {
        let branches = insts_where(func, region, |op| matches!(op, Op::If { cond: c, .. } if *c == cond));
        if branches.is_empty() {
            continue;
        }
        let known = func.make_inst(Op::Const(Scalar::Bool(truth)), vec![Ty::scalar(Elem::Bool)], span);
        let value = func.insts[known].results[0];
        prepend(func, region, [known]);
        for (_, branch) in branches {
            if let Op::If { cond, .. } = &mut func.insts[branch].op {
                *cond = value;
            }
        }
    }
}
