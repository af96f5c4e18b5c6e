//! Threads: an axis of a with-loop in chunks, the outermost one unless that is short.
//!
//! The size of a chunk depends on shapes alone, so that results do not depend on the number of threads. Partial results of
//! folds are combined in the order of their chunks.

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty};
use ravel_types::{BinOp, Elem};
use ravel_wir::{Generator, Inst, Part, Value, With, WithOp};

use crate::Result;
use crate::company::Around;
use crate::index::Ext;
use crate::kernel::Chunk;
use crate::layout;
use crate::lower::{Lower, Val};
use crate::plan::{KernelPlan, VecChoice};
use crate::reduce::folds_along;
use crate::scalars;
use crate::withloop::Sink;

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
/// Cycles of a chunk at least for every byte of its partial results, and where that ends.
const WORK_PER_BYTE: f64 = 2.0;
const PARTIAL_WORK: f64 = 20_000.0;
/// Chunks of vectors are whole numbers of cache lines.
const VECTOR_CHUNK: i64 = 64;

/// Chunks are whole steps of a kernel if there are then at least this many.
const LEAST_CHUNKS: i64 = 48;

/// Partial results up to this many bytes are a part of the memory of the function.
pub(crate) const MOST_PARTIAL_BYTES: i64 = 2 << 20;

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
    const ABREAST: Grain = Grain { step: crate::jam_cost::MOST as i64, least: 1, many: 2 };

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

/// The partial results of one chunk.
pub(crate) struct PartialLayout {
    pub slots: Vec<PartialSlot>,
    /// Bytes of one chunk.
    pub bytes: i64,
}

/// The partial result of one fold in one chunk.
pub(crate) struct PartialSlot {
    pub offset: i32,
    /// Extents of an array that is built here; otherwise a word is stored, a scalar or a pointer.
    pub extents: Option<Vec<i64>>,
}

impl PartialSlot {
    /// Elements of an array that is built here.
    pub fn elements(&self) -> i64 {
        self.extents.as_ref().map_or(0, |extents| extents.iter().product())
    }
}

/// Indices of an axis of so many that a chunk of little work has at least.
fn least_along(axes: usize, axis: usize) -> i64 {
    if axes == axis + 1 { VECTOR_CHUNK } else { 1 }
}

impl Lower<'_, '_> {
    /// May this with-loop run on threads at all?
    pub fn may_run_on_threads(&self, with: &With, part: &Part) -> bool {
        !self.b.in_parfor() && self.may_share(with, part)
    }

    /// May threads share this with-loop, in a chunk of another one or not?
    pub fn may_share(&self, with: &With, part: &Part) -> bool {
        let Generator::Known { lower, .. } = &part.generator else { return false };
        self.cx.options.parallel
            && !with.ordered
            && self.sequential == 0
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

    /// As many indices as a partition may have: bounds that count up or down with a loop around are known well enough to exclude work
    /// for threads.
    pub fn most_cells(&self, part: &Part) -> f64 {
        let Generator::Known { lower, upper, .. } = &part.generator else { return f64::INFINITY };
        let extents = lower.iter().zip(upper).map(|(l, u)| (self.bounds(*u).1 - self.bounds(*l).0).max(0) as f64);
        extents.product()
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
    fn quotient_up(&mut self, n: Val, by: Val) -> Val {
        let one = self.b.i64(1);
        let up = self.b.add(n, by);
        let up = self.b.sub(up, one);
        self.b.binary(NestBin::SDiv, up, by)
    }

    /// Opens the parallel loop over an axis of a partition; returns the bounds of the chunk and its number.
    pub fn begin_chunks(&mut self, part: &Part, chunks: &Chunks) -> Result<(Chunk, Val)> {
        let Generator::Known { lower, .. } = &part.generator else {
            return self.unsupported(ravel_source::Span::NONE, "threads over an unknown rank");
        };
        let first = self.wide(lower[chunks.axis]);
        let (low, high, _) = self.b.begin_parfor(chunks.n, chunks.chunk);
        self.open(part.body);
        let number = self.b.binary(NestBin::SDiv, low, chunks.chunk);
        let (low, high) = (self.b.add(low, first), self.b.add(high, first));
        Ok((Chunk { axis: chunks.axis, low, high, grain: chunks.grain }, number))
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
        self.b.end_parfor();
        Ok(true)
    }

    /// The partition, operations and neutral elements of a with-loop that has nothing but regrouping folds, if threads may run it.
    pub fn folds_for_threads<'w>(&self, inst: Inst, with: &'w With) -> Option<(&'w Part, Vec<(BinOp, Value)>)> {
        let [part] = &with.parts[..] else { return None };
        if !self.may_run_on_threads(with, part) || with.ops.is_empty() {
            return None;
        }
        let mut folds = Vec::new();
        for (op, &result) in with.ops.iter().zip(&self.func.insts[inst].results) {
            let WithOp::Fold { neutral, .. } = op else { return None };
            let binop = folds_along(op)?;
            scalars::identity(binop, self.elem(result))?;
            self.func.ty(*neutral).rank()?;
            folds.push((binop, *neutral));
        }
        Some((part, folds))
    }

    /// Runs a with-loop of regrouping folds on threads; false if nothing was emitted.
    pub fn try_parallel_fold(&mut self, inst: Inst, with: &With) -> Result<bool> {
        let func = self.func;
        let Some((part, folds)) = self.folds_for_threads(inst, with) else { return Ok(false) };
        let results = func.insts[inst].results.clone();
        self.preload(part.body);
        let axis = self.thread_axis(part);
        let Some(cut) = self.chunks(part, axis, self.fineness(&folds), Grain::ONE) else { return Ok(false) };
        let neutrals: Vec<Val> =
            folds
                .iter()
                .map(|(_, neutral)| {
                    if func.ty(*neutral).is_scalar() { self.val(*neutral) } else { self.take_unique_for_host(*neutral) }
                })
                .collect();
        let begun = self.begun_by_cells(part, &folds, axis);
        let totals =
            self.fold_in_chunks(inst, part, &folds, (cut, axis), (neutrals, &begun), |lower, starts, bounds| {
                if let Some(values) = lower.try_fold_kernel(inst, with, Some(bounds))? {
                    return Ok(values);
                }
                let spares = lower.open_spares(part.body);
                let hows = lower.take_cells_from_first(with, part, &folds, &begun, bounds);
                let values = lower.scalar_folds(inst, with, starts, hows, Some(bounds))?;
                lower.close_spares(spares);
                Ok(values)
            })?;
        for (result, total) in results.into_iter().zip(totals) {
            self.bind(result, total);
        }
        Ok(true)
    }

    /// Folds on threads: every chunk starts from the identities, or from its first cell where that is `begun` by it, and its partial results
    /// are combined with `totals`, which are owned. `cells` computes a chunk from accumulators and bounds, and returns the
    /// accumulators behind it.
    pub fn fold_in_chunks(
        &mut self,
        inst: Inst,
        part: &Part,
        folds: &[(BinOp, Value)],
        (cut, axis): (Chunks, usize),
        (totals, begun): (Vec<Val>, &[bool]),
        cells: impl FnOnce(&mut Self, Vec<Val>, Chunk) -> Result<Vec<Val>>,
    ) -> Result<Vec<Val>> {
        let layout = self.partial_layout(folds);
        let by = if self.is_shared(folds, &layout) { "by all threads, " } else { "" };
        let how = format!("threads over axis {axis}, partial results combined {by}in order");
        self.cx.remark(self.func.insts[inst].span, how);
        let chunks = self.quotient_up(cut.n, cut.chunk);
        // With a bound on the chunks the partial results are a part of the function's memory.
        let bounded = layout.bytes * MOST_FOLD_CHUNKS;
        let bytes = self.times(chunks, layout.bytes);
        let partials = match bounded <= MOST_PARTIAL_BYTES {
            true => self.scratch(bounded),
            false => self.helper_ptr("ravel_scratch_alloc", &[bytes]),
        };
        let (bounds, number) = self.begin_chunks(part, &cut)?;
        let place = self.times(number, layout.bytes);
        let place = self.b.ptr_add(partials, place);
        let mut starts = Vec::new();
        for (k, (((op, v), total), slot)) in folds.iter().zip(&totals).zip(&layout.slots).enumerate() {
            starts.push(match &slot.extents {
                Some(extents) if begun[k] => {
                    let object = self.pointer((place, slot.offset));
                    self.write_header(self.elem(*v), object, extents);
                    object
                }
                _ => self.start_partial(*op, *v, *total, place, slot),
            });
        }
        let last = cells(self, starts, bounds)?;
        for (slot, value) in layout.slots.iter().zip(last) {
            // An array that was begun in its place is there.
            if slot.extents.is_none() {
                self.b.store(value, place, slot.offset, Access::ANY);
            }
        }
        self.close();
        self.b.end_parfor();
        let totals = self.combine_partials(inst, folds, totals, (partials, chunks), &layout)?;
        if bounded > MOST_PARTIAL_BYTES {
            self.helper("ravel_scratch_free", &[partials, bytes], None);
        }
        Ok(totals)
    }

    /// How finely folds are cut: chunks with large partial results are larger, since these have to be begun and combined.
    pub fn fineness(&self, folds: &[(BinOp, Value)]) -> Fineness {
        let bytes = self.partial_layout(folds).bytes as f64;
        Fineness { work: (FOLDS.work + WORK_PER_BYTE * bytes).min(PARTIAL_WORK), ..FOLDS }
    }

    /// Where the partial results of one chunk go.
    pub fn partial_layout(&self, folds: &[(BinOp, Value)]) -> PartialLayout {
        let align = layout::DATA_ALIGN as i64;
        let mut bytes = 0i64;
        let mut slots = Vec::new();
        for (_, neutral) in folds {
            let ty = self.func.ty(*neutral);
            let extents: Option<Vec<i64>> = ty
                .shape
                .constants()
                .filter(|_| !ty.is_scalar())
                .map(|shape| shape.into_iter().map(i64::from).collect());
            let elements =
                extents.as_ref().and_then(|e| e.iter().try_fold(ty.elem.bytes() as i64, |n, e| n.checked_mul(*e)));
            let extents = extents.filter(|_| elements.is_some_and(|n| n <= MOST_PARTIAL_BYTES));
            let size = match (&extents, elements) {
                (Some(extents), Some(elements)) => {
                    bytes = (bytes + align - 1) / align * align;
                    layout::data_offset(extents.len()) + elements
                }
                _ => 8,
            };
            slots.push(PartialSlot { offset: bytes as i32, extents });
            bytes += (size + 7) / 8 * 8;
        }
        let whole = if slots.iter().any(|slot| slot.extents.is_some()) { align } else { 8 };
        PartialLayout { slots, bytes: (bytes + whole - 1) / whole * whole }
    }

    /// The accumulator that a chunk starts from: the identity, in the shape of the neutral element. An array of constant shape is begun
    /// in its place among the partial results.
    fn start_partial(&mut self, op: BinOp, neutral: Value, like: Val, place: Val, slot: &PartialSlot) -> Val {
        let elem = self.elem(neutral);
        let identity = scalars::identity(op, elem).expect("folds without identity do not run on threads");
        let scalar = scalars::constant(&mut self.b, identity, 1);
        if self.func.ty(neutral).is_scalar() {
            return scalar;
        }
        if let Some(extents) = &slot.extents {
            let object = self.pointer((place, slot.offset));
            let data = self.write_header(elem, object, extents);
            self.fill(elem, data, Ext::Const(extents.iter().product()), scalar);
            return object;
        }
        let tag = self.b.iconst(Ty::I8, i64::from(layout::tag(elem)));
        let rank = self.b.load(Ty::I32, like, layout::OFFSET_RANK, Access::ALIGNED);
        let offset = self.b.i64(i64::from(layout::OFFSET_SHAPE));
        let shape = self.b.ptr_add(like, offset);
        let object = self.helper_ptr("ravel_alloc", &[tag, rank, shape]);
        let data = self.b.load(Ty::PTR, object, layout::OFFSET_DATA, Access::ALIGNED);
        let count = self.count_of(object);
        self.fill(elem, data, Ext::Val(count), scalar);
        object
    }

    /// Makes the memory at `object` an array with these extents; returns the address of its elements.
    fn write_header(&mut self, elem: Elem, object: Val, extents: &[i64]) -> Val {
        let data = self.pointer((object, layout::data_offset(extents.len()) as i32));
        self.b.store(data, object, layout::OFFSET_DATA, Access::ALIGNED);
        let words = [(layout::OFFSET_RC, 1), (layout::OFFSET_COUNT, extents.iter().product())];
        let shape = extents.iter().enumerate().map(|(axis, extent)| (layout::extent_offset(axis), *extent));
        for (offset, word) in
            words.into_iter().chain([(layout::OFFSET_RANK, layout::kinds(elem, extents.len()))]).chain(shape)
        {
            let word = self.b.i64(word);
            self.b.store(word, object, offset, Access::ALIGNED);
        }
        data
    }
}
