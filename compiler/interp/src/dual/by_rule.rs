//! Calls of functions that have rules for their derivatives.
//!
//! A rule for cotangents is called once for each element of the results, one for tangents once for each direction.

use super::{Num, array_of, in_form, numbers};
use crate::RunError;
use crate::array::Val;
use crate::eval::{Machine, Run};
use ravel_source::Span;
use ravel_types::Elem;
use ravel_wir::{FuncId, Mode, Rule, Value};

/// The parts of a sum of products, by direction.
fn weighed(level: u32, terms: impl Iterator<Item = (Num, Num)>) -> Vec<(u32, Num)> {
    let mut sum = Num::Real(0.0);
    for (slope, varied) in terms {
        let parts = varied.split(level).1.iter().map(|(direction, part)| (*direction, &slope * part)).collect();
        sum.accumulate(&Num::new(level, Num::Real(0.0), parts));
    }
    sum.split(level).1.to_vec()
}

fn zeros(count: usize) -> Vec<Num> {
    vec![Num::Real(0.0); count]
}

impl<'m> Machine<'m> {
    /// The results of a call whose arguments have infinitesimals.
    pub fn call_by_rules(&mut self, callee: FuncId, args: Vec<Val>, span: Span) -> Run<Vec<Val>> {
        for level in (1..=self.level).rev() {
            let at_level = |num: &Num| !num.split(level).1.is_empty();
            if !args.iter().filter_map(numbers).flatten().any(|num| at_level(&num)) {
                continue;
            }
            let mode = self.modes[level as usize - 1];
            let is_varied = |arg: &Val| numbers(arg).is_some_and(|all| all.iter().any(at_level));
            return match self.module.funcs[callee].rules.of(mode) {
                Some(rule) if (0..args.len()).any(|k| is_varied(&args[k]) && !rule.by.contains(&(k as u32))) => {
                    let function = self.module.funcs[callee].name.clone();
                    let problem = "the rule of this function does not derive by an argument that depends on a variable";
                    Err(Box::new(RunError::Internal { span, function, problem: problem.to_string() }))
                }
                Some(rule) => self.call_by_rule(callee, &rule.clone(), (mode, level), args, span),
                None => self.observed_call(callee, args, span),
            };
        }
        self.observed_call(callee, args, span)
    }

    fn call_by_rule(
        &mut self,
        callee: FuncId,
        rule: &Rule,
        (mode, level): (Mode, u32),
        args: Vec<Val>,
        span: Span,
    ) -> Run<Vec<Val>> {
        let func = &self.module.funcs[callee];
        let is_scalar = |v: &Value| func.ty(*v).is_scalar();
        let all: Vec<Option<Vec<Num>>> =
            args.iter().map(|arg| numbers(arg).filter(|_| arg.elem().is_float())).collect();
        let mut given = Vec::new();
        for ((arg, param), numbers) in args.iter().zip(func.params()).zip(&all) {
            given.push(match numbers {
                Some(numbers) => {
                    let below = numbers.iter().map(|num| num.split(level).0.clone()).collect();
                    in_form(array_of(arg.elem(), arg.shape().to_vec(), below), is_scalar(param))
                }
                None => arg.clone(),
            });
        }
        let values = self.call_by_rules(callee, given.clone(), span)?;
        given.extend(values.iter().cloned());
        let by: Vec<usize> = rule.by.iter().map(|k| *k as usize).collect();
        let varied: Vec<Num> = by.iter().flat_map(|k| all[*k].clone().unwrap_or_default()).collect();
        type Real = (Elem, Vec<i64>, bool, usize);
        let real_of = |val: &Val, v: &Value| -> Real { (val.elem(), val.shape().to_vec(), is_scalar(v), val.count()) };
        let reals: Vec<Option<Real>> =
            values.iter().zip(func.results()).map(|(val, v)| val.elem().is_float().then(|| real_of(val, v))).collect();
        let form =
            |(elem, shape, is_scalar, _): &Real, numbers| in_form(array_of(*elem, shape.clone(), numbers), *is_scalar);
        // The parts of each element of the real results.
        let mut parts: Vec<Vec<(u32, Num)>> = Vec::new();
        match mode {
            Mode::Reverse => {
                let count: usize = reals.iter().flatten().map(|real| real.3).sum();
                for element in 0..count {
                    let mut seeds = zeros(count);
                    seeds[element] = Num::Real(1.0);
                    let mut seeds = seeds.into_iter();
                    let mut all = given.clone();
                    all.extend(reals.iter().flatten().map(|real| form(real, seeds.by_ref().take(real.3).collect())));
                    let slopes = self.call_by_rules(rule.func, all, span)?;
                    let slopes = slopes.iter().flat_map(|slope| numbers(slope).unwrap_or_default());
                    parts.push(weighed(level, slopes.zip(varied.iter().cloned())));
                }
            }
            Mode::Forward => {
                let tangents = by.iter().map(|k| {
                    let of = |num: &Num| num.split(level).1.first().map_or(Num::Real(0.0), |(_, part)| part.clone());
                    let numbers = all[*k].iter().flatten().map(of).collect();
                    form(&real_of(&args[*k], &func.params()[*k]), numbers)
                });
                let all = given.iter().cloned().chain(tangents).collect();
                let slopes = self.call_by_rules(rule.func, all, span)?;
                let slopes = slopes.iter().flat_map(|slope| numbers(slope).unwrap_or_default());
                parts.extend(slopes.map(|slope| vec![(0, slope)]));
            }
        }
        let mut parts = parts.into_iter();
        let mut results = Vec::new();
        for (val, real) in values.into_iter().zip(&reals) {
            results.push(match (real, numbers(&val)) {
                (Some(real), Some(numbers)) => {
                    let with = |(num, parts)| Num::new(level, num, parts);
                    form(real, numbers.into_iter().zip(parts.by_ref()).map(with).collect())
                }
                _ => val,
            });
        }
        Ok(results)
    }
}
