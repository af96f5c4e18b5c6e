//! Formats of the `printf` family that are written out in the program: their conversions must fit the arguments.

use crate::spec::Spec;
use crate::value::Val;
use ravel_core::ir::ElemTy;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_types::Basic;

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

/// One argument that a format uses: the conversion as written, and what it takes.
type Conversion = (String, Wanted);

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
                    found.push(("*".to_string(), Wanted::Integer));
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
        found.push((shown, wanted));
    }
    Ok(found)
}

impl Spec<'_> {
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
        let report = |title: String, label: String| Diagnostic::error(Code::FormatMismatch, title).at(site, label);
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
            return self.report(report(title, "format and arguments do not fit".to_string()));
        }
        for (i, ((shown, wanted), arg)) in conversions.iter().zip(args).enumerate() {
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
            self.report(match wanted {
                Wanted::Integer if real => report.with_help("write %f or %g, or convert it: `toi(...)`"),
                Wanted::Real if number => report.with_help("write %d, or convert it: `tod(...)`"),
                Wanted::Text if elem == Some(ElemTy::Basic(Basic::Char)) && !number => {
                    report.with_help("characters become a string by `to_string(...)`")
                }
                Wanted::Text if number => report.with_help(if real { "write %g" } else { "write %d" }),
                _ => report,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_as_the_runtime_reads_them() {
        let kinds = |format: &str| conversions(format).map(|list| list.into_iter().map(|(_, w)| w).collect::<Vec<_>>());
        assert_eq!(kinds("no conversion, 100%%\n"), Ok(vec![]));
        assert_eq!(kinds("%d %-08.3lf%s"), Ok(vec![Wanted::Integer, Wanted::Real, Wanted::Text]));
        assert_eq!(kinds("%*.*g"), Ok(vec![Wanted::Integer, Wanted::Integer, Wanted::Real]));
        assert_eq!(kinds("50%"), Ok(vec![]));
        assert_eq!(kinds("%-5"), Ok(vec![]));
        assert_eq!(kinds("%5k"), Err("%5k".to_string()));
    }
}
