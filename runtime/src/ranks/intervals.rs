//! Rows of an array that ranks have: pure functions of numbers that are equal on all ranks.
//!
//! Rank `r` *owns* rows: blocks of a grid that the number of rows alone decides. It may have more, and these are *valid* there: those that a loop has needed.
//! Every rank knows what every rank has and needs, so nobody asks: who owns rows that somebody misses sends them.

/// Rows, or indices, from one on and before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Interval {
    pub low: i64,
    pub high: i64,
}

impl Interval {
    pub fn new(low: i64, high: i64) -> Interval {
        Interval { low, high: high.max(low) }
    }

    pub fn len(self) -> i64 {
        self.high - self.low
    }

    pub fn is_empty(self) -> bool {
        self.high <= self.low
    }

    /// What both have.
    pub fn and(self, other: Interval) -> Interval {
        Interval::new(self.low.max(other.low), self.high.min(other.high))
    }

    /// What is in this and not in another, before it and behind it.
    pub fn without(self, other: Interval) -> [Interval; 2] {
        if self.and(other).is_empty() {
            return [self, Interval::default()];
        }
        [Interval::new(self.low, other.low), Interval::new(other.high, self.high)]
    }

    /// Those of `n` indices that are in whole chunks here.
    pub fn of_whole_chunks(self, chunk: i64, n: i64) -> Interval {
        let low = self.low + (chunk - self.low.rem_euclid(chunk)) % chunk;
        let high = if self.high == n { n } else { self.high - self.high.rem_euclid(chunk) };
        Interval::new(low, high)
    }

    pub fn shifted(self, by: i64) -> Interval {
        Interval { low: self.low.saturating_add(by), high: self.high.saturating_add(by) }
    }
}

/// Rows: intervals in their order, none of them empty, with something between any two.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct RowSet(Vec<Interval>);

impl RowSet {
    pub fn of(rows: Interval) -> RowSet {
        let mut set = RowSet::default();
        set.add(rows);
        set
    }

    pub fn add(&mut self, mut rows: Interval) {
        if rows.is_empty() {
            return;
        }
        self.0.retain(|other| {
            let is_apart = other.high < rows.low || rows.high < other.low;
            if !is_apart {
                rows = Interval { low: rows.low.min(other.low), high: rows.high.max(other.high) };
            }
            is_apart
        });
        let at = self.0.partition_point(|other| other.low < rows.low);
        self.0.insert(at, rows);
    }

    pub fn add_all(&mut self, other: &RowSet) {
        other.0.iter().for_each(|rows| self.add(*rows));
    }

    /// What is in this and not in another.
    pub fn without(&self, other: &RowSet) -> RowSet {
        let mut left = Vec::new();
        for rows in &self.0 {
            let mut low = rows.low;
            for taken in other.0.iter().filter(|taken| !taken.and(*rows).is_empty()) {
                left.push(Interval::new(low, taken.low));
                low = taken.high;
            }
            left.push(Interval::new(low, rows.high));
        }
        left.retain(|rows| !rows.is_empty());
        RowSet(left)
    }

    pub fn intervals(&self) -> &[Interval] {
        &self.0
    }

    /// How many rows.
    pub fn len(&self) -> i64 {
        self.0.iter().map(|rows| rows.len()).sum()
    }
}

/// Boundaries lie between so many blocks of rows at most.
const MOST_BLOCKS: i64 = 1024;

/// The rows of `n` that a rank owns.
pub(super) fn own_rows(n: i64, rank: usize, ranks: usize) -> Interval {
    let part = |k: i64, of: i64, by: i64| (i128::from(k) * i128::from(of) / i128::from(by.max(1))) as i64;
    let blocks = n.min(MOST_BLOCKS);
    let bound = |rank: usize| part(part(rank as i64, blocks, ranks as i64), n, blocks);
    Interval { low: bound(rank), high: bound(rank + 1) }
}

/// Rows that go to a rank, or come from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Transfer {
    pub rank: usize,
    pub rows: Interval,
}

/// What rank `me` sends and receives so that each rank has the rows that it wants of `n` beside those that it has.
pub(super) fn transfers(n: i64, valid: &[RowSet], wanted: &[RowSet], me: usize) -> [Vec<Transfer>; 2] {
    let ranks = valid.len();
    let from = |rank: usize, owner: usize| {
        let owned = own_rows(n, owner, ranks);
        let missing = wanted[rank].without(&valid[rank]);
        let rows: Vec<Interval> = missing.intervals().iter().map(|rows| rows.and(owned)).collect();
        rows.into_iter().filter(|rows| !rows.is_empty())
    };
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    for rank in (0..ranks).filter(|rank| *rank != me) {
        sent.extend(from(rank, me).map(|rows| Transfer { rank, rows }));
        received.extend(from(me, rank).map(|rows| Transfer { rank, rows }));
    }
    [sent, received]
}

/// How many rows the rank gets that gets most.
pub(super) fn most_missing(valid: &[RowSet], wanted: &[RowSet]) -> i64 {
    let missing = |(valid, wanted): (&RowSet, &RowSet)| wanted.without(valid).len();
    valid.iter().zip(wanted).map(missing).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(n: i64, ranks: usize) -> Vec<RowSet> {
        (0..ranks).map(|rank| RowSet::of(own_rows(n, rank, ranks))).collect()
    }

    fn set(intervals: &[(i64, i64)]) -> RowSet {
        let mut set = RowSet::default();
        intervals.iter().for_each(|(low, high)| set.add(Interval::new(*low, *high)));
        set
    }

    #[test]
    fn sets_are_intervals_apart_from_each_other() {
        assert_eq!(set(&[(4, 6), (0, 2), (8, 8), (2, 3)]).intervals(), [Interval::new(0, 3), Interval::new(4, 6)]);
        assert_eq!(set(&[(4, 6), (0, 2), (1, 5)]), set(&[(0, 6)]));
        assert_eq!(set(&[(4, 6), (0, 2), (8, 9)]).len(), 5);
    }

    #[test]
    fn what_is_left_without_others() {
        let all: Vec<RowSet> = [&[][..], &[(0, 9)], &[(2, 5)], &[(0, 1), (3, 4), (7, 9)], &[(1, 3), (4, 8)], &[(6, 7)]]
            .into_iter()
            .map(set)
            .collect();
        let has = |set: &RowSet, row: i64| set.intervals().iter().any(|rows| rows.low <= row && row < rows.high);
        for a in &all {
            for b in &all {
                let left = a.without(b);
                assert!((0..10).all(|row| has(&left, row) == (has(a, row) && !has(b, row))), "{a:?} {b:?} {left:?}");
                assert!(left.intervals().iter().all(|rows| !rows.is_empty()), "{left:?}");
            }
        }
    }

    #[test]
    fn every_row_has_one_owner() {
        for n in [0, 1, 2, 3, 6, 7, 8, 100, 1023, 1024, 1025, 5000, 1 << 40] {
            for ranks in 1..9 {
                let mut end = 0;
                for rows in (0..ranks).map(|rank| own_rows(n, rank, ranks)) {
                    assert_eq!(rows.low, end);
                    end = rows.high;
                }
                assert_eq!(end, n);
            }
        }
    }

    #[test]
    fn every_missing_row_comes_once_from_its_owner() {
        for (n, ranks) in [(5, 2), (9, 3), (12, 4), (20, 7), (3, 5)] {
            for reach in 0..n {
                let near = |rank: usize, by: i64| {
                    let rows = own_rows(n, rank, ranks);
                    Interval::new(rows.low - by, rows.high + by).and(Interval::new(0, n))
                };
                let valid: Vec<RowSet> = (0..ranks).map(|rank| RowSet::of(near(rank, i64::from(rank > 1)))).collect();
                // Rows far away as well.
                let wanted: Vec<RowSet> = (0..ranks)
                    .map(|rank| {
                        let far = Interval::new(n - reach, n - reach + 1);
                        let mut wanted = RowSet::of(near(rank, reach / 2));
                        wanted.add(far.and(Interval::new(0, n)));
                        wanted
                    })
                    .collect();
                let all: Vec<_> = (0..ranks).map(|me| transfers(n, &valid, &wanted, me)).collect();
                for me in 0..ranks {
                    let mut times = vec![0; n as usize];
                    let mark = |times: &mut Vec<i32>, rows: Interval| {
                        (rows.low..rows.high).for_each(|row| times[row as usize] += 1)
                    };
                    valid[me].intervals().iter().for_each(|rows| mark(&mut times, *rows));
                    for Transfer { rank, rows } in &all[me][1] {
                        mark(&mut times, *rows);
                        assert!(all[*rank][0].contains(&Transfer { rank: me, rows: *rows }), "{rank} sends to {me}");
                    }
                    let mut whole = valid[me].clone();
                    whole.add_all(&wanted[me]);
                    let has = |row: i64| whole.intervals().iter().any(|rows| rows.low <= row && row < rows.high);
                    let expected = (0..n).map(|row| i32::from(has(row)));
                    assert!(times.iter().copied().eq(expected), "{n} {ranks} {reach} {me}: {times:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_moves_that_is_there() {
        let valid = own(100, 4);
        assert_eq!(transfers(100, &valid, &valid, 1), [vec![], vec![]]);
        assert_eq!(most_missing(&valid, &valid), 0);
        let far: Vec<RowSet> = valid.iter().map(|_| RowSet::of(Interval::new(0, 100))).collect();
        assert_eq!(most_missing(&valid, &far), 75);
    }
}
