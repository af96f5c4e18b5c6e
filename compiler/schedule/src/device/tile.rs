//! Tiles on a device: folds whose operands many work-items share.
//!
//! A group of work-items computes a tile of cells, each work-item several of them in registers. Along one or two axes of a partition, the
//! *sides* of the tile, everything that the fold loads varies over fewer axes than there are cells to use it for:
//!
//! ```text
//!    two sides:  c[b, i, j] = epilogue(fold over k of body(f(b, i, k), g(b, k, j), h(b, k)))     matrix products, distances
//!    one side:   c[b, i] = epilogue(fold over k of body(x(b, i), h(b, k)))                       forces of all pairs
//! ```
//!
//! `f`, `g` and `h` stand for any pure expressions, the largest parts of the body that do not vary over all sides. They are *staged*: the group
//! computes them together for a slice of the fold's index set, once, and keeps them in local memory; while the slice is in use, the next one
//! is on its way to registers. What depends on the cell alone is computed once, in front of the fold. See [`crate::device::tile_nest`].
//!
//! With two sides every cell adds in the order of the program, long sums of floats by blocks ([`crate::device::tile_sums`]). With one, two work-items may share the fold of a cell, if its operator regroups:
//! tens of thousands of cells are too few for a large device. The parts are always the same.

use ravel_types::Elem;
use ravel_wir::{Combine, Generator, Inst, Op, Part, Region, Value, With, WithOp};

use crate::facts::{Ext, Facts, Grid, Guard, Jam, Measures, Refusal, Sink, folds_along, prim_of};

/// Least extents of both sides of a tile with two.
const LEAST_SIDE: i64 = 24;
/// Least number of indices of the fold.
const LEAST_FOLD: i64 = 16;
/// Least number of cells along the only side of a tile, and least number of indices of its fold.
const LEAST_LINE: i64 = 512;
/// Groups that keep all units of a large device busy.
pub(crate) const WANTED_GROUPS: i64 = 132;
/// Groups of a tile with one side per unit of a large device that hide each other's waiting.
const BUSY: i64 = 16;
/// Staged values, and results of the fold.
const MOST_VALUES: usize = 6;
/// Registers (of 32 bits) for the accumulators of a work-item.
const REGISTERS: usize = 64;
/// Bytes of local memory that every device has.
const LOCAL_BYTES: usize = 32 << 10;
/// Bytes of staged values that lie side by side: what one access reads.
const MOST_PACKED: usize = 16;
/// Work-items of a group along each of two sides, and along a single one.
const ITEMS: (usize, usize) = (16, 128);
/// Cells of a work-item along two sides, largest first, and the time per cell, relative to the largest: the fewer cells use a staged value, the
/// more often local memory is read.
const SHAPES: [(usize, usize, f64); 4] = [(8, 8, 1.0), (8, 4, 1.15), (4, 4, 1.4), (2, 2, 2.4)];
/// Neighbouring cells of a work-item.
const NEIGHBOURS: usize = 4;
/// Elements between rows of local memory, beyond what they hold: neighbours along a column then lie in different banks.
const PADDING: usize = 4;

/// One axis of a tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub axis: usize,
    pub param: Value,
    /// Work-items of a group along it.
    pub items: usize,
    /// Cells of each.
    pub copies: usize,
}

impl Side {
    /// Cells of the tile.
    pub fn width(&self) -> usize {
        self.items * self.copies
    }

    /// Cells of a work-item that are neighbours.
    pub fn neighbours(&self, lone: bool) -> usize {
        if lone { 1 } else { self.copies.min(NEIGHBOURS) }
    }
}

/// A value that a group keeps in local memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Staged {
    pub value: Value,
    /// The side over which it varies besides the fold, if there is one.
    pub side: Option<usize>,
    /// Are values of consecutive indices of the fold neighbours in memory?
    pub along_fold: bool,
}

/// What the body of a fold consists of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    seen: Vec<Value>,
    pub staged: Vec<Staged>,
    /// Values that do not vary over the fold, with the side over which they do.
    pub fixed: Vec<(Value, usize)>,
}

/// A schedule with tiles for one partition.
#[derive(Clone, Debug)]
pub(crate) struct DeviceTile {
    pub fold: Inst,
    pub sides: Vec<Side>,
    pub parts: Parts,
    /// Staged values that lie side by side for every index of the fold, in one piece of local memory, rounded up to a power of two: one access
    /// reads them all. 1 if each has memory of its own.
    pub packed: usize,
    /// Work-items that share the fold of a cell: each takes a part of every slice, and the first one combines their results in order.
    pub split: usize,
    /// Indices of the fold in one slice, a power of two and a multiple of `split`.
    pub slice: usize,
    pub guards: Vec<Guard>,
    /// Extents of the sides, where they are known.
    pub extents: Vec<Option<i64>>,
    pub least: (i64, i64),
}

impl DeviceTile {
    pub fn lone(&self) -> bool {
        self.sides.len() == 1
    }

    /// Work-items of a group.
    pub fn items(&self) -> usize {
        self.split * self.sides.iter().map(|s| s.items).product::<usize>()
    }

    /// Cells of the tile along the side over which a staged value varies.
    pub fn width(&self, staged: Staged) -> usize {
        staged.side.map_or(1, |s| self.sides[s].width())
    }

    /// Elements from one index of the fold to the next in local memory.
    pub fn stride(&self, staged: Staged) -> usize {
        staged.side.map_or(self.packed, |s| self.sides[s].width() + PADDING)
    }

    pub fn describe(&self) -> String {
        let list = |f: fn(&Side) -> usize| self.sides.iter().map(|s| f(s).to_string()).collect::<Vec<_>>().join(" x ");
        let (cells, copies, slice) = (list(Side::width), list(|s| s.copies), self.slice);
        let shared = if self.split > 1 { format!(", {} work-items share a fold", self.split) } else { String::new() };
        format!(
            "on the device, in tiles of {cells} cells, {copies} per work-item{shared}, {slice} indices of the fold at a time in local memory"
        )
    }
}

/// What is known of a partition before tiles are sized.
struct Found<'f> {
    fold: Inst,
    with: &'f With,
    inner: &'f Part,
    guards: Vec<Guard>,
    extents: Vec<Option<i64>>,
    trips: Option<i64>,
}

impl<'m> Facts<'m> {
    /// The only fold of a body, with its partition.
    fn the_fold<'f>(&self, func: &'f ravel_wir::Func, body: Region) -> Result<(Inst, &'f With, &'f Part), Refusal> {
        let mut found = None;
        for &inst in &func.regions[body].insts {
            let Op::With(with) = &func.insts[inst].op else { continue };
            let ([part], None) = (&with.parts[..], &found) else { return Err(Refusal::SeveralFolds) };
            if with.ops.is_empty() || with.ops.len() > MOST_VALUES {
                return Err(Refusal::ManyResults);
            }
            for op in &with.ops {
                let WithOp::Fold { combine: Combine::Op(_), neutral, .. } = op else {
                    return Err(Refusal::FoldFunction);
                };
                if !self.is_at_hand(*neutral) {
                    return Err(Refusal::VaryingNeutral);
                }
            }
            let nested = |inst: &Inst| matches!(func.insts[*inst].op, Op::With(_) | Op::Loop { .. });
            if func.regions[part.body].insts.iter().any(nested) {
                return Err(Refusal::FoldLoops);
            }
            self.check_fold(part)?;
            found = Some((inst, with, part));
        }
        found.ok_or(Refusal::NoFold)
    }

    /// Splits the body of a fold by what its values vary over.
    fn parts_of_fold(&self, found: &Found<'_>, sides: &[Value]) -> Result<Parts, Refusal> {
        let func = self.func;
        let mut g = Grid::scalar(4);
        for &param in sides.iter().chain(&func.regions[found.inner.body].params) {
            g.push_jam(Jam::of(param, 2));
        }
        let mut parts = Parts::default();
        for &cell in &func.regions[found.inner.body].yields {
            self.part_of_fold(&mut g, sides.len(), cell, &mut parts)?;
        }
        if parts.staged.len() > MOST_VALUES || parts.fixed.len() > MOST_VALUES {
            return Err(Refusal::ManyShared);
        }
        let used = |side: usize| {
            parts.staged.iter().any(|s| s.side == Some(side)) || parts.fixed.iter().any(|(_, of)| *of == side)
        };
        if parts.staged.is_empty() || !(0..sides.len()).all(used) {
            return Err(Refusal::NothingTwice);
        }
        self.find_order(found.inner, &mut parts);
        Ok(parts)
    }

    fn part_of_fold(&self, g: &mut Grid, sides: usize, v: Value, parts: &mut Parts) -> Result<(), Refusal> {
        if self.is_at_hand(v) || parts.seen.contains(&v) {
            return Ok(());
        }
        parts.seen.push(v);
        if let Some(same) = self.alias[v].filter(|_| !g.jams.iter().any(|jam| jam.index == v)) {
            return self.part_of_fold(g, sides, same, parts);
        }
        let jams = self.dep(g, v).jams;
        let all = (1u32 << sides) - 1;
        let (over, folds) = (jams & all, jams & !all != 0);
        let side = (over != 0).then_some(over.trailing_zeros() as usize);
        match (folds, side) {
            (false, Some(side)) if over.count_ones() == 1 => {
                parts.fixed.push((v, side));
                return Ok(());
            }
            (true, side) if over != all && self.elem(v) != Elem::Handle => {
                parts.staged.push(Staged { value: v, side, along_fold: false });
                return Ok(());
            }
            _ => {}
        }
        let Some(inst) = self.live.def(v) else { return Err(Refusal::BranchOverAll) };
        let op = &self.func.insts[inst].op;
        match op {
            Op::Un(..)
            | Op::Bin(..)
            | Op::Convert(_)
            | Op::Select { .. }
            | Op::Opaque(_)
            | Op::Native { .. }
            | Op::Const(_) => {}
            Op::Extent { .. } => return Ok(()),
            Op::Sel { .. } if jams == 0 => return Ok(()),
            Op::Sel { .. } => return Err(Refusal::LoadOverAll),
            _ => return Err(Refusal::BranchOverAll),
        }
        let mut operands = Vec::new();
        op.for_each_operand(|v| operands.push(v));
        operands.into_iter().try_for_each(|v| self.part_of_fold(g, sides, v, parts))
    }

    /// Finds which staged values lie along the fold in memory, so that neighbouring work-items load neighbours.
    fn find_order(&self, inner: &Part, parts: &mut Parts) {
        let Some(&last) = self.func.regions[inner.body].params.last() else { return };
        for staged in &mut parts.staged {
            staged.along_fold = staged.side.is_none() || self.last_index_varies(staged.value, last, 8);
        }
    }

    /// Does some load below a value have the index in its last place?
    fn last_index_varies(&self, v: Value, index: Value, depth: u32) -> bool {
        let Some(inst) = self.live.def(v).filter(|_| depth > 0 && !self.is_bound(v)) else { return false };
        match &self.func.insts[inst].op {
            Op::Sel { index: place, .. } => {
                place.last().is_some_and(|i| self.form(*i).terms.iter().any(|(v, _)| *v == index))
            }
            op => {
                let mut any = false;
                op.for_each_operand(|v| any |= self.last_index_varies(v, index, depth - 1));
                any
            }
        }
    }

    /// Bytes of the widest value that a tile keeps.
    fn widest(&self, found: &Found<'_>, parts: &Parts) -> usize {
        let results = self.func.insts[found.fold].results.iter();
        results
            .chain(parts.staged.iter().map(|s| &s.value))
            .map(|v| prim_of(self.elem(*v)).bytes() as usize)
            .max()
            .unwrap_or(8)
    }

    /// The longest slice, of at most `most` indices, whose staged values fit local memory beside `taken` bytes.
    fn slice_of(&self, tile: &DeviceTile, most: usize, taken: usize) -> usize {
        let bytes = |slice: usize| -> usize {
            let rows = tile
                .parts
                .staged
                .iter()
                .map(|s| 2 * slice * tile.stride(*s) * prim_of(self.elem(s.value)).bytes() as usize);
            if tile.packed > 1 { rows.max().unwrap_or(0) } else { rows.sum() }
        };
        std::iter::successors(Some(most), |n| Some(n / 2))
            .find(|n| *n <= 4 || taken + bytes(*n) <= LOCAL_BYTES)
            .unwrap_or(4)
    }

    /// Is there a value that a fold may begin with any number of times?
    fn has_identity(&self, binop: ravel_types::BinOp, op: &WithOp) -> bool {
        matches!(op, WithOp::Fold { neutral, .. } if binop.identity(self.elem(*neutral)).is_some())
    }

    /// How many staged values lie side by side: all of them, if they are few, of one type, and vary over the fold alone.
    fn packed_values(&self, parts: &Parts) -> usize {
        let [first, others @ ..] = &parts.staged[..] else { return 1 };
        let prim = |staged: &Staged| prim_of(self.elem(staged.value));
        let alike = first.side.is_none() && others.iter().all(|s| s.side.is_none() && prim(s) == prim(first));
        let packed = parts.staged.len().next_power_of_two();
        if alike && packed * prim(first).bytes() as usize <= MOST_PACKED { packed } else { 1 }
    }

    fn one_side(&self, part: &Part, found: &Found<'_>, parts: Parts, forced: bool) -> Result<Vec<DeviceTile>, Refusal> {
        let params = &self.func.regions[part.body].params;
        let last = params.len() - 1;
        let registers = found.with.ops.len() * self.widest(found, &parts).div_ceil(4);
        let cells = found.extents.iter().try_fold(1i64, |n, e| n.checked_mul((*e)?));
        // All units are to have work: few cells per work-item if there are few cells, and two work-items per cell.
        let groups = |copies: usize| cells.map(|n| n / (ITEMS.1 * copies) as i64);
        let enough = |copies: usize| groups(copies).is_some_and(|n| n >= WANTED_GROUPS * copies as i64 * 3 / 4);
        let copies = [4, 2].into_iter().find(|n| enough(*n) && n * registers <= REGISTERS / 2).unwrap_or(1);
        let regroups =
            found.with.ops.iter().all(|op| folds_along(op).is_some_and(|binop| self.has_identity(binop, op)));
        let busy = groups(copies).is_some_and(|n| n >= WANTED_GROUPS * BUSY);
        let split = if regroups && !busy { 2 } else { 1 };
        let side = Side { axis: last, param: params[last], items: ITEMS.1, copies };
        let least = if forced { (1, 1) } else { (LEAST_LINE, LEAST_LINE) };
        let extents = vec![found.extents[last]];
        let packed = self.packed_values(&parts);
        let mut tile = DeviceTile {
            fold: found.fold,
            sides: vec![side],
            parts,
            packed,
            split,
            slice: 0,
            guards: found.guards.clone(),
            extents,
            least,
        };
        // Results of the other parts of a fold, before they are combined.
        let taken = (split - 1) * ITEMS.1 * copies * registers * 4;
        tile.slice = self.slice_of(&tile, tile.items(), taken);
        Ok(vec![tile])
    }
}

impl<'m> Facts<'m> {
    fn find_shared_fold(&self, part: &Part, sinks: &[Sink]) -> Result<Found<'m>, Refusal> {
        let func = self.func;
        let Generator::Known { lower, upper, step, width: None } = &part.generator else {
            return Err(Refusal::WidthsOrRank);
        };
        if lower.is_empty() || step.as_ref().is_some_and(|s| s.iter().any(|v| self.const_i32(*v) != Some(1))) {
            return Err(Refusal::GeneratorSteps);
        }
        if sinks.is_empty() || !sinks.iter().all(|s| matches!(s, Sink::Slice { cell: Ext::Const(1), .. })) {
            return Err(Refusal::CellsNoScalars);
        }
        let (fold, with, inner) = self.the_fold(func, part.body)?;
        let mut measures = Measures::default();
        self.supported(part.body, &mut measures)?;
        let extent = |l: &Value, u: &Value| self.const_i32(*u).zip(self.const_i32(*l)).map(|(u, l)| (u - l).max(0));
        let extents: Vec<Option<i64>> = lower.iter().zip(upper).map(|(l, u)| extent(l, u)).collect();
        let Generator::Known { lower, upper, .. } = &inner.generator else {
            return Err(Refusal::FoldRankUnknown);
        };
        let trips = lower.iter().zip(upper).try_fold(1i64, |n, (l, u)| n.checked_mul(extent(l, u)?));
        if trips == Some(0) || extents.contains(&Some(0)) {
            return Err(Refusal::NoCells);
        }
        Ok(Found { fold, with, inner, guards: measures.guards, extents, trips })
    }
}

impl Facts<'_> {
    /// Decides whether a partition runs in tiles on a device. With `forced`, whatever the extents are. Several plans differ in the size of their
    /// tiles alone: the first one whose groups are enough for the device is to be taken, which only the run may know.
    pub fn plan_device_tiles(
        &self,
        part: &Part,
        sinks: &[Sink],
        forced: bool,
        every: bool,
    ) -> Result<Vec<DeviceTile>, Refusal> {
        let found = self.find_shared_fold(part, sinks)?;
        let params = &self.func.regions[part.body].params;
        let last = params.len() - 1;
        let fits = |n: Option<i64>, least: i64| forced || n.is_none_or(|n| n >= least);
        let mut refusal = Refusal::RareOperands;
        let mut rows: Vec<usize> = (0..last).filter(|k| fits(found.extents[*k], LEAST_SIDE)).collect();
        rows.sort_by_key(|k| std::cmp::Reverse(found.extents[*k].unwrap_or(i64::MAX)));
        if fits(found.extents[last], LEAST_SIDE) && fits(found.trips, LEAST_FOLD) {
            for axis in rows {
                match self.parts_of_fold(&found, &[params[axis], params[last]]) {
                    Ok(parts) => return self.two_sides(part, &found, axis, parts, forced, every),
                    Err(why) => refusal = why,
                }
            }
        }
        if fits(found.extents[last], LEAST_LINE) && fits(found.trips, LEAST_LINE) {
            let parts = self.parts_of_fold(&found, &[params[last]])?;
            return self.one_side(part, &found, parts, forced);
        }
        Err(refusal)
    }

    fn two_sides(
        &self,
        part: &Part,
        found: &Found<'_>,
        axis: usize,
        parts: Parts,
        forced: bool,
        every: bool,
    ) -> Result<Vec<DeviceTile>, Refusal> {
        let params = &self.func.regions[part.body].params;
        let last = params.len() - 1;
        let registers = found.with.ops.len() * self.widest(found, &parts).div_ceil(4);
        let others =
            (0..last).filter(|k| *k != axis).map(|k| found.extents[k].unwrap_or(1)).fold(1f64, |n, e| n * e as f64);
        let mut plans: Vec<(f64, DeviceTile)> = Vec::new();
        for (rows, columns, time) in SHAPES.into_iter().filter(|(r, c, _)| r * c * registers <= REGISTERS || r * c == 4)
        {
            let side = |axis: usize, copies: usize| Side { axis, param: params[axis], items: ITEMS.0, copies };
            let sides = vec![side(axis, rows), side(last, columns)];
            let tiles = |side: &Side| found.extents[side.axis].map(|n| (n as f64 / side.width() as f64).ceil());
            let cost = match (tiles(&sides[0]), tiles(&sides[1])) {
                (Some(r), Some(c)) => (r * c * others / WANTED_GROUPS as f64).ceil() * (rows * columns) as f64 * time,
                _ => 0.0,
            };
            let extents = vec![found.extents[axis], found.extents[last]];
            let least = if forced { (1, 1) } else { (LEAST_SIDE, LEAST_FOLD) };
            let mut tile = DeviceTile {
                fold: found.fold,
                sides,
                parts: parts.clone(),
                packed: 1,
                split: 1,
                slice: 0,
                guards: found.guards.clone(),
                extents,
                least,
            };
            let widest = tile.sides.iter().map(Side::width).max().unwrap_or(1);
            tile.slice = self.slice_of(&tile, (4 * tile.items() / widest).min(tile.items()), 0);
            plans.push((cost, tile));
        }
        if every {
            return Ok(plans.into_iter().map(|(_, tile)| tile).collect());
        }
        let known = found.extents[axis].is_some() && found.extents[last].is_some();
        if known {
            plans.sort_by(|a, b| a.0.total_cmp(&b.0));
            plans.truncate(1);
        } else if plans.len() > 2 {
            // The run chooses between the largest tiles and those of a middling size.
            plans.drain(1..plans.len() - 2);
            plans.truncate(2);
        }
        Ok(plans.into_iter().map(|(_, tile)| tile).collect())
    }
}
