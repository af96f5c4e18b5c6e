//! Whether accumulators at shifted places save the products that masks waste ([`crate::kernel::shifted_accumulators`]).

use ravel_types::BinOp;
use ravel_wir::{Combine, Generator, Op, Part, Value, With, WithOp};

use crate::facts::{Dep, Facts, Grid, Jam, Shift, folds_along};
use crate::plan::{KernelPlan, VecChoice};

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

    /// Replaces the masks of a plan by shifted accumulators where that saves products.
    pub fn plan_shift(&self, g: &mut Grid, part: &Part, extents: &[Option<i64>], plan: &mut KernelPlan) {
        let VecChoice::Axis { axis, .. } = plan.vec else { return };
        if plan.even.is_none() {
            return;
        }
        let params = &self.func.regions[part.body].params;
        // Of the axes with copies, the one with most of them keeps some.
        let jam = plan.jams.iter().copied().max_by_key(|jam| jam.1);
        if let Some((axis, copies)) = jam {
            g.push_jam(Jam::of(params[axis], copies));
        }
        let shift = self.shift_of(g, part, axis, extents[axis]);
        if jam.is_some() {
            g.pop_jam();
        }
        let Some(shift) = shift else { return };
        let registers = (self.target.vector_registers as usize).saturating_sub(shift.loads + 1);
        let most = registers / shift.places.len();
        let copies = match jam {
            Some((axis, copies)) => extents[axis].map_or(most.min(copies), |count| divisor(count, most.min(copies))),
            None => 1,
        };
        if most == 0 || copies * shift.places.len() < LEAST_ACCUMULATORS {
            return;
        }
        plan.jams = jam.filter(|_| copies > 1).map(|(axis, _)| (axis, copies)).into_iter().collect();
        plan.vec = VecChoice::Axis { axis, u: shift.vectors };
        plan.shift = Some(shift);
    }

    /// The shift that the only fold of a body allows, if it needs clearly fewer products than masks do.
    fn shift_of(&self, g: &mut Grid, part: &Part, axis: usize, extent: Option<i64>) -> Option<Shift> {
        let func = self.func;
        let Generator::Known { lower, .. } = &part.generator else { return None };
        let vec = func.regions[part.body].params[axis];
        let (start, extent, lanes) = (self.const_i32(lower[axis])?, extent?, i64::from(g.lanes));
        let mut folds =
            func.regions[part.body].insts.iter().filter(|inst| matches!(func.insts[**inst].op, Op::With(_)));
        let (Some(&inst), None) = (folds.next(), folds.next()) else { return None };
        let Op::With(with) = &func.insts[inst].op else { return None };
        let ([inner], [op @ WithOp::Fold { combine: Combine::Op(add), .. }]) = (&with.parts[..], &with.ops[..]) else {
            return None;
        };
        if folds_along(op) != Some(BinOp::Add) || extent < lanes {
            return None;
        }
        let Generator::Known { lower, upper, step: None, .. } = &inner.generator else { return None };
        let (indices, yielded) = (&func.regions[inner.body].params, func.regions[inner.body].yields[0]);
        let (&tap, others) = indices.split_last()?;
        let last = others.len();
        if self.alias[tap].is_some() || (0..last).any(|k| self.dep(g, lower[k]).or(self.dep(g, upper[k])).vec) {
            return None;
        }
        let trips = (0..last)
            .filter_map(|k| self.const_i32(upper[k]).zip(self.const_i32(lower[k])))
            .map(|(u, l)| (u - l).max(1));
        if trips.product::<i64>() < LEAST_TRIPS {
            return None;
        }
        let (weight, data) = self.fused_product(*add, self.elem(func.insts[inst].results[0]), yielded)?;
        let (weight, data) = if self.dep(g, weight).vec { (data, weight) } else { (weight, data) };
        let of_weight = self.dep(g, weight);
        if of_weight.vec
            || of_weight.jams.count_ones() as usize != g.jams.len()
            || self.dep(g, data) != (Dep { vec: true, jams: 0 })
        {
            return None;
        }
        let stride = self.shift_stride(inner, data, vec, tap)?;
        let Op::Sel { array, index } = &func.insts[self.live.def(data)?].op else { return None };
        let (offset, elem) = (self.known_offset(g, *array, index)?, self.elem(data));
        if !self.is_contiguous(g, &offset, elem, 0, 0) {
            return None;
        }
        // All pairs of a place in the row and a tap, and what they load.
        let (mut pairs, mut masked) = (Vec::new(), Vec::new());
        for x in start..start + extent {
            let low = self.evaluate(lower[last], (vec, x), MAX_DEPTH)?;
            let high = self.evaluate(upper[last], (vec, x), MAX_DEPTH)?;
            for t in low..high {
                pairs.push((x - stride * t, t));
                masked.push(((x - start) / lanes, t));
            }
        }
        masked.sort_unstable();
        masked.dedup();
        let taps = pairs.iter().map(|pair| pair.1).max()? + 1;
        let (first, end) = (pairs.iter().map(|pair| pair.0).min()?, pairs.iter().map(|pair| pair.0).max()? + 1);
        let least = pairs.iter().map(|pair| pair.1).min()?;
        let length = end - first;
        let whole = least == 0 && first == start && length % lanes == 0 && pairs.len() as i64 == length * taps;
        let loads = length / lanes;
        if !whole || (loads * taps) as f64 > LEAST_GAIN * masked.len() as f64 {
            return None;
        }
        let places = places(loads, taps, stride, lanes);
        let vectors = (extent + lanes - 1) / lanes;
        let last = (extent % lanes != 0).then_some((extent - lanes) as usize);
        // What is loaded begins where vectors of the row would, but for the last one: it is whole vectors, so that it ends before such a row does.
        let (loads, vectors) = (loads as usize, vectors as usize);
        Some(Shift { weight, data, loads, taps, stride, places, vectors, last })
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
