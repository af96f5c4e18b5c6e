//! Which folds are one parallel loop ([`crate::threads::reduction_chains`]).

use ravel_wir::{Generator, Inst, Op, Region, Value};

use crate::facts::{Facts, Refusal};
use crate::plan::chunks::Grain;
use crate::plan::strategy::RunPlan;

impl Facts<'_> {
    /// Several folds from a position of a region on that are one parallel loop.
    pub fn plan_reductions(&self, region: Region, start: usize) -> Result<RunPlan, Refusal> {
        let run = self.fold_run(region, start);
        if run.len() > 1 { Ok(RunPlan::Reductions(run)) } else { Err(Refusal::OtherKind) }
    }

    /// The folds from a position of a region on that are one parallel loop, with their positions; a fold that is none of these stands alone.
    pub fn fold_run(&self, region: Region, start: usize) -> Vec<(usize, Inst)> {
        let func = self.func;
        let mut run = Vec::new();
        let mut made: Vec<Value> = Vec::new();
        if self.options.device.is_some() || self.site.in_launch {
            return run;
        }
        for (position, &inst) in func.regions[region].insts.iter().enumerate().skip(start) {
            let Op::With(with) = &func.insts[inst].op else {
                match !run.is_empty() && self.is_apart(inst, |v| made.contains(&v)) {
                    true => continue,
                    false => break,
                }
            };
            let Some((part, folds)) = self.folds_for_threads(inst, with) else { break };
            let Generator::Known { lower, upper, .. } = &part.generator else { break };
            let layout = self.partial_layout(&folds);
            let is_known = folds
                .iter()
                .zip(&layout.slots)
                .all(|((_, neutral), slot)| func.ty(*neutral).is_scalar() || slot.extents.is_some());
            if !is_known || !layout.is_in_function() {
                break;
            }
            let is_made = |v: &Value| made.contains(v);
            let joins = match run.is_empty() {
                true => self.cut(part, self.thread_axis(part), self.fineness(&folds), Grain::ONE).is_some(),
                false => {
                    folds.iter().any(|(_, neutral)| is_made(neutral))
                        && !lower.iter().chain(upper).chain(self.live.free(part.body)).any(is_made)
                }
            };
            if !joins {
                break;
            }
            run.push((position, inst));
            made.extend(&func.insts[inst].results);
        }
        run
    }
}
