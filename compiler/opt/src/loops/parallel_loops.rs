//! Loops whose rounds do not depend on each other become with-loops.
//!
//! ```text
//!    loop (%a = %x, %j = 0) { %l = %a[%i - 1, %j]  %v = %l + %a[%i, %j]  %b = %a with [%i, %j] = %v  yield %j + 1 < n, %b, %j + 1 }
//! => modarray(%x) { [%i, 0] <= [%k, %j] < [%i + 1, n] -> %x[%i - 1, %j] + %x[%i, %j] }
//! ```
//!
//! Programs written as in C: `for` loops that fill or change an array element by element. As with-loops they run in lanes and on threads; where a
//! loop around carries values from row to row, its rows do. A loop around a with-loop of this kind joins it if its rounds are independent, too.
//!
//! Every round must write one element, at an index that moves with the counter along one axis, and may read the array there, or where no round
//! writes: where indices differ by a constant from a fixed one, or lie before the first or behind the last; in any other row at the column in hand, for
//! were that the row that is written, it would be the round's own element.
//! Those are the conditions under which such an update happens in place, as it did in the loop.
//!
//! A round of a loop along a row may also read what rounds behind it write, `v[j + 1]`: it finds the old element there. The with-loop is `ordered` then,
//! so that it happens in place, on one thread, with lanes that load before they store.
//!
//! Before: simplified, checks proven. After: no such loop of more than a few rounds.
//! Leaves alone: loops with effects or checks that remain, since the first fault must be reported; loops that carry anything else.

use crate::edit::{Def, Defs, Emitter, Renames, loops_of};
use crate::facts::places::Places;
use crate::facts::sums::{Sum, emit_sum};
use crate::loops::array_loops::{ArrayLoop, array_loop};
use crate::loops::rounds::Rounds;
use crate::pass::{Context, Pass, Run};
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Generator, Inst, Op, Region, Value, With, WithOp};

pub const PASS: Pass = Pass {
    name: "parallel-loops",
    summary: "make with-loops of loops whose rounds are independent",
    run: Run::Func(parallel_loops),
};

/// Fewer rounds stay as they are.
const MIN_ROUNDS: i64 = 4;
/// Instructions of a row, other than those of integers, that may be repeated for each of its elements.
const MAX_REPEATED: usize = 3;

/// What the rounds write along an axis.
enum Axis {
    /// One index each, which moves with the counter.
    Moving(Sum),
    /// The same index.
    Fixed(Sum),
    /// A range of indices.
    Range { lower: Sum, upper: Sum, index: Value },
}

/// A loop whose rounds are independent.
struct Found {
    whole: ArrayLoop,
    /// It is certain that the counter begins before the end.
    is_ordered: bool,
    /// What makes the new array in each round.
    write: Inst,
    axes: Vec<Axis>,
    /// Rounds read what later ones write.
    reads_ahead: bool,
}

pub fn parallel_loops(func: &mut Func, cx: &mut Context) -> bool {
    let loops = loops_of(func);
    let mut facts = None;
    let mut changed = false;
    // Inner ones first.
    for (region, inst) in loops.into_iter().rev() {
        let (defs, places) = facts.get_or_insert_with(|| (Defs::new(func), Places::new(func)));
        const INDEPENDENT: &str = "the loop is a with-loop, for its rounds do not depend on each other";
        const AHEAD: &str = "the loop is a with-loop, in order, for its rounds read what later ones replace";
        let becomes = match examine(func, defs, places, inst, Proof::Constants, cx.eager) {
            Some(found) => {
                let text = if found.reads_ahead { AHEAD } else { INDEPENDENT };
                rewrite(func, defs, region, found);
                Some(text)
            }
            None => with_outer(func, defs, places, inst, cx.eager).then_some(INDEPENDENT),
        };
        if let Some(text) = becomes {
            cx.applied(func.insts[inst].span, text);
            (facts, changed) = (None, true);
        }
    }
    changed
}

/// Makes a with-loop of one loop, if its rounds are independent.
pub fn make_parallel(func: &mut Func, region: Region, inst: Inst, eager: bool) -> bool {
    let mut defs = Defs::new(func);
    let Some(found) = examine(func, &defs, &Places::new(func), inst, Proof::Constants, eager) else { return false };
    rewrite(func, &mut defs, region, found);
    true
}

/// Two loops that are a with-loop only together: the inner one reads what the outer one does not write, such as the row above its first one.
fn with_outer(func: &mut Func, defs: &Defs, places: &Places, inst: Inst, eager: bool) -> bool {
    let Some(region) = places.region_of[inst].expand() else { return false };
    let Some(outer) = places.owner[region].expand().filter(|o| matches!(func.insts[*o].op, Op::Loop { .. })) else {
        return false;
    };
    let (Some(found), Some(around)) =
        (examine(func, defs, places, inst, Proof::Ranges, eager), places.region_of[outer].expand())
    else {
        return false;
    };
    let mut trial = func.clone();
    rewrite(&mut trial, &mut Defs::new(func), region, found);
    let mut defs = Defs::new(&trial);
    let Some(found) = examine(&trial, &defs, &Places::new(&trial), outer, Proof::Constants, eager) else {
        return false;
    };
    rewrite(&mut trial, &mut defs, around, found);
    *func = trial;
    true
}

/// How it is shown that a round does not read what another one writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// Indices differ by constants: the update happens in place then.
    Constants,
    /// Or what is known of them says so.
    Ranges,
}

fn examine(func: &Func, defs: &Defs, places: &Places, inst: Inst, proof: Proof, eager: bool) -> Option<Found> {
    let whole = array_loop(func, defs, inst)?;
    let (param, next) = (whole.param(func), whole.next(func));
    let rank = func.ty(param).rank().filter(|rank| *rank > 0)?;
    let Def::Inst(write, _) = defs.get(next) else { return None };
    if !func.regions[whole.body].insts.contains(&write) || places.uses(next).len() != 1 {
        return None;
    }
    let mut rounds = Rounds::of(func, defs, inst)?;
    let axes = match &func.insts[write].op {
        Op::Update { array, index, value } => {
            if *array != param
                || index.len() != rank
                || *value == param
                || !func.ty(*value).is_scalar()
                || whole.rounds(func, defs).is_some_and(|n| n < if eager { 2 } else { MIN_ROUNDS })
            {
                return None;
            }
            let axis = |v: &Value| {
                let sum = rounds.sum(*v)?;
                Some(if rounds.step(&sum) == 0 { Axis::Fixed(sum) } else { Axis::Moving(sum) })
            };
            index.iter().map(axis).collect::<Option<Vec<_>>>()?
        }
        Op::With(With { parts, ops, ordered: false }) => {
            let ([part], [WithOp::Modarray { array }]) = (&parts[..], &ops[..]) else { return None };
            let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return None };
            let is_scalar = func.regions[part.body].yields.iter().all(|v| func.ty(*v).is_scalar());
            if *array != param || lower.len() != rank || !is_scalar || !is_cheap(func, whole.body, write) {
                return None;
            }
            let params = &func.regions[part.body].params;
            rounds.inside.retain(|v| !params.contains(v));
            let axis = |k: usize| {
                let (lower, upper) = (rounds.sum(lower[k])?, rounds.sum(upper[k])?);
                let one = Sum { constant: 1, ..Sum::default() };
                Some(match (rounds.step(&lower), upper == lower.clone().add(&one, 1)) {
                    (0, true) => Axis::Fixed(lower),
                    (_, true) => Axis::Moving(lower),
                    (0, false) if rounds.step(&upper) == 0 => Axis::Range { lower, upper, index: params[k] },
                    _ => return None,
                })
            };
            (0..rank).map(axis).collect::<Option<Vec<_>>>()?
        }
        _ => return None,
    };
    // One axis moves, as the counter does.
    let count = whole.count(func);
    let mut moving = axes.iter().filter_map(|axis| match axis {
        Axis::Moving(sum) => Some(sum),
        _ => None,
    });
    let is_moving = |sum: &Sum| sum.terms.get(&count) == Some(&1);
    if !moving.next().is_some_and(is_moving) || moving.next().is_some() {
        return None;
    }
    let mut ranges = places.ranges_at(func, defs, inst);
    let is_ordered = whole.is_ordered(func, defs, &mut ranges);
    let mut found = Found { whole, is_ordered, write, axes, reads_ahead: false };
    let Op::Update { index: written, .. } = &func.insts[write].op else {
        return found.is_independent(&rounds, param, &mut |_| false).then_some(found);
    };
    // Indices that no round changes, and that are known to differ.
    let mut apart = |read: &[Value]| {
        let fixed = |v: &Value| !rounds.inside.contains(v);
        proof == Proof::Ranges
            && read.iter().zip(written).any(|(read, written)| {
                let (r, w) = (ranges.form(func, defs, *read), ranges.form(func, defs, *written));
                fixed(read) && fixed(written) && ranges.compare(BinOp::Ne, &r, &w) == Some(true)
            })
    };
    if found.is_independent(&rounds, param, &mut apart) {
        return Some(found);
    }
    // Lanes of a with-loop around this one run along other axes, and need no order.
    found.reads_ahead = !eager && !places.is_inside_with(func, inst);
    let mut ahead = |read: &[Value]| found.is_ahead(&rounds, read);
    (found.reads_ahead && found.is_independent(&rounds, param, &mut ahead)).then_some(found)
}

/// Is what a round does beside its with-loop so little that each element may do it?
fn is_cheap(func: &Func, body: Region, write: Inst) -> bool {
    let mut repeated = 0;
    let plain = func.regions[body].insts.iter().filter(|inst| **inst != write).all(|inst| {
        let data = &func.insts[*inst];
        let is_int = |v: &Value| func.ty(*v).is_scalar() && !func.ty(*v).elem.is_float();
        match &data.op {
            Op::Const(_) => true,
            Op::Bin(BinOp::Div | BinOp::Mod | BinOp::AplMod, ..) => false,
            Op::Bin(..) | Op::Un(..) | Op::Select { .. } | Op::Extent { .. } if data.results.iter().all(is_int) => true,
            Op::Bin(BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Min | BinOp::Max, ..) | Op::Sel { .. } => {
                repeated += 1;
                data.results.iter().all(|v| func.ty(*v).is_scalar())
            }
            _ => false,
        }
    });
    plain && repeated <= MAX_REPEATED
}

impl Found {
    /// Does every round read the array only where it writes itself, or no round does? `apart` knows more indices of no round.
    fn is_independent(&self, rounds: &Rounds, param: Value, apart: &mut dyn FnMut(&[Value]) -> bool) -> bool {
        let func = rounds.func;
        let (mut independent, mut reads, mut with_loops) = (true, false, false);
        walk(func, self.whole.body, &mut |_, inst| {
            let op = &func.insts[inst].op;
            with_loops |= matches!(op, Op::With(_)) && inst != self.write;
            for nested in op.regions() {
                independent &= !func.regions[nested].yields.contains(&param);
            }
            match op {
                Op::Sel { array, index } if *array == param => {
                    reads = true;
                    independent &= self.may_read(rounds, index) || (index.len() == self.axes.len() && apart(index));
                }
                Op::Extent { .. } => {}
                op => op.for_each_operand(|v| independent &= v != param || inst == self.write),
            }
        });
        // What with-loops inside store might go through the memory that is read.
        independent && !(reads && with_loops)
    }

    fn may_read(&self, rounds: &Rounds, index: &[Value]) -> bool {
        if index.len() != self.axes.len() {
            return false;
        }
        let sums: Vec<Option<Sum>> = index.iter().map(|v| Some(self.of_cell(rounds, rounds.sum(*v)?))).collect();
        let is_own = |(sum, axis): (&Option<Sum>, &Axis)| match (sum, axis) {
            (Some(sum), Axis::Moving(own) | Axis::Fixed(own)) => sum == own,
            (Some(sum), Axis::Range { index, .. }) => *sum == Sum::of(*index),
            (None, _) => false,
        };
        let differ = |a: &Sum, b: &Sum| {
            let d = a.clone().add(b, -1);
            d.terms.is_empty().then_some(d.constant)
        };
        let is_outside = |(sum, axis): (&Option<Sum>, &Axis)| {
            let Some(sum) = sum else { return false };
            let before = |lower: &Sum| differ(sum, lower).is_some_and(|d| d < 0);
            let behind = |upper: &Sum| differ(sum, upper).is_some_and(|d| d >= 0);
            match axis {
                Axis::Fixed(own) => differ(sum, own).is_some_and(|d| d != 0),
                Axis::Moving(own) => {
                    let (lower, upper) = (rounds.at_start(own, 0), self.at_end(rounds, own));
                    before(&lower) || (self.is_ordered && upper.is_some_and(|upper| behind(&upper)))
                }
                Axis::Range { lower, upper, .. } => before(lower) || behind(upper),
            }
        };
        // Along an axis that no round moves on, any index will do: there it is the round's own cell, or one that no round writes.
        let is_own_if_written = |(sum, axis): (&Option<Sum>, &Axis)| match axis {
            Axis::Fixed(_) => true,
            _ => is_own((sum, axis)),
        };
        sums.iter().zip(&self.axes).all(is_own_if_written) || sums.iter().zip(&self.axes).any(is_outside)
    }

    /// Does only a round behind this one write there, if any does? Rounds go along the last axis, others would have lanes across rows.
    fn is_ahead(&self, rounds: &Rounds, index: &[Value]) -> bool {
        let Some((Axis::Moving(own), rows)) = self.axes.split_last() else { return false };
        let Some((last, row)) = index.split_last().filter(|_| index.len() == self.axes.len()) else { return false };
        let in_row = row.iter().zip(rows).all(|(read, axis)| match axis {
            Axis::Fixed(own) => rounds.sum(*read).as_ref() == Some(own),
            _ => false,
        });
        let Some(distance) = rounds.sum(*last).map(|sum| sum.add(own, -1)).filter(|_| in_row) else { return false };
        distance.terms.is_empty() && distance.constant > 0
    }

    /// An index of the cell, with the names that the loop has for what the cell's own index is.
    fn of_cell(&self, rounds: &Rounds, sum: Sum) -> Sum {
        let Op::With(with) = &rounds.func.insts[self.write].op else { return sum };
        let params = &rounds.func.regions[with.parts[0].body].params;
        params.iter().zip(&self.axes).fold(sum, |sum, (param, axis)| match axis {
            Axis::Moving(own) | Axis::Fixed(own) => sum.substitute(*param, own),
            Axis::Range { .. } => sum,
        })
    }

    /// What an index that moves would be when the counter is at its end.
    fn at_end(&self, rounds: &Rounds, sum: &Sum) -> Option<Sum> {
        Some(sum.clone().substitute(self.whole.count(rounds.func), &rounds.sum(self.whole.end)?))
    }
}

fn rewrite(func: &mut Func, defs: &mut Defs, region: Region, found: Found) {
    let Found { whole, is_ordered, write, axes, reads_ahead } = found;
    let span = func.insts[whole.inst].span;
    let (body, counter) = (whole.body, whole.count(func));
    let first: Vec<Sum> = {
        let Some(rounds) = Rounds::of(func, defs, whole.inst) else { return };
        let start = |axis: &Axis| match axis {
            Axis::Moving(sum) => rounds.at_start(sum, 0),
            Axis::Fixed(sum) | Axis::Range { lower: sum, .. } => sum.clone(),
        };
        axes.iter().map(start).collect()
    };
    let mut out = Vec::new();
    let mut e = Emitter { func, defs, out: &mut out, span };
    let one = e.int(1);
    let end = whole.emit_last(&mut e, is_ordered);
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for (axis, first) in axes.iter().zip(&first) {
        lower.push(emit_sum(&mut e, first));
        upper.push(match axis {
            Axis::Moving(sum) => {
                let constant = e.defs.int(e.func, end);
                let end = constant.map_or_else(|| Sum::of(end), Sum::constant);
                emit_sum(&mut e, &sum.clone().substitute(counter, &end))
            }
            Axis::Fixed(_) => {
                let lower = lower[lower.len() - 1];
                e.int_op(BinOp::Add, lower, one)
            }
            Axis::Range { upper, .. } => emit_sum(&mut e, upper),
        });
    }
    // The body of the with-loop: what a round does, for an index.
    let (cell, inner) = match &func.insts[write].op {
        Op::Update { value, .. } => (*value, None),
        Op::With(with) => (func.regions[with.parts[0].body].yields[0], Some(with.parts[0].body)),
        _ => return,
    };
    let params = match inner {
        Some(inner) => func.regions[inner].params.clone(),
        None => axes.iter().map(|_| func.new_value(Ty::scalar(Elem::I32))).collect(),
    };
    let mut insts = Vec::new();
    let mut renames = Renames::default();
    renames.set(whole.param(func), whole.first);
    for (param, axis) in params.iter().zip(&axes) {
        if let Axis::Moving(sum) = axis {
            // The counter is the index less what the sum adds to it.
            let less = sum.clone().add(&Sum::of(counter), -1);
            let mut e = Emitter { func, defs, out: &mut insts, span };
            let count = emit_sum(&mut e, &Sum::of(*param).add(&less, -1));
            renames.set(counter, count);
        }
    }
    insts.extend(func.regions[body].insts.iter().copied().filter(|inst| *inst != write));
    if let Some(inner) = inner {
        insts.append(&mut func.regions[inner].insts);
    }
    let data = &mut func.regions[body];
    (data.params, data.insts, data.yields) = (params, insts, vec![cell]);
    renames.apply_region(func, body);
    let generator = Generator::Known { lower, upper, step: None, width: None };
    let inst = whole.inst;
    whole.becomes_with(func, region, generator, out, end);
    if let (Op::With(with), true) = (&mut func.insts[inst].op, reads_ahead) {
        with.ordered = true;
    }
}
