//! The micro-kernel: one tile of cells, its accumulators in registers.
//!
//! Accumulators start from the neutral element or, after the first block of the fold, from the result's cells. At the end
//! of the last block the rest of the partition's body turns them into cells. A tile that sticks out of the partition lives in a
//! buffer and is copied cell by cell.

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty};
use ravel_wir::{Combine, WithOp};

use crate::Result;
use crate::facts::{Cell, Facts, Grid, Jam, Panel, Sink, Val, prim_of};
use crate::lower::block_sums::wants_blocks;
use crate::lower::{Lower, scalars};
use crate::plan::tile::Side;
use crate::tile::nest::Nest;
use crate::tile::pack::{FoldBlock, Panels};

/// Indices of the fold per iteration of the innermost loop, and where narrow vectors make every instruction of it count.
const UNROLL: i64 = 4;
const UNROLL_NARROW: i64 = 8;

/// Sums of floats with at most so many terms are made in one go, and longer ones in blocks of so many: adding a block to all accumulators costs as
/// much as a step or two.
const SHORT: i64 = 256;
const BLOCK: i64 = 64;

/// A tile in memory: its first cell, and bytes from row to row. Cells of a row are neighbours.
#[derive(Clone, Copy)]
struct Place {
    first: Val,
    stride: Val,
}

impl Facts<'_> {
    fn vector_offset(&self, nest: &Nest<'_>, u: usize) -> i32 {
        (u * usize::from(nest.plan.lanes) * nest.plan.bytes) as i32
    }
}

impl Lower<'_, '_> {
    /// One tile: the panels `rows.1` and `columns.1` of two stretches, in one block of the fold. Its accumulators rest in the result, or
    /// in `cells`.
    pub fn tile(
        &mut self,
        nest: &Nest<'_>,
        rows: (Panels, Val),
        columns: (Panels, Val),
        block: FoldBlock,
        trips: Val,
        cells: Option<Val>,
    ) -> Result<()> {
        let plan = nest.plan;
        let func = self.func;
        let Sink::Slice { elem, data, strides, .. } = &nest.sinks[plan.home] else {
            return self.unsupported(func.insts[plan.fold].span, "tiles of late cells");
        };
        let (elem, data) = (*elem, *data);
        let bytes = plan.bytes as i64;
        let (height, width) = (plan.rows.width, plan.columns.width);
        let start = |lower: &mut Self, side: &Side, (panels, p): (Panels, Val)| {
            let skipped = lower.times(p, side.width as i64);
            let index = lower.b.add(panels.low, skipped);
            let panel = lower.times(block.count, side.stride as i64 * bytes);
            let skipped = lower.b.mul(panel, p);
            (index, lower.b.ptr_add(panels.data, skipped))
        };
        let (i, row_panel) = start(self, &plan.rows, rows);
        let (j, column_panel) = start(self, &plan.columns, columns);
        let (rest_rows, rest_columns) = (self.b.sub(rows.0.high, i), self.b.sub(columns.0.high, j));
        let (all_rows, all_columns) = (self.b.i64(height as i64), self.b.i64(width as i64));
        let whole_rows = self.b.icmp(IntCmp::Sge, rest_rows, all_rows);
        let whole_columns = self.b.icmp(IntCmp::Sge, rest_columns, all_columns);
        let mut whole = self.b.binary(NestBin::And, whole_rows, whole_columns);
        if let Some(end_to_end) = plan.collapsed().and_then(|of| self.is_end_to_end(nest, of, j)) {
            whole = self.b.binary(NestBin::And, whole, end_to_end);
        }
        let zero = self.b.i64(0);
        let first = self.b.icmp(IntCmp::Eq, block.first, zero);
        let end = self.b.add(block.first, block.count);
        let last = self.b.icmp(IntCmp::Sge, end, trips);
        // Where the accumulators rest.
        self.open(nest.part.body);
        self.bind_tile(nest, i, j);
        let offset = self.slice_offset(nest.part, elem, strides);
        let address = self.address(data, &offset);
        let home = self.pointer(address);
        let home_stride = self.extent_product(strides[plan.rows.axis], crate::facts::Ext::Const(bytes));
        let home_stride = self.extent_val(home_stride);
        self.close();
        let home = Place { first: home, stride: home_stride };
        let buffer = cells.unwrap_or_else(|| self.b.stack_slot((height * width * plan.bytes) as u32, 64));
        let buffer = Place { first: buffer, stride: self.b.i64(width as i64 * bytes) };
        let place = match cells {
            Some(_) => buffer,
            None => Place {
                first: self.b.select(whole, home.first, buffer.first),
                stride: self.b.select(whole, home.stride, buffer.stride),
            },
        };
        let rest = (
            self.b.binary(NestBin::SMin, rest_rows, all_rows),
            self.b.binary(NestBin::SMin, rest_columns, all_columns),
        );
        let one = self.b.bool(true);
        let partial = self.b.binary(NestBin::Xor, whole, one);
        let later = self.b.binary(NestBin::Xor, first, one);
        let resumed = self.b.binary(NestBin::And, partial, later);
        let ty = Ty::scalar(prim_of(elem));
        if cells.is_none() {
            self.b.begin_if(resumed);
            self.copy_cells(ty, home, buffer, rest);
            self.b.end_if(&[]);
        }

        // Start.
        let mut g = Grid::scalar(plan.bytes);
        g.set_vec(Some(plan.columns.param), plan.lanes, plan.u);
        g.push_jam(Jam::of(plan.rows.param, height));
        let [WithOp::Fold { neutral, combine: Combine::Op(op), .. }] = &nest.fold.ops[..] else {
            return self.unsupported(func.insts[plan.fold].span, "tiles of unusual folds");
        };
        let (op, neutral) = (*op, *neutral);
        // Long sums of floats are made of blocks that begin anew, and what is there is added behind.
        let in_blocks = wants_blocks(op, elem) && self.const_trips(nest.inner, 0).is_none_or(|trips| trips > SHORT);
        let mut accs = match in_blocks {
            true => vec![self.zero_vector(elem, plan.lanes); height * plan.u],
            false => self.accumulators_there(nest, &mut g, first, place, neutral)?,
        };

        // The block: none of it where no cell needs the fold.
        let mut count = block.count;
        if let Some(needed) = self.tile_is_needed(plan, i, j) {
            count = self.b.select(needed, count, zero);
        }
        let mut carried = vec![row_panel, column_panel];
        carried.extend(accs);
        let steps = if plan.takes_factor { UNROLL_NARROW } else { UNROLL };
        let unroll = self.b.i64(steps);
        let most = self.b.i64(steps - 1);
        let end = self.b.sub(count, most);
        let carried = match in_blocks {
            true => {
                let length = self.b.i64(BLOCK);
                let (from, outer) = self.b.begin_for(zero, end, length, &carried);
                let to = self.b.add(from, length);
                let to = self.b.binary(NestBin::SMin, to, end);
                let mut anew = outer.clone();
                let nothing = self.zero_vector(elem, plan.lanes);
                anew[2..].fill(nothing);
                let (_, inside) = self.b.begin_for(from, to, unroll, &anew);
                let next = self.fold_steps(nest, &mut g, inside, steps, op)?;
                let mut next = self.b.end_for(&next);
                self.add_to_all(op, elem, &mut next[2..], &outer[2..]);
                self.b.end_for(&next)
            }
            false => {
                let (_, inside) = self.b.begin_for(zero, end, unroll, &carried);
                let next = self.fold_steps(nest, &mut g, inside, steps, op)?;
                self.b.end_for(&next)
            }
        };
        let mask = self.b.i64(-steps);
        let done = self.b.binary(NestBin::And, count, mask);
        let step = self.b.i64(1);
        let (_, inside) = self.b.begin_for(done, count, step, &carried);
        let next = self.fold_steps(nest, &mut g, inside, 1, op)?;
        accs = self.b.end_for(&next).split_off(2);
        if in_blocks {
            let there = self.accumulators_there(nest, &mut g, first, place, neutral)?;
            self.add_to_all(op, elem, &mut accs, &there);
        }

        // Stop.
        let result = func.insts[plan.fold].results[0];
        let plain = cells.is_none() && nest.sinks.len() == 1 && func.regions[nest.part.body].yields[..] == [result];
        if !plain {
            let finished = self.b.binary(NestBin::And, whole, last);
            self.b.begin_if(finished);
            self.open(nest.part.body);
            self.bind_tile(nest, i, j);
            for r in 0..height {
                for u in 0..plan.u {
                    g.remember(result, r, u, Cell::Packed(accs[r * plan.u + u]));
                }
            }
            self.kernel_cells(&mut g, nest.part, nest.sinks)?;
            self.close();
            self.b.begin_else(&[]);
        }
        let mut row = place.first;
        for r in 0..height {
            if r > 0 {
                row = self.b.ptr_add(row, place.stride);
            }
            for u in 0..plan.u {
                let offset = self.vector_offset(nest, u);
                self.b.store(accs[r * plan.u + u], row, offset, Access::ANY);
            }
        }
        self.b.begin_if(partial);
        if plain {
            self.copy_cells(ty, buffer, home, rest);
        } else {
            self.b.begin_if(last);
            self.finish_cells(nest, ty, buffer, (i, j), rest)?;
            if cells.is_none() {
                self.b.begin_else(&[]);
                self.copy_cells(ty, buffer, home, rest);
            }
            self.b.end_if(&[]);
        }
        self.b.end_if(&[]);
        if !plain {
            self.b.end_if(&[]);
        }
        Ok(())
    }

    /// What the accumulators of a tile begin with: the neutral element in the first block of the fold, then what rests in the result.
    fn accumulators_there(
        &mut self,
        nest: &Nest<'_>,
        g: &mut Grid,
        first: Val,
        place: Place,
        neutral: ravel_wir::Value,
    ) -> Result<Vec<Val>> {
        let plan = nest.plan;
        let height = plan.rows.width;
        let vector = Ty::scalar(prim_of(self.elem(neutral))).with_lanes(plan.lanes);
        self.b.begin_if(first);
        let mark = g.mark();
        let neutral = self.scalar_of(g, neutral, 0, 0)?;
        g.release(mark);
        let neutral = self.b.splat(neutral, plan.lanes);
        let starts = vec![neutral; height * plan.u];
        self.b.begin_else(&starts);
        let mut starts = Vec::new();
        let mut row = place.first;
        for r in 0..height {
            if r > 0 {
                row = self.b.ptr_add(row, place.stride);
            }
            for u in 0..plan.u {
                starts.push(self.b.load(vector, row, self.vector_offset(nest, u), Access::ANY));
            }
        }
        Ok(self.b.end_if(&starts))
    }

    fn add_to_all(&mut self, op: ravel_types::BinOp, elem: ravel_types::Elem, sums: &mut [Val], others: &[Val]) {
        let arith = self.arith();
        for (sum, other) in sums.iter_mut().zip(others) {
            *sum = scalars::binary(&mut self.b, arith, op, elem, *other, *sum);
        }
    }

    /// Binds the indices of a tile's first cell.
    fn bind_tile(&mut self, nest: &Nest<'_>, i: Val, j: Val) {
        for (side, index) in [(&nest.plan.rows, i), (&nest.plan.columns, j)] {
            if let Some(collapsed) = nest.plan.collapsed().filter(|_| side.axis == nest.plan.columns.axis) {
                self.bind_collapsed(nest, collapsed, index);
                continue;
            }
            let range = self.side_range(nest, side);
            self.bind_wide(side.param, index, range);
        }
    }

    /// Some indices of the fold: what was carried is panels and accumulators, and so is the result.
    fn fold_steps(
        &mut self,
        nest: &Nest<'_>,
        g: &mut Grid,
        carried: Vec<Val>,
        steps: i64,
        op: ravel_types::BinOp,
    ) -> Result<Vec<Val>> {
        let plan = nest.plan;
        let arith = self.arith();
        let cell = self.func.regions[nest.inner.body].yields[0];
        let elem = self.elem(cell);
        let product = self.fused_product(op, elem, cell);
        let columns_first = product.is_some_and(|(x, _)| plan.columns.values.iter().any(|packed| packed.value == x));
        let mut accs = carried;
        let (rows, columns) = (accs[0], accs[1]);
        let row_bytes = [&plan.rows, &plan.columns].map(|side| (side.stride * plan.bytes) as i64);
        self.open(nest.inner.body);
        for step in 0..steps {
            let mark = g.mark();
            g.panels.clear();
            for (side, (ptr, bytes)) in
                [&plan.rows, &plan.columns].into_iter().zip([(rows, row_bytes[0]), (columns, row_bytes[1])])
            {
                for packed in &side.values {
                    let offset = (step * bytes) as i32 + (packed.at * plan.bytes) as i32;
                    g.panels.insert(packed.value, Panel { ptr, offset, spread: side.spread });
                }
            }
            for r in 0..plan.rows.width {
                for u in 0..plan.u {
                    let acc = &mut accs[2 + r * plan.u + u];
                    *acc = match product {
                        Some((x, y)) => {
                            let (x, y) = (self.packed_of(g, x, r, u)?, self.packed_of(g, y, r, u)?);
                            // The first factor is the one whose register is taken: a column that no other row needs.
                            let swaps = plan.takes_factor && columns_first == (r + 1 < plan.rows.width);
                            if swaps { self.b.fma(y, x, *acc) } else { self.b.fma(x, y, *acc) }
                        }
                        None => {
                            let cell = self.packed_of(g, cell, r, u)?;
                            scalars::binary(&mut self.b, arith, op, elem, *acc, cell)
                        }
                    };
                }
            }
            g.panels.clear();
            g.release(mark);
        }
        for (k, bytes) in row_bytes.into_iter().enumerate() {
            let bytes = self.b.i64(steps * bytes);
            accs[k] = self.b.ptr_add(accs[k], bytes);
        }
        self.close();
        Ok(accs)
    }

    /// Copies the cells of a tile that the partition has.
    fn copy_cells(&mut self, ty: Ty, from: Place, to: Place, rest: (Val, Val)) {
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let (_, rows) = self.b.begin_for(zero, rest.0, one, &[from.first, to.first]);
        let (c, _) = self.b.begin_for(zero, rest.1, one, &[]);
        let bytes = self.b.i64(i64::from(ty.bytes()));
        let at = self.b.mul(c, bytes);
        let (source, target) = (self.b.ptr_add(rows[0], at), self.b.ptr_add(rows[1], at));
        let value = self.b.load(ty, source, 0, Access::ALIGNED);
        self.b.store(value, target, 0, Access::ALIGNED);
        self.b.end_for(&[]);
        let next = [self.b.ptr_add(rows[0], from.stride), self.b.ptr_add(rows[1], to.stride)];
        self.b.end_for(&next);
    }

    /// Computes the partition's cells from the accumulators in a buffer, one by one.
    fn finish_cells(
        &mut self,
        nest: &Nest<'_>,
        ty: Ty,
        from: Place,
        first: (Val, Val),
        rest: (Val, Val),
    ) -> Result<()> {
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let (r, rows) = self.b.begin_for(zero, rest.0, one, &[from.first]);
        let i = self.b.add(first.0, r);
        let (c, _) = self.b.begin_for(zero, rest.1, one, &[]);
        self.open(nest.part.body);
        let j = self.b.add(first.1, c);
        self.bind_tile(nest, i, j);
        let bytes = self.b.i64(i64::from(ty.bytes()));
        let at = self.b.mul(c, bytes);
        let source = self.b.ptr_add(rows[0], at);
        let value = self.b.load(ty, source, 0, Access::ALIGNED);
        let mut g = Grid::scalar(nest.plan.bytes);
        g.remember(self.func.insts[nest.plan.fold].results[0], 0, 0, Cell::One(value));
        self.kernel_cells(&mut g, nest.part, nest.sinks)?;
        self.close();
        self.b.end_for(&[]);
        let next = self.b.ptr_add(rows[0], from.stride);
        self.b.end_for(&[next]);
        Ok(())
    }
}
