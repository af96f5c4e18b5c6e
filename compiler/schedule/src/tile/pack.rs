//! Packing: what the micro-kernel reads, computed once and stored in the order in which it is read.
//!
//! A panel holds, for each index of a block of the fold, one row of `Side::stride` elements: the copies of every packed value for
//! `Side::width` consecutive indices of an axis. The last panel of an axis is filled up with copies of its last index, so that
//! whatever is computed from a panel is computed from values that the program has.

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty};
use ravel_wir::{Generator, Part, Value};

use crate::Result;
use crate::facts::{Cell, Ext, Grid, Jam, Panel, Val, prim_of};
use crate::lower::Lower;
use crate::plan::tile::{BLOCK_UNIT, LEAST_VECTOR, Side};
use crate::tile::nest::Nest;

/// Panels that a thread packs at a time.
const PANELS: i64 = 4;

/// An index that is a digit of a place counted row-major, its bounds, and those that code may rely on.
#[derive(Clone, Copy)]
pub(crate) struct Digit {
    pub param: Value,
    pub lower: Value,
    pub upper: Value,
    pub range: (i64, i64),
}

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
            (low, high, _) = self.begin_parfor(panels.count, chunk, None, None);
        }
        let (p, _) = self.b.begin_for(low, high, one, &[]);
        let outer = self.enter_kernel_loop(p);
        self.open(nest.part.body);
        self.pack_panel(nest, side, panels, block, p)?;
        self.close();
        self.b.end_for(&[]);
        self.leave_kernel_loop(outer);
        if nest.threads {
            self.end_parfor();
        }
        self.close();
        Ok(())
    }

    pub fn pack_panel(&mut self, nest: &Nest<'_>, side: &Side, panels: Panels, block: FoldBlock, p: Val) -> Result<()> {
        let (plan, body) = (nest.plan, nest.inner.body);
        let width = side.width as i64;
        let skipped = self.times(p, width);
        let first = self.b.add(panels.low, skipped);
        let panel_bytes = self.times(block.count, (side.stride * plan.bytes) as i64);
        let at = self.b.mul(panel_bytes, p);
        let to = self.b.ptr_add(panels.data, at);
        if let Some(collapsed) = plan.collapsed().filter(|_| side.axis == plan.columns.axis) {
            return self.pack_collapsed(nest, collapsed, block, (first, panels.high), to);
        }
        let range = self.side_range(nest, side);
        let all = self.b.i64(width);
        let end = self.b.add(first, all);
        let whole = self.b.icmp(IntCmp::Sle, end, panels.high);
        self.b.begin_if(whole);
        self.pack_whole(nest, side, block, first, to, range)?;
        self.b.begin_else(&[]);
        // One index after the other; those beyond the last one are the last one.
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let last = self.b.sub(panels.high, one);
        let (r, _) = self.b.begin_for(zero, all, one, &[]);
        self.open(nest.part.body);
        let index = self.b.add(first, r);
        let index = self.b.binary(NestBin::SMin, index, last);
        self.bind_wide(side.param, index, range);
        let moved = self.times(r, (usize::from(side.spread) * plan.bytes) as i64);
        let mut g = Grid::scalar(plan.bytes);
        g.push_jam(Jam::of(side.param, 1));
        self.prepare_copies(&mut g, body)?;
        self.pack_singly(&mut g, nest, side, block, zero, to, Some(moved))?;
        self.close();
        self.b.end_for(&[]);
        self.b.end_if(&[]);
        Ok(())
    }

    /// Packs a panel whose indices the axis has, the first of them given.
    fn pack_whole(
        &mut self,
        nest: &Nest<'_>,
        side: &Side,
        block: FoldBlock,
        first: Val,
        to: Val,
        range: (i64, i64),
    ) -> Result<()> {
        let (plan, body) = (nest.plan, nest.inner.body);
        let zero = self.b.i64(0);
        let mut g = Grid::scalar(plan.bytes);
        let lanes = usize::from(plan.lanes).min(1 << side.width.ilog2());
        let vectors = side.spread == 1 && lanes * plan.bytes >= LEAST_VECTOR;
        // Vectors of `lanes` indices that cover the panel; the last one may overlap the one before.
        let starts: Vec<usize> = (0..side.width.div_ceil(lanes)).map(|n| (n * lanes).min(side.width - lanes)).collect();
        if vectors && self.packs_along(&mut g, nest, side) {
            g.set_vec(Some(side.param), lanes as u8, 1);
            for start in starts {
                self.open(nest.part.body);
                let moved = self.b.i64(start as i64);
                let index = self.b.add(first, moved);
                self.bind_wide(side.param, index, range);
                self.prepare_copies(&mut g, body)?;
                self.pack_along(&mut g, nest, side, block, to, start)?;
                self.close();
            }
            return Ok(());
        }
        self.open(nest.part.body);
        self.bind_wide(side.param, first, range);
        let mut from = zero;
        if vectors && self.packs_across(&mut g, nest, side, lanes) {
            g.push_jam(Jam::of(side.param, side.width));
            self.prepare_copies(&mut g, body)?;
            from = self.pack_across(&mut g, nest, side, block, to, lanes, &starts)?;
            g.set_vec(None, 1, 1);
        } else {
            g.push_jam(Jam::of(side.param, side.width));
            self.prepare_copies(&mut g, body)?;
        }
        self.pack_singly(&mut g, nest, side, block, from, to, None)?;
        self.close();
        Ok(())
    }

    /// Do vectors of consecutive indices of the axis load consecutive elements?
    fn packs_along(&mut self, g: &mut Grid, nest: &Nest<'_>, side: &Side) -> bool {
        g.set_vec(Some(side.param), 2, 1);
        let along = self.loads_are_unit(g, nest.inner, |dep| dep.vec);
        g.set_vec(None, 1, 1);
        along
    }

    /// Do vectors of consecutive indices of the fold load consecutive elements? Blocks must not cut such vectors.
    fn packs_across(&mut self, g: &mut Grid, nest: &Nest<'_>, side: &Side, lanes: usize) -> bool {
        let (Generator::Known { lower, upper, .. }, params) =
            (&nest.inner.generator, &self.func.regions[nest.inner.body].params)
        else {
            return false;
        };
        let Some((&last, outer)) = params.split_last() else { return false };
        let whole = match self.axis_extent(lower[outer.len()], upper[outer.len()]) {
            Ext::Const(n) => n % lanes as i64 == 0 && BLOCK_UNIT % lanes as i64 == 0,
            Ext::Val(_) => false,
        };
        if self.alias[last].is_some() || !outer.is_empty() && !whole {
            return false;
        }
        g.set_vec(Some(last), 2, 1);
        g.push_jam(Jam::of(side.param, 2));
        let across = self.loads_are_unit(g, nest.inner, |dep| dep.vec && dep.jams != 0);
        g.set_vec(None, 1, 1);
        g.pop_jam();
        across
    }

    /// Opens the loop over a block's indices from one of them on; returns the memory of the row.
    pub fn begin_rows(
        &mut self,
        nest: &Nest<'_>,
        side: &Side,
        block: FoldBlock,
        bounds: (Val, Val),
        step: i64,
        to: Val,
    ) -> Result<Val> {
        let step = self.b.i64(step);
        let (k, _) = self.b.begin_for(bounds.0, bounds.1, step, &[]);
        self.open(nest.inner.body);
        let index = self.b.add(block.first, k);
        self.bind_fold_indices(nest.inner, index)?;
        let at = self.times(k, (side.stride * nest.plan.bytes) as i64);
        Ok(self.b.ptr_add(to, at))
    }

    /// Stores the rows of a panel, a vector of indices of the axis at a time: those from `start` on.
    fn pack_along(
        &mut self,
        g: &mut Grid,
        nest: &Nest<'_>,
        side: &Side,
        block: FoldBlock,
        to: Val,
        start: usize,
    ) -> Result<()> {
        let bytes = nest.plan.bytes;
        let zero = self.b.i64(0);
        let mark = g.mark();
        let to = self.begin_rows(nest, side, block, (zero, block.count), 1, to)?;
        for packed in &side.values {
            let at = (packed.at * bytes) as i32;
            if packed.copies > 1 {
                let value = self.packed_of(g, packed.value, 0, 0)?;
                self.b.store(value, to, at + (start * bytes) as i32, Access::ANY);
            } else if start == 0 {
                let value = self.scalar_of(g, packed.value, 0, 0)?;
                self.b.store(value, to, at, Access::ALIGNED);
            }
        }
        self.close();
        g.release(mark);
        self.b.end_for(&[]);
        Ok(())
    }

    /// Stores the rows of a panel, a square of `lanes` indices of the axis and of the fold at a time: vectors along the fold are
    /// transposed. Returns the first index of the block that is left.
    #[expect(clippy::too_many_arguments, reason = "the state of one loop nest")]
    fn pack_across(
        &mut self,
        g: &mut Grid,
        nest: &Nest<'_>,
        side: &Side,
        block: FoldBlock,
        to: Val,
        lanes: usize,
        starts: &[usize],
    ) -> Result<Val> {
        let bytes = nest.plan.bytes;
        let row_bytes = side.stride * bytes;
        let last = self.func.regions[nest.inner.body].params.last().copied();
        let (zero, mask) = (self.b.i64(0), self.b.i64(-(lanes as i64)));
        let end = self.b.binary(NestBin::And, block.count, mask);
        let to = self.begin_rows(nest, side, block, (zero, end), lanes as i64, to)?;
        g.set_vec(last, lanes as u8, 1);
        for packed in &side.values {
            for &start in if packed.copies > 1 { starts } else { &[0] } {
                let at = (packed.at + start) * bytes;
                let mark = g.mark();
                if packed.copies == 1 {
                    for (lane, value) in self.lanes_of(g, packed.value, 0, 0)?.into_iter().enumerate() {
                        self.b.store(value, to, (at + lane * row_bytes) as i32, Access::ALIGNED);
                    }
                } else {
                    let square = (start..start + lanes)
                        .map(|r| self.packed_of(g, packed.value, r, 0))
                        .collect::<Result<Vec<Val>>>()?;
                    for (lane, row) in self.transpose(square).into_iter().enumerate() {
                        self.b.store(row, to, (at + lane * row_bytes) as i32, Access::ANY);
                    }
                }
                g.release(mark);
            }
        }
        self.close();
        self.b.end_for(&[]);
        Ok(end)
    }

    /// The columns of a square of lanes, whose side is a power of two, from its rows.
    fn transpose(&mut self, mut rows: Vec<Val>) -> Vec<Val> {
        let n = rows.len();
        let half = (n / 2) as u8;
        let interleave = |first: u8| (0..half).flat_map(|k| [first + k, first + k + n as u8]).collect::<Vec<u8>>();
        // Each iteration interleaves row k with row k + n/2: that rotates the bits of (row, lane) by one.
        for _ in 0..n.ilog2() {
            rows = (0..n / 2)
                .flat_map(|k| {
                    let (a, b) = (rows[k], rows[k + n / 2]);
                    [self.b.shuffle(a, b, &interleave(0)), self.b.shuffle(a, b, &interleave(half))]
                })
                .collect();
        }
        rows
    }

    /// Stores the rows of a panel from one index of the block on: copies for all indices of the axis, or for a `single` one whose
    /// copies are that many bytes from the first.
    #[expect(clippy::too_many_arguments, reason = "the state of one loop nest")]
    fn pack_singly(
        &mut self,
        g: &mut Grid,
        nest: &Nest<'_>,
        side: &Side,
        block: FoldBlock,
        from: Val,
        to: Val,
        single: Option<Val>,
    ) -> Result<()> {
        let bytes = nest.plan.bytes;
        let mark = g.mark();
        let to = self.begin_rows(nest, side, block, (from, block.count), 1, to)?;
        for packed in &side.values {
            let to = match single {
                Some(bytes) if packed.copies > 1 => self.b.ptr_add(to, bytes),
                _ => to,
            };
            for r in 0..if single.is_none() { packed.copies } else { 1 } {
                let mut value = self.scalar_of(g, packed.value, r, 0)?;
                if side.spread > 1 {
                    value = self.b.splat(value, side.spread);
                }
                self.b.store(value, to, ((packed.at + r * usize::from(side.spread)) * bytes) as i32, Access::ALIGNED);
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
        if panel.spread > 1 && !vector {
            let ty = ty.with_lanes(panel.spread);
            return Cell::Packed(self.b.load(ty, panel.ptr, at(j * usize::from(panel.spread)), Access::ALIGNED));
        }
        if !vector {
            return Cell::One(self.b.load(ty, panel.ptr, at(j), Access::ALIGNED));
        }
        Cell::Packed(self.b.load(ty.with_lanes(g.lanes), panel.ptr, at(u * usize::from(g.lanes)), Access::ALIGNED))
    }

    /// Binds the indices of a fold at a place of its index set, counted row-major.
    pub fn bind_fold_indices(&mut self, inner: &Part, place: Val) -> Result<()> {
        let Generator::Known { lower, upper, .. } = &inner.generator else {
            return self.unsupported(ravel_source::Span::NONE, "a fold of unknown rank in tiles");
        };
        let params: Vec<Value> = self.func.regions[inner.body].params.clone();
        let axes: Vec<Digit> = params
            .into_iter()
            .zip(lower.iter().zip(upper))
            .map(|(param, (&lower, &upper))| {
                let range = self.range[param].unwrap_or((i64::from(i32::MIN), i64::from(i32::MAX)));
                Digit { param, lower, upper, range }
            })
            .collect();
        self.bind_row_major(&axes, place);
        Ok(())
    }

    /// Binds indices at a place of their index set, counted row-major.
    pub fn bind_row_major(&mut self, axes: &[Digit], place: Val) {
        let mut rest = place;
        for (at, axis) in axes.iter().enumerate().rev() {
            let mut index = rest;
            if at > 0 {
                let extent = self.axis_extent(axis.lower, axis.upper);
                let extent = self.extent_val(extent);
                let above = self.b.binary(NestBin::SDiv, rest, extent);
                let whole = self.b.mul(above, extent);
                index = self.b.sub(rest, whole);
                rest = above;
            }
            if self.const_i32(axis.lower) != Some(0) {
                let low = self.wide(axis.lower);
                index = self.b.add(index, low);
            }
            self.bind_wide(axis.param, index, axis.range);
        }
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
