//! Reading elements and rows from an array after an update instead of from the one before, which then need not be kept.
//!
//! ```text
//!    %b = update %a, [%i], %x   %y = sel %a, [%i + 1]
//! => %b = update %a, [%i], %x   %y = sel %b, [%i + 1]
//! ```
//!
//! Extents are asked of an array before it is given away: to an update, a call, or a loop that changes it.
//!
//! So it is behind a modarray, for what none of its partitions replaces. Rows that were taken before the update serve as well: of `%r = sel %a, [%p]`
//! before it, `sel %a, [%p, %j]` behind it is `sel %r, [%j]`. The row that an update replaces is taken where it is read later.
//!
//! Simplification looks through updates, so that selections are known early; but an update is made in place only where nobody
//! reads the old array any more. Once everything is simple, what is left of these selections goes back.
//!
//! Before: the passes have ended. After: no old array outlives an update for the sake of elements that the update did not change, nor what takes it for
//! the sake of extents.
//! Leaves alone: old arrays that somebody needs as a whole, or at an index that may be one that was written.
//! Worth: tests/survey/loops/sandpile (29 with Cranelift, 26 with LLVM).

use crate::edit::{Defs, Renames, drop_inst, insert_before, insts_where, use_counts};
use crate::facts::{Places, Use, and_constant};
use crate::pass::{Context, Pass};
use ravel_types::BinOp;
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Generator, Inst, Op, Region, Value, WithOp, cell_type};

pub const PASS: Pass = Pass::of(
    "break-anti-dependences",
    "read elements from updated arrays, so that the old ones need not be kept",
    break_anti_dependences,
);

pub fn break_anti_dependences(func: &mut Func, cx: &mut Context) -> bool {
    let early = extents_early(func);
    read_again(func, cx) || early
}

/// Moves extents before what takes the array that they are asked of.
fn extents_early(func: &mut Func) -> bool {
    let mut extents = Vec::new();
    walk(func, func.body, &mut |_, inst| {
        if let Op::Extent { array, axis } = func.insts[inst].op {
            extents.push((inst, array, axis));
        }
    });
    let places = Places::new(func);
    let mut moves: Vec<(Inst, Inst, Value, u32)> = Vec::new();
    for (inst, array, axis) in extents {
        let mut at = inst;
        while let Some(taker) = taker_before(func, &places, at, array) {
            at = taker;
        }
        if at != inst {
            moves.push((inst, at, array, axis));
        }
    }
    let mut renames = Renames::default();
    for (k, &(inst, at, array, axis)) in moves.iter().enumerate() {
        let (Some(from), Some(to)) = (places.home(inst), places.home(at)) else { continue };
        drop_inst(func, from, inst);
        match moves[..k].iter().find(|m| (m.1, m.2, m.3) == (at, array, axis)) {
            Some(same) => renames.set(func.insts[inst].results[0], func.insts[same.0].results[0]),
            None => insert_before(func, to, at, [inst]),
        }
    }
    renames.apply(func);
    !moves.is_empty()
}

/// The instruction that takes an array before `at`, in a region around it, or that has `at` inside.
fn taker_before(func: &Func, places: &Places, at: Inst, array: Value) -> Option<Inst> {
    let takes = |user: &Use| match user {
        Use::Operand(inst) => match &func.insts[*inst].op {
            Op::Update { array: taken, .. } => (*taken == array).then_some(*inst),
            Op::With(with) => {
                let changes = |op: &WithOp| matches!(op, WithOp::Modarray { array: taken } if *taken == array);
                with.ops.iter().any(changes).then_some(*inst)
            }
            Op::Call { .. } | Op::Loop { .. } => Some(*inst),
            _ => None,
        },
        Use::Yield(_) => None,
    };
    places.uses(array).iter().filter_map(takes).find(|taker| {
        let Some(region) = places.home(*taker) else { return false };
        let Some(around) = places.within(region, at) else { return false };
        let insts = &func.regions[region].insts;
        let place = |inst: Inst| insts.iter().position(|other| *other == inst);
        around == *taker && at != *taker || around != *taker && place(*taker) < place(around)
    })
}

fn read_again(func: &mut Func, cx: &mut Context) -> bool {
    let mut updates = insts_where(func, func.body, |_| true);
    updates.retain(|(_, inst)| written(func, *inst).is_some());
    if updates.is_empty() {
        return false;
    }
    let (defs, places) = (Defs::new(func), Places::new(func));
    let mut uses = use_counts(func);
    let mut changed = false;
    for (region, update) in updates {
        let Some((array, boxes)) = written(func, update) else { continue };
        if uses[array] < 2 {
            continue;
        }
        let Some(later) = later_selections(func, (&defs, &places), region, update, array, &boxes) else { continue };
        let new = func.insts[update].results[0];
        let mut replaced = None;
        for (inst, from) in &later {
            let (source, lead) = match *from {
                From::Updated => (new, 0),
                From::Row(row, lead) => (row, lead),
                From::Replaced(lead) => {
                    (*replaced.get_or_insert_with(|| row_before(func, region, update, array, lead)), lead)
                }
            };
            if let Op::Sel { array, index } = &mut func.insts[*inst].op {
                *array = source;
                index.drain(..lead);
                if source == new {
                    // The next update looks at it again.
                    uses[new] += 1;
                }
            }
        }
        if !later.is_empty() {
            cx.applied(
                func.insts[update].span,
                "elements are read from the updated array, so that it can be changed in place",
            );
            changed = true;
        }
    }
    changed
}

/// Where else an element of the old array is.
enum From {
    Updated,
    /// In a row of it that was taken before, whose index has this length.
    Row(Value, usize),
    /// In the row that the update replaces.
    Replaced(usize),
}

/// Takes the row that an update replaces, in front of it.
fn row_before(func: &mut Func, region: Region, update: Inst, array: Value, lead: usize) -> Value {
    let index = match &func.insts[update].op {
        Op::Update { index, .. } => index[..lead].to_vec(),
        _ => Vec::new(),
    };
    let ty = cell_type(func.ty(array), lead);
    let span = func.insts[update].span;
    let row = func.make_inst(Op::Sel { array, index }, vec![ty], span);
    insert_before(func, region, update, [row]);
    func.insts[row].results[0]
}

/// Indices that an update writes, along the first axes: one, or those from the first to before the second.
enum Written {
    At(Vec<Value>),
    Box(Vec<Value>, Vec<Value>),
}

/// The array that an instruction changes, and where.
fn written(func: &Func, inst: Inst) -> Option<(Value, Vec<Written>)> {
    match &func.insts[inst].op {
        Op::Update { array, index, .. } => Some((*array, vec![Written::At(index.clone())])),
        Op::With(with) => {
            let [WithOp::Modarray { array }] = with.ops[..] else { return None };
            let of = |part: &ravel_wir::Part| match &part.generator {
                Generator::Known { lower, upper, .. } => Some(Written::Box(lower.clone(), upper.clone())),
                Generator::Dyn { .. } => None,
            };
            Some((array, with.parts.iter().map(of).collect::<Option<_>>()?))
        }
        _ => None,
    }
}

/// Whether a selection reads nothing of what was written.
fn is_untouched(func: &Func, (defs, places): (&Defs, &Places), inst: Inst, index: &[Value], written: &Written) -> bool {
    let (lower, upper) = match written {
        Written::At(at) => return at.iter().zip(index).any(|(x, y)| differ(func, defs, *x, *y)),
        Written::Box(lower, upper) => (lower, upper),
    };
    let is_single = |axis: usize| {
        let ((low, c), (high, d)) = (and_constant(func, defs, lower[axis]), and_constant(func, defs, upper[axis]));
        low == high && d.wrapping_sub(c) == 1
    };
    let axes = lower.len().min(index.len());
    if (0..axes).any(|axis| is_single(axis) && differ(func, defs, lower[axis], index[axis])) {
        return true;
    }
    let mut ranges = places.ranges_at(func, defs, inst);
    (0..axes).any(|axis| {
        let i = ranges.form(func, defs, index[axis]);
        let (low, high) = (ranges.form(func, defs, lower[axis]), ranges.form(func, defs, upper[axis]));
        ranges.compare(BinOp::Lt, &i, &low) == Some(true) || ranges.compare(BinOp::Ge, &i, &high) == Some(true)
    })
}

/// The instructions behind an update that select from the old array, if that is all that happens to it there and they select nothing that was
/// written, or elements of rows at hand.
fn later_selections(
    func: &Func,
    facts: (&Defs, &Places),
    region: Region,
    update: Inst,
    array: Value,
    written: &[Written],
) -> Option<Vec<(Inst, From)>> {
    let data = &func.regions[region];
    let at = data.insts.iter().position(|inst| *inst == update)?;
    if data.yields.contains(&array) {
        return None;
    }
    let rows: Vec<(Value, &[Value])> = data.insts[..at]
        .iter()
        .filter_map(|inst| match &func.insts[*inst].op {
            Op::Sel { array: from, index } if *from == array => Some((func.insts[*inst].results[0], &index[..])),
            _ => None,
        })
        .filter(|(row, _)| !func.ty(*row).is_scalar())
        .collect();
    let replaced = match written {
        [Written::At(index)] => Some(&index[..]),
        _ => None,
    };
    let mut found = Vec::new();
    let mut fits = true;
    let mut see = |inst: Inst| {
        let op = &func.insts[inst].op;
        match op {
            Op::Sel { array: from, index } if fits && *from == array && !index.contains(&array) => {
                match rows.iter().find(|(_, lead)| lead.len() < index.len() && index.starts_with(lead)) {
                    _ if written.iter().all(|w| is_untouched(func, facts, inst, index, w)) => {
                        found.push((inst, From::Updated))
                    }
                    Some((row, lead)) => found.push((inst, From::Row(*row, lead.len()))),
                    None if replaced.is_some_and(|lead| lead.len() < index.len() && index.starts_with(lead)) => {
                        found.push((inst, From::Replaced(replaced.map_or(0, <[Value]>::len))));
                    }
                    None => fits = false,
                }
            }
            op => op.for_each_operand(|v| fits &= v != array),
        }
        for nested in op.regions() {
            fits &= !func.regions[nested].yields.contains(&array);
        }
    };
    for &inst in &data.insts[at + 1..] {
        see(inst);
        for nested in func.insts[inst].op.regions() {
            walk(func, nested, &mut |_, inst| see(inst));
        }
    }
    fits.then_some(found)
}

/// Whether two indices differ for certain: `x + c` and `x + d`, or different constants.
fn differ(func: &Func, defs: &Defs, a: Value, b: Value) -> bool {
    let ((x, c), (y, d)) = (and_constant(func, defs, a), and_constant(func, defs, b));
    x == y && c != d
}
