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
//! Leaves alone: results that have work in common beside selections and arithmetic, and effects.

use crate::edit::{Copier, region_has_effect};
use crate::pass::{Context, Pass, Run};
use crate::places::Places;
use ravel_wir::traverse::free_values;
use ravel_wir::{Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};
use std::collections::HashSet;

pub const PASS: Pass = Pass {
    name: "split-operators",
    summary: "make with-loops of their own for results that are made of arrays",
    run: Run::Func(split_operators),
};

pub fn split_operators(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    let places = Places::new(func);
    for inst in places.withs.clone() {
        let Op::With(with) = func.insts[inst].op.clone() else { continue };
        let Some(region) = places.region_of[inst].expand() else { continue };
        if !is_splittable(func, cx, &with) {
            continue;
        }
        let span = func.insts[inst].span;
        let results = func.insts[inst].results.clone();
        let mut alone = Vec::new();
        for (k, op) in with.ops.iter().enumerate() {
            let parts = with.parts.iter().map(|part| of_operator(func, part, k)).collect();
            // A fold's function stays with its own operator.
            let made = Op::With(With { parts, ops: vec![op.clone()], ordered: false });
            let ty = func.ty(results[k]).clone();
            let new = func.make_inst(made, vec![ty], span);
            func.insts[new].results = vec![results[k]];
            alone.push(new);
        }
        let insts = &mut func.regions[region].insts;
        if let Some(at) = insts.iter().position(|i| *i == inst) {
            insts.splice(at..=at, alone);
        }
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
        && with.parts.iter().all(|part| !region_has_effect(func, part.body, cx) && shares_little(func, part.body))
}

/// Is what several yields of a body need no more than selections and arithmetic?
fn shares_little(func: &Func, body: Region) -> bool {
    let data = &func.regions[body];
    let mut seen: HashSet<Inst> = HashSet::new();
    data.yields.iter().all(|v| {
        let needed = slice(func, body, *v);
        let cheap = needed.iter().filter(|inst| seen.contains(*inst)).all(|inst| {
            let op = &func.insts[*inst].op;
            op.regions().is_empty() && !matches!(op, Op::Call { .. } | Op::Native { .. } | Op::Update { .. })
        });
        seen.extend(needed);
        cheap
    })
}

/// The instructions of a body that a value needs, in their order.
fn slice(func: &Func, body: Region, value: Value) -> Vec<Inst> {
    let mut needed = HashSet::from([value]);
    let mut insts = Vec::new();
    for &inst in func.regions[body].insts.iter().rev() {
        let data = &func.insts[inst];
        if data.results.iter().any(|v| needed.contains(v)) {
            data.op.for_each_operand(|v| {
                needed.insert(v);
            });
            needed.extend(data.op.regions().into_iter().flat_map(|nested| free_values(func, nested)));
            insts.push(inst);
        }
    }
    insts.reverse();
    insts
}

/// A partition with a copy of what one operator needs.
fn of_operator(func: &mut Func, part: &Part, k: usize) -> Part {
    let data = func.regions[part.body].clone();
    let mut copier = Copier::within(func, part.body);
    let params: Vec<Value> = data
        .params
        .iter()
        .map(|v| {
            let ty = func.ty(*v).clone();
            let new = func.new_value(ty);
            copier.values.insert(*v, new);
            new
        })
        .collect();
    let needed = slice(func, part.body, data.yields[k]);
    let insts = needed.into_iter().map(|inst| copier.inst(func, inst)).collect();
    let yields = vec![copier.value(data.yields[k])];
    Part { generator: part.generator.clone(), body: func.regions.push(RegionData { params, insts, yields }) }
}
