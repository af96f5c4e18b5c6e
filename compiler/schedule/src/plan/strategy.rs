//! The strategies for several with-loops in a row, for a with-loop, for a partition and for a with-loop of folds, in the order in which they
//! are asked.
//!
//! A strategy decides from facts alone and gives a plan or says why not. The first plan is the one that is emitted, as it is; what the strategies
//! before it said goes with it, unless that is [`Refusal::OtherKind`]. A new strategy is a function here or in a file of its own, a row of a
//! table, a variant of [`RunPlan`], [`WithPlan`] or [`Plan`] and the arm that emits it: of `Lower::run_from`, `Lower::with_loop`,
//! `Lower::partition` or `Lower::chunk`.

use std::cell::RefCell;
use std::fmt;

use ravel_types::{BinOp, HashMap};
use ravel_wir::{Inst, Part, Region, Value, With};

use crate::facts::{Facts, Refusal, Sink};
use crate::plan::KernelPlan;
use crate::plan::append::Append;
use crate::plan::chunks::{CELLS, Fineness, Grain, Size};
use crate::plan::device::fold::{DeviceFold, GROUP};
use crate::plan::device::groups::GroupPlan;
use crate::plan::device::run::{Run, RunLaunch};
use crate::plan::find_epilogue::Joined;
use crate::plan::rows_in_place::Rows;
use crate::plan::tile::TilePlan;
use crate::plan::work_sharing::SharedPlan;

/// What is done with with-loops in a row.
pub(crate) enum RunPlan {
    /// With-loops computed where the totals of folds are combined ([`crate::threads::epilogue`]).
    Epilogue(Box<Joined>),
    /// Folds, with their positions, as one parallel loop ([`crate::threads::reduction_chains`]).
    Reductions(Vec<(usize, Inst)>),
    /// Shared launches ([`crate::device::run`]), or why each with-loop is for itself behind the scalars between them.
    Launches(Box<Run>, Result<RunLaunch, Refusal>),
    /// Each is for itself.
    Alone,
}

/// What is done with a with-loop as a whole.
pub(crate) enum WithPlan {
    /// One whose order serves the array that it changes, without that order; its cells may read what those behind them replace.
    AnyOrder {
        ascends: bool,
    },
    /// An array whose first elements nobody sees ([`crate::plan::dead_stores`]).
    DeadStores,
    /// Rows that were made where they are stored, with an earlier one.
    MadeBefore,
    Append(Append),
    RowsInPlace(Rows),
    Groups(Box<GroupPlan>),
    DeviceFold(DeviceFold),
    /// Its folds or its partitions, as these are planned then.
    Parts,
}

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
    /// Lanes in a chunk, in pieces that idle threads may take ([`crate::threads::work_sharing`]).
    Shared(Box<SharedPlan>),
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
pub(crate) struct Choice<P = Plan> {
    pub strategy: &'static str,
    pub plan: P,
    pub refused: Vec<(&'static str, Refusal)>,
}

/// A row of a table.
struct Strategy<F> {
    name: &'static str,
    plan: F,
}

type OfRun = fn(&mut Facts, Region, usize) -> Result<RunPlan, Refusal>;
type OfWithLoop = fn(&Facts, Inst, &With) -> Result<WithPlan, Refusal>;
type OfPartition = fn(&Facts, &Case) -> Result<Plan, Refusal>;
type OfFolds = fn(&Facts, &Folds) -> Result<Plan, Refusal>;

/// What with-loops are done together, from a position of a region on.
const RUN: [Strategy<OfRun>; 4] = [
    Strategy { name: "epilogue", plan: |facts, region, at| facts.plan_epilogue(region, at) },
    Strategy { name: "reduction chain", plan: |facts, region, at| facts.plan_reductions(region, at) },
    Strategy { name: "shared launches", plan: |facts, region, at| facts.plan_launches(region, at) },
    Strategy { name: "alone", plan: |_, _, _| Ok(RunPlan::Alone) },
];

const WITH_LOOP: [Strategy<OfWithLoop>; 8] = [
    Strategy { name: "any order", plan: any_order },
    Strategy { name: "dead stores", plan: |facts, inst, with| facts.plan_dead_stores(inst, with) },
    Strategy { name: "rows made before", plan: made_before },
    Strategy { name: "append", plan: |facts, inst, with| facts.plan_append(inst, with) },
    Strategy { name: "rows in place", plan: |facts, inst, with| facts.plan_rows_in_place(inst, with) },
    Strategy { name: "groups of work-items", plan: |facts, inst, with| facts.plan_groups(inst, with) },
    Strategy { name: "device fold", plan: |facts, inst, with| facts.plan_device_fold(inst, with) },
    Strategy { name: "parts", plan: |_, _, _| Ok(WithPlan::Parts) },
];

const PARTITION: [Strategy<OfPartition>; 7] = [
    Strategy { name: "tiles", plan: tiles },
    Strategy { name: "threads", plan: threads },
    Strategy { name: "fold threads", plan: fold_threads },
    Strategy { name: "mixed lanes", plan: mixed_lanes },
    Strategy { name: "shared kernel", plan: shared_kernel },
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

impl Choice<WithPlan> {
    /// What `--explain` says of strategies that refused and that somebody might have expected.
    pub fn explained(&self) -> impl Iterator<Item = String> + '_ {
        self.refused.iter().filter_map(|(name, refusal)| match (*name, refusal) {
            ("device fold", _) | (_, Refusal::LittleForLaunch(_)) => Some(format!("on the host: {refusal}")),
            ("groups of work-items", _) => Some(format!("no groups of work-items: {refusal}")),
            _ => None,
        })
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
    /// What is done with the with-loops from a position of a region on. Notes the ranges of their indices.
    pub fn choose_run(&mut self, region: Region, at: usize) -> Choice<RunPlan> {
        first(&RUN, |plan| plan(self, region, at))
    }

    /// What is done with a with-loop, the ranges of whose indices are noted.
    pub fn choose_with_loop(&self, inst: Inst, with: &With) -> Choice<WithPlan> {
        first(&WITH_LOOP, |plan| plan(self, inst, with))
    }

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
fn first<F, P>(table: &[Strategy<F>], mut ask: impl FnMut(&F) -> Result<P, Refusal>) -> Choice<P> {
    let mut refused = Vec::new();
    for Strategy { name, plan } in table {
        match ask(plan) {
            Ok(plan) => return Choice { strategy: name, plan, refused },
            Err(Refusal::OtherKind) => {}
            Err(refusal) => refused.push((*name, refusal)),
        }
    }
    unreachable!("the last strategy takes everything")
}

fn any_order(facts: &Facts, _: Inst, with: &With) -> Result<WithPlan, Refusal> {
    match (with.ordered, facts.has_effects(with)) {
        (false, _) => Err(Refusal::OtherKind),
        (true, true) => Err(Refusal::Effects),
        (true, false) => Ok(WithPlan::AnyOrder { ascends: facts.is_ascending(with) }),
    }
}

fn made_before(facts: &Facts, inst: Inst, _: &With) -> Result<WithPlan, Refusal> {
    if facts.made_updates.contains_key(&inst) { Ok(WithPlan::MadeBefore) } else { Err(Refusal::OtherKind) }
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

/// A kernel in a chunk; that there is none is said of lanes.
fn shared_kernel(facts: &Facts, case: &Case) -> Result<Plan, Refusal> {
    if facts.site.ascending || facts.site.parfors != 1 || !facts.may_share(case.with, case.part) {
        return Err(Refusal::OtherKind);
    }
    match kernel_case(facts, case).and_then(|()| case.kernel(facts, None)) {
        Ok(plan) => Ok(Plan::Shared(Box::new(facts.plan_sharing(case.part, &plan)?))),
        Err(_) => Err(Refusal::OtherKind),
    }
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

/// Nothing is said of with-loops for themselves: what is planned for them then is.
impl fmt::Display for RunPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunPlan::Epilogue(plan) => write!(f, "{} with-loops with the totals of folds", plan.plans.len()),
            RunPlan::Reductions(folds) => write!(f, "{} folds in one parallel loop", folds.len()),
            RunPlan::Launches(run, Ok(_)) => {
                write!(f, "{} with-loops", run.members + usize::from(run.anchor.is_some()))
            }
            RunPlan::Launches(_, Err(refusal)) => write!(f, "none, {refusal}"),
            RunPlan::Alone => Ok(()),
        }
    }
}

/// The same of partitions.
impl fmt::Display for WithPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WithPlan::AnyOrder { ascends: true } => {
                f.write_str("one cell after the other, in the array that it changes")
            }
            WithPlan::AnyOrder { ascends: false } => f.write_str("its order serves no array"),
            WithPlan::DeadStores => f.write_str("memory without elements"),
            WithPlan::MadeBefore => f.write_str("nothing is left to do"),
            WithPlan::Append(plan) => write!(f, "in the memory of what partition {} copies", plan.copy + 1),
            WithPlan::RowsInPlace(rows) => {
                write!(f, "{} in the array that they are put into", rows.updates.len())
            }
            WithPlan::Groups(plan) => f.write_str(&plan.pipeline.describe()),
            WithPlan::DeviceFold(_) => write!(f, "groups of {GROUP} work-items, partial results combined in order"),
            WithPlan::Parts => Ok(()),
        }
    }
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
            Plan::Threads(ThreadPlan { axis, size, inside, .. })
            | Plan::FoldThreads(FoldPlan { axis, size, inside, .. }) => {
                chunks(f, *axis, *size)?;
                inside.to_string().lines().try_for_each(|line| write!(f, "\n  {line}"))
            }
            Plan::Mixed(plan) | Plan::Lanes(plan) => f.write_str(&plan.describe()),
            Plan::Shared(plan) => {
                let when = if plan.long { "always" } else { "if there are idle threads" };
                write!(f, "{}; in pieces, {when}", plan.whole.describe())
            }
            Plan::Scalars => f.write_str("one cell after the other"),
            Plan::Partitions => f.write_str("one after the other"),
        }
    }
}

impl<P: fmt::Display> fmt::Display for Choice<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, refusal) in &self.refused {
            writeln!(f, "- {name}: {refusal}")?;
        }
        let plan = self.plan.to_string();
        if plan.is_empty() { Ok(()) } else { writeln!(f, "+ {}: {plan}", self.strategy) }
    }
}
