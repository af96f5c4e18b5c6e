//! Branches that choose between arrays choose between elements.
//!
//! ```text
//!    { [i] -> x = if c(i) { a[i] } else { b[g(i)] }  ... }
//! => { [i] -> x = genarray { [j] -> if c(i) { a[i, j] } else { b[g(i), j] } }  ... }
//! ```
//!
//! As a with-loop the cell can be scalarised and folded, and lanes select what the branch chose; as a branch it is a copy of a row, or of zeros, for every
//! index.
//!
//! Checks of a branch, such as that of `g(i)`, are made in front of the with-loop of elements, where its index arithmetic moves, and hold if the
//! branch is not taken: `check !c(i) || 0 <= g(i) < n`.
//!
//! Before: simplified; scalarisation follows. After: bodies of with-loops have no branch that only picks one of two arrays.
//! Leaves alone: branches that compute an array, in which the elements have work in common; extents that are known nowhere outside of
//! the branch; branches with other effects, and checks that need what only the branch may compute: a division, or a selection behind a check.
//! Worth: tests/survey/with-loops/alternating-rows (5.6 with Cranelift, 9.2 with LLVM).

use crate::edit::{Copier, Defs, Emitter, Renames, replace_inst};
use crate::facts::{Places, is_speculatable, region_has_effect_but_checks};
use crate::pass::{Context, Pass};
use ravel_source::Span;
use ravel_types::{BinOp, Elem, Ty, UnOp};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("if-convert-cells", "choose elements instead of arrays in branches of with-loops", if_convert_cells);

/// Instructions of a branch besides the selection of its array: index arithmetic.
const MAX_CODE: usize = 12;

/// A branch between arrays in a body.
struct Choice {
    body: Region,
    inst: Inst,
    /// An array of the result's extents, behind as many other axes, where they are not constants.
    model: Option<(Value, usize)>,
    span: Span,
}

pub fn if_convert_cells(func: &mut Func, cx: &mut Context) -> bool {
    let mut found = Vec::new();
    for with in Places::new(func).withs {
        let Op::With(With { parts, .. }) = &func.insts[with].op else { continue };
        for body in parts.iter().map(|part| part.body) {
            let span = func.insts[with].span;
            let choices = func.regions[body].insts.iter().filter_map(|inst| choice(func, cx, body, *inst, span));
            found.extend(choices);
        }
    }
    if found.is_empty() {
        return false;
    }
    let mut defs = Defs::new(func);
    let mut renames = Renames::default();
    for choice in found {
        cx.applied(choice.span, "a branch of its body chooses elements instead of arrays");
        rewrite(func, &mut defs, &mut renames, &choice);
    }
    renames.apply(func);
    true
}

fn choice(func: &Func, cx: &Context, body: Region, inst: Inst, span: Span) -> Option<Choice> {
    let Op::If { then, els, .. } = func.insts[inst].op else { return None };
    let [result] = func.insts[inst].results[..] else { return None };
    let extents = func.ty(result).shape.extents().filter(|extents| !extents.is_empty())?;
    if [then, els].into_iter().any(|branch| region_has_effect_but_checks(func, branch, cx)) {
        return None;
    }
    let models = [picked(func, then)?, picked(func, els)?];
    let known = extents.iter().all(|extent| extent.as_const().is_some());
    let model = models.into_iter().flatten().find(|(array, lead)| {
        // Its own extents must be those of the result.
        let of = func.ty(*array).shape.extents();
        of.is_some_and(|of| of[*lead..] == *extents)
    });
    (known || model.is_some()).then_some(Choice { body, inst, model: if known { None } else { model }, span })
}

/// The array from outside that a branch picks its own from, and the number of axes in front; nothing inside if it is an array of one value.
/// `None` if the branch computes its array.
fn picked(func: &Func, branch: Region) -> Option<Option<(Value, usize)>> {
    let data = &func.regions[branch];
    let [value] = data.yields[..] else { return None };
    let made_here = |v: Value| data.insts.iter().find(|inst| func.insts[**inst].results.contains(&v));
    if data.insts.len() > MAX_CODE || func.ty(value).is_scalar() {
        return None;
    }
    let Some(&origin) = made_here(value) else { return Some(Some((value, 0))) };
    let others = data.insts.iter().filter(|inst| **inst != origin);
    let is_check = |inst: Inst| matches!(func.insts[inst].op, Op::Check { .. });
    if data.insts.iter().any(|inst| is_check(*inst))
        && !others.clone().all(|inst| is_check(*inst) || is_speculatable(func, *inst))
    {
        return None;
    }
    for op in others.map(|inst| &func.insts[*inst].op) {
        if !op.regions().is_empty()
            || matches!(op, Op::Call { .. } | Op::Native { .. } | Op::Update { .. } | Op::Array(_))
        {
            return None;
        }
    }
    match &func.insts[origin].op {
        Op::Sel { array, index } => Some(made_here(*array).is_none().then_some((*array, index.len()))),
        Op::With(with) if with.parts.is_empty() && matches!(with.ops[..], [WithOp::Genarray { .. }]) => Some(None),
        Op::ConstArray(_) => Some(None),
        _ => None,
    }
}

/// Moves the checks of the branches, and all but the origins of their arrays with these, in front of the choice.
fn make_checks(
    func: &mut Func,
    defs: &mut Defs,
    out: &mut Vec<Inst>,
    (cond, then, els): (Value, Region, Region),
    span: Span,
) {
    for (branch, is_taken) in [(then, true), (els, false)] {
        let insts = func.regions[branch].insts.clone();
        if !insts.iter().any(|inst| matches!(func.insts[*inst].op, Op::Check { .. })) {
            continue;
        }
        let yields = func.regions[branch].yields.clone();
        let (origin, moved): (Vec<_>, Vec<_>) =
            insts.into_iter().partition(|inst| func.insts[*inst].results.iter().any(|v| yields.contains(v)));
        func.regions[branch].insts = origin;
        let bool_type = Ty::scalar(Elem::Bool);
        let mut e = Emitter { func, defs, out, span };
        let other = if is_taken { e.emit(Op::Un(UnOp::Not, cond), bool_type.clone()) } else { cond };
        for inst in moved {
            if let Op::Check { cond: holds, fault } = e.func.insts[inst].op.clone() {
                let cond = e.emit(Op::Bin(BinOp::Or, other, holds), bool_type.clone());
                e.func.insts[inst].op = Op::Check { cond, fault };
            }
            e.out.push(inst);
        }
    }
}

fn rewrite(func: &mut Func, defs: &mut Defs, renames: &mut Renames, choice: &Choice) {
    let Op::If { cond, then, els } = func.insts[choice.inst].op else { return };
    let (result, span) = (func.insts[choice.inst].results[0], func.insts[choice.inst].span);
    let ty = func.ty(result).clone();
    let Some(extents) = ty.shape.extents().map(<[_]>::to_vec) else { return };
    let mut out = Vec::new();
    make_checks(func, defs, &mut out, (cond, then, els), span);
    let mut e = Emitter { func: &mut *func, defs: &mut *defs, out: &mut out, span };
    let int = Ty::scalar(Elem::I32);
    let frame: Vec<Value> = (0u32..)
        .zip(&extents)
        .map(|(axis, extent)| match (extent.as_const(), choice.model) {
            (Some(n), _) => e.int(n),
            (None, Some((array, lead))) => e.emit(Op::Extent { array, axis: lead as u32 + axis }, int.clone()),
            (None, None) => unreachable!("there is a model of extents that are not constant"),
        })
        .collect();
    let zeros = frame.iter().map(|_| e.int(0)).collect();
    let params: Vec<Value> = frame.iter().map(|_| func.new_value(int.clone())).collect();
    let elem = Ty::scalar(ty.elem);
    let [then, els] = [then, els].map(|branch| {
        let mut insts = Vec::new();
        let yields = Copier::within(func, branch).splice(func, branch, &mut insts);
        let sel = func.make_inst(Op::Sel { array: yields[0], index: params.clone() }, vec![elem.clone()], span);
        insts.push(sel);
        let yields = func.insts[sel].results.clone();
        func.regions.push(RegionData { params: Vec::new(), insts, yields })
    });
    let chosen = func.make_inst(Op::If { cond, then, els }, vec![elem], span);
    let yields = func.insts[chosen].results.clone();
    let body = func.regions.push(RegionData { params, insts: vec![chosen], yields });
    let generator = Generator::Known { lower: zeros, upper: frame.clone(), step: None, width: None };
    let op = WithOp::Genarray { frame: Frame::Known(frame), cell: Some(Vec::new()), default: None };
    let with = With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false };
    let made = func.make_inst(Op::With(with), vec![ty], span);
    renames.set(result, func.insts[made].results[0]);
    out.push(made);
    replace_inst(func, choice.body, choice.inst, out);
}
