//! `Debug::trace(label, x)`: `x` itself, and beside it a native that writes a line about it.
//!
//! The value does not pass through the native, so that everything that is known of it stays known and no result can change.

use crate::spec::Spec;
use crate::value::Val;
use ravel_types::Basic;
use ravel_wir::{Op, TRACE, Value};

impl Spec<'_> {
    /// The value, about which a line is written wherever this code runs.
    pub fn trace(&mut self, label: &Val, value: &Val) -> Val {
        if let (Val::Handle(_, label), Some((kind, x))) = (label, self.traced(value)) {
            let place = self.trace_place();
            let place = self.em.string(place.into());
            let iv = self.index_around();
            let args = vec![*label, place, iv, x];
            let op = Op::Native { symbol: format!("{TRACE}{kind}").into(), args, fixed: 4, effect: false };
            self.em.inst(op, Vec::new());
        }
        value.clone()
    }

    /// The name of the native for a value, and what it gets.
    fn traced(&mut self, value: &Val) -> Option<(&'static str, Value)> {
        match value {
            Val::Sc(basic, scalar) => Some((basic.elem().name(), self.em.value(scalar))),
            Val::Tup(..) | Val::Arr(..) => Some(("array", self.em.boxed(value)?)),
            Val::Handle(_, text) => Some(("string", *text)),
            Val::Wrapped(_, inner) => self.traced(inner),
            Val::Struct(..) | Val::Bottom => None,
        }
    }

    /// `life.sac:12:9 in step`: the call in the user's files and the function that it stands in.
    fn trace_place(&self) -> String {
        let is_own = |span: &ravel_source::Span| !span.is_none() && !(self.options.is_library)(span.file);
        let Some(at) = self.stack.iter().rposition(|site| is_own(&site.span)) else {
            return "the library".to_string();
        };
        let place = self.options.map.describe(self.stack[at].span);
        match at.checked_sub(1).map(|around| &self.fun(self.stack[around].fun).name) {
            Some(function) => format!("{place} in {function}"),
            None => place,
        }
    }

    /// The indices of the with-loops around as one vector; of the innermost alone if the length of one is unknown.
    fn index_around(&mut self) -> Value {
        let mut scalars = Vec::new();
        for iv in &self.around {
            match iv {
                Val::Tup(_, own) => scalars.extend(own.iter().cloned()),
                _ => {
                    let innermost = self.around.last().cloned();
                    return match innermost.and_then(|iv| self.em.boxed(&iv)) {
                        Some(iv) => iv,
                        None => self.em.vector(Basic::Int, &[]),
                    };
                }
            }
        }
        self.em.vector(Basic::Int, &scalars)
    }
}
