//! SaC in build scripts: a static library of compiled functions, and a Rust module that calls them.
//!
//! In `build.rs`:
//!
//! ```no_run
//! fn main() -> Result<(), ravel_build::Error> {
//!     ravel_build::compile("src/filters.sac")
//! }
//! ```
//!
//! and in the program:
//!
//! ```ignore
//! mod filters {
//!     include!(concat!(env!("OUT_DIR"), "/filters.rs"));
//! }
//!
//! let image = filters::View::new([480, 640], &pixels)?;
//! let smooth = filters::conv_2(image, kernel)?;
//! println!("{:?}: {:?}", smooth.shape(), &smooth.as_slice()[..3]);
//! ```
//!
//! The command `ravel` compiles, by `ravel build --lib`; the variable `RAVEL` names another one than that on the path. The program needs
//! neither it nor this crate: the module stands for itself, and the library has the runtime in it. Which functions a file offers, and how
//! their values look outside of SaC, is described with that command. A C compiler, `ar` and `objcopy` are needed.
//!
//! # The module
//!
//! A function has its name from SaC; overloads have the ranks of their arrays behind it, `conv_2`. Arrays of known rank are `View`s of that rank,
//! `View<'_, f32, 2>`, arrays of any rank `AnyView`s, texts `&str`; scalars are numbers. Array results are `Array`s, several results a tuple.
//! What is wrong is an `Error`: a run-time error, or an argument that is none for SaC. Calls may be made on any thread, and wait for each other.
//!
//! # Stability
//!
//! Of all crates of Ravel this one and `ravel-lang` keep their interface within a major version, and so does what the module has.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod bindings;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a file for the crate whose build script calls this. See [`Build::compile`].
///
/// # Errors
/// As [`Build::compile`].
pub fn compile(source: impl AsRef<Path>) -> Result<(), Error> {
    Build::new(source).compile()
}

/// A file to be compiled, and how.
#[derive(Clone, Debug)]
pub struct Build {
    source: PathBuf,
    name: String,
    folder: Option<PathBuf>,
    command: Option<OsString>,
    options: Vec<OsString>,
}

/// What was made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Made {
    /// The Rust module.
    pub module: PathBuf,
    /// The static library.
    pub library: PathBuf,
    /// What is linked as well, as flags of a C compiler.
    pub link: Vec<String>,
    /// What `ravel` said beside, such as warnings.
    pub remarks: String,
}

/// Why nothing was made. `Debug` gives the same text as `Display`, since that is what Cargo shows of a build script's end.
#[non_exhaustive]
pub enum Error {
    /// The command cannot be started.
    NoCommand {
        /// What was tried.
        command: OsString,
        /// Why it does not start.
        why: std::io::Error,
    },
    /// `ravel` refuses the file; its words.
    Refused(String),
    /// A file cannot be read or written, or is not what it should be.
    File {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Cargo has not said where outputs go: this is not a build script.
    NoFolder,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoCommand { command, why } => write!(
                f,
                "cannot start `{}`, which compiles SaC: {why}; install Ravel, or let the variable RAVEL name the command",
                command.display()
            ),
            Error::Refused(words) => f.write_str(words.trim_end()),
            Error::File { path, why } => write!(f, "{}: {why}", path.display()),
            Error::NoFolder => f.write_str("OUT_DIR is not set: either call this in a build script, or say `out_dir`"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

impl Build {
    /// A file, relative to the folder of the crate. The module and the library are called as the file.
    pub fn new(source: impl AsRef<Path>) -> Build {
        let source = source.as_ref().to_path_buf();
        let name = source.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Build { source, name, folder: None, command: None, options: Vec::new() }
    }

    /// Another name for the module and the library.
    pub fn name(mut self, name: &str) -> Build {
        self.name = name.to_string();
        self
    }

    /// An option of `ravel build`, such as `-DN=8` or `-I` and a folder.
    pub fn option(mut self, option: impl AsRef<OsStr>) -> Build {
        self.options.push(option.as_ref().to_os_string());
        self
    }

    /// The command `ravel`, whatever the variable `RAVEL` says.
    pub fn command(mut self, command: impl AsRef<OsStr>) -> Build {
        self.command = Some(command.as_ref().to_os_string());
        self
    }

    /// Where outputs go; otherwise Cargo says it.
    pub fn out_dir(mut self, folder: impl AsRef<Path>) -> Build {
        self.folder = Some(folder.as_ref().to_path_buf());
        self
    }

    /// Makes library and module, and tells Cargo to link the library, and to do this again when a SaC or C file beside the source changes.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn compile(&self) -> Result<(), Error> {
        // Also after an error, which the next version of the file may not have.
        for variable in ["RAVEL", "RAVEL_PATH", "CC"] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        for path in sources_beside(&self.source) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        let made = self.make()?;
        for line in made.remarks.lines().filter(|line| !line.trim().is_empty()) {
            println!("cargo::warning={line}");
        }
        if let Some(folder) = made.library.parent() {
            println!("cargo::rustc-link-search=native={}", folder.display());
        }
        println!("cargo::rustc-link-lib=static={}", self.name);
        for flag in &made.link {
            match flag.strip_prefix("-l") {
                Some(library) => println!("cargo::rustc-link-lib=dylib={library}"),
                None => println!("cargo::rustc-link-arg={flag}"),
            }
        }
        Ok(())
    }

    /// Makes library and module, for build scripts of other tools than Cargo.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn make(&self) -> Result<Made, Error> {
        let folder = self.folder.clone().or_else(|| std::env::var_os("OUT_DIR").map(PathBuf::from));
        let folder = folder.ok_or(Error::NoFolder)?;
        let of_environment = || std::env::var_os("RAVEL").filter(|command| !command.is_empty());
        let command = self.command.clone().or_else(of_environment).unwrap_or_else(|| "ravel".into());
        let library = folder.join(format!("lib{}.a", self.name));
        let mut ravel = Command::new(&command);
        ravel.args(["build", "--lib"]).args(&self.options).arg("-o").arg(library.with_extension("")).arg(&self.source);
        let output = ravel.output().map_err(|why| Error::NoCommand { command, why })?;
        let remarks = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(Error::Refused(match remarks.trim() {
                "" => format!("`ravel` ended with {}", output.status),
                _ => remarks,
            }));
        }
        let manifest = folder.join(format!("{}.json", self.name));
        let wrong =
            |path: &Path, why: &dyn fmt::Display| Error::File { path: path.to_path_buf(), why: why.to_string() };
        let text = std::fs::read_to_string(&manifest).map_err(|why| wrong(&manifest, &why))?;
        let described = bindings::Described::read(&text).map_err(|why| wrong(&manifest, &why))?;
        let module = folder.join(format!("{}.rs", self.name));
        // Complete, or not at all.
        let partial = folder.join(format!(".{}.rs.{}", self.name, std::process::id()));
        let written = std::fs::write(&partial, described.module()).and_then(|()| std::fs::rename(&partial, &module));
        written.map_err(|why| {
            let _ = std::fs::remove_file(&partial);
            wrong(&module, &why)
        })?;
        Ok(Made { module, library, link: described.link, remarks })
    }
}

/// The file, and what it may use: SaC and C beside it.
fn sources_beside(source: &Path) -> Vec<PathBuf> {
    let folder = source.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_source = |path: &PathBuf| {
        path.extension().is_some_and(|extension| ["sac", "c", "h", "o", "a"].iter().any(|known| extension == *known))
    };
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_source).collect();
    found.push(source.to_path_buf());
    found.sort();
    found
}
