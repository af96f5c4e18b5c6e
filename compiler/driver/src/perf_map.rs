//! `ravel run --perf-map`: names of compiled functions for Linux's `perf`.
//!
//! `perf report` reads `/tmp/perf-PID.map` for code that no file has: a line for each function with its address and size as hexadecimal
//! numbers, and its name.

use crate::explain::show_type;
use crate::pipeline::{Compilation, Failure};
use ravel_codegen::CodeRange;
use ravel_wir::Module;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};

/// What `perf` shows for functions of nest, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols(HashMap<String, String>);

impl Compilation {
    /// Names the functions of a module that is about to be compiled: `conv(float[28,28],float[5,5]) cnn.sac:21`.
    pub(crate) fn note_symbols(&mut self, module: &Module) {
        if !self.options.perf_map {
            return;
        }
        for (id, func) in module.funcs.iter() {
            let params: Vec<String> = func.params().iter().map(|v| show_type(func.ty(*v))).collect();
            let mut name = format!("{}({})", func.name, params.join(","));
            if !func.span.is_none() {
                let place = self.map.describe(func.span);
                let place = place.rsplit_once(':').map_or(place.as_str(), |(line, _)| line);
                _ = write!(name, " {place}");
            }
            for callers in ravel_schedule::symbols_of(id, func) {
                self.symbols.0.insert(callers, name.clone());
            }
        }
    }

    /// Writes the map, if it is wanted.
    ///
    /// # Errors
    /// The backend does not know where its functions lie, or the file cannot be written.
    pub(crate) fn write_perf_map(&self, code: Option<Vec<CodeRange>>) -> Result<(), Failure> {
        if !self.options.perf_map {
            return Ok(());
        }
        let unsupported = |what: String| Failure::Unsupported { position: "--perf-map".to_string(), what };
        let code = code.ok_or_else(|| {
            unsupported(format!("the backend {} does not tell where its functions lie", self.options.backend.name()))
        })?;
        let path = format!("/tmp/perf-{}.map", std::process::id());
        replace(&path, self.symbols.map(&code).as_bytes())
            .map_err(|why| unsupported(format!("cannot write {path}: {why}")))
    }
}

impl Symbols {
    fn map(&self, code: &[CodeRange]) -> String {
        let mut out = String::new();
        for range in code.iter().filter(|range| range.bytes > 0) {
            // A file name may have any characters in it; a line has to stay one.
            let name = self.name(&range.func).replace(char::is_control, "?");
            let part = range.part.as_ref().map_or(String::new(), |part| format!(", {part}"));
            _ = writeln!(out, "{:x} {:x} {name}{part}", range.address, range.bytes);
        }
        out
    }

    /// What people know a function by. Loops that the scheduler took out of one are parts of it.
    fn name(&self, func: &str) -> String {
        if let Some(name) = self.0.get(func) {
            return name.clone();
        }
        let around = func.rsplit_once("_kernel_").and_then(|(around, number)| Some((self.0.get(around)?, number)));
        around.map_or(func.to_string(), |(name, number)| format!("{name}, kernel {number}"))
    }
}

/// Puts a file at a place that anybody may have put a link at: the link is replaced, not followed.
fn replace(path: &str, bytes: &[u8]) -> io::Result<()> {
    let beside = format!("{path}.part");
    let _ = fs::remove_file(&beside);
    let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
    let written = file.write_all(bytes).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_hexadecimal_numbers_and_a_name_without_control_characters() {
        let mut symbols = Symbols::default();
        symbols.0.insert("sac_f_1".to_string(), "f(double[.]) a\nb.sac:2".to_string());
        let range = |func: &str, part: Option<&str>, bytes| CodeRange {
            func: func.to_string(),
            part: part.map(str::to_string),
            address: 0xabc0,
            bytes,
        };
        let code = [
            range("sac_f_1", Some("parallel body 0"), 255),
            range("sac_f_1_kernel_7", None, 1),
            range("ravel_entry", None, 16),
            range("empty", None, 0),
        ];
        let map = "abc0 ff f(double[.]) a?b.sac:2, parallel body 0\nabc0 1 f(double[.]) a?b.sac:2, kernel 7\nabc0 10 ravel_entry\n";
        assert_eq!(symbols.map(&code), map);
    }

    #[test]
    fn a_link_is_replaced_and_what_it_leads_to_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let (victim, map) = (folder.path().join("victim"), folder.path().join("perf-1.map"));
        fs::write(&victim, "kept").expect("written");
        std::os::unix::fs::symlink(&victim, &map).expect("linked");
        replace(map.to_str().expect("a name"), b"1 2 f\n").expect("replaced");
        assert_eq!(fs::read_to_string(&victim).expect("there"), "kept");
        assert_eq!(fs::read_to_string(&map).expect("there"), "1 2 f\n");
        assert!(fs::symlink_metadata(&map).expect("there").is_file());
    }
}
