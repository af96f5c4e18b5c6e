//! Rows that are made to be put into an array are made where they go.
//!
//! ```text
//!    r = genarray { [j] -> a[i, j] - f * a[k, j] }   update a, [i] with r
//! => modarray(a) { [i .. i + 1, j] -> a[i, j] - f * a[k, j] }
//! ```
//!
//! Before: folding has ended, simplified. After: no update with an array that a with-loop in the same region makes for nothing else, where
//! that may happen in place.
//! Leaves alone: rows that read the array at other columns, since they may read what was replaced; short rows; rows with gaps or sums; rows with checks
//! that would move behind an effect or another check.

use crate::edit::{Defs, drop_inst, insert_before};
use crate::facts::effects::region_has_effect;
use crate::facts::places::{Places, covers_frame, trips};
use crate::pass::{Context, Pass, Run};
use ravel_types::{BinOp, Elem, Scalar, Ty};
use ravel_wir::traverse::{has_effect, walk};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, RegionData, Value, With, WithOp};

pub const PASS: Pass = Pass {
    name: "update-rows",
    summary: "make rows that are put into an array where they go",
    run: Run::Func(update_rows),
};

/// Shorter rows are copied at once.
const LEAST_LENGTH: u64 = 16;

pub fn update_rows(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    // Valid until something changes.
    let mut facts = None;
    for row in Places::new(func).withs {
        let (defs, places) = facts.get_or_insert_with(|| (Defs::new(func), Places::new(func)));
        let Some(update) = update_with(func, defs, places, row, cx) else { continue };
        rewrite(func, places, row, update);
        cx.applied(func.insts[row].span, "made in the array that it is put into");
        (facts, changed) = (None, true);
    }
    changed
}

/// The update that a with-loop makes its array for, if that can be made in place.
fn update_with(func: &Func, defs: &Defs, places: &Places, row: Inst, cx: &Context) -> Option<Inst> {
    let Op::With(With { parts, ops, ordered: false }) = &func.insts[row].op else { return None };
    let ([part], [WithOp::Genarray { frame: Frame::Known(frame), .. }]) = (&parts[..], &ops[..]) else { return None };
    let [crate::facts::places::Use::Operand(update)] = places.uses(func.insts[row].results[0]) else { return None };
    let Op::Update { array, index, value } = &func.insts[*update].op else { return None };
    let rank = func.ty(*array).rank()?;
    let params = &func.regions[part.body].params;
    let short = trips(func, defs, part).is_some_and(|n| n < LEAST_LENGTH) && !cx.eager;
    let fits = *value == func.insts[row].results[0]
        && places.region_of[row] == places.region_of[*update]
        && index.len() + params.len() == rank
        && !index.is_empty()
        && func.ty(*array).elem != Elem::Handle
        && !short
        && covers_frame(func, defs, part, frame)
        && func.regions[part.body].yields.iter().all(|v| func.ty(*v).is_scalar())
        && reads_own_columns(func, part, *array, rank)
        && (!region_has_effect(func, part.body, cx) || nothing_between(func, places, row, *update, cx));
    fits.then_some(*update)
}

/// Whether nothing that can be observed stands between two instructions of one region: what a row checks is checked where it is made.
fn nothing_between(func: &Func, places: &Places, row: Inst, update: Inst, cx: &Context) -> bool {
    let Some(home) = places.region_of[row].expand() else { return false };
    let insts = &func.regions[home].insts;
    let behind = insts.iter().skip_while(|inst| **inst != row).skip(1);
    behind.take_while(|inst| **inst != update).all(|inst| !has_effect(&|f| cx.is_observed(f), func, *inst))
}

/// Whether a body without with-loops reads an array at its own columns alone, if at all.
fn reads_own_columns(func: &Func, part: &Part, array: Value, rank: usize) -> bool {
    let params = &func.regions[part.body].params;
    let mut own = true;
    walk(func, part.body, &mut |_, inst| {
        let mut reads = false;
        func.insts[inst].op.for_each_operand(|v| reads |= v == array);
        own &= match &func.insts[inst].op {
            // What has pieces is not done in place.
            Op::With(_) => false,
            _ if !reads => true,
            Op::Sel { index, .. } => index.len() == rank && index.ends_with(params),
            Op::Extent { .. } => true,
            _ => false,
        };
        own &= func.insts[inst].op.regions().iter().all(|r| !func.regions[*r].yields.contains(&array));
    });
    own
}

fn rewrite(func: &mut Func, places: &Places, row: Inst, update: Inst) {
    let Op::With(With { parts, .. }) = func.insts[row].op.clone() else { return };
    let Op::Update { array, index, .. } = func.insts[update].op.clone() else { return };
    let (Some(home), Some(part)) = (places.region_of[update].expand(), parts.first()) else { return };
    let Generator::Known { lower, upper, .. } = &part.generator else { return };
    let span = func.insts[update].span;
    let int = Ty::scalar(Elem::I32);
    let mut before = vec![func.make_inst(Op::Const(Scalar::I32(1)), vec![int.clone()], span)];
    let one = func.insts[before[0]].results[0];
    let mut ends = Vec::new();
    for &i in &index {
        let end = func.make_inst(Op::Bin(BinOp::Add, i, one), vec![int.clone()], span);
        ends.push(func.insts[end].results[0]);
        before.push(end);
    }
    let data = func.regions[part.body].clone();
    let params = index.iter().map(|_| func.new_value(int.clone())).collect::<Vec<Value>>();
    let params = params.into_iter().chain(data.params).collect();
    let body = func.regions.push(RegionData { params, insts: data.insts, yields: data.yields });
    let join = |first: &[Value], rest: &[Value]| first.iter().chain(rest).copied().collect();
    let generator = Generator::Known { lower: join(&index, lower), upper: join(&ends, upper), step: None, width: None };
    let ops = vec![WithOp::Modarray { array }];
    func.insts[update].op = Op::With(With { parts: vec![Part { generator, body }], ops, ordered: false });
    drop_inst(func, home, row);
    insert_before(func, home, update, before);
}
