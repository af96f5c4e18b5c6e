//! Linking object files with the runtime into an executable.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why no executable was made.
#[derive(Debug)]
pub enum LinkError {
    /// The static library of the runtime was looked for in these places.
    NoRuntime(Vec<PathBuf>),
    /// The executable would replace the source, or its place is not possible.
    Output { path: PathBuf, why: String },
    /// A file could not be written.
    Write { path: PathBuf, why: std::io::Error },
    /// The C compiler could not be started.
    NoCompiler { command: OsString, why: std::io::Error },
    /// The C compiler failed; its words.
    Failed(String),
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::NoRuntime(places) => {
                write!(f, "the runtime library libravel_runtime.a was not found; looked in")?;
                places.iter().try_for_each(|p| write!(f, "\n  {}", p.display()))?;
                write!(f, "\nset RAVEL_RUNTIME to its path")
            }
            LinkError::Output { path, why } => write!(f, "cannot write {}: {why}", path.display()),
            LinkError::Write { path, why } => write!(f, "cannot write {}: {why}", path.display()),
            LinkError::NoCompiler { command, why } => {
                write!(
                    f,
                    "cannot start the C compiler `{}` for linking: {why}; set CC to another one",
                    command.display()
                )
            }
            LinkError::Failed(words) => write!(f, "linking failed:\n{words}"),
        }
    }
}

impl std::error::Error for LinkError {}

/// `RAVEL_RUNTIME`, or beside the running binary, or in the `deps` folder of a cargo build, or in an installed `lib/ravel`.
fn runtime_library() -> Result<PathBuf, LinkError> {
    if let Some(path) = std::env::var_os("RAVEL_RUNTIME").map(PathBuf::from) {
        return if path.is_file() { Ok(path) } else { Err(LinkError::NoRuntime(vec![path])) };
    }
    let exe = std::env::current_exe().and_then(|p| p.canonicalize()).unwrap_or_default();
    let folder = exe.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut places = vec![folder.join("libravel_runtime.a"), folder.join("../lib/ravel/libravel_runtime.a")];
    if let Some(found) = places.iter().find(|p| p.is_file()) {
        return Ok(found.clone());
    }
    // `cargo install` copies the binary alone; the library stays where it was built.
    let built = Path::new(env!("RAVEL_BUILD_FOLDER"));
    // Cargo leaves the library of a dependency, with a hash in its name, in `deps`; the newest belongs to this binary.
    let deps = folder.join("deps");
    for folder in [&deps, &built.join("deps")] {
        match newest_runtime(folder) {
            Some(path) => return Ok(path),
            None => places.push(folder.join("libravel_runtime-*.a")),
        }
    }
    Err(LinkError::NoRuntime(places))
}

fn newest_runtime(folder: &Path) -> Option<PathBuf> {
    std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|p| {
            let name = p.file_name().and_then(|n| n.to_str()).unwrap_or("");
            name.starts_with("libravel_runtime") && name.ends_with(".a")
        })
        .filter_map(|p| Some((p.metadata().ok()?.modified().ok()?, p)))
        .max()
        .map(|(_, path)| path)
}

/// Whether an executable of `source` can stand at `output`, as far as that can be known before it is made.
///
/// # Errors
/// [`LinkError::Output`].
pub fn check_output(source: &Path, output: &Path) -> Result<(), LinkError> {
    let refuse = |why: String| Err(LinkError::Output { path: output.to_path_buf(), why });
    if output.is_dir() || output.file_name().is_none() {
        return refuse("it is a folder; name a file in it".to_string());
    }
    let same = |a: &Path, b: &Path| Some(a.canonicalize().ok()? == b.canonicalize().ok()?);
    if same(source, output) == Some(true) {
        return refuse("it is the source file".to_string());
    }
    if output.extension().is_some_and(|extension| extension == "sac") {
        return refuse("names with .sac are for source files".to_string());
    }
    match output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            refuse(format!("there is no folder {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Links `objects`, and what the program's C functions need, into the executable `output`, which appears only when it is complete.
///
/// # Errors
/// See [`LinkError`].
pub fn link(objects: &[Vec<u8>], foreign: &[OsString], output: &Path) -> Result<(), LinkError> {
    let runtime = runtime_library()?;
    let file_name = output.file_name().unwrap_or_default();
    let beside = |suffix: &str| {
        let mut name = OsString::from(".");
        name.push(file_name);
        name.push(format!(".{}{suffix}", std::process::id()));
        output.with_file_name(name)
    };
    let partial = beside(".partial");
    let paths: Vec<PathBuf> = (0..objects.len()).map(|n| beside(&format!(".{n}.o"))).collect();
    let write = paths.iter().zip(objects).try_for_each(|(path, object)| {
        std::fs::write(path, object).map_err(|why| LinkError::Write { path: path.clone(), why })
    });
    let linked = write.and_then(|()| run_linker(&paths, foreign, &runtime, &partial)).and_then(|()| {
        std::fs::rename(&partial, output).map_err(|why| LinkError::Write { path: output.to_path_buf(), why })
    });
    // Left-overs of a failure are of no use; that they cannot be removed is no further error.
    for path in &paths {
        let _ = std::fs::remove_file(path);
    }
    let _ = std::fs::remove_file(&partial);
    linked
}

fn run_linker(objects: &[PathBuf], foreign: &[OsString], runtime: &Path, output: &Path) -> Result<(), LinkError> {
    let command = std::env::var_os("CC").filter(|c| !c.is_empty()).unwrap_or_else(|| "cc".into());
    let result = Command::new(&command)
        .args(objects)
        .args(foreign)
        .arg(runtime)
        .args(["-lpthread", "-lm", "-ldl"])
        .arg("-o")
        .arg(output)
        .output()
        .map_err(|why| LinkError::NoCompiler { command, why })?;
    if result.status.success() {
        Ok(())
    } else {
        let mut words = String::from_utf8_lossy(&result.stderr).into_owned();
        if words.trim().is_empty() {
            words = format!("the C compiler said nothing; {}", result.status);
        }
        Err(LinkError::Failed(words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_never_replace_sources() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let source = root.path().join("life");
        std::fs::write(&source, "").expect("the folder is writable");
        let refusal = |output: &Path| check_output(&source, output).map_err(|e| e.to_string());
        assert!(refusal(&source).is_err_and(|e| e.ends_with("it is the source file")));
        assert!(refusal(&root.path().join("a.sac")).is_err());
        assert!(refusal(root.path()).is_err_and(|e| e.contains("it is a folder")));
        assert!(refusal(&root.path().join("no/p")).is_err_and(|e| e.contains("there is no folder")));
        assert!(refusal(&root.path().join("p")).is_ok());
        assert!(refusal(Path::new("p")).is_ok());
    }
}
