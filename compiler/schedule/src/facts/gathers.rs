//! Loads whose lanes lie anywhere: which of them an instruction gathers, and which are kept from lanes that do not take part.

use ravel_types::{Elem, HashSet};
use ravel_wir::{Inst, Op, Region, Value};

use crate::facts::Facts;
use crate::facts::grid::Grid;

/// Elements that a 32-bit index reaches.
const REACH: i64 = 1 << 31;

/// Constants of index expressions up to this are small.
const SMALL: i64 = 1 << 16;

impl Facts<'_> {
    /// Is there an instruction that loads lanes of this type from anywhere?
    pub fn gathers(&self, elem: Elem) -> bool {
        self.target.has_gather && matches!(elem.bytes(), 4 | 8) && !matches!(elem, Elem::Bool | Elem::Handle)
    }

    /// The selections in branches of a body that some lanes might make at a place that there is not, and that can be kept from them.
    pub fn loads_under_masks(&self, region: Region) -> HashSet<Inst> {
        let mut found = HashSet::default();
        ravel_wir::traverse::walk(self.func, region, &mut |_, inst| {
            let Op::If { then, els, .. } = &self.func.insts[inst].op else { return };
            for inst in [then, els].into_iter().flat_map(|arm| &self.func.regions[*arm].insts) {
                if let Op::Sel { array, index } = &self.func.insts[*inst].op
                    && self.is_element(*array, index)
                    && !self.readable_everywhere(*array, index, &mut Vec::new())
                {
                    found.insert(*inst);
                }
            }
        });
        found
    }

    /// Do the parts of an index that differ between lanes stay below 2^31 elements, wherever the selection is allowed?
    pub fn reaches_in_32_bits(&self, g: &mut Grid, array: Value, index: &[Value]) -> bool {
        let Some(extents) = self.func.ty(array).shape.extents() else { return false };
        let mut reach = 0i64;
        for (axis, i) in index.iter().enumerate() {
            let form = self.form(*i);
            if !form.terms.iter().any(|(v, _)| self.dep(g, *v).vec) {
                continue;
            }
            // Then what the check of this axis bounds is what lanes have, but for a constant.
            let [(_, 1)] = form.terms[..] else { return false };
            if form.constant.abs() > SMALL {
                return false;
            }
            let last = axis + 1 == index.len();
            let inner = extents[axis + 1..].iter().try_fold(1i64, |n, e| n.checked_mul(i64::from(e.as_const()?)));
            let extent = match extents[axis].as_const() {
                Some(n) => i64::from(n) + form.constant.abs(),
                // An extent is less than 2^31 by its type, and lanes are values of 32 bits.
                None if last => 0,
                None => return false,
            };
            let Some(part) = inner.and_then(|inner| inner.checked_mul(extent)) else { return false };
            reach = reach.saturating_add(part);
        }
        reach < REACH
    }
}
