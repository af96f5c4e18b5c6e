//! Executables without a C compiler or linker: a copy of `ravel` itself with the object files of the program behind it.
//!
//! At start `ravel` looks at the end of its own file. If object files are attached there, it loads them and runs their `main` instead of a
//! command.

mod loader;
mod relocate;

use std::ffi::{CString, OsString, c_char};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

pub use loader::LoadError;

/// The last bytes of a file with something attached, in front of them two numbers: where that begins, and how many object files it is.
const MAGIC: &[u8; 16] = b"\x7fravel-attached\n";
/// Those bytes and the numbers.
const FOOTER: u64 = 16 + 2 * 8;

/// Whether programs can be attached on this kind of machine.
pub const IS_POSSIBLE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// A file that runs `objects`: the content of `ravel`, which is not attached to anything itself, and the objects.
///
/// # Errors
/// An object file that cannot be loaded, which would only show at start.
pub fn attach(ravel: &[u8], objects: &[Vec<u8>]) -> Result<Vec<u8>, LoadError> {
    loader::check(objects)?;
    let size = objects.iter().map(Vec::len).sum::<usize>() + 8 * objects.len() + FOOTER as usize;
    let mut file = Vec::with_capacity(ravel.len() + size);
    file.extend_from_slice(ravel);
    for object in objects {
        file.extend_from_slice(&(object.len() as u64).to_le_bytes());
        file.extend_from_slice(object);
    }
    file.extend_from_slice(&(ravel.len() as u64).to_le_bytes());
    file.extend_from_slice(&(objects.len() as u64).to_le_bytes());
    file.extend_from_slice(MAGIC);
    Ok(file)
}

/// The object files that are attached to this process's own file; nothing if there are none.
///
/// # Errors
/// The file cannot be read, or is damaged.
fn attached() -> io::Result<Option<Vec<Vec<u8>>>> {
    read_attached(Path::new("/proc/self/exe"))
}

fn read_attached(path: &Path) -> io::Result<Option<Vec<Vec<u8>>>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let Some(footer_at) = length.checked_sub(FOOTER) else { return Ok(None) };
    file.seek(SeekFrom::Start(footer_at))?;
    let mut footer = [0; FOOTER as usize];
    file.read_exact(&mut footer)?;
    if footer[16..] != *MAGIC {
        return Ok(None);
    }
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "what is attached to this file is damaged");
    let number = |at: usize| footer[at..at + 8].try_into().map(u64::from_le_bytes).map_err(|_| damaged());
    let (start, count) = (number(0)?, number(8)?);
    if start > footer_at {
        return Err(damaged());
    }
    file.seek(SeekFrom::Start(start))?;
    let mut content = Vec::new();
    file.take(footer_at - start).read_to_end(&mut content)?;
    let mut rest = content.as_slice();
    let mut objects = Vec::new();
    for _ in 0..count {
        let (length, behind) = rest.split_at_checked(8).ok_or_else(damaged)?;
        let length = length.try_into().map(u64::from_le_bytes).map_err(|_| damaged())?;
        let length = usize::try_from(length).map_err(|_| damaged())?;
        let (object, behind) = behind.split_at_checked(length).ok_or_else(damaged)?;
        objects.push(object.to_vec());
        rest = behind;
    }
    Ok(Some(objects))
}

/// Runs the program that is attached to this process's file, with all arguments of the process; its exit status. Nothing if none is attached.
///
/// # Errors
/// What is attached cannot be read or loaded.
pub fn run() -> Result<Option<i32>, String> {
    // Where the file cannot be looked at, a command is what was wanted.
    if !IS_POSSIBLE {
        return Ok(None);
    }
    let objects = match attached() {
        Ok(Some(objects)) => objects,
        Ok(None) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(error.to_string()),
        Err(_) => return Ok(None),
    };
    let main = loader::load(&objects).map_err(|error| error.to_string())?;
    let mut arguments = Vec::new();
    for argument in std::env::args_os() {
        // Arguments of a process have no NUL.
        arguments.push(CString::new(OsString::into_vec(argument)).unwrap_or_default());
    }
    let mut pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let count = i32::try_from(arguments.len()).unwrap_or(i32::MAX);
    as_in_c();
    // SAFETY: the code is a C `main`, and the arguments are what the C library would pass. They live until the process ends.
    #[expect(unsafe_code, reason = "compiled code is a raw address")]
    let status = unsafe { main(count, pointers.as_ptr()) };
    Ok(Some(status))
}

/// Undoes what the start of a Rust program does differently: a program that writes into a closed pipe is ended.
fn as_in_c() {
    // SAFETY: the default action of a signal, before any other thread runs.
    #[expect(unsafe_code, reason = "signals are set by the C library")]
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(name: &str, content: &[u8]) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("ravel-attach-{name}-{}", std::process::id()));
        std::fs::write(&path, content).expect("the temporary folder is writable");
        path
    }

    #[test]
    fn what_is_attached_is_found_again() {
        let file = attach(b"any file", &[]).expect("nothing to load");
        let path = written("none", &file);
        assert_eq!(read_attached(&path).expect("readable"), Some(Vec::new()));
        let plain = written("plain", b"no footer, but long enough to hold one, surely");
        assert_eq!(read_attached(&plain).expect("readable"), None);
        let mut wrong = file.clone();
        let at = wrong.len() - 24;
        wrong[at] = 3;
        let wrong = written("wrong", &wrong);
        assert_eq!(read_attached(&wrong).expect_err("it is damaged").kind(), io::ErrorKind::InvalidData);
        for path in [path, plain, wrong] {
            let _ = std::fs::remove_file(path);
        }
    }

    #[test]
    fn what_is_no_object_file_is_refused() {
        assert!(attach(b"any file", &[b"no object".to_vec()]).is_err());
    }
}
