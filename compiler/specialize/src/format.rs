//! Formats of the `printf` family that are written out in the program: their conversions must fit the arguments.

use crate::spec::Spec;
use crate::value::Val;
use ravel_core::ir::ElemTy;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_types::Basic;
use std::ops::Range;

/// Natives that take a format, with its position among their arguments.
const FORMATS: [(&str, usize); 4] =
    [("ravel_printf", 0), ("ravel_fprintf", 1), ("ravel_sprintf", 0), ("ravel_error", 1)];

/// What a conversion takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Integer,
    Real,
    Text,
    /// `%p`: a handle or an integer.
    Address,
}

impl Wanted {
    fn words(self) -> &'static str {
        match self {
            Wanted::Integer => "an integer",
            Wanted::Real => "a real number",
            Wanted::Text => "a string",
            Wanted::Address => "an object",
        }
    }
}

/// One argument that a format uses: the conversion as written, what it takes, and its bytes in the format.
type Conversion = (String, Wanted, Range<usize>);

/// The arguments that a format uses in order, or the conversion that does not exist.
fn conversions(format: &str) -> Result<Vec<Conversion>, String> {
    let bytes = format.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        at += 1;
        if bytes[at - 1] != b'%' {
            continue;
        }
        let start = at - 1;
        let skip = |at: &mut usize, accepted: &[u8]| {
            while bytes.get(*at).is_some_and(|byte| accepted.contains(byte)) {
                *at += 1;
            }
        };
        skip(&mut at, b"-+ #0'");
        for part in [false, true] {
            if part {
                if bytes.get(at) != Some(&b'.') {
                    break;
                }
                at += 1;
            }
            match bytes.get(at) {
                Some(b'*') => {
                    found.push(("*".to_string(), Wanted::Integer, at..at + 1));
                    at += 1;
                }
                _ => skip(&mut at, b"0123456789"),
            }
        }
        skip(&mut at, b"hlLqjzt");
        // An unfinished conversion at the end is text.
        let Some(kind) = bytes.get(at) else { break };
        at += 1;
        let shown = String::from_utf8_lossy(&bytes[start..at]).into_owned();
        let wanted = match kind {
            b'%' => continue,
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'c' => Wanted::Integer,
            b's' => Wanted::Text,
            b'p' => Wanted::Address,
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => Wanted::Real,
            _ => return Err(shown),
        };
        found.push((shown, wanted, start..at));
    }
    Ok(found)
}

/// The bytes of the conversion `k` of a format in the text of a call, if that has one literal whose conversions are those of the format.
fn place_of(call: &str, format: &[Conversion], k: usize) -> Option<Range<usize>> {
    let open = call.find('"')? + 1;
    let mut end = open;
    let bytes = call.as_bytes();
    while *bytes.get(end)? != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    let literal = call.get(open..end)?;
    // A literal behind it may be a part of the format.
    if call[end + 1..].trim_start().starts_with('"') {
        return None;
    }
    let written = conversions(literal).ok()?;
    let same = written.len() == format.len() && written.iter().zip(format).all(|(a, b)| a.0 == b.0);
    same.then(|| open + written[k].2.start..open + written[k].2.end)
}

/// A conversion as another kind; nothing if it has a precision, which would mean something else.
fn converted(shown: &str, kind: char) -> Option<String> {
    let front = shown.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    (front.starts_with('%') && !front.contains('.')).then(|| format!("{front}{kind}"))
}

impl Spec<'_> {
    /// A format without conversions, which texts of other languages need not have, with one for each argument behind it: where it stands, and what
    /// to write.
    fn format_for<T>(&self, first: usize, conversions: &[T], args: &[Val]) -> Option<(Span, String)> {
        let place = self.user_call()?.1.get(first - 1)?.span;
        let inner = self.quotable(place)?.strip_prefix('"')?.strip_suffix('"')?;
        if !conversions.is_empty() || inner.contains('"') {
            return None;
        }
        let wanted: Option<Vec<&str>> = args.iter().map(|arg| self.conversion_of(arg)).collect();
        let wanted = wanted?;
        if inner.matches("{}").count() == wanted.len() {
            let filled = wanted.iter().fold(inner.to_string(), |text, conversion| text.replacen("{}", conversion, 1));
            return Some((place, format!("\"{filled}\"")));
        }
        let wanted = wanted.join(" ");
        let (text, end) = match inner.strip_suffix("\\n") {
            Some(text) => (text, "\\n"),
            None => (inner, ""),
        };
        Some((place, format!("\"{} {}{end}\"", text.trim_end(), wanted)))
    }

    /// Reports a format that does not fit its arguments, if the call of a native has one that is known.
    pub fn check_format(&mut self, symbol: &str, args: &[Val]) {
        let Some((_, at)) = FORMATS.iter().find(|(name, _)| *name == symbol) else { return };
        let Some(Val::Handle(_, format)) = args.get(*at) else { return };
        let Some(text) = self.em.text(*format) else { return };
        if self.speculative > 0 {
            self.note_doubt();
            return;
        }
        let args = &args[at + 1..];
        let site = self.user_site();
        let in_branch = self.branches > 0;
        // The run says so where the call is reached.
        let report = |title: String, label: String| {
            let report = match in_branch {
                true => Diagnostic::warning(Code::FormatMismatch, title)
                    .with_note("the program stops here if this branch runs"),
                false => Diagnostic::error(Code::FormatMismatch, title),
            };
            report.at(site, label)
        };
        if in_branch {
            self.note_doubt();
        }
        let conversions = match conversions(&text) {
            Ok(conversions) => conversions,
            Err(shown) => {
                let title = format!("the format contains the unknown conversion `{}`", shown.escape_debug());
                let help = "conversions are d i u o x c f e g a s p, and %% for the sign itself";
                return self.report(report(title, "used here".to_string()).with_help(help));
            }
        };
        if conversions.len() != args.len() {
            let count = |n: usize| format!("{n} argument{}", if n == 1 { "" } else { "s" });
            let title = format!(
                "the format uses {}, and {} given",
                count(conversions.len()),
                match args.len() {
                    1 => "1 is".to_string(),
                    n => format!("{n} are"),
                }
            );
            let report = match conversions.len() < args.len() {
                // C and the original compiler leave out what is too much.
                true => Diagnostic::warning(Code::FormatMismatch, title).at(site, "what is too much is not printed"),
                false => report(title, "format and arguments do not fit".to_string()),
            };
            self.report(match self.format_for(at + 1, &conversions, args) {
                Some((place, text)) => report.with_edit(format!("the format {text}"), place, text),
                None => report,
            });
            if conversions.len() > args.len() {
                return;
            }
        }
        for (i, ((shown, wanted, _), arg)) in conversions.iter().zip(args).enumerate() {
            let elem = self.elem_of(arg);
            let (fits, real) = match elem {
                None => continue,
                Some(ElemTy::Basic(Basic::Float | Basic::Double)) => (*wanted == Wanted::Real, true),
                Some(ElemTy::Basic(_)) => (matches!(wanted, Wanted::Integer | Wanted::Address), false),
                Some(ElemTy::User(user)) if Some(user) == self.program.string_type => {
                    (matches!(wanted, Wanted::Text | Wanted::Address), false)
                }
                Some(_) => (*wanted == Wanted::Address, false),
            };
            if fits {
                continue;
            }
            let found = self.show_value_type(arg);
            let title = format!("`{shown}` needs {}, found {found}", wanted.words());
            let report = report(title, format!("argument {} behind the format is {found}", i + 1));
            let number = matches!(arg, Val::Sc(..));
            let kind = match wanted {
                Wanted::Integer if real => Some('g'),
                Wanted::Real if number => Some('d'),
                Wanted::Text if number => Some(if real { 'g' } else { 'd' }),
                _ => None,
            };
            let place = place_of(self.options.map.snippet(site), &conversions, i);
            let edit = kind.and_then(|kind| converted(shown, kind)).zip(place).map(|(text, at)| {
                let at = Span::new(site.file, site.start as usize + at.start, site.start as usize + at.end);
                (at, text)
            });
            let report = match edit {
                Some((at, text)) => report.with_safe_edit(format!("write {text}"), at, text),
                None => report,
            };
            let mut report = match wanted {
                Wanted::Integer if real => report.with_help("write %f or %g, or convert it: `toi(...)`"),
                Wanted::Real if number => report.with_help("write %d, or convert it: `tod(...)`"),
                Wanted::Text if elem == Some(ElemTy::Basic(Basic::Char)) && !number => {
                    report.with_help("characters become a string by `to_string(...)`")
                }
                Wanted::Text if number => report.with_help(if real { "write %g" } else { "write %d" }),
                _ => report,
            };
            if let (Some(help), Some(fix)) = (&report.help, report.fixes.first_mut()) {
                fix.title.clone_from(help);
            }
            self.report(report);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_as_the_runtime_reads_them() {
        let kinds =
            |format: &str| conversions(format).map(|list| list.into_iter().map(|(_, w, _)| w).collect::<Vec<_>>());
        assert_eq!(kinds("no conversion, 100%%\n"), Ok(vec![]));
        assert_eq!(kinds("%d %-08.3lf%s"), Ok(vec![Wanted::Integer, Wanted::Real, Wanted::Text]));
        assert_eq!(kinds("%*.*g"), Ok(vec![Wanted::Integer, Wanted::Integer, Wanted::Real]));
        assert_eq!(kinds("50%"), Ok(vec![]));
        assert_eq!(kinds("%-5"), Ok(vec![]));
        assert_eq!(kinds("%5k"), Err("%5k".to_string()));
    }

    #[test]
    fn a_conversion_is_found_in_the_text_of_a_call() {
        let place = |call: &str, format: &str, k| {
            let format = conversions(format).unwrap_or_default();
            place_of(call, &format, k).map(|at| call[at].to_string())
        };
        let call = r#"printf("\"%d\"\n %-5s", x, y)"#;
        assert_eq!(place(call, "\"%d\"\n %-5s", 0).as_deref(), Some("%d"));
        assert_eq!(place(call, "\"%d\"\n %-5s", 1).as_deref(), Some("%-5s"));
        assert_eq!(place(call, "%d %d", 0), None);
        assert_eq!(place(r#"printf("%d" "%s", x)"#, "%d%s", 0), None);
        assert_eq!(place("SHOW(x)", "%d", 0), None);
        assert_eq!(converted("%-5ld", 'g').as_deref(), Some("%-5g"));
        assert_eq!(converted("%.2f", 'd'), None);
    }
}
