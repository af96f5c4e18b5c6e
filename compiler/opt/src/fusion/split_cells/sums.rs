//! Exponentials and the like that wait for sums of rows are computed in a with-loop of their own, and so are wider numbers that sums become.
//!
//! ```text
//!    genarray { [i] -> tanh(fold add { [k] -> w[i, k] * x[k] }) }
//! => s = genarray { [i] -> fold add { [k] -> w[i, k] * x[k] } }
//!    genarray { [i] -> tanh(s[i]) }
//! ```
//!
//! Lanes run along the rows in such a sum, so that each cell has one number in the end, and its function takes as long as for all lanes. With the sums of
//! all cells known lanes run over the cells: the gates of recurrent layers, perceptrons. Cells that are wider than the sums that they are made of,
//! `tod` of sums of `float`, would make the lanes of the sums as few as their own, and keep them from running in tiles.
//!
//! Before: folding has ended, for it would undo this. After: no vector of such functions of sums over rows outside of with-loops, and no array of
//! long sums that are made wider.
//! Leaves alone: functions of sums down columns, where lanes run over the cells in any case; those of matrices of sums, whose tiles have lanes behind the
//! sums, too; short sums that are made wider, and sums of what is as wide; few cells; checks and effects.
//! Worth: tests/survey/with-loops/gates (1.6 with Cranelift, 2.1 with LLVM).

use crate::edit::{Defs, any_inst, operands_of, reads_of};
use crate::facts::{covers_frame, is_transcendental, region_has_effect, trips};
use crate::fusion::split_cells::split_all;
use crate::pass::{Context, Pass};
use ravel_types::HashSet;
use ravel_wir::{Frame, Func, Inst, Op, Region, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("split-sum-cells", "compute functions of sums of rows in a with-loop of their own", split_sum_cells);

/// Fewer cells do not fill lanes.
const MIN_CELLS: u64 = 8;
/// Shorter sums are no more work than storing them.
const MIN_WIDENED: u64 = 16;
/// Most numbers that are kept for each cell.
const MAX_KEPT: usize = 4;

pub fn split_sum_cells(func: &mut Func, cx: &mut Context) -> bool {
    let said = "the sums of its cells are computed before it, for lanes in what is made of them";
    split_all(func, cx, said, |func, defs, places, inst, cx| {
        if places.is_inside_with(func, inst) {
            return None;
        }
        sums_to_keep(func, defs, inst, cx)
    })
}

/// What the cells of a vector have computed of their sums before the first function of these; or those of an array, before these are made wider.
fn sums_to_keep(func: &Func, defs: &Defs, inst: Inst, cx: &Context) -> Option<Vec<Value>> {
    let Op::With(With { parts, ops, ordered: false }) = &func.insts[inst].op else { return None };
    let [part] = &parts[..] else { return None };
    let Some(WithOp::Genarray { frame: Frame::Known(frame), .. }) = ops.first() else { return None };
    let makes_scalars = ops.iter().all(|op| matches!(op, WithOp::Genarray { .. }))
        && func.regions[part.body].yields.iter().all(|v| func.ty(*v).is_scalar());
    if frame.is_empty()
        || !makes_scalars
        || !covers_frame(func, defs, part, frame)
        || (!cx.eager && trips(func, defs, part).is_some_and(|n| n < MIN_CELLS))
        || region_has_effect(func, part.body, cx)
    {
        return None;
    }
    let body = &func.regions[part.body];
    // Values that are made of sums, and those that are made of functions of these.
    let (mut sums, mut behind) = (HashSet::default(), HashSet::default());
    let mut kept = Vec::new();
    let (mut rows, mut widens) = (false, false);
    // Of the sums those that lanes of their own type could compute.
    let mut narrow = HashSet::default();
    for &inst in &body.insts {
        let data = &func.insts[inst];
        let operands = reads_of(func, inst);
        let of_sums = operands.iter().any(|v| sums.contains(v));
        let is_fold = matches!(&data.op, Op::With(with) if with.ops.iter().all(|op| matches!(op, WithOp::Fold { .. })));
        let is_function = of_sums && frame.len() == 1 && is_transcendental(&data.op);
        let is_wider =
            matches!(&data.op, Op::Convert(v) if narrow.contains(v) && width(func, *v) < width(func, data.results[0]));
        widens |= is_wider;
        if operands.iter().any(|v| behind.contains(v)) || is_function || is_wider {
            // A fold that needs such a function would have to wait for all cells.
            if !data.op.regions().is_empty() {
                return None;
            }
            kept.extend(operands.iter().copied().filter(|v| sums.contains(v)));
            behind.extend(data.results.iter().copied());
        } else if is_fold || of_sums {
            rows |= is_fold && reads_rows(func, inst, body.params[0]);
            let stays = |v: &Value| operands.iter().all(|of| width(func, *of) <= width(func, *v));
            if is_fold && is_narrow(func, defs, inst) || !is_fold && operands.iter().any(|v| narrow.contains(v)) {
                narrow.extend(data.results.iter().copied().filter(stays));
            }
            sums.extend(data.results.iter().copied());
        }
    }
    // Cells that are sums themselves are kept as well, or would be computed twice.
    if behind.is_empty() {
        return None;
    }
    kept.extend(body.yields.iter().copied().filter(|v| sums.contains(v)));
    kept.sort();
    kept.dedup();
    let scalars = kept.iter().all(|v| func.ty(*v).is_scalar());
    ((rows || widens) && scalars && kept.len() <= MAX_KEPT).then_some(kept)
}

fn width(func: &Func, v: Value) -> u64 {
    func.ty(v).elem.bytes() as u64
}

/// Is a fold long, and is nothing that its cells compute or read wider than its results?
fn is_narrow(func: &Func, defs: &Defs, fold: Inst) -> bool {
    let Op::With(With { parts, .. }) = &func.insts[fold].op else { return false };
    let Some(widest) = func.insts[fold].results.iter().map(|v| width(func, *v)).min() else { return false };
    let is_wide =
        |inst: Inst| func.insts[inst].results.iter().chain(&operands_of(func, inst)).any(|v| width(func, *v) > widest);
    !parts.iter().any(|part| any_inst(func, part.body, is_wide))
        && parts.iter().all(|part| trips(func, defs, part).is_none_or(|n| n >= MIN_WIDENED))
}

/// Does a fold walk along rows that the index of the cell selects, and down no column?
fn reads_rows(func: &Func, fold: Inst, cell: Value) -> bool {
    let (mut rows, mut columns) = (false, false);
    let mut visit = |region: Region, along: Value| {
        for &inst in &func.regions[region].insts {
            let Op::Sel { index, .. } = &func.insts[inst].op else { continue };
            rows |= index.len() > 1 && index.contains(&cell) && index.last() == Some(&along);
            columns |= index.last() == Some(&cell);
        }
    };
    for region in func.insts[fold].op.regions() {
        if let Some(&along) = func.regions[region].params.last() {
            visit(region, along);
        }
    }
    rows && !columns
}
