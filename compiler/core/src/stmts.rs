//! Statements: assignments of every form, calls, conditionals and loops.

use crate::calls::Counted;
use crate::comprehension::flat_assign;
use crate::diagnostics as report;
use crate::ir::{Block, Expr, ExprKind, Stmt, Target};
use crate::make;
use crate::overloads::{Syntax, Wanted, syntax_name};
use crate::scope::Body;
use ravel_source::Span;
use ravel_syntax::ast::{self, Access, LValue, QName, StmtKind, WithOperationKind};

/// An access of an assignment target whose index has been evaluated.
enum Step {
    Index(Expr),
    Field(ast::Ident),
}

impl Body<'_, '_> {
    pub(crate) fn stmts(&mut self, stmts: &[ast::Stmt]) -> Block {
        let mut block = Vec::new();
        for stmt in stmts {
            self.stmt(stmt, &mut block);
        }
        block
    }

    fn stmt(&mut self, stmt: &ast::Stmt, out: &mut Block) {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign { targets, op, value } => {
                let before = self.core.reports.len();
                match (targets.as_slice(), op) {
                    ([target], Some(op)) => self.update(target, op, Some(value), span, out),
                    ([target], None) => self.assign_one(target, value, span, out),
                    _ => self.assign_several(targets, value, span, out),
                }
                if let ([target], Some(found)) = (targets.as_slice(), self.core.reports.get_mut(before)) {
                    // The place of a statement in a block ends behind its `;`, in the head of a loop it has none.
                    let end = if self.core.map.snippet(span).ends_with(';') { ";" } else { "" };
                    report::with_assigned_axes(found, target, (op.as_ref(), value), (span, end));
                }
            }
            StmtKind::IncDec { target, op } => self.update(target, op, None, span, out),
            StmtKind::Call(call) => {
                let counted = self.call(call, Wanted::Effect);
                let dropped = vec![Target::Discard; counted.results];
                let targets = dropped.into_iter().chain(counted.refs).collect();
                out.push(Stmt::Assign { targets, value: counted.value, span });
            }
            StmtKind::With(with) => {
                let value = self.with_loop(with);
                // Nobody takes the results, but an object has its new state.
                let targets = with.operations.iter().map(|operation| match &operation.kind {
                    WithOperationKind::Propagate { object: ast::Expr { kind: ast::ExprKind::Name(name), .. } }
                        if self.is_local(name) =>
                    {
                        self.target(name)
                    }
                    _ => Target::Discard,
                });
                let targets = targets.collect();
                out.push(Stmt::Assign { targets, value, span });
            }
            StmtKind::If { cond, then, otherwise } => {
                let cond = self.expr(cond);
                let before = self.flow.clone();
                let then = self.stmts(&then.stmts);
                let after_then = std::mem::replace(&mut self.flow, before);
                let els = otherwise.as_ref().map_or(Vec::new(), |block| self.stmts(&block.stmts));
                self.flow = std::mem::take(&mut self.flow).join(&after_then);
                out.push(Stmt::If { cond, then, els, span });
            }
            StmtKind::While { cond, body } => self.while_loop(cond, &body.stmts, &[], span, out),
            StmtKind::For { init, cond, step, body } => {
                for stmt in init {
                    self.stmt(stmt, out);
                }
                self.while_loop(cond, &body.stmts, step, span, out);
            }
            StmtKind::DoWhile { body, cond } => {
                let body = self.stmts(&body.stmts);
                let cond = self.expr(cond);
                out.push(Stmt::While { cond, body, do_first: true, span });
            }
            StmtKind::Error => self.damaged = true,
        }
    }

    fn while_loop(&mut self, cond: &ast::Expr, body: &[ast::Stmt], step: &[ast::Stmt], span: Span, out: &mut Block) {
        let cond = self.expr(cond);
        let before = self.flow.clone();
        let mut body = self.stmts(body);
        for stmt in step {
            self.stmt(stmt, &mut body);
        }
        // The body may not have run at all.
        self.flow = std::mem::take(&mut self.flow).join(&before);
        out.push(Stmt::While { cond, body, do_first: false, span });
    }

    /// `target = value`
    fn assign_one(&mut self, target: &LValue, value: &ast::Expr, span: Span, out: &mut Block) {
        if !target.accesses.is_empty() {
            let steps = self.steps(target, out);
            let value = self.expr(value);
            return self.store(target, &steps, value, span, out);
        }
        let counted = match &value.kind {
            ast::ExprKind::Call(call) => self.call(call, Wanted::Count(1)),
            _ => Counted::plain(self.expr(value), 1),
        };
        self.bind_results(std::slice::from_ref(target), counted, value, span, out);
    }

    /// `a, b = value`
    fn assign_several(&mut self, targets: &[LValue], value: &ast::Expr, span: Span, out: &mut Block) {
        let all = targets.first().zip(targets.last()).map_or(span, |(first, last)| first.span.to(last.span));
        let counted = self.several(value, targets.len()).unwrap_or_else(|| {
            let values = match &value.kind {
                ast::ExprKind::With(with) => with.operations.len(),
                _ => 1,
            };
            self.core.reports.push(report::target_count(targets.len(), values, all));
            Counted::plain(make::error(value.span), targets.len())
        });
        self.bind_results(targets, counted, value, span, out);
    }

    /// Assigns the results of `counted`, those for targets with accesses through slots.
    fn bind_results(
        &mut self,
        targets: &[LValue],
        mut counted: Counted,
        value: &ast::Expr,
        span: Span,
        out: &mut Block,
    ) {
        let mut places = Vec::new();
        let mut stores = Vec::new();
        for (i, target) in targets.iter().enumerate() {
            let variadic = counted.variadic_from.is_some_and(|from| i >= from);
            if variadic && (!target.accesses.is_empty() || !self.declared.contains_key(&target.name.name)) {
                let function = match &value.kind {
                    ast::ExprKind::Call(call) => call.callee.name.clone(),
                    _ => "the call".into(),
                };
                let diagnostic = report::undeclared_variadic(&target.name.name, &function, target.span);
                self.core.reports.push(diagnostic);
                counted.value = make::error(value.span);
            }
            if target.accesses.is_empty() {
                places.push(self.stored(&target.name, span));
            } else {
                let slot = self.temp("part", target.span);
                places.push(Target::Local(slot));
                stores.push((target, slot));
            }
        }
        places.extend(counted.refs);
        self.note_computed(&places, &counted.value);
        flat_assign(places, counted.value, span, out);
        for (target, slot) in stores {
            let steps = self.steps(target, out);
            self.store(target, &steps, make::local(slot, target.span), span, out);
        }
    }

    /// `target op= value`, or `target op` without a value.
    fn update(&mut self, target: &LValue, op: &QName, value: Option<&ast::Expr>, span: Span, out: &mut Block) {
        let steps = self.steps(target, out);
        let mut args = vec![self.old_value(target, &steps)];
        args.extend(value.map(|value| self.expr(value)));
        let new = self.apply(op, args, Syntax::Call, span);
        self.store(target, &steps, new, span, out);
    }

    /// The accesses of a target, indices evaluated once into slots.
    fn steps(&mut self, target: &LValue, out: &mut Block) -> Vec<Step> {
        let mut steps = Vec::new();
        for access in &target.accesses {
            steps.push(match access {
                Access::Field(name) => {
                    self.core.note_field(self.module, name, target.span, true);
                    Step::Field(name.clone())
                }
                Access::Index { selectors, span } => {
                    let index = self.index(selectors, *span);
                    Step::Index(self.reusable(index, "at", out))
                }
            });
        }
        steps
    }

    /// The present value of a target.
    fn old_value(&mut self, target: &LValue, steps: &[Step]) -> Expr {
        let mut value = make::expr(self.read(&target.name), target.name.span);
        for step in steps {
            value = self.step_into(value, step, target.span);
        }
        value
    }

    fn step_into(&mut self, value: Expr, step: &Step, span: Span) -> Expr {
        match step {
            Step::Index(index) => self.sel(index.clone(), value, span),
            Step::Field(field) => {
                make::expr(ExprKind::Field { value: Box::new(value), field: field.name.clone() }, span)
            }
        }
    }

    /// Assigns `new` to the target: from the inside out, every array or record around it is replaced.
    fn store(&mut self, target: &LValue, steps: &[Step], new: Expr, span: Span, out: &mut Block) {
        let value = match steps {
            [] => new,
            _ => {
                let base = make::expr(self.read(&target.name), target.name.span);
                self.replaced(base, steps, new, target.span)
            }
        };
        let place = self.stored(&target.name, span);
        flat_assign(vec![place], value, span, out);
    }

    /// The place that a statement assigns.
    fn stored(&mut self, name: &QName, stmt: Span) -> Target {
        let place = self.target(name);
        if let Target::Local(slot) = place {
            self.core.note_store(self.module, name.span, stmt, slot);
        }
        place
    }

    fn replaced(&mut self, base: Expr, steps: &[Step], new: Expr, span: Span) -> Expr {
        let [step, inner @ ..] = steps else { return new };
        let new = match inner {
            [] => new,
            _ => {
                let old = self.step_into(base.clone(), step, span);
                self.replaced(old, inner, new, span)
            }
        };
        match step {
            Step::Index(index) => {
                let args = vec![base, index.clone(), new];
                self.apply(&syntax_name("modarray", span), args, Syntax::Update, span)
            }
            Step::Field(field) => {
                let (value, field) = (Box::new(base), field.name.clone());
                make::expr(ExprKind::WithField { value, field, new: Box::new(new) }, span)
            }
        }
    }
}
