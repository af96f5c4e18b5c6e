//! A function of the library applied to each real part of a value.

use crate::derive::is_real;
use crate::spec::{Frame, Spec};
use crate::value::{Sc, Val};
use ravel_core::ir::{EachPart, Gives};
use ravel_source::Span;
use ravel_types::{Basic, BinOp, Scalar};

impl Spec<'_> {
    pub fn each_part(&mut self, frame: &mut Frame, each: &EachPart, span: Span) -> Val {
        let values = self.arguments(frame, &each.values);
        let beside = self.arguments(frame, &each.beside);
        let args = self.arguments(frame, &each.args);
        self.at(span);
        let mut parts = Vec::new();
        beside.iter().for_each(|value| real_values(value, &mut parts));
        let mut beside = parts.into_iter();
        let mut results = Vec::new();
        let mut mapped = Val::Bottom;
        for value in &values {
            mapped = self.map_parts(value, each, (&mut beside, &args), span, &mut results);
        }
        let op = match each.gives {
            Gives::Value => return mapped,
            Gives::Sum => BinOp::Add,
            Gives::Greatest => BinOp::Max,
        };
        let mut total = Sc::Const(Scalar::F64(0.0));
        for result in results {
            let Val::Sc(Basic::Double, result) = result else { return Val::Bottom };
            total = self.em.bin(op, Basic::Double, &total, &result);
        }
        Val::Sc(Basic::Double, total)
    }

    fn map_parts(
        &mut self,
        v: &Val,
        each: &EachPart,
        (beside, args): (&mut dyn Iterator<Item = Val>, &[Val]),
        span: Span,
        results: &mut Vec<Val>,
    ) -> Val {
        match v {
            Val::Sc(b, _) | Val::Tup(b, _) | Val::Arr(b, _) if is_real(*b) => {
                let number = Val::Sc(Basic::Int, Sc::int(each.first + results.len() as i32));
                let first = [Some(v.clone()), beside.next(), Some(number)].into_iter().flatten();
                let args = first.chain(args.iter().cloned()).collect();
                let result = self.call_set(each.set, args, 1, span).into_iter().next().unwrap_or(Val::Bottom);
                results.push(result.clone());
                result
            }
            Val::Wrapped(u, inner) => match self.map_parts(inner, each, (beside, args), span, results) {
                Val::Bottom => Val::Bottom,
                inner => Val::Wrapped(*u, Box::new(inner)),
            },
            Val::Struct(s, fields) => {
                let map = |field| self.map_parts(field, each, (&mut *beside, args), span, results);
                let fields: Vec<Val> = fields.iter().map(map).collect();
                match fields.iter().any(|field| matches!(field, Val::Bottom)) {
                    true => Val::Bottom,
                    false => Val::Struct(*s, fields),
                }
            }
            other => other.clone(),
        }
    }
}

/// The real parts of a value, as values.
fn real_values(v: &Val, out: &mut Vec<Val>) {
    match v {
        Val::Sc(b, _) | Val::Tup(b, _) | Val::Arr(b, _) if is_real(*b) => out.push(v.clone()),
        Val::Wrapped(_, inner) => real_values(inner, out),
        Val::Struct(_, fields) => fields.iter().for_each(|field| real_values(field, out)),
        _ => {}
    }
}
