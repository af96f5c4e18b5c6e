//! Group pipelines: a with-loop whose bodies make small arrays as one launch, a group of work-items for each outer index.
//!
//! With-loops inside the body spread their cells over the work-items of the group and end at a barrier (`group_body`); their arrays are in
//! memory that the group shares (`group_memory`). Scalars are computed by all work-items alike. What an outer genarray collects goes to its slice
//! of the result; what an outer fold combines goes to one partial result per group, and a second launch combines those in the order of
//! the groups (`group_combine`), so that results do not depend on the device's schedule.
//!
//! Checks in the body are made before the launch, for all indices at once (`guards`); where they fail the host's version runs and reports
//! the index at fault.

pub mod bank_padding;
pub mod blocks;
pub mod body;
pub mod combine;
pub mod memory;
pub mod split_reduction;

use std::collections::BTreeSet;

use ravel_nest::ir::{BinOp as NestBin, IntCmp, Ty};
use ravel_source::Span;
use ravel_types::Elem;
use ravel_wir::{Combine, Frame, Generator, Inst, Op, Part, Region, Value, With, WithOp};

use crate::Result;
use crate::device::group::combine::Partial;
use crate::device::group::memory::{Plan, Planner};
use crate::device::run::Run;
use crate::device::state::Padded;
use crate::facts::{Ext, Facts, Guard, Refusal, Val};
use crate::lower::Lower;
use crate::lower::emit::Key;

/// Work-items of the smallest group.
const LEAST_ITEMS: i64 = 32;
/// Work-items of the largest group: enough to hide the latency of memory, few enough for a hundred registers each.
const MOST_ITEMS: i64 = 512;

/// Where the cells of one operator of the outer with-loop go.
pub(crate) struct Target {
    pub elem: Elem,
    /// Address of the cell of the group at hand.
    pub data: Val,
    /// Elements per cell.
    pub count: i64,
}

/// What is decided of a group pipeline before anything is emitted.
pub(crate) struct Pipeline {
    pub plan: Plan,
    pub guards: Vec<Guard>,
    pub items: i64,
    /// Arrays with gaps.
    padded: Padded,
}

/// The operators' results under construction.
pub(crate) enum Outcome {
    /// An array with a cell per group.
    Collected { object: Val, buffer: Val, elem: Elem, strides: Vec<Ext>, count: i64 },
    /// Partial results to be combined.
    Folded(Partial),
}

impl Facts<'_> {
    pub fn makes_arrays(&self, region: Region) -> bool {
        self.func.regions[region].insts.iter().any(|inst| {
            let data = &self.func.insts[*inst];
            data.results.iter().any(|v| !self.func.ty(*v).is_scalar())
                || data.op.regions().into_iter().any(|r| self.makes_arrays(r))
        })
    }

    /// Elements of a value of constant shape.
    pub fn constant_count(&self, v: Value) -> Option<i64> {
        let extents = self.func.ty(v).shape.constants()?;
        extents.iter().try_fold(1i64, |n, e| n.checked_mul(i64::from(*e)))
    }

    fn planned(&self, with: &With, padded: Padded) -> std::result::Result<Pipeline, Refusal> {
        let func = self.func;
        let mut planner = Planner::default();
        planner.padded = padded;
        for part in &with.parts {
            let Generator::Known { lower, width: None, .. } = &part.generator else {
                return Err(Refusal::WidthsOrRank);
            };
            if lower.is_empty() {
                return Err(Refusal::SingleCell);
            }
            let direct = self.direct_yields(part);
            self.plan_region(part.body, &direct, &mut planner)?;
            for &v in &func.regions[part.body].yields {
                if self.constant_count(v).is_none() {
                    return Err(Refusal::VaryingCells);
                }
            }
            planner.end_part();
        }
        let guards = std::mem::take(&mut planner.guards);
        let items = (planner.widest.clamp(LEAST_ITEMS, MOST_ITEMS) as u64).next_power_of_two() as i64;
        let padded = std::mem::take(&mut planner.padded);
        Ok(Pipeline { plan: planner.finish(), guards, items, padded })
    }

    /// The yields of a partition that a with-loop of the body can write to their place in the result.
    pub fn direct_yields(&self, part: &Part) -> BTreeSet<Value> {
        let data = &self.func.regions[part.body];
        let yielded_once = |v: &&Value| data.yields.iter().filter(|w| w == v).count() == 1;
        let made_here = |v: &&Value| {
            self.live
                .def(**v)
                .is_some_and(|inst| data.insts.contains(&inst) && matches!(self.func.insts[inst].op, Op::With(_)))
        };
        data.yields
            .iter()
            .filter(|v| !self.func.ty(**v).is_scalar())
            .filter(yielded_once)
            .filter(made_here)
            .copied()
            .collect()
    }
}

impl Lower<'_, '_> {
    /// Runs a with-loop whose bodies make arrays on groups of work-items, if there is a device and this pays at run time; `false` if nothing
    /// was emitted because only the host can.
    pub fn try_groups(&mut self, inst: Inst, with: &With) -> Result<bool> {
        if self.cx.options.device.is_none()
            || self.site.in_launch
            || self.site.in_parfor()
            || self.facts.site.sequential > 0
            || with.ordered
        {
            return Ok(false);
        }
        if !with.parts.iter().any(|part| self.makes_arrays(part.body)) {
            return Ok(false);
        }
        let span = self.func.insts[inst].span;
        let pipeline = match self.group_pipeline(inst, with) {
            Ok(pipeline) => pipeline,
            Err(why) => {
                self.cx.remark(span, format!("no groups of work-items: {why}"));
                return Ok(false);
            }
        };
        let Some(wanted) = self.worth_launching(with) else {
            self.explain_too_little(span);
            return Ok(false);
        };
        let holds = self.guard_condition(&pipeline.guards);
        let wanted = self.b.binary(NestBin::And, wanted, holds);
        self.explain_launch(
            inst,
            format!("on the device, a group of {} work-items per index; {}", pipeline.items, pipeline.plan.describe()),
        );
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
        let values = self.launch_groups(inst, with, &pipeline)?;
        // What the host's version used up, such as an operand that it built the result in, is used up here too.
        self.drop_beyond(&after);
        let joined = self.b.end_if(&values);
        self.emit.cache = before.cache;
        for (&result, value) in results.iter().zip(joined) {
            self.bind(result, value);
        }
        let func = self.func;
        self.device.on_device.extend(results.iter().copied().filter(|v| !func.ty(*v).is_scalar()));
        Ok(true)
    }

    /// What positions have that a with-loop does not cover.
    pub fn default_element(&mut self, elem: Elem, default: Option<Value>) -> Val {
        match default {
            Some(v) => self.val(v),
            None => self.zero_element(elem),
        }
    }

    pub fn group_pipeline(&mut self, inst: Inst, with: &With) -> std::result::Result<Pipeline, Refusal> {
        let func = self.func;
        for (k, (op, &result)) in with.ops.iter().zip(&func.insts[inst].results).enumerate() {
            if self.facts.dests.contains_key(&result) || func.ty(result).elem == Elem::Handle {
                return Err(Refusal::PartOfAnother);
            }
            match op {
                WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), default } => {
                    let filled = default.is_some_and(|v| !func.ty(v).is_scalar()) && !self.covers(with, frame);
                    if !cell.iter().all(|v| self.const_i32(*v).is_some()) || filled || frame.is_empty() {
                        return Err(Refusal::VaryingCells);
                    }
                }
                WithOp::Fold { neutral, combine, .. } => {
                    let scalar = func.ty(result).is_scalar() && func.ty(*neutral).is_scalar();
                    let function = matches!(combine, Combine::Region(_));
                    let alike =
                        with.parts.iter().all(|part| func.ty(func.regions[part.body].yields[k]).is_scalar() == scalar);
                    if with.parts.len() != 1
                        || !alike
                        || self.constant_count(result).is_none()
                        || self.constant_count(*neutral).is_none()
                        || (function && !scalar)
                    {
                        return Err(Refusal::GroupFold);
                    }
                    if let Combine::Region(region) = combine {
                        self.check_cell(*region, &mut Vec::new())?;
                    }
                }
                _ => return Err(Refusal::GroupOperator),
            }
        }
        self.facts.set_ranges(with);
        let mut padded = Padded::default();
        with.parts.iter().for_each(|part| self.padded_of(part.body, &mut padded));
        let pipeline = self.planned(with, padded)?;
        // Gaps must not drive arrays out of the memory that the group shares.
        if pipeline.plan.slots.iter().any(|slot| slot.in_buffer) {
            self.planned(with, Padded::default())
        } else {
            Ok(pipeline)
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
        let Generator::Known { lower, upper, step, .. } = &part.generator else { return Ok(()) };
        let lengths = self.grid_of(part);
        let lows: Vec<Val> = lower.iter().map(|v| self.wide(*v)).collect();
        let one = self.b.i64(1);
        let steps: Vec<Val> = (0..lower.len()).map(|axis| step.as_ref().map_or(one, |s| self.wide(s[axis]))).collect();
        let ranges: Vec<(i64, i64)> = lower.iter().zip(upper).map(|(l, u)| self.axis_range(with, *l, *u)).collect();
        let cache = self.emit.cache.clone();
        self.read_on_device(part.body);
        let scratch = self.group_scratch(&pipeline.plan, groups);
        let place = self.begin_groups(&[groups], &[pipeline.items as u32]);
        self.device.padded = pipeline.padded.clone();
        self.facts.site.sequential += 1;
        let outside = std::mem::replace(&mut self.kernel.in_kernel_loop, true);
        self.facts.site.checked_before = true;
        self.open(part.body);
        let mut positions = vec![place[0]; lengths.len()];
        let mut rest = place[0];
        for axis in (1..lengths.len()).rev() {
            positions[axis] = self.b.binary(NestBin::SRem, rest, lengths[axis]);
            rest = self.b.binary(NestBin::SDiv, rest, lengths[axis]);
        }
        positions[0] = rest;
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

    /// Asks for the buffers of the arrays that a body captures.
    pub fn read_on_device(&mut self, body: Region) {
        let captured = self.live.free(body).to_vec();
        for v in captured {
            let ty = self.func.ty(v);
            if ty.is_scalar() || ty.rank().is_none() || !self.has_val(v) {
                continue;
            }
            let object = self.val(v);
            self.extents(v);
            self.read_object(object);
        }
    }

    /// Asks for the buffer of an array that kernels read.
    pub fn read_object(&mut self, object: Val) -> Val {
        let buffer = self.helper_ptr("ravel_device_read", &[object]);
        self.emit.cache.insert(Key::Data(object), buffer);
        buffer
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
