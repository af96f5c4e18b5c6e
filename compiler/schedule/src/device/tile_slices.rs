//! Slices of staged values in the launches of tiles: who computes which, where they stand in local memory, and how cells take them.

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty};
use ravel_types::Elem;
use ravel_wir::{Combine, Value, With, WithOp};

use crate::Result;
use crate::device::tile::{DeviceTile, Staged};
use crate::device::tile_nest::{Tile, place_of, shared_copy};
use crate::facts::{Cell, Grid, Val, prim_of};
use crate::lower::{Lower, scalars};

impl Lower<'_, '_> {
    /// Computes the work-item's share of the staged values of a slice.
    pub fn load_slice(&mut self, with: &With, tile: &Tile<'_>, first: Val) -> Result<Vec<Val>> {
        let one = self.b.i64(1);
        let last = self.b.sub(tile.trips, one);
        let mut values = Vec::new();
        for &staged in &tile.plan.parts.staged {
            for pass in 0..passes(tile.plan, staged) {
                let (k, x) = self.share(tile, staged, pass);
                self.open(tile.part.body);
                if let (Some(side), Some(x)) = (staged.side, x) {
                    let index = self.b.add(tile.places[side].0, x);
                    let index = self.b.binary(NestBin::SMin, index, tile.places[side].2);
                    self.bind_side(with, tile, side, index);
                }
                self.open(tile.inner.body);
                let index = self.b.add(first, k);
                let index = self.b.binary(NestBin::SMin, index, last);
                self.bind_fold_indices(tile.inner, index)?;
                values.push(self.scalar_of(&mut Grid::scalar(4), staged.value, 0, 0)?);
                self.close();
                self.close();
            }
        }
        Ok(values)
    }

    /// Which staged value of a slice the work-item computes in a pass: its place along the fold, and along the side.
    fn share(&mut self, tile: &Tile<'_>, staged: Staged, pass: usize) -> (Val, Option<Val>) {
        let plan = tile.plan;
        let (items, width, slice) = (plan.items(), plan.width(staged), plan.slice);
        // Consecutive work-items go along the faster of two directions, of this extent.
        let fast = if staged.along_fold { slice } else { width };
        let (mask, shift) = (self.b.i64(fast as i64 - 1), self.b.i64(i64::from(fast.trailing_zeros())));
        let along = self.b.binary(NestBin::And, tile.item, mask);
        let mut across = self.b.binary(NestBin::SShr, tile.item, shift);
        if pass > 0 {
            let skipped = self.b.i64((pass * items / fast) as i64);
            across = self.b.add(across, skipped);
        }
        let (k, x) = if staged.along_fold { (along, across) } else { (across, along) };
        (k, staged.side.map(|_| x))
    }

    /// Writes the work-item's share of a slice to a half of local memory: that which begins after `half` indices of the fold.
    pub fn store_slice(&mut self, tile: &Tile<'_>, half: Val, values: &[Val]) {
        let plan = tile.plan;
        let wanted = |staged: &Staged| (plan.width(*staged) * plan.slice).min(plan.items());
        let mut values = values.iter();
        // A slice may have less than a value for each work-item: stores of the first ones are under one condition.
        let mut open = plan.items();
        for (&staged, &slot) in plan.parts.staged.iter().zip(&tile.slots) {
            let bytes = i64::from(prim_of(self.elem(staged.value)).bytes());
            let stride = plan.stride(staged) as i64;
            if wanted(&staged) != open {
                self.store_condition(tile, open, wanted(&staged));
                open = wanted(&staged);
            }
            for (pass, &value) in values.by_ref().take(passes(plan, staged)).enumerate() {
                let (k, x) = self.share(tile, staged, pass);
                let row = self.b.add(half, k);
                let mut at = self.times(row, stride * bytes);
                if let Some(x) = x {
                    let x = self.times(x, bytes);
                    at = self.b.add(at, x);
                }
                let to = self.b.ptr_add(slot, at);
                self.b.store(value, to, 0, Access::ALIGNED);
            }
        }
        self.store_condition(tile, open, plan.items());
    }

    /// Ends what only some of the first work-items do, and begins what `next` of them do.
    fn store_condition(&mut self, tile: &Tile<'_>, open: usize, next: usize) {
        if open < tile.plan.items() {
            self.b.begin_else(&[]);
            self.b.end_if(&[]);
        }
        if next < tile.plan.items() {
            let next = self.b.i64(next as i64);
            let mine = self.b.icmp(IntCmp::Slt, tile.item, next);
            self.b.begin_if(mine);
        }
    }

    /// All cells of the work-item take the values of `count` indices of a slice.
    pub fn take_slice(
        &mut self,
        g: &mut Grid,
        tile: &Tile<'_>,
        half: Val,
        (count, whole): (Val, bool),
        accumulators: &[Val],
    ) -> Result<Vec<Val>> {
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let plan = tile.plan;
        let (mut from, mut to) = (zero, count);
        if let Some(part) = tile.part_of_fold {
            let share = (plan.slice / plan.split) as i64;
            from = self.times(part, share);
            let share = self.b.i64(share);
            to = self.b.add(from, share);
            if !whole {
                to = self.b.binary(NestBin::SMin, to, count);
            }
        }
        let (k, mut accs) = self.b.begin_for(from, to, one, accumulators);
        self.open(tile.inner.body);
        let mark = g.mark();
        let row = self.b.add(half, k);
        for (&staged, &slot) in plan.parts.staged.iter().zip(&tile.slots) {
            self.read_copies(g, tile, staged, slot, row);
        }
        let yields: Vec<Value> = self.func.regions[tile.inner.body].yields.clone();
        let arith = self.arith();
        for (n, (op, &cell)) in tile.fold.ops.iter().zip(&yields).enumerate() {
            let WithOp::Fold { combine: Combine::Op(op), .. } = op else { continue };
            let elem = self.elem(cell);
            let product = self.fused_product(*op, elem, cell);
            for copy in 0..g.j() {
                let acc = &mut accs[n * g.j() + copy];
                *acc = match product {
                    Some((x, y)) => {
                        let (x, y) = (self.scalar_of(g, x, copy, 0)?, self.scalar_of(g, y, copy, 0)?);
                        self.b.fma(x, y, *acc)
                    }
                    None => {
                        let cell = self.scalar_of(g, cell, copy, 0)?;
                        scalars::binary(&mut self.b, arith, *op, elem, *acc, cell)
                    }
                };
            }
        }
        g.release(mark);
        self.close();
        Ok(self.b.end_for(&accs))
    }

    /// The copies of a staged value that the work-item's cells need, at a row of local memory.
    fn read_copies(&mut self, g: &mut Grid, tile: &Tile<'_>, staged: Staged, slot: Val, row: Val) {
        let plan = tile.plan;
        let elem: Elem = self.elem(staged.value);
        let ty = Ty::scalar(prim_of(elem));
        let bytes = i64::from(ty.bytes());
        let at = self.times(row, plan.stride(staged) as i64 * bytes);
        let row = self.b.ptr_add(slot, at);
        let Some(side) = staged.side else {
            let value = self.b.load(ty, row, 0, Access::ALIGNED);
            g.remember(staged.value, 0, 0, Cell::One(value));
            return;
        };
        for copy in 0..plan.sides[side].copies {
            let (factor, offset) = place_of(plan, side, copy);
            let mine = self.times(tile.places[side].1, factor as i64 * bytes);
            let from = self.b.ptr_add(row, mine);
            let value = self.b.load(ty, from, (offset as i64 * bytes) as i32, Access::ALIGNED);
            g.remember(staged.value, shared_copy(plan, side, copy), 0, Cell::One(value));
        }
    }
}

/// Values of a slice that a work-item computes.
fn passes(plan: &DeviceTile, staged: Staged) -> usize {
    (plan.width(staged) * plan.slice).div_ceil(plan.items())
}
