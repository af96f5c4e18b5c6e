//! With-loops on a device: which ones, and the launches that run them.
//!
//! A with-loop whose cells are scalars runs as one launch per partition, a work-item per index. The decision has a part that is
//! made here (the body must be one that devices can run) and one at run time (there must be a device, and enough work). Arrays
//! are asked for by object: the runtime knows where their elements are and moves them when it must.
//!
//! The host's version of the with-loop is always there too. It runs where the device is not worth while, and after a launch
//! that found a fault: cells are pure, so that the host can compute them again and report the fault as it always does.

pub mod borders;
pub mod chain;
pub mod columns;
pub mod fold;
pub mod group;
pub mod lanes;
pub mod place;
pub mod predicated_bounds;
pub mod rows;
pub mod run;
pub mod state;
pub mod tile;
pub mod tile_nest;
pub mod tile_slices;
mod tile_sums;
pub mod transfers;
pub mod variants;

use ravel_nest::ir::{BinOp as NestBin, IntCmp, Ty};
use ravel_types::Elem;
use ravel_wir::{Combine, Frame, Generator, Inst, Op, Part, Region, With, WithOp};

use crate::Result;
use crate::facts::{Ext, Facts, Index, Refusal, Sink, Val};
use crate::lower::Lower;
use crate::lower::emit::{Around, Key};
use crate::plan::device::fold::GROUP;

/// Axes of a grid.
const MOST_AXES: usize = 3;

impl Facts<'_> {
    /// May a with-loop run on a device, a work-item per cell?
    fn check_device_cells(&self, with: &With, sinks: &[Sink]) -> std::result::Result<(), Refusal> {
        self.check_device_results(with, sinks)?;
        if !sinks.iter().all(|s| matches!(s, Sink::Slice { cell: Ext::Const(1), .. })) {
            return Err(Refusal::ArrayCells);
        }
        for part in &with.parts {
            self.check_grid(part)?;
            self.check_device_body(part.body)?;
            // Arrays of one element are no scalars.
            if self.func.regions[part.body].yields.iter().any(|v| !self.func.ty(*v).is_scalar()) {
                return Err(Refusal::ArrayCells);
            }
        }
        Ok(())
    }

    /// Does a with-loop make arrays of its own, of which work-items may do any cell at any time?
    pub fn check_device_results(&self, with: &With, sinks: &[Sink]) -> std::result::Result<(), Refusal> {
        if with.ordered {
            return Err(Refusal::Effects);
        }
        if self.site.sequential > 0 || self.site.in_parfor() {
            return Err(Refusal::InsideAnother);
        }
        if sinks.is_empty() {
            return Err(Refusal::NoResult);
        }
        for sink in sinks {
            match sink {
                Sink::Slice { object: Some(_), elem, .. } if *elem != Elem::Handle => {}
                Sink::Carried { .. } => return Err(Refusal::CarriesFolds),
                Sink::Late { .. } => return Err(Refusal::LateShape),
                Sink::Slice { .. } => return Err(Refusal::PartOfAnother),
            }
        }
        Ok(())
    }

    pub fn check_device_body(&self, region: Region) -> std::result::Result<(), Refusal> {
        self.func.regions[region].insts.iter().try_for_each(|inst| self.check_device_inst(*inst))
    }

    /// Can a work-item do an instruction?
    pub fn check_device_inst(&self, inst: Inst) -> std::result::Result<(), Refusal> {
        let data = &self.func.insts[inst];
        if data.results.iter().any(|v| !self.func.ty(*v).is_scalar() || self.is_object(*v)) {
            return Err(Refusal::BuildsArrays);
        }
        match &data.op {
            Op::Const(_)
            | Op::Un(..)
            | Op::Bin(..)
            | Op::Convert(_)
            | Op::Select { .. }
            | Op::Extent { .. }
            | Op::Check { .. }
            | Op::Opaque(_) => Ok(()),
            Op::Sel { array, .. } if self.func.ty(*array).rank().is_some() => Ok(()),
            Op::Native { symbol, .. } if crate::facts::vector_forms::math_op(symbol).is_some() => Ok(()),
            Op::If { then, els, .. } => self.check_device_body(*then).and_then(|()| self.check_device_body(*els)),
            Op::Loop { body, .. } => self.check_device_body(*body),
            Op::With(with) => {
                let folds = with.ops.iter().all(|op| matches!(op, WithOp::Fold { combine: Combine::Op(_), .. }));
                let known = with.parts.iter().all(|p| matches!(p.generator, Generator::Known { .. }));
                if !folds || !known || with.ordered {
                    return Err(Refusal::InnerNoFold);
                }
                with.parts.iter().try_for_each(|p| self.check_device_body(p.body))
            }
            _ => Err(Refusal::HostOperation),
        }
    }
}

impl Lower<'_, '_> {
    /// Runs a with-loop on the device or on the host; `false` if nothing was emitted because only the host can.
    pub fn try_device(&mut self, inst: Inst, with: &With, sinks: &[Sink]) -> Result<bool> {
        if self.cx.options.device.is_none() || self.site.in_launch || self.device.host_version == Some(inst) {
            return Ok(false);
        }
        let span = self.func.insts[inst].span;
        let rows = self.check_device_rows(with, sinks);
        if let Err(why) = &rows {
            self.cx.decided(inst, format_args!("- a group per cell: {why}\n"));
        }
        let rows = rows.is_ok();
        if let (false, Err(why)) = (rows, self.check_device_cells(with, sinks)) {
            self.cx.remark(span, format!("on the host: {why}"));
            return Ok(false);
        }
        let launch = match self.plan_launch(&[with]) {
            Ok(launch) => launch,
            Err(why) => {
                self.cx.remark(span, format!("on the host: {why}"));
                return Ok(false);
            }
        };
        let wanted = self.worth_launching(&[with], &launch);
        match rows {
            true => {
                self.explain_launch(inst, format!("on the device, a group of {GROUP} work-items per cell"), &launch)
            }
            false => self.explain_launch(inst, "on the device, one work-item per cell".to_string(), &launch),
        }
        let guards = self.device_guards(with);
        let wanted = self.with_guards(wanted, guards.as_deref().unwrap_or_default());
        let cache = self.emit.cache.clone();
        self.b.begin_if(wanted);
        let (checks, outside) = (self.device.launch_checks, self.facts.site.checked_before);
        self.facts.site.checked_before |= guards.is_some();
        // The first launch makes the device's copy the valid one: if that is an operand's, what other partitions read of it must be there.
        let in_place = |sink: &Sink| matches!(sink, Sink::Slice { reused: Some(_), .. });
        if with.parts.len() > 1 && sinks.iter().any(in_place) {
            with.parts.iter().for_each(|part| self.device_reads(part.body));
        }
        let thin = if rows { Vec::new() } else { self.thin_parts(with) };
        for (_, part) in with.parts.iter().enumerate().filter(|(n, _)| !thin.contains(n)) {
            self.launch_part(with, part, sinks, rows)?;
        }
        if !thin.is_empty() {
            self.launch_thin(with, &thin, sinks)?;
        }
        self.facts.site.checked_before = outside;
        let done = if self.device.launch_checks > checks {
            let faulted = self.helper("ravel_device_faulted", &[], Some(Ty::I8)).expect("called with a result type");
            let zero = self.b.iconst(Ty::I8, 0);
            self.b.icmp(IntCmp::Eq, faulted, zero)
        } else {
            self.b.bool(true)
        };
        self.emit.cache = cache.clone();
        let no = {
            self.b.begin_else(&[done]);
            self.b.bool(false)
        };
        let done = self.b.end_if(&[no])[0];
        self.b.begin_if(done);
        self.b.begin_else(&[]);
        self.host_fills(sinks);
        for part in &with.parts {
            self.partition(inst, with, part, (sinks, Around::NOTHING), Vec::new())?;
        }
        self.b.end_if(&[]);
        self.emit.cache = cache;
        for sink in sinks {
            if let Sink::Slice { object: Some(object), .. } = sink {
                self.emit.cache.remove(&Key::Data(*object));
            }
        }
        Ok(true)
    }

    /// Number of indices along each axis of a partition.
    pub fn grid_of(&mut self, part: &Part) -> Vec<Val> {
        let Generator::Known { lower, upper, step, .. } = &part.generator else { return Vec::new() };
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let mut grid = Vec::new();
        for (axis, (l, u)) in lower.iter().zip(upper).enumerate() {
            let (low, high) = (self.wide(*l), self.wide(*u));
            let length = self.b.sub(high, low);
            let mut length = self.b.binary(NestBin::SMax, length, zero);
            if let Some(step) = step
                && self.const_i32(step[axis]) != Some(1)
            {
                let step = self.wide(step[axis]);
                let up = self.b.sub(step, one);
                length = self.b.add(length, up);
                length = self.b.binary(NestBin::SDiv, length, step);
            }
            grid.push(length);
        }
        grid
    }

    /// The results of a with-loop in buffers of the device.
    pub fn device_targets(&mut self, with: &With, sinks: &[Sink]) -> Vec<Sink> {
        let mut targets = Vec::new();
        for (sink, op) in sinks.iter().zip(&with.ops) {
            let Sink::Slice { elem, object: Some(object), strides, cell, .. } = sink else { continue };
            let whole = matches!(op, WithOp::Genarray { frame: Frame::Known(frame), .. } if self.covers(with, frame));
            let call = if whole { "ravel_device_write" } else { "ravel_device_update" };
            let data = self.helper_ptr(call, &[*object]);
            targets.push(Sink::Slice {
                elem: *elem,
                data,
                object: None,
                strides: strides.clone(),
                cell: *cell,
                reused: None,
            });
        }
        targets
    }

    /// One launch: the buffers of what the body reads and of the results, then tiles, or a work-item or a group per index.
    fn launch_part(&mut self, with: &With, part: &Part, sinks: &[Sink], rows: bool) -> Result<()> {
        self.device_reads(part.body);
        let targets = self.device_targets(with, sinks);
        if !rows
            && (self.launch_tiles(with, part, &targets)?
                || self.launch_lanes(with, part, &targets)?
                || self.launch_columns(with, part, &targets)?)
        {
            return Ok(());
        }
        self.launch_cells(with, part, &targets, rows)
    }

    /// A work-item or a group per index, between buffers that are at hand.
    pub fn launch_cells(&mut self, with: &With, part: &Part, targets: &[Sink], rows: bool) -> Result<()> {
        let func = self.func;
        let lengths = self.grid_of(part);
        if lengths.is_empty() {
            return Ok(());
        }
        let (lows, steps, ranges) = self.axes_of(with, part);
        let cache = self.emit.cache.clone();
        let (place, shared) = self.begin_cells(&lengths, rows);
        self.facts.site.sequential += 1;
        self.open(part.body);
        let positions = self.positions_in(&place, &lengths, shared);
        let params = func.regions[part.body].params.clone();
        for (axis, &param) in params.iter().enumerate() {
            let scaled = self.b.mul(positions[axis], steps[axis]);
            let index = self.b.add(scaled, lows[axis]);
            self.bind_wide(param, index, ranges[axis]);
        }
        match place.last() {
            Some(&item) if rows => self.row_cell(part, targets, item)?,
            _ => {
                self.cell_in_scope(with, part, targets, &Index::Known(params), Vec::new())?;
            }
        }
        self.close();
        self.facts.site.sequential -= 1;
        self.end_launch();
        self.emit.cache = cache;
        Ok(())
    }

    /// First index, step and bounds of the indices of each axis of a partition.
    pub fn axes_of(&mut self, with: &With, part: &Part) -> (Vec<Val>, Vec<Val>, Vec<(i64, i64)>) {
        let Generator::Known { lower, upper, step, .. } = &part.generator else { return Default::default() };
        let lows = lower.iter().map(|v| self.wide(*v)).collect();
        let one = self.b.i64(1);
        let steps = (0..lower.len()).map(|axis| step.as_ref().map_or(one, |s| self.wide(s[axis]))).collect();
        let ranges = lower.iter().zip(upper).map(|(l, u)| self.axis_range(with, *l, *u)).collect();
        (lows, steps, ranges)
    }

    /// Opens a launch of work-items, or with `rows` of groups, for all positions along some axes; where that is in the grid, and how many of the
    /// outermost axes share one of the grid, which has fewer.
    pub fn begin_cells(&mut self, lengths: &[Val], rows: bool) -> (Vec<Val>, usize) {
        let shared = if rows { lengths.len() } else { lengths.len().saturating_sub(MOST_AXES - 1).max(1) };
        let outer = lengths[..shared].iter().skip(1).fold(lengths[0], |n, e| self.b.mul(n, *e));
        let grid: Vec<Val> = [outer].into_iter().chain(lengths[shared..].iter().copied()).collect();
        (if rows { self.begin_groups(&grid, &[GROUP]) } else { self.begin_groups(&grid, &[]) }, shared)
    }

    /// The positions along the axes at a place of the grid.
    pub fn positions_in(&mut self, place: &[Val], lengths: &[Val], shared: usize) -> Vec<Val> {
        let mut positions = vec![place[0]; shared];
        let mut rest = place[0];
        for axis in (1..shared).rev() {
            positions[axis] = self.b.binary(NestBin::SRem, rest, lengths[axis]);
            rest = self.b.binary(NestBin::SDiv, rest, lengths[axis]);
        }
        positions[0] = rest;
        positions.extend(&place[1..=lengths.len() - shared]);
        positions
    }

    /// The buffers of all arrays that a body reads; its code then finds them where it looks for their elements.
    pub fn device_reads(&mut self, body: Region) {
        for v in self.captured_arrays(body) {
            let object = self.val(v);
            self.extents(v);
            let buffer = self.helper_ptr("ravel_device_read", &[object]);
            self.emit.cache.insert(Key::Data(object), buffer);
        }
    }
}
