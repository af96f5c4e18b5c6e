//! Which rows of an array does an index of a with-loop read?
//!
//! ```text
//! part [1, 0] <= [%i, %j] < [%n, 9] { %h = sub %i, 1   %x = sel %a, [%h, %j]   %y = sel %a, [%i, 0] ... }
//! => rows -1 ..= 0 of %a, counted from row %i
//! ```
//!
//! Ranks that have rows of an array need these rows before they compute theirs. So what is said here must hold for every index: an array counts as read by rows
//! only if nothing but selections reads it, and the first index of each one has bounds, counted from a multiple of the index of axis 0.
//!
//! | factor | read | rows |
//! | --- | --- | --- |
//! | 1 | `a[i - 1]`, `a[i + k]` for `k` of an inner loop | around the index's own |
//! | 2, 3 ... | `a[2 * i + 1]`; a block, `a[k]` for `k` from `100 * i` to `100 * i + 100` | around every second, third ... |
//! | -1 | `a[9 - i]` | from the other end |
//! | 0 | `a[0]`, `a[k]` | the same for all indices |
//!
//! Where a number is not known, but is the same for all indices, it is the *base* of the rows: `n - 1 - i`, `i + k`, a pivot's row `k`.
//!
//! The arithmetic is that of intervals, here alone: those who plan exchanges have their own, and are judged by this one.
//!
//! # Wrapping
//! `i32` wraps, so a distance is sure only but for a multiple of 2^32, unless no step on the way to it can wrap. But a selection stands within its array: the row
//! that it reads is one of `0 .. 2^31`. No other number between `-2^31` and `2^32 - 1` is equal to it but for a multiple of 2^32. So such a distance holds if
//! `factor * i + low` and `factor * i + high` are between these for all indices, and else nothing is said. An index is at least 0 and below 2^31 - 1. So at the
//! factor 1 all distances of an `i32` will do, at -1 those from -2 on, at 2 those up to 3; others want an index with bounds. Comparisons of indices, as in
//! `min(i + 1, n - 1)`, and bounds of inner loops ask for more: there nothing may wrap.

mod known;
#[cfg(test)]
mod tests;

use crate::ir::*;
use crate::traverse::{free_values, walk};
use cranelift_entity::SecondaryMap;
use known::{ANY, Distance, Interval, Known, ahead, either, hull, product, quotient, span, sum};
use ravel_types::{BinOp, Elem, HashMap, HashSet, Scalar, UnOp};

/// Rows `factor * index + base + low ..= factor * index + base + high` of an array. The index is the component of axis 0 of the one that reads them, the base a
/// scalar from outside of the with-loop. None if `low > high`: no index gets as far as to read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowReads {
    pub array: Value,
    pub factor: i64,
    pub base: Option<Value>,
    pub low: i64,
    pub high: i64,
}

/// What a region reads of arrays from outside of it, each in one of the lists; those that are only asked for extents are in none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Those of an array with the same factor and base lie far from each other.
    pub rows: Vec<RowReads>,
    /// Any row may be read.
    pub whole: Vec<Value>,
}

/// Finds what with-loops of a function read.
pub struct RowFinder<'f> {
    func: &'f Func,
    defs: SecondaryMap<Value, Option<Inst>>,
}

/// An array of which one index reads more rows than these counts as read as a whole: to name the rows would save nothing.
const MOST_ROWS: i64 = 1 << 24;

/// What lies so near is one interval.
const NEAR: i64 = 128;

impl RowReads {
    /// Is it as well to name the rows of both, and those in between?
    fn is_near(&self, other: &RowReads) -> bool {
        let widest = (self.high - self.low).max(other.high - other.low);
        let both = hull((self.low, self.high), (other.low, other.high));
        (self.factor, self.base) == (other.factor, other.base) && both.1 - both.0 < NEAR + widest
    }
}

/// Definitions outside of the with-loop are followed so far.
const MOST_DEFS: usize = 6;

impl<'f> RowFinder<'f> {
    pub fn new(func: &'f Func) -> RowFinder<'f> {
        let mut defs = SecondaryMap::new();
        walk(func, func.body, &mut |_, inst| func.insts[inst].results.iter().for_each(|v| defs[*v] = Some(inst)));
        RowFinder { func, defs }
    }

    /// What the body of a partition reads at an index, whose row is its component of axis 0.
    pub fn of_part(&self, with: &With, part: &Part) -> Reads {
        let mut reader = Reader::new(self, part.body);
        reader.enter(with, part);
        reader.region(part.body);
        reader.finish(part.body)
    }

    /// The arrays that a region without an index reads, such as the function of a fold.
    pub fn of_region(&self, region: Region) -> Vec<Value> {
        let mut reader = Reader::new(self, region);
        reader.region(region);
        reader.finish(region).whole
    }
}

/// The index of axis 0.
struct Index {
    value: Interval,
    /// It is at least this base plus a number.
    lower: Option<(Value, i64)>,
    /// It is less than this base plus a number.
    upper: Option<(Value, i64)>,
}

impl Index {
    fn is_one_row(&self) -> bool {
        let ends = self.lower.zip(self.upper);
        self.value.0 == self.value.1 || ends.is_some_and(|((a, first), (b, end))| a == b && first + 1 == end)
    }

    /// Whether at this distance there is but one row that an array may have, of all that are equal but for a multiple of 2^32.
    fn is_unique(&self, distance: &Distance, base: Interval) -> bool {
        let own = span(self.value, distance.factor);
        own.0 + base.0 + distance.rows.0 >= ANY.0 && own.1 + base.1 + distance.rows.1 <= i64::from(u32::MAX)
    }
}

struct Reader<'a> {
    func: &'a Func,
    defs: &'a SecondaryMap<Value, Option<Inst>>,
    /// Nothing if rows are not to be told apart.
    index: Option<Index>,
    /// Values that the region or one in it defines.
    inside: HashSet<Value>,
    known: HashMap<Value, Known>,
    /// How arrays are read: these rows, in the order in which factors come up, or any.
    seen: HashMap<Value, Option<Vec<RowReads>>>,
}

impl<'a> Reader<'a> {
    fn new(finder: &'a RowFinder<'_>, region: Region) -> Reader<'a> {
        let func = finder.func;
        let mut inside: HashSet<Value> = func.regions[region].params.iter().copied().collect();
        walk(func, region, &mut |_, inst| {
            let data = &func.insts[inst];
            inside.extend(&data.results);
            data.op.regions().iter().for_each(|nested| inside.extend(&func.regions[*nested].params));
        });
        let (known, seen) = (HashMap::default(), HashMap::default());
        Reader { func, defs: &finder.defs, index: None, inside, known, seen }
    }

    /// Sets what is known of the index, if it has an axis 0 and its rows are not negative.
    fn enter(&mut self, with: &With, part: &Part) {
        let Generator::Known { lower, upper, .. } = &part.generator else { return };
        let (&[param, ..], [lower, ..], [upper, ..]) =
            (&self.func.regions[part.body].params[..], &lower[..], &upper[..])
        else {
            return;
        };
        let is_within_frame = with.ops.iter().any(|op| !matches!(op, WithOp::Fold { .. }));
        let mut above = self.known(*upper);
        if is_within_frame {
            // There is an index, which is not negative.
            above.value.0 = above.value.0.max(1);
            self.known.insert(*upper, above);
        }
        let below = self.known(*lower);
        let least = if is_within_frame { below.value.0.max(0) } else { below.value.0 };
        if least < 0 {
            return;
        }
        above.value.0 = above.value.0.max(least + 1);
        self.known.insert(*upper, above);
        let value = (least, above.value.1 - 1);
        self.index = Some(Index { value, lower: below.base, upper: above.base });
        let own = Distance::new(1, (0, 0), false);
        self.known.insert(param, Known { distance: own, ..Known::of(value) });
        self.bound_params(part, 1);
    }

    /// Sets what the generator says of the components of an index, from one axis on.
    fn bound_params(&mut self, part: &Part, from: usize) {
        let Generator::Known { lower, upper, .. } = &part.generator else { return };
        let params = &self.func.regions[part.body].params;
        for ((param, lower), upper) in params.iter().zip(lower).zip(upper).skip(from) {
            let between = self.between(*lower, *upper);
            self.known.insert(*param, between);
        }
    }

    /// What is known of a number that is at least `start` and below `end`.
    fn between(&self, start: Value, end: Value) -> Known {
        let (first, end) = (self.known(start), self.known(end));
        let below = |first: Interval, end: Interval| (first.0, end.1 - 1);
        let value = below(first.value, end.value);
        let distance = self.combined(first, end, below);
        Known { distance, ..Known::of((value.0, value.1.max(value.0))) }
    }

    fn region(&mut self, region: Region) {
        for &inst in &self.func.regions[region].insts {
            self.reads(inst);
            self.evaluate(inst);
        }
        for v in &self.func.regions[region].yields {
            self.read(*v, None);
        }
    }

    /// Notes what an instruction reads, but for regions in it.
    fn reads(&mut self, inst: Inst) {
        match &self.func.insts[inst].op {
            Op::Extent { .. } | Op::Rank(_) | Op::ShapeVec(_) => {}
            Op::Sel { array, index } => {
                let rows = index.first().and_then(|first| self.rows(*array, *first));
                self.read(*array, rows);
            }
            op => op.for_each_operand(|v| self.read(v, None)),
        }
    }

    fn read(&mut self, array: Value, rows: Option<RowReads>) {
        if self.inside.contains(&array) || self.func.ty(array).is_scalar() {
            return;
        }
        let seen = self.seen.entry(array).or_insert_with(|| Some(Vec::new()));
        match (&mut *seen, rows) {
            (Some(reads), Some(rows)) => match reads.iter_mut().find(|read| read.is_near(&rows)) {
                Some(read) => (read.low, read.high) = hull((read.low, read.high), (rows.low, rows.high)),
                None => reads.push(rows),
            },
            _ => *seen = None,
        }
    }

    /// The rows that a selection at this first index reads, if there are not too many.
    fn rows(&self, array: Value, first: Value) -> Option<RowReads> {
        let index = self.index.as_ref()?;
        let known = self.known(first);
        let is_sure = |distance: &Distance, base: Interval| !distance.wraps || index.is_unique(distance, base);
        let near = known.distance.filter(|distance| is_sure(distance, (0, 0)));
        let near = near.map(|distance| (distance.factor, distance.rows));
        // One row reads what it likes.
        let one = if index.is_one_row() { self.distance(&known, 1).map(|rows| (1, rows)) } else { None };
        let fits = |n: i64| n.abs() < ANY.1;
        let found = [near, one, Some((0, known.value))].into_iter().flatten().filter_map(|(factor, (low, high))| {
            let is_known = fits(low) && fits(high) && high - low < MOST_ROWS;
            is_known.then_some(RowReads { array, factor, base: None, low, high })
        });
        // Most exchanges are between neighbours: the own row comes first, whatever else is known.
        let found = found.min_by_key(|rows| (rows.factor != 1, rows.high - rows.low));
        let based = known.beside().filter(|(base, distance)| is_sure(distance, self.known(*base).value));
        let based = based.map(|(base, Distance { factor, rows: (low, high), .. })| RowReads {
            array,
            factor,
            base: Some(base),
            low,
            high,
        });
        found
            .into_iter()
            .chain(based.filter(|rows| rows.high - rows.low < MOST_ROWS))
            .min_by_key(|rows| rows.high - rows.low)
    }

    /// Bounds of what lies between a value and this multiple of the index, which may be wide.
    fn distance(&self, known: &Known, factor: i64) -> Option<Interval> {
        let index = self.index.as_ref()?;
        let own = span(index.value, factor);
        let mut rows = (known.value.0 - own.1, known.value.1 - own.0);
        if let Some(distance) = known.distance.filter(|distance| distance.factor == factor && !distance.wraps) {
            rows = (rows.0.max(distance.rows.0), rows.1.min(distance.rows.1));
        }
        let plus = |to: Option<(Value, i64)>| {
            let bases = known.base.zip(to).filter(|_| factor == 1);
            bases.and_then(|((base, a), (other, b))| (base == other).then_some(a - b))
        };
        if let Some(least) = plus(index.upper) {
            rows.0 = rows.0.max(least + 1);
        }
        if let Some(most) = plus(index.lower) {
            rows.1 = rows.1.min(most);
        }
        Some(rows)
    }

    /// The distance of a number that lies between two others in a way that shifts with them, if one of these has a distance.
    fn combined(&self, a: Known, b: Known, of: impl Fn(Interval, Interval) -> Interval) -> Option<Distance> {
        let factors = [a, b].into_iter().filter_map(|known| known.distance).map(|distance| distance.factor);
        let factor = factors.min_by_key(|factor| *factor != 1)?;
        Distance::new(factor, of(self.distance(&a, factor)?, self.distance(&b, factor)?), false)
    }

    /// Finds out what is known of an instruction's results, and goes through its regions.
    fn evaluate(&mut self, inst: Inst) {
        let data = &self.func.insts[inst];
        match &data.op {
            Op::If { then, els, .. } => {
                self.region(*then);
                self.region(*els);
                let yields = [*then, *els].map(|region| &self.func.regions[region].yields);
                for ((result, a), b) in data.results.iter().zip(yields[0]).zip(yields[1]) {
                    let either = either(self.known(*a), self.known(*b));
                    self.known.insert(*result, either);
                }
            }
            Op::Loop { init, body } => {
                for (at, (param, init)) in self.func.regions[*body].params.iter().zip(init).enumerate() {
                    if let Some(known) = self.counter(*body, at, *init) {
                        self.known.insert(*param, known);
                    }
                }
                self.region(*body);
            }
            Op::With(with) => {
                for part in &with.parts {
                    self.bound_params(part, 0);
                    self.region(part.body);
                }
                with.ops.iter().filter_map(WithOp::region).for_each(|region| self.region(region));
            }
            op => {
                if let &[result] = &data.results[..]
                    && let Some(known) = self.computed(op, &|v| self.known(v))
                {
                    self.known.insert(result, known);
                }
            }
        }
    }

    /// What is known of a loop's parameter that counts upwards below a bound.
    fn counter(&self, body: Region, at: usize, init: Value) -> Option<Known> {
        let data = &self.func.regions[body];
        let (param, next) = (data.params[at], *data.yields.get(at + 1)?);
        let op = |v: Value| Some(&self.func.insts[self.defs[v]?].op);
        let Op::Bin(BinOp::Add, a, b) = op(next)? else { return None };
        let step = if *a == param { *b } else { *a };
        let step = self.known(step).value;
        let is_step = (*a == param || *b == param) && step.0 == step.1 && step.0 > 0;
        let bound = match op(*data.yields.first()?)? {
            Op::Bin(BinOp::Lt, a, bound) | Op::Bin(BinOp::Gt, bound, a) if *a == next => *bound,
            _ => return None,
        };
        let (start, end) = (self.known(init), self.known(bound));
        // What is below the bound, or the start beyond it, takes one more step.
        if !is_step || start.value.1.max(end.value.1 - 1) + step.0 > ANY.1 {
            return None;
        }
        if let Some(ahead) = ahead(&start, &end) {
            let last = (ahead - 1).max(0) / step.0 * step.0;
            let to = |first: Interval| (first.0, first.1 + last);
            let distance = start.distance.filter(|distance| !distance.wraps);
            let distance = distance.and_then(|Distance { factor, rows, .. }| Distance::new(factor, to(rows), false));
            return Some(Known { distance, ..Known::of(to(start.value)) });
        }
        let mut known = self.between(init, bound);
        known.value.1 = known.value.1.max(start.value.1);
        known.distance = known.distance.and_then(|Distance { factor, rows, .. }| {
            Distance::new(factor, (rows.0, rows.1.max(self.distance(&start, factor)?.1)), false)
        });
        Some(known)
    }

    fn known(&self, v: Value) -> Known {
        self.known_within(v, MOST_DEFS)
    }

    fn known_within(&self, v: Value, depth: usize) -> Known {
        if let Some(known) = self.known.get(&v) {
            return *known;
        }
        let is_inside = self.inside.contains(&v);
        let base = if is_inside { None } else { Some((v, 0)) };
        let unknown = Known { base, ..Known::of(ANY) };
        if self.func.ty(v).elem != Elem::I32 || !self.func.ty(v).is_scalar() || depth == 0 {
            return unknown;
        }
        match self.defs[v].map(|inst| &self.func.insts[inst].op) {
            // What is inside is known by now, or is computed in a later iteration.
            Some(op) if !is_inside || matches!(op, Op::Const(_)) => {
                let known = self.computed(op, &|v| self.known_within(v, depth - 1));
                known.map_or(unknown, |known| Known { base: known.base.or(base), based: None, ..known })
            }
            _ => unknown,
        }
    }

    /// What is known of the result of arithmetic on `i32`.
    fn computed(&self, op: &Op, known: &dyn Fn(Value) -> Known) -> Option<Known> {
        Some(match op {
            Op::Const(Scalar::I32(n)) => Known::of((i64::from(*n), i64::from(*n))),
            Op::Extent { array, axis } => {
                let extents = self.func.ty(*array).shape.extents();
                let extent = extents.and_then(|extents| extents.get(*axis as usize)).and_then(|e| e.as_const());
                Known::of(extent.map_or((0, ANY.1), |n| (i64::from(n), i64::from(n))))
            }
            Op::Un(UnOp::Neg, a) if self.is_int(*a) => sum(Known::of((0, 0)), known(*a), -1),
            Op::Bin(op, a, b) if self.is_int(*a) => {
                let (a, b) = (known(*a), known(*b));
                match op {
                    BinOp::Add => sum(a, b, 1),
                    BinOp::Sub => sum(a, b, -1),
                    BinOp::Mul => product(a, b),
                    BinOp::Div => quotient(a, b)?,
                    BinOp::Min => self.extreme(a, b, i64::min),
                    BinOp::Max => self.extreme(a, b, i64::max),
                    _ => return None,
                }
            }
            Op::Select { then, els, .. } if self.is_int(*then) => either(known(*then), known(*els)),
            _ => return None,
        })
    }

    fn is_int(&self, v: Value) -> bool {
        self.func.ty(v).elem == Elem::I32 && self.func.ty(v).is_scalar()
    }

    /// The lesser or greater one of two numbers.
    fn extreme(&self, a: Known, b: Known, choose: fn(i64, i64) -> i64) -> Known {
        let of = |a: Interval, b: Interval| (choose(a.0, b.0), choose(a.1, b.1));
        Known { distance: self.combined(a, b, of), ..Known::of(of(a.value, b.value)) }
    }

    /// The arrays that were read, in the order in which the region first names them.
    fn finish(self, region: Region) -> Reads {
        let mut reads = Reads::default();
        for array in free_values(self.func, region) {
            match self.seen.get(&array) {
                Some(Some(rows)) => reads.rows.extend(rows),
                Some(None) => reads.whole.push(array),
                None => {}
            }
        }
        reads
    }
}
