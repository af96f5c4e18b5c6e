//! Long array literals of plain numbers, read without the grammar.
//!
//! A table of data pasted into a program has millions of elements, each of which would climb some twenty precedence
//! levels in the parser. Classification reads such a literal here, in one pass, and hands the grammar one token.
//! The tree is the one that the grammar would have built. Anything unusual makes the pass give up, so that the
//! grammar sees the text and reports what is wrong with it.

use crate::ast::{Expr, ExprKind, Number, QName};
use crate::literal::parse_number;
use crate::tokens::{Kind, Texts, Token};
use ravel_source::Span;

/// Tokens that a literal must have to be read here; shorter ones take the ordinary way.
const MIN_TOKENS: usize = 64;

/// Brackets around one another; each costs a scan of what is inside if the literal turns out to be unusual.
const MAX_RANK: usize = 8;

/// The literal that starts at the first token, a `[`, and its length in tokens.
pub(crate) fn array_literal(input: &[Token], texts: &Texts) -> Option<(Expr, usize)> {
    let mut open: Vec<(Vec<Expr>, Span)> = Vec::new();
    let mut wants_element = true;
    let mut at = 0;
    loop {
        let token = input.get(at)?;
        at += 1;
        match token.kind {
            Kind::LBracket if wants_element && open.len() < MAX_RANK => open.push((Vec::new(), token.span)),
            Kind::Num if wants_element => {
                open.last_mut()?.0.push(number(token, texts)?);
                wants_element = false;
            }
            Kind::Minus if wants_element => {
                let operand = number(input.get(at)?, texts)?;
                at += 1;
                let op = QName { module: None, name: texts.get(token.text).clone(), span: token.span };
                let span = token.span.to(operand.span);
                let kind = ExprKind::Unary { op, operand: Box::new(operand) };
                open.last_mut()?.0.push(Expr { kind, span });
                wants_element = false;
            }
            Kind::Comma if !wants_element => wants_element = true,
            Kind::RBracket => {
                let (elements, start) = open.pop()?;
                if wants_element && !elements.is_empty() {
                    return None;
                }
                let array = Expr { kind: ExprKind::Array(elements), span: start.to(token.span) };
                match open.last_mut() {
                    Some((outer, _)) => outer.push(array),
                    None if at < MIN_TOKENS => return None,
                    None => return Some((array, at)),
                }
                wants_element = false;
            }
            _ => return None,
        }
    }
}

/// Whether a `[` behind this token starts a literal, not a selection or a type's shape.
pub(crate) fn may_precede(kind: Kind) -> bool {
    matches!(kind, Kind::Assign | Kind::AssignOp | Kind::LParen | Kind::Comma | Kind::LBracket | Kind::Return)
}

fn number(token: &Token, texts: &Texts) -> Option<Expr> {
    if token.kind != Kind::Num {
        return None;
    }
    let text = texts.get(token.text);
    let value = parse_number(text).ok()?;
    Some(Expr { kind: ExprKind::Number(Number { text: text.clone(), value }), span: token.span })
}

#[cfg(test)]
mod tests {
    use crate::{NoIncludes, TypeNames, equal_modulo_spans, lex_and_preprocess, parse_file};
    use ravel_source::SourceMap;

    #[test]
    fn the_short_way_builds_the_same_tree() {
        let rows = "[1, -2, 3.5f], [[], -0x1fub], ".repeat(20);
        let parse = |text: String| {
            let mut sources = SourceMap::default();
            let id = sources.add("a", text);
            let (tokens, _) = lex_and_preprocess(id, &mut sources, &Default::default(), &mut NoIncludes);
            let (file, reports) = parse_file(&tokens, &TypeNames::default());
            assert_eq!(reports, []);
            file
        };
        let short = parse(format!("int main() {{ return [{rows} 7]; }}"));
        // Parentheses leave no trace in the tree but send the literal the long way.
        let long = parse(format!("int main() {{ return [{rows} (7)]; }}"));
        assert!(equal_modulo_spans(&short, &long));
    }

    #[test]
    fn mistakes_in_a_long_literal_are_reported_by_the_grammar() {
        for (tail, title) in [
            ("1, ]", "expected an expression, found `]`"),
            ("08]", "08 is octal and has a digit above 7"),
            ("1 2]", "expected `,` or `]`, found `2`"),
            ("2147483648]", "2147483648 does not fit its type"),
        ] {
            let mut sources = SourceMap::default();
            let id = sources.add("a", format!("int main() {{ return [{} {tail}; }}", "1, ".repeat(100)));
            let (tokens, _) = lex_and_preprocess(id, &mut sources, &Default::default(), &mut NoIncludes);
            let (_, reports) = parse_file(&tokens, &TypeNames::default());
            assert_eq!(reports.iter().map(|report| report.title.as_str()).collect::<Vec<_>>(), [title]);
        }
    }
}
