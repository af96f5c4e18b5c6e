//! Which arrays a group pipeline makes, and where: memory that the group shares as long as it lasts, device memory beyond.
//!
//! Instructions are numbered in program order; an array lives from the one that makes it to the last that reads it, or to the end of a
//! loop around that one which began after the array was made. Arrays of one element type whose lives do not meet share a place.

use std::collections::BTreeSet;

use ravel_types::{Elem, HashMap};
use ravel_wir::{Combine, Frame, Generator, Inst, Op, Region, Value, With, WithOp};

use crate::facts::{Facts, Guard, Refusal};
use crate::plan::device::bank_padding::{Padded, padded_count};

/// Bytes of local memory that every device of interest has for a group.
const LOCAL_BYTES: i64 = 48 << 10;
/// Those of them that are for partial results between two barriers ([`crate::device::group::split_reduction`]).
pub(crate) const SPLIT_BYTES: i64 = 6 << 10;

/// Memory of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub elem: Elem,
    /// Elements.
    pub count: i64,
    /// In device memory, a slice per group.
    pub in_buffer: bool,
}

/// Where arrays are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub slots: Vec<Slot>,
    /// The slot of each array that has memory of its own.
    pub place: HashMap<Value, usize>,
}

impl Plan {
    /// For `--explain`.
    pub fn describe(&self) -> String {
        let bytes = |in_buffer: bool| {
            self.slots.iter().filter(|s| s.in_buffer == in_buffer).map(|s| s.count * s.elem.bytes() as i64).sum::<i64>()
        };
        let mut text = format!("{} bytes of local memory", bytes(false));
        if bytes(true) > 0 {
            text.push_str(&format!(", {} bytes of device memory per group", bytes(true)));
        }
        text
    }
}

/// An array and the instructions between which it is needed.
#[derive(Clone, Debug)]
struct Life {
    v: Value,
    elem: Elem,
    count: i64,
    from: usize,
    to: usize,
}

/// A plan in the making.
#[derive(Default)]
pub(crate) struct Planner {
    clock: usize,
    lives: Vec<Life>,
    /// The array that a value is another name of, and its position among `lives`.
    names: HashMap<Value, usize>,
    /// Loops around: the time at which they began, and the arrays that last until they end.
    loops: Vec<(usize, Vec<usize>)>,
    pub guards: Vec<Guard>,
    /// Arrays with gaps.
    pub padded: Padded,
    /// The most cells that a with-loop of a body has.
    pub widest: i64,
}

impl Planner {
    fn make(&mut self, v: Value, elem: Elem, count: i64) {
        self.names.insert(v, self.lives.len());
        self.lives.push(Life { v, elem, count, from: self.clock, to: self.clock });
    }

    fn touch(&mut self, v: Value) {
        let Some(&life) = self.names.get(&v) else { return };
        self.lives[life].to = self.clock;
        let from = self.lives[life].from;
        if let Some((_, kept)) = self.loops.iter_mut().find(|(start, _)| *start > from) {
            kept.push(life);
        }
    }

    /// `v` is another name for an array.
    fn rename(&mut self, v: Value, of: Value) {
        self.touch(of);
        if let Some(&life) = self.names.get(&of) {
            self.names.insert(v, life);
        }
    }

    /// A partition is over: its arrays are not needed any more.
    pub fn end_part(&mut self) {
        self.clock += 1;
    }

    /// Assigns places.
    pub fn finish(mut self) -> Plan {
        let mut plan = Plan::default();
        // (slot, busy until)
        let mut busy: Vec<usize> = Vec::new();
        self.lives.sort_by_key(|life| life.from);
        for life in &self.lives {
            let free = |k: &usize| plan.slots[*k].elem == life.elem && busy[*k] < life.from;
            let best = (0..plan.slots.len()).filter(free).min_by_key(|k| (plan.slots[*k].count - life.count).abs());
            let slot = match best {
                Some(slot) => slot,
                None => {
                    plan.slots.push(Slot { elem: life.elem, count: 0, in_buffer: false });
                    busy.push(0);
                    plan.slots.len() - 1
                }
            };
            plan.slots[slot].count = plan.slots[slot].count.max(life.count);
            busy[slot] = life.to;
            plan.place.insert(life.v, slot);
        }
        // The largest go to device memory until the rest fits.
        let bytes = |slot: &Slot| slot.count * slot.elem.bytes() as i64;
        while plan.slots.iter().filter(|s| !s.in_buffer).map(bytes).sum::<i64>() > LOCAL_BYTES - SPLIT_BYTES {
            let Some(largest) = plan.slots.iter_mut().filter(|s| !s.in_buffer).max_by_key(|s| bytes(s)) else { break };
            largest.in_buffer = true;
        }
        plan
    }
}

impl Facts<'_> {
    /// Elements of memory that an array of the body needs.
    pub fn group_count(&self, v: Value, padded: &Padded) -> i64 {
        match (padded.get(&v), self.func.ty(v).shape.constants()) {
            (Some(strides), Some(extents)) => {
                padded_count(&extents.into_iter().map(i64::from).collect::<Vec<i64>>(), strides)
            }
            _ => self.constant_count(v).unwrap_or(0),
        }
    }

    /// Plans the arrays of a region that all work-items of a group run together.
    pub fn plan_region(&self, region: Region, direct: &BTreeSet<Value>, p: &mut Planner) -> Result<(), Refusal> {
        for &inst in &self.func.regions[region].insts {
            p.clock += 1;
            self.plan_inst(inst, direct, p)?;
        }
        p.clock += 1;
        for &v in &self.func.regions[region].yields {
            p.touch(v);
        }
        Ok(())
    }

    fn plan_inst(&self, inst: Inst, direct: &BTreeSet<Value>, p: &mut Planner) -> Result<(), Refusal> {
        let func = self.func;
        let data = &func.insts[inst];
        data.op.for_each_operand(|v| p.touch(v));
        for region in data.op.regions() {
            self.live.free(region).iter().for_each(|v| p.touch(*v));
        }
        let arrays = data.results.iter().any(|v| !func.ty(*v).is_scalar());
        if data.results.iter().any(|v| {
            func.ty(*v).elem == Elem::Handle || (!func.ty(*v).is_scalar() && self.constant_count(*v).is_none())
        }) {
            return Err(Refusal::VaryingArrays);
        }
        if let Op::Check { cond, .. } = &data.op {
            return match self.options.unchecked || self.guards_of(*cond, &mut p.guards, 8) {
                true => Ok(()),
                false => Err(Refusal::GroupChecks),
            };
        }
        if !arrays && !data.op.regions().into_iter().any(|r| self.makes_arrays(r)) {
            return self.check_cell_inst(inst, &mut p.guards);
        }
        match &data.op {
            Op::With(with) => {
                self.plan_with(with, p)?;
                for &v in data.results.iter().filter(|v| !direct.contains(v)) {
                    let count = self.group_count(v, &p.padded);
                    p.make(v, func.ty(v).elem, count);
                }
            }
            Op::Reshape { array, .. } | Op::Sel { array, .. } | Op::Opaque(array) if !func.ty(*array).is_scalar() => {
                p.rename(data.results[0], *array)
            }
            Op::Array(cells) if cells.iter().all(|c| func.ty(*c).is_scalar()) => self.plan_results(inst, p),
            Op::Update { value, .. } if func.ty(*value).is_scalar() => self.plan_results(inst, p),
            Op::If { then, els, .. } => {
                self.plan_results(inst, p);
                self.plan_region(*then, &BTreeSet::new(), p)?;
                self.plan_region(*els, &BTreeSet::new(), p)?;
                data.results.iter().for_each(|v| p.touch(*v));
            }
            Op::Loop { body, .. } => {
                let params = &func.regions[*body].params;
                for (&v, &result) in params.iter().zip(&data.results) {
                    if !func.ty(v).is_scalar() {
                        let Some(count) = self.constant_count(v) else {
                            return Err(Refusal::VaryingArrays);
                        };
                        if self.constant_count(result) != Some(count) {
                            return Err(Refusal::VaryingArrays);
                        }
                        p.make(v, func.ty(v).elem, count);
                        p.rename(result, v);
                    }
                }
                p.clock += 1;
                p.loops.push((p.clock, Vec::new()));
                self.plan_region(*body, &BTreeSet::new(), p)?;
                // Carried arrays that change places would have to be copied at once.
                for (v, param) in func.regions[*body].yields.iter().skip(1).zip(params) {
                    let carried = |life: &usize| params.iter().any(|w| p.names.get(w) == Some(life));
                    if v != param && p.names.get(v).is_some_and(carried) {
                        return Err(Refusal::CarriedMoves);
                    }
                }
                params.iter().for_each(|v| p.touch(*v));
                if let Some((_, kept)) = p.loops.pop() {
                    kept.into_iter().for_each(|life| p.lives[life].to = p.clock);
                }
                params.iter().for_each(|v| p.touch(*v));
            }
            _ => return Err(Refusal::GroupArrays),
        }
        Ok(())
    }

    fn plan_results(&self, inst: Inst, p: &mut Planner) {
        for &v in &self.func.insts[inst].results {
            if !self.func.ty(v).is_scalar() {
                p.make(v, self.func.ty(v).elem, self.constant_count(v).unwrap_or(0));
            }
        }
    }

    /// A with-loop that makes arrays of scalars.
    fn plan_with(&self, with: &With, p: &mut Planner) -> Result<(), Refusal> {
        if with.ordered {
            return Err(Refusal::Effects);
        }
        for op in &with.ops {
            match op {
                WithOp::Genarray { frame: Frame::Known(_), cell: Some(cell), default }
                    if cell.is_empty() && default.is_none_or(|v| self.func.ty(v).is_scalar()) => {}
                WithOp::Modarray { .. } => {}
                _ => return Err(Refusal::InnerArrayCells),
            }
        }
        for part in &with.parts {
            if !matches!(&part.generator, Generator::Known { width: None, .. }) {
                return Err(Refusal::InnerWidthsOrRank);
            }
            if self.func.regions[part.body].yields.iter().any(|v| !self.func.ty(*v).is_scalar()) {
                return Err(Refusal::InnerArrayCells);
            }
            self.check_cell(part.body, &mut p.guards)?;
            p.widest = p.widest.max(self.const_count(part).unwrap_or(1));
        }
        Ok(())
    }

    /// Can a work-item run a region by itself?
    pub fn check_cell(&self, region: Region, guards: &mut Vec<Guard>) -> Result<(), Refusal> {
        self.func.regions[region].insts.iter().try_for_each(|inst| self.check_cell_inst(*inst, guards))
    }

    fn check_cell_inst(&self, inst: Inst, guards: &mut Vec<Guard>) -> Result<(), Refusal> {
        let data = &self.func.insts[inst];
        if data.results.iter().any(|v| !self.func.ty(*v).is_scalar() || self.is_object(*v)) {
            return Err(Refusal::InnerArrays);
        }
        match &data.op {
            Op::Const(_) | Op::Un(..) | Op::Bin(..) | Op::Convert(_) | Op::Select { .. } | Op::Opaque(_) => Ok(()),
            Op::Extent { .. } => Ok(()),
            Op::Check { .. } if self.options.unchecked => Ok(()),
            Op::Check { cond, .. } => self.guards_of(*cond, guards, 8).then_some(()).ok_or(Refusal::GroupChecks),
            Op::Sel { array, .. } if self.func.ty(*array).rank().is_some() => Ok(()),
            Op::Native { symbol, .. } if crate::facts::vector_forms::math_op(symbol).is_some() => Ok(()),
            Op::If { then, els, .. } => self.check_cell(*then, guards).and_then(|()| self.check_cell(*els, guards)),
            Op::Loop { body, .. } => self.check_cell(*body, guards),
            Op::With(with) => {
                let folds = with.ops.iter().all(|op| matches!(op, WithOp::Fold { .. }));
                let known = with.parts.iter().all(|p| matches!(p.generator, Generator::Known { .. }));
                if !folds || !known || with.ordered {
                    return Err(Refusal::InnerNoFold);
                }
                for op in &with.ops {
                    if let WithOp::Fold { combine: Combine::Region(region), .. } = op {
                        self.check_cell(*region, guards)?;
                    }
                }
                with.parts.iter().try_for_each(|p| self.check_cell(p.body, guards))
            }
            _ => Err(Refusal::HostOperation),
        }
    }
}
