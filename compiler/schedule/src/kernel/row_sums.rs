//! Sums of sums: a fold over several axes adds up its inner axes on their own.
//!
//! Programs write sums of sums, `sum({ [i] -> sum(a[i] * b) })`, of which the optimiser makes one fold over all axes. Added up in one go,
//! the sum would have the rounding errors of its whole length; the sums of the program have those of both lengths. So where the inner axes are long
//! enough for the additions not to matter, accumulators of reals begin anew there, and what they were is added behind.

use ravel_types::{BinOp, Elem, Scalar};
use ravel_wir::{Combine, Part, With};

use crate::facts::{Accumulate, Grid, Sink, Val, prim_of};
use crate::kernel::reduce::Accs;
use crate::lower::block_sums::{Sum, wants_blocks};
use crate::lower::{Lower, scalars};

/// Additions to one accumulator from which on inner axes have sums of their own.
const ROW_STEPS: i64 = 16;

/// Accumulators of a work-item at most that are cut into blocks.
const MOST_KEPT: usize = 8;

/// What one accumulator was before inner axes.
pub(crate) struct Before {
    place: usize,
    op: BinOp,
    elem: Elem,
    val: Val,
}

/// The identity of an operation on reals that rounds.
fn rounding_identity(op: BinOp, elem: Elem) -> Option<Scalar> {
    let rounds = elem.is_float() && matches!(op, BinOp::Add | BinOp::Mul);
    if rounds { op.identity(elem) } else { None }
}

impl Lower<'_, '_> {
    /// The accumulators of a kernel that long sums cut into blocks: the vectors of one result together where lanes run along the fold.
    pub fn sums_of(&self, accs: &Accs, is_last: bool) -> Vec<Sum> {
        let mut sums = Vec::new();
        if accs.shift.is_some() || !self.keeps_losses(accs) {
            return sums;
        }
        for acc in accs.accs.iter().filter(|acc| wants_blocks(acc.op, acc.elem)) {
            if accs.along {
                let vectors = (0..acc.j).map(|j| (acc.first + j * acc.u..acc.first + (j + 1) * acc.u).collect());
                sums.extend(vectors.map(|places| Sum { elem: acc.elem, places }));
                if !is_last {
                    let singles = (acc.scalars..acc.scalars + acc.j).map(|place| vec![place]);
                    sums.extend(singles.map(|places| Sum { elem: acc.elem, places }));
                }
            } else {
                let places = acc.first..acc.first + acc.j * acc.u;
                sums.extend(places.map(|place| Sum { elem: acc.elem, places: vec![place] }));
            }
        }
        sums
    }

    /// Is there room for what the totals of a kernel lose? A work-item of a device holds in its registers what it carries.
    fn keeps_losses(&self, accs: &Accs) -> bool {
        !self.site.in_launch || accs.vals.len() <= MOST_KEPT
    }

    /// Additions to one accumulator inside of an index of `axis`, as far as types tell it; one if inner axes have sums of their own.
    pub fn additions_inside(&self, g: &Grid, part: &Part, axis: usize, accs: &Accs) -> i64 {
        let Some(steps) = self.steps_inside(g, part, axis, accs) else { return 1 };
        if self.begins_anew(part, axis, accs, Some(steps)) { 1 } else { steps.max(1) }
    }

    /// Additions to one accumulator along the axes inside of `axis`, if constant.
    fn steps_inside(&self, g: &Grid, part: &Part, axis: usize, accs: &Accs) -> Option<i64> {
        self.const_trips(part, axis + 1).map(|trips| match accs.along {
            true => trips / (g.fold_u as i64 * i64::from(g.fold_lanes)).max(1),
            false => trips,
        })
    }

    fn begins_anew(&self, part: &Part, axis: usize, accs: &Accs, steps: Option<i64>) -> bool {
        let is_last = axis + 1 >= self.func.regions[part.body].params.len();
        // Windows whose extents the run decides are short as a rule.
        let is_short = steps.map_or(!accs.along, |steps| steps < ROW_STEPS);
        !is_last && !is_short && accs.shift.is_none() && !self.site.in_launch
    }

    /// Lets the accumulators of a kernel begin anew for the axes inside of `axis`.
    pub fn begin_row_sums(&mut self, g: &Grid, part: &Part, axis: usize, accs: &mut Accs) -> Vec<Before> {
        let mut before = Vec::new();
        let steps = self.steps_inside(g, part, axis, accs);
        if !self.begins_anew(part, axis, accs, steps) {
            return before;
        }
        for acc in &accs.accs {
            let Some(identity) = rounding_identity(acc.op, acc.elem) else { continue };
            let vectors = acc.first..acc.first + acc.j * acc.u;
            let singles = acc.scalars..acc.scalars + if accs.along { acc.j } else { 0 };
            for place in vectors.chain(singles) {
                let lanes = self.b.ty(accs.vals[place]).lanes;
                let start = scalars::constant(&mut self.b, identity, lanes);
                let val = std::mem::replace(&mut accs.vals[place], start);
                before.push(Before { place, op: acc.op, elem: acc.elem, val });
            }
        }
        before
    }

    /// The same for scalar loops and what they carry.
    pub fn begin_scalar_row_sums(
        &mut self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        axis: usize,
        carried: &mut [Val],
    ) -> Vec<Before> {
        let mut before = Vec::new();
        let is_last = axis + 1 >= self.func.regions[part.body].params.len();
        let is_short = self.const_trips(part, axis + 1).is_some_and(|trips| trips < ROW_STEPS);
        if is_last || is_short || with.ordered || self.site.in_launch {
            return before;
        }
        for sink in sinks {
            let Sink::Carried { position, elem, combine: Accumulate::Fold(Combine::Op(op)) } = sink else { continue };
            let Some(identity) = rounding_identity(*op, *elem) else { continue };
            // Accumulators may be arrays.
            if self.b.ty(carried[*position]).prim != prim_of(*elem) {
                continue;
            }
            let start = scalars::constant(&mut self.b, identity, 1);
            let val = std::mem::replace(&mut carried[*position], start);
            before.push(Before { place: *position, op: *op, elem: *elem, val });
        }
        before
    }

    /// What scalar loops add up, and additions inside of an index of `axis`.
    pub fn scalar_sums_of(
        &self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        axis: usize,
        carried: &[Val],
    ) -> (Vec<Sum>, i64) {
        let is_last = axis + 1 >= self.func.regions[part.body].params.len();
        let additions = match self.const_trips(part, axis + 1) {
            Some(trips) if !is_last && trips < ROW_STEPS => trips,
            _ => 1,
        };
        if with.ordered {
            return (Vec::new(), additions);
        }
        let is_sum = |sink: &Sink| match sink {
            Sink::Carried { position, elem, combine: Accumulate::Fold(Combine::Op(op)) } => {
                let is_scalar = wants_blocks(*op, *elem) && self.b.ty(carried[*position]).prim == prim_of(*elem);
                is_scalar.then(|| Sum { elem: *elem, places: vec![*position] })
            }
            _ => None,
        };
        (sinks.iter().filter_map(is_sum).collect(), additions)
    }

    /// Adds what the accumulators were before to the sums of the inner axes.
    pub fn end_row_sums(&mut self, vals: &mut [Val], before: Vec<Before>) {
        let arith = self.arith();
        for Before { place, op, elem, val } in before {
            vals[place] = scalars::binary(&mut self.b, arith, op, elem, val, vals[place]);
        }
    }
}
