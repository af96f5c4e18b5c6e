//! Index checks of loops are made once, before the loop, where that is possible.
//!
//! ```text
//!    loop (%a, %j = %s) { check 0 <= %j && %j < %n   ...   yield %j + %d < %m, ... }
//! => if 0 <= %s && %s < %m && %m <= %n && 0 < %d && %m <= 2^31 - 1 - %d { loop without the check } else { the loop as it was }
//! ```
//!
//! What a loop counts stays between its first value and its bound, if it counts upward and does not wrap: where both are in range, all indices
//! are. That bounds and extents have to do with each other is often known to the caller only, as are steps and starts. If some index is
//! out of range the loop runs with its checks, so that the first of them faults where it did.
//!
//! Before: checks proven as far as possible. After: innermost loops of moderate size come in two versions.
//! Leaves alone: loops of few iterations, indices other than the counter plus a constant and what no iteration changes.
//! Worth: tests/survey/reductions/integer-intervals (5.9 with Cranelift, 7.9 with LLVM).

use crate::edit::{Copier, Defs, Emitter, has_loop, loops_of, size_of, version};
use crate::facts::{Sum, emit_sum};
use crate::loops::nest::LoopNest;
use crate::pass::{Context, Pass};
use ravel_types::{BinOp, Elem, HashSet, Scalar, Ty};
use ravel_wir::{Func, Inst, Op, Region, Value};

pub const PASS: Pass = Pass::of("version-checks", "make the index checks of loops once, before them", version_checks);

/// Most instructions of a body, of which there will be two.
const MAX_CODE: usize = 80;
/// Fewer iterations stay as they are.
const MIN_ITERATIONS: i64 = 8;
/// Constants that are added to a counter are less than this, and extents that are compared then at most so.
const MAX_OFFSET: i32 = 1 << 20;
const MAX_EXTENT: i32 = 1 << 30;

/// A comparison that the loop need not make if something holds before it.
enum Test {
    /// Of what no iteration changes: the comparison itself.
    Fixed(BinOp, Sum, Sum),
    /// The counter plus a constant is not negative.
    NotNegative(i32),
    /// The counter plus a constant is less than something that no iteration changes.
    Below(i32, Sum),
    /// The counter plus what no iteration changes is not negative, or less than something else of that kind.
    NotNegativeFrom(Sum),
    BelowFrom(Sum, Sum),
}

struct Found {
    /// Position of the counter among the carried values, and its bound.
    counter: usize,
    end: Sum,
    step: Sum,
    tests: Vec<Test>,
    /// Checks that are made before.
    checks: HashSet<Inst>,
}

pub fn version_checks(func: &mut Func, cx: &mut Context) -> bool {
    let loops = loops_of(func);
    let mut defs = Defs::new(func);
    let mut changed = false;
    for (region, inst) in loops {
        let Some(found) = examine(func, &defs, inst, cx.eager) else { continue };
        rewrite(func, &mut defs, region, inst, found);
        cx.applied(func.insts[inst].span, "the loop's index checks are made before it");
        defs = Defs::new(func);
        changed = true;
    }
    changed
}

fn examine(func: &Func, defs: &Defs, inst: Inst, eager: bool) -> Option<Found> {
    let Op::Loop { init, body } = &func.insts[inst].op else { return None };
    let data = &func.regions[*body];
    let checks = || data.insts.iter().filter(|i| matches!(func.insts[**i].op, Op::Check { .. }));
    if has_loop(func, *body) || checks().next().is_none() || size_of(func, *body) > MAX_CODE {
        return None;
    }
    // Every iteration must have values of the types that the results have.
    let results = &func.insts[inst].results;
    let fixed =
        |k: usize| [init[k], data.params[k], data.yields[k + 1]].iter().all(|v| func.ty(*v) == func.ty(results[k]));
    if !(0..init.len()).all(fixed) {
        return None;
    }
    let mut nest = LoopNest::of(func, defs, inst)?;
    let mut conditions = vec![data.yields[0]];
    let mut bound = None;
    while let Some(cond) = conditions.pop() {
        match defs.op(func, cond) {
            Some(Op::Bin(BinOp::And, a, b)) => conditions.extend([*a, *b]),
            Some(Op::Bin(BinOp::Lt, next, end)) => bound = bound.or_else(|| counts(&nest, *next, *end)),
            _ => {}
        }
    }
    let (counter, end, step) = bound?;
    // Also where it takes steps that only the run knows, indices are sums of it.
    nest.inside.remove(&data.params[counter]);
    if let (Some(first), true) = (defs.int(func, init[counter]), end.terms.is_empty())
        && i64::from(end.constant) - i64::from(first) < if eager { 1 } else { MIN_ITERATIONS }
    {
        return None;
    }
    let (mut tests, mut hoisted) = (Vec::new(), HashSet::default());
    for &check in checks() {
        let Op::Check { cond, .. } = func.insts[check].op else { continue };
        let mut own = Vec::new();
        if test(&nest, data.params[counter], cond, &mut own).is_some() {
            tests.append(&mut own);
            hoisted.insert(check);
        }
    }
    (!hoisted.is_empty()).then_some(Found { counter, end, step, tests, checks: hoisted })
}

/// The position of a counter whose next value is compared with a bound, the bound, and the step.
fn counts(nest: &LoopNest, next: Value, end: Value) -> Option<(usize, Sum, Sum)> {
    let data = &nest.func.regions[nest.body];
    let counter = data.yields[1..].iter().position(|v| *v == next)?;
    let param = data.params[counter];
    let Some(Op::Bin(BinOp::Add, a, b)) = nest.defs.op(nest.func, next) else { return None };
    let step = if *a == param { *b } else { (*b == param).then_some(*a)? };
    let invariant = |v: Value| nest.sum(v).filter(|sum| is_fixed(nest, sum));
    Some((counter, invariant(end)?, invariant(step)?))
        .filter(|(_, _, step)| !step.terms.is_empty() || step.constant > 0)
}

/// Is a sum made of what stands before the loop?
fn is_fixed(nest: &LoopNest, sum: &Sum) -> bool {
    sum.terms.keys().all(|v| !nest.inside.contains(v))
}

/// What makes a condition true in every iteration.
fn test(nest: &LoopNest, counter: Value, cond: Value, tests: &mut Vec<Test>) -> Option<()> {
    match nest.defs.op(nest.func, cond)? {
        Op::Const(Scalar::Bool(true)) => Some(()),
        Op::Bin(BinOp::And, a, b) => {
            test(nest, counter, *a, tests)?;
            test(nest, counter, *b, tests)
        }
        Op::Bin(op @ (BinOp::Ge | BinOp::Lt), a, b) if nest.func.ty(*a).elem == Elem::I32 => {
            let (x, y) = (nest.sum(*a)?, nest.sum(*b)?);
            if !is_fixed(nest, &y) || y.terms.contains_key(&counter) {
                return None;
            }
            if is_fixed(nest, &x) && !x.terms.contains_key(&counter) {
                tests.push(Test::Fixed(*op, x, y));
                return Some(());
            }
            let offset = x.add(&Sum::of(counter), -1);
            if !offset.terms.is_empty() && is_fixed(nest, &offset) && !offset.terms.contains_key(&counter) {
                tests.push(match op {
                    BinOp::Ge => (y == Sum::constant(0)).then_some(Test::NotNegativeFrom(offset))?,
                    _ => Test::BelowFrom(offset, y),
                });
                return Some(());
            }
            let distance = offset.terms.is_empty().then_some(offset.constant)?;
            if distance.checked_abs().is_none_or(|d| d >= MAX_OFFSET) {
                return None;
            }
            match op {
                BinOp::Ge => tests.push((y == Sum::constant(0)).then_some(Test::NotNegative(distance))?),
                _ => tests.push(Test::Below(distance, y)),
            }
            Some(())
        }
        _ => None,
    }
}

fn rewrite(func: &mut Func, defs: &mut Defs, region: Region, inst: Inst, found: Found) {
    let span = func.insts[inst].span;
    let Op::Loop { init, body } = func.insts[inst].op.clone() else { return };
    let mut out = Vec::new();
    let mut e = Emitter { func, defs, out: &mut out, span };
    let (first, end, step) = (init[found.counter], emit_sum(&mut e, &found.end), emit_sum(&mut e, &found.step));
    // The counter begins below its bound, and does not wrap behind it.
    let mut holds = vec![e.int_op(BinOp::Lt, first, end)];
    if found.step != Sum::constant(1) {
        let (one, most) = (e.int(1), e.int(i32::MAX));
        let last = e.int_op(BinOp::Sub, most, step);
        holds.push(e.int_op(BinOp::Ge, step, one));
        holds.push(e.int_op(BinOp::Le, end, last));
    }
    // Offsets that only the run knows, and limits of counters with them.
    let mut far: Vec<(Value, Option<Value>)> = Vec::new();
    for test in found.tests {
        match test {
            Test::NotNegativeFrom(offset) => far.push((emit_sum(&mut e, &offset), None)),
            Test::BelowFrom(offset, limit) => {
                let limit = emit_sum(&mut e, &limit);
                far.push((emit_sum(&mut e, &offset), Some(limit)));
            }
            Test::Fixed(op, a, b) => {
                let (a, b) = (emit_sum(&mut e, &a), emit_sum(&mut e, &b));
                holds.push(e.int_op(op, a, b));
            }
            Test::NotNegative(distance) => {
                let least = e.int(distance.min(0).wrapping_neg());
                holds.push(e.int_op(BinOp::Ge, first, least));
                if distance > 0 {
                    let most = e.int(MAX_EXTENT);
                    holds.push(e.int_op(BinOp::Le, end, most));
                }
            }
            Test::Below(distance, limit) => {
                let (limit, distance_value) = (emit_sum(&mut e, &limit), e.int(distance));
                let last = e.int_op(BinOp::Sub, limit, distance_value);
                holds.push(e.int_op(BinOp::Le, end, last));
                if distance != 0 {
                    // No sum or difference wraps.
                    let (most, least) = (e.int(MAX_EXTENT), e.int(-MAX_EXTENT));
                    holds.push(e.int_op(BinOp::Le, limit, most));
                    holds.push(e.int_op(BinOp::Ge, limit, least));
                    holds.push(e.int_op(BinOp::Le, end, most));
                    holds.push(e.int_op(BinOp::Ge, first, least));
                }
            }
        }
    }
    if !far.is_empty() {
        // No sum wraps.
        let (most, least) = (e.int(MAX_EXTENT), e.int(-MAX_EXTENT));
        for value in far.iter().flat_map(|(offset, limit)| [Some(*offset), *limit]).flatten() {
            holds.push(e.int_op(BinOp::Le, value, most));
            holds.push(e.int_op(BinOp::Ge, value, least));
        }
        holds.push(e.int_op(BinOp::Le, end, most));
        holds.push(e.int_op(BinOp::Ge, first, least));
    }
    for (offset, limit) in far {
        match limit {
            Some(limit) => {
                let last = e.int_op(BinOp::Add, end, offset);
                holds.push(e.int_op(BinOp::Le, last, limit));
            }
            None => {
                let (lowest, zero) = (e.int_op(BinOp::Add, first, offset), e.int(0));
                holds.push(e.int_op(BinOp::Ge, lowest, zero));
            }
        }
    }
    let both = |a: Value, b: Value| e.emit(Op::Bin(BinOp::And, a, b), Ty::scalar(Elem::Bool));
    let Some(cond) = holds.into_iter().reduce(both) else { return };
    // The version without checks is a copy.
    let types: Vec<Ty> = func.insts[inst].results.iter().map(|v| func.ty(*v).clone()).collect();
    let kept: Vec<Inst> = func.regions[body].insts.iter().copied().filter(|i| !found.checks.contains(i)).collect();
    let whole = std::mem::replace(&mut func.regions[body].insts, kept);
    let copy = Copier::within(func, body).region(func, body);
    func.regions[body].insts = whole;
    let fast = func.make_inst(Op::Loop { init, body: copy }, types, span);
    version(func, region, inst, (cond, fast), out);
}
