//! Expressions, with as few parentheses as the precedence levels allow.

use super::Printer;
use crate::ast::*;
use crate::literal::quote_string;

/// Precedence, loosest first; the order of the grammar's rules.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Cond,
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equality,
    Relational,
    Concat,
    Shift,
    Sum,
    Product,
    User,
    Unary,
    Postfix,
}

impl Level {
    /// The level of both operands of an operator, the right one being one tighter.
    fn of_operator(symbol: &str) -> Level {
        match symbol {
            "|" => Level::BitOr,
            "^" => Level::BitXor,
            "&" => Level::BitAnd,
            "==" | "!=" => Level::Equality,
            "<" | "<=" | ">" | ">=" => Level::Relational,
            "++" => Level::Concat,
            "<<" | ">>" => Level::Shift,
            "+" | "-" => Level::Sum,
            "*" | "/" | "%" => Level::Product,
            _ => Level::User,
        }
    }

    fn tighter(self) -> Level {
        match self {
            Level::Cond => Level::Or,
            Level::Or => Level::And,
            Level::And => Level::BitOr,
            Level::BitOr => Level::BitXor,
            Level::BitXor => Level::BitAnd,
            Level::BitAnd => Level::Equality,
            Level::Equality => Level::Relational,
            Level::Relational => Level::Concat,
            Level::Concat => Level::Shift,
            Level::Shift => Level::Sum,
            Level::Sum => Level::Product,
            Level::Product => Level::User,
            Level::User => Level::Unary,
            Level::Unary | Level::Postfix => Level::Postfix,
        }
    }
}

fn level(expr: &Expr) -> Level {
    match &expr.kind {
        // A with-loop may stand in any operand place, but nobody could read it there.
        ExprKind::Cond { .. } | ExprKind::With(_) => Level::Cond,
        ExprKind::Or { .. } => Level::Or,
        ExprKind::And { .. } => Level::And,
        ExprKind::Binary { op, .. } => Level::of_operator(&op.name),
        ExprKind::Unary { .. } | ExprKind::Cast { .. } => Level::Unary,
        // `-(a, b)[i]` would apply the prefix to the selection.
        ExprKind::Call(call) if is_prefix_symbol(&call.callee.name) => Level::Unary,
        _ => Level::Postfix,
    }
}

/// Whether the operator's name in front of `(` reads as a prefix operator.
fn is_prefix_symbol(name: &str) -> bool {
    matches!(name, "+" | "-" | "!" | "~" | "++" | "--") || is_symbol(name) && Level::of_operator(name) == Level::User
}

fn is_symbol(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

impl Printer {
    pub(super) fn expr(&mut self, expr: &Expr) {
        self.operand(expr, Level::Cond, false);
    }

    pub(super) fn exprs(&mut self, exprs: &[Expr]) {
        self.list(exprs, Printer::expr);
    }

    /// An expression where one of at least the level `least` is wanted. With `no_bar` its top level must not show a
    /// `|`, as it would start the constraint of a comprehension.
    fn operand(&mut self, expr: &Expr, least: Level, no_bar: bool) {
        let level = level(expr);
        if level < least || no_bar && level == Level::BitOr {
            self.put("(");
            self.bare(expr, false);
            self.put(")");
        } else {
            self.bare(expr, no_bar);
        }
    }

    fn bare(&mut self, expr: &Expr, no_bar: bool) {
        match &expr.kind {
            ExprKind::Number(number) => self.put(&number.text),
            ExprKind::Bool(value) => self.put(if *value { "true" } else { "false" }),
            ExprKind::Char { text, .. } => self.put(text),
            ExprKind::String(bytes) => self.put(&quote_string(bytes)),
            ExprKind::Name(name) => self.qname(name),
            ExprKind::Call(call) => self.call(call),
            ExprKind::Binary { op, left, right } => {
                let level = Level::of_operator(&op.name);
                self.infix(left, level, op, right, no_bar);
            }
            ExprKind::Unary { op, operand } => {
                self.qname(op);
                let from = self.out.len();
                self.operand(operand, Level::Unary, false);
                // `- -x` must not become `--x`.
                if self.out[from..].starts_with(|c: char| "+-!~*/%<>=&|^".contains(c)) || op.module.is_some() {
                    self.out.insert(from, ' ');
                }
            }
            ExprKind::And { left, right } => self.logical(left, Level::And, " && ", right, no_bar),
            ExprKind::Or { left, right } => self.logical(left, Level::Or, " || ", right, no_bar),
            ExprKind::Cond { cond, then, otherwise } => {
                self.operand(cond, Level::Or, no_bar);
                self.put(" ? ");
                self.operand(then, Level::Cond, false);
                self.put(" : ");
                self.operand(otherwise, Level::Cond, no_bar);
            }
            ExprKind::Select { array, selectors } => {
                self.operand(array, Level::Postfix, false);
                self.selectors(selectors);
            }
            ExprKind::Field { record, field } => {
                if let ExprKind::Number(number) = &record.kind {
                    // `1.x` would be one token.
                    self.put(&format!("({})", number.text));
                } else {
                    self.operand(record, Level::Postfix, false);
                }
                self.put(".");
                self.ident(field);
            }
            ExprKind::Array(elements) => {
                self.put("[");
                self.exprs(elements);
                self.put("]");
            }
            ExprKind::EmptyTyped(ty) => {
                self.put("[:");
                self.ty(ty);
                self.put("]");
            }
            ExprKind::Cast { ty, value } => {
                self.put("(");
                self.ty(ty);
                self.put(") ");
                self.operand(value, Level::Unary, false);
            }
            ExprKind::Struct(literal) => self.struct_literal(literal),
            ExprKind::With(with) => self.with_loop(with),
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
            ExprKind::Cover(_) | ExprKind::Error => self.put("<error>"),
        }
    }

    fn infix(&mut self, left: &Expr, level: Level, op: &QName, right: &Expr, no_bar: bool) {
        self.operand(left, level, no_bar);
        self.put(" ");
        self.qname(op);
        self.put(" ");
        self.operand(right, level.tighter(), no_bar);
    }

    fn logical(&mut self, left: &Expr, level: Level, symbol: &str, right: &Expr, no_bar: bool) {
        self.operand(left, level, no_bar);
        self.put(symbol);
        self.operand(right, level.tighter(), no_bar);
    }

    pub(super) fn call(&mut self, call: &Call) {
        self.qname(&call.callee);
        self.put("(");
        self.exprs(&call.args);
        self.put(")");
    }

    pub(super) fn selectors(&mut self, selectors: &[Selector]) {
        self.put("[");
        self.list(selectors, |printer, selector| match selector {
            Selector::Expr(expr) => printer.expr(expr),
            Selector::Dot(_) => printer.put("."),
            Selector::Dots(_) => printer.put("..."),
        });
        self.put("]");
    }

    fn struct_literal(&mut self, literal: &StructLit) {
        self.qname(&literal.name);
        self.put("{ ");
        match &literal.fields {
            StructFields::Positional(values) => self.exprs(values),
            StructFields::Named(fields) => self.list(fields, |printer, (name, value)| {
                printer.put(".");
                printer.ident(name);
                printer.put(" = ");
                printer.expr(value);
            }),
        }
        self.put(" }");
    }

    fn comprehension(&mut self, comprehension: &Comprehension) {
        self.put("{ ");
        for (at, partition) in comprehension.partitions.iter().enumerate() {
            if at > 0 {
                self.put("; ");
            }
            self.tensor_index(&partition.index, true);
            self.put(" -> ");
            self.operand(&partition.body, Level::Cond, true);
            if partition.lower.is_none() && partition.upper.is_none() {
                continue;
            }
            self.put(" | ");
            if let Some((lower, relation)) = &partition.lower {
                self.bound(lower, Level::Concat);
                self.relation(*relation);
            }
            self.tensor_index(&partition.index, false);
            if let Some((relation, upper)) = &partition.upper {
                self.relation(*relation);
                let least = if partition.lower.is_some() { Level::Cond } else { Level::Concat };
                self.bound(upper, least);
            }
            self.steps(partition.step.as_ref(), partition.width.as_ref());
        }
        self.put(" }");
    }

    /// The index as it stands in front of `->`, or without its dots as a constraint repeats it.
    fn tensor_index(&mut self, index: &TensorIndex, dots: bool) {
        let items = match &index.kind {
            TensorIndexKind::Vector(name) => return self.ident(name),
            TensorIndexKind::List(items) => items,
        };
        self.put("[");
        let shown: Vec<&IndexItem> = items.iter().filter(|item| dots || matches!(item, IndexItem::Name(_))).collect();
        self.list(&shown, |printer, item| match item {
            IndexItem::Name(name) => printer.ident(name),
            IndexItem::Dot(_) => printer.put("."),
            IndexItem::Dots(_) => printer.put("..."),
        });
        self.put("]");
    }

    fn bound(&mut self, bound: &Bound, least: Level) {
        match bound {
            Bound::Dot(_) => self.put("."),
            Bound::Expr(expr) => self.operand(expr, least, false),
        }
    }

    fn relation(&mut self, relation: Relation) {
        self.put(match relation {
            Relation::Less => " < ",
            Relation::LessEqual => " <= ",
        });
    }

    fn steps(&mut self, step: Option<&Expr>, width: Option<&Expr>) {
        for (word, expr) in [(" step ", step), (" width ", width)] {
            if let Some(expr) = expr {
                self.put(word);
                self.expr(expr);
            }
        }
    }

    pub(super) fn with_loop(&mut self, with: &With) {
        self.put("with {");
        self.indent += 1;
        if let Some(pragma) = &with.pragma {
            self.line();
            self.pragma(pragma);
        }
        for part in &with.parts {
            self.line();
            self.part(part);
        }
        self.indent -= 1;
        if with.parts.is_empty() && with.pragma.is_none() {
            self.put(" } : ");
        } else {
            self.line();
            self.put("} : ");
        }
        match with.operations.as_slice() {
            [] => self.put("void"),
            [operation] => self.operation(operation),
            operations => {
                self.put("(");
                self.list(operations, Printer::operation);
                self.put(")");
            }
        }
    }

    fn part(&mut self, part: &WithPart) {
        self.put("(");
        self.bound(&part.lower, Level::Concat);
        self.relation(part.lower_relation);
        if let Some(vector) = &part.index.vector {
            self.ident(vector);
        }
        if let Some(scalars) = &part.index.scalars {
            if part.index.vector.is_some() {
                self.put(" = ");
            }
            self.put("[");
            self.idents(scalars);
            self.put("]");
        }
        self.relation(part.upper_relation);
        self.bound(&part.upper, Level::Cond);
        self.steps(part.step.as_ref(), part.width.as_ref());
        self.put(")");
        if let Some(pragma) = &part.pragma {
            self.line();
            self.pragma(pragma);
            self.line();
        }
        if !part.body.stmts.is_empty() {
            self.block(&part.body);
        }
        self.put(" : ");
        match part.values.as_slice() {
            [] => self.put("void"),
            [value] => self.expr(value),
            values => {
                self.put("(");
                self.exprs(values);
                self.put(")");
            }
        }
        self.put(";");
    }

    fn operation(&mut self, operation: &WithOperation) {
        match &operation.kind {
            WithOperationKind::Genarray { shape, default } => {
                self.put("genarray(");
                self.expr(shape);
                if let Some(default) = default {
                    self.put(", ");
                    self.expr(default);
                }
            }
            WithOperationKind::Modarray { array } => {
                self.put("modarray(");
                self.expr(array);
            }
            WithOperationKind::Propagate { object } => {
                self.put("propagate(");
                self.expr(object);
            }
            WithOperationKind::Fold { function, neutral } => {
                self.put("fold(");
                self.fold_function(function);
                self.expr(neutral);
            }
            WithOperationKind::FoldFix { function, neutral, stop } => {
                self.put("foldfix(");
                self.fold_function(function);
                self.expr(neutral);
                self.put(", ");
                self.expr(stop);
            }
        }
        self.put(")");
    }

    fn fold_function(&mut self, function: &FoldFunction) {
        self.qname(&function.name);
        if !function.args.is_empty() {
            self.put("(");
            self.exprs(&function.args);
            self.put(")");
        }
        self.put(", ");
    }
}
