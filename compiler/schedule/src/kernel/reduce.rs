//! Folds inside kernels: accumulators of all copies in registers.
//!
//! Where lanes run along an axis outside of the fold, each lane is an accumulator of its own and cells are added in the order of
//! the program. Where lanes run along the fold's last axis (`Grid::fold_u` vectors per step), each lane starts from the identity
//! of the operation; at the end vectors are combined first to last, then lanes as [`ravel_nest::ir::ReduceOp`] says, then the
//! neutral element and the scalar remainder. Only operations that regroup are treated so. The same holds for [`crate::kernel::shifted_accumulators`], where
//! accumulators overlap.

use ravel_types::{BinOp, Elem};
use ravel_wir::{Combine, Generator, Inst, Op, Part, Value, With, WithOp};

use crate::Result;
use crate::facts::cost::UNROLL_TRIPS;
use crate::facts::vector_forms::reduce_op;
use crate::facts::{Cell, Chunk, Dep, Facts, Grid, LONG_CHAIN, Shift, Sink, Val, Walk, folds_along};
use crate::kernel::remainders::Stretch;
use crate::lower::{Lower, scalars};

/// Bound on unrolled copies of a body, those of folds around it included.
pub(crate) const UNROLL_COPIES: i64 = 600;

/// Bound on unrolled additions where lanes run along the fold.
const UNROLL_STEPS: i64 = 64;

/// Registers that one copy of a long body needs while several are computed side by side.
const CHAIN_REGISTERS: usize = 6;
/// Copies of a long body that are computed side by side at most.
const MOST_TOGETHER: usize = 4;

/// One accumulator variable of a fold.
#[derive(Clone, Copy)]
pub(crate) struct Acc {
    pub op: BinOp,
    pub elem: Elem,
    /// Which of the values that the body yields it takes.
    cell: usize,
    dep: Dep,
    /// Copies along the jam axes that it varies over.
    pub j: usize,
    /// Copies along the vector axis.
    pub u: usize,
    /// Where its copies start in the carried values; jam copies outermost.
    pub first: usize,
    /// Where its scalar accumulators start, if lanes run along the fold.
    pub scalars: usize,
}

impl Acc {
    /// Which of its jam copies copy `j` is.
    fn rank(&self, g: &Grid, j: usize) -> usize {
        let mut rank = 0;
        for (axis, jam) in g.jams.iter().enumerate() {
            if self.dep.jams >> axis & 1 == 1 {
                rank = rank * jam.copies + g.digit(axis, j);
            }
        }
        rank
    }
}

/// The accumulators of one fold.
pub(crate) struct Accs {
    pub accs: Vec<Acc>,
    pub vals: Vec<Val>,
    pub along: bool,
    /// Accumulators at shifted places instead of vectors along the vector axis.
    pub shift: Option<Shift>,
    /// Bounds of the first axis, if this is a chunk of a parallel loop. Scalar accumulators then start from the identity.
    chunk: Option<Chunk>,
    /// Where the values go that the body yields, if some of them go to arrays.
    sinks: Vec<Sink>,
}

impl Facts<'_> {
    /// Number of indices from an axis inwards, if constant.
    pub fn const_trips(&self, part: &Part, axis: usize) -> Option<i64> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return None };
        let params = &self.func.regions[part.body].params;
        (axis..lower.len()).try_fold(1i64, |n, k| {
            if self.alias[params[k]].is_some() {
                return Some(n);
            }
            n.checked_mul((self.const_i32(upper[k])? - self.const_i32(lower[k])?).max(0))
        })
    }

    /// Additions that a step of the innermost loop makes; nothing where steps are not to be unrolled one by one.
    pub fn additions_of(&self, accs: &Accs) -> Option<i64> {
        (!accs.along && accs.chunk.is_none()).then(|| accs.accs.iter().map(|a| a.j * a.u).sum::<usize>() as i64)
    }

    /// How many copies of a fold's body are computed side by side: a long body is a chain of operations that wait for each other, and the
    /// machine looks ahead over a few of such chains only.
    fn additions_together(&self, g: &mut Grid, part: &Part, accs: &Accs) -> usize {
        let scalars = accs.accs.iter().map(|acc| if accs.along { acc.j } else { 0 }).sum::<usize>();
        let free = (self.target.vector_registers as usize).saturating_sub(accs.vals.len() - scalars);
        let together = (free / CHAIN_REGISTERS).clamp(1, MOST_TOGETHER);
        let nested =
            self.func.regions[part.body].insts.iter().any(|inst| matches!(self.func.insts[*inst].op, Op::With(_)));
        if together > 1 && !nested && g.vec.is_some() && g.lanes > 1 && self.region_cost(g, part.body) > LONG_CHAIN {
            together
        } else {
            1
        }
    }
}

impl Lower<'_, '_> {
    /// Computes all copies of a fold's results.
    pub fn fold_cells(&mut self, g: &mut Grid, inst: Inst, chunk: Option<Chunk>) -> Result<()> {
        let func = self.func;
        let Op::With(with) = &func.insts[inst].op else {
            return self.unsupported(func.insts[inst].span, "not a with-loop");
        };
        let results = &func.insts[inst].results;
        let along = g.vec.is_none() && g.fold_u > 0 && with.ops.iter().all(|op| folds_along(op).is_some());
        let mut accs = Accs {
            accs: Vec::new(),
            vals: Vec::new(),
            along,
            shift: self.shift_for(g, with),
            chunk,
            sinks: Vec::new(),
        };
        for (cell, (op, &result)) in with.ops.iter().zip(results).enumerate() {
            let WithOp::Fold { neutral, combine: Combine::Op(op), .. } = op else {
                return self.unsupported(func.insts[inst].span, "a fold function in a kernel");
            };
            let (dep, elem) = (self.dep(g, result), self.elem(result));
            let copies = g.jam_copies(dep);
            let (j, first) = (copies.len(), accs.vals.len());
            if along {
                let Some(identity) = op.identity(elem) else {
                    return self.unsupported(func.insts[inst].span, "a fold without identity in a kernel");
                };
                let u = g.fold_u;
                g.lanes = g.fold_lanes;
                for _ in 0..j * u {
                    let start = self.constant_of(g, identity);
                    accs.vals.push(start);
                }
                g.lanes = 1;
                accs.accs.push(Acc { op: *op, elem, cell, dep, j, u, first, scalars: 0 });
            } else if let (Some(shift), Some(identity)) = (&accs.shift, op.identity(elem)) {
                let u = shift.places.len();
                let start = self.constant_of(g, identity);
                accs.vals.resize(j * u, start);
                accs.accs.push(Acc { op: *op, elem, cell, dep, j, u, first, scalars: 0 });
            } else {
                let u = if dep.vec { g.u } else { 1 };
                for &j in &copies {
                    for u in 0..u {
                        let start = if dep.vec {
                            self.packed_of(g, *neutral, j, u)?
                        } else {
                            self.scalar_of(g, *neutral, j, u)?
                        };
                        accs.vals.push(start);
                    }
                }
                accs.accs.push(Acc { op: *op, elem, cell, dep, j, u, first, scalars: 0 });
            }
        }
        if along {
            for (k, op) in with.ops.iter().enumerate() {
                let WithOp::Fold { neutral, .. } = op else { continue };
                accs.accs[k].scalars = accs.vals.len();
                let acc = accs.accs[k];
                for j in g.jam_copies(acc.dep) {
                    let start = match acc.op.identity(acc.elem) {
                        Some(identity) if chunk.is_some() => scalars::constant(&mut self.b, identity, 1),
                        _ => self.scalar_of(g, *neutral, j, 0)?,
                    };
                    accs.vals.push(start);
                }
            }
        }
        for part in &with.parts {
            self.force_captured(g, part.body)?;
            let mark = g.mark();
            self.open(part.body);
            self.prepare_copies(g, part.body)?;
            self.fold_axis(g, with, part, 0, &mut accs)?;
            self.close();
            g.release(mark);
        }
        if let (Some(shift), [WithOp::Fold { neutral, .. }]) = (accs.shift.clone(), &with.ops[..]) {
            return self.finish_shifted(g, &shift, &accs, results[0], *neutral);
        }
        for (k, &result) in results.iter().enumerate() {
            self.finish_acc(g, &accs, accs.accs[k], result);
        }
        Ok(())
    }

    /// Computes the cells of a partition that go to arrays and to scalar folds, with lanes along its last axis; the accumulators behind it.
    pub fn fold_and_store(
        &mut self,
        g: &mut Grid,
        (inst, with, part): (Inst, &With, &Part),
        sinks: &[Sink],
        starts: &[Val],
        chunk: Option<Chunk>,
    ) -> Result<Vec<Val>> {
        let results = &self.func.insts[inst].results;
        let mut accs =
            Accs { accs: Vec::new(), vals: Vec::new(), along: true, shift: None, chunk, sinks: sinks.to_vec() };
        let u = g.fold_u;
        for (cell, op) in with.ops.iter().enumerate() {
            let Some(op) = folds_along(op) else { continue };
            let elem = self.elem(results[cell]);
            let Some(identity) = op.identity(elem) else {
                return self.unsupported(self.func.insts[inst].span, "a fold without identity in a kernel");
            };
            let first = accs.vals.len();
            g.lanes = g.fold_lanes;
            let start = self.constant_of(g, identity);
            g.lanes = 1;
            accs.vals.resize(first + u, start);
            accs.accs.push(Acc { op, elem, cell, dep: Dep::default(), j: 1, u, first, scalars: 0 });
        }
        for (acc, start) in accs.accs.iter_mut().zip(starts) {
            acc.scalars = accs.vals.len();
            accs.vals.push(*start);
        }
        self.force_captured(g, part.body)?;
        let mark = g.mark();
        self.open(part.body);
        self.prepare_copies(g, part.body)?;
        self.prepare_slices(g, part, sinks)?;
        self.fold_axis(g, with, part, 0, &mut accs)?;
        self.close();
        g.release(mark);
        let mut totals = Vec::new();
        for acc in accs.accs.clone() {
            self.finish_acc(g, &accs, acc, results[acc.cell]);
            totals.push(self.scalar_of(g, results[acc.cell], 0, 0)?);
        }
        Ok(totals)
    }

    /// Computes what the addresses of cells share, as far as the indices at hand decide it.
    pub fn prepare_slices(&mut self, g: &mut Grid, part: &Part, sinks: &[Sink]) -> Result<()> {
        for sink in sinks {
            if let Sink::Slice { elem, data, strides, .. } = sink {
                let offset = self.slice_offset(part, *elem, strides);
                self.prepare_offset(g, *data, &offset)?;
            }
        }
        Ok(())
    }

    /// Makes cells of an accumulator's copies.
    fn finish_acc(&mut self, g: &mut Grid, accs: &Accs, acc: Acc, result: Value) {
        let arith = self.arith();
        for (rank, j) in g.jam_copies(acc.dep).into_iter().enumerate() {
            if !accs.along {
                for u in 0..acc.u {
                    let val = accs.vals[acc.first + rank * acc.u + u];
                    let vector = self.b.ty(val).is_vector();
                    g.remember(result, j, u, if vector { Cell::Packed(val) } else { Cell::One(val) });
                }
                continue;
            }
            let first = acc.first + rank * acc.u;
            let mut total = accs.vals[first];
            for &val in &accs.vals[first + 1..first + acc.u] {
                total = scalars::binary(&mut self.b, arith, acc.op, acc.elem, total, val);
            }
            if self.b.ty(total).is_vector() {
                total = match reduce_op(acc.op, acc.elem) {
                    Some(op) => self.b.reduce(op, total),
                    None => self.b.extract(total, 0),
                };
                if acc.elem == Elem::Bool {
                    let ty = self.b.ty(total);
                    let zero = self.b.iconst(ty, 0);
                    total = self.b.icmp(ravel_nest::ir::IntCmp::Ne, total, zero);
                }
            }
            let start = accs.vals[acc.scalars + rank];
            let total = scalars::binary(&mut self.b, arith, acc.op, acc.elem, start, total);
            g.remember(result, j, 0, Cell::One(total));
        }
    }

    pub fn fold_axis(&mut self, g: &mut Grid, with: &With, part: &Part, axis: usize, accs: &mut Accs) -> Result<()> {
        let func = self.func;
        let Generator::Known { lower, upper, .. } = &part.generator else {
            return self.unsupported(ravel_source::Span::NONE, "a fold of unknown rank in a kernel");
        };
        let params = &func.regions[part.body].params;
        let Some(&param) = params.get(axis) else {
            return self.add_cells(g, part, accs);
        };
        if self.alias[param].is_some() && accs.chunk.is_none() {
            return self.fold_axis(g, with, part, axis + 1, accs);
        }
        if g.lanes > 1 && g.vec.is_some() {
            let (low, high) = (self.dep(g, lower[axis]), self.dep(g, upper[axis]));
            if let Some(shift) = accs.shift.clone().filter(|_| low.vec || high.vec) {
                return self.fold_shifted(g, &shift, param, accs);
            }
            if low.vec || high.vec {
                return self.fold_masked(g, with, part, axis, accs);
            }
        }
        if accs.along && axis + 1 == params.len() {
            return self.fold_last(g, with, part, axis, accs);
        }
        let range = self.axis_range(with, lower[axis], upper[axis]);
        let copies = accs.accs.iter().map(|a| a.j * a.u).sum::<usize>() as i64;
        let cut = accs.chunk.is_some_and(|chunk| chunk.axis == axis || !self.site.in_launch);
        let inner = if accs.along || cut { None } else { self.const_trips(part, axis) };
        let whole = self.const_i32(lower[axis]).zip(self.const_i32(upper[axis]));
        if let (Some(trips), Some((low, high))) = (inner, whole)
            && trips <= UNROLL_TRIPS
            && trips * copies * g.unrolled <= UNROLL_COPIES
        {
            let outside = g.unrolled;
            g.unrolled *= (high - low).max(1);
            for index in low..high {
                let mark = g.mark();
                self.bind_fixed(param, index);
                self.fold_axis(g, with, part, axis + 1, accs)?;
                self.unfix(param);
                // On a device, elements that were loaded in one step serve the next ones: it has the registers.
                let loads = self.site.in_launch.then(|| std::mem::take(&mut g.loads));
                g.release(mark);
                if let Some(loads) = loads {
                    g.loads = loads;
                }
            }
            g.unrolled = outside;
            return Ok(());
        }
        if let Some(clip) = self.clip_of(g, part, axis, accs) {
            return self.fold_clipped(g, with, part, (axis, clip), accs);
        }
        let (low, high) = match accs.chunk.filter(|chunk| chunk.axis == axis) {
            Some(chunk) => (chunk.low, chunk.high),
            None => (self.kernel_wide(g, lower[axis])?, self.kernel_wide(g, upper[axis])?),
        };
        let one = self.b.i64(1);
        let trips = whole.filter(|_| !cut).map(|(low, high)| high - low);
        let additions = self.additions_inside(g, part, axis, accs);
        let sums = self.sums_of(accs, false);
        let (i, carried, blocks) = self.begin_block_sums((low, high, one), (trips, additions), &accs.vals, sums);
        let outer = self.enter_kernel_loop(i);
        let mark = g.mark();
        self.open(part.body);
        self.bind_wide(param, i, range);
        self.prepare_copies(g, part.body)?;
        self.prepare_slices(g, part, &accs.sinks)?;
        accs.vals = carried;
        let before = self.begin_row_sums(g, part, axis, accs);
        self.fold_axis(g, with, part, axis + 1, accs)?;
        self.end_row_sums(&mut accs.vals, before);
        self.close();
        g.release(mark);
        accs.vals = self.end_block_sums(blocks, &accs.vals);
        self.leave_kernel_loop(outer);
        Ok(())
    }

    /// A bound of a fold in 64 bits; it may be computed in the kernel.
    pub fn kernel_wide(&mut self, g: &mut Grid, v: Value) -> Result<Val> {
        if self.is_bound(v) || self.const_i32(v).is_some() {
            return Ok(self.wide(v));
        }
        let scalar = self.scalar_of(g, v, 0, 0)?;
        Ok(self.b.convert(ravel_nest::ir::ConvOp::SExt, scalar, ravel_nest::ir::Prim::I64))
    }

    /// The last axis of a fold with lanes along it: whole steps, single vectors, then scalars.
    fn fold_last(&mut self, g: &mut Grid, with: &With, part: &Part, axis: usize, accs: &mut Accs) -> Result<()> {
        let Generator::Known { lower, upper, .. } = &part.generator else {
            return self.unsupported(ravel_source::Span::NONE, "a fold of unknown rank in a kernel");
        };
        let range = self.axis_range(with, lower[axis], upper[axis]);
        let mut chunk = accs.chunk.filter(|chunk| chunk.axis == axis);
        if chunk.is_none() && (self.const_i32(lower[axis]).is_none() || self.const_i32(upper[axis]).is_none()) {
            let (low, high) = (self.kernel_wide(g, lower[axis])?, self.kernel_wide(g, upper[axis])?);
            chunk = Some(Chunk { axis, low, high, grain: 1 });
        }
        let low = self.const_i32(lower[axis]).filter(|_| !accs.sinks.is_empty());
        let peel = low.and_then(|low| self.indices_to_alignment(g, part, &accs.sinks, axis, g.fold_lanes, low));
        let stretches = self.stretches((lower[axis], upper[axis]), chunk, g.fold_lanes, g.fold_u, false, peel);
        let longest = g.fold_u as i64 * i64::from(g.fold_lanes);
        for stretch in stretches {
            let copies = accs.accs.iter().map(|a| a.j * stretch.u).sum::<usize>() as i64;
            let step = stretch.u as i64 * i64::from(stretch.lanes);
            if let Walk { start: Some(start), trips: Some(trips), .. } = stretch.walk
                && trips * copies * g.unrolled <= UNROLL_STEPS
            {
                for trip in 0..trips {
                    let index = start + trip * step;
                    let low = self.b.i64(index);
                    let walk = Walk { start: Some(index), grain: step, trips: Some(1) };
                    self.fold_step(g, part, (low, range), &Stretch { walk, ..stretch }, accs)?;
                }
                continue;
            }
            // What whole steps leave is short.
            let sums = if step == longest { self.sums_of(accs, true) } else { Vec::new() };
            let step = self.b.i64(step);
            let bounds = (stretch.low, stretch.high, step);
            let (i, carried, blocks) = self.begin_block_sums(bounds, (stretch.walk.trips, 1), &accs.vals, sums);
            let outer = self.enter_kernel_loop(i);
            accs.vals = carried;
            self.fold_step(g, part, (i, range), &stretch, accs)?;
            accs.vals = self.end_block_sums(blocks, &accs.vals);
            self.leave_kernel_loop(outer);
        }
        Ok(())
    }

    /// One step of a fold with lanes along its last axis, from an index with these bounds.
    fn fold_step(
        &mut self,
        g: &mut Grid,
        part: &Part,
        from: (Val, (i64, i64)),
        stretch: &Stretch,
        accs: &mut Accs,
    ) -> Result<()> {
        let Some(&param) = self.func.regions[part.body].params.last() else { return Ok(()) };
        let mark = g.mark();
        self.open(part.body);
        self.bind_wide(param, from.0, from.1);
        g.set_vec(Some(param), stretch.lanes, stretch.u);
        (g.walk, g.streamed) = (stretch.walk, stretch.streamed);
        self.prepare_copies(g, part.body)?;
        self.prepare_slices(g, part, &accs.sinks)?;
        self.add_cells(g, part, accs)?;
        g.set_vec(None, 1, 1);
        self.close();
        g.release(mark);
        Ok(())
    }

    /// Adds the cells of all copies at the index at hand, if what lanes check there holds.
    fn add_cells(&mut self, g: &mut Grid, part: &Part, accs: &mut Accs) -> Result<()> {
        let before = self.kernel.lane_checks.is_some().then(|| (g.mark(), accs.vals.clone()));
        let open = self.open_checks(g, part.body)?;
        self.add_checked_cells(g, part, accs)?;
        if let Some((mark, before)) = before {
            if let Some(open) = open {
                accs.vals = self.close_checks(open, &accs.vals, &before);
            }
            g.release(mark);
        }
        Ok(())
    }

    fn add_checked_cells(&mut self, g: &mut Grid, part: &Part, accs: &mut Accs) -> Result<()> {
        let yields = &self.func.regions[part.body].yields;
        let arith = self.arith();
        let along = accs.along;
        let steps = if along { g.u } else { accs.accs.iter().map(|a| a.u).max().unwrap_or(1) };
        let together = self.additions_together(g, part, accs);
        for group in block_order(g, steps).chunks(together) {
            let mut starts = Vec::new();
            for &(u, j) in group {
                starts.push(self.b.position());
                for acc in accs.accs.clone() {
                    if g.shared(acc.dep, j, 0).0 != j || (!along && u >= acc.u) {
                        continue;
                    }
                    let rank = acc.rank(g, j);
                    // In the scalar remainder of a fold with lanes along it the scalar accumulators take over.
                    let place = if along && g.lanes == 1 { acc.scalars + rank } else { acc.first + rank * acc.u + u };
                    let old = accs.vals[place];
                    let vector = self.b.ty(old).is_vector();
                    let mask = g.masks.get(u).filter(|_| vector && !along).cloned();
                    if mask.as_ref().is_some_and(|mask| !mask.contains(&true)) {
                        continue;
                    }
                    let new = if let Some((x, y)) = self.fused_product(acc.op, acc.elem, yields[acc.cell]) {
                        let (x, y) = if vector {
                            (self.packed_of(g, x, j, u)?, self.packed_of(g, y, j, u)?)
                        } else {
                            (self.scalar_of(g, x, j, u)?, self.scalar_of(g, y, j, u)?)
                        };
                        self.b.fma(x, y, old)
                    } else {
                        let cell = if vector {
                            self.packed_of(g, yields[acc.cell], j, u)?
                        } else {
                            self.scalar_of(g, yields[acc.cell], j, u)?
                        };
                        scalars::binary(&mut self.b, arith, acc.op, acc.elem, old, cell)
                    };
                    accs.vals[place] = match mask {
                        Some(mask) if mask.contains(&false) => {
                            let ty = self.b.ty(new);
                            let mask = self.mask_constant(ty, &mask);
                            self.b.select(mask, new, old)
                        }
                        _ => new,
                    };
                }
            }
            if together > 1 {
                self.b.interleave(&starts);
            }
        }
        if !accs.sinks.is_empty() {
            self.kernel_cells(g, part, &accs.sinks)?;
        }
        Ok(())
    }
}

/// The order in which the copies of a block are computed: the axis with the fewest copies innermost, so that what varies over that
/// axis alone stays in registers while the rest streams by.
fn block_order(g: &Grid, vectors: usize) -> Vec<(usize, usize)> {
    let mut order: Vec<(usize, usize)> = (0..vectors).flat_map(|u| (0..g.j()).map(move |j| (u, j))).collect();
    let mut axes: Vec<(usize, Option<usize>)> =
        g.jams.iter().enumerate().map(|(axis, jam)| (jam.copies, Some(axis))).collect();
    axes.push((vectors, None));
    // Stable, so that of two axes with as many copies the first one is outside.
    axes.sort_by_key(|axis| std::cmp::Reverse(axis.0));
    order.sort_by_key(|&(u, j)| {
        axes.iter().map(|(_, axis)| axis.map_or(u, |axis| g.digit(axis, j))).collect::<Vec<usize>>()
    });
    order
}
