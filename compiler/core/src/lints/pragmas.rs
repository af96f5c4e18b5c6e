//! Pragmas without effect: of kinds that neither Ravel nor other SaC compilers know, and of functions where there is none in front.

use super::Look;
use super::{each_expr, names::each_stmt};
use ravel_diagnostics::{Code, Diagnostic, did_you_mean};
use ravel_syntax::PRAGMAS;
use ravel_syntax::ast::*;

/// Kinds that stand behind the function that they say something of.
const OF_FUNCTIONS: [&str; 6] = ["associative", "checkpoint", "derivative", "fieldwise", "recompute", "tangent"];

pub(super) fn unknown(file: &File, look: &mut Look<'_>) {
    if !look.is_on(Code::UnknownPragma) {
        return;
    }
    if let Header::Class(class) = &file.header {
        class.pragmas.iter().for_each(|pragma| one(pragma, look));
    }
    for definition in &file.definitions {
        match definition {
            Definition::ExternalTypedef(def) => def.pragmas.iter().for_each(|pragma| one(pragma, look)),
            Definition::Object(def) => def.pragmas.iter().for_each(|pragma| one(pragma, look)),
            Definition::Pragma(pragma) => {
                of_nothing(pragma, look);
                one(pragma, look);
            }
            Definition::Function(function) => in_function(function, look),
            Definition::Load(_)
            | Definition::Offer(_)
            | Definition::Typedef(_)
            | Definition::Struct(_)
            | Definition::Family(_) => {}
        }
    }
}

fn in_function(function: &Function, look: &mut Look<'_>) {
    function.pragmas.iter().for_each(|pragma| one(pragma, look));
    let mut loops: Vec<&With> = Vec::new();
    each_expr(function, &mut |expr| {
        if let ExprKind::With(with) = &expr.kind {
            loops.push(with);
        }
    });
    if let Some(body) = &function.body {
        each_stmt(&body.stmts, &mut |stmt| {
            if let StmtKind::With(with) = &stmt.kind {
                loops.push(with);
            }
        });
    }
    for with in loops {
        let parts = with.parts.iter().filter_map(|part| part.pragma.as_ref());
        with.pragma.iter().chain(parts).for_each(|pragma| one(pragma, look));
    }
}

fn of_nothing(pragma: &Pragma, look: &mut Look<'_>) {
    let name = &pragma.name;
    if OF_FUNCTIONS.contains(&&*name.name) && look.has_name(name) {
        let title = format!("there is no function in front of `#pragma {}`", name.name);
        let report = Diagnostic::warning(Code::UnknownPragma, title).at(name.span, "it has no effect");
        look.push(report.with_note("a pragma of a function stands behind the function"));
    }
}

fn one(pragma: &Pragma, look: &mut Look<'_>) {
    let name = &pragma.name;
    if PRAGMAS.contains(&&*name.name) || !look.has_name(name) {
        return;
    }
    let report = Diagnostic::warning(Code::UnknownPragma, format!("there is no pragma `{}`", name.name))
        .at(name.span, "it has no effect");
    look.push(match did_you_mean(&name.name, PRAGMAS) {
        Some(close) => report.with_safe_edit(format!("did you mean `{close}`?"), name.span, close),
        None => report,
    });
}
