//! The words of core's errors: one function per kind of mistake. Codes E0201 to E0250 are explained here.

use ravel_diagnostics::{Code, Diagnostic, Fix, did_you_mean};
use ravel_source::Span;
use ravel_syntax::{Axis, assigned_part, ast, elsewhere, elsewhere_value, print_expr};

// ------------------------------------------------------------------------------------------- modules

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

// --------------------------------------------------------------------------------------------- names

/// What to offer for an unknown name.
#[derive(Clone, Debug, Default)]
pub struct Suggestion {
    /// A visible name that is spelled almost the same.
    pub close: Option<String>,
    /// A module that exports the name itself.
    pub module: Option<String>,
    /// Another one that exports it for arrays.
    pub for_arrays: Option<String>,
}

impl Suggestion {
    fn help(self, report: Diagnostic, (name, at): (&str, Span)) -> Diagnostic {
        match (self.module, self.close) {
            (Some(module), _) => report.with_help(match self.for_arrays {
                Some(arrays) => format!("add `use {module}: all;`, or `use {arrays}: all;` for arrays"),
                None => format!("add `use {module}: all;`"),
            }),
            (None, Some(close)) => report.with_name_meant(at, name, &close),
            (None, None) => report,
        }
    }
}

pub fn unknown_function(name: &str, at: Span, suggestion: Suggestion) -> Diagnostic {
    let what = if name.starts_with(|c: char| c.is_alphabetic() || c == '_') { "function" } else { "operator" };
    if let Some(entry) = elsewhere(name).filter(|entry| !entry.is_here || suggestion.module.is_none()) {
        return Diagnostic::error(Code::UnknownFunction, format!("unknown {what} `{name}`"))
            .at(at, "not defined here")
            .with_help(entry.way);
    }
    let report =
        Diagnostic::error(Code::UnknownFunction, format!("unknown {what} `{name}`")).at(at, "not defined here");
    suggestion.help(report, (name, at))
}

/// Adds to the report of an unknown function what the call would be here, if words of other languages tell it.
pub fn with_way(report: &mut Diagnostic, call: &ast::Call) {
    let args: Vec<String> = call.args.iter().map(print_expr).collect();
    let entry = elsewhere(&call.callee.name).filter(|entry| report.help.as_deref() == Some(entry.way));
    if let Some(text) = entry.and_then(|entry| entry.filled(&args)) {
        let edits = vec![(call.span, text.clone())];
        report.notes.push(entry.map_or(String::new(), |entry| entry.way.to_string()));
        report.help = Some(format!("`{text}`"));
        report.fixes.push(Fix { title: format!("`{text}`"), safe: true, edits });
    }
}

/// Makes of the report of an unknown function, which is a variable, one of a selection.
pub fn with_brackets(report: &mut Diagnostic, call: &ast::Call) {
    if report.code != Code::UnknownFunction || call.args.is_empty() {
        return;
    }
    let args: Vec<String> = call.args.iter().map(print_expr).collect();
    let text = format!("{}[{}]", call.callee.name, args.join(", "));
    report.title = format!("`{}` is a variable, not a function", call.callee.name);
    report.notes.push("elements are selected by brackets, and counted from 0".to_string());
    report.help = Some(format!("`{text}`"));
    report.fixes = vec![Fix { title: format!("`{text}`"), safe: true, edits: vec![(call.span, text)] }];
}

/// Adds to the report of a call with an axis behind its array the call with the axis in front.
pub fn with_axis_first(report: &mut Diagnostic, call: &ast::Call) {
    let used = |help: &String| Some(help.strip_prefix("add `use ")?.strip_suffix(": all;`")?.to_string());
    let Some(module) = report.help.as_ref().and_then(used) else { return };
    let is_axis = |arg: &ast::Expr| {
        let text = print_expr(arg);
        text.strip_prefix('-').unwrap_or(&text).chars().all(|c| c.is_ascii_digit())
            || text.starts_with('[') && text.chars().all(|c| c.is_ascii_digit() || "[], ".contains(c))
    };
    let (Code::WrongCounts, [array, axis]) = (report.code, call.args.as_slice()) else { return };
    if module != "ArraySearch" || !is_axis(axis) || is_axis(array) {
        return;
    }
    let text = format!("{}({}, {})", call.callee.name, print_expr(axis), print_expr(array));
    let title = format!("`{text}`, with `use {module}: all;`");
    report.notes.push("an axis comes first".to_string());
    report.help = Some(title.clone());
    report.fixes.push(Fix { title, safe: true, edits: vec![(call.span, format!("{module}::{text}"))] });
}

/// Adds to the report of an unknown operator what its users mean.
pub fn with_operator_way(report: &mut Diagnostic, symbol: &str, (left, right): (&ast::Expr, &ast::Expr), at: Span) {
    if symbol != "@" {
        return;
    }
    let text = format!("matmul({}, {})", print_expr(left), print_expr(right));
    let title = format!("`{text}`, with `use LinAlg: {{ matmul }};`");
    report.notes.push("`matmul` of LinAlg is the product of matrices".to_string());
    report.help = Some(title.clone());
    report.fixes = vec![Fix { title, safe: true, edits: vec![(at, format!("LinAlg::{text}"))] }];
}

/// Syntax that stands for a function which is not visible.
pub fn missing_syntax_function(syntax: &str, name: &str, at: Span, suggestion: Suggestion) -> Diagnostic {
    let report = Diagnostic::error(Code::UnknownFunction, format!("{syntax} needs a function `{name}`"))
        .at(at, "none is visible here");
    // The name is not in the text.
    suggestion.help(report, ("", Span { end: at.start, ..at }))
}

/// A visible function of the right name and the wrong counts.
pub struct Candidate {
    /// "2 arguments".
    pub takes: String,
    /// "1 result".
    pub gives: String,
    /// What it is called with: `f(int[.] a, int b)`.
    pub head: String,
    /// Whether it takes as many arguments as the call has.
    pub fits: bool,
    pub module: String,
    pub span: Span,
    pub library: bool,
}

/// Functions with other counts that are shown.
const MOST_CANDIDATES: usize = 6;

/// `results` is how many values the place of the call takes, if that is fixed; `module` has a function with these counts.
pub fn no_such_counts(
    name: &str,
    args: usize,
    results: Option<usize>,
    at: Span,
    candidates: &[Candidate],
    module: Option<String>,
) -> Diagnostic {
    let wanted_results = results.unwrap_or(0);
    let title = match candidates {
        [only] if only.fits => format!("`{name}` gives {}, {wanted_results} wanted here", only.gives),
        [only] => format!("`{name}` takes {}, not {args}", only.takes),
        _ if candidates.iter().any(|candidate| candidate.fits) => {
            format!("no `{name}` with {} gives {}", count(args, "argument"), count(wanted_results, "result"))
        }
        _ => format!("no `{name}` takes {}", count(args, "argument")),
    };
    let mut report = Diagnostic::error(Code::WrongCounts, title).at(at, "this call");
    let mut notes: Vec<String> = Vec::new();
    for candidate in candidates {
        let Candidate { takes, gives, module, head, .. } = candidate;
        let note = format!("`{head}` of {module} takes {takes} and gives {gives}");
        if !candidate.library && notes.len() < MOST_CANDIDATES {
            report = report.with_label(candidate.span, format!("`{head}` takes {takes} and gives {gives}"));
        } else if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let more = notes.len().saturating_sub(MOST_CANDIDATES);
    for note in notes.into_iter().take(MOST_CANDIDATES) {
        report = report.with_note(note);
    }
    if more > 0 {
        report = report.with_note(format!("and {more} more"));
    }
    if name == "shape" && args == 2 {
        return report.with_help("`shape(a)` is the vector of extents, `shape(a)[0]` the first of them");
    }
    if name == "where" && args == 2 {
        return report.with_help("`compress(mask, a)` of ArraySearch takes the elements that a mask says");
    }
    let of_elements = [("max", "maxval", "largest"), ("min", "minval", "smallest")];
    match of_elements.iter().find(|(of_two, _, _)| *of_two == name && args == 1) {
        Some((_, function, which)) => {
            let title = format!("the {which} element of an array is {function}(...), with `use Array: all;`");
            report.with_safe_edit(title, at, *function)
        }
        None => match module {
            Some(module) => report.with_help(format!("add `use {module}: all;`")),
            None => report,
        },
    }
}

pub fn count(n: usize, thing: &str) -> String {
    match n {
        0 => format!("no {thing}s"),
        1 => format!("1 {thing}"),
        _ => format!("{n} {thing}s"),
    }
}

pub fn unknown_variable(name: &str, at: Span, suggestion: Suggestion, function: bool) -> Diagnostic {
    let report =
        Diagnostic::error(Code::UnknownVariable, format!("unknown variable `{name}`")).at(at, "not assigned before");
    if function {
        return report.with_help(format!("`{name}` is a function; a call needs parentheses"));
    }
    match elsewhere_value(name) {
        Some((Some(word), _)) => report.with_safe_edit(format!("did you mean `{word}`?"), at, word),
        Some((None, rule)) => report.with_help(rule),
        None => suggestion.help(report, (name, at)),
    }
}

/// A variable that has a type and no value.
pub fn not_yet_assigned(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::UnknownVariable, format!("`{name}` has no value yet"))
        .at(at, "declared, but not assigned before")
        .with_help(format!("give it one first, as in `{name} = 0;`"))
}

pub fn maybe_unassigned(name: &str, at: Span, assigned: Span) -> Diagnostic {
    Diagnostic::error(Code::MaybeUnassigned, format!("`{name}` may have no value here"))
        .at(at, "used here")
        .with_label(assigned, "not every path to the use comes through an assignment such as this")
        .with_help(format!("give `{name}` a value before the condition or loop"))
}

pub fn unknown_type(name: &str, at: Span, suggestion: Suggestion) -> Diagnostic {
    let report = Diagnostic::error(Code::UnknownType, format!("unknown type `{name}`")).at(at, "no such type here");
    suggestion.help(report, (name, at))
}

pub fn ambiguous(kind: &str, name: &str, at: Span, modules: &[String]) -> Diagnostic {
    Diagnostic::error(Code::AmbiguousName, format!("{kind} `{name}` has several meanings"))
        .at(at, format!("from {}", modules.join(" and ")))
        .with_help(format!("qualify it, as in `{}::{name}`", modules.first().map_or("Module", String::as_str)))
}

pub fn unknown_primitive(name: &str, at: Span) -> Diagnostic {
    let names = ravel_types::prim_names();
    let report =
        Diagnostic::error(Code::BadPrimitive, format!("unknown primitive `{name}`")).at(at, "no such primitive");
    match did_you_mean(name, names.iter().map(String::as_str)) {
        Some(close) => report.with_name_meant(at, name, close),
        None => report,
    }
}

pub fn primitive_arity(name: &str, needs: usize, has: usize, at: Span) -> Diagnostic {
    Diagnostic::error(Code::BadPrimitive, format!("`{name}` takes {}", count(needs, "argument")))
        .at(at, format!("{} given", count(has, "argument")))
}

// ------------------------------------------------------------------------------------------ functions

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

// ---------------------------------------------------------------------------------------------- types

pub fn unknown_shape(what: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::TypeNotPossible, format!("{what} must have a known shape"))
        .at(at, "only numbers can stand here")
}

pub fn array_of_open_records(at: Span) -> Diagnostic {
    Diagnostic::error(Code::TypeNotPossible, "records with fields of open shape cannot be elements of an array")
        .at(at, "its elements would have different shapes")
        .with_note("a field whose shape is all numbers, such as `double[3]`, can be an element's")
}

pub fn recursive_type(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::RecursiveType, format!("type `{name}` contains itself")).at(at, "needs itself")
}

pub fn deep_type(at: Span) -> Diagnostic {
    Diagnostic::error(Code::RecursiveType, "types are nested too deeply").at(at, "too deep")
}

pub fn names_in_local_type(at: Span) -> Diagnostic {
    Diagnostic::warning(Code::LocalPatternName, "names in this type bind nothing and check nothing")
        .at(at, "read as `.`")
        .with_note("shape patterns have their meaning only in the head of a function")
}

pub fn too_many_axes(found: i64, most: i64, at: Span) -> Diagnostic {
    Diagnostic::error(Code::TooManyAxes, format!("a type of {found} axes"))
        .at(at, format!("types have at most {most} axes"))
        .with_help("`[*]` is an array with any number of axes")
}

pub fn nested_type(at: Span) -> Diagnostic {
    Diagnostic::error(Code::TypeNotPossible, "nested types are not supported").at(at, "not possible here")
}

pub fn directive(at: Span, why: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::PragmaMisfit, "this pragma does not fit its function").at(at, why)
}

pub fn family(at: Span, why: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::BadFamily, "this type family cannot be used").at(at, why)
}

pub fn unknown_field(name: &str, record: &str, at: Span, fields: &[&str]) -> Diagnostic {
    let report =
        Diagnostic::error(Code::UnknownField, format!("struct {record} has no field `{name}`")).at(at, "no such field");
    match did_you_mean(name, fields.iter().copied()) {
        Some(close) => report.with_name_meant(at, name, close),
        None => report.with_note(format!("its fields are {}", fields.join(", "))),
    }
}

pub fn field_twice(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::FieldCount, format!("field `{name}` is given twice")).at(at, "given before")
}

pub fn field_count(record: &str, fields: usize, given: usize, at: Span) -> Diagnostic {
    Diagnostic::error(Code::FieldCount, format!("struct {record} has {}", count(fields, "field")))
        .at(at, format!("{} given", count(given, "value")))
        .with_help("give all fields in order, none, or name them as in `{ .x = e }`")
}

pub fn object_cycle(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::ObjectCycle, format!("object `{name}` needs itself to be initialized"))
        .at(at, "its initializer comes back to it")
}

pub fn not_text(at: Span) -> Diagnostic {
    Diagnostic::error(Code::NotUtf8, "this string is not valid UTF-8")
        .at(at, "bytes that are no text")
        .with_help("write the bytes as an array of characters")
}

// -------------------------------------------------------------------------------- loops and selections

pub fn no_bound(name: &str, at: Span, list: bool) -> Diagnostic {
    let forms = if list { format!("`A[{name}]` or `A[..., {name}]`") } else { format!("`A[{name}]`") };
    Diagnostic::error(Code::NoUpperBound, format!("no upper bound for `{name}`"))
        .at(at, "the last partition must have one")
        .with_note(format!("a bound is found only from a selection {forms} where `{name}` stands alone"))
        .with_help(format!("add a bound, as in `| {} < shape`", if list { "[i, j]" } else { name }))
}

pub fn dot_bound(at: Span) -> Diagnostic {
    Diagnostic::error(Code::PartitionMismatch, "`.` cannot be the upper bound of the last partition")
        .at(at, "this bound decides the shape of the result")
}

pub fn index_lengths(at: Span, first: Span) -> Diagnostic {
    Diagnostic::error(Code::PartitionMismatch, "partitions of one comprehension must have indices of one length")
        .at(at, "this index is longer or shorter")
        .with_label(first, "another length here")
}

pub fn dots_differ(at: Span) -> Diagnostic {
    Diagnostic::error(Code::PartitionMismatch, "partitions of one comprehension must place their cells alike")
        .at(at, "other dots than in the partitions before")
}

/// A with-loop of several operations, or of none, where one value is taken.
pub fn several_operations(operations: usize, at: Span) -> Diagnostic {
    let report = Diagnostic::error(
        Code::ValueCount,
        format!("this with-loop gives {}, and one is taken here", count(operations, "value")),
    )
    .at(at, "each operation behind `:` gives a value");
    match operations {
        0 => report,
        n => {
            let names: Vec<String> = (1..=n).map(|k| format!("r{k}")).collect();
            report.with_help(format!("name a target for each: `{} = with {{ ... }}`", names.join(", ")))
        }
    }
}

/// Several targets of a comprehension whose cells have one value.
pub fn one_value_of_cells(targets: usize, at: Span) -> Diagnostic {
    Diagnostic::error(Code::ValueCount, format!("{targets} values are taken, and each cell has one"))
        .at(at, "the value of a cell")
        .with_note("several arrays come from a call with as many results, or from as many comprehensions")
}

pub fn value_count(values: usize, operations: usize, at: Span) -> Diagnostic {
    Diagnostic::error(Code::ValueCount, format!("{} for {}", count(values, "value"), count(operations, "operation")))
        .at(at, "one value for each operation is needed")
}

pub fn dot_in_assignment(at: Span) -> Diagnostic {
    Diagnostic::error(Code::DotInTarget, "dots cannot stand on the left of `=`")
        .at(at, "this dot")
        .with_note("a short index such as `a[i]` replaces a whole row")
}

/// Adds to the report of dots in a target the statement that does what was meant.
pub fn with_assigned_axes(
    report: &mut Diagnostic,
    target: &ast::LValue,
    (op, value): (Option<&ast::QName>, &ast::Expr),
    (statement, end): (Span, &str),
) {
    let ([ast::Access::Index { selectors, .. }], Code::DotInTarget) = (target.accesses.as_slice(), report.code) else {
        return;
    };
    let axes: Option<Vec<Axis>> = selectors
        .iter()
        .map(|selector| match selector {
            ast::Selector::Expr(expr) => Some(Axis::Place(print_expr(expr))),
            ast::Selector::Dot(_) => Some(Axis::WHOLE),
            ast::Selector::Dots(_) => None,
        })
        .collect();
    let Some(axes) = axes else { return };
    let sign = op.map_or("", |op| &*op.name);
    let (text, safe) = assigned_part(&target.name.name, &axes, sign, &print_expr(value));
    let text = format!("{text}{end}");
    let title = format!("`{text}`");
    if !safe {
        report.notes.push("a scalar on the right stands there without an index".to_string());
    }
    report.help = Some(title.clone());
    report.fixes.push(Fix { title, safe, edits: vec![(statement, text)] });
}

pub fn fold_primitive(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::BadPrimitive, format!("primitive `{name}` cannot be folded with"))
        .at(at, "no function to call")
        .with_help("use an operator such as `+`, or write a function around it")
}

/// A form of module `AutoDiff` as the function of a fold.
pub fn fold_form(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::WrongCounts, format!("`{name}` is no function to fold with"))
        .at(at, "a form that takes an expression")
        .with_help("write a function around it")
}
