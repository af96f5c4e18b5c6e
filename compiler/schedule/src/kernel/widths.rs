//! Elements of several widths in one kernel.
//!
//! A packed value has one lane per index whatever its element type: eight `f64` fill a register of 64 bytes, eight `i32` half of
//! one. Booleans are masks as wide as the kernel's elements ([`Grid::mask_prim`]); where they choose between values of
//! another width they are widened or narrowed, which keeps a mask a mask.

use ravel_nest::ir::{Access, BinOp as NestBin, ConvOp, IntCmp, Prim, Ty};
use ravel_types::{Elem, HashSet};
use ravel_wir::{Op, Region};

use crate::facts::grid::Grid;
use crate::facts::{Facts, Val};
use crate::lower::Lower;
use crate::lower::scalars::{self, prim_of};

impl Grid {
    /// May values of an element type be packed?
    pub fn packs(&self, elem: Elem) -> bool {
        elem != Elem::Handle
    }

    /// The integer that is as wide as a lane of a mask.
    pub fn mask_prim(&self) -> Prim {
        match self.bytes {
            1 => Prim::I8,
            2 => Prim::I16,
            4 => Prim::I32,
            _ => Prim::I64,
        }
    }

    /// The machine type of packed values.
    pub fn packed_type(&self, elem: Elem) -> Ty {
        let prim = if elem == Elem::Bool { self.mask_prim() } else { prim_of(elem) };
        Ty::vector(prim, self.lanes)
    }
}

impl Facts<'_> {
    /// Width of the elements that fill the lanes: that of the widest real numbers, else of integers that are more than indices.
    pub fn kernel_width(&self, region: Region) -> usize {
        let mut seen = [false; 3];
        ravel_wir::traverse::walk(self.func, region, &mut |_, inst| {
            for &v in &self.func.insts[inst].results {
                match self.elem(v) {
                    Elem::F64 => seen[0] = true,
                    Elem::F32 => seen[1] = true,
                    Elem::I64 | Elem::U64 => seen[2] = true,
                    _ => {}
                }
            }
        });
        match seen {
            [true, ..] | [_, false, true] => 8,
            [_, true, _] => 4,
            _ => self.width_of_data(region),
        }
    }

    /// The width of the widest value that a region's results come from, at most 4. Indices of selections do not count if they are
    /// affine.
    fn width_of_data(&self, region: Region) -> usize {
        let mut widest = 1;
        let mut seen = HashSet::default();
        let mut open = self.func.regions[region].yields.clone();
        while let Some(v) = open.pop() {
            if !seen.insert(v) || self.is_bound(v) {
                continue;
            }
            widest = widest.max(if self.elem(v) == Elem::Bool { 1 } else { self.elem(v).bytes() });
            let Some(inst) = self.live.def(v).filter(|_| widest < 4) else { continue };
            match &self.func.insts[inst].op {
                Op::Sel { index, .. } => {
                    let atoms = index.iter().flat_map(|i| self.form(*i).terms).map(|(v, _)| v);
                    if atoms.into_iter().any(|v| !self.is_bound(v) && self.lower_of[v].is_none()) {
                        return 4;
                    }
                }
                Op::Const(_)
                | Op::Un(..)
                | Op::Bin(..)
                | Op::Convert(_)
                | Op::Select { .. }
                | Op::Opaque(_)
                | Op::Array(_) => {
                    self.func.insts[inst].op.for_each_operand(|v| open.push(v));
                }
                Op::If { cond, then, els } => {
                    open.push(*cond);
                    open.extend([*then, *els].iter().flat_map(|arm| &self.func.regions[*arm].yields));
                }
                _ => return 4,
            }
        }
        widest.min(4)
    }
}

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
