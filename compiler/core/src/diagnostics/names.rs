//! Words of errors about names, calls and the counts of their arguments.

use ravel_diagnostics::{Code, Diagnostic, Fix, did_you_mean};
use ravel_source::Span;
use ravel_syntax::{ast, elsewhere, elsewhere_value, print_expr};

/// What to offer for an unknown name.
#[derive(Clone, Debug, Default)]
pub struct Suggestion {
    /// A visible name that is spelled almost the same.
    pub close: Option<String>,
    /// A module that exports the name itself.
    pub module: Option<String>,
    /// Another one that exports it for arrays.
    pub for_arrays: Option<String>,
    /// One's own module that the file loads, which has the name and does not export it.
    pub keeper: Option<String>,
}

impl Suggestion {
    fn help(self, report: Diagnostic, (name, at): (&str, Span)) -> Diagnostic {
        if let Some(keeper) = self.keeper {
            return report.with_help(format!("module `{keeper}` has a `{name}`; add `export {{ {name} }};` there"));
        }
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
        let report = Diagnostic::error(Code::UnknownFunction, format!("unknown {what} `{name}`"))
            .at(at, "not defined here")
            .with_help(entry.way);
        return match entry.or {
            Some(or) => report.with_note(or),
            None => report,
        };
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
        let safe = entry.is_some_and(|entry| entry.or.is_none());
        report.fixes.push(Fix { title: format!("`{text}`"), safe, edits });
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

/// Makes of the report of an unknown function, which is a record, one of a value of it.
pub fn with_braces(report: &mut Diagnostic, call: &ast::Call) {
    if report.code != Code::UnknownFunction {
        return;
    }
    let args: Vec<String> = call.args.iter().map(print_expr).collect();
    let text = format!("{}{{{}}}", call.callee.name, args.join(", "));
    report.title = format!("`{}` is a record, not a function", call.callee.name);
    report.notes.push("the fields of a value stand in braces".to_string());
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
        return report.with_help(format!("`{name}` is a function, which is no value; a call needs parentheses"));
    }
    match elsewhere_value(name) {
        Some((Some(word), _)) => report.with_safe_edit(format!("did you mean `{word}`?"), at, word),
        Some((None, rule)) => report.with_help(rule),
        None => suggestion.help(report, (name, at)),
    }
}

/// A variable that has a type and no value.
pub fn not_yet_assigned(name: &str, at: Span, first: &str) -> Diagnostic {
    Diagnostic::error(Code::UnknownVariable, format!("`{name}` has no value yet"))
        .at(at, "declared, but not assigned before")
        .with_help(format!("give it one first, as in `{name} = {first};`"))
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
