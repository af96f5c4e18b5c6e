//! Rows that lie end to end, walked as one axis.
//!
//! ```text
//!    [0,1,0] <= [i,j,c] < [m,n,3]:   t[i,j,c] = a[i,j-1,c] + a[i,j,c]
//! => for i:  for k in 0 .. 3*(n-1):  t[i,1,k] = a[i,0,k] + a[i,1,k]
//! ```
//!
//! Rows of three colours or two parts of a complex number fill no vector. Where a partition has whole rows and every address is that of a row plus
//! the index within it, in arrays whose rows are as long, the next row begins where one ends: the index of the row stays at its first value, and
//! the one within the row runs on. Several inner axes that are covered wholly are one row.
//!
//! Declined: rows that fill vectors well, steps, indices that are used for anything else (a weight per colour, a condition), cells that are arrays.

use ravel_nest::ir::BinOp as NestBin;
use ravel_wir::{Generator, Part};

use crate::facts::Chunk;
use crate::lower::Lower;
use crate::plan::collapsed_rows::Flat;

impl Lower<'_, '_> {
    /// Bounds of the index within rows that are walked as one: from zero to the elements of all of them.
    pub fn flat_bounds(&mut self, flat: Flat, part: &Part, chunk: Option<Chunk>) -> FlatBounds {
        let Generator::Known { lower, upper, .. } = &part.generator else { return FlatBounds::Const(0) };
        let (lower, upper) = (lower[flat.rows], upper[flat.rows]);
        let chunk = chunk.filter(|chunk| chunk.axis == flat.rows);
        if let Some(elements) = chunk.filter(|_| flat.cut) {
            return FlatBounds::Run(elements);
        }
        if let (None, Some(low), Some(high)) = (chunk, self.const_i32(lower), self.const_i32(upper)) {
            return FlatBounds::Const((high - low).max(0) * flat.length);
        }
        let (low, high) = chunk.map_or_else(|| (self.wide(lower), self.wide(upper)), |chunk| (chunk.low, chunk.high));
        let rows = self.b.sub(high, low);
        let length = self.b.i64(flat.length);
        let zero = self.b.i64(0);
        let elements = self.b.mul(rows, length);
        // All chunks begin at zero.
        FlatBounds::Run(Chunk {
            axis: flat.rows,
            low: zero,
            high: self.b.binary(NestBin::SMax, elements, zero),
            grain: 0,
        })
    }
}

/// Elements of rows that are walked as one.
pub(crate) enum FlatBounds {
    Const(i64),
    Run(Chunk),
}
