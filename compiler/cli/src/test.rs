//! `ravel test`: what the command line asks for, and the report.

use crate::args::{Sources, Test};
use crate::{project, watch};
use ravel_driver::testing::{self, Format, Outcome, Settings, Target, Work};
use ravel_driver::{Backend, Kind};
use ravel_runtime::outputs;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub fn run(test: &Test) -> i32 {
    if let Some(folder) = &test.worker {
        return work(test, folder);
    }
    let here = [PathBuf::from(".")];
    if test.watch {
        return watch::run(if test.files.is_empty() { &here } else { &test.files });
    }
    let package = match project::open(test.files.first().map_or(Path::new("."), PathBuf::as_path), test.source.network)
    {
        Ok(package) => package,
        Err(status) => return status,
    };
    let root = package.as_ref().map_or(Path::new(""), |package| &package.manifest.folder);
    let targets = match testing::collect(&places(&test.files, root, &["tests", "src"])) {
        Ok(targets) => targets,
        Err(why) => {
            say!("ravel: {why}");
            return 1;
        }
    };
    note(&targets);
    let backends = match backends(test.backend.as_deref()) {
        Ok(backends) => backends,
        Err(status) => return status,
    };
    let threads = usize::from(test.threads.unwrap_or(1));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let settings = Settings {
        source: source(&test.source, package.is_some()),
        backends: if test.list { backends[..1].to_vec() } else { backends },
        threads,
        jobs: (cores / threads).max(1),
        most: test.limits.most(),
        filter: test.filter.clone(),
        seed: test.seed.unwrap_or(testing::SEED),
        cases: test.cases.unwrap_or(testing::CASES),
        list: test.list,
        bless: test.bless,
        tolerance: test.tolerance.or(package.as_ref().and_then(|package| package.manifest.test.tolerance)),
    };
    let files = match follow(test, &settings, &targets) {
        Ok(files) => files,
        Err(status) => return status,
    };
    finish(test, &files)
}

/// Tells who watches what tests are made of; children say what they read.
fn note(targets: &[Target]) {
    for target in targets {
        let (Target::Functions(file) | Target::Examples(file) | Target::Golden(file)) = target;
        watch::note_files([file.as_path()]);
        if let Target::Golden(_) = target {
            let companions = ["out", "in", "args", "status"].map(|extension| file.with_extension(extension));
            watch::note_files(companions.iter().map(PathBuf::as_path));
        }
    }
}

/// Runs the tests, and shows those of each file once those of all files before it are shown.
fn follow(test: &Test, settings: &Settings, targets: &[Target]) -> Result<Vec<Vec<Outcome>>, i32> {
    let state: Mutex<(Vec<Option<Vec<Outcome>>>, usize)> = Mutex::new((vec![None; targets.len()], 0));
    let tell = |at: usize, outcomes: &[Outcome]| {
        let Ok(mut state) = state.lock() else { return };
        let (files, shown) = &mut *state;
        files[at] = Some(outcomes.to_vec());
        while let Some(Some(outcomes)) = files.get(*shown) {
            show(test, outcomes);
            *shown += 1;
        }
    };
    if let Err(why) = testing::run(settings, targets, &tell) {
        say!("ravel: {why}");
        return Err(1);
    }
    Ok(state.into_inner().map_or(Vec::new(), |(files, _)| files.into_iter().flatten().collect()))
}

fn show(test: &Test, outcomes: &[Outcome]) {
    let text = match (test.list, test.format) {
        (true, Format::Human) => {
            let line = |outcome: &Outcome| match outcome.line {
                0 => format!("{}: {}", outcome.file.display(), outcome.message),
                line => format!("{}:{line}: {}\n", outcome.file.display(), outcome.name),
            };
            outcomes.iter().map(line).collect()
        }
        (false, Format::Human) => testing::human(outcomes),
        (_, Format::Json) => testing::json(outcomes),
    };
    let _ = crate::print(&text);
}

/// The last line and the report for other programs; the exit status.
fn finish(test: &Test, files: &[Vec<Outcome>]) -> i32 {
    let all = files.iter().flatten();
    let failed = all.clone().filter(|outcome| !outcome.passed).count();
    let passed = all.count() - failed;
    let mut written = true;
    if let Some(file) = &test.junit
        && let Err(why) = outputs::write(file, testing::junit(files).as_bytes())
    {
        say!("ravel: cannot write {}: {why}", file.display());
        written = false;
    }
    if test.list {
        return i32::from(failed > 0 || !written);
    }
    if test.format == Format::Human {
        written &= crate::print(&testing::summary(passed, failed));
    }
    if passed + failed == 0 {
        say!("ravel: there are no tests{}", if test.filter.is_some() { " that the filter admits" } else { " here" });
        return 1;
    }
    i32::from(failed > 0 || !written)
}

/// What children need to read programs. Tests use the modules of the project, which lie in src; a package says so itself.
pub fn source(sources: &Sources, is_package: bool) -> Vec<OsString> {
    let mut source = sources.arguments();
    if !is_package && Path::new("src").is_dir() {
        source.extend(["-I".into(), "src".into()]);
    }
    source
}

/// Where to look: what was given, or these folders of a project, or all of it where none is there.
pub fn places(given: &[PathBuf], root: &Path, usual: &[&str]) -> Vec<PathBuf> {
    if !given.is_empty() {
        return given.to_vec();
    }
    let folders = usual.iter().map(|name| root.join(name));
    let there: Vec<PathBuf> = folders.filter(|folder| folder.is_dir()).collect();
    if there.is_empty() { vec![root.join(".")] } else { there }
}

/// The backends that are asked for: `all` for each that this machine can run.
fn backends(name: Option<&str>) -> Result<Vec<Backend>, i32> {
    let has_device = || ravel_runtime::device::list().is_ok_and(|devices| !devices.is_empty());
    match name {
        None => Ok(vec![Backend::default()]),
        Some("all") => {
            let is_there = |backend: &Backend| match backend.kind() {
                Kind::Interpreter | Kind::Processor => true,
                Kind::Device => has_device(),
                Kind::AnyDevice => false,
            };
            Ok(Backend::all().filter(is_there).collect())
        }
        Some(name) => match Backend::all().find(|backend| backend.name() == name) {
            Some(backend) => Ok(vec![backend]),
            None => {
                let names: Vec<&str> = Backend::all().map(Backend::name).chain(["all"]).collect();
                say!("ravel: there is no backend `{name}`; there are {}", names.join(", "));
                Err(2)
            }
        },
    }
}

/// The part of the child process.
fn work(test: &Test, folder: &Path) -> i32 {
    let mut options = test.source.options();
    match backends(test.backend.as_deref()) {
        Ok(backends) => options.backend = backends.first().copied().unwrap_or_default(),
        Err(status) => return status,
    }
    if options.backend.kind() == Kind::Device {
        // What runs on the device by chance only is what a test is to find.
        options.launch_work = 1.0;
    }
    if let Some(threads) = test.threads {
        ravel_runtime::pool::set_threads(usize::from(threads));
    }
    let Some(file) = test.files.first() else { return 2 };
    if let Err(status) = project::enter(&mut options, file, test.source.network) {
        return status;
    }
    let name = file.as_os_str().as_encoded_bytes().to_vec();
    if let Err(fault) = ravel_runtime::start::set_arguments(vec![name]) {
        ravel_runtime::fault::raise(fault);
    }
    let work = Work {
        folder: folder.to_path_buf(),
        from: test.from,
        filter: test.filter.clone(),
        seed: test.seed.unwrap_or(testing::SEED),
        cases: test.cases.unwrap_or(testing::CASES),
        list: test.list,
        note: watch::note,
    };
    match testing::work(options, file, &work) {
        Ok(()) => 0,
        Err(error) => {
            say!("ravel: cannot report: {error}");
            70
        }
    }
}
