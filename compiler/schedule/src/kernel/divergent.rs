//! Loops and branches inside kernels that lanes leave or take at different times.
//!
//! A `loop` runs while any lane of any copy is active. A lane that is done stays inactive: what is used after the loop keeps the value
//! of the lane's last iteration (a selection by the mask of active lanes), everything else goes on computing what nobody looks at, which
//! is harmless because bodies are pure. All vectors of a step share one machine loop, so that their latencies overlap.
//!
//! - A carried value that is the same for all active lanes (a counter) stays a scalar inside the loop; the lanes' last values are kept
//!   beside it if they are used later.
//! - Of a condition `a && b` the part that is the same for all lanes ends the machine loop, the rest updates the mask.
//! - A loop that runs equally often for all indices has no inactive lanes. It may load: what it loads, every index would.
//! - A branch may load what every index could load; where that is not certain it is asked before the kernel (`guards`).
//! - Where that cannot be asked, as of indices from data, only the lanes that take the branch load (`gathers`).
//! - A branch whose condition varies is entered if any lane takes it, and evaluated under the mask of those. Cheap
//!   branches without loops are evaluated on both sides and selected from (`grid`).

use ravel_nest::ir::{BinOp as NestBin, Ty, UnOp as NestUn};
use ravel_types::{Elem, Scalar};
use ravel_wir::{Inst, Op, Region, Value};

use crate::Result;
use crate::facts::{Active, Cell, Dep, Grid, Val};
use crate::lower::Lower;

/// Variables of a machine loop that hold the copies of one carried value.
struct Slot {
    /// Which carried value.
    carried: usize,
    dep: Dep,
    /// First of its variables.
    first: usize,
    /// Whether inactive lanes keep their value.
    frozen: bool,
    /// Whether the loop's body sees it.
    inside: bool,
}

impl Lower<'_, '_> {
    /// The copies `(j, u)` of what varies like `dep`, jam copies outermost.
    fn copies(g: &Grid, dep: Dep) -> Vec<(usize, usize)> {
        let steps = if dep.vec { g.u } else { 1 };
        g.jam_copies(dep).into_iter().flat_map(|j| (0..steps).map(move |u| (j, u))).collect()
    }

    /// One copy as the machine value that a variable of this variation has.
    fn copy_value(&mut self, g: &mut Grid, v: Value, dep: Dep, j: usize, u: usize) -> Result<Val> {
        if dep.vec && g.lanes > 1 { self.packed_of(g, v, j, u) } else { self.scalar_of(g, v, j, u) }
    }

    fn remember_copy(&mut self, g: &mut Grid, v: Value, j: usize, u: usize, val: Val) {
        let cell = if self.b.ty(val).is_vector() { Cell::Packed(val) } else { Cell::One(val) };
        g.remember(v, j, u, cell);
    }

    /// Computes in front of a loop or branch what its region takes from outside, scalars also as vectors.
    fn prepare_captured(&mut self, g: &mut Grid, region: Region) -> Result<()> {
        self.force_captured(g, region)?;
        if g.lanes == 1 || (g.vec.is_none() && g.fold_u == 0) {
            return Ok(());
        }
        for v in self.live.free(region).to_vec() {
            if self.func.ty(v).is_scalar() && !self.is_object(v) && self.elem(v).is_float() && !self.dep(g, v).vec {
                let dep = self.dep(g, v);
                for (j, u) in Self::copies(g, dep) {
                    self.packed_of(g, v, j, u)?;
                }
            }
        }
        Ok(())
    }

    /// The lanes of one copy that take part, if some may not.
    pub fn taking_part(&mut self, g: &mut Grid, j: usize, u: usize) -> Option<Val> {
        let active = g.active.clone()?;
        Some(self.active_copy(g, &active, j, u))
    }

    /// A mask or truth value of one copy.
    fn active_copy(&self, g: &Grid, active: &Active, j: usize, u: usize) -> Val {
        let place = g.shared(active.dep, j, u);
        let which = Self::copies(g, active.dep).iter().position(|copy| *copy == place);
        active.copies[which.expect("masks are made for all copies that they vary over")]
    }

    /// The lanes that take part at this point, for copies that vary over at least `dep`.
    fn active_over(&mut self, g: &mut Grid, dep: Dep) -> Active {
        let outer = g.active.clone();
        let masked = g.masks.iter().any(|mask| mask.contains(&false));
        let dep = dep.or(outer.as_ref().map_or(Dep::default(), |a| a.dep)).or(Dep { vec: masked, jams: 0 });
        let vector = dep.vec && g.lanes > 1;
        let mut copies = Vec::new();
        for (j, u) in Self::copies(g, dep) {
            let mut mask = match &outer {
                Some(outer) => {
                    let mask = self.active_copy(g, outer, j, u);
                    if vector && !self.b.ty(mask).is_vector() { self.splat_cell(g, Elem::Bool, mask) } else { mask }
                }
                None if vector => self.constant_of(g, Scalar::Bool(true)),
                None => self.b.bool(true),
            };
            if let Some(taken) = g.masks.get(u).filter(|taken| vector && taken.contains(&false)).cloned() {
                let ty = self.b.ty(mask);
                let taken = self.mask_constant(ty, &taken);
                mask = self.b.binary(NestBin::And, mask, taken);
            }
            copies.push(mask);
        }
        Active { dep, copies }
    }

    /// The active lanes for which a condition holds (or, with `negate`, does not).
    fn restrict(&mut self, g: &mut Grid, active: &Active, cond: Value, negate: bool) -> Result<Active> {
        let mut copies = Vec::new();
        for ((j, u), &old) in Self::copies(g, active.dep).into_iter().zip(&active.copies) {
            let mut truth = self.copy_value(g, cond, active.dep, j, u)?;
            if negate {
                truth = self.negate(truth);
            }
            copies.push(self.b.binary(NestBin::And, old, truth));
        }
        Ok(Active { dep: active.dep, copies })
    }

    fn negate(&mut self, truth: Val) -> Val {
        let ty = self.b.ty(truth);
        if ty.is_vector() {
            return self.b.unary(NestUn::Not, truth);
        }
        let one = self.b.iconst(ty, 1);
        self.b.binary(NestBin::Xor, truth, one)
    }

    /// Whether any lane of any copy takes part, as an `i8`.
    fn any_active(&mut self, active: &Active) -> Val {
        let mut some = active.copies[0];
        for &mask in &active.copies[1..] {
            some = self.b.binary(NestBin::Or, some, mask);
        }
        if self.b.ty(some).is_vector() { self.b.any(some) } else { some }
    }

    /// The variables of a loop: for each carried value one per copy, and a second set where a value is the same for all lanes
    /// inside the loop but not after it.
    fn slots(&self, g: &mut Grid, inst: Inst, body: Region, active: Option<Dep>) -> Vec<Slot> {
        let func = self.func;
        let mut slots: Vec<Slot> = Vec::new();
        let mut first = 0;
        let mut add = |slots: &mut Vec<Slot>, g: &Grid, carried, dep, frozen, inside| {
            slots.push(Slot { carried, dep, first, frozen, inside });
            first += Self::copies(g, dep).len();
        };
        for (k, (&param, &result)) in func.regions[body].params.iter().zip(&func.insts[inst].results).enumerate() {
            let dep = self.dep(g, param);
            let after = self.live.uses(result) > 0;
            match active {
                Some(active) if after && dep.or(active) == dep => add(&mut slots, g, k, dep, true, true),
                Some(active) if after => {
                    add(&mut slots, g, k, dep, false, true);
                    add(&mut slots, g, k, dep.or(active), true, false);
                }
                _ => add(&mut slots, g, k, dep, false, true),
            }
        }
        slots
    }

    /// Computes all copies of a loop's results.
    pub fn loop_cells(&mut self, g: &mut Grid, inst: Inst) -> Result<()> {
        let func = self.func;
        let Op::Loop { init, body } = &func.insts[inst].op else {
            return self.unsupported(func.insts[inst].span, "not a loop");
        };
        let body = *body;
        let (params, results, yields) =
            (&func.regions[body].params, &func.insts[inst].results, &func.regions[body].yields);
        self.prepare_captured(g, body)?;
        let (mut same, mut varying) = (Vec::new(), Vec::new());
        self.conjuncts(g, yields[0], &mut same, &mut varying);
        let outer = g.active.clone();
        let condition = self.dep(g, yields[0]);
        let mut active = if varying.is_empty() { None } else { Some(self.active_over(g, condition)) };
        let slots = self.slots(g, inst, body, active.as_ref().map(|a| a.dep));
        let mut variables = Vec::new();
        for slot in &slots {
            for (j, u) in Self::copies(g, slot.dep) {
                let start = self.copy_value(g, init[slot.carried], slot.dep, j, u)?;
                variables.push(start);
            }
        }
        let masks = variables.len();
        variables.extend(active.iter().flat_map(|a| a.copies.iter().copied()));
        let carried = self.b.begin_loop(&variables);
        let mark = g.mark();
        self.open(body);
        if let Some(active) = &mut active {
            active.copies.copy_from_slice(&carried[masks..]);
            g.active = Some(active.clone());
        }
        for slot in slots.iter().filter(|slot| slot.inside) {
            for (k, (j, u)) in Self::copies(g, slot.dep).into_iter().enumerate() {
                self.remember_copy(g, params[slot.carried], j, u, carried[slot.first + k]);
            }
        }
        let mut next = carried.clone();
        let all = Dep { vec: true, jams: u32::MAX };
        for (j, u) in Self::copies(g, all) {
            for slot in &slots {
                let Some(k) = Self::copies(g, slot.dep).iter().position(|copy| *copy == (j, u)) else { continue };
                let place = slot.first + k;
                let old = carried[place];
                let new =
                    match self.increment(g, params[slot.carried], yields[slot.carried + 1]).filter(|_| !slot.inside) {
                        Some(step) => {
                            let step = self.copy_value(g, step, slot.dep, j, u)?;
                            self.b.add(old, step)
                        }
                        None => self.copy_value(g, yields[slot.carried + 1], slot.dep, j, u)?,
                    };
                next[place] = match active.as_ref().filter(|_| slot.frozen) {
                    Some(active) => {
                        let mask = self.active_copy(g, active, j, u);
                        self.select_lanes(mask, new, old)
                    }
                    None => new,
                };
            }
        }
        let mut again = self.b.bool(true);
        for cond in same {
            let holds = self.scalar_of(g, cond, 0, 0)?;
            again = self.b.binary(NestBin::And, again, holds);
        }
        if let Some(mut left) = active {
            for cond in varying {
                left = self.restrict(g, &left, cond, false)?;
            }
            next[masks..].copy_from_slice(&left.copies);
            let some = self.any_active(&left);
            again = self.b.binary(NestBin::And, again, some);
        }
        self.close();
        g.release(mark);
        g.active = outer;
        let last = self.b.end_loop(again, &next);
        // A value's frozen variables come after those that its body sees.
        for slot in &slots {
            for (k, (j, u)) in Self::copies(g, slot.dep).into_iter().enumerate() {
                self.remember_copy(g, results[slot.carried], j, u, last[slot.first + k]);
            }
        }
        Ok(())
    }

    /// Computes all copies of a branch's results, entering a side only if some lane takes it.
    pub fn branch_cells(&mut self, g: &mut Grid, inst: Inst) -> Result<()> {
        let func = self.func;
        let Op::If { cond, then, els } = &func.insts[inst].op else {
            return self.unsupported(func.insts[inst].span, "not a branch");
        };
        let results: Vec<Value> = func.insts[inst].results.clone();
        self.prepare_captured(g, *then)?;
        self.prepare_captured(g, *els)?;
        let varies = self.dep(g, *cond);
        let deps: Vec<Dep> = results.iter().map(|v| self.dep(g, *v)).collect();
        let values = if varies == Dep::default() {
            let cond = self.scalar_of(g, *cond, 0, 0)?;
            let active = g.active.clone();
            self.b.begin_if(cond);
            let x = self.arm(g, *then, &deps, active.clone())?;
            self.b.begin_else(&x);
            let y = self.arm(g, *els, &deps, active)?;
            self.b.end_if(&y)
        } else {
            let active = self.active_over(g, varies);
            let (taken, left) = (self.restrict(g, &active, *cond, false)?, self.restrict(g, &active, *cond, true)?);
            let x = self.guarded_arm(g, *then, &results, &deps, taken)?;
            let y = self.guarded_arm(g, *els, &results, &deps, left)?;
            let mut values = Vec::new();
            for dep in &deps {
                for (j, u) in Self::copies(g, *dep) {
                    let place = values.len();
                    let holds = self.copy_value(g, *cond, varies, j, u)?;
                    values.push(self.select_lanes(holds, x[place], y[place]));
                }
            }
            values
        };
        let mut values = values.into_iter();
        for (&result, dep) in results.iter().zip(&deps) {
            for (j, u) in Self::copies(g, *dep) {
                if let Some(value) = values.next() {
                    self.remember_copy(g, result, j, u, value);
                }
            }
        }
        Ok(())
    }

    /// All copies of what a region yields, result by result.
    fn arm(&mut self, g: &mut Grid, region: Region, deps: &[Dep], active: Option<Active>) -> Result<Vec<Val>> {
        let outer = std::mem::replace(&mut g.active, active);
        let mark = g.mark();
        self.open(region);
        let mut values = Vec::new();
        for (&v, dep) in self.func.regions[region].yields.iter().zip(deps) {
            for (j, u) in Self::copies(g, *dep) {
                values.push(self.copy_value(g, v, *dep, j, u)?);
            }
        }
        self.close();
        g.release(mark);
        g.active = outer;
        Ok(values)
    }

    /// The same, but only if some lane is active; zeros otherwise.
    fn guarded_arm(
        &mut self,
        g: &mut Grid,
        region: Region,
        results: &[Value],
        deps: &[Dep],
        active: Active,
    ) -> Result<Vec<Val>> {
        if self.is_plain(g, region) {
            return self.arm(g, region, deps, Some(active));
        }
        let some = self.any_active(&active);
        self.b.begin_if(some);
        let values = self.arm(g, region, deps, Some(active))?;
        self.b.begin_else(&values);
        let mut zeros = Vec::new();
        for (&v, dep) in results.iter().zip(deps) {
            let elem = self.elem(v);
            let ty = if dep.vec && g.lanes > 1 { g.packed_type(elem) } else { Ty::scalar(crate::facts::prim_of(elem)) };
            for _ in Self::copies(g, *dep) {
                zeros.push(self.b.bits(ty, 0));
            }
        }
        Ok(self.b.end_if(&zeros))
    }
}
