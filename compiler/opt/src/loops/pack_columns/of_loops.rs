//! Columns of a matrix that the iterations of a loop read again and again, and do not change, are put side by side before the loop.
//!
//! ```text
//!    loop (%a = %x, %i = %s) { %b = modarray(%a) { [%i, %k + 1] <= [%r, %j] < [%i + 1, %i + 1] -> %a[%i, %j] - %a[%i, %k] * %a[%j, %k] }  yield ..., %b, %i + 1 }
//! => %c = genarray { [%k + 1] <= [%j] < [n] -> %x[%j, %k] }
//!    loop (%a = %x, %i = %s) { %b = modarray(%a) { ... -> %a[%i, %j] - %a[%i, %k] * %c[%j] }  yield ..., %b, %i + 1 }
//! ```
//!
//! Steps of factorisations over a triangle, whose rows differ in length, so that they are no one with-loop, for which `pack-columns` does the same. Lanes
//! that run along the column take an instruction and a line of the cache for each element, in every row.
//!
//! Before: loops with independent iterations are with-loops. After: no with-loop in such a loop selects by its last index from a column that
//! the loop's iterations share.
//! Leaves alone: columns that an iteration might write, or that might not be there, and loops of few iterations.

use crate::edit::{Defs, Emitter, insert_before};
use crate::facts::places::Places;
use crate::loops::Site;
use crate::loops::accesses::names_of;
use crate::loops::nest::LoopNest;
use crate::loops::nest::Trip;
use crate::loops::nest::is_pure;
use ravel_types::HashSet;
use ravel_types::{Affine, BinOp, Scalar, Shape, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

/// Iterations that must share a column, and least length of a row, if known.
const LEAST_ITERATIONS: i64 = 8;
const LEAST_LENGTH: i64 = 16;
/// Elements between neighbours of a column, if known: what lies closer comes with one or two lines.
const LEAST_STRIDE: i32 = 8;
/// Most columns for one loop.
const MOST_COLUMNS: usize = 4;

/// A column that iterations read.
struct Column {
    /// The array before the loop, and the number of the column.
    array: Value,
    number: Value,
    /// Its elements that are read begin there; nothing for the first one.
    lower: Option<Value>,
    /// Selections, with the index along the column.
    reads: Vec<(Inst, Value)>,
}

/// Puts columns before a loop, and says so; nothing if its iterations share none.
pub fn make(site: &mut Site) -> Option<&'static str> {
    let (region, inst) = (site.region, site.inst);
    let columns = examine(site.func, site.defs, site.places, inst, site.eager).filter(|columns| !columns.is_empty())?;
    rewrite(site.func, site.defs, region, inst, &columns);
    Some("columns that all iterations read are put side by side before the loop")
}

fn examine(func: &Func, defs: &Defs, places: &Places, inst: Inst, eager: bool) -> Option<Vec<Column>> {
    let Op::Loop { init, body } = &func.insts[inst].op else { return None };
    let trip = Trip::upward(func, defs, inst)?;
    let few = trip.is_short(func, defs, LEAST_ITERATIONS);
    if (few && !eager) || !is_pure(func, *body) || places.is_inside_with(func, inst) {
        return None;
    }
    let nest = LoopNest::of(func, defs, inst)?;
    let data = &func.regions[*body];
    let mut ranges = places.ranges_at(func, defs, inst);
    // The arrays that go from iteration to iteration, by their names in an iteration.
    let carried: Vec<(Value, HashSet<Value>)> = (0..init.len())
        .filter(|k| func.ty(data.params[*k]).rank() == Some(2))
        .map(|k| (init[k], names_of(func, *body, data.params[k])))
        .collect();
    let mut columns: Vec<Column> = Vec::new();
    walk(func, *body, &mut |_, inner| {
        let Op::With(With { parts, .. }) = &func.insts[inner].op else { return };
        for part in parts {
            let Generator::Known { lower, upper, step: None, .. } = &part.generator else { continue };
            let (Some(&own), Some(&low), Some(&high)) =
                (func.regions[part.body].params.last(), lower.last(), upper.last())
            else {
                continue;
            };
            let length =
                defs.int(func, low).zip(defs.int(func, high)).map(|(low, high)| i64::from(high) - i64::from(low));
            if length.is_some_and(|n| n < LEAST_LENGTH) && !eager {
                continue;
            }
            for &select in &func.regions[part.body].insts {
                let Op::Sel { array, index } = &func.insts[select].op else { continue };
                let &[along, number] = &index[..] else { continue };
                let is_fixed = nest.is_fixed(number);
                let Some(extents) = func.ty(*array).shape.extents().filter(|extents| extents.len() == 2) else {
                    continue;
                };
                let is_close = extents[1].as_const().is_some_and(|n| n < LEAST_STRIDE);
                if along != own || !is_fixed || (is_close && !eager) {
                    continue;
                }
                let first = match carried.iter().find(|(_, names)| names.contains(array)) {
                    Some((first, names)) if leaves(&nest, inst, names, number) => *first,
                    None if !nest.inside.contains(array) => *array,
                    _ => continue,
                };
                // The column is there, whether an iteration reads it or not.
                let (number_form, zero) = (ranges.form(func, defs, number), crate::facts::linear::Lin::constant(0));
                let extent = ranges.extent(&extents[1]);
                if func.ty(first) != func.ty(*array)
                    || ranges.compare(BinOp::Ge, &number_form, &zero) != Some(true)
                    || ranges.compare(BinOp::Lt, &number_form, &extent) != Some(true)
                {
                    continue;
                }
                let low_form = ranges.form(func, defs, low);
                let begins = !nest.inside.contains(&low) && ranges.compare(BinOp::Ge, &low_form, &zero) == Some(true);
                let lower = begins.then_some(low).filter(|low| defs.int(func, *low) != Some(0));
                let same = |c: &&mut Column| c.array == first && c.number == number && c.lower == lower;
                match columns.iter_mut().find(same) {
                    Some(column) => column.reads.push((select, along)),
                    None => columns.push(Column { array: first, number, lower, reads: vec![(select, along)] }),
                }
            }
        }
    });
    columns.truncate(MOST_COLUMNS);
    Some(columns)
}

/// Do all iterations leave a column of an array as it is, whose names are given?
fn leaves(nest: &LoopNest, inst: Inst, names: &HashSet<Value>, number: Value) -> bool {
    let func = nest.func;
    let Some(column) = nest.sum(number) else { return false };
    let named = |v: &Value| names.contains(v);
    // How far behind the column a sum lies, if that is a constant.
    let behind = |v: Value| {
        let d = nest.sum(v)?.add(&column, -1);
        d.terms.is_empty().then_some(d.constant)
    };
    let carries = |init: &[Value], body: Region| {
        let yields = &func.regions[body].yields;
        init.iter()
            .zip(&yields[1..])
            .zip(&func.regions[body].params)
            .all(|((_, next), param)| named(param) == named(next))
    };
    let Op::Loop { init, body } = &func.insts[inst].op else { return false };
    let mut leaves = carries(init, *body);
    walk(func, *body, &mut |_, inner| match &func.insts[inner].op {
        Op::Update { array, index, .. } if named(array) => {
            leaves &= index.len() == 2 && behind(index[1]).is_some_and(|d| d != 0);
        }
        Op::Loop { init, body } => leaves &= carries(init, *body),
        Op::If { then, els, .. } => {
            let yields = func.regions[*then].yields.iter().zip(&func.regions[*els].yields);
            leaves &= yields.into_iter().all(|(a, b)| named(a) == named(b));
        }
        Op::With(With { parts, ops, .. }) => {
            let [WithOp::Modarray { array }] = &ops[..] else { return };
            leaves &= !named(array)
                || parts.iter().all(|part| {
                    let Generator::Known { lower, upper, .. } = &part.generator else { return false };
                    lower.len() == 2
                        && (behind(lower[1]).is_some_and(|d| d > 0) || behind(upper[1]).is_some_and(|d| d <= 0))
                });
        }
        _ => {}
    });
    leaves
}

fn rewrite(func: &mut Func, defs: &mut Defs, region: Region, inst: Inst, columns: &[Column]) {
    let mut before = Vec::new();
    for column in columns {
        let span = func.insts[column.reads[0].0].span;
        let ty = func.ty(column.array).clone();
        let extent = ty.shape.extents().map(|extents| extents[0].clone()).unwrap_or_else(|| Affine::constant(0));
        let mut e = Emitter { func, defs, out: &mut before, span };
        let number = e.defs.int(e.func, column.number).map_or(column.number, |number| e.int(number));
        let index = Ty::scalar(ravel_types::Elem::I32);
        let length = match extent.as_const() {
            Some(n) => e.int(n),
            None => e.emit(Op::Extent { array: column.array, axis: 0 }, index.clone()),
        };
        let default = match Scalar::zero(ty.elem) {
            Some(zero) if column.lower.is_some() => Some(e.constant(zero)),
            _ => None,
        };
        let lower = column.lower.unwrap_or_else(|| e.int(0));
        let param = e.func.new_value(index);
        let select = Op::Sel { array: column.array, index: vec![param, number] };
        let select = e.func.make_inst(select, vec![Ty::scalar(ty.elem)], span);
        let yields = e.func.insts[select].results.clone();
        let body = e.func.regions.push(RegionData { params: vec![param], insts: vec![select], yields });
        let generator = Generator::Known { lower: vec![lower], upper: vec![length], step: None, width: None };
        let op = WithOp::Genarray { frame: Frame::Known(vec![length]), cell: Some(Vec::new()), default };
        let with = With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false };
        let vector = e.emit(Op::With(with), Ty::new(ty.elem, Shape::Known(vec![extent])));
        for (select, along) in &column.reads {
            func.insts[*select].op = Op::Sel { array: vector, index: vec![*along] };
        }
    }
    insert_before(func, region, inst, before);
}
