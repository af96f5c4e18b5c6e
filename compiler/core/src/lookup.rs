//! What a name means in a module, and what to suggest when it means nothing.

use crate::Core;
use crate::diagnostics::{self as report, Suggestion};
use crate::interface::{DefId, Entry};
use crate::kept::OWN;
use crate::modules::{Def, DefPlace, ModId, Module};
use ravel_diagnostics::did_you_mean;
use ravel_source::Span;
use ravel_syntax::ast::{self, Definition, QName, Text};

/// The kinds of symbols, each with a name space of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Function,
    Type,
    Struct,
    Object,
}

impl Kind {
    fn of(self, entry: &Entry) -> &[DefId] {
        match self {
            Kind::Function => &entry.functions,
            Kind::Type => &entry.types,
            Kind::Struct => &entry.structs,
            Kind::Object => &entry.objects,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Kind::Function => "function",
            Kind::Type => "type",
            Kind::Struct => "struct",
            Kind::Object => "object",
        }
    }
}

/// Why a name has no single meaning.
pub enum Missing {
    Nothing,
    /// Several definitions, of these modules.
    Several(Vec<String>),
    /// Its module was not found, which was reported there.
    Reported,
}

/// Modules where most people look first; suggestions name them before the modules that they re-export.
const WELL_KNOWN: [&str; 7] = ["Array", "StdIO", "Math", "String", "CommandLine", "Complex", "Structures"];

/// Library modules of functions on scalars, with those that have them for arrays, too.
const OF_ARRAYS: [(&str, &str); 1] = [("Math", "MathArray")];

impl Core<'_> {
    pub(crate) fn def(&self, def: DefId) -> Def {
        match def.0.checked_sub(OWN) {
            None => self.kept.defs[def.0 as usize],
            Some(at) => self.own_defs[at as usize],
        }
    }

    pub(crate) fn module(&self, module: ModId) -> &Module {
        match module.0.checked_sub(OWN) {
            None => &self.kept.modules[module.0 as usize],
            Some(at) => &self.own_modules[at as usize],
        }
    }

    /// The file that holds `def`, and the definition's position there.
    pub(crate) fn item(&self, def: DefId) -> (std::sync::Arc<ast::File>, usize) {
        let Def { module, place } = self.def(def);
        let index = match place {
            DefPlace::Item(index) => index,
            DefPlace::Class => usize::MAX,
        };
        (self.module(module).file.clone(), index)
    }

    /// All definitions that a name means, those loaded with `use` first.
    pub(crate) fn meanings(&self, module: ModId, name: &QName, kind: Kind) -> Result<Vec<DefId>, Missing> {
        let here = self.module(module);
        let tables = match &name.module {
            None => [&here.used, &here.own],
            Some(other) => match here.mentions.get(other) {
                Some(other) => [&self.module(*other).exported, &self.module(*other).provided],
                None if *other == here.name => [&here.own, &here.own],
                None => return Err(Missing::Reported),
            },
        };
        let mut found: Vec<DefId> = Vec::new();
        for entry in tables.into_iter().filter_map(|table| table.get(&name.name)) {
            for def in kind.of(entry) {
                if !found.contains(def) {
                    found.push(*def);
                }
            }
        }
        Ok(found)
    }

    /// The one definition that a name means; a definition of the file itself wins over loaded ones, and these over what is in the background.
    pub(crate) fn meaning(&self, module: ModId, name: &QName, kind: Kind) -> Result<DefId, Missing> {
        let found = self.meanings(module, name, kind)?;
        match found.as_slice() {
            [] => Err(Missing::Nothing),
            [one] => Ok(*one),
            several => {
                if let Some(own) = several.iter().find(|def| self.def(**def).module == module) {
                    return Ok(*own);
                }
                let background = &self.module(module).background;
                let mut loaded = several.iter().filter(|def| !background.contains(def));
                if let (Some(one), None) = (loaded.next(), loaded.next()) {
                    return Ok(*one);
                }
                let modules = several.iter().map(|def| self.module(self.def(*def).module).name.to_string());
                Err(Missing::Several(modules.collect()))
            }
        }
    }

    /// Reports a type, struct or object name without a single meaning.
    pub(crate) fn report_missing(&mut self, module: ModId, name: &QName, kind: Kind, missing: Missing) {
        let diagnostic = match missing {
            Missing::Reported => return,
            Missing::Nothing if self.is_excused(module, &name.name) => return,
            Missing::Nothing if name.module.is_some() => return self.report_not_offered(module, name),
            Missing::Several(modules) => report::ambiguous(kind.word(), &name.name, name.span, &modules),
            Missing::Nothing => {
                let suggestion = self.suggest(module, &name.name, kind, &[]);
                match kind {
                    Kind::Object => report::unknown_variable(&name.name, name.span, suggestion, false),
                    _ => report::unknown_type(&name.name, name.span, suggestion),
                }
            }
        };
        self.reports.push(diagnostic);
    }

    /// Whether the name may be unknown only because of an error that has been reported: a definition that could not be
    /// parsed, a module that could not be loaded.
    pub(crate) fn is_excused(&self, module: ModId, name: &str) -> bool {
        let module = self.module(module);
        module.incomplete || module.lost.contains(name)
    }

    /// Reports a qualified name that its module does not offer.
    pub(crate) fn report_not_offered(&mut self, module: ModId, name: &QName) {
        let here = self.module(module);
        let Some(source) = &name.module else { return };
        let diagnostic = match here.mentions.get(source) {
            Some(source) => self.module(*source).not_offered(&name.name, name.span, false),
            None if *source == here.name => here.not_defined(&name.name, name.span),
            None => return,
        };
        self.reports.push(diagnostic);
    }

    /// A visible name that is spelled alike, or a module that exports the name. `more` are further visible names.
    pub(crate) fn suggest(&mut self, module: ModId, name: &str, kind: Kind, more: &[Text]) -> Suggestion {
        let module_here = module;
        let here = self.module(module);
        let mut visible: Vec<Text> = more.to_vec();
        for (text, entry) in here.used.iter().chain(here.own.iter()) {
            if !kind.of(entry).is_empty() {
                visible.push(text.clone());
            }
        }
        visible.sort_unstable();
        visible.dedup();
        let close = did_you_mean(name, visible.iter().map(|text| &**text)).map(str::to_string);
        let module = self.exporter(name, kind, &|_, _| true);
        let arrays =
            OF_ARRAYS.iter().find(|(of_scalars, _)| module.as_deref() == Some(of_scalars)).map(|(_, arrays)| *arrays);
        let for_arrays = arrays.filter(|arrays| self.exports(arrays, name, kind)).map(str::to_string);
        let here = self.module(module_here);
        let keeps = |other: &&ModId| {
            let other = self.module(**other);
            !other.library && other.own.get(name).is_some_and(|entry| !kind.of(entry).is_empty())
        };
        let mut keepers: Vec<String> =
            here.mentions.values().filter(keeps).map(|keeper| self.module(*keeper).name.to_string()).collect();
        keepers.sort_unstable();
        Suggestion { close, module, for_arrays, keeper: keepers.into_iter().next() }
    }

    /// Whether the library has a module of this name that exports the other one.
    fn exports(&mut self, module: &str, name: &str, kind: Kind) -> bool {
        let library = self.loader.library_modules();
        let (reports, missing) = (std::mem::take(&mut self.reports), self.missing.clone());
        let chain = std::mem::take(&mut self.chain);
        let loaded =
            library.iter().any(|known| known == module).then(|| self.load_module(&module.into(), Span::NONE, ""));
        let entry = loaded.flatten().and_then(|loaded| self.module(loaded).exported.get(name));
        let has = entry.is_some_and(|entry| !kind.of(entry).is_empty());
        (self.reports, self.missing, self.chain) = (reports, missing, chain);
        has
    }

    /// A module that exports `name`, of which `fits` takes some meaning: a loaded one of the user, else one of the library, which is loaded for the search.
    pub(crate) fn exporter(&mut self, name: &str, kind: Kind, fits: &dyn Fn(&Self, &DefId) -> bool) -> Option<String> {
        let offers = |core: &Self, module: &Module| {
            module.exported.get(name).is_some_and(|entry| kind.of(entry).iter().any(|def| fits(core, def)))
        };
        let mut loaded = self.loaded.iter().map(|module| self.module(*module));
        if let Some(module) = loaded.find(|module| !module.library && offers(self, module)) {
            return Some(module.name.to_string());
        }
        let library = self.loader.library_modules();
        let known = WELL_KNOWN.iter().map(|known| known.to_string()).filter(|known| library.contains(known));
        let order: Vec<String> = known.chain(library.iter().cloned()).collect();
        // Reports about library modules that nobody asked for would only confuse.
        let reports = std::mem::take(&mut self.reports);
        let missing = self.missing.clone();
        let chain = std::mem::take(&mut self.chain);
        let mut found = None;
        for candidate in order {
            let loaded = self.load_module(&candidate.as_str().into(), Span::NONE, "");
            if loaded.is_some_and(|module| offers(self, self.module(module)) && self.module(module).library) {
                found = Some(candidate);
                break;
            }
        }
        self.reports = reports;
        self.missing = missing;
        self.chain = chain;
        found
    }

    /// The span of the name of a definition.
    pub(crate) fn def_span(&self, def: DefId) -> Span {
        let (file, index) = self.item(def);
        match file.definitions.get(index) {
            Some(Definition::Typedef(def)) => def.name.span,
            Some(Definition::ExternalTypedef(def)) => def.name.span,
            Some(Definition::Object(def)) => def.name.span,
            Some(Definition::Struct(def)) => def.name.span,
            Some(Definition::Function(def)) => def.name.span,
            _ => match &file.header {
                ast::Header::Class(class) => class.name.span,
                _ => file.span,
            },
        }
    }
}
