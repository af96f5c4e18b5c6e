//! Threads: an axis of a with-loop in chunks, the outermost one unless that is short.
//!
//! The size of a chunk depends on shapes alone, so that results do not depend on the number of threads. Partial results of
//! folds are combined in the order of their chunks.

use ravel_nest::ir::{BinOp as NestBin, IntCmp};
use ravel_wir::{Generator, Inst, Part, Value, With};

use crate::Result;
use crate::facts::{Facts, Val};
use crate::kernel::Chunk;
use crate::lower::Lower;
use crate::lower::withloop::Sink;
use crate::plan::{KernelPlan, VecChoice};
use crate::threads::company::Around;

/// How finely a loop is cut.
#[derive(Clone, Copy)]
pub(crate) struct Fineness {
    /// Chunks at most.
    pub most: i64,
    /// Estimated cycles of a chunk at least.
    pub work: f64,
    /// Estimated cycles of all chunks that make waking other threads worth while.
    pub wake: f64,
}

/// A fold is cut into at most this many chunks, for each has partial results.
pub(crate) const MOST_FOLD_CHUNKS: i64 = 32;
/// An outermost axis with fewer indices leaves threads without work, if a longer axis does not.
const MANY_ROWS: i64 = 32;
const MANY_COLUMNS: i64 = 1024;
const CELLS: Fineness = Fineness { most: 128, work: 5_000.0, wake: 40_000.0 };
pub(crate) const FOLDS: Fineness = Fineness { most: MOST_FOLD_CHUNKS, work: 5_000.0, wake: 40_000.0 };
/// Chunks of vectors are whole numbers of cache lines.
const VECTOR_CHUNK: i64 = 64;

/// Chunks are whole steps of a kernel if there are then at least this many.
const LEAST_CHUNKS: i64 = 48;

/// How many indices of an axis a kernel computes in one step.
#[derive(Clone, Copy)]
pub(crate) struct Grain {
    pub step: i64,
    /// In a shorter step that wastes nothing.
    pub least: i64,
    /// Chunks are whole steps if there are then at least this many, and whole shorter steps otherwise.
    pub many: i64,
}

impl Grain {
    pub const ONE: Grain = Grain { step: 1, least: 1, many: 1 };
    /// Of loops that may run for several indices at once.
    const ABREAST: Grain = Grain { step: crate::post::jam_cost::MOST as i64, least: 1, many: 2 };

    pub fn of(plan: &KernelPlan, axis: usize) -> Grain {
        if let VecChoice::Axis { axis: lanes, u } = plan.vec
            && lanes == axis
        {
            let lanes = i64::from(plan.lanes);
            return Grain { step: lanes * u as i64, least: lanes, many: LEAST_CHUNKS };
        }
        let copies = plan.jams.iter().find(|jam| jam.0 == axis).map_or(1, |jam| jam.1 as i64);
        Grain { step: copies, least: copies, many: LEAST_CHUNKS }
    }

    /// Of the last axis of a fold.
    pub fn of_fold(plan: &KernelPlan) -> Grain {
        match plan.vec {
            VecChoice::Fold { u } => {
                let lanes = i64::from(plan.lanes);
                Grain { step: lanes * u as i64, least: lanes, many: LEAST_CHUNKS }
            }
            _ => Grain::ONE,
        }
    }
}

/// How an axis is cut.
pub(crate) struct Chunks {
    axis: usize,
    /// Indices.
    pub n: Val,
    /// Indices per chunk.
    pub chunk: Val,
    /// The same if it is constant, or else 1.
    pub grain: i64,
}

impl Chunks {
    pub fn axis(&self) -> usize {
        self.axis
    }
}

/// Indices of an axis of so many that a chunk of little work has at least.
fn least_along(axes: usize, axis: usize) -> i64 {
    if axes == axis + 1 { VECTOR_CHUNK } else { 1 }
}

impl Facts<'_> {
    /// May this with-loop run on threads at all?
    pub fn may_run_on_threads(&self, with: &With, part: &Part) -> bool {
        !self.site.in_parfor() && self.may_share(with, part)
    }

    /// May threads share this with-loop, in a chunk of another one or not?
    pub fn may_share(&self, with: &With, part: &Part) -> bool {
        let Generator::Known { lower, .. } = &part.generator else { return false };
        self.options.parallel
            && !with.ordered
            && self.site.sequential == 0
            && !lower.is_empty()
            && self.step_along(part, 0).is_some()
    }

    /// The step of a partition along an axis, if constant.
    fn step_along(&self, part: &Part, axis: usize) -> Option<i64> {
        match &part.generator {
            Generator::Known { step: None, .. } => Some(1),
            Generator::Known { step: Some(step), .. } => self.const_i32(*step.get(axis)?).filter(|k| *k > 0),
            Generator::Dyn { .. } => None,
        }
    }

    /// The axis that threads share: the outermost one, or a longer one if that has few indices.
    pub fn thread_axis(&self, part: &Part) -> usize {
        let Generator::Known { lower, upper, .. } = &part.generator else { return 0 };
        let extent = |axis: usize| Some(self.const_i32(upper[axis])? - self.const_i32(lower[axis])?);
        let Some(rows) = extent(0).filter(|rows| *rows < MANY_ROWS) else { return 0 };
        let last = lower.len() - 1;
        let longer = |axis: &usize| {
            // Chunks of the last axis are rows, for lanes.
            let many = if *axis == last { MANY_COLUMNS } else { MANY_ROWS };
            extent(*axis).is_none_or(|n| n >= many.max(2 * rows)) && self.step_along(part, *axis).is_some()
        };
        (1..=last).find(longer).unwrap_or(0)
    }

    /// Is a loop cut into chunks? Not if it is too small for certain.
    pub fn is_cut(&self, part: &Part, axis: usize, fineness: Fineness, grain: Grain) -> bool {
        self.cut(part, axis, fineness, grain).is_some()
    }

    /// Indices of an axis and indices per chunk, as far as they are constant; nothing if the loop is too small for certain.
    fn cut(&self, part: &Part, axis: usize, fineness: Fineness, grain: Grain) -> Option<Option<(i64, i64)>> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return None };
        let Fineness { most, work: least, wake } = fineness;
        let work = self.work(part.body).max(1.0);
        let grain = self.grain_along(part, axis, grain)?;
        let extents: Vec<Option<i64>> = lower
            .iter()
            .zip(upper)
            .map(|(l, u)| self.const_i32(*u).zip(self.const_i32(*l)).map(|(u, l)| (u - l).max(0)))
            .collect();
        let known = extents.iter().try_fold(1i64, |n, e| n.checked_mul((*e)?));
        let rows = extents[axis];
        if self.most_cells(part) * work < wake || rows.is_some_and(|n| n < 2) {
            return None;
        }
        let (Some(known), Some(rows)) = (known, rows) else { return Some(None) };
        let vectors = least_along(extents.len(), axis);
        let per_row = work * known as f64 / rows.max(1) as f64;
        let by_work = (least / per_row).ceil() as i64;
        let chunk = by_work.max((rows + most - 1) / most).max(1);
        let chunk = if work < 100.0 { (chunk + vectors - 1) / vectors * vectors } else { chunk };
        let together = if rows < grain.step * grain.many { grain.least } else { grain.step };
        let chunk = (chunk + together - 1) / together * together;
        (chunk < rows).then_some(Some((rows, chunk)))
    }

    /// Chunks begin at whole steps.
    fn grain_along(&self, part: &Part, axis: usize, grain: Grain) -> Option<Grain> {
        let distance = self.step_along(part, axis)?;
        Some(Grain { step: grain.step * distance, least: grain.least * distance, ..grain })
    }

    /// As many indices as a partition may have: bounds that count up or down with a loop around are known well enough to exclude work
    /// for threads.
    pub fn most_cells(&self, part: &Part) -> f64 {
        let Generator::Known { lower, upper, .. } = &part.generator else { return f64::INFINITY };
        let extents = lower.iter().zip(upper).map(|(l, u)| (self.bounds(*u).1 - self.bounds(*l).0).max(0) as f64);
        extents.product()
    }
}

impl Lower<'_, '_> {
    /// Number of indices of an axis, and indices per chunk; nothing if the loop is too small for certain. Chunks are whole numbers of
    /// the indices that the kernel computes in one step, or in a vector of it.
    pub fn chunks(&mut self, part: &Part, axis: usize, fineness: Fineness, grain: Grain) -> Option<Chunks> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return None };
        if let Some((rows, chunk)) = self.cut(part, axis, fineness, grain)? {
            return Some(Chunks { axis, n: self.b.i64(rows), chunk: self.b.i64(chunk), grain: chunk });
        }
        let Fineness { most, work: least, wake } = fineness;
        let work = self.work(part.body).max(1.0);
        let grain = self.grain_along(part, axis, grain)?;
        let least_known = least_along(lower.len(), axis);
        let (rows, inner) = self.lengths(lower, upper, axis);
        // chunk = max(work of a chunk / work of a row, rows / most chunks), rounded up, and 1 for no rows.
        let one = self.b.i64(1);
        let inner = self.b.binary(NestBin::SMax, inner, one);
        let row_budget = self.b.i64((least / work).ceil() as i64);
        let by_work = self.quotient_up(row_budget, inner);
        let most = self.b.i64(most);
        let by_count = self.quotient_up(rows, most);
        let mut chunk = self.b.binary(NestBin::SMax, by_work, by_count);
        if least_known > 1 && work < 100.0 {
            let (up, mask) = (self.b.i64(least_known - 1), self.b.i64(-least_known));
            chunk = self.b.add(chunk, up);
            chunk = self.b.binary(NestBin::And, chunk, mask);
        }
        if grain.step > 1 {
            let (mut together, one) = (self.b.i64(grain.step), self.b.i64(1));
            if grain.least < grain.step {
                let (least, enough) = (self.b.i64(grain.least), self.b.i64(grain.step * grain.many));
                let few = self.b.icmp(IntCmp::Slt, rows, enough);
                together = self.b.select(few, least, together);
            }
            let up = self.b.sub(together, one);
            chunk = self.b.add(chunk, up);
            chunk = self.b.binary(NestBin::SDiv, chunk, together);
            chunk = self.b.mul(chunk, together);
        }
        if wake > 2.0 * least {
            // Too little work is one chunk.
            let cells = self.b.mul(rows, inner);
            let enough = self.b.i64((wake / work).ceil() as i64);
            let few = self.b.icmp(IntCmp::Slt, cells, enough);
            let all = self.b.binary(NestBin::SMax, rows, one);
            chunk = self.b.select(few, all, chunk);
        }
        Some(Chunks { axis, n: rows, chunk, grain: 1 })
    }

    /// How many indices an axis has, and how many the others together.
    pub fn lengths(&mut self, lower: &[Value], upper: &[Value], axis: usize) -> (Val, Val) {
        let mut inner = self.b.i64(1);
        let mut rows = inner;
        for (k, (l, u)) in lower.iter().zip(upper).enumerate() {
            let (low, high) = (self.wide(*l), self.wide(*u));
            let length = self.b.sub(high, low);
            let zero = self.b.i64(0);
            let length = self.b.binary(NestBin::SMax, length, zero);
            if k == axis {
                rows = length;
            } else {
                inner = self.b.mul(inner, length);
            }
        }
        (rows, inner)
    }

    /// `n / by`, rounded up; `by` is positive.
    pub fn quotient_up(&mut self, n: Val, by: Val) -> Val {
        let one = self.b.i64(1);
        let up = self.b.add(n, by);
        let up = self.b.sub(up, one);
        self.b.binary(NestBin::SDiv, up, by)
    }

    /// All indices of an axis in one chunk.
    pub fn one_chunk(&mut self, part: &Part, axis: usize) -> Chunks {
        let n = match &part.generator {
            Generator::Known { lower, upper, .. } => self.lengths(lower, upper, axis).0,
            Generator::Dyn { .. } => self.b.i64(0),
        };
        let one = self.b.i64(1);
        let chunk = self.b.binary(NestBin::SMax, n, one);
        Chunks { axis, n, chunk, grain: 1 }
    }

    /// Opens the parallel loop over an axis of a partition; returns the bounds of the chunk and its number.
    pub fn begin_chunks(&mut self, part: &Part, chunks: &Chunks) -> Result<(Chunk, Val)> {
        let (low, high, _) = self.begin_parfor(chunks.n, chunks.chunk);
        let chunk = self.open_chunk(part, chunks, (low, high))?;
        let number = self.b.binary(NestBin::SDiv, low, chunks.chunk);
        Ok((chunk, number))
    }

    /// Opens the body of a partition for the indices of a chunk, which count from zero; returns the bounds of the chunk.
    pub fn open_chunk(&mut self, part: &Part, chunks: &Chunks, (low, high): (Val, Val)) -> Result<Chunk> {
        let Generator::Known { lower, .. } = &part.generator else {
            return self.unsupported(ravel_source::Span::NONE, "threads over an unknown rank");
        };
        let first = self.wide(lower[chunks.axis]);
        self.open(part.body);
        let (low, high) = (self.b.add(low, first), self.b.add(high, first));
        Ok(Chunk { axis: chunks.axis, low, high, grain: chunks.grain })
    }

    /// Runs a partition of genarray and modarray cells on threads, and makes the borders around it; false if nothing was emitted. Threads
    /// that share rows make the ends of theirs: elements that another thread wrote last are far away.
    pub fn try_parallel(
        &mut self,
        inst: Inst,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        around: Around,
    ) -> Result<bool> {
        if !self.may_run_on_threads(with, part)
            || sinks.is_empty()
            || !sinks.iter().all(|s| matches!(s, Sink::Slice { .. }))
        {
            return Ok(false);
        }
        let mut axis = self.thread_axis(part);
        // Masks and shifted sums need to know where their axis begins.
        if axis > 0 && self.plan_kernel(with, part, sinks, None).is_ok_and(|plan| plan.is_fixed_along(axis)) {
            axis = 0;
        }
        let plan = self.plan_kernel(with, part, sinks, Some(axis));
        let grain = match plan {
            Ok(plan) => Grain::of(&plan, axis),
            Err(_) if self.may_run_abreast(part.body) => Grain::ABREAST,
            Err(_) => Grain::ONE,
        };
        let Some(chunks) = self.chunks(part, axis, CELLS, grain) else { return Ok(false) };
        self.cx.remark(self.func.insts[inst].span, format!("threads over axis {axis}"));
        for border in around.borders {
            if axis == 0 { self.outer_border(border) } else { self.whole_border(border) }
        }
        self.preload_company(with, around.thin);
        let (chunk, _) = self.begin_chunks(part, &chunks)?;
        for border in around.borders.iter().filter(|_| axis == 0) {
            self.border_of_rows(border, chunk.low, chunk.high);
        }
        if !self.try_kernel(inst, with, part, sinks, Some(chunk))? {
            let spares = self.open_spares(part.body);
            self.axis(inst, with, part, sinks, 0, Vec::new(), Some(chunk))?;
            self.close_spares(spares);
        }
        self.close();
        self.run_company(inst, with, (sinks, around.thin), chunk, Vec::new())?;
        self.end_parfor();
        Ok(true)
    }
}
