//! Who computes which chunks, what that leaves where, and whether it pays: pure functions of numbers that are equal on all ranks.

use super::intervals::Interval;
use crate::abi::Output;

/// Chunks `first`, `first + step` and so on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stretch {
    first: i64,
    step: i64,
    count: i64,
}

impl Stretch {
    /// The part of rank `rank` of `chunks` chunks.
    fn of(chunks: i64, in_turn: bool, rank: i64, ranks: i64) -> Stretch {
        if in_turn {
            return Stretch { first: rank, step: ranks, count: (chunks - rank + ranks - 1).max(0) / ranks };
        }
        let bound = |rank: i64| (i128::from(chunks) * i128::from(rank) / i128::from(ranks)) as i64;
        Stretch { first: bound(rank), step: 1, count: bound(rank + 1) - bound(rank) }
    }
}

/// A parallel loop that ranks share: `n` indices in chunks of `chunk`, the last `late` of which are begun when all others have been.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Loop {
    pub n: i64,
    pub chunk: i64,
    pub late: i64,
    /// Ranks take chunks in turn, not stretches of them: chunks take different times.
    pub in_turn: bool,
}

impl Loop {
    pub fn chunks(&self) -> i64 {
        if self.n <= 0 { 0 } else { (self.n - 1) / self.chunk + 1 }
    }

    /// The chunks of one rank: its part of those that are not late, and of those that are.
    pub fn part(&self, rank: usize, ranks: usize) -> Part {
        let (rank, ranks) = (rank as i64, ranks as i64);
        let late = self.late.min(self.chunks());
        let early = self.chunks() - late;
        let first = Stretch::of(early, self.in_turn, rank, ranks);
        // Who has one chunk less of the first has one more of the late ones.
        let then = Stretch::of(late, self.in_turn, ranks - 1 - rank, ranks);
        Part { first, then: Stretch { first: then.first + early, ..then } }
    }

    /// The indices of the chunks of a part, if these lie side by side.
    pub fn indices(&self, part: &Part) -> Option<Interval> {
        let Part { first: Stretch { first, step, count }, then } = *part;
        let index = |chunk: i64| chunk.saturating_mul(self.chunk).min(self.n);
        (step == 1 && then.count == 0).then(|| Interval::new(index(first), index(first + count)))
    }

    /// Are the bytes that a rank leaves in an output one piece of memory, behind those of the rank before?
    pub fn is_contiguous(&self, output: &Output) -> bool {
        !self.in_turn && self.late == 0 && output.pieces == 1 && output.bytes == output.stride
    }

    /// The pieces of memory, as offset from the base and length, that the chunks of a part leave in an output.
    pub fn pieces(&self, part: &Part, output: &Output, mut piece: impl FnMut(i64, i64)) {
        for stretch in [part.first, part.then] {
            let whole = stretch.step == 1;
            let steps = if whole { i64::from(stretch.count > 0) } else { stretch.count };
            for step in 0..steps {
                let from = stretch.first + step * stretch.step;
                let to = if whole { from + stretch.count } else { from + 1 };
                let bound = |chunk: i64| {
                    let index = chunk.saturating_mul(self.chunk).min(self.n);
                    // The unit belongs to the chunk that has its first index.
                    let unit = index / output.per + i64::from(index % output.per != 0);
                    unit.clamp(output.first, output.end.max(output.first)) - output.first
                };
                let (low, high) = (bound(from), bound(to));
                if output.pieces == 1 && output.bytes == output.stride {
                    if high > low {
                        piece(low * output.stride, (high - low) * output.stride);
                    }
                    continue;
                }
                for unit in low..high {
                    for k in 0..output.pieces {
                        piece(unit * output.stride + k * output.pitch, output.bytes);
                    }
                }
            }
        }
    }

    /// How many bytes the chunks of a part leave in an output.
    pub fn bytes(&self, part: &Part, output: &Output) -> i64 {
        let mut bytes = 0;
        let one = Output { bytes: output.stride, pieces: 1, pitch: 0, ..*output };
        self.pieces(part, &one, |_, length| bytes += length);
        if output.stride == 0 { 0 } else { bytes / output.stride * output.bytes * output.pieces }
    }
}

/// The chunks that one rank computes, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    first: Stretch,
    then: Stretch,
}

impl Part {
    pub fn count(&self) -> i64 {
        self.first.count + self.then.count
    }

    /// How many of them are late.
    pub fn late(&self) -> i64 {
        self.then.count
    }

    /// The number of the `k`th chunk.
    pub fn chunk(&self, k: i64) -> i64 {
        let Part { first, then } = self;
        if k < first.count { first.first + k * first.step } else { then.first + (k - first.count) * then.step }
    }
}

/// What a rank computes of a loop, in pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pieces {
    /// Chunks of a loop.
    Chunks(Loop, Part),
    /// Indices, in pieces of so many.
    Indices([Interval; 2], i64),
}

impl Pieces {
    pub fn count(&self) -> i64 {
        match self {
            Pieces::Chunks(_, part) => part.count(),
            Pieces::Indices(stretches, chunk) => stretches.iter().map(|stretch| pieces_of(*stretch, *chunk)).sum(),
        }
    }

    /// How many of them are late.
    pub fn late(&self) -> i64 {
        match self {
            Pieces::Chunks(_, part) => part.late(),
            Pieces::Indices(..) => 0,
        }
    }

    /// The indices of the `k`th piece.
    pub fn indices(&self, k: i64) -> Interval {
        match self {
            Pieces::Chunks(given, part) => {
                let low = part.chunk(k) * given.chunk;
                Interval::new(low, given.n.min(low.saturating_add(given.chunk)))
            }
            Pieces::Indices([first, then], chunk) => {
                let before = pieces_of(*first, *chunk);
                let (stretch, k) = if k < before { (first, k) } else { (then, k - before) };
                let low = stretch.low + k * chunk;
                Interval::new(low, stretch.high.min(low.saturating_add(*chunk)))
            }
        }
    }
}

fn pieces_of(stretch: Interval, chunk: i64) -> i64 {
    if stretch.is_empty() { 0 } else { (stretch.len() - 1) / chunk + 1 }
}

/// What moving bytes costs, and computing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Costs {
    /// Seconds until all ranks have heard of each other.
    pub latency: f64,
    /// Bytes that a rank receives in a second.
    pub bandwidth: f64,
    /// Threads of a rank.
    pub threads: f64,
}

/// Cycles in a second, about: estimates of work are no better.
const CYCLES_PER_SECOND: f64 = 3e9;

/// Ranks share a loop if it takes at most this part of the time then. Estimates are rough, and what gains little may as well lose.
const WORTH: f64 = 0.8;

impl Costs {
    /// Is a loop of so many cycles done earlier if ranks share it, get so many bytes for it, and then send each other its results? Where they do not share
    /// it, each of them needs `gathered` bytes.
    pub fn pays(&self, cycles: f64, (needed, results, gathered): (f64, f64, f64), ranks: usize) -> bool {
        let ranks = ranks as f64;
        let others = (ranks - 1.0) / ranks / self.bandwidth;
        let alone = cycles / CYCLES_PER_SECOND / self.threads;
        let moving = self.latency + needed / self.bandwidth + results * others;
        alone / ranks + moving < (alone + gathered * others) * WORTH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Output = Output {
        base: std::ptr::null_mut(),
        object: std::ptr::null_mut(),
        per: 1,
        first: 0,
        end: 0,
        stride: 1,
        bytes: 1,
        pieces: 1,
        pitch: 0,
    };

    /// All loops of some small sizes.
    fn loops() -> impl Iterator<Item = Loop> {
        let sizes = (0..14).flat_map(|n| (1..4).map(move |chunk| (n, chunk)));
        let with_late = sizes.flat_map(|(n, chunk)| (0..4).map(move |late| (n, chunk, late)));
        with_late.flat_map(|(n, chunk, late)| [false, true].map(|in_turn| Loop { n, chunk, late, in_turn }))
    }

    #[test]
    fn every_chunk_is_computed_once() {
        for (given, ranks) in loops().flat_map(|given| (1..7).map(move |ranks| (given, ranks))) {
            for rank in 0..ranks {
                let part = given.part(rank, ranks);
                let Some(indices) = given.indices(&part) else { continue };
                let pieces = Pieces::Chunks(given, part);
                let found = (0..pieces.count()).map(|k| pieces.indices(k).len()).sum::<i64>();
                assert_eq!(found, indices.len(), "{given:?} {rank} of {ranks}");
            }
            let parts = (0..ranks).map(|rank| given.part(rank, ranks));
            let mut all: Vec<i64> = parts.flat_map(|part| (0..part.count()).map(move |k| part.chunk(k))).collect();
            all.sort_unstable();
            assert_eq!(all, (0..given.chunks()).collect::<Vec<i64>>(), "{given:?} on {ranks}");
        }
    }

    #[test]
    fn every_byte_of_an_output_comes_from_one_rank() {
        for (given, ranks) in loops().flat_map(|given| (1..6).map(move |ranks| (given, ranks))) {
            let rows = Output { end: given.n, stride: 3, bytes: 3, ..BASE };
            let pieces = Output { end: given.n, stride: 2, bytes: 2, pieces: 3, pitch: 2 * given.n, ..BASE };
            let partials = Output { per: given.chunk, end: given.chunks(), stride: 5, bytes: 5, ..BASE };
            for output in [rows, pieces, partials] {
                let size = (output.end * output.bytes * output.pieces) as usize;
                let mut times = vec![0; size];
                for rank in 0..ranks {
                    let part = given.part(rank, ranks);
                    let mut bytes = 0;
                    given.pieces(&part, &output, |at, length| {
                        bytes += length;
                        times[at as usize..(at + length) as usize].iter_mut().for_each(|times| *times += 1);
                    });
                    assert_eq!(bytes, given.bytes(&part, &output), "{given:?} {output:?}");
                }
                assert!(times.iter().all(|times| *times == 1), "{given:?} {output:?} on {ranks}: {times:?}");
            }
        }
    }

    #[test]
    fn units_of_several_loops_in_one_are_told_apart() {
        let given = Loop { n: 10, chunk: 1, late: 0, in_turn: false };
        let second = Output { first: 6, end: 10, stride: 4, bytes: 4, ..BASE };
        let mut found = Vec::new();
        for rank in 0..2 {
            given.pieces(&given.part(rank, 2), &second, |at, length| found.push((rank, at, length)));
        }
        assert_eq!(found, [(1, 0, 16)]);
    }

    #[test]
    fn contiguous_outputs_lie_end_to_end() {
        let given = Loop { n: 11, chunk: 2, late: 0, in_turn: false };
        let rows = Output { end: 11, stride: 8, bytes: 8, ..BASE };
        assert!(given.is_contiguous(&rows));
        let mut end = 0;
        for rank in 0..4 {
            given.pieces(&given.part(rank, 4), &rows, |at, length| {
                assert_eq!(at, end);
                end = at + length;
            });
        }
        assert_eq!(end, 88);
        assert!(!Loop { in_turn: true, ..given }.is_contiguous(&rows));
    }

    #[test]
    fn little_work_is_not_shared() {
        let costs = Costs { latency: 10e-6, bandwidth: 5e9, threads: 1.0 };
        assert!(!costs.pays(3e3, (0.0, 8.0, 0.0), 2));
        assert!(costs.pays(3e6, (0.0, 8.0, 0.0), 2));
        assert!(!costs.pays(3e6, (0.0, 50e6, 0.0), 2));
    }

    #[test]
    fn what_lies_in_rows_is_rather_shared_than_gathered() {
        let costs = Costs { latency: 10e-6, bandwidth: 5e9, threads: 1.0 };
        assert!(!costs.pays(3e4, (1e3, 0.0, 0.0), 2));
        assert!(costs.pays(3e4, (1e3, 0.0, 1e6), 2));
    }

    #[test]
    fn pieces_have_every_index_once() {
        for (low, high, chunk) in [(0, 0, 1), (3, 10, 4), (5, 6, 9), (0, 8, 2)] {
            let stretches = [Interval::new(low, high), Interval::new(high + 2, high + 5)];
            let pieces = Pieces::Indices(stretches, chunk);
            let all: Vec<i64> =
                (0..pieces.count()).map(|k| pieces.indices(k)).flat_map(|rows| rows.low..rows.high).collect();
            let expected: Vec<i64> = (low..high).chain(high + 2..high + 5).collect();
            assert_eq!(all, expected);
        }
    }
}
