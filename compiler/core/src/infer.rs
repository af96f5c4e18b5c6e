//! Missing bounds of tensor comprehensions, found in the selections of their expressions (language reference 5.7).
//!
//! The search is purely syntactic. A selection `A[...]`, `sel(x, A)` or `_sel_VxA_(x, A)` counts for an index that
//! stands in it as a bare name, if `A` mentions no name that the comprehension or something inside it binds.

use crate::visit::{assigned, children, statement_exprs};
use ravel_syntax::ast::*;

/// An array whose shape bounds an index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'e> {
    pub array: &'e Expr,
    pub axis: Axis,
}

/// Which part of the array's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// All of it: an index vector.
    All,
    /// Counted from the first axis, from 0.
    FromFirst(usize),
    /// Counted from behind the last axis, from 1.
    FromEnd(usize),
}

/// The arrays that bound the index `name` of a partition; `names` are all its indices. In source order, repetitions of
/// the same variable and axis removed.
pub(crate) fn bounds<'e>(body: &'e Expr, name: &str, names: &[Text], vector: bool) -> Vec<Source<'e>> {
    let mut search = Search { name, vector, bound: names.to_vec(), hidden: 0, found: Vec::new() };
    search.expr(body);
    search.found
}

struct Search<'n, 'e> {
    name: &'n str,
    /// Whether the name is an index vector.
    vector: bool,
    /// Names that the comprehension and everything around the present place inside it bind.
    bound: Vec<Text>,
    /// How many binders around the present place hide the name.
    hidden: usize,
    found: Vec<Source<'e>>,
}

impl<'e> Search<'_, 'e> {
    fn expr(&mut self, expr: &'e Expr) {
        match &expr.kind {
            ExprKind::Select { array, selectors } => self.selection(array, selectors),
            ExprKind::Call(call) if is_selection(call) => match &call.args[0].kind {
                ExprKind::Array(elements) => {
                    let places = elements.iter().map(|element| (Some(element), false));
                    self.list(&call.args[1], places.collect());
                }
                _ => self.bare(&call.args[1], &call.args[0]),
            },
            _ => {}
        }
        children(expr, &mut |child| self.expr(child));
        match &expr.kind {
            ExprKind::With(with) => self.with_loop(with),
            ExprKind::Comprehension(comprehension) => {
                for partition in &comprehension.partitions {
                    self.binding(index_names(&partition.index), |search| search.expr(&partition.body));
                }
            }
            _ => {}
        }
    }

    fn selection(&mut self, array: &'e Expr, selectors: &'e [Selector]) {
        match selectors {
            [Selector::Expr(only)] => match &only.kind {
                ExprKind::Array(elements) => self.list(array, elements.iter().map(|e| (Some(e), false)).collect()),
                _ => self.bare(array, only),
            },
            _ => {
                let places = selectors.iter().map(|selector| match selector {
                    Selector::Expr(expr) => (Some(expr), false),
                    Selector::Dot(_) => (None, false),
                    Selector::Dots(_) => (None, true),
                });
                self.list(array, places.collect());
            }
        }
    }

    /// `array[index]` with one selector.
    fn bare(&mut self, array: &'e Expr, index: &'e Expr) {
        if self.is_wanted(index) {
            self.add(array, if self.vector { Axis::All } else { Axis::FromFirst(0) });
        }
    }

    /// A list of selectors, each with whether it is `...`.
    fn list(&mut self, array: &'e Expr, places: Vec<(Option<&'e Expr>, bool)>) {
        if self.vector {
            return;
        }
        let mut after_dots = false;
        for (p, (selector, dots)) in places.iter().enumerate() {
            after_dots |= *dots;
            if selector.is_some_and(|selector| self.is_wanted(selector)) {
                let axis = if after_dots { Axis::FromEnd(places.len() - p) } else { Axis::FromFirst(p) };
                self.add(array, axis);
            }
        }
    }

    fn is_wanted(&self, index: &Expr) -> bool {
        matches!(&index.kind, ExprKind::Name(name) if name.module.is_none() && *name.name == *self.name)
            && self.hidden == 0
    }

    fn add(&mut self, array: &'e Expr, axis: Axis) {
        let again = self.found.iter().any(|source| source.axis == axis && same_variable(source.array, array));
        if !again && !mentions(array, &self.bound) {
            self.found.push(Source { array, axis });
        }
    }

    fn with_loop(&mut self, with: &'e With) {
        for part in &with.parts {
            let mut names: Vec<Text> = part.index.vector.iter().map(|name| name.name.clone()).collect();
            names.extend(part.index.scalars.iter().flatten().map(|name| name.name.clone()));
            assigned(&part.body.stmts, &mut |name| names.push(name.name.clone()));
            self.binding(names, |search| {
                statement_exprs(&part.body.stmts, &mut |child| search.expr(child));
                part.values.iter().for_each(|value| search.expr(value));
            });
        }
    }

    fn binding(&mut self, names: Vec<Text>, inside: impl FnOnce(&mut Self)) {
        let depth = self.bound.len();
        let hides = usize::from(names.iter().any(|name| **name == *self.name));
        self.bound.extend(names);
        self.hidden += hides;
        inside(self);
        self.hidden -= hides;
        self.bound.truncate(depth);
    }
}

fn is_selection(call: &Call) -> bool {
    matches!(&*call.callee.name, "sel" | "_sel_VxA_") && call.args.len() == 2
}

/// The names that an index binds.
pub(crate) fn index_names(index: &TensorIndex) -> Vec<Text> {
    match &index.kind {
        TensorIndexKind::Vector(name) => vec![name.name.clone()],
        TensorIndexKind::List(items) => items
            .iter()
            .filter_map(|item| match item {
                IndexItem::Name(name) => Some(name.name.clone()),
                IndexItem::Dot(_) | IndexItem::Dots(_) => None,
            })
            .collect(),
    }
}

/// Whether two expressions are one variable, or the same field of one.
pub(crate) fn same_variable(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Name(a), ExprKind::Name(b)) => a.name == b.name && a.module == b.module,
        (ExprKind::Field { record: a, field: f }, ExprKind::Field { record: b, field: g }) => {
            f.name == g.name && same_variable(a, b)
        }
        _ => std::ptr::eq(a, b),
    }
}

/// Whether an expression has a free variable of these names.
fn mentions(expr: &Expr, names: &[Text]) -> bool {
    if let ExprKind::Name(name) = &expr.kind {
        return name.module.is_none() && names.contains(&name.name);
    }
    let mut found = false;
    children(expr, &mut |child| found |= mentions(child, names));
    match &expr.kind {
        ExprKind::With(with) => {
            for part in &with.parts {
                let mut own: Vec<&Text> = part.index.vector.iter().map(|name| &name.name).collect();
                own.extend(part.index.scalars.iter().flatten().map(|name| &name.name));
                let rest: Vec<Text> = names.iter().filter(|name| !own.contains(name)).cloned().collect();
                statement_exprs(&part.body.stmts, &mut |child| found |= mentions(child, &rest));
                found |= part.values.iter().any(|value| mentions(value, &rest));
            }
        }
        ExprKind::Comprehension(comprehension) => {
            for partition in &comprehension.partitions {
                let own = index_names(&partition.index);
                let rest: Vec<Text> = names.iter().filter(|name| !own.contains(name)).cloned().collect();
                found |= mentions(&partition.body, &rest);
            }
        }
        _ => {}
    }
    found
}
