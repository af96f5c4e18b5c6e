//! Arrays that ranks have in rows: what a loop reads of them is declared, and everything else asks for the whole array first.
//!
//! ```text
//!    parfor rows { b[i] = a[i - 1] + a[i + 1] }     =>    parfor rows shared reads (a, -1, 1) yields (rows of b) { ... }
//! ```
//!
//! An array whose rows lie with the ranks that computed them bears a mark in its header, and code that reads elements looks there, as it does for arrays
//! on a device. A loop that ranks share reads rows around its own instead. So where a partition begins, its arrays are sorted: those of which an index reads
//! few rows, in places that are known ([`super::reach`]), are declared with the loop; the marks of the others are looked at before it. Inside of chunks nobody looks: threads
//! cannot talk to other ranks. What is declared is certified: [`ravel_wir::rows`] finds the rows once more, by means of its own.
//!
//! Leaves alone: arrays that a body hands on, or selects from with indices that it computes; views of other shapes; loops over other axes, or with steps along the first.

use ravel_nest::ir::Read;
use ravel_types::{Elem, HashSet};
use ravel_wir::rows::{Reads, RowFinder};
use ravel_wir::traverse::walk;
use ravel_wir::{Generator, Op, Part, Region, Value, With};

use crate::Result;
use crate::facts::{Facts, Sink, Val};
use crate::lower::Lower;
use crate::lower::emit::{Border, Key, Reach, RowsRead};

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

    /// May a body be run with elements that are rubbish? Its result is rubbish then, but it ends, and finds no fault that it would not find elsewhere.
    fn takes_anything(&self, body: Region) -> bool {
        // Without checks an element that is an index may be any number.
        let mut takes = !self.options.unchecked;
        let mut of_elements: HashSet<Value> = HashSet::default();
        walk(self.func, body, &mut |_, inst| {
            let data = &self.func.insts[inst];
            let op = &data.op;
            let mut is_rubbish = matches!(op, Op::Sel { .. }) || !op.regions().is_empty();
            op.for_each_operand(|v| is_rubbish |= of_elements.contains(&v));
            if is_rubbish {
                of_elements.extend(&data.results);
            }
            takes &= match op {
                // Of indices and extents alone, in any case: it is the same on all ranks.
                Op::Check { .. } => !is_rubbish && self.func.regions[body].insts.contains(&inst),
                Op::Loop { .. } | Op::Call { .. } | Op::Native { .. } => false,
                _ => !op.is_anchored(),
            };
        });
        takes
    }

    /// What is planned for an array, with what intervals that are computed from WIR alone find beside it; nothing if these find rows elsewhere, or do not
    /// know. They may know less exactly: only a compiler under test stops there, to say that its plan may leave something out.
    fn certified(&self, certified: &Reads, index: Value, array: Value, mut planned: Vec<Reach>) -> Option<Vec<Reach>> {
        if certified.whole.contains(&array) {
            return None;
        }
        for found in certified.rows.iter().filter(|read| read.array == array) {
            let found = Reach { factor: found.factor, base: found.base, low: found.low, high: found.high };
            if self.has_all(&planned, index, found) {
                continue;
            }
            let reach = planned.iter_mut().find(|planned| planned.is_beside(&found))?;
            debug_assert!(false, "{} of {array} where {} are planned", rows(&found), rows(reach));
            *reach = reach.with(found);
        }
        Some(planned)
    }

    /// Does a plan have these rows? Those that move with the index may be told as the same ones for all indices, too.
    fn has_all(&self, planned: &[Reach], index: Value, found: Reach) -> bool {
        let mut left: Vec<Reach> = Some(found).filter(|rows| rows.low <= rows.high).into_iter().collect();
        for planned in planned.iter().filter(|planned| planned.is_beside(&found)) {
            left = left.into_iter().flat_map(|rows| rows.without(planned)).collect();
        }
        left.iter().all(|rows| planned.iter().any(|planned| planned.has(&self.for_all(rows, index))))
    }

    /// The rows that any index needs; an array has none below 0.
    fn for_all(&self, reach: &Reach, index: Value) -> Reach {
        let (first, last) = self.bounds(index);
        let ends = [first, last].map(|index| index.saturating_mul(reach.factor));
        let low = ends[0].min(ends[1]).saturating_add(reach.low);
        let high = ends[0].max(ends[1]).saturating_add(reach.high);
        Reach { factor: 0, low: if reach.base.is_none() { low.max(0) } else { low }, high, ..*reach }
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
                let planned = index.filter(|_| has_rows).and_then(|index| {
                    let planned = self.reaches(body, index, v)?;
                    self.certified(&certified, index, v, planned)
                });
                let object = self.val(v);
                match planned {
                    Some(planned) => found.extend(planned.into_iter().map(|reach| RowsRead { object, reach })),
                    None => others.push(object),
                }
            }
        }
        found.extend(borders.iter().filter_map(|border| Some(RowsRead { object: border.of?, reach: Reach::OWN })));
        let mut rows: Vec<RowsRead> = Vec::new();
        for RowsRead { object, reach } in found {
            // What is at hand has been asked for before.
            if others.contains(&object) || self.emit.cache.contains_key(&Key::Data(object)) {
                continue;
            }
            match rows.iter_mut().find(|other| other.object == object && other.reach.is_near(&reach)) {
                Some(other) => other.reach = other.reach.with(reach),
                None => rows.push(RowsRead { object, reach }),
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
        let mut reads = Vec::new();
        for RowsRead { object, reach } in self.emit.rows.clone() {
            let [factor, low, high] = self.ends_of(reach);
            let start = self.b.mul(factor, first);
            let (low, high) = (self.b.add(start, low), self.b.add(start, high));
            reads.push(Read { object, factor, low, high });
        }
        reads
    }

    /// The factor, and the first and the last row at index 0.
    fn ends_of(&mut self, Reach { factor, base, low, high }: Reach) -> [Val; 3] {
        let [factor, mut low, mut high] = [factor, low, high].map(|n| self.b.i64(n));
        if let Some(base) = base {
            let base = self.wide(base);
            (low, high) = (self.b.add(base, low), self.b.add(base, high));
        }
        [factor, low, high]
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
        for RowsRead { object, reach } in self.emit.rows.clone() {
            let marked = self.is_marked(object);
            let [factor, low, high] = self.ends_of(reach);
            let site = self.here();
            self.call_if(marked, "ravel_rows_near", &[object, result, first, end, factor, low, high, site]);
        }
    }

    /// Results that ranks are going to send each other may be in rows, as the array is that they were made of: whole rows are sent, also what a loop leaves as
    /// it is in them.
    pub fn gather_before_others_send(&mut self, object: Val) {
        if self.has_rows() && !self.site.in_parfor() {
            let marked = self.is_marked(object);
            self.gather_if(marked, object);
        }
    }

    /// The position in hand, or null.
    fn here(&mut self) -> Val {
        match self.emit.at {
            Some(span) => self.position(span),
            None => self.b.null(),
        }
    }

    /// Has an array in rows gathered where a condition holds, and says for what place of the program.
    pub fn gather_if(&mut self, cond: Val, object: Val) {
        self.b.begin_if(cond);
        let site = self.here();
        self.helper("ravel_rows_gather", &[object, site], None);
        self.b.begin_else(&[]);
        self.b.end_if(&[]);
    }

    /// A new array that takes elements of another one at the same places: where that one is in rows, it is as well.
    pub fn rows_like(&mut self, to: Val, from: Val) {
        if self.has_rows() && !self.site.in_parfor() {
            let marked = self.is_marked(from);
            self.call_if(marked, "ravel_rows_like", &[to, from]);
        }
    }
}

/// What people are told of rows that a loop needs.
pub(crate) fn rows(reach: &Reach) -> String {
    let Reach { factor, base, low, high } = reach;
    let index = match (factor, base) {
        (1, None) => String::new(),
        (0, None) => return format!("rows {low} to {high}"),
        (1, Some(_)) => "i+s".to_string(),
        (0, Some(_)) => "s".to_string(),
        (-1, None) => "-i".to_string(),
        (-1, Some(_)) => "s-i".to_string(),
        (factor, None) => format!("{factor}*i"),
        (factor, Some(_)) => format!("s{factor:+}*i"),
    };
    format!("rows {index}{low:+} to {index}{high:+}")
}
