//! Errors of specialisation, reported at the user's code even when they arise inside the library.

use crate::conversions::{converted, help_to_convert, is_number, written};
use crate::record::shown_members;
use crate::spec::{Site, Spec};
use crate::value::{Kind, Val};
use ravel_core::ir::{ElemTy, Fun, Program};
use ravel_diagnostics::{Code, Diagnostic, Fix};
use ravel_source::Span;
use ravel_types::Basic;
use ravel_wir::{Fault, Op};

/// What a label says of an expression that cannot but fault.
const ALWAYS: &str = "this always fails";

impl Spec<'_> {
    /// The innermost position in the user's own files: `here`, or the call that led into the library.
    pub fn user_site(&self) -> Span {
        let own = |span: &Span| !span.is_none() && !(self.options.is_library)(span.file);
        if own(&self.here) {
            return self.here;
        }
        self.stack.iter().rev().map(|s| s.span).find(own).unwrap_or(self.here)
    }

    /// Where the user's own files call the function being elaborated, or what led to it.
    pub fn call_site(&self) -> Span {
        let own = |span: &Span| !span.is_none() && !(self.options.is_library)(span.file);
        self.stack.iter().rev().map(|s| s.span).find(own).unwrap_or(self.here)
    }

    /// The function being elaborated as messages name it: `f`, or `f` in `g` if it is one of the library that the user called by way of `g`.
    pub fn quoted(&self, fun: &Fun) -> String {
        let calls = &self.stack[self.outside.min(self.stack.len())..];
        let in_library = |site: &Site| (self.options.is_library)(self.fun(site.fun).span.file);
        let first = calls.iter().rposition(|site| !in_library(site)).map_or(0, |user| user + 1);
        match calls.get(first).map(|site| &self.fun(site.fun).name) {
            Some(called) if *called != fun.name => format!("`{}` in `{called}`", fun.name),
            _ => format!("`{}`", fun.name),
        }
    }

    /// Records an error once per code, place and title; one that a function has for some arguments is not shown again for others.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.note_report();
        let is_own = |site: &&Site| !(self.options.is_library)(self.fun(site.fun).span.file);
        let around = self.stack.iter().rev().find(is_own);
        let activation = around.map_or(0, |site| site.activation);
        let instance = around.and_then(|site| self.show_instance(site));
        let (code, span) = (diagnostic.code, diagnostic.span());
        let known = *self.reported.places.entry((code, span)).or_insert(activation);
        if let Some(instance) = instance {
            let instances = self.reported.instances.entry((code, span)).or_default();
            if !instances.contains(&instance) {
                instances.push(instance);
                self.reported.repeated += usize::from(known != activation);
            }
        }
        if known == activation && self.reported.titles.insert((code, span, diagnostic.title.clone())) {
            match self.diagnostics.last_mut() {
                // What else does not fit at the same call is a further line of one report.
                Some(last) if code == Code::ShapesDiffer && last.code == code && last.span() == span => {
                    last.notes.push(diagnostic.title);
                }
                _ => self.diagnostics.push(diagnostic),
            }
        }
    }

    /// The instance that a call leads to, `f(double[4])`, if the call is the user's and has arguments, of which none is wrong itself.
    fn show_instance(&self, site: &Site) -> Option<String> {
        let args = site.args.as_ref()?;
        if args.is_empty() || args.iter().any(|arg| matches!(arg.kind, Kind::Bottom)) {
            return None;
        }
        let args: Vec<String> = args.iter().map(|arg| show_kind(self.program, &arg.kind)).collect();
        Some(format!("{}({})", self.fun(site.fun).name, args.join(", ")))
    }

    /// Names the instances that have what was reported, where there are several.
    pub fn add_instances(&mut self, diagnostics: &mut [Diagnostic]) {
        for report in diagnostics {
            match self.reported.instances.get(&(report.code, report.span())) {
                Some(several) if several.len() > 1 => report.instances = several.clone(),
                _ => {}
            }
        }
    }

    /// An error at the user's code; if that is not where it arose, a note says where.
    pub fn error(&mut self, code: Code, title: impl Into<String>, label: impl Into<String>) {
        let site = self.user_site();
        self.report_from_here(Diagnostic::error(code, title).at(site, label), site);
    }

    /// A report on `site`; if the error arose elsewhere, a note says where. On a call its arguments are labelled, and the label of the whole call
    /// becomes a note.
    pub fn report_from_here(&mut self, diagnostic: Diagnostic, site: Span) {
        let said = diagnostic.labels.first().map_or(String::new(), |label| label.message.clone());
        let (mut diagnostic, labelled) = self.on_arguments(diagnostic);
        if labelled && !["", ALWAYS].contains(&said.as_str()) {
            diagnostic = diagnostic.with_note(said);
        }
        self.report_with_origin(diagnostic, site, labelled);
    }

    /// A report on a call whose title says all that its label says: the arguments are labelled if they can be.
    pub fn report_on_arguments(&mut self, diagnostic: Diagnostic, site: Span) {
        let (diagnostic, labelled) = self.on_arguments(diagnostic);
        self.report_with_origin(diagnostic, site, labelled);
    }

    /// The report with labels on the arguments of the user's call that it is about; false if it is about none.
    pub fn on_arguments(&self, diagnostic: Diagnostic) -> (Diagnostic, bool) {
        match self.user_call() {
            Some((call, args)) if call.span == diagnostic.span() => self.label_arguments(diagnostic, args),
            _ => (diagnostic, false),
        }
    }

    /// Where the arguments are labelled, nobody needs to know which function of the library it was.
    pub fn report_with_origin(&mut self, mut diagnostic: Diagnostic, site: Span, labelled: bool) {
        if site != self.here
            && !labelled
            && let Some(inner) = self.stack.last()
        {
            let fun = self.fun(inner.fun);
            diagnostic = diagnostic.with_note(format!("found in `{}` of module {}", self.show_head(fun), fun.module));
        }
        self.report(diagnostic);
    }

    /// A value of another element type than the one that is declared.
    pub fn wrong_elem(&mut self, value: &Val, types: (ElemTy, ElemTy), title: String, label: String) {
        self.wrong_elem_of(Code::WrongType, value, types, title, label);
    }

    /// A seed of another element type than what it belongs to.
    pub fn wrong_seed(&mut self, value: &Val, types: (ElemTy, ElemTy), title: String, label: String) {
        self.wrong_elem_of(Code::SeedMisfit, value, types, title, label);
    }

    fn wrong_elem_of(
        &mut self,
        code: Code,
        value: &Val,
        (found, wanted): (ElemTy, ElemTy),
        title: String,
        label: String,
    ) {
        let site = self.user_site();
        let mut diagnostic = Diagnostic::error(code, title).at(site, label);
        if let (ElemTy::Basic(found), ElemTy::Basic(wanted)) = (found, wanted) {
            let text = self.quotable(site).filter(|_| site == self.here).map(|text| converted(text, wanted));
            diagnostic = match text {
                Some((new, is_exact)) => {
                    // A literal without suffix takes the type that is wanted; of other conversions only that to double loses nothing.
                    let text = self.options.map.snippet(site);
                    let fits = matches!(wanted, Basic::Float | Basic::Double) || !text.contains(['.', 'e', 'E']);
                    let lossless = wanted == Basic::Double && found != Basic::Bool;
                    let safe = is_exact && (lossless || is_number(text) && fits);
                    let fix = Fix { title: format!("`{new}`"), safe, edits: vec![(site, new)] };
                    diagnostic.with_fix(fix).with_note("nothing converts implicitly")
                }
                None => diagnostic.with_help(help_to_convert(wanted, written(value))),
            };
        }
        self.report_from_here(diagnostic, site);
    }

    pub fn type_mismatch(&mut self, value: &Val, kind: &Kind, span: Span) {
        let found = self.show_value_type(value);
        let wanted = show_kind(self.program, kind);
        let saved = std::mem::replace(&mut self.here, span);
        self.error(Code::WrongType, format!("expected {wanted}, found {found}"), format!("this is {found}"));
        self.here = saved;
    }

    /// A run-time check at the current position.
    pub fn emit_check(&mut self, cond: &crate::value::Sc, mut fault: Fault) {
        if cond.as_bool() == Some(true) {
            return;
        }
        if cond.as_bool() == Some(false) {
            self.note_doubt();
        }
        self.note_place(&mut fault);
        let cond = self.em.value(cond);
        self.em.inst(Op::Check { cond, fault }, Vec::new());
    }

    /// Whether this place is certainly reached.
    pub fn is_certain(&self) -> bool {
        self.conditional == 0 && self.speculative == 0
    }

    /// What is wrong whenever this place is reached, and has a check for the run there: an error, but a warning in a branch, which may not run.
    pub fn of_fault(&self, code: Code, title: impl Into<String>) -> Diagnostic {
        match self.branches {
            0 => Diagnostic::error(code, title),
            _ => Diagnostic::warning(code, title).with_note("the program stops here if this branch runs"),
        }
    }

    /// Errors that were reported, without warnings.
    pub fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|report| report.is_error()).count()
    }

    /// A fault that is certain once this place is reached: an error where the place is certainly reached, else a check.
    pub fn certain_fault(&mut self, code: Code, title: String, fault: Fault) {
        if self.is_certain() {
            self.error(code, title, ALWAYS);
        }
        self.emit_check(&crate::value::Sc::bool(false), fault);
    }
}

/// A kind as a programmer would write the type.
pub fn show_kind(program: &Program, kind: &Kind) -> String {
    use crate::value::ShapeKind;
    let with_shape = |name: &str, shape: &ShapeKind| match shape {
        ShapeKind::Unknown => format!("{name}[*]"),
        ShapeKind::Known(e) if e.is_empty() => name.to_string(),
        ShapeKind::Known(e) => {
            let extents: Vec<String> = e
                .iter()
                .map(|e| e.as_ref().and_then(|a| a.as_const()).map_or(".".to_string(), |n| n.to_string()))
                .collect();
            format!("{name}[{}]", extents.join(","))
        }
    };
    match kind {
        Kind::Bottom => "?".to_string(),
        Kind::Sc(b, _) => b.name().to_string(),
        Kind::Tup(b, s) => format!("{}[{}]", b.name(), s.len()),
        Kind::Arr(b, shape) => with_shape(b.name(), shape),
        Kind::Handle(u) | Kind::Wrapped(u, _) => program.user_types[u.index()].name.clone(),
        Kind::Struct(s, fields) => {
            format!("struct {}{}", program.structs[s.index()].name, shown_members(program, *s, fields))
        }
    }
}
