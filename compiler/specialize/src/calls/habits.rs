//! Calls that other languages give a meaning: chained comparisons, `^` as a power, texts printed and joined.

use crate::conversions::is_number;
use crate::spec::{Argument, Spec};
use crate::value::Val;
use ravel_core::ir::ElemTy;
use ravel_diagnostics::{Diagnostic, Fix};
use ravel_source::Span;
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
        // What a macro's text puts in place has no text of its own.
        let meet = |a: Span, b: Span| a.file == b.file && a.start < b.end && b.start < a.end;
        let pairs = noted.iter().enumerate().flat_map(|(k, a)| noted[k + 1..].iter().map(move |b| (a.span, b.span)));
        if pairs.into_iter().any(|(a, b)| meet(a, b)) {
            return None;
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
            ("%", [a, b], [left, right]) if [a, b].iter().any(|arg| self.is_real(arg)) => {
                let to = match [a, b].iter().all(|arg| self.is_of(arg, Basic::Float)) {
                    true => Basic::Float,
                    false => Basic::Double,
                };
                let real = |arg: &Val, text: &str| match self.is_of(arg, to) {
                    true => text.to_string(),
                    false => crate::conversions::converted(text, to).0,
                };
                let is_scalar = |arg: &Val| matches!(arg, Val::Sc(..));
                let module = if is_scalar(a) && is_scalar(b) { "Math" } else { "Special" };
                let text = format!("fmod({}, {})", real(a, left), real(b, right));
                let edits = vec![(whole, format!("{module}::{text}"))];
                let title = format!("`{text}` of module {module}");
                Some(
                    renamed(diagnostic, "`%` is of whole numbers")
                        .with_note("`fmod` has the sign of its first argument, `floor_mod` of Special that of the second, as `%` of Python")
                        .with_fix(Fix { title, safe: false, edits }),
                )
            }
            ("~", [arg], [text]) if self.is_of(arg, Basic::Bool) && self.begins_with('~') => {
                let text = format!("!{text}");
                let diagnostic = renamed(diagnostic, "`~` is of whole numbers");
                Some(diagnostic.with_safe_edit(format!("`{text}` is true where the other is not"), whole, text))
            }
            ("-", [arg], [text]) if self.begins_with('-') => {
                let convert = match self.elem_of(arg)? {
                    ElemTy::Basic(Basic::Ubyte | Basic::Ushort) => "toi",
                    ElemTy::Basic(Basic::Uint) => "tol",
                    ElemTy::Basic(Basic::Ulong | Basic::Ulonglong) => "toll",
                    _ => return None,
                };
                let text = format!("-{convert}({text})");
                Some(renamed(diagnostic, "unsigned numbers have no sign").with_edit(format!("`{text}`"), whole, text))
            }
            ("+" | "++", [a, b], [left, right]) if self.is_text(a) && self.is_text(b) => {
                let text = format!("strcat({left}, {right})");
                let diagnostic = renamed(diagnostic, &format!("strings have no `{name}`"));
                let edits = vec![(whole, format!("String::{text}"))];
                let title = format!("`{text}` of module String joins them");
                Some(diagnostic.with_fix(Fix { title, safe: true, edits }))
            }
            ("+" | "++", [a, b], [left, right]) if self.is_text(a) != self.is_text(b) => {
                let other = if self.is_text(a) { b } else { a };
                let text = |arg: &Val, text: &str| match self.is_text(arg) {
                    true => Some(text.to_string()),
                    false => self.conversion_of(arg).map(|format| format!("sprintf(\"{format}\", {text})")),
                };
                self.conversion_of(other)?;
                let call = format!("strcat({}, {})", text(a, left)?, text(b, right)?);
                Some(
                    renamed(diagnostic, &format!("strings have no `{name}`"))
                        .with_note("`printf` writes texts and numbers at once")
                        .with_help(format!("`{call}` of module String")),
                )
            }
            ("==" | "!=", [a, b], [left, right])
                if self.is_text(a) && self.is_of(b, Basic::Char) || self.is_of(a, Basic::Char) && self.is_text(b) =>
            {
                let k = usize::from(self.is_text(a));
                let inner = [left, right][k].strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let diagnostic = renamed(diagnostic, "a character is no string");
                Some(match inner.filter(|inner| !inner.contains(['"', '\\'])) {
                    Some(inner) => {
                        let text = format!("\"{inner}\"");
                        diagnostic.with_edit(format!("`{text}` is a string"), noted[k].span, text)
                    }
                    None => diagnostic.with_help("`s[[0]]` is the first character of a string"),
                })
            }
            ("==" | "!=" | "<" | "<=" | ">" | ">=", [a, b], _) if self.is_text(a) && self.is_text(b) => {
                Some(Diagnostic { notes: Vec::new(), ..diagnostic }.with_help("add `use String: all;`"))
            }
            ("genarray", [_, cell], [shape, text]) if matches!(self.elem_of(cell), Some(ElemTy::Struct(_))) => {
                let inner = shape.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))?;
                let count = inner.split(',').count();
                let index = ["i", "j", "k", "l"].get(..count)?.join(",");
                let text = format!("{{ [{index}] -> {text} | [{index}] < {shape} }}");
                let diagnostic = renamed(diagnostic, "`genarray` has cells of numbers");
                Some(diagnostic.with_note("arrays of records are made by index").with_safe_edit(
                    format!("`{text}`"),
                    self.here,
                    text,
                ))
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

    /// Whether the call is written with a sign in front.
    fn begins_with(&self, sign: char) -> bool {
        let text = self.options.map.get(self.here.file).map_or("", |file| &file.text);
        let own = text.get(self.here.start as usize..self.here.end as usize).unwrap_or_default();
        own.starts_with(sign)
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
