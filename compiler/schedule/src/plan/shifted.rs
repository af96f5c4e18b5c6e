//! Whether accumulators at shifted places save the products that masks waste ([`crate::kernel::shifted`]).

use ravel_wir::{Op, Part, Value, With};

use crate::facts::Facts;
use crate::facts::grid::{Grid, Shift};

/// Expressions of bounds deeper than this are taken as unknown.
pub(crate) const MAX_DEPTH: u32 = 12;

/// Products as a share of those under masks, at most.
pub(crate) const LEAST_GAIN: f64 = 0.9;

/// Indices of the other axes of the fold, at least, that pay for adding up the accumulators.
pub(crate) const LEAST_TRIPS: i64 = 8;

/// Independent accumulators that hide the latency of an addition.
pub(crate) const LEAST_ACCUMULATORS: usize = 8;

/// The places where accumulators for some loads and taps begin.
pub(crate) fn places(loads: i64, taps: i64, stride: i64, lanes: i64) -> Vec<i64> {
    let mut places: Vec<i64> = (0..loads).flat_map(|q| (0..taps).map(move |t| q * lanes + t * stride)).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// The greatest divisor of `count` up to `most`.
pub(crate) fn divisor(count: i64, most: usize) -> usize {
    (1..=most).rev().find(|size| count % *size as i64 == 0).unwrap_or(1)
}

impl Facts<'_> {
    /// The `s` of a load whose index is `vec - s * tap` and something else that varies over neither; no other load varies over the lanes.
    pub fn shift_stride(&self, inner: &Part, data: Value, vec: Value, tap: Value) -> Option<i64> {
        let func = self.func;
        let mut stride = None;
        for &inst in &func.regions[inner.body].insts {
            match &func.insts[inst].op {
                Op::Sel { index, .. } if func.insts[inst].results[0] == data => {
                    for &i in index {
                        let form = self.form(i);
                        let factor = |of: Value| form.terms.iter().find(|(v, _)| *v == of).map_or(0, |term| term.1);
                        match (factor(vec), factor(tap)) {
                            (1, back) if back < 0 && stride.is_none() => stride = Some(-back),
                            (0, 0) if !self.mentions(i, &[vec, tap], MAX_DEPTH) => {}
                            _ => return None,
                        }
                    }
                }
                Op::With(_) => return None,
                _ => {}
            }
        }
        stride
    }

    /// The shift of the kernel, if it is that of this fold.
    pub fn shift_for(&self, g: &Grid, with: &With) -> Option<Shift> {
        let shift = g.shift.as_ref().filter(|_| g.vec.is_some() && g.lanes > 1)?;
        let [inner] = &with.parts[..] else { return None };
        let defined =
            self.func.regions[inner.body].insts.iter().any(|inst| self.func.insts[*inst].results[..] == [shift.data]);
        defined.then(|| shift.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::{divisor, places};

    #[test]
    fn neighbouring_loads_share_accumulators() {
        // Two vectors of 16 lanes, five taps that are four lanes apart.
        assert_eq!(places(2, 5, 4, 16), [0, 4, 8, 12, 16, 20, 24, 28, 32]);
        assert_eq!(places(3, 2, 1, 8), [0, 1, 8, 9, 16, 17]);
    }

    #[test]
    fn copies_divide_the_axis() {
        assert_eq!((divisor(6, 4), divisor(6, 3), divisor(7, 3)), (3, 3, 1));
    }
}
