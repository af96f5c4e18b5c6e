//! Walks over syntax trees that several analyses share.

use ravel_syntax::ast::*;

/// Calls `f` on the direct subexpressions that are evaluated in the scope of `expr` itself: not on the bodies of
/// with-loop parts and comprehensions, but on their bounds.
pub(crate) fn children<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    match &expr.kind {
        ExprKind::Call(call) => call.args.iter().for_each(f),
        ExprKind::Binary { left, right, .. } | ExprKind::And { left, right } | ExprKind::Or { left, right } => {
            f(left);
            f(right);
        }
        ExprKind::Unary { operand, .. } => f(operand),
        ExprKind::Cond { cond, then, otherwise } => {
            f(cond);
            f(then);
            f(otherwise);
        }
        ExprKind::Select { array, selectors } => {
            f(array);
            selectors.iter().filter_map(selected).for_each(f);
        }
        ExprKind::Field { record, .. } => f(record),
        ExprKind::Array(elements) => elements.iter().for_each(f),
        ExprKind::Cast { value, .. } => f(value),
        ExprKind::Struct(literal) => match &literal.fields {
            StructFields::Positional(values) => values.iter().for_each(f),
            StructFields::Named(values) => values.iter().for_each(|(_, value)| f(value)),
        },
        ExprKind::With(with) => with_children(with, f),
        ExprKind::Comprehension(comprehension) => {
            for partition in &comprehension.partitions {
                partition.lower.iter().for_each(|(bound, _)| bound_child(bound, f));
                partition.upper.iter().for_each(|(_, bound)| bound_child(bound, f));
                partition.step.iter().for_each(&mut *f);
                partition.width.iter().for_each(&mut *f);
            }
        }
        ExprKind::Number(_)
        | ExprKind::Bool(_)
        | ExprKind::Char { .. }
        | ExprKind::String(_)
        | ExprKind::Name(_)
        | ExprKind::EmptyTyped(_)
        | ExprKind::Cover(_)
        | ExprKind::Error => {}
    }
}

/// The expression of a selector that is not a dot.
pub(crate) fn selected(selector: &Selector) -> Option<&Expr> {
    match selector {
        Selector::Expr(expr) => Some(expr),
        Selector::Dot(_) | Selector::Dots(_) => None,
    }
}

fn bound_child<'e>(bound: &'e Bound, f: &mut dyn FnMut(&'e Expr)) {
    if let Bound::Expr(expr) = bound {
        f(expr);
    }
}

pub(crate) fn with_children<'e>(with: &'e With, f: &mut dyn FnMut(&'e Expr)) {
    for part in &with.parts {
        bound_child(&part.lower, f);
        bound_child(&part.upper, f);
        part.step.iter().for_each(&mut *f);
        part.width.iter().for_each(&mut *f);
    }
    for operation in &with.operations {
        match &operation.kind {
            WithOperationKind::Genarray { shape, default } => {
                f(shape);
                default.iter().for_each(&mut *f);
            }
            WithOperationKind::Modarray { array } => f(array),
            WithOperationKind::Propagate { object } => f(object),
            WithOperationKind::Fold { function, neutral } => {
                function.args.iter().for_each(&mut *f);
                f(neutral);
            }
            WithOperationKind::FoldFix { function, neutral, stop } => {
                function.args.iter().for_each(&mut *f);
                f(neutral);
                f(stop);
            }
        }
    }
}

/// Calls `f` on the outermost expressions of statements, including those inside conditionals and loops.
pub(crate) fn statement_exprs<'e>(stmts: &'e [Stmt], f: &mut dyn FnMut(&'e Expr)) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Assign { targets, value, .. } => {
                targets.iter().for_each(|target| target_exprs(target, f));
                f(value);
            }
            StmtKind::IncDec { target, .. } => target_exprs(target, f),
            StmtKind::Call(call) => call.args.iter().for_each(&mut *f),
            StmtKind::With(with) => with_children(with, f),
            StmtKind::If { cond, then, otherwise } => {
                f(cond);
                statement_exprs(&then.stmts, f);
                otherwise.iter().for_each(|block| statement_exprs(&block.stmts, f));
            }
            StmtKind::While { cond, body } | StmtKind::DoWhile { body, cond } => {
                f(cond);
                statement_exprs(&body.stmts, f);
            }
            StmtKind::For { init, cond, step, body } => {
                statement_exprs(init, f);
                f(cond);
                statement_exprs(step, f);
                statement_exprs(&body.stmts, f);
            }
            StmtKind::Error => {}
        }
    }
}

fn target_exprs<'e>(target: &'e LValue, f: &mut dyn FnMut(&'e Expr)) {
    for access in &target.accesses {
        if let Access::Index { selectors, .. } = access {
            selectors.iter().filter_map(selected).for_each(&mut *f);
        }
    }
}

/// Calls `f` on every name in an expression that stands for a variable, whatever binds it.
pub(crate) fn each_name<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e QName)) {
    if let ExprKind::Name(name) = &expr.kind {
        f(name);
    }
    children(expr, &mut |child| each_name(child, f));
    match &expr.kind {
        ExprKind::With(with) => {
            for part in &with.parts {
                statement_exprs(&part.body.stmts, &mut |child| each_name(child, f));
                part.values.iter().for_each(|value| each_name(value, f));
            }
        }
        ExprKind::Comprehension(comprehension) => {
            comprehension.partitions.iter().for_each(|partition| each_name(&partition.body, f));
        }
        _ => {}
    }
}

/// Calls `f` on every call in an expression that is evaluated in its own scope.
pub(crate) fn each_call<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Call)) {
    if let ExprKind::Call(call) = &expr.kind {
        f(call);
    }
    children(expr, &mut |child| each_call(child, f));
}

/// Names that statements assign directly: not those inside with-loops, which are local there.
pub(crate) fn assigned<'e>(stmts: &'e [Stmt], f: &mut dyn FnMut(&'e QName)) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Assign { targets, .. } => targets.iter().for_each(|target| f(&target.name)),
            StmtKind::IncDec { target, .. } => f(&target.name),
            StmtKind::If { then, otherwise, .. } => {
                assigned(&then.stmts, f);
                otherwise.iter().for_each(|block| assigned(&block.stmts, f));
            }
            StmtKind::While { body, .. } | StmtKind::DoWhile { body, .. } => assigned(&body.stmts, f),
            StmtKind::For { init, step, body, .. } => {
                assigned(init, f);
                assigned(step, f);
                assigned(&body.stmts, f);
            }
            StmtKind::Call(_) | StmtKind::With(_) | StmtKind::Error => {}
        }
    }
}

/// Calls in call statements, which are not expressions.
pub(crate) fn call_statements<'e>(stmts: &'e [Stmt], f: &mut dyn FnMut(&'e Call)) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Call(call) => f(call),
            StmtKind::If { then, otherwise, .. } => {
                call_statements(&then.stmts, f);
                otherwise.iter().for_each(|block| call_statements(&block.stmts, f));
            }
            StmtKind::While { body, .. } | StmtKind::DoWhile { body, .. } => call_statements(&body.stmts, f),
            StmtKind::For { init, step, body, .. } => {
                call_statements(init, f);
                call_statements(step, f);
                call_statements(&body.stmts, f);
            }
            StmtKind::Assign { .. } | StmtKind::IncDec { .. } | StmtKind::With(_) | StmtKind::Error => {}
        }
    }
}
