//! Derivatives become code.
//!
//! ```text
//!    %y, %dx = derive reverse (%p = %x) seeds (%s) { %v = mul %p, %p  yield %v }
//! => %v = mul %x, %x  %2 = add %x, %x  %dx = mul %s, %2
//! ```
//!
//! Forward mode doubles operations in place. Reverse mode goes through the region from its end: adjoints are symbolic sums of terms that leave the bodies
//! of loops with the code that they need, and become with-loops over the array's own indices, for which indices are inverted.
//! Inner derivatives go first, so that an outer one sees ordinary code.
//!
//! Before: anything. After: no derivative, and no `detach`.
//! Calls of functions that have a rule of this mode get its code; functions that call themselves, or run again, get functions that derive them. After: no rule.
//! Refuses, as an error at the place: values of C functions.
//!
//! Worth: examples/mnist/derived (does not run without it).

mod activity;
mod adjoint;
mod calls;
mod cases;
mod cells;
mod folds;
mod forms;
mod forward;
mod gather;
mod invert;
mod keep;
mod loops;
mod plan;
mod replay;
mod reverse;
mod rows;
mod scalar;
mod segments;
mod sequential;
mod settled;
mod shared;
mod state;
mod with;

use crate::edit::{Renames, insts_where, replace_inst, substitute};
use crate::loops::normalize::bounds;
use crate::pass::{Context, Pass, Run};
use crate::scalar::inline::{Inliner, inline_calls, remove_uncalled};
use adjoint::{Adjoints, Term};
use calls::Calls;
use forward::Forward;
use ravel_source::Span;
use ravel_types::HashMap;
use ravel_wir::{Func, FuncId, Inst, Mode, Module, Op, Region, Rules, Value};
use reverse::Reverse;
use state::{Result, State};

pub const PASS: Pass = Pass {
    name: "differentiate",
    summary: "replace derivatives by code that computes them",
    run: Run::Module(differentiate),
};

fn mode_of(func: &Func, inst: Inst) -> Mode {
    match func.insts[inst].op {
        Op::Derive { mode, .. } => mode,
        _ => Mode::Reverse,
    }
}

fn is_derive(op: &Op) -> bool {
    matches!(op, Op::Derive { .. })
}

pub fn differentiate(module: &mut Module, cx: &mut Context) -> bool {
    segments::cut_loops(module);
    let mut inliner = Inliner::new(module);
    let mut calls = Calls::new(module, &inliner);
    let mut changed = false;
    let mut next = 0;
    while next < module.funcs.len() {
        let id = FuncId::from_u32(next as u32);
        let mut func = std::mem::replace(&mut module.funcs[id], Func::new("", Span::NONE));
        // The last one that is found has no other one inside.
        while let Some((home, inst)) = insts_where(&func, func.body, is_derive).pop() {
            changed = true;
            // Bodies that come in may have derivatives of their own.
            let mode = mode_of(&func, inst);
            if inliner.inline_within(&mut func, &module.funcs, inst, mode) {
                continue;
            }
            let lowered = lower(&mut func, &mut calls, home, inst);
            calls.told().into_iter().for_each(|(span, what)| cx.applied(span, what));
            if let Err(refusal) = lowered {
                module.funcs[id] = func;
                cx.fail(refusal.span, refusal.why);
                return true;
            }
        }
        changed |= attach(&mut func);
        module.funcs[id] = func;
        calls.make(module);
        next += 1;
    }
    // Nobody asks for derivatives any more, so that functions with rules are like others.
    let ruled = module.funcs.values_mut().filter(|func| !func.rules.is_empty());
    let ruled = ruled.map(|func| func.rules = Rules::default()).count() > 0;
    if ruled {
        inline_calls(module, cx);
    } else if changed {
        remove_uncalled(module);
        cx.look_at(module);
    }
    changed || ruled
}

/// Takes `detach` away: derivatives have been made.
fn attach(func: &mut Func) -> bool {
    let detached = insts_where(func, func.body, |op| matches!(op, Op::Detach(_)));
    let mut renames = Renames::default();
    for (home, inst) in &detached {
        if let Op::Detach(v) = func.insts[*inst].op {
            renames.set(func.insts[*inst].results[0], v);
            replace_inst(func, *home, *inst, []);
        }
    }
    renames.apply(func);
    !detached.is_empty()
}

/// Puts the code of a derivative in its place.
fn lower(func: &mut Func, calls: &mut Calls, home: Region, inst: Inst) -> Result<()> {
    let Op::Derive { mode, args, seeds, body } = func.insts[inst].op.clone() else { return Ok(()) };
    let params = func.regions[body].params.clone();
    // How often a loop runs, and what it keeps, is known in front of one with a strict bound.
    bounds::strict(func);
    let mut state = State::new(func, calls);
    state.spread(body);
    state.put_in_order(body)?;
    if mode == Mode::Reverse {
        state.find_settled(body);
        state.take_rows(body);
    }
    state.settle(body);
    let yields = state.func.regions[body].yields.clone();
    let reals: Vec<Value> = yields.iter().copied().filter(|v| state.func.ty(*v).elem.is_float()).collect();
    let derivatives = match mode {
        Mode::Forward => {
            let tangents: HashMap<Value, Value> = params.iter().copied().zip(seeds).collect();
            let mut forward = Forward { state: &mut state, tangents };
            forward.region(body)?;
            reals.iter().map(|v| forward.or_zero(body, *v)).collect()
        }
        Mode::Reverse => backward(state, body, &params, &reals, &seeds)?,
    };
    // The variables are what they begin as, and the region's code stands where the derivative did.
    let data = func.regions[body].clone();
    let renames: Renames = params.into_iter().zip(args).collect();
    renames.apply_region(func, body);
    let values = yields.iter().chain(&derivatives).map(|v| renames.get(*v)).collect::<Vec<_>>();
    substitute(func, home, inst, data.insts, values);
    Ok(())
}

/// The cotangents of the parameters of a region, by code at its end.
fn backward(state: State, body: Region, params: &[Value], reals: &[Value], seeds: &[Value]) -> Result<Vec<Value>> {
    let mut reverse = Reverse::new(state);
    let mut adjoints = Adjoints::default();
    for (v, seed) in reals.iter().zip(seeds) {
        // Nothing comes of a cotangent that is zero.
        if reverse.state.is_zero(*seed) {
            continue;
        }
        reverse.contribute(&mut adjoints, *v, Term::here(*seed));
    }
    let insts = reverse.state.func.regions[body].insts.clone();
    reverse.sweep(body, &insts, &mut adjoints)?;
    params
        .iter()
        .map(|p| {
            let terms = adjoints.take(*p);
            reverse.value(body, *p, terms)
        })
        .collect()
}
