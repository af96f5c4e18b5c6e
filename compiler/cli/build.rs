//! Embeds the pages of the codes, which `ravel explain` prints.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folder = manifest.join("../../docs/errors").canonicalize().expect("the pages lie beside the compiler");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut pages: Vec<PathBuf> =
        std::fs::read_dir(&folder).expect("the pages can be read").flatten().map(|entry| entry.path()).collect();
    pages.sort();
    let mut table = String::from("/// Codes and their pages.\nconst PAGES: &[(&str, &str)] = &[\n");
    for page in pages.iter().filter(|page| is_page(page)) {
        println!("cargo::rerun-if-changed={}", page.display());
        let code = page.file_stem().unwrap_or_default().display().to_string();
        writeln!(table, "    ({code:?}, include_str!({:?})),", page.display().to_string()).expect("strings grow");
    }
    table.push_str("];\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    std::fs::write(out.join("pages.rs"), table).expect("the build folder is writable");
}

/// The index is no page of a code.
fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md") && path.file_stem().is_some_and(|stem| stem != "README")
}
