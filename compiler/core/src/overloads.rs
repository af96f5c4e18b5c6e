//! Overload sets: which functions a call can mean, by name and counts; dispatch on types is left to the specialiser.
//!
//! Members of a set agree on what a call passes back through reference parameters. Where definitions disagree - a foreign
//! function whose handle is changed in place beside a SaC function that returns its new value - the ones that
//! pass back too little are wrapped in a function that does.

use crate::Core;
use crate::diagnostics::{self as report, Candidate};
use crate::interface::DefId;
use crate::ir::{self, DimPat, ElemTy, Expr, ExprKind, FunBody, FunId, RankPat, Set, SetId, Stmt, Target, TypePat};
use crate::lookup::{Kind, Missing};
use crate::modules::ModId;
use ravel_source::Span;
use ravel_syntax::ast::{Definition, Function, QName, Text};
use ravel_syntax::print_type;

/// How many results the place of a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wanted {
    Count(usize),
    /// A call statement: none if some function of the name gives none, else they are dropped.
    Effect,
}

/// The syntax that a function stands behind, for the report when there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    Call,
    Selection,
    Update,
}

/// What a call means.
#[derive(Clone, Debug)]
pub(crate) struct Callee {
    pub set: SetId,
    /// Declared results that the call gives.
    pub results: usize,
    /// Argument positions whose new values come as further results.
    pub returned: Vec<usize>,
    /// Argument positions that must name a variable or an object.
    pub by_ref: Vec<usize>,
    /// The first result without a declared type.
    pub variadic_from: Option<usize>,
}

/// Counts of one definition.
struct Counts {
    params: usize,
    variadic_params: bool,
    results: usize,
    variadic_results: bool,
}

impl Counts {
    fn takes(&self, args: usize) -> bool {
        self.params == args || self.variadic_params && args > self.params
    }

    fn gives(&self, results: usize) -> bool {
        self.results == results || self.variadic_results && results > self.results
    }

    /// Arguments and results in words.
    fn describe(&self) -> (String, String) {
        let some = |n: usize, variadic: bool, thing: &str| match variadic {
            true => format!("{n} or more {thing}s"),
            false => report::count(n, thing),
        };
        let takes = some(self.params, self.variadic_params, "argument");
        (takes, some(self.results, self.variadic_results, "result"))
    }
}

/// The part of a shape pattern that overload resolution sees (language reference 2.3 rule 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DispatchShape {
    Known(Vec<i32>),
    Rank(usize),
    Nonscalar,
    Any,
}

/// Weakens a shape pattern to what overload resolution sees.
pub fn dispatch_shape(dims: &[DimPat]) -> DispatchShape {
    if let Some(shape) = crate::types::numbers(dims) {
        return DispatchShape::Known(shape);
    }
    let mut rank = 0;
    let (mut variable, mut nonscalar) = (false, false);
    for dim in dims {
        match dim {
            DimPat::Num(_) | DimPat::Any | DimPat::Name(_) => rank += 1,
            DimPat::Star => variable = true,
            DimPat::Plus => (variable, nonscalar) = (true, true),
            DimPat::Rank { rank: RankPat::Num(n), .. } => rank += (*n).max(0) as usize,
            DimPat::Rank { min, .. } => {
                variable = true;
                nonscalar |= *min > 0;
            }
        }
    }
    match (variable, nonscalar || rank > 0) {
        (false, _) => DispatchShape::Rank(rank),
        (true, true) => DispatchShape::Nonscalar,
        (true, false) => DispatchShape::Any,
    }
}

fn same_type(a: (&ir::Fun, &TypePat), b: (&ir::Fun, &TypePat)) -> bool {
    let elem = match (a.1.elem, b.1.elem) {
        (ElemTy::Family(x), ElemTy::Family(y)) => {
            x == y && a.0.families[x.index()].members == b.0.families[y.index()].members
        }
        (x, y) => x == y,
    };
    elem && dispatch_shape(&a.1.dims) == dispatch_shape(&b.1.dims)
}

/// The first result for which two instances that one call may reach give different element types: an array of unknown rank
/// may turn out to fit either, whatever their shapes.
fn disjoint_results(a: &ir::Fun, b: &ir::Fun) -> Option<usize> {
    let concrete = |ty: &TypePat| !matches!(ty.elem, ElemTy::Family(_));
    let comparable = a.params.len() == b.params.len()
        && a.results.len() == b.results.len()
        && !(a.variadic_params || b.variadic_params || a.variadic_results || b.variadic_results);
    let overlap = || a.params.iter().zip(&b.params).all(|(x, y)| concrete(&x.ty) && x.ty.elem == y.ty.elem);
    if !comparable || a.params.is_empty() || !overlap() {
        return None;
    }
    a.results.iter().zip(&b.results).position(|(x, y)| concrete(x) && concrete(y) && x.elem != y.elem)
}

/// Whether no call could tell the two apart.
fn same_dispatch(a: &ir::Fun, b: &ir::Fun) -> bool {
    let pairs = || a.params.iter().zip(&b.params);
    a.params.len() == b.params.len()
        && a.results.len() == b.results.len()
        && (a.variadic_params, a.variadic_results) == (b.variadic_params, b.variadic_results)
        && pairs().all(|(x, y)| same_type((a, &x.ty), (b, &y.ty)))
}

/// A function as calls see it: its name and parameters.
fn called(function: &Function) -> String {
    let mut params: Vec<String> =
        function.params.iter().map(|param| format!("{} {}", print_type(&param.ty), param.name.name)).collect();
    if function.variadic_params {
        params.push("...".to_string());
    }
    format!("{}({})", function.name.name, params.join(", "))
}

impl Core<'_> {
    fn counts(&self, def: DefId) -> Counts {
        let (file, index) = self.item(def);
        match file.definitions.get(index) {
            Some(Definition::Function(function)) => Counts {
                params: function.params.len(),
                variadic_params: function.variadic_params,
                results: function.results.len(),
                variadic_results: function.variadic_results,
            },
            _ => Counts { params: 0, variadic_params: false, results: 0, variadic_results: false },
        }
    }

    /// How many results a definition gives with so many arguments; nothing if it does not take them or lets the targets say it.
    pub(crate) fn results_for(&self, def: DefId, args: usize) -> Option<usize> {
        let counts = self.counts(def);
        (counts.takes(args) && !counts.variadic_results).then_some(counts.results)
    }

    /// The functions that a call of `name` can mean; reports and gives nothing if there is none.
    pub(crate) fn callee(
        &mut self,
        module: ModId,
        name: &QName,
        args: usize,
        wanted: Wanted,
        syntax: Syntax,
    ) -> Option<Callee> {
        let key = (module, name.module.clone(), name.name.clone(), args, wanted);
        if let Some(known) = self.callees.get(&key) {
            return Some(known.clone());
        }
        let found = match self.meanings(module, name, Kind::Function) {
            Ok(found) if !found.is_empty() => found,
            Err(Missing::Reported) => return None,
            _ if name.module.is_none()
                && wanted == Wanted::Count(1)
                && self.records_bring(module, &name.name, args) =>
            {
                let set = self.intern_set(&name.name, Vec::new());
                return Some(Callee { set, results: 1, returned: Vec::new(), by_ref: Vec::new(), variadic_from: None });
            }
            _ => {
                self.report_no_function(module, name, syntax);
                return None;
            }
        };
        let takes: Vec<(DefId, Counts)> =
            found.iter().map(|def| (*def, self.counts(*def))).filter(|(_, counts)| counts.takes(args)).collect();
        let results = match wanted {
            Wanted::Count(n) => Some(n),
            Wanted::Effect => takes.iter().map(|(_, counts)| counts.results).min(),
        };
        let fits: Vec<DefId> = results.map_or(Vec::new(), |results| {
            takes.iter().filter(|(_, counts)| counts.gives(results)).map(|(def, _)| *def).collect()
        });
        let Some(results) = results.filter(|_| !fits.is_empty()) else {
            if self.is_excused(module, &name.name) {
                return None;
            }
            let candidates: Vec<Candidate> = found.iter().map(|def| self.candidate(*def, args)).collect();
            let wanted = match wanted {
                Wanted::Count(n) => Some(n),
                Wanted::Effect => None,
            };
            let fits = |core: &Self, def: &DefId| {
                let counts = core.counts(*def);
                counts.takes(args) && wanted.is_none_or(|results| counts.gives(results))
            };
            // The user's own function is the one that is meant.
            let module = match candidates.iter().all(|candidate| candidate.library) && name.module.is_none() {
                true => self.exporter(&name.name, Kind::Function, &fits),
                false => None,
            };
            self.reports.push(report::no_such_counts(&name.name, args, wanted, name.span, &candidates, module));
            return None;
        };
        let fixed = fits.iter().map(|def| self.counts(*def)).find(|counts| counts.results < results);
        let (members, first) = self.members(module, &name.name, &fits);
        if members.is_empty() {
            return None;
        }
        let (members, returned, by_ref) = self.agree_on_references(members, args);
        let set = self.intern_set_in_order(&name.name, members, first);
        let callee = Callee { set, results, returned, by_ref, variadic_from: fixed.map(|counts| counts.results) };
        self.callees.insert(key, callee.clone());
        Some(callee)
    }

    /// Whether a function that no file defines may be one that records bring; dispatch will see whether it gets a record.
    fn records_bring(&self, module: ModId, name: &str, args: usize) -> bool {
        let brought = match name {
            "shape" | "dim" | "zero" => args == 1,
            "sel" | "reshape" => args == 2,
            "modarray" => args == 3,
            _ => false,
        };
        let here = self.module(module);
        let has_records = |table: &crate::interface::Table| table.iter().any(|(_, entry)| !entry.structs.is_empty());
        brought && (has_records(&here.own) || has_records(&here.used))
    }

    fn candidate(&self, def: DefId, args: usize) -> Candidate {
        let counts = self.counts(def);
        let (takes, gives) = counts.describe();
        let module = self.module(self.def(def).module);
        let (module, library) = (module.name.to_string(), module.library);
        let (file, index) = self.item(def);
        let head = match file.definitions.get(index) {
            Some(Definition::Function(function)) => called(function),
            _ => String::new(),
        };
        Candidate { takes, gives, head, fits: counts.takes(args), module, span: self.def_span(def), library }
    }

    fn report_no_function(&mut self, module: ModId, name: &QName, syntax: Syntax) {
        if self.is_excused(module, &name.name) {
            return;
        }
        if name.module.is_some() {
            return self.report_not_offered(module, name);
        }
        let suggestion = self.suggest(module, &name.name, Kind::Function, &[]);
        self.reports.push(match syntax {
            Syntax::Call => report::unknown_function(&name.name, name.span, suggestion),
            Syntax::Selection => report::missing_syntax_function("a selection", &name.name, name.span, suggestion),
            Syntax::Update => {
                report::missing_syntax_function("an indexed assignment", &name.name, name.span, suggestion)
            }
        });
    }

    /// The core functions of definitions, without those that a definition of `module` hides. Those in its background stand last, behind as
    /// many others as the number says.
    fn members(&mut self, module: ModId, name: &Text, defs: &[DefId]) -> (Vec<FunId>, usize) {
        let in_background: Vec<DefId> =
            defs.iter().copied().filter(|def| self.module(module).background.contains(def)).collect();
        let mut members: Vec<(DefId, FunId)> =
            defs.iter().filter_map(|def| self.function(*def).map(|id| (*def, id))).collect();
        let mut hidden = Vec::new();
        for (i, (a, fun_a)) in members.iter().enumerate() {
            for (b, fun_b) in &members[..i] {
                if in_background.contains(a) != in_background.contains(b) {
                    if same_dispatch(&self.program.funs[fun_a.index()], &self.program.funs[fun_b.index()]) {
                        hidden.push(if in_background.contains(a) { *a } else { *b });
                    }
                    continue;
                }
                if !same_dispatch(&self.program.funs[fun_a.index()], &self.program.funs[fun_b.index()]) {
                    self.compare_results(name, (*a, *fun_a), (*b, *fun_b));
                    continue;
                }
                let (module_a, module_b) = (self.def(*a).module, self.def(*b).module);
                let owns = |owner: ModId, def: &DefId| {
                    self.module(owner).own.get(name).is_some_and(|entry| entry.functions.contains(def))
                };
                let fresh = !self.compared.contains(&(*a, *b));
                if module_a == module_b || owns(module_a, b) || owns(module_b, a) {
                    if fresh {
                        let (at, before) = (self.def_span(*a), self.def_span(*b));
                        self.reports.push(report::duplicate_function(name, at.max(before), at.min(before)));
                    }
                    hidden.push(*a);
                } else if module_a == module || module_b == module {
                    let (mine, theirs) = if module_a == module { (*a, *b) } else { (*b, *a) };
                    if fresh {
                        let other = self.module(self.def(theirs).module).name.to_string();
                        let at = self.def_span(mine);
                        self.reports.push(report::hides_instance(name, &other, at));
                    }
                    hidden.push(theirs);
                }
                self.compared.insert((*a, *b));
            }
        }
        members.retain(|(def, _)| !hidden.contains(def));
        members.sort_by_key(|(def, _)| in_background.contains(def));
        let first = members.iter().filter(|(def, _)| !in_background.contains(def)).count();
        (members.into_iter().map(|(_, id)| id).collect(), first)
    }

    /// Reports two instances for overlapping arguments that give different element types.
    fn compare_results(&mut self, name: &Text, (a, fun_a): (DefId, FunId), (b, fun_b): (DefId, FunId)) {
        let own = |def: DefId| !self.module(self.def(def).module).library;
        let (of_a, of_b) = (&self.program.funs[fun_a.index()], &self.program.funs[fun_b.index()]);
        let Some(at) = disjoint_results(of_a, of_b).filter(|_| own(a) || own(b)) else { return };
        if !self.compared.insert((a, b)) {
            return;
        }
        let shown = |fun: &ir::Fun| self.map.snippet(fun.results[at].span).to_string();
        let mut sides = [(self.def_span(a), shown(of_a)), (self.def_span(b), shown(of_b))];
        sides.sort_by_key(|(span, _)| self.map.position(*span));
        let [(before, first), (at, second)] = sides;
        self.reports.push(report::result_types(name, at, before, (&second, &first)));
    }

    /// Reports functions of one module that no call could tell apart, called or not.
    pub(crate) fn check_duplicates(&mut self, module: ModId, name: &Text) {
        let Some(entry) = self.module(module).own.get(name) else { return };
        let own: Vec<DefId> = entry.functions.iter().copied().filter(|def| self.def(*def).module == module).collect();
        self.members(module, name, &own);
    }

    /// Brings all members to one set of reference parameters; gives the members, the positions that
    /// come back as results and all reference positions.
    fn agree_on_references(&mut self, members: Vec<FunId>, args: usize) -> (Vec<FunId>, Vec<usize>, Vec<usize>) {
        let mut by_ref: Vec<usize> = Vec::new();
        let mut returned = false;
        for member in &members {
            let fun = &self.program.funs[member.index()];
            let refs = fun.params.iter().enumerate().filter(|(_, param)| param.by_ref).map(|(i, _)| i);
            let before = by_ref.len();
            by_ref.extend(refs);
            returned |= by_ref.len() > before && !self.foreign[member.index()];
        }
        by_ref.sort_unstable();
        by_ref.dedup();
        if !returned {
            return (members, Vec::new(), by_ref);
        }
        let members = members.into_iter().map(|member| self.wrapper(member, &by_ref, args)).collect();
        (members, by_ref.clone(), by_ref)
    }

    /// `member`, or a function around it that gives back all parameters of `by_ref`.
    fn wrapper(&mut self, member: FunId, by_ref: &[usize], args: usize) -> FunId {
        let fun = &self.program.funs[member.index()];
        let refs: Vec<usize> = (0..fun.params.len()).filter(|i| fun.params[*i].by_ref).collect();
        if refs == by_ref && !self.foreign[member.index()] || fun.params.len() != args || fun.variadic_results {
            return member;
        }
        let key = (member, by_ref.to_vec());
        if let Some(known) = self.wrappers.get(&key) {
            return *known;
        }
        let span = fun.span;
        let mut outer = ir::Fun {
            locals: fun.locals[..self.head_slots[member.index()]].to_vec(),
            conds: Vec::new(),
            inline: true,
            noinline: false,
            ..fun.clone()
        };
        for i in by_ref {
            if let Some(param) = outer.params.get_mut(*i) {
                param.by_ref = true;
            }
        }
        let local = |slot| Expr { kind: ExprKind::Local(slot), span };
        let head_slots = outer.locals.len();
        let mut targets = Vec::new();
        let mut returns = Vec::new();
        for _ in &outer.results {
            let slot = ir::LocalId(outer.locals.len() as u32);
            outer.locals.push(ir::Local { name: "result".into(), declared: None, span });
            targets.push(Target::Local(slot));
            returns.push(local(slot));
        }
        if !self.foreign[member.index()] {
            targets.extend(refs.iter().map(|i| Target::Local(outer.params[*i].local)));
        }
        returns.extend(outer.params.iter().filter(|param| param.by_ref).map(|param| local(param.local)));
        let args = outer.params.iter().map(|param| local(param.local)).collect();
        let name: Text = outer.name.as_str().into();
        let set = self.intern_set(&name, vec![member]);
        let value = Expr { kind: ExprKind::Call { set, args }, span };
        outer.body = FunBody::Sac { block: vec![Stmt::Assign { targets, value, span }], returns };
        let id = FunId(self.program.funs.len() as u32);
        self.program.funs.push(outer);
        self.head_slots.push(head_slots);
        self.foreign.push(false);
        self.wrappers.insert(key, id);
        id
    }

    pub(crate) fn intern_set(&mut self, name: &Text, members: Vec<FunId>) -> SetId {
        let first = members.len();
        self.intern_set_in_order(name, members, first)
    }

    fn intern_set_in_order(&mut self, name: &Text, members: Vec<FunId>, first: usize) -> SetId {
        let next = SetId(self.program.sets.len() as u32);
        let key = (name.clone(), members, first);
        if let Some(known) = self.sets.get(&key) {
            return *known;
        }
        self.program.sets.push(Set { name: name.to_string(), members: key.1.clone(), first });
        self.sets.insert(key, next);
        next
    }

    /// Whether a call of this name and argument count may change variables among its arguments: their positions.
    pub(crate) fn rebinding_positions(&self, module: ModId, name: &QName, args: usize) -> Vec<usize> {
        let mut positions = Vec::new();
        for def in self.meanings(module, name, Kind::Function).unwrap_or_default() {
            let (file, index) = self.item(def);
            let Some(Definition::Function(function)) = file.definitions.get(index) else { continue };
            if function.body.is_some() && function.params.len() == args {
                positions.extend((0..args).filter(|i| function.params[*i].by_ref));
            }
        }
        positions
    }
}

/// A name that syntax stands for, at the place of the syntax.
pub(crate) fn syntax_name(name: &str, span: Span) -> QName {
    QName { module: None, name: name.into(), span }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_weakened_as_dispatch_sees_them() {
        let rank = |rank, min| DimPat::Rank { rank, min, shape: None };
        assert_eq!(dispatch_shape(&[]), DispatchShape::Known(vec![]));
        assert_eq!(dispatch_shape(&[DimPat::Num(3), DimPat::Any]), DispatchShape::Rank(2));
        assert_eq!(dispatch_shape(&[rank(RankPat::Num(2), 2), DimPat::Any]), DispatchShape::Rank(3));
        assert_eq!(dispatch_shape(&[rank(RankPat::Anon, 0)]), DispatchShape::Any);
        assert_eq!(dispatch_shape(&[rank(RankPat::Anon, 1)]), DispatchShape::Nonscalar);
        assert_eq!(dispatch_shape(&[DimPat::Any, DimPat::Star]), DispatchShape::Nonscalar);
    }
}
