//! What is said when no instance of an overload set takes the arguments: reasons, and conversions that would help.

use crate::conversions::{help_to_agree, help_to_convert, written};
use crate::spec::Spec;
use crate::value::Val;
use ravel_core::ir::{ElemTy, Fun, FunId};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_types::Basic;

impl Spec<'_> {
    /// Reports that no instance fits, with the reasons of those that come nearest.
    pub fn no_instance(&mut self, name: &str, args: &[Val], rejected: &[(FunId, String)]) {
        let types: Vec<String> = args.iter().map(|a| self.show_value_type(a)).collect();
        let site = self.user_site();
        let mut diagnostic =
            Diagnostic::error(Code::NoInstance, format!("no instance of `{name}` takes ({})", types.join(", ")))
                .at(site, format!("called with ({})", types.join(", ")));
        // One's own functions first; of the library's, which may be many, a few with different reasons.
        let (own, library): (Vec<_>, Vec<_>) =
            rejected.iter().partition(|(id, _)| !(self.options.is_library)(self.fun(*id).span.file));
        let mut shown: Vec<&(FunId, String)> = own.into_iter().take(8).collect();
        let room = shown.len() + if shown.is_empty() { 3 } else { 1 };
        for candidate in library {
            if shown.len() < room && !shown.iter().any(|(_, reason)| *reason == candidate.1) {
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
        if rejected.len() > shown.len() {
            diagnostic = diagnostic.with_note(format!("and {} more", rejected.len() - shown.len()));
        }
        let help = self.conversion_help(name, args, rejected).or_else(|| self.vector_help(args, rejected));
        if let Some(help) = help {
            diagnostic = diagnostic.with_help(help);
        }
        self.report(diagnostic);
    }

    /// That a scalar would do as a vector of one element.
    fn vector_help(&mut self, args: &[Val], rejected: &[(FunId, String)]) -> Option<String> {
        for (k, arg) in args.iter().enumerate() {
            let Val::Sc(basic, scalar) = arg else { continue };
            let mut vectors = args.to_vec();
            vectors[k] = Val::Tup(*basic, vec![scalar.clone()]);
            if rejected.iter().any(|(id, _)| self.takes(*id, &vectors)) {
                let written = written(arg).map_or("..".to_string(), |n| n.to_string());
                return Some(format!("argument {}: a vector of one element is `[{written}]`", k + 1));
            }
        }
        None
    }

    /// How the arguments could be made to fit some instance by converting them.
    fn conversion_help(&self, name: &str, args: &[Val], rejected: &[(FunId, String)]) -> Option<String> {
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
            return Some(help_to_agree(a, b, args.iter().find_map(written)));
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
        let what = match (name, position) {
            ("modarray", 2) => "the new value: ".to_string(),
            _ if args.len() == 1 => String::new(),
            _ => format!("argument {}: ", position + 1),
        };
        Some(format!("{what}{}", help_to_convert(to, written(&args[position]))))
    }
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
