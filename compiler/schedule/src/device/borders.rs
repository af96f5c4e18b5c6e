//! The borders of an array, as one launch.
//!
//! ```text
//!    { [i,j] -> f(a, i, j) | [1,1] <= [i,j] < [m-1,n-1]; [i,j] -> a[i,j] }     one launch for the middle, one for the two rows and two columns
//! ```
//!
//! A stencil leaves partitions that are one element wide, each of which takes less time than its launch. They are disjoint, so that the
//! work-items of one launch may do them all: one after the other, the indices of each row by row.
//!
//! Leaves alone: partitions that are wide along all axes, and bodies with folds or loops, which have launches of other shapes.

use ravel_nest::ir::{BinOp as NestBin, IntCmp};
use ravel_types::BinOp;
use ravel_wir::{Generator, Op, Part, Value, With};

use crate::Result;
use crate::facts::{Facts, Index, Sink, Val};
use crate::lower::Lower;

/// Extent of an axis along which a partition is thin.
const THIN: i64 = 4;
/// Bounds are looked at through this many operations.
const MAX_DEPTH: u32 = 4;
/// How much smaller than the largest partition a thin one is, where that is known.
const SMALLER: i64 = 4;
/// Partitions of one launch: each is a branch of its kernel.
const MOST_PARTS: usize = 26;

impl Facts<'_> {
    /// The partitions that share a launch, by number; none if there are no two such.
    pub fn thin_parts(&self, with: &With) -> Vec<usize> {
        let largest =
            with.parts.iter().map(|part| self.const_count(part)).try_fold(0, |most, count| Some(most.max(count?)));
        let small = |part: &Part| match (self.const_count(part), largest) {
            (Some(count), Some(largest)) => count * SMALLER <= largest,
            _ => true,
        };
        let plain = |part: &Part| {
            !self.func.regions[part.body]
                .insts
                .iter()
                .any(|inst| matches!(self.func.insts[*inst].op, Op::With(_) | Op::Loop { .. }))
        };
        let thin: Vec<usize> = (0..with.parts.len())
            .filter(|n| {
                let part = &with.parts[*n];
                self.is_thin(part) && plain(part) && small(part)
            })
            .collect();
        if (2..=MOST_PARTS).contains(&thin.len()) { thin } else { Vec::new() }
    }

    fn is_thin(&self, part: &Part) -> bool {
        let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return false };
        lower.iter().zip(upper).any(|(low, high)| {
            let (lows, highs) = (self.limits(*low, BinOp::Max, MAX_DEPTH), self.limits(*high, BinOp::Min, MAX_DEPTH));
            lows.iter().any(|low| highs.iter().any(|high| self.ahead_of(*low, *high).is_some_and(|d| d <= THIN)))
        })
    }

    /// Scalars that a bound is not below, if it is made by `max`, or not above, if by `min`.
    fn limits(&self, v: Value, op: BinOp, depth: u32) -> Vec<Value> {
        let Some(inst) = self.live.def(v).filter(|_| depth > 0) else { return vec![v] };
        match &self.func.insts[inst].op {
            Op::Bin(found, a, b) if *found == op => {
                self.limits(*a, op, depth - 1).into_iter().chain(self.limits(*b, op, depth - 1)).collect()
            }
            // Where one side is always the result.
            Op::Bin(found @ (BinOp::Min | BinOp::Max), a, b) => match self.ahead_of(*a, *b) {
                Some(d) if (d >= 0) == (*found == BinOp::Min) => self.limits(*a, op, depth - 1),
                Some(_) => self.limits(*b, op, depth - 1),
                None => vec![v],
            },
            _ => vec![v],
        }
    }
}

impl Lower<'_, '_> {
    /// One launch for several partitions, a work-item per index.
    pub fn launch_thin(&mut self, with: &With, thin: &[usize], sinks: &[Sink]) -> Result<()> {
        let func = self.func;
        let parts: Vec<&Part> = thin.iter().map(|n| &with.parts[*n]).collect();
        for part in &parts {
            self.device_reads(part.body);
        }
        let targets = self.device_targets(with, sinks);
        let one = self.b.i64(1);
        let mut grids = Vec::new();
        let mut ends: Vec<Val> = Vec::new();
        for part in &parts {
            let Generator::Known { lower, .. } = &part.generator else { continue };
            let lows: Vec<Val> = lower.iter().map(|v| self.wide(*v)).collect();
            let lengths = self.grid_of(part);
            let count = lengths.iter().fold(one, |n, e| self.b.mul(n, *e));
            let end = ends.last().copied().map_or(count, |before| self.b.add(before, count));
            ends.push(end);
            grids.push((lows, lengths));
        }
        let Some(&total) = ends.last() else { return Ok(()) };
        let cache = self.emit.cache.clone();
        let place = self.begin_groups(&[total], &[])[0];
        self.facts.site.sequential += 1;
        let before = self.emit.cache.clone();
        for (n, (part, (lows, lengths))) in parts.iter().zip(grids).enumerate() {
            let last = n + 1 == parts.len();
            if !last {
                let inside = self.b.icmp(IntCmp::Slt, place, ends[n]);
                self.b.begin_if(inside);
            }
            let mut rest = if n == 0 { place } else { self.b.sub(place, ends[n - 1]) };
            self.open(part.body);
            let params = func.regions[part.body].params.clone();
            // Where an axis has one index, or no axis is outside of it, there is nothing to divide.
            let single: Vec<bool> = params.iter().map(|param| self.alias[*param].is_some()).collect();
            let mut positions = vec![None; params.len()];
            for axis in (0..params.len()).rev().filter(|axis| !single[*axis]) {
                let outermost = single[..axis].iter().all(|single| *single);
                positions[axis] =
                    Some(if outermost { rest } else { self.b.binary(NestBin::SRem, rest, lengths[axis]) });
                if !outermost {
                    rest = self.b.binary(NestBin::SDiv, rest, lengths[axis]);
                }
            }
            let Generator::Known { lower, upper, .. } = &part.generator else { continue };
            for (axis, &param) in params.iter().enumerate() {
                let index = positions[axis].map_or(lows[axis], |position| self.b.add(position, lows[axis]));
                let range = self.axis_range(with, lower[axis], upper[axis]);
                self.bind_wide(param, index, range);
            }
            self.cell_in_scope(with, part, &targets, &Index::Known(params), Vec::new())?;
            self.close();
            self.emit.cache = before.clone();
            if !last {
                self.b.begin_else(&[]);
            }
        }
        for _ in 1..parts.len() {
            self.b.end_if(&[]);
        }
        self.facts.site.sequential -= 1;
        self.end_launch();
        self.emit.cache = cache;
        Ok(())
    }
}
