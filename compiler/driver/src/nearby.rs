//! Files of SaC that belong together: those of a package, or of a folder.

use crate::project::vendor::MARK;
use std::fs;
use std::path::{Path, PathBuf};

/// Files of SaC in a folder, in the order of their names; at most so many entries are looked at.
pub fn beside(folder: &Path, most: usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(most).map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| is_sac(path)).collect();
    files.sort();
    files
}

/// The same also of the folders in it, without hidden ones; nothing if there is more to look at than that.
pub fn below(folder: &Path, most: usize) -> Option<Vec<PathBuf>> {
    let (mut files, mut left) = (Vec::new(), most);
    search(folder, &mut left, &mut files)?;
    Some(files)
}

fn is_sac(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sac")
}

fn search(folder: &Path, left: &mut usize, files: &mut Vec<PathBuf>) -> Option<()> {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().take(*left + 1).collect();
    *left = left.checked_sub(entries.len())?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // A link to a folder may lead back to where it lies.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if !is_hidden && !is_made(&path) {
                search(&path, left, files)?;
            }
        } else if is_sac(&path) && path.is_file() {
            files.push(path);
        }
    }
    Some(())
}

/// Whether all in a folder can be made or fetched again.
fn is_made(folder: &Path) -> bool {
    folder.join("CACHEDIR.TAG").is_file() || folder.join(MARK).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lie_in_folders() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        for name in ["b/c", ".hidden", "made"] {
            fs::create_dir_all(at(name))?;
        }
        for name in ["a.sac", "b/c/d.sac", "b/e.txt", ".hidden/f.sac", "made/g.sac", "made/CACHEDIR.TAG"] {
            fs::write(at(name), "")?;
        }
        assert_eq!(below(folder.path(), 100), Some(vec![at("a.sac"), at("b/c/d.sac")]));
        assert_eq!(below(folder.path(), 3), None);
        assert_eq!(below(&at("nowhere"), 100), Some(Vec::new()));
        assert_eq!(beside(folder.path(), 100), [at("a.sac")]);
        Ok(())
    }
}
