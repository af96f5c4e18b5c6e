//! Neighbours in memory that are copied into all lanes, as the rows of a packed tile are: one load of a register full of them, and a shuffle
//! for each, where each would take a load and a shuffle.

use cranelift_entity::SecondaryMap;
use ravel_nest::ir::{Func, Inst, Op, Prim, Region, Value};
use ravel_types::HashMap;

use crate::types::register_lanes;

/// Instructions from the first neighbour to the last at most: further apart, they would take a register from what is computed in between.
const NEAR: usize = 24;

/// A scalar that is a lane of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbour {
    /// The neighbour that is loaded first; the register is loaded there.
    pub leader: Value,
    pub lane: u8,
    /// Offset of the register from the address that the neighbours share.
    pub offset: i32,
}

/// The neighbours among the values of a function.
pub(crate) type Neighbours = SecondaryMap<Value, Option<Neighbour>>;

/// Finds scalars that are loaded from neighbouring places, with nothing in between that could write there, and used in all lanes only. A scalar
/// whose copies are used once stays alone: its load and its shuffle are one instruction then.
pub(crate) fn find(func: &Func) -> Neighbours {
    let mut found = Neighbours::new();
    if cfg!(target_arch = "x86_64") {
        let mut uses = SecondaryMap::new();
        count_uses(&func.body, &mut uses);
        region(&func.body, &uses, &mut found);
    }
    found
}

fn count_uses(region: &Region, uses: &mut SecondaryMap<Value, u32>) {
    for inst in &region.insts {
        inst.op.for_each_operand(|value| uses[value] += 1);
        inst.op.regions().into_iter().for_each(|nested| count_uses(nested, uses));
    }
    region.exit.operands().iter().for_each(|value| uses[*value] += 1);
}

/// Loads of one type from one address, by offset.
type Loads = HashMap<(Value, Prim), Vec<(i32, usize, Value)>>;

fn region(region: &Region, uses: &SecondaryMap<Value, u32>, found: &mut Neighbours) {
    // How often a value is copied into all lanes here, by copies that are used again.
    let mut copied: SecondaryMap<Value, u32> = SecondaryMap::new();
    for inst in &region.insts {
        if let Op::Splat(scalar, _) = inst.op
            && uses[inst.results[0]] > 1
        {
            copied[scalar] += 1;
        }
    }
    let mut loads = Loads::default();
    for (position, inst) in region.insts.iter().enumerate() {
        match inst.op {
            Op::Load { ty, ptr, offset, .. } if !ty.is_vector() && matches!(ty.prim.bytes(), 4 | 8) => {
                let value = inst.results[0];
                if copied[value] > 0 && copied[value] == uses[value] {
                    loads.entry((ptr, ty.prim)).or_default().push((offset, position, value));
                }
            }
            _ if may_write(inst) => join(&mut loads, found),
            _ => {}
        }
        inst.op.regions().into_iter().for_each(|nested| self::region(nested, uses, found));
    }
    join(&mut loads, found);
}

fn may_write(inst: &Inst) -> bool {
    let reads = matches!(inst.op, Op::Load { .. } | Op::Gather { .. } | Op::Math(..));
    !reads && !inst.op.is_arithmetic()
}

/// Makes registers of the loads so far, and forgets them.
fn join(loads: &mut Loads, found: &mut Neighbours) {
    for ((_, prim), mut places) in loads.drain() {
        places.sort_unstable_by_key(|(offset, position, _)| (*offset, *position));
        places.dedup_by_key(|(offset, ..)| *offset);
        let bytes = prim.bytes() as i32;
        let mut rest = &places[..];
        while let Some((register, after)) = rest.split_at_checked(register_lanes(prim)) {
            let offset = register[0].0;
            if (0..).zip(register).any(|(lane, place)| place.0 != offset + lane * bytes) {
                rest = &rest[1..];
                continue;
            }
            let first = register.iter().min_by_key(|place| place.1).expect("registers have lanes");
            if register.iter().all(|place| place.1 - first.1 <= NEAR) {
                for (lane, &(_, _, value)) in (0..).zip(register) {
                    found[value] = Some(Neighbour { leader: first.2, lane, offset });
                }
            }
            rest = after;
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use ravel_nest::builder::FuncBuilder;
    use ravel_nest::ir::{Access, Ty};

    use super::*;

    const F32X4: Ty = Ty::F32.with_lanes(4);

    /// Loads at these places, the first `stores` of them each with a store behind it, and `work` sums behind each; every one is copied into all
    /// lanes and used `times`. Returns the lanes that were found.
    fn lanes(offsets: &[i32], stores: usize, work: usize, times: usize) -> Vec<Option<u8>> {
        let (mut b, params) = FuncBuilder::new("f", &[Ty::PTR, F32X4], &[F32X4]);
        let mut sum = params[1];
        let mut loaded = Vec::new();
        for (k, &offset) in offsets.iter().enumerate() {
            let scalar = b.load(Ty::F32, params[0], offset, Access::ANY);
            loaded.push(scalar);
            let all = b.splat(scalar, 4);
            for _ in 0..times {
                sum = b.fma(all, params[1], sum);
            }
            for _ in 0..work {
                sum = b.add(sum, params[1]);
            }
            if k < stores {
                b.store(sum, params[0], 64, Access::ANY);
            }
        }
        b.ret(&[sum]);
        let found = find(&b.finish());
        loaded.into_iter().map(|v| found[v].map(|n| n.lane)).collect()
    }

    #[test]
    fn neighbours_share_a_register() {
        let four = [Some(0), Some(1), Some(2), Some(3)];
        assert_eq!(lanes(&[0, 4, 8, 12], 0, 0, 2), four);
        // In another order, with one that is alone and one that is there twice.
        assert_eq!(lanes(&[12, 4, 100, 8, 0], 0, 0, 2), [Some(3), Some(1), None, Some(2), Some(0)]);
        assert_eq!(lanes(&[0, 4, 4, 8, 12], 0, 0, 2), [Some(0), Some(1), None, Some(2), Some(3)]);
    }

    #[test]
    fn others_stay_alone() {
        assert_eq!(lanes(&[0, 4, 8], 0, 0, 2), [None; 3], "too few");
        assert_eq!(lanes(&[0, 4, 12, 16], 0, 0, 2), [None; 4], "gaps");
        assert_eq!(lanes(&[0, 4, 8, 12], 1, 0, 2), [None; 4], "a store in between");
        assert_eq!(lanes(&[0, 4, 8, 12], 0, 0, 1), [None; 4], "a single use of each copy");
        assert_eq!(lanes(&[0, 4, 8, 12], 0, 8, 2), [None; 4], "far apart");
    }
}
