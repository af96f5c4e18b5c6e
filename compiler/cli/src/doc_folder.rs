//! The folder that `ravel doc` writes: its own files and no others.
//!
//! A file `.ravel-doc` lists what was made. Only that is replaced or removed. All files are written beside first, so that nothing has changed
//! if one of them cannot be.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

const MARKER: &str = ".ravel-doc";
const HEAD: &str = "The files below were made by `ravel doc`, which replaces and removes them.\n";

/// Writes the pages, whose paths are relative to the folder; the exit status.
pub fn write(folder: &Path, mut pages: Vec<(String, String)>) -> i32 {
    pages.push(marker(&pages));
    match replace(folder, &pages) {
        Ok(()) => 0,
        Err(why) => {
            say!("ravel: {why}");
            1
        }
    }
}

/// Whether the folder holds these pages and no others; the exit status.
pub fn check(folder: &Path, pages: &[(String, String)]) -> i32 {
    let mut stale: Vec<String> = Vec::new();
    for (path, text) in pages.iter().chain([&marker(pages)]) {
        if fs::read_to_string(folder.join(path)).ok().as_ref() != Some(text) {
            stale.push(folder.join(path).display().to_string());
        }
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let is_page = path.extension().is_some_and(|end| end == "md" || end == "html");
        if is_page && pages.iter().all(|(page, _)| name != page.as_str()) {
            stale.push(format!("{} (there is no such module)", path.display()));
        }
    }
    for path in &stale {
        say!("ravel: not up to date: {path}");
    }
    if !stale.is_empty() {
        say!("ravel: `ravel doc -o {}` makes them anew", folder.display());
    }
    i32::from(!stale.is_empty())
}

fn marker(pages: &[(String, String)]) -> (String, String) {
    let names: BTreeSet<&str> = pages.iter().map(|(path, _)| path.as_str()).collect();
    (MARKER.to_string(), names.iter().fold(HEAD.to_string(), |text, name| text + name + "\n"))
}

fn replace(folder: &Path, pages: &[(String, String)]) -> Result<(), String> {
    let failed = |what: &str, path: &Path, error: std::io::Error| format!("cannot {what} {}: {error}", path.display());
    let is_new = !folder.exists();
    let owned = if is_new { BTreeSet::new() } else { owned(folder)? };
    for (path, _) in pages.iter().filter(|(path, _)| path != MARKER) {
        let there = fs::symlink_metadata(folder.join(path));
        if there.is_ok_and(|data| !data.is_file() || !owned.contains(path)) {
            let path = folder.join(path);
            return Err(format!("{} was not made by `ravel doc`, and stays; name another folder", path.display()));
        }
    }
    fs::create_dir_all(folder).map_err(|error| failed("make", folder, error))?;
    let staging = folder.join(format!(".ravel-doc-{}", std::process::id()));
    let written = stage(&staging, pages).and_then(|()| {
        for (path, _) in pages {
            let target = folder.join(path);
            let parent = target.parent().unwrap_or(folder);
            fs::create_dir_all(parent).map_err(|error| failed("make", parent, error))?;
            fs::rename(staging.join(path), &target).map_err(|error| failed("write", &target, error))?;
        }
        Ok(())
    });
    // That they cannot be removed is no further error.
    let _ = fs::remove_dir_all(&staging);
    if written.is_err() && is_new {
        let _ = fs::remove_dir(folder);
    }
    written?;
    let stale = owned.iter().filter(|path| pages.iter().all(|(page, _)| page != *path)).map(|path| folder.join(path));
    for path in stale.filter(|path| fs::symlink_metadata(path).is_ok_and(|data| data.is_file())) {
        fs::remove_file(&path).map_err(|error| failed("remove", &path, error))?;
    }
    Ok(())
}

fn stage(staging: &Path, pages: &[(String, String)]) -> Result<(), String> {
    for (path, text) in pages {
        let path: PathBuf = staging.join(path);
        let parent = path.parent().unwrap_or(staging);
        let made = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
        made.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// What a folder holds of ours: nothing if it is empty.
fn owned(folder: &Path) -> Result<BTreeSet<String>, String> {
    let mut entries =
        fs::read_dir(folder).map_err(|error| format!("cannot write into {}: {error}", folder.display()))?;
    let is_link = fs::symlink_metadata(folder.join(MARKER)).is_ok_and(|data| !data.is_file());
    match fs::read_to_string(folder.join(MARKER)) {
        // A list that leads out of the folder is none of ours.
        Ok(list) if !is_link && list.starts_with(HEAD) => {
            let is_inside = |path: &&str| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
            Ok(list[HEAD.len()..].lines().filter(is_inside).map(String::from).collect())
        }
        Err(error) if error.kind() == ErrorKind::NotFound && entries.next().is_none() => Ok(BTreeSet::new()),
        _ => Err(format!(
            "{} holds files that were not made by `ravel doc`, and stays as it is; name a new or an empty folder",
            folder.display()
        )),
    }
}
