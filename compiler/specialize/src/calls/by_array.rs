//! Selections by what NumPy takes for an index: an array of truth values, or of places.
//!
//! ```text
//! a[a > 1d]              compress(a > 1d, a)
//! a[a > 1d] = 0d;        a = where(a > 1d, 0d, a);
//! a[[0,2]]               gather([0,2], a)
//! a[[0,2]] += 1d;        a = scatter([0,2], gather([0,2], a) + 1d, a);
//! ```

use crate::conversions::is_number;
use crate::spec::{Argument, Spec};
use crate::types::outer_shape_of_kind;
use crate::value::{Kind, Val};
use ravel_core::ir::ElemTy;
use ravel_diagnostics::Diagnostic;
use ravel_source::Span;
use ravel_types::Basic;

/// What stands behind a selection that is the target of an assignment.
struct Assigned {
    /// From the array to the end of the value.
    whole: Span,
    /// The new elements, where `old` is the text of those that are there.
    operator: String,
    value: String,
}

impl Assigned {
    fn new_value(&self, old: &str) -> String {
        match (&*self.operator, &*self.value) {
            ("", value) => value.to_string(),
            (sign, value) if is_atom(value) => format!("{old} {sign} {value}"),
            (sign, value) => format!("{old} {sign} ({value})"),
        }
    }
}

impl Spec<'_> {
    /// The report of a selection or update whose index is an array of truth values, or of places with more than one axis.
    pub(super) fn index_by_array(
        &self,
        diagnostic: &Diagnostic,
        name: &str,
        args: &[Val],
        noted: &[Argument],
    ) -> Option<Diagnostic> {
        let (at, array) = positions(name, args.len())?;
        let rank_of = |k: usize| outer_shape_of_kind(self.program, &noted[k].kind).map(|shape| shape.len());
        let (elem, rank, of_array) = (self.elem_of(&args[at])?, rank_of(at)?, rank_of(array)?);
        let index = self.quotable(noted[at].span)?;
        let named = self.quotable(noted[array].span)?;
        let title = |what: &str| Diagnostic { title: what.to_string(), notes: Vec::new(), ..diagnostic.clone() };
        let value = args.get(2).map(|value| matches!(value, Val::Sc(..)));
        match elem {
            ElemTy::Basic(Basic::Bool) if rank > 0 => {
                let report = title("an array of truth values is no index");
                let assigned = self.assigned(self.here);
                match assigned {
                    Some(assigned) if rank == of_array => {
                        let is_scalar = value.unwrap_or_else(|| is_number(assigned.value.trim_end_matches(['d', 'f'])));
                        let new = assigned.new_value(named);
                        let text = format!("{named} = {}({index}, {new}, {named})", self.own_name("Array", "where"));
                        let report = report.with_note("`where` takes each element from one of two, as a mask says");
                        Some(edited(report, is_scalar, assigned.whole, text))
                    }
                    Some(_) => Some(report.with_note(
                        "`where(mask, x, a)` takes each element from one of two; the mask has the shape of the array",
                    )),
                    None if name == "sel" && rank == of_array && self.masked_target(index).is_some() => {
                        let (whole, target, sign) = self.masked_target(index)?;
                        let new = if sign.is_empty() { named.to_string() } else { format!("{target} {sign} {named}") };
                        let text = format!("{target} = {}({index}, {new}, {target})", self.own_name("Array", "where"));
                        let report = report.with_note("`where` takes each element from one of two, as a mask says");
                        Some(edited(report, true, whole, text))
                    }
                    None if name == "sel" && rank == 1 => {
                        let text = format!("compress({index}, {named})");
                        Some(self.library(report, ("ArraySearch", self.here), text))
                    }
                    None if name == "sel" && rank == of_array => {
                        let vector = |text: &str| format!("ArrayAxes::flatten({text})");
                        let text = format!("compress({}, {})", vector(index), vector(named));
                        Some(self.library(report, ("ArraySearch", self.here), text))
                    }
                    None => Some(report),
                }
            }
            ElemTy::Basic(Basic::Int) if rank > 1 => {
                let report = title("an array of places is no index: an index is a vector");
                Some(self.with_places(report, (name, index, named), self.here, value))
            }
            _ => None,
        }
    }

    /// The report of an index that has more components than the array has axes, where these were meant as places on the first axis.
    pub fn with_gather(&self, diagnostic: Diagnostic) -> Diagnostic {
        let Some((site, noted)) = self.user_call() else { return diagnostic };
        let name = self.fun(site.fun).name.as_str();
        let Some((at, array)) = positions(name, noted.len()) else { return diagnostic };
        // The index of `m[0,3]` has no place of its own: it was meant as one.
        let inside = |span: Span| site.span.start < span.start && span.end < site.span.end;
        let is_array = matches!(&noted[array].kind, Kind::Arr(..) | Kind::Tup(..));
        let texts = self.quotable(noted[at].span).zip(self.quotable(noted[array].span));
        let Some((index, named)) = texts.filter(|_| is_array && inside(noted[at].span)) else { return diagnostic };
        let value = noted.get(2).map(|value| matches!(value.kind, Kind::Sc(..)));
        self.with_places(diagnostic, (name, index, named), site.span, value)
    }

    /// `is_scalar` is asked of the new value of an update.
    fn with_places(
        &self,
        report: Diagnostic,
        (name, index, named): (&str, &str, &str),
        here: Span,
        is_scalar: Option<bool>,
    ) -> Diagnostic {
        let report = report.with_note("`gather` of ArrayScatter takes the elements or rows at several places");
        let gathered = format!("gather({index}, {named})");
        match self.assigned(here) {
            Some(assigned) => {
                let new = match is_scalar {
                    _ if !assigned.operator.is_empty() => assigned.new_value(&format!("ArrayScatter::{gathered}")),
                    Some(true) => format!("genarray(shape({index}), {})", assigned.value),
                    _ => assigned.value.clone(),
                };
                let text = format!("{named} = ArrayScatter::scatter({index}, {new}, {named})");
                edited(report, true, assigned.whole, text)
            }
            None if name == "sel" => self.library(report, ("ArrayScatter", here), gathered),
            None => report,
        }
    }

    /// The report with a call of a library function that takes the place of `here`.
    fn library(&self, report: Diagnostic, (module, here): (&str, Span), text: String) -> Diagnostic {
        edited(report, true, here, format!("{module}::{text}"))
    }

    /// The assignment `a[mask] = b[mask]` whose value is the selection at hand: its place, `a`, and the operator in front of `=`.
    fn masked_target(&self, index: &str) -> Option<(Span, String, String)> {
        let text = &self.options.map.get(self.here.file)?.text;
        let (before, value) = (text.get(..self.here.start as usize)?, text.get(self.here.start as usize..)?);
        let behind = value.get((self.here.end - self.here.start) as usize..)?.trim_start();
        let before = before.trim_end().strip_suffix('=')?.trim_end();
        let sign: String = before.chars().next_back().filter(|c| "+-*/".contains(*c)).into_iter().collect();
        let selected = before.strip_suffix(&*sign)?.trim_end();
        let target = selected.strip_suffix(&format!("[{index}]"))?;
        let start = target.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        let name = target.get(start..).filter(|name| !name.is_empty())?;
        let is_statement = target.get(..start)?.trim_end().ends_with([';', '{', '}', ')']);
        let whole = Span { start: start as u32, ..self.here };
        (is_statement && behind.starts_with(';')).then(|| (whole, name.to_string(), sign))
    }

    /// The name of a function of a module as the file can write it.
    fn own_name(&self, module: &str, name: &str) -> String {
        let file = self.options.map.get(self.here.file);
        match file.is_some_and(|file| file.text.contains(&format!("use {module}: all;"))) {
            true => name.to_string(),
            false => format!("{module}::{name}"),
        }
    }

    /// The assignment whose target stands at `target`, if all of it stands in one line.
    fn assigned(&self, target: Span) -> Option<Assigned> {
        let text = &self.options.map.get(target.file)?.text;
        let before = text.get(..target.start as usize)?.trim_end();
        if !before.ends_with([';', '{', '}', ')']) && !before.ends_with("else") {
            return None;
        }
        let rest = text.get(target.end as usize..)?.lines().next()?;
        let (sign, value) = rest.split_once('=')?;
        let (value, _) = value.split_once(';')?;
        let operator = sign.trim();
        let is_plain = !value.starts_with('=') && !value.contains(['"', '\'', '`']) && !value.contains("//");
        if !["", "+", "-", "*", "/", "%"].contains(&operator) || !is_plain || value.trim().is_empty() {
            return None;
        }
        let length = sign.len() + 1 + value.trim_end().len();
        let whole = Span { end: target.end + length as u32, ..target };
        Some(Assigned { whole, operator: operator.to_string(), value: value.trim().to_string() })
    }
}

/// Where the arguments of a selection or update have the index, and where the array.
fn positions(name: &str, count: usize) -> Option<(usize, usize)> {
    match (name, count) {
        ("sel", 2) => Some((0, 1)),
        ("modarray", 3) => Some((1, 0)),
        _ => None,
    }
}

fn edited(report: Diagnostic, is_safe: bool, place: Span, text: String) -> Diagnostic {
    let title = format!("`{text}`");
    if is_safe { report.with_safe_edit(title, place, text) } else { report.with_edit(title, place, text) }
}

fn is_atom(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_.".contains(c))
}
