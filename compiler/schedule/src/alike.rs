//! Loops inside kernels that run equally often for all indices.

use std::collections::HashSet;

use ravel_types::Elem;
use ravel_wir::{Op, Region, Value};

use crate::lower::Lower;

impl Lower<'_, '_> {
    /// Does the condition of a loop depend on nothing but constants, values from outside of the with-loop, and carried values of which
    /// that is true?
    pub fn runs_alike(&self, init: &[Value], body: Region) -> bool {
        let data = &self.func.regions[body];
        let mut seen = HashSet::new();
        let mut open: Vec<Value> = data.yields.first().copied().into_iter().collect();
        while let Some(v) = open.pop() {
            if !seen.insert(v) || self.is_bound(v) {
                continue;
            }
            if let Some(k) = data.params.iter().position(|param| *param == v) {
                let Some((start, next)) = init.get(k).zip(data.yields.get(k + 1)) else { return false };
                open.extend([*start, *next]);
                continue;
            }
            let Some(inst) = self.live.def(v) else { return false };
            match &self.func.insts[inst].op {
                Op::Extent { array, .. } if self.has_val(*array) => {}
                op @ (Op::Const(_) | Op::Un(..) | Op::Bin(..) | Op::Convert(_) | Op::Select { .. }) => {
                    op.for_each_operand(|operand| open.push(operand));
                }
                _ => return false,
            }
        }
        true
    }

    /// Is this one element of an array that is there before the kernel?
    pub fn is_element(&self, array: Value, index: &[Value]) -> bool {
        self.has_val(array) && self.func.ty(array).rank() == Some(index.len()) && self.elem(array) != Elem::Handle
    }
}
