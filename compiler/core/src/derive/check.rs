//! `check_grad`: gradients against central differences, in statements.
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

use crate::ir::{Derive, EachPart, Expr, ExprKind, Form, Gives, SetId, Stmt, Target, Wrt};
use crate::make;
use crate::modules::ModId;
use crate::overloads::{Syntax, Wanted};
use crate::scope::Body;
use ravel_source::Span;
use ravel_syntax::ast::QName;
use ravel_types::{Basic, BinOp, Ranks, Scalar};

/// Directions that are tried.
const DIRECTIONS: i32 = 8;
/// Parts of a variable are numbered from a multiple of this.
const PARTS: i32 = 64;

fn double(value: f64, span: Span) -> Expr {
    make::expr(ExprKind::Const { ty: Basic::Double, value: Scalar::F64(value) }, span)
}

impl Body<'_, '_> {
    /// The greatest relative error of the gradients; `library` is the module that has the parts of the work.
    pub(super) fn checked_gradients(&mut self, derive: Derive, library: ModId, span: Span) -> Expr {
        let names = [("step", 2), ("along", 3), ("moved", 4), ("worse", 5)];
        let [Some(step), Some(along), Some(moved), Some(worse)] =
            names.map(|(name, args)| self.helper(library, name, args, span))
        else {
            return make::error(span);
        };
        let Derive { body, wrt, .. } = derive;
        let local = |slot| make::local(slot, span);
        let value = self.temp("value", span);
        let gradients: Vec<_> = wrt.iter().map(|_| self.temp("gradient", span)).collect();
        let (size, error, round) = (self.temp("size", span), self.temp("error", span), self.temp("round", span));
        let mut slots: Vec<_> = wrt.iter().map(|one| one.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        let old: Vec<_> = slots.iter().map(|slot| (*slot, self.temp("old", span))).collect();
        let each = |gives, set: SetId, value, first, args| {
            make::expr(ExprKind::EachPart(Box::new(EachPart { gives, set, value, first, args })), span)
        };
        let binary = |op, left, right| make::binary(op, Ranks::SxS, left, right, span);

        let targets = std::iter::once(value).chain(gradients.iter().copied()).map(Target::Local).collect();
        let derived = Derive {
            form: Form::Check,
            with_value: true,
            body: body.clone(),
            results: 1,
            wrt: wrt.clone(),
            seeds: Vec::new(),
        };
        let derived = make::expr(ExprKind::Derive(Box::new(derived)), span);
        let mut block = vec![Stmt::Assign { targets, value: derived, span }];
        let measured = std::iter::once(local(value)).chain(wrt.iter().map(|one| field_of(one, local(one.slot), span)));
        let greatest = measured
            .map(|value| each(Gives::Greatest, step, value, 0, Vec::new()))
            .reduce(|a, b| binary(BinOp::Max, a, b))
            .unwrap_or_else(|| double(0.0, span));
        block.push(make::assign(size, greatest));
        block.extend(old.iter().map(|(slot, old)| make::assign(*old, local(*slot))));
        block.push(make::assign(error, double(0.0, span)));
        block.push(make::assign(round, make::int(0, span)));

        let mut rounds = Vec::new();
        let exact = gradients
            .iter()
            .enumerate()
            .map(|(k, slot)| each(Gives::Sum, along, local(*slot), k as i32 * PARTS, vec![local(round)]))
            .reduce(|a, b| binary(BinOp::Add, a, b))
            .unwrap_or_else(|| double(0.0, span));
        let known = self.temp("exact", span);
        rounds.push(make::assign(known, exact));
        let mut found = Vec::new();
        for sign in [1.0, -1.0] {
            let by = binary(BinOp::Mul, double(sign, span), local(size));
            rounds.extend(old.iter().map(|(slot, old)| make::assign(*slot, local(*old))));
            for (k, one) in wrt.iter().enumerate() {
                let field = field_of(one, local(one.slot), span);
                let new = each(Gives::Value, moved, field, k as i32 * PARTS, vec![local(round), by.clone()]);
                rounds.push(make::assign(one.slot, with_field(local(one.slot), &one.path, new, span)));
            }
            let there = self.temp("there", span);
            rounds.push(make::assign(there, body.clone()));
            found.push(local(there));
        }
        let mut args = vec![local(error), local(known)];
        args.extend(found);
        args.push(local(size));
        rounds.push(make::assign(error, make::expr(ExprKind::Call { set: worse, args }, span)));
        rounds.push(make::assign(round, binary(BinOp::Add, local(round), make::int(1, span))));
        let cond = binary(BinOp::Lt, local(round), make::signed(DIRECTIONS, span));
        block.push(Stmt::While { cond, body: rounds, do_first: false, span });
        block.extend(old.iter().map(|(slot, old)| make::assign(*slot, local(*old))));
        make::after(block, local(error))
    }

    fn helper(&mut self, library: ModId, name: &str, args: usize, span: Span) -> Option<SetId> {
        let name = QName { module: None, name: name.into(), span };
        Some(self.core.callee(library, &name, args, Wanted::Count(1), Syntax::Call)?.set)
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
