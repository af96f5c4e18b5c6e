//! Bounds the nesting of what will be parsed, so that recursive walks over the tree cannot exhaust the stack.
//!
//! The estimate is taken from the tokens: brackets, plus the operators and postfix steps that pile up since the last
//! comma or semicolon, plus the arms of an `else if` chain. It is never smaller than the depth of the tree.

use crate::tokens::{Kind, Token};

/// Brackets open at once; people write some ten, generated code some more.
pub(crate) const MAX_BRACKETS: usize = 256;

/// Levels of the tree. A walk that spends 1 KiB of stack per level needs a megabyte.
pub(crate) const MAX_DEPTH: usize = 1000;

/// One open bracket (the outermost frame is none).
#[derive(Clone, Copy, Default)]
struct Frame {
    brace: bool,
    /// Operators and closed brackets since the last separator.
    pending: usize,
    /// Arms of the current `else if` chain.
    arms: usize,
}

/// The index of the first token that is too deep, with the limit that it breaks.
pub(crate) fn too_deep(tokens: &[Token]) -> Option<(usize, usize)> {
    let mut stack: Vec<Frame> = Vec::new();
    let mut top = Frame::default();
    // Sum of all frames below `top`.
    let mut below = 0;
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).map(|token| token.kind);
        match token.kind {
            Kind::LParen | Kind::LBracket | Kind::LBrace => {
                below += top.pending + top.arms + 1;
                stack.push(top);
                top = Frame { brace: token.kind == Kind::LBrace, ..Frame::default() };
                if stack.len() > MAX_BRACKETS {
                    return Some((at, MAX_BRACKETS));
                }
            }
            Kind::RParen | Kind::RBracket | Kind::RBrace => {
                let closes_brace = token.kind == Kind::RBrace;
                if stack.is_empty() || !closes_brace && top.brace {
                    continue;
                }
                // A `}` ends unclosed brackets inside its braces too.
                while let Some(outer) = stack.pop() {
                    let was_brace = top.brace;
                    top = outer;
                    below -= top.pending + top.arms + 1;
                    if !closes_brace || was_brace {
                        break;
                    }
                }
                top.pending += 1;
                if closes_brace && !next.is_some_and(continues_expression) {
                    end_statement(&mut top, next);
                }
            }
            Kind::Semi => end_statement(&mut top, next),
            Kind::Comma => top.pending = 0,
            Kind::AndAnd | Kind::OrOr | Kind::Question | Kind::Dot => top.pending += 1,
            kind if kind.is_operator() => top.pending += 1,
            _ => {}
        }
        if below + top.pending + top.arms > MAX_DEPTH {
            return Some((at, MAX_DEPTH));
        }
    }
    None
}

fn end_statement(frame: &mut Frame, next: Option<Kind>) {
    frame.pending = 0;
    frame.arms = if next == Some(Kind::Else) { frame.arms + 1 } else { 0 };
}

/// Whether the token goes on with the expression that a `}` has just closed part of.
fn continues_expression(kind: Kind) -> bool {
    kind.is_operator()
        || matches!(
            kind,
            Kind::LBracket
                | Kind::Dot
                | Kind::AndAnd
                | Kind::OrOr
                | Kind::Question
                | Kind::Colon
                | Kind::RParen
                | Kind::RBracket
                | Kind::RBrace
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::{Texts, lex};
    use ravel_source::FileId;

    fn check(text: &str) -> Option<usize> {
        let (mut texts, mut tokens) = (Texts::new(), Vec::new());
        lex(FileId(0), text, &mut texts, &mut tokens);
        for token in &mut tokens {
            token.kind = match crate::classify::keyword(texts.get(token.text)) {
                Kind::Id => token.kind,
                keyword => keyword,
            };
        }
        too_deep(&tokens).map(|(_, limit)| limit)
    }

    #[test]
    fn brackets_and_chains_are_bounded() {
        assert_eq!(check(&"(".repeat(10_000)), Some(MAX_BRACKETS));
        assert_eq!(check(&"(".repeat(200)), None);
        assert_eq!(check(&"-".repeat(3_000)), Some(MAX_DEPTH));
        assert_eq!(check(&"a+b".repeat(2_000)), Some(MAX_DEPTH));
        assert_eq!(check(&format!("a{}", "[0]".repeat(2_000))), Some(MAX_DEPTH));
        assert_eq!(check(&format!("a{}", ".b".repeat(2_000))), Some(MAX_DEPTH));
        assert_eq!(check(&"if (a) { b(); } else ".repeat(2_000)), Some(MAX_DEPTH));
        assert_eq!(check(&"if (a) b(); else ".repeat(2_000)), Some(MAX_DEPTH));
        assert_eq!(check(&"if (a) ".repeat(2_000)), Some(MAX_DEPTH));
    }

    #[test]
    fn long_flat_text_is_fine() {
        assert_eq!(check(&"x = -a[0] + f(b) * 2;".repeat(5_000)), None);
        assert_eq!(check(&"if (a == b) { x = 1; } while (c) { y(); }".repeat(5_000)), None);
        assert_eq!(check(&format!("[{}]", "-1,".repeat(50_000))), None);
        assert_eq!(check(&"if (a) b = c + d; else if (e) b = 1; else b = 2;".repeat(5_000)), None);
        assert_eq!(check(&")]}".repeat(5_000)), None);
    }
}
