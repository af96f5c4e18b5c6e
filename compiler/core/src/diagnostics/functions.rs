//! Words of errors about definitions of functions.

use crate::diagnostics::count;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;

pub fn duplicate(kind: &str, name: &str, at: Span, before: Span) -> Diagnostic {
    Diagnostic::error(Code::DefinedTwice, format!("{kind} `{name}` is defined twice"))
        .at(at, "again here")
        .with_label(before, "first here")
}

pub fn duplicate_function(name: &str, at: Span, before: Span) -> Diagnostic {
    Diagnostic::error(
        Code::DuplicateInstance,
        format!("function `{name}` is defined twice for the same argument types"),
    )
    .at(at, "again here")
    .with_label(before, "first here")
    .with_note("overloads must differ in element type or in how much of a shape is fixed")
}

pub fn hides_instance(name: &str, module: &str, at: Span) -> Diagnostic {
    Diagnostic::warning(Code::HiddenDefinition, format!("this `{name}` hides the one of module `{module}`"))
        .at(at, "same argument types")
        .with_help(format!("load it with `use {module}: all except {{ {name} }};` to say that this is meant"))
}

pub fn reference_argument(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        Code::ReferenceArgument,
        format!("`{name}` changes this argument, so it must be a variable or a global object"),
    )
    .at(at, "a value without a name")
}

pub fn duplicate_parameter(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::DuplicateParameter, format!("two parameters are called `{name}`")).at(at, "again here")
}

/// A body that ends without `return`; `value` is the variable that its last statement assigns.
pub fn missing_return(name: &str, declared: usize, at: Span, end: Span, value: Option<&str>) -> Diagnostic {
    let title = format!("`{name}` declares {} and ends without `return`", count(declared, "result"));
    let report = Diagnostic::error(Code::ReturnCount, title)
        .at(end, "`return` is missing in front of this")
        .with_label(at, "declared here");
    match value {
        Some(value) => {
            let place = Span { end: end.start, ..end };
            report.with_edit(format!("`return {value};`"), place, format!("    return {value};\n"))
        }
        None if name == "main" => {
            let place = Span { end: end.start, ..end };
            report.with_edit("`return 0;` says that all went well", place, "    return 0;\n")
        }
        None => report,
    }
}

pub fn return_count(name: &str, declared: usize, given: usize, at: Span) -> Diagnostic {
    let report = Diagnostic::error(Code::ReturnCount, format!("`{name}` declares {}", count(declared, "result")));
    match given {
        0 => report.at(at, "nothing is returned"),
        n if declared == 0 => report.at(at, format!("{} returned", count(n, "value"))).with_help(
            "the type of the result stands in front of the name, in place of `void`; else drop the `return`",
        ),
        n => report.at(at, format!("{} returned", count(n, "value"))),
    }
}

pub fn target_count(targets: usize, values: usize, at: Span) -> Diagnostic {
    Diagnostic::error(
        Code::TargetCount,
        format!("{} on the left of `=`, {} on the right", targets, count(values, "value")),
    )
    .at(at, "does not match")
}

pub fn main_signature(at: Span, gives_int: bool) -> Diagnostic {
    let report = Diagnostic::error(Code::MainSignature, "`main` must be `int main()`");
    match gives_int {
        true => report
            .at(at, "this one has parameters")
            .with_help("arguments of the command line come from module CommandLine"),
        false => report
            .at(at, "this one does not give one `int`")
            .with_help("the result is the exit status of the program; 0 means success"),
    }
}

pub fn specialize_mismatch(name: &str, at: Span, why: &str) -> Diagnostic {
    Diagnostic::warning(Code::NothingToSpecialize, format!("no instance of `{name}` to specialize")).at(at, why)
}

pub fn undeclared_variadic(name: &str, function: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::UndeclaredVariadic, format!("the type of `{name}` must be declared"))
        .at(at, format!("`{function}` can give a value of any type here"))
        .with_help(format!("declare it at the start of the function, as in `int {name};`"))
}

pub fn local_object(name: &str, at: Span) -> Diagnostic {
    Diagnostic::warning(
        Code::HiddenDefinition,
        format!("this makes a variable `{name}`; the global object keeps its value"),
    )
    .at(at, "assigned here")
}
