//! Index expressions of lanes and copies: a common part plus constants.
//!
//! The value of an affine index at one lane of one copy is its value at the first lane of the first copy plus a constant. So is that of
//! quotients and remainders by constants, where the first indices of all steps leave a known remainder ([`Walk`](crate::facts::step_alignment::Walk)): with
//! steps of 16 from 0, `i / 4 * 8 + i % 4` is `8 * (first / 4)` plus `0 1 2 3 8 9 10 11 16 ...`. Loads with such indices need one
//! address, contiguous vectors and shuffles ([`cover`]) instead of an address per lane.

use ravel_types::{BinOp, Elem};
use ravel_wir::{Op, Value};

use crate::facts::Facts;
use crate::facts::grid::{Dep, Grid};
use crate::facts::index::{Form, Offset};

/// Index expressions deeper than this are taken as unknown.
pub(crate) const MAX_DEPTH: u32 = 12;
/// Vector loads that make up one vector; from this number on loads of single lanes are no dearer.
const MOST_LOADS: usize = 4;
/// Short loads that are worth joining.
const LEAST_PIECES: usize = 3;

/// One lane of one copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub j: usize,
    pub u: usize,
    pub lane: usize,
}

/// A quotient or remainder by a positive constant.
pub(crate) enum Division {
    Quotient,
    Remainder,
}

impl Facts<'_> {
    /// How far the value of an index expression at a place is from its value at the first place, if that is a constant.
    pub fn distance(&self, g: &mut Grid, v: Value, at: Place) -> Option<i64> {
        self.distance_within(g, v, at, MAX_DEPTH)
    }

    fn distance_within(&self, g: &mut Grid, v: Value, at: Place, depth: u32) -> Option<i64> {
        if g.vec == Some(v) {
            return Some((g.start_of(at.u) + at.lane) as i64);
        }
        if let Some(axis) = g.jams.iter().position(|jam| jam.index == v) {
            return Some(g.digit(axis, at.j) as i64);
        }
        if self.is_bound(v) || self.const_i32(v).is_some() || self.dep(g, v) == Dep::default() {
            return Some(0);
        }
        let depth = depth.checked_sub(1)?;
        let form = self.form(v);
        if !is_atom(&form, v) {
            return form.terms.iter().try_fold(0i64, |sum, (w, factor)| {
                sum.checked_add(self.distance_within(g, *w, at, depth)?.checked_mul(*factor)?)
            });
        }
        let (division, a, k) = self.division(v)?;
        let start = self.residue(g, a, k, depth)?;
        let there = start + self.distance_within(g, a, at, depth)?;
        Some(match division {
            Division::Quotient => there.div_euclid(k),
            Division::Remainder => there.rem_euclid(k) - start,
        })
    }

    /// A quotient or remainder by a positive constant of something that is not negative.
    pub fn division(&self, v: Value) -> Option<(Division, Value, i64)> {
        let (op, a, b) = match &self.func.insts[self.live.def(v)?].op {
            Op::Bin(op @ (BinOp::Div | BinOp::Mod | BinOp::AplMod), a, b) => (*op, *a, *b),
            _ => return None,
        };
        let k = self.const_i32(b).filter(|k| *k > 0)?;
        let (low, high) = self.form(a).range();
        if low < 0 || high > i64::from(i32::MAX) {
            return None;
        }
        Some((if op == BinOp::Div { Division::Quotient } else { Division::Remainder }, a, k))
    }

    /// The remainder that an index expression leaves at the first place of every step, not negative.
    pub fn residue(&self, g: &mut Grid, v: Value, modulus: i64, depth: u32) -> Option<i64> {
        if g.vec == Some(v) {
            return g.walk.residue(modulus);
        }
        if let Some(jam) = g.jams.iter().find(|jam| jam.index == v) {
            return jam.walk.residue(modulus);
        }
        if let Some(k) = self.const_i32(v) {
            return Some(k.rem_euclid(modulus));
        }
        if modulus == 1 {
            return Some(0);
        }
        let depth = depth.checked_sub(1)?;
        let form = self.form(v);
        if !is_atom(&form, v) {
            let mut sum = form.constant.rem_euclid(modulus);
            for (w, factor) in form.terms {
                if factor % modulus != 0 {
                    sum += self.residue(g, w, modulus, depth)? * factor.rem_euclid(modulus);
                }
            }
            return Some(sum.rem_euclid(modulus));
        }
        if self.is_bound(v) {
            return None;
        }
        let (division, a, k) = self.division(v)?;
        match division {
            Division::Quotient => Some(self.residue(g, a, k.checked_mul(modulus)?, depth)? / k),
            Division::Remainder if k % modulus == 0 => self.residue(g, a, modulus, depth),
            Division::Remainder => Some(self.residue(g, a, k, depth)? % modulus),
        }
    }

    /// Distances of all lanes of one copy from its first lane, in elements; nothing if they are not constant.
    pub fn lane_offsets(&self, g: &mut Grid, offset: &Offset, elem: Elem, j: usize, u: usize) -> Option<Vec<i64>> {
        let size = elem.bytes() as i64;
        let mut lanes = vec![0i64; usize::from(g.lanes)];
        for term in &offset.terms {
            let Some(v) = term.atom else { continue };
            if !self.dep(g, v).vec {
                continue;
            }
            if term.stride.is_some() || term.bytes % size != 0 {
                return None;
            }
            let first = self.distance(g, v, Place { j, u, lane: 0 })?;
            for (lane, sum) in lanes.iter_mut().enumerate() {
                let there = self.distance(g, v, Place { j, u, lane })?;
                *sum += (there - first).checked_mul(term.bytes / size)?;
            }
        }
        Some(lanes)
    }
}

pub(crate) fn is_atom(form: &Form, v: Value) -> bool {
    form.constant == 0 && form.terms[..] == [(v, 1)]
}

/// Contiguous loads that hold all lanes of a vector, without touching anything outside of the first and the last of them: where each
/// begins, and how many elements each has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cover {
    pub starts: Vec<i64>,
    pub width: u8,
}

/// Loads for lanes at these offsets; nothing if there would be many.
pub(crate) fn cover(offsets: &[i64]) -> Option<Cover> {
    let lanes = offsets.len() as i64;
    let (first, last) = (*offsets.iter().min()?, *offsets.iter().max()?);
    let span = last.checked_sub(first)?.checked_add(1)?;
    if span <= lanes {
        let width = 1i64 << (63 - span.leading_zeros());
        let starts = if width == span { vec![first] } else { vec![first, last + 1 - width] };
        return Some(Cover { starts, width: width as u8 });
    }
    let mut sorted = offsets.to_vec();
    sorted.sort_unstable();
    let mut starts: Vec<i64> = Vec::new();
    for offset in sorted {
        if starts.last().is_none_or(|start| offset >= start + lanes) {
            starts.push(offset.min(last + 1 - lanes));
        }
    }
    (starts.len() <= MOST_LOADS).then_some(Cover { starts, width: lanes as u8 })
}

/// Loads for lanes at these offsets that also hold those of their neighbours, `beside` elements from them, so that both are picked from the same loads;
/// nothing if that takes more than two. Real and imaginary parts, or the even and odd elements of a row, are two loads then instead of four.
pub(crate) fn cover_together(offsets: &[i64], beside: &[i64]) -> Option<Cover> {
    let lanes = offsets.len() as i64;
    let near: Vec<i64> = beside.iter().copied().filter(|d| d.abs() < lanes).collect();
    let mut all: Vec<i64> = offsets.iter().flat_map(|offset| near.iter().map(move |d| offset + d)).collect();
    all.sort_unstable();
    all.dedup();
    let (first, last) = (*all.first()?, *all.last()?);
    // Exactly two full vectors: more would be loads that not every neighbour needs.
    (all.len() as i64 == 2 * lanes && last - first + 1 == 2 * lanes)
        .then(|| Cover { starts: vec![first, first + lanes], width: lanes as u8 })
}

/// Loads of `width` elements for lanes at these offsets from element `from` of some address, where several such short loads hold them all:
/// they cross few lines. If possible they begin at multiples of `width` from the address, so that neighbours load the same; less than
/// `width` elements before the first lane and behind the last one are touched.
pub(crate) fn pieces(offsets: &[i64], from: i64, width: i64) -> Option<Cover> {
    let most = offsets.len() / width as usize;
    let mut sorted = offsets.to_vec();
    sorted.sort_unstable();
    let mut even: Vec<i64> = sorted.iter().map(|offset| (offset + from).div_euclid(width) * width - from).collect();
    even.dedup();
    let mut any: Vec<i64> = Vec::new();
    for offset in sorted {
        if any.last().is_none_or(|start| offset >= start + width) {
            any.push(offset);
        }
    }
    let starts = [even, any].into_iter().find(|starts| (LEAST_PIECES..=most).contains(&starts.len()))?;
    Some(Cover { starts, width: width as u8 })
}

/// Is lane `k` at offset `k`?
pub(crate) fn is_contiguous(offsets: &[i64]) -> bool {
    offsets.iter().enumerate().all(|(k, offset)| *offset == k as i64)
}

#[cfg(test)]
mod tests {
    use super::{Cover, cover, cover_together, is_contiguous, pieces};

    fn loads(offsets: &[i64]) -> Option<(Vec<i64>, u8)> {
        cover(offsets).map(|Cover { starts, width }| (starts, width))
    }

    #[test]
    fn neighbours_share_two_loads() {
        let together = |offsets: &[i64], beside: &[i64]| cover_together(offsets, beside).map(|c| (c.starts, c.width));
        assert_eq!(together(&[0, 2, 4, 6], &[0, 1]), Some((vec![0, 4], 4)));
        assert_eq!(together(&[0, 2, 4, 6], &[-1, 0]), Some((vec![-1, 3], 4)));
        // Another row is far away.
        assert_eq!(together(&[0, 2, 4, 6], &[0, 1, 100, 101]), Some((vec![0, 4], 4)));
        // Alone, with a gap, or with more than two loads would hold.
        assert_eq!(together(&[0, 2, 4, 6], &[0]), None);
        assert_eq!(together(&[0, 3, 6, 9], &[0, 1]), None);
        assert_eq!(together(&[0, 2, 4, 6], &[0, 1, 2]), None);
    }

    #[test]
    fn covers_stay_between_the_first_and_the_last_lane() {
        assert!(is_contiguous(&[0, 1, 2, 3]) && !is_contiguous(&[0, 1, 3, 2]));
        assert_eq!(loads(&[0, 1, 2, 3]), Some((vec![0], 4)));
        assert_eq!(loads(&[3, 2, 1, 0]), Some((vec![0], 4)));
        assert_eq!(loads(&[0, 2, 4, 6]), Some((vec![0, 3], 4)));
        assert_eq!(loads(&[0, 0, 1, 1]), Some((vec![0], 2)));
        assert_eq!(loads(&[0, 0, 0, 0]), Some((vec![0], 1)));
        assert_eq!(loads(&[0, 0, 1, 2]), Some((vec![0, 1], 2)));
        assert_eq!(loads(&[-9, -6, -3, 0]), Some((vec![-9, -3], 4)));
        assert_eq!(loads(&[0, 100, 200, 300]), Some((vec![0, 100, 200, 297], 4)));
        assert_eq!(loads(&[0, 9, 18, 27, 36, 45, 54, 63]), None);
    }

    #[test]
    fn pieces_are_shared_by_neighbours() {
        let starts = |offsets: &[i64], from, width| pieces(offsets, from, width).map(|cover| cover.starts);
        // Four rows of a matrix, and the same one element further on.
        let rows: Vec<i64> = (0..16).map(|lane| lane / 4 * 192).collect();
        assert_eq!(starts(&rows, 0, 4), Some(vec![0, 192, 384, 576]));
        assert_eq!(starts(&rows, 3, 4), Some(vec![-3, 189, 381, 573]));
        // Runs of four that begin anywhere.
        let runs: Vec<i64> = (0..16).map(|lane| lane / 4 * 50 + lane % 4).collect();
        assert_eq!(starts(&runs, 1, 4), Some(vec![0, 50, 100, 150]));
        // Two loads are no more than whole vectors need; eight are too many.
        assert_eq!(starts(&(0..16).map(|lane| lane / 8 * 50).collect::<Vec<i64>>(), 0, 4), None);
        assert_eq!(starts(&(0..16).map(|lane| lane / 2 * 50).collect::<Vec<i64>>(), 0, 4), None);
    }
}
