//! The words of errors in derivatives.

use super::{Asked, Parts, print_callee};
use crate::diagnostics::count;
use crate::ir::Form;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_syntax::ast::{self, QName};
use ravel_syntax::print_expr;

/// What stands where a variable should.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Other {
    Element,
    Global,
    Literal,
    List,
    Value,
}

impl Other {
    pub(super) fn of(expr: &ast::Expr) -> Other {
        match &expr.kind {
            ast::ExprKind::Select { .. } => Other::Element,
            ast::ExprKind::Number(_)
            | ast::ExprKind::Bool(_)
            | ast::ExprKind::Char { .. }
            | ast::ExprKind::String(_) => Other::Literal,
            ast::ExprKind::Array(_) | ast::ExprKind::EmptyTyped(_) => Other::List,
            _ => Other::Value,
        }
    }
}

/// A name of the module that a function of another module has as well; `here` is that of the file.
pub(super) fn own_function(name: &QName, other: &str, here: &str) -> Diagnostic {
    let form = &name.name;
    let can_stand = other.chars().all(|c| c.is_alphanumeric() || c == '_');
    let report = match other == here {
        true => Diagnostic::error(
            Code::AmbiguousName,
            format!("`{form}` is a form of AutoDiff and a function of this file"),
        ),
        false => {
            Diagnostic::error(Code::AmbiguousName, format!("`{form}` is a form of AutoDiff and a function of {other}"))
        }
    };
    let report = report.at(name.span, "nothing tells which one is meant");
    let report = match can_stand {
        true => report.with_note(format!("the function is `{other}::{form}`")),
        false => report.with_note("the function needs another name where the form is loaded by `use`"),
    };
    report.with_edit(format!("`AutoDiff::{form}`"), name.span, format!("AutoDiff::{form}"))
}

/// A form that names nothing to derive by.
pub(super) fn no_variables(form: &str, call: &ast::Call) -> Diagnostic {
    let value = call.args.first().map_or("e".to_string(), print_expr);
    Diagnostic::error(Code::DerivativeCounts, format!("`{form}` names no variable to derive by"))
        .at(call.span, "the variables stand behind the expression")
        .with_help(format!("as in `{form}({value}, x)`, where `x` is a variable that the expression mentions"))
}

/// Something that is not a variable and not a field of a record in one.
pub(super) fn no_variable(parts: &Parts<'_>, call: &ast::Call, expr: &ast::Expr, other: Other) -> Diagnostic {
    let text = print_expr(expr);
    let what = match other {
        Other::Element => "an element",
        Other::Global => "a global object",
        Other::Literal => "a constant",
        Other::List => "an array",
        Other::Value => "an expression",
    };
    let title = format!("`{}` derives by variables, and `{text}` is {what}", parts.name());
    let report = Diagnostic::error(Code::DerivedByOther, title).at(expr.span, "no variable");
    let body = print_expr(parts.body);
    match (other, &expr.kind) {
        (Other::Element, ast::ExprKind::Select { array, .. }) => {
            let array = print_expr(array);
            let index = text.strip_prefix(&array).unwrap_or_default();
            let alone = parts.wrt.len() == 1 && parts.form == Form::Grad && !parts.with_value;
            if alone {
                let whole = format!("{}({body}, {array}){index}", print_callee(call));
                report.with_edit(format!("`{whole}`"), call.span, whole)
            } else {
                report.with_help(format!("derive by `{array}` and select `{index}` from its gradient"))
            }
        }
        (Other::List, _) => report.with_help("a list of variables stands alone behind the expression, as in `[x, y]`"),
        (Other::Literal, _) => {
            report.with_help(format!("give it a name, as in `x = {text};`, and mention `x` in the expression"))
        }
        (Other::Global, _) => {
            let new = if text == "x" { "y" } else { "x" };
            report.with_help(format!(
                "`{new} = {text};` makes a variable of its value: mention `{new}` in the expression"
            ))
        }
        _ => report.with_help(format!("`v = {text};` gives it a name: mention `v` in the expression and derive by it")),
    }
}

pub(super) fn twice(name: &str, at: Span, first: Span) -> Diagnostic {
    Diagnostic::error(Code::DerivedByOther, format!("the derivative is taken by `{name}` twice"))
        .at(at, "again here")
        .with_label(first, "first here")
}

/// `from` is a variable of the expression that was computed from this one, with the text of its value.
pub(super) fn not_mentioned(
    name: &str,
    at: Span,
    call: &ast::Call,
    body: String,
    from: Option<(String, String)>,
) -> Diagnostic {
    let report = Diagnostic::error(Code::NotMentioned, format!("the expression does not mention `{name}`"))
        .at(at, "derived by this")
        .with_note("a derivative is one of the expression as it stands: what else it reads is constant");
    let Some(argument) = call.args.first() else { return report };
    match from {
        Some((variable, value)) if variable == body => {
            let title = format!("`{value}` in the place of `{variable}`");
            report.with_label(argument.span, format!("`{variable}` was computed before")).with_edit(
                title,
                argument.span,
                value,
            )
        }
        Some((variable, value)) => {
            report.with_help(format!("`{variable}` was computed from it before: write `{value}` in its place"))
        }
        None => report.with_help(format!("write what is computed from `{name}` into the expression")),
    }
}

pub(super) fn seed_count(parts: &Parts<'_>, at: Span) -> Diagnostic {
    let (form, variables, seeds) = (parts.name(), parts.wrt.len(), parts.seeds.len());
    let (title, shown) = match parts.form {
        Form::Jvp => (
            format!("`{form}` by {} takes {}, not {seeds}", count(variables, "variable"), count(variables, "tangent")),
            format!("`{form}(e, [x, y], tx, ty)`"),
        ),
        Form::Vjp => (
            format!("`{form}` takes a cotangent for each real result of the expression, and none is given"),
            format!("`{form}(e, [x, y], s)`"),
        ),
        Form::Grad | Form::Check => (
            format!("`{form}` takes nothing behind a list of variables"),
            format!("`{form}(e, [x, y])`, or `{form}(e, x, y)`"),
        ),
    };
    Diagnostic::error(Code::DerivativeCounts, title).at(at, "here").with_help(format!("as in {shown}"))
}

/// A call of which no function has as many results as the form needs; `counted` are the numbers of all and of real results.
pub(super) fn no_such_results(parts: &Parts<'_>, asked: Asked, callee: &str, counted: &[(usize, usize)]) -> Diagnostic {
    let given: Vec<String> = counted
        .iter()
        .map(|(all, real)| match all == real {
            true => count(*all, "result"),
            false => format!("{}, {real} of them real", count(*all, "result")),
        })
        .collect();
    let form = parts.name();
    let wanted = match asked {
        Asked::All(n) if parts.form == Form::Check => format!("{} of its expression", count(n, "result")),
        Asked::All(n) => format!("{} of its expression besides the gradients", count(n, "result")),
        Asked::Reals(n) => format!("{} of its expression", count(n, "real result")),
        Asked::Twice(n) => format!("{n} results and tangents of its expression"),
    };
    let title = format!("`{form}` needs {wanted}, and `{callee}` gives {}", given.join(" or "));
    let report = Diagnostic::error(Code::DerivativeCounts, title).at(parts.body.span, "this call");
    match (parts.form, counted) {
        (Form::Vjp, _) => report.with_note("a cotangent for each real result stands behind the variables"),
        (Form::Grad, _) if !parts.with_value => {
            report.with_help("`vjp` takes a weight for each real result; `stop_gradient` makes a result constant")
        }
        _ => report,
    }
}

pub(super) fn result_count(form: &str, variables: usize, wanted: usize, at: Span) -> Diagnostic {
    let title = match form {
        "check_grad" => format!("`check_grad` gives 1 result, {wanted} wanted here"),
        "jvp" => "`jvp` gives a tangent for each real result".to_string(),
        "value_jvp" => "`value_jvp` gives the results of the expression and then the tangents".to_string(),
        "grad" | "vjp" => {
            format!(
                "`{form}` by {} gives {}, {wanted} wanted here",
                count(variables, "variable"),
                count(variables, "gradient")
            )
        }
        _ => format!(
            "`{form}` by {} gives the results of the expression and then {}, {wanted} wanted here",
            count(variables, "variable"),
            count(variables, "gradient")
        ),
    };
    let report = Diagnostic::error(Code::DerivativeCounts, title).at(at, "this derivative");
    match form {
        "value_grad" | "value_vjp" if wanted <= variables => {
            let gradients: Vec<String> = (1..=variables).map(|k| format!("d{k}")).collect();
            report.with_help(format!("as in `value, {} = {form}(...);`", gradients.join(", ")))
        }
        "value_jvp" if wanted < 2 => report.with_help("as in `value, t = value_jvp(...);`"),
        _ => report,
    }
}

/// An expression with one value of which several are asked for.
pub(super) fn one_value(form: &str, results: usize, at: Span) -> Diagnostic {
    let title = format!("`{form}` is asked for {} of the expression, which has one value", count(results, "result"));
    Diagnostic::error(Code::DerivativeCounts, title).at(at, "one value")
}

pub(super) fn changes_variables(form: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::DerivativeCounts, format!("the expression of `{form}` changes a variable"))
        .at(at, "this call gives an argument a new value")
        .with_help("call it before, and take the derivative of what depends on its results")
}
