//! The arguments of calls in the user's files, as messages label them: what each is, and where that came from.

use crate::report::show_kind;
use crate::spec::{Argument, Frame, Site, Spec};
use crate::value::Val;
use ravel_core::ir::{Expr, ExprKind};
use ravel_diagnostics::{Diagnostic, Label};
use ravel_source::Span;
use std::rc::Rc;

/// Labels of one report: with more of them the source is hard to see.
const MOST_LABELS: usize = 4;

impl Spec<'_> {
    /// Remembers the arguments of the call that comes next, if it stands in the user's files.
    pub fn note_arguments(&mut self, frame: &Frame, args: &[Expr], values: &[Val]) {
        self.noted = None;
        if frame.origins.is_empty() {
            return;
        }
        let noted = args.iter().zip(values).map(|(arg, value)| Argument {
            span: arg.span,
            origin: match arg.kind {
                ExprKind::Local(slot) => frame.origins.get(slot.index()).copied().filter(|span| !span.is_none()),
                _ => None,
            },
            kind: self.em.kind_of(value),
        });
        self.noted = Some(noted.collect());
    }

    /// Makes the frame of one of the user's functions remember where values come from; parameters come from the call.
    pub fn trace_origins(&mut self, frame: &mut Frame) {
        let fun = self.fun(frame.fun);
        if (self.options.is_library)(fun.span.file) {
            return;
        }
        frame.origins = vec![Span::NONE; frame.env.len()];
        let Some(args) = self.stack.last().and_then(|site| site.args.clone()) else { return };
        for (param, arg) in fun.params.iter().zip(args.iter()) {
            frame.set_origin(param.local, arg.span);
        }
    }

    /// A report on a whole call, with labels on its arguments instead: what each is, and where it got its value. False if there are none to label.
    pub fn label_arguments(&self, mut diagnostic: Diagnostic, args: &Rc<[Argument]>) -> (Diagnostic, bool) {
        let site = diagnostic.span();
        let inside = |span: Span| span.file == site.file && site.start <= span.start && span.end <= site.end;
        let shown: Vec<&Argument> = args.iter().filter(|arg| inside(arg.span) && arg.span != site).collect();
        if shown.is_empty() || shown.len() != args.len() || shown.len() > MOST_LABELS {
            return (diagnostic, false);
        }
        diagnostic.labels.retain(|label| label.span != site);
        for arg in &shown {
            diagnostic = diagnostic.at(arg.span, show_kind(self, &arg.kind));
        }
        for arg in &shown {
            let Some(origin) = arg.origin else { continue };
            let known = diagnostic.labels.iter().any(|label: &Label| label.span == origin);
            if diagnostic.labels.len() < MOST_LABELS && !known {
                let name = self.options.map.snippet(arg.span).trim().to_string();
                diagnostic = diagnostic.with_label(origin, format!("{name}: {}", show_kind(self, &arg.kind)));
            }
        }
        (diagnostic, true)
    }

    /// The call in the user's files that led here, with what it was called with.
    pub fn user_call(&self) -> Option<(&Site, &Rc<[Argument]>)> {
        let own = |site: &&Site| !site.span.is_none() && !(self.options.is_library)(site.span.file);
        let site = self.stack.iter().rev().find(own)?;
        Some((site, site.args.as_ref()?))
    }

    /// The text of a place, if it is short enough to be quoted within a sentence.
    pub fn quotable(&self, span: Span) -> Option<&str> {
        const LONGEST: usize = 40;
        let text = self.options.map.snippet(span);
        (!text.is_empty() && text.len() <= LONGEST && !text.contains(['\n', '`'])).then_some(text)
    }
}
