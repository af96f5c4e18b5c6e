//! Files of the library as an editor can open them: copies on the disk that nobody should write to.
//!
//! They lie in the user's cache, in a folder that the version and the texts name, so that another Ravel has its own.

use crate::files::{LIBRARY, library_text};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The folder of all copies, if the user has a place for what can be made again.
fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    Some(cache.or_else(|| Some(set("HOME")?.join(".cache")))?.join("ravel").join("library"))
}

/// The copy of a library file, which is written if it is not there.
pub fn on_disk(name: &str) -> Option<PathBuf> {
    let text = library_text(name)?;
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let inside = name.strip_prefix(LIBRARY)?;
    let (folders, file) = inside.rsplit_once('/').unwrap_or(("", inside));
    // The name says which text it is: a copy is never replaced by another one.
    let place = folder()?.join(format!("{}-{:016x}", env!("CARGO_PKG_VERSION"), hasher.finish())).join(folders);
    let path = place.join(file);
    if fs::read(&path).is_ok_and(|known| known == text.as_bytes()) {
        return Some(path);
    }
    fs::create_dir_all(&place).ok()?;
    let beside = place.join(format!(".{file}.{}", std::process::id()));
    let written = fs::write(&beside, text.as_bytes()).and_then(|()| {
        let mut rights = fs::metadata(&beside)?.permissions();
        rights.set_readonly(true);
        fs::set_permissions(&beside, rights)?;
        fs::rename(&beside, &path)
    });
    if written.is_err() {
        // It may not be there at all.
        let _ = fs::remove_file(&beside);
        return None;
    }
    Some(path)
}

/// Whether a file is such a copy.
pub fn is_copy(path: &Path) -> bool {
    folder().is_some_and(|folder| path.starts_with(folder))
}
