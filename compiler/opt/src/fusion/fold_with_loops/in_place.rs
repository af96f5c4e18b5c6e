//! With-loops that take the place of an array that nobody else needs: folding them into what reads them would need that array as it was.

use super::{frame_rank, with_of};
use crate::edit::Defs;
use crate::facts::{Places, Use, covers_frame, same_int, total_trips};
use crate::fusion::fuse::same_parts;
use ravel_wir::traverse::walk;
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

/// Fewer cells are values, which all that read them may compute.
const LEAST_CELLS: u64 = 64;

/// Whether result `k` of the producer can be made in the place of an array, which its consumers would need as it was if they computed cells of it
/// themselves. `sites` are the selections of the consumers, with the region of each that stands where the producer does.
///
/// A consumer over the same indices that selects there only becomes one with-loop with it, which reads each element before it is replaced.
pub fn loses_its_place(
    func: &Func,
    places: &Places,
    defs: &Defs,
    (producer, k): (Inst, usize),
    sites: impl IntoIterator<Item = (Inst, Option<Region>)>,
) -> bool {
    changes_part(func, places, defs, producer, k)
        || takes_place(func, places, defs, producer, k)
            && !sites.into_iter().all(|(site, outermost)| {
                outermost.is_some_and(|region| goes_along(func, places, defs, producer, site, region))
            })
}

/// Whether nothing but the with-loop uses an array. Parameters and what a loop carries may be others', too, but are asked at run time.
fn is_its_own(func: &Func, places: &Places, with: (Inst, &With), array: Value) -> bool {
    places.uses(array).iter().all(|u| match u {
        Use::Operand(inst) => {
            let region = places.home(*inst);
            let is_inside = |r| with.1.parts.iter().any(|p| places.path(r, p.body).is_some());
            *inst == with.0 || matches!(func.insts[*inst].op, Op::Extent { .. }) || region.is_some_and(is_inside)
        }
        Use::Yield(_) => false,
    })
}

/// Whether the result is part of an array that changes in place behind the producer, before a consumer runs: a row that was put aside.
pub fn reads_what_changes(
    func: &Func,
    places: &Places,
    (producer, k): (Inst, usize),
    sites: &[(Inst, Option<Region>)],
) -> bool {
    let Some(home) = places.home(producer) else { return false };
    let Some(rank) = func.ty(func.insts[producer].results[k]).rank() else { return false };
    let insts = &func.regions[home].insts;
    let place = |inst: Inst| places.within(home, inst).and_then(|inst| insts.iter().position(|other| *other == inst));
    let arrays = with_of(func, producer).parts.iter().flat_map(|part| arrays_read(func, part.body));
    let changes = |inst: Inst, array: Value| match &func.insts[inst].op {
        Op::Update { array: taken, .. } => *taken == array,
        Op::With(with) => with.ops.iter().any(|op| matches!(op, WithOp::Modarray { array: taken } if *taken == array)),
        _ => false,
    };
    arrays.filter(|array| func.ty(*array).rank().is_some_and(|n| n > rank)).any(|array| {
        let users = places.uses(array);
        if !users.iter().any(|user| matches!(user, Use::Operand(inst) if changes(*inst, array))) {
            return false;
        }
        // The last to use the array changes it.
        let mut last: Option<usize> = None;
        for user in users {
            match user {
                Use::Operand(inst) => match place(*inst) {
                    Some(at) => last = last.max(Some(at)),
                    None => return false,
                },
                Use::Yield(_) => return false,
            }
        }
        let Some(last) = last else { return false };
        changes(insts[last], array)
            && place(producer).is_some_and(|at| at < last)
            && sites.iter().any(|(site, _)| place(*site) > Some(last))
    })
}

/// Whether the with-loop changes less than half of an array that is used by nothing else: an edge, a row.
fn changes_part(func: &Func, places: &Places, defs: &Defs, producer: Inst, k: usize) -> bool {
    let with = with_of(func, producer);
    let WithOp::Modarray { array } = with.ops[k] else { return false };
    if !is_its_own(func, places, (producer, with), array) {
        return false;
    }
    let axes = frame_rank(with, k).unwrap_or(0);
    let extents = func.ty(array).shape.extents().unwrap_or_default();
    let cells = extents.iter().take(axes).try_fold(1u64, |n, e| n.checked_mul(u64::try_from(e.as_const()?).ok()?));
    match (total_trips(func, defs, with), cells) {
        (Some(trips), Some(cells)) => trips.saturating_mul(2) <= cells,
        _ => with.parts.iter().all(|part| is_thin(func, places, defs, producer, part)),
    }
}

/// Whether a partition has one index along some axis.
fn is_thin(func: &Func, places: &Places, defs: &Defs, producer: Inst, part: &Part) -> bool {
    let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return false };
    let mut ranges = places.ranges_at(func, defs, producer);
    lower.iter().zip(upper).any(|(low, high)| {
        let (low, high) = (ranges.form(func, defs, *low), ranges.form(func, defs, *high));
        high.sub(&low).and_then(|d| d.as_const()).is_some_and(|n| n <= 1)
    })
}

/// Whether result `k` replaces an array of its shape that nothing else uses, of which each cell needs the element in its own place only.
fn takes_place(func: &Func, places: &Places, defs: &Defs, producer: Inst, k: usize) -> bool {
    let with = with_of(func, producer);
    let result = func.ty(func.insts[producer].results[k]);
    if total_trips(func, defs, with).is_some_and(|cells| cells < LEAST_CELLS) {
        return false;
    }
    match &with.ops[k] {
        WithOp::Modarray { array } => {
            is_its_own(func, places, (producer, with), *array) && reads_own_place(func, with, *array)
        }
        WithOp::Genarray { frame: Frame::Known(frame), .. } => {
            let [part] = &with.parts[..] else { return false };
            covers_frame(func, defs, part, frame)
                && arrays_read(func, part.body).into_iter().any(|array| {
                    func.ty(array) == result
                        && is_its_own(func, places, (producer, with), array)
                        && reads_own_place(func, with, array)
                })
        }
        _ => false,
    }
}

/// The arrays that a body selects from.
fn arrays_read(func: &Func, body: Region) -> Vec<Value> {
    let mut arrays = Vec::new();
    walk(func, body, &mut |_, inst| {
        if let Op::Sel { array, .. } = &func.insts[inst].op
            && !arrays.contains(array)
        {
            arrays.push(*array);
        }
    });
    arrays
}

/// Whether all that the bodies do with the array is to select where their indices are.
fn reads_own_place(func: &Func, with: &With, array: Value) -> bool {
    with.parts.iter().all(|part| {
        let params = &func.regions[part.body].params;
        let mut own = true;
        walk(func, part.body, &mut |_, inst| {
            own &= match &func.insts[inst].op {
                Op::Sel { array: from, index } if *from == array => index.starts_with(params),
                Op::Extent { .. } => true,
                op => {
                    let mut uses = false;
                    op.for_each_operand(|v| uses |= v == array);
                    !uses
                }
            };
        });
        own
    })
}

/// Whether a consumer that selects here, in a partition with this body, can become one with-loop with the producer: it has the same partitions, or
/// those of its rows.
fn goes_along(func: &Func, places: &Places, defs: &Defs, producer: Inst, site: Inst, body: Region) -> bool {
    let Op::Sel { index, .. } = &func.insts[site].op else { return false };
    let Some(consumer) = places.owner_of(body) else { return false };
    let Op::With(with) = &func.insts[consumer].op else { return false };
    index.starts_with(&func.regions[body].params)
        && (same_parts(func, defs, producer, consumer)
            || matches!((&with_of(func, producer).parts[..], &with.parts[..]), ([all], [rows]) if are_rows(func, defs, rows, all)))
}

/// Whether a partition has the indices that another one has along its leading axes.
fn are_rows(func: &Func, defs: &Defs, rows: &Part, all: &Part) -> bool {
    let (Generator::Known { lower, upper, step: None, .. }, Generator::Known { lower: low, upper: up, step: None, .. }) =
        (&rows.generator, &all.generator)
    else {
        return false;
    };
    let same =
        |a: &[Value], b: &[Value]| a.len() <= b.len() && a.iter().zip(b).all(|(x, y)| same_int(func, defs, *x, *y));
    same(lower, low) && same(upper, up)
}
