//! What the chunks of a parallel loop leave behind, declared so that ranks may share them.
//!
//! ```text
//!    parfor rows { ... a[i] = ... }        =>    parfor rows shared work 40 yields (rows of a) { ... }
//! ```
//!
//! Ranks are processes: what one of them stores the others do not see until it is sent. So a loop says where its chunks store: rows of arrays, or partial
//! results. The runtime decides whether ranks share the loop, and then sends each of them what the others have computed.
//!
//! Leaves alone: loops inside chunks; cells that are objects; partial results that are objects elsewhere; axes behind the second, whose rows lie in pieces
//! of pieces.

use std::fmt::{self, Display, Formatter};

use ravel_nest::ir::{BinOp as NestBin, Output, Shared};
use ravel_source::Span;
use ravel_types::{BinOp, Elem};
use ravel_wir::traverse::walk;
use ravel_wir::{Generator, Op, Part, Region, Value};

use crate::facts::{Ext, Facts, Sink, Val};
use crate::lower::Lower;
use crate::threads::fold_chunks::FoldChunks;
use crate::threads::parallel::Chunks;
use crate::threads::rows::rows;

/// What chunks leave behind.
#[derive(Clone, Copy)]
pub(crate) enum Left {
    /// Rows of arrays, of so many bytes if that is known.
    Rows(Option<i64>),
    /// Partial results of so many bytes for each chunk.
    Partials(i64),
    /// The same, and rows.
    Both(i64),
}

impl Display for Left {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Left::Rows(Some(bytes)) => write!(f, "rows of {}", size(*bytes)),
            Left::Rows(None) => f.write_str("rows"),
            Left::Partials(bytes) => write!(f, "partial results of {} for each chunk, in order", size(*bytes)),
            Left::Both(bytes) => write!(f, "rows, and {}", Left::Partials(*bytes)),
        }
    }
}

fn size(bytes: i64) -> String {
    match bytes {
        ..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

impl Facts<'_> {
    /// May indices of a body take different times for certain? Loops of theirs end when data says so, or have bounds that depend on the index.
    fn is_uneven(&self, body: Region) -> bool {
        let outside = self.live.free(body);
        let is_fixed = |v: &Value| self.const_i32(*v).is_some() || outside.contains(v);
        let mut uneven = false;
        walk(self.func, body, &mut |_, inst| {
            uneven |= match &self.func.insts[inst].op {
                Op::Loop { init, body } => {
                    self.iterations(init, *body).is_err() && !self.counts_to(*body).is_some_and(|end| is_fixed(&end))
                }
                Op::With(with) => with.parts.iter().any(|part| match &part.generator {
                    Generator::Known { lower, upper, .. } => lower
                        .iter()
                        .zip(upper)
                        .any(|(low, high)| !(is_fixed(low) && is_fixed(high)) && self.ahead_of(*low, *high).is_none()),
                    Generator::Dyn { .. } => true,
                }),
                _ => false,
            };
        });
        uneven
    }

    /// The value that the counter of a loop is compared with.
    fn counts_to(&self, body: Region) -> Option<Value> {
        let inst = self.live.def(*self.func.regions[body].yields.first()?)?;
        match &self.func.insts[inst].op {
            Op::Bin(BinOp::Lt, _, end) => Some(*end),
            _ => None,
        }
    }
}

impl Lower<'_, '_> {
    /// Rows of arrays: the indices of an axis of a partition, in chunks.
    pub fn rows_left(&mut self, part: &Part, chunks: &Chunks, sinks: &[Sink]) -> Option<Vec<Output>> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return None };
        let axis = chunks.axis();
        let declares = |sink: &Sink| !matches!(sink, Sink::Late { .. } | Sink::Slice { elem: Elem::Handle, .. });
        if axis > 1 || self.site.in_parfor() || !sinks.iter().all(declares) {
            return None;
        }
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let mut outputs = Vec::new();
        for sink in sinks {
            let Sink::Slice { elem, data, object, strides, .. } = sink else { continue };
            let mut base = *data;
            let mut bytes = Vec::new();
            for (k, stride) in strides.iter().enumerate().take(axis + 1) {
                let stride = self.extent_product(*stride, Ext::Const(elem.bytes() as i64));
                let stride = self.extent_val(stride);
                let first = self.wide(lower[k]);
                let skipped = self.b.mul(first, stride);
                base = self.b.ptr_add(base, skipped);
                bytes.push(stride);
            }
            let (pieces, pitch) = match axis {
                0 => (one, zero),
                _ => {
                    let outer = self.axis_extent(lower[0], upper[0]);
                    (self.extent_val(outer), bytes[0])
                }
            };
            let stride = *bytes.last()?;
            let object = match object {
                Some(object) if self.may_keep_rows(part, axis) => *object,
                Some(object) => {
                    self.gather_before_others_send(*object);
                    self.b.null()
                }
                None => self.b.null(),
            };
            outputs.push(Output {
                base,
                object,
                per: one,
                first: zero,
                end: chunks.n,
                stride,
                bytes: stride,
                pieces,
                pitch,
            });
        }
        Some(outputs)
    }

    /// The partial results of a fold: of the chunks from `first` to `end` of a loop over chunks, or of each chunk of `per` indices.
    pub fn partials_left(&mut self, fold: &FoldChunks, per: Val, (first, end): (Val, Val)) -> Option<Output> {
        if self.site.in_parfor() || !fold.stays_in_place(&self.facts) {
            return None;
        }
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let bytes = self.b.i64(fold.bytes_of_chunk());
        let (base, object) = (fold.place(), self.b.null());
        Some(Output { base, object, per, first, end, stride: bytes, bytes, pieces: one, pitch: zero })
    }

    /// The declaration of a loop over an axis of a partition, if its outputs could be declared.
    pub fn declaration(
        &mut self,
        span: Span,
        (part, axis): (&Part, usize),
        left: Left,
        outputs: Option<Vec<Output>>,
    ) -> Option<Box<Shared>> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return None };
        let reads = if axis == 0 && outputs.is_some() { self.rows_declared(part) } else { Vec::new() };
        if reads.is_empty() {
            self.settle_rows();
        }
        let Some(outputs) = outputs else {
            if self.cx.options.ranks {
                self.cx.remark(
                    span,
                    "every rank computes it: what it leaves behind lies in objects or in pieces of pieces",
                );
            }
            return None;
        };
        let (_, inner) = self.lengths(lower, upper, axis);
        // Cycles are counted in whole ones, cells of less in tens.
        let tenths = self.b.i64((self.work(part.body).max(0.1) * 10.0) as i64);
        let (tenths, ten) = (self.b.mul(inner, tenths), self.b.i64(10));
        let work = self.b.binary(NestBin::SDiv, tenths, ten);
        let uneven = self.is_uneven(part.body);
        if self.cx.options.ranks {
            let how = if uneven { "take its chunks in turn" } else { "share it" };
            self.cx.remark(span, format!("ranks {how} over axis {axis} where that pays, and gather {left}"));
            if !matches!(left, Left::Partials(_)) && self.may_keep_rows(part, axis) {
                self.cx.remark(span, "large results stay in rows with the ranks that compute them");
            }
            for read in self.emit.rows.clone() {
                self.cx.remark(span, format!("needs {} of an array in rows", rows(&read.reach)));
            }
        }
        let site = self.position(span);
        let partials = !matches!(left, Left::Rows(_));
        Some(Box::new(Shared { site, work, uneven, partials, reads, outputs }))
    }

    /// What the rows are that a loop leaves.
    pub fn rows_of(&self, sinks: &[Sink], axis: usize) -> Left {
        let bytes = sinks.iter().map(|sink| match sink {
            Sink::Slice { elem, strides, .. } => Some(strides.get(axis)?.as_const()? * elem.bytes() as i64),
            _ => Some(0),
        });
        Left::Rows(bytes.sum())
    }
}
