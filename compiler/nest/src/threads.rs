//! Which code several threads may run at once: the bodies of parallel loops, and the functions that these reach.
//!
//! Counts of references there must be atomic. A body shares the arrays that it captures with the bodies on other threads, and hands them to the
//! functions it calls. An array that a function has made itself could be counted plainly until another function gets to see it. It is not
//! told apart: its count costs little beside its memory, and the rule stays one that can be checked without following pointers.

use cranelift_entity::EntityRef;

use crate::ir::{FuncId, Inst, Module, Op, Region, Sharing};

/// For every function, by number: whether code in a `parfor` body may reach it. So may an address, whoever calls it.
pub fn run_by_threads(module: &Module) -> Vec<bool> {
    let mut reached = vec![false; module.funcs.len()];
    let mut open: Vec<FuncId> = Vec::new();
    let mut reach = |id: FuncId, open: &mut Vec<FuncId>| {
        if !std::mem::replace(&mut reached[id.index()], true) {
            open.push(id);
        }
    };
    for func in module.funcs.values() {
        walk(&func.body, false, &mut |inst, parallel| match inst.op {
            Op::Call(id, _) if parallel => reach(id, &mut open),
            Op::FuncAddr(id) => reach(id, &mut open),
            _ => {}
        });
    }
    while let Some(id) = open.pop() {
        walk(&module.funcs[id].body, true, &mut |inst, _| {
            if let Op::Call(id, _) = inst.op {
                reach(id, &mut open);
            }
        });
    }
    reached
}

/// The first count in code of several threads that is not atomic, and its function.
pub(crate) fn plain_count(module: &Module) -> Option<(FuncId, &Inst)> {
    let reached = run_by_threads(module);
    module.funcs.iter().find_map(|(id, func)| {
        let mut found = None;
        walk(&func.body, reached[id.index()], &mut |inst, parallel| {
            if parallel && matches!(inst.op, Op::RcInc(_, Sharing::Plain) | Op::RcDec(_, Sharing::Plain)) {
                found.get_or_insert(inst);
            }
        });
        found.map(|inst| (id, inst))
    })
}

/// Visits the instructions of a region and below it, in order, with whether several threads may run them at once.
fn walk<'a>(region: &'a Region, parallel: bool, visit: &mut impl FnMut(&'a Inst, bool)) {
    for inst in &region.insts {
        visit(inst, parallel);
        let parallel = parallel || matches!(inst.op, Op::ParFor { .. });
        inst.op.regions().into_iter().for_each(|nested| walk(nested, parallel, visit));
    }
}
