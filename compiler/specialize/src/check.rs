//! Assertions: declared types, casts, agreement of extents, and index ranges.

use crate::conversions::conversion;
use crate::spec::{Frame, Spec};
use crate::value::{Kind, Sc, Val};
use ravel_core::ir::{DimPat, ElemTy, RankPat, TypePat, UserTypeKind};
use ravel_diagnostics::Code;
use ravel_source::Span;
use ravel_types::{Affine, Basic, BinOp};
use ravel_wir::{Fault, Value};
use std::fmt::Display;

/// What the run reports where the compiler could not decide; it has the code under which the compiler reports it. Numbers stand at marks
/// in the text.
pub fn coded(code: Code, text: impl Display, operands: Vec<Value>) -> Fault {
    Fault::Message { text: format!("[{code}] {text}").into(), operands }
}

/// Two extents that must be equal.
pub struct Agree {
    pub left: Sc,
    pub right: Sc,
    pub axis: u32,
}

/// What is said of extents that disagree.
pub struct Wording<'a> {
    /// Of a report about both lists of extents.
    pub title: &'a dyn Fn(&str, &str) -> String,
    /// Places in the head that asks for equal extents, with what they are.
    pub heads: Vec<(Span, String)>,
    /// Whether the title says all that the label says.
    pub is_told: bool,
    /// Of both lists of extents, as text.
    pub label: &'a dyn Fn(&str, &str) -> String,
    /// Of the two extents of an axis.
    pub fault: &'a dyn Fn(u32, Value, Value) -> Fault,
}

/// A number of axes in words.
pub fn axes(rank: usize) -> String {
    match rank {
        0 => "no axes".to_string(),
        1 => "one axis".to_string(),
        n => format!("{n} axes"),
    }
}

impl Spec<'_> {
    /// Extents that must agree: known disagreement is an error, which is reported and gives false, unknown agreement a check. `name` is what
    /// the program calls them; nothing if it has no name for them, as for patterns of the library.
    pub fn require_agreement(&mut self, pairs: &[Agree], what: &str, name: Option<&str>) -> bool {
        let label = |a: &str, b: &str| match name {
            Some(name) => format!("`{name}` would be both [{a}] and [{b}]"),
            None => format!("one has the shape [{a}], another [{b}]"),
        };
        let fault = |axis, left, right| Fault::Shape { left, right, axis, what: what.into() };
        let title = |a: &str, b: &str| format!("{what} differ in shape: [{a}] and [{b}]");
        let wording = Wording { title: &title, heads: Vec::new(), is_told: false, label: &label, fault: &fault };
        self.require_agreement_in(pairs, &wording)
    }

    /// The same, in other words.
    pub fn require_agreement_in(&mut self, pairs: &[Agree], wording: &Wording<'_>) -> bool {
        let mut known = Vec::new();
        let mut wrong = false;
        let fault = |spec: &mut Self, Agree { left, right, axis }: &Agree| {
            let (left, right) = (spec.em.value(left), spec.em.value(right));
            (wording.fault)(*axis, left, right)
        };
        for pair in pairs {
            let (x, y) = (self.em.form(&pair.left), self.em.form(&pair.right));
            match x.sub(&y).as_const() {
                Some(0) => {}
                Some(_) => wrong = true,
                None => {
                    let same = self.em.bin(BinOp::Eq, Basic::Int, &pair.left, &pair.right);
                    let fault = fault(self, pair);
                    self.emit_check(&same, fault);
                }
            }
            known.push((x, y));
        }
        if wrong {
            let mut names = Vec::new();
            let mut side = |pick: fn(&(Affine, Affine)) -> &Affine| {
                let shown: Vec<String> = known.iter().map(|p| show_form(pick(p), &mut names)).collect();
                shown.join(",")
            };
            let (a, b) = (side(|p| &p.0), side(|p| &p.1));
            if self.speculative == 0 {
                let site = self.user_site();
                let mut report =
                    self.of_fault(Code::ShapesDiffer, (wording.title)(&a, &b)).at(site, (wording.label)(&a, &b));
                for (span, text) in &wording.heads {
                    report = report.with_label(*span, text);
                }
                match wording.is_told {
                    true => self.report_on_arguments(report, site),
                    false => self.report_from_here(report, site),
                }
            }
            for (pair, (x, y)) in pairs.iter().zip(&known) {
                if x.sub(y).as_const() != Some(0) {
                    let fault = fault(self, pair);
                    self.emit_check(&Sc::bool(false), fault);
                }
            }
        }
        !wrong || self.speculative > 0
    }

    /// Ranks that must agree, as [`Spec::require_agreement`] for extents.
    pub fn require_same_rank(&mut self, left: usize, right: usize, what: &str) -> bool {
        if left == right {
            return true;
        }
        if self.speculative == 0 {
            let label = format!("one has {}, another {}", axes(left), axes(right));
            let site = self.user_site();
            let report = self.of_fault(Code::ShapesDiffer, format!("{what} differ in rank: {left} and {right}"));
            self.report_from_here(report.at(site, label), site);
        }
        let text = format!("{what} differ in rank: {left} and {right}");
        self.emit_check(&Sc::bool(false), coded(Code::ShapesDiffer, text, Vec::new()));
        self.speculative > 0
    }

    /// Adds to a new report of a negative index that none counts from the end, and what does.
    fn explain_index_from_the_end(&mut self, before: usize, axis: u32) {
        let site = self.user_site();
        let text = self.quotable(site).and_then(|text| counted_from_the_end(text, axis as usize));
        if let Some(report) = self.diagnostics.get_mut(before) {
            report.notes.push("indices count from 0, not from the end".to_string());
            if let Some(text) = text {
                *report = report.clone().with_safe_edit(format!("`{text}`"), site, text);
            }
        }
    }

    /// Checks `0 <= index < extent`.
    pub fn require_index(&mut self, index: &Sc, extent: &Affine, axis: u32) {
        let proven = self.em.index_in_range(index, extent);
        if proven == Some(true) {
            return;
        }
        let bound = self.em.scalar_of(extent);
        let (i, n) = (self.em.value(index), self.em.value(&bound));
        let fault = Fault::Index { index: i, extent: n, axis };
        if proven == Some(false) {
            let title = match (index.as_int(), extent.as_const()) {
                (Some(i), Some(n)) => {
                    format!("index {i} is out of range for axis {axis} of extent {n}")
                }
                _ => format!("the index is out of range for axis {axis}"),
            };
            let before = self.diagnostics.len();
            self.certain_fault(Code::IndexOutOfRange, title, fault);
            if let Some(-128..0) = index.as_int() {
                self.explain_index_from_the_end(before, axis);
            }
            return;
        }
        let low = self.em.bin(BinOp::Ge, Basic::Int, index, &Sc::int(0));
        let high = self.em.bin(BinOp::Lt, Basic::Int, index, &bound);
        let both = self.em.and(&low, &high);
        self.emit_check(&both, fault);
        let last = extent.as_const().map_or(i32::MAX as i64 - 1, |n| n as i64 - 1);
        self.em.set_checked(index, (0, last), Some(extent));
    }

    /// The extents that a declared type fixes; nothing if its rank is open.
    fn fixed_axes(&self, dims: &[DimPat]) -> Option<Vec<Option<i32>>> {
        let mut axes = Vec::new();
        for dim in dims {
            match dim {
                DimPat::Num(n) => axes.push(Some(*n)),
                DimPat::Any | DimPat::Name(_) => axes.push(None),
                DimPat::Rank { rank: RankPat::Num(n), .. } => axes.extend(vec![None; (*n).max(0) as usize]),
                DimPat::Star | DimPat::Plus | DimPat::Rank { .. } => return None,
            }
        }
        Some(axes)
    }

    /// The value seen through a declared type of its own element type: narrowed where the type says more, left as it is where the
    /// type says less.
    pub fn assert_type(&mut self, frame: &Frame, ty: &TypePat, v: Val, what: &str) -> Val {
        let Some(elem) = self.elem_of(&v) else {
            return v;
        };
        let want = self.resolve_elem(&frame.families, ty.elem);
        if want != elem {
            let (found, wanted) = (self.show_value_type(&v), self.show_type(self.fun(frame.fun), ty));
            let title = format!("{what} is declared {wanted} but is {found}");
            self.wrong_elem(&v, (elem, want), title, format!("this is {found}"));
            return Val::Bottom;
        }
        if !self.members_fit(frame, want, &v) {
            let (found, wanted) = (self.show_value_type(&v), self.show_type(self.fun(frame.fun), ty));
            let title = format!("{what} is declared {wanted} with other element types than {found} has");
            self.error(Code::WrongType, title, format!("this is {found}"));
            return Val::Bottom;
        }
        self.assert_shape(frame, ty, v, what)
    }

    /// Narrows to the shape of a declared type.
    pub fn assert_shape(&mut self, frame: &Frame, ty: &TypePat, v: Val, what: &str) -> Val {
        let shape = self.outer_shape(&v);
        let Some(axes) = self.fixed_axes(&ty.dims) else {
            let scalar_forbidden = ty.dims.iter().any(|d| !matches!(d, DimPat::Star | DimPat::Rank { min: 0, .. }));
            match shape {
                Some(s) if s.is_empty() && scalar_forbidden => {
                    return self.shape_conflict(frame, ty, &v, what);
                }
                None if scalar_forbidden => {
                    let rank = self.rank_of(&v);
                    let positive = self.em.bin(BinOp::Ge, Basic::Int, &rank, &Sc::int(1));
                    let text =
                        format!("{what} is declared {} but is a scalar", self.show_type(self.fun(frame.fun), ty));
                    self.emit_check(&positive, coded(Code::DeclaredShape, text, Vec::new()));
                }
                _ => {}
            }
            return v;
        };
        if let Some(shape) = &shape {
            let clash = shape.len() != axes.len()
                || shape.iter().zip(&axes).any(|(have, want)| match (have.as_int(), want) {
                    (Some(h), Some(w)) => h != *w,
                    _ => false,
                });
            if clash {
                return self.shape_conflict(frame, ty, &v, what);
            }
        } else {
            let rank = self.rank_of(&v);
            let same = self.em.bin(BinOp::Eq, Basic::Int, &rank, &Sc::int(axes.len() as i32));
            let text = format!("{what} is declared {} but has rank {{}}", self.show_type(self.fun(frame.fun), ty));
            let operands = vec![self.em.value(&rank)];
            self.emit_check(&same, coded(Code::DeclaredShape, text, operands));
        }
        self.narrow_outer(&v, &axes)
    }

    fn shape_conflict(&mut self, frame: &Frame, ty: &TypePat, v: &Val, what: &str) -> Val {
        let (found, wanted) = (self.show_value_type(v), self.show_type(self.fun(frame.fun), ty));
        let text = format!("{what} is declared {wanted} but is {found}");
        if self.speculative == 0 {
            let site = self.user_site();
            let report = self.of_fault(Code::DeclaredShape, text.clone()).at(site, format!("this is {found}"));
            self.report_from_here(report, site);
            if self.branches == 0 {
                return Val::Bottom;
            }
        }
        self.emit_check(&Sc::bool(false), coded(Code::DeclaredShape, text, Vec::new()));
        // Unreachable code still needs a value of the declared type.
        let kind = self.kind_of_type(frame, ty);
        self.undefined(&kind)
    }

    /// A value for code that is never reached.
    pub fn undefined(&mut self, kind: &Kind) -> Val {
        self.zero_of_kind(kind)
    }

    /// A cast: between a user type and its base, or an assertion of shape.
    pub fn cast(&mut self, frame: &Frame, ty: &TypePat, v: Val) -> Val {
        let Some(elem) = self.elem_of(&v) else {
            return v;
        };
        let want = self.resolve_elem(&frame.families, ty.elem);
        if elem == want {
            return self.assert_shape(frame, ty, v, "the cast");
        }
        if let ElemTy::User(u) = want
            && let UserTypeKind::Typedef { base, shape } = &self.program.user_types[u.index()].kind
        {
            // The base may itself be below: (complex) of a cast to its base's base is not allowed, as in C's typedef chains.
            if *base == elem {
                let inner = self.outer_shape(&v);
                let shape = shape.clone();
                if let Some(have) = &inner {
                    let tail = have.len().checked_sub(shape.len());
                    let fits = tail
                        .is_some_and(|t| have[t..].iter().zip(&shape).all(|(h, s)| h.as_int().is_none_or(|h| h == *s)));
                    if !fits {
                        return self.shape_conflict(frame, ty, &v, "the cast");
                    }
                    let mut axes: Vec<Option<i32>> = vec![None; have.len() - shape.len()];
                    axes.extend(shape.iter().map(|s| Some(*s)));
                    let v = self.narrow_outer(&v, &axes);
                    return self.assert_shape(frame, ty, Val::Wrapped(u, Box::new(v)), "the cast");
                }
                if let Some(mut axes) = self.fixed_axes(&ty.dims) {
                    axes.extend(shape.iter().map(|s| Some(*s)));
                    let v = self.narrow_outer(&v, &axes);
                    return Val::Wrapped(u, Box::new(v));
                }
                return Val::Wrapped(u, Box::new(v));
            }
        }
        if let Val::Wrapped(u, inner) = &v
            && let UserTypeKind::Typedef { base, .. } = &self.program.user_types[u.index()].kind
        {
            if *base == want {
                return self.assert_shape(frame, ty, (**inner).clone(), "the cast");
            }
            if let Val::Wrapped(..) = **inner {
                return self.cast(frame, ty, (**inner).clone());
            }
        }
        let (found, wanted) = (self.show_value_type(&v), self.show_type(self.fun(frame.fun), ty));
        let help = match (elem, want) {
            (ElemTy::Basic(_), ElemTy::Basic(b)) => Some(conversion(b)),
            _ => None,
        };
        let site = self.user_site();
        let mut diagnostic =
            ravel_diagnostics::Diagnostic::error(Code::BadCast, format!("a cast cannot turn {found} into {wanted}"))
                .at(site, format!("this is {found}"))
                .with_note(
                    "casts assert shapes and change between a user type and its base; they never convert numbers",
                );
        // A cast is written as a type in parentheses and an operand.
        let operand =
            self.quotable(site).and_then(|text| text.strip_prefix('(')?.split_once(')')).map(|(_, rest)| rest.trim());
        diagnostic = match (help, operand.filter(|operand| !operand.is_empty())) {
            (Some(name), Some(operand)) => {
                let text = format!("{name}({operand})");
                diagnostic.with_safe_edit(format!("`{text}`"), site, text)
            }
            (Some(name), None) => diagnostic.with_help(format!("use `{name}(...)`")),
            (None, _) => diagnostic,
        };
        self.report(diagnostic);
        Val::Bottom
    }
}

/// A form as a reader can compare it with others: symbols by letters in the order in which they come up in `names`.
fn show_form(form: &Affine, names: &mut Vec<ravel_types::Sym>) -> String {
    const LETTERS: [char; 6] = ['n', 'm', 'k', 'l', 'p', 'q'];
    let mut out = String::new();
    for (symbol, factor) in form.terms() {
        let number = names.iter().position(|known| known == symbol).unwrap_or_else(|| {
            names.push(*symbol);
            names.len() - 1
        });
        let Some(letter) = LETTERS.get(number) else { return ".".to_string() };
        let sign = if *factor < 0 {
            "-"
        } else if out.is_empty() {
            ""
        } else {
            "+"
        };
        let count = match factor.unsigned_abs() {
            1 => String::new(),
            count => count.to_string(),
        };
        out.push_str(&format!("{sign}{count}{letter}"));
    }
    match form.constant_part() {
        0 if !out.is_empty() => out,
        rest if out.is_empty() => rest.to_string(),
        rest => format!("{out}{rest:+}"),
    }
}

/// A selection with a negative constant as index of an axis, with the index that counts from the end: `m[0,-1]` is `m[0,shape(m)[1] - 1]`.
fn counted_from_the_end(text: &str, axis: usize) -> Option<String> {
    let as_vector = text.strip_suffix("]]").and_then(|text| text.rsplit_once("[["));
    let (array, list) = as_vector.or_else(|| text.strip_suffix(']')?.rsplit_once('['))?;
    if list.contains(['[', ']', '(', ')']) {
        return None;
    }
    let mut parts: Vec<String> = list.split(',').map(|part| part.trim().to_string()).collect();
    let count: u32 = parts.get(axis)?.strip_prefix('-')?.trim().parse().ok()?;
    parts[axis] = format!("shape({array})[{axis}] - {count}");
    let (open, close) = if as_vector.is_some() { ("[[", "]]") } else { ("[", "]") };
    Some(format!("{array}{open}{}{close}", parts.join(",")))
}
