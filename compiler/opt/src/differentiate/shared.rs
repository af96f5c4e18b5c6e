//! What several terms of a body need is computed once for each index, and kept, where that is dear.
//!
//! ```text
//!    for p: adjoint[p] += f(g[p - 1]) + f(g[p + 1])
//! => k = for i: f(g[i])    for p: adjoint[p] += k[p - 1] + k[p + 1]
//! ```
//!
//! A stencil has a term for each neighbour that it reads, a sum over edges one for each end. Each of them would compute the body's slope anew, and a
//! product one of its vector for each element of a row.

use crate::differentiate::adjoint::{Level, LevelKind, Term};
use crate::differentiate::reverse::Reverse;
use crate::edit::{reads_of, slice};
use crate::facts::cost_of_yield;
use ravel_types::{HashMap, HashSet};
use ravel_wir::{Inst, Value};

/// Operations that are worth a number in memory: one of the dear ones, or some quotients.
const LEAST_WORK: f64 = 12.0;
/// Values that are kept of one body.
const MOST_KEPT: usize = 3;

impl Reverse<'_> {
    /// Values of a body itself that more than one of its terms need, and that are dear to compute.
    pub fn dear_to_several(&self, level: Level, outward: &[(Value, Vec<Term>)]) -> Vec<Value> {
        if !matches!(self.levels[level].kind, LevelKind::Part(_)) {
            return Vec::new();
        }
        let func = &*self.state.func;
        let body = self.levels[level].region;
        let insts = &func.regions[body].insts;
        let (mut slices, mut count) = (Vec::new(), HashMap::<Inst, usize>::default());
        for term in outward.iter().flat_map(|(_, terms)| terms) {
            let needs = match term.levels.is_empty() {
                true => [term.value].into_iter().chain(term.guard).collect(),
                false => self.needs_of_body(body, term),
            };
            // What is inside of a with-loop runs for each index of it.
            let runs_often = term.levels.iter().any(|level| matches!(self.levels[*level].kind, LevelKind::Part(_)));
            let insts = slice(func, insts, needs.iter().copied(), |_| false);
            insts.iter().for_each(|inst| *count.entry(*inst).or_default() += if runs_often { 2 } else { 1 });
            slices.push((needs, insts));
        }
        let is_shared = |inst: &Inst| count.get(inst).is_some_and(|n| *n > 1);
        // What is taken of the common part by what is not.
        let mut taken: HashSet<Value> = HashSet::default();
        for (needs, insts) in &slices {
            taken.extend(needs.iter().copied());
            let own = insts.iter().filter(|inst| !is_shared(inst));
            taken.extend(own.flat_map(|inst| reads_of(func, *inst)));
        }
        let mut kept = Vec::new();
        for inst in insts.iter().filter(|inst| is_shared(inst)) {
            for v in func.insts[*inst].results.iter().filter(|v| taken.contains(v)) {
                let work = cost_of_yield(func, &self.state.defs, body, *v).arithmetic;
                if work >= LEAST_WORK && func.ty(*v).is_scalar() && self.can_store(level, *v) {
                    kept.push(*v);
                }
            }
        }
        if kept.len() > MOST_KEPT { Vec::new() } else { kept }
    }
}
