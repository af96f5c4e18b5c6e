//! What can be observed of code, and what may run where it was not asked to.

use crate::edit::{Defs, any_inst};
use crate::pass::Context;
use ravel_wir::traverse::has_effect;
use ravel_wir::{Func, Inst, Op, Region};

/// Whether running the region can be observed other than through what it yields.
pub fn region_has_effect(func: &Func, region: Region, cx: &Context) -> bool {
    func.regions[region].insts.iter().any(|i| has_effect(&|f| cx.is_observed(f), func, *i))
}

/// Whether running the region can be observed other than by faults and by what it yields.
pub fn region_has_effect_but_checks(func: &Func, region: Region, cx: &Context) -> bool {
    any_inst(func, region, |inst| match &func.insts[inst].op {
        Op::GlobalSet(..) | Op::GlobalGet(_) | Op::Native { effect: true, .. } => true,
        Op::Call { func: callee, .. } => cx.has_effects(*callee),
        _ => false,
    })
}

/// Whether the instruction may run where it was not asked to: no effect, no fault, nothing that a check must precede.
pub fn is_speculatable(func: &Func, inst: Inst) -> bool {
    match &func.insts[inst].op {
        Op::Str(_) | Op::ConstArray(_) | Op::ShapeVec(_) | Op::Array(_) | Op::Widen(_) | Op::Opaque(_) => true,
        Op::If { .. } => func.insts[inst]
            .op
            .regions()
            .into_iter()
            .all(|r| func.regions[r].insts.iter().all(|i| is_speculatable(func, *i))),
        _ => func.is_total(inst),
    }
}

/// A quotient or remainder by a constant other than zero.
pub fn divides_by_constant(func: &Func, defs: &Defs, inst: Inst) -> bool {
    matches!(&func.insts[inst].op, Op::Bin(op, _, b) if op.needs_nonzero() && defs.int(func, *b).is_some_and(|k| k != 0))
}
