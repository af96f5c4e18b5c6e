//! Which with-loops are joined with folds: see [`crate::threads::epilogue`].
//!
//! Joined are, in a row but for scalar operations: with-loops that each compute the neutral array of a fold, then the fold, others that
//! go on from its totals, and with-loops that read totals at their own index. What belongs to one total is a [`Chain`].
//!
//! Leaves alone: with-loops that use their index for anything but elements there, or read totals of two chains; those that may be built in an
//! operand that another chain reads, for pieces are computed in any order; bodies with checks or loops; extents that only the run
//! knows; folds whose partial results the calling thread combines, since they are small.

use ravel_types::{Elem, HashMap, HashSet};
use ravel_wir::{Frame, Generator, Inst, Op, Region, Value, With, WithOp};

use crate::facts::{Ext, Facts, Refusal, Sink, Val};
use crate::plan::chunks::Grain;
use crate::plan::strategy::RunPlan;
use crate::plan::{KernelPlan, VecChoice};

/// As many instructions ahead a neutral array finds its fold.
const AHEAD: usize = 64;

/// Arrays of equal extents that are computed piece by piece: a total and what is made for it or from it.
pub(crate) struct Chain {
    extents: Vec<i64>,
    /// With-loops, in order.
    pub before: Vec<Inst>,
    pub after: Vec<Inst>,
}

/// Instructions that are joined.
#[derive(Default)]
pub(crate) struct Joined {
    /// Position after the last one.
    pub end: usize,
    pub folds: Vec<Inst>,
    /// Those that are one parallel loop with the last of them.
    run: Vec<Inst>,
    pub chains: Vec<Chain>,
    /// The chain of a fold's operator.
    pub places: HashMap<(Inst, usize), usize>,
    pub plans: HashMap<Inst, KernelPlan>,
    /// Neutral arrays that wait for their fold.
    waiting: HashMap<Value, Candidate>,
    /// The chain that an array is made in.
    chain_of: HashMap<Value, usize>,
    /// The totals among these.
    totals: HashSet<Value>,
    /// The chain in which an array from elsewhere is read; nothing if several read it, or one does at any index.
    read_in: HashMap<Value, Option<usize>>,
}

/// A with-loop that may be computed in pieces of elements.
struct Candidate {
    inst: Inst,
    extents: Vec<i64>,
    plan: KernelPlan,
    /// Arrays that it reads at its own index only, and those that it reads otherwise.
    own: HashSet<Value>,
    other: HashSet<Value>,
    /// Those of the first that nobody reads after it.
    dying: Vec<Value>,
}

impl Joined {
    fn is_made(&self, v: Value) -> bool {
        self.chain_of.contains_key(&v) || self.waiting.contains_key(&v)
    }

    fn is_read(&self, v: Value) -> bool {
        let waits = |candidate: &Candidate| candidate.own.contains(&v) || candidate.other.contains(&v);
        self.read_in.contains_key(&v) || self.waiting.values().any(waits)
    }

    fn add(&mut self, chain: usize, candidate: Candidate) {
        for v in candidate.own {
            let before = self.read_in.get(&v).copied();
            let only = before.is_none_or(|of| of == Some(chain));
            self.read_in.insert(v, only.then_some(chain));
        }
        for v in candidate.other {
            self.read_in.insert(v, None);
        }
        self.plans.insert(candidate.inst, candidate.plan);
    }

    /// May a with-loop join a chain? Others must not need what it may be built in.
    fn may_add(&self, chain: usize, candidate: &Candidate) -> bool {
        candidate.dying.iter().all(|v| self.read_in.get(v).is_none_or(|of| *of == Some(chain)))
    }
}

impl Facts<'_> {
    /// Is this a fold, or the neutral array of one that is near?
    fn may_begin(&self, region: Region, start: usize, with: &With) -> bool {
        let insts = &self.func.regions[region].insts;
        let data = &self.func.insts[insts[start]];
        if with.ops.iter().any(|op| matches!(op, WithOp::Fold { .. })) {
            return true;
        }
        let &[result] = &data.results[..] else { return false };
        self.live.uses(result) == 1
            && insts[start + 1..].iter().take(AHEAD).any(|inst| match &self.func.insts[*inst].op {
                Op::With(with) => {
                    with.ops.iter().any(|op| matches!(op, WithOp::Fold { neutral, .. } if *neutral == result))
                }
                _ => false,
            })
    }

    /// What is joined from a position of a region on, if that is more than a fold.
    pub fn plan_epilogue(&mut self, region: Region, start: usize) -> Result<RunPlan, Refusal> {
        let func = self.func;
        let insts = &func.regions[region].insts;
        let Op::With(first) = &func.insts[insts[start]].op else { return Err(Refusal::OtherKind) };
        if self.options.device.is_some()
            || !self.options.parallel
            || self.site.in_launch
            || self.site.in_parfor()
            || self.site.sequential > 0
            || !self.may_begin(region, start, first)
        {
            return Err(Refusal::OtherKind);
        }
        let mut joined = Joined::default();
        for (position, &inst) in insts.iter().enumerate().skip(start) {
            match &func.insts[inst].op {
                Op::With(with) => {
                    let at = (region, position);
                    let added = self.add_fold(&mut joined, at, with)
                        || match joined.folds.is_empty() {
                            true => self.add_waiting(&mut joined, at, with),
                            false => self.add_consumer(&mut joined, at, with),
                        };
                    if !added {
                        break;
                    }
                    joined.end = position + 1;
                }
                _ if self.is_apart(inst, |v| joined.is_made(v)) => {}
                _ => break,
            }
        }
        match &joined.folds[..] {
            [] => Err(Refusal::OtherKind),
            [_] if joined.plans.is_empty() => Err(Refusal::NothingJoins),
            _ => Ok(RunPlan::Epilogue(Box::new(joined))),
        }
    }

    /// Adds a fold whose partial results are arrays that threads combine.
    fn add_fold(&mut self, joined: &mut Joined, (region, position): (Region, usize), with: &With) -> bool {
        let func = self.func;
        let inst = func.regions[region].insts[position];
        let Some((part, folds)) = self.folds_for_threads(inst, with) else { return false };
        let layout = self.partial_layout(&folds);
        if !self.is_shared(&folds, &layout)
            || !layout.is_in_function()
            || self.live.free(part.body).iter().any(|v| joined.is_made(*v))
            || !(joined.run.contains(&inst)
                || self.cut(part, self.thread_axis(part), self.fineness(&folds), Grain::ONE).is_some())
        {
            return false;
        }
        let mut fed = 0;
        for ((_, neutral), slot) in folds.iter().zip(&layout.slots) {
            if !joined.is_made(*neutral) {
                // The total may be built in it.
                if joined.is_read(*neutral) {
                    return false;
                }
                continue;
            }
            let extents = joined
                .waiting
                .get(neutral)
                .map(|candidate| &candidate.extents)
                .or_else(|| joined.chain_of.get(neutral).map(|chain| &joined.chains[*chain].extents));
            // What is made from a total is there too late.
            let in_time = joined.waiting.contains_key(neutral) || joined.totals.contains(neutral);
            if !in_time || self.live.uses(*neutral) != 1 || slot.extents.as_ref() != extents {
                return false;
            }
            fed += 1;
        }
        // A first fold takes all that waits; a later one goes on from an earlier one.
        let takes_all = joined.waiting.len() <= fed;
        if !takes_all || !joined.folds.is_empty() && fed == 0 {
            return false;
        }
        for (k, ((_, neutral), slot)) in folds.iter().zip(&layout.slots).enumerate() {
            let Some(extents) = &slot.extents else { continue };
            let chain = joined.chain_of.get(neutral).copied().unwrap_or(joined.chains.len());
            if chain == joined.chains.len() {
                let mut before = Vec::new();
                if let Some(candidate) = joined.waiting.remove(neutral) {
                    // What is begun is given up as a whole.
                    if !joined.may_add(chain, &candidate) {
                        return false;
                    }
                    before.push(candidate.inst);
                    joined.add(chain, candidate);
                    joined.chain_of.insert(*neutral, chain);
                }
                joined.chains.push(Chain { extents: extents.clone(), before, after: Vec::new() });
            }
            joined.places.insert((inst, k), chain);
            joined.chain_of.insert(func.insts[inst].results[k], chain);
            joined.totals.insert(func.insts[inst].results[k]);
        }
        if !joined.run.contains(&inst) {
            joined.run = self.fold_run(region, position).into_iter().map(|(_, inst)| inst).collect();
        }
        joined.folds.push(inst);
        true
    }

    /// Adds a with-loop that might make the neutral array of a fold to come.
    fn add_waiting(&mut self, joined: &mut Joined, at: (Region, usize), with: &With) -> bool {
        let Some(candidate) = self.candidate(at, with) else { return false };
        let &[result] = &self.func.insts[candidate.inst].results[..] else { return false };
        if self.live.uses(result) != 1 || candidate.own.iter().chain(&candidate.other).any(|v| joined.is_made(*v)) {
            return false;
        }
        joined.waiting.insert(result, candidate);
        true
    }

    /// Adds a with-loop that reads totals of one chain.
    fn add_consumer(&mut self, joined: &mut Joined, at: (Region, usize), with: &With) -> bool {
        let Some(mut candidate) = self.candidate(at, with) else { return false };
        if candidate.other.iter().any(|v| joined.is_made(*v)) {
            return false;
        }
        let chains: HashSet<usize> = candidate.own.iter().filter_map(|v| joined.chain_of.get(v).copied()).collect();
        let Some(&chain) = chains.iter().next().filter(|_| chains.len() == 1) else { return false };
        candidate.own.retain(|v| !joined.chain_of.contains_key(v));
        let results = &self.func.insts[candidate.inst].results;
        let used = results.iter().all(|v| self.live.last_use(at.0, *v).is_some());
        if !used || joined.chains[chain].extents != candidate.extents || !joined.may_add(chain, &candidate) {
            return false;
        }
        joined.chains[chain].after.push(candidate.inst);
        joined.add(chain, candidate);
        joined.chain_of.extend(results.iter().map(|v| (*v, chain)));
        true
    }

    /// A with-loop whose cells are scalars, over a box of constant extents from zero on; its body selects elements at its own index, and others
    /// that do not depend on it.
    fn candidate(&mut self, (region, position): (Region, usize), with: &With) -> Option<Candidate> {
        let func = self.func;
        let inst = func.regions[region].insts[position];
        let data = &func.insts[inst];
        let [part] = &with.parts[..] else { return None };
        let [WithOp::Genarray { frame: Frame::Known(frame), .. }, ..] = &with.ops[..] else { return None };
        let alike = |op: &WithOp| {
            matches!(op, WithOp::Genarray { frame: Frame::Known(other), cell: Some(cell), .. }
                if cell.is_empty() && other == frame)
        };
        let Generator::Known { step: None, width: None, .. } = &part.generator else { return None };
        if with.ordered || !with.ops.iter().all(alike) || !self.covers(with, frame) {
            return None;
        }
        let extents: Vec<i64> = frame.iter().map(|v| self.const_i32(*v).filter(|n| *n > 0)).collect::<Option<_>>()?;
        let body = &func.regions[part.body];
        let plain = |v: &Value| !self.dests.contains_key(v) && func.ty(*v).elem != Elem::Handle;
        if extents.is_empty() || !data.results.iter().all(plain) || !body.yields.iter().all(|v| func.ty(*v).is_scalar())
        {
            return None;
        }
        let is_update =
            |inst: &Inst| matches!(&func.insts[*inst].op, Op::Update { value, .. } if data.results.contains(value));
        if func.regions[region].insts.iter().any(is_update) {
            return None;
        }
        let (own, other) = self.reads(part.body, &extents)?;
        let strides: Vec<Ext> = (1..=extents.len()).map(|axis| Ext::Const(extents[axis..].iter().product())).collect();
        // Nothing is loaded or stored yet.
        let place = Val::from_u32(0);
        let sinks: Vec<Sink> = data
            .results
            .iter()
            .map(|v| Sink::Slice {
                elem: self.elem(*v),
                data: place,
                object: None,
                strides: strides.clone(),
                cell: Ext::Const(1),
                reused: None,
            })
            .collect();
        // Totals are not there yet.
        let totals: Vec<Value> = self.arrays_read(part.body).filter(|v| !self.has_val(*v)).collect();
        totals.iter().for_each(|v| self.bound.vals[*v] = Some(place));
        self.set_ranges(with);
        let plan = self.plan_elements(with, part, &sinks, &extents);
        totals.iter().for_each(|v| self.bound.vals[*v] = None);
        let plan = plan.ok()?;
        let along = matches!(plan.vec, VecChoice::Axis { axis, .. } if axis + 1 == extents.len());
        let plain = plan.jams.is_empty() && plan.measures.is_empty();
        let fixed = plan.separate || plan.even.is_some() || plan.shift.is_some();
        let dying = own.iter().copied().filter(|v| self.live.last_use(region, *v) == Some(position)).collect();
        (along && plain && !fixed).then_some(Candidate { inst, extents, plan, own, other, dying })
    }

    /// Arrays that a body reads at its own index only, and those that it reads elsewhere; nothing if it does more than scalar operations, or if
    /// its index is used for anything else and is not that of an element.
    fn reads(&self, body: Region, extents: &[i64]) -> Option<(HashSet<Value>, HashSet<Value>)> {
        let func = self.func;
        let region = &func.regions[body];
        let last = extents.len() - 1;
        let at_own: HashSet<Value> = self
            .own_reads(body, extents)
            .filter(|(_, element)| {
                let index = self.live.def(*element).map(|inst| &func.insts[inst].op);
                last == 0 || matches!(index, Some(Op::Sel { index, .. }) if index[last] == region.params[last])
            })
            .map(|(_, element)| element)
            .collect();
        let (mut own, mut other) = (HashSet::default(), HashSet::default());
        for inst in &region.insts {
            let data = &func.insts[*inst];
            let scalar = data.results.iter().all(|v| func.ty(*v).is_scalar() && !self.is_object(*v));
            let plain = matches!(
                data.op,
                Op::Const(_) | Op::Un(..) | Op::Bin(..) | Op::Convert(_) | Op::Select { .. } | Op::Sel { .. }
            );
            if !scalar || !plain {
                return None;
            }
            if data.results.iter().any(|v| at_own.contains(v)) {
                if let Op::Sel { array, .. } = &data.op {
                    own.insert(*array);
                }
                continue;
            }
            let mut uses_index = false;
            data.op.for_each_operand(|v| uses_index |= region.params.contains(&v));
            if uses_index && last > 0 {
                return None;
            }
            if let Op::Sel { array, .. } = &data.op {
                other.insert(*array);
            }
        }
        if last > 0 && region.yields.iter().any(|v| region.params.contains(v)) {
            return None;
        }
        own.retain(|v| !other.contains(v));
        let whole = |v: Value| own.contains(&v) || other.contains(&v);
        let all = self.arrays_read(body).all(|v| whole(v) && func.ty(v).rank().is_some() && !self.is_view(v));
        all.then_some((own, other))
    }
}
