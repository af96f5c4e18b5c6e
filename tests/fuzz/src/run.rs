//! Running a module in every way there is.

use crate::jits::Jits;
use crate::outcome::{self, Outcome, difference, identical};
use ravel_codegen::Word;
use ravel_driver::{Backend, Kind};
use ravel_interp::Val;
use ravel_opt::{Level, PassError};
use ravel_runtime::array::Array;
use ravel_runtime::fault::run_session;
use ravel_runtime::natives::table;
use ravel_runtime::stats;
use ravel_schedule::{Capabilities, Device, Options, schedule};
use ravel_types::{Elem, Scalar, Ty};
use ravel_wir::verify::verify;
use ravel_wir::{Module, Op};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What went wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// `interpreter`, `optimiser`, or how compiled code ran.
    pub stage: String,
    pub what: String,
}

/// How compiled code is made and run.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub optimized: bool,
    /// What optimisation may do it does, also where it does not pay.
    pub eager: bool,
    pub vectors: bool,
    pub parallel: bool,
    pub threads: usize,
    pub backend: Backend,
    /// Everything that can be a kernel is one, of the OpenCL device.
    pub device: bool,
    /// Plain counts of references give the processor away halfway, so that those which threads share go wrong.
    pub widened: bool,
}

impl Way {
    /// As programs run.
    fn usual() -> Way {
        Way {
            optimized: true,
            eager: false,
            vectors: true,
            parallel: true,
            threads: 2,
            backend: Backend::default(),
            device: false,
            widened: false,
        }
    }

    /// Kernels and the code around them.
    pub fn on_device() -> Way {
        Way { device: true, ..Way::usual() }
    }

    fn name(self) -> String {
        if self.device {
            return "code for a device".to_string();
        }
        format!(
            "{}'s {} code, {}, {}{}",
            self.backend.title(),
            match (self.eager, self.optimized) {
                (true, _) => "eagerly optimised",
                (false, true) => "optimised",
                (false, false) => "unoptimised",
            },
            if self.vectors { "vectors" } else { "scalars" },
            if self.parallel { format!("{} threads", self.threads) } else { "sequential".to_string() },
            if self.widened { ", slow counts" } else { "" },
        )
    }
}

/// The ways of every case: the usual one on several threads and on one, and unusual ones in turn.
pub fn ways(seed: u64) -> Vec<Way> {
    let usual = Way::usual();
    let other = match seed % 3 {
        0 => Way { optimized: false, threads: 3, ..usual },
        1 => Way { optimized: false, vectors: false, parallel: false, threads: 1, ..usual },
        _ => Way { vectors: false, parallel: false, threads: 1, ..usual },
    };
    let mut ways = vec![usual, Way { threads: 1, ..usual }, other];
    if seed.is_multiple_of(4) {
        ways.push(Way { threads: 3, widened: true, ..usual });
    }
    if seed.is_multiple_of(3) {
        ways.push(Way { eager: true, ..usual });
    }
    // LLVM is slower to compile by an order of magnitude.
    if seed.is_multiple_of(5) {
        let others = Backend::all().filter(|b| b.kind() == Kind::Processor && *b != usual.backend);
        ways.extend(others.flat_map(|backend| [1, 2].map(|threads| Way { backend, threads, ..usual })));
    }
    ways
}

/// Text of a caught panic.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panic: {}", text.unwrap_or("?"))
}

/// Runs a module everywhere and compares with the reference interpreter.
///
/// # Errors
/// The first difference.
pub fn check(module: &Module, jits: &mut Jits, ways: &[Way]) -> Result<(), Failure> {
    let fail = |stage: &str, what: String| Failure { stage: stage.to_string(), what };
    if let Err(errors) = verify(module) {
        return Err(fail("generator", errors[0].to_string()));
    }
    let expected = interpret(module);
    if let Outcome::Broken(problem) = &expected {
        return Err(fail("generator", problem.clone()));
    }
    let optimized = optimize(module, &expected)?;
    let plain = without_derivatives(module, &expected)?;
    // By backend, what the usual code gave on the first number of threads: the others must give the same bits.
    let mut first: BTreeMap<&str, Outcome> = BTreeMap::new();
    for way in ways {
        let other;
        let code = if way.device || way.eager {
            other = optimize_otherwise(module, &expected, *way)?;
            &other
        } else if way.optimized {
            &optimized
        } else {
            plain.as_ref().unwrap_or(module)
        };
        let found = match catch_unwind(AssertUnwindSafe(|| compiled(code, *way, jits))) {
            Ok(Ok(found)) => found,
            Ok(Err(problem)) => return Err(fail(&way.name(), problem)),
            Err(panic) => return Err(fail(&way.name(), panic_text(&*panic))),
        };
        if let Some(text) = difference(&expected, &found) {
            return Err(fail(&way.name(), text));
        }
        if way.optimized && way.parallel && !way.device && !way.eager {
            let before = first.entry(way.backend.name()).or_insert_with(|| found.clone());
            if !identical(before, &found) {
                return Err(fail(&way.name(), "other bits than with another number of threads".to_string()));
            }
        }
    }
    Ok(())
}

/// Runs a module in the reference interpreter.
pub fn interpret(module: &Module) -> Outcome {
    Outcome::of(ravel_interp::run(&Arc::new(module.clone()), table::find))
}

/// Optimises; if the result computes something else, the first pass that changed it is named.
fn optimize(module: &Module, expected: &Outcome) -> Result<Module, Failure> {
    let problem = |result: &Module| match verify(result) {
        Err(errors) => Some(format!("broken IR: {}", errors[0])),
        Ok(()) => difference(expected, &interpret(result)),
    };
    let result = catch_unwind(AssertUnwindSafe(|| ravel_opt::optimize(module.clone(), Level::Full)));
    let what = match result {
        Ok(Ok((result, _))) => match problem(&result) {
            None => return Ok(result),
            Some(what) => what,
        },
        Ok(Err(PassError::Broken { pass, problems })) => {
            let what = format!("broken IR: {}", problems.join("; "));
            return Err(Failure { stage: format!("pass {pass}"), what });
        }
        Ok(Err(error)) => error.to_string(),
        Err(panic) => panic_text(&*panic),
    };
    // Which pass was it?
    let mut culprit = "optimiser".to_string();
    let mut last = module.clone();
    let _ = catch_unwind(AssertUnwindSafe(|| {
        ravel_opt::optimize_watched(module.clone(), Level::Full, &mut |pass, after| {
            culprit = format!("pass {pass}");
            let wrong = problem(after).is_some();
            if !wrong {
                last = after.clone();
            }
            !wrong
        })
    }));
    if std::env::var_os("RAVEL_FUZZ_LAST").is_some() {
        eprintln!("// before {culprit}\n{}", ravel_wir::print::print_module(&last));
    }
    Err(Failure { stage: culprit, what })
}

/// The module with its derivatives as code, and nothing else done to it; nothing if it has none.
fn without_derivatives(module: &Module, expected: &Outcome) -> Result<Option<Module>, Failure> {
    let is_derivative = |op: &Op| matches!(op, Op::Derive { .. } | Op::Detach(_));
    if !module.funcs.values().any(|func| func.insts.values().any(|inst| is_derivative(&inst.op))) {
        return Ok(None);
    }
    let fail = |what: String| Failure { stage: "derivatives alone".to_string(), what };
    let result = catch_unwind(AssertUnwindSafe(|| ravel_opt::optimize(module.clone(), Level::None)));
    let (result, _) = result.map_err(|panic| fail(panic_text(&*panic)))?.map_err(|e| fail(e.to_string()))?;
    verify(&result).map_err(|errors| fail(format!("broken IR: {}", errors[0])))?;
    match difference(expected, &interpret(&result)) {
        None => Ok(Some(result)),
        Some(what) => Err(fail(what)),
    }
}

/// Optimises for a device, or eagerly.
fn optimize_otherwise(module: &Module, expected: &Outcome, way: Way) -> Result<Module, Failure> {
    let stage = if way.device { "optimiser for a device" } else { "eager optimiser" };
    let fail = |what: String| Failure { stage: stage.to_string(), what };
    let result = catch_unwind(AssertUnwindSafe(|| match way.device {
        true => ravel_opt::optimize_with(
            module.clone(),
            &ravel_opt::Settings { for_device: true, ..ravel_opt::Settings::new(Level::Full) },
        ),
        false => ravel_opt::optimize(module.clone(), Level::Eager),
    }));
    let (result, _) = result.map_err(|panic| fail(panic_text(&*panic)))?.map_err(|e| fail(e.to_string()))?;
    verify(&result).map_err(|errors| fail(format!("broken IR: {}", errors[0])))?;
    match difference(expected, &interpret(&result)) {
        None => Ok(result),
        Some(what) => Err(fail(what)),
    }
}

/// Compiles and runs the entry.
fn compiled(module: &Module, way: Way, jits: &mut Jits) -> Result<Outcome, String> {
    let target = match way.vectors {
        true => way.backend.capabilities().map_err(|e| e.to_string())?,
        false => Capabilities::SCALAR,
    };
    let options = Options {
        unchecked: false,
        lent: false,
        parallel: way.parallel,
        ranks: false,
        // So that small arrays are stored as large ones are.
        large_result: 64,
        profile: None,
        entry_name: "fuzz".to_string(),
        device: way.device.then_some(Device { launch_work: 1.0 }),
        release_globals: true,
        position: &|span, name| format!("fuzz:{}:1 in {name}", span.start),
    };
    let (mut nest, _) = schedule(module, &target, &options).map_err(|e| e.to_string())?;
    if way.widened {
        ravel_schedule::widen_counts(&mut nest);
    }
    if std::env::var_os("RAVEL_FUZZ_NEST").is_some() {
        eprintln!("{nest}");
    }
    if way.device {
        ravel_nest::simplify::simplify_module(&mut nest);
        let program = ravel_codegen_opencl::split(&mut nest).map_err(|e| e.to_string())?;
        if std::env::var_os("RAVEL_FUZZ_NEST").is_some() {
            eprintln!("{}", program.source);
        }
    }
    let entry = jits.compile(way.backend, &nest, "fuzz")?;
    let id = module.entry.ok_or("no entry")?;
    let func = &module.funcs[id];
    let types: Vec<Ty> = func.results().iter().map(|v| func.ty(*v).clone()).collect();
    let objects: Vec<bool> = types.iter().map(|t| !t.is_scalar()).collect();
    if ravel_runtime::pool::threads() != way.threads {
        ravel_runtime::pool::set_threads(way.threads);
    }
    stats::enable();
    stats::reset();
    let run = run_session(move || entry.call_owned(Vec::new(), &objects));
    let words = match run {
        Ok(words) => words,
        Err(report) => return Ok(Outcome::Fault(report.fault.message)),
    };
    let values: Result<Vec<Val>, String> = words.iter().zip(&types).map(|(word, ty)| value(word, ty)).collect();
    let values = values?;
    drop(words);
    let live = stats::snapshot().live;
    if live != 0 {
        return Err(format!("{live} arrays are left"));
    }
    Ok(Outcome::Values(values))
}

fn value(word: &Word, ty: &Ty) -> Result<Val, String> {
    match word {
        Word::Bits(bits) if ty.is_scalar() => {
            Scalar::from_bits(ty.elem, *bits).map(Val::Scalar).ok_or_else(|| "a handle".to_string())
        }
        Word::Bits(_) => Err("a null array".to_string()),
        Word::Object(array) => {
            let values = elements(array, ty.elem).ok_or("an array of the wrong element type")?;
            let shape = array.view().shape();
            if ty.rank().is_some_and(|r| r != shape.len()) || shape.iter().product::<i64>() != values.len() as i64 {
                return Err(format!("an array of shape {shape:?} and {} elements for {ty}", values.len()));
            }
            Ok(outcome::value(ty.elem, shape, &values))
        }
    }
}

fn elements(array: &Array, elem: Elem) -> Option<Vec<Scalar>> {
    let view = array.view();
    macro_rules! read {
        ($ty:ty, $make:expr) => {
            view.as_slice::<$ty>().map(|s| s.iter().map(|v| $make(*v)).collect())
        };
    }
    match elem {
        Elem::Bool => read!(u8, |v| Scalar::Bool(v != 0)),
        Elem::Char => read!(u8, Scalar::Char),
        Elem::U8 => read!(u8, Scalar::U8),
        Elem::I8 => read!(i8, Scalar::I8),
        Elem::I16 => read!(i16, Scalar::I16),
        Elem::I32 => read!(i32, Scalar::I32),
        Elem::I64 => read!(i64, Scalar::I64),
        Elem::U16 => read!(u16, Scalar::U16),
        Elem::U32 => read!(u32, Scalar::U32),
        Elem::U64 => read!(u64, Scalar::U64),
        Elem::F32 => read!(f32, Scalar::F32),
        Elem::F64 => read!(f64, Scalar::F64),
        Elem::Handle => None,
    }
}
