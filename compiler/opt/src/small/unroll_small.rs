//! Unrolling: a with-loop over a handful of constant indices becomes straight-line code.
//!
//! ```text
//!    %a = with { part [0] <= [%i] < [2] { f(%i) } } genarray [2]     // only %a[0] and %a[1] are used
//! => %a = array [f(0), f(1)]
//! ```
//!
//! Folds in such a body whose bounds are its indices, `[0] <= [j] < [i]`, follow.
//!
//! Before: simplified, bounds constant. After: no such with-loop small enough to be cheaper as code.
//! Leaves alone: arrays that are used as arrays, and folds that are worth a loop (the scheduler tiles those).
//! Worth: tests/survey/small/attractions (11 with Cranelift, 19 with LLVM).

use crate::edit::{Copier, Defs, Renames, push_op, replace_inst, size_of};
use crate::facts::{Places, Use, is_speculatable, total_trips};
use crate::pass::{Context, Pass};
use crate::small::small_bodies::{MAX_SCALAR_CODE, becomes_scalars, stands_in_small_body};
use ravel_source::Span;
use ravel_types::{Elem, HashSet, Scalar, Ty};
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

pub const PASS: Pass = Pass::of("unroll-small", "write out with-loops over a few constant indices", unroll_small);

/// Most elements of an array that is held in scalars.
const MAX_ELEMENTS: u64 = 16;
/// The same of cells that are written out, complex numbers say.
const MAX_CELL_ELEMENTS: u64 = 32;
/// Most instructions that an unrolled array may become.
const MAX_ARRAY_CODE: u64 = 128;
/// Most instructions that an unrolled fold may become: a 2x2 average, not a 5x5 window.
const MAX_FOLD_CODE: u64 = 40;
/// The same in a loop of a with-loop's body, which has no lanes otherwise: a distance of two points.
const MAX_INNER_CODE: u64 = 120;

/// See [`MAX_ARRAY_CODE`] and [`MAX_FOLD_CODE`].
const TOO_LONG: &str = "it has few indices, but written out it would be too much code";

/// See [`becomes_scalars`].
const HANDED_ON: &str = "it has few indices, but its result is the cell of another one, whose body has checks, long arrays or \
    too little work for its elements to be scalars";

pub fn unroll_small(func: &mut Func, cx: &mut Context) -> bool {
    let (defs, mut places) = (Defs::new(func), Places::new(func));
    let mut renames = Renames::default();
    let mut changed = false;
    for inst in places.withs.clone() {
        let Op::With(with) = func.insts[inst].op.clone() else { continue };
        let Some(region) = places.home(inst) else { continue };
        let span = func.insts[inst].span;
        if let Err(why) = check(func, &defs, &places, inst, &with) {
            if let Some(why) = why {
                cx.refused(span, why);
            }
            continue;
        }
        let mut out = Vec::new();
        let values = unrolled(func, &defs, inst, &with, &mut out, span);
        replace_inst(func, region, inst, out);
        for (old, new) in func.insts[inst].results.clone().into_iter().zip(values) {
            // Bodies that are copied later must already name the new values.
            places.rename(func, old, new);
            renames.set(old, new);
        }
        cx.applied(span, "unrolled");
        changed = true;
    }
    renames.apply(func);
    changed
}

/// Why a with-loop stays one; without words if it has too many indices for the question.
fn check(func: &Func, defs: &Defs, places: &Places, inst: Inst, with: &With) -> Result<(), Option<&'static str>> {
    let Some(trips) = total_trips(func, defs, with) else { return Err(None) };
    if trips > MAX_ELEMENTS || with.ordered || with.parts.is_empty() {
        return Err(None);
    }
    let is_plain = |p: &Part| {
        let insts = &func.regions[p.body].insts;
        insts.iter().all(|i| match func.insts[*i].op {
            Op::With(_) => size_of_bounded_fold(func, defs, p, *i).is_some(),
            Op::Loop { .. } | Op::Call { .. } => false,
            _ => true,
        })
    };
    if !with.parts.iter().all(is_plain) {
        return Err(Some("it has few indices, but loops or calls in its body"));
    }
    let body = with.parts.iter().map(|p| remaining_size(func, defs, p) + 1).max().unwrap_or(0);
    let refusals = with.ops.iter().zip(&func.insts[inst].results).enumerate().map(|(k, (op, result))| match op {
        WithOp::Genarray { frame: Frame::Known(_), default, .. } => {
            let ty = func.ty(*result);
            let written = default.is_none() && with.parts.iter().all(|p| writes_cells(func, defs, p, k, ty));
            // The cell of the only index is all there is.
            let single = trips == 1 && is_whole(func, with, k, ty);
            let most = if written || single { MAX_CELL_ELEMENTS } else { MAX_ELEMENTS };
            let count = if written || single { trips } else { ty.shape.count().unwrap_or(0) as u64 };
            let is_handed_on = |u: &Use| becomes_scalars(func, defs, places, inst, u);
            let most_code = if count * body > MAX_ARRAY_CODE
                && (places.uses(*result).iter().any(is_handed_on) || stands_in_small_body(func, defs, places, inst))
            {
                MAX_SCALAR_CODE
            } else {
                MAX_ARRAY_CODE
            };
            let is_tiny = ty.shape.count().is_some_and(|n| n as u64 <= most && count * body <= most_code);
            let scalar_cells = written
                || single
                || with
                    .parts
                    .iter()
                    .all(|p| matches!(&p.generator, Generator::Known { lower, .. } if Some(lower.len()) == ty.rank()));
            let by_element = |u: &Use| match u {
                Use::Operand(user) => match &func.insts[*user].op {
                    Op::Sel { array, index } => *array == *result && index.iter().all(|i| defs.int(func, *i).is_some()),
                    Op::Update { array, index, .. } => {
                        let is_constant = index.iter().all(|i| defs.int(func, *i).is_some());
                        *array == *result && is_constant && places.is_inside_with(func, inst)
                    }
                    Op::Extent { .. } => true,
                    Op::Array(_) => single,
                    _ => false,
                },
                Use::Yield(region) if single && yields_cell(func, places, *region) => true,
                Use::Yield(_) => becomes_scalars(func, defs, places, inst, u),
            };
            // There is no constant for a missing object.
            if ty.elem == Elem::Handle || !scalar_cells {
                Some("it has few indices, but its cells are arrays that are not written out element by element")
            } else if !places.uses(*result).iter().all(by_element) {
                Some(match places.uses(*result).iter().any(|u| matches!(u, Use::Yield(_))) {
                    true => HANDED_ON,
                    false => {
                        "it has few indices, but its result is used as a whole, or at places that are no constants"
                    }
                })
            } else {
                (!is_tiny).then_some(TOO_LONG)
            }
        }
        WithOp::Fold { neutral, combine, .. } => {
            let combine = match combine {
                Combine::Op(_) => 1,
                Combine::Region(region) => size_of(func, *region) as u64,
            };
            let most = if is_in_loop_of_body(func, places, inst) { MAX_INNER_CODE } else { MAX_FOLD_CODE };
            if !func.ty(*neutral).is_scalar() {
                Some("it has few indices, but folds arrays")
            } else {
                (trips * (body + combine) > most).then_some(TOO_LONG)
            }
        }
        _ => Some("it changes an array"),
    });
    match refusals.flatten().next() {
        Some(why) => Err(Some(why)),
        None => Ok(()),
    }
}

/// Has the result of an operator no more elements than one cell?
fn is_whole(func: &Func, with: &With, k: usize, ty: &Ty) -> bool {
    let [part] = &with.parts[..] else { return false };
    let cell = func.ty(func.regions[part.body].yields[k]).shape.count();
    cell.is_some_and(|n| n > 0) && ty.shape.count() == cell
}

/// Does a region give the cells of a with-loop that makes arrays?
fn yields_cell(func: &Func, places: &Places, region: Region) -> bool {
    let Some(owner) = places.owner_of(region) else { return false };
    let Op::With(with) = &func.insts[owner].op else { return false };
    with.parts.iter().any(|p| p.body == region) && with.ops.iter().all(|op| matches!(op, WithOp::Genarray { .. }))
}

/// Does a body write out the elements of its cells for one of the operators?
fn writes_cells(func: &Func, defs: &Defs, part: &Part, k: usize, ty: &Ty) -> bool {
    let Generator::Known { lower, .. } = &part.generator else { return false };
    let cell = func.regions[part.body].yields[k];
    let is_local = func.regions[part.body].insts.iter().any(|i| func.insts[*i].results.contains(&cell));
    let scalars = |elements: &Vec<Value>| elements.iter().all(|v| func.ty(*v).is_scalar());
    ty.rank() == Some(lower.len() + 1)
        && is_local
        && matches!(defs.op(func, cell), Some(Op::Array(elements)) if scalars(elements) && !elements.is_empty())
}

/// Whether a loop stands between an instruction and the with-loop around it.
fn is_in_loop_of_body(func: &Func, places: &Places, inst: Inst) -> bool {
    let mut owners =
        places.owners(inst).map(|owner| &func.insts[owner].op).skip_while(|op| matches!(op, Op::If { .. }));
    matches!(owners.next(), Some(Op::Loop { .. })) && owners.any(|op| matches!(op, Op::With(_)))
}

/// Instructions of a body that constant indices do not fold away.
fn remaining_size(func: &Func, defs: &Defs, part: &Part) -> u64 {
    let mut known: HashSet<Value> = func.regions[part.body].params.iter().copied().collect();
    let mut size = 0;
    for &inst in &func.regions[part.body].insts {
        let data = &func.insts[inst];
        let mut folds = data.op.regions().is_empty() && is_speculatable(func, inst);
        data.op.for_each_operand(|v| folds &= known.contains(&v));
        let is_choice = matches!(&data.op, Op::Select { cond, .. } if known.contains(cond));
        if folds {
            known.extend(&data.results);
        } else if !is_choice {
            size += size_of_bounded_fold(func, defs, part, inst).unwrap_or(1);
        }
    }
    size
}

/// Most instructions that a fold of scalars in a body becomes if its bounds are constants for each index of the body, `[0] <= [j] < [i]` say,
/// but not for all: it is written out once the body is.
fn size_of_bounded_fold(func: &Func, defs: &Defs, part: &Part, inst: Inst) -> Option<u64> {
    let (Op::With(with), Generator::Known { lower, upper, .. }) = (&func.insts[inst].op, &part.generator) else {
        return None;
    };
    let params = &func.regions[part.body].params;
    // The least and the greatest value of a bound, and whether it is the same for all indices.
    let values = |v: Value| match params.iter().position(|p| *p == v) {
        Some(axis) => Some((defs.int(func, lower[axis])?, defs.int(func, upper[axis])? - 1, false)),
        None => defs.int(func, v).map(|k| (k, k, true)),
    };
    let is_scalar = |op: &WithOp| match op {
        WithOp::Fold { neutral, combine: Combine::Op(_), stop: None } => func.ty(*neutral).is_scalar(),
        _ => false,
    };
    if with.ordered || !with.ops.iter().all(is_scalar) {
        return None;
    }
    let (mut size, mut varies) = (0u64, false);
    for inner in &with.parts {
        let Generator::Known { lower, upper, step: None, .. } = &inner.generator else { return None };
        let mut trips = 1u64;
        for (low, high) in lower.iter().zip(upper) {
            let ((least, _, from_fixed), (_, most, to_fixed)) = (values(*low)?, values(*high)?);
            varies |= !from_fixed || !to_fixed;
            trips = trips.checked_mul(i64::from(most).saturating_sub(i64::from(least)).max(0) as u64)?;
        }
        let insts = &func.regions[inner.body].insts;
        if insts.iter().any(|i| matches!(func.insts[*i].op, Op::With(_) | Op::Loop { .. } | Op::Call { .. })) {
            return None;
        }
        size = size.checked_add(trips.checked_mul(size_of(func, inner.body) as u64 + with.ops.len() as u64)?)?;
    }
    varies.then_some(size)
}

/// The elements of a cell that was just written out, one by one.
fn made_of(func: &Func, insts: &[Inst], cell: Value) -> Vec<Value> {
    let made = insts.iter().rev().find(|inst| func.insts[**inst].results.contains(&cell));
    match made.map(|inst| &func.insts[*inst].op) {
        Some(Op::Array(elements)) if elements.iter().all(|v| func.ty(*v).is_scalar()) => elements.clone(),
        _ => Vec::new(),
    }
}

/// The indices of a generator with constant bounds, in row-major order.
pub fn indices(func: &Func, defs: &Defs, part: &Part) -> Vec<Vec<i32>> {
    let Generator::Known { lower, upper, step, width } = &part.generator else { return Vec::new() };
    let int = |v: Value| defs.int(func, v).unwrap_or(0);
    // One empty axis is enough, however long those before it are.
    if lower.iter().zip(upper).any(|(low, high)| int(*low) >= int(*high)) {
        return Vec::new();
    }
    let mut all = vec![Vec::new()];
    for axis in 0..lower.len() {
        let (low, high) = (int(lower[axis]), int(upper[axis]));
        let step = step.as_ref().map_or(1, |s| int(s[axis]).max(1));
        let width = width.as_ref().map_or(1, |w| int(w[axis]));
        let along: Vec<i32> = (low..high).filter(|i| (i - low) % step < width).collect();
        all = all
            .iter()
            .flat_map(|head: &Vec<i32>| along.iter().map(move |i| head.iter().copied().chain([*i]).collect()))
            .collect();
    }
    all
}

fn unrolled(func: &mut Func, defs: &Defs, inst: Inst, with: &With, out: &mut Vec<Inst>, span: Span) -> Vec<Value> {
    let types: Vec<Ty> = func.insts[inst].results.iter().map(|v| func.ty(*v).clone()).collect();
    let emit = |func: &mut Func, out: &mut Vec<Inst>, op: Op, ty: Ty| push_op(func, out, op, ty, span);
    // Per operator: the accumulator so far, or the elements.
    let mut accumulators: Vec<Option<Value>> = Vec::new();
    let mut elements: Vec<Vec<Option<Value>>> = Vec::new();
    for (op, ty) in with.ops.iter().zip(&types) {
        accumulators.push(match op {
            WithOp::Fold { neutral, .. } => Some(*neutral),
            _ => None,
        });
        elements.push(vec![None; ty.shape.count().unwrap_or(0)]);
    }
    for part in &with.parts {
        let params = func.regions[part.body].params.clone();
        for index in indices(func, defs, part) {
            let mut copier = Copier::within(func, part.body);
            for (param, i) in params.iter().zip(&index) {
                let constant = emit(func, out, Op::Const(Scalar::I32(*i)), Ty::scalar(Elem::I32));
                copier.values.insert(*param, constant);
            }
            let cells = copier.splice(func, part.body, out);
            for (k, cell) in cells.into_iter().enumerate() {
                match (&with.ops[k], accumulators[k]) {
                    (WithOp::Fold { combine: Combine::Op(op), .. }, Some(acc)) => {
                        accumulators[k] = Some(emit(func, out, Op::Bin(*op, acc, cell), types[k].clone()));
                    }
                    (WithOp::Fold { combine: Combine::Region(region), .. }, Some(acc)) => {
                        let mut copier = Copier::within(func, *region);
                        let params = func.regions[*region].params.clone();
                        copier.values.extend([(params[0], acc), (params[1], cell)]);
                        accumulators[k] = copier.splice(func, *region, out).first().copied();
                    }
                    _ => {
                        let extents = types[k].shape.constants().unwrap_or_default();
                        // Where the generator is longer than the array, a check in front of the with-loop has failed.
                        if index.iter().zip(&extents).any(|(i, n)| i64::from(*i) < 0 || i64::from(*i) >= *n as i64) {
                            continue;
                        }
                        let written = extents.len() > index.len();
                        let at = index.iter().zip(extents).fold(0, |at, (i, n)| at * n as usize + *i as usize);
                        let cells = match written.then(|| made_of(func, out, cell)) {
                            Some(cells) if !cells.is_empty() => cells,
                            _ => vec![cell],
                        };
                        let first = at * cells.len();
                        for (place, cell) in elements[k][first..].iter_mut().zip(cells) {
                            *place = Some(cell);
                        }
                    }
                }
            }
        }
    }
    let mut results = Vec::new();
    for (k, op) in with.ops.iter().enumerate() {
        if let Some(acc) = accumulators[k] {
            results.push(acc);
            continue;
        }
        let default = match op {
            WithOp::Genarray { default, .. } => *default,
            _ => None,
        };
        if let Some(Some(cell)) = elements[k].first().filter(|cell| cell.is_some_and(|v| !func.ty(v).is_scalar())) {
            results.push(emit(func, out, Op::Array(vec![*cell]), types[k].clone()));
            continue;
        }
        let cells = elements[k].clone().into_iter().map(|cell| match cell.or(default) {
            Some(v) => v,
            None => {
                let zero = Scalar::zero(types[k].elem).unwrap_or(Scalar::I32(0));
                emit(func, out, Op::Const(zero), Ty::scalar(zero.elem()))
            }
        });
        let cells = cells.collect();
        results.push(emit(func, out, Op::Array(cells), types[k].clone()));
    }
    results
}
