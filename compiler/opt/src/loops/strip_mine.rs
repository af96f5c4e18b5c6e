//! Loops whose iterations need what iterations long before them stored take many iterations at once.
//!
//! ```text
//!    loop (%a = %x, %i = %s) { %b = %a with [%i] = f(%a[%i], %a[%i - %d])   yield %i + 1 < %n, %b, %i + 1 }
//! => if %s < %n && %d >= 32 {
//!      loop (%a = %x, %i = %s) { %m = min(%d, %n - %i)   %b = modarray(%a) { [%i] <= [%k] < [%i + %m] -> f(%a[%k], %a[%k - %d]) }   yield ... }
//!    } else { the loop as it was }
//! ```
//!
//! Ways to pay an amount with coins, knapsacks, products of power series: as many iterations as an element lies behind the one in hand do not depend on
//! each other, so that they are a with-loop, which runs in lanes and changes the array in place.
//!
//! Before: loops with independent iterations are with-loops. After: of other loops that update an array at their counter and read it there or by distances
//! behind it that no iteration changes, there is a version for long distances.
//! Leaves alone: distances that are known to be short, and loops with effects or checks, with with-loops inside, or with long bodies.
//! Worth: tests/survey/loops/coin-change (3.0 with Cranelift, 4.1 with LLVM).

use crate::edit::{Copier, Defs, Emitter, size_of, version};
use crate::facts::places::Places;
use crate::facts::sums::{Sum, emit_sum};
use crate::loops::accesses::{Axis, Cells};
use crate::loops::nest::LoopNest;
use crate::loops::{Site, rewrite_loops};
use crate::pass::{Context, Pass};
use ravel_types::HashMap;
use ravel_types::{BinOp, Elem, Scalar, Ty};
use ravel_wir::dependence::Distance;
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

pub const PASS: Pass = Pass::of(
    "strip-mine-loops",
    "take many iterations at once of loops that read what iterations long before stored",
    strip_mine,
);

/// Iterations that are worth a with-loop.
const LEAST: i32 = 32;
/// The same where that does not matter.
const LEAST_EAGER: i32 = 2;
/// Most instructions of a body, of which there will be two.
const MAX_CODE: usize = 60;
/// Most distances in one loop.
const MAX_LAGS: usize = 4;

struct Found {
    cells: Cells,
    /// Position of the array among the carried values.
    position: usize,
    /// The update, and the axis along which it moves.
    write: Inst,
    moving: usize,
    /// How far behind the iteration's own element others are read.
    lags: Vec<Sum>,
    /// The results of selections of such elements, with the number of the distance.
    reads: HashMap<Value, usize>,
}

pub fn strip_mine(func: &mut Func, cx: &mut Context) -> bool {
    rewrite_loops(func, cx, true, &[make])
}

fn make(site: &mut Site) -> Option<&'static str> {
    let least = if site.eager { LEAST_EAGER } else { LEAST };
    let found = examine(site.func, site.defs, site.places, site.inst, least)?;
    rewrite(site.func, site.defs, site.region, found, least);
    Some("as many iterations as lie between an element and the one it needs are a with-loop")
}

fn examine(func: &Func, defs: &Defs, places: &Places, inst: Inst, least: i32) -> Option<Found> {
    let mut nest = LoopNest::of(func, defs, inst)?;
    let cells = Cells::stored(&mut nest, places)?;
    let (trip, position, write) = (cells.whole.trip, cells.whole.only()?, cells.writes[0]);
    write.value?;
    if !cells.ascends || trip.is_short(func, defs, 2 * least) || size_of(func, nest.body) > MAX_CODE {
        return None;
    }
    let param = nest.carried(position).0;
    let moving = cells.axes.iter().position(|axis| matches!(axis, Axis::Moving(_)))?;
    let mut found = Found { cells, position, write: write.inst, moving, lags: Vec::new(), reads: HashMap::default() };
    let mut known = true;
    walk(func, nest.body, &mut |_, at| {
        let op = &func.insts[at].op;
        known &= !matches!(op, Op::With(_)) && op.regions().iter().all(|r| !func.regions[*r].yields.contains(&param));
        match op {
            Op::Sel { array, index } if *array == param => {
                known &= !index.contains(&param) && found.reads(&nest, index, func.insts[at].results[0], least);
            }
            Op::Extent { .. } => {}
            op => op.for_each_operand(|v| known &= v != param || at == write.inst),
        }
    });
    (known && (1..=MAX_LAGS).contains(&found.lags.len())).then_some(found)
}

impl Found {
    /// Notes a selection; `false` if it may read what an iteration less than `least` before this one wrote, or one behind it will.
    fn reads(&mut self, nest: &LoopNest, index: &[Value], result: Value, least: i32) -> bool {
        let lag = match self.cells.distance(nest, index) {
            (Distance::Own | Distance::Never, _) => return true,
            (Distance::Along(axis), Some(lag)) if axis == self.moving && nest.step(&lag) == 0 => lag,
            _ => return false,
        };
        let is_constant = lag.terms.is_empty();
        // What is subtracted is a distance behind, as far as one can tell.
        let may_be_long = if is_constant { lag.constant >= least } else { lag.terms.values().any(|k| *k > 0) };
        let known = self.lags.iter().position(|other| *other == lag);
        let number = known.unwrap_or_else(|| {
            self.lags.push(lag);
            self.lags.len() - 1
        });
        self.reads.insert(result, number);
        may_be_long
    }
}

fn rewrite(func: &mut Func, defs: &mut Defs, region: Region, found: Found, least: i32) {
    let (trip, span) = (&found.cells.whole.trip, func.insts[found.cells.whole.trip.inst].span);
    let Op::Loop { init, .. } = func.insts[trip.inst].op.clone() else { return };
    let mut out = Vec::new();
    let mut e = Emitter { func, defs, out: &mut out, span };
    let lags: Vec<Value> = found.lags.iter().map(|lag| emit_sum(&mut e, lag)).collect();
    let end = trip.emit_end(&mut e);
    let mut holds = Vec::new();
    if !found.cells.is_ordered {
        holds.push(e.int_op(BinOp::Lt, trip.start, end));
    }
    let shortest = e.int(least);
    for (lag, value) in found.lags.iter().zip(&lags) {
        if !lag.terms.is_empty() {
            holds.push(e.int_op(BinOp::Ge, *value, shortest));
        }
    }
    let both = |a: Value, b: Value| e.emit(Op::Bin(BinOp::And, a, b), Ty::scalar(Elem::Bool));
    let cond = holds.into_iter().reduce(both);
    let cond = cond.unwrap_or_else(|| e.constant(Scalar::Bool(true)));

    let body = blocks(e.func, e.defs, &found, &lags, end);
    let types: Vec<Ty> = func.insts[trip.inst].results.iter().map(|v| func.ty(*v).clone()).collect();
    let fast = func.make_inst(Op::Loop { init, body }, types, span);
    version(func, region, trip.inst, (cond, fast), out);
}

/// The body of a loop over blocks of iterations, each a with-loop.
fn blocks(func: &mut Func, defs: &mut Defs, found: &Found, lags: &[Value], end: Value) -> Region {
    let (trip, span) = (&found.cells.whole.trip, func.insts[found.cells.whole.trip.inst].span);
    let counter = trip.count(func);
    let ty = func.ty(func.regions[trip.body].params[found.position]).clone();
    let (array, start) = (func.new_value(ty.clone()), func.new_value(Ty::scalar(Elem::I32)));
    let mut insts = Vec::new();
    let mut e = Emitter { func, defs, out: &mut insts, span };
    // No more iterations than elements: the difference does not wrap.
    let rest = e.int_op(BinOp::Sub, end, start);
    let many = lags.iter().fold(rest, |many, lag| e.int_op(BinOp::Min, many, *lag));
    let next = e.int_op(BinOp::Add, start, many);
    let one = e.int(1);
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for (axis, sum) in found.cells.index().enumerate() {
        let low = emit_sum(&mut e, &sum.clone().substitute(counter, &Sum::of(start)));
        lower.push(low);
        upper.push(e.int_op(BinOp::Add, low, if axis == found.moving { many } else { one }));
    }
    let generator = Generator::Known { lower, upper, step: None, width: None };
    let part = Part { generator, body: cell(e.func, e.defs, found, lags, array) };
    let with = With { parts: vec![part], ops: vec![WithOp::Modarray { array }], ordered: false };
    let new = e.emit(Op::With(with), ty);
    let go_on = e.int_op(BinOp::Lt, next, end);
    let by_place =
        |array: Value, counter: Value| if found.position == 0 { vec![array, counter] } else { vec![counter, array] };
    let yields = [vec![go_on], by_place(new, next)].concat();
    func.regions.push(RegionData { params: by_place(array, start), insts, yields })
}

/// What an iteration stores, for an index of the array.
fn cell(func: &mut Func, defs: &mut Defs, found: &Found, lags: &[Value], array: Value) -> Region {
    let (trip, span) = (&found.cells.whole.trip, func.insts[found.cells.whole.trip.inst].span);
    let counter = trip.count(func);
    let params: Vec<Value> = found.cells.index().map(|_| func.new_value(Ty::scalar(Elem::I32))).collect();
    let own = params[found.moving];
    let mut insts = Vec::new();
    let mut e = Emitter { func, defs, out: &mut insts, span };
    let Axis::Moving(moving) = &found.cells.axes[found.moving] else { unreachable!("the axis moves") };
    // The counter is the index less what the sum adds to it.
    let less = moving.clone().add(&Sum::of(counter), -1);
    let count = emit_sum(&mut e, &Sum::of(own).add(&less, -1));
    let behind: Vec<Value> = lags.iter().map(|lag| e.int_op(BinOp::Sub, own, *lag)).collect();
    let mut copier = Copier::within(func, trip.body);
    copier.values.extend([(counter, count), (func.regions[trip.body].params[found.position], array)]);
    for inst in func.regions[trip.body].insts.clone() {
        if inst != found.write {
            insts.push(copier.inst(func, inst));
        }
    }
    let value = match &func.insts[found.write].op {
        Op::Update { value, .. } => copier.value(*value),
        _ => array,
    };
    let region = func.regions.push(RegionData { params, insts, yields: vec![value] });
    let lagged: HashMap<Value, usize> = found.reads.iter().map(|(v, lag)| (copier.value(*v), *lag)).collect();
    let mut selections = Vec::new();
    walk(func, region, &mut |_, at| {
        let lag = func.insts[at].results.first().and_then(|v| lagged.get(v));
        selections.extend(lag.map(|lag| (at, *lag)));
    });
    for (at, lag) in selections {
        if let Op::Sel { index, .. } = &mut func.insts[at].op {
            index[found.moving] = behind[lag];
        }
    }
    region
}
