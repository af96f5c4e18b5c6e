//! What somebody typed at a prompt: an expression, statements or definitions, perhaps not finished yet.

use crate::ast::*;
use crate::check;
use crate::classify::{TypeNames, classify};
use crate::depth::too_deep;
use crate::errors::SyntaxError;
use crate::expected;
use crate::parse::{Failure, Parsed, Parser};
use crate::prescan::prescan;
use crate::split::{self, Chunk};
use crate::tokens::{Kind, Token, Tokens};
use ravel_diagnostics::Diagnostic;
use ravel_source::Span;

/// A complete input, or the wish for more lines.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplInput {
    /// Nothing but blanks and comments.
    Empty,
    /// A bracket, a comment or a sentence is open at the end: read another line and try again with both.
    Incomplete,
    /// A value to show; a `;` behind it does not matter.
    Expression(Expr),
    /// Statements, the last of which may lack its `;`.
    Statements(Vec<Stmt>),
    /// Functions, types, `use`, ...
    Definitions(Vec<Definition>),
    /// Definitions, the last of which ends here, and then something else.
    Mixed(Span),
    /// Not SaC; the reports say why.
    Invalid,
}

/// Parses one input. If it is [`ReplInput::Incomplete`], reports of [`crate::lex_and_preprocess`] about the same
/// text are premature too.
pub fn parse_repl_input(tokens: &Tokens, visible: &TypeNames) -> (ReplInput, Vec<Diagnostic>) {
    let mut names = visible.clone();
    prescan(tokens).add_own_names(&mut names);
    let mut reports = Vec::new();
    let tokens = classify(tokens, &names, &mut reports);
    let list = &tokens.list;
    if list.is_empty() {
        return (ReplInput::Empty, reports);
    }
    if list.iter().any(|token| token.kind == Kind::OpenComment) || bracket_is_open(list) {
        return (ReplInput::Incomplete, Vec::new());
    }
    if let Some((at, limit)) = too_deep(list) {
        reports.push(SyntaxError::TooDeep { limit }.at(list[at].span));
        return (ReplInput::Invalid, reports);
    }
    if let Some(end) = end_of_definitions(list) {
        return (ReplInput::Mixed(list[end - 1].span), Vec::new());
    }
    let mut parser = Parser { tokens: &tokens, reports };
    let input = if is_definition(list) { definitions(&mut parser) } else { evaluation(&mut parser) };
    match input {
        ReplInput::Incomplete => (input, Vec::new()),
        ReplInput::Definitions(_) | ReplInput::Statements(_) | ReplInput::Expression(_)
            if parser.reports.iter().any(Diagnostic::is_error) =>
        {
            (ReplInput::Invalid, parser.reports)
        }
        _ => (input, parser.reports),
    }
}

/// Whether an opening bracket has no partner; a wrong partner is an error, not an open end.
fn bracket_is_open(list: &[Token]) -> bool {
    let mut open = Vec::new();
    for token in list {
        match token.kind {
            Kind::LParen => open.push(Kind::RParen),
            Kind::LBracket => open.push(Kind::RBracket),
            Kind::LBrace => open.push(Kind::RBrace),
            kind @ (Kind::RParen | Kind::RBracket | Kind::RBrace) if open.pop() != Some(kind) => return false,
            _ => {}
        }
    }
    !open.is_empty()
}

/// Where the definitions that begin an input end, if something else follows.
fn end_of_definitions(list: &[Token]) -> Option<usize> {
    let mut at = 0;
    while at < list.len() && is_definition(&list[at..]) {
        let mut depth = 0usize;
        let length = list[at..].iter().position(|token| {
            match token.kind {
                Kind::LParen | Kind::LBracket | Kind::LBrace => depth += 1,
                Kind::RParen | Kind::RBracket | Kind::RBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && matches!(token.kind, Kind::Semi | Kind::RBrace)
        })?;
        at += length + 1;
        // That of a record, or of a list of names.
        at += usize::from(list.get(at).is_some_and(|token| token.kind == Kind::Semi));
    }
    (at > 0 && at < list.len()).then_some(at)
}

fn is_definition(list: &[Token]) -> bool {
    let kind_at = |at: usize| list.get(at).map(|token| token.kind);
    match list[0].kind {
        Kind::Pragma | Kind::Module | Kind::Void => true,
        Kind::BaseType | Kind::Struct => true,
        Kind::TypeName => kind_at(1) != Some(Kind::LParen),
        _ => split::looks_like_definition(list, 0),
    }
}

fn definitions(parser: &mut Parser<'_>) -> ReplInput {
    let list = &parser.tokens.list;
    let mut found = Vec::new();
    for chunk in split::definitions(list, &mut parser.reports) {
        let plain = parser.attempt(chunk, Kind::StartDefinition, &[], &[]);
        let parsed = match plain {
            Ok(parsed) => Some(parsed),
            Err(Failure { at, .. }) if at == list.len() => return ReplInput::Incomplete,
            Err(_) => parser.chunk(chunk, Kind::StartDefinition),
        };
        if let Some(Parsed::Definition(mut definition)) = parsed {
            check::check_definition(&mut definition, &mut parser.reports);
            found.push(definition);
        }
    }
    ReplInput::Definitions(found)
}

/// An expression or statements. Several readings are tried; the one that gets furthest explains the failure.
fn evaluation(parser: &mut Parser<'_>) -> ReplInput {
    let list = &parser.tokens.list;
    let upto = list.len();
    let whole = Chunk { from: 0, upto, unclosed: 0 };
    let ends_in_semi = list[upto - 1].kind == Kind::Semi;
    let mut failures = Vec::new();
    if ends_in_semi || list[upto - 1].kind == Kind::RBrace {
        match parser.attempt(whole, Kind::StartStatements, &[], &[]) {
            Ok(parsed) => return finish(parser, parsed),
            Err(failure) => failures.push(failure),
        }
    }
    let value = Chunk { upto: if ends_in_semi { upto - 1 } else { upto }, ..whole };
    match parser.attempt(value, Kind::StartExpression, &[], &[]) {
        Ok(parsed) => return finish(parser, parsed),
        // The end of the input, not of the sentence in front of its `;`.
        Err(failure) => failures.push(failure),
    }
    if !ends_in_semi {
        match parser.attempt(whole, Kind::StartStatements, &[], &[Kind::Semi]) {
            Ok(Parsed::Statements(stmts)) if stmts.last().is_some_and(lacks_body) => return ReplInput::Incomplete,
            Ok(parsed) => return finish(parser, parsed),
            Err(failure) => failures.push(failure),
        }
    }
    let Some(furthest) = failures.into_iter().max_by_key(|failure| failure.at) else { return ReplInput::Invalid };
    if furthest.at == upto {
        return ReplInput::Incomplete;
    }
    let bad = list
        .get(furthest.at)
        .is_some_and(|token| matches!(token.kind, Kind::Stray | Kind::OpenStr | Kind::OpenChar | Kind::OpenComment));
    if !bad {
        parser.reports.push(expected::report(parser.tokens, whole, &furthest));
    }
    ReplInput::Invalid
}

fn finish(parser: &mut Parser<'_>, parsed: Parsed) -> ReplInput {
    match parsed {
        Parsed::Expression(mut expr) => {
            check::check_expression(&mut expr, &mut parser.reports);
            ReplInput::Expression(expr)
        }
        Parsed::Statements(mut stmts) => {
            check::check_statements(&mut stmts, &mut parser.reports);
            ReplInput::Statements(stmts)
        }
        Parsed::Header(_) | Parsed::Definition(_) => ReplInput::Invalid,
    }
}

/// Whether the statement ends in a control structure whose body is the `;` that was only assumed.
fn lacks_body(stmt: &Stmt) -> bool {
    let body = match &stmt.kind {
        StmtKind::If { otherwise: Some(body), .. }
        | StmtKind::If { then: body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::For { body, .. } => body,
        _ => return false,
    };
    match body.stmts.last() {
        // `{ }` ends in a bracket, so that no `;` would have been assumed.
        None => true,
        Some(last) => lacks_body(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoIncludes, PreprocessOptions, lex_and_preprocess};
    use ravel_source::SourceMap;

    fn parse(text: &str) -> (ReplInput, Vec<Diagnostic>) {
        let mut sources = SourceMap::default();
        let id = sources.add("<input>", text);
        let (tokens, _) = lex_and_preprocess(id, &mut sources, &PreprocessOptions::default(), &mut NoIncludes);
        parse_repl_input(&tokens, &TypeNames::default())
    }

    fn kind(text: &str) -> &'static str {
        match parse(text).0 {
            ReplInput::Empty => "empty",
            ReplInput::Incomplete => "incomplete",
            ReplInput::Expression(_) => "expression",
            ReplInput::Statements(_) => "statements",
            ReplInput::Definitions(_) => "definitions",
            ReplInput::Mixed(_) => "mixed",
            ReplInput::Invalid => "invalid",
        }
    }

    #[test]
    fn readings() {
        for (text, expected) in [
            ("", "empty"),
            ("// nothing", "empty"),
            ("1 + 2", "expression"),
            ("1 + 2;", "expression"),
            ("f(x)", "expression"),
            ("f(x);", "statements"),
            ("{ [i] -> i | [i] < [3] }", "expression"),
            ("x = 5", "statements"),
            ("x = 5; y = 6", "statements"),
            ("x++", "statements"),
            ("a[1] = 2", "statements"),
            ("if (a) { b = 1; } else { b = 2; }", "statements"),
            ("use Array: all;", "definitions"),
            ("use Array: all; 1 + 2", "mixed"),
            ("struct P { int x; }; p = P{1};", "mixed"),
            ("int f(int x) { return x; } f(3)", "mixed"),
            ("int f(int x) { return x; }", "definitions"),
            ("struct P { int x; };", "definitions"),
            ("inline int f(int x) { return x; } int g() { return 1; }", "definitions"),
            ("#define N 5", "empty"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn unfinished_input_asks_for_more() {
        for text in [
            "1 +",
            "(1",
            "f(1,",
            "[1, 2",
            "{ [i] ->",
            "x =",
            "if (a)",
            "while (a)",
            "if (a) { x = 1;",
            "for (i = 0;",
            "int f(int x)",
            "int f(int x) {",
            "use Array:",
            "/* abc",
            "with {",
            "with { } :",
            "do { x = 1; }",
            "if (a) x = 1; else",
            "a ?",
        ] {
            assert_eq!(kind(text), "incomplete", "{text}");
        }
    }

    #[test]
    fn wrong_input_is_reported_at_once() {
        for text in ["1 2", "x = = 5", "f(1]]", ")", "int x = 5;", "use Array all;", "x = 5 y = 6;", "(1, 2)"] {
            let (input, reports) = parse(text);
            assert_eq!(input, ReplInput::Invalid, "{text}");
            assert_eq!(reports.len(), 1, "{text}: {reports:?}");
        }
        assert_eq!(parse("x = $").0, ReplInput::Invalid);
    }
}
