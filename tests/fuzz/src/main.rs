//! `ravel-fuzz`: runs random cases, in child processes, so that code that crashes or hangs is a failure like any other.
//!
//! Every night: `RAVEL_BIN=target/release/ravel ravel-fuzz --mutate --seed $(date +%s)0000 --count 10000 --failures 50 --shrink`,
//! some 20 minutes on two cores.

use ravel_fuzz::jits::Jits;
use ravel_fuzz::mutate::Corpus;
use ravel_fuzz::{derive, run, sac, shrink, wir};
use ravel_source::FileId;
use ravel_wir::Module;
use ravel_wir::print::print_module;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const USAGE: &str = "usage: ravel-fuzz [--sac | --derive] [--device] [--seed S] [--count N] [--jobs J] [--failures F] [--shrink]   run N cases from seed S on
       ravel-fuzz --mutate [--seed S] [--count N] [--jobs J] [--failures F] [--shrink]   check, compile and run changed programs of tests/golden
       ravel-fuzz [--sac | --derive | --mutate] --show S                                              print the case of a seed
       ravel-fuzz --file FILE.wir [--device] [--shrink]                                run one module
Cases are modules of WIR, with --derive such as have derivatives, or with --sac programs. With --interp-only derivatives are those of the interpreter alone. With --device they run on the OpenCL device alone. --shrink makes what fails smaller.";

/// Cases of one child, and of one whose kernels take long to build.
const BATCH: u64 = 200;
const DEVICE_BATCH: u64 = 20;
/// A case that takes longer hangs.
const CASE_TIME: Duration = Duration::from_secs(60);

struct Arguments {
    seed: u64,
    count: u64,
    jobs: usize,
    failures: usize,
    show: Option<u64>,
    file: Option<String>,
    shrink: bool,
    child: bool,
    sac: bool,
    device: bool,
    mutate: bool,
    derive: bool,
    /// Derivatives are compared with themselves alone.
    interp_only: bool,
}

impl Arguments {
    fn ways(&self, seed: u64) -> Vec<run::Way> {
        if self.device { vec![run::Way::on_device()] } else { run::ways(seed) }
    }
}

fn arguments() -> Result<Arguments, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut found = Arguments {
        seed: 0,
        count: 1000,
        jobs: cores,
        failures: 5,
        show: None,
        file: None,
        shrink: false,
        child: false,
        sac: false,
        device: false,
        mutate: false,
        derive: false,
        interp_only: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut next = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("`{text}` is no number"));
        match arg.as_str() {
            "--seed" => found.seed = number(next()?)?,
            "--count" => found.count = number(next()?)?,
            "--jobs" => found.jobs = number(next()?)? as usize,
            "--failures" => found.failures = number(next()?)? as usize,
            "--show" => found.show = Some(number(next()?)?),
            "--file" => found.file = Some(next()?),
            "--shrink" => found.shrink = true,
            "--sac" => found.sac = true,
            "--device" => found.device = true,
            "--mutate" => found.mutate = true,
            "--derive" => found.derive = true,
            "--interp-only" => found.interp_only = true,
            "--child" => found.child = true,
            _ => return Err(USAGE.to_string()),
        }
    }
    Ok(found)
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(2);
        }
    };
    if arguments.mutate {
        return if mutated(&arguments) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if let Some(seed) = arguments.show {
        print!("{}", text_of(seed, &arguments));
        return ExitCode::SUCCESS;
    }
    let failures = match &arguments.file {
        Some(path) => one_file(path, &arguments),
        None if arguments.child => {
            child(&arguments);
            0
        }
        None => parent(&arguments),
    };
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs programs with changed text, or shows one; gives the number of failures.
fn mutated(arguments: &Arguments) -> usize {
    let corpus = Corpus::read(&ravel_tests::repository().join("tests/golden"));
    if let Some(seed) = arguments.show {
        // A reader that is gone needs no text.
        let _ = std::io::stdout().write_all(&corpus.case(seed).text);
        return 0;
    }
    let (next, end) = (AtomicU64::new(arguments.seed), arguments.seed.saturating_add(arguments.count));
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let enough = failures.lock().is_ok_and(|f| f.len() >= arguments.failures);
                    if seed >= end || enough {
                        return;
                    }
                    if let Err(failure) = corpus.case(seed).attempt() {
                        eprintln!("seed {seed}: {}: {}", failure.kind, failure.what);
                        if let Ok(mut failures) = failures.lock() {
                            failures.push((seed, failure));
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_default();
    for (seed, failure) in &failures {
        let case = corpus.case(*seed);
        println!("// seed {seed}: {}\n// of {}", failure.kind, case.origin);
        if arguments.shrink {
            println!("{}", String::from_utf8_lossy(&case.smallest(&failure.kind).text));
        }
    }
    println!("{} cases, {} failures", arguments.count, failures.len());
    failures.len()
}

/// The case of a seed as a module.
fn module_of(seed: u64, arguments: &Arguments) -> Result<Module, String> {
    match (arguments.sac, arguments.derive) {
        (true, _) => sac::module(&sac::program(seed)),
        (_, true) => derive::Case::new(seed).module(),
        _ => Ok(wir::module(seed)),
    }
}

/// The case of a seed as its generator made it.
fn text_of(seed: u64, arguments: &Arguments) -> String {
    match (arguments.sac, arguments.derive) {
        (true, _) => sac::program(seed),
        (_, true) => derive::Case::new(seed).text,
        _ => print_module(&wir::module(seed)),
    }
}

/// Checks the module of a seed in every way that is asked for.
fn check(seed: u64, module: &Module, jits: &mut Jits, arguments: &Arguments) -> Result<(), run::Failure> {
    if arguments.derive {
        derive::Case::new(seed).check(module)?;
        if arguments.interp_only {
            return Ok(());
        }
    }
    run::check(module, jits, &arguments.ways(seed))
}

fn all_ways() -> Vec<run::Way> {
    // Of these seeds one gives every way.
    [0, 1, 2].into_iter().flat_map(run::ways).collect()
}

fn one_file(path: &str, arguments: &Arguments) -> usize {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let module = match ravel_wir::parse::parse_module(&text, FileId(0)) {
        Ok(module) => module,
        Err(error) => {
            eprintln!("{path}: {error}");
            return 1;
        }
    };
    watch(Arc::new(AtomicU64::new(0)));
    if arguments.shrink {
        std::panic::set_hook(Box::new(|_| {}));
        let Some(stage) = outcome_of(&module, arguments.device) else { return 0 };
        println!("{stage}\n{}", print_module(&smallest(module, &stage, arguments.device)));
        return 1;
    }
    let ways = if arguments.device { vec![run::Way::on_device()] } else { all_ways() };
    match run::check(&module, &mut Jits::default(), &ways) {
        Ok(()) => 0,
        Err(failure) => {
            println!("{}: {}", failure.stage, failure.what);
            1
        }
    }
}

/// Ends the process if the number does not change for too long.
fn watch(progress: Arc<AtomicU64>) {
    std::thread::spawn(move || {
        let mut last = u64::MAX;
        loop {
            let now = progress.load(Ordering::Relaxed);
            if now == last {
                std::process::exit(75);
            }
            last = now;
            std::thread::sleep(CASE_TIME);
        }
    });
}

/// Runs cases; says on stdout what it does.
fn child(arguments: &Arguments) {
    std::panic::set_hook(Box::new(|_| {}));
    let progress = Arc::new(AtomicU64::new(0));
    watch(progress.clone());
    let mut jits = Jits::default();
    for seed in arguments.seed..arguments.seed + arguments.count {
        progress.fetch_add(1, Ordering::Relaxed);
        say(&format!("case {seed}"));
        let module = match std::panic::catch_unwind(|| module_of(seed, arguments)) {
            Ok(Ok(module)) => module,
            Ok(Err(problem)) => {
                say(&format!("fail generator: {}", problem.replace('\n', " ")));
                continue;
            }
            Err(panic) => {
                say(&format!("fail generator: {}", run::panic_text(&*panic)));
                continue;
            }
        };
        if let Err(failure) = check(seed, &module, &mut jits, arguments) {
            // What failed may have left things behind. The device knows programs by the places of their texts: those stay.
            std::mem::forget(std::mem::take(&mut jits));
            say(&format!("fail {}: {}", failure.stage, failure.what.replace('\n', " ")));
        }
    }
    say("done");
}

fn say(line: &str) {
    println!("{line}");
    // A parent that is gone needs no report.
    let _ = std::io::stdout().flush();
}

/// Runs batches in children; gives the number of failures.
fn parent(arguments: &Arguments) -> usize {
    let next = AtomicU64::new(arguments.seed);
    let end = arguments.seed + arguments.count;
    let failures: Mutex<Vec<(u64, String)>> = Mutex::new(Vec::new());
    let size = if arguments.device { DEVICE_BATCH } else { BATCH };
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs {
            scope.spawn(|| {
                loop {
                    let start = next.fetch_add(size, Ordering::Relaxed);
                    let enough = failures.lock().is_ok_and(|f| f.len() >= arguments.failures);
                    if start >= end || enough {
                        return;
                    }
                    for failure in batch(start, size.min(end - start), arguments) {
                        eprintln!("seed {}: {}", failure.0, failure.1);
                        if let Ok(mut failures) = failures.lock() {
                            failures.push(failure);
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_default();
    for (seed, what) in failures.iter().take(arguments.failures) {
        println!("// seed {seed}: {what}");
        if arguments.shrink && !what.starts_with("generator") {
            let stage = what.split(':').next().unwrap_or(what);
            if arguments.sac {
                println!("{}", sac::program(*seed));
            }
            if what.starts_with("interpreter") {
                println!("{}", text_of(*seed, arguments));
            } else if let Ok(module) = module_of(*seed, arguments) {
                println!("{}", print_module(&smallest(module, stage, arguments.device)));
            }
        }
    }
    println!("{} cases, {} failures", arguments.count, failures.len());
    failures.len()
}

/// Runs cases in children; a case that ends its child is a failure, and the next child goes on behind it.
fn batch(start: u64, count: u64, arguments: &Arguments) -> Vec<(u64, String)> {
    let (mut at, end) = (start, start + count);
    let mut failures = Vec::new();
    while at < end {
        let Ok(exe) = std::env::current_exe() else { break };
        let mut command = Command::new(exe);
        command.args(["--child", "--seed", &at.to_string(), "--count", &(end - at).to_string()]);
        let flags = [
            (arguments.sac, "--sac"),
            (arguments.derive, "--derive"),
            (arguments.interp_only, "--interp-only"),
            (arguments.device, "--device"),
        ];
        for (given, name) in flags {
            if given {
                command.arg(name);
            }
        }
        // Kernels of random programs are not worth keeping.
        command.env("RAVEL_CACHE", "");
        let Ok(mut child) = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn() else { break };
        let (mut current, mut done) = (at, false);
        if let Some(stdout) = child.stdout.take() {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                match line.split_once(' ') {
                    Some(("case", n)) => current = n.parse().unwrap_or(current),
                    Some(("fail", what)) => failures.push((current, what.to_string())),
                    _ => done |= line == "done",
                }
            }
        }
        let status = child.wait();
        if done {
            break;
        }
        failures.push((current, format!("crash: {}", status.map_or_else(|e| e.to_string(), |s| s.to_string()))));
        at = current + 1;
    }
    failures
}

/// How a module fails, found out by a child; nothing if it does not.
fn outcome_of(module: &Module, on_device: bool) -> Option<String> {
    let path = std::env::temp_dir().join(format!("ravel-fuzz-{}.wir", std::process::id()));
    std::fs::write(&path, print_module(module)).ok()?;
    let output = Command::new(std::env::current_exe().ok()?)
        .arg("--file")
        .arg(&path)
        .args(on_device.then_some("--device"))
        .output();
    // A file that stays behind does no harm.
    let _ = std::fs::remove_file(&path);
    let output = output.ok()?;
    match output.status.code() {
        Some(0) => None,
        Some(1) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            Some(text.split(':').next().unwrap_or("").to_string())
        }
        _ => Some("crash".to_string()),
    }
}

/// A smaller module that fails in the same stage.
fn smallest(module: Module, stage: &str, on_device: bool) -> Module {
    let same = |found: &str| {
        let compiled = |s: &str| s.contains("code");
        found == stage || (compiled(found) && compiled(stage))
    };
    if stage.starts_with("pass") || stage.starts_with("optimiser") {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let smaller = shrink::shrink(module, Duration::from_secs(30), |m| {
            run::check(m, &mut Jits::default(), &[]).is_err_and(|f| same(&f.stage))
        });
        std::panic::set_hook(hook);
        return smaller;
    }
    shrink::shrink(module, Duration::from_secs(60), |m| outcome_of(m, on_device).is_some_and(|s| same(&s)))
}
