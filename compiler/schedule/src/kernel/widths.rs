//! Elements of several widths in one kernel.
//!
//! A packed value has one lane per index whatever its element type: eight `f64` fill a register of 64 bytes, eight `i32` half of
//! one. Booleans are masks as wide as the kernel's elements ([`Grid::mask_prim`]); where they choose between values of
//! another width they are widened or narrowed, which keeps a mask a mask.

use ravel_nest::ir::{Access, BinOp as NestBin, ConvOp, IntCmp, Prim, Ty};
use ravel_types::Elem;

use crate::facts::{Grid, Val, prim_of};
use crate::lower::{Lower, scalars};

impl Lower<'_, '_> {
    /// A mask with lanes of another width; scalars stay as they are.
    pub fn mask_as(&mut self, mask: Val, prim: Prim) -> Val {
        let ty = self.b.ty(mask);
        if !ty.is_vector() || ty.prim == prim {
            return mask;
        }
        self.b.convert(if ty.prim.bytes() < prim.bytes() { ConvOp::SExt } else { ConvOp::Narrow }, mask, prim)
    }

    /// `x` where the condition holds, `y` elsewhere: scalars, or vectors under a mask of any width.
    pub fn select_lanes(&mut self, cond: Val, x: Val, y: Val) -> Val {
        let prim = self.b.ty(x).prim.as_int();
        let cond = self.mask_as(cond, prim);
        self.b.select(cond, x, y)
    }

    /// Conversion between element types; the boolean of a vector is a mask, with lanes of type `mask` if it is the result.
    pub fn convert_lanes(&mut self, from: Elem, to: Elem, mask: Prim, x: Val) -> Val {
        let ty = self.b.ty(x);
        if !ty.is_vector() || from == to {
            return scalars::convert(&mut self.b, from, to, x);
        }
        if from == Elem::Bool {
            let result = ty.with_prim(prim_of(to));
            let (one, zero) = match to.is_float() {
                true => (self.b.fconst(result, 1.0), self.b.fconst(result, 0.0)),
                false => (self.b.iconst(result, 1), self.b.iconst(result, 0)),
            };
            return self.select_lanes(x, one, zero);
        }
        let value = scalars::convert(&mut self.b, from, to, x);
        if to == Elem::Bool { self.mask_as(value, mask) } else { value }
    }

    /// Loads the booleans of consecutive indices as a mask.
    pub fn load_mask(&mut self, g: &Grid, ptr: Val, bytes: i32) -> Val {
        let ty = Ty::vector(Prim::I8, g.lanes);
        let truths = self.b.load(ty, ptr, bytes, Access::ANY);
        let zero = self.b.iconst(ty, 0);
        let mask = self.b.icmp(IntCmp::Ne, truths, zero);
        self.mask_as(mask, g.mask_prim())
    }

    /// Stores a mask as the booleans of consecutive indices.
    pub fn store_mask(&mut self, mask: Val, ptr: Val, bytes: i32) {
        let narrow = self.mask_as(mask, Prim::I8);
        let ty = self.b.ty(narrow);
        let one = self.b.iconst(ty, 1);
        let truths = self.b.binary(NestBin::And, narrow, one);
        self.b.store(truths, ptr, bytes, Access::ANY);
    }
}
