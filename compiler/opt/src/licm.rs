//! Invariant motion: what a body computes alike for every index, or in every round, is computed once before.
//!
//! Before: the cycle of folding has ended, for it would copy the results back in. After: no pure instruction stands in a
//! body that could stand before it.
//! Leaves alone: anything that may fault; selections whose index cannot be proven to be in range where they would go.

use crate::edit::{Defs, is_speculatable};
use crate::pass::{Context, Pass, Run};
use crate::places::Places;
use ravel_types::BinOp;
use ravel_wir::{Func, Inst, Op, Region, Value};
use std::collections::HashSet;

pub const PASS: Pass = Pass {
    name: "licm",
    summary: "move invariant computations out of with-loops and loops",
    run: Run::Func(move_invariants),
};

pub fn move_invariants(func: &mut Func, cx: &mut Context) -> bool {
    let defs = Defs::new(func);
    let places = Places::new(func);
    let mut m = Mover { func, defs: &defs, places: &places, changed: false, moved: Vec::new(), kept: Vec::new() };
    let body = m.func.body;
    m.region(body);
    let (moved, kept, changed) = (m.moved, m.kept, m.changed);
    for inst in moved {
        cx.applied(func.insts[inst].span, "what is the same for every index is computed before it");
    }
    for inst in kept {
        cx.refused(
            func.insts[inst].span,
            "some of what is the same for every index may fault, and so stays behind its checks",
        );
    }
    changed
}

struct Mover<'a> {
    func: &'a mut Func,
    defs: &'a Defs,
    /// As they were at the start; what has moved only moved outward, where less is known.
    places: &'a Places,
    changed: bool,
    /// With-loops out of which something has moved, and those in which something had to stay.
    moved: Vec<Inst>,
    kept: Vec<Inst>,
}

impl Mover<'_> {
    /// Moves things out of the bodies in `region`, innermost first.
    fn region(&mut self, region: Region) {
        // The list stays in place meanwhile: it says what holds before an instruction.
        let insts = self.func.regions[region].insts.clone();
        let mut out = Vec::with_capacity(insts.len());
        for inst in insts {
            let nested = self.func.insts[inst].op.regions();
            let repeats = matches!(self.func.insts[inst].op, Op::With(_) | Op::Loop { .. });
            for body in nested {
                self.region(body);
                if repeats {
                    self.hoist(inst, body, &mut out);
                }
            }
            out.push(inst);
        }
        self.func.regions[region].insts = out;
    }

    /// Moves the invariant instructions of a body before its owner.
    fn hoist(&mut self, owner: Inst, body: Region, out: &mut Vec<Inst>) {
        let mut inside: HashSet<Value> = self.func.regions[body].params.iter().copied().collect();
        let insts = std::mem::take(&mut self.func.regions[body].insts);
        let mut kept = Vec::with_capacity(insts.len());
        let mut constants = Vec::new();
        for inst in insts {
            let mut is_invariant = true;
            self.func.insts[inst].op.for_each_operand(|v| is_invariant &= !inside.contains(&v));
            let op = &self.func.insts[inst].op;
            is_invariant &= op.regions().is_empty();
            if matches!(op, Op::Const(_)) {
                // Constants cost nothing where they are, but go along with what uses them.
                constants.push(inst);
                kept.push(inst);
                continue;
            }
            if is_invariant && (is_speculatable(self.func, inst) || self.is_safe_selection(owner, inst)) {
                let mut operands = HashSet::new();
                self.func.insts[inst].op.for_each_operand(|v| {
                    operands.insert(v);
                });
                let is_operand = |i: &Inst, func: &Func| func.insts[*i].results.iter().any(|v| operands.contains(v));
                for constant in constants.extract_if(.., |i| is_operand(i, self.func)) {
                    out.push(constant);
                    kept.retain(|i| *i != constant);
                }
                out.push(inst);
                self.changed = true;
                if matches!(self.func.insts[owner].op, Op::With(_)) {
                    self.moved.push(owner);
                }
            } else {
                // Arithmetic and selections that the values in hand allow to move, but not what they may do.
                let may_fault = matches!(self.func.insts[inst].op, Op::Sel { .. } | Op::Bin(..) | Op::Un(..));
                if is_invariant && may_fault && matches!(self.func.insts[owner].op, Op::With(_)) {
                    self.kept.push(owner);
                }
                inside.extend(self.func.insts[inst].results.iter().copied());
                kept.push(inst);
            }
        }
        self.func.regions[body].insts = kept;
    }

    /// Whether a selection is in range already before `owner`.
    fn is_safe_selection(&self, owner: Inst, inst: Inst) -> bool {
        let Op::Sel { array, index } = &self.func.insts[inst].op else { return false };
        // Only scalars: moving a copy of a row does not pay.
        if !self.func.ty(self.func.insts[inst].results[0]).is_scalar() {
            return false;
        }
        let Some(forms) = self.func.ty(*array).shape.extents() else { return false };
        let mut ranges = self.places.ranges_at(self.func, self.defs, owner);
        index.iter().zip(forms).all(|(i, form)| {
            let extent = ranges.extent(form);
            let i = ranges.form(self.func, self.defs, *i);
            ranges.compare(BinOp::Ge, &i, &crate::linear::Lin::constant(0)) == Some(true)
                && ranges.compare(BinOp::Lt, &i, &extent) == Some(true)
        })
    }
}
