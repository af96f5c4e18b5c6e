//! Expressions.

use crate::diagnostics as report;
use crate::ir::{Expr, ExprKind, Stmt, Target};
use crate::make;
use crate::overloads::{Syntax, Wanted};
use crate::scope::Body;
use ravel_source::Span;
use ravel_syntax::ast::{self, QName};
use ravel_types::{Basic, Scalar};

/// The identity of a node of the tree.
pub(crate) fn address(expr: &ast::Expr) -> usize {
    std::ptr::from_ref(expr).addr()
}

impl Body<'_, '_> {
    /// An expression in a place that takes one value.
    pub(crate) fn expr(&mut self, expr: &ast::Expr) -> Expr {
        let span = expr.span;
        if let Some(slot) = self.ahead.get(&address(expr)) {
            return make::local(*slot, span);
        }
        match &expr.kind {
            ast::ExprKind::Number(number) => {
                let (ty, value) = crate::literals::number(number.value);
                make::expr(ExprKind::Const { ty, value }, span)
            }
            ast::ExprKind::Bool(value) => make::bool(*value, span),
            ast::ExprKind::Char { value, .. } => {
                make::expr(ExprKind::Const { ty: Basic::Char, value: Scalar::Char(*value) }, span)
            }
            ast::ExprKind::String(bytes) => self.string(bytes, span),
            ast::ExprKind::Name(name) => make::expr(self.read(name), span),
            ast::ExprKind::Call(call) => {
                let counted = self.call(call, Wanted::Count(1));
                self.single(counted, span)
            }
            ast::ExprKind::Binary { op, left, right } => {
                let args = vec![self.expr(left), self.expr(right)];
                let before = self.core.reports.len();
                let value = self.apply(op, args, Syntax::Call, span);
                if let Some(report) = self.core.reports.get_mut(before) {
                    report::with_operator_way(report, &op.name, (left, right), span);
                }
                value
            }
            ast::ExprKind::Unary { op, operand } => {
                let args = vec![self.expr(operand)];
                self.apply(op, args, Syntax::Call, span)
            }
            ast::ExprKind::And { left, right } => {
                let cond = self.expr(left);
                let then = self.branch(right);
                self.conditional(cond, then, make::bool(false, span), span)
            }
            ast::ExprKind::Or { left, right } => {
                let cond = self.expr(left);
                let els = self.branch(right);
                self.conditional(cond, make::bool(true, span), els, span)
            }
            ast::ExprKind::Cond { cond, then, otherwise } => {
                let cond = self.expr(cond);
                let then = self.branch(then);
                let els = self.branch(otherwise);
                self.conditional(cond, then, els, span)
            }
            ast::ExprKind::Select { array, selectors } => self.select(array, selectors, span),
            ast::ExprKind::Field { record, field } => {
                let value = Box::new(self.expr(record));
                self.core.note_field(self.module, field, span, false);
                make::expr(ExprKind::Field { value, field: field.name.clone() }, span)
            }
            ast::ExprKind::Array(elements) => self.array(expr, elements),
            ast::ExprKind::EmptyTyped(ty) => self.empty(ty, span),
            ast::ExprKind::Cast { ty, value } => self.cast(ty, value, span),
            ast::ExprKind::Struct(literal) => self.record(literal, span),
            ast::ExprKind::With(with) => self.with_value(with),
            ast::ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
            ast::ExprKind::Cover(_) | ast::ExprKind::Error => make::error(span),
        }
    }

    fn conditional(&mut self, cond: Expr, then: Expr, els: Expr, span: Span) -> Expr {
        make::expr(ExprKind::Cond { cond: Box::new(cond), then: Box::new(then), els: Box::new(els) }, span)
    }

    /// An operand that is not always evaluated: what it assigns may have no value afterwards.
    fn branch(&mut self, expr: &ast::Expr) -> Expr {
        let before = self.flow.clone();
        let value = self.expr(expr);
        self.flow = std::mem::take(&mut self.flow).join(&before);
        value
    }

    /// A call of `name` by syntax: an operator, a selection.
    pub(crate) fn apply(&mut self, name: &QName, args: Vec<Expr>, syntax: Syntax, span: Span) -> Expr {
        match self.core.callee(self.module, name, args.len(), Wanted::Count(1), syntax) {
            Some(callee) => {
                if syntax == Syntax::Call {
                    self.core.note_call(self.module, name, span, callee.set);
                }
                make::expr(ExprKind::Call { set: callee.set, args }, span)
            }
            None => make::error(span),
        }
    }

    /// An expression that may be used twice: evaluated into a slot first, if that matters.
    pub(crate) fn reusable(&mut self, value: Expr, name: &str, prelude: &mut Vec<Stmt>) -> Expr {
        if make::is_simple(&value) {
            return value;
        }
        let span = value.span;
        let slot = self.temp(name, span);
        prelude.push(make::assign(slot, value));
        make::local(slot, span)
    }

    /// The one value of a call; variables that the call changes are assigned on the way.
    fn single(&mut self, counted: crate::calls::Counted, span: Span) -> Expr {
        if counted.refs.is_empty() {
            return counted.value;
        }
        let slot = self.temp("value", span);
        let targets = std::iter::once(Target::Local(slot)).chain(counted.refs).collect();
        let call = Stmt::Assign { targets, value: counted.value, span };
        make::after(vec![call], make::local(slot, span))
    }
}
