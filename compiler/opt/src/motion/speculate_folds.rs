//! Folds in branches that most indices take are computed for all indices.
//!
//! ```text
//!    genarray { [i, j] -> if i == j { 1 } else { fold add { [k] -> x[k, i] * x[k, j] } } }
//! => genarray { [i, j] -> s = fold add { [k] -> x[k, i] * x[k, j] }   if i == j { 1 } else { s } }
//! ```
//!
//! A branch keeps the fold from lanes and tiles: which cells it has then differs from one to the next. How many indices take the branch is
//! estimated from the condition: nearly none have two equal indices, half of them lie below a diagonal. Half is enough for contractions,
//! products of matrices and their kin, since tiles are much faster than sums cell by cell.
//!
//! Before: folding has ended, simplified, borders are split off. After: no fold that could stand in front of a branch that most indices take.
//! Leaves alone: folds that may fault where the condition does not hold, conditions on data, short folds, windows.
//! Worth: tests/survey/reductions/correlations (10.6 with Cranelift, 87 with LLVM).

use crate::edit::{Def, Defs, drop_inst, insert_before, reads_of};
use crate::facts::{Places, Safety, trips, visit_partitions};
use crate::fusion::fold_kinds::{Folds, Kind};
use crate::pass::{Context, Pass};
use ravel_types::{BinOp, Elem, HashSet, UnOp};
use ravel_wir::{Combine, Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("speculate-folds", "compute folds in branches that most indices take for all indices", speculate_folds);

/// Share of the indices that must take the branch, for folds in general and for contractions.
const MOST: f64 = 0.8;
const HALF: f64 = 0.45;
/// Share of the indices for which two given ones are equal.
const EQUAL: f64 = 0.05;
/// Shorter folds are as good in their branch.
const LEAST_TRIPS: u64 = 8;

pub fn speculate_folds(func: &mut Func, cx: &mut Context) -> bool {
    visit_partitions(func, |func, defs, places, _, part| {
        let branches: Vec<Inst> = func.regions[part.body].insts.clone();
        let mut moves = Vec::new();
        for branch in branches {
            let mut lifter = Lifter { func, defs, places, part, branch, eager: cx.eager, moves: Vec::new() };
            lifter.visit(branch, 1.0);
            moves.extend(lifter.moves.into_iter().map(|fold| (branch, fold)));
        }
        let mut moved = HashSet::default();
        for (branch, Lifted { fold, insts }) in moves {
            for inst in insts.into_iter().filter(|inst| moved.insert(*inst)) {
                let Some(from) = places.home(inst) else { continue };
                drop_inst(func, from, inst);
                insert_before(func, part.body, branch, [inst]);
            }
            cx.applied(func.insts[fold].span, "computed for all indices, since most need it");
        }
        !moved.is_empty()
    })
}

/// A fold, and what moves with it in the order of execution, the fold last.
struct Lifted {
    fold: Inst,
    insts: Vec<Inst>,
}

struct Lifter<'a> {
    func: &'a Func,
    defs: &'a Defs,
    places: &'a Places,
    part: &'a Part,
    /// The outermost branch.
    branch: Inst,
    eager: bool,
    moves: Vec<Lifted>,
}

impl Lifter<'_> {
    /// Looks for folds in the branches of an instruction that this share of the indices reaches.
    fn visit(&mut self, inst: Inst, share: f64) {
        let Op::If { cond, then, els } = self.func.insts[inst].op else { return };
        for (region, truth) in [(then, true), (els, false)] {
            let Some(part) = self.share(cond, truth) else { continue };
            let share = share * part;
            for &inst in &self.func.regions[region].insts {
                match &self.func.insts[inst].op {
                    Op::With(with) if self.pays(with, share) => {
                        if let Some(insts) = self.needed(inst) {
                            self.moves.push(Lifted { fold: inst, insts });
                        }
                    }
                    Op::If { .. } => self.visit(inst, share),
                    _ => {}
                }
            }
        }
    }

    /// The share of the indices for which a condition on indices has this outcome; none for other conditions.
    fn share(&self, cond: Value, truth: bool) -> Option<f64> {
        let holds = match *self.defs.op(self.func, cond)? {
            Op::Un(UnOp::Not, a) => return self.share(a, !truth),
            Op::Bin(BinOp::And, a, b) => self.share(a, true)? * self.share(b, true)?,
            Op::Bin(BinOp::Or, a, b) => 1.0 - self.share(a, false)? * self.share(b, false)?,
            Op::Bin(op, a, b) if op.is_comparison() && self.func.ty(a).elem == Elem::I32 => {
                let mut varies = false;
                if !self.is_index(a, &mut varies) || !self.is_index(b, &mut varies) || !varies {
                    return None;
                }
                match op {
                    BinOp::Eq => EQUAL,
                    BinOp::Ne => 1.0 - EQUAL,
                    _ => 0.5,
                }
            }
            _ => return None,
        };
        Some(if truth { holds } else { 1.0 - holds })
    }

    /// Whether a scalar is a sum of indices and of what is the same for all of them.
    fn is_index(&self, v: Value, varies: &mut bool) -> bool {
        match self.defs.get(v) {
            Def::Param(region, _) if region == self.part.body => {
                *varies = true;
                true
            }
            Def::Inst(inst, _) if Folds::new(self.func, self.defs, self.places, self.part).has(inst) => {
                match &self.func.insts[inst].op {
                    Op::Const(_) | Op::Extent { .. } => true,
                    Op::Bin(BinOp::Add | BinOp::Sub, a, b) => self.is_index(*a, varies) && self.is_index(*b, varies),
                    _ => false,
                }
            }
            _ => true,
        }
    }

    /// Whether a fold is better computed for all indices.
    fn pays(&self, with: &With, share: f64) -> bool {
        let is_fold = |op: &WithOp| matches!(op, WithOp::Fold { combine: Combine::Op(_), neutral, .. } if self.func.ty(*neutral).is_scalar());
        if with.ordered || with.ops.is_empty() || !with.ops.iter().all(is_fold) {
            return false;
        }
        let length = with.parts.iter().try_fold(0, |n, part| Some(n + trips(self.func, self.defs, part)?));
        if length.is_some_and(|n| n < LEAST_TRIPS && !self.eager) || !self.has_even_bounds(with) {
            return false;
        }
        match Folds::new(self.func, self.defs, self.places, self.part).kind(with) {
            Kind::Contraction => share >= HALF,
            Kind::Other => share >= MOST,
            Kind::Window => false,
        }
    }

    /// Whether the fold has the same index set for all indices of the part.
    fn has_even_bounds(&self, with: &With) -> bool {
        with.parts.iter().all(|part| match &part.generator {
            Generator::Known { lower, upper, step: None, .. } => lower.iter().chain(upper).all(|v| {
                let mut varies = false;
                self.is_index(*v, &mut varies) && !varies
            }),
            _ => false,
        })
    }

    /// What must move in front of the outermost branch with a fold, the fold last; nothing if some of it may not run for all indices.
    fn needed(&self, fold: Inst) -> Option<Vec<Inst>> {
        let mut order = Vec::new();
        self.collect(fold, &mut order)?;
        let mut safety = Safety::before(self.func, self.defs, self.places, self.branch);
        order.iter().all(|inst| safety.is_safe(*inst)).then_some(order)
    }

    fn collect(&self, inst: Inst, order: &mut Vec<Inst>) -> Option<()> {
        for v in reads_of(self.func, inst) {
            let Def::Inst(def, _) = self.defs.get(v) else { continue };
            let region: Region = self.places.home(def)?;
            // Values of the body itself stand in front already.
            let moves = self.places.path(region, self.part.body).is_some_and(|path| !path.is_empty());
            if moves && !order.contains(&def) {
                self.collect(def, order)?;
            }
        }
        order.push(inst);
        Some(())
    }
}
