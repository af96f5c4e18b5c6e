//! Runs orders of passes over a module.

use crate::motion::version_shifts;
use crate::pass::{Context, Folded, Pass, Remark, Run, Undecided};
use crate::pipeline::names::find_pass;
use crate::pipeline::orders::{self, Entry};
use ravel_source::Span;
use ravel_wir::compact::compact;
use ravel_wir::verify::{VerifyError, verify, verify_func};
use ravel_wir::{FuncId, Module};
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

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
    /// The program has something that cannot be compiled.
    Program { span: Span, why: String },
    /// The pass broke the IR: a bug of the pass; or the input was broken, and the name says so.
    Broken { pass: &'static str, problems: Vec<String> },
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PassError::Program { why, .. } => f.write_str(why),
            PassError::Unknown(name) => write!(f, "there is no pass `{name}`"),
            PassError::Broken { pass, problems } => write!(f, "after {pass}: {}", problems.join("; ")),
        }
    }
}

impl std::error::Error for PassError {}

/// The cycle ends after this many turns even if something still changes: every one leaves valid IR, so stopping early
/// costs speed only.
const MAX_TURNS: usize = 12;

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

/// A module under optimisation.
struct Runner {
    module: Module,
    cx: Context,
    /// What folding left undone, for the pass behind it.
    undecided: BTreeMap<FuncId, Undecided>,
}

fn whole(
    module: Module,
    settings: &Settings,
    watch: &mut dyn FnMut(&'static str, &Module) -> bool,
) -> Result<(Module, Context), PassError> {
    let without = settings.without.iter().map(|name| find(name).map(|pass| pass.name));
    let without = without.collect::<Result<Vec<_>, _>>()?;
    let mut runner = Runner::new(module, settings.verify)?;
    runner.cx.eager = settings.level == Level::Eager;
    runner.cx.for_device = settings.for_device;
    let lanes = if settings.for_device { orders::DEVICE } else { orders::LANES };
    let stages: &[(&[Entry], usize)] = match settings.level {
        Level::None => &[(orders::DERIVE, 1)],
        Level::Quick => &[(orders::DERIVE, 1), (orders::QUICK, 1), (orders::END, 1)],
        Level::Full | Level::Eager => &[
            (orders::FIRST, 1),
            (orders::DERIVE, 1),
            (orders::CYCLE, MAX_TURNS),
            (orders::LAST, 1),
            (lanes, 1),
            (orders::END, 1),
        ],
    };
    for &(order, most) in stages {
        let passes = || order.iter().flat_map(|(passes, _)| *passes).filter(|pass| !without.contains(&pass.name));
        // Functions that a whole turn has left alone need no other one.
        let mut active = vec![true; runner.module.funcs.len()];
        for _ in 0..most {
            let mut touched = vec![false; runner.module.funcs.len()];
            for pass in passes() {
                if runner.run(pass, &active, &mut touched)? && !watch(pass.name, &runner.module) {
                    return Ok((runner.module, runner.cx));
                }
            }
            runner.module.funcs.values_mut().for_each(compact);
            if !touched.contains(&true) {
                break;
            }
            active = touched;
        }
    }
    Ok((runner.module, runner.cx))
}

/// Runs the named passes in order, once each.
///
/// # Errors
/// An unknown name; in debug builds also ill-formed IR.
pub fn run_passes(module: Module, names: &[&str]) -> Result<(Module, Vec<Remark>), PassError> {
    chain(module, names, cfg!(debug_assertions)).map(|(module, cx)| (module, cx.remarks))
}

fn chain(module: Module, names: &[&str], verify: bool) -> Result<(Module, Context), PassError> {
    let mut runner = Runner::new(module, verify)?;
    for pass in names.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()? {
        let active = vec![true; runner.module.funcs.len()];
        runner.run(pass, &active, &mut active.clone())?;
        runner.module.funcs.values_mut().for_each(compact);
    }
    Ok((runner.module, runner.cx))
}

fn find(name: &str) -> Result<&'static Pass, PassError> {
    find_pass(name).ok_or_else(|| PassError::Unknown(name.to_string()))
}

impl Runner {
    fn new(module: Module, verify: bool) -> Result<Runner, PassError> {
        let mut cx = Context::new(&module);
        cx.verify = verify;
        let runner = Runner { module, cx, undecided: BTreeMap::new() };
        runner.check("the input")?;
        Ok(runner)
    }

    /// Runs a pass on the functions that are active, and notes those it changed.
    fn run(&mut self, pass: &Pass, active: &[bool], touched: &mut [bool]) -> Result<bool, PassError> {
        #[expect(clippy::disallowed_methods, reason = "the pipeline measures its passes")]
        let start = Instant::now();
        let changed = self.run_untimed(pass, active, touched);
        *self.cx.times.entry(pass.name).or_default() += start.elapsed();
        changed
    }

    fn run_untimed(&mut self, pass: &Pass, active: &[bool], touched: &mut [bool]) -> Result<bool, PassError> {
        self.cx.pass = pass.name;
        (self.cx.func, self.cx.id) = (String::new(), None);
        if let Run::Module(run) = pass.run {
            let changed = run(&mut self.module, &mut self.cx);
            if changed {
                touched.fill(true);
            }
            if let Some((span, why)) = self.cx.failure.take() {
                return Err(PassError::Program { span, why });
            }
            self.check(pass.name)?;
            return Ok(changed);
        }
        let mut any = false;
        for (n, touched) in touched.iter_mut().enumerate().take(self.module.funcs.len()) {
            if !active.get(n).is_none_or(|active| *active) {
                continue;
            }
            let id = FuncId::from_u32(n as u32);
            self.cx.begin(id, &self.module.funcs[id].name);
            let changed = self.run_on(pass, id);
            *touched |= changed;
            any |= changed;
            if self.cx.verify && changed {
                verify_func(&self.module, id).map_err(|errors| broken(pass.name, &errors))?;
            }
        }
        Ok(any)
    }

    /// Runs a pass on one function; hands on what folding could not decide.
    fn run_on(&mut self, pass: &Pass, id: FuncId) -> bool {
        let (func, cx) = (&mut self.module.funcs[id], &mut self.cx);
        match pass.run {
            Run::Module(_) => false,
            Run::Func(run) => run(func, cx),
            Run::Fold(run) => {
                let before = version_shifts::may_gain(func).then(|| func.clone());
                let Folded { changed, undecided } = run(func, cx);
                if let (Some(before), false) = (before, undecided.is_empty()) {
                    self.undecided.insert(id, Undecided { before, with_loops: undecided });
                }
                changed
            }
            Run::AfterFold(run) => self.undecided.remove(&id).is_some_and(|undecided| run(func, undecided, cx)),
        }
    }

    /// Judges what a pass left behind, where that is wanted.
    fn check(&self, pass: &'static str) -> Result<(), PassError> {
        match self.cx.verify {
            true => verify(&self.module).map_err(|errors| broken(pass, &errors)),
            false => Ok(()),
        }
    }
}

fn broken(pass: &'static str, errors: &[VerifyError]) -> PassError {
    PassError::Broken { pass, problems: errors.iter().map(ToString::to_string).collect() }
}
