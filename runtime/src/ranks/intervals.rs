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

    /// The least interval that has both.
    pub fn with(self, other: Interval) -> Interval {
        if self.is_empty() {
            other
        } else if other.is_empty() {
            self
        } else {
            Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
        }
    }

    /// What is in this and not in another, before it and behind it.
    pub fn without(self, other: Interval) -> [Interval; 2] {
        if self.and(other).is_empty() {
            return [self, Interval::default()];
        }
        [Interval::new(self.low, other.low), Interval::new(other.high, self.high)]
    }

    pub fn shifted(self, by: i64) -> Interval {
        Interval { low: self.low.saturating_add(by), high: self.high.saturating_add(by) }
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
pub(super) fn transfers(n: i64, valid: &[Interval], wanted: &[Interval], me: usize) -> [Vec<Transfer>; 2] {
    let ranks = valid.len();
    let missing = |rank: usize| valid[rank].with(wanted[rank]).without(valid[rank]);
    let own = own_rows(n, me, ranks);
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    for rank in (0..ranks).filter(|rank| *rank != me) {
        sent.extend(missing(rank).map(|rows| Transfer { rank, rows: rows.and(own) }));
        let theirs = own_rows(n, rank, ranks);
        received.extend(missing(me).map(|rows| Transfer { rank, rows: rows.and(theirs) }));
    }
    [sent, received].map(|all| all.into_iter().filter(|transfer| !transfer.rows.is_empty()).collect())
}

/// How many rows the rank gets that gets most.
pub(super) fn most_missing(valid: &[Interval], wanted: &[Interval]) -> i64 {
    let missing = |(valid, wanted): (&Interval, &Interval)| valid.with(*wanted).len() - valid.len();
    valid.iter().zip(wanted).map(missing).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(n: i64, ranks: usize) -> Vec<Interval> {
        (0..ranks).map(|rank| own_rows(n, rank, ranks)).collect()
    }

    #[test]
    fn every_row_has_one_owner() {
        for n in [0, 1, 2, 3, 6, 7, 8, 100, 1023, 1024, 1025, 5000, 1 << 40] {
            for ranks in 1..9 {
                let mut end = 0;
                for rows in own(n, ranks) {
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
                let valid: Vec<Interval> = own(n, ranks)
                    .into_iter()
                    .map(|rows| rows.with(Interval::new(rows.low - 1, rows.high)).and(Interval::new(0, n)))
                    .collect();
                let wanted: Vec<Interval> = own(n, ranks)
                    .into_iter()
                    .map(|rows| Interval::new(rows.low - reach, rows.high + reach).and(Interval::new(0, n)))
                    .collect();
                let all: Vec<_> = (0..ranks).map(|me| transfers(n, &valid, &wanted, me)).collect();
                for me in 0..ranks {
                    let mut times = vec![0; n as usize];
                    let mark = |times: &mut Vec<i32>, rows: Interval| {
                        (rows.low..rows.high).for_each(|row| times[row as usize] += 1)
                    };
                    mark(&mut times, valid[me]);
                    for Transfer { rank, rows } in &all[me][1] {
                        mark(&mut times, *rows);
                        assert!(all[*rank][0].contains(&Transfer { rank: me, rows: *rows }), "{rank} sends to {me}");
                    }
                    let whole = valid[me].with(wanted[me]);
                    let expected = (0..n).map(|row| i32::from(row >= whole.low && row < whole.high));
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
        let far: Vec<Interval> = valid.iter().map(|_| Interval::new(0, 100)).collect();
        assert_eq!(most_missing(&valid, &far), 75);
    }
}
