//! Which with-loops share launches ([`crate::device::run`]).

use std::collections::BTreeSet;

use ravel_types::{Elem, HashMap, HashSet};
use ravel_wir::{Combine, Frame, Generator, Inst, Op, Region, Value, With, WithOp};

use crate::facts::{Facts, Refusal, Val};
use crate::plan::device::groups::Pipeline;
use crate::plan::device::launch::Launch;
use crate::plan::strategy::RunPlan;

/// Elements of the largest member: beyond, launches cost little beside memory traffic.
const MOST_CELLS: i64 = 1 << 18;
/// Chains of one launch: each is a branch of its kernel.
const MOST_CHAINS: usize = 24;
/// Arrays of one launch: devices take a kilobyte of arguments at least, in which partial results and scalars must have room too.
const MOST_ARRAYS: usize = 64;

/// What a work-item does for one element of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Computes the cell of a member.
    Member(Inst),
    /// Combines the partial results of an operator of the anchor.
    Fold(usize),
}

/// Members and folds of equal extents that read each other.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    pub extents: Vec<i64>,
    pub steps: Vec<Step>,
}

impl Chain {
    pub fn count(&self) -> i64 {
        self.extents.iter().product()
    }
}

/// Instructions that share launches.
#[derive(Default)]
pub(crate) struct Run {
    /// Position after the last one.
    pub end: usize,
    pub members: usize,
    pub anchor: Option<Inst>,
    pub chains: Vec<Chain>,
    /// The chain that an array is made in.
    chain_of: HashMap<Value, usize>,
    /// All results of the with-loops.
    made: HashSet<Value>,
    /// Arrays that the members read or make.
    arrays: HashSet<Value>,
    /// How often steps read an array that the run makes.
    reads: HashMap<Value, u32>,
}

/// The launches of a run.
pub(crate) struct RunLaunch {
    /// Of the anchor.
    pub pipeline: Option<Pipeline>,
    pub work: Launch,
}

impl Run {
    fn add_to_chain(&mut self, chain: usize, v: Value, step: Step) {
        self.chains[chain].steps.push(step);
        self.chain_of.insert(v, chain);
    }

    /// One chain of several, or a new one; nothing if their extents differ.
    fn join(&mut self, chains: &BTreeSet<usize>, extents: &[i64]) -> Option<usize> {
        if chains.iter().any(|&c| self.chains[c].extents != extents) {
            return None;
        }
        let Some(&first) = chains.first() else {
            self.chains.push(Chain { extents: extents.to_vec(), steps: Vec::new() });
            return Some(self.chains.len() - 1);
        };
        for &other in chains.iter().skip(1) {
            let steps = std::mem::take(&mut self.chains[other].steps);
            self.chains[first].steps.extend(steps);
        }
        for chain in self.chain_of.values_mut().filter(|chain| chains.contains(chain)) {
            *chain = first;
        }
        Some(first)
    }
}

impl Facts<'_> {
    /// May a scalar operation move to the beginning of a run?
    fn is_movable(&self, run: &Run, region: Region, position: usize) -> bool {
        let inst = self.func.regions[region].insts[position];
        match &self.func.insts[inst].op {
            // An array that dies with the question would die too early.
            Op::Extent { array, .. } => {
                !run.made.contains(array) && self.live.last_use(region, *array) != Some(position)
            }
            _ => self.is_apart(inst, |v| run.made.contains(&v)),
        }
    }

    /// Is this a scalar operation, or an array constant, that reads no array and nothing that is `made`?
    pub fn is_apart(&self, inst: Inst, made: impl Fn(Value) -> bool) -> bool {
        let data = &self.func.insts[inst];
        let plain = match data.op {
            Op::Const(_) | Op::Un(..) | Op::Bin(..) | Op::Convert(_) | Op::Select { .. } => {
                data.results.iter().all(|v| !self.is_object(*v))
            }
            Op::ConstArray(_) => true,
            _ => false,
        };
        let mut own = true;
        data.op.for_each_operand(|v| own &= !made(v) && !self.is_object(v));
        plain && own
    }

    /// Is a result of the run used by more than its steps?
    pub fn is_stored(&self, run: &Run, v: Value) -> bool {
        self.live.uses(v) > run.reads.get(&v).copied().unwrap_or(0)
    }

    /// Does a fold of the anchor start from an element that its own chain computes?
    pub fn starts_held(&self, run: &Run, neutral: Value) -> bool {
        run.chain_of.contains_key(&neutral)
    }

    /// Operand positions in a region, and in those nested in it, that name a value.
    fn operands_naming(&self, region: Region, v: Value) -> u32 {
        let data = &self.func.regions[region];
        let mut n = data.yields.iter().filter(|y| **y == v).count() as u32;
        for inst in &data.insts {
            let op = &self.func.insts[*inst].op;
            op.for_each_operand(|operand| n += u32::from(operand == v));
            n += op.regions().into_iter().map(|r| self.operands_naming(r, v)).sum::<u32>();
        }
        n
    }

    /// The run that begins at a position of a region.
    pub fn plan_launches(&mut self, region: Region, start: usize) -> Result<RunPlan, Refusal> {
        if self.options.device.is_none() || self.site.in_launch || self.site.in_parfor() || self.site.sequential > 0 {
            return Err(Refusal::OtherKind);
        }
        let run = self.find_run(region, start).ok_or(Refusal::OtherKind)?;
        // What stands between the with-loops is computed before them.
        let is_apart = |inst: &&Inst| !matches!(self.func.insts[**inst].op, Op::With(_));
        let apart = self.func.regions[region].insts[start..run.end].iter().filter(is_apart);
        let apart: Vec<Value> = apart.flat_map(|inst| &self.func.insts[*inst].results).copied().collect();
        apart.iter().for_each(|v| self.bound.vals[*v] = Some(Val::from_u32(0)));
        let launch = self.launch_of_run(region, start, &run);
        apart.iter().for_each(|v| self.bound.vals[*v] = None);
        Ok(RunPlan::Launches(Box::new(run), launch))
    }

    fn launch_of_run(&mut self, region: Region, start: usize, run: &Run) -> Result<RunLaunch, Refusal> {
        let func = self.func;
        let (mut loops, mut pipeline) = (Vec::new(), None);
        for &inst in &func.regions[region].insts[start..run.end] {
            let Op::With(with) = &func.insts[inst].op else { continue };
            loops.push(with);
            if run.anchor == Some(inst) {
                self.set_ranges(with);
                pipeline = Some(self.plan_pipeline(inst, with)?);
            }
        }
        Ok(RunLaunch { pipeline, work: self.plan_launch(&loops)? })
    }

    fn find_run(&mut self, region: Region, start: usize) -> Option<Run> {
        let func = self.func;
        let mut run = Run::default();
        for (position, &inst) in func.regions[region].insts.iter().enumerate().skip(start) {
            match &func.insts[inst].op {
                Op::With(with)
                    if self.add_member(&mut run, inst, with).is_some()
                        || self.add_anchor(&mut run, inst, with).is_some() =>
                {
                    run.made.extend(&func.insts[inst].results);
                    run.end = position + 1;
                }
                Op::With(_) => break,
                _ if self.is_movable(&run, region, position) => {}
                _ => break,
            }
        }
        let least = if run.anchor.is_some() { 1 } else { 2 };
        (run.members >= least).then_some(run)
    }

    /// Adds a with-loop whose work-items need nothing of each other; nothing if it is no such.
    fn add_member(&mut self, run: &mut Run, inst: Inst, with: &With) -> Option<()> {
        let func = self.func;
        let ([part], [WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. }], &[result]) =
            (&with.parts[..], &with.ops[..], &func.insts[inst].results[..])
        else {
            return None;
        };
        let Generator::Known { step, width: None, .. } = &part.generator else { return None };
        let dense = step.as_ref().is_none_or(|s| s.iter().all(|v| self.const_i32(*v) == Some(1)));
        let plain = dense && !with.ordered && cell.is_empty() && !frame.is_empty() && self.covers(with, frame);
        if !plain || self.dests.contains_key(&result) || func.ty(result).elem == Elem::Handle {
            return None;
        }
        let extents: Vec<i64> = frame.iter().map(|v| self.const_i32(*v)).collect::<Option<_>>()?;
        let cells = extents.iter().try_fold(1i64, |n, e| n.checked_mul(*e))?;
        let body = &func.regions[part.body];
        let scalar = body.yields.iter().all(|v| func.ty(*v).is_scalar());
        let loops = body.insts.iter().any(|inst| matches!(func.insts[*inst].op, Op::With(_) | Op::Loop { .. }));
        if !(1..=MOST_CELLS).contains(&cells) || !scalar || loops || self.check_device_body(part.body).is_err() {
            return None;
        }
        self.set_ranges(with);
        if self.device_guards(with).is_none_or(|guards| !guards.is_empty()) {
            return None;
        }
        let mut chains = BTreeSet::new();
        let mut reads: HashMap<Value, u32> = HashMap::default();
        for &v in self.live.free(part.body).iter().filter(|v| run.made.contains(v)) {
            let own = self.own_reads(part.body, &extents).filter(|(array, _)| *array == v).count() as u32;
            if own != self.operands_naming(part.body, v) {
                return None;
            }
            chains.insert(*run.chain_of.get(&v)?);
            reads.insert(v, own);
        }
        let arrays = self.live.free(part.body).iter().copied().filter(|v| self.is_object(*v)).chain([result]);
        let arrays: HashSet<Value> = run.arrays.iter().copied().chain(arrays).collect();
        if chains.is_empty() && run.chains.len() >= MOST_CHAINS || arrays.len() > MOST_ARRAYS {
            return None;
        }
        let chain = run.join(&chains, &extents)?;
        for (v, n) in reads {
            *run.reads.entry(v).or_insert(0) += n;
        }
        run.add_to_chain(chain, result, Step::Member(inst));
        run.arrays = arrays;
        run.members += 1;
        Some(())
    }

    /// Adds the with-loop that runs in groups and folds; nothing if it is no such, or must wait for members.
    fn add_anchor(&mut self, run: &mut Run, inst: Inst, with: &With) -> Option<()> {
        let func = self.func;
        let folds = with.ops.iter().any(|op| matches!(op, WithOp::Fold { .. }));
        let [part] = &with.parts[..] else { return None };
        if run.anchor.is_some()
            || with.ordered
            || !folds
            || !self.makes_arrays(part.body)
            || self.live.free(part.body).iter().any(|v| run.made.contains(v))
        {
            return None;
        }
        let mut places = Vec::new();
        for (k, (op, &result)) in with.ops.iter().zip(&func.insts[inst].results).enumerate() {
            let WithOp::Fold { neutral, combine, .. } = op else { continue };
            if matches!(combine, Combine::Region(region) if self.live.free(*region).iter().any(|v| run.made.contains(v)))
            {
                return None;
            }
            let extents: Vec<i64> = func.ty(result).shape.constants()?.into_iter().map(i64::from).collect();
            let mut chains = BTreeSet::new();
            if run.made.contains(neutral) {
                // A neutral element for several folds, or one that is used elsewhere, is stored.
                chains.insert(*run.chain_of.get(neutral)?);
                if self.live.uses(*neutral) != 1 {
                    return None;
                }
            }
            places.push((k, result, *neutral, chains, extents));
        }
        let mut operands = 0;
        func.insts[inst].op.for_each_operand(|v| operands += usize::from(run.made.contains(&v)));
        let neutrals: usize = places.iter().map(|p| p.3.len()).sum();
        if operands != neutrals
            || run.arrays.len() + 3 * places.len() > MOST_ARRAYS
            || places.iter().any(|(.., chains, extents)| chains.iter().any(|c| run.chains[*c].extents != *extents))
        {
            return None;
        }
        for (k, result, neutral, chains, extents) in places {
            let chain = run.join(&chains, &extents)?;
            if !chains.is_empty() {
                run.reads.insert(neutral, 1);
            }
            run.add_to_chain(chain, result, Step::Fold(k));
        }
        run.anchor = Some(inst);
        Some(())
    }
}
