//! Group pipelines: a with-loop whose bodies make small arrays as one launch, a group of work-items for each outer index.
//!
//! With-loops inside the body spread their cells over the work-items of the group and end at a barrier (`body`); their arrays are in
//! memory that the group shares (`plan/device/group_memory`). Scalars are computed by all work-items alike. What an outer genarray collects goes to its slice
//! of the result; what an outer fold combines goes to one partial result per group, and a second launch combines those in the order of
//! the groups (`combine`), so that results do not depend on the device's schedule.
//!
//! Checks in the body are made before the launch, for all indices at once (`guards`); where they fail the host's version runs and reports
//! the index at fault.

pub mod blocks;
pub mod body;
pub mod combine;
pub mod split_reduction;

use ravel_nest::ir::{BinOp as NestBin, IntCmp, Ty};
use ravel_source::Span;
use ravel_types::Elem;
use ravel_wir::{Frame, Inst, Part, Value, With, WithOp};

use crate::Result;
use crate::device::group::combine::Partial;
use crate::facts::{Ext, Val};
use crate::lower::Lower;
use crate::plan::device::group_memory::Plan;
use crate::plan::device::groups::{GroupPlan, Pipeline};
use crate::plan::device::run::Run;

/// Where the cells of one operator of the outer with-loop go.
pub(crate) struct Target {
    pub elem: Elem,
    /// Address of the cell of the group at hand.
    pub data: Val,
    /// Elements per cell.
    pub count: i64,
}

/// The operators' results under construction.
pub(crate) enum Outcome {
    /// An array with a cell per group.
    Collected { object: Val, buffer: Val, elem: Elem, strides: Vec<Ext>, count: i64 },
    /// Partial results to be combined.
    Folded(Partial),
}

impl Lower<'_, '_> {
    /// Runs a with-loop whose bodies make arrays on groups of work-items, if there is a device and this pays at run time.
    pub fn groups(&mut self, inst: Inst, with: &With, plan: &GroupPlan) -> Result<()> {
        let GroupPlan { pipeline, launch } = plan;
        let wanted = self.worth_launching(&[with], launch);
        let holds = self.guard_condition(&pipeline.guards);
        let wanted = self.b.binary(NestBin::And, wanted, holds);
        self.explain_launch(inst, format!("on the device, {}", pipeline.describe()), launch);
        let results = self.func.insts[inst].results.clone();
        let zero = self.b.iconst(Ty::I8, 0);
        let on_host = self.b.icmp(IntCmp::Eq, wanted, zero);
        let before = self.snapshot();
        self.b.begin_if(on_host);
        let outer = self.device.host_version.replace(inst);
        self.with_loop_on_host(inst, with)?;
        self.device.host_version = outer;
        let values: Vec<Val> = results.iter().map(|v| self.val(*v)).collect();
        let after = self.snapshot();
        self.restore(before.clone());
        self.b.begin_else(&values);
        let values = self.launch_groups(inst, with, pipeline)?;
        // What the host's version used up, such as an operand that it built the result in, is used up here too.
        self.drop_beyond(&after);
        let joined = self.b.end_if(&values);
        self.emit.cache = before.cache;
        for (&result, value) in results.iter().zip(joined) {
            self.bind(result, value);
        }
        let func = self.func;
        self.facts.references.on_device.extend(results.iter().copied().filter(|v| !func.ty(*v).is_scalar()));
        Ok(())
    }

    /// What positions have that a with-loop does not cover.
    pub fn default_element(&mut self, elem: Elem, default: Option<Value>) -> Val {
        match default {
            Some(v) => self.val(v),
            None => self.zero_element(elem),
        }
    }

    /// The launches of all partitions, and of what combines partial results; the results.
    fn launch_groups(&mut self, inst: Inst, with: &With, pipeline: &Pipeline) -> Result<Vec<Val>> {
        let outcomes = self.start_groups(inst, with, pipeline, None)?;
        let partials: Vec<&Partial> =
            outcomes.iter().filter_map(|o| if let Outcome::Folded(p) = o { Some(p) } else { None }).collect();
        if !partials.is_empty() {
            self.combine_partials_on_device(&partials)?;
        }
        Ok(outcomes.into_iter().filter_map(|outcome| self.close_outcome(outcome)).collect())
    }

    /// The result of an operator; nothing for a fold that is not stored.
    pub fn close_outcome(&mut self, outcome: Outcome) -> Option<Val> {
        match outcome {
            Outcome::Collected { object, .. } => Some(object),
            Outcome::Folded(partial) => self.close_partial(partial),
        }
    }

    /// The launches of all partitions. In a run, neutral elements may be those that its chains compute, and not all results are stored.
    pub fn start_groups(
        &mut self,
        inst: Inst,
        with: &With,
        pipeline: &Pipeline,
        run: Option<&Run>,
    ) -> Result<Vec<Outcome>> {
        let func = self.func;
        let span = func.insts[inst].span;
        let results = func.insts[inst].results.clone();
        let mut outcomes = Vec::new();
        let one = self.b.i64(1);
        let total = |lower: &mut Self, part: &Part| {
            let lengths = lower.grid_of(part);
            lengths.iter().fold(one, |n, e| lower.b.mul(n, *e))
        };
        for (op, &result) in with.ops.iter().zip(&results) {
            let elem = self.elem(result);
            outcomes.push(match op {
                WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), default } => {
                    let frame_extents: Vec<Ext> = frame.iter().map(|v| self.scalar_extent(*v)).collect();
                    let cell: Vec<Ext> = cell.iter().map(|v| self.scalar_extent(*v)).collect();
                    let extents: Vec<Ext> = frame_extents.iter().chain(&cell).copied().collect();
                    let object = self.allocate(elem, &extents, span);
                    let cell = self.product(&cell);
                    let covered = self.covers(with, frame);
                    if !covered {
                        let data = self.target_of(object);
                        let count = self.product(&extents);
                        let value = self.default_element(elem, *default);
                        self.host_writes(object);
                        self.fill(elem, data, count, value);
                    }
                    let call = if covered { "ravel_device_write" } else { "ravel_device_update" };
                    let buffer = self.helper_ptr(call, &[object]);
                    let Ext::Const(count) = cell else {
                        return self.unsupported(span, "cells without a constant shape");
                    };
                    Outcome::Collected { object, buffer, elem, strides: self.strides_of(&frame_extents, cell), count }
                }
                WithOp::Fold { neutral, combine, .. } => {
                    let groups = total(self, &with.parts[0]);
                    let held = run.is_some_and(|run| self.starts_held(run, *neutral));
                    let stored = run.is_none_or(|run| self.is_stored(run, result));
                    Outcome::Folded(self.open_partial(result, *neutral, combine, groups, span, held, stored))
                }
                _ => return self.unsupported(span, "an operator in groups"),
            });
        }
        for part in &with.parts {
            let groups = total(self, part);
            self.launch_group_part(with, part, pipeline, &outcomes, groups)?;
        }
        Ok(outcomes)
    }

    fn launch_group_part(
        &mut self,
        with: &With,
        part: &Part,
        pipeline: &Pipeline,
        outcomes: &[Outcome],
        groups: Val,
    ) -> Result<()> {
        let func = self.func;
        let lengths = self.grid_of(part);
        if lengths.is_empty() {
            return Ok(());
        }
        let (lows, steps, ranges) = self.axes_of(with, part);
        let cache = self.emit.cache.clone();
        self.device_reads(part.body);
        let scratch = self.group_scratch(&pipeline.plan, groups);
        let place = self.begin_groups(&[groups], &[pipeline.items as u32]);
        self.device.padded = pipeline.padded.clone();
        self.facts.site.sequential += 1;
        let outside = std::mem::replace(&mut self.kernel.in_kernel_loop, true);
        self.facts.site.checked_before = true;
        self.open(part.body);
        let positions = self.positions_in(&place, &lengths, lengths.len());
        for (axis, &param) in func.regions[part.body].params.iter().enumerate() {
            let scaled = self.b.mul(positions[axis], steps[axis]);
            let index = self.b.add(scaled, lows[axis]);
            self.bind_wide(param, index, ranges[axis]);
        }
        let mut targets = Vec::new();
        for outcome in outcomes {
            targets.push(match outcome {
                Outcome::Collected { buffer, elem, strides, count, .. } => {
                    let offset = self.slice_offset(part, *elem, strides);
                    let address = self.address(*buffer, &offset);
                    Target { elem: *elem, data: self.pointer(address), count: *count }
                }
                Outcome::Folded(partial) => {
                    let bytes = self.times(place[0], partial.count * partial.elem.bytes() as i64);
                    Target { elem: partial.elem, data: self.b.ptr_add(partial.buffer, bytes), count: partial.count }
                }
            });
        }
        let direct = self.direct_yields(part);
        self.group_body(part, &pipeline.plan, (place[0], place[1]), pipeline.items, &scratch, &targets, &direct)?;
        self.close();
        self.device.padded.clear();
        self.facts.site.checked_before = false;
        self.kernel.in_kernel_loop = outside;
        self.facts.site.sequential -= 1;
        self.end_launch();
        self.emit.cache = cache;
        for (object, _) in scratch.into_iter().flatten() {
            self.b.rc_dec(object);
        }
        Ok(())
    }

    /// Device memory for the arrays that do not fit the memory of a group: object and buffer.
    fn group_scratch(&mut self, plan: &Plan, groups: Val) -> Vec<Option<(Val, Val)>> {
        let mut scratch = Vec::new();
        for slot in &plan.slots {
            scratch.push(slot.in_buffer.then(|| {
                let object = self.allocate(slot.elem, &[Ext::Val(groups), Ext::Const(slot.count)], Span::NONE);
                let buffer = self.helper_ptr("ravel_device_write", &[object]);
                (object, buffer)
            }));
        }
        scratch
    }
}
