//! A kernel under its conditions: what guards ask before it, what lanes check in it, and scalar loops in its place where either fails.

use crate::Result;
use crate::facts::Val;
use crate::lower::Lower;
use crate::plan::KernelPlan;

impl Lower<'_, '_> {
    /// Emits `kernel` under the guards and lane checks of its plan, and `scalars` for where they do not hold; what either gives.
    ///
    /// A kernel that has not run because of its guards counts as one whose lane checks failed, if it has any: then the scalar loops are there
    /// once, behind it. `starts` are the values that stand for its results until then. With `at_once` steps whose checks fail are
    /// repeated on the spot.
    pub fn kernel_or_scalars(
        &mut self,
        plan: &KernelPlan,
        at_once: bool,
        kernel: impl FnOnce(&mut Self) -> Result<Vec<Val>>,
        starts: impl FnOnce(&mut Self) -> Vec<Val>,
        scalars: impl Fn(&mut Self) -> Result<Vec<Val>>,
    ) -> Result<Vec<Val>> {
        let outer = self.enter_lane_checks(&plan.measures.by_lanes, at_once);
        let cache = self.emit.cache.clone();
        if !plan.measures.guards.is_empty() {
            let holds = self.guard_condition(&plan.measures.guards);
            self.b.begin_if(holds);
        }
        let mut values = kernel(self)?;
        if !plan.measures.guards.is_empty() {
            self.emit.cache = cache.clone();
            self.b.begin_else(&values);
            let instead = if self.note_failure() { starts(self) } else { self.silently(&scalars)? };
            self.emit.cache = cache.clone();
            values = self.b.end_if(&instead);
        }
        if let Some(failed) = self.leave_lane_checks(outer) {
            self.b.begin_if(failed);
            let instead = self.silently(&scalars)?;
            self.emit.cache = cache;
            self.b.begin_else(&instead);
            values = self.b.end_if(&values);
        }
        Ok(values)
    }

    /// Emits loops that `--explain` does not mention: they run only where what it mentions cannot.
    pub fn silently(&mut self, emit: impl Fn(&mut Self) -> Result<Vec<Val>>) -> Result<Vec<Val>> {
        self.cx.silent += 1;
        let values = emit(self);
        self.cx.silent -= 1;
        values
    }
}
