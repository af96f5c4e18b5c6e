//! Heads of loops and conditions, and expressions that look like them.

use super::error;
use super::view::{View, behind};
use crate::tokens::Kind;
use ravel_diagnostics::{Diagnostic, Fix};
use ravel_source::Span;

/// `for i in range(3):`
pub(super) fn for_in(view: &View<'_>) -> Option<Diagnostic> {
    let is_in = |at: usize| matches!(view.word(at), "in");
    let (at, variable) = match (view.before(1), view.before(2), view.before(3)) {
        (Some(Kind::For), ..) if is_in(view.at + 1) => (view.at - 1, view.at),
        (Some(Kind::Id), Some(Kind::LParen), Some(Kind::For)) if is_in(view.at) => (view.at - 3, view.at - 1),
        _ => return None,
    };
    let name = view.name(variable)?;
    let from = variable + 2;
    let end = view.end_of(from, |kind| matches!(kind, Kind::Colon | Kind::LBrace | Kind::Semi))?;
    let report = error("`for` counts, as in C").at(view.span(at, end)?, "there is no `for ... in`");
    let arguments = |open: usize| match (view.name(from), view.closer(open)) {
        (Some("range"), Some(close)) if view.kind(open) == Some(Kind::LParen) && close + 1 == end => {
            let parts = view.parts(open + 1, close, |kind| kind == Kind::Comma);
            parts.iter().map(|(from, upto)| view.text(*from, *upto)).collect()
        }
        _ => None,
    };
    let counted: Option<Vec<String>> = arguments(from + 1);
    let header = match counted.as_deref() {
        Some([upper]) => format!("for ({name} = 0; {name} < {upper}; {name}++)"),
        Some([lower, upper]) => format!("for ({name} = {lower}; {name} < {upper}; {name}++)"),
        Some([lower, upper, step]) => match step.strip_prefix('-') {
            Some(step) => format!("for ({name} = {lower}; {name} > {upper}; {name} -= {step})"),
            None => format!("for ({name} = {lower}; {name} < {upper}; {name} += {step})"),
        },
        _ => {
            let array = view.text(from, end)?;
            let index = if name == "i" { "k" } else { "i" };
            return Some(report.with_help(format!(
                "`for ({index} = 0; {index} < shape({array})[0]; {index}++) {{ {name} = {array}[{index}]; ... }}`"
            )));
        }
    };
    let report = report.with_note("an array is filled without a loop: `{ [i] -> ... | [i] < [n] }`");
    Some(if view.kind(end) == Some(Kind::LBrace) && view.kind(at + 1) == Some(Kind::Id) {
        report.with_safe_edit(format!("`{header}`"), view.whole(at, end)?, header)
    } else {
        report.with_help(format!("`{header} {{ ... }}`"))
    })
}

/// `for (int i = 0; ...)`
pub(super) fn typed_loop_variable(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| token.kind == Kind::BaseType)?;
    if (view.before(1), view.before(2)) != (Some(Kind::LParen), Some(Kind::For)) {
        return None;
    }
    let name = view.token(view.at + 1)?;
    let ty = view.word(view.at);
    let report = error("loop variables are not declared").at(found.span, "no type here");
    let edit = Span { end: name.span.start, ..found.span };
    let title = format!("drop `{ty}`");
    Some(if ty == "int" { report.with_safe_edit(title, edit, "") } else { report.with_edit(title, edit, "") })
}

/// `if x > 0:`, `if x > 0 {`
pub(super) fn bare_condition(view: &View<'_>) -> Option<Diagnostic> {
    if !matches!(view.before(1), Some(Kind::If | Kind::While)) || view.before(0) == Some(Kind::LParen) {
        return None;
    }
    let word = view.word(view.at - 1);
    let end = view.end_of(view.at, |kind| matches!(kind, Kind::Colon | Kind::LBrace | Kind::Semi))?;
    let (whole, cond) = (view.span(view.at, end)?, view.text(view.at, end)?);
    let report =
        error(format!("the condition of `{word}` stands in parentheses")).at(whole, "no parentheses around this");
    if view.kind(end) == Some(Kind::LBrace) {
        let edits = vec![(Span { end: whole.start, ..whole }, "(".to_string()), (behind(whole), ")".to_string())];
        return Some(report.with_fix(Fix { title: format!("`{word} ({cond})`"), safe: true, edits }));
    }
    let report = if view.kind(end) == Some(Kind::Colon) { report.with_note("a body stands in braces") } else { report };
    Some(report.with_help(format!("`{word} ({cond}) {{ ... }}`")))
}

/// `if (x > 0):`, `else:`
pub(super) fn colon_body(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| token.kind == Kind::Colon)?;
    let from = match view.before(1)? {
        Kind::Else | Kind::Do => view.at - 1,
        Kind::RParen => {
            let at = view.opener(view.at - 1)?.checked_sub(1)?;
            if !matches!(view.kind(at), Some(Kind::If | Kind::While | Kind::For)) {
                return None;
            }
            at
        }
        _ => return None,
    };
    let head = view.text(from, view.at)?;
    Some(
        error("a body stands in braces, not behind `:`")
            .at(found.span, "`{` is meant")
            .with_help(format!("`{head} {{ ... }}`")),
    )
}

/// `0 if c else 1`
pub(super) fn conditional_value(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| token.kind == Kind::If && !token.first_on_line)?;
    if !view.has("+") || !view.ends_operand(view.at.checked_sub(1)?) {
        return None;
    }
    let from = view.start_of(view.at, |kind| {
        matches!(kind, Kind::Assign | Kind::AssignOp | Kind::Comma | Kind::Return | Kind::Arrow | Kind::Semi)
    });
    let otherwise = view.end_of(view.at + 1, |kind| matches!(kind, Kind::Else | Kind::Semi))?;
    if view.kind(otherwise) != Some(Kind::Else) {
        return None;
    }
    let end = view.end_of(otherwise + 1, |kind| matches!(kind, Kind::Semi | Kind::Comma))?;
    let (value, cond) = (view.text(from, view.at)?, view.text(view.at + 1, otherwise)?);
    let text = format!("{cond} ? {value} : {}", view.text(otherwise + 1, end)?);
    Some(
        error("a value with two cases begins with its condition")
            .at(found.span, "`if` begins a statement")
            .with_safe_edit(format!("`{text}`"), view.whole(from, end)?, text),
    )
}

/// `[x * x for x in v]`
pub(super) fn list_comprehension(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| token.kind == Kind::For)?;
    let open = view.opener(view.at).filter(|open| view.kind(*open) == Some(Kind::LBracket))?;
    let report =
        error("an array of computed values stands in braces, its index in front").at(found.span, "not possible here");
    let general = "`{ [i] -> v[i] * v[i] }` has a cell for each index of `v`";
    let known = || {
        let name = view.name(view.at + 1)?;
        let from = view.at + 3;
        let end = view.closer(open)?;
        let plain = view.word(view.at + 2) == "in" && !(from..end).any(|at| view.kind(at) == Some(Kind::If));
        let body = view.text(open + 1, view.at).filter(|_| plain)?;
        let text = if view.name(from) == Some("range") && view.closer(from + 1) == Some(end - 1) {
            let bound = view
                .text(from + 2, end - 1)
                .filter(|_| view.parts(from + 2, end - 1, |k| k == Kind::Comma).len() == 1)?;
            format!("{{ [{name}] -> {body} | [{name}] < [{bound}] }}")
        } else {
            let array = view.name(from).filter(|_| from + 1 == end)?;
            let index = if name == "i" || array == "i" { "k" } else { "i" };
            let mut cell = String::new();
            let mut behind_dot = false;
            for piece in view.pieces(open + 1, view.at)? {
                if piece.is_apart && !cell.is_empty() {
                    cell.push(' ');
                }
                let own = piece.text == name && !piece.is_macro && !behind_dot;
                behind_dot = piece.kind == Kind::Dot;
                cell.push_str(&if own { format!("{array}[{index}]") } else { piece.text.to_string() });
            }
            format!("{{ [{index}] -> {cell} }}")
        };
        Some((view.whole(open, end + 1)?, text))
    };
    Some(match known() {
        Some((span, text)) => report.with_safe_edit(format!("`{text}`"), span, text),
        None => report.with_help(general),
    })
}

/// `if (n == 0) { return 1; } return n;`
pub(super) fn early_return(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| token.kind == Kind::Return && view.has("if"))?;
    if view.chunk.unclosed > 0 {
        return None;
    }
    view.statement(view.at)?;
    let report = error("`return` is not the last statement of its function")
        .at(found.span, "returns here")
        .with_note("`return` stands once, at the end");
    let end = view.end_of(view.at + 1, |kind| kind == Kind::Semi)?;
    let first = view.text(view.at + 1, end)?;
    Some(match two_returns(view, end) {
        // Comments of the branches would be lost.
        Some((from, upto, text)) => report.with_edit(format!("`{text}`"), view.span(from, upto)?, text),
        None => report.with_help(format!(
            "give the value a name in each branch, here `r = {first};`, and `return r;` at the end of the function"
        )),
    })
}

/// The tokens of a condition with a `return` in each branch that end a function, and the one `return` that does the same.
fn two_returns(view: &View<'_>, end: usize) -> Option<(usize, usize, String)> {
    let brace = view.at.checked_sub(1).filter(|at| view.kind(*at) == Some(Kind::LBrace))?;
    let close = brace.checked_sub(1).filter(|at| view.kind(*at) == Some(Kind::RParen))?;
    let open = view.opener(close)?;
    let from = open.checked_sub(1).filter(|at| view.kind(*at) == Some(Kind::If))?;
    view.kind(end + 1).filter(|kind| *kind == Kind::RBrace)?;
    let mut second = end + 2;
    second += usize::from(view.kind(second) == Some(Kind::Else));
    let braced = view.kind(second) == Some(Kind::LBrace);
    second += usize::from(braced);
    view.kind(second).filter(|kind| *kind == Kind::Return)?;
    let last = view.end_of(second + 1, |kind| kind == Kind::Semi)?;
    let upto = last + 1 + usize::from(braced);
    // Nothing but the end of the function may follow.
    let body = view.opener(from).filter(|body| view.opener(*body).is_none())?;
    if view.kind(last) != Some(Kind::Semi) || view.closer(body) != Some(upto) {
        return None;
    }
    let value = |from: usize, upto: usize, loose: &[Kind]| {
        let several = view.parts(from, upto, |kind| kind == Kind::Comma).len() > 1;
        let text = view.text(from, upto).filter(|_| from < upto && !several)?;
        let wrap = (from..upto).any(|at| view.kind(at).is_some_and(|kind| loose.contains(&kind)));
        Some(if wrap { format!("({text})") } else { text })
    };
    let cond = value(open + 1, close, &[Kind::Question])?;
    let text =
        format!("return {cond} ? {} : {};", value(view.at + 1, end, &[Kind::Question])?, value(second + 1, last, &[])?);
    Some((from, upto, text))
}

/// `[9] >= iv >= [0]`
pub(super) fn falling_bounds(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| matches!(token.kind, Kind::Greater | Kind::GreaterEq))?;
    if !view.has("<=") || view.has(">=") {
        return None;
    }
    let open = view.opener(view.at)?;
    let is_bound = |kind| matches!(kind, Kind::Greater | Kind::GreaterEq);
    let report = error("the bounds of a generator rise")
        .at(found.span, "the lower bound stands on the left")
        .with_note("the indices of a generator have no order: a place from the end is computed, as in `v[9 - i]`");
    let second = view.end_of(view.at + 1, is_bound)?;
    let close = view.end_of(second + 1, |_| false)?;
    let step = (second + 1..close).find(|at| matches!(view.word(*at), "step" | "width")).unwrap_or(close);
    let sign = |at: usize| if view.kind(at) == Some(Kind::Greater) { "<" } else { "<=" };
    let (lower, upper) = (view.text(second + 1, step)?, view.text(open + 1, view.at)?);
    let index = view.text(view.at + 1, second)?;
    let text = format!("{lower} {} {index} {} {upper}", sign(second), sign(view.at));
    Some(report.with_edit(format!("`{text}`"), view.whole(open + 1, close)?, text))
}
