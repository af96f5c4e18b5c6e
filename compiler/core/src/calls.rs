//! Calls: functions, primitives and class conversions, and the variables that calls rebind.

use crate::diagnostics as report;
use crate::ir::{Expr, ExprKind, Target, UserTypeKind};
use crate::lookup::Kind;
use crate::make;
use crate::overloads::{Syntax, Wanted};
use crate::scope::Body;
use ravel_syntax::ast::{self, QName};
use ravel_types::prim_by_name;

/// A call with the places of the results that come from its reference parameters, after the declared ones.
pub(crate) struct Counted {
    pub value: Expr,
    pub refs: Vec<Target>,
    /// Declared results that the call gives.
    pub results: usize,
    /// The first result whose type its target must declare.
    pub variadic_from: Option<usize>,
}

impl Counted {
    pub(crate) fn plain(value: Expr, results: usize) -> Counted {
        Counted { value, refs: Vec::new(), results, variadic_from: None }
    }
}

fn looks_primitive(name: &QName) -> bool {
    name.module.is_none() && name.name.len() > 2 && name.name.starts_with('_') && name.name.ends_with('_')
}

impl Body<'_, '_> {
    /// A call that gives as many results as wanted.
    pub(crate) fn call(&mut self, call: &ast::Call, wanted: Wanted) -> Counted {
        if looks_primitive(&call.callee)
            && self.core.meanings(self.module, &call.callee, Kind::Function).is_ok_and(|f| f.is_empty())
        {
            return Counted::plain(self.primitive(call), 1);
        }
        if let Some(converted) = self.class_conversion(call) {
            return Counted::plain(converted, 1);
        }
        if let Some(derivative) = self.derivative(call, wanted) {
            return derivative;
        }
        let args: Vec<Expr> = call.args.iter().map(|arg| self.expr(arg)).collect();
        let results = match wanted {
            Wanted::Count(n) => n,
            Wanted::Effect => 0,
        };
        let before = self.core.reports.len();
        let Some(callee) = self.core.callee(self.module, &call.callee, args.len(), wanted, Syntax::Call) else {
            if let Some(report) = self.core.reports.get_mut(before) {
                report::with_way(report, call);
                report::with_axis_first(report, call);
                let is_record = self.core.meaning(self.module, &call.callee, Kind::Struct).is_ok();
                if let Some(report) = self.core.reports.get_mut(before).filter(|_| is_record) {
                    report::with_braces(report, call);
                }
                let is_variable = self.is_local(&call.callee);
                if let Some(report) = self.core.reports.get_mut(before).filter(|_| is_variable) {
                    report::with_brackets(report, call);
                }
            }
            return Counted::plain(make::error(call.span), results);
        };
        self.core.note_call(self.module, &call.callee, call.span, callee.set);
        if wanted == Wanted::Effect && callee.results > 0 && !self.core.options.at_prompt {
            let diagnostic = report::ignored_result(&call.callee.name, callee.results, call.span, &call.args);
            self.core.reports.push(diagnostic);
        }
        for i in &callee.by_ref {
            if !matches!(args[*i].kind, ExprKind::Local(_) | ExprKind::Global(_) | ExprKind::Error) {
                self.core.reports.push(report::reference_argument(&call.callee.name, args[*i].span));
            }
        }
        let mut refs = Vec::new();
        for i in &callee.returned {
            refs.push(match (&call.args[*i].kind, &args[*i].kind) {
                (ast::ExprKind::Name(name), ExprKind::Local(_)) => Target::Local(self.assign(&name.name, name.span)),
                (_, ExprKind::Global(object)) => Target::Global(*object),
                _ => Target::Discard,
            });
        }
        let value = make::expr(ExprKind::Call { set: callee.set, args }, call.span);
        Counted { value, refs, results: callee.results, variadic_from: callee.variadic_from }
    }

    fn primitive(&mut self, call: &ast::Call) -> Expr {
        let args: Vec<Expr> = call.args.iter().map(|arg| self.expr(arg)).collect();
        let name = &call.callee;
        let Some(prim) = prim_by_name(&name.name) else {
            self.core.reports.push(report::unknown_primitive(&name.name, name.span));
            return make::error(call.span);
        };
        if prim.arity() != args.len() {
            let diagnostic = report::primitive_arity(&name.name, prim.arity(), args.len(), call.span);
            self.core.reports.push(diagnostic);
            return make::error(call.span);
        }
        make::prim(prim, args, call.span)
    }

    /// `to_C(e)` and `from_C(e)` in the file of class C.
    fn class_conversion(&mut self, call: &ast::Call) -> Option<Expr> {
        let class = self.core.module(self.module).class()?.name.clone();
        let name = call.callee.name.strip_suffix(&*class.name).filter(|_| call.callee.module.is_none())?;
        let (true, [arg]) = (matches!(name, "to_" | "from_"), call.args.as_slice()) else { return None };
        let class = QName { module: None, name: class.name, span: class.span };
        let def = self.core.meaning(self.module, &class, Kind::Type).ok()?;
        let id = self.core.user_type(def)?;
        if !matches!(self.core.program.user_types[id.index()].kind, UserTypeKind::Class { .. }) {
            return None;
        }
        let to_class = name == "to_";
        let value = Box::new(self.expr(arg));
        let kind = match to_class {
            true => ExprKind::Wrap { class: id, value },
            false => ExprKind::Unwrap { class: id, value },
        };
        Some(make::expr(kind, call.span))
    }

    /// An expression that gives several values, if it is of a kind that can.
    pub(crate) fn several(&mut self, expr: &ast::Expr, results: usize) -> Option<Counted> {
        match &expr.kind {
            ast::ExprKind::Call(call) => Some(self.call(call, Wanted::Count(results))),
            ast::ExprKind::With(with) if with.operations.len() == results => {
                let value = self.with_loop(with);
                Some(Counted::plain(value, results))
            }
            ast::ExprKind::Comprehension(comprehension) => {
                Some(Counted::plain(self.comprehension_of(comprehension, results), results))
            }
            ast::ExprKind::Error => Some(Counted::plain(make::error(expr.span), results)),
            _ => None,
        }
    }
}
