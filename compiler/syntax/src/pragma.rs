//! `#pragma kind arguments`: how far it extends follows from its kind, as a macro may put one in mid-line.

use crate::ast::{Ident, Pragma, PragmaArgs, QName};
use crate::errors::SyntaxError;
use crate::literal::{self, parse_number};
use crate::tokens::{Kind, TextId, Texts, Token};
use ravel_diagnostics::Diagnostic;
use ravel_source::Span;
use std::sync::Arc;

/// Kinds of pragmas that Ravel, or the compiler sac2c, has a meaning for.
pub const PRAGMAS: [&str; 30] = [
    "linkname",
    "linkobj",
    "linkwith",
    "linksign",
    "linksetname",
    "header",
    "copyfun",
    "freefun",
    "initfun",
    "ctype",
    "cudalinkname",
    "mutcthreadfun",
    "refcounting",
    "refcountdots",
    "sacarg",
    "gpumem",
    "gpukernel",
    "effect",
    "nocuda",
    "noinline",
    "safe",
    "associative",
    "fieldwise",
    "family",
    "derivative",
    "tangent",
    "recompute",
    "checkpoint",
    "wlcomp",
    "cachesim",
];

pub(crate) struct Parsed {
    pub(crate) pragma: Pragma,
    pub(crate) span: Span,
    /// In tokens, from the `#`.
    pub(crate) length: usize,
    pub(crate) error: Option<Diagnostic>,
}

/// The arguments that a kind of pragma takes.
enum Shape {
    Nothing,
    Strings,
    Numbers,
    Names,
    /// A name that may have arguments in parentheses.
    Term,
    RestOfLine,
}

fn shape_of(kind: &str) -> Shape {
    match kind {
        "linkname" | "linkobj" | "linkwith" | "header" | "copyfun" | "freefun" | "initfun" | "ctype"
        | "cudalinkname" | "mutcthreadfun" | "linksetname" => Shape::Strings,
        "linksign" | "refcounting" | "sacarg" | "gpumem" => Shape::Numbers,
        "effect" => Shape::Names,
        "refcountdots" | "nocuda" | "safe" | "associative" | "recompute" => Shape::Nothing,
        "wlcomp" | "gpukernel" => Shape::Term,
        _ => Shape::RestOfLine,
    }
}

/// The pragma at the start of `input`, whose first token is a `#`; nothing if `pragma` does not follow.
pub(crate) fn parse(input: &[Token], texts: &Texts) -> Option<Parsed> {
    let word = |at: usize| input.get(at).filter(|token| token.kind == Kind::Id).map(|token| texts.get(token.text));
    if word(1).is_none_or(|word| &**word != "pragma") {
        return None;
    }
    let Some(kind) = word(2).filter(|_| !input[2].first_on_line) else {
        let span = input[0].span.to(input[1].span);
        let error = SyntaxError::Pragma { name: String::new(), message: "lacks its kind" }.at(span);
        let name = Ident { name: "".into(), span };
        let pragma = Pragma { name, args: PragmaArgs::None, span };
        return Some(Parsed { pragma, span, length: 2, error: Some(error) });
    };
    let mut cursor = Cursor { input, at: 3, texts };
    let (args, problem) = cursor.arguments(shape_of(kind));
    let span = input[0].span.to(input[cursor.at - 1].span);
    let name = Ident { name: kind.clone(), span: input[2].span };
    let error = problem.map(|message| SyntaxError::Pragma { name: kind.to_string(), message }.at(span));
    Some(Parsed { pragma: Pragma { name, args, span }, span, length: cursor.at, error })
}

struct Cursor<'a> {
    input: &'a [Token],
    at: usize,
    texts: &'a Texts,
}

impl Cursor<'_> {
    fn kind(&self) -> Option<Kind> {
        self.input.get(self.at).map(|token| token.kind)
    }

    fn text(&self) -> Arc<str> {
        self.input.get(self.at).map_or_else(|| "".into(), |token| self.texts.get(token.text).clone())
    }

    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.kind() == Some(kind);
        self.at += usize::from(found);
        found
    }

    fn arguments(&mut self, shape: Shape) -> (PragmaArgs, Option<&'static str>) {
        match shape {
            Shape::Nothing => (PragmaArgs::None, None),
            Shape::Strings => self.strings(),
            Shape::Numbers => self.numbers(),
            Shape::Names => self.names(),
            Shape::Term => (PragmaArgs::Other(self.term()), None),
            Shape::RestOfLine => {
                let from = self.at;
                self.at += self.rest_of_line();
                (PragmaArgs::Other(self.spelling(from)), None)
            }
        }
    }

    /// Tokens up to the end of the line, or up to the `)` of a `(` that is open there.
    fn rest_of_line(&self) -> usize {
        let (mut depth, mut line) = (0usize, None);
        let rest = &self.input[self.at..];
        for (count, token) in rest.iter().enumerate() {
            if token.first_on_line {
                line.get_or_insert(count);
                if depth == 0 {
                    return count;
                }
            }
            match token.kind {
                Kind::LParen => depth += 1,
                Kind::RParen => depth = depth.saturating_sub(1),
                Kind::Semi | Kind::LBrace | Kind::RBrace if line.is_some() => break,
                _ => {}
            }
        }
        line.unwrap_or(rest.len())
    }

    fn strings(&mut self) -> (PragmaArgs, Option<&'static str>) {
        let mut list = Vec::new();
        loop {
            if self.kind() != Some(Kind::Str) {
                return (PragmaArgs::Strings(list), Some("takes a string"));
            }
            let mut bytes = Vec::new();
            while self.kind() == Some(Kind::Str) {
                bytes.extend(literal::parse_string(&self.text()).unwrap_or_default());
                self.at += 1;
            }
            list.push(String::from_utf8_lossy(&bytes).as_ref().into());
            if !self.eat(Kind::Comma) {
                return (PragmaArgs::Strings(list), None);
            }
        }
    }

    fn numbers(&mut self) -> (PragmaArgs, Option<&'static str>) {
        const WANTED: Option<&str> = Some("takes a list of numbers in brackets");
        let mut list = Vec::new();
        if !self.eat(Kind::LBracket) {
            return (PragmaArgs::Numbers(list), WANTED);
        }
        while self.kind() == Some(Kind::Num) {
            match parse_number(&self.text()) {
                Ok(crate::ast::NumberValue::Int(value)) => list.push(i64::from(value)),
                _ => return (PragmaArgs::Numbers(list), WANTED),
            }
            self.at += 1;
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        let closed = self.eat(Kind::RBracket);
        (PragmaArgs::Numbers(list), if closed { None } else { WANTED })
    }

    fn names(&mut self) -> (PragmaArgs, Option<&'static str>) {
        let mut list = Vec::new();
        loop {
            if self.kind() != Some(Kind::Id) {
                return (PragmaArgs::Names(list), Some("takes the names of global objects"));
            }
            let mut name = QName { module: None, name: self.text(), span: self.input[self.at].span };
            self.at += 1;
            let follows = self.input.get(self.at + 1).is_some_and(|next| next.kind == Kind::Id);
            if self.kind() == Some(Kind::ColonColon) && follows {
                self.at += 1;
                let span = name.span.to(self.input[self.at].span);
                name = QName { module: Some(name.name), name: self.text(), span };
                self.at += 1;
            }
            list.push(name);
            if !self.eat(Kind::Comma) {
                return (PragmaArgs::Names(list), None);
            }
        }
    }

    fn term(&mut self) -> Arc<str> {
        let from = self.at;
        if self.eat(Kind::Id) && self.kind() == Some(Kind::LParen) {
            let mut depth = 0usize;
            while let Some(kind) = self.kind() {
                self.at += 1;
                match kind {
                    Kind::LParen => depth += 1,
                    Kind::RParen => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
        }
        self.spelling(from)
    }

    /// The tokens since `from`, one blank where there was any.
    fn spelling(&self, from: usize) -> Arc<str> {
        let mut out = String::new();
        for token in &self.input[from..self.at] {
            if !out.is_empty() && (token.space_before || token.first_on_line) {
                out.push(' ');
            }
            if token.text != TextId::NONE {
                out.push_str(self.texts.get(token.text));
            }
        }
        out.into()
    }
}
