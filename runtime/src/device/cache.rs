//! The cache folder: programs as the device's compiler made them, and what was tuned.
//!
//! A program is found by its source, the options, the device and its driver. An entry starts with a digest of what follows it: one
//! that was cut off or changed is not used. Entries are written to a file of their own and renamed, so that two processes may write
//! the same one. Whatever goes wrong, the program is built from its source.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha3::{Digest, Sha3_256};

/// First bytes of an entry. The number changes with the form of entries.
const MAGIC: &[u8; 8] = b"ravelcl1";
/// Bytes of a digest.
const DIGEST: usize = 32;
/// Entries of a folder; the oldest go.
const MOST_ENTRIES: usize = 1000;

/// Digest of several parts; parts that are joined differently have different digests.
pub(super) fn digest(parts: &[&[u8]]) -> [u8; DIGEST] {
    let mut hash = Sha3_256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// A digest as the name of a file.
pub(super) fn name_of(parts: &[&[u8]]) -> String {
    digest(parts).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The cache folder: `RAVEL_CACHE`, or `ravel` in the user's folder for such things. None if it is switched off (`RAVEL_CACHE` is
/// empty) or cannot be made.
pub fn folder() -> Option<PathBuf> {
    let folder = match std::env::var_os("RAVEL_CACHE") {
        Some(folder) if folder.is_empty() => return None,
        Some(folder) => PathBuf::from(folder),
        None => match std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute()) {
            Some(folder) => folder.join("ravel"),
            None => PathBuf::from(std::env::var_os("HOME").filter(|home| !home.is_empty())?).join(".cache/ravel"),
        },
    };
    fs::create_dir_all(&folder).ok()?;
    Some(folder)
}

/// Programs in a folder.
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    /// The programs in the cache folder; none where there is no such folder.
    pub fn open() -> Option<Store> {
        Store::at(&folder()?)
    }

    pub fn at(cache: &Path) -> Option<Store> {
        let folder = cache.join("kernels");
        fs::create_dir_all(&folder).ok()?;
        Some(Store { folder })
    }

    /// What is kept under a name, if it is whole.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let bytes = fs::read(self.folder.join(name)).ok()?;
        let rest = bytes.strip_prefix(MAGIC)?;
        let (sum, content) = rest.split_at_checked(DIGEST)?;
        (sum == digest(&[content])).then(|| content.to_vec())
    }

    /// Keeps something under a name. That it cannot is no error.
    pub fn write(&self, name: &str, content: &[u8]) {
        let sum = digest(&[content]);
        let written = replace(&self.folder.join(name), &[&MAGIC[..], &sum, content].concat());
        if written.is_ok() {
            self.prune();
        }
    }

    /// Removes the oldest entries of a folder that has too many.
    fn prune(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut found: Vec<_> = entries
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        if found.len() > MOST_ENTRIES {
            found.sort();
            for (_, path) in &found[..found.len() - MOST_ENTRIES] {
                // Another process may have been faster.
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Writes a file that appears complete or not at all.
pub(super) fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let partial =
        path.with_extension(format!("{}-{}.partial", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    let written = fs::write(&partial, content).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ravel-cache-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn entries_come_back_whole_or_not_at_all() {
        let folder = place("whole");
        let store = Store::at(&folder).expect("the temporary folder is writable");
        let name = name_of(&[b"source", b"device"]);
        assert_eq!(store.read(&name), None);
        store.write(&name, b"binary");
        assert_eq!(store.read(&name).as_deref(), Some(&b"binary"[..]));
        let file = folder.join("kernels").join(&name);
        let good = fs::read(&file).expect("just written");
        for bad in [&good[..good.len() - 1], &good[..20], &good[..4], &[], &[&good[..], b"x"].concat()] {
            fs::write(&file, bad).expect("the temporary folder is writable");
            assert_eq!(store.read(&name), None);
        }
        store.write(&name, b"binary");
        assert_eq!(store.read(&name).as_deref(), Some(&b"binary"[..]));
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn writers_do_not_disturb_each_other() {
        let folder = place("writers");
        let content = vec![7u8; 100_000];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let store = Store::at(&folder).expect("the temporary folder is writable");
                    for _ in 0..50 {
                        store.write("entry", &content);
                        assert_eq!(store.read("entry").as_deref(), Some(&content[..]));
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(folder.join("kernels")).map(Iterator::count).ok(), Some(1));
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn folders_that_cannot_be_made_switch_the_cache_off() {
        assert!(Store::at(Path::new("/dev/null/ravel")).is_none());
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(name_of(&[b"ab", b"c"]), name_of(&[b"a", b"bc"]));
        assert_eq!(name_of(&[b"a"]).len(), 64);
    }
}
