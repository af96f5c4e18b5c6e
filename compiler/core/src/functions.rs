//! Functions: heads with their shape patterns, bodies, external declarations.

use crate::Core;
use crate::comprehension::flat_assign;
use crate::diagnostics as report;
use crate::facts::{DefKind, Slot};
use crate::interface::DefId;
use crate::ir::{self, Cond, Expr, ExprKind, FunBody, FunId, LocalId, Stmt, Target};
use crate::modules::ModId;
use crate::scope::Body;
use crate::types::Place;
use ravel_source::Span;
use ravel_syntax::ast::{self, Definition, Text};
use ravel_types::{Basic, HashSet, Prim};

/// A function head while its types are lowered, and afterwards what its body sees of it.
pub(crate) struct Head {
    pub fun: ir::Fun,
    /// Parameters, and names of patterns in their types.
    pub visible: Vec<(Text, LocalId)>,
    /// Names that only result types have.
    pub result_only: Vec<(Text, LocalId)>,
    /// Where names of patterns stand, if somebody asks.
    pub mentions: Option<Vec<(Span, LocalId)>>,
}

/// A function whose body has still to be lowered.
pub(crate) struct Waiting {
    pub id: FunId,
    pub def: DefId,
    pub visible: Vec<(Text, LocalId)>,
    pub result_only: Vec<(Text, LocalId)>,
}

impl Head {
    /// The slot of a name in a shape pattern; nothing for `_`.
    pub(crate) fn pattern_name(&mut self, name: &ast::Ident, result: bool) -> Option<LocalId> {
        if &*name.name == "_" {
            return None;
        }
        let known = self.visible.iter().chain(&self.result_only).find(|(text, _)| *text == name.name);
        let known = known.map(|(_, slot)| *slot);
        let slot = known.unwrap_or_else(|| self.slot(name));
        if let Some(mentions) = &mut self.mentions {
            mentions.push((name.span, slot));
        }
        if known.is_some() {
            return known;
        }
        let names = if result { &mut self.result_only } else { &mut self.visible };
        names.push((name.name.clone(), slot));
        Some(slot)
    }

    fn slot(&mut self, name: &ast::Ident) -> LocalId {
        self.fun.locals.push(ir::Local { name: name.name.to_string(), declared: None, span: name.span });
        LocalId(self.fun.locals.len() as u32 - 1)
    }
}

fn error(span: Span) -> Expr {
    Expr { kind: ExprKind::Error, span }
}

impl Core<'_> {
    /// The core function of a definition; its body waits until [`Core::lower_waiting`]. Nothing after an error in its types.
    pub(crate) fn function(&mut self, def: DefId) -> Option<FunId> {
        if let Some(known) = self.functions.get(&def) {
            return *known;
        }
        let (file, index) = self.item(def);
        let Some(Definition::Function(function)) = file.definitions.get(index) else { return None };
        let module = self.def(def).module;
        let id = self.head(module, function).map(|head| {
            let id = FunId(self.program.funs.len() as u32);
            self.head_slots.push(head.fun.locals.len());
            self.foreign.push(function.body.is_none());
            self.program.funs.push(head.fun);
            self.waiting.push(Waiting { id, def, visible: head.visible, result_only: head.result_only });
            id
        });
        self.functions.insert(def, id);
        id
    }

    pub(crate) fn head(&mut self, module: ModId, function: &ast::Function) -> Option<Head> {
        let mut head = Head {
            fun: ir::Fun {
                name: function.name.name.to_string(),
                module: self.module(module).name.to_string(),
                inline: function.attributes.inline,
                noinline: function.attributes.noinline,
                associative: false,
                fieldwise: None,
                derived: ir::Derived::default(),
                families: Vec::new(),
                params: Vec::new(),
                results: Vec::new(),
                variadic_params: function.variadic_params,
                variadic_results: function.variadic_results,
                conds: Vec::new(),
                locals: Vec::new(),
                body: FunBody::Sac { block: Vec::new(), returns: Vec::new() },
                span: function.head_span,
            },
            visible: Vec::new(),
            result_only: Vec::new(),
            mentions: self.notes(module).then(Vec::new),
        };
        // All parameters first: a pattern may mention a later one.
        for param in &function.params {
            let slot = head.slot(&param.name);
            if &*param.name.name == "_" {
                continue;
            }
            if head.visible.iter().any(|(name, _)| *name == param.name.name) {
                self.reports.push(report::duplicate_parameter(&param.name.name, param.name.span));
            }
            head.visible.push((param.name.name.clone(), slot));
        }
        let mut params = Vec::new();
        for (i, param) in function.params.iter().enumerate() {
            let ty = self.type_pat(module, &param.ty, &mut Place::Head(&mut head));
            params.push(ty.map(|ty| ir::Param { local: LocalId(i as u32), ty, by_ref: param.by_ref }));
        }
        let mut results = Vec::new();
        for result in &function.results {
            results.push(self.type_pat(module, result, &mut Place::Result(&mut head)));
        }
        self.note_head(module, function, &head);
        self.check_references(module, function, &params);
        self.directives(function, &mut head.fun);
        // After all types were looked at, so that every error in them is reported.
        head.fun.params = params.into_iter().collect::<Option<_>>()?;
        head.fun.results = results.into_iter().collect::<Option<_>>()?;
        Some(head)
    }

    /// Notes parameters and names of patterns, for those who read the program.
    fn note_head(&mut self, module: ModId, function: &ast::Function, head: &Head) {
        let Some(mentions) = &head.mentions else { return };
        for param in &function.params {
            let (name, first) = (&param.name.name, param.name.span);
            let slot = Slot { kind: DefKind::Parameter, name, first, declared: Some(param.ty.span) };
            self.note_slot(module, first, &slot, true);
        }
        for (at, slot) in mentions {
            let local = &head.fun.locals[slot.index()];
            let slot = Slot { kind: DefKind::Extent, name: &local.name, first: local.span, declared: None };
            self.note_slot(module, *at, &slot, false);
        }
    }

    /// What the pragmas behind a function say about it.
    fn directives(&mut self, function: &ast::Function, fun: &mut ir::Fun) {
        for pragma in &function.pragmas {
            let words = match &pragma.args {
                ast::PragmaArgs::Other(text) => text.split_whitespace().collect::<Vec<&str>>(),
                _ => Vec::new(),
            };
            match (&*pragma.name.name, &words[..]) {
                ("associative", []) if function.params.len() >= 2 && function.results.len() == 1 => {
                    fun.associative = true
                }
                ("associative", []) => {
                    let why = "a function that folds takes an accumulator and a cell and gives one result";
                    self.reports.push(report::directive(pragma.span, why));
                }
                ("fieldwise", []) => fun.fieldwise = Some(ir::Fieldwise { name: None }),
                ("fieldwise", [name]) => {
                    let at = function.params.iter().position(|param| &*param.name.name == *name);
                    match at {
                        Some(_) => fun.fieldwise = Some(ir::Fieldwise { name: at }),
                        None => {
                            let why = format!("the function has no parameter `{name}`");
                            self.reports.push(report::directive(pragma.span, why));
                        }
                    }
                }
                ("associative" | "fieldwise", _) => {
                    let why = "expected `#pragma associative`, `#pragma fieldwise` or `#pragma fieldwise parameter`";
                    self.reports.push(report::directive(pragma.span, why));
                }
                _ => {}
            }
        }
    }

    /// Only values of a class can be passed by reference; the library knows what it does.
    fn check_references(&mut self, module: ModId, function: &ast::Function, params: &[Option<ir::Param>]) {
        if self.module(module).library || self.options.at_prompt {
            return;
        }
        for (param, lowered) in function.params.iter().zip(params) {
            let Some(lowered) = lowered.as_ref().filter(|lowered| lowered.by_ref) else { continue };
            let unique = match lowered.ty.elem {
                // What C code made may change behind its handle.
                ir::ElemTy::User(id) if self.program.string_type != Some(id) => {
                    let ty = &self.program.user_types[id.index()];
                    ty.unique || matches!(ty.kind, ir::UserTypeKind::External)
                }
                _ => false,
            };
            if !unique {
                let ty = self.map.snippet(param.ty.span).to_string();
                self.reports.push(report::reference_on_value(&param.name.name, &ty, param.span));
            }
        }
    }

    /// Lowers the bodies of all functions that have been mentioned, and of those that they mention, and so on.
    pub(crate) fn lower_waiting(&mut self) {
        loop {
            if let Some((id, def)) = self.waiting_objects.pop() {
                self.object_body(id, def);
                continue;
            }
            let Some(waiting) = self.waiting.pop() else { return };
            let (file, index) = self.item(waiting.def);
            if let Some(Definition::Function(function)) = file.definitions.get(index) {
                self.body(waiting, function);
            }
        }
    }

    fn body(&mut self, waiting: Waiting, function: &ast::Function) {
        let Waiting { id, def, visible, result_only } = waiting;
        let module = self.def(def).module;
        let conds = self.conditions(id, module, function, &visible, &result_only);
        let (body, locals) = match &function.body {
            Some(body) => self.sac_body(id, module, function, body, &visible),
            None => (
                FunBody::External(crate::foreign::external(function, id, self.module(module).library)),
                self.program.funs[id.index()].locals.clone(),
            ),
        };
        let derived = self.derived(id, module, function);
        let fun = &mut self.program.funs[id.index()];
        fun.derived = derived;
        fun.conds = conds;
        fun.body = body;
        fun.locals = locals;
    }

    /// Conditions see names of results, which the body does not; what they add to the slots stays.
    fn conditions(
        &mut self,
        id: FunId,
        module: ModId,
        function: &ast::Function,
        visible: &[(Text, LocalId)],
        result_only: &[(Text, LocalId)],
    ) -> Vec<Cond> {
        if function.conditions.is_empty() {
            return Vec::new();
        }
        let names: Vec<(Text, LocalId)> = visible.iter().chain(result_only).cloned().collect();
        let fun = &self.program.funs[id.index()];
        let (families, locals) = (fun.families.clone(), fun.locals.clone());
        let mut lowering = Body::new(self, module, families, locals, &names);
        let mut conds = Vec::new();
        for condition in &function.conditions {
            let expr = lowering.expr(condition);
            let mut after = false;
            crate::visit::each_name(condition, &mut |name| {
                after |= name.module.is_none() && result_only.iter().any(|(text, _)| *text == name.name);
            });
            conds.push(Cond { expr, after });
        }
        let locals = std::mem::take(&mut lowering.locals);
        self.program.funs[id.index()].locals = locals;
        conds
    }

    fn sac_body(
        &mut self,
        id: FunId,
        module: ModId,
        function: &ast::Function,
        body: &ast::Body,
        visible: &[(Text, LocalId)],
    ) -> (FunBody, Vec<ir::Local>) {
        let fun = &self.program.funs[id.index()];
        let (families, locals) = (fun.families.clone(), fun.locals.clone());
        let refs: Vec<LocalId> = fun.params.iter().filter(|param| param.by_ref).map(|param| param.local).collect();
        let results = fun.results.len();
        // What rules do with derivatives is compared as a whole, where theirs are.
        let is_rule = self.options.check_gradients && self.is_rule(module, &function.name.name);
        let mut lowering = Body::new(self, module, families, locals, visible);
        lowering.in_derivatives = usize::from(is_rule);
        for decl in &body.decls {
            lowering.declare(decl);
        }
        let mut block = lowering.stmts(&body.stmts);
        let mut returns = lowering.returned(function, body, results, &refs, &mut block);
        returns.extend(refs.into_iter().map(|slot| Expr { kind: ExprKind::Local(slot), span: function.name.span }));
        lowering.note_declared(body);
        let locals = std::mem::take(&mut lowering.locals);
        (FunBody::Sac { block, returns }, locals)
    }

    /// Every function of the root file, with checks that need the whole file.
    pub(crate) fn root_functions(&mut self, root: ModId) {
        let mut names = HashSet::default();
        let file = self.module(root).file.clone();
        let is_main =
            |def: &Definition| matches!(def, Definition::Function(function) if &*function.name.name == "main");
        // A file without `main` is a collection of functions, as a module is.
        let is_collection = !matches!(file.header, ast::Header::Program) || !file.definitions.iter().any(is_main);
        for def in self.module(root).functions.clone() {
            let Some(id) = self.function(def) else { continue };
            let fun = &self.program.funs[id.index()];
            if fun.name == "main" {
                let result = match fun.results.as_slice() {
                    [only] if only.dims.is_empty() => Some(only.elem),
                    _ => None,
                };
                let int = result == Some(ir::ElemTy::Basic(Basic::Int));
                let bool = result == Some(ir::ElemTy::Basic(Basic::Bool));
                if !(int || bool) || !fun.params.is_empty() {
                    let span = self.def_span(def);
                    self.reports.push(report::main_signature(span, int || bool));
                } else {
                    self.program.main = Some(if int { id } else { self.main_as_int(id) });
                }
            }
            let (file, index) = self.item(def);
            let Some(Definition::Function(function)) = file.definitions.get(index) else { continue };
            let fun = &self.program.funs[id.index()];
            // The functions of a collection are all there is of it; a program is checked from `main`, and may hold more than it needs.
            let needed = is_collection || !fun.inline && fun.params.iter().all(|param| fixed_rank(&param.ty.dims));
            if function.body.is_some() && fun.families.is_empty() && needed {
                self.program.roots.push(id);
            }
            let name = &function.name.name;
            if names.insert(name.clone()) {
                self.check_duplicates(root, name);
            }
        }
        let file = self.module(root).file.clone();
        for definition in &file.definitions {
            if let Definition::Function(function) = definition
                && function.attributes.specialize
            {
                self.check_specialize(root, function);
            }
        }
        if self.options.library {
            self.exports_to_c(root);
        }
    }

    /// What a library offers to C: functions of known ranks that others may use, and what is asked for by `specialize`.
    fn exports_to_c(&mut self, root: ModId) {
        let module = self.module(root);
        let file = module.file.clone();
        let is_program = matches!(file.header, ast::Header::Program);
        let offered: HashSet<Text> =
            [&module.exported, &module.provided].iter().flat_map(|t| t.names().cloned()).collect();
        for definition in &file.definitions {
            let Definition::Function(function) = definition else { continue };
            let requested = function.attributes.specialize;
            let name = &function.name;
            let is_own =
                function.body.is_some() && &*name.name != "main" && (is_program || offered.contains(&name.name));
            if !requested && !is_own {
                continue;
            }
            let Some(head) = self.head(root, function) else { continue };
            let known =
                head.fun.families.is_empty() && head.fun.params.iter().all(|p| fixed_rank(&p.ty.dims) && !p.by_ref);
            if !requested && !known {
                continue;
            }
            let meant = ast::QName { module: None, name: name.name.clone(), span: name.span };
            let meanings = self.meanings(root, &meant, crate::lookup::Kind::Function).unwrap_or_default();
            let members: Vec<FunId> = meanings.into_iter().filter_map(|def| self.function(def)).collect();
            if members.is_empty() {
                continue;
            }
            let set = self.intern_set(&name.name, members);
            let local = |param: &ir::Param| Expr { kind: ExprKind::Local(param.local), span: name.span };
            let args = head.fun.params.iter().map(local).collect();
            let call = Expr { kind: ExprKind::Call { set, args }, span: name.span };
            let fun = FunId(self.program.funs.len() as u32);
            let body = FunBody::Sac { block: Vec::new(), returns: vec![call] };
            self.head_slots.push(head.fun.locals.len());
            self.foreign.push(false);
            self.program.funs.push(ir::Fun { body, inline: false, noinline: false, span: name.span, ..head.fun });
            self.program.exports.push(ir::Export { fun, requested });
        }
    }

    /// `int main()` around a `main` that gives a bool: true is the exit status 1.
    fn main_as_int(&mut self, main: FunId) -> FunId {
        let fun = &self.program.funs[main.index()];
        let (span, name) = (fun.span, Text::from(fun.name.as_str()));
        let mut outer = ir::Fun { conds: Vec::new(), locals: Vec::new(), ..fun.clone() };
        outer.results[0].elem = ir::ElemTy::Basic(Basic::Int);
        let set = self.intern_set(&name, vec![main]);
        let call = Expr { kind: ExprKind::Call { set, args: Vec::new() }, span };
        let status = crate::make::prim(Prim::Convert(Basic::Int), vec![call], span);
        outer.body = FunBody::Sac { block: Vec::new(), returns: vec![status] };
        let id = FunId(self.program.funs.len() as u32);
        self.program.funs.push(outer);
        self.head_slots.push(0);
        self.foreign.push(false);
        id
    }

    /// A request to specialize is a hint, so a wrong one is only worth a warning.
    fn check_specialize(&mut self, module: ModId, function: &ast::Function) {
        let name = ast::QName { module: None, name: function.name.name.clone(), span: function.name.span };
        let found = self.meanings(module, &name, crate::lookup::Kind::Function).unwrap_or_default();
        self.note_defs(module, name.span, &name.name, &found);
        let fits = found.iter().any(|def| {
            let (file, index) = self.item(*def);
            match file.definitions.get(index) {
                Some(Definition::Function(other)) => other.params.len() == function.params.len(),
                _ => false,
            }
        });
        let why = match (found.is_empty(), fits) {
            (true, _) => "no function of this name",
            (_, false) => "no function of this name has as many parameters",
            _ => return,
        };
        self.reports.push(report::specialize_mismatch(&name.name, name.span, why));
    }
}

fn fixed_rank(dims: &[ir::DimPat]) -> bool {
    dims.iter().all(|dim| match dim {
        ir::DimPat::Num(_) | ir::DimPat::Any | ir::DimPat::Name(_) => true,
        ir::DimPat::Rank { rank, .. } => matches!(rank, ir::RankPat::Num(_)),
        ir::DimPat::Star | ir::DimPat::Plus => false,
    })
}

impl Body<'_, '_> {
    fn declare(&mut self, decl: &ast::VarDecl) {
        let families = std::mem::take(&mut self.families);
        let ty = self.core.type_pat(self.module, &decl.ty, &mut Place::Local(&families));
        self.families = families;
        let Some(ty) = ty else { return };
        for name in &decl.names {
            self.declared.insert(name.name.clone(), ty.clone());
            // A declared parameter keeps its slot.
            let known = ast::QName { module: None, name: name.name.clone(), span: name.span };
            if self.is_local(&known)
                && let ExprKind::Local(slot) = self.read(&known)
            {
                self.locals[slot.index()].declared = Some(ty.clone());
            }
        }
    }

    /// Notes where variables are declared, for those who read the program.
    fn note_declared(&mut self, body: &ast::Body) {
        if !self.core.notes(self.module) {
            return;
        }
        for name in body.decls.iter().flat_map(|decl| &decl.names) {
            if let Some(at) = self.locals.iter().position(|local| local.name == *name.name) {
                self.note(LocalId(at as u32), DefKind::Variable, name.span, false);
            }
        }
    }

    /// The values of `return`: as many as declared, or one call that gives them all.
    fn returned(
        &mut self,
        function: &ast::Function,
        body: &ast::Body,
        results: usize,
        refs: &[LocalId],
        block: &mut Vec<Stmt>,
    ) -> Vec<Expr> {
        let values = body.ret.as_ref().map_or(&[][..], |ret| &ret.values);
        if values.len() == results {
            let mut returned = Vec::new();
            for value in values {
                returned.push(self.expr(value));
            }
            return returned;
        }
        if let [value] = values
            && results > 1
            && let Some(counted) = self.several(value, results)
        {
            let is_call = matches!(counted.value.kind, ExprKind::Call { .. });
            if is_call && counted.refs.is_empty() && refs.is_empty() {
                return vec![counted.value];
            }
            let temps: Vec<LocalId> = (0..results).map(|_| self.temp("result", value.span)).collect();
            let targets = temps.iter().map(|slot| Target::Local(*slot)).chain(counted.refs).collect();
            flat_assign(targets, counted.value, value.span, block);
            return temps.into_iter().map(|slot| Expr { kind: ExprKind::Local(slot), span: value.span }).collect();
        }
        // A call without results in a `void` function is not a value, anything else is a miscount.
        let at = match (&body.ret, values) {
            (_, [first, .., last]) => first.span.to(last.span),
            (_, [one]) => one.span,
            (Some(ret), []) => ret.span,
            (None, []) => function.name.span,
        };
        let lost = values.is_empty() && self.core.module(self.module).broken;
        if !lost && body.ret.is_none() {
            let end = Span { start: body.span.end.saturating_sub(1), ..body.span };
            let last = match body.stmts.last().map(|stmt| &stmt.kind) {
                Some(ast::StmtKind::Assign { targets, .. }) if results == 1 => match &targets[..] {
                    [target] if target.accesses.is_empty() => Some(&*target.name.name),
                    _ => None,
                },
                _ => None,
            };
            self.core.reports.push(report::missing_return(&function.name.name, results, at, end, last));
        } else if !lost {
            self.core.reports.push(report::return_count(&function.name.name, results, values.len(), at));
        }
        vec![error(at); results]
    }
}
