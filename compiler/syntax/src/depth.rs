//! Bounds the nesting of what will be parsed, so that recursive walks over the tree cannot exhaust the stack.
//!
//! The estimate is taken from the tokens: brackets, plus the prefix operators and postfix steps of an operand, plus the arms of
//! an `else if` chain; and, counted apart, the operators between operands since the last comma or semicolon. Both together
//! are never smaller than the depth of the tree.

use crate::tokens::{Kind, Token};

/// Brackets open at once; people write some ten, generated code some more.
pub(crate) const MAX_BRACKETS: usize = 256;

/// Levels of the tree. A walk that spends 1 KiB of stack per level needs a megabyte.
pub(crate) const MAX_DEPTH: usize = 1000;

/// Operators between operands: generated sums are long, and the compiler's stack is made for them.
pub(crate) const MAX_TERMS: usize = 150_000;

/// One open bracket (the outermost frame is none).
#[derive(Clone, Copy, Default)]
struct Frame {
    brace: bool,
    /// Prefix operators and closed brackets of the current operand.
    operand: usize,
    /// `?` since the last separator.
    choices: usize,
    /// Operators between operands since the last separator.
    terms: usize,
    /// Arms of the current `else if` chain.
    arms: usize,
}

impl Frame {
    fn levels(&self) -> usize {
        self.operand + self.choices + self.arms
    }

    fn separate(&mut self) {
        (self.operand, self.choices, self.terms) = (0, 0, 0);
    }
}

/// The index of the first token that is too deep, with the limit that it breaks.
pub(crate) fn too_deep(tokens: &[Token]) -> Option<(usize, usize)> {
    let mut stack: Vec<Frame> = Vec::new();
    let mut top = Frame::default();
    // Sums over all frames below `top`.
    let (mut below, mut terms_below) = (0, 0);
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).map(|token| token.kind);
        let between = at.checked_sub(1).is_some_and(|before| tokens[before].kind.ends_operand());
        match token.kind {
            Kind::LParen | Kind::LBracket | Kind::LBrace => {
                below += top.levels() + 1;
                terms_below += top.terms;
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
                    below -= top.levels() + 1;
                    terms_below -= top.terms;
                    if !closes_brace || was_brace {
                        break;
                    }
                }
                top.operand += 1;
                if closes_brace && !next.is_some_and(continues_expression) {
                    end_statement(&mut top, next);
                }
            }
            Kind::Semi => end_statement(&mut top, next),
            Kind::Comma => top.separate(),
            Kind::Question => (top.choices, top.operand) = (top.choices + 1, 0),
            Kind::Dot => top.operand += 1,
            kind if kind.is_operator() || matches!(kind, Kind::AndAnd | Kind::OrOr) => match between {
                true => (top.terms, top.operand) = (top.terms + 1, 0),
                false => top.operand += 1,
            },
            _ => {}
        }
        if below + top.levels() > MAX_DEPTH {
            return Some((at, MAX_DEPTH));
        }
        if terms_below + top.terms > MAX_TERMS {
            return Some((at, MAX_TERMS));
        }
    }
    None
}

fn end_statement(frame: &mut Frame, next: Option<Kind>) {
    frame.separate();
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
        assert_eq!(check(&"a+b".repeat(200_000)), Some(MAX_TERMS));
        assert_eq!(check(&format!("{}{}", "(a+".repeat(200), "a+b".repeat(149_900))), Some(MAX_TERMS));
        assert_eq!(check(&"a ? b : ".repeat(2_000)), Some(MAX_DEPTH));
        assert_eq!(check(&"(a)-".repeat(2_000)), None);
        assert_eq!(check(&format!("a{}", "[0]".repeat(2_000))), Some(MAX_DEPTH));
        assert_eq!(check(&format!("a{}", ".b".repeat(2_000))), Some(MAX_DEPTH));
        assert_eq!(check(&"if (a) { b(); } else ".repeat(2_000)), Some(MAX_DEPTH));
        assert_eq!(check(&"if (a) b(); else ".repeat(2_000)), Some(MAX_DEPTH));
        assert_eq!(check(&"if (a) ".repeat(2_000)), Some(MAX_DEPTH));
    }

    #[test]
    fn long_flat_text_is_fine() {
        assert_eq!(check(&"a + ".repeat(100_000)), None);
        assert_eq!(check(&"-f(a[0], 1) * ".repeat(100_000)), None);
        assert_eq!(check(&"x = -a[0] + f(b) * 2;".repeat(5_000)), None);
        assert_eq!(check(&"if (a == b) { x = 1; } while (c) { y(); }".repeat(5_000)), None);
        assert_eq!(check(&format!("[{}]", "-1,".repeat(50_000))), None);
        assert_eq!(check(&"if (a) b = c + d; else if (e) b = 1; else b = 2;".repeat(5_000)), None);
        assert_eq!(check(&")]}".repeat(5_000)), None);
    }
}
