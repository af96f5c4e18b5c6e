//! Splitting consumers where a producer's partitions meet, so that each piece selects from one of them.
//!
//! ```text
//!    b = genarray { [0 <= i < m] -> f(i), [m <= i < n] -> g(i) }
//!    c = genarray { [0 <= j < n] -> h(b[j + 1]) }
//! => c = genarray { [0 <= j < min(n, m - 1)] -> h(b[j + 1]), [max(0, m - 1) <= j < n] -> h(b[j + 1]) }
//! ```
//!
//! A service of `fold_with_loops`, which asks for it when everything else speaks for folding. Sums of reals stay in order: they are cut along their
//! first axis, and along others where all but one partition of what they add up is zero.

use crate::edit::{Copier, Def, Defs, insert_before, push_op, size_of};
use crate::facts::{Atom, Lin, Places, Ranges};
use ravel_types::{BinOp, Elem, Scalar, Ty};
use ravel_wir::{Combine, Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

/// Most partitions that one with-loop may get.
const MAX_PARTS: usize = 16;
/// Most instructions in all the bodies of a with-loop that is split.
const MAX_CODE: usize = 400;

/// Where a consumer is to be cut.
pub struct Cut {
    consumer: Inst,
    part: usize,
    axis: usize,
    /// The cut is at `boundary - offset`.
    boundary: Value,
    offset: i64,
}

/// A cut that brings the selection `site` of a result of `producer`, at `index`, nearer to a decision. None if there is no simple one.
pub fn find_cut(
    func: &Func,
    places: &Places,
    defs: &Defs,
    (producer, k): (Inst, usize),
    site: Inst,
    index: &[Value],
) -> Option<Cut> {
    let Op::With(with) = &func.insts[producer].op else { return None };
    let mut ranges = places.ranges_at(func, defs, site);
    for part in &with.parts {
        let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return None };
        // A partition that is out of reach along one axis does not need cuts along the others.
        let mut cuts = Vec::new();
        let mut is_out = false;
        for (axis, i) in index.iter().enumerate() {
            let i = ranges.form(func, defs, *i);
            for (bound, op) in [(lower[axis], BinOp::Ge), (upper[axis], BinOp::Lt)] {
                let edge = ranges.form(func, defs, bound);
                match ranges.compare(op, &i, &edge) {
                    Some(true) => {}
                    Some(false) => is_out = true,
                    None => cuts.push((i.clone(), bound)),
                }
            }
        }
        if is_out {
            continue;
        }
        if let Some((form, boundary)) = cuts.first() {
            return cut_for(func, places, defs, &mut ranges, (producer, k), site, form, *boundary);
        }
    }
    None
}

#[allow(clippy::too_many_arguments, reason = "one question about one place")]
fn cut_for(
    func: &Func,
    places: &Places,
    defs: &Defs,
    ranges: &mut Ranges,
    (producer, k): (Inst, usize),
    site: Inst,
    form: &Lin,
    boundary: Value,
) -> Option<Cut> {
    let [(Atom::Value(param), 1)] = form.terms[..] else { return None };
    let Def::Param(body, axis) = defs.get(param) else { return None };
    let consumer = places.owner_of(body)?;
    let home = places.home(producer)?;
    // The boundary must be visible before the consumer, and the selection inside it.
    places.path(places.home(consumer)?, home)?;
    places.path(places.home(site)?, body)?;
    let Op::With(with) = &func.insts[consumer].op else { return None };
    let part = with.parts.iter().position(|p| p.body == body)?;
    let Generator::Known { lower, upper, step: None, .. } = &with.parts[part].generator else { return None };
    let edge = ranges.form(func, defs, boundary).plus(-form.c);
    // Where there is an index at all, the cut lies between the bounds: pieces in any order would multiply without end. A fold can do with
    // those that may be empty, since it leaves nothing uncovered, where one cut is made or each leaves one piece to be cut further.
    let (low, high) = (ranges.form(func, defs, lower[axis as usize]), ranges.form(func, defs, upper[axis as usize]));
    let is_between =
        ranges.compare(BinOp::Le, &low, &edge) == Some(true) && ranges.compare(BinOp::Le, &edge, &high) == Some(true);
    let one_counts = adds_one_part(func, defs, (producer, k), site, with, body);
    let is_first = (with.parts.len() == 1 || one_counts) && with.ops.iter().all(|op| matches!(op, WithOp::Fold { .. }));
    if !is_between && !is_first {
        return None;
    }
    let fits = ranges.compare(BinOp::Le, &edge, &Lin::constant(i64::from(i32::MAX))) == Some(true)
        && ranges.compare(BinOp::Ge, &edge, &Lin::constant(i64::from(i32::MIN))) == Some(true);
    let keeps_order = with.ops.iter().all(|op| match op {
        WithOp::Fold { neutral, combine, .. } => {
            let regroups = matches!(combine, Combine::Op(op) if op.regroups()) && !func.ty(*neutral).elem.is_float();
            axis == 0 || regroups || one_counts
        }
        _ => true,
    });
    let code: usize = with.parts.iter().map(|p| size_of(func, p.body)).sum::<usize>() + size_of(func, body);
    let has_room = with.parts.len() < MAX_PARTS && code <= MAX_CODE;
    (fits && keeps_order && has_room && !with.ordered).then_some(Cut {
        consumer,
        part,
        axis: axis as usize,
        boundary,
        offset: form.c,
    })
}

/// Whether a fold adds up, or multiplies, the cells of a with-loop as they are, of which one partition alone has others than zeros, or ones: their order
/// stays whatever the fold is cut along.
fn adds_one_part(
    func: &Func,
    defs: &Defs,
    (producer, k): (Inst, usize),
    site: Inst,
    consumer: &With,
    body: Region,
) -> bool {
    let [WithOp::Fold { neutral, combine: Combine::Op(op @ (BinOp::Add | BinOp::Mul)), stop: None }] = consumer.ops[..]
    else {
        return false;
    };
    let (Op::With(with), Some(unit)) = (&func.insts[producer].op, op.identity(func.ty(neutral).elem)) else {
        return false;
    };
    let is_unit = |v: Value| defs.constant(func, v) == Some(unit);
    let outside = match with.ops[k] {
        WithOp::Genarray { default: Some(default), .. } => is_unit(default),
        WithOp::Genarray { default: None, .. } => Scalar::zero(unit.elem()) == Some(unit),
        _ => false,
    };
    let others = with.parts.iter().filter(|part| !is_unit(func.regions[part.body].yields[k])).count();
    outside && others <= 1 && is_unit(neutral) && func.regions[body].yields[..] == func.insts[site].results[..]
}

/// Cuts a partition in two, drops what is empty then, and keeps the facts true.
pub fn cut_consumer(func: &mut Func, places: &mut Places, defs: &mut Defs, cut: &Cut) {
    let Some(region) = places.home(cut.consumer) else { return };
    let made = places.change_operands(func, cut.consumer, |func| apply_cut(func, region, cut));
    let Some((before, copy)) = made else { return };
    for inst in before {
        places.add(func, region, inst);
        defs.add_inst(func, inst);
    }
    places.add_region(func, cut.consumer, copy);
    defs.add_region(func, copy);
    let empty = empty_parts(func, places, defs, cut.consumer);
    if empty.is_empty() {
        return;
    }
    for &body in &empty {
        places.remove_region(func, body);
    }
    places.change_operands(func, cut.consumer, |func| drop_parts(func, cut.consumer, &empty));
}

/// Cuts a partition in two. Gives the instructions that compute the new bounds, and the body of the new partition.
pub fn apply_cut(func: &mut Func, region: Region, cut: &Cut) -> Option<(Vec<Inst>, Region)> {
    let Op::With(With { mut parts, ops, ordered }) = func.insts[cut.consumer].op.clone() else { return None };
    let span = func.insts[cut.consumer].span;
    let Generator::Known { lower, upper, .. } = parts[cut.part].generator.clone() else { return None };
    let mut before = Vec::new();
    let mut emit = |func: &mut Func, op: Op| push_op(func, &mut before, op, Ty::scalar(Elem::I32), span);
    let mut middle = cut.boundary;
    if cut.offset != 0 {
        let offset = emit(func, Op::Const(Scalar::I32(-cut.offset as i32)));
        middle = emit(func, Op::Bin(BinOp::Add, middle, offset));
    }
    let (mut low_upper, mut high_lower) = (upper.clone(), lower.clone());
    low_upper[cut.axis] = emit(func, Op::Bin(BinOp::Min, upper[cut.axis], middle));
    high_lower[cut.axis] = emit(func, Op::Bin(BinOp::Max, lower[cut.axis], middle));
    let body = parts[cut.part].body;
    let copy = Copier::within(func, body).region(func, body);
    let known = |lower: Vec<Value>, upper: Vec<Value>| Generator::Known { lower, upper, step: None, width: None };
    parts[cut.part].generator = known(lower, low_upper);
    parts.insert(cut.part + 1, Part { generator: known(high_lower, upper), body: copy });
    func.insts[cut.consumer].op = Op::With(With { parts, ops, ordered });
    insert_before(func, region, cut.consumer, before.iter().copied());
    Some((before, copy))
}

/// Removes the partitions of a with-loop that are certainly empty.
pub fn drop_empty_parts(func: &mut Func, inst: Inst) {
    let (places, defs) = (Places::new(func), Defs::new(func));
    let empty = empty_parts(func, &places, &defs, inst);
    drop_parts(func, inst, &empty);
}

/// The bodies of the partitions that are certainly empty.
fn empty_parts(func: &Func, places: &Places, defs: &Defs, inst: Inst) -> Vec<Region> {
    let Op::With(with) = &func.insts[inst].op else { return Vec::new() };
    let mut ranges = places.ranges_at(func, defs, inst);
    let mut is_empty = |part: &&Part| match &part.generator {
        Generator::Known { lower, upper, .. } => lower.iter().zip(upper).any(|(l, u)| {
            let (l, u) = (ranges.form(func, defs, *l), ranges.form(func, defs, *u));
            ranges.compare(BinOp::Ge, &l, &u) == Some(true)
        }),
        Generator::Dyn { .. } => false,
    };
    with.parts.iter().filter(|part| is_empty(part)).map(|part| part.body).collect()
}

fn drop_parts(func: &mut Func, inst: Inst, bodies: &[Region]) {
    if let Op::With(with) = &mut func.insts[inst].op {
        with.parts.retain(|part| !bodies.contains(&part.body));
    }
}

impl Cut {
    /// A cut at a value that stands before the consumer.
    pub fn at(consumer: Inst, part: usize, axis: usize, boundary: Value) -> Cut {
        Cut { consumer, part, axis, boundary, offset: 0 }
    }
}
