//! The rules of layout: from shapes to documents. Expressions have a file of their own, [`crate::layout`].
//!
//! Where one token follows another, [`Rules::gap`] makes what stands between them: blanks, line ends, comments. Every gap of the text is made once, so that
//! no comment is lost.

use crate::lossless::{Kind, Lexed};
use crate::page::Mark;
use crate::shape::{Block, Body, Function, Shape, Statement, T};
use pretty::{Arena, DocAllocator, DocBuilder};

/// Columns of a line.
pub(crate) const WIDTH: usize = 120;
/// Blanks of one level.
pub(crate) const INDENT: isize = 4;

/// Where parameters are no longer aligned.
const RIGHTMOST_PARAMETERS: usize = 60;
/// Where nothing is aligned any more: what follows would be squeezed into the last columns.
const RIGHTMOST: usize = 72;

pub(crate) type Doc<'a> = DocBuilder<'a, Arena<'a, Mark>, Mark>;

/// A document, and whether some line ends in it for certain.
#[derive(Clone)]
pub(crate) struct Laid<'a> {
    pub(crate) doc: Doc<'a>,
    pub(crate) breaks: bool,
}

/// What stands between two tokens if no comment does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    Nothing,
    Blank,
    /// A line end, or a blank if the group fits on a line.
    Line,
    /// A line end, or nothing.
    LineOrNothing,
    LineEnd,
    /// A line end; an empty line stays.
    NextItem,
}

pub(crate) struct Rules<'a> {
    pub(crate) arena: &'a Arena<'a, Mark>,
    pub(crate) lexed: &'a Lexed<'a>,
    /// The next token.
    pub(crate) at: T,
    /// In the extents of a type.
    pub(crate) tight: bool,
    /// The next list is indented, not aligned.
    pub(crate) indents_list: bool,
}

impl<'a> Rules<'a> {
    pub(crate) fn nil(&self) -> Laid<'a> {
        Laid { doc: self.arena.nil(), breaks: false }
    }

    pub(crate) fn text(&self, text: &'a str) -> Laid<'a> {
        Laid { doc: self.arena.text(text), breaks: false }
    }

    pub(crate) fn mark(&self, mark: Mark) -> Doc<'a> {
        self.arena.nil().annotate(mark)
    }

    pub(crate) fn line_end(&self) -> Laid<'a> {
        Laid { doc: self.arena.hardline(), breaks: true }
    }

    /// The next token.
    pub(crate) fn token(&mut self, token: T) -> Laid<'a> {
        debug_assert_eq!(token, self.at, "shapes are in the order of their tokens");
        self.at += 1;
        self.text(self.lexed.text_of(token))
    }

    /// What stands in front of the next token.
    pub(crate) fn gap(&mut self, gap: Gap) -> Laid<'a> {
        let token = &self.lexed.tokens[self.at];
        let inline = |comment: usize| {
            let known = &self.lexed.comments[comment];
            known.lines == 0 && !known.to_line_end && !self.lexed.comment_text(comment).contains('\n')
        };
        let (from, to) = token.comments;
        let ends = matches!(gap, Gap::Line | Gap::LineOrNothing | Gap::LineEnd | Gap::NextItem);
        if ends && self.at > 0 && to > from && token.lines == 0 && (from..to).all(inline) {
            // Comments on the line of both tokens stay with the second one.
            let hard = matches!(gap, Gap::LineEnd | Gap::NextItem);
            let mut laid = if hard { self.line_end() } else { Laid { doc: self.arena.line(), breaks: false } };
            for comment in from..to {
                laid = laid.then(self.text(self.lexed.comment_text(comment))).then(self.text(" "));
            }
            return laid;
        }
        let (comments, rest) = self.gap_in_two(gap);
        comments.then(rest)
    }

    /// Comments in front of the next token, and what follows them: a closing bracket is indented less than the comments before it.
    pub(crate) fn gap_in_two(&mut self, gap: Gap) -> (Laid<'a>, Laid<'a>) {
        let token = &self.lexed.tokens[self.at];
        let keeps_empty = gap == Gap::NextItem;
        let (from, to) = token.comments;
        let mut laid = self.nil();
        for comment in from..to {
            let known = &self.lexed.comments[comment];
            if known.lines > 0 || self.at == 0 && comment == 0 {
                if keeps_empty && known.lines > 1 {
                    laid.doc = laid.doc.append(self.mark(Mark::EmptyLine));
                }
                laid = laid.then(self.line_end());
                laid.doc = laid.doc.append(self.mark(Mark::Comment(comment)));
            } else if known.to_line_end
                || token.lines > 0 && comment + 1 == to
                || self.lexed.comment_text(comment).contains('\n')
            {
                laid.doc = laid.doc.append(self.mark(Mark::Trailing(comment)));
                laid.breaks |= self.lexed.comment_text(comment).contains('\n');
            } else {
                let blank = if known.spaced || gap != Gap::Nothing { " " } else { "" };
                laid.doc =
                    laid.doc.append(self.arena.text(blank)).append(self.arena.text(self.lexed.comment_text(comment)));
            }
        }
        // Directives have lines of their own.
        let is_line = |token: T| {
            matches!(self.lexed.tokens[token].kind, Kind::Directive | Kind::Raw) && self.lexed.begins_line(token)
        };
        let must_end = to > from && (self.lexed.comments[to - 1].to_line_end || token.lines > 0)
            || is_line(self.at)
            || self.at > 0 && is_line(self.at - 1);
        let rest = match gap {
            Gap::NextItem if token.lines > 1 => {
                let end = self.line_end();
                Laid { doc: self.mark(Mark::EmptyLine).append(end.doc), breaks: true }
            }
            Gap::NextItem | Gap::LineEnd if to == from || must_end || self.lexed.comments[from].lines == 0 => {
                self.line_end()
            }
            _ if must_end => self.line_end(),
            Gap::Nothing if to > from && token.spaced && self.lexed.text[..token.start].ends_with(' ') => {
                self.text(" ")
            }
            Gap::Nothing if token.spaced && self.would_join() => self.text(" "),
            Gap::Nothing => self.nil(),
            Gap::Line if to == from => Laid { doc: self.arena.line(), breaks: false },
            Gap::LineOrNothing if to == from => Laid { doc: self.arena.line_(), breaks: false },
            _ => self.text(" "),
        };
        (laid, rest)
    }

    /// Whether the next token might become one with the token before, were there no blank.
    fn would_join(&self) -> bool {
        let Some(before) = self.at.checked_sub(1) else { return false };
        let (last, first) =
            (self.lexed.text_of(before).bytes().next_back(), self.lexed.text_of(self.at).bytes().next());
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let sign = |byte: u8| b"+-*/%=<>!&|^~@:.#".contains(&byte);
        let number = |last: u8, first: u8| {
            first == b'.' && self.lexed.tokens[before].kind == Kind::Number || last == b'.' && first.is_ascii_digit()
        };
        last.zip(first)
            .is_some_and(|(last, first)| word(last) && word(first) || sign(last) && sign(first) || number(last, first))
    }

    /// Further lines begin below the first one, or, if that begins far to the right, are indented by so much.
    pub(crate) fn align_or(&self, laid: Laid<'a>, indent: isize) -> Laid<'a> {
        let (arena, doc) = (self.arena, laid.doc.into_doc());
        let doc = arena.column(move |column| {
            let aligned = move |nesting: usize| {
                let indent = if column > RIGHTMOST { indent } else { column as isize - nesting as isize };
                DocBuilder(arena, doc.into()).nest(indent).into_doc()
            };
            arena.nesting(aligned).into_doc()
        });
        Laid { doc, breaks: laid.breaks }
    }

    pub(crate) fn align(&self, laid: Laid<'a>) -> Laid<'a> {
        self.align_or(laid, 0)
    }

    /// A gap and the token behind it.
    pub(crate) fn next(&mut self, gap: Gap, token: T) -> Laid<'a> {
        self.gap(gap).then(self.token(token))
    }

    /// Whether the author began a line with the next token.
    pub(crate) fn begins_line(&self) -> bool {
        self.lexed.breaks_before(self.at)
    }

    /// Statements in braces, on one line if the author wrote them on one and they fit; whoever takes the document groups it.
    pub(crate) fn block(&mut self, block: &'a Block) -> Laid<'a> {
        let many_lines = self.lexed.breaks_within(block.open, block.close);
        self.block_with(block, many_lines)
    }

    fn block_with(&mut self, block: &'a Block, many_lines: bool) -> Laid<'a> {
        let open = self.token(block.open);
        if block.statements.is_empty() && self.lexed.comments_before(block.close).is_empty() {
            return open.then(self.next(Gap::Blank, block.close));
        }
        let mut inner = self.nil();
        for (number, statement) in block.statements.iter().enumerate() {
            let gap = match (many_lines, number) {
                (true, 0) => Gap::LineEnd,
                (true, _) => Gap::NextItem,
                (false, _) => Gap::Line,
            };
            inner = inner.then(self.gap(gap)).then(self.statement(statement));
        }
        let (comments, end) = self.gap_in_two(if many_lines { Gap::LineEnd } else { Gap::Line });
        open.then(inner.then(comments).nest()).then(end).then(self.token(block.close))
    }

    /// An item of a file, or a statement.
    pub(crate) fn statement(&mut self, shape: &'a Shape) -> Laid<'a> {
        match shape {
            Shape::Block(block) => self.block(block).group(),
            Shape::Line(token) => {
                self.at += 1;
                Laid { doc: self.mark(Mark::Verbatim(*token, token + 1)), breaks: true }
            }
            Shape::Unknown(from, to) => {
                self.at = *to;
                let breaks = self.lexed.breaks_within(*from, to - 1);
                if !breaks {
                    let (start, end) = (self.lexed.tokens[*from].start, self.lexed.tokens[to - 1].end);
                    return self.text(&self.lexed.text[start..end]);
                }
                Laid { doc: self.mark(Mark::Moved(*from, *to)), breaks }
            }
            Shape::Statement(statement) => self.known(statement),
            Shape::Function(function) => self.function(function),
            other => self.expression(other),
        }
    }

    fn known(&mut self, statement: &'a Statement) -> Laid<'a> {
        match statement {
            Statement::Simple(shape, semicolon) => {
                let laid = self.statement(shape);
                match semicolon {
                    Some(semicolon) => laid.then(self.next(Gap::Nothing, *semicolon)),
                    None => laid,
                }
            }
            Statement::Assign { targets, assign } => {
                let targets = self.separated(targets);
                let mut laid = self.align(targets);
                if let Some((assign, value)) = assign {
                    laid = laid.then(self.next(Gap::Blank, *assign)).then(self.value(value, false));
                }
                laid
            }
            Statement::Return(word, None) => self.token(*word),
            Statement::Return(word, Some(value)) => self.token(*word).then(self.value(value, false)),
            Statement::Controlled { head, body, otherwise } => self.controlled(head, body, otherwise.as_ref()),
            Statement::Do { word, body, end } => {
                let laid = self.token(*word).then(self.body_of(body)).group();
                laid.then(self.gap(Gap::Blank)).then(self.expression(end))
            }
            Statement::Partition { generator, pragmas, block, value, semicolon } => {
                let mut laid = self.expression(generator);
                for pragma in pragmas {
                    laid = laid.then(self.gap(Gap::LineEnd));
                    self.at += 1;
                    laid.doc = laid.doc.append(self.mark(Mark::Verbatim(*pragma, pragma + 1)));
                }
                if let Some(block) = block {
                    let gap = if pragmas.is_empty() { Gap::Blank } else { Gap::LineEnd };
                    laid = laid.then(self.gap(gap)).then(self.block(block).group());
                }
                let Some((colon, value)) = value else { return laid.then(self.next(Gap::Nothing, *semicolon)) };
                laid = laid.then(self.next(Gap::Blank, *colon));
                let moves = block.is_none();
                let value = self.value(value, moves);
                // Whether the value fits shows at its semicolon.
                laid.then(value.then(self.next(Gap::Nothing, *semicolon)).group())
            }
            Statement::Clause(parts, semicolon) => {
                let laid = self.sequence(parts, Gap::Blank);
                laid.then(self.next(Gap::Nothing, *semicolon))
            }
            Statement::Struct { head, block, semicolon } => {
                let laid = self.expression(head).then(self.gap(Gap::Blank));
                let laid = laid.then(self.block(block)).group();
                laid.then(self.next(Gap::Nothing, *semicolon))
            }
        }
    }

    /// What is assigned, returned or the value of a partition. If it does not fit, it goes onto a line of its own, where it `moves` or the author began
    /// one.
    fn value(&mut self, value: &'a Shape, moves: bool) -> Laid<'a> {
        let began_line = self.begins_line();
        if !began_line && !moves {
            return self.gap(Gap::Blank).then(self.expression(value));
        }
        let gap = self.gap(Gap::Line);
        let laid = self.expression(value);
        if !laid.breaks || gap.breaks {
            return gap.then(laid).nest().group();
        }
        // With-loops and comprehensions have lines of their own anyway.
        let opens = matches!(value, Shape::With(_) | Shape::Comprehension(_));
        if began_line && !opens { self.line_end().then(laid).nest() } else { self.text(" ").then(laid) }
    }

    /// The body of a loop or a branch, with the gap in front of it.
    fn body_of(&mut self, body: &'a Shape) -> Laid<'a> {
        match body {
            Shape::Block(block) => self.gap(Gap::Blank).then(self.block(block)),
            Shape::Token(semicolon) => self.next(Gap::Nothing, *semicolon),
            other => {
                let gap = if self.begins_line() { Gap::LineEnd } else { Gap::Line };
                self.gap(gap).then(self.statement(other)).nest()
            }
        }
    }

    fn controlled(&mut self, head: &'a Shape, body: &'a Shape, otherwise: Option<&'a (T, Shape)>) -> Laid<'a> {
        let laid = self.expression(head);
        let first = self.body_of(body);
        let Some((word, other)) = otherwise else { return laid.then(first.group()) };
        let begins_line = self.begins_line() || first.breaks;
        let follows_block = matches!(body, Shape::Block(_));
        let join = if follows_block && self.lexed.comments_before(*word).is_empty() {
            Laid { doc: self.mark(Mark::JoinBrace), breaks: false }
        } else {
            self.nil()
        };
        let separator = join.then(self.gap(if begins_line { Gap::LineEnd } else { Gap::Line }));
        let word = self.token(*word);
        let is_if = matches!(other, Shape::Statement(statement) if matches!(**statement, Statement::Controlled { .. }));
        let rest = if is_if && !self.begins_line() {
            self.gap(Gap::Blank).then(self.statement(other))
        } else {
            self.body_of(other)
        };
        if begins_line {
            return laid.then(first.group()).then(separator).then(word).then(rest.group());
        }
        laid.then(first.then(separator).then(word).then(rest).group())
    }

    fn function(&mut self, function: &'a Function) -> Laid<'a> {
        let mut laid = self.nil();
        let mut is_attribute = true;
        for (number, part) in function.head.iter().enumerate() {
            if number > 0 {
                let is_name = number + 1 == function.head.len();
                let joins = self.lexed.text_of(self.at) == "##" || self.lexed.text_of(self.at - 1) == "##";
                let gap = match self.begins_line() && (is_attribute || is_name) {
                    true => Gap::LineEnd,
                    false if joins => Gap::Nothing,
                    false => Gap::Blank,
                };
                laid = laid.then(self.gap(gap));
            }
            is_attribute = matches!(self.lexed.text_of(self.at), "inline" | "noinline" | "external" | "specialize");
            laid = laid.then(self.expression(part));
        }
        // Parameters that would stand too far to the right are indented instead.
        let name_ends = self.lexed.code_column(self.lexed.tokens[self.at].start);
        self.indents_list = name_ends > RIGHTMOST_PARAMETERS;
        laid = laid.then(self.gap(Gap::Nothing)).then(self.expression(&function.parameters));
        if let Some((bar, conditions)) = &function.conditions {
            let gap = self.gap(if self.begins_line() { Gap::LineEnd } else { Gap::Line });
            let bar = self.token(*bar).then(self.gap(Gap::Blank));
            let conditions = self.separated(conditions);
            let inner = gap.then(bar).then(self.align(conditions));
            laid = laid.then(if inner.breaks { inner.nest() } else { inner.nest().group() });
        }
        match &function.body {
            Body::Semicolon(semicolon) => laid.then(self.next(Gap::Nothing, *semicolon)),
            Body::Block(block) => {
                let many_lines = self.lexed.breaks_within(block.open, block.close);
                if many_lines || self.begins_line() {
                    let gap = self.gap(Gap::LineEnd);
                    return laid.then(gap).then(self.block(block).group());
                }
                let gap = self.gap(Gap::Line);
                laid.then(gap.then(self.block(block)).group())
            }
        }
    }

    /// A whole item, and what stands between it and the one before.
    pub(crate) fn item(&mut self, shape: &'a Shape) -> Laid<'a> {
        self.gap(Gap::NextItem).then(self.statement(shape))
    }

    /// An item that stays as it is.
    pub(crate) fn item_as_it_is(&mut self, from: T, to: T) -> Laid<'a> {
        let gap = self.gap(Gap::NextItem);
        self.at = to;
        gap.then(Laid { doc: self.mark(Mark::Verbatim(from, to)), breaks: true })
    }

    /// What follows the last item.
    pub(crate) fn rest(&mut self) -> Laid<'a> {
        debug_assert_eq!(self.lexed.tokens[self.at].kind, Kind::End, "all items were laid out");
        self.gap_in_two(Gap::NextItem).0
    }
}

impl<'a> Laid<'a> {
    pub(crate) fn then(self, next: Laid<'a>) -> Laid<'a> {
        Laid { doc: self.doc.append(next.doc), breaks: self.breaks || next.breaks }
    }

    pub(crate) fn group(self) -> Laid<'a> {
        // A group that cannot fit on a line need not be tried.
        if self.breaks { self } else { Laid { doc: self.doc.group(), breaks: false } }
    }

    pub(crate) fn nest(self) -> Laid<'a> {
        Laid { doc: self.doc.nest(INDENT), breaks: self.breaks }
    }
}
