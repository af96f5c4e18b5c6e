//! With-loops.

use crate::comprehension::flat_assign;
use crate::diagnostics as report;
use crate::ir::{Bound, Expr, ExprKind, FoldFun, LocalId, Part, Stmt, Target, With, WithOp};
use crate::make;
use crate::overloads::{Syntax, Wanted};
use crate::scope::Body;
use ravel_source::Span;
use ravel_syntax::ast::{self, Relation, Text, WithOperationKind};

impl Body<'_, '_> {
    /// A with-loop in a place that takes one value.
    pub(crate) fn with_value(&mut self, with: &ast::With) -> Expr {
        if with.operations.len() != 1 {
            self.core.reports.push(report::several_operations(with.operations.len(), with.span));
        }
        let value = self.with_loop(with);
        if with.operations.len() == 1 { value } else { make::error(with.span) }
    }

    /// The loop with as many results as it has operations.
    pub(crate) fn with_loop(&mut self, with: &ast::With) -> Expr {
        let ops = with.operations.iter().map(|operation| self.operation(operation)).collect();
        let parts = with.parts.iter().map(|part| self.part(part, &with.operations)).collect();
        let lowered = With { parts, ops, comprehension: false, span: with.span };
        make::expr(ExprKind::With(Box::new(lowered)), with.span)
    }

    fn operation(&mut self, operation: &ast::WithOperation) -> WithOp {
        match &operation.kind {
            WithOperationKind::Genarray { shape, default } => {
                let shape = self.expr(shape);
                let default = default.as_ref().map(|default| self.expr(default));
                WithOp::Genarray { shape, default }
            }
            WithOperationKind::Modarray { array } => WithOp::Modarray { array: self.expr(array) },
            WithOperationKind::Propagate { object } => {
                let slot = match &object.kind {
                    ast::ExprKind::Name(name) => self.slot_of(name),
                    _ => None,
                };
                WithOp::Propagate { object: self.expr(object), slot }
            }
            WithOperationKind::Fold { function, neutral } => {
                let fun = self.fold_function(function);
                let neutral = self.expr(neutral);
                self.fold(fun, neutral, None, operation.span)
            }
            WithOperationKind::FoldFix { function, neutral, stop } => {
                let fun = self.fold_function(function);
                let neutral = self.expr(neutral);
                let stop = self.expr(stop);
                self.fold(fun, neutral, Some(stop), operation.span)
            }
        }
    }

    /// After an error in the function's name, an operation with an error for its value.
    fn fold(&mut self, fun: Option<FoldFun>, neutral: Expr, stop: Option<Expr>, span: Span) -> WithOp {
        match fun {
            Some(fun) => WithOp::Fold { fun, neutral, stop },
            None => WithOp::Modarray { array: make::error(span) },
        }
    }

    fn fold_function(&mut self, function: &ast::FoldFunction) -> Option<FoldFun> {
        let args: Vec<Expr> = function.args.iter().map(|arg| self.expr(arg)).collect();
        let name = &function.name;
        if name.module.is_none() && ravel_types::prim_by_name(&name.name).is_some() {
            self.core.reports.push(report::fold_primitive(&name.name, name.span));
            return None;
        }
        if self.core.is_form(self.module, name) {
            self.core.reports.push(report::fold_form(&name.name, name.span));
            return None;
        }
        let callee = self.core.callee(self.module, name, args.len() + 2, Wanted::Count(1), Syntax::Call)?;
        if !callee.returned.is_empty() {
            self.core.reports.push(report::reference_argument(&name.name, name.span));
        }
        self.core.note_call(self.module, name, name.span, callee.set);
        Some(FoldFun { set: callee.set, args, span: name.span })
    }

    fn part(&mut self, part: &ast::WithPart, operations: &[ast::WithOperation]) -> Part {
        let lower = self.part_bound(&part.lower);
        let upper = self.part_bound(&part.upper);
        let step = part.step.as_ref().map(|step| self.expr(step));
        let width = part.width.as_ref().map(|width| self.expr(width));
        let outside = self.flow.clone();
        let assigned = self.assigned_names(&part.body.stmts);
        self.enter_part(&assigned);
        let index = part.index.vector.as_ref().map(|name| self.bind(&name.name, name.span));
        let scalars = part.index.scalars.as_ref();
        let scalars = scalars.map(|names| names.iter().map(|name| self.bind(&name.name, name.span)).collect());
        let mut statements = self.stmts(&part.body.stmts);
        let values = self.part_values(part, operations, &mut statements);
        let mut body = self.leave_part();
        body.append(&mut statements);
        self.flow = outside;
        Part {
            lower,
            lower_inclusive: part.lower_relation == Relation::LessEqual,
            upper,
            upper_inclusive: part.upper_relation == Relation::LessEqual,
            step,
            width,
            index,
            scalars,
            body,
            values,
            span: part.span,
        }
    }

    fn part_bound(&mut self, bound: &ast::Bound) -> Bound {
        match bound {
            ast::Bound::Dot(_) => Bound::Dot,
            ast::Bound::Expr(expr) => Bound::Expr(self.expr(expr)),
        }
    }

    fn part_values(
        &mut self,
        part: &ast::WithPart,
        operations: &[ast::WithOperation],
        body: &mut Vec<Stmt>,
    ) -> Vec<Expr> {
        let results = operations.len();
        if part.values.len() == results {
            return part.values.iter().map(|value| self.expr(value)).collect();
        }
        match part.values.as_slice() {
            // Where nothing but objects is handed on their names say it.
            [] if operations.iter().all(|operation| matches!(operation.kind, WithOperationKind::Propagate { .. })) => {
                let mut values = Vec::new();
                for operation in operations {
                    if let WithOperationKind::Propagate { object } = &operation.kind {
                        values.push(self.expr(object));
                    }
                }
                values
            }
            [value] if results > 1 => {
                let Some(counted) = self.several(value, results) else {
                    self.core.reports.push(report::value_count(1, results, value.span));
                    return vec![make::error(value.span); results];
                };
                let slots: Vec<LocalId> = (0..results).map(|_| self.temp("cell", value.span)).collect();
                let targets = slots.iter().map(|slot| Target::Local(*slot)).chain(counted.refs).collect();
                flat_assign(targets, counted.value, value.span, body);
                slots.into_iter().map(|slot| make::local(slot, value.span)).collect()
            }
            values => {
                let at = match values {
                    [] => part.span,
                    [first, .., last] => first.span.to(last.span),
                    [one] => one.span,
                };
                self.core.reports.push(report::value_count(values.len(), operations.len(), at));
                vec![make::error(at); results]
            }
        }
    }

    /// Names that the statements of a part assign, directly or through reference parameters.
    fn assigned_names(&self, stmts: &[ast::Stmt]) -> Vec<Text> {
        let mut names = Vec::new();
        crate::visit::assigned(stmts, &mut |name| names.push(name.name.clone()));
        let mut call = |call: &ast::Call| {
            for i in self.core.rebinding_positions(self.module, &call.callee, call.args.len()) {
                if let ast::ExprKind::Name(name) = &call.args[i].kind
                    && name.module.is_none()
                {
                    names.push(name.name.clone());
                }
            }
        };
        crate::visit::call_statements(stmts, &mut call);
        crate::visit::statement_exprs(stmts, &mut |expr| crate::visit::each_call(expr, &mut call));
        names
    }
}
