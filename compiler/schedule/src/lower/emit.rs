//! The state of the code under construction: open regions, what they have computed, where results are to be built.

use ravel_source::Span;
use ravel_types::{Elem, HashSet};
use ravel_wir::Value;
use rustc_hash::FxHashMap;

use crate::facts::{Ext, Val};

/// Something computed once and good for the region that computed it and those nested in it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// Data pointer of an object.
    Data(Val),
    /// Extent of an axis of an object.
    Extent(Val, usize),
    /// 64-bit value of an `i32` scalar.
    Wide(Value),
    /// `i32` value of an index that exists in 64 bits.
    Narrow(Value),
    /// First value times a constant, times a second one if present.
    Scaled(Val, i64, Option<Val>),
    /// Address plus bytes.
    Address(Val, Val),
}

pub(crate) type Cache = FxHashMap<Key, Val>;

/// Code under construction, apart from its builder.
#[derive(Default)]
pub(crate) struct Emit {
    /// What has been computed and is at hand.
    pub cache: Cache,
    /// The same around each open region.
    pub outside: Vec<Cache>,
    /// Cells that are built where the array that is written out of them will have them.
    pub placed: HashSet<Value>,
    /// Arrays of which the partition in hand reads rows around its own, so that nobody asks for the whole.
    pub rows: Vec<RowsRead>,
    /// What the with-loop in hand leaves around its partition.
    pub borders: Vec<Border>,
    /// Where the program is that code is made of.
    pub at: Option<Span>,
    /// What a profile had to guess of the site in hand, and whether that is a loop.
    pub guesses: u32,
    pub in_loop_site: bool,
}

/// Rows of an array that a body reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowsRead {
    pub object: Val,
    pub reach: Reach,
}

/// Rows `factor * i + base + low` to `factor * i + base + high`, both included, at index `i` of axis 0. The base is the same at all indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reach {
    pub factor: i64,
    pub base: Option<Value>,
    pub low: i64,
    pub high: i64,
}

impl Reach {
    /// The row of the index.
    pub const OWN: Reach = Reach { factor: 1, base: None, low: 0, high: 0 };

    /// An index that reads more rows than these, and than the next one is further, reads too many.
    const MOST_ROWS: i64 = 256;

    /// Is it as well to get all of these rows?
    pub fn is_narrow(&self) -> bool {
        self.high.checked_sub(self.low).is_some_and(|rows| (0..Reach::MOST_ROWS + self.factor.abs()).contains(&rows))
    }

    /// Do both lie at the same place but for a number of rows?
    pub fn is_beside(&self, other: &Reach) -> bool {
        (self.factor, self.base) == (other.factor, other.base)
    }

    /// Both, if they lie beside each other, and what lies in between.
    pub fn with(self, other: Reach) -> Reach {
        Reach { low: self.low.min(other.low), high: self.high.max(other.high), ..self }
    }

    /// May both be told as one?
    pub fn is_near(&self, other: &Reach) -> bool {
        self.is_beside(other) && self.with(*other).is_narrow()
    }

    /// The rows that another one beside it does not have, below and above these.
    pub fn without(self, other: &Reach) -> impl Iterator<Item = Reach> {
        let below = Reach { high: self.high.min(other.low.saturating_sub(1)), ..self };
        let above = Reach { low: self.low.max(other.high.saturating_add(1)), ..self };
        [below, above].into_iter().filter(|rows| rows.low <= rows.high)
    }

    /// Does it have all rows of another one?
    pub fn has(&self, other: &Reach) -> bool {
        self.is_beside(other) && self.low <= other.low && other.high <= self.high
    }
}

/// What happens to the elements outside of a box.
#[derive(Clone, Copy)]
pub(crate) enum Rest {
    Copy { to: Val, from: Val },
    Fill { to: Val, value: Val },
}

/// The elements that a box of a with-loop leaves, and what they become.
pub(crate) struct Border {
    pub elem: Elem,
    pub what: Rest,
    /// The array that they are copied from.
    pub of: Option<Val>,
    pub lower: Vec<Value>,
    pub upper: Vec<Value>,
    pub extents: Vec<Ext>,
    pub strides: Vec<Ext>,
}

/// What lies around a partition.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    /// What the only partition leaves.
    pub borders: &'a [Border],
    /// Thin partitions beside it, by number.
    pub thin: &'a [usize],
}

impl Around<'_> {
    pub const NOTHING: Around<'static> = Around { borders: &[], thin: &[] };
}
