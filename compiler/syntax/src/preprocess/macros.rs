//! Macro definitions and their expansion.
//!
//! A macro's text goes onto a stack of token lists that are read before the file. While it is there its name is
//! not expanded again; a name met in that state never will be (`no_expand`), as in C. Arguments are expanded by
//! themselves before they are put in, unless `#` or `##` takes them as they are.

use super::{MAX_EXPANDED_TOKENS, Preprocessor};
use crate::errors::SyntaxError;
use crate::literal::quote_string;
use crate::tokens::{Kind, TextId, Texts, Token, lex};
use ravel_source::{FileId, Span};
use std::rc::Rc;

/// Macro calls inside the arguments of others; each level costs stack.
const MAX_ARGUMENT_DEPTH: usize = 100;

/// Longer calls are not quoted in messages.
const LONGEST_NOTED: usize = 200;

/// A definition; parameters are resolved when it is made.
#[derive(Debug)]
pub(super) struct Macro {
    /// The number of parameters, with a last one for `...`; nothing for an object-like macro.
    parameters: Option<usize>,
    variadic: bool,
    body: Vec<Piece>,
}

#[derive(Clone, Copy, Debug)]
enum Piece {
    Token(Token),
    /// An argument; `space_before` of the place where it stands.
    Parameter {
        index: usize,
        space_before: bool,
    },
    /// `#parameter`
    Stringified {
        index: usize,
        space_before: bool,
    },
    /// `##`
    Paste,
}

impl Macro {
    /// Reads what follows the name in a `#define` line.
    pub(super) fn parse(rest: &[Token], texts: &mut Texts) -> Result<Macro, &'static str> {
        let function_like = rest.first().is_some_and(|token| token.kind == Kind::LParen && !token.space_before);
        let mut names: Vec<TextId> = Vec::new();
        let mut variadic = false;
        let mut at = 0;
        if function_like {
            at = 1;
            let kind_at = |at: usize| rest.get(at).map(|token| token.kind);
            loop {
                match kind_at(at) {
                    Some(Kind::RParen) if names.is_empty() => break,
                    Some(Kind::Id) => names.push(rest[at].text),
                    Some(Kind::Dots) => {
                        names.push(texts.intern("__VA_ARGS__"));
                        variadic = true;
                    }
                    _ => return Err("its parameters are names separated by commas"),
                }
                at += 1;
                if kind_at(at) == Some(Kind::Dots) && !variadic {
                    variadic = true;
                    at += 1;
                }
                match kind_at(at) {
                    Some(Kind::Comma) if !variadic => at += 1,
                    Some(Kind::RParen) => break,
                    _ => return Err("its parameters are names separated by commas"),
                }
            }
            at += 1;
        }
        let mut body = Vec::with_capacity(rest.len() - at);
        let parameter = |token: &Token| names.iter().position(|name| *name == token.text);
        while let Some(token) = rest.get(at) {
            at += 1;
            let space_before = token.space_before;
            let piece = match token.kind {
                Kind::HashHash if body.is_empty() || at == rest.len() => return Err("## stands between two tokens"),
                Kind::HashHash => Piece::Paste,
                Kind::Hash if function_like => match rest.get(at).and_then(parameter) {
                    Some(index) => {
                        at += 1;
                        Piece::Stringified { index, space_before }
                    }
                    None => return Err("# stands in front of a parameter"),
                },
                Kind::Id => match parameter(token) {
                    Some(index) => Piece::Parameter { index, space_before },
                    None => Piece::Token(*token),
                },
                _ => Piece::Token(*token),
            };
            body.push(piece);
        }
        Ok(Macro { parameters: function_like.then_some(names.len()), variadic, body })
    }
}

/// A token list that is being read.
pub(super) struct Expansion {
    tokens: Vec<Token>,
    at: usize,
    /// The macro whose text this is; nothing for an argument that is expanded by itself.
    name: Option<TextId>,
}

impl Expansion {
    pub(super) fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).copied();
        self.at += usize::from(token.is_some());
        token
    }

    pub(super) fn is_argument(&self) -> bool {
        self.name.is_none()
    }
}

impl Preprocessor<'_> {
    /// Starts the expansion of a name, or gives the token back if it is not a macro (call).
    pub(super) fn expand(&mut self, name: Token) -> Option<Token> {
        let Some(definition) = self.macro_of(name.text) else {
            return Some(self.built_in(name));
        };
        let definition = Rc::clone(definition);
        if self.expansions.iter().any(|expansion| expansion.name == Some(name.text)) {
            return Some(Token { no_expand: true, ..name });
        }
        let (arguments, span) = match definition.parameters {
            None => (Vec::new(), name.span),
            Some(count) => {
                if !self.next_is_paren() {
                    return Some(name);
                }
                let (arguments, end) = self.arguments(name)?;
                let span = name.span.to(end);
                let arguments = self.fit(name, span, arguments, count, definition.variadic)?;
                (arguments, span)
            }
        };
        if self.expansions.is_empty() {
            let snippet = self.sources.snippet(span);
            let text = if snippet.len() > LONGEST_NOTED { TextId::NONE } else { self.texts.intern(snippet) };
            self.uses.insert(span, text);
        }
        let mut tokens = self.substitute(&definition, &arguments, name, span);
        if self.exhausted() {
            return None;
        }
        if let Some(first) = tokens.first_mut() {
            first.space_before = name.space_before;
            first.first_on_line = name.first_on_line;
        }
        self.expanded += tokens.len();
        if self.exhausted() {
            self.macro_error(name, format!("macros have grown to more than {MAX_EXPANDED_TOKENS} tokens"), span);
        }
        self.expansions.push(Expansion { tokens, at: 0, name: Some(name.text) });
        None
    }

    /// `__LINE__`, `__FILE__`, `__DATE__` and `__TIME__`; every other name as it is.
    fn built_in(&mut self, name: Token) -> Token {
        match self.text(name.text) {
            "__LINE__" => {
                let line = self.sources.line_col(name.span).map_or(0, |at| at.line);
                let text = self.texts.intern(&line.to_string());
                Token { kind: Kind::Num, text, ..name }
            }
            "__FILE__" => {
                let file = self.sources.get(name.span.file).map_or(String::new(), |file| file.name.clone());
                let text = self.texts.intern(&quote_string(file.as_bytes()));
                Token { kind: Kind::Str, text, ..name }
            }
            moment @ ("__DATE__" | "__TIME__") => {
                let words = if moment == "__DATE__" { super::date::date } else { super::date::time };
                let text = words(self.loader.now());
                let text = self.texts.intern(&quote_string(text.as_bytes()));
                Token { kind: Kind::Str, text, ..name }
            }
            _ => name,
        }
    }

    fn macro_error(&mut self, name: Token, message: String, span: Span) {
        let name = self.text(name.text).to_string();
        self.report(SyntaxError::Macro { name, message }, span);
    }

    /// Whether an opening parenthesis comes next; blank lines and directives in front of it are passed over.
    fn next_is_paren(&mut self) -> bool {
        while let Some(expansion) = self.expansions.last() {
            if let Some(token) = expansion.tokens.get(expansion.at) {
                return token.kind == Kind::LParen;
            }
            if expansion.is_argument() {
                return false;
            }
            self.expansions.pop();
        }
        // A call does not go on behind the end of an included file.
        let Some(source) = self.files.last() else { return false };
        let rest = source.tokens[source.at..].iter();
        match rest.clone().find(|token| token.kind != Kind::Newline) {
            Some(token) if token.kind == Kind::Hash && token.first_on_line => {
                self.skip_to_token().is_some()
                    && self.files.last().is_some_and(|source| source.tokens[source.at].kind == Kind::LParen)
            }
            Some(token) => token.kind == Kind::LParen,
            None => false,
        }
    }

    /// The argument tokens of a call as they stand, one list per comma, and the span of the `)`.
    fn arguments(&mut self, name: Token) -> Option<(Vec<Vec<Token>>, Span)> {
        let mut lists = vec![Vec::new()];
        let mut depth = 0usize;
        while let Some(token) = self.next_unexpanded() {
            match token.kind {
                Kind::LParen => {
                    depth += 1;
                    if depth == 1 {
                        continue; // the call's own
                    }
                }
                Kind::RParen => {
                    depth -= 1;
                    if depth == 0 {
                        return Some((lists, token.span));
                    }
                }
                Kind::Comma if depth == 1 => {
                    lists.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            let space_before = token.space_before || token.first_on_line;
            if let Some(list) = lists.last_mut() {
                list.push(Token { space_before, first_on_line: false, ..token });
            }
        }
        self.macro_error(name, "the call is not closed".to_string(), name.span);
        None
    }

    /// The arguments in the number that the macro wants.
    fn fit(
        &mut self,
        name: Token,
        span: Span,
        mut given: Vec<Vec<Token>>,
        count: usize,
        variadic: bool,
    ) -> Option<Vec<Vec<Token>>> {
        if count == 0 && given.len() == 1 && given[0].is_empty() {
            given.clear();
        }
        if variadic {
            if given.len() + 1 == count {
                given.push(Vec::new());
            }
            while given.len() > count.max(1) {
                let more = given.pop().unwrap_or_default();
                if let Some(last) = given.last_mut() {
                    let comma = self.texts.intern(",");
                    let at = more.first().or(last.last()).map_or(span, |token| token.span);
                    last.push(Token {
                        kind: Kind::Comma,
                        space_before: false,
                        first_on_line: false,
                        no_expand: false,
                        text: comma,
                        module: TextId::NONE,
                        span: at,
                    });
                    last.extend(more);
                }
            }
        }
        if given.len() == count {
            return Some(given);
        }
        let plural = if count == 1 { "" } else { "s" };
        let is_torn = |list: &Vec<Token>| {
            let number = |kind: Kind| list.iter().filter(|token| token.kind == kind).count();
            number(Kind::LBracket) != number(Kind::RBracket) || number(Kind::LBrace) != number(Kind::RBrace)
        };
        let hint = match given.iter().any(is_torn) {
            true => ": a comma inside [] or {} separates arguments, too, unless () stand around it",
            false => "",
        };
        let message = format!("takes {count} argument{plural}, but {} given{hint}", given.len());
        self.macro_error(name, message, span);
        None
    }

    /// The macro's text with its arguments in place.
    fn substitute(&mut self, definition: &Macro, arguments: &[Vec<Token>], name: Token, span: Span) -> Vec<Token> {
        let mut expanded: Vec<Option<Vec<Token>>> = vec![None; arguments.len()];
        let mut out: Vec<Token> = Vec::with_capacity(definition.body.len());
        // Whether the next piece is to be pasted to the last token, and whether that last token exists.
        let mut pasting = false;
        let mut left_empty = false;
        for (at, piece) in definition.body.iter().enumerate() {
            let pasted_next = matches!(definition.body.get(at + 1), Some(Piece::Paste));
            let tokens = match *piece {
                Piece::Paste => {
                    pasting = true;
                    continue;
                }
                Piece::Token(token) => vec![Token { span, first_on_line: false, no_expand: false, ..token }],
                Piece::Stringified { index, space_before } => {
                    vec![self.stringify(&arguments[index], space_before, name, span)]
                }
                Piece::Parameter { index, space_before } => {
                    let mut tokens = if pasting || pasted_next {
                        arguments[index].clone()
                    } else {
                        if expanded[index].is_none() {
                            expanded[index] = Some(self.expand_list(arguments[index].clone()));
                        }
                        expanded[index].clone().unwrap_or_default()
                    };
                    if let Some(first) = tokens.first_mut() {
                        first.space_before = space_before;
                    }
                    // `, ## __VA_ARGS__` drops the comma if there are no more arguments.
                    let gnu_comma = pasting && definition.variadic && index + 1 == arguments.len();
                    if gnu_comma && out.last().is_some_and(|token| token.kind == Kind::Comma) {
                        if tokens.is_empty() {
                            out.pop();
                        }
                        out.extend(tokens);
                        pasting = false;
                        continue;
                    }
                    tokens
                }
            };
            let mut tokens = tokens.into_iter();
            if pasting
                && !left_empty
                && let (Some(left), Some(right)) = (out.last().copied(), tokens.as_slice().first().copied())
            {
                out.pop();
                tokens.next();
                self.paste(left, right, name, span, &mut out);
            }
            let before = out.len();
            out.extend(tokens);
            // Pasting to an empty argument is pasting to nothing.
            left_empty = out.len() == before && !pasting && pasted_next;
            pasting = false;
        }
        out
    }

    fn paste(&mut self, left: Token, right: Token, name: Token, span: Span, out: &mut Vec<Token>) {
        let text = format!("{}{}", self.text(left.text), self.text(right.text));
        let mut result = Vec::new();
        lex(FileId(u32::MAX), &text, &mut self.texts, &mut result);
        match result.as_slice() {
            [token] if !matches!(token.kind, Kind::Stray | Kind::OpenStr | Kind::OpenChar) => {
                let (space_before, first_on_line) = (left.space_before, false);
                out.push(Token { span, space_before, first_on_line, ..*token });
            }
            _ => {
                self.macro_error(name, format!("`{text}`, made by ##, is not one token"), span);
                out.extend([left, right]);
            }
        }
    }

    fn stringify(&mut self, argument: &[Token], space_before: bool, name: Token, span: Span) -> Token {
        let text = self.spelling(argument);
        let text = self.texts.intern(&quote_string(text.as_bytes()));
        Token { kind: Kind::Str, space_before, first_on_line: false, no_expand: false, text, span, ..name }
    }

    /// A list with all its macros expanded, read by itself: a macro call in it must end in it.
    pub(super) fn expand_list(&mut self, tokens: Vec<Token>) -> Vec<Token> {
        if !tokens.iter().any(|token| token.kind == Kind::Id && !token.no_expand && self.is_defined(*token)) {
            return tokens;
        }
        if self.argument_depth >= MAX_ARGUMENT_DEPTH {
            if self.argument_depth == MAX_ARGUMENT_DEPTH {
                self.argument_depth += 1; // reported once
                let first = tokens[0];
                self.macro_error(first, "macro calls are nested too deeply".to_string(), first.span);
            }
            return tokens;
        }
        self.argument_depth += 1;
        self.expansions.push(Expansion { tokens, at: 0, name: None });
        let mut out = Vec::new();
        while let Some(token) = self.next_token() {
            out.push(token);
        }
        self.expansions.pop();
        self.argument_depth = self.argument_depth.min(MAX_ARGUMENT_DEPTH).saturating_sub(1);
        out
    }
}
