//! `ravel run --ranks`: compiles a program once and has an MPI launcher start it several times on this machine, or has the interpreter simulate that.

use crate::args::Run;
use crate::{explain, print_stats, report, watch};
use ravel_driver::link::Linking;
use ravel_driver::{Compilation, Kind, Options};
use ravel_runtime::ranks::streams::{self, Lender};
use ravel_runtime::{child, outputs, ranks, signals};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Names under which launchers are found.
const NAMES: [&str; 3] = ["mpirun", "mpiexec.hydra", "mpiexec"];
/// The variable that names a launcher.
const LAUNCHER: &str = "RAVEL_MPIRUN";
/// What Open MPI wants to see before it starts anything for root.
const AS_ROOT: [&str; 2] = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    OpenMpi,
    Hydra,
}

/// A launcher that is installed.
pub struct Launcher {
    path: PathBuf,
    family: Family,
    /// The first line that it says of itself.
    pub version: String,
}

impl Launcher {
    /// The one that `RAVEL_MPIRUN` names, or else the first on the search path.
    ///
    /// # Errors
    /// There is none, or it is of an unknown kind: in words.
    pub fn find() -> Result<Launcher, String> {
        let named = std::env::var_os(LAUNCHER).filter(|name| !name.is_empty());
        let search = std::env::var_os("PATH").unwrap_or_default();
        let path = match &named {
            Some(name) => on_path(name, &search)
                .ok_or_else(|| format!("{LAUNCHER} names `{}`, which is no program", name.display()))?,
            None => NAMES.iter().find_map(|name| on_path(OsStr::new(name), &search)).ok_or_else(|| {
                format!("there is no `mpirun`: install Open MPI or MPICH, or set {LAUNCHER} to the path of a launcher")
            })?,
        };
        let shown = path.display().to_string();
        let run = Command::new(&path).arg("--version").stdin(Stdio::null()).output();
        let run = run.map_err(|error| format!("`{shown}` does not start: {error}"))?;
        let says = String::from_utf8_lossy(&run.stdout).into_owned();
        let Some(family) = family(&says) else {
            return Err(format!("`{shown}` is no launcher of Open MPI or MPICH: set {LAUNCHER} to one"));
        };
        let version = match family {
            Family::OpenMpi => says.lines().next().unwrap_or_default().to_string(),
            Family::Hydra => {
                let number = says.lines().find_map(|line| line.trim().strip_prefix("Version:"));
                format!("Hydra {}", number.unwrap_or_default().trim())
            }
        };
        Ok(Launcher { path, family, version: format!("{shown}: {version}") })
    }

    /// What keeps it from starting anything.
    fn hindrance(&self) -> Option<String> {
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0);
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| value == "1");
        let is_refused = self.family == Family::OpenMpi && is_root && !AS_ROOT.iter().all(is_set);
        is_refused.then(|| {
            let [first, second] = AS_ROOT;
            format!("Open MPI starts nothing for root, unless the variables {first} and {second} are both 1")
        })
    }

    /// The command that starts so many ranks of a program.
    fn command(&self, count: u16, program: &Path, arguments: &[OsString]) -> Command {
        let mut command = Command::new(&self.path);
        if self.family == Family::OpenMpi {
            // Ravel divides the cores itself, and there may be fewer of them than ranks.
            command.args(["-q", "--bind-to", "none", "--map-by", "slot:OVERSUBSCRIBE"]);
        }
        command.arg("-n").arg(count.to_string()).arg(program).args(arguments);
        let library = match self.family {
            Family::OpenMpi => "libmpi.so.40",
            Family::Hydra => "libmpi.so.12",
        };
        // One that was installed with the launcher.
        let beside = self.path.parent().map(|folder| folder.join("../lib").join(library)).filter(|path| path.is_file());
        if let Some(path) = beside.filter(|_| std::env::var_os("RAVEL_MPI").is_none_or(|name| name.is_empty())) {
            command.env("RAVEL_MPI", path);
        }
        command
    }
}

/// The kind of a launcher, by what it says of itself.
fn family(says: &str) -> Option<Family> {
    let is = |names: &[&str]| names.iter().any(|name| says.contains(name));
    match () {
        () if is(&["Open MPI", "OpenRTE", "PRRTE", "prterun"]) => Some(Family::OpenMpi),
        () if is(&["HYDRA", "Intel(R) MPI", "MPICH"]) => Some(Family::Hydra),
        () => None,
    }
}

/// A program by its name or path.
fn on_path(name: &OsStr, search: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if Path::new(name).components().count() > 1 {
        return std::path::absolute(name).ok().filter(is_program);
    }
    std::env::split_paths(search).map(|folder| folder.join(name)).find(is_program)
}

/// Sets the options for ranks that the interpreter simulates, if these are asked for; whether they are.
///
/// # Errors
/// The exit status, after it was said what cannot be.
pub fn simulate(options: &mut Options, run: &Run) -> Result<bool, i32> {
    let count = run.ranks.filter(|_| options.backend.kind() == Kind::Interpreter);
    if count.is_some_and(|count| count > 1) && !run.trace.is_empty() {
        say!("ravel: --ranks: a trace shows one rank: leave `--trace` or `--ranks` out");
        return Err(2);
    }
    options.simulated_ranks = count.filter(|_| run.trace.is_empty());
    Ok(count.is_some())
}

/// Finds out what a run with ranks cannot have, before anything is compiled.
///
/// # Errors
/// The exit status, after the reason was said.
pub fn prepare(run: &Run) -> Result<Launcher, i32> {
    let refuse = |why: String| {
        say!("ravel: {why}");
        Err(2)
    };
    if run.profile.is_some() || run.perf_map {
        let what = if run.perf_map { "perf-map" } else { "profile" };
        return refuse(format!(
            "--{what} looks at one process: leave --ranks out, or run `mpirun -n N ravel run --{what}`"
        ));
    }
    if ranks::is_started() {
        return refuse("--ranks starts a launcher, but this process has been started by one: leave --ranks out".into());
    }
    let launcher = Launcher::find().map_err(|why| {
        say!("ravel: --ranks: {why}");
        1
    })?;
    match launcher.hindrance() {
        Some(why) => {
            say!("ravel: {why}");
            Err(1)
        }
        None => Ok(launcher),
    }
}

/// Compiles the program in `file` and runs it; the exit status.
pub fn run(run: &Run, launcher: &Launcher, count: u16, mut compilation: Compilation, file: &Path) -> i32 {
    let folder = match outputs::Folder::temporary() {
        Ok(folder) => folder,
        Err(error) => {
            say!("ravel: no temporary folder can be made: {error}");
            return 1;
        }
    };
    let program = folder.path().join("program");
    let built = compilation.build(file, &program, Linking::Automatic);
    watch::note(&compilation);
    match built {
        Ok(linked) => {
            report(&compilation, None);
            if let Err(error) = linked {
                say!("ravel: {error}");
                return 1;
            }
        }
        Err(failure) => {
            report(&compilation, Some(&failure));
            return 1;
        }
    }
    if !explain(&run.source, &compilation, run.file()) {
        return 1;
    }
    let mut command = launcher.command(count, &program, run.program.get(1..).unwrap_or_default());
    command.env(streams::NAME, run.file());
    if let Some(threads) = run.threads {
        command.env("RAVEL_THREADS", threads.to_string());
    }
    if let Some(device) = &run.code.device {
        command.env("RAVEL_DEVICE", device);
    }
    if run.source.stats {
        command.env("RAVEL_STATS", "1");
    }
    let status = launch(&mut command, launcher, count, folder.path());
    if run.source.stats {
        print_stats(&compilation);
    }
    status
}

/// Runs a launcher to its end; the exit status of what it has started.
fn launch(command: &mut Command, launcher: &Launcher, count: u16, folder: &Path) -> i32 {
    let (lender, variable, path) = match Lender::offer(folder, usize::from(count)) {
        Ok(offered) => offered,
        Err(error) => {
            say!("ravel: no socket can be made in {}: {error}", folder.display());
            return 1;
        }
    };
    let words = folder.join("words");
    let started = File::create(&words).and_then(|file| {
        command.env(variable, path).stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        child::lead(command).spawn()
    });
    let mut process = match started {
        Ok(process) => process,
        Err(error) => {
            say!("ravel: `{}` does not start: {error}", launcher.path.display());
            return 1;
        }
    };
    signals::pass_on_to(process.id());
    let status = process.wait();
    lender.end_all();
    signals::pass_on_to(0);
    let status = match status {
        Ok(status) => status,
        Err(error) => {
            say!("ravel: `{}` is lost: {error}", launcher.path.display());
            return 1;
        }
    };
    if !status.success() {
        signals::command_failed(status);
    }
    if lender.joined() == 0 && !status.success() {
        let words = std::fs::read(&words).unwrap_or_default();
        say!(
            "ravel: `{}` has started no rank:\n{}",
            launcher.path.display(),
            String::from_utf8_lossy(&words).trim_end()
        );
        return 1;
    }
    let mut code = code_of(status);
    if let Some(rank) = lender.lost() {
        if launcher.family == Family::Hydra && (1..64).contains(&code) {
            // Hydra gives the number of the signal.
            code += 128;
        }
        say!("ravel: rank {rank} was ended from outside, and all others with it (status {code})");
    }
    code
}

fn code_of(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

/// What doctors say of launcher and library.
pub fn found() -> Result<String, String> {
    let library = ranks::library();
    let launcher = Launcher::find();
    match (&library, &launcher) {
        (Err(library), Err(launcher)) => Err(format!("{library}\n{launcher}")),
        _ => {
            let line = |found: Result<String, String>| found.unwrap_or_else(|why| why);
            Ok(format!("{}\n{}", line(library), line(launcher.map(|launcher| launcher.version))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_known_by_what_they_say() {
        assert_eq!(family("mpirun (Open MPI) 4.1.4\n"), Some(Family::OpenMpi));
        assert_eq!(family("mpirun (Open MPI) 5.0.3\n"), Some(Family::OpenMpi));
        assert_eq!(family("HYDRA build details:\n    Version:    4.0.2\n"), Some(Family::Hydra));
        assert_eq!(family("Intel(R) MPI Library for Linux* OS, Version 2021.9"), Some(Family::Hydra));
        assert_eq!(family("cat (GNU coreutils) 9.1"), None);
    }

    #[test]
    fn programs_are_found_by_name_and_by_path() {
        let search = OsStr::new("/nonexistent:/bin:/usr/bin");
        assert!(on_path(OsStr::new("sh"), search).is_some_and(|path| path.ends_with("sh") && path.is_absolute()));
        assert_eq!(on_path(OsStr::new("no-such-launcher"), search), None);
        assert!(on_path(OsStr::new("/bin/sh"), OsStr::new("")).is_some());
        assert_eq!(on_path(OsStr::new("/bin"), search), None);
    }

    #[test]
    fn the_command_has_the_launchers_words() {
        let words = |family| {
            let launcher = Launcher { path: "/nonexistent/bin/mpirun".into(), family, version: String::new() };
            let command = launcher.command(3, Path::new("p"), &["-x".into()]);
            let words: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
            words.join(" ")
        };
        assert_eq!(words(Family::OpenMpi), "-q --bind-to none --map-by slot:OVERSUBSCRIBE -n 3 p -x");
        assert_eq!(words(Family::Hydra), "-n 3 p -x");
    }
}
