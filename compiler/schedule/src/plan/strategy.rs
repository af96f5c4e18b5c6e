//! The strategies for a partition and for a with-loop of folds, in the order in which they are asked.
//!
//! A strategy decides from facts alone and gives a plan or says why not. The first plan is the one that is emitted, as it is; what the strategies
//! before it said goes with it. A new strategy is a function here or in a file of its own, a row of a table, a variant of [`Plan`] and
//! the arm of `Lower::partition` or `Lower::chunk` that emits it.

use std::cell::RefCell;
use std::fmt;

use ravel_types::{BinOp, HashMap};
use ravel_wir::{Inst, Part, Value, With};

use crate::facts::{Facts, Refusal, Sink};
use crate::plan::KernelPlan;
use crate::plan::chunks::{CELLS, Fineness, Grain, Size};
use crate::plan::tile::TilePlan;

/// A partition to be computed, whole or in chunks along an axis.
pub(crate) struct Case<'a> {
    pub inst: Inst,
    pub with: &'a With,
    pub part: &'a Part,
    pub sinks: &'a [Sink],
    /// Do some of its cells go to folds?
    pub carries: bool,
    /// The axis that is cut into chunks, if one is.
    pub chunked: Option<usize>,
    /// Kernels that have been planned for it, by the axis that is cut: no strategy asks twice.
    kernels: RefCell<HashMap<Option<usize>, Result<KernelPlan, Refusal>>>,
}

/// What is done with a partition or a with-loop.
pub(crate) enum Plan {
    /// Cache tiles of packed operands ([`crate::tile`]).
    Tiles(Box<TilePlan>),
    /// An axis in chunks that threads share ([`crate::threads::parallel`]).
    Threads(ThreadPlan),
    /// The same with partial results of folds ([`crate::threads::fold_chunks`]).
    FoldThreads(FoldPlan),
    /// Lanes along the last axis, with cells for folds and for arrays ([`crate::kernel::map_reduce`]).
    Mixed(Box<KernelPlan>),
    /// Lanes ([`crate::kernel`]).
    Lanes(Box<KernelPlan>),
    /// One cell after the other.
    Scalars,
    /// One partition after the other, each as it is planned then.
    Partitions,
}

/// An axis in chunks.
pub(crate) struct ThreadPlan {
    pub axis: usize,
    pub grain: Grain,
    /// Indices of the axis and of a chunk, where known.
    pub size: Size,
    /// What is done with a chunk.
    pub inside: Box<Choice>,
}

/// Folds in chunks.
pub(crate) struct FoldPlan {
    pub axis: usize,
    pub folds: Vec<(BinOp, Value)>,
    pub fineness: Fineness,
    pub grain: Grain,
    pub size: Size,
    pub inside: Box<Choice>,
}

/// A plan, the strategy that it is of, and why those before it refused.
pub(crate) struct Choice {
    pub strategy: &'static str,
    pub plan: Plan,
    pub refused: Vec<(&'static str, Refusal)>,
}

/// A row of a table.
struct Strategy<F> {
    name: &'static str,
    plan: F,
}

type OfPartition = fn(&Facts, &Case) -> Result<Plan, Refusal>;
type OfFolds = fn(&Facts, &Folds) -> Result<Plan, Refusal>;

const PARTITION: [Strategy<OfPartition>; 6] = [
    Strategy { name: "tiles", plan: tiles },
    Strategy { name: "threads", plan: threads },
    Strategy { name: "fold threads", plan: fold_threads },
    Strategy { name: "mixed lanes", plan: mixed_lanes },
    Strategy { name: "lanes", plan: lanes },
    Strategy { name: "scalar loops", plan: |_, _| Ok(Plan::Scalars) },
];

/// What a thread does with its chunk.
const CHUNK: [Strategy<OfPartition>; 4] = [
    Strategy { name: "tiles", plan: chunk_tiles },
    Strategy { name: "mixed lanes", plan: mixed_lanes },
    Strategy { name: "lanes", plan: lanes },
    Strategy { name: "scalar loops", plan: |_, _| Ok(Plan::Scalars) },
];

/// A with-loop that has nothing but folds.
pub(crate) struct Folds<'a> {
    pub inst: Inst,
    pub with: &'a With,
    /// Partial results of each chunk are wanted even if that is one.
    pub at_once: bool,
    kernel: RefCell<Option<Result<KernelPlan, Refusal>>>,
}

const FOLDS: [Strategy<OfFolds>; 3] = [
    Strategy { name: "fold threads", plan: chunks_of_folds },
    Strategy { name: "fold lanes", plan: fold_lanes },
    Strategy { name: "partitions", plan: |_, _| Ok(Plan::Partitions) },
];

impl<'a> Case<'a> {
    pub fn new(inst: Inst, with: &'a With, part: &'a Part, sinks: &'a [Sink], carries: bool) -> Case<'a> {
        Case { inst, with, part, sinks, carries, chunked: None, kernels: RefCell::default() }
    }

    /// The same in chunks along an axis.
    pub fn in_chunks(mut self, axis: usize) -> Case<'a> {
        self.chunked = Some(axis);
        self
    }

    /// A kernel for the partition in chunks along an axis, or whole.
    fn kernel(&self, facts: &Facts, chunked: Option<usize>) -> Result<KernelPlan, Refusal> {
        if let Some(known) = self.kernels.borrow().get(&chunked) {
            return known.clone();
        }
        let plan = facts.plan_kernel(self.with, self.part, self.sinks, chunked);
        self.kernels.borrow_mut().insert(chunked, plan.clone());
        plan
    }
}

impl<'a> Folds<'a> {
    pub fn new(inst: Inst, with: &'a With, at_once: bool) -> Folds<'a> {
        Folds { inst, with, at_once, kernel: RefCell::default() }
    }

    fn has_results(&self) -> Result<(), Refusal> {
        if self.with.ops.is_empty() { Err(Refusal::OnlyChecks) } else { Ok(()) }
    }

    fn kernel(&self, facts: &Facts) -> Result<KernelPlan, Refusal> {
        self.kernel.borrow_mut().get_or_insert_with(|| facts.plan_fold(self.inst, self.with)).clone()
    }

    /// What is done with a chunk.
    fn chunk(&self, facts: &Facts) -> Choice {
        match self.lanes(facts) {
            Ok(plan) => Choice { strategy: "fold lanes", plan: Plan::Lanes(Box::new(plan)), refused: Vec::new() },
            Err(refusal) => {
                Choice { strategy: "scalar loops", plan: Plan::Scalars, refused: vec![("fold lanes", refusal)] }
            }
        }
    }

    fn lanes(&self, facts: &Facts) -> Result<KernelPlan, Refusal> {
        if self.with.ordered {
            return Err(Refusal::Ordered);
        }
        if facts.site.in_launch {
            return Err(Refusal::OnDevice);
        }
        self.kernel(facts)
    }
}

impl Choice {
    /// What `--explain` says of scalar loops: why there are no lanes, if somebody might have expected some.
    pub fn why_scalar(&self) -> Option<&Refusal> {
        let of_lanes = |(name, _): &&(&str, Refusal)| name.ends_with("lanes");
        self.refused.iter().filter(of_lanes).map(|(_, refusal)| refusal).find(|refusal| refusal.is_said())
    }
}

impl Facts<'_> {
    /// What is done with a partition.
    pub fn choose(&self, case: &Case) -> Choice {
        let table = if case.chunked.is_none() { &PARTITION[..] } else { &CHUNK };
        first(table, |plan| plan(self, case))
    }

    /// What is done with a with-loop of folds; [`Plan::Partitions`] if it is no better than others.
    pub fn choose_folds(&self, folds: &Folds) -> Choice {
        first(&FOLDS, |plan| plan(self, folds))
    }
}

/// The first strategy that does not refuse.
fn first<F>(table: &[Strategy<F>], ask: impl Fn(&F) -> Result<Plan, Refusal>) -> Choice {
    let mut refused = Vec::new();
    for Strategy { name, plan } in table {
        match ask(plan) {
            Ok(plan) => return Choice { strategy: name, plan, refused },
            Err(refusal) => refused.push((*name, refusal)),
        }
    }
    unreachable!("the last strategy takes everything")
}

fn tiles(facts: &Facts, case: &Case) -> Result<Plan, Refusal> {
    if case.carries {
        return Err(Refusal::CarriesFolds);
    }
    if facts.site.without_tiles {
        return Err(Refusal::FitsCaches);
    }
    if case.with.ordered {
        return Err(Refusal::Ordered);
    }
    let plan = facts.plan_tiles(case.with, case.part, case.sinks, case.chunked.is_some())?;
    Ok(Plan::Tiles(Box::new(plan)))
}

/// Tiles of a chunk have all of its columns.
fn chunk_tiles(facts: &Facts, case: &Case) -> Result<Plan, Refusal> {
    match case.chunked {
        Some(0) => kernel_case(facts, case).and_then(|()| tiles(facts, case)),
        _ => Err(Refusal::InnerChunks),
    }
}

/// Any axis in chunks, of cells that go to arrays.
fn threads(facts: &Facts, case: &Case) -> Result<Plan, Refusal> {
    let Case { inst, with, part, sinks, .. } = *case;
    if case.carries {
        return Err(Refusal::CarriesFolds);
    }
    if sinks.is_empty() {
        return Err(Refusal::NoResult);
    }
    if !facts.may_run_on_threads(with, part) || !sinks.iter().all(|sink| matches!(sink, Sink::Slice { .. })) {
        return Err(Refusal::NotParallel);
    }
    let mut axis = facts.thread_axis(part);
    // Masks and shifted sums need to know where their axis begins.
    if axis > 0 && case.kernel(facts, None).is_ok_and(|plan| plan.is_fixed_along(axis)) {
        axis = 0;
    }
    let kernel = case.kernel(facts, Some(axis));
    let grain = match &kernel {
        Ok(plan) => Grain::of(plan, axis),
        Err(_) if facts.may_run_abreast(part.body) => Grain::ABREAST,
        Err(_) => Grain::ONE,
    };
    let Some(size) = facts.cut(part, axis, CELLS, grain) else { return Err(Refusal::TooLittleForThreads) };
    let chunk = Case::new(inst, with, part, sinks, false).in_chunks(axis);
    chunk.kernels.borrow_mut().insert(Some(axis), kernel);
    Ok(Plan::Threads(ThreadPlan { axis, grain, size, inside: Box::new(facts.choose(&chunk)) }))
}

/// Chunks with partial results, of cells some of which go to folds.
fn fold_threads(facts: &Facts, case: &Case) -> Result<Plan, Refusal> {
    let Case { inst, with, part, sinks, carries, .. } = *case;
    if !carries {
        return Err(Refusal::NoFolds);
    }
    if !facts.may_run_on_threads(with, part) {
        return Err(Refusal::NotParallel);
    }
    let Some(folds) = facts.regrouping_folds(inst, with, sinks) else { return Err(Refusal::KeepsOrder) };
    let (axis, fineness) = (facts.thread_axis(part), facts.fineness(&folds));
    let Some(size) = facts.cut(part, axis, fineness, Grain::ONE) else { return Err(Refusal::TooLittleForThreads) };
    let inside = Box::new(facts.choose(&Case::new(inst, with, part, sinks, true).in_chunks(axis)));
    Ok(Plan::FoldThreads(FoldPlan { axis, folds, fineness, grain: Grain::ONE, size, inside }))
}

fn mixed_lanes(facts: &Facts, case: &Case) -> Result<Plan, Refusal> {
    if !case.carries {
        return Err(Refusal::NoFolds);
    }
    if facts.site.in_launch {
        return Err(Refusal::OnDevice);
    }
    if facts.regrouping_folds(case.inst, case.with, case.sinks).is_none() {
        return Err(Refusal::KeepsOrder);
    }
    let plan = facts.plan_mixed(case.inst, case.with, case.part, case.sinks)?;
    Ok(Plan::Mixed(Box::new(plan)))
}

fn lanes(facts: &Facts, case: &Case) -> Result<Plan, Refusal> {
    kernel_case(facts, case)?;
    Ok(Plan::Lanes(Box::new(case.kernel(facts, case.chunked)?)))
}

/// Is a partition one that kernels might compute?
fn kernel_case(facts: &Facts, case: &Case) -> Result<(), Refusal> {
    if case.carries {
        return Err(Refusal::CarriesFolds);
    }
    if case.with.ordered {
        return Err(Refusal::Ordered);
    }
    if facts.site.in_launch {
        return Err(Refusal::OnDevice);
    }
    if case.sinks.is_empty() {
        return Err(Refusal::NoResult);
    }
    let yields = &facts.func.regions[case.part.body].yields;
    match case.sinks.iter().zip(yields).all(|(sink, cell)| facts.is_kernel_cell(case.part.body, sink, *cell)) {
        true => Ok(()),
        false => Err(Refusal::CellsNoScalars),
    }
}

/// Chunks with partial results, of a with-loop that has nothing but folds that may be regrouped.
fn chunks_of_folds(facts: &Facts, case: &Folds) -> Result<Plan, Refusal> {
    case.has_results()?;
    let Some((part, folds)) = facts.folds_for_threads(case.inst, case.with) else { return Err(Refusal::NotParallel) };
    let axis = facts.thread_axis(part);
    let grain = match case.kernel(facts) {
        Ok(plan) if axis + 1 == facts.func.regions[part.body].params.len() => Grain::of_fold(&plan),
        _ => Grain::ONE,
    };
    let fineness = facts.fineness(&folds);
    let size = match facts.cut(part, axis, fineness, grain) {
        Some(size) => size,
        None if case.at_once => Size::One,
        None => return Err(Refusal::TooLittleForThreads),
    };
    Ok(Plan::FoldThreads(FoldPlan { axis, folds, fineness, grain, size, inside: Box::new(case.chunk(facts)) }))
}

/// Lanes along the last axis of all partitions.
fn fold_lanes(facts: &Facts, case: &Folds) -> Result<Plan, Refusal> {
    case.has_results()?;
    if facts.has_parts_for_threads(case.with) {
        return Err(Refusal::PartsForThreads);
    }
    Ok(Plan::Lanes(Box::new(case.lanes(facts)?)))
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chunks = |f: &mut fmt::Formatter<'_>, axis: usize, size: Size| match size {
            Size::Known(n, chunk) => write!(f, "axis {axis}, {n} indices in chunks of {chunk}"),
            Size::Open => write!(f, "axis {axis}, in chunks whose size the run decides"),
            Size::One => write!(f, "axis {axis}, in one chunk beside those of other folds"),
        };
        match self {
            Plan::Tiles(plan) => f.write_str(&plan.describe()),
            Plan::Threads(plan) => chunks(f, plan.axis, plan.size),
            Plan::FoldThreads(plan) => chunks(f, plan.axis, plan.size),
            Plan::Mixed(plan) | Plan::Lanes(plan) => f.write_str(&plan.describe()),
            Plan::Scalars => f.write_str("one cell after the other"),
            Plan::Partitions => f.write_str("one after the other"),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, refusal) in &self.refused {
            writeln!(f, "- {name}: {refusal}")?;
        }
        writeln!(f, "+ {}: {}", self.strategy, self.plan)?;
        match &self.plan {
            Plan::Threads(ThreadPlan { inside, .. }) | Plan::FoldThreads(FoldPlan { inside, .. }) => {
                inside.to_string().lines().try_for_each(|line| writeln!(f, "  {line}"))
            }
            _ => Ok(()),
        }
    }
}
