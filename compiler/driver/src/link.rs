//! Object files into an executable: linked with the runtime by the C compiler, or attached to a copy of `ravel`.

use crate::outputs::OutputError;
use ravel_attach::LoadError;
use ravel_runtime::outputs;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why no executable was made.
#[derive(Debug)]
pub enum LinkError {
    /// The static library of the runtime was looked for in these places.
    NoRuntime(Vec<PathBuf>),
    /// The executable would replace the source, or its place is not possible.
    Output(OutputError),
    /// As [`LinkError::Output`], before it is known where.
    Refused(outputs::Refusal),
    /// The C compiler could not be started.
    NoCompiler { command: OsString, why: std::io::Error },
    /// The C compiler failed; its words.
    Failed(String),
    /// The object files cannot be attached.
    Unattachable(LoadError),
    /// The program calls C code, which only the C compiler can link.
    NeedsCompiler,
}

/// How an executable is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linking {
    /// By the C compiler; without one, or without the library of the runtime, as [`Linking::Attached`].
    #[default]
    Automatic,
    /// As a copy of `ravel` with the object files attached.
    Attached,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::NoRuntime(places) => {
                write!(f, "the runtime library libravel_runtime.a was not found; looked in")?;
                places.iter().try_for_each(|p| write!(f, "\n  {}", p.display()))?;
                write!(f, "\nset RAVEL_RUNTIME to its path")
            }
            LinkError::Output(error) => write!(f, "{error}"),
            LinkError::Refused(why) => write!(f, "cannot write the executable: {why}"),
            LinkError::NoCompiler { command, why } => {
                write!(
                    f,
                    "cannot start the C compiler `{}` for linking: {why}; set CC to another one",
                    command.display()
                )
            }
            LinkError::Unattachable(why) => write!(f, "the program cannot be attached to a copy of ravel: {why}"),
            LinkError::NeedsCompiler => write!(f, "the program calls C functions: only a C compiler can link them"),
            LinkError::Failed(words) => write!(f, "linking failed:\n{words}"),
        }
    }
}

impl std::error::Error for LinkError {}

impl From<OutputError> for LinkError {
    fn from(error: OutputError) -> LinkError {
        LinkError::Output(error)
    }
}

impl From<outputs::Refusal> for LinkError {
    fn from(why: outputs::Refusal) -> LinkError {
        LinkError::Refused(why)
    }
}

/// The static library that executables are linked with.
///
/// # Errors
/// [`LinkError::NoRuntime`], in words.
pub fn runtime_library() -> Result<PathBuf, String> {
    find_runtime().map_err(|error| error.to_string())
}

/// `RAVEL_RUNTIME`, or beside the running binary, or in the `deps` folder of a cargo build, or in an installed `lib/ravel`.
pub(crate) fn find_runtime() -> Result<PathBuf, LinkError> {
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

/// Links `objects`, and what the program's C functions need, into the executable `output`, which appears only when it is complete.
///
/// # Errors
/// See [`LinkError`].
fn link(objects: &[Vec<u8>], foreign: &[OsString], output: &Path) -> Result<(), LinkError> {
    let runtime = find_runtime()?;
    let failed = |error: LinkError| match error {
        LinkError::Refused(why) => LinkError::Output(OutputError::new(output, &why)),
        other => other,
    };
    outputs::make(output, |folder| {
        let paths: Vec<PathBuf> = (0..objects.len()).map(|n| folder.join(format!("{n}.o"))).collect();
        for (path, object) in paths.iter().zip(objects) {
            std::fs::write(path, object).map_err(outputs::Refusal::from)?;
        }
        let linked = folder.join("linked");
        run_linker(&paths, foreign, &runtime, folder, &linked)?;
        Ok(linked)
    })
    .map_err(failed)
}

/// The C compiler, for linking or compiling, and what it said if it failed. Its temporary files go to `folder`.
///
/// # Errors
/// [`LinkError::NoCompiler`], [`LinkError::Failed`].
pub(crate) fn cc(folder: &Path, arguments: &[OsString]) -> Result<(), LinkError> {
    let command = std::env::var_os("CC").filter(|c| !c.is_empty()).unwrap_or_else(|| "cc".into());
    tool(command, folder, arguments)
}

/// Runs a tool that makes files.
///
/// # Errors
/// As [`cc`].
pub(crate) fn tool(command: OsString, folder: &Path, arguments: &[OsString]) -> Result<(), LinkError> {
    let result = Command::new(&command).args(arguments).env("TMPDIR", folder).output();
    let result = result.map_err(|why| LinkError::NoCompiler { command: command.clone(), why })?;
    if result.status.success() {
        return Ok(());
    }
    ravel_runtime::signals::command_failed(result.status);
    let mut words = String::from_utf8_lossy(&result.stderr).into_owned();
    if words.trim().is_empty() {
        words = format!("`{}` said nothing; {}", command.display(), result.status);
    }
    Err(LinkError::Failed(words))
}

/// Why [`Linking::Automatic`] would attach here: the user has named neither a compiler nor a library, and one of them is missing.
fn missing(error: &LinkError) -> Option<&'static str> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match error {
        LinkError::NoCompiler { why, .. } if why.kind() == std::io::ErrorKind::NotFound && !is_set("CC") => {
            Some("there is no C compiler `cc`")
        }
        LinkError::NoRuntime(_) if !is_set("RAVEL_RUNTIME") => Some("there is no libravel_runtime.a"),
        _ => None,
    }
}

/// Makes the executable `output` of `objects`, and of what the program's C functions need. The answer says why it is a copy of `ravel`, if nobody
/// asked for one.
///
/// # Errors
/// See [`LinkError`].
pub fn make(
    objects: &[Vec<u8>],
    foreign: &[OsString],
    output: &Path,
    linking: Linking,
) -> Result<Option<&'static str>, LinkError> {
    if linking == Linking::Attached {
        return match foreign.is_empty() {
            true => attach(objects, output).map(|()| None),
            false => Err(LinkError::NeedsCompiler),
        };
    }
    match link(objects, foreign, output) {
        Ok(()) => Ok(None),
        Err(error) => match missing(&error).filter(|_| ravel_attach::IS_POSSIBLE && foreign.is_empty()) {
            Some(why) => attach(objects, output).map(|()| Some(why)),
            None => Err(error),
        },
    }
}

/// Writes a copy of this process's own file with `objects` behind it.
fn attach(objects: &[Vec<u8>], output: &Path) -> Result<(), LinkError> {
    let failed = |why: &outputs::Refusal| LinkError::Output(OutputError::new(output, why));
    let own = std::env::current_exe().and_then(std::fs::read).map_err(|error| failed(&error.into()))?;
    let content = ravel_attach::attach(&own, objects).map_err(LinkError::Unattachable)?;
    let made = outputs::make(output, |folder| {
        let attached = folder.join("attached");
        std::fs::write(&attached, &content)?;
        std::fs::set_permissions(&attached, std::fs::Permissions::from_mode(0o755))?;
        Ok(attached)
    });
    made.map_err(|why: outputs::Refusal| failed(&why))
}

/// Leaves out what a program does not use of the runtime: most of it.
pub(crate) const WITHOUT_UNUSED: &str =
    if cfg!(target_vendor = "apple") { "-Wl,-dead_strip" } else { "-Wl,--gc-sections" };

/// Runs the C compiler, whose own temporary files go to `folder`, too: whatever ends it, they go with the folder.
fn run_linker(
    objects: &[PathBuf],
    foreign: &[OsString],
    runtime: &Path,
    folder: &Path,
    output: &Path,
) -> Result<(), LinkError> {
    let mut arguments: Vec<OsString> = objects.iter().map(Into::into).collect();
    arguments.extend_from_slice(foreign);
    arguments.push(runtime.into());
    arguments.extend(["-lpthread", "-lm", "-ldl", WITHOUT_UNUSED, "-o"].map(OsString::from));
    arguments.push(output.into());
    cc(folder, &arguments)
}
