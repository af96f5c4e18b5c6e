//! Where array values are read for the last time, so that the interpreter can hand them over instead of sharing them.

use cranelift_entity::SecondaryMap;
use ravel_types::HashSet;
use ravel_wir::traverse::free_values;
use ravel_wir::{Func, Inst, Op, Region, Value};

/// Array values that an instruction, or the end of a region, reads last.
#[derive(Default)]
pub struct LastUses {
    pub at_inst: SecondaryMap<Inst, Vec<Value>>,
    pub at_yield: SecondaryMap<Region, Vec<Value>>,
}

/// The last uses of a function. A value defined outside a region that may run many times has none inside it.
pub fn last_uses(func: &Func) -> LastUses {
    let mut uses = LastUses::default();
    visit(func, func.body, &HashSet::default(), &mut uses);
    uses
}

/// `keep` are values that are read after the region, or that it does not own.
fn visit(func: &Func, region: Region, keep: &HashSet<Value>, uses: &mut LastUses) {
    let data = &func.regions[region];
    let mut live = keep.clone();
    let dies = |live: &HashSet<Value>, operands: &[Value], v: Value| {
        !live.contains(&v) && !func.ty(v).is_scalar() && operands.iter().filter(|o| **o == v).count() == 1
    };
    uses.at_yield[region] = data.yields.iter().copied().filter(|v| dies(&live, &data.yields, *v)).collect();
    live.extend(data.yields.iter().copied());
    for &inst in data.insts.iter().rev() {
        let op = &func.insts[inst].op;
        let mut inner = HashSet::default();
        for nested in op.regions() {
            let free = free_values(func, nested);
            let mut keep = live.clone();
            if !matches!(op, Op::If { .. }) {
                keep.extend(free.iter().copied());
            }
            visit(func, nested, &keep, uses);
            inner.extend(free);
        }
        live.extend(inner);
        let mut operands = Vec::new();
        op.for_each_operand(|v| operands.push(v));
        uses.at_inst[inst] = operands.iter().copied().filter(|v| dies(&live, &operands, *v)).collect();
        live.extend(operands);
    }
}
