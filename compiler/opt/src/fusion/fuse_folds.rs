//! Folds over an array that a with-loop has just made join that with-loop.
//!
//! ```text
//!    %v = with { part G { f } } genarray   %e = with { [0] <= iv < shape %v { %x = %v[iv]  %y = %u[iv]  yield abs(%x - %y) } } fold max
//! => %v, %e = with { part G { %x = f  %y = %u[iv]  yield %x, abs(%x - %y) } } genarray fold max
//! ```
//!
//! A step of a solver and how much it changed, a residual and its norm, a product with a sparse operator and the dot product behind it: elements
//! are added while they are in registers, and memory is walked once.
//!
//! Before: folding and fusion have ended; the fold was not folded into, since the array is needed anyway. After: no regrouping fold
//! of plain elements over all of an array stands behind the with-loop that makes it, if bodies are plain and neighbours in memory stay neighbours in lanes.
//! Leaves alone: folds that keep their order or may stop, bodies with loops or checks of their own, arrays with defaults, short rows, and
//! folds that need what comes between.
//! Worth: tests/survey/reductions/changes-of-a-step (1.2, 1.0 with Cranelift, 1.6, 1.0 with LLVM).

use crate::edit::{Copier, Def, Defs, with_of};
use crate::facts::{Bounds, MAX_PARTS, Places, bounds, covers, covers_frame, rewrite_withs, total_trips};
use crate::fusion::fuse::{MAX_OPERATORS, is_fusible, lowered, raised};
use crate::pass::{Context, Pass};
use ravel_types::HashSet;
use ravel_wir::traverse::free_values;
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

pub const PASS: Pass = Pass::of("fuse-folds", "let folds over an array join the with-loop that makes it", fuse_folds);

/// Fewer indices than this are computed in no time.
const LEAST_TRIPS: u64 = 256;
/// Rows of fewer elements are walked as one axis, which folds cannot join.
const LEAST_ROW: i32 = 32;

pub fn fuse_folds(func: &mut Func, cx: &mut Context) -> bool {
    rewrite_withs(func, |func, defs, places, (_, fold)| {
        let (maker, region, order) = Search { func, places, defs, cx }.maker(fold)?;
        cx.applied(func.insts[fold].span, "joined the with-loop that makes its array");
        join(func, region, maker, fold, &order);
        Some(())
    })
}

struct Search<'a> {
    func: &'a Func,
    places: &'a Places,
    defs: &'a Defs,
    cx: &'a Context,
}

impl Search<'_> {
    /// The with-loop that a fold can join, their region, and the order of that in which they are neighbors.
    fn maker(&self, fold: Inst) -> Option<(Inst, Region, Vec<Inst>)> {
        let func = self.func;
        let with = with_of(func, fold)?;
        let region = self.places.home(fold)?;
        let [part] = &with.parts[..] else { return None };
        if !with.ops.iter().all(is_free_fold) || !is_fusible(func, with, self.cx) || !is_plain(func, part) {
            return None;
        }
        let insts = &func.regions[region].insts;
        let makers = func.regions[part.body].insts.iter().filter_map(|inst| match &func.insts[*inst].op {
            Op::Sel { array, .. } => Some(*array),
            _ => None,
        });
        for array in makers {
            let Def::Inst(maker, _) = self.defs.get(array) else { continue };
            if self.places.home(maker) != Some(region) || !self.may_join(maker, with) {
                continue;
            }
            let place = |inst: Inst| insts.iter().position(|i| *i == inst);
            let (Some(p), Some(q)) = (place(maker), place(fold)) else { continue };
            let made: HashSet<Value> = func.insts[maker].results.iter().copied().collect();
            let mut needed: Vec<Value> =
                free_values(func, part.body).into_iter().filter(|v| !made.contains(v)).collect();
            for op in &with.ops {
                if let WithOp::Fold { neutral, .. } = op {
                    needed.push(*neutral);
                }
            }
            let order =
                raised(func, self.defs, insts, (p, q), needed).or_else(|| lowered(func, self.places, insts, (p, q), q));
            if let Some(order) = order {
                return Some((maker, region, order));
            }
        }
        None
    }

    /// Does a with-loop make arrays that a fold reads in full, each element at its own index?
    fn may_join(&self, maker: Inst, fold: &With) -> bool {
        let func = self.func;
        let Some(with) = with_of(func, maker) else { return false };
        let (Some(part), Some(first)) = (fold.parts.first(), with.parts.first()) else { return false };
        let arrays = with.ops.iter().filter(|op| !is_free_fold(op)).map(|op| match op {
            WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. } if cell.is_empty() => Some(frame),
            _ => None,
        });
        let Some(frames) = arrays.collect::<Option<Vec<_>>>() else { return false };
        let (Some(frame), Some(all)) = (frames.first(), with.parts.iter().map(bounds).collect::<Option<Vec<Bounds>>>())
        else {
            return false;
        };
        let Generator::Known { lower, .. } = &first.generator else { return false };
        let zero =
            with.parts.iter().filter_map(bounds).flatten().map(|b| b.0).find(|v| self.defs.int(func, *v) == Some(0));
        let Some(zero) = zero else { return false };
        let whole: Bounds = frame.iter().map(|extent| (zero, *extent)).collect();
        let long = frame.last().is_some_and(|n| self.defs.int(func, *n).is_none_or(|n| n >= LEAST_ROW));
        let many = total_trips(func, self.defs, with).is_none_or(|n| n >= LEAST_TRIPS);
        lower.len() == frame.len()
            && (long && many || self.cx.eager)
            && with.ops.len() + fold.ops.len() <= MAX_OPERATORS
            && with.parts.len() <= MAX_PARTS
            && frames.iter().all(|other| covers_frame(func, self.defs, part, other))
            && covers(func, self.defs, &whole, &all)
            && is_fusible(func, with, self.cx)
            && with.parts.iter().all(|part| is_plain(func, part))
            && self.reads_in_place(maker, part)
    }

    /// Whether a partition needs nothing of a with-loop but its elements at its own index.
    fn reads_in_place(&self, maker: Inst, part: &Part) -> bool {
        let made = &self.func.insts[maker].results;
        let data = &self.func.regions[part.body];
        let reads = |inst: &Inst| match &self.func.insts[*inst].op {
            Op::Sel { array, index } if made.contains(array) => *index == data.params,
            op => {
                let mut apart = true;
                op.for_each_operand(|v| apart &= !made.contains(&v));
                apart
            }
        };
        let flat = |inst: &Inst| self.func.insts[*inst].op.regions().is_empty();
        data.insts.iter().all(|inst| flat(inst) && reads(inst)) && !data.yields.iter().any(|v| made.contains(v))
    }
}

/// A fold of scalars that may be regrouped, and never stops early.
fn is_free_fold(op: &WithOp) -> bool {
    matches!(op, WithOp::Fold { combine: Combine::Op(op), stop: None, .. } if op.regroups())
}

/// Whether a body is straight code of scalars, and neighbours along the last axis load neighbours or something else along a last axis.
fn is_plain(func: &Func, part: &Part) -> bool {
    let Some(last) = func.regions[part.body].params.last() else { return false };
    let mut along: HashSet<Value> = HashSet::from_iter([*last]);
    is_straight(func, part.body, &mut along)
}

/// The same for a region, branches included; `along` are the values that vary along the last axis.
fn is_straight(func: &Func, region: Region, along: &mut HashSet<Value>) -> bool {
    let data = &func.regions[region];
    for &inst in &data.insts {
        let op = &func.insts[inst].op;
        let inside = match op {
            Op::If { then, els, .. } => is_straight(func, *then, along) && is_straight(func, *els, along),
            Op::Call { .. } | Op::Update { .. } => false,
            Op::Sel { index, .. } => {
                index.split_last().is_none_or(|(_, outer)| !outer.iter().any(|v| along.contains(v)))
            }
            _ => op.regions().is_empty(),
        };
        let results = &func.insts[inst].results;
        if !inside || results.iter().any(|v| !func.ty(*v).is_scalar()) {
            return false;
        }
        let mut varies = false;
        op.for_each_operand(|v| varies |= along.contains(&v));
        for nested in op.regions() {
            varies |= func.regions[nested].yields.iter().any(|v| along.contains(v));
        }
        if varies {
            along.extend(results);
        }
    }
    data.yields.iter().all(|v| func.ty(*v).is_scalar())
}

/// Gives a with-loop the operators of a fold over its arrays.
fn join(func: &mut Func, region: Region, maker: Inst, fold: Inst, order: &[Inst]) {
    let (Some(with), Some(other)) = (with_of(func, maker).cloned(), with_of(func, fold).cloned()) else { return };
    let made = func.insts[maker].results.clone();
    let body = func.regions[other.parts[0].body].clone();
    for part in &with.parts {
        let data = func.regions[part.body].clone();
        let mut copier = Copier::within(func, part.body);
        copier.values.extend(body.params.iter().copied().zip(data.params.iter().copied()));
        let mut insts = data.insts;
        for &inst in &body.insts {
            let element = match &func.insts[inst].op {
                Op::Sel { array, .. } => made.iter().position(|v| v == array),
                _ => None,
            };
            match element {
                Some(k) => {
                    copier.values.insert(func.insts[inst].results[0], data.yields[k]);
                }
                None => insts.push(copier.inst(func, inst)),
            }
        }
        let cells: Vec<Value> = body.yields.iter().map(|v| copier.value(*v)).collect();
        func.regions[part.body].insts = insts;
        func.regions[part.body].yields.extend(cells);
    }
    let ops = with.ops.into_iter().chain(other.ops).collect();
    let results = made.iter().chain(&func.insts[fold].results).copied().collect();
    func.insts[fold].op = Op::With(With { parts: with.parts, ops, ordered: false });
    func.insts[fold].results = results;
    func.regions[region].insts = order.iter().copied().filter(|i| *i != maker).collect();
}
