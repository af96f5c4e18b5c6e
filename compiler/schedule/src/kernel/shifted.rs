//! Transposed convolutions: folds whose masks would waste lanes, with accumulators at shifted places instead.
//!
//! In `y[x] = sum(w[t] * d[x - s t])`, over those `t` for which `x - s t` is inside `d`, vectors along `x` take part in every product with
//! some lanes only, near both ends of the row. Lanes along `p = x - s t` always take part: a vector of `d` is multiplied by each
//! weight and added to an accumulator for the places `p + s t` of the row. These accumulators overlap; they are added up once the fold has
//! ended. There are more of them than vectors of the row, which leaves registers for fewer copies of other axes.
//!
//! Products are added in another order than that of the program, so this is for operations that regroup.

use ravel_types::{BinOp, Elem};
use ravel_wir::{Combine, Generator, Op, Part, Value, WithOp};

use crate::Result;
use crate::facts::Val;
use crate::facts::grid::{Cell, Dep, Grid, Jam, Shift};
use crate::facts::support::folds_along;
use crate::kernel::reduce::Accs;
use crate::lower::{Lower, scalars};
use crate::plan::shifted::{LEAST_ACCUMULATORS, LEAST_GAIN, LEAST_TRIPS, MAX_DEPTH, divisor, places};
use crate::plan::{KernelPlan, VecChoice};

impl Lower<'_, '_> {
    /// Replaces the masks of a plan by shifted accumulators where that saves products.
    pub fn plan_shift(&mut self, g: &mut Grid, part: &Part, extents: &[Option<i64>], plan: &mut KernelPlan) {
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
        let registers = (self.cx.target.vector_registers as usize).saturating_sub(shift.loads + 1);
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
    fn shift_of(&mut self, g: &mut Grid, part: &Part, axis: usize, extent: Option<i64>) -> Option<Shift> {
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
        let (offset, elem) = (self.element_offset(*array, index), self.elem(data));
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

    /// The innermost axis of a fold with shifted accumulators: all products of some vectors and weights.
    pub fn fold_shifted(&mut self, g: &mut Grid, shift: &Shift, tap: Value, accs: &mut Accs) -> Result<()> {
        let lanes = i64::from(g.lanes);
        // With tap 0 lanes along the row are lanes along the data.
        let mark = g.mark();
        self.bind_fixed(tap, 0);
        let data = (0..shift.loads).map(|q| self.packed_of(g, shift.data, 0, q)).collect::<Result<Vec<Val>>>()?;
        self.unfix(tap);
        g.release(mark);
        for t in 0..shift.taps {
            let mark = g.mark();
            self.bind_fixed(tap, t);
            for j in 0..g.j() {
                let weight = self.packed_of(g, shift.weight, j, 0)?;
                for (q, &data) in data.iter().enumerate() {
                    let Some(place) = shift.place(q, t, lanes) else { continue };
                    let place = j * shift.places.len() + place;
                    accs.vals[place] = self.b.fma(weight, data, accs.vals[place]);
                }
            }
            self.unfix(tap);
            g.release(mark);
        }
        Ok(())
    }

    /// The vectors of the row, from the accumulators of one copy and the neutral element in all lanes.
    fn add_shifted(
        &mut self,
        shift: &Shift,
        elem: Elem,
        accumulators: &[Val],
        neutral: Val,
        identity: Val,
    ) -> Vec<Val> {
        let arith = self.arith();
        let lanes = i64::from(self.b.ty(neutral).lanes);
        let mut row = vec![neutral; shift.vectors];
        let at = |place: i64| shift.places.binary_search(&place).ok().map(|k| accumulators[k]);
        for phase in 0..lanes {
            // Lanes before the phase belong to the accumulator that begins in the vector before.
            let picks: Vec<u8> = (0..lanes).map(|lane| (lanes - phase + lane) as u8).collect();
            for (u, sum) in row.iter_mut().enumerate() {
                let here = shift.start(u, lanes) + phase;
                let part = match (at(here - lanes), at(here)) {
                    (None, None) => continue,
                    (_, Some(value)) if phase == 0 => value,
                    (Some(_), None) if phase == 0 => continue,
                    (before, value) => self.b.shuffle(before.unwrap_or(identity), value.unwrap_or(identity), &picks),
                };
                *sum = scalars::binary(&mut self.b, arith, BinOp::Add, elem, *sum, part);
            }
        }
        row
    }

    /// Makes cells of the accumulators of a fold's copies.
    pub fn finish_shifted(
        &mut self,
        g: &mut Grid,
        shift: &Shift,
        accs: &Accs,
        result: Value,
        neutral: Value,
    ) -> Result<()> {
        let elem = self.elem(result);
        let identity = match BinOp::Add.identity(elem) {
            Some(identity) => self.constant_of(g, identity),
            None => return self.unsupported(ravel_source::Span::NONE, "a fold without identity in a kernel"),
        };
        let places = shift.places.len();
        for j in 0..g.j() {
            let neutral = self.packed_of(g, neutral, j, 0)?;
            let row = self.add_shifted(shift, elem, &accs.vals[j * places..(j + 1) * places], neutral, identity);
            for (u, value) in row.into_iter().enumerate() {
                g.remember(result, j, u, Cell::Packed(value));
            }
        }
        Ok(())
    }
}
