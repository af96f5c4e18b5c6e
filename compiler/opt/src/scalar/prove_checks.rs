//! Proving checks: a check whose condition follows from index sets, extents, branches and earlier checks is removed, and
//! comparisons whose outcome is known become constants.
//!
//! ```text
//!    part [0] <= [%i] < [%n] { %c = lt %i, %n   check %c ... }
//! => part [0] <= [%i] < [%n] { }
//! ```
//!
//! Of a comparison with an extremum what is left to ask remains: `max(min(i, n - 1), 0) < n` is `0 < n`, the same for every index.
//!
//! Before: anything; works best after `simplify`. After: no check that [`crate::facts::ranges`] can prove.
//! Leaves alone: checks that are certain to fail, for their fault belongs to the program.
//! Worth: tests/survey/tables/life-rotations (115 with Cranelift, 37 with LLVM).

use crate::edit::{Defs, Renames, push_op, use_counts};
use crate::facts::{Lin, Ranges};
use crate::pass::{Context, Pass};
use cranelift_entity::SecondaryMap;
use ravel_types::{BinOp, Elem, Scalar, Ty, UnOp};
use ravel_wir::{Func, Generator, Inst, Op, Region, Value, WithOp};

pub const PASS: Pass =
    Pass::of("prove-checks", "remove checks and comparisons that index sets and extents decide", prove_checks);

/// One walk in program order.
pub fn prove_checks(func: &mut Func, _: &mut Context) -> bool {
    let (defs, uses) = (Defs::new(func), use_counts(func));
    let mut p = Prover {
        func,
        defs,
        uses,
        ranges: Ranges::default(),
        renames: Renames::default(),
        before: Vec::new(),
        bounds: Vec::new(),
        changed: false,
    };
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
    /// As they were at the start.
    uses: SecondaryMap<Value, u32>,
    /// Constants to stand before the instruction in hand.
    before: Vec<Inst>,
    /// Bounds of the partitions around the instruction in hand.
    bounds: Vec<Value>,
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

    /// An axis with bounds `l` and `l + 1` has one index, which is `l`. A fold then need not know `l` any more.
    fn single_indices(&mut self, inst: Inst, part: usize) {
        let Op::With(mut with) = self.func.insts[inst].op.clone() else { return };
        let is_fold = with.ops.iter().all(|op| matches!(op, WithOp::Fold { .. })) && !with.ordered;
        let params = self.func.regions[with.parts[part].body].params.clone();
        let Generator::Known { lower, upper, step: None, width: None } = &mut with.parts[part].generator else {
            return;
        };
        for ((param, lower), upper) in params.into_iter().zip(lower).zip(upper) {
            let (low, high) =
                (self.ranges.form(self.func, &self.defs, *lower), self.ranges.form(self.func, &self.defs, *upper));
            if high.sub(&low).and_then(|d| d.as_const()) != Some(1) {
                continue;
            }
            if self.uses[param] > 0 {
                self.renames.set(param, *lower);
                self.changed = true;
            }
            if is_fold && self.defs.int(self.func, *lower).is_none() {
                *lower = self.constant(inst, Scalar::I32(0));
                *upper = self.constant(inst, Scalar::I32(1));
                self.changed = true;
            }
        }
        self.func.insts[inst].op = Op::With(with);
    }

    /// A constant before `inst`.
    fn constant(&mut self, inst: Inst, value: Scalar) -> Value {
        let span = self.func.insts[inst].span;
        push_op(self.func, &mut self.before, Op::Const(value), Ty::scalar(value.elem()), span)
    }

    /// The result of an instruction is another value.
    fn is(&mut self, inst: Inst, value: Value) {
        self.renames.set(self.func.insts[inst].results[0], value);
        self.changed = true;
    }

    fn becomes(&mut self, inst: Inst, op: Op) {
        self.func.insts[inst].op = op;
        self.changed = true;
    }

    /// Whether the instruction stays.
    fn inst(&mut self, inst: Inst) -> bool {
        match self.func.insts[inst].op.clone() {
            Op::Check { cond, .. } if self.ranges.decide(self.func, &self.defs, cond) == Some(true) => {
                self.changed = true;
                return false;
            }
            Op::Bin(op, a, b) if op.is_comparison() && self.func.ty(a).elem == Elem::I32 => {
                let result = self.func.insts[inst].results[0];
                if let Some(truth) = self.ranges.decide(self.func, &self.defs, result) {
                    self.becomes(inst, Op::Const(Scalar::Bool(truth)));
                } else if self.func.ty(a).is_scalar()
                    && let Some([a, b]) = self.ranges.narrowed(self.func, &self.defs, op, [a, b])
                {
                    self.becomes(inst, Op::Bin(op, a, b));
                }
            }
            Op::Un(UnOp::Abs, a) if self.func.ty(a).elem == Elem::I32 && self.func.ty(a).is_scalar() => {
                let x = self.ranges.form(self.func, &self.defs, a);
                if self.ranges.lower(&x) >= 0 {
                    self.is(inst, a);
                    return false;
                }
            }
            Op::Bin(op @ (BinOp::Min | BinOp::Max), a, b) if self.func.ty(a).elem == Elem::I32 => {
                let (x, y) = (self.ranges.form(self.func, &self.defs, a), self.ranges.form(self.func, &self.defs, b));
                let (smaller, larger) = if self.ranges.compare(BinOp::Le, &x, &y) == Some(true) {
                    (a, b)
                } else if self.ranges.compare(BinOp::Le, &y, &x) == Some(true) {
                    (b, a)
                } else {
                    return true;
                };
                self.is(inst, if op == BinOp::Min { smaller } else { larger });
                return false;
            }
            Op::Bin(op @ (BinOp::Mod | BinOp::AplMod), a, b) if self.func.ty(a).elem == Elem::I32 => {
                let (x, y) = (self.ranges.form(self.func, &self.defs, a), self.ranges.form(self.func, &self.defs, b));
                // How many times the divisor must be taken away or added.
                let lies = |s: &Self, low: i64, high: i64| {
                    let edges = y.scale(low).zip(y.scale(high));
                    edges.is_some_and(|(low, high)| {
                        s.ranges.compare(BinOp::Ge, &x, &low) == Some(true)
                            && s.ranges.compare(BinOp::Lt, &x, &high) == Some(true)
                    })
                };
                let is_positive = self.ranges.compare(BinOp::Gt, &y, &Lin::constant(0)) == Some(true);
                if lies(self, 0, 1) {
                    self.is(inst, a);
                    return false;
                } else if is_positive && lies(self, 1, 2) {
                    self.becomes(inst, Op::Bin(BinOp::Sub, a, b));
                } else if is_positive && op == BinOp::AplMod && lies(self, -1, 0) {
                    self.becomes(inst, Op::Bin(BinOp::Add, a, b));
                }
            }
            Op::Bin(BinOp::And, a, b) if self.func.ty(a).elem == Elem::Bool => {
                for (known, other) in [(a, b), (b, a)] {
                    if self.ranges.decide(self.func, &self.defs, known) == Some(true) {
                        self.is(inst, other);
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
                    let known = self.constant(inst, Scalar::Bool(truth));
                    self.becomes(inst, Op::If { cond: known, then, els });
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
                    let around = self.bounds.len();
                    if let Generator::Known { lower, upper, .. } = &part.generator {
                        self.bounds.extend(lower.iter().chain(upper));
                    }
                    self.region(part.body);
                    self.bounds.truncate(around);
                    self.ranges.undo(mark);
                }
                for region in with.ops.iter().filter_map(|op| op.region()) {
                    self.region(region);
                }
                // Last: the constants that it makes stand before this instruction, not in a region of it.
                for n in 0..with.parts.len() {
                    self.single_indices(inst, n);
                }
            }
            _ => {}
        }
        self.ranges.learn(self.func, &self.defs, inst);
        if matches!(self.func.insts[inst].op, Op::Check { .. }) {
            for bound in self.bounds.clone() {
                self.ranges.reconsider(self.func, &self.defs, bound);
            }
        }
        true
    }
}
