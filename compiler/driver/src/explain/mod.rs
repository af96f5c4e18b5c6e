//! `--explain`: what became of every with-loop of a program, in terms of its source.
//!
//! The stages say what they did in remarks; this module collects them by the place of the with-loop in the source, merges
//! what several instances of a function have in common, and adds what the with-loop was made for (`describe`) and what of
//! it is left. Loops that stay loops are listed with what keeps their iterations in order. With-loops of the library stand at the user's call that led there: the specialiser gives them that place.

mod describe;
mod lens;
mod perf;
mod placement;
mod render;

pub(crate) use describe::show_type;
pub use placement::placement;

use ravel_opt::{InOrder, Outcome};
use ravel_source::Span;
use ravel_specialize::Carried;
use ravel_wir::traverse::walk;
use ravel_wir::{Func, FuncId, Inst, Module, Op, Region};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that was said about one compilation.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// What code is generated for, in words; empty if none is.
    target: String,
    places: BTreeMap<Span, Place>,
    /// With-loops before and after optimisation.
    counts: (usize, usize),
    /// What costs time: folds that the specialiser made loops of, and what the other stages left.
    folds: perf::Costs,
    costs: perf::Costs,
}

/// What is known of the with-loops at one place of the source.
#[derive(Clone, Debug, Default)]
struct Place {
    /// Function instances that held them before anything was inlined, `conv(float[28,28], float[5,5])`.
    holders: BTreeSet<String>,
    /// Pass and outcome, in the order of first mention.
    passes: Vec<(&'static str, Outcome)>,
    kept: Vec<Kept>,
    /// What the scheduler says of other operations at this place.
    notes: Vec<String>,
}

/// A with-loop, or a loop, that is left after optimisation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    /// What it computes over which indices.
    what: String,
    /// Range checks and the like that are left in its body.
    checks: Vec<Span>,
    /// The with-loop around it.
    inside: Option<Span>,
    /// What the scheduler decided.
    schedule: Vec<String>,
    /// How many are alike.
    count: usize,
}

impl Explanation {
    /// Looks at what the specialiser made.
    pub fn made(&mut self, module: &Module) {
        for func in module.funcs.values() {
            let holder = describe::instance(func);
            walk(func, func.body, &mut |_, inst| {
                if matches!(func.insts[inst].op, Op::With(_)) {
                    self.counts.0 += 1;
                    self.place(func.insts[inst].span).holders.insert(holder.clone());
                }
            });
        }
    }

    /// With-loops that the specialiser made loops of.
    pub fn fold_loops(&mut self, loops: &[(Span, Carried)]) {
        self.cost_of_folds(loops);
        for (span, why) in loops {
            let note = match why {
                Carried::Fold => {
                    "its function combines several values, or an array whose shape may change: a loop takes one index after the other"
                }
                Carried::Pieces => {
                    "its function may regroup: long index sets are folded in pieces, and a loop takes the pieces' results"
                }
                Carried::FixPoint => "it ends at the fixpoint: a loop takes one index after the other",
                Carried::State => "it hands a state on from index to index: a loop takes one index after the other",
            };
            let notes = &mut self.place(*span).notes;
            if !notes.iter().any(|n| n == note) {
                notes.push(note.to_string());
            }
        }
    }

    /// Takes the remarks of the optimiser and looks at what it left.
    pub fn optimized(&mut self, module: &Module, remarks: Vec<ravel_opt::Remark>) {
        for remark in remarks {
            let said = (remark.pass, remark.outcome);
            let passes = &mut self.place(remark.span).passes;
            if !passes.contains(&said) {
                passes.push(said);
            }
        }
        self.counts.1 = ravel_opt::stats(module).withs;
        self.keep(module, &[]);
    }

    /// Takes the remarks of the scheduler about the module.
    pub fn scheduled(&mut self, target: String, module: &Module, remarks: &[ravel_schedule::Remark]) {
        self.target = target;
        self.places.values_mut().for_each(|place| place.kept.clear());
        self.keep(module, remarks);
        for remark in remarks.iter().filter(|r| r.with.is_none()) {
            let notes = &mut self.place(remark.span).notes;
            if !notes.contains(&remark.text) {
                notes.push(remark.text.clone());
            }
        }
    }

    fn place(&mut self, span: Span) -> &mut Place {
        self.places.entry(span).or_default()
    }

    fn keep(&mut self, module: &Module, remarks: &[ravel_schedule::Remark]) {
        let mut said: BTreeMap<(FuncId, Inst), Vec<String>> = BTreeMap::new();
        for remark in remarks {
            if let Some(with) = remark.with {
                said.entry(with).or_default().push(remark.text.clone());
            }
        }
        self.cost_of(module);
        for (id, func) in module.funcs.iter() {
            let schedule = |inst: Inst| said.get(&(id, inst)).cloned().unwrap_or_default();
            self.keep_region(func, func.body, None, &schedule);
            let loops: BTreeMap<Inst, InOrder> = ravel_opt::loops_in_order(func).into_iter().collect();
            for (inst, InOrder { why, checks }) in loops {
                let what = format!("loop, one iteration after the other: {why}");
                self.leave(func.insts[inst].span, Kept { what, checks, inside: None, schedule: Vec::new(), count: 1 });
            }
        }
    }

    fn leave(&mut self, span: Span, kept: Kept) {
        let all = &mut self.place(span).kept;
        match all.iter_mut().find(|other| Kept { count: 1, ..(*other).clone() } == kept) {
            Some(same) => same.count += 1,
            None => all.push(kept),
        }
    }

    fn keep_region(
        &mut self,
        func: &Func,
        region: Region,
        inside: Option<Span>,
        schedule: &dyn Fn(Inst) -> Vec<String>,
    ) {
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            let mut around = inside;
            if let Op::With(with) = &data.op {
                around = Some(data.span);
                let kept = Kept {
                    what: describe::with_loop(func, inst, with),
                    checks: checks(func, with),
                    inside,
                    schedule: schedule(inst),
                    count: 1,
                };
                self.leave(data.span, kept);
            }
            for nested in data.op.regions() {
                self.keep_region(func, nested, around, schedule);
            }
        }
    }
}

/// Places of the checks in the bodies of a with-loop, those of with-loops inside aside.
fn checks(func: &Func, with: &ravel_wir::With) -> Vec<Span> {
    fn visit(func: &Func, region: Region, found: &mut BTreeSet<Span>) {
        for &inst in &func.regions[region].insts {
            match &func.insts[inst].op {
                Op::Check { .. } => {
                    found.insert(func.insts[inst].span);
                }
                Op::With(_) => {}
                op => op.regions().into_iter().for_each(|nested| visit(func, nested, found)),
            }
        }
    }
    let mut found = BTreeSet::new();
    with.parts.iter().for_each(|part| visit(func, part.body, &mut found));
    found.into_iter().collect()
}
