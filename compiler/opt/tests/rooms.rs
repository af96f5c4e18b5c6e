//! The rooms of `src/`: nothing imports from a room that comes after its own, so that whoever reads a room needs those before it only.

#![expect(clippy::disallowed_methods, reason = "the test reads sources")]

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms in order; files of the root that all of them use come first.
const ROOMS: [&str; 15] = [
    "pass",
    "edit",
    "facts",
    "instrument",
    "scalar",
    "fusion",
    "nests",
    "small",
    "loops",
    "motion",
    "differentiate",
    "reuse",
    "device",
    "pipeline",
    "lib",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The first words behind `crate::`.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    text.split("crate::")
        .skip(1)
        .map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or(""))
}

#[test]
fn no_room_imports_from_a_later_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 90, "the sources are not there");
    let order = |room: &str| ROOMS.iter().position(|known| *known == room);
    let mut wrong = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let room = name.split(['/', '.']).next().unwrap_or_default();
        let Some(here) = order(room) else {
            wrong.push(format!("{name} is in no room"));
            continue;
        };
        let text = fs::read_to_string(&file).unwrap_or_default();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for import in imports(code) {
            let is_later = order(import).is_some_and(|there| there > here);
            if is_later {
                wrong.push(format!("{name} imports {import}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_page_of_a_room_has_all_its_passes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut missing = Vec::new();
    for room in ROOMS.iter().filter(|room| root.join(room).is_dir()) {
        let page = fs::read_to_string(root.join(room).join("README.md")).unwrap_or_default();
        let mut files = Vec::new();
        sources(&root.join(room), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let Some((_, pass)) = text.split_once("pub const PASS: Pass") else { continue };
            let name = pass.split('"').nth(1).unwrap_or_default();
            if !page.contains(&format!("[`{name}`]")) {
                missing.push(format!("{room}/README.md has no `{name}`"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
