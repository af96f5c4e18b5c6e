//! Distribution: what the columns of an array need of themselves is computed by a with-loop of its own.
//!
//! ```text
//!    genarray { [j] -> m = fold add { [i] -> x[i, j] }   genarray { [i] -> x[i, j] / m } }
//! => s = genarray { [j] -> fold add { [i] -> x[i, j] } }
//!    genarray { [j] -> genarray { [i] -> x[i, j] / s[j] } }
//! ```
//!
//! A cell by itself walks down a column, an element from each row. With the sums of all columns known the cells are scalarised, and lanes
//! run over neighboring columns.
//!
//! Before: simplified; scalarisation follows, or folding would undo this. After: no array cell of a column waits for scalars that are folds of that column.
//! Leaves alone: rows, which a cell reads from the cache a second time; cells with checks or effects; and more scalars than a few.
//! Worth: tests/survey/with-loops/standard-columns (3.3 with Cranelift, 5.9 with LLVM).

use crate::edit::{Def, Defs};
use crate::facts::{covers_frame, region_has_effect};
use crate::fusion::joiner::{MAX_REPEATED, work_between};
use crate::fusion::split_cells::split_all;
use crate::pass::{Context, Pass};
use ravel_wir::traverse::{free_values, walk};
use ravel_wir::{Frame, Func, Inst, Op, Part, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("split-cells", "compute what columns need of themselves in a with-loop of its own", split_cells);

/// Most scalars that are kept for each cell.
const MAX_SCALARS: usize = 3;

pub fn split_cells(func: &mut Func, cx: &mut Context) -> bool {
    let said = "what its cells need of whole columns is computed before it, for neighboring columns at once";
    split_all(func, cx, said, |func, defs, _, inst, cx| scalars_of_columns(func, defs, inst, cx))
}

/// The scalars that the cells of a with-loop over columns are made from.
fn scalars_of_columns(func: &Func, defs: &Defs, inst: Inst, cx: &Context) -> Option<Vec<Value>> {
    let Op::With(With { parts, ops, ordered: false }) = &func.insts[inst].op else { return None };
    let ([part], [WithOp::Genarray { frame: Frame::Known(frame), .. }]) = (&parts[..], &ops[..]) else { return None };
    let body = &func.regions[part.body];
    let Def::Inst(cell, _) = defs.get(*body.yields.first()?) else { return None };
    let Op::With(inner) = &func.insts[cell].op else { return None };
    let makes_cell = matches!(&inner.ops[..], [WithOp::Genarray { .. }]) && body.insts.contains(&cell);
    if !makes_cell
        || frame.is_empty()
        || !covers_frame(func, defs, part, frame)
        || region_has_effect(func, part.body, cx)
    {
        return None;
    }
    if work_between(func, defs, part.body, cell, inner) <= MAX_REPEATED || !reads_columns(func, part) {
        return None;
    }
    // What the cell takes from its body. All of that is kept: no work per cell must stand in the way of scalarisation.
    let mut needed = Vec::new();
    inner_operands(func, cell, &mut |v| {
        let Def::Inst(inst, _) = defs.get(v) else { return };
        let is_free = matches!(func.insts[inst].op, Op::Const(_) | Op::ConstArray(_) | Op::Extent { .. });
        if body.insts.contains(&inst) && !is_free && !needed.contains(&v) {
            needed.push(v);
        }
    });
    let simple = !needed.is_empty() && needed.len() <= MAX_SCALARS && needed.iter().all(|v| func.ty(*v).is_scalar());
    simple.then_some(needed)
}

/// What an instruction takes from outside, in its regions too.
fn inner_operands(func: &Func, inst: Inst, f: &mut dyn FnMut(Value)) {
    func.insts[inst].op.for_each_operand(&mut *f);
    for region in func.insts[inst].op.regions() {
        free_values(func, region).iter().for_each(|v| f(*v));
    }
}

/// Whether the body reads at its last index along last axes only: a column after the other.
fn reads_columns(func: &Func, part: &Part) -> bool {
    let Some(&index) = func.regions[part.body].params.last() else { return false };
    let (mut columns, mut rows) = (0, 0);
    walk(func, part.body, &mut |region, inst| {
        let Op::Sel { index: at, .. } = &func.insts[inst].op else { return };
        // Elements that the body itself reads are read once.
        if region == part.body || !at.contains(&index) || at.len() < 2 {
            return;
        }
        *(if at.last() == Some(&index) { &mut columns } else { &mut rows }) += 1;
    });
    columns > 0 && rows == 0
}
