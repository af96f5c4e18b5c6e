//! Packages on the command line: what commands take from `ravel.toml`, `ravel fetch` and `ravel vendor`.

use crate::args::{Fetch, Network, Vendor};
use crate::use_color;
use ravel_diagnostics::{Format, render};
use ravel_driver::Options;
use ravel_driver::project::git::Trouble;
use ravel_driver::project::{Access, Broken, MANIFEST, Project, find, vendor};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// What options allow.
pub fn access(network: Network) -> Access {
    let note = |what: &str| {
        // For people who wait; a script wants results alone.
        if std::io::stderr().is_terminal() {
            say!("ravel: {what}");
        }
    };
    let Network { offline, locked } = network;
    Access { offline, locked, update: false, writes_lock: true, note }
}

/// Prints what is wrong with packages; the exit status.
pub fn complain(broken: &Broken) -> i32 {
    let text = render(&broken.diagnostics, &broken.map, Format::Human, use_color());
    let _ = std::io::stderr().write_all(text.as_bytes());
    let n = broken.diagnostics.len();
    say!("ravel: {n} error{}", if n == 1 { "" } else { "s" });
    crate::watch::note_files(broken.map.files().map(|(_, file)| Path::new(&file.name)));
    1
}

/// The package that a file or folder is part of.
pub fn open(path: &Path, network: Network) -> Result<Option<Project>, i32> {
    let Some(folder) = find(path) else { return Ok(None) };
    let project = Project::open(&folder, access(network)).map_err(|broken| complain(&broken))?;
    crate::watch::note_files(project.files.iter().map(PathBuf::as_path));
    Ok(Some(project))
}

/// Lets `options` find what the package of a file has; standard input belongs to the current folder.
pub fn enter(options: &mut Options, file: &Path, network: Network) -> Result<(), i32> {
    let is_stream = file == Path::new("-");
    if let Some(project) = open(if is_stream { Path::new(".") } else { file }, network)? {
        project.apply(options, (!is_stream).then_some(file));
    }
    Ok(())
}

/// Options for what is typed: the package of the current folder counts.
pub fn typed() -> Result<Options, i32> {
    let mut options = crate::options(&[], &[], &[], false, true);
    enter(&mut options, Path::new("-"), Network { offline: false, locked: false })?;
    Ok(options)
}

/// The package of a folder, which must be one.
fn required(folder: &Path, access: Access) -> Result<Project, i32> {
    let Some(found) = find(folder) else {
        say!("ravel: there is no {MANIFEST} here or above; name a file, or make a package by `ravel new`");
        return Err(2);
    };
    Project::open(&found, access).map_err(|broken| complain(&broken))
}

/// The files that are meant where none is named, or a folder.
pub fn roots(folder: &Path, network: Network) -> Result<(Project, Vec<PathBuf>), i32> {
    let project = required(folder, access(network))?;
    let roots = project.roots().map_err(|broken| complain(&broken))?;
    Ok((project, roots))
}

/// The one program that is meant where none is named, or a folder.
pub fn root(folder: &Path, network: Network) -> Result<(Project, PathBuf), i32> {
    let (project, mut roots) = roots(folder, network)?;
    match (roots.pop(), roots.is_empty()) {
        (Some(root), true) => Ok((project, root)),
        (last, _) => {
            let names: Vec<String> = roots.iter().chain(&last).map(|root| root.display().to_string()).collect();
            say!("ravel: the package has several roots; name one: {}", names.join(", "));
            Err(2)
        }
    }
}

pub fn fetch(fetch: &Fetch) -> i32 {
    let access = Access { update: fetch.update, ..access(fetch.network) };
    let project = match required(Path::new("."), access) {
        Ok(project) => project,
        Err(status) => return status,
    };
    for package in &project.packages {
        let place = match &package.locked {
            Some(locked) => format!("{} {}", locked.git, &locked.revision.commit[..12]),
            None => package.folder.display().to_string(),
        };
        if !crate::print(&format!("{}  {place}\n", package.name)) {
            return 1;
        }
    }
    0
}

pub fn vendor(arguments: &Vendor) -> i32 {
    let project = match required(Path::new("."), access(arguments.network)) {
        Ok(project) => project,
        Err(status) => return status,
    };
    match vendor::vendor(&project, &arguments.folder) {
        Ok(0) => {
            say!("ravel: the package has no git dependency; there is nothing to copy");
            0
        }
        Ok(n) => {
            let what = if n == 1 { "package" } else { "packages" };
            say!("ravel: copied {n} {what} into {}", arguments.folder.display());
            0
        }
        Err(Trouble { title, notes, help }) => {
            say!("ravel: {title}");
            notes.iter().chain(&help).for_each(|line| say!("ravel: {line}"));
            1
        }
    }
}
