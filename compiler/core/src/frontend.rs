//! The way into the parser: text to tokens, what the file mentions, and tokens to a tree once its type names are known.

use crate::Loader;
use ravel_diagnostics::{Diagnostic, Diagnostics};
use ravel_source::{FileId, SourceMap, Span};
use ravel_syntax::ast::{self, SymbolSet, Text};
use ravel_syntax::{MacroOption, PreprocessOptions, Tokens, TypeNames};
use ravel_types::HashMap;

/// A module that a file needs.
pub(crate) struct Mention {
    pub module: Text,
    pub span: Span,
    /// By `M::name`, not by `use` or `import`.
    pub qualified: bool,
    /// The symbols of `use` or `import`.
    pub symbols: Option<SymbolSet>,
}

/// A file that has been read but not parsed.
pub(crate) struct Scanned {
    tokens: Tokens,
    /// The name in the header and where it stands.
    pub header: Option<(Text, Span)>,
    pub mentions: Vec<Mention>,
    /// There are errors in its characters, directives or macros.
    pub broken: bool,
    pub reports: Vec<Diagnostic>,
    /// It depends on nothing but its text and the macros that were given: it includes nothing and does not ask for the time.
    pub is_lasting: bool,
}

impl Scanned {
    /// Macros that the file leaves defined.
    pub(crate) fn macros(&self) -> Vec<Text> {
        self.tokens.macros().map(Text::from).collect()
    }
}

/// Type names that a file sees from other modules.
#[derive(Default)]
pub(crate) struct Visible(TypeNames);

impl Visible {
    pub(crate) fn add_type(&mut self, module: Option<&Text>, name: &Text) {
        self.0.add_type(module.map(|module| &**module), name);
    }

    pub(crate) fn add_struct(&mut self, module: Option<&Text>, name: &Text) {
        self.0.add_struct(module.map(|module| &**module), name);
    }

    /// Adds what a file defines itself; [`parse`] needs no telling.
    pub(crate) fn add_own(&mut self, scanned: &Scanned) {
        let own = ravel_syntax::prescan(&scanned.tokens);
        own.types.iter().chain(&own.families).for_each(|name| self.0.add_type(None, &name.name));
        own.structs.iter().for_each(|name| self.0.add_struct(None, &name.name));
        own.operators.iter().for_each(|name| self.0.add_operator(&name.name));
    }

    /// Adds what the file `name` defines itself, as it can qualify it.
    pub(crate) fn add_qualified(&mut self, name: &Text, scanned: &Scanned) {
        let own = ravel_syntax::prescan(&scanned.tokens);
        own.types.iter().for_each(|ty| self.0.add_type(Some(name), &ty.name));
        own.structs.iter().for_each(|record| self.0.add_struct(Some(name), &record.name));
    }

    /// Adds what a module that was not found may have defined.
    pub(crate) fn add_doubtful(&mut self, scanned: &Scanned) {
        ravel_syntax::add_doubtful_names(&scanned.tokens, &mut self.0);
    }

    pub(crate) fn into_names(self) -> TypeNames {
        self.0
    }

    /// Adds the name if it is an operator symbol.
    pub(crate) fn add_operator(&mut self, name: &Text) {
        if !name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            self.0.add_operator(name);
        }
    }
}

/// Gives the preprocessor access to included files.
struct Includes<'a> {
    loader: &'a mut dyn Loader,
    /// Files of this run by name.
    known: HashMap<String, FileId>,
    /// Something was asked for.
    asked: bool,
    /// Included texts outlive the run, as what includes them.
    lasting: bool,
}

impl ravel_syntax::Loader for Includes<'_> {
    fn include(&mut self, name: &str, _angled: bool, from: FileId, sources: &mut SourceMap) -> Option<FileId> {
        self.asked = true;
        let from = sources.get(from).map_or("", |file| file.name.as_str());
        let found = self.loader.find_include(name, from)?;
        if let Some(known) = self.known.get(&found) {
            return Some(*known);
        }
        let text = self.loader.read(&found).ok()?;
        let id = if self.lasting { sources.add_lasting(&found, text) } else { sources.add(found.clone(), text) };
        self.known.insert(found, id);
        Some(id)
    }

    fn now(&mut self) -> u64 {
        self.asked = true;
        self.loader.now()
    }
}

/// Preprocesses a file and finds what it needs. What a module includes may outlive the run, as the module itself.
pub(crate) fn scan(
    file: FileId,
    loader: &mut dyn Loader,
    macros: &[MacroOption],
    is_root: bool,
    map: &mut SourceMap,
) -> Scanned {
    let mut includes = Includes { loader, known: HashMap::default(), asked: false, lasting: !is_root };
    let options = PreprocessOptions { macros: macros.to_vec() };
    let (tokens, reports) = ravel_syntax::lex_and_preprocess(file, map, &options, &mut includes);
    let is_lasting = !includes.asked;
    let broken = reports.iter().any(Diagnostic::is_error);
    let interface = ravel_syntax::prescan(&tokens);
    let loads = interface.loads.into_iter().map(|load| Mention {
        module: load.module.name,
        span: load.module.span,
        qualified: false,
        symbols: Some(load.symbols),
    });
    let names = interface.mentions.into_iter().map(|module| Mention {
        module: module.name,
        span: module.span,
        qualified: true,
        symbols: None,
    });
    let mentions = loads.chain(names).collect();
    let header = interface.module.map(|name| (name.name, name.span));
    Scanned { tokens, header, mentions, broken, reports, is_lasting }
}

/// Parses a file that has been scanned.
pub(crate) fn parse(scanned: &Scanned, visible: &Visible, reports: &mut Diagnostics) -> ast::File {
    let (file, problems) = ravel_syntax::parse_file(&scanned.tokens, &visible.0);
    reports.extend(problems);
    file
}
