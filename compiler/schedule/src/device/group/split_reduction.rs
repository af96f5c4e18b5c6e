//! Long folds of few cells, shared out among the work-items of a group.
//!
//! ```text
//!    c = { [i] -> f(sum({ [j,k] -> a[i,j,k] })) | [i] < [6] }       item t adds up rows j of cell t mod 6: some of them, all items together
//!                                                               =>  barrier
//!                                                                   item t < 6 adds the partial sums of cell t in order and computes f
//! ```
//!
//! Six cells of 576 additions each would keep six items busy while all others wait. The first axis of the fold is cut into stretches, an item
//! (or one per block of cells) for each; partial results go through local memory. With-loops that follow and do not read the cells come before the
//! barrier, so that several of them share it: [`Lower::settle_splits`] does what is left over, as late as it can.
//!
//! Leaves alone: folds of operations that do not regroup, or from elements that are not neutral; several folds in one cell; and with-loops
//! that keep the items busy as they are.

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty};
use ravel_types::{BinOp, HashMap};
use ravel_wir::{Combine, Generator, Inst, Op, Part, Region, Value, With, WithOp};

use crate::Result;
use crate::device::group::body::Group;
use crate::facts::{Cell, Chunk, Facts, Grid, Jam, Measures, Sink, Val, prim_of};
use crate::lower::{Lower, scalars};
use crate::plan::device::group_memory::SPLIT_BYTES;

/// Estimated cycles of a barrier and what comes with it.
const BARRIER: f64 = 120.0;
/// Cycles to load a partial result and add it.
const ADDITION: f64 = 5.0;
/// Cycles of a cell beside its fold.
const CELL: f64 = 20.0;
/// Stretches of a fold to a scalar: all items add them up one by one.
const MOST_STRETCHES: i64 = 32;
/// A split that takes more than this part of the time is not worth its barrier.
const GAIN: f64 = 0.7;

/// How a partition is split.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    /// The fold.
    fold: Inst,
    /// Extents of the partition, and how many cells along each an item computes together.
    lengths: Vec<i64>,
    copies: Vec<i64>,
    /// Bounds of the fold's first axis, and the stretches that it is cut into.
    first: (i64, i64),
    stretches: i64,
}

impl Split {
    fn cells(&self) -> i64 {
        self.lengths.iter().product()
    }

    fn blocks(&self) -> i64 {
        self.cells() / self.copies.iter().product::<i64>()
    }

    /// Indices of a stretch.
    fn stretch(&self) -> i64 {
        (self.first.1 - self.first.0 + self.stretches - 1) / self.stretches
    }
}

/// A partition whose partial results wait to be combined.
pub(crate) struct Pending {
    inst: Inst,
    part: usize,
    sinks: Vec<Sink>,
    /// Bytes to its partial results.
    offset: i64,
    split: Split,
}

impl Facts<'_> {
    /// The partitions of a group's body that are split, by with-loop and number.
    pub fn splits_of(&self, region: Region, items: i64, splits: &mut HashMap<(Inst, usize), Split>) {
        for &inst in &self.func.regions[region].insts {
            match &self.func.insts[inst].op {
                Op::With(with) if self.func.insts[inst].results.iter().all(|v| !self.func.ty(*v).is_scalar()) => {
                    for (n, part) in with.parts.iter().enumerate() {
                        if let Some(split) = self.split_of(part, items) {
                            splits.insert((inst, n), split);
                        }
                    }
                }
                Op::With(with) if with.ops.len() == 1 && !self.makes_arrays(with.parts[0].body) => {
                    if let Some(split) = self.split_of_scalar(inst, items) {
                        splits.insert((inst, 0), split);
                    }
                }
                op => op.regions().into_iter().for_each(|r| self.splits_of(r, items, splits)),
            }
        }
    }

    /// First index along the first axis of a fold, and its extents, if every stretch of it may be added up by itself.
    fn splittable(&self, fold: Inst) -> Option<(i64, Vec<i64>)> {
        let func = self.func;
        let Op::With(with) = &func.insts[fold].op else { return None };
        let ([inner], [WithOp::Fold { neutral, combine: Combine::Op(op), .. }]) = (&with.parts[..], &with.ops[..])
        else {
            return None;
        };
        let (firsts, trips) = self.const_box(inner)?;
        let nested = func.regions[inner.body].insts.iter().any(|inst| !func.insts[*inst].op.regions().is_empty());
        if nested || with.ordered || trips.contains(&0) || !self.starts_anywhere(*op, *neutral) {
            return None;
        }
        let unknown = self.alias[*func.regions[inner.body].params.first()?].is_none();
        unknown.then_some((firsts[0], trips))
    }

    /// How a fold to a scalar is split that all items need.
    fn split_of_scalar(&self, fold: Inst, items: i64) -> Option<Split> {
        if !self.func.ty(self.func.insts[fold].results[0]).is_scalar() {
            return None;
        }
        let (first, trips) = self.splittable(fold)?;
        let (&count, rest) = trips.split_first()?;
        let rest = rest.iter().product::<i64>() as f64;
        let step = self.block_cost(&[], 1, &[], items);
        let cost = |split: &Split| step * split.stretch() as f64 * rest + BARRIER + split.stretches as f64 * ADDITION;
        let splits = (2..=count.min(MOST_STRETCHES)).map(|stretches| Split {
            fold,
            lengths: Vec::new(),
            copies: Vec::new(),
            first: (first, first + count),
            stretches,
        });
        let best = splits
            .filter(|split| split.stretch() * (split.stretches - 1) < count)
            .min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
        (cost(&best) < GAIN * step * count as f64 * rest).then_some(best)
    }

    fn split_of(&self, part: &Part, items: i64) -> Option<Split> {
        let (_, lengths) = self.const_box(part)?;
        let func = self.func;
        let mut folds =
            func.regions[part.body].insts.iter().filter(|inst| matches!(func.insts[**inst].op, Op::With(_)));
        let (&fold, None) = (folds.next()?, folds.next()) else { return None };
        let (first, trips) = self.splittable(fold)?;
        let (&count, rest) = trips.split_first()?;
        if lengths.contains(&0) {
            return None;
        }
        let rest = rest.iter().product::<i64>() as f64;
        let cells: i64 = lengths.iter().product();
        let size = self.elem(func.insts[fold].results[0]).bytes() as i64;
        let (accesses, candidates) = self.block_candidates(part, &lengths);
        let step = |copies: &[i64], stretches: i64| self.block_cost(&accesses, cells * stretches, copies, items);
        let plain = candidates.iter().map(|copies| step(copies, 1)).fold(f64::INFINITY, f64::min) * count as f64 * rest;
        let mut best: Option<(f64, Split)> = None;
        for copies in candidates {
            for stretches in 2..=count {
                let split = Split {
                    fold,
                    lengths: lengths.clone(),
                    copies: copies.clone(),
                    first: (first, first + count),
                    stretches,
                };
                // No stretch is empty.
                if split.stretch() * (stretches - 1) >= count
                    || split.blocks() * stretches > items
                    || cells * stretches * size > SPLIT_BYTES
                {
                    continue;
                }
                let rounds = ((cells + items - 1) / items) as f64;
                let cost = step(&split.copies, stretches) * split.stretch() as f64 * rest
                    + BARRIER
                    + rounds * (stretches as f64 * ADDITION + CELL);
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, split));
                }
            }
        }
        best.filter(|(cost, _)| *cost < GAIN * plain).map(|(_, split)| split)
    }

    /// Lower bounds and extents of a partition without steps whose bounds are constant.
    fn const_box(&self, part: &Part) -> Option<(Vec<i64>, Vec<i64>)> {
        let Generator::Known { lower, upper, step, width: None } = &part.generator else { return None };
        if step.as_ref().is_some_and(|s| s.iter().any(|v| self.const_i32(*v) != Some(1))) {
            return None;
        }
        let lows: Vec<i64> = lower.iter().map(|v| self.const_i32(*v)).collect::<Option<_>>()?;
        let lengths =
            upper.iter().zip(&lows).map(|(v, low)| Some((self.const_i32(*v)? - low).max(0))).collect::<Option<_>>()?;
        Some((lows, lengths))
    }

    /// May every stretch of a fold start from this element?
    fn starts_anywhere(&self, op: BinOp, neutral: Value) -> bool {
        let elem = self.elem(neutral);
        let constant = self.live.def(neutral).and_then(|inst| {
            if let Op::Const(scalar) = &self.func.insts[inst].op { Some(scalar.bits()) } else { None }
        });
        let identity = op.identity(elem).map(|scalar| scalar.bits());
        op.regroups() && (matches!(op, BinOp::Min | BinOp::Max) || constant.is_some() && constant == identity)
    }
}

impl Lower<'_, '_> {
    /// Folds the stretches of a partition, the cells of which follow at the next barrier; items that this keeps busy. Nothing if there is no room.
    pub fn spread_split(
        &mut self,
        gr: &mut Group,
        item: Val,
        (inst, n): (Inst, usize),
        sinks: &[Sink],
    ) -> Result<Option<i64>> {
        let func = self.func;
        let (Some(split), Some(scratch), Op::With(with)) =
            (gr.splits.get(&(inst, n)).cloned(), gr.scratch, &func.insts[inst].op)
        else {
            return Ok(None);
        };
        let part = &with.parts[n];
        let result = func.insts[split.fold].results[0];
        let elem = self.elem(result);
        let size = elem.bytes() as i64;
        let bytes = (split.cells() * split.stretches * size + 7) / 8 * 8;
        if gr.scratch_used + bytes > SPLIT_BYTES || self.supported(part.body, &mut Measures::default()).is_err() {
            return Ok(None);
        }
        let offset = gr.scratch_used;
        gr.scratch_used += bytes;
        let cache = self.emit.cache.clone();
        let busy = split.blocks() * split.stretches;
        let total = self.b.i64(busy);
        let inside = self.b.icmp(IntCmp::Slt, item, total);
        self.b.begin_if(inside);
        self.open(part.body);
        let blocks: Vec<i64> = split.lengths.iter().zip(&split.copies).map(|(l, c)| l / c).collect();
        let radix: Vec<Val> = [split.stretches].iter().chain(&blocks).map(|n| self.b.i64(*n)).collect();
        let digits = self.digits(item, &radix, true);
        let params = func.regions[part.body].params.clone();
        self.bind_block(part, with, &digits[1..], &split.copies);
        let mut g = Grid::scalar(self.kernel_width(part.body));
        for (axis, &param) in params.iter().enumerate().filter(|(axis, _)| split.copies[*axis] > 1) {
            g.push_jam(Jam::of(param, split.copies[axis] as usize));
        }
        let chunk = self.stretch_of(&split, digits[0]);
        self.fold_cells(&mut g, split.fold, Some(chunk))?;
        // Partial results lie stretch by stretch, in each the cells row by row.
        let row = self.b.i64(split.cells());
        let mut place = self.b.mul(digits[0], row);
        let mut strides = vec![1i64; blocks.len()];
        for axis in (1..blocks.len()).rev() {
            strides[axis - 1] = strides[axis] * split.lengths[axis];
        }
        for (axis, stride) in strides.iter().enumerate() {
            let skipped = self.times(digits[axis + 1], split.copies[axis] * stride);
            place = self.b.add(place, skipped);
        }
        let place = self.times(place, size);
        let place = self.b.ptr_add(scratch, place);
        let jammed: Vec<usize> = (0..blocks.len()).filter(|axis| split.copies[*axis] > 1).collect();
        for j in 0..g.j() {
            let value = self.scalar_of(&mut g, result, j, 0)?;
            let cell: i64 = jammed.iter().enumerate().map(|(k, &axis)| g.digit(k, j) as i64 * strides[axis]).sum();
            self.b.store(value, place, (offset + cell * size) as i32, Access::ALIGNED);
        }
        self.close();
        self.b.begin_else(&[]);
        self.b.end_if(&[]);
        self.emit.cache = cache;
        gr.pending.push(Pending { inst, part: n, sinks: sinks.to_vec(), offset, split });
        Ok(Some(busy))
    }

    /// Bounds of a stretch.
    fn stretch_of(&mut self, split: &Split, stretch: Val) -> Chunk {
        let skipped = self.times(stretch, split.stretch());
        let first = self.b.i64(split.first.0);
        let low = self.b.add(skipped, first);
        let (length, end) = (self.b.i64(split.stretch()), self.b.i64(split.first.1));
        let mut high = self.b.add(low, length);
        if split.stretch() * split.stretches > split.first.1 - split.first.0 {
            high = self.b.binary(NestBin::SMin, high, end);
        }
        Chunk { axis: 0, low, high, grain: 1 }
    }

    /// After a barrier: the cells of all partitions whose folds were split.
    pub fn settle_splits(&mut self, gr: &mut Group) -> Result<()> {
        let func = self.func;
        let Some(scratch) = gr.scratch else { return Ok(()) };
        for pending in std::mem::take(&mut gr.pending) {
            let Op::With(with) = &func.insts[pending.inst].op else { continue };
            let (part, split) = (&with.parts[pending.part], &pending.split);
            let result = func.insts[split.fold].results[0];
            let elem = self.elem(result);
            let size = elem.bytes() as i64;
            let item = self.turned(gr);
            let cache = self.emit.cache.clone();
            let (total, stride) = (self.b.i64(split.cells()), self.b.i64(gr.items));
            let (cell, _) = self.b.begin_for(item, total, stride, &[]);
            self.open(part.body);
            let radix: Vec<Val> = split.lengths.iter().map(|n| self.b.i64(*n)).collect();
            let digits = self.digits(cell, &radix, true);
            self.bind_block(part, with, &digits, &vec![1; digits.len()]);
            let place = self.times(cell, size);
            let place = self.b.ptr_add(scratch, place);
            let (arith, ty) = (self.arith(), Ty::scalar(prim_of(elem)));
            let loads: Vec<Val> = (0..split.stretches)
                .map(|k| self.b.load(ty, place, (pending.offset + k * split.cells() * size) as i32, Access::ALIGNED))
                .collect();
            let mut sum = loads[0];
            if let Op::With(fold) = &func.insts[split.fold].op
                && let [WithOp::Fold { combine: Combine::Op(op), .. }] = &fold.ops[..]
            {
                for &value in &loads[1..] {
                    sum = scalars::binary(&mut self.b, arith, *op, elem, sum, value);
                }
            }
            let mut g = Grid::scalar(self.kernel_width(part.body));
            g.remember(result, 0, 0, Cell::One(sum));
            self.kernel_cells(&mut g, part, &pending.sinks)?;
            self.close();
            self.b.end_for(&[]);
            self.emit.cache = cache;
            gr.advance(split.cells() % gr.items);
        }
        Ok(())
    }

    /// A fold to a scalar that all items need: each folds a stretch, then each combines them all. `false` if nothing was emitted.
    pub fn shared_fold(&mut self, gr: &mut Group, inst: Inst) -> Result<bool> {
        let func = self.func;
        let (Some(split), Some(scratch), Op::With(with)) =
            (gr.splits.get(&(inst, 0)).cloned(), gr.scratch, &func.insts[inst].op)
        else {
            return Ok(false);
        };
        let [WithOp::Fold { combine: Combine::Op(op), .. }] = &with.ops[..] else { return Ok(false) };
        let result = func.insts[inst].results[0];
        let elem = self.elem(result);
        let size = elem.bytes() as i64;
        let bytes = (split.stretches * size + 7) / 8 * 8;
        if split.fold != inst
            || gr.scratch_used + bytes > SPLIT_BYTES
            || self.supported_fold(with, &mut Measures::default()).is_err()
        {
            return Ok(false);
        }
        let offset = gr.scratch_used;
        gr.scratch_used += bytes;
        let item = self.turned(gr);
        let cache = self.emit.cache.clone();
        let total = self.b.i64(split.stretches);
        let inside = self.b.icmp(IntCmp::Slt, item, total);
        self.b.begin_if(inside);
        let mut g = Grid::scalar(self.kernel_width(with.parts[0].body));
        let chunk = self.stretch_of(&split, item);
        self.fold_cells(&mut g, inst, Some(chunk))?;
        let value = self.scalar_of(&mut g, result, 0, 0)?;
        let skipped = self.times(item, size);
        let place = self.b.ptr_add(scratch, skipped);
        self.b.store(value, place, offset as i32, Access::ALIGNED);
        self.b.begin_else(&[]);
        self.b.end_if(&[]);
        self.emit.cache = cache;
        self.wait(gr)?;
        // Until the next barrier others may still read.
        gr.scratch_used = offset + bytes;
        let (arith, ty) = (self.arith(), Ty::scalar(prim_of(elem)));
        let loads: Vec<Val> = (0..split.stretches)
            .map(|k| self.b.load(ty, scratch, (offset + k * size) as i32, Access::ALIGNED))
            .collect();
        let sum =
            loads[1..].iter().fold(loads[0], |sum, value| scalars::binary(&mut self.b, arith, *op, elem, sum, *value));
        self.bind(result, sum);
        Ok(true)
    }

    /// Binds the indices of a partition at the first cell of a block.
    fn bind_block(&mut self, part: &Part, with: &With, positions: &[Val], copies: &[i64]) {
        let Generator::Known { lower, upper, .. } = &part.generator else { return };
        let params = self.func.regions[part.body].params.clone();
        for (axis, &param) in params.iter().enumerate() {
            let range = self.axis_range(with, lower[axis], upper[axis]);
            let low = self.wide(lower[axis]);
            let skipped = self.times(positions[axis], copies[axis]);
            let index = self.b.add(skipped, low);
            self.bind_wide(param, index, range);
        }
    }
}
