//! Packing: what the micro-kernel reads, computed once and stored in the order in which it is read.
//!
//! A panel holds, for each index of a block of the fold, one row of `Side::stride` elements: the copies of every packed value for
//! `Side::width` consecutive indices of an axis. The last panel of an axis is filled up with copies of its last index, so that
//! whatever is computed from a panel is computed from values that the program has.

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty};
use ravel_wir::{Generator, Op, Part, Value};

use crate::Result;
use crate::grid::{Cell, Grid, Panel};
use crate::index::Ext;
use crate::lower::{Lower, Val};
use crate::scalars::prim_of;
use crate::tile::Side;
use crate::tile_nest::Nest;

/// Panels that a thread packs at a time.
const PANELS: i64 = 4;

/// A block of the fold's index set, row-major: its first index and how many.
#[derive(Clone, Copy)]
pub(crate) struct FoldBlock {
    pub first: Val,
    pub count: Val,
}

/// A stretch of an axis and the memory for its panels.
#[derive(Clone, Copy)]
pub(crate) struct Panels {
    pub low: Val,
    pub high: Val,
    /// Number of panels.
    pub count: Val,
    pub data: Val,
}

impl Lower<'_, '_> {
    /// Packs all panels of a stretch.
    pub fn pack_stretch(&mut self, nest: &Nest<'_>, side: &Side, panels: Panels, block: FoldBlock) -> Result<()> {
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let (mut low, mut high) = (zero, panels.count);
        self.open(nest.part.body);
        if nest.threads {
            let chunk = self.b.i64(PANELS);
            (low, high, _) = self.b.begin_parfor(panels.count, chunk);
        }
        let (p, _) = self.b.begin_for(low, high, one, &[]);
        let outer = self.enter_kernel_loop(p);
        self.open(nest.part.body);
        self.pack_panel(nest, side, panels, block, p)?;
        self.close();
        self.b.end_for(&[]);
        self.leave_kernel_loop(outer);
        if nest.threads {
            self.b.end_parfor();
        }
        self.close();
        Ok(())
    }

    fn pack_panel(&mut self, nest: &Nest<'_>, side: &Side, panels: Panels, block: FoldBlock, p: Val) -> Result<()> {
        let (plan, body) = (nest.plan, nest.inner.body);
        let Generator::Known { lower, upper, .. } = &nest.part.generator else {
            return self.unsupported(ravel_source::Span::NONE, "tiles of unknown rank");
        };
        let range = self.axis_range(nest.with, lower[side.axis], upper[side.axis]);
        let width = side.width as i64;
        let skipped = self.times(p, width);
        let first = self.b.add(panels.low, skipped);
        let panel_bytes = self.times(block.count, (side.stride * plan.bytes) as i64);
        let at = self.b.mul(panel_bytes, p);
        let to = self.b.ptr_add(panels.data, at);
        let all = self.b.i64(width);
        let end = self.b.add(first, all);
        let whole = self.b.icmp(IntCmp::Sle, end, panels.high);
        self.b.begin_if(whole);
        self.open(nest.part.body);
        self.bind_wide(side.param, first, range);
        let mut g = Grid::scalar(plan.bytes);
        if self.packs_vectors(&mut g, nest, side) {
            g.set_vec(Some(side.param), plan.lanes, side.width / usize::from(plan.lanes));
        } else {
            g.set_jam(Some(side.param), side.width);
        }
        self.prepare_copies(&mut g, body);
        self.pack_rows(&mut g, nest, side, block, to, None)?;
        self.close();
        self.b.begin_else(&[]);
        // One index after the other; those beyond the last one are the last one.
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let last = self.b.sub(panels.high, one);
        let (r, _) = self.b.begin_for(zero, all, one, &[]);
        self.open(nest.part.body);
        let index = self.b.add(first, r);
        let index = self.b.binary(NestBin::SMin, index, last);
        self.bind_wide(side.param, index, range);
        let moved = self.times(r, plan.bytes as i64);
        let mut g = Grid::scalar(plan.bytes);
        g.set_jam(Some(side.param), 1);
        self.prepare_copies(&mut g, body);
        self.pack_rows(&mut g, nest, side, block, to, Some(moved))?;
        self.close();
        self.b.end_for(&[]);
        self.b.end_if(&[]);
        Ok(())
    }

    /// Do vectors of consecutive indices of the axis load consecutive elements?
    fn packs_vectors(&mut self, g: &mut Grid, nest: &Nest<'_>, side: &Side) -> bool {
        let (plan, inner) = (nest.plan, nest.inner);
        if side.width % usize::from(plan.lanes) != 0 {
            return false;
        }
        g.set_vec(Some(side.param), plan.lanes, 1);
        let mut any = false;
        let mut unit = true;
        for &inst in &self.func.regions[inner.body].insts {
            let Op::Sel { array, index } = &self.func.insts[inst].op else { continue };
            let v = self.func.insts[inst].results[0];
            if self.dep(g, v).vec {
                let (offset, elem) = (self.element_offset(*array, index), self.elem(v));
                unit &= self.lane_stride(g, &offset, elem) == Some(1);
                any = true;
            }
        }
        g.set_vec(None, 1, 1);
        any && unit
    }

    /// Stores the rows of a panel: copies for all of its indices, or for a `single` one whose copies are that many bytes from the first.
    fn pack_rows(
        &mut self,
        g: &mut Grid,
        nest: &Nest<'_>,
        side: &Side,
        block: FoldBlock,
        to: Val,
        single: Option<Val>,
    ) -> Result<()> {
        let (plan, inner) = (nest.plan, nest.inner);
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let (k, _) = self.b.begin_for(zero, block.count, one, &[]);
        let mark = g.mark();
        self.open(inner.body);
        let index = self.b.add(block.first, k);
        self.bind_fold_indices(inner, index)?;
        let at = self.times(k, (side.stride * plan.bytes) as i64);
        let to = self.b.ptr_add(to, at);
        for packed in &side.values {
            let start = (packed.at * plan.bytes) as i32;
            if g.vec.is_some() && packed.copies > 1 {
                for u in 0..g.u {
                    let value = self.packed_of(g, packed.value, 0, u)?;
                    self.b.store(value, to, start + (u * usize::from(g.lanes) * plan.bytes) as i32, Access::ALIGNED);
                }
                continue;
            }
            let to = match single {
                Some(bytes) if packed.copies > 1 => self.b.ptr_add(to, bytes),
                _ => to,
            };
            for r in 0..if single.is_none() { packed.copies } else { 1 } {
                let value = self.scalar_of(g, packed.value, r, 0)?;
                self.b.store(value, to, start + (r * plan.bytes) as i32, Access::ALIGNED);
            }
        }
        self.close();
        g.release(mark);
        self.b.end_for(&[]);
        Ok(())
    }

    /// Loads a copy of a packed value.
    pub fn unpack(&mut self, g: &mut Grid, v: Value, panel: Panel, j: usize, u: usize) -> Cell {
        let ty = Ty::scalar(prim_of(self.elem(v)));
        let vector = self.is_vector(g, v);
        let at = |copy: usize| panel.offset + (copy * g.bytes) as i32;
        if !vector {
            return Cell::One(self.b.load(ty, panel.ptr, at(j), Access::ALIGNED));
        }
        Cell::Packed(self.b.load(ty.with_lanes(g.lanes), panel.ptr, at(u * usize::from(g.lanes)), Access::ALIGNED))
    }

    /// Binds the indices of a fold at a place of its index set, counted row-major.
    fn bind_fold_indices(&mut self, inner: &Part, place: Val) -> Result<()> {
        let Generator::Known { lower, upper, .. } = &inner.generator else {
            return self.unsupported(ravel_source::Span::NONE, "a fold of unknown rank in tiles");
        };
        let params: Vec<Value> = self.func.regions[inner.body].params.clone();
        let mut rest = place;
        for axis in (0..params.len()).rev() {
            let mut index = rest;
            if axis > 0 {
                let extent = self.axis_extent(lower[axis], upper[axis]);
                let extent = self.extent_val(extent);
                let above = self.b.binary(NestBin::SDiv, rest, extent);
                let whole = self.b.mul(above, extent);
                index = self.b.sub(rest, whole);
                rest = above;
            }
            if self.const_i32(lower[axis]) != Some(0) {
                let low = self.wide(lower[axis]);
                index = self.b.add(index, low);
            }
            let range = self.range[params[axis]].unwrap_or((i64::from(i32::MIN), i64::from(i32::MAX)));
            self.bind_wide(params[axis], index, range);
        }
        Ok(())
    }

    /// Indices between two bounds, not negative.
    pub fn axis_extent(&mut self, lower: Value, upper: Value) -> Ext {
        if let Some((low, high)) = self.const_i32(lower).zip(self.const_i32(upper)) {
            return Ext::Const((high - low).max(0));
        }
        let (low, high, zero) = (self.wide(lower), self.wide(upper), self.b.i64(0));
        let length = self.b.sub(high, low);
        Ext::Val(self.b.binary(NestBin::SMax, length, zero))
    }
}
