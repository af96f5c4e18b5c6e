//! Which with-loops run as groups of work-items, and with what memory ([`crate::device::group`]).

use std::collections::BTreeSet;

use ravel_types::Elem;
use ravel_wir::{Combine, Frame, Inst, Op, Part, Region, Value, With, WithOp};

use crate::facts::{Facts, Guard, Refusal};
use crate::plan::device::bank_padding::Padded;
use crate::plan::device::group_memory::{Plan, Planner};
use crate::plan::device::launch::Launch;
use crate::plan::strategy::WithPlan;

/// Work-items of the smallest group.
const LEAST_ITEMS: i64 = 32;
/// Work-items of the largest group: enough to hide the latency of memory, few enough for a hundred registers each.
const MOST_ITEMS: i64 = 512;

/// What is decided of a group pipeline before anything is emitted.
pub(crate) struct Pipeline {
    pub plan: Plan,
    pub guards: Vec<Guard>,
    pub items: i64,
    /// Arrays with gaps.
    pub padded: Padded,
}

impl Pipeline {
    pub fn describe(&self) -> String {
        format!("a group of {} work-items per index; {}", self.items, self.plan.describe())
    }
}

/// A with-loop as a group pipeline.
pub(crate) struct GroupPlan {
    pub pipeline: Pipeline,
    pub launch: Launch,
}

impl Facts<'_> {
    /// Groups for a with-loop whose bodies make arrays.
    pub fn plan_groups(&self, inst: Inst, with: &With) -> Result<WithPlan, Refusal> {
        let is_apart = self.options.device.is_some()
            && !self.site.in_launch
            && !self.site.in_parfor()
            && self.site.sequential == 0
            && !with.ordered;
        if !is_apart || !with.parts.iter().any(|part| self.makes_arrays(part.body)) {
            return Err(Refusal::OtherKind);
        }
        let plan = GroupPlan { pipeline: self.plan_pipeline(inst, with)?, launch: self.plan_launch(&[with])? };
        Ok(WithPlan::Groups(Box::new(plan)))
    }

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

    fn planned(&self, with: &With, padded: Padded) -> Result<Pipeline, Refusal> {
        let func = self.func;
        let mut planner = Planner::default();
        planner.padded = padded;
        for part in &with.parts {
            self.check_grid(part)?;
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

    /// The launch for one with-loop, the ranges of whose indices are noted.
    pub fn plan_pipeline(&self, inst: Inst, with: &With) -> Result<Pipeline, Refusal> {
        let func = self.func;
        for (k, (op, &result)) in with.ops.iter().zip(&func.insts[inst].results).enumerate() {
            if self.dests.contains_key(&result) || func.ty(result).elem == Elem::Handle {
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
}
