//! How wide the elements of a kernel are, and which of them fill a lane.

use ravel_nest::ir::{Prim, Ty};
use ravel_types::{Elem, HashSet};
use ravel_wir::{Op, Region};

use crate::facts::Facts;
use crate::facts::grid::Grid;
use crate::facts::layout::prim_of;

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
