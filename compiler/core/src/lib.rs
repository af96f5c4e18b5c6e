//! Core: module loading, name resolution, overload sets and desugaring; syntax trees in, [`ir::Program`] out.
//!
//! [`load`] reads the root file and every module that it needs through a [`Loader`], resolves all names and
//! lowers the functions that the root file can reach, and no others. Errors do not stop it: what cannot be lowered becomes
//! [`ir::ExprKind::Error`], and one run reports everything. A program with errors must not go to later stages.
//!
//! The work in order: `modules` loads files and builds their symbol tables (`interface`), `lookup` finds what a name
//! means, `types`, `functions` and `globals` lower definitions, `overloads` makes the sets that calls refer to,
//! `stmts`, `exprs`, `calls`, `select`, `withloops`, `comprehension` (with `infer`), `derive` and `literals` lower bodies.
#![forbid(unsafe_code)]

mod calls;
mod comprehension;
mod derive;
mod diagnostics;
mod exprs;
pub mod facts;
mod flow;
mod foreign;
mod frontend;
mod functions;
mod globals;
mod infer;
mod interface;
pub mod ir;
mod kept;
mod lints;
mod literals;
mod loader;
mod lookup;
mod make;
mod modules;
mod overloads;
mod print;
mod reach;
mod scope;
mod select;
mod stmts;
mod types;
mod visit;
mod withloops;

pub use derive::rules::rules_of;
pub use facts::Facts;
pub use foreign::ADAPTER;
pub use kept::Kept;
pub use loader::{Loader, ModulePlace, Options, RootSource};
pub use overloads::{DispatchShape, dispatch_shape};
pub use print::print;
pub use ravel_syntax::elsewhere;

use interface::DefId;
use ir::{FunId, GlobalId, SetId, StructId, UserType, UserTypeId, UserTypeKind};
use modules::{Def, ModId, Module, Progress};
use overloads::{Callee, Wanted};
use ravel_diagnostics::Diagnostics;
use ravel_source::{SourceMap, Span};
use ravel_syntax::TypeNames;
use ravel_syntax::ast::{QName, Text};
use ravel_types::{HashMap, HashSet};
use types::Known;

/// Loads a root file and everything that it reaches.
///
/// The program is complete if the diagnostics have no errors. A root without `main` is no error here. What earlier runs kept
/// is used, and what this one reads is added, so `map` must have the lasting texts of these runs. What names mean goes to `facts`.
pub fn load<'a>(
    root: RootSource,
    loader: &'a mut dyn Loader,
    options: &'a Options,
    map: &'a mut SourceMap,
    kept: &'a mut Kept,
    facts: Option<&'a mut Facts>,
) -> (ir::Program, Diagnostics) {
    let mut core = Core::new(loader, options, map, kept);
    core.facts = facts;
    let module = core.load_root(&root);
    core.lower_root(module);
    core.lint();
    (core.program, core.reports)
}

/// The syntax tree of the root file. Its modules are loaded for the type names that the parser needs.
pub fn parse(
    root: RootSource,
    loader: &mut dyn Loader,
    options: &Options,
    map: &mut SourceMap,
    kept: &mut Kept,
) -> (std::sync::Arc<ravel_syntax::ast::File>, Diagnostics) {
    let mut core = Core::new(loader, options, map, kept);
    let module = core.load_root(&root);
    (core.module(module).file.clone(), core.reports)
}

/// The type names that a root file can use: its own and those of all modules that it mentions. Errors are not reported;
/// loading the file tells of them.
///
/// What is typed at a prompt is told apart with these.
pub fn visible_types(
    root: &RootSource,
    loader: &mut dyn Loader,
    options: &Options,
    map: &mut SourceMap,
    kept: &mut Kept,
) -> TypeNames {
    Core::new(loader, options, map, kept).root_types(root)
}

/// All state of one run.
struct Core<'a> {
    loader: &'a mut dyn Loader,
    options: &'a Options,
    map: &'a mut SourceMap,
    reports: Diagnostics,
    /// By file name.
    progress: HashMap<String, Progress>,
    /// Modules that were not found, with the file that mentions them.
    missing: HashSet<(Text, String)>,
    /// The modules that are being loaded, each with the place where it mentions the next one.
    chain: Vec<(String, Span)>,
    /// Modules that runs share.
    kept: &'a mut Kept,
    /// Modules of this run alone, and what they define.
    own_modules: Vec<Module>,
    own_defs: Vec<Def>,
    /// All modules that this run has loaded; one comes after those that it mentions.
    loaded: Vec<ModId>,
    program: ir::Program,
    /// What has been lowered; nothing for definitions with errors.
    functions: HashMap<DefId, Option<FunId>>,
    user_types: HashMap<DefId, Known<UserTypeId>>,
    structs: HashMap<DefId, Known<StructId>>,
    globals: HashMap<DefId, Option<GlobalId>>,
    waiting: Vec<functions::Waiting>,
    waiting_objects: Vec<(GlobalId, DefId)>,
    /// Type definitions that are being lowered one inside the other.
    type_depth: usize,
    /// By function: how many of its slots belong to its head.
    head_slots: Vec<usize>,
    /// By function: whether it is external.
    foreign: Vec<bool>,
    callees: HashMap<(ModId, Option<Text>, Text, usize, Wanted), Callee>,
    sets: HashMap<(Text, Vec<FunId>, usize), SetId>,
    wrappers: HashMap<(FunId, Vec<usize>), FunId>,
    /// Pairs of functions with the same dispatch types that have been reported.
    compared: HashSet<(DefId, DefId)>,
    /// What names mean, if somebody asks.
    facts: Option<&'a mut Facts>,
}

impl<'a> Core<'a> {
    fn new(loader: &'a mut dyn Loader, options: &'a Options, map: &'a mut SourceMap, kept: &'a mut Kept) -> Core<'a> {
        Core {
            loader,
            options,
            map,
            reports: Diagnostics::new(),
            progress: HashMap::default(),
            missing: HashSet::default(),
            chain: Vec::new(),
            kept,
            own_modules: Vec::new(),
            own_defs: Vec::new(),
            loaded: Vec::new(),
            program: ir::Program::default(),
            functions: HashMap::default(),
            user_types: HashMap::default(),
            structs: HashMap::default(),
            globals: HashMap::default(),
            waiting: Vec::new(),
            waiting_objects: Vec::new(),
            type_depth: 0,
            head_slots: Vec::new(),
            foreign: Vec::new(),
            callees: HashMap::default(),
            sets: HashMap::default(),
            wrappers: HashMap::default(),
            compared: HashSet::default(),
            facts: None,
        }
    }
}

impl Core<'_> {
    fn lower_root(&mut self, root: ModId) {
        self.find_string_type();
        self.root_functions(root);
        for object in self.module(root).objects.clone() {
            self.global(object);
        }
        for def in self.module(root).types.clone() {
            self.check_type(def);
        }
        self.lower_waiting();
        self.note_files(root);
        self.order_globals();
    }

    /// The type of string literals, if the library module that defines it has been loaded.
    fn find_string_type(&mut self) {
        let string = QName { module: None, name: "string".into(), span: Span::NONE };
        let is_string = |module: &Module| &*module.name == types::STRING.0 && module.library;
        let module = self.loaded.iter().copied().find(|module| is_string(self.module(*module)));
        if let Some(module) = module
            && let Ok(def) = self.meaning(module, &string, lookup::Kind::Type)
        {
            self.program.string_type = self.user_type(def);
        }
    }

    /// A type of strings that belongs to no file.
    fn own_string_type(&mut self) -> UserTypeId {
        let (module, name) = types::STRING;
        let (name, module) = (name.to_string(), module.to_string());
        let (kind, unique) = (UserTypeKind::External, false);
        self.program.user_types.push(UserType {
            name,
            module,
            kind,
            unique,
            free: None,
            link: Vec::new(),
            span: Span::NONE,
        });
        let id = UserTypeId(self.program.user_types.len() as u32 - 1);
        self.program.string_type = Some(id);
        id
    }

    /// Makes sure that there is a type for a string literal.
    fn need_string_type(&mut self) {
        if self.program.string_type.is_some() {
            return;
        }
        self.load_module(&"String".into(), Span::NONE, "");
        self.find_string_type();
        if self.program.string_type.is_none() {
            self.own_string_type();
        }
    }
}
