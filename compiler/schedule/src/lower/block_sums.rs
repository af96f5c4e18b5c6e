//! Sums of many reals: blocks are added up by themselves, and then to a total that keeps what rounding took from it.
//!
//! ```text
//!    for i = low to high (s = s0) { s + x[i] }
//! => for b = low to high step 32 (s = s0, e = 0) {
//!      for i = b to min(b + 32, high) (t = 0) { t + x[i] }
//!      (s, e) = s + e + t, rounded, and what rounding took
//!    }
//!    s
//! ```
//!
//! One accumulator of `float` that takes 10^7 equal numbers is wrong from the third digit on: each addition rounds the same way. A block of 32 is
//! right to half a dozen units in the last place, and the error of the total does not grow with its length. The blocks depend on the
//! index set alone.
//!
//! Leaves alone: sums that are known to be short, those of `double`, whose errors nobody sees at these lengths, and all that do not regroup.

use ravel_nest::ir::FloatCmp;
use ravel_types::{BinOp, Elem, Scalar};

use crate::facts::Val;
use crate::lower::{Lower, scalars};

/// Additions that a block makes to one accumulator.
const BLOCK: i64 = 32;

/// Sums of at most so many additions to one accumulator are made in one go.
const SHORT: i64 = 64;

/// For how many additions one partial result counts: these are long sums already, and few.
pub(crate) const PARTIAL_ADDITIONS: i64 = BLOCK / 2;

/// Does adding up cells of this type round so much that long sums are cut into blocks?
pub(crate) fn wants_blocks(op: BinOp, elem: Elem) -> bool {
    op == BinOp::Add && elem == Elem::F32
}

/// What a loop adds up: carried values that become one sum, the first of them. All are of one type.
pub(crate) struct Sum {
    pub elem: Elem,
    pub places: Vec<usize>,
}

/// A loop that adds up blocks, while it is open.
pub(crate) struct Blocks {
    sums: Vec<Sum>,
    /// The carried values at the beginning of the block.
    outer: Vec<Val>,
    /// What was lost so far, by sum.
    lost: Vec<Val>,
}

impl Lower<'_, '_> {
    /// Begins a loop whose body adds to `sums`, `additions` times an iteration; the index and the carried values inside. It is one plain loop if
    /// there is nothing to add, or for certain not much (`trips`).
    pub fn begin_block_sums(
        &mut self,
        (low, high, step): (Val, Val, Val),
        (trips, additions): (Option<i64>, i64),
        carried: &[Val],
        sums: Vec<Sum>,
    ) -> (Val, Vec<Val>, Option<Blocks>) {
        let additions = additions.clamp(1, BLOCK);
        if sums.is_empty() || trips.is_some_and(|trips| trips * additions <= SHORT) {
            let (i, inside) = self.b.begin_for(low, high, step, carried);
            return (i, inside, None);
        }
        let length = self.times(step, BLOCK / additions);
        let mut with_lost = carried.to_vec();
        for sum in &sums {
            with_lost.push(self.zeros(sum.elem, carried[sum.places[0]]));
        }
        let (block, mut outer) = self.b.begin_for(low, high, length, &with_lost);
        let lost = outer.split_off(carried.len());
        let end = self.b.add(block, length);
        let end = self.b.binary(ravel_nest::ir::BinOp::SMin, end, high);
        let mut starts = outer.clone();
        for sum in &sums {
            for &place in &sum.places {
                starts[place] = self.zeros(sum.elem, starts[place]);
            }
        }
        let (i, inside) = self.b.begin_for(block, end, step, &starts);
        (i, inside, Some(Blocks { sums, outer, lost }))
    }

    /// Ends the loop; the carried values behind it.
    pub fn end_block_sums(&mut self, blocks: Option<Blocks>, next: &[Val]) -> Vec<Val> {
        let mut next = self.b.end_for(next);
        let Some(Blocks { sums, outer, lost }) = blocks else { return next };
        let mut all_lost = Vec::new();
        for (sum, lost) in sums.iter().zip(&lost) {
            let mut block = next[sum.places[0]];
            for &place in &sum.places[1..] {
                block = self.added(sum.elem, block, next[place]);
                // What is there stays until the loop ends.
                next[place] = outer[place];
            }
            let (total, lost) = self.add_keeping(sum.elem, (outer[sum.places[0]], *lost), block);
            next[sum.places[0]] = total;
            all_lost.push(lost);
        }
        let count = next.len();
        next.extend(all_lost);
        let mut behind = self.b.end_for(&next);
        behind.truncate(count);
        behind
    }

    /// Zero in as many lanes as `like` has.
    fn zeros(&mut self, elem: Elem, like: Val) -> Val {
        let lanes = self.b.ty(like).lanes;
        self.zero_vector(elem, lanes)
    }

    /// Zero in so many lanes.
    pub fn zero_vector(&mut self, elem: Elem, lanes: u8) -> Val {
        let zero = if elem == Elem::F32 { Scalar::F32(0.0) } else { Scalar::F64(0.0) };
        scalars::constant(&mut self.b, zero, lanes)
    }

    fn added(&mut self, elem: Elem, x: Val, y: Val) -> Val {
        let arith = self.arith();
        scalars::binary(&mut self.b, arith, BinOp::Add, elem, x, y)
    }

    /// A total, what it has lost, which is below its last place, and a number that is added.
    fn add_keeping(&mut self, elem: Elem, (total, lost): (Val, Val), x: Val) -> (Val, Val) {
        let arith = self.arith();
        let sum = self.added(elem, total, x);
        let came = scalars::binary(&mut self.b, arith, BinOp::Sub, elem, total, sum);
        let error = self.added(elem, came, x);
        let lost = self.added(elem, lost, error);
        // What is lost would have a rounding error of its own if it grew.
        let next = self.added(elem, sum, lost);
        let came = scalars::binary(&mut self.b, arith, BinOp::Sub, elem, sum, next);
        let lost = self.added(elem, came, lost);
        // Of what is infinite nothing can be lost.
        let is_number = self.b.fcmp(FloatCmp::Eq, next, next);
        (self.b.select(is_number, next, sum), lost)
    }
}
