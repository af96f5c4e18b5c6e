//! Literals, array constructors, and zero values.

use crate::check::Agree;
use crate::conversions::converted;
use crate::spec::{Frame, Spec};
use crate::value::{Kind, LeafShape, MAX_TUPLE, Sc, ScKind, ShapeKind, Val};
use ravel_core::ir::{Decimal, ElemTy, Expr, TypePat};
use ravel_diagnostics::{Code, Diagnostic, Fix};
use ravel_source::Span;
use ravel_types::{Affine, Basic, Scalar, Shape, Ty};
use ravel_wir::{Frame as WirFrame, Op, Value, With, WithOp};

/// Vectors of reals written as literals stay scalars up to this length: complex numbers, points in space.
const MAX_REAL_TUPLE: usize = 4;

/// Whether a vector of this type and length is held as scalars.
pub fn is_tuple(basic: Basic, n: usize) -> bool {
    n <= if matches!(basic, Basic::Int | Basic::Bool) { MAX_TUPLE } else { MAX_REAL_TUPLE }
}

impl Spec<'_> {
    /// `[e1, ..., en]`.
    pub fn array_literal(&mut self, frame: &mut Frame, items: &[Expr], span: Span) -> Val {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            let v = self.expr(frame, item);
            values.push(v);
        }
        if values.iter().any(|v| matches!(v, Val::Bottom)) {
            return Val::Bottom;
        }
        let first = self.elem_of(&values[0]);
        for (v, item) in values.iter().zip(items) {
            if self.elem_of(v) != first {
                let (a, b) = (self.show_value_type(&values[0]), self.show_value_type(v));
                self.at(item.span);
                let site = self.user_site();
                let title = format!("array literal mixes {a} and {b}");
                let report = Diagnostic::error(Code::MixedLiteral, title).at(site, format!("this is {b}"));
                let report = match self.agreeing_elements(items, &values) {
                    Some(fix) => report.with_fix(fix),
                    None => report,
                };
                self.report_from_here(report, site);
                return Val::Bottom;
            }
        }
        self.at(span);
        self.stack_values(values)
    }

    /// The conversions that make all elements real numbers, as those that are already.
    fn agreeing_elements(&self, items: &[Expr], values: &[Val]) -> Option<Fix> {
        let real = [Basic::Double, Basic::Float]
            .into_iter()
            .find(|real| values.iter().any(|value| self.elem_of(value) == Some(ElemTy::Basic(*real))))?;
        let mut edits = Vec::new();
        let mut safe = true;
        for (item, value) in items.iter().zip(values) {
            match self.elem_of(value) {
                Some(ElemTy::Basic(basic)) if basic == real => {}
                Some(ElemTy::Basic(Basic::Int)) => {
                    let (text, is_exact) = converted(self.quotable(item.span)?, real);
                    safe &= is_exact;
                    edits.push((item.span, text));
                }
                _ => return None,
            }
        }
        let first = edits.first()?.1.clone();
        let more = if edits.len() > 1 { ", and so on" } else { "" };
        Some(Fix { title: format!("`{first}` is a {real}{more}"), safe, edits })
    }

    /// A literal of constants of a type in row-major order.
    pub fn constants(&mut self, ty: Basic, shape: &[i32], values: Vec<Scalar>) -> Val {
        match shape {
            [] => Val::Sc(ty, Sc::Const(values[0])),
            [_] if is_tuple(ty, values.len()) => Val::Tup(ty, values.into_iter().map(Sc::Const).collect()),
            _ => Val::Arr(ty, self.em.const_array(ty.elem(), shape, values)),
        }
    }

    /// A literal under a cast to a family: its elements in the member's type, which must hold them.
    pub fn family_literal(&mut self, frame: &Frame, ty: &TypePat, shape: &[i32], values: &[Decimal]) -> Val {
        let ElemTy::Basic(member) = self.resolve_elem(&frame.families, ty.elem) else {
            return Val::Bottom;
        };
        let mut scalars = Vec::with_capacity(values.len());
        for value in values {
            let Some(scalar) = value.value_in(member) else {
                let text = format!("{} is not a value of {member}", value.double);
                self.error(Code::BadCast, text, format!("this is {member} here"));
                return Val::Bottom;
            };
            scalars.push(scalar);
        }
        let literal = self.constants(member, shape, scalars);
        self.assert_shape(frame, ty, literal, "the cast")
    }

    /// The array whose cells along a new leading axis are `values`, all of one element type.
    pub fn stack_values(&mut self, values: Vec<Val>) -> Val {
        match &values[0] {
            Val::Wrapped(u, _) => {
                let u = *u;
                let inner = values
                    .into_iter()
                    .map(|v| match v {
                        Val::Wrapped(_, v) => *v,
                        other => other,
                    })
                    .collect();
                Val::Wrapped(u, Box::new(self.stack_values(inner)))
            }
            Val::Struct(s, _) if self.program.structs[s.index()].open => {
                self.open_elements();
                Val::Bottom
            }
            Val::Struct(s, fields) => {
                let (s, n) = (*s, fields.len());
                let fields = (0..n)
                    .map(|k| {
                        let column = values
                            .iter()
                            .filter_map(|v| match v {
                                Val::Struct(_, fields) => fields.get(k).cloned(),
                                _ => None,
                            })
                            .collect();
                        self.stack_values(column)
                    })
                    .collect();
                Val::Struct(s, fields)
            }
            Val::Handle(..) => {
                self.error(
                    Code::NotAnElement,
                    "values of an external type cannot be elements of an array",
                    "external types are scalar",
                );
                Val::Bottom
            }
            Val::Sc(b, _) if values.iter().all(|v| matches!(v, Val::Sc(..))) => {
                let basic = *b;
                let scalars: Vec<Sc> = values
                    .into_iter()
                    .filter_map(|v| match v {
                        Val::Sc(_, s) => Some(s),
                        _ => None,
                    })
                    .collect();
                if is_tuple(basic, scalars.len()) {
                    Val::Tup(basic, scalars)
                } else {
                    Val::Arr(basic, self.em.vector(basic, &scalars))
                }
            }
            _ => self.stack_arrays(values),
        }
    }

    /// Adds to a new report on a literal what its author may have meant: vectors joined, or rows of different lengths, which there are not.
    fn explain_ragged(&mut self, before: usize, rank: usize) {
        let site = self.user_site();
        let text = self.quotable(site).and_then(|text| text.strip_prefix('[')?.strip_suffix(']'));
        let parts: Vec<String> =
            text.map_or(Vec::new(), |text| text.split(',').map(|p| p.trim().to_string()).collect());
        let is_name = |text: &String| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
        let Some(report) = self.diagnostics.get_mut(before) else { return };
        report.notes.push("all rows of an array have the same length".to_string());
        if rank == 1 && parts.len() > 1 && parts.iter().all(is_name) {
            let joined = parts.join(" ++ ");
            *report = report.clone().with_edit(format!("`{joined}` joins vectors"), site, joined);
        }
    }

    fn stack_arrays(&mut self, values: Vec<Val>) -> Val {
        let Some(ElemTy::Basic(basic)) = self.elem_of(&values[0]) else {
            return Val::Bottom;
        };
        let shapes: Vec<Option<Vec<Sc>>> = values.iter().map(|v| self.outer_shape(v)).collect();
        let known = shapes.iter().flatten().next().cloned();
        for shape in &shapes[1..] {
            if let (Some(a), Some(b)) = (&known, shape) {
                if a.len() != b.len() {
                    let (x, y) = (a.len(), b.len());
                    self.error(
                        Code::ShapesDiffer,
                        format!("the cells of an array literal differ in rank: {x} and {y}"),
                        "cells must have one shape",
                    );
                    return Val::Bottom;
                }
                let pairs: Vec<Agree> = a
                    .iter()
                    .zip(b)
                    .enumerate()
                    .map(|(axis, (l, r))| Agree { left: l.clone(), right: r.clone(), axis: axis as u32 })
                    .collect();
                let before = self.diagnostics.len();
                self.require_agreement(&pairs, "the cells of an array literal", Some("cell"));
                self.explain_ragged(before, a.len());
            }
        }
        if let Some(constants) = self.constant_cells(basic, &values) {
            return constants;
        }
        let cell: Option<Vec<Affine>> = known.map(|s| s.iter().map(|e| self.em.form(e)).collect());
        let n = values.len() as i32;
        // Rows held as scalars become one constructor of scalars.
        if let (Some(cell), true) = (&cell, values.iter().all(|v| matches!(v, Val::Tup(..)))) {
            let mut scalars = Vec::new();
            for v in &values {
                if let Val::Tup(_, s) = v {
                    let s = s.clone();
                    scalars.extend(self.em.values(&s));
                }
            }
            let mut shape = vec![Affine::constant(n)];
            shape.extend(cell.iter().cloned());
            return Val::Arr(basic, self.em.inst1(Op::Array(scalars), Ty::new(basic.elem(), Shape::Known(shape))));
        }
        let Some(cell) = cell else { return self.stack_unknown(basic, &values) };
        let kind = ShapeKind::Known(cell.iter().cloned().map(Some).collect());
        let mut cells: Vec<Value> = Vec::new();
        for v in &values {
            let v = match self.outer_rank(v) {
                None => self.narrow_outer(v, &vec![None; cell.len()]),
                Some(_) => v.clone(),
            };
            self.em.flatten(&v, &Kind::Arr(basic, kind.clone()), &mut cells);
        }
        let shape = Shape::Known(std::iter::once(Affine::constant(n)).chain(cell).collect());
        Val::Arr(basic, self.em.inst1(Op::Array(cells), Ty::new(basic.elem(), shape)))
    }

    /// Cells of unknown rank: a with-loop with one partition per cell.
    fn stack_unknown(&mut self, basic: Basic, values: &[Val]) -> Val {
        let mut parts = Vec::with_capacity(values.len());
        for (i, v) in values.iter().enumerate() {
            let bounds = [i as i32, i as i32 + 1].map(|i| self.em.constant(Scalar::I32(i)));
            let opened = self.em.open();
            self.em.params_for(opened.region, &[(ravel_types::Elem::I32, LeafShape::Scalar)]);
            let mut cell = Vec::new();
            self.em.flatten(v, &Kind::Arr(basic, ShapeKind::Unknown), &mut cell);
            self.em.set_yields(opened.region, cell);
            let body = self.em.close(opened);
            let generator =
                ravel_wir::Generator::Known { lower: vec![bounds[0]], upper: vec![bounds[1]], step: None, width: None };
            parts.push(ravel_wir::Part { generator, body });
        }
        let n = self.em.constant(Scalar::I32(values.len() as i32));
        let ops = vec![WithOp::Genarray { frame: WirFrame::Known(vec![n]), cell: None, default: None }];
        let with = With { parts, ops, ordered: false };
        Val::Arr(basic, self.em.inst1(Op::With(with), Ty::new(basic.elem(), Shape::Unknown)))
    }

    /// One constant for cells that are all constants.
    fn constant_cells(&mut self, basic: Basic, values: &[Val]) -> Option<Val> {
        let mut all: Vec<Scalar> = Vec::new();
        let mut shape: Option<Vec<i32>> = None;
        for v in values {
            let (data, cell): (Vec<Scalar>, Vec<i32>) = match v {
                Val::Tup(_, s) => {
                    let constants = s
                        .iter()
                        .map(|s| match s {
                            Sc::Const(c) => Some(*c),
                            _ => None,
                        })
                        .collect::<Option<Vec<_>>>()?;
                    let n = constants.len() as i32;
                    (constants, vec![n])
                }
                Val::Arr(_, v) => (self.em.const_data(*v)?.values.clone(), self.em.func.ty(*v).shape.constants()?),
                _ => return None,
            };
            if *shape.get_or_insert_with(|| cell.clone()) != cell {
                return None;
            }
            all.extend(data);
        }
        let mut full = vec![values.len() as i32];
        full.extend(shape?);
        Some(Val::Arr(basic, self.em.const_array(basic.elem(), &full, all)))
    }

    /// `[]`, `[:T]`: the empty array of shape `0 ++ cell`.
    pub fn empty_array(&mut self, frame: &Frame, elem: ElemTy, cell: &[i32]) -> Val {
        let shape = ShapeKind::Known(
            std::iter::once(0).chain(cell.iter().copied()).map(|n| Some(Affine::constant(n))).collect(),
        );
        let elem = self.resolve_elem(&frame.families, elem);
        if let (ElemTy::Basic(b), []) = (elem, cell) {
            return Val::Tup(b, Vec::new());
        }
        let kind = self.kind_of_elem(frame, elem, &shape);
        self.zero_of_kind(&kind)
    }

    /// The all-zero value of a kind. Unknown extents are taken as 0, an unknown rank as 0.
    pub fn zero_of_kind(&mut self, kind: &Kind) -> Val {
        match kind {
            Kind::Bottom => Val::Bottom,
            Kind::Sc(b, ScKind::Const(c)) => Val::Sc(*b, Sc::Const(*c)),
            Kind::Sc(b, _) => Val::Sc(*b, zero(*b)),
            Kind::Tup(b, ks) => Val::Tup(*b, vec![zero(*b); ks.len()]),
            Kind::Arr(b, ShapeKind::Known(extents)) => {
                let extents: Vec<Affine> = extents.iter().map(|e| e.clone().unwrap_or(Affine::constant(0))).collect();
                self.zero_array(*b, &extents)
            }
            Kind::Arr(b, ShapeKind::Unknown) => {
                let v = Val::Sc(*b, zero(*b));
                Val::Arr(*b, self.em.boxed(&v).expect("a scalar can be boxed"))
            }
            Kind::Handle(u) => {
                let v = self.em.inst1(
                    Op::Native { symbol: "ravel_null_handle".into(), args: Vec::new(), fixed: 0, effect: false },
                    Self::handle_type(),
                );
                Val::Handle(*u, v)
            }
            Kind::Wrapped(u, k) => Val::Wrapped(*u, Box::new(self.zero_of_kind(k))),
            Kind::Struct(s, ks) => Val::Struct(*s, ks.iter().map(|k| self.zero_of_kind(k)).collect()),
        }
    }

    /// An array of zeros of known rank.
    pub fn zero_array(&mut self, basic: Basic, extents: &[Affine]) -> Val {
        if let [n] = extents
            && let Some(n) = n.as_const()
            && is_tuple(basic, n.max(0) as usize)
        {
            return Val::Tup(basic, vec![zero(basic); n.max(0) as usize]);
        }
        if extents.is_empty() {
            return Val::Sc(basic, zero(basic));
        }
        let frame: Vec<Sc> = extents.iter().map(|e| self.em.scalar_of(e)).collect();
        let frame = self.em.values(&frame);
        let ops = vec![WithOp::Genarray { frame: WirFrame::Known(frame), cell: Some(Vec::new()), default: None }];
        let with = With { parts: Vec::new(), ops, ordered: false };
        let ty = Ty::new(basic.elem(), Shape::Known(extents.to_vec()));
        Val::Arr(basic, self.em.inst1(Op::With(with), ty))
    }

    /// Leaves of a kind, as WIR results.
    pub fn leaves_of(kind: &Kind) -> Vec<(ravel_types::Elem, LeafShape)> {
        let mut leaves = Vec::new();
        kind.leaves(&mut leaves);
        leaves
    }
}

/// Zero of an element type.
pub fn zero(basic: Basic) -> Sc {
    Sc::Const(Scalar::zero(basic.elem()).expect("built-in types have a zero"))
}
