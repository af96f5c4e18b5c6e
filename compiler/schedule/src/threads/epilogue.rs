//! With-loops beside folds, computed element by element where the partial results of the folds are combined.
//!
//! ```text
//!    z = { iv -> 0 * k[iv] }                           parfor i: partial results of g
//!    g = with { ... } : fold(+, z)               =>    parfor pieces: z, g and the new k for the elements of a piece
//!    k = { iv -> k[iv] - rate * g[iv] }
//! ```
//!
//! What surrounds such a fold is little work for its threads and much for one of them, to which every line of the total is far away:
//! all wait while it computes a new `k`, and each has to fetch that again. In pieces, the total is at hand.
//!
//! The with-loops are prepared where they stand, so that each finds the memory that it would have found (its operand's, mostly), and
//! computed with the last of them; what dies in between is held until then. [`crate::plan::find_epilogue`] decides what joins.

use ravel_nest::ir::Value as Val;
use ravel_types::HashMap;
use ravel_wir::{Inst, Op, Region, Value};

use crate::Result;
use crate::facts::{Chunk, Facts, Reused, Sink};
use crate::lower::Lower;
use crate::plan::find_epilogue::Joined;
use crate::threads::state::{Member, Postponed, Shared};

/// Arrays that are still to be combined, by fold and operator.
type Totals = Vec<((Inst, usize), Shared)>;

impl Facts<'_> {
    /// Values that the partition of a with-loop reads and that are arrays.
    pub(crate) fn arrays_read(&self, body: Region) -> impl Iterator<Item = Value> + '_ {
        self.live.free(body).iter().copied().filter(|v| self.is_object(*v))
    }
}

impl Lower<'_, '_> {
    /// Lowers the instructions from a position of a region on that are joined.
    pub fn epilogue(&mut self, region: Region, start: usize, joined: Joined) -> Result<()> {
        let func = self.func;
        let Joined { end, folds, chains, places, mut plans, .. } = joined;
        let mut sinks: HashMap<Inst, Vec<Sink>> = HashMap::default();
        let mut arrays: Vec<Option<Shared>> = chains.iter().map(|_| None).collect();
        let (mut held, mut reused) = (Vec::new(), Vec::new());
        let mut position = start;
        while position < end {
            let inst = func.regions[region].insts[position];
            if folds.contains(&inst) {
                let (next, totals) = self.postponed_folds(region, position, &folds, &mut held)?;
                for (operator, array) in totals {
                    let Some(&chain) = places.get(&operator) else { continue };
                    match &mut arrays[chain] {
                        Some(total) => total.go_on(array),
                        none => *none = Some(array),
                    }
                }
                position = next;
                continue;
            }
            self.start_inst(position, inst);
            if plans.contains_key(&inst) {
                sinks.insert(inst, self.prepare_member(inst, &mut reused)?);
            } else {
                self.inst(inst)?;
            }
            self.end_inst_holding(inst, &mut held);
            position += 1;
        }
        let mut member =
            |inst: &Inst| Some(Member { inst: *inst, sinks: sinks.remove(inst)?, plan: plans.remove(inst)? });
        let mut shared = Vec::new();
        for (array, chain) in arrays.into_iter().zip(&chains) {
            let Some(mut array) = array else { continue };
            array.before = chain.before.iter().filter_map(&mut member).collect();
            array.after = chain.after.iter().filter_map(&mut member).collect();
            shared.push(array);
        }
        self.combine_shared(&shared)?;
        for reused in reused {
            self.drop_unless_reused(reused);
        }
        for (v, object) in held {
            self.release(v, object);
        }
        Ok(())
    }

    /// The fold at a position, and those that are one parallel loop with it; the position after them, and their arrays by operator, which
    /// are combined later.
    fn postponed_folds(
        &mut self,
        region: Region,
        start: usize,
        folds: &[Inst],
        held: &mut Vec<(Value, Val)>,
    ) -> Result<(usize, Totals)> {
        let func = self.func;
        let mut run = self.fold_run(region, start);
        run.retain(|(_, inst)| folds.contains(inst));
        let mut chunks = self.run_folds(region, &run)?.into_iter();
        if run.is_empty() {
            run.push((start, func.regions[region].insts[start]));
        }
        let (mut next, mut all) = (start + 1, Totals::new());
        for (position, inst) in run {
            self.start_inst(position, inst);
            self.threads.postponed = Some(Postponed { inst, arrays: None });
            match chunks.next() {
                Some(chunks) => self.total_folds(&chunks)?,
                None => self.inst(inst)?,
            }
            let Some(Postponed { arrays: Some(arrays), .. }) = self.threads.postponed.take() else {
                return self.unsupported(func.insts[inst].span, "a fold that was to be cut into chunks");
            };
            all.extend(arrays.into_iter().map(|(k, array)| ((inst, k), array)));
            self.end_inst_holding(inst, held);
            next = position + 1;
        }
        Ok((next, all))
    }

    /// The results of a with-loop, without elements so far.
    fn prepare_member(&mut self, inst: Inst, all_reused: &mut Vec<Reused>) -> Result<Vec<Sink>> {
        let func = self.func;
        let data = &func.insts[inst];
        let Op::With(with) = &data.op else { return Ok(Vec::new()) };
        let outer = (self.cx.with.replace(inst), self.cx.part.take());
        self.cx.remark(data.span, "computed by the threads that combine the partial results of a fold");
        self.facts.set_ranges(with);
        let (sinks, _) = self.prepare(with, &data.results, data.span, false)?;
        self.emit.borders.clear();
        for (sink, &result) in sinks.iter().zip(&data.results) {
            if let Sink::Slice { object: Some(object), reused, .. } = sink {
                all_reused.extend(*reused);
                self.bind(result, *object);
            }
        }
        (self.cx.with, self.cx.part) = outer;
        Ok(sinks)
    }

    /// Computes outside of the loop over pieces what a member needs.
    pub fn preload_member(&mut self, member: &Member) {
        if let Op::With(with) = &self.func.insts[member.inst].op {
            self.preload(with.parts[0].body);
        }
    }

    /// Elements `low .. high` of the results of a member; `low` is a multiple of `grain`.
    pub fn member_elements(&mut self, member: &Member, low: Val, high: Val, grain: i64) -> Result<()> {
        let Op::With(with) = &self.func.insts[member.inst].op else { return Ok(()) };
        let outer = (self.cx.with.replace(member.inst), self.cx.part.take());
        self.facts.set_ranges(with);
        let part = &with.parts[0];
        self.cx.remark(self.func.insts[member.inst].span, member.plan.describe());
        let chunk = Chunk { axis: 0, low, high, grain };
        self.kernel_loops(with, part, &member.sinks, &member.plan, (Some(chunk), false))?;
        (self.cx.with, self.cx.part) = outer;
        Ok(())
    }
}
