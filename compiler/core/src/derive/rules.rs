//! Pragmas behind a function that say how it is derived.
//!
//! `#pragma derivative g`, `#pragma tangent g` name a rule, perhaps with the parameters by which it derives, `g (x, scale)`; without these they are all
//! real ones. `#pragma recompute` and `#pragma checkpoint n` say what is kept for the reverse code.

use crate::Core;
use crate::diagnostics::{self as report, count};
use crate::interface::DefId;
use crate::ir::{Derived, FunId, Rule};
use crate::lookup::Kind;
use crate::modules::ModId;
use ravel_diagnostics::{Code, Diagnostic, did_you_mean};
use ravel_syntax::PRAGMAS;
use ravel_syntax::ast::{Definition, Function, Pragma, PragmaArgs, QName};

const KINDS: [&str; 4] = ["derivative", "tangent", "recompute", "checkpoint"];

/// `g`, `M::g`, `g (x, y)`.
struct Written<'t> {
    module: Option<&'t str>,
    name: &'t str,
    /// The parameters, if they are named.
    listed: Option<Vec<&'t str>>,
}

fn rule_of(text: &str) -> Option<Written<'_>> {
    let (name, listed) = match text.split_once('(') {
        Some((name, list)) => {
            let list = list.trim_end().strip_suffix(')')?;
            (name.trim(), Some(list.split(',').map(str::trim).collect()))
        }
        None => (text.trim(), None),
    };
    let (module, name) = match name.split_once("::") {
        Some((module, name)) => (Some(module.trim()), name.trim()),
        None => (None, name),
    };
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_') && !text.starts_with(char::is_numeric)
    };
    let fits = is_name(name) && module.is_none_or(is_name);
    fits.then_some(Written { module, name, listed })
}

/// The names of the rules of a function.
pub fn rules_of(function: &Function) -> impl Iterator<Item = &str> {
    function.pragmas.iter().filter_map(|pragma| {
        let PragmaArgs::Other(text) = &pragma.args else { return None };
        let is_rule = matches!(&*pragma.name.name, "derivative" | "tangent");
        Some(rule_of(text.trim()).filter(|_| is_rule)?.name)
    })
}

impl Core<'_> {
    /// What the pragmas of a function say of its derivatives.
    pub(crate) fn derived(&mut self, id: FunId, module: ModId, function: &Function) -> Derived {
        let mut derived = Derived::default();
        for pragma in &function.pragmas {
            let text = match &pragma.args {
                PragmaArgs::Other(text) => text.trim(),
                _ => "",
            };
            match &*pragma.name.name {
                "derivative" => derived.derivative = self.rule(id, module, function, pragma, text),
                "tangent" => derived.tangent = self.rule(id, module, function, pragma, text),
                "recompute" => derived.recompute = true,
                "checkpoint" => match text.parse::<i32>() {
                    Ok(states) if states > 0 => derived.checkpoint = Some(states),
                    _ => {
                        let why = "expected `#pragma checkpoint n`, where n states at most are kept, at least 1";
                        self.reports.push(report::directive(pragma.span, why));
                    }
                },
                other if !PRAGMAS.contains(&other) => {
                    if let Some(close) = did_you_mean(other, PRAGMAS).filter(|close| KINDS.contains(close)) {
                        let report = Diagnostic::error(Code::BadPragma, format!("there is no pragma `{other}`"))
                            .at(pragma.name.span, "it would have no effect")
                            .with_safe_edit(format!("did you mean `{close}`?"), pragma.name.span, close);
                        self.reports.push(report);
                    }
                }
                _ => {}
            }
        }
        derived
    }

    /// Whether a function of a module is named there as a rule.
    pub(crate) fn is_rule(&self, module: ModId, name: &str) -> bool {
        self.module(module).file.definitions.iter().any(|definition| match definition {
            Definition::Function(function) => rules_of(function).any(|rule| rule == name),
            _ => false,
        })
    }

    fn rule(&mut self, id: FunId, module: ModId, function: &Function, pragma: &Pragma, text: &str) -> Option<Rule> {
        let kind = &*pragma.name.name;
        let Some(Written { module: of_module, name, listed }) = rule_of(text) else {
            let why = format!("expected `#pragma {kind} function`, or `#pragma {kind} function (parameters)`");
            self.reports.push(report::directive(pragma.span, why));
            return None;
        };
        let fun = &self.program.funs[id.index()];
        let real: Vec<usize> =
            (0..fun.params.len()).filter(|at| self.is_real(&fun.families, &fun.params[*at].ty)).collect();
        let real_results = fun.results.iter().filter(|ty| self.is_real(&fun.families, ty)).count();
        let (params, results) = (fun.params.len(), fun.results.len());
        let of = &function.name.name;
        let mut by = Vec::new();
        for listed in listed.iter().flatten() {
            match function.params.iter().position(|param| &*param.name.name == *listed) {
                Some(at) if real.contains(&at) && !by.contains(&at) => by.push(at),
                found => {
                    let why = match found {
                        None => format!("the function has no parameter `{listed}`"),
                        Some(at) if by.contains(&at) => format!("`{listed}` is named twice"),
                        Some(_) => format!("parameter `{listed}` is not real, so that nothing is derived by it"),
                    };
                    self.reports.push(report::directive(pragma.span, why));
                    return None;
                }
            }
        }
        if listed.is_none() {
            by = real;
        }
        if by.is_empty() || real_results == 0 {
            let why = format!("`{of}` has no real {}", if by.is_empty() { "parameter" } else { "result" });
            self.reports.push(report::directive(pragma.span, why));
            return None;
        }
        let callee = QName { module: of_module.map(Into::into), name: name.into(), span: pragma.span };
        let found = self.meanings(module, &callee, Kind::Function).unwrap_or_default();
        if found.is_empty() {
            let suggestion = self.suggest(module, name, Kind::Function, &[]);
            self.reports.push(report::unknown_function(name, pragma.span, suggestion));
            return None;
        }
        let (seeds, gives, seed) = match kind {
            "derivative" => (real_results, by.len(), "cotangent"),
            _ => (by.len(), real_results, "tangent"),
        };
        let takes = params + results + seeds;
        let fits: Vec<DefId> =
            found.iter().copied().filter(|def| self.results_for(*def, takes) == Some(gives)).collect();
        if fits.is_empty() {
            let why = format!(
                "`{name}` should take {takes} arguments: {}, {}, {}; and give {}",
                count(params, "argument"),
                count(results, "result"),
                count(seeds, seed),
                count(gives, "derivative")
            );
            self.reports.push(report::directive(pragma.span, why));
            return None;
        }
        let members = fits.into_iter().filter_map(|def| self.function(def)).collect();
        let set = self.intern_set(&callee.name, members);
        Some(Rule { set, by, span: pragma.span })
    }
}
