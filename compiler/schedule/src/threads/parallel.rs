//! Threads: an axis of a with-loop in chunks, the outermost one unless that is short.
//!
//! The size of a chunk depends on shapes alone, so that results do not depend on the number of threads. Partial results of
//! folds are combined in the order of their chunks.

use ravel_nest::ir::{BinOp as NestBin, IntCmp, Shared};
use ravel_wir::{Generator, Part, Value};

use crate::Result;
use crate::facts::{Chunk, Val};
use crate::lower::Lower;
use crate::lower::emit::Around;
use crate::plan::chunks::{CELLS, Fineness, Grain, Size, least_along};
use crate::plan::strategy::{Case, ThreadPlan};

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

impl Lower<'_, '_> {
    /// Number of indices of an axis, and indices per chunk, as planned. Chunks are whole numbers of the indices that the kernel computes in one
    /// step, or in a vector of it.
    pub fn chunks_of(&mut self, part: &Part, axis: usize, fineness: Fineness, grain: Grain, size: Size) -> Chunks {
        let (lower, upper) = match (&part.generator, size) {
            (_, Size::Known(rows, chunk)) => {
                return Chunks { axis, n: self.b.i64(rows), chunk: self.b.i64(chunk), grain: chunk };
            }
            (Generator::Known { lower, upper, .. }, Size::Open) => (lower, upper),
            _ => return self.one_chunk(part, axis),
        };
        let Fineness { most, work: least, wake } = fineness;
        let work = self.work(part.body).max(1.0);
        let grain = self.grain_along(part, axis, grain).unwrap_or(grain);
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
        Chunks { axis, n: rows, chunk, grain: 1 }
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
    pub fn begin_chunks(&mut self, part: &Part, chunks: &Chunks, shared: Option<Box<Shared>>) -> Result<(Chunk, Val)> {
        let (low, high, _) = self.begin_parfor(chunks.n, chunks.chunk, None, shared);
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

    /// Runs a partition of genarray and modarray cells on threads, and makes the borders around it. Threads that share rows make the ends of
    /// theirs: elements that another thread wrote last are far away.
    pub fn on_threads(&mut self, case: &Case, plan: ThreadPlan, around: Around) -> Result<()> {
        let Case { inst, with, part, sinks, .. } = *case;
        let ThreadPlan { axis, grain, size, inside } = plan;
        let mut chunks = self.chunks_of(part, axis, CELLS, grain, size);
        if self.may_keep_rows(part, axis) {
            // Rows of a rank begin anywhere.
            chunks.grain = 1;
        }
        self.cx.remark(self.func.insts[inst].span, format!("threads over axis {axis}"));
        for border in around.borders {
            if axis == 0 { self.outer_border(border) } else { self.whole_border(border) }
        }
        self.preload_company(with, around.thin);
        let shared = if axis > 0 && self.is_row_beside(part, sinks) {
            None
        } else {
            let outputs = self.rows_left(part, &chunks, sinks);
            let left = self.rows_of(sinks, axis);
            self.declaration(self.func.insts[inst].span, (part, axis), left, outputs)
        };
        let (chunk, _) = self.begin_chunks(part, &chunks, shared)?;
        for border in around.borders.iter().filter(|_| axis == 0) {
            self.border_of_rows(border, chunk.low, chunk.high);
        }
        self.chunk(case, &inside, chunk, Vec::new())?;
        self.close();
        self.run_company(inst, with, (sinks, around.thin), chunk, Vec::new())?;
        self.end_parfor();
        Ok(())
    }
}
