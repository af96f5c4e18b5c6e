//! `ravel fmt`: files, folders and standard input through the formatter.
//!
//! A file is only replaced if it can be written, is what was read from it, and has the same tokens and comments afterwards.

use crate::args::Fmt;
use crate::rewrite::rewrite;
use ravel_driver::project::vendor::MARK;
use ravel_format::{Formatted, format, unified};
use std::collections::BTreeSet;
use std::fs;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

/// Folders deeper than this are not looked into: a path that long cannot be named.
const MOST_DEPTH: usize = 200;

/// Formats what is named; the exit status.
pub fn run(fmt: &Fmt) -> i32 {
    let is_stream = |path: &PathBuf| path.as_os_str() == "-";
    if fmt.paths.iter().any(is_stream) && fmt.paths.len() > 1 {
        say!("ravel: `-` stands alone: standard input is formatted to standard output");
        return 2;
    }
    if fmt.paths.is_empty() && std::io::stdin().is_terminal() {
        say!("ravel: name files or folders, or `-` for standard input; `ravel fmt .` formats all below this folder");
        return 2;
    }
    if fmt.paths.first().is_none_or(is_stream) {
        return i32::from(!standard_input(fmt));
    }
    let mut well = true;
    let mut files = BTreeSet::new();
    for path in &fmt.paths {
        if path.is_dir() {
            well &= find(path, &mut files, MOST_DEPTH);
        } else {
            files.insert(path.clone());
        }
    }
    for file in &files {
        well &= one_file(fmt, file);
    }
    i32::from(!well)
}

/// Adds the `.sac` files below a folder; false if some part of it cannot be read. Hidden folders and links to folders are left out.
fn find(folder: &Path, files: &mut BTreeSet<PathBuf>, depth: usize) -> bool {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            say!("ravel: cannot read {}: {error}", folder.display());
            return false;
        }
    };
    let mut well = true;
    for entry in entries {
        let kind = entry.as_ref().map_err(ToString::to_string).and_then(|entry| {
            let kind = entry.file_type().map_err(|error| error.to_string())?;
            Ok((entry.path(), kind))
        });
        match kind {
            Ok((path, kind)) if kind.is_dir() => {
                let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
                if !hidden && depth > 0 && !path.join(MARK).is_file() {
                    well &= find(&path, files, depth - 1);
                }
            }
            Ok((path, _)) => {
                if path.extension().is_some_and(|extension| extension == "sac") && !path.is_dir() {
                    files.insert(path);
                }
            }
            Err(why) => {
                say!("ravel: cannot read {}: {why}", folder.display());
                well = false;
            }
        }
    }
    well
}

fn standard_input(fmt: &Fmt) -> bool {
    let mut bytes = Vec::new();
    if let Err(error) = std::io::stdin().read_to_end(&mut bytes) {
        say!("ravel: cannot read standard input: {error}");
        return false;
    }
    let name = Path::new("<stdin>");
    let Some((old, formatted)) = lay_out(fmt, name, bytes) else { return false };
    if fmt.check || fmt.diff {
        return shown(fmt, name, &old, &formatted);
    }
    crate::print(&formatted.text)
}

/// Formats a file; false if that is not possible, or it would change and is only to be checked.
fn one_file(fmt: &Fmt, file: &Path) -> bool {
    let refuse = |why: &dyn std::fmt::Display| {
        say!("ravel: cannot format {}: {why}", file.display());
        false
    };
    // A pipe would be waited for.
    match fs::metadata(file) {
        Ok(data) if !data.is_file() => return refuse(&"it is no file"),
        Ok(_) => {}
        Err(error) => return refuse(&error),
    }
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) => return refuse(&error),
    };
    let Some((old, formatted)) = lay_out(fmt, file, bytes) else { return false };
    if fmt.check || fmt.diff {
        return shown(fmt, file, &old, &formatted);
    }
    if old == formatted.text {
        return true;
    }
    match rewrite(file, &old, &formatted.text) {
        Ok(()) => true,
        Err(why) => refuse(&why),
    }
}

/// A text and what it becomes; nothing, after saying why, if it is no text of SaC.
fn lay_out(fmt: &Fmt, name: &Path, bytes: Vec<u8>) -> Option<(String, Formatted)> {
    let name = name.display();
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let line =
                error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
            say!("{name}:{line}: error: the text is not UTF-8; the file stays as it is");
            return None;
        }
    };
    match format(&text) {
        Ok(formatted) => {
            for note in formatted.notes.iter().filter(|_| !fmt.check) {
                say!("{name}:{}:{}: note: {}", note.line, note.column, note.reason);
            }
            Some((text, formatted))
        }
        Err(wrong) => {
            say!("{name}:{}:{}: error: {}; the file stays as it is", wrong.line, wrong.column, wrong.what);
            None
        }
    }
}

/// Prints what `--check` and `--diff` print; false if the text would change and is checked.
fn shown(fmt: &Fmt, name: &Path, old: &str, formatted: &Formatted) -> bool {
    let changes = old != formatted.text;
    let name = name.display().to_string();
    let text = match (fmt.diff, changes) {
        (_, false) => return true,
        (true, true) => unified(&name, old, &formatted.text),
        (false, true) => format!("{name}\n"),
    };
    crate::print(&text) && !fmt.check
}
