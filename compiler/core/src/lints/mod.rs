//! Lints of the syntax tree: what is allowed and probably not meant.
//!
//! They look at the user's files alone, and there at what is written in the file itself: neither at text that it includes nor at
//! what macros make. They run over files without errors, since what is missing there may be what makes a name used.

mod conditions;
mod constants;
mod functions;
mod imports;
mod kinds;
mod known;
mod liveness;
mod names;
mod overloads;
mod pragmas;
mod reals;
mod shadows;
mod stores;

use crate::Core;
use crate::modules::{ModId, Progress};
use ravel_diagnostics::{Code, Diagnostic, Levels};
use ravel_source::{FileId, SourceMap, Span};
use ravel_syntax::ast::{Definition, Expr, ExprKind, Function, Ident, QName};

/// A file that is looked at, and what there is to say about it.
pub(crate) struct Look<'l> {
    map: &'l SourceMap,
    file: FileId,
    levels: &'l Levels,
    reports: Vec<Diagnostic>,
}

impl Core<'_> {
    /// Looks at the user's modules.
    pub(crate) fn lint(&mut self) {
        if !self.options.lints.look_for_any() || self.reports.has_errors() {
            return;
        }
        let mut found = Vec::new();
        for (module, file) in self.users_modules() {
            let mut look = Look { map: self.map, file, levels: &self.options.lints, reports: Vec::new() };
            self.look_at(module, &mut look);
            found.append(&mut look.reports);
        }
        self.reports.extend(found);
    }

    /// The user's modules without errors, each with the file that it begins in.
    fn users_modules(&self) -> Vec<(ModId, FileId)> {
        let usable = |id: &ModId| {
            let module = self.module(*id);
            !(module.library || module.broken || module.incomplete)
        };
        let module_of = |name: &str| match self.progress.get(name) {
            Some(Progress::Done(id)) => Some(*id).filter(usable),
            _ => None,
        };
        self.map.files().filter_map(|(file, source)| Some((module_of(&source.name)?, file))).collect()
    }

    fn look_at(&self, id: ModId, look: &mut Look<'_>) {
        let module = self.module(id);
        imports::unused(self, module, look);
        overloads::unreached(self, id, look);
        pragmas::unknown(&module.file, look);
        functions::unused(module, look);
        for definition in &module.file.definitions {
            let Definition::Function(function) = definition else { continue };
            if function.head_span.file != look.file {
                continue;
            }
            functions::unused_parameters(function, look);
            conditions::guards(function, look);
            known::look(function, look);
            reals::look(function, look);
            liveness::look(function, look);
        }
    }
}

impl Look<'_> {
    fn push(&mut self, report: Diagnostic) {
        self.reports.push(report);
    }

    fn is_on(&self, code: Code) -> bool {
        self.levels.is_on(code)
    }

    /// Whether a text stands in the file as it is: tokens that macros make have the place of the macro's name.
    fn is_written(&self, span: Span, text: &str) -> bool {
        span.file == self.file && self.map.snippet(span) == text
    }

    fn has_name(&self, name: &Ident) -> bool {
        self.is_written(name.span, &name.name)
    }

    fn has_qname(&self, name: &QName) -> bool {
        name.module.is_some() && name.span.file == self.file || self.is_written(name.span, &name.name)
    }

    /// Whether no part of an expression comes from a macro, as far as that can be told.
    fn has_expr(&self, expr: &Expr) -> bool {
        let here = match &expr.kind {
            ExprKind::Number(number) => self.is_written(expr.span, &number.text),
            ExprKind::Bool(value) => self.is_written(expr.span, if *value { "true" } else { "false" }),
            ExprKind::Char { text, .. } => self.is_written(expr.span, text),
            ExprKind::Name(name) => self.has_qname(name),
            ExprKind::Call(call) => self.has_qname(&call.callee),
            ExprKind::Binary { op, .. } | ExprKind::Unary { op, .. } => self.is_written(op.span, &op.name),
            _ => expr.span.file == self.file,
        };
        let mut all = here;
        crate::visit::children(expr, &mut |child| all = all && self.has_expr(child));
        all
    }

    /// A place with what a line has besides it, if that is nothing but white space: what to remove with a statement.
    fn with_line(&self, span: Span) -> Span {
        let Some(text) = self.map.get(span.file).map(|file| &*file.text) else { return span };
        let (start, end) = (span.start as usize, span.end as usize);
        let (Some(before), Some(behind)) = (text.get(..start), text.get(end..)) else { return span };
        let front = before.len() - before.trim_end_matches([' ', '\t']).len();
        let rest = behind.trim_start_matches([' ', '\t', '\r']);
        let starts_line = before[..start - front].is_empty() || before[..start - front].ends_with('\n');
        match starts_line && (rest.starts_with('\n') || rest.is_empty()) {
            true => {
                let gap = behind.len() - rest.len() + usize::from(rest.starts_with('\n'));
                Span::new(span.file, start - front, end + gap)
            }
            // With the blank in front of what follows.
            false => Span { end: span.end + u32::from(behind.starts_with(' ')), ..span },
        }
    }
}

/// Calls `f` on every expression of a function, in with-loops and comprehensions, too, outermost first.
fn each_expr<'f>(function: &'f Function, f: &mut dyn FnMut(&'f Expr)) {
    function.conditions.iter().for_each(|condition| below(condition, f));
    if let Some(body) = &function.body {
        names::statements(&body.stmts, &mut |expr| below(expr, f));
        body.ret.iter().flat_map(|ret| &ret.values).for_each(|value| below(value, f));
    }
}

fn below<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    f(expr);
    names::inner(expr, &mut |child| below(child, f));
}
