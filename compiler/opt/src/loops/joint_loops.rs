//! Loops that update several arrays at one index become a with-loop with several results.
//!
//! ```text
//!    loop (%x = %x0, %y = %y0, %i = 0) { %p = %x[%i]  %q = %y[%i]  ...  yield ..., %x with [%i] = %p - %q, %y with [%i] = %p + %q, %i + 1 }
//! => %x, %y = with { [0] <= [%i] < [n] { %p = %x0[%i]  %q = %y0[%i]  yield %p - %q, %p + %q } } modarray %x0 modarray %y0
//! ```
//!
//! Positions and velocities, real and imaginary parts, rotations of two vectors. Every round reads and writes one element of each array, so that all
//! rounds are independent, and one sweep over memory does for all arrays. This is a part of `split-loops`, which makes a loop for
//! each array where they are not updated at one index.

use crate::edit::{Def, Defs, Emitter, Renames, insert_before};
use crate::facts::places::Places;
use crate::facts::sums::{Sum, emit_sum};
use crate::loops::array_loops::is_pure;
use crate::loops::counted::{Counted, counted, emit_end};
use crate::loops::rounds::Rounds;
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

/// Fewer rounds stay as they are.
const MIN_ROUNDS: i64 = 4;
/// Most arrays: their elements are in registers at a time.
const MAX_ARRAYS: usize = 6;

/// A loop whose rounds update one element of each array.
struct Joint {
    counter: usize,
    end: Value,
    /// It is certain that the counter begins before the end.
    is_ordered: bool,
    /// By position among the carried values; the element that a round stores.
    updates: Vec<(usize, Inst, Value)>,
    index: Vec<Sum>,
    moving: usize,
    first: Vec<Sum>,
}

/// Makes a with-loop of a loop that updates several arrays at one index. `any_rank` or vectors alone?
pub fn make_joint(func: &mut Func, region: Region, inst: Inst, any_rank: bool, eager: bool) -> bool {
    let mut defs = Defs::new(func);
    let Some(joint) = examine(func, &defs, inst, any_rank, eager) else { return false };
    rewrite(func, &mut defs, region, inst, &joint);
    true
}

fn examine(func: &Func, defs: &Defs, inst: Inst, any_rank: bool, eager: bool) -> Option<Joint> {
    let Op::Loop { init, body } = &func.insts[inst].op else { return None };
    if !(3..=MAX_ARRAYS + 1).contains(&init.len()) || !is_pure(func, *body) {
        return None;
    }
    let Counted { counter, end } = counted(func, defs, inst)?;
    let few = if eager { 2 } else { MIN_ROUNDS };
    if defs.int(func, end).zip(defs.int(func, init[counter])).is_some_and(|(e, s)| i64::from(e) - i64::from(s) < few) {
        return None;
    }
    let rounds = Rounds::of(func, defs, inst)?;
    let data = &func.regions[*body];
    let mut index: Option<Vec<Sum>> = None;
    let mut updates = Vec::new();
    for k in (0..init.len()).filter(|k| *k != counter) {
        let (param, next) = (data.params[k], data.yields[k + 1]);
        let ty = func.ty(param);
        let rank = ty.rank().filter(|rank| *rank == 1 || (any_rank && *rank > 1))?;
        let Def::Inst(update, _) = defs.get(next) else { return None };
        let Op::Update { array, index: at, value } = &func.insts[update].op else { return None };
        let keeps_type = [init[k], next, func.insts[inst].results[k]].iter().all(|v| func.ty(*v) == ty);
        if *array != param
            || !keeps_type
            || at.len() != rank
            || ty.elem == Elem::Handle
            || !func.ty(*value).is_scalar()
            || !data.insts.contains(&update)
        {
            return None;
        }
        let at: Vec<Sum> = at.iter().map(|v| rounds.sum(*v)).collect::<Option<_>>()?;
        if index.get_or_insert_with(|| at.clone()) != &at {
            return None;
        }
        updates.push((k, update, *value));
    }
    let index = index?;
    // One axis moves, as the counter does.
    let mut moves = (0..index.len()).filter(|axis| rounds.step(&index[*axis]) != 0);
    let (moving, None) = (moves.next()?, moves.next()) else { return None };
    if index[moving].terms.get(&data.params[counter]) != Some(&1) {
        return None;
    }
    let others = index.iter().enumerate().filter(|(axis, _)| *axis != moving);
    if others.flat_map(|(_, sum)| sum.terms.keys()).any(|v| rounds.inside.contains(v)) {
        return None;
    }
    let mut own = true;
    walk(func, *body, &mut |_, inner| {
        let op = &func.insts[inner].op;
        let is_ours = |v: Value| updates.iter().any(|(k, ..)| v == data.params[*k] || v == data.yields[k + 1]);
        match op {
            Op::With(_) => own = false,
            Op::Extent { .. } => {}
            Op::Sel { array, index: at } if updates.iter().any(|(k, ..)| data.params[*k] == *array) => {
                own &= at.len() == index.len()
                    && at.iter().zip(&index).all(|(v, sum)| rounds.sum(*v).as_ref() == Some(sum));
            }
            Op::Update { array, value, .. } if updates.iter().any(|(_, update, _)| *update == inner) => {
                own &= is_ours(*array) && !is_ours(*value);
            }
            op => op.for_each_operand(|v| own &= !is_ours(v)),
        }
        own &= op.regions().iter().all(|r| !func.regions[*r].yields.iter().any(|v| is_ours(*v)));
    });
    let yields_once =
        updates.iter().all(|(k, ..)| data.yields.iter().filter(|v| **v == data.yields[k + 1]).count() == 1);
    if !own || !yields_once {
        return None;
    }
    let places = Places::new(func);
    if places.is_inside_with(func, inst) {
        return None;
    }
    let mut ranges = places.ranges_at(func, defs, inst);
    let (start, stop) = (ranges.form(func, defs, init[counter]), ranges.form(func, defs, end));
    let is_ordered = ranges.compare(BinOp::Lt, &start, &stop) == Some(true);
    let first = index.iter().map(|sum| rounds.at_start(sum, 0)).collect();
    Some(Joint { counter, end, is_ordered, updates, index, moving, first })
}

fn rewrite(func: &mut Func, defs: &mut Defs, region: Region, inst: Inst, joint: &Joint) {
    let Op::Loop { init, body } = func.insts[inst].op.clone() else { return };
    let (span, counter) = (func.insts[inst].span, func.regions[body].params[joint.counter]);
    let mut before = Vec::new();
    let mut e = Emitter { func, defs, out: &mut before, span };
    let one = e.int(1);
    let end = emit_end(&mut e, init[joint.counter], joint.end, joint.is_ordered);
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for (axis, (sum, first)) in joint.index.iter().zip(&joint.first).enumerate() {
        let low = emit_sum(&mut e, first);
        lower.push(low);
        upper.push(if axis == joint.moving {
            let end = e.defs.int(e.func, end).map_or_else(|| Sum::of(end), Sum::constant);
            emit_sum(&mut e, &sum.clone().substitute(counter, &end))
        } else {
            e.int_op(BinOp::Add, low, one)
        });
    }
    let params: Vec<Value> = joint.index.iter().map(|_| func.new_value(Ty::scalar(Elem::I32))).collect();
    let mut renames = Renames::default();
    let mut insts = Vec::new();
    // The counter is the index less what the sum adds to it.
    let less = joint.index[joint.moving].clone().add(&Sum::of(counter), -1);
    let count =
        emit_sum(&mut Emitter { func, defs, out: &mut insts, span }, &Sum::of(params[joint.moving]).add(&less, -1));
    renames.set(counter, count);
    for (k, ..) in &joint.updates {
        renames.set(func.regions[body].params[*k], init[*k]);
    }
    let stores: Vec<Inst> = joint.updates.iter().map(|(_, update, _)| *update).collect();
    let data = &mut func.regions[body];
    insts.extend(data.insts.iter().copied().filter(|inst| !stores.contains(inst)));
    (data.params, data.insts) = (params, insts);
    data.yields = joint.updates.iter().map(|(_, _, value)| *value).collect();
    renames.apply_region(func, body);
    let generator = Generator::Known { lower, upper, step: None, width: None };
    let ops = joint.updates.iter().map(|(k, ..)| WithOp::Modarray { array: init[*k] }).collect();
    func.insts[inst].op = Op::With(With { parts: vec![Part { generator, body }], ops, ordered: false });
    let old = func.insts[inst].results.remove(joint.counter);
    insert_before(func, region, inst, before);
    let mut renames = Renames::default();
    renames.set(old, end);
    renames.apply(func);
}
