//! The specialiser's state, the entry function, and what happens after the last instance is done.

use crate::Entry;
use crate::Options;
use crate::Specialized;
use crate::calls::bind::origin::Place;
use crate::calls::instance::{Instance, Key};
use crate::calls::looks::Looks;
use crate::derive::flow::Flow;
use crate::emit::Emitter;
use crate::facts::Facts;
use crate::places::Places;
use crate::repeats::Repeats;
use crate::value::{Kind, ScKind, ShapeKind, Val};
use crate::withloops::in_order::Carried;
use ravel_core::ir::{self, FunId, Program};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_types::{Basic, Elem, Ty};
use ravel_types::{HashMap, HashSet};
use ravel_wir::{FuncId, GlobalId, Module, Op};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The slots and type variables of one activation of a function.
pub struct Frame {
    pub fun: FunId,
    pub families: Vec<Option<Basic>>,
    pub env: Vec<Option<Val>>,
    /// Where names of the head were bound.
    pub places: Vec<(ir::LocalId, Place)>,
    /// Where each slot got its present value, [`Span::NONE`] if at several places; nothing in functions of the library.
    pub origins: Option<Vec<Span>>,
    /// From what values were computed, in functions of the user that take derivatives.
    pub flow: Option<Rc<RefCell<Flow>>>,
}

/// An argument of a call in the user's files, for messages.
pub struct Argument {
    pub span: Span,
    /// Where the variable that it is got its value, if it is one.
    pub origin: Option<Span>,
    pub kind: Kind,
}

/// One entry of the stack of calls that elaboration is in.
pub struct Site {
    pub fun: FunId,
    /// Where the call was written.
    pub span: Span,
    /// Which elaboration of a function this is, of all there were.
    pub activation: u32,
    /// What it was called with, if that was in the user's files.
    pub args: Option<Rc<[Argument]>>,
}

/// What has been reported.
#[derive(Clone, Default)]
pub struct Reported {
    /// By code, place and title.
    pub titles: HashSet<(Code, Span, String)>,
    /// By code and place, the elaboration of the user's function around it that reported first.
    pub places: HashMap<(Code, Span), u32>,
    /// By code and place, the instances that have it, the first one first, as `f(double[4])`.
    pub instances: HashMap<(Code, Span), Vec<String>>,
    /// Reports that only added an instance to an earlier one.
    pub repeated: usize,
}

pub struct Spec<'p> {
    pub program: &'p Program,
    pub options: &'p Options<'p>,
    pub module: Module,
    pub em: Emitter,
    pub stack: Vec<Site>,
    /// What faults can say of their places.
    pub places: Places,
    /// What the instance under construction is found by.
    pub built: Option<Rc<Key>>,
    /// The arguments of the call that is about to be made.
    pub noted: Option<Rc<[Argument]>>,
    /// How many of these calls led to the function under construction, which others may call as well.
    pub outside: usize,
    /// Position of the construct being elaborated.
    pub here: Span,
    pub instances: Vec<Instance>,
    pub index: HashMap<Rc<Key>, usize>,
    pub looks: Looks,
    /// Instances finished inside of a recursive one, whose results may rest on its assumption.
    pub provisional: Vec<Rc<Key>>,
    /// WIR slots and kind of each global object.
    pub globals: Vec<(Vec<GlobalId>, Kind)>,
    /// Regions entered that may not run: a fault that is certain there is still only a run-time fault.
    pub conditional: u32,
    /// Of these, branches of conditions, and bodies over no index: what is wrong there is wrong only if they run.
    pub branches: u32,
    /// How many bodies of with-loops are around the code of this function.
    pub in_bodies: u32,
    /// The index vectors of the with-loops around the code of this function, the outermost first.
    pub around: Vec<Val>,
    /// Branches of run-time dispatch entered: not even a type error is certain there.
    pub speculative: u32,
    /// Within a version of a call for one rank, or the one for all others.
    pub in_version: bool,
    /// How often the statement being elaborated is there, for loops whose iterations are elaborated one by one.
    pub copies: usize,
    /// How often a cell of a with-loop is there, for with-loops that are executed index by index inside of each other.
    pub nested_cells: usize,
    pub liveness: crate::live::Liveness,
    /// Functions that have been asked whether they take derivatives.
    pub derivers: HashMap<FunId, bool>,
    /// Whether any function of the program takes derivatives, once somebody has asked.
    pub takes_derivatives: Option<bool>,
    /// With-loops that became loops.
    pub fold_loops: BTreeMap<Span, Carried>,
    /// What became of the exports.
    pub exported: Vec<Option<crate::Exported>>,
    /// Kinds of the further results of a call with variadic results, from the declarations of the targets.
    pub variadic: Vec<Kind>,
    /// Times that bodies were elaborated for instances while an activation of the same function was being elaborated.
    pub recursive_builds: usize,
    /// Calls of `inline` functions that were put in place in the function under construction.
    pub inlined: usize,
    /// A recursion without end was met: nothing more is elaborated.
    pub exhausted: bool,
    pub diagnostics: Vec<Diagnostic>,
    pub reported: Reported,
    pub repeats: Repeats,
    /// Elaborations of functions so far.
    pub activations: u32,
    /// What values turn out to be, if somebody asks.
    pub facts: Option<Facts>,
    /// The instance that is being noted.
    pub noting: Option<u32>,
    /// Expressions elaborated so far, each as often as it was.
    pub elaborated: u64,
}

pub fn run(program: &Program, entries: Vec<Entry>, options: &Options<'_>) -> Vec<Specialized> {
    let mut spec = Spec::new(program, options);
    spec.declare_globals();
    let last = entries.len().saturating_sub(1);
    let looks = entries.into_iter().enumerate().map(|(k, entry)| {
        if k > 0 {
            spec.begin_look();
        }
        if let Some(facts) = &mut spec.facts {
            facts.on_their_own = matches!(entry, Entry::Roots);
        }
        let results = spec.entry(entry);
        spec.mark_effects();
        let module = if k == last { std::mem::take(&mut spec.module) } else { spec.module.clone() };
        spec.finish(module, results)
    });
    let mut looks: Vec<Specialized> = looks.collect();
    if let Some(look) = looks.last_mut() {
        look.facts = spec.facts;
        look.places = spec.places;
    }
    looks
}

/// The kind of one value that C code gets: neither what is known of its elements nor its symbols mean anything there.
fn whole(kind: &Kind) -> Kind {
    match kind.map_forms(&mut |a| a.as_const().is_some().then(|| a.clone())) {
        Kind::Sc(basic, _) => Kind::Sc(basic, ScKind::Any),
        Kind::Tup(basic, elements) => {
            let extent = ravel_types::Affine::constant(elements.len() as i32);
            Kind::Arr(basic, ShapeKind::Known(vec![Some(extent)]))
        }
        Kind::Wrapped(ty, inner) => Kind::Wrapped(ty, Box::new(whole(&inner))),
        other => other,
    }
}

impl<'p> Spec<'p> {
    /// A specialiser that has done nothing yet.
    pub fn new(program: &'p Program, options: &'p Options<'p>) -> Self {
        Spec {
            program,
            options,
            module: Module::default(),
            em: Emitter::new("entry", Span::NONE),
            stack: Vec::new(),
            places: Places::default(),
            built: None,
            noted: None,
            outside: 0,
            here: Span::NONE,
            instances: Vec::new(),
            index: HashMap::default(),
            looks: Looks::default(),
            provisional: Vec::new(),
            globals: Vec::new(),
            conditional: 0,
            branches: 0,
            in_bodies: 0,
            around: Vec::new(),
            speculative: 0,
            in_version: false,
            copies: 1,
            nested_cells: 1,
            liveness: crate::live::Liveness::default(),
            derivers: HashMap::default(),
            takes_derivatives: None,
            fold_loops: BTreeMap::new(),
            exported: Vec::new(),
            variadic: Vec::new(),
            recursive_builds: 0,
            inlined: 0,
            exhausted: false,
            diagnostics: Vec::new(),
            reported: Reported::default(),
            repeats: Repeats::default(),
            activations: 0,
            facts: options.facts.then(Facts::default),
            noting: None,
            elaborated: 0,
        }
    }

    /// What one look has found.
    fn finish(&mut self, module: Module, results: Vec<Kind>) -> Specialized {
        let (module, renamed) = crate::prune::prune(module);
        let signatures = if self.options.signatures { self.signatures(&renamed) } else { HashMap::default() };
        let mut diagnostics = std::mem::take(&mut self.diagnostics);
        self.add_instances(&mut diagnostics);
        if !diagnostics.iter().any(Diagnostic::is_error) {
            let own = |d: &Diagnostic| !d.span().is_none() && !(self.options.is_library)(d.span().file);
            diagnostics.extend(crate::wraps::warnings(&module).into_iter().filter(own));
        }
        Specialized {
            // The entry itself is nobody's instance.
            instances: module.funcs.len().saturating_sub(1),
            module,
            results,
            diagnostics,
            exports: std::mem::take(&mut self.exported),
            elaborated: std::mem::take(&mut self.elaborated),
            fold_loops: std::mem::take(&mut self.fold_loops).into_iter().collect(),
            facts: None,
            places: Places::default(),
            signatures,
        }
    }

    pub fn fun(&self, id: FunId) -> &'p ir::Fun {
        &self.program.funs[id.index()]
    }

    fn declare_globals(&mut self) {
        for global in &self.program.globals {
            let frame = Frame::new(FunId(0), Vec::new(), 0);
            let kind = self.kind_of_type(&frame, &global.ty);
            let mut leaves = Vec::new();
            kind.leaves(&mut leaves);
            let (types, _) = self.em.leaf_types(&leaves);
            let slots = types
                .into_iter()
                .map(|ty| {
                    // A slot outlives every symbol.
                    let ty = match ty.rank() {
                        Some(0) => ty,
                        _ => Ty::new(ty.elem, ravel_types::Shape::Unknown),
                    };
                    self.module
                        .globals
                        .push(ravel_wir::Global { name: format!("{}::{}", global.module, global.name), ty })
                })
                .collect();
            self.globals.push((slots, kind));
        }
        self.em = Emitter::new("entry", Span::NONE);
    }

    fn entry(&mut self, entry: Entry) -> Vec<Kind> {
        self.em = Emitter::new("entry", Span::NONE);
        let id = self.module.funcs.push(self.em.func.clone());
        let init = !matches!(entry, Entry::Function { init_globals: false, .. } | Entry::Roots);
        if init {
            self.init_globals();
        }
        let with_exports = matches!(entry, Entry::Exports);
        let results = match entry {
            Entry::Main => match self.program.main {
                Some(main) => {
                    let span = self.fun(main).span;
                    let value = self.apply(main, Vec::new(), Vec::new(), span);
                    match value.into_iter().next() {
                        Some(Val::Sc(Basic::Int, s)) => {
                            let v = self.em.value(&s);
                            self.em.set_yields(self.em.func.body, vec![v]);
                        }
                        _ => {
                            let zero = self.em.constant(ravel_types::Scalar::I32(0));
                            self.em.set_yields(self.em.func.body, vec![zero]);
                        }
                    }
                    Vec::new()
                }
                None => Vec::new(),
            },
            Entry::Function { fun, args, .. } => {
                let args = args.iter().map(|kind| self.parameter(kind)).collect();
                let span = self.fun(fun).span;
                let values = self.apply(fun, Vec::new(), args, span);
                let body = self.em.func.body;
                let kinds: Vec<Kind> = values
                    .iter()
                    .map(|v| {
                        // Symbols mean nothing to the caller.
                        let kind = self.em.visible_kind(v);
                        kind.map_forms(&mut |a| a.as_const().is_some().then(|| a.clone()))
                    })
                    .collect();
                let mut yields = Vec::new();
                for (v, k) in values.iter().zip(&kinds) {
                    self.em.flatten(v, k, &mut yields);
                }
                self.em.set_yields(body, yields);
                kinds
            }
            Entry::Exports => {
                let zero = self.em.constant(ravel_types::Scalar::I32(0));
                self.em.set_yields(self.em.func.body, vec![zero]);
                Vec::new()
            }
            Entry::Roots => {
                for root in &self.program.roots {
                    self.check_root(*root);
                }
                Vec::new()
            }
        };
        self.module.funcs[id] = std::mem::replace(&mut self.em, Emitter::new("done", Span::NONE)).func;
        self.module.entry = Some(id);
        if with_exports {
            self.exports();
        }
        self.make_rules();
        results
    }

    /// The functions that C code is to call, each a function of the module.
    fn exports(&mut self) {
        let program = self.program;
        for (n, export) in program.exports.iter().enumerate() {
            let before = self.diagnostics.len();
            let exported = self.export(export.fun, n);
            let failed = self.diagnostics[before..].iter().any(Diagnostic::is_error);
            self.exported.push(exported.filter(|_| !failed));
        }
    }

    fn export(&mut self, id: FunId, n: usize) -> Option<crate::Exported> {
        let fun = self.fun(id);
        if !fun.families.is_empty() {
            return None;
        }
        self.em = Emitter::new(&fun.name, fun.span);
        let func = self.module.funcs.push(self.em.func.clone());
        let frame = Frame::new(id, Vec::new(), 0);
        let params: Vec<Kind> = fun.params.iter().map(|p| self.kind_of_type(&frame, &p.ty)).collect();
        let args = params.iter().map(|kind| self.parameter(kind)).collect();
        let values = self.apply(id, Vec::new(), args, fun.span);
        let results: Vec<Kind> = values.iter().map(|value| whole(&self.em.visible_kind(value))).collect();
        let body = self.em.func.body;
        let mut yields = Vec::new();
        for (value, kind) in values.iter().zip(&results) {
            self.em.flatten(value, kind, &mut yields);
        }
        self.em.set_yields(body, yields);
        self.module.funcs[func] = std::mem::replace(&mut self.em, Emitter::new("done", Span::NONE)).func;
        if results.iter().any(Kind::has_bottom) {
            return None;
        }
        self.module.exports.push((format!("export{n}"), func));
        Some(crate::Exported { params, results })
    }

    /// A parameter of the entry function.
    fn parameter(&mut self, kind: &Kind) -> Val {
        let mut leaves = Vec::new();
        kind.leaves(&mut leaves);
        let body = self.em.func.body;
        let values = self.em.params_for(body, &leaves);
        self.em.instantiate(kind, &mut values.into_iter())
    }

    /// Elaborates a function for its declared parameter types, for the errors in it.
    fn check_root(&mut self, root: FunId) {
        let fun = self.fun(root);
        if !fun.families.is_empty() || !matches!(fun.body, ir::FunBody::Sac { .. }) {
            return;
        }
        let frame = Frame::new(root, Vec::new(), 0);
        let kinds: Vec<Kind> = fun.params.iter().map(|p| self.kind_of_type(&frame, &p.ty)).collect();
        let body = self.em.func.body;
        let args = kinds
            .iter()
            .map(|kind| {
                let mut leaves = Vec::new();
                kind.leaves(&mut leaves);
                let values = self.em.params_for(body, &leaves);
                self.em.instantiate(kind, &mut values.into_iter())
            })
            .collect();
        self.apply(root, Vec::new(), args, fun.span);
    }

    fn init_globals(&mut self) {
        for (i, global) in self.program.globals.iter().enumerate() {
            let Some(init) = &global.init else { continue };
            let mut frame = Frame::new(FunId(0), Vec::new(), 0);
            let value = self.expr(&mut frame, init);
            self.set_global(ir::GlobalId(i as u32), value, global.span);
        }
    }

    pub fn set_global(&mut self, id: ir::GlobalId, value: Val, span: Span) {
        let (slots, kind) = self.globals[id.index()].clone();
        let have = self.em.kind_of(&value);
        // The declared type of an object bounds its values from above.
        match have.join(&kind) {
            Some(_) => {}
            None => return self.type_mismatch(&value, &kind, span),
        }
        let mut flat = Vec::new();
        self.em.flatten(&value, &kind, &mut flat);
        for (slot, v) in slots.into_iter().zip(flat) {
            let ty = self.module.globals[slot].ty.clone();
            let v = if ty.rank().is_none() && self.em.func.ty(v).rank().is_some() {
                self.em.inst1(Op::Widen(v), ty)
            } else {
                v
            };
            self.em.inst(Op::GlobalSet(slot, v), Vec::new());
        }
    }

    pub fn get_global(&mut self, id: ir::GlobalId) -> Val {
        let (slots, kind) = self.globals[id.index()].clone();
        let mut leaves = Vec::new();
        kind.leaves(&mut leaves);
        let mut values = Vec::new();
        for (slot, leaf) in slots.into_iter().zip(&leaves) {
            let ty = self.module.globals[slot].ty.clone();
            let v = self.em.inst1(Op::GlobalGet(slot), ty.clone());
            let v = match leaf {
                (_, crate::value::LeafShape::Array(crate::value::ShapeKind::Known(_))) if ty.rank().is_none() => {
                    self.em.inst_leaves(Op::Narrow(v), std::slice::from_ref(leaf))[0]
                }
                _ => v,
            };
            values.push(v);
        }
        self.em.instantiate(&kind, &mut values.into_iter())
    }

    /// Marks the functions whose calls are effects.
    fn mark_effects(&mut self) {
        for i in 0..self.module.funcs.len() {
            let id = FuncId::from_u32(i as u32);
            let func = &self.module.funcs[id];
            self.module.funcs[id].effects = self.region_has_io(func, func.body);
        }
    }

    /// Whether running the region does I/O or touches a global. Checks do not count.
    pub fn region_has_io(&self, func: &ravel_wir::Func, region: ravel_wir::Region) -> bool {
        self.has_io(func, region, &mut HashSet::default())
    }

    fn has_io(&self, func: &ravel_wir::Func, region: ravel_wir::Region, seen: &mut HashSet<FuncId>) -> bool {
        func.regions[region].insts.iter().any(|inst| match &func.insts[*inst].op {
            Op::Native { effect: true, .. } | Op::GlobalGet(_) | Op::GlobalSet(..) => true,
            // Instances still under construction are empty here; what they do is found when they are done.
            Op::Call { func: callee, .. } => {
                let callee_func = &self.module.funcs[*callee];
                seen.insert(*callee) && self.has_io(callee_func, callee_func.body, seen)
            }
            op => op.regions().into_iter().any(|r| self.has_io(func, r, seen)),
        })
    }

    /// The WIR element type of handles, for readability at the call sites.
    pub fn handle_type() -> Ty {
        Ty::scalar(Elem::Handle)
    }
}
