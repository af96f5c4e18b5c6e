//! What is known of an `i32`: bounds of its value, and of its distance to a multiple of the index of axis 0, or to that and a value that is the same everywhere.
//!
//! Bounds of values hold as they stand. Distances may hold but for a multiple of 2^32, and say so.

use crate::ir::Value;

/// `low ..= high`.
pub type Interval = (i64, i64);

pub const ANY: Interval = (i32::MIN as i64, i32::MAX as i64);

/// Distances beyond this one are not kept, so that no sum or product of them exceeds an `i64`. Two `i32` are no further apart.
const FAR: i64 = 1 << 32;

/// What is known of an `i32`.
#[derive(Clone, Copy)]
pub struct Known {
    pub value: Interval,
    pub distance: Option<Distance>,
    /// It is this value, which is the same for all indices, plus a number.
    pub base: Option<(Value, i64)>,
    /// It is this value, and has this distance beside.
    pub based: Option<(Value, Distance)>,
}

/// A value is this many times the index of axis 0, and one of these rows.
#[derive(Clone, Copy)]
pub struct Distance {
    /// Not zero unless there is a base: what does not follow the index has bounds of its value alone.
    pub factor: i64,
    pub rows: Interval,
    /// They may be off by a multiple of 2^32.
    pub wraps: bool,
}

impl Known {
    pub fn of(value: Interval) -> Known {
        Known { value, distance: None, base: None, based: None }
    }

    fn number(&self) -> Option<i64> {
        (self.value.0 == self.value.1).then_some(self.value.0)
    }

    /// Its bounds, as a distance from nothing, and its distance.
    fn distances(&self) -> impl Iterator<Item = Distance> {
        self.distance.into_iter().chain([Distance { factor: 0, rows: self.value, wraps: false }])
    }

    /// A base, and the distance beside it.
    pub fn beside(&self) -> Option<(Value, Distance)> {
        let of = |(base, plus)| (base, Distance { factor: 0, rows: (plus, plus), wraps: false });
        self.based.or(self.base.map(of))
    }
}

impl Distance {
    /// Nothing if there is no such distance, or one too far.
    pub fn new(factor: i64, rows: Interval, wraps: bool) -> Option<Distance> {
        Distance::beside(factor, rows, wraps).filter(|distance| distance.factor != 0)
    }

    /// The same beside a base.
    pub fn beside(factor: i64, rows: Interval, wraps: bool) -> Option<Distance> {
        let is_near = |n: i64| (-FAR..=FAR).contains(&n);
        let is_kept = in_bounds((factor, factor)).is_some() && is_near(rows.0) && is_near(rows.1);
        is_kept.then_some(Distance { factor, rows, wraps })
    }

    /// The sum of this and `sign` times another one.
    fn plus(&self, by: &Distance, sign: i64, wraps: bool) -> Distance {
        let (rows, by_rows) = (self.rows, span(by.rows, sign));
        Distance {
            factor: self.factor + sign * by.factor,
            rows: (rows.0 + by_rows.0, rows.1 + by_rows.1),
            wraps: wraps || self.wraps || by.wraps,
        }
    }
}

pub fn hull(a: Interval, b: Interval) -> Interval {
    (a.0.min(b.0), a.1.max(b.1))
}

/// `factor` times what an interval has.
pub fn span((low, high): Interval, factor: i64) -> Interval {
    let ends = (low.saturating_mul(factor), high.saturating_mul(factor));
    if factor < 0 { (ends.1, ends.0) } else { ends }
}

/// The interval, if no `i32` wraps there.
fn in_bounds(value: Interval) -> Option<Interval> {
    (value.0 >= ANY.0 && value.1 <= ANY.1).then_some(value)
}

/// `a + sign * b`.
pub fn sum(a: Known, b: Known, sign: i64) -> Known {
    let plus = |a: Interval, b: Interval| (a.0 + b.0, a.1 + b.1);
    let value = in_bounds(plus(a.value, span(b.value, sign)));
    let base = match (a.base, b.base) {
        (Some((base, plus)), _) if b.number().is_some() => Some((base, plus + sign * b.value.0)),
        (_, Some((base, plus))) if a.number().is_some() && sign > 0 => Some((base, plus + a.value.0)),
        _ => None,
    };
    let wraps = value.is_none();
    let mut value = value.unwrap_or(ANY);
    let mut nearest: Option<Distance> = None;
    // An offset that is cut where the index comes near a border has a distance, too, but its bounds tell more. So the narrowest of all sums counts.
    let pairs = a.distances().flat_map(|near| b.distances().map(move |by| (near, by)));
    for (near, by) in pairs.filter(|(near, by)| near.factor != 0 || by.factor != 0) {
        let sum = near.plus(&by, sign, wraps);
        if sum.factor == 0
            && let Some(rows) = in_bounds(sum.rows)
        {
            // The index cancels out. Two `i32` that are equal but for a multiple of 2^32 are equal.
            value = (value.0.max(rows.0), value.1.min(rows.1));
        }
        let rank = |sum: &Distance| (sum.rows.1 - sum.rows.0, sum.factor != 1);
        nearest = nearest.into_iter().chain([sum]).min_by_key(rank);
    }
    let distance = nearest.and_then(|Distance { factor, rows, wraps }| Distance::new(factor, rows, wraps));
    // One of them has a base, and what is known of the other is beside it.
    let left =
        a.beside().into_iter().flat_map(|(v, near)| b.distances().map(move |by| (v, near.plus(&by, sign, wraps))));
    let right = b.beside().filter(|_| sign > 0).into_iter();
    let right = right.flat_map(|(v, near)| a.distances().map(move |by| (v, near.plus(&by, 1, wraps))));
    let based = left.chain(right).min_by_key(|(_, sum)| sum.rows.1 - sum.rows.0);
    let based = based.and_then(|(v, sum)| Some((v, Distance::beside(sum.factor, sum.rows, sum.wraps)?)));
    Known { value, distance, base: base.filter(|_| !wraps), based }
}

/// `a * b`.
pub fn product(a: Known, b: Known) -> Known {
    let value = in_bounds(hull(span(a.value, b.value.0), span(a.value, b.value.1)));
    let times = |near: Option<Distance>, by: Option<i64>| {
        let (Distance { factor, rows, wraps }, by) = near.zip(by)?;
        Distance::new(factor.saturating_mul(by), span(rows, by), wraps || value.is_none())
    };
    let distance = times(a.distance, b.number()).or(times(b.distance, a.number()));
    Known { distance, ..Known::of(value.unwrap_or(ANY)) }
}

/// `a / b`, rounded towards zero, if `b` is a positive number.
pub fn quotient(a: Known, b: Known) -> Option<Known> {
    let by = b.number().filter(|by| *by > 0)?;
    Some(Known::of((a.value.0 / by, a.value.1 / by)))
}

/// One of two numbers.
pub fn either(a: Known, b: Known) -> Known {
    let distances = a.distance.zip(b.distance).filter(|(a, b)| a.factor == b.factor);
    let distance = distances.map(|(a, b)| Distance { rows: hull(a.rows, b.rows), wraps: a.wraps || b.wraps, ..a });
    Known { distance, base: a.base.filter(|base| b.base == Some(*base)), ..Known::of(hull(a.value, b.value)) }
}

/// How much further one number is than another, if that is the same wherever they are.
pub fn ahead(from: &Known, to: &Known) -> Option<i64> {
    let number =
        |distance: Distance| (!distance.wraps && distance.rows.0 == distance.rows.1).then_some(distance.rows.0);
    let near = |(a, b): (Distance, Distance)| Some(number(b)? - number(a)?).filter(|_| a.factor == b.factor);
    let numbers = from.number().zip(to.number()).map(|(a, b)| b - a);
    let based = || from.base.zip(to.base).and_then(|((a, from), (b, to))| (a == b).then_some(to - from));
    numbers.or_else(|| from.distance.zip(to.distance).and_then(near)).or_else(based)
}
