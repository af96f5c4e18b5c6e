//! Stores past the caches.
//!
//! A store to a line that no cache holds reads it first, and what is written takes the place of something that might have been used
//! again. A result that is larger than any cache gains nothing from this: its vectors are stored *streaming*, which takes a
//! third of the traffic off a loop with one operand. The place must be aligned to the vector, so that a kernel
//! begins such an axis with a vector, or with single indices in a chunk of a parallel loop, up to where vectors are aligned.
//!
//! Lines at the ends of a row that hold something else, too, are written as usual. Where such stores and streaming ones take turns each row
//! loses about a hundred nanoseconds, whose worth of traffic is [`SHORT_ROW`].
//!
//! Such stores are not ordered among others. The workers of a parallel loop leave it by a locked instruction, which waits for them.
//!
//! Operands and results of types that are not constant are not concerned, because the run might find them small.

use ravel_types::Elem;
use ravel_wir::{Generator, Inst, Part, Value};

use crate::facts::{Ext, Facts, Grid, Offset, Sink, Term};

/// The least that [`crate::Options::large_result`] should be: what the last level of cache commonly holds.
pub const LARGE_RESULT: i64 = 32 << 20;

/// Rows of fewer bytes that begin or end within a line are stored as usual.
const SHORT_ROW: i64 = 4096;
/// Bytes of a cache line.
const LINE: i64 = 64;

impl Facts<'_> {
    /// Are all results of this with-loop new arrays that are larger than any cache?
    pub fn streams(&self, inst: Inst, sinks: &[Sink]) -> bool {
        let results = &self.func.insts[inst].results;
        let is_large = |v: &Value| {
            let ty = self.func.ty(*v);
            let bytes = ty.shape.constants().and_then(|shape| {
                shape.iter().try_fold(ty.elem.bytes() as i64, |n, extent| n.checked_mul(i64::from(*extent)))
            });
            bytes.is_some_and(|bytes| bytes >= self.options.large_result)
        };
        let is_new =
            |sink: &Sink| matches!(sink, Sink::Slice { object: Some(_), reused: None, cell: Ext::Const(1), .. });
        let is_total = |sink: &Sink| matches!(sink, Sink::Carried { .. });
        results.iter().zip(sinks).all(|(v, sink)| is_total(sink) || is_large(v) && is_new(sink))
    }

    /// Does the vector of a copy lie at a multiple of its size from the start of the array?
    pub fn is_whole_vector(&self, g: &mut Grid, elem: Elem, offset: &Offset, u: usize) -> bool {
        let lanes = i64::from(g.lanes);
        let width = lanes * elem.bytes() as i64;
        let Some(along) = g.walk.residue(lanes) else { return false };
        let first = start_of_row(g.vec, offset, width);
        first.is_some_and(|first| (first + (along + g.start_of(u) as i64) * elem.bytes() as i64) % width == 0)
    }

    /// Are the rows of a partition, along a vector axis that is not cut into chunks, short and not whole lines?
    pub fn has_short_rows(&self, part: &Part, sinks: &[Sink], axis: usize) -> bool {
        let Generator::Known { lower, upper, .. } = &part.generator else { return false };
        let (Some(low), Some(high)) = (self.const_i32(lower[axis]), self.const_i32(upper[axis])) else { return false };
        let param = self.func.regions[part.body].params[axis];
        sinks.iter().any(|sink| {
            let Sink::Slice { elem, strides, .. } = sink else { return false };
            let offset = self.slice_offset(part, *elem, strides);
            let size = elem.bytes() as i64;
            let is_whole = start_of_row(Some(param), &offset, LINE)
                .is_some_and(|first| [low, high].iter().all(|index| (first + index * size) % LINE == 0));
            (high - low) * size < SHORT_ROW && !is_whole
        })
    }

    /// How many indices there are before the first vector of a vector axis that is stored aligned; nothing if the kernel does not
    /// stream, or rows begin at different remainders.
    pub fn indices_to_alignment(
        &self,
        g: &Grid,
        part: &Part,
        sinks: &[Sink],
        axis: usize,
        lanes: u8,
        low: i64,
    ) -> Option<i64> {
        let param = *self.func.regions[part.body].params.get(axis)?;
        let (elem, strides) = sinks.iter().find_map(|sink| match sink {
            Sink::Slice { elem, strides, .. } => Some((elem, strides)),
            _ => None,
        })?;
        if !g.streams || elem.bytes() != g.bytes {
            return None;
        }
        let offset = self.slice_offset(part, *elem, strides);
        let size = elem.bytes() as i64;
        let first = start_of_row(Some(param), &offset, size * i64::from(lanes))?;
        (first % size == 0).then(|| (-(first / size + low)).rem_euclid(i64::from(lanes)))
    }
}

/// The remainder, modulo `width` bytes, of the address at index zero of a vector axis, if it is the same for all other indices.
fn start_of_row(axis: Option<Value>, offset: &Offset, width: i64) -> Option<i64> {
    let is_same = |term: &Term| {
        let is_axis = term.atom.is_some() && term.atom == axis;
        term.stride.is_none() && (is_axis || term.bytes % width == 0)
    };
    offset.terms.iter().all(is_same).then(|| offset.constant.rem_euclid(width))
}
