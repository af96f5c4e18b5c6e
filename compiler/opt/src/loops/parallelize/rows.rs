//! Iterations that update several rows of one array, one column each: with-loops make the rows.
//!
//! ```text
//!    loop (%a = %x, %k = %j) { %p = %a[%i - 1, %k]  %q = %a[%i, %k]  ...  %b = %a with [%i - 1, %k] = %r  yield ..., %b with [%i, %k] = %s, %k + 1 }
//! => %R, %S = with { [%j] <= [%k] < [n] { %p = %x[%i - 1, %k]  %q = %x[%i, %k]  ...  yield %r, %s } } genarray [n] genarray [n]
//!    %b = modarray(%x) { [%i - 1, %j] <= [%l, %k] < [%i, n] -> %R[%k] }   modarray(%b) { [%i, %j] <= [%l, %k] < [%i + 1, n] -> %S[%k] }
//! ```
//!
//! Rotations and exchanges of two rows, as eliminations and the like have them in loops. Every iteration reads and writes one column, so that all are
//! independent, whatever rows these are: where two are one, the later update wins, as it does in the loop. The scheduler makes the rows where
//! they are (`rows_in_place`).

use crate::edit::{Def, Defs, Emitter, Renames, replace_inst};
use crate::facts::places::Places;
use crate::facts::sums::{Sum, emit_sum};
use crate::loops::Site;
use crate::loops::nest::{ArrayLoop, LoopNest, Trip};
use ravel_types::{BinOp, Elem, Shape, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

/// Fewer iterations stay as they are.
const LEAST_ITERATIONS: i64 = 4;
/// Most rows: their elements are in registers at a time.
const MOST_ROWS: usize = 4;

/// A loop whose iterations update one column of some rows.
struct Found {
    trip: Trip,
    /// Position of the array among the carried values.
    array: usize,
    is_ordered: bool,
    /// Updates in order, what they store, and where, without the last axis.
    rows: Vec<(Inst, Value, Vec<Sum>)>,
    /// The column, of an iteration and of the first one.
    column: Sum,
    first: Sum,
}

/// Puts with-loops in the place of a loop, and says so; nothing if it stays.
pub fn make(site: &mut Site) -> Option<&'static str> {
    let (region, inst) = (site.region, site.inst);
    let found = examine(site.func, site.defs, site.places, inst, site.eager)?;
    rewrite(site.func, site.defs, region, found);
    Some("the loop is a with-loop that makes rows, for its iterations do not depend on each other")
}

fn examine(func: &Func, defs: &Defs, places: &Places, inst: Inst, eager: bool) -> Option<Found> {
    let nest = LoopNest::of(func, defs, inst)?;
    let whole = ArrayLoop::of(&nest)?;
    let (trip, array) = (whole.trip, whole.only()?);
    let (param, next) = nest.carried(array);
    let rank = func.ty(param).rank().filter(|rank| *rank > 1)?;
    if trip.is_short(func, defs, if eager { 2 } else { LEAST_ITERATIONS }) || places.is_inside_with(func, inst) {
        return None;
    }
    let count = trip.count(func);
    let column_of = |index: &[Value]| if index.len() == rank { nest.sum(index[rank - 1]) } else { None };
    let (mut rows, mut column) = (Vec::new(), None);
    let mut at = next;
    while at != param {
        let Def::Inst(update, _) = defs.get(at) else { return None };
        let Op::Update { array, index, value } = &func.insts[update].op else { return None };
        let here = column_of(index)?;
        let is_own = *column.get_or_insert_with(|| here.clone()) == here
            && places.region_of[update].expand() == Some(nest.body)
            && places.uses(at).len() == 1
            && func.ty(*value).is_scalar();
        if !is_own || rows.len() == MOST_ROWS {
            return None;
        }
        let row: Vec<Sum> = index[..rank - 1].iter().map(|v| nest.sum(*v)).collect::<Option<_>>()?;
        if row.iter().flat_map(|sum| sum.terms.keys()).any(|v| nest.inside.contains(v)) {
            return None;
        }
        rows.push((update, *value, row));
        at = *array;
    }
    rows.reverse();
    let column = column?;
    if rows.len() < 2 || column.terms.get(&count) != Some(&1) {
        return None;
    }
    // The rest of the column's index does not change.
    if column.terms.keys().any(|v| *v != count && nest.inside.contains(v)) {
        return None;
    }
    let mut own = true;
    walk(func, nest.body, &mut |_, inner| {
        let op = &func.insts[inner].op;
        match op {
            Op::With(_) | Op::Loop { .. } => own = false,
            Op::Extent { .. } => {}
            Op::Sel { array, index } if *array == param => own &= column_of(index).as_ref() == Some(&column),
            Op::Update { .. } if rows.iter().any(|(update, ..)| *update == inner) => {}
            op => op.for_each_operand(|v| own &= v != param),
        }
        own &= op.regions().iter().all(|r| !func.regions[*r].yields.contains(&param));
    });
    if !own {
        return None;
    }
    let is_ordered = trip.is_ordered(func, defs, &mut places.ranges_at(func, defs, inst));
    let first = nest.at_start(&column, 0);
    Some(Found { trip, array, is_ordered, rows, column, first })
}

fn rewrite(func: &mut Func, defs: &mut Defs, region: Region, found: Found) {
    let Found { trip, array: position, is_ordered, rows, column, first } = found;
    let (inst, body, counter) = (trip.inst, trip.body, trip.count(func));
    let Op::Loop { init, .. } = &func.insts[inst].op else { return };
    let (before, param) = (init[position], func.regions[body].params[position]);
    let span = func.insts[inst].span;
    let ty = func.ty(before).clone();
    let rank = rows[0].2.len() + 1;

    let mut out = Vec::new();
    let mut e = Emitter { func, defs, out: &mut out, span };
    let last = trip.emit_last(&mut e, is_ordered);
    let low = emit_sum(&mut e, &first);
    let end = e.defs.int(e.func, last).map_or_else(|| Sum::of(last), Sum::constant);
    let high = emit_sum(&mut e, &column.clone().substitute(counter, &end));
    let extent = ty.shape.extents().map(|extents| extents[rank - 1].clone());
    let length = match extent.as_ref().and_then(|extent| extent.as_const()) {
        Some(n) => e.int(n),
        None => e.emit(Op::Extent { array: before, axis: rank as u32 - 1 }, Ty::scalar(Elem::I32)),
    };
    let is_whole = e.defs.int(e.func, low) == Some(0)
        && e.defs.int(e.func, high).is_some_and(|high| e.defs.int(e.func, length) == Some(high));
    let places: Vec<Vec<Value>> =
        rows.iter().map(|(.., row)| row.iter().map(|sum| emit_sum(&mut e, sum)).collect()).collect();
    let bounds = places.iter().map(|place| match is_whole {
        true => None,
        false => Some(one_row(&mut e, &ty, place, (low, high))),
    });
    let bounds: Vec<Option<(Vec<Value>, Vec<Value>)>> = bounds.collect();

    // The counter is the column less what the sum adds to it.
    let index = func.new_value(Ty::scalar(Elem::I32));
    let mut insts = Vec::new();
    let less = column.add(&Sum::of(counter), -1);
    let count = emit_sum(&mut Emitter { func, defs, out: &mut insts, span }, &Sum::of(index).add(&less, -1));
    let data = &mut func.regions[body];
    insts.extend(data.insts.iter().copied().filter(|i| !rows.iter().any(|(update, ..)| update == i)));
    let yields = rows.iter().map(|(_, value, _)| *value).collect();
    *data = RegionData { params: vec![index], insts, yields };
    let mut renames = Renames::default();
    renames.set(counter, count);
    renames.set(param, before);
    renames.apply_region(func, body);

    let row_ty = Ty::new(ty.elem, extent.map_or_else(|| ty.shape.clone(), |extent| Shape::Known(vec![extent])));
    let generator = Generator::Known { lower: vec![low], upper: vec![high], step: None, width: None };
    let op = WithOp::Genarray { frame: Frame::Known(vec![length]), cell: Some(Vec::new()), default: None };
    let with = With { parts: vec![Part { generator, body }], ops: vec![op; rows.len()], ordered: false };
    let made = func.make_inst(Op::With(with), vec![row_ty; rows.len()], span);
    out.push(made);
    let mut array = before;
    for ((row, place), bounds) in func.insts[made].results.clone().into_iter().zip(places).zip(bounds) {
        let op = match bounds {
            Some((lower, upper)) => {
                let params: Vec<Value> = (0..rank).map(|_| func.new_value(Ty::scalar(Elem::I32))).collect();
                let index = vec![params[rank - 1]];
                let load = func.make_inst(Op::Sel { array: row, index }, vec![Ty::scalar(ty.elem)], span);
                let yields = func.insts[load].results.clone();
                let body = func.regions.push(RegionData { params, insts: vec![load], yields });
                let generator = Generator::Known { lower, upper, step: None, width: None };
                let ops = vec![WithOp::Modarray { array }];
                Op::With(With { parts: vec![Part { generator, body }], ops, ordered: false })
            }
            None => Op::Update { array, index: place, value: row },
        };
        let put = func.make_inst(op, vec![ty.clone()], span);
        out.push(put);
        array = func.insts[put].results[0];
    }
    let results = func.insts[inst].results.clone();
    replace_inst(func, region, inst, out);
    Renames::from_iter([(results[position], array), (results[trip.counter], last)]).apply(func);
}

/// The bounds of a part of one row.
fn one_row(e: &mut Emitter, ty: &Ty, place: &[Value], (low, high): (Value, Value)) -> (Vec<Value>, Vec<Value>) {
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    let one = e.int(1);
    for (axis, &v) in place.iter().enumerate() {
        // The index is in range: so the one behind it is no wrapped sum.
        let extent = ty.shape.extents().and_then(|extents| extents[axis].as_const());
        let at = match extent.filter(|_| e.defs.int(e.func, v).is_none()) {
            Some(n) => {
                let last = e.int(n - 1);
                e.int_op(BinOp::Min, v, last)
            }
            None => v,
        };
        upper.push(e.int_op(BinOp::Add, at, one));
        lower.push(at);
    }
    lower.push(low);
    upper.push(high);
    (lower, upper)
}
