//! The conditions in the head of a function, and what a failing one says: the values of the names in it, and where they come from.
//!
//! ```text
//! condition `c == g * groups` of `conv` does not hold: c is 3 (x, axis 1), g is 5 (w, axis 1), groups is 1
//! ```

use crate::spec::{Frame, Spec};
use crate::value::{Sc, Val};
use crate::walk;
use ravel_core::ir::{DimPat, Expr, ExprKind, Fun, LocalId, RankPat};
use ravel_diagnostics::Diagnostic;
use ravel_types::{Basic, Scalar};
use ravel_wir::{Fault, Value};
use std::sync::Arc;

/// More components of a vector are not shown.
const MOST_COMPONENTS: usize = 8;

/// The values of names as text: `{}` stands for a number that only the run knows.
#[derive(Default)]
struct Shown {
    text: String,
    numbers: Vec<Value>,
    /// The same of what is known now.
    known: Vec<String>,
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
            let Val::Sc(Basic::Bool, holds) = self.expr(frame, &cond.expr) else {
                continue;
            };
            if holds.as_bool() == Some(true) {
                continue;
            }
            let text = self.options.map.snippet(cond.expr.span).split_whitespace().collect::<Vec<_>>().join(" ");
            let message = format!("condition `{text}` of `{}` does not hold", fun.name);
            let shown = self.values_in(frame, fun, &cond.expr);
            if holds.as_bool() == Some(false) && self.speculative == 0 && self.conditional == 0 {
                let site = self.call_site();
                let mut diagnostic =
                    Diagnostic::error("E0324", message.clone()).at(site, "the condition fails for this call");
                if !shown.known.is_empty() {
                    diagnostic = diagnostic.with_note(shown.known.join(", "));
                }
                self.report_from_here(diagnostic, site);
                hold = false;
            }
            let mut text = message;
            if !shown.text.is_empty() {
                text = format!("{text}: {}", shown.text);
            }
            if let Some(remark) = (self.options.condition_remark)(fun.span.file, &fun.name) {
                text = format!("{text}; {remark}");
            }
            self.emit_check(&holds, Fault::Message { text: text.into(), operands: shown.numbers });
        }
        self.em.join_checks(head);
        hold
    }

    /// The parameters, fields of parameters, extents and ranks that an expression mentions.
    fn values_in(&mut self, frame: &Frame, fun: &Fun, e: &Expr) -> Shown {
        let mut names = Vec::new();
        mentioned(e, &mut names);
        let mut shown = Shown::default();
        for Mention { slot, path } in names {
            let Some(mut v) = frame.env[slot.index()].clone() else { continue };
            for field in &path {
                let Val::Struct(s, fields) = &v else { break };
                let at = self.program.structs[s.index()].fields.iter().position(|known| known.name == **field);
                let Some(inner) = at.and_then(|at| fields.get(at).cloned()) else { break };
                v = inner;
            }
            let name = path.iter().fold(fun.locals[slot.index()].name.clone(), |name, field| format!("{name}.{field}"));
            let origin = origin(fun, slot).map_or(String::new(), |origin| format!(" ({origin})"));
            let one = |c: &Sc| matches!(c, Sc::Const(_));
            let (value, numbers, known) = match &v {
                Val::Sc(basic, c) if is_shown(*basic) => match c {
                    Sc::Const(c) => (constant(*c), Vec::new(), true),
                    Sc::Val(_) if *basic == Basic::Bool => continue,
                    other => ("{}".to_string(), vec![self.em.value(other)], false),
                },
                Val::Sc(_, Sc::Const(c)) => (constant(*c), Vec::new(), true),
                Val::Tup(Basic::Int, parts) if parts.len() <= MOST_COMPONENTS => {
                    let mut numbers = Vec::new();
                    let mut texts = Vec::new();
                    for part in parts {
                        texts.push(match part {
                            Sc::Const(c) => constant(*c),
                            other => {
                                numbers.push(self.em.value(other));
                                "{}".to_string()
                            }
                        });
                    }
                    (format!("[{}]", texts.join(",")), numbers, parts.iter().all(one))
                }
                _ => continue,
            };
            let text = format!("{name} is {value}{origin}");
            if known {
                shown.known.push(text.clone());
            }
            shown.text = if shown.text.is_empty() { text } else { format!("{}, {text}", shown.text) };
            shown.numbers.extend(numbers);
        }
        shown
    }
}

/// Whether values of a type are shown when only the run knows them: messages hold whole numbers.
fn is_shown(basic: Basic) -> bool {
    !matches!(basic, Basic::Float | Basic::Double | Basic::Char)
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

/// What a name of a type pattern measures: `x, axis 1`, `rank of x`. Nothing for a parameter.
fn origin(fun: &Fun, slot: LocalId) -> Option<String> {
    (0..fun.params.len()).flat_map(|param| measures(fun, slot, param)).next().map(|(_, text)| text)
}

/// Where a name stands among the features of a parameter's pattern, with what it measures there.
pub fn measures(fun: &Fun, slot: LocalId, param: usize) -> Vec<(usize, String)> {
    let param = &fun.params[param];
    let name = &fun.locals[param.local.index()].name;
    let whole = param.ty.dims.len() == 1;
    let mut found = Vec::new();
    let mut before = Some(0);
    for (k, dim) in param.ty.dims.iter().enumerate() {
        match dim {
            DimPat::Name(named) if *named == slot => {
                let behind = param.ty.dims[k + 1..].iter().map(fixed).sum::<Option<i32>>();
                found.push((
                    k,
                    match (before, behind) {
                        (Some(axis), _) => format!("{name}, axis {axis}"),
                        (None, Some(behind)) => format!("{name}, axis {}", -1 - behind),
                        (None, None) => format!("an axis of {name}"),
                    },
                ));
            }
            DimPat::Rank { shape: Some(named), .. } if *named == slot => {
                found.push((k, if whole { format!("shape of {name}") } else { format!("axes of {name}") }));
            }
            DimPat::Rank { rank: RankPat::Name(named), .. } if *named == slot => {
                found.push((k, if whole { format!("rank of {name}") } else { format!("number of axes of {name}") }));
            }
            _ => {}
        }
        before = before.zip(fixed(dim)).map(|(a, b)| a + b);
    }
    found
}

/// The number of axes of a feature, if it is always the same.
fn fixed(dim: &DimPat) -> Option<i32> {
    match dim {
        DimPat::Num(_) | DimPat::Any | DimPat::Name(_) => Some(1),
        DimPat::Rank { rank: RankPat::Num(n), .. } => Some(*n),
        _ => None,
    }
}
