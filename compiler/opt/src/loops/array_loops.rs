//! Loops that count their rounds and change one array: what may become a with-loop.

use crate::edit::{Defs, Emitter, Renames, insert_before};
use crate::facts::ranges::Ranges;
use crate::loops::counted::{Counted, counted, emit_end, known_rounds};
use ravel_types::{BinOp, Elem};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

/// A loop without effects or faults that carries a counter, an array that keeps its type, and nothing else.
pub struct ArrayLoop {
    pub inst: Inst,
    pub body: Region,
    /// Positions among the carried values.
    pub array: usize,
    pub counter: usize,
    /// The array and the counter before the first round.
    pub first: Value,
    pub start: Value,
    /// The counter is less than it in all rounds but, perhaps, the first.
    pub end: Value,
}

/// The loop, if it is of this kind.
pub fn array_loop(func: &Func, defs: &Defs, inst: Inst) -> Option<ArrayLoop> {
    let Op::Loop { init, body } = &func.insts[inst].op else { return None };
    let data = &func.regions[*body];
    let Counted { counter, end } = counted(func, defs, inst)?;
    if data.params.len() != 2 || !is_pure(func, *body) {
        return None;
    }
    let array = 1 - counter;
    let found = ArrayLoop { inst, body: *body, array, counter, first: init[array], start: init[counter], end };
    let ty = func.ty(found.param(func));
    let keeps_type = [found.first, found.next(func), func.insts[inst].results[array]].iter().all(|v| func.ty(*v) == ty);
    (ty.elem != Elem::Handle && keeps_type).then_some(found)
}

/// Does nothing in a region have effects or fault?
pub fn is_pure(func: &Func, region: Region) -> bool {
    let mut pure = true;
    walk(func, region, &mut |_, inst| {
        let op = &func.insts[inst].op;
        pure &= !op.is_anchored() && !matches!(op, Op::Call { .. } | Op::Native { .. });
        pure &= !matches!(op, Op::With(With { ordered: true, .. }));
    });
    pure
}

impl ArrayLoop {
    /// The array in a round.
    pub fn param(&self, func: &Func) -> Value {
        func.regions[self.body].params[self.array]
    }

    /// The array for the next round.
    pub fn next(&self, func: &Func) -> Value {
        func.regions[self.body].yields[self.array + 1]
    }

    /// The counter in a round.
    pub fn count(&self, func: &Func) -> Value {
        func.regions[self.body].params[self.counter]
    }

    /// Rounds, if start and end are constant.
    pub fn rounds(&self, func: &Func, defs: &Defs) -> Option<i64> {
        known_rounds(func, defs, self.start, self.end)
    }

    /// Is it certain, by what is known at the loop, that the counter begins before the end?
    pub fn is_ordered(&self, func: &Func, defs: &Defs, ranges: &mut Ranges) -> bool {
        let (start, end) = (ranges.form(func, defs, self.start), ranges.form(func, defs, self.end));
        ranges.compare(BinOp::Lt, &start, &end) == Some(true)
    }

    /// What the counter is after the last round: the first one runs whatever the end is.
    pub fn emit_last(&self, e: &mut Emitter, is_ordered: bool) -> Value {
        emit_end(e, self.start, self.end, is_ordered)
    }

    /// Lets a with-loop over `generator` change the array in place of the loop, whose body has become that of its cells. `before` makes the bounds,
    /// and `last` is what the counter was after the loop.
    pub fn becomes_with(&self, func: &mut Func, region: Region, generator: Generator, before: Vec<Inst>, last: Value) {
        let (parts, ops) = (vec![Part { generator, body: self.body }], vec![WithOp::Modarray { array: self.first }]);
        func.insts[self.inst].op = Op::With(With { parts, ops, ordered: false });
        let count = func.insts[self.inst].results.remove(self.counter);
        insert_before(func, region, self.inst, before);
        let mut renames = Renames::default();
        renames.set(count, last);
        renames.apply(func);
    }
}
