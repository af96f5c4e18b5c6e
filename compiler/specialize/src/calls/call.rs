//! Applying one overload instance: in place, as a WIR function, or as a foreign call.

use crate::spec::{Frame, Site, Spec};
use crate::value::{Kind, Sc, Val};
use ravel_core::ir::{External, Fun, FunBody, FunId, TypePat};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_types::Basic;
use ravel_wir::{Op, Value};

/// Activations of all functions inside each other before the recursion is given up as endless.
const MAX_STACK: usize = 4000;

/// Calls of `inline` functions put in place in one function. Each costs microseconds and memory; large functions have thousands, and a
/// function that is beyond has functions that call the next one several times.
const MAX_INLINED: usize = 250_000;

impl Spec<'_> {
    pub fn apply(&mut self, id: FunId, families: Vec<Option<Basic>>, args: Vec<Val>, span: Span) -> Vec<Val> {
        let fun = self.fun(id);
        let count = self.result_count(fun).unwrap_or(0);
        self.note_caller(id, span);
        if args.iter().any(|a| matches!(a, Val::Bottom)) {
            return vec![Val::Bottom; count];
        }
        if self.stack.len() > MAX_STACK {
            self.endless(id);
        }
        if self.exhausted {
            return vec![Val::Bottom; count];
        }
        match &fun.body {
            FunBody::External(_) if self.is_ruled(fun) => self.call_instance(id, families, args, span),
            FunBody::External(external) => self.foreign_call(id, external, families, args, span),
            FunBody::Sac { .. } => {
                // A recursive call is never elaborated in place: two of them in one body would double the code at every level.
                let active = self.is_active(id);
                let stays = fun.noinline || active || self.is_ruled(fun);
                if fun.inline && !stays && !self.wants_rank(fun, &args) {
                    self.inlined += 1;
                    if self.inlined > MAX_INLINED {
                        self.too_long(span);
                        return vec![Val::Bottom; count];
                    }
                    self.elaborate(id, families, args, span)
                } else {
                    self.call_by_rank(id, families, args, span)
                }
            }
        }
    }

    /// A call of a C function.
    pub fn foreign_call(
        &mut self,
        id: FunId,
        external: &External,
        families: Vec<Option<Basic>>,
        args: Vec<Val>,
        span: Span,
    ) -> Vec<Val> {
        self.enter(id, span);
        let results = self.external(id, external, families, args);
        self.stack.pop();
        results
    }

    /// The next elaboration of a function, called at a place.
    fn enter(&mut self, fun: FunId, span: Span) {
        self.activations += 1;
        let args = self.noted.take();
        self.stack.push(Site { fun, span, activation: self.activations, args });
    }

    /// Gives up a recursion that goes on and on with other shapes or values; nothing else is specialised after that.
    pub fn endless(&mut self, id: FunId) {
        if std::mem::replace(&mut self.exhausted, true) {
            return;
        }
        let fun = self.fun(id);
        // The calls from the last activation of the function to this one.
        let from = self.stack.iter().rposition(|site| site.fun == id).unwrap_or(0);
        let mut cycle: Vec<&str> = self.stack[from..].iter().map(|site| self.fun(site.fun).name.as_str()).collect();
        cycle.truncate(6);
        cycle.push(&fun.name);
        let site = self.user_site();
        let report =
            Diagnostic::error(Code::EndlessSpecialization, format!("`{}` is specialised without end", fun.name))
                .at(site, "the recursion never meets the same shapes again")
                .with_note(format!("the calls go round: {}", cycle.join(" -> ")))
                .with_help("let the rank and the extents of what it calls itself with come to rest");
        self.report(report);
    }

    /// Gives up a function into which too many calls were put in place; nothing else is specialised after that.
    fn too_long(&mut self, span: Span) {
        if std::mem::replace(&mut self.exhausted, true) {
            return;
        }
        let own = &self.stack[self.outside.min(self.stack.len())..];
        // The function that is being made stands first; those behind it are put in place inside of each other.
        let names: Vec<&str> = own.iter().map(|site| self.fun(site.fun).name.as_str()).collect();
        let (first, inner) = names.split_first().map_or(("main", &[][..]), |(first, inner)| (*first, inner));
        let mut shown: Vec<String> = inner.iter().take(6).map(|name| format!("`{name}`")).collect();
        if inner.len() > 6 {
            shown.push("..".to_string());
        }
        let middle = inner.get(inner.len() / 2).or(inner.first()).copied().unwrap_or(first);
        let place = own.get(1).map_or(span, |site| site.span);
        let title = format!("`inline` functions are put in place more than {MAX_INLINED} times in `{first}`");
        let report = Diagnostic::error(Code::EndlessSpecialization, title)
            .at(place, "this call alone may be as long as the program can be")
            .with_note(format!("the calls go on: {}", shown.join(" -> ")))
            .with_help(format!("write `noinline` in place of `inline` in front of `{middle}`"));
        self.report(report);
    }

    /// Executes a function's body on abstract values in the function under construction.
    pub fn elaborate(&mut self, id: FunId, families: Vec<Option<Basic>>, args: Vec<Val>, span: Span) -> Vec<Val> {
        let around = self.begin_notes(id, &args);
        let results = self.execute(id, families, args, span);
        self.noting = around;
        results
    }

    fn execute(&mut self, id: FunId, families: Vec<Option<Basic>>, args: Vec<Val>, span: Span) -> Vec<Val> {
        let fun = self.fun(id);
        let FunBody::Sac { block, returns } = &fun.body else {
            return Vec::new();
        };
        let outer = self.here;
        self.enter(id, span);
        let mut frame = Frame::new(id, families, fun.locals.len());
        self.trace_origins(&mut frame);
        self.follow(&mut frame);
        for (param, arg) in fun.params.iter().zip(&args) {
            frame.env[param.local.index()] = Some(arg.clone());
        }
        let items: Vec<(&TypePat, &Val)> = fun.params.iter().map(|p| &p.ty).zip(&args).collect();
        let what = format!("arguments of {}", self.quoted(fun));
        let reports = self.diagnostics.len();
        let fit = self.bind_patterns(&mut frame, &items, &what);
        self.note_head(&frame);
        if !fit && self.diagnostics.len() == reports + 1 {
            self.suggest_other_arguments(&frame, &args);
        }
        // What follows from arguments that do not fit would only repeat that.
        if !fit || !self.conditions(&mut frame, fun, false) {
            let results = self.unreached_results(&frame, fun);
            self.stack.pop();
            self.at(outer);
            return results;
        }
        self.block(&mut frame, block);
        let mut results = Vec::new();
        if returns.len() == 1 && fun.results.len() != 1 {
            results = self.exprs(&mut frame, &returns[0], fun.results.len());
        } else {
            for e in returns {
                let v = self.expr(&mut frame, e);
                results.push(v);
            }
        }
        let what = format!("result of {}", self.quoted(fun));
        if let Some(e) = returns.first() {
            self.at(e.span);
        }
        for (v, ty) in results.iter_mut().zip(&fun.results) {
            let value = std::mem::replace(v, Val::Bottom);
            *v = self.assert_type(&frame, ty, value, &what);
        }
        let items: Vec<(&TypePat, &Val)> = fun.results.iter().zip(&results).collect();
        self.bind_patterns(&mut frame, &items, &what);
        self.conditions(&mut frame, fun, true);
        for param in fun.params.iter().filter(|p| p.by_ref) {
            let value = frame.env[param.local.index()].clone().unwrap_or(Val::Bottom);
            let what = format!("the reference parameter `{}`", fun.locals[param.local.index()].name);
            let value = self.assert_type(&frame, &param.ty, value, &what);
            results.push(value);
        }
        self.stack.pop();
        self.at(outer);
        results
    }

    /// What stands for the results of a call whose arguments do not fit: nothing where that was reported; values of the declared types where a
    /// check stops the program if it comes to that.
    fn unreached_results(&mut self, frame: &Frame, fun: &Fun) -> Vec<Val> {
        if self.speculative == 0 && self.branches == 0 {
            return vec![Val::Bottom; self.result_count(fun).unwrap_or(0)];
        }
        let refs = fun.params.iter().filter(|param| param.by_ref).map(|param| &param.ty);
        let kinds: Vec<_> = fun.results.iter().chain(refs).map(|ty| self.kind_of_type(frame, ty)).collect();
        kinds.iter().map(|kind| self.undefined(kind)).collect()
    }

    fn external(&mut self, id: FunId, external: &External, families: Vec<Option<Basic>>, args: Vec<Val>) -> Vec<Val> {
        let fun = self.fun(id);
        if let ([label, value], true) = (&args[..], external.symbol.starts_with(ravel_wir::TRACE)) {
            return vec![self.trace(label, value)];
        }
        self.check_format(&external.symbol, &args);
        let frame = Frame::new(id, families, fun.locals.len());
        let mut flat = Vec::with_capacity(args.len());
        for (i, arg) in args.iter().enumerate() {
            let boxed = fun.params.get(i).is_some_and(|p| !p.ty.dims.is_empty());
            // Variadic arguments are scalars.
            let arg = match arg {
                Val::Arr(..) if i >= fun.params.len() && self.outer_rank(arg).is_none() => &self.narrow_outer(arg, &[]),
                Val::Arr(..) | Val::Tup(..) if i >= fun.params.len() => {
                    let shown = self.show_value_type(arg);
                    let site = self.user_site();
                    let title = format!("argument {} of `{}` must be a scalar, found {shown}", i + 1, fun.name);
                    let place = self.user_call().and_then(|(_, args)| args.get(i)).map(|arg| arg.span);
                    let text = place.and_then(|place| self.quotable(place)).unwrap_or("..");
                    let report =
                        Diagnostic::error(Code::ForeignArgument, title).at(site, "an array is passed here").with_help(
                            format!("`print({text})` of StdIO writes an array, `{text}[0]` is one of its elements"),
                        );
                    self.report_from_here(report, site);
                    return vec![Val::Bottom; fun.results.len()];
                }
                other => other,
            };
            match self.foreign_argument(arg, boxed) {
                Some(v) => flat.push(v),
                None => {
                    let shown = self.show_value_type(arg);
                    self.error(
                        Code::ForeignArgument,
                        format!("a value of type {shown} cannot be passed to a foreign function"),
                        "passed here",
                    );
                    return vec![Val::Bottom; fun.results.len()];
                }
            }
        }
        let mut kinds: Vec<Kind> = fun.results.iter().map(|ty| self.kind_of_type(&frame, ty)).collect();
        kinds.append(&mut self.variadic);
        let mut leaves = Vec::new();
        kinds.iter().for_each(|k| k.leaves(&mut leaves));
        let op = Op::Native {
            symbol: external.symbol.clone(),
            args: flat,
            fixed: fun.params.len().min(args.len()),
            effect: external.effect || fun.variadic_results,
        };
        let mut values = self.em.inst_leaves(op, &leaves).into_iter();
        kinds.iter().map(|k| self.em.instantiate(k, &mut values)).collect()
    }

    /// The machine value for a foreign parameter: scalars by value, arrays and handles by reference.
    fn foreign_argument(&mut self, arg: &Val, boxed: bool) -> Option<Value> {
        match arg {
            Val::Sc(_, s) if !boxed => Some(self.em.value(s)),
            Val::Sc(..) | Val::Tup(..) | Val::Arr(..) => self.em.boxed(arg),
            Val::Handle(_, v) => Some(*v),
            Val::Wrapped(_, inner) => self.foreign_argument(inner, boxed),
            Val::Struct(..) | Val::Bottom => None,
        }
    }

    /// The sign of `&&` or `||` behind its left side, and the place of the sign as it stands there.
    fn doubled_sign(&self, left: ravel_source::Span, what: &str) -> Option<(&'static str, ravel_source::Span)> {
        let (sign, doubled) = [("&", "&&"), ("|", "||")].into_iter().find(|(_, doubled)| what.contains(doubled))?;
        let rest = self.options.map.get(left.file)?.text.get(left.end as usize..)?;
        let blanks = rest.len() - rest.trim_start().len();
        let start = left.end + blanks as u32;
        rest.trim_start().starts_with(doubled).then_some((sign, ravel_source::Span { start, end: start + 2, ..left }))
    }

    /// A scalar bool, as conditions need; reports anything else.
    pub fn truth(&mut self, v: &Val, what: &str) -> Option<Sc> {
        match v {
            Val::Sc(Basic::Bool, s) => Some(s.clone()),
            Val::Bottom => None,
            Val::Arr(Basic::Bool, _) if self.outer_rank(v).is_none() => match self.narrow_outer(v, &[]) {
                Val::Sc(_, s) => Some(s),
                _ => None,
            },
            other => {
                let shown = self.show_value_type(other);
                let site = self.user_site();
                let mut diagnostic = ravel_diagnostics::Diagnostic::error(
                    Code::ConditionNotBool,
                    format!("{what} must be a scalar bool, found {shown}"),
                )
                .at(site, format!("this is {shown}"));
                // A value behind `&&` or `?` is no more than a part of what stands there.
                let is_choice = what.contains("`?:`") && shown.starts_with("bool[");
                if let Some((sign, doubled)) = self.doubled_sign(site, what).filter(|_| shown.starts_with("bool[")) {
                    let help = format!("`{sign}` works on each element; `all(...)` or `any(...)` is one truth value");
                    let title = format!("`{sign}` for `{sign}{sign}`");
                    let report = diagnostic.with_help(help).with_edit(title, doubled, sign);
                    self.report(report);
                    return None;
                }
                let whole = self.quotable(site).filter(|text| site == self.here && !text.contains(['&', '|', '?']));
                diagnostic = match (whole, other) {
                    (Some(text), Val::Sc(Basic::Int, _)) => {
                        let plain = text.chars().all(|c| c.is_alphanumeric() || c == '_') || text.ends_with([')', ']']);
                        let new = if plain { format!("{text} != 0") } else { format!("({text}) != 0") };
                        diagnostic.with_safe_edit(format!("`{new}`"), site, new)
                    }
                    _ if is_choice => {
                        let text = self.quotable(site).unwrap_or("..");
                        diagnostic.with_help(format!(
                            "`where({text}, .., ..)` chooses for each element; `all({text})` or `any({text})` is one truth value"
                        ))
                    }
                    (Some(text), _) if shown.starts_with("bool[") => {
                        let new = format!("all({text})");
                        let help = "use `all(...)` or `any(...)` on arrays of bool";
                        diagnostic.with_help(help).with_edit(format!("`{new}`"), site, new)
                    }
                    _ if shown.starts_with("bool[") => {
                        diagnostic.with_help("use `all(...)` or `any(...)` on arrays of bool")
                    }
                    _ => diagnostic,
                };
                self.report(diagnostic);
                None
            }
        }
    }
}
