//! From tokens to shapes: definitions and statements. [`crate::expressions`] has the rest.
//!
//! The parser knows what SaC looks like, and no more: a macro may stand for an expression, a statement or a definition. A statement that it cannot read
//! is skipped to its end.

use crate::expressions::Place;
use crate::lossless::{Kind, Lexed};
use crate::shape::{Block, Body, Brackets, Elements, Function, List, Shape, Statement, T};
use std::collections::BTreeSet;
use std::ops::Range;

/// The tokens have no shape that is known.
pub(crate) struct NoShape;

pub(crate) type Result<V> = std::result::Result<V, NoShape>;

/// Deeper nesting stays as it is, or parser and printer would need a stack without bounds.
const MOST_DEPTH: usize = 200;

pub(crate) struct Parser<'a> {
    pub(crate) lexed: &'a Lexed<'a>,
    pub(crate) at: usize,
    /// Of the item.
    pub(crate) end: usize,
    depth: usize,
    /// How many brackets are open within the statement: in brackets lines end nothing.
    pub(crate) brackets: usize,
    /// A `{` opens a block, not the literal of a struct.
    pub(crate) heads_block: bool,
    /// Where statements without a known shape begin.
    pub(crate) unknown: Vec<T>,
    pub(crate) quoting: &'a BTreeSet<&'a str>,
    /// A token was taken where there is none.
    overran: bool,
}

const STATEMENT_WORDS: [&str; 6] = ["if", "else", "while", "for", "do", "return"];

/// Declarations that consist of words, names and sets of names.
const CLAUSES: [&str; 8] = ["module", "class", "use", "import", "export", "provide", "deprecated", "implements"];

/// The macros of a text that make strings of arguments.
pub(crate) fn quoting_macros<'a>(lexed: &Lexed<'a>) -> BTreeSet<&'a str> {
    let directives = (0..lexed.tokens.len()).filter(|token| lexed.tokens[*token].kind == Kind::Directive);
    let definitions = directives.filter_map(|token| {
        let text = lexed.text_of(token).trim_start_matches('#').trim_start();
        let (name, rest) = text.strip_prefix("define")?.trim_start().split_once('(')?;
        let body = rest.split_once(')')?.1.replace("##", "");
        body.contains('#').then_some(name)
    });
    definitions.collect()
}

/// The shapes of an item.
pub(crate) fn item<'a>(
    lexed: &'a Lexed<'a>,
    tokens: Range<usize>,
    quoting: &'a BTreeSet<&'a str>,
) -> (Result<Shape>, Vec<T>) {
    let mut parser = Parser {
        lexed,
        at: tokens.start,
        end: tokens.end,
        depth: 0,
        brackets: 0,
        heads_block: false,
        unknown: Vec::new(),
        quoting,
        overran: false,
    };
    let shape = parser.item();
    let whole = parser.at == parser.end && !parser.overran;
    (shape.and_then(|shape| if whole { Ok(shape) } else { Err(NoShape) }), parser.unknown)
}

impl<'a> Parser<'a> {
    pub(crate) fn kind(&self) -> Kind {
        self.kind_at(0)
    }

    pub(crate) fn kind_at(&self, ahead: usize) -> Kind {
        if self.at + ahead < self.end { self.lexed.tokens[self.at + ahead].kind } else { Kind::End }
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text_at(0)
    }

    /// Of a token near the cursor; empty behind the item.
    pub(crate) fn text_at(&self, ahead: isize) -> &'a str {
        let at = self.at.saturating_add_signed(ahead);
        if at < self.end { self.lexed.text_of(at) } else { "" }
    }

    pub(crate) fn text_of(&self, token: T) -> &'a str {
        self.lexed.text_of(token)
    }

    pub(crate) fn advance(&mut self) -> T {
        if self.at == self.end {
            self.overran = true;
            return self.end.saturating_sub(1);
        }
        self.at += 1;
        self.at - 1
    }

    pub(crate) fn token(&mut self) -> Shape {
        Shape::Token(self.advance())
    }

    pub(crate) fn expect(&mut self, text: &str) -> Result<T> {
        if self.text() == text { Ok(self.advance()) } else { Err(NoShape) }
    }

    pub(crate) fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MOST_DEPTH { Err(NoShape) } else { Ok(()) }
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    pub(crate) fn in_brackets(&self) -> bool {
        self.brackets > 0
    }

    pub(crate) fn is_statement_word(&self) -> bool {
        STATEMENT_WORDS.contains(&self.text())
    }

    fn item(&mut self) -> Result<Shape> {
        match self.kind() {
            Kind::Directive | Kind::Raw => return Ok(Shape::Line(self.advance())),
            Kind::Semi => return Ok(self.token()),
            Kind::Word => {}
            // Functions are also named by operators.
            _ if self.text() == "..." => {}
            _ => return Err(NoShape),
        }
        match self.text() {
            word if CLAUSES.contains(&word) => self.clause(),
            "typedef" | "objdef" | "classtype" => self.simple(),
            "external" if matches!(self.text_at(1), "classtype" | "typedef" | "objdef") => self.simple(),
            "struct" if self.text_at(2) == "{" => self.structure(),
            _ => self.function_or_call(),
        }
    }

    fn clause(&mut self) -> Result<Shape> {
        let mut parts = Vec::new();
        while self.kind() != Kind::Semi {
            let part = match self.kind() {
                Kind::Word | Kind::Quoted | Kind::Number => self.token(),
                Kind::Colon | Kind::Comma if !parts.is_empty() => self.token(),
                Kind::Open if self.text() == "{" => self.names()?,
                _ => return Err(NoShape),
            };
            match (self.lexed.tokens[self.at - 1].kind, parts.pop()) {
                (Kind::Colon | Kind::Comma, Some(before)) => parts.push(Shape::Glued(vec![before, part])),
                (_, before) => {
                    parts.extend(before);
                    parts.push(part);
                }
            }
        }
        let semicolon = self.expect(";")?;
        Ok(Shape::Statement(Box::new(Statement::Clause(parts, semicolon))))
    }

    /// Names in braces, of which some are operators.
    fn names(&mut self) -> Result<Shape> {
        let open = self.advance();
        let mut elements = Vec::new();
        while self.text() != "}" {
            let mut parts = Vec::new();
            while !matches!(self.kind(), Kind::Comma | Kind::Close) {
                if matches!(self.kind(), Kind::Directive | Kind::Raw | Kind::End | Kind::Semi | Kind::Open) {
                    return Err(NoShape);
                }
                let apart = !parts.is_empty() && self.lexed.tokens[self.at].spaced;
                let part = self.token();
                match parts.pop() {
                    Some(Shape::Glued(mut glued)) if !apart => {
                        glued.push(part);
                        parts.push(Shape::Glued(glued));
                    }
                    before => {
                        parts.extend(before);
                        parts.push(Shape::Glued(vec![part]));
                    }
                }
            }
            let comma = (self.kind() == Kind::Comma).then(|| self.advance());
            elements.push((Shape::Spaced(parts), comma));
            if comma.is_none() {
                break;
            }
        }
        let close = self.expect("}")?;
        Ok(Shape::List(Box::new(List { brackets: Brackets::Names, open, elements, close })))
    }

    fn structure(&mut self) -> Result<Shape> {
        let head = Shape::Spaced(vec![self.token(), self.token()]);
        let block = self.block()?;
        let semicolon = self.expect(";")?;
        Ok(Shape::Statement(Box::new(Statement::Struct { head, block, semicolon })))
    }

    /// A function, or a macro that stands for definitions.
    fn function_or_call(&mut self) -> Result<Shape> {
        if self.text_at(1) == "(" && self.kind() == Kind::Word {
            let start = self.at;
            let call = self.expression(Place::default())?;
            if self.at == self.end || self.kind() == Kind::Semi && self.at + 1 == self.end {
                let semicolon = (self.kind() == Kind::Semi).then(|| self.advance());
                return Ok(Shape::Statement(Box::new(Statement::Simple(call, semicolon))));
            }
            self.at = start;
        }
        let mut head = Vec::new();
        while self.text() != "(" {
            let part = match self.kind() {
                Kind::Word | Kind::Dot => {
                    let mut parts = vec![self.token()];
                    while self.kind() == Kind::ColonColon {
                        parts.push(self.token());
                        parts.push(self.token());
                    }
                    if self.text() == "[" {
                        parts.push(self.list(Brackets::Square, Place::default())?);
                    }
                    Shape::Glued(parts)
                }
                // The pieces of a name out of a macro.
                Kind::Directive if self.text() == "##" && !head.is_empty() => self.token(),
                Kind::Comma if !head.is_empty() => {
                    let before = head.pop().ok_or(NoShape)?;
                    Shape::Glued(vec![before, self.token()])
                }
                Kind::Operator | Kind::Arrow | Kind::Assign => {
                    let mut parts = vec![self.token()];
                    while self.text() != "(" {
                        if !matches!(self.kind(), Kind::Operator | Kind::Arrow | Kind::Assign)
                            || self.lexed.tokens[self.at].spaced
                        {
                            return Err(NoShape);
                        }
                        parts.push(self.token());
                    }
                    Shape::Glued(parts)
                }
                _ => return Err(NoShape),
            };
            head.push(part);
        }
        if head.is_empty() {
            return Err(NoShape);
        }
        let mut parameters = self.parameters()?;
        // A macro may make the name.
        while self.text() == "(" {
            let name = head.pop().ok_or(NoShape)?;
            head.push(Shape::Glued(vec![name, parameters]));
            parameters = self.parameters()?;
        }
        let conditions = if self.text() == "|" { Some((self.advance(), self.conditions()?)) } else { None };
        let body = match self.text() {
            ";" => Body::Semicolon(self.advance()),
            "{" => Body::Block(self.block()?),
            _ => return Err(NoShape),
        };
        Ok(Shape::Function(Box::new(Function { head, parameters, conditions, body })))
    }

    fn conditions(&mut self) -> Result<Elements> {
        let mut conditions = Vec::new();
        // The body follows.
        self.heads_block = true;
        loop {
            let condition = self.expression(Place::default())?;
            let comma = (self.kind() == Kind::Comma).then(|| self.advance());
            conditions.push((condition, comma));
            if comma.is_none() {
                self.heads_block = false;
                return Ok(conditions);
            }
        }
    }

    pub(crate) fn block(&mut self) -> Result<Block> {
        self.enter()?;
        let (brackets, heads_block) = (std::mem::take(&mut self.brackets), std::mem::take(&mut self.heads_block));
        let open = self.expect("{")?;
        let mut statements = Vec::new();
        while self.text() != "}" {
            if self.kind() == Kind::End {
                return Err(NoShape);
            }
            statements.push(self.statement_or_unknown()?);
        }
        let close = self.expect("}")?;
        (self.brackets, self.heads_block) = (brackets, heads_block);
        self.leave();
        Ok(Block { open, statements, close })
    }

    /// A statement; what has no known shape is taken up to where a statement must end.
    fn statement_or_unknown(&mut self) -> Result<Shape> {
        let (start, depth) = (self.at, self.depth);
        let unknown = self.unknown.len();
        match self.statement() {
            Ok(statement) => Ok(statement),
            Err(NoShape) => {
                (self.at, self.depth, self.brackets, self.heads_block) = (self.statement_end(start)?, depth, 0, false);
                self.unknown.truncate(unknown);
                self.unknown.push(start);
                Ok(Shape::Unknown(start, self.at))
            }
        }
    }

    /// Behind the semicolon or the block that ends a statement.
    fn statement_end(&self, start: T) -> Result<T> {
        let mut depth = 0;
        for at in start..self.end {
            match (self.lexed.tokens[at].kind, self.lexed.text_of(at)) {
                (Kind::Open, _) => depth += 1,
                (Kind::Close, _) if depth == 0 => return if at > start { Ok(at) } else { Err(NoShape) },
                (Kind::Close, text) => {
                    depth -= 1;
                    let behind = self.lexed.text_of(at + 1);
                    let goes_on = matches!(behind, ";" | ":" | "else" | "while") || !self.lexed.breaks_before(at + 1);
                    if depth == 0 && text == "}" && !goes_on {
                        return Ok(at + 1);
                    }
                }
                (Kind::Semi, _) if depth == 0 => return Ok(at + 1),
                _ => {}
            }
        }
        Err(NoShape)
    }

    pub(crate) fn statement(&mut self) -> Result<Shape> {
        self.enter()?;
        let shape = match self.text() {
            _ if matches!(self.kind(), Kind::Directive | Kind::Raw) => Shape::Line(self.advance()),
            "{" => Shape::Block(Box::new(self.block()?)),
            ";" => self.token(),
            "if" | "while" | "for" => self.controlled()?,
            "do" => {
                let (word, body) = (self.advance(), self.statement()?);
                if self.text() != "while" {
                    return Err(NoShape);
                }
                let end = vec![self.token(), self.list(Brackets::Round, Place::default())?];
                let end = Shape::Glued(vec![Shape::Spaced(end), Shape::Token(self.expect(";")?)]);
                Shape::Statement(Box::new(Statement::Do { word, body, end }))
            }
            "return" => {
                let word = self.advance();
                let value = if self.kind() == Kind::Semi { None } else { Some(self.expression(Place::default())?) };
                let inner = Shape::Statement(Box::new(Statement::Return(word, value)));
                let semicolon = self.expect(";")?;
                Shape::Statement(Box::new(Statement::Simple(inner, Some(semicolon))))
            }
            _ => self.simple()?,
        };
        self.leave();
        Ok(shape)
    }

    fn controlled(&mut self) -> Result<Shape> {
        let is_if = self.text() == "if";
        let is_for = self.text() == "for";
        let word = self.token();
        if self.text() != "(" {
            return Err(NoShape);
        }
        let list = if is_for { self.for_head()? } else { self.list(Brackets::Round, Place::default())? };
        let head = Shape::Spaced(vec![word, list]);
        let body = self.statement()?;
        let otherwise = if is_if && self.text() == "else" { Some((self.advance(), self.statement()?)) } else { None };
        Ok(Shape::Statement(Box::new(Statement::Controlled { head, body, otherwise })))
    }

    /// `(init; condition; step)`, as a list with semicolons.
    fn for_head(&mut self) -> Result<Shape> {
        self.brackets += 1;
        let open = self.advance();
        let mut elements = Vec::new();
        while self.text() != ")" {
            let element = if self.kind() == Kind::Semi { Shape::Glued(Vec::new()) } else { self.assignment()? };
            let semicolon = (self.kind() == Kind::Semi).then(|| self.advance());
            elements.push((element, semicolon));
            if semicolon.is_none() {
                break;
            }
        }
        let close = self.expect(")")?;
        self.brackets -= 1;
        Ok(Shape::List(Box::new(List { brackets: Brackets::Round, open, elements, close })))
    }

    /// What a semicolon ends; a macro may bring that along.
    fn simple(&mut self) -> Result<Shape> {
        let shape = self.assignment()?;
        if self.kind() == Kind::Semi {
            let semicolon = self.advance();
            return Ok(Shape::Statement(Box::new(Statement::Simple(shape, Some(semicolon)))));
        }
        let breaks = self.kind() == Kind::End || self.text() == "}" || self.lexed.breaks_before(self.at);
        if self.text() == "{" {
            let body = Shape::Block(Box::new(self.block()?));
            return Ok(Shape::Statement(Box::new(Statement::Controlled { head: shape, body, otherwise: None })));
        }
        // An operator would go on with it, a name on the next line does not.
        let ends = matches!(self.kind(), Kind::Word | Kind::Close | Kind::End | Kind::Directive);
        if breaks && ends { Ok(Shape::Statement(Box::new(Statement::Simple(shape, None)))) } else { Err(NoShape) }
    }

    /// `a, b = value`, or a sole expression.
    fn assignment(&mut self) -> Result<Shape> {
        let mut targets = Vec::new();
        loop {
            let target = self.expression(Place::default())?;
            let comma = (self.kind() == Kind::Comma).then(|| self.advance());
            targets.push((target, comma));
            if comma.is_none() {
                break;
            }
        }
        let assign = if self.kind() == Kind::Assign {
            let assign = self.advance();
            let mut value = self.expression(Place::default())?;
            // The second assignment of a `for`.
            while self.in_brackets() && self.kind() == Kind::Comma {
                let comma = self.token();
                value = Shape::Spaced(vec![Shape::Glued(vec![value, comma]), self.assignment()?]);
            }
            Some((assign, value))
        } else {
            None
        };
        match (&assign, targets.len()) {
            (None, 1) => Ok(targets.remove(0).0),
            _ => Ok(Shape::Statement(Box::new(Statement::Assign { targets, assign }))),
        }
    }
}
