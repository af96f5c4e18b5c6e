//! Words of errors about modules, files and what they offer.

use crate::diagnostics::count;
use ravel_diagnostics::{Code, Diagnostic, did_you_mean};
use ravel_source::Span;
use ravel_syntax::{ast, print_expr};

pub fn unknown_module(name: &str, at: Span, known: &[String]) -> Diagnostic {
    let report =
        Diagnostic::error(Code::UnknownModule, format!("module `{name}` not found")).at(at, "no file of this name");
    // What the original compiler loads into every program.
    if name == "sacprelude" || name.starts_with("sacprelude_") {
        return report
            .with_note("it is the prelude of the compiler sac2c: its functions are built in here, or in the library")
            .with_help("leave the line out, and `use Array: all;` for functions on arrays");
    }
    let other_case = known.iter().find(|known| known.eq_ignore_ascii_case(name)).map(String::as_str);
    match other_case.or_else(|| did_you_mean(name, known.iter().map(String::as_str))) {
        Some(close) => report.with_name_meant(at, name, close),
        None => report.with_help(format!(
            "a module `{name}` is a file {name}.sac beside this one, in a folder given by -I, or in the library"
        )),
    }
}

/// The module is in the library of another edition.
pub fn module_of_edition(name: &str, at: Span, edition: &str) -> Diagnostic {
    Diagnostic::error(Code::UnknownModule, format!("module `{name}` not found"))
        .at(at, "not in this library")
        .with_help(format!(
            "the library of {edition} has it: add the line `//! stdlib {edition}` at the top, or `--stdlib {edition}`"
        ))
}

pub fn unreadable_module(name: &str, file: &str, why: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::UnreadableModule, format!("cannot read module `{name}`"))
        .at(at, "needed here")
        .with_note(format!("{file}: {why}"))
}

/// `found` is what the header says, if there is one.
pub fn wrong_header(name: &str, file: &str, found: Option<&str>, at: Span) -> Diagnostic {
    let report =
        Diagnostic::error(Code::WrongModuleHeader, format!("{file} is not a module `{name}`")).at(at, "loaded here");
    match found {
        Some(found) => report.with_help(format!("its header says `{found}`; file and module must have the same name")),
        None => report.with_help(format!("start the file with `module {name};` and say what it exports")),
    }
}

/// `chain` lists the mentions that lead from a module back to itself.
pub fn module_cycle(chain: &[(String, Span)]) -> Diagnostic {
    let names: Vec<&str> = chain.iter().map(|(name, _)| name.as_str()).collect();
    let first = names.first().copied().unwrap_or_default();
    let mut report =
        Diagnostic::error(Code::ModuleCycle, format!("modules need each other: {} -> {first}", names.join(" -> ")));
    for (i, (name, span)) in chain.iter().enumerate() {
        let needed = names[(i + 1) % names.len()];
        let text = format!("`{name}` needs `{needed}` here");
        report = if i + 1 == chain.len() { report.at(*span, text) } else { report.with_label(*span, text) };
    }
    report.with_help("move what both need into a third module")
}

pub fn own_module(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::OwnModule, format!("module `{name}` loads itself"))
        .at(at, "this is the module's own name")
        .with_help("a file of another name beside this one may hold a module of this name, but none does")
}

pub fn empty_struct(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::EmptyStruct, format!("struct `{name}` has no fields"))
        .at(at, "a record needs at least one")
        .with_help("struct Name { int field; };")
}

pub fn main_in_module(at: Span) -> Diagnostic {
    Diagnostic::error(Code::MainInModule, "a module has no `main`")
        .at(at, "defined here")
        .with_help("a program is a file without `module` or `class`; put `main` there and `use` this module")
}

/// Instances that one call may reach and that give different element types.
pub fn result_types(name: &str, at: Span, before: Span, types: (&str, &str)) -> Diagnostic {
    Diagnostic::error(
        Code::ResultTypesDiffer,
        format!("instances of `{name}` for the same arguments give different types"),
    )
    .at(at, format!("gives {}", types.0))
    .with_label(before, format!("gives {}", types.1))
    .with_note("an argument may fit both, and the type of a call must not depend on the shapes of its arguments")
    .with_help("give one of them another name")
}

pub fn reference_on_value(name: &str, ty: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::ReferenceOnValue, format!("`{name}` cannot be a reference parameter"))
        .at(at, format!("{ty} is no class"))
        .with_note("only values of a class have an identity that a function can change")
        .with_help("drop the `&`, return the new value and assign it: x = f(x);")
}

/// A call statement that would drop what the function gives. `results` counts that.
pub fn ignored_result(name: &str, results: usize, at: Span, args: &[ast::Expr]) -> Diagnostic {
    let names = vec!["_"; results].join(", ");
    let report = Diagnostic::error(
        Code::IgnoredResult,
        format!("`{name}` gives {}, and nothing takes it", count(results, "result")),
    )
    .at(at, "a statement calls functions without results");
    // No function changes its arguments: who calls one for its effect on a variable wants the new value.
    let variable = args.iter().find_map(|arg| match &arg.kind {
        ast::ExprKind::Name(variable) if results == 1 && variable.module.is_none() => Some(&variable.name),
        _ => None,
    });
    match variable {
        Some(variable) => {
            let args: Vec<String> = args.iter().map(print_expr).collect();
            report.with_note(format!("{names} = {name}(...); drops what it gives")).with_edit(
                format!("`{variable} = {name}({});`", args.join(", ")),
                Span { end: at.start, ..at },
                format!("{variable} = "),
            )
        }
        None => report.with_help(format!("{names} = {name}(...); drops what it gives")),
    }
}

/// A prototype without a function.
pub fn missing_body(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::BodyMismatch, format!("function `{name}` has no body"))
        .at(at, "declared here, defined nowhere in this file")
        .with_note("only `external` and `specialize` declarations stand without a definition")
}

pub fn deprecated_module(name: &str, text: &str, at: Span) -> Diagnostic {
    Diagnostic::warning(Code::DeprecatedModule, format!("module `{name}` is deprecated"))
        .at(at, "loaded here")
        .with_note(text)
}

/// Two files say that they are the module, and neither is named after it.
pub fn two_files(name: &str, file: &str, other: &str, at: Span) -> Diagnostic {
    Diagnostic::warning(Code::HiddenModule, format!("both {file} and {other} are a module `{name}`"))
        .at(at, format!("{file} is loaded"))
        .with_help(format!("name the one that is meant {name}.sac"))
}

pub fn hides_library(name: &str, file: &str, at: Span) -> Diagnostic {
    Diagnostic::warning(Code::HiddenModule, format!("{file} hides the library module `{name}`")).at(at, "loaded here")
}

/// Why a module does not offer a name.
pub enum NotOffered {
    Unknown,
    /// It has the name and keeps it to itself.
    Private,
    /// It has the name for `use` only.
    Provided,
}

/// A `use` or `import` list, or a qualified name, asks for something that the module does not offer.
pub fn not_offered(module: &str, name: &str, at: Span, why: NotOffered, offered: &[&str]) -> Diagnostic {
    let report = Diagnostic::error(Code::NotExported, format!("module `{module}` does not export `{name}`"))
        .at(at, "not offered");
    match (why, did_you_mean(name, offered.iter().copied())) {
        (NotOffered::Provided, _) => report.with_help(format!("it provides `{name}` for `use`, not for `import`")),
        (NotOffered::Private, _) => {
            report.with_help(format!("the module has a `{name}`; add `export {{ {name} }};` there"))
        }
        (NotOffered::Unknown, Some(close)) => report.with_name_meant(at, name, close),
        (NotOffered::Unknown, None) => report,
    }
}

/// A file qualifies a name with its own name and has no such definition.
pub fn not_defined(file: &str, name: &str, at: Span, program: bool, own: &[&str]) -> Diagnostic {
    let title = match program {
        true => format!("this program defines no `{name}`, and there is no module `{file}`"),
        false => format!("module `{file}` defines no `{name}`"),
    };
    let report = Diagnostic::error(Code::NotExported, title).at(at, format!("`{file}` is this file"));
    match did_you_mean(name, own.iter().copied()) {
        Some(close) => report.with_help(format!("did you mean `{file}::{close}`?")),
        None => report,
    }
}

/// An `export` or `provide` list names something that the file does not have.
pub fn nothing_to_export(name: &str, at: Span, own: &[&str]) -> Diagnostic {
    let report = Diagnostic::error(Code::NotExported, format!("there is no `{name}` to export"))
        .at(at, "neither defined nor imported in this file");
    match did_you_mean(name, own.iter().copied()) {
        Some(close) => report.with_name_meant(at, name, close),
        None => report,
    }
}
