//! Loads whose lanes lie anywhere: one instruction for all lanes of a vector, where the target has it.
//!
//! The address of lane `k` is that of everything that is the same for all lanes plus `index[k]` elements. Lanes of the index are 32 bits wide
//! where the checks of the selection bound it so far, 64 bits otherwise: half as many fit a register then.

use ravel_nest::ir::{ConvOp, Prim, Ty};
use ravel_types::Elem;
use ravel_wir::Value;

use crate::Result;
use crate::grid::Grid;
use crate::index::Offset;
use crate::lower::{Lower, Val};
use crate::scalars::prim_of;

/// Elements that a 32-bit index reaches.
const REACH: i64 = 1 << 31;
/// Constants of index expressions up to this are small.
const SMALL: i64 = 1 << 16;

impl Lower<'_, '_> {
    /// Is there an instruction that loads lanes of this type from anywhere?
    pub fn gathers(&self, elem: Elem) -> bool {
        self.cx.target.has_gather && matches!(elem.bytes(), 4 | 8) && !matches!(elem, Elem::Bool | Elem::Handle)
    }

    /// One copy of a selection as such a load.
    #[expect(clippy::too_many_arguments, reason = "one copy of a load")]
    pub fn gather(
        &mut self,
        g: &mut Grid,
        array: Value,
        index: &[Value],
        data: Val,
        offset: &Offset,
        j: usize,
        u: usize,
    ) -> Result<Val> {
        let elem = self.elem(array);
        let prim = if self.reaches_in_32_bits(g, array, index) { Prim::I32 } else { Prim::I64 };
        let varies = |lower: &Self, g: &mut Grid, atom: Option<Value>| atom.is_some_and(|v| lower.is_vector(g, v));
        let mut same = offset.clone();
        same.terms.retain(|term| !varies(self, g, term.atom));
        let mut sum: Option<Val> = None;
        for term in &offset.terms {
            let Some(v) = term.atom.filter(|v| self.is_vector(g, *v)) else { continue };
            let mut part = self.packed_of(g, v, j, u)?;
            if prim == Prim::I64 {
                part = self.b.convert(ConvOp::SExt, part, Prim::I64);
            }
            let ty = self.b.ty(part);
            let elements = term.bytes / elem.bytes() as i64;
            if elements != 1 {
                let factor = self.b.iconst(ty, elements);
                part = self.b.mul(part, factor);
            }
            if let Some(stride) = term.stride {
                let stride = if prim == Prim::I64 { stride } else { self.b.convert(ConvOp::Narrow, stride, prim) };
                let stride = self.b.splat(stride, g.lanes);
                part = self.b.mul(part, stride);
            }
            sum = Some(sum.map_or(part, |sum| self.b.add(sum, part)));
        }
        let sum = match sum {
            Some(sum) => sum,
            None => self.b.iconst(Ty::vector(prim, g.lanes), 0),
        };
        let (ptr, bytes) = self.copy_address(g, data, &same, j, u, 0)?;
        Ok(self.b.gather(Ty::vector(prim_of(elem), g.lanes), ptr, bytes, sum, elem.bytes() as u8))
    }

    /// Do the parts of an index that differ between lanes stay below 2^31 elements, wherever the selection is allowed?
    fn reaches_in_32_bits(&self, g: &mut Grid, array: Value, index: &[Value]) -> bool {
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
