//! Visits every span of a tree, so that trees can be compared by what they say.

use crate::ast::*;
use ravel_source::Span;
use std::sync::Arc;

/// A part of the tree whose spans can be rewritten.
pub trait Spans {
    /// Calls `f` on every span below and in this node, in no particular order.
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span));
}

/// Whether two trees differ in nothing but their spans.
pub fn equal_modulo_spans<T: Spans + Clone + PartialEq>(a: &T, b: &T) -> bool {
    let strip = |tree: &T| {
        let mut tree = tree.clone();
        tree.each_span(&mut |span| *span = Span::NONE);
        tree
    };
    strip(a) == strip(b)
}

/// Leaves without a span.
macro_rules! no_spans {
    ($($ty:ty),*) => {
        $(impl Spans for $ty {
            fn each_span(&mut self, _: &mut dyn FnMut(&mut Span)) {}
        })*
    };
}

/// Structs: visits the listed fields, which the compiler checks to be all of them.
macro_rules! struct_spans {
    ($($ty:ident { $($field:ident),* })*) => {
        $(impl Spans for $ty {
            fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
                let $ty { $($field),* } = self;
                $($field.each_span(f);)*
            }
        })*
    };
}

no_spans!(bool, u8, i64, Text, Arc<[u8]>, LoadKind, OfferKind, Attributes, BasicType, Relation, NumberValue);

impl Spans for Span {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        f(self);
    }
}

impl<T: Spans> Spans for Option<T> {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        self.iter_mut().for_each(|inner| inner.each_span(f));
    }
}

impl<T: Spans> Spans for Vec<T> {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        self.iter_mut().for_each(|inner| inner.each_span(f));
    }
}

impl<T: Spans> Spans for Box<T> {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        (**self).each_span(f);
    }
}

impl<A: Spans, B: Spans> Spans for (A, B) {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        self.0.each_span(f);
        self.1.each_span(f);
    }
}

struct_spans! {
    Ident { name, span }
    QName { module, name, span }
    File { header, definitions, span }
    ModuleHeader { name, deprecated, span }
    ClassHeader { name, deprecated, representation, pragmas, span }
    Load { kind, module, symbols, span }
    Offer { kind, symbols, span }
    Typedef { name, base, nested, span }
    ExternalTypedef { name, pragmas, span }
    ObjectDef { ty, name, init, pragmas, span }
    StructDef { name, fields, span }
    FieldDef { ty, name }
    Family { name, members, span }
    FamilyMember { base, span }
    Function {
        attributes, results, variadic_results, name, params, variadic_params, conditions, body, pragmas, head_span, span
    }
    Param { ty, by_ref, name, span }
    Body { decls, stmts, ret, span }
    VarDecl { ty, names, span }
    Return { values, span }
    Pragma { name, args, span }
    Type { base, dims, span }
    Dim { kind, span }
    Block { stmts, span }
    Stmt { kind, span }
    LValue { name, accesses, span }
    Expr { kind, span }
    Number { text, value }
    Call { callee, args, span }
    StructLit { name, fields }
    With { pragma, parts, operations, span }
    WithPart {
        lower, lower_relation, index, upper_relation, upper, step, width, pragma, body, values, span
    }
    WithIndex { vector, scalars, span }
    WithOperation { kind, span }
    FoldFunction { name, args }
    Comprehension { partitions, span }
    TensorPartition { index, body, lower, upper, step, width, span }
    TensorIndex { kind, span }
}

impl Spans for Header {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            Header::Program => {}
            Header::Module(header) => header.each_span(f),
            Header::Class(header) => header.each_span(f),
        }
    }
}

impl Spans for Definition {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            Definition::Load(inner) => inner.each_span(f),
            Definition::Offer(inner) => inner.each_span(f),
            Definition::Typedef(inner) => inner.each_span(f),
            Definition::ExternalTypedef(inner) => inner.each_span(f),
            Definition::Object(inner) => inner.each_span(f),
            Definition::Struct(inner) => inner.each_span(f),
            Definition::Function(inner) => inner.each_span(f),
            Definition::Family(inner) => inner.each_span(f),
            Definition::Pragma(inner) => inner.each_span(f),
        }
    }
}

impl Spans for SymbolSet {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            SymbolSet::All => {}
            SymbolSet::AllExcept(list) | SymbolSet::Some(list) => list.each_span(f),
        }
    }
}

impl Spans for PragmaArgs {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            PragmaArgs::Names(names) => names.each_span(f),
            PragmaArgs::None | PragmaArgs::Strings(_) | PragmaArgs::Numbers(_) | PragmaArgs::Other(_) => {}
        }
    }
}

impl Spans for TypeBase {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            TypeBase::Basic(_) => {}
            TypeBase::Named(name) | TypeBase::Struct(name) => name.each_span(f),
        }
    }
}

impl Spans for DimKind {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            DimKind::Num(_) | DimKind::Dot | DimKind::Plus | DimKind::Star => {}
            DimKind::Name(name) => name.each_span(f),
            DimKind::Axes { count, shape } => {
                if let AxisCount::Name { name, .. } = count {
                    name.each_span(f);
                }
                shape.each_span(f);
            }
        }
    }
}

impl Spans for StmtKind {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            StmtKind::Assign { targets, op, value } => {
                targets.each_span(f);
                op.each_span(f);
                value.each_span(f);
            }
            StmtKind::IncDec { target, op } => {
                target.each_span(f);
                op.each_span(f);
            }
            StmtKind::Call(call) => call.each_span(f),
            StmtKind::With(with) => with.each_span(f),
            StmtKind::If { cond, then, otherwise } => {
                cond.each_span(f);
                then.each_span(f);
                otherwise.each_span(f);
            }
            StmtKind::While { cond, body } | StmtKind::DoWhile { body, cond } => {
                cond.each_span(f);
                body.each_span(f);
            }
            StmtKind::For { init, cond, step, body } => {
                init.each_span(f);
                cond.each_span(f);
                step.each_span(f);
                body.each_span(f);
            }
            StmtKind::Error => {}
        }
    }
}

impl Spans for Access {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            Access::Index { selectors, span } => {
                selectors.each_span(f);
                f(span);
            }
            Access::Field(name) => name.each_span(f),
        }
    }
}

impl Spans for ExprKind {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Char { .. } | ExprKind::String(_) | ExprKind::Error => {
            }
            ExprKind::Name(name) => name.each_span(f),
            ExprKind::Call(call) => call.each_span(f),
            ExprKind::Binary { op, left, right } => {
                op.each_span(f);
                left.each_span(f);
                right.each_span(f);
            }
            ExprKind::Unary { op, operand } => {
                op.each_span(f);
                operand.each_span(f);
            }
            ExprKind::And { left, right } | ExprKind::Or { left, right } => {
                left.each_span(f);
                right.each_span(f);
            }
            ExprKind::Cond { cond, then, otherwise } => {
                cond.each_span(f);
                then.each_span(f);
                otherwise.each_span(f);
            }
            ExprKind::Select { array, selectors } => {
                array.each_span(f);
                selectors.each_span(f);
            }
            ExprKind::Field { record, field } => {
                record.each_span(f);
                field.each_span(f);
            }
            ExprKind::Array(elements) => elements.each_span(f),
            ExprKind::EmptyTyped(ty) => ty.each_span(f),
            ExprKind::Cast { ty, value } => {
                ty.each_span(f);
                value.each_span(f);
            }
            ExprKind::Struct(literal) => literal.each_span(f),
            ExprKind::With(with) => with.each_span(f),
            ExprKind::Comprehension(comprehension) => comprehension.each_span(f),
            ExprKind::Cover(Cover::Tuple(list)) => list.each_span(f),
            ExprKind::Cover(Cover::Dotted(list)) => list.each_span(f),
            ExprKind::Cover(Cover::Foreign) => {}
        }
    }
}

impl Spans for Selector {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            Selector::Expr(expr) => expr.each_span(f),
            Selector::Dot(span) | Selector::Dots(span) => f(span),
        }
    }
}

impl Spans for StructFields {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            StructFields::Positional(values) => values.each_span(f),
            StructFields::Named(fields) => fields.each_span(f),
        }
    }
}

impl Spans for Bound {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            Bound::Dot(span) => f(span),
            Bound::Expr(expr) => expr.each_span(f),
        }
    }
}

impl Spans for WithOperationKind {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            WithOperationKind::Genarray { shape, default } => {
                shape.each_span(f);
                default.each_span(f);
            }
            WithOperationKind::Modarray { array: expr } | WithOperationKind::Propagate { object: expr } => {
                expr.each_span(f);
            }
            WithOperationKind::Fold { function, neutral } => {
                function.each_span(f);
                neutral.each_span(f);
            }
            WithOperationKind::FoldFix { function, neutral, stop } => {
                function.each_span(f);
                neutral.each_span(f);
                stop.each_span(f);
            }
        }
    }
}

impl Spans for TensorIndexKind {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            TensorIndexKind::Vector(name) => name.each_span(f),
            TensorIndexKind::List(items) => items.each_span(f),
        }
    }
}

impl Spans for IndexItem {
    fn each_span(&mut self, f: &mut dyn FnMut(&mut Span)) {
        match self {
            IndexItem::Name(name) => name.each_span(f),
            IndexItem::Dot(span) | IndexItem::Dots(span) => f(span),
        }
    }
}
