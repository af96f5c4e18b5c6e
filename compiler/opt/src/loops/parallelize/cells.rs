//! Iterations that store one cell each, of one array or of several at one index.
//!
//! ```text
//!    loop (%x = %x0, %y = %y0, %i = 0) { %p = %x[%i]  %q = %y[%i]  ...  yield ..., %x with [%i] = %p - %q, %y with [%i] = %p + %q, %i + 1 }
//! => %x, %y = with { [0] <= [%i] < [n] { %p = %x0[%i]  %q = %y0[%i]  yield %p - %q, %p + %q } } modarray %x0 modarray %y0
//! ```
//!
//! The index moves with the counter along one axis, up or down. An iteration reads the arrays there, or where no iteration writes: where indices differ by a
//! constant from a fixed one, or lie before the first or behind the last; in any other row at the column in hand, for were that the row that is
//! written, it would be the iteration's own element. Those are the conditions under which the update happens in place, as it did in the loop.

use crate::edit::{Defs, Emitter, Renames};
use crate::facts::places::Places;
use crate::facts::sums::{Sum, emit_sum};
use crate::loops::Site;
use crate::loops::accesses::{Axis, Cells, Proof};
use crate::loops::nest::LoopNest;
use crate::loops::verdict::{Verdict, verdict};
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::{Func, Generator, Inst, Op, Region, Value};

/// Fewer iterations stay as they are.
const LEAST_ITERATIONS: i64 = 4;
/// Instructions of a row, other than those of integers, that may be repeated for each of its elements.
const MOST_REPEATED: usize = 3;
/// Most arrays: their elements are in registers at a time.
const MOST_ARRAYS: usize = 6;

const INDEPENDENT: &str = "the loop is a with-loop, for its iterations do not depend on each other";
const AHEAD: &str = "the loop is a with-loop, in order, for its iterations read what later ones replace";
const JOINT: &str = "the loop is a with-loop with several results, for its iterations do not depend on each other";

/// Puts a with-loop in the place of a loop, and says so; nothing if it stays.
pub fn make(site: &mut Site, any_rank: bool) -> Option<&'static str> {
    let Site { func, defs, places, region, inst, eager } = site;
    match examine(func, defs, places, *inst, Proof::Constants, (any_rank, *eager)) {
        Some(cells) => {
            let said = if cells.reads_ahead {
                AHEAD
            } else if cells.writes.len() > 1 {
                JOINT
            } else {
                INDEPENDENT
            };
            rewrite(func, defs, *region, cells);
            Some(said)
        }
        None => with_outer(func, defs, places, *inst, *eager).then_some(INDEPENDENT),
    }
}

/// Two loops that are a with-loop only together: the inner one reads what the outer one does not write, such as the row above its first one.
fn with_outer(func: &mut Func, defs: &Defs, places: &Places, inst: Inst, eager: bool) -> bool {
    let Some(region) = places.region_of[inst].expand() else { return false };
    let Some(outer) = places.owner[region].expand().filter(|o| matches!(func.insts[*o].op, Op::Loop { .. })) else {
        return false;
    };
    let (Some(cells), Some(around)) =
        (examine(func, defs, places, inst, Proof::Ranges, (false, eager)), places.region_of[outer].expand())
    else {
        return false;
    };
    let mut trial = func.clone();
    rewrite(&mut trial, &mut Defs::new(func), region, cells);
    let mut defs = Defs::new(&trial);
    let Some(cells) = examine(&trial, &defs, &Places::new(&trial), outer, Proof::Constants, (false, eager)) else {
        return false;
    };
    rewrite(&mut trial, &mut defs, around, cells);
    *func = trial;
    true
}

/// The cells of a loop that is worth a with-loop.
fn examine(
    func: &Func,
    defs: &Defs,
    places: &Places,
    inst: Inst,
    proof: Proof,
    (any_rank, eager): (bool, bool),
) -> Option<Cells> {
    let inside = places.is_inside_with(func, inst);
    // Lanes of a with-loop around this one run along other axes, and need no order.
    let ahead = !eager && !inside;
    let cells = match verdict(LoopNest::of(func, defs, inst)?, places, (proof, ahead)) {
        Verdict::Parallel(cells) | Verdict::Ordered(cells) => cells,
        Verdict::Blocked(_) => return None,
    };
    let is_joint = cells.writes.len() > 1;
    if is_joint && (inside || cells.writes.len() > MOST_ARRAYS || (cells.axes.len() > 1 && !any_rank)) {
        return None;
    }
    let fits = match cells.inner(func) {
        Some(_) => is_cheap(func, cells.whole.trip.body, cells.writes[0].inst),
        None => !cells.whole.trip.is_short(func, defs, if eager { 2 } else { LEAST_ITERATIONS }),
    };
    fits.then_some(cells)
}

/// Is what an iteration does beside its with-loop so little that each element may do it?
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
    plain && repeated <= MOST_REPEATED
}

fn rewrite(func: &mut Func, defs: &mut Defs, region: Region, cells: Cells) {
    let trip = cells.whole.trip;
    let (span, body, counter) = (func.insts[trip.inst].span, trip.body, trip.count(func));
    let Op::Loop { init, .. } = func.insts[trip.inst].op.clone() else { return };
    let first: Vec<Sum> = {
        let Some(nest) = LoopNest::of(func, defs, trip.inst) else { return };
        let start = |axis: &Axis| match axis {
            Axis::Moving(sum) => nest.at_start(sum, 0),
            Axis::Fixed(sum) | Axis::Range { lower: sum, .. } => sum.clone(),
        };
        cells.axes.iter().map(start).collect()
    };
    let mut out = Vec::new();
    let mut e = Emitter { func, defs, out: &mut out, span };
    let one = Sum::constant(1);
    let last = trip.emit_last(&mut e, cells.is_ordered);
    let end = e.defs.int(e.func, last).map_or_else(|| Sum::of(last), Sum::constant);
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for (axis, first) in cells.axes.iter().zip(&first) {
        let (low, high) = match axis {
            Axis::Moving(sum) => {
                let end = sum.clone().substitute(counter, &end);
                if cells.ascends { (first.clone(), end) } else { (end.add(&one, 1), first.clone().add(&one, 1)) }
            }
            Axis::Fixed(_) => {
                let low = emit_sum(&mut e, first);
                let one = e.int(1);
                upper.push(e.int_op(BinOp::Add, low, one));
                lower.push(low);
                continue;
            }
            Axis::Range { upper, .. } => (first.clone(), upper.clone()),
        };
        lower.push(emit_sum(&mut e, &low));
        upper.push(emit_sum(&mut e, &high));
    }
    // The body of the with-loop: what an iteration does, for an index.
    let inner = cells.inner(func);
    let params = match inner {
        Some(inner) => func.regions[inner].params.clone(),
        None => cells.axes.iter().map(|_| func.new_value(Ty::scalar(Elem::I32))).collect(),
    };
    let mut insts = Vec::new();
    let mut renames = Renames::default();
    for (k, _) in cells.arrays() {
        renames.set(func.regions[body].params[k], init[k]);
    }
    for (param, axis) in params.iter().zip(&cells.axes) {
        if let Axis::Moving(sum) = axis {
            // The counter is the index less what the sum adds to it, or that less the index.
            let factor = sum.terms.get(&counter).copied().unwrap_or(1);
            let less = sum.clone().add(&Sum::of(counter), -factor);
            let mut e = Emitter { func, defs, out: &mut insts, span };
            let count = emit_sum(&mut e, &Sum::default().add(&Sum::of(*param).add(&less, -1), factor));
            renames.set(counter, count);
        }
    }
    let is_write = |inst: &Inst| cells.writes.iter().any(|write| write.inst == *inst);
    insts.extend(func.regions[body].insts.iter().copied().filter(|inst| !is_write(inst)));
    let yields = match inner {
        Some(inner) => {
            insts.append(&mut func.regions[inner].insts);
            func.regions[inner].yields.clone()
        }
        None => cells.writes.iter().filter_map(|write| write.value).collect(),
    };
    let data = &mut func.regions[body];
    (data.params, data.insts, data.yields) = (params, insts, yields);
    renames.apply_region(func, body);
    let generator = Generator::Known { lower, upper, step: None, width: None };
    cells.whole.becomes_with(func, region, generator, out, last);
    if let (Op::With(with), true) = (&mut func.insts[trip.inst].op, cells.reads_ahead) {
        with.ordered = true;
    }
}
