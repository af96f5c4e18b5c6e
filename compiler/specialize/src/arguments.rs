//! The arguments of calls in the user's files, as messages label them: what each is, and where that came from.

use crate::report::show_kind;
use crate::spec::{Argument, Frame, Site, Spec};
use crate::value::{Kind, ShapeKind, Val};
use ravel_core::ir::{Expr, ExprKind};
use ravel_diagnostics::{Code, Diagnostic, Label};
use ravel_source::Span;
use ravel_types::Affine;
use std::rc::Rc;

/// Labels of one report: with more of them the source is hard to see.
const MOST_LABELS: usize = 4;

impl Spec<'_> {
    /// Remembers the arguments of the call that comes next, if it stands in the user's files.
    pub fn note_arguments(&mut self, frame: &Frame, args: &[Expr], values: &[Val]) {
        self.noted = None;
        let Some(origins) = &frame.origins else { return };
        let noted = args.iter().zip(values).map(|(arg, value)| Argument {
            span: arg.span,
            origin: match arg.kind {
                ExprKind::Local(slot) => origins.get(slot.index()).copied().filter(|span| !span.is_none()),
                _ => None,
            },
            kind: self.em.kind_of(value),
        });
        self.noted = Some(noted.collect());
    }

    /// Makes the frame of one of the user's functions remember where values come from; parameters come from the call.
    pub fn trace_origins(&mut self, frame: &mut Frame) {
        let fun = self.fun(frame.fun);
        if (self.options.is_library)(fun.span.file) {
            return;
        }
        frame.origins = Some(vec![Span::NONE; frame.env.len()]);
        let Some(args) = self.stack.last().and_then(|site| site.args.clone()) else { return };
        for (param, arg) in fun.params.iter().zip(args.iter()) {
            frame.set_origin(param.local, arg.span);
        }
    }

    /// A report on a whole call, with labels on its arguments instead: what each is, and where it got its value. False if there are none to label.
    pub fn label_arguments(&self, mut diagnostic: Diagnostic, args: &Rc<[Argument]>) -> (Diagnostic, bool) {
        let site = diagnostic.span();
        let inside = |span: Span| span.file == site.file && site.start <= span.start && span.end <= site.end;
        // What an assignment `v[3] = x` puts into the array stands outside; the index of `m[0,3]` has no place of its own.
        let args: Vec<&Argument> = args.iter().filter(|arg| inside(arg.span) && arg.span != site).collect();
        if args.is_empty() || args.len() > MOST_LABELS {
            return (diagnostic, false);
        }
        // What a literal is everybody sees, unless its type is what is wrong.
        let all = matches!(diagnostic.code, Code::NoInstance | Code::ConditionFails);
        let shown: Vec<&Argument> = args.into_iter().filter(|arg| all || !self.is_number(arg.span)).collect();
        if shown.is_empty() {
            return (diagnostic, false);
        }
        diagnostic.place = Some(site);
        diagnostic.labels.retain(|label| label.span != site);
        for arg in &shown {
            let what = self.show_argument(diagnostic.code, arg);
            diagnostic = diagnostic.at(arg.span, what);
        }
        for arg in &shown {
            let Some(origin) = arg.origin else { continue };
            let known = diagnostic.labels.iter().any(|label: &Label| label.span == origin);
            if diagnostic.labels.len() >= MOST_LABELS {
                let line = self.options.map.line_col(origin).map(|at| at.line);
                let own = diagnostic.labels.iter_mut().find(|label| label.span == arg.span);
                if let (Some(line), Some(own)) = (line, own) {
                    own.message = format!("{}, from line {line}", own.message);
                }
            } else if !known {
                let name = self.options.map.snippet(arg.span).trim().to_string();
                let differs = shown.first().filter(|_| diagnostic.code == Code::ShapesDiffer);
                let differs = differs.and_then(|first| difference(&first.kind, &arg.kind)).unwrap_or_default();
                let kind = show_kind(self.program, &arg.kind);
                diagnostic = diagnostic.with_label(origin, format!("{name}: {kind}{differs}"));
            }
        }
        (diagnostic, true)
    }

    /// Whether a number stands at a place.
    pub fn is_number(&self, span: Span) -> bool {
        self.options.map.snippet(span).parse::<f64>().is_ok()
    }

    /// What an argument is. Where values are what is wrong, and the text does not say it: `int[1], here [5]`.
    fn show_argument(&self, code: Code, arg: &Argument) -> String {
        let kind = show_kind(self.program, &arg.kind);
        let parts = match &arg.kind {
            Kind::Sc(_, part) => std::slice::from_ref(part),
            Kind::Tup(_, parts) => parts,
            _ => return kind,
        };
        let known: Option<Vec<String>> = parts.iter().map(|part| Some(part.form()?.as_const()?.to_string())).collect();
        let is_about_values = matches!(code, Code::ConditionFails | Code::IndexOutOfRange | Code::ReshapeCount);
        let Some(known) = known.filter(|known| is_about_values && !known.is_empty()) else { return kind };
        let value = match &arg.kind {
            Kind::Sc(..) => known.concat(),
            _ => format!("[{}]", known.join(",")),
        };
        let text: String = self.options.map.snippet(arg.span).split_whitespace().collect();
        if text == value { kind } else { format!("{kind}, here {value}") }
    }

    /// Adds to the last report, of a call whose arguments do not fit together, what would make them fit: an argument transposed, or cut to the
    /// shape of the other one.
    pub fn suggest_other_arguments(&mut self, frame: &Frame, args: &[Val]) {
        let Some((call, noted)) = self.user_call().map(|(call, noted)| (call.span, noted.clone())) else { return };
        let direct = self.stack.last().is_some_and(|site| site.span == call);
        let Some(whole) = self.quotable(call).map(str::to_string).filter(|_| direct && noted.len() == args.len())
        else {
            return;
        };
        let shapes: Option<Vec<Vec<i32>>> = args.iter().map(|arg| self.constant_shape(arg)).collect();
        let Some(shapes) = shapes else { return };
        if let ([a, b], [left, right]) = (&shapes[..], &noted[..])
            && let (Some(a_text), Some(b_text)) = (self.quotable(left.span), self.quotable(right.span))
            && let Some(sign) = whole.get(a_text.len()..whole.len().saturating_sub(b_text.len())).map(str::trim)
            && let Some(text) = broadcast((a_text, a), sign, (b_text, b))
        {
            if let Some(report) = self.diagnostics.pop() {
                let report = report.with_note("only scalars are repeated to fit an array");
                self.diagnostics.push(report.with_edit(format!("`{text}`"), call, text));
            }
            return;
        }
        let edited = |k: usize, new: &str| {
            let at = noted[k].span;
            let inside = call.file == at.file && call.start <= at.start && at.end <= call.end;
            let (from, upto) = (at.start.checked_sub(call.start)? as usize, at.end.checked_sub(call.start)? as usize);
            inside.then(|| Some(format!("`{}{new}{}`", whole.get(..from)?, whole.get(upto..)?))).flatten()
        };
        let mut fix = None;
        if let [a, b] = &shapes[..]
            && a.len() == b.len()
            && !a.is_empty()
            && !self.fun(frame.fun).name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        {
            let below = |a: &[i32], b: &[i32]| a.iter().zip(b).all(|(x, y)| x <= y);
            let pair = if below(b, a) { Some((0, 1)) } else { below(a, b).then_some((1, 0)) };
            if let Some((larger, smaller)) = pair
                && let (Some(large), Some(small)) =
                    (self.quotable(noted[larger].span), self.quotable(noted[smaller].span))
            {
                let new = format!("take(shape({small}), {large})");
                fix = edited(larger, &new).map(|text| (larger, new, format!("{text} works where they overlap")));
            }
        } else {
            for k in (0..args.len()).filter(|k| shapes[*k].len() == 2) {
                let new = self.quotable(noted[k].span).map(|text| format!("transpose({text})"));
                let turned = self.transposed(&args[k], &shapes[k]);
                let mut tried = args.to_vec();
                if let (Some(new), Some(turned)) = (new, turned)
                    && fix.is_none()
                {
                    tried[k] = turned;
                    if self.would_fit(frame, &tried, false) {
                        fix = edited(k, &new).map(|text| (k, new, format!("{text} fits")));
                    }
                }
            }
        }
        if let Some((k, new, title)) = fix
            && let Some(report) = self.diagnostics.pop()
        {
            self.diagnostics.push(report.with_edit(title, noted[k].span, new));
        }
    }

    fn constant_shape(&mut self, value: &Val) -> Option<Vec<i32>> {
        self.outer_shape(value)?.iter().map(crate::value::Sc::as_int).collect()
    }

    /// A matrix with its axes exchanged, for a trial.
    fn transposed(&mut self, value: &Val, shape: &[i32]) -> Option<Val> {
        let Kind::Arr(basic, _) = self.em.kind_of(value) else { return None };
        let extents = shape.iter().rev().map(|n| Some(Affine::constant(*n))).collect();
        Some(self.undefined(&Kind::Arr(basic, ShapeKind::Known(extents))))
    }

    /// Whether these arguments fit the head of the function, and certainly meet its conditions, if that is asked. What the trial emits belongs to
    /// a call that was refused.
    pub fn would_fit(&mut self, frame: &Frame, args: &[Val], with_conditions: bool) -> bool {
        let fun = self.fun(frame.fun);
        // What is wrong with the trial must not be added to the report that is there.
        let before = (std::mem::take(&mut self.diagnostics), self.reported.clone());
        let mut frame = Frame::new(frame.fun, frame.families.clone(), fun.locals.len());
        for (param, arg) in fun.params.iter().zip(args) {
            frame.env[param.local.index()] = Some(arg.clone());
        }
        let items: Vec<_> = fun.params.iter().map(|param| &param.ty).zip(args).collect();
        let here = self.here;
        let mut fits = self.bind_patterns(&mut frame, &items, "");
        for condition in fun.conds.iter().filter(|condition| with_conditions && !condition.after) {
            fits = fits
                && matches!(self.expr(&mut frame, &condition.expr), Val::Sc(_, holds) if holds.as_bool() == Some(true));
        }
        self.at(here);
        fits &= self.diagnostics.is_empty();
        (self.diagnostics, self.reported) = before;
        fits
    }

    /// The call in the user's files that led here, with what it was called with.
    pub fn user_call(&self) -> Option<(&Site, &Rc<[Argument]>)> {
        let own = |site: &&Site| !site.span.is_none() && !(self.options.is_library)(site.span.file);
        let site = self.stack.iter().rev().find(own)?;
        Some((site, site.args.as_ref()?))
    }

    /// The text of a place, if it is short enough to be quoted within a sentence.
    pub fn quotable(&self, span: Span) -> Option<&str> {
        const LONGEST: usize = 40;
        let text = self.options.map.snippet(span);
        // A pragma is no expression.
        let is_code = !text.is_empty() && !text.starts_with('#') && !text.contains(['\n', '`']);
        (is_code && text.len() <= LONGEST).then_some(text)
    }
}

/// An operation on arrays of which one has extents of 1 where the other has more, or lacks the first axes, as a comprehension that repeats it.
fn broadcast((a, a_shape): (&str, &[i32]), sign: &str, (b, b_shape): (&str, &[i32])) -> Option<String> {
    const NAMES: [&str; 4] = ["i", "j", "k", "l"];
    let is_name = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_sign = !sign.is_empty() && sign.chars().all(|c| "+-*/%<>=!".contains(c));
    let is_literal =
        |text: &str| text.starts_with('[') && text.chars().all(|c| c.is_ascii_digit() || "[]., -".contains(c));
    // What is selected from is a name; what is taken whole may be a vector of numbers.
    let fits = |text: &str, whole: bool| is_name(text) || whole && is_literal(text);
    let taken_whole = (a_shape.len() < b_shape.len(), b_shape.len() < a_shape.len());
    if !is_sign || !fits(a, taken_whole.0) || !fits(b, taken_whole.1) || NAMES.contains(&a) || NAMES.contains(&b) {
        return None;
    }
    let (long, short) = if a_shape.len() < b_shape.len() { (b_shape, a_shape) } else { (a_shape, b_shape) };
    if short.is_empty() || long.len() > NAMES.len() {
        return None;
    }
    let list = |items: Vec<String>| items.join(",");
    if long.len() > short.len() {
        let outer = long.len() - short.len();
        if long[outer..] != *short {
            return None;
        }
        let index = NAMES[..outer].join(",");
        let extents = list(long[..outer].iter().map(i32::to_string).collect());
        let cell = |name: &str, shape: &[i32]| match shape.len() == long.len() {
            true => format!("{name}[{index}]"),
            false => name.to_string(),
        };
        return Some(format!(
            "{{ [{index}] -> {} {sign} {} | [{index}] < [{extents}] }}",
            cell(a, a_shape),
            cell(b, b_shape)
        ));
    }
    let fits = a_shape.iter().zip(b_shape).all(|(x, y)| x == y || *x == 1 || *y == 1);
    let both: Vec<i32> = a_shape.iter().zip(b_shape).map(|(x, y)| *x.max(y)).collect();
    if !fits || both.contains(&0) {
        return None;
    }
    let cell = |name: &str, shape: &[i32]| {
        let place = shape.iter().zip(&both).zip(NAMES).map(|((own, all), index)| if own == all { index } else { "0" });
        format!("{name}[{}]", list(place.map(str::to_string).collect()))
    };
    let index = NAMES[..both.len()].join(",");
    let extents = list(both.iter().map(i32::to_string).collect());
    Some(format!("{{ [{index}] -> {} {sign} {} | [{index}] < [{extents}] }}", cell(a, a_shape), cell(b, b_shape)))
}

/// How a shape differs from another one, if by the same on some axes: `, one shorter on axes 0 and 1`.
fn difference(from: &Kind, kind: &Kind) -> Option<String> {
    const NUMBERS: [&str; 4] = ["", "one", "two", "three"];
    let (a, b) = (extents(from)?, extents(kind)?);
    let steps = |k: &usize| b[*k] - a[*k];
    let axes: Vec<usize> = (0..a.len().min(b.len())).filter(|k| steps(k) != 0).collect();
    let step = axes.first().map(steps)?;
    let count = NUMBERS.get(usize::try_from(step.unsigned_abs()).ok()?)?;
    if a.len() != b.len() || axes.iter().any(|k| steps(k) != step) {
        return None;
    }
    let numbers: Vec<String> = axes.iter().map(usize::to_string).collect();
    let axes = match &numbers[..] {
        [axis] => format!("axis {axis}"),
        [first @ .., last] => format!("axes {} and {last}", first.join(", ")),
        [] => return None,
    };
    Some(format!(", {count} {} on {axes}", if step < 0 { "shorter" } else { "longer" }))
}

/// The extents of an array, if all are known.
fn extents(kind: &Kind) -> Option<Vec<i32>> {
    match kind {
        Kind::Arr(_, ShapeKind::Known(extents)) => extents.iter().map(|extent| extent.as_ref()?.as_const()).collect(),
        Kind::Tup(_, parts) => Some(vec![i32::try_from(parts.len()).ok()?]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::broadcast;

    #[test]
    fn what_numpy_repeats_is_a_comprehension() {
        let column = broadcast(("a", &[3, 1]), "+", ("b", &[1, 3]));
        assert_eq!(column.as_deref(), Some("{ [i,j] -> a[i,0] + b[0,j] | [i,j] < [3,3] }"));
        let row = broadcast(("m", &[3, 2]), "*", ("row", &[2]));
        assert_eq!(row.as_deref(), Some("{ [i] -> m[i] * row | [i] < [3] }"));
        let literal = broadcast(("m", &[2, 3]), "+", ("[10, 20, 30]", &[3]));
        assert_eq!(literal.as_deref(), Some("{ [i] -> m[i] + [10, 20, 30] | [i] < [2] }"));
        assert_eq!(broadcast(("[[1],[2]]", &[2, 1]), "+", ("b", &[2, 3])), None);
        assert_eq!(broadcast(("a", &[3, 2]), "+", ("b", &[3])), None);
        assert_eq!(broadcast(("a", &[3]), "+", ("b", &[4])), None);
        assert_eq!(broadcast(("f(x)", &[3, 1]), "+", ("b", &[1, 3])), None);
    }
}
