//! `--watch`: a command again and again, whenever a file that it read changes.
//!
//! Each time the command runs as a process of its own, without `--watch`. It writes the names of what it read into a file that `LIST` names;
//! this process looks at their times. Of folders only names of SaC files count: a module may appear that was missing, and a program may write
//! into them.

use ravel_runtime::{child, outputs};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, SystemTime};

/// The variable with the name of the file that a watched process writes what it read to.
const LIST: &str = "RAVEL_WATCH_LIST";
const PERIOD: Duration = Duration::from_millis(150);
/// Editors write in several steps.
const QUIET: Duration = Duration::from_millis(60);

/// Whether this process is watched. It ends with the one that watches.
fn list() -> Option<OsString> {
    std::env::var_os(LIST).filter(|path| !path.is_empty())
}

/// Tells a watching process, if there is one, that these files were read.
pub fn note_files<'a>(files: impl IntoIterator<Item = &'a Path>) {
    let Some(list) = list() else { return };
    let mut text = Vec::new();
    for file in files {
        let path = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
        text.extend_from_slice(path.as_os_str().as_encoded_bytes());
        text.push(b'\n');
    }
    // Whoever watches looks at what it knows already if this fails.
    let opened = std::fs::OpenOptions::new().append(true).open(list);
    let _ = opened.and_then(|mut file| file.write_all(&text));
}

/// Tells a watching process what a compilation read.
pub fn note(compilation: &ravel_driver::Compilation) {
    let files = compilation.map.files().filter(|(_, file)| !ravel_driver::files::is_library(&file.name));
    note_files(files.map(|(_, file)| Path::new(&file.name)));
}

/// A process that is watched ends with the one that watches it.
pub fn begin() {
    if list().is_some() {
        child::end_with_parent();
    }
}

/// What a file was at a time.
#[derive(Clone, PartialEq)]
enum State {
    Missing,
    File {
        modified: Option<SystemTime>,
        length: u64,
    },
    /// Names of files that programs may be made of.
    Folder(BTreeSet<OsString>),
}

fn state(path: &Path) -> State {
    match std::fs::metadata(path) {
        Ok(data) if data.is_dir() => {
            let names = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.file_name());
            let matters = |name: &OsString| {
                Path::new(name).extension().is_some_and(|ending| ending == "sac" || ending == "h" || ending == "toml")
            };
            State::Folder(names.filter(matters).collect())
        }
        Ok(data) => State::File { modified: data.modified().ok(), length: data.len() },
        Err(_) => State::Missing,
    }
}

/// Runs this command again and again, without `--watch`; `starts` are files and folders to look at in any case. Ctrl-C ends it.
pub fn run(starts: &[PathBuf]) -> i32 {
    let folder = match outputs::Folder::temporary() {
        Ok(folder) => folder,
        Err(error) => {
            say!("ravel: cannot watch: no temporary folder: {error}");
            return 1;
        }
    };
    let list = folder.path().join("list");
    let mut known: BTreeSet<PathBuf> =
        starts.iter().map(|path| std::path::absolute(path).unwrap_or_default()).collect();
    let mut why = String::from("starts");
    loop {
        say!("ravel: {} {why}", clock());
        let begin = SystemTime::now();
        let started = std::fs::write(&list, "").and_then(|()| start(&list));
        let mut process = match started {
            Ok(process) => process,
            Err(error) => {
                say!("ravel: cannot start again: {error}");
                return 1;
            }
        };
        why = wait(&mut process, &list, &mut known, begin);
        child::end(&mut process);
    }
}

fn start(list: &Path) -> std::io::Result<Child> {
    let mut is_over = false;
    let arguments = std::env::args_os().skip(1).filter(|argument| {
        // What stands behind the file belongs to the program.
        let is_ours = !is_over && argument == "--watch";
        is_over |= is_ours;
        !is_ours
    });
    Command::new(std::env::current_exe()?).args(arguments).env(LIST, list).spawn()
}

/// Waits until something changes that was read: what.
fn wait(process: &mut Child, list: &Path, known: &mut BTreeSet<PathBuf>, begin: SystemTime) -> String {
    let mut states: BTreeMap<PathBuf, State> = known.iter().map(|path| (path.clone(), state(path))).collect();
    let mut is_running = true;
    loop {
        // Also what it reads later: it is looked at before it is waited for.
        let was_running = is_running;
        if is_running && let Ok(Some(status)) = process.try_wait() {
            is_running = false;
            if !status.success() {
                say!("ravel: {} ended with {}", clock(), status.code().map_or("a signal".into(), |n| n.to_string()));
            }
        }
        let mut changed = None;
        if was_running {
            for path in listed(list) {
                if states.contains_key(&path) {
                    continue;
                }
                let now = state(&path);
                // It may have changed between being read and being seen here.
                if let State::File { modified: Some(at), .. } = now
                    && at >= begin
                    && at <= SystemTime::now()
                {
                    changed = Some(path.clone());
                }
                states.insert(path, now);
            }
        }
        if changed.is_none() {
            changed = states.iter().find(|(path, old)| state(path) != **old).map(|(path, _)| path.clone());
        }
        if let Some(path) = changed {
            settle(&path);
            *known = states.into_keys().collect();
            return format!("{} has changed", shown(&path));
        }
        std::thread::sleep(PERIOD);
    }
}

/// Waits until nobody writes a file.
fn settle(path: &Path) {
    let mut last = state(path);
    for _ in 0..20 {
        std::thread::sleep(QUIET);
        let now = state(path);
        if now == last && now != State::Missing {
            return;
        }
        last = now;
    }
}

/// What the process has read so far, and the folders of that. A line that is not complete yet comes later.
fn listed(list: &Path) -> BTreeSet<PathBuf> {
    let text = std::fs::read(list).unwrap_or_default();
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines = String::from_utf8_lossy(&text[..whole]).lines().map(PathBuf::from).collect::<Vec<_>>();
    let mut paths = BTreeSet::new();
    for path in lines.into_iter().filter(|path| !path.as_os_str().is_empty()) {
        paths.extend(path.parent().map(Path::to_path_buf));
        paths.insert(path);
    }
    paths
}

fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).ok().filter(|rest| !rest.as_os_str().is_empty()).unwrap_or(path).display().to_string()
}

/// `14:03:59`.
fn clock() -> String {
    let seconds = u64::try_from(ravel_runtime::natives::wall_clock()).unwrap_or_default() % 86400;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}
