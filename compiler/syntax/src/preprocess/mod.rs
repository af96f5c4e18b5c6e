//! The C preprocessor as far as SaC programs use it, on tokens instead of text.
//!
//! Supported: object-like and function-like macros with `#`, `##` and `...`, `#include`, `#if` and its kin, `#undef`,
//! `#error`, `#warning`, line markers (ignored) and `__LINE__`, `__FILE__`, `__DATE__`, `__TIME__`. `#pragma` lines go through unexpanded.
//! A token that a macro's text put in place carries the span of the macro call; an argument keeps its own.

mod condition;
mod date;
mod directives;
mod macros;

use crate::classify::report_bad_token;
use crate::errors::{SyntaxError, limit};
use crate::tokens::{Kind, TextId, Texts, Token, Tokens, lex};
use directives::Condition;
use macros::{Expansion, Macro};
use ravel_diagnostics::Diagnostic;
use ravel_source::{FileId, SourceMap, Span};
use std::collections::BTreeMap;
use std::rc::Rc;

/// How `#include` gets at files: the syntax crate itself reads none.
pub trait Loader {
    /// The file that `#include "name"` (or `<name>`, then `angled`) in `from` means, added to `sources` unless it
    /// is there already; nothing if there is none.
    fn include(&mut self, name: &str, angled: bool, from: FileId, sources: &mut SourceMap) -> Option<FileId>;

    /// When the compilation began, in seconds since 1970 as clocks on walls show them; `__DATE__` and `__TIME__` ask for it.
    fn now(&mut self) -> u64 {
        0
    }
}

/// For texts that include nothing, such as lines typed at a prompt.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoIncludes;

impl Loader for NoIncludes {
    fn include(&mut self, _: &str, _: bool, _: FileId, _: &mut SourceMap) -> Option<FileId> {
        None
    }
}

/// A `-D` or `-U` option; later ones win.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MacroOption {
    /// `NAME`, which means `NAME=1`, or `NAME=text`; the name may have parameters.
    Define(String),
    Undefine(String),
}

/// Macros that are set before the first line of every file.
#[derive(Clone, Debug, Default)]
pub struct PreprocessOptions {
    pub macros: Vec<MacroOption>,
}

/// Build switches of the public standard library that user programs may ask for.
const ALWAYS_DEFINED: &str = "#define EXT_STDLIB 1\n#define FULLTYPES 1\n";

/// Files open at once through `#include`.
const MAX_INCLUDE_DEPTH: usize = 64;

/// Tokens that macros may produce in one file; a macro that doubles itself some thirty times would fill the memory.
const MAX_EXPANDED_TOKENS: usize = 4_000_000;

/// In bytes; spans are 32 bits wide.
const MAX_FILE_LENGTH: usize = i32::MAX as usize;

/// Reports about characters and literals per file; a binary file has millions of them.
const MAX_LEXICAL_REPORTS: usize = 20;

/// Reads a file: tokens after preprocessing, with the reports about its characters, directives and macros.
pub fn lex_and_preprocess(
    file: FileId,
    sources: &mut SourceMap,
    options: &PreprocessOptions,
    loader: &mut dyn Loader,
) -> (Tokens, Vec<Diagnostic>) {
    let mut pre = Preprocessor {
        sources,
        loader,
        texts: Texts::new(),
        macros: Vec::new(),
        files: Vec::new(),
        expansions: Vec::new(),
        argument_depth: 0,
        expanded: 0,
        lexical_reports: 0,
        reports: Vec::new(),
        out: Vec::new(),
        comments: Vec::new(),
        uses: BTreeMap::new(),
    };
    pre.predefine(options);
    let text = pre.sources.get(file).map(|source| source.text.clone()).unwrap_or_default();
    let end = Span::new(file, text.len(), text.len());
    if text.len() > MAX_FILE_LENGTH {
        pre.reports.push(SyntaxError::FileTooLarge.at(Span::NONE));
    } else if !is_text(&text) {
        pre.reports.push(SyntaxError::NotText.at(Span::new(file, 0, 0)));
    } else {
        pre.open(file);
        pre.run();
    }
    limit(&mut pre.reports);
    if pre.exhausted() {
        // What was cut off in the middle would only give reports of its own.
        pre.out.clear();
    }
    let defined = pre.macros.iter().enumerate().filter(|(_, definition)| definition.is_some());
    let macros = defined.map(|(name, _)| TextId(name as u32)).collect();
    (Tokens { list: pre.out, texts: pre.texts, end, macros, comments: pre.comments, uses: pre.uses }, pre.reports)
}

/// Whether the beginning looks like text: a few odd characters are reported one by one, a binary file as a whole.
fn is_text(text: &str) -> bool {
    let (mut all, mut odd) = (0, 0);
    for c in text.chars().take(4096) {
        all += 1;
        odd += usize::from(c == '\u{fffd}' || c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\x0b' | '\x0c'));
    }
    odd < 4 || odd * 20 < all
}

/// Longer comments are sentences.
const LONGEST_DIVISOR: usize = 120;

/// Whether a comment may be the rest of a division whose author took `//` for an operator: it begins like a value and ends like code.
fn may_divide(comment: &str) -> bool {
    let begins = |c: char| c.is_alphanumeric() || "_(-.".contains(c);
    comment.len() <= LONGEST_DIVISOR
        && !comment.contains('\n')
        && comment.trim_start().starts_with(begins)
        && comment.ends_with([';', '{', '}', ')', ']', ','])
}

/// An open file.
struct Source {
    file: FileId,
    tokens: Vec<Token>,
    at: usize,
    /// Open `#if`s, innermost last.
    conditions: Vec<Condition>,
}

impl Source {
    fn active(&self) -> bool {
        self.conditions.last().is_none_or(|condition| condition.active)
    }

    /// The tokens up to the end of the line; moves behind them.
    fn rest_of_line(&mut self) -> Vec<Token> {
        let from = self.at;
        while self.tokens.get(self.at).is_some_and(|token| token.kind != Kind::Newline) {
            self.at += 1;
        }
        self.tokens[from..self.at].to_vec()
    }
}

struct Preprocessor<'a> {
    sources: &'a mut SourceMap,
    loader: &'a mut dyn Loader,
    texts: Texts,
    /// By the text of the name.
    macros: Vec<Option<Rc<Macro>>>,
    files: Vec<Source>,
    /// Macro texts that are being read, innermost last.
    expansions: Vec<Expansion>,
    /// How many macro arguments are being expanded inside one another.
    argument_depth: usize,
    /// Tokens produced by macros so far.
    expanded: usize,
    lexical_reports: usize,
    reports: Vec<Diagnostic>,
    out: Vec<Token>,
    /// See [`Tokens::comments`].
    comments: Vec<(Span, TextId)>,
    /// See [`Tokens::uses`].
    uses: BTreeMap<Span, TextId>,
}

impl Preprocessor<'_> {
    fn predefine(&mut self, options: &PreprocessOptions) {
        let mut text = String::from(ALWAYS_DEFINED);
        for option in &options.macros {
            // A line break would let the option smuggle in lines of its own.
            let line = match option {
                MacroOption::Define(definition) => match definition.split_once('=') {
                    Some((name, value)) => format!("#define {name} {value}"),
                    None => format!("#define {definition} 1"),
                },
                MacroOption::Undefine(name) => format!("#undef {name}"),
            };
            text.push_str(&line.replace(['\n', '\r'], " "));
            text.push('\n');
        }
        let file = self.sources.add_lasting("<command line>", text);
        self.open(file);
        self.run();
    }

    fn open(&mut self, file: FileId) {
        let text = self.sources.get(file).map(|source| source.text.clone()).unwrap_or_default();
        let mut tokens = Vec::with_capacity(text.len() / 4);
        lex(file, &text, &mut self.texts, &mut tokens);
        for pair in tokens.windows(2) {
            let gap = pair[0].span.end as usize..pair[1].span.start as usize;
            if pair[1].kind == Kind::Newline
                && pair[0].kind != Kind::Newline
                && let Some(comment) = text.get(gap.clone()).map(str::trim_end)
                && let Some(start) = comment.find("//")
                && may_divide(&comment[start + 2..])
            {
                let text = self.texts.intern(&comment[start + 2..]);
                self.comments.push((Span::new(file, gap.start + start, gap.start + comment.len()), text));
            }
        }
        self.files.push(Source { file, tokens, at: 0, conditions: Vec::new() });
    }

    fn run(&mut self) {
        while let Some(token) = self.next_token() {
            self.emit(token);
        }
    }

    fn emit(&mut self, token: Token) {
        if self.lexical_reports <= MAX_LEXICAL_REPORTS
            && let Some(report) = report_bad_token(&token, &self.texts)
        {
            self.lexical_reports += 1;
            self.reports.push(report);
            if self.lexical_reports > MAX_LEXICAL_REPORTS {
                self.reports.push(SyntaxError::TooManyErrors.at(token.span));
            }
        }
        self.out.push(token);
    }

    /// Whether macros have grown beyond all measure, which was reported; there are no more tokens then.
    fn exhausted(&self) -> bool {
        self.expanded > MAX_EXPANDED_TOKENS
    }

    /// The next token with all macros expanded.
    fn next_token(&mut self) -> Option<Token> {
        loop {
            if self.exhausted() {
                return None;
            }
            let token = self.next_unexpanded()?;
            if token.kind != Kind::Id || token.no_expand {
                return Some(token);
            }
            match self.expand(token) {
                Some(token) => return Some(token),
                None => continue,
            }
        }
    }

    /// The next token of the innermost macro text or of the file; nothing at the end of a macro argument.
    fn next_unexpanded(&mut self) -> Option<Token> {
        while let Some(expansion) = self.expansions.last_mut() {
            if let Some(token) = expansion.next() {
                return Some(token);
            }
            if expansion.is_argument() {
                return None;
            }
            self.expansions.pop();
        }
        self.next_of_file()
    }

    /// The next token of the innermost file outside of directives and of what they hide.
    fn next_of_file(&mut self) -> Option<Token> {
        self.skip_to_token()?;
        let source = self.files.last_mut()?;
        let token = source.tokens[source.at];
        source.at += 1;
        Some(token)
    }

    /// Obeys directives up to the next token of the text, which the innermost file then points at.
    fn skip_to_token(&mut self) -> Option<()> {
        loop {
            let source = self.files.last_mut()?;
            let active = source.active();
            match source.tokens.get(source.at) {
                None => {
                    let closed = self.files.pop()?;
                    self.report_open_conditions(&closed);
                }
                Some(token) if token.kind == Kind::Newline => source.at += 1,
                Some(token) if token.kind == Kind::Hash && token.first_on_line => self.directive(),
                Some(_) if active => return Some(()),
                Some(_) => {
                    source.rest_of_line();
                }
            }
        }
    }

    fn report(&mut self, error: SyntaxError, span: Span) {
        self.reports.push(error.at(span));
    }

    fn macro_of(&self, name: TextId) -> Option<&Rc<Macro>> {
        self.macros.get(name.0 as usize)?.as_ref()
    }

    fn text(&self, id: TextId) -> &str {
        self.texts.get(id)
    }
}
