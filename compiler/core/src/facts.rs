//! What names mean, for those who read programs: gathered while bodies are lowered, if somebody asks for it.
//!
//! Every name that stands in a file of the user is noted with the definitions that it can mean. Names that macros make have no place of
//! their own and are left out.

mod fields;

pub use fields::FieldUse;

use crate::Core;
use crate::interface::{DefId, Entry};
use crate::ir::{self, FunId, LocalId, SetId, StructId};
use crate::kept::OWN;
use crate::modules::ModId;
use ravel_source::Span;
use ravel_syntax::ast::{self, Definition, Text};
use ravel_syntax::{print_head, print_type};
use ravel_types::{HashMap, HashSet};

/// What a name can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DefKind {
    Function,
    /// A typedef or a class.
    Type,
    Struct,
    /// Of a record.
    Field,
    /// A global object.
    Object,
    /// A type variable.
    Family,
    Module,
    Parameter,
    /// A name in a shape pattern.
    Extent,
    Variable,
    /// An index of a with-loop or a comprehension.
    Index,
}

impl DefKind {
    /// Whether it is known in one function only.
    pub fn is_local(self) -> bool {
        matches!(self, DefKind::Parameter | DefKind::Extent | DefKind::Variable | DefKind::Index)
    }
}

/// A definition.
#[derive(Clone, Debug)]
pub struct Def {
    pub kind: DefKind,
    pub name: Text,
    /// The module that it belongs to.
    pub module: Text,
    pub library: bool,
    /// Of the name.
    pub span: Span,
    /// Of everything that belongs to it.
    pub whole: Span,
    /// How it is declared, in one line; empty for variables without a declaration.
    pub signature: String,
}

/// A place where a name stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    pub span: Span,
    /// What it can mean, by position in [`Facts::defs`].
    pub defs: Vec<u32>,
    /// The call that it is the function of.
    pub call: Option<Span>,
    /// It gets a value here.
    pub is_write: bool,
}

/// A name of a file that a function can be called by, and what is known of that function before it is called.
#[derive(Clone, Debug)]
pub struct Visible {
    pub name: Text,
    pub def: u32,
    /// Its head, without a body.
    pub head: Option<ir::Fun>,
}

/// A partition of a comprehension that says no upper bound.
#[derive(Clone, Debug)]
pub struct OpenBound {
    pub partition: Span,
    /// The index as it is written.
    pub index: Span,
    /// The bound of each axis as text; nothing if it is that of the array the index selects from as a whole.
    pub text: String,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub defs: Vec<Def>,
    pub uses: Vec<Use>,
    /// Names that statements assign: the name, the statement, and the slot of the function around.
    pub stores: Vec<(Span, Span, LocalId)>,
    pub bounds: Vec<OpenBound>,
    /// What the root file can call.
    pub visible: Vec<Visible>,
    /// What the modules that it mentions offer: module, name, definition.
    pub members: Vec<(Text, Text, u32)>,
    /// By function of the program: its definition.
    pub functions: HashMap<FunId, u32>,
    /// By record: the definitions of its fields, in their order.
    pub fields: HashMap<StructId, Vec<u32>>,
    pub field_uses: Vec<FieldUse>,
    by_def: HashMap<DefId, u32>,
    by_slot: HashMap<(Span, Text), u32>,
    /// Uses of functions, by the set of what they can mean.
    calls: Vec<(Span, Span, SetId)>,
}

/// A slot as a head or a body knows it.
pub(crate) struct Slot<'s> {
    pub kind: DefKind,
    pub name: &'s str,
    /// Where the name stood first.
    pub first: Span,
    pub declared: Option<Span>,
}

impl Core<'_> {
    /// Whether names of this module are noted.
    pub(crate) fn notes(&self, module: ModId) -> bool {
        self.facts.is_some() && !self.module(module).library
    }

    /// The place of a name itself, behind its module; nothing if a macro made it.
    fn written(&self, span: Span, name: &str) -> Option<Span> {
        let text = self.map.snippet(span);
        let has_name =
            text == name || text.ends_with(name) && text[..text.len() - name.len()].trim_end().ends_with("::");
        has_name.then(|| Span { start: span.end - name.len() as u32, ..span })
    }

    pub(crate) fn note_defs(&mut self, module: ModId, at: Span, name: &str, defs: &[DefId]) {
        if !self.notes(module) {
            return;
        }
        let Some(span) = self.written(at, name) else { return };
        let defs = defs.iter().map(|def| self.noted(*def)).collect();
        if let Some(facts) = &mut self.facts {
            facts.uses.push(Use { span, defs, call: None, is_write: false });
        }
    }

    /// A name that is called and means no function of the program.
    pub(crate) fn note_form(&mut self, module: ModId, name: &ast::QName, call: Span, defs: &[DefId]) {
        let before = self.facts.as_ref().map_or(0, |facts| facts.uses.len());
        self.note_defs(module, name.span, &name.name, defs);
        if let Some(noted) = self.facts.as_mut().and_then(|facts| facts.uses.get_mut(before)) {
            noted.call = Some(call);
        }
    }

    /// A call by name, or by an operator.
    pub(crate) fn note_call(&mut self, module: ModId, name: &ast::QName, call: Span, set: SetId) {
        if !self.notes(module) {
            return;
        }
        let Some(span) = self.written(name.span, &name.name) else { return };
        if let Some(facts) = &mut self.facts {
            facts.calls.push((span, call, set));
        }
    }

    pub(crate) fn note_slot(&mut self, module: ModId, at: Span, slot: &Slot<'_>, is_write: bool) {
        if !self.notes(module) {
            return;
        }
        let Some(span) = self.written(at, slot.name) else { return };
        let owner = self.module(module).name.clone();
        let signature =
            slot.declared.map_or(String::new(), |ty| format!("{} {}", one_line(self.map.snippet(ty)), slot.name));
        let Some(facts) = &mut self.facts else { return };
        let key = (slot.first, Text::from(slot.name));
        let def = *facts.by_slot.entry(key).or_insert_with(|| {
            facts.defs.push(Def {
                kind: slot.kind,
                name: slot.name.into(),
                module: owner,
                library: false,
                span: slot.first,
                whole: slot.first,
                signature: String::new(),
            });
            facts.defs.len() as u32 - 1
        });
        let known = &mut facts.defs[def as usize];
        if known.signature.is_empty() {
            known.signature = signature;
        }
        facts.uses.push(Use { span, defs: vec![def], call: None, is_write });
    }

    pub(crate) fn note_store(&mut self, module: ModId, at: Span, stmt: Span, slot: LocalId) {
        if self.notes(module)
            && let Some(facts) = &mut self.facts
        {
            facts.stores.push((at, stmt, slot));
        }
    }

    /// The position of a definition among those that are noted.
    fn noted(&mut self, def: DefId) -> u32 {
        if let Some(known) = self.facts.as_ref().and_then(|facts| facts.by_def.get(&def)) {
            return *known;
        }
        let described = self.describe(def);
        let Some(facts) = &mut self.facts else { return 0 };
        facts.defs.push(described);
        let at = facts.defs.len() as u32 - 1;
        facts.by_def.insert(def, at);
        at
    }

    fn describe(&self, id: DefId) -> Def {
        let def = self.def(id);
        let module = self.module(def.module);
        let (file, index) = self.item(id);
        let text = |span: Span| one_line(self.map.snippet(span));
        let (kind, name, whole, signature) = match (file.definitions.get(index), &file.header) {
            (Some(Definition::Function(function)), _) => {
                (DefKind::Function, function.name.name.clone(), function.span, print_head(function))
            }
            (Some(Definition::Typedef(def)), _) => (DefKind::Type, def.name.name.clone(), def.span, text(def.span)),
            (Some(Definition::ExternalTypedef(def)), _) => {
                (DefKind::Type, def.name.name.clone(), def.span, format!("external typedef {}", def.name.name))
            }
            (Some(Definition::Object(def)), _) => {
                let signature = format!("objdef {} {}", print_type(&def.ty), def.name.name);
                (DefKind::Object, def.name.name.clone(), def.span, signature)
            }
            (Some(Definition::Struct(def)), _) => (DefKind::Struct, def.name.name.clone(), def.span, text(def.span)),
            (_, ast::Header::Class(class)) => {
                (DefKind::Type, class.name.name.clone(), class.span, format!("class {}", class.name.name))
            }
            _ => (DefKind::Type, module.name.clone(), file.span, String::new()),
        };
        let (library, module) = (module.library, module.name.clone());
        Def { kind, name, module, library, span: self.def_span(id), whole, signature }
    }

    /// Notes what stands outside of bodies, and lowers what nobody has mentioned in the user's other modules: their names count, too.
    pub(crate) fn note_files(&mut self, root: ModId) {
        if self.facts.is_none() {
            return;
        }
        // What nobody asked for is not reported.
        let reports = std::mem::take(&mut self.reports);
        let mut modules: Vec<ModId> = self.loaded.clone();
        modules.push(root);
        let mut seen = HashSet::default();
        modules.retain(|module| seen.insert(*module) && !self.module(*module).library);
        for module in &modules {
            for def in self.module(*module).functions.clone() {
                self.function(def);
            }
            for object in self.module(*module).objects.clone() {
                self.global(object);
            }
            for ty in self.module(*module).types.clone() {
                self.check_type(ty);
            }
        }
        self.lower_waiting();
        modules.iter().for_each(|module| self.note_file(*module));
        self.note_records();
        self.note_visible(root);
        self.reports = reports;
        self.settle_facts();
    }

    fn note_file(&mut self, id: ModId) {
        let module = self.module(id);
        let (file, name) = (module.file.clone(), module.name.clone());
        let own: Vec<DefId> =
            [&module.functions, &module.objects, &module.types].into_iter().flatten().copied().collect();
        for def in own {
            let (at, name) = (self.def_span(def), self.describe(def).name);
            self.note_defs(id, at, &name, &[def]);
        }
        let header = match &file.header {
            ast::Header::Module(header) => Some(&header.name),
            ast::Header::Class(class) => Some(&class.name),
            ast::Header::Program => None,
        };
        if let Some(header) = header {
            self.note_module(id, header.span, id, &name);
        }
        for definition in &file.definitions {
            match definition {
                Definition::Load(load) => {
                    let Some(from) = self.module(id).mentions.get(&load.module.name).copied() else { continue };
                    self.note_module(id, load.module.span, from, &load.module.name);
                    self.note_symbols(id, &load.symbols, &|core, name| {
                        let source = core.module(from);
                        let entry = source.exported.get(name).or_else(|| source.provided.get(name));
                        entry.map_or(Vec::new(), |entry| entry.all().collect())
                    });
                }
                Definition::Offer(offer) => self.note_symbols(id, &offer.symbols, &|core, name| {
                    core.module(id).own.get(name).map_or(Vec::new(), |entry: &Entry| entry.all().collect())
                }),
                Definition::Family(family) => {
                    let slot = Slot {
                        kind: DefKind::Family,
                        name: &family.name.name,
                        first: family.name.span,
                        declared: None,
                    };
                    self.note_slot(id, family.name.span, &slot, false);
                }
                _ => {}
            }
        }
    }

    /// A name of a module.
    fn note_module(&mut self, user: ModId, at: Span, module: ModId, name: &Text) {
        let header = match &self.module(module).file.header {
            ast::Header::Module(header) => header.name.span,
            ast::Header::Class(class) => class.name.span,
            ast::Header::Program => return,
        };
        let library = self.module(module).library;
        let slot = Slot { kind: DefKind::Module, name, first: header, declared: None };
        self.note_slot(user, at, &slot, false);
        if let Some(facts) = &mut self.facts
            && let Some(def) = facts.by_slot.get(&(header, name.clone()))
        {
            let def = &mut facts.defs[*def as usize];
            (def.library, def.module, def.signature) = (library, name.clone(), format!("module {name}"));
        }
    }

    fn note_symbols(&mut self, id: ModId, symbols: &ast::SymbolSet, meaning: &dyn Fn(&Self, &str) -> Vec<DefId>) {
        if let ast::SymbolSet::Some(names) | ast::SymbolSet::AllExcept(names) = symbols {
            for name in names {
                let defs = meaning(self, &name.name);
                self.note_defs(id, name.span, &name.name, &defs);
            }
        }
    }

    /// The family of a name in a type of this module.
    pub(crate) fn note_family(&mut self, module: ModId, name: &ast::QName) {
        if !self.notes(module) {
            return;
        }
        let file = self.module(module).file.clone();
        let found = file.definitions.iter().find_map(|definition| match definition {
            Definition::Family(family) if family.name.name == name.name => Some(family.name.span),
            _ => None,
        });
        if let Some(first) = found {
            let slot = Slot { kind: DefKind::Family, name: &name.name, first, declared: None };
            self.note_slot(module, name.span, &slot, false);
        }
    }

    /// What the root file can call or mention, with heads.
    fn note_visible(&mut self, root: ModId) {
        let module = self.module(root);
        let mut names: Vec<(Text, DefId)> = Vec::new();
        for (name, entry) in module.used.iter().chain(module.own.iter()) {
            names.extend(entry.all().map(|def| (name.clone(), def)));
        }
        let mut offered: Vec<(Text, Text, DefId)> = Vec::new();
        for (module, id) in &module.mentions {
            for (name, entry) in self.module(*id).exported.iter() {
                offered.extend(entry.all().map(|def| (module.clone(), name.clone(), def)));
            }
        }
        offered.sort_unstable();
        for (module, name, id) in offered {
            let def = self.noted(id);
            if let Some(facts) = &mut self.facts {
                facts.members.push((module, name, def));
            }
        }
        names.sort_unstable();
        names.dedup();
        for (name, id) in names {
            let def = self.noted(id);
            let (file, index) = self.item(id);
            let head = match file.definitions.get(index) {
                Some(Definition::Function(function)) => self.head(self.def(id).module, function).map(|head| head.fun),
                _ => None,
            };
            if let Some(facts) = &mut self.facts {
                facts.visible.push(Visible { name, def, head });
            }
        }
    }

    /// Turns functions of the program into definitions, and brings uses into order.
    fn settle_facts(&mut self) {
        let made: Vec<(DefId, FunId)> =
            self.functions.iter().filter_map(|(def, fun)| fun.map(|fun| (*def, fun))).collect();
        let user = |id: &DefId| id.0 >= OWN || !self.module(self.def(*id).module).library;
        let mentioned: HashSet<FunId> = match &self.facts {
            Some(facts) => {
                facts.calls.iter().flat_map(|call| &self.program.sets[call.2.index()].members).copied().collect()
            }
            None => return,
        };
        let wrapped: Vec<(FunId, FunId)> = self.wrappers.iter().map(|((inner, _), outer)| (*outer, *inner)).collect();
        let wanted: Vec<(DefId, FunId)> = made
            .into_iter()
            .filter(|(def, fun)| {
                user(def)
                    || mentioned.contains(fun)
                    || wrapped.iter().any(|(outer, inner)| inner == fun && mentioned.contains(outer))
            })
            .collect();
        for (def, fun) in wanted {
            let def = self.noted(def);
            if let Some(facts) = &mut self.facts {
                facts.functions.insert(fun, def);
            }
        }
        let sets = &self.program.sets;
        let Some(facts) = &mut self.facts else { return };
        for (outer, inner) in wrapped {
            if let Some(def) = facts.functions.get(&inner).copied() {
                facts.functions.insert(outer, def);
            }
        }
        for (span, call, set) in std::mem::take(&mut facts.calls) {
            let mut defs: Vec<u32> =
                sets[set.index()].members.iter().filter_map(|fun| facts.functions.get(fun).copied()).collect();
            defs.dedup();
            facts.uses.push(Use { span, defs, call: Some(call), is_write: false });
        }
        in_order(&mut facts.uses);
    }
}

/// Brings uses into the order of files and places.
pub fn in_order(uses: &mut Vec<Use>) {
    let key = |found: &Use| (found.span.file, found.span.start, found.span.end);
    uses.sort_by_key(key);
    // What is lowered twice is noted twice.
    uses.dedup_by(|later, first| {
        let same = key(later) == key(first);
        if same {
            first.is_write |= later.is_write;
            first.call = first.call.or(later.call);
            for def in &later.defs {
                if !first.defs.contains(def) {
                    first.defs.push(*def);
                }
            }
        }
        same
    });
}

/// A text with its white space as single blanks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
