//! The launches of tiles: see [`crate::device::tile`].
//!
//! ```text
//!    a group per tile:
//!      what the cells of a work-item need besides the fold's index                    (registers)
//!      the first slice of staged values                                               (registers)
//!      for each slice of the fold
//!        store the slice, barrier, load the next slice                                (one half of local memory, registers)
//!        for each index of the slice: all cells of the work-item take one value       (from that half)
//!      the same for the rest of the fold
//!      the cells that the partition has
//! ```
//!
//! Local memory has two halves in turn, so that one barrier per slice is enough: who stores into a half has passed the barrier that
//! follows its last use. Indices beyond the end of an axis are the last one: whatever is staged is a value that the program has.

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty};
use ravel_wir::{Generator, Op, Part, With, WithOp};

use crate::device::tile::{DeviceTile, Staged, WANTED_GROUPS};
use crate::device::tile_sums::is_one_block;
use crate::facts::{Cell, Ext, Grid, Jam, Sink, Val, folds_along, prim_of};
use crate::lower::{Lower, scalars};
use crate::{Result, Tiles};

/// A launch on which everything is forced for tests has this least work at most.
const FORCED_WORK: f64 = 1.0;

/// Is everything to run on the device in the way of large programs, whatever the sizes are?
pub(crate) fn is_forced(device: Option<crate::Device>) -> bool {
    device.is_some_and(|d| d.launch_work <= FORCED_WORK)
}

/// What the code of one launch knows.
pub(crate) struct Tile<'a> {
    pub plan: &'a DeviceTile,
    pub part: &'a Part,
    /// The fold and its partition.
    pub fold: &'a With,
    pub inner: &'a Part,
    /// Number of this work-item in its group.
    pub item: Val,
    /// Indices of the fold.
    pub trips: Val,
    /// For each side: the tile's first index, the work-item's place along it, the last index of the axis.
    pub places: Vec<(Val, Val, Val)>,
    /// Local memory of the staged values.
    pub slots: Vec<Val>,
    /// Which part of the fold this work-item takes, if several share it.
    pub part_of_fold: Option<Val>,
}

impl Lower<'_, '_> {
    /// Runs a partition in tiles, if it is a fold that they pay for; `plain` is the launch for all other cases. `false` if nothing
    /// was emitted.
    pub fn launch_tiles(&mut self, with: &With, part: &Part, sinks: &[Sink]) -> Result<bool> {
        let forced = is_forced(self.cx.options.device);
        let mut plans = match self.plan_device_tiles(part, sinks, forced, false) {
            Ok(plans) => plans,
            Err(why) => {
                self.launch_remark(format!("no tiles: {why}"));
                return Ok(false);
            }
        };
        match self.tuned_tiles(part, &plans) {
            (Tiles::Usual, _) => {}
            (Tiles::All, key) => {
                if let Ok(all) = self.every_tile(part, sinks, forced) {
                    self.launch_variants(with, part, sinks, (&key, &plans[0]), &all)?;
                    return Ok(true);
                }
            }
            (Tiles::Only { number, of }, _) => {
                let all = self.every_tile(part, sinks, forced).unwrap_or_default();
                if of == all.len() + 1 && number < of {
                    let Some(plan) = all.into_iter().nth(number) else {
                        self.explain_no_tiles();
                        return Ok(false);
                    };
                    plans = vec![plan];
                }
            }
        }
        let mut open = 0;
        let mut always = false;
        for (n, plan) in plans.iter().enumerate() {
            self.launch_remark(plan.describe());
            let mut condition = self.device_tiles_condition(part, plan);
            if n + 1 < plans.len() {
                let enough = self.enough_groups(part, plan);
                condition = Some(match condition {
                    Some(holds) => self.b.binary(NestBin::And, holds, enough),
                    None => enough,
                });
            }
            let cache = self.emit.cache.clone();
            if let Some(condition) = condition {
                self.b.begin_if(condition);
            }
            self.tile_launch(with, part, sinks, plan)?;
            self.emit.cache = cache;
            if condition.is_none() {
                always = true;
                break;
            }
            self.b.begin_else(&[]);
            open += 1;
        }
        if !always {
            let cache = self.emit.cache.clone();
            self.launch_cells(with, part, sinks, false)?;
            self.emit.cache = cache;
        }
        for _ in 0..open {
            self.b.end_if(&[]);
        }
        Ok(true)
    }

    pub fn launch_remark(&mut self, text: String) {
        let span = self.cx.with.map_or(ravel_source::Span::NONE, |inst| self.func.insts[inst].span);
        self.cx.remark(span, text);
    }

    /// What must hold at run time; nothing if it is known now.
    pub fn device_tiles_condition(&mut self, part: &Part, plan: &DeviceTile) -> Option<Val> {
        let mut holds: Vec<Val> = Vec::new();
        if !plan.guards.is_empty() {
            holds.push(self.guard_condition(&plan.guards));
        }
        let mut wanted = Vec::new();
        if let Generator::Known { lower, upper, .. } = &part.generator {
            for side in &plan.sides {
                wanted.push((self.axis_extent(lower[side.axis], upper[side.axis]), plan.least.0));
            }
        }
        wanted.push((self.fold_trips(plan), plan.least.1));
        for (extent, least) in wanted {
            if let Ext::Val(extent) = extent {
                let least = self.b.i64(least);
                holds.push(self.b.icmp(IntCmp::Sge, extent, least));
            }
        }
        holds.into_iter().reduce(|a, b| self.b.binary(NestBin::And, a, b))
    }

    fn fold_trips(&mut self, plan: &DeviceTile) -> Ext {
        let func = self.func;
        let Op::With(fold) = &func.insts[plan.fold].op else { return Ext::Const(0) };
        let Generator::Known { lower, upper, .. } = &fold.parts[0].generator else { return Ext::Const(0) };
        let extents: Vec<Ext> = lower.iter().zip(upper).map(|(l, u)| self.axis_extent(*l, *u)).collect();
        self.product(&extents)
    }

    /// Are there groups for all units of a device?
    fn enough_groups(&mut self, part: &Part, plan: &DeviceTile) -> Val {
        let grid = self.groups_of(part, plan);
        let mut groups = self.b.i64(1);
        for n in grid {
            groups = self.b.mul(groups, n);
        }
        let wanted = self.b.i64(WANTED_GROUPS);
        self.b.icmp(IntCmp::Sge, groups, wanted)
    }

    /// Groups along the axes that are no sides, taken together, and along the sides.
    fn groups_of(&mut self, part: &Part, plan: &DeviceTile) -> Vec<Val> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return Vec::new() };
        let others: Vec<Ext> = (0..lower.len())
            .filter(|axis| !plan.sides.iter().any(|s| s.axis == *axis))
            .map(|axis| self.axis_extent(lower[axis], upper[axis]))
            .collect();
        let others = self.product(&others);
        let mut grid = vec![self.extent_val(others)];
        for side in &plan.sides {
            let extent = self.axis_extent(lower[side.axis], upper[side.axis]);
            let width = side.width() as i64;
            grid.push(match extent {
                Ext::Const(n) => self.b.i64((n + width - 1) / width),
                Ext::Val(n) => self.ceil_div(n, width),
            });
        }
        grid
    }

    pub fn tile_launch(&mut self, with: &With, part: &Part, sinks: &[Sink], plan: &DeviceTile) -> Result<()> {
        let func = self.func;
        let (Op::With(fold), Generator::Known { lower, upper, .. }) = (&func.insts[plan.fold].op, &part.generator)
        else {
            return Ok(());
        };
        let grid = self.groups_of(part, plan);
        let trips = self.fold_trips(plan);
        let trips = self.extent_val(trips);
        let mut lengths = Vec::new();
        for axis in 0..lower.len() {
            let extent = self.axis_extent(lower[axis], upper[axis]);
            let length = self.extent_val(extent);
            lengths.push((self.wide(lower[axis]), self.wide(upper[axis]), length));
        }
        let mut local: Vec<u32> = [1].into_iter().chain(plan.sides.iter().map(|s| s.items as u32)).collect();
        if let Some(last) = local.last_mut() {
            *last *= plan.split as u32;
        }
        let position = self.begin_groups(&grid, &local);
        self.facts.site.sequential += 1;
        self.open(part.body);
        let (groups, items) = position.split_at(grid.len());
        let mut items = items.to_vec();
        let mut item = items[1];
        let mut part_of_fold = None;
        if plan.split > 1 {
            // Work-items of the same part are neighbours.
            let width = plan.sides[0].items as i64;
            let (mask, shift) = (self.b.i64(width - 1), self.b.i64(i64::from(width.trailing_zeros())));
            part_of_fold = Some(self.b.binary(NestBin::SShr, item, shift));
            items[1] = self.b.binary(NestBin::And, item, mask);
        }
        // The other axes.
        let mut rest = groups[0];
        let others: Vec<usize> = (0..lower.len()).filter(|axis| !plan.sides.iter().any(|s| s.axis == *axis)).collect();
        let params = &func.regions[part.body].params;
        for (n, &axis) in others.iter().enumerate().rev() {
            let (low, _, length) = lengths[axis];
            let mut index = rest;
            if n > 0 {
                index = self.b.binary(NestBin::SRem, rest, length);
                rest = self.b.binary(NestBin::SDiv, rest, length);
            }
            let index = self.b.add(low, index);
            let range = self.axis_range(with, lower[axis], upper[axis]);
            self.bind_wide(params[axis], index, range);
        }
        let one = self.b.i64(1);
        let mut places = Vec::new();
        for (side, (&group, &item)) in plan.sides.iter().zip(groups[1..].iter().zip(&items[1..])) {
            let (low, high, _) = lengths[side.axis];
            let skipped = self.times(group, side.width() as i64);
            places.push((self.b.add(low, skipped), item, self.b.sub(high, one)));
        }
        if !plan.lone() {
            let above = self.times(items[1], plan.sides[1].items as i64);
            item = self.b.add(above, items[2]);
        }
        let bytes = |lower: &Self, staged: &Staged| prim_of(lower.elem(staged.value)).bytes();
        let slots: Vec<Val> = if plan.packed > 1 {
            let size = bytes(self, &plan.parts.staged[0]);
            let piece = self.b.local_slot((2 * plan.slice * plan.packed) as u32 * size, plan.packed as u32 * size);
            (0..plan.parts.staged.len()).map(|k| self.beyond(piece, i64::from(size) * k as i64)).collect()
        } else {
            let slot = |staged: &Staged| {
                self.b.local_slot((2 * plan.slice * plan.stride(*staged)) as u32 * bytes(self, staged), 16)
            };
            plan.parts.staged.iter().map(slot).collect()
        };
        let tile = Tile { plan, part, fold, inner: &fold.parts[0], item, trips, places, slots, part_of_fold };
        self.tile_body(with, &tile, sinks)?;
        self.close();
        self.facts.site.sequential -= 1;
        self.end_launch();
        Ok(())
    }

    fn tile_body(&mut self, with: &With, tile: &Tile<'_>, sinks: &[Sink]) -> Result<()> {
        let func = self.func;
        let plan = tile.plan;
        let slice = plan.slice as i64;
        // The work-item's cells: their indices along each side.
        let mut indices: Vec<Vec<Val>> = Vec::new();
        for n in 0..plan.sides.len() {
            indices.push((0..plan.sides[n].copies).map(|copy| self.cell_index(tile, n, copy)).collect());
        }
        let mut g = Grid::scalar(4);
        for side in &plan.sides {
            g.push_jam(Jam::of(side.param, side.copies));
        }
        for &(v, side) in &plan.parts.fixed {
            for (copy, &index) in indices[side].iter().enumerate() {
                self.open(tile.part.body);
                let index = self.b.binary(NestBin::SMin, index, tile.places[side].2);
                self.bind_side(with, tile, side, index);
                let value = self.scalar_of(&mut Grid::scalar(4), v, 0, 0)?;
                self.close();
                g.remember(v, shared_copy(plan, side, copy), 0, Cell::One(value));
            }
        }
        let mut carried = Vec::new();
        for op in &tile.fold.ops {
            let WithOp::Fold { neutral, .. } = op else { continue };
            let mut start = self.scalar_of(&mut Grid::scalar(4), *neutral, 0, 0)?;
            if let (Some(part), Some(binop)) = (tile.part_of_fold, folds_along(op))
                && let Some(identity) = binop.identity(self.elem(*neutral))
                && self
                    .live
                    .def(*neutral)
                    .is_none_or(|inst| !matches!(func.insts[inst].op, Op::Const(scalar) if scalar == identity))
            {
                let identity = scalars::constant(&mut self.b, identity, 1);
                let zero = self.b.i64(0);
                let first = self.b.icmp(IntCmp::Eq, part, zero);
                start = self.b.select(first, start, identity);
            }
            carried.extend(vec![start; g.j()]);
        }
        let accumulators = carried.len();
        let (zero, step) = (self.b.i64(0), self.b.i64(slice));
        let full = {
            let mask = self.b.i64(-slice);
            self.b.binary(NestBin::And, tile.trips, mask)
        };
        carried.extend(self.load_slice(with, tile, zero)?);
        let is_short = is_one_block(self.const_val(tile));
        let (from, to, carried, blocks) = self.begin_tile_sums(tile, (full, is_short), g.j(), carried);
        let (first, carried) = self.b.begin_for(from, to, step, &carried);
        self.open(tile.part.body);
        let half = {
            let bit = self.b.i64(slice);
            self.b.binary(NestBin::And, first, bit)
        };
        self.store_slice(tile, half, &carried[accumulators..]);
        self.b.barrier();
        let next = self.b.add(first, step);
        let loaded = self.load_slice(with, tile, next)?;
        let mut yields = self.take_slice(&mut g, tile, half, (step, true), &carried[..accumulators])?;
        yields.extend(loaded);
        self.close();
        let carried = self.b.end_for(&yields);
        let carried = self.end_tile_sums(blocks, carried);
        let mut results = carried[..accumulators].to_vec();
        let whole = self.const_val(tile).is_some_and(|n| n % slice == 0);
        if !whole {
            let half = {
                let bit = self.b.i64(slice);
                self.b.binary(NestBin::And, full, bit)
            };
            self.store_slice(tile, half, &carried[accumulators..]);
            self.b.barrier();
            let rest = self.b.sub(tile.trips, full);
            results = self.take_slice(&mut g, tile, half, (rest, false), &results)?;
        }
        if let Some(part) = tile.part_of_fold {
            results = self.combine_parts(tile, part, &results, g.j());
            let zero = self.b.i64(0);
            let first = self.b.icmp(IntCmp::Eq, part, zero);
            self.b.begin_if(first);
        }
        let cache = self.emit.cache.clone();
        // The cells.
        for copy in 0..g.j() {
            let digits: Vec<usize> = (0..plan.sides.len()).map(|axis| g.digit(axis, copy)).collect();
            let mut open = 0;
            for (n, &digit) in digits.iter().enumerate() {
                if plan.extents[n].is_none_or(|e| e % plan.sides[n].width() as i64 != 0) {
                    let inside = self.b.icmp(IntCmp::Sle, indices[n][digit], tile.places[n].2);
                    self.b.begin_if(inside);
                    open += 1;
                }
            }
            self.open(tile.part.body);
            for (n, &digit) in digits.iter().enumerate() {
                self.bind_side(with, tile, n, indices[n][digit]);
            }
            let mut cell = Grid::scalar(4);
            for (n, &result) in func.insts[plan.fold].results.iter().enumerate() {
                cell.remember(result, 0, 0, Cell::One(results[n * g.j() + copy]));
            }
            self.kernel_cells(&mut cell, tile.part, sinks)?;
            self.close();
            for _ in 0..open {
                self.b.begin_else(&[]);
                self.b.end_if(&[]);
            }
        }
        if tile.part_of_fold.is_some() {
            self.b.begin_else(&[]);
            self.b.end_if(&[]);
            self.emit.cache = cache;
        }
        Ok(())
    }

    /// The results of a fold whose parts are with several work-items: the first one's, combined with those that the others leave in local
    /// memory, in order.
    fn combine_parts(&mut self, tile: &Tile<'_>, part: Val, results: &[Val], copies: usize) -> Vec<Val> {
        let plan = tile.plan;
        let width = plan.sides[0].items;
        let arith = self.arith();
        let zero = self.b.i64(0);
        let others = ((plan.split - 1) * width) as u32;
        let mut folds = Vec::new();
        for (op, &cell) in tile.fold.ops.iter().zip(&self.func.insts[plan.fold].results) {
            if let Some(binop) = folds_along(op) {
                folds.extend(vec![(binop, self.elem(cell)); copies]);
            }
        }
        let slots: Vec<Val> = folds
            .iter()
            .map(|(_, elem)| self.b.local_slot(others * prim_of(*elem).bytes(), prim_of(*elem).bytes()))
            .collect();
        let first = self.b.icmp(IntCmp::Eq, part, zero);
        self.b.begin_if(first);
        self.b.begin_else(&[]);
        let skipped = self.b.i64(width as i64);
        let mine = self.b.sub(tile.item, skipped);
        for ((&result, &slot), (_, elem)) in results.iter().zip(&slots).zip(&folds) {
            let place = self.element_place(slot, mine, *elem);
            self.b.store(result, place, 0, Access::ALIGNED);
        }
        self.b.end_if(&[]);
        self.b.barrier();
        let mut combined = Vec::new();
        for ((&result, &slot), &(binop, elem)) in results.iter().zip(&slots).zip(&folds) {
            let ty = Ty::scalar(prim_of(elem));
            let place = self.element_place(slot, tile.places[0].1, elem);
            let theirs: Vec<Val> = (0..plan.split - 1)
                .map(|n| self.b.load(ty, place, (n * width) as i32 * ty.bytes() as i32, Access::ALIGNED))
                .collect();
            combined.push(
                theirs
                    .into_iter()
                    .fold(result, |sum, next| scalars::binary(&mut self.b, arith, binop, elem, sum, next)),
            );
        }
        combined
    }

    /// The number of indices of the fold, if it is known.
    fn const_val(&mut self, tile: &Tile<'_>) -> Option<i64> {
        match self.fold_trips(tile.plan) {
            Ext::Const(n) => Some(n),
            Ext::Val(_) => None,
        }
    }

    fn beyond(&mut self, ptr: Val, bytes: i64) -> Val {
        if bytes == 0 {
            return ptr;
        }
        let bytes = self.b.i64(bytes);
        self.b.ptr_add(ptr, bytes)
    }

    /// The index of one of the work-item's cells along a side.
    fn cell_index(&mut self, tile: &Tile<'_>, n: usize, copy: usize) -> Val {
        let (first, item, _) = tile.places[n];
        let (factor, offset) = place_of(tile.plan, n, copy);
        let mine = self.times(item, factor as i64);
        let mine = self.b.add(first, mine);
        if offset == 0 {
            return mine;
        }
        let offset = self.b.i64(offset as i64);
        self.b.add(mine, offset)
    }

    pub fn bind_side(&mut self, with: &With, tile: &Tile<'_>, n: usize, index: Val) {
        if let Generator::Known { lower, upper, .. } = &tile.part.generator {
            let side = &tile.plan.sides[n];
            let range = self.axis_range(with, lower[side.axis], upper[side.axis]);
            self.bind_wide(side.param, index, range);
        }
    }
}

/// A cell's place in the tile along a side, as a multiple of the work-item's place plus a constant.
pub(crate) fn place_of(plan: &DeviceTile, side: usize, copy: usize) -> (usize, usize) {
    let lone = plan.lone();
    let side = &plan.sides[side];
    let near = side.neighbours(lone);
    (near, copy / near * near * side.items + copy % near)
}

/// The copy of a kernel that computes, for all others, what varies over one side alone.
pub(crate) fn shared_copy(plan: &DeviceTile, side: usize, copy: usize) -> usize {
    copy * plan.sides[side + 1..].iter().map(|s| s.copies).product::<usize>()
}
