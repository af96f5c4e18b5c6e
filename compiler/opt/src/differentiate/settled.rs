//! Elements that a loop changes no more once they are read.
//!
//! ```text
//!    loop (%i = 0, %a = ..) { %x = sel %a, [%i - 1]  ..  %a' = update %a, [%i], ..  yield %i + 1 < %n, %i + 1, %a' }
//! ```
//!
//! The loop's result has them still, so that a reverse loop reads them there and no iteration keeps them: pivot rows of a factorisation, solved unknowns,
//! tables of dynamic programming. A read is settled if along some axis it stays on the near side of a bound that moves with the counter, and all writes of
//! the loop on the far side.
//!
//! Leaves alone: loops in other loops, whose results would have to be kept for each iteration of these; loops that are not counted; arrays that more than
//! updates, branches and loops change.

use crate::differentiate::state::State;
use crate::edit::{Defs, insts_where, reads_of};
use crate::facts::Places;
use crate::loops::nest::Trip;
use ravel_types::{BinOp, HashMap, HashSet};
use ravel_wir::traverse::walk;
use ravel_wir::{Generator, Inst, Op, Region, Value, WithOp};

/// How far the bound may be from the counter.
const NEAR: std::ops::RangeInclusive<i64> = -2..=2;
/// Reads and writes of one array that are looked at.
const MOST: usize = 64;

/// What happens to an array in the iterations of a loop.
#[derive(Default)]
struct Chain {
    /// The array in all its states.
    states: HashSet<Value>,
    reads: Vec<(Inst, Vec<Value>)>,
    writes: Vec<Write>,
}

/// Elements between bounds that an instruction writes, by axis: the first one, and the last one plus `beyond`.
struct Write {
    inst: Inst,
    lower: Vec<Value>,
    upper: Vec<Value>,
    beyond: i64,
}

impl State<'_> {
    /// Notes the selections in the loops of a region that are settled.
    pub fn find_settled(&mut self, region: Region) {
        let mut loops = Vec::new();
        self.outermost_loops(region, &mut loops);
        if loops.is_empty() {
            return;
        }
        let (defs, places) = (Defs::new(self.func), Places::new(self.func));
        let mut found = HashMap::default();
        for inst in loops {
            let Some(trip) = Trip::of(self.func, &defs, inst) else { continue };
            let params = self.func.regions[trip.body].params.clone();
            for (k, &array) in params.iter().enumerate() {
                let is_array = self.func.ty(array).rank().is_some_and(|n| n > 0);
                let Some(chain) = is_array.then(|| self.chain_of(trip.body, k)).flatten() else { continue };
                let settled = self.settled_reads((&defs, &places), &trip, &chain);
                found.extend(settled.into_iter().map(|read| (read, array)));
            }
        }
        self.settled = found;
    }

    fn outermost_loops(&self, region: Region, found: &mut Vec<Inst>) {
        for &inst in &self.func.regions[region].insts {
            match &self.func.insts[inst].op {
                Op::Loop { .. } => found.push(inst),
                op => op.regions().into_iter().for_each(|nested| self.outermost_loops(nested, found)),
            }
        }
    }

    /// What happens to what a loop carries at a position, if only updates change it.
    fn chain_of(&self, body: Region, k: usize) -> Option<Chain> {
        let data = &self.func.regions[body];
        let mut chain = Chain::default();
        chain.states.insert(data.params[k]);
        self.follow(body, &mut chain);
        let is_small = chain.reads.len() <= MOST && chain.writes.len() <= MOST;
        (is_small && chain.states.contains(&data.yields[k + 1])).then_some(chain)
    }

    fn follow(&self, region: Region, chain: &mut Chain) {
        for &inst in &self.func.regions[region].insts {
            let data = &self.func.insts[inst];
            match &data.op {
                Op::Sel { array, index } if chain.states.contains(array) => chain.reads.push((inst, index.clone())),
                Op::Update { array, index, .. } if chain.states.contains(array) => {
                    let (lower, upper) = (index.clone(), index.clone());
                    chain.writes.push(Write { inst, lower, upper, beyond: 0 });
                    chain.states.insert(data.results[0]);
                }
                Op::With(with) => {
                    with.parts.iter().for_each(|part| self.follow(part.body, chain));
                    for (op, result) in with.ops.iter().zip(&data.results) {
                        let WithOp::Modarray { array } = op else { continue };
                        if !chain.states.contains(array) {
                            continue;
                        }
                        chain.states.insert(*result);
                        for part in &with.parts {
                            // Bounds in vectors are not looked into: nothing is known of what is written.
                            let (lower, upper) = match &part.generator {
                                Generator::Known { lower, upper, .. } => (lower.clone(), upper.clone()),
                                Generator::Dyn { .. } => (Vec::new(), Vec::new()),
                            };
                            chain.writes.push(Write { inst, lower, upper, beyond: 1 });
                        }
                    }
                }
                Op::Loop { init, body } => {
                    let inner = &self.func.regions[*body];
                    let carried: Vec<usize> = (0..init.len()).filter(|k| chain.states.contains(&init[*k])).collect();
                    chain.states.extend(carried.iter().map(|k| inner.params[*k]));
                    self.follow(*body, chain);
                    let stays = |k: &&usize| chain.states.contains(&inner.yields[**k + 1]);
                    let kept: Vec<Value> = carried.iter().filter(stays).map(|k| data.results[*k]).collect();
                    // An inner loop that carries something else on has other states than this walk knows.
                    if kept.len() < carried.len() {
                        chain.writes.push(Write { inst, lower: Vec::new(), upper: Vec::new(), beyond: 0 });
                    }
                    chain.states.extend(kept);
                }
                Op::If { then, els, .. } => {
                    self.follow(*then, chain);
                    self.follow(*els, chain);
                    let (then, els) = (&self.func.regions[*then].yields, &self.func.regions[*els].yields);
                    for (k, result) in data.results.iter().enumerate() {
                        if chain.states.contains(&then[k]) && chain.states.contains(&els[k]) {
                            chain.states.insert(*result);
                        }
                    }
                }
                op => op.regions().into_iter().for_each(|nested| self.follow(nested, chain)),
            }
        }
    }

    /// The results of the selections from which all writes stay away, in this iteration and in later ones.
    fn settled_reads(&self, (defs, places): (&Defs, &Places), trip: &Trip, chain: &Chain) -> Vec<Value> {
        let func = &*self.func;
        let counter = trip.count(func);
        let (near, far) = if trip.step > 0 { (BinOp::Lt, BinOp::Ge) } else { (BinOp::Gt, BinOp::Le) };
        // By write and axis, the bounds that it stays behind.
        let mut writes: Vec<Vec<Vec<i64>>> = Vec::new();
        for write in &chain.writes {
            let mut ranges = places.ranges_at(func, defs, write.inst);
            let (ends, beyond) = if trip.step > 0 { (&write.lower, 0) } else { (&write.upper, write.beyond) };
            let by_axis = ends.iter().map(|end| {
                let (end, count) = (ranges.form(func, defs, *end), ranges.form(func, defs, counter));
                NEAR.filter(|c| ranges.compare(far, &end, &count.plus(c + beyond)) == Some(true)).collect()
            });
            writes.push(by_axis.collect());
        }
        if writes.iter().any(|axes| axes.iter().all(Vec::is_empty)) {
            return Vec::new();
        }
        let mut settled = Vec::new();
        for (inst, index) in &chain.reads {
            let mut ranges = places.ranges_at(func, defs, *inst);
            let mut before = Vec::new();
            for at in index {
                let (at, count) = (ranges.form(func, defs, *at), ranges.form(func, defs, counter));
                let is_before = |c: &i64| ranges.compare(near, &at, &count.plus(*c)) == Some(true);
                before.push(NEAR.filter(is_before).collect::<Vec<i64>>());
            }
            let is_apart = |axes: &Vec<Vec<i64>>| {
                axes.iter().zip(&before).any(|(write, read)| write.iter().any(|c| read.contains(c)))
            };
            if writes.iter().all(is_apart) {
                settled.push(func.insts[*inst].results[0]);
            }
        }
        settled
    }

    /// The array of which a selection is settled.
    pub fn settled_by(&self, inst: Inst) -> Option<Value> {
        let data = &self.func.insts[inst];
        matches!(data.op, Op::Sel { .. }).then(|| self.settled.get(&data.results[0]).copied()).flatten()
    }

    /// Lets settled selections in some instructions read what their loop results in.
    pub fn read_results(&mut self, insts: &[Inst]) {
        if self.settled.is_empty() {
            return;
        }
        let mut all = insts.to_vec();
        for inst in insts {
            for nested in self.func.insts[*inst].op.regions() {
                all.extend(
                    insts_where(self.func, nested, |op| matches!(op, Op::Sel { .. })).into_iter().map(|at| at.1),
                );
            }
        }
        for inst in all {
            let Some(result) = self.settled_by(inst).and_then(|array| self.results.get(&array).copied()) else {
                continue;
            };
            if let Op::Sel { array, .. } = &mut self.func.insts[inst].op {
                *array = result;
            }
        }
    }

    /// What an instruction reads, without the arrays of settled selections.
    pub fn unsettled_reads(&self, inst: Inst) -> Vec<Value> {
        let mut reads = reads_of(self.func, inst);
        if self.settled.is_empty() {
            return reads;
        }
        let (mut settled, mut others) = (HashSet::default(), HashSet::default());
        let mut see = |inst: Inst| {
            let is_settled = self.settled_by(inst).is_some();
            let op = &self.func.insts[inst].op;
            op.for_each_operand(|v| match op {
                Op::Sel { array, .. } if is_settled && *array == v => _ = settled.insert(v),
                _ => _ = others.insert(v),
            });
        };
        see(inst);
        for nested in self.func.insts[inst].op.regions() {
            walk(self.func, nested, &mut |_, inner| see(inner));
        }
        let mut yields = HashSet::default();
        for nested in self.func.insts[inst].op.regions() {
            yields.extend(self.func.regions[nested].yields.iter().copied());
        }
        reads.retain(|v| !settled.contains(v) || others.contains(v) || yields.contains(v));
        reads
    }
}
