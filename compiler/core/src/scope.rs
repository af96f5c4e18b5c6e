//! The state of lowering one function body: its slots, the names that reach them, and what has a value.

use crate::Core;
use crate::diagnostics as report;
use crate::facts::{DefKind, Slot};
use crate::flow::Flow;
use crate::ir::{self, Expr, ExprKind, LocalId, Stmt, Target, TypePat};
use crate::lookup::{Kind, Missing};
use crate::modules::ModId;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_syntax::ast::{QName, Text};
use ravel_types::{Basic, HashMap};

/// A variable outside that a with-loop part assigns: inside, it is a slot of its own.
struct Inherited {
    outer: LocalId,
    inner: LocalId,
    /// Whether the part reads the outer value.
    read: bool,
}

/// Names of the function, or of one with-loop part.
#[derive(Default)]
struct Scope {
    names: HashMap<Text, LocalId>,
    inherited: Vec<Inherited>,
}

/// A function body on its way to core.
pub(crate) struct Body<'c, 'a> {
    pub core: &'c mut Core<'a>,
    pub module: ModId,
    /// Those of the function's head.
    pub families: Vec<ir::Family>,
    pub locals: Vec<ir::Local>,
    /// Types from the declarations at the start of the body.
    pub declared: HashMap<Text, TypePat>,
    pub flow: Flow,
    /// A statement was lost to a syntax error, so an unknown variable may have been assigned there.
    pub damaged: bool,
    /// Slots that hold the value of an expression which was evaluated ahead of its place, by address in the tree.
    pub ahead: HashMap<usize, LocalId>,
    /// Of variables, in files that take derivatives: the place of the value that was assigned last, and what it reads.
    pub computed: HashMap<LocalId, (Span, Vec<LocalId>)>,
    /// Expressions of derivatives around the one that is being lowered.
    pub in_derivatives: usize,
    scopes: Vec<Scope>,
}

impl<'c, 'a> Body<'c, 'a> {
    /// A body whose slots so far are those of the head; `visible` names have values.
    pub(crate) fn new(
        core: &'c mut Core<'a>,
        module: ModId,
        families: Vec<ir::Family>,
        locals: Vec<ir::Local>,
        visible: &[(Text, LocalId)],
    ) -> Body<'c, 'a> {
        let mut flow = Flow::default();
        let mut scope = Scope::default();
        for (name, slot) in visible {
            scope.names.insert(name.clone(), *slot);
            flow.assign(*slot);
        }
        Body {
            core,
            module,
            families,
            locals,
            declared: HashMap::default(),
            flow,
            damaged: false,
            ahead: HashMap::default(),
            computed: HashMap::default(),
            in_derivatives: 0,
            scopes: vec![scope],
        }
    }

    /// A fresh slot that no name reaches.
    pub(crate) fn temp(&mut self, name: &str, span: Span) -> LocalId {
        self.locals.push(ir::Local { name: name.to_string(), declared: None, span });
        let slot = LocalId(self.locals.len() as u32 - 1);
        self.flow.assign(slot);
        slot
    }

    fn new_slot(&mut self, name: &Text, span: Span) -> LocalId {
        let declared = self.declared.get(name).cloned();
        self.locals.push(ir::Local { name: name.to_string(), declared, span });
        LocalId(self.locals.len() as u32 - 1)
    }

    fn find(&self, name: &str) -> Option<LocalId> {
        self.scopes.iter().rev().find_map(|scope| scope.names.get(name).copied())
    }

    /// The slot of a variable.
    pub(crate) fn slot_of(&self, name: &QName) -> Option<LocalId> {
        if name.module.is_none() { self.find(&name.name) } else { None }
    }

    /// Whether the name is a variable here.
    pub(crate) fn is_local(&self, name: &QName) -> bool {
        name.module.is_none() && self.find(&name.name).is_some()
    }

    /// The slot that an assignment to `name` at this point writes; it has a value from now on.
    pub(crate) fn assign(&mut self, name: &Text, span: Span) -> LocalId {
        let innermost = self.scopes.last().and_then(|scope| scope.names.get(name).copied());
        let slot = innermost.unwrap_or_else(|| {
            let slot = self.new_slot(name, span);
            if let Some(scope) = self.scopes.last_mut() {
                scope.names.insert(name.clone(), slot);
            }
            slot
        });
        self.flow.assign(slot);
        slot
    }

    /// The place that an assignment to `name` writes.
    pub(crate) fn target(&mut self, name: &QName) -> Target {
        if &*name.name == "_" && !self.declared.contains_key(&name.name) {
            return Target::Discard;
        }
        if self.find(&name.name).is_none()
            && let Ok(found) = self.core.meanings(self.module, name, Kind::Object)
            && found.iter().any(|object| self.core.def(*object).module == self.module)
        {
            self.core.reports.push(report::local_object(&name.name, name.span));
        }
        let slot = self.assign(&name.name, name.span);
        self.note(slot, DefKind::Variable, name.span, true);
        Target::Local(slot)
    }

    /// Notes that a slot is mentioned, for those who read the program.
    pub(crate) fn note(&mut self, slot: LocalId, kind: DefKind, at: Span, is_write: bool) {
        if self.core.notes(self.module) {
            let local = &self.locals[slot.index()];
            let declared = local.declared.as_ref().map(|ty| ty.span);
            let slot = Slot { kind, name: &local.name, first: local.span, declared };
            self.core.note_slot(self.module, at, &slot, is_write);
        }
    }

    /// The value of a variable or a global object.
    pub(crate) fn read(&mut self, name: &QName) -> ExprKind {
        if name.module.is_none()
            && let Some(slot) = self.find(&name.name)
        {
            self.read_slot(slot, &name.name, name.span);
            self.note(slot, DefKind::Variable, name.span, false);
            return ExprKind::Local(slot);
        }
        match self.core.meaning(self.module, name, Kind::Object) {
            Ok(object) => {
                self.core.note_defs(self.module, name.span, &name.name, &[object]);
                self.core.global(object).map_or(ExprKind::Error, ExprKind::Global)
            }
            Err(missing) => {
                self.report_unknown(name, missing);
                ExprKind::Error
            }
        }
    }

    fn report_unknown(&mut self, name: &QName, missing: Missing) {
        if self.damaged || self.core.is_excused(self.module, &name.name) {
            return;
        }
        if !matches!(missing, Missing::Nothing) {
            return self.core.report_missing(self.module, name, Kind::Object, missing);
        }
        if name.module.is_none()
            && let Some(ty) = self.declared.get(&name.name)
        {
            let first = match ty.elem {
                ir::ElemTy::Struct(record) => format!("{}{{ }}", self.core.program.structs[record.index()].name),
                ir::ElemTy::Basic(Basic::Bool) => "false".to_string(),
                ir::ElemTy::Basic(Basic::Char) => "' '".to_string(),
                ir::ElemTy::Basic(basic) => format!("0{}", basic.suffix().unwrap_or_default()),
                _ => "0".to_string(),
            };
            self.core.reports.push(report::not_yet_assigned(&name.name, name.span, &first));
            self.assign(&name.name, name.span);
            return;
        }
        let mut locals: Vec<Text> = self.scopes.iter().flat_map(|scope| scope.names.keys().cloned()).collect();
        locals.extend(self.core.module(self.module).macros.iter().cloned());
        let is_function = self.core.meanings(self.module, name, Kind::Function).is_ok_and(|found| !found.is_empty());
        let suggestion = match is_function {
            true => report::Suggestion::default(),
            false => self.core.suggest(self.module, &name.name, Kind::Object, &locals),
        };
        self.core.reports.push(report::unknown_variable(&name.name, name.span, suggestion, is_function));
        // Later uses of the name would only repeat the report.
        if name.module.is_none() {
            self.assign(&name.name, name.span);
        }
    }

    /// Notes a use of a slot and reports it if the slot may have no value.
    fn read_slot(&mut self, slot: LocalId, name: &str, span: Span) {
        if !self.flow.is_assigned(slot) {
            let assigned = self.locals[slot.index()].span;
            // A name that was unknown where it is assigned, as in `s += i`, has been reported; now it is known what helps.
            let is_known = |report: &Diagnostic| report.code == Code::UnknownVariable && report.span() == assigned;
            let known = self.core.reports.iter().position(is_known);
            match known.and_then(|at| self.core.reports.get_mut(at)) {
                Some(report) if report.help.is_none() => {
                    report.help = Some(format!("give `{name}` a value before the condition or loop"));
                }
                Some(_) => {}
                None if self.damaged => {}
                None => self.core.reports.push(report::maybe_unassigned(name, span, assigned)),
            }
            self.flow.assign(slot);
        }
        self.note_inherited(slot);
    }

    fn note_inherited(&mut self, slot: LocalId) {
        if !self.flow.is_inherited(slot) {
            return;
        }
        for scope in &mut self.scopes {
            for inherited in scope.inherited.iter_mut().filter(|inherited| inherited.inner == slot) {
                inherited.read = true;
            }
        }
    }

    /// Opens the scope of a with-loop part whose statements assign `assigned`. Index names come afterwards.
    pub(crate) fn enter_part(&mut self, assigned: &[Text]) {
        let mut scope = Scope::default();
        for name in assigned {
            let Some(outer) = self.find(name).filter(|slot| self.flow.is_assigned(*slot)) else { continue };
            if scope.names.contains_key(name) {
                continue;
            }
            let inner = self.new_slot(name, self.locals[outer.index()].span);
            scope.names.insert(name.clone(), inner);
            scope.inherited.push(Inherited { outer, inner, read: false });
            self.flow.inherit(inner);
        }
        self.scopes.push(scope);
    }

    /// A name of the innermost scope, hiding outer ones: an index.
    pub(crate) fn bind(&mut self, name: &Text, span: Span) -> LocalId {
        self.locals.push(ir::Local { name: name.to_string(), declared: None, span });
        let slot = LocalId(self.locals.len() as u32 - 1);
        if let Some(scope) = self.scopes.last_mut() {
            scope.inherited.retain(|inherited| scope.names.get(name) != Some(&inherited.inner));
            scope.names.insert(name.clone(), slot);
        }
        self.flow.assign(slot);
        self.note(slot, DefKind::Index, span, true);
        slot
    }

    /// Closes the scope of a part; the result goes in front of the part's statements.
    pub(crate) fn leave_part(&mut self) -> Vec<Stmt> {
        let scope = self.scopes.pop().unwrap_or_default();
        let mut copies = Vec::new();
        for inherited in scope.inherited.into_iter().filter(|inherited| inherited.read) {
            self.note_inherited(inherited.outer);
            let span = self.locals[inherited.inner.index()].span;
            let value = Expr { kind: ExprKind::Local(inherited.outer), span };
            copies.push(Stmt::Assign { targets: vec![Target::Local(inherited.inner)], value, span });
        }
        copies
    }
}
