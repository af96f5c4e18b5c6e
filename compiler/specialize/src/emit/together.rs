//! Checks that report together what is violated.
//!
//! Each condition of a head is a check of its own, for a pass that proves or moves one of them leaves the others alone. So that a
//! user sees all that is wrong with a call, the first of them that fails shows those behind it as well.

use super::{Emitter, Mark};
use ravel_wir::{Fault, Inst, Op, Violation};

/// A check shows no more violations than these besides its own.
const MOST_OTHERS: usize = 7;

impl Emitter {
    /// Lets the checks since `from` in the current region report together. Only those do between which nothing depends on them: they
    /// stand side by side then.
    pub fn join_checks(&mut self, from: Mark) {
        let behind = self.func.regions[self.region].insts.split_off(from.insts);
        let mut joined = Vec::with_capacity(behind.len());
        let mut checks = Vec::new();
        let mut between = Vec::new();
        for inst in behind {
            if matches!(self.func.insts[inst].op, Op::Check { .. }) {
                joined.append(&mut between);
                checks.push(inst);
            } else if self.func.is_total(inst) {
                between.push(inst);
            } else {
                self.show_later(&checks);
                joined.append(&mut checks);
                joined.append(&mut between);
                joined.push(inst);
            }
        }
        self.show_later(&checks);
        joined.append(&mut checks);
        joined.append(&mut between);
        self.func.regions[self.region].insts.extend(joined);
    }

    /// Gives each check what those behind it report.
    fn show_later(&mut self, checks: &[Inst]) {
        let mut later: Vec<Violation> = Vec::new();
        for &check in checks.iter().rev() {
            let Op::Check { cond, fault } = &mut self.func.insts[check].op else { continue };
            let own = fault.own().clone();
            let others: Vec<Violation> =
                later.iter().rev().filter(|other| other.holds != *cond).take(MOST_OTHERS).cloned().collect();
            later.push(Violation { holds: *cond, fault: own.clone() });
            if !others.is_empty() {
                *fault = Fault::Several { first: Box::new(own), others };
            }
        }
    }
}
