//! Loops that count their rounds.

use crate::edit::{Defs, Emitter, collect_values};
use ravel_types::HashSet;
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::{Func, Inst, Op, Value};

/// What counts the rounds of a loop: it goes on while its counter, one greater in each round, is less than the end.
pub struct Counted {
    /// Position among the carried values.
    pub counter: usize,
    /// No round changes it.
    pub end: Value,
}

/// How a loop counts; `None` if it goes on for another reason.
pub fn counted(func: &Func, defs: &Defs, inst: Inst) -> Option<Counted> {
    let Op::Loop { body, .. } = &func.insts[inst].op else { return None };
    let data = &func.regions[*body];
    let Some(Op::Bin(BinOp::Lt, next, end)) = defs.op(func, *data.yields.first()?) else { return None };
    let counter = data.yields[1..].iter().position(|v| v == next)?;
    let Some(Op::Bin(BinOp::Add, a, b)) = defs.op(func, *next) else { return None };
    let is_step = |a: &Value, b: &Value| *a == data.params[counter] && defs.int(func, *b) == Some(1);
    if !is_step(a, b) && !is_step(b, a) {
        return None;
    }
    let mut own = HashSet::default();
    collect_values(func, *body, &mut own);
    // Constants may stand anywhere.
    let is_invariant = !own.contains(end) || defs.int(func, *end).is_some();
    is_invariant.then_some(Counted { counter, end: *end })
}

/// Rounds of a loop that counts from `start`, if that and its end are constant; the first one runs whatever the number is.
pub fn known_rounds(func: &Func, defs: &Defs, start: Value, end: Value) -> Option<i64> {
    Some(i64::from(defs.int(func, end)?) - i64::from(defs.int(func, start)?))
}

/// Whether a loop that counts from `start` has at least so many rounds; not if their number does not fit.
pub fn emit_is_long(e: &mut Emitter, (start, end): (Value, Value), least: i32) -> Value {
    let truth = Ty::scalar(Elem::Bool);
    let begins = e.emit(Op::Bin(BinOp::Lt, start, end), truth.clone());
    let n = e.int_op(BinOp::Sub, end, start);
    let least = e.int(least);
    let long = e.emit(Op::Bin(BinOp::Ge, n, least), truth.clone());
    e.emit(Op::Bin(BinOp::And, begins, long), truth)
}

/// What the counter of a loop is after the last round: the first one runs whatever the end is, unless it is certain that it is greater.
pub fn emit_end(e: &mut Emitter, start: Value, end: Value, is_ordered: bool) -> Value {
    let end = match e.defs.int(e.func, end) {
        Some(end) => e.int(end),
        None => end,
    };
    if is_ordered {
        return end;
    }
    let one = e.int(1);
    let second = e.int_op(BinOp::Add, start, one);
    e.int_op(BinOp::Max, end, second)
}
