//! What costs time, as warnings at the places where a programmer could do something about it.
//!
//! They say in one line each what the explanation says at length, of the module as the optimiser left it.
//! Which arrays are copied they do not say: the scheduler speaks of those that are not.

use super::{Explanation, checks};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_opt::{InOrder, Reason};
use ravel_source::Span;
use ravel_specialize::Carried;
use ravel_types::{HashSet, Shape};
use ravel_wir::traverse::walk;
use ravel_wir::{Combine, Func, Generator, Inst, Module, Op, With, WithOp};
use std::collections::BTreeMap;

/// By place, so that instances of one function are told of once.
pub(super) type Costs = BTreeMap<(Span, Code), Diagnostic>;

impl Explanation {
    /// The warnings, in the order of their places.
    pub fn costs(&self) -> impl Iterator<Item = &Diagnostic> {
        self.folds.values().chain(self.costs.values())
    }

    pub(super) fn cost_of_folds(&mut self, loops: &[(Span, Carried)]) {
        for (span, _) in loops.iter().filter(|(_, why)| *why == Carried::Fold) {
            let why = "its function combines several values, or an array whose shape may change";
            add(&mut self.folds, Code::FoldInOrder, "this fold takes one index after the other", (*span, why));
        }
    }

    /// Looks at a module that is optimised.
    pub(super) fn cost_of(&mut self, module: &Module) {
        let mut costs = Costs::new();
        for func in module.funcs.values() {
            let mut inside = HashSet::default();
            walk(func, func.body, &mut |_, inst| {
                if let Op::With(with) = &func.insts[inst].op {
                    for part in &with.parts {
                        walk(func, part.body, &mut |_, inner| {
                            inside.insert(inner);
                        });
                    }
                    with_loop(func, inst, with, &mut costs);
                    if !inside.contains(&inst) {
                        fold(func, inst, with, &mut costs);
                    }
                }
            });
            for (inst, in_order) in ravel_opt::loops_in_order(func) {
                loop_in_order(func.insts[inst].span, &in_order, &mut costs);
            }
        }
        self.costs = costs;
    }
}

fn add(costs: &mut Costs, code: Code, title: &str, (at, label): (Span, &str)) {
    if !at.is_none() {
        costs.entry((at, code)).or_insert_with(|| Diagnostic::warning(code, title).at(at, label));
    }
}

/// A fold by a function of its own: what regroups is cut into pieces before it comes here.
fn fold(func: &Func, inst: Inst, with: &With, costs: &mut Costs) {
    let by_function = |op: &WithOp| matches!(op, WithOp::Fold { combine: Combine::Region(_), .. });
    if with.ops.iter().any(by_function) {
        let why = "nothing says that its function may regroup: `#pragma associative` would";
        add(costs, Code::FoldInOrder, "this fold takes one index after the other", (func.insts[inst].span, why));
    }
}

fn with_loop(func: &Func, inst: Inst, with: &With, costs: &mut Costs) {
    let data = &func.insts[inst];
    let of_unknown_rank = |shape: &Shape| matches!(shape, Shape::Unknown);
    let is_dynamic = with.parts.iter().any(|part| matches!(part.generator, Generator::Dyn { .. }));
    if is_dynamic || data.results.iter().any(|result| of_unknown_rank(&func.ty(*result).shape)) {
        let label = "its indices have a length that is not known before";
        add(costs, Code::RankUnknown, "only the run knows the rank here", (data.span, label));
    }
    let mut is_inner = true;
    for part in &with.parts {
        walk(func, part.body, &mut |_, inner| {
            is_inner &= !matches!(func.insts[inner].op, Op::With(_) | Op::Loop { .. });
        });
    }
    if is_inner {
        checks(func, with).into_iter().for_each(|check| remains(check, data.span, costs));
    }
}

fn remains(check: Span, around: Span, costs: &mut Costs) {
    if check.is_none() {
        return;
    }
    costs.entry((check, Code::CheckInInnerLoop)).or_insert_with(|| {
        let report = Diagnostic::warning(Code::CheckInInnerLoop, "this is checked in every iteration of an inner loop")
            .at(check, "nothing proves before the loop that it holds");
        if around.is_none() || around == check { report } else { report.with_label(around, "the loop") }
    });
}

fn loop_in_order(span: Span, InOrder { why, checks }: &InOrder, costs: &mut Costs) {
    checks.iter().for_each(|check| remains(*check, span, costs));
    // What prints, or runs until a condition holds, is in order by its nature.
    if !matches!(why, Reason::Effects | Reason::Condition) {
        add(costs, Code::LoopInOrder, "the iterations of this loop keep their order", (span, &why.to_string()));
    }
}
