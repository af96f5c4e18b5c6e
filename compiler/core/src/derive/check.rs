//! Gradients against central differences, in statements: `check_grad`, and all derivatives under `--check-grad`.
//!
//! ```text
//! value, gx = value_grad(e, x);
//! h = greatest step of the parts of value and x;
//! old = x; error = 0; k = 0;
//! while (k < 8) {
//!     exact = sum of along(each part of gx, k);
//!     x = moved(each part of old, k, h);   above = e;
//!     x = moved(each part of old, k, -h);  below = e;
//!     error = worse(error, exact, above, below, h);
//!     k = k + 1;
//! }
//! x = old;
//! ```
//!
//! Of `vjp` it is the sum of the results times the cotangents that changes, of `jvp` the variables move along the tangents, and what changes is the sum of
//! the results along direction `k`. Under `--check-grad` all of this stands in front of the derivative, with two steps `h`, and runs the first times.

use crate::ir::{Derive, EachPart, Expr, ExprKind, Form, Gives, LocalId, SetId, Stmt, Target, Wrt};
use crate::make;
use crate::modules::ModId;
use crate::overloads::{Syntax, Wanted};
use crate::scope::Body;
use ravel_source::Span;
use ravel_syntax::ast::QName;
use ravel_types::{Basic, BinOp, Prim, Ranks, Scalar};

/// Directions that are tried.
const DIRECTIONS: i32 = 8;
/// Directions that are tried under `--check-grad`, for each of the steps, as shares of the greatest.
const FEW_DIRECTIONS: i32 = 3;
const STEPS: [f64; 2] = [1.0, 0.125];
/// Parts of a variable are numbered from a multiple of this.
const PARTS: i32 = 64;

fn double(value: f64, span: Span) -> Expr {
    make::expr(ExprKind::Const { ty: Basic::Double, value: Scalar::F64(value) }, span)
}

/// A sum over the real parts of values, or the greatest for one.
fn each(
    gives: Gives,
    set: SetId,
    values: Vec<Expr>,
    beside: Vec<Expr>,
    first: i32,
    args: Vec<Expr>,
    span: Span,
) -> Expr {
    make::expr(ExprKind::EachPart(Box::new(EachPart { gives, set, values, beside, first, args })), span)
}

/// The functions of the library that do the work on parts.
struct Helpers {
    step: SetId,
    along: SetId,
    moved: SetId,
    shifted: SetId,
    weighed: SetId,
    whole: SetId,
    worse: SetId,
    off: SetId,
}

/// What a comparison leaves in variables.
struct Compared {
    block: Vec<Stmt>,
    error: LocalId,
    step: LocalId,
}

impl Body<'_, '_> {
    /// The greatest relative error of the gradients; `library` is the module that has the parts of the work.
    pub(super) fn checked_gradients(&mut self, derive: Derive, library: ModId, span: Span) -> Expr {
        let derivatives = derive.wrt.len();
        match self.compared(derive, derivatives, library, span) {
            Some(compared) => make::after(compared.block, make::local(compared.error, span)),
            None => make::error(span),
        }
    }

    /// The statements that compare a derivative with differences, the first times; `wanted` is what the context takes of it.
    pub(super) fn check_of(&mut self, derive: &Derive, wanted: usize, library: ModId, span: Span) -> Vec<Stmt> {
        let derivatives = match (derive.form, derive.with_value) {
            (Form::Jvp, true) => wanted.saturating_sub(derive.results),
            (Form::Jvp, false) => wanted,
            _ => derive.wrt.len(),
        };
        let site = make::int(self.core.program.checked_gradients.len(), span);
        let wanted = self.helper(library, "gradient_is_wanted", 1, span);
        let told = self.helper_with(library, "gradient_is_off", 3, 0, span);
        let (Some(wanted), Some(told)) = (wanted, told) else { return Vec::new() };
        let Some(compared) = self.compared(derive.clone(), derivatives, library, span) else { return Vec::new() };
        self.core.program.checked_gradients.push(span);
        let mut then = compared.block;
        // What is told is no part of any derivative.
        let error = make::prim(Prim::StopGradient, vec![make::local(compared.error, span)], span);
        let args = vec![site.clone(), error, make::local(compared.step, span)];
        then.push(Stmt::Assign {
            targets: Vec::new(),
            value: make::expr(ExprKind::Call { set: told, args }, span),
            span,
        });
        let cond = make::expr(ExprKind::Call { set: wanted, args: vec![site] }, span);
        vec![Stmt::If { cond, then, els: Vec::new(), span }]
    }

    fn compared(&mut self, derive: Derive, derivatives: usize, library: ModId, span: Span) -> Option<Compared> {
        let helpers = Helpers {
            step: self.helper(library, "step", 2, span)?,
            along: self.helper(library, "along", 3, span)?,
            moved: self.helper(library, "moved", 4, span)?,
            shifted: self.helper(library, "shifted", 4, span)?,
            weighed: self.helper(library, "weighed", 3, span)?,
            whole: self.helper(library, "whole", 2, span)?,
            worse: self.helper(library, "worse", 5, span)?,
            off: self.helper(library, "off", 7, span)?,
        };
        let is_option = derive.form != Form::Check;
        let local = |slot: &LocalId| make::local(*slot, span);
        let sum = |set, values, beside, first, args| each(Gives::Sum, set, values, beside, first, args, span);
        let Derive { body, wrt, results, seeds, form, .. } = derive;
        let mut block = Vec::new();
        let seeds: Vec<Expr> = seeds
            .into_iter()
            .map(|seed| {
                let slot = self.temp("seed", span);
                block.push(make::assign(slot, seed));
                local(&slot)
            })
            .collect();
        let values: Vec<_> = (0..results).map(|_| self.temp("value", span)).collect();
        let gradients: Vec<_> = (0..derivatives).map(|_| self.temp("gradient", span)).collect();
        let (size, error, round) = (self.temp("size", span), self.temp("error", span), self.temp("round", span));
        let mut slots: Vec<_> = wrt.iter().map(|one| one.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        let old: Vec<_> = slots.iter().map(|slot| (*slot, self.temp("old", span))).collect();
        let binary = |op, left, right| make::binary(op, Ranks::SxS, left, right, span);

        let targets = values.iter().chain(&gradients).copied().map(Target::Local).collect();
        let (wrt_again, seeds_again) = (wrt.clone(), seeds.clone());
        let derived =
            Derive { form, with_value: true, body: body.clone(), results, wrt: wrt_again, seeds: seeds_again };
        let derived = make::expr(ExprKind::Derive(Box::new(derived)), span);
        block.push(Stmt::Assign { targets, value: derived, span });
        let mut measured: Vec<Expr> = values.iter().map(local).collect();
        measured.extend(wrt.iter().map(|one| field_of(one, make::local(one.slot, span), span)));
        block.push(make::assign(size, each(Gives::Greatest, helpers.step, measured, Vec::new(), 0, Vec::new(), span)));
        block.extend(old.iter().map(|(slot, old)| make::assign(*old, local(slot))));
        block.push(make::assign(error, double(0.0, span)));
        block.push(make::assign(round, make::int(0, span)));

        let mut rounds = Vec::new();
        let exact = match form {
            Form::Jvp => sum(helpers.along, gradients.iter().map(local).collect(), Vec::new(), 0, vec![local(&round)]),
            _ => gradients
                .iter()
                .enumerate()
                .map(|(k, slot)| {
                    sum(helpers.along, vec![local(slot)], Vec::new(), k as i32 * PARTS, vec![local(&round)])
                })
                .reduce(|a, b| binary(BinOp::Add, a, b))
                .unwrap_or_else(|| double(0.0, span)),
        };
        let known = self.temp("exact", span);
        rounds.push(make::assign(known, exact));
        let mut found = Vec::new();
        for share in if is_option { &STEPS[..] } else { &STEPS[..1] } {
            for sign in [1.0, -1.0] {
                let by = binary(BinOp::Mul, double(sign * share, span), local(&size));
                rounds.extend(old.iter().map(|(slot, old)| make::assign(*slot, local(old))));
                for (k, one) in wrt.iter().enumerate() {
                    let field = vec![field_of(one, make::local(one.slot, span), span)];
                    let first = k as i32 * PARTS;
                    let new = match form {
                        Form::Jvp => {
                            let along = vec![seeds[k].clone()];
                            each(Gives::Value, helpers.shifted, field, along, first, vec![by.clone()], span)
                        }
                        _ => {
                            let args = vec![local(&round), by.clone()];
                            each(Gives::Value, helpers.moved, field, Vec::new(), first, args, span)
                        }
                    };
                    let whole = with_field(make::local(one.slot, span), &one.path, new, span);
                    rounds.push(make::assign(one.slot, whole));
                }
                let there: Vec<_> = (0..results).map(|_| self.temp("there", span)).collect();
                let targets = there.iter().copied().map(Target::Local).collect();
                rounds.push(Stmt::Assign { targets, value: body.clone(), span });
                let reached: Vec<Expr> = there.iter().map(local).collect();
                let total = match form {
                    Form::Check => local(&there[0]),
                    Form::Grad => sum(helpers.whole, reached, Vec::new(), 0, Vec::new()),
                    Form::Vjp => sum(helpers.weighed, reached, seeds.clone(), 0, Vec::new()),
                    Form::Jvp => sum(helpers.along, reached, Vec::new(), 0, vec![local(&round)]),
                };
                let slot = self.temp("total", span);
                rounds.push(make::assign(slot, total));
                found.push(local(&slot));
            }
        }
        let mut args = vec![local(&error), local(&known)];
        args.extend(found);
        args.push(local(&size));
        let set = if is_option { helpers.off } else { helpers.worse };
        rounds.push(make::assign(error, make::expr(ExprKind::Call { set, args }, span)));
        rounds.push(make::assign(round, binary(BinOp::Add, local(&round), make::int(1, span))));
        let directions = if is_option { FEW_DIRECTIONS } else { DIRECTIONS };
        let cond = binary(BinOp::Lt, local(&round), make::signed(directions, span));
        block.push(Stmt::While { cond, body: rounds, do_first: false, span });
        block.extend(old.iter().map(|(slot, old)| make::assign(*slot, local(old))));
        Some(Compared { block, error, step: size })
    }

    fn helper(&mut self, library: ModId, name: &str, args: usize, span: Span) -> Option<SetId> {
        self.helper_with(library, name, args, 1, span)
    }

    fn helper_with(&mut self, library: ModId, name: &str, args: usize, results: usize, span: Span) -> Option<SetId> {
        let name = QName { module: None, name: name.into(), span };
        Some(self.core.callee(library, &name, args, Wanted::Count(results), Syntax::Call)?.set)
    }
}

/// What a derivative is taken by, in a value of its variable.
fn field_of(one: &Wrt, value: Expr, span: Span) -> Expr {
    one.path
        .iter()
        .fold(value, |value, field| make::expr(ExprKind::Field { value: Box::new(value), field: field.clone() }, span))
}

/// A value with a new one at a path of fields.
fn with_field(value: Expr, path: &[std::sync::Arc<str>], new: Expr, span: Span) -> Expr {
    let Some((field, inner)) = path.split_first() else { return new };
    let old = make::expr(ExprKind::Field { value: Box::new(value.clone()), field: field.clone() }, span);
    let new = Box::new(with_field(old, inner, new, span));
    make::expr(ExprKind::WithField { value: Box::new(value), field: field.clone(), new }, span)
}
