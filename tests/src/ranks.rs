//! Programs on several ranks: the launchers of this machine, and what they and the runtime are told for tests.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{Failed, Finished, Started};

/// What the longest test on ranks may take: a tenth would do. Ranks that wait for each other forever must not keep everybody waiting.
pub const TIME_LIMIT: Duration = Duration::from_secs(100);

/// Within this time after the end nothing of a program may be left.
pub const NOTHING_LEFT: Duration = Duration::from_secs(10);

/// What starts ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Launcher {
    OpenMpi,
    Mpich,
}

/// How programs are built for ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Build {
    /// As any other: ranks gather what they compute.
    Plain,
    /// With `--ranks`: large results stay in rows with the ranks that compute them.
    Rows,
}

impl Build {
    pub const BOTH: [Build; 2] = [Build::Plain, Build::Rows];

    /// Options of `ravel build`.
    pub fn options(self) -> impl Iterator<Item = String> {
        (self == Build::Rows).then(|| "--ranks".to_string()).into_iter()
    }

    /// The name of a test.
    #[must_use]
    pub fn name(self, test: &str) -> String {
        match self {
            Build::Plain => test.to_string(),
            Build::Rows => format!("{test} [rows]"),
        }
    }
}

impl Launcher {
    /// Those that this machine has; Open MPI is the one that most tests use.
    #[must_use]
    pub fn all() -> Vec<Launcher> {
        let mut all = vec![Launcher::OpenMpi, Launcher::Mpich];
        all.retain(|launcher| launcher.is_installed());
        all
    }

    /// Its command.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Launcher::OpenMpi => "mpirun",
            Launcher::Mpich => "mpiexec.hydra",
        }
    }

    /// `mpirun` may be that of another MPI.
    fn is_installed(self) -> bool {
        let told = Command::new(self.name()).arg("--version").output();
        let told = told.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        told.contains(if self == Launcher::OpenMpi { "Open MPI" } else { "HYDRA" })
    }

    /// The MPI library that belongs to it.
    #[must_use]
    pub fn library(self) -> &'static str {
        match self {
            Launcher::OpenMpi => "libmpi.so.40",
            Launcher::Mpich => "libmpich.so.12",
        }
    }

    /// The command that runs a program on so many ranks. Whatever can be shared by ranks is, and ranks look at each exchange whether they agree.
    #[must_use]
    pub fn command(self, ranks: usize, program: &Path) -> Command {
        let mut command = Command::new(self.name());
        command.args(["-n", &ranks.to_string()]).arg(program).env("RAVEL_MPI", self.library());
        prepare(&mut command, program.parent().unwrap_or(Path::new(".")));
        // Open MPI does not look for other ways to talk, which takes a part of the time of a short program. Its way to start that is for one machine alone
        // ("isolated") crashes more often.
        command.env("OMPI_MCA_pml", "ob1").env("OMPI_MCA_btl", "self,vader");
        command.env("RAVEL_RANKS_CHECK", "1").env("RAVEL_RANKS_SHARE", "always");
        command
    }
}

/// Lets a launcher run as root and with more ranks than cores, on this machine alone. What it writes goes into this folder, a temporary one.
pub fn prepare(command: &mut Command, folder: &Path) {
    command.env("RAVEL_THREADS", "1");
    // Those of Open MPI that run at the same time make and remove one folder else, of which one start in a hundred fails.
    command.env("OMPI_MCA_orte_tmpdir_base", folder);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    // A container may forbid to read another process's memory, and then Open MPI says so on standard error.
    command.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
}

/// Runs a command that starts ranks of a program in this folder, a temporary one. Whatever is left of them ten seconds after the end is ended.
///
/// # Errors
/// If the ranks do not end, or something of them is left.
pub fn finish(command: &mut Command, input: &[u8], folder: &Path) -> Result<Finished, Failed> {
    for _ in 1..STARTS {
        let started = Started::new(command, input)?;
        let was_stuck = is_stuck(started.id(), folder);
        let finished = end(started, folder)?;
        // What ranks crash of, the launcher says, each in its words. What it crashes of itself it says in others, or not at all.
        let is_said = [&finished.stderr, &finished.stdout]
            .iter()
            .any(|text| RANK_CRASHED.iter().any(|words| text.contains(words)));
        let launcher_crashed = finished.status >= 128 && !is_said;
        if !was_stuck && !launcher_crashed {
            return Ok(finished);
        }
    }
    end(Started::new(command, input)?, folder)
}

/// `mpirun` of Open MPI 4.1.4 crashes, or stays when its ranks have gone, in about one of fifty starts of a program that aborts. That says nothing of the
/// program, which is started again, so many times in all.
const STARTS: u32 = 4;

/// What Open MPI and MPICH say of a rank that crashed.
const RANK_CRASHED: [&str; 2] = ["exited on signal", "EXIT STRING"];

/// A launcher without ranks for so long is stuck.
const ALONE: Duration = Duration::from_secs(15);

/// Whether this is the command of a rank, not of what starts ranks.
#[must_use]
pub fn is_rank(command: &str) -> bool {
    const LAUNCHERS: [&str; 6] = ["mpirun", "mpiexec.hydra", "hydra_pmi_proxy", "ravel", "sh", "orted"];
    let name = command.split(' ').next().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    !LAUNCHERS.contains(&name)
}

/// Waits for the end of a launcher; kills it if it stays although nothing of its program is left, and says so.
fn is_stuck(launcher: u32, folder: &Path) -> bool {
    let begin = Instant::now();
    let (mut alone_since, mut looked) = (begin, begin);
    while begin.elapsed() < TIME_LIMIT {
        let stat = fs::read_to_string(format!("/proc/{launcher}/stat")).unwrap_or_default();
        // Behind the name, in parentheses, is the state: a process that has ended is a zombie until somebody asks for its status.
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
        if state.is_none_or(|state| state == "Z") {
            return false;
        }
        if looked.elapsed() > Duration::from_secs(1) {
            looked = Instant::now();
            if processes(folder).iter().any(|(_, command)| is_rank(command)) {
                alone_since = looked;
            }
        }
        if alone_since.elapsed() > ALONE {
            for (process, _) in processes(folder) {
                // SAFETY: a signal to a process that was started here.
                unsafe { libc::kill(process, libc::SIGKILL) };
            }
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Waits for ranks that have been started in this folder.
///
/// # Errors
/// If the ranks do not end, or something of them is left.
pub fn end(started: Started, folder: &Path) -> Result<Finished, Failed> {
    let finished = started.finish(TIME_LIMIT);
    let since = Instant::now();
    let mut left = processes(folder);
    while finished.is_ok() && !left.is_empty() && since.elapsed() < NOTHING_LEFT {
        std::thread::sleep(Duration::from_millis(20));
        left = processes(folder);
    }
    for (process, _) in &left {
        // SAFETY: a signal to a process that was started here.
        unsafe { libc::kill(*process, libc::SIGKILL) };
    }
    let finished = finished?;
    if left.is_empty() {
        // Where something crashed, the launcher's words say what.
        return Ok(if finished.crashed() { finished } else { without_notices(finished) });
    }
    let left: Vec<_> = left.into_iter().map(|(process, command)| format!("{process} {command}\n")).collect();
    Err(format!("left after {NOTHING_LEFT:?}: {}{}", left.concat(), finished.describe()).into())
}

/// The processes whose command names this folder, a temporary one: their numbers and commands.
#[must_use]
pub fn processes(folder: &Path) -> Vec<(libc::pid_t, String)> {
    let folder = folder.to_string_lossy();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process that has just ended has none.
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        if command.contains(&*folder) {
            found.push((process, command));
        }
    }
    found
}

/// Without what launchers themselves say when a program ends with a status: Open MPI between lines of dashes, MPICH between lines of equals signs.
fn without_notices(run: Finished) -> Finished {
    let Finished { status, stdout, stderr } = run;
    Finished { status, stdout: without_blocks(&stdout, '='), stderr: without_blocks(&stderr, '-') }
}

/// The text without what stands between two lines of such characters, and without what `mpirun` says of its own end.
fn without_blocks(text: &str, rule: char) -> String {
    const SHORTEST: usize = 60;
    let is_rule = |line: &str| line.len() > SHORTEST && line.chars().all(|c| c == rule);
    let mut is_notice = false;
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        if is_rule(line.trim_end()) {
            is_notice = !is_notice;
            continue;
        }
        // Of its own end, and of descriptors that it has closed before it watched them.
        let is_log = line.starts_with('[') && line.contains("ORTE_ERROR_LOG: ") || line.starts_with("[warn] Epoll ");
        if !is_notice && !is_log {
            kept.push_str(line);
        }
    }
    kept
}
