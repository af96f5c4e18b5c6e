//! The cache folder: programs as the device's compiler made them, and what was tuned.
//!
//! A program is found by its source, the options, the device and its driver. An entry starts with a digest of its name and of what follows: one
//! that was cut off, changed or put under another name is not used. Entries are written to a file of their own and renamed, so that two processes may write
//! the same one. Whatever goes wrong, the program is built from its source.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use sha3::{Digest, Sha3_256};

use crate::outputs;

/// First bytes of an entry. The number changes with the form of entries.
const MAGIC: &[u8; 8] = b"ravelcl2";
/// Bytes of a digest.
const DIGEST: usize = 32;
/// Entries of a folder; the oldest go.
const MOST_ENTRIES: usize = 1000;
/// Bytes of a file that may be an entry.
const LONGEST: u64 = 1 << 28;

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

/// Is this a name that [`name_of`] makes?
fn is_name(name: &std::ffi::OsStr) -> bool {
    name.len() == 2 * DIGEST && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit)
}

/// What a file holds; nothing if it is none, a pipe that nobody writes to for example, or longer than any that Ravel writes.
fn content(path: &Path) -> Option<Vec<u8>> {
    let data = fs::metadata(path).ok()?;
    if data.is_file() && data.len() <= LONGEST { fs::read(path).ok() } else { None }
}

/// Something with a digest before it that holds for this name only.
pub(super) fn sealed(magic: &[u8], name: &str, content: &[u8]) -> Vec<u8> {
    [magic, &digest(&[magic, name.as_bytes(), content]), content].concat()
}

/// What was [`sealed`] in a file for the file's own name; nothing if a single byte of it is different.
pub(super) fn unsealed(magic: &[u8], path: &Path) -> Option<Vec<u8>> {
    let bytes = content(path)?;
    let (sum, content) = bytes.strip_prefix(magic)?.split_at_checked(DIGEST)?;
    let name = path.file_name()?.to_str()?;
    (sum == digest(&[magic, name.as_bytes(), content])).then(|| content.to_vec())
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
        unsealed(MAGIC, &self.folder.join(name))
    }

    /// Keeps something under a name. That it cannot is no error.
    pub fn write(&self, name: &str, content: &[u8]) {
        let written = outputs::write(&self.folder.join(name), &sealed(MAGIC, name, content));
        if written.is_ok() {
            self.prune();
        }
    }

    /// Removes the oldest entries of a folder that has too many.
    fn prune(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut found: Vec<_> = entries
            .flatten()
            // What else somebody keeps there is not for Ravel to remove.
            .filter(|entry| is_name(&entry.file_name()))
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
        for n in 0..good.len() {
            for bit in [1, 0x80] {
                let mut bad = good.clone();
                bad[n] ^= bit;
                fs::write(&file, bad).expect("the temporary folder is writable");
                assert_eq!(store.read(&name), None, "byte {n}");
            }
        }
        // A whole entry of another program.
        let other = name_of(&[b"another source", b"device"]);
        fs::write(folder.join("kernels").join(&other), &good).expect("the temporary folder is writable");
        assert_eq!(store.read(&other), None);
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
    fn what_is_no_file_is_no_entry() {
        let folder = place("no-file");
        let store = Store::at(&folder).expect("the temporary folder is writable");
        let pipe = folder.join("kernels/pipe");
        let name = std::ffi::CString::new(pipe.to_str().expect("a plain name")).expect("no NUL");
        // SAFETY: the name is NUL-terminated.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        fs::create_dir(folder.join("kernels/folder")).expect("the temporary folder is writable");
        // Nobody writes to the pipe: reading would never end.
        assert_eq!((store.read("pipe"), store.read("folder")), (None, None));
        store.write("pipe", b"binary");
        assert!(pipe.exists() && !pipe.is_file());
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
