//! The partial results that the chunks of a fold leave, combined.
//!
//! Every element takes the partial results in the order of their chunks, whoever computes it, so threads may share the elements: small
//! arrays stay with the calling thread, large ones are cut into pieces for all. Reading what other threads wrote costs far more
//! than adding it.

use ravel_nest::ir::{Access, BinOp as NestBin, Ty, Value as Val};
use ravel_types::{BinOp, Elem};
use ravel_wir::Value;

use crate::layout;
use crate::lower::Lower;
use crate::parallel::{MOST_FOLD_CHUNKS, PartialLayout};
use crate::scalars::{self, prim_of};

/// Bytes of partial results, of all chunks together, that make threads worth while.
const SHARED_BYTES: i64 = 64 << 10;
/// Vectors of a piece: their sums rest in registers while the partial results pass.
const PIECE_VECTORS: i64 = 4;
/// The pieces of all arrays are cut into at most this many chunks.
const MOST_CHUNKS: i64 = 64;

/// Partial results in memory: those of chunk `c` begin at `first + c * stride`.
#[derive(Clone, Copy)]
struct Partials {
    first: Val,
    chunks: Val,
    stride: i64,
}

/// An array whose elements are combined by threads.
struct Shared {
    op: BinOp,
    elem: Elem,
    /// Elements of the total, which begin as the neutral array.
    total: Val,
    /// Offset of the elements among the partial results of a chunk.
    offset: i64,
    elements: i64,
    /// Number of the first piece, of all arrays.
    first_piece: i64,
}

impl Shared {
    fn pieces(&self, per_piece: i64) -> i64 {
        (self.elements + per_piece - 1) / per_piece
    }
}

impl Lower<'_, '_> {
    /// The totals: `neutrals`, which are owned, and the partial results of all chunks.
    pub fn combine_partials(
        &mut self,
        folds: &[(BinOp, Value)],
        neutrals: Vec<Val>,
        partials: Val,
        chunks: Val,
        layout: &PartialLayout,
    ) -> Vec<Val> {
        let partials = Partials { first: partials, chunks, stride: layout.bytes };
        let share = self.is_shared(folds, layout);
        let is_shared: Vec<bool> = layout.slots.iter().map(|slot| share && slot.extents.is_some()).collect();
        let mut shared = Vec::new();
        let mut pieces = 0;
        for (k, (op, neutral)) in folds.iter().enumerate() {
            let (slot, elem) = (&layout.slots[k], self.elem(*neutral));
            let Some(extents) = slot.extents.as_ref().filter(|_| is_shared[k]) else { continue };
            let offset = i64::from(slot.offset) + layout::data_offset(extents.len());
            let total = self.b.load(Ty::PTR, neutrals[k], layout::OFFSET_DATA, Access::ALIGNED);
            let array = Shared { op: *op, elem, total, offset, elements: slot.elements(), first_piece: pieces };
            pieces += array.pieces(self.piece(elem));
            shared.push(array);
        }
        if !shared.is_empty() {
            self.combine_shared(&shared, pieces, partials);
        }
        self.combine_rest(folds, neutrals, partials, layout, &is_shared)
    }

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

    /// One parallel loop over the pieces of all arrays.
    fn combine_shared(&mut self, shared: &[Shared], pieces: i64, partials: Partials) {
        let one = self.b.i64(1);
        // Without chunks there is nothing to do, and nobody to wake.
        let any = self.b.binary(NestBin::SMin, partials.chunks, one);
        let count = self.times(any, pieces);
        let chunk = self.b.i64((pieces + MOST_CHUNKS - 1) / MOST_CHUNKS);
        let (low, high, _) = self.b.begin_parfor(count, chunk);
        for array in shared {
            let group = self.piece(array.elem);
            let [first, end] = [low, high].map(|bound| {
                let (zero, first, pieces) =
                    (self.b.i64(0), self.b.i64(array.first_piece), self.b.i64(array.pieces(group)));
                let inside = self.b.sub(bound, first);
                let inside = self.b.binary(NestBin::SMax, inside, zero);
                let inside = self.b.binary(NestBin::SMin, inside, pieces);
                self.times(inside, group)
            });
            // Only the last piece of an array may be a part of one.
            let (whole, all) = (self.b.i64(array.elements / group * group), self.b.i64(array.elements));
            let middle = self.b.binary(NestBin::SMin, end, whole);
            let end = self.b.binary(NestBin::SMin, end, all);
            self.combine_stretch(array, partials, (first, middle), PIECE_VECTORS, self.lanes(array.elem));
            if array.elements % group != 0 {
                let rest = self.b.binary(NestBin::SMax, first, whole);
                self.combine_stretch(array, partials, (rest, end), 1, 1);
            }
        }
        self.b.end_parfor();
    }

    /// Elements `low .. high` of an array, in steps of some vectors.
    fn combine_stretch(
        &mut self,
        array: &Shared,
        partials: Partials,
        (low, high): (Val, Val),
        vectors: i64,
        lanes: u8,
    ) {
        let arith = self.arith();
        let prim = prim_of(array.elem);
        let (ty, width) = (Ty::vector(prim, lanes), i64::from(lanes) * i64::from(prim.bytes()));
        let step = self.b.i64(vectors * i64::from(lanes));
        let (i, _) = self.b.begin_for(low, high, step, &[]);
        let bytes = self.times(i, i64::from(prim.bytes()));
        let total = self.b.ptr_add(array.total, bytes);
        let from = self.b.ptr_add(partials.first, bytes);
        let sums: Vec<Val> = (0..vectors).map(|v| self.b.load(ty, total, (v * width) as i32, Access::ANY)).collect();
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let (c, sums) = self.b.begin_for(zero, partials.chunks, one, &sums);
        let skipped = self.times(c, partials.stride);
        let from = self.b.ptr_add(from, skipped);
        let sums: Vec<Val> = (0..vectors)
            .zip(sums)
            .map(|(v, sum)| {
                let partial = self.b.load(ty, from, (array.offset + v * width) as i32, Access::ANY);
                scalars::binary(&mut self.b, arith, array.op, array.elem, sum, partial)
            })
            .collect();
        let sums = self.b.end_for(&sums);
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
        let (c, mut carried) = self.b.begin_for(zero, partials.chunks, one, &starts);
        let place = self.times(c, partials.stride);
        let place = self.b.ptr_add(partials.first, place);
        for (&k, acc) in rest.iter().zip(&mut carried) {
            let (op, neutral) = folds[k];
            let (elem, slot) = (self.elem(neutral), &layout.slots[k]);
            if self.func.ty(neutral).is_scalar() {
                let partial = self.b.load(Ty::scalar(prim_of(elem)), place, slot.offset, Access::ANY);
                *acc = scalars::binary(&mut self.b, arith, op, elem, *acc, partial);
            } else if slot.extents.is_some() {
                let partial = self.pointer((place, slot.offset));
                self.combine_arrays(op, elem, *acc, partial);
            } else {
                let partial = self.b.load(Ty::PTR, place, slot.offset, Access::ANY);
                self.combine_arrays(op, elem, *acc, partial);
                self.b.rc_dec(partial);
            }
        }
        for (k, total) in rest.into_iter().zip(self.b.end_for(&carried)) {
            totals[k] = total;
        }
        totals
    }
}
