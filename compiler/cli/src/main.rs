//! `ravel`: arguments, terminal, exit codes. Nothing else prints.
#![forbid(unsafe_code)]

/// A line on stderr. Where nobody listens, the exit status still tells.
macro_rules! say {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        // Names of files may have anything in them.
        let words = format!($($part)*);
        let _ = writeln!(std::io::stderr(), "{}", ravel_runtime::fault::visible(&words));
    }};
}

mod args;
mod args_bench;
mod args_test;
mod backends;
mod bench;
mod check;
mod devices;
mod doc;
mod doc_folder;
mod doctor;
mod explain;
mod fmt;
mod manual;
mod new;
mod profile;
mod project;
mod ranks;
mod repl;
mod rewrite;
mod session;
mod table;
mod test;
mod trace;
mod tune;
mod warnings;
mod watch;

use args::{Build, Cli, Code, Command, Opt, Repl, Run, Source, Sources};
use clap::{CommandFactory, FromArgMatches};
use ravel_diagnostics::Levels;
use ravel_driver::link::Linking;
use ravel_driver::passes::{new_name, passes};
use ravel_driver::{Backend, Compilation, Explanation, Failure, Kind, MacroOption, Options, Stage};
use ravel_runtime::outputs;
use ravel_runtime::standard::Output;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Stack of the thread that compiles: specialisation recurses with the program.
const COMPILER_STACK: usize = 1 << 30;
/// What it gets at least, where address space is limited.
const LEAST_COMPILER_STACK: usize = 16 << 20;

fn main() -> ExitCode {
    // An executable of `ravel build` may be a copy of this file.
    match ravel_attach::run() {
        Ok(None) => {}
        Ok(Some(status)) => return ExitCode::from(status as u8),
        Err(why) => {
            say!("this executable cannot start: {why}");
            return ExitCode::from(70);
        }
    }
    ravel_runtime::signals::watch();
    watch::begin();
    let parsed = Cli::command().long_version(doctor::version()).try_get_matches();
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        // Help is an output like others.
        Err(asked) if !asked.use_stderr() => {
            let text = asked.render();
            let shown = if std::io::stdout().is_terminal() { text.ansi().to_string() } else { text.to_string() };
            return ExitCode::from(u8::from(!print(&shown)));
        }
        Err(wrong) => wrong.exit(),
    };
    match start(cli).map(std::thread::JoinHandle::join) {
        Ok(Ok(status)) => ExitCode::from(status as u8),
        Ok(Err(_)) => {
            say!("ravel: internal error; this is a bug in Ravel, please report it with the program");
            ExitCode::from(70)
        }
        Err(error) => {
            say!(
                "ravel: there is too little memory: a thread cannot be started ({error}); `ulimit -v` limits the address space"
            );
            ExitCode::from(1)
        }
    }
}

/// Obeys on a thread with the largest stack that can be had.
fn start(cli: Cli) -> std::io::Result<std::thread::JoinHandle<i32>> {
    // A failed start drops its closure, so the command waits in a slot.
    let slot = std::sync::Arc::new(std::sync::Mutex::new(Some(cli)));
    let mut size = COMPILER_STACK;
    loop {
        let slot = slot.clone();
        let work = move || slot.lock().ok().and_then(|mut cli| cli.take()).map_or(70, obey);
        match std::thread::Builder::new().stack_size(size).spawn(work) {
            Err(_) if size > LEAST_COMPILER_STACK => size /= 4,
            other => return other,
        }
    }
}

/// Runs a command; the exit status.
fn obey(cli: Cli) -> i32 {
    let Some(command) = cli.command else { return repl::evaluate(&cli.eval) };
    match command {
        Command::Check(check) => check::run(&check),
        Command::Explain(explain) => explain::run(&explain),
        Command::Run(run) => run_program(run),
        Command::Build(build) => run_build(build),
        Command::New(new) => new::run(&new),
        Command::Fetch(fetch) => project::fetch(&fetch),
        Command::Vendor(vendor) => project::vendor(&vendor),
        Command::Tune(tune) => tune::run(&tune),
        Command::Backends => backends::list(),
        Command::Devices => devices::list(),
        Command::Opt(opt) => run_opt(&opt),
        Command::Doc(doc) => doc::run(&doc),
        Command::Fmt(fmt) => fmt::run(&fmt),
        Command::Bench(bench) => bench::run(&bench),
        Command::Test(test) => test::run(&test),
        Command::Lsp(lsp) => {
            let served = ravel_lsp::serve(options(&lsp.include, &lsp.define, &[], false, true));
            if let Err(why) = &served {
                say!("ravel: {why}");
            }
            i32::from(served.is_err())
        }
        Command::Completions(completions) => manual::completions(completions.shell),
        Command::Man(man) => manual::pages(&man.folder),
        Command::Doctor => doctor::run(),
        Command::Repl(repl) => run_repl(&repl),
        Command::Session(_) => project::typed().and_then(session).map_or_else(|status| status, session::run),
    }
}

fn compilation(source: &Source, unchecked: bool) -> Compilation {
    let Sources { include, define, undefine, stdlib, .. } = &source.sources;
    let mut options = options(include, define, undefine, unchecked, !source.no_check);
    options.edition = *stdlib;
    let mut compilation = Compilation::new(options);
    compilation.explanation = source.explain.as_ref().map(|_| Explanation::default());
    compilation
}

/// Whether the file that `--explain` names can be written, before anything is done for it.
fn can_explain(source: &Source, compilation: &Compilation, file: &Path) -> bool {
    let Some(Some(path)) = &source.explain else { return true };
    let checked = compilation.check_output(file, path);
    match &checked {
        Err(error) if error.no_file => {
            say!("ravel: {error}; leave `={}` out, and `--explain` prints to standard error", path.display());
        }
        Err(error) => say!("ravel: {error}"),
        Ok(()) => {}
    }
    checked.is_ok()
}

/// Writes what `--explain` asks for about the program in `file`; false if that failed.
fn explain(source: &Source, compilation: &Compilation, file: &Path) -> bool {
    let written = match &source.explain {
        None => return true,
        Some(None) => {
            let _ = std::io::stderr().write_all(compilation.explained().as_bytes());
            return true;
        }
        Some(Some(path)) => compilation.write_output(file, path, &compilation.explained()),
    };
    if let Err(error) = &written {
        say!("ravel: {error}");
    }
    written.is_ok()
}

fn options(
    include: &[PathBuf],
    define: &[String],
    undefine: &[String],
    unchecked: bool,
    check_patterns: bool,
) -> Options {
    for folder in include.iter().filter(|folder| !folder.is_dir()) {
        say!("ravel: warning: -I {} is no folder", folder.display());
    }
    let mut folders = include.to_vec();
    folders.extend(ravel_driver::files::FileLoader::environment_path());
    let defined = define.iter().cloned().map(MacroOption::Define);
    let undefined = undefine.iter().cloned().map(MacroOption::Undefine);
    let mut options = Options {
        macros: defined.chain(undefined).collect(),
        folders,
        unchecked,
        check_patterns,
        ..Options::default()
    };
    // For whoever looks for a pass that is wrong, or worth nothing.
    let words = |name: &str| std::env::var(name).unwrap_or_default();
    match words("RAVEL_WITHOUT").as_str() {
        "all" => options.level = ravel_driver::Level::None,
        without => {
            let names = without.split(',').filter(|pass| !pass.is_empty());
            options.without = names.map(|pass| current(pass).to_string()).collect();
        }
    }
    options.verify |= words("RAVEL_VERIFY") == "1";
    options
}

fn choose_backend(options: &mut Options, code: &Code) {
    let by_default = if code.optimize { Backend::fastest() } else { Backend::default() };
    options.backend = code.backend.unwrap_or(by_default);
    options.widen_counts = code.widen_counts;
    if let Some(device) = &code.device {
        ravel_runtime::device::set_wish(device);
    }
    if let Some(cycles) = code.launch_work {
        options.launch_work = f64::from(cycles);
    }
}

fn use_color() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Prints what was said about the source, and a failure.
fn report(compilation: &Compilation, failure: Option<&Failure>) {
    if !ravel_runtime::ranks::is_root() {
        return;
    }
    if !compilation.diagnostics.is_empty() {
        let text = ravel_diagnostics::render(
            &compilation.diagnostics,
            &compilation.map,
            ravel_diagnostics::Format::Human,
            use_color(),
        );
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
    match failure {
        Some(Failure::Source) => {
            let n = compilation.diagnostics.iter().filter(|d| d.is_error()).count();
            say!("ravel: {n} error{}", if n == 1 { "" } else { "s" });
        }
        Some(other) => say!("ravel: {other}"),
        None => {}
    }
}

fn stage(name: &str) -> Result<Stage, i32> {
    Stage::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Stage::all().map(|(name, _)| name).collect();
        let close = ravel_diagnostics::did_you_mean(name, names.iter().copied());
        let hint = close.map_or(String::new(), |close| format!("; did you mean `{close}`?"));
        say!("ravel: there is no stage `{name}`{hint}\nThe stages are {}.", names.join(", "));
        2
    })
}

/// Says where a wheel is; it is not a copy of `ravel`.
fn shown_wheel(wheel: PathBuf) -> Option<&'static str> {
    print(&format!("{}\n", wheel.display()));
    None
}

/// Writes a text to standard output; false if that failed.
fn print(text: &str) -> bool {
    match Output.write_all(text.as_bytes()) {
        // A closed pipe is the reader's choice.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            say!("ravel: cannot write the text: {error}");
            false
        }
        _ => true,
    }
}

fn emit(mut compilation: Compilation, source: &Source, file: &Path, name: &str) -> i32 {
    let stage = match stage(name) {
        Ok(stage) => stage,
        Err(status) => return status,
    };
    if !can_explain(source, &compilation, file) {
        return 1;
    }
    match compilation.emit(file, stage) {
        Ok(text) => {
            report(&compilation, None);
            let explained = explain(source, &compilation, file);
            i32::from(!print(&text) || !explained)
        }
        Err(failure) => {
            report(&compilation, Some(&failure));
            1
        }
    }
}

/// What standard input is called in reports.
const STANDARD_INPUT: &str = "<stdin>";

/// The file that is meant: for `-`, the text of standard input takes its place.
fn program_file(compilation: &mut Compilation, file: &Path) -> Result<PathBuf, i32> {
    if file != Path::new("-") {
        return Ok(file.to_path_buf());
    }
    let mut text = Vec::new();
    if let Err(error) = std::io::stdin().lock().read_to_end(&mut text) {
        say!("ravel: cannot read standard input: {error}");
        return Err(1);
    }
    let path = PathBuf::from(STANDARD_INPUT);
    compilation.options.texts.set(path.clone(), String::from_utf8_lossy(&text));
    Ok(path)
}

fn run_program(mut run: Run) -> i32 {
    let network = run.source.sources.network;
    if run.watch {
        let start = if run.program.is_empty() { Path::new(".") } else { run.file() };
        return watch::run(&[start.to_path_buf()]);
    }
    // A launcher may have started several of these: they compile alike, and one of them says what there is to say.
    if let Err(fault) = ravel_runtime::ranks::look() {
        ravel_runtime::fault::raise(fault);
    }
    let is_root = ravel_runtime::ranks::is_root();
    let mut compilation = compilation(&run.source, run.unchecked);
    if run.program.is_empty() || run.file().is_dir() {
        let folder = if run.program.is_empty() { Path::new(".") } else { run.file() };
        match project::root(folder, network) {
            Ok((_, root)) if run.program.is_empty() => run.program.push(root.into()),
            Ok((_, root)) => run.program[0] = root.into(),
            Err(status) => return status,
        }
    }
    if let Err(status) = project::enter(&mut compilation.options, run.file(), network) {
        return status;
    }
    choose_backend(&mut compilation.options, &run.code);
    compilation.options.check_nan = run.check_nan;
    compilation.options.check_gradients = run.check_grad;
    trace::prepare(&mut compilation.options, &run);
    match warnings::levels(Levels::of_run(), &run.warnings) {
        Ok(levels) => compilation.options.lints = levels,
        Err(status) => return status,
    }
    if let Some(stage) = &run.emit {
        return emit(compilation, &run.source, run.file(), stage);
    }
    let is_simulated = match ranks::simulate(&mut compilation.options, &run) {
        Ok(simulated) => simulated,
        Err(status) => return status,
    };
    let ranks = match run.ranks.filter(|count| *count > 1 && !is_simulated) {
        Some(count) => match ranks::prepare(&run) {
            Ok(launcher) => Some((launcher, count)),
            Err(status) => return status,
        },
        None => None,
    };
    if compilation.options.backend.kind() == Kind::Interpreter && ravel_runtime::ranks::is_started() {
        if is_root {
            say!("ravel: the interpreter runs on one rank alone (RAVEL_RANKS=off runs every process for itself)");
        }
        return 2;
    }
    compilation.options.ranks = ranks.is_some() || ravel_runtime::ranks::is_started();
    let file = match program_file(&mut compilation, run.file()) {
        Ok(file) => file,
        Err(status) => return status,
    };
    let arguments: Vec<Vec<u8>> = run.program.iter().map(|argument| argument.as_encoded_bytes().to_vec()).collect();
    if let Err(status) = devices::settle(&mut compilation.options, &arguments) {
        return status;
    }
    if !can_explain(&run.source, &compilation, run.file()) {
        return 1;
    }
    if let Some((launcher, count)) = &ranks {
        return ranks::run(&run, launcher, *count, compilation, &file);
    }
    if let Some(wish) = &run.profile
        && let Err(status) = profile::prepare(&mut compilation, &file, wish.as_deref())
    {
        return status;
    }
    if run.perf_map
        && let Err(status) = profile::prepare_map(&mut compilation)
    {
        return status;
    }
    let program = compilation.program(&file);
    watch::note(&compilation);
    let program = match program {
        Ok(program) => program,
        Err(failure) => {
            report(&compilation, Some(&failure));
            return 1;
        }
    };
    report(&compilation, None);
    if is_root && !explain(&run.source, &compilation, run.file()) {
        return 1;
    }
    if let Some(threads) = run.threads {
        ravel_runtime::pool::set_threads(usize::from(threads));
    }
    if run.source.stats {
        ravel_runtime::stats::enable();
    }
    if let Some(wish) = run.profile.filter(|_| is_root) {
        compilation.watch_profile(wish);
    }
    let outcome = compilation.execute(&program, arguments);
    if run.source.stats && is_root {
        print_stats(&compilation);
        ravel_runtime::stats::print();
    }
    let all_right = !run.check_grad || !is_root || tell_gradients();
    match outcome {
        Ok(0) if !all_right => 1,
        Ok(status) => status,
        Err(failure) => {
            say!("ravel: {failure}");
            if matches!(failure, Failure::Unsupported { .. }) { 1 } else { 70 }
        }
    }
}

/// Says what came of comparing derivatives with differences; whether all were right.
fn tell_gradients() -> bool {
    let sites = ravel_runtime::natives::gradients::found();
    for site in &sites {
        let found = match (site.times, site.is_wrong) {
            (0, _) => "not taken".to_string(),
            (_, true) => format!("WRONG, off by {:.1e}", site.error),
            (1, false) => format!("agrees with differences to {:.1e}", site.error),
            (n, false) => format!("agrees with differences to {:.1e}, {n} times", site.error),
        };
        say!("{}: {found}", site.place);
    }
    if sites.is_empty() {
        say!("ravel: the program takes no derivatives");
    }
    sites.iter().all(|site| !site.is_wrong)
}

fn run_build(mut build: Build) -> i32 {
    let network = build.source.sources.network;
    let folder = match &build.file {
        None => Some(PathBuf::from(".")),
        Some(path) => path.is_dir().then(|| path.clone()),
    };
    let file = match (&build.file, folder) {
        (_, Some(folder)) => match project::root(&folder, network) {
            Ok((project, root)) => {
                build.output.get_or_insert_with(|| PathBuf::from(&project.manifest.name));
                root
            }
            Err(status) => return status,
        },
        (file, None) => file.clone().unwrap_or_default(),
    };
    let mut compilation = compilation(&build.source, build.unchecked);
    if let Err(status) = project::enter(&mut compilation.options, &file, network) {
        return status;
    }
    choose_backend(&mut compilation.options, &build.code);
    match warnings::levels(Levels::of_run(), &build.warnings) {
        Ok(levels) => compilation.options.lints = levels,
        Err(status) => return status,
    }
    compilation.options.ranks = build.ranks;
    if compilation.options.backend.kind() == Kind::Interpreter {
        say!("ravel: the interpreter makes no executables");
        return 2;
    }
    if let Some(stage) = &build.emit {
        return emit(compilation, &build.source, &file, stage);
    }
    let output = match &build.output {
        Some(path) => path.clone(),
        None => match file.file_stem() {
            Some(stem) if build.lib => PathBuf::from(format!("lib{}", stem.display())),
            Some(stem) if build.python || file.extension().is_some() => PathBuf::from(stem),
            _ => {
                say!("ravel: name the executable with -o");
                return 2;
            }
        },
    };
    if !can_explain(&build.source, &compilation, &file) {
        return 1;
    }
    if let Some(Some(path)) = &build.source.explain
        && outputs::destination(path).ok().zip(outputs::destination(&output).ok()).is_some_and(|(a, b)| a == b)
    {
        say!("ravel: cannot write {}: it is the executable", path.display());
        return 1;
    }
    let linking = if build.no_cc { Linking::Attached } else { Linking::Automatic };
    let built = match (build.lib, build.python) {
        (_, true) => compilation.build_wheel(&file, &output).map(|linked| linked.map(shown_wheel)),
        (true, _) => compilation.build_library(&file, &output).map(|linked| linked.map(|()| None)),
        (false, _) => compilation.build(&file, &output, linking),
    };
    let failed = match built {
        Ok(linked) => {
            report(&compilation, None);
            let explained = explain(&build.source, &compilation, &file);
            match linked {
                Ok(None) => !explained,
                Ok(Some(why)) => {
                    say!("ravel: {why}: {} is a copy of ravel with the program attached", output.display());
                    !explained
                }
                Err(error) => {
                    say!("ravel: {error}");
                    true
                }
            }
        }
        Err(failure) => {
            report(&compilation, Some(&failure));
            true
        }
    };
    if build.source.stats {
        print_stats(&compilation);
    }
    i32::from(failed)
}

/// What a pass is called now; says so of old names, which are taken for one release.
fn current(name: &str) -> &str {
    let Some(new) = new_name(name) else { return name };
    say!("ravel: the pass `{name}` is called `{new}` now; the old name will go");
    new
}

fn run_opt(opt: &Opt) -> i32 {
    if opt.list {
        let lines: Vec<String> = passes().map(|(name, summary)| format!("{name:<26}{summary}\n")).collect();
        return i32::from(!print(&lines.concat()));
    }
    let names: Option<Vec<&str>> =
        opt.passes.as_ref().map(|list| list.iter().map(|name| current(name.trim())).collect());
    let known = |name: &str| passes().any(|(known, _)| known == name);
    if let Some(name) = names.iter().flatten().find(|name| !known(name)) {
        let all: Vec<&str> = passes().map(|(name, _)| name).collect();
        let close = ravel_diagnostics::did_you_mean(name, all.iter().copied());
        let hint = close.map_or(String::new(), |close| format!("; did you mean `{close}`?"));
        say!("ravel: there is no pass `{name}`{hint}\nThe passes are {}.", all.join(", "));
        return 2;
    }
    let Some(file) = &opt.file else { return 2 };
    let mut compilation = compilation(&opt.source, false);
    if let Err(status) = project::enter(&mut compilation.options, file, opt.source.sources.network) {
        return status;
    }
    if !can_explain(&opt.source, &compilation, file) {
        return 1;
    }
    let passed = match compilation.run_passes(file, names.as_deref()) {
        Ok(passed) => passed,
        Err(failure) => {
            report(&compilation, Some(&failure));
            return 1;
        }
    };
    report(&compilation, None);
    let explained = explain(&opt.source, &compilation, file);
    if opt.source.stats {
        print_stats(&compilation);
    }
    if opt.time {
        for (pass, time) in &passed.times {
            say!("  {pass:<26}{:>9.2} ms", time.as_secs_f64() * 1e3);
        }
    }
    i32::from(!print(&passed.text) || !explained)
}

fn run_repl(arguments: &Repl) -> i32 {
    let mut options =
        options(&arguments.include, &arguments.define, &arguments.undefine, arguments.unchecked, !arguments.no_check);
    options.edition = arguments.stdlib;
    let network = args::Network { offline: false, locked: false };
    if let Err(status) = project::enter(&mut options, Path::new("-"), network) {
        return status;
    }
    if let Some(threads) = arguments.threads {
        ravel_runtime::pool::set_threads(usize::from(threads));
    }
    match session(options) {
        Ok(session) => repl::run(session),
        Err(status) => status,
    }
}

/// A session of the prompt; else the exit status.
fn session(options: Options) -> Result<ravel_driver::repl::Session, i32> {
    if let Err(fault) = ravel_runtime::start::set_arguments(vec![b"ravel".to_vec()]) {
        ravel_runtime::fault::raise(fault);
    }
    ravel_driver::repl::Session::new(options, use_color()).map_err(|failure| {
        say!("ravel: {failure}");
        70
    })
}

/// Compile-time figures, on stderr so that they do not mix with the program's output.
fn print_stats(compilation: &Compilation) {
    say!("compile time:");
    let mut total = std::time::Duration::ZERO;
    for (stage, time) in &compilation.times {
        say!("  {stage:<16}{:>9.1} ms", time.as_secs_f64() * 1e3);
        total += *time;
    }
    say!("  {:<16}{:>9.1} ms", "total", total.as_secs_f64() * 1e3);
    say!("functions specialised: {}", compilation.instances);
    say!("with-loops: {} before optimisation, {} after", compilation.with_loops.0, compilation.with_loops.1);
}
