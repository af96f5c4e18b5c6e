//! Expressions: operators by how they bind, brackets, with-loops and comprehensions.

use crate::lossless::Kind;
use crate::shape::{Arm, Block, Brackets, Chain, Choice, Comprehension, List, Partition, Shape, Statement, T, With};
use crate::shapes::{NoShape, Parser, Result};

/// Where an expression stands.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place {
    /// In front of the bounds of a comprehension, where `|` is no operator.
    before_bounds: bool,
    /// Among the parameters of a function, where `&` marks one.
    parameter: bool,
}

/// Operators from the loosest to the tightest; all others bind tighter.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", "<=", ">", ">="],
    &["++"],
    &["<<", ">>"],
    &["+", "-"],
];

const PRODUCT: usize = LEVELS.len();
/// Operators that users define.
const OWN: usize = PRODUCT + 1;

fn level_of(operator: &str) -> usize {
    let product = matches!(operator, "*" | "/" | "%");
    LEVELS.iter().position(|level| level.contains(&operator)).unwrap_or(if product { PRODUCT } else { OWN })
}

fn is_prefix(operator: &str) -> bool {
    matches!(operator, "-" | "+" | "!" | "~" | "++" | "--")
}

impl Parser<'_> {
    /// Anything that stands between separators: also a declaration, whose words follow one another.
    pub(crate) fn expression(&mut self, place: Place) -> Result<Shape> {
        let first = self.choice(place)?;
        let mut parts = vec![first];
        while self.another_begins(place) {
            if self.is_filter_word() {
                parts.push(self.token());
                parts.push(self.choice(place)?);
            } else if self.text() == "&" {
                let mark = self.token();
                parts.push(Shape::Glued(vec![mark, self.choice(place)?]));
            } else {
                parts.push(self.choice(place)?);
            }
        }
        Ok(one_or(parts, Shape::Spaced))
    }

    /// Whether something follows a whole expression with no operator in between.
    fn another_begins(&self, place: Place) -> bool {
        let same_line = !self.lexed.breaks_before(self.at) || self.in_brackets();
        match self.kind() {
            Kind::Word => same_line && !self.is_statement_word(),
            Kind::Number => same_line,
            Kind::Quoted => true,
            Kind::Operator => place.parameter && self.text() == "&",
            _ => false,
        }
    }

    /// `step` or `width` of a generator; both are also good names.
    fn is_filter_word(&self) -> bool {
        let goes_on = !self.ends_after(self.at + 1)
            && !matches!(self.lexed.tokens[self.at + 1].kind, Kind::Assign | Kind::Operator);
        matches!(self.text(), "step" | "width") && goes_on
    }

    fn choice(&mut self, place: Place) -> Result<Shape> {
        self.enter()?;
        let mut arms = Vec::new();
        let mut last = self.chain(0, place)?;
        while self.kind() == Kind::Question {
            let question = self.advance();
            let value = self.choice(Place::default())?;
            let colon = self.expect(":")?;
            arms.push(Arm { condition: last, question, value, colon });
            last = self.chain(0, place)?;
        }
        self.leave();
        Ok(if arms.is_empty() { last } else { Shape::Choice(Box::new(Choice { arms, otherwise: last })) })
    }

    /// The tokens of the operator at the cursor and how it binds, if an operand follows it.
    ///
    /// What stands together may be an operator that the user has defined; what may stand in front of an operand is taken for that.
    fn operator(&self, place: Place) -> Option<(usize, usize)> {
        if self.kind() == Kind::Word && self.kind_at(1) == Kind::ColonColon && self.is_piece(self.at + 2) {
            // One of a module, between its operands.
            let mut run = 3;
            while self.is_piece(self.at + run)
                && !self.lexed.tokens[self.at + run].spaced
                && !is_prefix(self.lexed.text_of(self.at + run))
            {
                run += 1;
            }
            return Some((run, level_of(self.text_at(2))));
        }
        if self.kind() != Kind::Operator
            || place.before_bounds && self.text() == "|"
            || place.parameter && self.text() == "&"
        {
            return None;
        }
        let mut run = 1;
        while self.is_piece(self.at + run) && !self.lexed.tokens[self.at + run].spaced {
            run += 1;
        }
        if (1..run).all(|next| is_prefix(self.lexed.text_of(self.at + next))) {
            return Some((1, level_of(self.text())));
        }
        Some((run, OWN))
    }

    fn is_piece(&self, at: usize) -> bool {
        at < self.end && matches!(self.lexed.tokens[at].kind, Kind::Operator | Kind::Arrow | Kind::Assign)
    }

    fn chain(&mut self, level: usize, place: Place) -> Result<Shape> {
        let first = if level < OWN { self.chain(level + 1, place)? } else { self.operand(place)? };
        let mut rest = Vec::new();
        while let Some((length, found)) = self.operator(place) {
            if found != level || self.ends_after(self.at + length) {
                break;
            }
            let tokens: Vec<T> = (self.at..self.at + length).collect();
            self.at += length;
            let operand = if level < OWN { self.chain(level + 1, place)? } else { self.operand(place)? };
            rest.push((tokens, operand));
        }
        Ok(if rest.is_empty() { first } else { Shape::Chain(Box::new(Chain { first, rest })) })
    }

    /// Whether no operand begins at a token.
    fn ends_after(&self, at: usize) -> bool {
        matches!(
            self.lexed.tokens[at].kind,
            Kind::Close
                | Kind::Comma
                | Kind::Semi
                | Kind::Colon
                | Kind::Question
                | Kind::End
                | Kind::Directive
                | Kind::Raw
        )
    }

    fn operand(&mut self, place: Place) -> Result<Shape> {
        self.enter()?;
        let shape = match self.kind() {
            Kind::Operator => self.prefixed(place)?,
            Kind::Open if self.text() == "(" => {
                let list = self.list(Brackets::Round, Place::default())?;
                if self.is_cast(&list) {
                    let value = self.operand(place)?;
                    Shape::Spaced(vec![list, value])
                } else {
                    self.postfix(list)?
                }
            }
            Kind::Open if self.text() == "[" => {
                let list = self.list(Brackets::Square, Place::default())?;
                self.postfix(list)?
            }
            Kind::Open if self.is_comprehension() => {
                let comprehension = self.comprehension()?;
                self.postfix(comprehension)?
            }
            Kind::Open => self.list(Brackets::Curly, Place::default())?,
            Kind::Word if self.text() == "with" && self.text_at(1) == "{" => self.with_loop()?,
            Kind::Word if self.is_statement_word() => return Err(NoShape),
            Kind::Word => {
                let mut parts = vec![self.token()];
                while self.kind() == Kind::ColonColon {
                    parts.push(self.token());
                    parts.push(self.token());
                    // An operator of a module.
                    while self.is_piece(self.at) && !self.lexed.tokens[self.at].spaced && self.text_at(1) != "::" {
                        parts.push(self.token());
                    }
                }
                self.postfix(one_or(parts, Shape::Glued))?
            }
            Kind::Number | Kind::Quoted => {
                let literal = self.token();
                self.postfix(literal)?
            }
            Kind::Dot => {
                let token = self.token();
                // `.name = value` in the literal of a struct.
                if self.text_at(-1) == "." && self.kind() == Kind::Word && self.text_at(1) == "=" {
                    let name = self.token();
                    let (assign, value) = (self.token(), self.choice(place)?);
                    Shape::Spaced(vec![Shape::Glued(vec![token, name]), assign, value])
                } else {
                    token
                }
            }
            _ => return Err(NoShape),
        };
        self.leave();
        Ok(shape)
    }

    /// An operator in front of its operand, or one that stands for itself.
    fn prefixed(&mut self, place: Place) -> Result<Shape> {
        let alone = self.ends_after(self.at + 1);
        if is_prefix(self.text()) && !alone {
            let operator = self.token();
            // Two operators that stand apart would become one.
            let apart = self.is_piece(self.at) && self.lexed.tokens[self.at].spaced;
            let parts = vec![operator, self.operand(place)?];
            return Ok(if apart { Shape::Spaced(parts) } else { Shape::Glued(parts) });
        }
        // What stands together may be one operator.
        if self.at > 0 && self.is_piece(self.at - 1) && !self.lexed.tokens[self.at].spaced {
            return Err(NoShape);
        }
        let mut parts = vec![self.token()];
        while self.is_piece(self.at) && !self.lexed.tokens[self.at].spaced {
            parts.push(self.token());
        }
        let name = one_or(parts, Shape::Glued);
        self.postfix(name)
    }

    /// Selections, arguments, fields, `++` and `--` behind an operand.
    fn postfix(&mut self, mut shape: Shape) -> Result<Shape> {
        loop {
            let next = match self.kind() {
                Kind::Open if self.text() == "(" && self.is_quoting(&shape) => self.as_it_is()?,
                Kind::Open if self.text() == "(" => self.list(Brackets::Round, Place::default())?,
                Kind::Open if self.text() == "[" => self.list(Brackets::Square, Place::default())?,
                Kind::Open if self.begins_literal(&shape) => self.list(Brackets::Curly, Place::default())?,
                Kind::Dot if self.text() == "." && self.kind_at(1) == Kind::Word => {
                    let dot = self.token();
                    Shape::Glued(vec![dot, self.token()])
                }
                Kind::Operator if matches!(self.text(), "++" | "--") && self.ends_after(self.at + 1) => self.token(),
                // An index vector with names for its components, in a generator.
                Kind::Assign if self.text() == "=" && self.text_at(1) == "[" && self.in_brackets() => {
                    let assign = self.token();
                    Shape::Glued(vec![assign, self.list(Brackets::Square, Place::default())?])
                }
                _ => return Ok(shape),
            };
            shape = match shape {
                Shape::Glued(mut parts) => {
                    parts.push(next);
                    Shape::Glued(parts)
                }
                other => Shape::Glued(vec![other, next]),
            };
        }
    }

    /// Whether a macro makes strings of its arguments, in which blanks count.
    fn is_quoting(&self, name: &Shape) -> bool {
        matches!(name, Shape::Token(token) if self.quoting.contains(self.text_of(*token)))
    }

    /// Brackets whose content stays.
    fn as_it_is(&mut self) -> Result<Shape> {
        let start = self.at;
        let mut depth = 0;
        loop {
            match self.kind() {
                Kind::Open => depth += 1,
                Kind::Close => depth -= 1,
                Kind::End | Kind::Directive | Kind::Raw => return Err(NoShape),
                _ => {}
            }
            self.advance();
            if depth == 0 {
                return Ok(Shape::Unknown(start, self.at));
            }
        }
    }

    /// Whether a `{` opens the fields of a struct whose name has been read.
    fn begins_literal(&self, name: &Shape) -> bool {
        let is_name = match name {
            Shape::Token(token) => self.lexed.tokens[*token].kind == Kind::Word,
            Shape::Glued(parts) => parts.iter().all(|part| {
                matches!(part, Shape::Token(token) if matches!(self.lexed.tokens[*token].kind, Kind::Word | Kind::ColonColon))
            }),
            _ => false,
        };
        is_name && self.text() == "{" && !self.heads_block && !self.lexed.breaks_before(self.at)
    }

    /// Whether what was read is a type in parentheses that converts what follows.
    fn is_cast(&self, list: &Shape) -> bool {
        let Shape::List(list) = list else { return false };
        let is_type = match &list.elements[..] {
            [(Shape::Token(token), None)] => self.lexed.tokens[*token].kind == Kind::Word,
            [(Shape::Glued(_), None)] => {
                self.text_of(list.open + 1).chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            }
            [(Shape::Spaced(_), None)] => self.text_of(list.open + 1) == "struct",
            _ => self.text_of(list.open + 1) == ":",
        };
        let next = &self.lexed.tokens[self.at];
        let behind = &self.lexed.tokens[self.at + usize::from(next.kind != Kind::End)];
        is_type
            && match next.kind {
                Kind::Word => !self.is_statement_word() && !matches!(self.text(), "step" | "width"),
                Kind::Number | Kind::Quoted => true,
                Kind::Open if self.text() == "{" => !self.heads_block,
                Kind::Open => is_base_type(self.text_of(list.open + 1)) || next.spaced,
                // `(Real) -x` or `(a) - x`: the author's blanks tell.
                Kind::Operator if is_prefix(self.text()) => {
                    is_base_type(self.text_of(list.open + 1)) || next.spaced && !behind.spaced
                }
                _ => false,
            }
    }

    pub(crate) fn list(&mut self, brackets: Brackets, place: Place) -> Result<Shape> {
        self.enter()?;
        self.brackets += 1;
        let heads_block = std::mem::take(&mut self.heads_block);
        let open = self.advance();
        let mut elements = Vec::new();
        while self.kind() != Kind::Close {
            let element = self.element(brackets, place)?;
            let comma = (self.kind() == Kind::Comma).then(|| self.advance());
            elements.push((element, comma));
            if comma.is_none() {
                break;
            }
        }
        let close = self.expect(match brackets {
            Brackets::Round => ")",
            Brackets::Square => "]",
            Brackets::Curly | Brackets::Names => "}",
        })?;
        self.heads_block = heads_block;
        self.brackets -= 1;
        self.leave();
        Ok(Shape::List(Box::new(List { brackets, open, elements, close })))
    }

    pub(crate) fn parameters(&mut self) -> Result<Shape> {
        self.list(Brackets::Round, Place { parameter: true, ..Place::default() })
    }

    fn element(&mut self, brackets: Brackets, place: Place) -> Result<Shape> {
        // The type of an empty array, `[:int]`, or a cast that says so.
        if self.kind() == Kind::Colon && brackets != Brackets::Curly {
            let colon = self.token();
            return Ok(Shape::Glued(vec![colon, self.expression(place)?]));
        }
        let first = self.expression(place)?;
        match self.kind() {
            // Axes of a type.
            Kind::Colon if brackets == Brackets::Square => {
                let colon = self.token();
                Ok(Shape::Tight(Box::new(Shape::Glued(vec![first, colon, self.expression(place)?]))))
            }
            Kind::Assign => {
                let assign = self.token();
                Ok(Shape::Spaced(vec![first, assign, self.expression(place)?]))
            }
            _ => Ok(first),
        }
    }

    fn is_comprehension(&self) -> bool {
        if self.text() != "{" {
            return false;
        }
        let mut at = self.at + 1;
        if self.lexed.text_of(at) == "[" {
            while at < self.end && self.lexed.text_of(at) != "]" {
                at += 1;
            }
        } else if self.lexed.tokens[at].kind != Kind::Word {
            return false;
        }
        at + 1 < self.end && self.lexed.tokens[at + 1].kind == Kind::Arrow
    }

    fn comprehension(&mut self) -> Result<Shape> {
        self.enter()?;
        self.brackets += 1;
        let heads_block = std::mem::take(&mut self.heads_block);
        let open = self.advance();
        let mut partitions = Vec::new();
        let place = Place { before_bounds: true, ..Place::default() };
        while self.text() != "}" {
            let index = self.operand(place)?;
            let arrow = self.expect("->")?;
            let cell = self.expression(place)?;
            let bounds = if self.text() == "|" { Some((self.advance(), self.expression(place)?)) } else { None };
            let semicolon = (self.kind() == Kind::Semi).then(|| self.advance());
            partitions.push(Partition { index, arrow, cell, bounds, semicolon });
            if semicolon.is_none() {
                break;
            }
        }
        let close = self.expect("}")?;
        self.heads_block = heads_block;
        self.brackets -= 1;
        self.leave();
        Ok(Shape::Comprehension(Box::new(Comprehension { open, partitions, close })))
    }

    fn with_loop(&mut self) -> Result<Shape> {
        self.enter()?;
        let (brackets, heads_block) = (std::mem::take(&mut self.brackets), std::mem::take(&mut self.heads_block));
        let with = self.advance();
        let open = self.expect("{")?;
        let mut statements = Vec::new();
        while self.text() != "}" {
            statements.push(if self.kind() == Kind::Directive {
                Shape::Line(self.advance())
            } else {
                self.with_part()?
            });
        }
        let close = self.expect("}")?;
        let colon = self.expect(":")?;
        self.brackets = brackets + 1;
        let operators = self.operand(Place::default())?;
        (self.brackets, self.heads_block) = (brackets, heads_block);
        self.leave();
        Ok(Shape::With(Box::new(With { with, body: Block { open, statements, close }, colon, operators })))
    }

    fn with_part(&mut self) -> Result<Shape> {
        // A macro may stand for a generator.
        let generator = self.operand(Place::default())?;
        let mut pragmas = Vec::new();
        while self.kind() == Kind::Directive {
            pragmas.push(self.advance());
        }
        let block = if self.text() == "{" { Some(self.block()?) } else { None };
        let value = if self.text() == ":" { Some((self.advance(), self.expression(Place::default())?)) } else { None };
        let semicolon = self.expect(";")?;
        Ok(Shape::Statement(Box::new(Statement::Partition { generator, pragmas, block, value, semicolon })))
    }
}

fn is_base_type(word: &str) -> bool {
    matches!(
        word,
        "bool"
            | "char"
            | "byte"
            | "short"
            | "int"
            | "long"
            | "longlong"
            | "ubyte"
            | "ushort"
            | "uint"
            | "ulong"
            | "ulonglong"
            | "float"
            | "double"
            | ":"
    )
}

fn one_or(mut parts: Vec<Shape>, many: impl FnOnce(Vec<Shape>) -> Shape) -> Shape {
    match parts.len() {
        1 => parts.remove(0),
        _ => many(parts),
    }
}
