//! Which folds run on a device ([`crate::device::fold`]).

use ravel_types::{BinOp, Scalar};
use ravel_wir::{Inst, Value, With, WithOp};

use crate::facts::{Facts, Guard, Refusal, folds_along};
use crate::plan::device::launch::Launch;
use crate::plan::strategy::WithPlan;

/// Work-items of a group.
pub(crate) const GROUP: u32 = 256;
/// One fold of a with-loop.
pub(crate) struct Fold {
    pub op: BinOp,
    pub neutral: Value,
    pub result: Value,
    pub identity: Scalar,
}

/// Folds by groups of work-items.
pub(crate) struct DeviceFold {
    pub folds: Vec<Fold>,
    pub guards: Vec<Guard>,
    pub launch: Launch,
}

impl Facts<'_> {
    /// Folds by groups of work-items.
    pub fn plan_device_fold(&self, inst: Inst, with: &With) -> Result<WithPlan, Refusal> {
        let folds_only = with.ops.iter().all(|op| matches!(op, WithOp::Fold { .. })) && !with.ops.is_empty();
        if self.options.device.is_none() || self.site.in_launch || !folds_only {
            return Err(Refusal::OtherKind);
        }
        if self.site.sequential > 0 || self.site.in_parfor() {
            return Err(Refusal::InsideAnother);
        }
        let folds = self.group_folds(with, &self.func.insts[inst].results)?;
        let guards = self.device_guards(with).ok_or(Refusal::LateChecks)?;
        Ok(WithPlan::DeviceFold(DeviceFold { folds, guards, launch: self.plan_launch(&[with])? }))
    }

    /// The folds of a with-loop, if the work-items of a group can share them; otherwise why not.
    pub fn group_folds(&self, with: &With, results: &[Value]) -> Result<Vec<Fold>, Refusal> {
        if with.ordered {
            return Err(Refusal::Effects);
        }
        let mut folds = Vec::new();
        for (op, &result) in with.ops.iter().zip(results) {
            let (Some(binop), WithOp::Fold { neutral, .. }) = (folds_along(op), op) else {
                return Err(Refusal::FoldsInOrder);
            };
            if !self.func.ty(result).is_scalar() || !self.func.ty(*neutral).is_scalar() || self.is_object(result) {
                return Err(Refusal::ArrayAccumulator);
            }
            let Some(identity) = binop.identity(self.elem(result)) else {
                return Err(Refusal::UnusualFold);
            };
            folds.push(Fold { op: binop, neutral: *neutral, result, identity });
        }
        for part in &with.parts {
            self.check_grid(part)?;
            self.check_device_body(part.body)?;
        }
        Ok(folds)
    }
}
