//! The conditions in the head of a function, and what a failing one says: the values of the names in it, and where they come from.
//!
//! ```text
//! condition `c == g * groups` of `conv` does not hold: c is 3 (x, axis 1), g is 5 (w, axis 1), groups is 1
//! ```

mod remedy;

use crate::calls::bind::origin::measured;
use crate::check::coded;
use crate::literal::zero;
use crate::report::show_kind;
use crate::spec::{Frame, Spec};
use crate::value::{Sc, Val};
use crate::walk;
use ravel_core::ir::{Expr, ExprKind, Fun, LocalId};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_types::{Basic, BinOp, Scalar};
use ravel_wir::{Fault, Value};
use std::sync::Arc;

/// More components of a vector are not shown.
const MOST_COMPONENTS: usize = 8;

/// A name in a condition.
struct Mentioned {
    name: String,
    /// What it measures, if that is to be said: ` (a, axis 0)`.
    origin: String,
    /// The parameter that it is, or that it measures.
    param: Option<usize>,
}

/// A name in a condition whose value is known while compiling.
struct Known {
    /// `n is 3`.
    text: String,
    origin: String,
    param: Option<usize>,
    /// The value, if it is of integers.
    numbers: Vec<i64>,
}

impl Known {
    /// Where it stands, for a label that is at the argument itself.
    fn axis(&self) -> String {
        self.origin.split_once(", axis ").map_or(String::new(), |(_, axis)| format!(" (axis {axis}"))
    }
}

impl Spec<'_> {
    /// The conditions after the parameter list, those over results after the body. False if one certainly does not hold, which was reported.
    pub fn conditions(&mut self, frame: &mut Frame, fun: &Fun, after: bool) -> bool {
        if !self.options.check_patterns {
            return true;
        }
        let mut hold = true;
        let head = self.em.mark();
        for cond in fun.conds.iter().filter(|c| c.after == after) {
            let here = self.here;
            let value = self.expr(frame, &cond.expr);
            // A condition that fails is a matter of the call.
            self.at(here);
            let Val::Sc(Basic::Bool, holds) = value else {
                continue;
            };
            if holds.as_bool() == Some(true) {
                continue;
            }
            let text = self.options.map.snippet(cond.expr.span).split_whitespace().collect::<Vec<_>>().join(" ");
            let message = format!("condition `{text}` of {} does not hold", self.quoted(fun));
            let mentions = self.mentions(frame, fun, &cond.expr);
            if holds.as_bool() == Some(false) && self.is_certain() {
                let site = self.call_site();
                let diagnostic = Diagnostic::error(Code::ConditionFails, message.clone())
                    .at(site, "the condition fails for this call");
                let known: Vec<Known> = mentions.iter().filter_map(|mention| self.known_mention(mention)).collect();
                self.report_condition(diagnostic, (frame, fun), (&text, &known));
                hold = false;
            }
            let remark = (self.options.condition_remark)(fun.span.file, &fun.name);
            let remark = remark.map_or(String::new(), |remark| format!("; {remark}"));
            // Components that may not be there are only looked at once the condition has failed.
            if mentions.iter().any(|(_, value)| self.is_long(value)) {
                self.emit_explained_check(&holds, |spec| spec.condition_fault(&message, &mentions, &remark));
                let text = format!("{message}{remark}");
                self.emit_check(&holds, coded(Code::ConditionFails, text, Vec::new()));
            } else {
                let fault = self.condition_fault(&message, &mentions, &remark);
                self.emit_check(&holds, fault);
            }
        }
        self.em.join_checks(head);
        hold
    }

    /// A check whose fault says what has to be computed first. That is done when it is known that the condition does not hold.
    pub fn emit_explained_check(&mut self, holds: &Sc, explain: impl FnOnce(&mut Self) -> Fault) {
        self.branch(
            holds,
            |_| Vec::new(),
            |spec| {
                let fault = explain(spec);
                spec.emit_check(&Sc::bool(false), fault);
                Vec::new()
            },
        );
    }

    /// Reports a condition that certainly fails. Where the call is the user's own, its arguments say what they make the names of the condition;
    /// a note says the rest.
    fn report_condition(
        &mut self,
        diagnostic: Diagnostic,
        (frame, fun): (&Frame, &Fun),
        (text, known): (&str, &[Known]),
    ) {
        let site = diagnostic.span();
        let is_direct = self.stack.last().is_some_and(|call| call.span == site);
        let (mut diagnostic, labelled) = self.on_arguments(diagnostic);
        let args = self.user_call().filter(|_| is_direct).map(|(_, args)| args.clone());
        let mut rest = Vec::new();
        let mut told: Vec<(Span, Vec<String>)> = Vec::new();
        for name in known {
            let arg = args.as_ref().zip(name.param).and_then(|(args, k)| args.get(k));
            let label = arg.and_then(|arg| diagnostic.labels.iter_mut().find(|l| l.primary && l.span == arg.span));
            let (Some(arg), Some(label)) = (arg, label) else {
                rest.push(format!("{}{}", name.text, name.origin));
                continue;
            };
            let quoted = name.text.replacen(' ', "` ", 1);
            match told.iter_mut().find(|(span, _)| *span == arg.span) {
                Some((_, texts)) => texts.push(format!("`{quoted}{}", name.axis())),
                None if name.origin.is_empty() => {
                    label.message = format!("`{quoted}");
                    continue;
                }
                None => told.push((arg.span, vec![format!("`{quoted}{}", name.axis())])),
            }
            label.message = show_kind(self.program, &arg.kind);
        }
        for (span, texts) in told {
            if let Some(label) = diagnostic.labels.iter_mut().find(|label| label.primary && label.span == span) {
                label.message = format!("{}, so {}", label.message, texts.join(", "));
            }
        }
        // Numbers that the condition does not speak of.
        diagnostic.labels.retain(|label| !label.primary || label.message.contains('`') || !self.is_number(label.span));
        if !rest.is_empty() {
            diagnostic = diagnostic.with_note(rest.join(", "));
        }
        if is_direct {
            diagnostic = self.with_remedy(diagnostic, frame, fun, (text, known));
        }
        self.report_with_origin(diagnostic, site, labelled);
    }

    fn condition_fault(&mut self, message: &str, mentions: &[(Mentioned, Val)], remark: &str) -> Fault {
        let mut operands = Vec::new();
        let mut shown = Vec::new();
        for (Mentioned { name, origin, .. }, value) in mentions {
            if let Some(value) = self.show_value(value, &mut operands) {
                shown.push(format!("{name} is {value}{origin}"));
            }
        }
        let values = if shown.is_empty() { String::new() } else { format!(": {}", shown.join(", ")) };
        coded(Code::ConditionFails, format!("{message}{values}{remark}"), operands)
    }

    /// The parameters, fields of parameters, extents and ranks that an expression mentions, with their values.
    fn mentions(&mut self, frame: &Frame, fun: &Fun, e: &Expr) -> Vec<(Mentioned, Val)> {
        let mut names = Vec::new();
        mentioned(e, &mut names);
        let mut found = Vec::new();
        for Mention { slot, path } in names {
            let Some(mut v) = frame.env[slot.index()].clone() else { continue };
            for field in &path {
                let Val::Struct(s, fields) = &v else { break };
                let at = self.program.structs[s.index()].fields.iter().position(|known| known.name == **field);
                let Some(inner) = at.and_then(|at| fields.get(at).cloned()) else { break };
                v = inner;
            }
            let name = path.iter().fold(fun.locals[slot.index()].name.clone(), |name, field| format!("{name}.{field}"));
            let place = frame.places.iter().find(|(bound, _)| *bound == slot);
            let origin = place.and_then(|(_, place)| measured(fun, slot, *place));
            let origin = origin.map_or(String::new(), |origin| format!(" ({origin})"));
            let measures = place.filter(|(_, place)| !place.of_result).map(|(_, place)| place.item);
            let param = fun.params.iter().position(|param| param.local == slot).or(measures);
            // Of a record that a condition hands on, its scalars.
            if let Val::Struct(record, fields) = &v {
                let names = self.program.structs[record.index()].fields.iter().map(|field| &field.name);
                let scalars = names.zip(fields).filter(|(_, field)| matches!(field, Val::Sc(..)));
                found.extend(scalars.map(|(field, value)| {
                    let name = format!("{name}.{field}");
                    (Mentioned { name, origin: String::new(), param }, value.clone())
                }));
            } else {
                found.push((Mentioned { name, origin, param }, v));
            }
        }
        found
    }

    /// `n is 3`, if all of it is known now.
    fn known_mention(&mut self, (mention, value): &(Mentioned, Val)) -> Option<Known> {
        let parts = match value {
            Val::Sc(_, c) => std::slice::from_ref(c),
            Val::Tup(_, parts) => parts,
            _ => return None,
        };
        if !parts.iter().all(|part| matches!(part, Sc::Const(_))) {
            return None;
        }
        let shown = self.show_value(value, &mut Vec::new())?;
        Some(Known {
            text: format!("{} is {shown}", mention.name),
            origin: mention.origin.clone(),
            param: mention.param,
            numbers: remedy::integers(value).map_or(Vec::new(), |(numbers, _)| numbers),
        })
    }

    /// A vector that is no list of scalars.
    fn is_long(&mut self, value: &Val) -> bool {
        matches!(value, Val::Arr(basic, _) if marker(*basic).is_some()) && self.outer_rank(value) == Some(1)
    }

    /// A scalar or vector as text, with marks for the numbers that only the run knows: the runtime has what they mean. Nothing for what is
    /// too large to be shown.
    pub fn show_value(&mut self, value: &Val, numbers: &mut Vec<Value>) -> Option<String> {
        match value {
            Val::Sc(basic, part) => self.show_scalar(*basic, part, numbers),
            // The literal without elements.
            Val::Tup(_, parts) if parts.is_empty() => Some("[]".to_string()),
            Val::Tup(basic, parts) => {
                let mut shown = Vec::new();
                for part in parts.iter().take(MOST_COMPONENTS) {
                    shown.push(self.show_scalar(*basic, part, numbers)?);
                }
                if parts.len() > MOST_COMPONENTS {
                    shown.push("..".to_string());
                }
                Some(format!("[{}]", shown.join(",")))
            }
            Val::Arr(basic, _) if self.is_long(value) => {
                let length = self.vector_length(value);
                numbers.push(self.em.value(&length));
                for k in 0..MOST_COMPONENTS as i32 {
                    let exists = self.em.bin(BinOp::Lt, Basic::Int, &Sc::int(k), &length);
                    let component = self.branch(
                        &exists,
                        |spec| vec![Val::Sc(*basic, spec.vector_element(value, &Sc::int(k)))],
                        |_| vec![Val::Sc(*basic, zero(*basic))],
                    );
                    let [Val::Sc(_, component)] = &component[..] else { return None };
                    numbers.push(self.em.value(component));
                }
                Some(format!("{{[{MOST_COMPONENTS}]{}}}", marker(*basic)?))
            }
            _ => None,
        }
    }

    fn show_scalar(&mut self, basic: Basic, part: &Sc, numbers: &mut Vec<Value>) -> Option<String> {
        if let Sc::Const(known) = part {
            return Some(constant(*known));
        }
        let marker = marker(basic)?;
        numbers.push(self.em.value(part));
        Some(format!("{{{marker}}}"))
    }
}

/// The letter behind which the runtime shows a number of a type; nothing for types that are not shown when only the run knows them.
fn marker(basic: Basic) -> Option<&'static str> {
    match basic {
        Basic::Float | Basic::Double => Some("d"),
        Basic::Bool => Some("b"),
        Basic::Char => None,
        _ => Some(""),
    }
}

fn constant(value: Scalar) -> String {
    match value {
        Scalar::Bool(value) => value.to_string(),
        Scalar::F32(value) => format!("{value:?}"),
        Scalar::F64(value) => format!("{value:?}"),
        other => other.as_i64().map_or("?".to_string(), |n| n.to_string()),
    }
}

/// A slot, or a field of a field .. of one.
#[derive(PartialEq)]
struct Mention {
    slot: LocalId,
    path: Vec<Arc<str>>,
}

/// The slots and fields of slots in an expression, each once, as the source has them.
fn mentioned(e: &Expr, out: &mut Vec<Mention>) {
    let mut path = Vec::new();
    let mut at = e;
    while let ExprKind::Field { value, field } = &at.kind {
        path.insert(0, field.clone());
        at = value;
    }
    if let ExprKind::Local(slot) = at.kind {
        let mention = Mention { slot, path };
        if !out.contains(&mention) {
            out.push(mention);
        }
        return;
    }
    walk::children(e, &mut |child| mentioned(child, out));
}
