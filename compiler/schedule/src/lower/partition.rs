//! A partition and its chunks as planned: what the tables of [`crate::plan::strategy`] chose is emitted here.

use ravel_wir::{Generator, Inst, Part, With};

use crate::Result;
use crate::facts::{Chunk, Sink, Val};
use crate::lower::Lower;
use crate::lower::emit::Around;
use crate::plan::strategy::{Case, Choice, Plan};

impl Lower<'_, '_> {
    /// One partition, with what lies around it.
    pub fn partition(
        &mut self,
        inst: Inst,
        with: &With,
        part: &Part,
        (sinks, around): (&[Sink], Around),
        carried: Vec<Val>,
    ) -> Result<Vec<Val>> {
        self.facts.set_ranges(with);
        let parts: Vec<_> = [part].into_iter().chain(around.thin.iter().map(|m| &with.parts[*m])).collect();
        let case = Case::new(inst, with, part, sinks, !carried.is_empty());
        self.reading_rows(with, &parts, around.borders, |lower| lower.sorted_partition(case, around, carried))
    }

    /// A partition where it is known which of its arrays may be read in rows.
    fn sorted_partition(&mut self, case: Case, around: Around, carried: Vec<Val>) -> Result<Vec<Val>> {
        let Case { inst, with, part, sinks, .. } = case;
        self.preload(part.body);
        match &part.generator {
            Generator::Known { .. } => {
                let choice = self.choose(&case);
                self.cx.decided(inst, &choice);
                let is_shared = match &choice.plan {
                    Plan::Threads(plan) => plan.axis == 0 || !self.is_row_beside(part, sinks),
                    plan => matches!(plan, Plan::FoldThreads(_)),
                };
                if !is_shared {
                    self.settle_rows_beside(part, sinks);
                }
                // Tiles come before the borders; threads make theirs.
                if !matches!(choice.plan, Plan::Threads(_) | Plan::Tiles(_)) {
                    around.borders.iter().for_each(|border| self.whole_border(border));
                }
                let mut carried = match choice.plan {
                    Plan::Threads(plan) => {
                        self.on_threads(&case, plan, around)?;
                        return Ok(carried);
                    }
                    Plan::Tiles(plan) => {
                        self.tiles(&case, &plan, None)?;
                        around.borders.iter().for_each(|border| self.whole_border(border));
                        carried
                    }
                    Plan::FoldThreads(plan) => return self.mixed_on_threads(&case, plan, around.thin, carried),
                    Plan::Mixed(plan) => self.mixed(&case, &plan, &carried, None)?,
                    Plan::Lanes(plan) => {
                        self.kernel(&case, &plan, None, None)?;
                        carried
                    }
                    Plan::Shared(plan) => {
                        self.kernel(&case, &plan.whole, None, Some(&plan))?;
                        carried
                    }
                    Plan::Scalars | Plan::Partitions => self.scalars(&case, &choice, carried, None)?,
                };
                for &m in around.thin {
                    self.cx.part = Some(m);
                    carried = self.partition(inst, with, &with.parts[m], (sinks, Around::NOTHING), carried)?;
                }
                Ok(carried)
            }
            Generator::Dyn { lower, upper, step, width } => {
                self.settle_rows();
                let spares = self.open_spares(part.body);
                let carried = self.odometer(with, part, [Some(*lower), Some(*upper), *step, *width], sinks, carried)?;
                self.close_spares(spares);
                Ok(carried)
            }
        }
    }

    /// A chunk of a partition, from accumulators on; the accumulators behind it.
    pub fn choose_chunk(
        &mut self,
        inst: Inst,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        chunk: Chunk,
        starts: Vec<Val>,
    ) -> Result<Vec<Val>> {
        self.facts.set_ranges(with);
        let case = Case::new(inst, with, part, sinks, !starts.is_empty()).in_chunks(chunk.axis);
        let choice = self.choose(&case);
        self.cx.decided(inst, &choice);
        self.chunk(&case, &choice, chunk, starts)
    }

    /// The same as planned.
    pub fn chunk(&mut self, case: &Case, choice: &Choice, chunk: Chunk, starts: Vec<Val>) -> Result<Vec<Val>> {
        match &choice.plan {
            Plan::Tiles(plan) => self.tiles(case, plan, Some(chunk))?,
            Plan::Mixed(plan) => return self.mixed(case, plan, &starts, Some(chunk)),
            Plan::Lanes(plan) => self.kernel(case, plan, Some(chunk), None)?,
            _ => return self.scalars(case, choice, starts, Some(chunk)),
        }
        Ok(starts)
    }

    /// One cell after the other, from accumulators on.
    fn scalars(&mut self, case: &Case, choice: &Choice, starts: Vec<Val>, chunk: Option<Chunk>) -> Result<Vec<Val>> {
        let Case { inst, with, part, sinks, .. } = *case;
        self.explain_scalars(inst, choice);
        let spares = self.open_spares(part.body);
        let carried = self.axis(inst, with, part, sinks, 0, starts, chunk)?;
        self.close_spares(spares);
        Ok(carried)
    }

    /// Says why lanes do not run.
    pub fn explain_scalars(&mut self, inst: Inst, choice: &Choice) {
        if let Some(refusal) = choice.why_scalar() {
            self.cx.remark(self.func.insts[inst].span, format!("scalar loops: {refusal}"));
        }
    }
}
