//! The size of register blocks: how many vectors per step, and how many copies along which other axes.
//!
//! A block of `u x a x b` accumulators is filled from loads that vary over some of these axes only, so that larger blocks need fewer loads
//! per accumulation. All candidates that fit the registers are compared by the cycles they take for the whole partition,
//! remainders included.

use ravel_types::HashMap;
use ravel_wir::{Generator, Op, Part, Region, Value};

use crate::facts::cost::UNROLL_TRIPS;
use crate::facts::{Dep, Facts, Grid, Jam, Walk};
use crate::plan::{KernelPlan, VecChoice};

/// Latency of an accumulation, in cycles: a block with fewer independent accumulations waits for it.
const LATENCY: f64 = 4.0;
/// Cycles of a vector operation: accumulations and loads, two per cycle each.
const SLOT: f64 = 0.5;
/// Cycles of a step that are neither: addresses and the loop.
const STEP: f64 = 0.2;
/// Bytes of a cache line: a load that crosses its end counts twice.
const LINE: f64 = 64.0;
/// Vectors per step at most.
const MOST_VECTORS: usize = 8;
/// Copies along a jam axis at most.
const MOST_COPIES: usize = 12;
/// Vectors per step at most where nothing is accumulated.
const MOST_PLAIN: usize = 4;
/// Cycles from which on a load collects its lanes one by one. More such loads in a step make code, and hide nothing that one does not.
const COLLECTED: f64 = 2.0;
/// What a larger block must save at least, and where loads collect their lanes.
const GAIN: f64 = 0.01;
const GAIN_COLLECTED: f64 = 0.1;
/// Bodies without folds that take more cycles than this get two vectors per step at most.
const LONG_BODY: f64 = 30.0;
/// Vectors of an axis, and indices of one, where unknown.
const UNKNOWN_COUNT: usize = 64;

/// A load inside a fold: what it varies over, and its cycles.
#[derive(Clone, Copy, Debug)]
struct Load {
    dep: Dep,
    cycles: f64,
}

/// What the folds of a body do at each of their indices.
#[derive(Default)]
struct Work {
    loads: Vec<Load>,
    /// Accumulators of the fold that has most.
    accs: Vec<Dep>,
    /// Jam axes along which copies load what others load at another index of a fold that is unrolled. Kept between these loads, it
    /// would take registers from the accumulators.
    overlapping: u32,
}

/// Copies of a block along the vector axis and the jam axes, by the bits of [`Dep::jams`].
#[derive(Clone, Debug)]
struct Block {
    u: usize,
    jams: Vec<(usize, usize)>,
}

impl Block {
    /// How many copies a value has in the block.
    fn copies(&self, dep: Dep) -> usize {
        let jams = self.jams.iter().filter(|(axis, _)| dep.jams >> axis & 1 == 1).map(|jam| jam.1);
        jams.product::<usize>() * if dep.vec { self.u } else { 1 }
    }

    fn cells(&self) -> usize {
        self.u * self.jams.iter().map(|jam| jam.1).product::<usize>()
    }

    /// Registers for accumulators, and for what is loaded for several of them.
    fn registers(&self, work: &Work) -> usize {
        let accs: usize = work.accs.iter().map(|dep| self.copies(*dep)).sum();
        // Values that vary over the longest axis stream by, the others stay.
        let longest = self.jams.iter().map(|jam| (jam.1, 1u32 << jam.0)).chain([(self.u, 0)]).max_by_key(|axis| axis.0);
        let streams = |dep: Dep| longest.is_none_or(|(_, bit)| if bit == 0 { dep.vec } else { dep.jams & bit != 0 });
        let stay: usize = work.loads.iter().filter(|load| !streams(load.dep)).map(|load| self.copies(load.dep)).sum();
        accs + stay + 1
    }

    /// Cycles per index of the fold.
    fn cycles(&self, work: &Work) -> f64 {
        let adds = SLOT * work.accs.iter().map(|dep| self.copies(*dep)).sum::<usize>() as f64;
        let loads: f64 = work.loads.iter().map(|load| load.cycles * self.copies(load.dep) as f64).sum();
        adds.max(LATENCY).max(loads) + 0.1 * loads + STEP
    }
}

/// Steps of `size` along an axis of `count`: how often they fit, and the shorter step that is left.
fn steps(count: usize, size: usize) -> [(usize, usize); 2] {
    [(size, count / size), (count % size, usize::from(!count.is_multiple_of(size)))]
}

/// Cycles per index of the fold for the whole partition, in blocks of this size and shorter ones at the ends.
fn total_cycles(block: &Block, work: &Work, vectors: usize, counts: &[(usize, usize)]) -> f64 {
    let mut total = 0.0;
    for (u, rows) in steps(vectors, block.u) {
        let mut blocks = vec![(Block { u, jams: Vec::new() }, rows)];
        for &(axis, size) in &block.jams {
            let count = counts.iter().find(|c| c.0 == axis).map_or(1, |c| c.1);
            blocks = blocks
                .into_iter()
                .flat_map(|(block, times)| {
                    steps(count, size).map(|(copies, fits)| {
                        let mut longer = block.clone();
                        longer.jams.push((axis, copies));
                        (longer, times * fits)
                    })
                })
                .collect();
        }
        total +=
            blocks.iter().filter(|b| b.1 > 0).map(|(block, times)| block.cycles(work) * *times as f64).sum::<f64>();
    }
    let along: usize = block.jams.iter().map(|jam| counts.iter().find(|c| c.0 == jam.0).map_or(1, |c| c.1)).product();
    total / along.max(1) as f64
}

/// The best block for a number of vectors along the vector axis, in steps of a multiple of `grain`, and `counts` indices along the axes
/// that may be jammed (by their bits).
fn best_block(work: &Work, registers: usize, (vectors, grain): (usize, usize), counts: &[(usize, usize)]) -> Block {
    let mut best = (f64::INFINITY, Block { u: grain, jams: Vec::new() });
    let mut shapes: Vec<Vec<(usize, usize)>> = vec![Vec::new()];
    let sizes = |count: usize| 2..=count.min(MOST_COPIES);
    let gain = if work.loads.iter().any(|load| load.cycles >= COLLECTED) { GAIN_COLLECTED } else { GAIN };
    for (k, &(axis, count)) in counts.iter().enumerate() {
        for size in sizes(count) {
            shapes.push(vec![(axis, size)]);
            for &(second, count) in &counts[k + 1..] {
                shapes.extend(sizes(count).map(|other| vec![(axis, size), (second, other)]));
            }
        }
    }
    // Simple blocks come first and win where others gain nothing.
    shapes.sort_by_key(Vec::len);
    for jams in shapes {
        for u in (grain..=vectors.clamp(grain, MOST_VECTORS)).step_by(grain) {
            let block = Block { u, jams: jams.clone() };
            // Cells that share an accumulator need no more registers, but their stores need code.
            if block.registers(work) > registers || block.cells() > registers {
                break;
            }
            let cycles = total_cycles(&block, work, vectors, counts);
            if cycles < best.0 * (1.0 - gain) {
                best = (cycles, block);
            }
        }
    }
    best.1
}

impl Facts<'_> {
    /// Chooses the size of the blocks of a plan whose vector axis is that of `g`. The plan has the number of vectors that those of a step
    /// must be a multiple of.
    pub fn size_blocks(&self, g: &mut Grid, part: &Part, extents: &[Option<i64>], plan: &mut KernelPlan) {
        let params = &self.func.regions[part.body].params;
        let lanes = plan.lanes;
        let vec_axis = match plan.vec {
            VecChoice::Axis { axis, .. } => Some(axis),
            VecChoice::Fold { .. } => {
                g.set_vec(None, 1, 1);
                (g.fold_u, g.fold_lanes) = (1, lanes);
                None
            }
        };
        let vectors = match vec_axis {
            Some(axis) => extents[axis].map(|n| (n + i64::from(lanes) - 1) / i64::from(lanes)),
            None => self.fold_vectors(part.body, lanes),
        };
        let vectors = vectors.map(|n| n.max(1) as usize);
        let others: Vec<usize> = (0..params.len()).filter(|k| Some(*k) != vec_axis).collect();
        for &axis in &others {
            g.push_jam(Jam { index: params[axis], copies: 2, walk: Walk::ANY });
        }
        let mut work = Work::default();
        self.fold_work(g, part.body, false, &mut work);
        let excluded = self.bounds_dep(g, part.body).jams | work.overlapping;
        others.iter().for_each(|_| g.pop_jam());
        let grain = match plan.vec {
            VecChoice::Axis { u, .. } | VecChoice::Fold { u } => u,
        };
        let set_u = |plan: &mut KernelPlan, size: usize| match &mut plan.vec {
            VecChoice::Axis { u, .. } | VecChoice::Fold { u } => *u = size,
        };
        if work.accs.is_empty() {
            let most = match self.loop_copies(g, part.body) {
                Some(copies) => copies,
                None if self.region_cost(g, part.body) > LONG_BODY => 2,
                None => MOST_PLAIN,
            };
            let registers = self.target.vector_registers.max(8) as usize;
            let most = most.min((registers / self.live_vectors(g, part.body).max(1)).max(1));
            let u = match vectors {
                Some(n) => {
                    (2..=most).rev().find(|u| n.is_multiple_of(*u) && u.is_multiple_of(grain)).unwrap_or(most.min(n))
                }
                None => most,
            };
            let u = if u.is_multiple_of(grain) { u } else { grain };
            return set_u(plan, u);
        }
        // Copies are neighbours.
        let combs = self.combs(part);
        let counts: Vec<(usize, usize)> = (0..others.len())
            .filter(|bit| {
                excluded >> bit & 1 == 0 && combs.as_ref().is_some_and(|combs| combs[others[*bit]].is_dense())
            })
            .map(|bit| (bit, extents[others[bit]].map_or(UNKNOWN_COUNT, |n| n.max(1) as usize)))
            .collect();
        let registers = self.target.vector_registers.max(8) as usize;
        let block = best_block(&work, registers, (vectors.unwrap_or(UNKNOWN_COUNT), grain), &counts);
        set_u(plan, block.u);
        plan.jams = block.jams.iter().map(|&(bit, copies)| (others[bit], copies)).collect();
    }

    fn fold_work(&self, g: &mut Grid, region: Region, inside: bool, work: &mut Work) {
        for &inst in &self.func.regions[region].insts {
            let data = &self.func.insts[inst];
            match &data.op {
                Op::With(with) => {
                    let along = g.vec.is_none() && g.fold_u > 0;
                    let accs: Vec<Dep> = data
                        .results
                        .iter()
                        .map(|v| {
                            let dep = self.dep(g, *v);
                            Dep { vec: dep.vec || along, ..dep }
                        })
                        .collect();
                    if accs.len() > work.accs.len() {
                        work.accs = accs;
                    }
                    for part in &with.parts {
                        if along {
                            g.set_vec(self.func.regions[part.body].params.last().copied(), g.fold_lanes, 1);
                            g.walk = Walk { start: Some(0), grain: i64::from(g.fold_lanes), trips: None };
                        }
                        self.fold_work(g, part.body, true, work);
                        if along {
                            g.set_vec(None, 1, 1);
                        }
                    }
                }
                Op::Sel { array, index } if inside => {
                    let dep = self.dep(g, data.results[0]);
                    let cycles = if dep.vec { self.vector_load_cycles(g, *array, index) } else { SLOT };
                    work.loads.push(Load { dep, cycles });
                    index.iter().for_each(|i| work.overlapping |= self.overlapping(g, *i));
                }
                _ => {}
            }
        }
    }

    /// The jam axes along which an index expression meets the same elements at other indices of an unrolled fold, as windows do that overlap.
    fn overlapping(&self, g: &Grid, index: Value) -> u32 {
        if g.fold_u > 0 {
            // Loops around lanes along the fold are not unrolled.
            return 0;
        }
        let terms = self.form(index).terms;
        // How far the indices of an unrolled fold reach.
        let reach = |v: Value, factor: i64| {
            let of_fold = g.vec != Some(v)
                && g.jams.iter().all(|jam| jam.index != v)
                && !self.is_bound(v)
                && self.live.def(v).is_none();
            let (low, high) = self.range[v].filter(|_| of_fold)?;
            (high - low < UNROLL_TRIPS).then(|| factor.abs().saturating_mul(high - low))
        };
        let mut axes = 0;
        for (axis, jam) in g.jams.iter().enumerate() {
            let Some((_, step)) = terms.iter().find(|(v, _)| *v == jam.index) else { continue };
            if terms.iter().any(|(v, factor)| reach(*v, *factor).is_some_and(|reach| reach >= step.abs())) {
                axes |= 1 << axis;
            }
        }
        axes
    }

    /// Cycles of one vector load in a fold.
    fn vector_load_cycles(&self, g: &mut Grid, array: Value, index: &[Value]) -> f64 {
        let plain = self.load_cycles(g, array, index) * SLOT / crate::facts::cost::LOAD;
        let bytes = f64::from(g.lanes) * g.bytes as f64;
        if self.is_aligned(g, array, index) { plain } else { plain * (1.0 + bytes / LINE) }
    }

    /// Vectors along the last axis of the longest fold, if constant.
    fn fold_vectors(&self, region: Region, lanes: u8) -> Option<i64> {
        let mut most = Some(0);
        for &inst in &self.func.regions[region].insts {
            let Op::With(with) = &self.func.insts[inst].op else { continue };
            for part in &with.parts {
                let Generator::Known { lower, upper, .. } = &part.generator else { return None };
                let (Some(l), Some(u)) = (lower.last(), upper.last()) else { return None };
                let n = self.const_i32(*u).zip(self.const_i32(*l)).map(|(u, l)| (u - l) / i64::from(lanes));
                most = most.zip(n).map(|(a, b)| a.max(b));
            }
        }
        most.map(|n| n.max(1))
    }

    /// Most vectors of one copy of a body that are in use at once, in the order of the code.
    pub fn live_vectors(&self, g: &mut Grid, region: Region) -> usize {
        let func = self.func;
        let data = &func.regions[region];
        let computed = self.computed(g, region);
        let mut last: HashMap<Value, usize> = HashMap::default();
        for (at, &inst) in data.insts.iter().enumerate() {
            let op = &func.insts[inst].op;
            op.for_each_operand(|v| {
                last.insert(v, at);
            });
            for nested in op.regions() {
                last.extend(self.live.free(nested).iter().map(|v| (*v, at)));
            }
        }
        last.extend(data.yields.iter().map(|v| (*v, data.insts.len())));
        let mut ends: Vec<usize> = Vec::new();
        let mut most = 0;
        for (at, &inst) in data.insts.iter().enumerate() {
            // A result may take the register of an operand that nothing else wants.
            ends.retain(|end| *end > at);
            for v in &func.insts[inst].results {
                let end = last.get(v).copied().filter(|end| *end > at && computed.contains(v));
                if self.func.ty(*v).is_scalar() && self.dep(g, *v).vec {
                    ends.extend(end);
                }
            }
            most = most.max(ends.len());
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, Load, Work, best_block};
    use crate::facts::Dep;

    const VEC: Dep = Dep { vec: true, jams: 0 };

    fn jam(bits: u32) -> Dep {
        Dep { vec: false, jams: bits }
    }

    fn work(loads: &[(Dep, f64)], acc: Dep) -> Work {
        Work {
            loads: loads.iter().map(|&(dep, cycles)| Load { dep, cycles }).collect(),
            accs: vec![acc],
            overlapping: 0,
        }
    }

    fn shape(block: &Block) -> (usize, Vec<(usize, usize)>) {
        (block.u, block.jams.clone())
    }

    #[test]
    fn convolutions_fill_the_registers_with_maps_and_vectors() {
        // x varies over the lanes, w over the maps.
        let conv = work(&[(VEC, 1.0), (jam(1), 0.5)], VEC.or(jam(1)));
        let block = best_block(&conv, 32, (6, 1), &[(0, 6)]);
        assert!(block.u * block.jams[0].1 >= 12 && 6 % block.u == 0 && 6 % block.jams[0].1 == 0, "{block:?}");
        let block = best_block(&conv, 16, (24, 1), &[(0, 6)]);
        assert!((10..=12).contains(&(block.u * block.jams[0].1)), "{block:?}");
    }

    #[test]
    fn two_axes_are_jammed_where_each_load_varies_over_one() {
        // Lanes along the fold: d varies over the maps, x over the columns of the kernel; there is one accumulator per pair.
        let gradient = work(&[(VEC.or(jam(1)), 0.5), (VEC.or(jam(4)), 1.0)], VEC.or(jam(5)));
        let block = best_block(&gradient, 32, (6, 1), &[(0, 6), (1, 5), (2, 5)]);
        assert_eq!(block.jams.len(), 2, "{block:?}");
        assert!(block.u * block.jams[0].1 * block.jams[1].1 >= 15, "{block:?}");
    }

    #[test]
    fn a_single_accumulator_takes_several_vectors() {
        let sum = work(&[(VEC, 0.5)], VEC);
        assert_eq!(shape(&best_block(&sum, 32, (64, 1), &[])), (8, Vec::new()));
        assert_eq!(shape(&best_block(&sum, 32, (1, 1), &[])), (1, Vec::new()));
        assert_eq!(best_block(&work(&[(VEC, 2.0)], VEC), 32, (64, 4), &[]).u % 4, 0);
    }

    #[test]
    fn blocks_of_equal_cells_stay_small() {
        let counts = work(&[], Dep { vec: false, jams: 0 });
        assert!(best_block(&counts, 32, (64, 1), &[(0, 64), (1, 64)]).cells() <= 32);
    }

    #[test]
    fn loads_that_collect_their_lanes_take_one_vector() {
        // Three loads of eight lanes each take longer than the accumulation that they feed.
        let scattered = work(&[(VEC, 4.0), (VEC, 4.0), (VEC, 4.0)], VEC);
        assert_eq!(shape(&best_block(&scattered, 32, (64, 1), &[])), (1, Vec::new()));
        // What they load is still shared by the copies of other axes.
        let shared = work(&[(VEC, 4.0), (jam(1), 0.5)], VEC.or(jam(1)));
        assert!(!best_block(&shared, 32, (64, 1), &[(0, 6)]).jams.is_empty());
    }
}
