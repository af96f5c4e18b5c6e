//! How many vectors a body keeps at once.
//!
//! The copies of a body stand side by side, instruction by instruction, so that each value that is still wanted takes a register per copy.
//! More copies than the registers hold go through memory: nine neighbours that a network of exchanges sorts, four vectors of each.

use ravel_types::HashMap;
use ravel_wir::{Region, Value};

use crate::facts::Facts;
use crate::facts::grid::Grid;

impl Facts<'_> {
    /// Most vectors of one copy of a body that are in use at once, in the order of the code.
    pub fn live_vectors(&self, g: &mut Grid, region: Region) -> usize {
        let func = self.func;
        let data = &func.regions[region];
        let computed = self.computed(g, region);
        let mut last: HashMap<Value, usize> = HashMap::default();
        for (at, &inst) in data.insts.iter().enumerate() {
            let op = &func.insts[inst].op;
            op.for_each_operand(|v| {
                last.insert(v, at);
            });
            for nested in op.regions() {
                last.extend(self.live.free(nested).iter().map(|v| (*v, at)));
            }
        }
        last.extend(data.yields.iter().map(|v| (*v, data.insts.len())));
        let mut ends: Vec<usize> = Vec::new();
        let mut most = 0;
        for (at, &inst) in data.insts.iter().enumerate() {
            // A result may take the register of an operand that nothing else wants.
            ends.retain(|end| *end > at);
            for v in &func.insts[inst].results {
                let end = last.get(v).copied().filter(|end| *end > at && computed.contains(v));
                if self.func.ty(*v).is_scalar() && self.dep(g, *v).vec {
                    ends.extend(end);
                }
            }
            most = most.max(ends.len());
        }
        most
    }
}
