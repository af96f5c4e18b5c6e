//! Folds on threads: chunks with partial results, which are combined in the order of their chunks.

use ravel_nest::ir::{Access, Ty};
use ravel_types::{BinOp, Elem};
use ravel_wir::{Inst, Part, Value, With};

use crate::Result;
use crate::facts::{Chunk, Ext, Facts, Sink, Val, layout};
use crate::lower::{Lower, scalars};
use crate::plan::partials::{PartialLayout, PartialSlot};
use crate::plan::strategy::{Choice, FoldPlan, Plan};
use crate::threads::declare::Left;
use crate::threads::parallel::Chunks;

/// Folds that are cut into chunks, with room for what these leave.
pub(crate) struct FoldChunks<'w> {
    pub inst: Inst,
    pub part: &'w Part,
    pub folds: Vec<(BinOp, Value)>,
    pub cut: Chunks,
    /// How many chunks.
    pub count: Val,
    /// Which of them begin with the first cell of a chunk.
    begun: Vec<bool>,
    /// What is done with a chunk.
    pub inside: Box<Choice>,
    layout: PartialLayout,
    /// Where the partial results are, and how many bytes of them.
    partials: Val,
    bytes: Val,
}

impl FoldChunks<'_> {
    /// Bytes of the partial results of a chunk.
    pub fn bytes_of_chunk(&self) -> i64 {
        self.layout.bytes
    }

    /// Where those of the first chunk are.
    pub fn place(&self) -> Val {
        self.partials
    }

    /// Are all partial results there, and none of them in an object elsewhere?
    pub fn stays_in_place(&self, facts: &Facts) -> bool {
        let is_here = |((_, v), slot): (&(BinOp, Value), &PartialSlot)| {
            (slot.extents.is_some() || facts.func.ty(*v).is_scalar()) && facts.elem(*v) != Elem::Handle
        };
        self.folds.iter().zip(&self.layout.slots).all(is_here)
    }
}

impl Lower<'_, '_> {
    /// Runs a with-loop of regrouping folds on threads.
    pub fn folds_on_threads(&mut self, inst: Inst, with: &With, plan: FoldPlan) -> Result<()> {
        let fold = self.begin_folds(inst, &with.parts[0], plan);
        let neutrals = self.take_neutrals(&fold.folds);
        let totals = self.fold_in_chunks(&fold, &[], neutrals, |lower, starts, bounds| {
            lower.cells_of(with, &fold, starts, bounds)
        })?;
        self.bind_totals(inst, totals);
        Ok(())
    }

    /// Cuts folds into chunks as planned, and finds room for what these leave.
    pub fn begin_folds<'w>(&mut self, inst: Inst, part: &'w Part, plan: FoldPlan) -> FoldChunks<'w> {
        let FoldPlan { axis, folds, fineness, grain, size, inside } = plan;
        let cut = self.chunks_of(part, axis, fineness, grain, size);
        let begun = self.begun_by_cells(part, &folds, axis);
        self.place_partials(inst, part, folds, cut, begun, inside)
    }

    /// The neutral elements, owned.
    pub fn take_neutrals(&mut self, folds: &[(BinOp, Value)]) -> Vec<Val> {
        let func = self.func;
        folds
            .iter()
            .map(
                |(_, neutral)| {
                    if func.ty(*neutral).is_scalar() { self.val(*neutral) } else { self.take_unique_for_host(*neutral) }
                },
            )
            .collect()
    }

    pub fn bind_totals(&mut self, inst: Inst, totals: Vec<Val>) {
        for (result, total) in self.func.insts[inst].results.clone().into_iter().zip(totals) {
            self.bind(result, total);
        }
    }

    /// The cells of a chunk of folds, from accumulators on; the accumulators behind them.
    pub fn cells_of(&mut self, with: &With, fold: &FoldChunks, starts: Vec<Val>, bounds: Chunk) -> Result<Vec<Val>> {
        let FoldChunks { inst, part, folds, begun, .. } = fold;
        if let Plan::Lanes(plan) = &fold.inside.plan {
            return self.fold_lanes(*inst, with, plan, Some(bounds));
        }
        self.explain_scalars(*inst, &fold.inside);
        let spares = self.open_spares(part.body);
        let hows = self.take_cells_from_first(with, part, folds, begun, bounds);
        let values = self.scalar_folds(*inst, with, starts, hows, Some(bounds))?;
        self.close_spares(spares);
        Ok(values)
    }

    /// Finds room for the partial results of folds; `begun` are those that begin with the first cell of a chunk.
    pub fn place_partials<'w>(
        &mut self,
        inst: Inst,
        part: &'w Part,
        folds: Vec<(BinOp, Value)>,
        cut: Chunks,
        begun: Vec<bool>,
        inside: Box<Choice>,
    ) -> FoldChunks<'w> {
        let layout = self.partial_layout(&folds);
        let by = if self.is_shared(&folds, &layout) { "by all threads, " } else { "" };
        let how = format!("threads over axis {}, partial results combined {by}in order", cut.axis());
        self.cx.remark(self.func.insts[inst].span, how);
        let count = self.quotient_up(cut.n, cut.chunk);
        let bytes = self.times(count, layout.bytes);
        let partials = match layout.is_in_function() {
            true => self.scratch(layout.most_bytes()),
            false => {
                let position = self.present_place();
                self.helper_ptr("ravel_scratch_alloc", &[bytes, position])
            }
        };
        FoldChunks { inst, part, folds, cut, count, begun, inside, layout, partials, bytes }
    }

    /// Folds on threads, and cells that go to `sinks`: every chunk starts from the identities, or from its first cell, and its partial results are combined
    /// with `totals`, which are owned. `cells` computes a chunk from accumulators and bounds, and returns the accumulators behind it.
    pub fn fold_in_chunks(
        &mut self,
        fold: &FoldChunks,
        sinks: &[Sink],
        totals: Vec<Val>,
        cells: impl FnOnce(&mut Self, Vec<Val>, Chunk) -> Result<Vec<Val>>,
    ) -> Result<Vec<Val>> {
        let zero = self.b.i64(0);
        let partials = self.partials_left(fold, fold.cut.chunk, (zero, fold.count));
        let rows = self.rows_left(fold.part, &fold.cut, sinks);
        let outputs = partials.zip(rows).map(|(partials, rows)| [vec![partials], rows].concat());
        let span = self.func.insts[fold.inst].span;
        let bytes = fold.bytes_of_chunk();
        let has_rows = sinks.iter().any(|sink| matches!(sink, Sink::Slice { .. }));
        let left = if has_rows { Left::Both(bytes) } else { Left::Partials(bytes) };
        let shared = self.declaration(span, (fold.part, fold.cut.axis()), left, outputs);
        let (bounds, number) = self.begin_chunks(fold.part, &fold.cut, shared)?;
        self.partials_of(fold, &totals, number, |lower, starts| cells(lower, starts, bounds))?;
        self.close();
        self.end_parfor();
        self.combine_chunks(fold, totals)
    }

    /// The partial results of the chunk with this number, in their place. `like` are arrays of the shapes of the totals.
    pub fn partials_of(
        &mut self,
        fold: &FoldChunks,
        like: &[Val],
        number: Val,
        cells: impl FnOnce(&mut Self, Vec<Val>) -> Result<Vec<Val>>,
    ) -> Result<()> {
        let place = self.times(number, fold.layout.bytes);
        let place = self.b.ptr_add(fold.partials, place);
        let mut starts = Vec::new();
        for (k, (((op, v), total), slot)) in fold.folds.iter().zip(like).zip(&fold.layout.slots).enumerate() {
            starts.push(match &slot.extents {
                Some(extents) if fold.begun[k] => {
                    let object = self.pointer((place, slot.offset));
                    self.write_header(self.elem(*v), object, extents);
                    object
                }
                _ => self.start_partial(*op, *v, *total, place, slot),
            });
        }
        let last = cells(self, starts)?;
        for (slot, value) in fold.layout.slots.iter().zip(last) {
            // An array that was begun in its place is there.
            if slot.extents.is_none() {
                self.b.store(value, place, slot.offset, Access::ANY);
            }
        }
        Ok(())
    }

    /// The totals: `totals`, which are owned, and the partial results of all chunks.
    pub fn combine_chunks(&mut self, fold: &FoldChunks, totals: Vec<Val>) -> Result<Vec<Val>> {
        let FoldChunks { inst, folds, count, layout, partials, bytes, .. } = fold;
        let totals = self.combine_partials(*inst, folds, totals, (*partials, *count), layout)?;
        if !layout.is_in_function() {
            self.helper("ravel_scratch_free", &[*partials, *bytes], None);
        }
        Ok(totals)
    }

    /// The accumulator that a chunk starts from: the identity, in the shape of the neutral element. An array of constant shape is begun
    /// in its place among the partial results.
    fn start_partial(&mut self, op: BinOp, neutral: Value, like: Val, place: Val, slot: &PartialSlot) -> Val {
        let elem = self.elem(neutral);
        let identity = op.identity(elem).expect("folds without identity do not run on threads");
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
        let tag = self.b.iconst(Ty::I8, i64::from(elem.tag()));
        let rank = self.b.load(Ty::I32, like, layout::OFFSET_RANK, Access::ALIGNED);
        let offset = self.b.i64(i64::from(layout::OFFSET_SHAPE));
        let shape = self.b.ptr_add(like, offset);
        let position = self.present_place();
        let object = self.helper_ptr("ravel_alloc", &[tag, rank, shape, position]);
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
