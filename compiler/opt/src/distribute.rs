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

use crate::edit::{Copier, Def, Defs, region_has_effect};
use crate::nests::{MAX_REPEATED, work_between};
use crate::pass::{Context, Pass, Run};
use crate::places::{Places, covers_frame};
use ravel_types::{Shape, Ty};
use ravel_wir::traverse::{free_values, walk};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, RegionData, Value, With, WithOp};

pub const PASS: Pass = Pass {
    name: "distribute",
    summary: "compute what columns need of themselves in a with-loop of its own",
    run: Run::Func(distribute),
};

/// Most scalars that are kept for each cell.
const MAX_SCALARS: usize = 3;

pub fn distribute(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    // Valid until something changes.
    let mut facts = None;
    for inst in Places::new(func).withs {
        let (defs, places) = facts.get_or_insert_with(|| (Defs::new(func), Places::new(func)));
        let Some(kept) = scalars_of_columns(func, defs, inst, cx) else { continue };
        let Some(region) = places.region_of[inst].expand() else { continue };
        let before = split(func, inst, &kept);
        let insts = &mut func.regions[region].insts;
        if let Some(at) = insts.iter().position(|i| *i == inst) {
            insts.insert(at, before);
        }
        cx.applied(
            func.insts[inst].span,
            "what its cells need of whole columns is computed before it, for neighboring columns at once",
        );
        (facts, changed) = (None, true);
    }
    changed
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

/// Makes a with-loop for the scalars of a with-loop with one partition, and lets the cells select from its results.
pub fn split(func: &mut Func, inst: Inst, kept: &[Value]) -> Inst {
    let Op::With(mut with) = func.insts[inst].op.clone() else { return inst };
    let span = func.insts[inst].span;
    let part = with.parts[0].clone();
    let result = func.ty(func.insts[inst].results[0]).clone();
    let WithOp::Genarray { frame: Frame::Known(frame), .. } = with.ops[0].clone() else { return inst };
    let lead = result.shape.extents().map(|extents| extents[..frame.len()].to_vec()).unwrap_or_default();
    let types: Vec<Ty> = kept.iter().map(|v| Ty::new(func.ty(*v).elem, Shape::Known(lead.clone()))).collect();
    let op = WithOp::Genarray { frame: Frame::Known(frame), cell: Some(Vec::new()), default: None };

    let mut copier = Copier::within(func, part.body);
    let body = copier.region(func, part.body);
    func.regions[body].yields = kept.iter().map(|v| copier.value(*v)).collect();
    let parts = vec![Part { generator: part.generator.clone(), body }];
    let made = func.make_inst(Op::With(With { parts, ops: vec![op; kept.len()], ordered: false }), types, span);

    let arrays = func.insts[made].results.clone();
    let params: Vec<Value> = func.regions[part.body]
        .params
        .iter()
        .map(|v| func.ty(*v).clone())
        .collect::<Vec<_>>()
        .into_iter()
        .map(|ty| func.new_value(ty))
        .collect();
    let mut copier = Copier::within(func, part.body);
    copier.values.extend(func.regions[part.body].params.iter().copied().zip(params.iter().copied()));
    let mut insts = Vec::new();
    let selections: Vec<(Value, Value)> = kept
        .iter()
        .zip(&arrays)
        .map(|(old, array)| {
            let ty = func.ty(*old).clone();
            let sel = func.make_inst(Op::Sel { array: *array, index: params.clone() }, vec![ty], span);
            insts.push(sel);
            (*old, func.insts[sel].results[0])
        })
        .collect();
    let yields = copier.splice(func, part.body, &mut insts);
    // The copies of the scalars are nobody's then.
    let mut renames = crate::edit::Renames::default();
    for (old, new) in selections {
        renames.set(copier.value(old), new);
    }
    let body = func.regions.push(RegionData { params, insts, yields });
    renames.apply_region(func, body);
    with.parts[0] = Part { generator: Generator::clone(&part.generator), body };
    func.insts[inst].op = Op::With(with);
    made
}
