//! The orders in which passes run.

use crate::device::keep_on_device;
use crate::fusion::distribute;
use crate::fusion::fold_with_loops;
use crate::fusion::fuse;
use crate::fusion::fuse_folds;
use crate::fusion::fuse_nested;
use crate::fusion::merge_folds;
use crate::fusion::scalarize;
use crate::fusion::split_checks;
use crate::fusion::split_operators;
use crate::fusion::sums_first;
use crate::loops::batch_rounds;
use crate::loops::carry_chosen;
use crate::loops::carry_elements;
use crate::loops::column_loops;
use crate::loops::extreme_places;
use crate::loops::hoist_columns;
use crate::loops::lagged_loops;
use crate::loops::late_operands;
use crate::loops::loop_columns;
use crate::loops::loops_as_folds;
use crate::loops::merge_loops;
use crate::loops::normalize;
use crate::loops::parallelize;
use crate::loops::privatize_updates;
use crate::loops::slide_arrays;
use crate::loops::split_loops;
use crate::loops::sums_abreast;
use crate::loops::work_ahead;
use crate::motion::guard_extents;
use crate::motion::hoist_checks;
use crate::motion::licm;
use crate::motion::lift_branches;
use crate::motion::lift_checks;
use crate::motion::lift_folds;
use crate::motion::short_rows;
use crate::motion::short_runs;
use crate::motion::version_extents;
use crate::nests::branch_cells;
use crate::nests::dense_folds;
use crate::nests::folds_as_loops;
use crate::nests::interleave;
use crate::nests::join_steps;
use crate::nests::orient_arrays;
use crate::nests::roll_cells;
use crate::nests::row_folds;
use crate::nests::split_axes;
use crate::nests::split_borders;
use crate::pass::{Context, Pass, Remark, Run};
use crate::reuse::drop_copies;
use crate::reuse::fold_updates;
use crate::reuse::refill;
use crate::reuse::reread;
use crate::reuse::sum_updates;
use crate::reuse::update_parts;
use crate::reuse::update_rows;
use crate::scalar::cse;
use crate::scalar::dce;
use crate::scalar::inline;
use crate::scalar::narrow_integers;
use crate::scalar::pin_clocks;
use crate::scalar::prove_checks;
use crate::scalar::recognize_elementwise;
use crate::scalar::simplify;
use crate::small::compose_updates;
use crate::small::split_arrays;
use crate::small::split_folds;
use crate::small::unroll_arrays;
use crate::small::unroll_loops;
use crate::small::unroll_small;
use ravel_wir::compact::compact;
use ravel_wir::verify::{VerifyError, verify, verify_func};
use ravel_wir::{FuncId, Module};
use std::fmt;
use std::time::{Duration, Instant};

/// Every pass, by name.
pub const PASSES: &[&Pass] = &[
    &inline::PASS,
    &pin_clocks::PASS,
    &simplify::PASS,
    &cse::PASS,
    &prove_checks::PASS,
    &recognize_elementwise::PASS,
    &distribute::PASS,
    &branch_cells::PASS,
    &fold_updates::PASS,
    &split_operators::PASS,
    &scalarize::PASS,
    &merge_folds::PASS,
    &merge_loops::PASS,
    &fold_with_loops::PASS,
    &unroll_small::PASS,
    &unroll_arrays::PASS,
    &unroll_loops::PASS,
    &compose_updates::PASS,
    &slide_arrays::PASS,
    &split_arrays::PASS,
    &split_axes::PASS,
    &split_folds::PASS,
    &dense_folds::PASS,
    &sum_updates::PASS,
    &update_parts::PASS,
    &drop_copies::PASS,
    &update_rows::PASS,
    &short_rows::PASS,
    &version_extents::PASS,
    &guard_extents::PASS,
    &split_borders::PASS,
    &fuse::PASS,
    &fuse_folds::PASS,
    &fuse_nested::PASS,
    &licm::PASS,
    &split_checks::PASS,
    &lift_checks::PASS,
    &lift_branches::PASS,
    &lift_folds::PASS,
    &interleave::PASS,
    &join_steps::PASS,
    &roll_cells::PASS,
    &row_folds::PASS,
    &sums_abreast::PASS,
    &sums_first::PASS,
    &folds_as_loops::PASS,
    &hoist_columns::PASS,
    &narrow_integers::PASS,
    &orient_arrays::PASS,
    &keep_on_device::PASS,
    &privatize_updates::PASS,
    &batch_rounds::PASS,
    &carry_chosen::PASS,
    &column_loops::PASS,
    &carry_elements::PASS,
    &normalize::PASS,
    &hoist_checks::PASS,
    &loops_as_folds::PASS,
    &extreme_places::PASS,
    &parallelize::PASS,
    &split_loops::PASS,
    &loop_columns::PASS,
    &lagged_loops::PASS,
    &work_ahead::PASS,
    &dce::PASS,
    &late_operands::PASS,
    &reread::PASS,
    &refill::PASS,
    &short_runs::PASS,
];

/// How much to optimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing: the specialiser's output as it is.
    None,
    /// What makes code smaller without moving work: for fast compilation.
    Quick,
    Full,
    /// The same, also where it does not pay: so that tests of small programs see what large ones get.
    Eager,
}

/// Why a chain of passes could not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassError {
    /// No pass of that name.
    Unknown(String),
    /// The pass broke the IR: a bug of the pass; or the input was broken, and the name says so.
    Broken { pass: &'static str, problems: Vec<String> },
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PassError::Unknown(name) => write!(f, "there is no pass `{name}`"),
            PassError::Broken { pass, problems } => write!(f, "after {pass}: {}", problems.join("; ")),
        }
    }
}

impl std::error::Error for PassError {}

/// Runs before the cycle: bodies come together.
const FIRST: &[&Pass] = &[&inline::PASS, &pin_clocks::PASS];

/// Runs over each function until nothing changes.
const CYCLE: &[&Pass] = &[
    &simplify::PASS,
    &cse::PASS,
    &prove_checks::PASS,
    &split_checks::PASS,
    &lift_checks::PASS,
    &dce::PASS,
    &recognize_elementwise::PASS,
    &distribute::PASS,
    &branch_cells::PASS,
    &fold_updates::PASS,
    &split_operators::PASS,
    &scalarize::PASS,
    &merge_folds::PASS,
    &carry_chosen::PASS,
    &fold_with_loops::PASS,
    &guard_extents::PASS,
    &unroll_small::PASS,
    &unroll_arrays::PASS,
    &unroll_loops::PASS,
    &compose_updates::PASS,
    &split_arrays::PASS,
    &dce::PASS,
];

/// Runs once when the cycle has ended: with-loops of several operators are not folded or scalarised, and folding would copy
/// back what invariant motion moves out.
const LAST: &[&Pass] = &[
    &slide_arrays::PASS,
    &simplify::PASS,
    &dense_folds::PASS,
    &split_folds::PASS,
    &column_loops::PASS,
    &carry_elements::PASS,
    &fuse::PASS,
    &fuse_nested::PASS,
    &cse::PASS,
    &merge_loops::PASS,
    // What two with-loops read is needed once when they are one.
    &fold_with_loops::PASS,
    &cse::PASS,
    &simplify::PASS,
    &dce::PASS,
    &orient_arrays::PASS,
    &update_parts::PASS,
    &drop_copies::PASS,
    &split_axes::PASS,
    &short_rows::PASS,
    &prove_checks::PASS,
    &simplify::PASS,
    &unroll_small::PASS,
    &simplify::PASS,
    &dce::PASS,
    &version_extents::PASS,
    &licm::PASS,
    &sum_updates::PASS,
    &split_borders::PASS,
    &prove_checks::PASS,
    &simplify::PASS,
    &dce::PASS,
    &licm::PASS,
    &cse::PASS,
    &simplify::PASS,
    &dce::PASS,
];

/// Runs once more behind it: lanes need the final with-loops, and folding would undo the packing of inputs.
const LANES: &[&Pass] = &[
    &fuse_folds::PASS,
    &cse::PASS,
    &lift_branches::PASS,
    &simplify::PASS,
    &dce::PASS,
    &normalize::PASS,
    &simplify::PASS,
    &dce::PASS,
    &hoist_checks::PASS,
    &loops_as_folds::PASS,
    &extreme_places::PASS,
    &parallelize::PASS,
    &split_loops::PASS,
    &loop_columns::PASS,
    &lagged_loops::PASS,
    &work_ahead::PASS,
    &sums_abreast::PASS,
    &simplify::PASS,
    &dce::PASS,
    &sums_first::PASS,
    &folds_as_loops::PASS,
    &dce::PASS,
    &lift_folds::PASS,
    &interleave::PASS,
    &join_steps::PASS,
    &roll_cells::PASS,
    &row_folds::PASS,
    &hoist_columns::PASS,
    &update_rows::PASS,
    &privatize_updates::PASS,
    &batch_rounds::PASS,
    &short_runs::PASS,
    &simplify::PASS,
    &cse::PASS,
    &licm::PASS,
    &cse::PASS,
    &simplify::PASS,
    &narrow_integers::PASS,
    &dce::PASS,
];

/// The same for a device.
const DEVICE: &[&Pass] = &[&keep_on_device::PASS, &fuse::PASS, &cse::PASS, &simplify::PASS, &dce::PASS];

/// The quick level's only round.
const QUICK: &[&Pass] = &[&inline::PASS, &pin_clocks::PASS, &simplify::PASS, &cse::PASS, &dce::PASS];

/// What simplification would undo.
const END: &[&Pass] = &[&late_operands::PASS, &reread::PASS, &refill::PASS];

/// The cycle ends after this many rounds even if something still changes: every round leaves valid IR, so stopping early
/// costs speed only.
const MAX_ROUNDS: usize = 12;

/// How to optimise.
#[derive(Clone, Debug)]
pub struct Settings {
    pub level: Level,
    /// For a device, whose work-items are its lanes: a body is not written for several iterations at once.
    pub for_device: bool,
    /// Verify the IR after every pass, not in debug builds only.
    pub verify: bool,
    /// Passes that do not run: to learn what each is worth, or which one is wrong.
    pub without: Vec<String>,
}

impl Settings {
    pub fn new(level: Level) -> Settings {
        Settings { level, for_device: false, verify: cfg!(debug_assertions), without: Vec::new() }
    }
}

/// Optimises a module.
///
/// # Errors
/// [`PassError::Broken`] in debug builds, if a pass (or the producer of the module) left ill-formed IR.
pub fn optimize(module: Module, level: Level) -> Result<(Module, Vec<Remark>), PassError> {
    optimize_with(module, &Settings::new(level))
}

/// The same with all settings.
///
/// # Errors
/// As [`optimize`]; [`PassError::Unknown`] for a pass to leave out.
pub fn optimize_with(module: Module, settings: &Settings) -> Result<(Module, Vec<Remark>), PassError> {
    whole(module, settings, &mut |_, _| true).map(|(module, cx)| (module, cx.remarks))
}

/// The same, showing the module after every pass that changed it; ends where `watch` says no.
///
/// # Errors
/// As [`optimize`].
pub fn optimize_watched(
    module: Module,
    level: Level,
    watch: &mut dyn FnMut(&'static str, &Module) -> bool,
) -> Result<(Module, Vec<Remark>), PassError> {
    whole(module, &Settings::new(level), watch).map(|(module, cx)| (module, cx.remarks))
}

/// A module as passes left it, and the time that each of them took in all.
pub struct Timed {
    pub module: Module,
    pub remarks: Vec<Remark>,
    pub times: Vec<(&'static str, Duration)>,
}

/// [`run_passes`], or without names [`optimize`] in full, with times.
///
/// # Errors
/// As these.
pub fn run_timed(module: Module, names: Option<&[&str]>, settings: &Settings) -> Result<Timed, PassError> {
    let (module, cx) = match names {
        Some(names) => chain(module, names, settings.verify)?,
        None => whole(module, settings, &mut |_, _| true)?,
    };
    let mut times: Vec<_> = cx.times.into_iter().collect();
    times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    Ok(Timed { module, remarks: cx.remarks, times })
}

fn whole(
    mut module: Module,
    settings: &Settings,
    watch: &mut dyn FnMut(&'static str, &Module) -> bool,
) -> Result<(Module, Context), PassError> {
    if let Some(unknown) = settings.without.iter().find(|name| PASSES.iter().all(|pass| pass.name != **name)) {
        return Err(PassError::Unknown(unknown.clone()));
    }
    let mut cx = Context::new(&module);
    cx.verify = settings.verify;
    cx.keeps_unfolded = Some(guard_extents::may_gain);
    check(&module, "the input", &cx)?;
    cx.eager = settings.level == Level::Eager;
    cx.for_device = settings.for_device;
    let lanes = if settings.for_device { DEVICE } else { LANES };
    let stages: &[(&[&Pass], usize)] = match settings.level {
        Level::None => &[],
        Level::Quick => &[(QUICK, 1), (END, 1)],
        Level::Full | Level::Eager => &[(FIRST, 1), (CYCLE, MAX_ROUNDS), (LAST, 1), (lanes, 1), (END, 1)],
    };
    for &(passes, most) in stages {
        // Functions that a whole round has left alone need no other round.
        let mut active = vec![true; module.funcs.len()];
        for _ in 0..most {
            let mut touched = vec![false; module.funcs.len()];
            for pass in passes.iter().filter(|pass| !settings.without.iter().any(|name| name == pass.name)) {
                if run(pass, &mut module, &mut cx, &active, &mut touched)? && !watch(pass.name, &module) {
                    return Ok((module, cx));
                }
            }
            module.funcs.values_mut().for_each(compact);
            if !touched.contains(&true) {
                break;
            }
            active = touched;
        }
    }
    Ok((module, cx))
}

/// Runs the named passes in order, once each.
///
/// # Errors
/// An unknown name; in debug builds also ill-formed IR.
pub fn run_passes(module: Module, names: &[&str]) -> Result<(Module, Vec<Remark>), PassError> {
    chain(module, names, cfg!(debug_assertions)).map(|(module, cx)| (module, cx.remarks))
}

fn chain(mut module: Module, names: &[&str], verify: bool) -> Result<(Module, Context), PassError> {
    let mut cx = Context::new(&module);
    cx.verify = verify;
    cx.keeps_unfolded = Some(guard_extents::may_gain);
    check(&module, "the input", &cx)?;
    let find =
        |name: &&str| PASSES.iter().find(|p| p.name == *name).ok_or_else(|| PassError::Unknown(name.to_string()));
    for pass in names.iter().map(find).collect::<Result<Vec<_>, _>>()? {
        let active = vec![true; module.funcs.len()];
        run(pass, &mut module, &mut cx, &active, &mut active.clone())?;
        module.funcs.values_mut().for_each(compact);
    }
    Ok((module, cx))
}

/// Runs a pass on the functions that are active, and notes those it changed.
fn run(
    pass: &Pass,
    module: &mut Module,
    cx: &mut Context,
    active: &[bool],
    touched: &mut [bool],
) -> Result<bool, PassError> {
    #[expect(clippy::disallowed_methods, reason = "the pipeline measures its passes")]
    let start = Instant::now();
    let changed = run_untimed(pass, module, cx, active, touched);
    *cx.times.entry(pass.name).or_default() += start.elapsed();
    changed
}

fn run_untimed(
    pass: &Pass,
    module: &mut Module,
    cx: &mut Context,
    active: &[bool],
    touched: &mut [bool],
) -> Result<bool, PassError> {
    cx.pass = pass.name;
    (cx.func, cx.id) = (String::new(), None);
    let run = match pass.run {
        Run::Module(run) => {
            let changed = run(module, cx);
            if changed {
                touched.fill(true);
            }
            check(module, pass.name, cx)?;
            return Ok(changed);
        }
        Run::Func(run) => run,
    };
    let mut any = false;
    for (n, touched) in touched.iter_mut().enumerate().take(module.funcs.len()) {
        if !active.get(n).is_none_or(|active| *active) {
            continue;
        }
        let id = FuncId::from_u32(n as u32);
        cx.begin(id, &module.funcs[id].name);
        let changed = run(&mut module.funcs[id], cx);
        *touched |= changed;
        any |= changed;
        if cx.verify && changed {
            verify_func(module, id).map_err(|errors| broken(pass.name, &errors))?;
        }
    }
    Ok(any)
}

/// Judges what a pass left behind, where that is wanted.
fn check(module: &Module, pass: &'static str, cx: &Context) -> Result<(), PassError> {
    if cx.verify {
        verify(module).map_err(|errors| broken(pass, &errors))?;
    }
    Ok(())
}

fn broken(pass: &'static str, errors: &[VerifyError]) -> PassError {
    PassError::Broken { pass, problems: errors.iter().map(ToString::to_string).collect() }
}
