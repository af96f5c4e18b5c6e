//! Partitions with steps along the axis that lanes run along.
//!
//! ```text
//!    [0] <= [i] < [n] step [3] width [2]        lanes  + + - + + - + + | - + + - + + - + | ...
//! ```
//!
//! Lanes take all indices between the first and the last one, and each store leaves the elements between the teeth as they are: the vector in
//! memory is loaded, and only lanes of the partition are replaced. Every element between two that a body reads lies in the same array
//! if its index is affine, so that loads need no masks. Steps of a kernel are multiples of the partition's, which makes masks constants.

use ravel_nest::ir::BinOp as NestBin;
use ravel_wir::Value;

use crate::facts::{Chunk, Comb, Val, Walk};
use crate::kernel::remainders::Stretch;
use crate::lower::Lower;

impl Lower<'_, '_> {
    /// Cuts an axis with steps: vectors, then single indices of the partition. With `overlap` the last vector may begin anywhere.
    pub fn comb_stretches(
        &mut self,
        (lower, upper): (Value, Value),
        chunk: Option<Chunk>,
        (lanes, u): (u8, usize),
        comb: Comb,
        overlap: bool,
    ) -> Vec<Stretch> {
        let wide = i64::from(lanes);
        let least = comb.vectors(wide);
        let sizes = if u as i64 > least { vec![u as i64, least] } else { vec![least] };
        if let (Some(low), Some(high), None) = (self.const_i32(lower), self.const_i32(upper), chunk) {
            return self.const_comb((low, low + comb.span(high - low)), (wide, &sizes), comb, overlap);
        }
        let (low, high) = match chunk {
            Some(chunk) => (chunk.low, chunk.high),
            None => (self.wide(lower), self.wide(upper)),
        };
        let (zero, one, step) = (self.b.i64(0), self.b.i64(1), self.b.i64(comb.step));
        // Behind the last tooth, which is one index wide.
        let length = self.b.sub(high, low);
        let last = self.b.sub(length, one);
        let last = self.b.binary(NestBin::SDiv, last, step);
        let last = self.b.mul(last, step);
        let span = self.b.add(last, one);
        let some = self.b.icmp(ravel_nest::ir::IntCmp::Sgt, length, zero);
        let span = self.b.select(some, span, zero);
        let end = self.b.add(low, span);
        let mut stretches = Vec::new();
        let mut start = low;
        for vectors in sizes {
            let step = wide * vectors;
            let before = self.b.i64(step - 1);
            let bound = self.b.sub(end, before);
            stretches.push(Stretch::new((start, bound), lanes, vectors as usize, Walk::ANY));
            let left = self.b.sub(end, start);
            let step = self.b.i64(step);
            let whole = self.b.binary(NestBin::SDiv, left, step);
            let whole = self.b.mul(whole, step);
            start = self.b.add(start, whole);
        }
        stretches.push(Stretch::singles(start, end));
        stretches
    }

    fn const_comb(
        &mut self,
        (low, end): (i64, i64),
        (wide, sizes): (i64, &[i64]),
        comb: Comb,
        overlap: bool,
    ) -> Vec<Stretch> {
        let mut stretches = Vec::new();
        let mut start = low;
        for vectors in sizes {
            let trips = (end - start) / (wide * vectors);
            if trips > 0 {
                stretches.push(self.const_stretch(start, trips, wide as u8, *vectors as usize));
                start += trips * wide * vectors;
            }
        }
        if overlap && end - low >= wide {
            while start < end {
                let from = start.min(end - wide);
                let stretch = self.const_stretch(from, 1, wide as u8, 1);
                stretches.push(Stretch { phase: (from - low) % comb.step, ..stretch });
                start = from + wide;
            }
        } else if start < end {
            let (low, high): (Val, Val) = (self.b.i64(start), self.b.i64(end));
            stretches.push(Stretch::singles(low, high));
        }
        stretches
    }
}
