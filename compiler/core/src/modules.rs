//! Module loading: every file once, what it mentions first, then its own parse and its symbol table.
//!
//! Modules form an acyclic graph. A file is scanned for the modules that it mentions (`use`, `import` and `M::name`),
//! these are loaded, and only then is it parsed, because the parser must know which names are types.

use crate::diagnostics::{self as report, NotOffered};
use crate::frontend::{self, Scanned};
use crate::interface::{DefId, Entry, Selection, Table};
use crate::kept::{OWN, Place};
use crate::{Core, RootSource};
use ravel_diagnostics::{Diagnostic, Diagnostics};
use ravel_source::{FileId, Span};
use ravel_syntax::TypeNames;
use ravel_syntax::ast::{self, Definition, Header, LoadKind, OfferKind, SymbolSet, Text};
use ravel_types::{Basic, HashMap, HashSet};
use std::sync::Arc;

/// Index of a loaded module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModId(pub u32);

/// A parsed file with its names.
pub struct Module {
    /// What the header says; the file name for a program.
    pub name: Text,
    pub library: bool,
    pub file: Arc<ast::File>,
    /// Defined here or imported: what the module may offer.
    pub own: Table,
    /// Visible through `use` only.
    pub used: Table,
    /// What is visible only through the `use` lines of [`crate::Options::background_uses`].
    pub background: HashSet<DefId>,
    pub exported: Table,
    pub provided: Table,
    /// Modules by the name under which this file mentions them.
    pub mentions: HashMap<Text, ModId>,
    pub families: HashMap<Text, Vec<Basic>>,
    /// Functions of this file by position in the list of definitions.
    pub functions: Vec<DefId>,
    pub objects: Vec<DefId>,
    /// Typedefs, records and the class.
    pub types: Vec<DefId>,
    /// Words on the lines where definitions may have been lost to syntax errors, here and in the modules that it loads.
    pub lost: HashSet<Text>,
    /// A module that this one loads, or that those load, was not found or not loaded.
    pub incomplete: bool,
    /// The file has syntax errors.
    pub broken: bool,
    /// Macros of a user's file, which may be what an unknown name was meant to be.
    pub macros: Vec<Text>,
}

impl Module {
    /// The class that this file defines.
    pub fn class(&self) -> Option<&ast::ClassHeader> {
        match &self.file.header {
            Header::Class(class) => Some(class),
            _ => None,
        }
    }

    /// The report about a name that this module, which qualifies it with its own name, does not define.
    pub fn not_defined(&self, name: &str, at: Span) -> Diagnostic {
        let mut own: Vec<&str> = self.own.names().map(|name| &**name).collect();
        own.sort_unstable();
        report::not_defined(&self.name, name, at, matches!(self.file.header, Header::Program), &own)
    }

    /// The report about a name that this module does not offer to others.
    pub fn not_offered(&self, name: &str, at: Span, provided: bool) -> Diagnostic {
        let why = match (provided, self.own.get(name)) {
            (true, _) => NotOffered::Provided,
            (false, Some(_)) => NotOffered::Private,
            (false, None) => NotOffered::Unknown,
        };
        let mut offered: Vec<&str> = self.exported.names().map(|name| &**name).collect();
        offered.sort_unstable();
        report::not_offered(&self.name, name, at, why, &offered)
    }
}

/// A definition and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Def {
    pub module: ModId,
    pub place: DefPlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefPlace {
    /// Index into the definitions of the file.
    Item(usize),
    /// The class of the file's header.
    Class,
}

/// How far the loading of a file has come.
pub enum Progress {
    /// Depth in the chain of mentions.
    Loading(usize),
    Done(ModId),
    Failed,
}

impl Core<'_> {
    /// Loads the root file and all that it mentions.
    pub(crate) fn load_root(&mut self, root: &RootSource) -> ModId {
        let file = self.map.add(root.name.clone(), root.text.clone());
        self.progress.insert(root.name.clone(), Progress::Loading(0));
        let scanned = self.scan_root(file);
        // A program is called after its file.
        let stem =
            std::path::Path::new(&root.name).file_stem().map_or(root.name.as_str().into(), |s| s.to_string_lossy());
        let name = scanned.header.as_ref().map_or_else(|| Text::from(&*stem), |(name, _)| name.clone());
        self.chain.push((name.to_string(), Span::NONE));
        let module = self.finish_module(name, file, &root.name, false, scanned);
        self.chain.pop();
        self.progress.insert(root.name.clone(), Progress::Done(module));
        module
    }

    fn scan_root(&mut self, file: FileId) -> Arc<Scanned> {
        let scanned = frontend::scan(file, self.loader, &self.options.macros, true, self.map);
        self.reports.extend(scanned.reports.iter().cloned());
        Arc::new(scanned)
    }

    /// The type names that the root file sees: its own and those of the modules that it mentions.
    pub(crate) fn root_types(&mut self, root: &RootSource) -> TypeNames {
        let file = self.map.add(root.name.clone(), root.text.clone());
        let scanned = self.scan_root(file);
        let mut mentions = HashMap::default();
        for mention in &scanned.mentions {
            if let Some(module) = self.load_module(&mention.module, mention.span, &root.name) {
                mentions.insert(mention.module.clone(), module);
            }
        }
        let mut visible = self.visible_types(&scanned, &mentions);
        visible.add_own(&scanned);
        visible.into_names()
    }

    /// The module `name` as mentioned at `at` in the file called `from`. Errors are reported once per file.
    pub(crate) fn load_module(&mut self, name: &Text, at: Span, from: &str) -> Option<ModId> {
        let Some(place) = self.loader.find_module(name, from) else {
            if self.missing.insert((name.clone(), from.to_string())) {
                let report = match self.loader.other_edition(name) {
                    Some(edition) => report::module_of_edition(name, at, edition),
                    None => report::unknown_module(name, at, &self.loader.library_modules()),
                };
                self.reports.push(report);
            }
            return None;
        };
        if let Some(last) = self.chain.last_mut() {
            last.1 = at;
        }
        match self.progress.get(&place.name) {
            Some(Progress::Done(module)) => return Some(*module),
            Some(Progress::Failed) => return None,
            Some(Progress::Loading(depth)) => {
                let chain = self.chain[*depth..].to_vec();
                let diagnostic = match chain.as_slice() {
                    [_] => report::own_module(name, at),
                    _ => report::module_cycle(&chain),
                };
                self.reports.push(diagnostic);
                return None;
            }
            None => {}
        }
        if let Some(rival) = &place.rival {
            self.reports.push(report::two_files(name, &place.name, rival, at));
        }
        if place.hides_library {
            self.reports.push(report::hides_library(name, &place.name, at));
        }
        self.progress.insert(place.name.clone(), Progress::Loading(self.chain.len()));
        let loaded = self.read_module(name, &place, at);
        let progress = loaded.map_or(Progress::Failed, Progress::Done);
        self.progress.insert(place.name, progress);
        loaded
    }

    fn read_module(&mut self, name: &Text, place: &crate::ModulePlace, at: Span) -> Option<ModId> {
        let text = match self.loader.read(&place.name) {
            Ok(text) => text,
            Err(why) => {
                self.reports.push(report::unreadable_module(name, &place.name, &why, at));
                return None;
            }
        };
        let (file, scanned) = self.scan_module(place, text);
        let found = scanned.header.as_ref().map(|(name, _)| &**name);
        if found != Some(&**name) {
            self.reports.push(report::wrong_header(name, &place.name, found, at));
            return None;
        }
        self.chain.push((name.to_string(), at));
        let module = self.finish_module(name.clone(), file, &place.name, place.library, scanned);
        self.chain.pop();
        Some(module)
    }

    /// Scans the text of a module, unless an earlier run has done so.
    fn scan_module(&mut self, place: &crate::ModulePlace, text: Arc<str>) -> (FileId, Arc<Scanned>) {
        let file = self.map.add_lasting(&place.name, text.clone());
        let macros = if place.library { &[][..] } else { &self.options.macros };
        let scanned = self.kept.scanned(&place.name, &text, macros).unwrap_or_else(|| {
            let scanned = Arc::new(frontend::scan(file, self.loader, macros, false, self.map));
            self.kept.keep_scan(&place.name, text, macros, &scanned);
            scanned
        });
        self.reports.extend(scanned.reports.iter().cloned());
        (file, scanned)
    }

    /// Loads what the file mentions, parses it and builds its tables, unless an earlier run has done so.
    fn finish_module(
        &mut self,
        name: Text,
        file: FileId,
        file_name: &str,
        library: bool,
        scanned: Arc<Scanned>,
    ) -> ModId {
        let is_root = !self.map.lasts(file);
        let mut mentions = HashMap::default();
        let mut incomplete = false;
        let mut resolved = Vec::new();
        for mention in &scanned.mentions {
            if mention.qualified && mention.module == name && self.is_own_name(&name, file_name, &scanned) {
                continue;
            }
            if mentions.contains_key(&mention.module) {
                continue;
            }
            let loaded = self.load_module(&mention.module, mention.span, file_name);
            resolved.push(loaded);
            match loaded {
                Some(module) => {
                    incomplete |= self.module(module).incomplete;
                    mentions.insert(mention.module.clone(), module);
                    self.warn_deprecated(module, mention.span);
                }
                None => incomplete = true,
            }
        }
        let lacks_module = resolved.iter().any(Option::is_none);
        if let Some((known, reports)) = self.kept.module(file_name, &scanned, &resolved) {
            self.reports.extend(reports.iter().cloned());
            self.loaded.push(known);
            return known;
        }
        let lasts = !is_root && scanned.is_lasting && resolved.iter().flatten().all(|module| module.0 < OWN);
        let place = Place { file: file_name, mentions: resolved, lasts };
        let before = std::mem::take(&mut self.reports);
        let mut visible = self.visible_types(&scanned, &mentions);
        if !mentions.contains_key(&name) && scanned.mentions.iter().any(|mention| mention.module == name) {
            visible.add_qualified(&name, &scanned);
        }
        if lacks_module {
            visible.add_doubtful(&scanned);
        }
        let mut problems = Diagnostics::new();
        let parsed = frontend::parse(&scanned, &visible, &mut problems);
        let mut lost: HashSet<Text> = HashSet::default();
        for module in mentions.values() {
            lost.extend(self.module(*module).lost.iter().cloned());
        }
        let broken = scanned.broken || problems.has_errors();
        if problems.has_errors() {
            lost.extend(self.top_level_words(file));
        }
        // A `use` that cannot be read may have brought every name.
        incomplete |= problems.iter().any(|report| self.is_in_load(report.span()));
        self.reports.extend(problems);
        let id = self.next_module(&place);
        let mut module = Module {
            name,
            library,
            file: Arc::new(parsed),
            own: Table::default(),
            used: Table::default(),
            background: HashSet::default(),
            exported: Table::default(),
            provided: Table::default(),
            mentions,
            families: HashMap::default(),
            functions: Vec::new(),
            objects: Vec::new(),
            types: Vec::new(),
            lost,
            incomplete,
            broken,
            macros: if library { Vec::new() } else { scanned.macros() },
        };
        self.define_symbols(id, &mut module);
        self.load_symbols(&mut module, file);
        self.check_prototypes(&module);
        self.offer_symbols(&mut module);
        let reports: Vec<Diagnostic> = std::mem::replace(&mut self.reports, before).into_iter().collect();
        self.reports.extend(reports.iter().cloned());
        self.enter_module(module, place, reports)
    }

    /// Whether the file's own name, as a qualifier, means the file. A program may share its name with a module, which is
    /// then what is meant.
    fn is_own_name(&mut self, name: &Text, file_name: &str, scanned: &Scanned) -> bool {
        scanned.header.is_some() || self.loader.find_module(name, file_name).is_none_or(|place| place.name == file_name)
    }

    /// Whether a place is in the line of a `use` or `import`.
    fn is_in_load(&self, at: Span) -> bool {
        let text = self.map.get(at.file).map_or("", |file| &*file.text);
        let line = text.get(..at.start as usize).map_or(0, |front| front.rfind('\n').map_or(0, |end| end + 1));
        text.get(line..).is_some_and(|line| ["use ", "import ", "from "].iter().any(|word| line.starts_with(word)))
    }

    /// Words at the start of the lines that are not indented, up to the parameters or the contents: heads of definitions.
    fn top_level_words(&self, file: FileId) -> Vec<Text> {
        let text = self.map.get(file).map_or("", |file| &*file.text);
        let heads = text.lines().filter(|line| line.starts_with(|c: char| !c.is_whitespace() && c != '#' && c != '/'));
        let heads = heads.filter_map(|line| line.split(['(', '=', ';', '{']).next());
        heads.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).map(Text::from).collect()
    }

    fn warn_deprecated(&mut self, module: ModId, at: Span) {
        let text = match &self.module(module).file.header {
            Header::Module(header) => header.deprecated.clone(),
            Header::Class(header) => header.deprecated.clone(),
            Header::Program => None,
        };
        if let Some(text) = text {
            let name = self.module(module).name.clone();
            self.reports.push(report::deprecated_module(&name, &text, at));
        }
    }

    /// The type names that the file sees from other modules.
    fn visible_types(&self, scanned: &Scanned, mentions: &HashMap<Text, ModId>) -> frontend::Visible {
        let mut visible = frontend::Visible::default();
        let mut add = |module: Option<&Text>, name: &Text, entry: &Entry| {
            if !entry.types.is_empty() {
                visible.add_type(module, name);
            }
            if !entry.structs.is_empty() {
                visible.add_struct(module, name);
            }
            if module.is_none() && !entry.functions.is_empty() {
                visible.add_operator(name);
            }
        };
        for mention in &scanned.mentions {
            let Some(module) = mentions.get(&mention.module) else { continue };
            let tables = [&self.module(*module).exported, &self.module(*module).provided];
            for (name, entry) in tables.into_iter().flat_map(Table::iter) {
                if mention.qualified {
                    add(Some(&mention.module), name, entry);
                } else if mention.symbols.as_ref().is_none_or(|set| Selection::new(set).has(name)) {
                    add(None, name, entry);
                }
            }
        }
        visible
    }

    /// Enters the definitions of the file itself.
    fn define_symbols(&mut self, id: ModId, module: &mut Module) {
        let file = module.file.clone();
        if let Header::Class(class) = &file.header {
            let def = self.add_def(id, DefPlace::Class);
            module.own.entry(&class.name.name).types.push(def);
            module.types.push(def);
        }
        let mut first: HashMap<(u8, Text), Span> = HashMap::default();
        for (i, definition) in file.definitions.iter().enumerate() {
            let (kind, name) = match definition {
                Definition::Typedef(def) => (0, &def.name),
                Definition::ExternalTypedef(def) => (0, &def.name),
                Definition::Struct(def) => (1, &def.name),
                Definition::Object(def) => (2, &def.name),
                Definition::Function(def) if !def.attributes.specialize && !is_prototype(def) => (3, &def.name),
                Definition::Family(family) => {
                    self.define_family(module, family);
                    continue;
                }
                _ => continue,
            };
            self.families_behind(module, definition);
            if kind < 3
                && let Some(before) = first.insert((kind, name.name.clone()), name.span)
            {
                let word = ["type", "struct", "object"][kind as usize];
                self.reports.push(report::duplicate(word, &name.name, name.span, before));
                continue;
            }
            if kind == 3 && &*name.name == "main" && !matches!(file.header, Header::Program) {
                self.reports.push(report::main_in_module(name.span));
            }
            let def = self.add_def(id, DefPlace::Item(i));
            let entry = module.own.entry(&name.name);
            match kind {
                0 => {
                    entry.types.push(def);
                    module.types.push(def);
                }
                1 => {
                    entry.structs.push(def);
                    module.types.push(def);
                }
                2 => {
                    entry.objects.push(def);
                    module.objects.push(def);
                }
                _ => {
                    entry.functions.push(def);
                    module.functions.push(def);
                }
            }
        }
    }

    /// A prototype says that a function is defined elsewhere in the file; functions see each other without.
    fn check_prototypes(&mut self, module: &Module) {
        let file = module.file.clone();
        let functions = || {
            file.definitions.iter().filter_map(|definition| match definition {
                Definition::Function(function) => Some(function),
                _ => None,
            })
        };
        for prototype in functions().filter(|function| is_prototype(function)) {
            let name = &prototype.name;
            let defined = functions().any(|other| {
                other.name.name == name.name
                    && (other.body.is_some() || other.attributes.external)
                    && other.params.len() == prototype.params.len()
                    && other.results.len() == prototype.results.len()
            });
            if !defined && !module.lost.contains(&name.name) {
                self.reports.push(report::missing_body(&name.name, name.span));
            }
        }
    }

    fn add_def(&mut self, module: ModId, place: DefPlace) -> DefId {
        let (list, first) = if module.0 < OWN { (&mut self.kept.defs, 0) } else { (&mut self.own_defs, OWN) };
        list.push(Def { module, place });
        DefId(first + list.len() as u32 - 1)
    }

    fn define_family(&mut self, module: &mut Module, family: &ast::Family) {
        let mut members = Vec::new();
        for member in &family.members {
            match &member.base {
                ast::TypeBase::Basic(basic) => members.push(crate::types::basic(*basic)),
                ast::TypeBase::Named(name) if module.families.contains_key(&name.name) => {
                    members.extend(module.families[&name.name].iter().copied());
                }
                _ => {
                    self.reports.push(report::family(member.span, "members must be built-in types or earlier families"))
                }
            }
        }
        members.dedup();
        module.families.insert(family.name.name.clone(), members);
    }

    /// Pragmas behind an external declaration belong to it in the syntax, but a family among them belongs to the file.
    fn families_behind(&mut self, module: &mut Module, definition: &Definition) {
        let pragmas = match definition {
            Definition::Function(def) => &def.pragmas,
            Definition::ExternalTypedef(def) => &def.pragmas,
            Definition::Object(def) => &def.pragmas,
            _ => return,
        };
        for pragma in pragmas.iter().filter(|pragma| &*pragma.name.name == "family") {
            let ast::PragmaArgs::Other(text) = &pragma.args else { continue };
            let mut words = text.split_whitespace();
            let name = ast::Ident { name: words.next().unwrap_or_default().into(), span: pragma.span };
            let member = |word: &str| {
                let named = ast::QName { module: None, name: word.into(), span: pragma.span };
                let base = ast::BasicType::from_keyword(word).map(ast::TypeBase::Basic);
                ast::FamilyMember { base: base.unwrap_or(ast::TypeBase::Named(named)), span: pragma.span }
            };
            let members = words.map(member).collect();
            self.define_family(module, &ast::Family { name, members, span: pragma.span });
        }
    }

    /// `use` and `import`. The module's text begins in file `text`.
    fn load_symbols(&mut self, module: &mut Module, text: FileId) {
        let file = module.file.clone();
        let may_be_background = self.options.background_uses && matches!(file.header, Header::Program);
        let mut background = Table::default();
        for definition in &file.definitions {
            let Definition::Load(load) = definition else { continue };
            let Some(source) = module.mentions.get(&load.module.name) else { continue };
            let source = self.module(*source);
            let selection = Selection::new(&load.symbols);
            match load.kind {
                LoadKind::Use => {
                    let is_background = may_be_background && load.span.file == text;
                    let used = if is_background { &mut background } else { &mut module.used };
                    used.merge_from(&source.exported, |name| selection.has(name));
                    used.merge_from(&source.provided, |name| selection.has(name));
                }
                LoadKind::Import => module.own.merge_from(&source.exported, |name| selection.has(name)),
            }
            let SymbolSet::Some(symbols) = &load.symbols else { continue };
            let mut missing = Vec::new();
            for symbol in symbols {
                let exported = source.exported.get(&symbol.name).is_some();
                let provided = source.provided.get(&symbol.name).is_some();
                let lost = source.incomplete || source.lost.contains(&symbol.name);
                if exported || lost || provided && load.kind == LoadKind::Use {
                    continue;
                }
                missing.push(source.not_offered(&symbol.name, symbol.span, provided));
            }
            self.reports.extend(missing);
        }
        for (name, entry) in background.iter() {
            let known = [module.used.get(name), module.own.get(name)];
            let is_new = |def: &DefId| !known.iter().flatten().any(|entry| entry.all().any(|known| known == *def));
            module.background.extend(entry.all().filter(is_new));
        }
        module.used.merge_from(&background, |_| true);
    }

    /// `export` and `provide`.
    fn offer_symbols(&mut self, module: &mut Module) {
        let file = module.file.clone();
        for definition in &file.definitions {
            let Definition::Offer(offer) = definition else { continue };
            let selection = Selection::new(&offer.symbols);
            match offer.kind {
                OfferKind::Export => module.exported.merge_from(&module.own, |name| selection.has(name)),
                OfferKind::Provide => module.provided.merge_from(&module.own, |name| selection.has(name)),
            }
            let SymbolSet::Some(symbols) = &offer.symbols else { continue };
            let missing = |symbol: &&ast::Ident| module.own.get(&symbol.name).is_none();
            for symbol in symbols.iter().filter(missing) {
                if module.incomplete || module.lost.contains(&symbol.name) {
                    continue;
                }
                let mut own: Vec<&str> = module.own.names().map(|name| &**name).collect();
                own.sort_unstable();
                self.reports.push(report::nothing_to_export(&symbol.name, symbol.span, &own));
            }
        }
    }
}

/// Whether this only announces a function that is defined elsewhere in the file.
fn is_prototype(function: &ast::Function) -> bool {
    function.body.is_none() && !function.attributes.external && !function.attributes.specialize
}
