//! Removal of instructions whose results nobody uses and that do nothing else.

use cranelift_entity::EntityRef;

use super::is_pure;
use crate::ir::{Exit, Inst, Op, Region, Value};

/// Removes unused instructions, last first, so that what only they used goes too.
pub(super) fn remove_unused(body: &mut Region, n_values: usize) {
    let mut used = vec![false; n_values];
    region(body, &mut used);
}

fn region(region: &mut Region, used: &mut [bool]) {
    for value in region.exit.operands() {
        used[value.index()] = true;
    }
    let mut kept: Vec<Inst> = Vec::with_capacity(region.insts.len());
    for mut inst in std::mem::take(&mut region.insts).into_iter().rev() {
        let wanted = inst.results.iter().any(|result: &Value| used[result.index()]);
        if !wanted && !has_effect(&inst.op) {
            continue;
        }
        inst.op.for_each_operand(|value| used[value.index()] = true);
        match &mut inst.op {
            Op::If { then_region, else_region, .. } => {
                self::region(then_region, used);
                self::region(else_region, used);
            }
            Op::For { body, .. } | Op::Loop { body, .. } | Op::ParFor { body, .. } | Op::Launch { body, .. } => {
                self::region(body, used);
            }
            _ => {}
        }
        kept.push(inst);
    }
    kept.reverse();
    region.insts = kept;
}

fn has_effect(op: &Op) -> bool {
    match op {
        Op::If { then_region, else_region, .. } => region_has_effect(then_region) || region_has_effect(else_region),
        Op::For { body, .. } | Op::ParFor { body, .. } | Op::Launch { body, .. } => region_has_effect(body),
        // Reading memory and reserving stack do nothing else; a do-while loop may not end.
        Op::Load { .. } | Op::Gather { .. } | Op::StackSlot { .. } | Op::LocalSlot { .. } => false,
        other => !is_pure(other),
    }
}

fn region_has_effect(region: &Region) -> bool {
    matches!(region.exit, Exit::Fault { .. }) || region.insts.iter().any(|inst| has_effect(&inst.op))
}
