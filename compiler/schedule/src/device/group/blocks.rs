//! Cells of a with-loop spread over the work-items of a group, a block of cells each.
//!
//! Blocks are numbered row by row and item `t` takes blocks `t`, `t + items` and so on, so that neighbours read neighbouring memory. With-loops
//! between two barriers begin with different items, so that those with few blocks run side by side. Within a
//! block, loads that do not vary over an axis are shared by the copies along it, and accumulators stay in registers (`grid`). Which block is
//! best follows from an estimate of the cycles of a compute unit: it issues four instructions for 32 items and one load from local memory
//! per cycle, and an item waits for what it loads.

use ravel_nest::ir::{BinOp as NestBin, ConvOp, Prim};
use ravel_wir::{Generator, Op, Part, Region, Value, With};

use crate::Result;
use crate::facts::cost::UNROLL_TRIPS;
use crate::facts::{Dep, Facts, Grid, Index, Jam, Measures, Sink, Val};
use crate::lower::Lower;

/// Copies along one axis.
const COPIES: [i64; 8] = [1, 2, 3, 4, 5, 6, 8, 12];
/// Copies of a block: accumulators and what is multiplied into them fit the registers of an item.
const MOST_COPIES: i64 = 16;
/// Items that execute in step.
pub(crate) const WARP: i64 = 32;
/// Instructions for a warp per cycle.
const ISSUE: f64 = 4.0;
/// Cycles that a step of a fold waits for its loads, where steps overlap. More were measured where weights come from device memory, but with 24 blocks
/// become smaller, which costs more than it hides.
const LATENCY: f64 = 12.0;

/// A load in a fold: the block axes that it varies over, and those along which it meets its neighbours' loads in unrolled steps.
pub(crate) struct Access {
    dep: Dep,
    sliding: Vec<(usize, i64)>,
}

impl Facts<'_> {
    /// Copies along each axis that a work-item computes together; they divide the lengths.
    pub fn block_of(&self, part: &Part, lengths: &[i64], items: i64) -> Vec<i64> {
        let cells: i64 = lengths.iter().product();
        let (accesses, candidates) = self.block_candidates(part, lengths);
        let cost = |copies: &[i64]| self.block_cost(&accesses, cells, copies, items);
        let mut best = (f64::INFINITY, vec![1; lengths.len()]);
        for copies in candidates {
            let cost = cost(&copies);
            if cost < best.0 * 0.95 {
                best = (cost, copies);
            }
        }
        best.1
    }

    /// The loads of a body's folds, and all blocks of cells that an item may compute together; a single cell comes first.
    pub fn block_candidates(&self, part: &Part, lengths: &[i64]) -> (Vec<Access>, Vec<Vec<i64>>) {
        let single = vec![1; lengths.len()];
        let params = &self.func.regions[part.body].params;
        let mut candidates = vec![single.clone()];
        if !self.has_folds(part.body) {
            return (Vec::new(), candidates);
        }
        let mut g = Grid::scalar(4);
        for &param in params {
            g.push_jam(Jam::of(param, 2));
        }
        let fixed = self.bounds_dep(&mut g, part.body).jams;
        let mut accesses = Vec::new();
        self.fold_accesses(&mut g, part.body, params, &[], &mut accesses);
        let axes: Vec<usize> =
            (0..lengths.len()).filter(|axis| fixed >> axis & 1 == 0 && self.alias[params[*axis]].is_none()).collect();
        for (n, &a) in axes.iter().enumerate() {
            for &b in &axes[n..] {
                for (x, y) in COPIES.iter().flat_map(|x| COPIES.iter().map(move |y| (*x, *y))) {
                    if lengths[a] % x != 0 || lengths[b] % y != 0 || x * y > MOST_COPIES || (a == b && y > 1) {
                        continue;
                    }
                    let mut copies = single.clone();
                    copies[a] *= x;
                    copies[b] *= y;
                    candidates.push(copies);
                }
            }
        }
        (accesses, candidates)
    }

    /// Estimated cycles of a compute unit for one step of the folds of all cells.
    pub fn block_cost(&self, accesses: &[Access], cells: i64, copies: &[i64], items: i64) -> f64 {
        let together: i64 = copies.iter().product();
        let blocks = cells / together;
        let mut loads = 0.0;
        for access in accesses {
            let mut n = 1.0;
            for (axis, &c) in copies.iter().enumerate().filter(|(axis, _)| access.dep.jams >> axis & 1 == 1) {
                // Neighbours in a window of unrolled steps load the same elements.
                n *= match access.sliding.iter().find(|(k, _)| *k == axis) {
                    Some((_, trips)) => (c + trips - 1) as f64 / *trips as f64,
                    None => c as f64,
                };
            }
            loads += n;
        }
        let step = |warps: i64| {
            let warps = warps as f64;
            let (work, own) = (together as f64 + loads, together as f64 + loads + LATENCY);
            (warps * work / ISSUE).max(warps * loads).max(own)
        };
        let (full, rest) = (blocks / items, blocks % items);
        full as f64 * step(items / WARP) + if rest > 0 { step((rest + WARP - 1) / WARP) } else { 0.0 }
    }

    fn has_folds(&self, region: Region) -> bool {
        self.func.regions[region].insts.iter().any(|inst| matches!(self.func.insts[*inst].op, Op::With(_)))
    }

    /// The loads in the folds of a body; `around` are indices of folds around, with their trips where they are unrolled.
    fn fold_accesses(
        &self,
        g: &mut Grid,
        region: Region,
        params: &[Value],
        around: &[(Value, i64)],
        accesses: &mut Vec<Access>,
    ) {
        for &inst in &self.func.regions[region].insts {
            match &self.func.insts[inst].op {
                Op::With(with) => {
                    for part in &with.parts {
                        let Generator::Known { lower, upper, .. } = &part.generator else { continue };
                        let mut inner = around.to_vec();
                        for (k, &param) in self.func.regions[part.body].params.iter().enumerate() {
                            if let (Some(low), Some(high)) = (self.const_i32(lower[k]), self.const_i32(upper[k]))
                                && (1..=UNROLL_TRIPS).contains(&(high - low))
                            {
                                inner.push((param, high - low));
                            }
                        }
                        self.fold_accesses(g, part.body, params, &inner, accesses);
                    }
                }
                Op::Sel { index, .. } if !around.is_empty() => {
                    let mut access = Access { dep: Dep::default(), sliding: Vec::new() };
                    for &i in index {
                        access.dep = access.dep.or(self.index_dep(g, i));
                        let terms = self.form(i).terms;
                        for (axis, param) in params.iter().enumerate() {
                            let along = terms.iter().any(|(v, c)| v == param && c.abs() == 1);
                            if let Some((_, trips)) =
                                around.iter().find(|(v, _)| terms.iter().any(|(w, c)| w == v && c.abs() == 1))
                                && along
                            {
                                access.sliding.push((axis, *trips));
                            }
                        }
                    }
                    accesses.push(access);
                }
                _ => {}
            }
        }
    }
}

impl Lower<'_, '_> {
    /// Emits the cells of one partition; how many items the last iteration keeps busy, as far as that is known.
    pub fn spread_part(&mut self, item: Val, items: i64, with: &With, part: &Part, sinks: &[Sink]) -> Result<i64> {
        let Generator::Known { lower, upper, step, .. } = &part.generator else { return Ok(0) };
        let ranges: Vec<(i64, i64)> = lower.iter().zip(upper).map(|(l, u)| self.axis_range(with, *l, *u)).collect();
        let constant = |v: &Value| self.const_i32(*v);
        let bounds: Option<Vec<(i64, i64)>> =
            lower.iter().zip(upper).map(|(l, u)| Some((constant(l)?, constant(u)?))).collect();
        let dense = step.as_ref().is_none_or(|s| s.iter().all(|v| self.const_i32(*v) == Some(1)));
        let copies = match &bounds {
            Some(bounds) if dense => {
                let lengths: Vec<i64> = bounds.iter().map(|(l, u)| (u - l).max(0)).collect();
                if lengths.contains(&0) {
                    return Ok(0);
                }
                self.block_of(part, &lengths, items)
            }
            _ => vec![1; lower.len()],
        };
        let one = self.b.i64(1);
        let lengths: Vec<Val> = match &bounds {
            Some(bounds) if dense => bounds.iter().zip(&copies).map(|((l, u), c)| self.b.i64((u - l) / c)).collect(),
            _ => self.grid_of(part),
        };
        let lows: Vec<Val> = lower.iter().map(|v| self.wide(*v)).collect();
        let steps: Vec<Val> = (0..lower.len()).map(|axis| step.as_ref().map_or(one, |s| self.wide(s[axis]))).collect();
        let known = bounds
            .as_ref()
            .filter(|_| dense)
            .map(|bounds| bounds.iter().zip(&copies).map(|((l, u), c)| (u - l) / c).product::<i64>());
        let total = match known {
            Some(total) => self.b.i64(total),
            None => lengths.iter().fold(one, |n, e| self.b.mul(n, *e)),
        };
        let cache = self.emit.cache.clone();
        let once = known.is_some_and(|total| total <= items);
        let block = if once {
            if known.is_some_and(|total| total < items) {
                let inside = self.b.icmp(ravel_nest::ir::IntCmp::Slt, item, total);
                self.b.begin_if(inside);
            }
            item
        } else {
            let stride = self.b.i64(items);
            self.b.begin_for(item, total, stride, &[]).0
        };
        self.open(part.body);
        let positions = self.digits(block, &lengths, known.is_some());
        let params = self.func.regions[part.body].params.clone();
        for (axis, &param) in params.iter().enumerate() {
            let copies = self.times(positions[axis], copies[axis]);
            let scaled = if dense { copies } else { self.b.mul(copies, steps[axis]) };
            let index = self.b.add(scaled, lows[axis]);
            self.bind_wide(param, index, ranges[axis]);
        }
        if self.supported(part.body, &mut Measures::default()).is_ok() && !self.loads_in_branches(part.body) {
            let mut g = Grid::scalar(self.kernel_width(part.body));
            for (axis, &param) in params.iter().enumerate().filter(|(axis, _)| copies[*axis] > 1) {
                g.push_jam(Jam::of(param, copies[axis] as usize));
            }
            self.kernel_cells(&mut g, part, sinks)?;
        } else {
            self.cell_in_scope(with, part, sinks, &Index::Known(params), Vec::new())?;
        }
        self.close();
        if !once {
            self.b.end_for(&[]);
        } else if known.is_some_and(|total| total < items) {
            self.b.begin_else(&[]);
            self.b.end_if(&[]);
        }
        self.emit.cache = cache;
        Ok(known.map_or(0, |total| total % items))
    }

    /// The digits of a number in a mixed radix, the last one fastest. Small numbers are divided in 32 bits, which devices do faster.
    pub fn digits(&mut self, number: Val, radix: &[Val], small: bool) -> Vec<Val> {
        let mut digits = vec![number; radix.len()];
        if radix.len() == 1 {
            return digits;
        }
        let (divide, remainder) = if small { (NestBin::UDiv, NestBin::URem) } else { (NestBin::SDiv, NestBin::SRem) };
        let narrow = |lower: &mut Self, v: Val| if small { lower.b.convert(ConvOp::Narrow, v, Prim::I32) } else { v };
        let wide = |lower: &mut Self, v: Val| if small { lower.b.convert(ConvOp::ZExt, v, Prim::I64) } else { v };
        let mut rest = narrow(self, number);
        for axis in (1..radix.len()).rev() {
            let by = narrow(self, radix[axis]);
            let digit = self.b.binary(remainder, rest, by);
            digits[axis] = wide(self, digit);
            rest = self.b.binary(divide, rest, by);
        }
        digits[0] = wide(self, rest);
        digits
    }
}
