//! A function of the library applied to each real part of a value.

use crate::derive::is_real;
use crate::spec::{Frame, Spec};
use crate::value::{Sc, Val};
use ravel_core::ir::{EachPart, Gives};
use ravel_source::Span;
use ravel_types::{Basic, BinOp, Scalar};

impl Spec<'_> {
    pub fn each_part(&mut self, frame: &mut Frame, each: &EachPart, span: Span) -> Val {
        let value = self.expr(frame, &each.value);
        let args = self.arguments(frame, &each.args);
        self.at(span);
        let mut results = Vec::new();
        let mapped = self.map_parts(&value, each, &args, span, &mut results);
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

    fn map_parts(&mut self, v: &Val, each: &EachPart, args: &[Val], span: Span, results: &mut Vec<Val>) -> Val {
        match v {
            Val::Sc(b, _) | Val::Tup(b, _) | Val::Arr(b, _) if is_real(*b) => {
                let number = Val::Sc(Basic::Int, Sc::int(each.first + results.len() as i32));
                let args = [v.clone(), number].into_iter().chain(args.iter().cloned()).collect();
                let result = self.call_set(each.set, args, 1, span).into_iter().next().unwrap_or(Val::Bottom);
                results.push(result.clone());
                result
            }
            Val::Wrapped(u, inner) => match self.map_parts(inner, each, args, span, results) {
                Val::Bottom => Val::Bottom,
                inner => Val::Wrapped(*u, Box::new(inner)),
            },
            Val::Struct(s, fields) => {
                let fields: Vec<Val> =
                    fields.iter().map(|field| self.map_parts(field, each, args, span, results)).collect();
                match fields.iter().any(|field| matches!(field, Val::Bottom)) {
                    true => Val::Bottom,
                    false => Val::Struct(*s, fields),
                }
            }
            other => other.clone(),
        }
    }
}
