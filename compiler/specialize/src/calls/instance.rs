//! WIR functions: one per function and distinct tuple of abstract arguments, found again by a canonical key.

use crate::Exported;
use crate::calls::looks::History;
use crate::emit::Emitter;
use crate::spec::Spec;
use crate::value::{Kind, LeafShape, ScKind, ShapeKind, Val};
use ravel_core::ir::{FunBody, FunId};
use ravel_source::Span;
use ravel_types::HashMap;
use ravel_types::{Affine, Basic, Sym};
use ravel_wir::{Func, FuncId, Op};
use std::rc::Rc;

/// Scalar arguments of a recursive call keep their known values for this many activations, then become symbols.
const VALUES_KEPT_IN_RECURSION: usize = 3;

/// Extents of the arguments of a recursive call stay constants for this many activations (a recursion over the rank is short).
const EXTENTS_KEPT_IN_RECURSION: usize = 8;

/// Ranks of the arguments of a recursive call stay known for this many activations: a recursion over the rank of an argument ends
/// before, one that adds an axis every time does not.
const RANKS_KEPT_IN_RECURSION: usize = 14;

/// Instances of one function that differ only in known values, before values are forgotten.
pub const MAX_INSTANCES_BY_VALUE: usize = 32;

/// Iterations of the fixed point over the result of a recursive function, after which its declared type is believed.
const MAX_ROUNDS: usize = 6;

/// Bodies elaborated for instances of functions that are being elaborated further out. Recursions over ranks need some hundred;
/// this many take seconds and mean that there is no end.
const MAX_RECURSIVE_BUILDS: usize = 3000;

/// What an instance is found by. Symbols are numbered in the order of their first appearance in the arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    fun: FunId,
    families: Vec<Option<Basic>>,
    args: Vec<Kind>,
}

impl Key {
    pub fn fun(&self) -> FunId {
        self.fun
    }

    /// What the parameters are, over their own symbols.
    pub fn args(&self) -> &[Kind] {
        &self.args
    }

    /// How many symbols the parameters have.
    fn symbols(&self) -> u32 {
        let mut symbols = 0;
        for kind in &self.args {
            kind.for_each_form(&mut |a| a.terms().iter().for_each(|(s, _)| symbols = symbols.max(s.0 + 1)));
        }
        symbols
    }
}

pub struct Instance {
    pub fun: FunId,
    pub key: Rc<Key>,
    pub history: History,
    func: FuncId,
    /// The user's call that it was made for.
    site: Span,
    /// Result kinds over the parameter symbols; while under construction, the current assumption.
    results: Vec<Kind>,
    pub under_construction: bool,
    /// Its rules for derivatives have been made, or there are none.
    pub has_rules: bool,
    /// The assumption was used by a recursive call.
    assumed: bool,
}

impl Instance {
    pub fn func(&self) -> FuncId {
        self.func
    }

    /// What it gives, over the symbols of its parameters.
    pub fn results(&self) -> &[Kind] {
        &self.results
    }
}

/// Caller forms that became callee symbols.
#[derive(Default)]
struct Renaming {
    to_callee: HashMap<Affine, Affine>,
    to_caller: Vec<Affine>,
}

impl Renaming {
    fn symbol_for(&mut self, form: &Affine) -> Affine {
        if let Some(known) = self.to_callee.get(form) {
            return known.clone();
        }
        let sym = Affine::sym(Sym(self.to_caller.len() as u32));
        self.to_caller.push(form.clone());
        self.to_callee.insert(form.clone(), sym.clone());
        sym
    }

    /// Symbols of the caller first, so that forms over them stay comparable in the callee.
    fn collect(&mut self, kinds: &[Kind]) {
        for kind in kinds {
            kind.for_each_form(&mut |a| {
                if a.as_sym().is_some() {
                    self.symbol_for(a);
                }
            });
        }
    }

    fn callee(&mut self, form: &Affine) -> Affine {
        if form.as_const().is_some() {
            return form.clone();
        }
        let all_known = form.terms().iter().all(|(s, _)| self.to_callee.contains_key(&Affine::sym(*s)));
        if all_known {
            return form.map(|s| self.to_callee[&Affine::sym(s)].clone());
        }
        self.symbol_for(form)
    }
}

impl Spec<'_> {
    pub fn call_instance(&mut self, id: FunId, families: Vec<Option<Basic>>, args: Vec<Val>, span: Span) -> Vec<Val> {
        let active = self.active(id);
        let is_crowded = self.is_crowded(id);
        let kinds: Vec<Kind> = args
            .iter()
            .map(|a| {
                let mut kind = self.em.kind_of(a).forget_values(true);
                if active > VALUES_KEPT_IN_RECURSION || is_crowded {
                    kind = kind.forget_values(false);
                }
                if active > RANKS_KEPT_IN_RECURSION {
                    kind = kind.widest();
                } else if active > EXTENTS_KEPT_IN_RECURSION {
                    kind = self.forget_extents(&kind, 0);
                }
                kind
            })
            .collect();
        let mut renaming = Renaming::default();
        renaming.collect(&kinds);
        let callee_kinds: Vec<Kind> = kinds.iter().map(|k| k.map_forms(&mut |a| Some(renaming.callee(a)))).collect();
        let key = Key { fun: id, families, args: callee_kinds };
        let index = match self.known_instance(&key) {
            Some(index) => {
                self.note_shared(id, self.instances[index].site);
                index
            }
            None => self.build(&Rc::new(key), span),
        };
        if self.instances[index].under_construction {
            self.instances[index].assumed = true;
        }
        let func = self.instances[index].func;
        let results = self.instances[index].results.clone();
        let mut flat = Vec::new();
        for (arg, kind) in args.iter().zip(&kinds) {
            self.em.flatten(arg, kind, &mut flat);
        }
        let known = renaming.to_caller.len() as u32;
        let kinds: Vec<Kind> = results
            .iter()
            .map(|k| {
                k.map_forms(&mut |a| {
                    let inside = a.terms().iter().all(|(s, _)| s.0 < known);
                    inside.then(|| a.map(|s| renaming.to_caller[s.0 as usize].clone()))
                })
            })
            .collect();
        if kinds.iter().any(Kind::has_bottom) {
            return vec![Val::Bottom; kinds.len()];
        }
        let mut leaves = Vec::new();
        kinds.iter().for_each(|k| k.leaves(&mut leaves));
        let mut values = self.em.inst_leaves(Op::Call { func, args: flat }, &leaves).into_iter();
        kinds.iter().map(|k| self.em.instantiate(k, &mut values)).collect()
    }

    /// What the functions of a module take and give, constants included.
    pub fn signatures(&self, renamed: &crate::prune::Renamed) -> HashMap<FuncId, Exported> {
        let own = |instance: &Instance| {
            let signature = Exported { params: instance.key.args.clone(), results: instance.results.clone() };
            renamed.get(&instance.func).map(|func| (*func, signature))
        };
        self.instances.iter().filter_map(own).collect()
    }

    /// Elaborates an instance until its result kinds no longer change.
    fn build(&mut self, key: &Rc<Key>, span: Span) -> usize {
        let fun = self.fun(key.fun);
        let func = self.module.funcs.push(Func::new(&fun.name, fun.span));
        let count = self.result_count(fun).unwrap_or(0);
        let index = self.instances.len();
        self.index.insert(key.clone(), index);
        self.instances.push(Instance {
            fun: key.fun,
            key: key.clone(),
            history: History::default(),
            func,
            site: self.user_site(),
            results: vec![Kind::Bottom; count],
            under_construction: true,
            has_rules: fun.derived.derivative.is_none() && fun.derived.tangent.is_none(),
            assumed: false,
        });
        self.begin_instance(index, key.fun);
        let recursive = self.is_active(key.fun);
        let before = self.recursive_builds;
        for round in 0.. {
            if recursive {
                self.recursive_builds += 1;
                if self.recursive_builds > MAX_RECURSIVE_BUILDS {
                    self.endless(key.fun);
                }
            }
            self.instances[index].assumed = false;
            let reported = self.errors();
            let inner = self.provisional.len();
            let (built, results) = self.build_once(key, span);
            let assumed = self.instances[index].assumed;
            let before = self.instances[index].results.clone();
            let mut after: Vec<Kind> =
                results.iter().zip(&before).map(|(a, b)| a.join(b).unwrap_or(Kind::Bottom)).collect();
            let endless = after.iter().any(Kind::has_bottom) && assumed && self.errors() == reported;
            if endless || round + 1 == MAX_ROUNDS {
                after = self.declared_results(key);
            }
            if !assumed || after == before || self.errors() > reported {
                self.module.funcs[func] = built;
                self.instances[index].results = if assumed { after } else { results };
                break;
            }
            self.instances[index].results = after;
            // What was made during this iteration may rest on the assumption that has just changed.
            for key in self.provisional.drain(inner..) {
                self.index.remove(&key);
            }
        }
        if !recursive {
            self.recursive_builds = before;
        }
        self.end_instance();
        self.instances[index].under_construction = false;
        self.provisional.push(key.clone());
        index
    }

    fn declared_results(&self, key: &Key) -> Vec<Kind> {
        let fun = self.fun(key.fun);
        let frame = crate::spec::Frame::new(key.fun, key.families.clone(), 0);
        let refs = fun.params.iter().filter(|p| p.by_ref).map(|p| &p.ty);
        fun.results.iter().chain(refs).map(|ty| self.kind_of_type(&frame, ty)).collect()
    }

    fn build_once(&mut self, key: &Rc<Key>, span: Span) -> (Func, Vec<Kind>) {
        let fun = self.fun(key.fun);
        let mut em = Emitter::new(&fun.name, fun.span);
        em.func.noinline = fun.noinline;
        // Other functions that are written for inlining are put in place before they get here.
        em.func.inline = fun.inline && !fun.noinline && self.is_ruled(fun);
        if self.is_ruled(fun) {
            em.func.rules.recompute = fun.derived.recompute;
            em.func.rules.checkpoint = fun.derived.checkpoint.map(i32::unsigned_abs);
        }
        let n_syms = key.symbols();
        let outer = std::mem::replace(&mut self.em, em);
        let (here, conditional, speculative) = (self.here, self.conditional, self.speculative);
        // An instance is the same wherever it is called.
        let (in_bodies, around) = (std::mem::take(&mut self.in_bodies), std::mem::take(&mut self.around));
        let repeats = std::mem::take(&mut self.repeats);
        let nested_cells = std::mem::replace(&mut self.nested_cells, 1);
        let inlined = std::mem::take(&mut self.inlined);
        let outside = std::mem::replace(&mut self.outside, self.stack.len());
        let building = self.built.replace(key.clone());
        let body = self.em.func.body;
        let args = self.parameters_of(key);
        let is_ruled = self.is_ruled(fun);
        let values = match &fun.body {
            FunBody::Sac { .. } => self.elaborate(key.fun, key.families.clone(), args, span),
            FunBody::External(external) => self.foreign_call(key.fun, external, key.families.clone(), args, span),
        };
        let kinds: Vec<Kind> = values
            .iter()
            .map(|v| {
                let kind = self.em.kind_of(v);
                // Every real result has a cotangent.
                let kind = if is_ruled { kind.forget_values(true) } else { kind };
                kind.map_forms(&mut |a| a.terms().iter().all(|(s, _)| s.0 < n_syms).then(|| a.clone()))
            })
            .collect();
        // The yields must fit what callers already assume of the function.
        let joined: Vec<Kind> = match self.index.get(key) {
            Some(i) if self.instances[*i].assumed => {
                kinds.iter().zip(&self.instances[*i].results).map(|(a, b)| a.join(b).unwrap_or(Kind::Bottom)).collect()
            }
            _ => kinds.clone(),
        };
        let mut yields = Vec::new();
        for (v, k) in values.iter().zip(&joined) {
            self.em.flatten(v, k, &mut yields);
        }
        self.em.set_yields(body, yields);
        let built = std::mem::replace(&mut self.em, outer).func;
        (self.conditional, self.speculative, self.in_bodies) = (conditional, speculative, in_bodies);
        self.around = around;
        self.outside = outside;
        self.built = building;
        self.repeats = repeats;
        self.nested_cells = nested_cells;
        self.inlined = inlined;
        self.at(here);
        (built, kinds)
    }

    /// The parameters of a function that is being made for a key.
    pub fn parameters_of(&mut self, key: &Key) -> Vec<Val> {
        let symbols = key.symbols();
        self.em.reserve_syms(symbols);
        let body = self.em.func.body;
        let mut defined = vec![false; symbols as usize];
        let mut args = Vec::new();
        for kind in &key.args {
            let mut leaves = Vec::new();
            kind.leaves(&mut leaves);
            let values = self.em.params_for(body, &leaves);
            self.define_symbols(kind, &values, &mut defined);
            args.push(self.em.instantiate(kind, &mut values.into_iter()));
        }
        args
    }

    /// Tells the emitter where the parameter symbols of a kind come from.
    fn define_symbols(&mut self, kind: &Kind, values: &[ravel_wir::Value], defined: &mut [bool]) {
        let mut scalars = Vec::new();
        scalar_forms(kind, &mut scalars);
        let mut leaves = Vec::new();
        kind.leaves(&mut leaves);
        let mut scalar_forms = scalars.into_iter();
        for ((_, shape), value) in leaves.iter().zip(values) {
            match shape {
                LeafShape::Scalar => {
                    if let Some(sym) = scalar_forms.next().flatten().and_then(|a| a.as_sym())
                        && !std::mem::replace(&mut defined[sym.0 as usize], true)
                    {
                        self.em.define_param_sym(sym, *value, None);
                    }
                }
                LeafShape::Array(ShapeKind::Known(extents)) => {
                    for (axis, extent) in extents.iter().enumerate() {
                        if let Some(sym) = extent.as_ref().and_then(Affine::as_sym)
                            && !std::mem::replace(&mut defined[sym.0 as usize], true)
                        {
                            self.em.define_param_sym(sym, *value, Some(axis as u32));
                        }
                    }
                }
                LeafShape::Array(ShapeKind::Unknown) => {}
            }
        }
    }
}

/// The form, if any, of each scalar leaf in flattening order.
fn scalar_forms(kind: &Kind, out: &mut Vec<Option<Affine>>) {
    let mut one = |k: &ScKind| match k {
        ScKind::Const(_) => {}
        ScKind::Form(a) => out.push(Some(a.clone())),
        ScKind::Any => out.push(None),
    };
    match kind {
        Kind::Sc(_, k) => one(k),
        Kind::Tup(_, ks) => ks.iter().for_each(one),
        Kind::Handle(_) => out.push(None),
        Kind::Wrapped(_, k) => scalar_forms(k, out),
        Kind::Struct(_, ks) => ks.iter().for_each(|k| scalar_forms(k, out)),
        Kind::Arr(..) | Kind::Bottom => {}
    }
}
