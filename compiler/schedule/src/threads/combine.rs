//! The partial results that the chunks of a fold leave, combined.
//!
//! Every element takes the partial results in the order of their chunks, whoever computes it, so threads may share the elements: small
//! arrays stay with the calling thread, large ones are cut into pieces for all. Reading what other threads wrote costs far more
//! than adding it.

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty, Value as Val};
use ravel_types::{BinOp, Elem};
use ravel_wir::{Inst, Value};

use crate::Result;
use crate::facts::{Facts, layout, prim_of};
use crate::lower::block_sums::{PARTIAL_ADDITIONS, Sum, wants_blocks};
use crate::lower::{Lower, scalars};
use crate::plan::chunks::MOST_FOLD_CHUNKS;
use crate::plan::partials::PartialLayout;
use crate::threads::state::{Partials, Shared, Source};

/// Bytes of partial results, of all chunks together, that make threads worth while.
const SHARED_BYTES: i64 = 64 << 10;
/// Vectors of a piece: their sums rest in registers while the partial results pass.
const PIECE_VECTORS: i64 = 4;
/// The pieces of all arrays are cut into at most this many chunks.
const MOST_CHUNKS: i64 = 128;

impl Facts<'_> {
    /// Do threads share the arrays among these partial results?
    pub fn is_shared(&self, folds: &[(BinOp, Value)], layout: &PartialLayout) -> bool {
        let bytes =
            folds.iter().zip(&layout.slots).map(|((_, v), slot)| slot.elements() * self.elem(*v).bytes() as i64);
        bytes.sum::<i64>() * MOST_FOLD_CHUNKS >= SHARED_BYTES
    }

    /// Elements of a piece.
    fn piece(&self, elem: Elem) -> i64 {
        PIECE_VECTORS * i64::from(self.lanes(elem))
    }
}

impl Lower<'_, '_> {
    /// The totals: `neutrals`, which are owned, and the partial results of all chunks.
    pub fn combine_partials(
        &mut self,
        inst: Inst,
        folds: &[(BinOp, Value)],
        neutrals: Vec<Val>,
        (first, chunks): (Val, Val),
        layout: &PartialLayout,
    ) -> Result<Vec<Val>> {
        let partials = Partials { first, chunks, stride: layout.bytes };
        let share = self.is_shared(folds, layout);
        let is_shared: Vec<bool> = layout.slots.iter().map(|slot| share && slot.extents.is_some()).collect();
        let mut shared = Vec::new();
        for (k, (op, neutral)) in folds.iter().enumerate() {
            let (slot, elem) = (&layout.slots[k], self.elem(*neutral));
            let Some(extents) = slot.extents.as_ref().filter(|_| is_shared[k]) else { continue };
            let offset = i64::from(slot.offset) + layout::data_offset(extents.len());
            let total = self.b.load(Ty::PTR, neutrals[k], layout::OFFSET_DATA, Access::ALIGNED);
            let sources = vec![Source { op: *op, partials, offset }];
            let elements = slot.elements();
            shared.push((k, Shared { elem, total, elements, sources, before: Vec::new(), after: Vec::new() }));
        }
        match &mut self.threads.postponed {
            Some(postponed) if postponed.inst == inst => postponed.arrays = Some(shared),
            _ => {
                let shared: Vec<Shared> = shared.into_iter().map(|(_, array)| array).collect();
                self.combine_shared(&shared)?;
            }
        }
        Ok(self.combine_rest(folds, neutrals, partials, layout, &is_shared))
    }

    /// One parallel loop over the pieces of all arrays.
    pub fn combine_shared(&mut self, shared: &[Shared]) -> Result<()> {
        if shared.is_empty() {
            return Ok(());
        }
        let pieces: i64 = shared.iter().map(|array| array.pieces(self.piece(array.elem))).sum();
        let mut count = self.b.i64(pieces);
        if shared.iter().all(|array| array.before.is_empty() && array.after.is_empty()) {
            // Without chunks there is nothing to do, and nobody to wake.
            let one = self.b.i64(1);
            let mut any = self.b.i64(0);
            for source in shared.iter().flat_map(|array| &array.sources) {
                any = self.b.binary(NestBin::SMax, any, source.partials.chunks);
            }
            any = self.b.binary(NestBin::SMin, any, one);
            count = self.times(any, pieces);
        }
        for member in shared.iter().flat_map(|array| array.before.iter().chain(&array.after)) {
            self.preload_member(member);
        }
        let cache = self.emit.cache.clone();
        let chunk = self.b.i64((pieces + MOST_CHUNKS - 1) / MOST_CHUNKS);
        let (low, high, _) = self.begin_parfor(count, chunk, None, None);
        let mut first_piece = 0;
        for array in shared {
            let group = self.piece(array.elem);
            let [first, end] = [low, high].map(|bound| {
                let (zero, first, pieces) = (self.b.i64(0), self.b.i64(first_piece), self.b.i64(array.pieces(group)));
                let inside = self.b.sub(bound, first);
                let inside = self.b.binary(NestBin::SMax, inside, zero);
                let inside = self.b.binary(NestBin::SMin, inside, pieces);
                self.times(inside, group)
            });
            first_piece += array.pieces(group);
            let all = self.b.i64(array.elements);
            let end = self.b.binary(NestBin::SMin, end, all);
            let any = self.b.icmp(IntCmp::Slt, first, end);
            self.b.begin_if(any);
            self.combine_elements_of(array, first, end)?;
            self.b.begin_else(&[]);
            self.b.end_if(&[]);
            self.emit.cache.clone_from(&cache);
        }
        self.end_parfor();
        self.emit.cache = cache;
        Ok(())
    }

    /// Elements `first .. end` of an array, which are whole pieces but for the last, and of what is computed beside it.
    fn combine_elements_of(&mut self, array: &Shared, first: Val, end: Val) -> Result<()> {
        let group = self.piece(array.elem);
        for member in &array.before {
            self.member_elements(member, first, end, group)?;
        }
        // Only the last piece of an array may be a part of one.
        let whole = self.b.i64(array.elements / group * group);
        let middle = self.b.binary(NestBin::SMin, end, whole);
        self.combine_stretch(array, (first, middle), PIECE_VECTORS, self.lanes(array.elem));
        if array.elements % group != 0 {
            let rest = self.b.binary(NestBin::SMax, first, whole);
            self.combine_stretch(array, (rest, end), 1, 1);
        }
        for member in &array.after {
            self.member_elements(member, first, end, group)?;
        }
        Ok(())
    }

    /// Elements `low .. high` of an array, in steps of some vectors.
    fn combine_stretch(&mut self, array: &Shared, (low, high): (Val, Val), vectors: i64, lanes: u8) {
        let arith = self.arith();
        let prim = prim_of(array.elem);
        let (ty, width) = (Ty::vector(prim, lanes), i64::from(lanes) * i64::from(prim.bytes()));
        let step = self.b.i64(vectors * i64::from(lanes));
        let (i, _) = self.b.begin_for(low, high, step, &[]);
        let bytes = self.times(i, i64::from(prim.bytes()));
        let total = self.b.ptr_add(array.total, bytes);
        let mut sums: Vec<Val> =
            (0..vectors).map(|v| self.b.load(ty, total, (v * width) as i32, Access::ANY)).collect();
        for Source { op, partials, offset } in &array.sources {
            let from = self.b.ptr_add(partials.first, bytes);
            let (zero, one) = (self.b.i64(0), self.b.i64(1));
            let (c, before) = self.b.begin_for(zero, partials.chunks, one, &sums);
            let skipped = self.times(c, partials.stride);
            let from = self.b.ptr_add(from, skipped);
            let next: Vec<Val> = (0..vectors)
                .zip(before)
                .map(|(v, sum)| {
                    let partial = self.b.load(ty, from, (offset + v * width) as i32, Access::ANY);
                    scalars::binary(&mut self.b, arith, *op, array.elem, sum, partial)
                })
                .collect();
            sums = self.b.end_for(&next);
        }
        for (v, sum) in (0..vectors).zip(sums) {
            self.b.store(sum, total, (v * width) as i32, Access::ANY);
        }
        self.b.end_for(&[]);
    }

    /// Scalars, small arrays and arrays elsewhere, one chunk after the other.
    fn combine_rest(
        &mut self,
        folds: &[(BinOp, Value)],
        mut totals: Vec<Val>,
        partials: Partials,
        layout: &PartialLayout,
        is_shared: &[bool],
    ) -> Vec<Val> {
        let rest: Vec<usize> = (0..folds.len()).filter(|k| !is_shared[*k]).collect();
        if rest.is_empty() {
            return totals;
        }
        let arith = self.arith();
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let starts: Vec<Val> = rest.iter().map(|k| totals[*k]).collect();
        let is_sum = |(at, k): (usize, &usize)| {
            let (op, neutral) = folds[*k];
            let elem = self.elem(neutral);
            let sums = wants_blocks(op, elem) && self.func.ty(neutral).is_scalar();
            sums.then(|| Sum { elem, places: vec![at] })
        };
        let sums = rest.iter().enumerate().filter_map(is_sum).collect();
        let bounds = (zero, partials.chunks, one);
        let (c, mut carried, blocks) = self.begin_block_sums(bounds, (None, PARTIAL_ADDITIONS), &starts, sums);
        let place = self.times(c, partials.stride);
        let place = self.b.ptr_add(partials.first, place);
        for (&k, acc) in rest.iter().zip(&mut carried) {
            let (op, neutral) = folds[k];
            let (elem, slot) = (self.elem(neutral), &layout.slots[k]);
            if self.func.ty(neutral).is_scalar() {
                let partial = self.b.load(Ty::scalar(prim_of(elem)), place, slot.offset, Access::ANY);
                *acc = scalars::binary(&mut self.b, arith, op, elem, *acc, partial);
            } else if let Some(extents) = &slot.extents {
                // The header says where the elements lay in the process that computed them.
                let from = self.pointer((place, slot.offset + layout::data_offset(extents.len()) as i32));
                self.host_writes(*acc);
                let to = self.b.load(Ty::PTR, *acc, layout::OFFSET_DATA, Access::ALIGNED);
                let count = self.b.i64(slot.elements());
                self.combine_memory(op, elem, to, from, count);
            } else {
                let partial = self.b.load(Ty::PTR, place, slot.offset, Access::ANY);
                self.combine_arrays(op, elem, *acc, partial);
                self.b.rc_dec(partial);
            }
        }
        for (k, total) in rest.into_iter().zip(self.end_block_sums(blocks, &carried)) {
            totals[k] = total;
        }
        totals
    }
}
