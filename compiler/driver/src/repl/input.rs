//! What a text is: its tokens, whether it is a definition, a statement or an expression, whether it is complete, and which parts it has.

use super::source::{self, InputLoader, ROOT};
use super::{INPUT, Session, USED};
use crate::files::FileLoader;
use ravel_core::RootSource;
use ravel_diagnostics::Diagnostic;
use ravel_source::{FileId, SourceMap, Span};
use ravel_syntax::ast::{Definition, Stmt, StmtKind};
use ravel_syntax::{PreprocessOptions, ReplInput, Tokens, TypeNames};

/// An input in tokens, with the texts that they come from.
pub(super) struct Scanned {
    pub map: SourceMap,
    pub tokens: Tokens,
    pub reports: Vec<Diagnostic>,
    /// The input itself.
    pub file: FileId,
}

impl Session {
    /// Whether a text is an input that goes on over further lines.
    pub fn wants_more(&mut self, text: &str) -> bool {
        let scanned = self.scan(INPUT, text);
        match self.parse(&scanned, text).0 {
            ReplInput::Incomplete => self.completed(&scanned, INPUT, text).is_none(),
            ReplInput::Mixed(end) => split_behind(&scanned, text, end).is_some_and(|(_, rest)| self.wants_more(&rest)),
            ReplInput::Invalid => self.halves(&scanned, INPUT, text).is_some_and(|(_, _, is_complete)| !is_complete),
            _ => false,
        }
    }

    /// The input with the `;` that a `use` line or another definition lacks at its end. The head of a function goes on with its body.
    pub(super) fn completed(&mut self, scanned: &Scanned, name: &str, text: &str) -> Option<String> {
        let at = scanned.tokens.end().filter(|at| at.file == scanned.file)?;
        let (before, behind) = text.split_at_checked(at.end as usize)?;
        let completed = format!("{before};{behind}");
        let scanned = self.scan(name, &completed);
        match self.parse(&scanned, &completed).0 {
            ReplInput::Definitions(definitions) => {
                let is_whole = match definitions.last()? {
                    Definition::Function(function) => function.attributes.external,
                    _ => true,
                };
                is_whole.then_some(completed)
            }
            _ => None,
        }
    }

    /// Statements and expressions, as two inputs in which everything stands at its place: what is up to the last `;` that something follows,
    /// and the rest; and whether the rest is complete. What is up to there may have halves of its own.
    pub(super) fn halves(&mut self, scanned: &Scanned, name: &str, text: &str) -> Option<(String, String, bool)> {
        let (first, second) = split_behind(scanned, text, scanned.tokens.last_separator()?)?;
        let before = self.scan(name, &first);
        match self.parse(&before, &first).0 {
            ReplInput::Statements(_) | ReplInput::Expression(_) => {}
            ReplInput::Invalid if self.halves(&before, name, &first).is_some() => {}
            _ => return None,
        }
        let behind = self.scan(name, &second);
        let is_complete = match self.parse(&behind, &second).0 {
            ReplInput::Expression(_) | ReplInput::Statements(_) => true,
            ReplInput::Incomplete => false,
            _ => return None,
        };
        Some((first, second, is_complete))
    }

    pub(super) fn scan(&self, name: &str, text: &str) -> Scanned {
        let mut map = SourceMap::default();
        let mut loader = self.loader();
        let root = loader.alone(&self.chunks, name, text);
        let id = map.add(ROOT, root);
        let options = PreprocessOptions { macros: self.options.macros.clone() };
        let (tokens, reports) = ravel_syntax::lex_and_preprocess(id, &mut map, &options, &mut loader);
        let file = map.files().filter(|(_, file)| file.name == name).last().map_or(id, |(id, _)| id);
        Scanned { map, tokens, reports, file }
    }

    pub(super) fn parse(&mut self, scanned: &Scanned, text: &str) -> (ReplInput, Vec<Diagnostic>) {
        let names = self.type_names(&scanned.tokens, text);
        ravel_syntax::parse_repl_input(&scanned.tokens, &names)
    }

    /// The type names that an input sees.
    pub(super) fn type_names(&mut self, tokens: &Tokens, text: &str) -> TypeNames {
        let interface = ravel_syntax::prescan(tokens);
        let mut key: Vec<&str> = interface.modules().iter().map(|module| &*module.name).collect();
        key.sort_unstable();
        let key = format!("{} {}", self.accepted, key.join(" "));
        if let Some((known, names)) = &self.names
            && *known == key
        {
            return names.clone();
        }
        let mut map = SourceMap::default();
        let mut loader = self.loader();
        let text = loader.program(USED, &self.chunks, text);
        let root = RootSource { name: ROOT.to_string(), text: text.into() };
        let options = ravel_core::Options {
            macros: self.options.macros.clone(),
            at_prompt: true,
            background_uses: true,
            ..ravel_core::Options::default()
        };
        let workspace = &self.options.workspace;
        let names =
            workspace.with(&mut map, |map, kept| ravel_core::visible_types(&root, &mut loader, &options, map, kept));
        self.names = Some((key, names.clone()));
        names
    }

    pub(super) fn loader(&self) -> InputLoader {
        let files = FileLoader::new(self.options.folders.clone(), self.options.edition.unwrap_or_default());
        InputLoader::new(files, self.modules.clone())
    }
}

impl Scanned {
    pub(super) fn has_errors(&self) -> bool {
        self.reports.iter().any(Diagnostic::is_error)
    }
}

/// An input as two, in which everything stands at its place.
pub(super) fn split_behind(scanned: &Scanned, text: &str, end: Span) -> Option<(String, String)> {
    if end.file != scanned.file {
        return None;
    }
    let (first, second) = text.split_at_checked(end.end as usize)?;
    Some((first.to_string(), format!("{}{second}", source::blank(first))))
}

/// Whether the input is nothing but a call with a `;` behind it.
pub(super) fn single_call(input: &ReplInput) -> bool {
    matches!(input, ReplInput::Statements(stmts) if matches!(stmts.as_slice(), [Stmt { kind: StmtKind::Call(_), .. }]))
}

/// Whether the last statement lacks its `;`.
pub(super) fn needs_semicolon(stmts: &[Stmt], tokens: &Tokens) -> bool {
    match tokens.last() {
        Some(";") => false,
        Some("}") => !matches!(
            stmts.last().map(|stmt| &stmt.kind),
            Some(StmtKind::If { .. } | StmtKind::While { .. } | StmtKind::For { .. })
        ),
        _ => true,
    }
}
