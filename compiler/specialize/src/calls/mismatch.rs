//! What is said when no instance of an overload set takes the arguments: reasons, and conversions that would help.

use crate::conversions::{agreed, converted, help_to_agree, help_to_convert, is_number, written};
use crate::spec::{Argument, Spec};
use crate::value::Val;
use ravel_core::ir::{ElemTy, Fun, FunId};
use ravel_diagnostics::{Code, Diagnostic, Fix};
use ravel_source::Span;
use ravel_types::Basic;

impl Spec<'_> {
    /// Reports that no instance fits, with the reasons of those that come nearest.
    pub fn no_instance(&mut self, name: &str, args: &[Val], rejected: &[(FunId, String)]) {
        let types: Vec<String> = args.iter().map(|a| self.show_value_type(a)).collect();
        let site = self.user_site();
        // The arguments of this call are noted still; of one further in, those of the user's call are.
        let noted = self.noted.take().filter(|_| site == self.here);
        let conversion = self.conversion(args, rejected, noted.as_deref());
        let is_operator = !name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let title = match (&types[..], &conversion) {
            ([a, b], Some(_)) if is_operator => format!("`{name}` does not mix {a} and {b}"),
            _ => format!("no instance of `{name}` takes ({})", types.join(", ")),
        };
        let report = Diagnostic::error(Code::NoInstance, title).at(site, format!("called with ({})", types.join(", ")));
        let mut diagnostic = match &noted {
            Some(noted) => self.label_arguments(report, noted).0,
            None => report,
        };
        let (own, library): (Vec<_>, Vec<_>) =
            rejected.iter().partition(|(id, _)| !(self.options.is_library)(self.fun(*id).span.file));
        // One's own functions first. The library's, which may be many, say little where the way out is known; else a few with different reasons.
        let all = self.options.candidates;
        let mut shown: Vec<&(FunId, String)> = own.into_iter().take(if all { usize::MAX } else { 8 }).collect();
        let room = match (all, conversion.is_some(), shown.is_empty()) {
            (true, _, _) => usize::MAX,
            (_, true, _) => shown.len(),
            (_, _, true) => 3,
            (_, _, false) => shown.len() + 1,
        };
        for candidate in library {
            if shown.len() < room && (all || !shown.iter().any(|(_, reason)| *reason == candidate.1)) {
                shown.push(candidate);
            }
        }
        for (id, reason) in &shown {
            let fun = self.fun(*id);
            diagnostic = diagnostic.with_note(format!("{} of {}: {reason}", self.show_head(fun), fun.module));
        }
        if rejected.is_empty() {
            // Syntax that asks for a function, in a file that only has those that records bring.
            diagnostic = diagnostic.with_help("add `use Array: all;`");
        }
        let more = rejected.len() - shown.len();
        diagnostic = match (more, shown.len()) {
            (0, _) => diagnostic,
            (1, 0) => diagnostic.with_note("one definition was tried: `ravel check --candidates` shows it"),
            (n, 0) => {
                diagnostic.with_note(format!("{n} definitions were tried: `ravel check --candidates` lists them"))
            }
            (n, _) => diagnostic.with_note(format!("and {n} more: `ravel check --candidates` lists them")),
        };
        if let Some(explained) = self.habit(diagnostic.clone(), name, args, noted.as_deref()) {
            return self.report(explained);
        }
        let is_vector_meant = self.vector_help(args, rejected).is_some_and(|(k, ..)| k == 0);
        if !is_operator
            && !is_vector_meant
            && let Some((place, text)) = self.exchanged(args, rejected, noted.as_deref())
        {
            diagnostic.notes.clear();
            let differ = self.elem_of(&args[0]) != self.elem_of(&args[1]);
            let fix = Fix { title: format!("`{text}`"), safe: differ, edits: vec![(place, text)] };
            return self.report(diagnostic.with_note("it takes its arguments in the other order").with_fix(fix));
        }
        diagnostic = match conversion.filter(|_| !is_vector_meant) {
            Some(conversion) => self.with_conversion(diagnostic, name, args, &conversion, noted.as_deref()),
            None => match self.vector_help(args, rejected) {
                Some((k, text, help)) => match noted.as_ref().map(|noted| noted[k].span) {
                    Some(place) if self.quotable(place).is_some_and(|written| text == format!("[{written}]")) => {
                        diagnostic.with_help(help.clone()).with_safe_edit(help, place, text)
                    }
                    Some(place) if self.quotable(place).is_some_and(is_name) => {
                        let text = format!("[{}]", self.quotable(place).unwrap_or_default());
                        let help = format!("argument {}: a vector of one element is `{text}`", k + 1);
                        diagnostic.with_help(help.clone()).with_safe_edit(help, place, text)
                    }
                    _ => diagnostic.with_help(help),
                },
                None => diagnostic,
            },
        };
        self.report(diagnostic);
    }

    /// The report with the conversion that helps: as an edit where the argument can be quoted, else in words.
    fn with_conversion(
        &self,
        diagnostic: Diagnostic,
        name: &str,
        args: &[Val],
        conversion: &Conversion,
        noted: Option<&[Argument]>,
    ) -> Diagnostic {
        let Conversion { position, to, ref words, is_sure } = *conversion;
        let Some((argument, text)) = noted
            .filter(|noted| self.is_apart(noted, position))
            .and_then(|noted| Some((&noted[position], self.quotable(noted[position].span)?)))
        else {
            let what = match (name, position) {
                ("modarray", 2) => "the new value: ".to_string(),
                _ if args.len() == 1 || name == "modarray" => String::new(),
                _ if is_sure => String::new(),
                _ => format!("argument {}: ", position + 1),
            };
            return diagnostic.with_help(format!("{what}{words}"));
        };
        if let Some(start) = self.updated(noted.unwrap_or_default(), position, to) {
            return diagnostic.with_help(start).with_note("nothing converts implicitly");
        }
        let (new, is_exact) = converted(text, to);
        let site = self.here;
        let whole = self.quotable(site).filter(|_| site.start <= argument.span.start && argument.span.end <= site.end);
        let title = match whole {
            Some(whole) => {
                let (from, upto) =
                    ((argument.span.start - site.start) as usize, (argument.span.end - site.start) as usize);
                format!("`{}{new}{}`", &whole[..from], &whole[upto..])
            }
            None => format!("`{new}`"),
        };
        // A number is a double as it stands; other conversions may lose something.
        let lossless = to == Basic::Double && self.elem_of(&args[position]) != Some(ElemTy::Basic(Basic::Bool));
        let diagnostic = match is_exact {
            true => diagnostic,
            false => diagnostic.with_note(format!("`{text}` is a quotient of whole numbers, without its fraction")),
        };
        let fix = Fix { title, safe: lossless && is_exact, edits: vec![(argument.span, new)] };
        diagnostic.with_fix(fix).with_note("nothing converts implicitly")
    }

    /// Whether an argument has a place of its own: what a macro's text puts in place has that of the macro's call.
    fn is_apart(&self, noted: &[Argument], position: usize) -> bool {
        let own = noted[position].span;
        let meets = |other: Span| other.file == own.file && other.start < own.end && own.start < other.end;
        own != self.here && !noted.iter().enumerate().any(|(k, other)| k != position && meets(other.span))
    }

    /// What to do where a variable that the statement changes would have to be converted in front of its change: `x += 2.5`, `x = x + 2.5`.
    fn updated(&self, noted: &[Argument], position: usize, to: Basic) -> Option<String> {
        let (variable, other) = match noted {
            [variable, other] if position == 0 => (variable.span, other.span),
            _ => return None,
        };
        let name = self.quotable(variable).filter(|text| is_name(text))?;
        let text = &self.options.map.get(variable.file)?.text;
        let between = text.get(variable.end as usize..other.start as usize)?.trim();
        let before = text.get(..variable.start as usize)?.trim_end();
        let target = before.strip_suffix('=').map_or("", str::trim_end);
        let is_target = target.strip_suffix(name).is_some_and(|rest| rest.trim_end().ends_with([';', '{', '}', ')']));
        let is_compound =
            between.len() == 2 && between.ends_with('=') && between.starts_with(['+', '-', '*', '/', '%']);
        let zero = format!("0{}", to.suffix()?);
        (is_target || is_compound)
            .then(|| format!("give `{name}` a {} at its start, as in `{name} = {zero};`", to.name()))
    }

    /// The call with its two arguments exchanged, if an instance takes them so: its place and text.
    fn exchanged(
        &mut self,
        args: &[Val],
        rejected: &[(FunId, String)],
        noted: Option<&[Argument]>,
    ) -> Option<(Span, String)> {
        let (call, [left, right]) = (self.here, noted?) else { return None };
        let whole = self.quotable(call)?;
        let (a, b) = (self.quotable(left.span)?.to_string(), self.quotable(right.span)?.to_string());
        let name = whole.strip_suffix(')').and_then(|rest| rest.split_once('(')).map(|(name, _)| name.to_string());
        let inside = |span: Span| call.start < span.start && span.end < call.end && span.file == call.file;
        let name = name.filter(|_| inside(left.span) && left.span.end < right.span.start && inside(right.span))?;
        let exchanged = [args.get(1)?.clone(), args.first()?.clone()];
        let fits = rejected.iter().any(|(id, _)| self.takes(*id, &exchanged));
        fits.then(|| (call, format!("{name}({b}, {a})")))
    }

    /// That a scalar would do as a vector of one element.
    fn vector_help(&mut self, args: &[Val], rejected: &[(FunId, String)]) -> Option<(usize, String, String)> {
        for (k, arg) in args.iter().enumerate() {
            let Val::Sc(basic, scalar) = arg else { continue };
            let mut vectors = args.to_vec();
            vectors[k] = Val::Tup(*basic, vec![scalar.clone()]);
            if rejected.iter().any(|(id, _)| self.takes(*id, &vectors)) {
                let written = written(arg).map_or("..".to_string(), |n| n.to_string());
                let text = format!("[{written}]");
                let help = format!("argument {}: a vector of one element is `{text}`", k + 1);
                return Some((k, text, help));
            }
        }
        None
    }

    /// How the arguments could be made to fit some instance by converting one of them.
    fn conversion(
        &mut self,
        args: &[Val],
        rejected: &[(FunId, String)],
        noted: Option<&[Argument]>,
    ) -> Option<Conversion> {
        let elems: Vec<Option<Basic>> = args
            .iter()
            .map(|arg| match self.elem_of(arg) {
                Some(ElemTy::Basic(basic)) => Some(basic),
                _ => None,
            })
            .collect();
        let fitting = || rejected.iter().map(|(id, _)| self.fun(*id)).filter(|fun| fun.params.len() == args.len());
        // Two numbers of one family.
        let one_family = |fun: &Fun| {
            let mut families = fun.params.iter().map(|param| match param.ty.elem {
                ElemTy::Family(family) => Some(family),
                _ => None,
            });
            families.next().flatten().is_some_and(|first| families.all(|other| other == Some(first)))
        };
        if let [Some(a), Some(b)] = elems[..]
            && a != b
            && fitting().any(one_family)
        {
            let words = help_to_agree(a, b, args.iter().find_map(written));
            // Beside a float, a literal without suffix was hardly meant to be a double.
            let is_literal = |k: usize| noted.is_some_and(|noted| is_number(self.options.map.snippet(noted[k].span)));
            let to = match (a, b) {
                (Basic::Float, Basic::Double) if is_literal(1) => Basic::Float,
                (Basic::Double, Basic::Float) if is_literal(0) => Basic::Float,
                _ => agreed(a, b),
            };
            return Some(Conversion { position: usize::from(a == to), to, words, is_sure: true });
        }
        let mut best: Option<Vec<(usize, Basic)>> = None;
        for fun in fitting() {
            let Some(needed) = conversions_to(fun, &elems).filter(|needed| !needed.is_empty()) else { continue };
            // The fewest conversions; to double where there is a choice.
            let better = best.as_ref().is_none_or(|best| {
                let double = |list: &[(usize, Basic)]| list.iter().any(|(_, to)| *to == Basic::Double);
                needed.len() < best.len() || needed.len() == best.len() && double(&needed) && !double(best)
            });
            if better {
                best = Some(needed);
            }
        }
        let (position, to) = *best?.first()?;
        let words = help_to_convert(to, written(&args[position]));
        Some(Conversion { position, to, words, is_sure: false })
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// An argument that would fit as a value of another type.
struct Conversion {
    position: usize,
    to: Basic,
    /// What to do, where the argument cannot be quoted.
    words: String,
    /// Whether it says which argument is meant.
    is_sure: bool,
}

/// The arguments that would have to be converted for the function, each with the type that it needs; nothing if that cannot help.
fn conversions_to(fun: &Fun, args: &[Option<Basic>]) -> Option<Vec<(usize, Basic)>> {
    let mut bound: Vec<Option<Basic>> = vec![None; fun.families.len()];
    let mut needed = Vec::new();
    for (i, (param, arg)) in fun.params.iter().zip(args).enumerate() {
        let wanted = match param.ty.elem {
            ElemTy::Basic(basic) => basic,
            ElemTy::Family(family) => match bound[family.index()] {
                Some(basic) => basic,
                None => {
                    let members = &fun.families[family.index()].members;
                    let member = arg.filter(|basic| members.contains(basic));
                    // Truth values are counted, not measured.
                    let plain = if *arg == Some(Basic::Bool) { Basic::Int } else { Basic::Double };
                    let double = [plain, Basic::Double].into_iter().find(|basic| members.contains(basic));
                    bound[family.index()] = member.or(double).or(members.first().copied());
                    bound[family.index()]?
                }
            },
            _ => match arg {
                None => continue,
                Some(_) => return None,
            },
        };
        match arg {
            Some(basic) if *basic == wanted => {}
            Some(_) => needed.push((i, wanted)),
            None => return None,
        }
    }
    Some(needed)
}
