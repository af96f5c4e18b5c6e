//! `ravel doc`: reference pages.

use crate::args::{Doc, PageFormat};
use crate::doc_folder;
use ravel_driver::doc::{Module, Refused, examples, index, library, module, page, search, site};
use std::path::Path;

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
    if let Some(text) = &doc.search {
        return find(known, text);
    }
    let Some(folder) = &doc.output else {
        if doc.format == PageFormat::Html {
            say!("ravel: --format html makes several files: name a folder for them with --out");
            return 2;
        }
        let text: String = all.iter().map(|module| page(module, known)).collect::<Vec<_>>().join("\n");
        return i32::from(!crate::print(&text));
    };
    let mut names: Vec<&str> = known.iter().map(|module| module.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|two| two[0] == two[1]) {
        say!("ravel: there are two modules {}: their pages would have one name", twice[0]);
        return 1;
    }
    let pages = match doc.format {
        PageFormat::Html => site(known),
        PageFormat::Markdown => {
            let mut pages: Vec<(String, String)> =
                known.iter().map(|module| (format!("{}.md", module.name), page(module, known))).collect();
            pages.push(("index.md".to_string(), index(known)));
            pages
        }
    };
    if doc.check { doc_folder::check(folder, &pages) } else { doc_folder::write(folder, pages) }
}

/// As many as fit on a screen.
const MOST_HITS: usize = 15;

/// Prints what fits a name or a shape.
fn find(modules: &[Module], text: &str) -> i32 {
    let hits = match search(modules, text) {
        Ok(hits) => hits,
        Err(why) => {
            say!("ravel: {why}");
            return 2;
        }
    };
    if hits.is_empty() {
        say!("ravel: nothing fits `{text}`");
        return 1;
    }
    let mut out = String::new();
    for hit in hits.iter().take(MOST_HITS) {
        let shown = if hit.drawn.is_empty() { &hit.head } else { &hit.drawn };
        let native = if hit.native { ", native" } else { "" };
        out.push_str(&format!("{shown}    ({}{native})\n", hit.module));
        if !hit.about.is_empty() {
            out.push_str(&format!("    {}\n", hit.about));
        }
    }
    if hits.len() > MOST_HITS {
        out.push_str(&format!("... and {} more that fit less well\n", hits.len() - MOST_HITS));
    }
    i32::from(!crate::print(&out))
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
