//! The value of an `#if` line: C integer arithmetic in 64 bits, where unknown names are 0.

use crate::ast::NumberValue;
use crate::literal;
use crate::tokens::{Kind, Texts, Token};

/// Parentheses and prefix operators around one another.
const MAX_DEPTH: usize = 200;

/// Evaluates a whole line from which `defined` and macros are gone already.
pub(super) fn evaluate(tokens: &[Token], texts: &Texts) -> Result<i64, String> {
    let mut parser = Parser { tokens, at: 0, texts, depth: 0 };
    if tokens.is_empty() {
        return Err("#if takes a condition".to_string());
    }
    let value = parser.conditional(true)?;
    match parser.tokens.get(parser.at) {
        None => Ok(value),
        Some(token) => Err(format!("`{}` is not possible in a condition here", texts.get(token.text))),
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    texts: &'a Texts,
    depth: usize,
}

impl Parser<'_> {
    fn symbol(&self) -> &str {
        self.tokens.get(self.at).map_or("", |token| self.texts.get(token.text))
    }

    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|token| token.kind == kind);
        self.at += usize::from(found);
        found
    }

    /// `live` is false where the value cannot matter, so that `0 && 1 / 0` is fine.
    fn conditional(&mut self, live: bool) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the condition is nested too deeply".to_string());
        }
        let mut value = self.binary(0, live)?;
        if self.eat(Kind::Question) {
            let then = self.conditional(live && value != 0)?;
            if !self.eat(Kind::Colon) {
                return Err("`?` lacks its `:`".to_string());
            }
            let otherwise = self.conditional(live && value == 0)?;
            value = if value != 0 { then } else { otherwise };
        }
        self.depth -= 1;
        Ok(value)
    }

    fn binary(&mut self, loosest: usize, live: bool) -> Result<i64, String> {
        let mut left = self.unary(live)?;
        loop {
            let operator = self.symbol().to_string();
            let Some(level) = level(&operator).filter(|level| *level >= loosest) else { return Ok(left) };
            self.at += 1;
            let needed = match operator.as_str() {
                "&&" => left != 0,
                "||" => left == 0,
                _ => true,
            };
            let right = self.binary(level + 1, live && needed)?;
            left = apply(&operator, left, right, live && needed)?;
        }
    }

    fn unary(&mut self, live: bool) -> Result<i64, String> {
        let Some(token) = self.tokens.get(self.at).copied() else {
            return Err("the condition ends too early".to_string());
        };
        self.at += 1;
        match token.kind {
            Kind::Plus | Kind::Minus | Kind::Bang | Kind::Tilde => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err("the condition is nested too deeply".to_string());
                }
                let value = self.unary(live)?;
                self.depth -= 1;
                Ok(match token.kind {
                    Kind::Minus => value.wrapping_neg(),
                    Kind::Bang => i64::from(value == 0),
                    Kind::Tilde => !value,
                    _ => value,
                })
            }
            Kind::LParen => {
                let value = self.conditional(live)?;
                if self.eat(Kind::RParen) { Ok(value) } else { Err("`(` is not closed".to_string()) }
            }
            Kind::Num => number(self.texts.get(token.text)),
            Kind::Char => {
                literal::parse_char(self.texts.get(token.text)).map(i64::from).map_err(|_| "bad character".to_string())
            }
            Kind::Id => Ok(i64::from(&**self.texts.get(token.text) == "true")),
            _ => Err(format!("`{}` is not possible in a condition", self.texts.get(token.text))),
        }
    }
}

fn number(text: &str) -> Result<i64, String> {
    let value = match literal::parse_number(text).or_else(|_| literal::parse_number(&format!("{text}l"))) {
        Ok(value) => value,
        Err(_) => return Err(format!("`{text}` is not a whole number")),
    };
    Ok(match value {
        NumberValue::Byte(value) => i64::from(value),
        NumberValue::Short(value) => i64::from(value),
        NumberValue::Int(value) => i64::from(value),
        NumberValue::Long(value) | NumberValue::LongLong(value) => value,
        NumberValue::UByte(value) => i64::from(value),
        NumberValue::UShort(value) => i64::from(value),
        NumberValue::UInt(value) => i64::from(value),
        NumberValue::ULong(value) | NumberValue::ULongLong(value) => value as i64,
        NumberValue::Float(_) | NumberValue::Double(_) => return Err(format!("`{text}` is not a whole number")),
    })
}

/// Binding strength, loosest first.
fn level(operator: &str) -> Option<usize> {
    Some(match operator {
        "||" => 0,
        "&&" => 1,
        "|" => 2,
        "^" => 3,
        "&" => 4,
        "==" | "!=" => 5,
        "<" | "<=" | ">" | ">=" => 6,
        "<<" | ">>" => 7,
        "+" | "-" => 8,
        "*" | "/" | "%" => 9,
        _ => return None,
    })
}

fn apply(operator: &str, left: i64, right: i64, live: bool) -> Result<i64, String> {
    Ok(match operator {
        "||" => i64::from(left != 0 || right != 0),
        "&&" => i64::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<" => i64::from(left < right),
        "<=" => i64::from(left <= right),
        ">" => i64::from(left > right),
        ">=" => i64::from(left >= right),
        "<<" => left.wrapping_shl(right as u32),
        ">>" => left.wrapping_shr(right as u32),
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" | "%" if right == 0 && live => return Err("division by zero in a condition".to_string()),
        "/" | "%" if right == 0 => 0,
        "/" => left.wrapping_div(right),
        _ => left.wrapping_rem(right),
    })
}
