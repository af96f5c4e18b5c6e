//! The loops around packed tiles.
//!
//! ```text
//! for every index of the other axes
//!   for a stretch of columns, for a stretch of rows            (bounds the memory for panels)
//!     for a block of the fold's index set
//!       pack the columns, pack the rows                        (threads over panels)
//!       for a task: some panels of rows and of columns         (threads; where few rows are all in one task it packs its columns)
//!         for a panel of rows, for a panel of columns: one tile (so that the rows of the result are written from end to end)
//! ```

use ravel_nest::ir::{BinOp as NestBin, IntCmp};
use ravel_wir::{Generator, Op, Part, With};

use crate::Result;
use crate::facts::{Chunk, Ext, Facts, Sink, Val};
use crate::lower::Lower;
use crate::plan::tile::{Along, BLOCK_UNIT, LEAST_CELLS, LEAST_FOLD, LEAST_REUSE, Side, TASK_ROWS, TilePlan};
use crate::tile::pack::{FoldBlock, Panels};

/// Indices of an axis whose panels exist at the same time.
const STRETCH: i64 = 4096;
/// The same for collapsed columns, whose accumulators rest in memory of their own.
const STRETCH_COLLAPSED: i64 = 1024;
/// Panels of columns that a task packs for itself: they stay in the second cache, and threads have enough tasks.
const OWN_COLUMNS: i64 = 4;
/// There should be about this many tasks if they are not too small: sixteen threads leave little of their last iteration idle then.
const TASKS: i64 = 128;

/// What all loops of the nest know.
#[derive(Clone, Copy)]
pub(crate) struct Nest<'a> {
    pub with: &'a With,
    pub part: &'a Part,
    /// The fold and its partition.
    pub fold: &'a With,
    pub inner: &'a Part,
    pub sinks: &'a [Sink],
    pub plan: &'a TilePlan,
    pub chunk: Option<Chunk>,
    /// Do parts of a product run on threads?
    pub threads: bool,
}

/// Sizes and memory, the same in all iterations.
#[derive(Clone, Copy)]
struct Blocks {
    /// Indices of the fold, and at most how many in one block.
    trips: Val,
    block: Val,
    rows: Val,
    columns: Val,
    /// Accumulators of collapsed columns.
    cells: Option<Val>,
}

impl Facts<'_> {
    /// The indices that a side of the tiles runs through.
    pub fn side_range(&self, nest: &Nest<'_>, side: &Side) -> (i64, i64) {
        let Generator::Known { lower, upper, .. } = &nest.part.generator else { return (0, i64::from(i32::MAX)) };
        match nest.plan.along {
            Along::Flat(flat) if side.axis == nest.plan.columns.axis => {
                let rows = self.axis_range(nest.with, lower[flat.rows], upper[flat.rows]);
                (0, (rows.1 - rows.0 + 1).saturating_mul(flat.length) - 1)
            }
            _ => self.axis_range(nest.with, lower[side.axis], upper[side.axis]),
        }
    }
}

impl Lower<'_, '_> {
    /// What must hold at run time for tiles to pay; nothing if it is known now.
    pub fn tiles_condition(&mut self, part: &Part, plan: &TilePlan) -> Option<Val> {
        let mut condition = None;
        let mut require = |lower: &mut Self, holds: Val| {
            condition = Some(match condition {
                Some(all) => lower.b.binary(NestBin::And, all, holds),
                None => holds,
            });
        };
        if !plan.guards.is_empty() {
            let holds = self.guard_condition(&plan.guards);
            require(self, holds);
        }
        let Generator::Known { lower, upper, .. } = &part.generator else { return condition };
        let func = self.func;
        let Op::With(fold) = &func.insts[plan.fold].op else { return condition };
        let Generator::Known { lower: fold_lower, upper: fold_upper, .. } = &fold.parts[0].generator else {
            return condition;
        };
        let rows = self.axis_extent(lower[plan.rows.axis], upper[plan.rows.axis]);
        let columns = self.columns_extent(part, plan);
        let extents: Vec<Ext> = fold_lower.iter().zip(fold_upper).map(|(l, u)| self.axis_extent(*l, *u)).collect();
        let trips = self.product(&extents);
        let across = self.extent_product(columns, trips);
        let product = self.extent_product(across, rows);
        let least = [
            (rows, LEAST_REUSE),
            (columns, LEAST_REUSE),
            (trips, LEAST_FOLD),
            (product, LEAST_CELLS),
            (across, plan.least_columns),
        ];
        for (extent, least) in least {
            if let Ext::Val(extent) = extent
                && least > 0
            {
                let least = self.b.i64(least);
                let holds = self.b.icmp(IntCmp::Sge, extent, least);
                require(self, holds);
            }
        }
        condition
    }

    /// The whole nest.
    pub fn tile_nest(
        &mut self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        plan: &TilePlan,
        chunk: Option<Chunk>,
    ) -> Result<()> {
        let func = self.func;
        let (Op::With(fold), Generator::Known { lower, upper, .. }) = (&func.insts[plan.fold].op, &part.generator)
        else {
            return self.unsupported(func.insts[plan.fold].span, "tiles of unknown rank");
        };
        let inner = &fold.parts[0];
        let Generator::Known { lower: fold_lower, upper: fold_upper, .. } = &inner.generator else {
            return self.unsupported(func.insts[plan.fold].span, "tiles of unknown rank");
        };
        let threads = chunk.is_none() && self.may_run_on_threads(with, part);
        let nest = Nest { with, part, fold, inner, sinks, plan, chunk, threads };
        let extents: Vec<Ext> = fold_lower.iter().zip(fold_upper).map(|(l, u)| self.axis_extent(*l, *u)).collect();
        let trips = self.product(&extents);
        let (trips, block) = match trips {
            Ext::Const(n) => (self.b.i64(n), self.b.i64(even_block(n, plan.block))),
            Ext::Val(n) => {
                let one = self.b.i64(1);
                let most = self.b.i64(plan.block);
                let blocks = self.ceil_div(n, plan.block);
                let blocks = self.b.binary(NestBin::SMax, blocks, one);
                let up = self.b.add(n, blocks);
                let up = self.b.sub(up, one);
                let even = self.b.binary(NestBin::SDiv, up, blocks);
                let units = self.ceil_div(even, BLOCK_UNIT);
                let even = self.times(units, BLOCK_UNIT);
                (n, self.b.binary(NestBin::SMin, even, most))
            }
        };
        // Panels of the longest stretch of either side.
        let mut bytes = Vec::new();
        let mut tiles = self.b.i64(1);
        for side in [&plan.rows, &plan.columns] {
            let extent = match chunk.filter(|_| side.axis == 0) {
                Some(chunk) => self.b.sub(chunk.high, chunk.low),
                None if side.axis == plan.columns.axis => {
                    let extent = self.columns_extent(part, plan);
                    self.extent_val(extent)
                }
                None => {
                    let extent = self.axis_extent(lower[side.axis], upper[side.axis]);
                    self.extent_val(extent)
                }
            };
            let most = self.b.i64(stretch(plan, side));
            let extent = self.b.binary(NestBin::SMin, extent, most);
            let panels = self.ceil_div(extent, side.width as i64);
            tiles = self.b.mul(tiles, panels);
            let elements = self.b.mul(panels, block);
            let lines = self.times(elements, (side.stride * plan.bytes) as i64);
            let lines = self.ceil_div(lines, 64);
            bytes.push(self.times(lines, 64));
        }
        let mut all = self.b.add(bytes[0], bytes[1]);
        let panels = all;
        if plan.collapsed().is_some() {
            let cells = self.times(tiles, (plan.rows.width * plan.columns.width * plan.bytes) as i64);
            all = self.b.add(all, cells);
        }
        let position = self.present_place();
        let memory = self.helper_ptr("ravel_scratch_alloc", &[all, position]);
        let columns = self.b.ptr_add(memory, bytes[0]);
        let cells = plan.collapsed().map(|_| self.b.ptr_add(memory, panels));
        self.other_axes(&nest, Blocks { trips, block, rows: memory, columns, cells }, 0)?;
        self.helper("ravel_scratch_free", &[memory, all], None);
        Ok(())
    }

    /// Loops over the axes that are not part of the tiles.
    fn other_axes(&mut self, nest: &Nest<'_>, blocks: Blocks, axis: usize) -> Result<()> {
        let Generator::Known { lower, upper, .. } = &nest.part.generator else { return Ok(()) };
        if axis == lower.len() {
            return self.stretch_loops(nest, blocks);
        }
        if axis == nest.plan.rows.axis || axis == nest.plan.columns.axis {
            return self.other_axes(nest, blocks, axis + 1);
        }
        if nest.plan.collapsed().is_some_and(|collapsed| collapsed.axes.contains(&axis)) {
            return self.other_axes(nest, blocks, axis + 1);
        }
        if matches!(nest.plan.along, Along::Flat(flat) if axis >= flat.rows) {
            // The index of the columns runs on through these.
            let range = self.axis_range(nest.with, lower[axis], upper[axis]);
            let low = self.wide(lower[axis]);
            self.bind_wide(self.func.regions[nest.part.body].params[axis], low, range);
            return self.other_axes(nest, blocks, axis + 1);
        }
        let (low, high) = match nest.chunk.filter(|_| axis == 0) {
            Some(chunk) => (chunk.low, chunk.high),
            None => (self.wide(lower[axis]), self.wide(upper[axis])),
        };
        let range = self.axis_range(nest.with, lower[axis], upper[axis]);
        let one = self.b.i64(1);
        let (i, _) = self.b.begin_for(low, high, one, &[]);
        self.open(nest.part.body);
        self.bind_wide(self.func.regions[nest.part.body].params[axis], i, range);
        self.other_axes(nest, blocks, axis + 1)?;
        self.close();
        self.b.end_for(&[]);
        Ok(())
    }

    fn stretch_loops(&mut self, nest: &Nest<'_>, blocks: Blocks) -> Result<()> {
        let plan = nest.plan;
        let columns = self.begin_stretch(nest, &plan.columns, blocks.columns);
        let rows = self.begin_stretch(nest, &plan.rows, blocks.rows);
        let zero = self.b.i64(0);
        let (k, _) = self.b.begin_for(zero, blocks.trips, blocks.block, &[]);
        self.open(nest.part.body);
        let rest = self.b.sub(blocks.trips, k);
        let count = self.b.binary(NestBin::SMin, rest, blocks.block);
        let block = FoldBlock { first: k, count };
        if !plan.packs_in_tasks {
            self.pack_stretch(nest, &plan.columns, columns, block)?;
        }
        self.pack_stretch(nest, &plan.rows, rows, block)?;
        self.tasks(nest, rows, columns, block, blocks)?;
        self.close();
        for _ in 0..3 {
            self.b.end_for(&[]);
        }
        self.close();
        self.close();
        Ok(())
    }

    /// Opens the loop over the stretches of an axis.
    fn begin_stretch(&mut self, nest: &Nest<'_>, side: &Side, data: Val) -> Panels {
        let (lower, upper) = match &nest.part.generator {
            Generator::Known { lower, upper, .. } => (lower[side.axis], upper[side.axis]),
            Generator::Dyn { .. } => unreachable!("plans are made for known ranks"),
        };
        let (from, to) = match nest.plan.along {
            Along::Flat(_) | Along::Collapsed(_) if side.axis == nest.plan.columns.axis => {
                let columns = self.columns_extent(nest.part, nest.plan);
                (self.b.i64(0), self.extent_val(columns))
            }
            _ => (self.wide(lower), self.wide(upper)),
        };
        let step = self.b.i64(stretch(nest.plan, side));
        let (low, _) = self.b.begin_for(from, to, step, &[]);
        self.open(nest.part.body);
        let high = self.b.add(low, step);
        let high = self.b.binary(NestBin::SMin, high, to);
        let length = self.b.sub(high, low);
        let count = self.ceil_div(length, side.width as i64);
        Panels { low, high, count, data }
    }

    /// Indices of the axis of columns.
    fn columns_extent(&mut self, part: &Part, plan: &TilePlan) -> Ext {
        let Generator::Known { lower, upper, .. } = &part.generator else { return Ext::Const(0) };
        match &plan.along {
            Along::Flat(flat) => {
                let rows = self.axis_extent(lower[flat.rows], upper[flat.rows]);
                self.extent_product(rows, Ext::Const(flat.length))
            }
            Along::Collapsed(collapsed) => {
                let extents: Vec<Ext> =
                    collapsed.axes.iter().map(|axis| self.axis_extent(lower[*axis], upper[*axis])).collect();
                self.product(&extents)
            }
            Along::Last => self.axis_extent(lower[plan.columns.axis], upper[plan.columns.axis]),
        }
    }

    /// Computes the tiles of two stretches, some panels at a time.
    fn tasks(
        &mut self,
        nest: &Nest<'_>,
        rows: Panels,
        columns: Panels,
        block: FoldBlock,
        blocks: Blocks,
    ) -> Result<()> {
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let across = if nest.plan.packs_in_tasks { nest.plan.across.min(OWN_COLUMNS) } else { nest.plan.across };
        let most_rows = self.b.i64(TASK_ROWS);
        let most_columns = self.b.i64(across);
        // Enough tasks for many threads, but at least two tiles of each panel of columns.
        let tiles = self.b.mul(rows.count, columns.count);
        let row_panels = if nest.plan.packs_in_tasks {
            rows.count
        } else {
            let fair = self.ceil_div(tiles, across * TASKS);
            let two = self.b.i64(2);
            let fair = self.b.binary(NestBin::SMax, fair, two);
            self.b.binary(NestBin::SMin, fair, most_rows)
        };
        let up = self.b.add(rows.count, row_panels);
        let up = self.b.sub(up, one);
        let down = self.b.binary(NestBin::SDiv, up, row_panels);
        let across = self.ceil_div(columns.count, across);
        let count = self.b.mul(down, across);
        self.open(nest.part.body);
        let (mut low, mut high) = (zero, count);
        if nest.threads {
            (low, high, _) = self.begin_parfor(count, one, None, None);
        }
        let (task, _) = self.b.begin_for(low, high, one, &[]);
        let outer = self.enter_kernel_loop(task);
        self.open(nest.part.body);
        // Neighbours share their columns.
        let column = self.b.binary(NestBin::SDiv, task, down);
        let above = self.b.mul(column, down);
        let row = self.b.sub(task, above);
        let first_column = self.b.mul(column, most_columns);
        let end = self.b.add(first_column, most_columns);
        let end_column = self.b.binary(NestBin::SMin, end, columns.count);
        let first_row = self.b.mul(row, row_panels);
        let end = self.b.add(first_row, row_panels);
        let end_row = self.b.binary(NestBin::SMin, end, rows.count);
        if nest.plan.packs_in_tasks {
            let (c, _) = self.b.begin_for(first_column, end_column, one, &[]);
            self.open(nest.part.body);
            self.pack_panel(nest, &nest.plan.columns, columns, block, c)?;
            self.close();
            self.b.end_for(&[]);
        }
        let (r, _) = self.b.begin_for(first_row, end_row, one, &[]);
        self.open(nest.part.body);
        let (c, _) = self.b.begin_for(first_column, end_column, one, &[]);
        self.open(nest.part.body);
        let cells = blocks.cells.map(|cells| {
            let before = self.b.mul(r, columns.count);
            let tile = self.b.add(before, c);
            let skipped = self.times(tile, (nest.plan.rows.width * nest.plan.columns.width * nest.plan.bytes) as i64);
            self.b.ptr_add(cells, skipped)
        });
        self.tile(nest, (rows, r), (columns, c), block, blocks.trips, cells)?;
        self.close();
        self.b.end_for(&[]);
        self.close();
        self.b.end_for(&[]);
        self.close();
        self.b.end_for(&[]);
        self.leave_kernel_loop(outer);
        if nest.threads {
            self.end_parfor();
        }
        self.close();
        Ok(())
    }

    /// `ceil(value / by)` of a number that is not negative.
    pub fn ceil_div(&mut self, value: Val, by: i64) -> Val {
        let up = self.b.i64(by - 1);
        let up = self.b.add(value, up);
        if by.count_ones() == 1 {
            let shift = self.b.i64(i64::from(by.trailing_zeros()));
            return self.b.binary(NestBin::SShr, up, shift);
        }
        let by = self.b.i64(by);
        self.b.binary(NestBin::SDiv, up, by)
    }
}

/// Indices of an axis in one stretch: whole panels.
fn stretch(plan: &TilePlan, side: &Side) -> i64 {
    let width = side.width as i64;
    let is_collapsed = plan.collapsed().is_some() && side.axis == plan.columns.axis;
    (if is_collapsed { STRETCH_COLLAPSED } else { STRETCH }) / width * width
}

/// The size of equal blocks of at most `most` indices.
fn even_block(trips: i64, most: i64) -> i64 {
    let blocks = ((trips + most - 1) / most).max(1);
    let even = (trips + blocks - 1) / blocks;
    ((even + BLOCK_UNIT - 1) / BLOCK_UNIT * BLOCK_UNIT).clamp(1, most.max(1))
}
