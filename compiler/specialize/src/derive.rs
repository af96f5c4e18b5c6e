//! Derivatives: an expression is elaborated in a region whose parameters are the real parts of the variables.
//!
//! The region yields what carries the results of the expression. Everything else that it reads is captured, and so constant. Cotangents are
//! compared with the results at the end of the region, so that a misfit faults before any reverse code runs; tangents are compared with
//! their variables before it.

use crate::check::Agree;
use crate::spec::{Frame, Spec};
use crate::value::{Kind, LeafShape, Sc, ShapeKind, Val};
use crate::walk;
use ravel_core::ir::{Derive, Expr, ExprKind, Form, LocalId, Wrt};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_types::{Basic, Scalar, Shape, Ty};
use ravel_wir::{Frame as WirFrame, Mode, Op, Value, With, WithOp};
use std::collections::BTreeSet;

mod each_part;
pub mod flow;
mod paths;
mod rules;

pub fn is_real(basic: Basic) -> bool {
    matches!(basic, Basic::Float | Basic::Double)
}

/// Whether a value has real parts.
pub fn has_real(v: &Val) -> bool {
    match v {
        Val::Bottom | Val::Handle(..) => false,
        Val::Sc(b, _) | Val::Tup(b, _) | Val::Arr(b, _) => is_real(*b),
        Val::Wrapped(_, v) => has_real(v),
        Val::Struct(_, fields) => fields.iter().any(has_real),
    }
}

/// Whether a value has parts that are no numbers and no bools.
fn has_others(v: &Val) -> bool {
    match v {
        Val::Bottom => false,
        Val::Handle(..) | Val::Sc(Basic::Char, _) | Val::Tup(Basic::Char, _) | Val::Arr(Basic::Char, _) => true,
        Val::Sc(..) | Val::Tup(..) | Val::Arr(..) => false,
        Val::Wrapped(_, v) => has_others(v),
        Val::Struct(_, fields) => fields.iter().any(has_others),
    }
}

/// Which leaves of a kind are real, in the order of its leaves.
fn real_leaves(kinds: &[Kind]) -> Vec<bool> {
    kinds.iter().flat_map(Spec::leaves_of).map(|(elem, _)| elem.is_float()).collect()
}

/// What takes the place of parts that are not real.
#[derive(Clone, Copy, PartialEq)]
pub enum Others {
    Kept,
    Zero,
}

impl<'p> Spec<'p> {
    /// The results of a derivative, `n` of them.
    pub fn derive(&mut self, frame: &mut Frame, derive: &Derive, n: usize) -> Vec<Val> {
        let site = self.here;
        let seeds: Vec<Val> = derive.seeds.iter().map(|seed| self.expr(frame, seed)).collect();
        self.here = site;
        let failed = vec![Val::Bottom; n];
        let Some(variables) = self.variables(frame, derive) else { return failed };
        if seeds.iter().any(|seed| matches!(seed, Val::Bottom)) {
            return failed;
        }
        if derive.form == Form::Jvp {
            for (((seed, of), wrt), written) in seeds.iter().zip(&variables).zip(&derive.wrt).zip(&derive.seeds) {
                let what = format!("the tangent of `{}`", self.options.map.snippet(wrt.span));
                self.at(written.span);
                if !self.fits(seed, of, &what, "variable") {
                    return failed;
                }
            }
            self.here = site;
        }
        let mut args = Vec::new();
        let mut counts = Vec::new();
        for v in &variables {
            let before = args.len();
            self.real_parts(v, &mut args);
            counts.push(args.len() - before);
        }
        let types: Vec<Ty> = args.iter().map(|arg| self.em.func.ty(*arg).clone()).collect();

        let opened = self.em.open();
        let leaves: Vec<_> = types.iter().map(leaf_of).collect();
        let params = self.em.params_for(opened.region, &leaves);
        let mut inner = frame.fork();
        let mut each = params.iter().copied();
        for (wrt, v) in derive.wrt.iter().zip(&variables) {
            let bound = self.with_real_parts(v, &mut each, Others::Kept);
            self.bind(&mut inner, wrt, bound);
        }
        let mut values = self.body_of(frame, &mut inner, derive);
        self.at(derive.body.span);
        let seeds = self.end_of_region(derive, &mut values, seeds);
        let region = self.em.close(opened);
        self.here = site;
        let Some(seeds) = seeds else { return failed };
        let Some(changed) = self.changed(frame, &inner, derive) else { return failed };

        let mut kinds = Vec::new();
        for (k, v) in values.iter().enumerate() {
            let kind = self.em.visible_kind(v).forget_values(true);
            let seed = seeds.get(k).filter(|_| derive.form != Form::Jvp);
            kinds.push(with_arrays_of(kind, seed.and_then(Option::as_ref)));
        }
        for (_, v) in &changed {
            kinds.push(self.em.visible_kind(v));
        }
        let opened = self.em.reopen(region);
        let mut yields = Vec::new();
        for (v, kind) in values.iter().chain(changed.iter().map(|(_, v)| v)).zip(&kinds) {
            self.em.flatten(v, kind, &mut yields);
        }
        self.em.set_yields(region, yields);
        self.em.close(opened);
        self.warn_of_zeros(&derive.wrt, &counts, region);

        let (mode, seeds) = match derive.form {
            Form::Jvp => {
                let mut leaves = Vec::new();
                for (seed, like) in seeds.iter().zip(&variables) {
                    let kind = self.em.kind_of(like).forget_values(true);
                    seed.iter().for_each(|seed| self.seed_parts(seed, &kind, &mut leaves));
                }
                (Mode::Forward, leaves)
            }
            Form::Grad | Form::Vjp | Form::Check => {
                let mut leaves = Vec::new();
                for (seed, kind) in seeds.iter().zip(&kinds) {
                    seed.iter().for_each(|seed| self.seed_parts(seed, kind, &mut leaves));
                }
                (Mode::Reverse, leaves)
            }
        };
        let leaves: Vec<_> = kinds.iter().flat_map(Spec::leaves_of).collect();
        let is_real = real_leaves(&kinds);
        let op = Op::Derive { mode, args, seeds, body: region };
        let results = self.em.inst_leaves_and(op, &leaves, |yields| match mode {
            Mode::Forward => yields.iter().zip(&is_real).filter(|(_, real)| **real).map(|(ty, _)| ty.clone()).collect(),
            Mode::Reverse => types,
        });
        let mut results = results.into_iter();
        let mut out: Vec<Val> = kinds.iter().map(|kind| self.em.instantiate(kind, &mut results)).collect();
        for ((slot, _), v) in changed.iter().zip(out.split_off(values.len())) {
            frame.env[slot.index()] = Some(v);
        }
        let derivatives: Vec<Val> = match mode {
            Mode::Reverse => variables.iter().map(|v| self.with_real_parts(v, &mut results, Others::Zero)).collect(),
            Mode::Forward => out
                .iter()
                .filter(|v| has_real(v))
                .map(|v| self.with_real_parts(v, &mut results, Others::Zero))
                .collect(),
        };
        if !derive.with_value {
            out.clear();
        }
        out.extend(derivatives);
        if out.len() != n {
            self.wrong_number(derive, &values, n);
            return failed;
        }
        out
    }

    /// The values of the variables, which are real.
    fn variables(&mut self, frame: &Frame, derive: &Derive) -> Option<Vec<Val>> {
        let mut variables = Vec::new();
        let mut complete = true;
        for wrt in &derive.wrt {
            self.at(wrt.span);
            let mut v = frame.env[wrt.slot.index()].clone().unwrap_or(Val::Bottom);
            let read = Expr { kind: ExprKind::Local(wrt.slot), span: wrt.span };
            self.note_expr(frame, &read, &v);
            for field in &wrt.path {
                v = match self.field_index(&v, field) {
                    Some((i, Val::Struct(s, mut fields))) => {
                        self.note_record(wrt.span, field, s);
                        fields.swap_remove(i)
                    }
                    _ => Val::Bottom,
                };
            }
            complete &= !matches!(v, Val::Bottom) && self.has_derivatives(&v, wrt);
            variables.push(v);
        }
        complete.then_some(variables)
    }

    /// Reports a variable that has no derivatives.
    fn has_derivatives(&mut self, v: &Val, wrt: &Wrt) -> bool {
        let shown = self.show_value_type(v);
        let name = self.options.map.snippet(wrt.span).to_string();
        let is_record = matches!(v, Val::Struct(..));
        if !has_real(v) {
            let title = format!("nothing is derived by `{name}`: it is {shown}, not real");
            let report = Diagnostic::error(Code::NotReal, title).at(wrt.span, format!("this is {shown}"));
            let report = match is_record {
                true => report.with_note("a record has derivatives by its real fields, and this one has none"),
                false => report.with_note("values of float and double have derivatives, and records of them"),
            };
            self.report_from_here(report, wrt.span);
            return false;
        }
        if has_others(v) {
            let title = format!("nothing is derived by `{name}`: {shown} has fields that are no numbers");
            let report = Diagnostic::error(Code::NotReal, title)
                .at(wrt.span, format!("this is {shown}"))
                .with_note("a gradient has the type of its variable, with zeros in integers and false in bools")
                .with_help(format!("derive by the real fields, as in `{name}{}`", self.first_real_field(v)));
            self.report_from_here(report, wrt.span);
            return false;
        }
        true
    }

    /// `.field` of a record.
    fn first_real_field(&self, v: &Val) -> String {
        let Val::Struct(s, fields) = v else { return String::new() };
        let names = self.program.structs[s.index()].fields.iter().zip(fields);
        let first = names.into_iter().find(|(_, v)| has_real(v) && !has_others(v));
        first.map_or(String::new(), |(field, _)| format!(".{}", field.name))
    }

    /// Gives a variable another value.
    fn bind(&mut self, frame: &mut Frame, wrt: &Wrt, v: Val) {
        let slot = &mut frame.env[wrt.slot.index()];
        let whole = slot.take().unwrap_or(Val::Bottom);
        *slot = Some(self.replaced(whole, &wrt.path, v));
    }

    fn replaced(&self, whole: Val, path: &[std::sync::Arc<str>], v: Val) -> Val {
        let Some((field, inner)) = path.split_first() else { return v };
        let Val::Struct(s, mut fields) = whole else { return Val::Bottom };
        let Some(i) = self.program.structs[s.index()].fields.iter().position(|f| f.name == **field) else {
            return Val::Bottom;
        };
        let old = std::mem::replace(&mut fields[i], Val::Bottom);
        fields[i] = self.replaced(old, inner, v);
        Val::Struct(s, fields)
    }

    /// The WIR values of the real parts.
    fn real_parts(&mut self, v: &Val, out: &mut Vec<Value>) {
        match v {
            Val::Sc(b, s) if is_real(*b) => out.push(self.em.value(s)),
            Val::Tup(b, s) if is_real(*b) => out.extend(self.em.values(s)),
            Val::Arr(b, v) if is_real(*b) => out.push(*v),
            Val::Wrapped(_, v) => self.real_parts(v, out),
            Val::Struct(_, fields) => fields.iter().for_each(|field| self.real_parts(field, out)),
            _ => {}
        }
    }

    /// A value like another one, whose real parts are carried by `parts`.
    fn with_real_parts(&mut self, v: &Val, parts: &mut impl Iterator<Item = Value>, others: Others) -> Val {
        let mut next = || parts.next().expect("a value per real part");
        match v {
            Val::Sc(b, _) if is_real(*b) => Val::Sc(*b, Sc::Val(next())),
            Val::Tup(b, s) if is_real(*b) => Val::Tup(*b, s.iter().map(|_| Sc::Val(next())).collect()),
            Val::Arr(b, _) if is_real(*b) => Val::Arr(*b, next()),
            Val::Wrapped(u, v) => Val::Wrapped(*u, Box::new(self.with_real_parts(v, parts, others))),
            Val::Struct(s, fields) => {
                Val::Struct(*s, fields.iter().map(|field| self.with_real_parts(field, parts, others)).collect())
            }
            other if others == Others::Kept => other.clone(),
            other => self.zeros_like(other),
        }
    }

    /// Zeros, or `false`, of the type and shape of a value without real parts.
    fn zeros_like(&mut self, v: &Val) -> Val {
        let zero = |b: Basic| Sc::Const(Scalar::zero(b.elem()).unwrap_or(Scalar::Bool(false)));
        match v {
            Val::Sc(b, _) => Val::Sc(*b, zero(*b)),
            Val::Tup(b, s) => Val::Tup(*b, vec![zero(*b); s.len()]),
            Val::Arr(b, array) => match self.em.extents(*array) {
                Some(extents) => self.zero_array(*b, &extents),
                None => {
                    let shape = self.shape_vector(v);
                    let shape = self.em.boxed(&shape).expect("a shape is a vector");
                    let frame = WirFrame::Dyn(shape);
                    let ops = vec![WithOp::Genarray { frame, cell: Some(Vec::new()), default: None }];
                    let with = With { parts: Vec::new(), ops, ordered: false };
                    Val::Arr(*b, self.em.inst1(Op::With(with), Ty::new(b.elem(), Shape::Unknown)))
                }
            },
            other => other.clone(),
        }
    }

    /// `stop_gradient` of a value: its real parts lose their derivatives.
    pub fn stop_gradient(&mut self, v: Val) -> Val {
        let mut detach = |v: Value| {
            let ty = self.em.func.ty(v).clone();
            self.em.inst1(Op::Detach(v), ty)
        };
        match v {
            Val::Sc(b, Sc::Val(v)) if is_real(b) => Val::Sc(b, Sc::Val(detach(v))),
            Val::Tup(b, s) if is_real(b) => {
                let s = s.into_iter().map(|s| match s {
                    Sc::Val(v) => Sc::Val(detach(v)),
                    other => other,
                });
                Val::Tup(b, s.collect())
            }
            Val::Arr(b, v) if is_real(b) && self.em.const_data(v).is_none() => {
                let ty = self.em.func.ty(v).clone();
                Val::Arr(b, self.em.inst1(Op::Detach(v), ty))
            }
            Val::Wrapped(u, v) => Val::Wrapped(u, Box::new(self.stop_gradient(*v))),
            Val::Struct(s, fields) => Val::Struct(s, fields.into_iter().map(|v| self.stop_gradient(v)).collect()),
            other => other,
        }
    }

    /// Checks the results at the end of the region; gives the seed of each, nothing for those that are not real. Of tangents, those of the
    /// variables.
    fn end_of_region(&mut self, derive: &Derive, values: &mut [Val], seeds: Vec<Val>) -> Option<Vec<Option<Val>>> {
        if values.iter().any(|v| self.em.kind_of(v).has_bottom()) {
            return None;
        }
        let real = values.iter().filter(|v| has_real(v)).count();
        let name = derive.form.name(derive.with_value);
        if real == 0 {
            let shown: Vec<String> = values.iter().map(|v| self.show_value_type(v)).collect();
            let title = format!("`{name}` is taken of {}, which is not real", shown.join(", "));
            self.error(Code::NotReal, title, "nothing here has derivatives");
            return None;
        }
        match derive.form {
            Form::Jvp => Some(seeds.into_iter().map(Some).collect()),
            Form::Grad | Form::Check => {
                if real > 1 {
                    let title = format!("`{name}` is taken of {real} real results, and only one has a gradient");
                    let report = Diagnostic::error(Code::NotOneScalar, title)
                        .at(self.user_site(), "this gives several")
                        .with_help(
                            "`vjp(e, [x], s1, s2)` takes a weight for each, `stop_gradient` makes a result constant",
                        );
                    self.report(report);
                    return None;
                }
                let mut seeds = Vec::new();
                for v in values {
                    seeds.push(match has_real(v) {
                        true => Some(self.one_scalar(name, v)?),
                        false => None,
                    });
                }
                Some(seeds)
            }
            Form::Vjp => {
                if real != seeds.len() {
                    let (given, has) = (seeds.len(), real);
                    let title = format!("`{name}` takes a cotangent for each real result: {has}, not {given}");
                    self.error(Code::DerivativeCounts, title, format!("this gives {has} real"));
                    return None;
                }
                let mut seeds = seeds.into_iter().zip(&derive.seeds);
                let mut out = Vec::new();
                for (k, v) in values.iter().enumerate() {
                    if !has_real(v) {
                        out.push(None);
                        continue;
                    }
                    let (seed, written) = seeds.next()?;
                    let what = match derive.results {
                        1 => "the cotangent".to_string(),
                        _ => format!("the cotangent of result {}", k + 1),
                    };
                    self.at(written.span);
                    if !self.fits(&seed, v, &what, "result") {
                        return None;
                    }
                    out.push(Some(seed));
                }
                Some(out)
            }
        }
    }

    /// The seed of `grad`, whose value must be a scalar.
    fn one_scalar(&mut self, name: &str, v: &mut Val) -> Option<Val> {
        if matches!(v, Val::Arr(..)) && self.outer_rank(v).is_none() {
            *v = self.narrow_outer(v, &[]);
        }
        if let Val::Sc(b, _) = v {
            return Some(Val::Sc(*b, Sc::Const(Scalar::from_i64(b.elem(), 1)?)));
        }
        let shown = self.show_value_type(v);
        let site = self.user_site();
        let title = format!("`{name}` is taken of {shown}, and only a scalar has a gradient");
        let report = Diagnostic::error(Code::NotOneScalar, title).at(site, format!("this is {shown}"));
        let report = match self.quotable(site).map(str::to_string) {
            Some(text) if matches!(v, Val::Tup(..) | Val::Arr(..)) => {
                let new = format!("sum({text})");
                report.with_edit(format!("`{new}`, the gradient of the sum"), site, new).with_note(format!(
                    "`vjp({text}, [x], s)` weighs the elements by `s`, `jvp({text}, [x], t)` gives all tangents"
                ))
            }
            _ => report.with_help("`vjp(e, [x], s)` weighs the parts of `e` by those of `s`"),
        };
        self.report_from_here(report, site);
        None
    }

    /// Checks that a seed has the type and the shape of what it belongs to. Parts that are not real do not matter.
    fn fits(&mut self, seed: &Val, of: &Val, what: &str, owner: &str) -> bool {
        match (seed, of) {
            (Val::Bottom, _) | (_, Val::Bottom) => false,
            (Val::Wrapped(a, seed), Val::Wrapped(b, of)) if a == b => self.fits(seed, of, what, owner),
            (Val::Struct(a, seeds), Val::Struct(b, ofs)) if a == b => {
                let names: Vec<String> =
                    self.program.structs[a.index()].fields.iter().map(|field| field.name.clone()).collect();
                let fields = seeds.iter().zip(ofs).zip(names);
                let mut fit = true;
                for ((seed, of), name) in fields {
                    fit &= !has_real(of) || self.fits(seed, of, &format!("field `{name}` of {what}"), owner);
                }
                fit
            }
            (Val::Sc(a, _) | Val::Tup(a, _) | Val::Arr(a, _), Val::Sc(b, _) | Val::Tup(b, _) | Val::Arr(b, _))
                if a == b =>
            {
                match (self.outer_shape(of), self.outer_shape(seed)) {
                    (Some(x), Some(y)) if x.len() == y.len() => {
                        let axes = x.into_iter().zip(y).enumerate();
                        let pairs: Vec<Agree> =
                            axes.map(|(axis, (left, right))| Agree { left, right, axis: axis as u32 }).collect();
                        let differ = |spec: &mut Self, pair: &Agree| {
                            let difference = spec.em.form(&pair.left).sub(&spec.em.form(&pair.right));
                            difference.as_const().is_some_and(|n| n != 0)
                        };
                        let possible = !pairs.iter().any(|pair| differ(self, pair));
                        self.require_agreement(&pairs, &format!("the {owner} and {what}"), None);
                        possible
                    }
                    (Some(x), Some(y)) => {
                        self.require_same_rank(x.len(), y.len(), &format!("the {owner} and {what}"));
                        false
                    }
                    _ => {
                        self.require_same_shape(of, seed, &format!("the {owner} and {what}"));
                        true
                    }
                }
            }
            _ => {
                let (found, wanted) = (self.show_value_type(seed), self.show_value_type(of));
                let title = format!("{what} is {found}, and its {owner} {wanted}");
                match (self.elem_of(seed), self.elem_of(of)) {
                    (Some(a), Some(b)) if !matches!(of, Val::Struct(..)) => {
                        self.wrong_seed(seed, (a, b), title, format!("this is {found}"));
                    }
                    _ => self.error(Code::SeedMisfit, title, format!("this is {found}")),
                }
                false
            }
        }
    }

    /// The WIR values of the real parts of a seed, as a kind carries them.
    fn seed_parts(&mut self, seed: &Val, kind: &Kind, out: &mut Vec<Value>) {
        match (seed, kind) {
            (Val::Wrapped(_, seed), Kind::Wrapped(_, kind)) => self.seed_parts(seed, kind, out),
            (Val::Struct(_, seeds), Kind::Struct(_, kinds)) => {
                seeds.iter().zip(kinds).for_each(|(seed, kind)| self.seed_parts(seed, kind, out));
            }
            (seed, Kind::Sc(b, _) | Kind::Tup(b, _) | Kind::Arr(b, _)) if is_real(*b) => {
                let rank = kind.shape_kind().and_then(|shape| shape.rank());
                let seed = match (seed, rank, self.outer_rank(seed)) {
                    (Val::Arr(..), Some(rank), None) => self.narrow_outer(seed, &vec![None; rank]),
                    _ => seed.clone(),
                };
                match (&seed, kind) {
                    (Val::Sc(_, s), Kind::Arr(_, ShapeKind::Known(_))) => out.push(self.em.value(s)),
                    _ => self.em.flatten(&seed, kind, out),
                }
            }
            _ => {}
        }
    }

    /// Variables that the expression gives new values.
    fn changed(&mut self, frame: &Frame, inner: &Frame, derive: &Derive) -> Option<Vec<(LocalId, Val)>> {
        let mut slots = BTreeSet::new();
        walk::assigned_in_expr(&derive.body, &mut slots);
        let mut changed = Vec::new();
        for slot in slots {
            let (Some(_), Some(v)) = (&frame.env[slot.index()], &inner.env[slot.index()]) else { continue };
            if has_real(v) {
                let local = &self.fun(frame.fun).locals[slot.index()];
                let name = derive.form.name(derive.with_value);
                let title = format!("the expression of `{name}` gives `{}` a new value", local.name);
                self.at(derive.body.span);
                self.error(Code::DerivativeCounts, title, "a derivative is one of the results alone");
                return None;
            }
            changed.push((slot, v.clone()));
        }
        Some(changed)
    }

    /// Reports targets that are not as many as the results.
    fn wrong_number(&mut self, derive: &Derive, values: &[Val], wanted: usize) {
        let name = derive.form.name(derive.with_value);
        let real = values.iter().filter(|v| has_real(v)).count();
        let tangents = if real == 1 { "1 tangent".to_string() } else { format!("{real} tangents") };
        let title = match derive.with_value {
            true => format!("`{name}` gives {} of the expression and {tangents}, {wanted} wanted here", values.len()),
            false => format!("`{name}` gives {tangents}, {wanted} wanted here"),
        };
        self.error(Code::DerivativeCounts, title, "there is a tangent for each real result");
    }
}

/// The leaf that a value of this type carries.
pub fn leaf_of(ty: &Ty) -> (ravel_types::Elem, LeafShape) {
    let shape = match &ty.shape {
        Shape::Known(extents) if extents.is_empty() => LeafShape::Scalar,
        Shape::Known(extents) => LeafShape::Array(ShapeKind::Known(extents.iter().cloned().map(Some).collect())),
        Shape::Unknown => LeafShape::Array(ShapeKind::Unknown),
    };
    (ty.elem, shape)
}

/// The kind of a result, with short vectors as arrays where the seed is one: its elements cannot be taken before its length is checked.
fn with_arrays_of(kind: Kind, seed: Option<&Val>) -> Kind {
    match (kind, seed) {
        (Kind::Tup(b, ks), Some(Val::Arr(..))) => {
            let extent = ravel_types::Affine::constant(ks.len() as i32);
            Kind::Arr(b, ShapeKind::Known(vec![Some(extent)]))
        }
        (Kind::Wrapped(u, kind), Some(Val::Wrapped(_, seed))) => {
            Kind::Wrapped(u, Box::new(with_arrays_of(*kind, Some(seed))))
        }
        (Kind::Struct(s, kinds), Some(Val::Struct(_, seeds))) => {
            let kinds = kinds.into_iter().zip(seeds).map(|(kind, seed)| with_arrays_of(kind, Some(seed)));
            Kind::Struct(s, kinds.collect())
        }
        (kind, _) => kind,
    }
}
