//! Files of with-loops and what is decided for them.
//!
//! ```text
//! about: one line
//! target: 32 bytes, threads
//! ==== wir
//! func @f0 "main" () -> (f64) { ... }
//! ==== schedule
//! func main
//!   with 1 at test:0 in main
//!     - tiles: there is one axis
//!     + lanes: 4 lanes along axis 0, 4 vectors per step
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use ravel_schedule::{Capabilities, Device, Options, schedule_text};
use ravel_source::FileId;

/// A file of the folder.
pub struct Case {
    pub path: PathBuf,
    head: String,
    wir: String,
    pub expected: String,
}

/// All files of a folder, by name.
pub fn read(folder: &Path) -> Vec<Case> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())).flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "txt")).collect();
    paths.sort();
    paths.into_iter().map(read_case).collect()
}

fn read_case(path: PathBuf) -> Case {
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (head, rest) = text.split_once("==== wir\n").unwrap_or_else(|| panic!("{}: no WIR", path.display()));
    let (wir, expected) = rest.split_once("==== schedule\n").unwrap_or((rest, ""));
    Case { head: head.to_string(), wir: wir.to_string(), expected: expected.to_string(), path }
}

impl Case {
    /// What is decided.
    pub fn schedule(&self) -> String {
        let name = self.path.display();
        let module = ravel_wir::parse::parse_module(&self.wir, FileId(0)).unwrap_or_else(|e| panic!("{name}: {e}"));
        ravel_wir::verify::verify(&module).unwrap_or_else(|e| panic!("{name}: {}", e[0]));
        let target = self.head.lines().find_map(|line| line.strip_prefix("target: ")).unwrap_or("32 bytes");
        let bytes = target.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let capabilities = match bytes {
            0 => Capabilities::SCALAR,
            _ => Capabilities {
                vector_bytes: bytes,
                vector_registers: if bytes == 64 { 32 } else { 16 },
                has_fma: true,
                fma_takes_factor: false,
                has_gather: target.contains("gathers"),
                ..Capabilities::SCALAR
            },
        };
        // Launches are made whatever they cost, or where they are worth this many cycles.
        let launch_work = target.split("device of ").nth(1).and_then(|word| word.parse().ok()).unwrap_or(1.0);
        let options = Options {
            unchecked: target.contains("unchecked"),
            lent: target.contains("lent"),
            parallel: target.contains("threads"),
            ranks: false,
            large_result: if target.contains("large") { 64 } else { ravel_schedule::LARGE_RESULT },
            profile: None,
            entry_name: "entry".to_string(),
            device: target.contains("device").then_some(Device { launch_work }),
            release_globals: true,
            position: &|span, name| format!("{} in {name}", span.start),
        };
        schedule_text(&module, &capabilities, &options).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

/// Compares every file of a folder with what is decided, or writes that to it.
pub fn check(folder: &Path, bless: bool) {
    let mut wrong = Vec::new();
    for case in read(folder) {
        let found = case.schedule();
        if found != case.expected {
            if bless {
                let text = format!("{}==== wir\n{}==== schedule\n{found}", case.head, case.wir);
                fs::write(&case.path, text).unwrap_or_else(|e| panic!("{}: {e}", case.path.display()));
            } else {
                wrong.push(format!("{}:\n{found}", case.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "RAVEL_BLESS=1 writes these:\n{}", wrong.join("\n"));
}
