//! Partitions whose cells go to arrays and to folds: in chunks on threads, in lanes along the last axis.
//!
//! One sweep that relaxes a grid and adds up what changed, or finds the nearest of some points for each point, and how far they are in all. A
//! step computes the cells of some vectors, adds those of the folds to accumulators in registers ([`crate::kernel::reduce`]), and stores the
//! others. Folds over several partitions come here, too: each takes up the accumulators of the one before it.

use crate::Result;
use crate::facts::{Chunk, Sink, Val};
use crate::lower::Lower;
use crate::plan::KernelPlan;
use crate::plan::strategy::{Case, FoldPlan};

impl Lower<'_, '_> {
    /// A partition on threads, and the thin ones beside it, from the accumulators `carried`, which are owned; the accumulators behind it.
    pub fn mixed_on_threads(
        &mut self,
        case: &Case,
        plan: FoldPlan,
        thin: &[usize],
        carried: Vec<Val>,
    ) -> Result<Vec<Val>> {
        let Case { inst, with, part, sinks, .. } = *case;
        let cut = self.chunks_of(part, plan.axis, plan.fineness, plan.grain, plan.size);
        self.preload_company(with, thin);
        let begun = vec![false; plan.folds.len()];
        let fold = self.place_partials(inst, part, plan.folds, cut, begun, plan.inside);
        self.fold_in_chunks(&fold, sinks, carried, |lower, starts, chunk| {
            let values = lower.chunk(case, &fold.inside, chunk, starts)?;
            lower.run_company(inst, with, (sinks, thin), chunk, values)
        })
    }

    /// A partition in lanes, or a chunk of it, from accumulators on; the accumulators behind it.
    pub fn mixed(&mut self, case: &Case, plan: &KernelPlan, starts: &[Val], chunk: Option<Chunk>) -> Result<Vec<Val>> {
        let Case { inst, with, part, sinks, .. } = *case;
        let span = self.func.insts[inst].span;
        self.cx.remark(span, plan.describe());
        let mut g = plan.grid();
        let last = self.func.regions[part.body].params.len() - 1;
        let within = chunk.is_none_or(|chunk| chunk.axis != last);
        let stores = sinks.iter().any(|sink| matches!(sink, Sink::Slice { .. }));
        g.streams = stores && !(within && self.has_short_rows(part, sinks, last)) && self.streams(inst, sinks);
        if g.streams {
            self.cx.remark(span, "stores past the caches");
        }
        self.kernel_or_scalars(
            plan,
            false,
            |lower| lower.fold_and_store(&mut g, (inst, with, part), sinks, starts, chunk),
            |_| starts.to_vec(),
            |lower| {
                lower.open(part.body);
                let values = lower.axis(inst, with, part, sinks, 0, starts.to_vec(), chunk)?;
                lower.close();
                Ok(values)
            },
        )
    }
}
