//! Files that appear complete or not at all.
//!
//! What Ravel writes is written beside its destination and takes its place when it is complete. Symbolic links are followed, so that a link
//! stays one; what is no file, a device or a pipe, is refused and stays. What is not complete yet is on a list, and goes when a signal ends the
//! process.

use std::fmt::{self, Display};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// As many links as Linux follows.
const MOST_LINKS: usize = 40;

/// Why nothing can be written at a place.
#[derive(Debug)]
pub enum Refusal {
    /// The place is a folder.
    Folder,
    /// The place is no file: what it is.
    NoFile(&'static str),
    /// There is no such folder to write in.
    NoFolder(PathBuf),
    /// What the system says.
    System(io::Error),
}

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Folder => f.write_str("it is a folder; name a file in it"),
            Refusal::NoFile(what) => write!(f, "it is {what}; only files are replaced"),
            Refusal::NoFolder(folder) => write!(f, "there is no folder {}", folder.display()),
            Refusal::System(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        Refusal::System(error)
    }
}

/// What is not complete yet.
static UNDER_WAY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn under_way() -> MutexGuard<'static, Vec<PathBuf>> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what is not complete. Nothing is begun afterwards: the process is about to end.
pub(crate) fn remove_partial() {
    let list = under_way();
    list.iter().for_each(|path| remove(path));
    std::mem::forget(list);
}

/// That it cannot be removed is no further error.
fn remove(path: &Path) {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|data| data.is_dir());
    let _ = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// The file that a path means, links followed. It need not exist.
///
/// # Errors
/// No file can stand there.
pub fn destination(path: &Path) -> Result<PathBuf, Refusal> {
    if path.as_os_str().as_bytes().ends_with(b"/") || path.file_name().is_none() {
        return Err(if path.is_dir() { Refusal::Folder } else { Refusal::NoFolder(path.to_path_buf()) });
    }
    // Also what a link leads to that has no name of its own, as those below `/proc/self/fd`.
    if let Ok(data) = fs::metadata(path) {
        let kind = data.file_type();
        let what = match kind {
            _ if kind.is_dir() => return Err(Refusal::Folder),
            _ if kind.is_file() => None,
            _ if kind.is_fifo() => Some("a pipe"),
            _ if kind.is_socket() => Some("a socket"),
            _ => Some("a device"),
        };
        if let Some(what) = what {
            return Err(Refusal::NoFile(what));
        }
    }
    let mut place = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&place) else {
            let folder = folder_of(&place);
            return if folder.is_dir() { Ok(place) } else { Err(Refusal::NoFolder(folder.to_path_buf())) };
        };
        // A relative target counts from the folder of the link.
        place = folder_of(&place).join(target);
        if place.file_name().is_none() {
            return Err(Refusal::Folder);
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP).into())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Something beside a destination that is not complete, and goes unless it is put there.
struct Partial(PathBuf);

impl Partial {
    /// `make` creates it; it must refuse what exists.
    fn beside(destination: &Path, make: impl Fn(&Path) -> io::Result<File>) -> io::Result<(Partial, File)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder_of(destination).join(format!(".ravel-{}-{number}.partial", std::process::id()));
            // It is on the list before it exists: a signal may come between.
            under_way().push(path.clone());
            match make(&path) {
                Ok(file) => return Ok((Partial(path), file)),
                Err(error) => {
                    under_way().retain(|other| *other != path);
                    // What an earlier process with this number left.
                    if error.kind() != io::ErrorKind::AlreadyExists {
                        return Err(error);
                    }
                }
            }
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        remove(&self.0);
        under_way().retain(|other| *other != self.0);
    }
}

/// A folder for temporary files. It goes when it is dropped, or when a signal ends the process.
pub struct Folder(Partial);

impl Folder {
    /// # Errors
    /// None can be made where the system has temporary files.
    pub fn temporary() -> io::Result<Folder> {
        Partial::beside(&std::env::temp_dir().join("any"), make_folder).map(|(partial, _)| Folder(partial))
    }

    pub fn path(&self) -> &Path {
        &self.0.0
    }
}

/// A folder for this user alone.
fn make_folder(path: &Path) -> io::Result<File> {
    fs::DirBuilder::new().mode(0o700).create(path).and_then(|()| File::open(path))
}

/// Writes a file. One that is there keeps its permissions, and its owner if the system allows it.
///
/// # Errors
/// Nothing was written.
pub fn write(path: &Path, content: &[u8]) -> Result<(), Refusal> {
    let destination = destination(path)?;
    let (partial, mut file) = Partial::beside(&destination, |path| File::create_new(path))?;
    file.write_all(content)?;
    if let Ok(old) = fs::metadata(&destination) {
        let new = file.metadata()?;
        if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
            // Only the administrator may.
            let _ = fchown(&file, Some(old.uid()), Some(old.gid()));
        }
        file.set_permissions(old.permissions())?;
    }
    drop(file);
    fs::rename(&partial.0, &destination)?;
    Ok(())
}

/// Lets `make` fill a folder of its own beside the destination. The file whose path it gives takes the destination's place.
///
/// # Errors
/// Those of `make`, and those of writing.
pub fn make<E: From<Refusal>>(path: &Path, make: impl FnOnce(&Path) -> Result<PathBuf, E>) -> Result<(), E> {
    let destination = destination(path)?;
    let (partial, _) = Partial::beside(&destination, make_folder).map_err(Refusal::from)?;
    let made = make(&partial.0)?;
    fs::rename(made, &destination).map_err(|error| Refusal::from(error).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// An empty folder for a test.
    fn place(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ravel-outputs-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("the temporary folder is writable");
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("it exists").flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_replaced_through_links_and_keep_their_permissions() {
        let folder = place("links");
        let (file, link, far) = (folder.join("file"), folder.join("link"), folder.join("far"));
        fs::write(&file, "old").expect("writable");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("it is ours");
        symlink("file", &link).expect("writable");
        symlink("link", &far).expect("writable");
        write(&far, b"new").expect("writable");
        assert_eq!(fs::read_to_string(&file).ok().as_deref(), Some("new"));
        assert_eq!(fs::metadata(&file).map(|data| data.mode() & 0o777).ok(), Some(0o640));
        // A link to a file that is not there yet.
        let dangling = folder.join("dangling");
        symlink("made", &dangling).expect("writable");
        write(&dangling, b"made").expect("writable");
        assert_eq!(fs::read_to_string(folder.join("made")).ok().as_deref(), Some("made"));
        assert_eq!(names(&folder), ["dangling", "far", "file", "link", "made"]);
        assert!([&far, &link, &dangling].iter().all(|link| link.is_symlink()));
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn what_is_no_file_is_refused_and_stays() {
        let folder = place("refused");
        let pipe = folder.join("pipe");
        let name = std::ffi::CString::new(pipe.as_os_str().as_bytes()).expect("no NUL");
        // SAFETY: the name is NUL-terminated.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let socket = folder.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a short path");
        let (link, circle) = (folder.join("link"), folder.join("circle"));
        symlink("pipe", &link).expect("writable");
        symlink("circle", &circle).expect("writable");
        let refusal = |path: &Path| write(path, b"x").map_err(|why| why.to_string()).err().unwrap_or_default();
        assert!(refusal(&pipe).starts_with("it is a pipe"), "{}", refusal(&pipe));
        assert!(refusal(&link).starts_with("it is a pipe"));
        assert!(refusal(&socket).starts_with("it is a socket"));
        assert!(refusal(Path::new("/dev/null")).starts_with("it is a device"));
        assert!(refusal(&folder).starts_with("it is a folder"));
        assert!(refusal(&folder.join("./")).starts_with("it is a folder"));
        assert!(refusal(&folder.join("new/")).starts_with("there is no folder"));
        assert!(refusal(&folder.join("no/file")).starts_with("there is no folder"));
        assert!(!refusal(&circle).is_empty());
        assert!(fs::metadata(&pipe).is_ok_and(|data| data.file_type().is_fifo()));
        assert_eq!(names(&folder), ["circle", "link", "pipe", "socket"]);
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn failures_leave_nothing() {
        let folder = place("failures");
        let file = folder.join("file");
        fs::write(&file, "old").expect("writable");
        let failed = make(&file, |inside| {
            fs::write(inside.join("half"), "half")?;
            assert_eq!(under_way().iter().filter(|path| path.starts_with(&folder)).count(), 1);
            Err(Refusal::Folder)
        });
        assert!(failed.is_err());
        assert_eq!((names(&folder), fs::read_to_string(&file).ok().as_deref()), (vec!["file".into()], Some("old")));
        let made = make(&file, |inside| -> Result<PathBuf, Refusal> {
            fs::write(inside.join("whole"), "whole")?;
            Ok(inside.join("whole"))
        });
        assert!(made.is_ok());
        assert_eq!((names(&folder), fs::read_to_string(&file).ok().as_deref()), (vec!["file".into()], Some("whole")));
        assert!(under_way().iter().all(|path| !path.starts_with(&folder)));
        let _ = fs::remove_dir_all(&folder);
    }
}
