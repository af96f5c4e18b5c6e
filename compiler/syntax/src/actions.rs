//! What the grammar's rules build: spans and names from token indices, and nodes that need more than a constructor.

use crate::ast::*;
use crate::classify::Classified;
use crate::literal;
use crate::tokens::Kind;
use ravel_source::Span;
use std::sync::Arc;

/// The tokens behind the indices that the grammar works with.
pub(crate) struct Context<'a> {
    pub(crate) tokens: &'a Classified,
}

/// What follows an expression in a postfix chain.
pub(crate) enum Postfix {
    Select(Vec<Selector>),
    Field(Ident),
}

impl Context<'_> {
    /// The span of the tokens `from..upto`; an empty one in front of `from` if there are none.
    pub(crate) fn span(&self, from: usize, upto: usize) -> Span {
        let list = &self.tokens.list;
        match (list.get(from), upto.checked_sub(1).and_then(|last| list.get(last))) {
            (Some(first), Some(last)) if from < upto => first.span.to(last.span),
            (Some(first), _) => Span { end: first.span.start, ..first.span },
            (None, _) => self.tokens.end,
        }
    }

    fn text(&self, at: usize) -> Text {
        self.tokens.texts.get(self.tokens.list[at].text).clone()
    }

    pub(crate) fn ident(&self, at: usize) -> Ident {
        Ident { name: self.text(at), span: self.tokens.list[at].span }
    }

    pub(crate) fn qname(&self, at: usize) -> QName {
        let token = &self.tokens.list[at];
        let module = Some(self.tokens.texts.get(token.module)).filter(|module| !module.is_empty()).cloned();
        QName { module, name: self.text(at), span: token.span }
    }

    /// The operator of a compound assignment, without its `=`.
    pub(crate) fn assign_op(&self, at: usize) -> QName {
        let name = self.qname(at);
        QName { name: name.name.trim_end_matches('=').into(), ..name }
    }

    pub(crate) fn base_type(&self, at: usize) -> TypeBase {
        TypeBase::Basic(
            BasicType::from_keyword(&self.text(at)).expect("classify gives the token kind to basic types only"),
        )
    }

    pub(crate) fn pragma(&self, at: usize) -> Pragma {
        self.tokens.pragmas.get(&at).cloned().expect("classify stores a pragma for each such token")
    }

    pub(crate) fn string(&self, at: usize) -> Arc<[u8]> {
        self.tokens.strings.get(&at).cloned().expect("classify stores the bytes of each string token")
    }

    pub(crate) fn string_text(&self, at: usize) -> Text {
        String::from_utf8_lossy(&self.string(at)).as_ref().into()
    }

    /// Classification has reported a literal without a value; it counts as 0 from then on.
    pub(crate) fn number(&self, at: usize) -> ExprKind {
        let text = self.text(at);
        let value = literal::parse_number(&text).unwrap_or(NumberValue::Int(0));
        ExprKind::Number(Number { text, value })
    }

    /// A second parse of the same tokens, after an error, finds the literal taken; its tree is not needed then.
    pub(crate) fn number_array(&self, at: usize) -> ExprKind {
        self.tokens.arrays.borrow_mut().remove(&at).map_or(ExprKind::Error, |array| array.kind)
    }

    pub(crate) fn char(&self, at: usize) -> ExprKind {
        let text = self.text(at);
        let value = literal::parse_char(&text).unwrap_or(0);
        ExprKind::Char { text, value }
    }

    /// A number in a type.
    pub(crate) fn extent(&self, at: usize) -> i64 {
        match literal::parse_number(&self.text(at)) {
            Ok(NumberValue::Int(value)) => i64::from(value),
            _ => 0,
        }
    }

    /// `#pragma family` is a definition of its own, everything else at file level stays a pragma.
    pub(crate) fn file_pragma(&self, pragma: Pragma) -> Definition {
        if &*pragma.name.name != "family" {
            return Definition::Pragma(pragma);
        }
        let PragmaArgs::Other(text) = &pragma.args else { return Definition::Pragma(pragma) };
        let mut words = text.split_ascii_whitespace();
        let Some(name) = words.next() else { return Definition::Pragma(pragma) };
        let span = pragma.span;
        let members = words.map(|word| FamilyMember { base: family_member(word, span), span }).collect();
        Definition::Family(Family { name: Ident { name: name.into(), span }, members, span })
    }

    /// A function without conditions, body and pragmas yet.
    pub(crate) fn head(
        &self,
        attributes: Vec<Kind>,
        (results, variadic_results): (Vec<Type>, bool),
        name: Ident,
        (params, variadic_params): (Vec<Param>, bool),
        span: Span,
    ) -> Function {
        let attributes = Attributes {
            external: attributes.contains(&Kind::External),
            inline: attributes.contains(&Kind::Inline),
            noinline: attributes.contains(&Kind::NoInline),
            specialize: attributes.contains(&Kind::Specialize),
        };
        Function {
            attributes,
            results,
            variadic_results,
            name,
            params,
            variadic_params,
            conditions: Vec::new(),
            body: None,
            pragmas: Vec::new(),
            head_span: span,
            span,
        }
    }

    /// `return` spreads a parenthesised list; a list inside of it is left for `check`.
    pub(crate) fn ret(&self, value: Expr, span: Span) -> Return {
        Return { values: spread(value), span }
    }

    pub(crate) fn part_values(&self, value: Option<Expr>) -> Vec<Expr> {
        value.map_or_else(Vec::new, spread)
    }

    pub(crate) fn index_access(&self, selectors: Vec<Selector>, span: Span) -> Access {
        Access::Index { selectors: flatten(selectors), span }
    }

    pub(crate) fn cond(&self, cond: Expr, then: Expr, otherwise: Expr) -> Expr {
        let span = cond.span.to(otherwise.span);
        let kind = ExprKind::Cond { cond: Box::new(cond), then: Box::new(then), otherwise: Box::new(otherwise) };
        Expr { kind, span }
    }

    pub(crate) fn or(&self, left: Expr, right: Expr) -> Expr {
        let span = left.span.to(right.span);
        Expr { kind: ExprKind::Or { left: Box::new(left), right: Box::new(right) }, span }
    }

    pub(crate) fn and(&self, left: Expr, right: Expr) -> Expr {
        let span = left.span.to(right.span);
        Expr { kind: ExprKind::And { left: Box::new(left), right: Box::new(right) }, span }
    }

    /// The operator is the token at `op`.
    pub(crate) fn binary(&self, left: Expr, op: usize, right: Expr) -> Expr {
        let span = left.span.to(right.span);
        let kind = ExprKind::Binary { op: self.qname(op), left: Box::new(left), right: Box::new(right) };
        Expr { kind, span }
    }

    /// A prefix operator; in front of a list in parentheses it is the function of that name.
    pub(crate) fn unary(&self, op: usize, operand: Expr) -> Expr {
        let callee = self.qname(op);
        let span = callee.span.to(operand.span);
        let kind = match operand.kind {
            ExprKind::Cover(Cover::Tuple(args)) => ExprKind::Call(Call { callee, args, span }),
            _ => ExprKind::Unary { op: callee, operand: Box::new(operand) },
        };
        Expr { kind, span }
    }

    /// A node around `inner` that starts at token `from`.
    pub(crate) fn expr_from(
        &self,
        from: usize,
        end: Span,
        build: impl FnOnce(Box<Expr>) -> ExprKind,
        inner: Expr,
    ) -> Expr {
        Expr { kind: build(Box::new(inner)), span: self.tokens.list[from].span.to(end) }
    }

    pub(crate) fn postfix(&self, base: Expr, postfix: Postfix, upto: usize) -> Expr {
        let span = base.span.to(self.tokens.list[upto - 1].span);
        let kind = match postfix {
            Postfix::Select(selectors) => ExprKind::Select { array: Box::new(base), selectors: flatten(selectors) },
            Postfix::Field(field) => ExprKind::Field { record: Box::new(base), field },
        };
        Expr { kind, span }
    }

    /// Parentheses around one expression leave no trace but its span.
    pub(crate) fn parenthesised(&self, mut list: Vec<Expr>) -> ExprKind {
        match list.pop() {
            Some(only) if list.is_empty() => only.kind,
            Some(last) => {
                list.push(last);
                ExprKind::Cover(Cover::Tuple(list))
            }
            None => ExprKind::Error,
        }
    }

    pub(crate) fn array(&self, elements: Vec<Selector>) -> ExprKind {
        if elements.iter().any(|element| !matches!(element, Selector::Expr(_))) {
            return ExprKind::Cover(Cover::Dotted(elements));
        }
        let plain = elements.into_iter().filter_map(|element| match element {
            Selector::Expr(expr) => Some(expr),
            Selector::Dot(_) | Selector::Dots(_) => None,
        });
        ExprKind::Array(plain.collect())
    }

    /// A constraint with one relation: which side is the index decides what the other side bounds.
    pub(crate) fn partition_by_two(
        &self,
        index: TensorIndex,
        body: Expr,
        (first, relation, second): (Bound, Relation, Bound),
        (step, width): (Option<Expr>, Option<Expr>),
        span: Span,
    ) -> TensorPartition {
        let (lower, upper) = if names_index(&index, &first) {
            (None, Some((relation, second)))
        } else if names_index(&index, &second) {
            (Some((first, relation)), None)
        } else {
            let span = bound_span(&first).to(bound_span(&second));
            (Some((foreign(span), relation)), None)
        };
        TensorPartition { index, body, lower, upper, step, width, span }
    }

    pub(crate) fn partition_by_three(
        &self,
        index: TensorIndex,
        body: Expr,
        (lower, lower_relation, middle): (Bound, Relation, Expr),
        upper: (Relation, Bound),
        (step, width): (Option<Expr>, Option<Expr>),
        span: Span,
    ) -> TensorPartition {
        let middle = Bound::Expr(middle);
        let lower = if names_index(&index, &middle) { lower } else { foreign(bound_span(&middle)) };
        TensorPartition { index, body, lower: Some((lower, lower_relation)), upper: Some(upper), step, width, span }
    }
}

fn family_member(word: &str, span: Span) -> TypeBase {
    if let Some(basic) = BasicType::from_keyword(word) {
        return TypeBase::Basic(basic);
    }
    let (module, name) = match word.split_once("::") {
        Some((module, name)) => (Some(module.into()), name),
        None => (None, word),
    };
    TypeBase::Named(QName { module, name: name.into(), span })
}

fn spread(value: Expr) -> Vec<Expr> {
    match value.kind {
        ExprKind::Cover(Cover::Tuple(list)) => list,
        _ => vec![value],
    }
}

/// `a[[., i]]` means `a[., i]`.
fn flatten(mut selectors: Vec<Selector>) -> Vec<Selector> {
    if let [Selector::Expr(Expr { kind: ExprKind::Cover(Cover::Dotted(inner)), .. })] = selectors.as_mut_slice() {
        return std::mem::take(inner);
    }
    selectors
}

/// Marks a constraint of something else than the index, for `check` to report.
fn foreign(span: Span) -> Bound {
    Bound::Expr(Expr { kind: ExprKind::Cover(Cover::Foreign), span })
}

fn bound_span(bound: &Bound) -> Span {
    match bound {
        Bound::Dot(span) => *span,
        Bound::Expr(expr) => expr.span,
    }
}

/// Whether the bound is exactly the index, a list index without its dots.
fn names_index(index: &TensorIndex, bound: &Bound) -> bool {
    let same = |name: &Ident, expr: &Expr| matches!(&expr.kind, ExprKind::Name(found) if found.module.is_none() && found.name == name.name);
    match (&index.kind, bound) {
        (TensorIndexKind::Vector(name), Bound::Expr(expr)) => same(name, expr),
        (TensorIndexKind::List(items), Bound::Expr(Expr { kind: ExprKind::Array(elements), .. })) => {
            let names: Vec<&Ident> = items
                .iter()
                .filter_map(|item| match item {
                    IndexItem::Name(name) => Some(name),
                    IndexItem::Dot(_) | IndexItem::Dots(_) => None,
                })
                .collect();
            names.len() == elements.len() && names.iter().zip(elements).all(|(name, expr)| same(name, expr))
        }
        _ => false,
    }
}
