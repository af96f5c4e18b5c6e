//! Calls of functions that take records field by field (`#pragma fieldwise`).
//!
//! ```text
//! w = descend(w, g, 0.1f);              // float[d:s] descend(float[d:s] w, float[d:s] g, float rate)
//! =>  w = P{ descend(w.k, g.k, 0.1f), descend(w.b, g.b, 0.1f) };
//! ```
//!
//! What is a record where the function asks for something else is taken apart; everything else goes to each call as it is. Reference
//! parameters are handed on from field to field, in the order of the fields.

use crate::spec::Spec;
use crate::value::Val;
use ravel_core::ir::{ElemTy, FunBody, FunId, SetId, StructId};
use ravel_source::Span;
use ravel_wir::Op;

/// A call to be made field by field.
pub struct Fields {
    record: StructId,
    fun: FunId,
    /// Positions of the arguments that are taken apart.
    taken: Vec<usize>,
}

impl Spec<'_> {
    /// The function among `members` that takes these arguments field by field, and how.
    pub fn fieldwise(&self, members: &[FunId], args: &[Val], wanted: usize) -> Option<Fields> {
        members.iter().find_map(|id| {
            let fun = self.fun(*id);
            let counts = wanted == 0 || self.result_count(fun) == Some(wanted);
            if fun.fieldwise.is_none() || fun.params.len() != args.len() || !counts {
                return None;
            }
            let mut record = None;
            let mut taken = Vec::new();
            for (i, (param, arg)) in fun.params.iter().zip(args).enumerate() {
                let Val::Struct(s, _) = arg else { continue };
                if matches!(param.ty.elem, ElemTy::Struct(_)) {
                    continue;
                }
                if *record.get_or_insert(*s) != *s {
                    return None;
                }
                taken.push(i);
            }
            Some(Fields { record: record?, fun: *id, taken })
        })
    }

    /// The results of a call made field by field: records, but for those of reference parameters.
    pub fn call_fields(
        &mut self,
        set: SetId,
        fields: &Fields,
        mut args: Vec<Val>,
        wanted: usize,
        span: Span,
    ) -> Vec<Val> {
        let fun = self.fun(fields.fun);
        let name_at = fun.fieldwise.as_ref().and_then(|fieldwise| fieldwise.name);
        let own = fun.results.len();
        let handed_on: Vec<usize> = match fun.body {
            FunBody::Sac { .. } => (0..fun.params.len()).filter(|i| fun.params[*i].by_ref).collect(),
            FunBody::External(_) => Vec::new(),
        };
        let def = self.program.structs[fields.record.index()].clone();
        let records = args.clone();
        let mut parts = vec![Vec::with_capacity(def.fields.len()); own];
        for (k, field) in def.fields.iter().enumerate() {
            for i in &fields.taken {
                if let Val::Struct(_, values) = &records[*i] {
                    args[*i] = values[k].clone();
                }
            }
            let nested = fields.taken.iter().any(|i| matches!(args[*i], Val::Struct(..)));
            if let Some(at) = name_at {
                let name = if nested { format!("{}.", field.name) } else { field.name.clone() };
                args[at] = self.followed_by(&records[at], name);
            }
            let before = self.diagnostics.len();
            let results = self.call_set(set, args.clone(), wanted, span);
            for wrong in &mut self.diagnostics[before..] {
                let note = format!("the call takes struct {} field by field; this is field `{}`", def.name, field.name);
                *wrong = wrong.clone().with_note(note);
            }
            if results.iter().any(|v| matches!(v, Val::Bottom)) {
                return vec![Val::Bottom; wanted];
            }
            for (i, result) in results.into_iter().enumerate() {
                match i.checked_sub(own).and_then(|i| handed_on.get(i)) {
                    Some(at) => args[*at] = result,
                    None => parts[i].push(result),
                }
            }
        }
        let records =
            parts.into_iter().filter(|fields| !fields.is_empty()).map(|values| Val::Struct(fields.record, values));
        let mut results: Vec<Val> = records.collect();
        if wanted > results.len() {
            results.extend(handed_on.into_iter().map(|at| args[at].clone()));
        }
        results
    }

    /// A string with a known text behind it.
    fn followed_by(&mut self, start: &Val, text: String) -> Val {
        let Val::Handle(string, start) = start else { return start.clone() };
        if let Some(known) = self.em.text(*start) {
            return Val::Handle(*string, self.em.string(format!("{known}{text}").into()));
        }
        let text = self.em.string(text.into());
        let joined =
            Op::Native { symbol: "ravel_string_strcat".into(), args: vec![*start, text], fixed: 2, effect: false };
        Val::Handle(*string, self.em.inst1(joined, Self::handle_type()))
    }
}
