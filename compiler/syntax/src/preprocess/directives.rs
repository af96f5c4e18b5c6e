//! Lines that start with `#`.

use super::macros::Macro;
use super::{MAX_INCLUDE_DEPTH, Preprocessor, Source, condition};
use crate::errors::SyntaxError;
use crate::literal;
use crate::tokens::{Kind, Token};
use ravel_diagnostics::did_you_mean;
use ravel_source::Span;
use std::rc::Rc;

/// An open `#if`, `#ifdef` or `#ifndef`.
pub(super) struct Condition {
    /// The directive that opened it.
    opened: Span,
    /// Whether the current branch is read.
    pub(super) active: bool,
    /// Whether some branch has been read already, or none may be as the surrounding text is hidden.
    decided: bool,
    else_seen: bool,
}

const DIRECTIVES: [&str; 14] = [
    "define", "undef", "include", "if", "ifdef", "ifndef", "elif", "else", "endif", "error", "warning", "pragma",
    "line", "ident",
];

impl Preprocessor<'_> {
    /// Obeys the directive at the cursor of the innermost file and moves to the end of its line.
    pub(super) fn directive(&mut self) {
        let Some(source) = self.files.last_mut() else { return };
        let active = source.active();
        let line = source.rest_of_line();
        let hash = line[0];
        let Some(word) = line.get(1).copied() else { return };
        let span = hash.span.to(word.span);
        let rest = &line[2..];
        let name = self.texts.get(word.text).clone();
        if word.kind != Kind::Id {
            // `# 12 "file"` comes from another preprocessor, `#!` from a shell.
            let harmless = word.kind == Kind::Num || word.kind == Kind::Bang && hash.span.start == 0;
            if active && !harmless {
                self.bad_directive(span, "a directive is a word behind #".to_string(), None);
            }
            return;
        }
        match &*name {
            "if" | "ifdef" | "ifndef" => self.open_condition(&name, active, rest, span),
            "elif" | "else" | "endif" => self.turn_condition(&name, rest, span),
            _ if !active => {}
            "define" => self.define(rest, span),
            "undef" => match rest.first() {
                Some(name) if name.kind == Kind::Id => {
                    if let Some(slot) = self.macros.get_mut(name.text.0 as usize) {
                        *slot = None;
                    }
                }
                _ => self.bad_directive(span, "#undef takes a name".to_string(), None),
            },
            "include" => self.include(rest, span),
            "error" | "warning" => {
                let text = self.spelling(rest);
                let whole = rest.last().map_or(span, |last| span.to(last.span));
                let error =
                    if &*name == "error" { SyntaxError::UserError { text } } else { SyntaxError::UserWarning { text } };
                self.report(error, whole);
            }
            "pragma" => line.iter().for_each(|token| self.emit(*token)),
            "line" | "ident" => {}
            other => match did_you_mean(other, DIRECTIVES).filter(|_| !word.space_before) {
                Some(near) => {
                    self.bad_directive(span, format!("unknown directive #{other}, did you mean #{near}?"), None);
                }
                None => self.report(SyntaxError::HashComment { word: other.to_string() }, span),
            },
        }
    }

    fn bad_directive(&mut self, span: Span, message: String, help: Option<&'static str>) {
        self.report(SyntaxError::Directive { message, help }, span);
    }

    fn open_condition(&mut self, name: &str, active: bool, rest: &[Token], span: Span) {
        let holds = active
            && match name {
                "if" => self.evaluate(rest, span),
                _ => match rest.first() {
                    Some(word) if word.kind == Kind::Id => self.is_defined(*word) == (name == "ifdef"),
                    _ => {
                        self.bad_directive(span, format!("#{name} takes a name"), None);
                        false
                    }
                },
            };
        if let Some(source) = self.files.last_mut() {
            source.conditions.push(Condition {
                opened: span,
                active: holds,
                decided: holds || !active,
                else_seen: false,
            });
        }
    }

    fn turn_condition(&mut self, name: &str, rest: &[Token], span: Span) {
        let Some(source) = self.files.last_mut() else { return };
        let Some(condition) = source.conditions.last_mut() else {
            let help = Some("the #if that it belongs to is missing");
            self.bad_directive(span, format!("#{name} without #if"), help);
            return;
        };
        let (opened, after_else, decided) = (condition.opened, condition.else_seen, condition.decided);
        if name == "endif" {
            source.conditions.pop();
            return;
        }
        condition.active = false;
        condition.else_seen |= name == "else";
        if after_else {
            let error = SyntaxError::Directive { message: format!("#{name} behind #else"), help: None };
            self.reports.push(error.at(span).with_label(opened, "belongs to this"));
            return;
        }
        let holds = !decided && (name == "else" || self.evaluate(rest, span));
        if let Some(condition) = self.files.last_mut().and_then(|source| source.conditions.last_mut()) {
            condition.active = holds;
            condition.decided |= holds;
        }
    }

    pub(super) fn report_open_conditions(&mut self, source: &Source) {
        for condition in &source.conditions {
            let message = "this condition is never closed".to_string();
            self.bad_directive(condition.opened, message, Some("close it with #endif"));
        }
    }

    pub(super) fn is_defined(&self, name: Token) -> bool {
        self.macro_of(name.text).is_some()
            || matches!(self.text(name.text), "__LINE__" | "__FILE__" | "__DATE__" | "__TIME__")
    }

    fn evaluate(&mut self, rest: &[Token], span: Span) -> bool {
        let resolved = self.resolve_defined(rest);
        let tokens = self.expand_list(resolved);
        let span = rest.last().map_or(span, |last| span.to(last.span));
        match condition::evaluate(&tokens, &self.texts) {
            Ok(value) => value != 0,
            Err(message) => {
                self.bad_directive(span, message, None);
                false
            }
        }
    }

    /// Replaces `defined X` and `defined(X)`, whose X must not be expanded, by 1 or 0.
    fn resolve_defined(&mut self, line: &[Token]) -> Vec<Token> {
        let mut out = Vec::with_capacity(line.len());
        let mut at = 0;
        while let Some(token) = line.get(at) {
            at += 1;
            if token.kind != Kind::Id || self.text(token.text) != "defined" {
                out.push(*token);
                continue;
            }
            let kind_at = |at: usize| line.get(at).map(|token| token.kind);
            let (name, length) = match (kind_at(at), kind_at(at + 1), kind_at(at + 2)) {
                (Some(Kind::Id), _, _) => (line[at], 1),
                (Some(Kind::LParen), Some(Kind::Id), Some(Kind::RParen)) => (line[at + 1], 3),
                _ => {
                    self.bad_directive(token.span, "`defined` takes a name".to_string(), None);
                    continue;
                }
            };
            at += length;
            let value = if self.is_defined(name) { "1" } else { "0" };
            let text = self.texts.intern(value);
            out.push(Token { kind: Kind::Num, text, ..*token });
        }
        out
    }

    fn define(&mut self, rest: &[Token], span: Span) {
        let Some(name) = rest.first().filter(|name| name.kind == Kind::Id) else {
            self.bad_directive(span, "#define takes a name".to_string(), None);
            return;
        };
        match Macro::parse(&rest[1..], &mut self.texts) {
            Ok(definition) => {
                let slot = name.text.0 as usize;
                if slot >= self.macros.len() {
                    self.macros.resize(slot + 1, None);
                }
                self.macros[slot] = Some(Rc::new(definition));
            }
            Err(message) => {
                let name_text = self.text(name.text).to_string();
                self.report(SyntaxError::Macro { name: name_text, message: message.to_string() }, name.span);
            }
        }
    }

    fn include(&mut self, rest: &[Token], span: Span) {
        // The name may come from a macro.
        let tokens = match rest.first().map(|token| token.kind) {
            Some(Kind::Id) => self.expand_list(rest.to_vec()),
            _ => rest.to_vec(),
        };
        let whole = rest.last().map_or(span, |last| span.to(last.span));
        let (name, angled) = match tokens.first().map(|token| token.kind) {
            Some(Kind::Str) => {
                let bytes = literal::parse_string(self.text(tokens[0].text)).unwrap_or_default();
                (String::from_utf8_lossy(&bytes).into_owned(), false)
            }
            Some(Kind::Less) => {
                let name = &tokens[1..].split(|token| token.kind == Kind::Greater).next().unwrap_or(&[]);
                (self.spelling(name), true)
            }
            _ => {
                self.bad_directive(whole, "#include takes a file name in quotes".to_string(), None);
                return;
            }
        };
        if self.files.len() >= MAX_INCLUDE_DEPTH {
            self.report(SyntaxError::IncludeDepth { limit: MAX_INCLUDE_DEPTH }, whole);
            // Every level would report the same.
            self.files.truncate(1);
            return;
        }
        let Some(from) = self.files.last().map(|source| source.file) else { return };
        match self.loader.include(&name, angled, from, self.sources) {
            Some(file) => self.open(file),
            None => {
                let shown = if angled { format!("<{name}>") } else { format!("\"{name}\"") };
                self.report(SyntaxError::Include { name: shown }, whole);
            }
        }
    }

    /// The text of tokens, one blank where there was any.
    pub(super) fn spelling(&self, tokens: &[Token]) -> String {
        let mut out = String::new();
        for token in tokens {
            if !out.is_empty() && (token.space_before || token.first_on_line) {
                out.push(' ');
            }
            out.push_str(self.text(token.text));
        }
        out
    }
}
