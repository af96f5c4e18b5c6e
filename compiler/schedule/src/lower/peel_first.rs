//! Folds of arrays in chunks whose first cell is the partial result.
//!
//! ```text
//!    partial = 0                                   for i in low .. high:
//!    for i in low .. high:                             to = i == low ? partial : another array
//!        x = cell(i)                         =>        to = cell(i)
//!        partial = partial + x                         if i != low: partial = partial + to
//! ```
//!
//! What was combined with the partial results of the last batch was read by other threads, so that every line of them has to be fetched before
//! anything can be written to it. The fill waits for that, 16 KB for two microseconds; stores among the work of a cell do not. And a chunk
//! of a single index adds nothing.
//!
//! Leaves alone: small arrays, which are filled in no time; cells whose shape only the run knows; chunks that might have no cell.

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty};
use ravel_types::{BinOp, Elem};
use ravel_wir::{Generator, Part, Value, With};

use crate::facts::sink::functions;
use crate::facts::{Accumulate, Chunk, Dest, Ext, Facts, FromFirst, Index, Sink, Val, layout};
use crate::lower::Lower;
use crate::lower::fold::WRITTEN_ELEMENTS;

/// What the body at work makes for accumulators.
pub(crate) struct FirstCells {
    /// Is it the first of the chunk?
    is_first: Val,
    /// Where cells are made, by operator.
    places: Vec<Option<Val>>,
}

/// What the body at work makes for one accumulator.
#[derive(Clone, Copy)]
pub(crate) struct FirstCell {
    is_first: Val,
    place: Option<Val>,
}

impl FirstCells {
    pub fn cell(&self, k: usize) -> Option<FirstCell> {
        self.places.get(k).map(|place| FirstCell { is_first: self.is_first, place: *place })
    }
}

impl Facts<'_> {
    /// Which folds of a partition, cut along an axis, begin with the first cell of a chunk.
    pub fn begun_by_cells(&self, part: &Part, folds: &[(BinOp, Value)], cut: usize) -> Vec<bool> {
        let func = self.func;
        let Generator::Known { lower, upper, .. } = &part.generator else { return vec![false; folds.len()] };
        let has_index = |axis: usize| {
            self.const_i32(lower[axis]).zip(self.const_i32(upper[axis])).is_some_and(|(low, high)| low < high)
        };
        let has_cells = (0..lower.len()).all(|axis| axis == cut || has_index(axis));
        let layout = self.partial_layout(folds);
        let yields = &func.regions[part.body].yields;
        let is_begun =
            |((slot, (_, neutral)), cell): ((&crate::plan::partials::PartialSlot, &(BinOp, Value)), &Value)| {
                has_cells
                    && slot.extents.is_some()
                    && slot.elements() > WRITTEN_ELEMENTS
                    && func.ty(*cell).shape == func.ty(*neutral).shape
            };
        layout.slots.iter().zip(folds).zip(yields).map(is_begun).collect()
    }
}

impl Lower<'_, '_> {
    /// How the folds of a with-loop take their cells in a chunk.
    pub fn take_cells_from_first(
        &mut self,
        with: &With,
        part: &Part,
        folds: &[(BinOp, Value)],
        begun: &[bool],
        chunk: Chunk,
    ) -> Vec<Accumulate> {
        let mut hows = functions(with);
        let Generator::Known { lower, upper, .. } = &part.generator else { return hows };
        let mut lows = Vec::new();
        for (axis, (low, high)) in lower.iter().zip(upper).enumerate() {
            let single = self.const_i32(*low).zip(self.const_i32(*high)).is_some_and(|(low, high)| high == low + 1);
            lows.push(match axis == chunk.axis {
                true => Some(chunk.low),
                false => (!single).then(|| self.wide(*low)),
            });
        }
        let layout = self.partial_layout(folds);
        for (k, (op, _)) in folds.iter().enumerate().filter(|(k, _)| begun[*k]) {
            hows[k] =
                Accumulate::FromFirst(FromFirst { op: *op, elements: layout.slots[k].elements(), lows: lows.clone() });
        }
        hows
    }

    /// Says where the body at an index is to make its cells; nothing if no accumulator begins with one.
    pub fn begin_first_cells(
        &mut self,
        part: &Part,
        sinks: &[Sink],
        index: &Index,
        carried: &[Val],
    ) -> Option<FirstCells> {
        let of = |sink: &Sink| match sink {
            Sink::Carried { position, elem, combine: Accumulate::FromFirst(how) } => {
                Some((*position, *elem, how.clone()))
            }
            _ => None,
        };
        let (_, _, how) = sinks.iter().find_map(of)?;
        let Index::Known(params) = index else { return None };
        let mut is_first = None;
        for (&param, low) in params.iter().zip(&how.lows) {
            let Some(low) = *low else { continue };
            let here = self.wide(param);
            let same = self.b.icmp(IntCmp::Eq, here, low);
            is_first = Some(match is_first {
                Some(before) => self.b.binary(NestBin::And, before, same),
                None => same,
            });
        }
        let is_first = is_first.unwrap_or_else(|| self.b.iconst(Ty::I8, 1));
        let yields = &self.func.regions[part.body].yields;
        let mut places = vec![None; sinks.len()];
        for ((place, sink), &cell) in places.iter_mut().zip(sinks).zip(yields) {
            let Some((position, elem, how)) = of(sink) else { continue };
            if !self.can_build_in_place(part, cell) {
                continue;
            }
            let partial = self.b.load(Ty::PTR, carried[position], layout::OFFSET_DATA, Access::ALIGNED);
            let beside = self.scratch(how.elements * elem.bytes() as i64);
            let data = self.b.select(is_first, partial, beside);
            self.facts.dests.insert(cell, Dest { data });
            *place = Some(data);
        }
        Some(FirstCells { is_first, places })
    }

    /// Adds a cell to an accumulator, or makes it the accumulator.
    pub fn end_first_cell(&mut self, how: &FromFirst, elem: Elem, acc: Val, v: Value, cell: Option<FirstCell>) {
        let Some(FirstCell { is_first, place }) = cell else { return };
        let cache = self.emit.cache.clone();
        let partial = self.b.load(Ty::PTR, acc, layout::OFFSET_DATA, Access::ALIGNED);
        let from = match place {
            Some(data) => data,
            None => {
                let object = self.val(v);
                self.data_of(object)
            }
        };
        self.b.begin_if(is_first);
        if place.is_none() {
            self.copy_elements(elem, partial, from, Ext::Const(how.elements));
        }
        self.b.begin_else(&[]);
        let count = self.b.i64(how.elements);
        self.combine_memory(how.op, elem, partial, from, count);
        self.b.end_if(&[]);
        self.emit.cache = cache;
    }
}
