//! Two versions of code under a condition.

use crate::edit::{Copier, substitute};
use ravel_wir::{Func, Inst, Op, Region, RegionData, Value};

/// Puts a branch in the place of an instruction: where the condition holds `fast` runs, which has the same results, and elsewhere the instruction. What
/// stands in front of the branch is `before`.
pub fn version(func: &mut Func, region: Region, inst: Inst, (cond, fast): (Value, Inst), before: Vec<Inst>) {
    let fast = alone(func, fast);
    version_of(func, region, inst, (cond, fast), before);
}

/// The same with instructions that yield what stands for the results.
pub fn version_of(func: &mut Func, region: Region, inst: Inst, (cond, fast): (Value, RegionData), before: Vec<Inst>) {
    let slow = alone(func, inst);
    choose(func, region, inst, cond, [fast, slow], before);
}

/// The same with a copy for where the condition does not hold, the instruction where it does. Gives the copy.
pub fn version_by_copy(func: &mut Func, region: Region, inst: Inst, cond: Value, before: Vec<Inst>) -> Inst {
    let copy = Copier::of(func, &[inst]).inst(func, inst);
    let arms = [alone(func, inst), alone(func, copy)];
    choose(func, region, inst, cond, arms, before);
    copy
}

/// An instruction, and all that it makes.
fn alone(func: &Func, inst: Inst) -> RegionData {
    RegionData { params: Vec::new(), insts: vec![inst], yields: func.insts[inst].results.clone() }
}

fn choose(func: &mut Func, region: Region, inst: Inst, cond: Value, arms: [RegionData; 2], mut before: Vec<Inst>) {
    let types = func.insts[inst].results.iter().map(|v| func.ty(*v).clone()).collect();
    let yields = arms.each_ref().map(|arm| arm.yields.clone());
    let [then, els] = arms.map(|arm| func.regions.push(arm));
    let branch = func.make_inst(Op::If { cond, then, els }, types, func.insts[inst].span);
    before.push(branch);
    let values = func.insts[branch].results.clone();
    substitute(func, region, inst, before, values);
    // That has renamed what the arms yield, too.
    for (arm, yields) in [then, els].into_iter().zip(yields) {
        func.regions[arm].yields = yields;
    }
}
