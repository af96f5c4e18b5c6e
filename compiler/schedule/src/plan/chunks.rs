//! Which axis threads share, and how finely it is cut.

use ravel_wir::{Generator, Part, With};

use crate::facts::Facts;
use crate::plan::{KernelPlan, VecChoice};

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

pub(crate) const CELLS: Fineness = Fineness { most: 128, work: 5_000.0, wake: 40_000.0 };

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
    pub const ABREAST: Grain = Grain { step: crate::post::outer_unroll::cost::MOST as i64, least: 1, many: 2 };

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

/// Indices of an axis of so many that a chunk of little work has at least.
pub(crate) fn least_along(axes: usize, axis: usize) -> i64 {
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

    /// How large chunks of an axis are; nothing if the loop is too small for certain.
    pub fn cut(&self, part: &Part, axis: usize, fineness: Fineness, grain: Grain) -> Option<Size> {
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
        let (Some(known), Some(rows)) = (known, rows) else { return Some(Size::Open) };
        let vectors = least_along(extents.len(), axis);
        let per_row = work * known as f64 / rows.max(1) as f64;
        let by_work = (least / per_row).ceil() as i64;
        let chunk = by_work.max((rows + most - 1) / most).max(1);
        let chunk = if work < 100.0 { (chunk + vectors - 1) / vectors * vectors } else { chunk };
        let together = if rows < grain.step * grain.many { grain.least } else { grain.step };
        let chunk = (chunk + together - 1) / together * together;
        (chunk < rows).then_some(Size::Known(rows, chunk))
    }

    /// Chunks begin at whole steps.
    pub fn grain_along(&self, part: &Part, axis: usize, grain: Grain) -> Option<Grain> {
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

/// How large chunks are.
#[derive(Clone, Copy)]
pub(crate) enum Size {
    /// Indices of the axis, and of a chunk.
    Known(i64, i64),
    /// The run decides.
    Open,
    /// There is one.
    One,
}
