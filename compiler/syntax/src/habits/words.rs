//! Words of other languages: in front of statements, between operands, and where a file loads modules.

use super::error;
use super::table::python_module;
use super::view::{View, behind};
use crate::tokens::Kind;
use ravel_diagnostics::{Diagnostic, Fix};
use ravel_source::Span;

/// `import numpy as np`, `use Array;`
pub(super) fn load(view: &View<'_>) -> Option<Diagnostic> {
    let first = view.chunk.from;
    if !matches!(view.kind(first), Some(Kind::Use | Kind::Import)) || view.at != first + 2 {
        return None;
    }
    let (name, place) = (view.name(first + 1)?, view.span(first + 1, first + 2)?);
    // What belongs to it: names behind dots, `as` with a name, the `;`.
    let mut end = view.at;
    while view.kind(end) == Some(Kind::Dot) && view.kind(end + 1) == Some(Kind::Id) {
        end += 2;
    }
    let renamed = view.name(end) == Some("as");
    let behind_name = end;
    end += if renamed { 2 } else { 0 };
    let closed = view.kind(end) == Some(Kind::Semi);
    if let Some(module) = python_module(name) {
        let whole = view.span(first, if closed { end + 1 } else { end })?;
        return Some(
            error(format!("`{name}` is a module of Python"))
                .at(place, "not one of SaC")
                .with_note("docs/library/index.md says what its functions are called here")
                .with_safe_edit(format!("`use {module}: all;`"), whole, format!("use {module}: all;")),
        );
    }
    if renamed {
        let whole = view.span(behind_name, end)?;
        return Some(
            error("modules are not renamed: there is no `as`")
                .at(whole, "not possible")
                .with_note(format!("a function of the module is called by `{name}::f(...)`"))
                .with_edit(format!("`use {name}: all;`"), whole, if closed { ": all" } else { ": all;" }),
        );
    }
    let word = view.word(first);
    if view.kind(end) == Some(Kind::All) || view.name(end) == Some("all") {
        return Some(
            error(format!("`{word} {name}` needs a `:` in front of its names"))
                .at(place, "`:` is missing behind this")
                .with_safe_edit(format!("`{word} {name}: all`"), behind(place), ":"),
        );
    }
    if end != view.at || !closed && !view.token(view.at)?.first_on_line {
        return None;
    }
    Some(
        error(format!("`{word} {name}` does not say which names"))
            .at(place, "a list of names is missing behind this")
            .with_safe_edit(format!("`{word} {name}: all;`"), behind(place), if closed { ": all" } else { ": all;" }),
    )
}

/// `from numpy import array`
pub(super) fn from_import(view: &View<'_>) -> Option<Diagnostic> {
    let first = view.chunk.from;
    if view.name(first) != Some("from") || view.at > first + 2 {
        return None;
    }
    let name = view.name(first + 1)?;
    let import = (first + 2..first + 8).find(|at| view.kind(*at) == Some(Kind::Import))?;
    let mut end = import + 1;
    while matches!(view.kind(end), Some(Kind::Id | Kind::Comma | Kind::Star))
        && view.token(end).is_some_and(|token| !token.first_on_line)
    {
        end += 1;
    }
    let closed = view.kind(end) == Some(Kind::Semi);
    let module = python_module(name).unwrap_or(name);
    let text = format!("use {module}: all;");
    Some(
        error("a file takes names of a module by `use`, not by `from`")
            .at(view.span(first, import + 1)?, "not possible")
            .with_edit(format!("`{text}`"), view.span(first, if closed { end + 1 } else { end })?, text),
    )
}

/// `def f(x):` and its relatives
pub(super) fn function_word(view: &View<'_>) -> Option<Diagnostic> {
    let first = view.chunk.from;
    let word = view.name(first).filter(|word| matches!(*word, "def" | "fn" | "func" | "function" | "fun"))?;
    if view.at > first + 1 || !matches!(view.kind(first + 1), Some(Kind::Id)) {
        return None;
    }
    let name = view.word(first + 1);
    let params: Vec<String> = match (view.kind(first + 2), view.closer(first + 2)) {
        (Some(Kind::LParen), Some(close)) if close > first + 3 => {
            let parts = view.parts(first + 3, close, |kind| kind == Kind::Comma);
            parts.iter().filter_map(|(from, _)| Some(format!("int {}", view.name(*from)?))).collect()
        }
        _ => Vec::new(),
    };
    Some(
        error(format!("`{word}` does not begin a function here"))
            .at(view.span(first, first + 1)?, "a function begins with the type of its result")
            .with_help(format!(
                "`int {name}({}) {{ ... return ...; }}`, with the types that are meant",
                params.join(", ")
            )),
    )
}

/// `let x = 1;`
pub(super) fn variable_word(view: &View<'_>) -> Option<Diagnostic> {
    let at = view.at.checked_sub(1)?;
    let word = view.name(at).filter(|word| matches!(*word, "let" | "var" | "auto" | "const" | "mut"))?;
    if !view.starts_statement(at) || !matches!(view.before(0), Some(Kind::Id | Kind::BaseType)) {
        return None;
    }
    let (own, next) = (view.span(at, at + 1)?, view.token(view.at)?);
    Some(
        error(format!("`{word}` does not begin a variable here"))
            .at(own, "not needed")
            .with_note("an assignment makes its variable")
            .with_safe_edit(format!("drop `{word}`"), Span { end: next.span.start, ..own }, ""),
    )
}

/// `const int N = 10;` outside of functions
pub(super) fn constant(view: &View<'_>) -> Option<Diagnostic> {
    let first = view.chunk.from;
    if view.at != first || !matches!(view.name(first), Some("const" | "constexpr")) || !view.has("use") {
        return None;
    }
    let own = view.span(first, first + 1)?;
    let report = error("constants have no declaration").at(own, "not possible here");
    let name =
        (first + 1..first + 4).find(|at| view.kind(at + 1) == Some(Kind::Assign)).filter(|at| view.name(*at).is_some());
    let end = view.end_of(first, |kind| kind == Kind::Semi);
    let edited = name.zip(end).and_then(|(name, end)| {
        let value = view.text(name + 2, end)?;
        let value = if end == name + 3 { value } else { format!("({value})") };
        Some((view.whole(first, end + 1)?, format!("#define {} {value}", view.word(name))))
    });
    Some(match edited {
        Some((span, text)) => report.with_safe_edit(format!("`{text}`"), span, text),
        None => report.with_help("`#define N 10` gives a constant a name"),
    })
}

/// `f = lambda x: x + 1;`
pub(super) fn lambda(view: &View<'_>) -> Option<Diagnostic> {
    let at = view.at.checked_sub(1).filter(|at| view.name(*at) == Some("lambda"))?;
    let colon = view.end_of(at + 1, |kind| matches!(kind, Kind::Colon | Kind::Semi))?;
    let end = view.end_of(colon + 1, |kind| matches!(kind, Kind::Comma | Kind::Semi)).unwrap_or(colon);
    let name = match (view.kind(at.wrapping_sub(1)), at.checked_sub(2).and_then(|at| view.name(at))) {
        (Some(Kind::Assign), Some(name)) => name,
        _ => "f",
    };
    let params: Vec<String> = view
        .parts(at + 1, colon, |kind| kind == Kind::Comma)
        .iter()
        .filter_map(|(from, _)| Some(format!("int {}", view.name(*from)?)))
        .collect();
    let body = view.text(colon + 1, end).unwrap_or_else(|| "...".to_string());
    Some(
        error("there are no functions without a name")
            .at(view.span(at, at + 1)?, "not possible here")
            .with_note("functions are no values: a variable cannot hold one")
            .with_help(format!("define `int {name}({}) {{ return {body}; }}`", params.join(", "))),
    )
}

/// `elif (x > 0) {`, and with a condition that has no parentheses
pub(super) fn else_if(view: &View<'_>) -> Option<Diagnostic> {
    let is_word = |at: usize| matches!(view.name(at), Some("elif" | "elsif" | "elseif"));
    let at = match view.before(0)? {
        Kind::LBrace | Kind::Colon if view.before(1) == Some(Kind::RParen) => {
            view.opener(view.at - 1)?.checked_sub(1)?
        }
        _ => view.at.checked_sub(1)?,
    };
    let word = view.name(at).filter(|_| is_word(at))?;
    let own = view.span(at, at + 1)?;
    let report = error(format!("there is no `{word}`")).at(own, "two words here: `else if`");
    let colon = view.end_of(at + 1, |kind| matches!(kind, Kind::Colon | Kind::LBrace | Kind::Semi))?;
    if view.kind(at + 1) == Some(Kind::LParen) && view.kind(colon) == Some(Kind::LBrace) {
        return Some(report.with_safe_edit(format!("`else if` for `{word}`"), own, "else if"));
    }
    let cond = view.text(at + 1, colon)?;
    let cond = if cond.starts_with('(') { cond } else { format!("({cond})") };
    Some(report.with_help(format!("`else if {cond} {{ ... }}`")))
}

/// `break;`, `continue;`, `pass`
pub(super) fn leave_loop(view: &View<'_>) -> Option<Diagnostic> {
    let is_word = |at: usize| matches!(view.name(at), Some("break" | "continue" | "pass"));
    let at = [view.at.checked_sub(1)?, view.at].into_iter().find(|at| is_word(*at) && view.starts_statement(*at))?;
    let next = view.token(at + 1)?;
    if next.kind != Kind::Semi && !next.first_on_line && next.kind != Kind::RBrace {
        return None;
    }
    let (word, own) = (view.word(at), view.span(at, at + 1)?);
    let report = error(format!("there is no `{word}`"));
    Some(match word {
        "pass" => {
            let whole = if next.kind == Kind::Semi { view.span(at, at + 2)? } else { own };
            report.at(own, "a body may be empty").with_safe_edit("drop it", whole, "")
        }
        "continue" => report
            .at(own, "every iteration goes through its whole body")
            .with_help("put the rest of the body into an `if` with the opposite condition"),
        _ => {
            let header = loop_with_condition(view, at).unwrap_or_else(|| "while (goes_on && ...)".to_string());
            report.at(own, "loops end only by their condition").with_help(format!(
                "put the condition of the `break` into that of the loop: `{header}`, and `goes_on = false;` here"
            ))
        }
    })
}

/// The head of the innermost loop around a token, with `goes_on` in its condition.
fn loop_with_condition(view: &View<'_>, at: usize) -> Option<String> {
    let mut inner = at;
    loop {
        inner = view.opener(inner)?;
        let close = inner.checked_sub(1).filter(|at| view.kind(*at) == Some(Kind::RParen));
        let Some(open) = close.and_then(|close| view.opener(close)) else { continue };
        let close = inner - 1;
        let both = |from: usize, upto: usize| {
            let cond = view.text(from, upto)?;
            let loose = (from..upto).any(|at| matches!(view.kind(at), Some(Kind::OrOr | Kind::Question)));
            Some(if loose { format!("goes_on && ({cond})") } else { format!("goes_on && {cond}") })
        };
        match view.kind(open.checked_sub(1)?) {
            Some(Kind::While) => return Some(format!("while ({})", both(open + 1, close)?)),
            Some(Kind::For) => {
                let parts = view.parts(open + 1, close, |kind| kind == Kind::Semi);
                let [(from, upto), cond, step] = parts[..] else { return None };
                let (init, step) = (view.text(from, upto)?, view.text(step.0, step.1)?);
                return Some(format!("for ({init}; {}; {step})", both(cond.0, cond.1)?));
            }
            _ => {}
        }
    }
}

/// `switch (n) {`
pub(super) fn switch(view: &View<'_>) -> Option<Diagnostic> {
    if !matches!(view.before(0)?, Kind::LBrace | Kind::Colon) || view.before(1) != Some(Kind::RParen) {
        return None;
    }
    let open = view.opener(view.at - 1)?;
    let at = open.checked_sub(1)?;
    let word = view.name(at).filter(|word| matches!(*word, "switch" | "match"))?;
    let subject = view.text(open + 1, view.at - 1)?;
    Some(
        error(format!("there is no `{word}`"))
            .at(view.span(at, at + 1)?, "cases are conditions here")
            .with_help(format!("`if ({subject} == 1) {{ ... }} else if ({subject} == 2) {{ ... }} else {{ ... }}`")),
    )
}

/// Words that one fix replaces.
const MOST_WORDS: usize = 50;

/// What a word between or in front of operands is here.
fn operator(word: &str) -> Option<&'static str> {
    match word {
        "and" => Some("&&"),
        "or" => Some("||"),
        "not" => Some("!"),
        _ => None,
    }
}

/// `x and y`, `not x`
pub(super) fn logical(view: &View<'_>) -> Option<Diagnostic> {
    let between = |at: usize| {
        matches!(view.name(at), Some("and" | "or")) && at.checked_sub(1).is_some_and(|before| view.ends_operand(before))
    };
    let in_front = |at: usize| view.name(at) == Some("not") && view.begins_operand(at + 1);
    let at = match view.at.checked_sub(1) {
        _ if between(view.at) => view.at,
        Some(previous) if in_front(previous) => previous,
        _ => return None,
    };
    // All of the statement, as one fix: each alone would leave an error.
    let (from, upto) = view.statement(at).unwrap_or((view.chunk.from, view.chunk.upto));
    let mut edits = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    for i in from..upto {
        if edits.len() > MOST_WORDS {
            break;
        }
        let own = view.span(i, i + 1)?;
        if between(i) {
            edits.push((own, operator(view.word(i)).unwrap_or_default().to_string()));
        } else if in_front(i) {
            let next = view.span(i + 1, i + 2)?;
            let end = negated(view, i + 1)?;
            let single = end == i + 2 || view.operand_before(end) == Some(i + 1);
            let (open, close) = if single { ("!", "") } else { ("!(", ")") };
            edits.push((Span { end: next.start, ..own }, open.to_string()));
            if !close.is_empty() {
                edits.push((behind(view.span(end - 1, end)?), close.to_string()));
            }
        } else {
            continue;
        }
        if !words.contains(&view.word(i)) {
            words.push(view.word(i));
        }
    }
    let word = view.word(at);
    let pairs: Vec<String> =
        words.iter().filter_map(|word| Some(format!("`{}` for `{word}`", operator(word)?))).collect();
    Some(
        error(format!("`{word}` is no operator here"))
            .at(view.span(at, at + 1)?, format!("`{}` is meant", operator(word).unwrap_or_default()))
            .with_fix(Fix { title: pairs.join(", "), safe: true, edits }),
    )
}

/// Where the operand of a `not` ends.
fn negated(view: &View<'_>, from: usize) -> Option<usize> {
    let end = view.end_of(from, |kind| {
        matches!(kind, Kind::Comma | Kind::Semi | Kind::AndAnd | Kind::OrOr | Kind::Question | Kind::Colon)
    })?;
    (from..end).find(|at| matches!(view.name(*at), Some("and" | "or"))).or(Some(end))
}

/// `x in v`, `x is None`
pub(super) fn containment(view: &View<'_>) -> Option<Diagnostic> {
    let word = view.name(view.at).filter(|word| matches!(*word, "in" | "is"))?;
    let start = view.operand_before(view.at)?;
    if view.kind(start.wrapping_sub(2)) == Some(Kind::For) || view.kind(start.wrapping_sub(1)) == Some(Kind::For) {
        return None;
    }
    let left = view.text(start, view.at)?;
    let stops = |kind| matches!(kind, Kind::Comma | Kind::Semi | Kind::AndAnd | Kind::OrOr | Kind::Colon);
    let end = view.end_of(view.at + 1, stops)?;
    let right = view.text(view.at + 1, end)?;
    let help = if word == "in" { format!("`any({right} == {left})`") } else { format!("`{left} == {right}`") };
    Some(
        error(format!("`{word}` is no operator here"))
            .at(view.span(view.at, view.at + 1)?, "not possible here")
            .with_help(help),
    )
}
