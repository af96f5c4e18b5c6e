//! Loads whose lanes lie anywhere: one instruction for all lanes of a vector, where the target has it.
//!
//! The address of lane `k` is that of everything that is the same for all lanes plus `index[k]` elements. Lanes of the index are 32 bits wide
//! where the checks of the selection bound it so far, 64 bits otherwise: half as many fit a register then.

use ravel_nest::ir::{Access, ConvOp, IntCmp, Prim, Ty};
use ravel_types::Elem;
use ravel_wir::Value;

use crate::Result;
use crate::facts::{Cell, Grid, Offset, Val, prim_of};
use crate::lower::Lower;

impl Lower<'_, '_> {
    /// The lanes of one copy that make a selection, if others must not.
    pub fn masked_by(&mut self, g: &mut Grid, v: Value, j: usize, u: usize) -> Option<Val> {
        if !self.live.def(v).is_some_and(|inst| g.masked.contains(&inst)) {
            return None;
        }
        self.taking_part(g, j, u)
    }

    /// An element where a condition holds, zero elsewhere.
    pub fn load_if(&mut self, holds: Val, ty: Ty, ptr: Val, bytes: i32) -> Val {
        self.b.begin_if(holds);
        let there = self.b.load(ty, ptr, bytes, Access::ALIGNED);
        self.b.begin_else(&[there]);
        let zero = self.b.bits(ty, 0);
        self.b.end_if(&[zero])[0]
    }

    /// One copy of a selection that only some lanes make, at least one of some copy.
    pub fn load_masked(
        &mut self,
        g: &mut Grid,
        (array, index, data): (Value, &[Value], Val),
        offset: &Offset,
        (j, u): (usize, usize),
        taking_part: Val,
    ) -> Result<Cell> {
        let elem = self.elem(array);
        let vector = self.b.ty(taking_part).is_vector();
        let mask = if vector { taking_part } else { self.splat_cell(g, Elem::Bool, taking_part) };
        if self.gathers(elem) {
            return Ok(Cell::Packed(self.gather(g, (array, index, data), offset, (j, u), Some(mask))?));
        }
        // The others take the first element: there is one, since somebody takes some.
        let zero = self.b.i64(0);
        let mut lanes = Vec::new();
        for lane in 0..g.lanes {
            let mut bytes = self.b.i64(offset.constant);
            for term in &offset.terms {
                let part = match term.atom {
                    Some(v) => {
                        let wide = self.wide_lane(g, v, j, u, usize::from(lane))?;
                        self.scaled(wide, term.bytes, term.stride)
                    }
                    None => self.term(term),
                };
                bytes = self.b.add(bytes, part);
            }
            let taken = self.b.extract(mask, lane);
            let no = self.b.iconst(Ty::scalar(g.mask_prim()), 0);
            let taken = self.b.icmp(IntCmp::Ne, taken, no);
            let bytes = self.b.select(taken, bytes, zero);
            let place = self.b.ptr_add(data, bytes);
            lanes.push(self.b.load(Ty::scalar(prim_of(elem)), place, 0, Access::ALIGNED));
        }
        Ok(if g.packs(elem) { Cell::Packed(self.pack(g, elem, &lanes)) } else { Cell::Split(lanes) })
    }

    /// One copy of a selection as such a load, under a mask if there is one.
    pub fn gather(
        &mut self,
        g: &mut Grid,
        (array, index, data): (Value, &[Value], Val),
        offset: &Offset,
        (j, u): (usize, usize),
        mask: Option<Val>,
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
        let (ty, scale) = (Ty::vector(prim_of(elem), g.lanes), elem.bytes() as u8);
        Ok(match mask {
            Some(mask) => {
                let mask = self.mask_as(mask, ty.truth().prim);
                self.b.gather_if(mask, ty, ptr, bytes, sum, scale)
            }
            None => self.b.gather(ty, ptr, bytes, sum, scale),
        })
    }
}
