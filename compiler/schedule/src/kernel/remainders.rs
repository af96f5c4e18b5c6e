//! Stretches: how an axis of a kernel is cut into steps.
//!
//! Most of an axis is walked in steps of several vectors. What these leave is covered by fewer vectors, the last of which may overlap
//! the one before, or by single indices; where results are stored past the caches, single indices or a vector come first, up to where vectors
//! are aligned.

use ravel_nest::ir::{BinOp as NestBin, IntCmp};
use ravel_wir::Value;

use crate::facts::{Chunk, Val, Walk};
use crate::kernel::collapsed_rows::FlatBounds;
use crate::lower::Lower;

/// Bytes of the shortest vectors, and of an index in a lane.
const LEAST_VECTOR: usize = 16;
const INDEX_BYTES: usize = 4;
/// Nothing keeps the vectors of a step from being stored past the caches.
const ALL: usize = usize::MAX;

/// A stretch of a vector axis that is walked in equal steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub low: Val,
    pub high: Val,
    pub lanes: u8,
    pub u: usize,
    /// First indices of the steps.
    pub walk: Walk,
    /// Where a step begins at the latest: one that would reach beyond the end begins here, and overlaps the one before.
    pub latest: Option<Val>,
    /// Where the last vector of a step begins, if it overlaps the one before.
    pub last: Option<usize>,
    /// How many vectors of a step may be stored past the caches; those after them share lines with vectors that begin elsewhere.
    pub streamed: usize,
    /// Position of the first index between those that a partition with steps has.
    pub phase: i64,
}

impl Stretch {
    /// Steps of `u` vectors from `low` to `high`, none of which overlap.
    pub fn new((low, high): (Val, Val), lanes: u8, u: usize, walk: Walk) -> Stretch {
        Stretch { low, high, lanes, u, walk, latest: None, last: None, streamed: ALL, phase: 0 }
    }

    /// Single indices.
    pub fn singles(low: Val, high: Val) -> Stretch {
        Stretch::new((low, high), 1, 1, Walk::ANY)
    }

    /// Is there exactly one step?
    pub fn is_single(&self) -> bool {
        self.walk.trips == Some(1)
    }
}
impl Lower<'_, '_> {
    /// Cuts an axis into stretches: steps of `u` copies of `lanes` indices, then single vectors, then single indices.
    ///
    /// With `overlap` indices may be visited twice. The first `peel` indices, fewer than lanes, come before the steps, so that these are
    /// stored past the caches; nothing if the kernel does not do that.
    pub fn stretches(
        &mut self,
        (lower, upper): (Value, Value),
        chunk: Option<Chunk>,
        lanes: u8,
        u: usize,
        overlap: bool,
        peel: Option<i64>,
    ) -> Vec<Stretch> {
        let whole = self.const_i32(lower).zip(self.const_i32(upper)).filter(|_| chunk.is_none());
        if let Some((low, high)) = whole {
            return self.const_stretches(low, high, lanes, u, overlap, peel);
        }
        let (low, high) = match chunk {
            Some(chunk) => (chunk.low, chunk.high),
            None => (self.wide(lower), self.wide(upper)),
        };
        let peel = peel.unwrap_or(0);
        let wide = lanes;
        let overlap = overlap && lanes > 1;
        let mut sizes = vec![(lanes, u)];
        if u > 1 && lanes > 1 {
            sizes.push((lanes, 1));
        }
        if u > 1 || lanes > 1 {
            sizes.push((1, 1));
        }
        // Chunks begin at equal remainders.
        let grain = chunk.map_or(0, |chunk| chunk.grain);
        let first = self.const_i32(lower).map(|low| low + peel).filter(|_| grain % i64::from(lanes) == 0);
        let mut stretches = Vec::new();
        let mut start = low;
        if peel > 0 {
            let distance = self.b.i64(peel);
            let end = self.b.add(low, distance);
            let end = self.b.binary(NestBin::SMin, end, high);
            stretches.push(Stretch::singles(low, end));
            start = end;
        }
        for (lanes, u) in sizes {
            let step = u as i64 * i64::from(lanes);
            // Shorter steps begin where longer ones, of a multiple of the length, end.
            let same = if grain % step == 0 { step } else { i64::from(lanes) };
            let walk = Walk { start: first, grain: same, trips: None };
            if step == 1 {
                if overlap && stretches.last().is_some_and(|s: &Stretch| s.latest.is_none()) {
                    start = self.overlapping_stretch(&mut stretches, (low, start, high), wide);
                }
                stretches.push(Stretch::new((start, high), lanes, u, walk));
                continue;
            }
            if overlap && u == 1 && stretches.len() > usize::from(peel > 0) {
                // What longer steps leave.
                start = self.overlapping_stretch(&mut stretches, (low, start, high), wide);
                continue;
            }
            // The last start of a whole step is at most `high - step`.
            let last = self.b.i64(step - 1);
            let end = self.b.sub(high, last);
            stretches.push(Stretch::new((start, end), lanes, u, walk));
            let length = self.b.sub(high, start);
            let zero = self.b.i64(0);
            let length = self.b.binary(NestBin::SMax, length, zero);
            let whole = if step.count_ones() == 1 {
                let mask = self.b.i64(-step);
                self.b.binary(NestBin::And, length, mask)
            } else {
                let step = self.b.i64(step);
                let steps = self.b.binary(NestBin::SDiv, length, step);
                self.b.mul(steps, step)
            };
            start = self.b.add(start, whole);
        }
        stretches
    }

    /// The same for rows that are walked as one.
    pub fn flat_stretches(
        &mut self,
        axis: (Value, Value),
        bounds: FlatBounds,
        lanes: u8,
        u: usize,
        overlap: bool,
    ) -> Vec<Stretch> {
        match bounds {
            FlatBounds::Const(elements) => self.const_stretches(0, elements, lanes, u, overlap, None),
            FlatBounds::Run(elements) => self.stretches(axis, Some(elements), lanes, u, overlap, None),
        }
    }

    /// Puts shorter vectors in front of the single indices at the end, where vectors must not overlap.
    pub fn narrow_rest(&mut self, stretches: &mut Vec<Stretch>, lanes: u8, bytes: usize) {
        let Some(singles) = stretches.pop_if(|last| last.lanes == 1 && last.u == 1) else { return };
        let mut rest = singles;
        let mut wide = lanes / 2;
        while usize::from(wide) * bytes.min(INDEX_BYTES) >= LEAST_VECTOR {
            let width = i64::from(wide);
            match (rest.walk.start, rest.walk.trips) {
                (Some(start), Some(trips)) => {
                    if trips >= width {
                        stretches.push(self.const_stretch(start, trips / width, wide, 1));
                        rest = self.const_stretch(start + trips / width * width, trips % width, 1, 1);
                    }
                }
                _ => {
                    // What is left is less than two of them.
                    let last = self.b.i64(width - 1);
                    let end = self.b.sub(rest.high, last);
                    stretches.push(Stretch::new((rest.low, end), wide, 1, Walk::ANY));
                    let (length, mask, zero) = (self.b.sub(rest.high, rest.low), self.b.i64(-width), self.b.i64(0));
                    let length = self.b.binary(NestBin::SMax, length, zero);
                    let done = self.b.binary(NestBin::And, length, mask);
                    let start = self.b.add(rest.low, done);
                    rest = Stretch::singles(start, rest.high);
                }
            }
            wide /= 2;
        }
        if rest.walk.trips != Some(0) {
            stretches.push(rest);
        }
    }

    /// Single vectors from `start` to the end of an axis, the last of which ends there, if the axis from `low` on has a vector at all; returns where scalars
    /// begin.
    fn overlapping_stretch(
        &mut self,
        stretches: &mut Vec<Stretch>,
        (low, start, high): (Val, Val, Val),
        lanes: u8,
    ) -> Val {
        let wide = self.b.i64(i64::from(lanes));
        let latest = self.b.sub(high, wide);
        let fits = self.b.icmp(IntCmp::Sle, low, latest);
        let end = self.b.select(fits, high, start);
        stretches.push(Stretch { latest: Some(latest), ..Stretch::new((start, end), lanes, 1, Walk::ANY) });
        end
    }

    fn const_stretches(
        &mut self,
        low: i64,
        high: i64,
        lanes: u8,
        u: usize,
        overlap: bool,
        peel: Option<i64>,
    ) -> Vec<Stretch> {
        let mut stretches = Vec::new();
        let mut start = low;
        let wide = i64::from(lanes);
        let streams = peel.is_some();
        if let Some(peel @ 1..) = peel
            && overlap
            && high - low >= 2 * wide * u as i64
        {
            // The line of the first vector that begins one is not done yet when that is stored.
            if u > 1 {
                let pair = self.const_stretch(low, 1, lanes, 2);
                stretches.push(Stretch { last: Some(peel as usize), streamed: 0, ..pair });
            } else {
                stretches.extend(
                    [low, low + peel].map(|first| Stretch { streamed: 0, ..self.const_stretch(first, 1, lanes, 1) }),
                );
            }
            start = low + peel + wide;
        }
        let left = (high - start).max(0) % (wide * u as i64);
        if overlap && left > wide && left % wide != 0 && (left + wide - 1) / wide <= u as i64 {
            // All that is left is one step, too.
            let trips = (high - start) / (wide * u as i64);
            if trips > 0 {
                stretches.push(self.const_stretch(start, trips, lanes, u));
            }
            let vectors = ((left + wide - 1) / wide) as usize;
            let step = self.const_stretch(high - left, 1, lanes, vectors);
            // The line that both of the last two vectors write stays in a cache.
            stretches.push(Stretch { last: Some((left - wide) as usize), streamed: vectors - 2, ..step });
            return stretches;
        }
        let rest = left / wide;
        let mut sizes = vec![(lanes, u)];
        if u > 1 && rest > 0 {
            // All that is left in one go, if it fits the registers as the whole step does.
            sizes.push((lanes, rest as usize));
        }
        sizes.push((1, 1));
        for (lanes, u) in sizes {
            if overlap && lanes == 1 && (1..wide).contains(&(high - start)) && high - low >= wide {
                stretches.push(self.const_stretch(high - wide, 1, wide as u8, 1));
                break;
            }
            let step = i64::from(lanes) * u as i64;
            let mut trips = (high - start) / step;
            let left = (high - start) % step;
            // The single vector that will overlap the last one here shares a line with it.
            let shared = streams && overlap && trips > 0 && (1..wide).contains(&left);
            if shared {
                trips -= 1;
            }
            if trips > 0 {
                stretches.push(self.const_stretch(start, trips, lanes, u));
                start += trips * step;
            }
            if shared {
                stretches.push(Stretch { streamed: u - 1, ..self.const_stretch(start, 1, lanes, u) });
                start += step;
            }
        }
        stretches
    }

    /// Stretches of one step each.
    pub fn separated(&mut self, stretches: Vec<Stretch>) -> Vec<Stretch> {
        let mut single = Vec::new();
        for stretch in stretches {
            match (stretch.walk.start, stretch.walk.trips) {
                (Some(start), Some(trips)) if trips > 1 => {
                    let steps = (0..trips)
                        .map(|k| self.const_stretch(start + k * stretch.walk.grain, 1, stretch.lanes, stretch.u));
                    single.extend(steps);
                }
                _ => single.push(stretch),
            }
        }
        single
    }

    pub fn const_stretch(&mut self, start: i64, trips: i64, lanes: u8, u: usize) -> Stretch {
        let step = i64::from(lanes) * u as i64;
        let (low, high) = (self.b.i64(start), self.b.i64(start + trips * step));
        Stretch::new((low, high), lanes, u, Walk { start: Some(start), grain: step, trips: Some(trips) })
    }

    /// Cuts a vector axis of at least one vector where the bounds of folds are the same for `even` only: single steps, a loop of equal
    /// steps in the middle, single steps. The last vector may overlap the one before.
    pub fn uneven_stretches(&mut self, low: i64, high: i64, even: (i64, i64), lanes: u8, u: usize) -> Vec<Stretch> {
        let (wide, step) = (i64::from(lanes), i64::from(lanes) * u as i64);
        let mut stretches = Vec::new();
        // The middle starts and ends at whole vectors.
        let from = low + (even.0 - low + wide - 1) / wide * wide;
        let trips = (even.1 - from).max(0) / step;
        let (from, to) = if trips > 1 { (from, from + trips * step) } else { (high, high) };
        let mut start = low;
        while high - start >= wide {
            if start == from {
                stretches.push(self.const_stretch(start, trips, lanes, u));
                start = to;
                continue;
            }
            let end = if start < from { from } else { high };
            let vectors = ((end - start) / wide).clamp(1, u as i64);
            stretches.push(self.const_stretch(start, 1, lanes, vectors as usize));
            start += vectors * wide;
        }
        if start < high {
            stretches.push(self.const_stretch(high - wide, 1, lanes, 1));
        }
        stretches
    }
}
