//! Folds on a device: groups of work-items stride over the index set.
//!
//! ```text
//!    sum({ [i] -> a[i] | [i] < [n] })
//! => group g: accumulators of work-item l take a[g*chunk + l], a[g*chunk + l + 256], ...
//!    a tree in local memory makes one partial result of a group's 256; the host adds those of all groups, in order
//! ```
//!
//! Every work-item has several accumulators, so that several loads are under way. The number of groups and which index goes where
//! depend on the index set alone: results repeat bit for bit. Only the partial results are fetched.
//!
//! Leaves alone: folds whose operator does not regroup or has no identity, those of arrays, bodies with checks that are not proven (a
//! work-item that faults would not come to the barriers).

use ravel_nest::ir::{Access, BinOp as NestBin, ConvOp, IntCmp, Prim, Ty};
use ravel_wir::{Generator, Inst, Op, Part, Value, With};

use crate::Result;
use crate::facts::{Accumulate, Facts, Index, Sink, Val, prim_of};
use crate::lower::block_sums::{PARTIAL_ADDITIONS, Sum, wants_blocks};
use crate::lower::emit::Key;
use crate::lower::{Lower, scalars};
use crate::plan::device::fold::{DeviceFold, Fold, GROUP};

/// Groups of a launch: about as many as a large device runs at once.
const MOST_GROUPS: i64 = 1024;
/// Loads that a work-item has under way.
const LOADS: usize = 8;
/// Bodies with more work (in cycles of a processor) than this have enough to do with one index at a time.
const LIGHT: f64 = 60.0;

/// Where a work-item is: one position per axis, from zero.
type Position = Vec<Val>;

/// What the work-items of a group go through.
pub(crate) struct Walk {
    /// Indices on each axis, and in all. With one length for several axes the elements that are read lie one after the other.
    lengths: Vec<Val>,
    pub count: Val,
    /// `count`, or more than that, if constant.
    pub most: Option<i64>,
    /// Indices that a work-item takes in one step of its loop, and those of all work-items of a group.
    copies: usize,
    block: Val,
    lows: Vec<Val>,
    steps: Vec<Val>,
    ranges: Vec<(i64, i64)>,
    /// The positions that one step of a group is apart, on each axis.
    stride: Vec<Val>,
}

impl Facts<'_> {
    /// Indices of a partition that a work-item takes in one step of its loop.
    fn fold_copies(&self, part: &Part) -> usize {
        let mut loads = 0;
        let mut light = self.work(part.body) <= LIGHT;
        ravel_wir::traverse::walk(self.func, part.body, &mut |_, inst| match &self.func.insts[inst].op {
            Op::Sel { .. } => loads += 1,
            Op::With(_) | Op::Loop { .. } | Op::If { .. } => light = false,
            _ => {}
        });
        if light { (LOADS / loads.max(1)).clamp(1, LOADS) } else { 1 }
    }

    /// Does a body use its indices for nothing but to read whole arrays, each index one element, in row-major order?
    pub fn reads_in_order(&self, part: &Part) -> bool {
        let func = self.func;
        let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return false };
        let params = &func.regions[part.body].params;
        if params.len() < 2
            || lower.iter().any(|v| self.const_i32(*v) != Some(0))
            || params.iter().any(|v| self.alias[*v].is_some())
        {
            return false;
        }
        let mut shape = None;
        let mut in_order = true;
        for &inst in &func.regions[part.body].insts {
            let op = &func.insts[inst].op;
            if let Op::Sel { array, index } = op {
                let whole = index == params && !params.contains(array) && func.ty(*array).rank() == Some(params.len());
                let extents = func.ty(*array).shape.extents();
                in_order &= whole && extents.is_some() && (shape.is_none() || shape == extents);
                shape = extents;
            } else {
                op.for_each_operand(|v| in_order &= !params.contains(&v));
                in_order &= op.regions().is_empty();
            }
        }
        in_order
            && func.regions[part.body].yields.iter().all(|v| !params.contains(v))
            && shape.is_some_and(|shape| self.are_extents(upper, shape))
    }

    /// Are these scalars the extents of that shape?
    fn are_extents(&self, scalars: &[Value], shape: &[ravel_types::Affine]) -> bool {
        scalars.iter().zip(shape).enumerate().all(|(axis, (v, extent))| match (self.const_i32(*v), extent.as_const()) {
            (Some(k), Some(n)) => k == i64::from(n),
            (None, None) => match self.live.def(*v).map(|inst| &self.func.insts[inst].op) {
                Some(Op::Extent { array, axis: of }) => {
                    let extents = self.func.ty(*array).shape.extents();
                    *of as usize == axis && extents.and_then(|e| e.get(axis)) == Some(extent)
                }
                _ => false,
            },
            _ => false,
        })
    }
}

impl Lower<'_, '_> {
    /// Runs the folds of a with-loop on the device or on the host.
    pub fn device_fold(&mut self, inst: Inst, with: &With, plan: DeviceFold) -> Result<()> {
        let DeviceFold { folds, guards, launch } = plan;
        let wanted = self.worth_launching(&[with], &launch);
        let wanted = self.with_guards(wanted, &guards);
        let how = format!("on the device, groups of {GROUP} work-items, partial results combined in order");
        self.explain_launch(inst, how, &launch);
        let cache = self.emit.cache.clone();
        self.b.begin_if(wanted);
        let outside = std::mem::replace(&mut self.facts.site.checked_before, true);
        let mut totals: Vec<Val> = folds.iter().map(|fold| self.val(fold.neutral)).collect();
        for part in &with.parts {
            totals = self.launch_folds(with, part, &folds, totals)?;
        }
        self.facts.site.checked_before = outside;
        self.emit.cache = cache.clone();
        self.b.begin_else(&totals);
        self.with_loop_on_host(inst, with)?;
        let values: Vec<Val> = folds.iter().map(|fold| self.val(fold.result)).collect();
        let values = self.b.end_if(&values);
        self.emit.cache = cache;
        for (fold, value) in folds.iter().zip(values) {
            self.bind(fold.result, value);
        }
        Ok(())
    }

    /// How groups go through a partition; emitted outside of the launch.
    pub fn walk_of(&mut self, with: &With, part: &Part) -> Walk {
        let copies = self.fold_copies(part);
        let (lower, upper, step) = match &part.generator {
            Generator::Known { lower, upper, step, .. } => (lower.as_slice(), upper.as_slice(), step.as_deref()),
            Generator::Dyn { .. } => (&[][..], &[][..], None),
        };
        let one = self.b.i64(1);
        let lengths = self.grid_of(part);
        let count = lengths.iter().skip(1).fold(lengths[0], |n, e| self.b.mul(n, *e));
        let block = self.b.i64(i64::from(GROUP) * copies as i64);
        let lengths = if self.reads_in_order(part) { vec![count] } else { lengths };
        let stride = self.stride_of_groups(&lengths);
        let lows = lower.iter().map(|v| self.wide(*v)).collect();
        let steps = (0..lower.len()).map(|axis| step.map_or(one, |s| self.wide(s[axis]))).collect();
        let ranges = lower.iter().zip(upper).map(|(l, u)| self.axis_range(with, *l, *u)).collect();
        Walk { lengths, count, most: self.const_trips(part, 0), copies, block, lows, steps, ranges, stride }
    }

    /// One launch: the folds of a partition, added to `totals`.
    fn launch_folds(&mut self, with: &With, part: &Part, folds: &[Fold], mut totals: Vec<Val>) -> Result<Vec<Val>> {
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let walk = self.walk_of(with, part);
        // Chunks are whole blocks, at most so many of them.
        let most = self.b.i64(MOST_GROUPS);
        let chunk = self.rounded_up(walk.count, most);
        let blocks = self.rounded_up(chunk, walk.block);
        let blocks = self.b.binary(NestBin::SMax, blocks, one);
        let chunk = self.b.mul(blocks, walk.block);
        let groups = self.rounded_up(walk.count, chunk);
        // It is at most that many, which kernels are to know.
        let groups = self.b.binary(NestBin::SMin, groups, most);
        self.device_reads(part.body);
        let mut partials = Vec::new();
        for fold in folds {
            let object = self.partial_results(fold, groups);
            let buffer = self.helper_ptr("ravel_device_write", &[object]);
            partials.push((object, buffer));
        }
        let cache = self.emit.cache.clone();
        let place = self.begin_groups(&[groups], &[GROUP]);
        let (group, item) = (place[0], place[1]);
        self.facts.site.sequential += 1;
        let start = self.b.mul(group, chunk);
        let end = self.b.add(start, chunk);
        let end = self.b.binary(NestBin::SMin, end, walk.count);
        let most = walk.most.map(|most| most / MOST_GROUPS + 1);
        let results = self.fold_in_group(with, part, folds, &walk, item, (start, end, most))?;
        let is_first = self.b.icmp(IntCmp::Eq, item, zero);
        self.b.begin_if(is_first);
        for ((fold, result), (_, buffer)) in folds.iter().zip(&results).zip(&partials) {
            let place = self.element_place(*buffer, group, self.elem(fold.result));
            self.b.store(*result, place, 0, Access::ALIGNED);
        }
        self.b.begin_else(&[]);
        self.b.end_if(&[]);
        self.facts.site.sequential -= 1;
        self.end_launch();
        self.emit.cache = cache;
        // The host combines the results of the groups, in order.
        let arith = self.arith();
        let data: Vec<Val> = partials.iter().map(|(object, _)| self.data_of(*object)).collect();
        let sums = self.sums_from(folds, 0);
        let bounds = (zero, groups, one);
        let (c, mut inner, blocks) = self.begin_block_sums(bounds, (None, PARTIAL_ADDITIONS), &totals, sums);
        for (k, fold) in folds.iter().enumerate() {
            let elem = self.elem(fold.result);
            let place = self.element_place(data[k], c, elem);
            let partial = self.b.load(Ty::scalar(prim_of(elem)), place, 0, Access::ALIGNED);
            inner[k] = scalars::binary(&mut self.b, arith, fold.op, elem, inner[k], partial);
        }
        totals = self.end_block_sums(blocks, &inner);
        for (object, _) in partials {
            self.emit.cache.remove(&Key::Data(object));
            self.b.rc_dec(object);
        }
        Ok(totals)
    }

    /// The folds of a partition over the positions from `within.0` up to `within.1`, at most `within.2` if that is known, by all work-items of
    /// a group together; all have the results.
    pub fn fold_in_group(
        &mut self,
        with: &With,
        part: &Part,
        folds: &[Fold],
        walk: &Walk,
        item: Val,
        within: (Val, Val, Option<i64>),
    ) -> Result<Vec<Val>> {
        let (start, end, most) = within;
        let copies = walk.copies;
        let trips = most.map(|most| most / (i64::from(GROUP) * copies as i64) + 1);
        let n = folds.len();
        let sinks: Vec<Sink> = folds
            .iter()
            .enumerate()
            .map(|(position, fold)| {
                let combine = Accumulate::Fold(ravel_wir::Combine::Op(fold.op));
                Sink::Carried { position, elem: self.elem(fold.result), combine }
            })
            .collect();
        let slots: Vec<Val> = folds
            .iter()
            .map(|fold| {
                let bytes = prim_of(self.elem(fold.result)).bytes();
                self.b.local_slot(GROUP * bytes, bytes)
            })
            .collect();
        let length = self.b.sub(end, start);
        let rest = self.b.binary(NestBin::SRem, length, walk.block);
        let whole = self.b.sub(end, rest);
        let rank = walk.lengths.len();
        let mut carried = Vec::new();
        if rank > 1 {
            let (first, one) = (self.b.add(start, item), self.b.i64(1));
            // Without indices nothing comes of it, but there is a division all the same.
            let lengths: Vec<Val> = walk.lengths.iter().map(|n| self.b.binary(NestBin::SMax, *n, one)).collect();
            carried = self.position_of(first, &lengths);
        }
        let axes = carried.len();
        for _ in 0..copies {
            for fold in folds {
                carried.push(scalars::constant(&mut self.b, fold.identity, 1));
            }
        }
        let step = self.b.i64(i64::from(GROUP));
        // Whole blocks: every accumulator takes an index.
        let sums = (0..copies).flat_map(|copy| self.sums_from(folds, axes + copy * n)).collect();
        let bounds = (start, whole, walk.block);
        let (at, mut inner, blocks) = self.begin_block_sums(bounds, (trips, 1), &carried, sums);
        let mut here = self.b.add(at, item);
        for copy in 0..copies {
            let from = axes + copy * n;
            let position = if rank == 1 { vec![here] } else { inner[..axes].to_vec() };
            let next = self.fold_index(with, part, &sinks, walk, &position, inner[from..from + n].to_vec())?;
            inner.splice(from..from + n, next);
            if rank == 1 {
                here = self.b.add(here, step);
            } else {
                let next = self.advanced(&position, walk);
                inner.splice(..axes, next);
            }
        }
        let outer = self.end_block_sums(blocks, &inner);
        // What is left: one index at a time.
        let from = self.b.add(whole, item);
        let (at, mut inner) = self.b.begin_for(from, end, step, &outer[..axes + n]);
        let position = if rank == 1 { vec![at] } else { inner[..axes].to_vec() };
        let next = self.fold_index(with, part, &sinks, walk, &position, inner[axes..].to_vec())?;
        inner.splice(axes.., next);
        if rank > 1 {
            let next = self.advanced(&position, walk);
            inner.splice(..axes, next);
        }
        let tail = self.b.end_for(&inner);
        let arith = self.arith();
        for (k, fold) in folds.iter().enumerate() {
            let elem = self.elem(fold.result);
            let mut total = tail[axes + k];
            for copy in 1..copies {
                total = scalars::binary(&mut self.b, arith, fold.op, elem, total, outer[axes + copy * n + k]);
            }
            let place = self.element_place(slots[k], item, elem);
            self.b.store(total, place, 0, Access::ALIGNED);
        }
        self.tree(folds, &slots, item);
        let results = folds
            .iter()
            .zip(slots)
            .map(|(fold, slot)| self.b.load(Ty::scalar(prim_of(self.elem(fold.result))), slot, 0, Access::ALIGNED));
        Ok(results.collect())
    }

    /// The sums among folds whose accumulators are carried from `first` on.
    fn sums_from(&self, folds: &[Fold], first: usize) -> Vec<Sum> {
        let is_sum = |(k, fold): (usize, &Fold)| {
            let elem = self.elem(fold.result);
            wants_blocks(fold.op, elem).then(|| Sum { elem, places: vec![first + k] })
        };
        folds.iter().enumerate().filter_map(is_sum).collect()
    }

    /// `n / size`, rounded up.
    fn rounded_up(&mut self, n: Val, size: Val) -> Val {
        let one = self.b.i64(1);
        let up = self.b.sub(size, one);
        let sum = self.b.add(n, up);
        self.b.binary(NestBin::SDiv, sum, size)
    }

    /// What a step of a whole group is on each axis.
    fn stride_of_groups(&mut self, lengths: &[Val]) -> Vec<Val> {
        if lengths.len() == 1 {
            return Vec::new();
        }
        let one = self.b.i64(1);
        // Without indices there is no launch; a division by zero on the way to it would be one all the same.
        let lengths: Vec<Val> = lengths.iter().map(|n| self.b.binary(NestBin::SMax, *n, one)).collect();
        let step = self.b.i64(i64::from(GROUP));
        self.position_of(step, &lengths)
    }

    /// The position of the `n`th index.
    pub fn position_of(&mut self, n: Val, lengths: &[Val]) -> Position {
        let mut position = vec![n; lengths.len()];
        let mut rest = n;
        for axis in (1..lengths.len()).rev() {
            position[axis] = self.b.binary(NestBin::SRem, rest, lengths[axis]);
            rest = self.b.binary(NestBin::SDiv, rest, lengths[axis]);
        }
        position[0] = rest;
        position
    }

    /// The position one step of the group further: sums with carries instead of divisions.
    fn advanced(&mut self, position: &[Val], walk: &Walk) -> Position {
        let mut next = position.to_vec();
        let mut carry = None;
        for axis in (0..position.len()).rev() {
            let mut sum = self.b.add(position[axis], walk.stride[axis]);
            if let Some(carry) = carry {
                sum = self.b.add(sum, carry);
            }
            if axis > 0 {
                let over = self.b.icmp(IntCmp::Sge, sum, walk.lengths[axis]);
                let less = self.b.sub(sum, walk.lengths[axis]);
                sum = self.b.select(over, less, sum);
                carry = Some(self.b.convert(ConvOp::ZExt, over, Prim::I64));
            }
            next[axis] = sum;
        }
        next
    }

    /// The accumulators after the index at a position.
    fn fold_index(
        &mut self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        walk: &Walk,
        position: &[Val],
        accs: Vec<Val>,
    ) -> Result<Vec<Val>> {
        self.open(part.body);
        let params = self.func.regions[part.body].params.clone();
        let skipped = params.len() - position.len();
        for (axis, &param) in params.iter().enumerate() {
            if axis < skipped {
                // The last index counts all elements.
                let zero = self.b.i64(0);
                self.bind_wide(param, zero, (0, 0));
                continue;
            }
            let scaled = self.b.mul(position[axis - skipped], walk.steps[axis]);
            let index = self.b.add(scaled, walk.lows[axis]);
            let range = if skipped > 0 { (0, i64::from(i32::MAX)) } else { walk.ranges[axis] };
            self.bind_wide(param, index, range);
        }
        let accs = self.cell_in_scope(with, part, sinks, &Index::Known(params), accs)?;
        self.close();
        Ok(accs)
    }

    /// Element `n` of memory whose elements are of this type.
    pub fn element_place(&mut self, base: Val, n: Val, elem: ravel_types::Elem) -> Val {
        let bytes = self.times(n, i64::from(prim_of(elem).bytes()));
        self.b.ptr_add(base, bytes)
    }

    /// One result of those that the work-items of a group have left in local memory: the upper half is folded into the lower one until one is
    /// left.
    fn tree(&mut self, folds: &[Fold], slots: &[Val], item: Val) {
        let arith = self.arith();
        let half = self.b.i64(i64::from(GROUP / 2));
        self.b.barrier();
        let half = self.b.begin_loop(&[half])[0];
        let lower = self.b.icmp(IntCmp::Slt, item, half);
        self.b.begin_if(lower);
        for (fold, slot) in folds.iter().zip(slots) {
            let elem = self.elem(fold.result);
            let ty = Ty::scalar(prim_of(elem));
            let mine = self.element_place(*slot, item, elem);
            let partner = self.b.add(item, half);
            let partner = self.element_place(*slot, partner, elem);
            let (x, y) = (self.b.load(ty, mine, 0, Access::ALIGNED), self.b.load(ty, partner, 0, Access::ALIGNED));
            let sum = scalars::binary(&mut self.b, arith, fold.op, elem, x, y);
            self.b.store(sum, mine, 0, Access::ALIGNED);
        }
        self.b.begin_else(&[]);
        self.b.end_if(&[]);
        self.b.barrier();
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let next = self.b.binary(NestBin::SShr, half, one);
        let again = self.b.icmp(IntCmp::Sgt, next, zero);
        self.b.end_loop(again, &[next]);
    }

    /// An array for the partial results of all groups.
    fn partial_results(&mut self, fold: &Fold, groups: Val) -> Val {
        let tag = self.b.iconst(Ty::I8, i64::from(self.elem(fold.result).tag()));
        let rank = self.b.i32(1);
        let shape = self.b.stack_slot(8, 8);
        self.b.store(groups, shape, 0, Access::ALIGNED);
        let position = self.present_place();
        self.helper_ptr("ravel_alloc", &[tag, rank, shape, position])
    }
}
