//! Assignments of a scope, and what to say of those whose values nobody needs.

use super::Look;
use super::liveness::Live;
use ravel_diagnostics::{Code, Diagnostic, Fix};
use ravel_source::Span;
use ravel_syntax::ast::*;
use std::collections::BTreeMap;

/// One place that is written.
#[derive(Clone, Copy)]
pub(super) struct Store<'f> {
    name: &'f QName,
    stmt: &'f Stmt,
    /// An update, or a part of the variable.
    is_partial: bool,
    is_dead: bool,
}

impl<'f> Store<'f> {
    pub fn new(target: &'f LValue, stmt: &'f Stmt, is_partial: bool, is_dead: bool) -> Store<'f> {
        Store { name: &target.name, stmt, is_partial, is_dead }
    }
}

/// What is written in a scope, and in the scopes inside of it that are done.
#[derive(Default)]
pub(super) struct Stores<'f> {
    here: Vec<Store<'f>>,
    /// Variables of scopes inside, with whether they come from outside.
    done: Vec<(Vec<Store<'f>>, bool)>,
}

impl<'f> Stores<'f> {
    pub fn add(&mut self, store: Store<'f>) {
        if !store.name.name.starts_with('_') && store.name.module.is_none() {
            self.here.push(store);
        }
    }

    /// Takes over a scope inside. `live` is what it reads from outside or of its indices.
    pub fn close(&mut self, inner: Stores<'f>, live: &Live<'f>, indices: &[&'f Ident]) {
        self.done.extend(inner.done);
        for stores in by_name(inner.here) {
            let name = &stores[0].name.name;
            let is_given = live.contains(&**name) || indices.iter().any(|index| index.name == *name);
            self.done.push((stores, is_given));
        }
    }

    /// Reports what nobody needs. `is_given` says of a name whether it has a value at the start.
    pub fn report(self, decls: &'f [VarDecl], is_given: &dyn Fn(&str) -> bool, look: &mut Look<'_>) {
        let mut assigned = Vec::new();
        let here = by_name(self.here).into_iter().map(|stores| {
            assigned.push(&*stores[0].name.name);
            let is_given = is_given(&stores[0].name.name);
            (stores, is_given)
        });
        let all: Vec<_> = here.chain(self.done).collect();
        for (stores, is_given) in all {
            variable(&stores, is_given, look);
        }
        for decl in decls {
            for name in &decl.names {
                let is_seen = name.name.starts_with('_') || assigned.contains(&&*name.name) || is_given(&name.name);
                if !is_seen && look.has_name(name) {
                    declared(decl, name, look);
                }
            }
        }
    }
}

/// The stores of each variable, in the order of the text.
fn by_name(stores: Vec<Store<'_>>) -> Vec<Vec<Store<'_>>> {
    let mut names: BTreeMap<&str, Vec<Store<'_>>> = BTreeMap::new();
    for store in stores.into_iter().rev() {
        names.entry(&store.name.name).or_default().push(store);
    }
    names.into_values().collect()
}

fn variable(stores: &[Store<'_>], is_given: bool, look: &mut Look<'_>) {
    if !stores.iter().all(|store| look.has_qname(store.name)) {
        return;
    }
    if is_given || stores.iter().any(|store| !store.is_dead) {
        return stores.iter().filter(|store| store.is_dead).for_each(|store| replaced(store, look));
    }
    if !look.is_on(Code::UnusedVariable) {
        return;
    }
    let first = &stores[0];
    let name = &first.name.name;
    let report = Diagnostic::warning(Code::UnusedVariable, format!("variable `{name}` is never used"))
        .at(first.name.span, if stores.len() == 1 { "assigned here" } else { "assigned here, and later" });
    look.push(match (stores, alone(first, look)) {
        ([_], Some(line)) => report.with_safe_edit("remove the statement", line, ""),
        _ if stores.iter().all(is_only_given) => {
            let title = format!("`_{name}` says that this is meant");
            let edits = stores.iter().map(|store| (store.name.span, format!("_{name}"))).collect();
            report.with_fix(Fix { title, safe: true, edits })
        }
        _ => report.with_help("remove it, or begin its name with `_`"),
    });
}

/// Whether a statement mentions a variable only as what it assigns.
fn is_only_given(store: &Store<'_>) -> bool {
    let StmtKind::Assign { value, .. } = &store.stmt.kind else { return false };
    let mut is_read = store.is_partial;
    crate::visit::each_name(value, &mut |name| is_read |= name.name == store.name.name);
    !is_read
}

/// An assignment to a variable that is used elsewhere.
fn replaced(store: &Store<'_>, look: &mut Look<'_>) {
    if !look.is_on(Code::DeadAssignment) {
        return;
    }
    let name = &store.name.name;
    let what =
        if store.is_partial { "what `{}` becomes here is never used" } else { "this value of `{}` is never used" };
    let report = Diagnostic::warning(Code::DeadAssignment, what.replace("{}", name))
        .at(store.name.span, "no use comes before the next assignment or the end");
    look.push(match alone(store, look) {
        Some(line) => report.with_edit("remove the statement", line, ""),
        None => report,
    });
}

/// A declaration of a variable that is not even assigned.
fn declared(decl: &VarDecl, name: &Ident, look: &mut Look<'_>) {
    if !look.is_on(Code::UnusedVariable) {
        return;
    }
    let report = Diagnostic::warning(Code::UnusedVariable, format!("variable `{}` is never used", name.name))
        .at(name.span, "declared here");
    let at = decl.names.iter().position(|other| other.span == name.span).unwrap_or(0);
    let text = look.map.snippet(decl.span);
    let is_whole = text.ends_with(';') && decl.names.iter().all(|name| look.has_name(name));
    look.push(match (&decl.names[..], is_whole) {
        ([_], true) => report.with_safe_edit("remove the declaration", look.with_line(decl.span), ""),
        ([_, second, ..], true) if at == 0 => {
            report.with_safe_edit("remove it", Span { end: second.span.start, ..name.span }, "")
        }
        (names, true) => report.with_safe_edit("remove it", Span { start: names[at - 1].span.end, ..name.span }, ""),
        _ => report,
    });
}

/// The text of a statement that does nothing else than to write this variable, and can go.
fn alone(store: &Store<'_>, look: &Look<'_>) -> Option<Span> {
    let is_free = match &store.stmt.kind {
        StmtKind::Assign { targets, value, .. } => {
            targets.len() == 1 && targets.iter().all(|target| target.accesses.is_empty()) && is_plain(value)
        }
        StmtKind::IncDec { target, .. } => target.accesses.is_empty(),
        _ => false,
    };
    let text = look.map.snippet(store.stmt.span);
    let is_written = text.ends_with(';') && look.is_written(store.name.span, &store.name.name);
    (is_free && is_written).then(|| look.with_line(store.stmt.span))
}

/// Whether an expression has no effect and no fault: literals, names and arithmetic of them. Shapes may differ in arithmetic of arrays;
/// that a value is not needed says that the fault is not, either.
fn is_plain(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Number(_)
        | ExprKind::Bool(_)
        | ExprKind::Char { .. }
        | ExprKind::String(_)
        | ExprKind::Name(_)
        | ExprKind::EmptyTyped(_) => true,
        ExprKind::Unary { .. }
        | ExprKind::Array(_)
        | ExprKind::Struct(_)
        | ExprKind::Field { .. }
        | ExprKind::Cond { .. } => all_plain(expr),
        ExprKind::Binary { op, .. } => !matches!(&*op.name, "/" | "%") && all_plain(expr),
        ExprKind::And { .. } | ExprKind::Or { .. } => all_plain(expr),
        _ => false,
    }
}

fn all_plain(expr: &Expr) -> bool {
    let mut all = true;
    crate::visit::children(expr, &mut |child| all = all && is_plain(child));
    all
}
