//! What Ravel writes for its users: one place that decides what may be replaced.
//!
//! A file appears when it is complete (`ravel_runtime::outputs`). It is never one that was read to make it: files are told apart by where they lie on
//! the disk, so that other names of an input are inputs, too.

use crate::files::is_library;
use crate::pipeline::Compilation;
use ravel_runtime::outputs;
use std::fmt;
use std::fs::Metadata;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Why an output was not written.
#[derive(Debug)]
pub struct OutputError {
    pub path: PathBuf,
    pub why: String,
    /// The path is that of a device or a pipe, or of a stream of this process: whoever gives it wants to see the text, and needs no file.
    pub no_file: bool,
}

impl OutputError {
    /// A file that cannot be written.
    pub fn new(path: &Path, why: &outputs::Refusal) -> OutputError {
        let no_file = matches!(why, outputs::Refusal::NoFile(_));
        OutputError { path: path.to_path_buf(), why: why.to_string(), no_file }
    }
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for OutputError {}

/// Files that no output replaces.
#[derive(Default)]
pub struct Inputs {
    known: Vec<Input>,
}

struct Input {
    device: u64,
    /// On the device.
    number: u64,
    /// What to say.
    why: String,
    is_stream: bool,
}

impl Inputs {
    /// Ravel itself, and where this process reads from and writes to.
    pub(crate) fn of_process() -> Inputs {
        let mut inputs = Inputs::default();
        if let Ok(ravel) = std::env::current_exe() {
            inputs.add(&ravel, "it is the running `ravel`");
        }
        inputs.add_stream(std::io::stdin().as_fd(), "it is the standard input of this command");
        inputs.add_stream(std::io::stdout().as_fd(), "it is the standard output of this command");
        inputs.add_stream(std::io::stderr().as_fd(), "it is the standard error of this command");
        inputs
    }

    /// A file; one that is not there cannot be replaced.
    pub fn add(&mut self, path: &Path, why: &str) {
        if let Ok(data) = path.metadata() {
            self.add_data(&data, why, false);
        }
    }

    fn add_stream(&mut self, stream: std::os::fd::BorrowedFd<'_>, why: &str) {
        if let Ok(Ok(data)) = stream.try_clone_to_owned().map(|stream| std::fs::File::from(stream).metadata()) {
            self.add_data(&data, why, true);
        }
    }

    fn add_data(&mut self, data: &Metadata, why: &str, is_stream: bool) {
        self.known.push(Input { device: data.dev(), number: data.ino(), why: why.to_string(), is_stream });
    }

    /// The input that a file is, so that it may not be replaced.
    fn find(&self, path: &Path) -> Option<&Input> {
        let data = path.metadata().ok()?;
        self.known.iter().find(|input| (input.device, input.number) == (data.dev(), data.ino()))
    }

    /// Whether a file can be written at `output`, as far as that is known.
    ///
    /// # Errors
    /// It would replace an input, or something that is no file.
    pub fn check(&self, output: &Path) -> Result<(), OutputError> {
        let refuse =
            |why: &str, no_file| Err(OutputError { path: output.to_path_buf(), why: why.to_string(), no_file });
        let place = outputs::destination(output).map_err(|why| OutputError::new(output, &why))?;
        if let Some(input) = self.find(&place) {
            return refuse(&input.why, input.is_stream);
        }
        let is_source = |path: &Path| path.extension().is_some_and(|extension| extension == "sac");
        if is_source(output) || is_source(&place) {
            return refuse("names with .sac are for source files", false);
        }
        Ok(())
    }

    /// Writes a file.
    ///
    /// # Errors
    /// As [`Inputs::check`], and those of writing; the file is then as it was.
    pub fn write(&self, output: &Path, content: &[u8]) -> Result<(), OutputError> {
        self.check(output)?;
        outputs::write(output, content).map_err(|why| OutputError::new(output, &why))
    }
}

impl Compilation {
    /// Everything that was read so far for the program at `root`.
    pub fn inputs(&self, root: &Path) -> Inputs {
        let mut inputs = Inputs::of_process();
        inputs.add(root, "it is the source file");
        for (_, file) in self.map.files().filter(|(_, file)| !is_library(&file.name)) {
            inputs.add(Path::new(&file.name), "it is a source file of the program");
        }
        inputs
    }

    /// Whether a file for the program at `root` can be written at `output`, as far as that is known.
    ///
    /// # Errors
    /// It would replace an input, or something that is no file.
    pub fn check_output(&self, root: &Path, output: &Path) -> Result<(), OutputError> {
        self.inputs(root).check(output)
    }

    /// Writes a text about the program at `root`.
    ///
    /// # Errors
    /// As [`Compilation::check_output`], and those of writing; the file is then as it was.
    pub fn write_output(&self, root: &Path, output: &Path, text: &str) -> Result<(), OutputError> {
        self.inputs(root).write(output, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::Options;
    use std::fs;

    #[test]
    fn inputs_are_never_replaced() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let place = |name: &str| root.path().join(name);
        fs::write(place("life.sac"), "import Cells: all;\n#include \"cells.h\"\nint main() { return one(); }")
            .expect("ok");
        fs::write(place("Cells.sac"), "module Cells; export all; int one() { return ONE; }").expect("ok");
        fs::write(place("cells.h"), "#define ONE 1\n").expect("ok");
        fs::hard_link(place("cells.h"), place("second")).expect("ok");
        std::os::unix::fs::symlink("Cells.sac", place("third")).expect("ok");
        let mut compilation = Compilation::new(Options::default());
        let refusal = |compilation: &Compilation, output: &Path| {
            compilation
                .write_output(&place("life.sac"), output, "x")
                .map_err(|e| e.to_string())
                .err()
                .unwrap_or_default()
        };
        // Before anything is read.
        assert!(refusal(&compilation, &place("life.sac")).ends_with("it is the source file"));
        // What is wrong with the program does not matter here: its files were read.
        let _ = compilation.core_with_holes(&place("life.sac"));
        for name in ["Cells.sac", "cells.h", "second", "third"] {
            let why = refusal(&compilation, &place(name));
            assert!(why.ends_with("it is a source file of the program"), "{name}: {why}");
        }
        let this = std::env::current_exe().expect("it runs");
        assert!(refusal(&compilation, &this).ends_with("it is the running `ravel`"));
        assert!(refusal(&compilation, &place("a.sac")).ends_with("are for source files"));
        assert!(refusal(&compilation, root.path()).contains("it is a folder"));
        assert!(refusal(&compilation, &place("no/p")).contains("there is no folder"));
        assert_eq!(refusal(&compilation, &place("life")), "");
        assert_eq!(fs::read_to_string(place("life")).ok().as_deref(), Some("x"));
        assert!(fs::read_to_string(place("Cells.sac")).is_ok_and(|text| text.starts_with("module")));
    }
}
