//! Proving checks: a check whose condition follows from index sets, extents, branches and earlier checks is removed, and
//! comparisons whose outcome is known become constants.
//!
//! ```text
//!    part [0] <= [%i] < [%n] { %c = lt %i, %n   check %c ... }
//! => part [0] <= [%i] < [%n] { }
//! ```
//!
//! Before: anything; works best after `simplify`. After: no check that [`crate::ranges`] can prove.
//! Leaves alone: checks that are certain to fail, for their fault belongs to the program.

use crate::edit::{Defs, Renames};
use crate::pass::{Context, Pass, Run};
use crate::ranges::Ranges;
use ravel_types::{BinOp, Elem, Scalar, Ty};
use ravel_wir::{Func, Inst, Op, Region};

pub const PASS: Pass = Pass {
    name: "prove-checks",
    summary: "remove checks and comparisons that index sets and extents decide",
    run: Run::Func(prove_checks),
};

/// One walk in program order.
pub fn prove_checks(func: &mut Func, _: &mut Context) -> bool {
    let defs = Defs::new(func);
    let mut p = Prover { func, defs, ranges: Ranges::default(), renames: Renames::default(), before: Vec::new(), changed: false };
    let body = p.func.body;
    for param in p.func.params().to_vec() {
        p.ranges.see(p.func, param);
    }
    p.region(body);
    let (renames, changed) = (p.renames, p.changed);
    renames.apply(func);
    changed
}

struct Prover<'a> {
    func: &'a mut Func,
    defs: Defs,
    ranges: Ranges,
    renames: Renames,
    /// Constants to stand before the instruction in hand.
    before: Vec<Inst>,
    changed: bool,
}

impl Prover<'_> {
    fn region(&mut self, region: Region) {
        let mark = self.ranges.mark();
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts {
            let stays = self.inst(inst);
            kept.append(&mut self.before);
            if stays {
                kept.push(inst);
            }
        }
        self.func.regions[region].insts = kept;
        self.ranges.undo(mark);
    }

    /// Whether the instruction stays.
    fn inst(&mut self, inst: Inst) -> bool {
        match self.func.insts[inst].op.clone() {
            Op::Check { cond, .. } => {
                if self.ranges.decide(self.func, &self.defs, cond) == Some(true) {
                    self.changed = true;
                    return false;
                }
            }
            Op::Bin(op, a, _) if op.is_comparison() && self.func.ty(a).elem == Elem::I32 => {
                let result = self.func.insts[inst].results[0];
                if let Some(truth) = self.ranges.decide(self.func, &self.defs, result) {
                    self.func.insts[inst].op = Op::Const(Scalar::Bool(truth));
                    self.changed = true;
                }
            }
            Op::Bin(op @ (BinOp::Min | BinOp::Max), a, b) if self.func.ty(a).elem == Elem::I32 => {
                let (x, y) = (self.ranges.form(self.func, &self.defs, a), self.ranges.form(self.func, &self.defs, b));
                let (smaller, larger) = match self.ranges.compare(BinOp::Le, &x, &y) {
                    Some(true) => (a, b),
                    Some(false) => (b, a),
                    None => return true,
                };
                let result = self.func.insts[inst].results[0];
                self.renames.set(result, if op == BinOp::Min { smaller } else { larger });
                self.changed = true;
                return false;
            }
            Op::Bin(BinOp::And, a, b) if self.func.ty(a).elem == Elem::Bool => {
                for (known, other) in [(a, b), (b, a)] {
                    if self.ranges.decide(self.func, &self.defs, known) == Some(true) {
                        let result = self.func.insts[inst].results[0];
                        self.renames.set(result, other);
                        self.changed = true;
                        // The instruction stays for what is known of it; nothing uses it any more.
                        break;
                    }
                }
            }
            Op::If { cond, then, els } => {
                let decided = self.ranges.decide(self.func, &self.defs, cond);
                for (branch, truth) in [(then, true), (els, false)] {
                    let mark = self.ranges.mark();
                    self.ranges.assume(self.func, &self.defs, cond, truth);
                    self.region(branch);
                    self.ranges.undo(mark);
                }
                if let Some(truth) = decided.filter(|_| self.defs.constant(self.func, cond).is_none()) {
                    let span = self.func.insts[inst].span;
                    let known = self.func.make_inst(Op::Const(Scalar::Bool(truth)), vec![Ty::scalar(Elem::Bool)], span);
                    self.before.push(known);
                    let known = self.func.insts[known].results[0];
                    self.func.insts[inst].op = Op::If { cond: known, then, els };
                    self.changed = true;
                }
            }
            Op::Loop { init, body } => {
                let mark = self.ranges.mark();
                self.ranges.enter_loop(self.func, &self.defs, &init, body);
                self.region(body);
                self.ranges.undo(mark);
            }
            Op::With(with) => {
                for part in &with.parts {
                    let mark = self.ranges.mark();
                    self.ranges.enter_part(self.func, &self.defs, part);
                    self.region(part.body);
                    self.ranges.undo(mark);
                }
                for region in with.ops.iter().filter_map(|op| op.region()) {
                    self.region(region);
                }
            }
            _ => {}
        }
        self.ranges.learn(self.func, &self.defs, inst);
        true
    }
}
