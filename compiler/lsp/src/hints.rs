//! What is not written and known all the same: types of variables, bounds of comprehensions.

use crate::view::View;
use ravel_core::facts::DefKind;
use ravel_driver::facts::constant;
use ravel_source::Span;
use serde_json::{Value as Json, json};

/// The longest bound that is shown as it was found in the text.
const LONGEST_BOUND: usize = 60;

/// Hints that lie in a range of the document.
pub fn hints(view: &View<'_>, range: &Json) -> Json {
    let (from, upto) = (view.byte(&range["start"]), view.byte(&range["end"]));
    let mut found = Vec::new();
    for name in view.facts.uses_in(view.file) {
        if name.span.start < from || name.span.end > upto || !name.is_write {
            continue;
        }
        let Some(def) = name.defs.first().and_then(|def| view.def(*def)) else { continue };
        // The type stands where the variable gets its first value, unless it is declared.
        if def.kind != DefKind::Variable || def.span != name.span || !def.signature.is_empty() {
            continue;
        }
        let (facts, values) = view.values(name.span);
        let Some(kind) = facts.joined(values) else { continue };
        let label = facts.show(&kind);
        found.extend(hint(view, name.span, false, &label, (false, true)));
    }
    for bound in &view.facts.bounds {
        let inside = bound.partition.file == view.file && bound.partition.start >= from && bound.partition.end <= upto;
        if !inside {
            continue;
        }
        let known = view.facts.joined(view.facts.uppers(bound.partition)).as_ref().and_then(constant);
        let text = known.unwrap_or_else(|| bound.text.clone());
        if text.len() > LONGEST_BOUND || text.contains('\n') {
            continue;
        }
        let index = view.facts.map.snippet(bound.index);
        found.extend(hint(view, bound.partition, true, &format!("| {index} < {text}"), (true, false)));
    }
    json!(found)
}

/// A hint before or behind a place that has not changed.
fn hint(view: &View<'_>, span: Span, is_behind: bool, label: &str, (left, right): (bool, bool)) -> Option<Json> {
    let range = view.range(span)?;
    let position = if is_behind { &range["end"] } else { &range["start"] };
    let kind = 1;
    Some(json!({ "position": position, "label": label, "kind": kind, "paddingLeft": left, "paddingRight": right }))
}
