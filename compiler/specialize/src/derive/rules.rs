//! Rules for derivatives: instances of the functions that `#pragma derivative` and `#pragma tangent` name.
//!
//! ```text
//! func @f0 "f" derivative @f1 (0) (%x) -> (..)          // an instance of the function
//! func @f1 "f'" (%x, %y, %s) { .. yield %dx }            // calls the rule with arguments, results and seeds
//! ```
//!
//! Rules are made when all else is done, since they take results, whose kinds are known only then; their own calls may need instances that have rules.
//! Derivatives are compared with what they belong to at the end of the rule.

use crate::derive::{Others, has_real, leaf_of};
use crate::emit::Emitter;
use crate::spec::Spec;
use crate::value::{Kind, Val};
use ravel_core::ir::{Fun, Rule};
use ravel_source::Span;
use ravel_wir::{FuncId, Mode, Value};

impl Spec<'_> {
    /// Whether calls of a function stay calls, for derivatives to find them: it says how these are derived, and the program takes derivatives.
    pub fn is_ruled(&mut self, fun: &Fun) -> bool {
        let derived = &fun.derived;
        if derived.derivative.is_none()
            && derived.tangent.is_none()
            && !derived.recompute
            && derived.checkpoint.is_none()
        {
            return false;
        }
        let program = self.program;
        *self.takes_derivatives.get_or_insert_with(|| program.funs.iter().any(super::flow::derives))
    }

    /// Makes the rules of all instances.
    pub fn make_rules(&mut self) {
        let mut next = 0;
        while next < self.instances.len() && !self.exhausted {
            let instance = &mut self.instances[next];
            let is_due = !std::mem::replace(&mut instance.has_rules, true);
            let key = instance.key.clone();
            // Those that iterations of a fixed point have thrown away are nobody's.
            if is_due && self.index.get(&key) == Some(&next) && self.is_ruled(self.fun(key.fun())) {
                let derived = self.fun(key.fun()).derived.clone();
                for (mode, rule) in [(Mode::Reverse, derived.derivative), (Mode::Forward, derived.tangent)] {
                    if let Some(rule) = rule {
                        self.make_rule(next, mode, &rule);
                    }
                }
            }
            next += 1;
        }
    }

    fn make_rule(&mut self, index: usize, mode: Mode, rule: &Rule) {
        let instance = &self.instances[index];
        let (key, results, func) = (instance.key.clone(), instance.results().to_vec(), instance.func());
        let by = real_parameters(key.args(), &rule.by);
        let has_reals = |kinds: &[Kind]| kinds.iter().flat_map(Spec::leaves_of).any(|(elem, _)| elem.is_float());
        // Of integers there is nothing to derive.
        if results.iter().any(Kind::has_bottom) || by.is_empty() || !has_reals(&results) {
            return;
        }
        let fun = self.fun(key.fun());
        self.em = Emitter::new(&format!("{}'", fun.name), rule.span);
        self.inlined = 0;
        let id = self.module.funcs.push(self.em.func.clone());
        let args = self.parameters_of(&key);
        let results: Vec<Val> = results.iter().map(|kind| self.whole_parameter(kind)).collect();
        let takes: Vec<Val> = match mode {
            Mode::Reverse => results.iter().filter(|v| has_real(v)).cloned().collect(),
            Mode::Forward => rule.by.iter().map(|k| args[*k].clone()).collect(),
        };
        let gives: Vec<(String, Val)> = match mode {
            Mode::Reverse => {
                let name = |k: usize| fun.locals[fun.params[k].local.index()].name.clone();
                rule.by.iter().map(|k| (format!("the derivative by `{}`", name(*k)), args[*k].clone())).collect()
            }
            Mode::Forward => {
                let reals = results.iter().filter(|v| has_real(v));
                reals.enumerate().map(|(k, v)| (format!("tangent {} of the rule", k + 1), v.clone())).collect()
            }
        };
        let seeds: Vec<Val> = takes.iter().map(|v| self.seed_parameter(v)).collect();
        let given = args.iter().chain(&results).chain(&seeds).cloned().collect();
        self.at(rule.span);
        let derivatives = self.call_set(rule.set, given, gives.len(), rule.span);
        let owner = if mode == Mode::Reverse { "parameter" } else { "result" };
        let mut yields = Vec::new();
        for (derivative, (what, of)) in derivatives.iter().zip(&gives) {
            self.at(rule.span);
            if !self.fits(derivative, of, what, owner) {
                return;
            }
            let kind = self.em.kind_of(of).forget_values(true);
            self.seed_parts(derivative, &kind, &mut yields);
        }
        let body = self.em.func.body;
        self.em.set_yields(body, yields);
        self.module.funcs[id] = std::mem::replace(&mut self.em, Emitter::new("done", Span::NONE)).func;
        self.note_rule(func, mode, ravel_wir::Rule { func: id, by });
    }

    fn note_rule(&mut self, func: FuncId, mode: Mode, rule: ravel_wir::Rule) {
        let rules = &mut self.module.funcs[func].rules;
        match mode {
            Mode::Reverse => rules.derivative = Some(rule),
            Mode::Forward => rules.tangent = Some(rule),
        }
    }

    /// A parameter of the function under construction, of a kind whose symbols are known.
    fn whole_parameter(&mut self, kind: &Kind) -> Val {
        let mut leaves = Vec::new();
        kind.leaves(&mut leaves);
        let values = self.em.params_for(self.em.func.body, &leaves);
        self.em.instantiate(kind, &mut values.into_iter())
    }

    /// A parameter for the seed of a value, with its shape.
    fn seed_parameter(&mut self, of: &Val) -> Val {
        let mut parts = Vec::new();
        self.real_parts(of, &mut parts);
        let leaves: Vec<_> = parts.iter().map(|part| leaf_of(self.em.func.ty(*part))).collect();
        let seeds: Vec<Value> = self.em.params_for(self.em.func.body, &leaves);
        self.with_real_parts(of, &mut seeds.into_iter(), Others::Zero)
    }
}

/// Which WIR parameters carry the real parts of some parameters.
fn real_parameters(params: &[Kind], by: &[usize]) -> Vec<u32> {
    let mut all = Vec::new();
    let mut place = 0;
    for (k, kind) in params.iter().enumerate() {
        for (elem, _) in Spec::leaves_of(kind) {
            if by.contains(&k) && elem.is_float() {
                all.push(place);
            }
            place += 1;
        }
    }
    all
}
