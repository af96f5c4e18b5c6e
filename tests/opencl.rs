//! Devices: their list, programs without one, the kernel cache, errors, and the text of kernels.
//!
//! Every `opencl/<name>.cl` is the text of the kernels of `<name>.sac` beside it, with every with-loop that can be one a kernel.
//! `RAVEL_REFRESH=1 cargo test -p ravel-tests --test opencl -- kernels` writes them again. The rest needs no device, or is left out where
//! there is none.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ravel_tests::{Arguments, Failed, Finished, Trial, files_below, finish, has_device, ravel, repository, test_name};

type Tested = Result<(), Failed>;

/// A program with two kernels, and what it prints.
const PROGRAM: &str = "opencl/map-and-stencil.sac";

fn program() -> PathBuf {
    repository().join("tests").join(PROGRAM)
}

fn demand(condition: bool, run: &Finished, wanted: &str) -> Tested {
    if condition && !run.crashed() { Ok(()) } else { Err(format!("expected {wanted}: {}", run.describe()).into()) }
}

/// Ends with status 1 and these words, having written nothing.
fn refuses(command: &mut Command, words: &str) -> Tested {
    let run = finish(command, b"")?;
    demand(
        run.status == 1 && run.stderr.contains(words) && run.stdout.is_empty(),
        &run,
        &format!("status 1 and `{words}`"),
    )
}

fn prints(command: &mut Command, expected: &str) -> Result<Finished, Failed> {
    let run = finish(command, b"")?;
    demand(run.status == 0 && run.stdout == expected, &run, &format!("status 0 and\n{expected}"))?;
    Ok(run)
}

/// A run of the program as machine code: what every other way must print.
fn expected() -> Result<String, Failed> {
    let run = finish(Command::new(ravel()).arg("run").arg(program()), b"")?;
    demand(run.status == 0, &run, "status 0")?;
    Ok(run.stdout)
}

fn run_with(backend: &str) -> Command {
    let mut command = Command::new(ravel());
    command.args(["run", "--stats", "--backend", backend, "--launch-work", "1"]).arg(program());
    command
}

fn build_with(backend: &str, folder: &Path) -> Result<PathBuf, Failed> {
    let executable = folder.join(backend);
    let mut command = Command::new(ravel());
    command.args(["build", "--backend", backend, "--launch-work", "1", "-o"]).arg(&executable).arg(program());
    let built = finish(&mut command, b"")?;
    demand(built.status == 0, &built, "an executable")?;
    Ok(executable)
}

/// Commands find no device when they have been through `hide`.
fn programs_without(hide: impl Fn(&mut Command) -> &mut Command, words: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let expected = expected()?;
    refuses(hide(Command::new(ravel()).arg("devices")), words)?;
    refuses(hide(&mut run_with("opencl")), words)?;
    prints(hide(&mut run_with("auto")), &expected)?;
    refuses(hide(run_with("auto").args(["-device", "0"])), words)?;
    refuses(hide(&mut Command::new(build_with("opencl", folder.path())?)), words)?;
    let auto = build_with("auto", folder.path())?;
    prints(hide(&mut Command::new(&auto)), &expected)?;
    // Whoever names a device wants that one.
    refuses(hide(Command::new(&auto).env("RAVEL_DEVICE", "0")), words)
}

/// The library is there, if it is installed, but finds no drivers.
fn without_drivers() -> Tested {
    let empty = tempfile::tempdir()?;
    programs_without(|command| command.env("OCL_ICD_VENDORS", empty.path()), "OpenCL is")
}

/// What is found in the place of the library is none.
fn without_library() -> Tested {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("libOpenCL.so.1"), "this is no library\n")?;
    programs_without(|command| command.env("LD_LIBRARY_PATH", folder.path()), "OpenCL is not installed")
}

/// The loader of an executable needs no OpenCL.
fn library_is_not_needed() -> Tested {
    let folder = tempfile::tempdir()?;
    for program in [build_with("opencl", folder.path())?, ravel()] {
        // The loader lists what it loads and starts nothing.
        let run = finish(Command::new(&program).env("LD_TRACE_LOADED_OBJECTS", "1"), b"")?;
        demand(
            run.stdout.contains("libc") && !run.stdout.to_lowercase().contains("opencl"),
            &run,
            "a list of libraries without OpenCL",
        )?;
    }
    Ok(())
}

fn devices_are_listed() -> Tested {
    let run = finish(Command::new(ravel()).arg("devices"), b"")?;
    let lines: Vec<&str> = run.stdout.lines().collect();
    let head = ["name", "driver", "kind", "memory", "units", "f64"];
    demand(
        run.status == 0
            && lines.len() > 1
            && head.iter().all(|word| lines[0].contains(word))
            && lines[1].starts_with('0'),
        &run,
        "a table",
    )
}

fn devices_are_chosen() -> Tested {
    let folder = tempfile::tempdir()?;
    let expected = expected()?;
    let with = |device: &str| {
        let mut command = Command::new(ravel());
        command.args(["run", "--backend", "opencl", "--device", device]).arg(program());
        command
    };
    prints(&mut with("0"), &expected)?;
    refuses(&mut with("99"), "there is no OpenCL device number 99; there are:\n  0: ")?;
    refuses(&mut with("abacus"), "no OpenCL device is called `abacus`; there are:\n  0: ")?;
    for backend in ["opencl", "auto"] {
        let executable = build_with(backend, folder.path())?;
        prints(Command::new(&executable).env("RAVEL_DEVICE", "0"), &expected)?;
        refuses(Command::new(&executable).env("RAVEL_DEVICE", "abacus"), "no OpenCL device is called `abacus`")?;
        // An argument is stronger than the environment.
        prints(Command::new(&executable).args(["-device", "0"]).env("RAVEL_DEVICE", "abacus"), &expected)?;
        refuses(Command::new(&executable).args(["-device", "99"]), "there is no OpenCL device number 99")?;
    }
    Ok(())
}

/// What is counted is also said.
fn stats_are_shown() -> Tested {
    let run = prints(&mut run_with("opencl"), &expected()?)?;
    for what in [
        "device: ",
        "kernels: ",
        "launches: ",
        "bytes sent: ",
        "bytes fetched: ",
        "programs built: ",
        "cache hits: ",
        "build time: ",
    ] {
        demand(run.stderr.contains(what), &run, what)?;
    }
    demand(!run.stderr.contains("launches: 0,"), &run, "launches")
}

/// The device's compiler ran this often, and the cache helped that often.
fn builds(command: &mut Command, cache: &Path, built: u32, hits: u32) -> Tested {
    let run = prints(command.env("RAVEL_CACHE", cache), &expected()?)?;
    let words = format!("programs built: {built}, cache hits: {hits},");
    demand(run.stderr.contains(&words), &run, &words)
}

fn kernels_are_cached() -> Tested {
    let folder = tempfile::tempdir()?;
    let cache = folder.path().join("new");
    builds(&mut run_with("opencl"), &cache, 1, 0)?;
    builds(&mut run_with("opencl"), &cache, 0, 1)?;
    let executable = build_with("opencl", folder.path())?;
    builds(Command::new(&executable).env("RAVEL_STATS", "1"), &cache, 0, 1)?;
    // The default place is below that of the user's other caches.
    let default = |command: &mut Command, hits: &str| -> Tested {
        let run = finish(command.env_remove("RAVEL_CACHE").env("XDG_CACHE_HOME", folder.path()), b"")?;
        demand(run.stderr.contains(hits), &run, hits)
    };
    default(&mut run_with("opencl"), "cache hits: 0")?;
    default(&mut run_with("opencl"), "cache hits: 1")?;
    demand(
        folder.path().join("ravel/kernels").is_dir(),
        &finish(&mut run_with("opencl"), b"")?,
        "a cache folder in its place",
    )
}

fn damaged_entries_are_built_again() -> Tested {
    let folder = tempfile::tempdir()?;
    let cache = folder.path();
    builds(&mut run_with("opencl"), cache, 1, 0)?;
    let entries: Vec<PathBuf> =
        std::fs::read_dir(cache.join("kernels"))?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    let [entry] = &entries[..] else { return Err(format!("one entry expected: {entries:?}").into()) };
    let good = std::fs::read(entry)?;
    let mut changed = good.clone();
    changed[good.len() / 2] ^= 1;
    for bad in [&good[..good.len() / 2], &[], &changed] {
        std::fs::write(entry, bad)?;
        builds(&mut run_with("opencl"), cache, 1, 0)?;
        builds(&mut run_with("opencl"), cache, 0, 1)?;
    }
    Ok(())
}

/// Without a place for it there is no cache, and nothing else changes.
fn cache_can_be_off() -> Tested {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("file");
    std::fs::write(&file, "")?;
    for place in [Path::new(""), &file, &file.join("below")] {
        for _ in 0..2 {
            builds(&mut run_with("opencl"), place, 1, 0)?;
        }
    }
    Ok(())
}

fn processes_share_a_cache() -> Tested {
    let folder = tempfile::tempdir()?;
    let expected = expected()?;
    let cache = folder.path();
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| prints(run_with("opencl").env("RAVEL_CACHE", cache), &expected).map(drop)))
            .collect();
        runs.into_iter().try_for_each(|run| run.join().unwrap_or_else(|_| Err("a run could not be watched".into())))
    })?;
    builds(&mut run_with("opencl"), cache, 0, 1)?;
    let left = std::fs::read_dir(cache.join("kernels"))?.count();
    if left == 1 { Ok(()) } else { Err(format!("{left} files in the cache folder").into()) }
}

/// What `ravel tune` found out is used by later runs, and changes no results.
fn tuning_is_kept() -> Tested {
    let folder = tempfile::tempdir()?;
    let expected = expected()?;
    let tune = || -> Result<Finished, Failed> {
        let mut command = Command::new(ravel());
        finish(command.args(["tune", "--launch-work", "1"]).arg(program()).env("RAVEL_CACHE", folder.path()), b"")
    };
    let first = tune()?;
    let settled = first.stdout.lines().count() == 2 && !first.stdout.contains("--runs");
    demand(
        first.status == 0 && settled && first.stdout.contains("grids up to 1024: "),
        &first,
        "a line for each kernel",
    )?;
    let run = prints(run_with("opencl").env("RAVEL_CACHE", folder.path()), &expected)?;
    demand(run.stderr.contains("tuned: 2,"), &run, "two tuned kernels")?;
    let again = tune()?;
    demand(
        again.status == 0 && again.stdout.is_empty() && again.stderr.contains("nothing to measure"),
        &again,
        "nothing to do",
    )?;
    for entry in std::fs::read_dir(folder.path().join("tuned"))? {
        std::fs::write(entry?.path(), "not what it was\n")?;
    }
    let run = prints(run_with("opencl").env("RAVEL_CACHE", folder.path()), &expected)?;
    demand(run.stderr.contains("tuned: 0,"), &run, "no tuned kernels")
}

/// Files of the cache folder with another byte here and there, cut off, or with each other's content. That no byte can be changed unseen is
/// a test of the runtime.
fn damaged_caches_change_nothing() -> Tested {
    let folder = tempfile::tempdir()?;
    let (expected, cache) = (expected()?, folder.path().join("cache"));
    let executable = build_with("opencl", folder.path())?;
    let run = || prints(Command::new(&executable).env("RAVEL_CACHE", &cache), &expected).map(drop);
    let mut tune = Command::new(ravel());
    finish(tune.args(["tune", "--launch-work", "1"]).arg(program()).env("RAVEL_CACHE", &cache), b"")?;
    run()?;
    let mut files = Vec::new();
    for kind in ["kernels", "tuned"] {
        for entry in std::fs::read_dir(cache.join(kind))? {
            let path = entry?.path();
            files.push((std::fs::read(&path)?, path));
        }
    }
    if files.len() < 2 {
        return Err("no kernels or no records".into());
    }
    for (number, (good, path)) in files.iter().enumerate() {
        let places = (0..good.len()).step_by(good.len() / 20 + 1);
        let flipped = places.clone().map(|at| {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << (at % 8);
            bytes
        });
        let cut = places.map(|at| good[..at].to_vec());
        let foreign = files[(number + 1) % files.len()].0.clone();
        for bytes in flipped.chain(cut).chain([foreign]) {
            std::fs::write(path, bytes)?;
            run()?;
        }
        std::fs::write(path, good)?;
    }
    Ok(())
}

/// All sizes of tiles are tried, and the fastest one is compiled from then on; the result is the same.
fn tiles_are_tuned() -> Tested {
    let folder = tempfile::tempdir()?;
    let source = repository().join("tests/opencl/tuned/products.sac");
    let with = |arguments: &[&str]| {
        let mut command = Command::new(ravel());
        command.args(arguments).args(["--launch-work", "1"]).arg(&source).env("RAVEL_CACHE", folder.path());
        command
    };
    let before = finish(&mut with(&["run", "--backend", "opencl"]), b"")?;
    let tuned = finish(&mut with(&["tune"]), b"")?;
    demand(
        tuned.status == 0 && tuned.stdout.contains("tiles, f32 folds over 100 for 100x100 of 10000 cells, staged "),
        &tuned,
        "a line for the tiles",
    )?;
    let after = prints(&mut with(&["run", "--backend", "opencl", "--explain"]), &before.stdout)?;
    let chosen = after.stderr.contains("on the device, in tiles of")
        || after.stderr.contains("a work-item per cell was faster when this was tuned");
    demand(chosen, &after, "the tiles that were the fastest")
}

/// PoCL takes a limit in GiB; other drivers do without this test.
fn memory_may_be_short() -> Tested {
    let source = repository().join("tests/opencl/errors/too-large.sac");
    let mut command = Command::new(ravel());
    command
        .args(["run", "--backend", "opencl", "--launch-work", "1"])
        .arg(source)
        .env("POCL_MEMORY_LIMIT", "1")
        .env("RAVEL_DEVICE", "pthread");
    let run = finish(&mut command, b"")?;
    if run.stderr.contains("no OpenCL device is called") {
        return Ok(());
    }
    demand(
        run.status == 1
            && run.stderr.contains("fault")
            && (run.stderr.contains("too large for the device") || run.stderr.contains("out of memory")),
        &run,
        "status 1 and a reason",
    )
}

/// The text of a program's kernels is the recorded one.
fn kernel_text(recorded: &Path) -> Tested {
    let mut command = Command::new(ravel());
    // Without what this machine's user has tuned.
    command.env("RAVEL_CACHE", "");
    command
        .args(["run", "--backend", "opencl", "--launch-work", "1", "--emit", "opencl"])
        .arg(recorded.with_extension("sac"));
    let run = finish(&mut command, b"")?;
    demand(run.status == 0, &run, "the text of kernels")?;
    if std::env::var_os("RAVEL_REFRESH").is_some_and(|value| value == "1") {
        return Ok(std::fs::write(recorded, run.stdout)?);
    }
    let text = std::fs::read_to_string(recorded).unwrap_or_default();
    let first = text.lines().zip(run.stdout.lines()).position(|(old, new)| old != new);
    if text == run.stdout {
        return Ok(());
    }
    let at = first.unwrap_or_else(|| text.lines().count().min(run.stdout.lines().count()));
    let line = |text: &str| text.lines().nth(at).unwrap_or("(its end)").to_string();
    let refresh = "RAVEL_REFRESH=1 cargo test -p ravel-tests --test opencl -- kernels";
    Err(format!("line {} was\n{}\nand is\n{}\nIf that is right: {refresh}", at + 1, line(&text), line(&run.stdout))
        .into())
}

fn main() -> ExitCode {
    let mut trials = vec![
        Trial::test("without drivers", without_drivers),
        Trial::test("without the library", without_library),
        Trial::test("the library is not needed", library_is_not_needed),
    ];
    let folder = repository().join("tests/opencl");
    for source in files_below(&folder, "sac").iter().filter(|source| source.parent() == Some(&folder)) {
        let recorded = source.with_extension("cl");
        trials.push(Trial::test(format!("kernels/{}", test_name(&folder, source)), move || kernel_text(&recorded)));
    }
    type OnDevice = (&'static str, fn() -> Tested);
    let on_devices: [OnDevice; 11] = [
        ("devices are listed", devices_are_listed),
        ("devices are chosen", devices_are_chosen),
        ("stats are shown", stats_are_shown),
        ("kernels are cached", kernels_are_cached),
        ("damaged entries are built again", damaged_entries_are_built_again),
        ("the cache can be off", cache_can_be_off),
        ("processes share a cache", processes_share_a_cache),
        ("tuning is kept", tuning_is_kept),
        ("tiles are tuned", tiles_are_tuned),
        ("damaged caches change nothing", damaged_caches_change_nothing),
        ("memory may be short", memory_may_be_short),
    ];
    if has_device() {
        trials.extend(on_devices.map(|(name, test)| Trial::test(name, test)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
