//! `ravel doc`: reference pages.

use crate::args::Doc;
use ravel_driver::doc::{Module, Refused, examples, index, library, module, page};
use ravel_runtime::outputs;
use std::path::{Path, PathBuf};

/// Makes the pages; the exit status.
pub fn run(doc: &Doc) -> i32 {
    let (library, wanted) = match wanted(doc) {
        Ok(found) => found,
        Err(wrong) => {
            crate::report(&wrong.0, Some(&wrong.1));
            return 1;
        }
    };
    let all: Vec<&Module> = if doc.modules.is_empty() { library.iter().collect() } else { wanted.iter().collect() };
    if doc.examples {
        let programs: Vec<String> = all.iter().filter_map(|module| examples(module)).collect();
        return match (&programs[..], all.len()) {
            ([program], 1) => i32::from(!crate::print(program)),
            ([], 1) => {
                say!("ravel: there are no examples in {}", all[0].name);
                1
            }
            _ => {
                say!("ravel: --examples takes one module");
                1
            }
        };
    }
    let known = if doc.modules.is_empty() { &library } else { &wanted };
    let Some(folder) = &doc.output else {
        let text: String = all.iter().map(|module| page(module, known)).collect::<Vec<_>>().join("\n");
        return i32::from(!crate::print(&text));
    };
    let mut pages: Vec<(PathBuf, String)> =
        all.iter().map(|module| (folder.join(format!("{}.md", module.name)), page(module, known))).collect();
    pages.push((folder.join("index.md"), index(known)));
    if doc.check { check(folder, &pages) } else { write(folder, &pages) }
}

/// The library, and the modules that were asked for.
type Found = (Vec<Module>, Vec<Module>);

fn wanted(doc: &Doc) -> Result<Found, Refused> {
    let mut library = library()?;
    let mut wanted = Vec::new();
    for asked in &doc.modules {
        match library.iter().position(|module| Path::new(&module.name) == asked) {
            Some(at) => wanted.push(library.remove(at)),
            None => wanted.push(module(asked)?),
        }
    }
    Ok((library, wanted))
}

fn write(folder: &Path, pages: &[(PathBuf, String)]) -> i32 {
    if let Err(error) = std::fs::create_dir_all(folder) {
        say!("ravel: cannot make {}: {error}", folder.display());
        return 1;
    }
    for (path, text) in pages {
        if let Err(error) = outputs::write(path, text.as_bytes()) {
            say!("ravel: {error}");
            return 1;
        }
    }
    0
}

/// Whether the folder holds these pages and no others.
fn check(folder: &Path, pages: &[(PathBuf, String)]) -> i32 {
    let mut stale: Vec<String> = Vec::new();
    for (path, text) in pages {
        if std::fs::read_to_string(path).ok().as_ref() != Some(text) {
            stale.push(path.display().to_string());
        }
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "md") && pages.iter().all(|(page, _)| *page != path) {
            stale.push(format!("{} (there is no such module)", path.display()));
        }
    }
    for path in &stale {
        say!("ravel: not up to date: {path}");
    }
    if !stale.is_empty() {
        say!("ravel: `ravel doc -o {}` makes them anew", folder.display());
    }
    i32::from(!stale.is_empty())
}
