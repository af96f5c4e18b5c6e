//! Partitions whose cells go to arrays and to folds: in chunks on threads, in lanes along the last axis.
//!
//! One sweep that relaxes a grid and adds up what changed, or finds the nearest of some points for each point, and how far they are in all. A
//! step computes the cells of some vectors, adds those of the folds to accumulators in registers ([`crate::kernel::reduce`]), and stores the
//! others. Folds over several partitions come here, too: each takes up the accumulators of the one before it.

use ravel_wir::{Inst, Part, With};

use crate::Result;
use crate::facts::Val;
use crate::facts::sink::{Chunk, Sink};
use crate::lower::Lower;
use crate::plan::chunks::Grain;

impl Lower<'_, '_> {
    /// A partition on threads, and the thin ones beside it, from the accumulators `carried`, which are owned; the accumulators behind it, or
    /// nothing if nothing was emitted.
    pub fn try_mixed_on_threads(
        &mut self,
        inst: Inst,
        with: &With,
        part: &Part,
        (sinks, thin): (&[Sink], &[usize]),
        carried: &[Val],
    ) -> Result<Option<Vec<Val>>> {
        if carried.is_empty() || !self.may_run_on_threads(with, part) {
            return Ok(None);
        }
        let Some(folds) = self.regrouping_folds(inst, with, sinks) else { return Ok(None) };
        let axis = self.thread_axis(part);
        let Some(cut) = self.chunks(part, axis, self.fineness(&folds), Grain::ONE) else { return Ok(None) };
        self.preload_company(with, thin);
        let begun = vec![false; folds.len()];
        let fold = self.place_partials(inst, part, folds, cut, begun);
        let values = self.fold_in_chunks(&fold, carried.to_vec(), |lower, starts, chunk| {
            let values = lower.mixed_cells(inst, with, part, sinks, starts, chunk)?;
            lower.run_company(inst, with, (sinks, thin), chunk, values)
        })?;
        Ok(Some(values))
    }

    /// The cells of a chunk, from accumulators on; the accumulators behind them.
    pub fn mixed_cells(
        &mut self,
        inst: Inst,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        starts: Vec<Val>,
        chunk: Chunk,
    ) -> Result<Vec<Val>> {
        if let Some(values) = self.try_mixed(inst, with, part, sinks, &starts, Some(chunk))? {
            return Ok(values);
        }
        let spares = self.open_spares(part.body);
        let values = self.axis(inst, with, part, sinks, 0, starts, Some(chunk))?;
        self.close_spares(spares);
        Ok(values)
    }

    /// A partition in lanes, from accumulators on; the accumulators behind it, or nothing if nothing was emitted.
    pub fn try_mixed(
        &mut self,
        inst: Inst,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        starts: &[Val],
        chunk: Option<Chunk>,
    ) -> Result<Option<Vec<Val>>> {
        if starts.is_empty() || self.site.in_launch || self.regrouping_folds(inst, with, sinks).is_none() {
            return Ok(None);
        }
        let span = self.func.insts[inst].span;
        self.facts.set_ranges(with);
        let plan = match self.plan_mixed(inst, with, part, sinks) {
            Ok(plan) => plan,
            Err(reason) => {
                self.cx.remark(span, format!("scalar loops: {reason}"));
                return Ok(None);
            }
        };
        self.cx.remark(span, plan.describe());
        let mut g = plan.grid();
        let last = self.func.regions[part.body].params.len() - 1;
        let within = chunk.is_none_or(|chunk| chunk.axis != last);
        let stores = sinks.iter().any(|sink| matches!(sink, Sink::Slice { .. }));
        g.streams = stores && !(within && self.has_short_rows(part, sinks, last)) && self.streams(inst, sinks);
        if g.streams {
            self.cx.remark(span, "stores past the caches");
        }
        let values = self.kernel_or_scalars(
            &plan,
            false,
            |lower| lower.fold_and_store(&mut g, (inst, with, part), sinks, starts, chunk),
            |_| starts.to_vec(),
            |lower| {
                lower.open(part.body);
                let values = lower.axis(inst, with, part, sinks, 0, starts.to_vec(), chunk)?;
                lower.close();
                Ok(values)
            },
        )?;
        Ok(Some(values))
    }
}
