//! Free values of a region: what an outlined `parfor` body must be given.

use cranelift_entity::EntitySet;

use crate::ir::{Region, Value};

/// The values that `region` uses and does not define, in the order of their first use.
pub fn captures(region: &Region) -> Vec<Value> {
    let mut walk = Walk { defined: EntitySet::new(), captured: EntitySet::new(), order: Vec::new() };
    walk.region(region);
    walk.order
}

struct Walk {
    defined: EntitySet<Value>,
    captured: EntitySet<Value>,
    order: Vec<Value>,
}

impl Walk {
    // A value is defined once in the whole function, so that nested regions need no scopes here.
    fn region(&mut self, region: &Region) {
        for &param in &region.params {
            self.defined.insert(param);
        }
        for inst in &region.insts {
            inst.op.for_each_operand(|value| self.used(value));
            for nested in inst.op.regions() {
                self.region(nested);
            }
            for &result in &inst.results {
                self.defined.insert(result);
            }
        }
        for &value in region.exit.operands() {
            self.used(value);
        }
    }

    fn used(&mut self, value: Value) {
        if !self.defined.contains(value) && self.captured.insert(value) {
            self.order.push(value);
        }
    }
}
