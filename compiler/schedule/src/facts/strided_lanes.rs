//! Which indices along an axis belong to a partition with steps, and which lanes may run there.

use ravel_types::BinOp;
use ravel_wir::{Generator, Op, Part, Region, Value};

use crate::facts::Facts;
use crate::facts::grid::Grid;
use crate::facts::sink::Sink;

/// Distances between the teeth of a comb at most, for which lanes are considered.
const LONGEST_STEP: i64 = 8;

/// Which indices along an axis belong to a partition: `width` of every `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Comb {
    pub step: i64,
    pub width: i64,
    /// Position, between two teeth, of the first index of a step of the kernel.
    pub phase: i64,
}

impl Comb {
    /// Every index.
    pub const DENSE: Comb = Comb { step: 1, width: 1, phase: 0 };

    pub fn is_dense(self) -> bool {
        self.step == 1
    }

    /// Vectors after which the pattern of lanes repeats.
    pub fn vectors(self, lanes: i64) -> i64 {
        // The step over its greatest common divisor with the lanes: steps may be as large as integers are.
        let (mut divisor, mut rest) = (self.step, lanes);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        self.step / divisor
    }

    /// Indices from the first to behind the last one that belong to a partition with so many indices from its lower bound.
    pub fn span(self, n: i64) -> i64 {
        match n % self.step {
            _ if n <= 0 => 0,
            0 => n - (self.step - self.width),
            rest => n - rest + rest.min(self.width),
        }
    }

    /// The lanes that belong to the partition, for a vector that begins so far from the first index.
    pub fn mask(self, from: usize, lanes: u8) -> Vec<bool> {
        (0..i64::from(lanes)).map(|lane| (self.phase + from as i64 + lane) % self.step < self.width).collect()
    }
}

impl Facts<'_> {
    /// Steps and widths of a partition along its axes, if they are constant.
    pub fn combs(&self, part: &Part) -> Option<Vec<Comb>> {
        let Generator::Known { lower, step, width, .. } = &part.generator else { return None };
        let Some(step) = step else { return Some(vec![Comb::DENSE; lower.len()]) };
        let constant = |v: &Value| self.const_i32(*v).filter(|k| *k > 0);
        let widths: Vec<i64> = match width {
            Some(width) => width.iter().map(constant).collect::<Option<_>>()?,
            None => vec![1; step.len()],
        };
        let steps: Vec<i64> = step.iter().map(constant).collect::<Option<_>>()?;
        let comb = |(step, width): (&i64, &i64)| {
            if width >= step { Comb::DENSE } else { Comb { step: *step, width: *width, phase: 0 } }
        };
        Some(steps.iter().zip(&widths).map(comb).collect())
    }

    /// May lanes take the indices between those of a partition, along this axis?
    pub fn can_comb(&self, g: &mut Grid, part: &Part, axis: usize, comb: Comb, simple: bool) -> bool {
        let body = part.body;
        let param = self.func.regions[body].params[axis];
        let scalars = self.func.regions[body].yields.iter().all(|v| self.tuple_of(body, *v).is_none());
        comb.step <= LONGEST_STEP
            && (comb.width == 1 || simple)
            && scalars
            && self.may_be_between(g, body, param)
            && !self.bounds_dep(g, body).vec
    }

    /// Does a body read, in the array that it changes, neighbours along the axis of lanes? Vectors that were just stored then overlap those that are
    /// loaded next, and the machine waits until they are in the cache: scalars that leave the neighbours alone are faster.
    pub fn waits_for_stores(&self, part: &Part, axis: usize, sinks: &[Sink]) -> bool {
        let param = self.func.regions[part.body].params[axis];
        let changed: Vec<Value> = sinks
            .iter()
            .filter_map(|sink| if let Sink::Slice { reused: Some(reused), .. } = sink { Some(reused.of) } else { None })
            .collect();
        let mut found = false;
        ravel_wir::traverse::walk(self.func, part.body, &mut |_, inst| {
            if let Op::Sel { array, index } = &self.func.insts[inst].op
                && changed.contains(array)
            {
                let own = self
                    .form(index[axis])
                    .plus(&self.form(param), -1)
                    .is_some_and(|d| d.terms.is_empty() && d.constant == 0);
                found |= !own;
            }
        });
        found
    }

    /// Is a body harmless for indices between those of its partition?
    fn may_be_between(&self, g: &mut Grid, region: Region, param: Value) -> bool {
        let func = self.func;
        func.regions[region].insts.iter().all(|inst| {
            let op = &func.insts[*inst].op;
            match op {
                Op::Loop { .. } => return false,
                Op::Bin(op, _, b)
                    if op.needs_nonzero() && !self.elem(*b).is_float() && self.const_i32(*b).is_none_or(|k| k == 0) =>
                {
                    return false;
                }
                Op::Sel { index, .. } if !index.iter().all(|i| self.is_monotone(g, *i, param)) => return false,
                _ => {}
            }
            op.regions().into_iter().all(|nested| self.may_be_between(g, nested, param))
        })
    }

    /// Does an index lie between those of the lanes around it: an affine form, or a quotient of one by a constant?
    fn is_monotone(&self, g: &mut Grid, index: Value, param: Value) -> bool {
        let atoms: Vec<Value> = self.form(index).terms.into_iter().map(|(v, _)| v).filter(|v| *v != param).collect();
        let varying: Vec<Value> = atoms.into_iter().filter(|v| self.dep(g, *v).vec).collect();
        let quotient = |v: Value| match &self.func.insts[self.live.def(v)?].op {
            Op::Bin(BinOp::Div, a, k) if self.const_i32(*k).is_some_and(|k| k > 0) => Some(*a),
            _ => None,
        };
        match varying[..] {
            [] => true,
            // With another term beside it, it might not be one or the other.
            [v] if self.form(index).terms.iter().all(|(w, _)| *w == v || !self.dep(g, *w).vec) => quotient(v)
                .is_some_and(|a| {
                    a != index && self.form(a).terms.iter().all(|(w, _)| *w == param || !self.dep(g, *w).vec)
                }),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Comb;

    #[test]
    fn masks_repeat_after_whole_steps() {
        let comb = Comb { step: 3, width: 2, phase: 0 };
        assert_eq!(comb.vectors(4), 3);
        assert_eq!(comb.mask(0, 4), [true, true, false, true]);
        assert_eq!(comb.mask(4, 4), [true, false, true, true]);
        assert_eq!(Comb { phase: 2, ..comb }.mask(0, 4), [false, true, true, false]);
        assert_eq!(Comb { step: 4, width: 1, phase: 0 }.vectors(16), 1);
        assert_eq!(Comb { step: 6, width: 1, phase: 0 }.vectors(4), 3);
        assert_eq!(Comb { step: 2147483647, width: 1, phase: 0 }.vectors(4), 2147483647);
    }

    #[test]
    fn spans_end_behind_the_last_index() {
        let comb = Comb { step: 3, width: 2, phase: 0 };
        let spans: Vec<i64> = (-1..8).map(|n| comb.span(n)).collect();
        assert_eq!(spans, [0, 0, 1, 2, 2, 4, 5, 5, 7]);
        assert_eq!(Comb { step: 2, width: 1, phase: 0 }.span(10), 9);
    }
}
