//! Indices of with-loops and comprehensions that hide a variable which is still needed.
//!
//! A counter that a loop has left behind is not: its name is free for others.

use super::Look;
use super::liveness::Live;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_syntax::ast::*;
use ravel_types::HashMap;

pub(super) struct Shadows<'f> {
    is_on: bool,
    /// Parameters, and where each variable is assigned first.
    params: HashMap<&'f str, Span>,
    assigned: HashMap<&'f str, Span>,
    /// Indices of the parts around.
    indices: Vec<&'f Ident>,
    found: Vec<(&'f Ident, Option<Span>, &'static str)>,
}

impl<'f> Shadows<'f> {
    pub fn new(function: &'f Function, look: &Look<'_>) -> Shadows<'f> {
        let is_on = look.is_on(Code::ShadowedIndex);
        let mut assigned = HashMap::default();
        if let Some(body) = function.body.as_ref().filter(|_| is_on) {
            crate::visit::assigned(&body.stmts, &mut |name: &QName| {
                assigned.entry(&*name.name).or_insert(name.span);
            });
        }
        let params = function.params.iter().map(|param| (&*param.name.name, param.name.span)).collect();
        Shadows { is_on, params, assigned, indices: Vec::new(), found: Vec::new() }
    }

    /// A part with these indices is entered; `around` is what is needed around it, and around those that it lies in.
    pub fn enter(&mut self, names: &[&'f Ident], around: &[Live<'f>]) {
        for name in names.iter().filter(|name| self.is_on && !name.name.starts_with('_')) {
            let text = &*name.name;
            let hidden = if let Some(outer) = self.indices.iter().rev().find(|outer| outer.name == name.name) {
                Some((Some(outer.span), "the index around"))
            } else if let Some(span) = self.params.get(text) {
                Some((Some(*span), "the parameter"))
            } else if around.iter().any(|live| live.contains(text)) {
                Some((self.assigned.get(text).copied(), "the variable"))
            } else {
                None
            };
            if let Some((span, what)) = hidden {
                self.found.push((name, span, what));
            }
        }
        self.indices.extend(names);
    }

    pub fn leave(&mut self, names: &[&'f Ident]) {
        self.indices.truncate(self.indices.len() - names.len());
    }

    pub fn report(self, look: &mut Look<'_>) {
        for (name, hidden, what) in self.found {
            if !look.has_name(name) {
                continue;
            }
            let title = format!("index `{}` hides {what} of this name", name.name);
            let report = Diagnostic::warning(Code::ShadowedIndex, title).at(name.span, "means the index from here on");
            let report = match hidden {
                Some(span) => report.with_label(span, "hidden there"),
                None => report,
            };
            look.push(report.with_help("give the index another name"));
        }
    }
}
