//! With-loops that make several results from arrays, as one with-loop for each of them.
//!
//! ```text
//!    %s, %q = with { [i] -> (a[i], b[i]) } fold add fold add      // of rows
//! => %s = with { [i] -> a[i] } fold add   %q = with { [i] -> b[i] } fold add
//! ```
//!
//! Alone each of them can be scalarised: `%s` is a with-loop over the elements of a row then, and no row is added to another one. With-loops of elements are
//! fused again where they share something.
//!
//! Before: anything; scalarisation follows. After: results that are arrays of arrays, or folds of arrays, have with-loops of their own.
//! Every with-loop makes the checks of the body: the first one finds what fails, the others need them for their selections.
//!
//! Leaves alone: results that have work in common beside selections and arithmetic, and effects other than checks.
//! Worth: tests/survey/with-loops/moments-of-columns (5.1 with Cranelift, 11.7 with LLVM).

use crate::edit::{Copier, any_inside, replace_inst, slice};
use crate::facts::Places;
use crate::fusion::fold_checked::only_checks;
use crate::pass::{Context, Pass};
use ravel_types::HashSet;
use ravel_wir::{Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("split-operators", "make with-loops of their own for results that are made of arrays", split_operators);

pub fn split_operators(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    let places = Places::new(func);
    for inst in places.withs.clone() {
        let Op::With(with) = func.insts[inst].op.clone() else { continue };
        let Some(region) = places.home(inst) else { continue };
        if !is_splittable(func, cx, &with) {
            continue;
        }
        let span = func.insts[inst].span;
        let results = func.insts[inst].results.clone();
        let mut alone = Vec::new();
        for (k, op) in with.ops.iter().enumerate() {
            let parts = with.parts.iter().map(|part| {
                let cell = func.regions[part.body].yields[k];
                let checks = checks_of(func, part.body);
                copy_of(func, part, &[cell], &checks)
            });
            let parts = parts.collect();
            // A fold's function stays with its own operator.
            let made = Op::With(With { parts, ops: vec![op.clone()], ordered: false });
            let ty = func.ty(results[k]).clone();
            let new = func.make_inst(made, vec![ty], span);
            func.insts[new].results = vec![results[k]];
            alone.push(new);
        }
        replace_inst(func, region, inst, alone);
        cx.applied(span, "its results are made by a with-loop each");
        changed = true;
    }
    changed
}

fn is_splittable(func: &Func, cx: &Context, with: &With) -> bool {
    let known = |part: &Part| matches!(part.generator, Generator::Known { .. });
    let simple = |op: &WithOp| match op {
        WithOp::Genarray { .. } | WithOp::Modarray { .. } => true,
        WithOp::Fold { stop, .. } => stop.is_none(),
    };
    if with.ops.len() < 2 || with.ordered || !with.parts.iter().all(known) || !with.ops.iter().all(simple) {
        return false;
    }
    with.parts.iter().any(|part| func.regions[part.body].yields.iter().any(|v| !func.ty(*v).is_scalar()))
        && with.parts.iter().all(|part| checks_plainly(func, part.body, cx) && shares_little(func, part.body))
}

/// Is all that can be observed of a body checks that stand in no inner with-loop or branch, and need none?
pub fn checks_plainly(func: &Func, body: Region, cx: &Context) -> bool {
    let is_plain =
        |op: &Op| op.regions().is_empty() && !matches!(op, Op::Call { .. } | Op::Native { .. } | Op::Update { .. });
    only_checks(func, body, cx)
        && func.regions[body].insts.iter().all(|inst| is_plain(&func.insts[*inst].op) || !region_checks(func, *inst))
        && slice(func, &func.regions[body].insts, [], |inst| checks_of(func, body).contains(&inst))
            .iter()
            .all(|inst| is_plain(&func.insts[*inst].op))
}

/// The checks of a body, not those of regions in it.
pub fn checks_of(func: &Func, body: Region) -> Vec<Inst> {
    let is_check = |inst: &Inst| matches!(func.insts[*inst].op, Op::Check { .. });
    func.regions[body].insts.iter().copied().filter(is_check).collect()
}

/// Are there checks in the regions of an instruction?
fn region_checks(func: &Func, inst: Inst) -> bool {
    any_inside(func, inst, |inner| matches!(func.insts[inner].op, Op::Check { .. }))
}

/// Is what several yields of a body need no more than selections and arithmetic?
fn shares_little(func: &Func, body: Region) -> bool {
    let data = &func.regions[body];
    let mut seen: HashSet<Inst> = HashSet::default();
    data.yields.iter().all(|v| {
        let needed = slice(func, &data.insts, [*v], |_| false);
        let cheap = needed.iter().filter(|inst| seen.contains(*inst)).all(|inst| {
            let op = &func.insts[*inst].op;
            op.regions().is_empty() && !matches!(op, Op::Call { .. } | Op::Native { .. } | Op::Update { .. })
        });
        seen.extend(needed);
        cheap
    })
}

/// A partition that yields `cells`, with a copy of what they and some instructions of the body need.
pub fn copy_of(func: &mut Func, part: &Part, cells: &[Value], with: &[Inst]) -> Part {
    let data = func.regions[part.body].clone();
    let mut copier = Copier::within(func, part.body);
    let params = copier.params(func, part.body);
    let needed = slice(func, &data.insts, cells.iter().copied(), |inst| with.contains(&inst));
    let insts = needed.into_iter().map(|inst| copier.inst(func, inst)).collect();
    let yields = cells.iter().map(|cell| copier.value(*cell)).collect();
    Part { generator: part.generator.clone(), body: func.regions.push(RegionData { params, insts, yields }) }
}
