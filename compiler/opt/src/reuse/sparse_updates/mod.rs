//! Folds whose cells are the neutral element but for a few places update their accumulator there.
//!
//! ```text
//!    with { [lo] <= [%i] < [hi] { %c = %z with [%p(i)] = %v(i)  yield %c } } fold add neutral %z        with zeros everywhere in %z
//! => loop (%a = %z, %i = lo) { %o = %a[%p(i)]  %s = %o + %v(i)  %b = %a with [%p(i)] = %s  %n = %i + 1  yield %n < hi, %b, %n }
//! ```
//!
//! Histograms, sums per group, scattered sums: as written each index adds a whole array. Several updates of one cell load the accumulator first and
//! then store, so that the last of two at one place counts, as it does in the cell. Elements of the accumulator that a cell leaves alone
//! would be combined with a neutral element, which changes nothing: the neutral cells of an operation that regroups may come first.
//! Long folds are cut into pieces with accumulators of their own, as in `privatize-reductions`: their number depends on the
//! index set alone.
//!
//! Before: simplified, the fold function recognised. After: such a fold is a loop in whose body one value follows the other.
//! Leaves alone: cells that change most of a short array, places known while compiling, operations that do not regroup, accumulators that adding a
//! neutral element could change (-0.0), one-hot cells of a few elements, which are compared in lanes.
//! Worth: tests/survey/tables/group-sums (540 with Cranelift, 110 with LLVM).

mod nest;
mod search;
pub mod sums;

use crate::edit::{Copier, Defs, Emitter, Renames, replace_inst, substitute};
use crate::facts::{Places, total_trips};
use crate::loops::privatize::{Work, in_pieces};
use crate::pass::{Context, Pass};
use nest::Nest;
use ravel_types::{BinOp, Ty};
use ravel_wir::{Combine, ConstData, Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};
use search::Search;
use std::sync::Arc;

pub const PASS: Pass =
    Pass::of("sparse-updates", "let folds update their accumulators where cells are not neutral", sparse_updates);

/// Iterations of loops inside of a body, where nothing is known of them.
const UNKNOWN_ITERATIONS: i64 = 8;

/// A fold that can be such a loop.
pub(crate) struct Found {
    neutral: Value,
    op: BinOp,
    parts: Vec<(Part, Cell)>,
    /// Elements that a cell changes.
    changed: u64,
}

/// Where a cell differs from the neutral element.
pub(crate) enum Cell {
    Nowhere,
    /// At the places of these updates, the last of which counts.
    Updates(Vec<Inst>),
    /// In the partitions of a `modarray`.
    Parts(Inst),
    /// Where the axes of a with-loop over the whole array, of which this is the part, equal values.
    Compared {
        part: Part,
        at: Vec<Option<Value>>,
        choice: Choice,
    },
    /// Where those of a fold in the body do.
    Fold {
        inst: Inst,
        parts: Vec<(Part, Cell)>,
    },
    /// In either way.
    Either {
        cond: Value,
        then: Box<Cell>,
        els: Box<Cell>,
    },
    /// The same for branches that are computed there.
    Branch {
        inst: Inst,
        then: Box<Cell>,
        els: Box<Cell>,
    },
}

/// The element in the branch that is taken at the place.
pub(crate) enum Choice {
    Value(Value),
    Yield(Region, usize),
}

pub fn sparse_updates(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = gather(func, cx);
    // Outer folds first: those inside of them may become part of the same loop.
    for inst in Places::new(func).withs.into_iter().rev() {
        let fold = matches!(&func.insts[inst].op, Op::With(With { ops, ordered: false, .. })
            if matches!(ops[..], [WithOp::Fold { combine: Combine::Op(_), stop: None, .. }]));
        if !fold || func.ty(func.insts[inst].results[0]).is_scalar() {
            continue;
        }
        let (mut defs, places) = (Defs::new(func), Places::new(func));
        let Some(home) = places.home(inst) else { continue };
        let search = Search { func, defs: &defs, places: &places, cx };
        let Some(found) = search.fold(inst) else { continue };
        let inside = places.is_inside_with(func, inst);
        rewrite(func, &mut defs, cx, (home, inst), &found, !inside);
        cx.applied(func.insts[inst].span, "updates its accumulator where cells are not neutral");
        changed = true;
    }
    changed
}

/// Folds of all elements of an array that the body updates become one fold of arrays:
/// `yield %u[0], .. %u[n-1]` with `%u = %zeros with [%p] = %v`. Short vectors of integers are elements at first.
fn gather(func: &mut Func, cx: &Context) -> bool {
    let mut changed = false;
    for inst in Places::new(func).withs {
        let several = matches!(&func.insts[inst].op, Op::With(With { ops, ordered: false, .. }) if ops.len() > 1);
        if !several {
            continue;
        }
        let (mut defs, places) = (Defs::new(func), Places::new(func));
        let Some(home) = places.home(inst) else { continue };
        let search = Search { func, defs: &defs, places: &places, cx };
        if places.is_inside_with(func, inst) && !cx.eager {
            continue;
        }
        let Some((cells, neutral, op)) = search.gathered(inst) else { continue };
        let Op::With(with) = func.insts[inst].op.clone() else { continue };
        let (span, old) = (func.insts[inst].span, func.insts[inst].results.clone());
        let ty = func.ty(cells[0]).clone();
        let mut out = Vec::new();
        let mut e = Emitter { func, defs: &mut defs, out: &mut out, span };
        let data = ConstData { elem: ty.elem, values: vec![neutral; old.len()] };
        let neutral = e.emit(Op::ConstArray(Arc::new(data)), ty.clone());
        for (part, cell) in with.parts.iter().zip(cells) {
            e.func.regions[part.body].yields = vec![cell];
        }
        let ops = vec![WithOp::Fold { neutral, combine: Combine::Op(op), stop: None }];
        let sums = e.emit(Op::With(With { ops, ..with }), ty.clone());
        let mut renames = Renames::default();
        for (k, old) in old.into_iter().enumerate() {
            let k = e.int(k as i32);
            let element = e.emit(Op::Sel { array: sums, index: vec![k] }, Ty::scalar(ty.elem));
            renames.set(old, element);
        }
        replace_inst(func, home, inst, out);
        renames.apply(func);
        changed = true;
    }
    changed
}

/// Puts loops in the place of a fold, one nest for each partition.
fn rewrite(
    func: &mut Func,
    defs: &mut Defs,
    cx: &Context,
    (home, inst): (Region, Inst),
    found: &Found,
    outermost: bool,
) {
    let span = func.insts[inst].span;
    let old = func.insts[inst].results[0];
    let (mut out, mut current, mut loops) = (Vec::new(), found.neutral, Vec::new());
    for (part, cell) in &found.parts {
        let outer = Copier::default();
        let mut nest = Nest { func, defs, span, op: found.op };
        let (result, run) = nest.part(&mut out, current, part, cell, &outer);
        current = result;
        loops.extend(
            run.map(|run| (run, inner_iterations(func, defs, part), work_of(func, defs, part.body, func.ty(old)))),
        );
    }
    substitute(func, home, inst, out, [current]);
    for (run, inner, code) in loops.into_iter().filter(|_| outermost) {
        in_pieces(func, cx, run, found.op, Work { inner, code, changed: found.changed as i64 });
    }
}

/// Iterations of the inner loops for one of the outermost, as far as they are known.
fn inner_iterations(func: &Func, defs: &Defs, part: &Part) -> i64 {
    let Generator::Known { lower, upper, .. } = &part.generator else { return 1 };
    let known = lower
        .iter()
        .zip(upper)
        .skip(1)
        .filter_map(|(l, u)| Some(i64::from(defs.int(func, *u)?) - i64::from(defs.int(func, *l)?)));
    known.fold(1, |n, extent| n.saturating_mul(extent.max(1)))
}

/// Instructions of a body, those of loops in it as often as they run. Cells as large as the accumulator are not made any more.
fn work_of(func: &Func, defs: &Defs, region: Region, ty: &Ty) -> i64 {
    let is_cell = |with: &With| !with.ops.iter().any(|op| matches!(op, WithOp::Fold { .. }));
    let mut work = 0i64;
    for &inst in &func.regions[region].insts {
        let times = match &func.insts[inst].op {
            Op::Const(_) => continue,
            Op::With(with) if is_cell(with) && func.ty(func.insts[inst].results[0]) == ty => continue,
            Op::Loop { .. } => UNKNOWN_ITERATIONS,
            Op::With(with) => total_trips(func, defs, with).map_or(UNKNOWN_ITERATIONS, |n| n.min(1 << 20) as i64),
            _ => 1,
        };
        work += func.insts[inst].op.regions().into_iter().fold(1, |sum, r| sum + times * work_of(func, defs, r, ty));
    }
    work
}
