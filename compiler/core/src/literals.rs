//! Literals: numbers, strings, array literals; large constant ones are folded at once.

use crate::diagnostics as report;
use crate::ir::{Decimal, ElemTy, Expr, ExprKind};
use crate::make;
use crate::scope::Body;
use crate::types::{Place, numbers};
use ravel_source::Span;
use ravel_syntax::ast::{self, NumberValue};
use ravel_types::{Basic, Scalar, UnOp, eval_un};
use std::sync::Arc;

/// Literals with fewer elements stay trees, which the specialiser reads as index vectors and the like.
const FOLD_FROM: usize = 32;

/// Type and value of a numeric literal.
pub(crate) fn number(value: NumberValue) -> (Basic, Scalar) {
    match value {
        NumberValue::Byte(v) => (Basic::Byte, Scalar::I8(v)),
        NumberValue::Short(v) => (Basic::Short, Scalar::I16(v)),
        NumberValue::Int(v) => (Basic::Int, Scalar::I32(v)),
        NumberValue::Long(v) => (Basic::Long, Scalar::I64(v)),
        NumberValue::LongLong(v) => (Basic::Longlong, Scalar::I64(v)),
        NumberValue::UByte(v) => (Basic::Ubyte, Scalar::U8(v)),
        NumberValue::UShort(v) => (Basic::Ushort, Scalar::U16(v)),
        NumberValue::UInt(v) => (Basic::Uint, Scalar::U32(v)),
        NumberValue::ULong(v) => (Basic::Ulong, Scalar::U64(v)),
        NumberValue::ULongLong(v) => (Basic::Ulonglong, Scalar::U64(v)),
        NumberValue::Float(v) => (Basic::Float, Scalar::F32(v)),
        NumberValue::Double(v) => (Basic::Double, Scalar::F64(v)),
    }
}

/// A literal, also one with a minus.
fn constant(expr: &ast::Expr) -> Option<(Basic, Scalar)> {
    match &expr.kind {
        ast::ExprKind::Number(literal) => Some(number(literal.value)),
        ast::ExprKind::Bool(value) => Some((Basic::Bool, Scalar::Bool(*value))),
        ast::ExprKind::Char { value, .. } => Some((Basic::Char, Scalar::Char(*value))),
        ast::ExprKind::Unary { op, operand } if &*op.name == "-" && op.module.is_none() => {
            let ast::ExprKind::Number(literal) = &operand.kind else { return None };
            let (ty, value) = number(literal.value);
            let signed = ty.elem().is_signed_int() || ty.elem().is_float();
            Some((ty, eval_un(UnOp::Neg, value).ok().filter(|_| signed)?))
        }
        _ => None,
    }
}

/// A literal without a suffix, also one with a minus, whose type a cast chooses.
fn decimal(expr: &ast::Expr) -> Option<Decimal> {
    match &expr.kind {
        ast::ExprKind::Number(literal) => match literal.value {
            NumberValue::Int(v) => Some(Decimal { double: f64::from(v), float: v as f32 }),
            NumberValue::Double(double) => {
                // Rounding the double once more would be off where it lies between two floats.
                let float = literal.text.parse().unwrap_or(double as f32);
                Some(Decimal { double, float })
            }
            _ => None,
        },
        ast::ExprKind::Unary { op, operand } if &*op.name == "-" && op.module.is_none() => {
            let value = decimal(operand)?;
            Some(Decimal { double: -value.double, float: -value.float })
        }
        _ => None,
    }
}

/// Visits the elements of a literal in row-major order; gives its shape if it is rectangular and every visit succeeds.
fn rectangular(expr: &ast::Expr, visit: &mut impl FnMut(&ast::Expr) -> Option<()>) -> Option<Vec<i32>> {
    let ast::ExprKind::Array(elements) = &expr.kind else {
        visit(expr)?;
        return Some(Vec::new());
    };
    let mut cell: Option<Vec<i32>> = None;
    for element in elements {
        let shape = rectangular(element, visit)?;
        if cell.as_ref().is_some_and(|cell| *cell != shape) {
            return None;
        }
        cell.get_or_insert(shape);
    }
    let mut shape = cell?;
    shape.insert(0, i32::try_from(elements.len()).ok()?);
    Some(shape)
}

/// The elements of a rectangular literal of constants of one type, and its shape.
fn collect(literal: &ast::Expr) -> Option<(Basic, Vec<i32>, Vec<Scalar>)> {
    let (mut ty, mut values) = (None, Vec::new());
    let shape = rectangular(literal, &mut |element| {
        let (found, value) = constant(element)?;
        values.push(value);
        (*ty.get_or_insert(found) == found).then_some(())
    })?;
    Some((ty?, shape, values))
}

/// Whether the literal may have enough elements to fold, without looking at all of them.
fn is_large(elements: &[ast::Expr]) -> bool {
    let row = |element: &ast::Expr| match &element.kind {
        ast::ExprKind::Array(inner) => inner.len().max(1),
        _ => 1,
    };
    elements.len() * elements.first().map_or(1, row) >= FOLD_FROM
}

impl Body<'_, '_> {
    /// `[a, b, ...]`; `literal` is the whole.
    pub(crate) fn array(&mut self, literal: &ast::Expr, elements: &[ast::Expr]) -> Expr {
        let span = literal.span;
        if elements.is_empty() {
            return make::vector(Vec::new(), span);
        }
        if is_large(elements)
            && let Some((ty, shape, values)) = collect(literal)
        {
            return make::expr(ExprKind::ConstArray { ty, shape, values: Arc::new(values) }, span);
        }
        let elements = elements.iter().map(|element| self.expr(element)).collect();
        make::expr(ExprKind::Array(elements), span)
    }

    /// `[:T]`
    pub(crate) fn empty(&mut self, ty: &ast::Type, span: Span) -> Expr {
        let families = self.families.clone();
        let Some(pat) = self.core.type_pat(self.module, ty, &mut Place::Local(&families)) else {
            return make::error(span);
        };
        match numbers(&pat.dims) {
            Some(cell) => make::expr(ExprKind::Empty { elem: pat.elem, cell }, span),
            None => {
                self.core.reports.push(report::unknown_shape("the cell of an empty array", ty.span));
                make::error(span)
            }
        }
    }

    pub(crate) fn string(&mut self, bytes: &[u8], span: Span) -> Expr {
        self.core.need_string_type();
        match std::str::from_utf8(bytes) {
            Ok(text) => make::expr(ExprKind::Str(text.into()), span),
            Err(_) => {
                self.core.reports.push(report::not_text(span));
                make::error(span)
            }
        }
    }

    /// `P{...}`
    pub(crate) fn record(&mut self, literal: &ast::StructLit, span: Span) -> Expr {
        let Some(id) = self.core.struct_type(self.module, &literal.name) else {
            return make::error(span);
        };
        let record = self.core.program.structs[id.index()].clone();
        let mut fields: Vec<Option<Expr>> = vec![None; record.fields.len()];
        match &literal.fields {
            ast::StructFields::Positional(values) => {
                if !values.is_empty() && values.len() != fields.len() {
                    let diagnostic = report::field_count(&record.name, fields.len(), values.len(), span);
                    self.core.reports.push(diagnostic);
                }
                for (i, value) in values.iter().enumerate() {
                    let value = self.expr(value);
                    if let Some(field) = fields.get_mut(i) {
                        *field = Some(value);
                    }
                }
            }
            ast::StructFields::Named(values) => {
                for (name, value) in values {
                    let value = self.expr(value);
                    self.core.note_named_field(self.module, name, id);
                    match record.fields.iter().position(|field| field.name == *name.name) {
                        Some(i) if fields[i].is_some() => {
                            self.core.reports.push(report::field_twice(&name.name, name.span));
                        }
                        Some(i) => fields[i] = Some(value),
                        None => {
                            let known: Vec<&str> = record.fields.iter().map(|field| field.name.as_str()).collect();
                            let diagnostic = report::unknown_field(&name.name, &record.name, name.span, &known);
                            self.core.reports.push(diagnostic);
                        }
                    }
                }
            }
        }
        make::expr(ExprKind::StructLit { ty: id, fields }, span)
    }

    /// `(T) e`
    pub(crate) fn cast(&mut self, ty: &ast::Type, value: &ast::Expr, span: Span) -> Expr {
        let families = self.families.clone();
        let ty = self.core.type_pat(self.module, ty, &mut Place::Local(&families));
        if let Some(ty) = &ty
            && matches!(ty.elem, ElemTy::Family(_))
        {
            let mut values = Vec::new();
            if let Some(shape) = rectangular(value, &mut |element| {
                values.push(decimal(element)?);
                Some(())
            }) {
                return make::expr(ExprKind::FamilyLit { ty: ty.clone(), shape, values: Arc::new(values) }, span);
            }
        }
        let value = self.expr(value);
        match ty {
            Some(ty) => make::expr(ExprKind::Cast { ty, value: Box::new(value) }, span),
            None => make::error(span),
        }
    }
}

/// The name of an element type, for the printer.
pub(crate) fn elem_name(program: &crate::ir::Program, fun: Option<&crate::ir::Fun>, elem: ElemTy) -> String {
    match elem {
        ElemTy::Basic(basic) => basic.name().to_string(),
        ElemTy::User(id) => program.user_types[id.index()].name.clone(),
        ElemTy::Struct(id) => format!("struct {}", program.structs[id.index()].name),
        ElemTy::Family(id) => match fun.and_then(|fun| fun.families.get(id.index())) {
            Some(family) => family.name.clone(),
            None => format!("family{}", id.0),
        },
    }
}
