//! Who owns which rows of an array, and who has valid ones.

use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Rows are owned by blocks, of which there are no more than these.
const MOST_BLOCKS: i64 = 1024;

/// The rows of `rows` that `rank` of `ranks` owns.
pub fn own_rows(rows: i64, rank: usize, ranks: usize) -> Range<i64> {
    let blocks = rows.min(MOST_BLOCKS);
    let first = |rank: usize| match blocks {
        0 => 0,
        _ => rows * (blocks * rank as i64 / ranks as i64) / blocks,
    };
    first(rank)..first(rank + 1)
}

/// The rank that owns a row.
pub fn owner(row: i64, rows: i64, ranks: usize) -> Option<usize> {
    (0..ranks).find(|rank| own_rows(rows, *rank, ranks).contains(&row))
}

/// Which rows of an array are valid on each rank. Whoever holds the array sees the same.
#[derive(Debug)]
pub struct Rows(Mutex<Vec<RowSet>>);

impl Rows {
    /// Every rank has the rows that it owns.
    pub fn owned(rows: i64, ranks: usize) -> Rows {
        let own = |rank| {
            let mut set = RowSet::default();
            set.add(own_rows(rows, rank, ranks));
            set
        };
        Rows(Mutex::new((0..ranks).map(own).collect()))
    }

    fn sets(&self) -> MutexGuard<'_, Vec<RowSet>> {
        // Sets are whole between any two calls.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes rows valid on a rank; how many were not.
    pub fn make_valid(&self, rank: usize, rows: Range<i64>) -> i64 {
        self.sets()[rank].add(rows)
    }

    /// Makes rows valid on all ranks; how many were not, on each.
    pub fn make_valid_everywhere(&self, rows: &Range<i64>) -> i64 {
        self.sets().iter_mut().map(|set| set.add(rows.clone())).sum()
    }

    /// The first one of these rows that is not valid on a rank, and those that are.
    pub fn missing(&self, rank: usize, rows: Range<i64>) -> Option<(i64, RowSet)> {
        let sets = self.sets();
        let row = sets[rank].missing(rows)?;
        Some((row, sets[rank].clone()))
    }
}

impl Clone for Rows {
    fn clone(&self) -> Rows {
        Rows(Mutex::new(self.sets().clone()))
    }
}

/// A set of rows: ranges in their order, none empty, with something between any two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSet(Vec<Range<i64>>);

impl RowSet {
    /// Adds rows; how many are new.
    fn add(&mut self, mut rows: Range<i64>) -> i64 {
        if rows.is_empty() {
            return 0;
        }
        let count = |set: &[Range<i64>]| set.iter().map(|range| range.end - range.start).sum::<i64>();
        let before = count(&self.0);
        self.0.retain(|range| {
            let is_apart = range.end < rows.start || rows.end < range.start;
            if !is_apart {
                rows = rows.start.min(range.start)..rows.end.max(range.end);
            }
            is_apart
        });
        let at = self.0.partition_point(|range| range.start < rows.start);
        self.0.insert(at, rows);
        count(&self.0) - before
    }

    /// The first one of these rows that is not in the set.
    fn missing(&self, rows: Range<i64>) -> Option<i64> {
        let start = match self.0.iter().find(|range| range.contains(&rows.start)) {
            Some(range) => range.end,
            None => rows.start,
        };
        (start < rows.end).then_some(start)
    }
}

impl fmt::Display for RowSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        let ranges: Vec<String> = self.0.iter().map(|range| format!("{}..{}", range.start, range.end)).collect();
        f.write_str(&ranges.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_one_owner() {
        for ranks in [1, 2, 3, 7, 1024, 1500] {
            for rows in [0, 1, 2, 3, 6, 7, 8, 1023, 1024, 1025, 5000] {
                let mut next = 0;
                for rank in 0..ranks {
                    let own = own_rows(rows, rank, ranks);
                    assert_eq!(own.start, next, "{rows} rows, rank {rank} of {ranks}");
                    assert!(own.end >= own.start);
                    next = own.end;
                }
                assert_eq!(next, rows);
            }
        }
        assert_eq!(own_rows(10, 1, 3), 3..6);
        assert_eq!(owner(5, 10, 3), Some(1));
        assert_eq!(owner(10, 10, 3), None);
        // On the grid: blocks of 2 and 3 rows.
        assert_eq!(own_rows(2500, 0, 3), 0..832);
    }

    #[test]
    fn sets_of_rows_grow_together() {
        let mut set = RowSet::default();
        assert_eq!(set.to_string(), "none");
        assert_eq!((set.add(6..10), set.add(4..4), set.add(0..2)), (4, 0, 2));
        assert_eq!(set.to_string(), "0..2, 6..10");
        assert_eq!((set.missing(6..10), set.missing(7..12), set.missing(5..6)), (None, Some(10), Some(5)));
        assert_eq!(set.missing(3..3), None);
        assert_eq!(set.add(2..4), 2);
        assert_eq!(set.to_string(), "0..4, 6..10");
        assert_eq!(set.add(1..8), 2);
        assert_eq!(set.to_string(), "0..10");
    }
}
