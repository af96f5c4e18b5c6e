//! Properties: functions that are true for all arguments, as far as many that are drawn can tell.
//!
//! A function is compiled once for each choice of ranks, with extents that only the run knows. The conditions of its head become a function
//! of their own, which says which arguments count. A case that fails is made simpler as long as it fails: lower ranks, then
//! smaller extents, then zeros.

use super::Work;
use super::arguments::{Case, Patterns, Types};
use super::elements::{Random, simpler};
use super::find::Test;
use super::machine::{Called, Compiled, Machine, Refused};
use super::worker::{Judged, all_true, exited};
use crate::repl::value::Value;
use ravel_core::ir::{Cond, DimPat, ElemTy, Fun, FunBody, FunId, TypePat};
use ravel_source::Span;
use ravel_types::{Basic, Scalar};
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often arguments are drawn until some fulfil the conditions.
const ATTEMPTS: usize = 100;

/// If none of so many cases came to be, none will.
const PATIENCE: usize = 10;

/// Most calls, and longest time, for making a counterexample simpler.
const SHRINK_CALLS: usize = 500;
const SHRINK_TIME: Duration = Duration::from_secs(10);

/// A property and what was compiled for it.
struct Property<'m> {
    machine: &'m mut Machine,
    patterns: Patterns,
    fun: FunId,
    /// The conditions; nothing if there are none.
    guard: Option<FunId>,
    guards: HashMap<Types, Option<Compiled>>,
    bodies: HashMap<Types, Result<Compiled, Refused>>,
}

/// Why a property fails for some arguments.
enum Failing {
    /// What it gives.
    Says(String),
    /// The text of a fault.
    Fault(String),
    /// It cannot be compiled for such arguments.
    Refused(String),
    Exit(i32),
}

/// Draws arguments for a property and judges it; `tell` gets the seed of each case.
pub fn judge(machine: &mut Machine, test: &Test, file: &Path, work: &Work, tell: &mut dyn FnMut(u64)) -> Judged {
    let (fun, name) = (test.fun, test.name.as_str());
    let function = &machine.program.funs[fun.index()];
    let patterns = match Patterns::of(&machine.program, function) {
        Ok(patterns) => patterns,
        Err(why) => return Judged::failed(format!("{why}\n")),
    };
    let head = function.span;
    let guard = without_conditions(machine, fun);
    let mut property = Property { machine, patterns, fun, guard, guards: HashMap::new(), bodies: HashMap::new() };
    let cases = if property.patterns.is_empty() { 1 } else { work.cases };
    let (mut tried, mut drawn) = (0, 0);
    for at in 0..cases {
        let seed = work.seed.wrapping_add(at as u64);
        drawn += 1;
        if tried == 0 && drawn > PATIENCE {
            break;
        }
        let Some(case) = property.draw(&mut Random::new(seed)) else { continue };
        tried += 1;
        if !property.patterns.is_empty() {
            tell(seed);
        }
        let Some(failing) = property.fails(&case) else { continue };
        let (case, failing, steps) = property.shrink(case, failing);
        return Judged::failed(property.report(&case, &failing, &Found { name, file, head, seed, steps }));
    }
    match tried {
        0 if cases > 0 => Judged::failed(format!(
            "no arguments fulfil the conditions of `{name}`: {} were drawn\n",
            ATTEMPTS * cases.min(PATIENCE)
        )),
        _ => Judged::passed(),
    }
}

/// Takes the conditions out of a function's head: they are what the new function gives.
fn without_conditions(machine: &mut Machine, fun: FunId) -> Option<FunId> {
    let funs = &mut machine.program.funs;
    let function = &mut funs[fun.index()];
    let (after, before): (Vec<Cond>, Vec<Cond>) =
        std::mem::take(&mut function.conds).into_iter().partition(|c| c.after);
    function.conds = after;
    if before.is_empty() {
        return None;
    }
    let truth = TypePat { elem: ElemTy::Basic(Basic::Bool), dims: vec![DimPat::Star], span: Span::NONE };
    let mut returns: Vec<_> = before.into_iter().map(|cond| cond.expr).collect();
    if let [one] = &returns[..] {
        // One expression could be a call with several results; two are two values.
        returns.push(one.clone());
    }
    let guard = Fun {
        results: vec![truth; returns.len()],
        conds: Vec::new(),
        body: FunBody::Sac { block: Vec::new(), returns },
        ..function.clone()
    };
    funs.push(guard);
    Some(FunId(funs.len() as u32 - 1))
}

impl Property<'_> {
    /// Arguments that fulfil the conditions.
    fn draw(&mut self, random: &mut Random) -> Option<Case> {
        (0..ATTEMPTS).find_map(|_| {
            let case = self.patterns.draw(random);
            self.counts(&case).then_some(case)
        })
    }

    /// Whether arguments fulfil the conditions.
    fn counts(&mut self, case: &Case) -> bool {
        let Some(guard) = self.guard else { return true };
        if !self.guards.contains_key(&case.types) {
            let compiled = self.machine.compile(guard, self.patterns.kinds(case)).ok();
            self.guards.insert(case.types.clone(), compiled);
        }
        // Conditions that cannot be computed for such ranks admit none of them.
        let Some(Some(compiled)) = self.guards.get(&case.types) else { return false };
        let Some(values) = self.patterns.values(case) else { return false };
        matches!(self.machine.call(compiled, &values), Called::Returned(results) if holds(&results))
    }

    /// How the property fails for a case; nothing if it does not.
    fn fails(&mut self, case: &Case) -> Option<Failing> {
        if !self.bodies.contains_key(&case.types) {
            let compiled = self.machine.compile(self.fun, self.patterns.kinds(case));
            self.bodies.insert(case.types.clone(), compiled);
        }
        let compiled = match self.bodies.get(&case.types)? {
            Ok(compiled) => compiled,
            Err(refused) => return Some(Failing::Refused(self.machine.refusal_text(refused))),
        };
        let values = self.patterns.values(case)?;
        match self.machine.call(compiled, &values) {
            Called::Returned(results) => all_true(&results).err().map(Failing::Says),
            Called::Fault(report) => Some(Failing::Fault(self.machine.fault_text(compiled, &report))),
            Called::Exit(status) => Some(Failing::Exit(status)),
            Called::Impossible(why) => Some(Failing::Refused(format!("{why}\n"))),
        }
    }

    /// The simplest case that is found to fail, and how many steps led there.
    fn shrink(&mut self, mut case: Case, mut failing: Failing) -> (Case, Failing, usize) {
        let (start, mut calls, mut steps) = (Instant::now(), 0, 0);
        'simpler: loop {
            for candidate in candidates(&self.patterns, &case) {
                if calls == SHRINK_CALLS || start.elapsed() > SHRINK_TIME {
                    break 'simpler;
                }
                calls += 1;
                if self.counts(&candidate)
                    && let Some(how) = self.fails(&candidate)
                {
                    (case, failing, steps) = (candidate, how, steps + 1);
                    continue 'simpler;
                }
            }
            break;
        }
        (case, failing, steps)
    }

    fn report(&self, case: &Case, failing: &Failing, found: &Found) -> String {
        let Found { name, file, head, seed, steps } = found;
        let map = &self.machine.compilation.map;
        let place = map.describe(*head);
        let head = ravel_diagnostics::excerpt(*head, ("", ""), map).unwrap_or_default();
        let mut out = match failing {
            Failing::Says(what) => format!("{place}: `{name}` {what}\n{head}"),
            Failing::Fault(text) | Failing::Refused(text) => format!("{}\n", text.trim_end()),
            Failing::Exit(status) => exited(*status),
        };
        if !self.patterns.is_empty() {
            out.push_str(&format!(
                "with these arguments{}:\n",
                match steps {
                    0 => String::new(),
                    1 => ", made simpler once".to_string(),
                    n => format!(", made simpler {n} times"),
                }
            ));
            out.push_str(&self.patterns.describe(case));
            out.push_str(&again(file, name, *seed));
        }
        out
    }
}

/// How to see a failure again.
pub fn again(file: &Path, name: &str, seed: u64) -> String {
    format!("again: ravel test {} --filter {name} --seed {seed} --cases 1\n", file.display())
}

/// What a report says beside the arguments.
struct Found<'a> {
    name: &'a str,
    file: &'a Path,
    head: Span,
    seed: u64,
    steps: usize,
}

/// Whether all conditions hold, everywhere.
fn holds(results: &[Value]) -> bool {
    all_true(results).is_ok()
}

/// What is simpler than a case, the simplest first.
fn candidates(patterns: &Patterns, case: &Case) -> Vec<Case> {
    let mut out = Vec::new();
    for (at, rank) in case.types.ranks.iter().enumerate() {
        let mut add = |lower: usize, extents: Vec<Vec<i64>>| {
            let mut ranks = case.types.ranks.clone();
            ranks[at] = lower;
            let with = |keeps_end| patterns.reshaped(case, ranks.clone(), extents.clone(), keeps_end);
            out.extend([with(false), with(true)]);
        };
        let least = patterns.least_rank(at);
        (least..*rank).for_each(|lower| add(lower, case.extents.clone()));
        if *rank > least {
            (0..*rank).for_each(|axis| add(rank - 1, patterns.without_axis(case, at, axis)));
        }
    }
    for (at, extents) in case.extents.iter().enumerate().filter(|(at, _)| patterns.is_free(*at)) {
        for (axis, extent) in extents.iter().enumerate() {
            let mut smaller = vec![0, 1, extent / 2, extent - 1];
            smaller.dedup();
            for lower in smaller.into_iter().filter(|lower| (0..*extent).contains(lower)) {
                let mut extents = case.extents.clone();
                extents[at][axis] = lower;
                let with = |keeps_end| patterns.reshaped(case, case.types.ranks.clone(), extents.clone(), keeps_end);
                out.extend([with(false), with(true)]);
            }
        }
    }
    for (at, elements) in case.elements.iter().enumerate() {
        let with = |new: Vec<Scalar>| {
            let mut simpler = case.clone();
            simpler.elements[at] = new;
            patterns.settle(&mut simpler);
            simpler
        };
        let zeros: Vec<Scalar> =
            elements.iter().map(|element| Scalar::zero(element.elem()).unwrap_or(*element)).collect();
        let is_other = |case: &Case, elements: &[Scalar]| {
            case.elements[at].iter().zip(elements).any(|(a, b)| a.bits() != b.bits())
        };
        let all = with(zeros);
        if is_other(&all, elements) {
            out.push(all);
        }
        for (place, element) in elements.iter().enumerate() {
            for value in simpler(*element) {
                let mut new = elements.clone();
                new[place] = value;
                let one = with(new);
                if is_other(&one, elements) {
                    out.push(one);
                }
            }
        }
    }
    out
}
