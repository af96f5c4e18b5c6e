//! Instances of functions that dispatch never comes to, as more special ones take all of their arguments.

use super::Look;
use crate::Core;
use crate::ir::{ElemTy, Fun, Param};
use crate::modules::ModId;
use crate::overloads::{DispatchShape, dispatch_shape};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;

/// Combinations of arguments that are looked at; a function of more parameters of any rank is left alone.
const MOST_CASES: usize = 256;

pub(super) fn unreached(core: &Core<'_>, id: ModId, look: &mut Look<'_>) {
    if !look.is_on(Code::UnreachedOverload) {
        return;
    }
    let module = core.module(id);
    for def in &module.functions {
        let Some(Some(fun)) = core.functions.get(def) else { continue };
        let fun = &core.program.funs[fun.index()];
        let name = core.def_span(*def);
        let Some(entry) = module.own.get(&fun.name) else { continue };
        if entry.functions.len() < 2 || !look.is_written(name, &fun.name) {
            continue;
        }
        let others = entry.functions.iter().filter(|other| *other != def);
        let others: Vec<(&Fun, Span)> = others
            .filter_map(|other| core.functions.get(other).copied().flatten().map(|id| (id, core.def_span(*other))))
            .map(|(id, span)| (&core.program.funs[id.index()], span))
            .filter(|(other, _)| is_special(other, fun))
            .collect();
        if let Some(takers) = taken(fun, &others) {
            let mut report =
                Diagnostic::warning(Code::UnreachedOverload, format!("no call reaches this `{}`", fun.name))
                    .at(name, "others take all of its arguments");
            for span in takers {
                report = report.with_label(span, "a more special one");
            }
            look.push(report);
        }
    }
}

/// Whether `other` is dispatched like `fun`, and each of its parameters fits into that of `fun`.
fn is_special(other: &Fun, fun: &Fun) -> bool {
    let is_fixed = |fun: &Fun| fun.families.is_empty() && !fun.variadic_params && !fun.variadic_results;
    let narrower = |(a, b): (&Param, &Param)| a.ty.elem == b.ty.elem && covers(&shape(b), &shape(a));
    is_fixed(other)
        && is_fixed(fun)
        && other.params.len() == fun.params.len()
        && other.results.len() == fun.results.len()
        && other.params.iter().zip(&fun.params).all(narrower)
}

fn shape(param: &Param) -> DispatchShape {
    dispatch_shape(&param.ty.dims)
}

/// Whether every array that `narrow` takes is taken by `wide`.
fn covers(wide: &DispatchShape, narrow: &DispatchShape) -> bool {
    use DispatchShape::{Any, Known, Nonscalar, Rank};
    match (wide, narrow) {
        (Any, _) => true,
        (Nonscalar, Nonscalar) => true,
        (Nonscalar, Rank(rank)) => *rank > 0,
        (Nonscalar, Known(shape)) => !shape.is_empty(),
        (Rank(rank), Rank(other)) => rank == other,
        (Rank(rank), Known(shape)) => *rank == shape.len(),
        (Known(shape), Known(other)) => shape == other,
        (Known(shape), Rank(0)) => shape.is_empty(),
        _ => false,
    }
}

/// The others that take all arguments of a function between them; nothing if something is left for it.
fn taken(fun: &Fun, others: &[(&Fun, Span)]) -> Option<Vec<Span>> {
    // An array of any rank is a scalar or is not.
    let halves = |param: &Param| match (param.ty.elem, shape(param)) {
        (ElemTy::Family(_), _) => Vec::new(),
        (_, DispatchShape::Any) => vec![DispatchShape::Known(Vec::new()), DispatchShape::Nonscalar],
        (_, one) => vec![one],
    };
    let mut cases: Vec<Vec<DispatchShape>> = vec![Vec::new()];
    for param in &fun.params {
        let halves = halves(param);
        cases = cases
            .iter()
            .flat_map(|case| halves.iter().map(|half| [&case[..], std::slice::from_ref(half)].concat()))
            .collect();
        if cases.len() > MOST_CASES {
            return None;
        }
    }
    let mut takers = Vec::new();
    for case in &cases {
        let takes =
            |other: &&(&Fun, Span)| other.0.params.iter().zip(case).all(|(param, part)| covers(&shape(param), part));
        let (_, span) = others.iter().find(takes)?;
        if !takers.contains(span) {
            takers.push(*span);
        }
    }
    (!takers.is_empty() && !fun.params.is_empty()).then_some(takers)
}
