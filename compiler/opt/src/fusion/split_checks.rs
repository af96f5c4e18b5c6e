//! With-loops whose cells are selected arrays make their checks in a with-loop of their own, in front of them.
//!
//! ```text
//!    %r = with { [0] <= [%k] < [%m] { %p = %at[%k]  check %p < %n  %c = %table[%p]  yield %c } } genarray [%m]      // of rows
//! => with { [0] <= [%k] < [%m] { %p = %at[%k]  check %p < %n } }
//!    %r = with { [0] <= [%k] < [%m] { %p = %at[%k]  %c = %table[%p]  yield %c } } genarray [%m]
//! ```
//!
//! Rows that are looked up are selected where they are needed then, and not copied; the checks leave bodies that do not decide them (`hoist-checks`).
//! Compared with a row, a second look at the place costs nothing.
//!
//! Before: what can be proven is. After: no with-loop that is only selected from has checks, if its cells are longer arrays.
//! Leaves alone: cells that are scalars or short, complex numbers say, whose checks lanes make; checks in inner with-loops and of what such compute; other effects.
//! Worth: tests/survey/with-loops/table-of-rows (4.3 with Cranelift, 6.2 with LLVM).

use crate::edit::insert_before;
use crate::facts::{Places, Use};
use crate::fusion::split_operators::{checks_of, checks_plainly, copy_of};
use crate::pass::{Context, Pass};
use ravel_types::{BinOp, Elem, Scalar, Ty};
use ravel_wir::{Combine, Frame, Func, Inst, Op, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("split-checks", "make the checks of looked-up rows in a with-loop of their own", split_checks);

/// Least elements of a cell for which a second look at its place costs nothing.
const LEAST_ELEMENTS: usize = 16;

pub fn split_checks(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    let places = Places::new(func);
    for inst in places.withs.clone() {
        let Op::With(with) = func.insts[inst].op.clone() else { continue };
        let Some(region) = places.home(inst) else { continue };
        if !is_splittable(func, &places, cx, inst, &with) {
            continue;
        }
        let span = func.insts[inst].span;
        let no = func.make_inst(Op::Const(Scalar::Bool(false)), vec![Ty::scalar(Elem::Bool)], span);
        let neutral = func.insts[no].results[0];
        let parts = with.parts.iter().map(|part| {
            let checks = checks_of(func, part.body);
            copy_of(func, part, &[neutral], &checks)
        });
        let parts = parts.collect();
        let fold = WithOp::Fold { neutral, combine: Combine::Op(BinOp::Or), stop: None };
        let made = Op::With(With { parts, ops: vec![fold], ordered: false });
        let checking = func.make_inst(made, vec![Ty::scalar(Elem::Bool)], span);
        for part in &with.parts {
            let checks = checks_of(func, part.body);
            func.regions[part.body].insts.retain(|inst| !checks.contains(inst));
        }
        insert_before(func, region, inst, [no, checking]);
        cx.applied(span, "its checks are made before it");
        changed = true;
    }
    changed
}

fn is_splittable(func: &Func, places: &Places, cx: &Context, inst: Inst, with: &With) -> bool {
    let [WithOp::Genarray { frame: Frame::Known(_), .. }] = with.ops[..] else { return false };
    let result = func.insts[inst].results[0];
    let selects = |u: &Use| match u {
        Use::Operand(user) => match &func.insts[*user].op {
            Op::Sel { array, .. } => *array == result,
            op => matches!(op, Op::Extent { .. }),
        },
        Use::Yield(_) => false,
    };
    let is_row = |v: &Value| !func.ty(*v).is_scalar() && func.ty(*v).shape.count().is_none_or(|n| n >= LEAST_ELEMENTS);
    !with.ordered
        && places.uses(result).iter().all(selects)
        && with.parts.iter().any(|part| !checks_of(func, part.body).is_empty())
        && with
            .parts
            .iter()
            .all(|part| func.regions[part.body].yields.iter().all(is_row) && checks_plainly(func, part.body, cx))
}
