//! Calls that other languages give a meaning: chained comparisons, `^` as a power, texts printed and joined.

use crate::conversions::is_number;
use crate::spec::{Argument, Spec};
use crate::value::Val;
use ravel_core::ir::ElemTy;
use ravel_diagnostics::{Diagnostic, Fix};
use ravel_types::Basic;

impl Spec<'_> {
    /// The report of a call that no instance takes, if its author surely meant what another language calls so.
    pub fn habit(
        &self,
        diagnostic: Diagnostic,
        name: &str,
        args: &[Val],
        noted: Option<&[Argument]>,
    ) -> Option<Diagnostic> {
        let noted = noted.filter(|noted| noted.len() == args.len())?;
        let texts: Vec<&str> = noted.iter().map(|arg| self.quotable(arg.span)).collect::<Option<_>>()?;
        if let Some(report) = self.index_by_array(&diagnostic, name, args, noted) {
            return Some(report);
        }
        let whole = noted.iter().fold(self.here, |whole, arg| whole.to(arg.span));
        match (name, args, &texts[..]) {
            ("<" | "<=" | ">" | ">=" | "==" | "!=", [first, _], [left, right]) if self.is_of(first, Basic::Bool) => {
                let text = format!("{left} && {} {name} {right}", last_compared(left)?);
                let diagnostic = renamed(diagnostic, "comparisons do not chain");
                Some(diagnostic.with_note(format!("`{left}` is a bool")).with_safe_edit(
                    format!("`{text}`"),
                    whole,
                    text,
                ))
            }
            ("^", [a, b], [left, right]) if [a, b].iter().any(|arg| self.is_real(arg)) => {
                // A literal takes the type of what is no literal.
                let is_float = |arg: &Val, text: &str| self.is_of(arg, Basic::Float) && !is_literal(text);
                let is_double = |arg: &Val, text: &str| self.is_of(arg, Basic::Double) && !is_literal(text);
                let floats = is_float(a, left) || is_float(b, right);
                let to = match floats && !is_double(a, left) && !is_double(b, right) {
                    true => Basic::Float,
                    false => Basic::Double,
                };
                let real = |arg: &Val, text: &str| match crate::conversions::converted(text, to) {
                    _ if self.is_of(arg, to) => text.to_string(),
                    _ if is_literal(text) && self.is_real(arg) => {
                        format!("{}{}", text.trim_end_matches(['d', 'f']), to.suffix().unwrap_or_default())
                    }
                    (converted, _) => converted,
                };
                let is_scalar = |arg: &Val| matches!(arg, Val::Sc(..));
                let module = if is_scalar(a) && is_scalar(b) { "Math" } else { "MathArray" };
                let text = format!("pow({}, {})", real(a, left), real(b, right));
                let title = format!("`{text}`, with `use {module}: all;`");
                let edits = vec![(whole, format!("{module}::{text}"))];
                Some(
                    renamed(diagnostic, "`^` is no power")
                        .with_note("of whole numbers it is the exclusive or of their bits, as in C")
                        .with_fix(Fix { title, safe: false, edits }),
                )
            }
            ("+", [a, b], [left, right]) if self.is_text(a) && self.is_text(b) => {
                let text = format!("strcat({left}, {right})");
                let diagnostic = renamed(diagnostic, "strings have no `+`");
                let edits = vec![(whole, format!("String::{text}"))];
                let title = format!("`{text}` of module String joins them");
                Some(diagnostic.with_fix(Fix { title, safe: true, edits }))
            }
            ("==" | "!=" | "<" | "<=" | ">" | ">=", [a, b], _) if self.is_text(a) && self.is_text(b) => {
                Some(Diagnostic { notes: Vec::new(), ..diagnostic }.with_help("add `use String: all;`"))
            }
            ("print" | "show", [arg], [text]) if self.is_text(arg) => {
                let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
                let call = match inner {
                    Some(inner) => format!("printf(\"{}\\n\")", inner.replace('%', "%%")),
                    None => format!("printf(\"%s\\n\", {text})"),
                };
                let diagnostic = diagnostic.with_note(format!("`{name}` is for arrays"));
                let title = format!("`{call}`");
                Some(match self.quotable(self.here).is_some_and(|text| text.starts_with(name)) {
                    true => diagnostic.with_safe_edit(title, self.here, call),
                    false => diagnostic.with_help(title),
                })
            }
            ("print" | "show", [_, _, ..], texts) => {
                let diagnostic = renamed(diagnostic, &format!("`{name}` takes one value"));
                let formats: Option<Vec<&str>> = args.iter().map(|arg| self.conversion_of(arg)).collect();
                Some(match formats.filter(|_| self.quotable(self.here).is_some_and(|text| text.starts_with(name))) {
                    Some(formats) => {
                        let call = format!("printf(\"{}\\n\", {})", formats.join(" "), texts.join(", "));
                        diagnostic.with_edit(format!("`{call}`"), self.here, call)
                    }
                    None => {
                        let calls: Vec<String> = texts.iter().map(|text| format!("{name}({text});")).collect();
                        diagnostic.with_help(format!("`{}`", calls.join(" ")))
                    }
                })
            }
            _ => None,
        }
    }

    /// What `printf` writes a scalar or a string by.
    pub fn conversion_of(&self, arg: &Val) -> Option<&'static str> {
        match (self.elem_of(arg)?, arg) {
            (ElemTy::Basic(Basic::Float | Basic::Double), Val::Sc(..)) => Some("%g"),
            (ElemTy::Basic(_), Val::Sc(..)) => Some("%d"),
            _ if self.is_text(arg) => Some("%s"),
            _ => None,
        }
    }

    fn is_of(&self, value: &Val, basic: Basic) -> bool {
        self.elem_of(value) == Some(ElemTy::Basic(basic))
    }

    fn is_real(&self, value: &Val) -> bool {
        self.is_of(value, Basic::Double) || self.is_of(value, Basic::Float)
    }

    fn is_text(&self, value: &Val) -> bool {
        matches!(self.elem_of(value), Some(ElemTy::User(user)) if Some(user) == self.program.string_type)
    }
}

/// Whether a text is a number, with or without a suffix.
fn is_literal(text: &str) -> bool {
    is_number(text) || is_number(text.trim_end_matches(['d', 'f']))
}

fn renamed(diagnostic: Diagnostic, title: &str) -> Diagnostic {
    Diagnostic { title: title.to_string(), notes: Vec::new(), ..diagnostic }
}

/// What stands behind the last comparison of an expression that has no parentheses around it.
fn last_compared(text: &str) -> Option<&str> {
    let mut depth = 0usize;
    let mut found = None;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            '&' | '|' | '?' | '"' | '\'' if depth == 0 => return None,
            '<' | '>' | '=' if depth == 0 => found = Some(at + 1),
            _ => {}
        }
    }
    Some(text[found?..].trim()).filter(|operand| !operand.is_empty())
}

#[cfg(test)]
mod tests {
    use super::last_compared;

    #[test]
    fn the_operand_between_two_comparisons() {
        assert_eq!(last_compared("0 <= x"), Some("x"));
        assert_eq!(last_compared("a == f(b < c)"), Some("f(b < c)"));
        assert_eq!(last_compared("(0 <= x)"), None);
        assert_eq!(last_compared("a && b < c"), None);
    }
}
