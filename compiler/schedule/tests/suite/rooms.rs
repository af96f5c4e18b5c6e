//! The rooms of `src/`: nothing imports from a room that comes after its own, and few modules import each other in a circle.

#![expect(clippy::disallowed_methods, reason = "the test reads files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms in order.
const ROOMS: [&str; 11] =
    ["math", "post", "facts", "plan", "lower", "memory", "kernel", "tile", "threads", "device", "lib"];

/// `Lower` holds the states that later rooms own, and a function ends with the plan of its memory.
const EXCEPTIONS: [(&str, &str); 8] = [
    ("lower", "memory::state"),
    ("lower", "kernel::state"),
    ("lower", "threads::state"),
    ("lower", "device::state"),
    ("lower/function", "memory::arena"),
    ("lower/regions", "memory::loop_unique"),
    ("lower/views", "memory::loop_unique"),
    ("lower/context", "memory::lending"),
];

/// Modules that may import each other in a circle: a type and what is known of it are in one room.
const MOST_IN_CIRCLE: usize = 12;

/// The code of every module, without comments and tests, by its path.
struct Sources {
    modules: BTreeMap<String, String>,
}

impl Sources {
    fn read() -> Sources {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = Vec::new();
        find(&root, &mut files);
        let mut modules = BTreeMap::new();
        for file in files {
            let name = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            let name = name.trim_end_matches(".rs").trim_end_matches("/mod").to_string();
            let text = fs::read_to_string(&file).unwrap_or_default();
            let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
            modules.insert(name, lines.collect::<Vec<_>>().join("\n"));
        }
        assert!(modules.len() > 90, "the sources are not there");
        Sources { modules }
    }

    /// The module that a path begins with.
    fn module_of(&self, path: &str) -> Option<&String> {
        let parts: Vec<&str> = path.split("::").collect();
        (1..=parts.len()).rev().find_map(|n| Some(self.modules.get_key_value(&parts[..n].join("/"))?.0))
    }
}

fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The paths behind `crate::`; those in braces one by one.
fn imports(code: &str) -> Vec<String> {
    code.split("crate::").skip(1).flat_map(|rest| paths(rest).0).collect()
}

/// The paths that a text begins with, and how long they are.
fn paths(text: &str) -> (Vec<String>, usize) {
    let is_path = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let end = text.find(|c| !is_path(c)).unwrap_or(text.len());
    let (start, mut at) = (&text[..end], end);
    if !text[at..].starts_with('{') {
        return (vec![start.to_string()], at);
    }
    let mut all = Vec::new();
    at += 1;
    while at < text.len() && !text[at..].starts_with('}') {
        let (inner, length) = paths(&text[at..]);
        if length == 0 {
            at += 1;
            continue;
        }
        all.extend(inner.into_iter().map(|path| format!("{start}{path}")));
        at += length;
    }
    (all, at + 1)
}

#[test]
fn no_room_imports_from_a_later_one() {
    let sources = Sources::read();
    let order = |room: &str| ROOMS.iter().position(|known| *known == room);
    let mut wrong = Vec::new();
    for (name, code) in &sources.modules {
        let Some(here) = order(name.split('/').next().unwrap_or_default()) else {
            wrong.push(format!("{name} is in no room"));
            continue;
        };
        for import in imports(code) {
            let is_later = order(import.split("::").next().unwrap_or_default()).is_some_and(|there| there > here);
            let is_known = EXCEPTIONS.iter().any(|(from, to)| name.starts_with(from) && import.starts_with(to));
            if is_later && !is_known {
                wrong.push(format!("{name} imports {import}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn few_modules_import_each_other_in_a_circle() {
    let sources = Sources::read();
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, code) in &sources.modules {
        let to = imports(code).into_iter().filter_map(|path| sources.module_of(&path).map(String::as_str));
        reached.insert(name, to.collect());
    }
    // The imports of imports.
    loop {
        let before = reached.clone();
        for to in reached.values_mut() {
            let further: Vec<&str> = to.iter().flat_map(|name| before[name].iter().copied()).collect();
            to.extend(further);
        }
        if reached == before {
            break;
        }
    }
    for (name, to) in &reached {
        let circle: Vec<&&str> = to.iter().filter(|other| reached[**other].contains(name)).collect();
        assert!(circle.len() <= MOST_IN_CIRCLE, "{name} imports, and is imported by, {circle:?}");
    }
}

#[test]
fn the_page_of_a_room_has_all_its_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    find(&root, &mut files);
    let mut missing = Vec::new();
    for file in files.iter().filter(|file| file.parent() != Some(&root)) {
        let pages =
            file.ancestors().skip(1).take_while(|folder| *folder != root).map(|folder| folder.join("README.md"));
        let page = pages.into_iter().find_map(|page| fs::read_to_string(page).ok()).unwrap_or_default();
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        if !page.contains(&format!("`{name}`")) {
            missing.push(file.display().to_string());
        }
    }
    assert!(missing.is_empty(), "not on the page of their room: {missing:#?}");
}
