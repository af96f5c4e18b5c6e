//! Arrays that are made only to be written anew: their elements are not computed.
//!
//! ```text
//!    %x = with { [0] <= [%j] < [n] { 0.0 } } genarray [n]
//!    %y = loop (%a = %x, %i = 0) { ...  %b = update %a, [%i], %v   yield %i + 1 < n, %b, ... }
//! ```
//!
//! A loop has no other way to make an array. Where it counts through all indices, writes the element at each, or the cell, and reads none, the
//! first elements are seen by nobody, and the memory is written once instead of twice. Loops in loops count through one axis each.

use ravel_types::{BinOp, Elem};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Region, Value, With, WithOp};

use crate::facts::{Facts, Liveness, Refusal, any_op};
use crate::plan::strategy::WithPlan;

impl Facts<'_> {
    /// Does the with-loop at work make an array that the next loop overwrites?
    pub fn plan_dead_stores(&self, inst: Inst, with: &With) -> Result<WithPlan, Refusal> {
        let (func, other) = (self.func, Err(Refusal::OtherKind));
        // Without a cell, or with generators of another rank, only running it would tell how large the array is.
        let ([WithOp::Genarray { frame: Frame::Known(frame), cell: Some(_), .. }], &[result]) =
            (&with.ops[..], &func.insts[inst].results[..])
        else {
            return other;
        };
        let (Some(scope), Some(extents)) = (self.scopes.last(), func.ty(result).shape.extents()) else { return other };
        let known = with.parts.iter().all(|part| matches!(part.generator, Generator::Known { .. }));
        let plain = known && !with.ordered && func.ty(result).elem != Elem::Handle && !extents.is_empty();
        if !plain || self.dests.contains_key(&result) || self.live.uses(result) != 1 {
            return other;
        }
        let takes = |user: &&Inst| matches!(&func.insts[**user].op, Op::Loop { init, .. } if init.contains(&result));
        let Some(&user) = func.regions[scope.region].insts.iter().find(takes) else { return other };
        let Op::Loop { init, body } = &func.insts[user].op else { return other };
        if with.parts.iter().any(|part| may_fault(func, part.body)) {
            return Err(Refusal::MayFault);
        }
        let position = init.iter().position(|v| *v == result);
        let search = Search { func, live: &self.live, array: result, frame };
        match position.is_some_and(|k| search.overwrites(init, *body, k, &mut Vec::new())) {
            true => Ok(WithPlan::DeadStores),
            false => Err(Refusal::StoresSome),
        }
    }
}

fn may_fault(func: &Func, region: Region) -> bool {
    any_op(func, region, |op| op.is_anchored() || matches!(op, Op::Call { .. }))
}

struct Search<'a> {
    func: &'a Func,
    live: &'a Liveness,
    /// What is overwritten, and the leading extents that it was made with.
    array: Value,
    frame: &'a [Value],
}

impl Search<'_> {
    /// Does a loop that carries the array at position `k` write all of it, at these indices along the first axes?
    fn overwrites(&self, init: &[Value], body: Region, k: usize, index: &mut Vec<Value>) -> bool {
        let (func, data) = (self.func, &self.func.regions[body]);
        let Some(counter) = self.counter(init, body, index.len()) else { return false };
        index.push(data.params[counter]);
        let (before, after) = (data.params[k], data.yields[k + 1]);
        let Some(writer) = self.live.def(after).filter(|_| self.live.uses(before) == 1 && self.live.uses(after) == 1)
        else {
            return false;
        };
        if !data.insts.contains(&writer) {
            return false;
        }
        match &func.insts[writer].op {
            Op::Update { array, index: place, value } => *array == before && *value != before && place == index,
            Op::Loop { init, body } => init
                .iter()
                .position(|v| *v == before)
                .is_some_and(|j| func.insts[writer].results[j] == after && self.overwrites(init, *body, j, index)),
            _ => false,
        }
    }

    /// The position of a loop's counter, if that runs through all indices of an axis.
    fn counter(&self, init: &[Value], body: Region, axis: usize) -> Option<usize> {
        let (func, data) = (self.func, &self.func.regions[body]);
        let op = |v: Value| self.live.def(v).map(|inst| &func.insts[inst].op);
        let constant = |v: Value| match op(v) {
            Some(Op::Const(scalar)) => scalar.as_i64(),
            _ => None,
        };
        let Some(Op::Bin(BinOp::Lt, next, end)) = op(*data.yields.first()?) else { return None };
        let counter = data.yields[1..].iter().position(|v| v == next)?;
        let Some(Op::Bin(BinOp::Add, a, b)) = op(*next) else { return None };
        let counts = *a == data.params[counter] && constant(*b) == Some(1) && constant(init[counter]) == Some(0);
        let extent = func.ty(self.array).shape.extents()?.get(axis)?;
        let same = self.frame.get(axis) == Some(end)
            || extent.as_const().is_some_and(|n| constant(*end) == Some(i64::from(n)))
            || matches!(op(*end), Some(Op::Extent { array, axis }) if func.ty(*array).shape.extents().is_some_and(|e| e.get(*axis as usize) == Some(extent)));
        (counts && same).then_some(counter)
    }
}
