//! The world outside: exit, environment, file system, processes, error texts.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::Path;
use std::process::Command;

use super::streams::error_text;
use super::{Handle, Str, Text, natives};
use crate::abi::ObjectKind;
use crate::array::Array;
use crate::fault::{Ending, Fault};
use crate::ranks;
use crate::stream::{self, errno_of, path_of};

/// `errno` of a failure, 0 of a success.
fn status(result: io::Result<()>) -> i32 {
    result.map_or_else(|error| errno_of(&error), |()| 0)
}

/// Tries names made of a template whose last six characters are `XXXXXX` until `make` succeeds; also gives the last name tried.
pub(super) fn unique<T>(template: &[u8], make: impl Fn(&Path) -> io::Result<T>) -> (Result<T, i32>, Vec<u8>) {
    const ALPHABET: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    const ATTEMPTS: u32 = 1000;
    let Some(stem) = template.strip_suffix(b"XXXXXX") else { return (Err(libc::EINVAL), template.to_vec()) };
    let mut name = stem.to_vec();
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut seed = u64::from(clock.subsec_nanos()) ^ (u64::from(std::process::id()) << 32) ^ clock.as_secs();
    for _ in 0..ATTEMPTS {
        name.truncate(stem.len());
        for _ in 0..6 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            name.push(ALPHABET[usize::try_from((seed >> 33) % 36).unwrap_or(0)]);
        }
        match make(path_of(&name)) {
            Ok(made) => return (Ok(made), name),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return (Err(errno_of(&error)), name),
        }
    }
    (Err(libc::EEXIST), name)
}

/// Whether a name may be given to the environment functions, which refuse some by panicking.
fn is_variable_name(name: &[u8]) -> bool {
    !name.is_empty() && !name.contains(&b'=') && !name.contains(&0)
}

fn variable(name: &[u8]) -> Option<OsString> {
    if is_variable_name(name) { std::env::var_os(OsStr::from_bytes(name)) } else { None }
}

natives! { SYSTEM;
    /// Ends the program with a status after writing out all output.
    same fn ravel_exit(status: i32) -> () {
        Err(Fault { ending: Ending::Exit { status }, ..Fault::new("") })
    }

    /// An object without content, for the world and its parts.
    pure fn ravel_world() -> (world: Handle) {
        Array::opaque(ObjectKind::Other, ()).map(Handle)
    }

    /// An object that stands for a handle without a value.
    pure fn ravel_null_handle() -> (object: Handle) {
        Array::opaque(ObjectKind::Other, ()).map(Handle)
    }

    /// Words for an `errno`.
    pure fn ravel_syserr_strerror(err: i32) -> (text: Str) {
        Str::new(error_text(err).as_bytes())
    }

    /// Value of an environment variable; "" if it does not exist.
    root fn ravel_env_get(name: Text<'_>) -> (value: Str) {
        Str::new(variable(name.0).unwrap_or_default().as_bytes())
    }

    /// Whether an environment variable exists.
    root fn ravel_env_exists(name: Text<'_>) -> (exists: bool) {
        Ok(variable(name.0).is_some())
    }

    /// Sets an environment variable for the commands that the program starts; whether the name and the value are valid.
    same fn ravel_env_set(name: Text<'_>, value: Text<'_>, overwrite: bool) -> (ok: bool) {
        if !is_variable_name(name.0) || value.0.contains(&0) {
            return Ok(false);
        }
        if overwrite || variable(name.0).is_none() {
            // On all ranks, since pure natives of calendar time look at the time zone.
            // SAFETY: natives with effects run one at a time, and no other part of the runtime reads the environment then.
            unsafe { std::env::set_var(OsStr::from_bytes(name.0), OsStr::from_bytes(value.0)) };
        }
        Ok(true)
    }

    /// Removes an environment variable; `errno` or 0.
    same fn ravel_env_unset(name: Text<'_>) -> (err: i32) {
        if !is_variable_name(name.0) {
            return Ok(libc::EINVAL);
        }
        // SAFETY: as for setting.
        unsafe { std::env::remove_var(OsStr::from_bytes(name.0)) };
        Ok(0)
    }

    /// Number of environment variables.
    root fn ravel_env_count() -> (n: i32) {
        Ok(i32::try_from(std::env::vars_os().count()).unwrap_or(i32::MAX))
    }

    /// Environment variable `i` as `NAME=value`; "" out of range.
    root fn ravel_env_index(i: i32) -> (text: Str) {
        let found = usize::try_from(i).ok().and_then(|i| std::env::vars_os().nth(i));
        Str::new(&found.map_or_else(Vec::new, |(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat()))
    }

    /// Renames a file; `errno` or 0.
    root fn ravel_fs_rename(from: Text<'_>, to: Text<'_>) -> (err: i32) {
        Ok(status(fs::rename(path_of(from.0), path_of(to.0))))
    }

    /// Removes a file or an empty folder; `errno` or 0.
    root fn ravel_fs_remove(name: Text<'_>) -> (err: i32) {
        let path = path_of(name.0);
        let is_folder = fs::symlink_metadata(path).is_ok_and(|data| data.is_dir());
        Ok(status(if is_folder { fs::remove_dir(path) } else { fs::remove_file(path) }))
    }

    /// Creates the symbolic link `link` to `target`; `errno` or 0.
    root fn ravel_fs_symlink(target: Text<'_>, link: Text<'_>) -> (err: i32) {
        Ok(status(symlink(path_of(target.0), path_of(link.0))))
    }

    /// Checks access: 0 exists, or a sum of 4 read, 2 write, 1 execute; `errno` or 0.
    root fn ravel_fs_access(name: Text<'_>, mode: i32) -> (err: i32) {
        let Ok(name) = std::ffi::CString::new(name.0) else { return Ok(libc::EINVAL) };
        // SAFETY: the name is NUL-terminated.
        let result = unsafe { libc::access(name.as_ptr(), mode) };
        Ok(if result == 0 { 0 } else { errno_of(&io::Error::last_os_error()) })
    }

    /// Changes the working folder; `errno` or 0.
    root fn ravel_fs_chdir(name: Text<'_>) -> (err: i32) {
        Ok(status(std::env::set_current_dir(path_of(name.0))))
    }

    /// Creates a folder; `errno` or 0.
    root fn ravel_fs_mkdir(name: Text<'_>, mode: i32) -> (err: i32) {
        let mode = u32::try_from(mode).unwrap_or(0o777);
        Ok(status(fs::DirBuilder::new().mode(mode).create(path_of(name.0))))
    }

    /// Removes an empty folder; `errno` or 0.
    root fn ravel_fs_rmdir(name: Text<'_>) -> (err: i32) {
        Ok(status(fs::remove_dir(path_of(name.0))))
    }

    /// Whether the name is a folder.
    root fn ravel_fs_isdir(name: Text<'_>) -> (holds: bool) {
        Ok(fs::metadata(path_of(name.0)).is_ok_and(|data| data.is_dir()))
    }

    /// Whether the name is a regular file.
    root fn ravel_fs_isreg(name: Text<'_>) -> (holds: bool) {
        Ok(fs::metadata(path_of(name.0)).is_ok_and(|data| data.is_file()))
    }

    /// Whether the name is a symbolic link.
    root fn ravel_fs_islnk(name: Text<'_>) -> (holds: bool) {
        Ok(fs::symlink_metadata(path_of(name.0)).is_ok_and(|data| data.is_symlink()))
    }

    /// Size of a file in bytes.
    root fn ravel_fs_filesize(name: Text<'_>) -> (err: i32, size: i64) {
        Ok(match fs::metadata(path_of(name.0)) {
            Ok(data) => (0, i64::try_from(data.len()).unwrap_or(i64::MAX)),
            Err(error) => (errno_of(&error), -1),
        })
    }

    /// The working folder.
    root fn ravel_fs_getcwd() -> (err: i32, name: Str) {
        Ok(match std::env::current_dir() {
            Ok(path) => (0, Str::new(&path.into_os_string().into_vec())?),
            Err(error) => (errno_of(&error), Str::new(b"")?),
        })
    }

    /// Creates a folder whose name is the template with its last six characters, `XXXXXX`, replaced.
    root fn ravel_fs_mkdtemp(template: Text<'_>) -> (err: i32, name: Str) {
        let (result, name) = unique(template.0, |path| fs::DirBuilder::new().mode(0o700).create(path));
        Ok((result.err().unwrap_or(0), Str::new(&name)?))
    }

    /// The folder for temporary files.
    root fn ravel_fs_tmpdir() -> (name: Str) {
        Str::new(&std::env::temp_dir().into_os_string().into_vec())
    }

    /// Runs a shell command and waits; its exit status, -1 if it was killed or could not start.
    root fn ravel_process_system(command: Text<'_>) -> (status: i32) {
        stream::flush_all();
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(OsStr::from_bytes(command.0));
        ranks::set_apart(&mut shell);
        let outcome = shell.status();
        Ok(outcome.ok().and_then(|status| status.code()).unwrap_or(-1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unique_names_follow_the_template() {
        let template = std::env::temp_dir().join("ravel-test-XXXXXX").into_os_string().into_vec();
        let (made, name) = unique(&template, |path| fs::File::create_new(path));
        assert!(made.is_ok());
        assert_eq!(name.len(), template.len());
        assert_ne!(name, template);
        fs::remove_file(path_of(&name)).expect("it exists");
        assert_eq!(unique(b"short", |path| fs::File::create_new(path)).0.err(), Some(libc::EINVAL));
    }

    #[test]
    fn odd_variable_names_are_refused() {
        assert_eq!(variable(b""), None);
        assert_eq!(variable(b"A=B"), None);
        assert_eq!(variable(b"A\0"), None);
    }
}
