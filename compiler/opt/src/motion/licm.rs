//! Invariant motion: what a body computes alike for every index, or in every iteration, is computed once before.
//!
//! With-loops, loops and calls move as a whole: the norm in `{ [i] -> a[i] / norm(b) }` is computed once. Constant arrays leave branches, too.
//!
//! Before: the cycle of folding has ended, for it would copy the results back in. After: no pure instruction stands in a
//! body that could stand before it.
//! Leaves alone: anything that may fault, with-loops whose selections might rely on checks that stay; selections whose index cannot be proven to be in range where they would go; loops and calls, which might
//! not end, of with-loops that may have no index; loops, with-loops and calls in loops that read a clock, and what [`crate::scalar::pin_clocks`] hides there;
//! arrays that more uses than selections, and loops and calls that move along, may change in place.
//! Worth: tests/survey/strings/letter-counts (2.0 with Cranelift, 1.0 with LLVM).

use crate::edit::{Def, Defs, reads_of};
use crate::facts::{Places, Safety, Use, divides_by_constant, is_speculatable, trips};
use crate::pass::{Context, Pass};
use ravel_types::{BinOp, HashSet};
use ravel_wir::traverse::{free_values, has_effect, walk};
use ravel_wir::{Func, Generator, Inst, Op, Region, Value};

pub const PASS: Pass = Pass::of("licm", "move invariant computations out of with-loops and loops", move_invariants);

pub fn move_invariants(func: &mut Func, cx: &mut Context) -> bool {
    let defs = Defs::new(func);
    let places = Places::new(func);
    let mut m = Mover { func, cx, defs: &defs, places: &places, changed: false, moved: Vec::new(), kept: Vec::new() };
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
    cx: &'a Context,
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
                match repeats {
                    true => self.hoist(inst, body, &mut out),
                    false => self.hoist_tables(body, &mut out),
                }
            }
            out.push(inst);
        }
        self.func.regions[region].insts = out;
    }

    /// Moves constant arrays out of a branch: they are data, and only in its way.
    fn hoist_tables(&mut self, body: Region, out: &mut Vec<Inst>) {
        let func = &mut *self.func;
        let (tables, insts): (Vec<Inst>, Vec<Inst>) = std::mem::take(&mut func.regions[body].insts)
            .into_iter()
            .partition(|inst| matches!(func.insts[*inst].op, Op::ConstArray(_)));
        func.regions[body].insts = insts;
        self.changed |= !tables.is_empty();
        out.extend(tables);
    }

    /// Moves the invariant instructions of a body before its owner.
    fn hoist(&mut self, owner: Inst, body: Region, out: &mut Vec<Inst>) {
        let mut inside: HashSet<Value> = self.func.regions[body].params.iter().copied().collect();
        let reads_clock = self.cx.has_clock(self.func, body);
        let insts = std::mem::take(&mut self.func.regions[body].insts);
        let mut kept = Vec::with_capacity(insts.len());
        let mut constants = Vec::new();
        // Whether what stays can be observed.
        let mut observed = false;
        for inst in insts {
            let operands = reads_of(self.func, inst);
            let is_invariant = !operands.iter().any(|v| inside.contains(v));
            let op = &self.func.insts[inst].op;
            if matches!(op, Op::Const(_)) {
                // Constants cost nothing where they are, but go along with what uses them.
                constants.push(inst);
                kept.push(inst);
                continue;
            }
            let is_safe = is_invariant
                && !matches!(op, Op::Opaque(_))
                && (is_speculatable(self.func, inst)
                    || divides_by_constant(self.func, self.defs, inst)
                    || self.is_safe_selection(owner, inst)
                    || (!reads_clock && self.moves_whole(owner, body, inst, observed)));
            if is_safe {
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
                observed |= has_effect(&|f| self.cx.is_observed(f), self.func, inst);
                inside.extend(self.func.insts[inst].results.iter().copied());
                kept.push(inst);
            }
        }
        self.func.regions[body].insts = kept;
    }

    /// Whether a with-loop, loop or call of a body can stand before `owner`, once.
    fn moves_whole(&self, owner: Inst, body: Region, inst: Inst, observed: bool) -> bool {
        let data = &self.func.insts[inst];
        let mut may_hang = match &data.op {
            Op::With(with) if !with.ordered => false,
            Op::Loop { .. } | Op::Call { .. } => true,
            _ => return false,
        };
        for nested in data.op.regions() {
            walk(self.func, nested, &mut |_, inner| {
                may_hang |= matches!(self.func.insts[inner].op, Op::Loop { .. } | Op::Call { .. } | Op::Native { .. });
            });
        }
        let selects = |u: &Use| match u {
            Use::Operand(user) => {
                matches!(self.func.insts[*user].op, Op::Sel { .. } | Op::Extent { .. })
                    || self.moves_along(owner, body, inst, *user, observed)
            }
            Use::Yield(_) => false,
        };
        let stays = |v: &Value| self.func.ty(*v).is_scalar() || self.places.uses(*v).iter().all(selects);
        // Of a single index nothing is gained.
        let is_single = match &self.func.insts[owner].op {
            Op::With(with) => {
                let part = with.parts.iter().find(|part| part.body == body);
                part.is_none_or(|part| trips(self.func, self.defs, part) == Some(1))
            }
            _ => false,
        };
        !is_single
            && !has_effect(&|f| self.cx.has_effects(f), self.func, inst)
            && data.results.iter().all(stays)
            && match !observed && self.certainly_runs(owner, body) {
                true => true,
                // Checks that stay behind might be those that its selections rely on.
                false => !may_hang && Safety::before(self.func, self.defs, self.places, owner).needs_no_check(inst),
            }
    }

    /// Whether a loop or call that takes what `inst` makes can stand before `owner` as well: it depends on nothing else of the body.
    fn moves_along(&self, owner: Inst, body: Region, inst: Inst, user: Inst, observed: bool) -> bool {
        let data = &self.func.regions[body];
        let taker = &self.func.insts[user].op;
        if !matches!(taker, Op::Loop { .. } | Op::Call { .. }) || self.places.region_of[user] != Some(body).into() {
            return false;
        }
        let is_free = |v: &Value| {
            !data.params.contains(v)
                && match self.defs.get(*v) {
                    Def::Inst(by, _) => {
                        by == inst
                            || self.places.region_of[by] != Some(body).into()
                            || matches!(self.func.insts[by].op, Op::Const(_))
                    }
                    _ => true,
                }
        };
        let mut free = true;
        taker.for_each_operand(|v| free &= is_free(&v));
        free && taker.regions().into_iter().all(|nested| free_values(self.func, nested).iter().all(is_free))
            && self.moves_whole(owner, body, user, observed)
    }

    /// Whether a body runs at least once.
    fn certainly_runs(&self, owner: Inst, body: Region) -> bool {
        let with = match &self.func.insts[owner].op {
            Op::With(with) => with,
            op => return matches!(op, Op::Loop { .. }),
        };
        let Some(Generator::Known { lower, upper, .. }) =
            with.parts.iter().find(|part| part.body == body).map(|part| &part.generator)
        else {
            return false;
        };
        let mut ranges = self.places.ranges_at(self.func, self.defs, owner);
        lower.iter().zip(upper).all(|(low, high)| {
            let low = ranges.form(self.func, self.defs, *low);
            let high = ranges.form(self.func, self.defs, *high);
            ranges.compare(BinOp::Lt, &low, &high) == Some(true)
        })
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
            ranges.compare(BinOp::Ge, &i, &crate::facts::linear::Lin::constant(0)) == Some(true)
                && ranges.compare(BinOp::Lt, &i, &extent) == Some(true)
        })
    }
}
