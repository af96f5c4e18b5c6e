//! Arrays that ranks have in rows: what a loop reads of them is declared, and everything else asks for the whole array first.
//!
//! ```text
//!    parfor rows { b[i] = a[i - 1] + a[i + 1] }     =>    parfor rows shared reads (a, -1, 1) yields (rows of b) { ... }
//! ```
//!
//! An array whose rows lie with the ranks that computed them bears a mark in its header, and code that reads elements looks there, as it does for arrays
//! on a device. A loop that ranks share reads rows around its own instead. So where a partition begins, its arrays are sorted: those of which an index reads
//! few rows, at a distance that is known, are declared with the loop; the marks of the others are looked at before it. Inside of chunks nobody looks: threads
//! cannot talk to other ranks. What is declared is certified: [`ravel_wir::rows`] finds the rows once more, by means of its own.
//!
//! Leaves alone: arrays that a body hands on, or selects from with indices that it computes; views of other shapes; loops over other axes, or with steps along the first.

use ravel_nest::ir::Read;
use ravel_source::Span;
use ravel_types::{BinOp, Elem};
use ravel_wir::rows::{Reads, RowFinder};
use ravel_wir::traverse::walk;
use ravel_wir::{Generator, Op, Part, Region, Value, With};

use crate::Result;
use crate::facts::{Facts, Sink, Val};
use crate::lower::Lower;
use crate::lower::emit::{Border, Key, RowsRead};

/// Arrays of which an index reads more rows than this are gathered.
const MOST_ROWS: i64 = 256;
/// Minima, maxima and choices inside of each other are followed so far.
const MOST_NESTED: usize = 4;

impl Facts<'_> {
    /// Whether arrays may be in rows.
    pub fn has_rows(&self) -> bool {
        self.options.ranks && self.options.device.is_none()
    }

    /// Whether rows of a partition may stay with ranks, which cut this axis anywhere: steps have to begin where they do.
    pub fn may_keep_rows(&self, part: &Part, axis: usize) -> bool {
        let steps = match &part.generator {
            Generator::Known { step, .. } => step.as_ref().and_then(|step| step.first()),
            Generator::Dyn { .. } => return false,
        };
        self.has_rows() && axis == 0 && steps.is_none_or(|step| self.const_i32(*step) == Some(1))
    }

    /// The first and the last row, beside the index itself, that a body with this index of axis 0 reads of an array. Nothing if it reads others.
    fn reach(&self, body: Region, index: Value, array: Value) -> Option<(i64, i64)> {
        let data = &self.func.regions[body];
        if data.yields.contains(&array) {
            return None;
        }
        let mut reach = (i64::MAX, i64::MIN);
        let mut join = |(low, high): (i64, i64)| reach = (reach.0.min(low), reach.1.max(high));
        for inst in &data.insts {
            let op = &self.func.insts[*inst].op;
            match op {
                Op::Extent { .. } | Op::Rank(_) | Op::ShapeVec(_) => continue,
                Op::Sel { array: from, index: at } if *from == array && !at.is_empty() => {
                    join(self.row_distance(at[0], index)?);
                    continue;
                }
                _ => {}
            }
            let mut is_used = false;
            op.for_each_operand(|v| is_used |= v == array);
            if is_used {
                return None;
            }
            for nested in op.regions() {
                join(self.reach(nested, index, array)?);
            }
        }
        Some(reach)
    }

    /// Bounds of `row - index`, if both are known.
    fn row_distance(&self, row: Value, index: Value) -> Option<(i64, i64)> {
        let (low, high) = self.distance_bounds(row, index, MOST_NESTED)?;
        (low > -MOST_ROWS && high < MOST_ROWS).then_some((low, high))
    }

    /// Bounds of `row - index`, each of which may be beyond all numbers of rows.
    fn distance_bounds(&self, row: Value, index: Value, depth: usize) -> Option<(i64, i64)> {
        let form = self.form(row);
        // A minimum, a maximum or a choice, and a number.
        if let [(v, 1)] = form.terms[..]
            && v != index
            && depth > 0
            && let Some(inst) = self.live.def(v)
        {
            let of = |v: &Value| self.distance_bounds(*v, index, depth - 1);
            let bounds = match &self.func.insts[inst].op {
                Op::Bin(BinOp::Max, a, b) => Some((of(a)?, of(b)?)).map(|(a, b)| (a.0.max(b.0), a.1.max(b.1))),
                Op::Bin(BinOp::Min, a, b) => Some((of(a)?, of(b)?)).map(|(a, b)| (a.0.min(b.0), a.1.min(b.1))),
                Op::Select { then, els, .. } => Some((of(then)?, of(els)?)).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))),
                _ => None,
            };
            if let Some((low, high)) = bounds {
                return Some((low.saturating_add(form.constant), high.saturating_add(form.constant)));
            }
        }
        let difference = form.clone().plus(&self.form(index), -1)?;
        let (mut low, mut high) = (difference.constant, difference.constant);
        for (v, factor) in difference.terms {
            let (least, most) = self.bounds(v);
            let ends = [least.checked_mul(factor)?, most.checked_mul(factor)?];
            low = low.checked_add(ends[0].min(ends[1]))?;
            high = high.checked_add(ends[0].max(ends[1]))?;
        }
        // The index ends below a bound that need not be a number.
        if let Some(upper) = self.upper_of[index]
            && let Some(last) = form.plus(&self.form(upper), -1)
            && last.terms.is_empty()
        {
            low = low.max(last.constant + 1);
        }
        Some((low, high))
    }

    /// May a body be run with elements that are rubbish? Its result is rubbish then, but it ends, and finds no fault.
    fn takes_anything(&self, body: Region) -> bool {
        // Without checks an element that is an index may be any number.
        let mut takes = !self.options.unchecked;
        walk(self.func, body, &mut |_, inst| {
            let op = &self.func.insts[inst].op;
            takes &= !matches!(op, Op::Check { .. } | Op::Loop { .. } | Op::Call { .. } | Op::Native { .. });
            takes &= !op.is_anchored();
        });
        takes
    }

    /// What is planned for an array, if intervals that are computed from WIR alone say that it is so; nothing if these are not known.
    ///
    /// # Errors
    /// A body reads rows that the plan leaves out.
    fn certified(&self, certified: &Reads, array: Value, (low, high): (i64, i64)) -> Result<Option<(i64, i64)>> {
        if certified.whole.contains(&array) {
            return Ok(None);
        }
        match certified.rows.iter().find(|read| read.array == array) {
            Some(read) if read.low < low || read.high > high => {
                let (from, to) = (read.low, read.high);
                self.unsupported(
                    Span::NONE,
                    format!("rows {from:+} to {to:+} of {array} where rows {low:+} to {high:+} are planned"),
                )
            }
            _ => Ok(Some((low, high))),
        }
    }

    /// The partitions of a with-loop in an order in which threads begin: those that are thin along many axes come last, and find out what became
    /// of the others.
    pub fn thick_first(&self, with: &With, order: &mut [(usize, Vec<usize>)]) {
        let thin_axes = |n: usize| match &with.parts[n].generator {
            Generator::Known { lower, upper, .. } => {
                lower.iter().zip(upper).filter(|(low, high)| self.is_successor(**low, **high)).count()
            }
            Generator::Dyn { .. } => 0,
        };
        order.sort_by_key(|(n, _)| thin_axes(*n));
    }

    /// The array that a partition has its results in, and the bounds of its rows, if every rank may compute all of it, with rubbish in what it reads.
    fn is_beside(&self, part: &Part, sinks: &[Sink]) -> Option<(Val, Value, Value)> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return None };
        let &[Sink::Slice { object: Some(result), .. }] = sinks else { return None };
        let bounds = self.takes_anything(part.body).then(|| lower.first().zip(upper.first()))?;
        bounds.map(|(low, high)| (result, *low, *high))
    }
}

impl Lower<'_, '_> {
    /// Is this a row of an array that other partitions of a with-loop leave in rows, maybe? Then every rank computes it.
    pub fn is_row_beside(&self, part: &Part, sinks: &[Sink]) -> bool {
        !self.emit.rows.is_empty()
            && self.is_beside(part, sinks).is_some_and(|(_, low, high)| self.is_successor(low, high))
    }

    /// Emits partitions whose arrays have been sorted, and those of what lies around them.
    pub fn reading_rows<T>(
        &mut self,
        with: &With,
        parts: &[&Part],
        borders: &[Border],
        emit: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if !self.has_rows() || self.site.in_parfor() {
            return emit(self);
        }
        let before = self.emit.rows.clone();
        self.sort_arrays(with, parts, borders)?;
        let result = emit(self)?;
        // Addresses of arrays that were not asked for whole are at hand no longer.
        for read in std::mem::replace(&mut self.emit.rows, before) {
            self.emit.cache.remove(&Key::Data(read.object));
        }
        Ok(result)
    }

    fn sort_arrays(&mut self, with: &With, parts: &[&Part], borders: &[Border]) -> Result<()> {
        let finder = RowFinder::new(self.func);
        let mut found: Vec<RowsRead> = Vec::new();
        let mut others: Vec<Val> = Vec::new();
        for part in parts {
            let body = part.body;
            let index = self.func.regions[body].params.first().copied();
            let certified = finder.of_part(with, part);
            for v in self.live.free(body).to_vec() {
                let ty = self.func.ty(v);
                if !self.is_object(v) || ty.elem == Elem::Handle || !self.has_val(v) {
                    continue;
                }
                let has_rows = ty.rank().is_some_and(|rank| rank > 0) && !self.is_view(v);
                let reach = index.filter(|_| has_rows).and_then(|index| self.reach(body, index, v));
                let reach = match reach {
                    Some(reach) => self.certified(&certified, v, reach)?,
                    None => None,
                };
                let object = self.val(v);
                match reach {
                    Some((low, high)) if low <= high => found.push(RowsRead { object, low, high }),
                    // Extents alone.
                    Some(_) => {}
                    None => others.push(object),
                }
            }
        }
        found.extend(borders.iter().filter_map(|border| Some(RowsRead { object: border.of?, low: 0, high: 0 })));
        let mut rows: Vec<RowsRead> = Vec::new();
        for read in found {
            // What is at hand has been asked for before.
            if others.contains(&read.object) || self.emit.cache.contains_key(&Key::Data(read.object)) {
                continue;
            }
            match rows.iter_mut().find(|other| other.object == read.object) {
                Some(other) => (other.low, other.high) = (other.low.min(read.low), other.high.max(read.high)),
                None => rows.push(read),
            }
        }
        self.emit.rows = Vec::new();
        // Those of unknown rank have no address that is made sure of elsewhere.
        others.into_iter().for_each(|object| self.host_reads(object));
        self.emit.rows = rows;
        Ok(())
    }

    /// The arrays that the loop in hand reads in rows, for its declaration.
    pub fn rows_declared(&mut self, part: &Part) -> Vec<Read> {
        let Generator::Known { lower, .. } = &part.generator else { return Vec::new() };
        let Some(&first) = lower.first() else { return Vec::new() };
        let first = self.wide(first);
        let reads = self.emit.rows.clone();
        let row = |lower: &mut Self, by: i64| {
            let by = lower.b.i64(by);
            lower.b.add(first, by)
        };
        reads
            .into_iter()
            .map(|read| Read { object: read.object, low: row(self, read.low), high: row(self, read.high) })
            .collect()
    }

    /// The arrays that were sorted are not read in rows after all: their marks are looked at here.
    pub fn settle_rows(&mut self) {
        if self.site.in_parfor() {
            return;
        }
        for read in std::mem::take(&mut self.emit.rows) {
            self.host_reads(read.object);
        }
    }

    /// The same for a partition that every rank computes. Where its results are in rows, as its with-loop has left others there, each rank needs what its
    /// own rows are made of; in others it computes rubbish.
    pub fn settle_rows_beside(&mut self, part: &Part, sinks: &[Sink]) {
        // What a chunk reads was declared with its loop, or looked at before.
        if self.site.in_parfor() {
            return;
        }
        let Some((result, low, high)) = self.is_beside(part, sinks) else { return self.settle_rows() };
        let (first, end) = (self.wide(low), self.wide(high));
        for RowsRead { object, low, high } in self.emit.rows.clone() {
            let marked = self.is_marked(object);
            let reach = [self.b.i64(low), self.b.i64(high)];
            self.call_if(marked, "ravel_rows_near", &[object, result, first, end, reach[0], reach[1]]);
        }
    }

    /// Results that ranks are going to send each other may be in rows, as the array is that they were made of: whole rows are sent, also what a loop leaves as
    /// it is in them.
    pub fn gather_before_others_send(&mut self, object: Val) {
        if self.has_rows() && !self.site.in_parfor() {
            let marked = self.is_marked(object);
            self.call_if(marked, "ravel_device_to_host", &[object]);
        }
    }

    /// A new array that takes elements of another one at the same places: where that one is in rows, it is as well.
    pub fn rows_like(&mut self, to: Val, from: Val) {
        if self.has_rows() && !self.site.in_parfor() {
            let marked = self.is_marked(from);
            self.call_if(marked, "ravel_rows_like", &[to, from]);
        }
    }
}
