//! Functions that nothing calls, and parameters that nothing reads.

use super::Look;
use super::names::{Used, inner, statements};
use crate::derive::rules::rules_of;
use crate::modules::Module;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_syntax::ast::*;
use ravel_types::{HashMap, HashSet};

/// Names that a function's head gives a value: parameters, and those of patterns.
pub(super) fn heads(function: &Function) -> HashSet<&str> {
    let mut names: HashSet<&str> = function.params.iter().map(|param| &*param.name.name).collect();
    for dim in function.params.iter().flat_map(|param| param.ty.dims.iter().flatten()) {
        match &dim.kind {
            DimKind::Name(name) => {
                names.insert(&name.name);
            }
            DimKind::Axes { count, shape } => {
                names.insert(&shape.name);
                if let AxisCount::Name { name, .. } = count {
                    names.insert(&name.name);
                }
            }
            DimKind::Num(_) | DimKind::Dot | DimKind::Plus | DimKind::Star => {}
        }
    }
    names
}

/// Functions that neither `main`, nor what the module offers, nor an object comes to. Overloads of a name go together.
pub(super) fn unused(module: &Module, look: &mut Look<'_>) {
    if !look.is_on(Code::UnusedFunction) {
        return;
    }
    let mut names_in: HashMap<&str, Used<'_>> = HashMap::default();
    let mut waiting: Vec<&str> = vec!["main"];
    for definition in &module.file.definitions {
        match definition {
            Definition::Function(function) => {
                let name = &*function.name.name;
                let used = names_in.entry(name).or_default();
                used.function(function);
                // Derivatives call their rules.
                used.names.extend(rules_of(function));
                let def_offered = [&module.exported, &module.provided]
                    .iter()
                    .any(|table| table.get(name).is_some_and(|entry| !entry.functions.is_empty()));
                if def_offered || function.attributes.specialize {
                    waiting.push(name);
                }
            }
            other => {
                let mut used = Used::default();
                used.definition(other);
                waiting.extend(used.names);
            }
        }
    }
    let mut reached: HashSet<&str> = HashSet::default();
    while let Some(name) = waiting.pop() {
        if reached.insert(name)
            && let Some(used) = names_in.get(name)
        {
            waiting.extend(&used.names);
        }
    }
    let mut told = HashSet::default();
    for definition in &module.file.definitions {
        let Definition::Function(function) = definition else { continue };
        let name = &function.name;
        let is_own = function.body.is_some() && look.has_name(name) && !name.name.starts_with('_');
        if is_own && !reached.contains(&*name.name) && told.insert(&*name.name) {
            let title = format!("function `{}` is never called", name.name);
            look.push(Diagnostic::warning(Code::UnusedFunction, title).at(name.span, "defined here"));
        }
    }
}

pub(super) fn unused_parameters(function: &Function, look: &mut Look<'_>) {
    let Some(body) = &function.body else { return };
    if !look.is_on(Code::UnusedParameter) {
        return;
    }
    // What hides a parameter counts as a use of it; the lint of shadows speaks of that.
    let mut used: HashSet<&str> = HashSet::default();
    function.conditions.iter().for_each(|condition| names_below(condition, &mut used));
    statements(&body.stmts, &mut |expr| names_below(expr, &mut used));
    body.ret.iter().flat_map(|ret| &ret.values).for_each(|value| names_below(value, &mut used));
    crate::visit::assigned(&body.stmts, &mut |name| {
        used.insert(&name.name);
    });
    for param in &function.params {
        let name = &param.name;
        if !name.name.starts_with('_') && !param.by_ref && !used.contains(&*name.name) && look.has_name(name) {
            let title = format!("parameter `{}` is never used", name.name);
            let report = Diagnostic::warning(Code::UnusedParameter, title).at(name.span, "declared here");
            let title = format!("`_{}` says that this is meant", name.name);
            look.push(report.with_safe_edit(title, name.span, format!("_{}", name.name)));
        }
    }
}

fn names_below<'f>(expr: &'f Expr, used: &mut HashSet<&'f str>) {
    if let ExprKind::Name(name) = &expr.kind {
        used.insert(&name.name);
    }
    inner(expr, &mut |child| names_below(child, used));
}
