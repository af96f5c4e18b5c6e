//! Work that results of one with-loop share.

use crate::edit::Defs;
use crate::facts::{Places, Use, work_in_common};
use crate::fusion::fuse::same_parts;
use ravel_wir::{Func, Inst, Op, Region, With, WithOp};
use std::collections::BTreeSet;

/// Arithmetic that cells of result `k` have in common with those of another result, unless what uses the two can become one with-loop: is one
/// already, or makes arrays over the indices of the producer.
pub fn work_for_others(
    func: &Func,
    places: &Places,
    defs: &Defs,
    with: &With,
    (producer, k): (Inst, usize),
    home: Region,
) -> f64 {
    let consumers = |k: usize| -> BTreeSet<Inst> {
        let users = places.uses(func.insts[producer].results[k]).iter().filter_map(|u| match u {
            Use::Operand(inst) if matches!(func.insts[*inst].op, Op::Extent { .. }) => None,
            Use::Operand(inst) => {
                let path = places.path(places.home(*inst)?, home)?;
                // What stands beside the producer reads what is in memory.
                Some(path.last().and_then(|region| places.owner_of(*region)).unwrap_or(producer))
            }
            Use::Yield(_) => Some(producer),
        });
        users.collect()
    };
    let own = consumers(k);
    let makes_arrays = |inst: &Inst| {
        *inst == producer
            || matches!(&func.insts[*inst].op, Op::With(with)
                if with.ops.iter().all(|op| !matches!(op, WithOp::Fold { .. })))
                && same_parts(func, defs, producer, *inst)
    };
    let mut most = 0.0f64;
    for other in (0..with.ops.len()).filter(|other| *other != k) {
        let theirs = consumers(other);
        let all: BTreeSet<&Inst> = own.iter().chain(&theirs).collect();
        if theirs.is_empty() || all.len() == 1 || all.into_iter().all(makes_arrays) {
            continue;
        }
        for part in &with.parts {
            let yields = &func.regions[part.body].yields;
            most = most.max(work_in_common(func, defs, part.body, yields[k], yields[other]));
        }
    }
    most
}
