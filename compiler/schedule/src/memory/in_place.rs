//! Arrays that are changed where they are although the bodies that change them read them.
//!
//! ```text
//!    modarray a { [k + 1, k + 1] <= [i, j] < [n, n] -> a[i,j] - a[i,k] * a[k,j] }
//! => no cell reads what another cell writes: row k and column k lie outside of the partition
//! ```
//!
//! Every cell may read the element that it replaces, and elements outside of what a partition writes. Where one partition reads
//! what another one writes, it runs first; in a circle none can. An index lies outside of a partition if it is provably below its lower bound
//! or not below its upper bound along some axis, as far behind the cell as the partition is long, or between the steps of it. In a partition of a
//! single row, other rows are read at the column in hand: were it the same row, that would be the cell's own element. Several modarrays at once change
//! their arrays in place where the same holds for each of them. The bodies have no with-loops, whose pieces might go through the memory of the
//! result.
//!
//! In a with-loop that is ordered, cells of a single row may also read what those behind them replace: it runs on one thread then, and lanes load before they
//! store.

use ravel_types::{BinOp, Elem, HashSet};
use ravel_wir::dependence::{Distance, Forms, Written, distance, is_outside};
use ravel_wir::{Generator, Op, Part, Value, With, WithOp};

use crate::facts::{Facts, Form, Val};
use crate::lower::Lower;

/// Partitions up to this many are compared with each other.
const MOST_PARTS: usize = 16;
/// Constants by which indices differ are less than this.
const MOST_APART: i64 = 1 << 31;

impl Facts<'_> {
    /// The order in which the partitions of a modarray can change its array in place; nothing if they cannot.
    pub fn in_place(&self, with: &With) -> Option<Vec<usize>> {
        self.order_in_place(with, self.site.ascending)
    }

    /// Is a with-loop without effects that is ordered changed in place, because cells read only what those behind them replace?
    pub fn is_ascending(&self, with: &With) -> bool {
        let plain = With { ordered: false, ..with.clone() };
        with.parts.len() == 1 && self.order_in_place(&plain, true).is_some()
    }

    fn order_in_place(&self, with: &With, ascending: bool) -> Option<Vec<usize>> {
        if with.ops.len() > 1 {
            return self.joint_in_place(with).then(|| (0..with.parts.len()).collect());
        }
        let [WithOp::Modarray { array }] = with.ops[..] else { return None };
        let ty = self.func.ty(array);
        let rank = ty.rank().filter(|rank| *rank > 0)?;
        if with.ordered
            || ty.elem == Elem::Handle
            || self.options.device.is_some()
            || with.parts.len() > MOST_PARTS
            || !self.dies_in_update(with, array)
            || !with.parts.iter().all(|part| self.has_plain_cells(part, rank))
        {
            return None;
        }
        let mut before = vec![vec![false; with.parts.len()]; with.parts.len()];
        for (p, part) in with.parts.iter().enumerate() {
            for index in self.other_reads(part, array)? {
                for (q, written) in with.parts.iter().enumerate() {
                    let is_ahead = p == q && ascending && self.is_ahead(part, &index);
                    before[p][q] |= !is_ahead && !self.reads_before(part, &index, written);
                }
            }
        }
        let mut order = Vec::new();
        while order.len() < with.parts.len() {
            // One that no partition must come before, of those that are left.
            let is_next =
                |q: &usize| !order.contains(q) && (0..with.parts.len()).all(|p| order.contains(&p) || !before[p][*q]);
            let next = (0..with.parts.len()).find(is_next)?;
            order.push(next);
        }
        Some(order)
    }

    /// Is an index behind that of the cell in the only row of a partition? Indices differ by less than 2^31.
    fn is_ahead(&self, part: &Part, index: &[Value]) -> bool {
        let (last, axes) = (index.len() - 1, self.written(part));
        let in_row = axes[..last].iter().all(|axis| axis.is_single)
            && distance(self, &self.of_cell(part, index), &axes) == Distance::Along(last);
        let param = self.func.regions[part.body].params[last];
        in_row && self.ahead_of(param, index[last]).is_some_and(|d| (1..MOST_APART).contains(&d))
    }

    /// Can several modarrays change their arrays in place? Their cells read only the elements that they replace, or that none does.
    fn joint_in_place(&self, with: &With) -> bool {
        let is_unwritten = |part: &Part, index: &[Value]| {
            let by = |written: &Part| self.reads_before(part, index, written);
            with.parts.len() <= MOST_PARTS && with.parts.iter().all(by)
        };
        let mut arrays = HashSet::default();
        let in_place = |op: &WithOp| {
            let WithOp::Modarray { array } = *op else { return false };
            let ty = self.func.ty(array);
            let Some(rank) = ty.rank().filter(|rank| *rank > 0) else { return false };
            let whole = |part: &Part| {
                self.has_plain_cells(part, rank)
                    && self
                        .other_reads(part, array)
                        .is_some_and(|reads| reads.iter().all(|index| is_unwritten(part, index)))
            };
            arrays.insert(array)
                && ty.elem != Elem::Handle
                && self.dies_in_update(with, array)
                && with.parts.iter().all(whole)
        };
        !with.ordered && self.options.device.is_none() && with.ops.iter().all(in_place)
    }

    /// Are cells single elements of an array, computed without with-loops?
    fn has_plain_cells(&self, part: &Part, rank: usize) -> bool {
        matches!(&part.generator, Generator::Known { lower, .. } if lower.len() == rank)
            && self.func.regions[part.body].yields.iter().all(|v| self.func.ty(*v).is_scalar())
            && !self.has_with_loop(part.body)
    }

    /// The indices at which a body reads the array, other than its own; nothing if the array is used in other ways.
    fn other_reads(&self, part: &Part, array: Value) -> Option<Vec<Vec<Value>>> {
        let params = &self.func.regions[part.body].params;
        let mut reads = Some(Vec::new());
        ravel_wir::traverse::walk(self.func, part.body, &mut |_, inst| match &self.func.insts[inst].op {
            Op::Sel { array: from, index } if *from == array => match &mut reads {
                _ if index.len() != params.len() => reads = None,
                Some(reads) if !self.is_own(part, index) && !reads.contains(index) => reads.push(index.clone()),
                _ => {}
            },
            Op::Extent { .. } => {}
            op => {
                let mut named = self.func.regions[part.body].yields.contains(&array);
                op.for_each_operand(|v| named |= v == array);
                for region in op.regions() {
                    named |= self.func.regions[region].yields.contains(&array);
                }
                if named {
                    reads = None;
                }
            }
        });
        reads
    }

    /// Is an index that of the cell itself?
    fn is_own(&self, part: &Part, index: &[Value]) -> bool {
        let of_cell = self.of_cell(part, index);
        let is_own = |(form, axis): (&Option<Value>, &Written<Value>)| {
            form.is_some_and(|form| self.difference(&form, &axis.own) == Some((0, 0)))
        };
        of_cell.iter().zip(&self.written(part)).all(is_own)
    }

    /// What a partition writes along each axis. Where there is a cell at all, what follows its lower bound has not wrapped.
    fn written(&self, part: &Part) -> Vec<Written<Value>> {
        let Generator::Known { lower, upper, step, .. } = &part.generator else { return Vec::new() };
        let params = &self.func.regions[part.body].params;
        let written = |k: usize| {
            let is_one = self.ahead_of(lower[k], upper[k]) == Some(1);
            let own = if is_one { lower[k] } else { params[k] };
            Written { own, lower: Some(lower[k]), upper: Some(upper[k]), is_single: is_one && step.is_none() }
        };
        (0..lower.len()).map(written).collect()
    }

    /// An index of a cell, with the lower bound for what the cell's index is along an axis with one index.
    fn of_cell(&self, part: &Part, index: &[Value]) -> Vec<Option<Value>> {
        let params = &self.func.regions[part.body].params;
        let axes = self.written(part);
        let of_cell = |(k, v): (usize, &Value)| {
            let is_param = params.get(k).is_some_and(|param| self.difference(v, param) == Some((0, 0)));
            Some(if is_param { axes[k].own } else { *v })
        };
        index.iter().enumerate().map(of_cell).collect()
    }

    /// Does a cell of `part` find the element at an index as it was before `written` changed the array?
    fn reads_before(&self, part: &Part, index: &[Value], written: &Part) -> bool {
        let axes = self.written(written);
        let is_same = part.body == written.body;
        let is_apart = match is_same {
            true => matches!(distance(self, &self.of_cell(part, index), &axes), Distance::Own | Distance::Never),
            false => is_outside(self, &index.iter().copied().map(Some).collect::<Vec<_>>(), &axes),
        };
        is_apart
            || (0..index.len()).any(|axis| {
                (is_same && self.is_before_block(part, axis, index[axis]))
                    || self.is_between_steps(part, index[axis], written, axis)
            })
    }

    /// Does an index lie between what the steps of a partition write along an axis?
    fn is_between_steps(&self, part: &Part, index: Value, written: &Part, axis: usize) -> bool {
        let Generator::Known { lower, step, width, .. } = &written.generator else { return false };
        let constant = |list: &Option<Vec<Value>>| list.as_ref().map_or(Some(1), |list| self.const_i32(list[axis]));
        match (constant(step), constant(width)) {
            (Some(step), Some(width)) if step > width && width > 0 => self
                .offsets_within(part, index, lower[axis], step)
                .is_some_and(|mut offsets| offsets.all(|k| k >= width)),
            _ => false,
        }
    }

    /// Does an index lie as far behind that of the cell as a partition is long, so that it is below its lower bound? The partition ends at its lower
    /// bound plus the least of several numbers, of which the distance is one. Indices of arrays differ by less than 2^31, whatever sums do.
    fn is_before_block(&self, part: &Part, axis: usize, index: Value) -> bool {
        let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return false };
        let param = self.func.regions[part.body].params[axis];
        let op = |v: Value| self.live.def(v).map(|inst| &self.func.insts[inst].op);
        let Some(Op::Bin(BinOp::Add, a, b)) = op(upper[axis]) else { return false };
        let long = [(a, b), (b, a)].into_iter().find(|(from, _)| self.ahead_of(lower[axis], **from) == Some(0));
        let mut lengths: Vec<Value> = long.into_iter().map(|(_, length)| *length).collect();
        while let Some(length) = lengths.pop() {
            match op(length) {
                Some(Op::Bin(BinOp::Min, a, b)) => lengths.extend([*a, *b]),
                _ if self.lies_behind(param, index, length) => return true,
                _ => {}
            }
        }
        false
    }

    /// Is an index less than another one by a number?
    fn lies_behind(&self, from: Value, index: Value, by: Value) -> bool {
        match self.live.def(index).map(|inst| &self.func.insts[inst].op) {
            Some(Op::Bin(BinOp::Sub, a, b))
                if self.ahead_of(from, *a) == Some(0) && self.ahead_of(by, *b) == Some(0) =>
            {
                true
            }
            _ => self.const_i32(by).is_some_and(|by| self.ahead_of(from, index) == Some(-by)),
        }
    }

    /// The remainders by `step` of the distances of an index from a lower bound, if they are known.
    fn offsets_within(&self, part: &Part, index: Value, bound: Value, step: i64) -> Option<impl Iterator<Item = i64>> {
        let Generator::Known { lower, step: own, width, .. } = &part.generator else { return None };
        let mut form = self.form(index);
        let mut widest = 1;
        for (axis, param) in self.func.regions[part.body].params.iter().enumerate() {
            if !form.terms.contains(&(*param, 1)) {
                continue;
            }
            // The index is its lower bound, some steps, and a position in the width.
            let of = |list: &Option<Vec<Value>>| list.as_ref().map_or(Some(1), |list| self.const_i32(list[axis]));
            if of(own)? % step != 0 || widest > 1 {
                return None;
            }
            widest = of(width)?;
            form = form.plus(&self.form(*param), -1)?.plus(&self.form(lower[axis]), 1)?;
        }
        let form = form.plus(&self.form(bound), -1)?;
        let known = form.terms.iter().all(|(_, factor)| factor % step == 0);
        known.then(|| (0..widest).map(move |k| (form.constant + k).rem_euclid(step)))
    }
}

impl Lower<'_, '_> {
    /// The array of a modarray that is updated in place, for bodies and for the result. Bodies must find it where it was again
    /// afterwards, in another branch say.
    pub fn take_to_update(&mut self, array: Value) -> Val {
        let known = self.facts.references.fresh.contains(&array);
        let object = self.hand_over(array);
        if known { object } else { self.make_unique(object) }
    }
}

/// Indices of an array, or one behind the last: where they differ by a constant modulo 2^32, they do so without.
impl Forms for Facts<'_> {
    type Form = Value;

    fn difference(&self, a: &Value, b: &Value) -> Option<(i64, i64)> {
        match self.ahead_of(*b, *a).filter(|d| (-MOST_APART..MOST_APART).contains(d)) {
            Some(d) => Some((d, d)),
            None => self.form(*a).plus(&self.form(*b), -1).map(|d| known_range(&d)),
        }
    }
}

/// Bounds of a difference, whose terms may have cancelled.
fn known_range(form: &Form) -> (i64, i64) {
    if form.terms.is_empty() { (form.constant, form.constant) } else { form.range() }
}
