//! What partitions cover: whether they reach every index, and the largest box of them.

use ravel_wir::{Generator, Op, Part, Value, With};

use crate::facts::Facts;
use crate::facts::index::Ext;

/// Elements that are copied one by one at most.
pub const FEW: i64 = 8;

/// Partitions at most that are looked at in pairs.
const MOST_BOXES: usize = 32;

/// What counts as the length of a box along an axis where it is not known, and the most that counts.
const LONG: i64 = 1 << 10;

const MOST_ALONG: i64 = 1 << 20;

/// Lower and upper bounds of a partition, or of several that meet.
type Bounds = (Vec<Value>, Vec<Value>);

impl Facts<'_> {
    /// The largest box of partitions or of such that meet, as far as it can be told. Extents that only the run knows count as long.
    pub fn largest_box(&self, with: &With) -> Option<Bounds> {
        let boxes = self.joined_boxes(with)?;
        let size = |(lower, upper): &Bounds| {
            lower.iter().zip(upper).fold(1i64, |size, (l, u)| {
                size.saturating_mul(self.ahead_of(*l, *u).unwrap_or(LONG).clamp(0, MOST_ALONG))
            })
        };
        let largest = boxes.into_iter().reduce(|a, b| if size(&b) > size(&a) { b } else { a });
        // A few columns are not worth a copy of each row for itself.
        largest.filter(|(lower, upper)| {
            let row = lower.last().zip(upper.last()).and_then(|(l, u)| self.ahead_of(*l, *u));
            with.parts.len() == 1 || row.is_none_or(|n| n > FEW)
        })
    }

    /// How many indices of an axis lie below and above a box, if constant.
    pub fn lengths_outside(&self, lower: Value, upper: Value, extent: Ext) -> Option<[i64; 2]> {
        let (low, high, extent) = (self.const_i32(lower)?, self.const_i32(upper)?, extent.as_const()?);
        let low = low.clamp(0, extent);
        Some([low, extent - high.min(extent).max(low)])
    }

    /// Do the partitions reach every index of the frame, provably?
    pub fn covers(&self, with: &With, frame: &[Value]) -> bool {
        let zero = |v: &Value| self.const_i32(*v) == Some(0);
        if let [Part { generator: Generator::Known { lower, upper, step, width }, .. }] = &with.parts[..] {
            let dense = match (step, width) {
                (None, _) => true,
                (Some(step), Some(width)) => step.iter().zip(width).all(|(s, w)| self.same_scalar(*s, *w)),
                (Some(step), None) => step.iter().all(|s| self.const_i32(*s) == Some(1)),
            };
            if dense
                && lower.len() == frame.len()
                && lower.iter().all(zero)
                && upper.iter().zip(frame).all(|(u, f)| self.same_scalar(*u, *f))
            {
                return true;
            }
        }
        if self.boxes_meet(with, frame) {
            return true;
        }
        // Disjoint partitions within the frame cover it when they have as many indices.
        let total = frame.iter().try_fold(1i64, |n, v| n.checked_mul(self.const_i32(*v)?));
        let parts = with.parts.iter().try_fold(0i64, |n, p| n.checked_add(self.const_count(p)?));
        total.is_some() && total == parts
    }

    /// Do boxes that end where others begin make up the whole frame, whatever the bounds are? As `[0] <= [i] < [k]` and `[k] <= [i] < [n]` do:
    /// partitions lie within their frame, and no two have an index in common.
    fn boxes_meet(&self, with: &With, frame: &[Value]) -> bool {
        let Some(boxes) = self.joined_boxes(with) else { return false };
        let [(lower, upper)] = &boxes[..] else { return false };
        lower.len() == frame.len()
            && lower.iter().all(|v| self.const_i32(*v) == Some(0))
            && upper.iter().zip(frame).all(|(u, f)| self.same_scalar(*u, *f))
    }

    /// The partitions as boxes, those that meet as one; nothing if some are no boxes, or they are too many. A joint box has no index that is in none of them.
    fn joined_boxes(&self, with: &With) -> Option<Vec<Bounds>> {
        let of = |part: &Part| match &part.generator {
            Generator::Known { lower, upper, step: None, .. } => Some((lower.clone(), upper.clone())),
            _ => None,
        };
        if with.parts.len() > MOST_BOXES {
            return None;
        }
        let mut boxes: Vec<Bounds> = with.parts.iter().map(of).collect::<Option<_>>()?;
        let rank = boxes.first()?.0.len();
        if boxes.iter().any(|(lower, _)| lower.len() != rank) {
            return None;
        }
        while let Some((a, b, axis)) = self.neighbours(&boxes) {
            boxes[a].1[axis] = boxes[b].1[axis];
            boxes.swap_remove(b);
        }
        Some(boxes)
    }

    /// Two boxes of which the second begins where the first ends, along one axis, and which are equal along the others.
    fn neighbours(&self, boxes: &[Bounds]) -> Option<(usize, usize, usize)> {
        let pairs = (0..boxes.len()).flat_map(|a| (0..boxes.len()).map(move |b| (a, b))).filter(|(a, b)| a != b);
        pairs.flat_map(|(a, b)| (0..boxes[a].0.len()).map(move |axis| (a, b, axis))).find(|&(a, b, axis)| {
            let ((low, high), (from, to)) = (&boxes[a], &boxes[b]);
            (0..low.len()).all(|k| match k == axis {
                true => self.same_scalar(high[k], from[k]),
                false => self.same_scalar(low[k], from[k]) && self.same_scalar(high[k], to[k]),
            })
        })
    }

    /// Number of indices of a partition with constant bounds.
    pub fn const_count(&self, part: &Part) -> Option<i64> {
        let Generator::Known { lower, upper, step, width } = &part.generator else { return None };
        let mut count = 1i64;
        for axis in 0..lower.len() {
            let length = (self.const_i32(upper[axis])? - self.const_i32(lower[axis])?).max(0);
            let step = step.as_ref().map_or(Some(1), |s| self.const_i32(s[axis]))?.max(1);
            let width = width.as_ref().map_or(Some(1), |w| self.const_i32(w[axis]))?;
            let along = length / step * width.min(step) + (length % step).min(width);
            count = count.checked_mul(along)?;
        }
        Some(count)
    }

    /// Are two scalars certainly equal?
    pub fn same_scalar(&self, a: Value, b: Value) -> bool {
        if a == b {
            return true;
        }
        match (self.const_i32(a), self.const_i32(b)) {
            (Some(x), Some(y)) => return x == y,
            (None, None) => {}
            _ => return false,
        }
        match (self.live.def(a), self.live.def(b)) {
            (Some(a), Some(b)) => match (&self.func.insts[a].op, &self.func.insts[b].op) {
                (Op::Extent { array: x, axis: i }, Op::Extent { array: y, axis: j }) => x == y && i == j,
                (Op::Bin(p, a, b), Op::Bin(q, c, d)) => p == q && self.same_scalar(*a, *c) && self.same_scalar(*b, *d),
                _ => false,
            },
            _ => false,
        }
    }
}
