//! Runs of with-loops that share launches.
//!
//! ```text
//!    z = { iv -> 0 * k[iv] }                            one launch of groups, which leave partial results
//!    g = with (groups) { ... } : fold(+, z)        =>   and one launch: a work-item per element computes its element of z,
//!    k = { iv -> k[iv] - rate * g[iv] }                 adds up the partial results, and computes its element of the new k
//! ```
//!
//! A run is a row of instructions of one region: with-loops whose cells are scalars (its *members*), one with-loop that runs in groups and folds
//! (its *anchor*) at most, and scalar operations between them, which move to its beginning. Members and folds that read each
//! other at their own index alone form a [`Chain`]; the elements of all chains are one launch. Arrays that only the run reads are
//! never stored.
//!
//! Whether the device pays is asked once for the whole run. Where it does not, each with-loop is asked for as it would be without the run.
//!
//! Leaves alone: members that fold, loop, or need a check that is made at run time; extents that are not constant; and large arrays,
//! beside which a launch costs nothing while groups that fit their axes do.

use ravel_nest::ir::{BinOp as NestBin, IntCmp, Ty};
use ravel_wir::{Inst, Op, Region, Value, With};

use crate::Result;
use crate::facts::Val;
use crate::lower::Lower;
use crate::plan::device::groups::Pipeline;
use crate::plan::device::launch::Launch;
use crate::plan::device::run::{Run, RunLaunch};

impl Lower<'_, '_> {
    /// Lowers the run that begins at a position of a region.
    pub fn device_run(&mut self, region: Region, start: usize, run: &Run, launch: Option<&RunLaunch>) -> Result<()> {
        let func = self.func;
        let mut withs = Vec::new();
        for (position, &inst) in func.regions[region].insts.iter().enumerate().take(run.end).skip(start) {
            match &func.insts[inst].op {
                Op::With(with) => withs.push((position, inst, with)),
                _ => {
                    self.start_inst(position, inst);
                    self.inst(inst)?;
                    self.end_inst(inst);
                }
            }
        }
        let Some(RunLaunch { pipeline, work }) = launch else { return self.each_alone(&withs) };
        let loops: Vec<&With> = withs.iter().map(|w| w.2).collect();
        let mut wanted = self.worth_launching(&loops, work);
        if let Some(pipeline) = pipeline {
            let holds = self.guard_condition(&pipeline.guards);
            wanted = self.b.binary(NestBin::And, wanted, holds);
        }
        let zero = self.b.iconst(Ty::I8, 0);
        let alone = self.b.icmp(IntCmp::Eq, wanted, zero);
        let before = self.snapshot();
        self.b.begin_if(alone);
        self.each_alone(&withs)?;
        let results: Vec<Value> = withs.iter().flat_map(|w| func.insts[w.1].results.iter().copied()).collect();
        let beyond: Vec<Value> = results
            .iter()
            .copied()
            .filter(|v| self.live.last_use(region, *v).is_some_and(|last| last >= run.end))
            .collect();
        let values: Vec<Val> = beyond.iter().map(|v| self.val(*v)).collect();
        let after = self.snapshot();
        self.restore(before.clone());
        self.forget(&results);
        self.b.begin_else(&values);
        self.launch_run(run, &withs, pipeline.as_ref(), work)?;
        for &(position, inst, _) in &withs {
            self.start_inst(position, inst);
            self.end_inst(inst);
        }
        let values: Vec<Val> = beyond.iter().map(|v| self.val(*v)).collect();
        self.drop_beyond(&after);
        let joined = self.b.end_if(&values);
        self.emit.cache = before.cache;
        self.forget(&results);
        for (&v, value) in beyond.iter().zip(joined) {
            self.bind(v, value);
        }
        self.facts.references.on_device.extend(beyond.iter().copied().filter(|v| !func.ty(*v).is_scalar()));
        Ok(())
    }

    fn each_alone(&mut self, withs: &[(usize, Inst, &With)]) -> Result<()> {
        for &(position, inst, _) in withs {
            self.start_inst(position, inst);
            self.inst(inst)?;
            self.end_inst(inst);
        }
        Ok(())
    }

    /// The launches of a run; binds the results that are used elsewhere.
    fn launch_run(
        &mut self,
        run: &Run,
        withs: &[(usize, Inst, &With)],
        pipeline: Option<&Pipeline>,
        work: &Launch,
    ) -> Result<()> {
        let func = self.func;
        let outer = (self.cx.with.take(), self.cx.part.take());
        for &(_, inst, _) in withs {
            self.cx.with = Some(inst);
            let text = match pipeline {
                Some(pipeline) if run.anchor == Some(inst) => format!(
                    "on the device, {}; the launch that adds up the groups computes {} others too",
                    pipeline.describe(),
                    run.members
                ),
                _ => format!("on the device, one of {} with-loops in one launch", withs.len()),
            };
            self.explain_launch(inst, text, work);
        }
        (self.cx.with, self.cx.part) = outer;
        let mut outcomes = Vec::new();
        if let (Some(pipeline), Some(&(position, inst, with))) =
            (pipeline, withs.iter().find(|w| run.anchor == Some(w.1)))
        {
            self.start_inst(position, inst);
            outcomes = self.start_groups(inst, with, pipeline, Some(run))?;
        }
        self.launch_chains(run, &outcomes)?;
        if let Some(inst) = run.anchor {
            for (outcome, &result) in outcomes.into_iter().zip(&func.insts[inst].results) {
                if let Some(value) = self.close_outcome(outcome) {
                    self.bind(result, value);
                }
            }
        }
        Ok(())
    }
}
