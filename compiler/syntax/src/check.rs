//! Rejects what the grammar accepts too freely, and replaces it by error nodes.

use crate::ast::*;
use crate::errors::SyntaxError;
use crate::habits::one_by_one;
use crate::print::print_expr;
use ravel_diagnostics::Diagnostic;
use ravel_source::Span;

/// Checks a file; afterwards no [`ExprKind::Cover`] is left in it.
pub(crate) fn check_file(file: &mut File, reports: &mut Vec<Diagnostic>) {
    let mut check = Check { reports };
    for definition in &mut file.definitions {
        check.definition(definition);
    }
}

/// The same for statements that stand alone.
pub(crate) fn check_statements(stmts: &mut [Stmt], reports: &mut Vec<Diagnostic>) {
    Check { reports }.statements(stmts);
}

/// The same for an expression that stands alone.
pub(crate) fn check_expression(expr: &mut Expr, reports: &mut Vec<Diagnostic>) {
    Check { reports }.expr(expr);
}

/// The same for a single definition.
pub(crate) fn check_definition(definition: &mut Definition, reports: &mut Vec<Diagnostic>) {
    Check { reports }.definition(definition);
}

struct Check<'a> {
    reports: &'a mut Vec<Diagnostic>,
}

impl Check<'_> {
    fn report(&mut self, error: SyntaxError, span: Span) {
        self.reports.push(error.at(span));
    }

    fn definition(&mut self, definition: &mut Definition) {
        match definition {
            Definition::Function(function) => self.function(function),
            Definition::Object(object) => {
                if let Some(init) = &mut object.init {
                    self.expr(init);
                }
            }
            Definition::Load(_)
            | Definition::Offer(_)
            | Definition::Typedef(_)
            | Definition::ExternalTypedef(_)
            | Definition::Struct(_)
            | Definition::Family(_)
            | Definition::Pragma(_) => {}
        }
    }

    fn function(&mut self, function: &mut Function) {
        let name = || function.name.name.to_string();
        let Attributes { external, specialize, .. } = function.attributes;
        match &function.body {
            Some(body) if external || specialize => {
                let attribute = if external { "external" } else { "specialize" };
                self.reports.push(SyntaxError::ForbiddenBody { name: name(), attribute }.at(body.span));
            }
            _ => {}
        }
        if !external && (function.variadic_params || function.variadic_results) {
            self.reports.push(SyntaxError::VariadicDefinition { name: name() }.at(function.head_span));
        }
        for condition in &mut function.conditions {
            self.expr(condition);
        }
        if let Some(body) = &mut function.body {
            self.statements(&mut body.stmts);
            for value in body.ret.iter_mut().flat_map(|ret| &mut ret.values) {
                self.listed(value);
            }
        }
    }

    fn statements(&mut self, stmts: &mut [Stmt]) {
        for stmt in stmts {
            self.statement(stmt);
        }
    }

    fn statement(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Assign { targets, op, value } => {
                if let Some(op) = op
                    && targets.len() > 1
                {
                    self.report(SyntaxError::ManyTargets { operator: op.name.to_string() }, op.span);
                }
                if let ExprKind::Cover(Cover::Tuple(values)) = &value.kind
                    && op.is_none()
                    && targets.iter().all(|target| target.accesses.is_empty())
                {
                    let names: Vec<&str> = targets.iter().map(|target| &*target.name.name).collect();
                    let values: Vec<String> = values.iter().map(print_expr).collect();
                    if let Some(text) = one_by_one(&names, &values) {
                        self.reports.push(
                            SyntaxError::MisplacedTuple { nested: false }
                                .at(value.span)
                                .with_help(format!("`{text}`"))
                                .with_safe_edit(format!("`{text}`"), stmt.span, text),
                        );
                        value.kind = ExprKind::Error;
                    }
                }
                for target in targets {
                    self.target(target);
                }
                self.expr(value);
            }
            StmtKind::IncDec { target, .. } => self.target(target),
            StmtKind::Call(call) => self.exprs(&mut call.args),
            StmtKind::With(with) => self.with_loop(with),
            StmtKind::If { cond, then, otherwise } => {
                self.expr(cond);
                self.statements(&mut then.stmts);
                if let Some(otherwise) = otherwise {
                    self.statements(&mut otherwise.stmts);
                }
            }
            StmtKind::While { cond, body } | StmtKind::DoWhile { body, cond } => {
                self.expr(cond);
                self.statements(&mut body.stmts);
            }
            StmtKind::For { init, cond, step, body } => {
                self.statements(init);
                self.expr(cond);
                self.statements(step);
                self.statements(&mut body.stmts);
            }
            StmtKind::Error => {}
        }
    }

    fn target(&mut self, target: &mut LValue) {
        for access in &mut target.accesses {
            match access {
                Access::Index { selectors, .. } => self.selectors(selectors),
                Access::Field(_) => {}
            }
        }
    }

    fn exprs(&mut self, exprs: &mut [Expr]) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    /// One value of a list that is itself allowed here, so that a list inside it is a nested one.
    fn listed(&mut self, expr: &mut Expr) {
        if let ExprKind::Cover(Cover::Tuple(_)) = expr.kind {
            self.report(SyntaxError::MisplacedTuple { nested: true }, expr.span);
            expr.kind = ExprKind::Error;
        }
        self.expr(expr);
    }

    fn selectors(&mut self, selectors: &mut [Selector]) {
        let mut dots = 0;
        for selector in selectors {
            match selector {
                Selector::Expr(expr) => self.expr(expr),
                Selector::Dot(_) => {}
                Selector::Dots(span) => {
                    dots += 1;
                    if dots == 2 {
                        self.report(SyntaxError::RepeatedDots, *span);
                    }
                }
            }
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Cover(cover) => {
                let error = match cover {
                    Cover::Tuple(_) => SyntaxError::MisplacedTuple { nested: false },
                    Cover::Dotted(_) | Cover::Foreign => SyntaxError::MisplacedDots,
                };
                self.report(error, expr.span);
                expr.kind = ExprKind::Error;
            }
            ExprKind::Number(number) => {
                if is_smallest(number) {
                    self.report(SyntaxError::SmallestWithoutMinus { text: number.text.to_string() }, expr.span);
                }
            }
            ExprKind::Bool(_)
            | ExprKind::Char { .. }
            | ExprKind::String(_)
            | ExprKind::Name(_)
            | ExprKind::EmptyTyped(_)
            | ExprKind::Error => {}
            ExprKind::Call(call) => self.exprs(&mut call.args),
            ExprKind::Binary { left, right, .. } | ExprKind::And { left, right } | ExprKind::Or { left, right } => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::Unary { op, operand } => match &operand.kind {
                ExprKind::Number(number) if matches!(&*op.name, "--" | "++") => {
                    let error =
                        SyntaxError::StepOfNumber { operator: op.name.to_string(), number: number.text.to_string() };
                    self.report(error, expr.span);
                }
                ExprKind::Number(number) if &*op.name == "-" && is_smallest(number) => {}
                _ => self.expr(operand),
            },
            ExprKind::Cond { cond, then, otherwise } => {
                self.expr(cond);
                self.expr(then);
                self.expr(otherwise);
            }
            ExprKind::Select { array, selectors } => {
                self.expr(array);
                self.selectors(selectors);
            }
            ExprKind::Field { record, .. } => self.expr(record),
            ExprKind::Array(elements) => self.exprs(elements),
            ExprKind::Cast { value, .. } => self.expr(value),
            ExprKind::Struct(literal) => match &mut literal.fields {
                StructFields::Positional(values) => self.exprs(values),
                StructFields::Named(fields) => fields.iter_mut().for_each(|(_, value)| self.expr(value)),
            },
            ExprKind::With(with) => self.with_loop(with),
            ExprKind::Comprehension(comprehension) => {
                for partition in &mut comprehension.partitions {
                    self.partition(partition);
                }
            }
        }
    }

    fn bound(&mut self, bound: &mut Bound) {
        if let Bound::Expr(expr) = bound {
            self.expr(expr);
        }
    }

    fn partition(&mut self, partition: &mut TensorPartition) {
        let index = &partition.index;
        if let TensorIndexKind::List(items) = &index.kind {
            let mut dots = items.iter().filter_map(|item| match item {
                IndexItem::Dots(span) => Some(*span),
                IndexItem::Name(_) | IndexItem::Dot(_) => None,
            });
            if let Some(second) = dots.nth(1) {
                self.reports.push(SyntaxError::RepeatedDots.at(second));
            }
        }
        if let Some((Bound::Expr(lower), _)) = &mut partition.lower
            && matches!(lower.kind, ExprKind::Cover(Cover::Foreign))
        {
            let error = SyntaxError::ForeignConstraint { index: index_text(index), index_span: index.span };
            self.reports.push(error.at(lower.span));
            lower.kind = ExprKind::Error;
        }
        self.expr(&mut partition.body);
        if let Some((lower, _)) = &mut partition.lower {
            self.bound(lower);
        }
        if let Some((_, upper)) = &mut partition.upper {
            self.bound(upper);
        }
        for expr in partition.step.iter_mut().chain(&mut partition.width) {
            self.expr(expr);
        }
    }

    fn with_loop(&mut self, with: &mut With) {
        for part in &mut with.parts {
            self.bound(&mut part.lower);
            self.bound(&mut part.upper);
            for expr in part.step.iter_mut().chain(&mut part.width) {
                self.expr(expr);
            }
            self.statements(&mut part.body.stmts);
            for value in &mut part.values {
                self.listed(value);
            }
        }
        for operation in &mut with.operations {
            match &mut operation.kind {
                WithOperationKind::Genarray { shape, default } => {
                    self.expr(shape);
                    if let Some(default) = default {
                        self.expr(default);
                    }
                }
                WithOperationKind::Modarray { array } => self.expr(array),
                WithOperationKind::Propagate { object } => self.expr(object),
                WithOperationKind::Fold { function, neutral } => {
                    self.exprs(&mut function.args);
                    self.expr(neutral);
                }
                WithOperationKind::FoldFix { function, neutral, stop } => {
                    self.exprs(&mut function.args);
                    self.expr(neutral);
                    self.expr(stop);
                }
            }
        }
    }
}

/// Whether this is the decimal magnitude of the smallest value of its type, which needs a minus in front.
fn is_smallest(number: &Number) -> bool {
    let smallest = match number.value {
        NumberValue::Byte(value) => value == i8::MIN,
        NumberValue::Short(value) => value == i16::MIN,
        NumberValue::Int(value) => value == i32::MIN,
        NumberValue::Long(value) | NumberValue::LongLong(value) => value == i64::MIN,
        _ => false,
    };
    smallest && !number.text.starts_with('0')
}

/// A comprehension's index as its constraint has to repeat it.
fn index_text(index: &TensorIndex) -> String {
    match &index.kind {
        TensorIndexKind::Vector(name) => name.name.to_string(),
        TensorIndexKind::List(items) => {
            let names: Vec<&str> = items
                .iter()
                .filter_map(|item| match item {
                    IndexItem::Name(name) => Some(&*name.name),
                    IndexItem::Dot(_) | IndexItem::Dots(_) => None,
                })
                .collect();
            format!("[{}]", names.join(","))
        }
    }
}
