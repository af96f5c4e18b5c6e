//! Forms of expressions: fields, methods, slices, assignments within, pointers and powers.

use super::error;
use super::parts::{Axis, assigned_part};
use super::table::{along_axis, elsewhere, is_module_alias};
use super::view::View;
use crate::tokens::Kind;
use ravel_diagnostics::{Diagnostic, Fix};

/// `p->x`
pub(super) fn arrow(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| token.kind == Kind::Arrow)?;
    if let Some(report) = bracketed_comprehension(view) {
        return Some(report);
    }
    let field = view.name(view.at + 1)?;
    if !view.has("+") || !view.ends_operand(view.at.checked_sub(1)?) {
        return None;
    }
    Some(error("a field is selected by `.`").at(found.span, "there are no pointers").with_safe_edit(
        format!("`.{field}`"),
        found.span,
        ".",
    ))
}

/// `[ [i] -> i | [i] < [5] ]`
fn bracketed_comprehension(view: &View<'_>) -> Option<Diagnostic> {
    let index = view.opener(view.at.checked_sub(1).filter(|at| view.kind(*at) == Some(Kind::RBracket))?)?;
    let outer = index.checked_sub(1).filter(|at| view.kind(*at) == Some(Kind::LBracket))?;
    let close = view.closer(outer)?;
    let report = error("an array of computed values stands in braces, its index in front")
        .at(view.span(outer, outer + 1)?, "`{` is meant");
    let edits = vec![(view.span(outer, outer + 1)?, "{".to_string()), (view.span(close, close + 1)?, "}".to_string())];
    Some(report.with_fix(Fix { title: "`{ [..] -> .. }`".to_string(), safe: true, edits }))
}

/// `[1, 2; 3, 4]`
pub(super) fn rows(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| token.kind == Kind::Semi && view.has("]"))?;
    let open = view.opener(view.at).filter(|open| view.kind(*open) == Some(Kind::LBracket))?;
    let report = error("the rows of a matrix stand in brackets of their own").at(found.span, "not possible here");
    let close = view.closer(open).filter(|close| view.kind(*close) == Some(Kind::RBracket))?;
    let rows: Option<Vec<String>> = view
        .parts(open + 1, close, |kind| kind == Kind::Semi)
        .iter()
        .map(|(from, upto)| Some(format!("[{}]", view.text(*from, *upto)?)))
        .collect();
    Some(match rows.zip(view.whole(open, close + 1)) {
        Some((rows, whole)) => {
            let text = format!("[{}]", rows.join(", "));
            report.with_safe_edit(format!("`{text}`"), whole, text)
        }
        None => report.with_help("`[[1, 2], [3, 4]]`"),
    })
}

/// `a.sum()`, `np.zeros(3)`
pub(super) fn method(view: &View<'_>) -> Option<Diagnostic> {
    if view.before(0) != Some(Kind::LParen) || view.before(2) != Some(Kind::Dot) {
        return None;
    }
    let (word, dot) = (view.name(view.at - 1)?, view.at - 2);
    let start = view.operand_before(dot)?;
    let receiver = view.text(start, dot)?;
    let close = view.closer(view.at)?;
    let arguments: Option<Vec<String>> = if close == view.at + 1 {
        Some(Vec::new())
    } else {
        let parts = view.parts(view.at + 1, close, |kind| kind == Kind::Comma);
        let named = parts.iter().any(|(from, _)| view.kind(from + 1) == Some(Kind::Assign));
        parts.iter().map(|(from, upto)| view.text(*from, *upto)).collect::<Option<_>>().filter(|_| !named)
    };
    let whole = view.whole(start, close + 1)?;
    let own = view.span(dot, view.at)?;
    let entry = elsewhere(word);
    let is_module = view.name(start).is_some_and(is_module_alias)
        && (start..dot).all(|at| matches!(view.kind(at), Some(Kind::Id | Kind::Dot)));
    let is_library = start + 1 == dot && receiver.starts_with(|c: char| c.is_ascii_uppercase());
    let report = if is_module || is_library {
        error("a function of a module is called by `module::f(...)`").at(own, "`.` selects a field of a record")
    } else {
        error("arrays have no methods").at(own, "`.` selects a field of a record")
    };
    if is_library && entry.is_none() {
        let text = format!("{receiver}::{word}");
        return Some(report.with_edit(format!("`{text}(...)`"), view.span(start, view.at)?, text));
    }
    // A module within a module: its functions are others than those of their names.
    if is_module && start + 1 < dot {
        let module = match &*receiver {
            _ if receiver.ends_with(".linalg") => "LinAlg",
            _ if receiver.ends_with(".fft") => "Signal",
            _ if receiver.ends_with(".random") => "Random",
            _ => return Some(report.with_help("docs/library/index.md says what its functions are called here")),
        };
        return Some(report.with_help(format!("module {module} has functions for these: `use {module}: all;`")));
    }
    if let Some(text) = reduced(view, (word, close), (!is_module).then_some(&receiver)) {
        return Some(report.with_note("an axis comes first").with_safe_edit(format!("`{text}`"), whole, text));
    }
    let Some(mut arguments) = arguments else {
        return Some(report.with_help(format!("`{word}({receiver}, ...)`: arguments have no names")));
    };
    if !is_module {
        arguments.insert(0, receiver.clone());
    }
    let is_statement = view.starts_statement(start) && view.kind(close + 1) == Some(Kind::Semi) && !is_module;
    let text = match entry {
        Some(entry) => match entry.filled(&arguments) {
            Some(text) => text,
            None => return Some(report.with_help(entry.way)),
        },
        None => format!("{word}({})", arguments.join(", ")),
    };
    let text = if is_statement { format!("{receiver} = {text}") } else { text };
    let title = format!("`{text}`");
    Some(if entry.is_some() { report.with_safe_edit(title, whole, text) } else { report.with_edit(title, whole, text) })
}

/// The reduction along an axis that a call means, whose arguments end at `close`: `a.sum(axis=0)`, `np.max(a, 1)`.
fn reduced(view: &View<'_>, (word, close): (&str, usize), receiver: Option<&String>) -> Option<String> {
    let (function, module) = along_axis(word)?;
    let parts = view.parts(view.at + 1, close, |kind| kind == Kind::Comma);
    let (array, axis) = match (receiver, &parts[..]) {
        (Some(receiver), [axis]) => (receiver.clone(), axis),
        (None, [array, axis]) => (view.text(array.0, array.1)?, axis),
        _ => return None,
    };
    let from = match view.kind(axis.0 + 1) {
        Some(Kind::Assign) if view.name(axis.0) == Some("axis") => axis.0 + 2,
        Some(Kind::Assign) => return None,
        _ => axis.0,
    };
    Some(format!("{module}::{function}({}, {array})", view.text(from, axis.1)?))
}

/// `a[0:2]`, `a[1:]`, `a[::-1]`, `m[:,0]`
pub(super) fn slice(view: &View<'_>) -> Option<Diagnostic> {
    let is_colon = |kind: Kind| matches!(kind, Kind::Colon | Kind::ColonColon);
    let found = view.token(view.at).filter(|token| is_colon(token.kind))?;
    let open = view.opener(view.at).filter(|open| view.kind(*open) == Some(Kind::LBracket))?;
    let (start, close) = (view.operand_before(open)?, view.closer(open)?);
    let array = view.text(start, open)?;
    let whole = view.whole(start, close + 1)?;
    let report = error("there are no slices").at(found.span, "not possible in a selection");
    let items = view.parts(open + 1, close, |kind| kind == Kind::Comma);
    if matches!(view.kind(close + 1), Some(Kind::Assign | Kind::AssignOp)) && view.starts_statement(start) {
        return Some(slice_assigned(view, report, (&array, start), (&items, close + 1)));
    }
    if let [item] = items[..] {
        return Some(match one_slice(view, &array, item) {
            Some((text, None)) => report.with_safe_edit(format!("`{text}`"), whole, text),
            Some((text, Some(needs))) => view.with_library_edit(report, (whole, text), needs, true),
            None => {
                report.with_help(format!("`take([n], drop([k], {array}))` cuts out `n` elements behind the first `k`"))
            }
        });
    }
    if let Some((text, needs)) = new_axis(view, &array, &items) {
        return Some(view.with_library_edit(report, (whole, text), needs, true));
    }
    // Whole axes beside places.
    let axes: Option<Vec<String>> = items
        .iter()
        .map(|(from, upto)| match view.kind(*from) {
            Some(Kind::Colon) if from + 1 == *upto => Some(".".to_string()),
            _ if (*from..*upto).any(|at| view.kind(at).is_some_and(is_colon)) => None,
            _ => view.text(*from, *upto),
        })
        .collect();
    Some(match axes {
        Some(axes) => {
            let text = format!("{array}[{}]", axes.join(","));
            report.with_note("`.` stands for all of an axis").with_safe_edit(format!("`{text}`"), whole, text)
        }
        None => report.with_help(format!(
            "`take([m, n], drop([j, k], {array}))` cuts out a part, `{array}[., 0]` all of an axis"
        )),
    })
}

/// `a[:, None]`, with the function that a `use` must bring.
fn new_axis(view: &View<'_>, array: &str, items: &[(usize, usize)]) -> Option<(String, (&'static str, &'static str))> {
    let is_new = |(from, upto): &(usize, usize)| {
        matches!(view.text(*from, *upto).as_deref(), Some("None" | "newaxis" | "np.newaxis" | "numpy.newaxis"))
    };
    let is_whole = |(from, upto): &(usize, usize)| from + 1 == *upto && view.kind(*from) == Some(Kind::Colon);
    let axis = items.iter().position(is_new)?;
    let others = items.iter().enumerate().filter(|(k, _)| *k != axis);
    others
        .map(|(_, item)| item)
        .all(is_whole)
        .then(|| (format!("expand_dims({axis}, {array})"), ("ArrayAxes", "expand_dims")))
}

/// `a[0:2] = 9d;`, `a[:,k] += v;`, with the place of the operator.
fn slice_assigned(
    view: &View<'_>,
    report: Diagnostic,
    (array, start): (&str, usize),
    (items, operator): (&[(usize, usize)], usize),
) -> Diagnostic {
    let edited = || {
        let axes: Option<Vec<Axis>> = items
            .iter()
            .map(|(from, upto)| {
                let bounds = bounds(view, (*from, *upto))?;
                let step = |step: &Option<String>| step.clone().filter(|step| step != "1");
                match &bounds[..] {
                    [Some(place)] => Some(Axis::Place(place.clone())),
                    [from, upto] => Some(Axis::Range { from: from.clone(), upto: upto.clone(), step: None }),
                    [_, _, Some(step)] if step.starts_with('-') => None,
                    [from, upto, by] => Some(Axis::Range { from: from.clone(), upto: upto.clone(), step: step(by) }),
                    _ => None,
                }
            })
            .collect();
        let end = view.end_of(operator + 1, |kind| kind == Kind::Semi)?;
        view.kind(end).filter(|kind| *kind == Kind::Semi)?;
        let value = view.text(operator + 1, end)?;
        let sign = view.word(operator).trim_end_matches('=');
        Some((view.whole(start, end)?, assigned_part(array, &axes?, sign, &value)))
    };
    match edited() {
        Some((span, (text, true))) => report.with_safe_edit(format!("`{text}`"), span, text),
        Some((span, (text, false))) => report.with_edit(format!("`{text}`"), span, text),
        None => report.with_help(format!(
            "`{array} = with {{ ([m] <= iv < [n]) : x; }} : modarray({array});` puts `x` at the places from `m` to `n - 1`"
        )),
    }
}

/// The parts of a slice between its colons; a place without a colon is one part.
fn bounds(view: &View<'_>, (from, upto): (usize, usize)) -> Option<Vec<Option<String>>> {
    // `::` is two colons.
    let mut bounds: Vec<Option<String>> = Vec::new();
    let mut start = from;
    let mut at = from;
    let mut depth = 0usize;
    while at <= upto {
        let kind = if at == upto { Some(Kind::Colon) } else { view.kind(at) };
        match kind? {
            Kind::LParen | Kind::LBracket | Kind::LBrace => depth += 1,
            Kind::RParen | Kind::RBracket | Kind::RBrace => depth = depth.checked_sub(1)?,
            kind @ (Kind::Colon | Kind::ColonColon) if depth == 0 => {
                bounds.push(if start == at { None } else { Some(view.text(start, at)?) });
                if kind == Kind::ColonColon {
                    bounds.push(None);
                }
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    Some(bounds)
}

/// What a slice along the first axis is here, and the function that a `use` must bring.
fn one_slice(
    view: &View<'_>,
    array: &str,
    (from, upto): (usize, usize),
) -> Option<(String, Option<(&'static str, &'static str)>)> {
    let bounds = bounds(view, (from, upto))?;
    let negative = |bound: &Option<String>| bound.as_ref().is_some_and(|text| text.starts_with('-'));
    let length = format!("shape({array})[0]");
    let (lower, upper, step) = match &bounds[..] {
        [lower, upper] => (lower, upper, None),
        [lower, upper, step] => (lower, upper, step.as_deref().filter(|step| *step != "1")),
        _ => return None,
    };
    let lower = &lower.clone().filter(|lower| lower != "0");
    match step {
        None => {}
        Some("-1") if lower.is_none() && upper.is_none() => {
            return Some((format!("reverse(0, {array})"), Some(("ArrayAxes", "reverse"))));
        }
        Some(step) if lower.is_none() && upper.is_none() => {
            let step: u32 = step.parse().ok().filter(|step| *step > 0)?;
            let round = step - 1;
            return Some((format!("{{ [i] -> {array}[{step} * i] | [i] < [({length} + {round}) / {step}] }}"), None));
        }
        Some(_) => return None,
    }
    let text = match (lower, upper) {
        (None, None) => array.to_string(),
        (None, Some(upper)) if negative(&Some(upper.clone())) => format!("drop([{upper}], {array})"),
        (None, Some(upper)) => format!("take([{upper}], {array})"),
        (Some(lower), None) if negative(&Some(lower.clone())) => format!("take([{lower}], {array})"),
        (Some(lower), None) => format!("drop([{lower}], {array})"),
        (Some(_), Some(_)) if negative(lower) => return None,
        (Some(lower), Some(upper)) if negative(&Some(upper.clone())) => {
            format!("drop([{lower}], drop([{upper}], {array}))")
        }
        (Some(lower), Some(upper)) => format!("drop([{lower}], take([{upper}], {array}))"),
    };
    Some((text, None))
}

/// `with { (..) : a[i] += 1; }`
pub(super) fn assigned_cell(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| matches!(token.kind, Kind::Assign | Kind::AssignOp))?;
    let open = view.opener(view.at).filter(|open| view.kind(*open) == Some(Kind::LBrace))?;
    let from = view.start_of(view.at, |kind| matches!(kind, Kind::Colon | Kind::Semi));
    let is_cell = view.kind(from.checked_sub(1)?) == Some(Kind::Colon);
    if view.kind(open.checked_sub(1)?) != Some(Kind::With) || !is_cell {
        return None;
    }
    let report = error("a part of a with-loop assigns nothing")
        .at(found.span, "not possible here")
        .with_note("behind `:` stands the value of the cell");
    let end = view.end_of(view.at, |kind| kind == Kind::Semi)?;
    let (Some(target), Some(value), Some(whole)) =
        (view.text(from, view.at), view.text(view.at + 1, end), view.whole(from, end))
    else {
        return Some(report);
    };
    let sign = view.word(view.at).trim_end_matches('=');
    let text = if sign.is_empty() { value } else { format!("{target} {sign} {value}") };
    Some(report.with_edit(format!("`{text}`"), whole, text))
}

/// `if (x = 1)`, `sum(m, axis=0)`
pub(super) fn assignment_inside(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| token.kind == Kind::Assign && view.has("EQOP"))?;
    let open = view.opener(view.at).filter(|open| view.kind(*open) == Some(Kind::LParen))?;
    let head = open.checked_sub(1)?;
    if matches!(view.kind(head), Some(Kind::If | Kind::While)) {
        return Some(error("`=` does not compare").at(found.span, "an assignment is no value").with_safe_edit(
            "`==` compares",
            found.span,
            "==",
        ));
    }
    let (callee, name) = (view.name(head)?, view.name(view.at - 1)?);
    if !matches!(view.before(2), Some(Kind::LParen | Kind::Comma)) {
        return None;
    }
    let report = error("there are no arguments by name").at(view.span(view.at - 1, view.at + 1)?, "not possible here");
    let close = view.closer(open)?;
    let mut others: Vec<String> = Vec::new();
    for (from, upto) in view.parts(open + 1, close, |kind| kind == Kind::Comma) {
        if view.kind(from + 1) == Some(Kind::Assign) {
            if view.name(from) != Some("axis") {
                return Some(report.with_help("arguments are known by their places"));
            }
            others.insert(0, view.text(from + 2, upto)?);
        } else {
            others.push(view.text(from, upto)?);
        }
    }
    let known = along_axis(callee);
    let (function, module) = known.unwrap_or((callee, ""));
    let text = format!("{function}({})", others.join(", "));
    Some(if name == "axis" && known.is_some() {
        let edit = (view.whole(head, close + 1)?, text);
        view.with_library_edit(report, edit, (module, function), true)
    } else {
        report.with_help(format!("`{text}`: arguments are known by their places"))
    })
}

/// `v[i++]`
pub(super) fn increment(view: &View<'_>) -> Option<Diagnostic> {
    let operator = view.at.checked_sub(1)?;
    if !matches!(view.kind(operator), Some(Kind::PlusPlus | Kind::MinusMinus)) || view.begins_operand(view.at) {
        return None;
    }
    let variable = operator.checked_sub(1)?;
    let (name, sign) = (view.name(variable)?, view.word(operator));
    let report = error(format!("`{name}{sign}` is a statement and has no value"))
        .at(view.span(variable, view.at)?, "stands in an expression");
    let edited = || {
        let (from, upto) = view.statement(view.at)?;
        let simple = view.kind(from) == Some(Kind::Id) && view.kind(from + 1) == Some(Kind::Assign);
        let once = (from..upto).filter(|at| view.name(*at) == Some(name)).count() == 1;
        let braces = (from..upto).any(|at| view.kind(at) == Some(Kind::LBrace));
        if !simple || !once || braces || view.kind(upto - 1) != Some(Kind::Semi) {
            return None;
        }
        let text = format!("{}{} {name}{sign};", view.text(from, operator)?, view.text(view.at, upto)?);
        Some((view.whole(from, upto)?, text))
    };
    Some(match edited() {
        Some((span, text)) => report.with_safe_edit(format!("`{text}`"), span, text),
        None => report.with_help(format!("take `{name}` here, and write `{name}{sign};` as a statement behind")),
    })
}

/// `f(&x)`, `*p = 3`, `malloc(3 * sizeof(int))`
pub(super) fn pointers(view: &View<'_>) -> Option<Diagnostic> {
    let starts_value = |kind: Option<Kind>| {
        matches!(kind, Some(Kind::LParen | Kind::Comma | Kind::Assign | Kind::Return | Kind::LBracket | Kind::Plus))
    };
    if view.before(0) == Some(Kind::Star) && view.has("if") && view.has("while") {
        let name = view.name(view.at + 1)?;
        let (own, next) = (view.span(view.at, view.at + 2)?, format!("{name}[0]"));
        return Some(error("there are no pointers").at(own, "a variable holds its value").with_edit(
            format!("`{next}` is an element, which can be changed"),
            own,
            next,
        ));
    }
    let sign = view.at.checked_sub(1)?;
    if view.word(sign) == "sizeof"
        || view.before(2) == Some(Kind::LParen) && view.word(view.at.checked_sub(2)?) == "sizeof"
    {
        return sizeof(view);
    }
    match view.kind(sign)? {
        Kind::LParen if view.word(sign.checked_sub(1)?) == "sizeof" => sizeof(view),
        Kind::Amp if starts_value(view.before(2)) => {
            let (name, own) = (view.name(view.at)?, view.span(sign, view.at + 1)?);
            let report = error("there are no addresses").at(own, "not possible here").with_note(
                "`&` stands only in the declaration of a parameter that a function changes, of a class such as File",
            );
            let open = view.opener(view.at)?;
            let help = match open.checked_sub(1).and_then(|at| view.name(at)) {
                Some("scanf") => {
                    format!(
                        "`count, {name} = scanf(\"...\");`: the number of conversions comes first, then what they read"
                    )
                }
                Some("sscanf" | "fscanf") => {
                    let f = open.checked_sub(1).and_then(|at| view.name(at)).unwrap_or_default();
                    format!(
                        "`count, {name} = {f}(..., \"...\");`: the number of conversions comes first, then what they read"
                    )
                }
                Some(f) => format!("`{name} = {f}({name});`, with `{f}` returning the new value"),
                None => format!("`{name}` alone"),
            };
            Some(report.with_help(help))
        }
        Kind::Star if starts_value(view.before(2)) => {
            let (name, own) = (view.name(view.at)?, view.span(sign, view.at + 1)?);
            Some(error("there are no pointers").at(own, "a variable holds its value").with_edit(
                format!("`{name}`"),
                own,
                name,
            ))
        }
        _ => None,
    }
}

/// `sizeof(int)`, mostly in the argument of `malloc`.
fn sizeof(view: &View<'_>) -> Option<Diagnostic> {
    let word = (view.chunk.from..view.at).rev().find(|at| view.word(*at) == "sizeof")?;
    let zero = match view.word(view.at) {
        "double" => "0d",
        "float" => "0f",
        "char" => "' '",
        _ => "0",
    };
    let allocated = || {
        let open = view.opener(word)?;
        let callee = view.name(open.checked_sub(1)?).filter(|name| matches!(*name, "malloc" | "calloc"))?;
        let close = view.closer(open)?;
        let sizeof_end = view.closer(word + 1)?;
        // The count is the other factor, or the other argument.
        let count = if word > open + 2 && matches!(view.kind(word - 1), Some(Kind::Star | Kind::Comma)) {
            view.text(open + 1, word - 1)?
        } else if sizeof_end + 2 < close {
            view.text(sizeof_end + 2, close)?
        } else {
            return None;
        };
        Some((callee, view.whole(open - 1, close + 1)?, format!("genarray([{count}], {zero})")))
    };
    let note = "arrays are made with their values and freed by themselves";
    Some(match allocated() {
        Some((callee, span, text)) => error(format!("there is no `{callee}`"))
            .at(span, "no memory is asked for")
            .with_note(note)
            .with_safe_edit(format!("`{text}`"), span, text),
        None => error("there is no `sizeof`")
            .at(view.span(word, word + 1)?, "not known here")
            .with_note(note)
            .with_help("`prod(shape(a))` is the number of elements of an array"),
    })
}

/// `x**2`
pub(super) fn power(view: &View<'_>) -> Option<Diagnostic> {
    if !view.has("(") || (view.before(1), view.before(2)) != (Some(Kind::Star), Some(Kind::Star)) {
        return None;
    }
    power_of(view, view.at - 2, view.at, "Math")
}

/// The report of a power by a sign of other languages that stands between two tokens; `pow` is that of `module`.
fn power_of(view: &View<'_>, base_end: usize, at: usize, module: &'static str) -> Option<Diagnostic> {
    let report = error("there is no operator for powers").at(view.span(base_end, at)?, "not possible here");
    let number = view.token(at).filter(|token| matches!(token.kind, Kind::Num | Kind::OtherNum | Kind::Id));
    let goes_on = matches!(view.kind(at + 1), Some(Kind::LParen | Kind::LBracket | Kind::Dot));
    let base = view.operand_before(base_end);
    let quoted = base
        .and_then(|base| Some((base, view.whole(base, at + 1)?, view.text(base, base_end)?, view.text(at, at + 1)?)));
    let Some((base, whole, text, exponent)) = quoted.filter(|_| number.is_some() && !goes_on) else {
        return Some(report.with_help(format!("`x * x`, or `pow(x, y)` of doubles with `use {module}: all;`")));
    };
    let is_written = view.is_written_number(at);
    if base + 1 == base_end && view.name(base).is_some() && is_written && matches!(&*exponent, "2" | "3") {
        let product = vec![text; exponent.parse().unwrap_or(2)].join(" * ");
        // As a factor it needs no parentheses on the left.
        let alone = |kind: Option<Kind>| {
            !matches!(
                kind,
                Some(Kind::MulOp | Kind::Minus | Kind::Star | Kind::Bang | Kind::Tilde | Kind::RParen | Kind::Dot)
            )
        };
        let text = if alone(view.kind(base.checked_sub(1)?)) { product } else { format!("({product})") };
        return Some(report.with_safe_edit(format!("`{text}`"), whole, text));
    }
    let exponent = match view.kind(at) {
        Some(Kind::Num) if is_written => format!("{exponent}d"),
        Some(Kind::Num) => format!("tod({exponent})"),
        _ => exponent,
    };
    let text = format!("pow({text}, {exponent})");
    Some(view.with_library_edit(report.with_note("`pow` is of doubles"), (whole, text), (module, "pow"), false))
}

/// `x, y = y, x;`
pub(super) fn several_values(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| token.kind == Kind::Comma && view.has(";"))?;
    let (from, upto) = view.statement(view.at)?;
    let equals = (from..view.at).find(|at| view.kind(*at) == Some(Kind::Assign))?;
    let end = upto.checked_sub(1).filter(|at| view.kind(*at) == Some(Kind::Semi))?;
    let names: Vec<&str> = view
        .parts(from, equals, |kind| kind == Kind::Comma)
        .iter()
        .map(|(from, upto)| view.name(*from).filter(|_| from + 1 == *upto))
        .collect::<Option<_>>()?;
    let places = view.parts(equals + 1, end, |kind| kind == Kind::Comma);
    let values: Vec<String> = places.iter().map(|(from, upto)| view.text(*from, *upto)).collect::<Option<_>>()?;
    let report = error("an assignment has one value")
        .at(found.span, "a second value")
        .with_note("several values come only from a call, as in `q, r = divide(a, b);`");
    Some(match one_by_one(&names, &values) {
        Some(text) => report.with_safe_edit(format!("`{text}`"), view.whole(from, upto)?, text),
        None => report.with_help(
            "a statement for each, with a name of its own for what would be overwritten: `t = a; a = b; b = t;`",
        ),
    })
}

/// An assignment for each value; nothing if one would change what a later one needs.
pub(crate) fn one_by_one(names: &[&str], values: &[String]) -> Option<String> {
    let mentions =
        |value: &str, name: &str| value.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    let clash = (0..names.len()).any(|k| values.iter().skip(k + 1).any(|value| mentions(value, names[k])));
    if names.len() != values.len() || clash {
        return None;
    }
    let statements: Vec<String> = names.iter().zip(values).map(|(name, value)| format!("{name} = {value};")).collect();
    Some(statements.join(" "))
}

/// `a .* b`, `i => x`, `a <> b`, `f"{x}"`
pub(super) fn signs(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at)?;
    let adjoins = |at: usize| view.token(at).is_some_and(|token| !token.space_before && !token.first_on_line);
    let is_sign = |at: usize| matches!(view.word(at), "*" | "/" | "+" | "-" | "^" | "<" | ">" | "==");
    let dot = match view.before(1) {
        Some(Kind::Dot) if is_sign(view.at) && adjoins(view.at) => view.at.checked_sub(1),
        _ if found.kind == Kind::Dot && is_sign(view.at + 1) && adjoins(view.at + 1) => Some(view.at),
        _ => None,
    };
    if let Some(dot) = dot.filter(|dot| dot.checked_sub(1).is_some_and(|at| view.ends_operand(at))) {
        let own = view.span(dot, dot + 1)?;
        let sign = view.word(dot + 1);
        if sign == "^" {
            return power_of(view, dot, dot + 2, "MathArray");
        }
        return Some(error("operators work on whole arrays as they are").at(own, "no dot here").with_safe_edit(
            format!("`{sign}` for `.{sign}`"),
            own,
            "",
        ));
    }
    if view.has("->") && found.kind == Kind::Assign && view.word(view.at + 1) == ">" && adjoins(view.at + 1) {
        let own = view.span(view.at, view.at + 2)?;
        return Some(error("the value of an index stands behind `->`").at(own, "not possible here").with_safe_edit(
            "`->` for `=>`",
            own,
            "->",
        ));
    }
    let unequal =
        view.at.checked_sub(2).filter(|at| view.word(*at) == "<" && view.word(at + 1) == ">" && adjoins(at + 1));
    if let Some(own) = unequal.and_then(|at| view.span(at, at + 2)) {
        return Some(error("`<>` is no operator").at(own, "not possible here").with_safe_edit(
            "`!=` for `<>`",
            own,
            "!=",
        ));
    }
    let prefix = view.at.checked_sub(1).filter(|_| found.kind == Kind::Str && adjoins(view.at))?;
    let is_prefix = matches!(view.name(prefix), Some("f" | "r" | "b" | "u"));
    is_prefix.then_some(())?;
    Some(
        error("texts have no letter in front")
            .at(view.span(prefix, prefix + 1)?, "not possible here")
            .with_note("values stand behind the text: `%d` writes whole numbers, `%g` reals, `%s` strings")
            .with_help("`printf(\"x = %d\\n\", x);`"),
    )
}

/// `return a, b;`
pub(super) fn returned_list(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| token.kind == Kind::Comma && view.has(";"))?;
    let from = view.start_of(view.at, |kind| matches!(kind, Kind::Return | Kind::Semi));
    view.kind(from.checked_sub(1)?).filter(|kind| *kind == Kind::Return)?;
    let end = view.end_of(view.at, |kind| kind == Kind::Semi)?;
    let (whole, values) = (view.whole(from, end)?, view.text(from, end)?);
    Some(error("several results stand in parentheses").at(found.span, "a second value").with_safe_edit(
        format!("`return ({values})`"),
        whole,
        format!("({values})"),
    ))
}
