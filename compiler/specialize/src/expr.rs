//! Expressions.

use crate::spec::{Frame, Spec};
use crate::value::{Sc, Val};
use crate::walk;
use ravel_core::ir::{Expr, ExprKind};
use ravel_diagnostics::Code;
use ravel_types::Scalar;
use std::collections::BTreeSet;

impl Spec<'_> {
    /// The values of an expression in a position that takes `n` of them.
    pub fn exprs(&mut self, frame: &mut Frame, e: &Expr, n: usize) -> Vec<Val> {
        match &e.kind {
            ExprKind::Call { set, args } => {
                let values = self.arguments(frame, args);
                self.note_arguments(frame, args, &values);
                self.call_set(*set, values, n, e.span)
            }
            ExprKind::With(with) => {
                self.at(e.span);
                self.with_loop(frame, with, n)
            }
            ExprKind::Derive(derive) => {
                self.at(e.span);
                self.derive(frame, derive, n)
            }
            ExprKind::Block { block, value } => {
                self.block(frame, block);
                self.exprs(frame, value, n)
            }
            ExprKind::Error => vec![Val::Bottom; n],
            _ if n == 1 => vec![self.expr(frame, e)],
            _ => {
                self.at(e.span);
                let v = self.expr(frame, e);
                if n > 0 && !matches!(v, Val::Bottom) {
                    self.error(
                        Code::TargetCount,
                        format!("one value where {n} are wanted"),
                        "only calls and with-loops give several values",
                    );
                }
                vec![Val::Bottom; n]
            }
        }
    }

    pub fn arguments(&mut self, frame: &mut Frame, args: &[Expr]) -> Vec<Val> {
        args.iter().map(|a| self.expr(frame, a)).collect()
    }

    /// The value of an expression.
    pub fn expr(&mut self, frame: &mut Frame, e: &Expr) -> Val {
        let value = match frame.flow.clone() {
            Some(flow) => self.followed(frame, e, &flow),
            None => self.value_of(frame, e),
        };
        if self.noting.is_some() {
            self.note_expr(frame, e, &value);
        }
        value
    }

    pub fn value_of(&mut self, frame: &mut Frame, e: &Expr) -> Val {
        self.elaborated += 1;
        match &e.kind {
            ExprKind::Const { ty, value } => Val::Sc(*ty, Sc::Const(*value)),
            ExprKind::Str(text) => match self.program.string_type {
                Some(string) => Val::Handle(string, self.em.string(text.clone())),
                None => Val::Bottom,
            },
            ExprKind::Local(slot) => frame.env[slot.index()].clone().unwrap_or(Val::Bottom),
            ExprKind::Global(id) => self.get_global(*id),
            ExprKind::Array(items) => {
                let v = self.array_literal(frame, items, e.span);
                self.at(e.span);
                v
            }
            ExprKind::ConstArray { ty, shape, values } => self.constants(*ty, shape, values.to_vec()),
            ExprKind::FamilyLit { ty, shape, values } => {
                self.at(e.span);
                self.family_literal(frame, ty, shape, values)
            }
            ExprKind::Empty { elem, cell } => {
                self.at(e.span);
                self.empty_array(frame, *elem, cell)
            }
            ExprKind::Call { .. } | ExprKind::With(_) | ExprKind::Derive(_) => {
                self.exprs(frame, e, 1).into_iter().next().unwrap_or(Val::Bottom)
            }
            ExprKind::EachPart(each) => self.each_part(frame, each, e.span),
            ExprKind::Prim { prim, args } => {
                let args = self.arguments(frame, args);
                self.at(e.span);
                self.prim(*prim, args)
            }
            ExprKind::Cond { cond, then, els } => {
                let c = self.expr(frame, cond);
                self.at(cond.span);
                let what = match (&then.kind, &els.kind) {
                    (_, ExprKind::Const { value: Scalar::Bool(false), .. }) if els.span == e.span => {
                        "the left side of `&&`"
                    }
                    (ExprKind::Const { value: Scalar::Bool(true), .. }, _) if then.span == e.span => {
                        "the left side of `||`"
                    }
                    _ => "the condition of `?:`",
                };
                let Some(c) = self.truth(&c, what) else {
                    return Val::Bottom;
                };
                self.at(e.span);
                let mut slots = BTreeSet::new();
                walk::assigned_in_expr(then, &mut slots);
                walk::assigned_in_expr(els, &mut slots);
                let merged = self.merge(
                    frame,
                    &c,
                    slots,
                    Box::new(|spec, frame| vec![spec.expr(frame, then)]),
                    Box::new(|spec, frame| vec![spec.expr(frame, els)]),
                );
                merged.into_iter().next_back().unwrap_or(Val::Bottom)
            }
            ExprKind::Cast { ty, value } => {
                let v = self.expr(frame, value);
                self.at(e.span);
                self.cast(frame, ty, v)
            }
            ExprKind::Wrap { class, value } => {
                let v = self.expr(frame, value);
                self.at(e.span);
                let ravel_core::ir::UserTypeKind::Class { rep } = &self.program.user_types[class.index()].kind else {
                    return v;
                };
                let v = self.assert_type(frame, rep, v, "the representation of the class");
                if matches!(v, Val::Bottom) { v } else { Val::Wrapped(*class, Box::new(v)) }
            }
            ExprKind::Unwrap { value, .. } => match self.expr(frame, value) {
                Val::Wrapped(_, inner) => *inner,
                other => other,
            },
            ExprKind::StructLit { ty, fields } => self.struct_literal(frame, *ty, fields, e),
            ExprKind::Field { value, field } => {
                let v = self.expr(frame, value);
                self.at(e.span);
                match self.field_index(&v, field) {
                    Some((i, Val::Struct(s, mut fields))) => {
                        self.note_record(e.span, field, s);
                        fields.swap_remove(i)
                    }
                    _ => Val::Bottom,
                }
            }
            ExprKind::WithField { value, field, new } => {
                let v = self.expr(frame, value);
                let new = self.expr(frame, new);
                self.at(e.span);
                if matches!(new, Val::Bottom) {
                    return Val::Bottom;
                }
                match self.field_index(&v, field) {
                    Some((i, Val::Struct(s, mut fields))) => {
                        self.note_record(e.span, field, s);
                        let Some(new) = self.fit_field(frame, s, i, &fields[i], new) else {
                            return Val::Bottom;
                        };
                        fields[i] = new;
                        Val::Struct(s, fields)
                    }
                    _ => Val::Bottom,
                }
            }
            ExprKind::Block { block, value } => {
                self.block(frame, block);
                self.expr(frame, value)
            }
            ExprKind::ZeroCell | ExprKind::Error => Val::Bottom,
        }
    }

    /// Checks that two values have one outer shape.
    pub fn require_same_shape(&mut self, a: &Val, b: &Val, what: &str) {
        match (self.outer_shape(a), self.outer_shape(b)) {
            (Some(x), Some(y)) if x.len() == y.len() => {
                let pairs: Vec<crate::check::Agree> = x
                    .into_iter()
                    .zip(y)
                    .enumerate()
                    .map(|(axis, (left, right))| crate::check::Agree { left, right, axis: axis as u32 })
                    .collect();
                self.require_agreement(&pairs, what, Some("shape"));
            }
            (Some(x), Some(y)) => {
                self.require_same_rank(x.len(), y.len(), what);
            }
            _ => {
                let (x, y) = (self.shape_vector(a), self.shape_vector(b));
                let equal = self.vectors_equal(&x, &y);
                self.emit_explained_check(&equal, |spec| {
                    let mut operands = Vec::new();
                    let mut show = |v: &Val| spec.show_value(v, &mut operands).unwrap_or_default();
                    let text = format!("{what} differ in shape: {} and {}", show(&x), show(&y));
                    crate::check::coded(Code::ShapesDiffer, text, operands)
                });
            }
        }
    }
}
