//! Checks that depend on data, made by lanes.
//!
//! A check of an index that was itself loaded or computed from real numbers cannot be decided before a kernel runs (`guards`). The kernel
//! then asks it for all copies of a step at once, with vector comparisons and one branch, in front of everything that might rely on it. Where
//! it fails for any lane, the step computes nothing and leaves a note; behind the kernel that note sends the whole partition, or the
//! chunk of it, through the scalar loops, which report the first index at fault in the order of the program. Bodies are pure, so that what
//! the kernel has written by then is written again. Where the result is built in an operand that cannot be: then steps run in the order of the
//! program, and one whose checks fail goes through the scalar loop on the spot.
//!
//! Checks in a row share a branch, unless the condition of one needs a load, a division or a fold that an earlier one may be there for.

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty, UnOp as NestUn};
use ravel_wir::{Inst, Op, Part, Region, Value, With};

use crate::Result;
use crate::facts::{Grid, Index, Sink, Val};
use crate::kernel::state::LaneChecks;
use crate::lower::Lower;
use crate::lower::emit::Cache;

/// Branches that were opened in front of a step.
pub(crate) struct OpenChecks {
    depth: usize,
    cache: Cache,
}

impl Lower<'_, '_> {
    /// Begins a kernel that makes checks by lanes; returns those of the kernel around it. With `at_once` steps that fail are repeated on
    /// the spot, and not the whole kernel at its end.
    pub fn enter_lane_checks(&mut self, checks: &[Inst], at_once: bool) -> Option<LaneChecks> {
        let mut inner = None;
        if !checks.is_empty() {
            let failed = (!at_once).then(|| {
                let failed = self.b.stack_slot(1, 1);
                let no = self.b.bool(false);
                self.b.store(no, failed, 0, Access::ALIGNED);
                failed
            });
            inner = Some(LaneChecks { checks: checks.iter().copied().collect(), failed });
        }
        std::mem::replace(&mut self.kernel.lane_checks, inner)
    }

    /// Notes that the kernel at work has not done its work; false if nobody would ask at its end.
    pub fn note_failure(&mut self) -> bool {
        let Some(failed) = self.kernel.lane_checks.as_ref().and_then(|checks| checks.failed) else { return false };
        let yes = self.b.bool(true);
        self.b.store(yes, failed, 0, Access::ALIGNED);
        true
    }

    /// Ends a kernel; whether one of its checks failed, if that was noted.
    pub fn leave_lane_checks(&mut self, outer: Option<LaneChecks>) -> Option<Val> {
        let failed = std::mem::replace(&mut self.kernel.lane_checks, outer)?.failed?;
        Some(self.b.load(Ty::I8, failed, 0, Access::ALIGNED))
    }

    /// A step of a kernel: its cells, if what lanes check there holds.
    pub fn kernel_step(&mut self, g: &mut Grid, with: &With, part: &Part, sinks: &[Sink]) -> Result<()> {
        let mark = self.kernel.lane_checks.is_some().then(|| g.mark());
        let at_once = self.kernel.lane_checks.as_ref().is_some_and(|checks| checks.failed.is_none());
        let undone = at_once.then(|| self.b.bool(false));
        let open = self.open_checks(g, part.body)?;
        self.kernel_cells(g, part, sinks)?;
        if let Some(open) = open {
            let done = at_once.then(|| self.b.bool(true));
            let done = self.close_checks(open, done.as_slice(), undone.as_slice());
            if at_once {
                let cache = self.emit.cache.clone();
                self.b.begin_if(done[0]);
                self.b.begin_else(&[]);
                self.step_by_scalars(g, with, part, sinks)?;
                self.b.end_if(&[]);
                self.emit.cache = cache;
            }
        }
        if let Some(mark) = mark {
            g.release(mark);
        }
        Ok(())
    }

    /// The indices of a step along the vector axis, one by one.
    fn step_by_scalars(&mut self, g: &Grid, with: &With, part: &Part, sinks: &[Sink]) -> Result<()> {
        let params = self.func.regions[part.body].params.clone();
        let Some(param) = g.vec else {
            return self.unsupported(ravel_source::Span::NONE, "a step without a vector axis");
        };
        let range = self.bounds(param);
        let low = self.wide(param);
        let count = self.b.i64((g.start_of(g.u - 1) + usize::from(g.lanes)) as i64);
        let (high, one) = (self.b.add(low, count), self.b.i64(1));
        let (i, _) = self.b.begin_for(low, high, one, &[]);
        let outer = self.enter_kernel_loop(i);
        self.open(part.body);
        self.bind_wide(param, i, range);
        self.cell(with, part, sinks, &Index::Known(params), Vec::new())?;
        self.close();
        self.leave_kernel_loop(outer);
        self.b.end_for(&[]);
        Ok(())
    }

    /// Makes the checks of a body for all copies at the indices at hand. What follows, up to [`Lower::close_checks`], runs if they hold.
    pub fn open_checks(&mut self, g: &mut Grid, region: Region) -> Result<Option<OpenChecks>> {
        let func = self.func;
        let Some(checks) = self.kernel.lane_checks.as_ref().map(|lane| lane.checks.clone()) else { return Ok(None) };
        let insts = &func.regions[region].insts;
        if !insts.iter().any(|inst| checks.contains(inst)) {
            return Ok(None);
        }
        let mut open = OpenChecks { depth: 0, cache: self.emit.cache.clone() };
        let mut waiting: Vec<Value> = Vec::new();
        let mut first = 0;
        for (place, inst) in insts.iter().enumerate() {
            let Op::Check { cond, .. } = &func.insts[*inst].op else { continue };
            if !checks.contains(inst) {
                continue;
            }
            if waiting.is_empty() {
                first = place;
            } else if self.relies_on(&insts[first..place], *cond) {
                self.open_branch(g, &std::mem::take(&mut waiting), &mut open)?;
                first = place;
            }
            waiting.push(*cond);
        }
        self.open_branch(g, &waiting, &mut open)?;
        Ok(Some(open))
    }

    /// Ends what [`Lower::open_checks`] began. `inside` is what the code computed where all checks hold, `outside` what stands for it elsewhere.
    pub fn close_checks(&mut self, open: OpenChecks, inside: &[Val], outside: &[Val]) -> Vec<Val> {
        let mut values = inside.to_vec();
        for _ in 0..open.depth {
            self.b.begin_else(&values);
            self.note_failure();
            values = self.b.end_if(outside);
        }
        self.emit.cache = open.cache;
        values
    }

    fn open_branch(&mut self, g: &mut Grid, conds: &[Value], open: &mut OpenChecks) -> Result<()> {
        let holds = self.all_hold(g, conds)?;
        self.b.begin_if(holds);
        open.depth += 1;
        Ok(())
    }

    /// Whether conditions hold for all copies, as an `i8`.
    fn all_hold(&mut self, g: &mut Grid, conds: &[Value]) -> Result<Val> {
        let (mut masks, mut truths): (Option<Val>, Option<Val>) = (None, None);
        for &cond in conds {
            let dep = self.dep(g, cond);
            for j in g.jam_copies(dep) {
                for u in 0..if dep.vec { g.u } else { 1 } {
                    let holds = self.holds(g, cond, j, u)?;
                    let all = if self.b.ty(holds).is_vector() { &mut masks } else { &mut truths };
                    *all = Some(all.map_or(holds, |all| self.b.binary(NestBin::And, all, holds)));
                }
            }
        }
        if let Some(mask) = masks {
            let fails = self.b.unary(NestUn::Not, mask);
            let some = self.b.any(fails);
            let zero = self.b.iconst(Ty::I8, 0);
            let all = self.b.icmp(IntCmp::Eq, some, zero);
            truths = Some(truths.map_or(all, |truth| self.b.binary(NestBin::And, truth, all)));
        }
        Ok(truths.unwrap_or_else(|| self.b.bool(true)))
    }

    /// One copy of a condition: a mask, or an `i8`.
    fn holds(&mut self, g: &mut Grid, cond: Value, j: usize, u: usize) -> Result<Val> {
        let vector = self.is_vector(g, cond);
        if let Some((index, extent)) = self.in_extent(cond) {
            let (index, extent) = if vector {
                (self.packed_of(g, index, j, u)?, self.packed_of(g, extent, j, u)?)
            } else {
                (self.scalar_of(g, index, j, u)?, self.scalar_of(g, extent, j, u)?)
            };
            let below = self.b.icmp(IntCmp::Ult, index, extent);
            return Ok(self.mask_as(below, g.mask_prim()));
        }
        if vector { self.packed_of(g, cond, j, u) } else { self.scalar_of(g, cond, j, u) }
    }
}
