//! Elements that a loop stored one or a few iterations ago are carried from iteration to iteration as scalars.
//!
//! ```text
//!    loop (%a = %x, %i = 1) { %p = %a[%i - 1]  %v = %p + %y[%i]  %b = %a with [%i] = %v  yield ..., %b, %i + 1 }
//! => %s0 = %x[0]
//!    loop (%a = %x, %i = 1, %s = %s0) { %v = %s + %y[%i]  %b = %a with [%i] = %v  yield ..., %b, %i + 1, %v }
//! ```
//!
//! Recurrences: prefix sums, recursive filters, eliminations. What the next iteration needs would go through memory, which takes longer than the
//! operation. An element that every iteration replaces, as in the sum of a product of matrices, is stored once, behind the loop.
//!
//! Indices are compared as sums modulo 2^32, as they are computed. Elements from before the first iteration are loaded before the loop,
//! under a condition if some of its checks might not hold for them.
//!
//! Before: loops have their final shape; simplified. After: such loops carry up to three elements of each array.
//! Leaves alone: arrays that an iteration updates in branches, several times, or not at a scalar; indices that are not sums of counters and
//! what no iteration changes.
//! Worth: tests/survey/recurrences/biquad (2.2 with Cranelift, 2.1 with LLVM).

use crate::edit::{Def, Defs, Emitter, Renames, insert_after, insert_before, loops_of};
use crate::facts::sums::{Sum, emit_sum};
use crate::loops::nest::LoopNest;
use crate::pass::{Context, Pass};
use ravel_source::Span;
use ravel_types::HashSet;
use ravel_types::{BinOp, Elem, Scalar, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Inst, InstData, Op, Region, RegionData, Value};

pub const PASS: Pass = Pass::of("promote-elements", "carry what loops stored a few iterations ago in scalars", promote);

/// Iterations that an element may have been stored ago.
const MAX_LAG: i32 = 3;
/// Most scalars that a loop gets to carry.
const MAX_CARRIED: usize = 8;
/// How far an index may move in an iteration: so that those of some iterations do not wrap.
const MAX_STEP: i64 = 1 << 20;

/// An array of a loop, and the elements that it carries.
struct Found {
    /// Position among the carried values.
    position: usize,
    /// Where each iteration stores, and what.
    index: Vec<Sum>,
    value: Value,
    /// Selections, by the number of iterations since the element was stored; by zero for the element that every iteration replaces.
    reads: Vec<(i32, Value)>,
    /// Scalars to carry, at most.
    lag: i32,
    /// What stands for an element that there is not.
    zero: Scalar,
    /// Every element that is carried into the loop can be loaded.
    is_safe: bool,
    /// Nothing but these selections uses the array in the loop.
    is_replaced: bool,
}

pub fn promote(func: &mut Func, cx: &mut Context) -> bool {
    let loops = loops_of(func);
    let mut defs = Defs::new(func);
    let mut changed = false;
    // Inner ones first: what they store once, their outer loops may carry.
    for (region, inst) in loops.into_iter().rev() {
        let found = match updates(func, &defs, inst) {
            true => LoopNest::of(func, &defs, inst).map(|rounds| rounds.stored()).unwrap_or_default(),
            false => Vec::new(),
        };
        if found.is_empty() {
            continue;
        }
        cx.applied(func.insts[inst].span, "the loop carries elements that it stored before");
        rewrite(func, &mut defs, region, inst, found);
        defs.add_region(func, region);
        changed = true;
    }
    changed
}

/// Does a loop update an array? Most do not.
fn updates(func: &Func, defs: &Defs, inst: Inst) -> bool {
    let Op::Loop { body, .. } = &func.insts[inst].op else { return false };
    func.regions[*body].yields[1..].iter().any(|v| matches!(defs.op(func, *v), Some(Op::Update { .. })))
}

impl LoopNest<'_> {
    fn stored(&self) -> Vec<Found> {
        let count = self.func.regions[self.body].params.len();
        let mut room = MAX_CARRIED;
        (0..count)
            .filter_map(|k| {
                let found = self.stored_in(k)?;
                room = room.checked_sub(found.lag.max(1) as usize)?;
                Some(found)
            })
            .collect()
    }

    /// The index of the element that every iteration replaces, if nothing else in the loop uses the array: it is stored once then, behind the loop.
    pub fn replaced(&self, position: usize) -> Option<Vec<Sum>> {
        self.stored_in(position).filter(|found| found.is_replaced).map(|found| found.index)
    }

    fn stored_in(&self, position: usize) -> Option<Found> {
        let (func, data) = (self.func, &self.func.regions[self.body]);
        let (param, next) = (data.params[position], data.yields[position + 1]);
        let rank = func.ty(param).rank().filter(|rank| *rank > 0)?;
        let first = func.ty(self.init[position]);
        let zero = Scalar::zero(func.ty(param).elem)?;
        if first.rank() != func.ty(param).rank() {
            return None;
        }
        // Every iteration makes one update, of a scalar.
        let Def::Inst(update, _) = self.defs.get(next) else { return None };
        let Op::Update { array, index, value } = &func.insts[update].op else { return None };
        if *array != param || index.len() != rank || !data.insts.contains(&update) {
            return None;
        }
        let index: Vec<Sum> = index.iter().map(|v| self.sum(*v)).collect::<Option<_>>()?;
        let moves: Vec<i64> = index.iter().map(|sum| i64::from(self.step(sum))).collect();
        if moves.iter().any(|step| step.abs() > MAX_STEP) {
            return None;
        }
        let is_fixed = moves.iter().all(|step| *step == 0);
        let mut reads = Vec::new();
        let (mut others, mut uses_of_next) = (0, data.yields.iter().filter(|v| **v == next).count());
        others += data.yields.iter().filter(|v| **v == param).count();
        walk(func, self.body, &mut |region, inst| {
            let op = &func.insts[inst].op;
            if let Some(lag) = self.lag(op, (param, next), &index, is_fixed) {
                reads.push((lag, func.insts[inst].results[0]));
                return;
            }
            op.for_each_operand(|v| {
                others += usize::from(v == param && inst != update);
                uses_of_next += usize::from(v == next);
            });
            for nested in op.regions() {
                let yields = &func.regions[nested].yields;
                others += yields.iter().filter(|v| **v == param).count();
                uses_of_next += yields.iter().filter(|v| **v == next).count();
            }
            debug_assert!(region == self.body || inst != update, "the update stands in the body itself");
        });
        let lag = reads.iter().map(|(lag, _)| *lag).max()?;
        let same_type = func.ty(func.insts[self.inst].results[position]) == first;
        Some(Found {
            position,
            value: *value,
            is_safe: self.is_loaded_first(&reads, lag),
            is_replaced: is_fixed && others == 0 && uses_of_next == 1 && same_type,
            index,
            reads,
            lag,
            zero,
        })
    }

    /// How many iterations ago a selection's element was stored.
    fn lag(&self, op: &Op, (param, next): (Value, Value), stored: &[Sum], is_fixed: bool) -> Option<i32> {
        let Op::Sel { array, index } = op else { return None };
        if !(*array == param || (*array == next && !is_fixed)) || index.len() != stored.len() {
            return None;
        }
        let index: Vec<Sum> = index.iter().map(|v| self.sum(*v)).collect::<Option<_>>()?;
        let lags = if is_fixed { 0..=0 } else { 1..=MAX_LAG };
        lags.into_iter().find(|lag| index.iter().zip(stored).all(|(read, stored)| *read == self.earlier(stored, *lag)))
    }

    /// Does the first iteration load the earliest element that is carried before anything that may fault? Those stored later lie between it
    /// and the first one that is stored.
    fn is_loaded_first(&self, reads: &[(i32, Value)], lag: i32) -> bool {
        loads_first(self.func, self.body, |v| reads.contains(&(lag, v)))
    }
}

/// Does a body compute one of these values before anything that may fault?
pub fn loads_first(func: &Func, body: Region, is_one: impl Fn(Value) -> bool) -> bool {
    for &inst in &func.regions[body].insts {
        if func.insts[inst].results.first().is_some_and(|v| is_one(*v)) {
            return true;
        }
        let mut may_stop = false;
        let mut see = |op: &Op| {
            may_stop |= op.is_anchored() || matches!(op, Op::Call { .. } | Op::Loop { .. } | Op::Native { .. })
        };
        see(&func.insts[inst].op);
        for nested in func.insts[inst].op.regions() {
            walk(func, nested, &mut |_, inner| see(&func.insts[inner].op));
        }
        if may_stop {
            return false;
        }
    }
    false
}

fn rewrite(func: &mut Func, defs: &mut Defs, region: Region, inst: Inst, found: Vec<Found>) {
    let span = func.insts[inst].span;
    let Some(the_loop) = LoopNest::of(func, defs, inst) else { return };
    // Where the elements lie that are carried into the first iteration.
    let starts: Vec<Vec<Vec<Sum>>> = found
        .iter()
        .map(|f| {
            let lags = if f.lag == 0 { 0..=0 } else { 1..=f.lag };
            lags.map(|lag| f.index.iter().map(|sum| the_loop.at_start(sum, lag)).collect()).collect()
        })
        .collect();
    let (mut init, body) = (the_loop.init.to_vec(), the_loop.body);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut renames = Renames::default();
    let mut gone = Vec::new();
    for (f, starts) in found.iter().zip(starts) {
        let array = init[f.position];
        let elem = func.ty(func.regions[body].params[f.position]).elem;
        let mut carried = Vec::new();
        let mut first_index = Vec::new();
        for start in &starts {
            let mut e = Emitter { func, defs, out: &mut before, span };
            let index: Vec<Value> = start.iter().map(|sum| emit_sum(&mut e, sum)).collect();
            init.push(load(func, defs, &mut before, (array, &index, f.zero), f.is_safe, span));
            first_index = index;
            carried.push(func.add_param(body, Ty::scalar(elem)));
        }
        // The newest first.
        let next = [f.value].into_iter().chain(carried.iter().copied()).take(carried.len());
        func.regions[body].yields.extend(next);
        for (lag, read) in &f.reads {
            renames.set(*read, carried[(lag - 1).max(0) as usize]);
        }
        let results: Vec<Value> = carried.iter().map(|_| func.new_value(Ty::scalar(elem))).collect();
        func.insts[inst].results.extend(&results);
        if f.is_replaced {
            let op = Op::Update { array, index: first_index, value: results[0] };
            let result = func.insts[inst].results[f.position];
            after.push(func.insts.push(InstData { op, results: vec![result], span }));
            gone.push(f.position);
        }
    }
    for &position in gone.iter().rev() {
        init.remove(position);
        func.insts[inst].results.remove(position);
        let data = &mut func.regions[body];
        let (param, updated) = (data.params.remove(position), data.yields.remove(position + 1));
        let uses_it = |i: &Inst| matches!(&func.insts[*i].op, Op::Update { array, .. } if *array == param);
        debug_assert!(func.regions[body].insts.iter().any(uses_it));
        let is_update = |i: &Inst| func.insts[*i].results.contains(&updated);
        let kept = func.regions[body].insts.iter().copied().filter(|i| !is_update(i)).collect();
        func.regions[body].insts = kept;
    }
    // Selections whose elements are carried.
    let replaced: HashSet<Value> = found.iter().flat_map(|f| f.reads.iter().map(|(_, read)| *read)).collect();
    renames.apply_region(func, body);
    remove(func, body, &replaced);
    func.insts[inst].op = Op::Loop { init, body };
    insert_after(func, region, inst, after);
    insert_before(func, region, inst, before);
}

/// Takes the instructions away that compute certain values.
pub fn remove(func: &mut Func, region: Region, values: &HashSet<Value>) {
    let insts = std::mem::take(&mut func.regions[region].insts);
    let kept: Vec<Inst> =
        insts.into_iter().filter(|i| !func.insts[*i].results.iter().any(|v| values.contains(v))).collect();
    for inst in &kept {
        for nested in func.insts[*inst].op.regions() {
            remove(func, nested, values);
        }
    }
    func.regions[region].insts = kept;
}

/// An element, or zero where there might be none.
pub fn load(
    func: &mut Func,
    defs: &mut Defs,
    out: &mut Vec<Inst>,
    (array, index, zero): (Value, &[Value], Scalar),
    is_safe: bool,
    span: Span,
) -> Value {
    let scalar = Ty::scalar(zero.elem());
    let select = Op::Sel { array, index: index.to_vec() };
    let mut e = Emitter { func, defs, out, span };
    let extents = e.func.ty(array).shape.extents().unwrap_or_default().to_vec();
    let mut tests = Vec::new();
    for (axis, &i) in index.iter().enumerate().filter(|_| !is_safe) {
        let constant = extents.get(axis).and_then(|extent| extent.as_const());
        let is_inside = match (constant, e.defs.int(e.func, i)) {
            (Some(extent), Some(i)) => Some(0 <= i && i < extent),
            _ => None,
        };
        match is_inside {
            Some(true) => continue,
            Some(false) => return e.constant(zero),
            None => {}
        }
        let lowest = e.int(0);
        let extent = match constant {
            Some(extent) => e.int(extent),
            None => e.emit(Op::Extent { array, axis: axis as u32 }, Ty::scalar(Elem::I32)),
        };
        tests.push(e.int_op(BinOp::Ge, i, lowest));
        tests.push(e.int_op(BinOp::Lt, i, extent));
    }
    let Some(cond) = tests.into_iter().reduce(|a, b| e.emit(Op::Bin(BinOp::And, a, b), Ty::scalar(Elem::Bool))) else {
        return e.emit(select, scalar);
    };
    let then = e.func.new_region();
    let element = e.func.push1(then, select, scalar.clone(), span);
    e.func.regions[then].yields = vec![element];
    let els = e.func.regions.push(RegionData::default());
    let zero = e.func.push1(els, Op::Const(zero), scalar.clone(), span);
    e.func.regions[els].yields = vec![zero];
    e.emit(Op::If { cond, then, els }, scalar)
}
