//! Partitions with steps along the last axis become one over groups of neighbours, and so do those whose bodies divide their last index.
//!
//! ```text
//!    genarray { [0] <= [i] < [2n] step [2] -> f(i);  [1] <= [i] < [2n] step [2] -> g(i) }
//! => reshape [2n] genarray { [0] <= [k] < [n] -> [f(2k), g(2k + 1)] }
//! ```
//!
//! Where a body selects at quotients of its index by up to four, `x[i / 2]` or `x[3 * (i / 4) + i % 4]`, neighbours share what they load, and their places
//! in the group are constants.
//!
//! Every index is computed once, in lanes, and results are stored as whole vectors. What no partition computes is the default, or the element of
//! a `modarray`'s array, which then need not be copied first.
//!
//! Before: folding and fusion have ended. After: with-loops outside of others have no such partitions with steps, or divisors, of up to four.
//! Leaves alone: extents that the step does not divide, partitions that begin or end elsewhere, arrays that can be changed in place, and bodies
//! with loops.
//! Worth: tests/survey/stencils/haar (3.8 with Cranelift, 2.1 with LLVM).

use crate::edit::{Copier, Defs, Emitter, insert_before};
use crate::facts::{Places, Use, covers_frame, region_has_effect, rewrite_withs, same_int, trips};
use crate::nests::delinearize_axes::digits;
use crate::pass::{Context, Pass};
use ravel_types::{Affine, BinOp, Elem, Scalar, Shape, Ty};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

pub const PASS: Pass = Pass::of(
    "merge-strided-partitions",
    "make one partition over groups of neighbours from several with steps",
    merge_strided_partitions,
);

/// Neighbours that are computed together at most: results of so many are woven together in registers.
const MOST: i32 = 4;
/// Elements of arrays that are too small for lanes.
const SMALL: i64 = 64;

/// Partitions that differ in where they begin along the last axis.
struct Group {
    /// For each remainder the partition with it, if there is one.
    parts: Vec<Option<Part>>,
    /// A partition that says which indices of the other axes there are.
    other: Part,
}

struct Plan {
    step: i32,
    groups: Vec<Group>,
    /// The extent along the last axis after division, where it has a form.
    extent: Option<Affine>,
    /// Whether the groups have all rows.
    whole: bool,
}

pub fn merge_strided_partitions(func: &mut Func, cx: &mut Context) -> bool {
    rewrite_withs(func, |func, defs, places, (home, inst)| {
        let Op::With(with) = func.insts[inst].op.clone() else { return None };
        let plan = plan(func, places, defs, inst, &with, cx);
        let plan = plan.map_err(|why| why.map(|why| cx.refused(func.insts[inst].span, why))).ok()?;
        cx.applied(func.insts[inst].span, format!("{} neighbours are computed together", plan.step));
        join(func, defs, home, inst, &with, &plan);
        Some(())
    })
}

fn plan(
    func: &Func,
    places: &Places,
    defs: &Defs,
    inst: Inst,
    with: &With,
    cx: &Context,
) -> Result<Plan, Option<&'static str>> {
    let [op] = &with.ops[..] else { return Err(None) };
    let ty = func.ty(func.insts[inst].results[0]);
    let extents = ty.shape.extents().ok_or(None)?;
    let last = extents.len().checked_sub(1).ok_or(None)?;
    let own = with.parts.iter().find_map(|part| last_step(func, defs, part, last));
    let step = own.or_else(|| divisor(func, defs, with, last)).ok_or(None)?;
    if with.ordered || places.is_inside_with(func, inst) || ty.elem == Elem::Bool || ty.elem == Elem::Handle {
        return Err(None);
    }
    if !(2..=MOST).contains(&step) {
        return Err(Some("its steps are too long for neighbours to be computed together"));
    }
    let loops = |part: &Part| func.regions[part.body].insts.iter().any(|i| !func.insts[*i].op.regions().is_empty());
    if with.parts.iter().any(|part| loops(part) || region_has_effect(func, part.body, cx)) {
        return Err(Some("its bodies have branches, loops or checks"));
    }
    let end = match op {
        WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. } if cell.is_empty() => {
            frame.get(last).copied()
        }
        WithOp::Modarray { array } => {
            if dies(func, places, inst, *array) {
                return Err(Some("it changes its array in place"));
            }
            None
        }
        _ => return Err(None),
    };
    let extent = match extents[last].as_const() {
        Some(n) if n % step == 0 => Some(Affine::constant(n / step)),
        Some(_) => return Err(Some("its step does not divide the extent")),
        None => match half(&extents[last]).filter(|_| step == 2) {
            Some(half) => Some(half),
            None if divides(func, places, defs, inst, (step, &extents[last], end)) => None,
            None => return Err(Some("its step does not divide the extent for certain")),
        },
    };
    let total = extents.iter().try_fold(1i64, |n, e| n.checked_mul(i64::from(e.as_const()?)));
    if total.is_some_and(|n| n < SMALL) {
        return Err(None);
    }
    let mut groups: Vec<Group> = Vec::new();
    if own.is_none() {
        // Every index of the rows, whatever its remainder.
        let parts: Vec<Option<Part>> = (0..step).map(|_| with.parts.first().cloned()).collect();
        groups.extend(with.parts.iter().take(1).map(|part| Group { parts: parts.clone(), other: part.clone() }));
    }
    for part in with.parts.iter().filter(|_| own.is_some()) {
        let place = remainder(func, defs, part, (last, step), extents[last].as_const(), end)
            .ok_or(Some("a partition does not begin and end with a row"))?;
        let at = groups.iter().position(|group| same_rows(func, defs, &group.other, part, last));
        let group = match at {
            Some(at) => &mut groups[at],
            None => {
                groups.push(Group { parts: (0..step).map(|_| None).collect(), other: part.clone() });
                let new = groups.len() - 1;
                &mut groups[new]
            }
        };
        group.parts[place as usize] = Some(part.clone());
    }
    let apart = |a: &Group, b: &Group| (0..last).any(|axis| are_apart(func, defs, &a.other, &b.other, axis));
    if (0..groups.len()).any(|k| (0..k).any(|j| !apart(&groups[j], &groups[k]))) {
        return Err(Some("partitions may share a row in part"));
    }
    let frame: &[Value] =
        if let WithOp::Genarray { frame: Frame::Known(frame), .. } = op { &frame[..last] } else { &[] };
    let whole = covers_rows(func, defs, &groups, &extents[..last], frame);
    if !whole && matches!(op, WithOp::Genarray { default: Some(_), .. }) {
        return Err(Some("rows are left to the default, which has no place in cells"));
    }
    Ok(Plan { step, groups, extent, whole })
}

/// Have the groups, which share no rows, all of them together?
fn covers_rows(func: &Func, defs: &Defs, groups: &[Group], extents: &[Affine], frame: &[Value]) -> bool {
    let rows = |group: &Group| {
        let cut = |list: &Vec<Value>| list[..extents.len()].to_vec();
        let Generator::Known { lower, upper, step, width } = &group.other.generator else { return None };
        let ones = step.as_ref().is_none_or(|step| step[..extents.len()].iter().all(|v| defs.int(func, *v) == Some(1)));
        let step = step.as_ref().filter(|_| !ones).map(cut);
        let width = width.as_ref().filter(|_| !ones).map(cut);
        Some(Part {
            generator: Generator::Known { lower: cut(lower), upper: cut(upper), step, width },
            body: group.other.body,
        })
    };
    let Some(parts) = groups.iter().map(rows).collect::<Option<Vec<Part>>>() else { return false };
    if let ([part], false) = (&parts[..], frame.is_empty())
        && covers_frame(func, defs, part, frame)
    {
        return true;
    }
    let total = extents.iter().try_fold(1u64, |n, e| n.checked_mul(u64::try_from(e.as_const()?).ok()?));
    let count = parts.iter().try_fold(0u64, |n, part| n.checked_add(trips(func, defs, part)?));
    total.is_some() && total == count
}

/// What the only body divides its last index by, if it computes all elements and selects at places that quotients and remainders enter.
fn divisor(func: &Func, defs: &Defs, with: &With, last: usize) -> Option<i32> {
    let ([part], [WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. }]) =
        (&with.parts[..], &with.ops[..])
    else {
        return None;
    };
    if !cell.is_empty() || !covers_frame(func, defs, part, frame) {
        return None;
    }
    let index = *func.regions[part.body].params.get(last)?;
    let found = digits(func, defs, part.body, index);
    let by = found.taken.first()?.2;
    // What is loaded at the index itself is loaded in steps then.
    let pays = found.gathers > found.direct && found.taken.iter().all(|(.., other)| *other == by);
    (pays && by <= MOST).then_some(by)
}

/// Whether a step divides an extent that only the run knows.
fn divides(
    func: &Func,
    places: &Places,
    defs: &Defs,
    inst: Inst,
    (step, extent, end): (i32, &Affine, Option<Value>),
) -> bool {
    // A sum that wraps stays a multiple of a power of two.
    let multiple = extent.constant_part() % step == 0 && extent.terms().iter().all(|(_, factor)| factor % step == 0);
    step.count_ones() == 1 && multiple
        || end.is_some_and(|end| {
            let mut ranges = places.ranges_at(func, defs, inst);
            let form = ranges.form(func, defs, end);
            ranges.divided(&form, i64::from(step)).is_some()
        })
}

/// The step along the last axis, if it is constant and not one.
fn last_step(func: &Func, defs: &Defs, part: &Part, last: usize) -> Option<i32> {
    let Generator::Known { step: Some(step), .. } = &part.generator else { return None };
    defs.int(func, *step.get(last)?).filter(|step| *step > 1)
}

/// The remainder of a partition's indices along the last axis, if it has all of those with it.
fn remainder(
    func: &Func,
    defs: &Defs,
    part: &Part,
    (last, step): (usize, i32),
    extent: Option<i32>,
    end: Option<Value>,
) -> Option<i32> {
    let Generator::Known { lower, upper, width, .. } = &part.generator else { return None };
    let wide = width.as_ref().is_some_and(|width| defs.int(func, width[last]) != Some(1));
    if last_step(func, defs, part, last) != Some(step) || lower.len() != last + 1 || wide {
        return None;
    }
    let low = defs.int(func, lower[last]).filter(|low| (0..step).contains(low))?;
    let whole = match (defs.int(func, upper[last]), extent) {
        (Some(high), Some(n)) => high > n - step + low && high <= n,
        _ => end.is_some_and(|end| same_int(func, defs, upper[last], end)),
    };
    whole.then_some(low)
}

/// Have two partitions the same indices along all axes but the last?
fn same_rows(func: &Func, defs: &Defs, a: &Part, b: &Part, last: usize) -> bool {
    let lists = |part: &Part| match &part.generator {
        Generator::Known { lower, upper, step, width } => {
            Some([Some(lower.clone()), Some(upper.clone()), step.clone(), width.clone()])
        }
        Generator::Dyn { .. } => None,
    };
    let (Some(a), Some(b)) = (lists(a), lists(b)) else { return false };
    a.iter().zip(&b).all(|pair| match pair {
        (Some(a), Some(b)) => a[..last].iter().zip(&b[..last]).all(|(a, b)| same_int(func, defs, *a, *b)),
        (None, None) => true,
        _ => last == 0,
    })
}

/// Have two partitions certainly no index along an axis in common?
fn are_apart(func: &Func, defs: &Defs, a: &Part, b: &Part, axis: usize) -> bool {
    let along = |part: &Part| {
        let Generator::Known { lower, upper, step, width } = &part.generator else { return None };
        let constant = |list: &Option<Vec<Value>>| list.as_ref().map_or(Some(1), |list| defs.int(func, list[axis]));
        Some((defs.int(func, lower[axis])?, defs.int(func, upper[axis]), constant(step)?, constant(width)?))
    };
    let (Some(a), Some(b)) = (along(a), along(b)) else { return false };
    let before = |a: (i32, Option<i32>, i32, i32), b: (i32, Option<i32>, i32, i32)| a.1.is_some_and(|end| end <= b.0);
    before(a, b)
        || before(b, a)
        || a.2 == b.2 && a.2 > 1 && (a.3, b.3) == (1, 1) && a.0.rem_euclid(a.2) != b.0.rem_euclid(b.2)
}

/// Half of an extent, if it is twice something.
fn half(extent: &Affine) -> Option<Affine> {
    let mut sum = Affine::constant(even(extent.constant_part())?);
    for (sym, factor) in extent.terms() {
        sum = sum.add(&Affine::sym(*sym).scale(even(*factor)?));
    }
    Some(sum)
}

fn even(k: i32) -> Option<i32> {
    (k % 2 == 0).then_some(k / 2)
}

/// Is this the last use of an array that belongs to the place of the with-loop?
fn dies(func: &Func, places: &Places, inst: Inst, array: Value) -> bool {
    let Some(home) = places.home(inst) else { return true };
    let own = func.regions[home].params.contains(&array)
        || func.regions[home].insts.iter().any(|i| func.insts[*i].results.contains(&array));
    let inside = |user: Inst| user == inst || places.owners(user).any(|owner| owner == inst);
    own && places
        .uses(array)
        .iter()
        .all(|u| matches!(u, Use::Operand(user) if inside(*user) || matches!(func.insts[*user].op, Op::Extent { .. })))
}

fn join(func: &mut Func, defs: &mut Defs, home: Region, inst: Inst, with: &With, plan: &Plan) {
    let span = func.insts[inst].span;
    let ty = func.ty(func.insts[inst].results[0]).clone();
    let extents = ty.shape.extents().unwrap_or_default().to_vec();
    let last = extents.len() - 1;
    let int = || Ty::scalar(Elem::I32);
    let mut before = Vec::new();
    let mut e = Emitter { func, defs, out: &mut before, span };
    let frame: Vec<Value> = match &with.ops[0] {
        WithOp::Genarray { frame: Frame::Known(frame), .. } => frame.clone(),
        WithOp::Modarray { array } => (0..=last as u32)
            .map(|axis| match extents[axis as usize].as_const() {
                Some(n) => e.int(n),
                None => e.emit(Op::Extent { array: *array, axis }, int()),
            })
            .collect(),
        _ => return,
    };
    let (zero, one, step) = (e.int(0), e.int(1), e.int(plan.step));
    let count = match plan.extent.as_ref().and_then(Affine::as_const) {
        Some(n) => e.int(n),
        None => e.int_op(BinOp::Div, frame[last], step),
    };
    let extent = plan.extent.clone().unwrap_or_else(|| Affine::sym(e.func.fresh_sym()));
    let new_extents: Vec<Affine> =
        extents[..last].iter().cloned().chain([extent, Affine::constant(plan.step)]).collect();
    let grouped = Ty::new(ty.elem, Shape::Known(new_extents));
    let new_frame: Vec<Value> = frame[..last].iter().copied().chain([count]).collect();
    let new_op = match &with.ops[0] {
        WithOp::Modarray { array } if !plan.whole => {
            let shape = new_frame.iter().copied().chain([step]).collect();
            WithOp::Modarray { array: e.emit(Op::Reshape { array: *array, shape }, grouped.clone()) }
        }
        _ => WithOp::Genarray { frame: Frame::Known(new_frame), cell: Some(vec![step]), default: None },
    };
    let parts = plan
        .groups
        .iter()
        .filter_map(|group| {
            let Generator::Known { lower, upper, step, width } = &group.other.generator else { return None };
            let with_last = |list: &[Value], v: Value| list[..last].iter().copied().chain([v]).collect::<Vec<Value>>();
            let generator = Generator::Known {
                lower: with_last(lower, zero),
                upper: with_last(upper, count),
                step: step.as_ref().filter(|_| last > 0).map(|step| with_last(step, one)),
                width: width.as_ref().filter(|_| last > 0).map(|width| with_last(width, one)),
            };
            Some(Part { generator, body: body(&mut e, with, plan, group, &ty) })
        })
        .collect();
    let made = e.emit(Op::With(With { parts, ops: vec![new_op], ordered: false }), grouped);
    func.insts[inst].op = Op::Reshape { array: made, shape: frame };
    insert_before(func, home, inst, before);
}

/// The body for a group of neighbours.
fn body(e: &mut Emitter<'_>, with: &With, plan: &Plan, group: &Group, ty: &Ty) -> Region {
    let last = e.func.regions[group.other.body].params.len() - 1;
    let params: Vec<Value> = (0..=last).map(|_| e.func.new_value(Ty::scalar(Elem::I32))).collect();
    let mut insts = Vec::new();
    let mut within = Emitter { func: e.func, defs: e.defs, out: &mut insts, span: e.span };
    let step = within.int(plan.step);
    let first = within.int_op(BinOp::Mul, params[last], step);
    let mut elements = Vec::new();
    for (place, part) in (0..plan.step).zip(&group.parts) {
        let at = within.int(place);
        let index = if place == 0 { first } else { within.int_op(BinOp::Add, first, at) };
        elements.push(match (part, &with.ops[0]) {
            (Some(part), _) => copy(&mut within, part, (&params, index), (plan.step, place)),
            (None, WithOp::Modarray { array }) => {
                let index = params[..last].iter().copied().chain([index]).collect();
                within.emit(Op::Sel { array: *array, index }, Ty::scalar(ty.elem))
            }
            (None, WithOp::Genarray { default: Some(default), .. }) => *default,
            (None, _) => {
                let zero = Scalar::zero(ty.elem).unwrap_or(Scalar::I32(0));
                within.constant(zero)
            }
        });
    }
    let cell = within.emit(Op::Array(elements), Ty::new(ty.elem, Shape::Known(vec![Affine::constant(plan.step)])));
    e.func.regions.push(RegionData { params, insts, yields: vec![cell] })
}

/// The cell of one neighbour. Quotients and remainders of its index by the step are known.
fn copy(e: &mut Emitter<'_>, part: &Part, (params, index): (&[Value], Value), (step, place): (i32, i32)) -> Value {
    let old = e.func.regions[part.body].params.clone();
    let last = old.len() - 1;
    let mut copier = Copier::default();
    copier.values.extend(old[..last].iter().copied().zip(params[..last].iter().copied()));
    copier.values.insert(old[last], index);
    for inst in e.func.regions[part.body].insts.clone() {
        let known = match &e.func.insts[inst].op {
            Op::Bin(op @ (BinOp::Div | BinOp::Mod | BinOp::AplMod), a, k)
                if *a == old[last] && e.defs.int(e.func, *k) == Some(step) =>
            {
                Some(*op)
            }
            _ => None,
        };
        if let Some(op) = known {
            let value = if op == BinOp::Div { params[last] } else { e.int(place) };
            copier.values.insert(e.func.insts[inst].results[0], value);
            continue;
        }
        let copied = copier.inst(e.func, inst);
        e.defs.add_inst(e.func, copied);
        e.out.push(copied);
    }
    let cell = e.func.regions[part.body].yields[0];
    copier.value(cell)
}
