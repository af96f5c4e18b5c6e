//! `ravel vendor`: copies of git dependencies in the package itself, so that builds need neither network nor cache.

use crate::project::dependencies::vendored;
use crate::project::git::Trouble;
use crate::project::{Lock, Project};
use ravel_runtime::outputs;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// In a folder of copies: tells it from one that somebody else filled. Commands that look for SaC files leave such folders out.
pub const MARK: &str = ".ravel-vendor";

/// Copies the git dependencies into a folder of the package, and notes that in the lock file; how many there are.
///
/// # Errors
/// The folder is somebody else's, or cannot be written; then it is as it was.
pub fn vendor(project: &Project, folder: &Path) -> Result<usize, Trouble> {
    let is_inside = folder.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_inside || folder.components().count() == 0 {
        return Err(Trouble::new(format!("{} is no folder in the package", folder.display())));
    }
    let place = project.manifest.folder.join(folder);
    let shown = place.display();
    let is_ours = place.join(MARK).is_file();
    let is_empty = fs::read_dir(&place).is_ok_and(|mut entries| entries.next().is_none());
    if fs::symlink_metadata(&place).is_ok() && !is_ours && !is_empty {
        return Err(Trouble::new(format!("{shown} is there, and not by `ravel vendor`"))
            .with_help("move it away, or name another folder: `ravel vendor DIR`"));
    }
    let io = |error: io::Error| Trouble::new(format!("cannot copy into {shown}: {error}"));
    let mut packages: Vec<_> =
        project.packages.iter().filter_map(|package| Some((package, package.locked.as_ref()?))).collect();
    packages.dedup_by(|(a, _), (b, _)| a.folder == b.folder);
    if packages.is_empty() {
        return Ok(0);
    }
    let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(io)?;
    // The new folder is complete before the old one goes.
    let beside = place.with_file_name(format!(".{}.new", place.file_name().unwrap_or_default().display()));
    if beside.exists() {
        fs::remove_dir_all(&beside).map_err(io)?;
    }
    outputs::make(&beside, |temporary| {
        let new = temporary.join("new");
        fs::create_dir(&new).map_err(io)?;
        fs::write(new.join(MARK), "Copies that `ravel vendor` made; change nothing here.\n").map_err(io)?;
        for (package, locked) in &packages {
            copy(&package.folder, &new.join(vendored(&locked.name, &locked.revision))).map_err(io)?;
        }
        Ok::<PathBuf, Trouble>(new)
    })?;
    if fs::symlink_metadata(&place).is_ok() {
        fs::remove_dir_all(&place).map_err(io)?;
    }
    fs::rename(&beside, &place).map_err(io)?;
    let lock = Lock { vendor: Some(folder.to_path_buf()), ..project.lock.clone() };
    lock.write(&project.manifest.folder).map_err(|why| Trouble::new(format!("cannot write ravel.lock: {why}")))?;
    Ok(packages.len())
}

/// Copies files and folders. Links are left out: they may lead anywhere.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
